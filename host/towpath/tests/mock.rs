// SPDX-License-Identifier: Apache-2.0
//! The library and the user-space driver against a card in software (`towpath_userspace::mock`): what they promise, in bad weather, too. Seeds are printed;
//! `TOWPATH_SEED` repeats one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::undocumented_unsafe_blocks
)]

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::{Duration, Instant};
use towpath::{ChannelOptions, Device, Error, Message, Notify, Received, Status};
use towpath_contract as contract;
use towpath_userspace::mock::{Early, Misbehaviour, MockBus, Settings, QUEUE_DEPTH, REGISTER_ERROR, REGISTER_SILENT};
use towpath_userspace::UserDriver;

/// All that has ended.
macro_rules! polled {
    ($channel:expr) => {{
        let mut room = [towpath::Completion::default(); 16];
        $channel.poll_completions(&mut room).map(|found| room[..found].to_vec())
    }};
}

fn open(settings: Settings) -> (Arc<MockBus>, Device) {
    let bus = Arc::new(MockBus::new(settings));
    let device = Device::from_driver(Arc::new(UserDriver::open(bus.clone()).unwrap()));
    (bus, device)
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
    /// Log-uniform from 0.
    fn length(&mut self, bits: usize) -> usize {
        let bits = self.below(bits + 1);
        self.below(1 << bits)
    }
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

fn pattern(count: usize) -> Vec<u8> {
    Random(0x1234_5678_9abc).bytes(count)
}

const SHORT: Option<Duration> = Some(Duration::from_millis(1));

#[test]
fn discovery_tells_what_the_card_is() {
    let (_bus, device) = open(Settings { pairs: 2, ..Settings::default() });
    let info = device.info();
    assert_eq!((info.core.as_str(), info.core_version, info.data_bits, info.interrupts), ("mock", 7, 128, 2));
    assert_eq!((info.serial, info.register_bytes, info.core_clock_khz), (0x1234_5678_9abc_def0, 4096, 250_000));
    let names: Vec<_> = info.channels.iter().map(|c| format!("{}{}", c.name, c.direction)).collect();
    assert_eq!(names, ["in0h2c", "out0c2h", "in1h2c", "out1c2h"]);
    assert_eq!(info.channels[0].queue_depth, QUEUE_DEPTH);
}

#[test]
fn what_a_dead_program_left_running_is_stopped_before_anything_is_mapped() {
    let (bus, device) = open(Settings::default());
    let running = |bus: &MockBus| (0..device.info().channels.len()).filter(|channel| bus.is_enabled(*channel)).count();
    let name = device.info().channels.iter().find(|channel| channel.direction == towpath::Direction::C2h).unwrap().name.clone();
    std::mem::forget(device.receiver(&name).unwrap());
    assert_eq!(running(&bus), 1);
    let next = UserDriver::open(bus.clone()).unwrap();
    assert_eq!(running(&bus), 0, "another channel than the one that is opened next would write into its memory");
    drop(next);
}

#[test]
fn other_cards_are_refused() {
    let refuse = |settings| UserDriver::open(Arc::new(MockBus::new(settings))).err().map(|e| e.to_string()).unwrap();
    let text = refuse(Settings { version: (9, 3), ..Settings::default() });
    assert!(text.contains("version 9.3") && text.contains("this library 2."), "{text}");
    let text = refuse(Settings { magic: u64::MAX, ..Settings::default() });
    assert!(text.contains("not a Towpath card"), "{text}");
    // A newer minor version only adds.
    UserDriver::open(Arc::new(MockBus::new(Settings { version: (2, 77), ..Settings::default() }))).unwrap();
}

#[test]
fn wrong_channels_are_named_with_a_remedy() {
    let (_bus, device) = open(Settings { pairs: 2, ..Settings::default() });
    let text = device.sender("out1").unwrap_err().to_string();
    assert!(text.contains("\"out1\"") && text.contains("for receiving") && text.contains("\"in0\", \"in1\""), "{text}");
    let text = device.receiver("nowhere").unwrap_err().to_string();
    assert!(text.contains("\"nowhere\"") && text.contains("3 \"out1\" (c2h)"), "{text}");
    assert!(matches!(device.sender(17), Err(Error::NoSuchChannel { .. })));
    let first = device.sender("in0").unwrap();
    assert!(matches!(device.sender(0), Err(Error::ChannelInUse { channel }) if channel == "in0"));
    drop(first);
    device.sender("0").unwrap().send(b"by its number").unwrap();
}

#[test]
fn messages_of_every_size_come_back_whole() {
    let (bus, device) = open(Settings { capacity: 1 << 20, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    for count in [0, 1, 3, 63, 64, 65, 127, 4095, 4096, 4097, 65535, 65536, 65537, 300_001] {
        let data = pattern(count);
        sender.send(&data).unwrap();
        assert_eq!(receiver.recv().unwrap(), data, "{count} bytes");
    }
    assert_eq!(bus.maps(), 2, "only the two rings are mapped after all that");
    drop((sender, receiver));
    assert_eq!((bus.maps(), bus.stray(), bus.overflows(0)), (0, 0, 0));
}

#[test]
fn attributes_and_message_starts_arrive() {
    let (_bus, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let length = Some(5 + (3u64 << 32));
    sender.send_message(b"hello", Message { length, offset: 0xabc, user: 77, ..Message::default() }).unwrap();
    sender.send(b"plain").unwrap();
    for _ in 0..2 {
        let start = receiver.message_start(SHORT).unwrap();
        assert_eq!((start.length, start.offset, start.user), (length, 0xabc, 77));
    }
    let mut buffer = [0; 5];
    // The buffer is as long as the message: its end may come with the last byte or behind it.
    let got = receiver.recv_into(&mut buffer).unwrap();
    assert_eq!((&buffer, got.bytes, got.offset, got.user), (b"hello", 5, 0xabc, 77));
    if !got.end_of_message {
        let end = receiver.recv_into(&mut buffer).unwrap();
        assert_eq!((end.bytes, end.end_of_message), (0, true));
    }
    let start = receiver.message_start(SHORT).unwrap();
    assert_eq!((start.length, start.offset, start.user), (None, 0, 0));
    assert_eq!(receiver.recv().unwrap(), b"plain");
    assert!(matches!(receiver.message_start(SHORT), Err(Error::Pending { .. })));
    assert_eq!(receiver.try_message_start().unwrap(), None);
}

#[test]
fn a_small_buffer_leaves_the_rest() {
    let (_bus, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    sender.send(&pattern(1000)).unwrap();
    let mut first = [0; 300];
    let got = receiver.recv_into(&mut first).unwrap();
    assert_eq!((got.bytes, got.end_of_message), (300, false));
    assert_eq!([first.to_vec(), receiver.recv().unwrap()].concat(), pattern(1000));
}

/// Receives one message in pieces of random size, by slice, by list or by ticket.
fn receive(random: &mut Random, receiver: &towpath::Receiver, buffer: &mut towpath::Buffer) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let size = 1 + random.length(14);
        let (bytes, end) = match random.below(3) {
            0 => {
                let mut slice = vec![0xee; size];
                let got: Received = receiver.recv_into(&mut slice).unwrap();
                all.extend_from_slice(&slice[..got.bytes]);
                (got.bytes, got.end_of_message)
            }
            1 => {
                let (mut a, mut b) = (vec![0xee; random.below(size)], vec![0xee; size]);
                let got = receiver.recv_vectored(&mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)]).unwrap();
                let whole = [a, b].concat();
                all.extend_from_slice(&whole[..got.bytes]);
                (got.bytes, got.end_of_message)
            }
            _ => {
                let at = random.below(64);
                let ticket = receiver.submit(buffer, at..at + size).unwrap().detach();
                let done = receiver.wait_ticket(ticket, SHORT.into()).unwrap().check("out0", 0).unwrap();
                all.extend_from_slice(&buffer.as_slice().unwrap()[at..at + done.bytes as usize]);
                (done.bytes as usize, done.status == Status::EndOfMessage)
            }
        };
        if end {
            return all;
        }
        assert!(bytes > 0, "a receive brought neither a byte nor the end");
    }
}

#[test]
fn random_transfers_of_every_kind() {
    for seed in seeds(12) {
        eprintln!("TOWPATH_SEED={seed}");
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let early = [Early::Never, Early::Honest, Early::Wild][seed as usize % 3];
        // When waking costs little, even short messages are slept for.
        let wake = [10_000, 300][random.below(2)];
        let (bus, device) = open(Settings { seed, capacity: 1 << 18, early, wake, ..Settings::default() });
        let notify = [Notify::default(), Notify::Poll, Notify::Interrupt, Notify::Early][seed as usize / 3 % 4];
        let options = ChannelOptions { notify, announce: random.below(2) == 0 };
        let (sender, receiver) = (device.sender_with("in0", options).unwrap(), device.receiver_with("out0", options).unwrap());
        let mut memory = device.allocate(1 << 16).unwrap();
        let mut landing = device.allocate(1 << 16).unwrap();
        if random.below(3) == 0 {
            sender.set_moderation(2, Duration::from_micros(5)).unwrap();
            receiver.set_moderation(3, Duration::from_micros(2)).unwrap();
        }
        let mut sent = 0;
        for _ in 0..400 {
            // One message, in parts.
            let mut message = Vec::new();
            let parts = 1 + random.below(4);
            let mut tickets = Vec::new();
            for part in 0..parts {
                let end = part + 1 == parts;
                let data = {
                    let count = random.length(13);
                    random.bytes(count)
                };
                let attributes = Message {
                    end,
                    length: (random.below(3) == 0).then_some(99),
                    offset: random.below(2) as u64 * 5,
                    user: random.below(2) as u32,
                };
                match random.below(3) {
                    0 => sender.send_message(&data, attributes).unwrap(),
                    1 => {
                        let (a, rest) = data.split_at(random.below(data.len() + 1));
                        let (b, c) = rest.split_at(random.below(rest.len() + 1));
                        sender.send_vectored(&[IoSlice::new(a), IoSlice::new(b), IoSlice::new(c)], attributes).unwrap();
                    }
                    _ => {
                        while let Some(ticket) = tickets.pop() {
                            assert_eq!(sender.wait_ticket(ticket, SHORT.into()).unwrap().status, Status::Done);
                        }
                        let at = random.below(64);
                        memory.as_mut_slice().unwrap()[at..at + data.len()].copy_from_slice(&data);
                        tickets.push(sender.submit(&memory, at..at + data.len(), attributes).unwrap().detach());
                        assert!(matches!(memory.as_mut_slice(), Err(Error::BufferInUse)));
                    }
                }
                message.extend_from_slice(&data);
                sent += 1;
            }
            assert_eq!(receive(&mut random, &receiver, &mut landing), message, "seed {seed}");
            for ticket in tickets {
                assert_eq!(sender.wait_ticket(ticket, SHORT.into()).unwrap().status, Status::Done);
            }
        }
        for statistics in [sender.statistics(), receiver.statistics()] {
            assert_eq!(statistics.submitted, statistics.completed);
            let faults = (statistics.wrong_cookies, statistics.wrong_lengths, statistics.wrong_statuses, statistics.unexpected);
            assert_eq!(faults, (0, 0, 0, 0), "seed {seed}");
        }
        assert_eq!(sender.statistics().submitted, sent);
        drop((memory, landing, sender, receiver));
        assert_eq!((bus.maps(), bus.stray(), bus.overflows(0)), (0, 0, 0), "seed {seed}");
    }
}

/// Nanoseconds from the end of each of many blocking transfers, on the card, to the end of the call.
fn delays(early: Early, notify: Notify, wake: u64, bytes: usize, seed: u64) -> (Arc<MockBus>, Vec<u64>) {
    let (bus, device) = open(Settings { seed, early, wake, capacity: 2 * bytes, ..Settings::default() });
    let options = ChannelOptions { notify, announce: false };
    let (sender, receiver) = (device.sender_with("in0", options).unwrap(), device.receiver_with("out0", options).unwrap());
    let data = pattern(bytes);
    let mut landing = vec![0; bytes + 1];
    let mut delays = Vec::new();
    for round in 0..40 {
        sender.send(&data).unwrap();
        delays.push(device.now_ns() - bus.told(0));
        // A buffer that the message does not fill: there is no telling when its end is near.
        let (size, end) = if round % 2 == 0 { (bytes, false) } else { (bytes + 1, true) };
        let got = receiver.recv_into(&mut landing[..size]).unwrap();
        delays.push(device.now_ns() - bus.told(1));
        assert_eq!((got.bytes, got.end_of_message || !end), (bytes, true));
        assert!(landing[..bytes] == data, "{notify:?}, {early:?}: wrong bytes in round {round}");
        if !got.end_of_message {
            assert_eq!(receiver.recv_into(&mut landing).unwrap().bytes, 0);
        }
    }
    (bus, delays)
}

fn mean(delays: &[u64]) -> u64 {
    delays.iter().sum::<u64>() / delays.len() as u64
}

#[test]
fn an_early_wake_saves_most_of_the_time_that_waking_takes() {
    const BYTES: usize = 1 << 18;
    for seed in seeds(3) {
        eprintln!("TOWPATH_SEED={seed}");
        for wake in [1_000, 10_000] {
            let (_, polled) = delays(Early::Honest, Notify::Poll, wake, BYTES, seed);
            let (_, slept) = delays(Early::Honest, Notify::Interrupt, wake, BYTES, seed);
            assert!(mean(&polled) <= 100 && mean(&slept) >= wake, "{} and {} ns", mean(&polled), mean(&slept));
            for notify in [Notify::Early, Notify::Adaptive { poll: Duration::ZERO }] {
                let (bus, woken) = delays(Early::Honest, notify, wake, BYTES, seed);
                // This card moves its bytes in bursts, the longest of them more than it has to move during a wake, so that some wakes are late.
                let mean = mean(&woken);
                let (fires, stores) = (bus.fires(0), bus.stores(contract::PAGE_CHANNEL_DOORBELL, contract::DOORBELL_LEAD_OFFSET));
                eprintln!("wake {wake}: {mean} ns on the average, fires {fires:?}, {stores} stores to the lead");
                assert!(mean <= wake / 2 && fires.1 >= 35, "{notify:?}: {mean} ns of {wake}, fires {fires:?}");
                assert!(stores < 80, "as many stores to the lead as transfers: {stores}");
            }
        }
    }
}

#[test]
fn interrupts_that_come_far_too_early_or_never_cost_no_more_than_a_wake() {
    for seed in seeds(3) {
        eprintln!("TOWPATH_SEED={seed}");
        for early in [Early::Never, Early::Wild] {
            for (bytes, wake) in [(1 << 18, 10_000), (1 << 15, 1_000), (3, 1_000)] {
                let (bus, delays) = delays(early, Notify::Early, wake, bytes, seed);
                let (mean, most) = (mean(&delays), delays.iter().max().copied().unwrap_or_default());
                assert!(mean <= wake + 200 && most <= 2 * wake + 200, "{early:?}, {bytes} bytes: {mean} ns, at most {most}, of {wake}");
                assert_eq!(bus.fires(0).1 > 0, early == Early::Wild && bytes > 3, "{early:?}, {bytes} bytes: {:?}", bus.fires(0));
            }
        }
    }
}

#[test]
fn what_is_shorter_than_waking_is_not_slept_for() {
    let (bus, delays) = delays(Early::Honest, Notify::Early, 10_000, 4096, 1);
    assert!(mean(&delays) <= 100, "{} ns", mean(&delays));
    // Apart from the measuring of the wake at the channel's opening.
    assert!(bus.fires(0).0 <= 3 && bus.fires(0).1 == 0, "{:?}", bus.fires(0));
}

#[test]
fn moderation_holds_interrupts_back_by_count_and_by_time() {
    let (bus, device) = open(Settings { pairs: 1, ..Settings::default() });
    let options = ChannelOptions { notify: Notify::Interrupt, announce: false };
    let receiver = device.receiver_with("out0", options).unwrap();
    let mut landing = device.allocate(1 << 12).unwrap();
    let mut round = |count: usize| {
        let before = bus.fires(1).0;
        let tickets: Vec<_> = (0..count).map(|_| receiver.submit(&mut landing, 0..64).unwrap().detach()).collect();
        for n in 0..count {
            bus.produce(0, &[n as u8], true);
        }
        for ticket in tickets {
            assert_eq!(receiver.wait_ticket(ticket, SHORT.into()).unwrap().bytes, 1);
        }
        bus.fires(1).0 - before
    };
    let plain = round(8);
    assert!(plain >= 1);
    receiver.set_moderation(8, Duration::from_micros(500)).unwrap();
    assert_eq!(bus.moderation(1), (8, 500_224), "the time is rounded up to whole units");
    assert_eq!(round(8), 1, "by count");
    let began = device.now_ns();
    assert_eq!(round(7), 1, "by time");
    assert!(device.now_ns() - began >= 500_000);
    device.reset().unwrap();
    assert_eq!(bus.moderation(1), (8, 500_224), "it survives a reset");
    let text = receiver.set_moderation(8, Duration::from_millis(17)).unwrap_err().to_string();
    assert!(text.contains("\"out0\"") && text.contains("17ms") && text.contains("16776960 ns"), "{text}");
    receiver.set_moderation(0, Duration::ZERO).unwrap();
    assert_eq!(bus.moderation(1), (0, 0));
    let began = device.now_ns();
    round(7);
    assert!(device.now_ns() - began < 300_000);
}

#[test]
fn the_links_counters_are_the_cards() {
    let (bus, device) = open(Settings::default());
    assert_eq!(device.link_counters().unwrap(), towpath::LinkCounters::default());
    let places = [
        contract::CARD_UNSUPPORTED_REQUESTS_OFFSET,
        contract::CARD_COMPLETER_ABORTS_OFFSET,
        contract::CARD_POISONED_OFFSET,
        contract::CARD_TIMEOUTS_OFFSET,
        contract::CARD_BAD_COMPLETIONS_OFFSET,
        contract::CARD_LATE_COMPLETIONS_OFFSET,
        contract::CARD_UNEXPECTED_COMPLETIONS_OFFSET,
        contract::CARD_BUS_MASTERING_LOSSES_OFFSET,
        contract::CARD_LINK_DOWNS_OFFSET,
        contract::CARD_FUNCTION_RESETS_OFFSET,
        contract::CARD_QUARANTINED_OFFSET,
    ];
    for (value, place) in (1..).zip(places) {
        bus.count(place, value);
    }
    let counters = device.link_counters().unwrap();
    assert_eq!(counters.named().map(|(_, value)| value), std::array::from_fn(|n| n as u32 + 1));
    assert_eq!((counters.unsupported_requests, counters.late_completions, counters.quarantined), (1, 6, 11));
    bus.unplug();
    assert!(matches!(device.link_counters(), Err(Error::Bus { .. })));
}

#[test]
fn random_timeouts_and_cancels_lose_nothing() {
    for seed in seeds(20) {
        eprintln!("TOWPATH_SEED={seed}");
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let (bus, device) = open(Settings { seed, capacity: 1000, ..Settings::default() });
        let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
        sender.set_timeout(Some(Duration::from_micros(5)));
        receiver.set_timeout(Some(Duration::from_micros(5)));
        let data = random.bytes(60_000);
        let (mut taken, mut got, mut ended) = (0, Vec::new(), false);
        let (mut send_timeouts, mut receive_timeouts) = (0, 0);
        while !ended {
            if taken <= data.len() {
                match sender.send(&data[taken..]) {
                    Ok(()) => taken = data.len() + 1,
                    Err(Error::Timeout { channel, bytes, .. }) => {
                        assert_eq!(channel, "in0");
                        taken += bytes as usize;
                        send_timeouts += 1;
                    }
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
            let mut buffer = vec![0xee; 1 + random.length(12)];
            match receiver.recv_into(&mut buffer) {
                Ok(received) => {
                    got.extend_from_slice(&buffer[..received.bytes]);
                    ended = received.end_of_message;
                }
                Err(Error::Timeout { bytes, .. }) => {
                    got.extend_from_slice(&buffer[..bytes as usize]);
                    assert!(buffer[bytes as usize..].iter().all(|byte| *byte == 0xee), "seed {seed}: bytes beyond the count");
                    receive_timeouts += 1;
                }
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        assert!(got == data, "seed {seed}: {} of {} bytes came back the same", got.len(), data.len());
        assert!(send_timeouts > 5 && receive_timeouts > 5, "seed {seed}: {send_timeouts}, {receive_timeouts}");
        assert_eq!((bus.stray(), bus.maps()), (0, 2), "seed {seed}");
    }
}

#[test]
fn a_failed_recv_keeps_what_came() {
    let (bus, device) = open(Settings::default());
    let receiver = device.receiver("out0").unwrap();
    receiver.set_timeout(SHORT);
    bus.produce(0, b"begun ", false);
    assert!(matches!(receiver.recv(), Err(Error::Timeout { bytes: 6, .. })));
    // The rest is a message of its own for this core; for the library it is what comes next.
    let mut three = [0; 3];
    assert_eq!(receiver.recv_into(&mut three).unwrap().bytes, 3);
    assert_eq!(&three, b"beg");
    assert!(matches!(receiver.recv(), Err(Error::Timeout { bytes: 3, .. })));
    receiver.reset().unwrap();
    bus.produce(0, b"fresh", true);
    assert_eq!(receiver.recv().unwrap(), b"fresh");
}

#[test]
fn tickets_fill_the_queue_and_are_cancelled() {
    let (bus, device) = open(Settings { capacity: 0, ..Settings::default() });
    let sender = device.sender("in0").unwrap();
    sender.set_timeout(SHORT);
    let buffer = device.register(pattern(4096)).unwrap();
    let tickets: Vec<_> = (0..QUEUE_DEPTH).map(|_| sender.submit(&buffer, 0..100, Message::default()).unwrap().detach()).collect();
    let text = sender.submit(&buffer, .., Message::default()).unwrap_err().to_string();
    assert!(text.contains("\"in0\"") && text.contains("wait for a ticket"), "{text}");
    assert!(matches!(sender.try_submit(&buffer, .., Message::default()), Err(Error::QueueFull { depth: QUEUE_DEPTH, .. })));
    assert!(matches!(sender.send(b"x"), Err(Error::Timeout { bytes: 0, .. })));
    assert!(matches!(sender.wait_ticket(tickets[3], SHORT.into()), Err(Error::Pending { .. })));
    assert!(buffer.in_flight());
    sender.cancel_all().unwrap();
    let ended = polled!(sender).unwrap();
    assert_eq!(ended.iter().map(|c| c.ticket).collect::<Vec<_>>(), tickets);
    assert!(ended.iter().all(|c| c.status == Status::Cancelled && c.bytes == 0));
    assert!(!buffer.in_flight());
    assert!(matches!(sender.wait_ticket(tickets[3], SHORT.into()), Err(Error::UnknownTicket { .. })));
    assert_eq!(bus.overflows(0), 0);
    bus.set_capacity(1 << 16);
    sender.send(b"and on").unwrap();
    assert_eq!(device.receiver("out0").unwrap().recv().unwrap(), b"and on");
}

#[test]
fn ranges_and_devices_of_buffers_are_checked() {
    let (_bus, device) = open(Settings::default());
    let (_other_bus, other) = open(Settings::default());
    let sender = device.sender("in0").unwrap();
    let buffer = device.allocate(100).unwrap();
    assert!(matches!(sender.submit(&buffer, 50..101, Message::default()), Err(Error::Invalid(_))));
    let foreign = other.allocate(100).unwrap();
    assert!(matches!(sender.submit(&foreign, .., Message::default()), Err(Error::Invalid(_))));
    assert!(!buffer.in_flight() && !foreign.in_flight());
}

#[test]
fn resets_end_what_is_in_flight() {
    let (_bus, device) = open(Settings { pairs: 2, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let mut buffer = device.allocate(4096).unwrap();
    for card in [false, true] {
        sender.send_message(b"left open", Message { end: false, ..Message::default() }).unwrap();
        let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
        assert!(matches!(buffer.as_slice(), Err(Error::BufferInUse)));
        if card {
            device.reset().unwrap();
        } else {
            receiver.reset().unwrap();
            sender.reset().unwrap();
        }
        let done = receiver.wait_ticket(ticket, SHORT.into()).unwrap();
        assert_eq!(done.status, Status::Reset);
        assert!(matches!(done.check("out0", 0), Err(Error::Reset { .. })));
        buffer.as_slice().unwrap();
        for _ in 0..40 {
            sender.send(b"as new").unwrap();
            assert_eq!(receiver.recv().unwrap(), b"as new");
        }
    }
}

#[test]
fn faults_end_one_transfer_and_no_more() {
    let (bus, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    use towpath_contract_status::*;
    for (sent, expected) in ALL {
        bus.misbehave(0, Misbehaviour::Fault(sent));
        let error = sender.send(b"abc").unwrap_err();
        assert!(matches!(&error, Error::Fault { channel, status, .. } if channel == "in0" && *status == expected), "{error}");
        assert_eq!(receiver.recv().unwrap(), b"abc");
        sender.send(b"next").unwrap();
        assert_eq!(receiver.recv().unwrap(), b"next");
    }
}

mod towpath_contract_status {
    use towpath::Status;
    use towpath_userspace::mock::ContractStatus as C;
    pub const ALL: [(C, Status); 8] = [
        (C::UnsupportedRequest, Status::UnsupportedRequest),
        (C::CompleterAbort, Status::CompleterAbort),
        (C::Poisoned, Status::Poisoned),
        (C::Timeout, Status::Timeout),
        (C::BusMasteringOff, Status::BusMasteringOff),
        (C::Torn, Status::Torn),
        (C::BadCompletion, Status::BadCompletion),
        (C::LinkDown, Status::LinkDown),
    ];
}

#[test]
fn a_misbehaving_card_is_counted_and_harmless() {
    let (bus, device) = open(Settings::default());
    let receiver = device.receiver("out0").unwrap();
    let recovers = |sender: &towpath::Sender| {
        receiver.reset().unwrap();
        sender.send(b"well again").unwrap();
        assert_eq!(receiver.recv().unwrap(), b"well again");
    };
    let sender = device.sender("in0").unwrap();
    sender.set_timeout(SHORT);

    bus.misbehave(0, Misbehaviour::TooManyBytes);
    let error = sender.send(b"abc").unwrap_err();
    assert!(matches!(&error, Error::Protocol { channel, .. } if channel == "in0"), "{error}");
    assert_eq!(sender.statistics().wrong_lengths, 1);
    recovers(&sender);

    bus.misbehave(0, Misbehaviour::BadStatus);
    let error = sender.send(b"abc").unwrap_err();
    assert!(error.to_string().contains("unknown status 200"), "{error}");
    assert_eq!(sender.statistics().wrong_statuses, 1);
    recovers(&sender);

    bus.misbehave(0, Misbehaviour::Twice);
    sender.send(b"abc").unwrap();
    recovers(&sender);
    let statistics = sender.statistics();
    assert_eq!(statistics.unexpected + statistics.wrong_cookies, 1, "{statistics:?}");

    // These two look like a card that never answers: the timeout's cancel does not help, the reset after it does.
    for how in [Misbehaviour::WrongCookie, Misbehaviour::WrongPhase] {
        bus.misbehave(0, how);
        let error = sender.send(&pattern(1000)).unwrap_err();
        assert!(matches!(error, Error::Reset { .. }), "{how:?}: {error}");
        recovers(&sender);
    }
    assert_eq!(sender.statistics().wrong_cookies + sender.statistics().unexpected, 2);
    assert_eq!((bus.maps(), bus.stray()), (2, 0));
}

#[test]
fn a_card_that_goes_away_hangs_nobody() {
    let (bus, device) = open(Settings { capacity: 0, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let mut buffer = device.allocate(4096).unwrap();
    let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
    bus.unplug();
    assert!(matches!(sender.send(&pattern(1000)), Err(Error::Bus { .. })));
    assert!(matches!(receiver.wait_ticket(ticket, None.into()), Err(Error::Bus { .. })));
    assert!(matches!(receiver.cancel_all(), Err(Error::Bus { .. })));
    assert!(!buffer.in_flight());
    drop((sender, receiver, buffer));
    assert_eq!(bus.maps(), 0);
}

#[test]
fn a_card_that_does_not_stop_loses_the_memory_before_the_program_gets_it_back() {
    let (bus, device) = open(Settings::default());
    let receiver = device.receiver("out0").unwrap();
    let mut buffer = device.allocate(4096).unwrap();
    let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
    bus.stick(true);
    assert!(matches!(receiver.reset(), Err(Error::Protocol { .. })));
    assert_eq!(receiver.wait_ticket(ticket, SHORT.into()).unwrap().status, Status::Reset);
    buffer.as_mut_slice().unwrap().fill(0xa5);
    assert!(matches!(receiver.try_submit(&mut buffer, ..), Err(Error::Protocol { .. })));
    // The card goes on with what it had: it finds no memory there.
    bus.produce(0, &pattern(1000), true);
    (0..1000).for_each(|_| towpath_bus::Bus::poll(&*bus).unwrap());
    assert!(buffer.as_slice().unwrap().iter().all(|byte| *byte == 0xa5));
    assert!(bus.stray() > 0);
    bus.stick(false);
    receiver.reset().unwrap();
    bus.produce(0, b"and on", true);
    let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
    assert_eq!(receiver.wait_ticket(ticket, SHORT.into()).unwrap().bytes, 6);
    assert_eq!(&buffer.as_slice().unwrap()[..6], b"and on");
    drop((receiver, buffer));
    assert_eq!(bus.maps(), 0);
}

struct Owner(Arc<std::sync::atomic::AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

/// A buffer whose owner tells when it was dropped.
fn owned(device: &Device) -> (towpath::Buffer, Arc<std::sync::atomic::AtomicBool>) {
    let memory: &'static mut [u8] = Box::leak(vec![0; 4096].into_boxed_slice());
    let dropped = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let owner = Box::new(Owner(dropped.clone()));
    let buffer = unsafe { towpath::Buffer::from_raw(device, memory.as_mut_ptr(), memory.len(), towpath::Access::ReadWrite, owner) };
    (buffer.unwrap(), dropped)
}

#[test]
fn memory_that_cannot_be_taken_away_from_the_card_is_never_given_back() {
    let (bus, device) = open(Settings::default());
    let is_dropped = |flag: &Arc<std::sync::atomic::AtomicBool>| flag.load(std::sync::atomic::Ordering::SeqCst);
    // As long as all is well, it is.
    let (buffer, dropped) = owned(&device);
    buffer.close().unwrap();
    assert!(is_dropped(&dropped));
    bus.fail_unmaps(true);
    let (closed, one) = owned(&device);
    let error = closed.close().unwrap_err();
    assert!(matches!(error, Error::Bus { .. }) && error.to_string().contains("4096 bytes"), "{error}");
    let (let_go, other) = owned(&device);
    drop(let_go);
    assert!(!is_dropped(&one) && !is_dropped(&other));
    // Memory of the library's own is the program's no more, either: what is allocated next lies elsewhere.
    let places: Vec<_> = (0..20).map(|_| device.allocate(1 << 20).unwrap().as_ptr()).collect();
    assert!((1..20).all(|i| !places[..i].contains(&places[i])), "{places:?}");
    // The rings of channels are the driver's, and the same holds for them.
    let maps = bus.maps();
    drop((device.sender("in0").unwrap(), device.receiver("out0").unwrap()));
    assert_eq!(bus.maps(), maps + 2);
    for _ in 0..10 {
        let _sender = device.sender("in0").unwrap();
    }
    assert_eq!(bus.mapped_twice(), None, "a ring's memory was given back, and is now another's");
    assert_eq!(bus.stray(), 0);
}

#[test]
fn a_transfers_own_mapping_that_stays_keeps_the_buffer() {
    let (bus, device) = open(Settings { capacity: 0, ..Settings::default() });
    let receiver = device.receiver("out0").unwrap();
    let (mut first, one) = owned(&device);
    let ticket = receiver.submit(&mut first, ..).unwrap().detach();
    // The card does not stop, so what is registered is taken away from it; and where that fails, too, it stays registered.
    bus.stick(true);
    let (second, other) = owned(&device);
    assert!(receiver.reset().is_err());
    bus.stick(false);
    receiver.reset().unwrap();
    assert_eq!(receiver.wait_ticket(ticket, SHORT.into()).unwrap().status, Status::Reset);
    // It is no longer registered: each transfer maps it by itself.
    let ticket = receiver.submit(&mut first, ..).unwrap().detach();
    bus.fail_unmaps(true);
    receiver.cancel_all().unwrap();
    assert_eq!(receiver.wait_ticket(ticket, SHORT.into()).unwrap().status, Status::Cancelled);
    bus.fail_unmaps(false);
    assert!(!first.in_flight() && first.close().is_err());
    drop(receiver);
    second.close().unwrap();
    let dropped = [one, other].map(|flag| flag.load(std::sync::atomic::Ordering::SeqCst));
    assert_eq!(dropped, [false, true]);
}

#[test]
fn what_a_card_that_does_not_stop_keeps_is_never_given_back() {
    let (bus, device) = open(Settings::default());
    let receiver = device.receiver("out0").unwrap();
    let (mut buffer, dropped) = owned(&device);
    let _ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
    bus.stick(true);
    bus.fail_unmaps(true);
    assert!(receiver.reset().is_err());
    assert!(buffer.close().is_err() && !dropped.load(std::sync::atomic::Ordering::SeqCst));
}

#[test]
fn a_post_that_fails_half_way_leaves_nothing_for_the_next_message() {
    let attributes = Message { offset: 77, user: 5, length: Some(6), ..Message::default() };
    // The slot; then two stores for each of three descriptors, or a line of them and the number.
    let cards = (0..7).map(|ahead| (ahead, 0)).chain((0..3).map(|ahead| (ahead, Settings::default().batch_slots)));
    for (ahead, batch_slots) in cards {
        let (bus, device) = open(Settings { batch_slots, ..Settings::default() });
        let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
        bus.fail_store(ahead);
        let error = sender.send_message(b"failed", attributes).unwrap_err();
        assert!(matches!(error, Error::Bus { .. }) && error.to_string().contains("reset the channel"), "{ahead}: {error}");
        let error = sender.send(b"too early").unwrap_err();
        assert!(error.to_string().contains("reset the channel"), "{ahead}: {error}");
        sender.reset().unwrap();
        sender.send(b"plain").unwrap();
        let (bytes, received) = receiver.recv_message().unwrap();
        assert_eq!((bytes.as_slice(), received.offset, received.user), (&b"plain"[..], 0, 0), "{ahead}");
        assert_eq!((bus.overflows(0), bus.stray()), (0, 0));
    }
}

#[test]
fn a_failure_in_a_later_part_tells_what_the_parts_before_it_moved() {
    const PART: usize = 64 << 20;
    let (bus, device) = open(Settings { capacity: usize::MAX, ..Settings::default() });
    let sender = device.sender("in0").unwrap();
    bus.fail_store(2); // the second descriptor's
    let error = sender.send(&vec![1; PART + 1]).unwrap_err();
    assert!(matches!(error, Error::Bus { .. }), "{error}");
    assert_eq!(error.bytes(), Some(PART as u64));
}

#[test]
fn registers_tell_what_went_wrong() {
    let (_bus, device) = open(Settings::default());
    let registers = device.registers();
    registers.write(0x10, 128).unwrap();
    assert_eq!((registers.read(0x10).unwrap(), registers.read_name("threshold").unwrap()), (128, 128));
    registers.write_name("threshold", u32::MAX).unwrap();
    assert_eq!(registers.read(0x10).unwrap(), u32::MAX, "all ones can be a value");
    for (offset, word) in [(REGISTER_ERROR, "SLVERR"), (REGISTER_SILENT, "in time"), (2, "multiple of 4"), (0x1000, "outside")] {
        let text = registers.read(offset).unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
        let text = registers.write(offset, 1).unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    }
    let text = registers.read_name("treshold").unwrap_err().to_string();
    assert!(text.contains("treshold") && text.contains("threshold"), "{text}");
    registers.read(0x10).unwrap();
}

#[test]
fn user_interrupts_are_counted_even_on_one_vector() {
    for vectors in [16, 1] {
        let (bus, device) = open(Settings { vectors, ..Settings::default() });
        let interrupts = device.interrupts();
        assert!(matches!(interrupts.wait(1, SHORT), Err(Error::InterruptTimeout { index: 1, .. })));
        bus.raise(1);
        bus.raise(1);
        assert_eq!(interrupts.wait(1, SHORT).unwrap(), 2);
        assert!(interrupts.wait(1, Some(Duration::ZERO)).unwrap_err().is_timeout());
        assert_eq!((interrupts.count(1).unwrap(), interrupts.count(0).unwrap()), (2, 0));
        assert!(interrupts.wait(2, SHORT).unwrap_err().to_string().contains("0 to 1"));
        let (sender, receiver) = (device.sender(0).unwrap(), device.receiver(1).unwrap());
        sender.send(b"beside it").unwrap();
        assert_eq!(receiver.recv().unwrap(), b"beside it");
    }
}

fn readable(fd: std::os::fd::BorrowedFd<'_>) -> bool {
    towpath_system::event::clear(&fd)
}

#[test]
fn the_event_descriptor_loses_no_wake_up() {
    let (bus, device) = open(Settings::default());
    let receiver = device.receiver("out0").unwrap();
    let fd = receiver.event_fd().unwrap();
    let mut buffer = device.allocate(256).unwrap();
    for round in 0..50 {
        let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
        assert_eq!(receiver.try_wait_ticket(ticket).unwrap(), None, "round {round}");
        readable(fd);
        bus.produce(0, &[round], true);
        let done = loop {
            if readable(fd) {
                if let Some(done) = polled!(receiver).unwrap().pop() {
                    break done;
                }
            }
            use towpath_bus::Bus;
            bus.poll().unwrap(); // the card's own time
            assert!(bus.now() < 10_000_000, "round {round}: nobody woke us");
        };
        assert_eq!((done.ticket, done.bytes, buffer.as_slice().unwrap()[0]), (ticket, 1, round));
    }
}

#[test]
fn threads_share_a_channel() {
    let (_bus, device) = open(Settings { real_time: true, capacity: 10_000, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let counts = std::thread::scope(|scope| {
        for id in 0..3u8 {
            let sender = &sender;
            scope.spawn(move || {
                for round in 0..100usize {
                    let data = vec![id; 1 + 97 * round];
                    // In two parts by one call: no other thread's bytes come between.
                    let (a, b) = data.split_at(data.len() / 2);
                    sender.send_vectored(&[IoSlice::new(a), IoSlice::new(b)], Message::default()).unwrap();
                }
            });
        }
        let mut counts = [0; 3];
        for _ in 0..300 {
            let data = receiver.recv().unwrap();
            let id = data[0];
            assert!(data.iter().all(|byte| *byte == id), "messages are mixed");
            assert_eq!(data.len(), 1 + 97 * counts[usize::from(id)]);
            counts[usize::from(id)] += 1;
        }
        counts
    });
    assert_eq!(counts, [100; 3]);
}

#[test]
fn another_thread_can_cancel_or_reset_a_wait() {
    let (_bus, device) = open(Settings { real_time: true, capacity: 0, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    sender.set_timeout(None);
    receiver.set_timeout(None);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let sends = scope.spawn(|| sender.send(&pattern(5000)));
        let receives = scope.spawn(|| receiver.recv());
        let starts = scope.spawn(|| receiver.message_start(Some(Duration::from_millis(50))));
        while sender.statistics().submitted == 0 || receiver.statistics().submitted == 0 {
            std::thread::yield_now();
        }
        sender.cancel_all().unwrap();
        assert!(matches!(sends.join().unwrap(), Err(Error::Cancelled { bytes: 0, .. })));
        receiver.reset().unwrap();
        assert!(matches!(receives.join().unwrap(), Err(Error::Reset { .. })));
        assert!(starts.join().unwrap().unwrap_err().is_timeout());
    });
    assert!(began.elapsed() < Duration::from_secs(5));
}
