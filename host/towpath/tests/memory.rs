// SPDX-License-Identifier: Apache-2.0
//! Memories, and channels of kinds from elsewhere, against a card in software (`towpath_userspace::mock`). Seeds are printed; `TOWPATH_SEED`
//! repeats one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::Duration;
use towpath::{ChannelOptions, Device, Direction, Error, Memory, Message, Status};
use towpath_bus::Bus;
use towpath_userspace::mock::{Misbehaviour, MockBus, Settings, MEMORY_DECERR, MEMORY_SLVERR};
use towpath_userspace::UserDriver;

const LONG: Option<Duration> = Some(Duration::from_secs(30));
/// What lies below the addresses that answer with errors.
const GOOD: usize = MEMORY_SLVERR as usize;

fn open(settings: Settings) -> (Arc<MockBus>, Device) {
    let bus = Arc::new(MockBus::new(settings));
    let device = Device::from_driver(Arc::new(UserDriver::open(bus.clone()).unwrap()));
    (bus, device)
}

fn one(seed: u64) -> (Arc<MockBus>, Device, Memory) {
    println!("TOWPATH_SEED={seed}");
    let (bus, device) = open(Settings { seed, memories: 1, ..Settings::default() });
    let memory = device.memory("ram0").unwrap();
    (bus, device, memory)
}

fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("TOWPATH_SEED") {
        Ok(seed) => vec![seed.parse().expect("TOWPATH_SEED is a number")],
        Err(_) => (1..=count).collect(),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound.max(1) as u64) as usize
    }
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
    /// A place with its length, which is mostly small, within some bytes.
    fn place(&mut self, bytes: usize) -> (u64, usize) {
        let bits = self.below(bytes.ilog2() as usize + 1);
        let length = self.below(1 << bits);
        (self.below(bytes - length + 1) as u64, length)
    }
}

#[test]
fn what_was_written_is_read_back() {
    for seed in seeds(8) {
        let (bus, device, memory) = one(seed);
        let mut random = Random(seed * 77 + 1);
        let mut model = vec![0; GOOD];
        let mut buffer = device.allocate(GOOD).unwrap();
        for _ in 0..60 {
            let (address, length) = random.place(GOOD);
            let here = address as usize..address as usize + length;
            let data = random.bytes(length);
            let cut = random.below(length + 1);
            match random.below(6) {
                0 => memory.write_at(&data, address).unwrap(),
                1 => memory.write_vectored_at(&[IoSlice::new(&data[..cut]), IoSlice::new(&data[cut..])], address).unwrap(),
                2 => {
                    buffer.as_mut_slice().unwrap()[..length].copy_from_slice(&data);
                    memory.write_buffer_at(&buffer, ..length, address).unwrap();
                }
                3 => {
                    memory.read_buffer_at(&mut buffer, ..length, address).unwrap();
                    assert!(buffer.as_slice().unwrap()[..length] == model[here], "seed {seed}");
                    continue;
                }
                other => {
                    let mut read = random.bytes(length);
                    match read.split_at_mut(cut) {
                        _ if other == 4 => memory.read_at(&mut read, address).unwrap(),
                        (first, rest) => {
                            memory.read_vectored_at(&mut [IoSliceMut::new(first), IoSliceMut::new(rest)], address).unwrap();
                        }
                    }
                    assert!(read == model[here], "seed {seed}");
                    continue;
                }
            }
            model[here].copy_from_slice(&data);
        }
        assert_eq!(bus.stray(), 0);
    }
}

#[test]
fn a_call_may_be_longer_than_a_descriptor() {
    let (_bus, device) = open(Settings { memories: 1, memory_bytes: 65 << 20, ..Settings::default() });
    let memory = device.memory("ram0").unwrap();
    let (bytes, address) = ((64 << 20) + 4097, (1 << 16) + 5);
    let data = Random(3).bytes(997).repeat(bytes / 997 + 1);
    memory.write_at(&data[..bytes], address).unwrap();
    let mut back = vec![0; bytes];
    memory.read_at(&mut back, address).unwrap();
    assert!(back == data[..bytes]);
    let (writes, reads) = (memory.writes().statistics(), memory.reads().statistics());
    // In parts that another call's cancel does not delay for long.
    assert_eq!((writes.submitted, reads.submitted, memory.len()), (65, 65, 65 << 20));
}

