// SPDX-License-Identifier: Apache-2.0
//! A plug-in that loads other cores into the user core's region: what fits there, what the user is told of what does not, and what is generated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use towpath_cores::{build, wrap, BuildOptions, CoreError, Manifest, Region, Wrapped};

mod common;
use common::{says, world, World};

const PLUGIN: &str =
    "[plugin]\ntype = \"partial\"\nversion = 1\nmodule = \"loader\"\nsources = [\"loader.sv\", \"tp_config_model.sv\"]\nregion = true\n";
const AXIL: &str = "
  input logic [31:0] s_axil_awaddr, input logic s_axil_awvalid, output logic s_axil_awready,
  input logic [31:0] s_axil_wdata, input logic [3:0] s_axil_wstrb, input logic s_axil_wvalid, output logic s_axil_wready,
  output logic [1:0] s_axil_bresp, output logic s_axil_bvalid, input logic s_axil_bready,
  input logic [31:0] s_axil_araddr, input logic s_axil_arvalid, output logic s_axil_arready,
  output logic [31:0] s_axil_rdata, output logic [1:0] s_axil_rresp, output logic s_axil_rvalid, input logic s_axil_rready";
const SILENT: &str = "  assign {s_axil_awready, s_axil_wready, s_axil_bresp, s_axil_bvalid} = '0;
  assign {s_axil_arready, s_axil_rdata, s_axil_rresp, s_axil_rvalid} = '0;\n";
const LOADER: &str = "
  output logic user_rst_n, output logic user_decoupled, input logic user_midway,
  output logic config_start, config_valid, config_end, output logic [31:0] config_data, input logic config_ready, config_done, config_error";

/// The stand-in for the plug-in, with the model of the port that comes with Towpath.
fn shelf(world: &World, ports: &str) {
    let own = world.root.join("gateware/plugin/partial");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("plugin.toml"), PLUGIN).unwrap();
    let drives = "assign {user_rst_n, user_decoupled, config_start, config_valid, config_end, config_data} = '0;";
    let source = format!("module loader (input logic clk, input logic rst_n,{AXIL},{ports});\n{SILENT}  {drives}\nendmodule\n");
    std::fs::write(own.join("loader.sv"), source).unwrap();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().to_path_buf();
    let model = "gateware/plugin/partial/tp_config_model.sv";
    std::fs::copy(repository.join(model), world.root.join(model)).unwrap();
}

const HEAD: &str = "[core]\nname = \"NAME\"\ntop = \"NAME\"\nsources = [\"NAME.sv\"]\nwidth = 64\n";
const REST: &str = "[registers]\nbytes = 256\n[interrupts]\ncount = 2\n";

fn streams(to: &str, from: &str) -> String {
    format!("[[channel]]\nname = \"{to}\"\ndirection = \"h2c\"\nattributes = true\n[[channel]]\nname = \"{from}\"\ndirection = \"c2h\"\n")
}

fn partial(cores: &str) -> String {
    format!("[[plugin]]\ntype = \"partial\"\ncores = [{cores}]\n")
}

/// A core that takes everything and sends nothing.
fn core(world: &World, name: &str, manifest: &str, (to, from): (&str, &str), more: &str) -> PathBuf {
    let ports = format!(
        "input logic [63:0] {to}_tdata, input logic [7:0] {to}_tkeep, input logic {to}_tlast, {to}_tvalid, output logic {to}_tready,
  input logic [63:0] {to}_length, {to}_offset, input logic [31:0] {to}_user,
  output logic [63:0] {from}_tdata, output logic [7:0] {from}_tkeep, output logic {from}_tlast, {from}_tvalid, input logic {from}_tready{more}"
    );
    let (axil, silent) = if manifest.contains("[registers]") { (format!(",{AXIL}"), SILENT) } else { (String::new(), "") };
    let irq = if more.contains("irq_valid") { "  assign irq_valid = '0;\n" } else { "" };
    let drives = format!("  assign {to}_tready = '1;\n  assign {{{from}_tdata, {from}_tkeep, {from}_tlast, {from}_tvalid}} = '0;\n");
    let source = format!("module NAME (input logic clk, input logic rst_n, {ports}{axil});\n{silent}{irq}{drives}endmodule\n");
    world.files(name, manifest, &source)
}

const IRQ: &str = ", output logic [1:0] irq_valid, input logic [1:0] irq_ready";
const ONE_IRQ: &str = ", output logic irq_valid, input logic irq_ready, input logic pixels_reset";

fn own(world: &World, cores: &str) -> PathBuf {
    core(world, "own", &format!("{HEAD}{}{REST}{}", streams("in", "out"), partial(cores)), ("in", "out"), IRQ)
}

/// A core with other names, fewer interrupts and no registers.
fn fitting(world: &World, name: &str, changed: impl Fn(String) -> String) {
    let manifest = changed(format!("{HEAD}{}[interrupts]\ncount = 1\n", streams("pixels", "edges")));
    core(world, name, &manifest, ("pixels", "edges"), ONE_IRQ);
}

