// SPDX-License-Identifier: Apache-2.0
//! Cores with EPEE's ports, under the names that its versions give them: what joins them, and what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use towpath_cores::{wrap, BuildOptions, CoreError};

mod common;
use common::{says, world, World};

const DATA: &str = "input logic [65:0] host2board_dout, input logic host2board_empty, output logic host2board_rd_en,
  output logic [65:0] board2host_din, input logic board2host_prog_full, output logic board2host_wr_en";
const OUT: &str = "assign {host2board_rd_en, board2host_din, board2host_wr_en} = '0;";

fn wrapped(world: &World, more: &str, ports: &str, body: &str) -> Result<String, CoreError> {
    let manifest = format!("[core]\nname = \"other\"\ntop = \"other\"\nsources = [\"other.sv\"]\nwidth = 256\nports = \"epee\"\n{more}");
    let source = format!("module other (\n  input logic usr_clk,\n  input logic usr_rst,\n{ports}\n);\n{body}\nendmodule\n");
    wrap(&world.files("other", &manifest, &source), &BuildOptions::default(), None).map(|wrapped| wrapped.text)
}

fn has(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "no {part}: {text}"));
}

#[test]
fn one_word_is_the_whole_manifest() {
    let world = world();
    let text = wrapped(&world, "", DATA, OUT).unwrap();
    has(&text, &["tp_epee_read #(", "tp_epee_write #(", ".WIDTH(64)", ".PATH(256)", ".FALL_THROUGH(1)", ".usr_rst(!rst_n)"]);
    // Without registers and interrupts: they are acknowledged, and never come.
    has(&text, &["tp_epee_registers", "assign own_ucr_rd_ack = 1'b1;", "assign irq_valid[7] = 1'b0;", "WINDOW_BYTES = 524288"]);
    has(&wrapped(&world, "", DATA, OUT).unwrap(), &["USER_INTERRUPTS = 8", ".host2board_dout(own_host2board_dout)"]);
    let text = wrapped(&world, "[registers]\nbytes = 4096\n", DATA, OUT).unwrap();
    has(&text, &["WINDOW_BYTES = 4096"]);
    let standard =
        "[[channel]]\nname = \"a\"\ndirection = \"h2c\"\nports = \"epee_fifo\"\n[[channel]]\nname = \"b\"\ndirection = \"c2h\"\n";
    has(&wrapped(&world, standard, DATA, OUT).unwrap(), &[".FALL_THROUGH(0)", ".board2host_din(own_b_din)"]);
}

#[test]
fn names_of_each_version() {
    let world = world();
    let interrupts = "output logic usr_int_req, output logic [2:0] usr_int_vector, input logic [7:0] usr_int_sw_waiting,
      input logic usr_int_clr, input logic usr_int_enable";
    let body = format!("{OUT} assign {{usr_int_req, usr_int_vector}} = '0;");
    let text = wrapped(&world, "", &format!("{DATA}, {interrupts}"), &body).unwrap();
    has(&text, &[".VECTORS(8)", ".usr_int_sw_waiting(8'hff)", ".usr_int_enable(1'b1)", ".usr_int_vector(own_int_vector)"]);
    // The second version's.
    let mut ports = DATA.replace("host2board_", "usr_host2board_").replace("board2host_", "usr_board2host_");
    ports.push_str(", input logic usr_host2board_almost_empty, output logic usr1_int_req, input logic usr1_int_clr, usr1_int_enable");
    for (before, bits) in [("usr_pio_ch0_", 15), ("usr_ucr_", 17), ("usr_ocr_", 1)] {
        let registers = format!(
            "input logic [{0}:0] {before}wr_addr, {before}rd_addr, input logic [31:0] {before}wr_data, output logic [31:0] {before}rd_data,
             input logic {before}wr_req, {before}rd_req, output logic {before}wr_ack, {before}rd_ack",
            bits - 1
        );
        let body = OUT.replace("host2board_", "usr_host2board_").replace("board2host_", "usr_board2host_")
            + &format!("assign {{{before}rd_data, {before}wr_ack, {before}rd_ack, usr1_int_req}} = '0;");
        let text = wrapped(&world, "", &format!("{ports}, {registers}"), &body).unwrap();
        let address = format!(".{before}wr_addr(own_ucr_wr_addr[{}:0])", bits - 1);
        has(&text, &[&address, ".usr1_int_clr(own_int1_clr)", ".irq_valid(irq_valid[1])", "assign irq_valid[0] = 1'b0;"]);
        has(&text, &[".usr_host2board_almost_empty(own_host2board_almost_empty)"]);
    }
    // Names of the designer's own.
    let own = DATA.replace("host2board_", "from_pc_");
    let text = wrapped(&world, "[ports]\nhost2board = \"from_pc_*\"\n", &own, &OUT.replace("host2board_", "from_pc_")).unwrap();
    has(&text, &[".from_pc_rd_en(own_host2board_rd_en)"]);
}

#[test]
fn what_is_wrong_is_told() {
    let world = world();
    let error = |more: &str, ports: &str, parts: &[&str]| says(&wrapped(&world, more, ports, "").unwrap_err(), parts);
    error("", &DATA.replace("65:0", "63:0"), &["port \"host2board_dout\" (input, 64 bits)", "EPEE's data has 66 or 130 bits"]);
    error("", &DATA.replace("host2board_", "x_"), &["has a port host2board_dout", "host2board = \"host2board_*\""]);
    error("[interrupts]\ncount = 2\n", DATA, &["line 7", "remove [interrupts]"]);
    let channel = "[[channel]]\nname = \"a\"\ndirection = \"h2c\"\n";
    error(&format!("{channel}width = 32\n"), DATA, &["line 10", "64 or 128 bit"]);
    error(&format!("{channel}message_bytes = 8\n"), DATA, &["line 10", "remove message_bytes"]);
    error(&format!("{channel}{}", channel.replace("\"a\"", "\"b\"")), DATA, &["one channel in each direction", "remove the others"]);
    let wide = "input logic [17:0] usr_ucr_wr_addr";
    error("", &format!("{DATA}, {wide}"), &["port \"usr_ucr_wr_addr\" (input, 18 bits)", "wants input, 17 bits"]);
    error("", &format!("{DATA}, output logic led"), &["port \"led\"", "unused of [ports]"]);
}
