// SPDX-License-Identifier: Apache-2.0
//! What the names in a manifest mean: files, patterns and lists of files (`.f`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders that a pattern does not enter: what they hold is no part of a core.
pub(crate) const PASSED_OVER: [&str; 3] = ["tb", "sim_build", "obj_dir"];
/// Folders in folders, and lists in lists.
const DEPTH: u32 = 8;

/// What the entries of `core.sources` come to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Listed {
    /// In the order of compilation, each once, relative to the core's folder.
    pub sources: Vec<PathBuf>,
    /// Folders of included files that lists name, relative to the core's folder.
    pub include: Vec<PathBuf>,
    /// Macros that lists define.
    pub defines: BTreeMap<String, String>,
}

impl Listed {
    /// Of the core in `folder`; or what is wrong.
    pub fn of(folder: &Path, entries: &[PathBuf]) -> Result<Listed, String> {
        let mut listed = Listed::default();
        for entry in entries {
            if entry.extension().is_some_and(|e| e == "f") {
                listed.list(folder, entry, 0)?;
            } else {
                listed.sources.extend(files(folder, entry)?);
            }
        }
        once(&mut listed.sources);
        once(&mut listed.include);
        Ok(listed)
    }

    /// Add what a list of files says.
    fn list(&mut self, folder: &Path, list: &Path, depth: u32) -> Result<(), String> {
        let text = fs::read_to_string(folder.join(list)).map_err(|e| format!("cannot read {}: {e}", folder.join(list).display()))?;
        let beside = list.parent().unwrap_or(Path::new(""));
        for (number, line) in text.lines().enumerate() {
            let bad = |what: String| format!("{}:{}: {what}", folder.join(list).display(), number + 1);
            // Names in lists are relative to the list, or to where the tool was started: the core's folder.
            let place = |name: &str| -> Result<PathBuf, String> {
                let name = expanded(name).map_err(&bad)?;
                let near = tidy(&beside.join(&name));
                Ok(if !folder.join(&near).exists() && folder.join(&name).exists() { tidy(Path::new(&name)) } else { near })
            };
            let mut words = line.split_whitespace().take_while(|word| !word.starts_with("//") && !word.starts_with('#'));
            while let Some(word) = words.next() {
                let mut value = |letters: &str| match word.strip_prefix(letters) {
                    Some("") => words.next(),
                    joined => joined,
                };
                if let Some(folders) = word.strip_prefix("+incdir+") {
                    for name in folders.split('+').filter(|name| !name.is_empty()) {
                        self.include.push(place(name)?);
                    }
                } else if let Some(macros) = word.strip_prefix("+define+") {
                    macros.split('+').filter(|text| !text.is_empty()).for_each(|text| self.define(text));
                } else if word == "-f" || word == "-F" {
                    let Some(name) = words.next() else { return Err(bad(format!("{word} needs the name of a list"))) };
                    if depth == DEPTH {
                        return Err(bad(format!("more than {DEPTH} lists in lists: does one name itself?")));
                    }
                    self.list(folder, &place(name)?, depth + 1)?;
                } else if let Some(name) = value("-I") {
                    self.include.push(place(name)?);
                } else if let Some(text) = value("-D") {
                    self.define(text);
                } else if word == "-sv"
                    || word.starts_with("+libext+")
                    || word.starts_with("-timescale=")
                    || word.starts_with("--timescale=")
                {
                    // Every source is read as SystemVerilog, and no file is looked for that is not listed.
                } else if word == "-timescale" || word == "--timescale" {
                    words.next(); // the scale is the next word
                } else if word.starts_with(['-', '+']) {
                    let known = "files, -f LIST, +incdir+FOLDER and +define+NAME=VALUE";
                    return Err(bad(format!("\"{word}\" has no meaning here: a list may have {known}; list the files that it would find")));
                } else {
                    let found = files(folder, &place(word)?).map_err(&bad)?;
                    if let Some(gone) = found.iter().find(|file| !folder.join(file).is_file()) {
                        return Err(bad(format!("there is no file {}", folder.join(gone).display())));
                    }
                    self.sources.extend(found);
                }
            }
        }
        Ok(())
    }

    fn define(&mut self, text: &str) {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        self.defines.insert(name.to_string(), value.to_string());
    }
}

/// A name with the variables of the environment that it mentions.
fn expanded(name: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let closing = match after.chars().next() {
            Some('{') => Some('}'),
            Some('(') => Some(')'),
            _ => None,
        };
        let (variable, behind) = match closing {
            Some(close) => after[1..].split_once(close).ok_or_else(|| format!("\"{name}\": a bracket is not closed"))?,
            None => after.split_at(after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len())),
        };
        let value =
            std::env::var(variable).map_err(|_| format!("\"{name}\": the variable {variable} is not set: set it, or write the path"))?;
        text.push_str(&value);
        rest = behind;
    }
    Ok(text + rest)
}

