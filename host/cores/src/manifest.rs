// SPDX-License-Identifier: Apache-2.0
//! `towpath.toml`: a core's manifest. The format is described in `cores/README.md`.

use crate::family::Family;
use crate::kind::{self, Carrier, Fault, PAGE};
use crate::listed::{all_files, Listed};
use crate::plugin::{self, Plugin};
use crate::shim::Ports;
use crate::stream::{Message, Overflow, Shape};
use crate::{epee, region, CoreError};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// The manifest's file name.
pub const MANIFEST: &str = "towpath.toml";

/// A name in the discovery table: 32 bytes with the final zero.
pub(crate) const NAME_BYTES: usize = 31;
/// Channels that fit in the discovery page.
const CHANNELS: usize = 60;

/// A core's manifest, checked for everything that can be checked without its sources.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The folder it was read from.
    #[serde(skip)]
    pub folder: PathBuf,
    /// `[core]`.
    pub core: Core,
    /// `[parameters]` of the top.
    #[serde(default)]
    pub parameters: BTreeMap<String, ParameterValue>,
    /// `[[channel]]`, in the manifest's order. An entry whose kind has two directions, and that names none, is two channels: H2C, then C2H.
    #[serde(skip)]
    pub channels: Vec<Channel>,
    #[serde(default, rename = "channel")]
    entries: Vec<Entry>,
    /// `[[plugin]]`, in the manifest's order.
    #[serde(skip)]
    pub plugins: Vec<Plugin>,
    #[serde(default, rename = "plugin")]
    plugin_entries: Vec<plugin::Entry>,
    /// `[registers]`.
    pub registers: Option<Registers>,
    /// `[interrupts]`.
    pub interrupts: Option<Interrupts>,
    /// `[ports]`: what the core calls them.
    #[serde(default)]
    pub ports: Ports,
    /// `[gateware]`.
    #[serde(default)]
    pub gateware: Gateware,
}

/// `[core]`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The name in `sim:NAME` and in the discovery table.
    pub name: String,
    /// The author's own number.
    #[serde(default)]
    pub version: u32,
    /// The module.
    pub top: String,
    /// In the order of compilation, relative to the folder: what the manifest's names, patterns and lists come to.
    pub sources: Vec<PathBuf>,
    /// Folders of included files.
    #[serde(default)]
    pub include: Vec<PathBuf>,
    /// Macros of the sources; `true` is one without a value, and `false` none.
    #[serde(default)]
    pub defines: BTreeMap<String, ParameterValue>,
    /// Files that the core reads when it starts, relative to the folder.
    #[serde(default)]
    pub data: Vec<PathBuf>,
    /// Sources of others, whose warnings are not shown.
    #[serde(default)]
    pub waive: Vec<PathBuf>,
    /// Data width in bits.
    #[serde(default = "default_width")]
    pub width: u32,
    /// Frequency of the core's own clock; without it the core runs on Towpath's.
    pub clock_mhz: Option<f64>,
    /// What the ports of its channels are, where an entry does not say it.
    pub ports: Option<String>,
    /// Its channels can fire when they hold a number of bytes.
    #[serde(default)]
    pub fill_levels: bool,
}

/// A parameter's value.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "toml::Value")]
pub enum ParameterValue {
    /// A number; `true` and `false` are 1 and 0.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// Text.
    Text(String),
}

impl TryFrom<toml::Value> for ParameterValue {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<ParameterValue, String> {
        match value {
            toml::Value::Boolean(value) => Ok(ParameterValue::Bool(value)),
            toml::Value::Integer(value) => Ok(ParameterValue::Integer(value)),
            toml::Value::Float(value) => Ok(ParameterValue::Real(value)),
            toml::Value::String(value) => Ok(ParameterValue::Text(value)),
            other => Err(format!("a value is a number, true, false or text, and this is {}: write one of them", other.type_str())),
        }
    }
}

/// A number as Verilog writes it, with its width: `12'hfff`.
fn is_sized(text: &str) -> bool {
    let Some((width, digits)) = text.split_once('\'') else { return false };
    let digits = digits.strip_prefix(['s', 'S']).unwrap_or(digits);
    let mut letters = digits.chars();
    let base = match letters.next().map(|base| base.to_ascii_lowercase()) {
        Some('b') => 2,
        Some('o') => 8,
        Some('d') => 10,
        Some('h') => 16,
        _ => return false,
    };
    let first = letters.clone().next().is_some_and(|c| c.is_digit(base));
    width.parse::<u16>().is_ok_and(|bits| bits > 0) && first && letters.all(|c| c == '_' || c.is_digit(base))
}

