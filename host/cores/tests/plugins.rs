// SPDX-License-Identifier: Apache-2.0
//! Plug-ins: what a manifest and a plugin.toml may say, what the user is told of those that are wrong, and what is generated.
//! The plug-ins here are ports and no more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use towpath_cores::{build, wrap, BuildOptions, CoreError, Manifest, Wrapped};

mod common;
use common::{says, world, World};

/// The stand-in for a plug-in that comes with Towpath, and one of somebody else in the folder `meter`.
fn shelf(world: &World) {
    let own = world.root.join("gateware/plugin/reset");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("plugin.toml"), RESET).unwrap();
    let ports = "output logic user_rst_n, output logic [OUTPUTS-1:0] core_rst_n, input logic core_fault";
    let drives = "assign user_rst_n = rst_n; assign core_rst_n = '1;";
    std::fs::write(own.join("r.sv"), module("own_reset", "parameter int OUTPUTS = 1", ports, drives)).unwrap();
    meter(world, "meter", METER, &module("meter", METER_PARAMETERS, METER_PORTS, "assign core_read = '1;"));
}

const RESET: &str =
    "[plugin]\ntype = \"reset\"\nversion = 1\nmodule = \"own_reset\"\nsources = [\"r.sv\"]\noptional = [\"core_rst_n\", \"core_fault\"]\n";
const METER: &str = "[plugin]\ntype = \"meter\"\nversion = 3\nmodule = \"meter\"\nsources = [\"meter.sv\"]\nbytes = 8192\nsized = true\n";
const METER_PARAMETERS: &str = "parameter int DATA_WIDTH = 128, parameter int BYTES = 4096";
const METER_PORTS: &str = "input logic [DATA_WIDTH-1:0] core_value, output logic core_read";

fn meter(world: &World, name: &str, manifest: &str, source: &str) {
    let folder = world.root.join("user").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
    std::fs::write(folder.join("meter.sv"), source).unwrap();
}

const AXIL: &str = "
  input logic [31:0] s_axil_awaddr, input logic s_axil_awvalid, output logic s_axil_awready,
  input logic [31:0] s_axil_wdata, input logic [3:0] s_axil_wstrb, input logic s_axil_wvalid, output logic s_axil_wready,
  output logic [1:0] s_axil_bresp, output logic s_axil_bvalid, input logic s_axil_bready,
  input logic [31:0] s_axil_araddr, input logic s_axil_arvalid, output logic s_axil_arready,
  output logic [31:0] s_axil_rdata, output logic [1:0] s_axil_rresp, output logic s_axil_rvalid, input logic s_axil_rready";
const SILENT: &str = "assign {s_axil_awready, s_axil_wready, s_axil_bresp, s_axil_bvalid} = '0;
  assign {s_axil_arready, s_axil_rdata, s_axil_rresp, s_axil_rvalid} = '0;";

/// A module with registers that never answer.
fn module(name: &str, parameters: &str, ports: &str, body: &str) -> String {
    format!(
        "module {name} #({parameters}) (\n  input logic clk,\n  input logic rst_n,{AXIL},\n  {ports});\n  {SILENT}\n  {body}\nendmodule\n"
    )
}

const HEAD: &str =
    "[core]\nname = \"NAME\"\ntop = \"NAME\"\nsources = [\"NAME.sv\"]\nwidth = 64\n[[channel]]\nname = \"in\"\ndirection = \"h2c\"\n";
const REGISTERS: &str = "[registers]\nbytes = 256\n";
const ONE: &str = "[[plugin]]\ntype = \"reset\"\n";
const STREAM: &str = "input logic [63:0] in_tdata, input logic [7:0] in_tkeep, input logic in_tlast, in_tvalid, output logic in_tready";

/// A core with these plug-ins, and these ports beside its channel's.
fn core(world: &World, name: &str, plugins: &str, ports: &str, registers: bool) -> PathBuf {
    let ports = format!("{STREAM}{ports}");
    let source = if registers {
        module("NAME", "", &ports, "assign in_tready = '1;").replace("#()", "")
    } else {
        format!("module NAME (input logic clk, input logic rst_n, {ports});\n  assign in_tready = '1;\nendmodule\n")
    };
    world.files(name, &format!("{HEAD}{}{plugins}", if registers { REGISTERS } else { "" }), &source)
}

