# SPDX-License-Identifier: Apache-2.0
"""Where the card cannot reach all memory, the kernel copies to and from memory that it can: only what was moved, not whole buffers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asking import opened, read_exactly
from inside import Card, Module, until

TRACING = Path("/sys/kernel/tracing")
BOUNCES = "swiotlb=force" in Path("/proc/cmdline").read_text().split()
pytestmark = pytest.mark.skipif(not BOUNCES, reason="here the card reaches all memory")


@pytest.fixture(autouse=True)
def loaded(driver: Module, card: Card) -> None:
    until(lambda: "out" in card.files, "the card's files are there")


@contextmanager
def bounced() -> Iterator[list[int]]:
    """How many bytes the kernel copied at a time, meanwhile."""
    sizes: list[int] = []
    (TRACING / "kprobe_events").write_text("p:bounce/copy swiotlb_bounce bytes=%dx:u64")
    (TRACING / "trace").write_text("")
    (TRACING / "events/bounce/enable").write_text("1")
    try:
        yield sizes
    finally:
        (TRACING / "events/bounce/enable").write_text("0")
        sizes += map(int, re.findall(r"copy: .*bytes=(\d+)", (TRACING / "trace").read_text()))
        (TRACING / "kprobe_events").write_text("")


@pytest.mark.parametrize("count", [1, 100, 4096, 65536, 200_000])
def test_only_what_was_moved_is_copied(card: Card, count: int) -> None:
    """By read() and write() of one page, there and back: one copy each way. What is longer moves in place, by whole pages."""
    data = os.urandom(count)
    files = card.files
    with opened(files["out"], os.O_RDONLY) as back, opened(files["in"], os.O_WRONLY | os.O_DIRECT) as to, bounced() as sizes:
        os.write(to, data)
        found = read_exactly(back, count)
    assert found == data
    assert sum(sizes) >= 2 * count
    if count <= 4096:
        assert sizes == [count, count]
    else:
        assert sum(sizes) <= 4 * count + (16 << 10)
