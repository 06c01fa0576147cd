# SPDX-License-Identifier: Apache-2.0
"""A core breaks in the middle of its work. Its plug-in `reset` holds it; the program resets the channels with it, and goes on."""

from pathlib import Path

import towpath

with towpath.open(f"sim:{Path(__file__).parent}") as card:
    reset = card.plugins["reset"]
    reset.on_fault = "hold"
    card["in"].send(b"before")
    print(card["out"].recv())
    card.registers["break"] = 1
    card["in"].send(b"lost")
    print(f"{reset.faults} fault, held in reset: {reset.status.held}")
    with reset.held():
        card["in"].reset()
        card["out"].reset()
    card["in"].send(b"after")
    print(card["out"].recv())
