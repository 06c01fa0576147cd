#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends a picture through the loopback, loads Sobel in its place, sends it again, and goes back. Nothing is closed in between.

    python3 examples/partial/swap.py

On a board the files are those that the vendor's tool made; here they name cores that the simulation has.
"""

import tempfile
from pathlib import Path

import towpath

WIDTH, HEIGHT = 8, 4
PICTURE = bytes(200 if x >= WIDTH // 2 else 20 for y in range(HEIGHT) for x in range(WIDTH))


def show(card: towpath.Device) -> None:
    card["in"].send(PICTURE)
    back = card["out"].recv()
    for row in range(HEIGHT):
        print(" ".join(f"{pixel:3}" for pixel in back[row * WIDTH :][:WIDTH]))


with towpath.open(f"sim:{Path(__file__).parent}") as card, tempfile.TemporaryDirectory() as folder:
    partial = card.plugins["partial"]
    assert isinstance(partial, towpath.Partial)
    for name in ("loopback", "sobel", "loopback"):
        if partial.core_name != name:
            file = Path(folder) / f"{name}.bin"
            file.write_bytes(towpath.Partial.simulated_image(name))
            partial.load(file)
        if name == "sobel":
            card.registers[0] = WIDTH
        print(f"{partial.core_name}, {partial.loads} loads")
        show(card)
