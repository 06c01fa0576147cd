# SPDX-License-Identifier: Apache-2.0
"""Blocking transfers, tickets, and what goes wrong with them."""

from __future__ import annotations

import array
import mmap
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import towpath

# The card holds a few KiB between the two channels: a message which one thread can send before it receives.
SMALL = 2000


def pattern(length: int, seed: int = 1) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, length, dtype=np.uint8).tobytes()


def echo(card: towpath.Device, message: bytes) -> bytes:
    """There and back at once, for messages that do not fit on the card."""
    ticket = card.submit_send("in", message)
    back = card.recv("out")
    assert ticket.wait().bytes == len(message)
    return back


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, SMALL])
def test_a_message_comes_back(card: towpath.Device, length: int) -> None:
    message = pattern(length)
    assert card.send("in", message) == length
    assert card.recv("out") == message


@pytest.mark.parametrize("length", [4096, 100_001])
def test_a_long_message_comes_back(card: towpath.Device, length: int) -> None:
    message = pattern(length)
    assert echo(card, message) == message


def test_channels_go_by_name_and_by_number(card: towpath.Device) -> None:
    for sender, receiver in (("in", "out"), (card.channel("in").number, card.channel("out").number)):
        card.send(sender, b"both")
        assert card.recv(receiver) == b"both"


def test_a_message_in_parts(card: towpath.Device) -> None:
    card.send("in", b"one, ", end=False)
    card.send("in", b"two, ", end=False)
    card.send("in", b"three")
    assert card.recv("out") == b"one, two, three"


@pytest.mark.parametrize(
    "make",
    [
        bytes,
        bytearray,
        memoryview,
        lambda b: memoryview(b)[:],
        lambda b: array.array("H", b),
        lambda b: np.frombuffer(b, dtype=np.uint8),
        lambda b: np.frombuffer(b, dtype="<f4").reshape(5, -1),
    ],
    ids=["bytes", "bytearray", "memoryview", "slice", "array", "read-only numpy", "matrix"],
)
def test_any_buffer_can_be_sent(card: towpath.Device, make: Callable[[bytes], Any]) -> None:
    message = pattern(SMALL)
    assert card.send("in", make(message)) == SMALL
    assert card.recv("out") == message


def test_mmap_both_ways(card: towpath.Device) -> None:
    with mmap.mmap(-1, 4096) as outgoing, mmap.mmap(-1, 4096) as incoming:
        outgoing[:] = pattern(4096)
        ticket = card.submit_send("in", outgoing)
        assert card.recv_into("out", incoming) == towpath.Received(4096, True, 0, 0)
        ticket.wait()
        del ticket
        assert incoming[:] == outgoing[:]


def test_numpy_receives_without_a_copy(card: towpath.Device) -> None:
    message = np.arange(500, dtype=np.uint32).reshape(20, 25)
    out = np.zeros_like(message)
    address = out.__array_interface__["data"][0]
    card.send("in", message)
    got = card.recv_into("out", out)
    assert got.bytes == out.nbytes and got.end_of_message
    assert np.array_equal(out, message)
    assert out.__array_interface__["data"][0] == address


def test_bytes_that_are_not_in_a_row_are_refused(card: towpath.Device) -> None:
    picture = np.zeros((8, 8), dtype=np.uint8)
    with pytest.raises(towpath.UsageError, match="C-contiguous.*ascontiguousarray"):
        card.send("in", picture[:, ::2])
    with pytest.raises(towpath.UsageError, match="C-contiguous"):
        card.recv_into("out", picture.T[1:])
    with pytest.raises(towpath.UsageError, match="read-only"):
        card.recv_into("out", b"fixed")
    with pytest.raises(TypeError, match="not a buffer"):
        card.send("in", "text")  # type: ignore[call-overload]


def test_a_buffer_that_is_too_small_leaves_the_rest(card: towpath.Device) -> None:
    message = pattern(100)
    card.send("in", message)
    first, rest = bytearray(60), bytearray(60)
    assert card.recv_into("out", first)[:2] == (60, False)
    assert card.recv_into("out", rest)[:2] == (40, True)
    assert bytes(first + rest[:40]) == message


def test_attributes_go_with_the_message(card: towpath.Device) -> None:
    card.send("in", bytes(64), length=64, offset=0x1000, user=0xCAFE)
    assert card.message_start("out") == towpath.MessageStart(64, 0x1000, 0xCAFE)
    out = bytearray(64)
    assert card.recv_into("out", out) == towpath.Received(64, True, 0x1000, 0xCAFE)


def test_no_such_channel_and_the_wrong_one(card: towpath.Device) -> None:
    with pytest.raises(towpath.NotFoundError, match='"sideways".*"in".*"out"') as caught:
        card.send("sideways", b"")
    assert caught.value.channel == "sideways"
    assert isinstance(caught.value, LookupError)
    with pytest.raises(towpath.NotFoundError):
        card.channel(99)
    with pytest.raises(towpath.UsageError, match="out"):
        card.send("out", b"")
    with pytest.raises(towpath.UsageError, match="in"):
        card.recv("in")


