// SPDX-License-Identifier: Apache-2.0
//! The whole way: library, driver, simulated link and the real gateware with the loopback core. Needs Verilator and a C++ compiler; the first run
//! builds the model.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::undocumented_unsafe_blocks
)]

use std::io::{IoSlice, IoSliceMut};
use std::time::Duration;
use towpath::{Device, Error, Message, Status};

const SIZES: [usize; 14] = [0, 1, 3, 15, 16, 17, 63, 64, 65, 127, 4095, 4097, 20_000, 70_001];

/// All that has ended.
macro_rules! polled {
    ($channel:expr) => {{
        let mut room = [towpath::Completion::default(); 16];
        $channel.poll_completions(&mut room).map(|found| room[..found].to_vec())
    }};
}

fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 37 + i / 256) as u8).collect()
}

fn open(query: &str) -> Device {
    match Device::open(&format!("sim:loopback?{query}")) {
        Ok(device) => device,
        Err(error) => panic!("{error}"),
    }
}

fn exchange(device: &Device) {
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let mut landing = device.allocate(1 << 17).unwrap();
    for count in SIZES {
        for offset in [0, 5, 61] {
            // On a page of its own: where a buffer lies decides how the card cuts its packets, hence the time.
            let mut memory = device.allocate(offset + count).unwrap();
            memory.as_mut_slice().unwrap().copy_from_slice(&pattern(offset + count));
            let data = &memory.as_slice().unwrap()[offset..];
            let ticket = receiver.submit(&mut landing, offset..offset + count + 64).unwrap().detach();
            sender.send(data).unwrap();
            let done = receiver.wait_ticket(ticket, Some(Duration::from_millis(10)).into()).unwrap();
            assert_eq!((done.status, done.bytes), (Status::EndOfMessage, count as u64), "{count} bytes at {offset}");
            assert!(&landing.as_slice().unwrap()[offset..offset + count] == data, "{count} bytes at {offset}");
        }
    }
    for statistics in [sender.statistics(), receiver.statistics()] {
        let faults = (statistics.wrong_cookies, statistics.wrong_lengths, statistics.wrong_statuses, statistics.unexpected);
        assert_eq!(faults, (0, 0, 0, 0));
    }
}

#[test]
fn messages_cross_the_gateware_at_128_bits() {
    exchange(&open(""));
}

#[test]
fn messages_cross_the_gateware_at_64_bits() {
    let device = open("width=64");
    assert_eq!(device.info().data_bits, 64);
    exchange(&device);
}

/// Of lanes that nobody names there are as many as the path keeps up with: else the hard block's completion buffer overflows.
#[test]
fn a_link_is_no_faster_than_the_cards_data_path() {
    let device = open("width=64");
    assert_eq!(device.wire().unwrap().bytes_per_us, 2000);
    assert_eq!(open("width=64&lanes=8").wire().unwrap().bytes_per_us, 4000);
    // In one world, the link is one: of a card that names none, that which is there, if it keeps up.
    let narrow = open("width=64&world=unlike widths");
    assert_eq!(open("world=unlike widths").wire().unwrap().bytes_per_us, narrow.wire().unwrap().bytes_per_us);
    let _wide = open("world=wide first");
    let why = Device::open("sim:loopback?width=64&world=wide first").err().unwrap().to_string();
    assert!(why.contains("give the same ones"), "{why}");
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let data = pattern(1 << 20);
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(&data).unwrap());
        assert_eq!(receiver.recv().unwrap(), data);
    });
}

#[test]
fn whole_and_vectored_messages_with_attributes() {
    let device = open("");
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let data = pattern(3000);
    let parts = [IoSlice::new(&data[..1]), IoSlice::new(&data[1..1500]), IoSlice::new(&[]), IoSlice::new(&data[1500..])];
    sender.send_vectored(&parts, Message { length: Some(3000), offset: 0x40, user: 9, ..Message::default() }).unwrap();
    let start = receiver.message_start(None).unwrap();
    assert_eq!((start.length, start.offset, start.user), (Some(3000), 0x40, 9));
    let (mut a, mut b) = (vec![0; 700], vec![0; 4000]);
    let got = receiver.recv_vectored(&mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)]).unwrap();
    assert_eq!((got.bytes, got.end_of_message, got.offset, got.user), (3000, true, 0x40, 9));
    assert_eq!([a, b].concat()[..3000], data);
    sender.send(&data).unwrap();
    assert_eq!(receiver.recv().unwrap(), data);
    sender.send(b"").unwrap();
    assert_eq!(receiver.recv().unwrap(), b"");
}

