// SPDX-License-Identifier: Apache-2.0
//! One way to the card and, if the core answers, back: chooses what to do next, does it through the public API, and holds the outcome
//! against
//! the reference.
//!
//! Where a channel to the card has no channel back, its core is `tests/cores/loop3x2`, which adds the bytes up in registers.

mod burst;

use crate::contents;
use crate::random::{mix, Random};
use crate::reference::{Attributes, Ending, Reference};
use crate::run::Shared;
use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::time::Duration;
use towpath::{Buffer, Completion, Device, Error, Message, Receiver, Sender, Status, Ticket};

const PAGE: usize = 4096;
const LARGEST: usize = 1 << 20;
/// Room for the largest transfer at any place in its first pages, for gaps between its pieces, and for guards around.
const BUFFER: usize = LARGEST + 5 * PAGE;
/// Bytes around a buffer's part that nobody may touch, and what they are.
const GUARD: usize = 64;
const UNTOUCHED: u8 = 0xc3;
const PIECES: usize = 12;
/// Completions that are collected at once: more than a queue holds.
const QUEUE: usize = 1024;

/// What a lane does more or less often, chosen once a run.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// A part ends its message in one of so many cases.
    end_one_in: usize,
    /// Cancels among a thousand steps, in each direction.
    cancels: [usize; 2],
    /// Blocking calls among a hundred steps, in each direction.
    blocking: [usize; 2],
    /// Descriptors in flight at most, in each direction.
    depth: [usize; 2],
    /// One of so many lengths is at most 64.
    short_one_in: usize,
}

impl Habits {
    /// Random ones.
    pub fn new(random: &mut Random) -> Habits {
        Habits {
            end_one_in: random.pick(&[1, 2, 2, 5]),
            cancels: [random.pick(&[0, 2, 10]), random.pick(&[0, 2, 10])],
            blocking: [random.pick(&[0, 5, 10]), random.pick(&[0, 3, 6])],
            depth: [random.pick(&[1, 3, 100]), random.pick(&[2, 4, 100])],
            short_one_in: random.pick(&[10, 100]),
        }
    }
}

/// One transfer's memory, used by one descriptor at a time.
struct Slot {
    buffer: Buffer,
    /// What a cancelled receive left here; still so when the memory is used again, or the card wrote where it must not.
    left: Option<Left>,
}

#[derive(Clone, Copy)]
struct Left {
    start: usize,
    capacity: usize,
    bytes: usize,
    position: u64,
}

struct Flight {
    ticket: Ticket,
    slot: usize,
    places: usize,
    start: usize,
    bytes: usize,
}

struct Back {
    receiver: Receiver,
    slots: Vec<Slot>,
    flight: VecDeque<Flight>,
    depth: usize,
    completed: u64,
}

/// See the module.
pub struct Lane {
    number: usize,
    sender: Sender,
    slots: Vec<Slot>,
    flight: VecDeque<Flight>,
    depth: usize,
    back: Option<Back>,
    reference: Reference,
    habits: Habits,
    /// Attributes of the message to begin, once chosen.
    next: Option<Attributes>,
    turn: [usize; 2],
    transfers: u64,
    /// Of bytes that the card has taken, where nothing comes back.
    sum: u32,
    /// Events of the lane's interrupt: those from before, and those that it has caused.
    raised: u32,
    scale: u32,
    cut: bool,
}

fn slots(device: &Device, count: usize) -> Result<Vec<Slot>, Error> {
    (0..count).map(|_| Ok(Slot { buffer: device.allocate(BUFFER)?, left: None })).collect()
}

fn text(error: Error) -> String {
    error.to_string()
}

/// A random place of `bytes` bytes in a buffer: at every offset to 64 in turn, around the edges of pages, anywhere.
fn place(random: &mut Random, turn: &mut usize, bytes: usize, spare: usize) -> usize {
    let pages = (BUFFER - bytes - spare - GUARD) / PAGE - 1;
    let page = PAGE * random.between(1, pages.clamp(1, 16));
    let near = random.below(33);
    match random.below(5) {
        0 | 1 => {
            *turn += 1;
            page + *turn % 64
        }
        2 => page + near - 16,
        3 => page + PAGE - 1 - (bytes + 15 + PAGE - near) % PAGE, // ends around an edge
        _ => page + random.below(PAGE),
    }
    .min(BUFFER - bytes - spare - GUARD)
}

