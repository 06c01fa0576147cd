// SPDX-License-Identifier: Apache-2.0
//! What must come back from a core that echoes, and how each descriptor may end.
//!
//! The reference follows the stream by position: bytes taken by the card, bytes that came back, where messages begin and end. What was
//! submitted is
//! *planned*; a cancel takes the plan back to what the card says that it took. Whatever does not fit is an error, in words.

use crate::contents;
use std::collections::VecDeque;
use towpath::Status;

/// What a message carries beside its bytes, as far as a receiver sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Its length, if told; 48 bits.
    pub length: Option<u64>,
    /// 32 bits of it come back.
    pub offset: u64,
    /// User word.
    pub user: u32,
}

/// How a descriptor from the card ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Its status.
    pub status: Status,
    /// Bytes in the buffer.
    pub bytes: u64,
    /// Offset and user word, if they are known.
    pub attributes: Option<(u32, u32)>,
}

struct Part {
    begin: u64,
    bytes: u64,
    message: u64,
}

struct Planned {
    number: u64,
    begin: u64,
    /// Where it ends, and whether the end came without a byte of its own: then it may come after a buffer that the last byte fills.
    end: Option<(u64, bool)>,
    attributes: Attributes,
}

/// A channel's stream. See the module.
pub struct Reference {
    key: u64,
    parts: VecDeque<Part>,
    /// Position behind all that was submitted, and behind all that the card is known to have taken.
    planned: u64,
    taken: u64,
    /// Messages of which something is still to come back, or to be sent.
    messages: VecDeque<Planned>,
    next_message: u64,
    ended_messages: u64,
    received: u64,
    /// A cancel that took something was seen; all behind it must be cancelled with nothing.
    broken: bool,
    cancelling: bool,
}

impl Reference {
    /// An empty stream; `key` says what its bytes are.
    pub fn new(key: u64) -> Reference {
        Reference {
            key,
            parts: VecDeque::new(),
            planned: 0,
            taken: 0,
            messages: VecDeque::new(),
            next_message: 0,
            ended_messages: 0,
            received: 0,
            broken: false,
            cancelling: false,
        }
    }

    /// What the bytes are.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Position of the next byte to send.
    pub fn planned(&self) -> u64 {
        self.planned
    }

    /// Bytes that the card has taken for sure.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Bytes that came back.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Parts that are in flight towards the card.
    pub fn in_flight(&self) -> usize {
        self.parts.len()
    }

    /// Messages whose end the card has taken, once nothing is in flight.
    pub fn messages(&self) -> u64 {
        self.ended_messages
    }

    /// Is a message open towards the card?
    pub fn is_open(&self) -> bool {
        self.messages.back().is_some_and(|message| message.end.is_none())
    }

    /// Bytes of the message that comes back next, as far as planned, and whether its end is planned.
    pub fn pending(&self) -> Option<(u64, bool)> {
        let front = self.messages.front()?;
        Some((front.end.map_or(self.planned, |(at, _)| at) - self.received.max(front.begin), front.end.is_some()))
    }

    /// Attributes of the message that comes back next.
    pub fn front(&self) -> Option<Attributes> {
        self.messages.front().map(|message| message.attributes)
    }

    /// Is there nothing more to come?
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// A part of a message was submitted: `bytes` from [`Reference::planned`] on. `attributes` count if it begins the message.
    pub fn submit(&mut self, bytes: u64, end: bool, attributes: Attributes) {
        if !self.is_open() && (bytes > 0 || end) {
            self.messages.push_back(Planned { number: self.next_message, begin: self.planned, end: None, attributes });
            self.next_message += 1;
        }
        // A part that neither has a byte nor ends anything belongs to no message; a cancel of it takes nothing back.
        let message = self.messages.back().filter(|_| bytes > 0 || end).map_or(u64::MAX, |message| message.number);
        self.parts.push_back(Part { begin: self.planned, bytes, message });
        self.planned += bytes;
        if end {
            let at = self.planned;
            if let Some(message) = self.messages.back_mut() {
                message.end = Some((at, bytes == 0));
            }
            self.ended_messages += 1;
        }
    }

    /// Everything in flight towards the card is being cancelled.
    pub fn cancel(&mut self) {
        self.cancelling = true;
    }

