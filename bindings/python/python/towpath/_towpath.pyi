# SPDX-License-Identifier: Apache-2.0
"""The extension module: the public Rust API only. Programs import `towpath`."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, final, overload

from typing_extensions import disjoint_base

from towpath._types import (
    ChannelInfo,
    ClockStatus,
    Held,
    Info,
    LinkCounters,
    Listing,
    Memory,
    MemoryInfo,
    MessageStart,
    PairStatus,
    Parted,
    PartialStatus,
    PluginInfo,
    Qos,
    Received,
    ResetStatus,
    Statistics,
    Stream,
    TlpCounts,
    TlpEntry,
    TlpFilter,
    Wire,
)

_Result = TypeVar("_Result")

__all__ = [
    "Buffer",
    "CardMemory",
    "Channel",
    "Clock",
    "Device",
    "Interrupt",
    "Interrupts",
    "MessageFile",
    "Pair",
    "Partial",
    "Plugin",
    "Registers",
    "Reset",
    "StreamTransfer",
    "Ticket",
    "TlpLog",
    "WindowPart",
    "__version__",
    "devices",
    "main",
    "set_simulator_files",
]

__version__: Final[str]

def main(arguments: list[str]) -> int:
    """The command line; returns the exit code."""

def devices() -> list[Listing]:
    """The devices that can be opened."""

def set_simulator_files(
    home: str | PathLike[str] | None, verilator: str | PathLike[str] | None, python: str | PathLike[str] | None
) -> None:
    """Set the places of the package's simulator files, for this process."""

@disjoint_base
class Device:
    """An open card; programs use the subclass `towpath.Device`."""

    def __new__(
        cls,
        name: str | PathLike[str] | None = None,
        options: dict[str, str] | None = None,
        progress: Callable[[str], object] | None = None,
        print: Callable[[str], object] | None = None,
    ) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None: ...
    def close(self) -> None:
        """Release the card and its channels. What is in flight is cancelled, other threads' calls end. Buffers stay, as memory alone."""
    @property
    def closed(self) -> bool: ...
    @property
    def info(self) -> Info:
        """The card's entry in the discovery table."""
    @property
    def registers(self) -> Registers:
        """The user core's registers: by byte offset, or by a name from the core's manifest."""
    @property
    def interrupts(self) -> Interrupts:
        """The user core's interrupts, by number."""
    def channel(self, channel: str | int) -> ChannelInfo:
        """One channel's entry in the discovery table. NotFoundError if there is none of that name or number."""
    def reset(self) -> None:
        """Reset the card: all channels and the user core. What is in flight ends with TransferError, status "reset"."""
    def link_counters(self) -> LinkCounters:
        """The card's counters of faults on its link."""
    def qos(self, channel: str | int) -> Qos:
        """A channel's part of the link. DeviceError: the card was built without it, or this way to the card does not reach it."""
    def set_qos(self, channel: str | int, *, weight: int | None = None, rate: int | None = None, traffic_class: int | None = None) -> None:
        """Change a channel's part of the link, for all programs; what is None stays. Resets of the channel and of the card leave it.

        `weight`, 1 to 255, is its part among the channels of its direction that want the link; `rate` is the bytes a second that it may
        move, 0: no limit; `traffic_class`, 0 to 7, is that of its packets: change it only while the channel has no transfer in flight.
        """
    def now_ns(self) -> int:
        """The card's time in nanoseconds: simulated, or a monotonic clock."""
    def wire(self) -> Wire | None:
        """Bytes on the link, if the device counts them."""
    def _memories(self) -> list[MemoryInfo]: ...
    def _allocate(self, shape: list[int], name: str, format: str, typestr: str, bytes: int) -> Buffer: ...

