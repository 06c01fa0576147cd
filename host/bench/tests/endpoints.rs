// SPDX-License-Identifier: Apache-2.0
//! At the pins of each endpoint's hard block: the targets of bandwidth are those at the neutral streams, and a round trip takes little more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use towpath_bench::{at_endpoint, measure, quick, run, Case, Notify, Way};
use towpath_cores::endpoints;

const TITLES: [&str; 3] = [
    "While data flows, one direction alone",
    "Both directions at once, over the time in which both flow",
    "There and back through the loopback core, by polling, receive posted",
];
/// For 8 bytes there and back, of which the endpoint has at most 80: it is 530 without one.
const ROUND_TRIP_NS: f64 = 610.0;
/// What an endpoint may add each time that something crosses it.
const ADDED_NS: f64 = 40.0;
/// Payload of a write, and per cent of the link's rate at 512 bit and 250 MHz that a block may fill which takes packets in halves of a beat: with its
/// descriptor of 16 bytes, a payload of 128 takes 5 of 32 bytes, one of 256 takes 9, one of 512 takes 17.
const SHARED: [(u32, f64); 3] = [(128, 96.4), (256, 98.7), (512, 99.5)];

#[test]
fn an_endpoint_costs_no_bandwidth_and_little_time() {
    let all = endpoints().unwrap();
    assert!(!all.is_empty(), "no endpoint was found");
    for endpoint in all {
        let mut tables = at_endpoint(quick(), &endpoint.name).unwrap();
        tables.retain(|table| TITLES.contains(&table.title));
        assert_eq!(tables.len(), TITLES.len());
        let report = run(tables, Some(&endpoint.name), &|line| println!("{line}")).unwrap();
        println!("{}: {}", endpoint.name, report.markdown());
        assert_eq!(report.shortfalls(), Vec::<String>::new(), "{}", endpoint.name);
        let trip = report.rows().iter().find(|row| row.direction == "round-trip").unwrap();
        assert!(trip.nanoseconds <= ROUND_TRIP_NS, "{}: {} ns there and back", endpoint.name, trip.nanoseconds);
    }
    assert!(at_endpoint(quick(), "of nobody").is_err_and(|why| why.to_string().contains("there are:")));
}

#[test]
fn an_endpoint_adds_little_to_a_message() {
    for endpoint in endpoints().unwrap() {
        // C2H: the doorbell, and the data with the entry behind it. H2C: the doorbell, the read, its answer, the entry.
        for (way, crossings, size) in [(Way::C2h, 2.0, 64), (Way::C2h, 2.0, 4096), (Way::H2c, 4.0, 64), (Way::H2c, 4.0, 4096)] {
            let case = Case { notify: Notify::Poll, ..Case::new(way, size) };
            let took = |at| measure(&case, at, &|line| println!("{line}")).unwrap()[0].nanoseconds;
            let added = (took(Some(endpoint.name.as_str())) - took(None)) / crossings;
            println!("{}: {case}: {added:.1} ns more each time", endpoint.name);
            assert!(added <= ADDED_NS, "{}: {case}: {added:.1} ns more each time", endpoint.name);
        }
    }
}

#[test]
fn packets_share_the_beats_of_the_widest_path() {
    for endpoint in endpoints().unwrap().iter().filter(|endpoint| endpoint.widths.contains(&512)) {
        for (mps, least) in SHARED {
            let case = Case { width: 512, generation: 3, lanes: 16, mps, ..Case::new(Way::C2h, 1 << 20) };
            let row = &measure(&case, Some(endpoint.name.as_str()), &|line| println!("{line}")).unwrap()[0];
            let flow = row.while_data_flows_percent.unwrap();
            println!("{}: {case}: {flow:.2} %", endpoint.name);
            assert!(flow >= least, "{}: {case}: {flow:.2} %, {least} are possible", endpoint.name);
        }
    }
}
