// SPDX-License-Identifier: Apache-2.0
//! Cores whose ports have other names than `cores/README.md` gives them: `[ports]` of the manifest, names that are known, and the generated
//! module between them and the names that everything else uses.

use crate::check::{checker, Known};
use crate::family::{behind, Family};
use crate::listed::fits;
use crate::manifest::{at, line_of, Bus, Channel, Direction, Manifest};
use crate::ports::{is_axi, Port, PortDirection, Top, AXIL};
use crate::stream::{between, is_other, watch, Between};
use crate::wrapper::instance;
use crate::CoreError;
use crate::{array, axi, epee, riffa, wires, xillybus};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use towpath_contract::ChannelKind;

/// `[ports]`: what a core calls its ports.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Ports {
    /// Inputs that get 0, and outputs that are left open: names or patterns.
    #[serde(default)]
    pub unused: Vec<String>,
    /// Inputs that get a number.
    #[serde(default)]
    pub tied: BTreeMap<String, u32>,
    /// The name here, and the core's: of a port, or of all ports of a bundle, where a `*` stands for the signal.
    #[serde(flatten)]
    pub names: BTreeMap<String, Names>,
}

/// What a port is called.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Names {
    /// By one name; an empty one says that there is no such port.
    One(String),
    /// Several ports that get the same, as clocks and resets do.
    Many(Vec<String>),
}

