// SPDX-License-Identifier: Apache-2.0
//! Errors and outcomes as numbers, which never change.

use std::ffi::{c_int, CStr};
use towpath::{Error, Status};

/// The result of a call. The numbers never change; later versions may add some, so have a default case. towpath_last_error() reports more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_status {
    /// The call succeeded.
    TOWPATH_OK = 0,
    /// An argument makes no sense: NULL, a handle of another kind or one that was closed, a length or a
    /// number out of range.
    /// errno: EINVAL.
    TOWPATH_INVALID = 1,
    /// The device's name begins with something unknown.
    /// errno: EINVAL.
    TOWPATH_UNKNOWN_SCHEME = 2,
    /// No device of this name, or none at all.
    /// errno: ENODEV.
    TOWPATH_NO_SUCH_DEVICE = 3,
    /// Simulation: the user core could not be found, checked or built.
    /// errno: ENOEXEC.
    TOWPATH_CORE = 4,
    /// The device that answers is not a Towpath card.
    /// errno: EPROTONOSUPPORT.
    TOWPATH_NOT_TOWPATH = 5,
    /// Card and library have different major versions of the contract.
    /// errno: EPROTONOSUPPORT.
    TOWPATH_VERSION = 6,
    /// The card's discovery table is inconsistent.
    /// errno: EPROTONOSUPPORT.
    TOWPATH_DISCOVERY = 7,
    /// The device has no channel, or no memory, of this name or number.
    /// errno: ENOENT.
    TOWPATH_NO_SUCH_CHANNEL = 8,
    /// The channel has the other direction.
    /// errno: EBADF.
    TOWPATH_WRONG_DIRECTION = 9,
    /// The channel is open already, here or in another process.
    /// errno: EBUSY.
    TOWPATH_CHANNEL_IN_USE = 10,
    /// No progress within the call's limit. The rest was cancelled; no byte is lost, and the channel stays usable.
    /// errno: ETIMEDOUT.
    TOWPATH_TIMEOUT = 11,
    /// Not complete yet. The transfer is still in flight.
    /// errno: EAGAIN.
    TOWPATH_PENDING = 12,
    /// Cancelled by the program.
    /// errno: ECANCELED.
    TOWPATH_CANCELLED = 13,
    /// The channel or the card was reset meanwhile.
    /// errno: ECONNRESET.
    TOWPATH_RESET = 14,
    /// The card met a fault on the link; the channel stays usable.
    /// errno: EREMOTEIO.
    TOWPATH_FAULT = 15,
    /// As many transfers are in flight as the card's queue holds.
    /// errno: EAGAIN.
    TOWPATH_QUEUE_FULL = 16,
    /// The ticket is not of this channel, or its result was collected already.
    /// errno: EINVAL.
    TOWPATH_UNKNOWN_TICKET = 17,
    /// The buffer is part of a transfer in flight.
    /// errno: EBUSY.
    TOWPATH_BUFFER_IN_USE = 18,
    /// The card broke the protocol; nothing of the host's was harmed.
    /// errno: EPROTO.
    TOWPATH_PROTOCOL = 19,
    /// The user core's registers: no such register, no answer, or an error as the answer.
    /// errno: EREMOTEIO.
    TOWPATH_REGISTER = 20,
    /// The user interrupt did not come in time.
    /// errno: ETIMEDOUT.
    TOWPATH_INTERRUPT_TIMEOUT = 21,
    /// Not enough memory.
    /// errno: ENOMEM.
    TOWPATH_MEMORY = 22,
    /// The way to the card failed.
    /// errno: ENODEV if the card has gone, EINVAL for an invalid access, otherwise the errno of the system, or EIO.
    TOWPATH_BUS = 23,
    /// This device does not support the call.
    /// errno: EOPNOTSUPP.
    TOWPATH_UNAVAILABLE = 24,
    /// A fault of the library's own, which was caught. Please report it.
    /// errno: ENOTRECOVERABLE.
    TOWPATH_INTERNAL = 25,
    /// The machine is not ready for this card; the text has the command that corrects it, and `towpath doctor` reports more.
    /// errno: EAGAIN.
    TOWPATH_NOT_READY = 26,
    /// An error without a number of its own yet.
    /// errno: EIO.
    TOWPATH_OTHER = 27,
    /// A signal handler ran while the call waited. What the call had posted was cancelled; no byte is lost, and the
    /// channel stays usable.
    /// errno: EINTR.
    TOWPATH_INTERRUPTED = 28,
    /// This process is a child of the one that opened the device: open it again.
    /// errno: EPERM.
    TOWPATH_FORKED = 29,
    /// What carries the channel's data on the card ended the transfer with a status of its own: of a memory, the user core answered with an
    /// error. The channel stays usable.
    /// errno: EREMOTEIO.
    TOWPATH_KIND = 30,
    /// The channel is of another kind, or this library does not know its kind.
    /// errno: EBADF.
    TOWPATH_WRONG_KIND = 31,
}

