// SPDX-License-Identifier: Apache-2.0
//! How a voyage of a storm ends: quietly, with all accounts settled, in a reset of the function, or in a loss of the link; and what must be true
//! of the card then.

use crate::ledger::Part;
use crate::storm::{status_of, text, LATEST_NS};
use crate::voyage::{Lane, Voyage, LARGEST};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use towpath::Status;
use towpath_bus::Bus;
use towpath_contract as contract;
use towpath_driver::{Driver, Error, Message};
use towpath_sim::Fault;

/// Completions that may come after a reset of the function: each tag's read, of 1 KiB at most, in packets of 64 bytes.
const MOST_LATE: u64 = 64 * 1024 / 64;
/// Answers that can be at the pins, or between them and the core, in one moment.
const MOST_AT_PINS: u64 = 3;

impl Voyage<'_> {
    /// Bring everything to its end, and settle all accounts.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        self.note("settling".into());
        self.forgive()?;
        for lane in 0..self.lanes.len() {
            // What was left open gets an end.
            while self.lanes[lane].open {
                let begin = self.lanes[lane].planned;
                self.submit(lane, 0, Vec::new(), Message::default(), Part { begin, bytes: 0, end: true, attributes: (0, 0) })?;
                self.step(true)?;
            }
        }
        let over = |lane: &Lane| lane.ways[0].flight.is_empty() && (lane.ways.len() == 1 || lane.ledger.is_settled());
        while !self.lanes.iter().all(over) {
            self.step(true)?;
        }
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].ways.len() == 2 {
                self.cancel(lane, 1)?;
                if !self.lanes[lane].ledger.is_settled() {
                    return Err(format!("lane {lane}: more came than was sent: {}", self.lanes[lane].ledger.state()));
                }
            }
            for way in &self.lanes[lane].ways {
                let found = way.channel.statistics();
                let odd = [found.wrong_cookies, found.wrong_lengths, found.wrong_statuses, found.unexpected];
                if odd != [0; 4] || found.submitted != found.completed {
                    return Err(format!("lane {lane}: the statistics are wrong: {found:?}"));
                }
            }
        }
        self.check_core()?;
        self.settle_tags()
    }

    /// No fault is to come any more.
    fn forgive(&mut self) -> Result<(), String> {
        self.watch.sim.forgive().map_err(text)?;
        self.storm.planned = self.watch.sim.injections(0).map_err(text)?.len();
        Ok(())
    }

    /// What the core has counted on the last lane.
    fn check_core(&mut self) -> Result<(), String> {
        let ledger = self.lanes.last().map(|lane| &lane.ledger).ok_or("no lanes")?;
        let (_, bytes_at, messages_at) = self.counters();
        let (due, sum, cut) = ((ledger.bytes as u32, ledger.ended), ledger.sum, ledger.cut);
        let mut found = (0, 0);
        for _ in 0..200 {
            found = (self.driver.read_register(bytes_at).map_err(text)?, self.driver.read_register(messages_at).map_err(text)?);
            if found == due {
                break;
            }
        }
        if found != due {
            return Err(format!("the core counts {found:?} bytes and messages where {due:?} are right"));
        }
        if self.driver.info().core.starts_with("loopback") {
            return match self.driver.read_register(0x14).map_err(text)? {
                found if found == cut => Ok(()),
                found => Err(format!("the core counts {found} messages cut short where {cut} are right")),
            };
        }
        match self.driver.read_register(0x04).map_err(text)? {
            found if found == sum => Ok(()),
            found => Err(format!("the core adds the bytes up to {found:#x} where {sum:#x} is right")),
        }
    }

    fn register(&self, register: u64) -> Result<u32, String> {
        self.watch.read32(contract::BAR_DEVICE, self.card(register)).map_err(text)
    }

    /// Nothing stays in quarantine, no tag was lost, and the card has counted what was injected.
    pub(crate) fn settle_tags(&mut self) -> Result<(), String> {
        let deadline = self.now() + LATEST_NS + 40 * 100_000;
        while self.register(contract::CARD_QUARANTINED_OFFSET)? != 0 {
            if self.now() > deadline {
                return Err(format!("{} tags stay in quarantine", self.register(contract::CARD_QUARANTINED_OFFSET)?));
            }
            self.watch.sim.pass(5000).map_err(text)?;
        }
        self.check_counts()
    }

    fn check_counts(&mut self) -> Result<(), String> {
        let log = self.watch.sim.injections(0).map_err(text)?;
        let mut low = BTreeMap::<u64, u64>::new();
        let mut high = BTreeMap::<u64, u64>::new();
        let mut add = |register: u64, count: u64, sure: bool| {
            *high.entry(register).or_default() += count;
            *low.entry(register).or_default() += if sure { count } else { 0 };
        };
        for entry in log.iter().filter(|entry| entry.happened) {
            use contract as c;
            let sure = !entry.cut;
            let late = match status_of(entry) {
                Some(Status::UnsupportedRequest) => (c::CARD_UNSUPPORTED_REQUESTS_OFFSET, 0),
                Some(Status::CompleterAbort) => (c::CARD_COMPLETER_ABORTS_OFFSET, 0),
                Some(Status::Poisoned) => (c::CARD_POISONED_OFFSET, 0),
                Some(Status::Timeout) => (c::CARD_TIMEOUTS_OFFSET, entry.after),
                Some(_) => (c::CARD_BAD_COMPLETIONS_OFFSET, entry.after),
                None if matches!(entry.fault, Fault::Duplicate | Fault::Unexpected) => (c::CARD_UNEXPECTED_COMPLETIONS_OFFSET, 0),
                None => match entry.fault {
                    Fault::MasteringOff(_) => (c::CARD_BUS_MASTERING_LOSSES_OFFSET, 0),
                    Fault::LinkDown { .. } => (c::CARD_LINK_DOWNS_OFFSET, 0),
                    _ => continue,
                },
            };
            // An endpoint may withhold bus mastering while the link is down, and mark what was at its pins as damaged.
            if self.storm.endpoint && late.0 == c::CARD_LINK_DOWNS_OFFSET {
                add(c::CARD_BUS_MASTERING_LOSSES_OFFSET, 1, false);
                add(c::CARD_POISONED_OFFSET, MOST_AT_PINS, false);
            }
            add(late.0, 1, sure);
            add(c::CARD_LATE_COMPLETIONS_OFFSET, u64::from(late.1), sure);
        }
        add(contract::CARD_FUNCTION_RESETS_OFFSET, self.storm.resets, true);
        add(contract::CARD_LATE_COMPLETIONS_OFFSET, self.storm.resets * MOST_LATE, false); // to reads that were out
        add(contract::CARD_BUS_MASTERING_LOSSES_OFFSET, self.storm.resets, false); // a reset takes it away, too, if it was there
        for register in [
            contract::CARD_FUNCTION_RESETS_OFFSET,
            contract::CARD_UNSUPPORTED_REQUESTS_OFFSET,
            contract::CARD_COMPLETER_ABORTS_OFFSET,
            contract::CARD_POISONED_OFFSET,
            contract::CARD_TIMEOUTS_OFFSET,
            contract::CARD_BAD_COMPLETIONS_OFFSET,
            contract::CARD_LATE_COMPLETIONS_OFFSET,
            contract::CARD_UNEXPECTED_COMPLETIONS_OFFSET,
            contract::CARD_BUS_MASTERING_LOSSES_OFFSET,
            contract::CARD_LINK_DOWNS_OFFSET,
        ] {
            let found = u64::from(self.register(register)?);
            let (low, high) = (low.get(&register).copied().unwrap_or(0), high.get(&register).copied().unwrap_or(0));
            if found < low || found > high {
                return Err(format!("the card counts {found} at {register:#x} of its page, where {low} to {high} were injected"));
            }
        }
        Ok(())
    }

    /// Eight messages there and (where the core answers) back, without a fault: how long they take in all.
    pub(crate) fn clean_transfer(&mut self) -> Result<u64, String> {
        let began = self.now();
        for _ in 0..8 {
            let begin = self.lanes[0].planned;
            let bytes = LARGEST as u64;
            let part = Part { begin, bytes, end: true, attributes: (0, 0) };
            self.submit(0, 1, vec![(64, LARGEST)], Message::default(), Part::default())?;
            self.submit(0, 0, vec![(64, LARGEST)], Message::default(), part)?;
            while !self.lanes[0].ways.iter().all(|way| way.flight.is_empty()) {
                self.wait(0, 0)?;
                self.wait(0, 1)?;
            }
            if !self.lanes[0].ledger.is_settled() {
                return Err("a clean transfer did not come back".into());
            }
        }
        Ok(self.now() - began)
    }

    /// The least time of a few such transfers.
    pub(crate) fn quickest_transfer(&mut self) -> Result<u64, String> {
        (0..4).map(|_| self.clean_transfer()).try_fold(u64::MAX, |least, time| Ok(least.min(time?)))
    }

    /// Each tag of the card's pool is still in use: it hands out the one that has been free for longest. Below them are the tags which the H2C channels
    /// and the lists have for themselves: they serve when the pool is empty.
    pub(crate) fn all_tags(&mut self) -> Result<(), String> {
        let shift = contract::DISCOVERY_TAGS_OFFSET & 3;
        let tags = self.watch.read32(contract::BAR_DEVICE, contract::DISCOVERY_TAGS_OFFSET & !3).map_err(text)? >> (8 * shift) & 0xffff;
        let reads = 2 * tags as usize;
        let hit = |voyage: &Self| voyage.watch.sim.injections(0).map(|log| log.len()).map_err(text);
        let first = hit(self)?;
        for ahead in 0..reads as u64 {
            self.watch.sim.inject(ahead, Fault::Delay(0)).map_err(text)?;
        }
        // The size of the card's reads is random: one transfer may be fewer reads than that.
        while hit(self)? < first + reads {
            self.clean_transfer()?;
        }
        let log = self.watch.sim.injections(first).map_err(text)?;
        let own = self.lanes.len() as u16 + 1;
        let used: BTreeSet<u16> = log.iter().map(|entry| entry.tag).filter(|tag| *tag >= own).collect();
        match used.len() + own as usize == tags as usize && log.len() == reads {
            true => Ok(()),
            false => Err(format!("of {tags} tags, {own} of them own ones, only {} are used in {} reads: {used:?}", used.len(), log.len())),
        }
    }

    /// The function is reset in the middle of everything.
    pub(crate) fn reset_function(&mut self) -> Result<(), String> {
        self.note("function-level reset".into());
        self.forgive()?;
        self.watch.reset().map_err(text)?;
        self.storm.resets += 1;
        self.storm.seen = self.watch.sim.injections(0).map_err(text)?.len();
        self.card_is_quiet()
    }

    /// The link goes down in the middle of everything, and comes back.
    pub(crate) fn lose_link(&mut self) -> Result<(), String> {
        let (ns, forgets) = (self.storm.random.between(100, 40_000) as u64, self.storm.random.one_in(2));
        self.note(format!("link down for {ns} ns{}", if forgets { ", and the card forgets" } else { "" }));
        self.forgive()?;
        self.watch.sim.disturb(Fault::LinkDown { ns, forgets }).map_err(text)?;
        for lane in &self.lanes {
            for way in &lane.ways {
                let Some(front) = way.flight.front() else { continue };
                match way.channel.wait(front.ticket, Some(Duration::from_micros(100)).into()) {
                    Err(Error::Bus { source, .. }) if source.to_string().contains("link") => (),
                    Ok(_) => (), // it was in the ring already
                    Err(error) => return Err(format!("with the link down, a wait says: {error}")),
                }
            }
        }
        while !self.watch.sim.link_is_up().map_err(text)? {
            self.watch.sim.pass(500).map_err(text)?;
        }
        self.watch.sim.pass(2000).map_err(text)?;
        self.storm.seen = self.watch.sim.injections(0).map_err(text)?.len();
        if forgets {
            return self.card_is_quiet();
        }
        Ok(())
    }

    /// Nothing that was posted before is touched any more.
    fn card_is_quiet(&mut self) -> Result<(), String> {
        let before = self.watch.sim.statistics().map_err(text)?;
        self.watch.sim.pass(5000).map_err(text)?;
        let moved = self.watch.sim.statistics().map_err(text)?.since(&before);
        if moved.card_writes + moved.card_reads > 0 {
            return Err(format!("the card goes on after it was reset: {moved:?}"));
        }
        Ok(())
    }
}
