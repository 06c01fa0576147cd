// SPDX-License-Identifier: Apache-2.0
//! Channels as tokio's streams, over the kernel's side in memory and the gateware in simulation: nothing is lost, whatever future is dropped. Seeds are
//! printed; `TOWPATH_SEED` repeats one. Needs Verilator and a C++ compiler for the gateware.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::future::Future;
use std::io::{Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use towpath::{AsyncReceiver, AsyncSender, Completion, Device, Message};
use towpath_kmod::fake;

/// A stream that does not end by itself is a fault.
const LONG: Duration = Duration::from_secs(20);

/// A loopback of each kind, and the names of its channels.
fn cards() -> [(Device, [&'static str; 2]); 2] {
    let card = fake::FakeCard::new(fake::Settings { capacity: 1 << 12, ..fake::Settings::default() });
    let kernel = Device::from_driver(Arc::new(card.open().unwrap()));
    let sim = Device::open("sim:loopback").unwrap_or_else(|error| panic!("{error}"));
    [(kernel, ["in0", "out0"]), (sim, ["in", "out"])]
}

fn streams(device: &Device, [to, from]: [&str; 2], bytes: usize) -> (AsyncSender, AsyncReceiver) {
    let sender = AsyncSender::new(device.sender(to).unwrap(), bytes).unwrap();
    (sender, AsyncReceiver::new(device.receiver(from).unwrap(), bytes).unwrap())
}

fn channel<T>((channel, outcome): (T, towpath::Result<()>)) -> T {
    outcome.unwrap();
    channel
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

fn seed() -> u64 {
    let seed = std::env::var("TOWPATH_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) << 20 | 1);
    eprintln!("TOWPATH_SEED={seed}");
    seed
}

/// Messages of random lengths, written in random parts and read into random pieces; now and then the future of a read is dropped, and the stream is
/// made anew out of its channel.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_arrive_whole_whatever_is_dropped() {
    let mut random = Random(seed());
    for (device, names) in cards() {
        let (mut sender, mut receiver) = streams(&device, names, 1000);
        let lengths = [0, 1, 999, 1000, 1001, 3000, 20_000];
        let mut message = |i: usize| {
            let count = lengths.get(i).copied().unwrap_or_else(|| random.below(5000));
            random.bytes(count)
        };
        let messages: Vec<Vec<u8>> = (0..40).map(&mut message).collect();
        let (to_send, mut sizes) = (messages.clone(), Random(random.0 | 1));
        let sending = tokio::spawn(async move {
            for message in to_send {
                let mut rest = &message[..];
                while !rest.is_empty() {
                    let (part, after) = rest.split_at(1 + sizes.below(rest.len()));
                    sender.write_all(part).await.unwrap();
                    if sizes.below(4) == 0 {
                        sender.flush().await.unwrap();
                    }
                    rest = after;
                }
                // An empty message is one end more, which a stream of bytes cannot write.
                match message.is_empty() {
                    true => sender.get_ref().send(&[]).unwrap(),
                    false => sender.shutdown().await.unwrap(),
                }
            }
            sender
        });
        for message in &messages {
            let mut got = Vec::new();
            loop {
                let mut piece = vec![0; 1 + random.below(1500)];
                let count = match random.below(3) {
                    0 => match timeout(Duration::from_micros(random.below(300) as u64), receiver.read(&mut piece)).await {
                        Ok(count) => count.unwrap(),
                        Err(_) => {
                            if random.below(8) == 0 {
                                receiver = AsyncReceiver::new(channel(receiver.into_inner()), 1 + random.below(2000)).unwrap();
                            }
                            continue;
                        }
                    },
                    _ => timeout(LONG, receiver.read(&mut piece)).await.expect("in time").unwrap(),
                };
                if count == 0 {
                    break;
                }
                got.extend_from_slice(&piece[..count]);
            }
            assert!(got == *message, "{}: {} bytes instead of {}", device.info().name, got.len(), message.len());
        }
        let mut sender = timeout(LONG, sending).await.expect("in time").unwrap();
        // read_to_end takes one message.
        sender.write_all(b"whole").await.unwrap();
        sender.shutdown().await.unwrap();
        let mut got = Vec::new();
        timeout(LONG, receiver.read_to_end(&mut got)).await.expect("in time").unwrap();
        assert_eq!(got, b"whole");
    }
}

/// What a stream has received and not read comes first in its channel's next call, with the message's end.
#[tokio::test]
async fn a_channel_goes_on_where_its_stream_ended() {
    for (device, names) in cards() {
        let (mut sender, mut receiver) = streams(&device, names, 100);
        sender.write_all(b"first message").await.unwrap();
        sender.shutdown().await.unwrap();
        sender.write_all(b"second").await.unwrap();
        sender.shutdown().await.unwrap();
        let mut sender = channel(sender.into_inner());
        let mut piece = [0; 6];
        receiver.read_exact(&mut piece).await.unwrap();
        assert_eq!(&piece, b"first ");
        // Whether the transfer of this read has ended or is in flight: the rest comes once, with its end.
        let mut long = [0; 100];
        let polled = std::future::poll_fn(|context| Poll::Ready(pin!(receiver.read(&mut long)).poll(context))).await;
        let mut receiver = channel(receiver.into_inner());
        match polled {
            Poll::Ready(count) => assert_eq!(&long[..count.unwrap()], b"message"),
            Poll::Pending => assert_eq!(receiver.recv().unwrap(), b"message"),
        }
        assert_eq!(receiver.recv().unwrap(), b"second");
        // Blocking and asynchronous streams take turns.
        sender.write_all(b"abc").unwrap();
        let mut sender = AsyncSender::new(sender, 10).unwrap();
        sender.write_all(b"def").await.unwrap();
        sender.shutdown().await.unwrap();
        let mut three = [0; 3];
        receiver.read_exact(&mut three).unwrap();
        let mut receiver = AsyncReceiver::new(receiver, 10).unwrap();
        let mut got = Vec::new();
        timeout(LONG, receiver.read_to_end(&mut got)).await.expect("in time").unwrap();
        assert_eq!((&three, &got[..]), (b"abc", &b"def"[..]));
    }
}

/// A reset and a dropped stream: errors, no hang, and the channel is free afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_ends_a_read_and_a_drop_cancels() {
    for (device, names) in cards() {
        let (sender, mut receiver) = streams(&device, names, 100);
        drop(sender);
        let mut piece = [0; 10];
        assert!(timeout(Duration::from_millis(20), receiver.read(&mut piece)).await.is_err());
        device.reset().unwrap();
        assert!(timeout(LONG, receiver.read(&mut piece)).await.expect("in time").is_err());
        assert!(timeout(Duration::from_millis(20), receiver.read(&mut piece)).await.is_err());
        drop(receiver);
        let (mut sender, mut receiver) = streams(&device, names, 100);
        sender.write_all(b"again").await.unwrap();
        sender.shutdown().await.unwrap();
        let mut got = Vec::new();
        timeout(LONG, receiver.read_to_end(&mut got)).await.expect("in time").unwrap();
        assert_eq!(got, b"again");
    }
}

/// Poll a read once. True: it waits.
async fn waits(receiver: &mut AsyncReceiver, piece: &mut [u8]) -> bool {
    std::future::poll_fn(|context| Poll::Ready(pin!(receiver.read(piece)).poll(context).is_pending())).await
}

fn more() -> Message {
    Message { end: false, ..Message::default() }
}

#[tokio::test]
async fn bytes_of_a_message_that_a_reset_discards_join_no_other_message() {
    for own in [false, true] {
        let card = fake::FakeCard::new(fake::Settings { capacity: 1 << 12, ..fake::Settings::default() });
        let device = Device::from_driver(Arc::new(card.open().unwrap()));
        let sender = device.sender("in0").unwrap();
        let mut receiver = AsyncReceiver::new(device.receiver("out0").unwrap(), 100).unwrap();
        let mut piece = [0; 100];
        assert!(waits(&mut receiver, &mut piece).await);
        if own {
            // Bytes that have come and that no read has taken.
            sender.send(b"old message").unwrap();
            receiver.read_exact(&mut piece[..4]).await.unwrap();
            receiver.get_ref().reset().unwrap();
        } else {
            sender.send_vectored(&[std::io::IoSlice::new(b"0123456789")], more()).unwrap();
            card.reset_by_another();
            receiver.read(&mut piece).await.unwrap_err();
            let _ = sender.send(b""); // it reports the reset
        }
        sender.send(b"next").unwrap();
        let mut got = Vec::new();
        timeout(LONG, receiver.read_to_end(&mut got)).await.expect("in time").unwrap();
        assert_eq!(got, b"next", "own {own}");
    }
}

#[tokio::test]
async fn a_write_that_a_reset_ends_leaves_no_message_open() {
    let card = fake::FakeCard::new(fake::Settings { capacity: 4, ..fake::Settings::default() });
    let device = Device::from_driver(Arc::new(card.open().unwrap()));
    let (mut sender, receiver) = (AsyncSender::new(device.sender("in0").unwrap(), 100).unwrap(), device.receiver("out0").unwrap());
    sender.write_all(b"0123456789").await.unwrap();
    card.reset_by_another();
    sender.flush().await.unwrap_err();
    sender.shutdown().await.unwrap();
    receiver.set_timeout(Some(Duration::from_millis(50)));
    while receiver.recv().is_err_and(|error| !error.is_timeout()) {} // the reset, once
    assert!(receiver.recv().unwrap_err().is_timeout(), "no empty message");
}

#[tokio::test]
async fn what_a_stream_keeps_has_its_messages_attributes_and_faults_are_reported() {
    for (device, [to, from]) in cards() {
        let sender = device.sender(to).unwrap();
        let mut receiver = AsyncReceiver::new(device.receiver(from).unwrap(), 100).unwrap();
        assert!(waits(&mut receiver, &mut [0; 100]).await);
        sender.send_message(b"hello", Message { offset: 5, user: 9, ..Message::default() }).unwrap();
        let receiver = channel(receiver.into_inner());
        receiver.set_timeout(Some(LONG));
        let (bytes, about) = receiver.recv_message().unwrap();
        assert_eq!((&bytes[..], about.offset, about.user), (&b"hello"[..], 5, 9));
        // What a blocking call keeps comes first in the stream, and the other way round.
        receiver.set_timeout(Some(Duration::from_millis(30)));
        sender.send_vectored(&[std::io::IoSlice::new(b"begin ")], more()).unwrap();
        receiver.recv().unwrap_err();
        sender.send(b"end").unwrap();
        let mut receiver = AsyncReceiver::new(receiver, 4).unwrap();
        let mut got = [0; 2];
        receiver.read_exact(&mut got).await.unwrap();
        let receiver = channel(receiver.into_inner());
        receiver.set_timeout(Some(LONG));
        assert_eq!((&got, &receiver.recv().unwrap()[..]), (b"be", &b"gin end"[..]));
    }
}

/// Other transfers fill the queue: the write waits for room, and is woken when there is some.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_wakes_the_write_that_waits_for_it() {
    const PART: usize = 1 << 12;
    const LAST: usize = 128; // whole beats: the card holds a part of one back until it is full or the message ends
    for (device, [to, from]) in cards() {
        let mut sender = AsyncSender::new(device.sender(to).unwrap(), LAST).unwrap();
        let receiver = Arc::new(device.receiver(from).unwrap());
        let buffer = device.allocate(PART).unwrap();
        for _ in 0..10 {
            let mut posted = 0;
            while let Ok(transfer) = sender.get_ref().try_submit(&buffer, .., more()) {
                transfer.detach();
                posted += 1;
            }
            let wanted = posted * PART + LAST;
            let receiver = receiver.clone();
            let reading = tokio::task::spawn_blocking(move || {
                std::thread::sleep(Duration::from_millis(20)); // the write waits before there is any room
                let (mut got, mut piece, limit) = (0, vec![0; PART], Some(Duration::from_millis(1)).into());
                while got < wanted {
                    let most = PART.min(wanted - got);
                    got += match receiver.recv_into_with(&mut [std::io::IoSliceMut::new(&mut piece[..most])], limit) {
                        Ok(received) => received.bytes,
                        Err(error) => error.bytes().unwrap_or(0) as usize,
                    };
                }
            });
            let writing = async {
                sender.write_all(&[1; LAST]).await.unwrap();
                sender.flush().await.unwrap();
            };
            let name = device.info().name.clone();
            timeout(LONG, async { tokio::join!(writing, async { reading.await.unwrap() }) })
                .await
                .unwrap_or_else(|_| panic!("{name}: nothing wakes it"));
            let mut room = [Completion::default(); 64];
            while sender.get_ref().poll_completions(&mut room).unwrap() > 0 {}
        }
    }
}
