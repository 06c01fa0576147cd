// SPDX-License-Identifier: Apache-2.0
//! The simulator against a card of a few lines of C++ (`fake_card.cpp`): times, counts, order, faults, and what a card must not do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use towpath_bus::{Access, BarPart, Bus, BusError, DeviceMemory, Wake};
use towpath_sim::{strict_wire_limit, Fault, PrintKind, PrintSink, Settings, SimBus, SimError, World};

const COPY: u32 = 1;
const WRITE: u32 = 2;
const READ: u32 = 3;

fn compile(width: u32, user_khz: u32) -> PathBuf {
    static LOCK: Mutex<()> = Mutex::new(());
    let _one = LOCK.lock().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_card.cpp");
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateware/sim");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fake_card_{width}_{user_khz}.so"));
    let age = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    if age(&target).is_none() || age(&target) < age(&source) || age(&target) < age(&header.join("tp_model.h")) {
        let result = Command::new("g++")
            .args(["-std=c++17", "-O2", "-Wall", "-Werror", "-shared", "-fPIC"])
            .args([format!("-DWIDTH={width}"), format!("-DUSER_KHZ={user_khz}")])
            .arg("-I")
            .arg(header)
            .arg("-o")
            .arg(&target)
            .arg(source)
            .output()
            .expect("g++ is needed for this test");
        assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    }
    target
}

fn silent() -> PrintSink {
    Arc::new(|_, _| ())
}

fn open(query: &str) -> Arc<SimBus> {
    SimBus::open("sim:fake", &compile(128, 0), Settings::from_query(query).unwrap(), None, silent(), Vec::new()).unwrap()
}

/// Tell the card what to do.
fn go(bus: &SimBus, what: u32, src: u64, dst: u64, length: u32, vector: u32) {
    bus.write64(0, 0x4000, src).unwrap();
    bus.write64(0, 0x4008, dst).unwrap();
    bus.write32(0, 0x4010, length).unwrap();
    bus.write32(0, 0x4014, vector).unwrap();
    bus.write32(0, 0x4018, what).unwrap();
}

fn map(bus: &SimBus, memory: &mut [u8]) -> u64 {
    // Safety: the tests keep their buffers until the bus is gone, and look at them between calls only.
    unsafe { bus.map(memory.as_mut_ptr(), memory.len(), Access::ReadWrite).unwrap() }
}

fn pattern(bytes: usize, seed: u64) -> Vec<u8> {
    (0..bytes as u64).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 7) as u8).collect()
}

#[test]
fn discovery_sizes_the_bars_and_registers_are_memory() {
    let bus = open("");
    assert_eq!((bus.bar_bytes(0), bus.bar_bytes(1), bus.bar_bytes(2)), (8 << 12, 0, 4096));
    assert_eq!(bus.read64(0, 0).unwrap().to_le_bytes(), *b"TOWPATH\0");
    bus.write32(2, 8, 0x1234_5678).unwrap();
    bus.write64(2, 16, 0x0123_4567_89ab_cdef).unwrap();
    assert_eq!(bus.read32(2, 8).unwrap(), 0x1234_5678);
    assert_eq!(bus.read64(2, 16).unwrap(), 0x0123_4567_89ab_cdef);
    assert_eq!(bus.read32(2, 20).unwrap(), 0x0123_4567);
    assert!(matches!(bus.read32(1, 0), Err(BusError::Invalid(why)) if why.contains("no BAR 1")));
    assert!(matches!(bus.read32(2, 4096), Err(BusError::Invalid(why)) if why.contains("4096 bytes")));
    assert!(matches!(bus.write64(2, 12, 0), Err(BusError::Invalid(why)) if why.contains("multiple of 8")));
}

