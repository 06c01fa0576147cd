// SPDX-License-Identifier: Apache-2.0
//! The interface of Towpath's drivers, and what they share: errors, records of transfers, signals during a wait.
//!
//! [`Driver`] and [`Channel`] are what the library needs of a driver, whatever it is: crate `towpath-userspace` runs in the program over
//! any [`towpath_bus::Bus`], crate `towpath-kmod` uses the kernel module.
//!
//! Not for programs: they use crate `towpath`, which makes these operations safe.

mod error;
mod peer;
mod qos;
pub mod records;
mod registration;
pub mod signal_watch;

pub use error::{Error, Result};
pub use peer::{PeerEnd, PeerPlace, PeerState, INBOX_PAIRINGS, INBOX_WINDOW};
pub use qos::{rate_of, Qos, QosChange};
pub use registration::{Registration, RegistrationState};
pub use towpath_bus::{Access, BarPart, DeviceMemory, WireStatistics};

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use towpath_contract as contract;

/// Which way a channel carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Host to card.
    H2c,
    /// Card to host.
    C2h,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::H2c => "h2c",
            Direction::C2h => "c2h",
        })
    }
}

/// What carries a channel's data at the card's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChannelKind {
    /// A stream of the user core.
    Stream,
    /// Half of a memory of the user core: its bytes are written, or read.
    Memory,
    /// A kind from elsewhere, which [`ChannelInfo::kind_name`] tells from others.
    Named,
    /// A stream that carries nothing of the host's: it can be paired with one of another card.
    Peer,
    /// A kind unknown to this library.
    Unknown(u8),
}

impl ChannelKind {
    /// From the contract's number; for drivers.
    pub fn of_contract(number: u8) -> ChannelKind {
        match contract::ChannelKind::try_from(number) {
            Ok(contract::ChannelKind::Stream) => ChannelKind::Stream,
            Ok(contract::ChannelKind::Memory) => ChannelKind::Memory,
            Ok(contract::ChannelKind::Named) => ChannelKind::Named,
            Ok(contract::ChannelKind::Peer) => ChannelKind::Peer,
            Err(number) => ChannelKind::Unknown(number),
        }
    }
}

/// A channel's entry in the discovery table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelInfo {
    /// Its number.
    pub index: u16,
    /// The user core's name for it.
    pub name: String,
    /// Which way it carries data.
    pub direction: Direction,
    /// Descriptors that can be in flight; a message's attributes count.
    pub queue_depth: u16,
    /// Slots for messages that travel inside the doorbell page's neighbour.
    pub inline_slots: u16,
    /// Bytes that the channel buffers on the card.
    pub buffer_bytes: u32,
    /// What carries its data at the card's end.
    pub kind: ChannelKind,
    /// The kind's name.
    pub kind_name: String,
    /// The version of its kind.
    pub kind_version: u16,
    /// The kind's own number about this channel.
    pub kind_parameter: u32,
    /// Of a memory its window, of an H2C stream its inbox: where it begins in the BAR of windows, if it has one that this driver serves.
    pub window: Option<u64>,
}

/// The version of streams and memories that this library knows.
const KIND_VERSION: u16 = 1;
/// A memory's size is counted in these.
const MEMORY_PAGE: u64 = 4096;

impl ChannelInfo {
    /// A channel of which only this is known yet; for drivers.
    pub fn new(index: u16, name: impl Into<String>, direction: Direction) -> ChannelInfo {
        ChannelInfo {
            index,
            name: name.into(),
            direction,
            queue_depth: 0,
            inline_slots: 0,
            buffer_bytes: 0,
            kind: ChannelKind::Stream,
            kind_name: "stream".into(),
            kind_version: KIND_VERSION,
            kind_parameter: 0,
            window: None,
        }
    }

    /// Is it a stream that this library can use?
    pub fn is_stream(&self) -> bool {
        self.kind == ChannelKind::Stream && self.kind_version == KIND_VERSION
    }

    /// Is it a stream, which this library can pair, that carries nothing of the host's?
    pub fn is_for_peers_alone(&self) -> bool {
        self.kind == ChannelKind::Peer && self.kind_version == KIND_VERSION
    }

