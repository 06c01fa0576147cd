// SPDX-License-Identifier: Apache-2.0
//! Manifests against the ports that modules really have, as Verilator elaborates them.

mod width;

use crate::kind::KIND;
use crate::listed::tidy;
use crate::manifest::{at, core_line, line_of, Channel, Direction, Manifest};
use crate::plugin::{Plugin, PLUGIN};
use crate::shim::adapted;
use crate::tool::{disk_full, messages, Verilator};
use crate::tree::{bits, spelled, through};
use crate::vhdl::{is_vhdl, Vhdl};
use crate::warnings::{errors, Warnings};
use crate::CoreError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use towpath_contract::ChannelKind;

/// The parameter that takes the manifest's width.
const WIDTH: &str = "DATA_WIDTH";

/// Direction of a port, from its module's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortDirection {
    /// The module takes it.
    Input,
    /// The module drives it.
    Output,
    /// `inout` or something else that no port may be.
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

impl PortDirection {
    /// What it is at the other end of the wire.
    fn turned(self) -> PortDirection {
        match self {
            PortDirection::Input => PortDirection::Output,
            PortDirection::Output => PortDirection::Input,
            PortDirection::Other => PortDirection::Other,
        }
    }
}

/// A port of a module.
#[derive(Clone, Debug)]
pub struct Port {
    /// Which way it goes.
    pub direction: PortDirection,
    /// Bits; `None` for what is not a plain vector (an unpacked array, an interface).
    pub width: Option<u64>,
    /// FILE:LINE.
    pub place: String,
}

/// An elaborated module: a core's top, or a kind's module.
#[derive(Clone, Debug, Default)]
pub struct Top {
    /// Its ports by name.
    pub ports: BTreeMap<String, Port>,
    /// FILE:LINE of the module.
    pub place: String,
    /// It has a parameter DATA_WIDTH, which takes the manifest's width.
    pub has_data_width: bool,
    /// A parameter that it gets beside the manifest's, for the width of its data, and the value.
    pub given: Option<(&'static str, String)>,
    /// Of a kind's module: parameters of the channel that it does not have, as they are for the other direction's.
    pub lacks: Vec<String>,
    /// Data files that it and the modules in it read, where the name is constant: FILE:LINE, and the name.
    pub reads: Vec<(String, String)>,
    /// Variables that follow from a word of a memory in the same clock.
    pub(crate) through: BTreeSet<String>,
    /// What to instantiate: the core's module, or the one before it in `shim`.
    pub module: String,
    /// Its parameters have their values: it is Verilog that was made of VHDL.
    pub baked: bool,
    /// That Verilog, and what was made of other entities.
    pub generated: Vec<PathBuf>,
    /// A generated module that gives the core's ports the names that they have here.
    pub shim: Option<String>,
    /// A generated module that watches the core's ports in simulation, and what binds it into the core's.
    pub check: Option<String>,
    /// Ports that the core calls otherwise: the name here, and the core's.
    pub names: BTreeMap<String, String>,
    /// Sources that were read, by the names that the tool was given or made up.
    pub files: Vec<String>,
}

/// A module, or the given parameters that it does not have.
type Elaborated = Result<Top, Vec<String>>;

/// What is elaborated.
struct Module<'a> {
    name: &'a str,
    /// In messages: a core or a kind, and its name.
    what: String,
    /// Beside the width.
    parameters: Vec<(&'a str, String)>,
    /// Macros, folders of included files, and sources.
    files: Vec<String>,
}

impl Module<'_> {
    fn elaborate(&self, verilator: &Verilator, width: Option<u32>, scratch: &Path, warnings: &Warnings) -> Result<Elaborated, CoreError> {
        let tree = scratch.join("ports.json");
        let meta = scratch.join("ports.meta.json");
        let mut command = verilator.command();
        command.args(["--json-only", "--quiet", "--no-timing", "--assert", "-Wno-fatal", "-Wno-MULTITOP", "-Werror-USERERROR"]);
        command.arg("--json-only-output").arg(&tree).arg("--json-only-meta-output").arg(&meta).arg("--Mdir").arg(scratch);
        command.arg("--top-module").arg(self.name);
        command.args(width.map(|width| format!("-GDATA_WIDTH={width}")));
        command.args(self.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
        command.args(&self.files);
        let output = command.output().map_err(|e| CoreError::io("cannot run Verilator in", scratch, e))?;
        if disk_full(&output) {
            return Err(CoreError::DiskFull { path: scratch.to_path_buf() });
        }
        let said = messages(&output);
        if !output.status.success() {
            if let Some(names) = said.lines().find_map(|l| l.split_once("not found in the design: ").map(|(_, names)| names)) {
                return Ok(Err(names.split([',', ' ']).filter(|name| !name.is_empty()).map(String::from).collect()));
            }
            return Err(CoreError::Compile { what: self.what.clone(), message: errors(&said) });
        }
        warnings.show(&said);
        let read = |path: &PathBuf| -> Result<Value, CoreError> {
            let text = std::fs::read_to_string(path).map_err(|e| CoreError::io("cannot read", path, e))?;
            serde_json::from_str(&text).map_err(|e| CoreError::Tool {
                tool: "verilator".into(),
                message: format!("its description of the ports is not understood ({e}): Verilator 5.020 or newer is needed"),
            })
        };
        let mut top = Top::parse(&read(&tree)?, &read(&meta)?, self.name).ok_or_else(|| CoreError::Tool {
            tool: "verilator".into(),
            message: "its description of the ports is not understood: Verilator 5.020 or newer is needed".into(),
        })?;
        top.has_data_width = width.is_some();
        Ok(Ok(top))
    }
}

impl Top {
    /// Elaborate the core's sources with its parameters; `number` is its own among those of the card. `scratch` is a folder for intermediate files.
    pub(crate) fn elaborate(
        verilator: &Verilator,
        manifest: &Manifest,
        (number, simulated): (usize, bool),
        scratch: &Path,
        warnings: &Warnings,
    ) -> Result<Top, CoreError> {
        adapted(manifest, Top::elaborate_alone(verilator, manifest, simulated, scratch, warnings)?, number)
    }

