// SPDX-License-Identifier: Apache-2.0
//! Streams of a core that are not as the path is: another width, no `tkeep`, no `tlast`, no `tready`; and what is generated between them.

mod unheld;

use crate::family::Family;
use crate::fifo;
use crate::manifest::{Channel, Direction, Manifest};
use crate::ports::{bits_text, PortDirection, Top};
use crate::wrapper::instance;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

pub use unheld::Overflow;
use unheld::{buffer, is_buffered};
pub(crate) use unheld::{unheld, watch};

/// How a core's stream is, where it is not as the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// In bits; none: the path's.
    pub width: Option<u32>,
    /// It has `tkeep`.
    pub tkeep: bool,
    /// It has `tlast`.
    pub tlast: bool,
    /// It has `tready`.
    pub tready: bool,
    /// Of C2H without `tready`: bytes that find room, and what a word means that finds none.
    pub buffer_bytes: u32,
    /// See there.
    pub overflow: Overflow,
    /// Of C2H without `tlast`: how long its messages are; none: they have no end.
    pub message: Option<Message>,
    /// What its ports are.
    pub family: Family,
}

impl Default for Shape {
    fn default() -> Shape {
        let (buffer_bytes, overflow) = (unheld::BUFFER, Overflow::default());
        Shape { width: None, tkeep: true, tlast: true, tready: true, buffer_bytes, overflow, message: None, family: Family::Stream }
    }
}

/// How long messages are.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Message {
    /// In bytes.
    Bytes(u32),
    /// As the register of this name says in bytes when a message begins.
    Register(String),
}

/// Bits of attributes, as the core has them.
const H2C_ATTRIBUTES: [(&str, u64); 3] = [("length", 64), ("offset", 64), ("user", 32)];
const C2H_ATTRIBUTES: [(&str, u64); 3] = [("length", 48), ("offset", 32), ("user", 32)];

impl Shape {
    /// From the keys of an entry; or which of them is wrong, and why.
    pub(crate) fn of(
        direction: Direction,
        family: Family,
        (width, tkeep, tlast): (Option<u32>, bool, bool),
        message: Option<&Message>,
    ) -> Result<Shape, (&'static str, String)> {
        let (tkeep, tlast) = (tkeep && !family.is_fifo(), tlast && !family.is_fifo());
        if let Some(bits) = width.filter(|bits| family.is_fifo() && !(1..=512).contains(bits)) {
            return Err(("width", format!("width = {bits}: make it 1 to 512")));
        }
        if let Some(bits) = width.filter(|bits| family == Family::Riffa && !matches!(bits, 32 | 64 | 128)) {
            return Err(("width", format!("width = {bits}: RIFFA's channels have 32, 64 or 128 bit")));
        }
        if let Some(bits) = width.filter(|bits| family.is_epee() && !matches!(bits, 64 | 128)) {
            return Err(("width", format!("width = {bits}: EPEE's FIFOs have 64 or 128 bit, and two that say what is valid")));
        }
        let odd = |bits: &u32| !bits.is_power_of_two() || !(8..=512).contains(bits);
        if let Some(bits) = width.filter(|bits| !family.is_fifo() && odd(bits)) {
            // Words without `tkeep` have bytes of their own on the host, as those of FIFOs.
            if family != Family::Stream || tkeep {
                return Err(("width", format!("width = {bits}: make it a power of two, 8 to 512; a stream without tkeep may have any of these: write tkeep = false")));
            }
            if !(8..=512).contains(&bits) {
                return Err(("width", format!("width = {bits}: make it 8 to 512")));
            }
        }
        match (message, direction) {
            (Some(_), Direction::H2c) => return Err(("message_bytes", "the host says where messages end: remove message_bytes".into())),
            (Some(_), _) if tlast => {
                return Err((
                    "message_bytes",
                    "the core has tlast, which says where messages end: write tlast = false, or remove message_bytes".into(),
                ));
            }
            (Some(Message::Bytes(0)), _) => return Err(("message_bytes", "message_bytes = 0: make it 1 or more".into())),
            _ => {}
        }
        Ok(Shape { width, tkeep, tlast, message: message.cloned(), family, ..Shape::default() })
    }
}

