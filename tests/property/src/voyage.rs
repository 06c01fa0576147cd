// SPDX-License-Identifier: Apache-2.0
//! One voyage of a storm: the driver opened anew, random traffic on all channels, and each descriptor judged as it ends. How a voyage ends is in
//! [`crate::reckoning`].

use crate::contents;
use crate::ledger::{Cause, Chunk, Ledger, Part};
use crate::random::mix;
use crate::storm::{status_of, text, Storm};
use crate::watch::Watch;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use towpath::Status;
use towpath_bus::{Access, Bus};
use towpath_contract as contract;
use towpath_driver::{Channel, ChannelOptions, Completion, Direction, Driver, Error, Message, Notify, Piece, Registration, Ticket};
use towpath_sim::{Fault, Injection};
use towpath_userspace::UserDriver;

pub(crate) const LARGEST: usize = 16 << 10;
const SLOT: usize = LARGEST + (6 << 10);
const PAGE: usize = 4096;
const PIECES: usize = 14;
const UNTOUCHED: u8 = 0x5a;
/// Steps without anything that ended, after which a run is stuck.
const PATIENCE: u32 = 4000;

/// Whose memory it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    lane: usize,
    way: usize,
    /// One of its slots; otherwise the table of a descriptor.
    slot: Option<usize>,
    work: u64,
}

/// A descriptor in flight.
pub(crate) struct Work {
    pub(crate) number: u64,
    pub(crate) ticket: Ticket,
    pub(crate) slot: usize,
    /// Offsets in the slot, and lengths.
    pub(crate) pieces: Vec<(usize, usize)>,
    pub(crate) bytes: u64,
    pub(crate) part: Part,
    pub(crate) submitted: u64,
    /// Faults that hit its reads: their places in the log, how many bytes come before, and whether it was a read of the table.
    pub(crate) hits: Vec<(usize, u64, bool)>,
    pub(crate) cancelling: bool,
}

impl Work {
    /// How many of its bytes come before an offset in its slot.
    fn before(&self, offset: usize) -> Option<u64> {
        let mut sum = 0;
        for (begin, bytes) in &self.pieces {
            if (*begin..begin + bytes).contains(&offset) {
                return Some((sum + offset - begin) as u64);
            }
            sum += bytes;
        }
        None
    }
}

/// Memory for one descriptor, from the beginning of a page on: where it lies decides how reads are cut, and a run must repeat.
pub(crate) struct Slot {
    memory: Vec<u8>,
    from: usize,
    registration: Option<Arc<Registration>>,
}

impl Slot {
    fn new() -> Slot {
        let memory = vec![UNTOUCHED; SLOT + PAGE];
        let from = memory.as_ptr().align_offset(PAGE);
        Slot { memory, from, registration: None }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.from..self.from + SLOT]
    }
}

/// One direction of a lane.
pub(crate) struct Way {
    pub(crate) channel: Box<dyn Channel>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) flight: VecDeque<Work>,
    pub(crate) depth: usize,
}

pub(crate) struct Lane {
    /// To the card and, if the core answers, back.
    pub(crate) ways: Vec<Way>,
    pub(crate) ledger: Ledger,
    /// The place of the next byte to send, and whether a message is open as far as was submitted.
    pub(crate) planned: u64,
    pub(crate) open: bool,
}

pub(crate) struct Voyage<'a> {
    pub(crate) watch: Arc<Watch<Owner>>,
    pub(crate) driver: UserDriver,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) storm: &'a mut Storm,
    pub(crate) page_shift: u32,
    pub(crate) next_work: u64,
    pub(crate) idle_steps: u32,
}

