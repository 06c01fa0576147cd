// SPDX-License-Identifier: Apache-2.0
//! Pairs of simulated cards: streams that send to streams of another card, taken apart and paired again at any moment. What comes out anywhere, in the
//! order of the pairings, is what the host has sent, byte for byte, each once. The seed is printed; `TOWPATH_SEED` repeats it, `TOWPATH_ROUNDS` makes it
//! longer, `TOWPATH_WIDTH` builds the cards with another width.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod credit;
mod partners;
mod storm;
mod tools;

use std::time::Duration;
use tools::{attributes, bytes, cards, check, disconnect, number, seed, Card, Random, Tap, LIMIT};
use towpath::{connect, connect_with, Error, Message, Pair, PairFault, PairOptions, Receiver, Sender, Status, WaitOptions};
use towpath_bus::Bus;

/// Four cards in a ring, of which three pairs make a way; the host stands at another place of it each time.
#[test]
fn four_cards_in_a_ring() {
    let mut random = seed();
    let cards = cards("cores/peer", number("TOWPATH_WIDTH", 128) as u32, 4);
    let mut taps: Vec<_> = cards.iter().map(|card| Tap::new(&card.device, "out")).collect();
    let senders: Vec<_> = cards.iter().map(|card| card.device.sender("in").unwrap()).collect();
    for place in 0..4 {
        let card = |n: usize| (place + n) % 4;
        (0..3).for_each(|n| assert!(taps[card(n)].close().is_empty()));
        let pair = |n: usize| connect(&taps[card(n)].receiver, &senders[card(n + 1)]).unwrap();
        let mut pairs = [pair(0), pair(1), pair(2)];
        let mut sent = Vec::new();
        let mut got = Vec::new();
        for number in 0..6 {
            sent.push(random.length(4096));
            let (offset, user) = attributes(number);
            let message = Message { offset: offset.into(), user, ..Message::default() };
            senders[place].send_message(&bytes(number, sent[number]), message).unwrap();
            got.append(&mut taps[card(3)].poll());
        }
        for _ in 0..2000 {
            cards[place].bus.poll().unwrap();
            got.append(&mut taps[card(3)].poll());
            if got.iter().filter(|part| part.end).count() == sent.len() {
                break;
            }
        }
        assert_eq!(check(&sent, &got), 0);
        // Whoever is disconnected first: nothing is on its way.
        pairs.rotate_left(random.below(3));
        assert!(pairs.iter_mut().all(|pair| !disconnect(pair)));
        (0..3).for_each(|n| taps[card(n)].open());
    }
}

/// What the host has sent goes first, and a core that takes nothing holds up both cards, without a loss.
#[test]
fn a_core_that_takes_nothing_for_a_while() {
    let cards = cards("cores/peer", number("TOWPATH_WIDTH", 128) as u32, 2);
    let [one, two] = &cards[..] else { panic!() };
    let (one_in, one_out) = (one.device.sender("in").unwrap(), one.device.receiver("out").unwrap());
    let (two_in, two_out) = (two.device.sender("in").unwrap(), two.device.receiver("out").unwrap());
    two_out.set_timeout(Some(LIMIT));
    // More than the core and the channel behind it hold.
    let hosts = bytes(0, 12_000);
    two_in.send(&hosts).unwrap();
    let mut pair = connect(&one_out, &two_in).unwrap();
    let all = one.device.register(bytes(1, 80_000)).unwrap();
    let message = Message { user: 9, ..Message::default() };
    let mut sent = one_in.submit(&all, .., message).unwrap();
    one.bus.pass(60_000).unwrap();
    let status = pair.status().unwrap();
    assert!(status.is_waiting && status.fault.is_none() && status.is_open, "{status:?}");
    assert!(status.slots_arrived > 0 && sent.try_wait().unwrap().is_none());
    assert_eq!(two_out.recv().unwrap(), hosts);
    let (found, told) = two_out.recv_message().unwrap();
    assert!(found == all.as_slice().unwrap() && told.user == 9);
    assert_eq!(sent.wait(Some(LIMIT)).unwrap().bytes, 80_000);
    // And once more, to be taken apart while the core of the second takes nothing.
    one_in.submit(&all, ..30_000, Message::default()).unwrap().detach();
    one.bus.pass(60_000).unwrap();
    let parted = pair.disconnect(Some(Duration::from_micros(20)).into()).unwrap();
    assert!(parted.arrived && !parted.taken && parted.cut && parted.fault.is_none(), "{parted:?}");
    let first = two_out.recv().unwrap();
    one_out.set_timeout(Some(LIMIT));
    let rest = one_out.recv().unwrap();
    assert_eq!([first, rest].concat(), all.as_slice().unwrap()[..30_000]);
}

