// SPDX-License-Identifier: Apache-2.0
//! A core's memory is written and read at line rate, by the gateware, through the library.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use towpath_bench::{quick, run};

#[test]
fn a_memory_is_as_fast_as_the_link() {
    let mut tables = quick();
    tables.retain(|table| table.cases.iter().all(|planned| planned.case.memory));
    assert_eq!(tables.len(), 1, "the bench has no table of memories");
    let report = run(tables, None, &|line| println!("{line}")).unwrap();
    println!("{}", report.markdown());
    assert_eq!(report.rows().len(), 6);
    assert_eq!(report.shortfalls(), Vec::<String>::new());
}
