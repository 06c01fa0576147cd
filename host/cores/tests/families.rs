// SPDX-License-Identifier: Apache-2.0
//! Cores whose channels have other ports than AXI4-Stream: what joins them, and what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use towpath_cores::{draft, wrap, BuildOptions, CoreError};

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
        ("ports = \"fofi\"", ["line 10", "there are: stream, fifo, fwft, ap_fifo, riffa, xillybus, epee, epee_fifo, axi_master"]),
        ("tkeep = false", ["line 10", "ports = \"fifo\" is none"]),
        ("attributes = true", ["line 10", "remove it"]),
        ("width = 513", ["line 10", "make it 1 to 512"]),
    ] {
        says(&wrapped(&world, &channel("a", "h2c", more), own, body).unwrap_err(), &parts);
    }
    says(&wrapped(&world, "[[channel]]\nname = \"a\"\n", own, body).unwrap_err(), &["line 7", "direction = \"h2c\" or \"c2h\""]);
}

/// The ports of RIFFA's channels, so many side by side.
fn riffa(count: usize, width: usize, before: &str) -> (String, String) {
    let ports = [
        ("input", "RX", 1),
        ("input", "RX_LAST", 1),
        ("input", "RX_LEN", 32),
        ("input", "RX_OFF", 31),
        ("input", "RX_DATA", width),
        ("input", "RX_DATA_VALID", 1),
        ("input", "TX_ACK", 1),
        ("input", "TX_DATA_REN", 1),
        ("output", "RX_CLK", 1),
        ("output", "RX_ACK", 1),
        ("output", "RX_DATA_REN", 1),
        ("output", "TX_CLK", 1),
        ("output", "TX", 1),
        ("output", "TX_LAST", 1),
        ("output", "TX_LEN", 32),
        ("output", "TX_OFF", 31),
        ("output", "TX_DATA", width),
        ("output", "TX_DATA_VALID", 1),
    ];
    let list = ports.map(|(way, name, bits)| format!("  {way} logic [{}:0] {before}{name}", bits * count - 1));
    let assigns = ports.iter().filter(|(way, ..)| *way == "output").map(|(_, name, _)| format!("assign {before}{name} = '0;"));
    (list.join(",\n"), assigns.collect::<Vec<_>>().join("\n"))
}

