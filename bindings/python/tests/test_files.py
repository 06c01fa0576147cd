# SPDX-License-Identifier: Apache-2.0
"""A message as a file: the standard library's readers and writers over it, random sizes, limits, signals, fork, threads.

Seeds are printed; TOWPATH_SEED repeats one."""

from __future__ import annotations

import contextlib
import csv
import gc
import io
import os
import pickle
import random
import shutil
import signal
import tarfile
import threading
import time
from collections.abc import Callable

import pytest

import towpath


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("TOWPATH_SEED") or random.SystemRandom().getrandbits(32))
    print(f"TOWPATH_SEED={seed}")
    return random.Random(seed)


def beside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_files_of_random_sizes_in_random_pieces(card: towpath.Device, chance: random.Random) -> None:
    there, back = card["in"], card["out"]
    sizes = [0, 1, 65_535, 65_536, 65_537, 200_000] + [chance.randrange(20_000) for _ in range(30)]
    messages = [chance.randbytes(size) for size in sizes]
    pieces = random.Random(chance.random())

    def write() -> None:
        for message in messages:
            buffering = pieces.choice([-1, 0, 1, 777])
            with there.open("wb") if buffering else there.open("wb", 0) as file:
                rest = memoryview(message)
                while rest:
                    done = file.write(rest[: pieces.randrange(1, 9000)])
                    assert done
                    rest = rest[done:]
                    if pieces.random() < 0.2:
                        file.flush()  # which ends nothing

    writing = beside(write)
    for message in messages:
        got = bytearray()
        with back.open("rb", 0) if chance.random() < 0.3 else back.open() as file:
            way = chance.randrange(4)
            if way == 0:
                got += file.read() or b""
            while way:
                if way == 1:
                    part = file.read(chance.randrange(1, 9000)) or b""
                else:
                    room = bytearray(chance.randrange(1, 9000))
                    part = bytes(room[: file.readinto(room) or 0])
                if not part:
                    break
                got += part
            assert file.read(1) == b"" and file.readinto(bytearray(1)) == 0  # an end is an end
        assert got == message
    writing.join(60)
    assert not writing.is_alive()


def test_what_takes_a_file_takes_a_message(card: towpath.Device, tmp_path: os.PathLike[str]) -> None:
    there, back = card["in"], card["out"]
    things = {"numbers": list(range(5000)), "text": "für" * 1000}
    with there.open("wb") as file:
        pickle.dump(things, file)
    with back.open("rb") as source:
        assert pickle.load(source) == things

    rows = [[str(n), f"a, {n}\nb"] for n in range(300)]
    with there.open("w", encoding="utf-8", newline="") as text:
        csv.writer(text).writerows(rows)
    with back.open("r", encoding="utf-8", newline="") as text:
        assert list(csv.reader(text)) == rows

    def pack() -> None:
        with there.open("wb") as file, tarfile.open(fileobj=file, mode="w|") as archive:
            for n in range(5):
                info = tarfile.TarInfo(f"member{n}")
                info.size = 7000 * n
                archive.addfile(info, io.BytesIO(bytes([n]) * info.size))

    packing = beside(pack)
    with back.open() as source, tarfile.open(fileobj=source, mode="r|") as archive:
        members = {member.name: (archive.extractfile(member) or io.BytesIO()).read() for member in archive}
        source.read()
    packing.join(60)
    assert members == {f"member{n}": bytes([n]) * 7000 * n for n in range(5)}

    data, copied = os.urandom(300_000), io.BytesIO()
    copying = beside(lambda: copy(data, there))
    with back.open() as source:
        shutil.copyfileobj(source, copied)
    copying.join(60)
    assert copied.getvalue() == data


def copy(data: bytes, channel: towpath.Channel) -> None:
    with channel.open("wb") as file:
        shutil.copyfileobj(io.BytesIO(data), file)


