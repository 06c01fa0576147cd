// SPDX-License-Identifier: Apache-2.0
//! A program that a verb runs for as long as something of its own lasts.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};

use towpath_system::process::ask_to_end;

use crate::exit::{Failure, Result, TRANSFER};
use crate::run::not_run;

/// A program that has been started.
pub struct Program(Child);

impl Program {
    /// None, if no words name one.
    pub fn start(words: &[OsString]) -> Result<Option<Program>> {
        let Some((name, arguments)) = words.split_first() else { return Ok(None) };
        Command::new(name).args(arguments).spawn().map(|child| Some(Program(child))).map_err(|error| not_run(name, &error))
    }

    /// Its exit code, as a shell tells it, if it has ended.
    pub fn code(&mut self) -> Result<Option<u8>> {
        let ended = self.0.try_wait().map_err(|error| Failure::new(TRANSFER, format!("the program cannot be waited for: {error}")))?;
        Ok(ended.map(|ended| ended.code().unwrap_or_else(|| 128 + ended.signal().unwrap_or(0)) as u8))
    }

    /// Ask it to end (SIGTERM), and wait for that. A second signal ends this command meanwhile; the first may be still to come.
    pub fn end(&mut self) {
        ask_to_end(&mut self.0);
        let _ = self.0.wait();
    }
}

/// The verb's result, once its program has ended with this code.
pub fn judged(code: Option<u8>) -> Result {
    match code {
        Some(code) if code != 0 => Err(Failure::new(code, "the program has failed")),
        _ => Ok(()),
    }
}