/// Ranges of a buffer that hold `bytes` bytes in several pieces, ascending, from `start` on, with gaps of up to 1 KiB in all.
fn pieces(random: &mut Random, start: usize, bytes: usize) -> Vec<(usize, usize)> {
    let count = random.between(2, PIECES);
    let mut cuts: Vec<usize> =
        (1..count).map(|_| if random.one_in(3) { random.below(bytes.min(70) + 1) } else { random.below(bytes + 1) }).collect();
    cuts.extend([0, bytes]);
    cuts.sort_unstable();
    let mut at = start;
    let mut pieces = Vec::new();
    for pair in cuts.windows(2) {
        at += if random.one_in(3) { 0 } else { random.below(80) };
        pieces.push((at, pair[1] - pair[0]));
        at += pair[1] - pair[0];
    }
    pieces
}

fn untouched(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte != UNTOUCHED)
}

impl Slot {
    /// Everything around what a receive brought is as it was.
    fn check_around(&self, left: Left) -> Result<(), String> {
        let memory = self.buffer.as_slice().map_err(text)?;
        let (end, behind) = (left.start + left.bytes, left.start + left.capacity + GUARD);
        for (from, to) in [(left.start - GUARD, left.start), (end, behind)] {
            if let Some(at) = untouched(&memory[from..to]) {
                let at = (from + at) as i64 - left.start as i64;
                return Err(format!("byte {at} of a buffer of {} bytes was written, in which {} came", left.capacity, left.bytes));
            }
        }
        Ok(())
    }

    /// The card has not come back to memory that it was told to leave.
    fn check_left(&mut self, key: u64) -> Result<(), String> {
        let Some(left) = self.left.take() else { return Ok(()) };
        self.check_around(left).map_err(|what| format!("after a cancel, {what}"))?;
        let memory = self.buffer.as_slice().map_err(text)?;
        match contents::difference(key, left.position, &memory[left.start..left.start + left.bytes]) {
            Some((index, _)) => Err(format!("byte {index} of a buffer was changed after its receive had been cancelled")),
            None => Ok(()),
        }
    }
}

impl Lane {
    /// Opens the channels.
    pub fn open(device: &Device, number: usize, seed: u64, to: u16, from: Option<u16>, habits: Habits) -> Result<Lane, Error> {
        let sender = device.sender(to)?;
        let depth = usize::from(sender.info().queue_depth);
        let own_interrupt = number < usize::from(device.interrupts().number());
        let raised = if own_interrupt { device.interrupts().count(number as u16)? } else { 0 };
        let back = match from {
            None => None,
            Some(index) => {
                let receiver = device.receiver(index)?;
                let depth = usize::from(receiver.info().queue_depth);
                Some(Back { receiver, slots: slots(device, depth + 1)?, flight: VecDeque::new(), depth, completed: 0 })
            }
        };
        Ok(Lane {
            number,
            slots: slots(device, depth + 1)?,
            sender,
            flight: VecDeque::new(),
            depth,
            back,
            reference: Reference::new(mix(seed ^ (number as u64) << 32)),
            habits,
            next: None,
            // Goes on from run to run, whose seeds follow each other.
            turn: [(seed as usize % 64) * 23 + number * 32; 2],
            transfers: 0,
            sum: 0,
            raised,
            scale: if device.info().name.starts_with("sim:") { 1 } else { 200 },
            cut: false,
        })
    }

    /// The name of the channel to the card.
    pub fn name(&self) -> &str {
        self.sender.name()
    }

    /// Transfers to the card that were completed.
    pub fn transfers(&self) -> u64 {
        self.transfers
    }

    /// Transfers that were completed, to the card and from it.
    pub fn counts(&self) -> [u64; 2] {
        [self.transfers, self.back.as_ref().map_or(0, |back| back.completed)]
    }

    /// Bytes that were moved, to the card and from it.
    pub fn bytes(&self) -> [u64; 2] {
        [self.reference.taken(), if self.back.is_some() { self.reference.received() } else { 0 }]
    }

    /// Where it stands, for failures.
    pub fn state(&self) -> String {
        let posted: Vec<usize> = self.back.iter().flat_map(|back| &back.flight).map(|flight| flight.bytes).collect();
        format!(
            "channel \"{}\": {} sends in flight, {} bytes taken of {}; {} came back; buffers posted {posted:?}; to come {:?}",
            self.name(),
            self.flight.len(),
            self.reference.taken(),
            self.reference.planned(),
            self.reference.received(),
            self.reference.pending()
        )
    }

    /// Is there nothing under way, and no message open?
    pub fn is_over(&self) -> bool {
        self.flight.is_empty() && !self.reference.is_open() && (self.back.is_none() || self.reference.is_empty())
    }

