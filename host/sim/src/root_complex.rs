// SPDX-License-Identifier: Apache-2.0
//! The root port above one card: it answers the card's reads from memory, in any way the specification allows, lands its writes, and
//! enforces the specification: a request that breaks it stops the simulation with the reason.
//!
//! Sources: PCI Express Base Specification 2.1, 2.2.5 (byte enables), 2.2.7 (4 KiB, MPS, MRRS), 2.3.1.1 (read completion boundary).

use std::collections::VecDeque;

use crate::faults::{Fault, Faults, Mischief};
use crate::link::{Completions, Head, Packet, Pool};
use crate::memory::Memory;
use crate::random::Random;
use crate::settings::Settings;

/// Completion status: successful.
pub const CPL_OK: u8 = 0;
/// Completion status: unsupported request.
pub const CPL_UNSUPPORTED_REQUEST: u8 = 1;
/// Completion status: completer abort.
pub const CPL_COMPLETER_ABORT: u8 = 4;

/// Beats of a stray completion at most: the card has no time to take more tags than `SLACK` while they come.
const STRAY_BEATS: usize = 4;
const SLACK: u64 = 12;

/// Where writes become interrupts on the modelled host.
pub const INTERRUPT_WINDOW: std::ops::Range<u64> = 0xfee0_0000..0xfef0_0000;

/// Bytes that a request names: address of the first enabled byte, and how many from there to the last enabled one. A request without
/// enabled bytes counts as one byte (2.3.1.1).
pub fn extent(addr: u64, dwords: u16, first_be: u8, last_be: u8) -> (u64, u32) {
    if first_be == 0 {
        return (addr, 1);
    }
    let lead = first_be.trailing_zeros();
    let tail = (if dwords == 1 { first_be } else { last_be } << 4).leading_zeros().min(3);
    (addr + u64::from(lead), u32::from(dwords) * 4 - lead - tail)
}

/// What is wrong with the byte enables and the length of a request of memory, if anything.
pub fn violation(addr: u64, dwords: u16, first_be: u8, last_be: u8, limit: u32, limit_name: &str) -> Option<String> {
    let bytes = u32::from(dwords) * 4;
    if addr & 3 != 0 {
        return Some("its address is not a multiple of 4".into());
    }
    if dwords == 0 || bytes > limit {
        return Some(format!("its length of {bytes} bytes is not from 4 to {limit_name} ({limit})"));
    }
    if (addr & 0xfff) + u64::from(bytes) > 4096 {
        return Some("it crosses a boundary of 4 KiB".into());
    }
    if first_be > 15 || last_be > 15 {
        return Some("a byte enable has more than 4 bits".into());
    }
    if dwords == 1 {
        return (last_be != 0).then(|| "it has one dword, but last byte enables".into());
    }
    if first_be == 0 || last_be == 0 {
        return Some("it has more than one dword, but no byte of the first or last one is enabled".into());
    }
    // Holes are for one dword, or for two that make an aligned 64-bit word.
    let holes = ![15, 14, 12, 8].contains(&first_be) || ![15, 7, 3, 1].contains(&last_be);
    (holes && !(dwords == 2 && addr & 7 == 0)).then(|| "its byte enables have holes".into())
}

fn unmapped(at: u64, bytes: u32) -> String {
    format!("the card reads {bytes} bytes at {at:#x}, which is not mapped for it: unsupported request")
}

/// One read of the card that is being answered.
#[derive(Debug)]
struct Job {
    tag: u16,
    ready: u64,
    /// The next byte to be answered, and how many there are.
    at: u64,
    left: u32,
    /// How many of them come in the next completion.
    portion: u32,
    status: u8,
    mischief: Option<Mischief>,
    /// No byte is enabled: one dword of anything, from anywhere.
    flush: bool,
}

impl Job {
    /// The fault that hits its next completion.
    fn hit(&self) -> Option<Fault> {
        let next = self.at..self.at + u64::from(self.portion);
        self.mischief.filter(|mischief| !mischief.happened && next.contains(&mischief.at)).map(|mischief| mischief.fault)
    }
}

