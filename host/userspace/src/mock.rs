// SPDX-License-Identifier: Apache-2.0
//! A card's behaviour in software: `contract/protocol.md` as a program, behind the bus trait, with a loopback as its user core.
//!
//! For tests of drivers and libraries, without any gateware: no timing, no link, no TLPs. Channels come in pairs: what is sent on `inK`
//! comes back on `outK`; behind them come memories, `ramK`. Each look at the card moves a random number of bytes; the seed makes it repeatable. Tests can make it misbehave.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod memory;
mod mover;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::Duration;
use towpath_bus::{Access, Bus, BusError, Result, Wake, WireStatistics};
use towpath_contract as c;

pub use towpath_contract::Status as ContractStatus;

pub const QUEUE_DEPTH: u16 = 8;
pub const INLINE_SLOTS: u16 = 4;
/// Registers that answer with an error, and never.
pub const REGISTER_ERROR: u32 = 0xf00;
pub const REGISTER_SILENT: u32 = 0xf04;
/// At the first of these addresses an access of a memory is answered with an error, at the second by nothing.
pub const MEMORY_SLVERR: u64 = 0xc000;
pub const MEMORY_DECERR: u64 = 0xe000;
const PAGE_SHIFT: u32 = 12;
const WINDOW_BYTES: u32 = 0x1000;
const INTERRUPTS: u16 = 2;
const CORE_CLOCK_KHZ: u32 = 250_000;

/// A fault of the card's, once, in the next completion of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    WrongCookie,
    TooManyBytes,
    BadStatus,
    /// The entry keeps the old phase: it looks as if it had never been written.
    WrongPhase,
    /// A second completion for the same descriptor.
    Twice,
    /// A fault of the link's, honestly reported.
    Fault(c::Status),
}

/// What the card makes of `lead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Early {
    /// Nothing, as a card without early wake.
    Never,
    /// As the protocol specifies.
    Honest,
    /// Armed vectors fire at random times, too early and again and again.
    Wild,
}

#[derive(Clone, Copy)]
pub struct Settings {
    pub seed: u64,
    pub pairs: u16,
    pub memories: u16,
    pub memory_bytes: u64,
    /// What the memories' channels say of themselves: kind, version and name.
    pub memory_kind: (u8, u16, &'static str),
    pub version: (u16, u16),
    pub magic: u64,
    /// MSI-X vectors; fewer than channels and interrupts are shared.
    pub vectors: u16,
    /// Slots of each batch page.
    pub batch_slots: u16,
    /// Bytes that a loopback holds; 0 takes nothing.
    pub capacity: usize,
    /// Waits take wall-clock time, for tests with threads; otherwise an idle wait is over at once.
    pub real_time: bool,
    pub early: Early,
    /// Nanoseconds from an interrupt to the program. The card runs on meanwhile.
    pub wake: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let version = (c::VERSION_MAJOR, c::VERSION_MINOR);
        let magic = c::DISCOVERY_MAGIC_VALUE;
        let (early, wake) = (Early::Honest, 10_000);
        let batch_slots = 4 * QUEUE_DEPTH;
        Settings {
            seed: 1,
            pairs: 1,
            memories: 0,
            memory_bytes: 1 << 16,
            memory_kind: (c::ChannelKind::Memory as u8, 1, "memory"),
            version,
            magic,
            vectors: 16,
            batch_slots,
            capacity: 1 << 16,
            real_time: false,
            early,
            wake,
        }
    }
}

impl Settings {
    /// Channels of one direction.
    fn halves(&self) -> u16 {
        self.pairs + self.memories
    }
}

pub struct MockBus {
    settings: Settings,
    /// The discovery page.
    discovery: Vec<u8>,
    card: Mutex<Card>,
}

#[derive(Default, Clone)]
struct Posted {
    descriptor: c::Descriptor,
    attributes: Option<(u64, u32)>,
    length: u64,
    places: u16,
    torn: bool,
    /// Pieces that are left: address and bytes. Filled when it becomes the current one.
    pieces: Option<VecDeque<(u64, u64)>>,
    /// How it ends when the pieces are done.
    outcome: Option<c::Status>,
    moved: u32,
    cancelled: Option<c::Status>,
    /// Inline bytes, taken at the commit.
    inline: Vec<u8>,
}

