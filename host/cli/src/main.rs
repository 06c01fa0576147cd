// SPDX-License-Identifier: Apache-2.0
//! The program `towpath`; everything is in the library of this crate, which the Python package runs too.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(towpath_cli::main(std::env::args_os()))
}
