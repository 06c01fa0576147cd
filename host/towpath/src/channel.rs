// SPDX-License-Identifier: Apache-2.0
//! What senders and receivers have in common: names, turns, limits, and one transfer from post to completion.
//!
//! A blocking transfer posts one descriptor at a time, of at most [`Channel::descriptor_limit`] bytes and [`Channel::piece_limit`] pieces.
//! On C2H a second one would take the next message's bytes if the first sees the end; on H2C it would begin a message of its own if the
//! first fails. At the limit's size the gap between two of them costs nothing that can be measured.
//!
//! Each call has a limit of its own, and cancels its own descriptor alone.

use crate::gpu::Queue;
use crate::reactor;
use crate::turn::{CallLimit, Turn};
use crate::{Buffer, ChannelInfo, ChannelKind, Completion, Device, Direction, Error, Message, Result, Status, Ticket, WaitOptions};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Range, RangeBounds};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use std::time::Duration;
use towpath_driver::{Channel, Piece, Submission};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the completion of a cancelled transfer may take before the card is given up. Before that, the driver turns a cancel into a
/// reset.
const GRACE: Duration = Duration::from_secs(8);

/// A channel's name or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelName {
    /// The name that the user core gives it. A number in digits also finds the channel of that number, if none has it as its name.
    Name(String),
    /// Its number.
    Index(i64),
}

