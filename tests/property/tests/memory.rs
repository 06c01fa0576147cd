// SPDX-License-Identifier: Apache-2.0
//! Random reads and writes of `cores/scratchpad`, by DMA and by the window, in simulation, at two widths: see [`towpath_property::memories`].
//!
//! From the environment:
//! - TOWPATH_SEED: the seed of the first run (1 otherwise); a failure tells its own
//! - TOWPATH_OPERATIONS: operations a test, instead of 800
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::time::Instant;
use towpath_property::memories::{run, Met};

const OPERATIONS: usize = 800;
/// Operations of one run: then the device is opened again, with other settings.
const RUN: usize = 200;
/// Things that there are to be met.
const THINGS: usize = 10;

fn environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

fn memories(width: usize) {
    let operations = environment("TOWPATH_OPERATIONS").map_or(OPERATIONS, |count| count as usize);
    let first = environment("TOWPATH_SEED").unwrap_or(1);
    let began = Instant::now();
    let mut met = Met::new();
    for (seed, done) in (first..).zip((0..operations).step_by(RUN)) {
        println!("{width} bits: TOWPATH_SEED={seed}");
        for (what, count) in run("scratchpad", width, seed, RUN.min(operations - done)).unwrap() {
            *met.entry(what).or_default() += count;
        }
    }
    println!("{width} bits: {operations} operations, {:.0} s; {met:?}", began.elapsed().as_secs_f64());
    assert!(met.len() == THINGS || operations < OPERATIONS, "not all was met: {met:?}");
}

#[test]
fn memories_at_128_bits() {
    memories(128);
}

#[test]
fn memories_at_64_bits() {
    memories(64);
}
