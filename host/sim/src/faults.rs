// SPDX-License-Identifier: Apache-2.0
//! Faults on the link, on demand: at a given read request of the card or at random, each recorded so that a test can account for it.
//!
//! What reaches the card is what a hard block would let through: completions that fit their request badly or not at all, not packets that
//! are malformed in themselves. Where several completions answer a read, a random one is hit; the others are as they should be.
//!
//! A card that has used a tag again cannot distinguish a stray answer to the tag's last read from one to the next. So what is to be stray
//! (an answer's last completion again, a completion to a tag that is not out) waits for a short last completion of some answer, and comes
//! after that while the card has many other tags to use before this one. It takes no time on the wire.
//!
//! Not for faults of the card: those are detected and reported without it.

use crate::link::{Head, Packet};
use crate::random::Random;
use crate::settings::Settings;

/// What happens to a read request of the card, or at the time of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is never answered, or not to the end.
    Drop,
    /// Its completions come this many nanoseconds later than they would.
    Delay(u64),
    /// A completion with status unsupported request ends its answer.
    UnsupportedRequest,
    /// A completion with status completer abort ends its answer.
    CompleterAbort,
    /// A completion comes poisoned.
    Poison,
    /// A completion comes twice.
    Duplicate,
    /// A completion comes to a tag that is not out. The read itself is answered as it should be.
    Unexpected,
    /// A completion has a wrong byte count.
    WrongCount,
    /// A completion is shorter or longer than its header, and ends where none may end.
    WrongLength,
    /// A completion has a wrong lower address.
    WrongAddress,
    /// The link goes down, with all that is on its way, for some nanoseconds.
    LinkDown {
        /// How long.
        ns: u64,
        /// The card comes back as after it was switched on.
        forgets: bool,
    },
    /// Bus mastering is off for this many nanoseconds.
    MasteringOff(u64),
}

impl Fault {
    /// Whether it concerns the whole card, not one read.
    pub fn of_the_card(self) -> bool {
        matches!(self, Fault::LinkDown { .. } | Fault::MasteringOff(_))
    }
}

/// The faults that can be injected by name while a card is served, for tests of what is on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// A fault of the card's read request that comes after this many more, or of the whole card, at once.
    Fault(Fault, u64),
    /// The link goes down, or comes up, and stays so.
    Link(bool),
    /// The program's stores no longer reach the card, or do again: they are dropped, and reads return all ones. The card's transfers go on,
    /// and configuration space answers. A reset of the function ends it.
    Deaf(bool),
    /// Its interrupts are lost, or are delivered again. A reset of the function ends it.
    Mute(bool),
    /// From now on a program on the other side reads this byte at this offset of BAR 0, whatever the card has there.
    Say(u64, u8),
    /// It reads what the card has again, everywhere.
    Honest,
    /// No fault is to come any more.
    Forgive,
}

