// SPDX-License-Identifier: Apache-2.0
//! Replays the golden traces of `contract/traces` against the user-space driver: what the trace asks for is asked of the driver, whose stores
//! are compared with the trace's; the card's lines are carried out in memory, and what the driver makes of them is compared.
//!
//! The driver is free where the contract is: it numbers cookies and slots itself, sends short pieces inline, writes one table where the trace has
//! a chain, posts a descriptor and its prefixes as a batch, and does not cancel when nothing is in flight.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::undocumented_unsafe_blocks
)]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use towpath_bus::{Access, Bus, BusError, Result, Wake};
use towpath_contract as c;
use towpath_driver::{Channel, ChannelOptions, Driver, Error, Message, Notify, Piece, Ticket};
use towpath_userspace::UserDriver;

#[allow(dead_code)]
#[path = "../../../contract/traces/golden.rs"]
mod golden;
use golden::{data, number, Trace};

const PAGE: u64 = 4096;

#[derive(Default)]
struct TraceBus {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    discovery: BTreeMap<u64, u8>,
    /// Sizes of BARs that the trace gives.
    bars: HashMap<u8, u64>,
    /// Offset in BAR 0 and value, in words.
    stores: Vec<(u64, u32)>,
    combined: BTreeMap<u64, u8>,
    fenced: bool,
    /// Descriptors committed since the last reset, by the page of their doorbells.
    positions: HashMap<u64, u64>,
    batches: usize,
    /// Where the trace has a piece of our memory.
    places: HashMap<usize, u64>,
    next_ring: u64,
    free: u64,
    maps: Vec<(u64, usize, usize)>,
    /// Entries that the card writes when it sees a cancel or a reset.
    answer: Vec<(u64, [u8; 16])>,
    now: u64,
}

impl Inner {
    fn memory(&self, address: u64, bytes: usize) -> *mut u8 {
        let found = self.maps.iter().find(|m| address >= m.0 && address + bytes as u64 <= m.0 + m.1 as u64);
        let found = found.unwrap_or_else(|| panic!("the card uses {address:#x}, {bytes} bytes: not mapped"));
        (found.2 + (address - found.0) as usize) as *mut u8
    }
    fn write(&self, address: u64, bytes: &[u8]) {
        // SAFETY: mapped by the driver, hence valid.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory(address, bytes.len()), bytes.len()) };
    }
    /// The descriptors of a batch, as if each had come by the doorbell.
    fn commit(&mut self, doorbells: u64, count: u32) {
        assert!(self.fenced && count > 1, "a batch of {count}");
        self.batches += 1;
        let page = doorbells + (c::PAGE_CHANNEL_BATCH - c::PAGE_CHANNEL_DOORBELL) * PAGE;
        let slots = u64::from(c::ChannelEntry::from_image(&self.entry(doorbells / PAGE)).batch_slots);
        for _ in 0..count {
            let position = self.positions.entry(doorbells).or_default();
            let slot = page + *position % slots * c::DESCRIPTOR_BYTES as u64;
            *position += 1;
            for word in (0..c::DESCRIPTOR_BYTES as u64).step_by(4) {
                let bytes = [0, 1, 2, 3].map(|byte| self.combined.remove(&(slot + word + byte)).expect("a dword of a slot"));
                self.stores.push((doorbells + c::DOORBELL_DESCRIPTOR_OFFSET + word, u32::from_le_bytes(bytes)));
            }
        }
    }
    /// The discovery entry of the channel with this page.
    fn entry(&self, page: u64) -> [u8; c::ChannelEntry::IMAGE_BYTES] {
        let channel = (page - c::PAGE_CHANNELS) / c::PAGES_PER_CHANNEL;
        let at = c::DISCOVERY_CHANNEL_ENTRY_OFFSET + c::DISCOVERY_CHANNEL_ENTRY_STRIDE * channel;
        std::array::from_fn(|byte| self.discovery.get(&(at + byte as u64)).copied().unwrap_or(0))
    }
    fn read(&self, address: u64, bytes: usize) -> Vec<u8> {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.memory(address, bytes), bytes) }.to_vec()
    }
}