/// The files that an entry means, relative to `folder`: those that match, in the order of their names, or just the one that it names.
pub(crate) fn files(folder: &Path, entry: &Path) -> Result<Vec<PathBuf>, String> {
    let Some(text) = entry.to_str().filter(|text| text.contains(['*', '?'])) else { return Ok(vec![entry.to_path_buf()]) };
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let mut found = Vec::new();
    let start = if text.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
    matching(folder, &start, &parts, 0, &mut found);
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Err(format!("no file in {} matches \"{text}\"", folder.display()));
    }
    Ok(found)
}

/// As [`files`], for several entries: each file once, at the first place.
pub(crate) fn all_files(folder: &Path, entries: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for entry in entries {
        all.extend(files(folder, entry)?);
    }
    once(&mut all);
    Ok(all)
}

/// Without those that were there before, under whatever name.
fn once(paths: &mut Vec<PathBuf>) {
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(tidy(path)));
}

/// Without `.`, and without `x/..`.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidy.components().next_back(), Some(Component::Normal(_))) => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

fn matching(root: &Path, here: &Path, parts: &[&str], depth: u32, found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else { return };
    if *part != "**" && !part.contains(['*', '?']) {
        let path = here.join(part);
        if !rest.is_empty() {
            matching(root, &path, rest, depth, found);
        } else if root.join(&path).is_file() {
            found.push(path);
        }
        return;
    }
    if *part == "**" {
        matching(root, here, if rest.is_empty() { &["*"] } else { rest }, depth, found);
    }
    for entry in fs::read_dir(root.join(here)).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') && !part.starts_with('.') {
            continue;
        }
        let (path, is_folder) = (here.join(&name), entry.path().is_dir());
        if *part == "**" {
            if is_folder && depth < DEPTH && !PASSED_OVER.contains(&name.as_str()) {
                matching(root, &path, parts, depth + 1, found);
            }
        } else if !fits(part.as_bytes(), name.as_bytes()) {
        } else if is_folder {
            matching(root, &path, rest, depth, found);
        } else if rest.is_empty() {
            found.push(path);
        }
    }
}

/// Does a name match a pattern with `*` and `?`?
pub(crate) fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => fits(rest, name) || name.split_first().is_some_and(|(_, name)| fits(pattern, name)),
        (Some((b'?', rest)), Some((_, name))) => fits(rest, name),
        (Some((a, rest)), Some((b, name))) => a == b && fits(rest, name),
        _ => false,
    }
}

/// Names in `include "NAME" of a source, comments among them.
pub(crate) fn included_names(text: &str) -> impl Iterator<Item = &str> {
    text.split("`include").skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches([' ', '\t']);
        let (name, _) = rest.strip_prefix('"')?.split_once('"')?;
        Some(name).filter(|name| !name.contains('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns_as_every_split_of_them_does() {
        // Against another way of deciding: what a `*` stands for is cut out, in all ways.
        fn slow(pattern: &str, name: &str) -> bool {
            match pattern.split_once('*') {
                None => pattern.len() == name.len() && pattern.bytes().zip(name.bytes()).all(|(p, n)| p == b'?' || p == n),
                Some((head, tail)) => {
                    name.len() >= head.len()
                        && slow(head, &name[..head.len()])
                        && (head.len()..=name.len()).any(|from| slow(tail, &name[from..]))
                }
            }
        }
        let words = |letters: &str, most: usize| -> Vec<String> {
            let mut all = vec![String::new()];
            for _ in 0..most {
                let longer: Vec<String> = all.iter().flat_map(|word| letters.chars().map(move |c| format!("{word}{c}"))).collect();
                all.extend(longer);
            }
            all
        };
        let names = words("ab", 4);
        let mut fitted = 0;
        for pattern in words("ab*?", 4) {
            for name in &names {
                let fit = fits(pattern.as_bytes(), name.as_bytes());
                assert_eq!(fit, slow(&pattern, name), "{pattern} {name}");
                fitted += usize::from(fit);
            }
        }
        assert!(fitted > 1000, "{fitted}");
    }

    #[test]
    fn paths_are_tidied() {
        for (path, tidied) in
            [("./a/../b.sv", "b.sv"), ("../a/./b", "../a/b"), ("../../a", "../../a"), ("a/b/../../c", "c"), ("/x/../y", "/y")]
        {
            assert_eq!(tidy(Path::new(path)), Path::new(tidied));
        }
    }
}
