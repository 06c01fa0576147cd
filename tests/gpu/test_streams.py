# SPDX-License-Identifier: Apache-2.0
"""Transfers in the order of a stream's work, over the stand-in, whose streams are threads."""

from __future__ import annotations

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from standin import OWN, Array, StandIn, Stream, Tensor, filled

import towpath

SEED = int(os.environ.get("TOWPATH_SEED", "0")) or random.SystemRandom().randrange(1 << 32)


class Torch:
    """A stream as PyTorch's are."""

    def __init__(self, stream: Stream) -> None:
        self.cuda_stream = stream.handle


class Cupy:
    def __init__(self, stream: Stream) -> None:
        self.ptr = stream.handle


def pipeline(card: towpath.Device, standin: StandIn, size: int, value: int, *, load: int = 3000, **how: Any) -> None:
    """Work, a transfer, work, on one stream for each direction."""
    first, second = standin.stream(), standin.stream()
    source, target, after = (Array(standin, bytes(size)) for _ in range(3))
    first.fill(source.address, size, value, load)
    sent = card.send("in", source, stream=first, **how)
    first.fill(source.address, size, value + 99, 0)
    received = card.recv_into("out", target, stream=second, **how)
    second.add(after.address, target.address, size, 1)
    assert second.done(20_000) and first.done(20_000), "a stream was not released"
    assert after.bytes() == bytes((byte + 1) & 0xFF for byte in filled(size, value)), "out of order"
    assert (sent.wait(), received.wait()[:2]) == (size, (size, True))
    assert received.wait().staged is bool(how.get("staged"))


@pytest.mark.parametrize("staged", [False, True])
def test_a_transfer_comes_between_the_work_before_and_behind_it(card: towpath.Device, standin: StandIn, staged: bool) -> None:
    print(f"TOWPATH_SEED={SEED}")
    rng = random.Random(SEED)
    for turn in range(10):
        pipeline(card, standin, rng.randrange(1, 20_000), turn, staged=staged)


@pytest.mark.parametrize("fault", ["wait ignored", "start ignored"])
def test_the_order_test_sees_a_stream_that_is_ignored(card: towpath.Device, standin: StandIn, fault: str) -> None:
    with standin.planted(fault), pytest.raises(AssertionError, match="out of order"):
        pipeline(card, standin, 20_000, len(fault), load=20_000)  # no value of another test's
    card.reset()


def test_the_calls_do_not_wait(card: towpath.Device, standin: StandIn) -> None:
    stream, array = standin.stream(), Array(standin, bytes(100))
    stream.fill(array.address, 100, 1, 500_000)
    began = time.monotonic()
    transfer = card.send("in", array, stream=stream)
    assert time.monotonic() - began < 0.4 and not transfer.done() and transfer.poll() is None
    with pytest.raises(towpath.TimeoutError):
        transfer.wait(timeout=0.01)
    assert transfer.wait() == 100 == transfer.poll() and transfer.done()
    assert card.recv("out") == filled(100, 1)


def test_many_transfers_on_one_stream(memory: towpath.Device, standin: StandIn) -> None:
    """A memory's writes and reads go in the order of the stream, though each is a channel of its own."""
    stream, ram = standin.stream(), memory.memory["ram"]
    source, targets = Array(standin, bytes(3000)), [Array(standin, bytes(3000)) for _ in range(12)]
    for turn, target in enumerate(targets):
        stream.fill(source.address, 3000, turn)
        ram.write(64, source, stream=stream)
        ram.read_into(target, 64, stream=stream, staged=turn % 2 == 1)
    assert stream.done(20_000)
    for turn, target in enumerate(targets):
        assert target.bytes() == filled(3000, turn)


