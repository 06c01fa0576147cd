// SPDX-License-Identifier: Apache-2.0
//! The checker at a core's ports: a core that breaks one rule after another, each of which must be found, and told in the core's words. Needs Verilator and a C++
//! compiler.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use towpath::{Device, OpenOptions};

/// What the host does so that the core breaks the rule.
#[derive(Clone, Copy, PartialEq)]
enum Act {
    /// Has the core send more than the card holds, and takes nothing.
    Flood,
    /// Nothing but choosing the rule.
    Choose,
    WriteRegister,
    ReadRegister,
    WriteMemory,
    ReadMemory,
    /// Has the core ask as a master.
    Go,
}
use Act::*;

/// Rules by the number that `tests/cores/breaches` has for them: what is done, the port that is named, what is numbered, and a part of the reason.
const RULES: [(u32, Act, &str, &str, &str); 50] = [
    (1, Flood, "result_tvalid", "beat", "withdrawn before tready"),
    (2, Flood, "result_tdata", "beat", "changed while tvalid waited"),
    (3, Flood, "result_tkeep", "beat", "changed from 11111111 to 00001111"),
    (4, Flood, "result_tlast", "beat", "changed while tvalid waited"),
    (5, Flood, "result_tkeep", "beat 17", "11011011 has holes"),
    (6, Flood, "result_tkeep", "beat 3", "11110000 has holes"),
    (7, Flood, "result_tkeep", "beat 17", "00001111 without tlast"),
    (8, Flood, "result_length", "beat", "first beat waited"),
    (9, Flood, "result_offset", "beat", "first beat waited"),
    (10, Flood, "result_user", "beat", "first beat waited"),
    (11, WriteRegister, "s_axi_lite_bvalid", "answer 2", "withdrawn before bready"),
    (12, Choose, "s_axi_lite_bvalid", "answer 2", "no write waits for one"),
    (13, Choose, "s_axi_lite_rvalid", "answer 1", "no read waits for one"),
    (14, WriteRegister, "s_axi_lite_bvalid", "answer 2", "no write waits for one"),
    (15, ReadRegister, "s_axi_lite_rvalid", "answer 2", "no read waits for one"),
    (16, WriteRegister, "s_axi_lite_bresp", "answer", "EXOKAY"),
    (17, ReadRegister, "s_axi_lite_rresp", "answer", "EXOKAY"),
    (18, WriteRegister, "s_axi_lite_bvalid", "answer 2", "2 addresses and the data of 1 writes"),
    (19, ReadRegister, "s_axi_lite_rvalid", "answer 1", "no answer for 62500 clocks"),
    (20, Choose, "S_AXI_rvalid", "beat 1", "no read waits for it"),
    (21, Choose, "S_AXI_bvalid", "answer 1", "no write waits for one"),
    (22, WriteMemory, "S_AXI_bvalid", "answer 1", "1 addresses and the data of 0 writes"),
    (23, WriteMemory, "S_AXI_bvalid", "answer 2", "no write waits for one"),
    (24, WriteMemory, "S_AXI_bresp", "answer 1", "EXOKAY"),
    (25, ReadMemory, "S_AXI_rresp", "beat 1", "EXOKAY"),
    (26, WriteMemory, "S_AXI_bid", "answer 1", "3: an answer has the ID"),
    (27, ReadMemory, "S_AXI_rid", "beat 1", "5: an answer has the ID"),
    (28, ReadMemory, "S_AXI_rlast", "beat 16", "not with the last of the 16 beats"),
    (29, ReadMemory, "S_AXI_rlast", "beat 15", "with beat 15 of 16"),
    (30, ReadMemory, "S_AXI_rvalid", "beat 17", "no read waits for it"),
    (31, ReadMemory, "S_AXI_rvalid", "beat", "withdrawn before rready"),
    (32, ReadMemory, "S_AXI_rdata", "beat", "changed while rvalid waited"),
    (33, ReadMemory, "S_AXI_rlast", "beat", "changed while rvalid waited"),
    (34, Flood, "irq_valid[1]", "interrupt 1", "withdrawn before irq_ready"),
    (35, Go, "M_AXI_awvalid", "burst 2", "withdrawn before it was taken"),
    (36, Go, "M_AXI_awaddr", "burst 2", "changed from 00000080 to 000000c0"),
    (37, Go, "M_AXI_awlen", "burst 2", "changed from 3 to 4"),
    (38, Go, "M_AXI_awsize", "burst 1", "beats of 16 bytes, and the port has 8"),
    (39, Go, "M_AXI_awburst", "burst 1", "3 is no kind of burst"),
    (40, Go, "M_AXI_awaddr", "burst 1", "00000ff8: 32 bytes from there cross"),
    (41, Go, "M_AXI_awlen", "burst 1", "kind WRAP has 2, 4, 8 or 16 beats"),
    (42, Go, "M_AXI_arvalid", "burst 2", "withdrawn before it was taken"),
    (43, Go, "M_AXI_araddr", "burst 2", "changed from 00000040 to 00000080"),
    (44, Go, "M_AXI_wvalid", "beat 1", "withdrawn before wready"),
    (45, Go, "M_AXI_wdata", "beat 1", "changed while wvalid waited"),
    (46, Go, "M_AXI_wstrb", "beat 1", "changed while wvalid waited"),
    (47, Go, "M_AXI_wlast", "beat 3", "with beat 3 of 4"),
    (48, Go, "M_AXI_wlast", "beat 4", "not with the last of the 4 beats"),
    (49, Go, "M_AXI_awaddr", "burst 1", "begins at a multiple of 8 bytes"),
    (50, Go, "M_AXI_awlen", "burst 1", "kind FIXED has 16 beats at most"),
];

