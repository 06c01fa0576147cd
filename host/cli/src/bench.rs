// SPDX-License-Identifier: Apache-2.0
//! `bench`: measures the gateware in simulation. What is measured, and how, is in crate `towpath-bench`.

use std::fs::File;
use std::io::Write;

use towpath_bench::{full, quick, run, BenchError};

use crate::args::{Bench, Cli};
use crate::exit::{Failure, Result, CORE, TRANSFER, USAGE};

pub fn bench(cli: &Cli, what: &Bench) -> Result {
    let mut tables = if what.quick { quick() } else { full() };
    if let Some(text) = &what.only {
        let titles: Vec<&str> = tables.iter().map(|table| table.title).collect();
        let none = format!("no table has {text:?} in its title; there are: {}", titles.join("; "));
        tables.retain(|table| table.title.contains(text.as_str()));
        if tables.is_empty() {
            return Err(Failure::new(USAGE, none));
        }
    }
    // Opened first: a name that cannot be written must not cost a long run.
    let file = match &what.file {
        Some(path) => Some((File::create(path).map_err(|e| Failure::file("writing", &path.display().to_string(), &e))?, path)),
        None => None,
    };
    let progress = |line: &str| crate::eprintln_lossy(line.trim_end());
    let report = run(tables, &progress)?;
    match file {
        Some((mut file, path)) => {
            let written = file.write_all(crate::json(&report.json()).as_bytes());
            written.map_err(|e| Failure::file("writing", &path.display().to_string(), &e))?;
        }
        None if cli.json => return crate::print(&crate::json(&report.json())),
        None => (),
    }
    crate::print(&report.markdown())?;
    for line in report.shortfalls() {
        progress(&format!("short of its target: {line}"));
    }
    Ok(())
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Core(_) => Failure::new(CORE, error),
            BenchError::Library(error) => error.into(),
            _ => Failure::new(TRANSFER, error),
        }
    }
}
