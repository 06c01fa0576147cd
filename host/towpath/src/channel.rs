// SPDX-License-Identifier: Apache-2.0
//! Channels: what a program sends and receives with.
//!
//! A blocking transfer posts one descriptor at a time, of at most [`Channel::descriptor_limit`] bytes and [`Channel::piece_limit`] pieces: on C2H a
//! second one would take the next message's bytes if the first sees the end, on H2C it would begin a message of its own if the first fails. At the
//! limit's size the gap between two of them costs nothing that can be measured.

use crate::{Buffer, ChannelInfo, ChannelStatistics, Completion, Device, Direction, Error, Message, MessageStart, Result, Status, Ticket};
use std::collections::VecDeque;
use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::ops::RangeBounds;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use towpath_driver::{Channel, Piece};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a cancelled descriptor may take to complete before the card is given up.
const GRACE: Duration = Duration::from_secs(2);
/// `recv` begins with this much memory and doubles it, if the core has not told the length.
const FIRST_RECEIVE: usize = 64 << 10;
/// The largest step by which `recv` grows at once, whatever length the core told.
const LARGEST_STEP: usize = 64 << 20;

/// A channel's name or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelName {
    /// The name that the user core gives it. A number in digits also finds the channel of that number, if none has it as its name.
    Name(String),
    /// Its number.
    Index(i64),
}

impl ChannelName {
    pub(crate) fn find<'a>(&self, channels: &'a [ChannelInfo]) -> Option<&'a ChannelInfo> {
        let by_index = |index: i64| channels.iter().find(|c| i64::from(c.index) == index);
        match self {
            ChannelName::Index(index) => by_index(*index),
            ChannelName::Name(name) => channels.iter().find(|c| c.name == *name).or_else(|| name.parse().ok().and_then(by_index)),
        }
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelName::Name(name) => f.write_str(name),
            ChannelName::Index(index) => write!(f, "{index}"),
        }
    }
}

impl From<&str> for ChannelName {
    fn from(name: &str) -> Self {
        ChannelName::Name(name.into())
    }
}
impl From<&String> for ChannelName {
    fn from(name: &String) -> Self {
        ChannelName::Name(name.clone())
    }
}
impl From<String> for ChannelName {
    fn from(name: String) -> Self {
        ChannelName::Name(name)
    }
}
impl From<u16> for ChannelName {
    fn from(index: u16) -> Self {
        ChannelName::Index(index.into())
    }
}
impl From<i32> for ChannelName {
    fn from(index: i32) -> Self {
        ChannelName::Index(index.into())
    }
}
impl From<i64> for ChannelName {
    fn from(index: i64) -> Self {
        ChannelName::Index(index)
    }
}
impl From<usize> for ChannelName {
    fn from(index: usize) -> Self {
        ChannelName::Index(i64::try_from(index).unwrap_or(i64::MAX))
    }
}

/// What both directions share.
struct Core {
    /// Declared first: the channel closes before the device does.
    channel: Box<dyn Channel>,
    direction: Direction,
    limit: usize,
    device: Device,
    /// Held for a whole blocking transfer, so that messages stay whole.
    transfer: Mutex<()>,
    /// Nanoseconds; all ones: none.
    timeout: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    fn new(device: &Device, channel: Box<dyn Channel>) -> Core {
        let core = Core {
            direction: channel.info().direction,
            limit: channel.descriptor_limit(),
            channel,
            device: device.clone(),
            transfer: Mutex::new(()),
            timeout: AtomicU64::new(0),
        };
        core.set_timeout(Some(DEFAULT_TIMEOUT));
        core
    }

    fn name(&self) -> &str {
        &self.channel.info().name
    }

    fn timeout(&self) -> Option<Duration> {
        match self.timeout.load(Ordering::Relaxed) {
            u64::MAX => None,
            nanoseconds => Some(Duration::from_nanos(nanoseconds)),
        }
    }

