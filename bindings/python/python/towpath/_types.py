# SPDX-License-Identifier: Apache-2.0
"""Plain values that the extension module returns; programs import them from `towpath`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from towpath._towpath import WindowPart


class Array(Protocol):
    """A NumPy array, or an object like one: before Python 3.12 its type does not declare that it is a buffer."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class DLPackArray(Protocol):
    """An array in a GPU's memory: of PyTorch, CuPy, JAX."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...


class CudaArray(Protocol):
    """An array in a GPU's memory: of Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


Memory: TypeAlias = "Buffer | Array | DLPackArray | CudaArray | WindowPart"
"""A buffer to send from, and if it is writable, to receive into: anything C-contiguous, in the host's memory, a GPU's or another card's."""


class CudaStream(Protocol):
    """A stream of cuda.core."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


class TorchStream(Protocol):
    """A stream of PyTorch."""

    @property
    def cuda_stream(self) -> int: ...


class CupyStream(Protocol):
    """A stream of CuPy."""

    @property
    def ptr(self) -> int: ...


Stream: TypeAlias = "int | CudaStream | TorchStream | CupyStream"
"""A GPU's stream: of a library, or a CUDA stream's handle."""


class Staged(int):
    """A number of bytes that moved through pinned memory of the host, because the call asked for it."""


class Received(NamedTuple):
    """The result of a transfer."""

    bytes: int
    """Bytes that moved."""
    end_of_message: bool
    """The message ended here; if not, the next transfer goes on with it."""
    offset: int
    """C2H: the offset that the core set for the message."""
    user: int
    """C2H: the user word that the core set for the message."""
    staged: bool = False
    """The bytes moved through pinned memory of the host, because the call asked for it."""


class MessageStart(NamedTuple):
    """The start of a message in the core."""

    length: int | None
    """Its length in bytes, if the core announced it."""
    offset: int
    """The offset that the core set for it."""
    user: int
    """The user word that the core set for it."""


class Held(NamedTuple):
    """What the card holds for a channel."""

    bytes: int
    """C2H: bytes that the core has sent and no transfer has taken. H2C: bytes that have landed and the core has not taken."""
    full: bool
    """C2H: the core can send no more before there is a transfer."""


class ChannelInfo(NamedTuple):
    """A channel's entry in the discovery table."""

    number: int
    name: str
    direction: str
    """"h2c", host to card, or "c2h"."""
    queue_depth: int
    """Transfers that can be submitted and not complete; a message with an offset or a user word takes two places."""
    inline_slots: int
    buffer_bytes: int
    """Bytes that the channel buffers on the card."""
    kind: str = "stream"
    """What carries its data at the card's end: "stream", "memory", or a kind from elsewhere."""
    kind_version: int = 1
    kind_parameter: int = 0
    """The kind's own number about this channel."""


class MemoryInfo(NamedTuple):
    """A memory of the user core."""

    name: str
    bytes: int
    """Its size."""
    writer: int
    """The number of the channel that writes it."""
    reader: int
    """The number of the channel that reads it."""


class Statistics(NamedTuple):
    """Counters of a channel since it was opened. A non-zero value in the last four is a fault of the card or of a driver."""

    submitted: int
    """Transfers that were submitted; a long one may take several."""
    completed: int
    """Transfers that have ended."""
    bytes: int
    """Bytes in them."""
    wrong_cookies: int
    """Completions that did not belong to the oldest transfer."""
    wrong_lengths: int
    """Completions of more bytes than the transfer had."""
    wrong_statuses: int
    """Completions with a status that does not exist or does not fit."""
    unexpected: int
    """Completions when nothing was in flight, and message starts that do not fit."""


class Listing(NamedTuple):
    """A device that can be opened."""

    name: str
    """The name for `open`."""
    description: str
    order: int | None
    """Of a card: its place in the order, from 1; "#1" is a name for it, too."""
    serial: int | None
    """Its serial number, if known without opening it."""


class PluginInfo(NamedTuple):
    """A plug-in's entry in the discovery table."""

    number: int
    type: str
    version: int
    offset: int
    """Where its registers begin in the register window."""
    bytes: int
    """Size of its registers."""


class PartialStatus(NamedTuple):
    """What a plug-in of type `partial` does now."""

    loading: bool
    """A load is under way."""
    decoupled: bool
    """The region is decoupled, and the core in reset."""
    whole: bool
    """The region holds a whole core."""
    midway: bool
    """A channel is within a message."""
    outcome: str | None
    """What became of the last load: "idle" (none, or under way), "loaded", "refused", "overrun", "port" or "aborted".

    None: this library does not know it."""


class ClockStatus(NamedTuple):
    """What a plug-in of type `clock` does now."""

    busy: bool
    """A switch is under way, or the core has not had enough clocks to leave reset."""
    held: bool
    """The core is held in reset, from a switch until it is released."""
    astray: bool
    """The input last selected does not run, or has stopped: the core is in reset until another is selected."""
    current: int
    """The input that is the core's clock."""
    running: int
    """Bit k: input k runs."""


class ResetStatus(NamedTuple):
    """What a plug-in of type `reset` does now."""

    busy: bool
    """A sequence runs, or is held at its start."""
    held: bool
    """It is held, by `hold` or by a fault."""
    fault: bool
    """The core reports a fault."""
    asserted: int
    """Bit k: output k is asserted. Output 0 is the core's own reset."""