/// At three edges of four: the card fails when a beat comes nevertheless.
#[test]
fn a_card_that_holds_beats_back_gets_them_later() {
    let copy = |holds: bool| {
        let bus = open("");
        bus.enable_vectors(1).unwrap();
        let (mut from, mut to) = (pattern(4096, 1), vec![0u8; 4096]);
        let (src, dst) = (map(&bus, &mut from), map(&bus, &mut to));
        if holds {
            go(&bus, 14, 0, 0, 0, 0);
        }
        let before = bus.statistics().unwrap();
        go(&bus, COPY, src, dst, 4096, 0);
        assert_eq!(bus.wait(0, 1_000_000).unwrap(), Wake::Fired);
        assert!(to == from);
        bus.statistics().unwrap().since(&before).picoseconds
    };
    // 256 beats of 16 bytes, of which each takes three clocks longer.
    let late = copy(true) - copy(false);
    assert!((2_000_000..4_000_000).contains(&late), "{late}");
}

#[test]
fn stores_cost_the_processor_and_reads_their_way() {
    let bus = open("");
    let start = bus.statistics().unwrap();
    for _ in 0..10 {
        bus.write32(2, 0, 1).unwrap();
    }
    let stored = bus.statistics().unwrap();
    assert_eq!(stored.since(&start).picoseconds, 600_000);
    // Pipelined: what was stored up to 350 ns ago has reached the root port 250 ns later, and the card 7 ns after that (28 bytes).
    assert_eq!(stored.since(&start).to_card / 28, 6);
    bus.pass(1000).unwrap();
    assert_eq!(bus.statistics().unwrap().since(&start).to_card, 280);
    let before = bus.statistics().unwrap();
    bus.read32(2, 0).unwrap();
    // 250 ns there, 24 bytes in 6 ns, up to two clocks in the card and one to each side, 24 bytes in 6 ns, 250 ns back.
    let round = bus.statistics().unwrap().since(&before);
    assert!((512_000..=532_000).contains(&round.picoseconds), "{round:?}");
    assert_eq!((round.to_card, round.to_host), (24, 24));
}

#[test]
fn every_split_and_order_lands_every_byte() {
    for (width, query) in [
        (128, ""),
        (128, "reorder=1&split=1&jitter=700&seed=5"),
        (64, "reorder=1&split=1&jitter=100&seed=6&lanes=4"),
        (256, "split=1&mps=256&mrrs=1024&completion=256&seed=7"),
        (512, "reorder=1&split=1&rcb=128&jitter=50&generation=3&seed=8&mps=512"),
        (128, "transmit=1&latency=0&credits=1"),
        (128, "generation=1&lanes=1&iova=0x100000"),
    ] {
        let settings = Settings::from_query(query).unwrap();
        let bus = SimBus::open("sim:fake", &compile(width, 0), settings, None, silent(), Vec::new()).unwrap();
        assert_eq!(bus.enable_vectors(4).unwrap(), 4);
        let mut from = pattern(20_000, u64::from(width));
        let mut to = vec![0u8; 20_000];
        let (src, dst) = (map(&bus, &mut from), map(&bus, &mut to));
        let mut random = 12345u64;
        for round in 0..40u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let length = 1 + (random >> 33) as usize % (1 << (round % 14));
            let (a, b) = ((random >> 20) as usize % 5000, (random >> 40) as usize % 5000);
            to.fill(0xa5);
            go(&bus, COPY, src + a as u64, dst + b as u64, length as u32, round % 4);
            assert_eq!(bus.wait(round as u16 % 4, 1_000_000).unwrap(), Wake::Fired, "{query}: {length} bytes from {a} to {b}");
            assert!(to[b..b + length] == from[a..a + length], "{query}: {length} bytes from {a} to {b}");
            assert!(to[..b].iter().chain(&to[b + length..]).all(|byte| *byte == 0xa5), "{query}: bytes around {length} at {b}");
        }
        assert_eq!(bus.statistics().unwrap().refused_writes, 0);
    }
}

