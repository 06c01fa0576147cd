// SPDX-License-Identifier: Apache-2.0
//! A record of what the link carried between the card and the host's memory, and of what the card wrote to another card, packet by packet, for
//! measurements.
//!
//! Off by default; it costs no simulated time. Not a trace of everything: doorbells and register accesses, requests, answers and interrupts
//! are not in it.

use crate::link::Packet;

/// One packet with payload between the card and memory of the host's or another card's. Times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// A completion on its way to the card, not a write of the card.
    pub to_card: bool,
    /// For a write, the first byte's address as the card sees it. For a completion, that of the read request which it answers, in part or
    /// whole.
    pub address: u64,
    /// Bytes that the card wrote or had requested; padding to whole dwords does not count.
    pub bytes: u32,
    /// When its first byte went on the wire.
    pub start: u64,
    /// When its last byte had arrived.
    pub end: u64,
}

/// The record, and the state of reads under way.
#[derive(Debug)]
pub struct Capture {
    /// Femtoseconds that a byte takes on the link.
    pub byte_fs: u64,
    carried: Option<Vec<Carried>>,
    /// For each tag, where its last request read from.
    asked: Vec<u64>,
}

impl Capture {
    /// Nothing is recorded yet, on a link where a byte takes `byte_fs` femtoseconds.
    pub fn new(byte_fs: u64) -> Self {
        Capture { byte_fs, carried: None, asked: vec![0; 1024] }
    }

    /// Begin an empty record, or end it; returns what was recorded.
    pub fn record(&mut self, on: bool) -> Vec<Carried> {
        std::mem::replace(&mut self.carried, on.then(Vec::new)).unwrap_or_default()
    }

    /// A request with `tag` reads from `address`.
    pub fn asked(&mut self, tag: u16, address: u64) {
        self.asked[usize::from(tag) & 1023] = address;
    }

    /// A write of the card has arrived.
    pub fn written(&mut self, packet: &Packet, address: u64, bytes: u32) {
        self.add(packet, false, address, bytes);
    }

    /// A completion has arrived at the card.
    pub fn answered(&mut self, packet: &Packet, tag: u16, bytes: u32) {
        self.add(packet, true, self.asked[usize::from(tag) & 1023], bytes);
    }

    fn add(&mut self, packet: &Packet, to_card: bool, address: u64, bytes: u32) {
        if let Some(carried) = &mut self.carried {
            let start = packet.time.saturating_sub(packet.wire_bytes() * self.byte_fs / 1000);
            carried.push(Carried { to_card, address, bytes, start, end: packet.time });
        }
    }
}
