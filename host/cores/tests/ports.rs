// SPDX-License-Identifier: Apache-2.0
//! Cores whose ports have other names: what joins them, and what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use towpath_cores::{wrap, BuildOptions, CoreError, Direction};

mod common;
use common::{says, world, World, MANIFEST, PORTS};

fn wrapped(folder: &std::path::Path) -> Result<String, CoreError> {
    let text = wrap(folder, &BuildOptions::default(), None).map(|wrapped| wrapped.text);
    assert!(!text.as_ref().is_ok_and(|text| text.contains("tp_core_check")), "the checker is for simulation");
    text
}

/// PORTS with each port renamed, by whole words.
fn renamed(names: &BTreeMap<String, String>) -> String {
    let text = PORTS.replace("BODY", "");
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        out.push_str(names.get(&word).map_or(&word, |name| name));
        out.push(c);
        word.clear();
    }
    out
}

fn port_names() -> Vec<String> {
    let head = &PORTS[PORTS.find(") (").unwrap() + 3..PORTS.find("\n);").unwrap()];
    let words: Vec<&str> = head.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    words
        .into_iter()
        .filter(|w| ["clk", "rst_n"].contains(w) || w.contains("in_t") || w.contains("results_") || w.contains("s_axil_"))
        .map(String::from)
        .collect()
}

fn core(world: &World, name: &str, names: &BTreeMap<String, String>, ports: &str) -> PathBuf {
    world.files(name, &format!("{MANIFEST}\n[ports]\n{ports}\n"), &renamed(names))
}

/// What each port of the core is connected to, in the module before it.
fn connections(text: &str) -> BTreeMap<String, String> {
    let shim = &text[text.find("module tp_core_shim_0 (").expect("a module with the names that everything else uses")..];
    let instance = &shim[shim.find(" core (\n").unwrap()..];
    let lines = instance.lines().map(|line| line.trim().trim_end_matches(','));
    let pairs = lines.filter_map(|line| line.strip_prefix('.')?.strip_suffix(')')?.split_once('('));
    pairs.map(|(port, to)| (port.to_string(), to.to_string())).collect()
}

#[test]
fn ports_by_other_names() {
    let world = world();
    let given = std::env::var("TOWPATH_SEED").ok().and_then(|text| text.parse().ok());
    let mut state: u64 = given.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64);
    println!("TOWPATH_SEED={state}");
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let all = port_names();
    assert_eq!(all.len(), 2 + 10 + 3 + 17, "{all:?}");
    for _ in 0..6 {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut table = String::new();
        let mut expected: BTreeMap<String, String> = BTreeMap::new();
        // Clock and reset: known names, or told ones.
        let clock = ["aclk", "ap_clk", "CLK", "ticks"][random(4) as usize];
        let (reset, low) = [("aresetn", true), ("rst", false), ("ARESETN", true), ("zap", false)][random(4) as usize];
        if clock == "ticks" {
            table += "clk = \"ticks\"\n";
        }
        if reset == "zap" {
            table += "rst = \"zap\"\n";
        }
        names.insert("clk".into(), clock.into());
        names.insert("rst_n".into(), reset.into());
        expected.insert(clock.into(), "clk".into());
        expected.insert(reset.into(), if low { "rst_n" } else { "!rst_n" }.into());
        // Bundles: as they are, by a known prefix, or by a pattern.
        for (bundle, known) in [("in", "s_axis_"), ("results", "m_axis_"), ("s_axil", "S_AXI_CTRL_")] {
            let how = random(3);
            let (before, after) = match how {
                0 => (format!("{bundle}_"), ""),
                1 => (known.to_string(), ""),
                _ => (format!("p{}_", random(1000)), "_x"),
            };
            if how == 2 {
                table += &format!("{bundle} = \"{before}*{after}\"\n");
            }
            for port in all.iter().filter_map(|name| name.strip_prefix(bundle)?.strip_prefix('_')) {
                // Large letters are as good, where a whole bundle has them.
                let name = if known.starts_with('S') && how == 1 {
                    format!("{before}{}", port.to_uppercase())
                } else {
                    format!("{before}{port}{after}")
                };
                expected.insert(name.clone(), format!("{bundle}_{port}"));
                names.insert(format!("{bundle}_{port}"), name);
            }
        }
        let text = wrapped(&core(&world, "renamed", &names, &table)).unwrap_or_else(|e| panic!("{table}\n{e}"));
        assert_eq!(connections(&text), expected, "{table}");
    }
    // As it stands it needs nothing between.
    let text = wrapped(&core(&world, "renamed", &BTreeMap::new(), "")).unwrap();
    assert!(!text.contains("tp_core_shim"), "{text}");
}

