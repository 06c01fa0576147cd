// SPDX-License-Identifier: Apache-2.0
//! Ports of a core that is written for Xillybus: streams, and seekable files. What joins them to streams and to a memory is in `gateware/compat/xillybus`.

use crate::axi;
use crate::family::Family;
use crate::kind::PAGE;
use crate::manifest::{Channel, Core, Direction, Entry, Manifest};
use crate::ports::{PortDirection, Top};
use crate::stream::{differs, pair, signals, Between};
use crate::wrapper::instance;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A signal: name, whether the core takes it, bits (0: an element's, or the address's), whether the core may leave it out.
type Signal = (&'static str, bool, u64, bool);

const READ: [Signal; 5] =
    [("rden", true, 1, false), ("empty", false, 1, false), ("data", false, 0, false), ("eof", false, 1, true), ("open", true, 1, true)];
const WRITE: [Signal; 4] = [("wren", true, 1, false), ("full", false, 1, false), ("data", true, 0, false), ("open", true, 1, true)];
const ADDRESS: [Signal; 2] = [("addr", true, 0, false), ("addr_update", true, 1, true)];

/// What stands between `user_` and the name.
fn side(direction: Direction) -> &'static str {
    match direction {
        Direction::H2c => "w",
        Direction::C2h => "r",
    }
}

fn of(direction: Direction) -> &'static [Signal] {
    match direction {
        Direction::H2c => &WRITE,
        Direction::C2h => &READ,
    }
}

/// May a stream's port end so?
pub(crate) fn is_signal(signal: &str, direction: Direction) -> bool {
    of(direction).iter().any(|(name, ..)| *name == signal)
}

fn is_xillybus(channel: &&Channel) -> bool {
    channel.shape.family == Family::Xillybus
}

/// Has it channels of Xillybus?
pub(crate) fn is_core(manifest: &Manifest) -> bool {
    manifest.channels.iter().any(|channel| is_xillybus(&channel))
}

/// The file and the rest of the name here, of a port in small letters: `user_r_read_32_rden` is `read_32`, `r_rden`.
fn parts(port: &str) -> Option<(&str, String)> {
    let rest = port.strip_prefix("user_")?;
    for direction in [Direction::C2h, Direction::H2c] {
        let side = side(direction);
        let name = rest.strip_prefix(side).and_then(|rest| rest.strip_prefix('_'));
        let split = |signal: &&Signal| Some((name?.strip_suffix(signal.0)?.strip_suffix('_')?, format!("{side}_{}", signal.0)));
        if let Some(found) = of(direction).iter().find_map(|signal| split(&signal)) {
            return Some(found);
        }
    }
    ADDRESS.iter().rev().find_map(|(signal, ..)| Some((rest.strip_suffix(signal)?.strip_suffix('_')?, signal.to_string())))
}

/// Of these ports, in small letters and as the core has them, those of the manifest's channels: the name here, and the port.
pub(crate) fn named(manifest: &Manifest, free: &[(String, &str)]) -> Vec<(String, String)> {
    let known = |name: &str| manifest.channels.iter().filter(is_xillybus).find(|channel| channel.name.to_lowercase() == name);
    let one = |(small, port): &(String, &str)| {
        let (name, signal) = parts(small)?;
        Some((format!("{}_{signal}", known(name)?.name), port.to_string()))
    };
    free.iter().filter_map(one).collect()
}

/// What to write for a port that no channel of the manifest has.
pub(crate) fn remedy(port: &str) -> Option<String> {
    let small = port.to_lowercase();
    let (name, signal) = parts(&small)?;
    Some(match signal.split_once('_') {
        Some(("r", _)) => format!("add a [[channel]] with name = \"{name}\", direction = \"c2h\""),
        Some(("w", _)) => format!("add a [[channel]] with name = \"{name}\", direction = \"h2c\""),
        _ => format!("write kind = \"memory\" and bytes in channel \"{name}\", which has addresses"),
    })
}

