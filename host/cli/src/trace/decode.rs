// SPDX-License-Identifier: Apache-2.0
//! What the packets mean, by the contract: learnt from the packets themselves, from the discovery that the library reads to the rings that
//! it sets up.
//!
//! What came before the record, or is not the contract's, is shown as it is: nothing here fails.

use std::collections::{BTreeMap, HashMap};

use serde_json::{json, Map, Value};
use towpath::DeviceInfo;
use towpath_contract as contract;

use super::Kind;

/// What a packet means.
pub struct Seen {
    pub kind: Kind,
    /// Index of the channel it belongs to.
    pub channel: Option<usize>,
    /// For people.
    pub text: String,
    /// For machines.
    pub fields: Map<String, Value>,
    /// The descriptors that this packet commits.
    pub posted: Vec<contract::Descriptor>,
    /// The completion that it is; message starts are none.
    pub ended: Option<contract::Completion>,
    /// The host reads the discovery table, or the answer to that.
    pub is_discovery: bool,
    /// Part of a descriptor that another store commits.
    pub is_part: bool,
}

#[derive(Default)]
struct Channel {
    /// Words of a descriptor that have come.
    stage: [u8; contract::DESCRIPTOR_BYTES],
    /// Not all bytes of these words are known.
    in_part: bool,
    ring_base: u64,
    ring_log2: u32,
    /// The batch page's slots, where all bytes are known.
    slots: HashMap<u64, [u8; contract::DESCRIPTOR_BYTES]>,
    /// Descriptors committed since its last reset.
    position: u64,
    vector: Option<u64>,
}

/// The state so far.
pub struct Decoder {
    /// The page of discovery, as far as it was read.
    discovery: Vec<u8>,
    channels: BTreeMap<usize, Channel>,
    /// Reads of the card under way: where from.
    reads: HashMap<u64, (u64, u64)>,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder { discovery: vec![0; contract::PAGE_BYTES_MIN], channels: BTreeMap::new(), reads: HashMap::new() }
    }
}

/// Clocks of a stream; bit 0 of the masks is the first.
pub struct Clocks {
    pub from: u64,
    pub clocks: u64,
    pub valid: u64,
    pub ready: u64,
}

impl Clocks {
    pub fn of(packet: &Map<String, Value>) -> Clocks {
        let mask = |key: &str| u64::from_str_radix(packet.get(key).and_then(Value::as_str).unwrap_or(""), 16).unwrap_or(0);
        let number = |key: &str| packet.get(key).and_then(Value::as_u64).unwrap_or(0);
        let clocks = number("clocks").clamp(1, 64);
        let within = u64::MAX >> (64 - clocks);
        Clocks { from: number("from"), clocks, valid: mask("valid") & within, ready: mask("ready") & within }
    }
}

/// The payload of a packet.
struct Payload {
    /// From its first byte on, as far as they are known.
    known: Vec<u8>,
    /// All there are.
    bytes: u64,
}

impl Payload {
    fn of(packet: &Map<String, Value>) -> Payload {
        let digits = |key: &str| bytes_of(packet.get(key).and_then(Value::as_str).unwrap_or(""));
        let data = digits("data");
        let known = if data.is_empty() { digits("first") } else { data };
        let length = packet.get("bytes").and_then(Value::as_u64).unwrap_or(0);
        Payload { bytes: length.max(known.len() as u64), known }
    }

    fn is_whole(&self) -> bool {
        self.known.len() as u64 == self.bytes
    }

    /// A register's content.
    fn value(&self) -> String {
        match self.known.len() {
            0 => format!("{} bytes", self.bytes),
            length if length > 8 => format!("{length} bytes"),
            _ if self.is_whole() => format!("{:#x}", long(&self.known)),
            _ => format!("{:#x} ..., {} bytes", long(&self.known), self.bytes),
        }
    }
}

fn seen(kind: Kind, channel: Option<usize>, text: impl Into<String>) -> Seen {
    Seen { kind, channel, text: text.into(), fields: Map::new(), posted: Vec::new(), ended: None, is_discovery: false, is_part: false }
}