def test_what_a_file_says_of_itself(card: towpath.Device) -> None:
    raw = card["out"].open("rb", 0)
    assert raw.readable() and not raw.writable() and not raw.seekable() and not raw.isatty() and not raw.closed
    assert repr(raw) == "<towpath.MessageFile \"out\" mode='rb'>"
    with pytest.raises(io.UnsupportedOperation):
        raw.write(b"x")
    with pytest.raises(OSError):
        raw.fileno()
    with pytest.raises(towpath.UsageError, match="open as a file; close that first"):
        card["out"].open()
    raw.close()
    raw.close()
    with pytest.raises(ValueError, match="closed"):
        raw.readinto(bytearray(1))
    file = card["out"].open()
    del file
    gc.collect()
    card["out"].open().close()  # one that is gone is closed
    with pytest.raises(towpath.UsageError, match="carries data to the card"):
        card["in"].open("rb")
    for arguments in ({"mode": "rw"}, {"mode": "rb", "encoding": "ascii"}, {"mode": "r", "buffering": 0}):
        with pytest.raises(ValueError):
            card["out"].open(**arguments)
    with pytest.raises(towpath.UsageError, match="no stream"), towpath.open("sim:scratchpad") as pad:
        memory = pad.memory["ram"].info
        towpath.Channel(pad, memory.writer).open("wb")


def test_a_file_is_one_message(card: towpath.Device) -> None:
    there, back = card["in"], card["out"]
    card["in"].open("wb").close()
    assert back.recv() == b""  # a file of no bytes is a message of none
    there.send(b"one message")
    there.send(b"two")
    with back.open("rb", 0) as raw:
        assert raw.read(4) == b"one "
    with back.open() as file:
        assert file.read() == b"message" and file.read() == b""  # what was left, and not a byte of the next
    assert back.recv() == b"two"
    with pytest.raises(ZeroDivisionError), there.open("wb") as file:
        file.write(b"partly")
        raise ZeroDivisionError
    assert back.recv() == b"partly"


def test_limits(card: towpath.Device) -> None:
    there, back = card["in"], card["out"]
    with back.open("rb", 0, timeout=1e-3) as raw:
        with pytest.raises(towpath.TimeoutError):
            raw.read(10)
        there.send(bytes(64), end=False)  # the card holds a part of it back, for it may be the end
        first = None
        for _ in range(100):  # a limit that ends before the card has given anything is a TimeoutError again, and loses nothing
            with contextlib.suppress(towpath.TimeoutError):
                first = raw.read(100)
                break
        assert first and len(first) <= 64  # what has come
        there.send(b"end")
        assert first + b"".join(iter(lambda: raw.read(100) or b"", b"")) == bytes(64) + b"end"
    with there.open("wb", 0, timeout=1e-3) as raw:
        taken = raw.write(bytes(200_000))  # more than the card holds
        assert taken is not None and 0 < taken < 200_000
        with pytest.raises(towpath.TimeoutError):
            while True:
                taken += raw.write(bytes(200_000)) or 0
        taking = beside(lambda: back.recv())
        time.sleep(0.05)
        # A partial write is no loss: what it returned is what the card has.
    taking.join(60)
    assert not taking.is_alive()


def test_a_reset_loses_the_message(card: towpath.Device) -> None:
    with card["in"].open("wb", 0) as raw:
        raw.write(b"lost")
        writing = threading.Thread(
            target=lambda: pytest.raises(towpath.TransferError, lambda: [raw.write(bytes(100_000)) for _ in range(9)])
        )
        writing.start()
        time.sleep(0.1)
        card.reset()
        writing.join(60)
        with pytest.raises(towpath.UsageError, match="open another file"):
            raw.write(b"more")
    card["in"].send(b"next")
    assert card["out"].recv() == b"next"  # closing the file has sent no end


class Rung(Exception):
    pass


def ring(*_: object) -> None:
    raise Rung