#[test]
fn the_wire_carries_what_the_formula_says() {
    let bus = open("");
    bus.enable_vectors(1).unwrap();
    let mut memory = vec![0u8; (1 << 20) + 4096];
    let align = memory.as_ptr().align_offset(4096);
    let address = map(&bus, &mut memory[align..align + (1 << 20)]);
    let limit = strict_wire_limit(bus.world_share().settings());

    let before = bus.statistics().unwrap();
    go(&bus, WRITE, 0, address, 1 << 20, 0);
    assert_eq!(bus.wait(0, 10_000_000).unwrap(), Wake::Fired);
    let span = bus.statistics().unwrap().since(&before);
    assert_eq!(span.to_host, 8192 * 152 + 24);
    assert_eq!((span.card_writes, span.card_write_payload, span.interrupts), (8193, (1 << 20) + 4, 1));
    // Five stores, a store to the card, the data, and the interrupt; the card itself needs some clocks.
    let ideal = (4 * 60 + 250) as f64 + (1 << 20) as f64 / limit.c2h * 1000.0 + 1000.0;
    let took = span.picoseconds as f64 / 1000.0;
    assert!(took > ideal && took < ideal + 120.0, "{took} ns, ideal {ideal}");
    assert!(memory[align..align + 1000].iter().enumerate().all(|(i, byte)| *byte == (i * 7 + (i >> 8)) as u8));

    let before = bus.statistics().unwrap();
    go(&bus, READ, address, 0, 1 << 20, 0);
    assert_eq!(bus.wait(0, 10_000_000).unwrap(), Wake::Fired);
    let span = bus.statistics().unwrap().since(&before);
    assert_eq!((span.card_reads, span.card_read_payload), (2048, 1 << 20));
    assert_eq!(span.to_host, 2048 * 24 + 24);
    assert_eq!(span.to_card, 8192 * 148 + 2 * 32 + 3 * 28);
    let ideal = (4 * 60 + 250 + 500) as f64 + (1 << 20) as f64 / limit.h2c * 1000.0 + 1000.0;
    let took = span.picoseconds as f64 / 1000.0;
    assert!(took > ideal && took < ideal + 120.0, "{took} ns, ideal {ideal}");
}

#[test]
fn the_same_run_takes_the_same_time() {
    let run = || {
        let bus = open("reorder=1&split=1&jitter=300&scatter=1&seed=9");
        bus.enable_vectors(2).unwrap();
        let mut from = vec![0u8; 3 * 4096];
        let mut to = vec![0u8; 3 * 4096];
        let at = |buffer: &[u8]| buffer.as_ptr().align_offset(4096);
        let (a, b) = (at(&from), at(&to));
        let (src, dst) = (map(&bus, &mut from[a..a + 8192]), map(&bus, &mut to[b..b + 8192]));
        for length in [1, 64, 777, 8000] {
            go(&bus, COPY, src, dst, length, 1);
            bus.write_combining(0, 0x6000, &[1; 200]).unwrap();
            bus.fence().unwrap();
            while bus.read32(0, 0x401c).unwrap() != 0 {}
            assert_eq!(bus.wait(1, 1_000_000).unwrap(), Wake::Fired);
            assert_eq!(bus.wait(0, 80_000).unwrap(), Wake::TimedOut);
            bus.poll().unwrap();
        }
        (bus.now(), bus.statistics().unwrap())
    };
    let first = run();
    assert_eq!(first, run());
    assert!(first.0 > 4 * 80_000);
}

