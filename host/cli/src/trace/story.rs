// SPDX-License-Identifier: Apache-2.0
//! Which packets belong to which descriptor, from its stores to its completion and the interrupt that reports it.
//!
//! A packet of data belongs to the descriptor that is open and whose memory it reads or writes. The memory of a list is known as far as
//! the record has the table's entries; if it has not, data that no other descriptor claims belongs to a list when only one is open. What
//! cannot be told belongs to none.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde_json::{json, Map, Value};
use towpath_contract as contract;

use super::decode::{bytes_of, kind_of, Clocks, Decoder, Seen};
use super::Kind;

/// A packet, or clocks at a port of the core.
struct Event {
    ps: u64,
    kind: Kind,
    what: &'static str,
    to_card: bool,
    channel: Option<usize>,
    bytes: u64,
    /// Number of its descriptor.
    of: Option<usize>,
    text: String,
    clocks: Option<Clocks>,
}

struct Descriptor {
    channel: usize,
    what: contract::Descriptor,
    kind: String,
    posted: u64,
    ended: Option<(u64, contract::Completion)>,
    /// Of a list: where its next entries are read, and the pieces that they name.
    table: Option<u64>,
    pieces: Vec<Range<u64>>,
}

/// What happened, in the order of the record.
#[derive(Default)]
pub struct Story {
    events: Vec<Event>,
    descriptors: Vec<Descriptor>,
    /// Those without a completion.
    open: Vec<usize>,
    /// The card's reads under way, by tag: whose, from where, and whether entries of its table.
    reads: HashMap<u64, (Option<usize>, u64, bool)>,
    /// Stores for a descriptor that is not committed yet, and prefixes, by channel.
    stores: BTreeMap<usize, Vec<usize>>,
    /// Stores into inline slots, by channel and slot.
    inline: BTreeMap<(usize, u64), Vec<usize>>,
    /// The last completion of each channel that no interrupt has followed.
    unreported: BTreeMap<usize, usize>,
}

const WHAT: [&str; 5] = ["write", "read", "completion", "interrupt", "beats"];

impl Story {
    /// The next packet of the record, as the decoder has seen it.
    pub fn packet(&mut self, packet: &Map<String, Value>, seen: &Seen, decoder: &Decoder) {
        let number = |key: &str| packet.get(key).and_then(Value::as_u64);
        let word = |key: &str| packet.get(key).and_then(Value::as_str).unwrap_or("");
        let what = WHAT.into_iter().find(|what| *what == word("packet")).unwrap_or("");
        let (ps, to_card, bytes) = (number("ps").unwrap_or(0), word("to") == "card", number("bytes").unwrap_or(0));
        let at = self.events.len();
        let tag = number("tag").unwrap_or(0);
        let mut channel = seen.channel;
        let of = match (to_card, what, seen.channel) {
            (true, "write", Some(index)) => self.stored(at, ps, index, number("offset").unwrap_or(0), seen),
            (false, "write", Some(index)) => seen.ended.and_then(|completion| self.completed(ps, index, completion)),
            (false, "write", None) => self.owner(number("address").unwrap_or(0), false, decoder),
            (false, "read", _) => {
                let from = number("address").unwrap_or(0);
                let table = self.open.iter().copied().find(|open| self.descriptors[*open].table == Some(from));
                if let Some(list) = table {
                    self.descriptors[list].table = Some(from + bytes);
                }
                let owner = table.or_else(|| self.owner(from, true, decoder));
                self.reads.insert(tag, (owner, from, table.is_some()));
                owner
            }
            (true, "completion", _) => {
                let read = self.reads.get_mut(&tag).copied();
                if let Some((Some(owner), from, true)) = read {
                    self.entries(owner, from, &bytes_of(word("data")));
                }
                if let Some(read) = self.reads.get_mut(&tag) {
                    read.1 += bytes;
                }
                read.and_then(|read| read.0)
            }
            (false, "interrupt", _) => {
                let candidates = decoder.with_vector(number("vector").unwrap_or(0)).collect::<Vec<_>>();
                channel = candidates.first().copied().filter(|_| candidates.len() == 1);
                let reported = candidates.iter().filter_map(|channel| self.unreported.remove(channel)).last();
                // An early wake comes before the completion, for the descriptor in hand.
                reported.or_else(|| self.open.iter().copied().find(|open| candidates.contains(&self.descriptors[*open].channel)))
            }
            _ => None,
        };
        channel = channel.or_else(|| of.map(|of| self.descriptors[of].channel));
        let text = match super::place_of(packet) {
            place if place.is_empty() => seen.text.clone(),
            place if seen.text.is_empty() => place,
            place => format!("{place}: {}", seen.text),
        };
        self.events.push(Event {
            ps,
            kind: seen.kind,
            what,
            to_card,
            channel,
            bytes,
            of,
            text,
            clocks: (what == "beats").then(|| Clocks::of(packet)),
        });
    }

