// SPDX-License-Identifier: Apache-2.0
//! A run: one device, all of its channels, so many transfers; then everything is brought to its end and counted.

use crate::lane::{Habits, Lane};
use crate::random::Random;
use crate::served::Served;
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};
use towpath::{Device, Direction};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The device, for `towpath::Device::open`.
    pub device: String,
    /// Put random settings of the simulated link and host behind the device's name.
    pub vary: bool,
    /// Reach the device, a simulated one, through a socket, as a program in another process does.
    pub served: bool,
    /// Of everything random.
    pub seed: u64,
    /// Transfers to the card that are completed, over all channels.
    pub transfers: u64,
}

/// What a run has met, so that a test can see that nothing was left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coverage {
    /// Transfers that began so many bytes behind a multiple of 64: one bit each; to the card and from it.
    pub offsets: [u64; 2],
    /// Transfers that began or ended less than 16 bytes from a page's edge, in each direction.
    pub page_edges: [u64; 2],
    /// One contiguous piece, in each direction.
    pub direct: [u64; 2],
    /// Several pieces in one descriptor, in each direction.
    pub list: [u64; 2],
    /// Calls that submitted several transfers, in each direction.
    pub bursts: [u64; 2],
    /// To the card, 64 bytes at most.
    pub inline: u64,
    /// Descriptors without a byte, in each direction.
    pub zero: [u64; 2],
    /// Empty messages.
    pub empty_messages: u64,
    /// Messages in several parts.
    pub cut_messages: u64,
    /// Messages with a length, an offset or a user word.
    pub attributes: u64,
    /// Descriptors that ended as cancelled, in each direction.
    pub cancelled: [u64; 2],
    /// Those of them that had moved something.
    pub cancelled_midway: [u64; 2],
    /// Cancelled by its own timeout while others were in flight, which went on.
    pub cancelled_alone: [u64; 2],
    /// Buffers from the card that the message did not fit into.
    pub too_small: u64,
    /// Messages announced and compared.
    pub starts: u64,
    /// Accesses of registers meanwhile.
    pub registers: u64,
}

impl Coverage {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Coverage) -> Coverage {
        for way in 0..2 {
            self.offsets[way] |= other.offsets[way];
            self.page_edges[way] += other.page_edges[way];
            self.direct[way] += other.direct[way];
            self.list[way] += other.list[way];
            self.bursts[way] += other.bursts[way];
            self.zero[way] += other.zero[way];
            self.cancelled[way] += other.cancelled[way];
            self.cancelled_midway[way] += other.cancelled_midway[way];
            self.cancelled_alone[way] += other.cancelled_alone[way];
        }
        self.inline += other.inline;
        self.empty_messages += other.empty_messages;
        self.cut_messages += other.cut_messages;
        self.attributes += other.attributes;
        self.too_small += other.too_small;
        self.starts += other.starts;
        self.registers += other.registers;
        self
    }

    /// Names of what was never met.
    pub fn gaps(&self) -> Vec<&'static str> {
        let both = |pair: [u64; 2]| pair[0] > 0 && pair[1] > 0;
        [
            ("every offset to the card", self.offsets[0] == u64::MAX),
            ("every offset from the card", self.offsets[1] == u64::MAX),
            ("page edges", both(self.page_edges)),
            ("direct transfers", both(self.direct)),
            ("lists", both(self.list)),
            ("several in one call", both(self.bursts)),
            ("inline messages", self.inline > 0),
            ("transfers without a byte", both(self.zero)),
            ("empty messages", self.empty_messages > 0),
            ("messages in parts", self.cut_messages > 0),
            ("attributes", self.attributes > 0),
            ("cancels", both(self.cancelled)),
            ("cancels midway", both(self.cancelled_midway)),
            ("cancels beside others that go on", both(self.cancelled_alone)),
            ("buffers that are too small", self.too_small > 0),
            ("message starts", self.starts > 0),
            ("registers", self.registers > 0),
        ]
        .into_iter()
        .filter_map(|(name, met)| (!met).then_some(name))
        .collect()
    }
}

/// How a run went.
#[derive(Clone, Debug)]
pub struct Report {
    /// The device's name, with its settings.
    pub device: String,
    /// The run's seed.
    pub seed: u64,
    /// Transfers that were completed, to the card and from it.
    pub transfers: [u64; 2],
    /// Bytes that were compared, to the card and from it.
    pub bytes: [u64; 2],
    /// The device's time at the end; simulated time, if it is simulated.
    pub now_ns: u64,
    /// Cycles of the card's clock, if it is simulated.
    pub cycles: u64,
    /// How long it took.
    pub wall: Duration,
    /// What was met.
    pub coverage: Coverage,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [to_card, from_card] = self.transfers;
        let megabytes = (self.bytes[0] + self.bytes[1]) as f64 / 1e6;
        write!(f, "seed {}: {to_card} transfers to the card, {from_card} from it, {megabytes:.1} MB, {} ns", self.seed, self.now_ns)?;
        if self.cycles > 0 {
            let rate = self.cycles as f64 / self.wall.as_secs_f64() / 1e3;
            write!(f, " simulated, {:.1} s at {rate:.0} thousand cycles a second", self.wall.as_secs_f64())?;
        }
        write!(f, "; {}", self.device)
    }
}