/// A completion that belongs to no read, and the tag that came free just before.
#[derive(Debug)]
pub struct Stray {
    pub packet: Packet,
    pub tag: u16,
    entry: usize,
}

/// The root port of one card.
pub struct RootPort {
    /// What the card may touch.
    pub memory: Memory,
    /// What shall go wrong.
    pub faults: Faults,
    jobs: VecDeque<Job>,
    busy_tags: Vec<bool>,
    /// How many tags the card has ever used: those from 0 on, as far as can be observed.
    used: u16,
    /// How often a clean tag came free and a tag was taken; and for each tag, what these were when it came free itself. What else comes
    /// free the card may keep in quarantine.
    frees: u64,
    takes: u64,
    freed_at: Vec<(u64, u64)>,
    /// Its last answer was as it should be: the card has nothing against the tag.
    clean: Vec<bool>,
    /// Of the tags taken last: how many had come free since each had, so how many were left; 0 where a tag that was not clean leaves it
    /// open.
    slack: [u64; 8],
    /// A completion that comes right behind the one before.
    behind: Option<Packet>,
    /// A warning about a read whose memory was unmapped before it was answered.
    pub warning: Option<String>,
    /// Strays that wait for their moment: places in the log.
    strays: VecDeque<usize>,
    random: Random,
    latency: u64,
    jitter: u64,
    reorder: bool,
    split: bool,
    boundary: u64,
    completion: u64,
    max_payload: u64,
    tag_bits: u8,
}

impl RootPort {
    /// A root port with memory and randomness of its own.
    pub fn new(settings: &Settings, mut random: Random) -> Self {
        RootPort {
            memory: Memory::new(settings.iova_base),
            faults: Faults::new(settings, Random::new(random.next())),
            jobs: VecDeque::new(),
            busy_tags: vec![false; 1024],
            used: 0,
            frees: 0,
            takes: 0,
            freed_at: vec![(0, 0); 1024],
            clean: vec![false; 1024],
            slack: [0; 8],
            behind: None,
            warning: None,
            strays: VecDeque::new(),
            random,
            latency: settings.memory_latency * 1000,
            jitter: settings.memory_jitter * 1000,
            reorder: settings.reorder != 0,
            split: settings.split != 0,
            boundary: u64::from(settings.read_boundary),
            completion: u64::from(settings.completion_payload),
            max_payload: u64::from(settings.max_payload),
            tag_bits: settings.tag_bits,
        }
    }

    /// The card takes a tag for a read; false when it is in use.
    pub fn take_tag(&mut self, tag: u16) -> bool {
        let tag = tag & 1023;
        self.used = self.used.max(tag + 1);
        self.slack.rotate_right(1);
        let clean = std::mem::replace(&mut self.clean[usize::from(tag)], false);
        self.slack[0] = if clean { self.frees - self.freed_at[usize::from(tag)].0 } else { 0 };
        self.takes += 1;
        !std::mem::replace(&mut self.busy_tags[usize::from(tag)], true)
    }

    /// A tag is free again: its last completion has left, or none will. It is `clean` if its answer was as it should be.
    pub fn free_tag(&mut self, tag: u16, clean: bool) {
        let tag = usize::from(tag) & 1023;
        self.clean[tag] = clean;
        self.frees += u64::from(clean);
        self.freed_at[tag] = (self.frees, self.takes);
        self.busy_tags[tag] = false;
    }