#[test]
fn combined_stores_come_in_any_order_but_before_the_fence() {
    let order = |query: &str| {
        let bus = open(query);
        let bytes = pattern(300, 3);
        bus.write_combining(0, 0x6000 + 5, &bytes).unwrap();
        bus.fence().unwrap();
        bus.write32(0, 0x6800, 7).unwrap();
        let log: Vec<u32> = (0..1024).map(|i| bus.read32(0, 0x7000 + 4 * i).unwrap()).take_while(|word| *word != u32::MAX).collect();
        for (i, byte) in bytes.iter().enumerate() {
            let at = 0x6000 + 5 + i as u64;
            assert_eq!((bus.read32(0, at & !3).unwrap() >> (8 * (at & 3))) as u8, *byte, "byte {i}");
        }
        assert_eq!(log.last().map(|word| word & 0xff_ffff), Some(0x6800));
        log[..log.len() - 1].iter().map(|word| word & 0xff_ffff).collect::<Vec<_>>()
    };
    assert_eq!(order(""), [0x6004, 0x6040, 0x6080, 0x60c0, 0x6100]);
    let scattered = order("scatter=1&seed=4");
    assert!(scattered.len() > 5 && !scattered.is_sorted(), "{scattered:x?}");
    assert_eq!(scattered, order("scatter=1&seed=4"));
    assert_ne!(scattered, order("scatter=1&seed=5"));
    // Without a fence a later uncached store overtakes.
    let bus = open("");
    bus.write_combining(0, 0x6000, &[1; 64]).unwrap();
    bus.write32(0, 0x6800, 7).unwrap();
    assert_eq!(bus.read32(0, 0x7000).unwrap() & 0xff_ffff, 0x6800);
}

#[test]
fn a_host_may_get_fewer_vectors_than_the_card_has() {
    for (setting, there) in [("vectors=1", 1), ("vectors=2", 2), ("vectors=128", 4)] {
        let bus = open(setting);
        assert_eq!(bus.enable_vectors(4).unwrap(), there);
        go(&bus, WRITE, 0, 0, 0, u32::from(there) - 1);
        assert_eq!(bus.wait(there - 1, 1_000_000).unwrap(), Wake::Fired);
        assert!(matches!(bus.wait(there, 1), Err(BusError::Invalid(_))));
    }
}

#[test]
fn an_interrupt_wakes_after_its_time_and_never_twice() {
    let bus = open("delivery=300&wake=5000");
    bus.enable_vectors(4).unwrap();
    let before = bus.now();
    go(&bus, WRITE, 0, 0, 0, 2);
    assert_eq!(bus.wait(2, 1_000_000).unwrap(), Wake::Fired);
    // Four stores before the last one, 250 ns, 28 bytes, some clocks in the card, 24 bytes, delivery, wake.
    let asleep = bus.now() - before;
    assert!((240 + 250 + 7 + 6 + 5300..240 + 250 + 7 + 6 + 5300 + 30).contains(&asleep), "{asleep}");
    let before = bus.now();
    assert_eq!(bus.wait(2, 20_000).unwrap(), Wake::TimedOut);
    assert_eq!(bus.now() - before, 20_000);
    // A program that is awake anyway does not pay for being woken.
    go(&bus, WRITE, 0, 0, 0, 2);
    bus.pass(10_000).unwrap();
    let before = bus.now();
    assert_eq!(bus.wait(2, 1_000_000).unwrap(), Wake::Fired);
    assert_eq!(bus.now() - before, 50);
    assert!(matches!(bus.wait(4, 1), Err(BusError::Invalid(why)) if why.contains("no vector 4")));
}

#[test]
fn a_wait_over_a_quiet_link_ends_early_but_always_at_the_same_time() {
    let run = || {
        let bus = open("");
        let (before, wall) = (bus.now(), Instant::now());
        assert_eq!(bus.wait(0, 90_000).unwrap(), Wake::TimedOut);
        assert_eq!(bus.now() - before, 90_000); // a short one is simulated to its end
        assert_eq!(bus.wait(0, 1_500_000_000).unwrap(), Wake::TimedOut);
        assert!(wall.elapsed() < Duration::from_secs(8), "{:?}", wall.elapsed());
        assert_eq!(bus.read64(0, 0).unwrap().to_le_bytes(), *b"TOWPATH\0"); // the card goes on
        bus.now()
    };
    let end = run();
    // 250 000 quiet edges of 4 ns for each second, give or take a turn.
    assert!((1_590_000..1_600_000).contains(&end), "{end}");
    assert_eq!(end, run());
}