impl ParameterValue {
    /// As Verilog writes it.
    pub(crate) fn verilog(&self) -> String {
        match self {
            ParameterValue::Bool(b) => u8::from(*b).to_string(),
            ParameterValue::Integer(n) => n.to_string(),
            ParameterValue::Real(n) => format!("{n:?}"),
            ParameterValue::Text(text) if is_sized(text) => text.clone(),
            ParameterValue::Text(text) => format!("\"{text}\""),
        }
    }

    /// What is wrong with it, if it cannot be a parameter.
    fn fault(&self) -> Option<String> {
        match self {
            ParameterValue::Text(text) if is_sized(text) => None,
            ParameterValue::Real(n) if !n.is_finite() => Some(format!("{n} is not a number")),
            ParameterValue::Text(text) if text.chars().any(|c| c.is_control() || c == '"' || c == '\\' || c == '\'') => {
                Some("text must not hold quotes, backslashes or control characters".into())
            }
            ParameterValue::Integer(n) if i32::try_from(*n).is_err() => {
                Some(format!("{n} does not fit in 32 bits: write it as text with its width, such as \"64'd{n}\""))
            }
            _ => None,
        }
    }
}

/// What is wrong with a table of parameters, if anything is: its name, and the message.
pub(crate) fn parameter_fault(table: &str, parameters: &BTreeMap<String, ParameterValue>) -> Option<(String, String)> {
    for (name, value) in parameters {
        let message = if !is_identifier(name) {
            format!("{table}: \"{name}\" is not the name of a parameter")
        } else if name == "DATA_WIDTH" {
            format!("{table}.DATA_WIDTH: it is set from core.width; remove it here")
        } else if let Some(fault) = value.fault() {
            format!("{table}.{name}: {fault}")
        } else {
            continue;
        };
        return Some((name.clone(), message));
    }
    None
}

/// Which way a channel carries data.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Host to card.
    #[serde(rename = "h2c")]
    H2c,
    /// Card to host.
    #[serde(rename = "c2h")]
    C2h,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::H2c => "h2c",
            Direction::C2h => "c2h",
        })
    }
}

/// A channel of the card.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Its name, and the prefix of its ports.
    pub name: String,
    /// Its direction.
    pub direction: Direction,
    /// The core has the message's length, offset and user word as ports.
    pub attributes: bool,
    /// What stands between the data mover and the core; none: the channel is a stream of the core.
    pub carrier: Option<Carrier>,
    /// A memory's window in BAR 4 is listed with this channel: of the two, that towards the card.
    pub window: bool,
    /// How the core's stream is.
    pub shape: Shape,
    /// It carries nothing: a card has one channel at least, and the core none.
    pub idle: bool,
    /// Of a stream that can be paired with one of another card, its `kind_parameter`: of H2C the bytes of its inbox, of C2H 1. Else 0.
    pub peer: u32,
}

impl Channel {
    /// The one of a core without channels.
    fn idle() -> Channel {
        let (name, direction) = ("none".to_string(), Direction::C2h);
        Channel { name, direction, attributes: false, carrier: None, window: false, shape: Shape::default(), idle: true, peer: 0 }
    }

    /// It has an inbox.
    pub(crate) fn has_inbox(&self) -> bool {
        self.direction == Direction::H2c && self.peer > 0
    }
}

/// `[[channel]]`, as it is written.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub name: String,
    pub direction: Option<Direction>,
    #[serde(default)]
    pub attributes: bool,
    /// A kind that comes with Towpath, or a kind's folder relative to the manifest.
    pub kind: Option<String>,
    /// A memory's size, its first address, and the bits of the core's addresses.
    pub bytes: Option<u64>,
    pub base: Option<u64>,
    pub address_bits: Option<u32>,
    /// A memory is in BAR 4.
    #[serde(default)]
    pub window: bool,
    /// What its ports at the core are.
    pub ports: Option<String>,
    /// A stream's width at the core, and what it has.
    pub width: Option<u32>,
    pub tkeep: Option<bool>,
    pub tlast: Option<bool>,
    pub tready: Option<bool>,
    /// Of a stream of the core's without `tready`.
    pub overflow: Option<Overflow>,
    pub buffer_bytes: Option<u32>,
    /// Of a stream without `tlast`.
    pub message_bytes: Option<Message>,
    /// A stream can be paired with one of another card.
    #[serde(default)]
    pub peer: bool,
    /// Of its inbox.
    pub inbox_bytes: Option<u64>,
    /// `kind_parameter` of a named kind.
    pub parameter: Option<u32>,
    /// Of the kind's modules.
    #[serde(default)]
    pub parameters: BTreeMap<String, ParameterValue>,
}