    /// As the module is, with its own names.
    pub(crate) fn elaborate_alone(
        verilator: &Verilator,
        manifest: &Manifest,
        simulated: bool,
        scratch: &Path,
        warnings: &Warnings,
    ) -> Result<Top, CoreError> {
        let core = &manifest.core;
        let vhdl = Vhdl::of(manifest)?;
        let (generated, vhdl_width, said) = vhdl.as_ref().map_or(Ok(Default::default()), |vhdl| vhdl.translated(manifest, scratch))?;
        generated.iter().for_each(|file| warnings.waive(file));
        warnings.show(&said);
        let entity = vhdl.as_ref().and_then(|vhdl| vhdl.top.clone());
        let verilog = core.sources.iter().filter(|source| !is_vhdl(source)).map(|source| manifest.folder.join(source));
        let files = verilog.chain(generated.iter().cloned()).map(|file| file.display().to_string());
        let parameters = manifest.parameters.iter().filter(|_| entity.is_none());
        let mut module = Module {
            name: entity.as_deref().unwrap_or(&core.top),
            what: format!("core \"{}\"", core.name),
            parameters: parameters.map(|(name, value)| (name.as_str(), value.verilog())).collect(),
            files: includes(manifest).chain(files).collect(),
        };
        let text = || std::fs::read_to_string(manifest.folder.join(crate::MANIFEST)).unwrap_or_default();
        let elaborated = if entity.is_some() {
            module.elaborate(verilator, None, scratch, warnings)?
        } else {
            module.elaborate_at(verilator, core.width, crate::riffa::parameter(manifest), scratch, warnings)?
        };
        let unknown = match elaborated {
            Ok(mut top) => {
                top.module = module.name.to_string();
                if let Some(vhdl) = vhdl.filter(|_| entity.is_some()) {
                    top.has_data_width = vhdl_width;
                    top.baked = simulated;
                    top.place = vhdl.place(None).unwrap_or(top.place);
                    for (name, port) in &mut top.ports {
                        port.place = vhdl.place(Some(name)).unwrap_or_else(|| port.place.clone());
                    }
                }
                top.files.retain(|file| !generated.iter().any(|made| made == Path::new(file)));
                top.generated = generated;
                return match by_accident(manifest, &top) {
                    None => Ok(top),
                    Some(message) => {
                        let line = core_line(&text(), "sources");
                        Err(CoreError::manifest(&manifest.folder.join(crate::MANIFEST), at(line, &message)))
                    }
                };
            }
            Err(unknown) => unknown,
        };
        let line = line_of(&text(), 0, unknown.first().map_or("[parameters]", String::as_str));
        let message = format!("[parameters]: module \"{}\" has no parameter {}", core.top, unknown.join(", "));
        Err(CoreError::manifest(&manifest.folder.join(crate::MANIFEST), at(line, &message)))
    }