    fn set_timeout(&self, timeout: Option<Duration>) {
        let nanoseconds = timeout.map_or(u64::MAX, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX));
        self.timeout.store(nanoseconds, Ordering::Relaxed);
    }

    fn timed_out(&self, bytes: u64, after: Option<Duration>) -> Error {
        Error::Timeout { channel: self.name().into(), bytes, after: after.unwrap_or_default() }
    }

    /// One descriptor from post to completion. When this returns, the card is done with the memory. `moved` bytes of the same call before it
    /// count in errors.
    ///
    /// # Safety
    /// The pieces are valid, for writes on C2H, and nobody else touches them while this runs (reading is fine on H2C).
    unsafe fn run(&self, pieces: &[Piece], message: Message, moved: u64) -> Result<Completion> {
        // SAFETY: by this function's contract.
        let result = unsafe { self.run_counted(pieces, message, moved) };
        // Whatever failed in this part, the parts before it have moved.
        result.map_err(|error| if error.bytes().is_none() { error.with_bytes(moved) } else { error })
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn run_counted(&self, pieces: &[Piece], message: Message, moved: u64) -> Result<Completion> {
        let timeout = self.timeout();
        let ticket = loop {
            // SAFETY: valid by this function's contract; it does not return before the descriptor has ended.
            match unsafe { self.channel.submit(pieces, message, None) } {
                Err(Error::QueueFull { .. }) => self.channel.wait_room(timeout).map_err(|error| match error {
                    Error::Pending { .. } => self.timed_out(moved, timeout),
                    other => other.with_bytes(moved),
                })?,
                other => break other?,
            }
        };
        match self.channel.wait(ticket, timeout) {
            Ok(completion) => completion.check(self.name(), moved),
            Err(Error::Pending { .. }) => {
                self.channel.cancel()?;
                let completion = self.channel.wait(ticket, Some(GRACE))?;
                match completion.status {
                    Status::Cancelled => Err(self.timed_out(moved + completion.bytes, timeout)),
                    _ => completion.check(self.name(), moved), // it ended just before the cancel
                }
            }
            Err(error) => {
                // The bus failed. The cancel ends the card's use of the memory, if need be by taking it away from the card.
                let _ = self.channel.cancel();
                Err(error)
            }
        }
    }

    /// # Safety
    /// As [`Channel::submit`].
    #[inline(always)]
    unsafe fn submit(&self, buffer: &Buffer, range: impl RangeBounds<usize>, message: Message, wait: bool) -> Result<Ticket> {
        buffer.belongs_to(self.device.driver())?;
        let piece = buffer.piece(range, self.direction)?;
        if piece.bytes > self.limit {
            return Err(self.too_long());
        }
        // SAFETY: what keeps the memory holds it until the descriptor has ended; races are excluded by the buffer's counts.
        match unsafe { self.channel.submit(&[piece], message, Some(buffer.keep(self.direction))) } {
            // SAFETY: as above.
            Err(Error::QueueFull { .. }) if wait => unsafe { self.submit_with_room(buffer, piece, message) },
            result => result,
        }
    }

    #[cold]
    fn too_long(&self) -> Error {
        Error::Invalid(format!(
            "channel \"{}\": a submit takes at most {} bytes; submit the rest as further pieces of the message",
            self.name(),
            self.limit
        ))
    }

    /// # Safety
    /// As [`Channel::submit`]; the piece is of this buffer.
    #[cold]
    unsafe fn submit_with_room(&self, buffer: &Buffer, piece: Piece, message: Message) -> Result<Ticket> {
        loop {
            let waited = self.channel.wait_room(self.timeout());
            // SAFETY: by this function's contract.
            let submitted = unsafe { self.channel.submit(&[piece], message, Some(buffer.keep(self.direction))) };
            match (waited, submitted) {
                (Ok(()), Err(Error::QueueFull { .. })) => {}
                (Err(error), Err(Error::QueueFull { .. })) if !matches!(error, Error::Pending { .. }) => return Err(error),
                (_, submitted) => return submitted,
            }
        }
    }
}

