// SPDX-License-Identifier: Apache-2.0
//! Cores in VHDL, whole or in part: for simulation GHDL makes Verilog of them; boards get them as they are.

use crate::files::environment;
use crate::ghdl::{is_2, mended, needs_netlist};
use crate::manifest::{at, core_line, Manifest, ParameterValue, MANIFEST};
use crate::tool::text;
use crate::CoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The parameter that takes the manifest's width, in small letters, as GHDL tells it.
const WIDTH: &str = "data_width";

/// Is it VHDL?
pub(crate) fn is_vhdl(path: &Path) -> bool {
    path.extension().and_then(|e| e.to_str()).is_some_and(|e| matches!(e.to_ascii_lowercase().as_str(), "vhd" | "vhdl"))
}

/// GHDL: `ghdl` on PATH, or the one that TOWPATH_GHDL names.
struct Ghdl {
    program: PathBuf,
    version: String,
}

impl Ghdl {
    fn find() -> Result<Ghdl, CoreError> {
        let program = environment("TOWPATH_GHDL").unwrap_or_else(|| "ghdl".into());
        let absent = |why: String| CoreError::Tool {
            tool: program.display().to_string(),
            message: format!(
                "{why}. GHDL 2 or newer reads cores in VHDL for simulation: install it (`sudo apt-get install ghdl`), or name it in \
                 TOWPATH_GHDL."
            ),
        };
        match Command::new(&program).arg("--version").output() {
            Ok(output) if output.status.success() => {
                let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_string();
                Ok(Ghdl { program, version })
            }
            Ok(output) => Err(absent(format!("it does not run: {}", text(&output)))),
            Err(e) => Err(absent(format!("it cannot be started ({e})"))),
        }
    }
}

/// What identifies the tool, for a core that needs it.
pub(crate) fn version(manifest: &Manifest) -> Result<Option<String>, CoreError> {
    let all = [manifest].into_iter().chain(manifest.others());
    let needed = all.flat_map(|core| &core.core.sources).any(|source| is_vhdl(source));
    needed.then(|| Ghdl::find().map(|ghdl| ghdl.version)).transpose()
}

/// An entity of a source: its name in small letters, the file and the line.
#[derive(Debug, PartialEq)]
struct Entity {
    name: String,
    file: PathBuf,
    line: usize,
}

/// Words of a line without its comment, in small letters.
fn words(line: &str) -> impl Iterator<Item = String> + '_ {
    let code = line.split("--").next().unwrap_or_default();
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty()).map(str::to_ascii_lowercase)
}

fn entities(file: &Path, text: &str) -> Vec<Entity> {
    let mut found = Vec::new();
    let mut before = [String::new(), String::new()];
    for (number, line) in text.lines().enumerate() {
        for word in words(line) {
            // "entity NAME is", over any lines.
            if before[0] == "entity" && word == "is" {
                found.push(Entity { name: before[1].clone(), file: file.to_path_buf(), line: number + 1 });
            }
            before = [std::mem::take(&mut before[1]), word];
        }
    }
    found
}

/// A core's sources in VHDL.
pub(crate) struct Vhdl {
    sources: Vec<PathBuf>,
    entities: Vec<Entity>,
    /// The core's top is one of the entities: its name in small letters.
    pub top: Option<String>,
}

impl Vhdl {
    /// None, if the core has none.
    pub fn of(manifest: &Manifest) -> Result<Option<Vhdl>, CoreError> {
        let sources: Vec<PathBuf> =
            manifest.core.sources.iter().filter(|source| is_vhdl(source)).map(|source| manifest.folder.join(source)).collect();
        if sources.is_empty() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for file in &sources {
            let text = fs::read(file).map_err(|e| CoreError::io("cannot read", file, e))?;
            all.extend(entities(file, &String::from_utf8_lossy(&text)));
        }
        if sources.len() == manifest.core.sources.len() && all.iter().all(|entity| !entity.name.eq_ignore_ascii_case(&manifest.core.top)) {
            let file = manifest.folder.join(MANIFEST);
            let text = fs::read_to_string(&file).unwrap_or_default();
            let names: Vec<&str> = all.iter().map(|entity| entity.name.as_str()).collect();
            let what = format!("core.top: no source has an entity \"{}\"; there are: {}", manifest.core.top, names.join(", "));
            return Err(CoreError::manifest(&file, at(core_line(&text, "top"), &what)));
        }
        let top = manifest.core.top.to_ascii_lowercase();
        let top = all.iter().any(|entity| entity.name == top).then_some(top);
        Ok(Some(Vhdl { sources, entities: all, top }))
    }