    /// The size of the memory that it is a half of, if it is one that this library can use.
    pub fn memory_bytes(&self) -> Option<u64> {
        let known = self.kind == ChannelKind::Memory && self.kind_version == KIND_VERSION;
        known.then(|| u64::from(self.kind_parameter) * MEMORY_PAGE)
    }

    /// The bytes that its inbox holds, if it is a stream to which a stream of another card can send.
    pub fn inbox_bytes(&self) -> Option<u32> {
        (self.has_a_peer() && self.direction == Direction::H2c).then_some(self.kind_parameter)
    }

    /// Is it a stream that can send to a stream of another card?
    pub fn sends_to_peers(&self) -> bool {
        self.has_a_peer() && self.direction == Direction::C2h
    }

    fn has_a_peer(&self) -> bool {
        (self.is_stream() || self.is_for_peers_alone()) && self.kind_parameter > 0
    }

    /// Is it of the kind with this name, and of this version of it?
    pub fn is_of_kind(&self, name: &str, version: u16) -> bool {
        self.kind == ChannelKind::Named && self.kind_name == name && self.kind_version == version
    }

    /// The kind in words.
    pub fn kind_text(&self) -> String {
        let name = match self.kind {
            ChannelKind::Unknown(number) => format!("{} ({number})", self.kind_name),
            _ => self.kind_name.clone(),
        };
        if self.is_stream() || self.is_for_peers_alone() || self.memory_bytes().is_some() {
            return name;
        }
        format!("{name} version {}", self.kind_version)
    }
}

/// A plug-in's entry in the discovery table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// Its number.
    pub index: u16,
    /// What it is.
    pub type_name: String,
    /// The version of its type.
    pub version: u16,
    /// Where its registers begin in the register window.
    pub offset: u32,
    /// Size of its registers.
    pub bytes: u32,
}

impl PluginInfo {
    /// For drivers.
    pub fn new(index: u16, type_name: impl Into<String>, version: u16, offset: u32, bytes: u32) -> PluginInfo {
        PluginInfo { index, type_name: type_name.into(), version, offset, bytes }
    }
}

/// A device's entry in the discovery table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name it was opened by.
    pub name: String,
    /// The user core's name.
    pub core: String,
    /// The user core's version.
    pub core_version: u32,
    /// Version of the card's contract: major, minor.
    pub version: (u16, u16),
    /// The card's serial number.
    pub serial: u64,
    /// Width of the data path.
    pub data_bits: u32,
    /// Clock of the data path, kHz.
    pub core_clock_khz: u32,
    /// Clock of the user core, kHz.
    pub user_clock_khz: u32,
    /// Read requests that can be outstanding.
    pub tags: u16,
    /// MSI-X vectors.
    pub vectors: u16,
    /// User interrupts.
    pub interrupts: u16,
    /// Size of the register window, with the registers of the user core and of its plug-ins; 0 if there is none.
    pub register_bytes: u32,
    /// Names of the user core's registers and their offsets, as far as they are known.
    pub register_names: Vec<(String, u32)>,
    /// The channels.
    pub channels: Vec<ChannelInfo>,
    /// The plug-ins.
    pub plugins: Vec<PluginInfo>,
    /// The card has fill levels, and the driver serves them: see [`Channel::wait_held`].
    pub fill_levels: bool,
    /// Its channels have weights, rates and traffic classes, and this driver reaches them.
    pub qos: bool,
}

/// How a descriptor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// All bytes were moved. C2H: the buffer is full and the message goes on.
    Done,
    /// C2H: the message ended in this buffer.
    EndOfMessage,
    /// A read was answered with "unsupported request".
    UnsupportedRequest,
    /// A read was answered with "completer abort".
    CompleterAbort,
    /// Data came poisoned.
    Poisoned,
    /// A read was never answered.
    Timeout,
    /// Cancelled by the host.
    Cancelled,
    /// The system does not permit the card to access memory (bus mastering is off).
    BusMasteringOff,
    /// The channel or the card was reset.
    Reset,
    /// The descriptor did not arrive whole.
    Torn,
    /// The descriptor or its list is malformed.
    Malformed,
    /// A read was answered with a wrong length or byte count.
    BadCompletion,
    /// The link to the card went down.
    LinkDown,
    /// The channel's kind says so, by a number of its own from 1 to 63.
    Kind(u8),
    /// A status unknown to this library.
    Unknown(u8),
}

