// SPDX-License-Identifier: Apache-2.0
//! Plug-ins: `plugin.toml`, and what a `[[plugin]]` says of one. docs/guide/plugins.md describes both.

use crate::find::{find_core, towpath_home};
use crate::kind::{Fault, Parameters};
use crate::manifest::{at, is_identifier, khz, line_of, parameter_fault, shown, Manifest, ParameterValue, NAME_BYTES};
use crate::CoreError;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use towpath_contract::{PLUGINS_MAX, PLUGIN_CLOCK_KHZ_COUNT, PLUGIN_ENTRY_TYPE_NAME_COUNT};

/// The file name of a plug-in's manifest.
pub const PLUGIN: &str = "plugin.toml";
/// Where the plug-ins are that come with Towpath, relative to the home.
const FOLDER: &str = "gateware/plugin";
/// The discovery table counts registers in pages of this size, and places them at multiples of it.
pub(crate) const PAGE: u32 = 4096;
/// The largest register window.
const WINDOW: u64 = 1 << 24;
/// Cores that a plug-in may load in simulation, beside the manifest's own.
const CORES: usize = 15;

/// A plug-in, as one core uses it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// Prefix of the user core's ports that it is connected to.
    pub name: String,
    /// The folder that its `plugin.toml` was read from.
    pub folder: PathBuf,
    /// `type_name` in the discovery table.
    pub type_name: String,
    /// `version` in the discovery table.
    pub version: u16,
    /// Its module.
    pub module: String,
    /// In the order of compilation, relative to its folder.
    pub sources: Vec<PathBuf>,
    /// Ports of the module that a core may leave out.
    pub optional: Vec<String>,
    /// Of its registers in the register window.
    pub offset: u32,
    /// Of its registers, a power of two.
    pub bytes: u32,
    /// Parameters of its module.
    pub parameters: Parameters,
    /// The clocks that it switches the user core between, in kHz; most plug-ins switch none.
    pub clocks_khz: Vec<u32>,
    /// It loads other cores into the user core's region.
    pub region: bool,
    /// Those cores, in simulation, where all are there; a board has none of them until it is loaded.
    pub cores: Vec<Manifest>,
}

/// `[[plugin]]`, as it is written.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// A plug-in that comes with Towpath, or a plug-in's folder relative to the manifest.
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    /// Of its registers, where the plug-in leaves that open.
    bytes: Option<u32>,
    /// In MHz, where the plug-in switches the user core's clock.
    clocks: Option<Vec<f64>>,
    /// Cores by name, or by their folders relative to the manifest, where the plug-in loads them into the core's region.
    cores: Option<Vec<String>>,
    #[serde(default)]
    parameters: BTreeMap<String, ParameterValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    plugin: About,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    #[serde(rename = "type")]
    type_name: String,
    version: u16,
    module: String,
    sources: Vec<PathBuf>,
    #[serde(default = "page")]
    bytes: u32,
    #[serde(default)]
    sized: bool,
    /// It switches the user core's clock.
    #[serde(default)]
    clocks: bool,
    /// It loads other cores into the user core's region.
    #[serde(default)]
    region: bool,
    #[serde(default)]
    placed: bool,
    #[serde(default)]
    optional: Vec<String>,
}

fn page() -> u32 {
    PAGE
}

fn is_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && (PAGE..=WINDOW as u32).contains(&bytes)
}

