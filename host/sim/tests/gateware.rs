// SPDX-License-Identifier: Apache-2.0
//! The real gateware with core `loopback`, driven by the user-space driver over the simulated bus. The model is compiled on the first run, so
//! this needs Verilator on the path.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use towpath_bus::Bus;
use towpath_cores::{build, find_core, BuildOptions};
use towpath_driver::{Channel, ChannelOptions, Completion, Driver, Message, Notify, Piece, Status};
use towpath_sim::{strict_wire_limit, Fault, PrintKind, Settings, SimBus, World};
use towpath_userspace::UserDriver;

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(5));

/// The compiled loopback core.
fn model() -> PathBuf {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL
        .get_or_init(|| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&path).any(|folder| folder.join("verilator").is_file());
            assert!(
                found,
                "verilator is not on the path: run these tests by `./run test`, or put .towpath/venv/bin on PATH after `./run setup`"
            );
            if std::env::var_os("TOWPATH_HOME").is_none() {
                std::env::set_var("TOWPATH_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
            }
            let say = |line: &str| eprintln!("{line}");
            let options = BuildOptions { progress: Some(&say), ..BuildOptions::default() };
            let built = find_core("loopback").and_then(|folder| build(&folder, &options));
            built.unwrap_or_else(|why| panic!("{why}")).library
        })
        .clone()
}

struct Card {
    bus: Arc<SimBus>,
    driver: UserDriver,
    sender: Box<dyn Channel>,
    receiver: Box<dyn Channel>,
}

fn open(query: &str, notify: Notify) -> Card {
    let print = Arc::new(|kind: PrintKind, text: &str| eprintln!("{kind:?}: {}", text.trim_end()));
    let bus = SimBus::open("sim:loopback", &model(), Settings::from_query(query).unwrap(), None, print, Vec::new()).unwrap();
    let driver = UserDriver::open(bus.clone()).unwrap();
    let options = ChannelOptions { notify, announce: false };
    let sender = driver.open_channel(0, options).unwrap();
    let receiver = driver.open_channel(1, options).unwrap();
    Card { bus, driver, sender, receiver }
}

impl Card {
    /// There and back again, both at once.
    fn round(&self, from: &mut [u8], to: &mut [u8]) -> (Completion, Completion) {
        let piece = |memory: &mut [u8]| Piece { memory: memory.as_mut_ptr(), bytes: memory.len(), registration: None };
        // Safety: both buffers live until both completions have come.
        let into = unsafe { self.receiver.submit(&[piece(to)], &Message::default(), None).unwrap() };
        // Safety: as above.
        let out = unsafe { self.sender.submit(&[piece(from)], &Message::default(), None).unwrap() };
        let sent = self.sender.wait(out, TIMEOUT.into()).unwrap();
        (sent, self.receiver.wait(into, TIMEOUT.into()).unwrap())
    }
}

fn pattern(bytes: usize, seed: u32) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 11) as u8).collect()
}

#[test]
fn what_goes_in_comes_out_under_every_split_and_order() {
    for query in
        ["", "reorder=1&split=1&jitter=800&scatter=1&seed=3", "mps=256&mrrs=1024&completion=256&rcb=128", "transmit=4&latency=3000"]
    {
        let card = open(query, Notify::default());
        let (mut from, mut to) = (pattern(80_000, 1), vec![0u8; 80_000]);
        for (round, length) in [1usize, 3, 16, 64, 65, 4095, 4096, 4097, 20_000, 65_536].into_iter().enumerate() {
            let (a, b) = (round * 13 % 64, round * 29 % 64);
            to.fill(0xa5);
            let (sent, received) = card.round(&mut from[a..a + length], &mut to[b..b + length]);
            assert_eq!((sent.status, sent.bytes), (Status::Done, length as u64), "{query}: {length}");
            assert!(received.status.is_ok() && received.bytes == length as u64, "{query}: {length}: {received:?}");
            assert!(to[b..b + length] == from[a..a + length], "{query}: {length} bytes from {a} to {b}");
            assert!(to[..b].iter().chain(&to[b + length..]).all(|byte| *byte == 0xa5), "{query}: bytes around {length} at {b}");
        }
        let statistics = card.bus.statistics().unwrap();
        assert_eq!((statistics.refused_writes, statistics.refused_reads), (0, 0));
    }
}

#[test]
fn registers_and_reset_work_through_the_link() {
    let card = open("", Notify::Interrupt);
    card.driver.write_register(4, 0xdead_beef).unwrap();
    assert_eq!(card.driver.read_register(4).unwrap(), 0xdead_beef);
    let (mut from, mut to) = (pattern(5000, 7), vec![0u8; 5000]);
    card.round(&mut from, &mut to);
    assert_eq!(from, to);
}

