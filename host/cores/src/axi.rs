// SPDX-License-Identifier: Apache-2.0
//! AXI4 at a memory's port, and cores that are masters there, as kernels of high-level synthesis are: block RAM stands between host and core. It is in
//! `gateware/compat/axi`.

use crate::family::Family;
use crate::manifest::{Channel, Direction, Manifest};
use crate::ports::{PortDirection, Top};
use crate::stream::{differs, pair, Between};
use crate::wrapper::instance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Signals of each of AXI4's channels, as far as a memory has them.
const SIGNALS: [(&str, &[&str]); 5] = [
    ("aw", &["addr", "len", "size", "burst", "valid", "ready"]),
    ("w", &["data", "strb", "last", "valid", "ready"]),
    ("b", &["resp", "valid", "ready"]),
    ("ar", &["addr", "len", "size", "burst", "valid", "ready"]),
    ("r", &["data", "resp", "last", "valid", "ready"]),
];

/// A memory's port: signal, whether the memory drives it, bits; with data and addresses of so many.
pub(crate) fn signals(data: u64, address: u64) -> impl Iterator<Item = (String, bool, u64)> {
    SIGNALS.into_iter().flat_map(|(letters, signals)| signals.iter().map(move |signal| (letters, *signal))).map(move |(letters, signal)| {
        let bits = match signal {
            "addr" => address,
            "data" => data,
            "strb" => data / 8,
            "len" => 8,
            "size" => 3,
            "burst" | "resp" => 2,
            _ => 1,
        };
        (format!("{letters}{signal}"), matches!(letters, "b" | "r") != (signal == "ready"), bits)
    })
}

/// What the manifest says of a memory, in bytes or bits.
pub(crate) fn parameter(channel: &Channel, key: &str) -> u64 {
    let all = channel.carrier.iter().flat_map(|carrier| &carrier.parameters);
    all.filter(|(name, _)| name == key).find_map(|(_, value)| value.trim_start_matches("64'd").parse().ok()).unwrap_or(32)
}

/// Is the core a master at this memory's port?
pub(crate) fn is_mastered(channel: &Channel) -> bool {
    channel.shape.family == Family::AxiMaster
}

/// What the ports of such a memory may begin with, in small letters; `alone`: no other memory has such ports.
pub(crate) fn prefixes(channel: &Channel, alone: bool) -> Vec<String> {
    let name = channel.name.to_lowercase();
    let mut prefixes = vec![format!("{name}_"), format!("m_axi_{name}_"), format!("{name}_axi_"), format!("m_{name}_")];
    if alone {
        prefixes.extend(["m_axi_", "m_axi4_", "axi_m_", "maxi_", "m_"].map(String::from));
    }
    prefixes
}

/// A core may leave these out: beats are as wide as the port, bursts are INCR, and without `len` of one beat.
pub(crate) fn absent(signal: &str, width: u64) -> Option<String> {
    Some(match signal {
        "awlen" | "arlen" => "8'd0".into(),
        "awsize" | "arsize" => format!("3'd{}", (width / 8).max(1).ilog2()),
        "awburst" | "arburst" => "2'b01".into(),
        "wlast" => "1'b1".into(),
        "bresp" | "rresp" | "rlast" => String::new(),
        _ => return None,
    })
}

/// What stands between the core and the path, for each memory at which it is a master.
pub(crate) fn between(manifest: &Manifest, top: &Top, names: &BTreeMap<String, String>) -> Vec<Between> {
    let mastered = manifest.channels.iter().filter(|channel| is_mastered(channel) && channel.direction == Direction::H2c);
    mastered.map(|channel| ram(channel, u64::from(manifest.core.width), top, names)).collect()
}