/// Read and check `folder/plugin.toml`.
fn read(folder: &Path) -> Result<About, CoreError> {
    let file = folder.join(PLUGIN);
    let text = fs::read_to_string(&file).map_err(|e| CoreError::io("cannot read", &file, e))?;
    let Text { plugin } = toml::from_str(&text).map_err(|e| CoreError::manifest(&file, e.to_string().trim_end().to_string()))?;
    let bad = |key: &str, message: String| Err(CoreError::manifest(&file, at(line_of(&text, 0, key), &message)));
    let name = &plugin.type_name;
    if name.is_empty() || name.len() > PLUGIN_ENTRY_TYPE_NAME_COUNT || !name.chars().all(shown) {
        let most = PLUGIN_ENTRY_TYPE_NAME_COUNT;
        let rule = format!("give 1 to {most} printable ASCII characters without slash, colon, quote or backslash");
        return bad("type", format!("plugin.type \"{}\": {rule}", name.escape_debug()));
    }
    if !is_identifier(&plugin.module) {
        return bad("module", format!("plugin.module \"{}\" is not the name of a module", plugin.module));
    }
    if plugin.sources.is_empty() {
        return bad("sources", "plugin.sources is empty: name the module's files".into());
    }
    if let Some(gone) = plugin.sources.iter().map(|source| folder.join(source)).find(|path| !path.is_file()) {
        return bad("sources", format!("plugin.sources: there is no file {}", gone.display()));
    }
    if !is_size(plugin.bytes) {
        return bad("bytes", format!("plugin.bytes {}: make it a power of two, {PAGE} to {WINDOW}", plugin.bytes));
    }
    Ok(plugin)
}

/// The clocks of an entry in kHz, for a core whose own clock has `own_mhz`; or what is wrong.
fn clocks(about: &About, entry: &Entry, own_mhz: Option<f64>) -> Result<Vec<u32>, String> {
    let clocks = match (about.clocks, entry.clocks.as_deref()) {
        (false, None) => return Ok(Vec::new()),
        (false, Some(_)) => return Err("it switches no clocks: remove the key".into()),
        (true, clocks) => clocks.unwrap_or_default(),
    };
    let most = PLUGIN_CLOCK_KHZ_COUNT;
    let first = clocks.first().copied().or(own_mhz).unwrap_or(250.0);
    if !(2..=most).contains(&clocks.len()) {
        let rule = format!("give the 2 to {most} clocks that it switches between, in MHz, that of the core first");
        return Err(format!("{rule}: clocks = [{first:?}, {:?}]", first / 2.0));
    }
    if let Some(mhz) = clocks.iter().find(|mhz| !(1.0..=1000.0).contains(*mhz)) {
        return Err(format!("clocks: {mhz:?} MHz: make it 1 to 1000"));
    }
    match own_mhz {
        None => Err(format!("the core runs on Towpath's own clock, which is not switched: write clock_mhz = {first:?} in [core]")),
        Some(own) if khz(own) != khz(first) => {
            Err(format!("the core begins on the first of clocks, and core.clock_mhz is {own:?}: write clock_mhz = {first:?} in [core]"))
        }
        Some(_) => Ok(clocks.iter().copied().map(khz).collect()),
    }
}

/// The cores of an entry in a manifest that lies in `folder`, or what is wrong.
fn cores(about: &About, entry: &Entry, folder: &Path) -> Result<Result<Vec<Manifest>, String>, CoreError> {
    let names = match (about.region, entry.cores.as_deref()) {
        (false, None) => return Ok(Ok(Vec::new())),
        (false, Some(_)) => return Ok(Err("it loads no cores: remove the key".into())),
        (true, None | Some([])) => return Ok(Err("give the other cores that it loads: cores = [\"loopback\"]".into())),
        (true, Some(names)) if names.len() > CORES => return Ok(Err(format!("{} cores: give {CORES} at most", names.len()))),
        (true, Some(names)) => names,
    };
    let mut cores = Vec::new();
    for name in names {
        let is_path = name.contains('/') || name.starts_with('.');
        let place = if is_path { folder.join(name) } else { find_core(name)? };
        cores.push(Manifest::read_alone(&place)?);
    }
    Ok(Ok(cores))
}