/// Names, numbers and signs of a source, in small letters, without comments.
fn words(text: &str, vhdl: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if !vhdl && rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if !vhdl && rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '-' if vhdl && rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                words.push(rest[..end].to_lowercase());
                end
            }
            c => {
                if !c.is_whitespace() {
                    words.push(c.to_string());
                }
                c.len_utf8()
            }
        };
        rest = &rest[skipped..];
    }
    words
}

/// Of a port at this place its bits, if they stand beside it in numbers.
fn bits(words: &[String], at: usize) -> Option<u64> {
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|found| found == word);
    let most = if at >= 5 && is(at - 1, "]") && is(at - 3, ":") && is(at - 5, "[") {
        number(at - 4)
    } else if is(at + 1, ":") && is(at + 4, "(") && is(at + 6, "downto") {
        number(at + 5)
    } else {
        None
    };
    most.map(|most| most.saturating_add(1))
}

/// The channels of a core whose manifest lists none, by the names of the ports in the module's head.
pub(crate) fn entries(core: &Core, folder: &Path) -> Vec<Entry> {
    let top = core.top.to_lowercase();
    let mut entries: Vec<Entry> = Vec::new();
    for source in &core.sources {
        let vhdl = crate::vhdl::is_vhdl(source);
        let text = std::fs::read(folder.join(source)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let all = words(&text, vhdl);
        let opens = if vhdl { "entity" } else { "module" };
        let Some(begin) = all.windows(2).position(|two| two[0] == opens && two[1] == top) else { continue };
        let closes = if vhdl { "end" } else { "endmodule" };
        let words: Vec<String> = all[begin..].iter().take_while(|word| *word != closes).cloned().collect();
        // A list of names ends with the first semicolon behind a parenthesis; what is behind that is the module's own.
        let (mut depth, mut seen) = (0, false);
        let head = words.iter().position(|word| {
            match word.as_str() {
                "(" => (depth, seen) = (depth + 1, true),
                ")" => depth -= 1,
                _ => {}
            }
            !vhdl && word == ";" && seen && depth == 0
        });
        let wide = |name: &str| words.iter().enumerate().filter(|(_, word)| *word == name).find_map(|(at, _)| bits(&words, at));
        for (name, signal) in words[..head.unwrap_or(words.len())].iter().filter_map(|word| parts(word)) {
            let direction = match signal.as_str() {
                "r_rden" => Some(Direction::C2h),
                "w_wren" => Some(Direction::H2c),
                "addr" => None,
                _ => continue,
            };
            let at = entries.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
                entries.push(Entry { name: name.to_string(), direction, ..Entry::default() });
                entries.len() - 1
            });
            if signal == "addr" {
                let (addresses, element) = (wide(&format!("user_{name}_addr")).unwrap_or(5), wide(&format!("user_r_{name}_data")));
                let element = element.or_else(|| wide(&format!("user_w_{name}_data"))).unwrap_or(8);
                let bytes = (element / 8).max(1) << addresses.min(32);
                entries[at].kind = Some("memory".into());
                entries[at].bytes = Some(bytes.next_multiple_of(PAGE));
            }
            // One of both ways has no direction here, as a memory has none.
            if entries[at].kind.is_some() || entries[at].direction != direction {
                entries[at].direction = None;
            }
        }
    }
    entries
}

/// Ports of the core that one bundle has, and wires for them.
struct Bundle<'a> {
    made: &'a mut Between,
    top: &'a Top,
    names: &'a BTreeMap<String, String>,
    channel: &'a str,
}

impl<'a> Bundle<'a> {
    /// The name here, and the core's port.
    fn port(&self, side: &str, signal: &str) -> Option<(String, &'a String)> {
        let own = if side.is_empty() { String::new() } else { format!("{side}_") };
        let keys = [format!("{}_{own}{signal}", self.channel), format!("{}_{signal}", self.channel)];
        keys.into_iter().find_map(|key| self.names.get(&key).map(|port| (key, port)))
    }

    fn width(&self, side: &str, signal: &str) -> Option<u64> {
        self.port(side, signal).and_then(|(_, port)| self.top.ports[port].width)
    }