@pytest.fixture
def alarms() -> object:
    before = signal.signal(signal.SIGALRM, ring)
    yield None
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_signals_lose_no_byte_that_is_read(card: towpath.Device, chance: random.Random, alarms: object) -> None:
    message = chance.randbytes(150_000)
    pauses = random.Random(chance.random())

    def write() -> None:
        for at in range(0, len(message), 3000):
            card["in"].send(message[at : at + 3000], end=at + 3000 >= len(message))
            time.sleep(pauses.random() * 2e-3)

    writing, got, rung = beside(write), bytearray(), 0
    with io.BufferedReader(card["out"].open("rb", 0), 5000) as file:
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 3e-3))
                count = len(file.peek(1))  # one read into the file's buffer, where bytes are safe
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Rung:
                rung += 1
                assert rung < 5000, "what is lost is waited for"
                continue
            if not count:
                break
            got += file.read(count)
    writing.join(60)
    assert rung and got == message, (rung, len(got))


def test_signals_neither_lose_nor_double_a_byte_that_is_written(card: towpath.Device, chance: random.Random, alarms: object) -> None:
    message, got = chance.randbytes(300_000), bytearray()

    def read() -> None:
        room = bytearray(3000)
        while True:
            received = card["out"].recv_into(room)
            got.extend(room[: received.bytes])
            if received.end_of_message:
                break
            time.sleep(1e-3)

    reading = beside(read)
    rung = 0
    with io.BufferedWriter(card["in"].open("wb", 0), 1 << 20) as file:
        file.write(message)  # all of it into the file's buffer
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 3e-3))
                file.flush()
                signal.setitimer(signal.ITIMER_REAL, 0)
                break
            except Rung:
                rung += 1
                assert rung < 5000, "what is lost is waited for"
        time.sleep(0.01)
        signal.setitimer(signal.ITIMER_REAL, 0)
    reading.join(60)
    assert rung and got == message, (rung, len(got))


def test_a_child_of_fork_leaves_the_file_to_its_parent(card: towpath.Device) -> None:
    with card["in"].open("wb") as file:
        file.write(b"the parent's")
        child = os.fork()
        if child == 0:
            try:
                file.flush()
            except towpath.UsageError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
    assert card["out"].recv() == b"the parent's"


def test_threads_share_a_buffered_file_and_a_raw_one_says_no(card: towpath.Device) -> None:
    message, got = os.urandom(200_000), bytearray()
    writing = beside(lambda: copy(message, card["in"]))
    with card["out"].open() as file:
        threads = [beside(lambda: got.extend(b"".join(iter(lambda: file.read(1000), b"")))) for _ in range(4)]
        for thread in [writing, *threads]:
            thread.join(60)
            assert not thread.is_alive()
    assert sorted(got) == sorted(message)  # each byte once
    with card["out"].open("rb", 0, timeout=None) as raw:
        waiting = beside(lambda: raw.read(1))
        time.sleep(0.1)
        with pytest.raises(towpath.UsageError, match="in another call"):
            raw.read(1)
        card["in"].send(b"x")
        waiting.join(60)


def test_a_close_while_another_thread_writes_is_refused_and_ends_the_message_later() -> None:
    data, written, received = random.randbytes(1 << 20), [], bytearray(4096)
    with towpath.open("sim:loopback") as card:
        file = card["in"].open("wb", buffering=0, timeout=None)
        writer = threading.Thread(target=lambda: written.append(file.write(data)))
        writer.start()
        assert card["out"].recv_into(received).bytes == 4096
        with pytest.raises(towpath.UsageError, match="in another call"):
            file.close()
        assert not file.closed
        while len(received) < len(data) - 4096:
            part = bytearray(4096)
            assert card["out"].recv_into(part).bytes == 4096
            received += part
        writer.join()
        assert written == [len(data)]
        file.close()
        assert received + card["out"].recv() == data


def test_text_that_cannot_be_opened_sends_nothing() -> None:
    with towpath.open("sim:loopback") as card:
        with pytest.raises(LookupError):
            card["in"].open("w", encoding="no such one")
        card["in"].send(b"first")
        assert card["out"].recv() == b"first"