/// The plug-ins of a manifest that lies in `folder` and whose core has `core_bytes` of registers and this clock of its own; or the number of the entry that is wrong.
pub(crate) fn plugins(
    entries: &[Entry],
    folder: &Path,
    (core_bytes, own_mhz): (u32, Option<f64>),
) -> Result<Result<Vec<Plugin>, (usize, Fault)>, CoreError> {
    let mut plugins: Vec<Plugin> = Vec::new();
    let mut names = BTreeSet::new();
    let mut end = u64::from(core_bytes);
    for (number, entry) in entries.iter().enumerate() {
        let bad = |key: &str, message: String| Ok(Err((number, (key.to_string(), format!("plug-in \"{}\": {message}", entry.kind)))));
        let own = towpath_home().map(|home| home.join(FOLDER));
        let place = match crate::kind::place("type", &entry.kind, folder, PLUGIN, own, &[])? {
            Ok((place, _)) => place,
            Err(message) => return bad("type", message),
        };
        if number == PLUGINS_MAX {
            return bad("[[plugin]]", format!("{} plug-ins: give {PLUGINS_MAX} at most", entries.len()));
        }
        let about = read(&place)?;
        let name = entry.name.clone().unwrap_or_else(|| about.type_name.clone());
        if !is_identifier(&name) || name.len() > NAME_BYTES {
            let rule = format!("it is the prefix of ports, so give a name of letters, digits and underscores, at most {NAME_BYTES} bytes");
            return bad("name", format!("name \"{}\": {rule}", name.escape_debug()));
        }
        if !names.insert(name.clone()) {
            return bad("name", format!("two plug-ins are named \"{name}\": give each a name of its own, name = \"{name}1\""));
        }
        if let Some((key, message)) = parameter_fault("parameters", &entry.parameters) {
            return bad(&key, message);
        }
        let mut parameters: Parameters = entry.parameters.iter().map(|(name, value)| (name.clone(), value.verilog())).collect();
        if entry.bytes.is_some() && !about.sized {
            return bad("bytes", format!("its registers have {} bytes: remove the key", about.bytes));
        }
        let bytes = entry.bytes.unwrap_or(about.bytes);
        if !is_size(bytes) {
            return bad("bytes", format!("bytes = {bytes}: make it a power of two, {PAGE} to {WINDOW}"));
        }
        let clocks_khz = match clocks(&about, entry, own_mhz) {
            Ok(clocks) => clocks,
            Err(message) => return bad("clocks", message),
        };
        if about.clocks {
            if plugins.iter().any(|other| !other.clocks_khz.is_empty()) {
                return bad("type", "a second plug-in that switches the core's clock: leave out one of them".into());
            }
            if entry.parameters.contains_key("CLOCKS") {
                return bad("CLOCKS", "parameters.CLOCKS: it is set from clocks; remove it here".into());
            }
            parameters.push(("CLOCKS".into(), clocks_khz.len().to_string()));
        }
        let loaded = match cores(&about, entry, folder)? {
            Ok(cores) => cores,
            Err(message) => return bad("cores", message),
        };
        if about.region && plugins.iter().any(|other| other.region) {
            return bad("type", "a second plug-in that loads cores: leave out one of them".into());
        }
        // Each at a multiple of its own size, so that the bus compares upper bits alone.
        let offset = end.next_multiple_of(u64::from(bytes));
        let set = [("BYTES", about.sized, u64::from(bytes), "it is set from bytes"), ("OFFSET", about.placed, offset, "Towpath sets it")];
        for (name, _, value, why) in set.into_iter().filter(|(_, wanted, ..)| *wanted) {
            if entry.parameters.contains_key(name) {
                return bad(name, format!("parameters.{name}: {why}; remove it here"));
            }
            parameters.push((name.into(), value.to_string()));
        }
        end = offset + u64::from(bytes);
        if end > WINDOW {
            return bad("[[plugin]]", format!("its registers end at {end:#x}; the register window ends at {WINDOW:#x}"));
        }
        plugins.push(Plugin {
            name,
            folder: place,
            type_name: about.type_name,
            version: about.version,
            module: about.module,
            sources: about.sources,
            optional: about.optional,
            offset: offset as u32,
            bytes,
            parameters,
            clocks_khz,
            region: about.region,
            cores: loaded,
        });
    }
    Ok(Ok(plugins))
}