#[derive(Default)]
struct Channel {
    enable: bool,
    announce: bool,
    error: bool,
    ring_base: u64,
    ring_log2: u32,
    vector: u16,
    queue: VecDeque<Posted>,
    prefixes: Posted,
    stage: [u32; 4],
    staged: usize,
    slots: Vec<u8>,
    /// Descriptors committed since the last reset.
    position: u64,
    /// The slots of the batch page: words, and which were written since the slot was committed last.
    batch: Vec<([u32; 4], u8)>,
    armed: Option<u32>,
    /// Fire when the descriptor in hand has no more bytes to go; and it has.
    lead: u32,
    led: bool,
    /// Entries, and nanoseconds from the first of them; not moderated without these.
    moderation: (u32, u64),
    /// When the first entry was written that an armed vector holds back.
    held_since: Option<u64>,
    /// Fires for entries, and early ones.
    fires: (u32, u32),
    /// When the newest entry was written.
    told: u64,
    produced: u32,
    overflows: u32,
    misbehave: Option<Misbehaviour>,
    /// H2C: the message goes on with the next descriptor.
    open: bool,
}

#[derive(Default)]
struct Message {
    bytes: VecDeque<u8>,
    ended: bool,
    announced: bool,
    length: u64,
    offset: u32,
    user: u32,
}

#[derive(Default)]
struct Card {
    random: u64,
    now: u64,
    maps: Vec<(u64, usize, usize, Access)>,
    next_map: u64,
    channels: Vec<Channel>,
    /// By pair.
    loops: Vec<VecDeque<Message>>,
    memories: Vec<memory::Memory>,
    capacity: usize,
    early: Option<Early>,
    stores: Vec<(u64, u32)>,
    link_counters: BTreeMap<u64, u32>,
    fired: Vec<bool>,
    events: Vec<Option<OwnedFd>>,
    registers: Vec<u32>,
    window_status: u32,
    irq_count: Vec<u32>,
    irq_vector: Vec<u32>,
    irq_enable: u32,
    gone: bool,
    /// Write-combining stores that no fence has followed.
    combining: Vec<(u64, Vec<u8>)>,
    /// Batches of several descriptors.
    batches: u64,
    /// Stores that still succeed before one fails, once.
    failing_store: Option<u32>,
    /// Resets of channels do not end, and reset nothing.
    stuck: bool,
    /// Unmapping fails: memory stays mapped.
    failing_unmaps: bool,
    /// Accesses of the card's to memory that is not mapped.
    stray: u64,
}

impl MockBus {
    pub fn new(settings: Settings) -> MockBus {
        let channels = 2 * usize::from(settings.halves());
        let vectors = usize::from(settings.vectors);
        let card = Card {
            random: settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            next_map: 1 << 32,
            channels: (0..channels).map(|_| Channel::new(vec![0; 4096], settings.batch_slots.into())).collect(),
            loops: (0..settings.pairs).map(|_| VecDeque::new()).collect(),
            memories: (0..settings.memories).map(|_| memory::Memory::new(settings.memory_bytes)).collect(),
            capacity: settings.capacity,
            early: Some(settings.early),
            fired: vec![false; vectors],
            events: (0..vectors).map(|_| None).collect(),
            registers: vec![0; WINDOW_BYTES as usize / 4],
            irq_count: vec![0; c::USER_INTERRUPTS],
            irq_vector: vec![0; c::USER_INTERRUPTS],
            ..Card::default()
        };
        MockBus { settings, discovery: discovery(&settings), card: Mutex::new(card) }
    }

    /// Misbehave in the next completion of this channel.
    pub fn misbehave(&self, channel: usize, how: Misbehaviour) {
        self.card.lock().unwrap().channels[channel].misbehave = Some(how);
    }

    /// Bytes that each loopback holds from now on.
    pub fn set_capacity(&self, bytes: usize) {
        self.card.lock().unwrap().capacity = bytes;
    }

    /// The user core raises an interrupt.
    pub fn raise(&self, index: usize) {
        let mut card = self.card.lock().unwrap();
        card.irq_count[index] = card.irq_count[index].wrapping_add(1);
        if card.irq_enable >> index & 1 == 1 {
            let vector = card.irq_vector[index] as usize;
            card.fire(vector);
        }
    }

    /// The user core sends a message by itself.
    pub fn produce(&self, pair: usize, bytes: &[u8], ended: bool) {
        let mut card = self.card.lock().unwrap();
        let message = Message { bytes: bytes.iter().copied().collect(), ended, ..Message::default() };
        card.loops[pair].push_back(message);
    }

    /// The link goes down.
    pub fn unplug(&self) {
        self.card.lock().unwrap().gone = true;
    }

    /// Of the stores that post descriptors, with what is in slots, the one after `ahead` more fails, once.
    pub fn fail_store(&self, ahead: u32) {
        self.card.lock().unwrap().failing_store = Some(ahead);
    }

    /// Resets of channels do not end, as long as this is so.
    pub fn stick(&self, stuck: bool) {
        self.card.lock().unwrap().stuck = stuck;
    }

    /// Memory cannot be unmapped from the card, as long as this is so.
    pub fn fail_unmaps(&self, fail: bool) {
        self.card.lock().unwrap().failing_unmaps = fail;
    }