impl Decoder {
    /// For packets of a card that is open.
    pub fn of(card: &DeviceInfo) -> Decoder {
        const FIRST: u64 = contract::DISCOVERY_ENTRY_OFFSET_VALUE as u64;
        const ENTRY: u64 = contract::DISCOVERY_ENTRY_BYTES_VALUE as u64;
        let mut decoder = Decoder::default();
        let mut set = |at: u64, bytes: &[u8]| {
            decoder.discovery.iter_mut().skip(at as usize).zip(bytes).for_each(|(old, byte)| *old = *byte);
        };
        set(contract::DISCOVERY_ENTRY_OFFSET_OFFSET, &(FIRST as u16).to_le_bytes());
        set(contract::DISCOVERY_ENTRY_BYTES_OFFSET, &(ENTRY as u16).to_le_bytes());
        for channel in &card.channels {
            set(FIRST + u64::from(channel.index) * ENTRY + contract::CHANNEL_ENTRY_NAME_OFFSET, channel.name.as_bytes());
        }
        decoder
    }

    /// The next packet of the record.
    pub fn packet(&mut self, packet: &Map<String, Value>) -> Seen {
        let number = |key: &str| packet.get(key).and_then(Value::as_u64).unwrap_or(0);
        let word = |key: &str| packet.get(key).and_then(Value::as_str).unwrap_or("");
        let data = Payload::of(packet);
        let (bar, offset, tag) = (number("bar"), number("offset"), number("tag"));
        match (word("to"), word("packet")) {
            ("card", "write") => self.written(bar, offset, &data),
            ("card", "read") => {
                self.reads.insert(tag, (bar, offset));
                let is_discovery = (bar, offset >> self.shift()) == (contract::BAR_DEVICE.into(), contract::PAGE_DISCOVERY);
                Seen { is_discovery, ..seen(Kind::Register, None, format!("read {}", place(bar, offset, self.shift()))) }
            }
            ("card", "completion") => seen(Kind::Data, None, if word("status") == "successful" { "" } else { word("status") }),
            ("host", "completion") => {
                let from = self.reads.remove(&tag);
                if let Some((0, offset)) = from.filter(|_| offset < contract::PAGE_BYTES_MIN as u64) {
                    let end = (offset as usize).saturating_add(data.known.len());
                    if let Some(known) = self.discovery.get_mut(offset as usize..end) {
                        known.copy_from_slice(&data.known);
                    }
                }
                let text = match word("status") {
                    "successful" => format!("is {}", data.value()),
                    status => status.into(),
                };
                let of_discovery =
                    |(bar, offset): (u64, u64)| (bar, offset >> self.shift()) == (contract::BAR_DEVICE.into(), contract::PAGE_DISCOVERY);
                Seen { is_discovery: from.is_some_and(of_discovery), ..seen(Kind::Register, None, text) }
            }
            ("host", "write") => self.came(number("address"), &data),
            ("", "beats") => self.clocks(packet),
            ("host", "interrupt") => seen(Kind::Interrupt, None, format!("vector {}", number("vector"))),
            _ => seen(Kind::Data, None, ""),
        }
    }

    /// Clocks at a stream of the user core.
    fn clocks(&self, packet: &Map<String, Value>) -> Seen {
        let index = packet.get("port").and_then(Value::as_u64).unwrap_or(0).min(u64::from(u16::MAX)) as usize;
        let Clocks { clocks, valid, ready, .. } = Clocks::of(packet);
        let (moved, held) = ((valid & ready).count_ones(), (valid & !ready).count_ones());
        let by = match self.is_to_card(index) {
            Some(true) => " by the core",
            Some(false) => " by the card",
            None => "",
        };
        let held = if held == 0 { String::new() } else { format!(", {held} held back{by}") };
        seen(Kind::Beats, Some(index), format!("{moved} beats in {clocks} clocks{held}"))
    }