    /// Connects the core's ports of one side to wires `own_NAME_SIDE_SIGNAL`; `wide`: bits of data, or of the address.
    fn connect(&mut self, side: &str, list: &[Signal], wide: u64) {
        let name = self.channel;
        for (signal, to_core, bits, optional) in list {
            let bits = if *bits == 0 { wide } else { *bits };
            let range = if bits > 1 { format!("[{}:0] ", bits - 1) } else { String::new() };
            let wire = if side.is_empty() { format!("own_{name}_{signal}") } else { format!("own_{name}_{side}_{signal}") };
            let _ = writeln!(self.made.text, "  logic {range}{wire};");
            let Some((key, port)) = self.port(side, signal) else {
                if *optional && !to_core {
                    let _ = writeln!(self.made.text, "  assign {wire} = '0;");
                }
                if !optional {
                    let own = if side.is_empty() { format!("user_{name}_{signal}") } else { format!("user_{side}_{name}_{signal}") };
                    let what = format!("channel \"{name}\" (ports = \"xillybus\") has a port {own}");
                    let told = if side.is_empty() { format!("{name}_{signal}") } else { format!("{name}_{side}_{signal}") };
                    self.made.problems.push(format!("{what}: say in [ports] what it is called: {told} = \"...\""));
                }
                continue;
            };
            let way = if *to_core { PortDirection::Input } else { PortDirection::Output };
            self.made.problems.extend(differs(self.top, port, way, bits, name, None));
            self.made.core.insert(key, wire);
        }
    }

    /// What it is about, at the head of its text.
    fn head(&mut self, what: &str, width: u64, path: u64) {
        let _ = writeln!(self.made.text, "\n  // {what} \"{}\" of Xillybus: {width} bit at the core, {path} here.", self.channel);
        if !width.is_power_of_two() || !(8..=512).contains(&width) {
            let name = self.channel;
            self.made.problems.push(format!("channel \"{name}\" has data of {width} bit: Xillybus has powers of two, 8 to 512"));
        }
    }
}

/// What stands between the core and the path, for each stream and each memory.
pub(crate) fn between(manifest: &Manifest, top: &Top, names: &BTreeMap<String, String>) -> Vec<Between> {
    let path = u64::from(manifest.core.width);
    let once = |channel: &&Channel| channel.carrier.is_none() || channel.direction == Direction::H2c;
    let one = |channel: &Channel| {
        let mut made = Between { path: Vec::new(), core: BTreeMap::new(), text: String::new(), problems: Vec::new() };
        let bundle = Bundle { made: &mut made, top, names, channel: &channel.name };
        if channel.carrier.is_some() {
            memory(bundle, channel, path);
        } else {
            stream(bundle, channel, path);
        }
        made
    };
    manifest.channels.iter().filter(is_xillybus).filter(once).map(one).collect()
}

fn stream(mut bundle: Bundle, channel: &Channel, path: u64) {
    let (side, h2c) = (side(channel.direction), channel.direction == Direction::H2c);
    let width = channel.shape.width.map(u64::from).or_else(|| bundle.width(side, "data")).unwrap_or(8);
    bundle.head("Stream", width, path);
    bundle.connect(side, of(channel.direction), width);
    let (made, name, prefix) = (bundle.made, &channel.name, channel.prefix());
    let near = if h2c { "s" } else { "m" };
    let mut list = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n")), pair((&format!("{near}_reset"), &format!("{prefix}_reset")))];
    for (signal, with, bits) in signals(path) {
        let way = if with == h2c { PortDirection::Input } else { PortDirection::Output };
        made.path.push((format!("{prefix}_{signal}"), way, bits));
        list.push(pair((&format!("{near}_{signal}"), &format!("{prefix}_{signal}"))));
    }
    made.path.push((format!("{prefix}_reset"), PortDirection::Input, 1));
    list.extend(of(channel.direction).iter().map(|(signal, ..)| pair((signal, &format!("own_{name}_{side}_{signal}")))));
    let module = if h2c { "tp_xillybus_write" } else { "tp_xillybus_read" };
    instance(&mut made.text, module, &format!("xillybus_{prefix}"), &[format!(".DATA_WIDTH({path})"), format!(".WIDTH({width})")], &list);
}

