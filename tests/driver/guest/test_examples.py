# SPDX-License-Identifier: Apache-2.0
"""The programs in towpath(4) do what it says, with the loopback core."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import programs
from asking import opened
from inside import Card, Module, until


def output(name: str, card: Card, folder: Path) -> str:
    text = programs.texts()[name].replace("/dev/towpath0/", f"/dev/{card.name}/")
    done = subprocess.run([programs.compiled(text, folder)], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_what_the_card_is(driver: Module, card: Card, tmp_path: Path) -> None:
    until(lambda: "control" in card.files, "the card's files are there")
    assert output("register", card, tmp_path).startswith("loopback: 2 channels\nregister 0: ")


def test_a_message_through_a_queue(driver: Module, card: Card, tmp_path: Path) -> None:
    until(lambda: "in" in card.files, "the card's files are there")
    assert output("exchange", card, tmp_path) == "10 bytes, status 1\n"
    with opened(card.files["out"], os.O_RDONLY) as file:
        assert os.read(file, 64) == b"a message\0"