    /// One random step; with `ending`, only such as bring everything to its end.
    pub fn step(&mut self, device: &Device, shared: &mut Shared, ending: bool) -> Result<(), String> {
        let Habits { cancels, blocking, .. } = self.habits;
        if ending && self.flight.is_empty() && self.reference.is_open() {
            return self.submit_part(shared, 0, true);
        }
        if shared.random.below(1000) < cancels[0] && !ending {
            return self.cancel_sends(shared);
        }
        if shared.random.below(1000) < cancels[1] && !ending {
            return self.cancel_receives(shared);
        }
        let choice = shared.random.below(100);
        match choice {
            0..25 if !ending => self.submit_random(shared),
            25..30 if !ending => self.submit_burst(shared),
            30..35 => self.receive_burst(shared),
            35..60 => self.submit_receive(shared),
            60..68 => {
                self.collect_sends(shared, false)?;
                self.collect_receives(shared, false)
            }
            68..75 => self.wait_send(shared),
            75..84 => self.wait_receive(shared),
            84 if !ending => self.access_registers(device, shared),
            85 | 86 => self.look_at_start(shared),
            _ if ending => self.wait_receive(shared),
            87..95 if shared.random.below(8) < blocking[0] => self.send_blocking(shared),
            95..100 if shared.random.below(5) < blocking[1] => self.receive_blocking(shared),
            _ => self.submit_random(shared),
        }
    }

    // -------------------------------------------------------------------------------------------- to the card

    fn part_length(&self, random: &mut Random) -> usize {
        if random.one_in(24) {
            0
        } else if random.one_in(self.habits.short_one_in) {
            random.between(1, 64)
        } else {
            random.length(LARGEST.ilog2())
        }
    }

    /// Attributes of the next part. Those of a part in the middle of a message count for nothing, and are random therefore.
    fn attributes(&mut self, random: &mut Random, begins: bool) -> Attributes {
        let new = Attributes {
            length: random.one_in(3).then(|| 1 + random.bits() % ((1 << 48) - 1)),
            offset: if random.one_in(3) { random.bits() } else { 0 },
            user: if random.one_in(3) { random.bits() as u32 } else { 0 },
        };
        if self.reference.is_open() {
            return if random.one_in(8) { new } else { Attributes::default() };
        }
        // A part without bytes and end does not begin the message: what comes next does, and carries the same.
        let chosen = *self.next.get_or_insert(new);
        if begins {
            self.next = None;
        }
        chosen
    }

    /// What the core gives back of a message's attributes: only the first lane's has ports for them.
    fn echoed(&self, attributes: Attributes) -> Attributes {
        if self.number == 0 {
            attributes
        } else {
            Attributes::default()
        }
    }

    fn submit_random(&mut self, shared: &mut Shared) -> Result<(), String> {
        let bytes = self.part_length(&mut shared.random);
        let end = shared.random.one_in(self.habits.end_one_in);
        if self.flight.len() >= self.habits.depth[0] {
            return self.wait_send(shared);
        }
        self.submit_part(shared, bytes, end)
    }

    /// One that no descriptor uses; those that have ended keep theirs until that is known here.
    fn free_slot(slots: &[Slot], flight: &VecDeque<Flight>) -> Option<usize> {
        (0..slots.len()).find(|slot| flight.iter().all(|flight| flight.slot != *slot))
    }

    fn places(&self) -> usize {
        self.flight.iter().map(|flight| flight.places).sum()
    }

