// SPDX-License-Identifier: Apache-2.0
//! A manifest for a core that somebody else wrote: what its ports are by their names, and what that does not tell.

mod families;
mod handshakes;
mod map;
mod wires;

use crate::family::Family;
use crate::find::towpath_home;
use crate::listed::{included_names, tidy};
use crate::manifest::{is_identifier, Direction, Manifest};
use crate::ports::{is_axi, is_stream, PortDirection, Top};
use crate::tool::Verilator;
use crate::warnings::Warnings;
use crate::CoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Bytes of block RAM for a core that is a master, unless the designer knows better.
const MASTERED: u64 = 65536;

/// A stream of the core.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftStream {
    /// The channel's name.
    pub name: String,
    /// Which way it goes.
    pub direction: Direction,
    /// It has `tlast`.
    pub ends: bool,
    /// It is a direction of a channel of RIFFA's: the other one has its name, and messages carry their length and a user word.
    pub riffa: bool,
}

/// A register that is a port of the core's.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftRegister {
    /// Its name, and the port's.
    pub name: String,
    /// Where it is.
    pub offset: u32,
    /// The host writes it.
    pub input: bool,
    /// Of its value.
    pub bits: u32,
}

/// What was made of a core's ports.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The text of `towpath.toml`.
    pub manifest: String,
    /// What the designer has to look at, a line each.
    pub undecided: Vec<String>,
    /// Its streams.
    pub streams: Vec<DraftStream>,
    /// Names of its memories.
    pub memories: Vec<String>,
    /// It has registers.
    pub registers: bool,
    /// Registers that are ports of the core's.
    pub wires: Vec<DraftRegister>,
    /// The register at 0 starts the core.
    pub control: bool,
    /// And tells it, when it is done, that it may go on.
    pub chain: bool,
    /// It has an interrupt.
    pub interrupt: bool,
}

/// Ports that are alike but for the signal: what stands before and after it, and of each signal the port.
struct Bundle {
    before: String,
    after: String,
    ports: BTreeMap<String, String>,
}

impl Bundle {
    /// What its ports begin with, and the number that they may end with.
    fn telling(&self) -> String {
        format!("{}_{}", self.before, self.after.trim_start_matches(|c: char| !c.is_ascii_digit()))
    }

    fn pattern(&self) -> String {
        format!("{}*{}", self.before, self.after)
    }
}

/// The bundles that have this signal.
fn bundles(top: &Top, signal: &str, belongs: impl Fn(&str) -> bool) -> Vec<Bundle> {
    let mut all = Vec::new();
    for port in top.ports.keys() {
        let small = port.to_lowercase();
        let ends = |at: &usize| {
            let rest = &small[at + signal.len()..];
            let number = rest.strip_prefix('_').filter(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()));
            matches!(rest, "" | "_i" | "_o") || number.is_some()
        };
        let Some(at) = small.rfind(signal).filter(ends) else { continue };
        // Inputs and outputs may end differently: then one pattern does not say it.
        let (before, after) = (port[..at].to_string(), port[at + signal.len()..].to_string());
        let one = |other: &String| -> Option<(String, String)> {
            let rest = other.strip_prefix(&before)?.strip_suffix(&after)?.to_lowercase();
            belongs(&rest).then(|| (rest, other.clone()))
        };
        all.push(Bundle { ports: top.ports.keys().filter_map(one).collect(), before, after });
    }
    all
}

/// A channel's name from what tells its ports from others.
fn name_of(before: &str, otherwise: &str, taken: &mut BTreeSet<String>) -> String {
    let small = before.to_lowercase();
    let words: Vec<&str> =
        small.split('_').filter(|word| !matches!(*word, "" | "s" | "m" | "io" | "axis" | "axi" | "saxis" | "maxis")).collect();
    let mut name = words.join("_");
    if !is_identifier(&name) || name.len() > 24 {
        name = otherwise.to_string();
    }
    let mut number = 1;
    let first = name.clone();
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{first}{number}");
    }
    name
}

/// What a reset's name tells.
struct ResetName {
    /// It is active low.
    low: bool,
    /// No word of it may mean something else.
    plain: bool,
}

impl ResetName {
    const HIGH: [&str; 7] = ["quiesce", "rst", "reset", "arst", "areset", "srst", "sreset"];
    const LOW: [&str; 10] = ["rstn", "resetn", "nrst", "nreset", "arstn", "aresetn", "narst", "nareset", "srstn", "sresetn"];
    /// Words that leave a reset a reset.
    const BESIDE: [&str; 16] = ["n", "ni", "i", "in", "ap", "sys", "user", "usr", "s", "m", "axi", "axis", "axil", "saxi", "maxi", "core"];

