#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and share of the wire of one blocking transfer, for a range of sizes. The core "sink" takes all and compares it with its pattern."""

import os

import numpy as np

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:sink") as card:
    wire = card.wire()
    print("   bytes          us       MB/s" + ("   of the link" if wire else ""))
    for size in (64, 1024, 16 * 1024, 256 * 1024):
        message = np.arange(size // 4, dtype=np.uint32)
        start = card.now_ns()
        card.send("in", message)
        nanoseconds = card.now_ns() - start
        line = f"{size:8}  {nanoseconds / 1000:10.2f}  {size / nanoseconds * 1000:9.1f}"
        print(line + (f"  {100 * size / nanoseconds * 1000 / wire.bytes_per_us:10.1f} %" if wire else ""))
    print("wrong bytes:", card.registers["errors"])
