# SPDX-License-Identifier: Apache-2.0
"""tp_plugin_bus before three ports that answer at once, late, with errors, or never, and that are reset at random moments."""

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from window import DECERR, OKAY, SLVERR, Window

PORTS = [(0, 0x1000), (0x1000, 0x1000), (0x2000, 0x2000)]  # offset and bytes, as test_plugins.py builds it
TIMEOUT = 64


class Port:
    """One slave: how long it takes for each step of an access, and what it has seen."""

    def __init__(self, index: int, pace):
        self.index, self.pace = index, pace
        self.slow = 0.3
        self.silent = ""  # "take": takes nothing; "answer": takes and does not answer
        self.forget()
        self.memory: dict[int, int] = {}
        self.resp = OKAY
        self.seen: list[tuple] = []

    def forget(self) -> None:
        self.address = self.data = self.read = None
        self.answer = ""

    def quick(self) -> bool:
        return self.pace.random() >= self.slow


class Ports:
    def __init__(self, dut, ports: list[Port]):
        self.dut, self.ports = dut, ports
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut, ports = self.dut, self.ports

        def drive(name: str, flags: list[bool]) -> None:
            getattr(dut, f"m_axil_{name}").value = sum(flag << p.index for p, flag in zip(ports, flags, strict=True))

        ready = {"aw": [False] * len(ports), "w": [False] * len(ports), "ar": [False] * len(ports)}
        while True:
            for name, flags in ready.items():
                drive(f"{name}ready", flags)
            drive("bvalid", [p.answer == "b" for p in ports])
            drive("rvalid", [p.answer == "r" for p in ports])
            resp = sum(p.resp << 2 * p.index for p in ports)
            dut.m_axil_bresp.value = dut.m_axil_rresp.value = resp
            dut.m_axil_rdata.value = sum((p.memory.get(p.read, 0) if p.answer == "r" else 0xDEADBEEF) << 32 * p.index for p in ports)
            await RisingEdge(dut.clk)
            reset = ~int(dut.port_rst_n.value)
            bits = {n: int(getattr(dut, f"m_axil_{n}").value) for n in ("awvalid", "wvalid", "arvalid", "bready", "rready")}
            for p in ports:
                k = p.index
                if reset >> k & 1:
                    p.forget()
                    for flags in ready.values():
                        flags[k] = False
                    continue
                if p.answer and bits[f"{p.answer}ready"] >> k & 1:
                    p.forget()
                if ready["aw"][k] and bits["awvalid"] >> k & 1:
                    assert p.address is None
                    p.address = int(dut.m_axil_awaddr.value)
                if ready["w"][k] and bits["wvalid"] >> k & 1:
                    assert p.data is None
                    p.data = int(dut.m_axil_wdata.value), int(dut.m_axil_wstrb.value)
                if ready["ar"][k] and bits["arvalid"] >> k & 1:
                    assert p.read is None
                    p.read = int(dut.m_axil_araddr.value)
                takes = p.silent != "take"
                ready["aw"][k] = takes and p.address is None and p.quick()
                ready["w"][k] = takes and p.data is None and p.quick()
                ready["ar"][k] = takes and p.read is None and p.quick()
                if not p.answer and p.silent != "answer" and p.quick():
                    if p.address is not None and p.data is not None:
                        p.seen.append((p.address, *p.data))
                        if p.resp == OKAY:
                            p.memory[p.address] = p.data[0]
                        p.answer = "b"
                    elif p.read is not None:
                        p.seen.append((p.read,))
                        p.answer = "r"


async def start(dut, what: str):
    pace = generator(what)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    window = Window(dut, pace, patience=6 * TIMEOUT)
    ports = [Port(index, pace) for index in range(len(PORTS))]
    dut.rst_n.value, dut.port_rst_n.value = 0, 0
    Ports(dut, ports)
    await ClockCycles(dut.clk, 4)
    dut.rst_n.value, dut.port_rst_n.value = 1, 7
    return pace, window, ports


