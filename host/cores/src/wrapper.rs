// SPDX-License-Identifier: Apache-2.0
//! The generated SystemVerilog between `tp_core`'s arrays and the user core's named ports.

use crate::manifest::{Channel, Direction, Manifest, Window};
use crate::plugin::{Plugin, PAGE};
use crate::ports::{spare, standard, PortDirection, Top, AXIL, CONFIG, CORE, DECOUPLED, IN_RESET, MIDWAY, SWITCH, TAPS, USER_RESET};
use crate::region::{self, region};
use std::collections::BTreeMap;
use std::fmt::Write;
use towpath_contract::{
    ChannelKind, CARD_WINDOW_TIMEOUT_RESET, CHANNEL_ENTRY_KIND_NAME_COUNT, PLUGINS_MAX, PLUGIN_ENTRY_BYTES, PLUGIN_ENTRY_TYPE_NAME_COUNT,
};

/// `kind_version` of the stream.
const STREAM_VERSION: u16 = 1;

/// Text as a packed constant of `bytes` bytes, the first character in the lowest.
pub(crate) fn packed(text: &str, bytes: usize) -> String {
    let mut digits = String::new();
    for byte in text.bytes().rev() {
        let _ = write!(digits, "{byte:02x}");
    }
    format!("{}'h{}", bytes * 8, if digits.is_empty() { "0" } else { &digits })
}

/// What the discovery table says of a channel's kind.
fn kind(channel: &Channel, peers_only: bool) -> String {
    let stream = if peers_only { ChannelKind::Peer } else { ChannelKind::Stream };
    let (parameter, version, number, name) = match &channel.carrier {
        None => (channel.peer, STREAM_VERSION, stream, stream.name()),
        Some(carrier) => (carrier.parameter, carrier.kind.version, carrier.kind.number, carrier.kind.name.as_str()),
    };
    format!("    {{32'd{parameter}, 16'd{version}, 8'd{}, {}}}", number as u8, packed(name, CHANNEL_ENTRY_KIND_NAME_COUNT))
}

/// A channel with its number in its direction, and its kind as elaborated.
type Numbered<'a> = (usize, &'a Channel, Option<&'a Top>);

/// Signals of a stream that a core may leave out.
fn optional_signals(channel: &Channel) -> &'static [&'static str] {
    match channel.direction {
        Direction::H2c => &["error", "reset"],
        Direction::C2h => &["reset"],
    }
}

/// One bit for each channel, channel 0 lowest.
fn bits(channels: &[Numbered], is: impl Fn(&Channel) -> bool) -> String {
    let bits: String = channels.iter().rev().map(|(_, channel, _)| if is(channel) { '1' } else { '0' }).collect();
    format!("{}'b{}", channels.len().max(1), if bits.is_empty() { "0" } else { &bits })
}

/// Does the channel's kind give verdicts, or is it asked?
fn answers(channel: &Channel) -> bool {
    channel.half().is_some_and(|(_, half)| half.answers)
}

/// An instance of a module, named by the last word of `head`.
pub(crate) fn instance(out: &mut String, module: &str, name: &str, parameters: &[String], ports: &[String]) {
    let lines = |list: &[String]| list.iter().map(|line| format!("      {line}")).collect::<Vec<_>>().join(",\n");
    let _ = write!(out, "\n  {module}");
    if !parameters.is_empty() {
        let _ = write!(out, " #(\n{}\n  )", lines(parameters));
    }
    let _ = write!(out, " {name} (\n{}\n  );\n", lines(ports));
}

/// Between a memory's modules, its window and the core: `tp_memory_join`.
struct Join<'a> {
    name: &'a str,
    ports: Vec<String>,
}