/// Where a memory's window is in BAR 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<'a> {
    /// The channel's name.
    pub name: &'a str,
    /// In BAR 4.
    pub offset: u64,
    /// Of the memory.
    pub bytes: u64,
}

/// The smallest window, and that of an inbox: the discovery table tells where they are in MiB.
const LEAST_WINDOW: u64 = 1 << 20;
/// Of an inbox whose manifest says nothing else.
pub(crate) const INBOX_BYTES: u32 = 16384;
/// All windows together.
const MEMORY_WINDOWS: u64 = 64 << 30;
/// The last place of a window: the discovery table has 16 bits for 1 more than its MiB.
const LAST_WINDOW: u64 = (u16::MAX as u64 - 1) << 20;

fn windows(channels: &[Channel]) -> Vec<Window<'_>> {
    let mut end = 0u64;
    let windowed = channels.iter().filter(|channel| channel.window).filter_map(|channel| Some((channel, channel.carrier.as_ref()?)));
    let place = windowed.map(|(channel, carrier)| {
        let bytes = u64::from(carrier.parameter) * PAGE;
        let room = bytes.next_power_of_two().max(LEAST_WINDOW);
        let offset = end.next_multiple_of(room);
        end = offset + room;
        Window { name: &channel.name, offset, bytes }
    });
    place.collect()
}

/// Where the memories' windows end in BAR 4, and the inboxes begin.
fn windows_end(channels: &[Channel]) -> u64 {
    windows(channels).last().map_or(0, |last| (last.offset + last.bytes).next_multiple_of(LEAST_WINDOW))
}

/// Each inbox behind the one before.
fn inboxes(channels: &[Channel]) -> Vec<(&str, u64)> {
    let names = channels.iter().filter(|channel| channel.has_inbox()).map(|channel| channel.name.as_str());
    names.zip((0..).map(|number| windows_end(channels) + number * LEAST_WINDOW)).collect()
}

fn windows_bytes(channels: &[Channel]) -> u64 {
    match windows_end(channels) + inboxes(channels).len() as u64 * LEAST_WINDOW {
        0 => 0,
        end => end.next_power_of_two(),
    }
}

/// What is wrong with an entry whose channels are the last: the windows do not fit, or its inbox has another size than those before.
fn window_fault(entry: &Entry, channels: &[Channel]) -> Option<Fault> {
    let (name, bytes) = (&entry.name, windows_bytes(channels));
    let key = if entry.peer { "peer" } else { "window" };
    let bad =
        |what: String| Some((key.to_string(), format!("channel \"{name}\": {what}: remove {key} here, or a window or a peer before")));
    let mut sizes = channels.iter().filter(|channel| channel.has_inbox()).map(|channel| channel.peer);
    if let (Some(first), Some(last)) = (sizes.next(), sizes.next_back().filter(|_| entry.peer)) {
        if first != last {
            let what = format!(
                "an inbox of {last} bytes, and that of the first has {first}: write inbox_bytes = {first} here, or change the others"
            );
            return Some(("inbox_bytes".into(), format!("channel \"{name}\": {what}")));
        }
    }
    if bytes > MEMORY_WINDOWS {
        return bad(format!("with its window BAR 4 has {bytes} bytes, and there is room for {MEMORY_WINDOWS}"));
    }
    let memory = windows(channels).last().map_or(0, |last| last.offset);
    let last = inboxes(channels).last().map_or(memory, |(_, offset)| *offset);
    if last > LAST_WINDOW {
        return bad("with its window there is one in the last MiB of BAR 4, which the discovery table has no number for".into());
    }
    None
}

