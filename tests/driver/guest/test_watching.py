# SPDX-License-Identifier: Apache-2.0
"""What can be seen of the driver at work: tracepoints, and histograms of how long descriptors take."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from asking import CARD_RESET, CHANNEL_RESET, noise, opened, read_exactly
from inside import Card, Module, contract, until
from queueing import ATTRIBUTES, END, SECOND, Memory, queue, transfer

TRACING = Path("/sys/kernel/tracing")
DONE, END_OF_MESSAGE, CANCELLED = (contract(f"STATUS_{name}") for name in ("DONE", "END_OF_MESSAGE", "CANCELLED"))
SIZES = (1, 4096, 5000, 70_000)


@pytest.fixture(autouse=True)
def loaded(driver: Module, card: Card) -> None:
    until(lambda: "out" in card.files, "the card's files are there")
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)


@dataclass
class Event:
    name: str
    where: str  # "towpath0/1 out"
    values: dict[str, str]

    def __getitem__(self, field: str) -> int:
        return int(self.values[field])


class Trace(list[Event]):
    """What was traced, in its order."""

    def read(self) -> None:
        for line in (TRACING / "trace").read_text().splitlines():
            if found := re.search(r": towpath_(\w+): (towpath\d+(?:/\d+ \w+)?)(.*)$", line):
                self.append(Event(found[1], found[2], dict(word.split("=") for word in found[3].split())))

    def of(self, where: str, name: str = "") -> list[Event]:
        """Events of a channel, or those of one name."""
        return [event for event in self if event.where == where and name in ("", event.name)]


@contextmanager
def traced() -> Iterator[Trace]:
    """What the driver does meanwhile; to be read afterwards."""
    trace = Trace()
    (TRACING / "trace_clock").write_text("global")
    (TRACING / "trace").write_text("")
    (TRACING / "events/towpath/enable").write_text("1")
    try:
        yield trace
    finally:
        (TRACING / "events/towpath/enable").write_text("0")
    trace.read()


def folder(card: Card) -> Path:
    return Path("/sys/kernel/debug/towpath", card.name)


def histogram(card: Card, channel: int) -> list[int]:
    """The counts; their bounds are what they must be."""
    lines = [[int(word) for word in line.split()] for line in (folder(card) / f"{channel}/latency").read_text().splitlines()]
    assert [line[:2] for line in lines] == [[2**power if power else 0, 2 ** (power + 1) - 1] for power in range(len(lines))]
    assert not lines or lines[-1][2] > 0
    return [count for _, _, count in lines]


def statistic(card: Card, channel: int, name: str) -> int:
    return int(card.channel(channel, f"statistics/{name}"))


def match(posts: list[Event], ends: list[Event]) -> None:
    """Each that was posted ended, in order, with a cookie of its own."""
    cookies = [post["cookie"] for post in posts]
    assert cookies == [(cookies[0] + number) % 65536 for number in range(len(posts))] == [end["cookie"] for end in ends]
    assert all(end["nanoseconds"] > 0 for end in ends)


def test_a_file(card: Card) -> None:
    """Each descriptor and each byte of it is told of, and each interrupt."""
    names = ("submitted", "completed", "bytes", "interrupts_taken")

    def counted() -> list[list[int]]:
        return [[statistic(card, channel, name) for name in names] for channel in range(2)]

    before = counted()
    with traced() as trace:
        within = counted()
        with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
            for size in SIZES:
                data = noise(size, size)
                os.write(to, data)
                assert read_exactly(back, size) == data
        within = [[new - old for new, old in zip(*pair, strict=True)] for pair in zip(counted(), within, strict=True)]
    after = [[new - old for new, old in zip(*pair, strict=True)] for pair in zip(counted(), before, strict=True)]
    for channel, name, statuses in ((0, "in", {DONE}), (1, "out", {DONE, END_OF_MESSAGE, CANCELLED})):
        posts, ends, interrupts = (trace.of(f"{card.name}/{channel} {name}", event) for event in ("post", "end", "interrupt"))
        # What is read ahead ends with the close.
        assert [len(posts), len(ends), sum(end["bytes"] for end in ends)] == [len(posts), *within[channel][1:3]] == within[channel][:3]
        assert sum(end["bytes"] for end in ends) == sum(SIZES) and {end["status"] for end in ends} <= statuses
        assert within[channel][3] <= len(interrupts) <= after[channel][3]
        match(posts, ends)
    assert any(event["news"] for event in trace if event.name == "interrupt")
    assert {post["places"] for post in trace if post.name == "post"} == {1}


def test_a_queue_with_a_cancel_and_a_reset(card: Card) -> None:
    with queue(card.files["in"], os.O_WRONLY) as to, queue(card.files["out"], os.O_RDONLY) as back, traced() as trace:
        back.submit(*[transfer(Memory(size + 1)) for size in SIZES])
        sent = to.exchange([transfer(Memory(noise(size, 1)), END | ATTRIBUTES, user=size) for size in SIZES], wanted=len(SIZES))[1]
        received = back.collect(len(SIZES))
        back.submit(transfer(Memory(100)))
        back.cancel()
        received += back.collect(1)
        back.submit(transfer(Memory(100)))
        fcntl.ioctl(back.file, CHANNEL_RESET)
        (end,) = back.collect(1)
        with opened(card.files["control"], os.O_RDWR) as control:
            fcntl.ioctl(control, CARD_RESET)
    for where, sizes, completions, places in (
        (f"{card.name}/0 in", list(SIZES), sent, 2),
        (f"{card.name}/1 out", [*(size + 1 for size in SIZES), 100, 100], [*received, end], 1),
    ):
        posts, ends = trace.of(where, "post"), trace.of(where, "end")
        match(posts, ends)
        assert [post["bytes"] for post in posts] == sizes and {post["places"] for post in posts} == {places}
        assert [(event["bytes"], event["status"]) for event in ends] == [(done.bytes, done.status) for done in completions]
    order = [event.name for event in trace.of(f"{card.name}/1 out") if event.name != "interrupt"]
    assert order[order.index("cancel") :] == ["cancel", "end", "post", "channel_reset", "end"]
    assert len(trace.of(card.name, "card_reset")) == 1


@pytest.mark.parametrize(("behind", "counter"), [(0, "unexpected"), (1, "wrong_cookies")])
def test_what_the_card_tells_and_nobody_asked(card: Card, behind: int, counter: str) -> None:
    """Somebody else posts a descriptor, behind the driver's back and between its own: the card tells of a cookie that is not known."""
    cookie = 0xBEEF
    doorbell = contract("PAGE_CHANNELS") + contract("PAGES_PER_CHANNEL") + contract("PAGE_CHANNEL_DOORBELL")
    at = (doorbell << 12) + contract("DOORBELL_DESCRIPTOR_OFFSET")
    with queue(card.files["out"], os.O_RDONLY) as back, traced() as trace:
        before = statistic(card, 1, counter)
        back.submit(transfer(Memory(100)))
        plant = Module(Path(os.environ["TOWPATH_GUEST_PLANT"]))
        plant.load(f"fault=store card={card.pci.name} at={at} words=0,{cookie << 32}")
        plant.unload()
        back.exchange([transfer(Memory(100))] * behind)
        back.cancel()
        assert [done.status for done in back.collect(1 + behind)] == [CANCELLED] * (1 + behind)
        until(lambda: bool(back.exchange(timeout_ns=0)) and statistic(card, 1, counter) > before, "it is refused")
    (refused,) = trace.of(f"{card.name}/1 out", "refused")
    assert (refused["cookie"], refused.values["counter"], statistic(card, 1, counter) - before) == (cookie, counter, 1)
    # The counters are zero again for other tests.
    card.unbind()
    card.bind()


