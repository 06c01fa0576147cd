# SPDX-License-Identifier: Apache-2.0
"""Towpath: data between this program and a user core on an FPGA over PCI Express, on a board or in simulation.

    with towpath.open("sim:loopback") as card:
        card.send("in", b"hello")
        print(card.recv("out"))

Times are in seconds of the card's own time, which is simulated for `sim:` devices; None waits for ever. A device may be used from several
threads; the interpreter's lock is released while a call waits. Buffers are anything C-contiguous: bytes, memoryview, array, mmap, NumPy
arrays. They are not copied, and read-only ones may be sent.

The library's messages are records of logging, by module: the loggers "towpath" and "towpath_driver", "towpath_linux", "towpath_vfio",
"towpath_vfio_user", "towpath_sim" with what is below them. Their handlers may be called from any thread, and must not use a card.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import weakref
from typing import TYPE_CHECKING

from towpath import _home, _towpath
from towpath._errors import (
    CoreError,
    DeviceError,
    Error,
    NoInterruptError,
    NotFoundError,
    RegisterError,
    TimeoutError,
    TransferError,
    UsageError,
    VersionError,
)
from towpath._towpath import Interrupt, Interrupts, Registers, Ticket, __version__
from towpath._types import Channel, Info, LinkCounters, Listing, MessageStart, Received, Wire

if TYPE_CHECKING:
    from typing import TypeAlias, TypeVar

    from towpath._types import Memory

    _K = TypeVar("_K")
    _V = TypeVar("_V")
    _ByLoop: TypeAlias = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_K, _V]]

__all__ = [
    "Channel",
    "CoreError",
    "Device",
    "DeviceError",
    "Error",
    "Info",
    "Interrupt",
    "Interrupts",
    "LinkCounters",
    "Listing",
    "MessageStart",
    "NoInterruptError",
    "NotFoundError",
    "Received",
    "RegisterError",
    "Registers",
    "Ticket",
    "TimeoutError",
    "TransferError",
    "UsageError",
    "VersionError",
    "Wire",
    "__version__",
    "devices",
    "open",
]


class Device(_towpath.Device):
    """An open card. Use it in a `with` statement, or call `close`: an open channel belongs to one device object alone.

    What is here beside the extension module's own methods is for asyncio. Cancelling such a call cancels its own transfer, and no other:
    what had come by then is in the buffer, what had not is still on the card.
    """

    async def asend(
        self,
        channel: str | int,
        buffer: Memory,
        *,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
    ) -> int:
        """As `send`, but the event loop runs on meanwhile. Returns the bytes sent. Limit the time with `asyncio.timeout`."""
        async with self._room(channel):
            ticket = self.submit_send(channel, buffer, end=end, length=length, offset=offset, user=user)
            return (await _completion(ticket)).bytes

    async def arecv_into(self, channel: str | int, buffer: Memory) -> Received:
        """As `recv_into`, but the event loop runs on meanwhile. Limit the time with `asyncio.timeout`."""
        async with self._room(channel):
            return await _completion(self.submit_recv(channel, buffer))

    def _room(self, channel: str | int) -> asyncio.Semaphore:
        """Keeps the transfers which wait here below the card's queue; a message with attributes takes two places."""
        info = self.channel(channel)
        by_loop: _ByLoop[int, asyncio.Semaphore] = self.__dict__.setdefault("_rooms", weakref.WeakKeyDictionary())
        rooms = by_loop.setdefault(asyncio.get_running_loop(), {})
        return rooms.setdefault(info.number, asyncio.Semaphore(max(1, info.queue_depth // 2)))


def open(name: str | None = None, **options: str | int | float | bool | os.PathLike[str]) -> Device:
    """Open a device: "sim:CORE" (a core's name or folder), "vfio:0000:65:00.0" or the address alone (a card in this machine),
    "/dev/towpath0" (one that the kernel module holds), "vfio-user:SOCKET" (a card in another process), "#2" or "serial:0x5eed" (a card by
    its place in `devices` or by its serial number), or what TOWPATH_DEVICE says, or the first card in this machine.

    The options are the device's own, such as trace="wave.fst" or latency=1000 for a simulated one. Its core is compiled on first use,
    which is told on a terminal and to the logger "towpath"; what the core prints goes to standard error.
    """
    _home.prepare()
    return Device(name, {key: _text(value) for key, value in options.items()}, progress=_progress, print=_print)


def devices() -> list[Listing]:
    """The devices that can be opened now: cards in their order, and a simulated one for each core that is found."""
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


_sleepers: _ByLoop[int, set[asyncio.Future[None]]] = weakref.WeakKeyDictionary()


async def _completion(ticket: Ticket) -> Received:
    """The ticket's result. `poll` arms the channel's eventfd when there is none yet, so no wake-up is lost between it and the sleep."""
    try:
        while (result := ticket.poll()) is None:
            await _readable(ticket.fileno())
    except asyncio.CancelledError:
        ticket.cancel()
        # The card stops within microseconds; then the buffer is free again.
        with contextlib.suppress(Error):
            while not ticket.done():
                await _readable(ticket.fileno())
        raise
    return result


async def _readable(fd: int) -> None:
    """Sleep until the eventfd is signalled. All that sleep on it wake, for its channel may serve several of them."""
    loop = asyncio.get_running_loop()
    by_fd = _sleepers.setdefault(loop, {})
    if fd not in by_fd:
        by_fd[fd] = set()
        loop.add_reader(fd, _wake, loop, fd)
    future = loop.create_future()
    by_fd[fd].add(future)
    try:
        await future
    finally:
        sleepers = by_fd.get(fd)
        if sleepers is not None:
            sleepers.discard(future)
            if not sleepers:
                del by_fd[fd]
                loop.remove_reader(fd)


def _wake(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    loop.remove_reader(fd)
    with contextlib.suppress(BlockingIOError):  # another thread took it; the sleepers look for themselves
        os.eventfd_read(fd)
    for future in _sleepers[loop].pop(fd, set()):
        if not future.done():
            future.set_result(None)
