// SPDX-License-Identifier: Apache-2.0
//! The generated SystemVerilog between `tp_core`'s arrays and the user core's named ports.

use crate::manifest::{Channel, Direction, Manifest, Window};
use crate::ports::{spare, standard, PortDirection, Top, AXIL, CORE};
use std::fmt::Write;
use towpath_contract::{ChannelKind, CHANNEL_ENTRY_KIND_NAME_COUNT};

/// `kind_version` of the stream.
const STREAM_VERSION: u16 = 1;

/// Text as a packed constant of `bytes` bytes, the first character in the lowest.
fn packed(text: &str, bytes: usize) -> String {
    let mut digits = String::new();
    for byte in text.bytes().rev() {
        let _ = write!(digits, "{byte:02x}");
    }
    format!("{}'h{}", bytes * 8, if digits.is_empty() { "0" } else { &digits })
}

/// What the discovery table says of a channel's kind.
fn kind(channel: &Channel) -> String {
    let (parameter, version, number, name) = match &channel.carrier {
        None => (0, STREAM_VERSION, ChannelKind::Stream, ChannelKind::Stream.name()),
        Some(carrier) => (carrier.parameter, carrier.kind.version, carrier.kind.number, carrier.kind.name.as_str()),
    };
    format!("    {{32'd{parameter}, 16'd{version}, 8'd{}, {}}}", number as u8, packed(name, CHANNEL_ENTRY_KIND_NAME_COUNT))
}

/// A channel with its number in its direction, and its kind as elaborated.
type Numbered<'a> = (usize, &'a Channel, Option<&'a Top>);

/// One bit for each channel, channel 0 lowest: its kind gives verdicts, or is asked.
fn answers(channels: &[Numbered]) -> String {
    let bits: String =
        channels.iter().rev().map(|(_, c, _)| if c.half().is_some_and(|(_, half)| half.answers) { '1' } else { '0' }).collect();
    format!("{}'b{}", channels.len().max(1), if bits.is_empty() { "0" } else { &bits })
}

