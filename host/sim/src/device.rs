// SPDX-License-Identifier: Apache-2.0
//! One simulated card: its model, its link in both directions, the root port above it, and what the host keeps for it (vectors, reads under
//! way). [`Device::edge`] is the simulator's inner loop and allocates nothing once warm.
//!
//! A card that breaks the rules of PCI Express, or of the neutral streams, is stopped with the reason.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crate::capture::Capture;
use crate::clock::Clock;
use crate::faults::Fault;
use crate::link::{CompletionRoom, Head, Packet, Pool, Receive, Transmit, Wire};
use crate::memory::packet_enables;
use crate::messages::Messages;
use crate::model::{Input, Model, Output};
use crate::packets::PacketLog;
use crate::peer::SharedBar;
use crate::random::Random;
use crate::root_complex::{extent, violation, RootPort, Stray, CPL_OK, CPL_UNSUPPORTED_REQUEST, INTERRUPT_WINDOW};
use crate::settings::Settings;
use crate::waveform::{Event, Waveform};

/// Where addresses for mapped memory end.
pub const ADDRESS_END: u64 = 1 << 46;
/// Requester id of the host.
pub const HOST: u16 = 0;
/// Reads of one card that the host has under way at most.
const HOST_READS: usize = 32;
/// Edges after which a card must have noticed that bus mastering is off.
const MASTERING_GRACE: u32 = 1024;
/// Edges from a link that goes down to the reset of a card that forgets, and of that reset at least.
const OFF_EDGES: u64 = 32;
/// Edges from the last completion of a tag to a stray one: the card has freed the tag.
const STRAY_EDGES: usize = 6;
/// Warnings that are reported one by one.
const WARNINGS: u64 = 8;

/// Statistics of a card's link since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Simulated picoseconds since the world began.
    pub picoseconds: u64,
    /// Edges of the core's clock.
    pub cycles: u64,
    /// Wire bytes (payload, header, framing) to the host, of all packets.
    pub to_host: u64,
    /// Wire bytes to the card, of all packets.
    pub to_card: u64,
    /// Payload bytes of the card's memory writes.
    pub card_write_payload: u64,
    /// Payload bytes of completions to the card's reads.
    pub card_read_payload: u64,
    /// Memory writes of the card, interrupts among them.
    pub card_writes: u64,
    /// Read requests of the card.
    pub card_reads: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Writes of the card to memory that is not mapped for it.
    pub refused_writes: u64,
    /// Reads by the card of memory that is not mapped for it.
    pub refused_reads: u64,
}

impl Statistics {
    /// The differences since an earlier snapshot.
    #[must_use]
    pub fn since(&self, before: &Statistics) -> Statistics {
        Statistics {
            picoseconds: self.picoseconds - before.picoseconds,
            cycles: self.cycles - before.cycles,
            to_host: self.to_host - before.to_host,
            to_card: self.to_card - before.to_card,
            card_write_payload: self.card_write_payload - before.card_write_payload,
            card_read_payload: self.card_read_payload - before.card_read_payload,
            card_writes: self.card_writes - before.card_writes,
            card_reads: self.card_reads - before.card_reads,
            interrupts: self.interrupts - before.interrupts,
            refused_writes: self.refused_writes - before.refused_writes,
            refused_reads: self.refused_reads - before.refused_reads,
        }
    }
}

/// An MSI-X vector as the host sees it. Times are in picoseconds.
#[derive(Debug, Default)]
pub struct Vector {
    /// When the first interrupt since the last wait reaches the processor.
    pub delivered: Option<u64>,
    /// When the eventfd is to be signalled.
    pub signal: Option<u64>,
    /// The eventfd, created on first use.
    pub event: Option<OwnedFd>,
    /// The eventfd is in use: it has not been signalled since the program's last access to the card.
    pub armed: bool,
}

/// What a load brings at most.
pub type Line = [u32; 16];

/// A read of the card by the host.
#[derive(Clone, Copy, Debug)]
struct HostRead {
    /// Of the first byte.
    offset: u32,
    bytes: u16,
    /// When the answer is back at the processor, and what it is, from the first byte's dword on.
    answer: Option<(u64, Line)>,
    /// No call waits for it any more.
    abandoned: bool,
}

/// A packet from one card to another.
#[derive(Debug)]
pub struct Forward {
    /// Index of the card it goes to.
    pub target: usize,
    /// What it was addressed to; none: an answer.
    pub place: Option<Arc<SharedBar>>,
    /// The packet, ready at the other root port at its time.
    pub packet: Packet,
}