impl Mishap {
    /// From words: the name of a rate in the settings, without `fault_`, and how many reads pass before (none without a number); or `down`,
    /// `up`, `deaf`, `hears`, `mute`, `loud`, `say OFFSET BYTE`, `honest`, `forgive`. The error lists the words.
    pub fn parse(words: &str, settings: &Settings) -> Result<Mishap, String> {
        let outage = settings.outage;
        let named = |name: &str| {
            Some(match name {
                "drop" => Fault::Drop,
                "late" => Fault::Delay(settings.late),
                "ur" => Fault::UnsupportedRequest,
                "ca" => Fault::CompleterAbort,
                "poison" => Fault::Poison,
                "duplicate" => Fault::Duplicate,
                "unexpected" => Fault::Unexpected,
                "count" => Fault::WrongCount,
                "length" => Fault::WrongLength,
                "address" => Fault::WrongAddress,
                "link" => Fault::LinkDown { ns: outage, forgets: false },
                "mastering" => Fault::MasteringOff(outage),
                _ => return None,
            })
        };
        let no = || {
            let faults = "drop, late, ur, ca, poison, duplicate, unexpected, count, length, address (each with a number of reads before it), link, mastering";
            format!("no fault is called `{words}`; there are {faults}, down, up, deaf, hears, mute, loud, say OFFSET BYTE, honest, forgive")
        };
        match words.split_whitespace().collect::<Vec<_>>()[..] {
            ["down"] => Ok(Mishap::Link(false)),
            ["up"] => Ok(Mishap::Link(true)),
            ["deaf"] => Ok(Mishap::Deaf(true)),
            ["hears"] => Ok(Mishap::Deaf(false)),
            ["mute"] => Ok(Mishap::Mute(true)),
            ["loud"] => Ok(Mishap::Mute(false)),
            ["honest"] => Ok(Mishap::Honest),
            ["say", offset, byte] => match (offset.parse(), byte.parse()) {
                (Ok(offset), Ok(byte)) => Ok(Mishap::Say(offset, byte)),
                _ => Err(no()),
            },
            ["forgive"] => Ok(Mishap::Forgive),
            [name] => named(name).map(|fault| Mishap::Fault(fault, 0)).ok_or_else(no),
            [name, ahead] => match (named(name), ahead.parse()) {
                (Some(fault), Ok(ahead)) if !fault.of_the_card() => Ok(Mishap::Fault(fault, ahead)),
                _ => Err(no()),
            },
            _ => Err(no()),
        }
    }
}

/// A fault that was injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// What.
    pub fault: Fault,
    /// When the read was at the root port, in simulated nanoseconds.
    pub nanoseconds: u64,
    /// The read's number, from 0. Of a fault that was injected by hand: of the next read.
    pub read: u64,
    /// The read's tag.
    pub tag: u16,
    /// The first byte that it requests.
    pub address: u64,
    /// How many bytes it requests.
    pub bytes: u32,
    /// The fault has reached the card, or, of one that withholds something, will not be undone. Not so if the link was lost before.
    pub happened: bool,
    /// The completion that came twice was the answer's last.
    pub last: bool,
    /// Completions of the same answer that came after the one that was hit.
    pub after: u32,
    /// Nothing more of the answer is to come.
    pub over: bool,
    /// The link went down, or the function was reset, before all of this may have come to the card's notice.
    pub cut: bool,
    /// When the last completion of the answer was sent.
    pub sent: u64,
}

/// A fault on its way to one completion of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Mischief {
    pub fault: Fault,
    /// The byte whose completion is hit.
    pub at: u64,
    /// Its place in the log.
    pub entry: usize,
    pub happened: bool,
}

/// The faults that are to come, for one card.
pub struct Faults {
    planned: Vec<(u64, Fault)>,
    requests: u64,
    rates: Vec<(u32, Fault)>,
    random: Random,
    /// What was injected.
    pub log: Vec<Injection>,
    /// A fault of the whole card that is to happen now.
    pub upheaval: Option<Fault>,
    /// Nanoseconds after which the card has certainly noticed that it has no answer.
    overdue: u64,
}

/// Nanoseconds that a completion may take from the root port into the card, and more.
const FLIGHT: u64 = 10_000;

/// The longest completion timeout of a range of Device Control 2 (PCI Express Base Specification, 7.8.16), in nanoseconds.
fn longest_timeout(code: u8) -> u64 {
    match code {
        1 => 100_000,
        2 => 10_000_000,
        0 | 5 => 55_000_000,
        6 => 210_000_000,
        9 => 900_000_000,
        10 => 3_500_000_000,
        13 => 13_000_000_000,
        14 => 64_000_000_000,
        _ => u64::MAX / 4,
    }
}

