# SPDX-License-Identifier: Apache-2.0
"""The stand-in for a GPU's driver (standin.c), as tests use it: compiled once a session, arrays in "its" memory, streams, faults.

No GPU is involved. What is measured with it says nothing about one.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("standin.c")
LIBRARY = "TOWPATH_CUDA_LIBRARY"
PRIMARY, OWN, NONE = 1, 0, 2


def build(folder: Path) -> Path:
    library = folder / "libstandin.so"
    command = ["gcc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", SOURCE, "-o", library]
    subprocess.run(command, check=True)
    return library


class StandIn:
    """The loaded library. Its path is in the environment, so that Towpath loads the same one."""

    def __init__(self, library: Path) -> None:
        os.environ[LIBRARY] = str(library)
        self.calls = ctypes.CDLL(str(library))
        for name in ("standin_allocate", "standin_segments", "standin_stream", "standin_legacy"):
            getattr(self.calls, name).restype = ctypes.c_uint64

    def allocate(self, size: int, *, device: int = 0, misalignment: int = 0, where: int = PRIMARY) -> int:
        address = self.calls.standin_allocate(device, ctypes.c_size_t(size), ctypes.c_size_t(misalignment), where)
        assert address, "the stand-in's memory is used up"
        return int(address)

    def segments(self, segment: int, count: int, *, device: int = 0) -> int:
        return int(self.calls.standin_segments(device, ctypes.c_size_t(segment), count))

    def free(self, address: int) -> None:
        self.calls.standin_free(ctypes.c_uint64(address))

    def manage(self, address: int) -> None:
        self.calls.standin_manage(ctypes.c_uint64(address))

    def poke(self, address: int, data: bytes) -> None:
        self.calls.standin_poke(ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

    def peek(self, address: int, size: int) -> bytes:
        room = ctypes.create_string_buffer(size)
        self.calls.standin_peek(ctypes.c_uint64(address), room, ctypes.c_size_t(size))
        return room.raw

    def stream(self, *, device: int = 0, where: int = PRIMARY) -> Stream:
        return Stream(self, int(self.calls.standin_stream(device, where)))

    def legacy(self, device: int) -> Stream:
        """The legacy default stream of a device, for this thread's calls; it has a context current from now on."""
        self.calls.standin_make_current(device)
        return Stream(self, int(self.calls.standin_legacy()))

    @contextmanager
    def failing(self, call: str, code: int, *, after: int = 0, times: int = 1_000_000) -> Iterator[None]:
        self.calls.standin_fail(call.encode(), code, after, times)
        try:
            yield
        finally:
            self.calls.standin_fail(b"", 0, 0, 0)

    @contextmanager
    def planted(self, fault: str) -> Iterator[None]:
        self.calls.standin_plant(fault.encode())
        try:
            yield
        finally:
            self.calls.standin_plant(b"")


class Stream:
    """A stream, with what a program's kernels would do there. It names itself as cuda.core's streams do."""

    def __init__(self, standin: StandIn, handle: int) -> None:
        self.standin = standin
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def fill(self, to: int, size: int, value: int, microseconds: int = 0) -> None:
        self.standin.calls.standin_fill(
            ctypes.c_void_p(self.handle), ctypes.c_uint64(to), ctypes.c_size_t(size), ctypes.c_uint32(value), microseconds
        )

    def add(self, to: int, source: int, size: int, value: int, microseconds: int = 0) -> None:
        self.standin.calls.standin_add(
            ctypes.c_void_p(self.handle),
            ctypes.c_uint64(to),
            ctypes.c_uint64(source),
            ctypes.c_size_t(size),
            ctypes.c_uint32(value),
            microseconds,
        )

    def done(self, milliseconds: int) -> bool:
        """Wait until all of it is done, for so long at most."""
        return bool(self.standin.calls.standin_wait(ctypes.c_void_p(self.handle), milliseconds))

    def block(self, milliseconds: int) -> bool:
        """As `done`, while no call of the driver's goes on in other threads."""
        return bool(self.standin.calls.standin_block(ctypes.c_void_p(self.handle), milliseconds))

    def capture(self, on: bool) -> None:
        self.standin.calls.standin_capture(ctypes.c_void_p(self.handle), int(on))


def filled(size: int, value: int) -> bytes:
    """What `Stream.fill` writes."""
    return bytes((value + index * 7 + (index >> 8)) & 0xFF for index in range(size))


class Array:
    """An array in the stand-in's memory, by the CUDA array interface alone, as Numba's are."""

    def __init__(
        self,
        standin: StandIn,
        data: bytes,
        *,
        address: int | None = None,
        misalignment: int = 0,
        where: int = PRIMARY,
        device: int = 0,
        stream: int | None = None,
        pointer: tuple[int, bool] | None = None,
        **interface: Any,
    ) -> None:
        self.standin = standin
        self.size = len(data)
        found = standin.allocate(max(1, len(data)), misalignment=misalignment, where=where, device=device) if address is None else address
        self.address = found
        standin.poke(found, data)
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (len(data),),
            "typestr": "|u1",
            "data": pointer or (found, False),
            "strides": None,
            "stream": stream,
            **interface,
        }

    def bytes(self) -> bytes:
        return self.standin.peek(self.address, self.size)


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Old(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class Tensor:
    """An array in the stand-in's memory, by DLPack alone: of version 1 or older, with strides in items.

    `current` is its library's stream, as PyTorch's is: an export makes the stream that it is given wait for it.
    """

    def __init__(
        self,
        standin: StandIn,
        data: bytes,
        *,
        shape: tuple[int, ...] | None = None,
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
        kind: int = 2,
        device: int = 0,
        read_only: bool = False,
        old: bool = False,
        current: Stream | None = None,
    ) -> None:
        self.standin, self.size, self.offset, self.kind, self.device = standin, len(data), offset, kind, device
        self.base = standin.allocate(max(1, offset + len(data)), device=device)
        standin.poke(self.base + offset, data)
        self.old, self.read_only, self.current = old, read_only, current
        self.shape = shape or (len(data),)
        self.strides = strides
        self.exports = 0

    @property
    def address(self) -> int:
        return self.base + self.offset

    def bytes(self) -> bytes:
        return self.standin.peek(self.address, self.size)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, self.device)

    def __dlpack__(self, **keywords: Any) -> object:
        if self.old and "max_version" in keywords:
            raise TypeError("unexpected keyword argument 'max_version'")
        stream = keywords["stream"]
        assert isinstance(stream, int) and stream > 0, "0 is ambiguous, says the protocol"
        if self.current is not None:
            self._join(stream, self.current)
        self.exports += 1
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        strides = (ctypes.c_int64 * len(self.shape))(*self.strides) if self.strides else None
        at = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        tensor = _Tensor(self.base, (self.kind, self.device), len(self.shape), 1, 8, 1, shape, at, self.offset)
        if self.old:
            managed: ctypes.Structure = _Old(tensor, None, None)
            name = b"dltensor"
        else:
            managed = _Versioned((1, 1), None, None, int(self.read_only), tensor)
            name = b"dltensor_versioned"
        self._keep = (managed, shape, strides, name)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(managed), name, None)

    def _join(self, stream: int, current: Stream) -> None:
        calls, event = self.standin.calls, ctypes.c_void_p()
        calls.standin_make_current(self.device)
        assert calls.cuEventCreate(ctypes.byref(event), 2) == 0
        assert calls.cuEventRecord(event, ctypes.c_void_p(current.handle)) == 0
        assert calls.cuStreamWaitEvent(ctypes.c_void_p(stream), event, 0) == 0
