// SPDX-License-Identifier: Apache-2.0
//! Combinational loops through a core's ports, in the core's own words. Of a card as a whole Verilator names a loop by whatever wire it has left; of the core
//! alone, with what is generated before its ports, it names the ports.

use crate::ports::Top;
use crate::warnings::split;
use std::path::Path;

/// A step of a loop: FILE:LINE, and a signal's name, or none for what makes one signal of another.
struct Step<'a> {
    place: &'a str,
    signal: Option<&'a str>,
    /// What makes one signal of another.
    logic: &'a str,
}

/// The warning that says of a loop.
pub(crate) const RULE: &str = "%Warning-UNOPTFLAT: ";

fn step(line: &str) -> Option<Step<'_>> {
    let (place, what) = line.split_once(" Example path: ")?;
    let (place, _column) = place.trim().trim_end_matches(':').rsplit_once(':')?;
    // Kinds of logic are in capitals, as no name of a hierarchy is.
    let logic = what.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    Some(Step { place, signal: (!logic).then_some(what.trim()), logic: what.trim() })
}

/// Is the declaration at FILE:LINE one of single bits, and of nothing else? Of a vector's bits, or a structure's, one may depend on another, without a loop.
fn single(place: &str, signal: &str) -> bool {
    const WORDS: [&str; 9] = ["input", "output", "inout", "logic", "wire", "reg", "bit", "var", "signed"];
    let line = || -> Option<String> {
        let (file, number) = place.rsplit_once(':')?;
        let text = std::fs::read_to_string(file).ok()?;
        text.lines().nth(number.parse::<usize>().ok()?.checked_sub(1)?).map(String::from)
    };
    let name = signal.rsplit('.').next().unwrap_or(signal);
    line().is_some_and(|line| {
        let code = line.split("//").next().unwrap_or_default();
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '[').filter(|word| !word.is_empty());
        let before: Vec<&str> = words.by_ref().take_while(|word| *word != name).collect();
        !code.contains('[') && WORDS.iter().any(|word| before.first() == Some(word))
    })
}

/// The core's port, if the signal is one: of the module itself, or of the core in the generated one that stands for it.
fn port<'a>(top: &Top, signal: &'a str) -> Option<&'a str> {
    let inside = signal.strip_prefix(&top.module).and_then(|rest| rest.strip_prefix('.'));
    let name = match (&top.shim, inside) {
        (Some(_), inside) => inside?.strip_prefix("core.")?,
        (None, inside) => inside.unwrap_or(signal),
    };
    (top.ports.contains_key(name) || top.names.values().any(|port| port == name)).then_some(name)
}

