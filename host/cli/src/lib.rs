// SPDX-License-Identifier: Apache-2.0
//! The command line of Towpath, as a library, so that the program built by cargo and the one in the Python package are the same code.
//!
//! [`main`] takes the arguments and returns the exit code; it prints, and for `run` replaces the process. Not for programs that move
//! data: they use crate `towpath`.

mod args;
mod bench;
mod connect;
mod device;
mod doctor;
mod exit;
mod files;
mod memory;
mod new;
mod output;
mod pages;
mod partial;
mod pipe;
mod program;
mod qos;
mod registers;
mod reset;
mod run;
mod signals;
mod sim;
mod streams;
mod trace;
mod transfer;
mod wrapper;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use args::{Cli, Verb};
use exit::Failure;

/// Run the command line; the first argument is the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && wants_json(&arguments) => {
            let failure = Failure::new(exit::USAGE, error.to_string().trim_end().trim_start_matches("error: "));
            output::failure(true, &failure);
            return failure.code;
        }
        Err(error) => {
            // A closed pipe must not turn `towpath --help | head` into an error.
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE } else { 0 };
        }
    };
    log_to_stderr(cli.verbose);
    let done = match &cli.verb {
        Verb::List => device::list(&cli),
        Verb::Info(what) => device::info(&cli, what),
        Verb::Send(what) => transfer::send(&cli, what),
        Verb::Recv(what) => transfer::recv(&cli, what),
        Verb::Pipe(what) => pipe::pipe(&cli, what),
        Verb::Connect(what) => connect::connect(&cli, what),
        Verb::Files(what) => files::files(&cli, what),
        Verb::Reg(what) => registers::reg(&cli, what),
        Verb::Mem(what) => memory::mem(&cli, what),
        Verb::Irq(what) => registers::irq(&cli, what),
        Verb::Qos(what) => qos::qos(&cli, what),
        Verb::Partial(what) => partial::partial(&cli, what),
        Verb::Reset(what) => reset::reset(&cli, what),
        Verb::Run(what) => run::run(what),
        Verb::Sim(what) => sim::sim(&cli, what),
        Verb::Trace(what) => trace::trace(&cli, what),
        Verb::Doctor(what) => doctor::doctor(&cli, what),
        Verb::Bench(what) => bench::bench(&cli, what),
        Verb::New(what) => new::new(&cli, what),
        Verb::Wrapper(what) => wrapper::wrapper(&cli, what),
        Verb::Completions(what) => pages::completions(what),
        Verb::Man(what) => pages::man(what),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            output::failure(cli.json, &failure);
            failure.code
        }
    }
}

/// Whether a command line that could not be understood asked for JSON.
fn wants_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// The library's log: what `RUST_LOG` asks for, each line with the module it comes from, which is what the filters name; without it, from
/// warnings up, and more with `--verbose`.
fn log_to_stderr(verbose: u8) {
    let filters = std::env::var("RUST_LOG").ok().filter(|filters| !filters.is_empty());
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "trace",
    };
    let names_modules = filters.is_some();
    let mut logger = env_logger::Builder::new();
    // FUSE's library tells of every question it has no answer for; who asks for everything gets it.
    if filters.is_none() && level != "trace" {
        logger.filter_module("fuser", log::LevelFilter::Off);
    }
    logger.parse_filters(filters.as_deref().unwrap_or(level)).format(move |out, record| {
        let level = record.level().as_str().to_lowercase();
        match names_modules {
            true => writeln!(out, "{level} {}: {}", record.target(), record.args()),
            false => writeln!(out, "{level}: {}", record.args()),
        }
    });
    // In the Python package a second call in one process finds the logger in place: the first one's choice holds.
    let _ = logger.try_init();
}