/// One card in a world.
pub struct Device {
    /// Tells it from others that have had its place in the world.
    pub serial: u64,
    /// Parts of its BARs that other cards may write to.
    shared: Vec<Weak<SharedBar>>,
    /// The user's name for it.
    pub name: String,
    /// The compiled gateware.
    pub model: Model,
    /// Inputs of the next edge; the configuration is set here.
    pub input: Input,
    output: Output,
    transmit: Transmit,
    receive: Receive,
    /// The root port above it.
    pub port: RootPort,
    pool: Pool,
    /// Its vectors.
    pub vectors: Vec<Vector>,
    /// Its interrupts, if the table is the program's and not ours.
    pub messages: Option<Messages>,
    reads: [Option<HostRead>; HOST_READS],
    /// Stores of a program on the other side of a server are dropped.
    pub deaf: bool,
    /// Its interrupts are lost.
    pub mute: bool,
    /// The bytes that it reads at some offsets of BAR 0, the latest last.
    pub lies: Vec<(u64, u8)>,
    /// Write-combining buffers that no fence has emptied yet.
    pub combining: Vec<(u8, u32, Vec<u8>)>,
    /// Packets for other cards; the world takes them after each edge.
    pub forwards: Vec<Forward>,
    core: Clock,
    user: Vec<Clock>,
    lanes: usize,
    /// Sizes of the BARs 0 to 5.
    pub bars: [u64; 6],
    /// See [`Statistics`].
    pub statistics: Statistics,
    /// What the link carries, while a record is on.
    pub capture: Capture,
    /// The file for all packets, if there is one.
    pub packets: Option<PacketLog>,
    waveform: Waveform,
    /// Edges since the link last carried or held anything.
    pub quiet: u64,
    /// Why the card does not run any more.
    pub stopped: Option<String>,
    /// The card has acknowledged a function-level reset.
    pub reset_done: bool,
    /// Randomness of the host's stores.
    pub random: Random,
    mastering_off: u32,
    /// The link was down: the card may answer reads that the host has given up.
    link_lost: bool,
    /// A completion that belongs to no read, and edges since it may come.
    stray: Option<(Stray, usize)>,
    /// When the link comes back, or bus mastering, that a fault has switched off.
    link_back: Option<u64>,
    /// When a card that forgets is reset, after its link went down.
    off_at: Option<u64>,
    mastering_back: Option<u64>,
    next_signal: u64,
    delivery: u64,
    wake: u64,
    register: u64,
    peer: u64,
    /// What other cards send passes it, where it is slower than the link.
    fabric: Option<Wire>,
    /// Their requests in the fabric, where the host's overtake them; else they wait with the host's.
    coming: Option<VecDeque<Packet>>,
}

impl Device {
    /// A card which has just been switched on at `now` picoseconds, held in reset.
    pub fn new(name: &str, model: Model, (index, serial): (usize, u64), settings: &Settings, now: u64) -> Self {
        let mut random = Random::new(settings.seed ^ (index as u64) << 32);
        let mut device = Device {
            serial,
            shared: Vec::new(),
            name: name.to_owned(),
            input: Input { reset: 1, ..Input::default() },
            output: Output::default(),
            transmit: Transmit::new(Wire::new(settings.femtoseconds_per_byte()), settings.transmit_buffer as usize),
            receive: Receive::new(
                Wire::new(settings.femtoseconds_per_byte()),
                settings.posted_credits as usize,
                CompletionRoom { headers: settings.completion_headers, data: settings.completion_data },
            ),
            port: RootPort::new(settings, Random::new(random.next())),
            pool: Pool::default(),
            vectors: Vec::new(),
            messages: None,
            reads: [None; HOST_READS],
            deaf: false,
            mute: false,
            lies: Vec::new(),
            combining: Vec::new(),
            forwards: Vec::new(),
            core: Clock::new(model.info().core_clock_khz, now),
            user: model.info().user_clocks_khz.into_iter().filter(|khz| *khz != 0).map(|khz| Clock::new(khz, now)).collect(),
            lanes: model.info().data_width as usize / 32,
            bars: [0; 6],
            statistics: Statistics::default(),
            capture: Capture::new(settings.femtoseconds_per_byte()),
            packets: None,
            waveform: Waveform::new(settings),
            quiet: 0,
            stopped: None,
            reset_done: false,
            random: Random::new(random.next()),
            mastering_off: 0,
            link_lost: false,
            stray: None,
            link_back: None,
            off_at: None,
            mastering_back: None,
            next_signal: u64::MAX,
            delivery: settings.interrupt_delivery * 1000,
            wake: settings.wake_cost * 1000,
            register: settings.register_latency * 1000,
            peer: settings.peer_latency * 1000,
            fabric: (settings.peer_rate < 1000).then(|| Wire::new(settings.femtoseconds_per_byte() * 1000 / u64::from(settings.peer_rate))),
            coming: (settings.overtaking != 0).then(VecDeque::new),
            model,
        };
        let (from, to) = device.waveform.begin();
        device.model.trace(from, to);
        let config = &mut device.input.config;
        config.requester = (index as u16 + 1) << 8;
        config.max_payload = (settings.max_payload / 128).trailing_zeros() as u8;
        config.max_read = (settings.max_read / 128).trailing_zeros() as u8;
        config.rcb_128 = u8::from(settings.read_boundary == 128);
        config.bus_master = 1;
        config.relaxed = settings.relaxed;
        config.tags_8bit = u8::from(settings.tag_bits >= 8);
        config.tags_10bit = u8::from(settings.tag_bits >= 10);
        config.completion_timeout = settings.completion_timeout;
        config.link_up = 1;
        config.active = 1;
        config.transmit_room = settings.transmit_buffer as u8;
        device
    }

