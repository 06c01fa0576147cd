// SPDX-License-Identifier: Apache-2.0
//! Bursts of many short messages between random pairs of four cards, paired anew at any moment, while channels and cards are reset, links go down and
//! bus mastering is switched off.
//!
//! The test keeps what each card's core has still to send. What a partner's core gets in a pairing is the next of that, byte for byte, with no gap: all that
//! was sent where `disconnect` says that it has arrived, and else a beginning, with no less than the slots that had been reported. A message that
//! ends early is the last of its pairing, and its core was told so.

use crate::tools::{attributes, byte, bytes, cards_with, number, seed, Card, Part, Random};
use std::collections::VecDeque;
use std::time::Duration;
use towpath::{connect_with, Buffer, Message, Pair, PairFault, PairOptions, PairStatus, Receiver, Sender, Status, Transfer};
use towpath_bus::Bus;

/// Buffers that a tap has posted, and the room of each: a longer message comes in parts.
const POSTED: usize = 16;
const ROOM: usize = 1024;
const CARDS: usize = 4;
/// Polls without anything new after which nothing is expected any more.
const QUIET: usize = 60;
/// More than a fence takes; what the core does not take in that time it takes later.
const FENCE: Duration = Duration::from_micros(20);
/// More than anything else takes that comes to an end.
const LIMIT: Duration = Duration::from_micros(300);

/// What is left of a message.
#[derive(Clone, Debug)]
struct Rest {
    number: usize,
    at: usize,
    length: usize,
}

/// One card: what the host sends to it, what comes from it, and what is between.
struct Node {
    card: Card,
    sender: Sender,
    receiver: Receiver,
    buffers: Vec<Buffer>,
    posted: VecDeque<(Transfer, usize)>,
    /// What the host is to send: from where in the buffer, how much, the message's number.
    burst: Option<Buffer>,
    waiting: VecDeque<(usize, usize, usize)>,
    /// The last of what it has sent.
    last: Option<Transfer>,
    /// Messages that have gone in, and not come out.
    queue: VecDeque<Rest>,
    got: Vec<Part>,
    /// The host looks only each so many times.
    lazy: usize,
    /// Something happened to what the host receives: nothing that comes later means anything.
    broken: bool,
}

impl Node {
    fn new(card: Card) -> Node {
        let buffers = (0..POSTED).map(|_| card.device.allocate(ROOM).unwrap()).collect();
        let (sender, receiver) = (card.device.sender("in").unwrap(), card.device.receiver("out").unwrap());
        let (posted, waiting, queue, got) = (VecDeque::new(), VecDeque::new(), VecDeque::new(), Vec::new());
        Node { card, sender, receiver, buffers, posted, burst: None, waiting, last: None, queue, got, lazy: 1, broken: false }
    }

    /// The host receives all that comes.
    fn open(&mut self) {
        for place in 0..if self.posted.is_empty() { POSTED } else { 0 } {
            self.posted.push_back((self.receiver.submit(&mut self.buffers[place], ..).unwrap(), place));
        }
    }

    fn take(&mut self, done: towpath::Completion, place: usize) {
        self.broken |= !matches!(done.status, Status::Done | Status::EndOfMessage | Status::Cancelled);
        let end = done.status == Status::EndOfMessage;
        if !self.broken && (end || done.bytes > 0) {
            let bytes = self.buffers[place].as_slice().unwrap()[..done.bytes as usize].to_vec();
            self.got.push(Part { bytes, end, offset: done.offset, user: done.user, cut: false });
        }
    }

    /// What has come; false: nothing.
    fn poll(&mut self) -> bool {
        let before = self.got.len();
        self.feed();
        while let Some((transfer, place)) = self.posted.front_mut() {
            let (place, done) = (*place, transfer.try_wait());
            let Ok(Some(done)) = done else {
                self.broken |= done.is_err();
                break;
            };
            self.posted.pop_front();
            self.take(done, place);
            match self.receiver.submit(&mut self.buffers[place], ..) {
                Ok(transfer) => self.posted.push_back((transfer, place)),
                Err(_) => self.broken = true,
            }
        }
        before != self.got.len()
    }

    /// Nothing is posted any more.
    fn close(&mut self) {
        self.posted.iter().for_each(|(transfer, _)| drop(transfer.cancel()));
        while let Some((mut transfer, place)) = self.posted.pop_front() {
            match transfer.wait(Some(LIMIT)) {
                Ok(done) => self.take(done, place),
                Err(_) => self.broken = true,
            }
        }
    }

    /// Until nothing comes any more.
    fn drain(&mut self) {
        let mut quiet = 0;
        while quiet < QUIET && !self.broken {
            quiet = if self.poll() { 0 } else { quiet + 1 };
            self.broken |= self.card.bus.poll().is_err();
        }
    }