/// `[registers]`: the core has an AXI4-Lite port.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Size of the window, a power of two.
    #[serde(default = "default_window")]
    pub bytes: u32,
    /// Names of registers, and their byte offsets.
    #[serde(default)]
    pub names: BTreeMap<String, u32>,
    /// What they are at the core.
    #[serde(default)]
    pub ports: Bus,
}

/// What registers are at the core.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Bus {
    /// An AXI4-Lite port.
    #[default]
    Axil,
    /// Each is a port of its own name.
    Wires,
}

/// `[interrupts]`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Interrupts {
    /// 1 to 16.
    pub count: u32,
    /// The core has levels, each of whose rising edges is an interrupt, and no `irq_ready`.
    #[serde(default)]
    pub edge: bool,
}

/// `[gateware]`: parameters of `tp_core`; those that are absent keep its defaults, which are these.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Gateware {
    /// Frequency of Towpath's own clock, which a board takes from its PCIe block.
    pub clock_mhz: f64,
    /// Read requests in flight.
    pub tags: u32,
    /// Buffer of all H2C channels, which share it: see [`Manifest::landing_bytes`].
    pub landing_bytes: Option<u32>,
    /// Buffer of all C2H channels, which share it: see [`Manifest::sending_bytes`].
    pub sending_bytes: Option<u32>,
    /// Descriptors of each channel.
    pub queue_depth: u32,
    /// Inline slots of each H2C channel.
    pub inline_slots: u32,
    /// Channels have weights, rates and traffic classes.
    pub qos: bool,
    /// No channel carries the host's data; each can be paired with another card's. Saves a third of the card.
    pub peers_only: bool,
}

impl Default for Gateware {
    fn default() -> Gateware {
        Gateware {
            clock_mhz: 250.0,
            tags: 32,
            landing_bytes: None,
            sending_bytes: None,
            queue_depth: 16,
            inline_slots: 4,
            qos: false,
            peers_only: false,
        }
    }
}

pub(crate) fn khz(mhz: f64) -> u32 {
    (mhz * 1000.0).round() as u32
}

pub(crate) fn default_width() -> u32 {
    128
}

fn default_window() -> u32 {
    4096
}

impl Core {
    /// Put files in the place of patterns and lists; or what is wrong, and where.
    fn list(&mut self, folder: &Path) -> Result<(), (&'static str, String)> {
        let named = |key: &'static str| move |what: String| (key, format!("core.{key}: {what}"));
        let listed = Listed::of(folder, &self.sources).map_err(named("sources"))?;
        self.sources = listed.sources;
        self.include.extend(listed.include);
        for (name, value) in listed.defines {
            self.defines.entry(name).or_insert(ParameterValue::Text(value));
        }
        self.data = all_files(folder, &self.data).map_err(named("data"))?;
        // What they match is looked up when it is needed.
        all_files(folder, &self.waive).map(drop).map_err(named("waive"))
    }

    /// Macros and their values, which may be empty.
    pub fn macros(&self) -> Vec<(String, String)> {
        let value = |value: &ParameterValue| match value {
            ParameterValue::Bool(false) => None,
            ParameterValue::Bool(true) => Some(String::new()),
            ParameterValue::Text(text) => Some(text.clone()),
            number => Some(number.verilog()),
        };
        self.defines.iter().filter_map(|(name, given)| Some((name.clone(), value(given)?))).collect()
    }

    /// The first error in what names files and macros.
    fn fault(&self, folder: &Path) -> Option<(String, String)> {
        let bad = |key: &str, message: String| Some((key.to_string(), message));
        if self.sources.is_empty() {
            return bad("sources", "core.sources is empty: name the core's files".into());
        }
        for (key, list) in [("sources", &self.sources), ("data", &self.data), ("waive", &self.waive)] {
            let pattern = |path: &Path| key == "waive" && path.to_string_lossy().contains(['*', '?']);
            if let Some(gone) = list.iter().find(|path| !pattern(path) && !folder.join(path).is_file()) {
                return bad(key, format!("core.{key}: there is no file {}", folder.join(gone).display()));
            }
        }
        if let Some(gone) = self.include.iter().find(|include| !folder.join(include).is_dir()) {
            return bad("include", format!("core.include: there is no folder {}", folder.join(gone).display()));
        }
        for (name, value) in self.macros() {
            if name == "SYNTHESIS" || name.starts_with("TP_") {
                return bad(
                    "defines",
                    format!("core.defines: macros named SYNTHESIS or TP_... are the gateware's: give \"{name}\" another name"),
                );
            }
            if !is_identifier(&name) {
                return bad("defines", format!("core.defines: \"{name}\" is not the name of a macro that a core may define"));
            }
            // Tools take lists of them, in which these have a meaning.
            if value.chars().any(|c| !c.is_ascii_graphic() || "\"\\{}$[];".contains(c)) {
                return bad(&name, format!("core.defines.{name}: a value has no blanks, quotes, brackets or backslashes: use a parameter"));
            }
        }
        None
    }
}

