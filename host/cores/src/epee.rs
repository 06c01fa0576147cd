// SPDX-License-Identifier: Apache-2.0
//! Ports of EPEE: a FIFO in each direction, registers and interrupts. What joins them to streams, bus and interrupts is in `gateware/compat/epee`.

use crate::family::Family;
use crate::manifest::{Bus, Channel, Direction, Entry, Interrupts, Manifest, Registers};
use crate::ports::{PortDirection, Top, AXIL};
use crate::stream::{differs, pair, signals, Between};
use crate::wrapper::instance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the names of a FIFO's ports begin with, in small letters.
pub(crate) fn prefixes(direction: Direction) -> [&'static str; 2] {
    match direction {
        Direction::H2c => ["host2board_", "usr_host2board_"],
        Direction::C2h => ["board2host_", "usr_board2host_"],
    }
}

/// What those of the registers begin with: in EPEE's paper, in its table of ports, and in its second version.
const REGISTERS: [&str; 3] = ["usr_ucr_", "usr_ocr_", "usr_pio_ch0_"];
/// A register's number has so many bits, and there are so many interrupts.
const NUMBER_BITS: u64 = 17;
const VECTORS: u32 = 8;

/// Signals of a FIFO: name, whether the core takes it, whether it may be absent.
const HOST2BOARD: [(&str, bool, bool); 4] =
    [("dout", true, false), ("empty", true, false), ("almost_empty", true, true), ("rd_en", false, false)];
const BOARD2HOST: [(&str, bool, bool); 3] = [("din", false, false), ("prog_full", true, false), ("wr_en", false, false)];
/// Of the registers: name, whether the core takes it, bits.
const UCR: [(&str, bool, u64); 8] = [
    ("wr_addr", true, NUMBER_BITS),
    ("wr_data", true, 32),
    ("wr_req", true, 1),
    ("wr_ack", false, 1),
    ("rd_addr", true, NUMBER_BITS),
    ("rd_data", false, 32),
    ("rd_req", true, 1),
    ("rd_ack", false, 1),
];
/// Of the interrupts: name, whether the core takes it, bits, and what it gets if that never changes.
const INTERRUPT: [(&str, bool, u64, &str); 5] = [
    ("req", false, 1, ""),
    ("vector", false, 3, ""),
    ("clr", true, 1, ""),
    ("enable", true, 1, "1'b1"),
    // Each interrupt is counted until a program takes it: to the core somebody always waits.
    ("sw_waiting", true, 8, "8'hff"),
];

fn fifo(direction: Direction) -> &'static [(&'static str, bool, bool)] {
    match direction {
        Direction::H2c => &HOST2BOARD,
        Direction::C2h => &BOARD2HOST,
    }
}

/// Is it one of the ports of a channel of this direction?
pub(crate) fn is_signal(signal: &str, direction: Direction) -> bool {
    fifo(direction).iter().any(|(name, ..)| *name == signal)
}

/// Is the port one of a register's or of an interrupt's, by its name in small letters?
pub(crate) fn is_beside(port: &str) -> bool {
    let ucr = |rest: &str| UCR.iter().any(|(signal, ..)| *signal == rest);
    let interrupt = |rest: &str| INTERRUPT.iter().any(|(signal, ..)| *signal == rest);
    let numbered = |number: u32| port.strip_prefix(&format!("usr{number}_int_")).is_some_and(interrupt);
    REGISTERS.iter().any(|before| port.strip_prefix(before).is_some_and(ucr))
        || port.strip_prefix("usr_int_").is_some_and(interrupt)
        || (0..VECTORS).any(numbered)
}

/// Entries of a manifest that has none: a channel in each direction.
pub(crate) fn entries() -> Vec<Entry> {
    let entry = |(name, direction): (&str, _)| Entry { name: name.into(), direction: Some(direction), ..Entry::default() };
    [("host2board", Direction::H2c), ("board2host", Direction::C2h)].map(entry).into()
}

/// Registers and interrupts of a core with such channels; or the key that is wrong, and why.
pub(crate) fn complete(manifest: &mut Manifest) -> Option<(String, String)> {
    let channels = manifest.channels.iter().filter(|channel| channel.shape.family.is_epee());
    let (h2c, c2h) = (channels.clone().filter(|c| c.direction == Direction::H2c).count(), channels.clone().count());
    if c2h == 0 {
        return None;
    }
    if h2c > 1 || c2h - h2c > 1 {
        return Some(("[[channel]]".into(), "EPEE has one channel in each direction: remove the others".into()));
    }
    if manifest.interrupts.is_some() {
        return Some(("[interrupts]".into(), format!("a core with EPEE's ports has {VECTORS} interrupts: remove [interrupts]")));
    }
    manifest.interrupts = Some(Interrupts { count: VECTORS, edge: false });
    manifest.registers.get_or_insert(Registers { bytes: 4 << NUMBER_BITS, names: BTreeMap::new(), ports: Bus::Axil });
    None
}

