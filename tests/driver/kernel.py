#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels that the driver's tests run on: User-Mode Linux, a Linux that runs as a program, built on first use.

    python tests/driver/kernel.py [plain|debug]         builds it where it is not in the cache, and says where it lies

The source is Debian 12's linux-source-6.1, which is fetched as a package together with what building needs (flex, bison, bc); nothing is
installed. What is built is kept by content: source, patches (kernel/*.patch, each says why), configuration (kernel/*.config), compiler. A
kernel's folder holds the program `linux` and what `make -C FOLDER M=MODULE ARCH=um modules` needs to build a module for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from packages import Apt, Missing, unpack  # noqa: E402

CACHE = Path(os.environ.get("TOWPATH_CACHE", ROOT / ".towpath" / "cache")) / "linux"
RECIPE = Path(__file__).resolve().with_suffix("")
RELEASE = "bookworm"
SOURCE = "linux-source-6.1"
# Each with what it calls and is linked with, but for the C library.
TOOLS = ("flex", "bison", "m4", "libsigsegv2", "bc", "libreadline8", "libtinfo6", "patch", "xz-utils", "liblzma5")
FLAVOURS = {"plain": ("plain.config",), "debug": ("plain.config", "debug.config")}
# What no kernel here is built of: two thirds of the source. Kconfig files and Makefiles must be there all the same.
SKIPPED = (
    "arch/[a-tvwyz]*.[chS]",
    "arch/[a-tvwyz]*.dts*",
    "Documentation/*/*",
    "tools/perf",
    "tools/testing",
    "samples/*.[ch]",
    "sound/*.[ch]",
)
SKIPPED_DRIVERS = ("gpu", "net", "media", "staging", "infiniband", "scsi", "usb", "video", "crypto", "iio", "clk")
# What a module is built with, of the tree in which the kernel was built; the rest is thrown away.
KEPT = (
    "linux",
    "Makefile",
    ".config",
    "Module.symvers",
    "include",
    "scripts",
    "arch/um/Makefile*",
    "arch/um/include",
    "arch/um/scripts",
    "arch/x86/Makefile*",
    "arch/x86/include",
    "arch/x86/um/asm",
    "arch/x86/um/shared",
)
# Every machine builds the same, and ccache finds it again.
FIXED = {"KBUILD_BUILD_USER": "towpath", "KBUILD_BUILD_HOST": "towpath", "KBUILD_BUILD_TIMESTAMP": "2023-01-01", "LC_ALL": "C"}
# A miss costs ccache one pass of the compiler instead of two.
CCACHE = {"CCACHE_DEPEND": "1"}


class Broken(Exception):
    """The kernel does not build; the text says where to read why."""


def build(flavour: str) -> Path:
    """The folder of a kernel, built if need be."""
    if os.uname().machine != "x86_64":
        raise Missing(f"User-Mode Linux is built for x86_64 here, and this machine is {os.uname().machine}")
    with locked("source"):
        fetch()
    with locked(flavour):
        folder = CACHE / f"{flavour}-{content_hash(flavour)}"
        if not folder.is_dir():
            print(f"building User-Mode Linux, flavour {flavour}, once: some minutes; log in {CACHE / f'{flavour}.log'}", flush=True)
            tree = CACHE / "build" / flavour
            shutil.rmtree(tree, ignore_errors=True)
            make(tree, flavour)
            keep(tree, folder)
            shutil.rmtree(tree)
        os.utime(folder)  # what is used is kept: see .ci/run
    return folder


@contextmanager
def locked(what: str) -> Iterator[None]:
    """One at a time: a second run waits, and then finds what the first has built."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{what}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch() -> None:
    """Source and tools into the cache: 140 MB to download and to keep. Once they are there, no newer ones are looked for."""
    if (CACHE / "source").is_dir() and (CACHE / "tools").is_dir():
        return
    print(f"fetching {SOURCE} and what builds it, once", flush=True)
    folder = CACHE / "apt"
    shutil.rmtree(folder, ignore_errors=True)
    apt = Apt(folder, RELEASE)
    unpack(apt.download(*TOOLS), CACHE / "tools")
    unpack(apt.download(SOURCE), CACHE / "source")
    shutil.rmtree(folder)


def archive() -> Path:
    return CACHE / "source/usr/src" / f"{SOURCE}.tar.xz"


def content_hash(flavour: str) -> str:
    """Of all that decides what is built."""
    changes = CACHE / "source/usr/share/doc" / SOURCE / "changelog.Debian.gz"  # names the version, and is quicker to read
    files = [changes, *(RECIPE / name for name in FLAVOURS[flavour]), *patches()]
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, check=True).stdout
    parts = [Path(__file__).read_bytes(), compiler, *(file.read_bytes() for file in files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def patches() -> list[Path]:
    return sorted(RECIPE.glob("*.patch"))


def environment() -> dict[str, str]:
    """With the fetched tools on PATH."""
    tools = CACHE / "tools/usr"
    own = {
        "PATH": f"{tools / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{tools / 'lib/x86_64-linux-gnu'}:{CACHE / 'tools/lib/x86_64-linux-gnu'}",
        "BISON_PKGDATADIR": str(tools / "share/bison"),
        "M4": str(tools / "bin/m4"),
    }
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARCH", "CROSS_COMPILE")} | own | FIXED | CCACHE


def make(tree: Path, flavour: str) -> None:
    """Unpacks, patches, configures and builds."""
    tree.mkdir(parents=True)
    asked = "".join((RECIPE / name).read_text() for name in FLAVOURS[flavour])
    (tree / "asked.config").write_text(asked)
    compiler = "CC=ccache gcc" if shutil.which("ccache") else "CC=gcc"
    command = ["make", "ARCH=um", compiler, f"-j{len(os.sched_getaffinity(0))}"]
    with (CACHE / f"{flavour}.log").open("w") as log:

        def run(*words: str, **variables: str) -> None:
            done = subprocess.run(words, cwd=tree, env=environment() | variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            if done.returncode != 0:
                raise Broken(f"{' '.join(words[:4])} failed with exit code {done.returncode}; read the end of {log.name}")

        skipped = [f"--exclude={SOURCE}/{pattern}" for pattern in (*SKIPPED, *(f"drivers/{name}/*/*.[ch]" for name in SKIPPED_DRIVERS))]
        run("tar", "--extract", "--strip-components=1", f"--file={archive()}", *skipped)
        for patch in patches():
            run("patch", "--strip=1", f"--input={patch}")
        run(*command, "allnoconfig", KCONFIG_ALLCONFIG="asked.config")
        if refused := refused_options(asked, (tree / ".config").read_text()):
            raise Broken(f"this kernel does not take {', '.join(refused)}")
        run(*command, "linux", "modules")


def refused_options(asked: str, given: str) -> list[str]:
    """The options that were asked for and that the kernel's own configuration has dropped."""
    return [line for line in asked.splitlines() if line and not re.match(r"# (?!CONFIG)", line) and line not in given.splitlines()]


def keep(tree: Path, folder: Path) -> None:
    """What is needed later into the folder of the kernel: all of it, or it is not there."""
    half = folder.with_name(folder.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    for pattern in KEPT:
        for path in tree.glob(pattern):
            target = half / path.relative_to(tree)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
    half.rename(folder)


def main(arguments: list[str]) -> int:
    flavour = arguments[0] if arguments else "plain"
    if flavour not in FLAVOURS or len(arguments) > 1:
        print(f"usage: kernel.py [{'|'.join(FLAVOURS)}]", file=sys.stderr)
        return 2
    try:
        print(build(flavour))
    except (Missing, Broken) as why:
        print(f"kernel.py: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