#[track_caller]
fn refused(folder: &Path) -> CoreError {
    wrap(folder, &BuildOptions::default(), None).expect_err("this core must be refused")
}

#[test]
fn manifests() {
    let world = world();
    shelf(&world);
    let read = |plugins: &str| Manifest::read(&core(&world, "shelves", plugins, "", true));
    let told =
        |manifest: &Manifest| -> Vec<(String, u32, u32)> { manifest.plugins.iter().map(|p| (p.name.clone(), p.offset, p.bytes)).collect() };
    let plain = read("").unwrap();
    assert_eq!((plain.plugins.len(), plain.window_bytes()), (0, 256));
    let meter = "[[plugin]]\ntype = \"../meter\"\n";
    // Each at a multiple of its size; the window is a power of two.
    let manifest = read(&format!("{ONE}{meter}{meter}name = \"flow\"\nbytes = 0x4000\n")).unwrap();
    let of = |name: &str, offset, bytes| (name.to_string(), offset, bytes);
    assert_eq!(told(&manifest), [of("reset", 0x1000, 0x1000), of("meter", 0x2000, 0x2000), of("flow", 0x4000, 0x4000)]);
    assert_eq!(manifest.window_bytes(), 0x8000);
    let none = Manifest::read(&core(&world, "shelves", ONE, "", false)).unwrap();
    assert_eq!((told(&none), none.window_bytes()), (vec![of("reset", 0, 0x1000)], 0x1000));

    // The first plug-in begins in line 11.
    let try_one = |plugins: &str, parts: &[&str]| {
        let error = read(plugins).expect_err(plugins);
        assert!(matches!(error, CoreError::Manifest { .. }), "{error}");
        says(&error, parts);
    };
    try_one(&ONE.replace("reset", "rest"), &["line 12: ", "no type \"rest\"", "there are: reset", "\"../rest\""]);
    try_one(&ONE.replace("reset", "../gone"), &["line 12: ", "\"../gone\"", "no file", "gone/plugin.toml"]);
    try_one(&format!("{ONE}{ONE}"), &["line 13: ", "two plug-ins are named \"reset\"", "name = \"reset1\""]);
    try_one(&format!("{ONE}name = \"a b\"\n"), &["line 13: ", "\"a b\"", "letters, digits and underscores"]);
    try_one(&format!("{ONE}bytes = 8192\n"), &["line 13: ", "have 4096 bytes: remove"]);
    for bytes in ["2048", "12288", "0x2000000"] {
        try_one(&format!("{meter}bytes = {bytes}\n"), &["line 13: ", "power of two, 4096 to 16777216"]);
    }
    try_one(&format!("{meter}bytes = 0x1000000\n"), &["line 11: ", "end at 0x2000000", "ends at 0x1000000"]);
    try_one(&format!("{meter}[plugin.parameters]\nBYTES = 4096\n"), &["line 14: ", "set from bytes"]);
    try_one(&format!("{ONE}[plugin.parameters]\nDATA_WIDTH = 64\n"), &["line 14: ", "core.width"]);
    try_one(&format!("{ONE}size = 1\n"), &["size"]);
    let many: String = (0..9).map(|n| format!("{ONE}name = \"r{n}\"\n")).collect();
    try_one(&many, &["line 35: ", "9 plug-ins: give 8 at most"]);
}

#[test]
fn manifests_of_plugins() {
    let world = world();
    shelf(&world);
    let try_one = |manifest: &str, parts: &[&str]| {
        meter(&world, "faulty", manifest, "");
        let error = Manifest::read(&core(&world, "user", "[[plugin]]\ntype = \"../faulty\"\n", "", true)).expect_err(manifest);
        assert!(matches!(error, CoreError::Manifest { .. }), "{error}");
        says(&error, &["faulty/plugin.toml: "]);
        says(&error, parts);
    };
    try_one(&METER.replace("\"meter\"\nversion", "\"flow meter\"\nversion"), &["line 2: ", "flow meter", "1 to 8"]);
    try_one(&METER.replace("version = 3\n", ""), &["version"]);
    try_one(&METER.replace("module = \"meter\"", "module = \"me-ter\""), &["line 4: ", "plugin.module", "me-ter"]);
    try_one(&METER.replace("[\"meter.sv\"]", "[]"), &["line 5: ", "plugin.sources is empty"]);
    try_one(&METER.replace("meter.sv", "gone.sv"), &["line 5: ", "plugin.sources", "faulty/gone.sv"]);
    try_one(&METER.replace("8192", "8000"), &["line 6: ", "plugin.bytes 8000", "power of two"]);
    try_one(&METER.replace("sized", "size"), &["line 7", "size"]);
    // A name that is no prefix of ports is for the host alone; the core's manifest then gives another.
    meter(&world, "faulty", &METER.replace("\"meter\"\nversion", "\"flow 2\"\nversion"), "");
    let plugin = "[[plugin]]\ntype = \"../faulty\"\n";
    says(&Manifest::read(&core(&world, "user", plugin, "", true)).unwrap_err(), &["line 11: ", "\"flow 2\"", "give a name"]);
    assert!(Manifest::read(&core(&world, "user", &format!("{plugin}name = \"flow\"\n"), "", true)).is_ok());
}