/// The last things that were done, for the report of a failure.
pub struct Diary {
    lines: VecDeque<String>,
    most: usize,
}

impl Diary {
    /// A diary of so many lines.
    pub fn new(most: usize) -> Diary {
        Diary { lines: VecDeque::new(), most }
    }

    /// One more line.
    pub fn note(&mut self, line: String) {
        if self.lines.len() == self.most {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// The lines, the oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &String> {
        self.lines.iter()
    }
}

/// What all lanes of a run share.
pub struct Shared {
    /// Everything random.
    pub random: Random,
    /// For failures.
    pub diary: Diary,
    /// What was met.
    pub coverage: Coverage,
    /// How often anything was completed.
    pub progress: u64,
}

/// Steps without any progress after which a run is stuck: each waits or posts something, unless all is full.
const PATIENCE: u32 = 3000;

/// Run a plan. The error says everything that is needed to find the fault: what was wrong, the settings, the seed, and what was done last.
pub fn run(plan: &Plan) -> Result<Report, String> {
    let mut random = Random::new(plan.seed);
    let name = if plan.vary { crate::device::vary(&plan.device, &mut random) } else { plan.device.clone() };
    let mut shared = Shared { random, diary: Diary::new(40), coverage: Coverage::default(), progress: 0 };
    let began = Instant::now();
    let streamed = match plan.served {
        false => stream(&name, plan, &mut shared, began),
        true => Served::start(&name).and_then(|served| {
            let report = stream(&served.name(), plan, &mut shared, began)?;
            served.end().map(|()| Report { device: format!("{name}, served"), ..report })
        }),
    };
    streamed.map_err(|what| {
        let Plan { seed, transfers, .. } = plan;
        let last: String = shared.diary.lines().map(|line| format!("\n    {line}")).collect();
        format!("{what}\n  device {name}\n  again with TOWPATH_SEED={seed} TOWPATH_TRANSFERS={transfers}; done last:{last}")
    })
}

fn stream(name: &str, plan: &Plan, shared: &mut Shared, began: Instant) -> Result<Report, String> {
    let device = Device::open(name).map_err(|error| error.to_string())?;
    // Somebody may have used the card before: its core counts from here.
    device.reset().map_err(|error| error.to_string())?;
    let channels = &device.info().channels;
    let ways = |direction| channels.iter().filter(move |channel| channel.direction == direction).map(|channel| channel.index);
    let mut back = ways(Direction::C2h);
    let mut lanes = Vec::new();
    for (number, index) in ways(Direction::H2c).enumerate() {
        let habits = Habits::new(&mut shared.random);
        shared.diary.note(format!("lane {number}: {habits:?}"));
        lanes.push(Lane::open(&device, number, plan.seed, index, back.next(), habits).map_err(|error| error.to_string())?);
    }
    if lanes.is_empty() || back.next().is_some() {
        return Err(format!("{name}: this run wants a core with channels to the card, and no more of them from it"));
    }

    let mut steps_without = 0;
    let mut seen = shared.progress;
    let mut step = |shared: &mut Shared, lanes: &mut Vec<Lane>, ending: bool| {
        let lane = shared.random.below(lanes.len());
        let done = lanes[lane].step(&device, shared, ending).map_err(|what| format!("channel \"{}\": {what}", lanes[lane].name()));
        steps_without = if shared.progress == seen { steps_without + 1 } else { 0 };
        seen = shared.progress;
        match done {
            Ok(()) if steps_without > PATIENCE => {
                let states: Vec<String> = lanes.iter().map(Lane::state).collect();
                Err(format!("nothing goes on any more: {}", states.join("; ")))
            }
            done => done,
        }
    };
    while lanes.iter().map(Lane::transfers).sum::<u64>() < plan.transfers {
        step(shared, &mut lanes, false)?;
    }
    while lanes.iter().any(|lane| !lane.is_over()) {
        step(shared, &mut lanes, true)?;
    }
    for lane in &mut lanes {
        lane.close(&device, shared).map_err(|what| format!("channel \"{}\": {what}", lane.name()))?;
    }
    let sum = |count: fn(&Lane) -> [u64; 2]| lanes.iter().map(count).fold([0, 0], |sum, part| [sum[0] + part[0], sum[1] + part[1]]);
    Ok(Report {
        device: name.into(),
        seed: plan.seed,
        transfers: sum(|lane| lane.counts()),
        bytes: sum(|lane| lane.bytes()),
        now_ns: device.now_ns(),
        cycles: device.wire().map_or(0, |wire| wire.cycles),
        wall: began.elapsed(),
        coverage: shared.coverage,
    })
}
