// SPDX-License-Identifier: Apache-2.0
//! The two directions of a link, to the byte: when a packet's last byte is there.
//!
//! A packet takes its payload, its real header (three or four dwords) and 8 bytes of framing (start, sequence number, LCRC and end: PCI
//! Express Base Specification 2.1, 3.5 and 4.2.2). Receivers see a packet when its last byte has come; there is no delay but the
//! bytes'. Data link packets take the stated share of the rate and are not modelled one by one.

use std::collections::VecDeque;

/// Start, sequence number, LCRC and end.
pub const FRAMING_BYTES: u64 = 8;
/// Header of a completion, and of a request below 4 GiB.
pub const SHORT_HEADER_BYTES: u64 = 12;
/// Header of a request above 4 GiB.
pub const LONG_HEADER_BYTES: u64 = 16;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Head {
    /// Memory write by the card.
    Write { addr: u64, dwords: u16, first_be: u8, last_be: u8, relaxed: bool, tc: u8 },
    /// Memory read request of the card.
    Read { addr: u64, dwords: u16, first_be: u8, last_be: u8, relaxed: bool, tc: u8, tag: u16 },
    /// The card's answer to a read of it.
    Answer { requester: u16, tag: u16, byte_count: u16, dwords: u16, lower_addr: u8, status: u8 },
    /// Completion of a read by the card.
    Completion { tag: u16, dwords: u16, byte_count: u16, lower_addr: u8, status: u8, poisoned: bool },
    /// Write to the card.
    Posted { bar: u8, offset: u32, dwords: u16, first_be: u8, last_be: u8, requester: u16 },
    /// Read of the card.
    NonPosted { bar: u8, offset: u32, dwords: u16, first_be: u8, last_be: u8, requester: u16, tag: u16 },
}

impl Head {
    /// Bytes of the header on the wire. The card's BARs lie above 4 GiB.
    pub fn header_bytes(&self) -> u64 {
        match self {
            Head::Write { addr, .. } | Head::Read { addr, .. } if *addr < 1 << 32 => SHORT_HEADER_BYTES,
            Head::Answer { .. } | Head::Completion { .. } => SHORT_HEADER_BYTES,
            _ => LONG_HEADER_BYTES,
        }
    }
}

/// One packet. Times are in picoseconds.
#[derive(Debug)]
pub struct Packet {
    /// What it is.
    pub head: Head,
    /// Its dwords, none for requests.
    pub payload: Vec<u32>,
    /// When its last byte has arrived; before it is on the wire, when it is ready to go.
    pub time: u64,
}

impl Packet {
    /// All its bytes on the wire.
    pub fn wire_bytes(&self) -> u64 {
        self.head.header_bytes() + self.payload.len() as u64 * 4 + FRAMING_BYTES
    }
}

/// Buffers for payloads, so that a packet costs no allocation once the simulation is warm.
#[derive(Debug, Default)]
pub struct Pool(Vec<Vec<u32>>);

impl Pool {
    /// An empty buffer.
    pub fn take(&mut self) -> Vec<u32> {
        self.0.pop().unwrap_or_default()
    }

