#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Buffers that are used again and again: the card knows them, so no transfer has to register its memory. For NumPy they are arrays."""

import os

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:loopback") as card:
    there = card.allocate(1024, "uint32")
    back = card.allocate(1024, "uint32")
    numbers = memoryview(there)  # or numpy.asarray(there): the same memory
    for turn in range(3):
        for place in range(len(numbers)):
            numbers[place] = turn * 1000 + place
        # A slice is a part of the same registered memory.
        tickets = [card["out"].submit_recv(back[:512]), card["out"].submit_recv(back[512:])]
        card["in"].send(there)
        print(f"turn {turn}: {[ticket.wait().bytes for ticket in tickets]} bytes back, equal: {bytes(back) == bytes(there)}")
