// SPDX-License-Identifier: Apache-2.0
//! What Verilator says of a core's own sources, made short: a line each, each once, and none of files that the manifest waives.

use crate::listed::{files, tidy};
use crate::manifest::Manifest;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Lines that are shown of one core; the others are counted.
const SHOWN: usize = 12;

/// Between Verilator and who shows what is being done.
pub(crate) struct Warnings<'a> {
    say: &'a dyn Fn(&str),
    seen: RefCell<BTreeSet<String>>,
    /// Files of which nothing is shown.
    waived: RefCell<BTreeSet<PathBuf>>,
    /// Files of which something was kept back.
    more: RefCell<Vec<PathBuf>>,
}

/// A message of Verilator's: its first line, and the lines that belong to it.
pub(crate) struct Message<'a> {
    pub head: &'a str,
    pub rest: Vec<&'a str>,
}

pub(crate) fn split(said: &str) -> Vec<Message<'_>> {
    let mut all: Vec<Message> = Vec::new();
    for line in said.lines() {
        match all.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => last.rest.push(line),
            _ => all.push(Message { head: line, rest: Vec::new() }),
        }
    }
    all
}

/// Rule, place and text of a warning's first line: "%Warning-RULE: FILE:LINE:COLUMN: TEXT".
fn parts(head: &str) -> Option<(&str, &str, &str, &str)> {
    let (rule, rest) = head.strip_prefix("%Warning")?.split_once(": ")?;
    let (place, text) = rest.split_once(": ")?;
    let (place, _) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((rule.trim_start_matches('-'), file, line, text))
}

impl<'a> Warnings<'a> {
    pub fn new(manifest: &Manifest, say: &'a dyn Fn(&str)) -> Warnings<'a> {
        let all = [manifest].into_iter().chain(manifest.others());
        let waived = all.flat_map(|core| {
            let matched = core.core.waive.iter().flat_map(|entry| files(&core.folder, entry).unwrap_or_default());
            matched.map(|file| tidy(&core.folder.join(file))).collect::<Vec<_>>()
        });
        Warnings { say, seen: RefCell::default(), waived: RefCell::new(waived.collect()), more: RefCell::default() }
    }

    /// Show nothing of this file, which nobody has written.
    pub fn waive(&self, file: &Path) {
        self.waived.borrow_mut().insert(tidy(file));
    }

    /// Show what a tool that did not fail said.
    pub fn show(&self, said: &str) {
        for message in split(said) {
            let Some((rule, file, line, text)) = parts(message.head) else {
                // Not a warning of a place: as it is.
                let whole: Vec<&str> = [message.head].into_iter().chain(message.rest).collect();
                if self.seen.borrow_mut().insert(whole.join("\n")) {
                    (self.say)(&whole.join("\n"));
                }
                continue;
            };
            let short = format!("{file}:{line}: warning {rule}: {text}");
            if self.waived.borrow().contains(&tidy(Path::new(file))) || !self.seen.borrow_mut().insert(short.clone()) {
                continue;
            }
            if self.seen.borrow().len() > SHOWN {
                self.more.borrow_mut().push(tidy(Path::new(file)));
            } else {
                (self.say)(&short);
            }
        }
    }

    /// Say what was not shown.
    pub fn finish(&self) {
        let more = self.more.borrow();
        if more.is_empty() {
            return;
        }
        let names: BTreeSet<String> = more.iter().map(|file| file.file_name().unwrap_or_default().to_string_lossy().into_owned()).collect();
        let names: Vec<String> = names.into_iter().collect();
        let remedy = "waive = [\"FILE\", ...] in [core] shows none of files that are not yours";
        (self.say)(&format!("and {} more warnings, in {}; {remedy}", more.len(), names.join(", ")));
    }
}

/// Of what a tool that failed said: the errors, without the warnings before them. All of it, if there are no errors.
pub(crate) fn errors(said: &str) -> String {
    let messages = split(said);
    let lines = |wanted: &dyn Fn(&Message) -> bool| -> String {
        let kept = messages.iter().filter(|message| wanted(message));
        let all: Vec<&str> = kept.flat_map(|message| [message.head].into_iter().chain(message.rest.iter().copied())).collect();
        all.join("\n")
    };
    let kept = lines(&|message| !message.head.starts_with("%Warning"));
    if kept.contains("%Error") {
        return kept;
    }
    lines(&|_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "%Warning-WIDTH: a/b.sv:3:4: too wide\n  3 | x\n    | ^\n%Error: a/b.sv:9:1: no\n   note\n%Warning: c.sv:1:1: d";

    #[test]
    fn errors_stand_alone() {
        assert_eq!(errors(SAID), "%Error: a/b.sv:9:1: no\n   note");
        assert_eq!(errors("%Warning-X: a:1:1: b\n  c"), "%Warning-X: a:1:1: b\n  c");
    }
}
