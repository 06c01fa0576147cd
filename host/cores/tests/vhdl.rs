// SPDX-License-Identifier: Apache-2.0
//! Cores in VHDL, alone and below a top in SystemVerilog. They need GHDL; without it there is nothing to test but what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::ffi::{c_char, c_int, c_void};
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
    let pair = [entity("third", "b <= not a;"), entity("one", one_of), entity("two", one_of), NUMBERS.to_string()].concat();
    std::fs::write(folder.join("pair.vhd"), &pair).unwrap();
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
         one first (.a(rst_n), .b(n[0]));\n  two second (.a(n[0]), .b(n[1]));\n  third last (.a(n[1]), .b(n[2]));\n{NUMBERS_TOP}endmodule\n",
        heads.join(",\n"),
        pins.join(",\n")
    );
    std::fs::write(folder.join("top.sv"), source).unwrap();
    let built = build(&folder, &BuildOptions::default()).unwrap();
    let printed = clocked(&built.library, 300);
    assert!(printed.lines().count() >= 299, "{printed}");
    printed.lines().for_each(numbers_are_right);
    // A number and a vector that nothing in the Verilog tells apart.
    std::fs::write(folder.join("pair.vhd"), pair.replace("x\"80000000\"", "x\"FFFFFFFD\"")).unwrap();
    let error = fails(&folder);
    says(
        &error,
        &["core \"vhdl\" does not compile", "pair.vhd:", "the number -3 and the vector x\"FFFFFFFD\" of 40 bits", "to_signed(-3, 40)"],
    );
}

/// What GHDL 2 writes wrongly as Verilog. Words of the ROM and the vector look as GHDL writes numbers below 0.
const NUMBERS: &str = "library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
entity numbers is
  port (n : in unsigned(1 downto 0); a, b : in signed(39 downto 0); word : out std_logic_vector(39 downto 0); sum : out unsigned(39 downto 0);
    less, larger, smaller, quotient, remainder, modulus : out signed(39 downto 0); by_5, by_minus_7, shifted, size : out signed(39 downto 0);
    selected : out signed(39 downto 0));
end;
architecture rtl of numbers is
  type words is array (0 to 3) of std_logic_vector(39 downto 0);
  constant ROM : words := (x\"00FFFFFFFD\", x\"0080000000\", x\"FFFFFFFFFD\", x\"0000000001\");
begin
  word <= ROM(to_integer(n));
  sum <= unsigned(a) + x\"80000000\";
  less <= a + (-3);
  larger <= maximum(a, b);
  smaller <= minimum(a, b);
  quotient <= a / b;
  remainder <= a rem b;
  modulus <= a mod b;
  by_5 <= a / 5;
  by_minus_7 <= a mod (-7);
  shifted <= shift_right(a, 3);
  size <= abs a;
  process (all) is
  begin
    case n is
      when \"00\" => selected <= a;
      when \"01\" => selected <= b;
      when others => selected <= a - b;
    end case;
  end process;
end;
";

/// Prints what goes in and what comes out, at each clock.
const NUMBERS_TOP: &str = "
  logic [63:0] x = 64'h9e3779b97f4a7c15;
  logic [9:0] count = 0;
  wire signed [39:0] a = $signed(x[39:0]) >>> count % 40, b = ($signed(x[63:24]) >>> count % 37) | 1;
  wire [39:0] word, sum, less, larger, smaller, quotient, remainder, modulus, by_5, by_minus_7, shifted, size, selected;
  numbers numbers (.n(count[1:0]), .*);
  always @(posedge clk) begin
    count <= count + 1;
    x <= x * 64'd6364136223846793005 + 64'd1442695040888963407;
    $display(\"%0d %0d %0d %h %h %h %h %h %h %h %h %h %h %h %h %h\", count, a, b, word, sum, less, larger, smaller, quotient, remainder, modulus, by_5,
             by_minus_7, shifted, size, selected);
  end
";

fn numbers_are_right(line: &str) {
    let all: Vec<&str> = line.split(' ').collect();
    let [count, a, b] = [0, 1, 2].map(|n| all[n].parse::<i64>().unwrap());
    let modulus = |a: i64, b: i64| if a % b != 0 && (a % b < 0) != (b < 0) { a % b + b } else { a % b };
    let word = [0xffff_fffd, 0x8000_0000, 0xff_ffff_fffd, 1][count as usize % 4];
    let wanted = [
        word,
        a + (1 << 31),
        a - 3,
        a.max(b),
        a.min(b),
        a / b,
        a % b,
        modulus(a, b),
        a / 5,
        modulus(a, -7),
        a >> 3,
        a.abs(),
        [a, b, a - b, a - b][count as usize % 4],
    ]
    .map(|x| format!("{:010x}", x & 0xff_ffff_ffff));
    assert_eq!(all[3..], wanted, "{line}");
}

/// What a model prints in that many clocks.
fn clocked(library: &Path, clocks: u64) -> String {
    type Print = extern "C" fn(*mut c_void, c_int, *const c_char, u64);
    type New = unsafe extern "C" fn(*const c_char, Print, *mut c_void) -> *mut c_void;
    type Clock = unsafe extern "C" fn(*mut c_void, u64, *const u64, *mut u64);
    type Free = unsafe extern "C" fn(*mut c_void);
    extern "C" fn print(context: *mut c_void, _kind: c_int, text: *const c_char, length: u64) {
        // SAFETY: the context is the String given to tp_model_new, and the text is as long as it says.
        let (said, bytes) = unsafe { (&mut *context.cast::<String>(), std::slice::from_raw_parts(text.cast::<u8>(), length as usize)) };
        said.push_str(&String::from_utf8_lossy(bytes));
    }
    let mut said = String::new();
    let (input, mut output) = ([0u64; 64], [0u64; 64]);
    // SAFETY: the library exports tp_model.h, whose structs are smaller than the arrays; the text lives longer than the model.
    unsafe {
        let library = libloading::Library::new(library).unwrap();
        let model = library.get::<New>(b"tp_model_new").unwrap()(std::ptr::null(), print, (&raw mut said).cast());
        for clock in 1..=clocks {
            library.get::<Clock>(b"tp_model_core_clock").unwrap()(model, clock * 4000, input.as_ptr(), output.as_mut_ptr());
        }
        library.get::<Free>(b"tp_model_free").unwrap()(model);
    }
    said
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
