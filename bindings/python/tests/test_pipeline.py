# SPDX-License-Identifier: Apache-2.0
"""The pipeline of two cards in examples/: what one finds, the other counts, and the counts are NumPy's."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np

import towpath

PIPELINE = Path(__file__).resolve().parents[3] / "examples" / "pipeline"


def test_the_program_runs() -> None:
    done = subprocess.run([sys.executable, PIPELINE / "pipeline.py"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the host counts the same in the last one: True\n")


def test_counts_are_those_of_numpy() -> None:
    seed = random.randrange(1 << 32)
    rng = np.random.default_rng(seed)
    with towpath.open(f"sim:{PIPELINE / 'histogram'}") as card:
        for size in [0, 1, 15, 16, 17, *rng.integers(1, 5000, 40)]:
            # Few values: lanes and beats that count the same one follow each other.
            pixels = rng.integers(0, rng.choice([1, 3, 256]), size).astype(np.uint8)
            card["pixels"].send(pixels)
            if rng.random() < 0.2:
                card["counts"].reset()
                card["pixels"].send(pixels)
            counts = np.frombuffer(card["counts"].recv(), dtype="<u4")
            assert (counts == np.bincount(pixels, minlength=256)).all(), f"seed {seed}, {size} pixels"


def test_a_reset_forgets_what_was_counted() -> None:
    with towpath.open(f"sim:{PIPELINE / 'histogram'}") as card:
        card["pixels"].send(bytes(1000), end=False)
        card["pixels"].reset()
        card["pixels"].send(b"\x07")
        counts = np.frombuffer(card["counts"].recv(), dtype="<u4")
    assert counts[7] == 1
    assert counts.sum() == 1