#[test]
fn timeouts_lose_no_byte() {
    let device = open("");
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    sender.set_timeout(Some(Duration::from_micros(50)));
    receiver.set_timeout(Some(Duration::from_micros(50)));
    let mut buffer = vec![0; 100];
    assert!(matches!(receiver.recv_into(&mut buffer), Err(Error::Timeout { bytes: 0, .. })));
    let data = pattern(200_000);
    let (mut taken, mut got, mut timeouts) = (0, Vec::new(), 0);
    loop {
        if taken <= data.len() {
            match sender.send(&data[taken..]) {
                Ok(()) => taken = data.len() + 1,
                Err(Error::Timeout { bytes, channel, .. }) => {
                    assert_eq!(channel, "in");
                    taken += bytes as usize;
                    timeouts += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        let mut buffer = vec![0; 30_001];
        match receiver.recv_into(&mut buffer) {
            Ok(received) => {
                got.extend_from_slice(&buffer[..received.bytes]);
                if received.end_of_message {
                    break;
                }
            }
            Err(Error::Timeout { bytes, .. }) => got.extend_from_slice(&buffer[..bytes as usize]),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(got == data, "{} of {} bytes are the same", got.len(), data.len());
    assert!(timeouts > 2, "the send did not meet back-pressure: {timeouts}");
}

#[test]
fn resets_cancels_registers_and_interrupts() {
    let device = open("");
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let mut buffer = device.allocate(4096).unwrap();
    let tickets: Vec<_> = (0..3).map(|_| receiver.submit(&mut buffer, ..).unwrap().detach()).collect();
    receiver.cancel_all().unwrap();
    let ended = polled!(receiver).unwrap();
    assert_eq!(ended.iter().map(|c| c.ticket).collect::<Vec<_>>(), tickets);
    assert!(ended.iter().all(|c| c.status == Status::Cancelled && c.bytes == 0));

    sender.send_message(b"never ended", Message { end: false, ..Message::default() }).unwrap();
    let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
    device.reset().unwrap();
    assert_eq!(receiver.wait_ticket(ticket, None.into()).unwrap().status, Status::Reset);

    let registers = device.registers();
    assert_eq!(registers.read_name("id").unwrap().to_le_bytes(), *b"LOOP");
    registers.write_name("scratch", 0xdead_beef).unwrap();
    assert_eq!(registers.read_name("scratch").unwrap(), 0xdead_beef);

    let interrupts = device.interrupts();
    assert!(interrupts.wait(0, Some(Duration::from_micros(20))).unwrap_err().is_timeout());
    for _ in 0..20 {
        sender.send(b"one interrupt each").unwrap();
        assert_eq!(receiver.recv().unwrap(), b"one interrupt each");
    }
    let mut events = 0;
    while events < 20 {
        events += interrupts.wait(0, Some(Duration::from_millis(1))).unwrap();
    }
    assert_eq!((events, registers.read_name("messages").unwrap()), (20, 20));
}

#[test]
fn the_same_run_takes_the_same_time() {
    let run = || {
        let device = open("");
        exchange(&device);
        device.now_ns()
    };
    assert_eq!(run(), run());
}

/// One blocking 1 MiB transfer, end to end, against the link's rate with all its headers.
#[test]
fn a_blocking_mebibyte_is_near_the_limit() {
    let device = open("");
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let data = device.register(pattern(1 << 20)).unwrap();
    let mut landing = device.allocate((1 << 20) + 64).unwrap();
    let ticket = receiver.submit(&mut landing, ..).unwrap().detach();
    let (began, before) = (device.now_ns(), device.wire().unwrap());
    sender.send(data.as_slice().unwrap()).unwrap();
    let (took, wire) = (device.now_ns() - began, device.wire().unwrap());
    assert_eq!(receiver.wait_ticket(ticket, None.into()).unwrap().bytes, 1 << 20);
    assert!(landing.as_slice().unwrap()[..1 << 20] == *data.as_slice().unwrap());
    let limit_ns = (wire.to_card - before.to_card) * 1000 / wire.bytes_per_us;
    let percent = 100 * limit_ns / took;
    eprintln!("1 MiB through a loopback: {took} ns, {percent} % of what the link could do");
    assert!(percent >= 90, "{percent} %");
}

#[test]
fn devices_of_one_world_share_its_clock() {
    let (one, two, alone) = (open("world=shared"), open("world=shared"), open(""));
    let before = alone.now_ns();
    let (sender, receiver) = (one.sender("in").unwrap(), one.receiver("out").unwrap());
    let mut landing = one.allocate(100_000).unwrap();
    let ticket = receiver.submit(&mut landing, ..).unwrap().detach();
    sender.send(&pattern(100_000)).unwrap();
    receiver.wait_ticket(ticket, None.into()).unwrap();
    drop((sender, receiver, landing));
    assert_eq!(one.now_ns(), two.now_ns());
    assert_eq!(alone.now_ns(), before);
    assert!(one.now_ns() > before + 10_000);
    let Err(Error::Invalid(why)) = Device::open("sim:loopback?world=shared&mps=256") else { panic!("other settings in one world") };
    assert!(why.contains("world \"shared\""), "{why}");
    drop((one, two));
    assert!(Device::open("sim:loopback?world=shared&mps=256").is_ok(), "the world went with its last device");
}

#[test]
fn names_that_lead_nowhere() {
    let text = |name: &str| Device::open(name).map(|_| ()).unwrap_err().to_string();
    assert!(text("vfoi:0000:65:00.0").contains("unknown kind of device"));
    let unknown = text("sim:nowhere");
    assert!(unknown.contains("nowhere") && unknown.contains("sim:loopback"), "{unknown}");
    assert!(text("sim:loopback?lanes=three").contains("lanes"));
    assert!(text("sim:loopback?width=wide").contains("width"));
    let device = open("");
    assert!(device.sender("out").unwrap_err().to_string().contains("for receiving"));
    assert!(towpath::list_devices().unwrap().iter().any(|device| device.name == "sim:loopback"));
}

/// Each window leads to its own memory: what is stored in one is read there, by load and by transfer, and the other stays as it was.
#[test]
fn windows_of_two_memories() {
    const SEED: u64 = 24;
    println!("seed {SEED}");
    let core = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cores/two_memories");
    let device = Device::open(&format!("sim:{core}")).unwrap();
    let memories = ["near", "far"].map(|name| device.memory(name).unwrap());
    let windows = memories.each_ref().map(|memory| memory.window().unwrap());
    assert_eq!(windows.each_ref().map(|window| window.len()), [65_536, 131_072]);
    let mut models = [vec![0; 65_536], vec![0; 131_072]];
    for (memory, model) in memories.iter().zip(&models) {
        memory.write_at(model, 0).unwrap();
    }
    let mut state = SEED;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..100 {
        let (which, length) = (draw(2), 1 + draw(100));
        let at = draw(65_536 - length) + if which == 1 && draw(2) == 1 { 65_536 } else { 0 };
        let data: Vec<u8> = (0..length).map(|byte| (round * 17 + byte) as u8 | 1).collect();
        windows[which].write_at(&data, at as u64).unwrap();
        models[which][at..at + length].copy_from_slice(&data);
        windows[which].flush().unwrap();
        for ((memory, window), model) in memories.iter().zip(&windows).zip(&models) {
            let at = at % 65_536;
            let length = length.min(65_536 - at);
            let (mut loaded, mut moved) = (vec![0; length], vec![0; length]);
            window.read_at(&mut loaded, at as u64).unwrap();
            memory.read_at(&mut moved, at as u64).unwrap();
            let wanted = &model[at..at + length];
            assert!(loaded == wanted && moved == wanted, "round {round}: {length} bytes at {at:#x}, stored in memory {which}");
        }
    }
    for (memory, model) in memories.iter().zip(&models) {
        let mut all = vec![0; model.len()];
        memory.read_at(&mut all, 0).unwrap();
        assert!(all == *model);
    }
}
