// SPDX-License-Identifier: Apache-2.0
//! Random reads and writes of `cores/scratchpad`, by DMA and by the window, in simulation at two widths, and behind a socket: see
//! [`towpath_property::memories`].
//!
//! From the environment:
//! - TOWPATH_PROPERTY_DEVICE: another device with this core, instead of the one behind a socket
//! - TOWPATH_WINDOW: 1 if that one's window can be mapped, and so must be used
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
/// Of them those that need a window.
const OF_WINDOWS: usize = 2;

fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn environment(name: &str) -> Option<u64> {
    text(name).map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

fn memories(device: &str, served: bool, usual: usize) {
    let operations = environment("TOWPATH_OPERATIONS").map_or(usual, |count| count as usize);
    let first = environment("TOWPATH_SEED").unwrap_or(1);
    let began = Instant::now();
    let mut met = Met::new();
    for (seed, done) in (first..).zip((0..operations).step_by(RUN)) {
        println!("{device}: TOWPATH_SEED={seed}");
        for (what, count) in run(device, served, seed, RUN.min(operations - done)).unwrap() {
            *met.entry(what).or_default() += count;
        }
    }
    println!("{device}: {operations} operations, {:.0} s; {met:?}", began.elapsed().as_secs_f64());
    let windows = device.starts_with("sim:") || environment("TOWPATH_WINDOW") == Some(1);
    let things = if windows { THINGS } else { THINGS - OF_WINDOWS };
    assert!(met.len() >= things || operations < OPERATIONS, "not all was met: {met:?}");
    assert!(!windows || met.contains_key("loaded"), "no window was used: {met:?}");
}

#[test]
fn memories_at_128_bits() {
    memories("sim:scratchpad?width=128", false, OPERATIONS);
}

#[test]
fn memories_at_64_bits() {
    memories("sim:scratchpad?width=64", false, OPERATIONS);
}

#[test]
fn memories_over_another_device() {
    match text("TOWPATH_PROPERTY_DEVICE") {
        Some(device) => memories(&device, false, RUN),
        None => memories("sim:scratchpad?width=128", true, RUN),
    }
}