#[test]
fn what_does_not_fit_is_named() {
    let world = world();
    shelf(&world, LOADER);
    fitting(&world, "edges", |manifest| manifest);
    let manifest = Manifest::read(&own(&world, "\"../edges\"")).unwrap();
    assert_eq!(manifest.others().iter().map(|other| other.core.name.as_str()).collect::<Vec<_>>(), ["edges"]);
    assert!(manifest.region().is_some_and(|plugin| plugin.name == "partial"));
    // `cores` stands in line 19, and the plug-in's entry begins in line 17.
    let try_one = |cores: &str, parts: &[&str]| {
        let error = Manifest::read(&own(&world, cores)).expect_err(cores);
        assert!(matches!(error, CoreError::Manifest { .. }), "{error}");
        says(&error, parts);
    };
    try_one("", &["line 19: ", "give the other cores that it loads"]);
    try_one("\"../gone\"", &["gone", "no such folder"]);
    try_one("\"../edges\", \"../edges\"", &["line 19: ", "core \"edges\"", "another core of that name"]);
    try_one("\"../own\"", &["line 17: ", "no plug-ins of its own"]);
    let many = ["\"../edges\""; 16].join(", ");
    try_one(&many, &["line 19: ", "16 cores: give 15 at most"]);
    let odd = |changed: &dyn Fn(String) -> String, parts: &[&str]| {
        fitting(&world, "odd", changed);
        try_one("\"../odd\"", &["line 19: ", "plug-in \"partial\": core \"odd\" ("]);
        try_one("\"../odd\"", parts);
    };
    odd(&|m| m + "[[channel]]\nname = \"more\"\ndirection = \"h2c\"\n", &["it has 2 h2c channels, and this core 1"]);
    odd(&|m| m.replace("\"c2h\"", "\"c2h\"\nattributes = true"), &["\"edges\" has attributes: set attributes = true in channel \"out\""]);
    odd(&|m| m + "[registers]\nbytes = 512\n", &["512 bytes of registers, and this core 256"]);
    let defined = |value: &str| format!("width = 64\ndefines = {{ DEEP = {value} }}");
    odd(&|m| m.replace("width = 64", &defined("4")), &["macro DEEP is 4 there and undefined in this core", "core.defines"]);
    odd(&|m| m.replace("width = 64", &defined("true")), &["macro DEEP is defined there and undefined in this core"]);
    odd(&|m| m.replace("count = 1", "count = 3"), &["3 interrupts, and this core 2"]);
    odd(&|m| m.replace("width = 64", "width = 64\nclock_mhz = 100.0"), &["clock_mhz is 100.0", "this core's clock"]);
    // Keys where they do not belong, and a second region.
    let twice = format!("{HEAD}{}{REST}{}{}name = \"p\"\n", streams("in", "out"), partial("\"../edges\""), partial("\"../edges\""));
    let folder = core(&world, "own", &twice, ("in", "out"), IRQ);
    says(&Manifest::read(&folder).unwrap_err(), &["line 21: ", "a second plug-in that loads cores"]);
    std::fs::write(world.root.join("gateware/plugin/partial/plugin.toml"), PLUGIN.replace("region = true\n", "")).unwrap();
    try_one("\"../edges\"", &["line 19: ", "it loads no cores: remove the key"]);
}

#[test]
fn ports_of_plugins_and_cores() {
    let world = world();
    shelf(&world, LOADER);
    // Another core is checked against its own manifest.
    fitting(&world, "edges", |manifest| manifest + "[registers]\nbytes = 256\n");
    let source = world.root.join("user/edges/edges.sv");
    std::fs::write(&source, std::fs::read_to_string(&source).unwrap().replace("pixels_tready", "pixel_tready")).unwrap();
    let error = build(&own(&world, "\"../edges\""), &BuildOptions::default()).unwrap_err();
    says(&error, &["core \"edges\" does not match", "no port \"pixels_tready\""]);
    // A board takes the region's own core, and asks for no other.
    let Wrapped { manifest, text, .. } = wrap(&own(&world, "\"../edges\""), &BuildOptions::default(), None).unwrap();
    assert!(manifest.others().is_empty() && !manifest.sources().iter().any(|source| source.ends_with("edges.sv")));
    for part in [
        "  tp_config_port #(\n      .CLOCK_KHZ(250000)\n  ) config_port (\n      .clk(clk),\n      .config_start(config_start),",
        "  tp_region core (\n",
        "\nmodule tp_region (\n",
        "assign user_midway = (|h2c_midway) || (|c2h_midway);",
        ".user_decoupled(user_decoupled)",
        ".user_rst_n(user_rst_n_partial)",
        ".rst_n(core_rst_n)",
        "  assign core_h2c_tready[0] = user_decoupled ? '0 : core_in_tready;",
        "  assign irq_valid[1:0] = user_decoupled ? '0 : core_irq_valid;",
        "  assign bus_rdata[0] = user_decoupled ? '0 : core_s_axil_rdata;",
    ] {
        assert!(text.contains(part), "\"{part}\" is not in:\n{text}");
    }
    assert!(!text.contains("tp_config_model") && !text.contains("core_1"), "{text}");
    shelf(&world, &LOADER.replace("output logic user_decoupled, ", ""));
    let error = wrap(&own(&world, "\"../edges\""), &BuildOptions::default(), None).unwrap_err();
    says(&error, &["no port \"user_decoupled\"", "what loads other cores has it"]);
}