    /// Elaborate the module of each channel's kind, none for streams, and check its ports. `gateware` is what a kind may build upon.
    pub(crate) fn of_kinds(
        verilator: &Verilator,
        manifest: &Manifest,
        gateware: &[PathBuf],
        scratch: &Path,
        warnings: &Warnings,
    ) -> Result<Vec<Option<Top>>, CoreError> {
        let elaborated = manifest.channels.iter().map(|channel| -> Result<Option<Top>, CoreError> {
            let (Some(carrier), Some((kind, half))) = (&channel.carrier, channel.half()) else { return Ok(None) };
            let sources = gateware.iter().cloned().chain(half.sources.iter().map(|s| kind.folder.join(s)));
            let mut module = Module {
                name: &half.module,
                what: format!("kind \"{}\"", kind.name),
                parameters: carrier.parameters.iter().map(|(name, value)| (name.as_str(), value.clone())).collect(),
                files: sources.map(|path| path.display().to_string()).collect(),
            };
            let width = Some(manifest.core.width);
            let mut elaborated = module.elaborate(verilator, width, scratch, warnings)?;
            if let Err(lacks) = &mut elaborated {
                let lacks = std::mem::take(lacks);
                module.parameters.retain(|(name, _)| !lacks.iter().any(|lacking| lacking == name));
                elaborated = module.elaborate(verilator, width, scratch, warnings)?.map(|top| Top { lacks, ..top });
            }
            let top = elaborated.map_err(|_| {
                let message = format!("module \"{}\" has no parameter DATA_WIDTH: add \"parameter int DATA_WIDTH = 128\"", half.module);
                CoreError::manifest(&kind.folder.join(KIND), message)
            })?;
            check_kind(channel, manifest.core.width, &top)?;
            Ok(Some(top))
        });
        let elaborated = elaborated.collect::<Result<Vec<_>, _>>()?;
        check_parameters(manifest, &elaborated)?;
        Ok(elaborated)
    }

    /// Elaborate the module of each plug-in, and check its ports. `gateware` is what a plug-in may build upon.
    pub(crate) fn of_plugins(
        verilator: &Verilator,
        manifest: &Manifest,
        gateware: &[PathBuf],
        scratch: &Path,
        warnings: &Warnings,
    ) -> Result<Vec<Top>, CoreError> {
        let elaborated = manifest.plugins.iter().map(|plugin| {
            let sources = gateware.iter().cloned().chain(plugin.sources.iter().map(|s| plugin.folder.join(s)));
            let mut module = Module {
                name: &plugin.module,
                what: format!("plug-in \"{}\"", plugin.name),
                parameters: plugin.parameters.iter().map(|(name, value)| (name.as_str(), value.clone())).collect(),
                files: sources.map(|path| path.display().to_string()).collect(),
            };
            let top = module.elaborate_at(verilator, manifest.core.width, None, scratch, warnings)?.map_err(|unknown| {
                let message = format!("plug-in \"{}\": module \"{}\" has no parameter {}", plugin.name, plugin.module, unknown.join(", "));
                let file = manifest.folder.join(crate::MANIFEST);
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let line = unknown.first().and_then(|name| line_of(&text, 0, name));
                CoreError::manifest(&file, at(line, &message))
            })?;
            check_plugin(plugin, &top)?;
            if top.ports.contains_key(TAPS) && manifest.core.clock_mhz.is_some() {
                let file = manifest.folder.join(crate::MANIFEST);
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let name = &plugin.name;
                let message = format!("plug-in \"{name}\" watches packets, which it can on Towpath's clock alone: remove core.clock_mhz");
                return Err(CoreError::manifest(&file, at(line_of(&text, 0, "clock_mhz"), &message)));
            }
            Ok(top)
        });
        elaborated.collect()
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
        let mut top = Top { place: place(module), through: through(module), ..Top::default() };
        for module in tree.get("modulesp")?.as_array()? {
            find_reads(module, &place, &mut top.reads);
        }
        top.files = meta["files"].as_object()?.values().filter_map(|file| Some(file["filename"].as_str()?.to_string())).collect();
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
            let port_name = spelled(node["origName"].as_str().or(node["name"].as_str())?);
            top.ports.insert(port_name, Port { direction, width: bits(&types, node["dtypep"].as_str()?, 0), place: place(node) });
        }
        Some(top)
    }
}

/// Look for `$readmemh` and `$readmemb` with a constant name.
fn find_reads(node: &Value, place: &dyn Fn(&Value) -> String, reads: &mut Vec<(String, String)>) {
    match node {
        Value::Array(list) => list.iter().for_each(|node| find_reads(node, place, reads)),
        Value::Object(fields) => {
            let quoted = node["filenamep"][0]["name"].as_str().filter(|_| node["type"] == "READMEM");
            if let Some(name) = quoted.and_then(|text| text.trim_start_matches('\\').strip_prefix('"')?.strip_suffix('"')) {
                reads.push((place(node), name.trim_end_matches('\\').to_string()));
            }
            fields.values().filter(|node| node.is_array()).for_each(|node| find_reads(node, place, reads));
        }
        _ => {}
    }
}