    /// By whole words, as letters alone are in others, too: "rst" in "first" and "burst", an "n" at the end of "burst_en".
    fn of(port: &str) -> Option<ResetName> {
        let small = port.to_lowercase();
        let (own, others): (Vec<&str>, Vec<&str>) = small
            .split('_')
            .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
            .filter(|word| !word.is_empty())
            .partition(|word| ResetName::HIGH.contains(word) || ResetName::LOW.contains(word));
        let low = own.iter().any(|word| ResetName::LOW.contains(word)) || others.iter().any(|word| matches!(*word, "n" | "ni"));
        let plain = own.len() == 1 && others.iter().all(|word| ResetName::BESIDE.contains(word));
        (!own.is_empty()).then_some(ResetName { low, plain })
    }
}

fn quoted(names: &[String]) -> String {
    // With what TOML escapes.
    let all: Vec<String> = names.iter().map(|name| toml::Value::from(name.as_str()).to_string()).collect();
    format!("[{}]", all.join(", "))
}

/// Read the ports of module `top` in these sources, which are relative to `folder`, and draft a manifest that lies there. `parameters` are values for the
/// top's, by name.
///
/// # Errors
/// The sources cannot be read or do not compile.
pub fn draft(
    folder: &Path,
    sources: &[PathBuf],
    top: &str,
    parameters: &[(String, String)],
    progress: Option<&(dyn Fn(&str) + Sync)>,
) -> Result<Draft, CoreError> {
    draft_with(folder, sources, top, parameters, None, progress)
}

/// As [`draft`], with a file that tells of the registers: the header of a driver that high-level synthesis writes, or IP-XACT. Without it such a file is looked for beside the sources.
///
/// # Errors
/// As of [`draft`], or the file tells of no registers.
pub fn draft_with(
    folder: &Path,
    sources: &[PathBuf],
    top: &str,
    parameters: &[(String, String)],
    registers: Option<&Path>,
    progress: Option<&(dyn Fn(&str) + Sync)>,
) -> Result<Draft, CoreError> {
    let say = |line: &str| {
        if let Some(progress) = progress {
            progress(line);
        }
    };
    let listed: Vec<String> = sources.iter().map(|source| tidy(source).display().to_string()).collect();
    let name: String = top.chars().take(31).collect();
    let mut head = format!("[core]\nname = \"{name}\"\nversion = 1\ntop = \"{top}\"\nsources = {}\n", quoted(&listed));
    let beside: Vec<String> = folders_of_included(folder, sources).iter().map(|folder| folder.display().to_string()).collect();
    if !beside.is_empty() {
        let _ = writeln!(head, "include = {}", quoted(&beside));
    }
    let lines = parameters.iter().map(|(name, value)| format!("{name} = {}\n", parameter(value)));
    let table = if parameters.is_empty() { String::new() } else { format!("\n[parameters]\n{}", lines.collect::<String>()) };
    // What was written elsewhere is not the designer's to mend: its warnings are shown now, and not again.
    let others: Vec<String> = listed.iter().filter(|file| is_elsewhere(file)).cloned().collect();
    let included = beside.iter().filter(|folder| is_elsewhere(folder)).map(|folder| format!("{folder}/*"));
    let others: Vec<String> = others.into_iter().chain(included).collect();
    let bare = Manifest::parse(&format!("{head}[registers]\n{table}"), folder)?;
    towpath_home()?;
    let scratch = crate::build::scratch()?;
    let warnings = Warnings::new(&bare, &say);
    let top = Top::elaborate_alone(&Verilator::find()?, &bare, true, scratch.path(), &warnings)?;
    warnings.finish();
    if let Some(file) = registers {
        let text = std::fs::read(file).map_err(|e| CoreError::io("cannot read", file, e))?;
        if map::read(&String::from_utf8_lossy(&text)).is_empty() {
            let message = "it tells of no registers: give the driver's header that high-level synthesis writes (xNAME_hw.h), or IP-XACT (component.xml)";
            return Err(CoreError::manifest(file, message));
        }
    }
    let told = |bus: &str| map::find(registers, folder, sources, &top.module, bus);
    if !others.is_empty() {
        let _ = writeln!(head, "waive = {}", quoted(&others));
    }
    Ok(Drafting::of(&top, &told).finished(&head, &table, &top))
}

