// SPDX-License-Identifier: Apache-2.0
//! The library and the driver over the kernel module's files, against the kernel's side in memory (`towpath_kmod::fake`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use towpath::{Device, Error, Message, QosChange, Status};
use towpath_contract::Status as OnCard;
use towpath_kmod::fake::{FakeCard, Settings, QUEUE_DEPTH, REGISTER_ERROR, REGISTER_SILENT};
use towpath_kmod::OpenError;

const SHORT: Option<Duration> = Some(Duration::from_millis(20));

/// All that has ended.
macro_rules! polled {
    ($channel:expr) => {{
        let mut room = [towpath::Completion::default(); 16];
        $channel.poll_completions(&mut room).map(|found| room[..found].to_vec())
    }};
}

fn open(settings: Settings) -> (FakeCard, Device) {
    let card = FakeCard::new(settings);
    let device = Device::from_driver(Arc::new(card.open().unwrap()));
    (card, device)
}

/// A card whose core takes nothing.
fn deaf() -> (FakeCard, Device) {
    open(Settings { capacity: 0, ..Settings::default() })
}

fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|index| (index * 7 + index / 251) as u8).collect()
}

#[test]
fn the_card_says_what_it_is() {
    let (_card, device) = open(Settings::default());
    let info = device.info();
    assert_eq!((info.name.as_str(), info.core.as_str(), info.core_version, info.data_bits), ("/dev/towpath7", "fake", 7, 128));
    assert_eq!((info.serial, info.register_bytes, info.interrupts, info.core_clock_khz), (0x5eed, 4096, 2, 250_000));
    let plugins: Vec<_> = info.plugins.iter().map(|p| (p.index, p.type_name.as_str(), p.version, p.offset, p.bytes)).collect();
    assert_eq!(plugins, [(0, "reset", 1, 0, 0x1000), (1, "odd", 2, 0x1000, 0x1000)]);
    let channels: Vec<_> =
        info.channels.iter().map(|channel| format!("{} {} {}", channel.name, channel.direction, channel.queue_depth)).collect();
    assert_eq!(channels, ["in0 h2c 16", "out0 c2h 16", "ram h2c 16", "ram c2h 16"]);
    assert_eq!((device.memories()[0].bytes, info.channels[2].kind_text().as_str()), (65536, "memory"));
    assert_eq!(device.link_counters().unwrap().timeouts, 3);
    assert!(device.wire().is_none());
    let other = FakeCard::new(Settings { major: 9, ..Settings::default() });
    assert!(matches!(other.open(), Err(OpenError::Failed(Error::Version { card: (9, 0), .. }))));
}

