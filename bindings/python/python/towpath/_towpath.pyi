# SPDX-License-Identifier: Apache-2.0
"""The extension module: the public Rust API, and nothing else. Programs import `towpath`."""

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self, final

from typing_extensions import disjoint_base

from towpath._types import Channel, Info, LinkCounters, Listing, Memory, MessageStart, Received, Wire

__all__ = ["Device", "Interrupt", "Interrupts", "Registers", "Ticket", "__version__", "devices", "main", "set_simulator_files"]

__version__: Final[str]

def main(arguments: list[str]) -> int:
    """The command line; returns the exit code."""

def devices() -> list[Listing]:
    """The devices that can be opened."""

def set_simulator_files(
    home: str | os.PathLike[str] | None, verilator: str | os.PathLike[str] | None, python: str | os.PathLike[str] | None
) -> None:
    """Where the simulator's files are that the package brings, for this process."""

@disjoint_base
class Device:
    """An open card. Channels are named by their name or number, and opened on first use."""

    def __new__(
        cls,
        name: str | None = None,
        options: dict[str, str] | None = None,
        progress: Callable[[str], object] | None = None,
        print: Callable[[str], object] | None = None,
    ) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None: ...
    def close(self) -> None:
        """Give back the card and its channels. What is in flight is cancelled."""
    @property
    def closed(self) -> bool: ...
    @property
    def info(self) -> Info:
        """What discovery says of the card."""
    @property
    def registers(self) -> Registers:
        """The user core's registers: by byte offset, or by a name which the core's manifest gives."""
    @property
    def interrupts(self) -> Interrupts:
        """The user core's interrupts, by number."""
    def channel(self, channel: str | int) -> Channel:
        """What discovery says of one channel."""
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
    ) -> int:
        """Send the buffer and return its bytes once all have landed on the card.

        `end` ends the message after it; without it the next call goes on with the message. `length` (of the whole message), `offset`
        and `user` are given to the core with the message's first part. `timeout` counts time in which nothing of this call moves, the wait
        for other threads' calls included. When it is over, or a signal handler raises, what the call has posted is cancelled, and no more.
        """
    def recv(self, channel: str | int, *, timeout: float | None = 10.0) -> bytes:
        """Receive one whole message of any length."""
    def recv_into(self, channel: str | int, buffer: Memory, *, timeout: float | None = 10.0) -> Received:
        """Receive into the buffer until it is full or the message ends. What does not fit waits for the next call."""
    def message_start(self, channel: str | int, *, timeout: float | None = 10.0) -> MessageStart:
        """Wait until the core has begun a message; it is not received yet."""
    def submit_send(
        self,
        channel: str | int,
        buffer: Memory,
        *,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
    ) -> Ticket:
        """Begin to send and come back at once. The buffer must not change before the ticket is done."""
    def submit_recv(self, channel: str | int, buffer: Memory) -> Ticket:
        """Begin to receive and come back at once. The buffer must be left alone before the ticket is done."""
    def cancel(self, channel: str | int) -> None:
        """End all transfers in flight on the channel; their tickets tell how far they came."""
    def reset(self) -> None:
        """Reset the card: all channels and the user core."""
    def set_moderation(self, channel: str | int, *, entries: int, time: float) -> None:
        """Hold the channel's interrupts back until `entries` transfers have ended, or for `time` seconds since the first of them.

        For many transfers in flight: the program is woken less often. A `time` of 0 turns it off, as it is at first. A single transfer
        takes up to `time` longer to come back. About 16 ms at most, in units of 64 of the card's clocks.
        """
    def link_counters(self) -> LinkCounters:
        """What the card has counted of faults on its link."""
    def now_ns(self) -> int:
        """The card's time in nanoseconds: simulated, or a monotonic clock."""
    def wire(self) -> Wire | None:
        """What has gone over the link, if the device can tell."""

@final
class Ticket:
    """A transfer in flight. Dropping it does not end the transfer; how it ended is then forgotten."""

    @property
    def channel(self) -> str: ...
    def wait(self, timeout: float | None = 10.0) -> Received:
        """The result. After a TimeoutError, or when a signal handler raises, the transfer is still in flight: wait again, or cancel."""
    def poll(self) -> Received | None:
        """The result if there is one; if not, the channel's eventfd will tell of it."""
    def done(self) -> bool:
        """Is there a result? If not, the channel's eventfd will tell of it."""
    def cancel(self) -> None:
        """End this transfer as soon as may be; its result tells how far it came. Other transfers of the channel go on. Does not wait."""
    def fileno(self) -> int:
        """The channel's eventfd. It stays the device's: do not close it."""

@final
class Registers:
    def __getitem__(self, register: int | str, /) -> int: ...
    def __setitem__(self, register: int | str, value: int, /) -> None: ...
    @property
    def names(self) -> dict[str, int]:
        """The names that can be used, and their byte offsets."""

@final
class Interrupts:
    def __getitem__(self, number: int, /) -> Interrupt: ...
    def __iter__(self) -> Iterator[Interrupt]: ...
    def __len__(self) -> int: ...

@final
class Interrupt:
    @property
    def number(self) -> int: ...
    def wait(self, timeout: float | None = 10.0) -> int:
        """Wait until it fires, if it has not since the last call; returns how often it has."""
    def count(self) -> int:
        """How often it has fired since the card was switched on or its function was reset, modulo 2 ** 32."""
    def fileno(self) -> int:
        """Its eventfd. It stays the device's: do not close it."""