/// Two paths may name one file.
fn each_once(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    paths.filter(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone()))).collect()
}

impl Manifest {
    /// Read and check `folder/towpath.toml`.
    pub fn read(folder: &Path) -> Result<Manifest, CoreError> {
        let (_, text) = Manifest::text(folder)?;
        Manifest::parse(&text, folder)
    }

    /// As [`Manifest::read`], for a core that is loaded in the place of another: its plug-ins would have to be beside that one.
    pub(crate) fn read_alone(folder: &Path) -> Result<Manifest, CoreError> {
        let (file, text) = Manifest::text(folder)?;
        let manifest = Manifest::core(&text, folder)?;
        if manifest.plugin_entries.is_empty() {
            return Ok(manifest);
        }
        let message = "a core that is loaded in the place of another has no plug-ins of its own: remove them, or name another core";
        Err(CoreError::manifest(&file, at(line_of(&text, 0, "[[plugin]]"), message)))
    }

    fn text(folder: &Path) -> Result<(PathBuf, String), CoreError> {
        let file = folder.join(MANIFEST);
        if !file.is_file() {
            let message = if folder.is_dir() {
                "there is no such file: a core is a folder with a manifest (cores/README.md shows one)"
            } else {
                "there is no such folder"
            };
            return Err(CoreError::manifest(&file, message));
        }
        let text = std::fs::read_to_string(&file).map_err(|e| CoreError::io("cannot read", &file, e))?;
        Ok((file, text))
    }

    /// Check the text of a manifest that lies (or will lie) in `folder`.
    pub fn parse(text: &str, folder: &Path) -> Result<Manifest, CoreError> {
        let mut manifest = Manifest::core(text, folder)?;
        let file = folder.join(MANIFEST);
        let core = (manifest.core_window_bytes(), manifest.core.clock_mhz);
        let plugins = plugin::plugins(&manifest.plugin_entries, folder, core)?;
        let plugins = plugins.and_then(|plugins| match region::fault(&manifest, &plugins) {
            None => Ok(plugins),
            Some((index, message)) => Err((index, ("cores".into(), message))),
        });
        match plugins {
            Ok(plugins) => manifest.plugins = plugins,
            Err((index, (key, message))) => {
                return Err(CoreError::manifest(&file, at(line_in(text, "[[plugin]]", index, &key), &message)));
            }
        }
        manifest.set_width(manifest.core.width);
        Ok(manifest)
    }

    /// All but the plug-ins.
    fn core(text: &str, folder: &Path) -> Result<Manifest, CoreError> {
        let file = folder.join(MANIFEST);
        let mut manifest: Manifest = toml::from_str(text).map_err(|e| CoreError::manifest(&file, e.to_string().trim_end().to_string()))?;
        manifest.folder = folder.to_path_buf();
        if let Err((key, message)) = manifest.core.list(folder) {
            return Err(CoreError::manifest(&file, at(core_line(text, key), &message)));
        }
        if let Some(Err(message)) = manifest.core.ports.as_deref().map(Family::of) {
            return Err(CoreError::manifest(&file, at(core_line(text, "ports"), &format!("core.{message}"))));
        }
        // RIFFA's cores have a channel at least, and it need not have a name.
        if manifest.entries.is_empty() && manifest.core.ports.as_deref() == Some(Family::Riffa.name()) {
            manifest.entries.push(Entry { name: "riffa0".into(), ..Entry::default() });
        }
        // Those of Xillybus's cores have the names of the ports.
        if manifest.entries.is_empty() && manifest.core.ports.as_deref() == Some(Family::Xillybus.name()) {
            manifest.entries = crate::xillybus::entries(&manifest.core, folder);
        }
        if manifest.entries.is_empty() && manifest.core.ports.as_deref().is_some_and(|ports| Family::of(ports).is_ok_and(Family::is_epee)) {
            manifest.entries = epee::entries();
        }
        for (index, entry) in manifest.entries.iter().enumerate() {
            let channels = kind::channels(entry, folder, manifest.core.ports.as_deref())?.and_then(|channels| {
                manifest.channels.extend(channels);
                window_fault(entry, &manifest.channels).map_or(Ok(()), Err)
            });
            match channels {
                Ok(()) => (),
                Err((key, message)) => return Err(CoreError::manifest(&file, at(line_in(text, "[[channel]]", index, &key), &message))),
            }
        }
        if let Some((key, message)) = epee::complete(&mut manifest) {
            return Err(CoreError::manifest(&file, at(line_of(text, 0, &key), &message)));
        }
        if manifest.channels.is_empty() && manifest.registers.is_some() {
            manifest.channels.push(Channel::idle());
        }
        if let Some((key, message)) = manifest.fault() {
            return Err(CoreError::manifest(&file, at(line_of(text, 0, &key), &message)));
        }
        Ok(manifest)
    }