macro_rules! shared_methods {
    () => {
        /// What the device says of this channel.
        pub fn info(&self) -> &ChannelInfo {
            self.core.channel.info()
        }

        /// The channel's name.
        pub fn name(&self) -> &str {
            self.core.name()
        }

        /// The device that it belongs to.
        pub fn device(&self) -> &Device {
            &self.core.device
        }

        /// How long calls wait without progress before they give up; `None`: for ever.
        pub fn set_timeout(&self, timeout: Option<Duration>) {
            self.core.set_timeout(timeout);
        }

        /// See [`Self::set_timeout`].
        pub fn timeout(&self) -> Option<Duration> {
            self.core.timeout()
        }

        /// Wait for a submitted transfer and collect how it ended; its status may be a fault ([`Completion::check`]). Without a timeout, wait for
        /// ever. [`Error::Pending`] leaves it in flight.
        pub fn wait(&self, ticket: Ticket, timeout: Option<Duration>) -> Result<Completion> {
            self.core.channel.wait(ticket, timeout)
        }

        /// Collect how a submitted transfer ended, if it has. If not, [`Self::event_fd`] will tell.
        pub fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>> {
            self.core.channel.try_wait(ticket)
        }

        /// Collect all submitted transfers that have ended, in order. If some have not, [`Self::event_fd`] will tell.
        pub fn poll_completions(&self) -> Result<Vec<Completion>> {
            self.core.channel.poll_completions()
        }

        /// End everything in flight on this channel, other threads' calls included, at once; each tells how far it came. The channel stays
        /// usable, and the user core keeps what it has.
        pub fn cancel(&self) -> Result<()> {
            self.core.channel.cancel()
        }

        /// A descriptor that becomes readable when there is news, for `poll` and event loops: read 8 bytes off it, then call a `try_` method or
        /// [`Self::poll_completions`]; when these find nothing, the next news will make it readable. It stays the channel's: duplicate it to
        /// keep it. Do not mix it with blocking calls on the same channel, which would take the news away.
        pub fn event_fd(&self) -> Result<RawFd> {
            self.core.channel.event_fd()
        }

        /// Hold the channel's interrupts back, so that many transfers in flight wake the program less often: until `entries` transfers (and message
        /// starts) have ended and not been looked at, or `time` has passed since the first of them, whichever comes first. A `time` of zero turns
        /// it off, as it is at first. A call that waits for a single transfer then takes up to `time` longer. The card counts the time in units
        /// of 64 core clocks, 65535 at most: a longer one is [`Error::Invalid`].
        pub fn set_moderation(&self, entries: u16, time: Duration) -> Result<()> {
            self.core.channel.set_moderation(entries, time)
        }

        /// What has been counted since the channel was opened.
        pub fn statistics(&self) -> ChannelStatistics {
            self.core.channel.statistics()
        }
    };
}

/// A channel to the card. May be shared between threads: each message goes whole.
pub struct Sender {
    core: Core,
}

impl Sender {
    pub(crate) fn new(device: &Device, channel: Box<dyn Channel>) -> Sender {
        Sender { core: Core::new(device, channel) }
    }

    shared_methods!();

    /// Send a whole message and wait until the card has it. No bytes are a message, too: the empty one.
    pub fn send(&self, bytes: &[u8]) -> Result<()> {
        self.send_message(bytes, Message::default())
    }

    /// Send a part of a message, or all of it, with what the core is to know of it. The message goes on with the next call unless `message.end`.
    /// Attributes count only with a message's first part. After [`Error::Timeout`] it is open: send the rest, without the bytes that were taken,
    /// or [`Sender::reset`].
    pub fn send_message(&self, bytes: &[u8], message: Message) -> Result<()> {
        self.send_vectored(&[IoSlice::new(bytes)], message)
    }

    /// As [`Sender::send_message`], from many pieces in one go.
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>], message: Message) -> Result<()> {
        let mut pieces: VecDeque<Piece> =
            pieces.iter().map(|slice| Piece { memory: slice.as_ptr().cast_mut(), bytes: slice.len() }).collect();
        let _whole = lock(&self.core.transfer);
        let mut moved = 0;
        loop {
            let part = take(&mut pieces, &*self.core.channel);
            let last = pieces.is_empty();
            // SAFETY: the slices are borrowed for this call; the card only reads them.
            let done = unsafe { self.core.run(&part, Message { end: message.end && last, ..message }, moved)? };
            moved += done.bytes;
            if last {
                return Ok(());
            }
        }
    }

    /// Post a range of a registered buffer and return at once, or as soon as the queue has room. The buffer can be read, not changed, until then.
    /// Each ticket must be waited for, or collected by [`Self::poll_completions`]: how a transfer ended is kept until somebody asks.
    pub fn submit(&self, buffer: &Buffer, range: impl RangeBounds<usize>, message: Message) -> Result<Ticket> {
        // SAFETY: the buffer's counts keep it from being changed meanwhile.
        unsafe { self.core.submit(buffer, range, message, true) }
    }

    /// As [`Sender::submit`], but [`Error::QueueFull`] instead of waiting for room.
    pub fn try_submit(&self, buffer: &Buffer, range: impl RangeBounds<usize>, message: Message) -> Result<Ticket> {
        // SAFETY: as above.
        unsafe { self.core.submit(buffer, range, message, false) }
    }

    /// Empty the channel on both sides. What is in flight ends with [`Error::Reset`], an open message vanishes, the user core is told.
    pub fn reset(&self) -> Result<()> {
        self.core.channel.reset()
    }
}