    /// A store of the host's.
    fn written(&mut self, bar: u64, offset: u64, payload: &Payload) -> Seen {
        let data = payload.known.as_slice();
        let (page, within) = (offset >> self.shift(), offset & ((1 << self.shift()) - 1));
        if bar != u64::from(contract::BAR_DEVICE) || page < contract::PAGE_CHANNELS {
            let is_control = page == contract::PAGE_CARD && within == contract::CARD_CONTROL_OFFSET;
            if is_control && short(data) & u64::from(contract::CARD_CONTROL_RESET_MASK) != 0 {
                // All channels begin anew.
                self.channels.values_mut().for_each(|channel| channel.position = 0);
            }
            return seen(Kind::Register, None, format!("{} = {}", place(bar, offset, self.shift()), payload.value()));
        }
        let (index, page) = (
            (page - contract::PAGE_CHANNELS) / contract::PAGES_PER_CHANNEL,
            (page - contract::PAGE_CHANNELS) % contract::PAGES_PER_CHANNEL,
        );
        let index = index as usize;
        let slots = self.entry_word(index, contract::CHANNEL_ENTRY_BATCH_SLOTS_OFFSET);
        let channel = self.channels.entry(index).or_default();
        let number = |low: u64| data.get(..8).map_or_else(|| low | short(data), long);
        match (page, within) {
            (contract::PAGE_CHANNEL_DOORBELL, at) if at < contract::DESCRIPTOR_BYTES as u64 => {
                let at = at as usize;
                let end = at.saturating_add(payload.bytes as usize).min(contract::DESCRIPTOR_BYTES);
                let known = data.len().min(end - at);
                channel.stage[at..at + known].copy_from_slice(&data[..known]);
                channel.in_part = at + known < end || at > 0 && channel.in_part;
                channel.position += u64::from(end == contract::DESCRIPTOR_BYTES);
                if end == contract::DESCRIPTOR_BYTES && channel.in_part {
                    seen(Kind::Descriptor, Some(index), "a descriptor, not known whole")
                } else if end == contract::DESCRIPTOR_BYTES {
                    descriptor(index, &contract::Descriptor::from_le_bytes(channel.stage))
                } else {
                    Seen { is_part: true, ..seen(Kind::Doorbell, Some(index), "a descriptor's first words") }
                }
            }
            (contract::PAGE_CHANNEL_DOORBELL, contract::DOORBELL_BATCH_OFFSET) => channel.batch(index, short(data), slots),
            (contract::PAGE_CHANNEL_DOORBELL, at) => {
                let what = match at {
                    contract::DOORBELL_ARM_OFFSET => "arm at",
                    contract::DOORBELL_CANCEL_OFFSET => "cancel",
                    contract::DOORBELL_LEAD_OFFSET => "lead",
                    contract::DOORBELL_FILL_OFFSET => "fill level",
                    _ => "doorbell",
                };
                seen(Kind::Doorbell, Some(index), format!("{what} {}", short(data)))
            }
            (contract::PAGE_CHANNEL_INLINE, at) => {
                let slot = at / contract::INLINE_SLOT_BYTES as u64;
                seen(Kind::Inline, Some(index), format!("slot {slot}, from byte {}", at % contract::INLINE_SLOT_BYTES as u64))
            }
            (contract::PAGE_CHANNEL_BATCH, at) => {
                let slot = |at: u64| at / contract::DESCRIPTOR_BYTES as u64;
                let (first, last) = (slot(at), slot(at.saturating_add(payload.bytes.saturating_sub(1))));
                channel.fill(at, payload);
                Seen { is_part: true, ..seen(Kind::Doorbell, Some(index), format!("descriptors for batch slots {first} to {last}")) }
            }
            (contract::PAGE_CHANNEL_PRIVILEGED, at) => {
                let ring = channel.ring_base;
                let what = match at {
                    contract::CHANNEL_CONTROL_OFFSET => "control",
                    contract::CHANNEL_RESET_OFFSET => {
                        channel.position = 0;
                        "reset"
                    }
                    // Of an address that is not known whole nothing can be told.
                    contract::CHANNEL_RING_BASE_OFFSET => {
                        channel.ring_base = if payload.is_whole() { number(channel.ring_base & !0xffff_ffff) } else { 0 };
                        "ring base"
                    }
                    at if at == contract::CHANNEL_RING_BASE_OFFSET + 4 => {
                        channel.ring_base = channel.ring_base & 0xffff_ffff | short(data) << 32;
                        "ring base, upper half"
                    }
                    contract::CHANNEL_RING_LOG2_OFFSET => {
                        channel.ring_log2 = (short(data) as u32).min(16);
                        "ring log2"
                    }
                    contract::CHANNEL_VECTOR_OFFSET => {
                        channel.vector = payload.is_whole().then(|| short(data));
                        "vector"
                    }
                    contract::CHANNEL_MODERATION_OFFSET => "moderation",
                    contract::CHANNEL_WEIGHT_OFFSET => "weight",
                    contract::CHANNEL_TRAFFIC_CLASS_OFFSET => "traffic class",
                    contract::CHANNEL_RATE_OFFSET => "rate",
                    _ => "register",
                };
                let base = channel.ring_base;
                if base != ring {
                    // Another program's ring was there before.
                    self.channels.retain(|other, channel| *other == index || channel.ring_base != base);
                }
                seen(Kind::Register, Some(index), format!("{what} = {}", payload.value()))
            }
            _ => seen(Kind::Register, Some(index), format!("{} = {}", place(bar, offset, self.shift()), payload.value())),
        }
    }

