// SPDX-License-Identifier: Apache-2.0
//! The log of packets on a card, against the simulator's own record of what its link carried.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use towpath::{Device, Error, Message, TlpEntry, TlpFilter, TlpLog, TlpStream};
use towpath_contract as contract;

/// Between a packet's last byte on the wire and its first beat at the card, at most: beats of those before it.
const INTO_CARD_PS: u64 = 250_000;
/// Between a packet's first beat and its last byte at the host, at most: its own beats, and a transmit buffer of 32 packets before it.
const OUT_OF_CARD_PS: u64 = 2_500_000;

struct World {
    device: Device,
    log: TlpLog,
    record: PathBuf,
}

impl World {
    fn open(name: &str) -> World {
        let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
        std::env::set_var("TOWPATH_HOME", &root);
        let record = std::env::temp_dir().join(format!("towpath-tlplog-{name}-{}", std::process::id()));
        let core = root.join("examples/plugins");
        let device = Device::open(&format!("sim:{}?packets={}", core.display(), record.display())).unwrap();
        let log = TlpLog::new(device.plugin("tlplog").unwrap()).unwrap();
        World { device, log, record }
    }

    /// Begin a log in which nothing is that was before: of that the record has not all, for it begins after the simulator's own look at the card.
    fn begin(&self) {
        self.log.stop().unwrap();
        self.log.clear().unwrap();
        self.log.start().unwrap();
    }

    /// Messages there and back, and registers: all streams.
    fn traffic(&self, length: usize) {
        let (sender, receiver) = (self.device.sender("in").unwrap(), self.device.receiver("out").unwrap());
        let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        sender.send(&message).unwrap();
        assert!(receiver.recv().unwrap() == message, "{length} bytes");
        self.device.registers().write_name("scratch", length as u32).unwrap();
        assert_eq!(self.device.registers().read_name("scratch").unwrap(), length as u32);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.record);
    }
}

/// What both know of a packet.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    stream: TlpStream,
    /// BAR, and address or offset.
    place: Option<(Option<u64>, u64)>,
    bytes: u64,
    tag: Option<u64>,
    outcome: Option<String>,
    traffic_class: u64,
    /// Of a write of the card's.
    relaxed: Option<bool>,
    /// The payload's first bytes, as far as both know them.
    first: String,
}

fn of_log(entry: &TlpEntry) -> Seen {
    let (from, bytes) = entry.extent();
    Seen {
        stream: entry.stream,
        place: entry.status.is_none().then_some((entry.bar.map(u64::from), from)),
        bytes: bytes.into(),
        tag: entry.tag.map(u64::from),
        outcome: entry.outcome(),
        traffic_class: entry.traffic_class.into(),
        relaxed: (entry.stream == TlpStream::SentWrite).then_some(entry.attributes & 2 != 0),
        // Of a long payload the record has the length alone.
        first: if bytes > 64 { String::new() } else { entry.first_bytes().iter().map(|byte| format!("{byte:02x}")).collect() },
    }
}

/// A key's value in a line of the record.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
    Some(rest.split([',', '}']).next()?.trim_matches('"'))
}

fn number(line: &str, key: &str) -> Option<u64> {
    value(line, key)?.parse().ok()
}

