// SPDX-License-Identifier: Apache-2.0
//! The manifest against the ports that the top really has, as Verilator elaborates them.

use crate::manifest::{Direction, Manifest, ParameterValue};
use crate::tool::{disk_full, messages, Verilator};
use crate::CoreError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Direction of a port, from the core's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortDirection {
    /// The core takes it.
    Input,
    /// The core drives it.
    Output,
    /// `inout` or something else that no port of a core may be.
    Other,
}

impl fmt::Display for PortDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PortDirection::Input => "input",
            PortDirection::Output => "output",
            PortDirection::Other => "inout",
        })
    }
}

/// A port of the top.
#[derive(Clone, Debug)]
pub struct Port {
    /// Which way it goes.
    pub direction: PortDirection,
    /// Bits; `None` for what is not a plain vector (an unpacked array, an interface).
    pub width: Option<u64>,
    /// FILE:LINE.
    pub place: String,
}

/// The elaborated top.
#[derive(Clone, Debug, Default)]
pub struct Top {
    /// Its ports by name.
    pub ports: BTreeMap<String, Port>,
    /// FILE:LINE of the module.
    pub place: String,
    /// It has a parameter DATA_WIDTH, which takes the manifest's width.
    pub has_data_width: bool,
}

impl Top {
    /// Elaborate the core's sources with its parameters. `scratch` is a folder for intermediate files.
    pub(crate) fn elaborate(
        verilator: &Verilator,
        manifest: &Manifest,
        width: u32,
        scratch: &Path,
        warnings: &dyn Fn(&str),
    ) -> Result<Top, CoreError> {
        // Verilator refuses a parameter that the top does not have, and only the elaborated top shows it: try with the width, then without.
        match Top::attempt(verilator, manifest, Some(width), scratch, warnings)? {
            Some(top) => Ok(top),
            None => Top::attempt(verilator, manifest, None, scratch, warnings)?
                .ok_or_else(|| CoreError::manifest(&manifest.folder.join(crate::MANIFEST), "the top takes no parameters")),
        }
    }

    fn attempt(
        verilator: &Verilator,
        manifest: &Manifest,
        width: Option<u32>,
        scratch: &Path,
        warnings: &dyn Fn(&str),
    ) -> Result<Option<Top>, CoreError> {
        let tree = scratch.join("ports.json");
        let meta = scratch.join("ports.meta.json");
        let mut command = verilator.command();
        command.args(["--json-only", "--quiet", "--no-timing", "--assert", "-Wno-fatal", "-Wno-MULTITOP"]);
        command.arg("--json-only-output").arg(&tree).arg("--json-only-meta-output").arg(&meta).arg("--Mdir").arg(scratch);
        command.arg("--top-module").arg(&manifest.core.top);
        if let Some(width) = width {
            command.arg(format!("-GDATA_WIDTH={width}"));
        }
        for (name, value) in &manifest.parameters {
            command.arg(match value {
                ParameterValue::Bool(b) => format!("-G{name}={}", u8::from(*b)),
                ParameterValue::Integer(n) => format!("-G{name}={n}"),
                ParameterValue::Text(text) => format!("-G{name}=\"{text}\""),
            });
        }
        add_sources(&mut command, manifest);
        let output = command.output().map_err(|e| CoreError::io("cannot run Verilator in", scratch, e))?;
        if disk_full(&output) {
            return Err(CoreError::DiskFull { path: scratch.to_path_buf() });
        }
        let said = messages(&output);
        if !output.status.success() {
            if let Some(names) = said.lines().find_map(|l| l.split_once("not found in the design: ").map(|(_, names)| names)) {
                let unknown: Vec<&str> = names.split(',').map(str::trim).filter(|n| *n != "DATA_WIDTH").collect();
                if unknown.is_empty() {
                    return Ok(None);
                }
                return Err(CoreError::manifest(
                    &manifest.folder.join(crate::MANIFEST),
                    format!("[parameters]: module \"{}\" has no parameter {}", manifest.core.top, unknown.join(", ")),
                ));
            }
            return Err(CoreError::Compile { core: manifest.core.name.clone(), message: said });
        }
        if !said.is_empty() {
            warnings(&said);
        }
        let read = |path: &PathBuf| -> Result<Value, CoreError> {
            let text = std::fs::read_to_string(path).map_err(|e| CoreError::io("cannot read", path, e))?;
            serde_json::from_str(&text).map_err(|e| CoreError::Tool {
                tool: "verilator".into(),
                message: format!("its description of the ports is not understood ({e}): Verilator 5.020 or newer is needed"),
            })
        };
        let mut top = Top::parse(&read(&tree)?, &read(&meta)?, &manifest.core.top).ok_or_else(|| CoreError::Tool {
            tool: "verilator".into(),
            message: "its description of the ports is not understood: Verilator 5.020 or newer is needed".into(),
        })?;
        top.has_data_width = width.is_some();
        Ok(Some(top))
    }

