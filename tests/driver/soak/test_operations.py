# SPDX-License-Identifier: Apache-2.0
"""Ten thousand random operations from four processes at once, while these are killed, and cards are reset, bound anew and pulled out.

On each of two cards one process writes messages and another reads them, in every way that there is, by turns: blocking, by polling, in
packets, and as queues with memory that is registered or not; with cancels and resets of their own. Meanwhile they are killed, and others
take their place, and the cards are taken away from under them. Each byte that a read or a completion reports is compared, and each error
must be one that this process has to be told of just then; ledger.py has the rules.

An operation is a message written or a message read. It counts when all of the message has been found right at the other end: so each
message counts twice, and one that was cut or lost does not count, whatever the reason. Nothing else happens to a card before a message that
was begun after the last time has gone through each of them.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import random
import select
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from asking import CARD_RESET, CHANNEL_RESET, opened
from inside import IN_QEMU, Card, contract, say, until
from ledger import LARGEST, SMALLEST, Checked, Ledger
from queueing import END, FROM_CARD, SECOND, TO_CARD, Completion, Memory, Queue, queue, transfer
from soaking import Process

OPERATIONS = int(os.environ.get("TOWPATH_SOAK_OPERATIONS", "10000"))
# Whoever waits longer than this waits in vain.
HANG_SECONDS = 100
SIZES = [1, 2, 63, 64, 65, 1000, 4095, 4096, 4097, 16383, 16384, 20_000, 65535, 65537, LARGEST]
# The way there and back through each card's core.
WAYS = [("in", "out"), ("a", "x")]
DONE, ENDED, CANCELLED, RESET, LINK_DOWN = (
    contract(f"STATUS_{name}") for name in ("DONE", "END_OF_MESSAGE", "CANCELLED", "RESET", "LINK_DOWN")
)
T = TypeVar("T")
FAULTS = {RESET: errno.ECONNRESET, LINK_DOWN: errno.ENODEV}


def file_of(card: Card, name: str) -> Path:
    """Where it is now; perhaps nowhere."""
    for control in glob.glob(f"{card.pci}/towpath/towpath*!control"):
        return Path("/dev", Path(control).name.removesuffix("!control"), name)
    return Path("/dev/of-no-card", name)


class Gone(Exception):
    """The card has; the next time that files are opened it may be there again."""


class Worker:
    """Uses one channel, over and over."""

    role: str
    flags: int
    sessions: tuple[Callable[..., None], ...]

    def __init__(self, card: Card, channel: str, ledger: Ledger, seed: int) -> None:
        self.card, self.channel, self.ledger, self.draw = card, channel, ledger, random.Random(seed)
        self.before = ledger.over()

    def work(self) -> None:
        while not self.is_done():
            self.before = self.ledger.over()
            with suppress(Gone), self.told():
                self.draw.choice(self.sessions)(self)

    def is_done(self) -> bool:
        return False

    @contextmanager
    def told(self) -> Iterator[None]:
        """An error must have its reason. A reset is told once, and all goes on."""
        first = self.ledger.last + 1
        try:
            yield
        except OSError as error:
            self.ledger.explain(error.errno or 0, self.before)
            self.give_up(first)
            if error.errno != errno.ECONNRESET:
                time.sleep(0.01)
                raise Gone from error
            self.before = self.ledger.over()

    def give_up(self, first: int) -> None:
        """Whatever was begun in vain."""

    def some(self) -> range:
        return range(self.draw.randrange(1, 15))

    def size(self) -> int:
        return self.draw.choice([*SIZES, self.draw.randrange(1, LARGEST)])

    def begin(self) -> bytes:
        """A new message."""
        return self.ledger.content(self.ledger.begin(max(self.size(), SMALLEST)))

    def now_and_then(self) -> bool:
        return self.draw.random() < 0.03

    def resetting(self) -> AbstractContextManager[None]:
        return self.ledger.happening(f"a reset of the {self.role}'s own")

    def reset(self, file: int) -> None:
        with self.resetting():
            self.settled(lambda: fcntl.ioctl(file, CHANNEL_RESET))

    def settled(self, call: Callable[[], object]) -> None:
        """What does not wait while the card is being reset. That it says so is not how a program is told of the reset."""
        while True:
            try:
                call()
                return
            except ConnectionResetError as error:
                self.ledger.explain(error.errno or 0, self.before)
                time.sleep(0.001)

    def opened(self, flags: int = 0) -> AbstractContextManager[int]:
        return opened(file_of(self.card, self.channel), self.flags | flags)

    @contextmanager
    def queue(self, **named: bool) -> Iterator[tuple[Queue, int]]:
        """And the control file; the channel is reset at both ends of it."""
        with opened(file_of(self.card, "control"), os.O_RDWR) as owner, ExitStack() as stack:
            with self.resetting():
                made = stack.enter_context(queue(file_of(self.card, self.channel), self.flags, owner, **named))
            try:
                yield made, owner
            finally:
                with self.resetting():
                    stack.close()

    def collect(self, queue: Queue, flying: deque[T], found: Callable[[T, Completion], None], every: bool, own: bool) -> None:
        """All that is in flight, or some, or what there is after a while. A fault is raised when all have been seen that came with it."""
        fault: OSError | None = None
        while flying:
            error: OSError | None = None
            try:
                _, completions = queue.exchange(
                    wanted=len(flying) if every else 1, room=len(flying), timeout_ns=self.draw.choice([SECOND // 100, SECOND])
                )
            except OSError as raised:
                error, completions = raised, raised.found  # type: ignore[attr-defined]
            for completion in completions:
                found(flying.popleft(), completion)
                if completion.status in FAULTS and not (own and completion.status == RESET):
                    error = OSError(FAULTS[completion.status], "by its status")
            if error and not isinstance(error, TimeoutError):
                fault = error
            if not every or (fault and fault.errno != errno.ECONNRESET):
                break
        if fault:
            raise fault


class Writer(Worker):
    role = "writer"
    flags = os.O_WRONLY

    def is_done(self) -> bool:
        """When it is wanted, and what was written last has arrived."""
        return bool(self.ledger.state[Ledger.STOP]) and self.arrives()

    def give_up(self, first: int) -> None:
        self.ledger.give_up(first, self.before)

    def arrives(self) -> bool:
        """Waits until it has, or may have been lost."""
        number = self.ledger.last
        until(
            lambda: self.ledger.has_read(number) or self.ledger.may_have_lost(number),
            f"message {number} arrives, for nothing has happened since it was begun",
            HANG_SECONDS,
        )
        return self.ledger.has_read(number)

    def all_of(self, file: int, data: memoryview) -> None:
        if os.write(file, data) != len(data):
            os.fsync(file)
            raise AssertionError("a write was cut short, and nobody tells why")

    def in_pieces(self) -> None:
        with self.opened() as file:
            for _ in self.some():
                with self.told():
                    left = memoryview(self.begin())
                    while left:
                        part = min(len(left), self.size())
                        self.all_of(file, left[:part])
                        left = left[part:]
                        if self.now_and_then():
                            self.reset(file)
                            break
                    else:
                        os.fsync(file)

    def in_packets(self) -> None:
        with self.opened(os.O_DIRECT) as file:
            for _ in self.some():
                with self.told():
                    self.all_of(file, memoryview(self.begin()))

    def polling(self) -> None:
        poll = select.poll()
        with self.opened(os.O_NONBLOCK) as file:
            poll.register(file, select.POLLOUT)
            for _ in self.some():
                with self.told():
                    left = memoryview(self.begin())
                    while left:
                        poll.poll(1000)
                        with suppress(BlockingIOError):
                            left = left[os.write(file, left) :]
                    os.fsync(file)

    def in_transfers(self) -> None:
        registered = self.draw.random() < 0.5
        with self.queue() as (sender, owner):
            for _ in self.some():
                with self.told():
                    self.batch(sender, owner if registered else -1)
            # When it is closed the channel is emptied.
            self.arrives()

    def batch(self, sender: Queue, owner: int) -> None:
        """Some messages at once. What a cancel leaves is sent again from there on."""
        memories = []
        for _ in range(self.draw.randrange(1, 6)):
            memory = Memory(self.begin())
            if owner >= 0:
                self.settled(partial(memory.register, owner, TO_CARD))
            memories.append(memory)
        left = [(memory, 0) for memory in memories]
        while left:
            sent = sender.exchange([transfer([memory.piece(start)], END) for memory, start in left], room=0)[0].submitted
            flying, unsent, left = deque(left[:sent]), left[sent:], []
            cancels, resets = self.now_and_then(), self.now_and_then()
            if cancels:
                sender.cancel()
            if resets:
                self.reset(sender.file)

            def found(sent: tuple[Memory, int], completion: Completion) -> None:
                memory, start = sent
                if completion.status == CANCELLED and cancels and not resets:  # noqa: B023
                    left.append((memory, start + completion.bytes))  # noqa: B023
                elif completion.status not in FAULTS:
                    assert completion.status == DONE or (cancels and completion.status == CANCELLED), completion.status  # noqa: B023
                    assert completion.status != DONE or completion.bytes == memory.bytes - start

            self.collect(sender, flying, found, every=True, own=resets)
            left += unsent
        if owner >= 0 and self.draw.random() < 0.5:
            for memory in memories:
                self.settled(partial(memory.unregister, owner))

    sessions = (in_pieces, in_packets, polling, in_transfers, in_transfers)


class Reader(Worker):
    role = "reader"
    flags = os.O_RDONLY

    def __init__(self, card: Card, channel: str, ledger: Ledger, seed: int) -> None:
        super().__init__(card, channel, ledger, seed)
        self.checked = Checked(ledger)

    def blocking(self) -> None:
        with self.opened() as file:
            for _ in self.some():
                with self.told():
                    size = self.size() + 1
                    data = os.read(file, size)
                    self.checked.take(data, None if len(data) == size else True)
                    if self.now_and_then():
                        self.reset(file)

    def polling(self) -> None:
        poll = select.poll()
        with self.opened(os.O_NONBLOCK) as file:
            poll.register(file, select.POLLIN)
            for _ in self.some():
                with self.told(), suppress(BlockingIOError):
                    poll.poll(1000)
                    data = os.read(file, self.size())
                    self.checked.take(data, None if data else True)

    def in_transfers(self) -> None:
        registered = self.draw.random() < 0.5
        flying: deque[Memory] = deque()
        with self.queue(announce=self.draw.random() < 0.5) as (receiver, owner):
            for _ in self.some():
                with self.told():
                    self.batch(receiver, owner if registered else -1, flying)

    def batch(self, receiver: Queue, owner: int, flying: deque[Memory]) -> None:
        while len(flying) < self.draw.randrange(1, 5):
            memory = Memory(self.size())
            if owner >= 0:
                self.settled(partial(memory.register, owner, FROM_CARD))
            receiver.submit(transfer(memory))
            flying.append(memory)
        cancels, resets = self.now_and_then(), self.now_and_then()
        if cancels:
            receiver.cancel()
        if resets:
            self.reset(receiver.file)

        def found(memory: Memory, completion: Completion) -> None:
            assert completion.status in (DONE, ENDED, *FAULTS) or (cancels and completion.status == CANCELLED), completion.status
            assert completion.status != DONE or completion.bytes == memory.bytes
            self.checked.take(memory.content(completion.bytes), completion.status == ENDED)

        # What was ended by this is collected while it is known why.
        self.collect(receiver, flying, found, every=cancels or resets, own=resets)

    sessions = (blocking, polling, in_transfers, in_transfers)


class Loop:
    """There and back through one card, with a process at each end."""

    def __init__(self, card: Card, channels: tuple[str, str], draw: random.Random) -> None:
        self.card, self.draw, self.ledger = card, draw, Ledger()
        self.channels = dict(zip((Writer, Reader), channels, strict=True))
        self.processes: dict[type[Worker], Process] = {}
        for kind in self.channels:
            self.start(kind)

    def start(self, kind: type[Worker]) -> None:
        worker = kind(self.card, self.channels[kind], self.ledger, self.draw.getrandbits(64))
        self.processes[kind] = Process(worker.work)

    @contextmanager
    def killed(self, kind: type[Worker]) -> Iterator[None]:
        """It is, at the beginning; at the end it has gone, and another takes its place."""
        with self.ledger.happening(f"the {kind.role} killed"):
            self.processes[kind].signal()
            yield
            self.end(kind)
            self.ledger.settle(f"a reset of the {kind.role}'s own")
        self.start(kind)

    def end(self, kind: type[Worker]) -> None:
        """Waits for its end; raises what it failed with."""
        self.processes.pop(kind).reap()

    def look_for_failures(self) -> None:
        for kind, process in list(self.processes.items()):
            if process.has_ended():
                self.end(kind)
                raise AssertionError(f"the {kind.role} has ended by itself")


def bind(card: Card) -> None:
    card.unbind()
    card.bind()


def reset(card: Card) -> None:
    with opened(file_of(card, "control"), os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)


def pull(card: Card) -> None:
    card.kill()
    card.start()


EVENTS: dict[str, Callable[[Card], object]] = {
    "a reset of the card": reset,
    "a reset of the function": lambda card: (card.pci / "reset").write_text("1"),
    "bound anew": bind,
    "pulled out": pull,
}
if IN_QEMU:
    # It ends itself then: see `cards_come_and_go`.
    del EVENTS["pulled out"]


def goes_well(loops: list[Loop], draw: random.Random) -> None:
    """Until a random number of messages have gone through each card, one at least that was begun now."""
    wanted = [(loop.ledger, loop.ledger.last, loop.ledger.whole + draw.randrange(1, 10)) for loop in loops]

    def have_gone() -> bool:
        for loop in loops:
            loop.look_for_failures()
        return all(ledger.newest > last and ledger.whole >= whole for ledger, last, whole in wanted)

    until(have_gone, "messages go through all cards", HANG_SECONDS)


def strike(loops: list[Loop], draw: random.Random) -> list[str]:
    """Something happens to a card, or to some of the processes, or to both at once."""
    everybody = [(loop, kind) for loop in loops for kind in loop.channels]
    loop, event = draw.choice(loops), draw.choice(["", *EVENTS])
    victims = draw.sample(everybody, draw.choice([0, 0, 1, 1, 2, 4]))
    with ExitStack() as stack:
        for victim, kind in victims:
            stack.enter_context(victim.killed(kind))
        time.sleep(draw.choice([0, 0, 0.01]))
        if event:
            with loop.ledger.happening(event):
                EVENTS[event](loop.card)
                until(lambda: file_of(loop.card, "control").exists(), "the card's files are there")
    return [*(f"a {kind.role} killed" for _, kind in victims), *([event] if event else [])]


def come_to_an_end(loops: list[Loop]) -> None:
    """All that was written arrives: nothing happens any more."""
    for loop in loops:
        loop.ledger.state[Ledger.STOP] = 1
    for loop in loops:
        until(loop.processes[Writer].has_ended, "the writers end", HANG_SECONDS)
        loop.end(Writer)
        assert loop.ledger.has_read(loop.ledger.last)


def test_operations_from_four_processes(cards: list[Card], counted: None) -> None:
    seed = int(os.environ["TOWPATH_SOAK_SEED"])
    draw = random.Random(seed)
    rounds, done, happened = 0, 0, Counter[str]()
    for card in cards:
        reset(card)
    loops = [Loop(card, channels, draw) for card, channels in zip(cards, WAYS, strict=True)]
    try:
        while done < OPERATIONS:
            rounds += 1
            say(f"seed {seed}, round {rounds}: {done} operations")
            goes_well(loops, draw)
            happened.update(strike(loops, draw))
            done = sum(2 * loop.ledger.whole for loop in loops)
        goes_well(loops, draw)
        come_to_an_end(loops)
        undisturbed = sum(loop.ledger.undisturbed for loop in loops)
        say(f"seed {seed}: {done} operations in {rounds} rounds, {2 * undisturbed} of them undisturbed; {dict(happened)}")
    except BaseException:
        print(f"seed {seed}, round {rounds}")
        raise
    finally:
        for loop in loops:
            for process in loop.processes.values():
                process.signal()
                process.reap()
            loop.ledger.close()