impl Faults {
    /// The random faults of the settings.
    pub fn new(settings: &Settings, random: Random) -> Self {
        let rates = [
            (settings.fault_drop, Fault::Drop),
            (settings.fault_late, Fault::Delay(settings.late)),
            (settings.fault_unsupported, Fault::UnsupportedRequest),
            (settings.fault_abort, Fault::CompleterAbort),
            (settings.fault_poison, Fault::Poison),
            (settings.fault_duplicate, Fault::Duplicate),
            (settings.fault_unexpected, Fault::Unexpected),
            (settings.fault_count, Fault::WrongCount),
            (settings.fault_length, Fault::WrongLength),
            (settings.fault_address, Fault::WrongAddress),
            (settings.fault_link, Fault::LinkDown { ns: settings.outage, forgets: false }),
            (settings.fault_mastering, Fault::MasteringOff(settings.outage)),
        ];
        let overdue = longest_timeout(settings.completion_timeout);
        let rates = rates.into_iter().filter(|rate| rate.0 != 0).collect();
        Faults { planned: Vec::new(), requests: 0, rates, random, log: Vec::new(), upheaval: None, overdue }
    }

    /// `fault` happens to the card's read request that comes after `ahead` more.
    pub fn plan(&mut self, ahead: u64, fault: Fault) {
        self.planned.push((self.requests + ahead, fault));
    }

    /// What happens to the read request that has come at `now` picoseconds.
    pub fn next(&mut self, now: u64, tag: u16, address: u64, bytes: u32) -> Option<Mischief> {
        let fault = self.choose()?;
        let entry = self.note(now, fault);
        let read = self.requests - 1;
        self.log[entry] = Injection { read, tag, address, bytes, ..self.log[entry] };
        if fault.of_the_card() {
            self.upheaval = Some(fault);
            self.log[entry].happened = true;
            return None;
        }
        Some(Mischief { fault, at: address + self.random.below(u64::from(bytes)), entry, happened: false })
    }

    fn choose(&mut self) -> Option<Fault> {
        let number = self.requests;
        self.requests += 1;
        if let Some(index) = self.planned.iter().position(|plan| plan.0 == number) {
            return Some(self.planned.swap_remove(index).1);
        }
        let random = &mut self.random;
        self.rates.iter().find(|rate| random.chance(rate.0)).map(|rate| rate.1)
    }

    /// No fault is to come any more.
    pub fn forgive(&mut self) {
        self.planned.clear();
        self.rates.clear();
    }

    /// The link goes down at `now` picoseconds, or the card gives up its reads: what was sent a moment ago may be lost, and what is late is
    /// late no more.
    pub fn cut(&mut self, now: u64) {
        for entry in self.log.iter_mut().filter(|entry| !entry.fault.of_the_card()) {
            let span = if matches!(entry.fault, Fault::Drop | Fault::Delay(_)) { self.overdue } else { FLIGHT };
            entry.cut |= !entry.over || entry.sent + span >= now / 1000;
        }
    }

    /// Record a fault that was not at a read. Returns its place in the log.
    pub fn note(&mut self, now: u64, fault: Fault) -> usize {
        let happened = fault.of_the_card();
        let (read, nanoseconds) = (self.requests, now / 1000);
        self.log.push(Injection {
            fault,
            nanoseconds,
            read,
            tag: 0,
            address: 0,
            bytes: 0,
            happened,
            last: false,
            after: 0,
            over: happened,
            cut: false,
            sent: nanoseconds,
        });
        self.log.len() - 1
    }

