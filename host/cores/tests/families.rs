// SPDX-License-Identifier: Apache-2.0
//! Cores whose channels have other ports than AXI4-Stream: what joins them, and what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use towpath_cores::{wrap, BuildOptions, CoreError};

mod common;
use common::{says, world, World};

fn wrapped(world: &World, channels: &str, ports: &str, body: &str) -> Result<String, CoreError> {
    let manifest = format!("[core]\nname = \"other\"\ntop = \"other\"\nsources = [\"other.sv\"]\nwidth = 64\nports = \"fifo\"\n{channels}");
    let source = format!("module other (\n  input logic clk,\n  input logic rst_n,\n{ports}\n);\n{body}\nendmodule\n");
    wrap(&world.files("other", &manifest, &source), &BuildOptions::default(), None).map(|wrapped| wrapped.text)
}

fn channel(name: &str, direction: &str, more: &str) -> String {
    format!("[[channel]]\nname = \"{name}\"\ndirection = \"{direction}\"\n{more}\n")
}

#[test]
fn fifos_are_told_apart_by_what_drives_them() {
    let world = world();
    let pair = channel("a", "h2c", "") + &channel("b", "c2h", "");
    let reads = "input logic [11:0] a_dout, input logic a_empty, output logic a_rd_en,";
    let writes = "output logic [11:0] b_din, input logic b_full, output logic b_wr_en";
    let text = wrapped(&world, &pair, &format!("{reads}\n{writes}"), "assign {a_rd_en, b_din, b_wr_en} = '0;").unwrap();
    for part in ["tp_fifo_read #(", "tp_fifo_write #(", ".WIDTH(12)", ".FALL_THROUGH(0)", ".S_WIDTH(16)", ".M_WIDTH(16)"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    // A FIFO by itself, whose ports have no prefix.
    let own = "input logic [7:0] din, input logic wr_en, output logic full, output logic [7:0] dout, input logic rd_en, output logic empty";
    let body = "assign {full, dout, empty} = '0;";
    let text = wrapped(&world, &pair, own, body).unwrap();
    assert!(text.contains("tp_fifo_get #(") && !text.contains("tp_fifo_read"), "{text}");
    let text = wrapped(&world, &pair.replace("c2h\"", "c2h\"\nports = \"fwft\""), own, body).unwrap();
    assert!(text.contains(".FALL_THROUGH(1)"), "{text}");
    // What is wrong has its line or its place.
    let error = wrapped(&world, &pair, &reads.replace("a_rd_en,", "a_take, input b_full, b_din"), "").unwrap_err();
    says(&error, &["channel \"a\" (ports = \"fifo\") has a port a_rd_en or a_rden", "say in [ports] what it is called"]);
    let wide = pair.replacen("h2c\"", "h2c\"\nwidth = 24", 1);
    says(&wrapped(&world, &wide, &format!("{reads}\n{writes}"), "").unwrap_err(), &["\"a_dout\" (input, 12 bits)", "wants input, 24 bits"]);
    for (more, parts) in [
        ("ports = \"fofi\"", ["line 10", "there are: stream, fifo, fwft, ap_fifo"]),
        ("tkeep = false", ["line 10", "ports = \"fifo\" is none"]),
        ("attributes = true", ["line 10", "remove it"]),
        ("width = 513", ["line 10", "make it 1 to 512"]),
    ] {
        says(&wrapped(&world, &channel("a", "h2c", more), own, body).unwrap_err(), &parts);
    }
    says(&wrapped(&world, "[[channel]]\nname = \"a\"\n", own, body).unwrap_err(), &["line 7", "direction = \"h2c\" or \"c2h\""]);
}
