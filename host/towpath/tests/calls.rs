// SPDX-License-Identifier: Apache-2.0
//! What belongs to one call: its limit, its cancel, its signals, its memory. Over the card in software, the kernel's side in memory, and the gateware in
//! simulation. Needs Verilator and a C++ compiler for the last.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use std::future::Future;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use towpath::{Access, Buffer, Device, Error, Message, Receiver, Sender, Status, WaitOptions};
use towpath_kmod::fake;
use towpath_userspace::mock::{MockBus, Settings};
use towpath_userspace::UserDriver;

const CAPACITY: usize = 1 << 12;
/// For waits that are to end by themselves.
const LONG: Option<Duration> = Some(Duration::from_secs(20));

/// A card of each kind, with a loopback that holds some KiB and its channels. `TOWPATH_NO_GATEWARE` leaves out the simulated one, which
/// ThreadSanitizer does not see into.
fn cards() -> Vec<(&'static str, Device, [&'static str; 2])> {
    let bus = MockBus::new(Settings { real_time: true, capacity: CAPACITY, ..Settings::default() });
    let mock = Device::from_driver(Arc::new(UserDriver::open(Arc::new(bus)).unwrap()));
    let card = fake::FakeCard::new(fake::Settings { capacity: CAPACITY, ..fake::Settings::default() });
    let kernel = Device::from_driver(Arc::new(card.open().unwrap()));
    let mut cards = vec![("mock", mock, ["in0", "out0"]), ("kernel", kernel, ["in0", "out0"])];
    if std::env::var_os("TOWPATH_NO_GATEWARE").is_none() {
        cards.push(("sim", Device::open("sim:loopback").unwrap_or_else(|error| panic!("{error}")), ["in", "out"]));
    }
    cards
}

fn each(mut test: impl FnMut(&str, &Device, Sender, Receiver)) {
    for (name, device, [to, from]) in cards() {
        let (sender, receiver) = (device.sender(to).unwrap(), device.receiver(from).unwrap());
        test(name, &device, sender, receiver);
    }
}

fn pattern(count: usize, seed: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 37 + i / 256 + 101 * seed) as u8).collect()
}

fn within(milliseconds: u64) -> WaitOptions<'static> {
    Some(Duration::from_millis(milliseconds)).into()
}

/// Memory that several buffers register at the same time.
fn register(device: &Device, memory: &mut [u8], access: Access) -> Buffer {
    unsafe { Buffer::from_raw(device, memory.as_mut_ptr(), memory.len(), access, Box::new(())).unwrap() }
}

#[test]
fn the_same_memory_in_flight_twice() {
    each(|name, device, sender, receiver| {
        let mut memory = pattern(6000, 1);
        let (whole, part) = (register(device, &mut memory, Access::Read), register(device, &mut memory[..5000], Access::Read));
        // The first is in the way of the second until it has ended, and its registration with it.
        let mut first = sender.submit(&whole, .., Message::default()).unwrap();
        let mut second = sender.submit(&part, 10.., Message::default()).unwrap();
        let got = receiver.recv().unwrap();
        assert_eq!(first.wait(LONG).unwrap().status, Status::Done, "{name}");
        whole.close().unwrap();
        assert_eq!(receiver.recv().unwrap(), memory[10..5000], "{name}");
        assert_eq!(second.wait(LONG).unwrap().status, Status::Done, "{name}");
        assert_eq!(got, memory, "{name}");

        let mut landing = vec![0u8; 8192];
        let (mut whole, mut part) = (register(device, &mut landing, Access::Write), register(device, &mut landing[..4096], Access::Write));
        let mut first = receiver.submit(&mut whole, 4096..).unwrap();
        let mut second = receiver.submit(&mut part, ..).unwrap();
        sender.send(&memory[..300]).unwrap();
        assert_eq!(first.wait(LONG).unwrap().bytes, 300, "{name}");
        whole.close().unwrap();
        sender.send(&memory[300..400]).unwrap();
        assert_eq!(second.wait(LONG).unwrap().bytes, 100, "{name}");
        drop(part);
        assert!(landing[4096..4396] == memory[..300] && landing[..100] == memory[300..400], "{name}: not where it belongs");
    });
}