    /// The channel's state on the card: enabled?
    pub fn is_enabled(&self, channel: usize) -> bool {
        self.card.lock().unwrap().channels[channel].enable
    }

    /// Maps that there are now.
    pub fn maps(&self) -> usize {
        self.card.lock().unwrap().maps.len()
    }

    /// Memory that two maps share, if there is any.
    pub fn mapped_twice(&self) -> Option<usize> {
        let card = self.card.lock().unwrap();
        let mut ranges: Vec<_> = card.maps.iter().map(|map| (map.2, map.1)).collect();
        ranges.sort_unstable();
        ranges.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0).map(|pair| pair[1].0)
    }

    /// Accesses of the card's outside of mapped memory.
    pub fn stray(&self) -> u64 {
        self.card.lock().unwrap().stray
    }

    /// What the card's page shows from now on at this offset.
    pub fn count(&self, offset: u64, value: u32) {
        self.card.lock().unwrap().link_counters.insert(offset, value);
    }

    /// How often the channel's vector has fired so far: for entries, and early.
    pub fn fires(&self, channel: usize) -> (u32, u32) {
        self.card.lock().unwrap().channels[channel].fires
    }

    /// When the card wrote the channel's newest entry.
    pub fn told(&self, channel: usize) -> u64 {
        self.card.lock().unwrap().channels[channel].told
    }

    /// The channel's moderation: entries and nanoseconds.
    pub fn moderation(&self, channel: usize) -> (u32, u64) {
        self.card.lock().unwrap().channels[channel].moderation
    }

    /// Stores so far to this register in this page of a channel, with all channels together.
    pub fn stores(&self, page: u64, register: u64) -> usize {
        let is_page = |at: u64| at >= c::PAGE_CHANNELS && (at - c::PAGE_CHANNELS) % c::PAGES_PER_CHANNEL == page;
        let card = self.card.lock().unwrap();
        card.stores.iter().filter(|(at, _)| is_page(at >> PAGE_SHIFT) && at & 0xfff == register).count()
    }

    /// Batches of several descriptors so far, of all channels.
    pub fn batches(&self) -> u64 {
        self.card.lock().unwrap().batches
    }

    /// Descriptors that the card had to drop.
    pub fn overflows(&self, channel: usize) -> u32 {
        self.card.lock().unwrap().channels[channel].overflows
    }

    fn lock(&self) -> Result<std::sync::MutexGuard<'_, Card>> {
        let card = self.card.lock().unwrap();
        if card.gone {
            return Err(BusError::Gone("the mock was unplugged".into()));
        }
        Ok(card)
    }

    /// A store of the program's succeeds, or fails as [`MockBus::fail_store`] says.
    fn may_store(&self) -> Result<()> {
        let mut card = self.lock()?;
        card.failing_store = match card.failing_store {
            Some(0) => {
                card.failing_store = None;
                return Err(BusError::System("a store".into(), std::io::ErrorKind::Other.into()));
            }
            left => left.map(|left| left - 1),
        };
        Ok(())
    }
}

impl Channel {
    fn new(slots: Vec<u8>, batch_slots: usize) -> Channel {
        Channel { slots, batch: vec![Default::default(); batch_slots], ..Channel::default() }
    }
}

