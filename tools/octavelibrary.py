#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds what belongs to Octave, over libtowpath.so and libriffa.so: `python tools/octavelibrary.py LIBRARIES FOLDER`.

FOLDER/towpath is the package towpath (bindings/octave), FOLDER/riffa RIFFA's class (bindings/riffa/matlab); each holds its MEX file, and
the source that MATLAB's `mex` compiles.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import ancestors
import clibrary
from clibrary import ROOT

OCTAVE = ROOT / "bindings/octave"
MISSING = "no Octave (octave-cli, mkoctfile): install the packages octave and octave-dev"


def there() -> bool:
    return all(shutil.which(tool) for tool in ("octave-cli", "mkoctfile"))


def copy(folder: Path, riffa: Path) -> None:
    """What needs no compiler."""
    shutil.copytree(OCTAVE / "+towpath", folder / "+towpath")
    shutil.copyfile(OCTAVE / "towpath_mex.c", folder / "towpath_mex.c")
    shutil.copytree(ancestors.RIFFA / "matlab", riffa)


def build(libraries: Path, folder: Path, riffa: Path) -> None:
    """Leaves both MEX files beside what `copy` has left; they find the libraries relative to their own place."""
    mex(libraries, folder / "towpath_mex.mex", ancestors.TOWPATH)
    mex(libraries, riffa / "riffa_mex.mex", [f"-I{ancestors.RIFFA / 'include'}", "-lriffa"])


def mex(libraries: Path, made: Path, more: list[str]) -> None:
    linking = [f"-L{libraries}", f"-Wl,-rpath,$ORIGIN/{os.path.relpath(libraries, made.parent)}", f"-Wl,-rpath-link,{libraries}"]
    source = str(made.with_suffix(".c"))
    clibrary.run(["mkoctfile", "--mex", "-Wall", "-Wextra", "-Werror", source, "-o", str(made), *map(shell, [*linking, *more])])


def shell(word: str) -> str:
    """mkoctfile hands its command to a shell."""
    return word.replace("$", "\\$")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: python tools/octavelibrary.py LIBRARIES FOLDER", file=sys.stderr)
        return 2
    if not there():
        print(MISSING, file=sys.stderr)
        return 1
    libraries, folder = (Path(name).absolute() for name in arguments)
    try:
        copy(folder / "towpath", folder / "riffa")
        build(libraries, folder / "towpath", folder / "riffa")
    except clibrary.BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