/// The contract's numbers that a kind has for itself.
const KIND_STATUS: u8 = contract::Status::KindStatus as u8;
const KIND_STATUS_LAST: u8 = KIND_STATUS + 63;

impl Status {
    /// Did the descriptor succeed?
    #[inline]
    pub fn is_ok(self) -> bool {
        matches!(self, Status::Done | Status::EndOfMessage)
    }

    /// From the contract's number; for drivers.
    #[inline]
    pub fn of_contract(number: u8) -> Status {
        match contract::Status::try_from(number) {
            Ok(contract::Status::Done) => Status::Done,
            Ok(contract::Status::EndOfMessage) => Status::EndOfMessage,
            Ok(contract::Status::UnsupportedRequest) => Status::UnsupportedRequest,
            Ok(contract::Status::CompleterAbort) => Status::CompleterAbort,
            Ok(contract::Status::Poisoned) => Status::Poisoned,
            Ok(contract::Status::Timeout) => Status::Timeout,
            Ok(contract::Status::Cancelled) => Status::Cancelled,
            Ok(contract::Status::BusMasteringOff) => Status::BusMasteringOff,
            Ok(contract::Status::Reset) => Status::Reset,
            Ok(contract::Status::Torn) => Status::Torn,
            Ok(contract::Status::Malformed) => Status::Malformed,
            Ok(contract::Status::BadCompletion) => Status::BadCompletion,
            Ok(contract::Status::LinkDown) => Status::LinkDown,
            Ok(contract::Status::KindStatus) | Err(KIND_STATUS..=KIND_STATUS_LAST) => Status::Kind(number - KIND_STATUS),
            Ok(contract::Status::None) | Err(_) => Status::Unknown(number),
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Status::Done | Status::EndOfMessage => "nothing is wrong",
            Status::UnsupportedRequest | Status::CompleterAbort => {
                "the card was refused access to the buffer: check that it is still mapped, then send the message again"
            }
            Status::Poisoned => "the host's memory or a switch corrupted data: check the system's error log, then send the message again",
            Status::Timeout => "the host did not answer the card's read: check the link, then send the message again",
            Status::Cancelled | Status::Reset => "begin again with the next message",
            Status::BadCompletion => {
                "the host or a switch answered the card's read wrongly: check the system's error log, then send the message again"
            }
            Status::BusMasteringOff | Status::LinkDown => "open the device again",
            Status::Kind(_) => "see what the documentation of the channel's kind says about this number",
            Status::Torn | Status::Malformed | Status::Unknown(_) => "reset the channel and report this",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Done => "done",
            Status::EndOfMessage => "end of message",
            Status::UnsupportedRequest => "unsupported request",
            Status::CompleterAbort => "completer abort",
            Status::Poisoned => "poisoned data",
            Status::Timeout => "a read of the card's timed out",
            Status::Cancelled => "cancelled",
            Status::BusMasteringOff => "bus mastering is off",
            Status::Reset => "reset",
            Status::Torn => "a torn descriptor",
            Status::Malformed => "a malformed descriptor",
            Status::BadCompletion => "a read was answered wrongly",
            Status::LinkDown => "the link went down",
            Status::Kind(n) => return write!(f, "status {n} of the channel's kind"),
            Status::Unknown(n) => return write!(f, "unknown status {n}"),
        })
    }
}

/// How a blocking call waits for the card. Results never depend on it, only time and the processor's load do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// [`Notify::Poll`] for transfers that are expected to take no longer than `poll`, from the times of the channel's earlier transfers of
    /// that size; [`Notify::Early`] for longer ones. A transfer that was expected to be quick and takes longer is polled for no longer than
    /// twice `poll`.
    Adaptive {
        /// The longest time that is worth polling.
        poll: Duration,
    },
    /// Sleep until the card wakes the program shortly before the end, then poll: nearly as quick as [`Notify::Poll`] with little of its
    /// load. The channel learns how early from its transfers. A transfer that is expected to take less than twice the time of waking is
    /// polled for from the beginning.
    Early,
    /// Poll the ring all the time: the shortest delay, and a processor that does nothing else.
    Poll,
    /// Sleep until the interrupt: the least load, and the delay of waking on top of each transfer.
    Interrupt,
}

impl Default for Notify {
    fn default() -> Self {
        Notify::Adaptive { poll: Duration::from_micros(20) }
    }
}

