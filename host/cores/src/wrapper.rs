// SPDX-License-Identifier: Apache-2.0
//! The generated SystemVerilog between `tp_core`'s arrays and the user core's named ports.

use crate::manifest::{Direction, Manifest, ParameterValue};
use crate::ports::{Top, AXIL};
use std::fmt::Write;

/// Text as a packed constant of `bytes` bytes, the first character in the lowest.
fn packed(text: &str, bytes: usize) -> String {
    let mut digits = String::new();
    for byte in text.bytes().rev() {
        let _ = write!(digits, "{byte:02x}");
    }
    format!("{}'h{}", bytes * 8, if digits.is_empty() { "0" } else { &digits })
}

/// Package `tp_user_pkg` (the parameters of `tp_core`) and module `tp_user` (the user core), for a core that matches its manifest.
pub fn wrapper(manifest: &Manifest, width: u32, serial: u64, top: &Top) -> String {
    let mut out = String::new();
    let h2c: Vec<_> = manifest.of(Direction::H2c).collect();
    let c2h: Vec<_> = manifest.of(Direction::C2h).collect();
    let window = manifest.registers.as_ref().map_or(0, |r| r.bytes);
    let interrupts = manifest.interrupts.as_ref().map_or(0, |i| i.count);
    let names: Vec<String> = h2c.iter().chain(&c2h).rev().map(|c| format!("    {}", packed(&c.name, 32))).collect();
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
    output logic [NC-1:0]                 c2h_tvalid,
    input  logic [NC-1:0]                 c2h_tready,
    output logic [NC-1:0][DATA_WIDTH-1:0] c2h_tdata,
    output logic [NC-1:0][KEEP-1:0]       c2h_tkeep,
    output logic [NC-1:0]                 c2h_tlast,
    output logic [NC-1:0][47:0]           c2h_length,
    output logic [NC-1:0][31:0]           c2h_offset,
    output logic [NC-1:0][31:0]           c2h_user,
    input  logic [NC-1:0]                 c2h_reset,
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
    input  logic [15:0]                   irq_ready
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
    );

    // What has no port of the core behind it.
    if h2c.is_empty() {
        out.push_str("  assign h2c_tready = '0;\n");
    }
    if c2h.is_empty() {
        for signal in ["tvalid", "tdata", "tkeep", "tlast", "length", "offset", "user"] {
            let _ = writeln!(out, "  assign c2h_{signal} = '0;");
        }
    }
    for (index, _) in c2h.iter().enumerate().filter(|(_, c)| !c.attributes) {
        for signal in ["length", "offset", "user"] {
            let _ = writeln!(out, "  assign c2h_{signal}[{index}] = '0;");
        }
    }
    if manifest.registers.is_none() {
        for (signal, _, _) in AXIL.iter().filter(|(_, to_core, _)| !to_core) {
            let _ = writeln!(out, "  assign axil_{signal} = '0;");
        }
    }
    if interrupts < 16 {
        let _ = writeln!(out, "  assign irq_valid[15:{interrupts}] = '0;");
    }

    let mut parameters = Vec::new();
    if top.has_data_width {
        parameters.push("      .DATA_WIDTH(DATA_WIDTH)".to_string());
    }
    for (name, value) in &manifest.parameters {
        parameters.push(match value {
            ParameterValue::Bool(b) => format!("      .{name}({})", u8::from(*b)),
            ParameterValue::Integer(n) => format!("      .{name}({n})"),
            ParameterValue::Text(text) => format!("      .{name}(\"{text}\")"),
        });
    }
    let mut ports = vec!["      .clk(clk)".to_string(), "      .rst_n(rst_n)".to_string()];
    for (prefix, channels) in [("h2c", &h2c), ("c2h", &c2h)] {
        for (index, channel) in channels.iter().enumerate() {
            let mut connect = |signal: &str| ports.push(format!("      .{}_{signal}({prefix}_{signal}[{index}])", channel.name));
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
    }
    if manifest.registers.is_some() {
        ports.extend(AXIL.iter().map(|(signal, _, _)| format!("      .s_axil_{signal}(axil_{signal})")));
    }
    if interrupts > 0 {
        ports.push(format!("      .irq_valid(irq_valid[{}:0])", interrupts - 1));
        ports.push(format!("      .irq_ready(irq_ready[{}:0])", interrupts - 1));
    }
    let _ = write!(out, "\n  {}", manifest.core.top);
    if !parameters.is_empty() {
        let _ = write!(out, " #(\n{}\n  )", parameters.join(",\n"));
    }
    let _ = write!(out, " core (\n{}\n  );\nendmodule\n", ports.join(",\n"));
    out
}