    /// Corrupt a completion of `bytes` bytes from `at` on, which `left` bytes of the request are to begin with, according to `fault`.
    pub fn spoil(&mut self, fault: Fault, packet: &mut Packet, at: u64, bytes: u32, most: u64) {
        let Head::Completion { dwords, byte_count, lower_addr, poisoned, .. } = &mut packet.head else { return };
        match fault {
            Fault::Poison => *poisoned = true,
            Fault::WrongCount => {
                // Often enough one that could be: this packet's own bytes, as if it were the last one, or the next packet's.
                let near = [bytes as u16, byte_count.wrapping_sub(bytes as u16), *byte_count + 1, byte_count.saturating_sub(1)];
                let pick = self.random.below(8) as usize;
                let wrong = near.get(pick).copied().unwrap_or(1 + self.random.below(4096) as u16);
                *byte_count = if wrong == *byte_count || wrong == 0 || wrong > 4096 { *byte_count % 4096 + 1 } else { wrong };
            }
            Fault::WrongAddress => *lower_addr ^= 1 + self.random.below(127) as u8,
            Fault::WrongLength => {
                let begin = at & !3;
                let length = u64::from(*dwords);
                // All that is left would be a completion like any other.
                let whole = ((at & 3) + u64::from(*byte_count)).div_ceil(4);
                let wrong: Vec<u64> = (length.saturating_sub(4).max(1)..=(length + 8).min(most / 4))
                    .filter(|dwords| ![length, whole].contains(dwords) && (begin + dwords * 4) % 64 != 0)
                    .collect();
                if let Some(wrong) = wrong.get(self.random.below(wrong.len() as u64) as usize) {
                    packet.payload.resize(*wrong as usize, 0xbad0_bad0);
                    *dwords = *wrong as u16;
                }
            }
            _ => (),
        }
    }

