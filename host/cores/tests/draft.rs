// SPDX-License-Identifier: Apache-2.0
//! Manifests drafted from ports alone: those of cores whose manifests are known, and what they cannot tell.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use towpath_cores::{draft, wrap, BuildOptions, Direction, Draft, Manifest};

mod common;
use common::{says, world, World};

fn drafted(world: &World, name: &str, sources: &[PathBuf], top: &str) -> (PathBuf, Draft) {
    let folder = world.root.join("user").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let made = draft(&folder, sources, top, &[], None).unwrap_or_else(|e| panic!("{name}: {e}"));
    std::fs::write(folder.join("towpath.toml"), &made.manifest).unwrap();
    (folder, made)
}

#[test]
fn the_repositorys_cores_are_drafted_from_their_ports() {
    let world = world();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut tried = 0;
    for place in [
        "cores/loopback",
        "cores/sobel",
        "cores/counter",
        "cores/sink",
        "tests/cores/narrow",
        "tests/cores/bursts",
        "tests/cores/loop3x2",
        "cores/riffa_echo",
        "cores/epee_demo",
        "tests/cores/riffa_pair",
    ] {
        let known = Manifest::read(&root.join(place)).unwrap();
        let sources: Vec<PathBuf> = known.core.sources.iter().map(|source| known.folder.join(source)).collect();
        let (folder, made) = drafted(&world, &known.core.name, &sources, &known.core.top);
        let again = wrap(&folder, &BuildOptions::default(), None).unwrap_or_else(|e| panic!("{place}: {e}\n{}", made.manifest)).manifest;
        let streams = |manifest: &Manifest, direction| -> Vec<(String, bool, bool, bool)> {
            let mut all: Vec<_> = manifest.of(direction).map(|c| (c.name.clone(), c.shape.tkeep, c.shape.tlast, c.shape.tready)).collect();
            all.sort();
            all
        };
        for direction in [Direction::H2c, Direction::C2h] {
            assert_eq!(streams(&again, direction), streams(&known, direction), "{place}\n{}", made.manifest);
        }
        assert_eq!(again.registers.is_some(), known.registers.is_some(), "{place}");
        tried += 1;
    }
    assert_eq!(tried, 10);
}

#[test]
fn what_ports_do_not_tell_is_said() {
    let world = world();
    let source = world.root.join("user/other.sv");
    let text = "module other (
  input logic S_AXIS_ACLK, sys_clk, input logic S_AXIS_ARESETN,
  input logic [31:0] S_AXIS_TDATA, input logic S_AXIS_TVALID, output logic S_AXIS_TREADY,
  output logic [127:0] M_AXIS_RESULT_TDATA, output logic M_AXIS_RESULT_TVALID, input logic M_AXIS_RESULT_TREADY,
  input logic [15:0] s_mem_awaddr, input logic [7:0] s_mem_awlen, input logic [2:0] s_mem_awsize, input logic [1:0] s_mem_awburst,
  input logic s_mem_awvalid, output logic s_mem_awready, input logic [127:0] s_mem_wdata, input logic [15:0] s_mem_wstrb,
  input logic s_mem_wlast, s_mem_wvalid, output logic s_mem_wready, output logic [1:0] s_mem_bresp, output logic s_mem_bvalid,
  input logic s_mem_bready, input logic [15:0] s_mem_araddr, input logic [7:0] s_mem_arlen, input logic [2:0] s_mem_arsize,
  input logic [1:0] s_mem_arburst, input logic s_mem_arvalid, output logic s_mem_arready, output logic [127:0] s_mem_rdata,
  output logic [1:0] s_mem_rresp, output logic s_mem_rlast, s_mem_rvalid, input logic s_mem_rready,
  output logic [31:0] m_axi_awaddr, m_axi_wdata, input logic [3:0] mode, output logic done_irq, output logic [7:0] leds
);
  assign {S_AXIS_TREADY, M_AXIS_RESULT_TDATA, M_AXIS_RESULT_TVALID, s_mem_awready, s_mem_wready, s_mem_bresp, s_mem_bvalid} = '0;
  assign {s_mem_arready, s_mem_rdata, s_mem_rresp, s_mem_rlast, s_mem_rvalid, m_axi_awaddr, m_axi_wdata, done_irq, leds} = '0;
