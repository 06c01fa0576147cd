# SPDX-License-Identifier: Apache-2.0
"""The programs in towpath(4)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import drivermanual


def texts() -> dict[str, str]:
    """Their texts, each by the last of the ioctls that it uses."""
    blocks = re.findall(r"^\.EX\n(#include .*?)^\.EE\n", drivermanual.page(), re.M | re.S)
    plain = [block.replace("\\e", "\\").replace("\\-", "-") for block in blocks]
    return {re.findall(r"TOWPATH_IOC_(\w+)", text)[-1].lower(): text for text in plain}


def compiled(text: str, folder: Path) -> Path:
    """The program, of what a user would have."""
    (folder / "linux").mkdir()
    (folder / "linux/towpath.h").write_text(drivermanual.HEADER.read_text())
    (folder / "program.c").write_text(text)
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{folder}", folder / "program.c", "-o", folder / "program"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "program"
