// SPDX-License-Identifier: Apache-2.0
//! Channels as streams: [`io::Read`] and [`io::Write`].
//!
//! A message is to a channel what a file is to a disk. `read` returns 0 at the end of each message (once for an empty one), and the next
//! `read` begins with the next message: `read_to_end` and `io::copy` take one message. `write` sends a part of a message, and `flush` ends
//! it. Neither holds bytes back. A part that is too short to be worth a transfer costs as much as a long one: wrap the channel in a
//! `BufReader` or a `BufWriter`.

use crate::{Error, Message, Receiver, Sender};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::sync::atomic::Ordering;

/// The bytes of a call that its own limit, a signal or a cancel has ended. If the cause lasts, it ends the next call as well. A fault or a
/// reset happens once, and is returned.
pub(crate) fn early(error: Error) -> io::Result<usize> {
    match error {
        Error::Timeout { bytes, .. } | Error::Interrupted { bytes, .. } | Error::Cancelled { bytes, .. } if bytes > 0 => Ok(bytes as usize),
        error => Err(error.into()),
    }
}

impl Read for &Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_vectored(&mut [IoSliceMut::new(buffer)])
    }

    fn read_vectored(&mut self, pieces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.read_stream(pieces)
    }
}

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }

    fn read_vectored(&mut self, pieces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(pieces)
    }
}

impl Write for &Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        if bytes == 0 {
            return Ok(0);
        }
        let sent = self.send_vectored(pieces, Message { end: false, ..Message::default() });
        let moved = match sent {
            Ok(()) => bytes,
            // What it has begun is gone.
            Err(error) if self.core.takes_whole_messages() => return Err(error.into()),
            Err(error) => early(error)?,
        };
        self.open.store(true, Ordering::Release);
        Ok(moved)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.open.swap(false, Ordering::AcqRel) {
            self.send(&[]).inspect_err(|_| self.open.store(!self.core.takes_whole_messages(), Ordering::Release))?;
        }
        Ok(())
    }
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}
