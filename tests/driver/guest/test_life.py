# SPDX-License-Identifier: Apache-2.0
"""Cards that come and go, with and without programs that use them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import time
from pathlib import Path

import pytest
from asking import CARD_INFO, CARD_RESET, INTERRUPT, WAIT, Aside, CardInfo, Interrupt, ask, noise, opened, write_all
from inside import IN_QEMU, Card, KernelLog, Module, cards_come_and_go, contract, guest_sleeps, planted, sleep, until
from queueing import END, Allocated, Completion, Memory, error_of, queue, transfer


def is_there(card: Card) -> bool:
    return any(Path("/dev").glob("towpath*/control")) and (card.pci / "driver").exists()


def echoes(card: Card, text: bytes = b"still well") -> None:
    until(lambda: is_there(card) and "out" in card.files, "the card's files are there")
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        os.write(to, text)
        assert os.read(back, 100) == text


def test_the_driver_says_what_it_found(driver: Module, card: Card, kernel_log: KernelLog) -> None:
    card.unbind()
    card.bind()
    assert "core loopback, version 1" in kernel_log.read()
    echoes(card)


def test_every_card_has_its_own_files(driver: Module, cards: list[Card]) -> None:
    assert len({card.name for card in cards}) == len(cards)
    for card in cards:
        with opened(card.files["control"], os.O_RDONLY) as file:
            info = CardInfo()
            ask(file, CARD_INFO, info)
            assert 2 * info.channels + 1 >= len(card.files) > info.channels


@pytest.mark.parametrize("how", ["unbound", pytest.param("pulled out", marks=cards_come_and_go)])
def test_who_uses_a_card_that_goes_is_told(driver: Module, card: Card, how: str) -> None:
    """Everything ends with ENODEV, at once, and the next card is as good as new."""
    # One who reads what never comes, and one who writes more than there is room for.
    for size in (0, 8 << 20):
        echoes(card)
        back = os.open(card.files["out"], os.O_RDONLY)
        to = os.open(card.files["in"], os.O_WRONLY)
        control = os.open(card.files["control"], os.O_RDONLY)
        waits = [Aside(os.read, back, 100)] if not size else [Aside(write_all, to, noise(size, 1))]
        time.sleep(0.5)
        assert all(wait.is_alive() for wait in waits)
        if how == "unbound":
            card.unbind()
        else:
            card.kill()
        for wait in waits:
            with pytest.raises(OSError, match="No such device"):
                wait.finish()
        for call in (lambda: os.read(back, 10), lambda: os.write(to, b"x"), lambda: ask(control, CARD_INFO, CardInfo())):  # noqa: B023
            with pytest.raises(OSError, match="No such device"):
                call()
        poll = select.poll()
        poll.register(back)
        assert poll.poll(0)[0][1] & select.POLLHUP
        for file in (back, to, control):
            with contextlib.suppress(OSError):
                os.close(file)
        if how == "unbound":
            card.bind()
        else:
            card.start()
        echoes(card)


def test_a_module_in_use_stays(driver: Module, card: Card) -> None:
    with opened(card.files["out"], os.O_RDONLY), pytest.raises(OSError, match="temporarily unavailable|busy"):
        driver.unload()
    echoes(card)


def test_unloading_and_loading_again(driver: Module, cards: list[Card]) -> None:
    for _ in range(3):
        driver.unload()
        assert not list(Path("/dev").glob("towpath*"))
        driver.load()
        for card in cards:
            until(lambda card=card: is_there(card), "the card is there again")  # type: ignore[misc]
    echoes(cards[0])


@pytest.mark.parametrize("bar", ["BAR_DEVICE", "BAR_WINDOW"])
def test_a_card_with_ports_in_the_place_of_memory_is_refused(driver: Module, card: Card, kernel_log: KernelLog, bar: str) -> None:
    card.unbind()
    with planted(f"fault=ports card={card.pci.name} bar={contract(bar)}"), pytest.raises(OSError, match="No such device"):
        card.bind()
    assert f"BAR {contract(bar)} is not memory" in kernel_log.read()
    card.bind()
    echoes(card)


@guest_sleeps
def test_sleep(driver: Module, card: Card) -> None:
    """Who has a channel open is told of the reset, and goes on."""
    echoes(card)
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        os.write(to, b"before")
        sleep()
        for call in (lambda: os.read(back, 10), lambda: os.write(to, b"x")):
            with pytest.raises(OSError, match="reset") as caught:
                call()
            assert caught.value.errno == errno.ECONNRESET
        os.write(to, b"after")
        assert os.read(back, 100) == b"after"


@guest_sleeps
def test_sleep_over_queues(driver: Module, cards: list[Card]) -> None:
    """What was in flight is told of by its status, and memory that was registered or allocated serves as before."""
    card, other, _ = cards
    echoes(card)
    with (
        opened(card.files["control"], os.O_RDWR) as control,
        queue(card.files["in"], os.O_WRONLY, control) as to,
        queue(card.files["out"], os.O_RDONLY, control, announce=True) as back,
        queue(other.files["a"], os.O_WRONLY) as full,
    ):
        memory, allocated = Memory(b"registered").register(control), Allocated(control, 4096)
        back.submit(transfer(allocated), transfer(allocated))
        waiting = Aside(back.collect, 2)
        to.run(transfer(memory, END))
        full.submit(*(transfer(Memory(noise(1 << 20, 1)), END) for _ in range(4)))
        sleep()
        reset = contract("STATUS_RESET")
        ended: list[Completion] = waiting.finish()  # type: ignore[assignment]
        assert [ended[0].bytes, ended[1].status] == [10, reset]
        assert allocated.content(10) == b"registered"
        assert full.collect(4)[-1].status == reset
        assert error_of(to.run, transfer(memory, END)) == "ECONNRESET", "one that had nothing in flight is told by its next call"
        to.run(transfer([memory.piece(2, 4)], END))
        assert back.message_start().offset == 0
        assert back.run(transfer(allocated)).bytes == 4
        assert allocated.content(4) == b"gist"


def test_a_function_that_is_reset_by_somebody_else(driver: Module, card: Card) -> None:
    with (
        opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to,
        opened(card.files["out"], os.O_RDONLY) as back,
        opened(card.files["control"], os.O_RDWR) as control,
    ):
        seen = Interrupt()
        ask(control, INTERRUPT, seen)
        waits = [Aside(os.read, back, 100), Aside(ask, control, INTERRUPT, Interrupt(flags=WAIT, seen=seen.count, timeout_ns=-1))]
        time.sleep(0.1)
        (card.pci / "reset").write_text("1")
        for wait in waits:
            with pytest.raises(ConnectionResetError):
                wait.finish()
        with pytest.raises(ConnectionResetError):
            os.write(to, b"is told, once")
        os.write(to, b"after")
        assert os.read(back, 100) == b"after"
    assert all(int(card.channel(index, "statistics/unexpected")) == 0 for index in range(2)), "completions that no work fits"


@pytest.mark.parametrize(
    "how", ["given up while it is read", "given up while it is written", pytest.param("gone after a sleep", marks=guest_sleeps)]
)
def test_a_card_that_does_not_come_back_has_failed(driver: Module, card: Card, how: str) -> None:
    """EIO for everybody, those who wait as well, until it is bound again."""
    back = os.open(card.files["out"], os.O_RDONLY)
    to = os.open(card.files["in"], os.O_WRONLY | os.O_DIRECT)
    control = os.open(card.files["control"], os.O_RDWR)
    waits: list[Aside] = []
    if how == "gone after a sleep":
        card.fault("down")
        try:
            sleep()
        finally:
            card.fault("up")
    else:
        ask(control, INTERRUPT, seen := Interrupt())
        waits.append(Aside(ask, control, INTERRUPT, Interrupt(flags=WAIT, seen=seen.count, timeout_ns=-1)))
        waits.append(Aside(os.read, back, 100) if how.endswith("read") else Aside(write_all, to, noise(8 << 20, 1)))
        time.sleep(0.5)
        assert all(wait.is_alive() for wait in waits)
        with planted(f"fault=give-up card={card.pci.name}"):
            pass
    for wait in waits:
        with pytest.raises(OSError, match="Input/output"):
            wait.finish()
    calls = (
        lambda: os.read(back, 10),
        lambda: os.write(to, b"x"),
        lambda: ask(control, CARD_INFO, CardInfo()),
        lambda: fcntl.ioctl(control, CARD_RESET),
    )
    for error, then in ((errno.EIO, lambda: None), (errno.EIO, card.unbind), (errno.ENODEV, card.bind)):
        for call in calls:
            with pytest.raises(OSError) as caught:
                call()
            assert caught.value.errno == error
        then()
    for file in (back, to, control):
        with contextlib.suppress(OSError):
            os.close(file)
    echoes(card)


@pytest.mark.skipif(not IN_QEMU, reason="this guest has no IOMMU, which knows what a card can reach")
def test_nothing_of_one_program_is_in_reach_of_the_next_ones_card(driver: Module, card: Card) -> None:
    """Nor can it come to the next program, then, by a card that tells of bytes which it has not written."""
    text = b"a-well-kept-secret"
    look = f"fault=seek card={card.pci.name} text={text.decode()}"

    def use() -> None:
        with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
            for _ in range(20):
                os.write(to, text)
                assert os.read(back, 100) == text

    use()
    with pytest.raises(OSError) as found, planted(look):
        pass
    assert found.value.errno == errno.ENOTUNIQ, "it stays there until then, or this looks in vain"
    with opened(card.files["in"], os.O_WRONLY), opened(card.files["out"], os.O_RDONLY), planted(look):
        pass
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        os.write(to, text)
        assert select.select([back], [], [], 20)[0]
    with opened(card.files["out"], os.O_RDONLY) as back:
        assert os.read(back, 100) == text, "what nobody has read stays"