    /// Return a buffer.
    pub fn give(&mut self, mut buffer: Vec<u32>) {
        if buffer.capacity() != 0 && self.0.len() < 512 {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}

/// One direction of a link: packets follow each other without a gap if they are there.
#[derive(Debug)]
pub struct Wire {
    byte_fs: u64,
    free: u64,
    fraction_fs: u64,
}

impl Wire {
    /// A wire which takes `byte_fs` femtoseconds for a byte.
    pub fn new(byte_fs: u64) -> Self {
        Wire { byte_fs, free: 0, fraction_fs: 0 }
    }

    /// When the wire can take the next packet, in picoseconds, rounded up.
    pub fn free(&self) -> u64 {
        self.free + u64::from(self.fraction_fs > 0)
    }

    /// Send `bytes` at `ready` picoseconds or when the wire is free; returns when the last byte has arrived.
    pub fn send(&mut self, ready: u64, bytes: u64) -> u64 {
        if ready > self.free {
            self.free = ready;
            self.fraction_fs = 0;
        }
        let fs = self.fraction_fs + bytes * self.byte_fs;
        self.free += fs / 1000;
        self.fraction_fs = fs % 1000;
        self.free()
    }
}

/// The card's transmit buffer and the wire to the host.
///
/// The buffer is a FIFO of whole packets. Writes, reads and answers come to it as streams of their own: a read whose turn has come goes in
/// although a write is still coming, an answer waits until the write under way is in, and so passes no write that was accepted before it.
#[derive(Debug)]
pub struct Transmit {
    wire: Wire,
    capacity: usize,
    queue: VecDeque<Packet>,
    /// The write or answer of which beats are still to come.
    assembling: Option<Packet>,
    /// The link went down since it began: it goes nowhere.
    doomed: bool,
    answer_next: bool,
    read_next: bool,
}

/// Which of the streams may move at this edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// A beat of a write.
    pub posted: bool,
    /// A read request.
    pub read: bool,
    /// A beat of an answer.
    pub answer: bool,
}

impl Transmit {
    /// An empty buffer for `capacity` packets before a wire.
    pub fn new(wire: Wire, capacity: usize) -> Self {
        let queue = VecDeque::with_capacity(capacity);
        Transmit { wire, capacity, queue, assembling: None, doomed: false, answer_next: false, read_next: false }
    }

    /// Packets that still fit.
    pub fn room(&self) -> usize {
        self.capacity - self.queue.len() - usize::from(self.assembling.is_some())
    }

    /// What may move, given what is offered. No stream waits without a limit: writes and answers take turns between packets, and reads take
    /// turns with both at the last free place.
    pub fn grant(&mut self, posted: bool, read: bool, answer: bool) -> Grant {
        let room = self.room();
        match self.assembling.as_ref().map(|packet| packet.head) {
            Some(Head::Answer { .. }) => Grant { posted: false, read: read && room > 0, answer },
            Some(_) => Grant { posted, read: read && room > 0, answer: false },
            None if room == 0 => Grant::default(),
            None => {
                let posted_waits = posted && answer && self.answer_next;
                let answer_waits = posted && answer && !self.answer_next;
                let mut grant = Grant { posted: posted && !posted_waits, read, answer: answer && !answer_waits };
                if room == 1 && read && (posted || answer) {
                    grant = if self.read_next { Grant { read: true, ..Grant::default() } } else { Grant { read: false, ..grant } };
                    self.read_next = !self.read_next;
                }
                if grant.posted || grant.answer {
                    self.answer_next = grant.posted;
                }
                grant
            }
        }
    }

    /// A read request, accepted at `now`.
    pub fn push(&mut self, head: Head, now: u64) {
        self.send(Packet { head, payload: Vec::new(), time: now });
    }

    /// A beat of a write or an answer, accepted at `now`. Returns false when the packet's length differs from its header.
    pub fn beat(&mut self, head: Head, dwords: u16, data: &[u32], last: bool, now: u64, pool: &mut Pool) -> bool {
        let packet = self.assembling.get_or_insert_with(|| Packet { head, payload: pool.take(), time: 0 });
        let left = usize::from(dwords).saturating_sub(packet.payload.len());
        packet.payload.extend_from_slice(&data[..left.min(data.len())]);
        let complete = packet.payload.len() == usize::from(dwords);
        if last {
            if let Some(mut packet) = self.assembling.take() {
                if std::mem::take(&mut self.doomed) {
                    pool.give(packet.payload);
                } else {
                    packet.time = now;
                    self.send(packet);
                }
            }
        }
        complete == last
    }

    /// The head of the packet that is under way into the buffer.
    pub fn assembling(&self) -> Option<&Head> {
        self.assembling.as_ref().map(|packet| &packet.head)
    }

    fn send(&mut self, mut packet: Packet) {
        packet.time = self.wire.send(packet.time, packet.wire_bytes());
        self.queue.push_back(packet);
    }

