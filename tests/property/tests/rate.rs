// SPDX-License-Identifier: Apache-2.0
//! One blocking transfer of 1 MiB, end to end in simulated time, against the strict wire limit: payload / (payload + header + 8 bytes
//! of framing) of the
//! link's rate, with completions of three words of header and writes of four, above 4 GiB, and no share for data link packets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use towpath::{Buffer, Device, Receiver, Registers, Sender};

const BYTES: usize = 1 << 20;
const FRAMING: u64 = 8;
const SHORT_HEADER: u64 = 12;
const LONG_HEADER: u64 = 16;

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

fn check(what: &str, reached: f64) {
    println!("1 MiB {what}: {reached:.1} % of the strict wire limit");
    assert!((90.0..=100.0).contains(&reached), "{what}: {reached} %");
}

#[test]
fn a_blocking_mebibyte_to_the_card_is_near_the_limit() {
    let device = open("sim:sink?width=128");
    let registers = device.registers();
    registers.write_name("seed", 3).unwrap();
    let reached = to_card(&device, &device.sender("in").unwrap(), pattern(3));
    assert_eq!((registers.read_name("bytes_low").unwrap(), registers.read_name("errors").unwrap()), (BYTES as u32, 0));
    check("to the card", reached);
}

#[test]
fn a_blocking_mebibyte_from_the_card_is_near_the_limit() {
    let device = open("sim:counter?width=128");
    let receiver = device.receiver("out").unwrap();
    let mut landing = device.allocate(BYTES).unwrap();
    let reached = from_card(&device, &receiver, &device.registers(), landing.as_mut_slice().unwrap());
    assert!(landing.as_slice().unwrap() == pattern(5));
    check("from the card", reached);
}

/// Into another card's memory, whose AXI4 answers come after 200 ns: until that card's host knows them there.
#[test]
fn a_mebibyte_into_another_cards_memory_is_near_the_limit() {
    let (device, other) = (open("sim:counter?width=128&world=rate"), open("sim:scratchpad?width=128&world=rate"));
    let memory = other.memory("ram").unwrap();
    let window = memory.window().unwrap();
    other.registers().write_name("latency", 50).unwrap();
    let (receiver, registers) = (device.receiver("out").unwrap(), device.registers());
    let mut there = Buffer::from_window(&device, &window, 0..BYTES as u64).unwrap();
    registers.write_name("length", BYTES as u32).unwrap();
    registers.write_name("seed", 5).unwrap();
    let mut posted = receiver.submit(&mut there, ..).unwrap();
    let began = device.now_ns();
    registers.write_name("control", 1).unwrap();
    assert_eq!(posted.wait(None).unwrap().bytes, BYTES as u64);
    window.flush().unwrap();
    let reached = percent(&device, began, device.wire().unwrap().max_payload, LONG_HEADER);
    let mut back = vec![0; BYTES];
    memory.read_at(&mut back, 0).unwrap();
    assert!(back == pattern(5));
    check("into another card's memory", reached);
    assert!(reached >= 95.0, "into another card's memory: {reached} %");
}

/// There and back at once; the read requests of one way share the link with the writes of the other.
fn echo(device: &Device, what: &str, sender: &Sender, receiver: &Receiver) {
    let data = device.register(pattern(9)).unwrap();
    let mut landing = device.allocate(BYTES + 64).unwrap();
    let ticket = receiver.submit(&mut landing, ..).unwrap().detach();
    let to_card = to_card(device, sender, pattern(9));
    assert_eq!(receiver.wait_ticket(ticket, None.into()).unwrap().bytes, BYTES as u64);
    assert!(landing.as_slice().unwrap()[..BYTES] == *data.as_slice().unwrap());
    check(&format!("to the card while it comes back, {what}"), to_card);

    let ticket = sender.submit(&data, .., towpath::Message::default()).unwrap().detach();
    let began = device.now_ns();
    receiver.recv_into(landing.as_mut_slice().unwrap()).unwrap();
    let from_card = percent(device, began, device.wire().unwrap().max_payload, LONG_HEADER);
    sender.wait_ticket(ticket, None.into()).unwrap();
    assert!(landing.as_slice().unwrap()[..BYTES] == *data.as_slice().unwrap());
    check(&format!("from the card while it goes there, {what}"), from_card);
}

#[test]
fn a_blocking_mebibyte_with_three_and_two_channels_is_near_the_limit() {
    let device = open(&format!("sim:{}/../cores/loop3x2?width=128", env!("CARGO_MANIFEST_DIR")));
    let reached = to_card(&device, &device.sender("c").unwrap(), pattern(7));
    let sum = pattern(7).iter().fold(0u32, |sum, byte| sum.wrapping_add((*byte).into()));
    let registers = device.registers();
    assert_eq!((registers.read_name("c_bytes").unwrap(), registers.read_name("c_sum").unwrap()), (BYTES as u32, sum));
    check("to the card, with 3 + 2 channels", reached);
    echo(&device, "with 3 + 2 channels", &device.sender("b").unwrap(), &device.receiver("y").unwrap());
}

/// A link as fast as the narrower data path: Gen2 x4 carries 8 bytes a cycle of 250 MHz.
#[test]
fn a_blocking_mebibyte_at_64_bits_is_near_the_limit_of_a_narrower_link() {
    let device = open("sim:loopback?width=64&lanes=4");
    echo(&device, "at 64 bits", &device.sender("in").unwrap(), &device.receiver("out").unwrap());
}
