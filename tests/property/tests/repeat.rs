// SPDX-License-Identifier: Apache-2.0
//! Determinism: the same single-threaded run twice takes the same simulated time to the nanosecond.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use towpath_property::{run, Plan};

fn same(device: &str) {
    for seed in 1001..1004 {
        let plan = Plan { device: device.into(), vary: true, served: false, seed, transfers: 30 };
        let [first, second] = [(); 2].map(|()| run(&plan).unwrap_or_else(|what| panic!("{what}")));
        println!("{first}");
        let facts = |report: &towpath_property::Report| (report.now_ns, report.cycles, report.transfers, report.bytes);
        assert_eq!(facts(&first), facts(&second), "{}", first.device);
        assert!(first.now_ns > 0);
    }
}

#[test]
fn the_same_run_takes_the_same_time() {
    same("sim:loopback");
}

#[test]
fn the_same_run_over_three_and_two_channels_and_two_clocks_takes_the_same_time() {
    same(&format!("sim:{}/../cores/loop3x2_async?width=64", env!("CARGO_MANIFEST_DIR")));
}