    /// The next packet whose last byte has arrived at the host by `now`.
    pub fn arrived(&mut self, now: u64) -> Option<Packet> {
        if self.queue.front()?.time > now {
            return None;
        }
        self.queue.pop_front()
    }

    /// Whether packets are on their way.
    pub fn busy(&self) -> bool {
        !self.queue.is_empty() || self.assembling.is_some()
    }

    /// The link went down: everything in the buffer is gone. A packet under way into it is taken to its end, and goes nowhere.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.doomed = self.assembling.is_some();
    }

    /// The card was reset: a packet under way into the buffer has no end.
    pub fn break_off(&mut self) {
        self.assembling = None;
        self.doomed = false;
    }
}

/// The source of completions, for the wire to the card.
pub trait Completions {
    /// When the first one is ready, if there is any.
    fn ready(&self) -> Option<u64>;
    /// One that is ready at `limit`.
    fn take(&mut self, limit: u64, pool: &mut Pool) -> Packet;
}

/// Room for completions in a hard block's receive buffer. An endpoint must promise its link partner room without end, so only the card can
/// ensure that there is room: by requesting no more than fits, or by taking what comes as fast as it comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionRoom {
    /// Packets.
    pub headers: u32,
    /// Payload, in units of 16 bytes; each packet's last one counts whole.
    pub data: u32,
}

impl CompletionRoom {
    fn units(packet: &Packet) -> u32 {
        packet.payload.len().div_ceil(4) as u32
    }

    /// A completion comes in.
    fn take(&mut self, packet: &Packet) {
        self.headers += 1;
        self.data += Self::units(packet);
    }

    /// A completion has gone to the card.
    fn give(&mut self, packet: &Packet) {
        self.headers -= 1;
        self.data -= Self::units(packet);
    }
}

/// The wire to the card, what waits for it, and the card's receive buffer.
///
/// Posted writes stay in order; a read of the card goes after all writes before it and only against a credit of the card; completions never
/// pass a write that was ready before them. Writes and completions pass reads that wait for a credit.
#[derive(Debug)]
pub struct Receive {
    wire: Wire,
    posted: VecDeque<(u64, Packet)>,
    nonposted: VecDeque<(u64, Packet)>,
    order: u64,
    /// Reads of the card that it has room for.
    pub nonposted_credits: u32,
    /// When there was none, and one came.
    granted: u64,
    posted_credits: usize,
    posted_inside: usize,
    completion_room: CompletionRoom,
    completions_inside: CompletionRoom,
    flying: VecDeque<Packet>,
    buffer: VecDeque<Packet>,
    beat: usize,
}

impl Receive {
    /// A wire to a card which holds `posted_credits` writes and has `completion_room` for completions.
    pub fn new(wire: Wire, posted_credits: usize, completion_room: CompletionRoom) -> Self {
        Receive {
            wire,
            posted: VecDeque::new(),
            nonposted: VecDeque::new(),
            order: 0,
            nonposted_credits: 0,
            granted: 0,
            posted_credits,
            posted_inside: 0,
            completion_room,
            completions_inside: CompletionRoom::default(),
            flying: VecDeque::new(),
            buffer: VecDeque::new(),
            beat: 0,
        }
    }

    /// A packet which is at the root port at its `time`; times of successive packets do not go back.
    pub fn push(&mut self, mut packet: Packet) {
        self.order += 1;
        let queue = if matches!(packet.head, Head::NonPosted { .. }) { &mut self.nonposted } else { &mut self.posted };
        if let Some((_, before)) = queue.back() {
            packet.time = packet.time.max(before.time);
        }
        queue.push_back((self.order, packet));
    }

    /// The card has room for more reads since `now`. A read that has waited for it begins then.
    pub fn grant(&mut self, now: u64, reads: u32) {
        if self.nonposted_credits == 0 && reads > 0 {
            self.granted = now;
        }
        self.nonposted_credits += reads;
    }

