# SPDX-License-Identifier: Apache-2.0
"""Normalize behind kind `buffer`: each frame comes back less its least byte; frames that are too long do not; resets while it looks."""

import random
from pathlib import Path

import bench
import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

ROOT = Path(__file__).resolve().parents[3]
BYTES = 4096


async def start(dut):
    await bench.start(dut)
    dut.end_ready.value = 1
    return bench.Receiver(dut, "m", extras=("user",))


def frame() -> bytes:
    """Its least byte is seldom 0."""
    low = random.randrange(200)
    return bytes(random.randrange(low, 256) for _ in range(bench.random_length(900)))


def normalized(frame: bytes) -> bytes:
    return bytes(byte - min(frame) for byte in frame)


@cocotb.test()
async def random_frames(dut):
    receiver = await start(dut)
    due = []
    for n in range(80):
        receiver.ready = random.choice([1.0, 0.5])
        dut.s_user.value = n
        cut, long = random.random() < 0.1, random.random() < 0.1
        sent = random.randbytes(BYTES + 1) if long else random.randbytes(BYTES) if n % 20 == 7 else frame()
        await bench.send(dut, "s", sent, busy=random.choice([1.0, 0.5]), late_end=random.random() < 0.3, error=cut)
        if not cut and not long:
            due.append((normalized(sent), {"user": n}))
    await receiver.wait(len(due), 20_000)
    await ClockCycles(dut.clk, 1000)
    assert list(zip(receiver.messages, receiver.noted, strict=True)) == due


@cocotb.test()
async def resets(dut):
    """A reset of either way at any moment leaves no piece of a frame."""
    receiver = await start(dut)
    for n in range(60):
        way = random.choice([dut.s_reset, dut.m_reset])
        old = bytes([200, 201]) * random.choice([20, 200])
        await bench.send(dut, "s", old)
        await ClockCycles(dut.clk, random.randrange(1, 3 * len(old) // len(dut.s_tkeep) + 20))
        receiver.task.cancel()
        dut.m_tready.value = 0
        way.value = 1
        await RisingEdge(dut.clk)
        way.value = 0
        old_messages, receiver = receiver.messages, bench.Receiver(dut, "m", extras=("user",))
        assert all(message == normalized(old) for message in old_messages)
        new = bytes([n + 7, 7, 255])
        dut.s_user.value = 77
        await bench.send(dut, "s", new)
        while 77 not in [noted["user"] for noted in receiver.noted] or len(receiver.messages) < len(receiver.noted):
            await RisingEdge(dut.clk)
        assert receiver.messages[-1] == normalized(new)
        dut.s_user.value = 1
        # What was before goes out whole, if at all; of what was going out in a reset of the way in, this receiver sees the rest.
        assert all(normalized(old).endswith(message) for message in receiver.messages[:-1])
        receiver.messages.clear()
        receiver.noted.clear()


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_normalize(width):
    kind = [ROOT / f"gateware/channel/buffer/tp_buffer_{name}.sv" for name in ("in", "out")]
    bench.run(width, "normalize_channel", [ROOT / "tools/lint.vlt", *kind, Path(__file__).parent / "normalize_channel.sv"])