def test_several_threads_and_streams(card: towpath.Device, standin: StandIn) -> None:
    """Each thread sends from a stream of its own; the messages are whole, and each thread's are in order."""
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            stream, array = standin.stream(), Array(standin, bytes(2000))
            for turn in range(8):
                stream.fill(array.address, 2000, 16 * number + turn, 200)
                card.send("in", array, stream=stream)
            assert stream.done(30_000)
        except BaseException as why:
            failed.append(why)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    found = [card.recv("out")[0] for _ in range(24)]
    for thread in threads:
        thread.join()
    assert not failed
    for number in range(3):
        assert [first & 15 for first in found if first >> 4 == number] == list(range(8))


def test_many_threads_on_one_stream_and_one_channel(card: towpath.Device, standin: StandIn) -> None:
    """The stream and the channel have the calls in one order, whatever that is."""
    stream, transfers = standin.stream(), []

    def work(number: int) -> None:
        for _ in range(100):
            transfers.append(card.send("in", bytes([number]) * 4, stream=stream))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    found = [card.recv("out") for _ in range(2400)]
    for thread in threads:
        thread.join()
    assert stream.done(20_000) and all(transfer.wait() == 4 for transfer in transfers)
    assert sorted(found) == [bytes([number]) * 4 for number in range(24) for _ in range(100)]


def test_one_that_was_cancelled_keeps_no_other_waiting(standin: StandIn) -> None:
    """The work before it takes seconds; with a GPU whose work has failed it would never end."""
    slow = Array(standin, b"abc")
    with towpath.open("sim:loopback") as card:
        for end in ("cancel", "cancel all"):
            slow_stream, stream = standin.stream(), standin.stream()
            slow_stream.fill(slow.address, 3, 1, 3_000_000)
            first = card.send("in", slow, stream=slow_stream)
            second = card.send("in", b"second", stream=stream)
            assert not stream.done(20), "the transfers of a channel go in the order of the calls"
            if end == "cancel":
                second.cancel()
                assert second.done() and stream.done(500), "it was cancelled, and waits for the one before it"
                first.cancel()
            else:
                card.cancel("in")
                assert stream.done(500) and second.done()
            for transfer in (first, second):
                with pytest.raises(towpath.TransferError) as caught:
                    transfer.wait(timeout=0.5)
                assert caught.value.status == "cancelled"
            assert card.send("in", b"third", stream=stream).wait(timeout=1) == 5
            assert card.recv("out") == b"third" and not slow_stream.done(1)
            assert slow_stream.done(20_000)


def test_a_receive_that_succeeds_has_its_bytes_in_the_array(card: towpath.Device, standin: StandIn) -> None:
    for cancelled in (False, True):
        stream, target = standin.stream(), Array(standin, bytes(100))
        with standin.planted("slow copy back"):
            transfer = card.recv_into("out", target, stream=stream)
            card.send("in", b"\x07" * 100)
            time.sleep(0.1)
            assert not transfer.done(), "its bytes are still in the host's memory"
            if cancelled:
                transfer.cancel()
                with pytest.raises(towpath.TransferError):
                    transfer.wait(timeout=0.1)
            else:
                assert transfer.wait().bytes == 100 and target.bytes() == b"\x07" * 100
            assert stream.done(20_000)


def test_what_is_put_on_a_stream_while_the_card_closes_ends(standin: StandIn) -> None:
    for _ in range(5):
        streams, transfers = [standin.stream() for _ in range(3)], []
        array = Array(standin, bytes(10))
        card = towpath.open("sim:loopback")

        def work(stream: Stream, card: towpath.Device = card, array: Array = array, transfers: list[Any] = transfers) -> None:
            try:
                while True:
                    transfers.append(card.recv_into("out", array, timeout=None, stream=stream))
            except towpath.UsageError:
                pass

        threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
        for thread in threads:
            thread.start()
        time.sleep(0.02)
        card.close()
        for thread in threads:
            thread.join()
        assert all(stream.done(20_000) for stream in streams)
        for transfer in transfers:
            with pytest.raises(towpath.TransferError):
                transfer.wait(timeout=5)


