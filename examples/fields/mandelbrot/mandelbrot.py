#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A picture of the Mandelbrot set, computed by a core that high-level synthesis made of a function in Python, against the same in NumPy.

With --kernel it makes kernel.v of kernel.py. That needs Polyphony (MIT), version 0.3.6: pip install polyphony==0.3.6
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import towpath

HERE = Path(__file__).parent
POINT = 12  # bits behind it
MOST = 255  # steps
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made of kernel.py by Polyphony 0.3.6: mandelbrot.py --kernel
"""


def synthesised() -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["polyphony", "--quiet", "--dir", folder, str(HERE / "kernel.py")], check=True)
        lines = (Path(folder) / "Mandelbrot_kernel.v").read_text().splitlines()
    return HEAD + "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def points(width: int, height: int) -> np.ndarray:
    """(height, width, 2) numbers with 12 bits behind the point: the real and the imaginary part of each."""
    re, im = np.linspace(-2.1, 0.7, width), np.linspace(1.15, -1.15, height)
    return np.round(np.stack(np.meshgrid(re, im), axis=-1) * (1 << POINT)).astype("<i4")


def steps(card: towpath.Device, c: np.ndarray) -> np.ndarray:
    """A FIFO knows no ends: counts wait until four of them fill a beat, so points are sent in fours."""
    points = c.reshape(-1, 2)
    filled = np.concatenate([points, np.full((-len(points) % 4, 2), 4 << POINT, "<i4")])
    counts = np.empty(len(filled), "<i4")
    ticket = card["counts"].submit_recv(counts)
    card["points"].send(filled)
    ticket.wait()
    return counts[: len(points)].reshape(c.shape[:-1])


def reference(c: np.ndarray) -> np.ndarray:
    """All points at once; what has left stays where it is."""
    cx, cy = c[..., 0].astype(np.int64), c[..., 1].astype(np.int64)
    x, y, n = np.zeros_like(cx), np.zeros_like(cx), np.zeros_like(cx)
    for _ in range(MOST):
        xx, yy = x * x >> POINT, y * y >> POINT
        inside = xx + yy <= 4 << POINT
        x, y = np.where(inside, xx - yy + cx, x), np.where(inside, (x * y >> (POINT - 1)) + cy, y)
        n += inside
    return n


def main() -> int:
    if "--kernel" in sys.argv:
        (HERE / "kernel.v").write_text(synthesised())
        return 0
    c = points(64, 22)
    with towpath.open(os.environ.get("TOWPATH_DEVICE") or f"sim:{HERE}") as card:
        start = card.now_ns()
        counts = steps(card, c)
        took = card.now_ns() - start
    for row in counts:
        print("".join(" .:-=+*#%@"[min(9, int(n).bit_length() + (n == MOST))] for n in row))
    same = np.array_equal(counts, reference(c))
    print(f"{counts.size:,} points, {counts.sum():,} steps in {took / 1000:.0f} us; all {'as NumPy computes them' if same else 'WRONG'}")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