    /// Can its channel from the host be paired? Not while a transfer is in flight there.
    fn has_sent(&mut self) -> bool {
        if self.last.as_mut().is_some_and(|last| last.try_wait().unwrap().is_some()) {
            self.last = None;
        }
        self.last.is_none()
    }

    /// A burst of messages.
    fn send(&mut self, random: &mut Random, slot: usize, number: &mut usize) {
        let long = random.below(6) == 0;
        let count = 1 + random.below(if long { 60 } else { 500 });
        let lengths: Vec<_> = (0..count).map(|_| if long { random.length(slot) } else { length(random, slot) }).collect();
        let mut all = Vec::new();
        for length in lengths {
            self.waiting.push_back((all.len(), length, *number));
            all.append(&mut bytes(*number, length));
            *number += 1;
        }
        all.push(0); // of empty messages there is a buffer, too
        self.burst = Some(self.card.device.register(all).unwrap());
    }

    /// As many of its messages as the card's queue has room for.
    fn feed(&mut self) {
        let Some(burst) = &self.burst else { return };
        while let Some(&(from, length, number)) = self.waiting.front() {
            let (offset, user) = attributes(number);
            let message = Message { length: (length > 0).then_some(length as u64), offset: offset.into(), user, ..Message::default() };
            // Whatever keeps it from being posted: a card that was reset has lost what it had.
            let Ok(transfer) = self.sender.try_submit(burst, from..from + length, message) else { return };
            // One that is dropped is cancelled.
            self.last.replace(transfer).map(Transfer::detach);
            self.queue.push_back(Rest { number, at: 0, length });
            self.waiting.pop_front();
        }
        self.burst = None;
    }

    /// All that has come was due. Returns how many messages have ended.
    fn check(&mut self) -> usize {
        let (ends, early) = check(&std::mem::take(&mut self.got), [&mut self.queue, &mut VecDeque::new()], false, "at the host");
        assert!(!early && !self.broken);
        ends
    }

    /// What has not been sent is not.
    fn stop(&mut self) {
        self.waiting.clear();
        self.burst = None;
    }

    fn faults(&self) -> u32 {
        self.card.device.registers().read_name("faults").unwrap()
    }

    /// As it was at first.
    fn reset(&mut self, whole: bool) {
        if whole {
            self.card.device.reset().unwrap();
        }
        self.posted.iter().for_each(|(transfer, _)| drop(transfer.cancel()));
        self.sender.reset().unwrap();
        self.receiver.reset().unwrap();
        self.last = None;
        self.posted.clear();
        self.stop();
        self.queue.clear();
        self.got.clear();
        self.broken = false;
    }
}

/// Short, as a rule.
fn length(random: &mut Random, slot: usize) -> usize {
    match random.below(12) {
        0 => random.length(slot),
        1 => slot - 1 + random.below(3),
        2 => 0,
        _ => 1 + random.below(80),
    }
}

/// The parts are what the queues have, in this order. What is left of them is still to come. Returns how many messages have ended,
/// and whether one more ended early. Where a link has `lossy` been down, that one may have a hole: a loss shows at an end.
fn check(parts: &[Part], queues: [&mut VecDeque<Rest>; 2], lossy: bool, when: &str) -> (usize, bool) {
    let mut queues = queues.into_iter().peekable();
    let (mut ends, mut early, mut spoilt) = (0, false, false);
    for part in parts {
        assert!(!early, "something came behind a message that was cut: {part:?}: {when}");
        while queues.peek().is_some_and(|queue| queue.is_empty()) {
            queues.next();
        }
        let queue = queues.peek_mut().unwrap_or_else(|| panic!("more than was sent: {part:?}: {when}"));
        let Some(Rest { number, at, length }) = queue.front_mut() else { unreachable!() };
        let of = (part.offset, part.end, part.cut);
        let what = format!("message {number} of {length} bytes, from {at} on: {} bytes, {of:?}: {when}", part.bytes.len());
        let right = part.bytes.iter().enumerate().all(|(n, found)| *found == byte(*number, *at + n));
        spoilt |= lossy && !(right && *at + part.bytes.len() <= *length);
        assert!(spoilt || *at + part.bytes.len() <= *length, "too much of {what}");
        assert!(spoilt || right, "wrong bytes of {what}");
        assert_eq!((part.offset, part.user), attributes(*number), "attributes of {what}");
        if spoilt {
            early = part.end;
            continue;
        }
        *at += part.bytes.len();
        early = part.end && (part.cut || at != length);
        if part.end && !early {
            queue.pop_front();
            ends += 1;
        }
    }
    (ends, early)
}

fn both(nodes: &mut [Node], one: usize, other: usize) -> (&mut Node, &mut Node) {
    let (low, high) = nodes.split_at_mut(one.max(other));
    if one < other {
        (&mut low[one], &mut high[0])
    } else {
        (&mut high[0], &mut low[other])
    }
}

