// SPDX-License-Identifier: Apache-2.0
//! The region of a user core in whose place others can be loaded: what fits there, and what is generated around it.
//!
//! Outputs of the core pass a gate, which is shut while the region is decoupled. On a board the region is a module `tp_region` of its own, which has the same ports
//! whatever core is in it; one is there, and a load replaces it. In simulation
//! all are there; all but one are in reset, and a model of the configuration port says whose outputs count, or that none does.

use crate::listed::tidy;
use crate::manifest::{khz, Channel, Direction, Manifest, MANIFEST};
use crate::plugin::Plugin;
use crate::ports::{PortDirection, Top, CONFIG, DECOUPLED, MIDWAY};
use crate::wrapper::{instance, packed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

/// The module of a board's region.
const REGION: &str = "tp_region";

/// Why another core cannot stand behind the ports of this one, if it cannot.
fn misfit(own: &Manifest, other: &Manifest) -> Option<String> {
    for direction in [Direction::H2c, Direction::C2h] {
        let (ours, theirs): (Vec<_>, Vec<_>) = (own.of(direction).collect(), other.of(direction).collect());
        if ours.len() != theirs.len() {
            return Some(format!("it has {} {direction} channels, and this core {}: give both the same", theirs.len(), ours.len()));
        }
        for (ours, theirs) in ours.iter().zip(theirs) {
            if ours.carrier != theirs.carrier {
                return Some(format!("its channel \"{}\" is of another kind than \"{}\" here: make them the same", theirs.name, ours.name));
            }
            if theirs.attributes && !ours.attributes {
                let why = format!("its channel \"{}\" has attributes", theirs.name);
                return Some(format!("{why}: set attributes = true in channel \"{}\" here, and give the core their ports", ours.name));
            }
        }
    }
    // Verilator compiles all of them together, and knows a module and a macro once.
    if let Some(what) = same_top(own, other) {
        return Some(what);
    }
    let (ours, theirs): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (own.core.macros().into_iter().collect(), other.core.macros().into_iter().collect());
    if let Some(name) = ours.keys().chain(theirs.keys()).find(|name| ours.get(*name) != theirs.get(*name)) {
        let told = |macros: &BTreeMap<String, String>| match macros.get(name) {
            None => "undefined".to_string(),
            Some(value) if value.is_empty() => "defined".to_string(),
            Some(value) => value.clone(),
        };
        let why = format!("macro {name} is {} there and {} in this core, and one compiler reads both", told(&theirs), told(&ours));
        return Some(format!("{why}: give both the same in core.defines, or use a parameter"));
    }
    let (ours, theirs) = (own.core_window_bytes(), other.core_window_bytes());
    if theirs > ours {
        return Some(format!("it has {theirs} bytes of registers, and this core {ours}: give this one as many, in [registers]"));
    }
    let interrupts = |manifest: &Manifest| manifest.interrupts.as_ref().map_or(0, |interrupts| interrupts.count);
    let (ours, theirs) = (interrupts(own), interrupts(other));
    if theirs > ours {
        return Some(format!("it has {theirs} interrupts, and this core {ours}: give this one as many, in [interrupts]"));
    }
    let clock = other.core.clock_mhz.filter(|mhz| khz(*mhz) != own.user_clock_khz())?;
    Some(format!("its clock_mhz is {clock:?}, and it would run on this core's clock: make them the same"))
}

/// Two cores have a top of one name, and not the same one.
fn same_top(one: &Manifest, other: &Manifest) -> Option<String> {
    let sources = |manifest: &Manifest| -> BTreeSet<PathBuf> {
        let all = manifest.core.sources.iter().map(|source| manifest.folder.join(source));
        all.map(|path| path.canonicalize().unwrap_or(path)).collect()
    };
    if one.core.top != other.core.top || sources(one) == sources(other) {
        return None;
    }
    let [first, second] = [one, other].map(|manifest| tidy(&manifest.folder.join(MANIFEST)).display().to_string());
    let why = format!("its top is \"{}\", and so is that of core \"{}\": {second} and {first}", other.core.top, one.core.name);
    Some(format!("{why}. One compiler reads both: rename the module in one of them, and core.top with it"))
}

/// A core of a plug-in does not fit into the region: the plug-in's number, and what is wrong.
pub(crate) fn fault(manifest: &Manifest, plugins: &[Plugin]) -> Option<(usize, String)> {
    let (number, plugin) = plugins.iter().enumerate().find(|(_, plugin)| plugin.region)?;
    let mut names = BTreeSet::from([manifest.core.name.as_str()]);
    let fault = plugin.cores.iter().enumerate().find_map(|(at, other)| {
        let name = &other.core.name;
        let twice = (!names.insert(name)).then(|| "there is another core of that name: give each its own".to_string());
        let beside = || plugin.cores[..at].iter().find_map(|one| same_top(one, other));
        twice
            .or_else(|| misfit(manifest, other))
            .or_else(beside)
            .map(|what| format!("core \"{name}\" ({}): {what}", other.folder.display()))
    })?;
    Some((number, format!("plug-in \"{}\": {fault}", plugin.type_name)))
}

/// What tells the plug-in that a channel is within a message, and its wires to the configuration port.
pub(crate) fn wires(out: &mut String) {
    out.push_str(
        "
  // Is a channel within a message? Until its reset also one whose rest the core will not get.
  logic [NH-1:0] h2c_midway, h2c_beat;
  logic [NC-1:0] c2h_midway, c2h_beat;
  assign h2c_beat = h2c_tvalid & h2c_tready;
  assign c2h_beat = c2h_tvalid & c2h_tready;
  always_ff @(posedge clk) begin
    h2c_midway <= (h2c_beat & ~h2c_tlast | ~h2c_beat & h2c_midway) & ~h2c_reset & {NH{rst_n}};
    c2h_midway <= (c2h_beat & ~c2h_tlast | ~c2h_beat & c2h_midway) & ~c2h_reset & {NC{rst_n}};
  end
",
    );
    let _ = writeln!(out, "  logic {MIDWAY}, {DECOUPLED};\n  assign {MIDWAY} = (|h2c_midway) || (|c2h_midway);");
    for (signal, _, bits) in CONFIG {
        let range = if bits > 1 { format!("[{}:0] ", bits - 1) } else { String::new() };
        let _ = writeln!(out, "  logic {range}{signal};");
    }
}

/// The port of the region's own core that another core's port stands for.
fn port_of(port: &str, other: &Manifest, own: &Manifest) -> String {
    let channels = |manifest: &Manifest| -> Vec<Channel> {
        [Direction::H2c, Direction::C2h].into_iter().flat_map(|direction| manifest.of(direction).cloned().collect::<Vec<_>>()).collect()
    };
    let named = channels(other).into_iter().zip(channels(own));
    let signal =
        named.filter_map(|(theirs, ours)| Some((port.strip_prefix(&theirs.prefix())?.strip_prefix('_')?.to_string(), ours.prefix())));
    // Of several names that the port begins with, the longest leaves the least.
    match signal.min_by_key(|(signal, _)| signal.len()) {
        Some((signal, name)) => format!("{name}_{signal}"),
        None => port.to_string(),
    }
}

/// A core in the region: its manifest, its module and its instance's name.
struct Inside<'a> {
    manifest: &'a Manifest,
    top: &'a Top,
    name: String,
    parameters: Vec<String>,
}

