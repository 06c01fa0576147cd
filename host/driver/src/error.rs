// SPDX-License-Identifier: Apache-2.0
//! Errors, as values. Each contains what happened, on which channel, and what to do about it.

use crate::{Direction, Status};
use std::fmt;
use std::time::Duration;
use towpath_bus::BusError;
use towpath_system::errno;

/// Result of a Towpath operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What happened, where, and (in its text) what to do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The name's scheme (the part before the colon) is unknown.
    UnknownScheme {
        /// The requested name.
        name: String,
        /// The schemes that exist.
        schemes: Vec<String>,
    },
    /// No device of this name, or none at all.
    NoSuchDevice {
        /// The requested name; empty for "the first found".
        name: String,
        /// What is missing.
        why: String,
        /// Names that can be opened.
        available: Vec<String>,
    },
    /// The card is there, but the machine must be prepared before it can be opened.
    NotReady {
        /// The device's name.
        name: String,
        /// What was seen.
        seen: String,
        /// The command to run; after a `#`, a remark.
        remedy: String,
    },
    /// The user core could not be found, checked or built. The text is the builder's own, with file and line.
    Core {
        /// The device's name.
        name: String,
        /// The builder's message.
        message: String,
    },
    /// The device that answers is not a Towpath card.
    NotTowpath {
        /// The device's name.
        name: String,
        /// What was read where the magic should be.
        magic: u64,
    },
    /// Card and library have different major versions of the contract.
    Version {
        /// The device's name.
        name: String,
        /// The card's version, major and minor.
        card: (u16, u16),
        /// The library's version, major and minor.
        host: (u16, u16),
    },
    /// The card's discovery table is inconsistent.
    Discovery {
        /// The device's name.
        name: String,
        /// Which field, and why.
        what: String,
    },
    /// The device has no channel of this name or number.
    NoSuchChannel {
        /// The requested channel.
        channel: String,
        /// The channels that there are, with their directions.
        available: Vec<String>,
    },
    /// The channel has the other direction.
    WrongDirection {
        /// The channel.
        channel: String,
        /// Its direction.
        is: Direction,
        /// Channels of the requested direction.
        available: Vec<String>,
    },
    /// The device has no memory of this name or number.
    NoSuchMemory {
        /// The requested memory.
        memory: String,
        /// The memories that there are.
        available: Vec<String>,
    },
    /// The channel is of another kind, or this library does not know its kind.
    WrongKind {
        /// The channel.
        channel: String,
        /// Its kind.
        kind: String,
        /// How it can be used.
        remedy: String,
    },
    /// The channel is open already, here or in another process.
    ChannelInUse {
        /// The channel.
        channel: String,
    },
    /// The channel is one end of a pair with a stream of another card, so the host posts nothing there.
    Paired {
        /// The channel.
        channel: String,
    },
    /// No progress within the timeout. What was posted has been cancelled; the channel stays usable. A stream goes on where it was, and no byte
    /// is lost; of a write to a memory any part may have been written; a channel of another kind has been reset if a send had begun there.
    Timeout {
        /// The channel.
        channel: String,
        /// Send: bytes that the card has taken. Receive: bytes in the buffer that are valid.
        bytes: u64,
        /// The timeout.
        after: Duration,
    },
    /// [`crate::Channel::wait`] ended before its ticket did; the descriptor is still posted.
    Pending {
        /// The channel.
        channel: String,
        /// How long the call waited.
        after: Duration,
    },
    /// Cancelled by the program.
    Cancelled {
        /// The channel.
        channel: String,
        /// Bytes that were moved before it.
        bytes: u64,
    },
    /// A signal handler ran in the calling thread while the call waited. What the call had posted has been cancelled; no byte is lost.
    /// [`crate::Channel::wait`] leaves its transfer in flight.
    Interrupted {
        /// The channel; empty for a user interrupt.
        channel: String,
        /// Bytes that were moved before it.
        bytes: u64,
    },
    /// This process is a child of the one that opened the device.
    Forked,
    /// The channel or the card was reset meanwhile.
    Reset {
        /// The channel.
        channel: String,
        /// Bytes that were moved before it.
        bytes: u64,
    },
    /// The card met a fault on the link; the channel stays usable.
    Fault {
        /// The channel.
        channel: String,
        /// The fault.
        status: Status,
        /// Bytes that were moved before it, in order.
        bytes: u64,
    },
    /// What carries the channel's data on the card has ended the transfer with a status of its own; the channel stays usable.
    Kind {
        /// The channel, or the memory.
        channel: String,
        /// Its kind.
        kind: String,
        /// The kind's status, 1 to 63.
        number: u8,
        /// Bytes that were moved before it. A memory may have taken any part of the others, too.
        bytes: u64,
        /// What it means and what to do.
        what: String,
    },
    /// As many descriptors are in flight as the card's queue holds.
    QueueFull {
        /// The channel.
        channel: String,
        /// The queue's depth in descriptors; a message's attributes count.
        depth: u16,
    },
    /// The ticket is not of this channel, or its result was collected already.
    UnknownTicket {
        /// The channel.
        channel: String,
    },
    /// The buffer is part of a transfer in flight.
    BufferInUse,
    /// The card broke the protocol. Nothing of the host's was harmed, and the violation was counted.
    Protocol {
        /// The channel.
        channel: String,
        /// What it did.
        what: String,
        /// Bytes that the same transfer had moved before it, if it was one.
        bytes: Option<u64>,
    },
    /// The user core's registers: no such register, no answer, or an error as the answer.
    Register {
        /// Byte offset of the access.
        offset: u32,
        /// What happened and what to do.
        what: String,
    },
    /// The user interrupt did not come in time.
    InterruptTimeout {
        /// Its number.
        index: u16,
        /// The timeout.
        after: Duration,
    },
    /// An argument is invalid.
    Invalid(String),
    /// This device, or this machine, cannot do it; why, and which way works.
    Unavailable(String),
    /// Not enough memory.
    Memory {
        /// The requested number of bytes.
        bytes: u64,
    },
    /// The way to the card failed.
    Bus {
        /// The operation that failed.
        doing: String,
        /// The bus's reason.
        source: towpath_bus::BusError,
        /// Bytes that the same transfer had moved before it, if it was one.
        bytes: Option<u64>,
    },
}

