// SPDX-License-Identifier: Apache-2.0
//! Arrays outside of a core of high-level synthesis (`ap_memory`): the core drives address, enable and data, once or twice, and block RAM stands between it
//! and the host. It is in `gateware/compat/array`.

use crate::axi;
use crate::family::Family;
use crate::fifo::lanes;
use crate::manifest::{Channel, Direction, Manifest};
use crate::ports::{PortDirection, Top};
use crate::stream::{differs, pair, Between};
use crate::wrapper::instance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A port's signals, without its number, and whether the core drives them.
const SIGNALS: [(&str, bool); 5] = [("address", true), ("ce", true), ("we", true), ("d", true), ("q", false)];

/// Is it a signal of such a port?
pub(crate) fn is_signal(signal: &str) -> bool {
    let Some(name) = signal.strip_suffix(['0', '1']) else { return false };
    SIGNALS.iter().any(|(known, _)| *known == name)
}

pub(crate) fn is_array(channel: &Channel) -> bool {
    channel.shape.family == Family::ApMemory
}

/// The array's elements in bytes on the host, and the pages that its addresses reach.
pub(crate) fn size(element: u64, address: u64) -> (u64, u64) {
    let bytes = lanes(element) / 8;
    (bytes, (bytes << address.min(40)).next_multiple_of(crate::kind::PAGE))
}

/// What stands between the core and the path, for each such memory.
pub(crate) fn between(manifest: &Manifest, top: &Top, names: &BTreeMap<String, String>) -> Vec<Between> {
    let arrays = manifest.channels.iter().filter(|channel| is_array(channel) && channel.direction == Direction::H2c);
    arrays.map(|channel| ram(channel, u64::from(manifest.core.width), top, names)).collect()
}

fn ram(channel: &Channel, path: u64, top: &Top, names: &BTreeMap<String, String>) -> Between {
    let name = &channel.name;
    let mut made = Between { path: Vec::new(), core: BTreeMap::new(), text: String::new(), problems: Vec::new() };
    let port = |signal: &str, number: usize| names.get(&format!("{name}_{signal}{number}"));
    let wide = |signals: &[&str]| {
        let mut all = (0..2).flat_map(|number| signals.iter().filter_map(move |signal| port(signal, number)));
        all.find_map(|port| top.ports[port].width)
    };
    let (Some(bits), Some(address)) = (wide(&["q", "d"]), wide(&["address"])) else {
        made.problems.push(format!(
            "memory \"{name}\" (ports = \"ap_memory\") has ports {name}_address0, {name}_ce0 and {name}_q0, or {name}_we0 and {name}_d0: say in [ports] what they are called: {name} = \"*\""
        ));
        return made;
    };
    let (bytes, reached) = size(bits, address);
    let own = axi::parameter(channel, "BYTES");
    if bytes * 8 > path {
        made.problems
            .push(format!("memory \"{name}\": an element has {bits} bit, and core.width is {path}: make that {} at least", bytes * 8));
    }
    if axi::parameter(channel, "BASE") != 0 {
        made.problems.push(format!("memory \"{name}\": an array begins at 0: remove base"));
    }
    if own > reached {
        made.problems.push(format!("memory \"{name}\": the core's addresses reach {reached} bytes: make bytes that at most"));
    }
    let _ = writeln!(made.text, "\n  // Memory \"{name}\": an array of elements of {bits} bit, {bytes} bytes each here.");
    let settings = [
        format!(".DATA_WIDTH({path})"),
        format!(".BITS({bits})"),
        format!(".LANE({})", bytes * 8),
        format!(".CORE_ADDRESS({address})"),
        format!(".BYTES(64'd{own})"),
        format!(".ADDRESS_WIDTH({})", axi::parameter(channel, "ADDRESS_WIDTH")),
    ];
    let mut ports = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n"))];
    for (signal, driven, bits) in axi::signals(path, axi::parameter(channel, "ADDRESS_WIDTH")) {
        let way = if driven { PortDirection::Output } else { PortDirection::Input };
        made.path.push((format!("{name}_{signal}"), way, bits));
        ports.push(pair((&format!("s_{signal}"), &format!("{name}_{signal}"))));
    }
    for (signal, driven) in SIGNALS {
        let bits = match signal {
            "address" => address,
            "d" | "q" => bits,
            _ => 1,
        };
        let range = if bits > 1 { format!("[{}:0]", bits - 1) } else { "[0:0]".to_string() };
        let wire = format!("array_{name}_{signal}");
        let _ = writeln!(made.text, "  logic [1:0]{range} {wire};");
        ports.push(pair((&format!("c_{signal}"), &wire)));
        for number in 0..2 {
            match port(signal, number) {
                Some(core) => {
                    let way = if driven { PortDirection::Output } else { PortDirection::Input };
                    made.problems.extend(differs(top, core, way, bits, name, None));
                    made.core.insert(format!("{name}_{signal}{number}"), format!("{wire}[{number}]"));
                }
                None if driven => {
                    let _ = writeln!(made.text, "  assign {wire}[{number}] = '0;");
                }
                None => {}
            }
        }
    }
    // Of a port all that is needed must be there: a core that only reads has no `we` and `d`, one that only writes no `q`.
    for number in 0..2 {
        let has = |signal: &str| port(signal, number).is_some();
        if SIGNALS.iter().any(|(signal, _)| has(signal))
            && !(has("address") && has("ce") && has("we") == has("d") && (has("q") || has("d")))
        {
            let all = format!("{name}_address{number}, {name}_ce{number}, and {name}_q{number} or {name}_we{number} with {name}_d{number}");
            made.problems.push(format!("memory \"{name}\" needs {all}: say in [ports] what they are called"));
        }
    }
    instance(&mut made.text, "tp_array_ram", &format!("array_{name}"), &settings, &ports);
    made
}
