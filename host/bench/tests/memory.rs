// SPDX-License-Identifier: Apache-2.0
//! A core's memory is written and read at line rate, by the gateware, through the library: by transfers, and by stores through its window.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use towpath_bench::{quick, run, Port};

/// The table of that port is measured, and meets its targets.
fn is_as_fast_as_the_link(port: Port, rows: usize) {
    let mut tables = quick();
    tables.retain(|table| table.cases.iter().all(|planned| planned.case.port == port));
    assert_eq!(tables.len(), 1, "tables of the bench");
    let report = run(tables, None, &|line| println!("{line}")).unwrap();
    println!("{}", report.markdown());
    assert_eq!(report.rows().len(), rows);
    assert_eq!(report.shortfalls(), Vec::<String>::new());
}

#[test]
fn a_memory_is_as_fast_as_the_link() {
    is_as_fast_as_the_link(Port::Memory, 8);
}

#[test]
fn a_window_is_as_fast_as_the_link() {
    is_as_fast_as_the_link(Port::Window, 3);
}
