# SPDX-License-Identifier: Apache-2.0
"""How the card under test is built: a build writes `tp_user_pkg` with its numbers, its bench reads them back as `BUILT`."""

import os
import re
from pathlib import Path

from bench import Constants

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = HERE / "tp_user_pkg.sv"
PLACE = "TOWPATH_USER_PACKAGE"  # the environment's variable that tells a bench where the package is
NAMES = ("in", "out")

BUILT = Constants(Path(os.environ.get(PLACE, PACKAGE)))
BUILT.PAGE_SHIFT, BUILT.VECTORS = 12, 32  # tp_core's own: no manifest changes these


def user_core(folder: Path, monkeypatch, **changed: int) -> list[Path]:
    """The sources of the loopback core and of tp_system around it, built with what is `changed`, which the bench is told."""
    text = PACKAGE.read_text()
    for name, value in changed.items():
        text, found = re.subn(rf"( {name} = )[^;]+", rf"\g<1>{value}", text)
        assert found == 1, f"tp_user_pkg has no {name}"
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / PACKAGE.name
    package.write_text(text)
    monkeypatch.setenv(PLACE, str(package))
    return [package, ROOT / "cores/loopback/loopback.sv", HERE / "tp_user.sv", ROOT / "gateware/tp_system.sv"]
