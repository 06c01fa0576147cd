// SPDX-License-Identifier: Apache-2.0
//! Fill levels over a simulated card: waits for what the card holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::time::Duration;
use towpath::{ChannelOptions, Device, Error, Message, Notify, Receiver, Sender};

const LIMIT: Option<Duration> = Some(Duration::from_millis(50));
/// A wait that nobody wakes looks again after 100 ms; one that the card wakes takes less than this.
const PROMPT_NS: u64 = 1_000_000;
/// Bytes of a beat.
const BEAT: u32 = 16;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into()
}

/// The loopback on a card with fill levels. Its calls sleep until an interrupt.
fn open() -> (Device, Sender, Receiver) {
    let root = root();
    std::env::set_var("TOWPATH_HOME", &root);
    let device = Device::open(&format!("sim:{}", root.join("tests/cores/loopback_fill").display())).unwrap();
    let options = ChannelOptions { notify: Notify::Interrupt, ..ChannelOptions::default() };
    let (sender, receiver) = (device.sender_with("in", options).unwrap(), device.receiver_with("out", options).unwrap());
    assert!(device.info().fill_levels);
    (device, sender, receiver)
}

fn part(end: bool) -> Message {
    Message { end, ..Message::default() }
}

#[test]
fn a_program_sleeps_until_a_batch_is_worth_it() {
    let (device, sender, receiver) = open();
    assert_eq!(receiver.held().unwrap().bytes, 0);
    assert!(matches!(receiver.wait_held(1, Some(Duration::from_micros(100))), Err(Error::Pending { .. })));
    let (mut sent, mut got) = (0, 0);
    let mut landing = vec![0; 8192];
    for round in 0..20_u32 {
        let batch = 64 * (1 + round % 7);
        // Nobody sends while this thread waits: what is on its way is posted before.
        let mut buffer = device.allocate(6 * 500).unwrap();
        buffer.as_mut_slice().unwrap().iter_mut().enumerate().for_each(|(at, byte)| *byte = (sent + at) as u8);
        sent += buffer.len();
        let flights: Vec<_> =
            (0..6).map(|piece| sender.submit(&buffer, 500 * piece..500 * (piece + 1), part(piece == 5)).unwrap()).collect();
        let began = device.now_ns();
        let held = receiver.wait_held(batch, LIMIT).unwrap();
        assert!(held.bytes >= batch && !held.full, "{batch}: {held:?}");
        assert!(device.now_ns() - began < PROMPT_NS, "{batch}: nobody woke the program");
        let all = receiver.wait_held(3000, LIMIT).unwrap();
        assert_eq!((all.bytes, all.full), (3000, false));
        drop(flights);
        let received = receiver.recv_into(&mut landing).unwrap();
        assert!(received.bytes == 3000 && received.end_of_message);
        assert!(landing[..3000].iter().enumerate().all(|(at, byte)| *byte == (got + at) as u8));
        got += 3000;
        assert_eq!((receiver.held().unwrap().bytes, sender.wait_drained(0, LIMIT).unwrap().bytes), (0, 0));
    }
}

#[test]
fn a_card_that_can_hold_no_more() {
    let (device, sender, receiver) = open();
    let most = receiver.info().buffer_bytes;
    let buffer = device.register(vec![7; 3 * most as usize]).unwrap();
    let flight = sender.submit(&buffer, .., part(false)).unwrap();
    let began = device.now_ns();
    assert!(receiver.wait_held(u32::MAX, LIMIT).unwrap().bytes >= most - BEAT);
    assert!(device.now_ns() - began < PROMPT_NS, "nobody woke the program");
    let held = loop {
        let held = receiver.held().unwrap();
        if held.full {
            break held;
        }
        assert!(device.now_ns() - began < PROMPT_NS, "it has room for more: {held:?}");
    };
    assert!((most - BEAT..=most).contains(&held.bytes), "{held:?}");
    // The rest waits before the core.
    let waits = loop {
        let now = sender.held().unwrap().bytes;
        if now + held.bytes >= 2 * most {
            break now;
        }
        assert!(device.now_ns() - began < PROMPT_NS, "{now} bytes wait");
    };
    assert!(matches!(sender.wait_drained(waits / 2, Some(Duration::from_micros(100))), Err(Error::Pending { .. })));
    assert!(!sender.held().unwrap().full);
    let mut landing = device.allocate(buffer.len()).unwrap();
    let transfer = receiver.submit(&mut landing, ..).unwrap();
    let began = device.now_ns();
    assert!(sender.wait_drained(waits / 2, LIMIT).unwrap().bytes <= waits / 2);
    assert!(device.now_ns() - began < PROMPT_NS, "nobody woke the program");
    let mut transfer = transfer;
    assert_eq!(transfer.wait(LIMIT).unwrap().bytes as usize, buffer.len());
    drop(flight);
    assert_eq!(sender.wait_drained(0, LIMIT).unwrap().bytes, 0);
}