    /// Put everything on the wire that starts by `now`.
    pub fn advance(&mut self, now: u64, completions: &mut dyn Completions, pool: &mut Pool) {
        loop {
            let free = self.wire.free();
            if free > now {
                return;
            }
            let posted = self.posted.front().filter(|_| self.posted_inside < self.posted_credits).map(|(_, packet)| packet.time);
            let nonposted = match (self.nonposted.front(), self.posted.front()) {
                (Some((order, packet)), before) if self.nonposted_credits > 0 && before.is_none_or(|(first, _)| order < first) => {
                    Some(packet.time.max(self.granted))
                }
                _ => None,
            };
            // A write which waits for credits holds back the completions that became ready after it.
            let barrier = self.posted.front().map(|(_, packet)| packet.time);
            let completion = completions.ready().filter(|&ready| barrier.is_none_or(|barrier| ready < barrier));
            let Some(first) = [posted, nonposted, completion].into_iter().flatten().min() else { return };
            let start = first.max(free);
            if start > now {
                return;
            }
            let packet = if posted == Some(first) {
                self.posted.pop_front().map(|(_, packet)| packet)
            } else if nonposted == Some(first) {
                self.nonposted_credits -= 1;
                self.nonposted.pop_front().map(|(_, packet)| packet)
            } else {
                Some(completions.take(barrier.map_or(start, |barrier| start.min(barrier - 1)), pool))
            };
            if let Some(mut packet) = packet {
                self.posted_inside += usize::from(matches!(packet.head, Head::Posted { .. }));
                packet.time = self.wire.send(first, packet.wire_bytes());
                self.flying.push_back(packet);
            }
        }
    }

    /// Move the next packet whose last byte has come by `now` into the card's buffer, and show it.
    pub fn land(&mut self, now: u64) -> Option<&Packet> {
        if self.flying.front()?.time > now {
            return None;
        }
        let packet = self.flying.pop_front()?;
        if matches!(packet.head, Head::Completion { .. }) {
            self.completions_inside.take(&packet);
        }
        self.buffer.push_back(packet);
        self.buffer.back()
    }

    /// What is wrong when more completions have come than the hard block has room for.
    pub fn overflow(&self) -> Option<String> {
        let (inside, room) = (self.completions_inside, self.completion_room);
        (inside.headers > room.headers || inside.data > room.data).then(|| {
            format!(
                "the hard block's completion buffer overflows: {} completions with {} units of 16 bytes, and there is room for {} and {}; the \
                 card has asked for more than it takes as fast as it comes, or the link is faster than its data path (`lanes` and `generation` set the \
                 link, `completion_headers` and `completion_data` the room)",
                inside.headers, inside.data, room.headers, room.data
            )
        })
    }

    /// The next beat for the card: the packet it is of, its first dword, and whether it is the last. Beats have up to `lanes` dwords.
    ///
    /// With `hold` no write begins. Completions pass it, as a block lets those pass that carry relaxed ordering; reads of the card do not.
    pub fn beat(&mut self, lanes: usize, hold: bool) -> Option<(&Packet, usize, bool)> {
        if hold && self.beat == 0 && self.buffer.front().is_some_and(|packet| matches!(packet.head, Head::Posted { .. })) {
            let passes = self.buffer.iter().position(|packet| matches!(packet.head, Head::Completion { .. }))?;
            let packet = self.buffer.remove(passes)?;
            self.buffer.push_front(packet);
        }
        let packet = self.buffer.front()?;
        let from = self.beat;
        let last = from + lanes >= packet.payload.len();
        self.beat = if last { 0 } else { from + lanes };
        Some((packet, from, last))
    }

    /// Whether the card has a part of a packet.
    pub fn inside(&self) -> bool {
        self.beat > 0
    }

    /// After the last beat of a packet: it leaves the buffer.
    pub fn finish(&mut self, pool: &mut Pool) {
        if let Some(packet) = self.buffer.pop_front() {
            match packet.head {
                Head::Posted { .. } => self.posted_inside -= 1,
                Head::Completion { .. } => self.completions_inside.give(&packet),
                _ => (),
            }
            pool.give(packet.payload);
        }
    }

    /// Whether packets are on their way or wait.
    pub fn busy(&self) -> bool {
        !self.flying.is_empty() || !self.buffer.is_empty() || !self.posted.is_empty() || !self.nonposted.is_empty()
    }