/// Settings of a channel, fixed when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// How to wait.
    pub notify: Notify,
    /// C2H: let the card announce each message ([`Channel::message_start`]); costs one more ring entry a message.
    pub announce: bool,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        ChannelOptions { notify: Notify::default(), announce: true }
    }
}

/// A contiguous piece of the program's memory.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Its first byte. The processor may use it unless [`Piece::device`] says otherwise.
    pub memory: *mut u8,
    /// Its length.
    pub bytes: usize,
    /// A registration of this driver's which covers it and allows the transfer's direction. Without one the piece is registered for its
    /// transfer alone.
    pub registration: Option<&'a Registration>,
}

impl Piece<'_> {
    /// The device's memory that it is a piece of, and where it begins there. `None`: it is the processor's.
    #[inline]
    pub fn device(&self) -> Option<(&Arc<dyn DeviceMemory>, usize)> {
        let device = self.registration?.device()?;
        Some((device, (self.memory as usize).wrapping_sub(device.address())))
    }

    /// Its rest behind this many bytes.
    #[must_use]
    pub fn skip(self, bytes: usize) -> Self {
        Piece { memory: self.memory.wrapping_add(bytes), bytes: self.bytes - bytes, ..self }
    }
}

/// How long one call waits, and what ends it before.
#[derive(Clone, Copy, Default)]
pub struct WaitOptions<'a> {
    /// The call ends after this time without progress of its own; what other calls achieve meanwhile does not count. `None`: no limit.
    pub timeout: Option<Duration>,
    /// Called in the calling thread when a signal handler has run there, and about every 20 ms: `true` ends the call with
    /// [`Error::Interrupted`]. Without it, a signal handler that runs in the calling thread while the call waits ends the call.
    pub interrupted: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl From<Option<Duration>> for WaitOptions<'_> {
    fn from(timeout: Option<Duration>) -> Self {
        WaitOptions { timeout, interrupted: None }
    }
}

impl fmt::Debug for WaitOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitOptions").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// What a descriptor carries besides its memory. On a C2H stream a descriptor carries none of it; on a C2H channel of another kind, `offset`
/// and `user`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The message ends with this descriptor.
    pub end: bool,
    /// Bytes in the whole message, if the core is to receive the number beforehand.
    pub length: Option<u64>,
    /// For the user core: an offset or an address on the card. For a memory: the address of the first byte.
    pub offset: u64,
    /// For the user core: the user word, a value of the program's choice.
    pub user: u32,
}

impl Default for Message {
    /// A whole message without attributes.
    fn default() -> Self {
        Message { end: true, length: None, offset: 0, user: 0 }
    }
}

impl Message {
    /// Is there an offset or a user word? A descriptor with any takes one more place in the card's queue.
    #[inline]
    pub fn has_attributes(&self) -> bool {
        self.offset != 0 || self.user != 0
    }
}

/// Stands for one submitted descriptor, unique on its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub(crate) u64);

impl Ticket {
    /// As a number; for bindings.
    #[inline]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The ticket of a number; for bindings. One that was never issued is an [`Error::UnknownTicket`] wherever it is used.
    #[inline]
    pub fn from_number(number: u64) -> Ticket {
        Ticket(number)
    }
}

/// One of the transfers of a [`Channel::submit_many`].
pub struct Submission<'a> {
    /// Its memory.
    pub piece: Piece<'a>,
    /// What it carries besides.
    pub message: Message,
    /// As in [`Channel::submit`]; taken when the transfer is submitted.
    pub keep: Option<Arc<dyn Keep>>,
}

/// How a submitted descriptor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The ticket of the descriptor.
    pub ticket: Ticket,
    /// How it ended.
    pub status: Status,
    /// Bytes that were moved.
    pub bytes: u64,
    /// C2H: the offset that the core set for the message.
    pub offset: u32,
    /// C2H: the user word that the core set for the message.
    pub user: u32,
}

impl Default for Completion {
    /// Of no transfer: for [`Channel::poll_completions`] to overwrite.
    fn default() -> Self {
        Completion::new(Ticket(u64::MAX), Status::Unknown(0), 0)
    }
}

