// SPDX-License-Identifier: Apache-2.0
//! Which cases are measured, and what each is to reach.
//!
//! Bounds are what the model leaves to an ideal mover: for a blocking call, its time is the doorbell's way, the memory's latency, the
//! payload at the strict limit, and the interrupt or poll.

use crate::case::{Case, Descriptor, Notify, Port, Way};
use crate::BenchError;
use towpath_cores::endpoints;

/// What a row is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// No target: a point of a curve.
    None,
    /// Per cent end to end, and the bound.
    EndToEnd(f64, f64),
    /// Per cent while data flows, and the bound.
    Flow(f64, f64),
    /// Nanoseconds at most.
    Nanoseconds(f64),
    /// Million messages a second, end to end, at least.
    Rate(f64),
    /// Per cent end to end, at most so many points below the same direction of another case.
    EndToEndNear(f64, Case),
    /// Per cent while data flows, at most so many points below the same direction of another case.
    FlowNear(f64, Case),
    /// While data flows, at least this part of the same direction of another case (per cent), and a spread between channels of at most so much.
    Shared(f64, Case, f64),
}

/// A case with the goals of its rows: one, or two if both directions run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// What to measure.
    pub case: Case,
    /// What to reach: H2C (or the only direction), then C2H.
    pub goals: [Goal; 2],
}

/// Cases that are shown together.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: &'static str,
    /// Its cases.
    pub cases: Vec<Planned>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// What acknowledgements and credit updates take of a link in practice: 57.88 of 62.96 Gb/s are left in "Understanding PCIe performance for end
/// host networking" (SIGCOMM 2018).
pub const DLLP_PER_MILLE: u32 = 81;
const WAYS: [Way; 2] = [Way::C2h, Way::H2c];

fn one(case: Case, goal: Goal) -> Planned {
    Planned { case, goals: [goal, Goal::None] }
}

/// The same goal for H2C and another one for C2H.
fn by_way(way: Way, h2c: Goal, c2h: Goal) -> Goal {
    if way == Way::H2c {
        h2c
    } else {
        c2h
    }
}

/// A link at the width that it needs.
fn link(way: Way, size: u64, generation: u8, lanes: u8, width: u32) -> Case {
    Case { generation, lanes, width, ..Case::new(way, size) }
}

/// A link at each payload and latency that a server may have, with so many packets in the transmit buffer.
fn servers(ways: &[Way], (generation, lanes, width): (u8, u8, u32), transmit_buffers: &[u32]) -> Vec<Planned> {
    let mut cases = Vec::new();
    for &transmit_buffer in transmit_buffers {
        for mps in [128, 256, 512, 1024] {
            for read_latency_ns in [500, 1000, 2000] {
                for &way in ways {
                    let case = Case {
                        mps,
                        mrrs: mps.max(512),
                        read_latency_ns,
                        transmit_buffer,
                        in_flight: 4,
                        ..link(way, MIB, generation, lanes, width)
                    };
                    // Reads take 4 to 4.6 % of the way to the host.
                    let goals = match way {
                        Way::Both => [Goal::Flow(98.0, 100.0), Goal::Flow(94.5, 96.0)],
                        _ => [Goal::Flow(99.0, 100.0), Goal::None],
                    };
                    cases.push(Planned { case, goals });
                }
            }
        }
    }
    cases
}

/// Messages of 64 bytes, by the library at a processor's pace.
pub fn short_messages(way: Way) -> Case {
    Case { in_flight: 16, batch: 4, notify: Notify::Poll, ..Case::new(way, 64) }
}

/// The same as fast as the gateware goes: stores take no time, and the queue covers the memory's delay.
pub fn gateware_messages(way: Way) -> Case {
    Case { in_flight: 64, batch: 16, store_ns: 0, ..short_messages(way) }
}

/// Writes or reads of a memory of the core, or both at once.
pub fn memory(way: Way) -> Case {
    Case { in_flight: 4, port: Port::Memory, ..Case::new(way, 256 * KIB) }
}

/// The same in messages of 4 KiB.
pub fn short_memory(way: Way) -> Case {
    Case { size: 4 * KIB, in_flight: 8, ..memory(way) }
}