class PairStatus(NamedTuple):
    """How a pair is doing."""

    slots_sent: int
    """Slots that the one card has begun since the two were paired, modulo 2^16: those that it has room for count, too."""
    slots_arrived: int
    """Those of them that have come to the other whole, modulo 2^16."""
    is_open: bool
    """A message has begun at the card that receives, and not ended."""
    is_waiting: bool
    """What comes waits until the user core has taken what the host has sent before."""
    fault: str | None
    """What is wrong. Only `disconnect` ends it; then the two can be paired again."""


class Parted(NamedTuple):
    """How a pair was taken apart."""

    arrived: bool
    """All that was sent has arrived. What the core has sent beyond that waits for the next receiver, another partner or the host."""
    taken: bool
    """The other user core has taken all of it. If not, what has arrived still goes to it, before all that is sent to it from now on."""
    cut: bool
    """The message in progress was ended there with an error. The rest of it goes to the next receiver as a message of its own."""
    fault: str | None
    """Why not all has arrived."""


class TlpCounts(NamedTuple):
    """What a plug-in of type `tlplog` has counted since it was cleared."""

    logged: int
    """Packets that are in the log, or were."""
    overwritten: int
    """Of these, packets that others have overwritten."""
    dropped: int
    """Packets that came faster than the log takes them, modulo 2^32."""


class TlpFilter(NamedTuple):
    """Which packets a plug-in of type `tlplog` logs."""

    streams: tuple[str, ...] = (
        "sent_write",
        "sent_read",
        "sent_completion",
        "received_write",
        "received_read",
        "received_completion",
    )
    bars: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Of accesses to BARs, and of their answers, those of these BARs."""
    first: int = 0
    """Of the card's own writes and reads, those that begin at this address or above it ..."""
    last: int = (1 << 64) - 1
    """... and not above this one."""


class TlpEntry(NamedTuple):
    """A packet between a card and the host, as the card sent or received it."""

    number: int
    """Counted from 0 since the log was cleared."""
    time_ps: int
    """When it began, in picoseconds since the card was configured."""
    stream: str
    """Which way it went, and what it is: one of `TlpFilter().streams`."""
    after_loss: bool
    """Packets of this stream before this one came faster than the log takes them, and are not in it."""
    address: int
    """Of the first byte: of the card's own requests in memory, of an access to a BAR in the BAR, of an answer its lower address."""
    length: int
    """Bytes that it carries; of a read those that it wants."""
    bar: int | None
    tag: int | None
    byte_count: int | None
    """Of an answer: bytes still to come, with this packet's."""
    outcome: str | None
    """Of an answer: "successful", or what else its completion status says."""
    requester: int | None
    """Who asked, of an access to a BAR and of its answer: bus, device, function."""
    traffic_class: int
    """0 of writes to BARs and of answers to the card, of which it is not known."""
    attributes: int
    """Bit 1 is relaxed ordering."""
    first: bytes
    """The bytes of its payload that are known: those in the first dword."""


class Info(NamedTuple):
    """A device's entry in the discovery table."""

    name: str
    """The name it was opened by."""
    core: str
    core_version: int
    version: tuple[int, int]
    """Version of the card's contract: major, minor."""
    serial: int
    data_bits: int
    core_clock_khz: int
    user_clock_khz: int
    tags: int
    vectors: int
    interrupts: int
    register_bytes: int
    """Size of the register window, with the registers of the core and of its plug-ins; 0: there is none."""
    register_names: dict[str, int]
    channels: tuple[ChannelInfo, ...]
    plugins: tuple[PluginInfo, ...]
    fill_levels: bool
    """Programs can wait for what the card holds (`wait_held`, `wait_drained`)."""
    qos: bool
    """Channels have weights, rates and traffic classes (`card.qos`)."""


class LinkCounters(NamedTuple):
    """The card's counters of faults on its link, since it was switched on or its function was reset. Counts stop at 65535."""

    unsupported_requests: int
    """Reads that the host refused."""
    completer_aborts: int
    """Reads that the host could not answer."""
    poisoned: int
    """Reads with data marked as corrupt."""
    timeouts: int
    """Reads that were not answered in time."""
    bad_completions: int
    """Reads answered with a wrong length or byte count."""
    late_completions: int
    """Answers that came after the card had given up their read."""
    unexpected_completions: int
    """Answers to reads that the card had not made."""
    bus_mastering_losses: int
    """Times that bus mastering was switched off."""
    link_downs: int
    """Times that the link went down."""
    function_resets: int
    """Function-level resets."""
    quarantined: int
    """Tags in quarantine now: the card gave up their reads, and the answers may still come."""


class Qos(NamedTuple):
    """A channel's part of the link."""

    weight: int
    """Its part while others of its direction want the link, too: twice the weight, twice the bytes. 1 after a reset of the function.
    While all weights of a direction are equal, its channels take plain turns, a read or write each, however long."""
    rate: int
    """Bytes of data a second that it may move; 0: as many as it can."""
    traffic_class: int
    """The traffic class of its packets, 0 to 7."""


class Wire(NamedTuple):
    """Bytes on the link since the device was opened; only a simulated device counts them."""

    card_write_payload: int
    """Payload of the card's writes: data, completions, interrupts."""
    to_host: int
    """All bytes towards the host, with headers and framing."""
    card_read_payload: int
    """Payload of the completions to the card's reads."""
    to_card: int
    """All bytes towards the card, with headers and framing."""
    bytes_per_us: int
    """The link's rate in each direction."""
    max_payload: int
    """The largest payload of a write."""
    completion_payload: int
    """The payload of a full completion."""
    cycles: int
    """Simulated cycles of the data path's clock."""
