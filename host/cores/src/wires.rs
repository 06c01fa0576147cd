// SPDX-License-Identifier: Apache-2.0
//! Registers of a core that has no bus: each is a port of the core's, which the host writes or reads. What joins them to AXI4-Lite is in `gateware/compat/wires`.

use crate::manifest::{Bus, Manifest};
use crate::ports::{PortDirection, Top, AXIL};
use crate::stream::{pair, Between};
use crate::wrapper::instance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The register that starts a core of high-level synthesis, and its ports.
pub(crate) const CONTROL: &str = "ap_ctrl";
pub(crate) const START: &str = "ap_start";
const STATES: [&str; 3] = ["ap_done", "ap_idle", "ap_ready"];
/// What a core waits for when it is done, before it goes on.
pub(crate) const CONTINUE: &str = "ap_continue";
/// What says that an output counts; an input's says so to the core.
pub(crate) const COUNTS: &str = "_ap_vld";

/// Bytes that a port's words take.
pub(crate) fn bytes(bits: u64) -> u64 {
    bits.div_ceil(32) * 4
}

/// Is it a port that the control register has?
pub(crate) fn is_control(port: &str) -> bool {
    port == START || port == CONTINUE || STATES.contains(&port)
}

fn range(bits: u64) -> String {
    if bits > 1 {
        format!("[{}:0] ", bits - 1)
    } else {
        String::new()
    }
}

/// What stands between the core's ports and the bus, if the manifest says that there is no bus at the core.
pub(crate) fn between(manifest: &Manifest, top: &Top, names: &BTreeMap<String, String>) -> Option<Between> {
    let registers = manifest.registers.as_ref().filter(|registers| registers.ports == Bus::Wires)?;
    let mut made = Between { path: Vec::new(), core: BTreeMap::new(), text: String::new(), problems: Vec::new() };
    let mut bus = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n"))];
    for (signal, to_core, bits) in AXIL {
        let way = if to_core { PortDirection::Input } else { PortDirection::Output };
        made.path.push((format!("s_axil_{signal}"), way, bits));
        bus.push(pair((&format!("s_axil_{signal}"), &format!("s_axil_{signal}"))));
    }
    const WRITE: [&str; 4] = ["wr_en", "wr_word", "wr_data", "wr_strb"];
    const READ: [&str; 3] = ["rd_en", "rd_word", "rd_data"];
    let wire = |signal: &&str| pair((signal, &format!("wires_{signal}")));
    bus.extend(WRITE.iter().chain(&READ).map(wire));
    made.text.push_str(
        "\n  // Registers that are ports of the core's.\n  logic wires_wr_en, wires_rd_en;\n  logic [29:0] wires_wr_word, wires_rd_word;\n  \
         logic [31:0] wires_wr_data, wires_rd_data;\n  logic [3:0] wires_wr_strb;\n",
    );
    instance(&mut made.text, "tp_wires_bus", "wires_bus", &[], &bus);
    let written = || [pair(("clk", "clk")), pair(("rst_n", "rst_n"))].into_iter().chain(WRITE.iter().map(wire));

    // Each word of a register, and its value.
    let mut words: BTreeMap<u64, (String, String)> = BTreeMap::new();
    for (name, offset) in &registers.names {
        let offset = u64::from(*offset);
        let control = name == CONTROL && names.contains_key(START);
        let (bits, value) = if control {
            control_register(&mut made, offset, written().collect(), names);
            (32, "wires_control".to_string())
        } else {
            let Some(port) = names.get(name) else {
                let what = format!("register \"{name}\": module \"{}\" has no such port", manifest.core.top);
                made.problems.push(format!("{what}: with ports = \"wires\" each register is a port of the core's: correct the name"));
                continue;
            };
            let about = &top.ports[port];
            let Some(bits) = about.width.filter(|_| about.direction != PortDirection::Other) else {
                made.problems.push(format!("{}: port \"{port}\" is no plain vector: no register can be it", about.place));
                continue;
            };
            (bits, wires(&mut made, name, (offset, bits), about.direction, written().collect(), names))
        };
        if offset + bytes(bits) > registers.bytes.into() {
            made.problems.push(format!("register \"{name}\": its {bits} bits do not end before registers.bytes, {:#x}", registers.bytes));
        }
        for word in 0..bits.div_ceil(32) {
            let shifted = if bits <= 32 { value.clone() } else { format!("{value} >> {}", 32 * word) };
            if let Some((other, _)) = words.insert(offset / 4 + word, (name.clone(), format!("32'({shifted})"))) {
                made.problems.push(format!("registers \"{other}\" and \"{name}\" have the same word: move one of them"));
            }
        }
    }
    made.text.push_str("  always_comb begin\n    case (wires_rd_word)\n");
    for (number, (_, value)) in words {
        let _ = writeln!(made.text, "      30'd{number}: wires_rd_data = {value};");
    }
    made.text.push_str("      default: wires_rd_data = '0;\n    endcase\n  end\n");
    Some(made)
}

