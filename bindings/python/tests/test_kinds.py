# SPDX-License-Identifier: Apache-2.0
"""Kinds of channel: the package of examples/crc32c, as pip installs it, and what is missing without it; those that come with Towpath."""

from __future__ import annotations

import importlib
import random
import shutil
import subprocess
import sys
import threading
import time
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


def test_ports_behind_a_fanout() -> None:
    with towpath.open("sim:exchange") as card:
        fan = card.kind("data")
        assert isinstance(fan, towpath.Fanout)
        for port in (3, 1, 2):
            fan[port].send(bytes([port]) * port)
        # One port's message, with the others kept in their order.
        assert fan[2].recv() == b"\2\2"
        assert [fan.recv(), fan.recv()] == [(3, b"\3\3\3"), (1, b"\1")]
        for port in (4, (1 << 32) - 1):
            with pytest.raises(towpath.NotFoundError, match=f"no port {port}") as failed:
                fan[port].send(b"nobody's")
            assert failed.value.kind_status == 1
        # Port 1 takes nothing: what is for it waits, and passes nobody by.
        fan[0].send(b"\2")
        fan[1].send(b"waits")
        # A call that sends nothing leaves the channel alone.
        with pytest.raises(towpath.UsageError):
            fan[-1].send(b"x")
        fan[2].send(b"goes on")
        each = iter(fan)
        assert [next(each), next(each)] == [(0, b"\2"), (2, b"goes on")]
        fan[0].send(b"\0")
        assert [fan.recv(), fan.recv()] == [(0, b"\0"), (1, b"waits")]
        # Held again, its FIFO has room for 18 messages of a beat; the next one stops the channel, and the call resets it.
        fan[0].send(b"\2")
        for _ in range(18):
            fan[1].send(b"fills")
        with pytest.raises(towpath.TimeoutError):
            fan[1].send(b"is too much", timeout=200e-6)
        fan[0].send(b"\0")
        fan[1].send(b"begins anew")
        assert fan[1].recv() == b"begins anew"
        assert [fan.recv(), fan.recv()] == [(0, b"\2"), (0, b"\0")]
        # A kept message takes its bytes and 64.
        fan.kept_most = 68 + 63
        for message in (b"", b"four", b""):
            fan[2].send(message)
        fan[3].send(b"four")
        with pytest.raises(towpath.UsageError, match="2 of others are kept, which take 132 bytes of 131 at most"):
            fan[3].recv()
        assert [fan.recv() for _ in range(4)] == [(2, b""), (2, b"four"), (2, b""), (3, b"four")]
        fan.kept_most = 0
        fan[2].send(b"")
        fan[3].send(b"four")
        with pytest.raises(towpath.UsageError, match="1 of others"):
            fan[3].recv()
        assert (fan.recv(), fan[3].recv(timeout=1)) == ((2, b""), b"four")


def two_threads_send(sender: towpath.Channel, send: Any, recv: Any, messages: list[bytes]) -> None:
    """More than card and core hold, and a second thread."""
    ends: dict[str, BaseException | None] = {}

    def send_all(name: str, limit: float | None, messages: list[bytes]) -> None:
        try:
            for message in messages:
                send(message, timeout=limit)
            ends[name] = None
        except towpath.Error as error:
            ends[name] = error

    def begin(name: str, limit: float | None, messages: list[bytes]) -> threading.Thread:
        thread = threading.Thread(target=send_all, args=(name, limit, messages), daemon=True)
        thread.start()
        return thread

    def stands() -> None:
        last, looks = 0, 0
        while looks < 50 or last == 0:
            submitted = sender.statistics().submitted
            last, looks = submitted, looks + 1 if submitted == last else 0
            time.sleep(0.01)

    # One gives up while it waits for its turn: nothing of the other one's is lost.
    first = begin("patient", None, messages)
    stands()
    with pytest.raises(towpath.TimeoutError) as failed:
        send(b"gives up", timeout=200e-6)
    assert failed.value.bytes == 0
    for message in messages:
        assert recv() == message
    first.join()
    assert ends == {"patient": None}
    # The first gives up: the channel has been reset before the second has its turn, and so its message arrives.
    first = begin("hasty", 10e-3, messages)
    stands()
    second = begin("last", None, [b"\0the last"])
    first.join()
    while recv() != b"\0the last":
        pass
    second.join()
    assert isinstance(ends["hasty"], towpath.TimeoutError) and ends["last"] is None


def test_two_threads_send_to_a_fanout() -> None:
    with towpath.open("sim:exchange") as card:
        fan = card.kind("data")
        messages = [bytes([n]) * 16 for n in range(60)] + [bytes(2000)]
        two_threads_send(fan.sender, fan[1].send, fan[1].recv, messages)


def test_two_threads_send_frames() -> None:
    with towpath.open("sim:normalize") as card:
        frames = card.kind("frames")
        # With a 0 among its bytes a frame comes back as it was.
        messages = [bytes([0] + [n] * 4000) for n in range(10)]
        two_threads_send(frames.sender, frames.send, lambda: frames.recv()[0], messages)


def test_two_threads_send_with_a_checksum(crc32c: Any) -> None:
    with towpath.open(f"sim:{EXAMPLE}") as card:
        checked = card.kind("data")
        messages = [bytes([n]) * 4000 for n in range(10)]

        def recv() -> bytes | None:
            try:
                return bytes(checked.recv())
            except crc32c.DamagedError:
                return None  # what the reset has cut

        two_threads_send(checked.sender, checked.send, recv, messages)


def test_a_thread_that_receives_keeps_none_beyond_its_limit() -> None:
    with towpath.open("sim:exchange") as card:
        fan = card.kind("data")
        first = threading.Thread(target=fan.recv, kwargs={"timeout": None})
        first.start()
        while not fan._receiving.locked():
            time.sleep(0.001)
        began = time.monotonic()
        for receive in (fan.recv, fan[2].recv):
            with pytest.raises(towpath.TimeoutError):
                receive(timeout=0.1)
        assert time.monotonic() - began < 5
        fan[3].send(b"x")
        first.join()


def test_frames_in_a_buffer() -> None:
    with towpath.open("sim:normalize") as card:
        frames = card.kind("frames")
        assert isinstance(frames, towpath.Frames)
        for length in (0, 1, 17, 4096):
            frame = bytes(60 + byte // 2 for byte in random.Random(length).randbytes(length))
            frames.send(frame, user=length)
            assert frames.recv() == (bytes(byte - min(frame) for byte in frame), length)
        with pytest.raises(towpath.RangeError, match="the frame is longer") as failed:
            frames.send(bytes(4097))
        assert failed.value.kind_status == 1
        frames.send(b"\x09\x08")
        assert frames.recv() == (b"\1\0", 0)
