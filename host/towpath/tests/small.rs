// SPDX-License-Identifier: Apache-2.0
//! What the library does with memory and between threads, in cases that are short enough for an interpreter: `./run test miri` runs them
//! under miri, with several orders of the threads. Over the card in software and the kernel's side in memory.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::Duration;
use towpath::{Device, Error, Message, OpenOptions, Receiver, Sender, Status};
use towpath_kmod::fake;
use towpath_userspace::mock::{MockBus, Settings};
use towpath_userspace::UserDriver;

/// For waits that are to end by themselves: miri's clock is fast.
const LONG: Option<Duration> = Some(Duration::from_secs(600));

fn mock() -> Device {
    let bus = MockBus::new(Settings { real_time: true, capacity: 512, ..Settings::default() });
    Device::from_driver(Arc::new(UserDriver::open(Arc::new(bus)).unwrap()))
}

fn kernel() -> Device {
    let card = fake::FakeCard::new(fake::Settings { capacity: 512, ..fake::Settings::default() });
    Device::from_driver(Arc::new(card.open().unwrap()))
}

fn each(test: impl Fn(&Device, Sender, Receiver)) {
    for device in [mock(), kernel()] {
        let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
        sender.set_timeout(LONG);
        receiver.set_timeout(LONG);
        test(&device, sender, receiver);
    }
}

#[test]
fn what_is_no_card_is_refused() {
    for settings in [Settings { magic: 1, ..Settings::default() }, Settings { version: (9, 0), ..Settings::default() }] {
        assert!(UserDriver::open(Arc::new(MockBus::new(settings))).is_err());
    }
    let unknown = Device::open_with("nothing:of that kind", &OpenOptions::default());
    assert!(matches!(unknown, Err(Error::UnknownScheme { .. })));
}

/// Inline, by a table of pieces, and into memory that grows.
#[test]
fn messages_come_back_in_pieces_and_whole() {
    each(|_, sender, receiver| {
        for round in 0..4u8 {
            let data: Vec<u8> = (0..150).map(|n| n ^ round).collect();
            sender.send_vectored(&[IoSlice::new(&data[..70]), IoSlice::new(&data[70..]), IoSlice::new(&[])], Message::default()).unwrap();
            sender.send(&data[..9]).unwrap();
            let (mut first, mut second) = ([0; 100], [0; 60]);
            let got = receiver.recv_vectored(&mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)]).unwrap();
            assert!(got.bytes == 150 && got.end_of_message && first == data[..100] && second[..50] == data[100..]);
            assert_eq!(receiver.recv().unwrap(), data[..9]);
        }
    });
}

/// A buffer's registration, the tickets of transfers from and to it, one that is cancelled and one that is dropped.
#[test]
fn tickets_and_registered_memory_end_as_they_are_told() {
    each(|device, sender, receiver| {
        let mut landing = [device.allocate(64).unwrap(), device.register(vec![7; 64]).unwrap()];
        let source = device.register((0..100).collect()).unwrap();
        let [first, second] = &mut landing;
        let mut received = receiver.submit(first, ..41).unwrap();
        let cancelled = receiver.submit(second, 10..).unwrap();
        cancelled.cancel().unwrap();
        let detached = sender.submit(&source, 50..90, Message::default()).unwrap().detach();
        assert_eq!(received.wait(LONG).unwrap().bytes, 40);
        drop((received, cancelled));
        let mut room = [towpath::Completion::default(); 4];
        while sender.poll_completions(&mut room).unwrap() == 0 {}
        assert_eq!((room[0].ticket, room[0].status, room[0].bytes), (detached, Status::Done, 40));
        assert!(landing[0].as_slice().unwrap()[..40] == source.as_slice().unwrap()[50..90]);
        assert_eq!(landing[1].as_slice().unwrap(), [7; 64]);
        landing.into_iter().for_each(|buffer| buffer.close().unwrap());
    });
}

/// Several by one call, and then a buffer of which each part is another message's.
#[test]
fn many_at_once_arrive_in_order() {
    each(|device, sender, receiver| {
        let source = device.register((0..100).collect()).unwrap();
        let mut landing = device.allocate(100).unwrap();
        let ranges: Vec<_> = (0..5).map(|n| n * 20..(n + 1) * 20).collect();
        let messages: Vec<_> = ranges.iter().map(|range| (&source, range.clone(), Message::default())).collect();
        for count in [5, 1] {
            let received = receiver.submit_many(&mut landing, &ranges[..count]).unwrap();
            let sent = sender.submit_many(&messages[5 - count..]).unwrap();
            assert_eq!((received.len(), sent.len()), (count, count));
            for mut transfer in sent.into_iter().chain(received) {
                assert_eq!(transfer.wait(LONG).unwrap().bytes, 20);
            }
            assert!(landing.as_slice().unwrap()[..20 * count] == source.as_slice().unwrap()[100 - 20 * count..]);
        }
    });
}

/// Two send, two receive, and the limit of another call is over: each has its turn, and one of those who wait sleeps for the others.
#[test]
fn threads_take_turns_and_wait_for_each_other() {
    each(|device, sender, receiver| {
        let buffer = device.register(vec![3; 20]).unwrap();
        std::thread::scope(|scope| {
            let receives: Vec<_> = (0..2).map(|_| scope.spawn(|| (0..3).map(|_| receiver.recv().unwrap()).collect::<Vec<_>>())).collect();
            let none = receiver.recv_into_with(&mut [IoSliceMut::new(&mut [0])], Some(Duration::ZERO).into());
            assert!(matches!(none, Err(Error::Timeout { bytes: 0, .. })), "{none:?}");
            for byte in 1..3 {
                let (sender, buffer) = (&sender, &buffer);
                scope.spawn(move || {
                    sender.send(&[byte; 40]).unwrap();
                    sender.send_with(&[IoSlice::new(&[byte; 7])], Message::default(), LONG.into()).unwrap();
                    let mut sent = sender.submit(buffer, .., Message::default()).unwrap();
                    assert_eq!(sent.wait(LONG).unwrap().status, Status::Done);
                });
            }
            let mut got: Vec<Vec<u8>> = receives.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            got.sort();
            let expected = [vec![1; 7], vec![1; 40], vec![2; 7], vec![2; 40], vec![3; 20], vec![3; 20]];
            assert_eq!(got, expected);
        });
    });
}

/// A cancel and a reset end what another thread waits for.
#[test]
fn another_thread_ends_a_wait() {
    each(|device, _sender, receiver| {
        let mut buffer = device.allocate(10).unwrap();
        let mut transfer = receiver.submit(&mut buffer, ..).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| transfer.wait(LONG).unwrap().status);
            let receives = scope.spawn(|| receiver.recv());
            while receiver.statistics().submitted < 2 {
                std::thread::yield_now();
            }
            receiver.reset().unwrap();
            assert_eq!(waits.join().unwrap(), Status::Reset);
            assert!(matches!(receives.join().unwrap(), Err(Error::Reset { .. })));
        });
    });
}
