// SPDX-License-Identifier: Apache-2.0
//! Two simulated cards in the machine, each behind a root port and each in a process of its own outside: what one's core sends, the other's gets, by
//! writes that this kernel's IOMMU lets through, and by no others.
//!
//! The machine cuts a card's write to another's BAR into words of 8 bytes, each a packet of its own, which no link does. So the cards' data path is 64 bits
//! wide, all lengths are whole words, and the server puts the halves of entries together.

use std::time::Duration;

use towpath::{connect, Device, Level, Message, Pair, PairFault, Parted, Receiver, Sender};
use towpath_vfio::{fabric, Finding, System};

use crate::devices::{functions, mend};
use crate::Test;

pub const TESTS: &[Test] = &[
    ("doctor_tells_what_stands_between_two_cards", doctor_tells_what_stands_between_two_cards),
    ("one_card_sends_to_the_other", one_card_sends_to_the_other),
    ("both_send_at_once_beside_the_host", both_send_at_once_beside_the_host),
    ("pairs_are_taken_apart_at_any_moment", pairs_are_taken_apart_at_any_moment),
    ("a_reset_ends_a_pair_and_nothing_else", a_reset_ends_a_pair_and_nothing_else),
];

/// Below one switch, each at a port of its own.
pub const BELOW_A_SWITCH: &[Test] = &[("a_pair_below_a_switch", a_pair_below_a_switch)];
/// Functions of one device, between which nothing controls access.
pub const IN_ONE_GROUP: &[Test] = &[("a_pair_in_one_group", a_pair_in_one_group)];

const CARD: &str = "1234:7470";
/// The simulated cards' clocks run on busy processors.
const LIMIT: Duration = Duration::from_secs(30);
const WORD: usize = 8;

/// Outside of the machine, a process for each: a card that another's may write to.
pub fn serve(socket: &str) {
    let mut server = towpath::CardServer::bind("sim:peer?width=64&lanes=4", socket.as_ref(), &towpath::OpenOptions::default()).unwrap();
    server.pair_in_a_machine();
    println!("serving");
    server.serve().unwrap();
}

struct Card {
    device: Device,
    to: Sender,
    from: Receiver,
}

impl Card {
    fn open(number: usize) -> Card {
        let name = format!("vfio:{}", mend(&functions(CARD)[number]).address);
        let device = Device::open(&name).unwrap_or_else(|why| panic!("{why}"));
        let (to, from) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
        to.set_timeout(Some(LIMIT));
        from.set_timeout(Some(LIMIT));
        Card { device, to, from }
    }
}

fn both() -> [Card; 2] {
    [Card::open(0), Card::open(1)]
}

struct Random(u64);

impl Random {
    fn new() -> Random {
        let given = crate::system::option("seed").parse().ok();
        let seed = given.unwrap_or_else(|| std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64);
        println!("  seed={seed}");
        Random(seed | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }

    /// Of a message: less than a slot, slots to a word, or anything up to some slots.
    fn length(&mut self) -> usize {
        match self.below(3) {
            0 => self.below(1024) / WORD * WORD,
            1 => 1024 * (1 + self.below(3)) + WORD * self.below(3) - WORD,
            _ => self.below(5000) / WORD * WORD,
        }
    }
}

fn bytes(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251 + number * 13) as u8).collect()
}

fn part(pair: &mut Pair) -> Parted {
    let parted = pair.disconnect(Some(LIMIT).into()).unwrap();
    assert!(parted.arrived && parted.taken && parted.fault.is_none(), "{parted:?}");
    parted
}

fn doctor_tells_what_stands_between_two_cards() {
    let cards = [0, 1].map(|number| mend(&functions(CARD)[number]));
    let found = towpath::doctor("");
    let subject = format!("{} and {}", cards[0].address, cards[1].address);
    let finding = found.iter().find(|finding| finding.check == "peers" && finding.subject == subject).unwrap();
    assert!(finding.level == Level::Warning && finding.seen.contains("different root ports"), "{finding}");
}

fn between() -> (Finding, bool) {
    let cards = [0, 1].map(|number| mend(&functions(CARD)[number]));
    (fabric::between(&System::here(), &cards[0], &cards[1]), cards[0].group == cards[1].group)
}

/// QEMU's switch has ports without access control; not every kernel puts what is below them into one group.
fn a_pair_below_a_switch() {
    let (finding, _) = between();
    assert!(finding.level == Level::Ok && finding.seen.contains("below one switch"), "{finding}");
    assert!(finding.seen.contains("Redirect is off"), "{finding}");
    one_card_sends_to_the_other();
}

