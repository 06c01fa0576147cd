# SPDX-License-Identifier: Apache-2.0
"""Ten thousand random reads and writes of a memory by the library, four threads at once, with cancels, limits and faults of the core;
by DMA, and where a BAR can be mapped, by the window among them.

The model is the program's own memory; tests/property/src/memories.rs has the property, and test_library.py runs two hundred of the same.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from inside import IN_QEMU, Card, until
from mapped import can_be_mapped

OPERATIONS = os.environ.get("TOWPATH_SOAK_OPERATIONS", "10000")


# On User-Mode Linux the second is skipped, and says so.
@pytest.mark.parametrize("window", [True] if IN_QEMU else [False, pytest.param(True, marks=can_be_mapped)])
def test_what_a_read_returns_was_written_there_last(counted: None, scratchpad: Card, window: bool) -> None:
    until(lambda: "control" in scratchpad.files, "the card's files are there")
    settings = {
        "TOWPATH_PROPERTY_DEVICE": f"/dev/{scratchpad.name}",
        "TOWPATH_SEED": os.environ["TOWPATH_SOAK_SEED"],
        "TOWPATH_OPERATIONS": OPERATIONS,
        "TOWPATH_WINDOW": str(int(window)),
    }
    command = [os.environ["TOWPATH_GUEST_MEMORIES"], "--exact", "memories_over_another_device", "--nocapture"]
    ended = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    print(ended.stdout)
    assert ended.returncode == 0 and "1 passed" in ended.stdout, ended.stdout[-3000:] + ended.stderr[-3000:]
