#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch tensor in a GPU's memory, filtered by the card, in the order of CUDA streams.

The program waits for nothing until it wants the result.

    python3 examples/tensor.py

Needs PyTorch and a CUDA GPU. The card is the simulation of the core in cores/sobel, or what TOWPATH_DEVICE names. A board does not reach
the GPU itself yet: with one, the bytes are staged through the host's memory.

Exit codes: 0 the card's edges are those that the GPU computes; 1 they are not; 2 there is no PyTorch, or no GPU.
"""

import os
import sys
from typing import Any

import towpath

WIDTH, HEIGHT = 1920, 64
PICTURES = 4


def gpu() -> Any:
    """The module torch, if it can be used."""
    try:
        import torch
    except ImportError:
        print("tensor: PyTorch is not installed; pytorch.org tells how", file=sys.stderr)
        raise SystemExit(2) from None
    if not torch.cuda.is_available():
        print("tensor: PyTorch finds no CUDA GPU; examples/edges.py does the same with the host's memory", file=sys.stderr)
        raise SystemExit(2)
    return torch


def sobel(torch: Any, picture: Any) -> Any:
    """What the core computes: |gx| + |gy|, at most 255, and 0 on the border."""
    across = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]], device=picture.device)
    kernels = torch.stack([across, across.T])[:, None]
    gradients = torch.nn.functional.conv2d(picture[None, None].float(), kernels)
    return torch.nn.functional.pad(gradients.abs().sum(1)[0].clamp(max=255), (1, 1, 1, 1)).to(torch.uint8)


def main() -> int:
    torch = gpu()
    name = os.environ.get("TOWPATH_DEVICE") or "sim:sobel"
    staged = not name.startswith("sim:")
    # What the card needs and what it gives are on a stream each: neither waits for the other.
    there, back = torch.cuda.Stream(), torch.cuda.Stream()
    with towpath.open(name) as card:
        card.registers["width"] = WIDTH
        pairs = []
        for number in range(PICTURES):
            with torch.cuda.stream(there):
                picture = torch.rand(HEIGHT, WIDTH, device="cuda").cumsum(1).mul(7 + number).remainder(256).to(torch.uint8)
                card.send("pixels", picture, stream=there, staged=staged)
            with torch.cuda.stream(back):
                edges = torch.empty_like(picture)
                card.recv_into("edges", edges, stream=back, staged=staged)
            # Behind both calls: the first use of a kernel may wait for the stream, which waits for the card, which waits for the receive.
            with torch.cuda.stream(there):
                expected = sobel(torch, picture)
            pairs.append((edges, expected))
        # So far the program has waited for nothing.
        torch.cuda.synchronize()
    different = [int((edges != expected).sum()) for edges, expected in pairs]
    for number, count in enumerate(different):
        print(f"picture {number}: {count} of {WIDTH * HEIGHT} bytes differ from what the GPU computes")
    return 1 if any(different) else 0


if __name__ == "__main__":
    sys.exit(main())
