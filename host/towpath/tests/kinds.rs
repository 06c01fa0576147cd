// SPDX-License-Identifier: Apache-2.0
//! The kinds that come with Towpath, in simulation: the scratchpad's memory, with its faults; `fanout` and `buffer`. A kind from elsewhere is in
//! examples/crc32c.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::IoSlice;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;
use towpath::{ChannelOptions, Device, Error, FanoutReceiver, FanoutSender, FrameReceiver, FrameSender, Message, Sender, WaitOptions};

/// A limit that a call reaches whose channel stands.
const SHORT: Duration = Duration::from_micros(200);

fn open(core: &str) -> Device {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
    std::env::set_var("TOWPATH_HOME", &root);
    Device::open(&format!("sim:{}", root.join(core).display())).unwrap()
}

/// The same bytes in every run.
fn bytes(count: usize, seed: u32) -> Vec<u8> {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn the_scratchpads_memory() {
    let device = open("cores/scratchpad");
    let memory = device.memory("ram").unwrap();
    assert_eq!(memory.len(), 1 << 20);
    let registers = device.registers();
    let set = |name: &str, value: u32| registers.write_name(name, value).unwrap();
    // All of it, slowly and quickly, and parts at any byte.
    let mut image = bytes(1 << 20, 1);
    memory.write_at(&image, 0).unwrap();
    for (n, (latency, stall)) in [(0, 0), (50, 0), (7, 100)].into_iter().enumerate() {
        set("latency", latency);
        set("stall", stall);
        for (at, count) in [(0, 1), (4095, 2), (0x12345, 70_001), (0xfffff, 1), (0x7fc3, 0)] {
            let new = bytes(count, 100 + n as u32);
            image[at..at + count].copy_from_slice(&new);
            memory.write_at(&new, at as u64).unwrap();
        }
        let mut back = vec![0; 100_000];
        memory.read_at(&mut back, 0x12300).unwrap();
        assert!(back == image[0x12300..0x12300 + 100_000]);
    }
    let mut back = vec![0; 1 << 20];
    memory.read_at(&mut back, 0).unwrap();
    assert!(back == image);
    // Faults of a page, and of what is beyond: each ends its own transfer.
    set("slverr_page", 3);
    set("decerr_page", 5);
    let number = |result: towpath::Result<()>| match result {
        Ok(()) => 0,
        Err(Error::Kind { number, .. }) => number,
        Err(other) => panic!("{other}"),
    };
    let mut page = vec![0; 4096];
    for (at, expected) in [(0x2000, 0), (0x3000, 2), (0x3fff, 2), (0x4000, 0), (0x5123, 3), (0x4ff0, 3), (0x1000, 0)] {
        assert_eq!(number(memory.write_at(&page[..100], at)), expected, "write at {at:#x}");
        assert_eq!(number(memory.read_at(&mut page[..100], at)), expected, "read at {at:#x}");
    }
}

#[test]
fn a_window_tells_each_thread_of_its_own_loads() {
    let device = open("cores/scratchpad");
    let window = device.memory("ram").unwrap().window().unwrap();
    let registers = device.registers();
    registers.write_name("slverr_page", 3).unwrap();
    // One page refuses, the other holds what a refused load would bring.
    window.write_at(&[0xff; 64], 0x5000).unwrap();
    window.flush().unwrap();
    std::thread::scope(|scope| {
        let refused = scope.spawn(|| (0..40).filter(|_| window.read_at(&mut [0; 16], 0x3000).is_err()).count());
        for _ in 0..40 {
            let mut back = [0; 16];
            window.read_at(&mut back, 0x5000).unwrap();
            assert_eq!(back, [0xff; 16]);
        }
        assert_eq!(refused.join().unwrap(), 40);
    });
    // The next flush reports a refused store once; loads are unaffected.
    let other = window.clone();
    window.write_at(&[1; 8], 0x3000).unwrap();
    window.read_at(&mut [0; 16], 0x5000).unwrap();
    assert!(window.flush().unwrap_err().to_string().contains("1 stores were refused"));
    window.flush().unwrap();
    other.write_at(&[1; 8], 0x2000).unwrap();
    other.flush().unwrap();
    // Also where the core refuses the first page, which a flush loads from.
    registers.write_name("slverr_page", 0).unwrap();
    window.write_at(&[1; 8], 0x2000).unwrap();
    window.flush().unwrap();
}

/// `cores/fifo`: stores to a memory's window are appended to a stream, loads show what another stream brought. See axi_fifo.sv.
#[test]
fn a_fifo_behind_a_range_of_addresses() {
    const H: u64 = 32 << 10;
    let (held, room, take, end) = (H, H + 0x40, H + 0x80, H + 0xc0);
    let device = open("cores/fifo");
    let memory = device.memory("range").unwrap();
    let window = memory.window().unwrap();
    let number = |at: u64| {
        let mut word = [0; 4];
        window.read_at(&mut word, at).unwrap();
        u32::from_le_bytes(word) as usize
    };
    let set = |at: u64, value: usize| window.write_at(&(value as u32).to_le_bytes(), at).unwrap();

    // Appended by stores of any size, anywhere: what the stream brings are the messages.
    let receiver = device.receiver("out").unwrap();
    for (n, lengths) in [vec![1, 2, 3], vec![], vec![64, 8, 4096, 7], vec![20_000, 5]].into_iter().enumerate() {
        let mut message = Vec::new();
        for (i, length) in lengths.into_iter().enumerate() {
            let part = bytes(length, (100 * n + i) as u32);
            while number(room) < length {}
            window.write_at(&part, (i as u64 * 4099) % (H - 20_000)).unwrap();
            message.extend(part);
        }
        set(end, 1);
        let got = receiver.recv().unwrap();
        assert!(got == message, "message {n}: {} of {} bytes", got.len(), message.len());
    }
    // A DMA appends, too.
    let long = bytes(30_000, 7);
    memory.write_at(&long, 0).unwrap();
    set(end, 1);
    assert!(receiver.recv().unwrap() == long);
    window.flush().unwrap();

    // What is sent is looked at, by DMA and by loads, and taken.
    let data = bytes(100_000, 8);
    let mut taken = 0;
    // It stays open: what the core has not taken yet goes when a channel is closed.
    let sender = device.sender("in").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(&data).unwrap());
        while taken < data.len() {
            let there = number(held);
            let mut oldest = vec![0; there];
            memory.read_at(&mut oldest, 0).unwrap();
            assert!(oldest == data[taken..taken + there]);
            let few = there.min(9);
            window.read_at(&mut oldest[..few], (there - few) as u64).unwrap();
            assert!(oldest[..few] == data[taken + there - few..taken + there]);
            set(take, there);
            taken += there;
        }
    });
    assert_eq!(number(held), 0);

    // What does not fit is refused whole, and the next flush reports it.
    for store in [(take, 4), (held, 4), (H + 0x100, 8)] {
        window.write_at(&bytes(store.1, 9), store.0).unwrap();
        assert!(window.flush().unwrap_err().to_string().contains("1 stores were refused"));
    }
    while number(room) >= 8192 {
        window.write_at(&bytes(4096, 10), 0).unwrap();
    }
    let mut too_much = 0;
    while number(room) > 0 {
        window.write_at(&bytes(number(room).min(4096), 10), 0).unwrap();
        too_much += 1;
        assert!(too_much < 20);
    }
    window.flush().unwrap();
    window.write_at(&bytes(64, 11), 0).unwrap();
    assert!(window.flush().unwrap_err().to_string().contains("were refused"));
}

