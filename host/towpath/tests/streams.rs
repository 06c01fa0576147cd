// SPDX-License-Identifier: Apache-2.0
//! Channels as `std::io`'s streams, with what the standard library makes of them, and the demo over tokio's. Over the gateware in simulation; needs Verilator and
//! a C++ compiler. Seeds are printed; `TOWPATH_SEED` repeats one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "../examples/edges.rs"]
mod edges;

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use towpath::{Device, Message, Receiver};

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

fn seeded() -> Random {
    let seed = std::env::var("TOWPATH_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) << 20 | 1);
    eprintln!("TOWPATH_SEED={seed}");
    Random(seed)
}

fn open(name: &str) -> Device {
    Device::open(name).unwrap_or_else(|error| panic!("{error}"))
}

/// One message, by a way of reading that is chosen at random.
fn one_message(receiver: &Receiver, random: &mut Random) -> Vec<u8> {
    let (mut got, mut stream) = (Vec::new(), receiver);
    let count = match random.below(4) {
        0 => stream.read_to_end(&mut got).unwrap() as u64,
        1 => io::copy(&mut stream, &mut got).unwrap(),
        2 => BufReader::with_capacity(1 + random.below(5000), stream).read_to_end(&mut got).unwrap() as u64,
        _ => loop {
            let mut piece = vec![0; 1 + random.below(5000)];
            match stream.read(&mut piece).unwrap() {
                0 => break got.len() as u64,
                count => got.extend_from_slice(&piece[..count]),
            }
        },
    };
    assert_eq!(count, got.len() as u64);
    got
}

#[test]
fn what_the_standard_library_makes_of_a_stream_takes_one_message() {
    let mut random = seeded();
    let device = open("sim:loopback");
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let lengths = [0, 1, 8191, 8192, 8193, 100_000];
    let mut message = |i: usize| {
        let count = lengths.get(i).copied().unwrap_or_else(|| random.below(20_000));
        (0..count).map(|_| random.below(256) as u8).collect()
    };
    let messages: Vec<Vec<u8>> = (0..60).map(&mut message).collect();
    let mut sizes = Random(random.0 | 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for message in &messages {
                let mut stream = BufWriter::with_capacity(1 + sizes.below(9000), &sender);
                let mut rest = &message[..];
                while !rest.is_empty() {
                    let (part, after) = rest.split_at(1 + sizes.below(rest.len()));
                    stream.write_all(part).unwrap();
                    rest = after;
                }
                // A stream of no bytes has begun no message.
                match message.is_empty() {
                    true => sender.send(&[]).unwrap(),
                    false => stream.flush().unwrap(),
                }
            }
        });
        for message in &messages {
            assert!(one_message(&receiver, &mut random) == *message, "{} bytes", message.len());
        }
    });
    // Lines end with their message, if it ends with a line's end; if not, the message's end is the line's, and more lines follow.
    for message in [&b"one\ntwo\n"[..], b"three\nfour", b"five\n"] {
        sender.send(message).unwrap();
    }
    let lines = || BufReader::new(&receiver).lines().collect::<io::Result<Vec<_>>>().unwrap();
    assert_eq!((lines(), lines()), (vec!["one".to_string(), "two".into()], vec!["three".into(), "four".into(), "five".into()]));
}

#[test]
fn what_is_put_back_comes_first_with_its_end() {
    let device = open("sim:loopback");
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    sender.send_message(b"whole message", Message { user: 7, ..Message::default() }).unwrap();
    sender.send(b"next").unwrap();
    let mut room = [0; 20];
    let got = receiver.recv_into(&mut room).unwrap();
    receiver.unread(&room[..got.bytes], Some(got));
    // A part of what is kept is taken, and put back as well.
    let got = receiver.recv_into(&mut room[..5]).unwrap();
    assert_eq!((got.bytes, got.end_of_message), (5, false));
    receiver.unread(&room[..5], Some(got));
    receiver.unread(&[], None);
    let (bytes, about) = receiver.recv_message().unwrap();
    assert_eq!((&bytes[..], about.user, &receiver.recv().unwrap()[..]), (&b"whole message"[..], 7, &b"next"[..]));
    sender.send(b"").unwrap();
    let got = receiver.recv_into(&mut room).unwrap();
    receiver.unread(&[], Some(got));
    assert_eq!(receiver.recv().unwrap(), b"");
}

#[test]
fn a_message_is_put_back_and_taken_in_parts() {
    let (device, mut random) = (open("sim:loopback"), seeded());
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    for user in 0..20 {
        let sent: Vec<u8> = (0..1 + random.below(300)).map(|_| random.below(256) as u8).collect();
        sender.send_message(&sent, Message { user, ..Message::default() }).unwrap();
        let (bytes, about) = receiver.recv_message().unwrap();
        let place = bytes.as_ptr();
        receiver.unread_message(bytes, about);
        if random.below(4) == 0 {
            // No second copy of it was made: there may be no memory for one.
            let (bytes, about) = receiver.recv_message().unwrap();
            assert!(bytes.as_ptr() == place && bytes == sent && about.user == user);
            continue;
        }
        let (mut got, mut room) = (Vec::new(), [0; 40]);
        loop {
            let most = 1 + random.below(room.len());
            let part = receiver.recv_into(&mut room[..most]).unwrap();
            assert_eq!(part.user, user);
            let back = random.below(part.bytes + 1);
            match random.below(3) {
                // The whole part, or its end only, goes back.
                0 => receiver.unread(&room[..part.bytes], Some(part)),
                1 if !part.end_of_message => {
                    got.extend_from_slice(&room[..part.bytes - back]);
                    receiver.unread(&room[part.bytes - back..part.bytes], Some(part));
                }
                2 if random.below(3) == 0 => {
                    receiver.unread_message(room[..part.bytes].to_vec(), part);
                    assert_eq!(receiver.kept(), Some(sent.len() - got.len()));
                }
                _ => {
                    got.extend_from_slice(&room[..part.bytes]);
                    if part.end_of_message {
                        break;
                    }
                }
            }
        }
        assert!(got == sent, "{} bytes", sent.len());
    }
}

#[tokio::test]
async fn the_demo_finds_the_hosts_edges() {
    let (card, mut random) = (open("sim:sobel"), seeded());
    for (width, height) in [(3, 3), (301, 70), (200, 150)] {
        let pixels = (0..width * height).map(|_| random.below(256) as u8).collect();
        let picture = edges::Picture { width, pixels };
        assert!(edges::filter_on_card(&card, &picture).await.unwrap() == picture.filtered(), "{width} x {height}");
    }
}
