// SPDX-License-Identifier: Apache-2.0
//! Card to card: what one card receives into a buffer that is another card's memory is there, every byte of it and no other, whatever else the
//! other card's host does meanwhile.
//!
//! From the environment, as for memories: TOWPATH_SEED, and TOWPATH_OPERATIONS instead of 120.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::thread;
use std::time::Duration;
use towpath::{Buffer, ChannelOptions, Device, Error, Message, Window};
use towpath_property::device::vary;
use towpath_property::random::Random;

const LONG: Option<Duration> = Some(Duration::from_secs(10));
const OPERATIONS: u64 = 120;
const RUN: u64 = 40;
/// Of the memory: the first half is written by the other card, the second by its own host.
const HALF: u64 = 64 << 10;
const SLVERR_PAGE: u32 = 0x0C;
const LATENCY: u32 = 0x04;

fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| value.parse().unwrap())
}

fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.below(256) as u8).collect()
}

struct Pair {
    /// `cores/loopback`.
    a: Device,
    /// `cores/scratchpad`.
    b: Device,
}

fn pair(seed: u64, random: &mut Random, widths: (u32, u32)) -> Pair {
    let world = format!("peers-{seed}-{}-{}", widths.0, widths.1);
    let settings = vary("sim:", random).split_off("sim:?".len());
    let open = |core: &str, width| Device::open(&format!("sim:{core}?world={world}&width={width}&{settings}")).unwrap();
    Pair { a: open("loopback", widths.0), b: open("scratchpad", widths.1) }
}

/// The other card's host works on its own half, by DMA and by the window.
fn at_home(window: &Window, memory: &towpath::Memory, mut random: Random, rounds: u64) {
    let mut model = vec![0; HALF as usize];
    memory.write_at(&model, HALF).unwrap();
    for _ in 0..rounds {
        let length = random.length(10).min(HALF as usize);
        let at = random.below(HALF as usize - length);
        let data = bytes(&mut random, length);
        model[at..at + length].copy_from_slice(&data);
        match random.one_in(2) {
            true => memory.write_at(&data, HALF + at as u64).unwrap(),
            false => {
                window.write_at(&data, HALF + at as u64).unwrap();
                window.flush().unwrap();
            }
        }
        let mut back = vec![0; length];
        memory.read_at(&mut back, HALF + at as u64).unwrap();
        assert!(back == data, "the card's own half at {at:#x}, {length} bytes");
    }
    let mut back = vec![0; HALF as usize];
    memory.read_at(&mut back, HALF).unwrap();
    assert!(back == model, "the card's own half, as a whole");
}

fn run(seed: u64, rounds: u64, widths: (u32, u32)) {
    println!("TOWPATH_SEED={seed} at {widths:?} bits");
    let mut random = Random::new(seed);
    let Pair { a, b } = pair(seed, &mut random, widths);
    let memory = b.memory("ram").unwrap();
    let window = memory.window().unwrap();
    b.registers().write(LATENCY, random.pick(&[0, 0, 20, 200])).unwrap();
    let (sender, receiver) = (a.sender("in").unwrap(), a.receiver("out").unwrap());
    let mut model = vec![0; HALF as usize];
    memory.write_at(&model, 0).unwrap();
    let mut buffer = Buffer::from_window(&a, &window, 0..HALF).unwrap();
    let (home, beside) = (Random::new(seed ^ 0x5eed), (window.clone(), &memory));
    thread::scope(|scope| {
        scope.spawn(move || at_home(&beside.0, beside.1, home, rounds));
        for _ in 0..rounds {
            let length = random.length(13).max(1);
            let at = random.below(HALF as usize - length);
            let here = at..at + length;
            let data = bytes(&mut random, length);
            // Into a buffer that is half of the memory, or a part of it by a registration of its own.
            let mut part = random.one_in(2).then(|| Buffer::from_window(&a, &window, at as u64..(at + length) as u64).unwrap());
            let mut posted = match &mut part {
                Some(part) => receiver.submit(part, ..).unwrap(),
                None => receiver.submit(&mut buffer, here.clone()).unwrap(),
            };
            sender.send(&data).unwrap();
            assert_eq!(posted.wait(LONG).unwrap().bytes, length as u64);
            model[here.clone()].copy_from_slice(&data);
            window.flush().unwrap();
            let mut back = vec![0; length];
            match random.one_in(2) {
                true => memory.read_at(&mut back, at as u64).unwrap(),
                false => window.read_at(&mut back, at as u64).unwrap(),
            }
            assert!(back == model[here], "seed {seed}: at {at:#x}, {length} bytes");
        }
    });
    let mut back = vec![0; HALF as usize];
    memory.read_at(&mut back, 0).unwrap();
    assert!(back == model, "seed {seed}: the memory, as a whole");
}

