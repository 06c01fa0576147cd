// SPDX-License-Identifier: Apache-2.0
//! Random traffic in bad weather: faults of every kind hit the card's reads while all channels are busy, bus mastering and the link go away and
//! come back, the function is reset. Every descriptor must end as the fault that hit it says, or well; every byte must come out where it
//! belongs; and the card's own counts must be those of the faults that were injected.
//!
//! A run is one card over several voyages. In each, the driver is opened anew and traffic runs; it ends quietly, with all accounts
//! settled, or in a reset of the function or a loss of the link. After the last, the card must be as good as new.

use crate::random::Random;
use crate::run::Diary;
use crate::voyage::Voyage;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use towpath::Status;
use towpath_cores::{build, find_core, BuildOptions};
use towpath_sim::{Fault, Injection, PrintKind, Settings, SimBus};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A core: `cores/loopback`, or `tests/cores/loop3x2` and its kin.
    pub core: String,
    /// Data width to build it with.
    pub width: u32,
    /// The endpoint at whose pins the card is; none: at the neutral streams.
    pub endpoint: Option<String>,
    /// Of everything random.
    pub seed: u64,
    /// Faults to inject, at least.
    pub faults: u64,
}

impl Plan {
    fn place(&self) -> &str {
        self.endpoint.as_deref().unwrap_or("the neutral streams")
    }
}

/// How a run went.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Faults that happened, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Descriptors by how they ended, to the card and from it.
    pub ends: [BTreeMap<String, u64>; 2],
    /// Batches of several descriptors.
    pub batches: u64,
    /// Bytes that were compared.
    pub bytes: u64,
    /// Cycles of the card's clock.
    pub cycles: u64,
    /// How long it took.
    pub wall: Duration,
}

impl Report {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Report) -> Report {
        for (kind, count) in &other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        for way in 0..2 {
            for (status, count) in &other.ends[way] {
                *self.ends[way].entry(status.clone()).or_default() += count;
            }
        }
        self.batches += other.batches;
        self.bytes += other.bytes;
        self.cycles += other.cycles;
        self.wall += other.wall;
        self
    }

    /// All faults, but for delays that must not show.
    pub fn total(&self) -> u64 {
        self.faults.iter().filter(|(kind, _)| **kind != "delay").map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.cycles as f64 / self.wall.as_secs_f64() / 1e3;
        write!(f, "{} faults {:?}; to the card {:?}, from it {:?}; ", self.total(), self.faults, self.ends[0], self.ends[1])?;
        write!(
            f,
            "{} batches, {:.1} MB, {} cycles in {:.1} s ({rate:.0} thousand a second)",
            self.batches,
            self.bytes as f64 / 1e6,
            self.cycles,
            self.wall.as_secs_f64()
        )
    }
}

/// The kinds of faults, and how often each is chosen.
const KINDS: [(&str, usize); 13] = [
    ("drop", 4),
    ("late", 4),
    ("delay", 8),
    ("unsupported request", 12),
    ("completer abort", 12),
    ("poison", 14),
    ("duplicate", 14),
    ("unexpected", 10),
    ("byte count", 14),
    ("length", 14),
    ("lower address", 14),
    ("bus mastering off", 0),
    ("link down", 0),
];

/// The kind of a fault. A delay within the completion timeout is a fault that must not show.
pub fn kind(fault: Fault) -> &'static str {
    match fault {
        Fault::Drop => "drop",
        Fault::Delay(ns) if ns >= LATE_NS => "late",
        Fault::Delay(_) => "delay",
        Fault::UnsupportedRequest => "unsupported request",
        Fault::CompleterAbort => "completer abort",
        Fault::Poison => "poison",
        Fault::Duplicate => "duplicate",
        Fault::Unexpected => "unexpected",
        Fault::WrongCount => "byte count",
        Fault::WrongLength => "length",
        Fault::WrongAddress => "lower address",
        Fault::MasteringOff(_) => "bus mastering off",
        Fault::LinkDown { .. } => "link down",
    }
}

/// The status with which a descriptor ends because of a fault, if it does.
pub(crate) fn status_of(entry: &Injection) -> Option<Status> {
    match entry.fault {
        Fault::Drop => Some(Status::Timeout),
        Fault::Delay(ns) => (ns >= LATE_NS).then_some(Status::Timeout),
        Fault::UnsupportedRequest => Some(Status::UnsupportedRequest),
        Fault::CompleterAbort => Some(Status::CompleterAbort),
        Fault::Poison => Some(Status::Poisoned),
        Fault::Duplicate => (!entry.last).then_some(Status::BadCompletion),
        Fault::WrongCount | Fault::WrongLength | Fault::WrongAddress => Some(Status::BadCompletion),
        Fault::Unexpected | Fault::MasteringOff(_) | Fault::LinkDown { .. } => None,
    }
}

/// A completion timeout of the shortest range: 50 to 100 us. So an answer that takes longer is late, one below half of it is not.
const TIMEOUT_CODE: u8 = 1;
const LATE_NS: u64 = 110_000;
const EARLY_NS: u64 = 30_000;
/// Late answers come before the shortest quarantine in use here (two timeouts) is over.
pub(crate) const LATEST_NS: u64 = 150_000;
/// What lasts from voyage to voyage.
pub(crate) struct Storm {
    pub(crate) random: Random,
    pub(crate) diary: Diary,
    pub(crate) sim: Arc<SimBus>,
    /// Faults that were planned, and how many of them and others were looked at since.
    pub(crate) planned: usize,
    pub(crate) seen: usize,
    /// Times in which the card could not send requests.
    pub(crate) outages: Vec<(u64, u64)>,
    /// Function-level resets.
    pub(crate) resets: u64,
    /// An endpoint is between the link and the core.
    pub(crate) endpoint: bool,
    pub(crate) report: Report,
}

