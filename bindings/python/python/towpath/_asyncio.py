# SPDX-License-Identifier: Apache-2.0
"""The state shared by the tasks of one event loop that wait for news of one channel."""

from __future__ import annotations

import asyncio
import contextlib
import os

LOOK = 0.1
"""Seconds after which a task polls: a reset signals no event, and a blocking call of another thread may have consumed the event."""


class Side:
    """Of one channel, for the tasks of one loop."""

    def __init__(self, fd: int) -> None:
        self.submitting = asyncio.Lock()
        """Held while a transfer waits for room in the card's queue: transfers go in the order of their calls."""
        self.receiving = asyncio.Lock()
        """Held for a whole message."""
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
