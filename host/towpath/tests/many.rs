// SPDX-License-Identifier: Apache-2.0
//! Several transfers in one call, over the card in software, which looks at how they reach it: slots and fences, positions, and room.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use towpath::{Buffer, Completion, Device, Error, Message, Status, Transfer};
use towpath_bus::{Access, Bus, Result, Wake};
use towpath_contract as contract;
use towpath_userspace::mock::{MockBus, Settings, QUEUE_DEPTH};
use towpath_userspace::UserDriver;

const DEPTH: usize = QUEUE_DEPTH as usize;
const LONG: Option<Duration> = Some(Duration::from_secs(5));

fn open(settings: Settings) -> (Arc<MockBus>, Device) {
    let bus = Arc::new(MockBus::new(settings));
    let device = over(bus.clone());
    (bus, device)
}

fn over(bus: Arc<dyn Bus>) -> Device {
    Device::from_driver(Arc::new(UserDriver::open(bus).unwrap()))
}

fn numbered(device: &Device, bytes: usize) -> Buffer {
    device.register((0..bytes).map(|at| (at * 7 + at / 256) as u8).collect::<Vec<u8>>()).unwrap()
}

/// `count` ranges of `bytes` bytes, one behind the other.
fn ranges(count: usize, bytes: usize) -> Vec<Range<usize>> {
    (0..count).map(|n| n * bytes..(n + 1) * bytes).collect()
}

fn whole<'a>(buffer: &'a Buffer, ranges: &[Range<usize>]) -> Vec<(&'a Buffer, Range<usize>, Message)> {
    ranges.iter().map(|range| (buffer, range.clone(), Message::default())).collect()
}

fn wait_all(transfers: Vec<Transfer>) -> Vec<(Status, u64)> {
    transfers.into_iter().map(|mut transfer| transfer.wait(LONG).unwrap()).map(|done| (done.status, done.bytes)).collect()
}

