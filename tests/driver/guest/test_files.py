# SPDX-License-Identifier: Apache-2.0
"""Channels as files, through the loopback core: what POSIX promises of read() and write(), and messages."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import random
import select
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking import CHANNEL_RESET, Aside, fcntl, noise, opened, read_exactly, write_all
from inside import LIBC, Card, Module, until, utility

READ, WRITE, PACKETS, NOW = os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_DIRECT, os.O_NONBLOCK
# What the card keeps of an open message until more of it or its end has come: it writes whole packets.
HELD = 128
# Around what is copied and moved in place, pages, and the driver's own buffers.
EDGES = [1, 2, 3, 63, 64, 65, 4095, 4096, 4097, 16383, 16384, 16385, 65535, 65536, 65537, 200_001]


# Buffers that are posted ahead of a reader, and the bytes of each.
AHEAD, BUFFER = 8, 65_536


def counted(card: Card, channel: int) -> dict[str, int]:
    return {name: int(card.channel(channel, f"statistics/{name}")) for name in ("submitted", "completed", "bytes")}


@pytest.fixture(scope="module", autouse=True)
def loaded(driver: Module, card: Card) -> None:
    until(lambda: "control" in card.files, "the card's files are there")


@pytest.fixture(autouse=True)
def left_clean(card: Card) -> Iterator[None]:
    """A test that fails leaves nothing in the card for the next."""
    yield
    for name, flags in (("in", WRITE), ("out", READ)):
        with opened(card.files[name], flags) as file:
            fcntl.ioctl(file, CHANNEL_RESET)


def test_there_is_a_file_for_each_channel(card: Card) -> None:
    assert set(card.files) == {"control", "0", "1", "in", "out"}
    modes = [path.stat().st_mode for path in card.files.values()]
    assert all(stat.S_ISCHR(mode) and stat.S_IMODE(mode) == 0o600 for mode in modes)


def test_a_channel_is_the_same_by_name_and_by_number(card: Card) -> None:
    by_name = {card.channel(index, "name"): str(index) for index in range(2)}
    with opened(card.files["in"], WRITE), pytest.raises(OSError, match="busy"):
        os.open(card.files[by_name["in"]], WRITE)


def test_a_channel_goes_one_way_and_is_opened_once(card: Card) -> None:
    for name, wrong in (("in", READ), ("in", os.O_RDWR), ("out", WRITE), ("out", os.O_RDWR)):
        with pytest.raises(PermissionError):
            os.open(card.files[name], wrong)
    with opened(card.files["out"], READ):
        with pytest.raises(OSError, match="busy") as caught:
            os.open(card.files["out"], READ)
        assert caught.value.errno == errno.EBUSY
    with opened(card.files["out"], READ):
        pass


@pytest.mark.parametrize("size", EDGES)
def test_each_write_is_a_message_with_o_direct(card: Card, size: int) -> None:
    data = noise(size, size)
    with opened(card.files["in"], PACKETS) as to, opened(card.files["out"], READ) as back:
        writing = Aside(os.write, to, data)
        assert os.read(back, size + 1000) == data, "a short read is the end of a message"
        assert writing.finish() == size


@pytest.mark.parametrize("seed", [1, 2])
def test_many_messages_of_any_size_at_any_address(card: Card, seed: int) -> None:
    random_ = random.Random(seed)
    sizes = [random_.choice(EDGES[:-1]) if random_.random() < 0.5 else random_.randrange(1, 30_000) for _ in range(40)]
    memory = memoryview(bytearray(noise(max(sizes) + 4096, seed)))
    places = [random_.randrange(4096) for _ in sizes]

    def write(file: int) -> None:
        for size, place in zip(sizes, places, strict=True):
            assert os.write(file, memory[place : place + size]) == size

    with opened(card.files["in"], PACKETS) as to, opened(card.files["out"], READ) as back:
        writing = Aside(write, to)
        into = bytearray(max(sizes) + 8192)
        for number, (size, place) in enumerate(zip(sizes, places, strict=True)):
            where = random_.randrange(4096)
            view = memoryview(into)[where : where + size + random_.randrange(1, 4000)]
            count = os.readv(back, [view])
            assert (count, bytes(view[:count])) == (size, bytes(memory[place : place + size])), f"seed {seed}, message {number}"
        writing.finish()


def test_a_message_may_be_written_and_read_in_pieces(card: Card) -> None:
    data = noise(100_000, 3)
    with opened(card.files["in"], WRITE) as to, opened(card.files["out"], READ) as back:

        def write() -> None:
            for start in range(0, len(data), 9_999):
                write_all(to, data[start : start + 9_999])
            os.fsync(to)

        writing = Aside(write)
        found = read_exactly(back, 70_000)
        last = os.read(back, 70_000)
        assert found + last == data, "read() goes to the message's end and no further"
        writing.finish()


def test_a_read_that_ends_with_the_message_hides_nothing(card: Card) -> None:
    with opened(card.files["in"], PACKETS) as to, opened(card.files["out"], READ) as back:
        for size in (5, 64, 16_384, 65_536):
            writing = Aside(write_all, to, noise(size, size))
            assert len(read_exactly(back, size)) == size
            writing.finish()
            writing = Aside(os.write, to, b"next")
            assert os.read(back, 100) == b"next", f"after {size} bytes that were read to the byte"
            writing.finish()


@pytest.mark.parametrize("size", [128, 1024, 65_536])
@pytest.mark.parametrize("room", [4096, 200_000])
def test_a_message_that_ends_after_its_bytes_were_read(card: Card, size: int, room: int) -> None:
    """Its end comes without bytes, while a read that has got all of them waits for more."""
    with opened(card.files["in"], WRITE) as to, opened(card.files["out"], READ) as back:
        for text in (noise(size, size), b"and another"):
            os.write(to, text)
            reading = Aside(lambda text=text: read_until_end(back, len(text), room))
            time.sleep(0.1)
            os.fsync(to)
            assert reading.finish() == text


def read_until_end(file: int, size: int, room: int) -> bytes:
    """A whole message, by reads that are full but for the last, which is short."""
    found = bytearray()
    while len(found) < size:
        found += os.read(file, room)
    return bytes(found)


def test_an_empty_message_reads_as_the_end_of_a_file(card: Card) -> None:
    with opened(card.files["in"], PACKETS) as to, opened(card.files["out"], READ) as back:
        os.write(to, b"")
        os.write(to, b"after")
        assert os.read(back, 10) == b""
        assert os.read(back, 10) == b"after"


def test_close_ends_the_message(card: Card) -> None:
    with opened(card.files["out"], READ) as back:
        with opened(card.files["in"], WRITE) as to:
            os.write(to, b"one ")
            os.write(to, b"message")
        assert os.read(back, 100) == b"one message"
        with opened(card.files["in"], WRITE):
            pass  # nothing was written, so nothing ends
        with opened(card.files["in"], WRITE) as to:
            os.write(to, b"another")
        assert os.read(back, 100) == b"another"


@pytest.mark.parametrize("pieces", [[1000 + number for number in range(AHEAD)], [AHEAD * BUFFER]], ids=["short messages", "a long one"])
def test_data_flows_before_anybody_reads(card: Card, pieces: list[int]) -> None:
    before = counted(card, 1)
    with opened(card.files["out"], READ) as back, opened(card.files["in"], PACKETS) as to:
        assert counted(card, 1)["submitted"] - before["submitted"] == AHEAD, "posted as it was opened"
        messages = [noise(size, size) for size in pieces]
        writing = Aside(lambda: [os.write(to, message) for message in messages])
        until(lambda: counted(card, 1)["bytes"] - before["bytes"] == sum(pieces), "all of it is in the kernel's buffers")
        after = counted(card, 1)
        assert (after["submitted"] - before["submitted"], after["completed"] - before["completed"]) == (AHEAD, AHEAD)
        assert [os.read(back, AHEAD * BUFFER + 1) for _ in messages] == messages
        writing.finish()


@pytest.mark.parametrize("seed", [1, 2])
def test_memory_is_the_programs_again_when_write_returns(card: Card, seed: int) -> None:
    """It is written over at once, while what was written may still be on its way."""
    random_ = random.Random(seed)
    sizes = [random_.choice(EDGES[:-1]) if random_.random() < 0.5 else random_.randrange(1, 60_000) for _ in range(60)]
    with opened(card.files["in"], PACKETS) as to, opened(card.files["out"], READ) as back:
        reading = Aside(lambda: [os.read(back, size + 1) for size in sizes])
        memory = memoryview(bytearray(max(sizes) + 8192))
        for number, size in enumerate(sizes):
            start = random_.randrange(4096)
            cuts = sorted(random_.randrange(size + 1) for _ in range(random_.choice([0, 0, 1, 5])))
            places = [memory[start + first : start + last] for first, last in zip([0, *cuts], [*cuts, size], strict=True)]
            memory[start : start + size] = noise(size, number)
            assert os.writev(to, places) == size
            memory[:] = b"!" * len(memory)
        for number, (size, found) in enumerate(zip(sizes, reading.finish(), strict=True)):
            assert found == noise(size, number), f"seed {seed}, message {number} of {size} bytes"


def test_what_is_not_read_stays(card: Card) -> None:
    with opened(card.files["in"], PACKETS) as to:
        os.write(to, b"first")
        os.write(to, b"second")
        os.fsync(to)
    with opened(card.files["out"], READ) as back:
        assert os.read(back, 2) == b"fi"
    with opened(card.files["out"], READ) as back:
        assert os.read(back, 100) == b"rst"
        assert os.read(back, 100) == b"second"


def test_vectors(card: Card) -> None:
    pieces = [noise(size, size) for size in (1, 0, 20_000, 3, 70_000, 17)]
    data = b"".join(pieces)
    with opened(card.files["in"], PACKETS) as to, opened(card.files["out"], READ) as back:
        writing = Aside(os.writev, to, pieces)
        into = [bytearray(size) for size in (7, 50_000, 1, 50_000)]
        assert os.readv(back, into) == len(data)
        assert b"".join(into)[: len(data)] == data
        assert writing.finish() == len(data)


def test_without_waiting(card: Card) -> None:
    with opened(card.files["in"], WRITE | NOW) as to, opened(card.files["out"], READ | NOW) as back:
        with pytest.raises(BlockingIOError):
            os.read(back, 100)
        data = noise(4 << 20, 4)
        written = 0
        # Nobody reads: it takes what the card and its buffers hold, and then no more.
        end = time.monotonic() + 20
        stuck = 0
        while stuck < 20:
            assert written < len(data) and time.monotonic() < end
            try:
                written += os.write(to, data[written : written + 100_000])
                stuck = 0
            except BlockingIOError:
                stuck += 1
                time.sleep(0.01)
        assert written > 0
        found = bytearray()
        poll = select.poll()
        poll.register(back, select.POLLIN)
        while len(found) < written - HELD:
            assert poll.poll(10_000), f"{len(found)} of {written} bytes came, and the message is open"
            with contextlib.suppress(BlockingIOError):
                found += os.read(back, 1 << 20)
        ending = Aside(os.fsync, to)
        while len(found) < written:
            assert poll.poll(10_000), f"{len(found)} of {written} bytes came, and the message has ended"
            found += os.read(back, 1 << 20)
        ending.finish()
        assert bytes(found) == data[:written]


def test_bytes_of_an_open_message_come_though_no_buffer_is_full(card: Card) -> None:
    data = noise(3000, 8)
    with opened(card.files["in"], WRITE) as to, opened(card.files["out"], READ) as back:
        os.write(to, data[:1500])
        found = read_exactly(back, 1500 - HELD)
        os.write(to, data[1500:])
        poll = select.poll()
        poll.register(back, select.POLLIN)
        assert poll.poll(10_000)
        found += read_exactly(back, 1500)
        os.fsync(to)
        assert found + os.read(back, 1000) == data


def test_an_epoll_loop(card: Card) -> None:
    data = noise(300_000, 5)
    with opened(card.files["in"], PACKETS | NOW) as to, opened(card.files["out"], READ | NOW) as back, select.epoll() as epoll:
        epoll.register(to, select.EPOLLOUT)
        epoll.register(back, select.EPOLLIN)
        written, found, ended = 0, bytearray(), False
        while not ended:
            events = epoll.poll(20)
            assert events, f"nothing for 20 s: {written} written, {len(found)} read"
            for file, _ in events:
                if file == back:
                    found += os.read(back, 50_000)
                    ended = len(found) == len(data)
                elif written < len(data):
                    written += os.write(to, data[written : written + 30_000])
                else:
                    epoll.unregister(to)
        assert bytes(found) == data


def test_a_signal_ends_a_wait(card: Card) -> None:
    class Rang(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rang

    before = signal.signal(signal.SIGUSR1, ring)
    try:
        with opened(card.files["out"], READ) as back:
            for size in (100, 100_000):
                timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
                timer.start()
                with pytest.raises(Rang):
                    os.read(back, size)
            with opened(card.files["in"], PACKETS) as to:
                os.write(to, b"still well")
                assert os.read(back, 100) == b"still well"
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_signal_takes_back_nothing_that_was_written(card: Card) -> None:
    """The core takes nothing, for nobody reads; bytes that write() has reported stay in order all the same."""

    class Rang(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rang

    before = signal.signal(signal.SIGUSR1, ring)
    written = bytearray()
    try:
        with opened(card.files["in"], WRITE) as to:
            for number in range(400):
                piece = noise(5000 if number % 3 else 40_000, number)
                timer = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
                timer.start()
                try:
                    count = os.write(to, piece)
                except Rang:
                    break
                finally:
                    timer.cancel()
                written += piece[:count]
                if count < len(piece):
                    break
            else:
                pytest.fail("the card takes all of it")
            with opened(card.files["out"], READ) as back:
                ending = Aside(os.fsync, to)
                assert read_until_end(back, len(written), 1 << 20) == written
                ending.finish()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("piece", [1 << 20, 5000], ids=["in place", "copied"])
def test_a_signal_leaves_a_partial_count(card: Card, piece: int) -> None:
    """More is written than is taken, and more read than there is: calls that do not end but by signals, whose counts add up."""
    data = memoryview(noise(1_500_000, piece))
    written, found, short = 0, bytearray(), {"write": 0, "read": 0}
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    quiet = threading.Event()

    def ring() -> None:
        while not quiet.wait(0.1):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    with opened(card.files["in"], WRITE) as to, opened(card.files["out"], READ) as back:
        ringing = Aside(ring)
        try:
            while written < len(data):
                places = [data[at : at + piece] for at in range(written, len(data), piece)]
                count = os.writev(to, places)
                assert count > 0
                written += count
                short["write"] += written < len(data)
                found += os.read(back, len(data))
                short["read"] += len(found) < len(data)
            ending = Aside(os.fsync, to)
            while len(found) < len(data):
                found += os.read(back, 1 << 20)
            ending.finish()
        finally:
            quiet.set()
            ringing.finish()
            signal.signal(signal.SIGUSR1, before)
    assert found == data and min(short.values()) > 0, short


def test_a_reset_sends_away_who_waits(card: Card) -> None:
    with opened(card.files["out"], READ) as back:
        for size in (100, 100_000):
            reading = Aside(os.read, back, size)
            time.sleep(0.2)
            fcntl.ioctl(back, CHANNEL_RESET)
            with pytest.raises(OSError, match="reset") as caught:
                reading.finish()
            assert caught.value.errno == errno.ECONNRESET
        with opened(card.files["in"], PACKETS) as to:
            os.write(to, b"still well")
            assert os.read(back, 100) == b"still well"


def test_memory_that_is_not_there(card: Card) -> None:
    with opened(card.files["in"], PACKETS) as to, opened(card.files["out"], READ) as back:
        for size in (10, 100_000):
            for call, file in ((LIBC.write, to), (LIBC.read, back)):
                if call is LIBC.read:
                    os.write(to, b"x" * 20_000)
                assert call(file, ctypes.c_void_p(4096), size) == -1
                assert ctypes.get_errno() == errno.EFAULT
                fcntl.ioctl(back, CHANNEL_RESET)
        os.write(to, b"still well")
        assert os.read(back, 100) == b"still well"


def test_a_program_that_is_killed_leaves_no_half_message(card: Card, start: Callable[..., subprocess.Popen[bytes]]) -> None:
    program = f"exec 3> {card.files['in']}; printf 'half of' >&3; echo ready; exec sleep 60"
    process = start("bash", "-c", program, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.kill()
    process.wait()
    with opened(card.files["out"], READ) as back:
        fcntl.ioctl(back, CHANNEL_RESET)  # what the core had passed on already
        until(lambda: can_open(card.files["in"], WRITE), "the killed program's file is closed")
        with opened(card.files["in"], PACKETS) as to:
            os.write(to, b"a whole one")
            assert os.read(back, 100) == b"a whole one"


def can_open(path: Path, flags: int) -> bool:
    try:
        os.close(os.open(path, flags))
    except OSError:
        return False
    return True


def test_programs_of_every_day(card: Card, shell: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(noise(700_001, 6))
    to, back = card.files["in"], card.files["out"]
    shell(f"cat {source} > {to} & head -c 700001 {back} > {copy}; wait $!; cmp {source} {copy}")
    # A file of whole blocks, for dd's reads to be none but full.
    shell(f"dd if={source} of={to} bs=4096 count=64 status=none & dd if={back} of={copy} bs=4096 count=64 status=none; wait $!")
    assert copy.read_bytes() == source.read_bytes()[: 64 * 4096]
    # Through pipes, which give and take what they like.
    shell(f"cat {source} | cat | cat > {to} & head -c 700001 {back} | cat > {copy}; wait $!; cmp {source} {copy}")
    with open(to, "wb") as file:
        file.write(b"one line\nand one more\n")
    with open(back, "rb", buffering=0) as file:
        assert file.read(100) == b"one line\nand one more\n"


def test_pv_in_a_pipe(card: Card, shell: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """Beside a pipe it asks for splice() first, which these files do not have, and then reads and writes."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(noise(300_001, 7))
    pv = f"{utility('usr/bin/pv')} --quiet --stop-at-size --size 300001"
    to, back = card.files["in"], card.files["out"]
    shell(f"{pv} {source} > {to} & {pv} {back} > {copy}; wait $!; cmp {source} {copy}")
    shell(f"cat {source} | {pv} > {to} & {pv} {back} | cat > {copy}; wait $!; cmp {source} {copy}")


def test_what_was_moved_is_counted(card: Card) -> None:
    assert (card.channel(0, "name"), card.channel(0, "direction")) == ("in", "h2c")
    before = counted(card, 0)
    with opened(card.files["in"], PACKETS) as to:
        os.write(to, bytes(1000))
        os.fsync(to)
    after = counted(card, 0)
    assert {name: after[name] - before[name] for name in before} == {"submitted": 1, "completed": 1, "bytes": 1000}
    for index in range(2):
        for name in ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected"):
            assert card.channel(index, f"statistics/{name}") == "0"