struct Card {
    device: Device,
    printed: Arc<Mutex<String>>,
}

fn open(settings: &str) -> Card {
    let name = format!("sim:{}/../../tests/cores/breaches{settings}", env!("CARGO_MANIFEST_DIR"));
    let printed = Arc::new(Mutex::new(String::new()));
    let sink = printed.clone();
    let print = Arc::new(move |text: &str| {
        let mut all = sink.lock().unwrap();
        all.push_str(text.trim_end());
        all.push('\n');
    });
    let options = OpenOptions { print: Some(print), ..OpenOptions::default() };
    Card { device: Device::open_with(&name, &options).unwrap_or_else(|error| panic!("{error}")), printed }
}

impl Card {
    /// Choose the rule, and do what it needs. Returns the first error, if there is one.
    fn breaks(&self, rule: u32, act: Act) -> Result<(), towpath::Error> {
        let registers = self.device.registers();
        let mut data = [7; 128];
        registers.write(0, rule)?;
        match act {
            Flood => {
                registers.write(4, 1)?;
                self.device.receiver("out")?;
            }
            Choose => {}
            Go => registers.write(4, 1)?,
            WriteRegister => registers.write(0, rule)?,
            ReadRegister => drop(registers.read(0)?),
            WriteMemory => self.device.memory("ram")?.write_at(&data, 0)?,
            ReadMemory => self.device.memory("ram")?.read_at(&mut data, 0)?,
        }
        // Time passes, and what has happened before is told.
        (0..4).try_for_each(|_| registers.read(0).map(drop))
    }

    fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }
}