    fn submit_part(&mut self, shared: &mut Shared, bytes: usize, end: bool) -> Result<(), String> {
        let Some(slot) = Self::free_slot(&self.slots, &self.flight) else { return Ok(()) };
        if self.places() + 3 > self.depth && shared.random.one_in(2) {
            return self.collect_sends(shared, false);
        }
        let saved = self.next;
        let attributes = self.attributes(&mut shared.random, bytes > 0 || end);
        let start = place(&mut shared.random, &mut self.turn[0], bytes, 0);
        let buffer = &mut self.slots[slot].buffer;
        contents::fill(self.reference.key(), self.reference.planned(), &mut buffer.as_mut_slice().map_err(text)?[start..start + bytes]);
        let Attributes { length, offset, user } = attributes;
        let places = 1 + usize::from(length.is_some()) + usize::from(offset != 0 || user != 0);
        match self.sender.try_submit(buffer, start..start + bytes, Message { end, length, offset, user }) {
            Ok(ticket) => {
                shared.diary.note(format!("lane {}: submit {bytes} bytes at {start:#x}{}", self.number, if end { ", end" } else { "" }));
                self.note_part(shared, start, bytes, end, attributes);
                shared.coverage.direct[0] += u64::from(bytes > 64);
                self.flight.push_back(Flight { ticket: ticket.detach(), slot, places, start, bytes });
                shared.progress += 1;
                Ok(())
            }
            // What has completed and was not collected may make room, so that more fits than is thought, but not less.
            Err(Error::QueueFull { .. }) if self.places() + places > self.depth => {
                self.next = saved.or(Some(attributes)).filter(|_| !self.reference.is_open());
                self.collect_sends(shared, false)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The reference and the coverage learn of a part.
    fn note_part(&mut self, shared: &mut Shared, start: usize, bytes: usize, end: bool, attributes: Attributes) {
        let coverage = &mut shared.coverage;
        let opens = !self.reference.is_open();
        coverage.empty_messages += u64::from(opens && bytes == 0 && end);
        coverage.attributes += u64::from(opens && attributes != Attributes::default() && self.number == 0);
        coverage.cut_messages += u64::from(end && self.cut);
        self.cut = !end && (self.cut || bytes > 0);
        coverage.zero[0] += u64::from(bytes == 0);
        coverage.inline += u64::from((1..=64).contains(&bytes));
        note_place(shared, 0, start, bytes);
        let echoed = self.echoed(attributes);
        self.reference.submit(bytes as u64, end, echoed);
    }

    fn sent(&mut self, shared: &mut Shared, status: Status, bytes: u64) -> Result<(), String> {
        let before = self.reference.taken();
        self.reference.sent(status, bytes)?;
        shared.progress += 1;
        self.transfers += u64::from(status == Status::Done);
        if status == Status::Cancelled {
            self.cut = self.reference.is_open();
            shared.coverage.cancelled[0] += 1;
            shared.coverage.cancelled_midway[0] += u64::from(bytes > 0);
        }
        if self.back.is_none() {
            for position in before..self.reference.taken() {
                self.sum = self.sum.wrapping_add(contents::byte(self.reference.key(), position).into());
            }
            self.reference.forget();
        }
        Ok(())
    }

    fn ended_send(&mut self, shared: &mut Shared, completion: Completion) -> Result<(), String> {
        shared.diary.note(format!("lane {}: a send ended: {completion:?}", self.number));
        match self.flight.pop_front() {
            Some(flight) if flight.ticket == completion.ticket => self.sent(shared, completion.status, completion.bytes),
            _ => Err(format!("the completion {completion:?} is not of the oldest ticket")),
        }
    }

    /// All sends that have ended; with `all`, all must have.
    fn collect_sends(&mut self, shared: &mut Shared, all: bool) -> Result<(), String> {
        let mut room = [Completion::default(); QUEUE];
        let found = self.sender.poll_completions(&mut room).map_err(text)?;
        for completion in &room[..found] {
            self.ended_send(shared, *completion)?;
        }
        if all && !self.flight.is_empty() {
            return Err(format!("{} sends have not ended", self.flight.len()));
        }
        Ok(())
    }

    fn wait_send(&mut self, shared: &mut Shared) -> Result<(), String> {
        if self.flight.is_empty() {
            return Ok(());
        }
        let ticket = self.flight[shared.random.below(self.flight.len())].ticket;
        let timeout = self.patience(shared, 10);
        match self.sender.wait_ticket(ticket, Some(timeout).into()) {
            Err(error) if error.is_timeout() => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(last) => {
                // Those before it have ended as well.
                while let Some(flight) = self.flight.front().filter(|flight| flight.ticket != ticket) {
                    let completion = self.sender.try_wait_ticket(flight.ticket).map_err(text)?;
                    self.ended_send(shared, completion.ok_or("a send ended before the one in front of it")?)?;
                }
                self.ended_send(shared, last)
            }
        }
    }

    fn cancel_sends(&mut self, shared: &mut Shared) -> Result<(), String> {
        shared.diary.note(format!("lane {}: cancel {} sends", self.number, self.flight.len()));
        self.sender.cancel_all().map_err(text)?;
        if !self.flight.is_empty() {
            self.reference.cancel();
        }
        self.collect_sends(shared, true)
    }

    fn patience(&self, shared: &mut Shared, microseconds: usize) -> Duration {
        Duration::from_nanos(shared.random.between(200, 1000 * microseconds) as u64) * self.scale
    }

    /// Long enough for so many bytes, if nothing is in the way.
    fn enough(&self, bytes: usize) -> Duration {
        (Duration::from_micros(30) + Duration::from_nanos(4) * bytes as u32) * self.scale
    }

    fn send_blocking(&mut self, shared: &mut Shared) -> Result<(), String> {
        self.collect_sends(shared, false)?;
        if self.places() + 3 > self.depth {
            return self.wait_send(shared);
        }
        let Some(slot) = Self::free_slot(&self.slots, &self.flight) else { return Ok(()) };
        let bytes = self.part_length(&mut shared.random);
        let end = shared.random.one_in(self.habits.end_one_in);
        // Most of the time, there is a way for it to come to its end.
        let mut timeout = self.patience(shared, 20);
        if !shared.random.one_in(4) {
            timeout = self.enough(bytes);
            for _ in 0..4 {
                let room: usize = self.back.iter().flat_map(|back| &back.flight).map(|flight| flight.bytes).sum();
                if room < bytes {
                    self.submit_receive(shared)?;
                }
            }
        }
        self.sender.set_timeout(Some(timeout));
        let attributes = self.attributes(&mut shared.random, bytes > 0 || end);
        let start = place(&mut shared.random, &mut self.turn[0], bytes, PIECES * 80);
        let ranges = if shared.random.one_in(4) { vec![(start, bytes)] } else { pieces(&mut shared.random, start, bytes) };
        let memory = self.slots[slot].buffer.as_mut_slice().map_err(text)?;
        let mut position = self.reference.planned();
        for (at, count) in &ranges {
            contents::fill(self.reference.key(), position, &mut memory[*at..at + count]);
            position += *count as u64;
        }
        let several = ranges.iter().filter(|(_, count)| *count > 0).count() > 1;
        let way = if several { &mut shared.coverage.list } else { &mut shared.coverage.direct };
        way[0] += u64::from(bytes > 64);
        self.note_part(shared, ranges[0].0, bytes, end, attributes);
        shared.diary.note(format!("lane {}: send {ranges:x?}{} within {timeout:?}", self.number, if end { ", end" } else { "" }));
        let memory = self.slots[slot].buffer.as_slice().map_err(text)?;
        let slices: Vec<IoSlice<'_>> = ranges.iter().map(|(at, count)| IoSlice::new(&memory[*at..at + count])).collect();
        let Attributes { length, offset, user } = attributes;
        let (status, moved) = match self.sender.send_vectored(&slices, Message { end, length, offset, user }) {
            Ok(()) => (Status::Done, bytes as u64),
            Err(Error::Timeout { bytes, .. }) => (Status::Cancelled, bytes),
            Err(error) => return Err(error.to_string()),
        };
        shared.diary.note(format!("lane {}: the send ended: {status}, {moved} bytes", self.number));
        self.collect_sends(shared, false)?;
        if self.flight.is_empty() {
            if status == Status::Cancelled {
                self.reference.cancel();
            }
            return self.sent(shared, status, moved);
        }
        if status != Status::Cancelled || moved > 0 {
            return Err(format!("{} sends have not ended, but one behind them has: {status}, {moved} bytes", self.flight.len()));
        }
        // The timeout of a call cancels what that call has posted, and nothing else.
        self.reference.withdraw()?;
        self.cut = self.reference.is_open();
        shared.coverage.cancelled_alone[0] += 1;
        shared.progress += 1;
        Ok(())
    }

    // -------------------------------------------------------------------------------------------- back

    fn capacity(&self, random: &mut Random) -> usize {
        if random.one_in(32) {
            return 0;
        }
        match self.reference.pending().filter(|_| random.one_in(3)) {
            // As long as what is to come, or nearly so.
            Some((bytes, _)) => {
                ((bytes as usize).min(LARGEST - 64) + random.pick(&[0, 0, 1, 64])).saturating_sub(random.pick(&[0, 0, 1, 17]))
            }
            None => random.length(LARGEST.ilog2()),
        }
    }

    fn submit_receive(&mut self, shared: &mut Shared) -> Result<(), String> {
        let capacity = self.capacity(&mut shared.random);
        let Some(back) = &mut self.back else { return Ok(()) };
        if back.flight.len() >= self.habits.depth[1] {
            return self.wait_receive(shared);
        }
        let Some(slot) = Self::free_slot(&back.slots, &back.flight) else { return Ok(()) };
        let start = place(&mut shared.random, &mut self.turn[1], capacity, 0);
        back.slots[slot].check_left(self.reference.key())?;
        let buffer = &mut back.slots[slot].buffer;
        buffer.as_mut_slice().map_err(text)?[start - GUARD..start + capacity + GUARD].fill(UNTOUCHED);
        match back.receiver.try_submit(buffer, start..start + capacity) {
            Ok(ticket) => {
                shared.diary.note(format!("lane {}: post {capacity} bytes at {start:#x}", self.number));
                back.flight.push_back(Flight { ticket: ticket.detach(), slot, places: 1, start, bytes: capacity });
                shared.progress += 1;
                shared.coverage.direct[1] += u64::from(capacity > 0);
                note_place(shared, 1, start, capacity);
                Ok(())
            }
            Err(Error::QueueFull { .. }) if back.flight.len() >= back.depth => self.collect_receives(shared, false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn ended_receive(&mut self, shared: &mut Shared, completion: Completion, cancelling: bool) -> Result<(), String> {
        shared.diary.note(format!("lane {}: a receive ended: {completion:?}", self.number));
        let Some(back) = &mut self.back else { return Ok(()) };
        let flight = back.flight.pop_front().filter(|flight| flight.ticket == completion.ticket);
        let Flight { slot, start, bytes: capacity, .. } =
            flight.ok_or(format!("the completion {completion:?} is not of the oldest ticket"))?;
        let Completion { status, bytes, offset, user, .. } = completion;
        if bytes > capacity as u64 {
            return Err(format!("{bytes} bytes came into a buffer of {capacity}"));
        }
        let slot = &mut back.slots[slot];
        let left = Left { start, capacity, bytes: bytes as usize, position: self.reference.received() };
        let data = &slot.buffer.as_slice().map_err(text)?[start..start + left.bytes];
        self.reference.came(capacity as u64, Ending { status, bytes, attributes: Some((offset, user)) }, data, cancelling)?;
        slot.check_around(left)?;
        slot.left = (status == Status::Cancelled).then_some(left);
        back.completed += 1;
        came(shared, status, bytes, capacity);
        Ok(())
    }

    fn collect_receives(&mut self, shared: &mut Shared, all: bool) -> Result<(), String> {
        let Some(back) = &self.back else { return Ok(()) };
        let mut room = [Completion::default(); QUEUE];
        let found = back.receiver.poll_completions(&mut room).map_err(text)?;
        for completion in &room[..found] {
            self.ended_receive(shared, *completion, all)?;
        }
        match &self.back {
            Some(back) if all && !back.flight.is_empty() => Err(format!("{} receives have not ended", back.flight.len())),
            _ => Ok(()),
        }
    }

    fn wait_receive(&mut self, shared: &mut Shared) -> Result<(), String> {
        let timeout = self.patience(shared, 10);
        let Some(back) = &self.back else { return self.wait_send(shared) };
        if back.flight.is_empty() {
            return Ok(());
        }
        let ticket = back.flight[shared.random.below(back.flight.len())].ticket;
        match back.receiver.wait_ticket(ticket, Some(timeout).into()) {
            Err(error) if error.is_timeout() => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(last) => {
                while let Some(flight) = self.back.as_ref().and_then(|back| back.flight.front()).filter(|flight| flight.ticket != ticket) {
                    let completion =
                        self.back.as_ref().map(|back| back.receiver.try_wait_ticket(flight.ticket)).transpose().map_err(text)?.flatten();
                    self.ended_receive(shared, completion.ok_or("a receive ended before the one in front of it")?, false)?;
                }
                self.ended_receive(shared, last, false)
            }
        }
    }

    fn cancel_receives(&mut self, shared: &mut Shared) -> Result<(), String> {
        let Some(back) = &self.back else { return Ok(()) };
        shared.diary.note(format!("lane {}: cancel {} receives", self.number, back.flight.len()));
        back.receiver.cancel_all().map_err(text)?;
        self.collect_receives(shared, true)
    }

    fn receive_blocking(&mut self, shared: &mut Shared) -> Result<(), String> {
        self.collect_receives(shared, false)?;
        let capacity = self.capacity(&mut shared.random);
        let mut timeout = self.patience(shared, 20);
        if self.reference.pending().is_some_and(|(bytes, ends)| ends || bytes >= capacity as u64) {
            timeout = self.enough(capacity);
        }
        let key = self.reference.key();
        let Some(back) = &mut self.back else { return Ok(()) };
        if back.flight.len() >= back.depth {
            return self.wait_receive(shared);
        }
        let Some(number) = Self::free_slot(&back.slots, &back.flight) else { return Ok(()) };
        let start = place(&mut shared.random, &mut self.turn[1], capacity, PIECES * 80);
        let ranges = if shared.random.one_in(4) { vec![(start, capacity)] } else { pieces(&mut shared.random, start, capacity) };
        let several = ranges.iter().filter(|(_, count)| *count > 0).count() > 1;
        let way = if several { &mut shared.coverage.list } else { &mut shared.coverage.direct };
        way[1] += u64::from(capacity > 0);
        note_place(shared, 1, ranges[0].0, capacity);
        shared.diary.note(format!("lane {}: receive into {ranges:x?} within {timeout:?}", self.number));
        back.receiver.set_timeout(Some(timeout));
        let slot = &mut back.slots[number];
        slot.check_left(key)?;
        let memory = slot.buffer.as_mut_slice().map_err(text)?;
        let all = start - GUARD..start + capacity + PIECES * 80 + GUARD;
        memory[all.clone()].fill(UNTOUCHED);
        let (mut rest, mut at, mut slices) = (memory, 0, Vec::new());
        for (from, count) in &ranges {
            let (_, tail) = rest.split_at_mut(from - at);
            let (piece, tail) = tail.split_at_mut(*count);
            slices.push(IoSliceMut::new(piece));
            (rest, at) = (tail, from + count);
        }
        let outcome = back.receiver.recv_vectored(&mut slices);
        shared.diary.note(format!("lane {}: the receive ended: {outcome:?}", self.number));
        let ending = match outcome {
            Ok(received) => Ending {
                status: if received.end_of_message { Status::EndOfMessage } else { Status::Done },
                bytes: received.bytes as u64,
                attributes: Some((received.offset, received.user)),
            },
            Err(Error::Timeout { bytes, .. }) => Ending { status: Status::Cancelled, bytes, attributes: None },
            Err(error) => return Err(error.to_string()),
        };
        // The timeout of a call cancels what that call has posted, and nothing else.
        let cancelled = ending.status == Status::Cancelled;
        self.collect_receives(shared, false)?;
        let Some(back) = &mut self.back else { return Ok(()) };
        if !back.flight.is_empty() {
            if !cancelled || ending.bytes > 0 {
                return Err(format!("{} receives have not ended, but one behind them has: {ending:?}", back.flight.len()));
            }
            shared.coverage.cancelled_alone[1] += 1;
        }
        let memory = back.slots[number].buffer.as_slice().map_err(text)?;
        let mut data = Vec::with_capacity(ending.bytes as usize);
        let mut at = all.start;
        for (from, count) in &ranges {
            let take = (ending.bytes as usize - data.len()).min(*count);
            data.extend_from_slice(&memory[*from..from + take]);
            if let Some(index) = untouched(&memory[at..*from]) {
                return Err(format!("the byte at {:#x} was written, between the pieces of a list", at + index));
            }
            at = from + take;
        }
        if let Some(index) = untouched(&memory[at..all.end]) {
            return Err(format!("the byte at {:#x} was written, behind the end of a list", at + index));
        }
        self.reference.came(capacity as u64, ending, &data, cancelled)?;
        if let Some(back) = &mut self.back {
            back.completed += 1;
        }
        came(shared, ending.status, ending.bytes, capacity);
        Ok(())
    }

    /// The message that comes back next, as the core announces it.
    fn look_at_start(&mut self, shared: &mut Shared) -> Result<(), String> {
        let timeout = self.patience(shared, 5);
        let Some(back) = self.back.as_ref().filter(|back| back.flight.is_empty()) else { return Ok(()) };
        let start = if shared.random.one_in(4) {
            match back.receiver.message_start(Some(timeout)) {
                Ok(start) => Some(start),
                Err(error) if error.is_timeout() => None,
                Err(error) => return Err(error.to_string()),
            }
        } else {
            back.receiver.try_message_start().map_err(text)?
        };
        let Some(start) = start else { return Ok(()) };
        let front = self.reference.front().ok_or(format!("a message was announced, but none was sent: {start:?}"))?;
        if (start.length, start.offset, start.user) != (front.length, front.offset as u32, front.user) {
            return Err(format!("a message was announced as {start:?}, and should be {front:?}"));
        }
        shared.coverage.starts += 1;
        Ok(())
    }

    // -------------------------------------------------------------------------------------------- beside the channels

    fn adds_up(device: &Device) -> bool {
        device.info().core.starts_with("loop3x2")
    }

    fn echoes(device: &Device) -> bool {
        device.info().core.starts_with("loopback")
    }

    /// Registers and interrupts while data moves.
    fn access_registers(&mut self, device: &Device, shared: &mut Shared) -> Result<(), String> {
        let registers = device.registers();
        if Self::echoes(device) {
            let value = shared.random.bits() as u32;
            registers.write(SCRATCH, value).map_err(text)?;
            let found = registers.read(SCRATCH).map_err(text)?;
            if found != value {
                return Err(format!("the register that was set to {value:#x} reads {found:#x}"));
            }
        } else if Self::adds_up(device) {
            // One lane, one interrupt: requests for the same one at the same time are one.
            registers.write(RAISE, 1 << self.number).map_err(text)?;
            self.raised = self.raised.wrapping_add(1);
        } else {
            return Ok(());
        }
        shared.coverage.registers += 1;
        Ok(())
    }

    /// A register that reaches `wanted`, if not at once then soon: the core may still be taking what has landed.
    fn expect(&self, device: &Device, what: &str, offset: u32, wanted: u32) -> Result<(), String> {
        let mut found = 0;
        for _ in 0..200 {
            found = device.registers().read(offset).map_err(text)?;
            if found == wanted {
                return Ok(());
            }
        }
        Err(format!("the core counts {found} {what} where {wanted} are right"))
    }

    /// After the end: the core has counted the same, nothing comes any more, and no statistics speak of faults.
    pub fn close(&mut self, device: &Device, shared: &mut Shared) -> Result<(), String> {
        let (taken, messages) = (self.reference.taken(), self.reference.messages() as u32);
        if Self::echoes(device) {
            self.expect(device, "messages", 0x08, messages)?;
            self.expect(device, "bytes (low half)", 0x0c, taken as u32)?;
            self.expect(device, "bytes (high half)", 0x10, (taken >> 32) as u32)?;
            self.expect(device, "faults", 0x14, 0)?;
            if device.interrupts().count(0).map_err(text)?.wrapping_sub(self.raised) != messages {
                return Err(format!("there were {messages} messages, but not as many interrupts"));
            }
        } else if Self::adds_up(device) {
            let raised = self.raised;
            if device.interrupts().count(self.number as u16).map_err(text)? != raised {
                return Err(format!("interrupt {} was raised {raised} times, and counted otherwise", self.number));
            }
            if self.back.is_none() {
                self.expect(device, "bytes", 0x00, taken as u32)?;
                self.expect(device, "as the bytes' sum", 0x04, self.sum)?;
                self.expect(device, "messages", 0x08, messages)?;
            }
        } else if self.back.is_none() {
            return Err("nothing is known of what comes in here: this run wants cores/loopback or tests/cores/loop3x2".into());
        }
        self.cancel_receives(shared)?;
        if let Some(back) = &mut self.back {
            for slot in &mut back.slots {
                slot.check_left(self.reference.key())?;
            }
            let mut transfer = back.receiver.submit(&mut back.slots[0].buffer, ..).map_err(text)?;
            let more = transfer.wait(Some(Duration::from_micros(5) * self.scale));
            if !more.as_ref().is_err_and(Error::is_timeout) {
                return Err(format!("something comes after everything has come: {more:?}"));
            }
            transfer.cancel().map_err(text)?;
            let end = transfer.wait(None).map_err(text)?;
            if (end.status, end.bytes) != (Status::Cancelled, 0) {
                return Err(format!("a receive of nothing that was cancelled ended as {end:?}"));
            }
        }
        let receiver = self.back.as_ref().map(|back| (back.receiver.statistics(), self.reference.received()));
        for (found, bytes) in [(self.sender.statistics(), taken)].into_iter().chain(receiver) {
            let faults = [found.wrong_cookies, found.wrong_lengths, found.wrong_statuses, found.unexpected];
            if faults != [0; 4] || found.submitted != found.completed || found.bytes != bytes {
                return Err(format!("the statistics are wrong, with {bytes} bytes moved: {found:?}"));
            }
        }
        Ok(())
    }
}

const SCRATCH: u32 = 0x04;
const RAISE: u32 = 0x0c;

fn came(shared: &mut Shared, status: Status, bytes: u64, capacity: usize) {
    shared.progress += 1;
    let coverage = &mut shared.coverage;
    coverage.zero[1] += u64::from(capacity == 0);
    coverage.too_small += u64::from(status == Status::Done && bytes > 0);
    coverage.cancelled[1] += u64::from(status == Status::Cancelled);
    coverage.cancelled_midway[1] += u64::from(status == Status::Cancelled && bytes > 0);
}

fn note_place(shared: &mut Shared, way: usize, start: usize, bytes: usize) {
    let near = |at: usize| (at + 15) % PAGE < 31;
    shared.coverage.offsets[way] |= u64::from(bytes > 0) << (start % 64);
    shared.coverage.page_edges[way] += u64::from(bytes > 0 && (near(start) || near(start + bytes)));
}