#[test]
fn a_limit_is_one_calls_own() {
    each(|name, _, sender, receiver| {
        std::thread::scope(|scope| {
            let patient = scope.spawn(|| receiver.recv_message_with(None.into()).unwrap().0);
            std::thread::sleep(Duration::from_millis(30)); // it is most likely in its call by now; the test holds either way
            let mut buffer = [0; 10];
            for limit in [0, 5, 50] {
                let outcome = receiver.recv_into_with(&mut [IoSliceMut::new(&mut buffer)], within(limit));
                let Err(Error::Timeout { after, bytes: 0, .. }) = outcome else { panic!("{name}: {outcome:?}") };
                assert_eq!(after, Duration::from_millis(limit), "{name}");
            }
            assert!(!patient.is_finished(), "{name}: another call's limit has ended it");
            sender.send(b"for the patient one").unwrap();
            assert_eq!(patient.join().unwrap(), b"for the patient one", "{name}");
        });
    });
}

#[test]
fn a_program_that_only_polls_sees_the_end() {
    each(|name, device, sender, receiver| {
        let (data, began) = (pattern(700, 4), Instant::now());
        let goes_on = || assert!(began.elapsed() < Duration::from_secs(60), "{name}: polls for ever");
        let source = device.register(data.clone()).unwrap();
        let sent = sender.submit(&source, .., Message { user: 5, ..Message::default() }).unwrap().detach();
        while receiver.try_message_start().unwrap().is_none() {
            goes_on();
        }
        let mut landing = device.allocate(1000).unwrap();
        let mut got = receiver.submit(&mut landing, ..).unwrap();
        let got = loop {
            goes_on();
            if let Some(done) = got.try_wait().unwrap() {
                break done;
            }
        };
        let mut ended = [towpath::Completion::new(sent, Status::Reset, 0)];
        while sender.poll_completions(&mut ended).unwrap() == 0 {
            goes_on();
        }
        assert_eq!((ended[0].ticket, ended[0].status), (sent, Status::Done), "{name}");
        assert_eq!((&landing.as_slice().unwrap()[..700], got.bytes), (&data[..], 700), "{name}");
    });
}

#[test]
fn one_transfer_is_cancelled_and_the_others_go_on() {
    each(|name, device, sender, receiver| {
        // Towards the card: the first fills the loopback, so that all are in flight.
        let data = pattern(64 * CAPACITY, 2);
        let long = device.register(data.clone()).unwrap();
        let short: Vec<Buffer> = (0..3).map(|n| device.register(pattern(500, 3 + n)).unwrap()).collect();
        let mut first = sender.submit(&long, .., Message::default()).unwrap();
        let mut rest: Vec<_> = short.iter().map(|buffer| sender.submit(buffer, .., Message::default()).unwrap()).collect();
        let _ = first.wait(Some(Duration::from_micros(50)));
        rest[1].cancel().unwrap();
        let ended = rest[1].wait(LONG).unwrap();
        assert_eq!((ended.status, ended.bytes), (Status::Cancelled, 0), "{name}");
        assert!(receiver.recv().unwrap() == data, "{name}: what another's cancel cut is not whole");
        assert_eq!(first.wait(LONG).unwrap().bytes, data.len() as u64, "{name}");
        for n in [0, 2] {
            assert!(receiver.recv().unwrap() == pattern(500, 3 + n), "{name}: message {n}");
            assert_eq!(rest[n].wait(LONG).unwrap().status, Status::Done, "{name}");
        }
        // From the card: the first has a part of its bytes when the second is cancelled.
        let mut landing: Vec<Buffer> = (0..3).map(|_| device.allocate(4000).unwrap()).collect();
        let [a, b, c] = &mut landing[..] else { panic!() };
        let mut transfers = [receiver.submit(a, ..), receiver.submit(b, ..), receiver.submit(c, ..)].map(Result::unwrap);
        sender.send_message(&data[..1000], Message { end: false, ..Message::default() }).unwrap();
        let _ = transfers[0].wait(Some(Duration::from_micros(100)));
        transfers[1].cancel().unwrap();
        assert_eq!(transfers[1].wait(LONG).unwrap().status, Status::Cancelled, "{name}");
        sender.send(&data[1000..5000]).unwrap();
        assert_eq!(transfers[0].wait(LONG).unwrap().bytes, 4000, "{name}");
        assert_eq!(transfers[2].wait(LONG).unwrap().bytes, 1000, "{name}");
        assert!(landing[0].as_slice().unwrap() == &data[..4000] && landing[2].as_slice().unwrap()[..1000] == data[4000..5000], "{name}");
    });
}

