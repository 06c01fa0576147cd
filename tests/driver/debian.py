# SPDX-License-Identifier: Apache-2.0
"""A distribution's kernel for the driver's tests: Debian's, with headers to build modules for it, and a start with this machine's files.

All are packages, which are fetched when asked for and unpacked into the cache; nothing is installed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import headers
from cards import ROOT
from kernel import CACHE, Apt, Missing, locked, unpack

sys.path.insert(0, str(ROOT / "tests/vfio"))
import machine

# Of those in headers.py; it has all that the tests use, and takes a preemptible kernel as an option.
KERNEL = "6.12"
IMAGE = "linux-image-amd64"
SETUP = "./run test driver-qemu --setup"
FOLDER = CACHE / "debian-kernel"
BUSYBOX = CACHE / "busybox"
# What the kernel has as modules of what the guest's files come through.
MODULES = ("9p", "9pnet_virtio")
# The first program: it makes this machine's files the guest's, and hands over.
FIRST = """#!/bin/busybox sh
while read -r module; do busybox insmod /modules/$module; done < /modules/order
busybox mount -t 9p -o {options} files /root
exec busybox switch_root /root {init}
"""


def set_up() -> None:
    """QEMU (see machine.py), and 123 MB to download, 210 MB to keep: kernel, headers, and the program that starts."""
    machine.ready()
    with locked("debian"):
        if FOLDER.is_dir():
            return
        print(f"fetching a kernel {KERNEL} with its headers, once", flush=True)
        work = CACHE / "apt-debian"
        shutil.rmtree(work, ignore_errors=True)
        unpack(Apt(work, "bookworm").download("busybox-static"), BUSYBOX)
        shutil.rmtree(work)
        headers.fetch(KERNEL, FOLDER, IMAGE)


def ready() -> None:
    """All of it is there, or Missing is raised."""
    if not FOLDER.is_dir():
        raise Missing(f"a machine with several processors and an IOMMU is fetched only when asked for: {SETUP}")
    machine.ready()
    if not machine.has_device("vfio-user-pci"):
        raise Missing("this QEMU has no vfio-user-pci: it needs QEMU 10.1 or newer")


def image() -> Path:
    return next(FOLDER.glob("boot/vmlinuz-*"))


def tree() -> Path:
    """The folder to give to make as KDIR."""
    return headers.tree(FOLDER)


def module(name: str) -> Path:
    """One of the kernel's own, packed."""
    return next(FOLDER.glob(f"lib/modules/*/kernel/**/{name}.ko.xz"))


def initial_file_system(init: Path, options: str) -> bytes:
    """In which the kernel starts; it goes on to `init`, of this machine's files."""
    archive = machine.Archive()
    archive.add("init", FIRST.format(init=init, options=options).encode())
    archive.add("bin/busybox", (BUSYBOX / "bin/busybox").read_bytes())
    archive.add("root", b"", 0o040755)
    archive.add("dev", b"", 0o040755)
    archive.modules(machine.module_files(FOLDER, MODULES))
    return archive.finished()