/// The discovery page of a card with these settings.
pub(crate) fn discovery(s: &Settings) -> Vec<u8> {
    let mut page = vec![0u8; 1 << PAGE_SHIFT];
    let mut put = |offset: u64, bytes: &[u8]| page[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
    put(c::DISCOVERY_MAGIC_OFFSET, &s.magic.to_le_bytes());
    put(c::DISCOVERY_VERSION_MAJOR_OFFSET, &s.version.0.to_le_bytes());
    put(c::DISCOVERY_VERSION_MINOR_OFFSET, &s.version.1.to_le_bytes());
    put(c::DISCOVERY_HEADER_BYTES_OFFSET, &c::DISCOVERY_HEADER_BYTES_VALUE.to_le_bytes());
    put(c::DISCOVERY_PAGE_SHIFT_OFFSET, &[PAGE_SHIFT as u8]);
    put(c::DISCOVERY_DATA_BYTES_OFFSET, &[16]);
    put(c::DISCOVERY_CHANNELS_OFFSET, &(2 * s.halves()).to_le_bytes());
    put(c::DISCOVERY_ENTRY_OFFSET_OFFSET, &c::DISCOVERY_ENTRY_OFFSET_VALUE.to_le_bytes());
    put(c::DISCOVERY_ENTRY_BYTES_OFFSET, &c::DISCOVERY_ENTRY_BYTES_VALUE.to_le_bytes());
    put(c::DISCOVERY_VECTORS_OFFSET, &s.vectors.to_le_bytes());
    put(c::DISCOVERY_USER_INTERRUPTS_OFFSET, &INTERRUPTS.to_le_bytes());
    put(c::DISCOVERY_TAGS_OFFSET, &32u16.to_le_bytes());
    put(c::DISCOVERY_WINDOW_BYTES_OFFSET, &WINDOW_BYTES.to_le_bytes());
    put(c::DISCOVERY_SERIAL_OFFSET, &0x1234_5678_9abc_def0u64.to_le_bytes());
    put(c::DISCOVERY_CORE_CLOCK_KHZ_OFFSET, &CORE_CLOCK_KHZ.to_le_bytes());
    put(c::DISCOVERY_USER_CLOCK_KHZ_OFFSET, &250_000u32.to_le_bytes());
    put(c::DISCOVERY_CORE_VERSION_OFFSET, &7u32.to_le_bytes());
    put(c::DISCOVERY_CORE_NAME_OFFSET, b"mock");
    for n in 0..u64::from(2 * s.halves()) {
        let at = c::DISCOVERY_CHANNEL_ENTRY_OFFSET + n * c::DISCOVERY_CHANNEL_ENTRY_STRIDE;
        put(at + c::CHANNEL_ENTRY_DIRECTION_OFFSET, &[(n & 1) as u8]);
        put(at + c::CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET, &QUEUE_DEPTH.to_le_bytes());
        put(at + c::CHANNEL_ENTRY_INLINE_SLOTS_OFFSET, &(if n & 1 == 0 { INLINE_SLOTS } else { 0 }).to_le_bytes());
        put(at + c::CHANNEL_ENTRY_BATCH_SLOTS_OFFSET, &s.batch_slots.to_le_bytes());
        put(at + c::CHANNEL_ENTRY_FIRST_PAGE_OFFSET, &((c::PAGE_CHANNELS + c::PAGES_PER_CHANNEL * n) as u32).to_le_bytes());
        put(at + c::CHANNEL_ENTRY_BUFFER_BYTES_OFFSET, &8192u32.to_le_bytes());
        let (kind, version, kind_name, parameter, name) = match (n / 2).checked_sub(s.pairs.into()) {
            None => (c::ChannelKind::Stream as u8, 1, "stream", 0, format!("{}{}", if n & 1 == 0 { "in" } else { "out" }, n / 2)),
            Some(m) => (s.memory_kind.0, s.memory_kind.1, s.memory_kind.2, (s.memory_bytes / 4096) as u32, format!("ram{m}")),
        };
        put(at + c::CHANNEL_ENTRY_KIND_OFFSET, &[kind]);
        put(at + c::CHANNEL_ENTRY_KIND_VERSION_OFFSET, &u16::to_le_bytes(version));
        put(at + c::CHANNEL_ENTRY_KIND_PARAMETER_OFFSET, &u32::to_le_bytes(parameter));
        put(at + c::CHANNEL_ENTRY_KIND_NAME_OFFSET, kind_name.as_bytes());
        put(at + c::CHANNEL_ENTRY_NAME_OFFSET, name.as_bytes());
    }
    page
}

impl Card {
    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % below.max(1)
    }

    fn fire(&mut self, vector: usize) {
        self.fired[vector] = true;
        self.events[vector].iter().for_each(towpath_system::event::signal);
    }

    fn memory(&mut self, address: u64, bytes: usize, write: bool) -> Option<*mut u8> {
        let found = self.maps.iter().find(|(base, size, _, access)| {
            let inside = address >= *base && address + bytes as u64 <= base + *size as u64;
            inside && (*access == Access::ReadWrite || (*access == Access::Write) == write)
        });
        let pointer = found.map(|(base, _, pointer, _)| (*pointer + (address - base) as usize) as *mut u8);
        self.stray += u64::from(pointer.is_none());
        pointer
    }

    fn read(&mut self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let from = self.memory(address, bytes, false)?;
        // SAFETY: mapped, hence valid by the contract of `Bus::map`.
        Some(unsafe { std::slice::from_raw_parts(from, bytes) }.to_vec())
    }

    fn write(&mut self, address: u64, data: &[u8]) -> bool {
        let Some(to) = self.memory(address, data.len(), true) else { return false };
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        true
    }

    fn entry(&mut self, channel: usize, entry: c::Completion) {
        let now = self.now;
        let ch = &mut self.channels[channel];
        ch.told = now;
        let lap_phase = ((ch.produced >> ch.ring_log2) & 1) as u8 ^ 1;
        let index = ch.produced & ((1 << ch.ring_log2) - 1);
        let address = ch.ring_base + 16 * u64::from(index);
        ch.produced = ch.produced.wrapping_add(1);
        let image = c::Completion { flags: entry.flags ^ lap_phase, ..entry }.to_le_bytes();
        // The half with the phase last, so that a thread which finds it finds the other half, too.
        for (half, word) in (0..).zip(image.chunks_exact(8)) {
            let Some(to) = self.memory(address + 8 * half, 8, true) else { return };
            let value = word.try_into().map(u64::from_ne_bytes).unwrap_or_default();
            // SAFETY: mapped, hence valid by the contract of `Bus::map`; a ring's entries are aligned, and only read atomically.
            unsafe { std::sync::atomic::AtomicU64::from_ptr(to.cast()) }.store(value, std::sync::atomic::Ordering::Release);
        }
        self.fire_if_due(channel);
    }

    fn fire_if_due(&mut self, channel: usize) {
        let now = self.now;
        let ch = &mut self.channels[channel];
        let Some(index) = ch.armed.filter(|index| ch.produced != *index) else { return };
        let (entries, time) = ch.moderation;
        let since = *ch.held_since.get_or_insert(now);
        if time == 0 || ch.produced.wrapping_sub(index) >= entries.max(1) || now >= since + time {
            ch.fires.0 += 1;
            self.fire_channel(channel);
        }
    }

    fn fire_channel(&mut self, channel: usize) {
        let ch = &mut self.channels[channel];
        (ch.armed, ch.held_since) = (None, None);
        let vector = usize::from(ch.vector);
        self.fire(vector);
    }

    /// Fires that come without an entry: what moderation has held back long enough, and early wakes.
    fn fire_by_time(&mut self, channel: usize) {
        self.fire_if_due(channel);
        let ch = &self.channels[channel];
        let left = ch.queue.front().filter(|posted| posted.pieces.is_some()).map(|posted| posted.descriptor.length - posted.moved);
        let early = match self.early {
            _ if ch.armed.is_none() => false,
            Some(Early::Honest) => !ch.led && left.is_some_and(|left| left <= ch.lead && ch.lead > 0),
            Some(Early::Wild) => self.random(8) == 0,
            _ => false,
        };
        if early {
            self.channels[channel].led = true;
            self.channels[channel].fires.1 += 1;
            self.fire_channel(channel);
        }
    }

    /// Nanoseconds until moderation lets something fire.
    fn next_due(&self) -> Option<u64> {
        let due = |ch: &Channel| ch.held_since.map(|since| (since + ch.moderation.1).saturating_sub(self.now));
        self.channels.iter().filter_map(due).min()
    }

    fn complete(&mut self, channel: usize, status: c::Status, message: (u32, u32)) {
        self.complete_with(channel, status as u8, message);
    }

    fn complete_with(&mut self, channel: usize, status: u8, message: (u32, u32)) {
        let posted = self.channels[channel].queue.pop_front().unwrap();
        self.channels[channel].led = false;
        let mut entry =
            c::Completion { bytes: posted.moved, offset: message.0, user: message.1, cookie: posted.descriptor.cookie, status, flags: 0 };
        let mut twice = false;
        match self.channels[channel].misbehave.take() {
            None => {}
            Some(Misbehaviour::WrongCookie) => entry.cookie ^= 0x5a5a,
            Some(Misbehaviour::TooManyBytes) => entry.bytes = posted.descriptor.length + 1,
            Some(Misbehaviour::BadStatus) => entry.status = 200,
            Some(Misbehaviour::WrongPhase) => entry.flags ^= 1,
            Some(Misbehaviour::Twice) => twice = true,
            Some(Misbehaviour::Fault(status)) => entry.status = status as u8,
        }
        self.entry(channel, entry);
        if twice {
            self.entry(channel, entry);
        }
    }

    /// The descriptors of the next slots are committed, if there is room for all.
    fn commit_batch(&mut self, channel: usize, count: usize) {
        if count == 0 {
            return;
        }
        self.channels[channel].staged = 0;
        let ch = &self.channels[channel];
        if self.places(channel) + count > usize::from(QUEUE_DEPTH) || !ch.enable || ch.error {
            let ch = &mut self.channels[channel];
            ch.overflows += 1;
            ch.error |= ch.enable;
            return;
        }
        self.batches += u64::from(count > 1);
        for _ in 0..count {
            let ch = &self.channels[channel];
            let (words, written) = ch.batch[ch.position as usize % ch.batch.len()];
            self.commit(channel, words, written != 0xf);
        }
    }

    /// Places in a channel's queue that are taken.
    fn places(&self, channel: usize) -> usize {
        let ch = &self.channels[channel];
        let places: u16 = ch.queue.iter().map(|posted| posted.places).sum::<u16>() + ch.prefixes.places;
        places.into()
    }

    /// What was written through a write-combining mapping arrives, in any order.
    fn drain(&mut self) {
        while !self.combining.is_empty() {
            let index = self.random(self.combining.len() as u64) as usize;
            let (offset, bytes) = self.combining.swap_remove(index);
            let n = (offset >> PAGE_SHIFT) - c::PAGE_CHANNELS;
            let (channel, start) = ((n / c::PAGES_PER_CHANNEL) as usize, (offset & ((1 << PAGE_SHIFT) - 1)) as usize);
            if n % c::PAGES_PER_CHANNEL == c::PAGE_CHANNEL_INLINE {
                self.channels[channel].slots[start..start + bytes.len()].copy_from_slice(&bytes);
                continue;
            }
            assert_eq!(n % c::PAGES_PER_CHANNEL, c::PAGE_CHANNEL_BATCH, "a combining write outside the inline and batch pages");
            let oldest = self.channels[channel].position - self.places(channel) as u64;
            let ch = &mut self.channels[channel];
            for (word, value) in (start / 4..).zip(bytes.chunks_exact(4)) {
                let (slot, slots) = ((word / 4) as u64, ch.batch.len() as u64);
                let ahead = (slot + slots - oldest % slots) % slots;
                assert!(ahead < slots / 2, "slot {slot} is {ahead} ahead of the oldest descriptor");
                let (words, written) = &mut ch.batch[slot as usize];
                words[word % 4] = value.try_into().map(u32::from_le_bytes).unwrap();
                *written |= 1 << (word % 4);
            }
        }
    }

    fn commit(&mut self, channel: usize, words: [u32; 4], torn: bool) {
        let places = self.places(channel);
        let ch = &mut self.channels[channel];
        let mut image = [0; 16];
        for (word, bytes) in words.iter().zip(image.chunks_mut(4)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let descriptor = c::Descriptor::from_le_bytes(image);
        if !ch.enable || ch.error || places >= usize::from(QUEUE_DEPTH) {
            ch.overflows += 1;
            ch.error |= ch.enable;
            return;
        }
        let slot = ch.position as usize % ch.batch.len().max(1);
        ch.position += 1;
        ch.batch.get_mut(slot).into_iter().for_each(|slot| slot.1 = 0);
        let kind = c::Kind::try_from((descriptor.control & c::DESCRIPTOR_CONTROL_KIND_MASK) as u8);
        ch.prefixes.places += 1;
        match kind {
            Ok(c::Kind::Attributes) if !torn => ch.prefixes.attributes = Some((descriptor.address, descriptor.length)),
            Ok(c::Kind::MessageLength) if !torn => ch.prefixes.length = descriptor.address,
            _ => {
                let mut posted = Posted { descriptor, torn, ..std::mem::take(&mut ch.prefixes) };
                if kind == Ok(c::Kind::Inline) {
                    let start = descriptor.address as usize;
                    posted.inline = ch.slots[start..start + descriptor.length as usize].to_vec();
                }
                ch.queue.push_back(posted);
            }
        }
    }

    fn doorbell(&mut self, channel: usize, offset: u64, value: u32) {
        match offset {
            c::DOORBELL_ARM_OFFSET => {
                self.channels[channel].armed = Some(value);
                self.fire_if_due(channel);
            }
            c::DOORBELL_LEAD_OFFSET => self.channels[channel].lead = value,
            c::DOORBELL_BATCH_OFFSET => self.commit_batch(channel, value as usize % 256),
            c::DOORBELL_CANCEL_OFFSET => {
                for posted in &mut self.channels[channel].queue {
                    posted.cancelled = Some(c::Status::Cancelled);
                }
            }
            _ if offset < 16 => {
                let ch = &mut self.channels[channel];
                let word = (offset / 4) as usize;
                ch.staged = if word == 0 || ch.staged == word { word + 1 } else { 0 };
                ch.stage[word] = value;
                if word == 3 {
                    let torn = ch.staged != 4;
                    ch.staged = 0;
                    let words = ch.stage;
                    self.commit(channel, words, torn);
                }
            }
            _ => {}
        }
    }

    fn reset_channel(&mut self, channel: usize) {
        while !self.channels[channel].queue.is_empty() {
            self.complete(channel, c::Status::Reset, (0, 0));
        }
        let ch = &mut self.channels[channel];
        let (slots, batch_slots) = (std::mem::take(&mut ch.slots), ch.batch.len());
        *ch = Channel { fires: ch.fires, ..Channel::new(slots, batch_slots) };
        if let Some(memory) = self.memory_of(channel) {
            self.memories[memory].open = None;
        } else if channel % 2 == 1 {
            self.loops[channel / 2].clear();
        }
    }

    fn privileged(&mut self, channel: usize, offset: u64, value: u32) {
        let ch = &mut self.channels[channel];
        match offset {
            c::CHANNEL_CONTROL_OFFSET => {
                ch.enable = value & c::CHANNEL_CONTROL_ENABLE_MASK != 0;
                ch.announce = value & c::CHANNEL_CONTROL_ANNOUNCE_MASK != 0;
            }
            c::CHANNEL_RESET_OFFSET if !self.stuck => self.reset_channel(channel),
            c::CHANNEL_RING_BASE_OFFSET => ch.ring_base = ch.ring_base >> 32 << 32 | u64::from(value),
            0x0c => ch.ring_base = u64::from(value) << 32 | ch.ring_base & 0xffff_ffff,
            c::CHANNEL_RING_LOG2_OFFSET => ch.ring_log2 = value,
            c::CHANNEL_VECTOR_OFFSET => ch.vector = value as u16,
            c::CHANNEL_MODERATION_OFFSET => {
                let entries = (value & c::CHANNEL_MODERATION_ENTRIES_MASK) >> c::CHANNEL_MODERATION_ENTRIES_LSB;
                let units = (value & c::CHANNEL_MODERATION_TIME_MASK) >> c::CHANNEL_MODERATION_TIME_LSB;
                ch.moderation = (entries, u64::from(units) * 64 * 1_000_000 / u64::from(CORE_CLOCK_KHZ));
            }
            _ => {}
        }
    }

    fn card_page(&mut self, offset: u64, value: u32) {
        let in_array = |base: u64| (base..base + 4 * c::USER_INTERRUPTS as u64).contains(&offset).then(|| ((offset - base) / 4) as usize);
        match offset {
            c::CARD_CONTROL_OFFSET => {
                for channel in 0..self.channels.len() {
                    self.reset_channel(channel);
                }
                self.loops.iter_mut().for_each(VecDeque::clear);
                self.registers.fill(0);
                self.irq_enable = 0;
                self.irq_count.fill(0);
            }
            c::CARD_WINDOW_STATUS_OFFSET => self.window_status &= !value,
            c::CARD_USER_IRQ_ENABLE_OFFSET => self.irq_enable = value,
            _ => {
                if let Some(index) = in_array(c::CARD_USER_IRQ_VECTOR_OFFSET) {
                    self.irq_vector[index] = value;
                }
            }
        }
    }

    fn write32(&mut self, bar: u8, offset: u64, value: u32) {
        if bar == c::BAR_DEVICE {
            self.stores.push((offset, value));
        }
        if bar == c::BAR_WINDOW {
            match offset as u32 {
                REGISTER_ERROR => self.window_status |= c::CARD_WINDOW_STATUS_ERROR_MASK,
                REGISTER_SILENT => self.window_status |= c::CARD_WINDOW_STATUS_TIMEOUT_MASK,
                offset => self.registers[offset as usize / 4] = value,
            }
            return;
        }
        let (page, offset) = (offset >> PAGE_SHIFT, offset & ((1 << PAGE_SHIFT) - 1));
        let Some(n) = page.checked_sub(c::PAGE_CHANNELS) else {
            if page == c::PAGE_CARD {
                self.card_page(offset, value);
            }
            return;
        };
        let channel = (n / c::PAGES_PER_CHANNEL) as usize;
        match n % c::PAGES_PER_CHANNEL {
            c::PAGE_CHANNEL_PRIVILEGED => self.privileged(channel, offset, value),
            c::PAGE_CHANNEL_DOORBELL => self.doorbell(channel, offset, value),
            _ => {}
        }
    }

    fn read32(&mut self, bar: u8, offset: u64, discovery: &[u8]) -> u32 {
        if bar == c::BAR_WINDOW {
            return match offset as u32 {
                REGISTER_ERROR => {
                    self.window_status |= c::CARD_WINDOW_STATUS_ERROR_MASK;
                    u32::MAX
                }
                REGISTER_SILENT => {
                    self.window_status |= c::CARD_WINDOW_STATUS_TIMEOUT_MASK;
                    u32::MAX
                }
                offset => self.registers[offset as usize / 4],
            };
        }
        let (page, offset) = (offset >> PAGE_SHIFT, offset & ((1 << PAGE_SHIFT) - 1));
        match page {
            c::PAGE_DISCOVERY => u32::from_le_bytes(discovery[offset as usize..offset as usize + 4].try_into().unwrap()),
            c::PAGE_CARD => match offset {
                c::CARD_WINDOW_STATUS_OFFSET => self.window_status,
                _ if (c::CARD_USER_IRQ_COUNT_OFFSET..c::CARD_USER_IRQ_COUNT_OFFSET + 64).contains(&offset) => {
                    self.irq_count[((offset - c::CARD_USER_IRQ_COUNT_OFFSET) / 4) as usize]
                }
                _ => self.link_counters.get(&offset).copied().unwrap_or(0),
            },
            _ if page >= c::PAGE_CHANNELS => {
                let ch = &self.channels[((page - c::PAGE_CHANNELS) / c::PAGES_PER_CHANNEL) as usize];
                match offset {
                    c::CHANNEL_STATUS_OFFSET => u32::from(ch.enable) | u32::from(ch.error) << c::CHANNEL_STATUS_ERROR_LSB,
                    c::CHANNEL_OVERFLOWS_OFFSET => ch.overflows,
                    c::CHANNEL_PRODUCED_OFFSET => ch.produced,
                    c::CHANNEL_RESET_OFFSET if self.stuck => {
                        self.now += 100_000_000; // no thread waits for this in real time
                        c::CHANNEL_RESET_RESET_MASK
                    }
                    _ => 0,
                }
            }
            _ => 0,
        }
    }
}

impl Bus for MockBus {
    fn name(&self) -> &str {
        "mock:loopback"
    }
    fn bar_bytes(&self, bar: u8) -> u64 {
        match bar {
            c::BAR_DEVICE => (c::PAGE_CHANNELS + c::PAGES_PER_CHANNEL * 2 * u64::from(self.settings.halves())) << PAGE_SHIFT,
            c::BAR_WINDOW => WINDOW_BYTES.into(),
            _ => 0,
        }
    }
    fn read32(&self, bar: u8, offset: u64) -> Result<u32> {
        Ok(self.lock()?.read32(bar, offset, &self.discovery))
    }
    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        Ok(u64::from(self.read32(bar, offset)?) | u64::from(self.read32(bar, offset + 4)?) << 32)
    }
    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()> {
        if offset & ((1 << PAGE_SHIFT) - 1) == c::DOORBELL_BATCH_OFFSET && value > 1 {
            self.may_store()?;
        }
        self.lock()?.write32(bar, offset, value);
        Ok(())
    }
    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()> {
        self.may_store()?;
        let mut card = self.lock()?;
        card.write32(bar, offset, value as u32);
        card.write32(bar, offset + 4, (value >> 32) as u32);
        Ok(())
    }
    fn write_combining(&self, _bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        self.may_store()?;
        self.lock()?.combining.push((offset, bytes.to_vec()));
        Ok(())
    }
    fn fence(&self) -> Result<()> {
        self.lock()?.drain();
        Ok(())
    }
    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64> {
        let mut card = self.lock()?;
        // Same place in the page as in the program, and a hole between any two.
        let address = card.next_map + (memory as u64 & 0xfff);
        card.next_map = (address + bytes as u64 + 0x1fff) & !0xfff;
        card.maps.push((address, bytes, memory as usize, access));
        Ok(address)
    }
    fn unmap(&self, address: u64, bytes: usize) -> Result<()> {
        let mut card = self.card.lock().unwrap();
        let position = card.maps.iter().position(|map| (map.0, map.1) == (address, bytes));
        let position = position.ok_or_else(|| BusError::Invalid(format!("unmap of {address:#x}, {bytes} bytes: not mapped")))?;
        if card.failing_unmaps {
            return Err(BusError::Invalid("a test wants no memory to be unmapped".into()));
        }
        card.maps.swap_remove(position);
        Ok(())
    }
    fn enable_vectors(&self, count: u16) -> Result<u16> {
        Ok(count.min(self.settings.vectors))
    }
    fn wait(&self, vector: u16, nanoseconds: u64) -> Result<Wake> {
        let mut waited = 0;
        loop {
            let mut card = self.lock()?;
            if std::mem::take(&mut card.fired[usize::from(vector)]) {
                // Waking takes its time; a card that fires without end must not stop the clock.
                for _ in 0..self.settings.wake.div_ceil(100) {
                    card.now += 100;
                    card.step();
                }
                return Ok(Wake::Fired);
            }
            if waited >= nanoseconds {
                return Ok(Wake::TimedOut);
            }
            let busy = card.step();
            let due = card.next_due().unwrap_or(u64::MAX).max(1);
            let tick = match (busy, self.settings.real_time) {
                (true, _) => 100,
                (false, true) => 50_000,
                (false, false) if card.early == Some(Early::Wild) => 100,
                (false, false) => due.min(nanoseconds - waited),
            };
            card.now += tick;
            waited += tick;
            drop(card);
            if !busy && self.settings.real_time {
                std::thread::sleep(Duration::from_nanos(tick));
                if towpath_system::signals::arrived() {
                    return Ok(Wake::Interrupted);
                }
            }
        }
    }
    fn event_fd(&self, vector: u16) -> Result<OwnedFd> {
        let mut card = self.lock()?;
        let event = card.events[usize::from(vector)].get_or_insert_with(|| towpath_system::event::new().unwrap());
        Ok(event.try_clone().unwrap())
    }
    fn poll(&self) -> Result<()> {
        let mut card = self.lock()?;
        card.step();
        card.now += 100;
        Ok(())
    }
    fn now(&self) -> u64 {
        self.card.lock().unwrap().now
    }
    fn reset(&self) -> Result<()> {
        Ok(())
    }
    fn wire(&self) -> Option<WireStatistics> {
        None
    }
    fn register_names(&self) -> Vec<(String, u32)> {
        vec![("threshold".into(), 0x10)]
    }
}
