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
use crate::receiver::Kept;
use crate::{reactor, Buffer, Error, Message, Receiver, Result, Sender, Status, Transfer};
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
/// As with [`std::io::Read`], a read returns 0 bytes at the end of each message (once for an empty one), and the next read begins with the
/// next message. A read waits until `buf` is full (or the stream's own buffer, if that is shorter) or the message ends.
#[derive(Debug)]
pub struct AsyncReceiver {
    // Before the buffer: dropping it cancels the transfer.
    transfer: Option<Transfer>,
    receiver: Receiver,
    buffer: Buffer,
    /// What a blocking call kept: these bytes come first.
    kept: Kept,
    /// What was received and not yet read.
    filled: Range<usize>,
    /// The message ends behind the filled bytes.
    ended: bool,
}

impl AsyncReceiver {
    /// Make a stream of a receiver, with a buffer of `bytes` bytes (0: one byte).
    pub fn new(receiver: Receiver, bytes: usize) -> Result<AsyncReceiver> {
        let buffer = Buffer::allocate(&receiver.core.device, bytes.max(1))?;
        let mut kept = std::mem::take(&mut *receiver.kept.lock());
        let ended = receiver.ended.swap(false, Ordering::AcqRel) || (kept.bytes.is_empty() && std::mem::take(&mut kept.end));
        Ok(AsyncReceiver { transfer: None, receiver, buffer, kept, filled: 0..0, ended })
    }

    /// The channel.
    pub fn get_ref(&self) -> &Receiver {
        &self.receiver
    }

    /// Return the channel. Cancels a transfer in flight, which may block for a moment. Bytes that were received and not read come first in
    /// the channel's next call.
    pub fn into_inner(mut self) -> Result<Receiver> {
        if let Some(mut transfer) = self.transfer.take() {
            transfer.cancel()?;
            let done = transfer.wait(Some(CANCEL))?;
            self.filled = 0..done.bytes as usize;
            self.kept.end = done.status == Status::EndOfMessage;
        } else if !self.filled.is_empty() {
            self.kept.end = self.ended;
        } else {
            self.receiver.ended.store(self.ended, Ordering::Release);
        }
        // Nothing is received before what was kept has been read.
        self.kept.bytes.extend_from_slice(&self.buffer.as_slice()?[self.filled.clone()]);
        *self.receiver.kept.lock() = self.kept;
        Ok(self.receiver)
    }

    /// Receive into the empty buffer, no more than `most` bytes.
    fn poll_receive(&mut self, context: &mut Context<'_>, most: usize) -> Poll<Result<()>> {
        let mut transfer = match self.transfer.take() {
            Some(transfer) => transfer,
            None => {
                let length = most.min(self.buffer.len());
                let (receiver, buffer) = (&self.receiver, &mut self.buffer);
                ready!(submit(&receiver.core, context.waker(), || receiver.try_submit(buffer, ..length)))?
            }
        };
        let Poll::Ready(done) = Pin::new(&mut transfer).poll(context) else {
            self.transfer = Some(transfer);
            return Poll::Pending;
        };
        let done = done?;
        (self.filled, self.ended) = (0..done.bytes as usize, done.status == Status::EndOfMessage);
        match done.check(self.receiver.name(), 0) {
            // As in the blocking calls: what came before a cancel counts.
            Err(Error::Cancelled { bytes: 1.., .. }) | Ok(_) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncRead for AsyncReceiver {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if !this.kept.bytes.is_empty() {
            let count = this.kept.bytes.len().min(into.remaining());
            into.put_slice(&this.kept.bytes[..count]);
            this.kept.bytes.drain(..count);
            if this.kept.bytes.is_empty() {
                this.ended = std::mem::take(&mut this.kept.end);
            }
            return Poll::Ready(Ok(()));
        }
        if this.filled.is_empty() {
            if std::mem::take(&mut this.ended) {
                return Poll::Ready(Ok(()));
            }
            ready!(this.poll_receive(context, into.remaining()))?;
        }
        let count = this.filled.len().min(into.remaining());
        into.put_slice(&this.buffer.as_slice()?[this.filled.start..this.filled.start + count]);
        this.filled.start += count;
        if count == 0 {
            this.ended = false; // an empty message has one end
        }
        Poll::Ready(Ok(()))
    }
}

/// A [`Sender`] as an [`AsyncWrite`].
///
/// A write copies its bytes, posts them and returns; the next call reports how their transfer ended. `flush` waits until the card has
/// everything. `shutdown` ends the message, and the next write begins another. `flush` does not end it, unlike [`std::io::Write::flush`]:
/// tokio's `copy` flushes whenever its reader has nothing.
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
    /// Make a stream of a sender, with a buffer of `bytes` bytes (0: one byte).
    pub fn new(sender: Sender, bytes: usize) -> Result<AsyncSender> {
        let buffer = Buffer::allocate(&sender.core.device, bytes.max(1))?;
        Ok(AsyncSender { transfer: None, sender, buffer, ending: false })
    }

    /// The channel.
    pub fn get_ref(&self) -> &Sender {
        &self.sender
    }

    /// Return the channel. Waits for a transfer in flight, with the channel's limit.
    pub fn into_inner(mut self) -> Result<Sender> {
        if let Some(mut transfer) = self.transfer.take() {
            let done = transfer.wait_with(self.sender.usual())?;
            done.check(self.sender.name(), 0)?;
            if self.ending {
                self.sender.open.store(false, Ordering::Release);
            }
        }
        Ok(self.sender)
    }

    fn poll_transfer(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(transfer) = &mut self.transfer else { return Poll::Ready(Ok(())) };
        let done = ready!(Pin::new(transfer).poll(context));
        self.transfer = None;
        let ending = std::mem::take(&mut self.ending);
        done?.check(self.sender.name(), 0)?;
        if ending {
            self.sender.open.store(false, Ordering::Release);
        }
        Poll::Ready(Ok(()))
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
            this.sender.open.store(true, Ordering::Release);
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
