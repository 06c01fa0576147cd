// SPDX-License-Identifier: Apache-2.0
//! The checker at a core's ports, for simulation: a generated module that is bound into the core's own and watches what the core drives, by the core's own
//! names and at its own widths. The rules are in `gateware/sim/check`.

use crate::axi::{absent, is_mastered};
use crate::manifest::{Direction, Manifest};
use crate::ports::Top;
use crate::stream::{is_other, Shape};
use crate::wrapper::{instance, patience};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use towpath_contract::ChannelKind;

/// What the rules are written in, relative to the home.
pub(crate) const SOURCES: [&str; 6] = [
    "gateware/sim/check/tp_check_pkg.sv",
    "gateware/sim/check/tp_check_axis.sv",
    "gateware/sim/check/tp_check_axi.sv",
    "gateware/sim/check/tp_check_axi_master.sv",
    "gateware/sim/check/tp_check_axi_data.sv",
    "gateware/sim/check/tp_check_irq.sv",
];

/// In the generated text: whether a breach ends the simulation.
pub(crate) const STOPS: &str = "TP_CHECK_STOPS";

/// Whether the core's ports are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// A breach of a protocol ends the simulation.
    #[default]
    On,
    /// It is a warning.
    Warn,
    /// Nothing is watched.
    Off,
}

impl Check {
    /// From its name in settings.
    pub fn named(name: &str) -> Option<Check> {
        Some(match name {
            "on" => Check::On,
            "warn" => Check::Warn,
            "off" => Check::Off,
            _ => return None,
        })
    }
}

/// What is known of a core's ports: the names here and the core's, its clocks, and its resets, active low and high.
pub(crate) struct Known<'a> {
    pub names: &'a BTreeMap<String, String>,
    pub clocks: &'a [String],
    pub low: &'a [String],
    pub high: &'a [String],
}

struct Checker<'a> {
    top: &'a Top,
    known: &'a Known<'a>,
    /// Ports of the core that are looked at.
    used: BTreeSet<String>,
    body: String,
    /// In these clocks what the core shows may go.
    quiet: Vec<String>,
}