    /// The plug-in that loads other cores in the place of this one.
    pub fn region(&self) -> Option<&Plugin> {
        self.plugins.iter().find(|plugin| plugin.region)
    }

    /// The cores that can be loaded in the place of this one, in simulation.
    pub fn others(&self) -> &[Manifest] {
        self.region().map_or(&[], |plugin| &plugin.cores)
    }

    /// Another data width, also of the cores that can be loaded.
    pub(crate) fn set_width(&mut self, width: u32) {
        self.core.width = width;
        let others = self.plugins.iter_mut().flat_map(|plugin| &mut plugin.cores);
        others.for_each(|other| other.core.width = width);
    }

    /// Every source of the core, of its kinds and plug-ins and of the cores that can be loaded, in the order of compilation, each once: absolute, or relative to
    /// the folder of the process.
    pub fn sources(&self) -> Vec<PathBuf> {
        let of_cores = [self].into_iter().chain(self.others()).flat_map(Manifest::own_sources);
        each_once(self.sources_around().into_iter().chain(of_cores))
    }

    /// Those of its kinds and plug-ins alone: what is around a region.
    pub fn sources_around(&self) -> Vec<PathBuf> {
        let of_kinds =
            self.channels.iter().filter_map(Channel::half).flat_map(|(kind, half)| half.sources.iter().map(|s| kind.folder.join(s)));
        let of_plugins = self.plugins.iter().flat_map(|plugin| plugin.sources.iter().map(|s| plugin.folder.join(s)));
        each_once(of_kinds.chain(of_plugins))
    }

    /// Those of the core alone.
    pub fn own_sources(&self) -> Vec<PathBuf> {
        each_once(self.core.sources.iter().map(|source| self.folder.join(source)))
    }

    /// Channels of one direction, in the order of their numbers.
    pub fn of(&self, direction: Direction) -> impl Iterator<Item = &Channel> {
        self.channels.iter().filter(move |c| c.direction == direction)
    }

    /// Landing room of all H2C channels together, in bytes: 16 KiB, and 4 KiB a channel for more than four, unless the manifest says otherwise.
    pub fn landing_bytes(&self) -> u32 {
        let channels = self.of(Direction::H2c).count() as u32;
        self.gateware.landing_bytes.unwrap_or(4096 * channels.max(4))
    }

    /// Sending room of all C2H channels together, in bytes: 8 KiB for one, 16 KiB for up to eight, and 2 KiB a channel, rounded up to a power of two, for
    /// more, unless the manifest says otherwise. Each of several channels keeps half of an even part, rounded down to a power of two; the rest is
    /// for who is busy.
    pub fn sending_bytes(&self) -> u32 {
        let channels = self.of(Direction::C2h).count() as u32;
        self.gateware.sending_bytes.unwrap_or(if channels < 2 { 8192 } else { 2048 * channels.max(8).next_power_of_two() })
    }

    /// Each of several channels keeps a block of 512 bytes at least.
    fn least_sending_bytes(&self) -> u32 {
        1024 * (self.of(Direction::C2h).count().max(1) as u32).next_power_of_two()
    }

