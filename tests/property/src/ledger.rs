// SPDX-License-Identifier: Apache-2.0
//! What a core that echoes must give back of a stream in which sends may fail: every byte that the card said it moved, in order, once, and a
//! message's end where one was sent or a fault closed it.
//!
//! Both sides are entered as they become known, in their own order; a receive may be known before the sends that it brings. So it is judged
//! as soon as those are, and everything must have been judged when nothing is in flight.

use crate::contents;
use std::collections::VecDeque;
use towpath::Status;

/// A part of a message on its way to the card.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Its place in the channel's stream: what its bytes are.
    pub begin: u64,
    /// Its length.
    pub bytes: u64,
    /// It ends its message.
    pub end: bool,
    /// Offset and user word, if it begins its message.
    pub attributes: (u32, u32),
}

/// What made a send fail, as far as it matters to what the core hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing.
    None,
    /// A read of its bytes.
    Data,
    /// A read of its table of pieces.
    Table,
    /// The whole card could not go on.
    Card,
}

/// What a receive brought.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Room in its buffer.
    pub capacity: u64,
    /// How it ended.
    pub status: Status,
    /// What came.
    pub data: Vec<u8>,
    /// Offset and user word.
    pub attributes: (u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct Message {
    begin: u64,
    bytes: u64,
    attributes: (u32, u32),
    closed: bool,
    /// Its end comes without a byte of its own, maybe after a buffer that its last byte fills.
    bare: bool,
}

/// One channel's stream.
pub struct Ledger {
    key: u64,
    messages: VecDeque<Message>,
    chunks: VecDeque<Chunk>,
    /// The card has begun to ask for a message that it has not asked for the end of.
    asked: bool,
    /// Where the stream goes on after a cancel.
    pub position: u64,
    /// Bytes that the card has moved to the core, and their sum.
    pub bytes: u64,
    /// See `bytes`.
    pub sum: u32,
    /// Messages that ended at the core.
    pub ended: u32,
    /// Of these, messages that were cut short.
    pub cut: u32,
}

impl Ledger {
    /// An empty stream whose bytes are those of `key`.
    pub fn new(key: u64) -> Ledger {
        let (messages, chunks) = (VecDeque::new(), VecDeque::new());
        Ledger { key, messages, chunks, asked: false, position: 0, bytes: 0, sum: 0, ended: 0, cut: 0 }
    }

    /// What the bytes are.
    pub fn key(&self) -> u64 {
        self.key
    }

    fn open(&mut self, part: &Part) -> Option<&mut Message> {
        if self.messages.back().is_none_or(|message| message.closed) {
            let Part { begin, attributes, .. } = *part;
            self.messages.push_back(Message { begin, bytes: 0, attributes, closed: false, bare: false });
        }
        self.messages.back_mut()
    }

    /// The next send has ended, with so many bytes, well unless it was cancelled or there is a cause. `stopped`: a cancel may have kept the card
    /// from asking for all of it.
    pub fn sent(&mut self, part: &Part, bytes: u64, cancelled: bool, stopped: bool, cause: Cause) {
        let under_way = self.messages.back().is_some_and(|message| !message.closed);
        for at in part.begin..part.begin + bytes {
            self.sum = self.sum.wrapping_add(contents::byte(self.key, at).into());
        }
        self.bytes += bytes;
        if !cancelled {
            self.position = part.begin + part.bytes;
        } else if bytes > 0 {
            self.position = part.begin + bytes;
        }
        if bytes > 0 {
            if let Some(message) = self.open(part) {
                message.bytes += bytes;
            }
        }
        // A read that fails closes the message that it was for, and be it a new one; what was never asked for closes one that is open.
        let closes = match cause {
            Cause::None => part.end && !cancelled,
            Cause::Data => true,
            Cause::Table | Cause::Card => under_way || bytes > 0,
        };
        if closes {
            let empty = part.bytes == 0;
            if let Some(message) = self.open(part) {
                message.closed = true;
                message.bare = empty || cause != Cause::None;
            }
            self.ended += 1;
            self.cut += u32::from(cause != Cause::None);
        }
        self.asked = match cause {
            Cause::None if cancelled => self.asked || bytes > 0,
            _ if stopped && cause != Cause::None => true,
            _ => !part.end && (self.asked || part.bytes > 0),
        };
    }

    /// Nobody receives this stream: forget what has ended.
    pub fn forget(&mut self) {
        self.messages.retain(|message| !message.closed);
    }

    /// Bytes of the message that comes next, as far as known.
    pub fn pending(&self) -> Option<u64> {
        self.messages.front().map(|message| message.bytes)
    }

    /// The next receive has ended.
    pub fn came(&mut self, chunk: Chunk) {
        self.chunks.push_back(chunk);
    }

    /// Judge what can be judged.
    pub fn judge(&mut self) -> Result<(), String> {
        while let Some(chunk) = self.chunks.front() {
            if !self.fits(&chunk.clone())? {
                break;
            }
            self.chunks.pop_front();
        }
        Ok(())
    }

    /// Whether a receive is what comes next; false if that is not known yet.
    fn fits(&mut self, chunk: &Chunk) -> Result<bool, String> {
        let Chunk { capacity, status, data, .. } = chunk;
        let bytes = data.len() as u64;
        let ends = *status == Status::EndOfMessage;
        let what = || format!("a receive of {capacity} bytes ended with status \"{status}\" and {bytes} bytes");
        if bytes == 0 && !ends {
            return Ok(true); // it took nothing, and how it ended is judged elsewhere
        }
        let Some(front) = self.messages.front_mut() else { return Ok(false) };
        if bytes > front.bytes || (ends && !front.closed) {
            let message = *front;
            return if message.closed {
                Err(format!("{}, but of the message only {} were to come", what(), message.bytes))
            } else {
                Ok(false)
            };
        }
        if ends && bytes != front.bytes {
            return Err(format!("{}, but {} bytes of the message were to come", what(), front.bytes));
        }
        // A message that ends in its last byte ends the receive in which that comes.
        if !ends && front.closed && bytes == front.bytes && !front.bare {
            return Err(format!("{}, but the message ended with that", what()));
        }
        if let Some((index, should)) = contents::difference(self.key, front.begin, data) {
            let (at, is) = (front.begin + index as u64, data[index]);
            return Err(format!("{}: byte {index} of them, {at} of the stream, is {is:#04x} and should be {should:#04x}", what()));
        }
        if bytes > 0 && chunk.attributes != front.attributes {
            return Err(format!("{}, with offset and user word {:x?} instead of {:x?}", what(), chunk.attributes, front.attributes));
        }
        (front.begin, front.bytes) = (front.begin + bytes, front.bytes - bytes);
        if ends {
            self.messages.pop_front();
        }
        Ok(true)
    }

    /// Whether all that was sent has come. A message that was left open may stay so.
    pub fn is_settled(&self) -> bool {
        self.chunks.is_empty() && self.messages.iter().all(|message| !message.closed && message.bytes == 0)
    }

    /// Whether the card takes what is sent next for more of the same message.
    pub fn is_open(&self) -> bool {
        self.asked || self.messages.back().is_some_and(|message| !message.closed)
    }

    /// For failures.
    pub fn state(&self) -> String {
        let came: Vec<_> = self.chunks.iter().map(|chunk| (chunk.capacity, chunk.status, chunk.data.len())).collect();
        format!("to come {:?}; not accounted for {came:?}", self.messages.iter().take(4).collect::<Vec<_>>())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: u64 = 3;

    fn part(begin: u64, bytes: u64, end: bool) -> Part {
        Part { begin, bytes, end, attributes: (0, 0) }
    }

    fn chunk(begin: u64, bytes: usize, status: Status) -> Chunk {
        let mut data = vec![0; bytes];
        contents::fill(KEY, begin, &mut data);
        Chunk { capacity: 64, status, data, attributes: (0, 0) }
    }

    fn judged(sends: &[(Part, u64, Cause)], chunks: &[Chunk]) -> Result<bool, String> {
        let mut ledger = Ledger::new(KEY);
        for chunk in chunks {
            ledger.came(chunk.clone());
        }
        for (part, bytes, cause) in sends {
            ledger.sent(part, *bytes, false, false, *cause);
            ledger.judge()?;
        }
        Ok(ledger.is_settled())
    }

    #[test]
    fn a_fault_closes_the_message_and_what_follows_is_one_of_its_own() {
        let sends = [(part(0, 40, false), 40, Cause::None), (part(40, 50, false), 8, Cause::Data), (part(90, 10, true), 10, Cause::None)];
        let good = [chunk(0, 48, Status::EndOfMessage), chunk(90, 10, Status::EndOfMessage)];
        assert_eq!(judged(&sends, &good), Ok(true));
        assert_eq!(judged(&sends, &good[..1]), Ok(false), "the rest is missing");
        assert!(judged(&sends, &[chunk(0, 49, Status::EndOfMessage)]).is_err(), "a byte too many");
        assert!(judged(&sends, &[chunk(0, 47, Status::EndOfMessage)]).is_err(), "a byte lost");
        assert!(judged(&sends, &[good[0].clone(), chunk(48, 10, Status::EndOfMessage)]).is_err(), "bytes that were not moved");
        assert_eq!(judged(&sends, &[good[0].clone(), good[1].clone(), chunk(0, 0, Status::EndOfMessage)]), Ok(false), "one too many");
        let full = [chunk(0, 48, Status::Done), chunk(48, 0, Status::EndOfMessage), chunk(90, 10, Status::EndOfMessage)];
        assert_eq!(judged(&sends, &full), Ok(true), "an end by itself");
        assert!(judged(&sends, &[good[0].clone(), chunk(90, 10, Status::Done)]).is_err(), "that end came with a byte");
    }

    #[test]
    fn what_fails_before_the_message_began_leaves_no_trace() {
        let sends = [(part(0, 40, true), 0, Cause::Table), (part(40, 9, true), 9, Cause::None)];
        assert_eq!(judged(&sends, &[chunk(40, 9, Status::EndOfMessage)]), Ok(true));
        let sends = [(part(0, 40, true), 0, Cause::Data), (part(40, 9, true), 9, Cause::None)];
        assert!(judged(&sends, &[chunk(40, 9, Status::EndOfMessage)]).is_err());
        assert_eq!(judged(&sends, &[chunk(0, 0, Status::EndOfMessage), chunk(40, 9, Status::EndOfMessage)]), Ok(true));
        for cause in [Cause::Card, Cause::Table] {
            let sends = [(part(0, 40, true), 0, cause), (part(40, 9, true), 9, Cause::None)];
            assert_eq!(judged(&sends, &[chunk(40, 9, Status::EndOfMessage)]), Ok(true));
            assert!(judged(&sends, &[chunk(0, 0, Status::EndOfMessage), chunk(40, 9, Status::EndOfMessage)]).is_err());
            let sends = [(part(0, 5, false), 5, Cause::None), (part(5, 40, true), 0, cause), (part(45, 9, true), 9, Cause::None)];
            assert_eq!(judged(&sends, &[chunk(0, 5, Status::EndOfMessage), chunk(45, 9, Status::EndOfMessage)]), Ok(true));
            assert!(judged(&sends, &[chunk(0, 14, Status::EndOfMessage)]).is_err(), "two messages in one");
        }
    }

    #[test]
    fn a_cancel_and_a_fault_together_leave_the_message_open() {
        let mut ledger = Ledger::new(KEY);
        ledger.sent(&part(0, 40, true), 10, false, true, Cause::Data);
        assert!(ledger.is_open());
        ledger.sent(&part(ledger.position, 7, true), 7, false, false, Cause::None);
        assert!(!ledger.is_open());
        ledger.came(chunk(0, 10, Status::EndOfMessage));
        ledger.came(chunk(40, 7, Status::EndOfMessage));
        assert!(ledger.judge().is_ok() && ledger.is_settled());
    }

    #[test]
    fn changed_bytes_are_seen() {
        let sends = [(part(0, 40, true), 40, Cause::None)];
        let mut wrong = chunk(0, 40, Status::EndOfMessage);
        wrong.data[17] ^= 1;
        assert!(judged(&sends, &[wrong]).unwrap_err().contains("byte 17 "));
        assert!(judged(&sends, &[Chunk { attributes: (1, 0), ..chunk(0, 40, Status::EndOfMessage) }]).is_err());
    }
}