    /// A read request has arrived at `now`. Returns a warning when it is refused because of its address.
    pub fn read(&mut self, now: u64, tag: u16, addr: u64, dwords: u16, first_be: u8, last_be: u8) -> Option<String> {
        let (at, left) = extent(addr, dwords, first_be, last_be);
        let jitter = if self.jitter == 0 { 0 } else { self.random.below(self.jitter + 1) };
        let (status, flush, portion) = (CPL_OK, first_be == 0, self.portion(at, left));
        let mischief = self.faults.next(now, tag, at, left);
        let mut job = Job { tag, ready: now + self.latency + jitter, at, left, portion, status, mischief, flush };
        let mut delayed = false;
        let mut warning = None;
        if !job.flush && !self.memory.permits(at, u64::from(left), false) {
            job.status = CPL_UNSUPPORTED_REQUEST;
            job.mischief = None;
            warning = Some(unmapped(at, left));
        }
        let hit = job.hit();
        if let Some(mischief @ Mischief { fault: Fault::Delay(_) | Fault::Unexpected, .. }) = &mut job.mischief {
            mischief.happened = true;
        }
        match job.mischief {
            Some(Mischief { fault: Fault::Delay(ns), entry, .. }) => {
                job.ready += ns * 1000;
                delayed = true;
                self.faults.log[entry].happened = true;
            }
            Some(Mischief { fault: Fault::Unexpected, entry, .. }) => self.strays.push_back(entry),
            _ if hit == Some(Fault::Drop) => {
                self.give_up(now, &job);
                return warning;
            }
            _ => (),
        }
        // Without reordering, jitter moves a read's successors, too; only an injected delay lets others pass.
        if !self.reorder && !delayed {
            if let Some(last) = self.jobs.iter().rev().find(|other| other.ready <= now + self.latency + self.jitter) {
                job.ready = job.ready.max(last.ready);
            }
        }
        let place = self.jobs.partition_point(|other| other.ready <= job.ready);
        self.jobs.insert(place, job);
        warning
    }

    /// Nothing more of this answer comes.
    fn give_up(&mut self, now: u64, job: &Job) {
        if let Some(mischief) = job.mischief {
            let entry = &mut self.faults.log[mischief.entry];
            (entry.happened, entry.over, entry.sent) = (true, true, now / 1000);
        }
        // The card gives the tag out again only when it must not come back: after its own bound.
        self.free_tag(job.tag, false);
    }

    /// Whether reads are being answered.
    pub fn busy(&self) -> bool {
        !self.jobs.is_empty() || self.behind.is_some()
    }

    /// No fault is to come any more.
    pub fn forgive(&mut self) {
        self.faults.forgive();
        self.strays.clear();
    }

    /// The link went down: nothing is answered any more.
    pub fn clear(&mut self, now: u64) {
        self.faults.cut(now);
        self.jobs.clear();
        self.behind = None;
        self.strays.clear();
        self.busy_tags.fill(false);
    }

    /// The card has seen all of this completion. If it was its tag's last one, and short, and something stray is to come: what may come
    /// next.
    pub fn seen(&mut self, packet: &Packet, lanes: usize) -> Option<Stray> {
        let Head::Completion { tag, dwords, byte_count, lower_addr, .. } = packet.head else { return None };
        let most = STRAY_BEATS * lanes;
        let last = byte_count + u16::from(lower_addr & 3) <= dwords * 4;
        if self.strays.is_empty() || !last || packet.payload.len() > most || !self.may_stray(tag) {
            return None;
        }
        let entry = self.strays.pop_front()?;
        let mut stray = Packet { head: packet.head, payload: packet.payload.clone(), time: packet.time };
        if self.faults.log[entry].fault == Fault::Unexpected {
            self.faults.make_stray(&mut stray, self.used..1 << self.tag_bits, most as u64);
        }
        Some(Stray { packet: stray, tag, entry })
    }

    /// Whether a completion to a tag that is free can hit no read: the card has many others to take before that one.
    fn may_stray(&self, tag: u16) -> bool {
        let tag = usize::from(tag) & 1023;
        let pool = self.slack.iter().copied().min().unwrap_or(0);
        !self.busy_tags[tag] && self.clean[tag] && pool >= self.takes - self.freed_at[tag].1 + SLACK
    }

