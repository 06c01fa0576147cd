// SPDX-License-Identifier: Apache-2.0
//! The window onto a memory that answers 200 ns late: stores fill the link, none is lost, and a store with a load behind it takes little more than
//! the way there and back.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use towpath_bench::{Case, Way};
use towpath_bus::Bus;
use towpath_contract as contract;
use towpath_cores::{build, find_core, towpath_home, BuildOptions};
use towpath_sim::SimBus;

/// Of core `scratchpad`: clocks before each answer, of 4 ns.
const LATENCY: (u64, u32) = (0x04, 50);
const BAR: u8 = contract::BAR_MEMORY;
/// What stores may reach of the link's rate, in per cent.
const RATE: f64 = 95.0;
/// A store of 4 bytes and a load of them: 60 ns for the store, 500 ns for the load's ways, twice 200 ns in the memory, and the card's part.
const STORE_AND_LOAD_NS: f64 = 1200.0;

fn scratchpad(store_ns: u64) -> Arc<SimBus> {
    let folder = find_core(&towpath_home().unwrap().join("cores/scratchpad").to_string_lossy()).unwrap();
    let built = build(&folder, &BuildOptions::default()).unwrap();
    let case = Case { store_ns, ..Case::new(Way::H2c, 4096) };
    let bus = SimBus::open("scratchpad", &built.library, case.settings(), None, Arc::new(|_, _| ()), Vec::new()).unwrap();
    bus.write32(contract::BAR_WINDOW, LATENCY.0, LATENCY.1).unwrap();
    bus
}

fn dropped(bus: &SimBus) -> u32 {
    let page = contract::PAGE_CARD << 12;
    bus.read32(contract::BAR_DEVICE, page + contract::CARD_MEMORY_WINDOW_OVERRUNS_OFFSET).unwrap()
}

#[test]
fn stores_fill_the_link() {
    let bus = scratchpad(0);
    let data: Vec<u8> = (0..1u32 << 18).flat_map(|word| word.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
    bus.read32(contract::BAR_WINDOW, 0).unwrap();
    let before = bus.statistics().unwrap();
    bus.write_combining(BAR, 0, &data).unwrap();
    bus.fence().unwrap();
    let mut back = vec![0; 64];
    bus.read_bytes(BAR, data.len() as u64 - 64, &mut back).unwrap();
    let spent = bus.statistics().unwrap().since(&before);
    assert!(back == data[data.len() - 64..]);
    bus.read_bytes(BAR, 4096, &mut back).unwrap();
    assert!(back == data[4096..4160]);
    assert_eq!(dropped(&bus), 0);
    let wire = spent.to_card as f64 / bus.wire().unwrap().bytes_per_us as f64 * 1e6;
    let percent = 100.0 * wire / spent.picoseconds as f64;
    println!("{} bytes in stores of 64: {percent:.2} % of the link's rate", data.len());
    assert!(percent >= RATE, "{percent:.2} %");
}

#[test]
fn a_store_and_a_load_take_little_more_than_their_ways() {
    let bus = scratchpad(60);
    bus.read32(contract::BAR_WINDOW, 0).unwrap();
    let (count, before) = (200u32, bus.statistics().unwrap().picoseconds);
    for number in 0..count {
        bus.write32(BAR, u64::from(number) * 68, number).unwrap();
        assert_eq!(bus.read32(BAR, u64::from(number) * 68).unwrap(), number);
    }
    let each = (bus.statistics().unwrap().picoseconds - before) as f64 / 1000.0 / f64::from(count);
    println!("a store of 4 bytes and a load of them: {each:.0} ns");
    assert!(each <= STORE_AND_LOAD_NS, "{each:.0} ns");
}
