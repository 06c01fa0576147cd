# SPDX-License-Identifier: Apache-2.0
"""What Debian gives to those who build modules: headers of its kernels, sparse, which checks such code, and DKMS.

Packages, kept in the cache; nothing is installed. The folders are those of the packages, with the paths in them made relative: a cache may
be moved or copied.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from kernel import CACHE, Apt, locked, unpack

# The releases that they come from.
KERNELS = {"6.1": "bookworm", "6.12": "bookworm-backports", "newest": "trixie-backports"}
# Depends on the headers of its release's kernel.
PACKAGE = "linux-headers-amd64"
# For make: without what the kernel's own tools would do, which are not here, or do not run here: its compiler's options, debug information,
# the check of stack frames.
OPTIONS = ["CC=gcc", "CONFIG_DEBUG_INFO_BTF_MODULES=", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "objtool=true"]

# The first line of a tree's makefile: its own folder.
HERE = "headers_here := $(realpath $(dir $(lastword $(MAKEFILE_LIST))))\n"


def headers(kernel: str) -> Path:
    """The folder to give to make as KDIR."""
    with locked("headers"):
        folder = CACHE / "kernel-headers" / kernel
        if not folder.is_dir():
            fetch(kernel, folder)
    return tree(folder)


def tree(folder: Path) -> Path:
    """That folder, in the one into which the headers were fetched."""
    return next(folder.glob("usr/src/linux-headers-*-amd64"))


def fetch(kernel: str, folder: Path, image: str | None = None) -> None:
    """The headers into a folder, and of `image`, a package that depends on their kernel, that kernel."""
    work = CACHE / f"apt-{kernel}"
    shutil.rmtree(work, ignore_errors=True)
    apt = Apt(work, KERNELS[kernel])
    needed = [depends(apt, PACKAGE, r"linux-headers-[^\s,]+-amd64")]
    needed += [depends(apt, needed[0], pattern) for pattern in (r"linux-headers-[^\s,]+-common", r"linux-kbuild-[^\s,]+")]
    if image:
        needed.append(depends(apt, image, r"linux-image-[^\s,]+-amd64"))
    absolute = folder.with_name(f"{folder.name}.absolute")
    unpack(apt.download(*needed), absolute)
    shutil.rmtree(work)
    makefile = tree(absolute) / "Makefile"
    makefile.write_text(HERE + makefile.read_text().replace("/usr/src/", "$(headers_here)/../"))
    absolute.rename(folder)


def depends(apt: Apt, package: str, pattern: str) -> str:
    """The dependency of this name."""
    found = re.search(rf"^Depends: .*?\b({pattern})(?=[ ,]|$)", apt("apt-cache", "show", "--no-all-versions", package), re.M)
    assert found is not None, f"{package} depends on nothing like {pattern}"
    return found[1]


def sparse() -> Path:
    """The program."""
    with locked("sparse"):
        folder = CACHE / "sparse"
        if not folder.is_dir():
            work = CACHE / "apt-sparse"
            shutil.rmtree(work, ignore_errors=True)
            unpack(Apt(work, "bookworm").download("sparse"), folder)
            shutil.rmtree(work)
    return folder / "usr/bin/sparse"


def dkms() -> Path:
    """The folder of its package, and of depmod's, which it calls; not unpacked."""
    with locked("dkms"):
        folder = CACHE / "dkms"
        if not folder.is_dir():
            work = CACHE / "apt-dkms"
            shutil.rmtree(work, ignore_errors=True)
            packages = Apt(work, "bookworm").download("dkms", "kmod", "libkmod2")
            half = work / "packages"
            half.mkdir()
            for package in packages:
                package.rename(half / package.name)
            half.rename(folder)
            shutil.rmtree(work)
    return folder
