# SPDX-License-Identifier: Apache-2.0
"""The device: its channels by name, their calls by name, and buffers."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from towpath import _towpath
from towpath._channel import Channel
from towpath._dtypes import item_of
from towpath._errors import ArgumentTypeError, RangeError, UsageError
from towpath._kind import open_kind
from towpath._memory import CardMemory, Memories
from towpath._plugins import Plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import Self

    from towpath._towpath import Buffer, StreamTransfer, Ticket
    from towpath._types import Memory, MessageStart, Received, Stream

_LARGEST = 2**63 - 1


class Device(_towpath.Device):
    """An open card. Use it in a `with` statement (or `async with`), or call `close`: one device object has an open channel exclusively.

    `card["in"]` is the channel of that name or number. Its calls can also be made here, with its name before the other arguments.
    """

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        self._channels: dict[str | int, Channel] = {}
        self._opened: dict[str, CardMemory] = {}

    def __getitem__(self, channel: str | int) -> Channel:
        """The channel of this name or number, the same object each time. NotFoundError if there is none. It opens with its first call."""
        if isinstance(channel, str | int):
            known = self._channels.get(channel)
            if known is not None:
                return known
        found = Channel(self, channel)
        self._channels[channel] = found = self._channels.setdefault(found.number, found)
        return found

    def _from_card(self, channel: str | int) -> Channel:
        """The channel of this name, of two that have it the one from the card."""
        found = self[channel]
        if isinstance(channel, str) and found.direction == "h2c":
            for known in self.info.channels:
                if (known.name, known.direction) == (channel, "c2h"):
                    return self[known.number]
        return found

    @property
    def memory(self) -> Memories:
        """The user core's memories, by name: `card.memory["ram"][0:16]`."""
        return Memories(self, self._opened)

    @property
    def plugins(self) -> Plugins:
        """The plug-ins beside the user core: `card.plugins["reset"].pulse()`."""
        return Plugins(self)

    def kind(self, channel: str | int) -> Any:
        """The channels of this name, of a kind that an installed package knows: what that package makes of them.

        The package is found by an entry point of the kind's name, in the group "towpath.kinds". NotFoundError: there is no such channel, or
        no such package; UsageError: the package knows another version of the kind.
        """
        return open_kind(self, channel)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None:
        """Closes the device in another thread: what is in flight may take a moment to end, and the event loop runs on."""
        await asyncio.to_thread(self.close)

    def allocate(self, shape: SupportsIndex | Sequence[SupportsIndex], dtype: object = "uint8") -> Buffer:
        """Memory registered with the card, for many transfers: pinned and registered once; other buffers are registered for each transfer.

        `shape` counts items, one number or several; `dtype` is NumPy's name for an item, or NumPy's type. The items are 0 at first.
        DeviceError when there is no memory, or the system pins no more. See Buffer.
        """
        sizes = _shape(shape)
        item = item_of(dtype)
        if math.prod(size or 1 for size in sizes) * item.bytes > _LARGEST:
            raise RangeError(f"shape={shape!r} is out of range; give a shape of {_LARGEST} ({_LARGEST:#x}) bytes at most")
        return self._allocate(sizes, item.name, item.format, item.typestr, item.bytes)

    @overload
    def send(
        self,
        channel: str | int,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
        stream: None = None,
        staged: bool = False,
    ) -> int: ...

    @overload
    def send(
        self,
        channel: str | int,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
        stream: Stream,
        staged: bool = False,
    ) -> StreamTransfer[int]: ...

    def send(
        self,
        channel: str | int,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
        stream: Any = None,
        staged: bool = False,
    ) -> int | StreamTransfer[int]:
        """`card[channel].send(...)`."""
        sent: int | StreamTransfer[int] = self[channel].send(
            buffer, timeout=timeout, end=end, length=length, offset=offset, user=user, stream=stream, staged=staged
        )
        return sent

    def recv(self, channel: str | int, *, timeout: float | None = 10.0) -> bytes:
        """`card[channel].recv(...)`."""
        return self._from_card(channel).recv(timeout=timeout)

    @overload
    def recv_into(
        self, channel: str | int, buffer: Memory, *, timeout: float | None = 10.0, stream: None = None, staged: bool = False
    ) -> Received: ...

    @overload
    def recv_into(
        self, channel: str | int, buffer: Memory, *, timeout: float | None = 10.0, stream: Stream, staged: bool = False
    ) -> StreamTransfer[Received]: ...

    def recv_into(
        self, channel: str | int, buffer: Memory, *, timeout: float | None = 10.0, stream: Any = None, staged: bool = False
    ) -> Received | StreamTransfer[Received]:
        """`card[channel].recv_into(...)`."""
        found = self._from_card(channel)
        received: Received | StreamTransfer[Received] = found.recv_into(buffer, timeout=timeout, stream=stream, staged=staged)
        return received

    def message_start(self, channel: str | int, *, timeout: float | None = 10.0) -> MessageStart:
        """`card[channel].message_start(...)`."""
        return self._from_card(channel).message_start(timeout=timeout)

    def submit_send(
        self,
        channel: str | int,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
    ) -> Ticket:
        """`card[channel].submit_send(...)`."""
        return self[channel].submit_send(buffer, timeout=timeout, end=end, length=length, offset=offset, user=user)

    def submit_recv(self, channel: str | int, buffer: Memory, *, timeout: float | None = 10.0) -> Ticket:
        """`card[channel].submit_recv(...)`."""
        return self._from_card(channel).submit_recv(buffer, timeout=timeout)

    def submit_send_many(self, channel: str | int, buffers: Iterable[Memory], *, timeout: float | None = 10.0) -> list[Ticket]:
        """`card[channel].submit_send_many(...)`."""
        return self[channel].submit_send_many(buffers, timeout=timeout)

    def submit_recv_many(self, channel: str | int, buffers: Iterable[Memory], *, timeout: float | None = 10.0) -> list[Ticket]:
        """`card[channel].submit_recv_many(...)`."""
        return self._from_card(channel).submit_recv_many(buffers, timeout=timeout)

    def cancel(self, channel: str | int) -> None:
        """`card[channel].cancel()`."""
        self[channel].cancel()

    def set_moderation(self, channel: str | int, *, entries: int, time: float) -> None:
        """`card[channel].set_moderation(...)`."""
        self[channel].set_moderation(entries=entries, time=time)

    async def asend(
        self,
        channel: str | int,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
    ) -> int:
        """`card[channel].asend(...)`."""
        return await self[channel].asend(buffer, timeout=timeout, end=end, length=length, offset=offset, user=user)

    async def arecv(self, channel: str | int, *, timeout: float | None = 10.0) -> bytes:
        """`card[channel].arecv(...)`."""
        return await self._from_card(channel).arecv(timeout=timeout)

    async def arecv_into(self, channel: str | int, buffer: Memory, *, timeout: float | None = 10.0) -> Received:
        """`card[channel].arecv_into(...)`."""
        return await self._from_card(channel).arecv_into(buffer, timeout=timeout)


def _shape(shape: SupportsIndex | Sequence[SupportsIndex]) -> list[int]:
    allowed = f"a whole number from 0 to {_LARGEST}, or a tuple of some"
    try:
        sizes = [shape.__index__()] if isinstance(shape, SupportsIndex) else [size.__index__() for size in shape]
    except (AttributeError, TypeError):
        raise ArgumentTypeError(f"shape={shape!r} is of type {type(shape).__name__}; give {allowed}") from None
    if len(sizes) > 64:
        raise UsageError(f"shape={shape!r} has {len(sizes)} dimensions; give 64 at most")
    if any(not 0 <= size <= _LARGEST for size in sizes):
        raise RangeError(f"shape={shape!r} is out of range; give {allowed}")
    return sizes
