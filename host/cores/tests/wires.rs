// SPDX-License-Identifier: Apache-2.0
//! Registers that are ports of the core's: what is drafted, what is generated, and what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use towpath_cores::{draft, draft_with, wrap, BuildOptions, CoreError};

mod common;
use common::{says, world, PORTS};

#[test]
fn a_function_of_high_level_synthesis_is_drafted_as_it_stands_in_the_repository() {
    let world = world();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cores/arguments").canonicalize().unwrap();
    let known = std::fs::read_to_string(root.join("towpath.toml")).unwrap();
    let folder = world.root.join("user/arguments");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(root.join("arguments.sv"), folder.join("arguments.sv")).unwrap();
    let made = draft(&folder, &["arguments.sv".into()], "arguments", &[], None).unwrap();
    let bare = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim().to_string());
        lines.filter(|line| !line.is_empty()).collect()
    };
    // What only the designer can know.
    let drafted: Vec<String> = bare(&known).into_iter().filter(|line| !line.starts_with("message_bytes")).collect();
    assert_eq!(bare(&made.manifest), drafted);
    assert!(made.control);

    let with = |change: &dyn Fn(&str) -> String| -> Result<String, CoreError> {
        std::fs::write(folder.join("towpath.toml"), change(&known)).unwrap();
        wrap(&folder, &BuildOptions::default(), None).map(|wrapped| wrapped.text)
    };
    let text = with(&|text| text.into()).unwrap();
    for part in [
        ".FIRST(4)",
        ".base(wire_base)",
        ".total_ap_vld(wire_total_ap_vld)",
        ".ap_start(wire_ap_start)",
        "30'd9: wires_rd_data = 32'(held_total >> 32);",
    ] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    for (from, to, told) in [
        ("base = 0x10", "bsae = 0x10", "has no such port"),
        ("count = 0x18", "count = 0x14", "have the same word"),
        ("total = 0x20", "total = 0x3c", "do not end before registers.bytes"),
        ("\"wires\"", "\"wire\"", "expected `axil` or `wires`"),
    ] {
        let error = with(&|text| text.replace(from, to)).expect_err(told);
        says(&error, &[told, "towpath.toml"]);
    }
    // What nothing is said of is left over.
    says(&with(&|text| text.replace("base = 0x10\n", "")).expect_err("a port that is left"), &["base"]);
}

#[test]
fn arrays_and_a_core_that_waits_to_go_on_are_drafted_as_they_stand_in_the_repository() {
    let world = world();
    world.with_memories();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cores/arrays").canonicalize().unwrap();
    let known = std::fs::read_to_string(root.join("towpath.toml")).unwrap();
    let folder = world.root.join("user/arrays");
    std::fs::create_dir_all(&folder).unwrap();
    let source = std::fs::read_to_string(root.join("arrays.sv")).unwrap();
    std::fs::write(folder.join("arrays.sv"), &source).unwrap();
    let made = draft(&folder, &["arrays.sv".into()], "arrays", &[], None).unwrap();
    let drafted: Vec<&str> = known.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(made.manifest.lines().collect::<Vec<_>>(), drafted, "{}", made.manifest);
    assert!(made.control && made.chain && made.memories == ["x", "y"], "{made:?}");

    let with = |from: &str, to: &str, source: &str| -> Result<String, CoreError> {
        std::fs::write(folder.join("arrays.sv"), source).unwrap();
        std::fs::write(folder.join("towpath.toml"), known.replace(from, to)).unwrap();
        wrap(&folder, &BuildOptions::default(), None).map(|wrapped| wrapped.text)
    };
    let text = with("", "", &source).unwrap();
    for part in [
        ".CHAIN(1)",
        ".ap_continue(wire_ap_continue)",
        ".BITS(24)",
        ".LANE(32)",
        ".CORE_ADDRESS(9)",
        ".x_q0(array_x_q[0])",
        "assign array_x_we[0] = '0;",
        ".y_q1(array_y_q[1])",
    ] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    for (from, to, told) in [
        ("bytes = 4096", "bytes = 8192", "the core's addresses reach 4096 bytes"),
        ("bytes = 4096", "bytes = 4096\nbase = 4096", "an array begins at 0: remove base"),
        ("x = \"x_*\"", "x = \"z_*\"", "no port of such a name"),
        (
            "kind = \"memory\"\nports = \"ap_memory\"\nbytes = 4096\n",
            "direction = \"h2c\"\nports = \"ap_memory\"\n",
            "ports = \"ap_memory\" is for memories: give kind",
        ),
    ] {
        says(&with(from, to, &source).expect_err(told), &[told, "towpath.toml"]);
    }
    // A port without its enable; elements that are wider than the path.
    let lacks = source.replace("output logic        x_ce0,\n", "").replace("assign x_ce0", "wire unused").replace("  x_ce0", "  unused");
    says(&with("", "", &lacks).expect_err("no enable"), &["memory \"x\" needs x_address0, x_ce0"]);
    let wide = source.replace("[23:0] x_q0", "[71:0] x_q0").replace("32'(x_q0)", "x_q0[31:0]");
    says(&with("", "", &wide).expect_err("too wide"), &["an element has 72 bit, and core.width is 64: make that 128 at least"]);
    // Other arrays are refused by name.
    let bram = source.replace("x_address0", "x_Addr_A").replace("x_ce0", "x_EN_A").replace("x_q0", "x_Dout_A");
    std::fs::write(folder.join("arrays.sv"), bram).unwrap();
    let made = draft(&folder, &["arrays.sv".into()], "arrays", &[], None).unwrap();
    let said = made.undecided.join("\n");
    assert!(
        said.contains("x: an array outside of the core with the ports of a BRAM") && !made.manifest.contains("x_Addr_A = 0x"),
        "{said}"
    );
}

