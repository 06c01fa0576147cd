// SPDX-License-Identifier: Apache-2.0
//! Early wake over the gateware: one blocking call at a time, end to end in simulated time, against the same by polling. The table printed is
//! in per cent of the strict wire limit, as in `rate.rs`; the bytes of each transfer are compared.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::time::Duration;
use towpath::{ChannelOptions, Device, Message, Notify};

/// Calls that are averaged, after one that is not counted.
const CALLS: u32 = 4;
const SIZES: [usize; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];
/// From the size on at which early wake is to be as good as polling.
const EARLY_FROM: usize = 16 << 10;
const POINTS: f64 = 3.0;
const FRAMING: f64 = 8.0;
/// Two for a slow host, as a thread that slept for long; the default is 1 us in all.
const WAKES: [u32; 2] = [800, 9_800];

/// What the cores sink and counter agree on.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u32 / 4).flat_map(u32::to_le_bytes).collect()
}

/// Per cent of what packets of `payload` with a header of `header` bytes reach.
fn percent(device: &Device, bytes: usize, nanoseconds: u64, payload: u32, header: f64) -> f64 {
    let payload = f64::from(payload);
    let rate = device.wire().unwrap().bytes_per_us as f64 / 1e3 * payload / (payload + header + FRAMING);
    100.0 * bytes as f64 / rate / nanoseconds as f64
}

fn open(core: &str, wake: u32) -> Device {
    Device::open(&format!("sim:{core}?width=128&delivery=200&wake={wake}")).unwrap_or_else(|error| panic!("{error}"))
}

fn to_card(device: &Device, notify: Notify, bytes: usize) -> f64 {
    let sender = device.sender_with("in", ChannelOptions { notify, announce: false }).unwrap();
    let data = device.register(pattern(bytes)).unwrap();
    let mut took = 0;
    for call in 0..=CALLS {
        let began = device.now_ns();
        sender.send_message(data.as_slice().unwrap(), Message::default()).unwrap();
        took += if call > 0 { device.now_ns() - began } else { 0 };
    }
    assert_eq!(device.registers().read_name("errors").unwrap(), 0, "{notify:?}, {bytes} bytes: wrong bytes on the card");
    percent(device, bytes, took / u64::from(CALLS), device.wire().unwrap().completion_payload, 12.0)
}

fn from_card(device: &Device, notify: Notify, bytes: usize) -> f64 {
    let receiver = device.receiver_with("out", ChannelOptions { notify, announce: false }).unwrap();
    let registers = device.registers();
    registers.write_name("length", bytes as u32).unwrap();
    registers.write_name("count", CALLS + 1).unwrap();
    registers.write_name("control", 1).unwrap();
    let mut landing = device.allocate(bytes).unwrap();
    let mut took = 0;
    for call in 0..=CALLS {
        let buffer = landing.as_mut_slice().unwrap();
        buffer.fill(0xee);
        registers.read_name("seed").unwrap(); // time for the core to have bytes at hand
        let began = device.now_ns();
        let got = receiver.recv_into(buffer).unwrap();
        took += if call > 0 { device.now_ns() - began } else { 0 };
        assert_eq!((got.bytes, got.end_of_message), (bytes, true));
        assert!(*buffer == pattern(bytes), "{notify:?}: wrong bytes in the host's memory");
    }
    percent(device, bytes, took / u64::from(CALLS), device.wire().unwrap().max_payload, 16.0)
}

fn table(way: &str, core: &str, measure: impl Fn(&Device, Notify, usize) -> f64) {
    for wake in WAKES {
        let device = open(core, wake);
        for bytes in SIZES {
            let poll = measure(&device, Notify::Poll, bytes);
            let interrupt = measure(&device, Notify::Interrupt, bytes);
            let early = measure(&device, Notify::Early, bytes);
            let adaptive = measure(&device, Notify::default(), bytes);
            let eager = measure(&device, Notify::Adaptive { poll: Duration::ZERO }, bytes);
            println!(
                "{way}, {bytes:7} bytes, waking {:4.1} us: poll {poll:5.1}  interrupt {interrupt:5.1}  early {early:5.1}  adaptive {adaptive:5.1}",
                f64::from(wake + 200) / 1e3
            );
            assert!(interrupt < poll, "waking costs nothing? {interrupt} and {poll} %");
            for (name, reached) in [("early", early), ("adaptive", adaptive), ("adaptive without polling", eager)] {
                let near = bytes < EARLY_FROM || poll - reached <= POINTS;
                assert!(near, "{way}, {bytes} bytes, waking {wake} ns: {name} reaches {reached:.1} %, polling {poll:.1} %");
            }
        }
    }
}

#[test]
fn an_early_wake_to_the_card_is_nearly_as_quick_as_polling() {
    table("to the card", "sink", to_card);
}

#[test]
fn an_early_wake_from_the_card_is_nearly_as_quick_as_polling() {
    table("from the card", "counter", from_card);
}
