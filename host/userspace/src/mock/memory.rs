// SPDX-License-Identifier: Apache-2.0
//! The mock's memories: each write lands byte by byte and is then judged, each read is answered byte by byte.

use super::{Card, MEMORY_DECERR, MEMORY_SLVERR};
use std::ops::Range;
use towpath_contract as c;

const SLVERR: u8 = 66;
const DECERR: u8 = 67;

pub(super) struct Memory {
    pub bytes: Vec<u8>,
    /// Where the open message has begun, and how much of it has come.
    pub open: Option<(u64, u64)>,
}

impl Memory {
    pub fn new(bytes: u64) -> Memory {
        Memory { bytes: vec![0; bytes as usize], open: None }
    }

    /// What the kind says of an access of these bytes.
    fn verdict(&self, touched: Range<u64>) -> Option<u8> {
        let touches = |address: u64| touched.contains(&address);
        match (touched.end > self.bytes.len() as u64 || touches(MEMORY_DECERR), touches(MEMORY_SLVERR)) {
            (true, _) => Some(DECERR),
            (_, true) => Some(SLVERR),
            _ => None,
        }
    }

    /// Write what may be written of these bytes.
    fn take(&mut self, address: u64, data: &[u8]) {
        if self.verdict(address..address + data.len() as u64).is_none() {
            self.bytes[address as usize..address as usize + data.len()].copy_from_slice(data);
            return;
        }
        for (at, byte) in (address..).zip(data) {
            if self.verdict(at..at + 1).is_none() {
                self.bytes[at as usize] = *byte;
            }
        }
    }
}

impl Card {
    pub(super) fn memory_of(&self, channel: usize) -> Option<usize> {
        (channel / 2).checked_sub(self.loops.len())
    }

    /// The next piece of the descriptor at the head, with no more than a burst of it.
    fn next_piece(&mut self, channel: usize) -> Option<(u64, usize)> {
        let burst = self.burst();
        let pieces = self.channels[channel].queue[0].pieces.as_mut().unwrap();
        while pieces.front().is_some_and(|piece| piece.1 == 0) {
            pieces.pop_front();
        }
        pieces.front().map(|piece| (piece.0, burst.min(piece.1 as usize)))
    }

    fn moved(&mut self, channel: usize, count: usize) {
        let posted = &mut self.channels[channel].queue[0];
        posted.moved += count as u32;
        let piece = &mut posted.pieces.as_mut().unwrap()[0];
        *piece = (if piece.0 == u64::MAX { u64::MAX } else { piece.0 + count as u64 }, piece.1 - count as u64);
    }

    pub(super) fn step_write(&mut self, channel: usize, memory: usize) -> bool {
        if self.channels[channel].queue.is_empty() {
            return false;
        }
        self.begin(channel);
        let piece = self.next_piece(channel);
        let posted = &self.channels[channel].queue[0];
        let (cancelled, moved) = (posted.cancelled, posted.moved as usize);
        let ends = posted.descriptor.control & c::DESCRIPTOR_CONTROL_END_MASK != 0;
        if let Some(outcome) = posted.outcome.or(cancelled.filter(|_| piece.is_some() || moved == 0)) {
            self.complete(channel, outcome, (0, 0));
            return true;
        }
        let Some((address, count)) = piece else {
            if !ends {
                self.complete(channel, c::Status::Done, (0, 0));
            } else if let Some(status) = cancelled {
                self.memories[memory].open = None; // the kind has the end, and its verdict comes too late
                self.complete(channel, status, (0, 0));
            } else if self.random(4) == 0 {
                let (start, length) = self.memories[memory].open.take().unwrap_or_default();
                let status = self.memories[memory].verdict(start..start + length).unwrap_or(c::Status::Done as u8);
                self.complete_with(channel, status, (0, 0));
            }
            return true;
        };
        let data = match address {
            u64::MAX => Some(posted.inline[moved..moved + count].to_vec()),
            _ => self.read(address, count),
        };
        let Some(data) = data else {
            self.memories[memory].open = None; // the message ends with an error
            self.complete(channel, c::Status::UnsupportedRequest, (0, 0));
            return true;
        };
        let given = self.channels[channel].queue[0].attributes.unwrap_or_default().0;
        let memory = &mut self.memories[memory];
        let (start, length) = *memory.open.get_or_insert((given, 0));
        memory.take(start + length, &data);
        memory.open = Some((start, length + count as u64));
        self.moved(channel, count);
        true
    }

    pub(super) fn step_read(&mut self, channel: usize, memory: usize) -> bool {
        if self.channels[channel].queue.is_empty() {
            return false;
        }
        self.begin(channel);
        let piece = self.next_piece(channel);
        let posted = &self.channels[channel].queue[0];
        let (start, length) = (posted.attributes.unwrap_or_default().0, u64::from(posted.descriptor.length));
        let moved = u64::from(posted.moved);
        if let Some(outcome) = posted.outcome.or(posted.cancelled.filter(|_| piece.is_some())) {
            self.complete(channel, outcome, (0, 0));
            return true;
        }
        let Some((address, count)) = piece else {
            let good = if length == 0 { c::Status::Done } else { c::Status::EndOfMessage };
            let status = self.memories[memory].verdict(start..start + length).unwrap_or(good as u8);
            self.complete_with(channel, status, (0, 0));
            return true;
        };
        let from = start + moved;
        let all = &self.memories[memory].bytes;
        let data: Vec<u8> = (from as usize..from as usize + count).map(|at| all.get(at).copied().unwrap_or(0)).collect();
        if !self.write(address, &data) {
            self.complete(channel, c::Status::UnsupportedRequest, (0, 0));
            return true;
        }
        self.moved(channel, count);
        true
    }
}