impl Bus for TraceBus {
    fn name(&self) -> &str {
        "trace"
    }
    fn bar_bytes(&self, bar: u8) -> u64 {
        let usual = if bar == c::BAR_DEVICE { 1 << 20 } else { PAGE };
        self.inner.lock().unwrap().bars.get(&bar).copied().unwrap_or(usual)
    }
    fn read32(&self, _bar: u8, offset: u64) -> Result<u32> {
        let inner = self.inner.lock().unwrap();
        let byte = |i: u64| inner.discovery.get(&(offset + i)).copied().unwrap_or(0);
        Ok(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]))
    }
    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        Ok(u64::from(self.read32(bar, offset)?) | u64::from(self.read32(bar, offset + 4)?) << 32)
    }
    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()> {
        assert_eq!(bar, c::BAR_DEVICE);
        let mut inner = self.inner.lock().unwrap();
        let place = ((offset / PAGE).wrapping_sub(c::PAGE_CHANNELS) % c::PAGES_PER_CHANNEL, offset % PAGE);
        let doorbells = offset - offset % PAGE;
        match place {
            (c::PAGE_CHANNEL_DOORBELL, c::DOORBELL_BATCH_OFFSET) => {
                inner.commit(doorbells, value);
                return Ok(());
            }
            (c::PAGE_CHANNEL_DOORBELL, 12) => *inner.positions.entry(doorbells).or_default() += 1,
            (c::PAGE_CHANNEL_PRIVILEGED, c::CHANNEL_RESET_OFFSET) => drop(inner.positions.remove(&(doorbells + PAGE))),
            _ => {}
        }
        inner.stores.push((offset, value));
        let ends = [(c::PAGE_CHANNEL_DOORBELL, c::DOORBELL_CANCEL_OFFSET), (c::PAGE_CHANNEL_PRIVILEGED, c::CHANNEL_RESET_OFFSET)];
        if offset / PAGE >= c::PAGE_CHANNELS && ends.contains(&place) {
            for (address, image) in std::mem::take(&mut inner.answer) {
                inner.write(address, &image);
            }
        }
        Ok(())
    }
    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()> {
        self.write32(bar, offset, value as u32)?;
        self.write32(bar, offset + 4, (value >> 32) as u32)
    }
    fn write_combining(&self, _bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut inner = self.inner.lock().unwrap();
        inner.fenced = false;
        inner.combined.extend((offset..).zip(bytes.iter().copied()));
        Ok(())
    }
    fn fence(&self) -> Result<()> {
        self.inner.lock().unwrap().fenced = true;
        Ok(())
    }
    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64> {
        let mut inner = self.inner.lock().unwrap();
        let address = match (inner.places.get(&(memory as usize)), access) {
            (Some(place), _) => *place,
            (None, Access::ReadWrite) => inner.next_ring,
            _ => {
                inner.free += 1 << 20;
                (1 << 40) + inner.free
            }
        };
        inner.maps.push((address, bytes, memory as usize));
        Ok(address)
    }
    fn unmap(&self, address: u64, bytes: usize) -> Result<()> {
        let mut inner = self.inner.lock().unwrap();
        let position = inner.maps.iter().position(|m| (m.0, m.1) == (address, bytes));
        inner.maps.swap_remove(position.ok_or_else(|| BusError::Invalid(format!("unmap of {address:#x}")))?);
        Ok(())
    }
    fn enable_vectors(&self, count: u16) -> Result<u16> {
        Ok(count)
    }
    fn wait(&self, _vector: u16, nanoseconds: u64) -> Result<Wake> {
        self.inner.lock().unwrap().now += nanoseconds;
        Ok(Wake::TimedOut)
    }
    fn event_fd(&self, _vector: u16) -> Result<OwnedFd> {
        Ok(towpath_system::event::new().unwrap()) // it is never signalled
    }
    fn poll(&self) -> Result<()> {
        self.inner.lock().unwrap().now += 1000;
        Ok(())
    }
    fn now(&self) -> u64 {
        self.inner.lock().unwrap().now
    }
    fn reset(&self) -> Result<()> {
        Ok(())
    }
}

/// Ticket, bytes, offset, user word, the status's number.
type Told = (Ticket, u64, Option<u32>, Option<u32>, u8);

