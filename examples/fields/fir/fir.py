#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tone in noise through a low-pass filter of 16 taps, written in VHDL, against NumPy's convolution, to the last bit."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np

import towpath

TAPS = 16


def low_pass(cutoff: float) -> np.ndarray:
    """Coefficients by the window method; `cutoff` is in samples a period, the other way round: 0.5 is half the rate."""
    at = np.arange(TAPS) - (TAPS - 1) / 2
    taps = np.sinc(2 * cutoff * at) * np.hamming(TAPS)
    return np.round(32768 * taps / taps.sum()).clip(-32768, 32767).astype("<i2")


def set_coefficients(card: towpath.Device, taps: np.ndarray) -> None:
    """Two in each word of the register."""
    first = card.registers.names["coefficients"]
    for word, value in enumerate(np.ascontiguousarray(taps, "<i2").view("<u4")):
        card.registers[first + 4 * word] = int(value)


def through(card: towpath.Device, samples: np.ndarray) -> np.ndarray:
    result = np.empty_like(samples)
    ticket = card["filtered"].submit_recv(result)
    card["samples"].send(samples)
    ticket.wait()
    return result


def reference(taps: np.ndarray, samples: np.ndarray) -> np.ndarray:
    sums = np.convolve(samples.astype(np.int64), taps.astype(np.int64))[: len(samples)]
    return ((sums + (1 << 14)) >> 15).clip(-32768, 32767).astype("<i2")


def main() -> int:
    seed = int(os.environ.get("TOWPATH_SEED") or random.randrange(1 << 32))
    rng = np.random.default_rng(seed)
    n = np.arange(16384)
    noise = rng.normal(0, 3000, n.size)
    tone = 9000 * np.sin(2 * np.pi * n / 100)
    samples = np.round(tone + noise).clip(-32768, 32767).astype("<i2")
    taps = low_pass(0.05)
    with towpath.open(os.environ.get("TOWPATH_DEVICE") or f"sim:{Path(__file__).parent}") as card:
        set_coefficients(card, taps)
        start = card.now_ns()
        filtered = through(card, samples)
        took = card.now_ns() - start
    same = np.array_equal(filtered, reference(taps, samples))
    late = (TAPS - 1) / 2  # samples that the filter delays
    left = filtered[TAPS:] - 9000 * np.sin(2 * np.pi * (n[TAPS:] - late) / 100)
    print(f"{n.size:,} samples in {took / 1000:.1f} us; all {'as NumPy computes them' if same else 'WRONG'} (TOWPATH_SEED={seed})")
    print(f"noise before {noise.std():.0f}, after {left.std():.0f}")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