impl ChannelName {
    /// Of two channels of one name, that of the direction that is wanted.
    pub(crate) fn find<'a>(&self, channels: &'a [ChannelInfo], wanted: Option<Direction>) -> Option<&'a ChannelInfo> {
        let by_index = |index: i64| channels.iter().find(|c| i64::from(c.index) == index);
        match self {
            ChannelName::Index(index) => by_index(*index),
            ChannelName::Name(name) => {
                let named = || channels.iter().filter(|c| c.name == *name);
                let found = named().find(|c| Some(c.direction) == wanted).or_else(|| named().next());
                found.or_else(|| name.parse().ok().and_then(by_index))
            }
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
pub(crate) struct Core {
    /// Declared first: the channel closes before the device does. Not dropped in a child of the process that opened it.
    channel: ManuallyDrop<Box<dyn Channel>>,
    pub direction: Direction,
    pub device: Device,
    /// Held for a whole blocking transfer, so that messages stay whole.
    pub turn: Turn,
    /// For calls that specify no limit. Nanoseconds; all ones: none.
    timeout: AtomicU64,
    event: OnceLock<OwnedFd>,
    /// Its transfers on streams.
    pub queue: Queue,
}

impl Drop for Core {
    fn drop(&mut self) {
        if let Some(event) = self.event.get() {
            reactor::forget(event.as_fd());
        }
        if self.device.is_here() {
            self.queue.close();
            // SAFETY: dropped here alone, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.channel) };
        }
    }
}

impl Core {
    pub fn new(device: &Device, channel: Box<dyn Channel>) -> Core {
        let core = Core {
            direction: channel.info().direction,
            channel: ManuallyDrop::new(channel),
            device: device.clone(),
            turn: Turn::default(),
            timeout: AtomicU64::new(0),
            event: OnceLock::new(),
            queue: Queue::default(),
        };
        core.set_timeout(Some(DEFAULT_TIMEOUT));
        core
    }

    pub fn info(&self) -> &ChannelInfo {
        self.channel.info()
    }

    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// Nobody but the kind knows what it has taken of a message, so a blocking call gives it a whole one: what has begun and cannot be ended is
    /// forgotten by a reset.
    pub fn takes_whole_messages(&self) -> bool {
        self.direction == Direction::H2c && self.info().kind == ChannelKind::Named
    }

    /// The channel; [`Error::Forked`] in a child of the process that opened it.
    #[inline]
    pub fn channel(&self) -> Result<&dyn Channel> {
        if self.device.is_here() {
            return Ok(&**self.channel);
        }
        Err(Error::Forked)
    }

    pub fn timeout(&self) -> Option<Duration> {
        match self.timeout.load(Ordering::Relaxed) {
            u64::MAX => None,
            nanoseconds => Some(Duration::from_nanos(nanoseconds)),
        }
    }

    pub fn set_timeout(&self, timeout: Option<Duration>) {
        let nanoseconds = timeout.map_or(u64::MAX, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX));
        self.timeout.store(nanoseconds, Ordering::Relaxed);
    }

    pub fn event_fd(&self) -> Result<BorrowedFd<'_>> {
        let channel = self.channel()?;
        if self.event.get().is_none() {
            let _ = self.event.set(channel.event_fd()?);
        }
        self.event.get().map(OwnedFd::as_fd).ok_or(Error::Forked)
    }

    /// The error of a call that waited in vain, after `moved` bytes of it have moved.
    pub fn gave_up(&self, why: Error, moved: u64) -> Error {
        match why {
            Error::Pending { channel, after } => Error::Timeout { channel, bytes: moved, after },
            other => other.with_bytes(moved),
        }
    }

    /// As [`Completion::check`], with the channel's kind in the error.
    #[inline]
    pub fn check(&self, completion: Completion, moved: u64) -> Result<Completion> {
        let Status::Kind(number) = completion.status else { return completion.check(self.name(), moved) };
        let (channel, kind, bytes) = (self.name().to_string(), self.info().kind_text(), moved + completion.bytes);
        let remedy = completion.status.remedy();
        let what = format!("the transfer ended with status {number} of the kind {kind} after {bytes} bytes; {remedy}");
        Err(Error::Kind { channel, kind, number, bytes, what })
    }

    /// One descriptor from post to completion. When this returns, the card is done with the memory. `moved` bytes of the same call before
    /// it count in errors.
    ///
    /// # Safety
    /// The pieces are valid, for writes on C2H, and nothing else touches them while this runs (reading is fine on H2C).
    pub unsafe fn run(&self, pieces: &[Piece<'_>], message: Message, moved: u64, limit: &mut CallLimit<'_>) -> Result<Completion> {
        // SAFETY: by this function's contract.
        let result = unsafe { self.run_counted(pieces, message, moved, limit) };
        // Whatever failed in this part, the parts before it have moved.
        result.map_err(|error| if error.bytes().is_none() { error.with_bytes(moved) } else { error })
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn run_counted(&self, pieces: &[Piece<'_>], message: Message, moved: u64, limit: &mut CallLimit<'_>) -> Result<Completion> {
        let channel = self.channel()?;
        let ticket = loop {
            // SAFETY: valid by this function's contract; it does not return before the descriptor has ended.
            match unsafe { channel.submit(pieces, &message, None) } {
                Err(Error::QueueFull { .. }) => {
                    channel.wait_room(limit.left(&self.device)).map_err(|error| self.gave_up(limit.whole(error), moved))?;
                }
                other => break other?,
            }
        };
        limit.open = true;
        // The caller's function that is polled for signals may panic: the card must be done with the memory even then.
        let guard = Unwinding { core: self, channel, ticket };
        let waited = channel.wait(ticket, limit.left(&self.device));
        std::mem::forget(guard);
        match waited {
            Ok(completion) => {
                limit.progress(&self.device);
                limit.open = leaves_open(message, completion.status, false);
                let lost = self.direction == Direction::C2h
                    && pieces.iter().any(|piece| piece.device().is_some_and(|(memory, _)| memory.has_failed()));
                if lost {
                    return self.check(Completion::new(ticket, Status::UnsupportedRequest, 0), moved);
                }
                self.check(completion, moved)
            }
            Err(error @ (Error::Pending { .. } | Error::Interrupted { .. })) => {
                let completion = self.end(channel, ticket)?;
                limit.open = leaves_open(message, completion.status, true);
                match completion.status {
                    Status::Cancelled => Err(self.gave_up(limit.whole(error), moved + completion.bytes)),
                    _ => self.check(completion, moved), // it ended just before the cancel
                }
            }
            Err(error) => {
                // The bus failed. The cancel ends the card's use of the memory, if need be by unmapping it from the card.
                let _ = channel.cancel_all();
                Err(error)
            }
        }
    }

    /// Cancel one transfer and collect its completion.
    fn end(&self, channel: &dyn Channel, ticket: Ticket) -> Result<Completion> {
        let ended =
            channel.cancel(ticket).and_then(|()| channel.wait(ticket, WaitOptions { timeout: Some(GRACE), interrupted: Some(&|| false) }));
        if ended.is_err() {
            let _ = channel.cancel_all(); // as above
        }
        ended
    }

    /// # Safety
    /// As [`Channel::submit`].
    #[inline(always)]
    pub unsafe fn submit<'a>(
        &self,
        buffer: &Buffer,
        range: impl RangeBounds<usize>,
        message: &Message,
        wait: impl FnOnce() -> Option<WaitOptions<'a>>,
    ) -> Result<Ticket> {
        let channel = self.channel()?;
        // As `piece`, without a result to be copied: this is on the way of each transfer.
        let Some(piece) = buffer.piece(&range, self.direction).filter(|_| buffer.belongs_to(&self.device)) else {
            return Err(self.refuse(buffer, &range));
        };
        // SAFETY: what keeps the memory holds it until the descriptor has ended; races are excluded by the buffer's counts.
        let submitted = unsafe { channel.submit(&[piece], message, Some(buffer.keep(self.direction))) };
        let error = match submitted {
            Ok(ticket) => return Ok(ticket),
            Err(error) => error,
        };
        match (&error, wait()) {
            // SAFETY: as above.
            (Error::QueueFull { .. }, Some(options)) => unsafe { self.submit_with_room(channel, buffer, piece, message, options) },
            _ => Err(error),
        }
    }

    /// Submit several ranges of buffers, as many as there is room for, and at least one; without `wait`, [`Error::QueueFull`] if there is no
    /// room at all. All are checked at first: if one is invalid, nothing is submitted.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    pub unsafe fn submit_many<'b>(
        &self,
        transfers: impl Iterator<Item = (&'b Buffer, Range<usize>, Message)> + Clone,
        wait: Option<WaitOptions<'_>>,
    ) -> Result<Vec<Ticket>> {
        let channel = self.channel()?;
        let (depth, most) = (usize::from(self.info().queue_depth), channel.descriptor_limit());
        let shallow = self.direction == Direction::H2c && depth < 3; // a descriptor and two prefixes
        for (number, (buffer, range, message)) in transfers.clone().enumerate() {
            let places = || 1 + usize::from(message.has_attributes()) + usize::from(message.length.is_some());
            if shallow && places() > depth {
                let why = Error::Invalid(format!("its attributes do not fit into a queue of {depth}: send it without"));
                return Err(self.refuse_one(number, &why));
            }
            let piece = self.piece(buffer, &range).map_err(|why| self.refuse_one(number, &why))?;
            if piece.bytes > most {
                let why = Error::Invalid(format!("a transfer has at most {most} bytes, not {}: make several of it", piece.bytes));
                return Err(self.refuse_one(number, &why));
            }
        }
        let (mut submissions, mut tickets) = (Vec::with_capacity(depth), Vec::with_capacity(depth));
        let mut submit = || {
            submissions.clear();
            for (buffer, range, message) in transfers.clone().take(depth) {
                let Ok(piece) = self.piece(buffer, &range) else { break }; // it was good just now
                submissions.push(Submission { piece, message, keep: Some(buffer.keep(self.direction)) });
            }
            // SAFETY: what keeps the memory holds it until the descriptor has ended; races are excluded by the buffer's counts.
            let submitted = unsafe { channel.submit_many(&mut submissions, &mut tickets) };
            if tickets.len() < submissions.len() {
                let left = submissions.iter_mut().filter_map(|submission| submission.keep.take());
                left.for_each(|keep| keep.release(self.direction));
            }
            submitted
        };
        let mut submitted = submit();
        if let (Err(Error::QueueFull { .. }), Some(options)) = (&submitted, wait) {
            submitted = self.with_room(channel, options, submit);
        }
        submitted.map(|()| tickets)
    }

    #[cold]
    fn refuse_one(&self, number: usize, why: &Error) -> Error {
        Error::Invalid(format!("transfer {number} (they count from 0): {why}; nothing was submitted"))
    }

    /// The piece of a range of a buffer, for this channel.
    #[inline(always)]
    pub fn piece<'a>(&self, buffer: &'a Buffer, range: &impl RangeBounds<usize>) -> Result<Piece<'a>> {
        match buffer.piece(range, self.direction).filter(|_| buffer.belongs_to(&self.device)) {
            Some(piece) => Ok(piece),
            None => Err(self.refuse(buffer, range)),
        }
    }

    /// As [`Core::piece`], for a blocking call: the piece may be staged.
    #[inline(always)]
    pub fn blocking_piece<'a>(&self, buffer: &'a Buffer, range: &impl RangeBounds<usize>) -> Result<Piece<'a>> {
        self.piece(buffer, range).or_else(|why| {
            let staged = buffer.staged_piece(range, self.direction).filter(|_| buffer.belongs_to(&self.device));
            staged.ok_or(why)
        })
    }

    #[cold]
    fn refuse(&self, buffer: &Buffer, range: &impl RangeBounds<usize>) -> Error {
        if buffer.belongs_to(&self.device) {
            return buffer.refuse(range, self.direction);
        }
        Error::Invalid("the buffer is registered with another device; allocate one for this device".into())
    }

    /// # Safety
    /// As [`Channel::submit`]; the piece is of this buffer.
    #[cold]
    unsafe fn submit_with_room(
        &self,
        channel: &dyn Channel,
        buffer: &Buffer,
        piece: Piece<'_>,
        message: &Message,
        options: WaitOptions<'_>,
    ) -> Result<Ticket> {
        // SAFETY: by this function's contract.
        self.with_room(channel, options, || unsafe { channel.submit(&[piece], message, Some(buffer.keep(self.direction))) })
    }

    /// Submit as soon as there is room.
    fn with_room<T>(&self, channel: &dyn Channel, options: WaitOptions<'_>, mut submit: impl FnMut() -> Result<T>) -> Result<T> {
        let limit = CallLimit::new(&self.device, options);
        loop {
            let waited = channel.wait_room(limit.left(&self.device));
            match (waited, submit()) {
                (Ok(()), Err(Error::QueueFull { .. })) => {}
                (Err(error), Err(Error::QueueFull { .. })) if !matches!(error, Error::Pending { .. }) => return Err(error),
                (_, submitted) => return submitted,
            }
        }
    }
}