impl<'a> Join<'a> {
    fn new(name: &'a str) -> Join<'a> {
        Join { name, ports: vec![".clk(clk)".to_string(), ".rst_n(rst_n)".to_string()] }
    }

    /// A signal of AXI4, which the core has from the join. Returns whether the join has it of the memory's module: of a burst's form it
    /// has not, for all bursts have one.
    fn connect(&mut self, signal: &str) -> bool {
        let name = self.name;
        self.ports.push(format!(".core_{signal}(kind_{name}_{signal})"));
        let both = !signal.ends_with("size") && !signal.ends_with("burst");
        if both {
            self.ports.push(format!(".d_{signal}(dma_{name}_{signal})"));
        }
        both
    }

    fn module(&self, out: &mut String, index: usize, parameters: &[(String, String)]) {
        let mut settings = vec![".DATA_WIDTH(DATA_WIDTH)".to_string()];
        let own = parameters.iter().filter(|(name, _)| name != "BYTES");
        settings.extend(own.map(|(name, value)| format!(".{name}({value})")));
        let mut ports = self.ports.clone();
        ports.extend(JOINED.iter().map(|(signal, _)| format!(".{signal}(window_{signal}[{index}])")));
        ports.extend([("w_rows", "write_rows"), ("w_data", "write_data"), ("w_strb", "write_strb"), ("w_last", "write_last")].map(beside));
        ports.push(beside(("q_rows", "read_rows")));
        instance(out, "tp_memory_join", &format!("join_{}", self.name), &settings, &ports);
    }
}

/// What every memory's join gets as it is.
fn beside((port, signal): (&str, &str)) -> String {
    format!(".{port}(mem_{signal})")
}

/// Between `tp_memory_window` and each join.
const JOINED: [(&str, &str); 13] = [
    ("w_valid", ""),
    ("w_ready", ""),
    ("w_address", "[35:0]"),
    ("wb_valid", ""),
    ("wb_ready", ""),
    ("wb_error", ""),
    ("q_valid", ""),
    ("q_ready", ""),
    ("q_address", "[35:0]"),
    ("a_valid", ""),
    ("a_ready", ""),
    ("a_data", "[DATA_WIDTH-1:0]"),
    ("a_error", ""),
];

/// The module that brings BAR 4 to the joins, and its wires to them.
fn window_module(out: &mut String, windows: &[Window]) {
    let count = windows.len();
    out.push('\n');
    for (signal, range) in JOINED {
        let _ = writeln!(out, "  logic [{}:0]{range} window_{signal};", count - 1);
    }
    let list = |of: fn(&Window) -> u64| windows.iter().rev().map(|w| format!("64'd{}", of(w))).collect::<Vec<_>>().join(", ");
    let settings = [
        ".DATA_WIDTH(DATA_WIDTH)".to_string(),
        format!(".WINDOWS({count})"),
        format!(".OFFSETS({{{}}})", list(|w| w.offset)),
        format!(".BYTES({{{}}})", list(|w| w.bytes)),
    ];
    let mut ports = vec![".clk(clk)".to_string(), ".rst_n(rst_n)".to_string()];
    let up = ["write_valid", "write_ready", "write_address", "write_last", "read_valid", "read_ready", "read_address", "read_rows"];
    let more = ["read_after", "read_taken", "answer_valid", "answer_ready", "answer_data", "answer_error"];
    ports.extend(up.into_iter().chain(more).map(|signal| beside((signal, signal))));
    ports.extend([("write_failed_valid", "failed_valid"), ("write_failed_ready", "failed_ready")].map(beside));
    ports.extend(JOINED.iter().map(|(signal, _)| format!(".{signal}(window_{signal})")));
    instance(out, "tp_memory_window", "window", &settings, &ports);
}

/// The discovery table's entry of a plug-in: of the contract's PLUGIN_ENTRY, the last register first.
fn plugin_entry(plugin: &Plugin) -> String {
    let name = packed(&plugin.type_name, PLUGIN_ENTRY_TYPE_NAME_COUNT);
    format!("    {{32'd{}, 16'd{}, 16'd{}, {name}}}", plugin.offset, plugin.bytes / PAGE, plugin.version)
}

/// Clocks of the user core's after which the bus answers for a port: 65,536, or fewer where the window's own default, which counts core clocks, would be
/// over before, of the slowest clock that it may have. A quarter of that leaves time for the crossing of clocks.
pub(crate) fn patience(manifest: &Manifest) -> u64 {
    let slowest = manifest.user_clocks_khz().into_iter().min().unwrap_or(1);
    let window = u64::from(CARD_WINDOW_TIMEOUT_RESET) * u64::from(slowest) / u64::from(manifest.core_clock_khz());
    (window / 4).clamp(64, 65_536)
}

/// Wires for the port of a module towards the core, and what connects them: to the module, and to the core's port of this name.
fn wires(out: &mut String, module: &Top, prefix: &str, mut connect: impl FnMut(&str, &str, &str)) {
    for (port, signal, wide) in module.ports.iter().filter_map(|(port, p)| Some((port, port.strip_prefix(CORE)?, p.width?))) {
        let range = if wide > 1 { format!("[{}:0] ", wide - 1) } else { String::new() };
        let wire = format!("{prefix}_{signal}");
        let _ = writeln!(out, "  logic {range}{wire};");
        connect(port, signal, &wire);
    }
}

/// Handshakes of channels: the array of `tp_user`, and whether it goes to the core.
const HANDSHAKES: [(&str, bool); 8] = [
    ("h2c_tvalid", true),
    ("h2c_tready", false),
    ("h2c_end_valid", false),
    ("h2c_end_ready", true),
    ("c2h_tvalid", false),
    ("c2h_tready", true),
    ("c2h_ask_valid", true),
    ("c2h_ask_ready", false),
];

/// A plug-in that has it holds the user core in reset.
fn resets(module: &Top) -> bool {
    module.ports.contains_key(USER_RESET)
}

/// Between channels and a core that a plug-in holds in reset: nothing is taken by a core or a kind that would forget it.
#[derive(Clone, Copy)]
struct Gate {
    h2c: bool,
    c2h: bool,
}

impl Gate {
    /// What the core and the kinds of channels have in place of an array of `tp_user`.
    fn inside(self, array: &str) -> String {
        let gated = if array.starts_with("h2c") { self.h2c } else { self.c2h };
        let prefix = if gated && HANDSHAKES.iter().any(|(name, _)| *name == array) { CORE } else { "" };
        format!("{prefix}{array}")
    }

