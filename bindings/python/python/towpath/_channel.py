# SPDX-License-Identifier: Apache-2.0
"""Channels: the extension module's calls, iteration and asyncio."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import functools
from typing import TYPE_CHECKING, Literal, overload

from towpath import _file, _towpath
from towpath._asyncio import Side, side_of, transfer
from towpath._errors import Error, TimeoutError, TransferError, UsageError

if TYPE_CHECKING:
    import io
    from collections.abc import AsyncIterator, Callable, Iterator

    from towpath._towpath import Ticket
    from towpath._types import Held, Memory, Received

# `arecv` begins with this much memory and doubles it, if the core has not announced the length; no step exceeds the largest transfer.
_FIRST = 64 << 10
_LARGEST = 4 << 20


class Channel(_towpath.Channel):
    """One channel of an open device: `card["in"]`. It has one direction; a call for the other one raises UsageError.

    The calls for asyncio have the limit of the blocking ones, by the event loop's clock: a TimeoutError contains the bytes that moved.
    Cancelling such a call, or its limit, ends its own transfer and no other: bytes received by then are in the buffer, the rest is still
    on the card. Do not mix them with blocking calls of other threads on the same channel, which would consume the news.
    """

    @overload
    def open(self, mode: Literal["rb"] = "rb", buffering: Literal[-1] = -1, *, timeout: float | None = 10.0) -> io.BufferedReader: ...
    @overload
    def open(self, mode: Literal["wb"], buffering: Literal[-1] = -1, *, timeout: float | None = 10.0) -> io.BufferedWriter: ...
    @overload
    def open(self, mode: Literal["rb", "wb"], buffering: Literal[0], *, timeout: float | None = 10.0) -> _file.MessageFile: ...
    @overload
    def open(
        self,
        mode: Literal["r", "w"],
        buffering: int = -1,
        *,
        timeout: float | None = 10.0,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...
    @overload
    def open(self, mode: str, buffering: int = -1, *, timeout: float | None = 10.0) -> io.IOBase: ...
    def open(
        self,
        mode: str = "rb",
        buffering: int = -1,
        *,
        timeout: float | None = 10.0,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.IOBase:
        """One message as a file: "rb" reads the next one, to its end; "wb" writes one, and `close` ends it. "r" and "w" are for text.

        What takes a file works on it: `shutil.copyfileobj`, `pickle`, `csv`, `tarfile` in its stream modes. As with the built-in `open`, it
        is buffered, with buffering=0 it is the raw one, and a `with` statement closes it, also behind an exception: the message then ends
        where it is. `flush` ends nothing. A read from the card waits until its memory is full, the message ends or the limit is over, and
        returns what has come. The rest of a message that was not read to its end stays in the channel, but for what the file's own buffer
        holds. A channel has one file at a time: UsageError.
        """
        return _file.opened(self, mode, buffering, timeout, encoding, errors, newline)

    def __iter__(self) -> Iterator[bytes]:
        """Each message in turn, as `recv` without a limit; ends when the device is closed."""
        while True:
            try:
                message = self.recv(timeout=None)
            except Error:
                if self.closed:
                    return
                raise
            yield message

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """As a `for` loop, under asyncio."""
        while True:
            try:
                message = await self.arecv(timeout=None)
            except Error:
                if self.closed:
                    return
                raise
            yield message

    async def asend(
        self,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
    ) -> int:
        """As `send`, while the event loop runs on; the buffer is one transfer: 64 MiB at most, 4 MiB with the kernel module."""

        def submit() -> Ticket:
            return self.submit_send(buffer, timeout=0, end=end, length=length, offset=offset, user=user)

        return (await self._transfer(submit, timeout)).bytes

    async def arecv_into(self, buffer: Memory, *, timeout: float | None = 10.0) -> Received:
        """As `recv_into`, while the event loop runs on; the buffer is one transfer, as for `asend`."""
        return await self._transfer(lambda: self.submit_recv(buffer, timeout=0), timeout)

    async def arecv(self, *, timeout: float | None = 10.0) -> bytes:
        """As `recv`, while the event loop runs on. When the call fails, the bytes received so far are kept for the next one."""
        receiving = self._side().receiving
        try:
            async with asyncio.timeout(self._seconds(timeout)):
                await receiving.acquire()
        except builtins.TimeoutError:
            raise self._timed_out(timeout, 0) from None
        message = bytearray()
        try:
            kept, end = self._take_kept()
            message += kept
            if end:
                return bytes(message)
            step = _FIRST
            while True:
                part = bytearray(self._left(len(message)) or step)
                if await self._receive_part(message, part, timeout):
                    return bytes(message)
                step = min(2 * step, _LARGEST)
        except BaseException as error:
            if not (isinstance(error, TransferError) and error.status == "reset"):
                with contextlib.suppress(Error):
                    self._keep(bytes(message))
            raise
        finally:
            receiving.release()

    async def await_held(self, bytes: int, *, timeout: float | None = 10.0) -> Held:
        """As `wait_held`, while the event loop runs on. One task at a time: UsageError."""
        return await self._held(bytes, timeout, drained=False)

    async def await_drained(self, bytes: int = 0, *, timeout: float | None = 10.0) -> Held:
        """As `wait_drained`, while the event loop runs on. One task at a time: UsageError."""
        return await self._held(bytes, timeout, drained=True)

    async def _held(self, bytes: int, timeout: float | None, *, drained: bool) -> Held:
        side = self._side()
        if side.level:
            raise UsageError(f'channel "{self.name}": another task waits for what the card holds; one waits at a time', self.name)
        side.level = True
        try:
            async with asyncio.timeout(self._seconds(timeout)):
                while (held := self._try_held(bytes, drained)) is None:
                    await side.news()
                return held
        except builtins.TimeoutError:
            raise self._timed_out(timeout, 0) from None
        finally:
            side.level = False
            # What the call has left on the card would wake everybody who sleeps on this channel.
            with contextlib.suppress(Error):
                self._cancel_held()

    async def _receive_part(self, message: bytearray, part: bytearray, timeout: float | None) -> bool:
        """Receive into a part and append it to the message, also if it fails midway. Has the message ended?"""
        try:
            got = await self._transfer(lambda: self.submit_recv(part, timeout=0), timeout, lambda moved: message.extend(part[:moved]))
        except TimeoutError:
            raise self._timed_out(timeout, len(message)) from None
        message += part[: got.bytes]
        return got.end_of_message

    def _left(self, received: int) -> int:
        """Bytes that are left of a message whose length is known, at most one step; otherwise 0."""
        with contextlib.suppress(TimeoutError):
            length = self.message_start(timeout=0).length
            return min(max(0, length - received), _LARGEST) if length is not None else 0
        return 0

    async def _transfer(
        self, submit: Callable[[], Ticket], timeout: float | None, stopped: Callable[[int], object] | None = None
    ) -> Received:
        """A transfer from its submission to its end. `stopped` receives the bytes of one that ended early."""
        expired = functools.partial(self._timed_out, timeout)
        return await transfer(submit, self._side(), self._arm, self._seconds(timeout), expired, stopped)

    def _side(self) -> Side:
        return side_of(self.__dict__, self.fileno)