/// Ends a transfer when a panic passes through the call that waits for it.
struct Unwinding<'a> {
    core: &'a Core,
    channel: &'a dyn Channel,
    ticket: Ticket,
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        let _ = self.core.end(self.channel, self.ticket);
        if self.core.takes_whole_messages() {
            let _ = self.channel.reset();
        }
    }
}

/// May a message be open on the card when a descriptor with a part of it, or all, has ended so? A fault ends the message if the descriptor does,
/// but beside a cancel nobody knows.
fn leaves_open(part: Message, status: Status, cancelled: bool) -> bool {
    match status {
        Status::Done | Status::EndOfMessage | Status::Kind(_) => !part.end,
        Status::Reset => false,
        Status::Cancelled | Status::Torn | Status::Malformed | Status::Unknown(_) => true,
        _ => cancelled || !part.end,
    }
}

/// What senders and receivers both have.
macro_rules! shared_methods {
    () => {
        /// What the device reports about this channel.
        pub fn info(&self) -> &crate::ChannelInfo {
            self.core.info()
        }

        /// The channel's name.
        pub fn name(&self) -> &str {
            self.core.name()
        }

        /// The device that it belongs to.
        pub fn device(&self) -> &crate::Device {
            &self.core.device
        }

        /// How long calls on this channel that specify no [`crate::WaitOptions`] of their own wait without progress; `None`: no limit. Ten
        /// seconds by default. Calls that wait already keep theirs.
        pub fn set_timeout(&self, timeout: Option<std::time::Duration>) {
            self.core.set_timeout(timeout);
        }

        /// See [`Self::set_timeout`].
        pub fn timeout(&self) -> Option<std::time::Duration> {
            self.core.timeout()
        }

        /// Collect transfers that have ended and that no [`crate::Transfer`] owns (see [`crate::Transfer::detach`]), in the order in which
        /// they ended, as many as there is room for; returns how many. If some have not ended, [`Self::event_fd`] becomes readable when one
        /// does.
        pub fn poll_completions(&self, room: &mut [crate::Completion]) -> crate::Result<usize> {
            self.core.channel()?.poll_completions(room)
        }

        /// As [`crate::Transfer::wait_with`], by the ticket. For bindings, which keep tickets as numbers.
        pub fn wait_ticket(&self, ticket: crate::Ticket, options: crate::WaitOptions<'_>) -> crate::Result<crate::Completion> {
            self.core.channel()?.wait(ticket, options)
        }

        /// As [`crate::Transfer::try_wait`], by the ticket.
        pub fn try_wait_ticket(&self, ticket: crate::Ticket) -> crate::Result<Option<crate::Completion>> {
            self.core.channel()?.try_wait(ticket)
        }

        /// As [`crate::Transfer::cancel`], by the ticket.
        pub fn cancel_ticket(&self, ticket: crate::Ticket) -> crate::Result<()> {
            self.core.channel()?.cancel(ticket)
        }

        /// The program does not collect this ticket: it takes no memory once its transfer has ended.
        pub fn abandon_ticket(&self, ticket: crate::Ticket) {
            if let Ok(channel) = self.core.channel() {
                channel.abandon(ticket);
            }
        }

        /// End everything in flight on this channel at once, other threads' calls included; each returns how many bytes it moved. The
        /// channel stays usable, and the user core keeps the data it has. To end one transfer, see [`crate::Transfer::cancel`].
        pub fn cancel_all(&self) -> crate::Result<()> {
            let channel = self.core.channel()?;
            self.core.queue.cancel_all();
            channel.cancel_all()
        }

        /// Make a transfer on this channel in the order of a GPU's stream. It begins when the work that is on the stream now is done, and what
        /// comes behind it on the stream waits for its end, whatever its result. Does not wait.
        ///
        /// `work` makes the transfer, with any blocking calls of this channel and `buffer` alone, in a thread of the channel's own, which makes
        /// those on streams one after the other in the order of these calls. It gives what it is called with to its calls as
        /// [`crate::WaitOptions::interrupted`], so that the transfer can be cancelled. A GPU's memory takes part as [`crate::Buffer::for_stream`].
        /// Two transfers that need each other, such as a send and the receive of its answer, belong on two streams.
        pub fn on_stream<T: Send + 'static>(
            &self,
            stream: &crate::GpuStream,
            buffer: &std::sync::Arc<crate::Buffer>,
            work: impl Fn(&(dyn Fn() -> bool + Sync)) -> crate::Result<T> + Send + 'static,
        ) -> crate::Result<crate::OnStream<T>> {
            crate::gpu::on_stream(&self.core, stream, buffer, work)
        }

        /// A descriptor that becomes readable when there is news, for `poll` and event loops: read 8 bytes off it, then call a `try_`
        /// method or [`Self::poll_completions`]. When these find nothing, the next news makes it readable. Do not mix it with blocking
        /// calls on the same channel, which would consume the news.
        pub fn event_fd(&self) -> crate::Result<std::os::fd::BorrowedFd<'_>> {
            self.core.event_fd()
        }

        /// Hold the channel's interrupts back, so that many transfers in flight wake the program less often: until `entries` transfers (and
        /// message starts) have ended and not been looked at, or `time` has passed since the first of them, whichever comes first. A `time`
        /// of zero turns moderation off; it is off by default. A call that waits for a single transfer then takes up to `time` longer. The
        /// card counts the time in units of 64 core clocks, 65535 at most: a longer one is [`crate::Error::Invalid`].
        pub fn set_moderation(&self, entries: u16, time: std::time::Duration) -> crate::Result<()> {
            self.core.channel()?.set_moderation(entries, time)
        }

        /// Counters since the channel was opened; all zero in a child of the process that opened it.
        pub fn statistics(&self) -> crate::ChannelStatistics {
            self.core.channel().map(|channel| channel.statistics()).unwrap_or_default()
        }

        /// The [`crate::WaitOptions`] of a call that specifies none.
        pub(crate) fn usual(&self) -> crate::WaitOptions<'static> {
            self.core.timeout().into()
        }
    };
}
pub(crate) use shared_methods;
