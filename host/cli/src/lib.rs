// SPDX-License-Identifier: Apache-2.0
//! The command line of Towpath, as a library, so that the program built by cargo and the one in the Python package are the same code.
//!
//! [`main`] takes the arguments and returns the exit code; it prints, and for `run` replaces the process. Not for programs that move
//! data: they use crate `towpath`.

mod args;
mod bench;
mod device;
mod exit;
mod registers;
mod run;
mod sim;
mod streams;
mod transfer;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use args::{Cli, Verb};
use exit::{Failure, Result};

/// Run the command line; the first argument is the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe must not turn `towpath --help | head` into an error.
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE } else { 0 };
        }
    };
    log_to_stderr(cli.verbose);
    let done = match &cli.verb {
        Verb::List => device::list(&cli),
        Verb::Info => device::info(&cli),
        Verb::Send(what) => transfer::send(&cli, what),
        Verb::Recv(what) => transfer::recv(&cli, what),
        Verb::Reg(what) => registers::reg(&cli, what),
        Verb::Irq(what) => registers::irq(&cli, what),
        Verb::Run(what) => run::run(what),
        Verb::Sim(what) => sim::sim(&cli, what),
        Verb::Bench(what) => bench::bench(&cli, what),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            eprintln_lossy(&format!("towpath: {}", failure.message));
            failure.code
        }
    }
}

/// Print to standard output; a closed pipe or a full disk is an error like any other.
fn print(text: &str) -> Result {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::file("writing", "standard output", &e))
}

/// Print to standard error, where nothing can be done about a failure.
fn eprintln_lossy(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// One JSON value and a newline.
fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// The library's log, from warnings up; more with `--verbose`.
struct StandardError;

impl log::Log for StandardError {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln_lossy(&format!("{}: {}", record.level().as_str().to_lowercase(), record.args()));
        }
    }

    fn flush(&self) {}
}

fn log_to_stderr(verbose: u8) {
    // In the Python package a second call in one process finds the logger in place.
    let _ = log::set_logger(&StandardError);
    log::set_max_level(match verbose {
        0 => log::LevelFilter::Warn,
        1 => log::LevelFilter::Info,
        _ => log::LevelFilter::Trace,
    });
}