/// Is it outside of the core's folder?
fn is_elsewhere(path: &str) -> bool {
    Path::new(path).is_absolute() || path == ".." || path.starts_with("../")
}

/// A value as TOML has it: a number or a truth value as it is, anything else as text.
fn parameter(value: &str) -> String {
    let plain = value.parse::<i64>().is_ok() || value.parse::<f64>().is_ok_and(f64::is_finite) && value.contains('.');
    if plain || matches!(value, "true" | "false") {
        value.to_string()
    } else {
        toml::Value::from(value).to_string()
    }
}

/// Folders, beside a source, of files that the sources include. A folder that nothing is included from is none: a board's project would have all of it.
fn folders_of_included(folder: &Path, sources: &[PathBuf]) -> BTreeSet<PathBuf> {
    let beside: BTreeSet<PathBuf> = sources.iter().filter_map(|source| Some(tidy(source).parent()?.to_path_buf())).collect();
    let (mut waiting, mut seen, mut found) = (sources.to_vec(), BTreeSet::new(), BTreeSet::new());
    while let Some(file) = waiting.pop() {
        let text = std::fs::read(folder.join(&file)).unwrap_or_default();
        for name in included_names(&String::from_utf8_lossy(&text)) {
            for place in beside.iter().filter(|place| folder.join(place).join(name).is_file()) {
                found.insert(place.clone());
                let path = tidy(&place.join(name));
                if seen.insert(path.clone()) {
                    waiting.push(path);
                }
            }
        }
    }
    found.remove(Path::new(""));
    found
}

/// What has been decided so far.
#[derive(Default)]
struct Drafting {
    draft: Draft,
    /// Ports that something is known of.
    taken: BTreeSet<String>,
    /// Ports that nothing here is for.
    refused: BTreeSet<String>,
    names: BTreeSet<String>,
    channels: String,
    registers: String,
    /// Lines of [ports].
    ports: String,
    widths: Vec<u64>,
    /// What the ports of the registers' bus begin with.
    bus: Option<String>,
    /// Of streams: the place in `channels` at which its width may be written, and the width.
    streams: Vec<(String, u64)>,
}

impl Drafting {
    fn of(top: &Top, told: &dyn Fn(&str) -> Option<map::Told>) -> Drafting {
        let mut drafting = Drafting::default();
        drafting.memories_and_registers(top);
        if let Some(bus) = drafting.bus.clone() {
            drafting.mapped(told(&bus));
        }
        drafting.streams(top);
        drafting.riffa(top);
        drafting.xillybus(top);
        drafting.epee(top);
        drafting.fifos(top);
        drafting.enables(top);
        drafting.handshakes(top);
        drafting.marked_fifos(top);
        drafting.clocks_and_resets(top);
        drafting.interrupts(top);
        drafting.wires(top);
        drafting.rest(top);
        drafting
    }

    fn unsure(&mut self, line: String) {
        self.draft.undecided.push(line);
    }

    fn streams(&mut self, top: &Top) {
        for bundle in bundles(top, "tdata", is_stream) {
            let direction = match bundle.ports.get("tvalid").map(|port| top.ports[port].direction) {
                Some(PortDirection::Input) => Direction::H2c,
                Some(PortDirection::Output) => Direction::C2h,
                _ => {
                    self.unsure(format!("{}: a stream without tvalid: its ports are left alone", bundle.pattern()));
                    continue;
                }
            };
            let bits = top.ports[&bundle.ports["tdata"]].width.unwrap_or(0);
            let way = |signal: &str| bundle.ports.get(signal).map(|port| top.ports[port].direction);
            let alike = way("tdata") == way("tvalid") && way("tready").is_some_and(|ready| Some(ready) != way("tdata"));
            if !alike || !bits.is_power_of_two() || !(8..=512).contains(&bits) {
                // The others of its ports may end otherwise, and words of any width go another way: that is for `handshakes`.
                continue;
            }
            let name = name_of(&bundle.telling(), if direction == Direction::H2c { "in" } else { "out" }, &mut self.names);
            let has = |signal: &str| bundle.ports.contains_key(signal);
            let mut text = format!("\n[[channel]]\nname = \"{name}\"\ndirection = \"{direction}\"\n");
            for signal in ["tkeep", "tlast"] {
                if !has(signal) {
                    let _ = writeln!(text, "{signal} = false");
                }
            }
            if ["length", "offset", "user"].iter().all(|signal| has(signal)) {
                text.push_str("attributes = true\n");
            }
            if !has("tlast") && direction == Direction::C2h {
                text.push_str("# message_bytes = 4096     # or the name of a register; without it messages have no end\n");
                self.unsure(format!("channel \"{name}\" has no tlast: recv takes as many bytes as it asks for, unless message_bytes says where messages end"));
            }
            self.streams.push((format!("name = \"{name}\"\ndirection = \"{direction}\"\n"), bits));
            self.widths.push(bits);
            self.channels.push_str(&text);
            let _ = writeln!(self.ports, "{name} = \"{}\"", bundle.pattern());
            self.taken.extend(bundle.ports.values().cloned());
            self.draft.streams.push(DraftStream { name, direction, ends: has("tlast"), riffa: false });
        }
    }

