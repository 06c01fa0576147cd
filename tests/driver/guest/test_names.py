# SPDX-License-Identifier: Apache-2.0
"""The examples, which are the same for a card of any name, over the kernel driver's: in Python, C and C++. Other suites run the same files
over `sim:` and `vfio-user:`, and they must say the same: see tests/loopback.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import loopback
import pytest
from inside import Card, Module, until


@pytest.mark.parametrize("name", list(loopback.SAYS))
def test_an_example_says_what_it_says_over_other_names(driver: Module, card: Card, name: str, tmp_path: Path) -> None:
    until(lambda: "control" in card.files, "the card's files are there")
    (card.pci / "reset").write_text("1")  # as those over other names find it
    device = f"/dev/{card.name}"
    if name.endswith(".py"):
        command = [sys.executable, loopback.FOLDER / name]
    else:
        command = [Path(os.environ["TOWPATH_GUEST_EXAMPLES"], Path(name).stem), device]
    environment = os.environ | {"TOWPATH_DEVICE": device, "PYTHONPATH": os.environ["TOWPATH_GUEST_PYTHON"]}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, loopback.SAYS[name], "")