#[test]
fn one_card_writes_and_reads_anothers_memory() {
    let operations = environment("TOWPATH_OPERATIONS").unwrap_or(OPERATIONS);
    let first = environment("TOWPATH_SEED").unwrap_or(1);
    for (seed, done) in (first..).zip((0..operations).step_by(RUN as usize)) {
        run(seed, RUN.min(operations - done), [(128, 128), (64, 128), (128, 64)][seed as usize % 3]);
    }
}

#[test]
fn what_cannot_be_is_told() {
    let mut random = Random::new(1);
    let Pair { a, b } = pair(1000, &mut random, (128, 128));
    let memory = b.memory("ram").unwrap();
    let window = memory.window().unwrap();
    // No such bytes, none at all, or a card in another world.
    for (range, said) in [(0xf_ffff..0x10_0001, "are not in it"), (8..8, "at least one byte")] {
        assert!(Buffer::from_window(&a, &window, range).unwrap_err().to_string().contains(said));
    }
    let alone = Device::open("sim:loopback").unwrap();
    let error = Buffer::from_window(&alone, &window, 0..64).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)) && error.to_string().contains("same `world=NAME`"), "{error}");
    // The processor has no slice of it, and nothing is sent from it.
    let mut buffer = Buffer::from_window(&a, &window, 0..4096).unwrap();
    assert!(buffer.as_slice().unwrap_err().to_string().contains("another card's memory"));
    let refused = a.sender("in").unwrap().send_buffer(&buffer, ..64, Message::default()).unwrap_err();
    assert!(refused.to_string().contains("can only be received into"), "{refused}");
    // What the other card's core refuses, its flush tells; nothing else is different.
    let (sender, receiver) = (a.sender("in").unwrap(), a.receiver_with("out", ChannelOptions::default()).unwrap());
    b.registers().write(SLVERR_PAGE, 1).unwrap();
    let mut refused = Buffer::from_window(&a, &window, 4096..4160).unwrap();
    let mut posted = receiver.submit(&mut refused, ..).unwrap();
    sender.send(&[7; 64]).unwrap();
    assert_eq!(posted.wait(LONG).unwrap().bytes, 64);
    assert!(window.flush().unwrap_err().to_string().contains("refused"));
    let mut posted = receiver.submit(&mut buffer, ..64).unwrap();
    sender.send(&[8; 64]).unwrap();
    posted.wait(LONG).unwrap();
    window.flush().unwrap();
    let mut back = [0; 64];
    memory.read_at(&mut back, 0).unwrap();
    assert_eq!(back, [8; 64]);
    // A buffer keeps the other card open; a wait without a message ends by its limit, and the next transfer runs.
    drop((memory, window, b));
    let mut posted = receiver.submit(&mut buffer, ..64).unwrap();
    assert!(posted.wait(Some(Duration::from_micros(50))).is_err());
    drop(posted);
    receiver.reset().unwrap();
    let mut posted = receiver.submit(&mut buffer, ..64).unwrap();
    sender.send(&[9; 64]).unwrap();
    assert_eq!(posted.wait(LONG).unwrap().bytes, 64);
}
