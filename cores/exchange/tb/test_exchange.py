# SPDX-License-Identifier: Apache-2.0
"""Exchange behind kind `fanout`: random messages come back from the port they went to; a held port holds no other; resets."""

import random
from pathlib import Path

import bench
import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

ROOT = Path(__file__).resolve().parents[3]


async def start(dut):
    await bench.start(dut)
    dut.end_ready.value = 1
    return bench.Receiver(dut, "m", extras=("user",))


async def send(dut, port: int, message: bytes, **how) -> None:
    dut.s_user.value = port
    await bench.send(dut, "s", message, **how)


def of(receiver, port: int) -> list[bytes]:
    return [m for m, noted in zip(receiver.messages, receiver.noted, strict=False) if noted["user"] == port]


@cocotb.test()
async def random_messages(dut):
    receiver = await start(dut)
    sent = {port: [] for port in range(4)}
    for _ in range(200):
        receiver.ready = random.choice([1.0, 0.5])
        port = random.randrange(4)
        # Port 0 holds no other here.
        message = (b"\0" if port == 0 else b"") + random.randbytes(bench.random_length(400))
        sent[port].append(message)
        await send(dut, port, message, busy=random.choice([1.0, 0.5]), late_end=random.random() < 0.3)
    await receiver.wait(200)
    assert {port: of(receiver, port) for port in range(4)} == sent


@cocotb.test()
async def a_held_port(dut):
    receiver = await start(dut)
    await send(dut, 0, b"\x02")  # holds port 1
    await send(dut, 1, b"waits")
    for n in range(50):
        await send(dut, 2 + n % 2, bytes([n]))
    await receiver.wait(51)
    assert of(receiver, 1) == []
    await send(dut, 0, b"\0")
    await receiver.wait(53)
    assert of(receiver, 1) == [b"waits"]


@cocotb.test()
async def resets(dut):
    """A reset of the way in ends what has begun to go out; what comes next comes back whole."""
    receiver = await start(dut)
    keep = len(dut.s_tkeep)
    for n in range(30):
        receiver.ready = random.choice([1.0, 0.5])
        sending = cocotb.start_soon(send(dut, 3, bytes(40 * keep)))
        before = receiver.beats
        while receiver.beats < before + 3:
            await RisingEdge(dut.clk)
        sending.cancel()
        dut.s_tvalid.value, dut.s_reset.value = 0, 1
        await RisingEdge(dut.clk)
        dut.s_reset.value = 0
        await send(dut, 3, bytes([n, 1]))
        await receiver.wait(2 * n + 2)
        await ClockCycles(dut.clk, 5)
        assert receiver.messages[-1] == bytes([n, 1]) and len(receiver.messages[-2]) < 40 * keep


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_exchange(width):
    lib = [ROOT / f"gateware/lib/tp_{name}.sv" for name in ("deep_fifo", "round_robin", "skid")]
    kind = [ROOT / f"gateware/channel/fanout/tp_fanout_{name}.sv" for name in ("split", "merge")]
    bench.run(width, "exchange_channel", [ROOT / "tools/lint.vlt", *lib, *kind, Path(__file__).parent / "exchange_channel.sv"])