impl Completion {
    /// One without an offset and a user word; for drivers.
    #[inline]
    pub fn new(ticket: Ticket, status: Status, bytes: u64) -> Completion {
        Completion { ticket, status, bytes, offset: 0, user: 0 }
    }

    /// With the message's offset and user word; for drivers.
    #[inline]
    #[must_use]
    pub fn with(self, offset: u32, user: u32) -> Completion {
        Completion { offset, user, ..self }
    }

    /// The error that this completion stands for, or the completion itself. `moved` bytes before it count, too.
    pub fn check(self, channel: &str, moved: u64) -> Result<Completion> {
        if self.status.is_ok() {
            return Ok(self);
        }
        let (channel, bytes) = (channel.to_string(), moved + self.bytes);
        match self.status {
            Status::Cancelled => Err(Error::Cancelled { channel, bytes }),
            Status::Reset => Err(Error::Reset { channel, bytes }),
            status => Err(Error::Fault { channel, status, bytes }),
        }
    }
}

/// The start of a message in the user core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageStart {
    /// Its length in bytes, if the core announced it.
    pub length: Option<u64>,
    /// The offset that the core set for it.
    pub offset: u32,
    /// The user word that the core set for it.
    pub user: u32,
}

impl MessageStart {
    /// For drivers.
    pub fn new(length: Option<u64>, offset: u32, user: u32) -> MessageStart {
        MessageStart { length, offset, user }
    }
}

/// What the card holds for a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// C2H: bytes that the core has sent and that no transfer has taken. H2C: bytes that have landed and that the core has not taken.
    pub bytes: u32,
    /// C2H: the core can send no more before there is a transfer.
    pub full: bool,
}

impl Held {
    /// For drivers.
    pub fn new(bytes: u32, full: bool) -> Held {
        Held { bytes, full }
    }

    /// Is a wait for so many bytes over? C2H: so many or more, or as many as can be. H2C: so many or fewer.
    pub fn reaches(self, bytes: u32, direction: Direction) -> bool {
        match direction {
            Direction::C2h => self.full || self.bytes >= bytes,
            Direction::H2c => self.bytes <= bytes,
        }
    }
}

/// Counters of a channel since it was opened. A non-zero value in the last four is a fault of the card or of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelStatistics {
    /// Descriptors that were submitted.
    pub submitted: u64,
    /// Descriptors that have completed.
    pub completed: u64,
    /// Bytes in completed descriptors.
    pub bytes: u64,
    /// Completions whose cookie was not the oldest descriptor's.
    pub wrong_cookies: u64,
    /// Completions of more bytes than the descriptor had.
    pub wrong_lengths: u64,
    /// Completions with a status that does not exist or does not fit.
    pub wrong_statuses: u64,
    /// Completions when nothing was in flight, and starts that do not fit.
    pub unexpected: u64,
}

/// The card's counters of faults on its link, since it was switched on or its function was reset. Counts stop at 65535 and may lag by some
/// tens of core clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounters {
    /// Reads which the host refused.
    pub unsupported_requests: u32,
    /// Reads which the host could not answer.
    pub completer_aborts: u32,
    /// Reads with data marked as corrupt.
    pub poisoned: u32,
    /// Reads which were not answered in time.
    pub timeouts: u32,
    /// Reads answered with a wrong length or byte count.
    pub bad_completions: u32,
    /// Answers that came after the card had given up their read.
    pub late_completions: u32,
    /// Answers to reads that the card had not made.
    pub unexpected_completions: u32,
    /// Times that bus mastering was switched off.
    pub bus_mastering_losses: u32,
    /// Times that the link went down.
    pub link_downs: u32,
    /// Function-level resets.
    pub function_resets: u32,
    /// Tags in quarantine now: the card gave up their reads, and the answers may still come.
    pub quarantined: u32,
}