#[test]
fn ports_of_plugins_and_cores() {
    let world = world();
    shelf(&world);
    let sound = module("meter", METER_PARAMETERS, METER_PORTS, "assign core_read = '1;");
    let plugin = "[[plugin]]\ntype = \"../odd\"\nname = \"flow\"\n";
    let ports = ", output logic [63:0] flow_value, input logic flow_read";
    let try_one = |manifest: &str, old: &str, new: &str, parts: &[&str]| {
        assert!(sound.contains(old), "{old}");
        meter(&world, "odd", manifest, &sound.replace(old, new));
        let error = refused(&core(&world, "user", plugin, ports, true));
        says(&error, &["plug-in \"flow\" does not match", "odd/plugin.toml"]);
        says(&error, parts);
    };
    try_one(METER, "input logic rst_n,", "", &["no port \"rst_n\"", "every plug-in has it", "\"input logic rst_n\""]);
    try_one(METER, "output logic [31:0] s_axil_rdata", "output logic [63:0] s_axil_rdata", &["\"s_axil_rdata\" has 64 bits", "32 bits"]);
    try_one(METER, "core_read);", "read);", &["\"read\" (output, 1 bit)", "begin with \"core_\""]);
    try_one(METER, "core_read);", "core_read [2]);", &["\"core_read\"", "make it a packed vector"]);
    let optional = format!("{METER}optional = [\"core_gone\"]\n");
    try_one(&optional, "", "", &["no port \"core_gone\" towards the core"]);

    meter(&world, "odd", METER, &sound);
    let try_core = |ports: &str, parts: &[&str]| {
        let error = refused(&core(&world, "user", plugin, ports, true));
        says(&error, &["core \"user\" does not match"]);
        says(&error, parts);
    };
    try_core(
        ", input logic flow_read",
        &["no port \"flow_value\"", "output, 64 bits (plug-in \"flow\")", "\"output logic [63:0] flow_value\""],
    );
    try_core(", output logic [31:0] flow_value, input logic flow_read", &["\"flow_value\" has 32 bits", "64 bits"]);
    try_core(
        &format!("{ports}, input logic flow_other"),
        &["\"flow_other\"", "plug-in \"flow\" has no such port: list it in unused of [ports]"],
    );
    let error = refused(&core(&world, "user", &format!("{plugin}[plugin.parameters]\nTAPS = 2\n"), ports, true));
    says(&error, &["line 15: ", "plug-in \"flow\": module \"meter\" has no parameter TAPS"]);
}

