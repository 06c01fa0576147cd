// SPDX-License-Identifier: Apache-2.0
//! Ports of FIFOs: a core that reads from one or writes into one, and a core that is one. What joins them to streams is in `gateware/compat/fifo`.

use crate::family::Family;
use crate::manifest::{Channel, Direction};
use crate::ports::{PortDirection, Top};
use crate::stream::{differs, pair, Between};
use crate::wrapper::instance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where words come out: data, there is none, there is one, take it.
const OUT: [&[&str]; 4] =
    [&["dout", "rd_data", "rdata", "data_out"], &["empty"], &["empty_n"], &["rd_en", "rden", "read", "ren", "rd", "pop"]];
/// Where words go in: data, there is no room, there is room, put it.
const IN: [&[&str]; 4] =
    [&["din", "wr_data", "wdata", "data_in"], &["full"], &["full_n"], &["wr_en", "wren", "write", "wen", "wr", "push"]];
/// There is little room.
const NEARLY: [&str; 4] = ["prog_full", "almost_full", "nearly_full", "afull"];

/// A signal's place in a list: 0 data, 3 the enable, between them the flags.
fn of(signals: &[&[&str]; 4], signal: &str) -> Option<usize> {
    signals.iter().position(|names| names.contains(&signal))
}

/// Ports that begin alike and make up one side of a FIFO.
pub(crate) struct Bundle {
    pub before: String,
    /// Data, enable, and what says whether there is a word or room.
    pub ports: Vec<String>,
    /// Words come out of the FIFO.
    pub out: bool,
    /// Its flag is 1 when a word can move.
    pub low: bool,
}

/// Those among the ports, which are in small letters.
pub(crate) fn bundles(ports: &[&str]) -> Vec<Bundle> {
    let mut all: Vec<Bundle> = Vec::new();
    for (signals, out) in [(&OUT, true), (&IN, false)] {
        for (port, data) in ports.iter().flat_map(|port| signals[0].iter().map(move |data| (*port, *data))) {
            let Some(before) = port.strip_suffix(data).filter(|before| before.is_empty() || before.ends_with('_')) else { continue };
            let one = |names: &[&str]| names.iter().map(|name| format!("{before}{name}")).find(|name| ports.contains(&name.as_str()));
            let (low, nearly) = (one(signals[2]), one(&NEARLY).filter(|_| !out));
            let Some(flag) = one(signals[1]).or(low.clone()).or(nearly.clone()) else { continue };
            let Some(enable) = one(signals[3]) else { continue };
            let (is_low, before) = (low.as_ref() == Some(&flag), before.to_string());
            let more = nearly.filter(|port| *port != flag);
            let ports = [port.to_string(), enable, flag].into_iter().chain(more).collect();
            all.push(Bundle { before, ports, out, low: is_low });
        }
    }
    all
}

/// Which side a signal is on, and the way of the channel that has such a port.
pub(crate) fn is_signal(signal: &str, channel: Direction, port: PortDirection) -> bool {
    let input = port == PortDirection::Input;
    // Data that comes in is host to card, whichever side has the FIFO; so is an empty that comes in, and a full that goes out.
    let h2c = match (of(&OUT, signal), of(&IN, signal)) {
        (Some(3), _) => !input,
        (Some(_), _) => input,
        (_, Some(0 | 3)) => input,
        (_, Some(_)) => !input,
        _ if NEARLY.contains(&signal) => return input && channel == Direction::C2h,
        _ => return false,
    };
    h2c == (channel == Direction::H2c)
}