/// One card with two inboxes and two outboxes of the least size, whose core has a third channel.
struct Wide {
    card: Card,
    a: Sender,
    b: Sender,
    c: Sender,
    x: Receiver,
    y: Receiver,
    /// What `c` has been sent.
    sent: (u32, u32),
}

impl Wide {
    fn new(card: Card) -> Wide {
        let to = |name: &str| card.device.sender(name).unwrap();
        let from = |name: &str| card.device.receiver(name).unwrap();
        let (a, b, c, x, y) = (to("a"), to("b"), to("c"), from("x"), from("y"));
        x.set_timeout(Some(LIMIT));
        y.set_timeout(Some(LIMIT));
        Wide { card, a, b, c, x, y, sent: (0, 0) }
    }

    /// A third channel works all the while.
    fn other(&mut self, random: &mut Random) {
        let data = bytes(random.below(1000), random.below(2000));
        self.c.send(&data).unwrap();
        self.sent = (self.sent.0 + data.len() as u32, self.sent.1 + 1);
    }

    fn check_other(&self) {
        let read = |name: &str| self.card.device.registers().read_name(name).unwrap();
        assert_eq!((read("c_bytes"), read("c_messages")), self.sent);
    }
}

fn wide(count: usize) -> Vec<Wide> {
    cards("tests/cores/peer3x2", 64, count).into_iter().map(Wide::new).collect()
}

/// There and back, both cards at once, and other channels beside them.
#[test]
fn both_ways_at_once() {
    let mut random = seed();
    let mut both = wide(2);
    let [one, two] = &mut both[..] else { panic!() };
    let pairs = [connect(&one.x, &two.b).unwrap(), connect(&two.y, &one.b).unwrap()];
    assert_eq!(pairs[0].slot_bytes(), 1024);
    for number in 0..12 {
        let data = bytes(number, random.length(1024));
        one.a.send(&data).unwrap();
        one.other(&mut random);
        two.other(&mut random);
        // And the other two streams of the second card.
        two.a.send(&data).unwrap();
        assert_eq!(two.x.recv().unwrap(), data);
        assert_eq!(one.y.recv().unwrap(), data, "message {number}");
    }
    one.check_other();
    two.check_other();
    // Dropping them is enough.
    drop(pairs);
    two.b.send(b"host").unwrap();
    assert_eq!(two.y.recv().unwrap(), b"host");
}

/// What a pair is refused for, and which way works.
#[test]
fn what_cannot_be_paired() {
    let both = wide(2);
    let [one, two] = &both[..] else { panic!() };
    let says = |result: towpath::Result<Pair>, parts: &[&str]| {
        let error = result.expect_err("this must be refused");
        parts.iter().for_each(|part| assert!(error.to_string().contains(part), "\"{part}\" is not in: {error}"));
        error
    };
    let slots = |bytes| connect_with(&one.x, &two.a, PairOptions { slot_bytes: Some(bytes) });
    for bytes in [64, 2048, 0, 1000] {
        says(slots(bytes), &["make it a power of two, 128 to 1024", "channel \"a\" holds 4096 bytes"]);
    }
    assert!(matches!(says(connect(&one.x, &two.c), &["channel \"c\"", "peer = true"]), Error::Unavailable(_)));
    assert!(matches!(says(connect(&one.x, &one.a), &["the card's own", "send through the host"]), Error::Unavailable(_)));
    let apart = wide(1);
    says(connect(&one.x, &apart[0].a), &["same `world=NAME`", "send through the host"]);
    // Open messages: of the one that receives by what the host has sent, of the one that sends by what it has received.
    let part = Message { end: false, ..Message::default() };
    two.a.send_message(b"begun", part).unwrap();
    says(connect(&one.x, &two.a), &["channel \"a\"", "send its end"]);
    two.a.send(b", ended").unwrap();
    one.a.send(b"some bytes").unwrap();
    assert_eq!(one.x.recv_into(&mut [0; 4]).unwrap().bytes, 4);
    says(connect(&one.x, &two.a), &["channel \"x\"", "receive its end"]);
    assert_eq!(one.x.recv().unwrap(), b" bytes");
    let mut room = one.card.device.allocate(64).unwrap();
    let mut posted = one.x.submit(&mut room, ..).unwrap();
    says(connect(&one.x, &two.a), &["channel \"x\"", "transfers are in flight"]);
    posted.cancel().unwrap();
    assert_eq!(posted.wait(Some(LIMIT)).unwrap().status, Status::Cancelled);
    // Nothing of these has left anything.
    let mut pair = connect(&one.x, &two.a).unwrap();
    one.a.send(b"hello").unwrap();
    assert_eq!((two.x.recv().unwrap(), two.x.recv().unwrap()), (b"begun, ended".to_vec(), b"hello".to_vec()));
    assert!(!disconnect(&mut pair) && !pair.is_connected());
    assert!(pair.status().is_err() && pair.disconnect(WaitOptions::default()).unwrap().arrived);
}