/// Stores through the window onto a memory: `store_ns` is a processor's, or 0, as another device would.
pub fn window(store_ns: u64) -> Case {
    Case { port: Port::Window, store_ns, ..Case::new(Way::H2c, MIB) }
}

/// A store through the window, and a load of the same bytes.
pub fn store_and_load() -> Case {
    Case { port: Port::Window, ..Case::new(Way::RoundTrip, 4) }
}

/// From card to card.
pub fn peers(way: Way, mps: u32, size: u64) -> Case {
    Case { port: Port::Peer, mps, ..Case::new(way, size) }
}

/// A message of eight bytes to another card and back, by the cores' own clocks.
pub fn peer_trip() -> Case {
    peers(Way::RoundTrip, 128, 8)
}

/// What the tables that Towpath promises itself name.
pub fn quick() -> Vec<Table> {
    let mut tables = Vec::new();
    let mut table = |title: &'static str, cases: Vec<Planned>| tables.push(Table { title, cases });

    let mut cases = Vec::new();
    for way in WAYS {
        for read_latency_ns in [500, 1000, 2000] {
            let goal = by_way(way, Goal::Flow(99.0, 100.0), Goal::Flow(99.5, 100.0));
            cases.push(one(Case { read_latency_ns, ..Case::new(way, MIB) }, goal));
        }
    }
    table("While data flows, one direction alone", cases);

    let mut cases = Vec::new();
    for way in WAYS {
        for read_latency_ns in [500, 1000] {
            let goal = by_way(way, Goal::Flow(98.0, 100.0), Goal::Flow(99.5, 100.0));
            cases.push(one(Case { read_latency_ns, mps: 256, ..Case::new(way, MIB) }, goal));
        }
    }
    table("The same with payloads and completions of 256 bytes", cases);

    let mut cases = Vec::new();
    for (size, in_flight) in [(MIB, 4), (4 * MIB, 1)] {
        for read_latency_ns in [500, 1000] {
            let case = Case { read_latency_ns, in_flight, ..Case::new(Way::Both, size) };
            cases.push(Planned { case, goals: [Goal::Flow(98.5, 100.0), Goal::Flow(95.0, 95.95)] });
        }
    }
    table("Both directions at once, over the time in which both flow", cases);
    table("Both directions at once, at the settings of servers", servers(&[Way::Both], (2, 8, 128), &[8, 16, 32, 64]));
    table("One direction alone, at the settings of servers", servers(&WAYS, (2, 8, 128), &[8, 32]));

    let mut cases = Vec::new();
    let goals = [
        (4 * KIB, (44.0, 48.7), (37.0, 39.9)),
        (16 * KIB, (76.0, 79.2), (70.0, 72.6)),
        (64 * KIB, (92.0, 93.8), (90.0, 91.4)),
        (MIB, (99.0, 99.6), (98.5, 99.4)),
    ];
    for way in WAYS {
        for (size, c2h, h2c) in goals {
            cases.push(one(Case::new(way, size), by_way(way, Goal::EndToEnd(h2c.0, h2c.1), Goal::EndToEnd(c2h.0, c2h.1))));
        }
    }
    table("One blocking call by plain interrupt", cases);

    let mut cases = Vec::new();
    for way in WAYS {
        let goal = by_way(way, Goal::EndToEnd(54.0, 60.3), Goal::EndToEnd(70.0, 81.6));
        cases.push(one(Case { notify: Notify::Poll, ..Case::new(way, 4 * KIB) }, goal));
    }
    table("One blocking call by polling", cases);

    let mut cases = Vec::new();
    for way in WAYS {
        for size in [16 * KIB, 64 * KIB, MIB] {
            let poll = Case { notify: Notify::Poll, ..Case::new(way, size) };
            cases.push(one(poll, Goal::None));
            for wake_ns in [1_000, 10_000] {
                cases.push(one(Case { notify: Notify::Early, wake_ns, ..poll }, Goal::EndToEndNear(3.0, poll)));
            }
        }
    }
    table("One blocking call with early wake, against polling", cases);

    let cases = WAYS.map(|way| one(Case { in_flight: 8, ..Case::new(way, 4 * KIB) }, Goal::EndToEnd(97.0, 98.7)));
    table("Eight messages of 4 KiB in flight", cases.to_vec());

    let mut cases = Vec::new();
    for way in [Way::C2h, Way::H2c, Way::Both] {
        cases.push(Planned { case: short_messages(way), goals: [Goal::Rate(8.0); 2] });
        cases.push(Planned { case: gateware_messages(way), goals: [Goal::Rate(20.0); 2] });
    }
    table("Messages of 64 bytes by one thread, several a call", cases);

    let trip = Case { notify: Notify::Poll, descriptor: Descriptor::Inline, ..Case::new(Way::RoundTrip, 8) };
    table("There and back through the loopback core, by polling, receive posted", vec![one(trip, Goal::Nanoseconds(800.0))]);

    let single = Case { in_flight: 4, ..Case::new(Way::Both, 256 * KIB) };
    let shared = Goal::Shared(98.0, single, 5.0);
    let eight = Planned { case: Case { channels: 8, ..single }, goals: [shared, shared] };
    table("Eight pairs of channels busy at once, over the time in which all flow", vec![one(single, Goal::None), eight]);

    let mut cases = Vec::new();
    for (generation, lanes, width) in [(3, 8, 256), (3, 16, 512), (4, 8, 512)] {
        for way in WAYS {
            for read_latency_ns in [500, 1000] {
                let base = Case { read_latency_ns, ..Case::new(way, MIB) };
                cases.push(one(Case { read_latency_ns, ..link(way, MIB, generation, lanes, width) }, Goal::FlowNear(1.5, base)));
            }
        }
    }
    table("Faster links at wider data paths, while data flows", cases);

    let mut cases = Vec::new();
    for way in WAYS {
        let direct = Case::new(way, MIB);
        cases.push(one(Case { descriptor: Descriptor::List, ..direct }, Goal::EndToEndNear(1.0, direct)));
    }
    table("Lists of scattered pages of 4 KiB, against one contiguous buffer", cases);

    let mut cases: Vec<Planned> = WAYS.map(|way| one(memory(way), Goal::Flow(99.0, 100.0))).into();
    cases.push(Planned { case: memory(Way::Both), goals: [Goal::Flow(98.0, 100.0), Goal::Flow(94.5, 96.0)] });
    cases.extend(WAYS.map(|way| one(short_memory(way), Goal::None)));
    // By polling the queue never runs dry. Of each read's 1227 ns the link spends 11 on half an entry of the ring; of each
    // write's 1208, 22 on its two descriptors and the store that commits them.
    let [reads, writes] = WAYS.map(|way| Case { notify: Notify::Poll, ..short_memory(way) });
    cases.extend([one(reads, Goal::Flow(99.0, 99.2)), one(writes, Goal::Flow(98.0, 98.3))]);
    table("A memory of the core that answers in 200 ns, while data flows", cases);

    let case = window(0);
    let cases = vec![
        one(case, Goal::EndToEnd(95.0, 100.0)),
        one(Case { store_ns: Case::new(Way::H2c, 0).store_ns, ..case }, Goal::None),
        // A store, the link's ways there and back, twice the memory's time, and 200 ns for the card.
        one(store_and_load(), Goal::Nanoseconds(1200.0)),
    ];
    table("The window onto a memory of the core that answers in 200 ns: stores of 64 bytes; a store of 4 bytes and a load of them", cases);

    let mut cases = Vec::new();
    for mps in [128, 256] {
        cases.push(one(peers(Way::C2h, mps, 64 * KIB), Goal::Flow(99.0, 100.0)));
        cases.push(Planned { case: peers(Way::Both, mps, 64 * KIB), goals: [Goal::Flow(98.0, 100.0); 2] });
    }
    cases.extend([4 * KIB, 64].map(|size| one(peers(Way::C2h, 128, size), Goal::None)));
    cases.push(one(peer_trip(), Goal::Nanoseconds(600.0)));
    let both = peers(Way::Both, 128, 64 * KIB);
    cases.push(one(Case { channels: 3, ..both }, Goal::Shared(90.0, both, 5.0)));
    table("From card to card without the host, 150 ns apart; and a ring of four, each busy with both neighbours and with the host", cases);
    tables
}