    /// A store to a channel's pages.
    fn stored(&mut self, at: usize, ps: u64, channel: usize, offset: u64, seen: &Seen) -> Option<usize> {
        for what in &seen.posted {
            let kind = kind_of(what);
            if matches!(kind, Ok(contract::Kind::Attributes | contract::Kind::MessageLength)) {
                continue;
            }
            let number = self.descriptors.len();
            for store in self.stores.remove(&channel).unwrap_or_default() {
                self.events[store].of = Some(number);
            }
            if kind == Ok(contract::Kind::Inline) {
                for store in self.inline.remove(&(channel, what.address)).unwrap_or_default() {
                    self.events[store].of = Some(number);
                }
            }
            let table = (kind == Ok(contract::Kind::List)).then_some(what.address);
            let pieces = match kind {
                Ok(contract::Kind::Direct) => std::iter::once(what.address..what.address.saturating_add(what.length.into())).collect(),
                _ => Vec::new(),
            };
            let kind = kind.map_or_else(|number| format!("kind {number}"), |kind| kind.name().into());
            self.descriptors.push(Descriptor { channel, what: *what, kind, posted: ps, ended: None, table, pieces });
            self.open.push(number);
        }
        match seen.kind {
            Kind::Descriptor if seen.posted.is_empty() => None,
            Kind::Descriptor => {
                // A store that commits nothing but prefixes belongs to what comes.
                let first = self.descriptors.iter().rposition(|one| one.channel == channel && one.posted == ps);
                if first.is_none() {
                    self.stores.entry(channel).or_default().push(at);
                }
                first
            }
            Kind::Doorbell if seen.is_part => {
                self.stores.entry(channel).or_default().push(at);
                None
            }
            Kind::Inline => {
                let bytes = contract::INLINE_SLOT_BYTES as u64;
                let slot = offset % contract::PAGE_BYTES_MIN as u64 / bytes * bytes;
                self.inline.entry((channel, slot)).or_default().push(at);
                None
            }
            _ => None,
        }
    }

    fn completed(&mut self, ps: u64, channel: usize, completion: contract::Completion) -> Option<usize> {
        let is_it = |one: &Descriptor| one.channel == channel && one.what.cookie == completion.cookie;
        let place = self.open.iter().position(|open| is_it(&self.descriptors[*open]))?;
        let number = self.open.remove(place);
        self.descriptors[number].ended = Some((ps, completion));
        self.unreported.insert(channel, number);
        Some(number)
    }

    /// Whose memory an address is.
    fn owner(&self, address: u64, is_read: bool, decoder: &Decoder) -> Option<usize> {
        let may = |one: &Descriptor| decoder.is_to_card(one.channel).is_none_or(|to_card| to_card == is_read);
        let open = || self.open.iter().copied().filter(|open| may(&self.descriptors[*open]));
        let holds = |open: &usize| self.descriptors[*open].pieces.iter().any(|piece| piece.contains(&address));
        open().find(holds).or_else(|| {
            let mut lists = open().filter(|open| self.descriptors[*open].table.is_some());
            lists.next().filter(|_| lists.next().is_none())
        })
    }