impl LinkCounters {
    /// Each counter with its name, for display.
    pub fn named(&self) -> [(&'static str, u32); 11] {
        [
            ("unsupported_requests", self.unsupported_requests),
            ("completer_aborts", self.completer_aborts),
            ("poisoned", self.poisoned),
            ("timeouts", self.timeouts),
            ("bad_completions", self.bad_completions),
            ("late_completions", self.late_completions),
            ("unexpected_completions", self.unexpected_completions),
            ("bus_mastering_losses", self.bus_mastering_losses),
            ("link_downs", self.link_downs),
            ("function_resets", self.function_resets),
            ("quarantined", self.quarantined),
        ]
    }
}

/// What a descriptor in flight keeps alive: the owner of its memory.
pub trait Keep: Send + Sync {
    /// The card is done with the memory that one descriptor of this direction referred to.
    fn release(&self, direction: Direction);
    /// Memory that one descriptor referred to could not be unmapped: the card may reach it for as long as the program runs.
    fn stays_mapped(&self);
    /// Did some of what the card wrote not arrive? So it is with a GPU's memory when a copy to it has failed, and with another card's
    /// when that one's link is down.
    fn has_lost(&self) -> bool;
}

/// What a driver without fill levels says.
const NO_FILL_LEVELS: &str = "fill levels are not served here: give the card to VFIO";
/// What a driver without windows says.
const NO_WINDOWS: &str = "memory windows are not served here";

/// What a driver says that does not reach the registers.
const NO_QOS: &str = "weights, rates and traffic classes are not set through this driver: give the card to VFIO";

/// How a load from the memories' windows ended: see [`Driver::read_window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// With the memory's bytes.
    Done,
    /// A memory refused it, or there is none at the address.
    Refused,
    /// A memory did not answer in time: the windows are off until the card is reset.
    Off,
}

/// What became of stores to the memories' windows, of all programs and devices: see [`Driver::window_stores`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowStores {
    /// A memory did not answer in time: the windows are off until the card is reset.
    pub off: bool,
    /// Stores that a memory has refused, or for which there was none, modulo 2^32.
    pub refused: u32,
    /// Stores that were dropped, modulo 2^32.
    pub dropped: u32,
    /// Times that the link went down, which loses what is on its way.
    pub link_downs: u32,
}

