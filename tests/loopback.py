# SPDX-License-Identifier: Apache-2.0
"""What the examples say that are for the core loopback: the same over a card of any name.

The suites of their languages run them over `sim:loopback` and `vfio-user:SOCKET` (bindings/python/tests/test_examples.py,
bindings/c/tests/test_install.py), the kernel driver's over /dev/towpath0 (tests/driver/guest/test_names.py).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "examples"
SAYS = {
    "attributes.py": "announced: 200 bytes, offset 0x4000, user word 42\n"
    "received: 200 bytes, the message ended: True, offset 0x4000, user word 42\n",
    "buffers.py": "".join(f"turn {turn}: [2048, 2048] bytes back, equal: True\n" for turn in range(3)),
    "echo.py": "hello, card\n",
    "event_loop.py": "50000 bytes sent, 50000 received, equal: True\nnothing more came, and the transfer was cancelled\n",
    "files.py": "{'squares': [0, 1, 4, 9, 16]}\n[['name', 'bytes'], ['in', '16']]\n",
    "interrupts.py": "message 0: fired 1 time(s)\nmessage 1: fired 1 time(s)\nmessage 2: fired 1 time(s)\nin all: 3\n",
    "c/echo.c": "hello, card (12 bytes)\n",
    "c++/buffers.cpp": "4096 bytes back, the same; end of message\n",
}


@contextmanager
def served(folder: Path, *towpath: str | Path) -> Iterator[str]:
    """A card in a process of the command line's; the name by which programs open it."""
    name = f"vfio-user:{folder / 'card'}"
    own = os.environ | {"XDG_RUNTIME_DIR": str(folder)}  # others on this machine need not list it
    command = [*towpath, "sim", "loopback", "--socket", folder / "card"]
    with subprocess.Popen(command, cwd=FOLDER.parent, env=own, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == f"{name}\n"
            yield name
        finally:
            server.terminate()