/// What a receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Bytes that were written to the buffer.
    pub bytes: usize,
    /// The message ended here. If not, its rest comes with the next call.
    pub end_of_message: bool,
    /// The offset that the core gave for the message.
    pub offset: u32,
    /// The user word that the core gave for the message.
    pub user: u32,
}

/// The beginning of a message whose `recv` failed on the way; it comes first in the next call.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    offset: u32,
    user: u32,
}

/// A channel from the card. May be shared between threads: each call gets consecutive bytes.
pub struct Receiver {
    core: Core,
    kept: Mutex<Kept>,
}

impl Receiver {
    pub(crate) fn new(device: &Device, channel: Box<dyn Channel>) -> Receiver {
        Receiver { core: Core::new(device, channel), kept: Mutex::default() }
    }

    shared_methods!();

    /// Receive into a buffer until it is full or the message ends. After [`Error::Timeout`] the first `bytes` of the buffer are valid, and the
    /// message goes on with the next call.
    pub fn recv_into(&self, buffer: &mut [u8]) -> Result<Received> {
        self.recv_vectored(&mut [IoSliceMut::new(buffer)])
    }

    /// As [`Receiver::recv_into`], into many pieces, one after the other.
    pub fn recv_vectored(&self, pieces: &mut [IoSliceMut<'_>]) -> Result<Received> {
        let _whole = lock(&self.core.transfer);
        let mut received = Received { bytes: 0, end_of_message: false, offset: 0, user: 0 };
        let mut rest = VecDeque::with_capacity(pieces.len());
        let mut kept = lock(&self.kept);
        for piece in pieces.iter_mut() {
            let count = piece.len().min(kept.bytes.len());
            piece[..count].copy_from_slice(&kept.bytes[..count]);
            if count > 0 {
                kept.bytes.drain(..count);
                received = Received { bytes: received.bytes + count, offset: kept.offset, user: kept.user, ..received };
            }
            if count == 0 || count < piece.len() {
                rest.push_back(Piece { memory: piece[count..].as_mut_ptr(), bytes: piece.len() - count });
            }
        }
        if received.bytes > 0 && rest.iter().all(|piece| piece.bytes == 0) {
            return Ok(received);
        }
        drop(kept);
        // SAFETY: the slices are borrowed mutably for this call.
        unsafe { self.receive(rest, received) }
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn receive(&self, mut pieces: VecDeque<Piece>, mut received: Received) -> Result<Received> {
        loop {
            let part = take(&mut pieces, &*self.core.channel);
            // SAFETY: by this function's contract.
            let done = unsafe { self.core.run(&part, Message::default(), received.bytes as u64)? };
            received.bytes += done.bytes as usize;
            received.end_of_message = done.status == Status::EndOfMessage;
            (received.offset, received.user) = (done.offset, done.user);
            if received.end_of_message || pieces.is_empty() {
                return Ok(received);
            }
        }
    }

    /// Receive a whole message of any length. If it fails on the way, what has come so far is kept for the next call.
    pub fn recv(&self) -> Result<Vec<u8>> {
        self.recv_message().map(|(bytes, _)| bytes)
    }

    /// As [`Receiver::recv`], with the message's offset and user word.
    pub fn recv_message(&self) -> Result<(Vec<u8>, Received)> {
        let _whole = lock(&self.core.transfer);
        let first = std::mem::take(&mut *lock(&self.kept));
        let mut received = Received { bytes: first.bytes.len(), end_of_message: false, offset: first.offset, user: first.user };
        let mut bytes = first.bytes;
        let result = self.receive_all(&mut bytes, &mut received);
        if let Err(error) = result {
            // The valid part of the piece that failed counts, too.
            let valid = error.bytes().map_or(received.bytes, |n| (n as usize).min(bytes.len()));
            bytes.truncate(valid);
            if !matches!(error, Error::Reset { .. }) {
                *lock(&self.kept) = Kept { bytes, offset: received.offset, user: received.user };
            }
            return Err(error);
        }
        bytes.truncate(received.bytes);
        Ok((bytes, received))
    }

    fn receive_all(&self, bytes: &mut Vec<u8>, received: &mut Received) -> Result<()> {
        let mut step = FIRST_RECEIVE;
        while !received.end_of_message {
            let known = self.core.channel.try_message_start().ok().flatten().and_then(|start| start.length);
            if let Some(rest) = known.and_then(|length| length.checked_sub(received.bytes as u64)).filter(|rest| *rest > 0) {
                step = usize::try_from(rest).unwrap_or(LARGEST_STEP).min(LARGEST_STEP);
            }
            bytes.try_reserve(step).map_err(|_| Error::Memory { bytes: (bytes.len() + step) as u64 })?;
            bytes.resize(received.bytes + step, 0);
            let target = &mut bytes[received.bytes..];
            let piece = Piece { memory: target.as_mut_ptr(), bytes: target.len() };
            // SAFETY: the vector is borrowed mutably and not moved meanwhile.
            *received = unsafe { self.receive(VecDeque::from([piece]), *received)? };
            step = (step * 2).clamp(FIRST_RECEIVE, LARGEST_STEP);
        }
        Ok(())
    }

    /// Wait until the core has begun a message, and tell what it says of it, before any buffer is posted. Does not consume anything: called again
    /// before the message's end was received, it tells the same. Needs [`crate::ChannelOptions::announce`].
    pub fn message_start(&self, timeout: Option<Duration>) -> Result<MessageStart> {
        self.core.channel.message_start(timeout)
    }

    /// As [`Receiver::message_start`], if there is one. If not, [`Receiver::event_fd`] will tell.
    pub fn try_message_start(&self) -> Result<Option<MessageStart>> {
        self.core.channel.try_message_start()
    }

    /// Post a range of a registered buffer and return at once, or as soon as the queue has room. The buffer cannot be looked at until then. Each
    /// posted range takes bytes of one message only.
    /// Each ticket must be waited for, or collected by [`Self::poll_completions`]: how a transfer ended is kept until somebody asks.
    pub fn submit(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>) -> Result<Ticket> {
        // SAFETY: `&mut` shows that nobody looks at it now, the buffer's counts that nobody does later.
        unsafe { self.core.submit(buffer, range, Message::default(), true) }
    }

    /// As [`Receiver::submit`], but [`Error::QueueFull`] instead of waiting for room.
    pub fn try_submit(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>) -> Result<Ticket> {
        // SAFETY: as above.
        unsafe { self.core.submit(buffer, range, Message::default(), false) }
    }

    /// As [`Receiver::submit`] for bindings, whose buffers are shared between threads.
    ///
    /// # Safety
    /// No slice of the buffer lives, and none is made until the transfer has ended.
    pub unsafe fn submit_shared(&self, buffer: &Buffer, range: impl RangeBounds<usize>) -> Result<Ticket> {
        // SAFETY: by this function's contract.
        unsafe { self.core.submit(buffer, range, Message::default(), true) }
    }

    /// As [`Receiver::try_submit`], otherwise as [`Receiver::submit_shared`].
    ///
    /// # Safety
    /// As [`Receiver::submit_shared`].
    pub unsafe fn try_submit_shared(&self, buffer: &Buffer, range: impl RangeBounds<usize>) -> Result<Ticket> {
        // SAFETY: by this function's contract.
        unsafe { self.core.submit(buffer, range, Message::default(), false) }
    }

    /// Empty the channel on both sides. What is in flight ends with [`Error::Reset`], what the card holds is discarded, the user core is told.
    pub fn reset(&self) -> Result<()> {
        self.core.channel.reset()?;
        *lock(&self.kept) = Kept::default();
        Ok(())
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("channel", &self.name()).finish()
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("channel", &self.name()).finish()
    }
}

/// Take from the front what one descriptor of this channel may carry; a piece that does not fit is cut.
fn take(pieces: &mut VecDeque<Piece>, channel: &dyn Channel) -> Vec<Piece> {
    let limit = channel.piece_limit();
    let mut part = Vec::with_capacity(pieces.len().min(limit));
    let mut room = channel.descriptor_limit();
    while part.len() < limit {
        let Some(piece) = pieces.pop_front() else { break };
        if piece.bytes > room {
            if room > 0 {
                part.push(Piece { memory: piece.memory, bytes: room });
            }
            // SAFETY: `room` is less than the piece's length.
            pieces.push_front(Piece { memory: unsafe { piece.memory.add(room) }, bytes: piece.bytes - room });
            break;
        }
        room -= piece.bytes;
        part.push(piece);
    }
    part
}