fn a_pair_in_one_group() {
    let (finding, together) = between();
    assert!(together && finding.seen.contains("one program has to open both"), "{finding}");
    one_card_sends_to_the_other();
}

fn one_card_sends_to_the_other() {
    let [one, two] = both();
    let mut pair = connect(&one.from, &two.to).unwrap();
    for (number, length) in [WORD, 1024, 1016, 1032, 4096, 50_000, 0].into_iter().enumerate() {
        let message = Message { offset: number as u64 * 3, user: 77 + number as u32, ..Message::default() };
        // More than the two cards hold waits until somebody receives.
        let (found, told) = std::thread::scope(|scope| {
            scope.spawn(|| one.to.send_message(&bytes(number, length), message).unwrap());
            two.from.recv_message().unwrap()
        });
        assert!(found == bytes(number, length), "{length} bytes: other bytes came");
        assert_eq!((told.offset, told.user), (number as u32 * 3, 77 + number as u32));
    }
    assert!(two.to.send(b"the host's!").is_err(), "it is the other card's");
    assert!(!part(&mut pair).cut);
    two.to.send(b"the host's again").unwrap();
    assert_eq!(two.from.recv().unwrap(), b"the host's again");
}

fn both_send_at_once_beside_the_host() {
    let mut random = Random::new();
    let [one, two] = both();
    // Host, first card, second card and back to the first, whose core sends it to the host.
    let mut pair = connect(&one.from, &two.to).unwrap();
    let mut count = 0;
    for _ in 0..10 {
        let messages: Vec<_> = (0..1 + random.below(4)).map(|at| bytes(count + at, random.length())).collect();
        count += messages.len();
        std::thread::scope(|scope| {
            scope.spawn(|| messages.iter().for_each(|message| one.to.send(message).unwrap()));
            messages.iter().for_each(|message| assert!(two.from.recv().unwrap() == *message));
        });
    }
    part(&mut pair);
    // And round: what the host sends to the first comes back from the second to the first's core, which has another stream's end open.
    let mut pair = connect(&two.from, &one.to).unwrap();
    for number in 0..5 {
        let message = bytes(number, random.length());
        two.to.send(&message).unwrap();
        assert!(one.from.recv().unwrap() == message);
    }
    part(&mut pair);
}

/// The second core sends on what it has got, whole or up to the cut; the host finds the rest at the first.
fn pairs_are_taken_apart_at_any_moment() {
    const LAST: &[u8] = b"the last";
    let mut random = Random::new();
    let [one, two] = both();
    let mut cuts = 0;
    for round in 0..12 {
        let message = bytes(round, 2000 * WORD + random.length());
        let pause = Duration::from_micros(random.below(20_000) as u64);
        let mut pair = connect(&one.from, &two.to).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| one.to.send(&message).unwrap());
            let far = scope.spawn(|| {
                let mut found = Vec::new();
                loop {
                    match two.from.recv().unwrap() {
                        part if part == LAST => return found,
                        part => found.extend(part),
                    }
                }
            });
            std::thread::sleep(pause);
            cuts += usize::from(part(&mut pair).cut);
            two.to.send(LAST).unwrap();
            let mut found = far.join().unwrap();
            if found.len() < message.len() {
                found.extend(one.from.recv().unwrap());
            }
            assert!(found == message, "round {round}: {} bytes of {}", found.len(), message.len());
        });
    }
    println!("  messages that were cut: {cuts}");
}

fn a_reset_ends_a_pair_and_nothing_else() {
    let [one, two] = both();
    let mut pair = connect(&one.from, &two.to).unwrap();
    one.to.send(&bytes(1, 4096)).unwrap();
    assert!(two.from.recv().unwrap() == bytes(1, 4096));
    two.device.reset().unwrap();
    assert_eq!(pair.status().unwrap().fault, Some(PairFault::ReceiverReset));
    let parted = pair.disconnect(Some(LIMIT).into()).unwrap();
    assert!(!parted.arrived && parted.fault == Some(PairFault::ReceiverReset), "{parted:?}");
    // Both go on, alone and together.
    for card in [&one, &two] {
        card.to.send(b"alone").unwrap();
        assert_eq!(card.from.recv().unwrap(), b"alone");
    }
    let mut pair = connect(&one.from, &two.to).unwrap();
    one.to.send(&bytes(2, 4096)).unwrap();
    assert!(two.from.recv().unwrap() == bytes(2, 4096));
    // A card that is closed takes its pair apart.
    one.to.send(&bytes(3, 1024)).unwrap();
    assert!(two.from.recv().unwrap() == bytes(3, 1024));
    part(&mut pair);
    drop(one);
    two.to.send(b"alone").unwrap();
    assert_eq!(two.from.recv().unwrap(), b"alone");
}