#[test]
fn each_rule_that_a_core_breaks_is_told_in_its_words() {
    let mut wrong = Vec::new();
    for (rule, act, port, number, reason) in RULES {
        let card = open("");
        let outcome = card.breaks(rule, act);
        // An access without an answer is a warning, and then ends as the gateware says.
        let silent = rule == 19;
        let said = if silent { card.printed() } else { outcome.as_ref().err().map(ToString::to_string).unwrap_or_default() };
        let begins = format!("core port `{port}`, {number}");
        let once = said.matches("core port `").count() == 1;
        let seen = silent || said.contains(" us: ") && said.contains("towpath run --core '") && said.contains(" --trace ");
        // The gateware has nothing to add.
        let alone = !card.printed().contains("tp_");
        if !(outcome.is_err() && said.contains(&begins) && said.contains(reason) && once && seen && alone) {
            wrong.push(format!("rule {rule}: expected \"{begins}\" and \"{reason}\": {outcome:?}; printed: {}", card.printed()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_core_that_keeps_the_rules_is_left_alone() {
    let card = open("");
    let (device, data) = (&card.device, [5; 2000]);
    let memory = device.memory("ram").unwrap();
    memory.write_at(&data, 3).unwrap();
    let mut back = [0; 2000];
    memory.read_at(&mut back, 3).unwrap();
    assert_eq!(back, data);
    device.registers().write(4, 1).unwrap();
    let receiver = device.receiver("out").unwrap();
    for _ in 0..300 {
        assert_eq!(receiver.recv().unwrap().len(), 128);
    }
    assert_eq!(card.printed(), "");
}

#[test]
fn with_warnings_the_simulation_goes_on() {
    let card = open("?check=warn");
    for (rule, act, port, _, reason) in [RULES[1], RULES[15], RULES[30]] {
        card.breaks(rule, act).unwrap_or_else(|error| panic!("rule {rule}: {error}"));
        let said = card.printed();
        let lines: Vec<&str> = said.lines().filter(|line| line.contains(&format!("core port `{port}`"))).collect();
        assert!(lines.len() == 1 && lines[0].starts_with("%Warning: ") && lines[0].contains(reason), "rule {rule}: {said}");
    }
}

#[test]
fn another_choice_is_refused() {
    let name = format!("sim:{}/../../tests/cores/breaches?check=maybe", env!("CARGO_MANIFEST_DIR"));
    let error = Device::open(&name).map(drop).unwrap_err().to_string();
    assert!(error.ends_with("check is on, warn or off"), "{error}");
}

/// What is said of a core whose streams have `width` bits, on a path of 64, and whose handshakes are these.
fn refused(name: &str, width: u32, handshakes: &str) -> String {
    let folder = std::env::temp_dir().join(format!("towpath-loops-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stream = |name: &str, direction: &str| format!("[[channel]]\nname = \"{name}\"\ndirection = \"{direction}\"\nwidth = {width}\n");
    let core = format!("[core]\nname = \"{name}\"\nversion = 1\ntop = \"{name}\"\nsources = [\"{name}.sv\"]\nwidth = 64\n");
    std::fs::write(folder.join("towpath.toml"), core + &stream("in", "h2c") + &stream("out", "c2h")).unwrap();
    let (data, keep) = (width - 1, width / 8 - 1);
    let ports = format!(
        "input logic aclk, input logic aresetn,
  input logic [{data}:0] s_axis_tdata, input logic [{keep}:0] s_axis_tkeep, input logic s_axis_tlast, input logic s_axis_tvalid,
  output logic s_axis_tready,
  output logic [{data}:0] m_axis_tdata, output logic [{keep}:0] m_axis_tkeep,
  output logic m_axis_tlast,
  output logic m_axis_tvalid,
  input logic m_axis_tready
);
  assign {{m_axis_tdata, m_axis_tkeep}} = {{s_axis_tdata, s_axis_tkeep}};"
    );
    std::fs::write(folder.join(format!("{name}.sv")), format!("module {name} (\n  {ports}\n{handshakes}\nendmodule\n")).unwrap();
    let said = Device::open(&format!("sim:{}", folder.display())).map(drop).expect_err("the core has a loop").to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    said.replace(&format!("{}/", folder.display()), "")
}

#[test]
fn combinational_loops_are_named_when_a_core_is_built() {
    // Within the core, of port by port.
    let handshakes = "  assign s_axis_tready = m_axis_tready && m_axis_tvalid;\n  assign m_axis_tlast = s_axis_tlast;
  assign m_axis_tvalid = s_axis_tvalid && s_axis_tready;";
    let said = refused("ring", 64, handshakes);
    let ways = [("s_axis_tready", "m_axis_tvalid", 11), ("m_axis_tvalid", "s_axis_tready", 13)];
    for (to, from, line) in ways {
        assert!(said.contains(&format!("port `{to}` follows from port `{from}` (ring.sv:{line})")), "{said}");
    }
    // Through what fits the core to a narrower path.
    let handshakes = "  assign s_axis_tready = m_axis_tready;\n  assign m_axis_tlast = s_axis_tlast && m_axis_tready;
  assign m_axis_tvalid = s_axis_tvalid;";
    let said = refused("around", 128, handshakes);
    assert!(said.contains("port `m_axis_tlast` follows from port `m_axis_tready` (around.sv:12)"), "{said}");
    assert_eq!(said.matches("a combinational loop").count(), 1, "{said}");
}