    /// Whether the stray completion may come now; otherwise it waits for another moment. `offered`: the card is about to take its tag.
    pub fn let_stray(&mut self, stray: &Stray, offered: bool, now: u64) -> bool {
        let may = !offered && self.may_stray(stray.tag);
        if may {
            let Head::Completion { tag, .. } = stray.packet.head else { return false };
            let log = &mut self.faults.log[stray.entry];
            (log.tag, log.happened, log.last, log.over, log.sent) = (tag, true, true, true, now / 1000);
        } else {
            self.strays.push_back(stray.entry);
        }
        may
    }

    /// How many of the bytes left go into the next completion: to a boundary, unless they are the last ones.
    fn portion(&mut self, at: u64, left: u32) -> u32 {
        let left = u64::from(left);
        let step = if self.split {
            // Any boundary that MPS reaches. MPS is at least 128, so there is one.
            let reach = ((at + self.max_payload) / self.boundary - at / self.boundary).max(1);
            (at / self.boundary + 1 + self.random.below(reach)) * self.boundary - at
        } else {
            self.completion - at % self.completion
        };
        step.min(left) as u32
    }
}

impl Completions for RootPort {
    fn ready(&self) -> Option<u64> {
        self.behind.as_ref().map(|packet| packet.time).or_else(|| self.jobs.front().map(|job| job.ready))
    }