/// A timed-out call is no exception: what was submitted before it goes on, and so does what comes behind it.
#[test]
fn a_timeout_cancels_its_own_call_alone() {
    each(|name, device, sender, receiver| {
        let mut landing = device.allocate(100).unwrap();
        let mut before = receiver.submit(&mut landing, ..).unwrap();
        let mut buffer = [0; 10];
        let outcome = receiver.recv_into_with(&mut [IoSliceMut::new(&mut buffer)], within(1));
        assert!(matches!(outcome, Err(Error::Timeout { bytes: 0, .. })), "{name}: {outcome:?}");
        sender.send(b"to the first").unwrap();
        assert_eq!(before.wait(LONG).unwrap().bytes, 12, "{name}");
    });
}

#[test]
fn a_dropped_transfer_is_cancelled_and_forgotten() {
    each(|name, device, sender, receiver| {
        let mut landing = device.allocate(100).unwrap();
        for _ in 0..200 {
            drop(receiver.submit(&mut landing, ..).unwrap());
            let mut kept = Vec::new();
            while landing.in_flight() {
                let mut room = [towpath::Completion::default(); 4];
                let found = receiver.poll_completions(&mut room).unwrap();
                kept.extend_from_slice(&room[..found]);
            }
            assert!(kept.is_empty(), "{name}: {kept:?}");
        }
        // One that is detached goes on, and is collected by polling.
        let ticket = receiver.submit(&mut landing, ..).unwrap().detach();
        sender.send(b"detached").unwrap();
        let mut room = [towpath::Completion::default(); 4];
        let found = loop {
            // Simulated time passes only while a call waits.
            let _ = receiver.recv_into_with(&mut [IoSliceMut::new(&mut [0])], within(0));
            match receiver.poll_completions(&mut room).unwrap() {
                0 => {}
                found => break found,
            }
        };
        assert_eq!((found, room[0].ticket, room[0].bytes), (1, ticket, 8), "{name}");
    });
}