#[test]
fn a_card_that_breaks_a_rule_is_stopped_with_the_reason() {
    for (what, reason) in [
        (4, "4 KiB"),
        (5, "MPS (128)"),
        (6, "byte enables have holes"),
        (7, "tag 9 is still in flight"),
        (8, "takes back or changes a beat on its read stream"),
        (9, "`last`"),
        (10, "the core is unhappy"),
        (11, "core.sv:7"),
    ] {
        let bus = open("");
        let mut memory = vec![0u8; 8192];
        let address = map(&bus, &mut memory);
        go(&bus, what, address, address & !7, 4, 0);
        let why = match bus.wait(0, 50_000) {
            Err(BusError::Stopped(why)) => why,
            other => panic!("misdeed {what}: {other:?}"),
        };
        assert!(why.contains(reason), "misdeed {what}: {why}");
        assert!(matches!(bus.read32(0, 0), Err(BusError::Stopped(_))));
        bus.unmap(address, 8192).unwrap();
    }
}

#[test]
fn what_the_core_prints_reaches_the_sink() {
    let text = Arc::new(Mutex::new(Vec::new()));
    let sink = text.clone();
    let print: PrintSink = Arc::new(move |kind, text| sink.lock().unwrap().push((kind, text.to_owned())));
    let bus = SimBus::open("sim:fake", &compile(128, 0), Settings::default(), None, print, vec![("gain".into(), 16)]).unwrap();
    go(&bus, 12, 0, 0, 42, 0);
    go(&bus, WRITE, 0, 0x1_2345_6000, 4, 9);
    bus.pass(1000).unwrap();
    let text = text.lock().unwrap();
    assert_eq!(text[0], (PrintKind::Print, "length is 42\n".to_owned()));
    assert_eq!(text[1].0, PrintKind::Warning);
    assert!(text[1].1.contains("writes 4 bytes at 0x123456000"), "{text:?}");
    assert_eq!(bus.statistics().unwrap().refused_writes, 1);
    assert_eq!(bus.register_names(), [("gain".to_owned(), 16)]);
}

#[test]
fn unmapped_memory_and_injected_faults_come_as_their_status() {
    let bus = open("");
    bus.enable_vectors(1).unwrap();
    let mut memory = vec![1u8; 8192];
    let page = memory.as_ptr().align_offset(4096); // so that 64 bytes are one read
    let memory = &mut memory[page..page + 4096];
    let address = map(&bus, memory);
    let status = |length: u32| {
        go(&bus, READ, address, 0, length, 0);
        assert_eq!(bus.wait(0, 100_000).unwrap(), Wake::Fired);
        bus.read32(0, 0x401c).unwrap()
    };
    assert_eq!(status(64), 0);
    bus.inject(0, Fault::UnsupportedRequest).unwrap();
    assert_eq!(status(64), 1);
    bus.inject(1, Fault::CompleterAbort).unwrap();
    assert_eq!(status(64), 0);
    assert_eq!(status(64), 4);
    bus.inject(0, Fault::Poison).unwrap();
    assert_eq!(status(300), 0x80);
    bus.inject(0, Fault::Delay(40_000)).unwrap();
    let before = bus.now();
    assert_eq!(status(64), 0);
    assert!(bus.now() - before > 40_000);
    bus.unmap(address, 4096).unwrap();
    assert_eq!(status(64), 1);
    assert_eq!(bus.statistics().unwrap().refused_reads, 1);
    assert!(matches!(bus.unmap(address, 4096), Err(BusError::Invalid(_))));
    let address = map(&bus, memory);
    bus.inject(0, Fault::Drop).unwrap();
    go(&bus, READ, address, 0, 64, 0);
    assert_eq!(bus.wait(0, 100_000).unwrap(), Wake::TimedOut);
}

#[test]
fn memory_that_is_unmapped_while_it_is_read_is_a_refused_read() {
    let bus = open("latency=20000");
    bus.enable_vectors(1).unwrap();
    let mut memory = vec![1u8; 8192];
    let page = memory.as_ptr().align_offset(4096);
    let address = map(&bus, &mut memory[page..page + 4096]);
    go(&bus, READ, address, 0, 64, 0);
    bus.pass(5000).unwrap();
    assert_eq!(bus.statistics().unwrap().card_reads, 1, "the request has come");
    bus.unmap(address, 4096).unwrap();
    assert_eq!(bus.wait(0, 100_000).unwrap(), Wake::Fired);
    assert_eq!((bus.read32(0, 0x401c).unwrap(), bus.statistics().unwrap().refused_reads), (1, 1));
}