    fn take(&mut self, limit: u64, pool: &mut Pool) -> Packet {
        if let Some(packet) = self.behind.take() {
            return packet;
        }
        let index = if self.reorder {
            let ready = self.jobs.partition_point(|job| job.ready <= limit) as u64;
            self.random.below(ready.max(1)) as usize
        } else {
            0
        };
        let Job { at, left, status, .. } = self.jobs[index];
        let portion = if status == CPL_OK { self.jobs[index].portion } else { 0 };
        let job = &mut self.jobs[index];
        let hit = job.hit();
        let mut payload = pool.take();
        match hit {
            Some(Fault::UnsupportedRequest) => job.status = CPL_UNSUPPORTED_REQUEST,
            Some(Fault::CompleterAbort) => job.status = CPL_COMPLETER_ABORT,
            _ if status != CPL_OK || self.memory.read(at, portion as usize, &mut payload) => (),
            // Unless it is a flush, the memory was unmapped since the request came.
            _ if job.flush => payload.push(0),
            _ => {
                job.status = CPL_UNSUPPORTED_REQUEST;
                self.warning = Some(unmapped(at, left));
            }
        }
        let ok = job.status == CPL_OK;
        let last = !ok || portion == left;
        let head = Head::Completion {
            tag: job.tag,
            dwords: payload.len() as u16,
            byte_count: left as u16,
            lower_addr: if ok { (at & 0x7f) as u8 } else { 0 },
            status: job.status,
            poisoned: false,
        };
        let mut packet = Packet { head, payload, time: limit };
        if let Some(mischief) = &mut job.mischief {
            let entry = &mut self.faults.log[mischief.entry];
            entry.after += u32::from(mischief.happened);
            (entry.over, entry.sent) = (last, limit / 1000);
            match hit {
                Some(Fault::Duplicate) if last => self.strays.push_back(mischief.entry),
                Some(Fault::Duplicate) if ok => {
                    entry.happened = true;
                    let mut payload = pool.take();
                    payload.extend_from_slice(&packet.payload);
                    self.behind = Some(Packet { head, payload, time: limit });
                }
                Some(fault) if ok => {
                    entry.happened = true;
                    self.faults.spoil(fault, &mut packet, at, portion, self.max_payload);
                }
                Some(Fault::UnsupportedRequest | Fault::CompleterAbort) => entry.happened = true,
                _ => (),
            }
            mischief.happened |= hit.is_some();
        }
        if last {
            let tag = job.tag;
            let spoilt = job.mischief.is_some_and(|mischief| self.faults.log[mischief.entry].happened);
            self.jobs.remove(index);
            self.free_tag(tag, ok && !spoilt);
        } else {
            (job.at, job.left) = (at + u64::from(portion), left - portion);
            let portion = self.portion(at + u64::from(portion), left - portion);
            let job = &mut self.jobs[index];
            job.portion = portion;
            if job.hit() == Some(Fault::Drop) {
                if let Some(job) = self.jobs.remove(index) {
                    self.give_up(limit, &job);
                }
            }
        }
        packet
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::link::{CompletionRoom, Receive, Wire};
    use towpath_bus::Access;

    #[test]
    fn extents_are_those_of_the_specification() {
        assert_eq!(extent(0x1000, 1, 0b0000, 0), (0x1000, 1));
        assert_eq!(extent(0x1000, 1, 0b0110, 0), (0x1001, 2));
        assert_eq!(extent(0x1000, 1, 0b1001, 0), (0x1000, 4)); // table 2-21: 1xx1 counts 4
        assert_eq!(extent(0x1000, 2, 0b1000, 0b0001), (0x1003, 2));
        assert_eq!(extent(0x1000, 1024, 15, 15), (0x1000, 4096));
    }

    /// Half of the tags come out of a quarantine that this side cannot see, so they stand behind the others in the card's pool.
    #[test]
    fn nothing_stray_is_sent_while_the_pool_may_be_empty() {
        let settings = Settings::from_query("").unwrap();
        let mut port = RootPort::new(&settings, Random::new(1));
        for round in 0..3 {
            (0..64).for_each(|tag| assert!(port.take_tag(tag), "{round}"));
            (0..64).for_each(|tag| port.free_tag(tag, true));
        }
        (0..16).for_each(|tag| assert!(port.take_tag(tag)));
        port.free_tag(0, true);
        assert!(port.may_stray(0), "48 tags are free and clean, and stand before this one");
        (16..64).for_each(|tag| assert!(port.take_tag(tag)));
        (1..32).for_each(|tag| port.free_tag(tag, true));
        (32..64).for_each(|tag| port.free_tag(tag, false));
        // All again: the clean ones, then those from quarantine. The first one is back before the last of them are taken.
        (0..56).for_each(|tag| assert!(port.take_tag(tag)));
        port.free_tag(0, true);
        assert!(!port.may_stray(0), "the tags taken last do not tell how many are left");
    }

    #[test]
    fn requests_against_the_rules_are_found() {
        let check = |addr, dwords, first, last| violation(addr, dwords, first, last, 128, "MPS");
        for legal in [(0x1000, 1, 0, 0), (0x1000, 1, 5, 0), (0x1004, 2, 14, 7), (0x1008, 2, 5, 10), (0x1f80, 32, 8, 1)] {
            assert_eq!(check(legal.0, legal.1, legal.2, legal.3), None, "{legal:x?}");
        }
        for illegal in [
            (0x1002, 1, 15, 0),
            (0x1000, 0, 15, 0),
            (0x1000, 33, 15, 15),
            (0x1ffc, 2, 15, 15),
            (0x1000, 1, 15, 1),
            (0x1000, 2, 0, 15),
            (0x1000, 2, 15, 0),
            (0x1004, 2, 5, 15),
            (0x1000, 3, 15, 5),
            (0x1000, 1, 16, 0),
        ] {
            assert!(check(illegal.0, illegal.1, illegal.2, illegal.3).is_some(), "{illegal:x?}");
        }
    }

    /// A byte takes 250 ps, a completion of 128 bytes 148 of them, one of 256 bytes 276.
    #[test]
    fn completions_come_when_it_was_counted_by_hand() {
        let mut memory = vec![0u8; 8192];
        for (query, start, bytes, times) in [
            ("", 0, 512, &[537_000, 574_000, 611_000, 648_000][..]),
            ("mps=256&completion=256", 0, 512, &[569_000, 638_000]),
            ("latency=1000", 0, 64, &[1_021_000]),
            // To the boundary 64 bytes, 128 bytes, and the rest.
            ("", 64, 224, &[521_000, 558_000, 571_000]),
            ("generation=1", 0, 256, &[574_000, 648_000]),
        ] {
            let settings = Settings::from_query(query).unwrap();
            let mut port = RootPort::new(&settings, Random::new(1));
            let page = port.memory.map(memory.as_mut_ptr(), memory.len(), Access::Read).unwrap().next_multiple_of(4096);
            let room = CompletionRoom { headers: 36, data: 461 };
            let mut receive = Receive::new(Wire::new(settings.femtoseconds_per_byte()), 32, room);
            let mut pool = Pool::default();
            assert!(port.take_tag(0) && port.read(0, 0, page + start, bytes / 4, 15, 15).is_none());
            receive.advance(10_000_000, &mut port, &mut pool);
            let mut came = Vec::new();
            while let Some(packet) = receive.land(10_000_000) {
                came.push(packet.time);
            }
            assert_eq!(came, times, "{query}: {bytes} bytes at {start}");
        }
    }

    /// Whatever the settings: each completion is legal, in order within its tag, and all together are the memory.
    #[test]
    fn completions_are_legal_and_complete() {
        let mut memory: Vec<u8> = (0..16384u32).map(|i| ((i * 31) >> 3) as u8).collect();
        let mut shuffled = 0;
        for seed in 0..200u64 {
            let query = match seed % 5 {
                0 => "split=0",
                1 => "split=1",
                2 => "split=1&reorder=1&jitter=400",
                3 => "split=1&reorder=1&rcb=128&mps=512",
                _ => "completion=256&mps=256&reorder=1",
            };
            let settings = Settings::from_query(query).unwrap();
            let mut port = RootPort::new(&settings, Random::new(seed));
            let base = port.memory.map(memory.as_mut_ptr(), memory.len(), Access::Read).unwrap();
            let page = base.next_multiple_of(4096);
            let mut random = Random::new(seed + 1000);
            let mut pool = Pool::default();
            let mut due = Vec::new();
            for tag in 0..12u16 {
                let length = 1 + random.below(512) as u32;
                let at = page + random.below(u64::from(4096 - length));
                let end = at + u64::from(length);
                let dwords = (end.div_ceil(4) - at / 4) as u16;
                let (low, high) = (15u8 << (at & 3) & 15, 15u8 >> (3 - ((end - 1) & 3)));
                let (first_be, last_be) = if dwords == 1 { (low & high, 0) } else { (low, high) };
                assert_eq!(extent(at & !3, dwords, first_be, last_be), (at, length));
                assert!(port.take_tag(tag) && !port.take_tag(tag));
                assert!(port.read(u64::from(tag) * 100, tag, at & !3, dwords, first_be, last_be).is_none());
                due.push((at, length));
            }
            let mut last_tag = 0;
            while let Some(ready) = port.ready() {
                let packet = port.take(ready.max(1_000_000), &mut pool);
                let Head::Completion { tag, dwords, byte_count, lower_addr, status, poisoned } = packet.head else { panic!() };
                shuffled += usize::from(tag < last_tag);
                last_tag = tag;
                let (at, left) = &mut due[usize::from(tag)];
                assert_eq!((u32::from(byte_count), u64::from(lower_addr), status, poisoned), (*left, *at & 0x7f, 0, false));
                assert_eq!(usize::from(dwords), packet.payload.len());
                assert!(u32::from(dwords) * 4 <= settings.max_payload && dwords > 0);
                let lead = (*at & 3) as usize;
                let here = (usize::from(dwords) * 4 - lead).min(*left as usize);
                let bytes: Vec<u8> = packet.payload.iter().flat_map(|word| word.to_le_bytes()).collect();
                let from = (*at - base) as usize;
                assert_eq!(bytes[lead..lead + here], memory[from..from + here]);
                *at += here as u64;
                *left -= here as u32;
                assert!(*left == 0 || *at % u64::from(settings.read_boundary) == 0, "it ends off the boundary");
            }
            assert!(due.iter().all(|(_, left)| *left == 0) && !port.busy());
            assert!(port.take_tag(3), "tags are free again");
        }
        assert!(shuffled > 100, "completions of different tags must change places: {shuffled}");
    }
}