    fn parse(tree: &Value, meta: &Value, name: &str) -> Option<Top> {
        let module = tree
            .get("modulesp")?
            .as_array()?
            .iter()
            .find(|m| m["type"] == "MODULE" && (m["origName"] == name || m["name"] == name || m["level"] == 1))?;
        let mut types = BTreeMap::new();
        for table in tree.get("miscsp")?.as_array()? {
            for dtype in table["typesp"].as_array().into_iter().flatten() {
                types.insert(dtype["addr"].as_str()?.to_string(), dtype);
            }
        }
        let place = |node: &Value| -> String {
            // "e,12:8,12:11": the file's letter, the first and the last place.
            let loc = node["loc"].as_str().unwrap_or_default();
            let mut parts = loc.split(',');
            let file = parts.next().map(|letter| meta["files"][letter]["filename"].as_str().unwrap_or("?")).unwrap_or("?");
            let line = parts.next().and_then(|p| p.split(':').next()).unwrap_or("?");
            format!("{file}:{line}")
        };
        let mut top = Top { place: place(module), ..Top::default() };
        for node in module["stmtsp"].as_array()? {
            let Some(direction) = node["direction"].as_str().filter(|d| node["type"] == "VAR" && *d != "NONE") else {
                // A port of interface type is a variable of another kind.
                if node["varType"] == "IFACEREF" && node["isPrimaryIO"] == true {
                    let port = Port { direction: PortDirection::Other, width: None, place: place(node) };
                    top.ports.insert(node["name"].as_str()?.to_string(), port);
                }
                continue;
            };
            let direction = match direction {
                "INPUT" => PortDirection::Input,
                "OUTPUT" => PortDirection::Output,
                _ => PortDirection::Other,
            };
            let port_name = node["origName"].as_str().or(node["name"].as_str())?.to_string();
            top.ports.insert(port_name, Port { direction, width: bits(&types, node["dtypep"].as_str()?, 0), place: place(node) });
        }
        Some(top)
    }
}

/// Sources and include folders, as the user named them, so that messages name them in the same way.
pub(crate) fn add_sources(command: &mut std::process::Command, manifest: &Manifest) {
    for include in &manifest.core.include {
        command.arg(format!("-I{}", manifest.folder.join(include).display()));
    }
    command.arg(format!("-I{}", manifest.folder.display()));
    for source in &manifest.core.sources {
        command.arg(manifest.folder.join(source));
    }
}

/// Width of a packed type.
fn bits(types: &BTreeMap<String, &Value>, address: &str, depth: u32) -> Option<u64> {
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
            let to = dtype["refDTypep"].as_str().filter(|a| *a != address)?;
            bits(types, to, depth + 1)
        }
        _ => None,
    }
}

/// A port that the manifest calls for.
pub(crate) struct Expected {
    pub name: String,
    pub direction: PortDirection,
    pub width: u64,
    pub optional: bool,
    /// The entry of the manifest that calls for it.
    pub why: String,
}

/// All ports a top may have, in the order of `cores/README.md`.
pub(crate) fn expected(manifest: &Manifest, width: u32) -> Vec<Expected> {
    use PortDirection::{Input, Output};
    let mut list = Vec::new();
    let mut add = |name: String, direction, width: u64, optional, why: &str| {
        list.push(Expected { name, direction, width, optional, why: why.to_string() });
    };
    add("clk".into(), Input, 1, false, "every core has it");
    add("rst_n".into(), Input, 1, false, "every core has it");
    for channel in &manifest.channels {
        let n = &channel.name;
        let why = format!("{} channel \"{n}\"", channel.direction);
        let (with, against) = match channel.direction {
            Direction::H2c => (Input, Output),
            Direction::C2h => (Output, Input),
        };
        add(format!("{n}_tdata"), with, width.into(), false, &why);
        add(format!("{n}_tkeep"), with, u64::from(width / 8), false, &why);
        add(format!("{n}_tlast"), with, 1, false, &why);
        add(format!("{n}_tvalid"), with, 1, false, &why);
        add(format!("{n}_tready"), against, 1, false, &why);
        if channel.direction == Direction::H2c {
            add(format!("{n}_error"), Input, 1, true, &why);
        }
        add(format!("{n}_reset"), Input, 1, true, &why);
        if channel.attributes {
            let why = format!("{why} with attributes");
            let h2c = channel.direction == Direction::H2c;
            add(format!("{n}_length"), with, if h2c { 64 } else { 48 }, false, &why);
            add(format!("{n}_offset"), with, if h2c { 64 } else { 32 }, false, &why);
            add(format!("{n}_user"), with, 32, false, &why);
        }
    }
    if manifest.registers.is_some() {
        for (name, to_core, bits) in AXIL {
            let direction = if to_core { Input } else { Output };
            add(format!("s_axil_{name}"), direction, bits, false, "[registers]");
        }
    }
    if let Some(interrupts) = &manifest.interrupts {
        add("irq_valid".into(), Output, interrupts.count.into(), false, "[interrupts]");
        add("irq_ready".into(), Input, interrupts.count.into(), false, "[interrupts]");
    }
    list
}