    /// Make a completion a stray one: to the tag that it has, which has come free, or to one from `unused`; otherwise anything that an
    /// answer to another read could be, of `most` dwords.
    pub fn make_stray(&mut self, packet: &mut Packet, unused: std::ops::Range<u16>, most: u64) {
        let Head::Completion { tag, dwords, byte_count, lower_addr, status, .. } = &mut packet.head else { return };
        if !unused.is_empty() && self.random.below(2) == 0 {
            *tag = unused.start + self.random.below(unused.len() as u64) as u16;
        }
        *lower_addr = self.random.below(128) as u8;
        *dwords = 1 + self.random.below(most) as u16;
        *byte_count = *dwords * 4 - u16::from(*lower_addr & 3) + 64 * self.random.below(2) as u16;
        *status = 0;
        packet.payload.clear();
        packet.payload.resize(usize::from(*dwords), 0xdead_beef);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::link::{Completions, Pool};
    use crate::root_complex::RootPort;
    use towpath_bus::Access;

    #[test]
    fn a_planned_fault_happens_once_at_its_request() {
        let mut faults = Faults::new(&Settings::default(), Random::new(1));
        let next = |faults: &mut Faults| faults.next(0, 0, 0, 64).map(|mischief| mischief.fault);
        assert_eq!(next(&mut faults), None);
        faults.plan(1, Fault::CompleterAbort);
        faults.plan(0, Fault::Drop);
        assert_eq!([(); 3].map(|()| next(&mut faults)), [Some(Fault::Drop), Some(Fault::CompleterAbort), None]);
        let log: Vec<(u64, Fault)> = faults.log.iter().map(|entry| (entry.read, entry.fault)).collect();
        assert_eq!(log, [(1, Fault::Drop), (2, Fault::CompleterAbort)]);
    }

    #[test]
    fn each_rate_has_a_word() {
        let settings = Settings { late: 7, outage: 9, ..Settings::default() };
        let parse = |words: &str| Mishap::parse(words, &settings);
        for knob in Settings::KNOBS {
            if let Some(name) = knob.name.strip_prefix("fault_") {
                assert!(matches!(parse(name), Ok(Mishap::Fault(_, 0))), "{name}");
            }
        }
        assert_eq!(parse("late 3"), Ok(Mishap::Fault(Fault::Delay(7), 3)));
        assert_eq!(parse(" link\n"), Ok(Mishap::Fault(Fault::LinkDown { ns: 9, forgets: false }, 0)));
        assert_eq!([parse("down"), parse("up"), parse("forgive")], [Ok(Mishap::Link(false)), Ok(Mishap::Link(true)), Ok(Mishap::Forgive)]);
        assert_eq!([parse("deaf"), parse("hears")], [Ok(Mishap::Deaf(true)), Ok(Mishap::Deaf(false))]);
        assert_eq!([parse("mute"), parse("loud")], [Ok(Mishap::Mute(true)), Ok(Mishap::Mute(false))]);
        assert_eq!([parse("say 9 255"), parse("honest")], [Ok(Mishap::Say(9, 255)), Ok(Mishap::Honest)]);
        for wrong in ["say 8", "say -1 1", "say 8 256", "", "fall", "drop x", "drop -1", "drop 1 2", "link 3", "up 1"] {
            assert!(parse(wrong).is_err_and(|why| why.contains("drop, late")), "{wrong}");
        }
    }

    #[test]
    fn rates_are_kept_roughly() {
        let settings = Settings { fault_drop: 100_000, fault_link: 100_000, ..Settings::default() };
        let mut faults = Faults::new(&settings, Random::new(1));
        let dropped = (0..10_000).filter(|_| faults.next(0, 0, 0, 4).is_some_and(|mischief| mischief.fault == Fault::Drop)).count();
        assert!((800..1200).contains(&dropped), "{dropped} of 10000");
        let down = faults.log.iter().filter(|entry| matches!(entry.fault, Fault::LinkDown { .. })).count();
        assert!((750..1050).contains(&down), "{down} of 9000");
    }

    /// A completion as a card sees it: tag, dwords, byte count, lower address, status, poisoned.
    type Seen = (u16, u16, u16, u8, u8, bool);

    /// Everything that a card with 32 tags sees of reads of random extents, one fault in each, and what was injected.
    fn answers(fault: Fault, seed: u64) -> (Vec<(u64, u32)>, Vec<Seen>, Vec<Injection>) {
        let settings = Settings::from_query(["", "split=1&reorder=1&jitter=300", "mps=256&completion=256"][seed as usize % 3]).unwrap();
        let mut memory = vec![7u8; 8192];
        let mut port = RootPort::new(&settings, Random::new(seed));
        let base = port.memory.map(memory.as_mut_ptr(), memory.len(), Access::Read).unwrap();
        let page = base.next_multiple_of(4096);
        let (mut random, mut pool, mut seen, mut asked) = (Random::new(seed + 99), Pool::default(), Vec::new(), Vec::new());
        (0..32).for_each(|tag| assert!(port.take_tag(tag)));
        (0..32).for_each(|tag| port.free_tag(tag, true));
        for tag in 0..6u16 {
            let (at, dwords) = (page + 4 * random.below(512), 2 + random.below(127) as u16);
            asked.push((at, u32::from(dwords) * 4));
            port.faults.plan(0, fault);
            assert!(port.take_tag(tag) && port.read(0, tag, at, dwords, 15, 15).is_none());
        }
        (0..8).for_each(|tag| assert!(port.take_tag(8 + tag)));
        let mut see = |packet: &Packet| {
            let Head::Completion { tag, dwords, byte_count, lower_addr, status, poisoned } = packet.head else { panic!() };
            assert_eq!(usize::from(dwords), packet.payload.len());
            seen.push((tag, dwords, byte_count, lower_addr, status, poisoned));
        };
        while let Some(ready) = port.ready() {
            let packet = port.take(ready, &mut pool);
            see(&packet);
            if let Some(stray) = port.seen(&packet, 8) {
                assert!(port.let_stray(&stray, false, ready));
                see(&stray.packet);
            }
        }
        (asked, seen, port.faults.log)
    }

    /// Of the completions to one tag, those that do not follow from the ones before: as a card that keeps count of bytes would find.
    fn misfits(asked: &[(u64, u32)], seen: &[Seen], tag: u16) -> usize {
        let (mut at, left) = asked[usize::from(tag)];
        let (mut left, mut misfits) = (left, 0);
        for &(_, dwords, count, lower, status, poisoned) in seen.iter().filter(|seen| seen.0 == tag) {
            let bytes = (u32::from(dwords) * 4).wrapping_sub((at & 3) as u32);
            let fits = status == 0 && !poisoned && u32::from(count) == left && u64::from(lower) == at & 0x7f;
            if fits && (bytes == left || (bytes < left && (at + u64::from(bytes)) % 64 == 0)) {
                (at, left) = (at + u64::from(bytes), left - bytes);
            } else {
                misfits += 1;
            }
        }
        misfits + usize::from(left > 0 && misfits == 0)
    }

    #[test]
    fn every_kind_shows_in_exactly_the_answer_that_it_was_meant_for() {
        use Fault::{CompleterAbort, Drop, Duplicate, Poison, UnsupportedRequest, WrongAddress, WrongCount, WrongLength};
        let (mut lasts, mut mids, mut afters) = (0, 0, 0);
        for seed in 0..60 {
            for fault in [Drop, UnsupportedRequest, CompleterAbort, Poison, Duplicate, WrongCount, WrongLength, WrongAddress] {
                let (asked, seen, log) = answers(fault, seed);
                assert_eq!(log.len(), 6);
                for tag in 0..6u16 {
                    let here: Vec<&Seen> = seen.iter().filter(|seen| seen.0 == tag).collect();
                    let entry = log.iter().find(|entry| entry.read == u64::from(tag)).unwrap();
                    assert!(entry.over, "{fault:?} {seed} {tag}: {entry:?}");
                    if fault != Duplicate {
                        assert!(entry.happened && (entry.tag, entry.bytes) == (tag, asked[usize::from(tag)].1), "{fault:?} {entry:?}");
                    }
                    let strays = log.iter().filter(|entry| entry.happened && entry.last && entry.tag == tag).count();
                    let odd = misfits(&asked, &seen, tag);
                    match fault {
                        Drop => assert!(odd == 1 && here.iter().all(|seen| seen.4 == 0), "{seed} {tag}: {here:?}"),
                        UnsupportedRequest => assert!(odd == 1 && here.last().unwrap().4 == 1, "{seed} {tag}: {here:?}"),
                        CompleterAbort => assert!(odd == 1 && here.last().unwrap().4 == 4, "{seed} {tag}: {here:?}"),
                        Poison => assert_eq!(here.iter().filter(|seen| seen.5).count(), 1, "{seed} {tag}"),
                        Duplicate => assert_eq!(odd, usize::from(entry.happened && !entry.last) + strays, "{seed} {tag}: {here:?} {log:?}"),
                        _ => assert!(odd >= 1, "{fault:?} {seed} {tag}: {here:?}"),
                    }
                    lasts += strays;
                    mids += usize::from(fault == Duplicate && entry.happened && !entry.last);
                    afters += entry.after;
                }
            }
        }
        assert!(lasts > 50 && mids > 50 && afters > 300, "{lasts} {mids} {afters}");
    }

    #[test]
    fn what_is_unexpected_comes_to_tags_that_are_not_out() {
        let (mut beyond, mut before) = (0, 0);
        for seed in 0..40 {
            let (asked, seen, _) = answers(Fault::Unexpected, seed);
            let mut left: Vec<u32> = asked.iter().map(|asked| asked.1).collect();
            for &(tag, dwords, count, ..) in &seen {
                match left.get_mut(usize::from(tag)) {
                    Some(left) if *left > 0 => {
                        assert_eq!(u32::from(count), *left, "{seed}: a stray hit a read");
                        *left -= u32::from(dwords) * 4;
                    }
                    Some(_) => before += 1,
                    None => beyond += 1,
                }
            }
            assert!(left.iter().all(|left| *left == 0), "every read was answered");
        }
        assert!(before > 50 && beyond > 50, "{before} {beyond}");
    }
}