def test_streams_of_libraries_and_the_default_one(card: towpath.Device, standin: StandIn) -> None:
    array, stream = Array(standin, b"abc"), standin.stream()
    for given in (stream, stream.handle, Torch(stream), Cupy(stream), 0, 1):
        card.send("in", array, stream=given).wait()
        assert card.recv("out") == b"abc"
    card.send("in", bytearray(b"host"), stream=stream).wait()  # in the order of a stream, from the host's memory
    assert card.recv("out") == b"host"
    other = standin.stream(where=OWN, device=1)
    card.send("in", array, stream=other).wait()  # of another context
    assert card.recv("out") == b"abc"
    with pytest.raises(towpath.ArgumentTypeError, match="stream is of type str; give a stream of PyTorch"):
        card.send("in", array, stream="one")  # type: ignore[call-overload]
    with ThreadPoolExecutor(1) as new, pytest.raises(towpath.UsageError, match="which one's default stream"):
        new.submit(lambda: card.send("in", b"host", stream=0)).result()
    with pytest.raises(towpath.DeviceError, match="INVALID_HANDLE"):
        card.send("in", array, stream=12345)


def test_the_legacy_default_stream_may_wait_for_a_transfer(card: towpath.Device, standin: StandIn) -> None:
    """It waits for the program's stream, and that for the copies, which must not be on a stream that waits for it."""
    stream, array = standin.stream(), Array(standin, bytes(500))
    legacy = standin.legacy(0)
    stream.fill(array.address, 500, 5, 2000)
    card.send("in", array, stream=stream)
    legacy.fill(array.address, 500, 9)  # behind the transfer, by the rule of this stream
    assert card.recv("out") == filled(500, 5)
    assert legacy.done(20_000)


@pytest.mark.parametrize("staged", [False, True])
def test_another_threads_call_may_hold_the_drivers_lock(card: towpath.Device, standin: StandIn, staged: bool) -> None:
    """It waits for the stream that the transfers hold: they come to their end without a call of the driver."""
    stream, source, target = standin.stream(), Array(standin, bytes(3000)), Array(standin, bytes(3000))
    stream.fill(source.address, 3000, 5, 50_000)
    card.send("in", source, stream=stream, staged=staged)
    card.recv_into("out", target, stream=stream, staged=staged)
    assert stream.block(20_000), "a transfer waited for the driver"
    assert target.bytes() == filled(3000, 5)


def test_that_test_sees_a_call_of_the_driver(card: towpath.Device, standin: StandIn) -> None:
    """A transfer without a stream, which copies by itself, in place of a part of the one on a stream."""
    stream, source, target = standin.stream(), Array(standin, bytes(3000)), Array(standin, bytes(3000))
    card.recv_into("out", target, stream=stream)
    thread = threading.Thread(target=lambda: (time.sleep(0.2), card.send("in", source)))
    thread.start()
    assert not stream.block(1500)
    thread.join()
    assert stream.done(20_000)


def test_bytes_that_were_not_received_stay(card: towpath.Device, standin: StandIn) -> None:
    stream, target = standin.stream(), Array(standin, b"." * 100)
    card.recv_into("out", target, stream=stream)
    card.send("in", b"abc")
    assert stream.done(20_000) and target.bytes() == b"abc" + b"." * 97


def test_a_copy_that_cannot_be_put_on_the_stream_is_an_error(card: towpath.Device, standin: StandIn) -> None:
    for call in ("cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamWriteValue32_v2"):
        stream, array = standin.stream(), Array(standin, bytes(5000))
        with standin.failing(call, 719), pytest.raises(towpath.DeviceError, match=call):
            card.recv_into("out", array, stream=stream)
        assert stream.done(1000), call


