# SPDX-License-Identifier: Apache-2.0
"""Files by the names of Xillybus and VerCoLib: each rule of theirs, by itself."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import random
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking import CARD_INFO, CARD_RESET, Aside, CardInfo, ask, fcntl, noise, opened, read_exactly, write_all
from inside import LIBC, Card, Module, until

READ, WRITE, BOTH, NOW = os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_NONBLOCK
PACKETS = WRITE | os.O_DIRECT
DEV = Path("/dev")
# More than the driver, the link and the core hold together.
TOO_MUCH = 4 << 20
SIZES = [1, 3, 127, 128, 129, 4095, 4096, 5000, 65_535, 65_536, 65_537, 150_000]
# Writes what it is told by standard input, as it is told, says so, and waits to be killed.
WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY)
for size in map(int, sys.argv[2:]):
    data = sys.stdin.buffer.read(size)
    while data:
        data = data[os.write(file, data):]
print(flush=True)
sys.stdin.buffer.read(1)
"""


def attribute(card: Card) -> Path:
    return card.pci / f"towpath/{card.name}!control/names"


def number_of(card: Card) -> int:
    return int(card.name.removeprefix("towpath"))


def node(card: Card, name: str) -> Path:
    number = number_of(card)
    return DEV / (f"xillybus_{number:02}_{name}" if number else f"xillybus_{name}")


def endpoint(card: Card, rest: str = "") -> Path:
    return DEV / f"vcl_{number_of(card)}{rest}"


def nodes() -> set[str]:
    return {path.name for path in DEV.iterdir() if path.name.startswith(("xillybus_", "vcl_"))}


def named(card: Card, word: str) -> None:
    attribute(card).write_text(word)


def can_open(path: Path, flags: int) -> bool:
    with contextlib.suppress(OSError), opened(path, flags):
        return True
    return False


@pytest.fixture(scope="module", autouse=True)
def loaded(driver: Module, cards: list[Card]) -> None:
    for card in cards:
        until(lambda card=card: "control" in card.files, "the card's files are there")  # type: ignore[misc]


@pytest.fixture(autouse=True)
def xillybus(card: Card, cards: list[Card]) -> Iterator[None]:
    """The first card has Xillybus' names; a test that fails leaves nothing in it."""
    named(card, "xillybus")
    yield
    # The limit of a test that was late is used up.
    signal.alarm(30)
    # Whoever waits in a call beside the test goes, too.
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)
    for name, flags in (("in", WRITE), ("out", READ)):
        until(lambda name=name, flags=flags: can_open(card.files[name], flags), f"{name} is closed")  # type: ignore[misc]
    for one in cards:
        named(one, "towpath")
    assert not nodes()


def refused(call: Callable[[], object], number: int) -> None:
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno == number, caught.value


def filled(file: int) -> int:
    """Writes until there is no room; says how much that was. The file does not wait."""
    done = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            done += os.write(file, bytes(65_536))
    return done


def waits(file: int) -> None:
    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    fcntl.fcntl(file, fcntl.F_SETFL, flags & ~NOW)


def end_the_file(card: Card) -> None:
    """The core says that there is nothing more: an empty message, sent by the module's own file."""
    with opened(card.files["in"], PACKETS) as own:
        os.write(own, b"")


def news(file: int, milliseconds: int = 10_000) -> int:
    poll = select.poll()
    poll.register(file, select.POLLIN | select.POLLOUT)
    found = poll.poll(milliseconds)
    return found[0][1] if found else 0


def test_names_come_and_go(card: Card, cards: list[Card]) -> None:
    assert nodes() == {node(card, "in").name, node(card, "out").name}
    for other in cards[1:]:
        named(other, "xillybus")
    many = nodes()
    there = [node(card, "in"), node(card, "out"), node(cards[1], "a"), node(cards[1], "x"), node(cards[2], "ram")]
    assert {path.name for path in there} <= many
    named(card, "vercolib")
    vercolib = {endpoint(card, rest).name for rest in ("", "_rx_0", "_tx_0")}
    assert nodes() == many - {node(card, "in").name, node(card, "out").name} | vercolib
    assert attribute(card).read_text() == "vercolib\n"
    refused(lambda: named(card, "riffa"), errno.EINVAL)
    for one in cards:
        named(one, "towpath")
    assert not nodes() and set(card.files) == {"control", "0", "1", "in", "out"}


