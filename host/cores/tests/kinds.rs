// SPDX-License-Identifier: Apache-2.0
//! Kinds of channel: what a manifest and a kind.toml may say, what the user is told of those that are wrong, and what is generated.
//! The kinds here are ports and no more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use towpath_cores::{build, wrap, BuildOptions, CoreError, Direction, Manifest, Wrapped};

mod common;
use common::{says, world, World};

/// Ports of a module in the test's shorthand, a line each: `i` or `o`, bits (`W`: the data width), name.
fn module(name: &str, parameters: &str, ports: &[String]) -> String {
    let mut text = format!("module {name} #(parameter int DATA_WIDTH = 128{parameters}) (\n");
    for (n, port) in ports.iter().enumerate() {
        let [way, bits, name] = port.split(' ').collect::<Vec<_>>()[..] else { panic!("{port}") };
        let high = match bits {
            "W" => "DATA_WIDTH-1".to_string(),
            "W/8" => "DATA_WIDTH/8-1".to_string(),
            bits => format!("{bits}-1"),
        };
        let way = if way == "i" { "input" } else { "output" };
        let comma = if n + 1 < ports.len() { "," } else { "" };
        let _ = writeln!(text, "  {way} logic [{high}:0] {name}{comma}");
    }
    text.push_str(");\n");
    for port in ports.iter().filter(|port| port.starts_with('o')) {
        let _ = writeln!(text, "  assign {} = '0;", port.split(' ').next_back().unwrap());
    }
    text + "endmodule\n"
}

fn split(ports: &str) -> Vec<String> {
    ports.split(',').map(|port| port.trim().to_string()).collect()
}

const CLOCKS: &str = "i 1 clk,i 1 rst_n";
const S: &str =
    "i 1 s_tvalid,o 1 s_tready,i W s_tdata,i W/8 s_tkeep,i 1 s_tlast,i 1 s_error,i 64 s_length,i 64 s_offset,i 32 s_user,i 1 s_reset";
const M: &str = "o 1 m_tvalid,i 1 m_tready,o W m_tdata,o W/8 m_tkeep,o 1 m_tlast,o 48 m_length,o 32 m_offset,o 32 m_user,i 1 m_reset";
const END: &str = "o 1 end_valid,i 1 end_ready,o 6 end_status";
const ASK: &str = "o 6 m_status,i 1 ask_valid,o 1 ask_ready,i 1 ask_cancel,i 32 ask_length,i 64 ask_offset,i 32 ask_user";
const WRITE: &str = "o ADDRESS_WIDTH core_awaddr,o 8 core_awlen,o 1 core_awvalid,i 1 core_awready,o W core_wdata";
const READ: &str = "o ADDRESS_WIDTH core_araddr,i W core_rdata,i 2 core_rresp";

