// SPDX-License-Identifier: Apache-2.0
//! A stream that is paired with one partner after another, at any moment of its messages.

use crate::tools::{attributes, bytes, cards, check, disconnect, number, seed, Part, Random, Tap};
use towpath::{connect, connect_with, Device, Error, Message, PairOptions, Sender};
use towpath_bus::Bus;

/// What the host sends to a card: messages, some in several parts.
struct Source {
    sender: Sender,
    /// The lengths of messages that were begun, and how much of the last one was sent; it is whole, if its end was.
    sent: Vec<usize>,
    open: Option<usize>,
}

impl Source {
    /// A message, or a part of one.
    fn send(&mut self, random: &mut Random, slot: usize) {
        let (number, begin) = match self.open {
            Some(begin) => (self.sent.len() - 1, begin),
            None => {
                self.sent.push(random.length(slot));
                (self.sent.len() - 1, 0)
            }
        };
        let length = self.sent[number];
        let ends = random.below(4) != 0;
        let end = if ends { length } else { begin + random.below(length - begin + 1) };
        let (offset, user) = attributes(number);
        let message = Message { end: ends, length: (length > 0).then_some(length as u64), offset: offset.into(), user };
        self.sender.send_message(&bytes(number, length)[begin..end], message).unwrap();
        // A part of no bytes begins no message.
        if !ends && end == 0 {
            self.sent.pop();
            return;
        }
        self.open = (!ends).then_some(end);
    }

    fn end(&mut self, random: &mut Random, slot: usize) {
        while self.open.is_some() {
            self.send(random, slot);
        }
    }
}

/// The cards' core counts what goes through it.
fn counted(device: &Device) -> (u64, u32) {
    let read = |name: &str| device.registers().read_name(name).unwrap();
    (u64::from(read("bytes_low")), read("messages"))
}

/// All that has gone through the core.
fn drain(tap: &mut Tap, device: &Device) -> Vec<Part> {
    let mut parts = Vec::new();
    for _ in 0..500 {
        parts.append(&mut tap.poll());
        if (tap.bytes, tap.messages) == counted(device) {
            return parts;
        }
    }
    panic!("the core has passed on {:?} bytes and messages, {:?} have come", counted(device), (tap.bytes, tap.messages));
}

/// One card's stream goes to one card after another, and to the host in between, at any moment of its messages.
#[test]
fn a_stream_that_changes_its_partners() {
    let mut random = seed();
    let width = number("TOWPATH_WIDTH", 128) as u32;
    let cards = cards("cores/peer", width, 3);
    let (from, partners) = cards.split_first().unwrap();
    let mut source = Source { sender: from.device.sender("in").unwrap(), sent: Vec::new(), open: None };
    let mut direct = Tap::new(&from.device, "out");
    let mut far: Vec<_> = partners.iter().map(|card| (card.device.sender("in").unwrap(), Tap::new(&card.device, "out"))).collect();
    let (mut got, mut cuts, mut moved) = (Vec::new(), 0, 0);
    for _ in 0..number("TOWPATH_ROUNDS", 24) {
        let slot = 128 << random.below(6);
        for _ in 0..random.below(4) {
            source.send(&mut random, slot);
            got.append(&mut direct.poll());
        }
        got.append(&mut direct.close());
        let which = random.below(partners.len());
        let (sender, tap) = &mut far[which];
        let device = &partners[which].device;
        let options = PairOptions { slot_bytes: Some(slot as u32) };
        // What the host has begun to receive it receives to its end.
        if got.last().is_some_and(|part: &Part| !part.end && !part.bytes.is_empty()) {
            let error = connect_with(&direct.receiver, sender, options).unwrap_err();
            assert!(error.to_string().contains("receive its end"), "{error}");
            source.end(&mut random, slot);
            direct.open();
            for _ in 0..1000 {
                from.bus.poll().unwrap();
                got.append(&mut direct.poll());
            }
            got.append(&mut direct.close());
            continue;
        }
        let mut pair = connect_with(&direct.receiver, sender, options).unwrap();
        let before = got.len();
        for _ in 0..random.below(6) {
            source.send(&mut random, slot);
            got.append(&mut tap.poll());
        }
        for (nothing, channel) in [(direct.receiver.recv().map(drop), "out"), (sender.send(b"nothing"), "in")] {
            assert!(matches!(nothing, Err(Error::Paired { channel: which }) if which == channel));
        }
        assert!(matches!(connect(&direct.receiver, sender), Err(Error::Paired { .. })));
        assert_eq!(pair.status().unwrap().fault, None);
        from.bus.pass(random.below(3000) as u64).unwrap();
        let cut = disconnect(&mut pair);
        got.append(&mut drain(tap, device));
        if cut {
            got.last_mut().unwrap().cut = true;
            cuts += 1;
        }
        moved += got.len() - before;
        assert_eq!(device.registers().read_name("faults").unwrap(), u32::from(cut), "what the core was told of");
        device.registers().write_name("messages", 0).unwrap();
        (tap.bytes, tap.messages) = (0, 0);
        // And the host again.
        sender.send(b"from the host").unwrap();
        let answer = drain(tap, device);
        assert!(answer.len() == 1 && answer[0].bytes == b"from the host" && answer[0].end, "{answer:?}");
        device.registers().write_name("messages", 0).unwrap();
        (tap.bytes, tap.messages) = (0, 0);
        direct.open();
    }
    source.end(&mut random, 128);
    // All that is left.
    let mut quiet = 0;
    while quiet < 100 {
        let mut parts = direct.poll();
        quiet = if parts.is_empty() { quiet + 1 } else { 0 };
        got.append(&mut parts);
        from.bus.poll().unwrap();
    }
    eprintln!("messages: {}, parts by way of pairs: {moved}, cut: {cuts}", source.sent.len());
    assert_eq!(check(&source.sent, &got), cuts);
    let statistics = direct.receiver.statistics();
    assert_eq!((statistics.unexpected, statistics.wrong_statuses), (0, 0));
}