/// The record's packets with their times, while the log ran, but for accesses of the log's registers. An interrupt is a write to an address that the
/// record does not tell.
fn of_record(world: &World) -> Vec<(u64, Seen)> {
    let info = world.log.plugin().info();
    let own = u64::from(info.offset)..u64::from(info.offset + info.bytes);
    let mut skipped: HashMap<u64, bool> = HashMap::new();
    let mut packets = Vec::new();
    let mut runs = true;
    for line in std::fs::read_to_string(&world.record).unwrap().lines().skip(1) {
        let to_card = value(line, "to") == Some("card");
        let (bar, offset, tag, bytes) = (number(line, "bar"), number(line, "offset"), number(line, "tag"), number(line, "bytes"));
        let is_own = bar == Some(2) && own.contains(&offset.unwrap());
        let stream = match (value(line, "packet").unwrap(), to_card) {
            ("beats", _) => continue, // at the user core, not on the link
            ("write", false) | ("interrupt", _) => TlpStream::SentWrite,
            ("read", false) => TlpStream::SentRead,
            ("completion", false) if skipped[&tag.unwrap()] => continue,
            ("completion", false) => TlpStream::SentCompletion,
            ("write", true) if is_own => {
                match (offset.unwrap() - own.start, value(line, "data")) {
                    (contract::PLUGIN_TLPLOG_COMMAND_OFFSET, Some("01000000")) => runs = true,
                    (contract::PLUGIN_TLPLOG_COMMAND_OFFSET, Some("02000000")) => runs = false,
                    (contract::PLUGIN_TLPLOG_COMMAND_OFFSET, Some("04000000")) => packets.clear(),
                    _ => panic!("{line}"),
                }
                continue;
            }
            ("write", true) => TlpStream::ReceivedWrite,
            ("read", true) => {
                skipped.insert(tag.unwrap(), is_own);
                if is_own {
                    continue;
                }
                TlpStream::ReceivedRead
            }
            ("completion", true) => TlpStream::ReceivedCompletion,
            _ => panic!("{line}"),
        };
        if !runs {
            continue;
        }
        let place = offset.map(|offset| (bar, offset)).or(number(line, "address").map(|address| (None, address)));
        let known = value(line, "data").unwrap_or("");
        // The log knows the first dword; where that begins follows from the first byte's address.
        let lead = place.map_or(0, |(_, from)| from & 3) as usize;
        let (bytes, first, place) = match number(line, "vector") {
            Some(vector) => (4, (vector as u32).to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect(), None),
            None => (bytes.unwrap(), known.get(..2 * (4 - lead)).unwrap_or(known).to_string(), place),
        };
        let outcome = value(line, "status").map(String::from);
        let traffic_class = number(line, "class").unwrap_or(0);
        let relaxed = (stream == TlpStream::SentWrite).then(|| value(line, "relaxed") == Some("true"));
        packets.push((number(line, "ps").unwrap(), Seen { stream, place, bytes, tag, outcome, traffic_class, relaxed, first }));
    }
    packets
}

/// The log has the record's packets, each stream's in its order, at the times at which they can have passed.
fn compare(world: &World, entries: &[TlpEntry]) {
    let record = of_record(world);
    assert_eq!(entries.len(), record.len(), "packets in the log, and in the record");
    let mut pairs = Vec::new();
    for stream in TlpStream::ALL {
        let logged = entries.iter().filter(|entry| entry.stream == stream);
        let recorded = record.iter().filter(|(_, seen)| seen.stream == stream);
        assert!(logged.clone().count() > 2, "the test moves too little over {}", stream.name());
        assert_eq!(logged.clone().count(), recorded.clone().count(), "{}", stream.name());
        for (entry, (time, seen)) in logged.zip(recorded) {
            let mut mine = of_log(entry);
            if stream == TlpStream::SentWrite && seen.place.is_none() {
                mine.place = None; // an interrupt
            }
            // Where an answer's first byte lies in its dword the record does not tell.
            let known =
                if seen.outcome.is_some() { mine.first.len().min(seen.first.len()) } else { mine.first.len().max(seen.first.len()) };
            assert_eq!(mine.first.get(..known), seen.first.get(..known), "{entry:?} {seen:?}");
            mine.first.clone_from(&seen.first);
            assert_eq!(&mine, seen, "number {}", entry.number);
            assert!(!entry.is_after_loss);
            pairs.push((entry, *time));
        }
    }
    // The card's clock began some time after the simulation's. A packet for the card is there first, and then begins at the card.
    let zero = pairs.iter().filter(|(entry, _)| entry.is_to_card()).map(|(entry, time)| entry.time_ps as i64 - *time as i64).min().unwrap();
    for (entry, time) in &pairs {
        let later = entry.time_ps as i64 - zero - *time as i64;
        let (least, most) = if entry.is_to_card() { (0, INTO_CARD_PS as i64) } else { (-(OUT_OF_CARD_PS as i64), 0) };
        assert!((least..=most).contains(&later), "{later} ps between the link and the card: {entry:?}");
    }
    for pair in entries.windows(2) {
        assert_eq!(pair[1].number, pair[0].number + 1);
    }
}

#[test]
fn the_simulator_has_seen_the_same_packets() {
    let world = World::open("same");
    let first = world.log.entries().next().unwrap().unwrap();
    assert_eq!(
        (first.number, first.stream, first.bar, first.address),
        (0, TlpStream::ReceivedRead, Some(0), 0),
        "from the configuration on"
    );
    assert!(world.log.is_running().unwrap());
    world.begin();
    let mut reader = world.log.entries();
    let mut entries: Vec<TlpEntry> = Vec::new();
    // Read while it runs, so that nothing is overwritten.
    for length in [0, 1, 5, 64, 100, 1000, 4096, 5001] {
        entries.extend(reader.by_ref().map(Result::unwrap));
        world.traffic(length);
    }
    world.log.stop().unwrap();
    entries.extend(reader.by_ref().map(Result::unwrap));
    assert_eq!(reader.overwritten(), 0);
    let counts = world.log.counts().unwrap();
    assert_eq!((counts.logged, counts.dropped), (entries.len() as u64, 0));
    assert!(counts.overwritten > 0, "the ring has gone round");
    compare(&world, &entries);
}