/// Bytes that are in so many slots of a pairing, at least.
fn in_slots(queue: &VecDeque<Rest>, slot: usize, slots: usize) -> usize {
    let mut left = slots;
    let mut all = 0;
    for rest in queue {
        let length = rest.length - rest.at;
        let takes = length / slot + 1; // the last one is not full
        if takes > left {
            return all + left * slot;
        }
        (left, all) = (left - takes, all + length);
    }
    all
}

fn left(queue: &VecDeque<Rest>) -> usize {
    queue.iter().map(|rest| rest.length - rest.at).sum()
}

/// What happens to a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Nothing,
    Channel,
    Card,
    Link,
    Mastering,
}

struct Paired {
    pair: Pair,
    from: usize,
    to: usize,
    slot: usize,
    event: Event,
    /// To which card.
    victim: usize,
    seen: Option<PairStatus>,
    faults: u32,
}

impl Paired {
    /// Pair two; nothing where the host has a message of the first one's to receive to its end.
    fn begin(nodes: &mut [Node], random: &mut Random, from: usize, to: usize, came: &mut usize) -> Option<Paired> {
        nodes[to].open();
        while !nodes[to].has_sent() {
            nodes[to].poll();
            nodes[to].card.bus.poll().unwrap();
        }
        nodes[from].close();
        *came += nodes[from].check();
        let slot = 128 << random.below(6);
        let options = PairOptions { slot_bytes: Some(slot as u32) };
        match connect_with(&nodes[from].receiver, &nodes[to].sender, options) {
            Ok(pair) => {
                let events = [Event::Channel, Event::Card, Event::Link, Event::Mastering];
                let event = if random.below(4) == 0 { events[random.below(4)] } else { Event::Nothing };
                let victim = if random.below(2) == 0 { from } else { to };
                let faults = nodes[to].faults();
                Some(Paired { pair, from, to, slot, event, victim, seen: None, faults })
            }
            Err(error) => {
                assert!(error.to_string().contains("receive its end"), "{error}");
                nodes[from].open();
                nodes[from].drain();
                None
            }
        }
    }

    fn happen(&self, nodes: &mut [Node], random: &mut Random) {
        let sends = self.victim == self.from;
        // What the host sends is not what is tested: what is on its way to the core by then would be lost there.
        if sends && !matches!(self.event, Event::Nothing | Event::Channel) {
            nodes[self.from].stop();
            while !nodes[self.from].has_sent() {
                nodes[self.to].poll();
                nodes[self.to].card.bus.poll().unwrap();
            }
        }
        // ... nor is what the host receives: until the link is up again that waits in the card.
        if !sends && self.event == Event::Link {
            nodes[self.to].close();
        }
        let node = &nodes[self.victim];
        let a_while = |random: &mut Random| node.card.bus.pass(random.below(2000) as u64).unwrap();
        match self.event {
            Event::Nothing => {}
            Event::Channel if sends => node.receiver.reset().unwrap(),
            Event::Channel => node.sender.reset().unwrap(),
            Event::Card => node.card.device.reset().unwrap(),
            Event::Link => {
                node.card.bus.set_link(false).unwrap();
                a_while(random);
                if random.below(2) == 0 {
                    node.card.bus.set_link(true).unwrap();
                    a_while(random);
                }
            }
            Event::Mastering => {
                node.card.bus.set_bus_master(false).unwrap();
                a_while(random);
                if random.below(2) == 0 {
                    node.card.bus.set_bus_master(true).unwrap();
                    a_while(random);
                }
            }
        }
    }

    /// Does what is still at the receiving card come out?
    fn comes_out(&self) -> bool {
        self.event == Event::Nothing || self.victim == self.from
    }

