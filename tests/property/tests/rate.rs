// SPDX-License-Identifier: Apache-2.0
//! One blocking transfer of 1 MiB, end to end in simulated time, against the strict wire limit: payload / (payload + header + 8 bytes of framing) of the
//! link's rate, with completions of three words of header and writes of four, above 4 GiB, and no share for data link packets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use towpath::{Device, Receiver, Registers, Sender};

const BYTES: usize = 1 << 20;
const FRAMING: u64 = 8;
const SHORT_HEADER: u64 = 12;
const LONG_HEADER: u64 = 16;

/// `width`, and a link as fast as the data path: Gen2 x8 carries 16 bytes a cycle of 250 MHz, x4 half of it.
const PATHS: [&str; 2] = ["width=128&lanes=8", "width=64&lanes=4"];

/// What the cores sink and counter agree on.
fn pattern(seed: u32) -> Vec<u8> {
    (0..BYTES as u32 / 4).flat_map(|word| seed.wrapping_add(word).to_le_bytes()).collect()
}

fn open(name: &str) -> Device {
    Device::open(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Per cent of the limit for packets of `payload` and `header`.
fn percent(device: &Device, began: u64, payload: u32, header: u64) -> f64 {
    let took = (device.now_ns() - began) as f64;
    let payload = f64::from(payload);
    let rate = device.wire().unwrap().bytes_per_us as f64 / 1e3 * payload / (payload + (header + FRAMING) as f64);
    100.0 * BYTES as f64 / rate / took
}

fn to_card(device: &Device, sender: &Sender, data: Vec<u8>) -> f64 {
    let data = device.register(data).unwrap();
    let began = device.now_ns();
    sender.send(data.as_slice().unwrap()).unwrap();
    percent(device, began, device.wire().unwrap().completion_payload, SHORT_HEADER)
}

/// From the write that starts the core to the end of the message.
fn from_card(device: &Device, receiver: &Receiver, registers: &Registers, landing: &mut [u8]) -> f64 {
    registers.write_name("length", BYTES as u32).unwrap();
    registers.write_name("seed", 5).unwrap();
    let began = device.now_ns();
    registers.write_name("control", 1).unwrap();
    let received = receiver.recv_into(landing).unwrap();
    let percent = percent(device, began, device.wire().unwrap().max_payload, LONG_HEADER);
    assert_eq!((received.bytes, received.end_of_message), (BYTES, true));
    percent
}

#[test]
fn a_blocking_mebibyte_to_the_card_is_near_the_limit() {
    for path in PATHS {
        let device = open(&format!("sim:sink?{path}"));
        let registers = device.registers();
        registers.write_name("seed", 3).unwrap();
        let reached = to_card(&device, &device.sender("in").unwrap(), pattern(3));
        println!("1 MiB to the card, {path}, 1 channel: {reached:.1} % of the strict wire limit");
        assert_eq!((registers.read_name("bytes_low").unwrap(), registers.read_name("errors").unwrap()), (BYTES as u32, 0));
        assert!(reached >= 90.0 && reached <= 100.0, "{path}: {reached} %");
    }
}

#[test]
fn a_blocking_mebibyte_from_the_card_is_near_the_limit() {
    for path in PATHS {
        let device = open(&format!("sim:counter?{path}"));
        let receiver = device.receiver("out").unwrap();
        let mut landing = device.allocate(BYTES).unwrap();
        let reached = from_card(&device, &receiver, &device.registers(), landing.as_mut_slice().unwrap());
        println!("1 MiB from the card, {path}, 1 channel: {reached:.1} % of the strict wire limit");
        assert!(landing.as_slice().unwrap() == pattern(5));
        assert!(reached >= 90.0 && reached <= 100.0, "{path}: {reached} %");
    }
}

/// With three channels down and two up: one of them alone, and one that comes back at the same time.
#[test]
fn a_blocking_mebibyte_with_more_channels_is_near_the_limit() {
    for path in PATHS {
        let device = open(&format!("sim:{}/../cores/loop3x2?{path}", env!("CARGO_MANIFEST_DIR")));
        let sender = device.sender("c").unwrap();
        let reached = to_card(&device, &sender, pattern(7));
        println!("1 MiB to the card, {path}, 3 + 2 channels: {reached:.1} % of the strict wire limit");
        let sum = pattern(7).iter().fold(0u32, |sum, byte| sum.wrapping_add((*byte).into()));
        assert_eq!((device.registers().read_name("c_bytes").unwrap(), device.registers().read_name("c_sum").unwrap()), (BYTES as u32, sum));
        assert!(reached >= 90.0 && reached <= 100.0, "{path}: {reached} %");

        let (sender, receiver) = (device.sender("b").unwrap(), device.receiver("y").unwrap());
        let data = device.register(pattern(9)).unwrap();
        let mut landing = device.allocate(BYTES).unwrap();
        let ticket = sender.submit(&data, .., towpath::Message::default()).unwrap();
        let began = device.now_ns();
        receiver.recv_into(landing.as_mut_slice().unwrap()).unwrap();
        let reached = percent(&device, began, device.wire().unwrap().max_payload, LONG_HEADER);
        sender.wait(ticket, None).unwrap();
        println!("1 MiB from the card, {path}, 3 + 2 channels, while it goes to the card: {reached:.1} % of the strict wire limit");
        assert!(landing.as_slice().unwrap() == data.as_slice().unwrap());
        assert!(reached >= 80.0 && reached <= 100.0, "{path}: {reached} %"); // the reads' requests share the way
    }
}
