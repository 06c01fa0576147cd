#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds libriffa.so, RIFFA's calls, over the libtowpath.so in the same folder: `python tools/riffalibrary.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import clibrary
from clibrary import ROOT

SOURCES = ROOT / "bindings/riffa"
# The name that programs which were linked with RIFFA's own library ask for, and RIFFA's Python module.
SONAME = "libriffa.so.1"


def build(folder: Path) -> Path:
    """Leaves libriffa.so.1 and the link libriffa.so in `folder`; returns the first."""
    library = folder / SONAME
    options = [f"-soname={SONAME}", f"--version-script={SOURCES / 'libriffa.map'}", "-z,defs", "-z,relro", "-z,now", "-rpath,$ORIGIN"]
    command = ["cc", "-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command += [f"-I{SOURCES / 'include'}", f"-I{ROOT / 'bindings/c/include'}", *map(str, sorted((SOURCES / "src").glob("*.c")))]
    command += ["-o", str(library), *(f"-Wl,{option}" for option in options), f"-L{folder}", "-ltowpath", "-pthread"]
    clibrary.run(command)
    link = folder / "libriffa.so"
    link.unlink(missing_ok=True)
    link.symlink_to(library.name)
    return library


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tools/riffalibrary.py FOLDER", file=sys.stderr)
        return 2
    try:
        print(build(Path(arguments[0]).absolute()))
    except clibrary.BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
