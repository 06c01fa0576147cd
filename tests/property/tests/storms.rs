// SPDX-License-Identifier: Apache-2.0
//! Ten thousand faults of every kind among random traffic: see `towpath_property::storm` for what must be true.
//!
//! From the environment: TOWPATH_SEED, the seed of the first run (1 otherwise; a failure tells its own); TOWPATH_FAULTS, faults a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use towpath_property::storm::{run, Plan, Report};

/// Faults of one run: then the card is opened again, with other settings.
const RUN: u64 = 500;

fn environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

/// Runs until so many faults have happened, and sees that no kind was left out.
fn storms(core: &str, width: u32, faults: u64) {
    let faults = environment("TOWPATH_FAULTS").unwrap_or(faults);
    let first = environment("TOWPATH_SEED").unwrap_or(1);
    let (mut all, mut failures) = (Report::default(), Vec::new());
    for seed in first.. {
        if all.total() >= faults || failures.len() == 3 {
            break;
        }
        let core = format!("{}/../../{core}", env!("CARGO_MANIFEST_DIR"));
        match run(&Plan { core, width, endpoint: None, seed, faults: RUN.min(faults) }) {
            Ok(report) => {
                println!("seed {seed}: {report}");
                all = all.and(&report);
            }
            Err(what) => {
                println!("seed {seed}: FAILED {what}");
                failures.push(what);
            }
        }
    }
    println!("{core}, {width} bit: {all}");
    assert!(failures.is_empty(), "{core}: {} runs failed, the first: {}", failures.len(), failures[0]);
    assert!(all.batches > 0, "nothing was posted in batches");
    let kinds = all.faults.len();
    assert!(kinds == 14 || faults < 2000, "only {kinds} of 14 kinds of faults happened: {:?}", all.faults);
}

#[test]
fn faults_among_traffic_at_128_bits() {
    storms("cores/loopback", 128, 2200);
}

#[test]
fn faults_among_traffic_at_64_bits() {
    storms("cores/loopback", 64, 2200);
}

#[test]
fn faults_among_traffic_on_three_and_two_channels() {
    storms("tests/cores/loop3x2", 128, 3300);
}

#[test]
fn faults_among_traffic_on_three_and_two_channels_at_64_bits_with_a_clock_of_the_cores_own() {
    storms("tests/cores/loop3x2_async", 64, 2500);
}

#[test]
fn faults_among_traffic_at_256_bits() {
    storms("cores/loopback", 256, 1100);
}

#[test]
fn faults_among_traffic_at_512_bits() {
    storms("cores/loopback", 512, 1100);
}