/// One device. All methods may be called from any thread.
pub trait Driver: Send + Sync {
    /// The discovery table.
    fn info(&self) -> &DeviceInfo;
    /// Open a channel for the caller exclusively, until the result is dropped.
    fn open_channel(&self, index: u16, options: ChannelOptions) -> Result<Box<dyn Channel>>;
    /// Register memory with the card for many transfers, which name the registration. Registrations may overlap.
    ///
    /// # Safety
    /// The memory stays valid until [`Driver::unregister`] has returned `Ok`.
    unsafe fn register(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<Arc<Registration>>;
    /// As [`Driver::register`], of a device's memory, which the registration holds. [`Error::Unavailable`]: the card cannot reach it.
    fn register_device(&self, memory: &Arc<dyn DeviceMemory>, access: Access) -> Result<Arc<Registration>>;
    /// Undo a [`Driver::register`] or a [`Driver::register_device`]. Transfers in flight there fail; the caller has ended them before. After an error the card may still
    /// reach the memory, for as long as the program runs. A second call does nothing.
    fn unregister(&self, registration: &Arc<Registration>) -> Result<()>;
    /// Read a register of the user core.
    fn read_register(&self, offset: u32) -> Result<u32>;
    /// Write a register of the user core.
    fn write_register(&self, offset: u32, value: u32) -> Result<()>;
    /// Load bytes from the memories' windows, at an offset that [`ChannelInfo::window`] tells. It may be done twice.
    fn read_window(&self, _offset: u64, _bytes: &mut [u8]) -> Result<Loaded> {
        Err(Error::Invalid(NO_WINDOWS.into()))
    }
    /// Store bytes to the memories' windows, one after the other; returns before they have arrived.
    fn write_window(&self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(Error::Invalid(NO_WINDOWS.into()))
    }
    /// A part of the memories' windows for other cards: see [`DeviceMemory::part_of_a_bar`]. [`Error::Unavailable`]: none reaches it.
    fn share_window(&self, _offset: u64, _bytes: u64) -> Result<Arc<dyn BarPart>> {
        Err(Error::Unavailable(NO_WINDOWS.into()))
    }
    /// What became of stores to the memories' windows since the card was switched on.
    fn window_stores(&self) -> Result<WindowStores> {
        Err(Error::Invalid(NO_WINDOWS.into()))
    }
    /// Wait for events of a user interrupt that no earlier call has returned; returns how many.
    fn wait_interrupt(&self, index: u16, options: WaitOptions<'_>) -> Result<u32>;
    /// Events of a user interrupt since the card was switched on or its function was reset, modulo 2^32.
    fn count_interrupt(&self, index: u16) -> Result<u32>;
    /// A descriptor that becomes readable when the user interrupt fires, as a duplicate of the caller's own.
    fn interrupt_event_fd(&self, index: u16) -> Result<OwnedFd>;
    /// A channel's part of the link. [`Error::Unavailable`]: see [`DeviceInfo::qos`].
    fn qos(&self, _index: u16) -> Result<Qos> {
        Err(Error::Unavailable(NO_QOS.into()))
    }
    /// Change a channel's part of the link. It stays until it is changed again, the card is switched off or its function is reset.
    fn set_qos(&self, _index: u16, _change: QosChange) -> Result<()> {
        Err(Error::Unavailable(NO_QOS.into()))
    }
    /// Reset the card: all channels and the user core. Transfers in flight end with [`Status::Reset`].
    fn reset(&self) -> Result<()>;
    /// See [`LinkCounters`].
    fn link_counters(&self) -> Result<LinkCounters>;
    /// Bytes on the wire, if the bus counts them.
    fn wire(&self) -> Option<WireStatistics>;
    /// Nanoseconds: simulated time, or a monotonic clock.
    fn now_ns(&self) -> u64;
}

/// One open channel. All methods may be called from any thread. Completions come in the order of submission, except for cancelled
/// transfers. Dropping it ends what is in flight and resets the channel.
///
/// On a channel of a memory each transfer is one write or one read, and has the card's address as its message's offset. On a channel of a
/// [named kind](ChannelKind::Named) [`Channel::cancel`] ends all that is in flight: the driver cannot know what the kind has taken. Only streams
/// announce messages.
pub trait Channel: Send + Sync {
    /// The channel's entry in the discovery table.
    fn info(&self) -> &ChannelInfo;
    /// The largest number of bytes that one descriptor should carry.
    fn descriptor_limit(&self) -> usize;
    /// The largest number of pieces that one descriptor may have.
    fn piece_limit(&self) -> usize {
        usize::MAX
    }
    /// Submit one transfer for all the pieces together. [`Error::QueueFull`] when there is no room; nothing is submitted on any error. When
    /// the card is done with the memory, or nothing was submitted, `keep` is released and dropped. Never waits.
    ///
    /// # Safety
    /// The pieces lie within their registrations, and stay valid until the transfer has completed, been cancelled or been reset, and the
    /// program does not touch them in a way that races with the card.
    unsafe fn submit(&self, pieces: &[Piece<'_>], message: &Message, keep: Option<Arc<dyn Keep>>) -> Result<Ticket>;
    /// Submit transfers in their order, as many as there is room for, and add their tickets to `tickets`. An error if the first could not be
    /// submitted; one of a later transfer ends the call there, and is the next call's. Of transfers that were not submitted, `keep` stays or
    /// is released. Never waits.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    unsafe fn submit_many(&self, submissions: &mut [Submission<'_>], tickets: &mut Vec<Ticket>) -> Result<()> {
        for (number, Submission { piece, message, keep }) in submissions.iter_mut().enumerate() {
            // SAFETY: by this function's contract.
            match unsafe { self.submit(&[*piece], message, keep.take()) } {
                Ok(ticket) => tickets.push(ticket),
                Err(error) if number == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(())
    }
    /// Wait for a transfer's completion, and collect it. [`Error::Pending`] and [`Error::Interrupted`] leave everything as it was.
    fn wait(&self, ticket: Ticket, options: WaitOptions<'_>) -> Result<Completion>;
    /// The completion, if there is one. If not, the interrupt is armed, so that [`Channel::event_fd`] signals it.
    fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>>;
    /// [`Channel::poll_completions`] is to find this transfer, once it has ended.
    fn detach(&self, ticket: Ticket);
    /// Collect detached transfers that have completed, in order, as many as there is room for; returns how many. As [`Channel::try_wait`]
    /// while any is left in flight. An error belongs to one transfer, and is returned alone.
    fn poll_completions(&self, room: &mut [Completion]) -> Result<usize>;
    /// Wait until one more transfer could be submitted, prefixes included. As [`Channel::wait`].
    fn wait_room(&self, options: WaitOptions<'_>) -> Result<()>;
    /// C2H: wait until the core has begun the message that the next byte belongs to. Does not consume it. As [`Channel::wait`].
    fn message_start(&self, options: WaitOptions<'_>) -> Result<MessageStart>;
    /// C2H: as [`Channel::message_start`], as [`Channel::try_wait`].
    fn try_message_start(&self) -> Result<Option<MessageStart>>;
    /// What the card holds for the channel. [`Error::Unavailable`] without [`DeviceInfo::fill_levels`].
    fn held(&self) -> Result<Held> {
        Err(Error::Unavailable(NO_FILL_LEVELS.into()))
    }
    /// Wait until the card holds so many bytes: [`Held::reaches`]. As [`Channel::wait`].
    fn wait_held(&self, _bytes: u32, _options: WaitOptions<'_>) -> Result<Held> {
        Err(Error::Unavailable(NO_FILL_LEVELS.into()))
    }
    /// As [`Channel::wait_held`], as [`Channel::try_wait`]; the latest call's number counts, until it is reached or taken back.
    fn try_wait_held(&self, _bytes: u32) -> Result<Option<Held>> {
        Err(Error::Unavailable(NO_FILL_LEVELS.into()))
    }
    /// Take back what the latest [`Channel::try_wait_held`] asked for, if it still stands.
    fn cancel_wait_held(&self) -> Result<()> {
        Ok(())
    }
    /// End one transfer; its completion, still to be collected, reports how many bytes moved. Other transfers go on: those that the card
    /// has to stop for this are continued where they stopped. That takes the card some microseconds; the call does not wait for a card that
    /// does not answer. Does nothing if the transfer has ended.
    fn cancel(&self, ticket: Ticket) -> Result<()>;
    /// The program does not collect this transfer.
    fn abandon(&self, ticket: Ticket);
    /// End all transfers in flight; their completions report how many bytes moved. Returns when the card is done with all their memory.
    fn cancel_all(&self) -> Result<()>;
    /// Empty the channel on both sides. Descriptors in flight end with [`Status::Reset`].
    fn reset(&self) -> Result<()>;
    /// A descriptor that becomes readable when the channel has news, as a duplicate of the caller's own.
    fn event_fd(&self) -> Result<OwnedFd>;
    /// Hold interrupts back until `entries` completions (and message starts) have not been looked at yet, or `time` has passed since the
    /// first of them; a `time` of zero turns moderation off. Off when the channel is opened; survives resets.
    fn set_moderation(&self, entries: u16, time: Duration) -> Result<()>;
    /// Its part in a pair with a stream of another card.
    fn peer(&self) -> Result<&dyn PeerEnd> {
        Err(Error::Unavailable(peer::NO_PEERS.into()))
    }
    /// See [`ChannelStatistics`].
    fn statistics(&self) -> ChannelStatistics;
}

/// The time of [`Channel::set_moderation`] in the card's units of 64 core clocks, rounded up; or why it is invalid. For drivers.
pub fn moderation_time(time: Duration, core_clock_khz: u32) -> std::result::Result<u16, String> {
    const UNIT_CLOCKS: u128 = 64;
    let clocks = (time.as_nanos() * u128::from(core_clock_khz)).div_ceil(1_000_000);
    u16::try_from(clocks.div_ceil(UNIT_CLOCKS)).map_err(|_| {
        let longest = u128::from(u16::MAX) * UNIT_CLOCKS * 1_000_000 / u128::from(core_clock_khz.max(1));
        format!("an interrupt cannot be held back for {time:?}; {longest} ns is the longest")
    })
}

/// A name from a card, up to its first zero byte, safe for terminals and logs: printable ASCII, with `?` in place of any other byte. The
/// kernel's driver does the same (driver/linux/name.h).
pub fn shown_name(bytes: &[u8]) -> String {
    let name = bytes.iter().take_while(|byte| **byte != 0);
    name.map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::shown_name;

    #[test]
    fn a_name_is_fit_for_a_terminal() {
        let printable: Vec<u8> = (b' '..=b'~').collect();
        assert_eq!(shown_name(&printable).as_bytes(), printable);
        assert_eq!(shown_name(b"in\0\x1b[31mhidden"), "in");
        assert_eq!(shown_name("\x1b[31mred\u{e4}\n".as_bytes()), "?[31mred???");
        assert_eq!(shown_name(&[0; 32]), "");
    }
}