/// AXI4-Lite: signal, whether the core takes it, bits.
pub(crate) const AXIL: [(&str, bool, u64); 17] = [
    ("awaddr", true, 32),
    ("awvalid", true, 1),
    ("awready", false, 1),
    ("wdata", true, 32),
    ("wstrb", true, 4),
    ("wvalid", true, 1),
    ("wready", false, 1),
    ("bresp", false, 2),
    ("bvalid", false, 1),
    ("bready", true, 1),
    ("araddr", true, 32),
    ("arvalid", true, 1),
    ("arready", false, 1),
    ("rdata", false, 32),
    ("rresp", false, 2),
    ("rvalid", false, 1),
    ("rready", true, 1),
];

fn bits_text(width: u64) -> String {
    if width == 1 {
        "1 bit".into()
    } else {
        format!("{width} bits")
    }
}

/// Compare; every difference is reported at once.
pub fn check_ports(manifest: &Manifest, width: u32, top: &Top) -> Result<(), CoreError> {
    let expected = expected(manifest, width);
    let mut problems = Vec::new();
    for want in &expected {
        let wanted = format!("{}, {} ({})", want.direction, bits_text(want.width), want.why);
        match top.ports.get(&want.name) {
            None if want.optional => {}
            None => {
                problems.push(format!("{}: module \"{}\" has no port \"{}\": expected {wanted}", top.place, manifest.core.top, want.name))
            }
            Some(port) if port.direction != want.direction => {
                problems.push(format!("{}: port \"{}\" is {}: expected {wanted}", port.place, want.name, port.direction));
            }
            Some(port) => match port.width {
                Some(width) if width == want.width => {}
                Some(width) => problems.push(format!("{}: port \"{}\" has {}: expected {wanted}", port.place, want.name, bits_text(width))),
                None => problems.push(format!("{}: port \"{}\" is not a packed vector: expected {wanted}", port.place, want.name)),
            },
        }
    }
    let known: BTreeSet<&str> = expected.iter().map(|e| e.name.as_str()).collect();
    for (name, port) in &top.ports {
        if !known.contains(name.as_str()) {
            let width = port.width.map_or("not a packed vector".to_string(), bits_text);
            let remedy = remedy(manifest, name, port.direction);
            problems.push(format!("{}: port \"{name}\" ({}, {width}) is not in the manifest: {remedy}", port.place, port.direction));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(CoreError::Mismatch { core: manifest.core.name.clone(), manifest: manifest.folder.join(crate::MANIFEST), problems })
}

fn remedy(manifest: &Manifest, name: &str, direction: PortDirection) -> String {
    if name.starts_with("s_axil_") && manifest.registers.is_none() {
        return "add [registers], or remove the port".into();
    }
    if name.starts_with("irq_") && manifest.interrupts.is_none() {
        return "add [interrupts], or remove the port".into();
    }
    for suffix in ["_length", "_offset", "_user"] {
        if let Some(channel) = name.strip_suffix(suffix).and_then(|c| manifest.channels.iter().find(|m| m.name == c)) {
            return format!("set attributes = true in channel \"{}\", or remove the port", channel.name);
        }
    }
    for suffix in ["_tdata", "_tkeep", "_tlast", "_tvalid", "_tready"] {
        if let Some(channel) = name.strip_suffix(suffix) {
            let c2h = (direction == PortDirection::Output) != (suffix == "_tready");
            let way = if c2h { Direction::C2h } else { Direction::H2c };
            return format!("add a [[channel]] with name = \"{channel}\", direction = \"{way}\", or remove the port");
        }
    }
    "remove it: cores/README.md lists the ports a core may have".into()
}