impl Names {
    fn list(&self) -> Vec<&str> {
        match self {
            Names::One(name) => vec![name.as_str()],
            Names::Many(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// Names of a clock, and of resets that are active low and high, in small letters.
const CLOCKS: [&str; 13] = [
    "bus_clk",
    "aclk",
    "ap_clk",
    "clock",
    "clk_i",
    "i_clk",
    "axis_aclk",
    "s_axis_aclk",
    "s_axi_aclk",
    "s_axil_aclk",
    "sys_clk",
    "usr_clk",
    "clk",
];
const LOW: [&str; 16] = [
    "aresetn",
    "ap_rst_n",
    "resetn",
    "rstn",
    "reset_n",
    "rst_ni",
    "nrst",
    "nreset",
    "arst_n",
    "areset_n",
    "i_rst_n",
    "usr_rst_n",
    "axis_aresetn",
    "s_axis_aresetn",
    "s_axi_aresetn",
    "rst_n",
];
const HIGH: [&str; 12] = ["quiesce", "rst", "reset", "areset", "ap_rst", "rst_i", "i_rst", "i_reset", "reset_i", "arst", "srst", "usr_rst"];

/// Those of them that are Xillybus's own.
const XILLYBUS: [&str; 2] = ["bus_clk", "quiesce"];

/// Signals beside a stream that has no counterpart for them.
const BESIDE_STREAM: [&str; 3] = ["tuser", "tid", "tdest"];
/// And beside registers: what AXI4-Lite has not, but generators write all the same.
const BESIDE_REGISTERS: [&str; 10] =
    ["awprot", "arprot", "awcache", "arcache", "awqos", "arqos", "awregion", "arregion", "awlock", "arlock"];
/// The bundle of the registers.
const REGISTERS: &str = "s_axil";

/// What is found out about a core's ports.
#[derive(Default)]
struct Found {
    /// Of each port that the others use: the core's. Not clock and reset.
    names: BTreeMap<String, String>,
    clocks: Vec<String>,
    /// Active low, and active high.
    low: Vec<String>,
    high: Vec<String>,
    /// It has been said that there is no clock, or no reset.
    no_clock: bool,
    no_reset: bool,
    /// The core's ports that have been accounted for.
    taken: BTreeSet<String>,
    problems: Vec<String>,
}

/// The text before and after the `*` of a pattern, around a name's rest.
fn rest<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    let (before, after) = pattern.split_once('*')?;
    name.strip_prefix(before)?.strip_suffix(after).filter(|rest| !rest.is_empty())
}

/// May the signal be of this bundle? Clocks and resets often begin as a bundle's ports do.
fn belongs(manifest: &Manifest, top: &Top, bundle: &str, signal: &str, port: &str) -> bool {
    let mut channels = manifest.channels.iter().filter(|channel| channel.name == bundle);
    if let Some(stream) = channels.clone().find(|channel| channel.carrier.is_none()) {
        return stream.has_signal(signal, top.ports[port].direction);
    }
    if channels.clone().any(array::is_array) {
        return array::is_signal(signal);
    }
    match channels.next().map(|channel| channel.half().map(|(kind, _)| kind.number)) {
        Some(Some(ChannelKind::Memory)) => is_axi(signal),
        Some(_) => true,
        None => bundle != REGISTERS || is_axi(signal),
    }
}

impl Found {
    fn take(&mut self, top: &Top, key: &str, name: &str) -> bool {
        if !top.ports.contains_key(name) {
            let there: Vec<&str> = top.ports.keys().map(String::as_str).take(40).collect();
            self.problems.push(format!("[ports] {key}: the module has no port \"{name}\"; it has {}", there.join(", ")));
            return false;
        }
        if !self.taken.insert(name.to_string()) {
            self.problems.push(format!("[ports] {key}: port \"{name}\" has been named before: name it once"));
            return false;
        }
        true
    }

    /// A port has this name here, as line `key` says.
    fn give(&mut self, key: &str, name: String, port: String) {
        // The other one would be connected to nothing, with no word about it.
        if let Some(other) = self.names.get(&name) {
            self.problems.push(format!("[ports] {key}: \"{port}\" and \"{other}\" would both be {name}: name one of them"));
        } else {
            self.names.insert(name, port);
        }
    }

    /// What the manifest says.
    fn told(&mut self, manifest: &Manifest, top: &Top) {
        for (key, names) in &manifest.ports.names {
            let reset = matches!(key.as_str(), "rst" | "rst_n");
            for name in names.list() {
                if name.is_empty() && reset {
                    self.no_reset = true;
                } else if name.is_empty() && key == "clk" {
                    self.no_clock = true;
                } else if name.contains('*') {
                    let matching = top.ports.keys().filter_map(|port| Some((rest(name, port)?.to_lowercase(), port.clone())));
                    let matching: Vec<(String, String)> =
                        matching.filter(|(signal, port)| belongs(manifest, top, key, signal, port)).collect();
                    if matching.is_empty() {
                        self.problems
                            .push(format!("[ports] {key} = \"{name}\": the module has no port of such a name: correct the pattern"));
                    }
                    for (signal, port) in matching {
                        if self.take(top, key, &port) {
                            self.give(key, format!("{key}_{signal}"), port);
                        }
                    }
                } else if self.take(top, key, name) {
                    match key.as_str() {
                        "clk" => self.clocks.push(name.into()),
                        "rst_n" => self.low.push(name.into()),
                        "rst" => self.high.push(name.into()),
                        _ => self.give(key, key.clone(), name.into()),
                    }
                }
            }
            if matches!(names, Names::Many(_)) && !reset && key != "clk" {
                self.problems.push(format!("[ports] {key}: only clk, rst_n and rst may be several ports: give one name"));
            }
        }
    }

    /// Ports of the core by their names in small letters, without those that have been accounted for.
    fn free<'a>(&self, top: &'a Top) -> Vec<(String, &'a str)> {
        top.ports.keys().filter(|port| !self.taken.contains(*port)).map(|port| (port.to_lowercase(), port.as_str())).collect()
    }

    fn all_of<const N: usize>(&self, top: &Top, known: [&str; N]) -> Vec<String> {
        let input = |port: &str| top.ports[port].direction == PortDirection::Input && top.ports[port].width == Some(1);
        let free = self.free(top);
        free.iter().filter(|(small, port)| known.contains(&small.as_str()) && input(port)).map(|(_, port)| port.to_string()).collect()
    }

    /// Clock and reset, by names that are known.
    fn clock_and_reset(&mut self, manifest: &Manifest, top: &Top) {
        // These names mean something else to a core that is not written for Xillybus.
        let known = |port: &String| xillybus::is_core(manifest) || !XILLYBUS.contains(&port.to_lowercase().as_str());
        for (what, key) in [("clocks", "clk"), ("resets", "rst_n")] {
            let (mut one, mut high) =
                if key == "clk" { (self.all_of(top, CLOCKS), Vec::new()) } else { (self.all_of(top, LOW), self.all_of(top, HIGH)) };
            one.retain(known);
            high.retain(known);
            let told = if key == "clk" {
                self.no_clock || !self.clocks.is_empty()
            } else {
                self.no_reset || !(self.low.is_empty() && self.high.is_empty())
            };
            if told {
                continue;
            }
            // The name that this page gives it has precedence.
            if one.iter().any(|port| port == key) {
                one = vec![key.to_string()];
                high.clear();
            }
            if one.len() + high.len() > 1 {
                let all = [one, high].concat().join("\", \"");
                let rest = if key == "clk" { "" } else { ", or rst = [...] if they are active high" };
                self.problems.push(format!("several ports may be {what}: say which are: {key} = [\"{all}\"] in [ports]{rest}"));
                continue;
            }
            self.taken.extend(one.iter().chain(&high).cloned());
            if key == "clk" {
                self.clocks = one;
            } else {
                self.low = one;
                self.high = high;
            }
        }
    }

    /// All ports that begin so belong to the bundle.
    fn bundle(&mut self, manifest: &Manifest, top: &Top, key: &str, prefix: &str) {
        for (small, port) in self.free(top) {
            if let Some(signal) = small.strip_prefix(prefix).filter(|signal| belongs(manifest, top, key, signal, port)) {
                self.taken.insert(port.to_string());
                self.names.insert(format!("{key}_{signal}"), port.to_string());
            }
        }
    }

    /// Ports of another family, unless the manifest has told them: by the channel's name, or all that may be.
    fn family(&mut self, manifest: &Manifest, top: &Top, channel: &Channel, alone: bool) {
        let (name, own) = (channel.name.to_lowercase(), format!("{}_", channel.name));
        let told = |(key, port): (&String, &String)| {
            let direction = top.ports.get(port).map(|port| port.direction);
            key.strip_prefix(&own).zip(direction).is_some_and(|(signal, direction)| channel.has_signal(signal, direction))
        };
        if self.names.iter().any(told) {
            return;
        }
        if channel.shape.family == Family::Riffa {
            if riffa::first(manifest).is_some_and(|first| first.name == channel.name) {
                self.bundle(manifest, top, &channel.name, riffa::PREFIX);
            }
            return;
        }
        if channel.shape.family.is_epee() {
            epee::prefixes(channel.direction).iter().for_each(|prefix| self.bundle(manifest, top, &channel.name, prefix));
            return;
        }
        let mut prefixes = vec![format!("{name}_"), format!("{name}_v_"), format!("{name}_fifo_"), format!("fifo_{name}_")];
        if alone {
            prefixes.push(String::new());
        }
        let free: Vec<(String, String)> = self.free(top).into_iter().map(|(small, port)| (small, port.to_string())).collect();
        let fits = |prefix: &str| {
            let of = |(small, port): &&(String, String)| {
                small.strip_prefix(prefix).is_some_and(|signal| channel.has_signal(signal, top.ports[port].direction))
            };
            free.iter().filter(of).count() > 1
        };
        if let Some(prefix) = prefixes.iter().find(|prefix| fits(prefix)) {
            self.bundle(manifest, top, &channel.name, prefix);
        }
    }

    /// Streams and registers, by what their ports begin with.
    fn bundles(&mut self, manifest: &Manifest, top: &Top) {
        for (name, port) in xillybus::named(manifest, &self.free(top)) {
            if let Some(other) = self.names.get(&name) {
                // One of them would be connected to nothing, unless the manifest says so.
                if !manifest.ports.unused.iter().any(|pattern| fits(pattern.as_bytes(), port.as_bytes())) {
                    self.problems.push(format!("[ports]: \"{other}\" and \"{port}\" would both be {name}: add one of them to unused"));
                }
                continue;
            }
            self.taken.insert(port.clone());
            self.names.insert(name, port);
        }
        let mastered: Vec<&Channel> =
            manifest.channels.iter().filter(|channel| axi::is_mastered(channel) && channel.direction == Direction::H2c).collect();
        for channel in &mastered {
            let free = self.free(top);
            let there =
                |prefix: &String| free.iter().any(|(small, _)| matches!(small.strip_prefix(prefix.as_str()), Some("awvalid" | "arvalid")));
            let told = ["awvalid", "arvalid"].iter().any(|signal| self.names.contains_key(&format!("{}_{signal}", channel.name)));
            if let Some(prefix) = axi::prefixes(channel, mastered.len() == 1).into_iter().find(there).filter(|_| !told) {
                self.bundle(manifest, top, &channel.name, &prefix);
            }
        }
        for channel in manifest.channels.iter().filter(|channel| array::is_array(channel) && channel.direction == Direction::H2c) {
            let told = ["address0", "address1"].iter().any(|signal| self.names.contains_key(&format!("{}_{signal}", channel.name)));
            if !told {
                self.bundle(manifest, top, &channel.name, &format!("{}_", channel.name.to_lowercase()));
            }
        }
        let streams: Vec<&Channel> = manifest.channels.iter().filter(|channel| channel.carrier.is_none() && !channel.idle).collect();
        for channel in &streams {
            let name = channel.name.to_lowercase();
            let family = channel.shape.family;
            if family == Family::Xillybus {
                continue;
            }
            if family != Family::Stream {
                self.family(manifest, top, channel, streams.iter().filter(|other| other.direction == channel.direction).count() == 1);
                continue;
            }
            let own = format!("{}_tdata", channel.name);
            if top.ports.contains_key(&own) || self.names.contains_key(&own) {
                continue;
            }
            let (short, alone) = (
                if channel.direction == Direction::H2c { "s" } else { "m" },
                streams.iter().filter(|other| other.direction == channel.direction).count() == 1,
            );
            let mut prefixes = vec![format!("{name}_"), format!("{short}_axis_{name}_"), format!("{name}_axis_"), format!("axis_{name}_")];
            if alone {
                prefixes.extend([format!("{short}_axis_"), format!("{short}axis_"), format!("axis_{short}_")]);
            }
            let there: BTreeSet<String> = self.free(top).into_iter().map(|(small, _)| small).collect();
            if let Some(prefix) = prefixes.iter().find(|prefix| there.contains(&format!("{prefix}tdata"))) {
                self.bundle(manifest, top, &channel.name, prefix);
            }
        }
        let on_bus = manifest.registers.as_ref().is_some_and(|registers| registers.ports == Bus::Axil);
        if on_bus && !top.ports.contains_key("s_axil_awaddr") && !self.names.contains_key("s_axil_awaddr") {
            let memories: Vec<String> =
                manifest.channels.iter().filter(|c| c.carrier.is_some()).map(|c| format!("{}_", c.name.to_lowercase())).collect();
            let input = |port: &str| top.ports[port].direction == PortDirection::Input;
            let free = self.free(top);
            // In small letters, and as the core writes it.
            let prefixes: Vec<(&str, &str)> = free
                .iter()
                .filter(|(small, port)| input(port) && !memories.iter().any(|memory| small.starts_with(memory)))
                .filter_map(|(small, port)| small.strip_suffix("awaddr").and_then(|prefix| Some((prefix, port.get(..prefix.len())?))))
                .collect();
            match prefixes[..] {
                [(prefix, _)] => self.bundle(manifest, top, REGISTERS, prefix),
                [] => {}
                [(_, first), ..] => self.problems.push(format!(
                    "several ports may be the registers: {}: say which are: {REGISTERS} = \"{first}*\" in [ports]",
                    prefixes.iter().map(|(_, own)| *own).collect::<Vec<_>>().join(", "),
                )),
            }
        }
    }
}

/// A core in the words of `cores/README.md`: `top` is what the module has, and the result what stands for it, with the text of a module between them where one
/// is needed.
pub(crate) fn adapted(manifest: &Manifest, top: Top, number: usize) -> Result<Top, CoreError> {
    let mut found = Found::default();
    found.told(manifest, &top);
    found.clock_and_reset(manifest, &top);
    found.no_reset |= xillybus::is_core(manifest) && found.low.is_empty() && found.high.is_empty();
    found.bundles(manifest, &top);

    let mut open = Vec::new();
    let mut tied = BTreeMap::new();
    for (name, value) in &manifest.ports.tied {
        if found.take(&top, "tied", name) {
            match top.ports[name].direction {
                PortDirection::Input => drop(tied.insert(name.clone(), format!("{value}"))),
                direction => found.problems.push(format!("[ports] tied.{name}: it is {direction}: an input may be tied")),
            }
        }
    }
    let unused: Vec<String> = found.free(&top).into_iter().map(|(_, port)| port.to_string()).collect();
    for pattern in &manifest.ports.unused {
        let matching: Vec<&String> = unused.iter().filter(|port| fits(pattern.as_bytes(), port.as_bytes())).collect();
        if matching.is_empty() {
            found.problems.push(format!("[ports] unused: no port is left that \"{pattern}\" matches: remove it, or correct it"));
        }
        for port in matching {
            found.taken.insert(port.clone());
            match top.ports[port].direction {
                PortDirection::Input => drop(tied.insert(port.clone(), "'0".into())),
                _ => open.push(port.clone()),
            }
        }
    }
    // What no stream and no register has here.
    for (port, about) in top.ports.iter().filter(|(port, _)| !found.taken.contains(*port)).collect::<Vec<_>>() {
        found.names.insert(port.clone(), port.clone());
        found.taken.insert(port.clone());
        let _ = about;
    }
    let streams: Vec<&Channel> = manifest.channels.iter().filter(|channel| channel.carrier.is_none()).collect();
    let beside: Vec<String> = found
        .names
        .keys()
        .filter(|name| {
            let of = |bundle: &str, signals: &[&str]| {
                name.strip_prefix(bundle).and_then(|rest| rest.strip_prefix('_')).is_some_and(|signal| signals.contains(&signal))
            };
            streams.iter().any(|channel| of(&channel.name, &BESIDE_STREAM))
                || manifest.registers.is_some() && of(REGISTERS, &BESIDE_REGISTERS)
        })
        .cloned()
        .collect();
    for name in beside {
        let port = found.names.remove(&name).unwrap_or_default();
        match top.ports[&port].direction {
            PortDirection::Input => drop(tied.insert(port, "'0".into())),
            _ => open.push(port),
        }
    }

    let others = manifest.channels.iter().filter(|channel| is_other(channel, manifest.core.width));
    let mut streams: Vec<Between> = others.map(|channel| between(manifest, channel, &top, &found.names)).collect();
    streams.extend(riffa::between(manifest, &top, &found.names));
    streams.extend(xillybus::between(manifest, &top, &found.names));
    streams.extend(axi::between(manifest, &top, &found.names));
    streams.extend(array::between(manifest, &top, &found.names));
    streams.extend(epee::between(manifest, &top, &found.names));
    streams.extend(wires::between(manifest, &top, &found.names));
    found.problems.extend(streams.iter().flat_map(|between| between.problems.clone()));

    if !found.problems.is_empty() {
        let file = manifest.folder.join(crate::MANIFEST);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        // Each with the line that it is about.
        let placed = |problem: &String| {
            let key: Option<String> =
                problem.strip_prefix("[ports] ").map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect());
            let head = line_of(&text, 0, "[ports]");
            let line = key.and_then(|key| line_of(&text, head.unwrap_or(0), &key)).or(head);
            format!("\n  {}", at(line, problem))
        };
        let problems: String = found.problems.iter().map(placed).collect();
        return Err(CoreError::manifest(&file, format!("the ports of module \"{}\":{problems}", manifest.core.top)));
    }
    let known = Known { names: &found.names, clocks: &found.clocks, low: &found.low, high: &found.high };
    let check = checker(manifest, &top, &known, number).map(|text| text + &watch(manifest, number, &found.names));
    let shim = Shim { manifest, top: &top, found: &found, open: &open, tied: &tied, streams: &streams };
    Ok(Top { check, ..shim.made(number) })
}

struct Shim<'a> {
    manifest: &'a Manifest,
    top: &'a Top,
    found: &'a Found,
    open: &'a [String],
    tied: &'a BTreeMap<String, String>,
    streams: &'a [Between],
}

