# SPDX-License-Identifier: Apache-2.0
"""The package for MATLAB and Octave (bindings/octave) and RIFFA's class (bindings/riffa/matlab), by Octave, over simulated cards."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import ancestors
import octavelibrary
import pytest

from conftest import ROOT, run

SEED = os.environ.get("TOWPATH_SEED") or str(random.randrange(1 << 31))
needs_octave = pytest.mark.skipif(not octavelibrary.there(), reason=octavelibrary.MISSING)


@pytest.fixture(scope="module")
def folder(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both folders for Octave's path."""
    made = tmp_path_factory.mktemp("octave")
    ancestors.build_riffa(library)
    octavelibrary.copy(made / "towpath", made / "riffa")
    octavelibrary.build(library, made / "towpath", made / "riffa")
    return made


def octave(folder: Path, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    done = run("octave-cli", "--norc", "--no-history", "-p", str(folder), str(ROOT / script), *arguments, **variables)
    print(done.stdout, done.stderr)
    return done


@needs_octave
def test_each_rule(folder: Path) -> None:
    script = "bindings/octave/tests/rules.m"
    done = octave(folder / "towpath", script, SEED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == re.findall(r"^printf\('(\w+)\\n'\);", (ROOT / script).read_text(), re.M)


@needs_octave
def test_the_example(folder: Path) -> None:
    done = octave(folder / "towpath", "examples/octave/edges.m")
    assert (done.returncode, done.stdout) == (0, "160 x 100 pixels, 0 wrong\n"), done.stderr


@needs_octave
def test_riffas_class(folder: Path) -> None:
    done = octave(folder / "riffa", "bindings/riffa/tests/rules.m", TOWPATH_DEVICE="sim:tests/cores/transactions")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_statuses_are_those_of_the_header() -> None:
    header = (ROOT / "bindings/c/include/towpath.h").read_text()
    enum = header[: header.index("} towpath_status;")].rpartition("typedef enum {")[2]
    numbered = {int(number): name for name, number in re.findall(r"\bTOWPATH_(\w+) = (\d+),", enum)}
    text = (octavelibrary.OCTAVE / "towpath_mex.c").read_text().partition("NAMES[] = {")[2].partition("}")[0]
    assert re.findall(r'"(\w*)"', text) == ["", *(numbered[n] for n in range(1, len(numbered)))]