/// The core sends as much as the card holds, and has no more: a level beyond that is not waited for. Parts come with gaps between their beats, or without.
#[test]
fn a_level_above_what_the_card_holds() {
    let (device, sender, receiver) = open();
    let most = receiver.info().buffer_bytes;
    let buffer = device.register(vec![7; most as usize]).unwrap();
    for (total, step) in [(most, most), (most - BEAT, most), (most, 16), (most - BEAT, 48)] {
        for at in (0..total).step_by(step as usize) {
            let range = at as usize..(at + step).min(total) as usize;
            sender.send_buffer(&buffer, range, part(false)).unwrap();
        }
        for level in [most - BEAT, most, most + 1, u32::MAX] {
            let began = device.now_ns();
            let held = receiver.wait_held(level, LIMIT).unwrap();
            assert!(held.bytes >= most - BEAT && device.now_ns() - began < PROMPT_NS, "{total} by {step}, level {level}: {held:?}");
            assert!(receiver.try_wait_held(level).unwrap().is_some());
        }
        sender.reset().unwrap();
        receiver.reset().unwrap();
    }
}

/// What a call for an event loop has left behind wakes nobody, once it is taken back.
#[test]
fn a_level_is_taken_back() {
    let (device, sender, receiver) = open();
    let (to, mut into) = (device.register(vec![1; 96]).unwrap(), vec![0; 96]);
    let limit = Some(Duration::from_millis(2));
    // Sleeps for a while without a cause to wake, and tells what the card has sent meanwhile.
    let mut sleep = |leaves_one: bool| {
        assert!(receiver.try_wait_held(1).unwrap().is_none() && sender.try_wait_drained(0).unwrap().is_some());
        if !leaves_one {
            receiver.cancel_wait_held().unwrap();
            sender.cancel_wait_drained().unwrap();
        }
        sender.send_buffer(&to, .., part(false)).unwrap();
        let before = device.wire().unwrap().to_host;
        assert!(matches!(receiver.wait_held(4096, limit), Err(Error::Pending { .. })));
        let sent = device.wire().unwrap().to_host - before;
        receiver.recv_into(&mut into).unwrap();
        sent
    };
    let (quiet, disturbed) = (sleep(false), sleep(true));
    assert!(10 * quiet < disturbed, "{quiet} bytes, and {disturbed} with a level left");
    assert_eq!(sleep(false), quiet);
}

#[test]
fn several_calls_wait_for_levels_of_their_own() {
    let (device, sender, receiver) = open();
    let buffer = device.register(vec![1; 6000]).unwrap();
    std::thread::scope(|scope| {
        let waits: Vec<_> = [6000, 100, 3000, 1, 5999]
            .map(|bytes| {
                (
                    bytes,
                    scope.spawn({
                        let receiver = &receiver;
                        move || receiver.wait_held(bytes, None)
                    }),
                )
            })
            .into();
        for at in (0..6000).step_by(1000) {
            sender.send_buffer(&buffer, at..at + 1000, part(false)).unwrap();
        }
        for (bytes, wait) in waits {
            assert!(wait.join().unwrap().unwrap().bytes >= bytes);
        }
    });
    // A reset of the channel forgets what it held, and no wait.
    std::thread::scope(|scope| {
        let wait = scope.spawn(|| receiver.wait_held(6001, None));
        receiver.reset().unwrap();
        sender.reset().unwrap();
        for _ in 0..7 {
            sender.send_buffer(&buffer, ..1000, part(false)).unwrap();
        }
        assert!(wait.join().unwrap().unwrap().bytes >= 6001);
    });
}

#[test]
fn event_loops_are_told() {
    let (device, sender, receiver) = open();
    let event = receiver.event_fd().unwrap();
    let buffer = device.register(vec![1; 960]).unwrap();
    for round in 1..5_u32 {
        assert_eq!(receiver.try_wait_held(960 * round).unwrap(), None);
        towpath_system::event::clear(&event);
        let flight = sender.submit(&buffer, .., part(false)).unwrap();
        let began = device.now_ns();
        // The message's start is news, too.
        let held = loop {
            if towpath_system::event::clear(&event) {
                if let Some(held) = receiver.try_wait_held(960 * round).unwrap() {
                    break held;
                }
            }
            device.registers().read(0).unwrap(); // time passes
            assert!(device.now_ns() - began < PROMPT_NS, "nobody woke the program");
        };
        assert_eq!(held.bytes, 960 * round);
        drop(flight);
    }
    assert_eq!(sender.try_wait_drained(0).unwrap().unwrap().bytes, 0);
}

#[test]
fn a_card_without_them_says_so() {
    std::env::set_var("TOWPATH_HOME", root());
    let device = Device::open("sim:loopback").unwrap();
    assert!(!device.info().fill_levels);
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    for told in [receiver.held(), receiver.wait_held(1, LIMIT), sender.held(), sender.wait_drained(0, LIMIT)] {
        let Err(Error::Unavailable(why)) = told else { panic!("{told:?}") };
        assert!(why.contains("core.fill_levels = true"), "{why}");
    }
    assert!(
        matches!(receiver.try_wait_held(1), Err(Error::Unavailable(_))) && matches!(sender.try_wait_drained(1), Err(Error::Unavailable(_)))
    );
}