#[test]
fn riffas_channels_alone_and_side_by_side() {
    let world = world();
    let build = |channels: &str, (ports, body): &(String, String)| {
        let manifest =
            format!("[core]\nname = \"other\"\ntop = \"other\"\nsources = [\"other.sv\"]\nwidth = 64\nports = \"riffa\"\n{channels}");
        let source = format!("module other (\n  input logic CLK,\n  input logic RST,\n{ports}\n);\n{body}\nendmodule\n");
        wrap(&world.files("other", &manifest, &source), &BuildOptions::default(), None)
    };
    // One channel needs no word.
    let made = build("", &riffa(1, 64, "CHNL_")).unwrap();
    let names: Vec<_> = made.manifest.channels.iter().map(|c| (c.name.as_str(), c.direction.to_string(), c.attributes)).collect();
    assert_eq!(names, [("riffa0", "h2c".to_string(), true), ("riffa0", "c2h".to_string(), true)]);
    for part in [".CHNL_RX_LEN(own_riffa0_rx_len)", ".riffa0_rx_tdata(h2c_tdata[0])", ".riffa0_tx_length(c2h_length[0])", "!rst_n"] {
        assert!(made.text.contains(part), "no {part}: {}", made.text);
    }
    // Several side by side, and ones with names of their own.
    let two = |width: usize| format!("[[channel]]\nname = \"a\"\nwidth = {width}\n[[channel]]\nname = \"b\"\nwidth = {width}\n");
    let text = build(&two(32), &riffa(2, 32, "CHNL_")).unwrap().text;
    assert!(text.contains(".CHNL_TX_DATA({own_b_tx_data, own_a_tx_data})"), "{text}");
    let (first, second) = (riffa(1, 32, "c0_"), riffa(1, 32, "c1_"));
    let both = (format!("{},\n{}", first.0, second.0), first.1 + &second.1);
    let text = build(&format!("{}[ports]\na = \"c0_*\"\nb = \"c1_*\"\n", two(32)), &both).unwrap().text;
    assert!(text.contains(".c1_TX_DATA(own_b_tx_data)"), "{text}");
    // RIFFA's own parameter gets the width, where there is one.
    let wide = |parameters: &str, text: &str| {
        let (ports, body) = riffa(1, 32, "CHNL_");
        let ports = ports.replace("[31:0] CHNL_RX_DATA", "[W-1:0] CHNL_RX_DATA").replace("[31:0] CHNL_TX_DATA", "[W-1:0] CHNL_TX_DATA");
        let source = format!("module other #({parameters}) (\n  input logic CLK,\n  input logic RST,\n{ports}\n);\n{body}\nendmodule\n");
        let head = "[core]\nname = \"other\"\ntop = \"other\"\nsources = [\"other.sv\"]\nwidth = 128\nports = \"riffa\"\n";
        wrap(&world.files("other", &format!("{head}{text}"), &source.replace("W-1", "C_PCI_DATA_WIDTH-1")), &BuildOptions::default(), None)
    };
    assert!(wide("parameter C_PCI_DATA_WIDTH = 9'd32", "").unwrap().text.contains(".C_PCI_DATA_WIDTH(128)"));
    let text =
        wide("parameter DATA_WIDTH = 32, parameter C_PCI_DATA_WIDTH = 9'd32", "[[channel]]\nname = \"a\"\nwidth = 64\n").unwrap().text;
    assert!(text.contains(".DATA_WIDTH(128)") && text.contains(".C_PCI_DATA_WIDTH(64)"), "{text}");
    let set = "[[channel]]\nname = \"a\"\nwidth = 32\n[parameters]\nC_PCI_DATA_WIDTH = 32\n";
    assert!(wide("parameter C_PCI_DATA_WIDTH = 9'd64", set).unwrap().text.contains(".C_PCI_DATA_WIDTH(32)"));
    says(&wide("parameter C_PCI_DATA_WIDTH = 9'd64", "[parameters]\nOTHER = 1\n").unwrap_err(), &["has no parameter OTHER"]);
    // Of one direction.
    let half = |way: &str| {
        let (ports, body) = riffa(1, 64, "CHNL_");
        let keep = |line: &&str| line.contains(way) || !line.contains("CHNL_");
        let ports: Vec<&str> = ports.split(",\n").filter(keep).collect();
        (ports.join(",\n"), body.lines().filter(keep).collect::<Vec<_>>().join("\n"))
    };
    says(&build("", &half("CHNL_TX")).unwrap_err(), &["none of h2c", "direction = \"c2h\""]);
    says(&build("", &half("CHNL_RX")).unwrap_err(), &["none of c2h", "direction = \"h2c\""]);
    for (way, direction) in [("CHNL_TX", "c2h"), ("CHNL_RX", "h2c")] {
        let made = build(&format!("[[channel]]\nname = \"a\"\ndirection = \"{direction}\"\n"), &half(way)).unwrap();
        assert_eq!(made.manifest.channels.iter().map(|c| c.direction.to_string()).collect::<Vec<_>>(), [direction]);
    }
    // What is wrong.
    says(&build(&two(64), &riffa(2, 32, "CHNL_")).unwrap_err(), &["has 32 bit a channel", "write width = 32 in channel \"a\""]);
    says(&build(&two(128), &riffa(2, 128, "CHNL_")).unwrap_err(), &["core.width is 64", "make that 128"]);
    says(&build(&two(32).replacen("32", "64", 1), &riffa(2, 32, "CHNL_")).unwrap_err(), &["\"a\" and \"b\"", "one width"]);
    says(&build("", &riffa(1, 64, "C_")).unwrap_err(), &["has a port CHNL_RX_LEN", "riffa0 = \"CHNL_*\""]);
    says(&build("[[channel]]\nname = \"a\"\nwidth = 16\n", &riffa(1, 16, "CHNL_")).unwrap_err(), &["line 9", "32, 64 or 128"]);
    says(&build("[[channel]]\nname = \"a\"\nmessage_bytes = 16\n", &riffa(1, 64, "CHNL_")).unwrap_err(), &["line 9", "own ends"]);
}