use towpath_status::*;

impl towpath_status {
    /// The errno(3) that comes nearest: what [`Error::errno`] gives, where the status is that of an error of the library.
    pub(crate) fn errno(self) -> c_int {
        match self {
            TOWPATH_OK => 0,
            TOWPATH_INVALID | TOWPATH_UNKNOWN_SCHEME | TOWPATH_UNKNOWN_TICKET => errno::EINVAL,
            TOWPATH_NO_SUCH_DEVICE => errno::ENODEV,
            TOWPATH_CORE => errno::ENOEXEC,
            TOWPATH_NOT_TOWPATH | TOWPATH_VERSION | TOWPATH_DISCOVERY => errno::EPROTONOSUPPORT,
            TOWPATH_NO_SUCH_CHANNEL => errno::ENOENT,
            TOWPATH_WRONG_DIRECTION | TOWPATH_WRONG_KIND => errno::EBADF,
            TOWPATH_CHANNEL_IN_USE | TOWPATH_BUFFER_IN_USE => errno::EBUSY,
            TOWPATH_TIMEOUT | TOWPATH_INTERRUPT_TIMEOUT => errno::ETIMEDOUT,
            TOWPATH_PENDING | TOWPATH_QUEUE_FULL | TOWPATH_NOT_READY => errno::EAGAIN,
            TOWPATH_CANCELLED => errno::ECANCELED,
            TOWPATH_RESET => errno::ECONNRESET,
            TOWPATH_FAULT | TOWPATH_REGISTER | TOWPATH_KIND => errno::EREMOTEIO,
            TOWPATH_PROTOCOL => errno::EPROTO,
            TOWPATH_MEMORY => errno::ENOMEM,
            TOWPATH_BUS | TOWPATH_OTHER => errno::EIO,
            TOWPATH_UNAVAILABLE => errno::EOPNOTSUPP,
            TOWPATH_INTERNAL => errno::ENOTRECOVERABLE,
            TOWPATH_INTERRUPTED => errno::EINTR,
            TOWPATH_FORKED => errno::EPERM,
        }
    }

    pub(crate) fn of(error: &Error) -> towpath_status {
        match error {
            Error::UnknownScheme { .. } => TOWPATH_UNKNOWN_SCHEME,
            Error::NoSuchDevice { .. } => TOWPATH_NO_SUCH_DEVICE,
            Error::Core { .. } => TOWPATH_CORE,
            Error::NotTowpath { .. } => TOWPATH_NOT_TOWPATH,
            Error::Version { .. } => TOWPATH_VERSION,
            Error::Discovery { .. } => TOWPATH_DISCOVERY,
            Error::NoSuchChannel { .. } | Error::NoSuchMemory { .. } => TOWPATH_NO_SUCH_CHANNEL,
            Error::WrongKind { .. } => TOWPATH_WRONG_KIND,
            Error::Kind { .. } => TOWPATH_KIND,
            Error::WrongDirection { .. } => TOWPATH_WRONG_DIRECTION,
            Error::ChannelInUse { .. } | Error::Paired { .. } => TOWPATH_CHANNEL_IN_USE,
            Error::Timeout { .. } => TOWPATH_TIMEOUT,
            Error::Pending { .. } => TOWPATH_PENDING,
            Error::Cancelled { .. } => TOWPATH_CANCELLED,
            Error::Reset { .. } => TOWPATH_RESET,
            Error::Fault { .. } => TOWPATH_FAULT,
            Error::QueueFull { .. } => TOWPATH_QUEUE_FULL,
            Error::UnknownTicket { .. } => TOWPATH_UNKNOWN_TICKET,
            Error::BufferInUse => TOWPATH_BUFFER_IN_USE,
            Error::Protocol { .. } => TOWPATH_PROTOCOL,
            Error::Register { .. } => TOWPATH_REGISTER,
            Error::InterruptTimeout { .. } => TOWPATH_INTERRUPT_TIMEOUT,
            Error::Invalid(_) => TOWPATH_INVALID,
            Error::Unavailable(_) => TOWPATH_UNAVAILABLE,
            Error::Memory { .. } => TOWPATH_MEMORY,
            Error::Bus { .. } => TOWPATH_BUS,
            Error::NotReady { .. } => TOWPATH_NOT_READY,
            Error::Interrupted { .. } => TOWPATH_INTERRUPTED,
            Error::Forked => TOWPATH_FORKED,
            _ => TOWPATH_OTHER,
        }
    }
}

