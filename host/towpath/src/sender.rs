// SPDX-License-Identifier: Apache-2.0
//! Channels to the card.

use crate::channel::{shared_methods, Core};
use crate::parts::Parts;
use crate::turn::CallLimit;
use crate::{Buffer, Device, Direction, GpuMemory, Held, Message, Result, Transfer, WaitOptions};
use std::fmt;
use std::io::IoSlice;
use std::ops::{Range, RangeBounds};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;
use towpath_driver::{Channel, Piece};

/// A channel to the card. May be shared between threads: each message goes whole.
pub struct Sender {
    pub(crate) core: Arc<Core>,
    /// `io::Write` has sent a part of a message.
    pub(crate) open: AtomicBool,
}

impl Sender {
    pub(crate) fn new(device: &Device, channel: Box<dyn Channel>) -> Sender {
        Sender { core: Arc::new(Core::new(device, channel)), open: AtomicBool::new(false) }
    }

    shared_methods!();

    /// Send a whole message and wait until the card has it. An empty slice is a message, too: the empty one.
    pub fn send(&self, bytes: &[u8]) -> Result<()> {
        self.send_message(bytes, Message::default())
    }

    /// Send a part of a message, or all of it, with its attributes. The message goes on with the next call unless `message.end`. Attributes
    /// count only with a message's first part. After [`crate::Error::Timeout`], `Interrupted` or `Cancelled` the message is open: send the
    /// rest, without the bytes that the card has taken, or [`Sender::reset`].
    ///
    /// On a channel of a [kind](crate::Kind) nobody goes on with such a message: a call that has begun something on the card and fails before
    /// that has its end resets the channel, before another call has its turn. A call that fails before it has begun anything changes nothing.
    pub fn send_message(&self, bytes: &[u8], message: Message) -> Result<()> {
        self.send_vectored(&[IoSlice::new(bytes)], message)
    }

