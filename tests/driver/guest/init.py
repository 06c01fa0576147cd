# SPDX-License-Identifier: Apache-2.0
"""The first process of the guest: mounts what programs expect, runs pytest, looks for leaks, and switches the machine off.

    init.py OUTPUT NEEDED... -- COMMAND...

The host's whole file system is there, read-only. OUTPUT, a folder of the host, can be written, as /run/out. NEEDED are folders of the host
that must stay to be seen where they are, even under /tmp or /run, of which the guest has its own. The command's output goes to the second
console, so that the first is the kernel's alone.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

from inside import LIBC, look_for_leaks, say

READ_ONLY = 1
POWER_OFF = 0x4321FEDC
OWN = ("/tmp", "/run")


def mount(kind: str, at: str, what: str = "", flags: int = 0) -> None:
    Path(at).mkdir(parents=True, exist_ok=True)
    if LIBC.mount(kind.encode(), at.encode(), kind.encode(), flags, what.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} at {at}: {os.strerror(ctypes.get_errno())}")


def mount_all(output: str, needed: list[str]) -> None:
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("debugfs", "/sys/kernel/debug")
    mount("tracefs", "/sys/kernel/tracing")
    mount("devtmpfs", "/dev")
    mount("devpts", "/dev/pts")
    mount("tmpfs", "/dev/shm")
    for name, target in {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}.items():
        os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")
    for folder in OWN:
        mount("tmpfs", folder)
    mount("hostfs", "/run/out", output)
    for folder in needed:
        if folder.startswith(tuple(f"{own}/" for own in OWN)):
            mount("hostfs", folder, folder, READ_ONLY)


def main(output: str, *rest: str) -> None:
    split = rest.index("--")
    mount_all(output, list(rest[:split]))
    say("the tests' own start and end")
    with open("/dev/tty1", "wb", buffering=0) as console:
        code = subprocess.run(rest[split + 1 :], stdin=subprocess.DEVNULL, stdout=console, stderr=console, check=False).returncode
    say("the search for leaks")
    look_for_leaks()
    Path("/run/out/code").write_text(f"{code}\n")


try:
    main(*sys.argv[1:])
except BaseException as error:  # a first process that ends is a panic, which would hide why
    say(f"init failed: {error!r}")
finally:
    say("switching off")
    os.sync()
    LIBC.reboot(POWER_OFF)