#[test]
fn ports_that_nothing_is_for() {
    let world = world();
    let extra =
        "input logic [3:0] mode, input logic dbg_a, output logic [7:0] dbg_b, input logic [2:0] s_axil_awprot,\n  input logic rst_n,";
    let source = PORTS.replace("BODY", "  assign dbg_b = '0;").replacen("input logic rst_n,", extra, 1);
    let build = |table: &str| wrapped(&world.files("extra", &format!("{MANIFEST}\n[ports]\n{table}\n"), &source));
    let error = build("").unwrap_err();
    says(&error, &["extra.sv:2", "\"mode\" (input, 4 bits)", "list it in unused of [ports]"]);
    assert!(!error.to_string().contains("emove"), "a port of someone else's core stays: {error}");
    let text = build("unused = [\"dbg_*\"]\ntied = { mode = 9 }").unwrap();
    let to = connections(&text);
    let of = |port: &str| to[port].as_str();
    assert_eq!([of("mode"), of("dbg_a"), of("dbg_b"), of("s_axil_awprot"), of("in_tdata")], ["9", "'0", "", "'0", "in_tdata"]);
    // What is wrong in the table, with its line and the core's own names.
    for (table, parts) in [
        ("in = \"nothing_*\"", ["line 18", "no port of such a name"]),
        ("clk = \"clock_in\"", ["no port \"clock_in\"", "it has clk"]),
        ("unused = [\"dbg_*\", \"trace_*\"]", ["no port is left that \"trace_*\"", "correct it"]),
        ("tied = { dbg_b = 1 }", ["tied.dbg_b", "it is output"]),
        ("mode = [\"dbg_a\", \"mode\"]", ["[ports] mode", "only clk, rst_n and rst"]),
        ("in_error = \"mode\"\nunused = [\"dbg_*\"]", ["port \"mode\" (in_error) has 4 bits", "expected input, 1 bit"]),
    ] {
        says(&build(table).unwrap_err(), &parts);
    }
    // Two clocks that may be meant.
    let two = source.replacen("input logic clk,", "input logic aclk, ap_clk,", 1);
    let build =
        |table: &str| wrapped(&world.files("clocks", &format!("{MANIFEST}\n[ports]\nunused = [\"dbg_*\", \"mode\"]\n{table}\n"), &two));
    says(&build("").unwrap_err(), &["several ports may be clocks", "clk = [\"aclk\", \"ap_clk\"] in [ports]"]);
    let to = connections(&build("clk = [\"aclk\", \"ap_clk\"]").unwrap());
    assert_eq!((to["aclk"].as_str(), to["ap_clk"].as_str()), ("clk", "clk"));
}

#[test]
fn a_name_is_given_once_and_prefixes_are_as_the_core_writes_them() {
    let world = world();
    let with = |ports: &str| PORTS.replace("BODY", "").replacen("input logic rst_n,", &format!("input logic rst_n, {ports},"), 1);
    let build = |table: &str, source: &str| wrapped(&world.files("twice", &format!("{MANIFEST}\n[ports]\n{table}\n"), source)).unwrap_err();
    let error = build("in = \"in_*\"", &with("in_ERROR, in_error"));
    says(&error, &["line 18: [ports] in: \"in_error\" and \"in_ERROR\" would both be in_error: name one of them"]);
    let error = build("in = \"in_*\"\nin_error = \"wrong\"", &with("in_error, wrong"));
    says(&error, &["line 19: [ports] in_error: \"wrong\" and \"in_error\" would both be in_error"]);
    // Two that may be the registers.
    let source =
        PORTS.replace("BODY", "").replace("s_axil_", "S_Axi_").replacen("input logic rst_n,", "input logic rst_n, Other_AWADDR,", 1);
    let error = wrapped(&world.files("prefix", MANIFEST, &source)).unwrap_err();
    says(&error, &["several ports may be the registers: Other_, S_Axi_:", "s_axil = \"Other_*\" in [ports]"]);
}