    /// Entities that something else than VHDL names, and how it spells them.
    fn wanted(&self, manifest: &Manifest) -> Vec<(&Entity, String)> {
        let verilog: String = manifest
            .core
            .sources
            .iter()
            .filter(|source| !is_vhdl(source))
            .filter_map(|source| fs::read_to_string(manifest.folder.join(source)).ok())
            .collect();
        let named: BTreeMap<String, &str> =
            verilog.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(|word| (word.to_ascii_lowercase(), word)).collect();
        let spelled = |entity: &Entity| match self.top.as_ref() {
            Some(top) if *top == entity.name => Some(top.clone()),
            _ => named.get(&entity.name).map(|word| word.to_string()),
        };
        self.entities.iter().filter_map(|entity| Some((entity, spelled(entity)?))).collect()
    }

    /// Verilog of the entities that are wanted, each in a file of its own in `scratch`, whether the top took the width, and what GHDL warned of.
    pub fn translated(&self, manifest: &Manifest, scratch: &Path) -> Result<(Vec<PathBuf>, bool, String), CoreError> {
        let ghdl = Ghdl::find()?;
        let (mut files, mut said, mut has_width) = (Vec::new(), String::new(), false);
        for (entity, spelled) in self.wanted(manifest) {
            let is_top = self.top.as_ref() == Some(&entity.name);
            let mut generics: BTreeMap<String, String> = BTreeMap::new();
            if is_top {
                generics.extend(manifest.parameters.iter().map(|(name, value)| (name.to_ascii_lowercase(), generic(value))));
                generics.insert(WIDTH.into(), manifest.core.width.to_string());
            }
            let run = |out: &str, generics: &BTreeMap<String, String>| {
                let mut command = Command::new(&ghdl.program);
                command.args(["--synth", "--std=08", "-fsynopsys", out]).current_dir(&manifest.folder);
                command.args(generics.iter().map(|(name, value)| format!("-g{name}={value}")));
                for source in &self.sources {
                    // It runs in the core's folder, where files are that the sources read.
                    command.arg(std::path::absolute(source).map_err(|e| CoreError::io("cannot find", source, e))?);
                }
                command.arg("-e").arg(&entity.name);
                command.output().map_err(|e| CoreError::io("cannot run GHDL in", scratch, e))
            };
            let failed = |message: String| CoreError::Compile { what: format!("core \"{}\"", manifest.core.name), message };
            let output = loop {
                let output = run("--out=verilog", &generics)?;
                if output.status.success() {
                    break output;
                }
                let message = self.named_as_given(&text(&output));
                let unknown = message.lines().find_map(|line| Some(line.split_once("no generic \"")?.1.split_once('"')?.0.to_string()));
                match unknown {
                    Some(name) if name == WIDTH => drop(generics.remove(WIDTH)),
                    Some(name) => {
                        let file = manifest.folder.join(MANIFEST);
                        let text = fs::read_to_string(&file).unwrap_or_default();
                        let given = manifest.parameters.keys().find(|key| key.eq_ignore_ascii_case(&name)).cloned().unwrap_or(name);
                        let line = crate::manifest::line_of(&text, 0, &given).or_else(|| core_line(&text, "top"));
                        let what =
                            format!("[parameters]: entity \"{}\" has no generic {given}: remove it, or correct its name", entity.name);
                        return Err(CoreError::manifest(&file, at(line, &what)));
                    }
                    None => {
                        let message = match message.contains("has no default value") {
                            true => format!(
                                "{message}\ngive the generic a value: in [parameters], or with --parameter NAME=VALUE for `towpath new`"
                            ),
                            false => message,
                        };
                        return Err(failed(message));
                    }
                }
            };
            has_width |= is_top && generics.contains_key(WIDTH);
            said.push_str(&self.named_as_given(&String::from_utf8_lossy(&output.stderr)));
            let file = scratch.join(format!("vhdl_{}_{}.v", manifest.core.name, entity.name));
            let verilog = String::from_utf8_lossy(&output.stdout);
            let netlist = match needs_netlist(&verilog).then(|| run("--out=raw", &generics)).transpose()? {
                Some(output) if !output.status.success() => return Err(failed(self.named_as_given(&text(&output)))),
                output => output.map(|output| output.stdout).unwrap_or_default(),
            };
            let verilog = mended(&verilog, &String::from_utf8_lossy(&netlist), is_2(&ghdl.version))
                .map_err(|message| failed(self.named_as_given(&message)))?;
            fs::write(&file, named_so(&verilog, &spelled)).map_err(|e| CoreError::io("cannot write", &file, e))?;
            files.push(file);
        }
        Ok((files, has_width, said))
    }

