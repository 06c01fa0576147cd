// SPDX-License-Identifier: Apache-2.0
//! Cores in VHDL, alone and below a top in SystemVerilog. They need GHDL; without it there is nothing to test but what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use towpath_cores::{build, wrap, BuildOptions};

mod common;
use common::{fails, says, world, World};

fn has_ghdl() -> bool {
    let program = std::env::var_os("TOWPATH_GHDL").unwrap_or_else(|| "ghdl".into());
    let there = std::process::Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        println!("skipped: GHDL is not installed");
    }
    there
}

/// The repository's core in VHDL, with one text in place of another in one of its files.
fn core(world: &World, name: &str, file: &str, old: &str, new: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cores/vhdl");
    let folder = world.root.join("user").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for each in ["towpath.toml", "gain_pkg.vhd", "gain.vhd"] {
        let text = std::fs::read_to_string(from.join(each)).unwrap();
        assert!(each != file || text.contains(old), "{old}");
        std::fs::write(folder.join(each), if each == file { text.replace(old, new) } else { text }).unwrap();
    }
    folder
}

#[test]
fn a_core_in_vhdl() {
    let world = world();
    if !has_ghdl() {
        return;
    }
    let built = build(&core(&world, "whole", "gain.vhd", "--", "--"), &BuildOptions::default()).unwrap();
    assert!(!built.cached);
    // For simulation its generics have their values; a board passes them on.
    let text = wrap(&world.root.join("user/whole"), &BuildOptions::default(), None).unwrap().text;
    assert!(text.contains(".FACTOR(3)") && text.contains(".DATA_WIDTH(64)") && text.contains("gain #("), "{text}");
    // Errors are the designer's own, with file and line.
    let line =
        |file: &str, name: &str, number: u32| world.root.join("user").join(name).join(file).display().to_string() + &format!(":{number}:");
    let error = fails(&core(&world, "syntax", "gain.vhd", "full <= '0';", "full <= nothing;"));
    says(&error, &["core \"vhdl\" does not compile", &line("gain.vhd", "syntax", 48), "nothing"]);
    assert!(!error.to_string().contains("cache"), "{error}");
    let error = fails(&core(
        &world,
        "narrow",
        "gain.vhd",
        "m_axis_tkeep  : out std_logic_vector(DATA_WIDTH / 8 - 1 downto 0)",
        "m_axis_tkeep : out std_logic",
    ));
    says(&error, &[&line("gain.vhd", "narrow", 41), "can't match"]);
    let error = fails(&core(&world, "extra", "gain.vhd", "aresetn : in std_logic;", "aresetn : in std_logic;\n    mode : in std_logic;"));
    says(&error, &[&format!("{} port \"mode\" (input, 1 bit)", line("gain.vhd", "extra", 15)), "unused of [ports]"]);
    let error = fails(&core(&world, "generic", "towpath.toml", "FACTOR", "FAKTOR"));
    says(&error, &["towpath.toml: line 11", "entity \"gain\" has no generic FAKTOR"]);
    let error = fails(&core(&world, "top", "towpath.toml", "\"Gain\"", "\"Gains\""));
    says(&error, &["towpath.toml: line 6", "no source has an entity \"Gains\"; there are: gain"]);
    // Another source is another model.
    let changed = build(&core(&world, "whole", "gain_pkg.vhd", "unsigned(byte) *", "unsigned(byte) +"), &BuildOptions::default());
    assert!(!changed.unwrap().cached);
}

#[test]
fn vhdl_below_verilog() {
    let world = world();
    if !has_ghdl() {
        return;
    }
    let folder = core(&world, "mixed", "towpath.toml", "sources = [", "sources = [\"top.sv\", \"pair.vhd\", ");
    // Two entities that Verilog instantiates are made of the same third one, which it instantiates, too.
    let entity = |name: &str, inside: &str| {
        let head = "library ieee;\nuse ieee.std_logic_1164.all;\n";
        let ports = "port (a : in std_logic; b : out std_logic)";
        format!("{head}entity {name} is {ports};\nend;\narchitecture rtl of {name} is begin\n  {inside}\nend;\n")
    };
    let one_of = "u : entity work.third port map (a, b);";
    let pair = [entity("third", "b <= not a;"), entity("one", one_of), entity("two", one_of)].concat();
    std::fs::write(folder.join("pair.vhd"), pair).unwrap();
    let manifest = std::fs::read_to_string(folder.join("towpath.toml")).unwrap();
    let manifest = manifest.replace("\"Gain\"", "\"top\"").replace("[parameters]\nFACTOR = 3\n", "");
    std::fs::write(folder.join("towpath.toml"), manifest).unwrap();
    let gain = std::fs::read_to_string(folder.join("gain.vhd")).unwrap().replace(":= 32", ":= 64");
    std::fs::write(folder.join("gain.vhd"), gain).unwrap();
    let ports = [("in", "s_axis", "input", "output"), ("out", "m_axis", "output", "input")].map(|(name, inner, with, against)| {
        let port = |signal: &str, way: &str, range: &str| {
            (format!("  {way} logic {range}{name}_{signal}"), format!("    .{inner}_{signal}({name}_{signal})"))
        };
        [("tdata", with, "[63:0] "), ("tkeep", with, "[7:0] "), ("tlast", with, ""), ("tvalid", with, ""), ("tready", against, "")]
            .map(|(s, w, r)| port(s, w, r))
    });
    let (heads, pins): (Vec<String>, Vec<String>) = ports.into_iter().flatten().unzip();
    let source = format!(
        "module top (\n  input logic clk, rst_n,\n{}\n);\n  gain u (.aclk(clk), .aresetn(rst_n),\n{}\n  );\n  wire [2:0] n;\n  \
         one first (.a(rst_n), .b(n[0]));\n  two second (.a(n[0]), .b(n[1]));\n  third last (.a(n[1]), .b(n[2]));\nendmodule\n",
        heads.join(",\n"),
        pins.join(",\n")
    );
    std::fs::write(folder.join("top.sv"), source).unwrap();
    build(&folder, &BuildOptions::default()).unwrap();
}

#[test]
fn without_ghdl_the_user_is_told_what_to_install() {
    let world = world();
    let folder = core(&world, "absent", "gain.vhd", "--", "--");
    let before = std::env::var_os("TOWPATH_GHDL");
    std::env::set_var("TOWPATH_GHDL", "/nonexistent/ghdl");
    let error = fails(&folder);
    match before {
        Some(program) => std::env::set_var("TOWPATH_GHDL", program),
        None => std::env::remove_var("TOWPATH_GHDL"),
    }
    says(&error, &["/nonexistent/ghdl", "GHDL 2 or newer", "apt-get install ghdl", "TOWPATH_GHDL"]);
}