#[test]
fn names_of_what_is_no_card_are_refused_with_a_reason() {
    let place = std::env::temp_dir().join(format!("towpath-linux-{}", std::process::id()));
    let refused = |name: &std::path::Path| match Device::open(name.to_str().unwrap()) {
        Err(Error::NoSuchDevice { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(&place).contains("no such folder"));
    std::fs::create_dir(&place).unwrap();
    assert!(refused(&place).contains("one called control"));
    std::fs::write(place.join("control"), "").unwrap();
    assert!(refused(&place).contains("another thing than the control file"));
    assert!(refused(&place.join("control")).contains("one called control"));
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn messages_of_every_size_come_back_whole() {
    let (card, device) = open(Settings { capacity: 16 << 20, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    for count in [0, 1, 64, 65, 4096, 65537, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9 << 20] {
        let data = pattern(count);
        sender.send(&data).unwrap();
        assert_eq!(receiver.recv().unwrap(), data, "{count} bytes");
    }
    drop((sender, receiver));
    assert_eq!(card.pieces(), (0, 0));
    device.sender("in0").unwrap().send(b"opened again").unwrap();
}

#[test]
fn a_blocking_transfer_takes_two_calls_at_most() {
    let (card, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let mut buffer = [0; 100];
    for _ in 0..10 {
        let before = card.exchanges();
        sender.send(&[1; 100]).unwrap();
        assert!(card.exchanges() - before <= 2);
        let before = card.exchanges();
        receiver.recv_into(&mut buffer).unwrap();
        assert!(card.exchanges() - before <= 2);
    }
    // One that has to wait, too.
    std::thread::scope(|scope| {
        let before = card.exchanges();
        scope.spawn(|| receiver.recv_into(&mut buffer).unwrap());
        while card.pieces().1 == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(10));
        assert!(card.exchanges() - before <= 2);
        sender.send(b"at last").unwrap();
    });
}

#[test]
fn more_pieces_than_a_transfer_takes_are_several() {
    let (_card, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let data = pattern(3 * 1500);
    let pieces: Vec<IoSlice<'_>> = data.chunks(3).map(IoSlice::new).collect();
    sender.send_vectored(&pieces, Message::default()).unwrap();
    assert_eq!(receiver.recv().unwrap(), data);
    sender.send_vectored(&pieces, Message::default()).unwrap();
    let mut back = vec![0; data.len() + 10];
    let mut room: Vec<IoSliceMut<'_>> = back.chunks_mut(7).map(IoSliceMut::new).collect();
    let received = receiver.recv_vectored(&mut room).unwrap();
    assert!((received.bytes, received.end_of_message) == (data.len(), true) && back[..data.len()] == data);
}

#[test]
fn attributes_and_message_starts_arrive() {
    let (_card, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    assert!(receiver.message_start(SHORT).unwrap_err().is_timeout() && receiver.try_message_start().unwrap().is_none());
    let message = Message { length: Some(10), offset: 77, user: 88, ..Message::default() };
    sender.send_message(&[5; 10], message).unwrap();
    for _ in 0..2 {
        let start = receiver.message_start(SHORT).unwrap();
        assert_eq!((start.length, start.offset, start.user), (Some(10), 77, 88));
    }
    let (bytes, received) = receiver.recv_message().unwrap();
    assert_eq!((bytes, received.offset, received.user), (vec![5; 10], 77, 88));
    drop(receiver);
    let options = towpath::ChannelOptions { announce: false, ..Default::default() };
    let receiver = device.receiver_with("out0", options).unwrap();
    assert!(matches!(receiver.message_start(SHORT), Err(Error::Invalid(_))));
}

#[test]
fn registered_memory_is_named_and_other_memory_is_not() {
    let (card, device) = deaf();
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let mut buffer = device.allocate(8192).unwrap();
    sender.submit(&buffer, 100..200, Message::default()).unwrap().detach();
    let ticket = receiver.submit(&mut buffer, 4096..).unwrap().detach();
    assert_eq!(card.pieces(), (2, 0));
    assert!(receiver.wait_ticket(ticket, SHORT.into()).unwrap_err().is_timeout());
    receiver.cancel_all().unwrap();
    sender.cancel_all().unwrap();
    assert!(!buffer.in_flight());
    sender.set_timeout(SHORT);
    assert!(sender.send(&[0; 100]).unwrap_err().is_timeout());
    drop(buffer);
    assert_eq!((card.pieces(), card.buffers()), ((0, 0), 0));
}

#[test]
fn too_much_registered_memory_is_told_with_a_remedy() {
    let (card, device) = open(Settings { pinnable: 10_000, ..Settings::default() });
    let _first = device.allocate(8192).unwrap();
    let text = device.allocate(8192).unwrap_err().to_string();
    assert!(text.contains("registering 8192 bytes") && text.contains("ulimit -l"), "{text}");
    assert_eq!(card.buffers(), 1);
}

#[test]
fn tickets_fill_the_queue_and_are_cancelled() {
    let (_card, device) = deaf();
    let sender = device.sender("in0").unwrap();
    let buffer = device.allocate(4096).unwrap();
    let with = Message { user: 1, length: Some(1), ..Message::default() };
    let first = sender.try_submit(&buffer, ..1, with).unwrap().detach();
    let tickets: Vec<_> = (3..QUEUE_DEPTH).map(|_| sender.try_submit(&buffer, ..100, Message::default()).unwrap().detach()).collect();
    assert!(matches!(sender.try_submit(&buffer, ..1, Message::default()), Err(Error::QueueFull { depth: QUEUE_DEPTH, .. })));
    sender.cancel_all().unwrap();
    for ticket in std::iter::once(first).chain(tickets) {
        assert_eq!(sender.wait_ticket(ticket, SHORT.into()).unwrap().status, Status::Cancelled);
        assert!(matches!(sender.try_wait_ticket(ticket), Err(Error::UnknownTicket { .. })));
    }
    assert!(!buffer.in_flight());
    sender.try_submit(&buffer, ..1, with).unwrap().detach();
}

#[test]
fn a_kernel_without_room_is_waited_for() {
    let (card, device) = deaf();
    let sender = device.sender("in0").unwrap();
    sender.set_timeout(SHORT);
    let buffer = device.allocate(4096).unwrap();
    sender.submit(&buffer, ..1, Message::default()).unwrap().detach();
    card.no_room(true);
    assert!(matches!(sender.try_submit(&buffer, ..1, Message::default()), Err(Error::QueueFull { .. })));
    let before = card.exchanges();
    assert!(sender.submit(&buffer, ..1, Message::default()).is_err());
    assert!(card.exchanges() - before < 10, "it does not wait");
    card.end(0, OnCard::Done);
    card.no_room(false);
    sender.submit(&buffer, ..1, Message::default()).unwrap().detach();
    card.end(0, OnCard::Done);
    card.no_room(true);
    let text = sender.submit(&buffer, ..1, Message::default()).unwrap_err().to_string();
    assert!(text.contains("handing a transfer to the kernel"), "{text}");
}

#[test]
fn what_has_ended_is_given_back_while_more_is_submitted() {
    let (_card, device) = open(Settings::default());
    let sender = device.sender("in0").unwrap();
    let (first, second) = (device.allocate(64).unwrap(), device.allocate(64).unwrap());
    sender.submit(&first, .., Message::default()).unwrap().detach();
    sender.submit(&second, .., Message::default()).unwrap().detach();
    assert!(!first.in_flight());
    let done = polled!(sender).unwrap();
    assert_eq!(done.len(), 2);
    let statistics = sender.statistics();
    assert_eq!((statistics.submitted, statistics.completed, statistics.bytes, statistics.unexpected), (2, 2, 128, 0));
}

#[test]
fn resets_end_what_is_in_flight() {
    let (_card, device) = open(Settings::default());
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
        buffer.as_slice().unwrap();
        for _ in 0..3 {
            sender.send(b"as new").unwrap();
            assert_eq!(receiver.recv().unwrap(), b"as new");
        }
    }
}

#[test]
fn a_reset_by_another_program_is_told_once() {
    let (card, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let part = Message { end: false, ..Message::default() };
    sender.send_message(b"half of ", part).unwrap();
    card.reset_by_another();
    assert!(matches!(sender.send(b"a message"), Err(Error::Reset { bytes: 0, .. })), "the rest would pass for a message");
    sender.send_message(b"half of ", part).unwrap();
    card.reset_by_another();
    assert_eq!(polled!(sender).unwrap(), [], "who looks hears of transfers alone");
    assert!(matches!(sender.send(b"another"), Err(Error::Reset { bytes: 0, .. })));
    sender.send(b"whole").unwrap();
    // What was in flight tells of it, too, and that is enough.
    let mut buffer = device.allocate(100).unwrap();
    let _ = receiver.try_message_start();
    assert!(matches!(receiver.recv(), Err(Error::Reset { .. })));
    assert_eq!(receiver.recv().unwrap(), b"whole");
    let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
    card.reset_by_another();
    assert_eq!(receiver.wait_ticket(ticket, SHORT.into()).unwrap().status, Status::Reset);
    let _ = sender.try_submit(&buffer, .., Message::default());
    sender.send(b"on").unwrap();
    assert_eq!(receiver.recv().unwrap(), b"on");
}

#[test]
fn a_card_that_goes_away_hangs_nobody_and_keeps_nothing() {
    let (card, device) = deaf();
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let mut buffers: Vec<_> = (0..3).map(|_| device.allocate(4096).unwrap()).collect();
    let tickets: Vec<_> = buffers.iter_mut().map(|buffer| receiver.submit(buffer, ..).unwrap().detach()).collect();
    receiver.set_timeout(None);
    sender.set_timeout(None);
    std::thread::scope(|scope| {
        let waits: Vec<_> = tickets[..2].iter().map(|ticket| scope.spawn(|| receiver.wait_ticket(*ticket, None.into()))).collect();
        let sends = scope.spawn(|| sender.send(&[1; 1000]));
        while card.pieces().1 == 0 {
            std::thread::yield_now();
        }
        card.unplug();
        let gone = |error: Error| assert!(matches!(&error, Error::Bus { .. }) && error.to_string().contains("the card is gone"), "{error}");
        waits.into_iter().for_each(|wait| gone(wait.join().unwrap().unwrap_err()));
        gone(sends.join().unwrap().unwrap_err());
        gone(receiver.message_start(None).unwrap_err());
        gone(sender.send(b"more").unwrap_err());
        gone(receiver.reset().unwrap_err());
        gone(device.registers().read(0).unwrap_err());
    });
    assert!(buffers.iter().all(|buffer| !buffer.in_flight()));
    let told = polled!(receiver).unwrap();
    assert_eq!(told.iter().map(|done| (done.ticket, done.status)).collect::<Vec<_>>(), [(tickets[2], Status::Reset)]);
    assert!(polled!(receiver).is_err());
    buffers.into_iter().for_each(|buffer| buffer.close().unwrap());
}

#[test]
fn a_completion_that_cannot_be_is_told_and_counted() {
    let (card, device) = deaf();
    let sender = device.sender("in0").unwrap();
    let buffer = device.allocate(100).unwrap();
    let tickets: Vec<_> = (0..2).map(|_| sender.submit(&buffer, .., Message::default()).unwrap().detach()).collect();
    card.end(0, OnCard::None);
    card.end(0, OnCard::Poisoned);
    assert!(matches!(sender.wait_ticket(tickets[0], SHORT.into()), Err(Error::Protocol { .. })));
    assert_eq!(sender.wait_ticket(tickets[1], SHORT.into()).unwrap().status, Status::Poisoned);
    assert_eq!(sender.statistics().unexpected, 1, "since the channel was opened");
}

#[test]
fn completions_that_somebody_else_has_taken_are_not_waited_for() {
    let (card, device) = deaf();
    let buffer = device.allocate(100).unwrap();
    for left in [0, 1] {
        let sender = device.sender("in0").unwrap();
        let tickets: Vec<_> = (0..=left).map(|_| sender.submit(&buffer, .., Message::default()).unwrap().detach()).collect();
        card.end(0, OnCard::Done);
        card.steal(0);
        (0..left).for_each(|_| card.end(0, OnCard::Done));
        let text = sender.wait_ticket(tickets[0], None.into()).unwrap_err().to_string();
        assert!(text.contains("child of fork"), "{text}");
        assert!(!buffer.in_flight() && sender.submit(&buffer, .., Message::default()).is_err());
    }
    device.sender("in0").unwrap().submit(&buffer, .., Message::default()).unwrap().detach();
}

#[test]
fn a_channel_is_the_callers_alone() {
    let (card, device) = open(Settings::default());
    let other = Device::from_driver(Arc::new(card.open().unwrap()));
    let first = device.sender("in0").unwrap();
    for device in [&device, &other] {
        let error = device.sender("in0").unwrap_err();
        assert!(matches!(error, Error::ChannelInUse { .. }) && error.to_string().contains("another program"));
    }
    drop(first);
    other.sender("in0").unwrap();
}

#[test]
fn registers_tell_what_went_wrong() {
    let (_card, device) = open(Settings::default());
    let registers = device.registers();
    registers.write(8, 0xcafe).unwrap();
    assert_eq!(registers.read(8).unwrap(), 0xcafe);
    for (offset, what) in [(REGISTER_SILENT, "did not answer"), (REGISTER_ERROR, "SLVERR")] {
        for error in [registers.read(offset).unwrap_err(), registers.write(offset, 0).unwrap_err()] {
            assert!(matches!(error, Error::Register { .. }) && error.to_string().contains(what), "{error}");
        }
    }
}

fn readable(fd: std::os::fd::BorrowedFd<'_>) -> bool {
    towpath_system::event::clear(&fd)
}

#[test]
fn each_event_of_a_user_interrupt_is_told_once() {
    let (card, device) = open(Settings::default());
    card.interrupt(1);
    let device_then = Device::from_driver(Arc::new(card.open().unwrap()));
    let interrupts = device_then.interrupts();
    assert!(interrupts.wait(1, SHORT).unwrap_err().is_timeout(), "it came before");
    let event = interrupts.event_fd(1).unwrap();
    assert!(event.as_raw_fd() == interrupts.event_fd(1).unwrap().as_raw_fd() && !readable(event));
    let told: u32 = std::thread::scope(|scope| {
        let waits: Vec<_> = (0..3).map(|_| scope.spawn(|| interrupts.wait(1, Some(Duration::from_millis(300))).unwrap_or(0))).collect();
        (0..5).for_each(|_| card.interrupt(1));
        waits.into_iter().map(|wait| wait.join().unwrap()).sum()
    });
    assert_eq!((told + interrupts.wait(1, SHORT).unwrap_or(0), interrupts.count(1).unwrap()), (5, 6));
    assert!(readable(event));
    device_then.reset().unwrap();
    assert!(interrupts.wait(1, SHORT).is_err());
    card.interrupt(1);
    assert_eq!(interrupts.wait(1, SHORT).unwrap(), 1);
    card.forget_interrupts();
    card.interrupt(1);
    card.interrupt(1);
    assert_eq!(interrupts.wait(1, SHORT).unwrap(), 2);
    assert!(interrupts.wait(0, SHORT).is_err());
    drop(device);
}

#[test]
fn moderation_is_given_in_units_of_the_card() {
    let (card, device) = open(Settings::default());
    let receiver = device.receiver("out0").unwrap();
    receiver.set_moderation(8, Duration::from_micros(100)).unwrap();
    assert_eq!(card.moderation(), (8, 391), "100 us are 25000 clocks");
    assert!(matches!(receiver.set_moderation(8, Duration::from_secs(1)), Err(Error::Invalid(_))));
}

#[test]
fn the_event_descriptor_loses_no_wake_up() {
    let (_card, device) = open(Settings::default());
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let fd = receiver.event_fd().unwrap();
    let mut buffer = device.allocate(256).unwrap();
    for round in 0..50 {
        let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
        assert_eq!(receiver.try_wait_ticket(ticket).unwrap(), None, "round {round}");
        readable(fd);
        sender.send(&[round]).unwrap();
        assert!(readable(fd), "round {round}: nobody woke us");
        let done = polled!(receiver).unwrap().pop().unwrap();
        assert_eq!((done.ticket, done.bytes, buffer.as_slice().unwrap()[0]), (ticket, 1, round));
    }
}

#[test]
fn threads_share_a_channel() {
    let (_card, device) = open(Settings { capacity: 10_000, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let counts = std::thread::scope(|scope| {
        for id in 0..3u8 {
            let sender = &sender;
            scope.spawn(move || {
                for round in 0..100usize {
                    let data = vec![id; 1 + 97 * round];
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

/// Each waits for its own ticket, one of them in the kernel for all; while others submit and look.
#[test]
fn many_wait_for_tickets_of_one_channel() {
    let (card, device) = open(Settings { capacity: 4096, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for looks in [false, false, true, true] {
            let (device, sender) = (&device, &sender);
            scope.spawn(move || {
                let buffer = device.allocate(1000).unwrap();
                for _ in 0..25 {
                    let ticket = sender.submit(&buffer, .., Message::default()).unwrap().detach();
                    let mut done = None;
                    while looks && done.is_none() {
                        std::thread::yield_now();
                        done = sender.try_wait_ticket(ticket).unwrap();
                    }
                    let done = done.unwrap_or_else(|| sender.wait_ticket(ticket, None.into()).unwrap());
                    assert!(done.bytes == 1000 && !buffer.in_flight());
                }
            });
        }
        let mut buffer = device.allocate(1000).unwrap();
        for _ in 0..100 {
            let ticket = receiver.submit(&mut buffer, ..).unwrap().detach();
            assert_eq!(receiver.wait_ticket(ticket, None.into()).unwrap().bytes, 1000);
        }
    });
    assert_eq!(card.pieces(), (0, 0));
    assert!(began.elapsed() < Duration::from_secs(20), "somebody slept though there was something to do");
}

#[test]
fn who_waits_for_another_that_waits_is_woken_by_it() {
    let (card, device) = deaf();
    let sender = device.sender("in0").unwrap();
    let buffers: Vec<_> = (0..2).map(|_| device.allocate(100).unwrap()).collect();
    let began = Instant::now();
    for _ in 0..20 {
        let tickets: Vec<_> = buffers.iter().map(|buffer| sender.submit(buffer, .., Message::default()).unwrap().detach()).collect();
        std::thread::scope(|scope| {
            let waits: Vec<_> = tickets.iter().map(|ticket| scope.spawn(|| sender.wait_ticket(*ticket, None.into()).unwrap())).collect();
            std::thread::sleep(Duration::from_millis(5));
            tickets.iter().for_each(|_| card.end(0, OnCard::Done));
            waits.into_iter().for_each(|wait| assert_eq!(wait.join().unwrap().status, Status::Done));
        });
    }
    assert!(began.elapsed() < Duration::from_millis(1500), "one slept on for a whole slice");
}

/// What one has collected who is on its way back from the kernel comes before what others would find there.
#[test]
fn completions_are_filed_in_their_order() {
    let (card, device) = open(Settings { capacity: 0, lag: Duration::from_millis(200), ..Settings::default() });
    let sender = device.sender("in0").unwrap();
    let buffer = device.allocate(100).unwrap();
    let tickets: Vec<_> = (0..2).map(|_| sender.submit(&buffer, .., Message::default()).unwrap().detach()).collect();
    std::thread::scope(|scope| {
        let before = card.exchanges();
        let wait = scope.spawn(|| sender.wait_ticket(tickets[0], None.into()).unwrap());
        while card.exchanges() == before {
            std::thread::yield_now();
        }
        card.end(0, OnCard::Done);
        std::thread::sleep(Duration::from_millis(5));
        card.end(0, OnCard::Done);
        assert_eq!(sender.try_wait_ticket(tickets[1]).unwrap(), None, "the other is on its way");
        sender.try_submit(&buffer, .., Message::default()).unwrap().detach();
        assert_eq!(wait.join().unwrap().ticket, tickets[0]);
    });
    assert_eq!(sender.wait_ticket(tickets[1], SHORT.into()).unwrap().ticket, tickets[1]);
    assert!(buffer.in_flight());
    sender.cancel_all().unwrap();
    assert!(!buffer.in_flight());
}

#[test]
fn a_reset_has_collected_what_was_in_flight_though_another_thread_waits() {
    let (card, device) = deaf();
    let sender = device.sender("in0").unwrap();
    let buffer = device.allocate(100).unwrap();
    for round in 0..20 {
        let ticket = sender.submit(&buffer, .., Message::default()).unwrap().detach();
        std::thread::scope(|scope| {
            let before = card.exchanges();
            let wait = scope.spawn(|| sender.wait_ticket(ticket, None.into()).unwrap());
            while card.exchanges() == before {
                std::thread::yield_now();
            }
            match round % 3 {
                0 => sender.reset().unwrap(),
                1 => device.reset().unwrap(),
                _ => sender.cancel_all().unwrap(),
            }
            assert!(!buffer.in_flight(), "round {round}");
            let status = wait.join().unwrap().status;
            assert_eq!(status, if round % 3 == 2 { Status::Cancelled } else { Status::Reset });
        });
    }
}

#[test]
fn another_thread_can_cancel_or_reset_a_wait() {
    let (_card, device) = deaf();
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    sender.set_timeout(None);
    receiver.set_timeout(None);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let sends = scope.spawn(|| sender.send(&pattern(5000)));
        let receives = scope.spawn(|| receiver.recv());
        while sender.statistics().submitted == 0 || receiver.statistics().submitted == 0 {
            std::thread::yield_now();
        }
        sender.cancel_all().unwrap();
        assert!(matches!(sends.join().unwrap(), Err(Error::Cancelled { bytes: 0, .. })));
        receiver.reset().unwrap();
        assert!(matches!(receives.join().unwrap(), Err(Error::Reset { .. })));
    });
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_memory_has_its_bytes_at_their_addresses() {
    let (card, device) = open(Settings::default());
    let memory = device.memory("ram").unwrap();
    memory.write_at(&pattern(60_000), 1234).unwrap();
    assert!(card.memory()[1234..61_234] == pattern(60_000));
    let mut back = vec![0; 50_000];
    memory.read_at(&mut back, 2234).unwrap();
    assert!(back == pattern(60_000)[1000..51_000]);
    let statistics = memory.reads().statistics();
    assert_eq!((statistics.unexpected, statistics.wrong_statuses), (0, 0));
}

#[test]
fn a_memory_has_its_window() {
    let (card, device) = open(Settings::default());
    let memory = device.memory("ram").unwrap();
    // Where it cannot be mapped, the card opens and its memory works.
    card.window_cannot_be_mapped(true);
    let window = memory.window().unwrap();
    assert!(window.read_at(&mut [0; 4], 0).unwrap_err().to_string().contains("mapping a memory's window"));
    assert!(window.write_at(&[0; 4], 0).is_err());
    memory.write_at(&[1; 4], 0).unwrap();
    card.window_cannot_be_mapped(false);
    assert_eq!(window.len(), 65_536);
    for (address, bytes) in [(0, 4), (4, 4), (8, 8), (3, 1), (77, 5), (100, 1000), (65_533, 3)] {
        window.write_at(&pattern(bytes), address).unwrap();
        let (mut loaded, mut moved) = (vec![0; bytes], vec![0; bytes]);
        window.read_at(&mut loaded, address).unwrap();
        window.flush().unwrap();
        memory.read_at(&mut moved, address).unwrap();
        assert_eq!((&loaded, &moved), (&pattern(bytes), &pattern(bytes)), "{bytes} bytes at {address}");
    }
    assert!(window.read_at(&mut [0; 2], 65_535).unwrap_err().to_string().contains("0x10000 bytes"));

    // All ones are what is there, or a load that failed.
    window.write_at(&[0xff; 24], 0x201).unwrap();
    let mut back = [0; 24];
    window.read_at(&mut back, 0x201).unwrap();
    assert_eq!(back, [0xff; 24]);
    card.window_fails(true);
    let error = window.read_at(&mut back, 0x201).unwrap_err();
    assert!(matches!(error, Error::Kind { .. }) && error.to_string().contains("0x201 to 0x218"), "{error}");
    window.read_at(&mut back[..1], 0x100).unwrap();
    assert!(window.flush().unwrap_err().to_string().contains("refused"));
    card.window_fails(false);
    window.flush().unwrap();
    // All ones, while other programs' accesses are refused.
    for times in 1..6 {
        card.others_fail(times);
        window.read_at(&mut back, 0x201).unwrap();
        assert_eq!(back, [0xff; 24]);
    }
}

/// A write that is cut short, by a cancel or because memory was taken back, leaves its message open on the card.
#[test]
fn a_write_that_was_cut_short_ends_there() {
    for taken_back in [false, true] {
        let (card, device) = open(Settings::default());
        let memory = device.memory("ram").unwrap();
        let buffer = device.register(vec![0xee; 5000]).unwrap();
        for run in 1..4 {
            memory.write_at(&pattern(65_536), 0).unwrap();
            card.memory_goes_on(1000 * run);
            let mut cut = memory.submit_write(&buffer, .., 100).unwrap();
            match taken_back {
                true => card.take_back(2),
                false => cut.cancel().unwrap(),
            }
            assert_eq!(cut.wait(None).unwrap().bytes, 1000 * run as u64);
            card.memory_goes_on(usize::MAX);
            memory.write_at(&[0xaa; 50], 20_000).unwrap();
            let mut expected = pattern(65_536);
            expected[100..100 + 1000 * run].fill(0xee);
            expected[20_000..20_050].fill(0xaa);
            assert!(card.memory() == expected, "taken back: {taken_back}, run {run}");
        }
    }
}

/// What another one's cancel has stopped is done from its beginning.
#[test]
fn a_cancel_ends_one_write_and_the_others_are_done() {
    let (card, device) = open(Settings::default());
    let memory = device.memory("ram").unwrap();
    let (first, second, third) =
        (device.register(vec![1; 5000]).unwrap(), device.register(vec![2; 3000]).unwrap(), device.register(vec![3; 9]).unwrap());
    card.memory_goes_on(1000);
    let mut flying = [
        memory.submit_write(&first, .., 100).unwrap(),
        memory.submit_write(&second, .., 10_000).unwrap(),
        memory.submit_write(&third, .., 20_000).unwrap(),
    ];
    flying[1].cancel().unwrap();
    card.memory_goes_on(usize::MAX);
    let bytes: Vec<_> = flying.iter_mut().map(|transfer| transfer.wait(None).unwrap().bytes).collect();
    assert_eq!(bytes, [5000, 0, 9]);
    let mut expected = vec![0; 65_536];
    expected[100..5100].fill(1);
    expected[20_000..20_009].fill(3);
    assert!(card.memory() == expected);
}

/// Settings go through the kernel, which keeps them for all programs and refuses them to those without the right.
#[test]
fn a_channels_part_of_the_link() {
    let (card, device) = open(Settings::default());
    assert!(device.info().qos);
    let qos = |channel: &str| device.qos(channel).map(|q| (q.weight, q.rate, q.traffic_class)).unwrap();
    assert_eq!(qos("in0"), (1, 0, 0));
    let change = |weight, rate, traffic_class| QosChange { weight, rate, traffic_class };
    device.set_qos("in0", change(Some(255), Some(100_000_000), Some(7))).unwrap();
    device.set_qos("out0", change(Some(3), None, None)).unwrap();
    let (weight, rate, class) = qos("in0");
    assert!((weight, class) == (255, 7) && rate.abs_diff(100_000_000) < 240, "{rate}");
    device.set_qos("in0", change(None, Some(0), None)).unwrap();
    assert_eq!((qos("in0"), qos("out0")), ((255, 0, 7), (3, 0, 0)));
    assert!(matches!(device.set_qos("in0", change(Some(0), None, None)), Err(Error::Invalid(_))));
    let receiver = device.receiver("out0").unwrap();
    let mut into = device.allocate(16).unwrap();
    let mut flight = receiver.submit(&mut into, ..).unwrap();
    assert!(device.set_qos("out0", change(None, None, Some(1))).unwrap_err().to_string().contains("no transfer in flight"));
    flight.cancel().unwrap();
    flight.wait(None).unwrap();
    device.set_qos("out0", change(None, None, Some(1))).unwrap();
    card.unprivileged(true);
    assert!(device.set_qos("in0", change(Some(2), None, None)).unwrap_err().to_string().contains("sudo"));
    assert_eq!((qos("in0").0, qos("out0").2), (255, 1));
}

#[test]
fn a_program_sleeps_until_the_card_holds_enough() {
    let (_card, device) = open(Settings { capacity: 1000, ..Settings::default() });
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver("out0").unwrap());
    assert!(device.info().fill_levels);
    assert!(matches!(receiver.wait_held(1, SHORT), Err(Error::Pending { .. })));
    let part = Message { end: false, ..Message::default() };
    let send = |count: usize| {
        let buffer = device.register(pattern(count)).unwrap();
        sender.send_buffer(&buffer, .., part).unwrap();
    };
    std::thread::scope(|scope| {
        let receiver = &receiver;
        let waits = [100, 1, 250].map(|level| (level, scope.spawn(move || receiver.wait_held(level, None).unwrap())));
        send(99);
        send(151);
        for (level, wait) in waits {
            assert!((level..=250).contains(&wait.join().unwrap().bytes), "{level}");
        }
    });
    assert_eq!((receiver.held().unwrap().bytes, sender.held().unwrap().bytes), (250, 0));
    sender.wait_drained(0, SHORT).unwrap();
    // For an event loop: once it is reached, unless it is taken back.
    let fd = receiver.event_fd().unwrap();
    readable(fd); // the message's start
    assert!(receiver.try_wait_held(300).unwrap().is_none() && !readable(fd));
    send(49);
    assert!(!readable(fd));
    send(1);
    assert!(readable(fd) && receiver.try_wait_held(300).unwrap().is_some_and(|held| held.bytes == 300));
    assert!(receiver.try_wait_held(400).unwrap().is_none());
    receiver.cancel_wait_held().unwrap();
    send(200);
    assert_eq!(receiver.held().unwrap().bytes, 500);
    // The card can hold no more: that ends every wait.
    send(500);
    let held = receiver.wait_held(u32::MAX, None).unwrap();
    assert!(held.full && held.bytes == 1000);
}