    /// When the next edge of one of its clocks is.
    pub fn next_edge(&self) -> u64 {
        let user = self.user.iter().map(Clock::next).min().unwrap_or(u64::MAX);
        if self.stopped.is_some() {
            u64::MAX
        } else {
            user.min(self.core.next())
        }
    }

    /// The edges at `now`.
    pub fn step(&mut self, now: u64) {
        if self.stopped.is_some() {
            return;
        }
        let is_user_edge = match self.user.as_slice() {
            [] => self.core.next() == now,
            [user] => user.next() == now,
            // Which of them the core has now is the card's affair.
            _ => false,
        };
        if let Some(log) = self.packets.as_mut().filter(|_| is_user_edge) {
            log.beats(now, &self.model.beats());
        }
        if self.core.next() == now {
            self.core.tick();
            if let Err(why) = self.edge(now) {
                self.stopped = Some(why);
                return;
            }
        }
        for (index, user) in (0..).zip(&mut self.user).filter(|(_, user)| user.next() == now) {
            user.tick();
            self.stopped = self.model.user_clock(index, now);
            if self.stopped.is_some() {
                return;
            }
        }
    }

    fn refused_read(&mut self, warning: &str) {
        self.statistics.refused_reads += 1;
        if self.statistics.refused_reads <= WARNINGS {
            self.model.warn(&format!("{}: {warning}\n", self.name));
        }
    }

    /// Everything that has arrived at either end by `now`.
    pub fn settle(&mut self, now: u64) {
        while let Some(packet) = self.transmit.arrived(now) {
            self.at_host(packet);
        }
        let here = |coming: &VecDeque<Packet>| coming.front().is_some_and(|packet| packet.time <= now);
        while let Some(packet) = self.coming.as_mut().filter(|coming| here(coming)).and_then(VecDeque::pop_front) {
            self.receive.push(packet);
        }
        self.receive.advance(now, &mut self.port, &mut self.pool);
        if let Some(warning) = self.port.warning.take() {
            self.refused_read(&warning);
        }
        while let Some(packet) = self.receive.land(now) {
            self.statistics.to_card += packet.wire_bytes();
            if let Some(log) = &mut self.packets {
                log.packet(packet);
            }
            if let Some((from, to)) = self.waveform.landed(packet) {
                self.model.trace(from, to);
            }
            if let Head::Completion { tag, byte_count, lower_addr, .. } = packet.head {
                let bytes = packet.payload.len() as u32 * 4;
                self.statistics.card_read_payload += u64::from(bytes);
                let asked = bytes.saturating_sub(u32::from(lower_addr & 3)).min(u32::from(byte_count));
                self.capture.answered(packet, tag, asked);
            }
            if let Some(why) = self.receive.overflow() {
                self.stopped.get_or_insert(why);
            }
        }
        if self.next_signal <= now {
            self.signal(now);
        }
    }

