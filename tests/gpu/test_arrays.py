# SPDX-License-Identifier: Apache-2.0
"""A GPU's arrays as buffers, over the stand-in: every byte, by every call that takes a buffer; and what is refused, by name."""

from __future__ import annotations

import os
import random
import threading
from typing import Any

import pytest
from standin import NONE, OWN, PRIMARY, Array, StandIn, Tensor

import towpath

SEED = int(os.environ.get("TOWPATH_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
BLOCK = 1 << 20


def exchange(card: towpath.Device, source: Any, target: Any, **how: Any) -> tuple[int, towpath.Received]:
    """The card holds less than a long message: both calls are under way at once."""
    sent: list[int] = []
    thread = threading.Thread(target=lambda: sent.append(card.send("in", source, **how)))
    thread.start()
    got = card.recv_into("out", target, **how)
    thread.join()
    return sent[0], got


@pytest.mark.parametrize("staged", [False, True])
def test_random_sizes_alignments_and_kinds_of_memory(card: towpath.Device, standin: StandIn, staged: bool) -> None:
    print(f"TOWPATH_SEED={SEED}")
    rng = random.Random(SEED)

    def array(data: bytes) -> Any:
        where = rng.choice([PRIMARY, OWN, NONE])
        if rng.random() < 0.5:
            return Array(standin, data, misalignment=rng.randrange(70), where=where)
        return Tensor(standin, data, offset=rng.randrange(70), old=rng.random() < 0.5, device=rng.randrange(2))

    for _ in range(40):
        data = rng.randbytes(rng.choice([1, 3, 64, 65, rng.randrange(1, 5000), rng.randrange(1, 60_000)]))
        source, target = array(data), array(bytes(len(data)))
        sent, got = exchange(card, source, target, staged=staged)
        assert (sent, got[:2], got.staged) == (len(data), (len(data), True), staged)
        assert isinstance(sent, towpath.Staged) is staged
        assert target.bytes() == data == source.bytes()


@pytest.mark.parametrize("size", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 4097])
def test_staged_messages_around_a_block(card: towpath.Device, standin: StandIn, size: int) -> None:
    data = random.Random(size).randbytes(size)
    target = Array(standin, bytes(size))
    _, got = exchange(card, Array(standin, data), target, staged=True)
    assert (got.bytes, got.end_of_message) == (size, True)
    assert target.bytes() == data


def test_a_message_that_ends_early_and_one_that_does_not_fit(card: towpath.Device, standin: StandIn) -> None:
    for staged in (False, True):
        target = Array(standin, b"." * 10)
        card.send("in", b"abc")
        assert card.recv_into("out", target, staged=staged)[:2] == (3, True)
        assert target.bytes() == b"abc......."
        card.send("in", b"0123456789xyz")
        assert card.recv_into("out", target, staged=staged)[:2] == (10, False)
        assert (target.bytes(), card.recv("out")) == (b"0123456789", b"xyz")


def test_bytes_that_a_recv_has_kept_come_first(card: towpath.Device, standin: StandIn) -> None:
    for staged in (False, True):
        card.send("in", b"kept", end=False)
        with pytest.raises(towpath.TimeoutError):
            card.recv("out", timeout=0.0005)
        card.send("in", b" and new")
        target = Array(standin, b"." * 20)
        assert card.recv_into("out", target, staged=staged)[:2] == (12, True)
        assert target.bytes()[:12] == b"kept and new"


def test_what_came_before_a_timeout_is_there(card: towpath.Device, standin: StandIn) -> None:
    """More than the card's buffer holds, so that some of it comes."""
    data = random.Random(4).randbytes(60_000)
    for staged in (False, True):
        target = Array(standin, b"." * 70_000)
        sender = threading.Thread(target=lambda: card.send("in", data, end=False))
        sender.start()
        with pytest.raises(towpath.TimeoutError) as caught:
            card.recv_into("out", target, timeout=0.0005, staged=staged)
        sender.join()
        moved = caught.value.bytes
        assert 30_000 < moved <= 60_000 and target.bytes() == data[:moved] + b"." * (70_000 - moved)
        card.send("in", b"end")
        assert card.recv("out") == data[moved:] + b"end"


def test_attributes_and_empty_arrays(card: towpath.Device, standin: StandIn) -> None:
    for staged in (False, True):
        assert card.send("in", Array(standin, b""), staged=staged) == 0
        assert card.recv_into("out", Array(standin, b"."), staged=staged)[:2] == (0, True)
        card.send("in", Array(standin, b"0123456789" * 20), offset=5, user=42, length=200, staged=staged)
        assert card.message_start("out") == (200, 5, 42)
        assert card.recv("out") == b"0123456789" * 20


def test_transfers_in_flight(card: towpath.Device, standin: StandIn) -> None:
    sources = [Array(standin, bytes([n]) * (n + 1)) for n in range(8)]
    targets = [Array(standin, bytes(n + 1)) for n in range(8)]
    tickets = card.submit_recv_many("out", targets)
    assert len(card.submit_send_many("in", sources)) == len(tickets) == 8
    for ticket, source, target in zip(tickets, sources, targets, strict=True):
        assert ticket.wait().bytes == source.size
        assert target.bytes() == source.bytes()
    ticket = card.submit_recv("out", targets[7])
    card.submit_send("in", sources[6])
    assert ticket.wait()[:2] == (7, True)


@pytest.mark.parametrize("staged", [False, True])
def test_a_memory_is_written_and_read(memory: towpath.Device, standin: StandIn, staged: bool) -> None:
    rng, ram = random.Random(SEED), memory.memory["ram"]
    for _ in range(10):
        data = rng.randbytes(rng.choice([1, 63, 64, 4097, rng.randrange(1, 40_000)]))
        at = rng.randrange(len(ram) - len(data))
        target = Tensor(standin, bytes(len(data)), offset=rng.randrange(9))
        wrote = ram.write(at, Array(standin, data, misalignment=rng.randrange(9)), staged=staged)
        assert (wrote, ram.read_into(target, at, staged=staged)) == (len(data), len(data))
        assert isinstance(wrote, towpath.Staged) is staged
        assert target.bytes() == data == ram[at : at + len(data)]
    ram[0:3] = Array(standin, b"xyz")
    assert ram[0:3] == b"xyz"


def test_memory_of_several_segments(card: towpath.Device, standin: StandIn) -> None:
    base = standin.segments(4096, 5)
    data = random.Random(1).randbytes(5 * 4096 - 20)
    for staged in (False, True):
        source = Array(standin, data, address=base + 7)
        target = Array(standin, bytes(len(data)), address=standin.segments(8192, 3) + 1)
        exchange(card, source, target, staged=staged)
        assert target.bytes() == data


def test_calls_of_several_threads(card: towpath.Device, standin: StandIn) -> None:
    rng, failed = random.Random(SEED), []
    messages = [rng.randbytes(rng.randrange(1, 9000)) for _ in range(30)]
    arrays = [Array(standin, data, misalignment=n) for n, data in enumerate(messages)]

    def send(mine: list[Array], staged: bool) -> None:
        try:
            for array in mine:
                card.send("in", array, staged=staged)
        except Exception as why:
            failed.append(why)

    threads = [threading.Thread(target=send, args=(arrays[n::3], n == 1)) for n in range(3)]
    for thread in threads:
        thread.start()
    found = []
    for _ in messages:
        target = Array(standin, bytes(9000))
        found.append(_receive(card, target))
    for thread in threads:
        thread.join()
    assert not failed and sorted(found) == sorted(messages)


def _receive(card: towpath.Device, target: Array) -> bytes:
    got = card.recv_into("out", target)
    return target.bytes()[: got.bytes]


# --- refusals ---------------------------------------------------------------------------------------------------------------------


def refused(call: Any, *words: str) -> None:
    with pytest.raises(towpath.UsageError) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_arrays_that_are_not_one_row(card: towpath.Device, standin: StandIn) -> None:
    rows = bytes(24)
    refused(lambda: card.send("in", Tensor(standin, rows, shape=(4, 3), strides=(6, 1))), "not C-contiguous", ".contiguous()")
    refused(lambda: card.send("in", Tensor(standin, rows, shape=(4, 6), strides=(1, 4))), "not C-contiguous")
    refused(lambda: card.recv_into("out", Array(standin, rows, strides=(2,), shape=(12,))), "not C-contiguous", "cupy.ascontiguousarray")
    one_row = Tensor(standin, rows, shape=(1, 4, 6), strides=(999, 6, 1))  # a dimension of one item has no step
    assert card.send("in", one_row) == 24


def test_memory_that_is_not_a_gpus(card: towpath.Device, standin: StandIn) -> None:
    for kind, word in ((1, "NumPy"), (3, "NumPy"), (13, "NumPy"), (10, "ROCm"), (14, "oneAPI"), (8, "CUDA")):
        refused(lambda kind=kind: card.send("in", Tensor(standin, b"x", kind=kind)), "of type Tensor", word)
    moved = Array(standin, b"x")
    standin.manage(moved.address)
    refused(lambda: card.send("in", moved), "managed memory")
    refused(lambda: card.send("in", Array(standin, b"xyz", pointer=(0x1000, False))), "no address of a GPU's memory")
    pinned = Array(standin, b"x", pointer=(_pinned(standin), False))
    refused(lambda: card.send("in", pinned), "memory of the host")
    refused(lambda: card.send("in", bytearray(4), staged=True), "staged=True is for the memory of a GPU")
    refused(lambda: card.send("in", object()), "array in a GPU's memory")


def _pinned(standin: StandIn) -> int:
    import ctypes

    standin.calls.standin_make_current(0)
    room = ctypes.c_void_p()
    assert standin.calls.cuMemHostAlloc(ctypes.byref(room), ctypes.c_size_t(4096), 0) == 0
    assert room.value is not None
    return room.value


def test_what_is_read_only_or_was_freed_or_ends_too_soon(card: towpath.Device, standin: StandIn) -> None:
    refused(lambda: card.recv_into("out", Tensor(standin, b"x", read_only=True)), "read-only")
    refused(lambda: card.recv_into("out", Array(standin, b"x", pointer=(standin.allocate(1), True))), "read-only")
    assert card.send("in", Tensor(standin, b"x", read_only=True)) == 1
    gone = Array(standin, b"abc")
    standin.free(gone.address)
    for staged in (False, True):
        refused(lambda staged=staged: card.send("in", gone, staged=staged), "freed")
    refused(lambda: card.send("in", Array(standin, bytes(10), shape=(11,))), "it ends after 10")


class Both(Tensor):
    """As JAX's arrays: DLPack does not say that it never changes, the other protocol does."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": self.shape, "typestr": "|u1", "data": (self.address, True)}


def test_an_array_that_is_read_only_by_one_protocol_is(card: towpath.Device, standin: StandIn) -> None:
    refused(lambda: card.recv_into("out", Both(standin, b"x")), "read-only")
    assert card.send("in", Both(standin, b"x")) == 1


def test_an_array_that_refuses_says_why(card: towpath.Device, standin: StandIn) -> None:
    class Gradient(Tensor):
        def __dlpack__(self, **keywords: Any) -> object:
            raise BufferError("use tensor.detach()")

    class Sparse:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            raise TypeError("sparse arrays have none")

    refused(lambda: card.send("in", Gradient(standin, b"x")), "of type Gradient", "use tensor.detach()")
    refused(lambda: card.send("in", Sparse()), "of type Sparse", "sparse arrays have none")


def test_a_card_that_has_no_way_to_a_gpu_says_which_one_works(standin: StandIn, tmp_path: Any) -> None:
    """A card in another process."""
    import subprocess
    import sys

    socket = tmp_path / "card"
    command = [sys.executable, "-m", "towpath", "sim", "loopback", "--socket", socket]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}) as server:
        try:
            assert server.stdout is not None and server.stdout.readline()
            with towpath.open(f"vfio-user:{socket}") as card:
                data = random.Random(3).randbytes(9000)
                source, target = Array(standin, data), Array(standin, bytes(9000))
                refused(lambda: card.send("in", source), "no way to a GPU's memory", "staged=True")
                refused(lambda: card.submit_send("in", source), "staged=True")
                exchange(card, source, target, staged=True)
                assert target.bytes() == data
        finally:
            server.terminate()


# --- faults -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"])
def test_a_copy_that_fails_ends_the_send(card: towpath.Device, standin: StandIn, call: str) -> None:
    """The card sees a read that is refused; the next message is whole."""
    array = Array(standin, bytes(range(200)) * 20)
    with standin.failing(call, 719, after=5), pytest.raises(towpath.TransferError) as caught:
        card.send("in", array)
    assert caught.value.status == "unsupported request"
    card["in"].reset()
    card["out"].reset()
    card.send("in", array)
    assert card.recv("out") == array.bytes()


def test_a_copy_that_fails_ends_a_staged_call_by_name(card: towpath.Device, standin: StandIn) -> None:
    array = Array(standin, bytes(1000))
    with standin.failing("cuMemcpyDtoHAsync_v2", 719), pytest.raises(towpath.DeviceError, match="CUDA_ERROR_LAUNCH_FAILED"):
        card.send("in", array, staged=True)
    card.send("in", b"x" * 1000)
    with standin.failing("cuMemcpyHtoDAsync_v2", 719), pytest.raises(towpath.DeviceError, match="cuMemcpyHtoDAsync_v2 failed"):
        card.recv_into("out", array, staged=True)


@pytest.mark.parametrize("submitted", [False, True])
def test_a_copy_that_fails_ends_the_receive(card: towpath.Device, memory: towpath.Device, standin: StandIn, submitted: bool) -> None:
    """Nobody answers a card's writes, so the card says that all is well."""
    for size in (300, 9000):
        target = Array(standin, bytes(size))
        with standin.failing("cuMemcpyHtoDAsync_v2", 719):
            ticket = card.submit_recv("out", target) if submitted else None
            card.send("in", b"x" * size)
            with pytest.raises(towpath.TransferError) as caught:
                ticket.wait() if ticket else card.recv_into("out", target)
        assert caught.value.status == "unsupported request"
        card["out"].reset()
        memory.memory["ram"].write(0, b"x" * size)
        with standin.failing("cuMemcpyHtoDAsync_v2", 719), pytest.raises(towpath.TransferError):
            if submitted:
                memory.memory["ram"].submit_read(target, 0).wait()
            else:
                memory.memory["ram"].read_into(target, 0)
        card.send("in", b"y" * size)
        assert card.recv_into("out", target).bytes == size and target.bytes() == b"y" * size


def test_memory_that_was_freed_ends_the_receive(card: towpath.Device, standin: StandIn) -> None:
    target = Array(standin, bytes(300))
    ticket = card.submit_recv("out", target)
    standin.free(target.address)
    card.send("in", b"x" * 300)
    with pytest.raises(towpath.TransferError):
        ticket.wait()


def test_an_error_of_a_staged_call_counts_what_has_moved(card: towpath.Device, standin: StandIn) -> None:
    """Of the card's bytes those whose copy is done."""
    size = 3 * BLOCK + 5
    data = random.Random(6).randbytes(size)
    came = []
    thread = threading.Thread(target=lambda: came.append(card.recv("out")))
    thread.start()
    with standin.failing("cuMemcpyDtoHAsync_v2", 719, after=2), pytest.raises(towpath.DeviceError) as caught:
        card.send("in", Array(standin, data), staged=True)
    card.send("in", b"end")  # the message is open behind what has moved
    thread.join()
    assert caught.value.bytes in (BLOCK, 2 * BLOCK) and came == [data[: caught.value.bytes] + b"end"]
    card["in"].reset()
    card["out"].reset()
    for call, after in (("cuMemcpyHtoDAsync_v2", 1), ("cuEventSynchronize", 1)):
        target = Array(standin, bytes(size))
        thread = threading.Thread(target=lambda: card.send("in", data))
        thread.start()
        with standin.failing(call, 719, after=after), pytest.raises(towpath.DeviceError) as caught:
            card.recv_into("out", target, staged=True)
        card.recv("out")
        thread.join()
        assert caught.value.bytes == BLOCK, call
        assert target.bytes()[:BLOCK] == data[:BLOCK]


def test_no_context_can_be_had(card: towpath.Device, standin: StandIn) -> None:
    with standin.failing("cuCtxPushCurrent_v2", 201), pytest.raises(towpath.DeviceError, match="INVALID_CONTEXT"):
        card.send("in", Array(standin, b"x"))


def test_a_fault_of_copies_is_seen(card: towpath.Device, standin: StandIn) -> None:
    """The comparison of bytes above would find a copy that leaves one out."""
    source, target = Array(standin, b"\x55" * 500), Array(standin, bytes(500))
    for staged in (False, True):
        with standin.planted("short copy"):
            exchange(card, source, target, staged=staged)
        assert target.bytes() != source.bytes()


def test_a_child_of_fork_is_told(card: towpath.Device, standin: StandIn) -> None:
    array = Array(standin, b"x")
    card.send("in", array)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            card.send("in", array)
        except towpath.UsageError as why:
            code = 0 if "parent" in str(why) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert card.recv("out") == b"x"