/// A channel of the trace.
struct Lane {
    index: u16,
    h2c: bool,
    channel: Option<Box<dyn Channel>>,
    message: Message,
    /// By the trace's cookie.
    posted: HashMap<u16, (Ticket, u16)>,
    prefixes: Vec<(u16, u64, u32)>,
    in_flight: usize,
    produced: u32,
    /// What the driver must tell, in order.
    expected: VecDeque<Told>,
    /// Stores by which the driver started the channel again after a reset.
    restarted: Option<Vec<(u64, u32)>>,
}

struct Replay {
    bus: Arc<TraceBus>,
    driver: Option<UserDriver>,
    lanes: BTreeMap<String, Lane>,
    memory: BTreeMap<u64, u8>,
    /// Pieces of the program's, alive as long as the replay.
    pieces: Vec<Vec<u8>>,
}

fn status_number(word: &str) -> u8 {
    c::Status::ALL.iter().find(|s| s.name() == word).map(|s| *s as u8).unwrap_or_else(|| panic!("status {word}"))
}

fn optional(word: &str) -> Option<u32> {
    (word != "-").then(|| number(word).unwrap() as u32)
}

impl Replay {
    fn stores(&self) -> Vec<(u64, u32)> {
        std::mem::take(&mut self.bus.inner.lock().unwrap().stores)
    }

    fn page(&self, lane: &Lane, page: u64) -> u64 {
        (c::PAGE_CHANNELS + c::PAGES_PER_CHANNEL * u64::from(lane.index) + page) * PAGE
    }