#[test]
fn a_function_level_reset_is_acknowledged_and_the_card_starts_again() {
    let Card { bus, driver, sender, receiver } = open("", Notify::Interrupt);
    drop((sender, receiver, driver));
    bus.reset().unwrap();
    let driver = UserDriver::open(bus.clone()).unwrap();
    let options = ChannelOptions { notify: Notify::Interrupt, announce: false };
    let card = Card { sender: driver.open_channel(0, options).unwrap(), receiver: driver.open_channel(1, options).unwrap(), bus, driver };
    let (mut from, mut to) = (pattern(5000, 7), vec![0u8; 5000]);
    card.round(&mut from, &mut to);
    assert_eq!(from, to);
}

/// With bus mastering off at once, as on hardware, at whatever the card is doing: reads, writes on a link that hardly takes them, completions.
#[test]
fn a_function_level_reset_in_the_middle_of_traffic_is_acknowledged_too() {
    for after in [0u64, 300, 1000, 2500, 5000, 10_000, 20_000] {
        let Card { bus, driver, sender, receiver } = open("transmit=2&latency=200", Notify::Poll);
        let (mut from, mut to) = (pattern(64 << 10, 3), vec![0u8; 64 << 10]);
        for at in (0..from.len()).step_by(16 << 10) {
            let piece = |memory: &mut [u8]| Piece { memory: memory[at..].as_mut_ptr(), bytes: 16 << 10, registration: None };
            // Safety: both buffers live until the card has been reset.
            unsafe { receiver.submit(&[piece(&mut to)], &Message::default(), None).unwrap() };
            // Safety: as above.
            unsafe { sender.submit(&[piece(&mut from)], &Message::default(), None).unwrap() };
        }
        let began = bus.now();
        while bus.now() < began + after {
            bus.poll().unwrap();
        }
        bus.reset().unwrap_or_else(|why| panic!("reset {after} ns after the last doorbell: {why}"));
        let moved = bus.statistics().unwrap();
        (0..20).for_each(|_| bus.poll().unwrap());
        assert_eq!(bus.statistics().unwrap().since(&moved).card_writes, 0, "the card writes after its reset ({after} ns)");
        drop((sender, receiver, driver));
        let driver = UserDriver::open(bus.clone()).unwrap();
        let options = ChannelOptions { notify: Notify::Interrupt, announce: false };
        let card =
            Card { sender: driver.open_channel(0, options).unwrap(), receiver: driver.open_channel(1, options).unwrap(), bus, driver };
        let (mut from, mut to) = (pattern(5000, 7), vec![0u8; 5000]);
        card.round(&mut from, &mut to);
        assert_eq!(from, to, "{after}");
    }
}

/// Hit the fourth read of a transfer, then see that the channel still works.
fn fault(cases: &[(Fault, Status)]) {
    let card = open("completion_timeout=1", Notify::Interrupt);
    let mut from = pattern(8192, 9);
    for (fault, status) in cases {
        card.bus.inject(3, *fault).unwrap();
        let piece = Piece { memory: from.as_mut_ptr(), bytes: from.len(), registration: None };
        // Safety: the buffer lives until the completion has come.
        let ticket = unsafe { card.sender.submit(&[piece], &Message::default(), None).unwrap() };
        let sent = card.sender.wait(ticket, TIMEOUT.into()).unwrap_or_else(|why| panic!("{fault:?}: {why}"));
        assert_eq!(sent.status, *status, "{fault:?}");
        assert!(sent.bytes < 8192, "{fault:?}: {sent:?}");
        // The core has closed the message; what it sent of it goes away with the channel.
        card.receiver.reset().unwrap();
        let (mut all, mut to) = (pattern(3000, 4), vec![0u8; 3000]);
        let (sent, received) = card.round(&mut all, &mut to);
        assert!(sent.status.is_ok() && received.status.is_ok() && all == to, "{fault:?}: {sent:?} {received:?}");
    }
}

#[test]
fn a_fault_ends_one_descriptor_with_its_status_and_the_next_one_runs() {
    fault(&[
        (Fault::UnsupportedRequest, Status::UnsupportedRequest),
        (Fault::CompleterAbort, Status::CompleterAbort),
        (Fault::Poison, Status::Poisoned),
    ]);
}

#[test]
fn a_read_that_is_never_answered_times_out() {
    fault(&[(Fault::Drop, Status::Timeout)]);
}