    /// The oldest part in flight has ended.
    pub fn sent(&mut self, status: Status, bytes: u64) -> Result<(), String> {
        let part = self.parts.pop_front().ok_or("a completion when nothing was in flight")?;
        if status == Status::Done && !self.broken {
            if bytes != part.bytes {
                return Err(format!("a send of {} bytes is done with {bytes}", part.bytes));
            }
            self.taken = part.begin + part.bytes;
        } else if status == Status::Cancelled && self.cancelling {
            let most = if self.broken { 0 } else { part.bytes.saturating_sub(1) };
            if bytes > most {
                return Err(format!("a cancelled send of {} bytes has {bytes}, at most {most} can be", part.bytes));
            }
            if !self.broken {
                self.take_back(&part, bytes)?;
            }
            self.broken = true;
        } else {
            let why = if self.broken { "after one that was cancelled" } else { "though nothing was cancelled" };
            return Err(format!("a send of {} bytes ended with status \"{status}\" and {bytes} bytes {why}", part.bytes));
        }
        if self.parts.is_empty() {
            (self.broken, self.cancelling) = (false, false);
        }
        Ok(())
    }

    /// The newest part in flight was cancelled alone, before a byte of it: the ones before it go on.
    pub fn withdraw(&mut self) -> Result<(), String> {
        let part = self.parts.pop_back().ok_or("a completion when nothing was in flight")?;
        self.planned = part.begin;
        if let Some(last) = self.messages.back_mut().filter(|last| last.number == part.message) {
            self.ended_messages -= u64::from(last.end.take().is_some());
            if last.begin == part.begin {
                self.messages.pop_back();
            }
        }
        Ok(())
    }

    /// The plan ends in `part`, after `bytes` of it.
    fn take_back(&mut self, part: &Part, bytes: u64) -> Result<(), String> {
        let at = part.begin + bytes;
        (self.taken, self.planned) = (at, at);
        // Without a message of its own, what the part before it left stays; what follows goes.
        let first =
            if part.message != u64::MAX { part.message } else { self.parts.iter().map(|part| part.message).min().unwrap_or(u64::MAX) };
        while let Some(last) = self.messages.back_mut().filter(|last| last.number >= first) {
            self.ended_messages -= u64::from(last.end.is_some());
            last.end = None;
            if last.number == first && at > last.begin {
                break;
            }
            self.messages.pop_back();
        }
        if self.received > at {
            return Err(format!("{} bytes came back, but the card says that it took {at}", self.received));
        }
        Ok(())
    }

    /// The oldest buffer for the way back has ended: its capacity, how, and its first bytes, which are checked as well.
    /// `cancelling`: it may be
    /// cancelled.
    pub fn came(&mut self, capacity: u64, ending: Ending, data: &[u8], cancelling: bool) -> Result<(), String> {
        let Ending { status, bytes, .. } = ending;
        let what = format!("a receive of {capacity} bytes ended with status \"{status}\" and {bytes} bytes");
        let Some(front) = self.messages.front() else {
            let nothing = bytes == 0 && ((status == Status::Cancelled && cancelling) || (status == Status::Done && capacity == 0));
            return if nothing { Ok(()) } else { Err(format!("{what}, but nothing was to come")) };
        };
        let rest = front.end.map_or(self.planned, |(at, _)| at) - self.received;
        let whole = front.end.is_some() && bytes == rest;
        let late = front.end.is_none_or(|(_, bare)| bare);
        let fits = bytes <= rest
            && bytes <= capacity
            && match status {
                Status::EndOfMessage => whole,
                Status::Done => bytes == capacity && (bytes == 0 || !whole || late),
                Status::Cancelled => cancelling && (bytes < capacity || capacity == 0) && (bytes == 0 || !whole || late),
                _ => false,
            };
        if !fits {
            let end = match front.end {
                Some((_, true)) => "its end, in a part without bytes",
                Some((_, false)) => "its end",
                None => "no end yet",
            };
            return Err(format!(
                "{what}, but {rest} bytes of the message are to come, and {end} (at byte {} of the stream)",
                self.received
            ));
        }
        if let Some((index, should)) = contents::difference(self.key, self.received, data) {
            return Err(format!(
                "{what}: byte {index} of them, {} of the stream and {} of the message, is {:#04x} and should be {should:#04x}",
                self.received + index as u64,
                self.received + index as u64 - front.begin,
                data[index]
            ));
        }
        let attributes = (front.attributes.offset as u32, front.attributes.user);
        if bytes > 0 && ending.attributes.is_some_and(|found| found != attributes) {
            return Err(format!("{what}, with offset and user word {:x?} instead of {attributes:x?}", ending.attributes));
        }
        self.received += bytes;
        if status == Status::EndOfMessage {
            self.messages.pop_front();
        }
        Ok(())
    }

