#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo: a photograph goes through the Sobel core on the card and comes back as its edges.

The picture is sent and received at the same time, in pieces, with several pieces queued in each direction; the result is compared with the
same filter computed here, to the last byte. The card is what TOWPATH_DEVICE names, or else the simulation of the core in cores/sobel.

Exit codes: 0 identical; 1 not identical, or the transfer failed; 2 the command line, the picture or an output is not usable.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import towpath

PIECE = 16 * 1024  # bytes per submission: enough pieces to see the bar move, large enough to cost nothing on the wire
QUEUED = 4  # submissions kept in flight in each direction, well below any queue depth
WIDEST = 4096  # pixels in a row, see cores/sobel


class Unusable(Exception):
    """What the user gave cannot be used; the text says what to do."""


def shipped_photograph() -> Path:
    """A portrait of Grace Hopper by the US Navy, in the public domain, which ships with matplotlib."""
    spec = importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise Unusable("no photograph: install matplotlib, which ships one, or name your own with --image FILE")
    return Path(spec.origin).parent / "mpl-data" / "sample_data" / "grace_hopper.jpg"


def load(path: Path) -> np.ndarray:
    """The picture as 8-bit grey, one byte a pixel, row after row."""
    try:
        with Image.open(path, formats=["PNG", "JPEG"]) as picture:
            grey = np.ascontiguousarray(picture.convert("L"))
    except FileNotFoundError:
        raise Unusable(f"{path}: there is no such file") from None
    except Image.UnidentifiedImageError:
        raise Unusable(f"{path}: not a picture that can be read here; give a PNG or a JPEG") from None
    except Image.DecompressionBombError as error:
        raise Unusable(f"{path}: {error}") from None
    except (OSError, SyntaxError, ValueError) as error:  # Pillow: a truncated or damaged picture
        raise Unusable(f"{path}: the picture cannot be read: {error}") from None
    return grey


def fit(grey: np.ndarray, console: Console) -> np.ndarray:
    """The core takes rows of 3 to 4096 pixels: make a larger picture smaller, and say so."""
    height, width = grey.shape
    if width < 3:
        raise Unusable(f"the picture is {width} pixels wide; the core needs at least 3")
    if width <= WIDEST:
        return grey
    smaller = (WIDEST, max(1, round(height * WIDEST / width)))
    console.print(f"The core takes rows of at most {WIDEST} pixels: the picture of {width} x {height} is made smaller.")
    return np.ascontiguousarray(Image.fromarray(grey).resize(smaller))


def writable(path: Path) -> None:
    """Find out before the work, not after it, that a result cannot be stored."""
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise Unusable(f"{path}: cannot be written: {error.strerror}; choose another place") from None
    if not existed:
        path.unlink()


def store(path: Path, write: Callable[[Path], object]) -> None:
    """Write a result; a disk that fills up on the way leaves no half of one."""
    try:
        write(path)
    except OSError as error:
        if path.is_file():
            path.unlink()
        raise Unusable(f"{path}: cannot be written: {error.strerror or error}; make room, or choose another place") from None


def sobel(grey: np.ndarray) -> np.ndarray:
    """What the core computes: |gx| + |gy|, at most 255, and 0 on the picture's border."""
    edges = np.zeros_like(grey)
    height, width = grey.shape
    if height >= 3 and width >= 3:
        p = grey.astype(np.int16)
        top, middle, bottom = p[:-2], p[1:-1], p[2:]
        gx = (top[:, 2:] + 2 * middle[:, 2:] + bottom[:, 2:]) - (top[:, :-2] + 2 * middle[:, :-2] + bottom[:, :-2])
        gy = (bottom[:, :-2] + 2 * bottom[:, 1:-1] + bottom[:, 2:]) - (top[:, :-2] + 2 * top[:, 1:-1] + top[:, 2:])
        edges[1:-1, 1:-1] = np.minimum(np.abs(gx) + np.abs(gy), 255)
    return edges


@dataclass
class Direction:
    """One direction's bytes and when they moved, in the card's time."""

    bytes: int
    nanoseconds: int
    percent_of_wire: float | None  # None on a board, whose link cannot be asked

    @classmethod
    def measured(cls, bytes: int, nanoseconds: int, wire: towpath.Wire | None, payload: int, overhead: int) -> Direction:
        """Against the strict limit: every packet full, each with its header and framing, back to back."""
        percent = None
        if wire is not None and nanoseconds > 0:
            limit = wire.bytes_per_us / 1000 * payload / (payload + overhead)  # bytes per nanosecond
            percent = round(100 * bytes / nanoseconds / limit, 2)
        return cls(bytes, nanoseconds, percent)


# Bytes of each packet which are not payload: framing, and a header of three words (completions) or four (writes, 64-bit addresses).
COMPLETION_OVERHEAD = 8 + 12
WRITE_OVERHEAD = 8 + 16


