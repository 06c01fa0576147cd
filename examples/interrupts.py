#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wait for the core's interrupts: "loopback" raises number 0 for each message that went through."""

import os

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:loopback") as card:
    done = card.interrupts[0]
    for number in range(3):
        card.send("in", f"message {number}".encode())
        print(f"{card.recv('out').decode()}: fired {done.wait()} time(s)")
    print(f"in all: {done.count()}")