    /// Entries of a list's table have come.
    fn entries(&mut self, list: usize, from: u64, known: &[u8]) {
        let list = &mut self.descriptors[list];
        for entry in known.chunks_exact(contract::LIST_ENTRY_BYTES).filter(|_| from % contract::LIST_ENTRY_BYTES as u64 == 0) {
            let Ok(image) = <[u8; contract::LIST_ENTRY_BYTES]>::try_from(entry) else { return };
            let entry = contract::ListEntry::from_le_bytes(image);
            if entry.control & contract::LIST_ENTRY_CONTROL_LAST_MASK != 0 {
                list.pieces.push(entry.address..entry.address.saturating_add(entry.length.into()));
                return;
            }
            if entry.control & contract::LIST_ENTRY_CONTROL_CHAIN_MASK != 0 {
                list.table = Some(entry.address);
                return;
            }
            list.pieces.push(entry.address..entry.address.saturating_add(entry.length.into()));
        }
    }

    /// All of it, for the page: numbers in place of names, rows in place of objects.
    pub fn json(&self, head: &Value, decoder: &Decoder) -> Value {
        let kinds: Vec<String> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        let channels = (0..self.channels()).map(|index| json!({"name": decoder.name(index), "to_card": decoder.is_to_card(index)}));
        let number = |which: Option<usize>| which.map_or(-1, |which| which as i64);
        let event = |one: &Event| {
            let what = WHAT.iter().position(|what| *what == one.what);
            let clocks = one.clocks.as_ref().map(|it| {
                let period = if it.clocks > 1 { one.ps.saturating_sub(it.from) / (it.clocks - 1) } else { 0 };
                let (moved, held) = ((it.valid & it.ready).count_ones(), (it.valid & !it.ready).count_ones());
                let [valid, ready] = [it.valid, it.ready].map(|mask| format!("{mask:x}"));
                json!({"from": it.from.min(one.ps), "period": period, "clocks": it.clocks, "valid": valid, "ready": ready, "moved": moved, "held": held})
            });
            let to_card = u8::from(one.to_card);
            json!([one.ps, one.kind as u8, number(what), to_card, number(one.channel), one.bytes, number(one.of), one.text, clocks])
        };
        let descriptor = |one: &Descriptor| {
            let ended = one.ended.as_ref();
            let status = ended.map(|(_, completion)| {
                contract::Status::try_from(completion.status).map_or_else(|code| format!("status {code:?}"), |status| status.name().into())
            });
            json!({
                "channel": one.channel, "cookie": one.what.cookie, "kind": one.kind, "address": format!("{:#x}", one.what.address),
                "length": one.what.length, "end": one.what.control & contract::DESCRIPTOR_CONTROL_END_MASK != 0, "posted": one.posted,
                "ended": ended.map(|(ps, _)| ps), "status": status, "bytes": ended.map(|(_, completion)| completion.bytes),
            })
        };
        json!({
            "device": head["device"], "byte_fs": head["byte_fs"], "kinds": kinds, "what": WHAT, "channels": channels.collect::<Vec<_>>(),
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
            "descriptors": self.descriptors.iter().map(descriptor).collect::<Vec<_>>(),
        })
    }

