# SPDX-License-Identifier: Apache-2.0
"""The first process of the guest: mounts what programs expect, runs pytest, looks for leaks, and switches the machine off.

    init.py CONSOLE KIND SOURCE OPTIONS NEEDED... -- COMMAND...

The host's whole file system is there, read-only. A folder of the host can be written, as /run/out: the file system of that kind, source
and options. NEEDED are folders of the host that must stay to be seen where they are, even under /tmp or /run, of which the guest has its
own. The command's output goes to CONSOLE, so that the first one is the kernel's alone.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import subprocess
import sys
from pathlib import Path

from inside import LIBC, look_for_leaks, say

BIND, DETACH = 4096, 2
# Where the host's own files are kept in sight while other file systems are put over them.
ASIDE = "/mnt"
POWER_OFF = 0x4321FEDC
RNDADDENTROPY = 0x40085203
OWN = ("/tmp", "/run")


def mount(kind: str, at: str, source: str = "", options: str = "", flags: int = 0) -> None:
    Path(at).mkdir(parents=True, exist_ok=True)
    if LIBC.mount((source or kind).encode(), at.encode(), kind.encode(), flags, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} at {at}: {os.strerror(ctypes.get_errno())}")


def mount_all(kind: str, source: str, options: str, needed: list[str]) -> None:
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("debugfs", "/sys/kernel/debug")
    mount("tracefs", "/sys/kernel/tracing")
    mount("devtmpfs", "/dev")
    mount("devpts", "/dev/pts")
    mount("tmpfs", "/dev/shm")
    for name, target in {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}.items():
        os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")
    mount("bind", ASIDE, "/", flags=BIND)
    for folder in OWN:
        mount("tmpfs", folder)
    mount(kind, "/run/out", source, options)
    for folder in needed:
        if folder.startswith(tuple(f"{own}/" for own in OWN)):
            mount("bind", folder, f"{ASIDE}{folder}", flags=BIND)
    LIBC.umount2(ASIDE.encode(), DETACH)


def fill_random() -> None:
    """A kernel that runs as a program gathers no randomness, and who asks for random bytes would wait for ever. Here the same ones do."""
    with open("/dev/random", "wb") as file:
        fcntl.ioctl(file, RNDADDENTROPY, struct.pack("=ii32x", 256, 32))


def main(console: str, kind: str, source: str, options: str, *rest: str) -> None:
    split = rest.index("--")
    mount_all(kind, source, options, list(rest[:split]))
    fill_random()
    say("the tests' own start and end")
    with open(console, "wb", buffering=0) as shown:
        code = subprocess.run(rest[split + 1 :], stdin=subprocess.DEVNULL, stdout=shown, stderr=shown, check=False).returncode
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
