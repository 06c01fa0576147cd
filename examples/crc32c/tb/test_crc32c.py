# SPDX-License-Identifier: Apache-2.0
"""The kind `crc32c` around the echo: sound, damaged, short and cut messages, at random paces; the rate; resets."""

import random
import sys
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "cores"))  # for `bench`, which drives and checks streams
sys.path.insert(0, str(HERE.parent / "python/towpath_crc32c"))
import bench  # noqa: E402
from checksum import crc32c, framed  # noqa: E402


class Verdicts:
    """Takes verdicts with probability `ready` in each cycle."""

    def __init__(self, dut, ready: float = 1.0):
        self.ready, self.seen = ready, []
        self.task = cocotb.start_soon(self._run(dut))

    async def _run(self, dut) -> None:
        while True:
            dut.end_ready.value = random.random() < self.ready
            await RisingEdge(dut.clk)
            if dut.end_valid.value and dut.end_ready.value:
                self.seen.append(int(dut.end_status.value))


@cocotb.test()
async def random_messages(dut):
    assert crc32c(b"123456789") == 0xE3069283  # the check value of the catalogue
    await bench.start(dut)
    verdicts, receiver = Verdicts(dut), bench.Receiver(dut, "m")
    due, expected = [], []
    for _ in range(250):
        verdicts.ready, receiver.ready = random.choice([1.0, 0.3, 0.05]), random.choice([1.0, 0.5])
        plain = random.randbytes(bench.random_length(700))
        message, cut = bytearray(framed(plain)), random.random() < 0.1
        state = random.choice(["sound", "sound", "damaged", "short"])
        if state == "damaged":
            message[random.randrange(len(message))] ^= 1 << random.randrange(8)
        elif state == "short":
            message = message[: random.randrange(4)]
        await bench.send(dut, "s", bytes(message), busy=random.choice([1.0, 0.5]), late_end=random.random() < 0.5, error=cut)
        # What was not sound goes out as what there was, with a CRC that is wrong.
        sound = state == "sound" and not cut
        answer = framed(bytes(message[:-4]))
        expected.append(answer if sound else answer[:-4] + bytes([answer[-4] ^ 1]) + answer[-3:])
        if not cut:
            due.append(0 if sound else 1)
    assert await receiver.wait(len(expected)) == expected
    verdicts.ready = 1.0
    await ClockCycles(dut.clk, 10)
    assert verdicts.seen == due


@cocotb.test()
async def rate(dut):
    """A beat in each clock of a long message; a clock more at the end of each side at most."""
    await bench.start(dut)
    Verdicts(dut)
    receiver = bench.Receiver(dut, "m")
    for rest in (0, 3, 4, 5):
        receiver.stalls = 0
        plain = random.randbytes(len(dut.s_tkeep) * 100 + rest)
        cocotb.start_soon(bench.send(dut, "s", framed(plain)))
        assert (await receiver.wait(len(receiver.messages) + 1))[-1] == framed(plain)
        assert receiver.stalls <= 1


@cocotb.test()
async def reset(dut):
    """A reset in the middle of a message leaves nothing of it: no bytes, no verdict, and a checksum that starts anew."""
    await bench.start(dut)
    keep = len(dut.s_tkeep)
    verdicts = Verdicts(dut, ready=0.0)
    await bench.send(dut, "s", bytes(3))  # its verdict waits
    dut.s_tvalid.value, dut.s_tlast.value, dut.s_tkeep.value = 1, 0, (1 << keep) - 1
    await ClockCycles(dut.clk, 3)
    dut.s_tvalid.value, dut.s_reset.value, dut.m_reset.value = 0, 1, 1
    await RisingEdge(dut.clk)
    dut.s_reset.value = dut.m_reset.value = 0
    verdicts.ready = 1.0
    receiver = bench.Receiver(dut, "m")
    await bench.send(dut, "s", framed(b"after"))
    assert await receiver.wait(1) == [framed(b"after")]
    await ClockCycles(dut.clk, 10)
    assert verdicts.seen == [0]


@cocotb.test()
async def reset_of_one_channel(dut):
    """What the reset of one channel has cut reaches the host as bad, and nothing is joined to it."""
    await bench.start(dut)
    Verdicts(dut)
    receiver = bench.Receiver(dut, "m")
    keep = len(dut.s_tkeep)
    for n in range(40):
        receiver.ready = random.choice([1.0, 0.5])
        way, plain = random.choice([dut.s_reset, dut.m_reset]), random.randbytes(20 * keep)
        sending = cocotb.start_soon(bench.send(dut, "s", framed(plain)))
        while receiver.beats < 4:
            await RisingEdge(dut.clk)
        if way is dut.s_reset:
            sending.cancel()
            dut.s_tvalid.value = 0
        else:
            receiver.task.cancel()
            dut.m_tready.value = 0
        way.value = 1
        await RisingEdge(dut.clk)
        way.value = 0
        if way is dut.m_reset:
            receiver = bench.Receiver(dut, "m")
            await sending
        await bench.send(dut, "s", framed(b"after"))
        cut, after = await receiver.wait(2)
        assert after == framed(b"after"), n
        assert crc32c(cut[:-4]) != int.from_bytes(cut[-4:], "little"), f"{n}: a sound checksum over a part"
        receiver.task.cancel()
        receiver = bench.Receiver(dut, "m")


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_crc32c(width):
    kind = HERE.parent / "kind"
    bench.run(width, "crc_loop", [*(kind / f"crc_{name}.sv" for name in ("step", "check", "add")), HERE / "crc_loop.sv"])
