// SPDX-License-Identifier: Apache-2.0
//! The mock's data mover: descriptors into pieces, and a random number of bytes at each step.

use super::{Card, Message};
use std::collections::VecDeque;
use towpath_contract as c;

impl Card {
    /// Begin with the descriptor at the head: find its pieces.
    pub(super) fn begin(&mut self, channel: usize) {
        let mut posted = self.channels[channel].queue[0].clone();
        if posted.pieces.is_some() {
            return;
        }
        let (descriptor, mut pieces) = (posted.descriptor, VecDeque::new());
        match c::Kind::try_from((descriptor.control & c::DESCRIPTOR_CONTROL_KIND_MASK) as u8) {
            _ if posted.torn => posted.outcome = Some(c::Status::Torn),
            Ok(c::Kind::Direct) => pieces.push_back((descriptor.address, u64::from(descriptor.length))),
            Ok(c::Kind::Inline) if channel % 2 == 0 => pieces.push_back((u64::MAX, u64::from(descriptor.length))),
            Ok(c::Kind::List) => {
                let (mut at, mut left) = (descriptor.address, u64::from(descriptor.length));
                loop {
                    // As the card does: ahead, up to the end of the aligned 64 bytes.
                    let Some(line) = self.read(at & !63, 64) else {
                        posted.outcome = Some(c::Status::UnsupportedRequest);
                        break;
                    };
                    let skip = (at & 63) as usize;
                    let entry = c::ListEntry::from_le_bytes(line[skip..skip + 16].try_into().unwrap());
                    if entry.control & c::LIST_ENTRY_CONTROL_CHAIN_MASK != 0 {
                        at = entry.address;
                        continue;
                    }
                    let bytes = left.min(entry.length.into());
                    pieces.push_back((entry.address, bytes));
                    left -= bytes;
                    at += 16;
                    if entry.control & c::LIST_ENTRY_CONTROL_LAST_MASK != 0 {
                        if left > 0 {
                            posted.outcome = Some(c::Status::Malformed);
                        }
                        break;
                    }
                }
            }
            _ => posted.outcome = Some(c::Status::Malformed),
        }
        posted.pieces = Some(pieces);
        self.channels[channel].queue[0] = posted;
    }

    /// Move some bytes of each channel; true if anything happened.
    pub(super) fn step(&mut self) -> bool {
        let mut moved = false;
        for channel in 0..self.channels.len() {
            if self.channels[channel].enable {
                moved |= match (self.memory_of(channel), channel % 2) {
                    (None, 0) => self.step_h2c(channel),
                    (None, _) => self.step_c2h(channel),
                    (Some(memory), 0) => self.step_write(channel, memory),
                    (Some(memory), _) => self.step_read(channel, memory),
                };
                self.fire_by_time(channel);
            }
        }
        moved
    }

    pub(super) fn burst(&mut self) -> usize {
        let log2 = self.random(14);
        1 + self.random(1 << log2) as usize
    }