/// A configuration whose bandwidth is measured at every size.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    /// Of the table.
    pub title: &'static str,
    /// Of the link.
    pub generation: u8,
    /// Of the link.
    pub lanes: u8,
    /// Of the data path.
    pub width: u32,
}

impl Curve {
    /// A point of it.
    pub fn case(&self, way: Way, size: u64) -> Case {
        link(way, size, self.generation, self.lanes, self.width)
    }
}

/// The curves of the plot.
pub const CURVES: [Curve; 4] = [
    Curve { title: "Bandwidth against size: Gen1 x8, 64 bit", generation: 1, lanes: 8, width: 64 },
    Curve { title: "Bandwidth against size: Gen2 x8, 128 bit", generation: 2, lanes: 8, width: 128 },
    Curve { title: "Bandwidth against size: Gen3 x8, 256 bit", generation: 3, lanes: 8, width: 256 },
    Curve { title: "Bandwidth against size: Gen3 x16, 512 bit", generation: 3, lanes: 16, width: 512 },
];

/// Links, and the narrowest data path that takes all of each at 250 MHz; the last one runs at 500 MHz.
const LINKS: [(u8, u8, u32); 9] =
    [(1, 4, 64), (1, 8, 64), (2, 4, 64), (2, 8, 128), (3, 4, 128), (3, 8, 256), (3, 16, 512), (4, 8, 512), (5, 8, 512)];