    /// The windows of memories, in the order of the channels: each is aligned to its size, rounded up to a power of two.
    pub fn windows(&self) -> Vec<Window<'_>> {
        windows(&self.channels)
    }

    /// The bytes of BAR 4, 0 without windows and inboxes.
    pub fn memory_window_bytes(&self) -> u64 {
        windows_bytes(&self.channels)
    }

    /// Where the memories' windows end in BAR 4, in MiB: what is behind is the inboxes'.
    pub fn inbox_first(&self) -> u64 {
        windows_end(&self.channels) / LEAST_WINDOW
    }

    /// The inboxes of H2C streams: the channel's name, and the offset in BAR 4, in the order of the channels.
    pub fn inboxes(&self) -> Vec<(&str, u64)> {
        inboxes(&self.channels)
    }

    /// The size of each inbox.
    pub fn inbox_bytes(&self) -> u32 {
        self.channels.iter().find(|channel| channel.has_inbox()).map_or(INBOX_BYTES, |channel| channel.peer)
    }

    /// The core's own registers, which stand at the start of the register window.
    pub fn core_window_bytes(&self) -> u32 {
        self.registers.as_ref().map_or(0, |registers| registers.bytes)
    }

    /// The register window: the core's own registers, and those of its plug-ins.
    pub fn window_bytes(&self) -> u32 {
        self.plugins.last().map_or(self.core_window_bytes(), |last| (last.offset + last.bytes).next_power_of_two())
    }

    /// Frequency of Towpath's own clock.
    pub fn core_clock_khz(&self) -> u32 {
        khz(self.gateware.clock_mhz)
    }

    /// Frequency of the user core's clock.
    pub fn user_clock_khz(&self) -> u32 {
        self.core.clock_mhz.map_or(self.core_clock_khz(), khz)
    }

    /// The clocks that the user core may run on: the first is [`Manifest::user_clock_khz`], the others are a plug-in's that switches between them.
    pub fn user_clocks_khz(&self) -> Vec<u32> {
        let switched = self.plugins.iter().find(|plugin| !plugin.clocks_khz.is_empty());
        switched.map_or_else(|| vec![self.user_clock_khz()], |plugin| plugin.clocks_khz.clone())
    }

    /// The first error: text to look for in the file, and the message.
    fn fault(&self) -> Option<(String, String)> {
        let core = &self.core;
        let bad = |key: &str, message: String| Some((key.to_string(), message));
        if core.name.is_empty() || core.name.len() > NAME_BYTES || !core.name.chars().all(shown) {
            return bad(
                "name",
                format!(
                    "core.name \"{}\": give 1 to {NAME_BYTES} printable ASCII characters without slash, colon, quote or backslash",
                    core.name.escape_debug()
                ),
            );
        }
        if !is_identifier(&core.top) {
            return bad("top", format!("core.top \"{}\" is not the name of a module", core.top));
        }
        if let Some(fault) = core.fault(&self.folder) {
            return Some(fault);
        }
        if !matches!(core.width, 64 | 128 | 256 | 512) {
            return bad("width", format!("core.width {}: make it 64, 128, 256 or 512", core.width));
        }
        for (name, mhz) in [("core", core.clock_mhz), ("gateware", Some(self.gateware.clock_mhz))] {
            if let Some(mhz) = mhz.filter(|mhz| !(1.0..=1000.0).contains(mhz)) {
                return bad("clock_mhz", format!("{name}.clock_mhz {mhz}: make it 1 to 1000"));
            }
        }
        if let Some(fault) = parameter_fault("parameters", &self.parameters) {
            return Some(fault);
        }
        if self.channels.is_empty() || self.channels.len() > CHANNELS {
            let rule = format!("give 1 to {CHANNELS}, or [registers]; an entry whose kind has both directions, as a memory, counts as two");
            return bad("[[channel]]", format!("{} channels: {rule}", self.channels.len()));
        }
        let mut seen = BTreeSet::new();
        for channel in &self.entries {
            let quoted = format!("\"{}\"", channel.name);
            if !is_identifier(&channel.name) || channel.name.len() > NAME_BYTES {
                return bad(
                    &quoted,
                    format!(
                        "channel name {quoted}: it is the prefix of ports, so use letters, digits and underscores, at most {NAME_BYTES} bytes"
                    ),
                );
            }
            if !seen.insert(&channel.name) {
                return bad(&quoted, format!("two channels are named {quoted}: each needs a name of its own"));
            }
        }
        if let Some(registers) = &self.registers {
            if !registers.bytes.is_power_of_two() || !(16..=1 << 24).contains(&registers.bytes) {
                return bad("bytes", format!("registers.bytes {}: make it a power of two, 16 to 16777216", registers.bytes));
            }
            for (name, offset) in &registers.names {
                if offset % 4 != 0 || *offset >= registers.bytes {
                    return bad(
                        name,
                        format!(
                            "registers.names.{name} = {offset:#x}: make it a multiple of 4 below registers.bytes ({:#x})",
                            registers.bytes
                        ),
                    );
                }
            }
        }
        for channel in &self.channels {
            if let Some(Message::Register(name)) = &channel.shape.message {
                let known = self.registers.as_ref().map(|registers| &registers.names);
                if !known.is_some_and(|names| names.contains_key(name)) {
                    let what = format!("channel \"{}\": message_bytes = \"{name}\": there is no such register", channel.name);
                    return bad("message_bytes", format!("{what}: name it in [registers.names], or write a number"));
                }
            }
        }
        if let Some(interrupts) = &self.interrupts {
            if !(1..=16).contains(&interrupts.count) {
                return bad("count", format!("interrupts.count {}: make it 1 to 16", interrupts.count));
            }
        }
        let g = &self.gateware;
        for (key, value, low, high) in [
            ("tags", g.tags, 8, 256),
            ("sending_bytes", self.sending_bytes(), self.least_sending_bytes(), 1 << 20),
            ("queue_depth", g.queue_depth, 2, 1024),
            ("inline_slots", g.inline_slots, 1, 64),
        ] {
            if !value.is_power_of_two() || !(low..=high).contains(&value) {
                return bad(key, format!("gateware.{key} {value}: make it a power of two, {low} to {high}"));
            }
        }
        if let Some(channel) = self.channels.iter().find(|channel| g.peers_only && channel.peer == 0) {
            let message =
                format!("gateware.peers_only: channel \"{}\" is for the host: give it peer = true, or remove peers_only", channel.name);
            return bad("peers_only", message);
        }
        let (landing, least) = (self.landing_bytes(), 2048 * self.of(Direction::H2c).count().max(1) as u32);
        if landing % 1024 != 0 || !(least..=1 << 20).contains(&landing) {
            return bad(
                "landing_bytes",
                format!("gateware.landing_bytes {landing}: make it a multiple of 1024, {least} (2048 for each H2C channel) to {}", 1 << 20),
            );
        }
        None
    }
}

