// SPDX-License-Identifier: Apache-2.0
//! What programs have written to a stream and the card has not taken.
//!
//! A write copies its bytes and returns while there is room, as the kernel module's does: so a file can be writable or not, and one thread can serve two
//! directions. What goes wrong later is the next call's error.

use std::collections::VecDeque;

use towpath::{Buffer, Device, Error, Message, Sender, Transfer, WaitOptions};
use towpath_system::errno::{EAGAIN, EINTR, ETIMEDOUT};

use super::names::Entry;
use super::opened::{told, Result};
use crate::args::Names;

/// All of them, 64 KiB, are less than what Linux sends of a write in one request (1 MiB, or 128 KiB before 4.20), so that a write for which there is no
/// room ends with a part of a request. Smaller requests would cut the messages of `O_DIRECT`.
const PIECE: usize = 16 << 10;
const PIECES: usize = 4;

/// What one write may do.
pub struct Limits<'a> {
    pub options: WaitOptions<'a>,
    /// Return with what there was room for.
    pub partly: bool,
    /// The end of the call is a message's.
    pub ends: bool,
}

/// The pieces of one stream, on their way or free.
pub struct Outgoing {
    sender: Sender,
    entry: Entry,
    free: Vec<Buffer>,
    flying: VecDeque<(Transfer, Buffer)>,
    error: Option<i32>,
    /// A message is open: its end is owed.
    open: bool,
    /// By Xillybus's names: behind it an empty message, by which the core forgets a part of a word.
    empty: bool,
}

impl Outgoing {
    pub fn new(device: &Device, sender: Sender, entry: Entry) -> towpath::Result<Outgoing> {
        let free = (0..PIECES).map(|_| device.allocate(PIECE)).collect::<towpath::Result<_>>()?;
        Ok(Outgoing { sender, entry, free, flying: VecDeque::new(), error: None, open: false, empty: false })
    }

    /// Would a write not wait?
    pub fn is_ready(&mut self) -> bool {
        self.collect();
        self.error.is_some() || !self.free.is_empty()
    }

    pub fn error(&self) -> Option<i32> {
        self.error
    }

    /// The card was reset: what was written before is gone, and its end with it.
    pub fn begin_anew(&mut self) {
        self.collect();
        (self.open, self.empty, self.error) = (false, false, None);
    }

    /// Take what the card is done with.
    fn collect(&mut self) {
        while let Some((transfer, _)) = self.flying.front_mut() {
            let ended = match transfer.try_wait() {
                Ok(None) => return,
                Ok(Some(completion)) => completion.check(self.sender.name(), 0).map(|_| ()),
                Err(error) => Err(error),
            };
            self.landed(ended);
        }
    }

    /// The oldest piece has ended.
    fn landed(&mut self, ended: towpath::Result<()>) {
        self.free.extend(self.flying.pop_front().map(|(_, buffer)| buffer));
        let Err(error) = ended else { return };
        if matches!(error, Error::Reset { .. }) {
            self.open = false;
            // By VerCoLib's names a program resets the card itself.
            if self.entry.names == Names::Vercolib {
                return;
            }
        }
        // Behind a gap nothing may go on.
        self.error.get_or_insert(told(&self.entry.file, &error));
        let _ = self.sender.cancel_all();
        for (mut transfer, buffer) in self.flying.drain(..) {
            // If it does not end, its piece stays in use, and the next write returns the error.
            let _ = transfer.wait(None);
            self.free.push(buffer);
        }
    }

    /// Wait for the oldest piece. EAGAIN: it is still on its way.
    pub fn wait(&mut self, options: WaitOptions<'_>) -> Result<()> {
        let Some((transfer, _)) = self.flying.front_mut() else { return Ok(()) };
        let ended = match transfer.wait_with(options) {
            Err(Error::Pending { .. }) => return Err(EAGAIN),
            Err(Error::Interrupted { .. }) => return Err(EINTR),
            Err(error) => Err(error),
            Ok(completion) => completion.check(self.sender.name(), 0).map(|_| ()),
        };
        self.landed(ended);
        self.collect();
        Ok(())
    }