def test_what_is_on_the_stream_after_an_error_is_harmless(card: towpath.Device, standin: StandIn) -> None:
    """A copy of a later segment fails: that of the first is on the stream, which keeps memory and shadow until it is done."""
    stream = standin.stream()
    array = Array(standin, b"." * 6000, address=standin.segments(4096, 2))
    stream.fill(array.address, 10, 1, 200_000)
    with standin.failing("cuMemcpyHtoDAsync_v2", 719, after=1), pytest.raises(towpath.DeviceError, match="cuMemcpyHtoDAsync"):
        card.recv_into("out", array, stream=stream)
    other = Array(standin, b"x" * 6000)  # it would get the shadow
    card.send("in", other, stream=standin.stream()).wait()
    assert card.recv("out") == b"x" * 6000
    assert stream.done(20_000) and array.bytes() == filled(10, 1) + b"." * 5990


def test_a_limit_a_cancel_and_a_close_release_the_stream(standin: StandIn) -> None:
    with towpath.open("sim:loopback") as card:
        for end in ("limit", "cancel", "cancel all", "close"):
            stream, array = standin.stream(), Array(standin, bytes(100))
            transfer = card.recv_into("out", array, timeout=0.0005 if end == "limit" else None, stream=stream)
            if end == "cancel":
                transfer.cancel()
            if end == "cancel all":
                card.cancel("out")
            if end == "close":
                card.close()
            assert stream.done(20_000), end
            with pytest.raises(towpath.TimeoutError if end == "limit" else towpath.TransferError) as caught:
                transfer.wait()
            if end != "limit":
                assert caught.value.status == "cancelled"


def test_one_that_is_cancelled_before_its_turn_releases_no_other(card: towpath.Device, standin: StandIn) -> None:
    stream, array, after = standin.stream(), Array(standin, bytes(100)), Array(standin, bytes(100))
    first = card.recv_into("out", array, timeout=None, stream=stream)
    stream.add(after.address, array.address, 100, 1)
    second = card.send("in", array, stream=stream)
    second.cancel()
    with pytest.raises(towpath.TransferError):
        second.wait()
    time.sleep(0.05)
    assert not first.done() and not stream.done(50), "the first transfer's hold was released by the second"
    card.send("in", b"\x07" * 100)
    assert stream.done(20_000) and first.wait().bytes == 100
    assert after.bytes() == b"\x08" * 100


def test_work_that_is_under_way_is_waited_for_without_a_stream(card: towpath.Device, standin: StandIn) -> None:
    """By each protocol: the library's stream, the array's own, and the default one."""
    for make in ("dlpack", "own", "default"):
        stream = standin.legacy(0) if make == "default" else standin.stream()
        if make == "dlpack":
            array: Any = Tensor(standin, bytes(900), current=stream)
        else:
            array = Array(standin, bytes(900), stream=stream.handle if make == "own" else None)
        stream.fill(array.address, 900, 11, 30_000)
        card.send("in", array)
        assert card.recv("out") == filled(900, 11), make


def test_a_librarys_stream_comes_before_the_given_one(card: towpath.Device, standin: StandIn) -> None:
    for make in ("dlpack", "own"):
        own, given = standin.stream(), standin.stream()
        array: Any = Tensor(standin, bytes(900), current=own) if make == "dlpack" else Array(standin, bytes(900), stream=own.handle)
        own.fill(array.address, 900, 13, 30_000)
        transfer = card.send("in", array, stream=given)
        assert card.recv("out") == filled(900, 13), make
        transfer.wait()


def test_a_stream_under_capture_is_refused(card: towpath.Device, standin: StandIn) -> None:
    stream, array = standin.stream(), Array(standin, bytes(10))
    stream.capture(True)
    with pytest.raises(towpath.UsageError, match="captured into a graph"):
        card.send("in", array, stream=stream)
    stream.capture(False)
    card.send("in", array, stream=stream).wait()


def test_a_stream_that_cannot_be_held_is_an_error(card: towpath.Device, standin: StandIn) -> None:
    stream, array = standin.stream(), Array(standin, b"abc")
    with standin.failing("cuStreamWaitValue32_v2", 801), pytest.raises(towpath.DeviceError, match="NOT_SUPPORTED"):
        card.send("in", array, stream=stream)
    card.send("in", array, stream=stream).wait()
    assert card.recv("out") == b"abc"