#[test]
fn an_address_out_of_range_reaches_no_card() {
    let (_bus, device, memory) = one(1);
    let buffer = device.allocate(100).unwrap();
    for (address, length) in [(1 << 16, 1), (0xffff, 2), (u64::MAX, 1), (u64::MAX - 1, 100), (1 << 40, 1)] {
        let text = memory.write_at(&vec![0; length], address).unwrap_err().to_string();
        assert!(text.contains("\"ram0\" has 0x10000 bytes") && text.contains(&format!("{address:#x}")), "{text}");
        assert!(matches!(memory.read_at(&mut vec![0; length], address), Err(Error::Invalid(_))));
        assert!(matches!(memory.submit_write(&buffer, ..length, address), Err(Error::Invalid(_))));
    }
    memory.write_at(&[], 1 << 16).unwrap();
    memory.read_at(&mut [], 0).unwrap();
    assert_eq!(memory.writes().statistics().submitted + memory.reads().statistics().submitted, 0);
}

#[test]
fn what_the_core_answers_is_told_in_words() {
    for seed in seeds(4) {
        let (_bus, device, memory) = one(seed);
        let mut buffer = device.allocate(64).unwrap();
        for (bad, answer, number) in [(MEMORY_SLVERR, "SLVERR", 2), (MEMORY_DECERR, "DECERR", 3)] {
            for (error, does) in [
                (memory.write_at(&[1; 100], bad - 50).unwrap_err(), "writing"),
                (memory.read_at(&mut [0; 100], bad - 50).unwrap_err(), "reading"),
            ] {
                let range = format!("{does} bytes {:#x} to {:#x} of this memory", bad - 50, bad + 49);
                let text = error.to_string();
                assert!(text.contains("\"ram0\"") && text.contains(&range) && text.contains(answer), "{text}");
                assert!(matches!(error, Error::Kind { number: found, bytes: 0, ref kind, .. } if found == number && kind == "memory"));
                assert_eq!((error.errno(), error.channel()), (121, Some("ram0")));
            }
            let done = memory.submit_read(&mut buffer, .., bad).unwrap().wait(LONG).unwrap();
            assert_eq!(done.status, Status::Kind(number));
            let text = memory.check(Direction::C2h, done, bad, 64).unwrap_err().to_string();
            assert!(text.contains(answer) && text.contains(&format!("{:#x}", bad + 63)), "{text}");
            assert!(memory.check(Direction::C2h, done, u64::MAX, 64).is_err());
            // It goes on.
            memory.write_at(b"well", 100).unwrap();
            let done = memory.submit_read(&mut buffer, ..4, 100).unwrap().wait(LONG).unwrap();
            memory.check(Direction::C2h, done, 100, 4).unwrap();
            assert_eq!(&buffer.as_slice().unwrap()[..4], b"well");
        }
    }
}

#[test]
fn a_fault_of_the_link_ends_one_operation() {
    for seed in seeds(4) {
        let (bus, _device, memory) = one(seed);
        for channel in [2, 3] {
            bus.misbehave(channel, Misbehaviour::Fault(towpath_userspace::mock::ContractStatus::Poisoned));
        }
        assert!(matches!(memory.write_at(&[7; 3000], 9), Err(Error::Fault { status: Status::Poisoned, bytes: 0, .. })));
        assert!(matches!(memory.read_at(&mut [0; 3000], 9), Err(Error::Fault { status: Status::Poisoned, bytes: 0, .. })));
        memory.write_at(&[5; 3000], 9).unwrap();
        let mut back = [0; 3000];
        memory.read_at(&mut back, 9).unwrap();
        assert!(back == [5; 3000]);
    }
}