def test_names_by_the_modules_parameter(driver: Module, card: Card, scratchpad: Card) -> None:
    driver.unload()
    refused(lambda: driver.load("names=riffa"), errno.EINVAL)
    assert not driver.loaded
    driver.load("names=xillybus")
    until(lambda: bool(scratchpad.files) and node(scratchpad, "ram").exists(), "the names are there")
    driver.unload()
    assert not nodes()
    driver.load()
    until(lambda: "control" in card.files, "the card's files are there")
    assert not nodes()


def test_a_node_without_its_name_opens_nothing(card: Card, tmp_path: Path) -> None:
    old = tmp_path / "in"
    os.mknod(old, 0o600 | 0o020000, node(card, "in").stat().st_rdev)
    os.close(os.open(old, WRITE))
    named(card, "towpath")
    refused(lambda: os.open(old, WRITE), errno.ENXIO)


def test_who_has_a_file_open_keeps_it_as_it_is(card: Card) -> None:
    with opened(node(card, "out"), READ) as back:
        with opened(node(card, "in"), WRITE) as to:
            named(card, "vercolib")
            write_all(to, b"still here")
            os.close(os.dup(to))
            refused(lambda: os.open(endpoint(card, "_rx_0"), WRITE), errno.EBUSY)
        assert [os.read(back, 100) for _ in range(3)] == [b"still here", b"", b""]


def test_one_way_one_program(card: Card) -> None:
    for path, flags in ((node(card, "in"), READ), (node(card, "in"), BOTH), (node(card, "out"), WRITE), (node(card, "out"), BOTH)):
        refused(lambda path=path, flags=flags: os.open(path, flags), errno.ENODEV)  # type: ignore[misc]
    for path, own, flags in ((node(card, "in"), "in", WRITE), (node(card, "out"), "out", READ)):
        for first, second in ((path, path), (path, card.files[own]), (card.files[own], path)):
            with opened(first, flags):
                refused(lambda second=second, flags=flags: os.open(second, flags), errno.EBUSY)  # type: ignore[misc]
    refused(lambda: os.open(node(card, "in"), WRITE | os.O_DIRECT), errno.EINVAL)
    with opened(node(card, "out"), READ) as back:
        refused(lambda: os.lseek(back, 0, os.SEEK_SET), errno.ESPIPE)


def test_a_read_returns_what_is_there(card: Card) -> None:
    with opened(node(card, "in"), WRITE) as to, opened(node(card, "out"), READ) as back:
        for size in (1, 100, 1024, 20_481):
            # It waits for the first byte, and not for all.
            reading = Aside(os.read, back, TOO_MUCH)
            reading.join(0.05)
            assert reading.is_alive()
            write_all(to, noise(size, size))
            first = reading.finish()
            assert isinstance(first, bytes) and first
            assert first + read_exactly(back, size - len(first)) == noise(size, size)


def test_reads_and_writes_that_do_not_wait(card: Card) -> None:
    with opened(node(card, "in"), WRITE | NOW) as to, opened(node(card, "out"), READ | NOW) as back:
        refused(lambda: os.read(back, 10), errno.EAGAIN)
        write_all(to, noise(1024, 1))
        assert news(back) == select.POLLIN
        found = os.read(back, 2000)
        while len(found) < 1024:
            assert news(back) == select.POLLIN
            found += os.read(back, 2000)
        assert found == noise(1024, 1)
        refused(lambda: os.read(back, 10), errno.EAGAIN)


@pytest.mark.parametrize("size", SIZES)
def test_only_an_empty_message_is_the_end_of_the_file(card: Card, size: int) -> None:
    """Each write is a message, of which all bytes arrive; a close sends an empty one."""
    data = noise(size, size)
    with opened(node(card, "out"), READ) as back:
        with opened(node(card, "in"), WRITE) as to:
            for _ in range(2):
                writing = Aside(write_all, to, data)
                assert read_exactly(back, size) == data
                writing.finish()
                # An end whose bytes were all read before is nothing to read.
                assert news(back, 30) == 0
        assert news(back) == select.POLLIN
        assert [os.read(back, 10), os.read(back, 10)] == [b"", b""]
        assert news(back) == select.POLLIN
        with opened(node(card, "in"), WRITE) as to:
            write_all(to, b"the next")
        assert os.read(back, 10) == b""
    with opened(node(card, "out"), READ) as back:
        assert [os.read(back, 100), os.read(back, 100)] == [b"the next", b""]