fn range(width: u64) -> String {
    if width > 1 {
        format!("[{}:0] ", width - 1)
    } else {
        String::new()
    }
}

impl Shim<'_> {
    /// Is the core as it stands what everything else wants?
    fn needless(&self) -> bool {
        let same = self.found.names.iter().all(|(name, port)| name == port && self.fitted(name, port).is_none());
        let clock = self.found.clocks.iter().all(|port| port == "clk") && self.found.low.iter().all(|port| port == "rst_n");
        let asked = !self.found.no_clock && !self.found.no_reset && self.found.high.is_empty();
        let idle = self.manifest.channels.iter().any(|channel| channel.idle);
        same && clock && asked && !idle && self.streams.is_empty() && !self.edges() && self.open.is_empty() && self.tied.is_empty()
    }

    fn edges(&self) -> bool {
        self.manifest.interrupts.as_ref().is_some_and(|interrupts| interrupts.edge)
    }

    /// The width that a port has here, and the expression that the core's gets, where its own width may be another.
    fn fitted(&self, name: &str, port: &str) -> Option<(u64, String)> {
        let width = self.top.ports[port].width?;
        let address = matches!(name, "s_axil_awaddr" | "s_axil_araddr") && self.manifest.registers.is_some();
        let wide = AXIL.iter().find(|(signal, _, _)| name.strip_prefix("s_axil_") == Some(signal)).map(|(_, _, bits)| *bits)?;
        (address && width != wide).then(|| (wide, format!("{width}'({name})")))
    }

    fn made(&self, number: usize) -> Top {
        let mut known = self.top.clone();
        if self.needless() {
            return known;
        }
        known.module = format!("tp_core_shim_{number}");
        known.ports.clear();
        let mut body = String::new();
        let mut ports = Vec::new();
        let mut add = |name: &str, port: &Port| {
            known.ports.insert(name.to_string(), port.clone());
        };
        let wire = |direction, width, place: &str| Port { direction, width: Some(width), place: place.to_string() };
        let place = |port: Option<&String>| port.map_or(self.top.place.clone(), |port| self.top.ports[port].place.clone());
        if self.found.no_clock || !self.found.clocks.is_empty() {
            add("clk", &wire(PortDirection::Input, 1, &place(self.found.clocks.first())));
        }
        if self.found.no_reset || !self.found.low.is_empty() || !self.found.high.is_empty() {
            add("rst_n", &wire(PortDirection::Input, 1, &place(self.found.low.first().or(self.found.high.first()))));
        }
        ports.extend(self.found.clocks.iter().map(|port| format!(".{port}(clk)")));
        ports.extend(self.found.low.iter().map(|port| format!(".{port}(rst_n)")));
        ports.extend(self.found.high.iter().map(|port| format!(".{port}(!rst_n)")));
        for between in self.streams {
            for (name, direction, width) in &between.path {
                add(name, &wire(*direction, *width, &place(self.found.names.get(name))));
            }
            body.push_str(&between.text);
        }
        for (name, port) in &self.found.names {
            let about = &self.top.ports[port];
            if let Some(between) = behind(self.streams, name) {
                ports.push(format!(".{port}({})", between.core.get(name).map_or("", String::as_str)));
                continue;
            }
            match self.fitted(name, port) {
                Some((width, expression)) => {
                    add(name, &Port { width: Some(width), ..about.clone() });
                    ports.push(format!(".{port}({expression})"));
                }
                None => {
                    add(name, about);
                    let inner = if self.edges() && name == "irq_valid" { "irq_level" } else { name.as_str() };
                    ports.push(format!(".{port}({inner})"));
                }
            }
        }
        if let Some(count) =
            self.manifest.interrupts.as_ref().filter(|interrupts| interrupts.edge).map(|interrupts| u64::from(interrupts.count))
        {
            add("irq_ready", &wire(PortDirection::Input, count, &self.top.place));
            let range = range(count);
            let _ = write!(
                body,
                "
  // An interrupt for each rising edge.
  logic {range}irq_level, irq_before;
  always_ff @(posedge clk) begin
    irq_before <= irq_level;
    irq_valid  <= (irq_valid & ~irq_ready | irq_level & ~irq_before) & {{{count}{{rst_n}}}};
  end
"
            );
        }
        for channel in self.manifest.channels.iter().filter(|channel| channel.idle) {
            let width = u64::from(self.manifest.core.width);
            for (signal, width) in [("tdata", width), ("tkeep", width / 8), ("tlast", 1), ("tvalid", 1)] {
                let name = format!("{}_{signal}", channel.name);
                add(&name, &wire(PortDirection::Output, width, &self.top.place));
                let _ = writeln!(body, "  assign {name} = '0;");
            }
            add(&format!("{}_tready", channel.name), &wire(PortDirection::Input, 1, &self.top.place));
        }
        ports.extend(self.tied.iter().map(|(port, value)| format!(".{port}({value})")));
        ports.extend(self.open.iter().map(|port| format!(".{port}()")));
        known.names =
            self.found.names.iter().filter(|(name, port)| name != port).map(|(name, port)| (name.clone(), port.clone())).collect();

        let mut text = format!(
            "\n// Module \"{}\" with the names that a core's ports have here.\n/* verilator lint_off UNUSEDSIGNAL */\nmodule {} (\n",
            self.manifest.core.top, known.module
        );
        let heads: Vec<String> = known
            .ports
            .iter()
            .map(|(name, port)| format!("    {} logic {}{name}", port.direction, range(port.width.unwrap_or(1))))
            .collect();
        let _ = write!(text, "{}\n);\n{body}", heads.join(",\n"));
        let given = self.manifest.parameters.iter().filter(|_| !self.top.baked);
        let mut parameters: Vec<String> = given.map(|(name, value)| format!(".{name}({})", value.verilog())).collect();
        if self.top.has_data_width && !self.top.baked {
            parameters.insert(0, format!(".DATA_WIDTH({})", self.manifest.core.width));
        }
        parameters.extend(self.top.given.iter().map(|(name, value)| format!(".{name}({value})")));
        instance(&mut text, &self.top.module, "core", &parameters, &ports);
        text.push_str("endmodule\n/* verilator lint_on UNUSEDSIGNAL */\n");
        known.shim = Some(text);
        known
    }
}
