// SPDX-License-Identifier: Apache-2.0
//! What these tests share: a home with a stand-in for the gateware, and a core that never answers anything.
#![allow(dead_code)] // not every test uses everything

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};
use towpath_cores::{build, BuildOptions, CoreError};

/// The environment is the process's: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

pub struct World {
    pub root: PathBuf,
    _guard: MutexGuard<'static, ()>,
}

/// A home with the real shim and a stand-in for tp_core, and a cache, which all tests share.
fn home() -> &'static PathBuf {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("towpath-cores-test-{}", std::process::id()));
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().to_path_buf();
        for folder in ["contract/generated", "gateware/sim/check", "gateware/endpoint", "gateware/plugin", "cores", "user"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [
            "../contract/generated/towpath_pkg.sv",
            "plugin/tp_plugin_bus.sv",
            "plugin/tp_tap_pkg.sv",
            "tp_system.sv",
            "sim/tp_sim_top.sv",
            "sim/model.cpp",
            "sim/tp_boundary.h",
            "sim/tp_data.h",
            "sim/tp_lanes.h",
            "sim/tp_model.h",
            "sim/tp_model_print.h",
            "sim/check/tp_check_pkg.sv",
            "sim/check/tp_check_axis.sv",
            "sim/check/tp_check_axi.sv",
            "sim/check/tp_check_axi_master.sv",
            "sim/check/tp_check_axi_data.sv",
            "sim/check/tp_check_irq.sv",
            "endpoint/tp_tlp_pkg.sv",
        ] {
            std::fs::copy(repository.join("gateware").join(file), root.join("gateware").join(file)).unwrap();
        }
        let list = "// a stand-in\ncontract/generated/towpath_pkg.sv\ngateware/endpoint/tp_tlp_pkg.sv\ngateware/plugin/tp_tap_pkg.sv\n\
                    gateware/plugin/tp_plugin_bus.sv\n\
                    gateware/tp_core.sv\n";
        std::fs::write(root.join("gateware/towpath.f"), list).unwrap();
        // The ports are the real ones; behind them is what these tests need.
        let real = std::fs::read_to_string(repository.join("gateware/tp_core.sv")).unwrap();
        let head = &real[..real.find("\n);").expect("the end of tp_core's ports")];
        std::fs::write(root.join("gateware/tp_core.sv"), format!("{head}\n);\n{STAND_IN}\nendmodule\n")).unwrap();
        root
    })
}

/// Posted writes come back as read requests with the numbers of channels as tag, completions as writes, reads as answers that hold
/// the channels' names; a write to BAR 2 is written to the user core.
const STAND_IN: &str = "
  assign user_rst_n = !rst;
  assign function_reset_done = cfg.function_reset;
  always_ff @(posedge clk) begin
    tx_posted_valid <= rx_completion_valid && !rst;
    tx_posted_data <= rx_completion_data;
    tx_posted_last <= rx_completion_last;
    tx_posted_hdr <= '{addr: 64'h1234_5678_9abc_def0, dwords: rx_completion_hdr.dwords, first_be: 4'hf, last_be: 4'h3, relaxed: 1'b1,
                       tc: 3'd5};
    tx_read_valid <= rx_posted_valid && rx_posted_last && !rst;
    tx_read_hdr <= '{addr: {32'(rx_posted_hdr.bar), rx_posted_hdr.offset}, dwords: rx_posted_hdr.dwords, first_be: rx_posted_hdr.first_be,
                     last_be: rx_posted_hdr.last_be, relaxed: 1'b0, tc: 3'd6, tag: 10'(H2C * 16 + C2H)};
    nonposted_credit <= !rst;
  end
  assign tx_answer_valid = rx_nonposted_valid;
  assign tx_answer_hdr = '{requester: rx_nonposted_hdr.requester, tag: rx_nonposted_hdr.tag, tc: rx_nonposted_hdr.tc,
                           attr: rx_nonposted_hdr.attr, lower_addr: 7'h7c, byte_count: 13'h1000, dwords: 11'h400, status: 3'd1};
  assign tx_answer_data = CHANNEL_NAMES[256*(H2C+C2H-1)+:DATA_WIDTH];
  assign tx_answer_last = 1'b1;
  assign {h2c_tvalid, h2c_tdata, h2c_tlast, h2c_error, h2c_length, h2c_offset, h2c_user, h2c_reset} = '0;
  assign h2c_tkeep = '1;
  assign {c2h_tready, c2h_reset, irq_ready, h2c_end_ready} = '0;
  assign {c2h_ask_valid, c2h_ask_cancel, c2h_ask_length, c2h_ask_offset, c2h_ask_user} = '0;
  wire window = rx_posted_valid && rx_posted_hdr.bar == 3'd2;
  assign m_axil_awvalid = window;
  assign m_axil_wvalid = window;
  assign m_axil_awaddr = rx_posted_hdr.offset;
  assign m_axil_wdata = rx_posted_data[31:0];
  assign m_axil_wstrb = '1;
  assign {m_axil_bready, m_axil_rready} = '1;
  assign {m_axil_arvalid, m_axil_araddr} = '0;