fn control_register(made: &mut Between, offset: u64, mut ports: Vec<String>, names: &BTreeMap<String, String>) {
    made.text
        .push_str("  logic [31:0] wires_control;\n  logic wire_ap_start, wire_ap_done, wire_ap_idle, wire_ap_ready, wire_ap_continue;\n");
    ports.extend(["rd_en", "rd_word"].map(|signal| pair((signal, &format!("wires_{signal}")))));
    ports.push(pair(("value", "wires_control")));
    for signal in [START].into_iter().chain(STATES).chain([CONTINUE]) {
        ports.push(pair((signal, &format!("wire_{signal}"))));
        if names.contains_key(signal) {
            made.core.insert(signal.to_string(), format!("wire_{signal}"));
        } else if STATES.contains(&signal) {
            // A core without "ready" takes its start when it is done.
            let instead = if signal == "ap_ready" { "wire_ap_done" } else { "1'b0" };
            let _ = writeln!(made.text, "  assign wire_{signal} = {instead};");
        }
    }
    let chain = u8::from(names.contains_key(CONTINUE));
    instance(&mut made.text, "tp_wires_control", "wires_ap_ctrl", &[format!(".FIRST({})", offset / 4), format!(".CHAIN({chain})")], &ports);
}

/// One port; returns what the host reads.
fn wires(
    made: &mut Between,
    name: &str,
    (offset, bits): (u64, u64),
    direction: PortDirection,
    mut ports: Vec<String>,
    names: &BTreeMap<String, String>,
) -> String {
    let own = format!("wire_{name}");
    let _ = writeln!(made.text, "  logic {}{own};", range(bits));
    made.core.insert(name.to_string(), own.clone());
    if direction == PortDirection::Input {
        ports.push(pair(("value", &own)));
        let settings = [format!(".BITS({bits})"), format!(".FIRST({})", offset / 4)];
        instance(&mut made.text, "tp_wires_input", &format!("wires_{name}"), &settings, &ports);
        return own;
    }
    let valid = format!("{name}{COUNTS}");
    let counts = if names.contains_key(&valid) {
        let _ = writeln!(made.text, "  logic wire_{valid};");
        made.core.insert(valid.clone(), format!("wire_{valid}"));
        format!("wire_{valid}")
    } else if name == "ap_return" && made.text.contains("wires_control") {
        "wire_ap_done".to_string()
    } else {
        return own;
    };
    let _ = writeln!(made.text, "  logic {}held_{name};", range(bits));
    let ports = [("clk", "clk"), ("rst_n", "rst_n"), ("valid", &counts), ("live", &own), ("held", &format!("held_{name}"))].map(pair);
    instance(&mut made.text, "tp_wires_output", &format!("wires_{name}"), &[format!(".BITS({bits})")], &ports);
    format!("held_{name}")
}