#[test]
fn a_card_that_does_not_answer_reads_as_ones() {
    let bus = open("read_timeout=20000");
    go(&bus, 13, 0, 0, 0, 0);
    let before = bus.now();
    assert_eq!(bus.read32(0, 0).unwrap(), u32::MAX);
    assert_eq!(bus.read64(0, 0).unwrap(), u64::MAX);
    assert_eq!(bus.now() - before, 40_000);
}

#[test]
fn a_reset_is_acknowledged_and_a_link_that_is_down_is_said() {
    let bus = open("");
    bus.enable_vectors(2).unwrap();
    bus.reset().unwrap();
    assert_eq!(bus.read64(0, 0).unwrap().to_le_bytes(), *b"TOWPATH\0");
    bus.set_link(false).unwrap();
    assert!(matches!(bus.read32(0, 0), Err(BusError::Gone(why)) if why.contains("link")));
    assert!(matches!(bus.wait(0, 1000), Err(BusError::Gone(_))));
    bus.set_link(true).unwrap();
    // A link that goes down under a read ends it, and the next ones are answered again.
    for _ in 0..40 {
        let down = bus.clone();
        go(&bus, 13, 0, 0, 0, 0); // the card is silent
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            down.set_link(false).unwrap();
        });
        assert_eq!(bus.read32(0, 0).unwrap(), u32::MAX);
        thread.join().unwrap();
        bus.set_link(true).unwrap();
        go(&bus, 13, 0, 0, 0, 0); // and speaks again
        bus.pass(1000).unwrap();
    }
    assert_eq!(bus.read64(0, 0).unwrap().to_le_bytes(), *b"TOWPATH\0");
}

#[test]
fn a_card_must_not_send_without_bus_mastering() {
    let bus = open("");
    bus.set_bus_master(false).unwrap();
    bus.pass(10_000).unwrap();
    go(&bus, WRITE, 0, 0x1_0000_0000, 4, 0);
    assert!(matches!(bus.wait(0, 10_000), Err(BusError::Stopped(why)) if why.contains("bus mastering")));
}

fn readable(fd: i32, milliseconds: i32) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // Safety: one structure, as told.
    unsafe { libc::poll(&mut poll, 1, milliseconds) == 1 }
}

fn drain(fd: i32) -> u64 {
    let mut count = 0u64;
    // Safety: an eventfd writes 8 bytes.
    assert_eq!(unsafe { libc::read(fd, std::ptr::from_mut(&mut count).cast(), 8) }, 8);
    count
}

#[test]
fn time_passes_by_itself_for_an_eventfd() {
    let bus = open("latency=20000");
    bus.enable_vectors(2).unwrap();
    let mut memory = vec![1u8; 4096];
    let address = map(&bus, &mut memory);
    let event = bus.event_fd(1).unwrap();
    let fd = event.as_raw_fd();
    for _ in 0..3 {
        go(&bus, READ, address, 0, 64, 1);
        assert!(readable(fd, 10_000));
        assert_eq!(drain(fd), 1);
        assert_eq!(bus.wait(1, 1000).unwrap(), Wake::Fired);
        // Nobody waits any more: time stands still.
        let before = bus.now();
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(bus.now(), before);
    }
    assert!(!readable(fd, 0));
    assert!(bus.now() > 60_000);
}

#[test]
fn threads_take_turns() {
    let bus = open("");
    bus.enable_vectors(4).unwrap();
    let mut memory = vec![1u8; 4096];
    let address = map(&bus, &mut memory);
    let waiting: Vec<_> = (0..3u16)
        .map(|vector| {
            let bus = bus.clone();
            std::thread::spawn(move || bus.wait(vector, 60_000_000_000).unwrap())
        })
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    for vector in 0..3 {
        go(&bus, READ, address, 0, 64, vector);
        bus.pass(5000).unwrap();
    }
    for thread in waiting {
        assert_eq!(thread.join().unwrap(), Wake::Fired);
    }
}