    fn step_h2c(&mut self, channel: usize) -> bool {
        if self.channels[channel].queue.is_empty() {
            return false;
        }
        self.begin(channel);
        let pair = channel / 2;
        let held: usize = self.loops[pair].iter().map(|message| message.bytes.len()).sum();
        let room = self.capacity.saturating_sub(held);
        let burst = self.burst().min(room);
        let posted = &mut self.channels[channel].queue[0];
        let pieces = posted.pieces.as_mut().unwrap();
        while pieces.front().is_some_and(|piece| piece.1 == 0) {
            pieces.pop_front();
        }
        let Some(&(address, left)) = pieces.front() else {
            if self.capacity == 0 && posted.cancelled.is_none() {
                return false;
            }
            // An empty one that was cancelled before its turn ends no message.
            let outcome = posted.outcome.or(posted.cancelled.filter(|_| posted.moved == 0));
            let end = posted.descriptor.control & c::DESCRIPTOR_CONTROL_END_MASK != 0;
            if outcome.is_none() && end {
                self.open_message(channel);
                self.loops[pair].back_mut().unwrap().ended = true;
                self.channels[channel].open = false;
            }
            self.complete(channel, outcome.unwrap_or(c::Status::Done), (0, 0));
            return true;
        };
        if let Some(status) = posted.cancelled {
            self.complete(channel, status, (0, 0));
            return true;
        }
        let count = burst.min(left as usize);
        if count == 0 {
            return false;
        }
        let data = if address == u64::MAX {
            let from = posted.moved as usize;
            Some(posted.inline[from..from + count].to_vec())
        } else {
            self.read(address, count)
        };
        let Some(data) = data else {
            self.complete(channel, c::Status::UnsupportedRequest, (0, 0));
            return true;
        };
        self.open_message(channel);
        self.loops[pair].back_mut().unwrap().bytes.extend(&data);
        let posted = &mut self.channels[channel].queue[0];
        posted.moved += count as u32;
        let piece = &mut posted.pieces.as_mut().unwrap()[0];
        if piece.0 != u64::MAX {
            piece.0 += count as u64;
        }
        piece.1 -= count as u64;
        true
    }

    fn open_message(&mut self, channel: usize) {
        if std::mem::replace(&mut self.channels[channel].open, true) {
            return;
        }
        let posted = &self.channels[channel].queue[0];
        let (offset, user) = posted.attributes.unwrap_or_default();
        let message = Message { length: posted.length, offset: offset as u32, user, ..Message::default() };
        self.loops[channel / 2].push_back(message);
    }

    fn step_c2h(&mut self, channel: usize) -> bool {
        let pair = channel / 2;
        if self.channels[channel].announce {
            // Only the oldest message can start: its first beat, or its empty end.
            if let Some(message) = self.loops[pair].front_mut() {
                if !message.announced && (!message.bytes.is_empty() || message.ended) {
                    message.announced = true;
                    let entry = c::Completion {
                        bytes: message.length as u32,
                        offset: message.offset,
                        user: message.user,
                        cookie: (message.length >> 32) as u16,
                        status: c::Status::None as u8,
                        flags: c::COMPLETION_FLAGS_START_MASK,
                    };
                    self.entry(channel, entry);
                    return true;
                }
            }
        }
        if self.channels[channel].queue.is_empty() {
            return false;
        }
        self.begin(channel);
        let burst = self.burst();
        let front = self.loops[pair].front();
        let attributes = front.map_or((0, 0), |message| (message.offset, message.user));
        let posted = &mut self.channels[channel].queue[0];
        let pieces = posted.pieces.as_mut().unwrap();
        while pieces.front().is_some_and(|piece| piece.1 == 0) {
            pieces.pop_front();
        }
        let ready = front.is_some_and(|message| message.bytes.is_empty() && message.ended);
        if ready && posted.outcome.is_none() && posted.cancelled.is_none() {
            self.loops[pair].pop_front();
            self.complete(channel, c::Status::EndOfMessage, attributes);
            return true;
        }
        let Some(&(address, left)) = pieces.front() else {
            let outcome = posted.outcome.unwrap_or(c::Status::Done);
            self.complete(channel, outcome, attributes);
            return true;
        };
        if let Some(status) = posted.cancelled {
            self.complete(channel, status, attributes);
            return true;
        }
        let have = front.map_or(0, |message| message.bytes.len());
        let count = burst.min(left as usize).min(have);
        if count == 0 {
            return false;
        }
        let data: Vec<u8> = self.loops[pair][0].bytes.drain(..count).collect();
        if !self.write(address, &data) {
            self.complete(channel, c::Status::UnsupportedRequest, attributes);
            return true;
        }
        let posted = &mut self.channels[channel].queue[0];
        posted.moved += count as u32;
        let piece = &mut posted.pieces.as_mut().unwrap()[0];
        *piece = (piece.0 + count as u64, piece.1 - count as u64);
        true
    }
}