impl<'a> Checker<'a> {
    /// The core's port.
    fn port(&mut self, name: &str) -> Option<&'a str> {
        let port = self.known.names.get(name).filter(|port| self.top.ports.contains_key(*port))?;
        self.used.insert(port.clone());
        Some(port)
    }

    fn width(&self, port: &str) -> u64 {
        self.top.ports[port].width.unwrap_or(1)
    }

    /// All of these ports of a bundle, as connections; none if one is not there.
    fn ports(&mut self, bundle: &str, signals: &[&str]) -> Option<Vec<String>> {
        let keys: Vec<String> = signals.iter().map(|signal| format!("{bundle}_{signal}")).collect();
        if keys.iter().any(|key| !self.known.names.contains_key(key)) {
            return None;
        }
        let mut common = vec![".clk(check_clk)".to_string(), ".rst_n(check_rst_n)".into(), ".quiet(check_quiet)".into()];
        for (signal, key) in signals.iter().zip(&keys) {
            common.push(format!(".{signal}({})", self.port(key)?));
        }
        Some(common)
    }

    /// Parameters that say what the core calls the ports of a bundle.
    fn called(&self, bundle: &str, signals: &[&str]) -> Vec<String> {
        let name = |signal: &&str| Some((signal.to_uppercase(), self.known.names.get(&format!("{bundle}_{signal}"))?));
        signals.iter().filter_map(name).map(|(parameter, port)| format!(".{parameter}(\"{port}\")")).collect()
    }

    /// The core is not to blame for what follows when something that waits at one of its inputs goes: a reset has taken it.
    fn withdrawn(&mut self, valid: &str, ready: &str) {
        let (Some(valid), Some(ready)) = (self.port(valid), self.port(ready)) else { return };
        let _ = writeln!(self.body, "  logic shown_{valid};\n  always_ff @(posedge check_clk) shown_{valid} <= {valid} && !{ready};");
        self.quiet.push(format!("shown_{valid} && !{valid}"));
    }

    fn stream(&mut self, name: &str, shape: &Shape, nulls: bool) {
        let (keep, last) = (shape.tkeep, shape.tlast);
        let all = [("tvalid", true), ("tready", shape.tready), ("tdata", true), ("tkeep", keep && last), ("tlast", last)];
        let there: Vec<&str> = all.iter().filter(|(_, there)| *there).map(|(signal, _)| *signal).collect();
        let Some(mut ports) = self.ports(name, &there) else { return };
        let tied = all.iter().filter(|(_, there)| !there).map(|(signal, _)| format!(".{signal}('1)"));
        ports.extend(tied);
        for signal in ["length", "offset", "user"] {
            let port = self.port(&format!("{name}_{signal}")).unwrap_or("'0");
            ports.push(format!(".{signal}({port})"));
        }
        let width = self.known.names.get(&format!("{name}_tdata")).map_or(8, |port| self.width(port));
        let mut settings = vec![format!(".WIDTH({width})"), ".STOPS(STOPS)".into(), format!(".NULLS(1'b{})", u8::from(nulls))];
        settings.extend(self.called(name, &["tvalid", "tdata", "tkeep", "tlast", "length", "offset", "user"]));
        instance(&mut self.body, "tp_check_axis", &format!("stream_{name}"), &settings, &ports);
    }

    fn registers(&mut self, patience: u64) {
        let bundle = "s_axil";
        let all = "awvalid awready wvalid wready bresp bvalid bready arvalid arready rdata rresp rvalid rready";
        let Some(mut ports) = self.ports(bundle, &all.split(' ').collect::<Vec<_>>()) else { return };
        ports.extend([".wlast('1)", ".rlast('1)", ".arlen('0)", ".bid('0)", ".rid('0)"].map(String::from));
        let mut settings = vec![".LITE(1'b1)".to_string(), ".WIDTH(32)".into(), ".STOPS(STOPS)".into(), format!(".PATIENCE({patience})")];
        settings.extend(self.called(bundle, &["bvalid", "bresp", "rvalid", "rdata", "rresp"]));
        instance(&mut self.body, "tp_check_axi", "registers", &settings, &ports);
        for channel in ["aw", "w", "ar"] {
            self.withdrawn(&format!("{bundle}_{channel}valid"), &format!("{bundle}_{channel}ready"));
        }
    }

    fn memory(&mut self, name: &str, patience: u64) {
        let all = "awvalid awready wlast wvalid wready bresp bvalid bready arlen arvalid arready rdata rresp rlast rvalid rready";
        let Some(mut ports) = self.ports(name, &all.split(' ').collect::<Vec<_>>()) else { return };
        let mut bits = 1;
        for id in ["bid", "rid"] {
            match self.port(&format!("{name}_{id}")) {
                Some(port) => {
                    bits = bits.max(self.width(port));
                    ports.push(format!(".{id}({port})"));
                }
                None => ports.push(format!(".{id}('0)")),
            }
        }
        let width = self.known.names.get(&format!("{name}_rdata")).map_or(8, |port| self.width(port));
        let mut settings =
            vec![format!(".WIDTH({width})"), format!(".ID({bits})"), ".STOPS(STOPS)".into(), format!(".PATIENCE({patience})")];
        settings.extend(self.called(name, &["bvalid", "bresp", "bid", "rvalid", "rdata", "rresp", "rlast", "rid"]));
        instance(&mut self.body, "tp_check_axi", &format!("memory_{name}"), &settings, &ports);
        for channel in ["aw", "w", "ar"] {
            self.withdrawn(&format!("{name}_{channel}valid"), &format!("{name}_{channel}ready"));
        }
    }

    /// A memory at which the core asks: its requests, and the data of its writes.
    fn master(&mut self, name: &str) {
        let data = [format!("{name}_wdata"), format!("{name}_rdata")];
        let width = data.iter().find_map(|key| self.known.names.get(key)).map_or(8, |port| self.width(port));
        for letters in ["aw", "ar"] {
            let own = |signal: &str| format!("{letters}{signal}");
            let Some(ports) = self.ports(name, &[&own("valid"), &own("ready"), &own("addr")]) else { continue };
            let mut ports: Vec<String> = ports.into_iter().map(|port| port.replacen(&format!(".{letters}"), ".", 1)).collect();
            for signal in ["len", "size", "burst"] {
                let there = self.port(&format!("{name}_{}", own(signal))).map(str::to_string);
                ports.push(format!(".{signal}({})", there.or_else(|| absent(&own(signal), width)).unwrap_or_default()));
            }
            let address = self.known.names.get(&format!("{name}_{}", own("addr"))).map_or(32, |port| self.width(port));
            let mut settings = vec![format!(".WIDTH({width})"), format!(".ADDRESS({address})"), ".STOPS(STOPS)".into()];
            let signals = ["valid", "addr", "len", "size", "burst"].map(own);
            let called = self.called(name, &signals.iter().map(String::as_str).collect::<Vec<_>>());
            settings.extend(called.into_iter().map(|setting| setting.replacen(&letters.to_uppercase(), "", 1)));
            instance(&mut self.body, "tp_check_axi_master", &format!("memory_{name}_{letters}"), &settings, &ports);
        }
        let Some(mut ports) = self.ports(name, &["awvalid", "awready", "wdata", "wstrb", "wvalid", "wready"]) else { return };
        for signal in ["awlen", "wlast"] {
            let there = self.port(&format!("{name}_{signal}")).map(str::to_string);
            ports.push(format!(".{signal}({})", there.or_else(|| absent(signal, width)).unwrap_or_default()));
        }
        let mut settings = vec![format!(".WIDTH({width})"), ".STOPS(STOPS)".into()];
        settings.extend(self.called(name, &["wvalid", "wdata", "wstrb", "wlast"]));
        instance(&mut self.body, "tp_check_axi_data", &format!("memory_{name}_w"), &settings, &ports);
    }

    fn interrupts(&mut self, count: u32) {
        let (Some(valid), Some(ready)) = (self.port("irq_valid"), self.port("irq_ready")) else { return };
        let settings = [format!(".COUNT({count})"), ".STOPS(STOPS)".into(), format!(".VALID(\"{valid}\")")];
        let ports = [("clk", "check_clk"), ("rst_n", "check_rst_n"), ("irq_valid", valid), ("irq_ready", ready)];
        instance(&mut self.body, "tp_check_irq", "interrupts", &settings, &ports.map(|(port, to)| format!(".{port}({to})")));
    }
}