/// The ports of a channel among the names: of each signal the name here, and its port.
struct Found<'a> {
    signals: &'static [&'static [&'static str]; 4],
    ports: [Option<(String, &'a String)>; 4],
}

fn found<'a>(name: &str, signals: &'static [&'static [&'static str]; 4], names: &'a BTreeMap<String, String>) -> Found<'a> {
    let one = |list: &[&str]| list.iter().map(|signal| format!("{name}_{signal}")).find_map(|key| names.get(&key).map(|port| (key, port)));
    Found { signals, ports: [one(signals[0]), one(signals[1]), one(signals[2]), one(signals[3])] }
}

/// Bits of the stream that carries words of so many.
pub(crate) fn lanes(bits: u64) -> u64 {
    bits.next_power_of_two().max(8)
}

/// The width of the channel's words, from its data port if the manifest does not say it; and that of the stream that carries them.
pub(crate) fn widths(channel: &Channel, top: &Top, names: &BTreeMap<String, String>) -> (u64, u64) {
    let data = [&OUT, &IN].into_iter().find_map(|signals| found(&channel.name, signals, names).ports[0].clone());
    let port = data.and_then(|(_, port)| top.ports[port].width);
    let bits = channel.shape.width.map(u64::from).or(port).unwrap_or(8).clamp(1, 512);
    (bits, lanes(bits))
}

/// Joins the core's ports to the stream `own_NAME_t*`, of words of `bits` in `lanes` bits.
pub(crate) fn core_side(made: &mut Between, channel: &Channel, (bits, lanes): (u64, u64), top: &Top, names: &BTreeMap<String, String>) {
    let (name, h2c) = (&channel.name, channel.direction == Direction::H2c);
    let through = u8::from(channel.shape.family != Family::Fifo);
    let (out, inward) = (found(name, &OUT, names), found(name, &IN, names));
    // A core that has both is a FIFO in the one and a user of FIFOs in the other: no channel is both.
    let have = |found: &Found| found.ports.iter().flatten().count();
    let core_asks = (have(&out) >= have(&inward)) == h2c;
    let side = if core_asks == h2c { &out } else { &inward };
    let listed = |number: usize| side.signals[number].iter().map(|signal| format!("{name}_{signal}")).collect::<Vec<_>>().join(" or ");
    let flag = side.ports[1].clone().map(|port| (port, false)).or(side.ports[2].clone().map(|port| (port, true)));
    let nearly = NEARLY.iter().map(|signal| format!("{name}_{signal}")).find_map(|key| Some((names.get(&key)?, key)));
    let has_flag = flag.is_some() || nearly.is_some() && core_asks && !h2c;
    for (number, missing) in [(0, side.ports[0].is_none()), (1, !has_flag), (3, side.ports[3].is_none())] {
        if missing {
            let what = format!("channel \"{name}\" (ports = \"{}\") has a port {}", channel.shape.family.name(), listed(number));
            made.problems.push(format!("{what}: say in [ports] what it is called"));
        }
    }
    let range = |bits: u64| if bits > 1 { format!("[{}:0] ", bits - 1) } else { String::new() };
    let _ =
        writeln!(made.text, "  logic {}fifo_{name}_data;\n  logic fifo_{name}_flag, fifo_{name}_nearly, fifo_{name}_enable;", range(bits));
    let way = |to_core: bool| if to_core { PortDirection::Input } else { PortDirection::Output };
    let mut connect = |port: &Option<(String, &String)>, direction, wide, expression: String| {
        let Some((key, port)) = port else { return };
        made.problems.extend(differs(top, port, direction, wide, name, None));
        made.core.insert(key.clone(), expression);
    };
    connect(&side.ports[0], way(h2c), bits, format!("fifo_{name}_data"));
    connect(&side.ports[3], way(!core_asks), 1, format!("fifo_{name}_enable"));
    if let Some((port, low)) = flag {
        // An output is connected to a wire of its own kind; an input may be an expression.
        if low && !core_asks {
            connect(&Some(port), way(false), 1, format!("fifo_{name}_flag_n"));
            let _ = writeln!(made.text, "  logic fifo_{name}_flag_n;\n  assign fifo_{name}_flag = !fifo_{name}_flag_n;");
        } else {
            connect(&Some(port), way(core_asks), 1, format!("{}fifo_{name}_flag", if low { "!" } else { "" }));
        }
    }
    if let Some((port, key)) = nearly.filter(|_| core_asks && !h2c) {
        made.problems.extend(differs(top, port, PortDirection::Input, 1, name, None));
        made.core.insert(key, format!("fifo_{name}_nearly"));
    }
    let reset = format!("{name}_reset");
    let stream = |module: &str| {
        ["tvalid", "tready"]
            .map(|signal| pair((signal, &format!("own_{name}_{signal}"))))
            .into_iter()
            .chain([if module == "tp_fifo_read" {
                pair(("tdata", &format!("own_{name}_tdata[{}:0]", bits - 1)))
            } else {
                pair(("tdata", &format!("fifo_{name}_words")))
            }])
            .collect::<Vec<String>>()
    };
    let wire = |signal: &str| format!("fifo_{name}_{signal}");
    let clock = [("clk", "clk"), ("rst_n", "rst_n"), ("flush", reset.as_str())].map(pair);
    if !h2c {
        let _ = writeln!(made.text, "  logic {}fifo_{name}_words;\n  assign own_{name}_tdata = {lanes}'(fifo_{name}_words);", range(bits));
    }
    match (h2c, core_asks) {
        (true, true) => {
            let mut ports = vec![pair(("clk", "clk"))];
            ports.extend(stream("tp_fifo_read"));
            ports.extend([pair(("empty", &wire("flag"))), pair(("rd_en", &wire("enable"))), pair(("dout", &wire("data")))]);
            let settings = [format!(".WIDTH({bits})"), format!(".FALL_THROUGH({through})")];
            instance(&mut made.text, "tp_fifo_read", &format!("fifo_{name}"), &settings, &ports);
        }
        (true, false) => {
            let _ = writeln!(
                made.text,
                "  assign fifo_{name}_data = own_{name}_tdata[{}:0];\n  assign fifo_{name}_enable = own_{name}_tvalid && !fifo_{name}_flag && rst_n;\n  \
                 assign own_{name}_tready = !fifo_{name}_flag && rst_n;",
                bits - 1
            );
        }
        (false, true) => {
            let mut ports = clock.to_vec();
            ports.extend([pair(("full", &wire("flag"))), pair(("nearly_full", &wire("nearly")))]);
            ports.extend([pair(("wr_en", &wire("enable"))), pair(("din", &wire("data")))]);
            ports.extend(stream("tp_fifo_write"));
            instance(&mut made.text, "tp_fifo_write", &format!("fifo_{name}"), &[format!(".WIDTH({bits})")], &ports);
        }
        (false, false) => {
            let mut ports = clock.to_vec();
            ports.extend([pair(("empty", &wire("flag"))), pair(("rd_en", &wire("enable"))), pair(("dout", &wire("data")))]);
            ports.extend(stream("tp_fifo_get"));
            let settings = [format!(".WIDTH({bits})"), format!(".FALL_THROUGH({through})")];
            instance(&mut made.text, "tp_fifo_get", &format!("fifo_{name}"), &settings, &ports);
        }
    }
}