/// The smallest runtime: one task, which is polled again when it was woken.
struct Woken(std::thread::Thread, AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

fn block_on<T>(task: impl Future<Output = T>) -> T {
    let woken = Arc::new(Woken(std::thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(woken.clone());
    let mut task = pin!(task);
    let began = Instant::now();
    loop {
        let before = woken.1.load(Ordering::SeqCst);
        if let Poll::Ready(value) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        while woken.1.load(Ordering::SeqCst) == before {
            assert!(began.elapsed() < Duration::from_secs(60), "nobody wakes the task");
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }
}

#[test]
fn a_transfer_is_a_future() {
    // (The card in software moves only while a call waits for it.)
    for (name, device, [to, from]) in cards().into_iter().filter(|(name, ..)| *name != "mock") {
        let (sender, receiver) = (device.sender(to).unwrap(), device.receiver(from).unwrap());
        let buffer = device.register(pattern(2000, 5)).unwrap();
        let mut landing: Vec<Buffer> = (0..3).map(|_| device.allocate(2000).unwrap()).collect();
        for _ in 0..5 {
            let receives: Vec<_> = landing.iter_mut().map(|buffer| receiver.submit(buffer, ..).unwrap()).collect();
            let sends: Vec<_> = (0..3).map(|_| sender.submit(&buffer, .., Message::default()).unwrap()).collect();
            block_on(async {
                for receive in receives {
                    assert_eq!(receive.await.unwrap().bytes, 2000, "{name}");
                }
                for send in sends {
                    assert_eq!(send.await.unwrap().status, Status::Done, "{name}");
                }
            });
            assert!(landing.iter_mut().all(|landing| landing.as_slice().unwrap() == buffer.as_slice().unwrap()), "{name}");
            landing.iter_mut().for_each(|landing| landing.as_mut_slice().unwrap().fill(0));
        }
    }
}

#[test]
fn a_message_is_a_file() {
    each(|name, _, mut sender, mut receiver| {
        let data = pattern(3000, 6);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sender.write_all(&data).unwrap();
                sender.flush().unwrap();
                sender.flush().unwrap(); // no message is open
                (&sender).write_all(b"second").unwrap();
                (&sender).flush().unwrap();
            });
            let mut first = Vec::new();
            assert_eq!(receiver.read_to_end(&mut first).unwrap(), data.len(), "{name}");
            assert!(first == data, "{name}");
            let mut second = String::new();
            (&receiver).read_to_string(&mut second).unwrap();
            assert_eq!(second, "second", "{name}");
        });
        receiver.set_timeout(Some(Duration::from_millis(1)));
        let error = receiver.read(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{name}: {error}");
        assert!(error.into_inner().unwrap().downcast::<Error>().unwrap().is_timeout(), "{name}");
    });
}

#[test]
fn ranges_of_a_buffer_are_sent_and_received_without_a_mapping_of_their_own() {
    each(|name, device, sender, receiver| {
        let buffer = device.register(pattern(4000, 7)).unwrap();
        let mut landing = device.allocate(4000).unwrap();
        sender.send_buffer_with(&buffer, &[100..200, 50..60, 3000..4000], Message::default(), LONG.into()).unwrap();
        let got = receiver.recv_buffer_with(&mut landing, &[2000..2500, 0..1000], LONG.into()).unwrap();
        assert_eq!((got.bytes, got.end_of_message), (1110, true), "{name}");
        let (from, to) = (buffer.as_slice().unwrap(), landing.as_slice().unwrap());
        let sent = [&from[100..200], &from[50..60], &from[3000..]].concat();
        assert!([&to[2000..2500], &to[..610]].concat() == sent, "{name}");
        let overlapping = receiver.recv_buffer_with(&mut landing, &[0..10, 5..20], LONG.into());
        assert!(matches!(overlapping, Err(Error::Invalid(_))), "{name}: {overlapping:?}");
        assert!(matches!(sender.send_buffer(&buffer, ..4001, Message::default()), Err(Error::Invalid(_))), "{name}");
        assert!(!landing.in_flight() && !buffer.in_flight(), "{name}");
    });
}

extern "C" fn nothing(_: libc::c_int) {}

/// A handler that is run, and ends a waiting system call.
fn handle(signal: libc::c_int) {
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
}

#[test]
fn a_signal_ends_the_call_of_its_thread_and_no_other() {
    handle(libc::SIGUSR1);
    // (The kernel's side in memory waits by a condition variable, which no signal ends.)
    for (name, device, [to, from]) in cards().into_iter().filter(|(name, ..)| *name != "kernel") {
        let (sender, receiver) = (device.sender(to).unwrap(), device.receiver(from).unwrap());
        let ended = AtomicBool::new(false);
        let thread = std::sync::OnceLock::new();
        std::thread::scope(|scope| {
            let interrupted = scope.spawn(|| {
                thread.set(unsafe { libc::pthread_self() }).unwrap();
                let outcome = receiver.recv_message_with(None.into());
                ended.store(true, Ordering::SeqCst);
                outcome
            });
            let waits_behind = scope.spawn(|| {
                while !ended.load(Ordering::SeqCst) {
                    let _ = receiver.message_start(Some(Duration::from_millis(1)));
                }
                receiver.recv_message_with(LONG.into()).unwrap().0
            });
            let began = Instant::now();
            while !ended.load(Ordering::SeqCst) {
                assert!(began.elapsed() < Duration::from_secs(60), "{name}: the signal is not noticed");
                thread.get().into_iter().for_each(|thread| unsafe {
                    libc::pthread_kill(*thread, libc::SIGUSR1);
                });
                std::thread::sleep(Duration::from_millis(5));
            }
            let outcome = interrupted.join().unwrap();
            assert!(matches!(outcome, Err(Error::Interrupted { bytes: 0, .. })), "{name}: {outcome:?}");
            sender.send(b"nothing was lost").unwrap();
            assert_eq!(waits_behind.join().unwrap(), b"nothing was lost", "{name}");
        });
        // A program that is asked may go on.
        let asked = AtomicUsize::new(0);
        let ask = || asked.fetch_add(1, Ordering::SeqCst) >= 2;
        let options = WaitOptions { timeout: None, interrupted: Some(&ask) };
        let outcome = receiver.recv_message_with(options);
        assert!(matches!(outcome, Err(Error::Interrupted { bytes: 0, .. })), "{name}: {outcome:?}");
        assert!(asked.load(Ordering::SeqCst) >= 3, "{name}");
    }
}

/// Fork, run `child` there, and return its exit code. The child runs nothing else of the test's.
fn in_child(child: impl FnOnce() -> bool) -> i32 {
    let process = unsafe { libc::fork() };
    if process == 0 {
        let well = child();
        unsafe { libc::_exit(if well { 0 } else { 1 }) };
    }
    let began = Instant::now();
    loop {
        let mut status = 0;
        match unsafe { libc::waitpid(process, &raw mut status, libc::WNOHANG) } {
            0 if began.elapsed() > Duration::from_secs(60) => {
                unsafe { libc::kill(process, libc::SIGKILL) };
                panic!("the child hangs");
            }
            0 => std::thread::sleep(Duration::from_millis(2)),
            _ => return status,
        }
    }
}

#[test]
fn a_child_of_fork_leaves_the_card_to_its_parent() {
    for (name, device, [to, from]) in cards() {
        let (sender, receiver) = (device.sender(to).unwrap(), device.receiver(from).unwrap());
        let buffer = device.register(pattern(1000, 8)).unwrap();
        let mut landing = device.allocate(1000).unwrap();
        let mut waiting = receiver.submit(&mut landing, ..).unwrap();
        let status = in_child(|| {
            let forked = matches!(sender.send(b"x"), Err(Error::Forked))
                && matches!(sender.submit(&buffer, .., Message::default()), Err(Error::Forked))
                && matches!(receiver.recv(), Err(Error::Forked))
                && matches!(device.reset(), Err(Error::Forked))
                && matches!(device.registers().read(0), Err(Error::Forked | Error::Register { .. }))
                && matches!(device.allocate(10), Err(Error::Forked));
            // The child's own copies, as if it had ended.
            unsafe {
                drop(std::ptr::read(&waiting));
                drop(std::ptr::read(&buffer));
                drop(std::ptr::read(&sender));
                drop(std::ptr::read(&receiver));
                drop(std::ptr::read(&device));
            }
            forked
        });
        assert_eq!(status, 0, "{name}");
        sender.send_vectored(&[IoSlice::new(b"the parent "), IoSlice::new(b"goes on")], Message::default()).unwrap();
        assert_eq!(waiting.wait(LONG).unwrap().bytes, 18, "{name}");
        assert_eq!(&landing.as_slice().unwrap()[..18], b"the parent goes on", "{name}");
        for round in 0..20 {
            sender.send_buffer(&buffer, .., Message::default()).unwrap();
            assert!(receiver.recv().unwrap() == buffer.as_slice().unwrap(), "{name}, round {round}");
        }
    }
}