@cocotb.test()
async def every_access_reaches_its_port(dut):
    pace, window, ports = await start(dut, "accesses")
    told: dict[int, int] = {}
    for _ in range(600):
        for p in ports:
            p.slow = pace.choice([0.0, 0.3, 0.8])
        address = pace.choice([pace.randrange(0x5000), *(o + pace.choice([0, b - 4]) for o, b in PORTS)]) & ~3
        port = next((p for p, (o, b) in zip(ports, PORTS, strict=True) if o <= address < o + b), None)
        if port:
            port.resp = pace.choice([OKAY, OKAY, SLVERR])
        seen = [len(p.seen) for p in ports]
        data, strobe = pace.getrandbits(32), pace.randrange(1, 16)
        write = pace.random() < 0.5
        if write:
            response, access = await window.write(address, data, strobe), (address, data, strobe)
        else:
            (response, value), access = await window.read(address), (address,)
        assert response == (port.resp if port else DECERR), f"{address:#x}"
        if port:
            assert port.seen[-1] == access
            seen[port.index] += 1
        assert seen == [len(p.seen) for p in ports], "an access reached another port"
        if write and port and response == OKAY:
            told[address] = data
        if not write and response == OKAY:
            assert value == told.get(address, 0)


@cocotb.test()
async def a_silent_port_harms_no_other(dut):
    pace, window, ports = await start(dut, "silent")

    async def all_work(but: Port | None) -> None:
        for p in ports:
            if p is but:
                continue
            offset, data = PORTS[p.index][0] + 4 * pace.randrange(64), pace.getrandbits(32)
            await window.set(offset, data)
            assert await window.get(offset) == data

    async def clocks(access) -> tuple[int, int]:
        begun = cocotb.utils.get_sim_time("ns")
        response = await access
        return response if isinstance(response, int) else response[0], int(cocotb.utils.get_sim_time("ns") - begun) // 4

    for _ in range(40):
        port = pace.choice(ports)
        offset, _ = PORTS[port.index]
        port.slow, port.silent = 0.2, pace.choice(["take", "answer"])
        first, long = await clocks(pace.choice([lambda o=offset: window.write(o, 1), lambda o=offset: window.read(o)])())
        assert first == SLVERR and TIMEOUT <= long < 2 * TIMEOUT, (first, long)
        await all_work(port)
        again, short = await clocks(window.read(offset))
        assert again == SLVERR and short < TIMEOUT, "an access to a silent port fails at once"
        taken, port.silent = port.silent == "answer", ""
        if taken and pace.random() < 0.7:
            # The answer comes late and is dropped; the port is as before.
            await ClockCycles(dut.clk, 40)
        else:
            dut.port_rst_n.value = 7 & ~(1 << port.index)
            await ClockCycles(dut.clk, 2)
            inside, short = await clocks(window.write(offset, 5))
            assert inside == SLVERR and short < TIMEOUT, "an access to a port in reset fails at once"
            dut.port_rst_n.value = 7
        await all_work(None)


@cocotb.test()
async def a_reset_ends_an_access(dut):
    pace, window, ports = await start(dut, "reset")
    for _ in range(60):
        port = pace.choice(ports)
        offset, _ = PORTS[port.index]
        port.silent = pace.choice(["take", "answer"])
        access = cocotb.start_soon(pace.choice([lambda o=offset: window.write(o, 1), lambda o=offset: window.read(o)])())
        await ClockCycles(dut.clk, pace.randrange(2, 30))
        dut.port_rst_n.value = 7 & ~(1 << port.index)
        await ClockCycles(dut.clk, 2)
        dut.port_rst_n.value = 7
        port.silent = ""
        response = await access
        assert (response if isinstance(response, int) else response[0]) == SLVERR
        for p in ports:
            data = pace.getrandbits(32)
            await window.set(PORTS[p.index][0], data)
            assert await window.get(PORTS[p.index][0]) == data
