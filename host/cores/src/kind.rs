// SPDX-License-Identifier: Apache-2.0
//! Kinds of channel: `kind.toml`, and what a `[[channel]]` says of one. docs/guide/channel-kinds.md describes both.

use crate::family::Family;
use crate::find::towpath_home;
use crate::manifest::{at, is_identifier, line_of, parameter_fault, shown, Channel, Direction, Entry, ParameterValue, INBOX_BYTES};
use crate::stream::{unheld, Shape};
use crate::CoreError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use towpath_contract::{ChannelKind, CHANNEL_ENTRY_KIND_NAME_COUNT};

/// The file name of a kind's manifest.
pub const KIND: &str = "kind.toml";
/// Where the kinds are that come with Towpath, relative to the home.
const FOLDER: &str = "gateware/channel";
/// What `kind_parameter` of a memory counts.
pub(crate) const PAGE: u64 = 4096;
/// Names of those that have no number in the discovery table.
const OWN: [&str; 2] = ["buffer", "fanout"];
/// What an inbox may have.
const INBOXES: RangeInclusive<u32> = 4096..=65536;
/// The name of the kind that needs no module.
const STREAM: &str = ChannelKind::Stream.name();

/// A kind of channel, as its `kind.toml` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// The folder it was read from.
    pub folder: PathBuf,
    /// `kind_name` in the discovery table.
    pub name: String,
    /// `kind` in the discovery table.
    pub number: ChannelKind,
    /// `kind_version` in the discovery table.
    pub version: u16,
    h2c: Option<Half>,
    c2h: Option<Half>,
    parameters: BTreeMap<String, Limits>,
}

/// `[parameters]`: what a parameter of the kind's modules may be.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Limits {
    least: i64,
    most: i64,
    #[serde(default)]
    power_of_two: bool,
}

impl Limits {
    /// What to write instead of a value that is not within them.
    fn remedy(&self, value: &ParameterValue) -> Option<String> {
        let fits = |n: i64| (self.least..=self.most).contains(&n) && (!self.power_of_two || n & (n - 1) == 0);
        if matches!(value, ParameterValue::Integer(n) if fits(*n)) {
            return None;
        }
        let what = if self.power_of_two { "a power of two, " } else { "" };
        Some(format!("make it {what}{} to {}", self.least, self.most))
    }
}

/// A kind's module for one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Half {
    /// The module.
    pub module: String,
    /// In the order of compilation, relative to the kind's folder.
    pub sources: Vec<PathBuf>,
    /// H2C: it gives verdicts. C2H: it is asked.
    pub answers: bool,
    /// C2H: it may be asked again before it has answered.
    pub ahead: bool,
}

/// Parameters of a module: names, and values in Verilog.
pub type Parameters = Vec<(String, String)>;

/// A kind, as one channel uses it.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// The kind.
    pub kind: Kind,
    /// `kind_parameter` in the discovery table.
    pub parameter: u32,
    /// Of the kind's module beside `DATA_WIDTH`.
    pub parameters: Parameters,
}