    fn memories_and_registers(&mut self, top: &Top) {
        for bundle in bundles(top, "awaddr", is_axi) {
            let of = |signal: &str| bundle.ports.get(signal).map(|port| &top.ports[port]);
            let (Some(address), Some(data)) = (of("awaddr"), of("wdata")) else { continue };
            let (bits, wide) = (address.width.unwrap_or(0), data.width.unwrap_or(0));
            if address.direction != PortDirection::Input {
                let whole = ["awvalid", "awready", "wvalid", "wready", "bvalid"].iter().all(|signal| bundle.ports.contains_key(*signal));
                if !whole || !wide.is_power_of_two() || !(8..=512).contains(&wide) {
                    let needs = "it needs awvalid, awready, wvalid, wready and bvalid, and data of a power of two, 8 to 512 bit";
                    self.unsure(format!("{}: an AXI master of {wide} bit: {needs}", bundle.pattern()));
                    self.refused.extend(bundle.ports.into_values());
                    continue;
                }
                let name = name_of(&bundle.telling(), "memory", &mut self.names);
                let family = Family::AxiMaster.name();
                let _ = write!(
                    self.channels,
                    "\n[[channel]]\nname = \"{name}\"\nkind = \"memory\"\nports = \"{family}\"\nbytes = {MASTERED}\n"
                );
                let _ = writeln!(self.ports, "{name} = \"{}\"", bundle.pattern());
                self.unsure(format!(
                    "memory \"{name}\": the core is a master there, and has block RAM of {MASTERED} bytes from address 0: correct bytes and base"
                ));
                self.widths.push(wide);
                self.draft.memories.push(name);
                self.taken.extend(bundle.ports.into_values());
                continue;
            }
            if bundle.ports.contains_key("awlen") {
                let name = name_of(&bundle.telling(), "memory", &mut self.names);
                let bytes = 1u64 << bits.clamp(13, 20);
                let _ = write!(
                    self.channels,
                    "\n[[channel]]\nname = \"{name}\"\nkind = \"memory\"\nbytes = {bytes}\naddress_bits = {}\n",
                    bits.clamp(13, 64)
                );
                let _ = writeln!(self.ports, "{name} = \"{}\"", bundle.pattern());
                self.unsure(format!(
                    "memory \"{name}\" has {bytes} bytes from address 0 here: correct bytes and base if it is another place"
                ));
                self.widths.push(wide);
                self.draft.memories.push(name);
            } else if self.draft.registers || wide != 32 {
                self.unsure(format!("{}: AXI4-Lite of {wide} bit: a core has one such port, of 32 bit", bundle.pattern()));
                self.refused.extend(bundle.ports.into_values());
                continue;
            } else {
                self.draft.registers = true;
                self.registers = format!("\n[registers]\nbytes = {}\n", 1u64 << bits.clamp(4, 16));
                let _ = writeln!(self.ports, "s_axil = \"{}\"", bundle.pattern());
                self.bus = Some(bundle.before.clone());
            }
            self.taken.extend(bundle.ports.into_values());
        }
    }

