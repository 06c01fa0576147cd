// SPDX-License-Identifier: Apache-2.0
//! The output of the verbs: text for people, or with `--json` one object on one line. docs/guide/command-line.md describes the objects.

use std::io::Write;

use serde_json::{json, Value};

use crate::args::Cli;
use crate::exit::{Failure, Result};

/// A verb's answer, on standard output.
pub fn answer(cli: &Cli, value: &Value, text: &str) -> Result {
    print(&if cli.json { format!("{value}\n") } else { text.into() })
}

/// Output besides the bytes on standard output: on standard error, the object as one line.
pub fn aside(cli: &Cli, value: &Value, text: &str) {
    eprintln_lossy(&if cli.json { value.to_string() } else { text.into() });
}

/// Why a verb failed, on standard error.
pub fn failure(as_json: bool, failure: &Failure) {
    eprintln_lossy(&if as_json {
        json!({"error": {"kind": failure.kind(), "exit_code": failure.code, "message": failure.message}}).to_string()
    } else {
        format!("towpath: {}", failure.message)
    });
}

/// Print to standard output; a closed pipe or a full disk is an error like any other.
pub fn print(text: &str) -> Result {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::file("writing", "standard output", &e))
}

/// Print to standard error, where nothing can be done about a failure.
pub fn eprintln_lossy(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A JSON value over many lines: what `bench` writes into a file.
pub fn json(value: &Value) -> String {
    format!("{value:#}\n")
}
