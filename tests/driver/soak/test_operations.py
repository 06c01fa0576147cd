# SPDX-License-Identifier: Apache-2.0
"""Ten thousand random operations from four processes at once on two cards, in rounds.

Each round begins in peace: on each card one process writes messages and another reads them, in every way that there is, and each byte
that a call reports is compared. Then comes a storm: processes that do anything at all, while they are killed, channels, cards and functions
are reset, and cards are unbound or pulled out. The next round's peace shows that the storm has left nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from asking import CARD_RESET, CHANNEL_RESET, opened
from inside import IN_QEMU, Card, say, until
from queueing import END, FROM_CARD, TO_CARD, Memory, queue, transfer
from soaking import Process, finish

OPERATIONS = int(os.environ.get("TOWPATH_SOAK_OPERATIONS", "10000"))
# Of each process, in a round's peace.
MESSAGES = 40
PEACE_SECONDS = 300
STORM_SECONDS = 0.4
SIZES = [1, 2, 63, 64, 65, 1000, 4095, 4096, 4097, 16383, 16384, 20_000, 65535, 65537, 100_000]
LARGEST = max(SIZES)
# The way there and back through each card's core.
WAYS = [("in", "out"), ("a", "x")]
WRITERS = ("bytes", "packets", "queue", "registered")
READERS = ("blocking", "polling", "queue", "registered")
TOLD = {errno.EBUSY, errno.ECONNRESET, errno.ENODEV, errno.ENOENT, errno.ENXIO, errno.EAGAIN, errno.ECANCELED, errno.EIO, errno.ETIMEDOUT}
NOISE = random.Random(0).randbytes(LARGEST + 4096)
DRIVER = Path("/sys/bus/pci/drivers/towpath")


def content(seed: int, count: int) -> bytes:
    start = seed % 4096
    return NOISE[start : start + count]


@dataclass
class Session:
    """Some messages, by one way of writing and one of reading; a channel is opened for each anew."""

    writer: str
    reader: str
    messages: list[tuple[int, int]]  # seed, bytes

    @staticmethod
    def some(draw: random.Random, count: int) -> list[Session]:
        sessions = []
        while count > 0:
            part = min(count, draw.randrange(1, 15))
            messages = [(draw.getrandbits(16), draw.choice([*SIZES, draw.randrange(1, LARGEST)])) for _ in range(part)]
            sessions.append(Session(draw.choice(WRITERS), draw.choice(READERS), messages))
            count -= part
        return sessions


class Step:
    """Two processes go on together."""

    def __init__(self) -> None:
        self.there, self.back = os.pipe(), os.pipe()

    def of_writer(self) -> None:
        os.write(self.there[1], b"x")
        assert os.read(self.back[0], 1) == b"x"

    def of_reader(self) -> None:
        assert os.read(self.there[0], 1) == b"x"
        os.write(self.back[1], b"x")

    def close(self) -> None:
        for file in (*self.there, *self.back):
            os.close(file)


def write(session: Session, path: Path, control: Path, draw: random.Random, ready: Callable[[], None]) -> None:
    if session.writer in ("bytes", "packets"):
        packets = session.writer == "packets"
        with opened(path, os.O_WRONLY | (os.O_DIRECT if packets else 0)) as file:
            ready()
            for seed, count in session.messages:
                left = memoryview(content(seed, count))
                while left:
                    part = len(left) if packets else draw.randrange(1, len(left) + 1)
                    left = left[os.write(file, left[:part]) :]
                if not packets:
                    os.fsync(file)
            ready()
        return
    with opened(control, os.O_RDWR) as owner, queue(path, os.O_WRONLY, owner) as sender:
        ready()
        memories = []
        for seed, count in session.messages:
            memory = Memory(content(seed, count))
            memories.append(memory.register(owner, TO_CARD) if session.writer == "registered" else memory)
        done = 0
        for memory in memories:
            while not sender.exchange([transfer(memory, END)], room=0, wanted=0)[0].submitted:
                done += len(sender.collect(1))
        ended = sender.collect(len(memories) - done)
        assert [completion.bytes for completion in ended] == [count for _, count in session.messages][done:]
        # A queue that is closed is reset: not before all of it has gone through the core.
        ready()


def read(session: Session, path: Path, control: Path, ready: Callable[[], None]) -> None:
    whole = b"".join(content(seed, count) for seed, count in session.messages)
    if session.reader == "blocking":
        with opened(path, os.O_RDONLY) as file:
            ready()
            for seed, count in session.messages:
                assert os.read(file, count + 1) == content(seed, count), (session.reader, seed, count)
            ready()
    elif session.reader == "polling":
        with opened(path, os.O_RDONLY | os.O_NONBLOCK) as file:
            ready()
            poll = select.poll()
            poll.register(file, select.POLLIN)
            found = b""
            while len(found) < len(whole):
                assert poll.poll(20_000), "nothing comes"
                with contextlib.suppress(BlockingIOError):
                    found += os.read(file, 50_000)
            assert found == whole
            ready()
    else:
        with opened(control, os.O_RDWR) as owner, queue(path, os.O_RDONLY, owner, announce=True) as receiver:
            ready()
            for seed, count in session.messages:
                memory = Memory(count + 1)
                if session.reader == "registered":
                    memory.register(owner, FROM_CARD)
                done = receiver.run(transfer(memory))
                assert done.bytes == count and memory.content(count) == content(seed, count), (session.reader, seed, count)
            ready()


def peace(cards: list[Card], draw: random.Random) -> None:
    """Four processes, and each byte compared."""
    processes: list[Process] = []
    steps: list[Step] = []
    for card, (there, back) in zip(cards, WAYS, strict=True):
        step = Step()
        steps.append(step)
        files, seed = card.files, draw.getrandbits(64)

        def writes(files: dict[str, Path] = files, seed: int = seed, step: Step = step, there: str = there) -> None:
            draw = random.Random(seed)
            for session in Session.some(random.Random(seed), MESSAGES):
                write(session, files[there], files["control"], draw, step.of_writer)

        def reads(files: dict[str, Path] = files, seed: int = seed, step: Step = step, back: str = back) -> None:
            for session in Session.some(random.Random(seed), MESSAGES):
                read(session, files[back], files["control"], step.of_reader)

        processes += [Process(writes), Process(reads)]
    finish(processes, PEACE_SECONDS)
    for step in steps:
        step.close()


def anything(cards: list[Card], seed: int) -> None:
    """Operations at random, for ever; what is told when something is taken away is no fault."""
    draw = random.Random(seed)
    while True:
        number = draw.randrange(2)
        try:
            files = cards[number].files
            there, back = WAYS[number]
            session = Session.some(draw, 1)[0]
            choice = draw.randrange(5)
            if choice == 0:
                write(session, files[there], files["control"], draw, lambda: None)
            elif choice == 1:
                with opened(files[back], os.O_RDONLY | os.O_NONBLOCK) as file:
                    select.select([file], [], [], 0.05)
                    os.read(file, LARGEST)
            elif choice == 2:
                with opened(files["control"], os.O_RDWR) as owner, queue(files[back], os.O_RDONLY, owner, announce=True) as receiver:
                    memory = Memory(LARGEST).register(owner)
                    receiver.exchange([transfer(memory)] * 3, wanted=1, timeout_ns=50_000_000)
            elif choice == 3:
                with opened(files["control"], os.O_RDWR) as owner, queue(files[there], os.O_WRONLY, owner) as sender:
                    sender.exchange([transfer(Memory(LARGEST))] * draw.randrange(1, 5), wanted=0)
                    if draw.random() < 0.5:
                        sender.cancel()
            else:
                with opened(files[draw.choice([there, back])], os.O_WRONLY if draw.random() < 0.5 else os.O_RDONLY) as file:
                    fcntl.ioctl(file, CHANNEL_RESET)
        except (KeyError, AssertionError, PermissionError):
            pass  # the card is away, a call was cut short, or the channel goes the other way
        except OSError as error:
            if error.errno not in TOLD:
                raise


def bind(card: Card) -> None:
    (DRIVER / "unbind").write_text(card.pci.name)
    (DRIVER / "bind").write_text(card.pci.name)


def reset(card: Card) -> None:
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)


def pull(card: Card) -> None:
    card.kill()
    card.start()


EVENTS: dict[str, Callable[[Card], object]] = {
    "nothing": lambda card: None,
    "a reset of the card": reset,
    "a reset of the function": lambda card: (card.pci / "reset").write_text("1"),
    "bound anew": bind,
    "pulled out": pull,
}
if IN_QEMU:
    # It ends itself then: see `cards_come_and_go`.
    del EVENTS["pulled out"]


def storm(cards: list[Card], draw: random.Random) -> str:
    seeds = [draw.getrandbits(64) for _ in range(4)]
    processes = [Process(lambda seed=seed: anything(cards, seed)) for seed in seeds]
    time.sleep(draw.uniform(0.05, STORM_SECONDS))
    event, card = draw.choice(list(EVENTS)), draw.choice(cards)
    # Some are killed before, some after.
    early = draw.sample(processes, draw.randrange(4))
    for process in early:
        process.kill()
    EVENTS[event](card)
    time.sleep(draw.uniform(0, STORM_SECONDS))
    for process in processes:
        if process not in early:
            process.kill()
    return event


def test_operations_from_four_processes(cards: list[Card], counted: None) -> None:
    seed = int(os.environ["TOWPATH_SOAK_SEED"])
    draw = random.Random(seed)
    done = rounds = 0
    while done < OPERATIONS:
        for card in cards:
            until(lambda card=card: "control" in card.files, "the card's files are there")
            reset(card)
        state = f"seed {seed}, round {rounds}"
        try:
            peace(cards, draw)
            done += 4 * MESSAGES
            rounds += 1
            event = storm(cards, draw)
        except BaseException:
            print(f"{state}: failed")
            raise
        say(f"{state}: {done} operations, then {event}")