impl Error {
    /// Bytes that were moved before the error, for those errors of a transfer that contain the number.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Error::Timeout { bytes, .. }
            | Error::Cancelled { bytes, .. }
            | Error::Interrupted { bytes, .. }
            | Error::Reset { bytes, .. }
            | Error::Fault { bytes, .. }
            | Error::Kind { bytes, .. } => Some(*bytes),
            Error::Protocol { bytes, .. } | Error::Bus { bytes, .. } => *bytes,
            _ => None,
        }
    }

    /// The same error with another count of moved bytes, where it can have one.
    pub fn with_bytes(mut self, count: u64) -> Self {
        match &mut self {
            Error::Timeout { bytes, .. }
            | Error::Cancelled { bytes, .. }
            | Error::Interrupted { bytes, .. }
            | Error::Reset { bytes, .. }
            | Error::Fault { bytes, .. }
            | Error::Kind { bytes, .. } => *bytes = count,
            Error::Protocol { bytes, .. } | Error::Bus { bytes, .. } => *bytes = Some(count),
            _ => {}
        }
        self
    }

    /// The channel the error is about, if it is about one.
    pub fn channel(&self) -> Option<&str> {
        match self {
            Error::NoSuchChannel { channel, .. }
            | Error::NoSuchMemory { memory: channel, .. }
            | Error::WrongDirection { channel, .. }
            | Error::WrongKind { channel, .. }
            | Error::ChannelInUse { channel }
            | Error::Paired { channel }
            | Error::Timeout { channel, .. }
            | Error::Pending { channel, .. }
            | Error::Cancelled { channel, .. }
            | Error::Interrupted { channel, .. }
            | Error::Reset { channel, .. }
            | Error::Fault { channel, .. }
            | Error::Kind { channel, .. }
            | Error::QueueFull { channel, .. }
            | Error::UnknownTicket { channel }
            | Error::Protocol { channel, .. } => Some(channel),
            _ => None,
        }
    }

    /// Is it about time: [`Error::Timeout`], [`Error::Pending`] or [`Error::InterruptTimeout`]?
    pub fn is_timeout(&self) -> bool {
        matches!(self, Error::Timeout { .. } | Error::Pending { .. } | Error::InterruptTimeout { .. })
    }

    /// The errno(3) that comes nearest, for C and for [`std::io::Error`].
    pub fn errno(&self) -> i32 {
        match self {
            Error::NoSuchDevice { .. } => errno::ENODEV,
            Error::NoSuchChannel { .. } | Error::NoSuchMemory { .. } => errno::ENOENT,
            Error::NotReady { .. } => errno::EAGAIN,
            Error::Core { .. } => errno::ENOEXEC,
            Error::NotTowpath { .. } | Error::Version { .. } | Error::Discovery { .. } => errno::EPROTONOSUPPORT,
            Error::UnknownScheme { .. } | Error::Invalid(_) | Error::UnknownTicket { .. } => errno::EINVAL,
            Error::WrongDirection { .. } | Error::WrongKind { .. } => errno::EBADF,
            Error::ChannelInUse { .. } | Error::Paired { .. } | Error::BufferInUse => errno::EBUSY,
            Error::Timeout { .. } | Error::InterruptTimeout { .. } => errno::ETIMEDOUT,
            Error::Pending { .. } | Error::QueueFull { .. } => errno::EAGAIN,
            Error::Cancelled { .. } => errno::ECANCELED,
            Error::Interrupted { .. } => errno::EINTR,
            Error::Forked => errno::EPERM,
            Error::Reset { .. } => errno::ECONNRESET,
            Error::Fault { .. } | Error::Kind { .. } | Error::Register { .. } => errno::EREMOTEIO,
            Error::Protocol { .. } => errno::EPROTO,
            Error::Unavailable(_) | Error::Bus { source: BusError::Unsupported(_), .. } => errno::EOPNOTSUPP,
            Error::Memory { .. } => errno::ENOMEM,
            Error::Bus { source: BusError::Gone(_) | BusError::Stopped(_), .. } => errno::ENODEV,
            Error::Bus { source: BusError::Invalid(_), .. } => errno::EINVAL,
            Error::Bus { source: BusError::System(_, why), .. } => why.raw_os_error().unwrap_or(errno::EIO),
        }
    }

    /// The user core does not answer; for drivers.
    pub fn register_silent(offset: u32) -> Error {
        let what = "the user core did not answer in time; check its AXI4-Lite port (every address needs an answer), or reset the device";
        Error::Register { offset, what: what.into() }
    }

    /// The user core answers with an error; for drivers.
    pub fn register_refused(offset: u32) -> Error {
        let what = "the user core answered with an error (SLVERR or DECERR); check that it has a register there that allows this access";
        Error::Register { offset, what: what.into() }
    }

    /// The card does not reach a GPU's memory; for drivers.
    pub fn no_way_to_a_gpu(name: &str, why: &str) -> Error {
        let way = "ask for a staged transfer (Python: staged=True, Rust: Buffer::from_gpu_staged, C: staged = 1), which moves the bytes through the host's memory";
        Error::Unavailable(format!("{name}: {why}; {way}"))
    }

    /// The card does not reach another card's memory; for drivers.
    pub fn no_way_to_a_card(name: &str, why: &str) -> Error {
        Error::Unavailable(format!(
            "{name}: {why}; move the bytes through the host's memory: receive them, and write them to the other card"
        ))
    }

    /// A card does not reach the other card of a pair; for drivers.
    pub fn no_way_to_a_peer(name: &str, why: &str) -> Error {
        Error::Unavailable(format!("{name}: {why}; send through the host: receive from one card and send to the other"))
    }

    /// Converts an error of a bus, together with the operation that failed; for drivers.
    pub fn bus(doing: impl Into<String>) -> impl FnOnce(BusError) -> Error {
        move |source| Error::Bus { doing: doing.into(), source, bytes: None }
    }
}