    fn edge(&mut self, now: u64) -> Result<(), String> {
        self.settle(now);
        if let Some(fault) = self.port.faults.upheaval.take() {
            self.waveform.event(Event::Fault, now).into_iter().for_each(|(from, to)| self.model.trace(from, to));
            self.disturb(now, fault);
        }
        if self.off_at.is_some_and(|time| time <= now) {
            self.switch_off();
        }
        if self.link_back.is_some_and(|time| time <= now) {
            self.set_link(now, true);
        }
        if self.mastering_back.is_some_and(|time| time <= now) {
            self.set_bus_master(true);
        }
        let coming = self.coming.as_ref().is_some_and(|coming| !coming.is_empty());
        if self.transmit.busy() || self.receive.busy() || self.port.busy() || coming {
            self.quiet = 0;
        } else {
            self.quiet += 1;
        }
        self.statistics.cycles += 1;

        let grant = self.transmit.grant(self.output.posted.valid != 0, self.output.read.valid != 0, self.output.answer.valid != 0);
        if grant != Default::default() {
            self.accept(grant.posted, grant.read, grant.answer, now)?;
        }
        self.input.posted_ready = u8::from(grant.posted);
        self.input.read_ready = u8::from(grant.read);
        self.input.answer_ready = u8::from(grant.answer);
        self.input.config.transmit_room = self.transmit.room() as u8;
        self.mastering_off = if self.input.config.bus_master != 0 { 0 } else { self.mastering_off.saturating_add(1) };
        self.deliver(now);

        let stalled = (self.output.posted.valid != 0 && !grant.posted)
            || (self.output.read.valid != 0 && !grant.read)
            || (self.output.answer.valid != 0 && !grant.answer);
        let stop = if stalled {
            let before = self.output;
            let stop = self.model.core_clock(now, &self.input, &mut self.output);
            if self.input.reset == 0 && stop.is_none() {
                self.check_stable(&before, grant.posted, grant.read, grant.answer)?;
            }
            stop
        } else {
            self.model.core_clock(now, &self.input, &mut self.output)
        };
        self.receive.grant(now, self.output.nonposted_credit.into());
        self.reset_done |= self.output.function_reset_done != 0;
        match stop {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// What the card offers and the transmit buffer takes at this edge.
    fn accept(&mut self, posted: bool, read: bool, answer: bool, now: u64) -> Result<(), String> {
        let config = &self.input.config;
        if (posted || read) && self.mastering_off > MASTERING_GRACE {
            return Err(format!("the card sends a request {MASTERING_GRACE} clocks after bus mastering was switched off"));
        }
        if posted {
            let beat = &self.output.posted;
            let &crate::model::Write { addr, dwords, first_be, last_be, .. } = beat;
            let head = Head::Write { addr, dwords, first_be, last_be, relaxed: beat.relaxed != 0, tc: beat.tc };
            match self.transmit.assembling() {
                None => {
                    if let Some(why) = violation(addr, dwords, first_be, last_be, 128 << config.max_payload, "MPS") {
                        return Err(broken("write", addr, dwords, &why));
                    }
                }
                Some(before) if *before != head => {
                    return Err(broken("write", addr, dwords, "its header changes between its beats"));
                }
                Some(_) => (),
            }
            if !self.transmit.beat(head, dwords, &beat.data[..self.lanes], beat.last != 0, now, &mut self.pool) {
                return Err(broken("write", addr, dwords, "`last` does not stand on the beat with its last dword"));
            }
        }
        if read {
            let beat = &self.output.read;
            let &crate::model::Read { addr, dwords, first_be, last_be, tag, .. } = beat;
            if let Some(why) = violation(addr, dwords, first_be, last_be, 128 << config.max_read, "MRRS") {
                return Err(broken("read", addr, dwords, &why));
            }
            let bits = [5, 8, 10, 10][usize::from(config.tags_8bit & 1 | (config.tags_10bit & 1) << 1)];
            if tag >> bits != 0 {
                return Err(broken("read", addr, dwords, &format!("its tag {tag} has more than the {bits} bits allowed")));
            }
            if !self.port.take_tag(tag) {
                return Err(broken("read", addr, dwords, &format!("its tag {tag} is still in flight")));
            }
            self.transmit.push(Head::Read { addr, dwords, first_be, last_be, relaxed: beat.relaxed != 0, tc: beat.tc, tag }, now);
        }
        if answer {
            let beat = &self.output.answer;
            let &crate::model::Answer { requester, tag, byte_count, dwords, lower_addr, status, .. } = beat;
            let head = Head::Answer { requester, tag, byte_count, dwords, lower_addr, status };
            if self.transmit.assembling().is_some_and(|before| *before != head) {
                return Err(format!("the card's answer to tag {tag} changes its header between its beats"));
            }
            if (status == CPL_OK) != (dwords != 0) || u32::from(dwords) * 4 > 128 << config.max_payload {
                return Err(format!("the card's answer to tag {tag} has {dwords} dwords with status {status}"));
            }
            if !self.transmit.beat(head, dwords, &beat.data[..self.lanes], beat.last != 0, now, &mut self.pool) {
                return Err(format!("the card's answer to tag {tag} has `last` on another beat than that with its last dword"));
            }
        }
        Ok(())
    }

    /// A beat that was offered and not taken must still be there.
    fn check_stable(&self, before: &Output, posted: bool, read: bool, answer: bool) -> Result<(), String> {
        let now = &self.output;
        let kept = |what: &str, same: bool| {
            if same {
                Ok(())
            } else {
                Err(format!("the card takes back or changes a beat on its {what} stream that was not accepted yet"))
            }
        };
        if before.posted.valid != 0 && !posted {
            // Lanes past a packet's end may hold anything.
            let same = before.posted.last != 0 || now.posted.data[..self.lanes] == before.posted.data[..self.lanes];
            let head = crate::model::Write { data: before.posted.data, ..now.posted } == before.posted;
            kept("posted", head && same)?;
        }
        if before.read.valid != 0 && !read {
            kept("read", now.read == before.read)?;
        }
        if before.answer.valid != 0 && !answer {
            kept("completion", crate::model::Answer { data: before.answer.data, ..now.answer } == before.answer)?;
        }
        Ok(())
    }

    /// The next beat from the receive buffer, if there is one.
    fn deliver(&mut self, now: u64) {
        self.input.completion.valid = 0;
        self.input.posted.valid = 0;
        self.input.nonposted.valid = 0;
        if self.output.hold != 0 {
            return;
        }
        if self.stray.is_some() && self.stray_beat(now) {
            return;
        }
        let Some((packet, from, last)) = self.receive.beat(self.lanes, self.output.posted_hold != 0) else { return };
        let data = &packet.payload[from..packet.payload.len().min(from + self.lanes)];
        match packet.head {
            Head::Completion { .. } => show(&mut self.input.completion, packet, data, last),
            Head::Posted { bar, offset, dwords, first_be, last_be, requester } => {
                let beat = &mut self.input.posted;
                (beat.bar, beat.offset, beat.dwords, beat.first_be, beat.last_be) = (bar, offset, dwords, first_be, last_be);
                (beat.requester, beat.last, beat.valid) = (requester, u8::from(last), 1);
                beat.data[..data.len()].copy_from_slice(data);
            }
            Head::NonPosted { bar, offset, dwords, first_be, last_be, requester, tag } => {
                let beat = &mut self.input.nonposted;
                (beat.bar, beat.offset, beat.dwords, beat.first_be, beat.last_be) = (bar, offset, dwords, first_be, last_be);
                (beat.requester, beat.tag, beat.last, beat.valid) = (requester, tag, 1, 1);
            }
            Head::Write { .. } | Head::Read { .. } | Head::Answer { .. } => (), // never towards a card
        }
        if last {
            if self.stray.is_none() {
                self.stray = self.port.seen(packet, self.lanes).map(|stray| (stray, 0));
            }
            self.receive.finish(&mut self.pool);
        }
    }

    /// A beat of a stray completion, some edges after the last of its tag; false when it does not come now.
    fn stray_beat(&mut self, now: u64) -> bool {
        let Some((stray, edge)) = &mut self.stray else { return false };
        *edge += 1;
        if *edge < STRAY_EDGES || (*edge == STRAY_EDGES && self.receive.inside()) {
            *edge = (*edge).min(STRAY_EDGES - 1);
            return false;
        }
        let offered = self.output.read.valid != 0 && self.output.read.tag == stray.tag;
        if *edge == STRAY_EDGES && !self.port.let_stray(stray, offered, now) {
            self.stray = None;
            return false;
        }
        let from = (*edge - STRAY_EDGES) * self.lanes;
        let end = stray.packet.payload.len().min(from + self.lanes);
        let last = end == stray.packet.payload.len();
        show(&mut self.input.completion, &stray.packet, &stray.packet.payload[from..end], last);
        if last {
            self.stray = None;
        }
        true
    }

    /// A packet of the card has arrived at the root port.
    fn at_host(&mut self, packet: Packet) {
        if self.input.config.link_up == 0 {
            return self.pool.give(packet.payload);
        }
        let now = packet.time;
        let bytes = packet.payload.len() as u64 * 4;
        self.statistics.to_host += packet.wire_bytes();
        if let Some(log) = &mut self.packets {
            match packet.head {
                Head::Write { addr, .. } if self.messages.is_none() && INTERRUPT_WINDOW.contains(&addr) => {
                    log.interrupt(now, packet.payload[0])
                }
                _ => log.packet(&packet),
            }
        }
        match packet.head {
            Head::Write { addr, dwords, first_be, last_be, .. } => {
                self.statistics.card_writes += 1;
                self.statistics.card_write_payload += bytes;
                if self.take_message(addr, first_be, &packet.payload, now) {
                    // an interrupt, and no write to memory
                    self.waveform.event(Event::Interrupt, now).into_iter().for_each(|(from, to)| self.model.trace(from, to));
                } else if let Some((place, offset)) = self.peer(addr, dwords, first_be, last_be, true) {
                    let (from, bytes) = extent(addr, dwords, first_be, last_be);
                    self.capture.written(&packet, from, bytes);
                    let requester = self.input.config.requester;
                    let head = Head::Posted { bar: place.bar, offset, dwords, first_be, last_be, requester };
                    let packet = Packet { head, payload: packet.payload, time: now + self.peer };
                    self.forwards.push(Forward { target: place.target, place: Some(place), packet });
                    return;
                } else if self.port.memory.write(addr, &packet.payload, first_be, last_be) {
                    let (from, bytes) = extent(addr, dwords, first_be, last_be);
                    self.capture.written(&packet, from, bytes);
                } else {
                    self.statistics.refused_writes += 1;
                    if self.statistics.refused_writes <= WARNINGS {
                        let name = &self.name;
                        self.model
                            .warn(&format!("{name}: the card writes {bytes} bytes at {addr:#x}, which is not mapped for it: dropped\n"));
                    }
                }
            }
            Head::Read { addr, dwords, first_be, last_be, tag, .. } => {
                self.statistics.card_reads += 1;
                self.capture.asked(tag, addr);
                if let Some((place, offset)) = self.peer(addr, dwords, first_be, last_be, false) {
                    let requester = self.input.config.requester;
                    let head = Head::NonPosted { bar: place.bar, offset, dwords, first_be, last_be, requester, tag };
                    let packet = Packet { head, payload: Vec::new(), time: now + self.peer };
                    self.forwards.push(Forward { target: place.target, place: Some(place), packet });
                } else if let Some(warning) = self.port.read(now, tag, addr, dwords, first_be, last_be) {
                    self.refused_read(&warning);
                }
            }
            Head::Answer { requester: HOST, tag, byte_count, dwords, lower_addr, status } => {
                if let Err(why) = self.host_answer(now, tag, byte_count, dwords, lower_addr, status, &packet.payload) {
                    self.stopped.get_or_insert(why);
                }
            }
            Head::Answer { requester, tag, byte_count, dwords, lower_addr, status } => {
                let head = Head::Completion { tag, dwords, byte_count, lower_addr, status, poisoned: false };
                let target = usize::from(requester >> 8).wrapping_sub(1);
                let packet = Packet { head, payload: packet.payload, time: now + self.peer };
                self.forwards.push(Forward { target, place: None, packet });
                return;
            }
            Head::Completion { .. } | Head::Posted { .. } | Head::NonPosted { .. } => (), // never towards the host
        }
        self.pool.give(packet.payload);
    }

    /// The other card's BAR that a request goes to, and the offset of its first dword there.
    fn peer(&self, addr: u64, dwords: u16, first_be: u8, last_be: u8, write: bool) -> Option<(Arc<SharedBar>, u32)> {
        let (from, bytes) = extent(addr, dwords, first_be, last_be);
        let (place, offset) = self.port.memory.peer(from, bytes.into(), write)?;
        Some((place, (offset - (from - addr)) as u32))
    }

    #[allow(clippy::too_many_arguments)] // the fields of one header
    fn host_answer(&mut self, now: u64, tag: u16, count: u16, dwords: u16, lower: u8, status: u8, data: &[u32]) -> Result<(), String> {
        let slot = self.reads.get_mut(usize::from(tag)).and_then(Option::as_mut).filter(|read| read.answer.is_none());
        let read = match slot {
            Some(read) => read,
            None if self.link_lost => return Ok(()),
            None => return Err(format!("the card answers a read with tag {tag}, which the host did not ask for")),
        };
        let mut value = [u32::MAX; 16];
        if status == CPL_OK {
            let expected = (read.bytes, ((read.offset & 3) as u16 + read.bytes).div_ceil(4), (read.offset & 0x7f) as u8);
            if (count, dwords, lower) != expected {
                return Err(format!(
                    "the card answers a read of {} bytes at offset {:#x} with byte count {count}, {dwords} dwords, lower address {lower:#x}; \
                     due are {}, {} and {:#x}",
                    read.bytes, read.offset, expected.0, expected.1, expected.2
                ));
            }
            value[..data.len()].copy_from_slice(data);
        }
        if read.abandoned {
            self.reads[usize::from(tag)] = None;
        } else {
            read.answer = Some((now + self.register, value));
        }
        Ok(())
    }

    /// A packet from another card, at this card's root port. It comes back if it cannot go on.
    pub fn take_from_peer(&mut self, mut packet: Packet) -> Option<Packet> {
        if let Head::Completion { tag, dwords, byte_count, lower_addr, status, .. } = packet.head {
            if status != CPL_OK || u32::from(byte_count) <= u32::from(dwords) * 4 - u32::from(lower_addr & 3) {
                self.port.free_tag(tag, false);
            }
        }
        let is_request = matches!(packet.head, Head::Posted { .. } | Head::NonPosted { .. });
        if is_request && (self.input.config.link_up == 0 || self.stopped.is_some()) {
            return Some(packet);
        }
        if let Some(fabric) = &mut self.fabric {
            packet.time = fabric.send(packet.time, packet.wire_bytes());
        }
        match &mut self.coming {
            Some(coming) if is_request => coming.push_back(packet),
            _ => self.receive.push(packet),
        }
        None
    }

    /// Size of a BAR in bytes.
    pub fn bar_bytes(&self, bar: u8) -> u64 {
        self.bars.get(usize::from(bar)).copied().unwrap_or(0)
    }

    /// A store of the program, of whole dwords but for the byte enables, at `now`.
    pub fn store(&mut self, now: u64, bar: u8, offset: u32, data: &[u32], first_be: u8, last_be: u8) {
        let mut payload = self.pool.take();
        payload.extend_from_slice(data);
        let head = Head::Posted { bar, offset, dwords: data.len() as u16, first_be, last_be, requester: HOST };
        self.receive.push(Packet { head, payload, time: now + self.register });
    }

    /// A load of the program at `now`, of bytes within a line; returns the tag under which the answer will be, or none if too many are under way.
    pub fn load(&mut self, now: u64, bar: u8, offset: u32, bytes: usize) -> Option<u16> {
        let tag = self.reads.iter().position(Option::is_none)?;
        self.reads[tag] = Some(HostRead { offset, bytes: bytes as u16, answer: None, abandoned: false });
        let (dwords, first_be, last_be) = packet_enables((offset & 3) as usize, bytes);
        let head = Head::NonPosted { bar, offset: offset & !3, dwords, first_be, last_be, requester: HOST, tag: tag as u16 };
        self.receive.push(Packet { head, payload: Vec::new(), time: now + self.register });
        Some(tag as u16)
    }

    /// When the answer to a load is at the processor, and its value.
    pub fn answer(&self, tag: u16) -> Option<(u64, Line)> {
        self.reads[usize::from(tag)].and_then(|read| read.answer)
    }

    /// The program has its answer.
    pub fn finish_load(&mut self, tag: u16) {
        self.reads[usize::from(tag)] = None;
    }

    /// The program does not wait any longer. The tag stays taken until the answer comes, which must not meet another read.
    pub fn abandon_load(&mut self, tag: u16) {
        if let Some(read) = &mut self.reads[usize::from(tag)] {
            read.abandoned = true;
        }
    }

    /// A write of the card, if it is an interrupt: by its address. Memory of a program that has the table comes first.
    fn take_message(&mut self, address: u64, first_be: u8, payload: &[u32], now: u64) -> bool {
        let Some(messages) = &mut self.messages else {
            let ours = INTERRUPT_WINDOW.contains(&address);
            if ours && !self.mute {
                self.fire(payload[0] as usize, now);
            }
            return ours;
        };
        let interrupt = messages.recognise(address, first_be, payload).filter(|_| !self.port.memory.permits(address, 4, true));
        let Some(interrupt) = interrupt else { return false };
        if self.mute {
            return true;
        }
        let taken = messages.came(interrupt);
        self.statistics.interrupts += u64::from(taken);
        taken
    }

    fn fire(&mut self, vector: usize, now: u64) {
        self.statistics.interrupts += 1;
        let (delivered, signal) = (now + self.delivery, now + self.delivery + self.wake);
        let Some(vector) = self.vectors.get_mut(vector) else {
            self.statistics.refused_writes += 1;
            if self.statistics.refused_writes <= WARNINGS {
                self.model.warn(&format!("{}: the card fires vector {vector}, which is not enabled\n", self.name));
            }
            return;
        };
        vector.delivered.get_or_insert(delivered);
        if vector.event.is_some() && vector.signal.is_none() {
            vector.signal = Some(signal);
            self.next_signal = self.next_signal.min(signal);
        }
    }

    fn signal(&mut self, now: u64) {
        self.next_signal = u64::MAX;
        for vector in &mut self.vectors {
            match (vector.signal, &vector.event) {
                (Some(time), Some(event)) if time <= now => {
                    towpath_system::event::signal(event);
                    vector.signal = None;
                    vector.armed = false;
                }
                (Some(time), _) => self.next_signal = self.next_signal.min(time),
                (None, _) => (),
            }
        }
    }

    /// An eventfd was requested after the vector had fired: it is signalled as soon as it would have been.
    pub fn catch_up(&mut self, vector: usize) {
        if let Some(delivered) = self.vectors[vector].delivered {
            self.vectors[vector].signal = Some(delivered + self.wake);
            self.next_signal = self.next_signal.min(delivered + self.wake);
        }
    }

    /// A fault of the whole card begins; it ends by itself.
    pub fn disturb(&mut self, now: u64, fault: Fault) {
        match fault {
            Fault::LinkDown { ns, forgets } => {
                self.set_link(now, false);
                self.off_at = forgets.then_some(now + OFF_EDGES * self.core.period());
                self.link_back = Some((now + ns * 1000).max(self.off_at.unwrap_or(0) + OFF_EDGES * self.core.period()));
            }
            Fault::MasteringOff(ns) => {
                self.set_bus_master(false);
                self.mastering_back = Some(now + ns * 1000);
            }
            _ => (),
        }
    }

    /// Whether bus mastering is on, or off for a time only.
    pub fn is_bus_master(&self) -> bool {
        self.input.config.bus_master != 0 || self.mastering_back.is_some()
    }

    /// Allow or forbid requests of the card.
    pub fn set_bus_master(&mut self, enabled: bool) {
        self.input.config.bus_master = u8::from(enabled);
        self.mastering_back = None;
    }

    /// Whether the link is down only for a time.
    pub fn link_returns(&self) -> bool {
        self.link_back.is_some()
    }

    /// Take the link down or up. What is on its way when it goes down is lost.
    pub fn set_link(&mut self, now: u64, up: bool) {
        self.input.config.link_up = u8::from(up);
        (self.link_back, self.off_at) = (None, None);
        // What the card sends while the link is down is lost, too, up to the last moment.
        self.transmit.clear();
        self.port.clear(now);
        if up {
            self.input.reset = 0;
        } else {
            self.link_lost = true;
            for slot in &mut self.reads {
                match slot {
                    Some(read) if read.abandoned => *slot = None,
                    Some(read) => read.answer = read.answer.or(Some((0, [u32::MAX; 16]))),
                    None => (),
                }
            }
            self.receive.clear();
            self.coming.iter_mut().for_each(VecDeque::clear);
            self.end_shares();
            self.stray = self.stray.take().filter(|(_, edge)| *edge >= STRAY_EDGES);
            self.combining.clear();
        }
    }

    /// The card forgets everything, until the link comes back.
    fn switch_off(&mut self) {
        self.off_at = None;
        self.input.reset = 1;
        self.input.config.msix_enable = 0;
        self.output = Output::default();
        self.transmit.break_off();
        self.receive.break_off();
        self.end_shares();
        self.stray = None;
        self.forget_interrupts();
    }

    /// Writes of other cards that were on their way may be lost.
    pub fn end_shares(&mut self) {
        for bar in self.shared.drain(..).filter_map(|bar| bar.upgrade()) {
            bar.lost.store(true, Ordering::Release);
        }
    }

    /// A part of one of its BARs is for other cards, too.
    pub fn share(&mut self, bar: &Arc<SharedBar>) {
        self.shared.retain(|bar| bar.strong_count() > 0);
        self.shared.push(Arc::downgrade(bar));
    }

    /// After a reset: no interrupt from before is delivered.
    pub fn forget_interrupts(&mut self) {
        for vector in &mut self.vectors {
            (vector.delivered, vector.signal) = (None, None);
        }
        if let Some(messages) = &mut self.messages {
            messages.forget();
        }
    }
}

/// A completion's beat on its way into the card.
fn show(beat: &mut crate::model::Completion, packet: &Packet, data: &[u32], last: bool) {
    let Head::Completion { tag, dwords, byte_count, lower_addr, status, poisoned } = packet.head else { return };
    (beat.tag, beat.dwords, beat.byte_count, beat.lower_addr) = (tag, dwords, byte_count, lower_addr);
    (beat.status, beat.poisoned, beat.last, beat.valid) = (status, u8::from(poisoned), u8::from(last), 1);
    beat.data[..data.len()].copy_from_slice(data);
}

/// The answer to a packet between cards that no BAR claims: a read is an unsupported request, a write is dropped.
pub fn refuse(packet: &Packet, latency: u64) -> Option<Forward> {
    let Head::NonPosted { requester, tag, .. } = packet.head else { return None };
    let head = Head::Completion { tag, dwords: 0, byte_count: 4, lower_addr: 0, status: CPL_UNSUPPORTED_REQUEST, poisoned: false };
    let target = usize::from(requester >> 8).wrapping_sub(1);
    let packet = Packet { head, payload: Vec::new(), time: packet.time + latency };
    Some(Forward { target, place: None, packet })
}

fn broken(what: &str, addr: u64, dwords: u16, why: &str) -> String {
    format!("the card breaks the rules of PCI Express with its {what} of {dwords} dwords at {addr:#x}: {why}")
}
