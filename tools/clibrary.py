#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds libtowpath.so: `python tools/clibrary.py FOLDER` leaves the library and the two links there by which linker and loader find it.

Cargo builds host/c as a static library, which the C compiler turns into a shared one. rustc could do that, but it hands the linker a
version script of its own, and knows neither versions of symbols nor a soname.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "host/Cargo.toml"
MAP = ROOT / "bindings/c/libtowpath.map"
# Raised when programs that were built before would no longer run: see docs/guide/c.md.
ABI = 0
SONAME = f"libtowpath.so.{ABI}"


class BuildError(Exception):
    """The text says which command failed, and what it said."""


def version() -> str:
    return str(tomllib.loads(MANIFEST.read_text())["workspace"]["package"]["version"])


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BuildError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done


def made(said: str, name: str) -> list[Path]:
    """The files of a name, among what cargo says as JSON that it made, or had made before."""
    messages = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    files = [file for message in messages if message["reason"] == "compiler-artifact" for file in message["filenames"]]
    return [Path(file) for file in files if Path(file).name == name]


def static_library() -> tuple[Path, list[str]]:
    """The static library of host/c, and the system's libraries that it needs."""
    command = ["cargo", "rustc", "--release", "--locked", f"--manifest-path={MANIFEST}", "--package=towpath-c", "--lib"]
    command += ["--crate-type=staticlib", "--message-format=json-render-diagnostics", "--", "--print=native-static-libs"]
    done = run(command)
    found = made(done.stdout, "libtowpath_c.a")
    needed = re.findall(r"^note: native-static-libs: (.*)$", done.stderr, re.M)
    if len(found) != 1 or not needed:
        raise BuildError(f"{' '.join(command)}: no static library, or not what it needs, among what it said:\n{done.stderr}")
    return found[0], needed[-1].split()


def build(folder: Path, export_map: Path = MAP) -> Path:
    """Leaves libtowpath.so.VERSION, libtowpath.so.ABI and libtowpath.so in `folder`; returns the first."""
    archive, needed = static_library()
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"libtowpath.so.{version()}"
    options = [
        f"-soname={SONAME}",
        f"--version-script={export_map}",
        "--no-undefined-version",  # a name of the map that the library does not have is an error
        "--gc-sections",
        "--strip-debug",
        "--build-id",
        "-z,defs",
        "-z,relro",
        "-z,now",
        "-z,nodelete",  # Rust's threads and thread-local values outlive a dlclose()
    ]
    command = ["cc", "-shared", "-o", str(library), *(f"-Wl,{option}" for option in options)]
    run([*command, "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *needed])
    for name in (SONAME, "libtowpath.so"):
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(library.name)
    return library


def exported(export_map: Path = MAP) -> list[str]:
    """The names in an export map."""
    text = re.sub(r"/\*.*?\*/", "", export_map.read_text(), flags=re.DOTALL)
    return sorted(re.findall(r"\b(towpath_\w+);", text))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tools/clibrary.py FOLDER", file=sys.stderr)
        return 2
    try:
        print(build(Path(arguments[0]).absolute()))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
