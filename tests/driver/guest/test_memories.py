# SPDX-License-Identifier: Apache-2.0
"""A memory of the user core as a file, through the scratchpad core: what POSIX promises of bytes at places, and errors."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking import CARD_RESET, Aside, noise, opened, read_register, write_register
from inside import LIBC, Card, Module, cards_come_and_go, contract, until, utility
from queueing import ATTRIBUTES, END, Memory, queue, transfer

READ, WRITE, BOTH = os.O_RDONLY, os.O_WRONLY, os.O_RDWR
BYTES = 1 << 20
PAGE = 4096
# Around what is copied and moved in place, pages, and the driver's own buffer.
EDGES = [1, 2, 15, 16, 17, 63, 64, 65, 4095, 4096, 4097, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 200_001]
# Registers of the core.
LATENCY, STALL, SLVERR_PAGE, DECERR_PAGE = 0x04, 0x08, 0x0C, 0x10
NONE = 0xFFFF_FFFF
DONE, END_OF_MESSAGE, KIND_STATUS = (contract(f"STATUS_{name}") for name in ("DONE", "END_OF_MESSAGE", "KIND_STATUS"))
SLVERR = KIND_STATUS + 2
# A loop that reads or writes for ever, as a program: sys.argv has the file and the way.
FOR_EVER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
memory = bytearray(1 << 20)
print("begins", flush=True)
while True:
    os.preadv(file, [memory], 0) if sys.argv[2] == "read" else os.pwrite(file, memory, 0)
"""


@pytest.fixture(scope="module", autouse=True)
def loaded(driver: Module, scratchpad: Card) -> None:
    until(lambda: "control" in scratchpad.files, "the card's files are there")
    # Other tests may have left its registers in any state.
    with opened(scratchpad.files["control"], BOTH) as control:
        fcntl.ioctl(control, CARD_RESET)


@pytest.fixture
def ram(scratchpad: Card) -> Path:
    return scratchpad.files["ram"]


@pytest.fixture
def registers(scratchpad: Card) -> Iterator[Callable[[int, int], None]]:
    """Sets registers of the core, which are as before at the test's end."""
    before: dict[int, int] = {}
    with opened(scratchpad.files["control"], BOTH) as control:

        def write(offset: int, value: int) -> None:
            before.setdefault(offset, read_register(control, offset))
            write_register(control, offset, value)

        yield write
        for offset, value in before.items():
            write_register(control, offset, value)


@pytest.fixture(autouse=True)
def nothing_impossible(scratchpad: Card) -> Iterator[None]:
    yield
    until(lambda: "control" in scratchpad.files, "the card's files are there")
    for index in range(2):
        for name in ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected"):
            assert int(scratchpad.channel(index, f"statistics/{name}")) == 0, name


def failure(call: Callable[[], object]) -> int:
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno is not None
    return caught.value.errno


def test_there_is_a_file_for_the_memory_and_for_each_of_its_channels(scratchpad: Card) -> None:
    assert set(scratchpad.files) == {"control", "0", "1", "ram"}
    modes = [path.stat().st_mode for path in scratchpad.files.values()]
    assert all(stat.S_ISCHR(mode) and stat.S_IMODE(mode) == 0o600 for mode in modes)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_reads_and_writes(ram: Path, registers: Callable[[int, int], None], seed: int) -> None:
    """At any byte, of any length, from memory at any place, with an uneven core; what a read returns was written there last."""
    draw = random.Random(seed)
    registers(LATENCY, draw.choice([0, 5, 50]))
    registers(STALL, draw.choice([0, 30, 200]))
    model = bytearray(noise(BYTES, seed))
    memory = memoryview(bytearray(max(EDGES) + 2 * PAGE))
    with opened(ram, WRITE) as to, opened(ram, READ) as back, opened(ram, BOTH) as both:
        assert os.pwrite(to, model, 0) == BYTES
        for number in range(100):
            size = draw.choice(EDGES) if draw.random() < 0.6 else draw.randrange(1, 30_000)
            at = draw.randrange(BYTES - size + 1)
            view = memory[(place := draw.randrange(PAGE)) : place + size]
            if draw.random() < 0.5:
                view[:] = noise(size, number)
                assert os.pwrite(draw.choice([to, both]), view, at) == size
                model[at : at + size] = view
            else:
                assert os.preadv(draw.choice([back, both]), [view], at) == size
                assert view == model[at : at + size], f"seed {seed}, operation {number}: {size} bytes at {at:#x}"
        assert os.pread(back, BYTES, 0) == model