pub(crate) fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// Run a plan. The error says what was wrong, the settings, the seed, and what was done last.
pub fn run(plan: &Plan) -> Result<Report, String> {
    let began = Instant::now();
    let mut random = Random::new(plan.seed);
    let name = crate::device::vary("sim:storm", &mut random);
    let query = format!("{}&completion_timeout={TIMEOUT_CODE}", name.split_once('?').map_or("", |(_, query)| query));
    let folder = find_core(&plan.core).map_err(text)?;
    let built = build(&folder, &BuildOptions { width: Some(plan.width), endpoint: plan.endpoint.as_deref(), ..BuildOptions::default() })
        .map_err(text)?;
    let mut settings = Settings::from_query(&query).map_err(text)?;
    if plan.endpoint.is_some() {
        // The blocks' tags have 8 bits: what is unexpected, to a longer one, would not get to the card.
        settings.tag_bits = settings.tag_bits.min(8);
    }
    let print = Arc::new(|kind: PrintKind, _: &str| debug_assert!(kind != PrintKind::Fatal));
    let sim = SimBus::open("sim:storm", &built.library, settings, None, print, Vec::new()).map_err(text)?;
    let mut storm = Storm {
        random,
        diary: Diary::new(200),
        sim,
        planned: 0,
        seen: 0,
        outages: Vec::new(),
        resets: 0,
        endpoint: plan.endpoint.is_some(),
        report: Report::default(),
    };
    storm.whole(plan).map_err(|what| {
        let last: String = storm.diary.lines().map(|line| format!("\n    {line}")).collect();
        format!(
            "{what}\n  {}?width={}&{query}\n  again with TOWPATH_SEED={}; at {}; done last:{last}",
            plan.core,
            plan.width,
            plan.seed,
            plan.place()
        )
    })?;
    let cycles = storm.sim.statistics().map_err(text)?.cycles;
    Ok(Report { cycles, wall: began.elapsed(), ..storm.report })
}

impl Storm {
    /// The shortest time of a transfer in three voyages without a fault: in one alone it differs by up to 2.6 % from one to the next.
    fn quickest_of_three(&mut self, seed: u64) -> Result<u64, String> {
        let mut quickest = u64::MAX;
        for _ in 0..3 {
            quickest = quickest.min(Voyage::set_out(self, seed, true)?.quickest_transfer()?);
        }
        Ok(quickest)
    }

    fn whole(&mut self, plan: &Plan) -> Result<(), String> {
        let fair = self.quickest_of_three(plan.seed)?;
        while (self.seen as u64) < plan.faults {
            let seed = self.random.bits();
            let share = self.random.between(40, 250) as u64;
            let target = plan.faults.min(self.seen as u64 + share);
            let mut voyage = Voyage::set_out(self, seed, false)?;
            while (voyage.storm.seen as u64) < target {
                voyage.step(false)?;
            }
            voyage.storm.report.batches += voyage.watch.batched();
            match voyage.storm.random.below(8) {
                0 | 1 => voyage.reset_function()?,
                2 | 3 => voyage.lose_link()?,
                _ => voyage.settle()?,
            }
        }
        let mut last = Voyage::set_out(self, plan.seed, true)?;
        last.settle_tags()?;
        last.all_tags()?;
        drop(last);
        let after = self.quickest_of_three(plan.seed)?;
        for entry in self.sim.injections(0).map_err(text)?.iter().filter(|entry| entry.happened) {
            *self.report.faults.entry(kind(entry.fault)).or_default() += 1;
        }
        if self.resets > 0 {
            self.report.faults.insert("function-level reset", self.resets);
        }
        // Where completions are cut and jitter at random, so does the time of a transfer: even of the quickest of many, a little.
        if after > fair + fair / 50 + 500 {
            return Err(format!("a transfer takes {after} ns after the storm, and took {fair} ns before"));
        }
        Ok(())
    }

    /// A random one.
    pub(crate) fn fault(&mut self) -> Fault {
        let mut pick = self.random.below(KINDS.iter().map(|kind| kind.1).sum());
        let mut chosen = KINDS[0].0;
        for (name, weight) in KINDS {
            if pick < weight {
                chosen = name;
                break;
            }
            pick -= weight;
        }
        match chosen {
            "drop" => Fault::Drop,
            "late" => Fault::Delay(self.random.between(LATE_NS as usize, LATEST_NS as usize) as u64),
            "delay" => Fault::Delay(self.random.below(EARLY_NS as usize) as u64),
            "unsupported request" => Fault::UnsupportedRequest,
            "completer abort" => Fault::CompleterAbort,
            "poison" => Fault::Poison,
            "duplicate" => Fault::Duplicate,
            "unexpected" => Fault::Unexpected,
            "byte count" => Fault::WrongCount,
            "length" => Fault::WrongLength,
            _ => Fault::WrongAddress,
        }
    }
}
