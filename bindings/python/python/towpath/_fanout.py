# SPDX-License-Identifier: Apache-2.0
"""Kind `fanout`: one channel for many ports of the core, by a number in each message's user word."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from towpath._errors import Error, NotFoundError, TransferError, UsageError
from towpath._kind import of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from towpath._channel import Channel
    from towpath._device import Device
    from towpath._types import Memory

# The kind's own status.
_NO_PORT = 1
# What a kept message takes beside its bytes: an empty one takes memory, too.
_KEPT_EACH = 64


class Fanout:
    """The ports behind a channel of kind `fanout`: `card.kind("data")`.

        fan = card.kind("data")
        fan[3].send(b"hello")
        port, message = fan.recv()
        message = fan[3].recv()

    The channel's messages are taken in their order: one for which its port has no room on the card keeps those behind it waiting,
    whatever port they are for. What comes is in one order for all ports, too: receiving from one port keeps the messages of others that
    come before, in memory, for later calls. One thread receives at a time; another one waits for it, no longer than its own limit.

    `sender` and `receiver` are the channels, or None. After a part of a message that has failed there, reset the channel.
    """

    version = 1

    def __init__(self, device: Device, sender: Channel | None, receiver: Channel | None) -> None:
        self.sender, self.receiver = sender, receiver
        self.kept_most = 64 << 20
        """Receiving from one port stops with UsageError when messages of others take more bytes than this, each its own and 64; no message
        is lost."""
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._receiving = threading.Lock()

    def __getitem__(self, port: int) -> FanoutPort:
        """A port; whether the core has it the card says when something is sent there."""
        return FanoutPort(self, port)

    def send(self, port: int, message: Memory, *, timeout: float | None = 10.0) -> None:
        """Send a whole message to a port, and wait until it is in the port's FIFO on the card. NotFoundError: the core has no such port.

        A call that has begun on the card and fails before its message has its end (its limit, a signal, a fault in a part) resets the
        channel: what the ports' FIFOs held is lost, and the core sees a reset. A call that fails while it waits for its turn changes
        nothing.
        """
        sender = of(self.sender, "to the card")
        try:
            sender.send(message, timeout=timeout, user=port)
        except TransferError as error:
            if error.kind_status != _NO_PORT:
                raise
            text = f'channel "{sender.name}": the core has no port {port}'
            raise NotFoundError(text, sender.name, error.bytes, error.status, error.kind_status) from error

    def recv(self, *, timeout: float | None = 10.0) -> tuple[int, bytes]:
        """Receive the next message of any port, in the order in which the card sent them: its port, and its bytes."""
        with self._turn(timeout) as left:
            return self._take(0) if self._kept else self._next(left)

    def recv_from(self, port: int, *, timeout: float | None = 10.0) -> bytes:
        """Receive the next message of one port. Each message of another one that comes before it is kept, and has the limit anew."""
        with self._turn(timeout) as left:
            for at, (tag, _) in enumerate(self._kept):
                if tag == port:
                    return self._take(at)[1]
            while True:
                if self._kept_bytes > self.kept_most:
                    take = f"{len(self._kept)} of others are kept, which take {self._kept_bytes} bytes of {self.kept_most} at most"
                    text = f"no message of port {port} has come, and {take}; receive them first, or raise kept_most"
                    raise UsageError(text, of(self.receiver, "from the card").name)
                tag, message = self._next(left)
                if tag == port:
                    return message
                left = timeout
                self._kept.append((tag, message))
                self._kept_bytes += len(message) + _KEPT_EACH

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Each message in turn, as `recv` without a limit; ends when the device is closed."""
        receiver = of(self.receiver, "from the card")
        while True:
            try:
                each = self.recv(timeout=None)
            except Error:
                if receiver.closed:
                    return
                raise
            yield each

    @contextlib.contextmanager
    def _turn(self, timeout: float | None) -> Iterator[float | None]:
        """No other thread receives meanwhile; what is left of the limit. A wait for another thread's call counts by the wall clock."""
        left = timeout
        if not self._receiving.acquire(blocking=False):
            began = time.monotonic()
            if not self._receiving.acquire(timeout=-1 if timeout is None else max(0.0, min(timeout, threading.TIMEOUT_MAX))):
                raise of(self.receiver, "from the card")._timed_out(timeout, 0)
            if timeout is not None:
                left = max(0.0, timeout - (time.monotonic() - began))
        try:
            yield left
        finally:
            self._receiving.release()

    def _take(self, at: int) -> tuple[int, bytes]:
        taken = self._kept[at]
        del self._kept[at]
        self._kept_bytes -= len(taken[1]) + _KEPT_EACH
        return taken

    def _next(self, timeout: float | None) -> tuple[int, bytes]:
        message, received = of(self.receiver, "from the card").recv_message(timeout=timeout)
        return received.user, message


class FanoutPort:
    """One port of a `Fanout`: `fan[3]`."""

    def __init__(self, fanout: Fanout, port: int) -> None:
        self.fanout, self.port = fanout, port

    def send(self, message: Memory, *, timeout: float | None = 10.0) -> None:
        """As `Fanout.send`."""
        self.fanout.send(self.port, message, timeout=timeout)

    def recv(self, *, timeout: float | None = 10.0) -> bytes:
        """As `Fanout.recv_from`."""
        return self.fanout.recv_from(self.port, timeout=timeout)