const NAMES: [&CStr; 32] = [
    c"ok",
    c"invalid argument",
    c"unknown kind of device",
    c"no such device",
    c"user core cannot be used",
    c"not a Towpath card",
    c"version does not match",
    c"bad discovery table",
    c"no such channel",
    c"wrong direction",
    c"channel in use",
    c"timeout",
    c"pending",
    c"cancelled",
    c"reset",
    c"fault on the link",
    c"queue full",
    c"unknown ticket",
    c"buffer in use",
    c"protocol broken by the card",
    c"register",
    c"interrupt timeout",
    c"out of memory",
    c"bus",
    c"unavailable",
    c"internal fault",
    c"machine not ready",
    c"other error",
    c"interrupted by a signal",
    c"opened by the parent process",
    c"status of the channel's kind",
    c"wrong kind of channel",
];
const _: () = assert!(NAMES.len() == TOWPATH_WRONG_KIND as usize + 1);

pub(crate) fn status_name(status: u32) -> &'static CStr {
    NAMES.get(status as usize).copied().unwrap_or(c"unknown status")
}

/// How a transfer ended, in detail. The numbers never change; later versions may add some.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_outcome {
    /// All bytes were moved. On a channel from the card: the buffer is full, and the message goes on.
    TOWPATH_OUTCOME_DONE = 0,
    /// From the card: the message ended in this buffer.
    TOWPATH_OUTCOME_END_OF_MESSAGE = 1,
    /// A read of the card's was refused ("unsupported request").
    TOWPATH_OUTCOME_UNSUPPORTED_REQUEST = 2,
    /// A read of the card's could not be answered ("completer abort").
    TOWPATH_OUTCOME_COMPLETER_ABORT = 3,
    /// Data came marked as corrupt.
    TOWPATH_OUTCOME_POISONED = 4,
    /// A read of the card's was never answered.
    TOWPATH_OUTCOME_TIMEOUT = 5,
    /// Cancelled by the program.
    TOWPATH_OUTCOME_CANCELLED = 6,
    /// The system does not permit the card to access memory (bus mastering is off).
    TOWPATH_OUTCOME_BUS_MASTERING_OFF = 7,
    /// The channel or the card was reset.
    TOWPATH_OUTCOME_RESET = 8,
    /// The descriptor did not arrive whole.
    TOWPATH_OUTCOME_TORN = 9,
    /// The descriptor was malformed.
    TOWPATH_OUTCOME_MALFORMED = 10,
    /// A read of the card's was answered wrongly.
    TOWPATH_OUTCOME_BAD_COMPLETION = 11,
    /// The link to the card went down.
    TOWPATH_OUTCOME_LINK_DOWN = 12,
    /// An outcome unknown to this library.
    TOWPATH_OUTCOME_UNKNOWN = 13,
}

use towpath_outcome::*;
use towpath_system::errno;