#[test]
fn registers_alone_and_parameters_of_all_kinds() {
    let world = world();
    let manifest = &MANIFEST[..MANIFEST.find("[[channel]]").unwrap()];
    let begin = PORTS.find("  input logic [31:0] s_axil_awaddr").unwrap();
    let body = "  if (HALF != 0.5 || WIDE != 40'hff_0000_0001 || NAME != \"abc\" || YES != 1) $error(\"parameters\");";
    let head = "module NAME #(parameter real HALF = 0.0, parameter [39:0] WIDE = 0, parameter NAME = \"\", parameter YES = 0) (\n  input logic clk, rst_n,\n";
    let ports = PORTS[begin..].replace("BODY", body).replace("  assign {in_tready, results_tdata, results_tkeep, results_tlast, results_tvalid, results_length, results_offset, results_user} = '0;\n", "");
    let source = format!("{}{ports}", head.replacen("NAME", "alone", 1));
    let whole = |parameters: &str| format!("{}[parameters]\n{parameters}\n[registers]\n", manifest.replace("NAME", "alone"));
    let folder = world.files("alone", "", "");
    let build = |parameters: &str| {
        std::fs::write(folder.join("towpath.toml"), whole(parameters)).unwrap();
        std::fs::write(folder.join("alone.sv"), &source).unwrap();
        wrap(&folder, &BuildOptions::default(), None)
    };
    let good = "HALF = 0.5\nWIDE = \"40'hff_0000_0001\"\nNAME = \"abc\"\nYES = true";
    let made = build(good).unwrap();
    let channels: Vec<_> = made.manifest.channels.iter().map(|channel| (channel.name.as_str(), channel.direction)).collect();
    assert_eq!(channels, [("none", Direction::C2h)]);
    assert!(made.text.contains("assign none_tvalid = '0;"), "{}", made.text);
    says(&build(&good.replace("0.5", "[1]")).unwrap_err(), &["line 8", "a value is a number, true, false or text", "array"]);
    says(&build(&good.replace("0.5", "nan")).unwrap_err(), &["line 8", "HALF", "is not a number"]);
    says(&build(&good.replace("\"40'hff_0000_0001\"", "0xff_0000_0001")).unwrap_err(), &["line 9", "64'd1095216660481"]);
    says(&build(&good.replace("'hff", "'dff")).unwrap_err(), &["line 9", "quotes"]);
    assert!(build(&good.replace("0.5", "0.25")).unwrap_err().to_string().contains("parameters"));
    says(&build(&good.replace("NAME", "NAMED")).unwrap_err(), &["line 10", "no parameter NAMED"]);
}

#[test]
fn streams_of_another_shape() {
    let world = world();
    let shaped = |keys: &str| MANIFEST.replacen("direction = \"h2c\"", &format!("direction = \"h2c\"\n{keys}"), 1);
    let out = |keys: &str| MANIFEST.replacen("direction = \"c2h\"", &format!("direction = \"c2h\"\n{keys}"), 1);
    let build = |manifest: &str, source: &str| wrapped(&world.files("shaped", manifest, &source.replace("BODY", "")));
    let narrow = PORTS.replace(
        "logic [DATA_WIDTH-1:0] in_tdata, input logic [DATA_WIDTH/8-1:0] in_tkeep, input logic in_tlast, in_tvalid",
        "logic [15:0] in_tdata, input logic in_tvalid",
    );
    // What would help is named.
    says(
        &build(MANIFEST, &narrow).unwrap_err(),
        &[
            "shaped.sv:3",
            "\"in_tdata\" has 16 bits",
            "or write width = 16 in the channel",
            "or write tkeep = false",
            "or write tlast = false",
        ],
    );
    let text = build(&shaped("width = 16\ntkeep = false\ntlast = false"), &narrow).unwrap();
    assert!(text.contains(".S_WIDTH(64),") && text.contains(".M_WIDTH(16),"), "{text}");
    // Words of any width, without tkeep.
    let text = build(&shaped("width = 12\ntkeep = false\ntlast = false"), &narrow.replace("[15:0] in_tdata", "[11:0] in_tdata")).unwrap();
    assert!(text.contains(".M_WIDTH(16),") && text.contains(".in_tdata(own_in_tdata[11:0])"), "{text}");
    says(&build(&shaped("width = 4\ntkeep = false"), &narrow).unwrap_err(), &["line 10", "make it 8 to 512"]);
    let error = build(&shaped("width = 32\ntkeep = false\ntlast = false"), &narrow).unwrap_err();
    says(&error, &["shaped.sv:3", "\"in_tdata\" (input, 16 bits)", "wants input, 32 bits", "its width is 32"]);
    says(&build(&shaped("width = 16"), &narrow).unwrap_err(), &["a port \"in_tkeep\"", "or tkeep = false", "or tlast = false"]);
    for (manifest, parts) in [
        (shaped("width = 24"), ["line 10", "power of two, 8 to 512"]),
        (shaped("message_bytes = 8"), ["line 10", "the host says where messages end"]),
        (out("message_bytes = 8"), ["line 13", "write tlast = false"]),
        (out("tlast = false\nmessage_bytes = 0"), ["line 14", "make it 1 or more"]),
        (out("tlast = false\nmessage_bytes = \"size\""), ["line 14", "name it in [registers.names]"]),
    ] {
        says(&build(&manifest, &narrow).unwrap_err(), &parts);
    }
}

