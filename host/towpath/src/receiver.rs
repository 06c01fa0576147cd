// SPDX-License-Identifier: Apache-2.0
//! Channels from the card.

use crate::channel::{shared_methods, Core};
use crate::kept::Kept;
use crate::parts::Parts;
use crate::turn::CallLimit;
use crate::{gpu, Buffer, Device, Direction, Error, GpuMemory, Held, Message, MessageStart, Result, Status, Transfer, WaitOptions};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::io::IoSliceMut;
use std::ops::{Range, RangeBounds};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;
use towpath_driver::{Channel, Piece};

/// `recv` begins with this much memory and doubles it, if the core has not announced the length.
const FIRST_RECEIVE: usize = if cfg!(miri) { 64 } else { 64 << 10 };
/// The largest step by which `recv` grows at once, whatever length the core announced.
const LARGEST_STEP: usize = 64 << 20;

/// The result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Bytes that were written to the buffer.
    pub bytes: usize,
    /// The message ended here. If not, the next call returns its rest.
    pub end_of_message: bool,
    /// The offset that the core set for the message.
    pub offset: u32,
    /// The user word that the core set for the message.
    pub user: u32,
    /// The bytes moved through pinned memory of the host: see [`Buffer::from_gpu_staged`].
    pub staged: bool,
}

/// A channel from the card. May be shared between threads: each call returns consecutive bytes.
pub struct Receiver {
    pub(crate) core: Arc<Core>,
    pub(crate) kept: Mutex<Kept>,
    /// `io::Read` has returned the last bytes of a message, and not its end.
    pub(crate) ended: AtomicBool,
}

impl Receiver {
    pub(crate) fn new(device: &Device, channel: Box<dyn Channel>) -> Receiver {
        Receiver { core: Arc::new(Core::new(device, channel)), kept: Mutex::default(), ended: AtomicBool::new(false) }
    }

    shared_methods!();

    /// Receive into a buffer until it is full or the message ends. After [`Error::Timeout`], `Interrupted` or `Cancelled` the first `bytes`
    /// of the buffer are valid, and the next call goes on with the message.
    pub fn recv_into(&self, buffer: &mut [u8]) -> Result<Received> {
        self.recv_vectored(&mut [IoSliceMut::new(buffer)])
    }