/// A fault that comes together with a cancel is told instead of it, and the message may be open all the same.
#[test]
fn a_fault_under_a_cancel_spoils_no_later_write() {
    let mut stopped = 0;
    for seed in seeds(40) {
        let (bus, device, memory) = one(seed);
        let mut random = Random(seed * 717 + 3);
        let buffer = device.register(vec![9; 1 << 14]).unwrap();
        for _ in 0..4 {
            let mut flying = memory.submit_write(&buffer, .., 0).unwrap();
            (0..random.below(5)).for_each(|_| bus.poll().unwrap());
            bus.misbehave(2, Misbehaviour::Fault(towpath_userspace::mock::ContractStatus::UnsupportedRequest));
            flying.cancel().unwrap();
            let done = flying.wait(LONG).unwrap();
            assert_eq!(done.status, Status::UnsupportedRequest, "seed {seed}");
            stopped += u32::from(done.bytes > 0 && done.bytes < 1 << 14);
            // Some of it may have landed, but the program is to count on none.
            let error = memory.check(Direction::H2c, done, 0, 1 << 14).unwrap_err();
            assert!(matches!(error, Error::Fault { bytes: 0, .. }), "{error}");
            let new = random.bytes(3000);
            memory.write_at(&new, 0x8000).unwrap();
            let mut back = vec![0; 3000];
            memory.read_at(&mut back, 0x8000).unwrap();
            assert!(back == new, "seed {seed}: a write continued one that a fault had met");
        }
    }
    assert!(stopped > 5 || std::env::var("TOWPATH_SEED").is_ok(), "only {stopped} writes were stopped in their middle");
}

