// SPDX-License-Identifier: Apache-2.0
//! Plug-in `clock` over a simulated card: a loopback on three clocks, which a program switches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use towpath::{Clock, Device, Error, Receiver, Reset, Sender};

/// As the manifest has them.
const KHZ: [u32; 3] = [156_250, 62_500, 300_000];

fn open() -> Device {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
    std::env::set_var("TOWPATH_HOME", &root);
    Device::open(&format!("sim:{}", root.join("tests/cores/loopback_clocks").display())).unwrap()
}

fn clock_of(device: &Device) -> Clock {
    Clock::new(device.plugin("clock").unwrap()).unwrap()
}

/// Its number, and bytes that follow from that.
fn message(number: u32) -> Vec<u8> {
    let length = 4 + number.wrapping_mul(2_654_435_761) as usize % 3000;
    number.to_le_bytes().into_iter().chain((0u32..).map(|n| (n.wrapping_mul(number | 1) >> 8) as u8)).take(length).collect()
}

fn echoes(sender: &Sender, receiver: &Receiver, number: u32) {
    sender.send(&message(number)).unwrap();
    assert!(receiver.recv().unwrap() == message(number), "message {number}");
}

#[test]
fn inputs_and_their_frequencies() {
    let device = open();
    let clock = clock_of(&device);
    assert_eq!((device.plugins()[0].type_name.as_str(), device.plugins()[0].version), (Clock::TYPE, 1));
    assert_eq!(device.info().user_clock_khz, KHZ[0]);
    let measured = clock.frequencies_khz().unwrap();
    assert!(measured.len() == 3 && measured.iter().zip(KHZ).all(|(is, khz)| is.abs_diff(khz) <= khz / 1000), "{measured:?}");
    for (input, mhz) in [(0, 156.25), (1, 62.5), (2, 300.0), (2, 298.0)] {
        assert_eq!(clock.input_of_mhz(mhz).unwrap(), input);
    }
    let error = clock.input_of_mhz(100.0).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)) && error.to_string().contains("100 MHz; they run at 156.2, 62.5, 299.9 MHz"), "{error}");
    let error = clock.select(3).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)) && error.to_string().contains("no input 3: plug-in \"clock\" has 3"), "{error}");
    let status = clock.status().unwrap();
    assert_eq!((status.is_busy, status.is_held, status.is_astray, status.current, status.running), (false, false, false, 0, 7));
    assert!(Clock::new(device.plugin("reset").unwrap()).is_err());
}

/// The core runs at the frequency that is told: a reset of so many clocks takes so long.
#[test]
fn an_idle_core_is_switched() {
    let device = open();
    let (clock, reset, registers) = (clock_of(&device), Reset::new(device.plugin("reset").unwrap()).unwrap(), device.registers());
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let clocks = 20_000u32;
    reset.set_length(clocks).unwrap();
    for (number, input) in (0..).zip([1, 2, 0, 0, 2, 1]) {
        registers.write_name("scratch", 7).unwrap();
        clock.select(input).unwrap();
        let status = clock.status().unwrap();
        assert_eq!((status.is_busy, status.is_held, status.is_astray, status.current), (false, false, false, input));
        assert_eq!(registers.read_name("scratch").unwrap(), 0, "the core has been reset");
        let began = device.now_ns();
        reset.pulse().unwrap();
        let (took, expected) = (device.now_ns() - began, u64::from(clocks) * 1_000_000 / u64::from(KHZ[input as usize]));
        assert!(took >= expected && took < expected + 10_000, "input {input}: {took} ns, {expected} expected");
        echoes(&sender, &receiver, number);
    }
    // The card's reset goes back to the first.
    device.reset().unwrap();
    assert_eq!(clock.status().unwrap().current, 0);
    echoes(&sender, &receiver, 9);
}

/// What is held while the core is switched waits for it; whatever becomes of the channels, the core is released.
#[test]
fn held_across_a_switch() {
    let device = open();
    let clock = clock_of(&device);
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    clock.select_and_hold(2).unwrap();
    assert!(clock.status().unwrap().is_held);
    sender.send(&message(1)).unwrap();
    assert!(matches!(device.registers().read(0), Err(Error::Register { .. })), "a core in reset answers nothing");
    clock.release().unwrap();
    assert!(receiver.recv().unwrap() == message(1));
    assert!(clock.while_held(1, || towpath::Result::<()>::Err(Error::Forked)).is_err());
    assert!(!clock.status().unwrap().is_held && clock.status().unwrap().current == 1);
    let panics = std::panic::AssertUnwindSafe(|| clock.while_held(0, || -> towpath::Result<()> { panic!("in while_held") }));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(!clock.status().unwrap().is_held, "a panic releases the core, too");
    echoes(&sender, &receiver, 2);
}

/// One thread sends and receives without end, another switches: what arrives whole is right and in order, and nothing of before a switch
/// arrives after it.
/// The threads end, however the test does.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn switched_in_the_middle_of_messages() {
    let device = open();
    let clock = clock_of(&device);
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let (over, received) = (AtomicBool::new(false), AtomicU32::new(0));
    let (sent, got) = std::thread::scope(|scope| {
        let ends = Over(&over);
        let sends = scope.spawn(|| {
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                let _ = sender.send(&message(number)); // a switch ends it
                number += 1;
            }
            number
        });
        let receives = scope.spawn(|| {
            let mut last = None;
            while !over.load(Ordering::Relaxed) {
                let Ok(whole) = receiver.recv() else { continue };
                let number = u32::from_le_bytes(whole[..4].try_into().unwrap());
                assert!(whole == message(number), "{} bytes that begin as message {number}", whole.len());
                assert!(last.replace(number).is_none_or(|last| last < number), "message {number} after {last:?}");
                received.fetch_add(1, Ordering::Relaxed);
            }
        });
        // All inputs, and as often as it takes for messages between the switches, which depends on the threads' turns.
        for (switches, input) in [1, 2, 0, 2, 1, 0, 1].into_iter().cycle().take(200).enumerate() {
            if switches >= 7 && received.load(Ordering::Relaxed) > 10 {
                break;
            }
            let (until, before) = (device.now_ns() + 20_000 + 1_000 * u64::from(input), received.load(Ordering::Relaxed));
            // And until a message has come: the other threads may get no turn in that time.
            let longest = until + 2_000_000;
            while device.now_ns() < until || received.load(Ordering::Relaxed) == before && device.now_ns() < longest {
                assert!(!clock.status().unwrap().is_astray);
                std::thread::yield_now();
            }
            let reset = || {
                sender.reset()?;
                receiver.reset()
            };
            clock.while_held(input, reset).unwrap();
        }
        drop(ends);
        while !sends.is_finished() || !receives.is_finished() {
            sender.reset().unwrap();
            receiver.reset().unwrap();
        }
        receives.join().unwrap();
        (sends.join().unwrap(), received.load(Ordering::Relaxed))
    });
    assert!(sent > 10 && got > 10, "{sent} sent, {got} received");
    clock.while_held(2, || sender.reset().and(receiver.reset())).unwrap();
    (1..10).for_each(|number| echoes(&sender, &receiver, number));
}
