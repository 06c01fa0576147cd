# SPDX-License-Identifier: Apache-2.0
"""Plug-in `partial`: the simulated card of examples/partial, a loopback in whose place Sobel is loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import towpath

CORE = Path(__file__).resolve().parents[3] / "examples/partial"
WORDS = 200


@pytest.fixture
def swapped() -> Iterator[tuple[towpath.Device, towpath.Partial]]:
    with towpath.open(f"sim:{CORE}") as device:
        partial = device.plugins["partial"]
        assert isinstance(partial, towpath.Partial)
        yield device, partial


def file(folder: Path, name: str) -> Path:
    path = folder / f"{name}.bin"
    path.write_bytes(towpath.Partial.simulated_image(name, WORDS))
    return path


def test_a_program_swaps_cores(swapped: tuple[towpath.Device, towpath.Partial], tmp_path: Path) -> None:
    card, partial = swapped
    assert partial.core_name == "loopback" and partial.loads == 0
    told: list[tuple[int, int]] = []
    sobel = file(tmp_path, "sobel")
    partial.load(sobel, progress=lambda so_far, total: told.append((so_far, total)))
    size = sobel.stat().st_size
    assert told == sorted(told) and len(told) > 2 and told[-1] == (size, size)
    assert partial.core_name == "sobel" and partial.loads == 1
    assert partial.status == towpath.PartialStatus(loading=False, decoupled=False, whole=True, midway=False, outcome="loaded")
    card.registers[0] = 3  # the picture's width
    card["in"].send(bytes([9, 9, 9, 9, 0, 0, 9, 0, 0]))
    assert card["out"].recv() == bytes([0, 0, 0, 0, 54, 0, 0, 0, 0])
    partial.load(str(file(tmp_path, "loopback")))
    card["in"].send(b"back")
    assert card["out"].recv() == b"back"


def test_within_a_message(swapped: tuple[towpath.Device, towpath.Partial], tmp_path: Path) -> None:
    card, partial = swapped
    loopback = file(tmp_path, "loopback")
    card["in"].send(b"begun" * 100, end=False)
    with pytest.raises(towpath.UsageError, match="within a message"):
        partial.load(loopback)
    partial.load(loopback, channels=[card["in"], card["out"]])
    card["in"].send(b"anew")
    assert card["out"].recv() == b"anew" and not partial.status.midway

    class OddError(Exception):
        pass

    class Odd:
        def reset(self) -> None:
            raise OddError

    with pytest.raises(OddError):
        partial.load(loopback, channels=[Odd()])  # type: ignore[list-item]
    assert partial.status.outcome == "aborted" and partial.core_name is None
    partial.load(loopback)
    assert partial.core_name == "loopback"


def test_files_that_are_wrong(swapped: tuple[towpath.Device, towpath.Partial], tmp_path: Path) -> None:
    card, partial = swapped
    corrupt = tmp_path / "corrupt.bin"
    corrupt.write_bytes(file(tmp_path, "sobel").read_bytes()[:-4] + b"nope")
    with pytest.raises(towpath.RegisterError, match="refuses the file"):
        partial.load(corrupt)
    assert partial.core_name is None and partial.status.decoupled
    with pytest.raises(towpath.UsageError, match="gone.bin"):
        partial.load(tmp_path / "gone.bin")
    with pytest.raises(towpath.RegisterError):
        card.registers[0]
    partial.load(file(tmp_path, "loopback"))
    card["in"].send(b"mended")
    assert card["out"].recv() == b"mended"


def test_the_example() -> None:
    done = subprocess.run([sys.executable, CORE / "swap.py"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "") and lines[::5] == ["loopback, 0 loads", "sobel, 1 loads", "loopback, 2 loads"]
    assert lines[1:5] == lines[11:15] and lines[7] == "  0   0   0 255 255   0   0   0"
