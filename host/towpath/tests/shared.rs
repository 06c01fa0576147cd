// SPDX-License-Identifier: Apache-2.0
//! Threads that share the two channels of a loopback: each call with its own limit, some cancelled, some ended by signals, from overlapping buffers. What
//! each call says it moved is compared with what has come: no byte is lost, doubled or given to the wrong call, and calls stay whole. The seed is printed;
//! `TOWPATH_SEED` repeats what is random but the threads' turns, `TOWPATH_CALLS` makes it longer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::undocumented_unsafe_blocks)]

use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use towpath::{Access, Buffer, Device, Error, Message, Receiver, Sender, Status, WaitOptions};
use towpath_userspace::mock::{MockBus, Settings};
use towpath_userspace::UserDriver;

const SENDERS: usize = 3;
const RECEIVERS: usize = 3;
const LARGEST: usize = 3000;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound.max(1) as u64) as usize
    }

    fn length(&mut self) -> usize {
        let bits = self.below(12);
        self.below(1 << bits).min(LARGEST)
    }
}

impl Random {
    /// Up to half a millisecond, often only some microseconds.
    fn limit(&mut self) -> Duration {
        let bits = self.below(20);
        Duration::from_nanos(self.below(1 << bits) as u64)
    }
}

/// Byte `position` of what a sending thread sends: the thread, and six bits that look random.
fn byte(thread: usize, position: u64) -> u8 {
    let mut mixed = (position << 2 | thread as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (thread << 6) as u8 | (mixed >> 58) as u8
}

/// What one receiving call got.
struct Chunk {
    bytes: Vec<u8>,
    ends: bool,
}

/// Of each sender: what its calls moved, in order, and how many whole messages it ended.
type Sent = Vec<(Vec<usize>, usize)>;

struct Shared<'a> {
    device: &'a Device,
    sender: Sender,
    receiver: Receiver,
    /// Calls that may still begin.
    left: AtomicUsize,
    sending: AtomicUsize,
    /// The drain at the end: calls without limits, and no signals.
    quiet: AtomicBool,
    endings: [AtomicUsize; 5],
}

#[derive(Clone, Copy)]
enum Way {
    Done,
    Timeout,
    Interrupted,
    Cancelled,
    Pending,
}

impl Shared<'_> {
    fn begin(&self) -> bool {
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }

    /// The bytes of a call that is over, or a complaint: only its own limit, a signal or its own cancel ends a call early.
    fn bytes(&self, outcome: Result<usize, Error>, limit: Duration) -> (usize, bool) {
        let (way, bytes) = match outcome {
            Ok(bytes) => (Way::Done, bytes),
            Err(Error::Timeout { after, bytes, .. }) => {
                assert_eq!(after, limit, "a call has ended by another's limit");
                (Way::Timeout, bytes as usize)
            }
            Err(Error::Interrupted { bytes, .. }) => (Way::Interrupted, bytes as usize),
            Err(error) => panic!("a call failed: {error}"),
        };
        self.endings[way as usize].fetch_add(1, Ordering::Relaxed);
        (bytes, matches!(way, Way::Done))
    }

    /// A transfer, cancelled or not, to its end. Signals and limits end a wait, not the transfer.
    fn finish(&self, mut transfer: towpath::Transfer, random: &mut Random) -> (usize, Status) {
        if random.below(3) == 0 && !self.quiet.load(Ordering::SeqCst) {
            match transfer.wait(Some(Duration::from_micros(random.below(30) as u64))) {
                Ok(done) => return (done.bytes as usize, done.status),
                Err(Error::Pending { .. } | Error::Interrupted { .. }) => {
                    self.endings[Way::Pending as usize].fetch_add(1, Ordering::Relaxed)
                }
                Err(error) => panic!("{error}"),
            };
            transfer.cancel().unwrap();
        }
        let done = loop {
            match transfer.wait(None) {
                Err(Error::Interrupted { .. }) => {}
                done => break done.unwrap(),
            }
        };
        let well = matches!(done.status, Status::Done | Status::EndOfMessage | Status::Cancelled);
        assert!(well, "a transfer ended with {:?}", done.status);
        self.endings[if done.status == Status::Cancelled { Way::Cancelled } else { Way::Done } as usize].fetch_add(1, Ordering::Relaxed);
        (done.bytes as usize, done.status)
    }
}

/// Two buffers that overlap, registered for as long as a few calls.
fn overlapping(device: &Device, memory: &mut [u8], access: Access) -> [Buffer; 2] {
    let (start, half) = (memory.as_mut_ptr(), memory.len() * 2 / 3);
    [0, memory.len() - half].map(|at| unsafe { Buffer::from_raw(device, start.add(at), half, access, Box::new(())).unwrap() })
}