const KIND: &str = "[kind]
name = \"crc\"
version = 3
[h2c]
module = \"crc_check\"
sources = [\"crc.sv\"]
verdicts = true
[c2h]
module = \"crc_add\"
sources = [\"./crc.sv\"]
";

/// The stand-in for Towpath's own kind, and one of somebody else in the folder `crc`.
fn kinds(world: &World) -> PathBuf {
    let own = world.root.join("gateware/channel/memory");
    std::fs::create_dir_all(&own).unwrap();
    let manifest = "[kind]\nname = \"memory\"\nnumber = 1\nversion = 1\n[h2c]\nmodule = \"mw\"\nsources = [\"m.sv\"]\nverdicts = true\n\
                    [c2h]\nmodule = \"mr\"\nsources = [\"m.sv\"]\nasked = true\nahead = true\n";
    std::fs::write(own.join("kind.toml"), manifest).unwrap();
    let parameters = ", parameter int ADDRESS_WIDTH = 32, parameter logic [63:0] BYTES = 0, BASE = 0";
    let ports = |lists: &[&str]| -> Vec<String> { lists.iter().flat_map(|list| split(list)).collect() };
    let both = module("mw", parameters, &ports(&[CLOCKS, S, END, WRITE])) + &module("mr", parameters, &ports(&[CLOCKS, M, ASK, READ]));
    std::fs::write(own.join("m.sv"), both).unwrap();
    kind(world, "crc", KIND, &crc())
}

fn crc() -> String {
    let ports = |lists: &[&str]| -> Vec<String> { lists.iter().flat_map(|list| split(list)).collect() };
    let parameter = ", parameter int POLYNOMIAL = 1";
    module("crc_check", ", parameter int POLYNOMIAL = 1, parameter int SEED = 0", &ports(&[CLOCKS, S, END, "o W core_data,i 1 core_ready"]))
        + &module("crc_add", parameter, &ports(&[CLOCKS, M, "i POLYNOMIAL core_word"]))
}

fn kind(world: &World, name: &str, manifest: &str, source: &str) -> PathBuf {
    let folder = world.root.join("user").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kind.toml"), manifest).unwrap();
    std::fs::write(folder.join("crc.sv"), source).unwrap();
    folder
}

const HEAD: &str = "[core]\nname = \"NAME\"\ntop = \"NAME\"\nsources = [\"NAME.sv\"]\nwidth = 64\n";
const RAM: &str = "[[channel]]\nname = \"ram\"\nkind = \"memory\"\nbytes = 0x10000\n";
const CHECKED: &str = "[[channel]]\nname = \"checked\"\nkind = \"../crc\"\n";
/// The core's ports for both channels, and what a memory leaves alone.
const PORTS: &str =
    "i 1 clk,i 1 rst_n,i 32 ram_awaddr,i 8 ram_awlen,i 1 ram_awvalid,o 1 ram_awready,i 64 ram_wdata,i 4 ram_awid,o 4 ram_bid,\
                     i 32 ram_araddr,o 64 ram_rdata,o 2 ram_rresp,i 3 ram_arprot,i 64 checked_data,o 1 checked_ready,o 5 checked_word";

/// The manifest's channels, and the ports of a core for them.
fn core(world: &World, name: &str, channels: &str, ports: &str) -> PathBuf {
    let source = if ports.is_empty() { String::new() } else { module(name, "", &split(ports)) };
    world.files(name, &format!("{HEAD}{channels}"), &source)
}

#[track_caller]
fn refused(folder: &Path) -> CoreError {
    wrap(folder, &BuildOptions::default(), None).expect_err("this core must be refused")
}

#[test]
fn manifests() {
    let world = world();
    kinds(&world);
    let read = |channels: &str| Manifest::read(&core(&world, "kinds", channels, ""));
    let manifest = read(&format!("{RAM}{CHECKED}direction = \"h2c\"\nparameter = 7\n")).unwrap();
    let told: Vec<_> = manifest.channels.iter().map(|c| (c.name.as_str(), c.direction, c.carrier.as_ref().unwrap().parameter)).collect();
    assert_eq!(told, [("ram", Direction::H2c, 16), ("ram", Direction::C2h, 16), ("checked", Direction::H2c, 7)]);
    // A name is the name of a stream, too.
    assert!(read("[[channel]]\nname = \"a\"\ndirection = \"h2c\"\nkind = \"stream\"\n").unwrap().channels[0].carrier.is_none());

    // RAM begins in line 6: its `bytes` is line 9, what is added line 10.
    let try_one = |channels: &str, parts: &[&str]| {
        let error = read(channels).expect_err(channels);
        assert!(matches!(error, CoreError::Manifest { .. }), "{error}");
        says(&error, parts);
    };
    let ram = |old: &str, new: &str| RAM.replace(old, new);
    try_one(&ram("\"memory\"", "\"memroy\""), &["line 8: ", "no kind \"memroy\"", "memory, stream", "\"../memroy\""]);
    try_one(&ram("\"memory\"", "\"../gone\""), &["line 8: ", "\"../gone\"", "no file", "gone/kind.toml"]);
    for bytes in ["0", "4095", "4097", "0x100000000000"] {
        try_one(&ram("0x10000", bytes), &["line 9: ", "bytes = ", "multiple of 4096, 4096 to 17592186040320"]);
    }
    try_one(&ram("bytes = 0x10000", ""), &["line 6: ", "bytes = a multiple of 4096"]);
    try_one(&format!("{RAM}address_bits = 15\n"), &["line 9: ", "0x10000", "address_bits = 15", "0x8000"]);
    try_one(&format!("{RAM}address_bits = 65\n"), &["line 10: ", "13 to 64"]);
    try_one(&format!("{RAM}base = 0xffff1000\n"), &["line 10: ", "0x100001000", "address_bits = 32"]);
    try_one(&format!("{RAM}base = 0x100\n"), &["line 10: ", "base = 0x100", "multiple of 4096"]);
    assert!(read(&format!("{RAM}base = 0xffff0000\n")).is_ok(), "the last byte is the last address");
    try_one(&format!("{RAM}direction = \"h2c\"\n"), &["line 10: ", "both directions"]);
    try_one(&format!("{RAM}attributes = true\n"), &["line 10: ", "attributes are for streams"]);
    try_one(&format!("{RAM}parameter = 1\n"), &["line 10: ", "bytes, base, address_bits and window"]);
    // The line is that of the entry, not of another one with the same key.
    try_one(&format!("{RAM}{CHECKED}bytes = 8192\n"), &["line 13: ", "channel \"checked\"", "bytes is for kind = \"memory\"", "\"crc\""]);
    try_one("[[channel]]\nname = \"a\"\ndirection = \"h2c\"\nbase = 0\n", &["line 9: ", "base is for kind = \"memory\""]);
    try_one("[[channel]]\nname = \"a\"\ndirection = \"h2c\"\nwindow = true\n", &["line 9: ", "window is for kind = \"memory\""]);
    try_one(&format!("{CHECKED}window = true\n"), &["window is for kind = \"memory\"", "\"crc\""]);
    let large = RAM.replace("0x10000", "0x800000000") + "address_bits = 40\nwindow = true\n";
    let many = format!("{large}{}{}", large.replace("ram", "two"), RAM.replace("ram", "small") + "window = true\n");
    try_one(&many, &["line 22: ", "channel \"small\"", "BAR 4 has 137438953472 bytes", "room for 68719476736"]);
    // Windows of 32 GiB, 16 GiB and so on to 1 MiB leave the last MiB, for which the discovery table has no number.
    let window = |name: &str, bytes: u64| {
        format!("{}address_bits = 40\nwindow = true\n", RAM.replace("ram", name).replace("0x10000", &bytes.to_string()))
    };
    let halves: String = (0..16).map(|n| window(&format!("half{n}"), 1 << (35 - n))).collect();
    assert!(read(&halves).is_ok());
    try_one(&format!("{halves}{}", window("last", 4096)), &["line 107: ", "channel \"last\"", "the last MiB of BAR 4"]);
    try_one("[[channel]]\nname = \"a\"\n", &["line 6: ", "direction = \"h2c\" or \"c2h\""]);
    try_one("[[channel]]\nname = \"a\"\ndirection = \"h2c\"\nparameter = 3\n", &["line 9: ", "a stream has no parameters"]);
    try_one(&format!("{CHECKED}[channel.parameters]\nDATA_WIDTH = 3\n"), &["line 10: ", "core.width"]);
    // What the kind says of its parameters, and nothing of others.
    let limits = "[parameters]\nTAPS = { least = 2, most = 64, power_of_two = true }\nSEED = { least = -1, most = 3 }\n";
    kind(&world, "limited", &format!("{KIND}{limits}"), "");
    let limited = |given: &str| format!("{}[channel.parameters]\n{given}\n", CHECKED.replace("../crc", "../limited"));
    for wrong in ["TAPS = 3", "TAPS = 1", "TAPS = 128", "TAPS = true"] {
        try_one(&limited(wrong), &["line 10: ", "channel \"checked\"", "parameters.TAPS = ", "make it a power of two, 2 to 64"]);
    }
    try_one(&limited("TAPS = 4\nSEED = \"x\""), &["line 11: ", "parameters.SEED = \"x\": make it -1 to 3"]);
    try_one(&limited("SEED = 4"), &["line 10: ", "parameters.SEED = 4: make it -1 to 3"]);
    assert!(read(&limited("TAPS = 64\nSEED = -1\nPOLYNOMIAL = 99")).is_ok());
    kind(&world, "one_way", &KIND[..KIND.find("[c2h]").unwrap()], "");
    let one_way = CHECKED.replace("../crc", "../one_way");
    let many: String = (0..31).map(|n| RAM.replace("ram", &format!("ram{n}"))).collect();
    try_one(&many, &["line 6: ", "62 channels: give 1 to 60", "counts as two"]);
    try_one(&format!("{one_way}direction = \"c2h\"\n"), &["line 9: ", "has no c2h direction", "\"h2c\""]);
    assert_eq!(read(&one_way).unwrap().channels.len(), 1);
}

#[test]
fn manifests_of_kinds() {
    let world = world();
    kinds(&world);
    let try_one = |manifest: &str, parts: &[&str]| {
        kind(&world, "faulty", manifest, "");
        let error = Manifest::read(&core(&world, "user", &CHECKED.replace("../crc", "../faulty"), "")).expect_err(manifest);
        assert!(matches!(error, CoreError::Manifest { .. }), "{error}");
        says(&error, &["faulty/kind.toml: "]);
        says(&error, parts);
    };
    try_one(&KIND.replace("\"crc\"", "\"checksums\""), &["line 2: ", "checksums", "1 to 8"]);
    try_one(&KIND.replace("\"crc\"", "\"memory\""), &["line 2: ", "Towpath's own"]);
    try_one(&KIND.replace("\"crc\"", "\"fanout\""), &["line 2: ", "Towpath's own"]);
    try_one(&KIND.replace("version", "number = 1\nversion"), &["line 3: ", "only Towpath's own", "remove it"]);
    try_one(&KIND.replace("version = 3\n", ""), &["version"]);
    try_one(&KIND.replace("crc_add", "crc-add"), &["line 9: ", "c2h.module", "crc-add"]);
    try_one(&KIND.replace("[\"crc.sv\"]", "[]"), &["line 6: ", "h2c.sources is empty"]);
    try_one(&KIND.replace("./crc.sv", "gone.sv"), &["line 10: ", "c2h.sources", "faulty/gone.sv"]);
    try_one(&KIND.replace("verdicts", "asked"), &["line 7", "asked"]);
    try_one(&KIND.replace("crc_add\"", "crc_add\"\nahead = true"), &["line 10: ", "c2h.ahead", "asked = true"]);
    try_one(&format!("{KIND}[parameters]\nTAPS = {{ least = 1 }}\n"), &["line 12", "most"]);
    try_one(&KIND[..KIND.find("[h2c]").unwrap()], &["line 1: ", "[h2c], [c2h] or both"]);
}

#[test]
fn a_kinds_ports() {
    let world = world();
    kinds(&world);
    let ports = "i 1 clk,i 1 rst_n,i 64 checked_data,o 1 checked_ready,o 1 checked_word";
    let try_one = |name: &str, manifest: &str, old: &str, new: &str, parts: &[&str]| {
        let folder = kind(&world, name, manifest, &crc().replace(old, new));
        let error = refused(&core(&world, "user", &CHECKED.replace("../crc", &format!("../{name}")), ports));
        // The manifest names the folder by way of its own.
        let place = |line| format!("{}:{line}:", world.root.join("user/user/..").join(name).join("crc.sv").display());
        assert!(folder.is_dir());
        let parts: Vec<String> = parts.iter().map(|p| p.strip_prefix("line ").map_or(p.to_string(), place)).collect();
        says(&error, &parts.iter().map(String::as_str).collect::<Vec<_>>());
        error
    };
    let error = try_one(
        "kinda",
        KIND,
        "  input logic [1-1:0] s_error,\n",
        "",
        &[
            "kind \"crc\" does not match",
            "kinda/kind.toml",
            "line 1",
            "module \"crc_check\" has no port \"s_error\"",
            "\"input logic s_error\"",
        ],
    );
    assert!(matches!(error, CoreError::Mismatch { .. }));
    try_one("kindb", KIND, "[64-1:0] s_offset", "[31:0] s_offset", &["line 11", "\"s_offset\" has 32 bits", "input, 64 bits", "h2c"]);
    try_one("kindc", KIND, "input logic [1-1:0] m_reset", "output logic [1-1:0] m_reset", &["\"m_reset\" is output", "expected input"]);
    try_one(
        "kindd",
        &KIND.replace("verdicts = true\n", ""),
        "",
        "",
        &["line 14", "\"end_valid\" (output, 1 bit)", "set verdicts = true in [h2c]"],
    );
    try_one(
        "kinde",
        &format!("{KIND}asked = true\n"),
        "",
        "",
        &["no port \"ask_offset\"", "input, 64 bits", "\"input logic [63:0] ask_offset\""],
    );
    try_one("kindf", KIND, "core_word", "word", &["\"word\" (input, 1 bit)", "begin with \"core_\""]);
    try_one("kindg", KIND, "core_data,", "core_data [2],", &["\"core_data\"", "make it a packed vector"]);
    try_one("kindh", KIND, "parameter int DATA_WIDTH = 128, ", "localparam int DATA_WIDTH = 64, ", &["kindh/kind.toml", "DATA_WIDTH"]);
    try_one("kindi", KIND, "endmodule", "oops endmodule", &["kind \"crc\" does not compile", "syntax error"]);
    let twice = core(&world, "twice", &format!("{CHECKED}[channel.parameters]\nTAPS = 3\n"), ports);
    says(&refused(&twice), &["line 10: ", "channel \"checked\"", "no module of its kind has a parameter TAPS"]);
}

#[test]
fn a_cores_ports() {
    let world = world();
    kinds(&world);
    let channels = format!("{RAM}{CHECKED}[channel.parameters]\nPOLYNOMIAL = 5\n");
    let try_one = |name: &str, channels: &str, old: &str, new: &str, parts: &[&str]| {
        let folder = core(&world, name, channels, &PORTS.replace(old, new));
        let error = refused(&folder);
        assert!(matches!(error, CoreError::Mismatch { .. }), "{error}");
        says(&error, &[&format!("core \"{name}\" does not match its manifest")]);
        says(&error, parts);
    };
    try_one(
        "lacks",
        &channels,
        "i 32 ram_awaddr,",
        "",
        &[
            "lacks.sv:1:",
            "no port \"ram_awaddr\"",
            "input, 32 bits",
            "kind \"memory\" of channel \"ram\"",
            "\"input logic [31:0] ram_awaddr\"",
        ],
    );
    // The kind's width follows its parameters.
    try_one("narrow", &channels.replace("= 5", "= 6"), "", "", &["\"checked_word\" has 5 bits", "output, 6 bits", "channel \"checked\""]);
    try_one("narrow", &channels.replace("0x10000\n", "0x10000\naddress_bits = 40\n"), "", "", &["\"ram_araddr\" has 32 bits", "40 bits"]);
    try_one("turned", &channels, "i 64 checked_data", "o 64 checked_data", &["\"checked_data\" is output", "expected input"]);
    try_one("turned", &channels, "i 4 ram_awid", "o 4 ram_awid", &["\"ram_awid\" is output", "expected input, any width"]);
    try_one("more", &channels, "i 4 ram_awid", "i 4 ram_size", &["\"ram_size\"", "kind \"memory\" of channel \"ram\" has no such port"]);
    // A channel's name and a kind's port that make the port of another channel.
    let two = format!("{}{}direction = \"h2c\"\n", CHECKED.replace("checked", "a"), CHECKED.replace("checked", "a_b"));
    kind(&world, "crc", KIND, &crc().replace("core_word", "core_b_data"));
    try_one("clash", &two, "", "", &["\"a_b_data\" belongs to kind \"crc\" of channel \"a\" and to kind \"crc\" of channel \"a_b\""]);
}

#[test]
fn windows_lie_in_the_order_of_the_channels() {
    let world = world();
    kinds(&world);
    // Of 64 KiB, 3 MiB and 1 MiB: the second begins at a multiple of 4 MiB.
    let memory = |name: &str, bytes: u64| format!("{}window = true\n", RAM.replace("ram", name).replace("0x10000", &bytes.to_string()));
    let channels = format!("{}{}{}", memory("a", 1 << 16), RAM, memory("b", 3 << 20) + &memory("c", 1 << 20));
    let folder = core(&world, "windowed", &channels, "");
    let manifest = Manifest::read(&folder).unwrap();
    let found: Vec<_> = manifest.windows().iter().map(|w| (w.name.to_string(), w.offset >> 20, w.bytes)).collect();
    assert_eq!(found, [("a".to_string(), 0, 1 << 16), ("b".to_string(), 4, 3 << 20), ("c".to_string(), 8, 1 << 20)]);
    assert_eq!(manifest.memory_window_bytes(), 16 << 20);
}

/// Streams that can be paired: what the manifest may say, and what the gateware is built with.
#[test]
fn streams_for_peers() {
    let world = world();
    kinds(&world);
    let stream = |name: &str, rest: &str| format!("[[channel]]\nname = \"{name}\"\ndirection = {rest}\n");
    let read = |channels: &str| Manifest::read(&core(&world, "peers", channels, ""));
    let try_one = |channels: &str, parts: &[&str]| says(&read(channels).expect_err(channels), parts);
    for bytes in ["2048", "131072", "12288", "0", "0x100001000"] {
        try_one(&stream("a", &format!("\"h2c\"\npeer = true\ninbox_bytes = {bytes}")), &["line 10: ", "power of two, 4096 to 65536"]);
    }
    try_one(&stream("a", "\"h2c\"\ninbox_bytes = 4096"), &["line 9: ", "channel \"a\"", "give peer = true"]);
    try_one(&stream("a", "\"c2h\"\npeer = true\ninbox_bytes = 4096"), &["line 10: ", "has no inbox"]);
    try_one(&format!("{RAM}peer = true\n"), &["line 10: ", "peer is for streams", "\"memory\""]);
    try_one(&format!("{CHECKED}inbox_bytes = 4096\n"), &["line 9: ", "inbox_bytes is for streams", "\"crc\""]);
    let (small, usual) = (stream("a", "\"h2c\"\npeer = true\ninbox_bytes = 4096"), stream("b", "\"h2c\"\npeer = true"));
    try_one(&format!("{small}{usual}"), &["line 11: ", "channel \"b\"", "16384", "inbox_bytes = 4096 here"]);
    try_one(&format!("{usual}{small}"), &["line 14: ", "channel \"a\"", "4096", "inbox_bytes = 16384 here"]);
    let large = format!("{}address_bits = 40\nwindow = true\n", RAM.replace("0x10000", &(64u64 << 30).to_string()));
    try_one(&format!("{large}{usual}"), &["line 15: ", "channel \"b\"", "137438953472", "remove peer here"]);

    // Of two memories the second has a window, of 3 MiB; the inboxes are behind it, wherever it stands.
    let memory = RAM.replace("ram", "shown").replace("0x10000", "0x300000") + "window = true\n";
    let plain = stream("plain", "\"h2c\"");
    let (one, two) = (small.replace("\"a\"", "\"one\""), small.replace("\"a\"", "\"two\""));
    let channels = format!("{plain}{one}{RAM}{two}{memory}{}{}", stream("quiet", "\"c2h\""), stream("out", "\"c2h\"\npeer = true"));
    let manifest = read(&channels).unwrap();
    assert_eq!(manifest.inboxes(), [("one", 3 << 20), ("two", 4 << 20)]);
    assert_eq!((manifest.memory_window_bytes(), manifest.inbox_first(), manifest.inbox_bytes()), (8 << 20, 3, 4096));
    let ports = |name: &str, h2c: bool| {
        let (to, from) = if h2c { ("i", "o") } else { ("o", "i") };
        format!(",{to} 64 {name}_tdata,{to} 8 {name}_tkeep,{to} 1 {name}_tlast,{to} 1 {name}_tvalid,{from} 1 {name}_tready")
    };
    let memories = PORTS[..PORTS.find("i 64 checked_data").unwrap()].trim().trim_end_matches(',').replacen("i 1 clk,i 1 rst_n,", "", 1);
    let shown = memories.replace("ram_", "shown_");
    let all: String =
        [("plain", true), ("one", true), ("two", true), ("quiet", false), ("out", false)].map(|(n, h2c)| ports(n, h2c)).concat();
    let folder = core(&world, "peers", &channels, &format!("{CLOCKS},{memories},{shown}{all}"));
    let text = wrap(&folder, &BuildOptions::default(), None).unwrap().text;
    for part in [
        // plain, one, ram, two, shown; ram, shown, quiet, out
        "H2C_INBOX = 5'b01010;",
        "C2H_OUTBOX = 4'b1000;",
        "INBOX_BYTES = 4096;",
        "INBOX_FIRST = 3;",
        "MEMORY_WINDOW_BYTES = 64'd8388608;",
        "    {32'd1, 16'd1, 8'd0, 64'h6d6165727473},\n    {32'd0, 16'd1, 8'd0, 64'h6d6165727473},\n",
        "    {32'd4096, 16'd1, 8'd0, 64'h6d6165727473},\n    {32'd0, 16'd1, 8'd0, 64'h6d6165727473}\n",
        "    16'd0,\n    16'd0,\n    16'd1,\n    16'd0,\n    16'd1,\n    16'd5,\n    16'd0,\n    16'd4,\n    16'd0\n",
    ] {
        assert!(text.contains(part), "\"{part}\" is not in:\n{text}");
    }
    let without = core(&world, "peerless", &stream("plain", "\"h2c\""), &format!("{CLOCKS}{}", ports("plain", true)));
    let text = wrap(&without, &BuildOptions::default(), None).unwrap().text;
    assert!(text.contains("H2C_INBOX = 1'b0;") && text.contains("C2H_OUTBOX = 1'b0;") && text.contains("INBOX_BYTES = 16384;"), "{text}");
}

#[test]
fn generated_and_built() {
    let world = world();
    let own = kinds(&world);
    // A stream between the kinds: each finds its own place in the arrays.
    let stream = "[[channel]]\nname = \"plain\"\ndirection = \"h2c\"\n";
    let ports = format!("{PORTS},i 64 plain_tdata,i 8 plain_tkeep,i 1 plain_tlast,i 1 plain_tvalid,o 1 plain_tready");
    let channels = format!("{RAM}base = 0x80000000\n{stream}{CHECKED}parameter = 9\n[channel.parameters]\nPOLYNOMIAL = 5\nSEED = 6\n");
    // The same file by another way.
    let manifest_of_kind = KIND.replace("./crc.sv", "../crc/crc.sv");
    std::fs::write(own.join("kind.toml"), &manifest_of_kind).unwrap();
    let folder = core(&world, "carried", &channels, &ports);
    let Wrapped { manifest, text, .. } = wrap(&folder, &BuildOptions::default(), None).unwrap();
    for part in [
        "localparam logic [NH-1:0] H2C_VERDICTS = 3'b101;",
        "localparam logic [NC-1:0] C2H_ASKED = 2'b01;",
        "localparam logic [NC-1:0] C2H_AHEAD = 2'b01;",
        "    {32'd9, 16'd3, 8'd2, 64'h637263},\n    {32'd16, 16'd1, 8'd1, 64'h79726f6d656d},\n    {32'd9, 16'd3, 8'd2, 64'h637263},\n    \
         {32'd0, 16'd1, 8'd0, 64'h6d6165727473},\n    {32'd16, 16'd1, 8'd1, 64'h79726f6d656d}\n",
        "assign h2c_end_valid[1] = '0;",
        "assign c2h_status[1] = '0;",
        "assign c2h_ask_ready[1] = '0;",
        ".BASE(64'd2147483648)",
        ".BYTES(64'd65536)",
        ".POLYNOMIAL(5)",
        "logic [31:0] kind_ram_awaddr;",
        "logic kind_ram_awvalid;",
        ".s_tdata(h2c_tdata[2])",
        ".end_status(h2c_end_status[2])",
        ".plain_tdata(h2c_tdata[1])",
        ".ask_offset(c2h_ask_offset[0])",
        ".m_tdata(c2h_tdata[1])",
        ".core_awaddr(kind_ram_awaddr)",
        ".ram_awaddr(kind_ram_awaddr)",
        ".checked_word(kind_checked_word)",
        ".ram_awid('0)",
        ".ram_arprot('0)",
        ".ram_bid()",
    ] {
        assert!(text.contains(part), "\"{part}\" is not in:\n{text}");
    }
    assert!(text.contains("MEMORY_WINDOW_BYTES = 64'd0;") && !text.contains("tp_memory_join"), "{text}");
    // A parameter reaches the modules that have it.
    assert_eq!((text.matches(".POLYNOMIAL(5)").count(), text.matches(".SEED(6)").count()), (2, 1), "{text}");
    assert!(!text.contains("end_valid[2] = ") && !text.contains("ask_ready[0] = ") && !text.contains("ram_awlock"), "{text}");
    // The kinds come first, and a file that is named twice once.
    let names: Vec<_> = manifest.sources().iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["m.sv", "crc.sv", "carried.sv"]);

    let options = BuildOptions::default();
    assert!(!build(&folder, &options).unwrap().cached && build(&folder, &options).unwrap().cached);
    std::fs::write(own.join("crc.sv"), crc() + "// changed\n").unwrap();
    assert!(!build(&folder, &options).unwrap().cached, "a kind's source is part of the model");
    std::fs::write(own.join("kind.toml"), manifest_of_kind.replace("= 3", "= 4")).unwrap();
    assert!(!build(&folder, &options).unwrap().cached, "so is its manifest");
}