#[test]
fn registers_have_the_names_that_the_tools_files_give_them() {
    let world = world();
    let (folder, theirs) = (world.root.join("user/named"), world.root.join("user/theirs/ip"));
    for place in [folder.clone(), theirs.join("hdl/verilog"), theirs.join("drivers/mapped_v1_0/src")] {
        std::fs::create_dir_all(place).unwrap();
    }
    std::fs::write(theirs.join("hdl/verilog/mapped.sv"), PORTS.replace("NAME", "mapped").replace("BODY", "")).unwrap();
    let header = "// control\n// 0x00 : Control signals\n//        bit 0  - ap_start (Read/Write/COH)\n//        bit 4  - ap_continue (Read/Write/SC)\n\
                  // 0x10 : Data signal of gain\n//        bit 15~0 - gain[15:0] (Read/Write)\n// 0x18 : Data signal of sum\n\
                  //        bit 31~0 - sum[31:0] (Read)\n#define XMAPPED_CONTROL_ADDR_AP_CTRL 0x00\n";
    let sources = ["../theirs/ip/hdl/verilog/mapped.sv".into()];
    let bare = draft(&folder, &sources, "mapped", &[], None).unwrap();
    assert!(bare.registers && !bare.control && bare.manifest.contains("# towpath new --registers FILE"), "{}", bare.manifest);
    let file = theirs.join("drivers/mapped_v1_0/src/xmapped_hw.h");
    std::fs::write(&file, header).unwrap();
    let made = draft(&folder, &sources, "mapped", &[], None).unwrap();
    for line in [
        "[registers.names]     # as xmapped_hw.h says",
        "ap_ctrl = 0x0         # 32 bit, read, write",
        "gain = 0x10           # 16 bit, read, write",
        "sum = 0x18            # 32 bit, read",
    ] {
        assert!(made.manifest.lines().any(|other| other == line), "no {line}: {}", made.manifest);
    }
    let wires: Vec<_> = made.wires.iter().map(|register| (register.name.as_str(), register.offset, register.input)).collect();
    assert_eq!(wires, [("gain", 0x10, true), ("sum", 0x18, false)]);
    assert!(made.control && made.chain);
    std::fs::write(folder.join("towpath.toml"), &made.manifest).unwrap();
    let manifest = wrap(&folder, &BuildOptions::default(), None).unwrap_or_else(|e| panic!("{e}\n{}", made.manifest)).manifest;
    assert_eq!(manifest.registers.unwrap().names.len(), 3);
    // A file that is named, and one that tells of nothing.
    let other = world.root.join("user/elsewhere.h");
    std::fs::write(&other, header.replace("gain", "loss")).unwrap();
    let made = draft_with(&folder, &sources, "mapped", &[], Some(&other), None).unwrap();
    assert!(made.manifest.contains("loss = 0x10") && !made.manifest.contains("gain"), "{}", made.manifest);
    std::fs::write(&other, "int main(void);\n").unwrap();
    says(
        &draft_with(&folder, &sources, "mapped", &[], Some(&other), None).unwrap_err(),
        &["elsewhere.h", "tells of no registers", "xNAME_hw.h"],
    );
}
