#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keep several transfers in flight from one thread: the card fills one part of an array while the next ones are already posted."""

import os

import numpy as np

import towpath

WORDS, PARTS = 64 * 1024, 8

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:counter") as card:
    numbers = np.zeros(WORDS, dtype=np.uint32)
    # Parts of an array are buffers, too; nothing is copied.
    tickets = [card.submit_recv("out", part) for part in np.split(numbers, PARTS)]

    card.registers["length"] = numbers.nbytes
    card.registers["seed"] = 1000
    card.registers["control"] = 1  # start: the core sends 1000, 1001, 1002, ...

    for number, ticket in enumerate(tickets):
        got = ticket.wait()
        end = " (end of message)" if got.end_of_message else ""
        print(f"part {number}: {got.bytes} bytes after {card.now_ns() / 1000:.1f} us{end}")
    print("all right:", bool(np.array_equal(numbers, np.arange(1000, 1000 + WORDS))))