    /// A write of the card's into memory: a completion if it goes into a ring.
    fn came(&self, address: u64, payload: &Payload) -> Seen {
        let into = |channel: &Channel| {
            let bytes = (contract::COMPLETION_BYTES as u64) << channel.ring_log2;
            channel.ring_base != 0 && address >= channel.ring_base && address - channel.ring_base < bytes
        };
        let ring = self.channels.iter().find(|(_, channel)| into(channel)).map(|(index, _)| *index);
        match (ring, <[u8; contract::COMPLETION_BYTES]>::try_from(payload.known.as_slice())) {
            (Some(index), Ok(image)) => completion(index, &contract::Completion::from_le_bytes(image)),
            _ => seen(Kind::Data, None, ""),
        }
    }

    /// Log2 of a page's bytes; the least possible, until discovery has reported it.
    fn shift(&self) -> u32 {
        u32::from(self.discovery[contract::DISCOVERY_PAGE_SHIFT_OFFSET as usize]).clamp(12, 16)
    }

    /// The channels whose interrupts have this vector.
    pub fn with_vector(&self, vector: u64) -> impl Iterator<Item = usize> + '_ {
        self.channels.iter().filter(move |(_, channel)| channel.vector == Some(vector)).map(|(index, _)| *index)
    }

    /// Whether a channel carries data to the card; none: discovery has not told.
    pub fn is_to_card(&self, channel: usize) -> Option<bool> {
        let entry = self.entry(channel);
        if self.name(channel).starts_with("channel ") {
            return None;
        }
        let direction = *self.discovery.get(entry + contract::CHANNEL_ENTRY_DIRECTION_OFFSET as usize)?;
        Some(direction == contract::Direction::H2c as u8)
    }

    /// Where a channel's entry begins in discovery.
    fn entry(&self, channel: usize) -> usize {
        let word = |offset: u64| usize::from(u16::from_le_bytes([self.discovery[offset as usize], self.discovery[offset as usize + 1]]));
        channel.saturating_mul(word(contract::DISCOVERY_ENTRY_BYTES_OFFSET)).saturating_add(word(contract::DISCOVERY_ENTRY_OFFSET_OFFSET))
    }

    /// 16 bits of a channel's entry; 0 where they are not known.
    fn entry_word(&self, channel: usize, offset: u64) -> u64 {
        let at = self.entry(channel).saturating_add(offset as usize);
        long(self.discovery.get(at..at.saturating_add(2)).unwrap_or_default())
    }

    /// What a channel is called: by discovery, or its number.
    pub fn name(&self, channel: usize) -> String {
        let at = self.entry(channel).saturating_add(contract::CHANNEL_ENTRY_NAME_OFFSET as usize);
        let name = self.discovery.get(at..at.saturating_add(contract::NAME_BYTES)).unwrap_or_default();
        let name: String = name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
        if name.is_empty() {
            format!("channel {channel}")
        } else {
            name
        }
    }

    /// Whether the user means this channel.
    pub fn is_called(&self, channel: usize, wanted: &str) -> bool {
        self.name(channel) == wanted || wanted.parse() == Ok(channel)
    }
}

impl Channel {
    /// A store into the batch page.
    fn fill(&mut self, at: u64, payload: &Payload) {
        const BYTES: u64 = contract::DESCRIPTOR_BYTES as u64;
        let end = at.saturating_add(payload.bytes).min(at + contract::PAGE_BYTES_MIN as u64);
        for slot in at / BYTES..end.div_ceil(BYTES) {
            let (from, to) = ((slot * BYTES).max(at), ((slot + 1) * BYTES).min(end));
            let known = payload.known.get((from - at) as usize..(to - at) as usize);
            match known {
                Some(known) => {
                    let place = self.slots.entry(slot).or_default();
                    place[(from - slot * BYTES) as usize..(to - slot * BYTES) as usize].copy_from_slice(known);
                }
                None => {
                    self.slots.remove(&slot);
                }
            }
        }
    }