fn ram(channel: &Channel, path: u64, top: &Top, names: &BTreeMap<String, String>) -> Between {
    let name = &channel.name;
    let mut made = Between { path: Vec::new(), core: BTreeMap::new(), text: String::new(), problems: Vec::new() };
    let port = |signal: &str| names.get(&format!("{name}_{signal}"));
    let wide = |signals: &[&str]| signals.iter().find_map(|signal| port(signal)).and_then(|port| top.ports[port].width);
    let width = wide(&["wdata", "rdata"]).unwrap_or(path);
    let addresses = wide(&["awaddr", "araddr"]).unwrap_or(32);
    let ids = ["awid", "arid", "bid", "rid"].iter().filter_map(|id| wide(&[id])).max().unwrap_or(1);
    let _ = writeln!(made.text, "\n  // Memory \"{name}\": the core is a master of {width} bit, {path} here.");
    if width > path {
        made.problems
            .push(format!("memory \"{name}\": the core's port has {width} bit, and core.width is {path}: make that {width} at least"));
    } else if !width.is_power_of_two() || width < 8 {
        made.problems.push(format!("memory \"{name}\": the core's port has {width} bit: it may have a power of two, 8 to {path}"));
    }
    // A core that only reads has no ports to write by, and the other way round.
    let has = |letters: &str| port(&format!("{letters}valid")).is_some();
    let (writes, reads) = (has("aw"), has("ar"));
    if !writes && !reads {
        made.problems.push(format!(
            "memory \"{name}\" (ports = \"{}\") has the ports of an AXI4 master: say in [ports] what they are called: {name} = \"m_axi_*\"",
            Family::AxiMaster.name()
        ));
    }
    let settings = [
        format!(".DATA_WIDTH({path})"),
        format!(".WIDTH({width})"),
        format!(".BASE(64'd{})", parameter(channel, "BASE")),
        format!(".BYTES(64'd{})", parameter(channel, "BYTES")),
        format!(".ADDRESS_WIDTH({})", parameter(channel, "ADDRESS_WIDTH")),
        format!(".CORE_ADDRESS_WIDTH({addresses})"),
        format!(".ID_WIDTH({ids})"),
    ];
    let mut ports = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n"))];
    for (signal, driven, bits) in signals(path, parameter(channel, "ADDRESS_WIDTH")) {
        let way = if driven { PortDirection::Output } else { PortDirection::Input };
        made.path.push((format!("{name}_{signal}"), way, bits));
        ports.push(pair((&format!("s_{signal}"), &format!("{name}_{signal}"))));
    }
    let end = u128::from(parameter(channel, "BASE")) + u128::from(parameter(channel, "BYTES"));
    if end > 1 << addresses.min(64) {
        made.problems.push(format!(
            "memory \"{name}\": base + bytes = {end:#x} is beyond the core's addresses of {addresses} bit, which end at {:#x}",
            1u128 << addresses.min(64)
        ));
    }
    // IDs, where the core has them, beside what every port has. Those of reads and writes may differ in width.
    let own = ["awid", "bid", "arid", "rid"].map(|id| (id.to_string(), matches!(id, "bid" | "rid"), wide(&[id]).unwrap_or(1)));
    for (signal, driven, bits) in signals(width, addresses).chain(own) {
        let used = if matches!(&signal[..1], "w" | "b") || signal.starts_with("aw") { writes } else { reads };
        let is_id = signal.ends_with("id") && !signal.ends_with("valid");
        let Some(core) = port(&signal) else {
            let nothing = if driven { Some(String::new()) } else { Some("'0".to_string()) };
            match if used && !is_id { absent(&signal, width) } else { nothing } {
                Some(value) => ports.push(format!(".c_{signal}({value})")),
                None => made.problems.push(format!("memory \"{name}\" has a port {name}_{signal}: say in [ports] what it is called")),
            }
            continue;
        };
        let wire = format!("own_{name}_{signal}");
        let range = if bits > 1 { format!("[{}:0] ", bits - 1) } else { String::new() };
        let way = if driven { PortDirection::Input } else { PortDirection::Output };
        made.problems.extend(differs(top, core, way, bits, name, None));
        let wider = is_id && ids > bits;
        let range = if wider && driven { format!("[{}:0] ", ids - 1) } else { range };
        let _ = writeln!(made.text, "  logic {range}{wire};");
        let (to_core, to_ram) = match (wider, driven) {
            (true, true) => (format!("{wire}[{}:0]", bits - 1), wire),
            (true, false) => (wire.clone(), format!("{ids}'({wire})")),
            (false, _) => (wire.clone(), wire),
        };
        made.core.insert(format!("{name}_{signal}"), to_core);
        ports.push(pair((&format!("c_{signal}"), &to_ram)));
    }
    // The rest of AXI4 says nothing to a RAM.
    for (key, core) in
        names.iter().filter(|(key, _)| key.strip_prefix(name).and_then(|rest| rest.strip_prefix('_')).is_some_and(crate::ports::is_axi))
    {
        if !made.core.contains_key(key) {
            made.core.insert(key.clone(), if top.ports[core].direction == PortDirection::Input { "'0".into() } else { String::new() });
        }
    }
    instance(&mut made.text, "tp_axi_ram", &format!("ram_{name}"), &settings, &ports);
    made
}