    fn assigns(self, out: &mut String) {
        for (array, to_core) in HANDSHAKES.iter().filter(|(array, _)| self.inside(array) != *array) {
            let count = if array.starts_with("h2c") { "NH" } else { "NC" };
            let inside = self.inside(array);
            let (to, from) = if *to_core { (inside.as_str(), *array) } else { (*array, inside.as_str()) };
            let _ = writeln!(out, "  logic [{count}-1:0] {inside};\n  assign {to} = {from} & {{{count}{{core_rst_n}}}};");
        }
    }
}

/// Plug-ins, the bus before them and the core, and the reset that they give the core; adds the core's ports.
fn plugins(out: &mut String, manifest: &Manifest, top: &Top, modules: &[Top], ports: &mut Vec<String>) {
    let core = manifest.registers.is_some().then(|| ("core", 0, manifest.core_window_bytes()));
    let slots: Vec<(&str, u32, u32)> =
        core.into_iter().chain(manifest.plugins.iter().map(|p| (p.name.as_str(), p.offset, p.bytes))).collect();
    let (count, first) = (slots.len(), usize::from(core.is_some()));
    let resetting: Vec<&str> = manifest.plugins.iter().zip(modules).filter(|(_, m)| resets(m)).map(|(p, _)| p.name.as_str()).collect();
    let _ = writeln!(out, "\n  // The register window: {}.", slots.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", "));
    for (signal, to_core, bits) in AXIL {
        // One address and one set of data for all.
        let shared = to_core && bits > 1;
        let range = match (shared, bits) {
            (true, bits) => format!("[{}:0] ", bits - 1),
            (false, 1) => format!("[{}:0] ", count - 1),
            (false, bits) => format!("[{}:0][{}:0] ", count - 1, bits - 1),
        };
        let _ = writeln!(out, "  logic {range}bus_{signal};");
    }
    for name in &resetting {
        let _ = writeln!(out, "  logic {USER_RESET}_{name};");
    }
    if resetting.is_empty() {
        out.push_str("  assign core_rst_n = rst_n;\n");
    } else {
        let all: Vec<String> = resetting.iter().map(|name| format!("{USER_RESET}_{name}")).collect();
        let _ = writeln!(out, "  assign core_rst_n = rst_n && {};", all.join(" && "));
    }
    let listed = |number: &dyn Fn(&(&str, u32, u32)) -> u32| {
        let all: Vec<String> = slots.iter().rev().map(|slot| format!("32'd{}", number(slot))).collect();
        format!("{{{}}}", all.join(", "))
    };
    let parameters = [
        format!(".PORTS({count})"),
        format!(".OFFSET({})", listed(&|s| s.1)),
        format!(".BYTES({})", listed(&|s| s.2)),
        format!(".TIMEOUT({})", patience(manifest)),
    ];
    let port_resets: Vec<&str> = (0..count).rev().map(|slot| if slot < first { "core_rst_n" } else { "rst_n" }).collect();
    let mut own = vec![".clk(clk)".to_string(), ".rst_n(rst_n)".to_string(), format!(".port_rst_n({{{}}})", port_resets.join(", "))];
    own.extend(AXIL.iter().map(|(signal, _, _)| format!(".s_axil_{signal}(axil_{signal})")));
    own.extend(AXIL.iter().map(|(signal, _, _)| format!(".m_axil_{signal}(bus_{signal})")));
    instance(out, "tp_plugin_bus", "register_bus", &parameters, &own);
    let at = |slot: usize| {
        AXIL.iter().map(move |(signal, to_core, bits)| {
            let index = if *to_core && *bits > 1 { String::new() } else { format!("[{slot}]") };
            format!(".s_axil_{signal}(bus_{signal}{index})")
        })
    };
    if core.is_some() {
        ports.extend(at(0));
    }
    for (number, (plugin, module)) in manifest.plugins.iter().zip(modules).enumerate() {
        let mut own = vec![".clk(clk)".to_string(), ".rst_n(rst_n)".to_string()];
        own.extend(at(first + number));
        if resets(module) {
            own.push(format!(".{USER_RESET}({USER_RESET}_{})", plugin.name));
        }
        if module.ports.contains_key(IN_RESET) {
            own.push(format!(".{IN_RESET}(!core_rst_n)"));
        }
        if module.ports.contains_key(TAPS) {
            own.push(format!(".{TAPS}({TAPS})"));
        }
        if plugin.region {
            own.extend(CONFIG.iter().map(|(signal, ..)| *signal).chain([DECOUPLED, MIDWAY]).map(|port| format!(".{port}({port})")));
        }
        own.extend(module.ports.keys().filter(|port| port.starts_with(SWITCH)).map(|port| format!(".{port}({port})")));
        out.push('\n');
        let mut open = Vec::new();
        wires(out, module, &format!("plugin_{}", plugin.name), |port, signal, wire| {
            own.push(format!(".{port}({wire})"));
            if top.ports.contains_key(&format!("{}_{signal}", plugin.name)) {
                ports.push(format!(".{}_{signal}({wire})", plugin.name));
            } else if module.ports[port].direction == PortDirection::Input {
                open.push(wire.to_string());
            }
        });
        for wire in open {
            let _ = writeln!(out, "  assign {wire} = '0;");
        }
        let mut settings: Vec<String> = plugin.parameters.iter().map(|(name, value)| format!(".{name}({value})")).collect();
        if module.has_data_width {
            settings.insert(0, ".DATA_WIDTH(DATA_WIDTH)".to_string());
        }
        instance(out, &plugin.module, &format!("beside_{}", plugin.name), &settings, &own);
    }
}