/// The name here and the core's of a port that one of these begins, whatever its letters.
fn found<'a>(names: &'a BTreeMap<String, String>, before: &[&str], signal: &str) -> Option<(&'a String, &'a String)> {
    names.iter().find(|(key, _)| before.iter().any(|before| key.to_lowercase().strip_prefix(before) == Some(signal)))
}

/// What stands between the core and the path: its two FIFOs, and what is beside them.
pub(crate) fn between(manifest: &Manifest, top: &Top, names: &BTreeMap<String, String>) -> Vec<Between> {
    let channels: Vec<&Channel> = manifest.channels.iter().filter(|channel| channel.shape.family.is_epee()).collect();
    if channels.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<Between> = channels.iter().map(|channel| of_channel(manifest, channel, top, names)).collect();
    all.push(registers(top, names));
    all.push(interrupts(top, names));
    all
}

fn empty() -> Between {
    Between { path: Vec::new(), core: BTreeMap::new(), text: String::new(), problems: Vec::new() }
}

fn way(to_core: bool) -> PortDirection {
    if to_core {
        PortDirection::Input
    } else {
        PortDirection::Output
    }
}

fn range(bits: u64) -> String {
    if bits > 1 {
        format!("[{}:0] ", bits - 1)
    } else {
        String::new()
    }
}

fn of_channel(manifest: &Manifest, channel: &Channel, top: &Top, names: &BTreeMap<String, String>) -> Between {
    let mut made = empty();
    let (name, h2c, path) = (&channel.name, channel.direction == Direction::H2c, u64::from(manifest.core.width));
    let data = if h2c { "dout" } else { "din" };
    let told = names.get(&format!("{name}_{data}")).and_then(|port| top.ports[port].width);
    let own = match (channel.shape.width.map(u64::from), told) {
        (Some(width), _) => width,
        (None, Some(66)) => 64,
        _ => 128,
    };
    for (signal, to_core, optional) in fifo(channel.direction) {
        let (key, bits) = (format!("{name}_{signal}"), if *signal == data { own + 2 } else { 1 });
        let _ = writeln!(made.text, "  logic {}own_{key};", range(bits));
        match names.get(&key) {
            Some(port) => {
                let problem = differs(top, port, way(*to_core), bits, name, None);
                let rule =
                    if *signal == data { ": EPEE's data has 66 or 130 bits, of which the two highest say what is valid" } else { "" };
                made.problems.extend(problem.map(|problem| problem + rule));
                made.core.insert(key.clone(), format!("own_{key}"));
            }
            None if *optional => {}
            None => {
                let what = format!(
                    "channel \"{name}\" (ports = \"{}\") has a port {}{signal}",
                    channel.shape.family.name(),
                    prefixes(channel.direction)[0]
                );
                made.problems
                    .push(format!("{what}: say in [ports] what it is called, such as {name} = \"{}*\"", prefixes(channel.direction)[0]));
            }
        }
    }
    let _ = writeln!(made.text, "\n  // Channel \"{name}\", {}: {own} bit at the core, {path} here.", channel.direction);
    for (signal, _, bits) in signals(own) {
        let _ = writeln!(made.text, "  logic {}word_{name}_{signal};", range(bits));
    }
    made.path.extend(signals(path).map(|(signal, with, bits)| (format!("{name}_{signal}"), way(with == h2c), bits)));
    let reset = format!("{name}_reset");
    made.path.push((reset.clone(), PortDirection::Input, 1));
    let clock = [("clk", "clk"), ("rst_n", "rst_n"), ("flush", reset.as_str())].map(pair);
    let (s_width, m_width) = if h2c { (path, own) } else { (own, path) };
    let mut list = clock.to_vec();
    for (side, inner) in [("s", !h2c), ("m", h2c)] {
        let before = if inner { "word_" } else { "" };
        list.extend(signals(own).map(|(signal, ..)| pair((&format!("{side}_{signal}"), &format!("{before}{name}_{signal}")))));
    }
    list.extend([pair(("s_side", "1'b0")), pair(("m_side", ""))]);
    let settings = [format!(".S_WIDTH({s_width})"), format!(".M_WIDTH({m_width})"), ".SIDE(1)".to_string()];
    instance(&mut made.text, "tp_stream_width", &format!("width_{name}"), &settings, &list);

    let mut list = clock.to_vec();
    // The core does not see where messages end; where it writes, the module behind it says so.
    let seen = signals(own).into_iter().filter(|(signal, ..)| !h2c || *signal != "tlast");
    list.extend(seen.map(|(signal, ..)| pair((signal, &format!("word_{name}_{signal}")))));
    list.extend(fifo(channel.direction).iter().map(|(signal, ..)| pair((signal, &format!("own_{name}_{signal}")))));
    let (module, last) = match (h2c, channel.shape.family) {
        (true, Family::EpeeFifo) => ("tp_epee_read", ".FALL_THROUGH(0)".to_string()),
        (true, _) => ("tp_epee_read", ".FALL_THROUGH(1)".to_string()),
        (false, _) => ("tp_epee_write", format!(".PATH({path})")),
    };
    instance(&mut made.text, module, &format!("epee_{name}"), &[format!(".WIDTH({own})"), last], &list);
    made
}

