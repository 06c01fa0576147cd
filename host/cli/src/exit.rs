// SPDX-License-Identifier: Apache-2.0
//! How the program ends: the exit codes and their names, which are part of the command line's interface, and the one type for everything
//! that fails.

use std::fmt::Display;

pub const TRANSFER: u8 = 1;
pub const USAGE: u8 = 2;
pub const NOT_FOUND: u8 = 3;
pub const TIMEOUT: u8 = 4;
pub const CORE: u8 = 5;
pub const VERSION: u8 = 6;
pub const FILE: u8 = 7;
pub const NOT_EXECUTABLE: u8 = 126;
pub const NO_PROGRAM: u8 = 127;

/// Why a verb failed: the exit code and a text that contains what was wrong and what to do.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    pub message: String,
}

impl Failure {
    pub fn new(code: u8, message: impl Display) -> Self {
        Failure { code, message: message.to_string() }
    }

    /// The exit code in a word, for machines.
    pub fn kind(&self) -> &'static str {
        match self.code {
            TRANSFER => "transfer",
            USAGE => "usage",
            NOT_FOUND => "not_found",
            TIMEOUT => "timeout",
            CORE => "core",
            VERSION => "version",
            FILE => "file",
            NOT_EXECUTABLE => "not_executable",
            _ => "no_program",
        }
    }

    /// A file or stream that failed while `action` was done to it.
    pub fn file(action: &str, name: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let remedy = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room, or choose another place",
            ErrorKind::BrokenPipe => "; its reader ended first",
            ErrorKind::PermissionDenied => "; check its permissions",
            _ => "",
        };
        Failure::new(FILE, format!("{action} {name}: {error}{remedy}"))
    }

    /// Add where it happened.
    pub fn context(self, what: impl Display) -> Self {
        Failure { code: self.code, message: format!("{what}: {}", self.message) }
    }
}

pub type Result<T = ()> = std::result::Result<T, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_every_code_and_its_name() {
        let guide = include_str!("../../../docs/guide/command-line.md");
        for code in TRANSFER..=FILE {
            let row = format!("| {code} | `{}` |", Failure::new(code, "").kind());
            assert!(guide.contains(&row), "docs/guide/command-line.md lacks {row}");
        }
        let row = format!("| {NOT_EXECUTABLE}, {NO_PROGRAM} | `not_executable`, `no_program` |");
        assert!(guide.contains(&row), "docs/guide/command-line.md lacks {row}");
    }
}