/// Each parameter of a channel is one of a module of its kind.
fn check_parameters(manifest: &Manifest, kinds: &[Option<Top>]) -> Result<(), CoreError> {
    let all = || manifest.channels.iter().zip(kinds).filter_map(|(channel, top)| Some((&channel.name, top.as_ref()?)));
    for (channel, lacking) in all().flat_map(|(channel, top)| top.lacks.iter().map(move |name| (channel, name))) {
        if all().any(|(other, top)| other == channel && !top.lacks.contains(lacking)) {
            continue;
        }
        let file = manifest.folder.join(crate::MANIFEST);
        let text = std::fs::read_to_string(&file).map_err(|e| CoreError::io("cannot read", &file, e))?;
        let head = line_of(&text, 0, &format!("\"{channel}\"")).unwrap_or(0);
        let what = format!("channel \"{channel}\": no module of its kind has a parameter {lacking}: remove it, or correct its name");
        return Err(CoreError::manifest(&file, at(line_of(&text, head, lacking), &what)));
    }
    Ok(())
}

/// Macros, and include folders as the user named them, so that messages name them in the same way.
pub(crate) fn includes(manifest: &Manifest) -> impl Iterator<Item = String> + '_ {
    let of = |core: &Manifest| -> Vec<String> {
        let folders = core.core.include.iter().map(|include| core.folder.join(include)).chain([core.folder.clone()]);
        let macros = core.core.macros().into_iter().map(|(name, value)| {
            let value = if value.is_empty() { String::new() } else { format!("={value}") };
            format!("-D{name}{value}")
        });
        macros.chain(folders.map(|folder| format!("-I{}", folder.display()))).collect()
    };
    [manifest].into_iter().chain(manifest.others()).flat_map(of)
}

/// The files that sources of the core include.
pub(crate) fn included(manifest: &Manifest, top: &Top) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| tidy(path));
    let listed: BTreeSet<PathBuf> = manifest.core.sources.iter().map(|source| real(&manifest.folder.join(source))).collect();
    top.files.iter().filter(|file| !file.starts_with('<')).map(PathBuf::from).filter(|path| !listed.contains(&real(path))).collect()
}

/// Verilator looks for modules that it misses beside the sources; a board's tools do not. Says which file has to be listed.
fn by_accident(manifest: &Manifest, top: &Top) -> Option<String> {
    let others = included(manifest, top);
    // An included file is named by a line of another.
    let texts: Vec<String> = top.files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let included = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        texts.iter().flat_map(|text| text.lines()).any(|line| line.contains("`include") && line.contains(&*name))
    };
    // Macros may make up the name of an included file: then only what looks like a source is one.
    let is_source = |path: &PathBuf| matches!(path.extension().and_then(|e| e.to_str()), Some("sv" | "v"));
    let missing: Vec<String> = others
        .iter()
        .filter(|path| is_source(path) && !included(path))
        .map(|path| format!("\"{}\"", path.strip_prefix(&manifest.folder).unwrap_or(path).display()))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let missing = missing.join(", ");
    Some(format!("core.sources: the core needs {missing}, which no list names, so a board would not have it: add {missing}"))
}

/// A port that a manifest calls for.
struct Expected {
    name: String,
    direction: PortDirection,
    /// None: any.
    width: Option<u64>,
    optional: bool,
    /// What calls for it.
    why: String,
}

