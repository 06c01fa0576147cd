// SPDX-License-Identifier: Apache-2.0
//! The same property, and the same weather, with each endpoint between the link and the core: the card is simulated at the pins of a hard
//! block. Every endpoint that has a model of its pins is met at 128 bit, and at 64 where 128 is the most that it has.
//!
//! From the environment: TOWPATH_SEED, the seed of each first run (1 otherwise).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use towpath_cores::endpoints;
use towpath_property::{run, storm, Plan};

/// Transfers, and runs of so many with settings of their own.
const RUN: u64 = 60;
const RUNS: u64 = 4;
/// Faults of a storm.
const FAULTS: u64 = 300;

fn first() -> u64 {
    std::env::var("TOWPATH_SEED").map_or(1, |seed| seed.parse().unwrap_or_else(|_| panic!("TOWPATH_SEED={seed}: not a number")))
}

/// Calls with the name and a width of each endpoint.
fn each(test: impl Fn(&str, u32)) {
    let all = endpoints().unwrap();
    assert!(!all.is_empty(), "no endpoint was found");
    for endpoint in all {
        let most = endpoint.widths.iter().max();
        for width in endpoint.widths.iter().filter(|width| **width == 128 || most == Some(&128)) {
            test(&endpoint.name, *width);
        }
    }
}

#[test]
fn streams_through_each_endpoint() {
    each(|endpoint, width| {
        for seed in first()..first() + RUNS {
            let device = format!("sim:loopback?width={width}&endpoint={endpoint}");
            let plan = Plan { device, vary: true, served: false, seed, transfers: RUN };
            println!("{}", run(&plan).unwrap_or_else(|what| panic!("{what}")));
        }
    });
}

#[test]
fn storms_through_each_endpoint() {
    each(|endpoint, width| {
        let plan = storm::Plan { core: "loopback".into(), width, endpoint: Some(endpoint.into()), seed: first(), faults: FAULTS };
        println!("{endpoint}, {width} bit: {}", storm::run(&plan).unwrap_or_else(|what| panic!("{endpoint}, {width} bit: {what}")));
    });
}
