// SPDX-License-Identifier: Apache-2.0
//! What Verilator's tree of a module tells: how wide its ports are, and whether the word at a FIFO's output stands there by itself, for the output follows,
//! without a register between them, from a word of a memory.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Width of a packed type.
pub(crate) fn bits(types: &BTreeMap<String, &Value>, address: &str, depth: u32) -> Option<u64> {
    let dtype = types.get(address).filter(|_| depth < 64)?;
    let range = |text: &str| -> Option<u64> {
        let (left, right) = text.trim_matches(['[', ']']).split_once(':')?;
        let (left, right): (i64, i64) = (left.trim().parse().ok()?, right.trim().parse().ok()?);
        Some(left.abs_diff(right) + 1)
    };
    match dtype["type"].as_str()? {
        "BASICDTYPE" => match dtype["range"].as_str() {
            Some(text) => range(text),
            None if matches!(dtype["keyword"].as_str(), Some("logic" | "bit" | "reg" | "wire")) => Some(1),
            None => None,
        },
        "PACKARRAYDTYPE" => Some(range(dtype["declRange"].as_str()?)? * bits(types, dtype["refDTypep"].as_str()?, depth + 1)?),
        "STRUCTDTYPE" if dtype["packed"] == true => {
            dtype["membersp"].as_array()?.iter().map(|m| bits(types, m["dtypep"].as_str()?, depth + 1)).sum()
        }
        "UNIONDTYPE" if dtype["packed"] == true => {
            dtype["membersp"].as_array()?.iter().filter_map(|m| bits(types, m["dtypep"].as_str()?, depth + 1)).max()
        }
        "ENUMDTYPE" | "REFDTYPE" | "MEMBERDTYPE" | "CONSTDTYPE" => {
            // What a type parameter refers to is in its module, not in the table; what it is in the end is in both.
            let to = |field: &str| dtype[field].as_str().filter(|a| *a != address).and_then(|to| bits(types, to, depth + 1));
            to("refDTypep").or_else(|| to("dtypep"))
        }
        _ => None,
    }
}

/// A name as the source has it: Verilator writes characters, and the second of two underscores, as "__0" and their number.
pub(crate) fn spelled(name: &str) -> String {
    let mut parts = name.split("__0");
    let mut all = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let number = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match number {
            Some(number) => all.extend([char::from(number).to_string().as_str(), &part[2..]]),
            None => all.extend(["__0", part]),
        }
    }
    all
}

/// What a variable is assigned to from, without a clock.
#[derive(Default)]
struct From {
    variables: BTreeSet<String>,
    /// A word of a memory, or of a vector as one is made of: chosen by a variable.
    word: bool,
}

/// Names of the module's variables that follow from a word of a memory in the same clock. Modules inside are not looked into.
pub(crate) fn through(module: &Value) -> BTreeSet<String> {
    let mut all = BTreeMap::new();
    assignments(&module["stmtsp"], &mut all);
    let mut found: BTreeSet<String> = all.iter().filter(|(_, from)| from.word).map(|(name, _)| name.clone()).collect();
    loop {
        let more: Vec<String> = all
            .iter()
            .filter(|(name, from)| !found.contains(*name) && from.variables.iter().any(|variable| found.contains(variable)))
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return found.iter().map(|name| spelled(name)).collect();
        }
        found.extend(more);
    }
}

fn lists(node: &Value) -> impl Iterator<Item = &Value> {
    node.as_object().into_iter().flat_map(|fields| fields.values()).filter(|value| value.is_array())
}

fn assignments(node: &Value, all: &mut BTreeMap<String, From>) {
    if let Some(list) = node.as_array() {
        return list.iter().for_each(|node| assignments(node, all));
    }
    let clocked = node["sentreep"].as_array().is_some_and(|senses| !senses.is_empty());
    if clocked || node["type"] == "INITIAL" {
        return;
    }
    if matches!(node["type"].as_str(), Some("ASSIGN" | "ASSIGNW")) {
        if let Some(name) = target(&node["lhsp"]) {
            right(&node["rhsp"], all.entry(name.to_string()).or_default());
        }
        return;
    }
    lists(node).for_each(|list| assignments(list, all));
}

/// The variable that is assigned to, wholly or in part.
fn target(node: &Value) -> Option<&str> {
    let node = node.get(0)?;
    match node["type"].as_str()? {
        "VARREF" => node["name"].as_str(),
        _ => target(&node["fromp"]),
    }
}

fn right(node: &Value, from: &mut From) {
    if let Some(list) = node.as_array() {
        return list.iter().for_each(|node| right(node, from));
    }
    match node["type"].as_str() {
        Some("VARREF") => from.variables.extend(node["name"].as_str().map(String::from)),
        Some("ARRAYSEL" | "SEL") => {
            let mut chosen = From::default();
            right(&node["bitp"], &mut chosen);
            right(&node["lsbp"], &mut chosen);
            from.word |= !chosen.variables.is_empty();
            right(&node["fromp"], from);
        }
        // What a condition chooses is data; the condition is not.
        Some("COND") => ["thenp", "elsep"].into_iter().for_each(|part| right(&node[part], from)),
        _ => lists(node).for_each(|list| right(list, from)),
    }
}

#[cfg(test)]
mod tests {
    use super::spelled;

    #[test]
    fn names_are_as_in_the_source() {
        for (written, name) in
            [("x___05Fpayload", "x__payload"), ("plain_1", "plain_1"), ("a__0zz", "a__0zz"), ("b__02Ec", "b.c"), ("__0", "__0")]
        {
            assert_eq!(spelled(written), name);
        }
    }
}
