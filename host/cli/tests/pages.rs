// SPDX-License-Identifier: Apache-2.0
//! `towpath completions` and `towpath man`: every verb and every option of the help is in them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{done, Folder};
use std::collections::BTreeMap;

fn says(arguments: &[&str]) -> String {
    let output = done(arguments, b"");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Verbs below a verb, and options, as its help lists them.
fn help(verb: &[String]) -> (Vec<String>, Vec<String>) {
    let mut arguments: Vec<&str> = verb.iter().map(String::as_str).collect();
    arguments.push("--help");
    let (mut verbs, mut options, mut part) = (Vec::new(), Vec::new(), "");
    let text = says(&arguments);
    for line in text.lines() {
        match (line.starts_with(' '), line.trim()) {
            (false, title) if !title.is_empty() => part = if title.ends_with(':') { title } else { "" },
            (true, entry) => {
                let first = line.starts_with("  ") && !line.starts_with("   ");
                let word = entry.split([' ', ',']).find(|word| part == "Commands:" || word.starts_with("--")).unwrap_or("");
                match part {
                    "Commands:" if first && word != "help" => verbs.push(word.to_string()),
                    "Options:" if entry.starts_with('-') && word.starts_with("--") => {
                        options.push(word.trim_end_matches("...").to_string())
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    (verbs, options)
}

/// Each verb's path and its options, from the help.
fn all() -> BTreeMap<Vec<String>, Vec<String>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![Vec::new()]);
    while let Some(path) = open.pop() {
        let (verbs, options) = help(&path);
        open.extend(verbs.into_iter().map(|verb| [path.clone(), vec![verb]].concat()));
        found.insert(path, options);
    }
    assert!(found.len() > 15 && found[&vec!["pipe".to_string()]].contains(&"--end".to_string()), "{found:?}");
    assert!(found[&vec!["irq".to_string(), "wait".to_string()]].contains(&"--write".to_string()), "{found:?}");
    found
}

#[test]
fn manual_pages_have_every_verb_and_option() {
    let folder = Folder::new();
    says(&["man", "--dir", folder.0.to_str().unwrap()]);
    let all = all();
    for (path, options) in &all {
        let name = [&["towpath".to_string()], &path[..]].concat().join("-");
        let page = std::fs::read_to_string(folder.0.join(format!("{name}.1"))).unwrap_or_else(|why| panic!("{name}.1: {why}"));
        let plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
        for option in options {
            assert!(plain.contains(option.as_str()), "{name}.1 lacks {option}");
        }
        if let Some((last, above)) = path.split_last() {
            let above = std::fs::read_to_string(folder.0.join(format!("{}.1", [&["towpath".to_string()], above].concat().join("-"))));
            assert!(above.unwrap().replace("\\-", "-").contains(&format!("{name}(1)")), "the page above {name} does not name {last}");
            let words: Vec<&str> = ["man"].into_iter().chain(path.iter().map(String::as_str)).collect();
            assert_eq!(says(&words), page, "one page by itself is the same");
        }
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), all.len(), "a page that no verb has");
    let page = says(&["man"]);
    assert!(page.contains("EXIT STATUS") && page.contains("nothing moved for as long"), "{page}");
}

#[test]
fn completions_have_every_verb_and_option() {
    for shell in ["bash", "zsh", "fish"] {
        let script = says(&["completions", shell]).replace("\\\\-", "-");
        for (path, options) in all() {
            let verb = path.last().map_or("towpath", String::as_str);
            assert!(script.contains(verb), "{shell}: {verb} is missing");
            for option in options {
                let written = if shell == "fish" { format!("-l {}", option.trim_start_matches('-')) } else { option.clone() };
                assert!(script.contains(&written), "{shell}: {option} of {path:?} is missing");
            }
        }
    }
}

/// What a shell offers, asked of the shell itself.
#[test]
fn bash_completes_with_them() {
    let folder = Folder::new();
    let script = folder.0.join("towpath.bash");
    std::fs::write(&script, says(&["completions", "bash"])).unwrap();
    let offers = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let ask = format!(
            "source {}; COMP_WORDS=({line}''); COMP_CWORD={}; _towpath towpath '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len().max(2) - 2]
        );
        let output = std::process::Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(offers("towpath pi").trim(), "pipe");
    assert_eq!(offers("towpath reg w").trim(), "write");
    assert_eq!(offers("towpath pipe --fr").trim(), "--from");
}

#[test]
fn a_page_that_is_not_there() {
    let output = done(&["man", "reg", "fly"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("read, write, dump"), "{output:?}");
    assert_eq!(done(&["completions", "tcsh"], b"").status.code(), Some(2));
}
