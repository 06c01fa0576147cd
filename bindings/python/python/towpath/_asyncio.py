# SPDX-License-Identifier: Apache-2.0
"""Transfers under asyncio, and the state shared by the tasks of one event loop that wait for news of one channel."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
from typing import TYPE_CHECKING, Any

from towpath._errors import Error, QueueFullError, TransferError

if TYPE_CHECKING:
    from collections.abc import Callable

    from towpath._towpath import Ticket
    from towpath._types import Received

LOOK = 0.1
"""Seconds after which a task polls: a reset signals no event, and a blocking call of another thread may have consumed the event."""


class Side:
    """Of one channel, for the tasks of one loop."""

    def __init__(self, fd: int) -> None:
        self.submitting = asyncio.Lock()
        """Held while a transfer waits for room in the card's queue: transfers go in the order of their calls."""
        self.receiving = asyncio.Lock()
        """Held for a whole message."""
        self.level = False
        """A task waits for what the card holds."""
        # A descriptor of its own, which stays open when the device is closed.
        self._fd = os.dup(fd)
        self._sleepers: set[asyncio.Future[None]] = set()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self._fd)

    async def news(self) -> None:
        """Sleep until there is news, or for the longest time between two polls."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._sleepers:
            loop.add_reader(self._fd, self._wake)
        self._sleepers.add(future)
        look = loop.call_later(LOOK, _finish, future)
        try:
            await future
        finally:
            look.cancel()
            self._sleepers.discard(future)
            if not self._sleepers:
                loop.remove_reader(self._fd)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # another thread consumed it; the sleepers poll
            os.eventfd_read(self._fd)
        for future in self._sleepers:
            _finish(future)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def side_of(owner: dict[str, Any], fileno: Callable[[], int], which: str = "_sides") -> Side:
    """The running loop's, of the channel whose attributes these are, or of one of its channels."""
    loop = asyncio.get_running_loop()
    sides: dict[asyncio.AbstractEventLoop, Side] = owner.setdefault(which, {})
    if loop not in sides:
        for gone in [other for other in sides if other.is_closed()]:
            del sides[gone]
        sides[loop] = Side(fileno())
    return sides[loop]


async def transfer(
    submit: Callable[[], Ticket],
    side: Side,
    arm: Callable[[], None],
    seconds: float | None,
    expired: Callable[[int], BaseException],
    stopped: Callable[[int], object] | None = None,
) -> Received:
    """A transfer from its submission to its end. `expired` makes the exception of its limit, and `stopped` receives the bytes of one that
    ended early; `arm` asks for news."""
    ticket: Ticket | None = None
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            ticket = await _submitted(submit, side, arm)
            while (result := ticket.poll()) is None:
                await side.news()
            return result
    except (builtins.TimeoutError, asyncio.CancelledError, TransferError):
        if ticket is None:
            moved = 0
        else:
            outcome = await _stop(ticket, side)
            if limit.expired() and not isinstance(outcome, int):
                return outcome  # it ended at the moment its limit expired
            moved = outcome if isinstance(outcome, int) else outcome.bytes
        if stopped is not None:
            stopped(moved)
        if limit.expired():
            raise expired(moved) from None
        raise


async def _submitted(submit: Callable[[], Ticket], side: Side, arm: Callable[[], None]) -> Ticket:
    """Submit when the card's queue has room."""
    async with side.submitting:
        armed = False
        while True:
            try:
                return submit()
            except QueueFullError:
                if armed:
                    await side.news()
                else:
                    arm()  # then poll once more: an earlier end raises no event
                armed = not armed


async def _stop(ticket: Ticket, side: Side) -> Received | int:
    """End a transfer and wait for its end, microseconds later. Its result if it ended by itself, otherwise the bytes that moved."""
    try:
        ticket.cancel()
        while (result := ticket.poll()) is None:
            await side.news()
        return result
    except Error as error:
        return error.bytes
