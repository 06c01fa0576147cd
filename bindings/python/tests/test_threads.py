# SPDX-License-Identifier: Apache-2.0
"""Calls of several threads on one channel: each has its own limit, its own signals and its own transfer."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

import towpath

# Seconds after which a call that should have ended counts as hanging.
HANGS = 30.0


class Call:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:
            self.error = error

    @property
    def runs(self) -> bool:
        return self._thread.is_alive()

    def ended(self) -> Call:
        self._thread.join(HANGS)
        assert not self.runs, "the call hangs"
        return self


class Alarm(Exception):
    """What a signal handler raises."""


@pytest.mark.usefixtures("keyboard")
@pytest.mark.parametrize("first", ["main", "other"])
@pytest.mark.parametrize("kind", ["recv", "recv_into"])
def test_an_interrupt_ends_the_main_threads_call_alone(card: towpath.Device, first: str, kind: str) -> None:
    into = bytearray(8)
    calls: dict[str, Callable[[], object]] = {
        "recv": lambda: card.recv("out", timeout=None),
        "recv_into": lambda: card.recv_into("out", into, timeout=None),
    }

    def later() -> object:
        if first == "main":
            time.sleep(0.2)
        return card.recv("out", timeout=None)

    other = Call(later)
    if first == "other":
        time.sleep(0.2)
    timer = threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        calls[kind]()
    timer.join()
    assert other.runs
    card.send("in", b"for the other")
    assert other.ended().error is None and other.result == b"for the other"
    card.send("in", b"for main")
    assert card.recv("out") == b"for main"


def test_a_handler_that_raises_ends_the_main_threads_call_alone(card: towpath.Device) -> None:
    def raises(_number: int, _frame: FrameType | None) -> None:
        raise Alarm

    other = Call(lambda: card.recv("out", timeout=None))
    time.sleep(0.2)
    before = signal.signal(signal.SIGALRM, raises)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Alarm):
            card.recv("out", timeout=None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert other.runs
    card.send("in", b"for the other")
    assert other.ended().error is None and other.result == b"for the other"


def test_a_handler_may_use_the_card(card: towpath.Device) -> None:
    """It runs while the main thread waits, and what it sends ends the wait."""

    def sends(_number: int, _frame: FrameType | None) -> None:
        card.send("in", b"from the handler")

    before = signal.signal(signal.SIGALRM, sends)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        assert card.recv("out", timeout=None) == b"from the handler"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_call_behind_an_endless_one_ends_by_its_own_limit(card: towpath.Device) -> None:
    endless = Call(lambda: card.recv("out", timeout=None))
    time.sleep(0.2)
    limited = Call(lambda: card.recv("out", timeout=0.005)).ended()
    assert isinstance(limited.error, towpath.TimeoutError) and limited.error.bytes == 0
    assert endless.runs
    card.send("in", b"at last")
    assert endless.ended().error is None and endless.result == b"at last"


def test_a_limit_is_one_calls_own(card: towpath.Device) -> None:
    """A second call's limit changes nothing for one that waits already, nor for the next that gives none."""
    endless = Call(lambda: card.recv("out", timeout=None))
    time.sleep(0.2)
    for _ in range(3):
        with pytest.raises(towpath.TimeoutError):
            card.recv("out", timeout=20e-6)
    assert endless.runs
    card.send("in", b"one")
    assert endless.ended().result == b"one"
    ticket = card.submit_recv("out", bytearray(8))
    with pytest.raises(towpath.TimeoutError):
        ticket.wait(timeout=20e-6)
    card.send("in", b"two")
    assert ticket.wait().bytes == 3


def test_a_send_that_times_out_leaves_the_ticket_before_it(card: towpath.Device) -> None:
    message = np.arange(64 * 1024, dtype=np.uint32).tobytes()
    ticket = card.submit_send("in", message)
    with pytest.raises(towpath.TimeoutError) as caught:
        card.send("in", b"behind it", timeout=100e-6)
    assert caught.value.bytes == 0
    assert card.recv("out") == message
    assert ticket.wait().bytes == len(message)
    card.send("in", b"behind it")
    assert card.recv("out") == b"behind it"


def test_cancelling_one_ticket_leaves_the_others(card: towpath.Device) -> None:
    buffers = [bytearray(8) for _ in range(4)]
    tickets = [card.submit_recv("out", buffer) for buffer in buffers]
    tickets[0].cancel()
    tickets[2].cancel()
    for n in (1, 3):
        card.send("in", bytes([n]))
    for n, ticket in enumerate(tickets):
        if n % 2:
            assert ticket.wait().bytes == 1 and buffers[n][0] == n
        else:
            with pytest.raises(towpath.TransferError) as caught:
                ticket.wait()
            assert caught.value.status == "cancelled" and caught.value.bytes == 0


def test_several_threads_wait_for_one_ticket(card: towpath.Device) -> None:
    ticket = card.submit_recv("out", bytearray(8))
    calls = [Call(lambda: ticket.wait(timeout=None)) for _ in range(4)]
    time.sleep(0.1)
    card.send("in", b"once")
    assert [call.ended().result for call in calls] == [towpath.Received(4, True, 0, 0)] * 4


def test_closing_ends_the_calls_of_other_threads(card: towpath.Device) -> None:
    calls = [Call(lambda: card.recv("out", timeout=None)) for _ in range(2)]
    time.sleep(0.2)
    card.close()
    for call in calls:
        assert isinstance(call.ended().error, towpath.TransferError | towpath.UsageError)
