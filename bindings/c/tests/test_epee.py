# SPDX-License-Identifier: Apache-2.0
"""EPEE's calls (bindings/epee), each over the simulated cores loopback and epee_demo, which has EPEE's ports."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import ancestors
import pytest

from conftest import ROOT, SANITIZED, WARNINGS, run

EPEE = ROOT / "bindings/epee"


@pytest.fixture(scope="session")
def epee(library: Path) -> Path:
    """The folder with libepee.so, beside libtowpath.so."""
    ancestors.build_epee(library)
    return library


@pytest.mark.parametrize("core", ["loopback", "epee_demo"])
def test_each_call(epee: Path, tmp_path: Path, core: str) -> None:
    program = tmp_path / "behaviour"
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", *WARNINGS, *SANITIZED, f"-I{EPEE / 'include'}", str(EPEE / "tests/behaviour.c")]
    command += ["-pthread", "-o", str(program), f"-L{epee}", "-lepee"]
    subprocess.run([*command, f"-Wl,-rpath,{epee}", f"-Wl,-rpath-link,{epee}"], check=True)
    done = run(program, TOWPATH_DEVICE=f"sim:{core}")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_only_epees_names_are_exported(epee: Path) -> None:
    said = subprocess.run(["nm", "-D", "--defined-only", epee / "libepee.so"], check=True, capture_output=True, text=True).stdout
    header = re.sub(r"/\*.*?\*/", "", (EPEE / "include/sPcie.h").read_text(), flags=re.DOTALL)
    declared = re.findall(r"^\w[\w *]*?\b(\w+)\([^)]*\);$", header, re.M)
    assert sorted(re.findall(r" T (\S+)$", said, re.M)) == sorted(declared)
    assert len(declared) == 20


@pytest.mark.parametrize("standard", ["c99", "c++11"])
@pytest.mark.parametrize("name", ["sPcie.h", "sPcieZerocopy.h"])
def test_the_headers_are_c_and_c_plus_plus(name: str, standard: str) -> None:
    language = "c++" if standard.startswith("c++") else "c"
    header = EPEE / "include" / name
    subprocess.run(["cc", f"-std={standard}", "-x", language, *WARNINGS, "-fsyntax-only", header], check=True)
