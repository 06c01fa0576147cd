#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Send a message to the core "loopback" and receive what comes back."""

import os

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:loopback") as card:
    card["in"].send(b"hello, card")
    print(card["out"].recv().decode())
