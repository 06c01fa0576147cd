// SPDX-License-Identifier: Apache-2.0
//! `bench`: measures the gateware in simulation. What is measured, and how, is in crate `towpath-bench`.

use std::fs::{create_dir_all, File};
use std::io::Write;
use std::path::PathBuf;

use towpath_bench::{at_endpoint, draw, full, quick, run, BenchError, Report};

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
    if let Some(endpoint) = &what.endpoint {
        tables = at_endpoint(tables, endpoint)?;
        if tables.is_empty() {
            return Err(Failure::new(USAGE, format!("no table of these has a width that endpoint {endpoint} has; leave out --only")));
        }
    }
    // Opened first: a name that cannot be written must not cost a long run.
    let mut outputs = Vec::new();
    for (path, text) in texts(what) {
        let failed = |e| Failure::file("writing", &path.display().to_string(), &e);
        if Some(&path) == tables_page(what).as_ref() {
            path.parent().map_or(Ok(()), create_dir_all).map_err(failed)?;
        }
        outputs.push((File::create(&path).map_err(failed)?, path, text));
    }
    let mut plots = what.plot.clone();
    plots.extend(what.page.iter().flat_map(|page| ["svg", "png"].map(|kind| page.with_extension(kind))));
    if let Some(plot) = plots.iter().find(|plot| !plot.extension().is_some_and(|end| end == "svg" || end == "png")) {
        return Err(Failure::new(USAGE, format!("--plot {}: give a name that ends in .svg or .png", plot.display())));
    }
    let progress = |line: &str| crate::output::eprintln_lossy(line.trim_end());
    let report = run(tables, what.endpoint.as_deref(), &progress)?;
    for (mut output, path, text) in outputs {
        output.write_all(text(&report).as_bytes()).map_err(|e| Failure::file("writing", &path.display().to_string(), &e))?;
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

/// The page with all tables, for the page of `--page`: of the same name, in folder `reference` beside it.
fn tables_page(what: &Bench) -> Option<PathBuf> {
    let page = what.page.as_ref()?;
    Some(page.with_file_name("reference").join(page.file_name()?))
}

type Text = fn(&Report) -> String;

/// The files to write, and what goes into each.
fn texts(what: &Bench) -> Vec<(PathBuf, Text)> {
    let json: Text = |report| crate::output::json(&report.json());
    let files = [(what.file.clone(), json), (what.page.clone(), Report::page), (tables_page(what), Report::tables_page)];
    files.into_iter().filter_map(|(path, text)| Some((path?, text))).collect()
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
