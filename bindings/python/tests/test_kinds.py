# SPDX-License-Identifier: Apache-2.0
"""Kinds of channel from elsewhere: the package of examples/crc32c, as pip installs it, and what is missing without it."""

from __future__ import annotations

import importlib
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import towpath

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/crc32c"
TESTS = ROOT / "tests"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package is installed."""
    folder = tmp_path_factory.mktemp("site")
    # A copy: building leaves files beside the sources.
    source = tmp_path_factory.mktemp("source") / "python"
    shutil.copytree(EXAMPLE / "python", source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder), str(source)]
    subprocess.run(pip, check=True)
    return folder


@pytest.fixture
def crc32c(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package, installed."""
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield importlib.import_module("towpath_crc32c")


def test_sound_and_damaged_messages(crc32c: Any) -> None:
    with towpath.open(f"sim:{EXAMPLE}") as card:
        checked = card.kind("data")
        assert isinstance(checked, crc32c.Checked)
        checked.send(b"hello")
        assert checked.recv() == b"hello"
        for length in (0, 1, 12, 4096, 70_001):
            message = random.Random(length).randbytes(length)
            damaged = bytearray(crc32c.framed(message))
            damaged[length // 2] ^= 4
            for framed in (crc32c.framed(message), bytes(damaged)):
                failed: list[BaseException] = []

                def send(framed: bytes = framed, failed: list[BaseException] = failed) -> None:
                    try:
                        checked.send_framed(framed)
                    except crc32c.DamagedError as error:
                        failed.append(error)

                # A long message is taken while its echo is received.
                sending = threading.Thread(target=send)
                sending.start()
                if framed == damaged:
                    with pytest.raises(crc32c.DamagedError, match="came damaged"):
                        checked.recv()
                else:
                    assert checked.recv() == message
                sending.join()
                assert bool(failed) == (framed == damaged)


def test_a_message_that_was_cut_short_harms_no_other(crc32c: Any) -> None:
    with towpath.open(f"sim:{EXAMPLE}") as card:
        checked = card.kind("data")
        for length in (5_000, 100_000):
            with pytest.raises(towpath.TimeoutError):
                checked.send(bytes(length), timeout=1e-6)
            checked.receiver.reset()
            checked.send(b"hello")
            assert checked.recv() == b"hello"
        # It is no stream, though it is open.
        with pytest.raises(towpath.UsageError, match="kind crc32c"):
            card["data"].send(b"x")
        assert isinstance(card.kind("0"), crc32c.Checked)


def test_two_packages_know_it(crc32c: Any, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[towpath.kinds]\ncrc32c = other:Checked\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with towpath.open(f"sim:{EXAMPLE}") as card, pytest.raises(towpath.UsageError, match="more than one package"):
        card.kind("data")


def test_no_package_knows_it() -> None:
    with towpath.open(f"sim:{EXAMPLE}") as card:
        with pytest.raises(towpath.NotFoundError, match="kind crc32c, which no package here knows; install"):
            card.kind("data")
        with pytest.raises(towpath.NotFoundError, match="data"):
            card.kind("nothing")
        with pytest.raises(towpath.UsageError, match="kind crc32c"):
            card["data"].send(b"x")


def test_another_version(crc32c: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crc32c.Checked, "version", 2)
    with (
        towpath.open(f"sim:{EXAMPLE}") as card,
        pytest.raises(towpath.UsageError, match="version 1, and towpath_crc32c:Checked knows version 2"),
    ):
        card.kind("data")


def test_towpaths_own_kinds() -> None:
    with towpath.open("sim:loopback") as card, pytest.raises(towpath.UsageError, match="own kind stream"):
        card.kind("in")
    with towpath.open("sim:scratchpad") as card, pytest.raises(towpath.UsageError, match="card.memory"):
        card.kind("ram")


def test_a_kind_that_is_asked() -> None:
    """The scratchpad's memory, as a kind of which the library knows nothing but its name."""
    with towpath.open(f"sim:{TESTS / 'cores/asked'}") as card:
        to, back = (towpath.Channel(card, number, ("asked", 3)) for number in (0, 1))
        data = random.Random(1).randbytes(10_000)
        assert to.send(data, offset=777) == len(data)
        for into in (bytearray(len(data)), card.allocate(len(data))):
            got = back.ask(into, offset=777)
            assert (got.bytes, bytes(into)) == (len(data), data)
        with pytest.raises(towpath.TransferError) as failed:
            back.ask(bytearray(10), offset=1 << 20, user=5)
        assert (failed.value.kind_status, failed.value.status) == (3, "status 3 of the channel's kind")
        with pytest.raises(towpath.UsageError, match="read-only"):
            back.ask(bytes(10), offset=0)
    with towpath.open(f"sim:{TESTS / 'cores/asked'}") as card, pytest.raises(towpath.UsageError, match="version 4"):
        towpath.Channel(card, 0, ("asked", 4)).send(data)
    with towpath.open("sim:loopback") as card, pytest.raises(towpath.UsageError, match="cannot be asked"):
        card["out"].ask(bytearray(10), offset=0)