def test_pieces(ram: Path) -> None:
    """Long and short ones in one call: each way has its turn."""
    sizes = [5, 40_000, 0, 17_000, 1, 70_001, 3]
    data = [noise(size, number) for number, size in enumerate(sizes)]
    with opened(ram, BOTH) as file:
        assert os.pwritev(file, data, 77) == sum(sizes)
        assert os.pread(file, sum(sizes), 77) == b"".join(data)
        into = [bytearray(size) for size in reversed(sizes)]
        assert os.preadv(file, into, 77) == sum(sizes)
        assert b"".join(into) == b"".join(data)


def test_places(ram: Path) -> None:
    """The position, the end, and what lies behind it."""
    with opened(ram, BOTH) as file:
        assert os.lseek(file, 0, os.SEEK_END) == BYTES
        assert os.read(file, 10) == b""
        assert failure(lambda: os.write(file, b"x")) == errno.ENOSPC
        assert os.lseek(file, -3, os.SEEK_CUR) == BYTES - 3
        assert os.write(file, b"abcdef") == 3, "as far as there is room"
        assert os.pread(file, 10, BYTES - 3) == b"abc"
        assert os.lseek(file, 100, os.SEEK_SET) == 100
        assert (os.write(file, b"hello"), os.lseek(file, 0, os.SEEK_CUR)) == (5, 105)
        assert os.lseek(file, 100, os.SEEK_SET) == 100 and os.read(file, 5) == b"hello"
        assert failure(lambda: os.lseek(file, BYTES + 1, os.SEEK_SET)) == errno.EINVAL
        assert (os.pread(file, 5, BYTES + 7), os.write(file, b"")) == (b"", 0)
        os.fsync(file)
    with opened(ram, WRITE | os.O_APPEND) as file:
        assert failure(lambda: os.write(file, b"x")) == errno.ENOSPC
    for flags, call in ((WRITE, lambda: os.read(file, 1)), (READ, lambda: os.write(file, b"x"))):
        with opened(ram, flags) as file:
            assert failure(call) == errno.EBADF