    /// A message with the names of files that the manifest gave, without the tool's own name.
    fn named_as_given(&self, said: &str) -> String {
        let mut text = said.to_string();
        for source in &self.sources {
            if let Ok(whole) = std::path::absolute(source) {
                text = text.replace(&whole.display().to_string(), &source.display().to_string());
            }
        }
        text
    }

    /// FILE:LINE of the top's port in the designer's source.
    pub fn place(&self, port: Option<&str>) -> Option<String> {
        let entity = self.entities.iter().find(|entity| self.top.as_ref() == Some(&entity.name))?;
        let text = fs::read(&entity.file).ok()?;
        let text = String::from_utf8_lossy(&text);
        let line = match port {
            None => entity.line,
            Some(port) => {
                let port = port.to_ascii_lowercase();
                let mut lines = text.lines().enumerate().skip(entity.line.saturating_sub(1));
                lines.find(|(_, line)| words(line).any(|word| word == port)).map_or(entity.line, |(number, _)| number + 1)
            }
        };
        Some(format!("{}:{line}", entity.file.display()))
    }
}

/// Verilog with this module spelled so, however GHDL spells it, and its name before those of all others: what two entities are made of is in the
/// Verilog of both.
fn named_so(verilog: &str, name: &str) -> String {
    let module = |line: &str| line.strip_prefix("module ").map(|rest| rest.trim_end().to_string());
    let named = |found: &str| if found.eq_ignore_ascii_case(name) { name.to_string() } else { format!("{name}_{found}") };
    let all: BTreeSet<String> = verilog.lines().filter_map(module).collect();
    let line = |line: &str| {
        if let Some(found) = module(line) {
            return format!("module {}\n", named(&found));
        }
        // An instance is "  MODULE NAME (".
        let instance = line.trim_end().strip_suffix('(').and_then(|rest| rest.trim().split_once(' '));
        match instance.filter(|(of, _)| all.contains(*of)) {
            Some((of, instance)) => format!("  {} {instance} (\n", named(of)),
            None => format!("{line}\n"),
        }
    };
    verilog.lines().map(line).collect()
}

/// A generic's value on GHDL's command line.
fn generic(value: &ParameterValue) -> String {
    match value {
        ParameterValue::Bool(value) => value.to_string(),
        ParameterValue::Text(text) => text.clone(),
        number => number.verilog(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_found_wherever_they_stand() {
        let text = "-- entity no is\nlibrary ieee; ENTITY Fir\n  -- a comment\n is port (a : in bit);\nend entity Fir;\nu : entity work.other port map (a);\nentity two is end two;";
        let found = entities(Path::new("x.vhd"), text);
        let names: Vec<(&str, usize)> = found.iter().map(|entity| (entity.name.as_str(), entity.line)).collect();
        assert_eq!(names, [("fir", 4), ("two", 7)]);
    }
}