impl Inside<'_> {
    /// The wire of an output.
    fn wire(&self, port: &str) -> String {
        format!("{}_{port}", self.name)
    }
}

/// The region: the core's own instance, and those of the others, behind a gate. `connected` says what each port of the region leads to, and `parameters`
/// what those of a core's module are given.
pub(crate) fn region(
    out: &mut String,
    manifest: &Manifest,
    (top, others): (&Top, &[Top]),
    connected: &BTreeMap<String, String>,
    parameters: impl Fn(&Manifest, &Top) -> Vec<String>,
    simulated: bool,
) -> Vec<String> {
    let all = [(manifest, top)].into_iter().chain(manifest.others().iter().zip(others)).enumerate();
    let inside: Vec<Inside> = all
        .map(|(number, (core, top))| {
            let name = if number == 0 { "core".to_string() } else { format!("core_{number}") };
            Inside { manifest: core, top, name, parameters: parameters(core, top) }
        })
        .collect();
    let mut config = vec![".clk(clk)".to_string()];
    config.extend(CONFIG.iter().map(|(signal, ..)| format!(".{signal}({signal})")));
    if simulated {
        let bits = usize::BITS - inside.len().leading_zeros();
        let _ = writeln!(out, "\n  // The region, and the core that it holds.\n  logic torn, junk;\n  logic [{}:0] live;", bits - 1);
        let names: Vec<String> = inside.iter().rev().map(|core| packed(&core.manifest.core.name, 32)).collect();
        config.extend(["torn", "live", "junk"].map(|signal| format!(".{signal}({signal})")));
        let settings = [format!(".CORES({})", inside.len()), format!(".NAMES({{{}}})", names.join(", "))];
        instance(out, "tp_config_model", "config_port", &settings, &config);
    } else {
        let fastest = manifest.user_clocks_khz().into_iter().max().unwrap_or_default();
        instance(out, "tp_config_port", "config_port", &[format!(".CLOCK_KHZ({fastest})")], &config);
        let ports = ports_of(top, connected);
        partition(out, &ports, connected);
        return inside.iter().map(|core| inside_of(core, manifest, &ports)).collect();
    }

    let mut outputs: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (number, core) in inside.iter().enumerate() {
        let mut ports = Vec::new();
        out.push('\n');
        for (port, about) in &core.top.ports {
            let known = port_of(port, core.manifest, manifest);
            let Some(leads_to) = connected.get(&known) else { continue };
            let wide = about.width.unwrap_or(1);
            if port == "rst_n" && simulated {
                ports.push(format!(".rst_n({leads_to} && !torn && live == {number})"));
            } else if about.direction == PortDirection::Output && !leads_to.is_empty() {
                let range = if wide > 1 { format!("[{}:0] ", wide - 1) } else { String::new() };
                let _ = writeln!(out, "  logic {range}{};", core.wire(port));
                ports.push(format!(".{port}({})", core.wire(port)));
                outputs.entry(known).or_default().push((number, core.wire(port)));
            } else if port == "irq_ready" {
                ports.push(format!(".{port}(irq_ready[{}:0])", wide - 1));
            } else {
                ports.push(format!(".{port}({leads_to})"));
            }
        }
        instance(out, &core.top.module, &core.name, &core.parameters, &ports);
    }

    out.push_str("\n  // What leaves the region.\n");
    for (port, about) in top.ports.iter().filter(|(port, _)| outputs.contains_key(*port)) {
        let wide = about.width.unwrap_or(1);
        let from = &outputs[port];
        let cores: String = from.iter().map(|(number, wire)| format!("live == {number} ? {wire} : ")).collect();
        let _ = writeln!(out, "  assign {} = {DECOUPLED} ? '0 : torn ? {{{wide}{{junk}}}} : {cores}'0;", connected[port]);
    }
    Vec::new()
}

