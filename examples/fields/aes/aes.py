#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AES-128 in counter mode on the card: the standards' own vectors, and random messages against the same cipher in NumPy."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np

import towpath

# FIPS 197, appendices B and C.1: key, plaintext, ciphertext.
BLOCKS = [
    ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
    ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
]
# NIST SP 800-38A, F.5.1: key, counter, plaintext, ciphertext.
STREAM = (
    "2b7e151628aed2a6abf7158809cf4f3c",
    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
)


def set_key(card: towpath.Device, key: bytes, counter: bytes) -> None:
    """Both are registers of four words, the first byte in the lowest."""
    for name, value in (("key", key), ("counter", counter)):
        for word in range(4):
            card.registers[card.registers.names[name] + 4 * word] = int.from_bytes(value[4 * word :][:4], "little")


def through(card: towpath.Device, text: bytes, offset: int = 0) -> bytes:
    ticket = card["in"].submit_send(text, offset=offset)
    result = card["out"].recv()
    ticket.wait()
    return result


def xtime(b: np.ndarray) -> np.ndarray:
    return ((b << 1) ^ np.where(b & 0x80, 0x11B, 0)) & 0xFF


def sbox() -> np.ndarray:
    """By logarithms to the base 3, which generates the field: not as the core does it."""
    power = [1]
    while len(power) < 255:
        power.append(power[-1] ^ int(xtime(np.array(power[-1]))))
    inverse = [0] * 256
    for exponent, value in enumerate(power):
        inverse[value] = power[-exponent % 255]
    bits = np.array(inverse)
    doubled = bits << 8 | bits
    return (bits ^ doubled >> 7 ^ doubled >> 6 ^ doubled >> 5 ^ doubled >> 4) & 0xFF ^ 0x63


SBOX = sbox()


def encipher(key: bytes, blocks: np.ndarray) -> np.ndarray:
    """AES-128 of many blocks at once, an array of (n, 16) bytes."""
    words = np.frombuffer(key, np.uint8).astype(int).reshape(4, 4)
    state = blocks.astype(int) ^ words.ravel()
    constant = np.array(1)
    for number in range(1, 11):
        words = words.copy()
        words[0] ^= SBOX[np.roll(words[3], -1)]
        words[0, 0] ^= constant
        for i in range(1, 4):
            words[i] ^= words[i - 1]
        constant = xtime(constant)
        columns = SBOX[state].reshape(-1, 4, 4)
        columns = np.stack([np.roll(columns[:, :, row], -row, axis=1) for row in range(4)], axis=2)
        if number < 10:
            after = np.roll(columns, -1, axis=2)
            columns = xtime(columns ^ after) ^ after ^ np.roll(columns, -2, axis=2) ^ np.roll(columns, -3, axis=2)
        state = columns.reshape(-1, 16) ^ words.ravel()
    return state.astype(np.uint8)


def reference(key: bytes, counter: bytes, text: bytes, offset: int = 0) -> bytes:
    first = int.from_bytes(counter, "big") + offset // 16
    numbers = [((first + i) % (1 << 128)).to_bytes(16, "big") for i in range(-(-len(text) // 16))]
    stream = encipher(key, np.frombuffer(b"".join(numbers), np.uint8).reshape(-1, 16)).ravel()
    return (stream[: len(text)] ^ np.frombuffer(text, np.uint8)).tobytes()


def main() -> int:
    right = True
    with towpath.open(os.environ.get("TOWPATH_DEVICE") or f"sim:{Path(__file__).parent}") as card:
        for key, plain, cipher in BLOCKS:
            set_key(card, bytes.fromhex(key), bytes.fromhex(plain))
            same = through(card, bytes(16)).hex() == cipher  # zeros: what comes back is the enciphered counter
            print(f"FIPS 197, key {key}: {'as in the standard' if same else 'WRONG'}")
            right &= same
        key, counter, plain, cipher = map(bytes.fromhex, STREAM)
        set_key(card, key, counter)
        same = through(card, plain) == cipher and through(card, cipher) == plain
        print(f"SP 800-38A, F.5.1 and F.5.2: {'as in the standard' if same else 'WRONG'}")
        right &= same

        seed = int(os.environ.get("TOWPATH_SEED") or random.randrange(1 << 32))
        rng = np.random.default_rng(seed)
        key, counter, text = rng.bytes(16), rng.bytes(16), rng.bytes(16384 + 5)
        set_key(card, key, counter)
        start = card.now_ns()
        cipher = through(card, text)
        took = card.now_ns() - start
        part = through(card, text[4096:5000], offset=4096)
        same = cipher == reference(key, counter, text) and part == cipher[4096:5000]
        print(f"{len(text):,} random bytes and a part from their middle: {'as in NumPy' if same else 'WRONG'} (TOWPATH_SEED={seed})")
        print(f"{len(text) / took * 1000:.0f} MB/s")
        right &= same
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