endmodule
";
    std::fs::write(&source, text).unwrap();
    let (folder, made) = drafted(&world, "drafted", &[source], "other");
    let manifest = match wrap(&folder, &BuildOptions::default(), None) {
        Ok(wrapped) => wrapped.manifest,
        // The kind is no part of these tests' home: the manifest is as it should be all the same.
        Err(error) => {
            says(&error, &["there is no kind \"memory\""]);
            std::fs::write(folder.join("towpath.toml"), without_memory(&made.manifest)).unwrap();
            let text = wrap(&folder, &BuildOptions::default(), None).unwrap_or_else(|e| panic!("{e}\n{}", made.manifest));
            text.manifest
        }
    };
    let h2c: Vec<_> = manifest.of(Direction::H2c).map(|c| (c.name.as_str(), c.shape.width, c.shape.tlast)).collect();
    let c2h: Vec<_> = manifest.of(Direction::C2h).map(|c| (c.name.as_str(), c.shape.width, c.shape.tlast)).collect();
    assert_eq!((h2c, c2h), (vec![("in", Some(32), false)], vec![("result", None, false)]), "{}", made.manifest);
    assert_eq!(manifest.core.width, 128);
    assert_eq!((made.memories, made.interrupt, made.registers), (vec!["mem".to_string()], true, false));
    // What belongs to nothing is a register.
    let wires: Vec<_> = made.wires.iter().map(|register| (register.name.as_str(), register.offset, register.input)).collect();
    assert_eq!(wires, [("mode", 0, true), ("leds", 4, false)], "{}", made.manifest);
    let said = made.undecided.join("\n");
    for part in ["get the same clock", "channel \"result\" has no tlast", "memory \"mem\" has 65536 bytes", "AXI master"] {
        assert!(said.contains(part), "\"{part}\" is not in: {said}");
    }
}

#[test]
fn resets_are_found_by_whole_words() {
    let world = world();
    let of = |inputs: &str| -> (String, String) {
        let source = world.root.join("user/worded.sv");
        std::fs::write(&source, format!("module worded (input logic clk, {inputs}, output logic o); assign o = 0; endmodule\n")).unwrap();
        let made = drafted(&world, "worded", &[source], "worded").1;
        let lines = made.manifest.lines().filter(|line| line.starts_with("rst")).collect::<Vec<_>>().join(" ");
        (lines, made.undecided.into_iter().filter(|line| line.contains("reset")).collect::<Vec<_>>().join("\n"))
    };
    for (inputs, lines) in [
        ("rst_n, first, burst_en, worst", "rst_n = \"rst_n\""),
        ("rst_in", "rst = \"rst_in\""),
        ("ap_rst_n", "rst_n = \"ap_rst_n\""),
        ("S_AXI_ARESETN", "rst_n = \"S_AXI_ARESETN\""),
        ("rst_ni", "rst_n = \"rst_ni\""),
        ("nrst", "rst_n = \"nrst\""),
        ("areset", "rst = \"areset\""),
        ("reset0", "rst = \"reset0\""),
    ] {
        assert_eq!(of(&format!("input logic {inputs}")), (lines.to_string(), String::new()), "{inputs}");
    }
    // Where something else may be meant, that is said.
    for (inputs, lines, said) in [
        ("reset_main", "rst = \"reset_main\"", "\"reset_main\" is taken for a reset, active high"),
        ("clk_rst_n", "rst_n = \"clk_rst_n\"", "\"clk_rst_n\" is taken for a reset, active low"),
        ("rst_b", "rst = \"rst_b\"", "active high, by its name alone"),
        ("rst, resetn", "rst_n = \"resetn\" rst = \"rst\"", "resetn, rst get the same reset"),
        ("first", "rst_n = \"\"", "no port looks like a reset"),
    ] {
        let (written, undecided) = of(&format!("input logic {inputs}"));
        assert_eq!(written, lines, "{inputs}");
        assert!(undecided.contains(said), "{inputs}: {undecided}");
    }
}

/// The memory's entry left out, and its ports unused.
fn without_memory(manifest: &str) -> String {
    let begin = manifest.find("\n[[channel]]\nname = \"mem\"").unwrap();
    let end = begin + 1 + manifest[begin + 1..].find("\n[").unwrap();
    let text = format!("{}{}", &manifest[..begin], &manifest[end..]);
    text.replace("mem = \"s_mem_*\"\n", "").replace("unused = [", "unused = [\"s_mem_*\", ")
}

#[test]
fn fifos_are_found_by_their_ports() {
    let world = world();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let (folder, made) = drafted(&world, "fifos", &[root.join("tests/cores/fifos/fifos.v")], "fifos");
    let again = wrap(&folder, &BuildOptions::default(), None).unwrap_or_else(|e| panic!("{e}\n{}", made.manifest));
    let mut found: Vec<_> =
        again.manifest.channels.iter().map(|c| (c.name.as_str(), c.direction.to_string(), c.shape.family.name())).collect();
    found.sort();
    let expected = [("a", "h2c", "fifo"), ("b", "c2h", "fifo"), ("in", "h2c", "fifo"), ("in_v", "h2c", "ap_fifo")];
    let more = [("out", "c2h", "fifo"), ("out_v", "c2h", "ap_fifo")];
    let expected: Vec<_> = expected.into_iter().chain(more).map(|(name, way, family)| (name, way.to_string(), family)).collect();
    assert_eq!(found, expected, "{}", made.manifest);
    for part in ["tp_fifo_read #(", "tp_fifo_write #(", "tp_fifo_get #(", "= own_in_tdata[15:0]"] {
        assert!(again.text.contains(part), "no {part}: {}", again.text);
    }
    let said = made.undecided.join("\n");
    for part in ["\"out\": a word is taken to be there", "\"a\" has words of 24 bit: each takes 4 bytes", "\"b\" is a FIFO"] {
        assert!(said.contains(part), "no {part}: {said}");
    }
}
