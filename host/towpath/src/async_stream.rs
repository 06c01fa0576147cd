// SPDX-License-Identifier: Apache-2.0
//! Channels as tokio's [`AsyncRead`] and [`AsyncWrite`]. Feature `tokio`.
//!
//! tokio lends memory only during a poll, and the card needs it until a transfer has ended. So each of these types owns a registered
//! buffer, copies the bytes through it, and has one transfer in flight. For the full rate keep several [`Transfer`]s in flight instead:
//! they are futures, too.
//!
//! Dropping the future of a read or write (`select!`, a timeout) loses no bytes: the transfer stays with its stream, and the next call
//! resumes it. No call has a limit of its own: use tokio's `timeout`.

use crate::channel::Core;
use crate::{reactor, Buffer, Completion, Error, Message, Receiver, Result, Sender, Status, Transfer, WaitOptions};
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{ready, Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The longest that a cancelled transfer takes to end: the drivers give a cancel two seconds.
const CANCEL: Duration = Duration::from_secs(5);

/// Submit, or have the task woken when the channel has news, such as room in its queue.
fn submit(core: &Core, waker: &Waker, mut submit: impl FnMut() -> Result<Transfer>) -> Poll<Result<Transfer>> {
    match submit() {
        Err(Error::QueueFull { .. }) => {}
        done => return Poll::Ready(done),
    }
    if let Err(error) = core.event_fd().and_then(|event| reactor::wake_when_readable(event, waker)) {
        return Poll::Ready(Err(error));
    }
    // Try again: an end in between woke no task.
    match submit() {
        Err(Error::QueueFull { .. }) => Poll::Pending,
        done => Poll::Ready(done),
    }
}

/// A [`Receiver`] as an [`AsyncRead`].
///
/// As with [`std::io::Read`], a read returns 0 bytes at the end of each message (once for an empty one), and the next read begins with the next
/// message. A read waits until `buf` is full (or the stream's own buffer, if that is shorter) or the message ends.
///
/// Make no calls on the channel that receive while a read is pending: they get the bytes after those of the read.
#[derive(Debug)]
pub struct AsyncReceiver {
    // Before the buffer: dropping it cancels the transfer. What it brought and no read took, the receiver keeps.
    transfer: Option<Transfer>,
    receiver: Receiver,
    buffer: Buffer,
}

impl AsyncReceiver {
    /// Make a stream of it, with a buffer of `bytes` bytes (0: one).
    pub fn new(receiver: Receiver, bytes: usize) -> Result<AsyncReceiver> {
        let buffer = Buffer::allocate(&receiver.core.device, bytes.max(1))?;
        Ok(AsyncReceiver { transfer: None, receiver, buffer })
    }

    /// The channel.
    pub fn get_ref(&self) -> &Receiver {
        &self.receiver
    }

    /// The channel alone, and how a pending read ended. The read is cancelled, which may block for a moment; what it received comes first in the
    /// channel's next call.
    pub fn into_inner(mut self) -> (Receiver, Result<()>) {
        let outcome = match self.transfer.take() {
            None => Ok(()),
            Some(transfer) => self.end(transfer),
        };
        (self.receiver, outcome)
    }

    fn end(&self, mut transfer: Transfer) -> Result<()> {
        transfer.cancel()?;
        // The end of a cancelled transfer is near: a signal does not keep it from being collected.
        let done = transfer.wait_with(WaitOptions { timeout: Some(CANCEL), interrupted: Some(&|| false) })?;
        match self.arrived(&done) {
            Ok(count) => self.keep(0..count, &done),
            Err(Error::Cancelled { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// How many bytes of the buffer are valid. What came before a cancel counts, as in the blocking calls.
    fn arrived(&self, done: &Completion) -> Result<usize> {
        match done.check(self.receiver.name(), 0) {
            Ok(_) | Err(Error::Cancelled { bytes: 1.., .. }) => Ok(done.bytes as usize),
            Err(error) => Err(error),
        }
    }

    /// Keep bytes of the buffer, and the message's end behind them, for the next call.
    fn keep(&self, range: Range<usize>, done: &Completion) -> Result<()> {
        let mut kept = self.receiver.kept.lock();
        kept.extend(&self.buffer.as_slice()?[range]);
        kept.end = done.status == Status::EndOfMessage;
        (kept.offset, kept.user) = (done.offset, done.user);
        Ok(())
    }

    /// Take what is kept. False: there is nothing.
    fn take_kept(&self, into: &mut ReadBuf<'_>) -> bool {
        let mut kept = self.receiver.kept.lock();
        let count = kept.bytes().len().min(into.remaining());
        into.put_slice(&kept.bytes()[..count]);
        kept.take(count);
        let ends = kept.is_empty() && std::mem::take(&mut kept.end);
        if ends && count > 0 {
            self.receiver.ended.store(true, Ordering::Release);
        }
        count > 0 || ends
    }
}

impl AsyncRead for AsyncReceiver {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if into.remaining() == 0 || this.take_kept(into) || this.receiver.ended.swap(false, Ordering::AcqRel) {
            return Poll::Ready(Ok(()));
        }
        let mut transfer = match this.transfer.take() {
            Some(transfer) => transfer,
            None => {
                let length = into.remaining().min(this.buffer.len());
                let (receiver, buffer) = (&this.receiver, &mut this.buffer);
                ready!(submit(&receiver.core, context.waker(), || receiver.try_submit(buffer, ..length)))?
            }
        };
        let Poll::Ready(done) = Pin::new(&mut transfer).poll(context) else {
            this.transfer = Some(transfer);
            return Poll::Pending;
        };
        let done = done?;
        let arrived = this.arrived(&done)?;
        // This read may have less room than the one that posted the transfer.
        let count = arrived.min(into.remaining());
        into.put_slice(&this.buffer.as_slice()?[..count]);
        if count < arrived {
            this.keep(count..arrived, &done)?;
        } else if done.status == Status::EndOfMessage && arrived > 0 {
            this.receiver.ended.store(true, Ordering::Release);
        }
        Poll::Ready(Ok(()))
    }
}

/// A [`Sender`] as an [`AsyncWrite`].
///
/// A write copies its bytes, posts them and returns; the next call reports how their transfer ended. `flush` waits until the card has everything.
/// `shutdown` ends the message, and the next write begins another: unlike [`std::io::Write::flush`], because tokio's `copy` flushes whenever its
/// reader has nothing.
#[derive(Debug)]
pub struct AsyncSender {
    // Before the buffer: dropping it cancels the transfer.
    transfer: Option<Transfer>,
    sender: Sender,
    buffer: Buffer,
    /// The transfer in flight is the message's end.
    ending: bool,
}

impl AsyncSender {
    /// Make a stream of it, with a buffer of `bytes` bytes (0: one).
    pub fn new(sender: Sender, bytes: usize) -> Result<AsyncSender> {
        let buffer = Buffer::allocate(&sender.core.device, bytes.max(1))?;
        Ok(AsyncSender { transfer: None, sender, buffer, ending: false })
    }

    /// The channel.
    pub fn get_ref(&self) -> &Sender {
        &self.sender
    }

    /// The channel alone, and how the last write's transfer ended. Blocks until it has, up to the channel's limit, and then cancels it: `flush`
    /// first.
    pub fn into_inner(mut self) -> (Sender, Result<()>) {
        let outcome = match self.transfer.take() {
            None => Ok(()),
            Some(mut transfer) => {
                let limit = self.sender.usual().timeout;
                let done = transfer.wait_with(WaitOptions { timeout: limit, interrupted: Some(&|| false) });
                done.map_err(|error| self.sender.core.gave_up(error, 0)).and_then(|done| self.settle(done))
            }
        };
        (self.sender, outcome)
    }

    /// Note whether a message is open after this transfer.
    fn settle(&mut self, done: Completion) -> Result<()> {
        let ended = std::mem::take(&mut self.ending) && done.status.is_ok();
        if ended || done.status == Status::Reset {
            self.sender.open.store(false, Ordering::Release);
        } else if done.bytes > 0 {
            self.sender.open.store(true, Ordering::Release);
        }
        done.check(self.sender.name(), 0).map(drop)
    }

    fn poll_transfer(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(transfer) = &mut self.transfer else { return Poll::Ready(Ok(())) };
        let done = ready!(Pin::new(transfer).poll(context));
        self.transfer = None;
        Poll::Ready(done.and_then(|done| self.settle(done)))
    }

    fn poll_submit(&mut self, context: &mut Context<'_>, bytes: usize, end: bool) -> Poll<Result<()>> {
        let (sender, buffer) = (&self.sender, &self.buffer);
        let message = Message { end, ..Message::default() };
        self.transfer = Some(ready!(submit(&sender.core, context.waker(), || sender.try_submit(buffer, ..bytes, message)))?);
        self.ending = end;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for AsyncSender {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        ready!(this.poll_transfer(context))?;
        let count = from.len().min(this.buffer.len());
        if count > 0 {
            this.buffer.as_mut_slice()?[..count].copy_from_slice(&from[..count]);
            ready!(this.poll_submit(context, count, false))?;
        }
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_transfer(context).map_err(io::Error::from)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            ready!(this.poll_transfer(context))?;
            if !this.sender.open.load(Ordering::Acquire) {
                return Poll::Ready(Ok(()));
            }
            ready!(this.poll_submit(context, 0, true))?;
        }
    }
}
