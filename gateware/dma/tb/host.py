# SPDX-License-Identifier: Apache-2.0
"""A host for benches of the data mover: memory behind the neutral streams, adversarial but legal.

Reads are answered late, in any order between tags, cut at any completion boundary; writes are taken when it pleases. Every access is
checked: address space, 4 KiB edges, byte enables, the largest payload and read.
"""

import random

from bench import CONFIG, PACKAGES, WRITE, Layout
from cocotb.triggers import RisingEdge

READ, COMPLETION = (Layout(PACKAGES[1], f"tp_{name}_hdr_t") for name in ("read", "completion"))
BASE = 0x7_0000_0000


def _mask(first: int, last: int, dwords: int) -> list[bool]:
    """Which bytes of a packet count."""
    if dwords == 1:
        return [bool(first >> i & 1) for i in range(4)]
    head = [bool(first >> i & 1) for i in range(4)]
    tail = [bool(last >> i & 1) for i in range(4)]
    return head + [True] * (4 * dwords - 8) + tail


class Host:
    """Owns host memory `memory` at BASE and answers the mover's requests."""

    def __init__(self, dut, rng: random.Random, width: int, max_payload=128, max_read=512, size=1 << 24, latency=60, stall=0.2):
        self.dut, self.rng, self.width = dut, rng, width
        self.memory = bytearray(size)
        self.writable = bytearray(size)  # 1: the card may write here
        self.readable = bytearray(size)
        self.max_payload, self.max_read = max_payload, max_read
        self.latency, self.stall = latency, stall
        self.period = 1  # clocks from one beat of a write that is taken to the next
        self.faults = {}  # address -> completion status (TLP.CPL_...) for reads that touch it
        self.silent = range(0)  # addresses: reads of these are never answered
        self.poison = set()  # addresses: a packet that holds one comes poisoned, or damaged
        self.withheld = False  # no read is answered for the time being
        self.begun = 0  # packets of writes that were shown, ever
        self.inside = False  # one has been shown and not taken whole
        self.fires = []
        self.pending = []  # [due, tag, address, bytes left, first]
        self.tags = set()

    def config(self, bus_master=1, active=1, completion_timeout=0, transmit_room=255, tags_8bit=1) -> int:
        """The value of tp_config_t."""
        return CONFIG.pack(
            requester=0x100,
            max_payload=self.max_payload.bit_length() - 8,
            max_read=self.max_read.bit_length() - 8,
            bus_master=bus_master,
            completion_timeout=completion_timeout,
            relaxed=1,
            tags_8bit=tags_8bit,
            msix_enable=1,
            link_up=1,
            active=active,
            transmit_room=transmit_room,
        )

    def at(self, address: int) -> int:
        """Index into memory; fails for what is not memory."""
        assert BASE <= address < BASE + len(self.memory), f"the card touched {address:#x}, which is not memory"
        return address - BASE

    async def run(self):
        """Serve for ever."""
        dut, rng = self.dut, self.rng
        posted = bytearray()
        out = []  # beats of the completion under way: (header, data, last, bad)
        cycle = 0
        while True:
            dut.tx_posted_ready.value = int(cycle % self.period == 0 and rng.random() >= self.stall)
            dut.tx_read_ready.value = int(rng.random() >= self.stall)
            dut.fire_ready.value = int(rng.random() >= self.stall)
            if not out and self.pending and not self.withheld and rng.random() >= self.stall / 4:
                out = self._completion(cycle)
            if out and rng.random() >= self.stall / 4:
                header, data, last, bad = out.pop(0)
                dut.rx_completion_valid.value = 1
                dut.rx_completion_hdr.value = header
                dut.rx_completion_data.value = data
                dut.rx_completion_last.value = last
                dut.rx_completion_bad.value = bad
            else:
                dut.rx_completion_valid.value = 0
            await RisingEdge(dut.clk)
            cycle += 1
            self.begun += int(dut.tx_posted_valid.value == 1 and not self.inside)
            self.inside = dut.tx_posted_valid.value == 1 and not (dut.tx_posted_ready.value == 1 and dut.tx_posted_last.value == 1)
            if dut.tx_posted_valid.value == 1 and dut.tx_posted_ready.value == 1:
                posted += int(dut.tx_posted_data.value).to_bytes(self.width // 8, "little")
                if dut.tx_posted_last.value == 1:
                    self._write(int(dut.tx_posted_hdr.value), posted)
                    posted = bytearray()
            if dut.tx_read_valid.value == 1 and dut.tx_read_ready.value == 1:
                self._read(int(dut.tx_read_hdr.value), cycle)
            if dut.fire_valid.value == 1 and dut.fire_ready.value == 1:
                self.fires.append(int(dut.fire_vector.value))

    def _write(self, hdr: int, data: bytearray):
        h = WRITE.unpack(hdr)
        last_be, first_be, dwords, address = h["last_be"], h["first_be"], h["dwords"], h["addr"]
        assert address % 4 == 0 and 1 <= dwords <= self.max_payload // 4, f"write of {dwords} dwords at {address:#x}"
        beats = -(-dwords * 4 // (self.width // 8))
        assert len(data) == beats * self.width // 8, f"{len(data)} bytes for {dwords} dwords"
        assert address // 4096 == (address + 4 * dwords - 1) // 4096, f"write of {dwords} dwords at {address:#x} crosses 4 KiB"
        assert first_be and (dwords > 1) == bool(last_be)
        for i, valid in enumerate(_mask(first_be, last_be, dwords)):
            if valid:
                k = self.at(address + i)
                assert self.writable[k], f"the card wrote to {address + i:#x}, which no descriptor or ring covers"
                self.memory[k] = data[i]

    def _read(self, hdr: int, cycle: int):
        h = READ.unpack(hdr)
        tag, last_be, first_be, dwords, address = h["tag"], h["last_be"], h["first_be"], h["dwords"], h["addr"]
        assert tag not in self.tags, f"tag {tag} is in use"
        assert 1 <= dwords <= self.max_read // 4 and first_be and (dwords > 1) == bool(last_be)
        assert address // 4096 == (address + 4 * dwords - 1) // 4096, f"read of {dwords} dwords at {address:#x} crosses 4 KiB"
        mask = _mask(first_be, last_be, dwords)
        start, stop = mask.index(True), len(mask) - mask[::-1].index(True)
        assert all(mask[start:stop]), "byte enables with holes"
        for i in range(start, stop):
            assert self.readable[self.at(address + i)], f"the card read {address + i:#x}, which no descriptor covers"
        self.tags.add(tag)
        if address in self.silent:
            return
        self.pending.append([cycle + self.rng.randrange(1, self.latency), tag, address + start, stop - start])

    def _completion(self, cycle: int):
        due = [p for p in self.pending if p[0] <= cycle]
        if not due:
            return []
        p = self.rng.choice(due)
        _, tag, address, left = p
        status = next((s for a, s in self.faults.items() if address <= a < address + left), 0)
        if status:
            self.pending.remove(p)
            self.tags.discard(tag)
            return [(COMPLETION.pack(tag=tag, status=status, byte_count=left, lower_addr=address & 0x7F), 0, 1, 0)]
        cuts = [*range((address // 64 + 1) * 64, address + left, 64), address + left]
        cuts = [c for c in cuts if (c - (address & ~3)) <= self.max_payload] or [cuts[0]]
        stop = self.rng.choice(cuts)
        take = stop - address
        first = address & ~3
        dwords = (stop - first + 3) // 4
        k = self.at(first)
        payload = bytes(self.memory[k : k + 4 * dwords])
        spoiled = any(address <= a < stop for a in self.poison)
        bad = int(spoiled and self.rng.random() < 0.5)
        header = COMPLETION.pack(tag=tag, dwords=dwords, byte_count=left, lower_addr=address & 0x7F, poisoned=int(spoiled and not bad))
        step = self.width // 8
        parts = [payload[i : i + step] for i in range(0, len(payload), step)]
        beats = [(header, int.from_bytes(part, "little"), 0, 0) for part in parts]
        beats[-1] = (*beats[-1][:2], 1, bad)
        p[2], p[3] = stop, left - take
        if not p[3]:
            self.pending.remove(p)
            self.tags.discard(tag)
        return beats
