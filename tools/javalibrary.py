#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds what belongs to Java, over the libraries of C in the same folder: `python tools/javalibrary.py FOLDER`.

libjtowpath.so and towpath.jar are the library (bindings/java), libjriffa.so and riffa.jar RIFFA's class (bindings/riffa/java).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ancestors
import clibrary
from clibrary import ROOT

JAVA = ROOT / "bindings/java"


def jdk() -> Path | None:
    """Where the JDK is whose javac would run, if there is one of version 17 or newer."""
    found = shutil.which("javac")
    home = Path(found).resolve().parents[1] if found else None
    if home is None or not (home / "include/jni.h").is_file():
        return None
    told = subprocess.run([home / "bin/javac", "-version"], capture_output=True, text=True, check=False)
    version = re.match(r"javac (\d+)", told.stdout or told.stderr)
    return home if version and int(version[1]) >= 17 else None


def build(home: Path, folder: Path, jar: Path) -> None:
    """Leaves libjtowpath.so in `folder`, where libtowpath.so is, and the classes in `jar`."""
    native(home, folder / "libjtowpath.so", JAVA / "src/main/native/jtowpath.c", ancestors.TOWPATH)
    classes(home, "17", JAVA / "src/main/java", jar)


def build_riffa(home: Path, folder: Path, jar: Path) -> None:
    """Leaves libjriffa.so in `folder`, where libriffa.so is, and the classes in `jar`."""
    native(home, folder / "libjriffa.so", ancestors.RIFFA / "java/jriffa.c", [f"-I{ancestors.RIFFA / 'include'}", "-lriffa"])
    classes(home, "11", ancestors.RIFFA / "java", jar)


def native(home: Path, library: Path, source: Path, more: list[str]) -> None:
    ancestors.link(library, [source], [], [f"-I{home / 'include'}", f"-I{home / 'include/linux'}", *more])


def compile(home: Path, release: str, sources: Path, into: Path, *more: str) -> None:
    names = sorted(map(str, sources.rglob("*.java")))
    clibrary.run([str(home / "bin/javac"), "--release", release, "-Xlint:all", "-Werror", *more, "-d", str(into), *names])


def classes(home: Path, release: str, sources: Path, jar: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        compile(home, release, sources, Path(made))
        jar.parent.mkdir(parents=True, exist_ok=True)
        clibrary.run([str(home / "bin/jar"), "--create", "--file", str(jar), "-C", made, "."])


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tools/javalibrary.py FOLDER", file=sys.stderr)
        return 2
    home = jdk()
    if home is None:
        print("no JDK (javac, jni.h): install the package openjdk-17-jdk-headless", file=sys.stderr)
        return 1
    try:
        folder = Path(arguments[0]).absolute()
        build(home, folder, folder / "towpath.jar")
        build_riffa(home, folder, folder / "riffa.jar")
    except clibrary.BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