#[test]
fn generated_and_built() {
    let world = world();
    shelf(&world);
    // Without plug-ins the core stands as it did.
    let plain = wrap(&core(&world, "plain", "", "", true), &BuildOptions::default(), None).unwrap().text;
    assert!(
        plain.contains("localparam int PLUGINS = 0;") && plain.contains(".rst_n(rst_n)") && plain.contains(".s_axil_awaddr(axil_awaddr)")
    );
    assert!(!plain.contains("plugin_bus") && !plain.contains("core_rst_n") && !plain.contains("core_h2c"), "{plain}");
    // Nor is anything gated beside a plug-in that resets nothing.
    let meter = "[[plugin]]\ntype = \"../meter\"\n";
    let ports = ", output logic [63:0] meter_value, input logic meter_read";
    let beside = wrap(&core(&world, "beside", meter, ports, true), &BuildOptions::default(), None).unwrap().text;
    assert!(beside.contains("assign core_rst_n = rst_n;") && !beside.contains("core_h2c"), "{beside}");

    let plugins = "[[plugin]]\ntype = \"../meter\"\n[[plugin]]\ntype = \"reset\"\n[plugin.parameters]\nOUTPUTS = 2\n";
    let ports = ", output logic [63:0] meter_value, input logic meter_read, input logic [1:0] reset_rst_n";
    let folder = core(&world, "shelved", plugins, ports, true);
    let Wrapped { manifest, text, .. } = wrap(&folder, &BuildOptions::default(), None).unwrap();
    for part in [
        "localparam int WINDOW_BYTES = 32768;",
        "localparam int PLUGINS = 2;",
        "= 1024'({\n    {32'd16384, 16'd1, 16'd1, 64'h7465736572},\n    {32'd8192, 16'd2, 16'd3, 64'h726574656d}\n  });",
        "assign core_rst_n = rst_n && user_rst_n_reset;",
        // What the core does not take in reset waits.
        "assign core_h2c_tvalid = h2c_tvalid & {NH{core_rst_n}};",
        "assign h2c_tready = core_h2c_tready & {NH{core_rst_n}};",
        "assign core_h2c_end_ready = h2c_end_ready & {NH{core_rst_n}};",
        "assign h2c_end_valid = core_h2c_end_valid & {NH{core_rst_n}};",
        ".in_tvalid(core_h2c_tvalid[0])",
        ".in_tready(core_h2c_tready[0])",
        ".in_tlast(h2c_tlast[0])",
        "assign core_h2c_end_valid[0] = '0;",
        "assign c2h_tvalid = '0;",
        ".TIMEOUT(62500)",
        ".PORTS(3)",
        ".OFFSET({32'd16384, 32'd8192, 32'd0})",
        ".BYTES({32'd4096, 32'd8192, 32'd256})",
        ".port_rst_n({rst_n, rst_n, core_rst_n})",
        ".s_axil_rdata(bus_rdata[0])",
        ".s_axil_rdata(bus_rdata[2])",
        ".s_axil_wdata(bus_wdata)",
        "logic [63:0] plugin_meter_value;",
        ".meter_value(plugin_meter_value)",
        ".core_rst_n(plugin_reset_rst_n)",
        ".reset_rst_n(plugin_reset_rst_n)",
        "assign plugin_reset_fault = '0;",
        ".OUTPUTS(2)",
        ".BYTES(8192)",
        ".DATA_WIDTH(DATA_WIDTH)",
        " core (\n      .clk(clk),\n      .rst_n(core_rst_n)",
    ] {
        assert!(text.contains(part), "\"{part}\" is not in:\n{text}");
    }
    assert!(!text.contains(".reset_fault("), "what the core leaves out is not its port");
    let names: Vec<_> = manifest.sources().iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["meter.sv", "r.sv", "shelved.sv"]);
    // A core without registers of its own has those of its plug-ins.
    let bare = wrap(&core(&world, "bare", ONE, "", false), &BuildOptions::default(), None).unwrap().text;
    assert!(bare.contains(".PORTS(1)") && bare.contains(".s_axil_rdata(bus_rdata[0])") && !bare.contains("assign axil_"), "{bare}");

    let options = BuildOptions::default();
    assert!(!build(&folder, &options).unwrap().cached && build(&folder, &options).unwrap().cached);
    let meter_sv = world.root.join("user/meter/meter.sv");
    std::fs::write(&meter_sv, std::fs::read_to_string(&meter_sv).unwrap() + "// changed\n").unwrap();
    assert!(!build(&folder, &options).unwrap().cached, "a plug-in's source is part of the model");
    std::fs::write(world.root.join("user/meter/plugin.toml"), METER.replace("= 3", "= 4")).unwrap();
    assert!(!build(&folder, &options).unwrap().cached, "so is its manifest");
}