#[test]
fn a_boards_region_holds_each_core_behind_the_same_ports() {
    let world = world();
    shelf(&world, LOADER);
    fitting(&world, "edges", |manifest| manifest);
    let options = BuildOptions { regions: true, ..BuildOptions::default() };
    let folder = own(&world, "\"../edges\"");
    let Wrapped { manifest, text, data, included, region } = wrap(&folder, &options, None).unwrap();
    let Region { hole, cores } = region.expect("a region");
    assert!(text.contains("  tp_region core (") && !text.contains("module tp_region"), "{text}");
    assert!(data.is_empty() && included.is_empty());
    let around: Vec<_> = manifest.sources_around().iter().map(|source| source.file_name().unwrap().to_owned()).collect();
    assert_eq!(around, ["loader.sv", "tp_config_model.sv"]);
    let names: Vec<_> = cores.iter().map(|core| core.manifest.core.name.clone()).collect();
    assert_eq!(names, ["own", "edges"]);
    let sources: Vec<_> = cores.iter().flat_map(|core| core.manifest.own_sources()).collect();
    assert!(sources.iter().map(|source| source.file_name().unwrap()).eq(["own.sv", "edges.sv"]), "{sources:?}");
    // One list of ports for all, and for the hole.
    let ports = |text: &str| text.split_once("\nmodule tp_region (\n").unwrap().1.split_once("\n);\n").unwrap().0.to_string();
    assert_eq!([ports(&cores[0].text), ports(&cores[1].text)], [ports(&hole), ports(&hole)]);
    assert!(hole.contains("(* black_box *)") && hole.ends_with(");\nendmodule\n"), "{hole}");
    for (core, part) in [
        (0, "  own core ("),
        (0, ".irq_valid(irq_valid)"),
        (1, "  edges core ("),
        (1, ".pixels_tdata(in_tdata)"),
        (1, ".pixels_reset(in_reset)"),
        (1, ".irq_valid(irq_valid[0:0])"),
        (1, "  assign irq_valid[1:1] = '0;"),
        (1, "  assign s_axil_rdata = '0;"),
    ] {
        assert!(cores[core].text.contains(part), "\"{part}\" is not in:\n{}", cores[core].text);
    }
    // Without the choice the own core stands in the region, and no other is asked for.
    let Wrapped { text, region, .. } = wrap(&folder, &BuildOptions::default(), None).unwrap();
    assert!(region.is_none() && text.contains("  own core (") && !text.contains("edges"), "{text}");
}

#[test]
fn two_tops_of_one_name_are_refused_with_both_manifests() {
    let world = world();
    shelf(&world, LOADER);
    let other = |name: &str, top: &str| {
        fitting(&world, name, |manifest| manifest);
        let manifest = world.root.join("user").join(name).join("towpath.toml");
        let text = std::fs::read_to_string(&manifest).unwrap().replace(&format!("top = \"{name}\""), &format!("top = \"{top}\""));
        std::fs::write(&manifest, text).unwrap();
        manifest.display().to_string()
    };
    let refused = |cores: &str, parts: &[&str]| says(&Manifest::read(&own(&world, cores)).expect_err(cores), parts);
    let one = other("one", "own");
    refused(
        "\"../one\"",
        &["line 19: ", "its top is \"own\", and so is that of core \"own\"", &one, "own/towpath.toml", "rename the module"],
    );
    let two = other("two", "same");
    let three = other("three", "same");
    refused("\"../two\", \"../three\"", &["line 19: ", "core \"three\"", "is that of core \"two\"", &two, &three, "core.top with it"]);
    // The same module with another name in its manifest is one module.
    let text = std::fs::read_to_string(&three).unwrap().replace("\"three.sv\"", "\"../two/two.sv\"");
    std::fs::write(&three, text).unwrap();
    assert_eq!(Manifest::read(&own(&world, "\"../two\", \"../three\"")).unwrap().others().len(), 2);
}

#[test]
fn other_cores_are_part_of_the_model() {
    let world = world();
    shelf(&world, LOADER);
    fitting(&world, "edges", |manifest| manifest);
    let options = BuildOptions::default();
    let folder = own(&world, "\"../edges\"");
    assert!(!build(&folder, &options).unwrap().cached);
    let source = world.root.join("user/edges/edges.sv");
    std::fs::write(&source, std::fs::read_to_string(&source).unwrap() + "`include \"edges.def\"\n").unwrap();
    std::fs::write(source.with_file_name("edges.def"), "// one\n").unwrap();
    assert!(!build(&folder, &options).unwrap().cached, "another core's source");
    std::fs::write(source.with_file_name("edges.def"), "// two\n").unwrap();
    assert!(!build(&folder, &options).unwrap().cached, "what it includes, whatever the file's ending");
    assert!(build(&folder, &options).unwrap().cached);
}
