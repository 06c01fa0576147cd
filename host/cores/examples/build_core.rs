// SPDX-License-Identifier: Apache-2.0
//! Build one core's model and say where it is: `cargo run -p towpath-cores --example build_core -- sobel [--trace] [--width N]`.
use std::process::ExitCode;
use towpath_cores::{build, find_core, BuildOptions};

#[allow(clippy::print_stdout, clippy::print_stderr)] // a program, not the library
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        eprintln!("usage: build_core NAME|FOLDER [--trace] [--width N]");
        return ExitCode::from(2);
    };
    let say = |line: &str| eprintln!("{line}");
    let mut options = BuildOptions { progress: Some(&say), ..BuildOptions::default() };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--trace" => options.trace = true,
            "--width" => options.width = arguments.next().and_then(|n| n.parse().ok()),
            _ => return ExitCode::from(2),
        }
    }
    match find_core(&name).and_then(|folder| build(&folder, &options)) {
        Ok(built) => {
            println!("{}", built.library.display());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
