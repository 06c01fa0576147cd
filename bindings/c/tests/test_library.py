# SPDX-License-Identifier: Apache-2.0
"""What the library exports is what its map promises and its header declares. That the header is fresh, a test of host/c checks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import clibrary
import pytest

from conftest import ROOT, WARNINGS

HEADER = ROOT / "bindings/c/include/towpath.h"


def said(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports(library: Path) -> list[str]:
    return sorted(re.findall(r" T (towpath_\w+@@TOWPATH_[\d.]+)$", said("nm", "-D", "--defined-only", library / clibrary.SONAME), re.M))


def test_only_what_the_map_names_is_exported(library: Path) -> None:
    everything = said("nm", "-D", "--defined-only", "--without-symbol-versions", library / clibrary.SONAME).split("\n")
    names = {line.split()[-1] for line in everything if line} - {"TOWPATH_0.1"}
    assert sorted(names) == clibrary.exported()
    assert exports(library) == [f"{name}@@TOWPATH_0.1" for name in clibrary.exported()]


def test_the_header_declares_what_is_exported() -> None:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    declared = re.findall(r"^[\w *]+?\b(towpath_\w+)\(", text, re.M)
    assert sorted(declared) == clibrary.exported()


def test_programs_ask_for_the_name_that_stays(library: Path) -> None:
    assert re.search(r"SONAME\s+libtowpath\.so\.0$", said("objdump", "-p", library / "libtowpath.so"), re.M)
    assert (library / "libtowpath.so").resolve().name == f"libtowpath.so.{clibrary.version()}"


def test_a_name_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    planted = tmp_path / "planted.map"
    planted.write_text(clibrary.MAP.read_text().replace("towpath_version;", "towpath_version;\n    towpath_teapot;"))
    with pytest.raises(clibrary.BuildError, match="towpath_teapot"):
        clibrary.build(tmp_path, planted)


@pytest.mark.parametrize("standard", ["c99", "c11", "c++11", "c++20"])
def test_the_header_is_c_and_c_plus_plus(standard: str) -> None:
    language = "c++" if standard.startswith("c++") else "c"
    subprocess.run(["cc", f"-std={standard}", "-x", language, *WARNINGS, "-fsyntax-only", HEADER], check=True)
