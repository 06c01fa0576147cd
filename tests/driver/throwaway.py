# SPDX-License-Identifier: Apache-2.0
"""This machine's system once more, to be thrown away: for what installs packages, as root. Nothing that is done there reaches the machine.

/usr, /etc and /var are overlays in a namespace of mounts, which ends with the last process in it. Not for what loads modules or talks to
services: the kernel and /dev are the machine's own.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kernel import Missing

SET_UP = r"""
set -e
work=$1 script=$2
shift 2
mount -t tmpfs -o mode=755 system "$work"
cd "$work"
for name in usr etc var; do
    mkdir -p "upper/$name" "work/$name" "root/$name"
    mount -t overlay -o "lowerdir=/$name,upperdir=upper/$name,workdir=work/$name" system "root/$name"
done
cp -P /bin /sbin /lib* root
mkdir root/tmp root/dev root/proc
mount --rbind /dev root/dev
mount --rbind /proc root/proc
for folder; do
    mkdir -p "root$folder"
    mount --bind "$folder" "root$folder"
    mount -o remount,bind,ro "root$folder"
done
exec chroot root /bin/sh -e -c "$script"
"""


def run(script: str, work: Path, *folders: Path) -> subprocess.CompletedProcess[str]:
    """Runs a shell's script in a fresh copy. `work` is an empty folder; `folders` can be read there, too, by the same paths."""
    command = ["unshare", "--mount", "sh", "-c", SET_UP, "throwaway", work, script, *folders]
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARCH")} | {"TMPDIR": "/tmp", "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=own, cwd="/")


def check(work: Path) -> None:
    """Raises Missing where there can be no such copy."""
    if os.geteuid() != 0:
        raise Missing("a copy of the system, in which the package is installed, takes root")
    done = run("true", work)
    if done.returncode != 0:
        raise Missing(f"there can be no copy of the system, in which the package is installed: {(done.stderr or done.stdout).strip()}")
