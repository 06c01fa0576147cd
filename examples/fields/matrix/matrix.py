#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The product of two random matrices of 8-bit numbers: one in the card's memory, the other streamed through it, against NumPy's."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np

import towpath


def set_weights(card: towpath.Device, a: np.ndarray) -> None:
    """Row by row, each filled up with zeros to a multiple of 16 bytes."""
    card.memory["weights"].write(0, filled(a))
    card.registers["rows"] = len(a)
    card.registers["beats"] = -(-a.shape[1] // 16)


def filled(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.pad(rows.astype(np.int8), ((0, 0), (0, -rows.shape[1] % 16))))


def multiply(card: towpath.Device, rows: int, b: np.ndarray) -> np.ndarray:
    """A matrix of 32-bit numbers: the weights' rows times b."""
    columns = np.empty((b.shape[1], rows), "<i4")
    ticket = card["products"].submit_recv(columns)
    card["vectors"].send(filled(b.T))
    ticket.wait()
    return columns.T


def main() -> int:
    seed = int(os.environ.get("TOWPATH_SEED") or random.randrange(1 << 32))
    rng = np.random.default_rng(seed)
    a = rng.integers(-128, 128, (60, 1000), np.int8)
    b = rng.integers(-128, 128, (1000, 24), np.int8)
    with towpath.open(os.environ.get("TOWPATH_DEVICE") or f"sim:{Path(__file__).parent}") as card:
        set_weights(card, a)
        start = card.now_ns()
        product = multiply(card, len(a), b)
        took = card.now_ns() - start
        faults = card.registers["faults"]
    same = np.array_equal(product, a.astype(int) @ b.astype(int))
    count = a.size * b.shape[1]
    verdict = "as NumPy computes it" if same else "WRONG"
    print(f"{a.shape[0]} x {a.shape[1]} times {b.shape[0]} x {b.shape[1]}: {verdict} (TOWPATH_SEED={seed})")
    print(f"{count:,} products in {took / 1000:.1f} us, {count / took:.1f} a nanosecond; {faults} faults of the memory")
    return 0 if same and faults == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
