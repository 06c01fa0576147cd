# SPDX-License-Identifier: Apache-2.0
"""What every structure of every call has in common: bad addresses, sizes, flags and reserved fields are refused."""

from __future__ import annotations

import ctypes
import errno
import os

import pytest
import queueing as q
from asking import (
    CARD_INFO,
    CHANNEL_INFO,
    CHANNEL_QOS,
    INTERRUPT,
    REGISTER,
    WINDOW,
    CardInfo,
    ChannelInfo,
    Interrupt,
    Qos,
    Register,
    Window,
    opened,
)
from inside import LIBC, Card
from queueing import queue

# On which file, and the flags that are known.
CALLS = {
    "card info": ("control", CARD_INFO, CardInfo, 0),
    "channel info": ("control", CHANNEL_INFO, ChannelInfo, 0),
    "window": ("control", WINDOW, Window, 0),
    "register": ("control", REGISTER, Register, 1),
    "interrupt": ("control", INTERRUPT, Interrupt, 1),
    "interrupt event": ("control", q.number(q.InterruptEvent, 0x75), q.InterruptEvent, 0),
    "link counters": ("control", q.LINK_COUNTERS, q.LinkCounters, 0),
    "register buffer": ("control", q.REGISTER_BUFFER, q.RegisterBuffer, 3),
    "unregister buffer": ("control", q.UNREGISTER_BUFFER, q.UnregisterBuffer, 0),
    "allocate buffer": ("control", q.ALLOCATE_BUFFER, q.AllocateBuffer, 3),
    "import buffer": ("control", q.IMPORT_BUFFER, q.ImportBuffer, 3),
    "channel qos": ("control", CHANNEL_QOS, Qos, 7),
    "queue": ("file", q.QUEUE, q.MakeQueue, 1),
    "exchange": ("queue", q.EXCHANGE, q.Exchange, 0),
    "message start": ("queue", q.MESSAGE_START, q.MessageStart, 0),
    "fill level": ("queue", q.FILL_LEVEL, q.Level, 7),
    "moderation": ("queue", q.MODERATION, q.Moderation, 0),
    "statistics of a file": ("file", q.CHANNEL_STATISTICS, q.Statistics, 0),
    "statistics of a queue": ("queue", q.CHANNEL_STATISTICS, q.Statistics, 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call(card: Card, control: int, name: str) -> None:
    kind, command, structure, known = CALLS[name]
    with (
        opened(card.files["in"], os.O_WRONLY) as file,
        queue(card.files["out"], os.O_RDONLY, control, announce=True) as made,
    ):
        where = {"control": control, "file": file, "queue": made.file}[kind]

        def error(argument: object) -> str:
            return "none" if LIBC.ioctl(where, ctypes.c_ulong(command), argument) == 0 else errno.errorcode[ctypes.get_errno()]

        size = ctypes.sizeof(structure)
        for address in (0, 4096, 1 << 46, 2**64 - size):
            assert error(ctypes.c_void_p(address)) == "EFAULT"
        for argsz, wanted in ((0, "EINVAL"), (7, "EINVAL"), (4097, "E2BIG"), (2**32 - 1, "E2BIG")):
            image = (ctypes.c_char * (size + 64))()
            image[:4] = argsz.to_bytes(4, "little")
            assert error(image) == wanted, f"argsz {argsz}"
        for more in (1, 64):
            image = (ctypes.c_char * (size + 64))()
            image[:4] = (size + more).to_bytes(4, "little")
            image[size + more - 1] = 1
            assert error(image) == "E2BIG", "what this driver does not know must be zero"
        for flag in range(32):
            if not known & 1 << flag:
                assert error(ctypes.byref(structure(argsz=size, flags=1 << flag))) == "EINVAL", f"flag {flag}"
        at = getattr(structure, "reserved", None)
        for byte in range(at.offset, at.offset + at.size) if at else ():
            image = (ctypes.c_char * size)()
            image[:8] = size.to_bytes(4, "little") + (1 if "buffer" in name and known else 0).to_bytes(4, "little")
            image[byte] = 0x80
            assert error(image) == "EINVAL", f"byte {byte}"


def test_buffers_of_nothing(control: int) -> None:
    """And for no way at all."""
    memory = q.Memory(4096)
    for structure, command in ((q.RegisterBuffer, q.REGISTER_BUFFER), (q.AllocateBuffer, q.ALLOCATE_BUFFER)):
        for flags, count in ((q.TO_CARD, 0), (0, 4096)):
            argument = structure(flags=flags, bytes=count, **({"address": memory.address} if structure is q.RegisterBuffer else {}))
            assert q.error_of(q.ask, control, command, argument) == "EINVAL"
    assert q.error_of(q.ask, control, q.IMPORT_BUFFER, q.ImportBuffer(flags=0, dmabuf=control)) == "EINVAL"