impl From<Status> for towpath_outcome {
    fn from(status: Status) -> towpath_outcome {
        match status {
            Status::Done => TOWPATH_OUTCOME_DONE,
            Status::EndOfMessage => TOWPATH_OUTCOME_END_OF_MESSAGE,
            Status::UnsupportedRequest => TOWPATH_OUTCOME_UNSUPPORTED_REQUEST,
            Status::CompleterAbort => TOWPATH_OUTCOME_COMPLETER_ABORT,
            Status::Poisoned => TOWPATH_OUTCOME_POISONED,
            Status::Timeout => TOWPATH_OUTCOME_TIMEOUT,
            Status::Cancelled => TOWPATH_OUTCOME_CANCELLED,
            Status::BusMasteringOff => TOWPATH_OUTCOME_BUS_MASTERING_OFF,
            Status::Reset => TOWPATH_OUTCOME_RESET,
            Status::Torn => TOWPATH_OUTCOME_TORN,
            Status::Malformed => TOWPATH_OUTCOME_MALFORMED,
            Status::BadCompletion => TOWPATH_OUTCOME_BAD_COMPLETION,
            Status::LinkDown => TOWPATH_OUTCOME_LINK_DOWN,
            _ => TOWPATH_OUTCOME_UNKNOWN,
        }
    }
}

const OUTCOMES: [&CStr; 14] = [
    c"done",
    c"end of message",
    c"unsupported request",
    c"completer abort",
    c"poisoned data",
    c"a read of the card's timed out",
    c"cancelled",
    c"bus mastering is off",
    c"reset",
    c"torn descriptor",
    c"malformed descriptor",
    c"a read was answered wrongly",
    c"the link went down",
    c"unknown",
];
const _: () = assert!(OUTCOMES.len() == TOWPATH_OUTCOME_UNKNOWN as usize + 1);

pub(crate) fn outcome_name(outcome: u32) -> &'static CStr {
    OUTCOMES.get(outcome as usize).copied().unwrap_or(c"unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use towpath::{BusError, Direction};

    #[test]
    fn a_status_has_the_errno_that_its_error_has() {
        let (channel, after) = (String::from("out"), Duration::ZERO);
        let (name, available, what) = (channel.clone(), Vec::new(), channel.clone());
        let errors = [
            Error::UnknownScheme { name: name.clone(), schemes: available.clone() },
            Error::NoSuchDevice { name: name.clone(), why: what.clone(), available: available.clone() },
            Error::NotReady { name: name.clone(), seen: what.clone(), remedy: what.clone() },
            Error::Core { name: name.clone(), message: what.clone() },
            Error::NotTowpath { name: name.clone(), magic: 0 },
            Error::Version { name: name.clone(), card: (1, 0), host: (2, 0) },
            Error::Discovery { name, what: what.clone() },
            Error::NoSuchChannel { channel: channel.clone(), available: available.clone() },
            Error::WrongDirection { channel: channel.clone(), is: Direction::C2h, available },
            Error::NoSuchMemory { memory: channel.clone(), available: Vec::new() },
            Error::WrongKind { channel: channel.clone(), kind: what.clone(), remedy: what.clone() },
            Error::Kind { channel: channel.clone(), kind: what.clone(), number: 2, bytes: 0, what: what.clone() },
            Error::ChannelInUse { channel: channel.clone() },
            Error::Paired { channel: channel.clone() },
            Error::Timeout { channel: channel.clone(), bytes: 0, after },
            Error::Pending { channel: channel.clone(), after },
            Error::Cancelled { channel: channel.clone(), bytes: 0 },
            Error::Interrupted { channel: channel.clone(), bytes: 0 },
            Error::Forked,
            Error::Reset { channel: channel.clone(), bytes: 0 },
            Error::Fault { channel: channel.clone(), status: Status::Poisoned, bytes: 0 },
            Error::QueueFull { channel: channel.clone(), depth: 1 },
            Error::UnknownTicket { channel: channel.clone() },
            Error::BufferInUse,
            Error::Protocol { channel, what: what.clone(), bytes: None },
            Error::Register { offset: 0, what: what.clone() },
            Error::InterruptTimeout { index: 0, after },
            Error::Invalid(what.clone()),
            Error::Memory { bytes: 1 },
            Error::Bus { doing: what.clone(), source: BusError::System(what, std::io::Error::other("")), bytes: None },
        ];
        for error in errors {
            assert_eq!(towpath_status::of(&error).errno(), error.errno(), "{error:?}");
        }
    }
}