/// The ports of a board's region: direction and bits. They are those of its own core, and what other cores may have beside them.
fn ports_of(top: &Top, connected: &BTreeMap<String, String>) -> BTreeMap<String, (PortDirection, u64)> {
    let of = |name: &String| top.ports.get(name).map_or((PortDirection::Input, 1), |port| (port.direction, port.width.unwrap_or(1)));
    connected.keys().map(|name| (name.clone(), of(name))).collect()
}

fn range(bits: u64) -> String {
    if bits > 1 {
        format!("[{}:0] ", bits - 1)
    } else {
        String::new()
    }
}

/// A board's region from outside: one instance, whatever core is in it, and the gate behind it.
fn partition(out: &mut String, ports: &BTreeMap<String, (PortDirection, u64)>, connected: &BTreeMap<String, String>) {
    let leaves = |name: &str| ports[name].0 == PortDirection::Output && !connected[name].is_empty();
    out.push_str("\n  // The region.\n");
    for (name, (_, bits)) in ports.iter().filter(|(name, _)| leaves(name)) {
        let _ = writeln!(out, "  logic {}core_{name};", range(*bits));
    }
    let to = |name: &String| if leaves(name) { format!("core_{name}") } else { connected[name].clone() };
    let wired: Vec<String> = ports.keys().map(|name| format!(".{name}({})", to(name))).collect();
    instance(out, REGION, "core", &[], &wired);
    out.push_str("\n  // What leaves it.\n");
    for name in ports.keys().filter(|name| leaves(name)) {
        let _ = writeln!(out, "  assign {} = {DECOUPLED} ? '0 : core_{name};", connected[name]);
    }
}

/// What is in a board's region: a module that has the same ports for each core.
fn inside_of(core: &Inside, own: &Manifest, ports: &BTreeMap<String, (PortDirection, u64)>) -> String {
    let listed = |(name, (direction, bits)): (&String, &(PortDirection, u64))| format!("    {direction} logic {}{name}", range(*bits));
    let list: Vec<String> = ports.iter().map(listed).collect();
    let name = &core.manifest.core.name;
    let mut out = format!("// Core \"{name}\" in the region of a card with core \"{}\". Generated: do not edit.\n", own.core.name);
    let _ = write!(out, "/* verilator lint_off UNUSEDSIGNAL */\n/* verilator lint_off UNUSEDPARAM */\nmodule {REGION} (\n");
    let _ = write!(out, "{}\n);\n  localparam int DATA_WIDTH = {};\n", list.join(",\n"), own.core.width);
    let mut left: BTreeMap<&String, u64> =
        ports.iter().filter(|(_, (direction, _))| *direction == PortDirection::Output).map(|(name, _)| (name, 0)).collect();
    let mut wired = Vec::new();
    for (port, about) in &core.top.ports {
        let known = port_of(port, core.manifest, own);
        let Some((_, bits)) = ports.get(&known) else { continue };
        let wide = about.width.unwrap_or(1).min(*bits);
        let part = if wide < *bits { format!("[{}:0]", wide - 1) } else { String::new() };
        if let Some(driven) = left.get_mut(&known) {
            *driven = wide;
        }
        wired.push(format!(".{port}({known}{part})"));
    }
    instance(&mut out, &core.top.module, "core", &core.parameters, &wired);
    for (port, driven) in left.into_iter().filter(|(port, driven)| *driven < ports[*port].1) {
        let part = if driven > 0 { format!("[{}:{driven}]", ports[port].1 - 1) } else { String::new() };
        let _ = writeln!(out, "  assign {port}{part} = '0;");
    }
    out.push_str("endmodule\n");
    out.extend(core.top.shim.as_deref());
    out
}

/// The module of a board's region, for a compiler that is to leave a hole for it.
pub(crate) fn hole(inside: &str) -> String {
    let ports = inside.split_once("\nmodule ").and_then(|(_, rest)| rest.split_once(");")).map_or("", |(ports, _)| ports);
    format!("// The region, empty. Generated: do not edit.\n(* black_box *)\nmodule {ports});\nendmodule\n")
}