/// What Verilator has said of the core alone, without gates and modules merged: the first loop through its ports, if there is one. `ours` are folders whose
/// files are not the designer's.
pub(crate) fn through_ports(said: &str, top: &Top, ours: &[&Path]) -> Option<String> {
    split(said).iter().filter(|message| message.head.starts_with(RULE)).find_map(|message| {
        let mut steps: Vec<Step> = message.rest.iter().filter_map(|line| step(line)).collect();
        // The last is the first again; the loop is told from a port on.
        steps.pop();
        let of = |step: &Step| step.signal.and_then(|signal| port(top, signal).map(String::from));
        let first = steps.iter().position(|step| of(step).is_some())?;
        // A block of several assignments is one step to Verilator, whichever of them it is: that proves no loop.
        if steps.iter().any(|step| match step.signal {
            Some(signal) => !single(step.place, signal),
            None => step.logic != "ASSIGNW",
        }) {
            return None;
        }
        steps.rotate_left(first);
        let mut hops: Vec<(String, Vec<&str>)> = Vec::new();
        for step in &steps {
            match (of(step), hops.last_mut()) {
                (Some(port), _) => hops.push((port, Vec::new())),
                (None, Some((_, places))) if step.signal.is_none() && !places.contains(&step.place) => places.push(step.place),
                _ => {}
            }
        }
        let theirs = |place: &&&str| !ours.iter().any(|folder| Path::new(place).starts_with(folder));
        let place = hops.iter().flat_map(|(_, places)| places).find(theirs).copied().unwrap_or(&top.place);
        let told = hops.iter().enumerate().map(|(number, (from, places))| {
            let to = hops.get(number + 1).map_or(&hops[0].0, |(to, _)| to);
            let theirs: Vec<&str> = places.iter().filter(theirs).copied().collect();
            let is_vhdl = |place: &&str| Path::new(place).file_name().is_some_and(|name| name.to_string_lossy().starts_with("vhdl_"));
            let by = match theirs.is_empty() {
                true if places.iter().any(is_vhdl) => "in the VHDL".to_string(),
                true => "in what fits the core to the path".to_string(),
                false => theirs.join(", "),
            };
            format!("port `{to}` follows from port `{from}` ({by})")
        });
        let told: Vec<String> = told.collect();
        Some(format!("{place}: a combinational loop: {}: put a register into it, or, if it is none, `// verilator lint_off UNOPTFLAT` before the signal", told.join(", and ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Port, PortDirection};
    use std::collections::BTreeMap;

    #[test]
    fn ports_are_named_as_the_core_names_them() {
        let file = std::env::temp_dir().join(format!("towpath-loops-{}.sv", std::process::id()));
        std::fs::write(&file, "module ring(\noutput logic a_ready, // [\noutput logic b_valid,\noutput logic [1:0] wide\n);\n")
            .unwrap_or_default();
        let at = |line: u32| format!("{}:{line}", file.display());
        let path = |steps: &[(u32, &str)]| {
            let lines = steps.iter().map(|(line, what)| format!("    {}:1:      Example path: {what}", at(*line)));
            format!("{RULE}x.sv:1:1: Signal unoptimizable\n{}", lines.collect::<Vec<_>>().join("\n"))
        };
        let port = || Port { direction: PortDirection::Output, width: Some(1), place: String::new() };
        let ports: BTreeMap<String, Port> = ["a_ready", "wide"].map(|name| (name.to_string(), port())).into();
        let names = BTreeMap::from([("out_tvalid".to_string(), "b_valid".to_string())]);
        let alone = Top { module: "ring".into(), ports: ports.clone(), names: names.clone(), ..Top::default() };
        let shim = Top { module: "shim".into(), shim: Some(String::new()), ports, names, ..Top::default() };
        let through_ports = |said: &str, top: &Top| through_ports(said, top, &[Path::new("/ours")]);
        // From within, and around to where it began.
        let inner_by = |valid: &str, line: u32, logic: &str| {
            path(&[
                (3, "shim.core.g.y"),
                (7, "ASSIGNW"),
                (line, valid),
                (8, logic),
                (2, "shim.core.a_ready"),
                (9, "ASSIGNW"),
                (3, "shim.core.g.y"),
            ])
        };
        let inner = |valid: &str, line: u32| inner_by(valid, line, "ASSIGNW");
        let expected = format!(
            "{}: a combinational loop: port `a_ready` follows from port `b_valid` ({0}), and port `b_valid` follows from port `a_ready` ({}, {}): put a register \
             into it, or, if it is none, `// verilator lint_off UNOPTFLAT` before the signal",
            at(8),
            at(9),
            at(7)
        );
        assert_eq!(through_ports(&inner("shim.core.b_valid", 3), &shim), Some(expected));
        // Nor does a block prove anything.
        assert_eq!(through_ports(&inner_by("shim.core.b_valid", 3, "ALWAYS"), &shim), None);
        // A vector's bits may follow from each other.
        assert_eq!(through_ports(&inner("shim.core.wide", 4), &shim), None);
        // No port is in it.
        assert_eq!(through_ports(&path(&[(3, "c"), (7, "ASSIGNW"), (3, "c")]), &alone), None);
        assert_eq!(through_ports(&path(&[(3, "ring.g.y"), (7, "ASSIGNW"), (3, "ring.g.y")]), &alone), None);
        let itself = format!("{}: a combinational loop: port `b_valid` follows from port `b_valid` ({0}): put a register into it, or, if it is none, `// verilator lint_off UNOPTFLAT` before the signal", at(7));
        assert_eq!(through_ports(&path(&[(3, "b_valid"), (7, "ASSIGNW"), (3, "b_valid")]), &alone), Some(itself));
        // Lines that the designer has not written are not shown.
        let around = path(&[(3, "b_valid"), (7, "ASSIGNW"), (3, "b_valid")])
            .replace(&format!("{}:1:      Example path: ASSIGNW", at(7)), "/ours/x.sv:1:1: Example path: ASSIGNW");
        let said = through_ports(&around, &alone).unwrap_or_default();
        assert!(said.contains("follows from port `b_valid` (in what fits the core to the path)"), "{said}");
        let _ = std::fs::remove_file(file);
    }
}
