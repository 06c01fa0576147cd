// SPDX-License-Identifier: Apache-2.0
//! At the pins of each endpoint's hard block: the targets of bandwidth are those at the neutral streams, and a round trip takes little more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use towpath_bench::{at_endpoint, quick, run};
use towpath_cores::endpoints;

const TITLES: [&str; 3] = [
    "While data flows, one direction alone",
    "Both directions at once, over the time in which both flow",
    "There and back through the loopback core, by polling, receive posted",
];
/// For 8 bytes there and back, of which the endpoint has at most 80: it is 530 without one.
const ROUND_TRIP_NS: f64 = 610.0;

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