/// The first line from `start` on that mentions the text, counted from 1.
pub(crate) fn line_of(text: &str, start: usize, key: &str) -> Option<usize> {
    text.lines().skip(start).position(|line| line.split('#').next().is_some_and(|code| code.contains(key))).map(|n| start + n + 1)
}

/// The line of [core] that sets this key, or else that of [core].
pub(crate) fn core_line(text: &str, key: &str) -> Option<usize> {
    let head = line_of(text, 0, "[core]")?;
    let sets = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    let table = text.lines().skip(head).take_while(|line| !line.starts_with('['));
    Some(table.into_iter().position(sets).map_or(head, |n| head + n + 1))
}

/// The line of an entry, by its number among those of this head, that mentions the text; the head's, if none does.
fn line_in(text: &str, head: &str, number: usize, key: &str) -> Option<usize> {
    let is_head = |line: &str| line.trim_start().starts_with(head);
    let (begin, _) = text.lines().enumerate().filter(|(_, line)| is_head(line)).nth(number)?;
    // The key may stand in other entries as well.
    let end = text.lines().skip(begin + 1).position(|line| line.trim_start().starts_with("[[")).map_or(usize::MAX, |n| begin + 1 + n);
    line_of(text, begin, key).filter(|line| *line <= end).or(Some(begin + 1))
}

/// A message with the line that it is about.
pub(crate) fn at(line: Option<usize>, message: &str) -> String {
    line.map_or_else(|| message.to_string(), |line| format!("line {line}: {message}"))
}

/// Characters of a name that a host shows unchanged: those that are fit for logs and terminals.
pub(crate) fn shown(c: char) -> bool {
    matches!(c, ' '..='~') && !"/:\"\\".contains(c)
}

pub(crate) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