/// A core without such ports acknowledges all: a write is nothing, and a read is 0.
fn registers(top: &Top, names: &BTreeMap<String, String>) -> Between {
    let mut made = empty();
    made.text.push_str("\n  // Registers.\n");
    let mut list = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n"))];
    for (signal, to_core, bits) in AXIL {
        made.path.push((format!("s_axil_{signal}"), way(to_core), bits));
        list.push(pair((&format!("s_axil_{signal}"), &format!("s_axil_{signal}"))));
    }
    for (signal, to_core, bits) in UCR {
        let _ = writeln!(made.text, "  logic {}own_ucr_{signal};", range(bits));
        list.push(pair((signal, &format!("own_ucr_{signal}"))));
        match found(names, &REGISTERS, signal) {
            // A core looks at as many bits of a register's number as it likes.
            Some((key, port)) if signal.ends_with("addr") => {
                let wide = top.ports[port].width.unwrap_or(0);
                if wide > bits || wide == 0 {
                    made.problems.extend(differs(top, port, way(to_core), bits, "registers", None));
                }
                made.core.insert(key.clone(), format!("own_ucr_{signal}[{}:0]", wide.clamp(1, bits) - 1));
            }
            Some((key, port)) => {
                made.problems.extend(differs(top, port, way(to_core), bits, "registers", None));
                made.core.insert(key.clone(), format!("own_ucr_{signal}"));
            }
            None if to_core => {}
            None => {
                let _ = writeln!(made.text, "  assign own_ucr_{signal} = {};", if bits == 1 { "1'b1" } else { "'0" });
            }
        }
    }
    instance(&mut made.text, "tp_epee_registers", "epee_registers", &[], &list);
    made
}

/// One request with a vector, or one for each number; a core may have neither.
fn interrupts(top: &Top, names: &BTreeMap<String, String>) -> Between {
    let mut made = empty();
    made.text.push_str("\n  // Interrupts.\n");
    made.path.push(("irq_valid".into(), PortDirection::Output, VECTORS.into()));
    made.path.push(("irq_ready".into(), PortDirection::Input, VECTORS.into()));
    let one = |made: &mut Between, label: &str, before: &str, vectors: u32, place: &str| {
        for (signal, to_core, bits, constant) in INTERRUPT {
            let _ = writeln!(made.text, "  logic {}own_{label}_{signal};", range(bits));
            match found(names, &[before], signal) {
                Some((key, port)) => {
                    made.problems.extend(differs(top, port, way(to_core), bits, "interrupts", None));
                    let expression = if constant.is_empty() { format!("own_{label}_{signal}") } else { constant.to_string() };
                    made.core.insert(key.clone(), expression);
                }
                None if to_core => {}
                None => {
                    let _ = writeln!(made.text, "  assign own_{label}_{signal} = '0;");
                }
            }
        }
        let own = ["req", "vector", "clr"].map(|signal| pair((signal, &format!("own_{label}_{signal}"))));
        let beside = [("irq_valid", format!("irq_valid{place}")), ("irq_ready", format!("irq_ready{place}"))];
        let mut list = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n"))];
        list.extend(own.into_iter().chain(beside.iter().map(|(port, to)| pair((port, to)))));
        instance(&mut made.text, "tp_epee_interrupt", &format!("epee_{label}"), &[format!(".VECTORS({vectors})")], &list);
    };
    if found(names, &["usr_int_"], "req").is_some() {
        one(&mut made, "int", "usr_int_", VECTORS, "");
        return made;
    }
    for number in 0..VECTORS {
        let before = format!("usr{number}_int_");
        if found(names, &[before.as_str()], "req").is_some() {
            one(&mut made, &format!("int{number}"), &before, 1, &format!("[{number}]"));
        } else {
            let _ = writeln!(made.text, "  assign irq_valid[{number}] = 1'b0;");
        }
    }
    made
}