#[test]
fn all_of_a_call_go_in_one_batch_and_in_order() {
    let (bus, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let data = numbered(&device, 1000);
    let mut landing = device.allocate(8 * 64).unwrap();
    for round in 1..50 {
        let count = 2 + round % (DEPTH - 1);
        let posted = receiver.submit_many(&mut landing, &ranges(count, 64)).unwrap();
        let sent = sender.submit_many(&whole(&data, &ranges(count, 1 + round))).unwrap();
        assert_eq!((posted.len(), sent.len(), bus.batches()), (count, count, 2 * round as u64));
        assert_eq!(wait_all(sent), vec![(Status::Done, 1 + round as u64); count]);
        assert_eq!(wait_all(posted), vec![(Status::EndOfMessage, 1 + round as u64); count]);
        for n in 0..count {
            let (there, back) = (n * (1 + round), &landing.as_slice().unwrap()[64 * n..][..1 + round]);
            assert_eq!(back, &data.as_slice().unwrap()[there..there + 1 + round], "round {round}, message {n}");
        }
    }
    assert_eq!((bus.overflows(0), bus.overflows(1), bus.stray()), (0, 0, 0));
}

/// By the doorbell on a card that has no slots, or too few of them to be written ahead.
#[test]
fn a_card_without_batches_works_as_before() {
    for batch_slots in [0, QUEUE_DEPTH] {
        let (bus, device) = open(Settings { batch_slots, ..Settings::default() });
        let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
        let data = numbered(&device, 1000);
        for round in 0..20 {
            let sent = sender.submit_many(&whole(&data, &ranges(5, 30 + round))).unwrap();
            assert_eq!(wait_all(sent), [(Status::Done, 30 + round as u64); 5]);
            for range in ranges(5, 30 + round) {
                assert_eq!(receiver.recv().unwrap(), data.as_slice().unwrap()[range]);
            }
        }
        assert_eq!((bus.batches(), bus.overflows(0)), (0, 0));
    }
}

#[test]
fn as_many_are_taken_as_there_is_room_for() {
    let (bus, device) = open(Settings { capacity: 0, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let data = numbered(&device, 2000);
    assert!(sender.submit_many(&[]).unwrap().is_empty());
    let all = whole(&data, &ranges(DEPTH + 4, 100));
    let first = sender.submit_many(&all[..3]).unwrap();
    let second = sender.submit_many(&all[3..]).unwrap();
    assert_eq!((first.len(), second.len()), (3, DEPTH - 3));
    assert!(matches!(sender.try_submit_many(&all[DEPTH..]), Err(Error::QueueFull { .. })));
    let soon = Duration::from_millis(3);
    assert!(matches!(sender.submit_many_with(&all[DEPTH..], Some(soon).into()), Err(Error::QueueFull { .. })));
    bus.set_capacity(1 << 16);
    let third = sender.submit_many(&all[DEPTH..]).unwrap();
    assert!(!third.is_empty());
    let taken = DEPTH + third.len();
    for transfers in [first, second, third] {
        assert!(wait_all(transfers).iter().all(|done| *done == (Status::Done, 100)));
    }
    for range in ranges(taken, 100) {
        assert_eq!(receiver.recv().unwrap(), data.as_slice().unwrap()[range]);
    }
    assert!(!data.in_flight());
    assert_eq!((sender.statistics().submitted, bus.overflows(0)), (taken as u64, 0));
}

/// Attributes take places of their own, and arrive.
#[test]
fn messages_with_attributes_take_their_places() {
    let (bus, device) = open(Settings { capacity: 0, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let data = numbered(&device, 1000);
    let message = |user| Message { length: Some(50), user, ..Message::default() };
    let all: Vec<_> = ranges(DEPTH, 50).into_iter().zip(1..).map(|(range, user)| (&data, range, message(user))).collect();
    let sent = sender.submit_many(&all).unwrap();
    assert_eq!((sent.len(), bus.batches()), (DEPTH / 3, 1));
    bus.set_capacity(1 << 16);
    for user in 1..=sent.len() {
        let (bytes, received) = receiver.recv_message().unwrap();
        assert_eq!((bytes.len(), received.user as usize), (50, user));
    }
    assert_eq!(wait_all(sent), [(Status::Done, 50); DEPTH / 3]);
}

#[test]
fn an_invalid_one_is_named_and_none_is_submitted() {
    let (bus, device) = open(Settings::default());
    let sender = device.sender("in0").unwrap();
    let (data, other) = (numbered(&device, 1000), open(Settings::default()).1);
    let foreign = numbered(&other, 100);
    let good = whole(&data, &ranges(DEPTH + 2, 10));
    for (at, bad) in [(0, (&data, 990..1001)), (3, (&foreign, 0..10)), (DEPTH + 2, (&data, 5..2000))] {
        let mut all = good.clone();
        all.insert(at, (bad.0, bad.1, Message::default()));
        let error = sender.submit_many(&all).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)) && error.to_string().starts_with(&format!("transfer {at} ")), "{error}");
        assert!(!data.in_flight());
    }
    assert_eq!((sender.statistics().submitted, bus.batches()), (0, 0));
}

/// Of a post that fails half-way nothing was submitted, and a reset makes the channel usable.
#[test]
fn a_batch_that_fails_leaves_nothing_behind() {
    for ahead in 0..3 {
        let (bus, device) = open(Settings::default());
        let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
        let data = numbered(&device, 1000);
        let before = sender.submit(&data, 900..1000, Message::default()).unwrap();
        bus.fail_store(ahead); // two lines, and the number
        let error = sender.submit_many(&whole(&data, &ranges(6, 100))).unwrap_err();
        assert!(matches!(error, Error::Bus { .. }) && error.to_string().contains("reset the channel"), "{ahead}: {error}");
        assert_eq!(sender.statistics().submitted, 1, "{ahead}");
        assert!(sender.submit_many(&whole(&data, &ranges(2, 100))).is_err(), "{ahead}");
        sender.reset().unwrap();
        drop(before);
        assert!(!data.in_flight(), "{ahead}");
        let sent = sender.submit_many(&whole(&data, &ranges(4, 100))).unwrap();
        assert_eq!(wait_all(sent), [(Status::Done, 100); 4]);
        while receiver.recv().unwrap() != data.as_slice().unwrap()[300..400] {}
        assert_eq!((bus.overflows(0), bus.stray()), (0, 0), "{ahead}");
    }
}

/// Calls of one and of several, cancels and resets at random; then each message that was sent whole comes back once, in order.
fn mix(device: &Device, seed: u64) -> Vec<Status> {
    let mut state = seed | 1;
    let mut below = move |n: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % n
    };
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let mut buffers: Vec<Buffer> = (0..DEPTH + 1).map(|_| device.register(vec![0u8; 100]).unwrap()).collect();
    let (mut flight, mut ends, mut number) = (Vec::<(Transfer, usize, [u8; 20])>::new(), Vec::new(), 0u64);
    let mut sent = std::collections::VecDeque::new();
    for _ in 0..3000 {
        match below(12) {
            0..5 => {
                let free: Vec<usize> = (0..buffers.len()).filter(|n| flight.iter().all(|(_, used, _)| used != n)).collect();
                let free = &free[..free.len().min(1 + below(DEPTH))];
                let mut contents = Vec::new();
                for buffer in free {
                    number += 1;
                    let bytes: [u8; 20] = std::array::from_fn(|at| (number >> (8 * (at % 3))) as u8 ^ at as u8);
                    buffers[*buffer].as_mut_slice().unwrap()[..20].copy_from_slice(&bytes);
                    contents.push(bytes);
                }
                let message = Message { user: below(2) as u32, ..Message::default() };
                let all: Vec<_> = free.iter().map(|buffer| (&buffers[*buffer], 0..20, message)).collect();
                let submitted = match sender.try_submit_many(&all) {
                    Err(Error::QueueFull { .. }) => Vec::new(),
                    submitted => submitted.unwrap(),
                };
                flight.extend(submitted.into_iter().zip(free).zip(contents).map(|((transfer, buffer), bytes)| (transfer, *buffer, bytes)));
            }
            5 if !flight.is_empty() => flight[below(flight.len())].0.cancel().unwrap(),
            6 if below(20) == 0 => {
                sender.reset().unwrap();
                receiver.reset().unwrap();
                while let Some((mut transfer, ..)) = flight.pop() {
                    ends.push(transfer.wait(LONG).unwrap().status);
                }
                sent.clear();
            }
            7 if !sent.is_empty() => {
                let wanted: [u8; 20] = sent.pop_front().unwrap();
                assert_eq!(receiver.recv().unwrap(), wanted);
            }
            _ => {
                while let Some((transfer, ..)) = flight.first_mut() {
                    let Some(done) = transfer.try_wait().unwrap() else { break };
                    let (_, _, bytes) = flight.remove(0);
                    ends.push(done.status);
                    match done {
                        Completion { status: Status::Done, .. } => sent.push_back(bytes),
                        // What a cancelled message leaves open would be another's beginning.
                        Completion { status: Status::Cancelled, bytes: 1.., .. } => {
                            sender.reset().unwrap();
                            receiver.reset().unwrap();
                            while let Some((mut transfer, ..)) = flight.pop() {
                                ends.push(transfer.wait(LONG).unwrap().status);
                            }
                            sent.clear();
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    ends
}

#[test]
fn random_mixes_with_cancels_and_resets_keep_their_positions() {
    for seed in 0..20 {
        let (bus, device) = open(Settings { seed: seed + 1, ..Settings::default() });
        let ends = mix(&device, seed);
        let good = |status: &Status| matches!(status, Status::Done | Status::Cancelled | Status::Reset);
        assert!(ends.iter().all(good), "seed {seed}: {ends:?}");
        assert!(ends.len() > 500 && ends.contains(&Status::Cancelled) && ends.contains(&Status::Reset), "seed {seed}");
        assert!(bus.batches() > 100 && bus.overflows(0) == 0 && bus.stray() == 0, "seed {seed}");
    }
}

/// A driver that goes wrong, as its bus sees it.
#[derive(Clone, Copy, PartialEq)]
enum Plant {
    Nothing,
    /// No fence between slots and their commit.
    Fence,
    /// The slot behind the right one.
    Slot,
    /// A dword of a slot is not written.
    Dword,
}

struct Planted(Arc<MockBus>, Plant);

impl Planted {
    fn is_batch(offset: u64) -> bool {
        let page = (offset >> 12) - contract::PAGE_CHANNELS;
        page % contract::PAGES_PER_CHANNEL == contract::PAGE_CHANNEL_BATCH
    }
}

impl Bus for Planted {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn bar_bytes(&self, bar: u8) -> u64 {
        self.0.bar_bytes(bar)
    }
    fn read32(&self, bar: u8, offset: u64) -> Result<u32> {
        self.0.read32(bar, offset)
    }
    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        self.0.read64(bar, offset)
    }
    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()> {
        self.0.write32(bar, offset, value)
    }
    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()> {
        self.0.write64(bar, offset, value)
    }
    fn write_combining(&self, bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        match self.1 {
            Plant::Slot if Planted::is_batch(offset) => self.0.write_combining(bar, offset & !0xfff | (offset + 16) & 0x1ff, bytes),
            Plant::Dword if Planted::is_batch(offset) => self.0.write_combining(bar, offset, &bytes[..bytes.len() - 4]),
            _ => self.0.write_combining(bar, offset, bytes),
        }
    }
    fn fence(&self) -> Result<()> {
        if self.1 == Plant::Fence {
            return Ok(());
        }
        self.0.fence()
    }
    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64> {
        // SAFETY: by this function's contract, which is the same.
        unsafe { self.0.map(memory, bytes, access) }
    }
    fn unmap(&self, address: u64, bytes: usize) -> Result<()> {
        self.0.unmap(address, bytes)
    }
    fn enable_vectors(&self, count: u16) -> Result<u16> {
        self.0.enable_vectors(count)
    }
    fn wait(&self, vector: u16, nanoseconds: u64) -> Result<Wake> {
        self.0.wait(vector, nanoseconds)
    }
    fn event_fd(&self, vector: u16) -> Result<OwnedFd> {
        self.0.event_fd(vector)
    }
    fn poll(&self) -> Result<()> {
        self.0.poll()
    }
    fn now(&self) -> u64 {
        self.0.now()
    }
    fn reset(&self) -> Result<()> {
        self.0.reset()
    }
}

/// The card in software notices what a driver must not do; so the tests above would.
#[test]
fn a_driver_that_goes_wrong_is_noticed() {
    for plant in [Plant::Nothing, Plant::Fence, Plant::Slot, Plant::Dword] {
        let device = over(Arc::new(Planted(Arc::new(MockBus::new(Settings::default())), plant)));
        let sender = device.sender("in0").unwrap();
        let data = numbered(&device, 100);
        let sent = sender.submit_many(&whole(&data, &ranges(3, 20))).unwrap();
        // What is torn has any cookie.
        let ends: Vec<_> = sent.into_iter().map(|mut transfer| transfer.wait(Some(Duration::from_millis(1))).ok()).collect();
        let done = ends.iter().flatten().filter(|done| (done.status, done.bytes) == (Status::Done, 20)).count();
        assert_eq!(done == 3, plant == Plant::Nothing, "{ends:?}");
        let noticed = sender.statistics().wrong_cookies > 0 || ends.iter().flatten().any(|done| done.status == Status::Torn);
        assert_eq!(noticed, plant != Plant::Nothing, "{ends:?}");
    }
}
