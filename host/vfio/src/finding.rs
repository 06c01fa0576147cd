// SPDX-License-Identifier: Apache-2.0
//! What a check found.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, but not as well as it could, or not for everything.
    Warning,
    /// It does not work.
    Problem,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Problem => "problem",
        })
    }
}

/// One check and its outcome. Shown as what was seen and, if something is to be done, the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about: the address of a card, `machine` or `simulator`.
    pub subject: String,
    /// The check's name: one word, which stays the same.
    pub check: &'static str,
    /// The severity.
    pub level: Level,
    /// What was seen.
    pub seen: String,
    /// The command that corrects it; after a `#`, a remark.
    pub remedy: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn ok(subject: impl fmt::Display, check: &'static str, seen: impl Into<String>) -> Finding {
        Finding { subject: subject.to_string(), check, level: Level::Ok, seen: seen.into(), remedy: None }
    }

    /// Something could be better.
    pub fn warning(subject: impl fmt::Display, check: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { level: Level::Warning, remedy: Some(remedy.into()), ..Finding::ok(subject, check, seen) }
    }

    /// Something is wrong.
    pub fn problem(subject: impl fmt::Display, check: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { level: Level::Problem, remedy: Some(remedy.into()), ..Finding::ok(subject, check, seen) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.seen)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "; mend this: {remedy}"))
    }
}