impl<'a> Voyage<'a> {
    /// Open the driver and all channels. A calm voyage takes the same time whenever it is made.
    pub(crate) fn set_out(storm: &'a mut Storm, seed: u64, calm: bool) -> Result<Voyage<'a>, String> {
        let watch = Arc::new(Watch::new(storm.sim.clone(), seed).map_err(text)?);
        let driver = UserDriver::open(watch.clone()).map_err(text)?;
        let channels = driver.info().channels.clone();
        let of = |direction| channels.iter().filter(move |channel| channel.direction == direction);
        let mut back = of(Direction::C2h);
        let mut lanes = Vec::new();
        storm.diary.note(format!("voyage with seed {seed}"));
        for (number, to) in of(Direction::H2c).enumerate() {
            let mut ways = Vec::new();
            for (way, info) in std::iter::once(to).chain(back.next()).enumerate() {
                // One that polls meets the ring at any moment, one that sleeps tests the interrupt.
                let notify = if calm || storm.random.one_in(2) { Notify::Poll } else { Notify::Interrupt };
                let channel = driver.open_channel(info.index, ChannelOptions { notify, announce: true }).map_err(text)?;
                let depth = usize::from(info.queue_depth);
                let mut slots: Vec<Slot> = (0..=depth).map(|_| Slot::new()).collect();
                for (number_of, slot) in slots.iter_mut().enumerate() {
                    watch.own(Some(Owner { lane: number, way, slot: Some(number_of), work: 0 }));
                    let access = if way == 0 { Access::Read } else { Access::Write };
                    let memory = slot.bytes();
                    // SAFETY: the slots live as long as the driver's mappings matter: the channels close before them (see `drop`).
                    slot.registration = Some(unsafe { driver.register(memory.as_mut_ptr(), memory.len(), access).map_err(text)? });
                }
                ways.push(Way { channel, slots, flight: VecDeque::new(), depth });
            }
            let ledger = Ledger::new(mix(seed ^ (number as u64) << 32));
            lanes.push(Lane { ways, ledger, planned: 0, open: false });
        }
        watch.own(None);
        let shift = contract::DISCOVERY_PAGE_SHIFT_OFFSET;
        let page_shift = watch.read32(contract::BAR_DEVICE, shift & !3).map_err(text)? >> (8 * (shift & 3)) & 0xff;
        let voyage = Voyage { watch, driver, lanes, storm, page_shift, next_work: 0, idle_steps: 0 };
        let quarantine = voyage.storm.random.pick(&[2, 2, 2, 3, 3, 16]);
        voyage.watch.write32(contract::BAR_DEVICE, voyage.card(contract::CARD_QUARANTINE_OFFSET), quarantine).map_err(text)?;
        voyage.driver.write_register(voyage.counters().0, 0).map_err(text)?;
        Ok(voyage)
    }

    pub(crate) fn card(&self, register: u64) -> u64 {
        (contract::PAGE_CARD << self.page_shift) + register
    }

    /// Where the core counts, of the last lane: a register of which any write clears all, and those of bytes and messages.
    pub(crate) fn counters(&self) -> (u32, u32, u32) {
        if self.driver.info().core.starts_with("loopback") {
            (0x08, 0x0c, 0x08)
        } else {
            (0x00, 0x00, 0x08)
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.watch.now()
    }

    pub(crate) fn note(&mut self, line: String) {
        let now = self.now();
        self.storm.diary.note(format!("{now} ns: {line}"));
    }

    // -------------------------------------------------------------------------------------------- steps

    /// One random step; with `ending`, only such as bring everything to its end.
    pub(crate) fn step(&mut self, ending: bool) -> Result<(), String> {
        if !ending && self.storm.random.one_in(3) && self.storm.planned < self.storm.seen + 12 {
            let (ahead, fault) = (self.storm.random.below(40) as u64, self.storm.fault());
            self.watch.sim.inject(ahead, fault).map_err(text)?;
            self.storm.planned += 1;
        }
        let lane = self.storm.random.below(self.lanes.len());
        let ways = self.lanes[lane].ways.len();
        self.idle_steps += 1;
        if self.idle_steps > PATIENCE {
            let states: Vec<String> = self.lanes.iter().map(|lane| self.lane_state(lane)).collect();
            return Err(format!("nothing goes on any more: {}", states.join("; ")));
        }
        match self.storm.random.below(100) {
            0..35 if !ending => self.send(lane),
            35..70 if ways == 2 => self.receive(lane),
            70 if !ending && self.storm.random.one_in(3) => self.cancel(lane, 0),
            71 if !ending && self.storm.random.one_in(3) && ways == 2 => self.cancel(lane, 1),
            72 if !ending && self.storm.random.one_in(6) => self.forbid(),
            73 if !ending => self.flood(lane),
            74..80 => {
                let ns = self.storm.random.below(3000) as u64;
                self.watch.sim.pass(ns).map_err(text)
            }
            80..90 => {
                let way = self.storm.random.below(ways);
                self.wait(lane, way)
            }
            _ => (0..ways).try_for_each(|way| self.collect(lane, way)),
        }
    }

    /// Stores to one channel's inline or doorbell page at the link's rate, where nothing listens, and behind them a descriptor: no other page may
    /// lose a write by them.
    fn flood(&mut self, lane: usize) -> Result<(), String> {
        const QUIET: usize = 2048; // offset in a page behind all registers and slots, and bytes from there on
        let random = &mut self.storm.random;
        let (way, page) = (random.below(self.lanes[lane].ways.len()), random.between(1, 2) as u64);
        let (bytes, rounds, line) = (8 * random.between(8, QUIET / 8), random.between(1, 6), random.pick(&[8, 64, 64, QUIET]));
        let index = self.lanes[lane].ways[way].channel.info().index;
        let first = contract::PAGE_CHANNELS + contract::PAGES_PER_CHANNEL * u64::from(index);
        let base = ((first + page) << self.page_shift) + QUIET as u64;
        self.note(format!("lane {lane}.{way}: {rounds} times {bytes} bytes stored to page {page} of its channel, by {line}"));
        let noise = vec![0xa5; bytes];
        for _ in 0..rounds {
            for (number, part) in noise.chunks(line).enumerate() {
                self.watch.write_combining(contract::BAR_DEVICE, base + (number * line) as u64, part).map_err(text)?;
            }
        }
        self.watch.fence().map_err(text)?;
        let other = self.storm.random.below(self.lanes.len());
        self.send(other)
    }

    pub(crate) fn lane_state(&self, lane: &Lane) -> String {
        let flights: Vec<Vec<u64>> = lane.ways.iter().map(|way| way.flight.iter().map(|work| work.bytes).collect()).collect();
        format!("{}: in flight {flights:?}; {}", lane.ways[0].channel.info().name, lane.ledger.state())
    }

    /// A place for `bytes` bytes in a slot: one piece or several.
    fn place(&mut self, bytes: usize) -> Vec<(usize, usize)> {
        let random = &mut self.storm.random;
        if bytes < 2 || !random.one_in(3) {
            let spare = SLOT - bytes - 128;
            return if bytes == 0 { Vec::new() } else { vec![(64 + random.below(spare.min(4096)), bytes)] };
        }
        let mut cuts: BTreeSet<usize> = (1..random.between(2, PIECES)).map(|_| random.between(1, bytes - 1)).collect();
        cuts.extend([0, bytes]);
        let cuts: Vec<usize> = cuts.into_iter().collect();
        let mut at = 64 + random.below(2048);
        let mut pieces = Vec::new();
        for pair in cuts.windows(2) {
            at += 1 + random.below(200);
            pieces.push((at, pair[1] - pair[0]));
            at += pair[1] - pair[0];
        }
        pieces
    }

    pub(crate) fn submit(
        &mut self,
        lane: usize,
        way: usize,
        pieces: Vec<(usize, usize)>,
        message: Message,
        part: Part,
    ) -> Result<(), String> {
        self.account()?; // while it is known whose each slot is
        let bytes = pieces.iter().map(|piece| piece.1 as u64).sum();
        let work = self.next_work;
        let now = self.now();
        let Lane { ledger, ways, .. } = &mut self.lanes[lane];
        let Way { slots, flight, .. } = &mut ways[way];
        let Some(slot) = (0..slots.len()).find(|slot| flight.iter().all(|work| work.slot != *slot)) else { return Ok(()) };
        let registration = slots[slot].registration.clone();
        let registered = registration.as_deref();
        let memory = slots[slot].bytes();
        if way == 0 {
            let mut position = part.begin;
            for (at, bytes) in &pieces {
                contents::fill(ledger.key(), position, &mut memory[*at..at + bytes]);
                position += *bytes as u64;
            }
        } else if let Some(at) = memory.iter().position(|byte| *byte != UNTOUCHED) {
            return Err(format!("the card wrote byte {at} of a buffer after its descriptor had ended"));
        }
        let list: Vec<Piece> = pieces
            .iter()
            .map(|(at, bytes)| Piece { memory: memory[*at..].as_mut_ptr(), bytes: *bytes, registration: registered })
            .collect();
        self.watch.own(Some(Owner { lane, way, slot: None, work }));
        // SAFETY: the slot is used by nobody else until the descriptor has ended, and lives as long as the channel.
        let submitted = unsafe { self.lanes[lane].ways[way].channel.submit(&list, &message, None) };
        self.watch.own(None);
        match submitted {
            Ok(ticket) => {
                self.next_work += 1;
                let end = if message.end && way == 0 { ", end" } else { "" };
                self.note(format!("lane {lane}.{way}: {work} submitted, {pieces:x?}{end}"));
                let submitted = now;
                let work = Work { number: work, ticket, slot, pieces, bytes, part, submitted, hits: Vec::new(), cancelling: false };
                let Lane { planned, open, ways, .. } = &mut self.lanes[lane];
                ways[way].flight.push_back(work);
                if way == 0 {
                    *planned += bytes;
                    *open = !message.end && (*open || bytes > 0);
                }
                self.idle_steps = 0;
                Ok(())
            }
            Err(Error::QueueFull { .. }) => self.collect(lane, way),
            Err(error) => Err(text(error)),
        }
    }

    fn send(&mut self, lane: usize) -> Result<(), String> {
        let random = &mut self.storm.random;
        let bytes = match random.below(20) {
            0 => 0,
            1..4 => random.between(1, 64),
            _ => random.length(LARGEST.ilog2()).min(LARGEST),
        };
        let end = random.one_in(2);
        let Lane { planned, open, ways, .. } = &self.lanes[lane];
        if ways[0].flight.len() + 3 > ways[0].depth {
            return self.collect(lane, 0);
        }
        let (begin, begins) = (*planned, !*open && (bytes > 0 || end));
        let mut message = Message { end, ..Message::default() };
        if begins && random.one_in(3) {
            (message.offset, message.user) = (random.bits(), random.bits() as u32);
            message.length = random.one_in(2).then_some(bytes as u64);
        }
        // Only the first lane's core has ports for them.
        let attributes = if begins && lane == 0 { (message.offset as u32, message.user) } else { (0, 0) };
        let pieces = self.place(bytes);
        self.submit(lane, 0, pieces, message, Part { begin, bytes: bytes as u64, end, attributes })
    }

    fn receive(&mut self, lane: usize) -> Result<(), String> {
        let random = &mut self.storm.random;
        let capacity = match self.lanes[lane].ledger.pending() {
            Some(bytes) if random.one_in(2) => (bytes as usize + random.pick(&[0, 0, 1, 40])).min(LARGEST),
            _ if random.one_in(30) => 0,
            _ => random.length(LARGEST.ilog2()).min(LARGEST),
        };
        if self.lanes[lane].ways[1].flight.len() >= self.lanes[lane].ways[1].depth {
            return self.collect(lane, 1);
        }
        let pieces = self.place(capacity);
        self.submit(lane, 1, pieces, Message::default(), Part::default())
    }

    pub(crate) fn wait(&mut self, lane: usize, way: usize) -> Result<(), String> {
        let random = &mut self.storm.random;
        let timeout = Duration::from_nanos(random.between(200, 5000) as u64);
        let way_ = &self.lanes[lane].ways[way];
        let Some(front) = way_.flight.front() else { return Ok(()) };
        match way_.channel.wait(front.ticket, Some(timeout).into()) {
            Ok(completion) => self.ended(lane, way, completion)?,
            Err(error) if error.is_timeout() => (),
            Err(error) => return Err(text(error)),
        }
        self.collect(lane, way)
    }

    /// Everything that has ended.
    pub(crate) fn collect(&mut self, lane: usize, way: usize) -> Result<(), String> {
        while let Some(front) = self.lanes[lane].ways[way].flight.front() {
            match self.lanes[lane].ways[way].channel.try_wait(front.ticket).map_err(text)? {
                Some(completion) => self.ended(lane, way, completion)?,
                None => break,
            }
        }
        Ok(())
    }

    pub(crate) fn cancel(&mut self, lane: usize, way: usize) -> Result<(), String> {
        self.note(format!("lane {lane}.{way}: cancel"));
        let way_ = &mut self.lanes[lane].ways[way];
        way_.flight.iter_mut().for_each(|work| work.cancelling = true);
        way_.channel.cancel_all().map_err(text)?;
        self.collect(lane, way)?;
        match self.lanes[lane].ways[way].flight.len() {
            0 if way == 0 => {
                // The stream goes on where it was stopped.
                let Lane { ledger, planned, open, .. } = &mut self.lanes[lane];
                (*planned, *open) = (ledger.position, ledger.is_open());
                Ok(())
            }
            0 => Ok(()),
            left => Err(format!("{left} descriptors have not ended after a cancel")),
        }
    }

    /// Bus mastering off, some time, and on again.
    fn forbid(&mut self) -> Result<(), String> {
        if self.storm.outages.last().is_some_and(|(_, to)| *to > self.now()) {
            return Ok(());
        }
        let ns = self.storm.random.between(50, 20_000) as u64;
        self.note(format!("bus mastering off for {ns} ns"));
        let from = self.now();
        self.watch.sim.disturb(Fault::MasteringOff(ns)).map_err(text)?;
        // An outage for as long as the card can tell.
        self.storm.outages.push((from, from + ns + 2000));
        Ok(())
    }

    // -------------------------------------------------------------------------------------------- judgement

    /// Lay each new fault at the door of the descriptor whose read it hit.
    fn account(&mut self) -> Result<(), String> {
        let new = self.watch.sim.injections(self.storm.seen).map_err(text)?;
        for entry in new {
            let place = self.storm.seen;
            self.storm.seen += 1;
            if entry.fault.of_the_card() {
                continue;
            }
            self.note(format!("fault {place}: {entry:?}"));
            let (owner, offset) = self.watch.find(entry.address).ok_or(format!("nobody owns what was read: {entry:?}"))?;
            let flight = &mut self.lanes[owner.lane].ways[owner.way].flight;
            let found = match owner.slot {
                Some(slot) => flight.iter_mut().find(|work| work.slot == slot),
                None => flight.iter_mut().find(|work| work.number == owner.work),
            };
            let work = found.ok_or(format!("the card reads for a descriptor that has ended: {entry:?}"))?;
            let before = match owner.slot {
                Some(_) => work.before(offset as usize),
                None => Some(work.pieces.iter().take(offset as usize / contract::LIST_ENTRY_BYTES).map(|piece| piece.1 as u64).sum()),
            };
            let before = before.ok_or(format!("the card reads what no descriptor names: {entry:?}"))?;
            work.hits.push((place, before, owner.slot.is_none()));
        }
        Ok(())
    }

    /// The first fault in a descriptor's order that makes it fail: where, how, and in its table or its data.
    fn first_hit(&self, work: &Work) -> Result<Option<(u64, Status, bool)>, String> {
        let mut first: Option<(u64, Status, bool)> = None;
        for (place, before, table) in &work.hits {
            let entry = self.watch.sim.injections(*place).map_err(text)?[0];
            if let Some(status) = status_of(&entry).filter(|_| entry.happened) {
                // At the same place, the table was read first.
                if first.is_none_or(|(at, _, of_table)| (*before, !*table) < (at, !of_table)) {
                    first = Some((*before, status, *table));
                }
            }
        }
        Ok(first)
    }

    fn ended(&mut self, lane: usize, way: usize, completion: Completion) -> Result<(), String> {
        self.account()?;
        let work = self.lanes[lane].ways[way].flight.pop_front().ok_or("a completion when nothing was in flight")?;
        let Completion { ticket, status, bytes, offset, user, .. } = completion;
        let first = self.first_hit(&work)?;
        self.note(format!("lane {lane}.{way}: {} of {} bytes ended: {status}, {bytes} bytes; faults {first:?}", work.number, work.bytes));
        self.idle_steps = 0;
        if ticket != work.ticket {
            return Err(format!("{completion:?} is not of the oldest ticket"));
        }
        *self.storm.report.ends[way].entry(status.to_string()).or_default() += 1;
        let now = self.now();
        let barred = self.storm.outages.iter().any(|(from, to)| *from <= now && work.submitted <= *to);
        let hit_at = first.map_or(work.bytes, |hit| hit.0);
        let fits = match status {
            Status::Done => bytes == work.bytes && first.is_none(),
            Status::EndOfMessage => way == 1 && bytes <= work.bytes && bytes <= hit_at,
            Status::Cancelled => work.cancelling && bytes <= hit_at && first.is_none_or(|hit| hit.2),
            Status::BusMasteringOff => barred && bytes <= hit_at && first.is_none_or(|hit| hit.2),
            status => first.is_some_and(|(at, hit, _)| status == hit && bytes == at),
        };
        if !fits {
            let all: Vec<Injection> =
                work.hits.iter().flat_map(|hit| self.watch.sim.injections(hit.0).unwrap_or_default().into_iter().next()).collect();
            return Err(format!(
                "lane {lane}.{way}: descriptor {} of {} bytes, {}submitted at {} ns, ended with status \"{status}\" and {bytes} bytes; the first \
                 fault that hit it: {first:?} of {all:?}",
                work.number, work.bytes, if work.cancelling { "cancelled, " } else { "" }, work.submitted
            ));
        }
        if way == 0 {
            let cause = match (status, first) {
                (Status::Done | Status::Cancelled, _) => Cause::None,
                (Status::BusMasteringOff, _) => Cause::Card,
                (_, Some((_, _, true))) => Cause::Table,
                _ => Cause::Data,
            };
            let Lane { ledger, ways, .. } = &mut self.lanes[lane];
            ledger.sent(&work.part, bytes, status == Status::Cancelled, work.cancelling, cause);
            if ways.len() == 1 {
                ledger.forget();
            }
        } else {
            let data = self.empty_slot(lane, &work, bytes)?;
            self.storm.report.bytes += bytes;
            self.lanes[lane].ledger.came(Chunk { capacity: work.bytes, status, data, attributes: (offset, user) });
        }
        let ledger = &mut self.lanes[lane].ledger;
        ledger.judge().map_err(|what| format!("lane {lane}: {what}; {}", ledger.state()))
    }

    /// What has come into a slot; the rest of it must be as it was, and all of it is so afterwards.
    fn empty_slot(&mut self, lane: usize, work: &Work, bytes: u64) -> Result<Vec<u8>, String> {
        let memory = self.lanes[lane].ways[1].slots[work.slot].bytes();
        let mut data = Vec::with_capacity(bytes as usize);
        for (at, length) in &work.pieces {
            let take = (*length).min(bytes as usize - data.len());
            data.extend_from_slice(&memory[*at..at + take]);
            memory[*at..at + take].fill(UNTOUCHED);
        }
        match memory.iter().position(|byte| *byte != UNTOUCHED) {
            Some(at) => Err(format!("lane {lane}: byte {at} of a buffer was written, {bytes} bytes into {:x?}", work.pieces)),
            None => Ok(data),
        }
    }
}

impl Drop for Voyage<'_> {
    fn drop(&mut self) {
        for Way { channel, slots, .. } in self.lanes.drain(..).flat_map(|lane| lane.ways) {
            drop(channel); // the card touches none of the memory any more
            let mut registrations = slots.iter().filter_map(|slot| slot.registration.as_ref());
            if !registrations.all(|registration| self.driver.unregister(registration).is_ok()) {
                std::mem::forget(slots); // it may, after all
            }
        }
    }
}