def test_a_timeout_tells_how_far_it_came_and_the_channel_goes_on(card: towpath.Device) -> None:
    start = card.now_ns()
    out = bytearray(100)
    with pytest.raises(towpath.TimeoutError) as caught:
        card.recv_into("out", out, timeout=50e-6)
    assert caught.value.channel == "out" and caught.value.bytes == 0
    assert isinstance(caught.value, TimeoutError)
    assert card.now_ns() - start >= 50_000
    card.send("in", b"begun ", end=False)
    with pytest.raises(towpath.TimeoutError) as caught:
        card.recv_into("out", out, timeout=50e-6)
    came = caught.value.bytes
    assert bytes(out[:came]) == b"begun "[:came]
    card.send("in", b"ended")
    got = card.recv_into("out", memoryview(out)[came:])
    assert bytes(out[: came + got.bytes]) == b"begun ended" and got.end_of_message


def test_a_send_that_nobody_takes_times_out(card: towpath.Device) -> None:
    message = pattern(1 << 20)
    with pytest.raises(towpath.TimeoutError) as caught:
        card.send("in", message, timeout=100e-6)
    taken = caught.value.bytes
    assert 0 < taken < len(message)
    ticket = card.submit_send("in", memoryview(message)[taken:])
    assert card.recv("out") == message
    ticket.wait()


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), 1e300])
def test_times_that_are_none(card: towpath.Device, timeout: float) -> None:
    with pytest.raises(towpath.UsageError, match="timeout"):
        card.recv("out", timeout=timeout)


def test_tickets(card: towpath.Device) -> None:
    message = pattern(64 * 1024)
    out = bytearray(len(message))
    parts = [slice(at, at + 16384) for at in range(0, len(message), 16384)]
    receiving = [card.submit_recv("out", memoryview(out)[part]) for part in parts]
    assert not receiving[0].done() and receiving[0].poll() is None
    sending = [card.submit_send("in", message[part], end=part.stop == len(message)) for part in parts]
    assert [ticket.wait().bytes for ticket in sending] == [16384] * 4
    results = [ticket.wait() for ticket in receiving]
    assert [r.bytes for r in results] == [16384] * 4
    assert [r.end_of_message for r in results] == [False, False, False, True]
    assert bytes(out) == message
    assert receiving[0].wait() == results[0] == receiving[0].poll(), "a ticket tells its result again"
    assert receiving[0].channel == "out"


def test_a_ticket_in_flight_holds_its_buffer(card: towpath.Device) -> None:
    out = bytearray(100)
    ticket = card.submit_recv("out", out)
    with pytest.raises(BufferError):
        out.clear()
    with pytest.raises(towpath.TimeoutError):
        ticket.wait(timeout=20e-6)
    ticket.cancel()
    with pytest.raises(towpath.TransferError) as caught:
        ticket.wait()
    assert caught.value.status == "cancelled" and caught.value.bytes == 0
    out.clear()
    card.send("in", b"after it")
    assert card.recv("out") == b"after it"


def test_a_closed_device(card: towpath.Device) -> None:
    registers = card.registers
    assert not card.closed
    card.close()
    card.close()
    assert card.closed
    for call in (lambda: card.send("in", b""), lambda: card.info, lambda: registers["id"], card.now_ns):
        with pytest.raises(towpath.UsageError, match="closed"):
            call()


def test_two_devices_do_not_meet() -> None:
    with towpath.open("sim:loopback") as one, towpath.open("sim:loopback") as other:
        one.send("in", b"one")
        other.send("in", b"other")
        assert (one.recv("out"), other.recv("out")) == (b"one", b"other")


def test_other_threads_run_while_a_call_waits(card: towpath.Device) -> None:
    turns = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = turns
        with pytest.raises(towpath.TimeoutError):
            card.recv("out", timeout=0.1)
        assert turns - before >= 5
    finally:
        stop.set()
        thread.join()


def test_threads_share_a_device(card: towpath.Device) -> None:
    messages = [pattern(20_000, seed) for seed in range(5)]
    sender = threading.Thread(target=lambda: [card.send("in", message) for message in messages])
    sender.start()
    received = [card.recv("out") for _ in messages]
    sender.join()
    assert received == messages


@pytest.mark.usefixtures("keyboard")
@pytest.mark.parametrize("wait", ["recv", "ticket", "interrupt"])
def test_an_interrupt_from_the_keyboard_ends_a_wait(card: towpath.Device, wait: str) -> None:
    ticket = card.submit_recv("out", bytearray(8)) if wait == "ticket" else None
    calls: dict[str, Callable[[], object]] = {
        "recv": lambda: card.recv("out", timeout=None),
        "ticket": lambda: ticket and ticket.wait(timeout=None),
        "interrupt": lambda: card.interrupts[0].wait(timeout=None),
    }
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        calls[wait]()
    assert time.monotonic() - start < 5
    if ticket:
        assert not ticket.done(), "it is still in flight"
        ticket.cancel()
    card.send("in", b"still here")
    assert card.recv("out") == b"still here"


def test_the_same_run_takes_the_same_time() -> None:
    # Page-aligned: where a buffer lies in its page decides how it is cut into packets, and a heap differs from run to run.
    there, back = (memoryview(mmap.mmap(-1, 32_768)) for _ in range(2))

    def run() -> int:
        with towpath.open("sim:loopback") as card:
            for length in (1, 1000, 30_000):
                there[:length] = pattern(length)
                ticket = card.submit_send("in", there[:length])
                assert card.recv_into("out", back).bytes == length
                assert ticket.wait().bytes == length
                assert back[:length] == there[:length]
            return card.now_ns()

    assert run() == run()