    /// As [`Receiver::recv_into`], into many pieces, one after the other.
    pub fn recv_vectored(&self, pieces: &mut [IoSliceMut<'_>]) -> Result<Received> {
        self.recv_into_with(pieces, self.usual())
    }

    /// As [`Receiver::recv_vectored`], with this call's own limit.
    pub fn recv_into_with(&self, pieces: &mut [IoSliceMut<'_>], options: WaitOptions<'_>) -> Result<Received> {
        let pieces = pieces.iter_mut().map(|piece| Piece { memory: piece.as_mut_ptr(), bytes: piece.len(), registration: None });
        // SAFETY: the slices are borrowed mutably for this call.
        unsafe { self.receive_pieces(pieces, None, options) }
    }

    /// As [`Receiver::recv_into`], into a range of a registered buffer, which needs no registration for the call.
    pub fn recv_buffer(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>) -> Result<Received> {
        let range = buffer.range(&range);
        self.recv_buffer_with(buffer, &[range], self.usual())
    }

    /// As [`Receiver::recv_buffer`], into several ranges, one after the other, which do not overlap, and with this call's own limit.
    pub fn recv_buffer_with(&self, buffer: &mut Buffer, ranges: &[Range<usize>], options: WaitOptions<'_>) -> Result<Received> {
        // SAFETY: `&mut` shows that nothing else refers to it.
        unsafe { self.recv_buffer_shared(buffer, ranges, options) }
    }

    /// As [`Receiver::recv_buffer_with`] for bindings, whose buffers are shared between threads.
    ///
    /// # Safety
    /// No slice of the buffer lives, and none is made during the call.
    pub unsafe fn recv_buffer_shared(&self, buffer: &Buffer, ranges: &[Range<usize>], options: WaitOptions<'_>) -> Result<Received> {
        let pieces = ranges.iter().map(|range| self.core.blocking_piece(buffer, range)).collect::<Result<Vec<_>>>()?;
        let mut sorted: Vec<_> = ranges.iter().filter(|range| !range.is_empty()).collect();
        sorted.sort_unstable_by_key(|range| range.start);
        if sorted.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err(Error::Invalid("ranges to receive into overlap; give ranges that do not".into()));
        }
        let _hold = buffer.hold(Direction::C2h);
        // SAFETY: by this function's contract; the pieces do not overlap.
        let received = unsafe { self.receive_pieces(pieces.into_iter(), buffer.staged(), options)? };
        Ok(Received { staged: buffer.is_staged(), ..received })
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn receive_pieces<'a>(
        &self,
        pieces: impl Iterator<Item = Piece<'a>>,
        staged: Option<&Arc<GpuMemory>>,
        options: WaitOptions<'_>,
    ) -> Result<Received> {
        let core = &*self.core;
        core.channel()?;
        let mut limit = CallLimit::new(&core.device, options);
        let _turn = core.turn.take(&core.device, self.name(), &limit).map_err(|error| core.gave_up(error, 0))?;
        self.ended.store(false, Ordering::Release); // this call begins behind that end
        let mut received = Received { bytes: 0, end_of_message: false, offset: 0, user: 0, staged: false };
        let mut rest = VecDeque::new();
        let mut kept = self.kept.lock();
        for piece in pieces {
            let count = piece.bytes.min(kept.bytes().len());
            if count > 0 {
                match piece.device() {
                    Some((memory, offset)) => {
                        memory.write(offset, &kept.bytes()[..count]).map_err(gpu::failed("copying what was received", received.bytes))?
                    }
                    // SAFETY: the piece may be written to, by this function's contract.
                    None => unsafe { std::ptr::copy_nonoverlapping(kept.bytes().as_ptr(), piece.memory, count) },
                }
                kept.take(count);
                received = Received { bytes: received.bytes + count, offset: kept.offset, user: kept.user, ..received };
            }
            if count == 0 || count < piece.bytes {
                rest.push_back(piece.skip(count));
            }
        }
        if kept.is_empty() && std::mem::take(&mut kept.end) {
            received.end_of_message = true;
            return Ok(received);
        }
        if received.bytes > 0 && rest.iter().all(|piece| piece.bytes == 0) {
            return Ok(received);
        }
        drop(kept);
        // SAFETY: by this function's contract.
        unsafe { self.receive(rest, staged, received, &mut limit) }
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn receive(
        &self,
        pieces: VecDeque<Piece<'_>>,
        staged: Option<&Arc<GpuMemory>>,
        mut received: Received,
        limit: &mut CallLimit<'_>,
    ) -> Result<Received> {
        let mut parts = Parts::new(&self.core, pieces, usize::MAX, staged)?;
        loop {
            // SAFETY: by this function's contract.
            let part = unsafe { parts.run(|_| Message::default(), received.bytes as u64, limit) };
            let done = part.ended?;
            received.bytes += done.bytes as usize;
            received.end_of_message = done.status == Status::EndOfMessage;
            (received.offset, received.user) = (done.offset, done.user);
            if received.end_of_message || parts.is_empty() {
                parts.finish()?;
                return Ok(received);
            }
        }
    }

    /// On a channel of a kind that is asked ([`Device::receiver_of_kind`]): ask with these two values of the kind's for a message, and receive it.
    /// What of it does not fit into the buffer is lost. Calls from several threads are under way at once. After an error the bytes mean nothing.
    pub fn ask(&self, buffer: &mut [u8], offset: u64, user: u32) -> Result<Received> {
        self.ask_with(&mut [IoSliceMut::new(buffer)], offset, user, self.usual())
    }

    /// As [`Receiver::ask`], into several pieces, one after the other, and with this call's own limit.
    pub fn ask_with(&self, pieces: &mut [IoSliceMut<'_>], offset: u64, user: u32, options: WaitOptions<'_>) -> Result<Received> {
        self.may_ask()?;
        let piece = |piece: &mut IoSliceMut<'_>| Piece { memory: piece.as_mut_ptr(), bytes: piece.len(), registration: None };
        let pieces: Vec<_> = pieces.iter_mut().map(piece).collect();
        let mut limit = CallLimit::new(&self.core.device, options);
        let message = Message { offset, user, ..Message::default() };
        // SAFETY: the slices are borrowed mutably for this call.
        let done = unsafe { self.core.run(&pieces, message, 0, &mut limit)? };
        let end_of_message = done.status == Status::EndOfMessage;
        Ok(Received { bytes: done.bytes as usize, end_of_message, offset: done.offset, user: done.user, staged: false })
    }

    /// As [`Receiver::ask`], into a range of a registered buffer, and without waiting for the answer: see [`Receiver::submit`].
    pub fn submit_ask(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>, offset: u64, user: u32) -> Result<Transfer> {
        self.may_ask()?;
        let message = Message { offset, user, ..Message::default() };
        // SAFETY: `&mut` shows that nothing refers to it now, the buffer's counts that nothing does later.
        let ticket = unsafe { self.core.submit(buffer, range, &message, || Some(self.usual())) }?;
        Ok(Transfer::new(&self.core, ticket))
    }

    fn may_ask(&self) -> Result<()> {
        if self.info().is_stream() {
            let (channel, kind) = (self.name().into(), self.info().kind_text());
            return Err(Error::WrongKind { channel, kind, remedy: "the card cannot be asked for a message; receive what comes".into() });
        }
        Ok(())
    }

    /// What [`std::io::Read`] does: see `stream.rs`.
    pub(crate) fn read_stream(&self, pieces: &mut [IoSliceMut<'_>]) -> std::io::Result<usize> {
        if pieces.iter().all(|piece| piece.is_empty()) || self.ended.swap(false, Ordering::AcqRel) {
            return Ok(0);
        }
        match self.recv_vectored(pieces) {
            Ok(received) => {
                self.ended.store(received.end_of_message && received.bytes > 0, Ordering::Release);
                Ok(received.bytes)
            }
            Err(error) => crate::stream::early(error),
        }
    }

    /// Receive a whole message of any length. If it fails midway, the bytes received so far are kept for the next call.
    pub fn recv(&self) -> Result<Vec<u8>> {
        self.recv_message().map(|(bytes, _)| bytes)
    }

    /// As [`Receiver::recv`], with the message's offset and user word.
    pub fn recv_message(&self) -> Result<(Vec<u8>, Received)> {
        self.recv_message_with(self.usual())
    }

    /// As [`Receiver::recv_message`], with this call's own limit.
    pub fn recv_message_with(&self, options: WaitOptions<'_>) -> Result<(Vec<u8>, Received)> {
        let core = &*self.core;
        core.channel()?;
        let mut limit = CallLimit::new(&core.device, options);
        let _turn = core.turn.take(&core.device, self.name(), &limit).map_err(|error| core.gave_up(error, 0))?;
        self.ended.store(false, Ordering::Release); // this call begins behind that end
        let first = std::mem::take(&mut *self.kept.lock());
        let mut received =
            Received { bytes: first.bytes().len(), end_of_message: first.end, offset: first.offset, user: first.user, staged: false };
        let mut bytes = first.into_bytes();
        let result = self.receive_all(&mut bytes, &mut received, &mut limit);
        if let Err(error) = result {
            // The valid part of the piece that failed counts, too.
            let valid = error.bytes().map_or(received.bytes, |n| (n as usize).min(bytes.len()));
            bytes.truncate(valid);
            if !matches!(error, Error::Reset { .. }) {
                *self.kept.lock() = Kept::new(bytes, false, received.offset, received.user);
            }
            return Err(error);
        }
        bytes.truncate(received.bytes);
        Ok((bytes, received))
    }

    /// Take the beginning of a message that a failed `recv` has kept. For bindings that put messages together from transfers of their own,
    /// which do not return these bytes. `true`: the message ends with them.
    pub fn take_kept(&self) -> (Vec<u8>, bool) {
        let kept = std::mem::take(&mut *self.kept.lock());
        let end = kept.end;
        (kept.into_bytes(), end)
    }

    /// Keep the beginning of a message for the next `recv`: these bytes come after those that are kept already. For bindings.
    pub fn keep(&self, bytes: Vec<u8>) {
        self.kept.lock().extend(&bytes);
    }

    /// How many bytes are kept for the next call, whose message may end behind them. `None`: it begins with what the card has. For bindings.
    pub fn kept(&self) -> Option<usize> {
        let kept = self.kept.lock();
        (kept.end || !kept.is_empty()).then_some(kept.bytes().len())
    }

    /// Put back what a call has just received from this channel, and its result (`None`: it failed midway): the next call returns it first, with its
    /// message's end. For bindings whose calls may fail after the library's have succeeded.
    pub fn unread(&self, bytes: &[u8], received: Option<Received>) {
        self.kept.lock().put_back(bytes, received);
    }

    /// As [`Receiver::unread`], of what [`Receiver::recv_message`] has just returned. It takes no memory if nothing else is kept.
    pub fn unread_message(&self, bytes: Vec<u8>, received: Received) {
        self.kept.lock().put_back_owned(bytes, Some(received));
    }

    fn receive_all(&self, bytes: &mut Vec<u8>, received: &mut Received, limit: &mut CallLimit<'_>) -> Result<()> {
        let channel = self.core.channel()?;
        let mut step = FIRST_RECEIVE;
        while !received.end_of_message {
            let known = channel.try_message_start().ok().flatten().and_then(|start| start.length);
            if let Some(rest) = known.and_then(|length| length.checked_sub(received.bytes as u64)).filter(|rest| *rest > 0) {
                step = usize::try_from(rest).unwrap_or(LARGEST_STEP).min(LARGEST_STEP);
            }
            bytes.try_reserve(step).map_err(|_| Error::Memory { bytes: (bytes.len() + step) as u64 })?;
            bytes.resize(received.bytes + step, 0);
            let target = &mut bytes[received.bytes..];
            let piece = Piece { memory: target.as_mut_ptr(), bytes: target.len(), registration: None };
            // SAFETY: the vector is borrowed mutably and not moved meanwhile.
            *received = unsafe { self.receive(VecDeque::from([piece]), None, *received, limit)? };
            step = (step * 2).clamp(FIRST_RECEIVE, LARGEST_STEP);
        }
        Ok(())
    }

    /// Wait until the core has begun a message, and return what it announces of it, before any buffer is posted. Does not consume anything:
    /// called again before the message's end was received, it returns the same. Needs [`crate::ChannelOptions::announce`].
    pub fn message_start(&self, timeout: Option<Duration>) -> Result<MessageStart> {
        self.message_start_with(timeout.into())
    }

    /// As [`Receiver::message_start`], with this call's own options.
    pub fn message_start_with(&self, options: WaitOptions<'_>) -> Result<MessageStart> {
        self.core.channel()?.message_start(options)
    }

    /// As [`Receiver::message_start`], if there is one. If not, [`Receiver::event_fd`] becomes readable when there is.
    pub fn try_message_start(&self) -> Result<Option<MessageStart>> {
        let channel = self.core.channel()?;
        let found = channel.try_message_start()?;
        if found.is_none() {
            channel.poll_completions(&mut [])?; // in simulation, time passes for a program that only polls
        }
        Ok(found)
    }

    /// What the card holds for this channel: bytes that the core has sent and no buffer has taken.
    ///
    /// [`Error::Unavailable`] on a card without fill levels ([`crate::DeviceInfo::fill_levels`]), as the calls below.
    pub fn held(&self) -> Result<Held> {
        self.core.channel()?.held()
    }

    /// Wait until the card holds `bytes` bytes or more, or the core can send no more ([`Held::full`]), so that receiving is worth it. The card
    /// holds up to [`crate::ChannelInfo::buffer_bytes`], and 32 messages; of that a beat less is the most that is waited for. Consumes nothing.
    /// What comes last may be less than `bytes`: give a limit, and take then what there is.
    pub fn wait_held(&self, bytes: u32, timeout: Option<Duration>) -> Result<Held> {
        self.wait_held_with(bytes, timeout.into())
    }

    /// As [`Receiver::wait_held`], with this call's own options.
    pub fn wait_held_with(&self, bytes: u32, options: WaitOptions<'_>) -> Result<Held> {
        self.core.channel()?.wait_held(bytes, options)
    }

    /// As [`Receiver::wait_held`], if it holds them. If not, [`Receiver::event_fd`] becomes readable when it does; the last call's `bytes`
    /// count, until they are there or [`Receiver::cancel_wait_held`] takes them back.
    pub fn try_wait_held(&self, bytes: u32) -> Result<Option<Held>> {
        self.core.channel()?.try_wait_held(bytes)
    }

    /// Nobody waits any more for what the last [`Receiver::try_wait_held`] has not found. Without this the card tells of it when it is there,
    /// which wakes whoever sleeps on this channel then.
    pub fn cancel_wait_held(&self) -> Result<()> {
        self.core.channel()?.cancel_wait_held()
    }

    /// Post a range of a registered buffer and return at once, or when the queue has room. The buffer cannot be read or written until the
    /// transfer has ended. Each posted range takes bytes of one message only.
    #[inline]
    pub fn submit(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>) -> Result<Transfer> {
        // SAFETY: `&mut` shows that nothing refers to it now, the buffer's counts that nothing does later.
        let ticket = unsafe { self.core.submit(buffer, range, &Message::default(), || Some(self.usual())) }?;
        Ok(Transfer::new(&self.core, ticket))
    }

    /// As [`Receiver::submit`], but [`Error::QueueFull`] instead of waiting for room.
    #[inline]
    pub fn try_submit(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>) -> Result<Transfer> {
        // SAFETY: as above.
        unsafe { self.try_submit_shared(buffer, range) }
    }

    /// As [`Receiver::submit`] for bindings, whose buffers are shared between threads, with this call's own limit on the wait for room.
    ///
    /// # Safety
    /// No slice of the buffer lives, and none is made until the transfer has ended.
    #[inline]
    pub unsafe fn submit_shared(&self, buffer: &Buffer, range: impl RangeBounds<usize>, options: WaitOptions<'_>) -> Result<Transfer> {
        // SAFETY: by this function's contract.
        let ticket = unsafe { self.core.submit(buffer, range, &Message::default(), || Some(options)) }?;
        Ok(Transfer::new(&self.core, ticket))
    }

    /// As [`Receiver::try_submit`], otherwise as [`Receiver::submit_shared`].
    ///
    /// # Safety
    /// As [`Receiver::submit_shared`].
    #[inline]
    pub unsafe fn try_submit_shared(&self, buffer: &Buffer, range: impl RangeBounds<usize>) -> Result<Transfer> {
        // SAFETY: by this function's contract.
        let ticket = unsafe { self.core.submit(buffer, range, &Message::default(), || None) }?;
        Ok(Transfer::new(&self.core, ticket))
    }

    /// Post several ranges of a registered buffer, in their order, and return at once: as many as the queue has room for, or when it has room
    /// for some. What comes back is what was posted, from the first on; submit the rest again.
    /// Where the card's pages are mapped write-combining (today: in simulation), transfers posted together take a fraction of the stores.
    ///
    /// [`Error::Invalid`] says which one is invalid; then none was posted. Each transfer ends by itself, as after [`Receiver::submit`].
    pub fn submit_many(&self, buffer: &mut Buffer, ranges: &[Range<usize>]) -> Result<Vec<Transfer>> {
        let transfers: Vec<_> = ranges.iter().map(|range| (&*buffer, range.clone())).collect();
        // SAFETY: `&mut` shows that nothing refers to it now, the buffer's counts that nothing does later.
        unsafe { self.submit_many_shared(&transfers, Some(self.usual())) }
    }

    /// As [`Receiver::submit_many`], but [`Error::QueueFull`] instead of waiting for room.
    pub fn try_submit_many(&self, buffer: &mut Buffer, ranges: &[Range<usize>]) -> Result<Vec<Transfer>> {
        let transfers: Vec<_> = ranges.iter().map(|range| (&*buffer, range.clone())).collect();
        // SAFETY: as above.
        unsafe { self.submit_many_shared(&transfers, None) }
    }

    /// As [`Receiver::submit_many`] for bindings, whose buffers are shared between threads, with this call's own limit on the wait for room;
    /// `None`: it does not wait.
    ///
    /// # Safety
    /// No slice of the buffers lives, and none is made until the transfers have ended.
    pub unsafe fn submit_many_shared(&self, transfers: &[(&Buffer, Range<usize>)], wait: Option<WaitOptions<'_>>) -> Result<Vec<Transfer>> {
        let transfers = transfers.iter().map(|(buffer, range)| (*buffer, range.clone(), Message::default()));
        // SAFETY: by this function's contract.
        let tickets = unsafe { self.core.submit_many(transfers, wait) }?;
        Ok(tickets.into_iter().map(|ticket| Transfer::new(&self.core, ticket)).collect())
    }

    /// Empty the channel on both sides. What is in flight ends with [`Error::Reset`], what the card holds is discarded, and the user core
    /// sees its reset.
    pub fn reset(&self) -> Result<()> {
        self.core.channel()?.reset()?;
        *self.kept.lock() = Kept::default();
        self.ended.store(false, Ordering::Release);
        Ok(())
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("channel", &self.name()).finish()
    }
}