    /// The next `count` descriptors of the batch page.
    fn batch(&mut self, index: usize, count: u64, slots: u64) -> Seen {
        let positions = self.position..self.position + (count & 0xff);
        self.position = positions.end;
        let images = positions.filter_map(|position| self.slots.get(&position.checked_rem(slots)?));
        let all: Vec<Seen> = images.map(|image| descriptor(index, &contract::Descriptor::from_le_bytes(*image))).collect();
        let mut text = format!("commit a batch of {count}");
        for (number, one) in all.iter().enumerate() {
            text += if number == 0 { ": " } else { "; " };
            text += &one.text;
        }
        let fields = all.iter().filter_map(|one| one.fields.get("descriptor").cloned()).collect::<Vec<_>>();
        let kind = if all.is_empty() { Kind::Doorbell } else { Kind::Descriptor };
        let mut it = Seen { posted: all.into_iter().flat_map(|one| one.posted).collect(), ..seen(kind, Some(index), text) };
        if !fields.is_empty() {
            it.fields.insert("descriptors".into(), fields.into());
        }
        it
    }
}

/// Kind of a descriptor.
pub fn kind_of(what: &contract::Descriptor) -> Result<contract::Kind, u8> {
    let number = ((what.control & contract::DESCRIPTOR_CONTROL_KIND_MASK) >> contract::DESCRIPTOR_CONTROL_KIND_LSB) as u8;
    contract::Kind::try_from(number).map_err(|_| number)
}

fn descriptor(channel: usize, what: &contract::Descriptor) -> Seen {
    let &contract::Descriptor { address, length, cookie, control } = what;
    let end = control & contract::DESCRIPTOR_CONTROL_END_MASK != 0;
    let kind = kind_of(what).map_or_else(|number| format!("kind {number}"), |kind| kind.name().into());
    let last = if end { ", end of message" } else { "" };
    let text = format!("descriptor {cookie}, {kind}, {length} bytes at {address:#x}{last}");
    let fields = json!({"descriptor": {"address": address, "length": length, "cookie": cookie, "kind": kind, "end": end}});
    let fields = fields.as_object().cloned().unwrap_or_default();
    Seen { fields, posted: vec![*what], ..seen(Kind::Descriptor, Some(channel), text) }
}

fn completion(channel: usize, what: &contract::Completion) -> Seen {
    let &contract::Completion { bytes, offset, user, cookie, status, flags } = what;
    let start = flags & contract::COMPLETION_FLAGS_START_MASK != 0;
    let outcome = contract::Status::try_from(status).map_or_else(|_| format!("status {status}"), |status| status.name().into());
    let text = if start {
        format!("message start, length {}, offset {offset}, user word {user:#x}", u64::from(bytes) | u64::from(cookie) << 32)
    } else {
        format!("completion {cookie}, {bytes} bytes, {}", outcome.replace('_', " "))
    };
    let phase = flags & contract::COMPLETION_FLAGS_PHASE_MASK;
    let fields = json!({"completion": {"bytes": bytes, "offset": offset, "user": user, "cookie": cookie, "status": outcome, "start": start, "phase": phase}});
    let fields = fields.as_object().cloned().unwrap_or_default();
    Seen { fields, ended: (!start).then_some(*what), ..seen(Kind::Completion, Some(channel), text) }
}

/// A register's place in words.
fn place(bar: u64, offset: u64, shift: u32) -> String {
    let within = offset & ((1 << shift) - 1);
    match (bar, offset >> shift) {
        (0, contract::PAGE_DISCOVERY) => format!("discovery {within:#x}"),
        (0, contract::PAGE_CARD) => format!("card {within:#x}"),
        (0, contract::PAGE_MSIX) => format!("MSI-X {within:#x}"),
        (0, _) => format!("{offset:#x}"),
        _ => format!("user register {offset:#x}"),
    }
}

/// Bytes from hexadecimal digits, as far as they are some.
pub fn bytes_of(digits: &str) -> Vec<u8> {
    digits.as_bytes().chunks(2).map_while(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn long(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The first dword.
fn short(bytes: &[u8]) -> u64 {
    long(&bytes[..bytes.len().min(4)])
}