/// All of it: the quick tables, every link, the realistic share of data link packets, and the curves of bandwidth against size.
pub fn full() -> Vec<Table> {
    let mut tables = quick();
    let ways = [Way::C2h, Way::H2c, Way::Both];
    let cases = [4 * KIB, 16 * KIB, 64 * KIB, MIB].map(|size| one(Case::new(Way::Both, size), Goal::None));
    tables.push(Table { title: "One blocking call in each direction at once", cases: cases.to_vec() });
    let trip = |size| Case { descriptor: Descriptor::Inline, ..Case::new(Way::RoundTrip, size) };
    let cases = [Notify::Poll, Notify::Interrupt].map(|notify| one(Case { notify, ..trip(16) }, Goal::None));
    tables.push(Table { title: "There and back through the loopback core, 16 bytes", cases: cases.to_vec() });
    for (title, mps) in [
        ("Every link, payloads and completions of 128 bytes", 128),
        ("Every link, payloads and completions of 256 bytes", 256),
        ("Every link, payloads and completions of 512 bytes", 512),
    ] {
        let link = |(generation, lanes, width)| ways.map(|way| one(Case { mps, ..link(way, MIB, generation, lanes, width) }, Goal::None));
        tables.push(Table { title, cases: LINKS.into_iter().flat_map(link).collect() });
    }
    let cases = LINKS.into_iter().flat_map(|link| servers(&[Way::Both], link, &[32]));
    tables.push(Table { title: "Every link, at the settings of servers", cases: cases.collect() });
    let cases = ways.map(|way| one(Case { dllp_per_mille: DLLP_PER_MILLE, ..Case::new(way, MIB) }, Goal::None));
    tables.push(Table { title: "With data link packets: 8.1 % of the link's rate, of what is left", cases: cases.to_vec() });
    for curve in CURVES {
        let sizes = (2..=26).map(|log2| 1u64 << log2);
        let points = sizes.flat_map(|size| WAYS.map(|way| one(curve.case(way, size), Goal::None)));
        tables.push(Table { title: curve.title, cases: points.collect() });
    }
    tables
}