/// The number of a kind's own status, and the text.
fn refused(result: towpath::Result<()>) -> (u8, String) {
    match result {
        Err(error @ Error::Kind { number, .. }) => (number, error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn ports_behind_a_fanout() {
    let device = open("cores/exchange");
    let to: FanoutSender = device.open_kind("data").unwrap();
    let mut back: FanoutReceiver = device.open_kind("data").unwrap();
    // A long message is taken while it is received.
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            for (port, length) in [(3, 100_003), (1, 0), (2, 1), (3, 70_000), (1, 16)] {
                to.send(port, &bytes(length, port)).unwrap();
            }
        });
        assert!(back.recv().unwrap() == (3, bytes(100_003, 3)));
        // The others' messages are kept, and come in their order afterwards.
        assert!(back.recv_from(3).unwrap() == bytes(70_000, 3));
        assert_eq!(back.recv_from(1).unwrap(), bytes(0, 1));
        assert_eq!(back.recv().unwrap(), (2, bytes(1, 2)));
        assert_eq!(back.recv().unwrap(), (1, bytes(16, 1)));
        sending.join().unwrap();
    });
    for port in [4, u32::MAX] {
        let (number, text) = refused(to.send(port, b"nobody's"));
        assert_eq!(number, 1);
        assert!(text.contains(&format!("no port {port}")), "{text}");
    }
    // Port 1 takes nothing: what is for it waits in its FIFO, and passes nobody by.
    to.send(0, &[2]).unwrap();
    to.send(1, b"waits").unwrap();
    to.send(2, b"goes on").unwrap();
    assert_eq!([back.recv().unwrap(), back.recv().unwrap()], [(0, vec![2]), (2, b"goes on".to_vec())]);
    // Its FIFO has 16 beats, and 2 on their way out: one more message stops the channel, also for others. The call resets it.
    to.sender().set_timeout(Some(std::time::Duration::from_micros(200)));
    (0..17).for_each(|_| to.send(1, b"fills").unwrap());
    assert!(matches!(to.send(1, b"is too much"), Err(Error::Timeout { .. })));
    to.sender().set_timeout(Some(std::time::Duration::from_secs(10)));
    to.send(0, &[0]).unwrap();
    to.send(1, b"begins anew").unwrap();
    assert_eq!(back.recv_from(1).unwrap(), b"begins anew");
    assert_eq!(back.recv().unwrap(), (0, vec![0]));
    // No more is kept than is allowed: a message takes its bytes and 64. An empty one takes memory, too.
    back.set_kept_most(68 + 63);
    (0..3).for_each(|n| to.send(2, &b"four"[..4 * (n % 2)]).unwrap());
    to.send(3, b"last").unwrap();
    let error = back.recv_from(3).unwrap_err().to_string();
    assert!(error.contains("2 of others are kept, which take 132 bytes of 131 at most"), "{error}");
    assert_eq!([back.recv().unwrap(), back.recv().unwrap(), back.recv().unwrap()], [(2, vec![]), (2, b"four".to_vec()), (2, vec![])]);
    assert_eq!(back.recv_from(3).unwrap(), b"last");
}