#[test]
fn streams_without_ready() {
    let world = world();
    let keys = |of: &str, keys: &str| {
        let direction = format!("direction = \"{of}\"");
        MANIFEST.replacen(&direction, &format!("{direction}\n{keys}"), 1)
    };
    let bare = PORTS.replace(", input logic results_tready", "").replace("in_tvalid, output logic in_tready", "in_tvalid");
    let bare = bare.replace("{in_tready, results", "{results").replace("BODY", "");
    let build = |manifest: &str, source: &str| wrapped(&world.files("unheld", manifest, source));
    let plain = keys("h2c", "");
    says(&build(&plain, &bare).unwrap_err(), &["\"in_tready\"", "or write tready = false"]);
    let both = keys("h2c", "tready = false").replacen("\"c2h\"", "\"c2h\"\ntready = false\noverflow = \"end\"\nbuffer_bytes = 512", 1);
    let text = build(&both, &bare).unwrap();
    for part in ["assign own_in_tready = 1'b1;", ".DEPTH(64)", ".RESUME(1)", ".ENDS(1)", ".TOLD(0)"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    let has = PORTS.replace("BODY", "");
    says(&build(&both, &has).unwrap_err(), &["remove tready = false"]);
    for (manifest, parts) in [
        (keys("h2c", "overflow = \"end\""), ["line 10", "write tready = false, or remove overflow"]),
        (keys("h2c", "tready = false\nbuffer_bytes = 512"), ["line 11", "takes everything"]),
        (keys("c2h", "tready = false\nbuffer_bytes = 300"), ["line 14", "a power of two, 256 to 1048576"]),
        (keys("c2h", "tready = false\noverflow = \"drop\""), ["line 14", "expected `stop` or `end`"]),
        (keys("h2c", "ports = \"fifo\"\ntready = false"), ["line 11", "tready is for AXI4-Stream"]),
    ] {
        says(&build(&manifest, &has).unwrap_err(), &parts);
    }
}

#[test]
fn what_goes_beside_a_stream_of_another_shape_is_checked_too() {
    let world = world();
    let manifest = MANIFEST.replacen("direction = \"c2h\"", "direction = \"c2h\"\ntkeep = false", 1);
    let manifest = manifest.replacen("direction = \"h2c\"", "direction = \"h2c\"\ntkeep = false", 1);
    let bare = PORTS.replace(", output logic [DATA_WIDTH/8-1:0] results_tkeep", "").replace(" results_tkeep,", "");
    let bare = bare.replace(" input logic [DATA_WIDTH/8-1:0] in_tkeep,", "").replace("BODY", "");
    let build = |source: &str| wrapped(&world.files("beside", &manifest, source));
    build(&bare).unwrap();
    // Two are optional.
    let more = |ports: &str| bare.replacen("input logic rst_n,", &format!("input logic rst_n, {ports},"), 1);
    build(&more("input logic in_error, in_reset, results_reset")).unwrap();
    let gone = bare.replace(" output logic [47:0] results_length,", "").replace(" results_length,", "");
    says(&build(&gone).unwrap_err(), &["a port \"results_length\", output, 48 bits", "or remove attributes"]);
    for (source, parts) in [
        (bare.replace("[47:0] results_length", "[63:0] results_length"), ["\"results_length\" (output, 64 bits)", "wants output, 48 bits"]),
        (more("input logic [1:0] in_error"), ["\"in_error\" (input, 2 bits)", "channel \"in\" wants input, 1 bit"]),
        (more("output logic results_reset"), ["\"results_reset\" (output, 1 bit)", "channel \"results\" wants input, 1 bit"]),
    ] {
        says(&build(&source).unwrap_err(), &parts);
    }
}