/// What watches packets is connected to them; others have no such port.
#[test]
fn plugins_that_watch_packets() {
    let world = world();
    shelf(&world);
    let manifest = METER.replace("sized = true\n", "placed = true\n");
    let taps = "input tp_tap_pkg::tp_taps_t tlp_taps, output logic core_read";
    let source = module("meter", "parameter int OFFSET = 0", taps, "assign core_read = tlp_taps.sent_read_beat && OFFSET == 8192;");
    meter(&world, "watcher", &manifest, &source);
    let plugin = "[[plugin]]\ntype = \"../watcher\"\nname = \"flow\"\n";
    let folder = core(&world, "watched", plugin, ", input logic flow_read", true);
    let text = wrap(&folder, &BuildOptions::default(), None).unwrap().text;
    for part in ["mem_answer_error,\n    input  tp_tap_pkg::tp_taps_t                tlp_taps\n);", ".tlp_taps(tlp_taps)", ".OFFSET(8192)"]
    {
        assert!(text.contains(part), "\"{part}\" is not in:\n{text}");
    }
    build(&folder, &BuildOptions::default()).unwrap();
    let plain = wrap(&core(&world, "watchless", ONE, "", true), &BuildOptions::default(), None).unwrap().text;
    assert!(!plain.contains("tap"), "{plain}");

    let set = format!("{plugin}[plugin.parameters]\nOFFSET = 4\n");
    says(&Manifest::read(&core(&world, "set", &set, "", true)).unwrap_err(), &["line 15: ", "parameters.OFFSET", "remove it here"]);
    // On the user's clock there is nothing to see.
    let folder = core(&world, "apart", plugin, ", input logic flow_read", true);
    let file = folder.join("towpath.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("width = 64\n", "width = 64\nclock_mhz = 100.0\n");
    std::fs::write(&file, text).unwrap();
    says(&refused(&folder), &["line 6: ", "plug-in \"flow\" watches packets", "remove core.clock_mhz"]);
    let backwards =
        source.replace("input tp_tap_pkg::tp_taps_t tlp_taps", "output logic tlp_taps").replace("tlp_taps.sent_read_beat", "1'b1");
    meter(&world, "watcher", &manifest, &backwards);
    says(&refused(&core(&world, "watched", plugin, ", input logic flow_read", true)), &["\"tlp_taps\" is output", "expected input"]);
}

/// The bus gives up before the window does, whatever the clocks.
#[test]
fn the_bus_gives_up_first() {
    let world = world();
    shelf(&world);
    let folder = core(&world, "timed", ONE, "", true);
    let file = folder.join("towpath.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    for (user, own, clocks) in [("", "", 62500), ("500.0", "", 65536), ("50.0", "", 12500), ("1.0", "500.0", 125), ("1.0", "1000.0", 64)] {
        let line = |key: &str, mhz: &str| if mhz.is_empty() { String::new() } else { format!("{key}clock_mhz = {mhz}\n") };
        let core = text.replace("width = 64\n", &format!("width = 64\n{}", line("", user)));
        std::fs::write(&file, core + &line("[gateware]\n", own)).unwrap();
        let wrapper = wrap(&folder, &BuildOptions::default(), None).unwrap().text;
        assert!(wrapper.contains(&format!(".TIMEOUT({clocks})")), "{user} {own} {clocks}: {wrapper}");
    }
}

/// Names that a manifest gives are prefixes of ports; the wrapper's own stand apart from all of them.
#[test]
fn names_that_meet() {
    let world = world();
    shelf(&world);
    let ports = "output logic core_b, output logic core_user_rst_n, output logic user_rst_n";
    let drives = "assign {core_b, core_user_rst_n, user_rst_n} = '1;";
    meter(&world, "other", &METER.replace("sized = true\n", ""), &module("meter", "", ports, drives).replace("#()", ""));
    let named = |name: &str| format!("[[plugin]]\ntype = \"../other\"\nname = \"{name}\"\n");
    let plugins: String = ["a", "a_b", "bus", "core", "window"].map(named).concat();
    let inputs: String = ["a", "a_b", "bus", "core", "window"].map(|n| format!(", input logic {n}_b, input logic {n}_user_rst_n")).concat();
    let folder = core(&world, "meeting", &plugins, &inputs, true);
    build(&folder, &BuildOptions::default()).unwrap();
    // Two that want the same port of the core are refused.
    let both = format!("{}{}", named("a"), named("a_b").replace("../other", "../odd"));
    let source = module("odd", "", "output logic core_user_rst_n", "assign core_user_rst_n = '1;").replace("#()", "");
    let manifest = METER.replace("sized = true\n", "").replace("\"meter\"\nsources", "\"odd\"\nsources");
    meter(&world, "odd", &manifest, &source);
    let source = module("meter", "", "output logic core_b_user_rst_n", "assign core_b_user_rst_n = '1;").replace("#()", "");
    meter(&world, "other", &METER.replace("sized = true\n", ""), &source);
    let error = refused(&core(&world, "same", &both, ", input logic a_b_user_rst_n", true));
    says(&error, &["port \"a_b_user_rst_n\" belongs to plug-in \"a\" and to plug-in \"a_b\"", "another name"]);
}

/// A plug-in that switches the core's clock, and has ports to what does so in tp_system.
const SWITCHING: &str = "[plugin]\ntype = \"switch\"\nversion = 1\nmodule = \"meter\"\nsources = [\"meter.sv\"]\nclocks = true\n";

#[test]
fn switches_of_clocks() {
    let world = world();
    shelf(&world);
    let ports = "output logic switch_ask, input logic switch_ready, output logic [1:0] switch_input, input logic [37:0] switch_told";
    let source = module("meter", "parameter int CLOCKS = 3", ports, "assign {switch_ask, switch_input} = '0;");
    meter(&world, "switch", SWITCHING, &source);
    let folder = |clock: &str, plugins: &str| {
        let folder = core(&world, "switched", plugins, "", true);
        let file = folder.join("towpath.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("width = 64\n", &format!("width = 64\n{clock}"))).unwrap();
        folder
    };
    let (own, plugin) = ("clock_mhz = 125.0\n", "[[plugin]]\ntype = \"../switch\"\n");
    let clocks = "clocks = [125, 62.5]\n";
    let made = folder(own, &format!("{plugin}{clocks}"));
    assert_eq!(Manifest::read(&made).unwrap().user_clocks_khz(), [125_000, 62_500]);
    let text = wrap(&made, &BuildOptions::default(), None).unwrap().text;
    for part in [
        "localparam int USER_CLOCKS = 2;",
        "localparam int USER_CLOCK_KHZ = 125000;",
        "mem_answer_error,\n    output logic switch_ask,\n    output logic [1:0] switch_input,",
        ".CLOCKS(2)",
        ".switch_ask(switch_ask)",
        ".TIMEOUT(15625)", // of the slower
    ] {
        assert!(text.contains(part), "\"{part}\" is not in:\n{text}");
    }
    // A core without one stands as it did.
    let plain = wrap(&folder(own, ONE), &BuildOptions::default(), None).unwrap().text;
    assert!(plain.contains("localparam int USER_CLOCKS = 1;") && !plain.contains("switch_"), "{plain}");

    // The plug-in begins in line 12, or 11 without a clock of the core's own.
    let try_one = |clock: &str, plugins: &str, parts: &[&str]| {
        let error = Manifest::read(&folder(clock, plugins)).expect_err(plugins);
        assert!(matches!(error, CoreError::Manifest { .. }), "{error}");
        says(&error, parts);
    };
    try_one("", &format!("{plugin}{clocks}"), &["line 13: ", "Towpath's own clock", "write clock_mhz = 125.0 in [core]"]);
    try_one("clock_mhz = 100.0\n", &format!("{plugin}{clocks}"), &["line 14: ", "clock_mhz is 100.0: write clock_mhz = 125.0 in [core]"]);
    try_one(own, plugin, &["line 12: ", "give the 2 to 3 clocks", "clocks = [125.0, 62.5]"]);
    for wrong in ["[125]", "[125, 1, 2, 3]"] {
        try_one(own, &format!("{plugin}clocks = {wrong}\n"), &["line 14: ", "give the 2 to 3 clocks", "clocks = [125.0, 62.5]"]);
    }
    try_one(own, &format!("{plugin}clocks = [125, 0.5]\n"), &["line 14: ", "0.5 MHz: make it 1 to 1000"]);
    try_one(own, &format!("{ONE}{clocks}"), &["line 14: ", "it switches no clocks: remove"]);
    try_one(own, &format!("{plugin}{clocks}{plugin}name = \"b\"\n{clocks}"), &["line 16: ", "a second plug-in that switches"]);
    try_one(own, &format!("{plugin}{clocks}[plugin.parameters]\nCLOCKS = 2\n"), &["line 16: ", "set from clocks"]);
    // Such ports are of such plug-ins alone.
    meter(&world, "switch", &SWITCHING.replace("clocks = true\n", ""), &source);
    says(&refused(&folder(own, plugin)), &["\"switch_ask\"", "begin with \"core_\""]);
}