#[test]
fn a_log_that_goes_round_keeps_the_last() {
    let world = World::open("round");
    let depth = u64::from(world.log.depth());
    let mut early = world.log.entries();
    let first = early.next().unwrap().unwrap();
    for _ in 0..4 {
        world.traffic(20_000);
    }
    // The library looks after the card when a register holds all ones: the log is still now.
    world.log.stop().unwrap();
    let counts = world.log.counts().unwrap();
    assert!(counts.overwritten > 0 && counts.logged == counts.overwritten + depth);
    let entries: Vec<TlpEntry> = world.log.entries().map(Result::unwrap).collect();
    assert_eq!(entries.len() as u64, depth);
    assert_eq!((entries[0].number, entries[entries.len() - 1].number), (counts.overwritten, counts.logged - 1));
    // Whoever has read before is told what is missing.
    let rest: Vec<TlpEntry> = early.by_ref().map(Result::unwrap).collect();
    assert_eq!(rest[rest.len() - 1].number, counts.logged - 1);
    assert_eq!(rest[..], entries[..], "nothing is passed over that is there");
    assert_eq!(early.overwritten(), counts.logged - first.number - 1 - depth);
    let last = world.log.entries_from(counts.logged - 3).map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(last[..], entries[entries.len() - 3..]);
}

#[test]
fn filters_commands_and_a_reset_of_the_card() {
    let world = World::open("filters");
    let log = &world.log;
    assert_eq!(log.filter().unwrap(), TlpFilter::default());
    world.traffic(300);
    let before = log.counts().unwrap();
    world.device.reset().unwrap();
    assert!(log.is_running().unwrap() && log.counts().unwrap().logged > before.logged, "the log outlives the card's reset");

    for streams in TlpStream::ALL {
        let filter = TlpFilter { streams: vec![streams], bars: vec![2], ..TlpFilter::default() };
        log.stop().unwrap();
        log.set_filter(&filter).unwrap();
        log.clear().unwrap();
        log.start().unwrap();
        assert_eq!(log.filter().unwrap(), filter);
        world.traffic(300);
        let entries: Vec<TlpEntry> = log.entries().map(Result::unwrap).collect();
        assert!(!entries.is_empty() && entries.iter().all(|entry| entry.stream == streams && entry.bar.unwrap_or(2) == 2), "{entries:?}");
        if matches!(streams, TlpStream::ReceivedRead | TlpStream::SentCompletion) {
            assert_eq!(entries.len(), 1, "of BAR 2 alone");
        }
    }
    // The card's own requests by address: where the message is.
    let buffer = world.device.allocate(3000).unwrap();
    let (sender, receiver) = (world.device.sender("in").unwrap(), world.device.receiver("out").unwrap());
    let send = || {
        sender.send_buffer(&buffer, .., Message::default()).unwrap();
        assert_eq!(receiver.recv().unwrap().len(), 3000);
    };
    log.set_filter(&TlpFilter { streams: vec![TlpStream::SentRead], ..TlpFilter::default() }).unwrap();
    log.clear().unwrap();
    send();
    let address = log.entries().next().unwrap().unwrap().address;
    for (addresses, there) in [(address..=address, true), (address + 4..=u64::MAX, false)] {
        log.set_filter(&TlpFilter { addresses, ..TlpFilter::default() }).unwrap();
        log.clear().unwrap();
        send();
        let found = log.entries().map(Result::unwrap).any(|entry| entry.stream == TlpStream::SentRead && entry.address == address);
        assert_eq!(found, there);
    }
    drop((sender, receiver));
    assert!(matches!(log.set_filter(&TlpFilter { bars: vec![6], ..TlpFilter::default() }), Err(Error::Invalid(_))));
    log.stop().unwrap();
    log.clear().unwrap();
    world.traffic(100);
    assert_eq!(log.counts().unwrap(), towpath::TlpCounts::default());
    assert!(log.entries().next().is_none() && !log.is_running().unwrap());
    assert!(TlpLog::new(world.device.plugin("reset").unwrap()).is_err());
}