/// The modules of a core and around it, as elaborated.
#[derive(Clone, Copy, Debug)]
pub struct Elaborated<'a> {
    /// The core's own.
    pub top: &'a Top,
    /// Of each channel's kind, none for a stream.
    pub kinds: &'a [Option<Top>],
    /// Of each plug-in.
    pub plugins: &'a [Top],
    /// Of each core that can be loaded in the place of this one.
    pub others: &'a [Top],
    /// All of these are there at once: for simulation. A board's region holds one.
    pub simulated: bool,
}

/// What is generated.
#[derive(Clone, Debug)]
pub struct Generated {
    /// `tp_user_pkg` and `tp_user`.
    pub user: String,
    /// Of a board's region: `tp_region` with the core itself, and with each of the others.
    pub regions: Vec<String>,
}

/// What the parameters of a core's module are given.
fn core_parameters(manifest: &Manifest, top: &Top) -> Vec<String> {
    if top.shim.is_some() || top.baked {
        return Vec::new();
    }
    let width = top.has_data_width.then(|| ".DATA_WIDTH(DATA_WIDTH)".to_string());
    width.into_iter().chain(manifest.parameters.iter().map(|(name, value)| format!(".{name}({})", value.verilog()))).collect()
}

/// Package `tp_user_pkg` (the parameters of `tp_core`) and module `tp_user` (the user core, before it the kinds of its channels, and beside it its
/// plug-ins), for a core that matches its manifest; and the modules in its region, if it is one of a board's.
pub fn wrapper(manifest: &Manifest, width: u32, serial: u64, elaborated: &Elaborated) -> Generated {
    let Elaborated { top, kinds, plugins: modules, others, simulated } = *elaborated;
    let mut regions = Vec::new();
    let mut out = String::new();
    let of = |direction| -> Vec<Numbered> {
        let channels = manifest.channels.iter().zip(kinds).filter(|(channel, _)| channel.direction == direction);
        channels.enumerate().map(|(index, (channel, kind))| (index, channel, kind.as_ref())).collect()
    };
    let (h2c, c2h) = (of(Direction::H2c), of(Direction::C2h));
    let all = || h2c.iter().chain(&c2h).map(|(_, channel, _)| *channel);
    let window = manifest.window_bytes();
    let interrupts = manifest.interrupts.as_ref().map_or(0, |i| i.count);
    let names: Vec<String> = all().map(|c| format!("    {}", packed(&c.name, 32))).rev().collect();
    let kinds_told: Vec<String> = all().map(|channel| kind(channel, manifest.gateware.peers_only)).rev().collect();
    let windows = manifest.windows();
    let inboxes = manifest.inboxes();
    let told = |channel: &Channel| {
        let memory = windows.iter().find(|w| w.name == channel.name).map(|w| w.offset);
        let inbox = || inboxes.iter().find(|(name, _)| *name == channel.name).map(|(_, offset)| *offset);
        memory.or_else(inbox).map_or(0, |offset| 1 + (offset >> 20))
    };
    let windows_told: Vec<String> = all().map(|c| format!("    16'd{}", told(c))).rev().collect();
    let entries: Vec<String> = manifest.plugins.iter().map(plugin_entry).rev().collect();
    let plugin_bits = 8 * PLUGINS_MAX * PLUGIN_ENTRY_BYTES;
    let plugins_told = if entries.is_empty() { "'0".to_string() } else { format!("{plugin_bits}'({{\n{}\n  }})", entries.join(",\n")) };
    // To and from the switch of clocks in tp_system.
    let switching = modules.iter().flat_map(|module| &module.ports).filter(|(name, _)| name.starts_with(SWITCH));
    let switch: String = switching
        .map(|(name, port)| match port.width.unwrap_or(1) {
            1 => format!(",\n    {} logic {name}", port.direction),
            wide => format!(",\n    {} logic [{}:0] {name}", port.direction, wide - 1),
        })
        .collect();
    let g = &manifest.gateware;
    let _ = write!(
        out,
        "// Generated from the manifest of core \"{name}\": do not edit.

package tp_user_pkg;
  localparam int DATA_WIDTH = {width};
  localparam int H2C = {h2c};
  localparam int C2H = {c2h};
  localparam int KEEP = DATA_WIDTH / 8;
  localparam int NH = H2C == 0 ? 1 : H2C;  // arrays have one element at least
  localparam int NC = C2H == 0 ? 1 : C2H;
  localparam bit USER_ASYNC = {asynchronous};
  localparam int TAGS = {tags};
  localparam int LANDING_BYTES = {landing};
  localparam int SENDING_BYTES = {sending};
  localparam int QUEUE_DEPTH = {depth};
  localparam int INLINE_SLOTS = {slots};
  localparam int WINDOW_BYTES = {window};
  localparam int USER_INTERRUPTS = {interrupts};
  localparam int CORE_CLOCK_KHZ = {core_khz};
  localparam int USER_CLOCK_KHZ = {user_khz};
  localparam logic [31:0] CORE_VERSION = 32'd{version};
  localparam logic [63:0] SERIAL = 64'd{serial};
  localparam logic [255:0] CORE_NAME = {core_name};
  localparam logic [(H2C+C2H)*256-1:0] CHANNEL_NAMES = {{
{names}
  }};
  localparam logic [NH-1:0] H2C_VERDICTS = {verdicts};
  localparam logic [NC-1:0] C2H_ASKED = {asked};
  localparam logic [NC-1:0] C2H_AHEAD = {ahead};
  // parameter, version, number and name of each channel's kind
  localparam logic [(H2C+C2H)*120-1:0] CHANNEL_KINDS = {{
{kinds_told}
  }};
  // BAR 4, and of each channel 1 + its window's offset there in MiB
  localparam logic [63:0] MEMORY_WINDOW_BYTES = 64'd{memory_window};
  localparam logic [(H2C+C2H)*16-1:0] CHANNEL_WINDOWS = {{
{windows_told}
  }};
  // streams that can be paired with those of other cards; each inbox has a MiB of BAR 4, from this one on, in the order of the channels
  localparam logic [NH-1:0] H2C_INBOX = {inboxes};
  localparam logic [NC-1:0] C2H_OUTBOX = {outboxes};
  localparam int INBOX_BYTES = {inbox};
  localparam int INBOX_FIRST = {inbox_first};
  localparam bit PEERS_ONLY = {peers_only};
  localparam bit QOS = {qos};
  localparam int PLUGINS = {plugins};
  localparam logic [{plugin_bits}-1:0] PLUGIN_ENTRIES = {plugins_told};
  localparam bit FILL = {fill};
  localparam int USER_CLOCKS = {clocks};
endpackage

// The user core behind arrays that are indexed within a direction, as tp_core has them.
/* verilator lint_off UNUSEDSIGNAL */  // no core uses everything
module tp_user
  import tp_user_pkg::*;
(
    input  logic                          clk,
    input  logic                          rst_n,
    input  logic [NH-1:0]                 h2c_tvalid,
    output logic [NH-1:0]                 h2c_tready,
    input  logic [NH-1:0][DATA_WIDTH-1:0] h2c_tdata,
    input  logic [NH-1:0][KEEP-1:0]       h2c_tkeep,
    input  logic [NH-1:0]                 h2c_tlast,
    input  logic [NH-1:0]                 h2c_error,
    input  logic [NH-1:0][63:0]           h2c_length,
    input  logic [NH-1:0][63:0]           h2c_offset,
    input  logic [NH-1:0][31:0]           h2c_user,
    input  logic [NH-1:0]                 h2c_reset,
    output logic [NH-1:0]                 h2c_end_valid,
    input  logic [NH-1:0]                 h2c_end_ready,
    output logic [NH-1:0][5:0]            h2c_end_status,
    output logic [NC-1:0]                 c2h_tvalid,
    input  logic [NC-1:0]                 c2h_tready,
    output logic [NC-1:0][DATA_WIDTH-1:0] c2h_tdata,
    output logic [NC-1:0][KEEP-1:0]       c2h_tkeep,
    output logic [NC-1:0]                 c2h_tlast,
    output logic [NC-1:0][47:0]           c2h_length,
    output logic [NC-1:0][31:0]           c2h_offset,
    output logic [NC-1:0][31:0]           c2h_user,
    output logic [NC-1:0][5:0]            c2h_status,
    input  logic [NC-1:0]                 c2h_reset,
    input  logic [NC-1:0]                 c2h_ask_valid,
    output logic [NC-1:0]                 c2h_ask_ready,
    input  logic [NC-1:0]                 c2h_ask_cancel,
    input  logic [NC-1:0][31:0]           c2h_ask_length,
    input  logic [NC-1:0][63:0]           c2h_ask_offset,
    input  logic [NC-1:0][31:0]           c2h_ask_user,
    input  logic [31:0]                   axil_awaddr,
    input  logic                          axil_awvalid,
    output logic                          axil_awready,
    input  logic [31:0]                   axil_wdata,
    input  logic [3:0]                    axil_wstrb,
    input  logic                          axil_wvalid,
    output logic                          axil_wready,
    output logic [1:0]                    axil_bresp,
    output logic                          axil_bvalid,
    input  logic                          axil_bready,
    input  logic [31:0]                   axil_araddr,
    input  logic                          axil_arvalid,
    output logic                          axil_arready,
    output logic [31:0]                   axil_rdata,
    output logic [1:0]                    axil_rresp,
    output logic                          axil_rvalid,
    input  logic                          axil_rready,
    output logic [15:0]                   irq_valid,
    input  logic [15:0]                   irq_ready,
    input  logic                                mem_write_valid,
    output logic                                mem_write_ready,
    input  logic [35:0]                         mem_write_address,
    input  logic [7:0]                          mem_write_rows,
    input  logic [DATA_WIDTH-1:0]               mem_write_data,
    input  logic [KEEP-1:0]                     mem_write_strb,
    input  logic                                mem_write_last,
    output logic                                mem_failed_valid,
    input  logic                                mem_failed_ready,
    input  logic                                mem_read_valid,
    output logic                                mem_read_ready,
    input  logic [35:0]                         mem_read_address,
    input  logic [4:0]                          mem_read_rows,
    input  logic                                mem_read_after,
    input  logic [15:0]                         mem_read_taken,
    output logic                                mem_answer_valid,
    input  logic                                mem_answer_ready,
    output logic [DATA_WIDTH-1:0]               mem_answer_data,
    output logic                                mem_answer_error{taps}{switch}
);
",
        taps = if modules.iter().any(|module| module.ports.contains_key(TAPS)) {
            format!(",\n    input  tp_tap_pkg::tp_taps_t                {TAPS}")
        } else {
            String::new()
        },
        name = manifest.core.name,
        fill = u8::from(manifest.core.fill_levels),
        clocks = manifest.user_clocks_khz().len(),
        switch = switch,
        h2c = h2c.len(),
        c2h = c2h.len(),
        asynchronous = u8::from(manifest.core.clock_mhz.is_some()),
        tags = g.tags,
        landing = manifest.landing_bytes(),
        sending = manifest.sending_bytes(),
        depth = g.queue_depth,
        slots = g.inline_slots,
        qos = u8::from(g.qos),
        core_khz = manifest.core_clock_khz(),
        user_khz = manifest.user_clock_khz(),
        version = manifest.core.version,
        core_name = packed(&manifest.core.name, 32),
        names = names.join(",\n"),
        kinds_told = kinds_told.join(",\n"),
        memory_window = manifest.memory_window_bytes(),
        windows_told = windows_told.join(",\n"),
        plugins = manifest.plugins.len(),
        plugins_told = plugins_told,
        verdicts = bits(&h2c, answers),
        asked = bits(&c2h, answers),
        ahead = bits(&c2h, |channel| channel.half().is_some_and(|(_, half)| half.ahead)),
        inboxes = bits(&h2c, |channel| channel.peer > 0),
        outboxes = bits(&c2h, |channel| channel.peer > 0),
        inbox = manifest.inbox_bytes(),
        inbox_first = manifest.inbox_first(),
        peers_only = u8::from(g.peers_only),
    );

    let reset = if manifest.plugins.is_empty() { "rst_n" } else { "core_rst_n" };
    if !manifest.plugins.is_empty() {
        out.push_str("  logic core_rst_n;\n");
    }
    let held = modules.iter().any(resets);
    let gate = Gate { h2c: held && !h2c.is_empty(), c2h: held && !c2h.is_empty() };
    if held {
        out.push_str("  // While a plug-in holds the core in reset, its channels wait.\n");
    }
    gate.assigns(&mut out);
    if manifest.region().is_some() {
        region::wires(&mut out);
    }

    // What has no port of the core or of a kind behind it.
    if h2c.is_empty() {
        for signal in ["tready", "end_valid", "end_status"] {
            let _ = writeln!(out, "  assign h2c_{signal} = '0;");
        }
    }
    if c2h.is_empty() {
        for signal in ["tvalid", "tdata", "tkeep", "tlast", "length", "offset", "user", "status", "ask_ready"] {
            let _ = writeln!(out, "  assign c2h_{signal} = '0;");
        }
    }
    for (index, channel, _) in h2c.iter().chain(&c2h) {
        let attributes: &[&str] = match (channel.direction, &channel.carrier) {
            (Direction::C2h, None) if !channel.attributes => &["length", "offset", "user"],
            _ => &[],
        };
        let answers: &[&str] = match (channel.direction, channel.half()) {
            (_, Some((_, half))) if half.answers => &[],
            (Direction::H2c, _) => &["end_valid", "end_status"],
            (Direction::C2h, _) => &["status", "ask_ready"],
        };
        for signal in attributes.iter().chain(answers) {
            let _ = writeln!(out, "  assign {}[{index}] = '0;", gate.inside(&format!("{}_{signal}", channel.direction)));
        }
    }
    if manifest.registers.is_none() && manifest.plugins.is_empty() {
        for (signal, _, _) in AXIL.iter().filter(|(_, to_core, _)| !to_core) {
            let _ = writeln!(out, "  assign axil_{signal} = '0;");
        }
    }
    if windows.is_empty() {
        for signal in ["write_ready", "failed_valid", "read_ready", "answer_valid", "answer_data", "answer_error"] {
            let _ = writeln!(out, "  assign mem_{signal} = '0;");
        }
    }
    if interrupts < 16 {
        let _ = writeln!(out, "  assign irq_valid[15:{interrupts}] = '0;");
    }

    let mut ports = vec![".clk(clk)".to_string(), format!(".rst_n({reset})")];
    for (index, channel, _) in h2c.iter().chain(&c2h).filter(|(_, channel, _)| channel.carrier.is_none()) {
        let mut connect = |signal: &str| {
            let array = gate.inside(&format!("{}_{signal}", channel.direction));
            ports.push(format!(".{}_{signal}({array}[{index}])", channel.prefix()));
        };
        ["tdata", "tkeep", "tlast", "tvalid", "tready"].into_iter().for_each(&mut connect);
        if channel.attributes {
            ["length", "offset", "user"].into_iter().for_each(&mut connect);
        }
        for signal in optional_signals(channel) {
            if top.ports.contains_key(&format!("{}_{signal}", channel.prefix())) {
                connect(signal);
            }
        }
    }
    let mut joins: Vec<Join> = windows.iter().map(|window| Join::new(window.name)).collect();
    // Kinds, and the wires between them and the core; of a memory with a window to its join, and from there to the core.
    for (index, channel, module) in h2c.iter().chain(&c2h) {
        let (Some(carrier), Some((_, half)), Some(module)) = (&channel.carrier, channel.half(), module) else { continue };
        let name = &channel.name;
        let mut own = vec![".clk(clk)".to_string(), format!(".rst_n({reset})")];
        own.extend(standard(channel, width).iter().map(|(port, _, _, array)| format!(".{port}({}[{index}])", gate.inside(array))));
        out.push('\n');
        let mut dma = String::new();
        wires(&mut out, module, &format!("kind_{name}"), |port, signal, wire| {
            match joins.iter_mut().find(|join| join.name == name).map(|join| join.connect(signal)) {
                None => own.push(format!(".{port}({wire})")),
                Some(false) => own.push(format!(".{port}()")),
                Some(true) => {
                    let wide = module.ports[port].width.unwrap_or(1);
                    let range = if wide > 1 { format!("[{}:0] ", wide - 1) } else { String::new() };
                    let _ = writeln!(dma, "  logic {range}dma_{name}_{signal};");
                    own.push(format!(".{port}(dma_{name}_{signal})"));
                }
            }
            ports.push(format!(".{name}_{signal}({wire})"));
        });
        out.push_str(&dma);
        let mut settings = vec![".DATA_WIDTH(DATA_WIDTH)".to_string()];
        let given = carrier.parameters.iter().filter(|(name, _)| !module.lacks.contains(name));
        settings.extend(given.map(|(name, value)| format!(".{name}({value})")));
        instance(&mut out, &half.module, &format!("{}_kind_{name}", channel.direction), &settings, &own);
        for (signal, direction) in spare(channel).iter().filter(|(signal, _)| top.ports.contains_key(&format!("{name}_{signal}"))) {
            ports.push(format!(".{name}_{signal}({})", if *direction == PortDirection::Input { "'0" } else { "" }));
        }
    }
    if !windows.is_empty() {
        window_module(&mut out, &windows);
    }
    for (index, join) in joins.iter().enumerate() {
        let carrier = h2c.iter().find(|(_, channel, _)| channel.name == join.name).and_then(|(_, channel, _)| channel.carrier.as_ref());
        join.module(&mut out, index, carrier.map_or(&[], |carrier| &carrier.parameters));
    }
    if !manifest.plugins.is_empty() {
        plugins(&mut out, manifest, top, modules, &mut ports);
    } else if manifest.registers.is_some() {
        ports.extend(AXIL.iter().map(|(signal, _, _)| format!(".s_axil_{signal}(axil_{signal})")));
    }
    if interrupts > 0 {
        ports.push(format!(".irq_valid(irq_valid[{}:0])", interrupts - 1));
        ports.push(format!(".irq_ready(irq_ready[{}:0])", interrupts - 1));
    }
    if manifest.region().is_some() {
        let listed = ports.iter().filter_map(|port| port.strip_prefix('.')?.strip_suffix(')')?.split_once('('));
        let mut connected: BTreeMap<String, String> = listed.map(|(port, to)| (port.to_string(), to.to_string())).collect();
        // The region's own core may leave out what another has.
        for (index, channel, _) in h2c.iter().chain(&c2h).filter(|(_, channel, _)| channel.carrier.is_none()) {
            for signal in optional_signals(channel) {
                connected.insert(format!("{}_{signal}", channel.prefix()), format!("{}_{signal}[{index}]", channel.direction));
            }
        }
        regions = region(&mut out, manifest, (top, others), &connected, core_parameters, simulated);
    } else {
        instance(&mut out, &top.module, "core", &core_parameters(manifest, top), &ports);
    }
    out.push_str("endmodule\n");
    if regions.is_empty() {
        out.extend([top].into_iter().chain(others).filter_map(|top| top.shim.as_deref()));
    }
    Generated { user: out, regions }
}
