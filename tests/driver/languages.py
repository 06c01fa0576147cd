# SPDX-License-Identifier: Apache-2.0
"""The library's other bindings for programs in a guest: the Python package, and the examples in C and C++."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from cards import ROOT, Failed

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]
import clibrary  # noqa: E402
from loopback import FOLDER, SAYS  # noqa: E402

COMPILERS = {".c": ("cc", "-std=c99"), ".cpp": ("c++", "-std=c++11")}


def build(folder: Path) -> dict[str, str]:
    """Builds all of it in a new folder; says where it is in the words of the guest's environment."""
    return {"TOWPATH_GUEST_PYTHON": str(package(folder / "python")), "TOWPATH_GUEST_EXAMPLES": str(programs(folder / "examples"))}


def package(folder: Path) -> Path:
    """The package as it is installed, without installing it."""
    manifest = ROOT / "bindings/python/Cargo.toml"
    maturin = Path(sys.executable).with_name("maturin")
    run("the Python package", maturin, "build", "--release", "--locked", "-m", manifest, "--interpreter", sys.executable, "--out", folder)
    zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(folder)
    return folder


def programs(folder: Path) -> Path:
    """The compiled ones, each by the name of its source without the ending, and the library beside them."""
    try:
        clibrary.build(folder)
    except clibrary.BuildError as error:
        raise Failed(f"the C library does not build: {error}") from error
    headers = [f"-I{ROOT / 'bindings' / part / 'include'}" for part in ("c", "c++")]
    for source in [FOLDER / name for name in SAYS if not name.endswith(".py")]:
        linked = [f"-L{folder}", "-ltowpath", f"-Wl,-rpath,{folder}"]
        run(source.name, *COMPILERS[source.suffix], *headers, source, *linked, "-o", folder / source.stem)
    return folder


def run(what: str, *command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(f"{what} does not build:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