/// Interrupts and nanoseconds for batches of eight messages there and back, of which only the last is waited for, by plain interrupt.
fn batches(moderation: Option<(u16, Duration)>) -> (u64, u64) {
    const BATCHES: usize = 8;
    const MESSAGES: usize = 8;
    let card = open("", Notify::Interrupt);
    if let Some((entries, time)) = moderation {
        card.sender.set_moderation(entries, time).unwrap();
        card.receiver.set_moderation(entries, time).unwrap();
    }
    let mut from = pattern(2048, 1);
    let mut to = vec![0; 2048];
    let piece = |memory: &mut [u8]| Piece { memory: memory.as_mut_ptr(), bytes: memory.len(), registration: None };
    let before = card.bus.statistics().unwrap();
    for _ in 0..BATCHES {
        // Safety: the buffers live until all completions have come; what is received is looked at by nobody.
        let mut receive = || unsafe { card.receiver.submit(&[piece(&mut to)], &Message::default(), None).unwrap() };
        let into: Vec<_> = (0..MESSAGES).map(|_| receive()).collect();
        // Safety: as above.
        let mut send = || unsafe { card.sender.submit(&[piece(&mut from)], &Message::default(), None).unwrap() };
        let out: Vec<_> = (0..MESSAGES).map(|_| send()).collect();
        for (channel, tickets) in [(&card.receiver, into), (&card.sender, out)] {
            for ticket in tickets.into_iter().rev() {
                assert_eq!(channel.wait(ticket, TIMEOUT.into()).unwrap().bytes, 2048);
            }
        }
    }
    let took = card.bus.statistics().unwrap().since(&before);
    (took.interrupts, took.picoseconds / 1000)
}

#[test]
fn moderation_wakes_the_program_less_often_and_loses_nothing() {
    let plain = batches(None);
    let by_count = batches(Some((8, Duration::from_micros(100))));
    let by_time = batches(Some((u16::MAX, Duration::from_micros(4))));
    let off = batches(Some((8, Duration::ZERO)));
    eprintln!("interrupts and ns for 8 batches of 8 messages there and back: plain {plain:?}, by count {by_count:?}, by time {by_time:?}");
    // One a batch is what a full count amounts to; by time, the program comes so much later.
    assert!(by_count.0 <= 8 && by_count.0 < plain.0 && by_count.1 <= plain.1 + plain.1 / 10);
    assert!(by_time.0 < plain.0 && by_time.1 > plain.1);
    assert!(off.0 > by_count.0, "a time of zero turns it off: {off:?}");
}

#[test]
fn two_cards_run_on_one_clock() {
    let library = model();
    let world = World::new(Settings::default()).unwrap();
    let open = |name: &str| {
        let bus = world.open(name, &library, None, Arc::new(|_, _| ()), Vec::new()).unwrap();
        let driver = UserDriver::open(bus.clone()).unwrap();
        let options = ChannelOptions { notify: Notify::Interrupt, announce: false };
        Card { sender: driver.open_channel(0, options).unwrap(), receiver: driver.open_channel(1, options).unwrap(), bus, driver }
    };
    let cards = [open("sim:a"), open("sim:b")];
    std::thread::scope(|scope| {
        for (index, card) in cards.iter().enumerate() {
            scope.spawn(move || {
                let (mut from, mut to) = (pattern(20_000, index as u32), vec![0u8; 20_000]);
                card.round(&mut from, &mut to);
                assert_eq!(from, to);
            });
        }
    });
    assert_eq!(cards[0].bus.now(), cards[1].bus.now());
}

#[test]
fn the_same_run_takes_the_same_nanoseconds() {
    let run = || {
        let card = open("reorder=1&split=1&jitter=200&seed=11", Notify::Interrupt);
        let (mut from, mut to) = (vec![3u8; 5 * 4096], vec![0u8; 5 * 4096]);
        let (a, b) = (from.as_ptr().align_offset(4096), to.as_ptr().align_offset(4096));
        for length in [16usize, 5000, 16_000] {
            card.round(&mut from[a..a + length], &mut to[b..b + length]);
        }
        (card.bus.now(), card.bus.statistics().unwrap())
    };
    assert_eq!(run(), run());
}

/// Figures, with a generous floor: the issue's own limits are checked where the library's users stand.
#[test]
fn throughput_and_speed() {
    let card = open("", Notify::default());
    let limit = strict_wire_limit(card.bus.world_share().settings());
    let (mut from, mut to) = (pattern(1 << 20, 5), vec![0u8; 1 << 20]);
    let (before, wall) = (card.bus.statistics().unwrap(), Instant::now());
    card.round(&mut from, &mut to);
    let span = card.bus.statistics().unwrap().since(&before);
    assert!(from == to);
    let rate = f64::from(1 << 20) * 1e6 / span.picoseconds as f64;
    eprintln!(
        "1 MiB there and back: {:.1} us, {:.1} % of the wire to the card, {:.1} % of the wire to the host; {:.0} thousand cycles a second",
        span.picoseconds as f64 / 1e6,
        100.0 * rate / limit.h2c,
        100.0 * rate / limit.c2h,
        span.cycles as f64 / 1000.0 / wall.elapsed().as_secs_f64()
    );
    assert!(rate > 0.5 * limit.h2c);
}