impl Channel {
    /// The kind that carries it, and that kind's module for its direction; none for a stream.
    pub fn half(&self) -> Option<(&Kind, &Half)> {
        let kind = &self.carrier.as_ref()?.kind;
        Some((kind, kind.half(self.direction)?))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    kind: About,
    h2c: Option<H2c>,
    c2h: Option<C2h>,
    #[serde(default)]
    parameters: BTreeMap<String, Limits>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    name: String,
    number: Option<u8>,
    version: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct H2c {
    module: String,
    sources: Vec<PathBuf>,
    #[serde(default)]
    verdicts: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct C2h {
    module: String,
    sources: Vec<PathBuf>,
    #[serde(default)]
    asked: bool,
    #[serde(default)]
    ahead: bool,
}

impl Kind {
    /// Read and check `folder/kind.toml`. `own`: it comes with Towpath, so it may have a number.
    fn read(folder: &Path, own: bool) -> Result<Kind, CoreError> {
        let file = folder.join(KIND);
        let text = fs::read_to_string(&file).map_err(|e| CoreError::io("cannot read", &file, e))?;
        let Text { kind: about, h2c, c2h, parameters } =
            toml::from_str(&text).map_err(|e| CoreError::manifest(&file, e.to_string().trim_end().to_string()))?;
        // The section's head is looked for first: both directions have the same keys.
        let bad = |section: &str, key: &str, message: String| {
            let head = line_of(&text, 0, &format!("[{section}]")).unwrap_or(1);
            Err(CoreError::manifest(&file, at(line_of(&text, head - 1, key), &message)))
        };
        let name = &about.name;
        if name.is_empty() || name.len() > CHANNEL_ENTRY_KIND_NAME_COUNT || !name.chars().all(shown) {
            let most = CHANNEL_ENTRY_KIND_NAME_COUNT;
            let rule = format!("give 1 to {most} printable ASCII characters without slash, colon, quote or backslash");
            return bad("kind", "name", format!("kind.name \"{}\": {rule}", name.escape_debug()));
        }
        let number = match about.number.map(ChannelKind::try_from) {
            None if ChannelKind::ALL.iter().all(|kind| kind.name() != name) && (own || !OWN.contains(&name.as_str())) => ChannelKind::Named,
            None => return bad("kind", "name", format!("kind.name \"{name}\": that is Towpath's own: give your kind another name")),
            Some(Ok(ChannelKind::Memory)) if own => ChannelKind::Memory,
            Some(_) => return bad("kind", "number", "kind.number: only Towpath's own kinds have numbers: remove it".into()),
        };
        if c2h.as_ref().is_some_and(|c2h| c2h.ahead && !c2h.asked) {
            return bad("c2h", "ahead", "c2h.ahead: only a kind that is asked is asked ahead: set asked = true, or remove it".into());
        }
        let half = |module: String, sources: Vec<PathBuf>, answers, ahead| Half { module, sources, answers, ahead };
        let kind = Kind {
            folder: folder.to_path_buf(),
            name: about.name,
            number,
            version: about.version,
            h2c: h2c.map(|h| half(h.module, h.sources, h.verdicts, false)),
            c2h: c2h.map(|h| half(h.module, h.sources, h.asked, h.ahead)),
            parameters,
        };
        if kind.h2c.is_none() && kind.c2h.is_none() {
            return bad("kind", "[kind]", "the kind has no direction: give it [h2c], [c2h] or both, each with module and sources".into());
        }
        for (section, half) in [("h2c", &kind.h2c), ("c2h", &kind.c2h)] {
            let Some(half) = half else { continue };
            if !is_identifier(&half.module) {
                return bad(section, "module", format!("{section}.module \"{}\" is not the name of a module", half.module));
            }
            if half.sources.is_empty() {
                return bad(section, "sources", format!("{section}.sources is empty: name the module's files"));
            }
            if let Some(gone) = half.sources.iter().map(|source| folder.join(source)).find(|path| !path.is_file()) {
                return bad(section, "sources", format!("{section}.sources: there is no file {}", gone.display()));
            }
        }
        Ok(kind)
    }

    fn half(&self, direction: Direction) -> Option<&Half> {
        match direction {
            Direction::H2c => self.h2c.as_ref(),
            Direction::C2h => self.c2h.as_ref(),
        }
    }

    fn directions(&self) -> Vec<Direction> {
        [Direction::H2c, Direction::C2h].into_iter().filter(|d| self.half(*d).is_some()).collect()
    }
}

/// Names that a manifest may give without a folder, sorted: of the folders in `shelf` that hold such a file, and those built in.
fn names(shelf: &Path, file: &str, built_in: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(shelf).into_iter().flatten().flatten();
    let folders = entries.filter(|e| e.path().join(file).is_file()).map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = folders.chain(built_in.iter().map(|name| name.to_string())).collect();
    names.sort();
    names
}

/// The folder of a kind or plug-in that a manifest in `folder` names by `key`, and whether it comes with Towpath: then it is in `shelf`. It holds
/// `file`. Or what is wrong.
pub(crate) fn place(
    key: &str,
    named: &str,
    folder: &Path,
    file: &str,
    shelf: Result<PathBuf, CoreError>,
    built_in: &[&str],
) -> Result<Result<(PathBuf, bool), String>, CoreError> {
    if named.contains('/') || named.starts_with('.') {
        let place = folder.join(named);
        if !place.join(file).is_file() {
            return Ok(Err(format!("{key} = \"{named}\": there is no file {}", place.join(file).display())));
        }
        return Ok(Ok((place, false)));
    }
    let shelf = shelf?;
    let place = shelf.join(named);
    if !place.join(file).is_file() {
        let known = names(&shelf, file, built_in).join(", ");
        return Ok(Err(format!("there is no {key} \"{named}\"; there are: {known}; or give a folder that holds a {file}: \"../{named}\"")));
    }
    Ok(Ok((place, true)))
}

/// What is wrong with an entry: text to look for in it, and the message.
pub(crate) type Fault = (String, String);

/// The channels of an entry whose ports at the core are no AXI4-Stream.
fn other_family(entry: &Entry, family: Family) -> Result<impl Iterator<Item = Channel>, (&'static str, String)> {
    let word = family.name();
    let keys = [
        ("attributes", entry.attributes),
        ("tkeep", entry.tkeep.is_some()),
        ("tlast", entry.tlast.is_some()),
        ("tready", entry.tready.is_some()),
        ("overflow", entry.overflow.is_some()),
        ("buffer_bytes", entry.buffer_bytes.is_some()),
        ("peer", entry.peer),
        ("inbox_bytes", entry.inbox_bytes.is_some()),
    ];
    if let Some((key, _)) = keys.into_iter().find(|(_, given)| *given) {
        return Err((key, format!("{key} is for AXI4-Stream, and ports = \"{word}\" is none: remove it")));
    }
    if family == Family::Riffa && entry.message_bytes.is_some() {
        return Err(("message_bytes", "RIFFA's transactions have their own ends: remove message_bytes".into()));
    }
    if family == Family::Xillybus && entry.message_bytes.is_some() {
        return Err(("message_bytes", "eof says where a file of Xillybus ends: remove message_bytes".into()));
    }
    if family.is_epee() && entry.message_bytes.is_some() {
        return Err(("message_bytes", "EPEE's data has no ends: remove message_bytes".into()));
    }
    let directions = match entry.direction {
        Some(direction) => vec![direction],
        None if family.has_both() || family == Family::Xillybus => vec![Direction::H2c, Direction::C2h],
        None => return Err(("[[channel]]", "it has one direction: give direction = \"h2c\" or \"c2h\"".into())),
    };
    let shapes = directions
        .into_iter()
        .map(|direction| Ok((direction, Shape::of(direction, family, (entry.width, true, true), entry.message_bytes.as_ref())?)));
    let shapes = shapes.collect::<Result<Vec<_>, (&'static str, String)>>()?;
    let (name, attributes) = (entry.name.clone(), family.has_both());
    Ok(shapes.into_iter().map(move |(direction, shape)| Channel {
        name: name.clone(),
        direction,
        attributes,
        carrier: None,
        window: false,
        shape,
        idle: false,
        peer: 0,
    }))
}

/// The channels of an entry in a manifest that lies in `folder`; `ports` is what the core's are, unless the entry says otherwise.
pub(crate) fn channels(entry: &Entry, folder: &Path, ports: Option<&str>) -> Result<Result<Vec<Channel>, Fault>, CoreError> {
    let (name, bad) =
        (&entry.name, |key: &str, message: String| Ok(Err((key.to_string(), format!("channel \"{}\": {message}", entry.name)))));
    let Some(kind) = entry.kind.as_ref().filter(|kind| *kind != STREAM) else {
        for (key, given) in memory_keys(entry) {
            if given {
                return bad(key, format!("{key} is for kind = \"memory\": give that, or remove it"));
            }
        }
        if entry.parameter.is_some() || !entry.parameters.is_empty() {
            return bad("parameter", "a stream has no parameters: remove them, or give the kind that has".into());
        }
        let family = match entry.ports.as_deref().or(ports).map_or(Ok(Family::Stream), Family::of) {
            Ok(family) => family,
            Err(what) => return bad("ports", what),
        };
        if matches!(family, Family::AxiMaster | Family::ApMemory) {
            let remedy =
                if entry.ports.is_some() { "give kind = \"memory\" and bytes" } else { "write it into their entries, not into [core]" };
            return bad("ports", format!("ports = \"{}\" is for memories: {remedy}", family.name()));
        }
        if family != Family::Stream {
            return Ok(other_family(entry, family)
                .map(|made| made.collect())
                .map_err(|(key, what)| (key.to_string(), format!("channel \"{name}\": {what}"))));
        }
        let Some(direction) = entry.direction else {
            return bad("[[channel]]", "a stream has one direction: give direction = \"h2c\" or \"c2h\"".into());
        };
        let peer = match peer(entry, direction) {
            Ok(peer) => peer,
            Err(what) => return bad("inbox_bytes", what),
        };
        let has = (entry.width, entry.tkeep.unwrap_or(true), entry.tlast.unwrap_or(true));
        let shape = Shape::of(direction, family, has, entry.message_bytes.as_ref());
        let shape = match shape.and_then(|shape| unheld(entry, direction, shape)) {
            Ok(shape) => shape,
            Err((key, what)) => return bad(key, what),
        };
        let channel =
            Channel { name: name.clone(), direction, attributes: entry.attributes, carrier: None, window: false, shape, idle: false, peer };
        return Ok(Ok(vec![channel]));
    };
    let own = towpath_home().map(|home| home.join(FOLDER));
    let kind = match place("kind", kind, folder, KIND, own, &[STREAM])? {
        Ok((place, own)) => Kind::read(&place, own)?,
        Err(message) => return bad("kind", message),
    };
    let directions = kind.directions();
    if entry.attributes {
        return bad("attributes", format!("attributes are for streams: remove it, or the kind (\"{}\")", kind.name));
    }
    // A memory may be a file of Xillybus, or what the core reads and writes as a master, or an array of its own outside.
    let word = if entry.ports.is_some() { entry.ports.as_deref() } else { ports };
    let of_memory = [Family::Xillybus, Family::AxiMaster, Family::ApMemory].into_iter().find(|family| word == Some(family.name()));
    let family = of_memory.filter(|_| kind.number == ChannelKind::Memory);
    let shape = Shape { family: family.unwrap_or_default(), ..Shape::default() };
    let own = [
        ("ports", entry.ports.is_some() && family.is_none()),
        ("width", entry.width.is_some()),
        ("tkeep", entry.tkeep.is_some()),
        ("tlast", entry.tlast.is_some()),
        ("tready", entry.tready.is_some()),
        ("overflow", entry.overflow.is_some()),
        ("buffer_bytes", entry.buffer_bytes.is_some()),
    ];
    let more = [("message_bytes", entry.message_bytes.is_some()), ("peer", entry.peer), ("inbox_bytes", entry.inbox_bytes.is_some())];
    for (key, given) in own.into_iter().chain(more) {
        if given {
            return bad(key, format!("{key} is for streams: remove it, or the kind (\"{}\")", kind.name));
        }
    }
    if let Some(direction) = entry.direction.filter(|d| !directions.contains(d)) {
        let other = if direction == Direction::H2c { Direction::C2h } else { Direction::H2c };
        return bad("direction", format!("kind \"{}\" has no {direction} direction: write \"{other}\", or remove the key", kind.name));
    }
    if let Some((name, message)) = parameter_fault("parameters", &entry.parameters) {
        return bad(&name, message);
    }
    for (name, value) in &entry.parameters {
        if let Some(remedy) = kind.parameters.get(name).and_then(|limits| limits.remedy(value)) {
            return bad(name, format!("parameters.{name} = {}: {remedy}", value.verilog()));
        }
    }
    let mut parameters: Parameters = entry.parameters.iter().map(|(name, value)| (name.clone(), value.verilog())).collect();
    let parameter = if kind.number == ChannelKind::Memory {
        if entry.direction.is_some() {
            return bad("direction", "a memory has both directions: remove the key".into());
        }
        if entry.parameter.is_some() || !entry.parameters.is_empty() {
            return bad("parameter", "a memory takes bytes, base, address_bits and window, and no other parameters: remove them".into());
        }
        match memory(entry) {
            Err((key, message)) => return bad(key, message),
            Ok((own, pages)) => {
                parameters = own;
                pages
            }
        }
    } else {
        for (key, given) in memory_keys(entry) {
            if given {
                return bad(key, format!("{key} is for kind = \"memory\", and kind \"{}\" is none: remove it", kind.name));
            }
        }
        entry.parameter.unwrap_or(0)
    };
    let carrier = Carrier { kind, parameter, parameters };
    let chosen = directions.into_iter().filter(|d| entry.direction.is_none_or(|wanted| wanted == *d));
    let channel = |direction| Channel {
        name: name.clone(),
        direction,
        attributes: false,
        carrier: Some(carrier.clone()),
        window: entry.window && direction == Direction::H2c,
        shape: shape.clone(),
        idle: false,
        peer: 0,
    };
    Ok(Ok(chosen.map(channel).collect()))
}

/// [`Channel::peer`] of a stream.
fn peer(entry: &Entry, direction: Direction) -> Result<u32, String> {
    match (entry.peer, direction, entry.inbox_bytes) {
        (false, _, Some(_)) => Err("an inbox is for peers: give peer = true, or remove inbox_bytes".into()),
        (true, Direction::C2h, Some(_)) => Err("a channel that sends to a peer has no inbox: remove inbox_bytes".into()),
        (false, _, None) => Ok(0),
        (true, Direction::C2h, None) => Ok(1),
        (true, Direction::H2c, None) => Ok(INBOX_BYTES),
        (true, Direction::H2c, Some(bytes)) => match u32::try_from(bytes).ok().filter(|b| b.is_power_of_two() && INBOXES.contains(b)) {
            Some(bytes) => Ok(bytes),
            None => Err(format!("inbox_bytes = {bytes}: make it a power of two, {} to {}", INBOXES.start(), INBOXES.end())),
        },
    }
}

fn memory_keys(entry: &Entry) -> [(&'static str, bool); 4] {
    let bits = ("address_bits", entry.address_bits.is_some());
    [("bytes", entry.bytes.is_some()), ("base", entry.base.is_some()), bits, ("window", entry.window)]
}

/// The parameters of a memory's modules, and its size in pages.
fn memory(entry: &Entry) -> Result<(Parameters, u32), (&'static str, String)> {
    let bits = entry.address_bits.unwrap_or(32);
    if !(13..=64).contains(&bits) {
        return Err(("address_bits", format!("address_bits = {bits}: make it 13 to 64")));
    }
    let Some(bytes) = entry.bytes else {
        return Err(("[[channel]]", "a memory has a size: give bytes = a multiple of 4096".into()));
    };
    let Some(pages) = u32::try_from(bytes / PAGE).ok().filter(|pages| *pages > 0 && bytes % PAGE == 0) else {
        let most = PAGE * u64::from(u32::MAX);
        return Err(("bytes", format!("bytes = {bytes}: make it a multiple of {PAGE}, {PAGE} to {most}")));
    };
    let base = entry.base.unwrap_or(0);
    if base % PAGE != 0 {
        return Err(("base", format!("base = {base:#x}: make it a multiple of {PAGE}")));
    }
    let end = u128::from(base) + u128::from(bytes);
    if end > 1 << bits {
        let key = if base > 0 { "base" } else { "bytes" };
        return Err((key, format!("base + bytes = {end:#x} is beyond address_bits = {bits}, which end at {:#x}", 1u128 << bits)));
    }
    let number = |name: &str, value: u64| (name.to_string(), format!("64'd{value}"));
    Ok((vec![("ADDRESS_WIDTH".to_string(), bits.to_string()), number("BASE", base), number("BYTES", bytes)], pages))
}