    /// The link went down: everything is gone but for the packet of which the card has a part, which comes to its end. Credits of reads
    /// that never reached the card are still the host's.
    pub fn clear(&mut self) {
        let begun = usize::from(self.beat > 0);
        let reads = self.flying.iter().chain(self.buffer.iter().skip(begun)).filter(|packet| matches!(packet.head, Head::NonPosted { .. }));
        self.nonposted_credits += reads.count() as u32;
        self.posted.clear();
        self.nonposted.clear();
        self.flying.clear();
        self.buffer.truncate(begun);
        self.count_again();
    }

    /// What is in the buffer, after some of it was lost.
    fn count_again(&mut self) {
        self.posted_inside = self.buffer.iter().filter(|packet| matches!(packet.head, Head::Posted { .. })).count();
        self.completions_inside = CompletionRoom::default();
        for packet in self.buffer.iter().filter(|packet| matches!(packet.head, Head::Completion { .. })) {
            self.completions_inside.take(packet);
        }
    }

    /// The card was reset: it has nothing, and grants its credits anew.
    pub fn break_off(&mut self) {
        self.buffer.clear();
        self.count_again();
        (self.beat, self.nonposted_credits) = (0, 0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const GEN2_X8: u64 = 250_000;
    const ROOM: CompletionRoom = CompletionRoom { headers: 36, data: 461 };

    fn write(addr: u64, dwords: u16) -> Head {
        Head::Write { addr, dwords, first_be: 15, last_be: if dwords == 1 { 0 } else { 15 }, relaxed: false, tc: 0 }
    }

    fn read(tag: u16) -> Head {
        Head::Read { addr: 1 << 32, dwords: 128, first_be: 15, last_be: 15, relaxed: false, tc: 0, tag }
    }

    fn answer(tag: u16, dwords: u16) -> Head {
        Head::Answer { requester: 0, tag, byte_count: dwords * 4, dwords, lower_addr: 0, status: 0 }
    }

    fn posted(order: u32, time: u64) -> Packet {
        Packet {
            head: Head::Posted { bar: 0, offset: order, dwords: 1, first_be: 15, last_be: 0, requester: 0 },
            payload: vec![order],
            time,
        }
    }

    fn nonposted(order: u32, time: u64) -> Packet {
        let head = Head::NonPosted { bar: 0, offset: order, dwords: 1, first_be: 15, last_be: 0, requester: 0, tag: 0 };
        Packet { head, payload: Vec::new(), time }
    }

    /// Completions without payload, in the order of their times.
    struct Plain(VecDeque<u64>);

    impl Completions for Plain {
        fn ready(&self) -> Option<u64> {
            self.0.front().copied()
        }
        fn take(&mut self, limit: u64, _: &mut Pool) -> Packet {
            let time = self.0.pop_front().unwrap();
            assert!(time <= limit);
            let head = Head::Completion { tag: time as u16, dwords: 0, byte_count: 4, lower_addr: 0, status: 1, poisoned: false };
            Packet { head, payload: Vec::new(), time }
        }
    }

    /// Run the receiving side to `now` and name what has landed: p and n with their order, c with its time.
    fn landed(receive: &mut Receive, completions: &mut Plain, now: u64) -> Vec<String> {
        let mut pool = Pool::default();
        receive.advance(now, completions, &mut pool);
        let mut names = Vec::new();
        while let Some(packet) = receive.land(now) {
            names.push(match packet.head {
                Head::Posted { offset, .. } => format!("p{offset}"),
                Head::NonPosted { offset, .. } => format!("n{offset}"),
                Head::Completion { tag, .. } => format!("c{tag}"),
                _ => unreachable!(),
            });
        }
        names
    }

    #[test]
    fn packets_take_the_bytes_counted_by_hand() {
        let bytes = |head: Head, dwords: usize| Packet { head, payload: vec![0; dwords], time: 0 }.wire_bytes();
        assert_eq!(bytes(write(0x1_0000_0000, 32), 32), 152); // 16 + 128 + 8
        assert_eq!(bytes(write(0xfee0_0000, 1), 1), 24); // 12 + 4 + 8
        assert_eq!(bytes(read(0), 0), 24);
        assert_eq!(bytes(answer(0, 2), 2), 28);
        assert_eq!(posted(0, 0).wire_bytes(), 28); // BARs are above 4 GiB
        assert_eq!(bytes(Head::Completion { tag: 0, dwords: 32, byte_count: 128, lower_addr: 0, status: 0, poisoned: false }, 32), 148);
    }

    #[test]
    fn a_wire_sends_without_gaps_and_without_drift() {
        let mut wire = Wire::new(GEN2_X8);
        assert_eq!(wire.send(1000, 152), 1000 + 38_000);
        assert_eq!(wire.send(0, 152), 1000 + 76_000);
        assert_eq!(wire.send(100_000, 4), 101_000);
        let mut odd = Wire::new(126_953);
        let end = (0..1000).map(|_| odd.send(0, 1)).last();
        assert_eq!(end, Some(126_953));
    }

    #[test]
    fn the_transmit_buffer_keeps_order_and_its_size() {
        let (mut transmit, mut pool) = (Transmit::new(Wire::new(GEN2_X8), 3), Pool::default());
        let data = [7u32; 4];
        // A read comes while a write of two beats is under way, and goes ahead of it.
        assert_eq!(transmit.grant(true, true, false), Grant { posted: true, read: true, answer: false });
        assert!(transmit.beat(write(1 << 32, 8), 8, &data, false, 4000, &mut pool));
        transmit.push(read(1), 4000);
        assert_eq!(transmit.room(), 1);
        // An answer waits until the write is in.
        assert_eq!(transmit.grant(true, false, true), Grant { posted: true, read: false, answer: false });
        assert!(transmit.beat(write(1 << 32, 8), 8, &data, true, 8000, &mut pool));
        assert_eq!(transmit.grant(false, false, true), Grant { posted: false, read: false, answer: true });
        assert!(transmit.beat(answer(0, 1), 1, &data, true, 12_000, &mut pool));
        assert_eq!((transmit.room(), transmit.grant(true, true, true)), (0, Grant::default()));
        // 24 bytes from 4 ns, 56 bytes after them, 24 after those.
        assert!(transmit.arrived(9_999).is_none());
        assert_eq!(transmit.arrived(10_000).unwrap().head, read(1));
        assert_eq!(transmit.room(), 1);
        assert!(transmit.arrived(23_999).is_none());
        assert_eq!(transmit.arrived(24_000).unwrap().head, write(1 << 32, 8));
        assert_eq!(transmit.arrived(30_000).unwrap().head, answer(0, 1));
        assert!(!transmit.busy());
    }

    #[test]
    fn a_link_that_goes_down_cuts_no_packet_in_the_middle() {
        let (mut transmit, mut pool) = (Transmit::new(Wire::new(GEN2_X8), 3), Pool::default());
        transmit.push(read(1), 0);
        assert!(transmit.beat(write(1 << 32, 8), 8, &[7; 4], false, 4000, &mut pool));
        transmit.clear();
        assert!(transmit.beat(write(1 << 32, 8), 8, &[7; 4], true, 8000, &mut pool));
        assert!(!transmit.busy() && transmit.arrived(1_000_000).is_none(), "what had begun goes nowhere");
        assert!(transmit.beat(write(1 << 32, 1), 1, &[7; 4], true, 12_000, &mut pool));
        assert!(transmit.arrived(1_000_000).is_some(), "the next one does");

        let mut receive = Receive::new(Wire::new(GEN2_X8), 2, ROOM);
        for order in 1..4 {
            receive.push(Packet { payload: vec![order; 8], ..posted(order, 0) });
        }
        landed(&mut receive, &mut Plain(VecDeque::new()), 1_000_000);
        assert!(receive.beat(4, false).is_some_and(|(packet, from, last)| packet.payload[0] == 1 && from == 0 && !last));
        receive.clear();
        assert!(receive.beat(4, false).is_some_and(|(packet, from, last)| packet.payload[0] == 1 && from == 4 && last));
        receive.finish(&mut pool);
        assert!(receive.beat(4, false).is_none() && !receive.busy());
        receive.push(posted(9, 2_000_000));
        receive.push(posted(10, 2_000_000));
        assert_eq!(landed(&mut receive, &mut Plain(VecDeque::new()), 3_000_000), ["p9", "p10"], "credits are whole again");
    }

    #[test]
    fn nobody_starves_at_the_last_place() {
        let (mut transmit, mut pool) = (Transmit::new(Wire::new(GEN2_X8), 1), Pool::default());
        let mut taken = [0; 3];
        for round in 0..60u64 {
            let now = round * 1_000_000;
            while transmit.arrived(now).is_some() {}
            let grant = transmit.grant(true, true, true);
            assert_eq!(u8::from(grant.posted) + u8::from(grant.read) + u8::from(grant.answer), 1);
            if grant.posted {
                taken[0] += 1;
                transmit.beat(write(1 << 32, 1), 1, &[0; 4], true, now, &mut pool);
            } else if grant.read {
                taken[1] += 1;
                transmit.push(read(0), now);
            } else {
                taken[2] += 1;
                transmit.beat(answer(0, 1), 1, &[0; 4], true, now, &mut pool);
            }
        }
        assert!(taken.iter().all(|count| *count >= 15), "{taken:?}");
    }

    #[test]
    fn a_packet_of_another_length_than_its_header_says_is_found() {
        let (mut transmit, mut pool) = (Transmit::new(Wire::new(GEN2_X8), 8), Pool::default());
        assert!(!transmit.beat(write(1 << 32, 8), 8, &[0; 4], true, 0, &mut pool)); // too early
        assert!(!transmit.beat(write(1 << 32, 4), 4, &[0; 4], false, 0, &mut pool));
        // too late
    }

    #[test]
    fn reads_of_the_card_wait_for_writes_and_credits_and_hold_up_nobody() {
        let mut receive = Receive::new(Wire::new(GEN2_X8), 32, ROOM);
        let mut completions = Plain([40_000, 40_001].into());
        receive.push(posted(1, 1000));
        receive.push(nonposted(2, 2000));
        receive.push(posted(3, 3000));
        assert_eq!(landed(&mut receive, &mut completions, 100_000), ["p1", "p3", "c40000", "c40001"]);
        receive.grant(150_000, 1);
        receive.advance(150_000, &mut completions, &mut Pool::default());
        assert!(receive.land(150_001).is_none(), "a read does not come with its credit");
        assert_eq!(landed(&mut receive, &mut completions, 200_000), ["n2"]);
        assert_eq!(receive.nonposted_credits, 0);
        // A read never passes a write before it, though it has its credit.
        receive.nonposted_credits = 2;
        receive.push(posted(4, 300_000));
        receive.push(nonposted(5, 300_000));
        assert_eq!(landed(&mut receive, &mut completions, 400_000), ["p4", "n5"]);
    }

    #[test]
    fn completions_never_pass_writes_that_were_ready_before_them() {
        let mut receive = Receive::new(Wire::new(GEN2_X8), 1, ROOM);
        let mut completions = Plain([1000, 9000].into());
        receive.push(posted(1, 2000));
        receive.push(posted(2, 5000));
        // One write fills the card's buffer; the second one holds back the completion after it, not the one before.
        assert_eq!(landed(&mut receive, &mut completions, 1_000_000), ["c1000", "p1"]);
        let mut pool = Pool::default();
        for _ in 0..2 {
            assert!(receive.beat(4, false).is_some());
            receive.finish(&mut pool);
        }
        assert_eq!(landed(&mut receive, &mut completions, 2_000_000), ["p2", "c9000"]);
    }

    #[test]
    fn a_write_that_is_held_lets_completions_pass_and_no_reads() {
        let (mut receive, mut pool) = (Receive::new(Wire::new(GEN2_X8), 32, ROOM), Pool::default());
        receive.nonposted_credits = 1;
        receive.push(Packet { payload: vec![1; 8], ..posted(1, 0) });
        receive.push(nonposted(2, 0));
        receive.push(posted(3, 1000));
        landed(&mut receive, &mut Plain([5_000_000].into()), 9_000_000);
        let mut next = |hold: bool| {
            let shown = receive.beat(4, hold).map(|(packet, from, last)| (std::mem::discriminant(&packet.head), from, last));
            if shown.is_some_and(|(_, _, last)| last) {
                receive.finish(&mut pool);
            }
            shown
        };
        let [write, read] = [posted(0, 0), nonposted(0, 0)].map(|packet| std::mem::discriminant(&packet.head));
        assert!(next(true).is_some_and(|(head, _, _)| head != write && head != read), "the completion");
        assert_eq!(next(true), None);
        assert_eq!(next(false), Some((write, 0, false)));
        assert_eq!(next(true), Some((write, 4, true)), "what has begun goes on");
        assert_eq!(next(true), Some((read, 0, true)));
        assert_eq!(next(true), None);
        assert_eq!(next(false), Some((write, 0, true)));
    }

    #[test]
    fn beats_carry_the_payload_in_order() {
        let (mut receive, mut pool) = (Receive::new(Wire::new(GEN2_X8), 32, ROOM), Pool::default());
        let mut packet = posted(1, 0);
        packet.payload = (0..6).collect();
        receive.push(packet);
        landed(&mut receive, &mut Plain(VecDeque::new()), 1_000_000);
        let beat = receive.beat(4, false).map(|(packet, from, last)| (packet.payload.len(), from, last));
        assert_eq!(beat, Some((6, 0, false)));
        let beat = receive.beat(4, false).map(|(packet, from, last)| (packet.payload.len(), from, last));
        assert_eq!(beat, Some((6, 4, true)));
        receive.finish(&mut pool);
        assert!(receive.beat(4, false).is_none() && !receive.busy());
    }
    /// One completion with this number of dwords, unless it is gone.
    struct One(Option<u16>);

    impl Completions for One {
        fn ready(&self) -> Option<u64> {
            self.0.map(|_| 0)
        }
        fn take(&mut self, _: u64, _: &mut Pool) -> Packet {
            let dwords = self.0.take().unwrap();
            let head = Head::Completion { tag: 0, dwords, byte_count: 4 * dwords, lower_addr: 0, status: 0, poisoned: false };
            Packet { head, payload: vec![0; usize::from(dwords)], time: 0 }
        }
    }

    #[test]
    fn more_completions_than_the_hard_block_has_room_for_are_found() {
        // Counted by hand: packets, and payload in units of 16 bytes of which each packet's last one counts whole.
        for (headers, data, dwords, fit) in [(4, 1000, 32, 4), (1000, 32, 32, 4), (1000, 33, 32, 4), (1000, 8, 5, 4), (3, 3, 1, 3)] {
            let mut receive = Receive::new(Wire::new(GEN2_X8), 32, CompletionRoom { headers, data });
            let (mut pool, mut now) = (Pool::default(), 0);
            let mut land = |receive: &mut Receive, pool: &mut Pool| {
                now += 1_000_000;
                receive.advance(now, &mut One(Some(dwords)), pool);
                assert!(receive.land(now + 500_000).is_some());
                receive.overflow()
            };
            for number in 0..fit {
                assert_eq!(land(&mut receive, &mut pool), None, "completion {number} of {dwords} dwords in {headers}, {data}");
            }
            while receive.beat(4, false).is_some_and(|(_, _, last)| !last) {}
            receive.finish(&mut pool);
            assert_eq!(land(&mut receive, &mut pool), None, "one has left: {headers}, {data}");
            let why = land(&mut receive, &mut pool);
            assert!(why.is_some_and(|why| why.contains("completion buffer overflows")), "{dwords} dwords in {headers}, {data}");
            receive.clear();
            assert_eq!((receive.overflow(), receive.completions_inside), (None, CompletionRoom::default()));
        }
    }
}