/// A part of a BAR as a device's memory. Nobody copies it.
#[derive(Debug)]
struct Window(Arc<dyn BarPart>);

impl DeviceMemory for Window {
    fn address(&self) -> usize {
        4096
    }
    fn bytes(&self) -> usize {
        0
    }
    fn read(&self, _offset: usize, _into: &mut [u8]) -> std::io::Result<()> {
        unreachable!()
    }
    fn write(&self, _offset: usize, _from: &[u8]) -> std::io::Result<()> {
        unreachable!()
    }
    fn has_failed(&self) -> bool {
        self.0.has_lost()
    }
    fn part_of_a_bar(&self) -> Option<&Arc<dyn BarPart>> {
        Some(&self.0)
    }
}

#[test]
fn cards_of_one_world_reach_each_other_and_only_their_own_memory() {
    let world = World::new(Settings::default()).unwrap();
    let open = |name: &str| world.open(name, &compile(128, 0), None, silent(), Vec::new()).unwrap();
    let (a, b) = (open("sim:a"), open("sim:b"));
    a.enable_vectors(1).unwrap();
    // A writes to B's window, of which it has a part.
    let share = |offset, bytes, access| {
        let window: Arc<dyn DeviceMemory> = Arc::new(Window(b.share_bar(2, offset, bytes).unwrap()));
        (a.map_device(&window, access).unwrap(), window)
    };
    let (window, _) = share(0x100, 0x900, Access::ReadWrite);
    assert_eq!(window % 4096, 0x100);
    go(&a, WRITE, 0, window, 256, 0);
    assert_eq!(a.wait(0, 100_000).unwrap(), Wake::Fired);
    b.pass(1000).unwrap();
    assert_eq!(b.read32(2, 0x100 + 16).unwrap().to_le_bytes(), [112, 119, 126, 133]);
    // A reads 4 bytes of B's window, where they are of no use but to go into A's memory.
    b.write32(2, 0x200, 0xcafe_f00d).unwrap();
    b.read32(2, 0x200).unwrap();
    let mut memory = vec![0u8; 4096];
    let address = map(&a, &mut memory);
    go(&a, COPY, window + 0x100, address, 4, 0);
    assert_eq!(a.wait(0, 100_000).unwrap(), Wake::Fired);
    assert_eq!(memory[..4], 0xcafe_f00du32.to_le_bytes());
    // What was not shared, or only to be written, is read as an unsupported request; B has none of A's.
    let (written, _) = share(0x400, 64, Access::Write);
    for address in [window - 4, window + 0x8fc + 4, written] {
        go(&a, READ, address, 0, 4, 0);
        assert_eq!(a.wait(0, 100_000).unwrap(), Wake::Fired, "{address:#x}");
        assert_eq!(a.read32(0, 0x401c).unwrap(), 1);
    }
    // Memory that was mapped for A is not there for B.
    b.enable_vectors(1).unwrap();
    go(&b, READ, address, 0, 4, 0);
    assert_eq!(b.wait(0, 100_000).unwrap(), Wake::Fired);
    assert_eq!(b.read32(0, 0x401c).unwrap(), 1);
    // A part that A gave back is not there any more.
    a.unmap(written, 64).unwrap();
    go(&a, WRITE, 0, written, 64, 0);
    assert_eq!(a.wait(0, 100_000).unwrap(), Wake::Fired);
    assert_eq!(a.statistics().unwrap().refused_writes, 1);
    // When B's link goes down, all that it has shared is over, for what was on its way is lost; a read is refused. What is shared afterwards is not.
    let (part, shared) = share(0x800, 64, Access::ReadWrite);
    let lost = |shared: &Arc<dyn DeviceMemory>| shared.part_of_a_bar().unwrap().has_lost();
    assert!(!lost(&shared));
    b.set_link(false).unwrap();
    assert!(lost(&shared));
    go(&a, READ, part, 0, 4, 0);
    assert_eq!(a.wait(0, 100_000).unwrap(), Wake::Fired);
    assert_eq!(a.read32(0, 0x401c).unwrap(), 1);
    b.set_link(true).unwrap();
    assert!(!lost(&share(0x800, 64, Access::ReadWrite).1));
    // A card in another world is no peer.
    let other = SimBus::open("sim:other", &compile(128, 0), Settings::default(), None, silent(), Vec::new()).unwrap();
    let window: Arc<dyn DeviceMemory> = Arc::new(Window(b.share_bar(2, 0, 64).unwrap()));
    assert!(other.map_device(&window, Access::Write).unwrap_err().to_string().contains("same `world=NAME`"));
    assert!(b.share_bar(2, 4000, 200).unwrap_err().to_string().contains("BAR 2 of sim:b has 4096 bytes"));
    // A card that is closed leaves the other one running, and one that takes its place gets nothing of what was sent to it.
    let (part, shared) = share(0x800, 64, Access::Write);
    drop(b);
    go(&a, READ, address, 0, 4, 0);
    assert_eq!(a.wait(0, 100_000).unwrap(), Wake::Fired);
    let c = open("sim:c");
    let before = c.read32(2, 0x800).unwrap();
    go(&a, WRITE, 0, part, 64, 0);
    assert_eq!(a.wait(0, 100_000).unwrap(), Wake::Fired);
    a.pass(1000).unwrap();
    assert_eq!(c.read32(2, 0x800).unwrap(), before);
    assert!(shared.part_of_a_bar().unwrap().has_lost());
}

