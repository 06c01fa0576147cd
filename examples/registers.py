#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read and write the core's registers, by the names in its manifest or by byte offset."""

import os

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:loopback") as card:
    card.registers["scratch"] = 0x1234
    offset = card.registers.names["scratch"]
    print(f"scratch is at {offset:#x} and holds {card.registers[offset]:#x}")

    card.send("in", b"one message")
    card.recv("out")
    for name, offset in card.registers.names.items():
        print(f"{offset:#06x}  {name:12} {card.registers[name]:#010x}")
