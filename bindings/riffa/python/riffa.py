# SPDX-License-Identifier: Apache-2.0
"""RIFFA's calls for Python, over libriffa.so: the names, arguments and results of RIFFA's own module. riffa.h says what each call promises.

Memory is anything with a buffer: an array, a bytearray, a numpy array. `fpga_recv` has no length: it is the memory's.
"""

from __future__ import annotations

import ctypes
from typing import Any

NUM_FPGAS = 5

_library = ctypes.CDLL("libriffa.so.1")
_library.fpga_list.argtypes = [ctypes.c_void_p]
_library.fpga_open.argtypes = [ctypes.c_int]
_library.fpga_open.restype = ctypes.c_void_p
_library.fpga_close.argtypes = [ctypes.c_void_p]
_library.fpga_close.restype = None
_library.fpga_send.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, *[ctypes.c_int] * 3, ctypes.c_longlong]
_library.fpga_recv.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong]
_library.fpga_reset.argtypes = [ctypes.c_void_p]
_library.fpga_reset.restype = None


class FpgaInfoList(ctypes.Structure):
    """The cards: the first `num_fpgas` places of each array."""

    _fields_ = [
        ("num_fpgas", ctypes.c_int),
        ("id", ctypes.c_int * NUM_FPGAS),
        ("num_chnls", ctypes.c_int * NUM_FPGAS),
        ("name", (ctypes.c_char * 16) * NUM_FPGAS),
        ("vendor_id", ctypes.c_int * NUM_FPGAS),
        ("device_id", ctypes.c_int * NUM_FPGAS),
    ]

    def __str__(self) -> str:
        lines = [f"num fpgas: {self.num_fpgas}"]
        for place in range(self.num_fpgas):
            lines.append(f"fpga ({place}) id: {self.id[place]}")
            lines.append(f"fpga ({place}) name: {self.name[place].value.decode()}")
            lines.append(f"fpga ({place}) num_chnls: {self.num_chnls[place]}")
            lines.append(f"fpga ({place}) vendor_id: {self.vendor_id[place]:x}")
            lines.append(f"fpga ({place}) device_id: {self.device_id[place]:x}")
        return "\n".join(lines)


def _words(data: Any, to_read: bool) -> tuple[Any, int]:
    """What a call is given for a buffer: its memory, and how many whole words it has."""
    view = memoryview(data).cast("B")
    words = view.nbytes // 4
    if not to_read or not view.readonly:
        return (ctypes.c_char * view.nbytes).from_buffer(view), words
    # ctypes has no address for memory that may not be changed.
    return (ctypes.c_uint32 * (words + 1)).from_buffer_copy(view.tobytes() + bytes(8)), words


def fpga_list() -> FpgaInfoList | None:
    """The cards; None on an error."""
    found = FpgaInfoList()
    return found if _library.fpga_list(ctypes.byref(found)) == 0 else None


def fpga_open(id: int) -> int | None:
    """A handle of the card with this id; None on an error."""
    handle: int | None = _library.fpga_open(id)
    return handle


def fpga_close(fd: int | None) -> None:
    """Closes the card."""
    _library.fpga_close(fd)


def fpga_send(fd: int | None, chnl: int, data: Any, length: int, destoff: int, last: bool, timeout: int) -> int:
    """Sends `length` words of `data`, or as many as there are. Returns how many the card took, or a negative number."""
    memory, words = _words(data, to_read=True) if length > 0 else (None, 0)
    sent: int = _library.fpga_send(fd, chnl, memory, min(length, words), destoff, 1 if last else 0, timeout)
    return sent


def fpga_recv(fd: int | None, chnl: int, data: Any, timeout: int) -> int:
    """Receives into `data`. Returns the words of the last transaction, or a negative number."""
    memory, words = _words(data, to_read=False) if data is not None else (None, 0)
    received: int = _library.fpga_recv(fd, chnl, memory, words, timeout)
    return received


def fpga_reset(fd: int | None) -> None:
    """Resets the card."""
    _library.fpga_reset(fd)