/// Sends until there are no calls left; returns the lengths that its calls moved, in order, and how many whole messages it ended.
fn sends(shared: &Shared<'_>, thread: usize, seed: u64) -> (Vec<usize>, usize) {
    let mut random = Random(seed);
    let (mut moved, mut ended, mut position) = (Vec::new(), 0, 0u64);
    let mut memory = vec![0u8; 3 * LARGEST];
    let mut buffers = overlapping(shared.device, &mut memory, Access::Read);
    while shared.begin() {
        let length = random.length();
        let end = random.below(4) == 0;
        let message = Message { end, ..Message::default() };
        let limit = random.limit();
        let data: Vec<u8> = (0..length).map(|n| byte(thread, position + n as u64)).collect();
        let (bytes, whole) = match random.below(3) {
            0 => {
                let (a, b) = data.split_at(random.below(length + 1));
                let options = WaitOptions { timeout: Some(limit), interrupted: None };
                let sent = shared.sender.send_with(&[IoSlice::new(a), IoSlice::new(b)], message, options);
                shared.bytes(sent.map(|()| length), limit)
            }
            way => {
                // In the part that both buffers have.
                let at = LARGEST + random.below(LARGEST - length + 1) / 3;
                let which = random.below(2);
                memory[at..at + length].copy_from_slice(&data);
                let from = if which == 0 { at } else { at - (memory.len() - buffers[1].len()) };
                if way == 1 {
                    let options = WaitOptions { timeout: Some(limit), interrupted: None };
                    let range = from..from + length;
                    let sent = shared.sender.send_buffer_with(&buffers[which], std::slice::from_ref(&range), message, options);
                    shared.bytes(sent.map(|()| length), limit)
                } else {
                    match shared.sender.try_submit(&buffers[which], from..from + length, message) {
                        Ok(transfer) => {
                            let (bytes, status) = shared.finish(transfer, &mut random);
                            (bytes, status == Status::Done)
                        }
                        Err(Error::QueueFull { .. }) => (0, false),
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        };
        assert!(bytes <= length && (!whole || bytes == length), "{bytes} of {length} bytes, whole: {whole}");
        moved.push(bytes);
        position += bytes as u64;
        ended += usize::from(end && whole);
        if random.below(50) == 0 {
            drop(buffers);
            buffers = overlapping(shared.device, &mut memory, Access::Read);
        }
    }
    shared.sending.fetch_sub(1, Ordering::SeqCst);
    (moved, ended)
}

/// Receives until nothing more comes; returns what its calls got, in order.
fn receives(shared: &Shared<'_>, seed: u64) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut random = Random(seed);
    let mut memory = vec![0xeeu8; 3 * LARGEST];
    let mut buffers = overlapping(shared.device, &mut memory, Access::Write);
    loop {
        let quiet = shared.quiet.load(Ordering::SeqCst);
        // At the end, one call that brings nothing ends the thread.
        let limit = if quiet { Duration::from_millis(20) } else { random.limit() };
        let length = 1 + random.length();
        let (bytes, ends) = match random.below(3) {
            0 => {
                let mut buffer = vec![0xee; length];
                let (a, b) = buffer.split_at_mut(random.below(length + 1));
                let options = WaitOptions { timeout: Some(limit), interrupted: None };
                let mut ends = false;
                let got = shared.receiver.recv_into_with(&mut [IoSliceMut::new(a), IoSliceMut::new(b)], options).map(|got| {
                    ends = got.end_of_message;
                    got.bytes
                });
                let bytes = shared.bytes(got, limit).0;
                assert!(buffer[bytes..].iter().all(|byte| *byte == 0xee), "bytes beyond the count");
                buffer.truncate(bytes);
                (buffer, ends)
            }
            way => {
                let at = LARGEST + random.below(LARGEST - length.min(LARGEST) + 1) / 3;
                let length = length.min(LARGEST);
                let which = random.below(2);
                let from = if which == 0 { at } else { at - (memory.len() - buffers[1].len()) };
                memory[at..at + length].fill(0xee);
                let mut ends = false;
                let bytes = if way == 1 || quiet {
                    let options = WaitOptions { timeout: Some(limit), interrupted: None };
                    let range = from..from + length;
                    let got = shared.receiver.recv_buffer_with(&mut buffers[which], std::slice::from_ref(&range), options).map(|got| {
                        ends = got.end_of_message;
                        got.bytes
                    });
                    shared.bytes(got, limit).0
                } else {
                    match shared.receiver.try_submit(&mut buffers[which], from..from + length) {
                        Ok(transfer) => {
                            // Nothing may ever come: so it is cancelled sooner or later.
                            let (bytes, status) = shared.finish_in(transfer, &mut random);
                            ends = status == Status::EndOfMessage;
                            bytes
                        }
                        Err(Error::QueueFull { .. }) => 0,
                        Err(error) => panic!("{error}"),
                    }
                };
                assert!(memory[at + bytes..at + length].iter().all(|byte| *byte == 0xee), "bytes beyond the count");
                (memory[at..at + bytes].to_vec(), ends)
            }
        };
        let nothing = bytes.is_empty() && !ends;
        if !nothing {
            chunks.push(Chunk { bytes, ends });
        } else if quiet {
            return chunks;
        }
        if random.below(50) == 0 {
            drop(buffers);
            buffers = overlapping(shared.device, &mut memory, Access::Write);
        }
    }
}

impl Shared<'_> {
    /// As [`Shared::finish`], but it always ends.
    fn finish_in(&self, mut transfer: towpath::Transfer, random: &mut Random) -> (usize, Status) {
        match transfer.wait(Some(Duration::from_micros(random.below(300) as u64))) {
            Ok(done) => {
                self.endings[Way::Done as usize].fetch_add(1, Ordering::Relaxed);
                return (done.bytes as usize, done.status);
            }
            Err(Error::Pending { .. } | Error::Interrupted { .. }) => self.endings[Way::Pending as usize].fetch_add(1, Ordering::Relaxed),
            Err(error) => panic!("{error}"),
        };
        transfer.cancel().unwrap();
        self.finish(transfer, random)
    }
}

/// Where the stream is, as one sender after the other has filled it.
#[derive(Clone, Copy)]
struct Place {
    /// Bytes of each sender.
    position: [u64; SENDERS],
    /// Calls of each sender that have begun.
    calls: [usize; SENDERS],
    /// Of the call whose bytes come now: its thread, and what is left of it.
    now: Option<(usize, usize)>,
}

impl Place {
    /// After a chunk, if that can come here: bytes of each sender in order, and of each call in one piece.
    fn after(mut self, chunk: &Chunk, moved: &[Vec<usize>]) -> Option<Place> {
        for found in &chunk.bytes {
            let thread = usize::from(found >> 6);
            if self.now.is_none_or(|(_, left)| left == 0) {
                self.now = Some((thread, *moved.get(thread)?.get(self.calls[thread])?));
                self.calls[thread] += 1;
            }
            let (of, left) = self.now?;
            if of != thread || *found != byte(thread, self.position[thread]) {
                return None;
            }
            self.position[thread] += 1;
            self.now = Some((of, left - 1));
        }
        Some(self)
    }
}

/// Put what the receivers got into the order of the stream: what comes next is the next of one of them. Where several fit, the longest is the likeliest,
/// for each byte says which it is but for a few bits; a choice that leads nowhere is taken back.
fn check(mut got: Vec<Vec<Chunk>>, moved: &[Vec<usize>]) -> Result<(), String> {
    let moved: Vec<Vec<usize>> = moved.iter().map(|calls| calls.iter().copied().filter(|bytes| *bytes > 0).collect()).collect();
    got.iter_mut().for_each(|chunks| chunks.retain(|chunk| !chunk.bytes.is_empty()));
    let all: usize = got.iter().map(Vec::len).sum();
    let mut next = vec![0; got.len()];
    let mut place = Place { position: [0; SENDERS], calls: [0; SENDERS], now: None };
    // Each choice: where it was made, what was chosen, and what else could be.
    let mut choices: Vec<(Place, usize, Vec<usize>)> = Vec::new();
    let (mut steps, mut furthest) = (0, place);
    while choices.len() < all {
        steps += 1;
        let length = |receiver: &usize| got[*receiver].get(next[*receiver]).map_or(0, |chunk| chunk.bytes.len());
        let here = |receiver: &usize| got[*receiver].get(next[*receiver]).is_some_and(|chunk| place.after(chunk, &moved).is_some());
        let mut fit: Vec<usize> = (0..got.len()).filter(here).collect();
        fit.sort_by_key(length);
        loop {
            if let Some(receiver) = fit.pop() {
                let Some(after) = place.after(&got[receiver][next[receiver]], &moved) else { continue };
                next[receiver] += 1;
                choices.push((place, receiver, fit));
                place = after;
                break;
            }
            let back = choices.pop().filter(|_| steps < 20 * all);
            let Some((before, receiver, others)) = back else {
                return Err(format!(
                    "after {:?} bytes of each, what no receiver got is missing, or what it got is of another call",
                    furthest.position
                ));
            };
            next[receiver] -= 1;
            (place, fit) = (before, others);
        }
        if place.position.iter().sum::<u64>() > furthest.position.iter().sum() {
            furthest = place;
        }
    }
    let complete = (0..SENDERS).all(|thread| place.calls[thread] == moved[thread].len()) && place.now.is_none_or(|(_, left)| left == 0);
    complete.then_some(()).ok_or(format!("bytes are missing after {:?} of each", place.position))
}

extern "C" fn nothing(_: libc::c_int) {}

fn run(name: &str, device: &Device, channels: [&str; 2], calls: usize, seed: u64) {
    eprintln!("{name}: TOWPATH_SEED={seed}");
    let shared = Shared {
        device,
        sender: device.sender(channels[0]).unwrap(),
        receiver: device.receiver(channels[1]).unwrap(),
        left: AtomicUsize::new(calls),
        sending: AtomicUsize::new(SENDERS),
        quiet: AtomicBool::new(false),
        endings: Default::default(),
    };
    let threads = Mutex::new(Vec::new());
    let (sent, got): (Sent, Vec<Vec<Chunk>>) = std::thread::scope(|scope| {
        let (shared, threads) = (&shared, &threads);
        let here = move || threads.lock().unwrap().push(unsafe { libc::pthread_self() });
        let receiving: Vec<_> = (0..RECEIVERS)
            .map(|n| {
                scope.spawn(move || {
                    here();
                    receives(shared, seed ^ (n as u64 + 1) << 40 | 1)
                })
            })
            .collect();
        let sending: Vec<_> = (0..SENDERS)
            .map(|n| {
                scope.spawn(move || {
                    here();
                    sends(shared, n, seed ^ (n as u64 + 77) << 20 | 1)
                })
            })
            .collect();
        // Signals to any of them, until all is sent. A thread that has ended is joined only below, so each number stays one of ours.
        let mut random = Random(seed | 1);
        let began = Instant::now();
        while shared.sending.load(Ordering::SeqCst) > 0 {
            assert!(began.elapsed() < Duration::from_secs(600), "{name}: it hangs; {} calls are left", shared.left.load(Ordering::SeqCst));
            std::thread::sleep(Duration::from_micros(300));
            let threads = threads.lock().unwrap();
            if !threads.is_empty() {
                let thread = threads[random.below(threads.len())];
                unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
            }
        }
        // What is still under way is on the card, in order; then nothing more comes.
        shared.sender.send(&[]).unwrap();
        shared.quiet.store(true, Ordering::SeqCst);
        let got = receiving.into_iter().map(|thread| thread.join().unwrap()).collect();
        (sending.into_iter().map(|thread| thread.join().unwrap()).collect(), got)
    });
    let moved: Vec<Vec<usize>> = sent.iter().map(|(moved, _)| moved.clone()).collect();
    let bytes: usize = got.iter().flatten().map(|chunk| chunk.bytes.len()).sum();
    let ends = got.iter().flatten().filter(|chunk| chunk.ends).count();
    assert_eq!(ends, sent.iter().map(|(_, ended)| ended).sum::<usize>() + 1, "{name}: ends of messages");
    assert_eq!(bytes, moved.iter().flatten().sum::<usize>(), "{name}: bytes");
    let verdict = check(got, &moved);
    let endings = shared.endings.map(|count| count.into_inner());
    eprintln!("{name}: {bytes} bytes in {ends} messages; done, timeout, signal, cancelled, pending: {endings:?}");
    assert!(verdict.is_ok(), "{name}: {verdict:?}; again with TOWPATH_SEED={seed}");
    assert!(endings.iter().all(|count| *count > 10), "{name}: not every way for a call to end was met: {endings:?}");
}

fn calls(usual: usize) -> usize {
    std::env::var("TOWPATH_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(usual)
}

fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    std::env::var("TOWPATH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now.as_nanos() as u64 >> 8)
}

/// A handler that ends a waiting system call.
fn handle() {
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    unsafe { libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut()) };
}

#[test]
fn threads_share_the_channels_of_a_card_in_memory() {
    handle();
    let bus = Arc::new(MockBus::new(Settings { real_time: true, capacity: 1 << 13, ..Settings::default() }));
    let device = Device::from_driver(Arc::new(UserDriver::open(bus.clone()).unwrap()));
    run("mock", &device, ["in0", "out0"], calls(100_000), seed());
    drop(device);
    assert_eq!((bus.stray(), bus.maps()), (0, 0));
}

#[test]
fn threads_share_the_channels_of_a_simulated_card() {
    handle();
    let device = Device::open("sim:loopback").unwrap_or_else(|error| panic!("{error}"));
    run("sim", &device, ["in", "out"], calls(20_000), seed());
}
