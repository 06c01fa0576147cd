// SPDX-License-Identifier: Apache-2.0
//! Corners of calls that share a channel, on the card in software and on the kernel's side in memory: panics of the caller's, resets in the middle of a cancel,
//! streams that meet faults.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use std::io::{IoSliceMut, Read, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;
use towpath::{Completion, Device, Error, Message, Receiver, Sender, Status, WaitOptions};
use towpath_bus::Bus;
use towpath_kmod::fake;
use towpath_userspace::mock::{ContractStatus, Misbehaviour, MockBus, Settings};
use towpath_userspace::UserDriver;

const LONG: Option<Duration> = Some(Duration::from_secs(20));

fn card(capacity: usize) -> (Arc<MockBus>, Device, Sender, Receiver) {
    let bus = Arc::new(MockBus::new(Settings { real_time: true, capacity, ..Settings::default() }));
    let device = Device::from_driver(Arc::new(UserDriver::open(bus.clone()).unwrap()));
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    (bus, device, sender, receiver)
}

/// The card in software runs by itself for a while.
fn run(bus: &MockBus) {
    (0..500).for_each(|_| bus.poll().unwrap());
}

#[test]
fn a_panic_of_the_callers_leaves_no_memory_with_the_card() {
    let (bus, _device, _sender, receiver) = card(1 << 16);
    let maps = bus.maps();
    let mut buffer = [0xee; 100];
    let ask = || -> bool { panic!("as a program may") };
    let options = WaitOptions { timeout: None, interrupted: Some(&ask) };
    assert!(catch_unwind(AssertUnwindSafe(|| receiver.recv_into_with(&mut [IoSliceMut::new(&mut buffer)], options))).is_err());
    assert_eq!(bus.maps(), maps);
    bus.produce(0, &[7; 50], true);
    run(&bus);
    assert_eq!(buffer, [0xee; 100]);
    assert_eq!(receiver.recv().unwrap(), [7; 50]);
    // Nor does it keep its turn, nor the wait for it.
    std::thread::scope(|scope| {
        let before = receiver.statistics().submitted;
        let first = scope.spawn(|| receiver.recv_message_with(LONG.into()).unwrap().0);
        while receiver.statistics().submitted == before {
            std::thread::yield_now();
        }
        let second = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| receiver.recv_message_with(options))));
        assert!(second.join().unwrap().is_err());
        bus.produce(0, &[9; 50], true);
        assert_eq!(first.join().unwrap(), [9; 50]);
    });
    bus.produce(0, &[8; 20], true);
    assert_eq!(receiver.recv().unwrap(), [8; 20]);
}

#[test]
fn a_reset_in_a_cancel_posts_nothing_to_a_channel_that_does_not_run() {
    let (bus, device, sender, _receiver) = card(0);
    let buffer = device.register(vec![1; 300]).unwrap();
    for _ in 0..20 {
        let mut waited = sender.submit(&buffer, .., Message::default()).unwrap();
        let cancelled = sender.submit(&buffer, .., Message::default()).unwrap();
        std::thread::scope(|scope| {
            let leader = scope.spawn(|| waited.wait(LONG));
            std::thread::sleep(Duration::from_millis(2));
            cancelled.cancel().unwrap();
            let mut behind = sender.try_submit(&buffer, .., Message::default()).unwrap();
            sender.reset().unwrap();
            assert_eq!(bus.overflows(0), 0);
            assert_eq!(behind.wait(LONG).unwrap().status, Status::Reset);
            assert_eq!(leader.join().unwrap().unwrap().status, Status::Reset);
        });
    }
}

#[test]
fn what_was_before_a_reset_does_not_go_on_after_it() {
    let card = fake::FakeCard::new(fake::Settings { capacity: 100, lag: Duration::from_millis(20), ..fake::Settings::default() });
    let device = Device::from_driver(Arc::new(card.open().unwrap()));
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let buffer = device.register((0..250u8).collect()).unwrap();
    let mut first = sender.submit(&buffer, .., Message::default()).unwrap();
    let second = sender.submit(&buffer, .., Message::default()).unwrap();
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| first.wait(LONG));
        std::thread::sleep(Duration::from_millis(40));
        second.cancel().unwrap();
        sender.reset().unwrap();
        let ended = leader.join().unwrap().unwrap();
        assert_eq!((ended.status, ended.bytes), (Status::Reset, 100));
    });
    sender.send(b"new").unwrap();
    assert_eq!(receiver.recv().unwrap(), b"new");
}

#[test]
fn a_stream_returns_faults_and_resets() {
    let (bus, device, sender, receiver) = card(1 << 16);
    bus.misbehave(0, Misbehaviour::Fault(ContractStatus::UnsupportedRequest));
    let error = (&sender).write(&[1; 3000]).unwrap_err();
    assert!(matches!(error.into_inner().unwrap().downcast_ref(), Some(Error::Fault { .. })));
    sender.reset().unwrap();
    receiver.reset().unwrap();
    bus.produce(0, &[7; 50], false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| (&receiver).read(&mut [0; 100]));
        std::thread::sleep(Duration::from_millis(20));
        device.reset().unwrap();
        assert_eq!(reader.join().unwrap().unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_flush_ends_only_what_a_write_has_begun() {
    let (_bus, _device, sender, receiver) = card(1 << 16);
    (&sender).write_all(b"ab").unwrap();
    sender.send(b"cd").unwrap();
    (&sender).flush().unwrap();
    sender.send(b"next").unwrap();
    assert_eq!((receiver.recv().unwrap(), receiver.recv().unwrap()), (b"abcd".to_vec(), b"next".to_vec()));
}

#[test]
fn polling_finds_what_is_detached_and_nothing_else() {
    let (bus, device, sender, _receiver) = card(1 << 16);
    let buffer = device.allocate(100).unwrap();
    let mut owned = sender.submit(&buffer, .., Message::default()).unwrap();
    let early = sender.submit(&buffer, .., Message::default()).unwrap().detach();
    let late = sender.submit(&buffer, .., Message::default()).unwrap();
    run(&bus);
    let mut room = [Completion::default(); 4];
    assert_eq!((sender.poll_completions(&mut room).unwrap(), room[0].ticket), (1, early));
    let late = late.detach(); // it has ended
    assert_eq!((sender.poll_completions(&mut room).unwrap(), room[0].ticket), (1, late));
    assert_eq!(owned.wait(LONG).unwrap().status, Status::Done);
}

/// A thread that waits leaves just when another cancels: what is to go on goes on, though nobody looks.
#[test]
fn a_cancel_beside_a_wait_that_ends_is_seen_through() {
    let (bus, device, _sender, receiver) = card(1 << 16);
    for round in 0..200 {
        let mut buffers: Vec<_> = (0..2).map(|_| device.allocate(50).unwrap()).collect();
        let [first, second] = &mut buffers[..] else { panic!() };
        let mut goes_on = receiver.submit(first, ..).unwrap();
        let cancelled = receiver.submit(second, ..).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| goes_on.wait(Some(Duration::from_micros(500))).unwrap_err());
            std::thread::sleep(Duration::from_micros(300 + 2 * round));
            cancelled.cancel().unwrap();
        });
        run(&bus);
        bus.produce(0, &[1; 10], true);
        run(&bus);
        assert_eq!(unsafe { std::ptr::read_volatile(buffers[0].as_ptr()) }, 1, "round {round}");
        goes_on.wait(LONG).unwrap();
    }
}
