// SPDX-License-Identifier: Apache-2.0
//! `bench`: measures the gateware in simulation. What is measured, and how, is in crate `towpath-bench`.

use std::fs::File;
use std::io::Write;

use towpath_bench::{draw, full, quick, run, BenchError};

use crate::args::{Bench, Cli};
use crate::exit::{Failure, Result, CORE, FILE, TRANSFER, USAGE};

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
    let mut outputs = Vec::new();
    for path in [&what.file, &what.page].into_iter().flatten() {
        outputs.push((path, File::create(path).map_err(|e| Failure::file("writing", &path.display().to_string(), &e))?));
    }
    let mut plots = what.plot.clone();
    plots.extend(what.page.iter().flat_map(|page| ["svg", "png"].map(|kind| page.with_extension(kind))));
    if let Some(plot) = plots.iter().find(|plot| !plot.extension().is_some_and(|end| end == "svg" || end == "png")) {
        return Err(Failure::new(USAGE, format!("--plot {}: give a name that ends in .svg or .png", plot.display())));
    }
    let progress = |line: &str| crate::output::eprintln_lossy(line.trim_end());
    let report = run(tables, &progress)?;
    for (path, mut output) in outputs {
        let text = if Some(path) == what.page.as_ref() { report.page() } else { crate::output::json(&report.json()) };
        output.write_all(text.as_bytes()).map_err(|e| Failure::file("writing", &path.display().to_string(), &e))?;
    }
    for plot in &plots {
        draw(report.rows(), plot).map_err(|why| Failure::new(FILE, why))?;
    }
    if cli.json && what.file.is_none() {
        return crate::output::print(&crate::output::json(&report.json()));
    }
    crate::output::print(&report.markdown())?;
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
