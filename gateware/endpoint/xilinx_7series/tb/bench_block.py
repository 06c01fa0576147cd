# SPDX-License-Identifier: Apache-2.0
"""The model of the block against a lawful user and against one that breaks each rule once: a cocotb module, started by test_block.

What the block promises is checked here from the user's side; what it demands is checked by `breaches`, one line for each rule of plan.md.
"""

import logging
import random
import warnings

import cocotb
from bench import generator
from block import FAULTS, LATE, LINKS, Block
from breaches import IO_READ, MESSAGE, MESSAGE_DATA, READ_LOCKED, SWAP, Breaches, altered, stray
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, SimTimeoutError, Timer, with_timeout
from cocotbext.pcie.core import Device, RootComplex
from cocotbext.pcie.core.tlp import Tlp, TlpType
from user import BAR_BYTES, DISCONTINUED, Lost, User

warnings.filterwarnings("ignore", category=DeprecationWarning, module="cocotbext")
logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)
CONTROL, LINK_CONTROL, FUNCTION_RESET, MASTER = 8, 16, 1 << 15, 4  # offsets in the PCI Express capability; bits
HIGH_BASE, ARENA = 0x12_0000_0000, 1 << 16


class Host:
    """A root complex with memory below and above 4 GiB, and the function enumerated behind it."""

    def __init__(self, dut, rng, stall: float, fault=None, tolerant=False, max_payload=1):
        self.dut, self.rng = dut, rng
        self.block = Block(dut, rng, stall, fault, tolerant)
        self.device = Device(self.block)
        port = self.device.upstream_port
        port.max_link_speed, port.max_link_width = LINKS[self.block.width]
        self.root = RootComplex()
        self.root.max_payload_size = max_payload
        self.root.split_on_all_rcb = rng.random() < 0.5
        high = self.root.mem_address_space.create_pool(HIGH_BASE, ARENA)
        regions = [pool.alloc_region(ARENA) for pool in (self.root.mem_pool, high)]
        self.memory = {r.get_absolute_address(0): r.mem for r in regions}
        self.user = User(dut, rng, stall)

    async def start(self) -> "Host":
        self.device.connect(self.root.make_port().downstream_port)
        await self.root.enumerate()
        self.dev = self.root.find_device(self.block.pcie_id)
        await self.enable()
        return self

    async def enable(self) -> None:
        await self.dev.enable_device()
        await self.dev.set_master()
        self.bar = self.dev.bar_window[0]

    async def control(self, clear: int, put: int) -> None:
        value = await self.dev.capability_read_word(self.block.pcie_cap.cap_id, CONTROL)
        await self.dev.capability_write_word(self.block.pcie_cap.cap_id, CONTROL, value & ~clear | put)

    async def quiet(self) -> None:
        for _ in range(4000):
            await ClockCycles(self.dut.clk, 10)
            user = self.user
            busy = user.queue or user.beats or user.showing or user.errors or self.block.reading or self.block.asked or self.block.internal
            if not busy and not self.block.outgoing and not self.block.valid:
                await Timer(300, "ns")
                return
        raise AssertionError("it never ended")


async def start(dut, name: str, stall: float = 0.3, **more) -> Host:
    rng = more.pop("rng", None) or generator(f"{name} at {int(dut.DATA_WIDTH.value)} bit")
    np_req = more.pop("np_req", 1)
    cocotb.start_soon(Clock(dut.clk, 4000, unit="ps").start())
    host = Host(dut, rng, stall, **more)
    host.user.np_req = np_req
    return await host.start()


async def within(task, patience: int = 200):
    """What the task returns; that it takes too long fails a test as a wrong byte does."""
    try:
        return await with_timeout(task, patience, "us")
    except SimTimeoutError:
        raise AssertionError("no end is in sight") from None