/// An instance of a module, named by the last word of `head`.
fn instance(out: &mut String, module: &str, name: &str, parameters: &[String], ports: &[String]) {
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

/// Package `tp_user_pkg` (the parameters of `tp_core`) and module `tp_user` (the user core, and before it the kinds of its channels), for a core
/// that matches its manifest. `kinds`: of each channel, as elaborated.
pub fn wrapper(manifest: &Manifest, width: u32, serial: u64, top: &Top, kinds: &[Option<Top>]) -> String {
    let mut out = String::new();
    let of = |direction| -> Vec<Numbered> {
        let channels = manifest.channels.iter().zip(kinds).filter(|(channel, _)| channel.direction == direction);
        channels.enumerate().map(|(index, (channel, kind))| (index, channel, kind.as_ref())).collect()
    };
    let (h2c, c2h) = (of(Direction::H2c), of(Direction::C2h));
    let all = || h2c.iter().chain(&c2h).map(|(_, channel, _)| *channel);
    let window = manifest.registers.as_ref().map_or(0, |r| r.bytes);
    let interrupts = manifest.interrupts.as_ref().map_or(0, |i| i.count);
    let names: Vec<String> = all().map(|c| format!("    {}", packed(&c.name, 32))).rev().collect();
    let kinds_told: Vec<String> = all().map(kind).rev().collect();
    let windows = manifest.windows();
    let told = |channel: &Channel| windows.iter().find(|w| w.name == channel.name).map_or(0, |w| 1 + (w.offset >> 20));
    let windows_told: Vec<String> = all().map(|c| format!("    16'd{}", told(c))).rev().collect();
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
  // parameter, version, number and name of each channel's kind
  localparam logic [(H2C+C2H)*120-1:0] CHANNEL_KINDS = {{
{kinds_told}
  }};
  // BAR 4, and of each channel 1 + its window's offset there in MiB
  localparam logic [63:0] MEMORY_WINDOW_BYTES = 64'd{memory_window};
  localparam logic [(H2C+C2H)*16-1:0] CHANNEL_WINDOWS = {{
{windows_told}
  }};
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
    output logic                                mem_answer_error
);
",
        name = manifest.core.name,
        h2c = h2c.len(),
        c2h = c2h.len(),
        asynchronous = u8::from(manifest.core.clock_mhz.is_some()),
        tags = g.tags,
        landing = manifest.landing_bytes(),
        sending = g.sending_bytes,
        depth = g.queue_depth,
        slots = g.inline_slots,
        core_khz = manifest.core_clock_khz(),
        user_khz = manifest.user_clock_khz(),
        version = manifest.core.version,
        core_name = packed(&manifest.core.name, 32),
        names = names.join(",\n"),
        kinds_told = kinds_told.join(",\n"),
        memory_window = manifest.memory_window_bytes(),
        windows_told = windows_told.join(",\n"),
        verdicts = answers(&h2c),
        asked = answers(&c2h),
    );

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
            let _ = writeln!(out, "  assign {}_{signal}[{index}] = '0;", channel.direction);
        }
    }
    if manifest.registers.is_none() {
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

    let mut parameters = Vec::new();
    if top.has_data_width {
        parameters.push(".DATA_WIDTH(DATA_WIDTH)".to_string());
    }
    parameters.extend(manifest.parameters.iter().map(|(name, value)| format!(".{name}({})", value.verilog())));
    let mut ports = vec![".clk(clk)".to_string(), ".rst_n(rst_n)".to_string()];
    for (index, channel, _) in h2c.iter().chain(&c2h).filter(|(_, channel, _)| channel.carrier.is_none()) {
        let mut connect = |signal: &str| ports.push(format!(".{}_{signal}({}_{signal}[{index}])", channel.name, channel.direction));
        ["tdata", "tkeep", "tlast", "tvalid", "tready"].into_iter().for_each(&mut connect);
        if channel.attributes {
            ["length", "offset", "user"].into_iter().for_each(&mut connect);
        }
        for signal in ["error", "reset"] {
            if top.ports.contains_key(&format!("{}_{signal}", channel.name)) {
                connect(signal);
            }
        }
    }
    let mut joins: Vec<Join> = windows.iter().map(|window| Join::new(window.name)).collect();
    // Kinds, and the wires between them and the core; of a memory with a window to its join, and from there to the core.
    for (index, channel, module) in h2c.iter().chain(&c2h) {
        let (Some(carrier), Some((_, half)), Some(module)) = (&channel.carrier, channel.half(), module) else { continue };
        let name = &channel.name;
        let mut own = vec![".clk(clk)".to_string(), ".rst_n(rst_n)".to_string()];
        own.extend(standard(channel, width).iter().map(|(port, _, _, array)| format!(".{port}({array}[{index}])")));
        out.push('\n');
        for (port, signal, wide) in module.ports.iter().filter_map(|(port, p)| Some((port, port.strip_prefix(CORE)?, p.width?))) {
            let range = if wide > 1 { format!("[{}:0] ", wide - 1) } else { String::new() };
            let _ = writeln!(out, "  logic {range}kind_{name}_{signal};");
            match joins.iter_mut().find(|join| join.name == name).map(|join| join.connect(signal)) {
                None => own.push(format!(".{port}(kind_{name}_{signal})")),
                Some(false) => own.push(format!(".{port}()")),
                Some(true) => {
                    let _ = writeln!(out, "  logic {range}dma_{name}_{signal};");
                    own.push(format!(".{port}(dma_{name}_{signal})"));
                }
            }
            ports.push(format!(".{name}_{signal}(kind_{name}_{signal})"));
        }
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
    if manifest.registers.is_some() {
        ports.extend(AXIL.iter().map(|(signal, _, _)| format!(".s_axil_{signal}(axil_{signal})")));
    }
    if interrupts > 0 {
        ports.push(format!(".irq_valid(irq_valid[{}:0])", interrupts - 1));
        ports.push(format!(".irq_ready(irq_ready[{}:0])", interrupts - 1));
    }
    instance(&mut out, &manifest.core.top, "core", &parameters, &ports);
    out.push_str("endmodule\n");
    out
}