    /// A free piece, and the errors of those before.
    fn room(&mut self, options: WaitOptions<'_>) -> Result<Buffer> {
        self.collect();
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            match self.free.pop() {
                Some(buffer) => return Ok(buffer),
                None => self.wait(options)?,
            }
        }
    }

    fn send(&mut self, mut buffer: Buffer, bytes: &[u8], end: bool, options: WaitOptions<'_>) -> Result<()> {
        let message = Message { end, ..Message::default() };
        let copied = buffer.as_mut_slice().map(|room| room[..bytes.len()].copy_from_slice(bytes));
        match copied.and_then(|()| self.sender.submit_with(&buffer, ..bytes.len(), message, options)) {
            Ok(transfer) => {
                self.flying.push_back((transfer, buffer));
                (self.open, self.empty) = (!end, self.entry.at_once);
                Ok(())
            }
            Err(error) => {
                self.free.push(buffer);
                Err(match &error {
                    Error::QueueFull { .. } | Error::Pending { .. } => EAGAIN,
                    Error::Interrupted { .. } => EINTR,
                    _ => told(&self.entry.file, &error),
                })
            }
        }
    }

    /// All of it, or as much as there is room for. Waits for room for the first bytes.
    pub fn write(&mut self, bytes: &[u8], limits: &Limits<'_>) -> Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            if taken > 0 && limits.partly && self.free.is_empty() {
                break;
            }
            let one = PIECE.min(bytes.len() - taken);
            let sent = self.room(limits.options).and_then(|buffer| {
                // Cores behind Xillybus's names see no ends, but of an open message the last bytes stay on the card.
                let last = taken + one == bytes.len() || (self.entry.at_once && self.free.is_empty());
                self.send(buffer, &bytes[taken..taken + one], limits.ends && last, limits.options)
            });
            match sent {
                Ok(()) => {}
                Err(error) if taken == 0 => return Err(error),
                Err(EAGAIN | EINTR) => break,
                // The next call's.
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
            taken += one;
        }
        Ok(taken)
    }

    /// End the message that is open, send the empty one of a file's end, and wait until the card has all. ETIMEDOUT: what it has not taken is still on its
    /// way. An error does not keep the message open, for the next program's would go on in it; the first one is returned at last.
    pub fn end(&mut self, options: WaitOptions<'_>) -> Result<()> {
        let mut first = self.error.take();
        let late = |error| if error == EAGAIN { ETIMEDOUT } else { error };
        while self.open || self.empty {
            // The first one ends what is open.
            let empty = self.empty && self.open;
            match self.room(options).and_then(|buffer| self.send(buffer, &[], true, options)) {
                Ok(()) => self.empty = empty,
                // Of what was on its way.
                Err(error) if first.is_none() && error != EAGAIN && error != EINTR => first = Some(error),
                Err(error) => return Err(first.unwrap_or(late(error))),
            }
        }
        while !self.flying.is_empty() {
            self.wait(options).map_err(|error| first.unwrap_or(late(error)))?;
        }
        first.or(self.error.take()).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::time::Duration;

    use towpath_system::errno::EIO;

    use super::*;
    use crate::files::names::entries;

    /// The message ends in spite of an error before, and the next one begins behind it.
    #[test]
    fn an_error_keeps_no_message_open() {
        let device = Device::open("sim:loopback").unwrap_or_else(|error| panic!("{error}"));
        let entry = entries(&device, Names::Towpath).into_iter().find(|entry| entry.channel == "in").unwrap();
        let mut outgoing = Outgoing::new(&device, device.sender("in").unwrap(), entry).unwrap();
        let receiver = device.receiver("out").unwrap();
        let options = WaitOptions::from(Some(Duration::from_secs(1)));
        for text in [b"one", b"two"] {
            assert_eq!(outgoing.write(text, &Limits { options, partly: false, ends: false }), Ok(3));
            outgoing.error = Some(EIO);
            assert_eq!(outgoing.end(options), Err(EIO));
            assert_eq!(receiver.recv_message_with(options).unwrap().0, text);
            assert_eq!(outgoing.end(options), Ok(()));
        }
    }
}
