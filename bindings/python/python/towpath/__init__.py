# SPDX-License-Identifier: Apache-2.0
"""Towpath: data between this program and a user core on an FPGA over PCI Express, on a board or in simulation.

    with towpath.open("sim:loopback") as card:
        card["in"].send(b"hello")
        print(card["out"].recv())

Times are in seconds of the card's own time, which is simulated for `sim:` devices, and for asyncio of the event loop's; None waits
without a limit. A limit belongs to one call, and ends its own transfer alone. A device may be used from several threads; the interpreter's
lock is released while a call waits, and a signal handler that raises ends the main thread's call. A child of fork may not use its parent's
card.

Buffers are anything C-contiguous: bytes, memoryview, array, mmap, ctypes arrays and structures, NumPy arrays and scalars. They are not
copied, and read-only ones may be sent. Allocate a buffer for many transfers with `card.allocate`, which registers it once.

The library's messages are records of logging, by module: the loggers "towpath" and "towpath_userspace", "towpath_kmod", "towpath_vfio",
"towpath_vfio_user", "towpath_sim" with what is below them. Their handlers may be called from any thread, and must not use a card.
"""

from __future__ import annotations

import logging
import os
import sys

from towpath import _home, _towpath
from towpath._channel import Channel
from towpath._device import Device
from towpath._errors import (
    ArgumentTypeError,
    CoreError,
    DeviceError,
    Error,
    NoInterruptError,
    NotFoundError,
    QueueFullError,
    RangeError,
    RegisterError,
    TimeoutError,
    TransferError,
    UsageError,
    VersionError,
)
from towpath._fanout import Fanout, FanoutPort
from towpath._file import MessageFile
from towpath._frames import Frames
from towpath._kind import Kind
from towpath._memory import CardMemory, Memories, Window
from towpath._plugins import Clock, Partial, Plugins, Reset, TlpLog
from towpath._towpath import Buffer, Interrupt, Interrupts, Pair, Plugin, Registers, StreamTransfer, Ticket, WindowPart, __version__
from towpath._types import (
    ChannelInfo,
    ClockStatus,
    Held,
    Info,
    LinkCounters,
    Listing,
    MemoryInfo,
    MessageStart,
    PairStatus,
    Parted,
    PartialStatus,
    PluginInfo,
    Qos,
    Received,
    ResetStatus,
    Staged,
    Statistics,
    TlpCounts,
    TlpEntry,
    TlpFilter,
    Wire,
)

__all__ = [
    "ArgumentTypeError",
    "Buffer",
    "CardMemory",
    "Channel",
    "ChannelInfo",
    "Clock",
    "ClockStatus",
    "CoreError",
    "Device",
    "DeviceError",
    "Error",
    "Held",
    "Fanout",
    "FanoutPort",
    "Frames",
    "Info",
    "Interrupt",
    "Interrupts",
    "Kind",
    "LinkCounters",
    "Listing",
    "Memories",
    "MemoryInfo",
    "MessageFile",
    "MessageStart",
    "NoInterruptError",
    "NotFoundError",
    "Pair",
    "PairStatus",
    "Parted",
    "Partial",
    "PartialStatus",
    "Plugin",
    "PluginInfo",
    "Plugins",
    "Qos",
    "QueueFullError",
    "RangeError",
    "Received",
    "RegisterError",
    "Registers",
    "Reset",
    "ResetStatus",
    "Staged",
    "Statistics",
    "StreamTransfer",
    "Ticket",
    "TimeoutError",
    "TlpCounts",
    "TlpEntry",
    "TlpFilter",
    "TlpLog",
    "TransferError",
    "UsageError",
    "VersionError",
    "Window",
    "WindowPart",
    "Wire",
    "__version__",
    "connect",
    "devices",
    "open",
]


def open(name: str | os.PathLike[str] | None = None, **options: str | int | float | bool | os.PathLike[str]) -> Device:
    """Open a device: "sim:CORE" (a core's name or folder), "vfio:0000:65:00.0" or the address alone (a card in this machine),
    "/dev/towpath0" (one that the kernel module holds), "vfio-user:SOCKET" (a card in another process), "#2" or "serial:0x5eed" (a card by
    its place in `devices` or by its serial number), or the value of TOWPATH_DEVICE, or the first card in this machine.

    The options are the device's own, such as trace="wave.fst" or latency=1000 for a simulated one. Its core is compiled on first use; a
    terminal and the logger "towpath" show the progress. The core's own output goes to standard error.
    """
    _home.prepare()
    return Device(name, {key: _text(value) for key, value in options.items()}, progress=_progress, print=_print)


def connect(source: Channel, sink: Channel, *, slot_bytes: int | None = None) -> Pair:
    """Let the user core behind `source`, on one card, send to the user core behind `sink`, on another card, without the host.

        with towpath.connect(one["out"], other["in"]):
            one["in"].send(b"hello")  # what comes from the first card's core is the second one's
            print(other["out"].recv())

    Messages go as they are, with their length, offset and user word. Both streams need `peer = true` in their cores' manifests. Until
    `disconnect`, receiving from `source` and sending to `sink` raise UsageError. UsageError, too, while either has transfers in flight, or
    a message of which the program has moved a part and not the end, and where one card cannot reach the other: simulated cards of
    one world can, and boards that the program opens through VFIO.

    `slot_bytes`, a power of two from 128 to 4096 and no more than a quarter of the inbox, is what leaves the card at once.
    """
    return Pair(source, sink, slot_bytes=slot_bytes)


def devices() -> list[Listing]:
    """The devices that can be opened now: cards in their order, and a simulated one for each core found."""
    _home.prepare()
    return _towpath.devices()


def _progress(line: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(line, file=sys.stderr)
    logging.getLogger("towpath").info("%s", line)


def _print(line: str) -> None:
    print(line.rstrip("\n"), file=sys.stderr)


def _text(value: str | int | float | bool | os.PathLike[str]) -> str:
    return str(value).lower() if isinstance(value, bool) else os.fspath(value) if isinstance(value, os.PathLike) else str(value)
