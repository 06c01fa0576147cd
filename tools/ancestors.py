#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the libraries with RIFFA's and EPEE's calls, over the libtowpath.so in the same folder: `python tools/ancestors.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import clibrary
from clibrary import ROOT

RIFFA = ROOT / "bindings/riffa"
EPEE = ROOT / "bindings/epee"
# The name that programs which were linked with RIFFA's own library ask for, and RIFFA's Python module.
SONAME = "libriffa.so.1"
TOWPATH = [f"-I{ROOT / 'bindings/c/include'}", "-ltowpath"]


def build_riffa(folder: Path) -> Path:
    """Leaves libriffa.so.1 and the link libriffa.so in `folder`; returns the first."""
    library = folder / SONAME
    options = [f"-soname={SONAME}", f"--version-script={RIFFA / 'libriffa.map'}"]
    link(library, sorted((RIFFA / "src").glob("*.c")), options, [f"-I{RIFFA / 'include'}", *TOWPATH])
    short = folder / "libriffa.so"
    short.unlink(missing_ok=True)
    short.symlink_to(library.name)
    return library


def build_epee(folder: Path) -> Path:
    """Leaves libepee.so in `folder`, and returns it."""
    library = folder / "libepee.so"
    options = [f"-soname={library.name}", f"--version-script={EPEE / 'libepee.map'}"]
    link(library, [EPEE / "src/epee.c"], options, ["-D_GNU_SOURCE", f"-I{EPEE / 'include'}", *TOWPATH])
    return library


def link(library: Path, sources: list[Path], linking: list[str], more: list[str]) -> None:
    """A library of C that finds the others in its own folder."""
    command = ["cc", "-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]
    linking = [*linking, "-z,defs", "-z,relro", "-z,now", "-rpath,$ORIGIN"]
    clibrary.run([*command, *map(str, sources), "-o", str(library), *(f"-Wl,{option}" for option in linking), f"-L{library.parent}", *more])


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tools/ancestors.py FOLDER", file=sys.stderr)
        return 2
    try:
        folder = Path(arguments[0]).absolute()
        print(build_riffa(folder), build_epee(folder), sep="\n")
    except clibrary.BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