    /// Nothing comes back on this stream: forget what would, as long as no cancel can take anything back.
    pub fn forget(&mut self) {
        if self.parts.is_empty() {
            self.received = self.taken;
            self.messages.retain(|message| message.end.is_none());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: u64 = 5;

    fn reference(parts: &[(u64, bool)]) -> Reference {
        let mut reference = Reference::new(KEY);
        for (bytes, end) in parts {
            reference.submit(*bytes, *end, Attributes { user: 9, ..Attributes::default() });
        }
        reference
    }

    fn came(reference: &mut Reference, capacity: u64, status: Status, bytes: u64, cancelling: bool) -> Result<(), String> {
        let mut data = vec![0; bytes as usize];
        contents::fill(KEY, reference.received(), &mut data);
        let attributes = Some((0, 9));
        reference.came(capacity, Ending { status, bytes, attributes }, &data, cancelling)
    }

    #[test]
    fn messages_come_back_as_they_were_sent() {
        let mut r = reference(&[(10, false), (0, false), (5, true), (0, true), (7, false), (0, true)]);
        assert!(came(&mut r, 100, Status::Done, 15, false).is_err(), "a buffer that is not full is not done");
        assert!(came(&mut r, 15, Status::Done, 15, false).is_err(), "the end comes with the last byte");
        assert!(came(&mut r, 100, Status::EndOfMessage, 14, false).is_err(), "a byte is missing");
        assert!(came(&mut r, 100, Status::EndOfMessage, 16, false).is_err(), "a byte is of the next message");
        assert!(came(&mut r, 20, Status::Cancelled, 3, false).is_err(), "nobody cancelled");
        came(&mut r, 4, Status::Done, 4, false).unwrap();
        came(&mut r, 20, Status::Cancelled, 3, true).unwrap();
        came(&mut r, 100, Status::EndOfMessage, 8, false).unwrap();
        came(&mut r, 100, Status::EndOfMessage, 0, false).unwrap();
        came(&mut r, 7, Status::Done, 7, false).unwrap(); // its end comes in a beat of its own
        assert!(!r.is_empty());
        came(&mut r, 100, Status::EndOfMessage, 0, false).unwrap();
        assert!(r.is_empty() && came(&mut r, 100, Status::EndOfMessage, 0, false).is_err());
        came(&mut r, 100, Status::Cancelled, 0, true).unwrap();
    }

    #[test]
    fn wrong_bytes_and_attributes_are_seen() {
        let mut r = reference(&[(100, true)]);
        let mut data = vec![0; 100];
        contents::fill(KEY, 0, &mut data);
        let ending = Ending { status: Status::EndOfMessage, bytes: 100, attributes: Some((0, 8)) };
        assert!(r.came(100, ending, &data, false).unwrap_err().contains("user word"));
        data[41] ^= 4;
        let ending = Ending { attributes: Some((0, 9)), ..ending };
        assert!(r.came(100, ending, &data, false).unwrap_err().contains("byte 41 "));
        data[41] ^= 4;
        r.came(100, ending, &data, false).unwrap();
    }

    #[test]
    fn a_cancel_takes_the_plan_back() {
        let mut r = reference(&[(10, true), (20, false), (30, true), (40, true)]);
        assert!(r.sent(Status::Done, 9).is_err());
        let mut r = reference(&[(10, true), (20, false), (30, true), (40, true)]);
        r.sent(Status::Done, 10).unwrap();
        r.cancel();
        r.sent(Status::Done, 20).unwrap();
        r.sent(Status::Cancelled, 4).unwrap();
        assert_eq!((r.planned(), r.taken(), r.is_open(), r.messages()), (34, 34, true, 1));
        r.sent(Status::Cancelled, 0).unwrap();
        r.submit(6, true, Attributes::default());
        came(&mut r, 50, Status::EndOfMessage, 10, false).unwrap();
        came(&mut r, 50, Status::EndOfMessage, 30, false).unwrap();
        assert_eq!((r.is_empty(), r.messages()), (true, 2));
        assert!(r.sent(Status::Cancelled, 3).is_err(), "the cancel is over");
    }

    #[test]
    fn a_message_of_which_nothing_was_taken_has_not_begun() {
        let mut r = reference(&[(10, true), (0, false), (20, true), (0, true)]);
        r.cancel();
        r.sent(Status::Done, 10).unwrap();
        r.sent(Status::Cancelled, 0).unwrap();
        assert!(r.sent(Status::Cancelled, 1).is_err(), "after a cancelled one");
        let mut r = reference(&[(10, true), (0, false), (20, true), (0, true)]);
        r.cancel();
        r.sent(Status::Done, 10).unwrap();
        for _ in 0..3 {
            r.sent(Status::Cancelled, 0).unwrap();
        }
        assert_eq!((r.planned(), r.is_open(), r.messages()), (10, false, 1));
        assert!(r.sent(Status::Done, 0).is_err(), "nothing is in flight");
    }

    #[test]
    fn the_card_cannot_give_back_what_it_did_not_take() {
        let mut r = reference(&[(100, true)]);
        came(&mut r, 50, Status::Done, 50, false).unwrap();
        r.cancel();
        assert!(r.sent(Status::Cancelled, 49).unwrap_err().contains("came back"));
    }
}
