# SPDX-License-Identifier: Apache-2.0
"""The driver builds for the kernels of Debian's releases without a warning, and sparse and checkpatch find nothing in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import headers  # noqa: E402
import kernel  # noqa: E402

DRIVER = kernel.ROOT / "driver/linux"
# Of checkpatch's opinions: what is only right for drivers within the kernel's tree.
NOT_ASKED = "LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_REUSE"


def make(folder: Path, version: str, *arguments: str) -> str:
    """What a build of a copy of the driver says; the build is good."""
    try:
        tree = headers.headers(version)
    except kernel.Missing as why:
        pytest.skip(str(why))
    copy = shutil.copytree(DRIVER, folder / "driver")
    # The last step is left out for the newest: the kernel's program for it wants a newer C library than there may be.
    target = "towpath.o" if version == "newest" else "modules"
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARCH")}
    command = ["make", f"-C{tree}", f"M={copy}", *headers.OPTIONS, *arguments, target]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and (copy / target.replace("modules", "towpath.ko")).exists(), said[-6000:]
    return said


def complaints(said: str) -> list[str]:
    """Lines about our files."""
    return [line for line in said.splitlines() if re.search(r"/driver/\S+:\d+.*(warning|error)", line)]


@pytest.mark.parametrize("version", headers.KERNELS)
def test_it_builds_without_a_warning(tmp_path: Path, version: str) -> None:
    assert complaints(make(tmp_path, version, "W=1")) == []
    wanted = subprocess.run(["nm", "--undefined-only", "-j", tmp_path / "driver/towpath.o"], capture_output=True, text=True, check=True)
    exported = {line.split("\t")[1] for line in (headers.headers(version) / "Module.symvers").read_text().splitlines()}
    assert len(exported) > 1000 and set(wanted.stdout.split()) - exported <= {"__this_module"}


def test_sparse_finds_nothing(tmp_path: Path) -> None:
    try:
        checker = headers.sparse()
    except kernel.Missing as why:
        pytest.skip(str(why))
    said = make(tmp_path, "6.1", "C=2", f"CHECK={checker}")
    assert "CHECK " in said and complaints(said) == []


def test_checkpatch_finds_nothing() -> None:
    try:
        tree = kernel.build("plain")
    except kernel.Missing as why:
        pytest.skip(str(why))
    sources = [*DRIVER.glob("*.[ch]"), *DRIVER.glob("uapi/*.h")]
    command = ["perl", tree / "scripts/checkpatch.pl", "--no-tree", "--strict", "--terse", "--max-line-length=100"]
    done = subprocess.run([*command, f"--ignore={NOT_ASKED}", "--file", *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
