#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Blocks of 1,024 complex samples to the card, their Fourier transforms back, against NumPy's.

With --twiddle it writes the factors that the core reads, twiddle.hex.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import numpy as np

import towpath

LOG = 10
POINTS = 1 << LOG
BOUND = 6.0  # see fft.sv
HERE = Path(__file__).parent


def write_factors() -> None:
    factors = np.exp(-2j * np.pi * np.arange(POINTS // 2) / POINTS)
    re, im = (np.round(part * 65536).astype(int) & 0x3FFFF for part in (factors.real, factors.imag))
    (HERE / "twiddle.hex").write_text("".join(f"{word:09x}\n" for word in im << 18 | re))


def places() -> np.ndarray:
    """Where X[k] is: k with its bits in reverse."""
    return np.array([int(f"{k:0{LOG}b}"[::-1], 2) for k in range(POINTS)])


def transform(card: towpath.Device, blocks: np.ndarray) -> np.ndarray:
    """Of complex samples, (n, 1024), whose parts are whole numbers of 16 bits."""
    sent = np.stack([blocks.real, blocks.imag], axis=-1).astype("<i2")
    result = np.empty_like(sent)
    ticket = card["frequency"].submit_recv(result)
    card["time"].send(sent)
    ticket.wait()
    return (result[..., 0] + 1j * result[..., 1])[:, places()]


def exact(blocks: np.ndarray) -> np.ndarray:
    spectrum: np.ndarray = np.fft.fft(blocks, axis=-1) / POINTS
    return spectrum


def main() -> int:
    if "--twiddle" in sys.argv:
        write_factors()
        return 0
    seed = int(os.environ.get("TOWPATH_SEED") or random.randrange(1 << 32))
    rng = np.random.default_rng(seed)
    n = np.arange(POINTS)
    tones = sum(a * np.exp(2j * np.pi * f * n / POINTS) for a, f in ((12000, 50), (3000, 51), (900, 700)))
    noise = rng.integers(-32768, 32768, (15, POINTS)) + 1j * rng.integers(-32768, 32768, (15, POINTS))
    blocks = np.concatenate([np.round(tones)[None], noise])
    with towpath.open(os.environ.get("TOWPATH_DEVICE") or f"sim:{HERE}") as card:
        start = card.now_ns()
        spectra = transform(card, blocks)
        took = card.now_ns() - start
    found = np.argsort(abs(spectra[0]))[:-4:-1]
    error = abs(spectra - exact(blocks)).max()
    print(f"{len(blocks)} blocks of {POINTS} samples in {took / 1000:.1f} us: {blocks.size / took * 1000:.0f} million samples a second")
    print("the strongest tones: " + ", ".join(f"{k} ({abs(spectra[0, k]):.0f})" for k in found))
    print(f"largest error {error:.2f}, of at most {BOUND:.0f} in units of the last bit (TOWPATH_SEED={seed})")
    return 0 if error <= BOUND and list(found) == [50, 51, 700] else 1


if __name__ == "__main__":
    raise SystemExit(main())
