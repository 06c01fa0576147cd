# SPDX-License-Identifier: Apache-2.0
"""Memories of the user core: the simulated scratchpad, whose registers make it slow or faulty."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import towpath
from towpath import _memory

SIZE = 1 << 20
BAD = 200


@pytest.fixture
def pad() -> Iterator[towpath.Device]:
    with towpath.open("sim:scratchpad") as device:
        yield device


@pytest.fixture
def ram(pad: towpath.Device) -> towpath.CardMemory:
    return pad.memory["ram"]


def test_slices_are_bytes(ram: towpath.CardMemory) -> None:
    ram[100:105] = b"hello"
    assert ram[100:105] == b"hello" and isinstance(ram[100:105], bytes)
    assert ram[99:106] == b"\0hello\0"
    assert ram[101] == ord("e")
    ram[101] = ord("u")
    assert ram[100:105] == b"hullo"
    ram[SIZE - 3 :] = b"end"
    assert ram[SIZE - 3 : SIZE + 100] == b"end"  # as any sequence's
    assert ram[5:5] == b""


@pytest.mark.parametrize("dtype", ["uint8", "<u2", "float64", "complex128", "i4,f8"])
def test_arrays_of_any_type(ram: towpath.CardMemory, dtype: str) -> None:
    array = np.frombuffer(np.random.default_rng(1).bytes(4800), dtype=dtype).reshape(2, -1).copy()
    ram[7 : 7 + array.nbytes] = array
    back = np.zeros_like(array)
    assert ram.read_into(back, 7) == array.nbytes
    assert back.tobytes() == array.tobytes() == ram.read(7, array.nbytes)


def test_any_buffer(pad: towpath.Device, ram: towpath.CardMemory) -> None:
    registered = pad.allocate(300)
    view = memoryview(registered)
    view[:] = bytes(range(256)) + bytes(44)
    assert ram.write(1000, registered) == 300
    assert ram.write(1000 + 300, memoryview(b"abcdef")[2:4]) == 2
    assert ram.read(1000, 302) == bytes(view) + b"cd"
    view[:] = bytes(300)
    assert ram.read_into(registered[100:200], 1000) == 100
    assert bytes(view) == bytes(100) + bytes(range(100)) + bytes(100)
    assert ram.write(0, b"") == 0


def test_memories_are_a_mapping(pad: towpath.Device, ram: towpath.CardMemory) -> None:
    assert list(pad.memory) == ["ram"] and len(pad.memory) == 1 and "ram" in pad.memory and "rom" not in pad.memory
    assert pad.memory["ram"] is ram and pad.memory[1] is ram
    assert (ram.name, len(ram), ram.info) == ("ram", SIZE, towpath.MemoryInfo("ram", SIZE, 0, 1))
    assert repr(ram) == '<towpath.CardMemory "ram" (0x100000 bytes)>'
    with pytest.raises(towpath.NotFoundError, match='no memory "rom".*"ram"'):
        pad.memory["rom"]


def test_a_memory_is_no_stream(pad: towpath.Device) -> None:
    assert pad.info.channels[1].kind == "memory" and pad.info.channels[1].kind_parameter == SIZE // 4096
    assert repr(pad["ram"]) == '<towpath.Channel 0 "ram" (h2c, memory)>'
    with pytest.raises(towpath.UsageError, match="of the kind memory: open it as a memory"):
        pad["ram"].send(b"x")


def test_what_is_not_in_it_is_refused(ram: towpath.CardMemory) -> None:
    what = "has 0x100000 bytes: 0x2 bytes at address 0xfffff"
    with pytest.raises(towpath.UsageError, match=what):
        ram.write(SIZE - 1, b"ab")
    with pytest.raises(towpath.UsageError, match=what):
        ram.read_into(bytearray(2), SIZE - 1)
    for address, length in ((0, SIZE + 1), (-1, 1), (SIZE, 1)):
        with pytest.raises(towpath.RangeError):
            ram.read(address, length)
    for address in (-1, SIZE):
        with pytest.raises(towpath.RangeError):
            ram[address]
    with pytest.raises(towpath.UsageError, match="3 bytes for a part of 2"):
        ram[0:2] = b"abc"
    with pytest.raises(towpath.UsageError, match="without a step"):
        ram[0:10:2]
    with pytest.raises(towpath.UsageError, match="read-only"):
        ram.read_into(b"ab", 0)


def test_the_cores_errors_are_told_in_words(pad: towpath.Device, ram: towpath.CardMemory) -> None:
    pad.registers["slverr_page"], pad.registers["decerr_page"] = BAD, BAD + 1
    at = BAD * 4096
    with pytest.raises(towpath.TransferError, match=f"writing bytes {at:#x} to {at + 3:#x} of this memory.*SLVERR") as caught:
        ram.write(at, b"data")
    assert (caught.value.channel, caught.value.bytes, caught.value.status) == ("ram", 0, "status 2 of the channel's kind")
    with pytest.raises(towpath.TransferError, match=f"reading bytes {at + 4096:#x} to {at + 4099:#x} of this memory.*DECERR"):
        ram[at + 4096 : at + 4100]
    ticket = ram.submit_read(bytearray(8), at)
    with pytest.raises(towpath.TransferError, match="reading.*SLVERR"):
        ticket.wait()
    ram.write(0, b"it goes on")
    assert ram.read(0, 10) == b"it goes on"


def test_tickets(ram: towpath.CardMemory) -> None:
    tickets = [ram.submit_write(64 * n, bytes([n]) * 64) for n in range(20)]
    assert all(ticket.wait().bytes == 64 for ticket in tickets)
    into = [bytearray(64) for _ in range(20)]
    tickets = [ram.submit_read(buffer, 64 * n) for n, buffer in enumerate(into)]
    assert all(ticket.wait().bytes == 64 for ticket in tickets)
    assert into == [bytes([n]) * 64 for n in range(20)]


def test_a_ticket_that_has_ended_keeps_no_card_open() -> None:
    threads = len(os.listdir("/proc/self/task"))
    with towpath.open("sim:scratchpad") as device:
        ticket = device.memory["ram"].submit_write(0, b"data")
        assert ticket.wait().bytes == 4
        assert len(os.listdir("/proc/self/task")) > threads
    assert len(os.listdir("/proc/self/task")) == threads  # the simulation has ended
    assert ticket.wait().bytes == 4


def test_a_limit_ends_one_call(pad: towpath.Device, ram: towpath.CardMemory) -> None:
    pad.registers["latency"] = 65535
    with pytest.raises(towpath.TimeoutError):
        ram.write(0, bytes(100), timeout=1e-5)
    with pytest.raises(towpath.TimeoutError):
        ram.read(0, 100, timeout=1e-5)
    pad.registers["latency"] = 0
    ram.write(1, b"again")
    assert ram.read(1, 5) == b"again"


def test_threads(ram: towpath.CardMemory) -> None:
    wrong = []

    def work(number: int) -> None:
        random = np.random.default_rng(number)
        for _ in range(20):
            data = random.bytes(int(random.integers(1, 5000)))
            at = number * 10_000 + int(random.integers(0, 5000))
            ram[at : at + len(data)] = data
            if ram.read(at, len(data)) != data:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_asyncio(pad: towpath.Device, ram: towpath.CardMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        data = np.random.default_rng(3).integers(0, 2**31, (20, 1000), dtype=np.int32)
        written = await asyncio.gather(*(ram.awrite(9000 * n, row) for n, row in enumerate(data)))
        assert written == [4000] * 20
        back = await asyncio.gather(*(ram.aread(9000 * n, 4000) for n in range(20)))
        assert back == [row.tobytes() for row in data]
        into = np.zeros(1000, dtype=np.int32)
        assert await ram.aread_into(into, 9000) == 4000 and np.array_equal(into, data[1])
        assert await ram.awrite(0, b"") == 0
        pad.registers["latency"] = 65535
        with pytest.raises(towpath.TimeoutError):
            await ram.aread(0, 4, timeout=0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.0):
                await ram.awrite(0, b"late")
        pad.registers["latency"] = 0
        pad.registers["slverr_page"] = BAD
        with pytest.raises(towpath.TransferError, match="SLVERR"):
            await ram.aread(BAD * 4096, 4)
        monkeypatch.setattr(_memory, "_PART", 4096)
        with pytest.raises(towpath.TransferError, match="SLVERR") as caught:
            await ram.awrite((BAD - 2) * 4096, bytes(3 * 4096))
        assert caught.value.bytes == 8192  # the parts before are in the memory
        with pytest.raises(towpath.RangeError):
            await ram.awrite(0, b"beyond" * SIZE)
        for outside in (ram.aread(SIZE + 1, 0), ram.awrite(SIZE + 1, b""), ram.aread(0, 1 << 60)):
            with pytest.raises(towpath.RangeError):
                await outside
        assert await ram.aread(4, 8) == data[0].tobytes()[4:12]
        await ram.awrite(3, b"still works")
        assert await ram.aread(3, 11) == b"still works"

    asyncio.run(main())


def test_a_window_loads_and_stores(pad: towpath.Device, ram: towpath.CardMemory) -> None:
    window = ram.window()
    assert len(window) == SIZE
    window[100:105] = b"hello"
    assert window[99:106] == b"\0hello\0" and isinstance(window[100:105], bytes) and window[101] == ord("e")
    window[101] = ord("u")
    window[SIZE - 8 :] = np.arange(1, dtype=np.uint64) + 7
    window.flush()
    assert ram[100:105] == b"hullo" and ram[SIZE - 8 :] == bytes([7, 0, 0, 0, 0, 0, 0, 0])
    with pytest.raises(towpath.UsageError, match="a part of 3"):
        window[0:3] = b"four"
    with pytest.raises(towpath.RangeError):
        window[SIZE]
    pad.registers["slverr_page"] = BAD
    with pytest.raises(towpath.TransferError, match="SLVERR"):
        window[BAD * 4096 : BAD * 4096 + 4]
    window[BAD * 4096] = 1
    with pytest.raises(towpath.TransferError, match="SLVERR"):
        window.flush()
    window.flush()


def test_a_mapping_is_an_array_for_a_while(ram: towpath.CardMemory) -> None:
    ram[0:4096] = bytes(range(256)) * 16
    with ram.map(16, 4096) as array:
        assert array.dtype == np.uint8 and array[0] == 16
        array[1] = 200
        array.view(np.uint32)[100:200] = 0x01020304
        ram[4000] = 99  # what has not changed in the array is not stored
    assert ram[16:19] == bytes([16, 200, 18])
    assert ram[416:816] == bytes([4, 3, 2, 1]) * 100 and ram[4000] == 99
    with pytest.raises(KeyError), ram.map(0, 1) as array:
        array[0] = 5
        raise KeyError
    assert ram[0] == 5  # a mapping has no way back


def test_reset_and_close(pad: towpath.Device, ram: towpath.CardMemory) -> None:
    ram[0:4] = b"stay"
    ram.reset()
    ram.cancel()
    assert ram[0:4] == b"stay"
    pad.close()
    with pytest.raises(towpath.UsageError, match="closed"):
        ram[0:4]


def test_a_fifo_by_a_range_of_addresses() -> None:
    """As docs/guide/memories.md has it: stores append to a stream, and loads show what another one brought until it is taken."""
    half = 32 << 10
    rng = np.random.default_rng(3)
    with towpath.open("sim:fifo") as device:
        window = device.memory["range"].window()

        def word(at: int) -> int:
            return int.from_bytes(window[at : at + 4], "little")

        for size in (1, 64, 1001, 20_000):
            data = rng.bytes(size)
            assert word(half + 0x40) >= size
            window[0:size] = data
            window[half + 0xC0 : half + 0xC4] = bytes(4)
            assert device.recv("out") == data
        data = rng.bytes(3001)
        device.send("in", data)
        taken = b""
        while len(taken) < len(data):
            count = min(word(half), int(rng.integers(1, 1000)))
            taken += window[0:count]
            assert window[0:count] == taken[len(taken) - count :], "a load has taken something"
            window[half + 0x80 : half + 0x84] = count.to_bytes(4, "little")
        assert taken == data and word(half) == 0