/// The text of the module that watches this core, and of what binds it into the core's own. `top` is as the core has it.
pub(crate) fn checker(manifest: &Manifest, top: &Top, known: &Known, number: usize) -> Option<String> {
    let mut checker = Checker { top, known, used: BTreeSet::new(), body: String::new(), quiet: Vec::new() };
    let clock = known.clocks.first()?;
    checker.used.insert(clock.clone());
    let resets = known.low.iter().cloned().chain(known.high.iter().map(|port| format!("!{port}")));
    let resets: Vec<String> = resets.collect();
    checker.used.extend(known.low.iter().chain(known.high).cloned());
    let patience = patience(manifest);
    let mut memories = BTreeSet::new();
    for channel in manifest.channels.iter().filter(|channel| !channel.idle) {
        match (channel.half().map(|(kind, _)| kind.number), channel.direction) {
            (None, Direction::C2h) => {
                checker.stream(&channel.name, &channel.shape, is_other(channel, manifest.core.width));
            }
            (None, Direction::H2c) => checker.withdrawn(&format!("{}_tvalid", channel.name), &format!("{}_tready", channel.name)),
            (Some(ChannelKind::Memory), _) if memories.insert(channel.name.clone()) => {
                if is_mastered(channel) {
                    checker.master(&channel.name);
                } else {
                    checker.memory(&channel.name, patience);
                }
            }
            _ => {}
        }
        if let Some(reset) = checker.port(&format!("{}_reset", channel.name)).filter(|_| channel.carrier.is_none()) {
            checker.quiet.push(reset.to_string());
        }
    }
    if manifest.registers.is_some() {
        checker.registers(patience);
    }
    if let Some(interrupts) = manifest.interrupts.as_ref().filter(|interrupts| !interrupts.edge) {
        checker.interrupts(interrupts.count);
    }
    let ports: Vec<String> = checker
        .used
        .iter()
        .map(|port| match checker.width(port) {
            1 => format!("    input logic {port}"),
            wide => format!("    input logic [{}:0] {port}", wide - 1),
        })
        .collect();
    let bound: Vec<String> = checker.used.iter().map(|port| format!("    .{port}({port})")).collect();
    let quiet = if checker.quiet.is_empty() { "1'b0".into() } else { format!("({})", checker.quiet.join(") || (")) };
    Some(format!(
        "
// Watches the ports of module \"{top_name}\".
module tp_core_check_{number} #(
    parameter bit STOPS = 1'b1
) (
{ports}
);
  logic check_clk, check_rst_n, check_quiet, check_now;
  logic [7:0] check_left;  // a core may need some clocks to forget what belongs to a channel
  assign check_clk = {clock};
  assign check_rst_n = {rst_n};
  assign check_quiet = check_now || check_left != '0;
  always_ff @(posedge check_clk) check_left <= {{check_left[6:0], check_now}};
{body}  assign check_now = {quiet};
endmodule
bind {top_name} tp_core_check_{number} #(.STOPS({STOPS})) towpath_check (
{bound}
);
",
        top_name = top.module,
        ports = ports.join(",\n"),
        rst_n = if resets.is_empty() { "1'b1".into() } else { resets.join(" && ") },
        body = checker.body,
        bound = bound.join(",\n"),
    ))
}
