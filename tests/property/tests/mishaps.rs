// SPDX-License-Identifier: Apache-2.0
//! A memory that never answers, resets of the core and swaps of it, in the middle of traffic: see [`towpath_property::mishaps`].
//!
//! From the environment: TOWPATH_SEED, the seed of the first run (1 otherwise; a failure tells its own); TOWPATH_ROUNDS, rounds, instead of 80.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use towpath_property::memories::Met;
use towpath_property::mishaps::run;

const ROUNDS: usize = 80;
/// Rounds of one run: then the card is opened again, with other settings.
const RUN: usize = 20;
/// Things that there are to be met.
const THINGS: usize = 9;

fn environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

#[test]
fn mishaps_hurt_nobody_else() {
    let rounds = environment("TOWPATH_ROUNDS").map_or(ROUNDS, |count| count as usize);
    let first = environment("TOWPATH_SEED").unwrap_or(1);
    let device = format!("sim:{}/../../tests/cores/mishaps", env!("CARGO_MANIFEST_DIR"));
    let mut met = Met::new();
    for (seed, done) in (first..).zip((0..rounds).step_by(RUN)) {
        println!("TOWPATH_SEED={seed}");
        for (what, count) in run(&device, seed, RUN.min(rounds - done)).unwrap() {
            *met.entry(what).or_default() += count;
        }
    }
    println!("{rounds} rounds: {met:?}");
    assert!(met.len() >= THINGS || rounds < ROUNDS, "not all was met: {met:?}");
}