    fn filled(&mut self, address: u64, bytes: usize) -> Piece<'static> {
        let mut piece: Vec<u8> = (0..bytes as u64).map(|i| self.memory.get(&(address + i)).copied().unwrap_or(0)).collect();
        let memory = piece.as_mut_ptr();
        self.bus.inner.lock().unwrap().places.insert(memory as usize, address);
        self.pieces.push(piece);
        Piece { memory, bytes, registration: None }
    }

    /// The pieces of a list in the trace's memory, cut at its length.
    fn list(&self, mut at: u64, length: u64) -> Vec<(u64, u64)> {
        let (mut found, mut left) = (Vec::new(), length);
        loop {
            let image: Vec<u8> = (0..16).map(|i| self.memory.get(&(at + i)).copied().unwrap_or(0)).collect();
            let entry = c::ListEntry::from_le_bytes(image.try_into().unwrap());
            if entry.control & c::LIST_ENTRY_CONTROL_CHAIN_MASK != 0 {
                at = entry.address;
                continue;
            }
            let bytes = left.min(entry.length.into());
            found.push((entry.address, bytes));
            left -= bytes;
            at += 16;
            if entry.control & c::LIST_ENTRY_CONTROL_LAST_MASK != 0 {
                return found.into_iter().filter(|piece| piece.1 > 0).collect();
            }
        }
    }

    fn post(&mut self, name: &str, words: &[String], inline: Option<Vec<u8>>) {
        let (kind, address, length, cookie, end) = (
            words[0].as_str(),
            number(&words[1]).unwrap(),
            number(&words[2]).unwrap(),
            number(&words[3]).unwrap() as u16,
            words[4] == "end",
        );
        let lane = self.lanes.get_mut(name).unwrap();
        match kind {
            "attributes" => {
                lane.prefixes.push((c::Kind::Attributes as u16, address, length as u32));
                (lane.message.offset, lane.message.user) = (address, length as u32);
                return;
            }
            "message_length" => {
                lane.prefixes.push((c::Kind::MessageLength as u16, address, length as u32));
                lane.message.length = Some(address);
                return;
            }
            _ => {}
        }
        let message = Message { end, ..std::mem::take(&mut lane.message) };
        let prefixes = std::mem::take(&mut lane.prefixes);
        let wanted: Vec<(u64, u64)> = match kind {
            "list" => self.list(address, length),
            "direct" if length > 0 => vec![(address, length)],
            _ => Vec::new(),
        };
        let mut pieces: Vec<Piece<'static>> = wanted.iter().map(|(address, bytes)| self.filled(*address, *bytes as usize)).collect();
        if let Some(bytes) = inline {
            self.pieces.push(bytes);
            let last = self.pieces.last_mut().unwrap();
            pieces.push(Piece { memory: last.as_mut_ptr(), bytes: last.len(), registration: None });
        }
        // SAFETY: the pieces live as long as the replay; nobody else touches them.
        let whole: Vec<u8> = pieces.iter().flat_map(|p| unsafe { std::slice::from_raw_parts(p.memory, p.bytes) }.to_vec()).collect();
        let lane = &self.lanes[name];
        assert!(self.stores().is_empty());
        // SAFETY: as above.
        let ticket = unsafe { lane.channel.as_ref().unwrap().submit(&pieces, &message, None) }.unwrap();

        // What did it post?
        let page = self.page(lane, c::PAGE_CHANNEL_DOORBELL);
        let stores = self.stores();
        assert_eq!(stores.len() % 4, 0, "whole descriptors");
        let mut posted = stores.chunks(4).map(|words| {
            let mut image = [0; 16];
            for (i, (offset, value)) in words.iter().enumerate() {
                assert_eq!(*offset, page + c::DOORBELL_DESCRIPTOR_OFFSET + 4 * i as u64, "ascending words of a descriptor");
                image[4 * i..4 * i + 4].copy_from_slice(&value.to_le_bytes());
            }
            c::Descriptor::from_le_bytes(image)
        });
        let kind_of = |d: &c::Descriptor| d.control & c::DESCRIPTOR_CONTROL_KIND_MASK;
        for (kind, address, length) in prefixes {
            let prefix = posted.next().expect("a prefix");
            assert_eq!((kind_of(&prefix), prefix.address, prefix.length), (kind, address, length));
        }
        let main = posted.next().expect("a descriptor");
        assert!(posted.next().is_none(), "one descriptor too many");
        assert_eq!(u64::from(main.length), length, "length");
        assert_eq!(main.control & c::DESCRIPTOR_CONTROL_END_MASK != 0, end, "end of message");
        assert_eq!(main.control & !(c::DESCRIPTOR_CONTROL_END_MASK | c::DESCRIPTOR_CONTROL_KIND_MASK), 0, "reserved bits");
        let inner = self.bus.inner.lock().unwrap();
        match c::Kind::try_from(kind_of(&main) as u8).unwrap() {
            c::Kind::Inline => {
                assert!(lane.h2c && main.length <= 64 && main.address % 64 == 0 && inner.fenced);
                let slot = self.page(lane, c::PAGE_CHANNEL_INLINE) + main.address;
                let there: Vec<u8> = (0..length).map(|i| inner.combined[&(slot + i)]).collect();
                assert_eq!(there, whole, "the slot's bytes");
            }
            c::Kind::Direct if length == 0 => {}
            c::Kind::Direct => assert_eq!(vec![(main.address, length)], wanted, "the piece"),
            c::Kind::List => {
                let mut table = Vec::new();
                loop {
                    let image = inner.read(main.address + 16 * table.len() as u64, 16);
                    let entry = c::ListEntry::from_le_bytes(image.try_into().unwrap());
                    table.push((entry.address, u64::from(entry.length)));
                    if entry.control == c::LIST_ENTRY_CONTROL_LAST_MASK {
                        break;
                    }
                    assert_eq!(entry.control, 0);
                }
                assert_eq!(table, wanted, "the pieces of the list");
            }
            other => panic!("posted {other:?}"),
        }
        drop(inner);
        let lane = self.lanes.get_mut(name).unwrap();
        assert!(lane.posted.values().all(|(_, used)| *used != main.cookie), "cookie {} is in flight twice", main.cookie);
        lane.posted.insert(cookie, (ticket, main.cookie));
        lane.in_flight += 1;
    }

    /// The image of a ring entry, and what the driver must make of it.
    fn entry(&mut self, words: &[String]) -> (u64, [u8; 16], bool) {
        let lane = self.lanes.get_mut(&words[0]).unwrap();
        let flags = number(&words[7]).unwrap() as u8;
        let status = status_number(&words[6]);
        let bytes = number(&words[2]).unwrap() as u32;
        let (offset, user, mut cookie) = (optional(&words[3]), optional(&words[4]), number(&words[5]).unwrap() as u16);
        let start = flags & c::COMPLETION_FLAGS_START_MASK != 0;
        if !start {
            let (ticket, own) = lane.posted.remove(&cookie).expect("a cookie in flight");
            cookie = own;
            lane.in_flight -= 1;
            lane.expected.push_back((ticket, bytes.into(), offset, user, status));
        }
        lane.produced += 1;
        let (offset, user) = (offset.unwrap_or(0), user.unwrap_or(0));
        let image = c::Completion { bytes, offset, user, cookie, status, flags }.to_le_bytes();
        (number(&words[1]).unwrap(), image, start)
    }

    fn reap(&mut self) {
        for (name, lane) in &mut self.lanes {
            while let Some((ticket, bytes, offset, user, status)) = lane.expected.pop_front() {
                let done = lane.channel.as_ref().unwrap().try_wait(ticket).unwrap().unwrap_or_else(|| panic!("{name}: nothing was reaped"));
                let own = format!("{:?}", done.status).to_lowercase();
                let wanted = c::Status::ALL[usize::from(status)].name().replace('_', "");
                assert_eq!((own, done.bytes), (wanted, bytes), "{name}");
                assert!(offset.is_none_or(|o| o == done.offset) && user.is_none_or(|u| u == done.user), "{name}: attributes");
            }
        }
    }

    /// Lines of the driver's start, in any order but `control` last.
    fn check_start(&self, lane: &Lane, stores: &[(u64, u32)], expected: &[(u64, u32)]) {
        let (mut own, mut wanted) = (stores.to_vec(), expected.to_vec());
        assert_eq!(own.last(), wanted.last(), "control comes last");
        assert_eq!(own.last().unwrap().0, self.page(lane, c::PAGE_CHANNEL_PRIVILEGED) + c::CHANNEL_CONTROL_OFFSET);
        own.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(own, wanted, "the start of a channel");
    }

    /// Returns how many batches the driver posted.
    fn run(trace: &Trace, page_0: &BTreeMap<u64, u8>) -> usize {
        let mut replay = Replay { bus: Arc::default(), driver: None, lanes: BTreeMap::new(), memory: BTreeMap::new(), pieces: Vec::new() };
        replay.bus.inner.lock().unwrap().discovery.clone_from(page_0);
        let lines = &trace.lines;
        let mut at = 0;
        while at < lines.len() {
            let line = &lines[at];
            at += 1;
            // Up to the next `do`: how the driver does it, and what comes of it.
            let rest = lines[at..].iter().position(|l| l.verb == "do").map_or(&lines[at..], |end| &lines[at..at + end]);
            let w: Vec<&str> = line.words.iter().map(String::as_str).collect();
            match (line.verb.as_str(), w.as_slice()) {
                ("channel", [name, direction, depth]) => {
                    let index = u16::from(*direction == "c2h");
                    let depth_at = c::DISCOVERY_CHANNEL_ENTRY_OFFSET
                        + c::DISCOVERY_CHANNEL_ENTRY_STRIDE * u64::from(index)
                        + c::CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET;
                    let depth = (number(depth).unwrap() as u16).to_le_bytes();
                    replay.bus.inner.lock().unwrap().discovery.extend([(depth_at, depth[0]), (depth_at + 1, depth[1])]);
                    let lane = Lane {
                        index,
                        h2c: index == 0,
                        channel: None,
                        message: Message::default(),
                        posted: HashMap::new(),
                        prefixes: Vec::new(),
                        in_flight: 0,
                        produced: 0,
                        expected: VecDeque::new(),
                        restarted: None,
                    };
                    replay.lanes.insert(name.to_string(), lane);
                }
                ("contents", [_, offset, bytes]) => {
                    let bytes = data(bytes).unwrap();
                    replay.bus.inner.lock().unwrap().discovery.extend((number(offset).unwrap()..).zip(bytes));
                }
                ("memory", [address, bytes]) => replay.memory.extend((number(address).unwrap()..).zip(data(bytes).unwrap())),
                ("do", ["open"]) => {
                    let driver = UserDriver::open(replay.bus.clone()).unwrap();
                    let names: Vec<_> = driver.info().channels.iter().map(|c| c.name.as_str()).collect();
                    assert_eq!((names, driver.info().core.as_str(), driver.info().core_version), (vec!["in", "out"], "golden", 3));
                    assert_eq!(driver.info().serial, 0x0123_4567_89ab_cdef);
                    drop(driver);
                    replay.stores();
                }
                ("bar", [bar, bytes]) => {
                    replay.bus.inner.lock().unwrap().bars.insert(number(bar).unwrap() as u8, number(bytes).unwrap());
                }
                ("do", ["refuse"]) => {
                    let Err(Error::Version { card, host, .. }) = UserDriver::open(replay.bus.clone()) else { panic!("accepted") };
                    assert_eq!((card.0, host.0), (c::VERSION_MAJOR + 1, c::VERSION_MAJOR));
                    assert!(replay.stores().is_empty(), "it stored to a card that it refused");
                }
                ("do", ["reject", place, what, value, least, most]) => {
                    let error = UserDriver::open(replay.bus.clone()).err().unwrap_or_else(|| panic!("line {}: accepted", line.number));
                    let Error::Discovery { what: told, .. } = &error else { panic!("line {}: {error}", line.number) };
                    let [value, least, most] = [value, least, most].map(|word| number(word).unwrap());
                    let place = match (*place, place.strip_prefix("plugin")) {
                        ("header", _) => String::new(),
                        (_, Some(plugin)) => format!("plug-in{}:", number(plugin).unwrap()),
                        (channel, None) => format!("channel{}:", number(channel).unwrap()),
                    };
                    let wanted = format!("{place}{what}is{value};allowed:{least}to{most}");
                    let told = told.replace(' ', "");
                    let rest = told.strip_prefix(&wanted).unwrap_or_else(|| panic!("line {}: {error}", line.number));
                    assert!(!rest.starts_with(|next: char| next.is_ascii_digit()), "line {}: {error}", line.number);
                    assert!(error.to_string().contains("rebuild the bitstream"), "{error}");
                    assert!(replay.stores().is_empty(), "it stored to a card that it refused");
                }
                ("do", ["enable", name, ring, log2, _, mode]) => {
                    if replay.driver.is_none() {
                        replay.driver = Some(UserDriver::open(replay.bus.clone()).unwrap());
                        replay.stores();
                    }
                    let mut lane = replay.lanes.remove(*name).unwrap();
                    let expected: Vec<(u64, u32)> = rest
                        .iter()
                        .filter(|l| l.verb == "store")
                        .flat_map(|l| {
                            let base = replay.page(&lane, c::PAGE_CHANNEL_PRIVILEGED) + number(&l.words[1]).unwrap();
                            let value = number(&l.words[3]).unwrap();
                            let halves = vec![(base, value as u32), (base + 4, (value >> 32) as u32)];
                            halves.into_iter().take(if l.words[2] == "64" { 2 } else { 1 })
                        })
                        .collect();
                    let stores = match lane.restarted.take() {
                        Some(stores) => stores,
                        None => {
                            replay.bus.inner.lock().unwrap().next_ring = number(ring).unwrap();
                            let options = ChannelOptions { notify: Notify::Interrupt, announce: *mode == "announce" };
                            lane.channel = Some(replay.driver.as_ref().unwrap().open_channel(lane.index, options).unwrap());
                            replay.stores()
                        }
                    };
                    assert_eq!(number(log2).unwrap(), 6, "the driver's ring for a depth of 16");
                    replay.check_start(&lane, &stores, &expected);
                    lane.produced = 0;
                    replay.lanes.insert(name.to_string(), lane);
                }
                // An inline message is staged first; the driver does it all at the post behind it.
                ("do", ["inline", name, _, bytes]) => {
                    let bytes = data(bytes).unwrap();
                    let next = lines[at..].iter().position(|l| l.verb == "do").unwrap();
                    let post = lines[at + next].clone();
                    at += next + 1;
                    assert_eq!((post.words[0].as_str(), post.words[1].as_str()), ("post", *name));
                    replay.post(name, &post.words[2..], Some(bytes));
                }
                ("do", ["post", name, ..]) => replay.post(name, &line.words[2..], None),
                ("do", ["arm", name, index]) => {
                    let index = number(index).unwrap() as u32;
                    if index == replay.lanes[*name].produced {
                        replay.reap();
                    }
                    replay.stores();
                    let lane = &replay.lanes[*name];
                    lane.channel.as_ref().unwrap().event_fd().unwrap();
                    let arm = replay.page(lane, c::PAGE_CHANNEL_DOORBELL) + c::DOORBELL_ARM_OFFSET;
                    assert_eq!(replay.stores(), [(arm, index)]);
                }
                ("do", [what @ ("cancel" | "reset"), name]) => {
                    replay.reap();
                    replay.stores();
                    let busy = replay.lanes[*name].in_flight > 0;
                    let entries: Vec<_> = rest.iter().filter(|l| l.verb == "entry").map(|l| replay.entry(&l.words)).collect();
                    replay.bus.inner.lock().unwrap().answer = entries.into_iter().map(|e| (e.0, e.1)).collect();
                    let channel = replay.lanes[*name].channel.as_ref().unwrap();
                    if *what == "cancel" { channel.cancel_all() } else { channel.reset() }.unwrap();
                    let mut stores = replay.stores();
                    let lane = replay.lanes.get_mut(*name).unwrap();
                    let (page, offset) = match *what {
                        "cancel" => (c::PAGE_CHANNEL_DOORBELL, c::DOORBELL_CANCEL_OFFSET),
                        _ => (c::PAGE_CHANNEL_PRIVILEGED, c::CHANNEL_RESET_OFFSET),
                    };
                    let base = (c::PAGE_CHANNELS + c::PAGES_PER_CHANNEL * u64::from(lane.index) + page) * PAGE;
                    if *what == "reset" {
                        assert_eq!(stores.remove(0), (base + offset, 1));
                        lane.restarted = Some(stores);
                    } else if busy {
                        // The waits for its end arm the interrupt, too.
                        stores.retain(|store| store.0 != base + c::DOORBELL_ARM_OFFSET);
                        assert_eq!(stores, [(base + offset, 1)]);
                    } else {
                        assert!(stores.is_empty());
                    }
                    replay.reap();
                    at += rest.len();
                }
                ("writes", [_, address, bytes]) => {
                    replay.bus.inner.lock().unwrap().write(number(address).unwrap(), &data(bytes).unwrap());
                }
                ("entry", [name, ..]) => {
                    let (address, image, start) = replay.entry(&line.words);
                    replay.bus.inner.lock().unwrap().write(address, &image);
                    if start {
                        let told = replay.lanes[*name].channel.as_ref().unwrap().try_message_start().unwrap().expect("a start");
                        let entry = c::Completion::from_le_bytes(image);
                        let length = u64::from(entry.bytes) | u64::from(entry.cookie) << 32;
                        assert_eq!((told.length, told.offset, told.user), ((length > 0).then_some(length), entry.offset, entry.user));
                    }
                }
                ("do", other) => panic!("line {}: do {other:?}", line.number),
                _ => {} // the other side's
            }
        }
        replay.reap();
        for (name, lane) in &replay.lanes {
            if let Some(channel) = &lane.channel {
                let s = channel.statistics();
                assert_eq!((s.wrong_cookies, s.wrong_lengths, s.wrong_statuses, s.unexpected), (0, 0, 0, 0), "{name}");
                assert!(matches!(channel.wait_room(Some(Duration::ZERO).into()), Ok(()) | Err(Error::Pending { .. })));
            }
        }
        let batches = replay.bus.inner.lock().unwrap().batches;
        batches
    }
}

