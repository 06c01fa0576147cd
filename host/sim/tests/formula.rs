// SPDX-License-Identifier: Apache-2.0
//! The link model against a model that somebody else wrote: R. Neugebauer et al., "Understanding PCIe performance for end host
//! networking", SIGCOMM 2018, section 3. With the sizes that the paper gives to headers (framing, data link and transaction layer
//! together; addresses above 4 GiB), a device that writes n bytes puts
//!
//!     ceil(n / MPS) * 24 + n
//!
//! on the link, and one that reads n bytes puts ceil(n / MRRS) * 24 on it in its own direction, and the host in the other
//!
//!     ceil(n / MPS) * 20 + n.
//!
//! Here the real gateware moves the bytes, and each packet of data is taken from the link's own record.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use towpath_cores::{build, find_core, BuildOptions};
use towpath_driver::{Access, ChannelOptions, Driver, Message, Notify, Piece};
use towpath_sim::{strict_wire_limit, Carried, PrintKind, Settings, SimBus, Statistics};
use towpath_userspace::UserDriver;

const WRITE: u64 = 24;
const READ: u64 = 24;
const COMPLETION: u64 = 20;
const TIMEOUT: Option<Duration> = Some(Duration::from_secs(5));

fn model() -> PathBuf {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        if std::env::var_os("TOWPATH_HOME").is_none() {
            std::env::set_var("TOWPATH_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        }
        let built = find_core("loopback").and_then(|folder| build(&folder, &BuildOptions::default()));
        built.unwrap_or_else(|why| panic!("{why}")).library
    };
    MODEL.get_or_init(make).clone()
}

/// What a message of `bytes` through the loopback core costs on the link: the packets of data to the card and back, and what was counted.
fn there_and_back(query: &str, bytes: usize) -> (Vec<Carried>, Vec<Carried>, Statistics) {
    let print = Arc::new(|kind: PrintKind, text: &str| eprintln!("{kind:?}: {}", text.trim_end()));
    let bus = SimBus::open("sim:loopback", &model(), Settings::from_query(query).unwrap(), None, print, Vec::new()).unwrap();
    let driver = UserDriver::open(bus.clone()).unwrap();
    let options = ChannelOptions { notify: Notify::Interrupt, announce: false };
    let (sender, receiver) = (driver.open_channel(0, options).unwrap(), driver.open_channel(1, options).unwrap());
    // On pages of their own: whoever aligns transfers to MPS and MRRS gets the formula's number of packets.
    let mut memory = vec![0u8; 2 * bytes + 3 * 4096];
    let page = memory.as_mut_ptr().align_offset(4096);
    // Safety: within the vector, which lives until both transfers have ended; `unregister` comes before its end.
    let (from, to) = unsafe { (memory.as_mut_ptr().add(page), memory.as_mut_ptr().add(page + bytes.next_multiple_of(4096))) };
    // Safety: as above.
    let registrations = [from, to].map(|place| unsafe { driver.register(place, bytes, Access::ReadWrite).unwrap() });
    let before = bus.statistics().unwrap();
    bus.record(true).unwrap();
    // Safety: as above.
    let into = unsafe {
        receiver.submit(&[Piece { memory: to, bytes, registration: Some(&registrations[1]) }], &Message::default(), None).unwrap()
    };
    // Safety: as above.
    let out = unsafe {
        sender.submit(&[Piece { memory: from, bytes, registration: Some(&registrations[0]) }], &Message::default(), None).unwrap()
    };
    sender.wait(out, TIMEOUT.into()).unwrap();
    assert_eq!(receiver.wait(into, TIMEOUT.into()).unwrap().bytes, bytes as u64);
    let record = bus.record(false).unwrap();
    let counted = bus.statistics().unwrap().since(&before);
    let data = |place: *const u8, to_card: bool| {
        let at = bus.address_of(place).unwrap().unwrap();
        let own = |packet: &&Carried| packet.to_card == to_card && (at..at + bytes as u64).contains(&packet.address);
        record.iter().filter(own).copied().collect::<Vec<_>>()
    };
    let found = (data(from, true), data(to, false), counted);
    for registration in &registrations {
        driver.unregister(registration).unwrap();
    }
    found
}

#[test]
fn bytes_on_the_link_are_those_of_the_formula() {
    for (mps, mrrs) in [(128, 128), (128, 512), (256, 512), (256, 1024), (512, 4096)] {
        let query = format!("mps={mps}&completion={mps}&mrrs={mrrs}");
        let byte_fs = Settings::from_query(&query).unwrap().femtoseconds_per_byte();
        for bytes in [65u64, 127, 128, 129, 512, 1000, 1500, 4096, 9000, 65536] {
            let (down, up, counted) = there_and_back(&query, bytes as usize);
            let wire = |packets: &[Carried]| packets.iter().map(|packet| (packet.end - packet.start) * 1000 / byte_fs).sum::<u64>();
            // The link carries whole dwords.
            let whole = bytes.next_multiple_of(4);
            assert_eq!(wire(&up), bytes.div_ceil(mps) * WRITE + whole, "{query}: {bytes} bytes written");
            assert_eq!(wire(&down), bytes.div_ceil(mps) * COMPLETION + whole, "{query}: {bytes} bytes read");
            // The card may ask for less than MRRS at once, so as not to fill its buffer with one request, but never for more.
            let (request, reads) = (mrrs.min(512), counted.card_reads);
            assert!((bytes.div_ceil(mrrs)..=bytes.div_ceil(request)).contains(&reads), "{query}: {bytes} bytes in {reads} reads");
            // To the host go the data, the read requests, an entry of 16 bytes for each direction, and interrupts of 4 bytes below 4 GiB.
            let others = 2 * (WRITE + 16) + counted.interrupts * (WRITE - 4 + 4);
            assert_eq!(counted.to_host, wire(&up) + reads * READ + others, "{query}: {bytes} bytes");
            for packets in [&up, &down] {
                assert_eq!(packets.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>(), bytes, "{query}: every byte once");
                // No two packets at the same time on one direction of the link.
                assert!(packets.windows(2).all(|pair| pair[0].end <= pair[1].start + 1), "{query}: {bytes} bytes");
            }
        }
    }
}

#[test]
fn the_strict_limit_is_the_formulas_for_long_transfers() {
    for query in
        ["", "mps=256&completion=256", "generation=3", "generation=4&lanes=16&mps=512&completion=512", "generation=1&lanes=1&dllp=81"]
    {
        let settings = Settings::from_query(query).unwrap();
        let (limit, mps) = (strict_wire_limit(&settings), u64::from(settings.max_payload));
        let bytes = 1u64 << 30;
        let rate =
            |header: u64| bytes as f64 / (bytes.div_ceil(mps) * header + bytes) as f64 * 1e9 / settings.femtoseconds_per_byte() as f64;
        assert!((limit.c2h - rate(WRITE)).abs() < 1e-6 * limit.c2h, "{query}: {} and {}", limit.c2h, rate(WRITE));
        assert!((limit.h2c - rate(COMPLETION)).abs() < 1e-6 * limit.h2c, "{query}: {} and {}", limit.h2c, rate(COMPLETION));
    }
}

/// The paper's own link: "8 x 7.87 Gb/s = 62.96 Gb/s at the physical layer", of which it leaves 57.88 Gb/s to packets.
#[test]
fn a_share_for_data_link_packets_gives_the_papers_rate() {
    let gigabits = |query: &str| 8e-3 * Settings::from_query(query).unwrap().bytes_per_us() as f64;
    assert!((gigabits("generation=3") - 62.96).abs() < 0.08);
    assert!((gigabits("generation=3&dllp=81") - 57.88).abs() < 0.08);
}

#[test]
fn a_completion_buffer_that_overflows_ends_the_run() {
    let run = |query: &str| {
        let print = Arc::new(|_: PrintKind, _: &str| ());
        let bus = SimBus::open("sim:loopback", &model(), Settings::from_query(query).unwrap(), None, print, Vec::new()).unwrap();
        let driver = UserDriver::open(bus).unwrap();
        let options = ChannelOptions { notify: Notify::Interrupt, announce: false };
        let sender = driver.open_channel(0, options).unwrap();
        let mut memory = vec![0u8; 1 << 15];
        let piece = Piece { memory: memory.as_mut_ptr(), bytes: memory.len(), registration: None };
        // Safety: the memory lives until the channel is closed, which ends the card's use of it.
        let ticket = unsafe { sender.submit(&[piece], &Message::default(), None).unwrap() };
        // Nobody receives: the card takes what it has room for, and waits.
        let ended = sender.wait(ticket, Some(Duration::from_micros(50)).into());
        drop(sender);
        ended.err().map(|why| why.to_string()).unwrap_or_default()
    };
    // A link that brings four times of what the card's streams carry: more comes than is taken, and what was asked for does not fit.
    let why = run("generation=4&lanes=8");
    assert!(why.contains("completion buffer overflows") && why.contains("36"), "{why}");
    // With room for all that the card can ask for, and at a rate that it can take, there is no overflow.
    for enough in ["generation=4&lanes=8&completion_headers=128&completion_data=1024", "generation=2&lanes=8&completion_headers=2"] {
        let why = run(enough);
        assert!(!why.contains("overflow") && why.contains("in flight"), "{enough}: {why}");
    }
}