@disjoint_base
class Channel:
    """One channel of an open device; programs use the subclass `towpath.Channel`. It is opened with its first call and stays open."""

    def __new__(cls, device: Device, channel: str | int, kind: tuple[str, int] | None = None) -> Self:
        """`kind`: of a channel that is no stream, the kind's name and the version that the caller knows. Calls raise UsageError else."""
    @property
    def info(self) -> ChannelInfo:
        """Its entry in the discovery table."""
    @property
    def name(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def direction(self) -> str:
        """Host to card is "h2c", card to host "c2h"."""
    @property
    def closed(self) -> bool:
        """Is its device closed?"""
    @overload
    def send(
        self,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
        stream: None = None,
        staged: bool = False,
    ) -> int:
        """Send the buffer and return its number of bytes once all have landed on the card.

        `end` ends the message after it; without it the next call goes on with the message. `length` (bytes of the whole message, below
        2 ** 64), `offset` (below 2 ** 64) and `user` (below 2 ** 32) go to the core with the message's first part. `timeout` is in
        seconds, and counts time in which nothing of this call moves, the wait for other threads' calls included. When it is over
        (TimeoutError), or a signal handler raises, what the call has posted is cancelled, and nothing else. TransferError when the card
        ends it. On a channel of a kind (`card.kind`) a call that has begun something on the card and fails before that has its end resets
        the channel, before another call has its turn.

        The buffer may be an array in a GPU's memory. Without `stream` the call waits until the array's library has done what it has
        begun. With it, the call returns at once: the transfer begins when the work on that stream is done, and what comes behind on the
        stream waits for the transfer, whose limit begins with it. `staged` moves a GPU's bytes through pinned memory of the host, for cards
        that do not reach it; the result is then a `Staged`. UsageError, which names the way that works, where the card does not.
        """
    @overload
    def send(
        self,
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
    def recv(self, *, timeout: float | None = 10.0) -> bytes:
        """Receive one whole message of any length. When the call fails, the bytes received so far are kept for the next `recv`."""
    def recv_message(self, *, timeout: float | None = 10.0) -> tuple[bytes, Received]:
        """As `recv`, with the message's offset and user word."""
    @overload
    def recv_into(self, buffer: Memory, *, timeout: float | None = 10.0, stream: None = None, staged: bool = False) -> Received:
        """Receive into the buffer until it is full or the message ends. What does not fit waits for the next call.

        After a TimeoutError the first `bytes` of the buffer are valid, and the message goes on with the next call. A GPU's array, `stream`
        and `staged` are as for `send`.
        """
    @overload
    def recv_into(
        self, buffer: Memory, *, timeout: float | None = 10.0, stream: Stream, staged: bool = False
    ) -> StreamTransfer[Received]: ...
    def ask(self, buffer: Memory, *, offset: int, user: int = 0, timeout: float | None = 10.0) -> Received:
        """On a channel of a kind that is asked: ask with these two values of the kind's for a message, and receive it into the buffer.

        What of it does not fit is lost. Threads may ask at once. After an error the bytes mean nothing.
        """
    def message_start(self, *, timeout: float | None = 10.0) -> MessageStart:
        """Wait until the core has begun a message; it is not received yet."""
    def held(self) -> Held:
        """What the card holds for the channel. Only on cards with fill levels (`core.fill_levels` in the manifest), as the calls below."""
    def wait_held(self, bytes: int, *, timeout: float | None = 10.0) -> Held:
        """C2H: wait until the card holds so many bytes or more, or the core can send no more. Nothing is received.

        A card holds `info.buffer_bytes` at most, and 32 messages; of that a beat less is the most that is waited for. What comes last may
        be less than `bytes`: give a limit, and take then what there is.
        """
    def wait_drained(self, bytes: int = 0, *, timeout: float | None = 10.0) -> Held:
        """H2C: wait until the card holds so many bytes or fewer. What has not landed yet does not count."""
    def _try_held(self, bytes: int, drained: bool) -> Held | None: ...
    def _cancel_held(self) -> None: ...
    def submit_send(
        self,
        buffer: Memory,
        *,
        timeout: float | None = 10.0,
        end: bool = True,
        length: int | None = None,
        offset: int | None = None,
        user: int | None = None,
    ) -> Ticket:
        """Begin to send and return at once. The buffer must not change before the ticket is done.

        `timeout` is for the wait for room in the card's queue: QueueFullError when it is over. A transfer takes 64 MiB at most, 4 MiB with
        the kernel module. The rest is as for `send`.
        """
    def submit_recv(self, buffer: Memory, *, timeout: float | None = 10.0) -> Ticket:
        """Begin to receive and return at once. Do not use the buffer before the ticket is done. `timeout` is as for `submit_send`."""
    def submit_send_many(self, buffers: Iterable[Memory], *, timeout: float | None = 10.0) -> list[Ticket]:
        """Begin to send each buffer as a message of its own, in their order, and return at once.

        As many as the card's queue has room for are posted, from the first on, and at least one; the list has a ticket for each of these.
        Submit the rest again. No more are looked at than the queue is deep; if one of these cannot be sent, its error is raised, and
        none is.
        Where the card's pages are mapped write-combining (today: in simulation), buffers posted together take a fraction of the
        stores. The rest is as for `submit_send`.
        """
    def submit_recv_many(self, buffers: Iterable[Memory], *, timeout: float | None = 10.0) -> list[Ticket]:
        """Begin to receive into each buffer, in their order, and return at once. As `submit_send_many`, otherwise as `submit_recv`."""
    def cancel(self) -> None:
        """End all transfers in flight, other threads' calls included; each reports the bytes that moved. `Ticket.cancel` ends one."""
    def reset(self) -> None:
        """Empty the channel on both sides. What is in flight ends with TransferError, status "reset"; the user core sees its reset."""
    def set_moderation(self, *, entries: int, time: float) -> None:
        """Hold the channel's interrupts back until `entries` transfers have ended, or for `time` seconds since the first of them.

        For many transfers in flight: the program is woken less often. A `time` of 0 turns moderation off; it is off by default. A call for
        a single transfer takes up to `time` longer. About 16 ms at most, in units of 64 of the card's clocks; `entries` is below 65536.
        """
    def statistics(self) -> Statistics:
        """Counters since the channel was opened."""
    def fileno(self) -> int:
        """The channel's eventfd, which signals news. It stays the device's: do not close it."""
    def _arm(self) -> None: ...
    def _take_kept(self) -> tuple[bytes, bool]: ...
    def _keep(self, bytes: bytes) -> None: ...
    @staticmethod
    def _seconds(timeout: float | None) -> float | None: ...
    def _timed_out(self, timeout: float | None, bytes: int) -> BaseException: ...

@final
class Pair:
    """A stream of one card that sends to a stream of another: what `connect` returns. It ends with `disconnect`, at the end of a `with`
    statement (DeviceError where not all that was sent has arrived), when it is not used any more, and when either card is closed.
    """

    def __new__(cls, source: Channel, sink: Channel, /, *, slot_bytes: int | None = None) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None: ...
    def disconnect(self, *, timeout: float | None = 10.0) -> Parted:
        """Take the two apart, and give both channels back to the program.

        The card that sends stops at once, in the middle of a message if need be; then this waits until what was sent has arrived, and the
        user core there has taken it. After `timeout` seconds in which no slot has ended the two are taken apart nevertheless: the result
        tells what became of it. Later calls return the same.
        """
    @property
    def status(self) -> PairStatus:
        """How it is doing: two reads of the cards. UsageError after `disconnect`."""
    @property
    def connected(self) -> bool:
        """Are the two paired, as far as this program has done?"""
    @property
    def slot_bytes(self) -> int:
        """The bytes that leave the card that sends at once."""

@disjoint_base
class Plugin:
    """A plug-in of any type: its registers by byte offset."""

    def __new__(cls, device: Device, plugin: str | int) -> Self: ...
    @property
    def info(self) -> PluginInfo:
        """Its entry in the discovery table."""
    def __getitem__(self, offset: int, /) -> int: ...
    def __setitem__(self, offset: int, value: int, /) -> None: ...

class Reset(Plugin):
    """A plug-in of type `reset`; programs use the subclass `towpath.Reset`. Times are clocks of the user core's."""

    def pulse(self) -> None:
        """Run a sequence, and wait for its end. UsageError while it is held."""
    def hold(self) -> None:
        """Assert all outputs until `release`."""
    def release(self) -> None:
        """Run a sequence from its start, if it is held, and wait for its end."""
    @property
    def status(self) -> ResetStatus: ...
    @property
    def outputs(self) -> int:
        """How many outputs it has. Output 0 is the core's own reset."""
    @property
    def length(self) -> int:
        """Clocks for which a sequence asserts all outputs, 1 to 2^24 - 1."""
    @length.setter
    def length(self, clocks: int) -> None: ...
    def delay(self, output: int) -> int:
        """Clocks from the end of `length` to the release of an output."""
    def set_delay(self, output: int, clocks: int) -> None:
        """Set an output's delay, 0 to 2^24 - 1."""
    @property
    def on_fault(self) -> str:
        """What a fault of the core does beside being counted: "count" is nothing, "start" a sequence, "hold" holds the core in reset."""
    @on_fault.setter
    def on_fault(self, does: str) -> None: ...
    @property
    def sequences(self) -> int:
        """Sequences since the card's reset, modulo 2^32."""
    @property
    def faults(self) -> int:
        """Faults of the core since the card's reset, modulo 2^32. A core in reset reports none."""

class Clock(Plugin):
    """A plug-in of type `clock`; programs use the subclass `towpath.Clock`."""

    @property
    def frequencies_khz(self) -> list[int]:
        """The frequency of each input, as the card measures it, in steps of 16 kHz; about 0 for one that does not run."""
    def input_of_mhz(self, mhz: float) -> int:
        """The input that runs at this frequency, within 1 %. UsageError if there is none."""
    def select(self, input: int) -> None:
        """Switch the core to an input, and reset it by that; its channels must be between messages. RegisterError if it does not run."""
    def select_and_hold(self, input: int) -> None:
        """Switch the core to an input, and leave it in reset until `release`."""
    def release(self) -> None:
        """Release the core after `select_and_hold`."""
    @property
    def status(self) -> ClockStatus: ...

class Partial(Plugin):
    """A plug-in of type `partial`; programs use the subclass `towpath.Partial`."""

    def load_file(
        self, file: str | PathLike[str], progress: Callable[[int, int], object] | None, reset: Callable[[], object] | None
    ) -> None:
        """Load a core; see `towpath.Partial.load`."""
    @property
    def core_name(self) -> str | None:
        """The name of the core in the region; None while there is no whole one."""
    @property
    def loads(self) -> int:
        """Loads that ended well since the card was configured, modulo 2^32."""
    @property
    def status(self) -> PartialStatus: ...
    @staticmethod
    def simulated_image(core_name: str, words: int | None = None) -> bytes:
        """A file for a simulated card, which loads the core of this name; `words` dwords stand for the bits, 1024 without it."""

class TlpLog(Plugin):
    """A plug-in of type `tlplog`; programs use the subclass `towpath.TlpLog`."""

    @property
    def depth(self) -> int:
        """Packets that the ring holds."""
    @property
    def running(self) -> bool:
        """Packets are logged: so it is from the card's configuration on, unless the core's manifest says otherwise."""
    def start(self) -> None:
        """Log packets from now on."""
    def stop(self) -> None:
        """Log none from now on. What is in the log stays."""
    def clear(self) -> None:
        """Empty the log, and begin all counts anew."""
    @property
    def counts(self) -> TlpCounts: ...
    @property
    def filter(self) -> TlpFilter:
        """Which packets are logged. Setting it takes several writes: stop the log before, if what passes meanwhile matters."""
    @filter.setter
    def filter(self, filter: TlpFilter) -> None: ...
    def entries(self, first: int | None = None) -> list[TlpEntry]:
        """What is in the log, the oldest first; or those of them from the number `first` on. Packets of one stream are in their order;
        those of different streams may stand some clocks apart from it."""

@disjoint_base
class CardMemory:
    """A memory of the user core; programs use the subclass `towpath.CardMemory`. It is opened with its first call and stays open."""

    def __new__(cls, device: Device, memory: str | int) -> Self: ...
    @property
    def info(self) -> MemoryInfo: ...
    @property
    def name(self) -> str: ...
    def __len__(self) -> int:
        """Its size in bytes."""
    @overload
    def __getitem__(self, part: slice, /) -> bytes: ...
    @overload
    def __getitem__(self, part: int, /) -> int: ...
    @overload
    def __setitem__(self, part: slice, value: Memory, /) -> None: ...
    @overload
    def __setitem__(self, part: int, value: int, /) -> None: ...
    def read(self, address: int, length: int, *, timeout: float | None = 10.0) -> bytes:
        """Read this many bytes, beginning at an address. `timeout` is in seconds, and counts time in which nothing of this call moves."""
    @overload
    def read_into(self, buffer: Memory, address: int, *, timeout: float | None = 10.0, stream: None = None, staged: bool = False) -> int:
        """Read as many bytes as the buffer has, and return their number. A GPU's array, `stream` and `staged` are as for `Channel.send`."""
    @overload
    def read_into(
        self, buffer: Memory, address: int, *, timeout: float | None = 10.0, stream: Stream, staged: bool = False
    ) -> StreamTransfer[int]: ...
    @overload
    def write(self, address: int, buffer: Memory, *, timeout: float | None = 10.0, stream: None = None, staged: bool = False) -> int:
        """Write the buffer's bytes, beginning at an address, and return their number once the user core has answered.

        A GPU's array, `stream` and `staged` are as for `Channel.send`.
        """
    @overload
    def write(
        self, address: int, buffer: Memory, *, timeout: float | None = 10.0, stream: Stream, staged: bool = False
    ) -> StreamTransfer[int]: ...
    def submit_read(self, buffer: Memory, address: int, *, timeout: float | None = 10.0) -> Ticket:
        """Begin to read and return at once. Do not use the buffer before the ticket is done. A transfer takes 64 MiB at most,
        4 MiB with the kernel module.

        `timeout` is for the wait for room in the card's queue: QueueFullError when it is over.
        """
    def submit_write(self, address: int, buffer: Memory, *, timeout: float | None = 10.0) -> Ticket:
        """Begin to write and return at once. The buffer must not change before the ticket is done. The rest is as for `submit_read`."""
    def cancel(self) -> None:
        """End all reads and writes in flight, other threads' calls included. Any part of these writes may have been written."""
    def reset(self) -> None:
        """Empty its channels on both sides. What is in flight ends with TransferError, status "reset". The bytes stay; what of a
        write had begun may be written yet, until a later write has returned."""
    def _window(self) -> None: ...
    @overload
    def _load(self, part: slice) -> bytes: ...
    @overload
    def _load(self, part: int) -> int: ...
    def _store(self, part: slice | int, value: Memory | int) -> None: ...
    def _part(self, part: slice) -> WindowPart: ...
    def _flush(self) -> None: ...
    def _within(self, address: int, bytes: int) -> None: ...
    def _fileno(self, writes: bool) -> int: ...
    def _arm(self, writes: bool) -> None: ...
    @staticmethod
    def _seconds(timeout: float | None) -> float | None: ...
    def _timed_out(self, timeout: float | None, bytes: int) -> BaseException: ...

@final
class Buffer:
    """Memory registered with the card, from `Device.allocate`: a C-contiguous array for Python's buffer protocol, NumPy and DLPack.

    `numpy.asarray(buffer)`, `numpy.from_dlpack(buffer)` and `memoryview(buffer)` are the same memory, without a copy. A transfer takes the
    buffer itself, or a slice of its first dimension (`buffer[10:20]`, a view); an array of the same memory is registered for each transfer.
    While a transfer is in flight the card uses the memory: a read returns old bytes, new ones or both, and bytes that are written may be
    sent or lost. The memory lives as long as a view, an export or a transfer of it; after its device was closed, it is memory alone and
    takes part in no transfer.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str:
        """NumPy's name for its items: "uint8"."""
    @property
    def nbytes(self) -> int: ...
    def __len__(self) -> int:
        """The length of the first dimension."""
    def __getitem__(self, part: slice, /) -> Buffer:
        """A view of a part of the first dimension, without a step, in the same registration."""
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(self, **keywords: Any) -> Any:
        """By NumPy, which has to be installed."""
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class WindowPart:
    """A part of a card's memory as a buffer of another card, from `Window.part`: for any call that takes an array in a GPU's memory."""

    def __len__(self) -> int: ...

@final
class MessageFile:
    """One message as a file; programs use `towpath.MessageFile`."""

    def __new__(cls, channel: Channel, writes: bool, timeout: float | None) -> Self: ...
    def readinto(self, buffer: Any) -> int: ...
    def write(self, buffer: Any) -> int: ...
    def finish(self) -> None:
        """End the message, if it is being written, and let the channel be opened again. It may fail and leave it `unfinished`."""

    def abandon(self) -> None:
        """Let the channel be opened again, without an end."""

    @property
    def unfinished(self) -> bool: ...

@final
class Ticket:
    """A transfer in flight. Dropping the ticket does not end the transfer; its result is then discarded."""

    @property
    def channel(self) -> str: ...
    def wait(self, timeout: float | None = 10.0) -> Received:
        """The result; TransferError when the card ended it, or a cancel.

        After a TimeoutError, or when a signal handler raises, the transfer is still in flight: wait again, or cancel.
        """
    def poll(self) -> Received | None:
        """The result if there is one; if not, the channel's eventfd signals it later."""
    def done(self) -> bool:
        """Is there a result? If not, the channel's eventfd signals it later."""
    def cancel(self) -> None:
        """End this transfer early; its result reports how many bytes moved. Other transfers of the channel go on. Does not wait."""
    def fileno(self) -> int:
        """The channel's eventfd. It stays the device's: do not close it."""

@final
class StreamTransfer(Generic[_Result]):
    """A transfer in the order of a GPU's stream. Dropping it does not end the transfer; its error is then in the log alone."""

    @property
    def channel(self) -> str: ...
    def wait(self, timeout: float | None = 10.0) -> _Result:
        """The result; the transfer's error, if it failed. After a TimeoutError without `bytes` of its own it may be in flight still."""
    def poll(self) -> _Result | None:
        """The result if there is one."""
    def done(self) -> bool:
        """Is there a result, or an error?"""
    def cancel(self) -> None:
        """End it early, begun or not: TransferError, status "cancelled". What is behind it on the stream goes on. Does not wait."""

@final
class Registers:
    """Of 32 bits, by name or byte offset. RegisterError when the core does not answer, or there is none; NotFoundError for a name."""

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
        """Wait until it fires, if it has not since the last call; returns how often it has. TimeoutError after `timeout` seconds."""
    def count(self) -> int:
        """How often it has fired since the card was switched on or its function was reset, modulo 2 ** 32."""
    def fileno(self) -> int:
        """Its eventfd. It stays the device's: do not close it."""