";

pub fn world() -> World {
    let guard = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let root = home().clone();
    std::env::set_var("TOWPATH_HOME", &root);
    std::env::set_var("TOWPATH_CORES", root.join("user"));
    std::env::set_var("TOWPATH_CACHE", root.join("cache"));
    std::env::remove_var("TOWPATH_VERILATOR");
    World { root, _guard: guard }
}

pub const MANIFEST: &str = "[core]
name = \"NAME\"
version = 7
top = \"NAME\"
sources = [\"NAME.sv\"]
width = 64
[[channel]]
name = \"in\"
direction = \"h2c\"
[[channel]]
name = \"results\"
direction = \"c2h\"
attributes = true
[registers]
bytes = 4096
";

pub const PORTS: &str = "module NAME #(parameter int DATA_WIDTH = 32) (
  input logic clk, input logic rst_n,
  input logic [DATA_WIDTH-1:0] in_tdata, input logic [DATA_WIDTH/8-1:0] in_tkeep, input logic in_tlast, in_tvalid, output logic in_tready,
  output logic [DATA_WIDTH-1:0] results_tdata, output logic [DATA_WIDTH/8-1:0] results_tkeep,
  output logic results_tlast, results_tvalid, input logic results_tready,
  output logic [47:0] results_length, output logic [31:0] results_offset, results_user,
  input logic [31:0] s_axil_awaddr, input logic s_axil_awvalid, output logic s_axil_awready,
  input logic [31:0] s_axil_wdata, input logic [3:0] s_axil_wstrb, input logic s_axil_wvalid, output logic s_axil_wready,
  output logic [1:0] s_axil_bresp, output logic s_axil_bvalid, input logic s_axil_bready,
  input logic [31:0] s_axil_araddr, input logic s_axil_arvalid, output logic s_axil_arready,
  output logic [31:0] s_axil_rdata, output logic [1:0] s_axil_rresp, output logic s_axil_rvalid, input logic s_axil_rready
);
  assign {in_tready, results_tdata, results_tkeep, results_tlast, results_tvalid, results_length, results_offset, results_user} = '0;
  assign {s_axil_awready, s_axil_wready, s_axil_bresp, s_axil_bvalid, s_axil_arready, s_axil_rdata, s_axil_rresp, s_axil_rvalid} = '0;
BODY
endmodule
";

/// The line of PORTS at which BODY stands.
pub const BODY_LINE: usize = 15;

impl World {
    /// The kind `memory`, with what its modules need of the library.
    pub fn with_memories(&self) {
        let gateware = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateware");
        let (from, to) = (gateware.join("channel/memory"), self.root.join("gateware/channel/memory"));
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
        for module in ["tp_fifo.sv", "tp_skid.sv"] {
            std::fs::copy(gateware.join("lib").join(module), to.join(module)).unwrap();
        }
        let text = std::fs::read_to_string(to.join("kind.toml")).unwrap();
        std::fs::write(to.join("kind.toml"), text.replace("sources = [", "sources = [\"tp_fifo.sv\", \"tp_skid.sv\", ")).unwrap();
    }

    /// A core that never answers anything and does what `body` says besides.
    pub fn core(&self, name: &str, body: &str) -> PathBuf {
        self.files(name, MANIFEST, &PORTS.replace("BODY", body))
    }

    pub fn files(&self, name: &str, manifest: &str, source: &str) -> PathBuf {
        let folder = self.root.join("user").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("towpath.toml"), manifest.replace("NAME", name)).unwrap();
        std::fs::write(folder.join(format!("{name}.sv")), source.replace("NAME", name)).unwrap();
        folder
    }
}

pub fn fails(folder: &Path) -> CoreError {
    build(folder, &BuildOptions::default()).expect_err("this core must be refused")
}

#[track_caller]
pub fn says(error: &CoreError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "\"{part}\" is not in: {text}");
    }
}