/// What moves between two cards when one of them fails, and what does not suffer from it.
#[test]
fn faults() {
    let mut random = seed();
    let mut both = wide(2);
    let [one, two] = &mut both[..] else { panic!() };
    for round in 0..8 {
        let beside = connect(&two.x, &one.b).unwrap();
        let mut pair = connect(&one.x, &two.b).unwrap();
        // More than the two cards hold: the last of it waits at the first one.
        let data = bytes(round, 6000);
        let part = Message { end: false, ..Message::default() };
        one.a.send_message(&data, part).unwrap();
        one.card.bus.pass(random.below(4000) as u64).unwrap();
        let fault = |pair: &Pair| {
            let begun = one.card.bus.now();
            loop {
                let status = pair.status().unwrap();
                if status.fault.is_some() || one.card.bus.now() > begun + 100_000 {
                    return status.fault;
                }
            }
        };
        let expected = match round % 4 {
            0 => {
                two.b.reset().unwrap();
                PairFault::ReceiverReset
            }
            1 => {
                one.x.reset().unwrap();
                PairFault::SenderReset
            }
            2 => {
                one.card.bus.set_bus_master(false).unwrap();
                let found = fault(&pair);
                one.card.bus.set_bus_master(true).unwrap();
                assert_eq!(found, Some(PairFault::Sending(Status::BusMasteringOff)));
                PairFault::Sending(Status::BusMasteringOff)
            }
            _ => {
                two.card.bus.set_link(false).unwrap();
                assert!(matches!(fault(&pair), Some(PairFault::ReceiverGone(_))));
                two.card.bus.set_link(true).unwrap();
                PairFault::ReceiverLinkDown
            }
        };
        assert_eq!(fault(&pair), Some(expected.clone()), "round {round}");
        let parted = pair.disconnect(Some(LIMIT).into()).unwrap();
        assert!(!parted.arrived && parted.fault == Some(expected), "round {round}: {parted:?}");
        // The other pair, the other way, notices nothing of it but a link that is down.
        if round % 4 != 3 {
            two.a.send(&data).unwrap();
            assert_eq!(one.y.recv().unwrap(), data, "round {round}");
        }
        drop(beside);
        // Whatever is left of it goes, and both ends work again, for the host and for each other.
        for (to, from) in [(&one.a, &one.x), (&two.a, &two.x), (&one.b, &one.y), (&two.b, &two.y)] {
            to.reset().unwrap();
            from.reset().unwrap();
            to.send(b"again").unwrap();
            assert_eq!(from.recv().unwrap(), b"again", "round {round}");
        }
        if round % 4 != 3 {
            two.other(&mut random);
            two.check_other();
        }
        one.other(&mut random);
        one.check_other();
    }
}

/// Cards that carry nothing of the host's: one asks, the other answers.
#[test]
fn cards_for_peers_alone() {
    let both = cards("cores/bench/ping", 128, 2);
    let ends = |card: &Card| (card.device.sender("in").unwrap(), card.device.receiver("out").unwrap());
    let [(one_in, one_out), (two_in, two_out)] = [ends(&both[0]), ends(&both[1])];
    for nothing in [one_in.send(b"nothing"), one_out.recv().map(drop)] {
        let error = nothing.unwrap_err();
        assert!(matches!(error, Error::WrongKind { .. }) && error.to_string().contains("pair it"), "{error}");
    }
    let registers = |card: usize, name: &str| both[card].device.registers().read_name(name).unwrap();
    both[1].device.registers().write_name("control", 2).unwrap();
    for round in 1..4 {
        let mut there = connect(&one_out, &two_in).unwrap();
        let back = connect(&two_out, &one_in).unwrap();
        both[0].device.registers().write_name("control", 1).unwrap();
        both[0].bus.pass(5000).unwrap();
        assert_eq!((registers(0, "rounds"), registers(0, "errors")), (round, 0));
        assert!(!disconnect(&mut there));
        drop(back);
        assert_eq!(one_in.reset().and(one_out.reset()).and(two_in.reset()).and(two_out.reset()).ok(), Some(()));
    }
    // What could not be taken apart is to be reset, for nobody knows what it is.
    let mut pair = connect(&one_out, &two_in).unwrap();
    both[1].bus.set_link(false).unwrap();
    assert!(matches!(pair.disconnect(Some(LIMIT).into()).unwrap().fault, Some(PairFault::ReceiverGone(_))));
    both[1].bus.set_link(true).unwrap();
    let refused = connect(&one_out, &two_in).unwrap_err();
    assert!(refused.to_string().contains("reset it first"), "{refused}");
    two_in.reset().unwrap();
    assert!(!disconnect(&mut connect(&one_out, &two_in).unwrap()));
}
