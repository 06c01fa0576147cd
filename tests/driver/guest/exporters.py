# SPDX-License-Identifier: Apache-2.0
"""Those who export dma-bufs, for tests: one of our own that takes them back (../exporter), and the kernel's."""

from __future__ import annotations

import ctypes
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from asking import U32, U64

EXPORT, TAKE_BACK, IMPORTERS = (ord("x") << 8 | at for at in range(3))
READ_ONLY = 0x10000
# Wrong in what it maps: nothing, beyond what any device reaches, not all.
RAW, BEYOND, SHORT = 0x20000, 0x40000, 0x80000
# What memory is filled with that was taken back.
OVERWRITTEN = b"\xee"
PAGE = 4096


class Exporter:
    """Of our own; its module is loaded."""

    def __init__(self) -> None:
        self.file = os.open("/dev/towpath-exporter", os.O_RDWR)

    def export(self, count: int, flags: int = 0) -> int:
        return fcntl.ioctl(self.file, EXPORT, -(-count // PAGE) | flags)

    def take_back(self, descriptor: int) -> None:
        """Its memory is overwritten then, and no importer has it, or this fails."""
        fcntl.ioctl(self.file, TAKE_BACK, descriptor)

    def importers(self, descriptor: int) -> int:
        """How often it is mapped."""
        return fcntl.ioctl(self.file, IMPORTERS, descriptor)


class HeapAllocation(ctypes.Structure):
    """struct dma_heap_allocation_data"""

    _fields_ = (("bytes", U64), ("descriptor", U32), ("descriptor_flags", U32), ("heap_flags", U64))


def from_heap(count: int, flags: int = os.O_RDWR) -> int:
    """Of the system's heap."""
    wanted = HeapAllocation(bytes=count, descriptor_flags=flags | os.O_CLOEXEC)
    with opened("/dev/dma_heap/system") as heap:
        fcntl.ioctl(heap, 3 << 30 | ctypes.sizeof(wanted) << 16 | ord("H") << 8, wanted)
    return int(wanted.descriptor)


class UdmabufCreate(ctypes.Structure):
    """struct udmabuf_create"""

    _fields_ = (("memory", U32), ("flags", U32), ("offset", U64), ("bytes", U64))


def from_memory_file(count: int) -> int:
    """Of a file in memory, by udmabuf."""
    memory = os.memfd_create("towpath", os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(memory, -(-count // PAGE) * PAGE)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        wanted = UdmabufCreate(memory=memory, flags=1, offset=0, bytes=-(-count // PAGE) * PAGE)
        with opened("/dev/udmabuf") as maker:
            return fcntl.ioctl(maker, 1 << 30 | ctypes.sizeof(wanted) << 16 | ord("u") << 8 | 0x42, wanted)
    finally:
        os.close(memory)


@contextmanager
def opened(path: str) -> Iterator[int]:
    file = os.open(path, os.O_RDWR)
    try:
        yield file
    finally:
        os.close(file)