async def traffic(host: Host, rounds: int = 12, lossy: bool = False) -> None:
    """Reads and writes in both directions at once; every byte is compared. `lossy`: configuration changes or the link goes meanwhile."""
    rng, user = host.rng, host.user

    async def master(base: int, first: int) -> None:
        expected = bytearray(host.memory[base][first : first + ARENA // 4])
        for _ in range(rounds):
            at, size = rng.randrange(ARENA // 4 - 1500), int(2 ** rng.uniform(0, 10.5))
            try:
                if rng.random() < 0.5:
                    content = rng.randbytes(size)
                    await user.write(base + first + at, content)
                    expected[at : at + size] = content
                else:
                    got = await user.read(base + first + at, size)
                    if lossy:  # a write that was begun may not have come
                        expected[:] = host.memory[base][first : first + ARENA // 4]
                    assert got == expected[at : at + size], f"{size} bytes from {base + first + at:#x} are wrong"
            except Lost:
                assert lossy
                await Timer(rng.randrange(200, 1000), "ns")
        if not lossy:
            await host.quiet()
            assert host.memory[base][first : first + ARENA // 4] == expected, f"what was written at {base + first:#x} is not there"

    async def target() -> None:
        expected = user.memory[:]
        for _ in range(rounds * 2):
            at, size = rng.randrange(BAR_BYTES - 600), int(2 ** rng.uniform(0, 9))
            if rng.random() < 0.5:
                content = rng.randbytes(size)
                await host.bar.write(at, content)
                expected[at : at + size] = content
            else:
                assert await host.bar.read(at, size) == expected[at : at + size], f"{size} bytes of the BAR at {at:#x} are wrong"

    tasks = [cocotb.start_soon(master(base, i * ARENA // 4)) for base in host.memory for i in range(3)]
    if not lossy:
        tasks += [cocotb.start_soon(target())]
    for task in tasks:
        await within(task)
    await host.quiet()


# ---------------------------------------------------------------------------------------------------------------- a lawful user


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.2, 0.5])
async def lawful(dut, stall):
    """All kinds of traffic, with pauses from none to half of the clocks; nothing is a breach and every byte is right."""
    host = await start(dut, f"lawful, stall {stall}", stall)
    await traffic(host, 14)
    assert host.block.largest["reads in flight"] > 1 and not any(host.block.reports.values()), host.block.reports
    assert bool(host.user.straddles) == (host.user.lanes == 4)


@cocotb.test()
async def configured(dut):
    """The pins show configuration space, and the user follows changes of limits while it is busy."""
    host = await start(dut, "configured")
    rng, block, dev, cap = host.rng, host.block, host.dev, host.block.pcie_cap.cap_id
    task = cocotb.start_soon(traffic(host, 30, lossy=True))
    while not task.done():
        await Timer(rng.randrange(300, 1500), "ns")
        if rng.random() < 0.3:
            await dev.set_master(False)
            await Timer(rng.randrange(100, 1500), "ns")
            assert not int(dut.cfg_command.value) & MASTER
            await dev.set_master(True)
        else:
            value = rng.randrange(3) << 5 | rng.randrange(4) << 12 | rng.getrandbits(1) << 8 | rng.getrandbits(1) << 4
            await host.control(7 << 5 | 7 << 12 | 1 << 8 | 1 << 4, value)
            await ClockCycles(dut.clk, 3)
            assert int(dut.cfg_dcommand.value) & 0x71F0 == value
    await task
    await dev.capability_write_word(cap, LINK_CONTROL, 8)
    await ClockCycles(dut.clk, 3)
    assert int(dut.cfg_lcommand.value) & 8
    msix = block.msix_cap.cap_id
    for value in (1, 3, 2, 0):
        await dev.capability_write_word(msix, 2, value << 15 & 0x8000 | value << 13 & 0x4000)
        await ClockCycles(dut.clk, 3)
        assert (int(dut.cfg_interrupt_msixenable.value), int(dut.cfg_interrupt_msixfm.value)) == (value & 1, value >> 1)
    await block.renumber(9)
    await ClockCycles(dut.clk, 3)
    assert int(dut.cfg_bus_number.value) == 9
    # Function-level reset: a pulse, and defaults.
    pulses = []

    async def watch():
        while True:
            await ClockCycles(dut.clk, 1)
            pulses.append(int(dut.cfg_received_func_lvl_rst.value))

    watcher = cocotb.start_soon(watch())
    await block._function_reset()
    assert block.function_reset
    await ClockCycles(dut.clk, 20)
    watcher.cancel()
    assert 1 <= sum(pulses) <= 4 and not int(dut.cfg_command.value) & MASTER and int(dut.cfg_dcommand.value) >> 12 & 7 == 2
    await ClockCycles(dut.clk, 300)
    assert not block.function_reset


@cocotb.test()
async def power(dut):
    """D3 shows on the pins and stops the transmit side; a turn-off is answered, and then nothing is taken any more."""
    host = await start(dut, "power")
    block, user = host.block, host.user
    pm = block.pm_cap.cap_id
    await host.dev.capability_write_word(pm, 4, 3)
    await ClockCycles(dut.clk, 300)
    assert int(dut.cfg_pmcsr_powerstate.value) == 3 and int(dut.cfg_pcie_link_state.value) == 1 and dut.s_axis_tx_tready.value == 0
    await host.dev.capability_write_word(pm, 4, 0)
    await ClockCycles(dut.clk, 20)
    assert int(dut.cfg_pmcsr_powerstate.value) == 0 and int(dut.cfg_pcie_link_state.value) == 0
    await traffic(host, 2)
    off = cocotb.start_soon(block.turn_off())
    await ClockCycles(dut.clk, 30)
    assert dut.cfg_to_turnoff.value == 0, "it is a pulse"
    dut.cfg_turnoff_ok.value = 1
    await off
    await ClockCycles(dut.clk, 5)
    user.send(user.request(True, 0x1000, 4, content=bytes(4)))
    for _ in range(200):
        await ClockCycles(dut.clk, 1)
        assert dut.s_axis_tx_tready.value == 0


# ---------------------------------------------------------------------------------------------------------------- non-posted packets


@cocotb.test()
@cocotb.parametrize(pin=["rx_np_ok", "rx_np_req"])
async def held_back(dut, pin):
    """Non-posted packets wait for rx_np_ok or rx_np_req; posted ones and answers pass them. So many come late, and some do."""
    host = await start(dut, f"held back by {pin}", 0.2, np_req=int(pin == "rx_np_ok"))
    rng, user, handle = host.rng, host.user, getattr(dut, pin)
    late = set()
    for _ in range(25):
        handle.value = 0
        await ClockCycles(dut.clk, 1)
        came, since = len(user.received), user.clock
        reads = [cocotb.start_soon(host.bar.read(rng.randrange(512) * 4, 4)) for _ in range(6)]
        await Timer(600, "ns")
        count = len([p for p in user.received[came:] if p.nonposted and p.clock > since])
        late.add(count)
        assert count <= LATE * (pin == "rx_np_ok"), f"{count} non-posted packets after {pin} fell"
        await host.bar.write(0, b"pass")
        base = rng.choice(list(host.memory))
        assert await user.read(base, 100) == host.memory[base][:100]
        await Timer(300, "ns")
        assert user.memory[:4] == b"pass", "a write did not pass"
        if pin == "rx_np_req":
            for n in range(1, 7):
                handle.value = 1
                await ClockCycles(dut.clk, 1)
                handle.value = 0
                await Timer(500, "ns")
                assert len([p for p in user.received[came:] if p.nonposted]) == n, f"{n} were asked for"
        else:
            handle.value = 1
        for read in reads:
            await within(read)
    if pin == "rx_np_ok":
        assert max(late) == LATE, f"none came late: {late}"


# ---------------------------------------------------------------------------------------------------------------- refusals


@cocotb.test()
async def refused(dut):
    """What the user does not know is answered by the block on its behalf; what is damaged is marked so; what is for no BAR never comes."""
    host = await start(dut, "refused")
    block, user, root, rng = host.block, host.user, host.root, host.rng
    kinds = [(READ_LOCKED, 0), (IO_READ, 0), (SWAP, 1)] * 4
    for tag, (kind, data) in enumerate(kinds, 64):
        block.inject(stray(kind, tag, data=data), 1)
    for tag, (kind, _) in enumerate(kinds, 64):
        answer = await within(cocotb.start_soon(root.recv_cpl(tag)))
        wanted = TlpType.CPL_LOCKED if kind == READ_LOCKED else TlpType.CPL
        assert answer.fmt_type == wanted and answer.status == 1 and answer.completer_id == block.pcie_id, repr(answer)
    block.inject(stray(MESSAGE, 0), 0)
    block.inject(stray(MESSAGE_DATA, 0, data=1), 0)
    # A write that is poisoned, one with a bad ECRC.
    before = user.memory[:]
    tlp = Tlp()
    tlp.fmt_type, tlp.requester_id, tlp.ep = TlpType.MEM_WRITE_64, root.upstream_bridge.pcie_id, True
    tlp.set_addr_be_data(host.dev.bar_addr[0], bytes([7]) * 64)
    await root.send(tlp)
    block.inject(stray(0x40, 0, 16, data=16), 1, ecrc=True)
    await Timer(2, "us")
    assert user.memory == before and user.received[-2].poisoned + user.received[-1].poisoned == 1 and block.reports["poisoned"]
    assert block.reports["ecrc"] and sum(p.ecrc for p in user.received) == 1
    assert sum(p.kind == "message" for p in user.received) == 2
    # For no BAR: the block itself answers.
    seen = len(user.received)
    dead = host.dev.bar_addr[0] + (1 << 30)
    tlp = Tlp()
    tlp.fmt_type, tlp.requester_id = TlpType.MEM_READ_64, root.upstream_bridge.pcie_id
    tlp.set_addr_be(dead, 4)
    tlp.tag = 70
    await host.device.upstream_recv(tlp)
    answer = await within(cocotb.start_soon(root.recv_cpl(70)))
    assert answer.status == 1 and len(user.received) == seen
    # An answer to nothing.
    tlp = Tlp()
    tlp.fmt_type, tlp.requester_id, tlp.tag, tlp.byte_count = TlpType.CPL_DATA, block.pcie_id, rng.randrange(32), 8
    tlp.set_data(bytes(8))
    await root.send(tlp)
    await Timer(2, "us")
    assert block.reports["cpl_unexpect"]
    await traffic(host, 3)


# ---------------------------------------------------------------------------------------------------------------- the link goes


@cocotb.test()
@cocotb.parametrize(hot=[False, True])
async def link_lost(dut, hot):
    """In the middle of packets in both directions; each packet is filled up, unless a reset cuts it. Set up again, all works."""
    host = await start(dut, f"link lost, hot {hot}", 0.2)
    rng, block, user = host.rng, host.block, host.user
    filled = 0
    for _ in range(8):
        task = cocotb.start_soon(traffic(host, 3, lossy=True))
        saved = await host.dev.config_read_dwords(0x10, 6)
        for i in range(20):
            await host.bar.write(64 * i, rng.randbytes(64))
        while block.packet is None or rng.random() < 0.8:
            if block.packet is None:
                await host.bar.write(0, rng.randbytes(64))
            await ClockCycles(dut.clk, 1)
        came = len(user.received)
        await block.link_down(rng.randrange(20, 60), hot)
        filled += len(user.received) > came
        assert user.current is None and dut.user_lnk_up.value == 1 and int(dut.cfg_bus_number.value) == 0
        user.memory[:] = bytes(BAR_BYTES)
        await host.dev.config_write_dwords(0x10, saved)
        await host.dev.config_write_word(4, 6)
        await within(task)
        assert int(dut.cfg_bus_number.value) == block.bus_num
        await host.bar.write(0, b"back")
        assert await host.bar.read(0, 4) == b"back"
    assert filled >= (0 if hot else 4), f"{filled} packets were filled up"
    user.memory[:] = bytes(BAR_BYTES)
    await traffic(host, 3)


# ---------------------------------------------------------------------------------------------------------------- breaches


RULES = [name for name in vars(Breaches) if not name.startswith("_")]


@cocotb.test()
async def breaches(dut):
    """Each rule is broken once, and seen under its name and no other; what is lawful but rare passes; traffic goes on between."""
    host = await start(dut, "breaches", 0.0, tolerant=True)
    wrong, drops = Breaches(host), []

    async def watch():
        while True:
            await ClockCycles(dut.clk, 1)
            if dut.tx_err_drop.value == 1:
                drops.append(True)

    cocotb.start_soon(watch())
    for name in RULES:
        check = name.split("__")[0]
        drops.clear()
        print(name, flush=True)
        await getattr(wrong, name)()
        host.user.answering = True
        for _ in range(200):
            await ClockCycles(dut.clk, 5)
            if host.block.breaches and not host.user.queue and not host.user.beats and not host.user.showing:
                break
        await ClockCycles(dut.clk, 60)
        found, host.block.breaches[:] = host.block.breaches[:], []
        assert [check] == [f[0] for f in found], f"{name}: {found}"
        assert len(drops) == (check in ("length", "gap", "payload")), f"{name}: tx_err_drop {drops}"
        host.block.asked.clear()
        host.block.reading.clear()
    print(f"{len(RULES)} breaches, each seen", flush=True)


@cocotb.test()
async def rare(dut):
    """Lawful, and rare: a gap in a packet that is not streamed, a discontinued packet, a poisoned one, a digest, a write of no bytes."""
    host = await start(dut, "rare")
    user, block, rng = host.user, host.block, host.rng
    base = next(iter(host.memory))
    memory = host.memory[base]
    for n in range(30):
        at, content = 64 * n, rng.randbytes(64)
        words = user.request(True, base + at, 64, content=content)
        beats = user._beats(words)
        kind = n % 5
        if kind == 0:
            user.send_beats([*beats[:2], None, None, *beats[2:]])
        elif kind == 1:
            user.send_beats(altered(beats, 2, user=DISCONTINUED, last=1)[:3])
        elif kind == 2:
            user.send(words, 2)
        elif kind == 3:
            user.send([words[0] | 1 << 15, *words[1:], rng.getrandbits(32)], 1)
        else:
            user.send([words[0], words[1] & ~0xFF, *words[2:4]] if n % 2 else words)
            if n % 2:
                user.queue.pop()
                one = user.request(True, base + at, 4, content=bytes(4))
                user.send([one[0], one[1] & ~0xF, *one[2:]])
        await host.quiet()
        arrives = kind in (0, 3) or kind == 4 and n % 2 == 0
        if kind != 2:
            assert (memory[at : at + 64] == content) == arrives, f"{n}: {'lost' if arrives else 'sent'}"
    await traffic(host, 3)
    assert not block.breaches


@cocotb.test(expect_fail=True)
async def strict(dut):
    """Without `tolerant` a breach fails the test."""
    host = await start(dut, "strict")
    host.user.send([*host.user.request(True, 0x1000, 4, content=bytes(4)), 0])
    await Timer(2, "us")


@cocotb.test(expect_fail=True)
@cocotb.parametrize(fault=FAULTS)
async def planted_faults(dut, fault):
    """Mistakes in the block must be seen by a user; the same without them is `lawful`."""
    host = await start(dut, fault, 0.2, fault=fault, rng=random.Random(7))
    await traffic(host, 14)