fn memory(mut bundle: Bundle, channel: &Channel, path: u64) {
    let name = &channel.name;
    let parameter = |key: &str| axi::parameter(channel, key);
    let sides = [Direction::C2h, Direction::H2c].map(|direction| (direction, bundle.width(side(direction), "data")));
    let width = sides.iter().find_map(|(_, width)| *width).unwrap_or(8);
    let addresses = bundle.width("", "addr").unwrap_or(1);
    bundle.head("File", width, path);
    if width > path {
        bundle.made.problems.push(format!("channel \"{name}\" has {width} bit, and core.width is {path}: make that {width} at least"));
    }
    let bytes = u128::from(width / 8) << addresses.min(64);
    if bytes > u128::from(parameter("BYTES")) {
        bundle.made.problems.push(format!("channel \"{name}\" reaches {bytes} bytes by its address: write bytes = {bytes}"));
    }
    bundle.connect("", &ADDRESS, addresses);
    let mut list = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n"))];
    let mut settings = vec![
        format!(".DATA_WIDTH({path})"),
        format!(".WIDTH({width})"),
        format!(".ADDRESS({addresses})"),
        format!(".ADDRESS_WIDTH({})", parameter("ADDRESS_WIDTH")),
    ];
    for (direction, has) in sides {
        let (side, signals) = (side(direction), of(direction));
        if has.is_some() {
            bundle.connect(side, signals, width);
        }
        settings.push(format!(".{}({})", if side == "r" { "READS" } else { "WRITES" }, u8::from(has.is_some())));
        for (signal, to_core, ..) in signals {
            let port = if matches!(*signal, "data" | "open") { format!("{side}_{signal}") } else { signal.to_string() };
            let to = match (has, to_core) {
                (Some(_), _) => format!("own_{name}_{side}_{signal}"),
                (None, true) => String::new(),
                (None, false) => "'0".into(),
            };
            list.push(format!(".{port}({to})"));
        }
    }
    if sides.iter().all(|(_, width)| width.is_none()) {
        bundle
            .made
            .problems
            .push(format!("channel \"{name}\" has ports user_r_{name}_* or user_w_{name}_*: say in [ports] what they are called"));
    }
    list.extend(ADDRESS.iter().map(|(signal, ..)| pair((signal, &format!("own_{name}_{signal}")))));
    for (signal, answers, bits) in axi::signals(path, parameter("ADDRESS_WIDTH")) {
        let way = if answers { PortDirection::Output } else { PortDirection::Input };
        bundle.made.path.push((format!("{name}_{signal}"), way, bits));
        list.push(pair((&format!("s_{signal}"), &format!("{name}_{signal}"))));
    }
    instance(&mut bundle.made.text, "tp_xillybus_memory", &format!("xillybus_{name}"), &settings, &list);
}

/// Files among these ports, for a draft: name, and whether it has addresses, is read, is written; and the ports.
pub(crate) fn files(top: &Top) -> (BTreeMap<String, [bool; 3]>, Vec<String>) {
    let mut files: BTreeMap<String, [bool; 3]> = BTreeMap::new();
    let mut ports = Vec::new();
    for port in top.ports.keys() {
        let small = port.to_lowercase();
        let Some((name, signal)) = parts(&small) else { continue };
        let has = files.entry(name.to_string()).or_default();
        has[0] |= signal == "addr";
        has[1] |= signal == "r_rden";
        has[2] |= signal == "w_wren";
        ports.push(port.clone());
    }
    files.retain(|_, has| has[1] || has[2]);
    ports.retain(|port| parts(&port.to_lowercase()).is_some_and(|(name, _)| files.contains_key(name)));
    (files, ports)
}

/// Bytes behind a memory's address, in whole pages.
pub(crate) fn bytes(top: &Top, name: &str) -> u64 {
    let wide = |ends: &[String]| {
        let found = top.ports.iter().find(|(port, _)| ends.contains(&port.to_lowercase()));
        found.and_then(|(_, port)| port.width)
    };
    let element = wide(&[format!("user_r_{name}_data"), format!("user_w_{name}_data")]).unwrap_or(8);
    let addresses = wide(&[format!("user_{name}_addr")]).unwrap_or(5).min(32);
    ((element / 8).max(1) << addresses).next_multiple_of(PAGE)
}