/// What of a plan can be measured at the pins of an endpoint's hard block: the widths that it has.
///
/// # Errors
/// When there is no endpoint of that name.
pub fn at_endpoint(mut tables: Vec<Table>, name: &str) -> Result<Vec<Table>, BenchError> {
    let failed = |why: &dyn std::fmt::Display| BenchError::Core(format!("endpoint \"{name}\": {why}"));
    let all = endpoints().map_err(|why| failed(&why))?;
    let names: Vec<&str> = all.iter().map(|endpoint| endpoint.name.as_str()).collect();
    let none = || failed(&format!("there is none of that name; there are: {}", names.join(", ")));
    let widths = &all.iter().find(|endpoint| endpoint.name == name).ok_or_else(none)?.widths;
    for table in &mut tables {
        table.cases.retain(|planned| widths.contains(&planned.case.width));
    }
    tables.retain(|table| !table.cases.is_empty());
    Ok(tables)
}

/// A row of the short page. Its cases are among those of [`full`].
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// What is transferred, where it differs from [`Case::new`].
    pub title: &'static str,
    /// The case of card to host.
    pub c2h: Case,
    /// The case of host to card: the same one if both directions run.
    pub h2c: Case,
}

/// The rows of the short page: favourable or not, each way of moving data has one.
pub fn summary() -> Vec<Summary> {
    let poll = |case: Case| Case { notify: Notify::Poll, ..case };
    let early = |case: Case| Case { notify: Notify::Early, wake_ns: 10_000, ..case };
    let alone = |title, size, change: &dyn Fn(Case) -> Case| {
        let [c2h, h2c] = WAYS.map(|way| change(Case::new(way, size)));
        Summary { title, c2h, h2c }
    };
    let both = |title, case: Case| Summary { title, c2h: case, h2c: case };
    vec![
        alone("4 KiB", 4 * KIB, &|case| case),
        alone("4 KiB, by polling", 4 * KIB, &poll),
        alone("4 KiB, eight in flight", 4 * KIB, &|case| Case { in_flight: 8, ..case }),
        alone("64 KiB", 64 * KIB, &|case| case),
        alone("64 KiB, an interrupt that takes 10 us, early wake", 64 * KIB, &early),
        alone("1 MiB", MIB, &|case| case),
        alone("1 MiB, scattered pages of 4 KiB", MIB, &|case| Case { descriptor: Descriptor::List, ..case }),
        alone("1 MiB, Gen3 x8 at 256 bit", MIB, &|case| link(case.way, MIB, 3, 8, 256)),
        alone("1 MiB, Gen3 x16 at 512 bit", MIB, &|case| link(case.way, MIB, 3, 16, 512)),
        alone("4 KiB of a core's memory that answers in 200 ns, eight in flight", 4 * KIB, &|case| short_memory(case.way)),
        alone("the same by polling", 4 * KIB, &|case| poll(short_memory(case.way))),
        alone("256 KiB of a core's memory that answers in 200 ns, four in flight", 256 * KIB, &|case| memory(case.way)),
        both("4 KiB, both directions at once", Case::new(Way::Both, 4 * KIB)),
        both("1 MiB, both directions at once", Case::new(Way::Both, MIB)),
        both("1 MiB, both at once, payloads of 512 bytes", Case { mps: 512, ..Case::new(Way::Both, MIB) }),
        both(
            "256 KiB, eight pairs of channels at once, four in flight on each",
            Case { channels: 8, in_flight: 4, ..Case::new(Way::Both, 256 * KIB) },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_set_and_every_reference_is_measured() {
        let tables = full();
        let cases: Vec<Case> = tables.iter().flat_map(|table| &table.cases).map(|planned| planned.case).collect();
        for table in &tables {
            assert!(!table.cases.is_empty(), "{}", table.title);
            for Planned { case, goals } in &table.cases {
                assert_eq!(case.settings().check(), Ok(()), "{case}");
                for goal in goals {
                    if let Goal::EndToEndNear(_, other) | Goal::FlowNear(_, other) | Goal::Shared(_, other, _) = goal {
                        assert!(cases.contains(other), "{}: nobody measures {other}", table.title);
                    }
                }
            }
        }
        for Summary { title, c2h, h2c } in summary() {
            assert!(cases.contains(&c2h) && cases.contains(&h2c), "{title}: not measured");
        }
        assert!(quick().iter().all(|table| table.cases.iter().any(|planned| planned.goals[0] != Goal::None)), "targets make it quick's");
    }
}