    /// As [`Sender::send_message`], from several pieces in one call.
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>], message: Message) -> Result<()> {
        self.send_with(pieces, message, self.usual())
    }

    /// As [`Sender::send_vectored`], with this call's own limit.
    pub fn send_with(&self, pieces: &[IoSlice<'_>], message: Message, options: WaitOptions<'_>) -> Result<()> {
        let piece = |slice: &IoSlice<'_>| Piece { memory: slice.as_ptr().cast_mut(), bytes: slice.len(), registration: None };
        // SAFETY: the slices are borrowed for this call; the card only reads them.
        unsafe {
            match pieces {
                [slice] => self.send_pieces(&[piece(slice)], None, message, options),
                _ => self.send_pieces(&pieces.iter().map(piece).collect::<Vec<_>>(), None, message, options),
            }
        }
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn send_pieces(
        &self,
        pieces: &[Piece<'_>],
        staged: Option<&Arc<GpuMemory>>,
        message: Message,
        options: WaitOptions<'_>,
    ) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.send_parts(pieces, staged, message, options)? };
        if message.end {
            self.open.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn send_parts(
        &self,
        pieces: &[Piece<'_>],
        staged: Option<&Arc<GpuMemory>>,
        message: Message,
        options: WaitOptions<'_>,
    ) -> Result<()> {
        let core = &*self.core;
        core.channel()?;
        let mut limit = CallLimit::new(&core.device, options);
        let _turn = core.turn.take(&core.device, self.name(), &limit).map_err(|error| core.gave_up(error, 0))?;
        // SAFETY: by this function's contract.
        match unsafe { self.send_in_turn(pieces, staged, message, &mut limit) } {
            Err(error) if limit.open && core.takes_whole_messages() => Err(self.reset().err().unwrap_or(error)),
            sent => sent,
        }
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn send_in_turn(
        &self,
        pieces: &[Piece<'_>],
        staged: Option<&Arc<GpuMemory>>,
        message: Message,
        limit: &mut CallLimit<'_>,
    ) -> Result<()> {
        let core = &*self.core;
        let channel = core.channel()?;
        if let ([piece], None) = (pieces, staged) {
            if piece.bytes <= channel.descriptor_limit() {
                // SAFETY: by this function's contract.
                return unsafe { core.run(pieces, message, 0, limit) }.map(drop);
            }
        }
        let mut parts = Parts::new(core, pieces.iter().copied().collect(), usize::MAX, staged)?;
        let mut moved = 0;
        loop {
            // SAFETY: as above.
            let part = unsafe { parts.run(|last| Message { end: message.end && last, ..message }, moved, limit) };
            moved += part.ended?.bytes;
            if parts.is_empty() {
                return Ok(());
            }
        }
    }

    /// As [`Sender::send_message`], from a range of a registered buffer, which needs no registration for the call.
    pub fn send_buffer(&self, buffer: &Buffer, range: impl RangeBounds<usize>, message: Message) -> Result<()> {
        self.send_buffer_with(buffer, &[buffer.range(&range)], message, self.usual())
    }

    /// As [`Sender::send_buffer`], from several ranges, one after the other, and with this call's own limit.
    pub fn send_buffer_with(&self, buffer: &Buffer, ranges: &[Range<usize>], message: Message, options: WaitOptions<'_>) -> Result<()> {
        let pieces = ranges.iter().map(|range| self.core.blocking_piece(buffer, range)).collect::<Result<Vec<_>>>()?;
        let _hold = buffer.hold(Direction::H2c);
        // SAFETY: the buffer's count keeps it from being changed during this call; the card only reads it.
        unsafe { self.send_pieces(&pieces, buffer.staged(), message, options) }
    }

    /// Post a range of a registered buffer and return at once, or when the queue has room. The buffer can be read, not changed, until the
    /// transfer has ended.
    #[inline]
    pub fn submit(&self, buffer: &Buffer, range: impl RangeBounds<usize>, message: Message) -> Result<Transfer> {
        // SAFETY: the buffer's counts keep it from being changed meanwhile.
        let ticket = unsafe { self.core.submit(buffer, range, &message, || Some(self.usual())) }?;
        Ok(Transfer::new(&self.core, ticket))
    }

    /// As [`Sender::submit`], with this call's own limit on the wait for room.
    #[inline]
    pub fn submit_with(
        &self,
        buffer: &Buffer,
        range: impl RangeBounds<usize>,
        message: Message,
        options: WaitOptions<'_>,
    ) -> Result<Transfer> {
        // SAFETY: as above.
        let ticket = unsafe { self.core.submit(buffer, range, &message, || Some(options)) }?;
        Ok(Transfer::new(&self.core, ticket))
    }

    /// As [`Sender::submit`], but [`crate::Error::QueueFull`] instead of waiting for room.
    #[inline]
    pub fn try_submit(&self, buffer: &Buffer, range: impl RangeBounds<usize>, message: Message) -> Result<Transfer> {
        // SAFETY: as above.
        let ticket = unsafe { self.core.submit(buffer, range, &message, || None) }?;
        Ok(Transfer::new(&self.core, ticket))
    }

    /// Post several ranges of registered buffers, in their order, and return at once: as many as the queue has room for, or when it has room
    /// for some. What comes back is what was posted, from the first on; submit the rest again.
    /// Where the card's pages are mapped write-combining (today: in simulation), transfers posted together take a fraction of the stores.
    ///
    /// [`crate::Error::Invalid`] says which one is invalid; then none was posted. Each transfer ends by itself, as after [`Sender::submit`].
    pub fn submit_many(&self, transfers: &[(&Buffer, Range<usize>, Message)]) -> Result<Vec<Transfer>> {
        self.submit_many_within(transfers, Some(self.usual()))
    }

    /// As [`Sender::submit_many`], with this call's own limit on the wait for room.
    pub fn submit_many_with(&self, transfers: &[(&Buffer, Range<usize>, Message)], options: WaitOptions<'_>) -> Result<Vec<Transfer>> {
        self.submit_many_within(transfers, Some(options))
    }

    /// As [`Sender::submit_many`], but [`crate::Error::QueueFull`] instead of waiting for room.
    pub fn try_submit_many(&self, transfers: &[(&Buffer, Range<usize>, Message)]) -> Result<Vec<Transfer>> {
        self.submit_many_within(transfers, None)
    }

    fn submit_many_within(&self, transfers: &[(&Buffer, Range<usize>, Message)], wait: Option<WaitOptions<'_>>) -> Result<Vec<Transfer>> {
        // SAFETY: the buffers' counts keep them from being changed meanwhile.
        let tickets = unsafe { self.core.submit_many(transfers.iter().cloned(), wait) }?;
        Ok(tickets.into_iter().map(|ticket| Transfer::new(&self.core, ticket)).collect())
    }

    /// What the card holds for this channel: bytes that have landed and that the core has not taken.
    ///
    /// [`crate::Error::Unavailable`] on a card without fill levels ([`crate::DeviceInfo::fill_levels`]), as the calls below.
    pub fn held(&self) -> Result<Held> {
        self.core.channel()?.held()
    }

    /// Wait until the card holds `bytes` bytes or fewer: 0, until the core has taken all that has landed. What has not landed yet does not
    /// count. Of an open message up to a beat less one byte stays on the card.
    pub fn wait_drained(&self, bytes: u32, timeout: Option<Duration>) -> Result<Held> {
        self.wait_drained_with(bytes, timeout.into())
    }

    /// As [`Sender::wait_drained`], with this call's own options.
    pub fn wait_drained_with(&self, bytes: u32, options: WaitOptions<'_>) -> Result<Held> {
        self.core.channel()?.wait_held(bytes, options)
    }

    /// As [`Sender::wait_drained`], if it holds no more. If not, [`Sender::event_fd`] becomes readable when that is so; the last call's `bytes`
    /// count, until that is so or [`Sender::cancel_wait_drained`] takes them back.
    pub fn try_wait_drained(&self, bytes: u32) -> Result<Option<Held>> {
        self.core.channel()?.try_wait_held(bytes)
    }

    /// As [`crate::Receiver::cancel_wait_held`], of the last [`Sender::try_wait_drained`].
    pub fn cancel_wait_drained(&self) -> Result<()> {
        self.core.channel()?.cancel_wait_held()
    }

    /// Empty the channel on both sides. What is in flight ends with [`crate::Error::Reset`], an open message vanishes, and the user core
    /// sees its reset.
    pub fn reset(&self) -> Result<()> {
        self.core.channel()?.reset()?;
        self.open.store(false, Ordering::Release);
        Ok(())
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("channel", &self.name()).finish()
    }
}
