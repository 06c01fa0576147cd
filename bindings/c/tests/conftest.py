# SPDX-License-Identifier: Apache-2.0
"""The library, built once, and programs that are linked with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]
import clibrary  # noqa: E402

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with libtowpath.so."""
    folder = tmp_path_factory.mktemp("library")
    clibrary.build(folder)
    return folder


Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compile_c(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles sources, all in C or all in C++, into a program of that name, linked with the library."""

    def compile_c(name: str, *sources: Path, options: list[str]) -> Path:
        program = tmp_path_factory.mktemp("program") / name
        compiler = ["c++", "-std=c++11"] if sources[0].suffix == ".cpp" else ["cc", "-std=c11", "-D_GNU_SOURCE"]
        command = [*compiler, *WARNINGS, *options, f'-DTOWPATH_TEST_VERSION="{clibrary.version()}"']
        command += [f"-I{ROOT / 'bindings' / part}" for part in ("c/include", "c++/include", "c/tests")]
        command += [*map(str, sources), "-o", str(program)]
        subprocess.run([*command, f"-L{library}", "-ltowpath", f"-Wl,-rpath,{library}", "-pthread"], check=True)
        return program

    return compile_c


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs it from the repository's root, where the gateware is found."""
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    environment.pop("TOWPATH_DEVICE", None)
    # An empty folder of the user's own: cards that others on this machine serve at the moment are none of these tests' affair.
    with tempfile.TemporaryDirectory() as empty:
        environment |= {"XDG_RUNTIME_DIR": empty} | variables
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
