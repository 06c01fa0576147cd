# SPDX-License-Identifier: Apache-2.0
"""A channel's batch page as a good host uses it."""

from bench import TP
from mover import Bench


class Batches:
    """Descriptors into slots, in pieces and in any order, then a commit."""

    def __init__(self, bench: Bench, channel: int):
        self.bench, self.channel, self.next = bench, channel, 0
        self.slots = 4 * int(bench.dut.QUEUE_DEPTH.value)

    def post(self, descriptors: list, forget=()):
        """`forget`: these dwords of the batch are not written."""
        bench, rng, size = self.bench, self.bench.rng, TP.TP_DESCRIPTOR_BYTES
        packets = []
        dwords = [
            ((self.next + k) % self.slots * size + 4 * i, d[4 * i : 4 * i + 4])
            for k, d in enumerate(descriptors)
            for i in range(4)
            if 4 * k + i not in forget
        ]
        while dwords:
            run = 1
            most = rng.choice([1, 2, 4, 16])
            while run < min(most, len(dwords)) and dwords[run][0] == dwords[run - 1][0] + 4 and dwords[run][0] % 64:
                run += 1
            packets.append((dwords[0][0], b"".join(d for _, d in dwords[:run])))
            dwords = dwords[run:]
        rng.shuffle(packets)
        for at, data in packets:
            bench.write("batch", self.channel, at, data)
        bench.ring("push", channel=self.channel, torn=0, count=len(descriptors))
        self.next += len(descriptors)

    def post_line(self, descriptors: list):
        """One store of whole slots, and a commit."""
        self.bench.write("batch", self.channel, self.next % self.slots * TP.TP_DESCRIPTOR_BYTES, b"".join(descriptors))
        self.bench.ring("push", channel=self.channel, torn=0, count=len(descriptors))
        self.next += len(descriptors)

    def post_one(self, descriptor: bytes, torn=0):
        """By the doorbell: it takes a slot, too."""
        self.bench.raw(self.channel, descriptor, torn)
        self.next += 1