    /// Take it apart, and compare. Returns how many messages have come, whether one was cut, and whether there was a fault.
    fn end(mut self, nodes: &mut [Node]) -> (usize, bool, bool) {
        nodes[self.from].stop();
        let parted = self.pair.disconnect(Some(FENCE).into()).unwrap();
        let node = &nodes[self.victim];
        if self.event == Event::Link {
            node.card.bus.set_link(true).unwrap();
        }
        node.card.bus.set_bus_master(true).unwrap();
        nodes[self.to].open();
        nodes[self.to].drain();
        let what = format!("{:?} of card {}, {} to {}: {parted:?}", self.event, self.victim, self.from, self.to);
        if self.event == Event::Nothing {
            assert!(parted.arrived && parted.fault.is_none() && !nodes[self.to].broken, "{what}");
        } else if matches!(self.event, Event::Channel | Event::Card) || (self.event == Event::Link && self.victim == self.to) {
            // A card that had nothing to send meanwhile lost nothing.
            assert!(!parted.arrived && parted.fault.is_some() && parted.fault != Some(PairFault::Late), "{what}");
        }
        let (from, to) = both(nodes, self.from, self.to);
        let mut got = std::mem::take(&mut to.got);
        if parted.arrived && parted.cut && self.comes_out() {
            got.last_mut().unwrap_or_else(|| panic!("nothing of a cut message came: {what}")).cut = true;
        }
        let (all, hosts) = (left(&from.queue), left(&to.queue));
        let reported = self.seen.as_ref().map(|seen| in_slots(&from.queue, self.slot, seen.slots_arrived.into()));
        let (ends, early) = check(&got, [&mut to.queue, &mut from.queue], self.event == Event::Link, &what);
        if self.comes_out() {
            assert!(to.queue.is_empty(), "{hosts} bytes of the host's, {} did not come: {what}", left(&to.queue));
            let came = all - left(&from.queue);
            let reported = reported.unwrap_or(0);
            assert!(came >= reported, "{came} bytes came, {reported} were reported: {what}");
            assert!(!parted.arrived || parted.cut == early, "{what}");
        }
        if self.comes_out() || self.event == Event::Link {
            let told = to.faults() - self.faults;
            assert!(u32::from(early) <= told && told <= 1, "early: {early}, told: {told}: {what}");
        }
        let fault = !parted.arrived;
        if self.event != Event::Nothing {
            // What the sender's core had sent beyond is lost, and so may be what was on its way.
            let whole = !matches!(self.event, Event::Channel);
            from.reset(whole && self.victim == self.from);
            to.reset(whole && self.victim == self.to);
        }
        (ends, early, fault)
    }
}

#[test]
fn random_pairs_in_a_storm() {
    let mut random = seed();
    // Fabrics of several delays and rates, and the host's accesses may be faster than they.
    let settings = format!("&overtaking={}&peer={}&peer_rate={}", random.below(2), random.below(2000), [1000, 300][random.below(2)]);
    eprintln!("{settings}");
    let cards = cards_with("cores/peer", number("TOWPATH_WIDTH", 128) as u32, CARDS, &settings);
    let mut nodes: Vec<_> = cards.into_iter().map(Node::new).collect();
    let bus = nodes[0].card.bus.clone();
    let (mut sent, mut came, mut pairings, mut cuts, mut faults) = (0, 0, 0, 0, 0);
    while came < number("TOWPATH_ROUNDS", 600) as usize {
        // The cards in any order: one sends to the next.
        let mut order: Vec<_> = (0..CARDS).collect();
        (1..CARDS).for_each(|n| order.swap(n, random.below(n + 1)));
        let mut pairs: Vec<_> =
            order.chunks(2).filter_map(|two| Paired::begin(&mut nodes, &mut random, two[0], two[1], &mut came)).collect();
        pairs.iter().for_each(|pair| nodes[pair.from].send(&mut random, pair.slot, &mut sent));
        // Some cores are not relieved of what they have for a while, and hold up the other card.
        nodes.iter_mut().for_each(|node| node.lazy = [1, 1, 1, 150][random.below(4)]);
        let most = [40, 150, 500][random.below(3)];
        let polls = 1 + random.below(most);
        let times: Vec<_> = pairs.iter().map(|_| random.below(polls)).collect();
        for poll in 0..polls {
            for node in nodes.iter_mut().filter(|node| poll % node.lazy == 0) {
                node.poll();
            }
            let _ = bus.poll();
            for (pair, _) in pairs.iter_mut().zip(&times).filter(|(_, at)| **at == poll) {
                // What is reported behind a fault has ended in other ways, too.
                pair.seen = Some(pair.pair.status().unwrap()).filter(|seen| seen.fault.is_none());
                pair.happen(&mut nodes, &mut random);
            }
        }
        if random.below(2) == 0 {
            pairs.reverse();
        }
        for pair in pairs {
            let (ends, cut, fault) = pair.end(&mut nodes);
            came += ends;
            pairings += 1;
            cuts += u32::from(cut);
            faults += u32::from(fault);
        }
    }
    // What is left comes to the host.
    for node in &mut nodes {
        node.open();
        node.drain();
        came += node.check();
        assert!(node.queue.is_empty(), "{:?}", node.queue);
    }
    eprintln!("messages: {came}, pairings: {pairings}, cut: {cuts}, faults: {faults}");
    // Messages go from card to card alone.
    assert!(pairings > 0, "nothing was paired");
    // An eighth of pairings has an event that always is a fault, and about a twentieth is cut: in so many, none of either is beyond chance.
    assert!(pairings < 200 || faults > 0, "no fault in {pairings} pairings");
    assert!(pairings < 1000 || cuts > 0, "nothing was cut in {pairings} pairings");
}