def test_a_file_that_nobody_wrote_to_sends_no_end(card: Card) -> None:
    with opened(node(card, "out"), READ) as back:
        with opened(node(card, "in"), WRITE):
            pass
        with opened(node(card, "in"), WRITE) as to:
            assert os.write(to, b"") == 0
        assert news(back, 100) == 0
        with opened(node(card, "in"), WRITE) as to:
            write_all(to, b"one")
            copy = os.dup(to)
        # The last of its descriptors closes a file.
        assert os.read(back, 10) == b"one" and news(back, 100) == 0
        os.close(copy)
        assert os.read(back, 10) == b""


@pytest.mark.parametrize("seed", [1, 2])
def test_random_messages(card: Card, seed: int) -> None:
    """Messages of any length, empty ones among them: a file is what lies between two of these."""
    random_ = random.Random(seed)
    sizes = [random_.choice([0, 0, 1, 127, 128, 129, 4096, 65_536, random_.randrange(1, 100_000)]) for _ in range(50)] + [0]
    messages = [noise(size, at) for at, size in enumerate(sizes)]
    wanted = [b""]
    for message in messages:
        wanted[-1] += message
        if not message:
            wanted.append(b"")

    def write() -> None:
        with opened(card.files["in"], PACKETS) as to:
            for message in messages:
                assert os.write(to, message) == len(message)

    writing = Aside(write)
    for number, file in enumerate(wanted[:-1]):
        with opened(node(card, "out"), READ) as back:
            found = bytearray()
            while more := os.read(back, random_.choice([1000, 4096, 65_536, 200_000])):
                found += more
            assert found == file, f"seed {seed}, file {number} of {sizes}"
            assert os.read(back, 10) == b""
    writing.finish()


@pytest.mark.parametrize("first", ["xillybus", "towpath"])
def test_an_end_belongs_to_the_bytes_that_another_program_has_read(card: Card, first: str) -> None:
    names = {"xillybus": node(card, "out"), "towpath": card.files["out"]}
    second = "towpath" if first == "xillybus" else "xillybus"
    with opened(card.files["in"], WRITE) as to:
        write_all(to, noise(4096, 1))
        with opened(names[first], READ) as back:
            assert read_exactly(back, 4096) == noise(4096, 1)
    with opened(names[second], READ) as back:
        assert news(back, 100) == 0
        with opened(card.files["in"], WRITE) as to:
            write_all(to, b"the next")
        assert os.read(back, 100) == b"the next"
        end_the_file(card)
        assert os.read(back, 10) == b""


def test_an_empty_write_neither_waits_nor_ends(card: Card) -> None:
    with opened(node(card, "in"), WRITE) as to, opened(node(card, "out"), READ) as back:
        for _ in range(3):
            assert os.write(to, b"") == 0
            write_all(to, noise(512, 5))
        assert os.write(to, b"") == 0
        assert read_exactly(back, 3 * 512) == 3 * noise(512, 5)
        assert news(back, 100) == 0
    to = os.open(node(card, "in"), WRITE | NOW)
    filled(to)
    waits(to)
    assert os.write(to, b"") == 0
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)  # or the close would wait
    with contextlib.suppress(OSError):
        os.close(to)


def test_a_write_takes_what_there_is_room_for(card: Card) -> None:
    data = noise(TOO_MUCH, 7)
    with opened(node(card, "in"), WRITE) as to:
        taken = os.write(to, data)
        assert 0 < taken < TOO_MUCH
        with opened(node(card, "out"), READ) as back:
            writing = Aside(write_all, to, data[taken : 2 << 20])
            assert read_exactly(back, 2 << 20) == data[: 2 << 20]
            writing.finish()


def test_a_close_waits_a_second_and_no_more(card: Card) -> None:
    """The limit for Towpath's own names is made so long that the test would hang."""
    drain = Path("/sys/module/towpath/parameters/drain_ms")
    before = drain.read_text()
    drain.write_text("120000")
    try:
        to = os.open(node(card, "in"), WRITE | NOW)
        assert filled(to) > 0
        closing = Aside(os.close, to)
        refused(closing.finish, errno.ETIMEDOUT)
    finally:
        drain.write_text(before)
    # What the core has not taken is lost, and the file serves.
    named(card, "towpath")
    named(card, "xillybus")
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)
    with opened(node(card, "out"), READ) as back:
        with opened(node(card, "in"), WRITE) as to:
            write_all(to, b"and again")
        assert os.read(back, 100) == b"and again"


