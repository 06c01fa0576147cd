// SPDX-License-Identifier: Apache-2.0
//! Registers that are ports of the core's: what is drafted, what is generated, and what the user is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use towpath_cores::{draft, wrap, BuildOptions, CoreError};

mod common;
use common::{says, world};

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
