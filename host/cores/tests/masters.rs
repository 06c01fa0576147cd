// SPDX-License-Identifier: Apache-2.0
//! Cores that are masters of AXI4 at a memory: what joins them, and what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use towpath_cores::{draft, wrap, BuildOptions, CoreError, MANIFEST};

mod common;
use common::{says, world, World};

fn wrapped(world: &World, more: &str, ports: &str, body: &str) -> Result<String, CoreError> {
    let memory = "[[channel]]\nname = \"mem\"\nkind = \"memory\"\nbytes = 8192\nports = \"axi_master\"\n";
    let manifest = format!("[core]\nname = \"other\"\ntop = \"other\"\nsources = [\"other.sv\"]\nwidth = 128\n{memory}{more}");
    let source = format!("module other (\n  input logic clk,\n  input logic rst_n,\n{ports}\n);\n{body}\nendmodule\n");
    wrap(&world.files("other", &manifest, &source), &BuildOptions::default(), None).map(|wrapped| wrapped.text)
}

/// The ports of a master that only reads, of so many bits.
fn reads(before: &str, bits: usize) -> String {
    let top = bits - 1;
    format!(
        "output logic [33:0] {before}araddr, output logic [7:0] {before}arlen, output logic {before}arvalid, input logic {before}arready,
         output logic [3:0] {before}arcache, input logic [{top}:0] {before}rdata, input logic {before}rlast, {before}rvalid, output logic {before}rready"
    )
}

fn tied(before: &str) -> String {
    format!("assign {{{before}araddr, {before}arlen, {before}arvalid, {before}arcache, {before}rready}} = '0;")
}

#[test]
fn a_master_is_found_by_its_names_and_gets_what_it_lacks() {
    let world = world();
    world.with_memories();
    for (before, more) in [("m_axi_mem_", ""), ("M_AXI_", ""), ("mem_", ""), ("dma_", "[ports]\nmem = \"dma_*\"\n")] {
        let text = wrapped(&world, more, &reads(before, 32), &tied(before)).unwrap();
        let parts = [
            "tp_axi_ram #(",
            ".DATA_WIDTH(128)",
            ".WIDTH(32)",
            ".BYTES(64'd8192)",
            ".CORE_ADDRESS_WIDTH(34)",
            ".c_arsize(3'd2)",
            ".c_arburst(2'b01)",
            ".c_rresp()",
            ".c_awvalid('0)",
            ".c_bvalid()",
            &format!(".{before}araddr(own_mem_araddr)"),
            &format!(".{before}arcache()"),
        ];
        parts.iter().for_each(|part| assert!(text.contains(part), "no {part}: {text}"));
    }
    // IDs of unlike widths.
    let ids = format!("{}, output logic [2:0] mem_arid, input logic [5:0] mem_rid", reads("mem_", 32));
    let text = wrapped(&world, "", &ids, &format!("{} assign mem_arid = '0;", tied("mem_"))).unwrap();
    for part in
        [".ID_WIDTH(6)", ".c_arid(6'(own_mem_arid))", ".mem_rid(own_mem_rid)", "logic [5:0] own_mem_rid;", "logic [2:0] own_mem_arid;"]
    {
        assert!(text.contains(part), "no {part}: {text}");
    }
    // Two memories: each is found by its own name.
    let second = "[[channel]]\nname = \"two\"\nkind = \"memory\"\nbytes = 4096\nports = \"axi_master\"\n";
    let both = format!("{}, {}", reads("m_axi_mem_", 64), reads("m_axi_two_", 128));
    let text = wrapped(&world, second, &both, &(tied("m_axi_mem_") + &tied("m_axi_two_"))).unwrap();
    assert!(text.contains("ram_mem (") && text.contains("ram_two (") && text.contains(".m_axi_two_rdata(own_two_rdata)"), "{text}");
}

#[test]
fn what_is_wrong_is_told() {
    let world = world();
    world.with_memories();
    let error = |more: &str, ports: &str, parts: &[&str]| says(&wrapped(&world, more, ports, "").unwrap_err(), parts);
    error("", &reads("mem_", 256), &["memory \"mem\"", "has 256 bit, and core.width is 128", "make that 256 at least"]);
    error("", "input logic a", &["ports of an AXI4 master", "mem = \"m_axi_*\""]);
    error("", &reads("mem_", 32).replace(", output logic mem_rready", ""), &["has a port mem_rready", "say in [ports]"]);
    error(
        "",
        &reads("mem_", 32).replace("output logic mem_arvalid", "output logic [1:0] mem_arvalid"),
        &["mem_arvalid", "2 bits", "1 bit"],
    );
    let far = "base = 0x1000000000\naddress_bits = 40\n";
    error(far, &reads("mem_", 32), &["base + bytes = 0x1000002000", "addresses of 34 bit, which end at 0x400000000"]);
    let stream = "[[channel]]\nname = \"a\"\ndirection = \"h2c\"\nports = \"axi_master\"\n";
    error(stream, &reads("mem_", 32), &["line 14", "for memories", "kind = \"memory\""]);
}

#[test]
fn a_draft_gives_a_master_its_memory() {
    let world = world();
    world.with_memories();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cores/kernel/kernel.sv").canonicalize().unwrap();
    let folder = world.root.join("user/drafted");
    std::fs::create_dir_all(&folder).unwrap();
    let made = draft(&folder, &[source], "kernel", &[], None).unwrap();
    assert_eq!((made.memories, made.registers), (vec!["gmem".to_string()], true), "{}", made.manifest);
    assert!(made.manifest.contains("name = \"gmem\"\nkind = \"memory\"\nports = \"axi_master\"\nbytes = 65536\n"), "{}", made.manifest);
    assert!(made.undecided.iter().any(|line| line.contains("correct bytes and base")), "{:?}", made.undecided);
    std::fs::write(folder.join(MANIFEST), &made.manifest).unwrap();
    let text = wrap(&folder, &BuildOptions::default(), None).unwrap_or_else(|error| panic!("{error}\n{}", made.manifest)).text;
    assert!(text.contains(".m_axi_gmem_AWADDR(own_gmem_awaddr)"), "{text}");
}
