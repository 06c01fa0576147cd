// SPDX-License-Identifier: Apache-2.0
//! The one program of a virtual machine: it finds QEMU's devices by real kernel's files, gives them to vfio-pci by the commands that the
//! checks name, and drives them through crate `towpath-vfio`. Each test says how it went on the console, where `test_vfio.py` reads it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::exit)]

mod card;
mod devices;
mod edu;
mod groups;
mod peers;
mod refusals;
mod system;

use std::panic::{catch_unwind, AssertUnwindSafe};

/// A test's name and what it does.
type Test = (&'static str, fn());

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // In the machine, started by a test.
        [_, "open", address] => return refusals::as_another_user(address),
        // Outside of it.
        [_, "serve", socket] => return card::serve(socket),
        [_, "serve-peer", socket] => return peers::serve(socket),
        _ => (),
    }
    std::panic::set_hook(Box::new(|what| println!("  {}", what.to_string().replace('\n', "\n  "))));
    let tests: &[Test] = match catch_unwind(system::start) {
        Err(_) => &[],
        Ok(()) => match system::option("towpath").as_str() {
            "devices" => &[edu::TESTS, devices::TESTS, refusals::TESTS, groups::TESTS].concat(),
            "no-iommu" => &[("without_an_iommu", refusals::without_an_iommu as fn())],
            "card" => card::TESTS,
            "peers" => peers::TESTS,
            "switch" => peers::BELOW_A_SWITCH,
            "group" => peers::IN_ONE_GROUP,
            other => panic!("no tests are named {other:?}"),
        },
    };
    for (name, test) in tests {
        let outcome = if catch_unwind(AssertUnwindSafe(test)).is_ok() { "ok" } else { "FAILED" };
        println!("towpath: {name}: {outcome}");
    }
    system::stop()
}
