#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers under asyncio: the event loop runs on while the card works."""

import asyncio
import os

import towpath


async def main() -> None:
    async with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:loopback") as card:
        outgoing = os.urandom(50_000)
        incoming = bytearray(len(outgoing))
        sent, received = await asyncio.gather(card["in"].asend(outgoing), card["out"].arecv_into(incoming))
        print(f"{sent} bytes sent, {received.bytes} received, equal: {incoming == outgoing}")

        try:
            await card["out"].arecv_into(bytearray(16), timeout=0.1)
        except TimeoutError:
            print("nothing more came, and the transfer was cancelled")


asyncio.run(main())