    fn channels(&self) -> usize {
        self.events.iter().filter_map(|event| event.channel).max().map_or(0, |most| most + 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A record by hand, and the descriptor of each of its packets.
    #[derive(Default)]
    struct Record {
        story: Story,
        decoder: Decoder,
        ps: u64,
    }

    impl Record {
        fn line(&mut self, mut packet: Value) -> usize {
            self.ps += 1000;
            packet["ps"] = self.ps.into();
            let packet = packet.as_object().unwrap();
            let seen = self.decoder.packet(packet);
            self.story.packet(packet, &seen, &self.decoder);
            self.story.events.len() - 1
        }

        /// A store to a page of channel 0.
        fn store(&mut self, page: u64, at: u64, bytes: &[u8]) -> usize {
            let offset = (contract::PAGE_CHANNELS + page) * contract::PAGE_BYTES_MIN as u64 + at;
            self.line(json!({"to": "card", "packet": "write", "bar": 0, "offset": offset, "bytes": bytes.len(), "data": hex(bytes)}))
        }

        fn post(&mut self, what: contract::Descriptor) -> [usize; 2] {
            let image = what.to_le_bytes();
            let page = contract::PAGE_CHANNEL_DOORBELL;
            [self.store(page, 0, &image[..8]), self.store(page, 8, &image[8..])]
        }

        fn read(&mut self, address: u64, answer: &[u8]) -> [usize; 2] {
            [
                self.line(json!({"to": "host", "packet": "read", "address": address, "bytes": answer.len(), "tag": 9})),
                self.line(json!({"to": "card", "packet": "completion", "tag": 9, "status": "successful", "bytes": answer.len(), "data": hex(answer)})),
            ]
        }

        fn complete(&mut self, cookie: u16) -> usize {
            let image = contract::Completion { cookie, ..Default::default() }.to_le_bytes();
            self.line(json!({"to": "host", "packet": "write", "address": RING, "bytes": 16, "data": hex(&image)}))
        }

        fn of(&self, events: &[usize]) -> Vec<Option<usize>> {
            events.iter().map(|event| self.story.events[*event].of).collect()
        }
    }

    const RING: u64 = 0x8000;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn descriptor(kind: contract::Kind, address: u64, length: u32, cookie: u16) -> contract::Descriptor {
        contract::Descriptor { address, length, cookie, control: (kind as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB }
    }

    fn begun() -> Record {
        let mut record = Record::default();
        let page = contract::PAGE_CHANNEL_PRIVILEGED;
        record.store(page, contract::CHANNEL_RING_BASE_OFFSET, &RING.to_le_bytes());
        record.store(page, contract::CHANNEL_RING_LOG2_OFFSET, &4_u32.to_le_bytes());
        record.store(page, contract::CHANNEL_VECTOR_OFFSET, &3_u32.to_le_bytes());
        record
    }

    #[test]
    fn from_the_first_store_to_the_interrupt() {
        let mut record = begun();
        let interrupt = json!({"to": "host", "packet": "interrupt", "vector": 3});
        let prefix = record.post(descriptor(contract::Kind::Attributes, 5, 6, 0));
        let first = record.post(descriptor(contract::Kind::Direct, 0x10000, 64, 7));
        let second = record.post(descriptor(contract::Kind::Direct, 0x20000, 64, 8));
        let of_second = record.read(0x20000, &[1; 64]);
        let of_first = record.read(0x10020, &[1; 32]);
        let nobody = record.read(0x30000, &[1; 32]);
        let early = record.line(interrupt.clone());
        let done = record.complete(7);
        let late = record.line(interrupt.clone());
        let other = record.line(json!({"to": "host", "packet": "interrupt", "vector": 4}));
        assert_eq!(record.of(&[prefix, first].concat()), [Some(0); 4]);
        assert_eq!(record.of(&[second, of_second].concat()), [Some(1); 4]);
        assert_eq!(record.of(&of_first), [Some(0); 2]);
        assert_eq!(record.of(&nobody), [None; 2]);
        assert_eq!(record.of(&[early, done, late]), [Some(0); 3]);
        assert_eq!(record.of(&[other]), [None]);
        assert!(record.story.descriptors[0].ended.is_some() && record.story.descriptors[1].ended.is_none());
        // Memory of a descriptor that has ended belongs to no descriptor.
        let again = record.read(0x10020, &[1; 32]);
        assert_eq!(record.of(&again), [None; 2]);
    }

    #[test]
    fn inline_bytes_belong_to_the_descriptor_that_names_their_slot() {
        let mut record = begun();
        let one = record.store(contract::PAGE_CHANNEL_INLINE, 64, &[1; 32]);
        let other = record.store(contract::PAGE_CHANNEL_INLINE, 128, &[2; 64]);
        let rest = record.store(contract::PAGE_CHANNEL_INLINE, 96, &[1; 32]);
        record.post(descriptor(contract::Kind::Inline, 64, 64, 0));
        assert_eq!(record.of(&[one, other, rest]), [Some(0), None, Some(0)]);
    }

    #[test]
    fn the_pieces_of_a_list_are_read_from_its_table() {
        let mut record = begun();
        let entry = |address: u64, length: u32, control: u32| contract::ListEntry { address, length, control }.to_le_bytes();
        record.post(descriptor(contract::Kind::List, 0x10000, 96, 0));
        record.post(descriptor(contract::Kind::List, 0x50000, 96, 1));
        let table = record.read(0x10000, &[entry(0x20000, 32, 0), entry(0x11000, 0, contract::LIST_ENTRY_CONTROL_CHAIN_MASK)].concat());
        let rest = record.read(0x11000, &entry(0x30010, 64, contract::LIST_ENTRY_CONTROL_LAST_MASK));
        let data = [record.read(0x30010, &[1; 64]), record.read(0x20000, &[1; 32])].concat();
        let beside = record.read(0x30050, &[1; 64]);
        assert_eq!(record.of(&[&table[..], &rest, &data].concat()), [Some(0); 8]);
        assert_eq!(record.of(&beside), [None; 2], "of either list");
        record.complete(0);
        let only = record.read(0x30050, &[1; 64]);
        assert_eq!(record.of(&only), [Some(1); 2], "of the only list");
    }

    #[test]
    fn a_batch_commits_what_its_slots_hold() {
        let mut record = begun();
        let entry = contract::DISCOVERY_ENTRY_OFFSET_VALUE as u64;
        for (at, value) in [
            (contract::DISCOVERY_ENTRY_OFFSET_OFFSET, contract::DISCOVERY_ENTRY_OFFSET_VALUE),
            (contract::DISCOVERY_ENTRY_BYTES_OFFSET, contract::DISCOVERY_ENTRY_BYTES_VALUE),
            (entry + contract::CHANNEL_ENTRY_BATCH_SLOTS_OFFSET, 2),
        ] {
            record.line(json!({"to": "card", "packet": "read", "bar": 0, "offset": at, "bytes": 2, "tag": 1}));
            record.line(json!({"to": "host", "packet": "completion", "tag": 1, "status": "successful", "bytes": 2, "data": hex(&value.to_le_bytes())}));
        }
        record.post(descriptor(contract::Kind::Direct, 0x10000, 64, 0));
        // Positions 1 and 2: slots 1 and 0.
        let [one, other] =
            [(1, 0x20000), (2, 0x30000)].map(|(cookie, from)| descriptor(contract::Kind::Direct, from, 64, cookie).to_le_bytes());
        let stores = [record.store(contract::PAGE_CHANNEL_BATCH, 0, &other), record.store(contract::PAGE_CHANNEL_BATCH, 16, &one)];
        let commit = record.store(contract::PAGE_CHANNEL_DOORBELL, contract::DOORBELL_BATCH_OFFSET, &2_u32.to_le_bytes());
        let cookies: Vec<u16> = record.story.descriptors.iter().map(|one| one.what.cookie).collect();
        assert_eq!(cookies, [0, 1, 2]);
        let data = [record.read(0x30000, &[1; 64]), record.read(0x20000, &[1; 64])].concat();
        assert_eq!(record.of(&data), [Some(2), Some(2), Some(1), Some(1)]);
        assert!(record.of(&stores).iter().all(Option::is_some) && record.of(&[commit])[0].is_some());
    }
}