#[test]
fn frames_in_a_buffer() {
    let device = open("cores/normalize");
    let to: FrameSender = device.open_kind("frames").unwrap();
    let back: FrameReceiver = device.open_kind("frames").unwrap();
    for (n, length) in [0, 1, 15, 16, 17, 1000, 4095, 4096].into_iter().enumerate() {
        let frame: Vec<u8> = bytes(length, 9).iter().map(|byte| byte / 2 + 50).collect();
        let least = frame.iter().min().copied().unwrap_or(0);
        to.send(&frame, n as u32).unwrap();
        let due: Vec<u8> = frame.iter().map(|byte| byte - least).collect();
        assert!(back.recv().unwrap() == (due, n as u32), "{length} bytes");
    }
    for length in [4097, 100_000] {
        let (number, text) = refused(to.send(&bytes(length, 9), 0));
        assert_eq!(number, 1);
        assert!(text.contains(&format!("a frame of {length} bytes is longer")), "{text}");
    }
    to.send(&[9, 8], 7).unwrap();
    assert_eq!(back.recv().unwrap(), (vec![1, 0], 7));
}

/// Wait until a call in another thread waits for the card: for half a second nothing new was submitted.
fn stands(sender: &Sender) {
    let (mut last, mut looks) = (0, 0);
    while looks < 50 || last == 0 {
        let submitted = sender.statistics().submitted;
        (last, looks) = (submitted, if submitted == last { looks + 1 } else { 0 });
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Two threads send through one channel: more than card and core hold, and a last message.
fn two_threads_send(
    sender: &Sender,
    send: impl Fn(&[u8]) -> towpath::Result<()> + Sync,
    mut recv: impl FnMut() -> Vec<u8>,
    messages: &[Vec<u8>],
) {
    let send_all = || messages.iter().try_for_each(|message| send(message));
    // The second gives up while it waits for its turn: nothing of the first one's is lost.
    sender.set_timeout(None);
    std::thread::scope(|scope| {
        let first = scope.spawn(send_all);
        stands(sender);
        sender.set_timeout(Some(SHORT));
        assert!(matches!(send(b"gives up"), Err(Error::Timeout { bytes: 0, .. })));
        sender.set_timeout(None);
        messages.iter().for_each(|message| assert!(recv() == *message));
        first.join().unwrap().unwrap();
    });
    // The first gives up: the channel has been reset before the second has its turn, and so its message arrives.
    sender.set_timeout(Some(50 * SHORT));
    std::thread::scope(|scope| {
        let first = scope.spawn(send_all);
        stands(sender);
        sender.set_timeout(None);
        let second = scope.spawn(|| send(b"\0the last"));
        assert!(matches!(first.join().unwrap(), Err(Error::Timeout { .. })));
        second.join().unwrap().unwrap();
    });
    while recv() != b"\0the last" {}
}

#[test]
fn two_threads_send_to_a_fanout() {
    let device = open("cores/exchange");
    let to: FanoutSender = device.open_kind("data").unwrap();
    let mut back: FanoutReceiver = device.open_kind("data").unwrap();
    let mut messages: Vec<_> = (0..60).map(|n| bytes(16, n)).collect();
    messages.push(bytes(2000, 60));
    two_threads_send(to.sender(), |message| to.send(1, message), || back.recv().unwrap().1, &messages);
}

#[test]
fn two_threads_send_frames() {
    let device = open("cores/normalize");
    let to: FrameSender = device.open_kind("frames").unwrap();
    let back: FrameReceiver = device.open_kind("frames").unwrap();
    // With a 0 among its bytes a frame comes back as it was.
    let messages: Vec<_> = (0..10).map(|n| [bytes(4000, n), vec![0]].concat()).collect();
    two_threads_send(to.sender(), |frame| to.send(frame, 0), || back.recv().unwrap().0, &messages);
}

/// The function that a call asks for signals may panic: its message does not stay open either.
#[test]
fn a_panic_in_a_send_leaves_no_message_open() {
    let device = open("cores/exchange");
    let sender = device.sender_of_kind("data", ("fanout", 1), ChannelOptions::default()).unwrap();
    let mut back: FanoutReceiver = device.open_kind("data").unwrap();
    let ask = || -> bool { panic!("as a program may") };
    let options = WaitOptions { timeout: None, interrupted: Some(&ask) };
    let send = || sender.send_with(&[IoSlice::new(&[7; 100_000])], Message { user: 3, ..Message::default() }, options);
    assert!(catch_unwind(AssertUnwindSafe(send)).is_err());
    sender.send_message(b"whole", Message { user: 2, ..Message::default() }).unwrap();
    assert_eq!(back.recv_from(2).unwrap(), b"whole");
}