#[test]
fn golden_traces() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/traces");
    let read = |path: &Path| golden::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let discovery = read(&folder.join("discovery.trace"));
    let page_0: BTreeMap<u64, u8> = discovery
        .lines
        .iter()
        .filter(|l| l.verb == "contents" && l.words[0] == "discovery")
        .flat_map(|l| (number(&l.words[1]).unwrap()..).zip(data(&l.words[2]).unwrap()))
        .collect();
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "trace"));
    paths.sort();
    let (mut replayed, mut batches) = (0, 0);
    for path in paths {
        let trace = read(&path);
        if trace.replay == "card" {
            continue;
        }
        println!("{}", trace.name);
        batches += Replay::run(&trace, &page_0);
        let mut without = page_0.clone();
        for channel in 0..2 {
            let at = c::DISCOVERY_CHANNEL_ENTRY_OFFSET + c::DISCOVERY_CHANNEL_ENTRY_STRIDE * channel + c::CHANNEL_ENTRY_BATCH_SLOTS_OFFSET;
            without.extend([(at, 0), (at + 1, 0)]);
        }
        assert_eq!(Replay::run(&trace, &without), 0, "a card without batches");
        replayed += 1;
    }
    assert!(batches > 0, "nothing was posted as a batch");
    assert!(replayed >= 16, "only {replayed} traces are for drivers");
}