#[test]
fn xillybuss_files_are_found_by_their_ports() {
    let world = world();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    world.with_memories();
    let build = |channels: &str, ports: &str, body: &str| {
        let manifest =
            format!("[core]\nname = \"other\"\ntop = \"other\"\nsources = [\"other.sv\"]\nwidth = 64\nports = \"xillybus\"\n{channels}");
        let source = format!("// user_r_not_this_rden\nmodule other (\n  input logic bus_clk,\n{ports}\n);\n{body}\nendmodule\n");
        wrap(&world.files("other", &manifest, &source), &BuildOptions::default(), None)
    };
    let read = "output logic [15:0] user_r_a_b_data, output logic user_r_a_b_empty, input logic user_r_a_b_rden,";
    let write = "input logic [127:0] user_w_Big_data, output logic user_w_Big_full, input logic user_w_Big_wren,";
    let file =
        "input logic [10:0] user_mem_addr, input logic [31:0] user_w_mem_data, output logic user_w_mem_full, input logic user_w_mem_wren";
    let (ports, body) =
        (format!("{read}\n{write}\n{file}"), "assign {user_r_a_b_data, user_r_a_b_empty, user_w_Big_full, user_w_mem_full} = '0;");
    let made = build("", &ports, body).unwrap();
    let names: Vec<_> = made.manifest.channels.iter().map(|c| format!("{} {} {}", c.name, c.direction, c.carrier.is_some())).collect();
    assert_eq!(names, ["a_b c2h false", "big h2c false", "mem h2c true", "mem c2h true"]);
    let parts = [
        "tp_xillybus_read #(",
        ".WIDTH(16)",
        ".eof(own_a_b_r_eof)",
        "own_a_b_r_eof = '0",
        ".user_w_Big_data(own_big_w_data)",
        ".WIDTH(128)",
    ];
    for part in parts.into_iter().chain([".READS(0)", ".ADDRESS(11)", ".BYTES(64'd8192)", ".bus_clk(clk)"]) {
        assert!(made.text.contains(part), "no {part}: {}", made.text);
    }
    // A reset of the core's is one.
    let text = build("", &format!("input logic quiesce, {ports}"), body).unwrap().text;
    assert!(text.contains(".quiesce(!rst_n)"), "{text}");
    // With names of its own.
    let own = ports.replace("user_r_a_b", "mine");
    let listed = channel("a_b", "c2h", "") + &channel("big", "h2c", "") + "[[channel]]\nname = \"mem\"\nkind = \"memory\"\n";
    let text =
        build(&format!("{listed}bytes = 8192\n[ports]\na_b_r = \"mine_*\"\n"), &own, &body.replace("user_r_a_b", "mine")).unwrap().text;
    assert!(text.contains(".mine_data(own_a_b_r_data)"), "{text}");
    // Two ports for one: neither is left out without a word.
    let twice = format!("input logic mine, {ports}");
    let named = format!("{listed}bytes = 8192\n[ports]\na_b_r_rden = \"mine\"\n");
    says(&build(&named, &twice, body).unwrap_err(), &["\"mine\" and \"user_r_a_b_rden\"", "a_b_r_rden", "unused"]);
    let text = build(&format!("{named}unused = [\"user_r_a_b_rden\"]\n"), &twice, body).unwrap().text;
    assert!(text.contains(".mine(own_a_b_r_rden)") && text.contains(".user_r_a_b_rden('0)"), "{text}");
    // Of a core that is not written for Xillybus these names are no clock and no reset.
    let stream = "input logic clk, rst_n, bus_clk, quiesce, input logic [63:0] a_tdata, input logic a_tvalid, output logic a_tready";
    let manifest = "[core]\nname = \"other\"\ntop = \"other\"\nsources = [\"other.sv\"]\nwidth = 64\n[[channel]]\nname = \"a\"\ndirection = \"h2c\"\ntkeep = false\ntlast = false\n";
    let source = format!("module other ({stream});\nassign a_tready = bus_clk ^ quiesce;\nendmodule\n");
    let alone = |ports: &str| wrap(&world.files("other", &format!("{manifest}{ports}"), &source), &BuildOptions::default(), None);
    says(&alone("").unwrap_err(), &["bus_clk", "quiesce"]);
    let text = alone("[ports]\nunused = [\"bus_clk\", \"quiesce\"]\n").unwrap().text;
    assert!(text.contains(".bus_clk('0)") && text.contains(".quiesce('0)"), "{text}");
    // What is wrong.
    let fails = |channels: &str, parts: &[&str]| says(&build(channels, &ports, body).unwrap_err(), parts);
    fails(&format!("{listed}bytes = 4096\n"), &["\"mem\" reaches 8192 bytes", "write bytes = 8192"]);
    fails(&format!("{}bytes = 8192\n", listed.replacen("\"h2c\"\n", "\"h2c\"\nmessage_bytes = 4\n", 1)), &["line 14", "eof says"]);
    fails(&channel("a_b", "c2h", ""), &["\"user_w_Big_data\"", "name = \"big\", direction = \"h2c\""]);
    fails(&(channel("big", "h2c", "") + "[[channel]]\nname = \"a_b\"\n"), &["channel \"a_b\"", "user_w_a_b_wren", "a_b_w_wren = "]);
    fails(&(channel("a_b", "c2h", "width = 32") + &channel("big", "h2c", "")), &["\"user_r_a_b_data\" (output, 16 bits)", "32 bits"]);
    let folder = world.root.join("user/drafted");
    std::fs::create_dir_all(&folder).unwrap();
    let made = draft(
        &folder,
        &["_fifo", ""].map(|part| root.join(format!("cores/xillybus_demo/xillybus_demo{part}.v"))),
        "xillybus_demo",
        &[],
        None,
    )
    .unwrap();
    for part in ["name = \"mem_8\"\nports = \"xillybus\"\nkind = \"memory\"\nbytes = 4096\n", "clk = \"bus_clk\"\n", "rst = \"quiesce\"\n"]
    {
        assert!(made.manifest.contains(part), "no {part}: {}", made.manifest);
    }
    std::fs::write(folder.join("towpath.toml"), &made.manifest).unwrap();
    let names = |folder: &Path| {
        let text = wrap(folder, &BuildOptions::default(), None).unwrap().manifest;
        let mut names: Vec<_> = text.channels.iter().map(|c| format!("{} {}", c.name, c.direction)).collect();
        names.sort();
        names
    };
    assert_eq!(names(&folder), names(&root.join("cores/xillybus_demo")));
    let small = build("", &ports.replace("[31:0]", "[127:0]"), body).unwrap_err();
    says(&small, &["channel \"mem\" has 128 bit", "core.width is 64"]);
}