def filter_on_card(card: towpath.Device, grey: np.ndarray, moved: Callable[[int], None]) -> tuple[np.ndarray, Direction, Direction]:
    """Send the picture and receive its edges at the same time, from one thread, by tickets."""
    height, width = grey.shape
    card.registers["width"] = width
    card.registers["height"] = height
    edges = np.empty_like(grey)
    outgoing, incoming = memoryview(grey).cast("B"), memoryview(edges).cast("B")
    pieces = [(at, min(at + PIECE, grey.size)) for at in range(0, grey.size, PIECE)]
    to_send, to_receive = deque(pieces), deque(pieces)
    sending: deque[towpath.Ticket] = deque()
    receiving: deque[towpath.Ticket] = deque()

    start = sent_at = card.now_ns()
    while sending or receiving or to_send or to_receive:
        while to_receive and len(receiving) < QUEUED:
            first, last = to_receive.popleft()
            receiving.append(card.submit_recv("edges", incoming[first:last]))
        while to_send and len(sending) < QUEUED:
            first, last = to_send.popleft()
            sending.append(card.submit_send("pixels", outgoing[first:last], end=last == grey.size))
        if sending:
            sending.popleft().wait(timeout=1)
            sent_at = card.now_ns()
        # While there is more to send, take only what is there; a wait would leave the other direction idle.
        while receiving and (not sending or receiving[0].done()):
            moved(receiving.popleft().wait(timeout=1).bytes)
    received_at = card.now_ns()

    wire = card.wire()
    h2c = Direction.measured(grey.size, sent_at - start, wire, wire.completion_payload if wire else 0, COMPLETION_OVERHEAD)
    c2h = Direction.measured(edges.size, received_at - start, wire, wire.max_payload if wire else 0, WRITE_OVERHEAD)
    return edges, h2c, c2h


def side_by_side(grey: np.ndarray, edges: np.ndarray, path: Path) -> None:
    """The original and its edges in one picture."""
    gap = np.full((grey.shape[0], 8), 255, dtype=np.uint8)
    Image.fromarray(np.hstack([grey, gap, edges])).save(path, format="PNG")


def report(console: Console, h2c: Direction, c2h: Direction) -> None:
    table = Table()
    for heading in ("direction", "bytes", "simulated time" if h2c.percent_of_wire is not None else "time", "of the wire limit"):
        table.add_column(heading, justify="left" if heading == "direction" else "right")
    for name, d in (("host to card (H2C)", h2c), ("card to host (C2H)", c2h)):
        percent = "-" if d.percent_of_wire is None else f"{d.percent_of_wire:.1f} %"
        table.add_row(name, f"{d.bytes:,}", f"{d.nanoseconds / 1000:,.1f} us", percent)
    console.print(table)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", type=Path, metavar="FILE", help="a PNG or JPEG (default: a photograph that ships with matplotlib)")
    parser.add_argument("--output", type=Path, metavar="FILE", default=Path("edges.png"), help="the result (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    console = Console()
    try:
        image = options.image or shipped_photograph()
        grey = fit(load(image), console)
        for path in filter(None, (options.output, options.json)):
            writable(path)
        console.print(f"{image}: {grey.shape[1]} x {grey.shape[0]} pixels of 8-bit grey", soft_wrap=True)
        name = os.environ.get("TOWPATH_DEVICE") or "sim:sobel"
        # On a terminal the package itself says what it does: whether it compiles the core or has it from the cache.
        if not sys.stderr.isatty():
            logging.basicConfig(format="%(message)s")
            logging.getLogger("towpath").setLevel(logging.INFO)
        console.print(f"Opening {name} ...", soft_wrap=True)
        with towpath.open(name) as card:
            columns = (TextColumn("edges"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
            with Progress(*columns, console=console) as progress:
                task = progress.add_task("edges", total=grey.size)
                edges, h2c, c2h = filter_on_card(card, grey, lambda n: progress.advance(task, n))
        expected = sobel(grey)
        identical = bool(np.array_equal(edges, expected))
        report(console, h2c, c2h)
        store(options.output, lambda path: side_by_side(grey, edges, path))
        if options.json:
            result = {"identical": identical, "image": str(image), "output": str(options.output), "h2c": asdict(h2c), "c2h": asdict(c2h)}
            store(options.json, lambda path: path.write_text(json.dumps(result, indent=2) + "\n"))
    except Unusable as error:
        print(f"edges: {error}", file=sys.stderr)
        return 2
    except towpath.Error as error:
        print(f"edges: {error}", file=sys.stderr)
        return 1
    if not identical:
        y, x = np.argwhere(edges != expected)[0]
        wrong = int(np.count_nonzero(edges != expected))
        print(
            f"edges: {wrong} of {grey.size} bytes differ from the host's filter; the first at column {x}, row {y}: "
            f"{edges[y, x]} instead of {expected[y, x]}",
            file=sys.stderr,
        )
        return 1
    console.print(f"Identical to the same filter on the host, all {grey.size:,} bytes. The picture: {options.output}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