impl From<Error> for std::io::Error {
    /// Keeps the error as its source; the kind is that of [`Error::errno`].
    fn from(error: Error) -> std::io::Error {
        let kind = std::io::Error::from_raw_os_error(error.errno()).kind();
        std::io::Error::new(kind, error)
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        "none".into()
    } else {
        items.join(", ")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownScheme { name, schemes } => {
                write!(f, "device \"{name}\": unknown kind of device; names begin with one of: {}", list(schemes))
            }
            Error::NoSuchDevice { name, why, available } if name.is_empty() => write!(
                f,
                "no device found: {why}; give a name or set TOWPATH_DEVICE; devices that can be opened: {}",
                list(available)
            ),
            Error::NoSuchDevice { name, why, available } => {
                write!(f, "no device \"{name}\": {why}; devices that can be opened: {}", list(available))
            }
            Error::NotReady { name, seen, remedy } => {
                write!(f, "device \"{name}\" is not ready: {seen}; `towpath doctor {name}` checks everything; mend this: {remedy}")
            }
            Error::Core { name, message } => write!(f, "device \"{name}\": {message}"),
            Error::NotTowpath { name, magic } => write!(
                f,
                "device \"{name}\" is not a Towpath card: its discovery page begins with {magic:#018x}; check that the card is \
                 configured with a Towpath bitstream and that the link is up"
            ),
            Error::Version { name, card, host } => write!(
                f,
                "device \"{name}\" speaks version {}.{} of Towpath's contract, this library {}.{}; rebuild the bitstream or install the \
                 library of the same major version",
                card.0, card.1, host.0, host.1
            ),
            Error::Discovery { name, what } => write!(f, "device \"{name}\": bad discovery table: {what}; rebuild the bitstream"),
            Error::NoSuchChannel { channel, available } => {
                write!(f, "no channel \"{channel}\"; this device has: {}", list(available))
            }
            Error::WrongDirection { channel, is, available } => {
                let (does, use_, other) = match is {
                    Direction::H2c => ("carries data to the card", "open it for sending", "from"),
                    Direction::C2h => ("carries data from the card", "open it for receiving", "to"),
                };
                write!(f, "channel \"{channel}\" {does}: {use_}; channels {other} the card: {}", list(available))
            }
            Error::NoSuchMemory { memory, available } => {
                write!(f, "no memory \"{memory}\"; memories of this device: {}", list(available))
            }
            Error::WrongKind { channel, kind, remedy } => write!(f, "channel \"{channel}\" is of the kind {kind}: {remedy}"),
            Error::ChannelInUse { channel } => {
                write!(
                    f,
                    "channel \"{channel}\" is already open; close its other sender or receiver first, here or in another program, or share that one \
                     between threads"
                )
            }
            Error::Paired { channel } => write!(
                f,
                "channel \"{channel}\" is paired with a stream of another card, and moves nothing for the host: disconnect the pair first (`disconnect` of \
                 what `connect` returned)"
            ),
            Error::Timeout { channel, bytes, after } => write!(
                f,
                "channel \"{channel}\": no progress for {after:?}; {bytes} bytes were moved, the rest was cancelled: go on with it on a stream, do all \
                 of it again on a memory or a channel of another kind; check that the user core takes or gives data, or set a longer timeout"
            ),
            Error::Pending { channel, after } => {
                write!(f, "channel \"{channel}\": not complete after {after:?}; the transfer is still in flight: wait again, or cancel it")
            }
            Error::Cancelled { channel, bytes } => {
                write!(f, "channel \"{channel}\": cancelled after {bytes} bytes; the channel can be used on")
            }
            Error::Interrupted { channel, .. } if channel.is_empty() => f.write_str("interrupted by a signal; call again to go on waiting"),
            Error::Interrupted { channel, bytes } => {
                write!(f, "channel \"{channel}\": interrupted by a signal after {bytes} bytes; go on with the rest")
            }
            Error::Forked => f.write_str("the device was opened by this process's parent; open it again in this process"),
            Error::Reset { channel, bytes } => {
                write!(f, "channel \"{channel}\": reset after {bytes} bytes; begin again with the first message")
            }
            Error::Fault { channel, status, bytes } => {
                write!(f, "channel \"{channel}\": {status} after {bytes} bytes; {}", status.remedy())
            }
            Error::Kind { channel, what, .. } => write!(f, "channel \"{channel}\": {what}"),
            Error::QueueFull { channel, depth } => write!(
                f,
                "channel \"{channel}\": its queue of {depth} descriptors is full; wait for a ticket before submitting more"
            ),
            Error::UnknownTicket { channel } => write!(
                f,
                "channel \"{channel}\": no such ticket; it belongs to another channel, or its result was collected already"
            ),
            Error::BufferInUse => write!(f, "the buffer is part of a transfer in flight; wait for its ticket, or cancel it, first"),
            Error::Protocol { channel, what, .. } => write!(
                f,
                "channel \"{channel}\": the card broke the protocol: {what}; reset the channel, and report this with the bitstream's version"
            ),
            Error::Register { offset, what } => write!(f, "register at {offset:#x}: {what}"),
            Error::InterruptTimeout { index, after } => write!(
                f,
                "user interrupt {index} did not come within {after:?}; check that the user core raises it, or wait longer"
            ),
            Error::Invalid(what) | Error::Unavailable(what) => f.write_str(what),
            Error::Memory { bytes } => write!(f, "no memory for {bytes} bytes; use smaller messages or receive into buffers of your own"),
            Error::Bus { doing, source, .. } => write!(f, "{doing}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Bus { source, .. } => Some(source),
            _ => None,
        }
    }
}
