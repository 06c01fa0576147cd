#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A timeout tells how far the transfer came. Nothing is lost, and the channel can be used on."""

import os

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:counter") as card:
    card.registers["length"] = 64
    card.registers["control"] = 1
    buffer = bytearray(1000)
    print("first message:", card.recv_into("out", buffer))

    try:
        card.recv_into("out", buffer, timeout=100e-6)
    except towpath.TimeoutError as error:
        print(f"{error.bytes} bytes came on channel {error.channel}; in full: {error}")

    card.registers["control"] = 1
    print("second message:", card.recv_into("out", buffer))