def test_histograms_count_what_was_completed(card: Card) -> None:
    """As often as the statistics say, and as the tracepoints tell; a write of anything clears them."""
    with queue(card.files["in"], os.O_WRONLY) as to, queue(card.files["out"], os.O_RDONLY) as back, traced() as trace:
        for channel in range(2):
            (folder(card) / f"{channel}/latency").write_text("whatever")
            assert histogram(card, channel) == []
        before = [statistic(card, channel, "completed") for channel in range(2)]
        for size in SIZES:
            back.submit(*[transfer(Memory(size + 1)) for _ in range(8)])
            to.exchange([transfer(Memory(size), END)] * 8, wanted=8)
            back.collect(8)
        back.submit(transfer(Memory(1)))
        back.cancel()
        back.collect(1)
        counts = [histogram(card, channel) for channel in range(2)]
        completed = [statistic(card, channel, "completed") - before[channel] for channel in range(2)]
    assert [sum(count) for count in counts] == completed == [32, 33]
    for channel, name in enumerate(("in", "out")):
        told = Counter(max(end["nanoseconds"].bit_length() - 1, 0) for end in trace.of(f"{card.name}/{channel} {name}", "end"))
        assert {power: count for power, count in enumerate(counts[channel]) if count} == told


def test_histograms_are_roots_alone(card: Card) -> None:
    assert (folder(card) / "0/latency").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in folder(card).iterdir()) == ["0", "1"]


def test_a_card_that_goes_takes_its_files_along(card: Card, driver: Module, cards: list[Card]) -> None:
    place = folder(card)
    with opened(place / "0/latency", os.O_RDWR) as held:
        os.read(held, 100)
        card.unbind()
        assert not place.exists()
        for call in (lambda: os.pread(held, 100, 0), lambda: os.write(held, b"0")):
            with pytest.raises(OSError) as caught:
                call()
            assert caught.value.errno == errno.EIO
        card.bind()
        with pytest.raises(OSError, match="temporarily unavailable|busy"):
            driver.unload()
    assert folder(card).exists()
    driver.unload()
    assert not place.parent.exists()
    driver.load()
    until(lambda: all("control" in other.files for other in cards), "the cards' files are there again")


def test_files_that_are_in_use_when_the_card_goes(card: Card) -> None:
    """Read and cleared all the time, by threads that hold them open and by those who open them anew."""
    over = threading.Event()

    def use(flags: int) -> int:
        count = 0
        while not over.is_set():
            try:
                with opened(folder(card) / "1/latency", flags) as file:
                    for _ in range(20):
                        os.write(file, b"0") if flags else os.pread(file, 4096, 0)
                        count += 1
            except (OSError, AssertionError):  # gone, or without a name, for a moment
                over.wait(0.001)
        return count

    counts: list[int] = []
    threads = [threading.Thread(target=lambda flags=flags: counts.append(use(flags))) for flags in (os.O_RDONLY, os.O_WRONLY)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
                os.write(to, b"on its way")
                assert os.read(back, 100) == b"on its way"
            card.unbind()
            card.bind()
    finally:
        over.set()
        for thread in threads:
            thread.join(20)
    assert len(counts) == 2 and min(counts) > 0


def test_unloading_while_events_are_enabled(card: Card, driver: Module, cards: list[Card]) -> None:
    with traced() as trace:
        with queue(card.files["in"], os.O_WRONLY) as to:
            to.exchange([transfer(Memory(1), END)], wanted=1, timeout_ns=20 * SECOND)
        driver.unload()
        assert not (TRACING / "events/towpath").exists()
        (TRACING / "trace").read_text()
        driver.load()
        until(lambda: all("control" in other.files for other in cards), "the cards' files are there again")
    assert len(trace) == 0, "what is loaded again begins without them"
    test_a_file(card)