/// The stream needs something between it and the path.
pub(crate) fn is_other(channel: &Channel, path: u32) -> bool {
    let shape = &channel.shape;
    channel.carrier.is_none()
        && !channel.idle
        && !matches!(shape.family, Family::Riffa | Family::Xillybus)
        && !shape.family.is_epee()
        && (!shape.tkeep || !shape.tlast || !shape.tready || shape.width.is_some_and(|width| width != path))
}

pub(crate) fn attributes(channel: &Channel) -> Vec<(&'static str, u64)> {
    let all = if channel.direction == Direction::H2c { H2C_ATTRIBUTES } else { C2H_ATTRIBUTES };
    all.into_iter().filter(|_| channel.attributes).collect()
}

/// Signals of the stream: name, whether they go with the data, bits at this width.
pub(crate) fn signals(width: u64) -> [(&'static str, bool, u64); 5] {
    [("tdata", true, width), ("tkeep", true, width / 8), ("tlast", true, 1), ("tvalid", true, 1), ("tready", false, 1)]
}

/// What stands between a stream of the core and the path: ports of the path's side, what the core's ports get, and the text.
pub(crate) struct Between {
    /// Name, direction, bits.
    pub path: Vec<(String, PortDirection, u64)>,
    /// The core's ports, by their names here, and their expressions.
    pub core: BTreeMap<String, String>,
    pub text: String,
    pub problems: Vec<String>,
}

/// What is wrong with a port that a channel wants so; `own` is the width of its stream, where that says how wide the port is.
pub(crate) fn differs(top: &Top, port: &str, direction: PortDirection, bits: u64, channel: &str, own: Option<u64>) -> Option<String> {
    let about = &top.ports[port];
    if about.width == Some(bits) && about.direction == direction {
        return None;
    }
    let has = about.width.map_or("no packed vector".to_string(), bits_text);
    let why = own.map_or(String::new(), |own| format!("; its width is {own}"));
    Some(format!(
        "{}: port \"{port}\" ({}, {has}): channel \"{channel}\" wants {direction}, {}{why}",
        about.place,
        about.direction,
        bits_text(bits)
    ))
}

/// For a channel that [`is_other`], whose core's ports are in `names` by their names here.
pub(crate) fn between(manifest: &Manifest, channel: &Channel, top: &Top, names: &BTreeMap<String, String>) -> Between {
    let (name, shape, h2c) = (&channel.name, &channel.shape, channel.direction == Direction::H2c);
    let is_fifo = shape.family.is_fifo();
    let (word, own) = if is_fifo {
        fifo::widths(channel, top, names)
    } else {
        let bits = u64::from(shape.width.unwrap_or(manifest.core.width));
        (bits, fifo::lanes(bits))
    };
    let path = u64::from(manifest.core.width);
    let mut made = Between { path: Vec::new(), core: BTreeMap::new(), text: String::new(), problems: Vec::new() };
    let way = |with: bool| if with == h2c { PortDirection::Input } else { PortDirection::Output };
    let extra: Vec<(&str, u64)> = if h2c { vec![("error", 1)] } else { Vec::new() };
    let beside: Vec<(&str, u64)> = attributes(channel).into_iter().chain(extra).collect();

    // The core's side: what it must have, and wires.
    let _ = writeln!(made.text, "\n  // Channel \"{name}\": {own} bit at the core, {path} here.");
    for (signal, with, bits) in signals(own) {
        let key = format!("{name}_{signal}");
        let range = if bits > 1 { format!("[{}:0] ", bits - 1) } else { String::new() };
        let _ = writeln!(made.text, "  logic {range}own_{key};");
        if is_fifo {
            continue;
        }
        let has = match signal {
            "tkeep" => shape.tkeep,
            "tlast" => shape.tlast,
            _ => true,
        };
        if signal == "tready" && !shape.tready {
            if let Some(port) = names.get(&key) {
                made.problems.push(format!("channel \"{name}\": the core has \"{port}\": remove tready = false"));
            } else if h2c {
                let _ = writeln!(made.text, "  assign own_{key} = 1'b1;");
            }
            continue;
        }
        let Some(port) = names.get(&key) else {
            if has {
                let what = format!("channel \"{name}\" has a port \"{key}\", {}, {}", way(with), bits_text(bits));
                let may_lack = matches!(signal, "tkeep" | "tlast" | "tready");
                let remedy = if may_lack { format!(", or {signal} = false") } else { String::new() };
                made.problems.push(format!("{what}: say in [ports] what it is called{remedy}"));
            }
            continue;
        };
        if signal == "tdata" && bits != word {
            // The rest of its bytes is 0, or nobody's.
            made.problems.extend(differs(top, port, way(with), word, name, Some(word)));
            made.core.insert(key.clone(), format!("own_{key}[{}:0]", word - 1));
            if !h2c {
                let _ = writeln!(made.text, "  assign own_{key}[{}:{word}] = '0;", bits - 1);
            }
            continue;
        }
        made.problems.extend(differs(top, port, way(with), bits, name, Some(own)));
        made.core.insert(key.clone(), format!("own_{key}"));
    }
    if is_fifo {
        fifo::core_side(&mut made, channel, (word, own), top, names);
    }
    for (signal, bits) in &beside {
        let key = format!("{name}_{signal}");
        let range = if *bits > 1 { format!("[{}:0] ", bits - 1) } else { String::new() };
        let _ = writeln!(made.text, "  logic {range}own_{key};");
        match names.get(&key) {
            Some(port) => {
                made.problems.extend(differs(top, port, way(true), *bits, name, None));
                made.core.insert(key.clone(), format!("own_{key}"));
            }
            // Attributes have no value without their ports; a core need not look at errors.
            None if *signal != "error" => {
                let what = format!("channel \"{name}\" has a port \"{key}\", {}, {}", way(true), bits_text(*bits));
                made.problems.push(format!("{what}: say in [ports] what it is called, or remove attributes"));
            }
            None => {}
        }
    }
    let reset = format!("{name}_reset");
    let told = names.contains_key(&reset);
    if let Some(port) = names.get(&reset) {
        made.problems.extend(differs(top, port, PortDirection::Input, 1, name, None));
        made.core.insert(reset.clone(), reset.clone());
    }

    // The path's side.
    made.path.extend(signals(path).map(|(signal, with, bits)| (format!("{name}_{signal}"), way(with), bits)));
    made.path.extend(beside.iter().map(|(signal, bits)| (format!("{name}_{signal}"), way(true), *bits)));
    made.path.push((reset.clone(), PortDirection::Input, 1));

    let list = |prefix: &str| -> String {
        let all: Vec<String> = beside.iter().map(|(signal, _)| format!("{prefix}{name}_{signal}")).collect();
        if all.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", all.join(", "))
        }
    };
    let bits: u64 = beside.iter().map(|(_, bits)| bits).sum();
    let (from, to) = if h2c { ("", "core_side_") } else { ("core_side_", "") };
    let (s_width, m_width) = if h2c { (path, own) } else { (own, path) };
    let buffered = is_buffered(channel);
    // What a buffer keeps is on its way to the other side.
    let made_of = if buffered { "kept" } else { "core_side" };
    for (signal, _, bits) in signals(own) {
        // Of a stream of one byte `tkeep` is a vector, too: its bits are taken by number.
        let range = if bits > 1 || signal == "tkeep" { format!("[{}:0] ", bits - 1) } else { String::new() };
        let _ = writeln!(made.text, "  logic {range}core_side_{name}_{signal};");
        if buffered {
            let _ = writeln!(made.text, "  logic {range}kept_{name}_{signal};");
        }
    }
    if h2c {
        for signal in ["tkeep", "tlast"] {
            let _ = writeln!(made.text, "  assign own_{name}_{signal} = core_side_{name}_{signal};");
        }
        if shape.tkeep || shape.tlast {
            let _ = writeln!(made.text, "  assign own_{name}_tvalid = core_side_{name}_tvalid;");
            let _ = writeln!(made.text, "  assign core_side_{name}_tready = own_{name}_tready;");
        } else {
            // An empty message, or an end that comes late, is a beat without bytes. A core that sees neither bytes nor ends gets no word for it.
            let empty = format!("!core_side_{name}_tkeep[0]");
            let _ = writeln!(made.text, "  assign own_{name}_tvalid = core_side_{name}_tvalid && core_side_{name}_tkeep[0];");
            let _ = writeln!(made.text, "  assign core_side_{name}_tready = own_{name}_tready || {empty};");
        }
        if shape.tkeep {
            let _ = writeln!(made.text, "  assign own_{name}_tdata = core_side_{name}_tdata;");
        } else {
            // Bytes that are not there are 0.
            let _ = writeln!(
                made.text,
                "  for (genvar b = 0; b < {}; b++) begin : g_{name}\n    \
                 assign own_{name}_tdata[8*b+:8] = core_side_{name}_tkeep[b] ? core_side_{name}_tdata[8*b+:8] : '0;\n  end",
                own / 8
            );
        }
    } else if shape.tlast {
        for signal in ["tdata", "tlast", "tvalid"] {
            let _ = writeln!(made.text, "  assign {made_of}_{name}_{signal} = own_{name}_{signal};");
        }
        let keep = if shape.tkeep { format!("own_{name}_tkeep") } else { "'1".to_string() };
        let _ = writeln!(made.text, "  assign {made_of}_{name}_tkeep = {keep};\n  assign own_{name}_tready = {made_of}_{name}_tready;");
    } else {
        let length = match &shape.message {
            None => "32'd0".to_string(),
            Some(Message::Bytes(bytes)) => format!("32'd{bytes}"),
            Some(Message::Register(register)) => {
                register_copy(&mut made.text, manifest, name, register);
                format!("bytes_{name}")
            }
        };
        // After words that found no room a message begins.
        let flush = if buffered { format!("{reset} || dropping_{name}") } else { reset.clone() };
        let mut ports: Vec<String> = [("clk", "clk"), ("rst_n", "rst_n"), ("flush", &flush), ("bytes", &length)].map(pair).into();
        ports.extend(["tvalid", "tready", "tdata"].map(|signal| pair((&format!("s_{signal}"), &format!("own_{name}_{signal}")))));
        ports.extend(signals(own).map(|(signal, _, _)| pair((&format!("m_{signal}"), &format!("{made_of}_{name}_{signal}")))));
        instance(&mut made.text, "tp_stream_ends", &format!("ends_{name}"), &[format!(".WIDTH({own})")], &ports);
    }
    let mut ports: Vec<String> = [("clk", "clk"), ("rst_n", "rst_n"), ("flush", &reset)].map(pair).into();
    for (side, prefix) in [("s", from), ("m", to)] {
        ports.extend(signals(own).map(|(signal, _, _)| pair((&format!("{side}_{signal}"), &format!("{prefix}{name}_{signal}")))));
    }
    let (mut inner, outer) = (list("own_"), list(""));
    if buffered {
        let side = if bits == 0 { "1'b0".to_string() } else { inner };
        buffer(&mut made.text, channel, own, &side, told);
        inner = format!("side_{name}");
    }
    let (s_side, m_side) = if h2c { (outer, inner) } else { (inner, outer) };
    ports.push(format!(".s_side({})", if bits == 0 { "1'b0" } else { &s_side }));
    ports.push(format!(".m_side({m_side})"));
    let settings = [format!(".S_WIDTH({s_width})"), format!(".M_WIDTH({m_width})"), format!(".SIDE({})", bits.max(1))];
    instance(&mut made.text, "tp_stream_width", &format!("width_{name}"), &settings, &ports);
    made
}

pub(crate) fn pair((port, to): (&str, &str)) -> String {
    format!(".{port}({to})")
}

/// The value that the host has written to a register of the core.
fn register_copy(text: &mut String, manifest: &Manifest, name: &str, register: &str) {
    let Some(registers) = &manifest.registers else { return };
    let offset = registers.names.get(register).copied().unwrap_or(0);
    let _ = write!(
        text,
        "
  // What the host has written to register \"{register}\".
  logic [31:0] at_{name}, written_{name}, bytes_{name};
  always_ff @(posedge clk) begin
    if (s_axil_awvalid && s_axil_awready) at_{name} <= s_axil_awaddr;
    if (s_axil_wvalid && s_axil_wready) written_{name} <= s_axil_wdata;
    if (s_axil_bvalid && s_axil_bready && s_axil_bresp == '0 && (at_{name} & 32'd{mask}) == 32'd{offset}) bytes_{name} <= written_{name};
    if (!rst_n) bytes_{name} <= '0;
  end
",
        mask = registers.bytes - 1,
    );
}
