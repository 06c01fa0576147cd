#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packets of IPv4 and UDP, sound ones and damaged ones, through a parser on the card, against one that is written here."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import numpy as np

import towpath

RECORD = np.dtype(
    [("source", ">u4"), ("destination", ">u4"), ("from", ">u2"), ("to", ">u2"), ("length", ">u2"), ("protocol", "u1"), ("flags", "u1")]
)
SOUND, INTACT, DATAGRAM, RIGHT, FRAGMENT, BEHIND = 1, 2, 4, 8, 16, 32


def checksum(data: bytes) -> int:
    """The one's complement of the one's complement sum of all words (RFC 791, 3.1): 0 where a right checksum is among them."""
    total = sum(int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(data), 2))
    return 0xFFFF - total % 0xFFFF if total else 0xFFFF


def datagram(rng: random.Random, payload: bytes) -> bytes:
    """A right one, between random addresses and ports, at times with options or without a checksum."""
    source, destination = rng.randbytes(4), rng.randbytes(4)
    options = bytes(4 * rng.choice([0, 0, 0, 1, 10]))
    udp = rng.randbytes(2) + rng.choice([53, 123, 5000]).to_bytes(2, "big") + (8 + len(payload)).to_bytes(2, "big")
    pseudo = source + destination + bytes([0, 17]) + udp[4:6]
    check = checksum(pseudo + udp + b"\0\0" + payload) % 0xFFFF or 0xFFFF
    udp += (0 if rng.random() < 0.1 else check).to_bytes(2, "big") + payload
    header = bytearray([0x45 + len(options) // 4, 0]) + (20 + len(options) + len(udp)).to_bytes(2, "big")
    header += rng.randbytes(2) + bytes([0x40, 0, 64, 17, 0, 0]) + source + destination + options
    header[10:12] = (checksum(bytes(header)) % 0xFFFF).to_bytes(2, "big")
    return bytes(header) + udp


def packet(rng: random.Random) -> bytes:
    """A datagram; in two of five, cut, longer, with a changed byte, as a fragment, of another protocol, or random bytes."""
    whole = bytearray(datagram(rng, rng.randbytes(rng.choice([0, 1, 18, rng.randrange(200), rng.randrange(1473)]))))
    damage = rng.randrange(15)
    if damage == 0:
        del whole[rng.randrange(len(whole)) :]
    elif damage == 1:
        whole += rng.randbytes(rng.randrange(1, 40))
    elif damage == 2:
        whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    elif damage in (3, 4):
        change = 6 if damage == 3 else 9
        whole[change : change + 1] = b"\x20" if damage == 3 else b"\x06"
        whole[10:12] = bytes(2)
        whole[10:12] = (checksum(bytes(whole[: 4 * (whole[0] & 15)])) % 0xFFFF).to_bytes(2, "big")
    elif damage == 5:
        return rng.randbytes(rng.randrange(100))
    return bytes(whole)


def parsed(packet: bytes) -> tuple[int, ...]:
    """The record that packets.sv describes."""
    data = packet.ljust(20, b"\0")
    header, length, protocol = 4 * (data[0] & 15), int.from_bytes(data[2:4], "big"), data[9]
    place = int.from_bytes(data[6:8], "big")
    udp, flags, ports = packet[header:length], 0, (0, 0)
    if data[0] >> 4 == 4 and 20 <= header <= length <= len(packet):
        flags |= SOUND | (FRAGMENT if place & 0x3FFF else 0) | (BEHIND if len(packet) > length else 0)
        if checksum(packet[:header]) % 0xFFFF == 0:
            flags |= INTACT
            if protocol == 17 and not flags & FRAGMENT and len(udp) >= 8 and int.from_bytes(udp[4:6], "big") == len(udp):
                flags |= DATAGRAM
                ports = int.from_bytes(udp[:2], "big"), int.from_bytes(udp[2:4], "big")
                pseudo = data[12:20] + bytes([0, 17]) + udp[4:6]
                if udp[6:8] == b"\0\0" or checksum(pseudo + udp) % 0xFFFF == 0:
                    flags |= RIGHT
    return int.from_bytes(data[12:16], "big"), int.from_bytes(data[16:20], "big"), *ports, length, protocol, flags


def through(card: towpath.Device, packets: list[bytes], expected: int) -> np.ndarray:
    records = np.zeros(expected, RECORD)
    ticket = card["records"].submit_recv(records.view(np.uint8))
    for data in packets:
        card["packets"].send(data)
    ticket.wait()
    return records


def main() -> int:
    seed = int(os.environ.get("TOWPATH_SEED") or random.randrange(1 << 32))
    rng = random.Random(seed)
    packets = [packet(rng) for _ in range(500)]
    with towpath.open(os.environ.get("TOWPATH_DEVICE") or f"sim:{Path(__file__).parent}") as card:
        card.registers["port"] = 0
        records = through(card, packets, len(packets))
        seen = card.registers["seen"]
    wrong = sum(tuple(int(part) for part in record) != parsed(data) for record, data in zip(records, packets, strict=True))
    names = {
        SOUND: "whole",
        INTACT: "header right",
        DATAGRAM: "UDP",
        RIGHT: "its checksum right",
        FRAGMENT: "fragments",
        BEHIND: "with more behind",
    }
    counts = Counter({name: int(np.count_nonzero(records["flags"] & flag)) for flag, name in names.items()})
    print(f"{seen} packets: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    print(f"{wrong} records differ from those of the parser in Python (TOWPATH_SEED={seed})")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