    fn free<'a>(&self, top: &'a Top, direction: PortDirection, wide: Option<u64>) -> Vec<&'a String> {
        let fits = |port: &&String| {
            let about = &top.ports[*port];
            !self.taken.contains(*port) && about.direction == direction && wide.is_none_or(|bits| about.width == Some(bits))
        };
        top.ports.keys().filter(fits).collect()
    }

    fn clocks_and_resets(&mut self, top: &Top) {
        let has = |port: &str, words: &[&str]| words.iter().any(|word| port.to_lowercase().contains(word));
        let inputs = self.free(top, PortDirection::Input, Some(1));
        let clocks: Vec<String> = inputs
            .iter()
            .filter(|port| has(port, &["clk", "clock"]) && ResetName::of(port).is_none())
            .map(|port| port.to_string())
            .collect();
        let resets: Vec<String> = inputs.iter().filter(|port| ResetName::of(port).is_some()).map(|port| port.to_string()).collect();
        let is_low = |port: &&String| ResetName::of(port).is_some_and(|name| name.low);
        let low: Vec<String> = resets.iter().filter(is_low).cloned().collect();
        let high: Vec<String> = resets.iter().filter(|port| !is_low(port)).cloned().collect();
        for (key, list) in [("clk", &clocks), ("rst_n", &low), ("rst", &high)] {
            match &list[..] {
                [] => {}
                [one] => drop(writeln!(self.ports, "{key} = \"{one}\"")),
                several => drop(writeln!(self.ports, "{key} = {}", quoted(several))),
            }
        }
        if clocks.is_empty() {
            self.ports.push_str("clk = \"\"\n");
            self.unsure("no port looks like a clock: name it in [ports] as clk".into());
        }
        if clocks.len() > 1 {
            self.unsure(format!("the ports {} get the same clock: correct that if one of them is another", clocks.join(", ")));
        }
        if resets.is_empty() {
            self.ports.push_str("rst_n = \"\"\n");
            self.unsure("no port looks like a reset: name it in [ports] as rst_n (active low) or rst (active high)".into());
        }
        if resets.len() > 1 {
            self.unsure(format!("the ports {} get the same reset: correct that if one of them is another", resets.join(", ")));
        }
        for port in resets.iter().filter(|port| ResetName::of(port).is_some_and(|name| !name.plain)) {
            let level = if is_low(&port) { "low" } else { "high" };
            self.unsure(format!(
                "\"{port}\" is taken for a reset, active {level}, by its name alone: correct that in [ports] if it is not"
            ));
        }
        self.taken.extend(clocks.into_iter().chain(resets));
    }

    fn interrupts(&mut self, top: &Top) {
        if let (Some(count), true) = (top.ports.get("irq_valid").and_then(|port| port.width), top.ports.contains_key("irq_ready")) {
            let _ = write!(self.registers, "\n[interrupts]\ncount = {count}\n");
            self.draft.interrupt = true;
            self.taken.extend(["irq_valid".to_string(), "irq_ready".to_string()]);
            return;
        }
        let outputs = self.free(top, PortDirection::Output, Some(1));
        let is = |port: &&&String| {
            let small = port.to_lowercase();
            ["irq", "interrupt", "intr"].iter().any(|word| small.trim_end_matches("_o") == *word || small.ends_with(&format!("_{word}")))
        };
        let Some(port) = outputs.iter().find(is).map(|port| port.to_string()) else { return };
        let _ = writeln!(self.ports, "irq_valid = \"{port}\"");
        self.registers.push_str("\n[interrupts]\ncount = 1\nedge = true\n");
        self.draft.interrupt = true;
        self.taken.insert(port);
    }

    fn rest(&mut self, top: &Top) {
        let left: Vec<String> = top.ports.keys().filter(|port| !self.taken.contains(*port)).cloned().collect();
        if left.is_empty() {
            return;
        }
        let _ = writeln!(self.ports, "unused = {}", quoted(&left));
        for port in left {
            let about = &top.ports[&port];
            let width = about.width.map_or("no packed vector".into(), |bits| format!("{bits} bit"));
            let line = match about.direction {
                PortDirection::Input => {
                    format!("{}: input \"{port}\" ({width}) gets 0: in tied of [ports] it may get another number", about.place)
                }
                _ => format!("{}: output \"{port}\" ({width}) is left open", about.place),
            };
            self.unsure(line);
        }
    }

    /// The whole text, now that the path's width is known.
    fn finished(mut self, head: &str, parameters: &str, top: &Top) -> Draft {
        let most = self.widths.iter().copied().max().unwrap_or(128).clamp(64, 512);
        let path = if top.has_data_width { u64::from(crate::manifest::default_width()) } else { most };
        for (place, bits) in &self.streams {
            if *bits != path {
                self.channels = self.channels.replace(place.as_str(), &format!("{place}width = {bits}\n"));
            }
        }
        let mut text = format!("{head}width = {path}\n{parameters}{}{}", self.channels, self.registers);
        if !self.ports.is_empty() {
            let _ = write!(text, "\n[ports]\n{}", self.ports);
        }
        self.draft.manifest = text;
        self.draft
    }
}
