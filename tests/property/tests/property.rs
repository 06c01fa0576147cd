// SPDX-License-Identifier: Apache-2.0
//! The property: whatever a program sends comes back, byte for byte, message for message, with every completion as the contract says.
//!
//! Over the simulator, at two widths, with one channel each way and with three and two, on Towpath's clock and on one of the core's own; in
//! the program's process, and behind a socket.
//! From the environment:
//! - TOWPATH_PROPERTY_DEVICE: another device (cores/loopback or tests/cores/loop3x2 behind it), instead of the one behind a socket
//! - TOWPATH_SEED: the seed of the first run (1 otherwise); a failure tells its own
//! - TOWPATH_TRANSFERS: transfers a test, instead of as many as it wants
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::time::Instant;
use towpath_property::{run, Coverage, Plan};

/// Transfers of one run: then the device is opened again, with other settings.
const RUN: u64 = 100;
/// So many transfers meet everything that is to be met.
const ENOUGH: u64 = 2000;

fn environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

fn test_core(name: &str) -> String {
    format!("sim:{}/../cores/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn stream(device: &str, transfers: u64) {
    stream_over(device, false, transfers);
}

/// Runs until so many transfers are done, and sees that everything was met on the way.
fn stream_over(device: &str, served: bool, transfers: u64) {
    let wanted = environment("TOWPATH_TRANSFERS").unwrap_or(transfers);
    let first = environment("TOWPATH_SEED").unwrap_or(1);
    let began = Instant::now();
    let (mut coverage, mut counts, mut cycles, mut nanoseconds, mut failures) = (Coverage::default(), [0; 2], 0, 0, Vec::new());
    for seed in first.. {
        if counts[0] >= wanted || failures.len() == 3 {
            break;
        }
        let plan = Plan { device: device.into(), vary: true, served, seed, transfers: RUN.min(wanted - counts[0]) };
        match run(&plan) {
            Ok(report) => {
                println!("{report}");
                coverage = coverage.and(&report.coverage);
                counts = [counts[0] + report.transfers[0], counts[1] + report.transfers[1]];
                (cycles, nanoseconds) = (cycles + report.cycles, nanoseconds + report.now_ns);
            }
            Err(what) => {
                println!("FAILED {what}");
                failures.push(what);
                counts[0] += RUN;
            }
        }
    }
    let wall = began.elapsed().as_secs_f64();
    println!(
        "{device}: {counts:?} transfers, {:.1} ms, {wall:.0} s; {:.0} thousand cycles a second",
        nanoseconds as f64 / 1e6,
        cycles as f64 / wall / 1e3
    );
    println!("{device}: {coverage:?}");
    assert!(failures.is_empty(), "{device}: {} runs failed, the first: {}", failures.len(), failures[0]);
    let gaps = coverage.gaps();
    println!("{device}: never met: {gaps:?}");
    assert!(gaps.is_empty() || wanted < ENOUGH, "{device}: never met: {gaps:?}");
}

#[test]
fn streams_at_128_bits() {
    stream("sim:loopback?width=128", ENOUGH);
}

#[test]
fn streams_at_64_bits() {
    stream("sim:loopback?width=64", ENOUGH);
}

#[test]
fn streams_over_three_and_two_channels() {
    stream(&format!("{}?width=128", test_core("loop3x2")), 500);
}

#[test]
fn streams_over_three_and_two_channels_at_64_bits_with_a_clock_of_the_cores_own() {
    stream(&format!("{}?width=64", test_core("loop3x2_async")), 500);
}

#[test]
fn streams_over_another_device() {
    match environment::<String>("TOWPATH_PROPERTY_DEVICE") {
        Some(device) => stream_over(&device, false, ENOUGH),
        None => stream_over("sim:loopback?width=128", true, ENOUGH),
    }
}

/// Blocking transfers of 4 KiB there and back, one by one, each after a system call that nothing else makes: so a tracer can tell what each
/// costs (tests/driver/guest/test_calls.py).
#[test]
fn transfers_between_marks() {
    fn mark() -> u32 {
        std::os::unix::process::parent_id()
    }
    let name = environment::<String>("TOWPATH_PROPERTY_DEVICE").unwrap_or_else(|| "sim:loopback?width=128".into());
    let device = towpath::Device::open(&name).unwrap();
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let (data, mut back) = ([7; 4096], [0; 4096]);
    for _ in 0..environment("TOWPATH_TRANSFERS").unwrap_or(10) {
        mark();
        sender.send(&data).unwrap();
        mark();
        receiver.recv_into(&mut back).unwrap();
    }
    mark();
    assert_eq!(back, data);
}

#[test]
fn streams_over_three_and_two_channels_of_another_process() {
    stream_over(&format!("{}?width=64", test_core("loop3x2_async")), true, 300);
}