#[test]
fn a_user_clock_of_its_own_ticks_at_its_rate() {
    let bus = SimBus::open("sim:fake", &compile(128, 100_000), Settings::default(), None, silent(), Vec::new()).unwrap();
    let count = || bus.read32(2, 4092).unwrap() & 0xff;
    let (before, start) = (count(), bus.now());
    bus.pass(1000).unwrap();
    let ticks = count().wrapping_sub(before) & 0xff;
    let expected = (bus.now() - start) / 10;
    assert!(u64::from(ticks).abs_diff(expected) <= 1, "{ticks} ticks, {expected} expected");
}

#[test]
fn what_cannot_be_opened_says_why() {
    let open = |library: &Path, trace: Option<&Path>| {
        SimBus::open("sim:fake", library, Settings::default(), trace, silent(), Vec::new()).err().expect("it must not open")
    };
    assert!(matches!(open(Path::new("/nonexistent.so"), None), SimError::Library(path, _) if path == Path::new("/nonexistent.so")));
    let why = open(&compile(128, 0), Some(Path::new("/nonexistent/x.fst"))).to_string();
    assert!(why.contains("/nonexistent/x.fst") && why.contains("cannot be opened"), "{why}");
    let settings = Settings { max_payload: 100, ..Settings::default() };
    assert!(matches!(World::new(settings).err(), Some(why) if why.to_string().contains("mps=100")));
}

/// Reported, not asserted: how fast the simulator itself is, with a card that costs next to nothing.
#[test]
fn speed() {
    let bus = open("");
    let wall = Instant::now();
    bus.pass(2_000_000).unwrap();
    println!("idle: {:.1} million cycles a second", 0.5 / wall.elapsed().as_secs_f64());
    let mut memory = vec![0u8; 1 << 20];
    let address = map(&bus, &mut memory);
    bus.enable_vectors(1).unwrap();
    for what in [WRITE, READ] {
        let (before, wall) = (bus.statistics().unwrap(), Instant::now());
        go(&bus, what, address, address, 1 << 20, 0);
        assert_eq!(bus.wait(0, 100_000_000).unwrap(), Wake::Fired);
        let cycles = bus.statistics().unwrap().since(&before).cycles;
        println!("busy: {:.1} million cycles a second", cycles as f64 / 1e6 / wall.elapsed().as_secs_f64());
    }
}
