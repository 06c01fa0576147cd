# SPDX-License-Identifier: Apache-2.0
"""The RAM between the host and a core with an array outside: cocotbext-axi's master, a core that uses both of its ports, and a model.

A cocotb module, started by test_array.
"""

import itertools

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, gather
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

REACHED = 4096  # elements that the core's addresses reach


@cocotb.test()
@cocotb.parametrize(busy=[0.3, 0.9])
async def host_and_core_at_once(dut, busy):
    """Each of the core's ports and the host have elements of their own, side by side in the same rows; at the end everyone sees all.

    What the core does beyond the array touches nothing, and reads 0.
    """
    rng = generator(f"host_and_core_at_once, busy {busy}")
    bits, lane = int(dut.BITS.value), int(dut.LANE.value) // 8
    size = int(dut.BYTES.value)
    count = size // lane
    host = AxiMaster(AxiBus.from_prefix(dut, "s"), dut.clk, dut.rst_n, reset_active_level=False)
    for interface, channels in ((host.write_if, ("aw", "w", "b")), (host.read_if, ("ar", "r"))):
        interface.log.setLevel("WARNING")
        for channel in channels:
            getattr(interface, f"{channel}_channel").set_pause_generator(rng.random() < 0.2 for _ in itertools.count())
    for name in ("address0", "address1", "ce", "we", "d0", "d1"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.rst_n.value = 0
    await ClockCycles(dut.clk, 4)
    dut.rst_n.value = 1
    memory = [rng.getrandbits(bits) for _ in range(count)]
    whole = b"".join(word.to_bytes(lane, "little") for word in memory)
    assert (await host.write(0, whole, awid=0)).resp == AxiResp.OKAY
    wanted, done = [None, None], [0, 0]

    async def core(clocks):
        for _ in range(clocks):
            await FallingEdge(dut.clk)
            for port, q in enumerate((dut.q0, dut.q1)):
                # What was read stands until the next access.
                assert wanted[port] is None or int(q.value) == wanted[port], f"port {port}"
            ce = we = 0
            for port, (address, data) in enumerate(((dut.address0, dut.d0), (dut.address1, dut.d1))):
                at, word = rng.randrange(count // 3) * 3 + port, rng.getrandbits(bits)
                address.value, data.value = at, word
                if rng.random() >= busy:
                    continue
                ce |= 1 << port
                done[port] += 1
                if rng.random() < 0.1:
                    address.value = rng.randrange(count, REACHED)
                    writes = rng.random() < 0.5
                    we |= writes << port
                    wanted[port] = None if writes else 0
                    continue
                if rng.random() < 0.4:
                    we |= 1 << port
                    memory[at], wanted[port] = word, None
                else:
                    wanted[port] = memory[at]
            dut.ce.value, dut.we.value = ce, we
        await FallingEdge(dut.clk)
        dut.ce.value = 0

    async def others():
        for _ in range(80):
            at, word = rng.randrange(count // 3) * 3 + 2, rng.getrandbits(bits)
            if rng.random() < 0.5:
                assert (await host.write(at * lane, word.to_bytes(lane, "little"), awid=0)).resp == AxiResp.OKAY
                memory[at] = word
            got = await host.read(at * lane, lane, arid=0)
            assert (got.resp, int.from_bytes(got.data, "little")) == (AxiResp.OKAY, memory[at]), f"element {at}"

    await gather(core(4000), others())
    assert min(done) > 1000, done
    await ClockCycles(dut.clk, 2)
    got = (await host.read(0, size, arid=0)).data
    assert [int.from_bytes(got[n * lane : (n + 1) * lane], "little") for n in range(count)] == memory
    outside = await host.read(size, 16, arid=0)
    assert outside.resp == AxiResp.DECERR
