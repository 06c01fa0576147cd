#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages can carry a length, an offset and a user word of 32 bits. The core "loopback" gives back what it got."""

import os

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:loopback") as card:
    message = bytes(range(200))
    card.send("in", message, length=len(message), offset=0x4000, user=42)

    # The card announces a message before there is a buffer for it: time to find one of the right size.
    start = card.message_start("out")
    print(f"announced: {start.length} bytes, offset {start.offset:#x}, user word {start.user}")
    buffer = bytearray(start.length or 4096)

    got = card.recv_into("out", buffer)
    print(f"received: {got.bytes} bytes, the message ended: {got.end_of_message}, offset {got.offset:#x}, user word {got.user}")