/// A cancelled write may leave its message open on the card, where the next one would go on with it; the others are begun anew.
#[test]
fn a_cancel_ends_one_operation_and_spoils_no_other() {
    let mut stopped = 0;
    for seed in seeds(60) {
        let (bus, device, memory) = one(seed);
        let mut random = Random(seed * 1313 + 7);
        let mut model = vec![0u8; 1 << 15];
        memory.write_at(&model, 0).unwrap();
        let filled = random.bytes(1 << 15);
        let buffer = device.register(filled.clone()).unwrap();
        for _ in 0..8 {
            // Each has a place of its own; several are in flight, and some are cancelled.
            let mut flying = Vec::new();
            for slot in 0..2 + random.below(3) {
                let (from, length) = (slot << 12, 1 + random.below(1 << 12));
                let transfer = memory.submit_write_with(&buffer, from..from + length, from as u64, None);
                match transfer {
                    Ok(transfer) => flying.push((transfer, from, length, random.below(3) == 0)),
                    Err(error) => assert!(matches!(error, Error::QueueFull { .. })),
                }
                (0..random.below(6)).for_each(|_| bus.poll().unwrap());
            }
            flying.iter().filter(|flown| flown.3).for_each(|flown| flown.0.cancel().unwrap());
            for (mut transfer, from, length, cancelled) in flying {
                let mut back = vec![0; length];
                match transfer.wait(LONG) {
                    Ok(done) if done.status == Status::Cancelled => {
                        assert!(cancelled, "seed {seed}");
                        let error = memory.check(Direction::H2c, done, from as u64, length as u64).unwrap_err();
                        assert!(matches!(error, Error::Cancelled { bytes: 0, .. }), "{error}");
                        stopped += u32::from(done.bytes > 0 && done.bytes < length as u64);
                        memory.read_at(&mut back, from as u64).unwrap();
                        let of = |at: usize| back[at] == filled[from + at] || back[at] == model[from + at];
                        assert!((0..length).all(of), "seed {seed}: bytes from elsewhere");
                    }
                    Ok(done) => {
                        memory.check(Direction::H2c, done, from as u64, length as u64).unwrap();
                        memory.read_at(&mut back, from as u64).unwrap();
                        assert!(back == filled[from..from + length], "seed {seed}");
                    }
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
            let ones = random.bytes(1 << 15);
            memory.write_at(&ones, 0).unwrap();
            model.copy_from_slice(&ones);
            let mut back = vec![0; 1 << 15];
            memory.read_at(&mut back, 0).unwrap();
            assert!(back == model, "seed {seed}: a write continued one that was cancelled");
        }
    }
    assert!(stopped > 5 || std::env::var("TOWPATH_SEED").is_ok(), "only {stopped} writes were stopped in their middle");
}

#[test]
fn a_cancelled_read_leaves_the_others_whole() {
    for seed in seeds(30) {
        let (bus, device, memory) = one(seed);
        let mut random = Random(seed * 99 + 5);
        let model = random.bytes(GOOD);
        memory.write_at(&model, 0).unwrap();
        for _ in 0..8 {
            let mut flying = Vec::new();
            for _ in 0..2 + random.below(2) {
                let (address, length) = (random.below(1 << 14) as u64, 1 + random.below(1 << 14));
                let mut buffer = device.allocate(length).unwrap();
                let transfer = memory.submit_read(&mut buffer, .., address).unwrap();
                flying.push((transfer, buffer, address, random.below(3) == 0));
                (0..random.below(6)).for_each(|_| bus.poll().unwrap());
            }
            flying.iter().filter(|flown| flown.3).for_each(|flown| flown.0.cancel().unwrap());
            for (mut transfer, buffer, address, cancelled) in flying {
                let done = transfer.wait(LONG).unwrap();
                let here = address as usize..address as usize + buffer.len();
                match done.status {
                    Status::Cancelled => assert!(cancelled, "seed {seed}"),
                    _ => {
                        memory.check(Direction::C2h, done, address, buffer.len() as u64).unwrap();
                        assert!(buffer.as_slice().unwrap() == &model[here], "seed {seed}");
                    }
                }
            }
        }
    }
}

#[test]
fn threads_work_at_once_each_in_its_own_place() {
    for seed in seeds(3) {
        println!("TOWPATH_SEED={seed}");
        let (_bus, device) = open(Settings { seed, memories: 2, real_time: true, ..Settings::default() });
        let memories = [device.memory("ram0").unwrap(), device.memory("ram1").unwrap()];
        let part = GOOD / 4;
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let memory = &memories[thread % 2];
                scope.spawn(move || {
                    let mut random = Random(seed * 31 + thread as u64 + 1);
                    let mut model = vec![0; part];
                    let base = (thread * part) as u64;
                    for _ in 0..25 {
                        let (at, length) = random.place(part);
                        let data = random.bytes(length);
                        memory.write_at(&data, base + at).unwrap();
                        model[at as usize..at as usize + length].copy_from_slice(&data);
                        let (at, length) = random.place(part);
                        let mut back = vec![0; length];
                        memory.read_at(&mut back, base + at).unwrap();
                        assert!(back == model[at as usize..at as usize + length], "seed {seed}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_memory_is_found_by_name_and_number_and_is_no_stream() {
    let (_bus, device) = open(Settings { memories: 2, ..Settings::default() });
    let memories: Vec<_> = device.memories().into_iter().map(|memory| (memory.name, memory.bytes, memory.writer, memory.reader)).collect();
    assert_eq!(memories, [("ram0".to_string(), 1 << 16, 2, 3), ("ram1".to_string(), 1 << 16, 4, 5)]);
    assert_eq!(device.memory(5).unwrap().name(), "ram1");
    assert_eq!(device.memory("4").unwrap().name(), "ram1");
    let text = device.memory("rom").unwrap_err().to_string();
    assert!(text.contains("no memory \"rom\"") && text.contains("\"ram1\" (0x10000 bytes)"), "{text}");
    let taken = device.memory("ram0").unwrap();
    assert!(matches!(device.memory(3), Err(Error::ChannelInUse { .. })));
    drop(taken);
    let _again = device.memory(2).unwrap();
    for error in [device.sender("ram1").unwrap_err(), device.receiver("ram1").unwrap_err(), device.sender(4).unwrap_err()] {
        let text = error.to_string();
        assert!(matches!(error, Error::WrongKind { .. }), "{text}");
        assert!(text.contains("\"ram1\" is of the kind memory") && text.contains("towpath_open_memory"), "{text}");
    }
    assert!(matches!(device.memory("in0"), Err(Error::NoSuchMemory { .. })));
}

/// What this library does not know it lists, and leaves alone.
#[test]
fn other_kinds_are_listed_and_left_alone() {
    for (kind, expected) in
        [((1, 2, "memory"), "memory version 2"), ((0, 9, "stream"), "stream version 9"), ((77, 3, "quantum"), "quantum (77) version 3")]
    {
        let (_bus, device) = open(Settings { memories: 1, memory_kind: kind, ..Settings::default() });
        let info = device.channel("ram0").unwrap();
        assert_eq!((info.kind_text().as_str(), info.kind_version, info.kind_parameter), (expected, kind.1, 16));
        let text = device.sender("ram0").unwrap_err().to_string();
        assert!(text.contains(expected) && text.contains("install the version of Towpath"), "{text}");
        assert!(device.receiver(3).is_err() && device.memory("ram0").is_err() && device.memories().is_empty());
        // The others work.
        device.sender("in0").unwrap().send(b"x").unwrap();
        assert_eq!(device.receiver("out0").unwrap().recv().unwrap(), b"x");
    }
}

/// The mock's memory stands in for a kind from elsewhere: it is asked, and gives verdicts.
#[test]
fn a_kind_from_elsewhere_is_used_by_its_name_and_version() {
    let kind = ("scratch", 3);
    for seed in seeds(6) {
        println!("TOWPATH_SEED={seed}");
        let (_bus, device) = open(Settings { seed, memories: 1, memory_kind: (2, 3, "scratch"), ..Settings::default() });
        let options = ChannelOptions::default();
        let text = device.sender("ram0").unwrap_err().to_string();
        assert!(text.contains("scratch version 3") && text.contains("the library that comes with this kind"), "{text}");
        let text = device.sender_of_kind("ram0", ("scratch", 4), options).unwrap_err().to_string();
        assert!(text.contains("scratch version 3") && text.contains("scratch version 4"), "{text}");
        assert!(matches!(device.sender_of_kind("in0", kind, options), Err(Error::WrongKind { .. })));
        assert!(matches!(device.receiver_of_kind("missing", kind, options), Err(Error::NoSuchChannel { .. })));
        let sender = device.sender_of_kind("ram0", kind, options).unwrap();
        let receiver = device.receiver_of_kind("ram0", kind, options).unwrap();
        let at = |offset| Message { offset, ..Message::default() };
        sender.send_message(b"verdicts", at(100)).unwrap();
        let mut back = [0; 8];
        let received = receiver.ask(&mut back, 100, 0).unwrap();
        assert_eq!((&back, received.bytes, received.end_of_message), (b"verdicts", 8, true));
        let error = sender.send_message(b"verdicts", at(MEMORY_SLVERR)).unwrap_err();
        assert!(matches!(&error, Error::Kind { number: 2, bytes: 8, kind, .. } if kind == "scratch version 3"), "{error}");
        assert!(matches!(receiver.ask(&mut back, MEMORY_DECERR, 0), Err(Error::Kind { number: 3, .. })));
        // Nobody knows what the kind has taken: a cancel ends all.
        let mut buffers: Vec<_> = (0..3).map(|_| device.allocate(5000).unwrap()).collect();
        let mut flying: Vec<_> = buffers.iter_mut().map(|buffer| receiver.submit_ask(buffer, .., 7, 1).unwrap()).collect();
        flying[2].cancel().unwrap();
        let ended: Vec<_> = flying.iter_mut().map(|transfer| transfer.wait(LONG).unwrap().status).collect();
        assert_eq!(ended, [Status::Cancelled; 3]);
        assert!(receiver.ask(&mut back, 100, 0).is_ok() && &back == b"verdicts");
        // Also what the program has abandoned: nothing of it is asked again.
        let mut flying: Vec<_> = buffers.iter_mut().map(|buffer| receiver.submit_ask(buffer, .., 7, 1).unwrap()).collect();
        receiver.abandon_ticket(flying.remove(0).detach());
        flying[1].cancel().unwrap();
        assert_eq!(flying[1].wait(LONG).unwrap().status, Status::Cancelled);
        assert!(buffers[0].as_slice().is_ok(), "seed {seed}");
        drop(flying);
        assert!(receiver.ask(&mut back, 100, 0).is_ok() && &back == b"verdicts");
        assert!(matches!(device.receiver("out0").unwrap().ask(&mut back, 0, 0), Err(Error::WrongKind { .. })));
    }
}