/// All ports a top may have, in the order of `cores/README.md`.
fn expected(manifest: &Manifest, width: u32, kinds: &[Option<Top>], plugins: &[Top]) -> Vec<Expected> {
    use PortDirection::{Input, Output};
    let mut list: Vec<Expected> = Vec::new();
    for (channel, kind) in manifest.channels.iter().zip(kinds) {
        list.extend(kind.iter().flat_map(|kind| behind_kind(channel, kind)));
    }
    for (plugin, top) in manifest.plugins.iter().zip(plugins) {
        list.extend(beside_plugin(plugin, top));
    }
    let mut add = |name: String, direction, width: u64, optional, why: &str| {
        list.push(Expected { name, direction, width: Some(width), optional, why: why.to_string() });
    };
    add("clk".into(), Input, 1, false, "every core has it");
    add("rst_n".into(), Input, 1, false, "every core has it");
    for channel in manifest.channels.iter().filter(|channel| channel.carrier.is_none()) {
        let n = &channel.prefix();
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

/// AXI4: signals of each of its channels, behind its letters.
const AXI: [(&str, &[&str]); 5] = [
    ("aw", &["addr", "len", "size", "burst", "valid", "ready", "id", "lock", "cache", "prot", "qos", "region", "user"]),
    ("ar", &["addr", "len", "size", "burst", "valid", "ready", "id", "lock", "cache", "prot", "qos", "region", "user"]),
    ("w", &["data", "strb", "last", "valid", "ready", "id", "user"]),
    ("b", &["resp", "valid", "ready", "id", "user"]),
    ("r", &["data", "resp", "last", "valid", "ready", "id", "user"]),
];

/// Is it a signal of AXI4 or AXI4-Lite?
pub(crate) fn is_axi(signal: &str) -> bool {
    AXI.iter().any(|(channel, signals)| signal.strip_prefix(channel).is_some_and(|rest| signals.contains(&rest)))
}

/// Is it a signal of AXI4-Stream, or one that a channel has beside it here?
pub(crate) fn is_stream(signal: &str) -> bool {
    let own = ["error", "reset", "length", "offset", "user"];
    ["tdata", "tkeep", "tlast", "tvalid", "tready", "tuser", "tid", "tdest", "tstrb"].contains(&signal) || own.contains(&signal)
}

pub(crate) fn bits_text(width: u64) -> String {
    if width == 1 {
        "1 bit".into()
    } else {
        format!("{width} bits")
    }
}

/// What the ports of kinds and plug-ins on the core's side begin with.
pub(crate) const CORE: &str = "core_";

/// And that of a plug-in towards the switch of clocks in `tp_system`.
pub(crate) const SWITCH: &str = "switch_";

/// The ports of the core that a channel's kind is connected to.
fn behind_kind<'a>(channel: &'a Channel, kind: &'a Top) -> impl Iterator<Item = Expected> + 'a {
    let why = channel.half().map(|(kind, _)| format!("kind \"{}\" of channel \"{}\"", kind.name, channel.name)).unwrap_or_default();
    let expect = move |signal: &str, direction, width, optional| Expected {
        name: format!("{}_{signal}", channel.name),
        direction,
        width,
        optional,
        why: why.clone(),
    };
    let wires = kind.ports.iter().filter_map(|(name, port)| Some((name.strip_prefix(CORE)?, port.direction.turned(), port.width, false)));
    let spare = spare(channel).iter().map(|(signal, direction)| (*signal, *direction, None, true));
    wires.chain(spare).map(move |(signal, direction, width, optional)| expect(signal, direction, width, optional))
}

/// The ports of the core that a plug-in is connected to.
fn beside_plugin<'a>(plugin: &'a Plugin, top: &'a Top) -> impl Iterator<Item = Expected> + 'a {
    let wires = top.ports.iter().filter_map(|(name, port)| Some((name, name.strip_prefix(CORE)?, port)));
    wires.map(|(port, signal, about)| Expected {
        name: format!("{}_{signal}", plugin.name),
        direction: about.direction.turned(),
        width: about.width,
        optional: plugin.optional.contains(port),
        why: format!("plug-in \"{}\"", plugin.name),
    })
}

/// What a plug-in may drive besides: the user core and the kinds of its channels are in reset while it is 0.
pub(crate) const USER_RESET: &str = "user_rst_n";

/// What a plug-in may take besides: the user core is in reset, by whatever.
pub(crate) const IN_RESET: &str = "user_reset";

/// What a plug-in may take besides: the packets between the card and its endpoint, a `tp_tap_pkg::tp_taps_t` on Towpath's clock.
pub(crate) const TAPS: &str = "tlp_taps";

/// What a plug-in that loads other cores drives besides: outputs of the user core count as 0 while it is 1.
pub(crate) const DECOUPLED: &str = "user_decoupled";

/// And takes besides: a channel is within a message.
pub(crate) const MIDWAY: &str = "user_midway";

/// And its ports towards the configuration port: signal, whether the plug-in takes it, bits.
pub(crate) const CONFIG: [(&str, bool, u64); 7] = [
    ("config_start", false, 1),
    ("config_valid", false, 1),
    ("config_ready", true, 1),
    ("config_data", false, 32),
    ("config_end", false, 1),
    ("config_done", true, 1),
    ("config_error", true, 1),
];

/// Compare the ports of a plug-in with what every plug-in has.
fn check_plugin(plugin: &Plugin, top: &Top) -> Result<(), CoreError> {
    use PortDirection::{Input, Output};
    let axil = AXIL.iter().map(|(name, to_core, bits)| (format!("s_axil_{name}"), if *to_core { Input } else { Output }, *bits, false));
    let others = [("clk", Input, false), ("rst_n", Input, false), (USER_RESET, Output, true), (IN_RESET, Input, true)];
    let all = others.into_iter().map(|(name, direction, optional)| (name.to_string(), direction, 1, optional)).chain(axil);
    let expect = |(name, direction, width, optional)| Expected {
        name,
        direction,
        width: Some(width),
        optional,
        why: "every plug-in has it".to_string(),
    };
    let mut expected: Vec<Expected> = all.map(expect).collect();
    if plugin.region {
        let besides = [(USER_RESET, false, 1), (DECOUPLED, false, 1), (MIDWAY, true, 1)];
        expected.retain(|port| port.name != USER_RESET);
        expected.extend(besides.into_iter().chain(CONFIG).map(|(name, taken, width)| Expected {
            name: name.to_string(),
            direction: if taken { Input } else { Output },
            width: Some(width),
            optional: false,
            why: "what loads other cores has it".to_string(),
        }));
    }
    let why = "what watches packets has it".to_string();
    expected.push(Expected { name: TAPS.to_string(), direction: Input, width: None, optional: true, why });
    let mut problems = differences(&plugin.module, &expected, top);
    for (name, port) in top.ports.iter().filter(|(name, _)| expected.iter().all(|e| e.name != **name)) {
        let width = port.width.map_or("not a packed vector".to_string(), bits_text);
        let remedy = match name.strip_prefix(CORE) {
            Some(_) if port.width.is_none() => "make it a packed vector",
            Some(_) if port.direction == PortDirection::Other => "make it an input or an output",
            Some(_) => continue,
            // Between it and the switch of clocks in tp_system.
            None if name.starts_with(SWITCH) && !plugin.clocks_khz.is_empty() && port.width.is_some() => continue,
            None => "ports towards the core begin with \"core_\"",
        };
        problems.push(format!("{}: port \"{name}\" ({}, {width}): {remedy}", port.place, port.direction));
    }
    if let Some(gone) = plugin.optional.iter().find(|name| !top.ports.contains_key(*name) || !name.starts_with(CORE)) {
        problems.push(format!("plugin.optional: module \"{}\" has no port \"{gone}\" towards the core: remove it", plugin.module));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(CoreError::Mismatch { what: format!("plug-in \"{}\"", plugin.name), manifest: plugin.folder.join(PLUGIN), problems })
}

/// Signals of AXI4 that a memory does without: inputs of the core get 0, outputs stay open.
pub(crate) fn spare(channel: &Channel) -> &'static [(&'static str, PortDirection)] {
    use PortDirection::{Input, Output};
    match (channel.half().map(|(kind, _)| kind.number), channel.direction) {
        (Some(ChannelKind::Memory), Direction::H2c) => &[
            ("awid", Input),
            ("awlock", Input),
            ("awcache", Input),
            ("awprot", Input),
            ("awqos", Input),
            ("awregion", Input),
            ("awuser", Input),
            ("wuser", Input),
            ("bid", Output),
            ("buser", Output),
        ],
        (Some(ChannelKind::Memory), Direction::C2h) => &[
            ("arid", Input),
            ("arlock", Input),
            ("arcache", Input),
            ("arprot", Input),
            ("arqos", Input),
            ("arregion", Input),
            ("aruser", Input),
            ("rid", Output),
            ("ruser", Output),
        ],
        _ => &[],
    }
}

/// The data mover's side of a kind's module: the port, its direction and width there, and the array of `tp_user` that it is connected to.
/// All of them must be there.
pub(crate) fn standard(channel: &Channel, width: u32) -> Vec<(&'static str, PortDirection, u64, &'static str)> {
    use PortDirection::{Input, Output};
    let (data, keep) = (u64::from(width), u64::from(width / 8));
    let answers = channel.half().is_some_and(|(_, half)| half.answers);
    let mut list = match channel.direction {
        Direction::H2c => vec![
            ("s_tvalid", Input, 1, "h2c_tvalid"),
            ("s_tready", Output, 1, "h2c_tready"),
            ("s_tdata", Input, data, "h2c_tdata"),
            ("s_tkeep", Input, keep, "h2c_tkeep"),
            ("s_tlast", Input, 1, "h2c_tlast"),
            ("s_error", Input, 1, "h2c_error"),
            ("s_length", Input, 64, "h2c_length"),
            ("s_offset", Input, 64, "h2c_offset"),
            ("s_user", Input, 32, "h2c_user"),
            ("s_reset", Input, 1, "h2c_reset"),
        ],
        Direction::C2h => vec![
            ("m_tvalid", Output, 1, "c2h_tvalid"),
            ("m_tready", Input, 1, "c2h_tready"),
            ("m_tdata", Output, data, "c2h_tdata"),
            ("m_tkeep", Output, keep, "c2h_tkeep"),
            ("m_tlast", Output, 1, "c2h_tlast"),
            ("m_length", Output, 48, "c2h_length"),
            ("m_offset", Output, 32, "c2h_offset"),
            ("m_user", Output, 32, "c2h_user"),
            ("m_reset", Input, 1, "c2h_reset"),
        ],
    };
    match channel.direction {
        Direction::H2c if answers => list.extend([
            ("end_valid", Output, 1, "h2c_end_valid"),
            ("end_ready", Input, 1, "h2c_end_ready"),
            ("end_status", Output, 6, "h2c_end_status"),
        ]),
        Direction::C2h if answers => list.extend([
            ("m_status", Output, 6, "c2h_status"),
            ("ask_valid", Input, 1, "c2h_ask_valid"),
            ("ask_ready", Output, 1, "c2h_ask_ready"),
            ("ask_cancel", Input, 1, "c2h_ask_cancel"),
            ("ask_length", Input, 32, "c2h_ask_length"),
            ("ask_offset", Input, 64, "c2h_ask_offset"),
            ("ask_user", Input, 32, "c2h_ask_user"),
        ]),
        _ => {}
    }
    list
}

/// Compare the ports of a channel's kind with what every kind has.
fn check_kind(channel: &Channel, width: u32, top: &Top) -> Result<(), CoreError> {
    let Some((kind, half)) = channel.half() else { return Ok(()) };
    let why = format!("every {} module of a kind has it", channel.direction);
    let standard = standard(channel, width);
    let clocks = [("clk", PortDirection::Input, 1), ("rst_n", PortDirection::Input, 1)];
    let all = clocks.into_iter().chain(standard.iter().map(|(name, direction, width, _)| (*name, *direction, *width)));
    let expect = |(name, direction, width): (&str, _, _)| Expected {
        name: name.to_string(),
        direction,
        width: Some(width),
        optional: false,
        why: why.clone(),
    };
    let expected: Vec<Expected> = all.map(expect).collect();
    let mut problems = differences(&half.module, &expected, top);
    for (name, port) in top.ports.iter().filter(|(name, _)| expected.iter().all(|e| e.name != **name)) {
        let width = port.width.map_or("not a packed vector".to_string(), bits_text);
        let remedy = match name.split('_').next() {
            Some("core") if port.width.is_none() => "make it a packed vector",
            Some("core") if port.direction == PortDirection::Other => "make it an input or an output",
            Some("core") => continue,
            Some("end") if channel.direction == Direction::H2c => "set verdicts = true in [h2c], or remove it",
            Some("ask") if channel.direction == Direction::C2h => "set asked = true in [c2h], or remove it",
            _ if name == "m_status" => "set asked = true in [c2h], or remove it",
            _ => "ports towards the core begin with \"core_\"",
        };
        problems.push(format!("{}: port \"{name}\" ({}, {width}): {remedy}", port.place, port.direction));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(CoreError::Mismatch { what: format!("kind \"{}\"", kind.name), manifest: kind.folder.join(KIND), problems })
}

impl Top {
    /// A port in a message: by the core's name for it, and by the name that it has here.
    fn shown(&self, name: &str) -> String {
        self.names.get(name).map_or_else(|| format!("\"{name}\""), |own| format!("\"{own}\" ({name})"))
    }
}

/// One line for each port that is not there or is another.
fn differences(module: &str, expected: &[Expected], top: &Top) -> Vec<String> {
    let mut problems = Vec::new();
    for want in expected {
        let width = want.width.map_or("any width".into(), bits_text);
        let wanted = format!("{}, {width} ({})", want.direction, want.why);
        match top.ports.get(&want.name) {
            None if want.optional => {}
            None => {
                let range = want.width.filter(|w| *w > 1).map_or(String::new(), |w| format!("[{}:0] ", w - 1));
                let line = format!("{} logic {range}{}", want.direction, want.name);
                let of_stream = want.why.contains(" channel \"") && !want.why.starts_with("kind");
                let may_lack = ["tkeep", "tlast", "tready"].into_iter();
                let key = may_lack.filter(|_| of_stream).find(|key| want.name.ends_with(&format!("_{key}")));
                let other = key.map_or(String::new(), |key| format!(", or write {key} = false in the channel"));
                let what = format!("module \"{module}\" has no port \"{}\": expected {wanted}", want.name);
                problems.push(format!("{}: {what}; add \"{line}\"{other}", top.place));
            }
            Some(port) if port.direction != want.direction => {
                problems.push(format!("{}: port {} is {}: expected {wanted}", port.place, top.shown(&want.name), port.direction));
            }
            Some(port) => match (port.width, want.width) {
                (_, None) => {}
                (Some(width), Some(wide)) if width == wide => {}
                (Some(width), _) => {
                    let is_data = want.why.contains(" channel \"") && want.name.ends_with("_tdata") && width.is_power_of_two();
                    let other = if is_data { format!(", or write width = {width} in the channel") } else { String::new() };
                    let shown = top.shown(&want.name);
                    problems.push(format!("{}: port {shown} has {}: expected {wanted}{other}", port.place, bits_text(width)));
                }
                (None, _) => {
                    problems.push(format!("{}: port {} is not a packed vector: expected {wanted}", port.place, top.shown(&want.name)));
                }
            },
        }
    }
    problems
}

/// Compare a core with its manifest; every difference is reported at once. `kinds` of each channel, and `plugins`: as elaborated.
pub fn check_ports(manifest: &Manifest, width: u32, top: &Top, kinds: &[Option<Top>], plugins: &[Top]) -> Result<(), CoreError> {
    let expected = expected(manifest, width, kinds, plugins);
    let mut problems = differences(&manifest.core.top, &expected, top);
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for want in &expected {
        if let Some(other) = known.insert(&want.name, &want.why) {
            problems.push(format!(
                "port \"{}\" belongs to {other} and to {}: give a channel or a plug-in another name, or the kind's port",
                want.name, want.why
            ));
        }
    }
    for (name, port) in &top.ports {
        if !known.contains_key(name.as_str()) {
            let width = port.width.map_or("not a packed vector".to_string(), bits_text);
            let remedy = remedy(manifest, name, port.direction);
            let shown = top.shown(name);
            problems.push(format!("{}: port {shown} ({}, {width}) is not in the manifest: {remedy}", port.place, port.direction));
        }
    }
    // A reset of the core alone would forget bursts which the window waits for.
    let resetting = manifest.plugins.iter().zip(plugins).find(|(_, module)| module.ports.contains_key(USER_RESET));
    if let (Some((plugin, _)), Some(window)) = (resetting, manifest.windows().first()) {
        problems.push(format!(
            "plug-in \"{}\" resets the core alone, and memory \"{}\" has a window, whose accesses would be lost with it: leave out one of them",
            plugin.name, window.name
        ));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let what = format!("core \"{}\"", manifest.core.name);
    Err(CoreError::Mismatch { what, manifest: manifest.folder.join(crate::MANIFEST), problems })
}

/// What to do with a port that nothing here is for.
const LEAVE: &str = "list it in unused of [ports]";

fn remedy(manifest: &Manifest, name: &str, direction: PortDirection) -> String {
    if let Some(remedy) = crate::xillybus::remedy(name).filter(|_| crate::xillybus::is_core(manifest)) {
        return format!("{remedy}, or {LEAVE}");
    }
    if name.starts_with("s_axil_") && manifest.registers.is_none() {
        return format!("add [registers], or {LEAVE}");
    }
    if name.starts_with("irq_") && manifest.interrupts.is_none() {
        return format!("add [interrupts], or {LEAVE}");
    }
    let behind = manifest.channels.iter().find(|c| c.carrier.is_some() && name.strip_prefix(&c.name).is_some_and(|n| n.starts_with('_')));
    if let Some((channel, (kind, _))) = behind.and_then(|channel| Some((channel, channel.half()?))) {
        return format!("kind \"{}\" of channel \"{}\" has no such port: {LEAVE}", kind.name, channel.name);
    }
    if let Some(plugin) = manifest.plugins.iter().find(|p| name.strip_prefix(&p.name).is_some_and(|n| n.starts_with('_'))) {
        return format!("plug-in \"{}\" has no such port: {LEAVE}", plugin.name);
    }
    for suffix in ["_length", "_offset", "_user"] {
        if let Some(channel) = name.strip_suffix(suffix).and_then(|c| manifest.channels.iter().find(|m| m.name == c)) {
            return format!("set attributes = true in channel \"{}\", or {LEAVE}", channel.name);
        }
    }
    for suffix in ["_tdata", "_tkeep", "_tlast", "_tvalid", "_tready"] {
        if let Some(channel) = name.strip_suffix(suffix) {
            let c2h = (direction == PortDirection::Output) != (suffix == "_tready");
            let way = if c2h { Direction::C2h } else { Direction::H2c };
            return format!("add a [[channel]] with name = \"{channel}\", direction = \"{way}\", or {LEAVE}");
        }
    }
    format!("{LEAVE}, or say in [ports] which port it is: cores/README.md lists those that a core may have")
}
