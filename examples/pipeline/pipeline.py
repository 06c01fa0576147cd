#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two cards as a pipeline: the first finds the edges of a picture, the second counts how bright they are.

The edges go straight from card to card.

    python3 examples/pipeline/pipeline.py

On boards, name both: `TOWPATH_DEVICE` the one with the core of sobel/, `TOWPATH_SECOND_DEVICE` the one with that of histogram/.
"""

import os
from pathlib import Path

import numpy as np

import towpath

HERE = Path(__file__).parent
WIDTH, HEIGHT = 640, 48


def picture(number: int) -> np.ndarray:
    """A disc on a slope of greys; each one is larger."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    disc = (x - WIDTH / 2) ** 2 / 64 + (y - HEIGHT / 2) ** 2 < (6 + 4 * number) ** 2
    return np.where(disc, 220, x // 4).astype(np.uint8)


first = os.environ.get("TOWPATH_DEVICE") or f"sim:{HERE / 'sobel'}?world=pipeline"
second = os.environ.get("TOWPATH_SECOND_DEVICE") or f"sim:{HERE / 'histogram'}?world=pipeline"
with towpath.open(first) as sobel, towpath.open(second) as histogram:
    sobel.registers["width"] = WIDTH
    with towpath.connect(sobel["edges"], histogram["pixels"]):
        for number in range(3):
            sobel["pixels"].send(picture(number))
            counts = np.frombuffer(histogram["counts"].recv(), dtype="<u4")
            assert counts.sum() == WIDTH * HEIGHT
            faint, strong = counts[1:128].sum(), counts[128:].sum()
            print(f"picture {number}: {counts[0]:6} flat pixels, {faint:6} of faint edges, {strong:6} of strong ones")
    # The pair is taken apart: the same picture's edges come to the host, which receives while it sends.
    edges = np.empty((HEIGHT, WIDTH), np.uint8)
    received = sobel["edges"].submit_recv(edges)
    sobel["pixels"].send(picture(2))
    received.wait()
same = bool((np.bincount(edges.ravel(), minlength=256) == counts).all())
print(f"the host counts the same in the last one: {same}")
raise SystemExit(0 if same else 1)