@pytest.mark.parametrize("size", [100, 6 * PAGE])
def test_memory_that_is_not_there(ram: Path, size: int) -> None:
    """A call on memory of which a part is missing moves what is before it, or nothing; the rest of both stays as it was."""
    pages = 16
    place = mmap.mmap(-1, pages * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(place))
    hole = start + pages // 2 * PAGE
    assert LIBC.munmap(ctypes.c_void_p(hole), PAGE) == 0
    with opened(ram, BOTH) as file:
        assert os.pwrite(file, old := noise(8 * PAGE, 1), 0) == 8 * PAGE
        for call in (LIBC.pread, LIBC.pwrite):
            ctypes.set_errno(0)
            assert call(file, ctypes.c_void_p(hole), size, 0) == -1 and ctypes.get_errno() == errno.EFAULT
            done = call(file, ctypes.c_void_p(hole - size // 2), size, 0)
            assert done == -1 or 0 < done <= size // 2, done
            found = os.pread(file, 8 * PAGE, 0)
            assert found[max(done, 0) :] == old[max(done, 0) :] if call is LIBC.pread else found[size // 2 :] == old[size // 2 :]
    # Python unmaps all of it, with what may lie in the hole by then.
    assert LIBC.mmap(ctypes.c_void_p(hole), PAGE, 3, 0x32, -1, 0) is not None


def test_tools(ram: Path, shell: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """dd, cmp, xxd, head, tail: what everybody has."""
    (tmp_path / "data").write_bytes(data := noise(BYTES, 5))
    shell(f"dd if={tmp_path}/data of={ram} bs=64k status=none; cmp {ram} {tmp_path}/data")
    shell(f"dd if={ram} of={tmp_path}/back bs=1000 status=none; cmp {tmp_path}/back {tmp_path}/data")
    shell(f"printf wedge | dd of={ram} bs=1 seek=4097 conv=notrunc status=none")
    assert shell(f"cmp {ram} {tmp_path}/data", check=False).returncode == 1
    assert shell(f"dd if={ram} bs=1 skip=4097 count=5 status=none").stdout == "wedge"
    with opened(ram, READ) as file:
        part = os.pread(file, 7, 0x1003)
    assert shell(f"{utility('usr/bin/xxd')} -p -s 0x1003 -l 7 {ram}").stdout.strip() == part.hex()
    assert shell(f"tail -c 10 {ram}", text=False).stdout == data[-10:]  # type: ignore[comparison-overlap]
    assert shell(f"wc -c < {ram}").stdout.strip() == str(BYTES)
    assert shell(f"dd if={tmp_path}/data of={ram} bs=1M oflag=direct status=none; cmp {ram} {tmp_path}/data").returncode == 0
    more = shell(f"cat {tmp_path}/data {tmp_path}/data > {ram}", check=False)
    assert more.returncode != 0 and "No space left" in more.stderr


@pytest.mark.parametrize("engine", ["psync", "sync", "vsync"])
def test_fio(ram: Path, shell: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, engine: str) -> None:
    """Random places and sizes, two jobs on halves of their own, each block verified."""
    root = utility("usr/bin/fio").parents[2]
    places = ":".join(
        str(path) for path in (root / "usr/lib/x86_64-linux-gnu", root / "lib/x86_64-linux-gnu", root / "usr/lib/x86_64-linux-gnu/ceph")
    )
    half = BYTES // 2
    jobs = " ".join(f"--name=half{n} --offset={n * half}" for n in range(2))
    command = (
        f"cd {tmp_path}; LD_LIBRARY_PATH={places} {root}/usr/bin/fio --filename={ram} --ioengine={engine} --rw=randwrite "
        f"--bsrange=512-32k --bs_unaligned --verify=crc32c --do_verify=1 --verify_fatal=1 --size={half} --io_size=300k "
        f"--thread --randseed=7 --output-format=terse {jobs}"
    )
    said = shell(command, check=False, seconds=120)
    assert said.returncode == 0, said.stdout[-2000:] + said.stderr[-2000:]
    assert [line.split(";")[4] for line in said.stdout.splitlines() if line.startswith("3;")] == ["0", "0"], said.stdout


def test_several_programs(ram: Path) -> None:
    """Each with its part, at once."""

    def work(number: int) -> None:
        draw, part = random.Random(number), BYTES // 8
        with opened(ram, BOTH) as file:
            for _ in range(20):
                size = draw.randrange(1, 40_000)
                at = number * part + draw.randrange(part - size)
                data = noise(size, draw.randrange(1 << 30))
                assert os.pwrite(file, data, at) == size and os.pread(file, size, at) == data

    for thread in [Aside(work, number) for number in range(8)]:
        thread.finish(60)


def test_a_fault_of_the_core_is_told_where_it_is(ram: Path, registers: Callable[[int, int], None]) -> None:
    registers(SLVERR_PAGE, 20)
    registers(DECERR_PAGE, 21)
    with opened(ram, BOTH) as file:
        for page in (20, 21):
            for size in (1, PAGE):
                assert failure(lambda: os.pread(file, size, page * PAGE)) == errno.EREMOTEIO  # noqa: B023
                assert failure(lambda: os.pwrite(file, bytes(size), page * PAGE)) == errno.EREMOTEIO  # noqa: B023
        data = noise(PAGE, 1)
        assert os.pwrite(file, data, 19 * PAGE) == PAGE and os.pread(file, PAGE, 19 * PAGE) == data
        # What was moved before is told of, the fault by the next call.
        pieces = [bytearray(70_000), bytearray(70_000)]
        start = 20 * PAGE - 70_000
        assert os.preadv(file, pieces, start) == 70_000
        assert failure(lambda: os.preadv(file, pieces[1:], start + 70_000)) == errno.EREMOTEIO


def test_a_queue_over_a_channel_of_a_memory(scratchpad: Card, ram: Path, registers: Callable[[int, int], None]) -> None:
    """Its transfers have addresses; the memory's file and the queues keep each other out."""
    data = noise(100_000, 3)
    with queue(scratchpad.files["0"], WRITE) as to, queue(scratchpad.files["1"], READ | os.O_DIRECT) as back:
        assert failure(lambda: os.open(ram, BOTH)) == errno.EBUSY
        assert to.run(transfer(Memory(data), END | ATTRIBUTES, offset=333)).status == DONE
        into = Memory(len(data))
        ended = back.run(transfer(into, ATTRIBUTES, offset=333))
        assert (ended.status in (DONE, END_OF_MESSAGE), ended.bytes, into.content()) == (True, len(data), data)
        registers(SLVERR_PAGE, 20)
        assert to.run(transfer(Memory(b"x"), END | ATTRIBUTES, offset=20 * PAGE)).status == SLVERR
        assert back.run(transfer(Memory(1), ATTRIBUTES, offset=20 * PAGE)).status == SLVERR
        registers(SLVERR_PAGE, NONE)
    with opened(ram, READ) as file:
        assert os.pread(file, len(data), 333) == data
        for number, way in (("0", WRITE), ("1", READ)):
            assert failure(lambda: os.open(scratchpad.files[number], way)) == errno.EBUSY  # noqa: B023
    for number, way, call in (("0", WRITE, lambda file: os.write(file, b"x")), ("1", READ, lambda file: os.read(file, 1))):
        with opened(scratchpad.files[number], way) as file:
            assert failure(lambda: call(file)) == errno.EOPNOTSUPP  # noqa: B023


def test_a_reset_of_the_card_is_told_once_to_each_file(scratchpad: Card, ram: Path) -> None:
    with opened(scratchpad.files["control"], BOTH) as control, contextlib.ExitStack() as stack:
        files = [stack.enter_context(opened(ram, BOTH)) for _ in range(2)]
        fcntl.ioctl(control, CARD_RESET)
        for file in files:
            assert failure(lambda: os.pread(file, 1, 0)) == errno.ECONNRESET  # noqa: B023
            assert os.pwrite(file, b"again", 0) == 5 and os.pread(file, 5, 0) == b"again"
        with opened(ram, READ) as file:
            assert os.pread(file, 5, 0) == b"again"


def test_a_reset_ends_calls(scratchpad: Card, ram: Path, registers: Callable[[int, int], None]) -> None:
    """Some report how far they came, and the next calls the reset."""
    registers(LATENCY, 60_000)
    with opened(scratchpad.files["control"], BOTH) as control, opened(ram, BOTH) as file:
        waits = [Aside(os.pread, file, BYTES, 0), Aside(os.pwrite, file, bytes(BYTES), 0)]
        time.sleep(0.3)
        assert all(wait.is_alive() for wait in waits)
        fcntl.ioctl(control, CARD_RESET)
        for wait in waits:
            with contextlib.suppress(ConnectionResetError):
                assert wait.finish() != BYTES
        with contextlib.suppress(ConnectionResetError):
            os.pread(file, 1, 0)
        assert os.pread(file, 1, 0) is not None


@pytest.mark.parametrize("way", ["read", "write"])
def test_a_program_that_is_killed(
    ram: Path, registers: Callable[[int, int], None], start: Callable[..., subprocess.Popen[bytes]], way: str
) -> None:
    registers(LATENCY, 20_000)
    process = start(sys.executable, "-c", FOR_EVER, ram, way, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"begins\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    assert process.wait(20) == -signal.SIGKILL
    registers(LATENCY, 0)
    with opened(ram, BOTH) as file:
        data = noise(50_000, 9)
        assert os.pwrite(file, data, 5) == len(data) and os.pread(file, len(data), 5) == data


@pytest.mark.parametrize("seed", range(4))
def test_a_write_that_was_cut_short_ends_there(ram: Path, registers: Callable[[int, int], None], seed: int) -> None:
    """By a signal, at any of its bytes. The next write goes where it belongs, and nothing of it elsewhere."""
    draw = random.Random(seed)
    old, new, next_ = (noise(BYTES, 10 * seed + n) for n in range(3))
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    source, count = Memory(new), 0
    try:
        with opened(ram, BOTH) as file:
            for _ in range(6):
                registers(STALL, 0)
                assert os.pwrite(file, old, 0) == BYTES
                registers(STALL, 240)
                timer = threading.Timer(draw.uniform(0.01, 0.2), os.kill, (os.getpid(), signal.SIGUSR1))
                timer.start()
                done = LIBC.pwrite(file, source.address, BYTES // 2, 0)
                timer.join()
                registers(STALL, 0)
                at = draw.randrange(BYTES // 2, BYTES - 5000)
                assert os.pwrite(file, next_[:5000], at) == 5000
                found = os.pread(file, BYTES, 0)
                assert found[at : at + 5000] == next_[:5000]
                assert found[BYTES // 2 : at] == old[BYTES // 2 : at] and found[at + 5000 :] == old[at + 5000 :]
                assert all(is_ in (old_, new_) for is_, old_, new_ in zip(found[: BYTES // 2], old, new, strict=False))
                count += done < BYTES // 2
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert count > 0, "none was cut short"


def test_a_signal_ends_a_wait(ram: Path, registers: Callable[[int, int], None]) -> None:
    """A call that is interrupted says how far it came, or begins anew."""
    registers(LATENCY, 60_000)
    got = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: got.set())
    try:
        with opened(ram, BOTH) as file:
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            began = time.monotonic()
            done = LIBC.pread(file, Memory(BYTES).address, BYTES, 0)
            assert done < BYTES and got.wait(10)
            assert time.monotonic() - began < 30
            timer.join()
            registers(LATENCY, 0)
            assert len(os.pread(file, 100, 0)) == 100
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("how", ["unbound", pytest.param("pulled out", marks=cards_come_and_go)])
def test_who_uses_a_memory_that_goes_is_told(scratchpad: Card, how: str) -> None:
    with opened(scratchpad.files["control"], BOTH) as control:
        write_register(control, LATENCY, 60_000)
    file = os.open(scratchpad.files["ram"], BOTH)
    waits = [Aside(os.pread, file, BYTES, 0), Aside(os.pwrite, file, bytes(BYTES), 0)]
    time.sleep(0.3)
    assert all(wait.is_alive() for wait in waits)
    if how == "unbound":
        scratchpad.unbind()
    else:
        scratchpad.kill()
    for wait in waits:
        with contextlib.suppress(OSError):
            assert wait.finish() != BYTES
        assert wait.error is None or (isinstance(wait.error, OSError) and wait.error.errno == errno.ENODEV), wait.error
    assert failure(lambda: os.pread(file, 1, 0)) == errno.ENODEV
    os.close(file)
    if how == "unbound":
        scratchpad.bind()
    else:
        scratchpad.start()
    until(lambda: "ram" in scratchpad.files, "the card's files are there again")
    with opened(scratchpad.files["control"], BOTH) as control:
        write_register(control, LATENCY, 0)
    with opened(scratchpad.files["ram"], BOTH) as file:
        assert os.pwrite(file, b"back", 0) == 4 and os.pread(file, 4, 0) == b"back"