@pytest.mark.parametrize("seed", [1, 2])
def test_what_a_program_wrote_before_it_was_killed_counts(card: Card, start: Callable[..., subprocess.Popen[bytes]], seed: int) -> None:
    random_ = random.Random(seed)
    for turn in range(4):
        sizes = [
            random_.choice(SIZES[:-1]) if random_.random() < 0.5 else random_.randrange(1, 9000) for _ in range(random_.randrange(1, 5))
        ]
        data = noise(sum(sizes), turn)
        with opened(node(card, "out"), READ) as back:
            writer = start(sys.executable, "-c", WRITER, node(card, "in"), *map(str, sizes), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            reading = Aside(lambda back=back: b"".join(iter(lambda: os.read(back, 100_000), b"")))
            assert writer.stdin is not None and writer.stdout is not None
            writer.stdin.write(data)
            writer.stdin.flush()
            assert writer.stdout.read(1) == b"\n"
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            assert reading.finish() == data, f"seed {seed}, turn {turn}: {sizes}"


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_in_the_middle(card: Card, start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path, seed: int) -> None:
    """What comes is what was written, from the first byte on, and the next program's data begins behind its end."""
    random_ = random.Random(seed)
    data = noise(1 << 20, seed)
    (tmp_path / "data").write_bytes(data)
    for turn in range(3):
        with opened(node(card, "out"), READ) as back:
            # Small pieces: little is on its way when it is killed.
            writer = start(
                "dd", f"if={tmp_path}/data", f"of={node(card, 'in')}", f"bs={random_.randrange(1, 3000)}", stderr=subprocess.DEVNULL
            )
            found = bytearray(read_exactly(back, random_.randrange(1, 30_000)))
            writer.send_signal(signal.SIGKILL)
            ending = Aside(writer.wait)
            while more := os.read(back, random_.randrange(1, 70_000)):
                found += more
            ending.finish()
            assert found == data[: len(found)], f"seed {seed}, turn {turn}"
        with opened(node(card, "out"), READ) as back:
            with opened(node(card, "in"), WRITE) as to:
                write_all(to, data[:777])
            assert [read_exactly(back, 777), os.read(back, 1)] == [data[:777], b""], f"seed {seed}, turn {turn}"


@pytest.mark.parametrize("seed", [1, 2])
def test_random_lengths(card: Card, seed: int) -> None:
    """Writes, empty ones and ends of messages between them, and reads of any length: every byte, once, and the end."""
    random_ = random.Random(seed)

    def size() -> int:
        return random_.choice(SIZES) if random_.random() < 0.3 else random_.randrange(1, 5000)

    for turn in range(5):
        pieces = [size() for _ in range(random_.randrange(1, 25))]
        reads = [size() for _ in range(400)]
        data = noise(sum(pieces), turn)

        def write(pieces: list[int] = pieces, data: bytes = data) -> None:
            with opened(node(card, "in"), WRITE) as to:
                at = 0
                for piece in pieces:
                    write_all(to, data[at : at + piece])
                    at += piece
                    assert os.write(to, b"") == 0
                    if random_.random() < 0.2:
                        os.fsync(to)
                # More than a second may pass until the reader has come this far.
                os.fsync(to)

        with opened(node(card, "out"), READ) as back:
            writing = Aside(write)
            found = bytearray()
            for wanted in reads:
                more = os.read(back, wanted)
                assert len(more) <= wanted
                found += more
                if not more:
                    break
            else:
                while more := os.read(back, 65_536):
                    found += more
            assert found == data, f"seed {seed}, turn {turn}"
            writing.finish()


def test_two_programs_of_the_shell(card: Card, shell: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(noise(200_001, 9))
    to, back = node(card, "in"), node(card, "out")
    done = shell(f"cat {back} > {tmp_path}/found & dd if={data} of={to} bs=7777 status=none; wait; cmp {data} {tmp_path}/found")
    assert done.stdout == ""


def test_a_signal_ends_a_wait(card: Card) -> None:
    """Even one whose handler lets calls begin again."""
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.siginterrupt(signal.SIGUSR1, False)
    into = ctypes.create_string_buffer(100)
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
    # A read that begins again would wait for ever.
    late = threading.Timer(10, end_the_file, (card,))
    try:
        with opened(node(card, "out"), READ) as back:
            timer.start()
            late.start()
            assert LIBC.read(back, into, 100) == -1
            assert ctypes.get_errno() == errno.EINTR
    finally:
        for one in (timer, late):
            one.cancel()
            one.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("how", ["reset", "unbound"])
def test_a_fault_is_final_for_an_open_file(driver: Module, card: Card, how: str) -> None:
    back, to = os.open(node(card, "out"), READ), os.open(node(card, "in"), WRITE)
    waiting = Aside(os.read, back, 10)
    waiting.join(0.1)
    assert waiting.is_alive()
    refused(driver.unload, errno.EAGAIN)
    if how == "reset":
        with opened(card.files["control"], os.O_RDWR) as control:
            fcntl.ioctl(control, CARD_RESET)
    else:
        card.unbind()
    refused(waiting.finish, errno.EIO)
    for _ in range(2):
        refused(lambda: os.read(back, 10), errno.EIO)
        refused(lambda: os.write(to, b"x"), errno.EIO)
    refused(lambda: os.write(to, b""), errno.EIO)
    for file in (back, to):
        assert news(file) & ~(select.POLLIN | select.POLLOUT) == select.POLLERR
        with contextlib.suppress(OSError):
            os.close(file)
    if how == "unbound":
        assert not nodes()
        card.bind()
        named(card, "xillybus")
    with opened(node(card, "out"), READ) as back:
        with opened(node(card, "in"), WRITE) as to:
            write_all(to, b"well")
        assert [os.read(back, 10), os.read(back, 10)] == [b"well", b""]


def test_names_are_changed_while_files_are_opened(card: Card) -> None:
    """No open fails but by names that are not there, and nothing else comes of it."""
    known = (errno.ENOENT, errno.ENXIO, errno.EBUSY)
    words = random.Random(3).choices(["towpath", "xillybus", "vercolib"], k=150)

    def change() -> None:
        for word in words:
            named(card, word)

    changing = Aside(change)
    opens = 0
    while changing.is_alive():
        for path in (node(card, "out"), endpoint(card, "_tx_0")):
            try:
                os.close(os.open(path, READ))
                opens += 1
            except OSError as error:
                assert error.errno in known, error
    changing.finish()
    assert opens > 0


@pytest.fixture
def memory(scratchpad: Card) -> Iterator[Path]:
    named(scratchpad, "xillybus")
    yield node(scratchpad, "ram")
    named(scratchpad, "towpath")


def test_a_memory_is_sought_in(memory: Path) -> None:
    refused(lambda: os.open(memory, BOTH | NOW), errno.ENODEV)
    random_ = random.Random(11)
    with opened(memory, BOTH) as file, opened(memory, READ) as other:
        content = bytearray(read_exactly(file, 4096))
        for _ in range(60):
            at, size = random_.randrange(4096), random_.randrange(1, 300)
            size = min(size, 4096 - at)
            # The end is the beginning.
            assert os.lseek(file, at, random_.choice([os.SEEK_SET, os.SEEK_END])) == at
            if random_.random() < 0.5:
                content[at : at + size] = noise(size, at)
                assert os.write(file, content[at : at + size]) == size
            else:
                assert os.read(file, size) == content[at : at + size]
            assert os.lseek(file, 0, os.SEEK_CUR) == at + size
            assert os.pread(other, size, at) == content[at : at + size]
        assert os.lseek(file, -3, os.SEEK_CUR) == at + size - 3 or at + size < 3
        refused(lambda: os.lseek(file, -1, os.SEEK_SET), errno.EINVAL)
        refused(lambda: os.lseek(file, 0, os.SEEK_DATA), errno.EINVAL)


def test_a_memory_returns_eio(memory: Path, scratchpad: Card) -> None:
    file = os.open(memory, BOTH)
    scratchpad.unbind()
    refused(lambda: os.read(file, 4), errno.EIO)
    refused(lambda: os.write(file, b"four"), errno.EIO)
    os.close(file)
    scratchpad.bind()


def test_vercolib(card: Card) -> None:
    named(card, "vercolib")
    with opened(endpoint(card), READ) as control:
        info = CardInfo()
        ask(control, CARD_INFO, info)
        assert info.channels == 2
    to_name, back_name = endpoint(card, "_rx_0"), endpoint(card, "_tx_0")
    refused(lambda: os.open(to_name, READ), errno.ENODEV)
    with opened(to_name, WRITE) as to, opened(back_name, READ) as back:
        refused(lambda: os.open(back_name, READ), errno.EBUSY)
        # A message's end ends a read, and not the file.
        for size in (5, 1024, 70_000):
            write_all(to, noise(size, size))
            reading = Aside(read_exactly, back, size)
            os.fsync(to)
            assert reading.finish() == noise(size, size)
        reading = Aside(os.read, back, TOO_MUCH)
        write_all(to, noise(2048, 1))
        first = reading.finish()
        assert isinstance(first, bytes) and first
        assert first + read_exactly(back, 2048 - len(first)) == noise(2048, 1)
