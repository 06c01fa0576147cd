// SPDX-License-Identifier: Apache-2.0
//! `partial`, against a served card whose core can be swapped, and one whose cannot.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{done, object, Card};
use serde_json::json;
use std::path::Path;

const CORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/partial");

#[test]
fn a_served_card_keeps_the_core_that_a_program_has_loaded() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("partial");
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(format!("{name}.bin")).display().to_string();
    for name in ["sobel", "loopback", "gone"] {
        assert!(done(&["partial", "image", name, "--words", "100", "-o", &file(name)], b"").status.success());
    }
    assert_eq!(done(&["partial", "image", "sobel", "--words", "100"], b"").stdout, std::fs::read(file("sobel")).unwrap());
    let card = Card::start_core(CORE, &[], &folder);
    let run = |arguments: &[&str]| done(&[&["--json", "-d", &card.device], arguments].concat(), b"");
    let status = || object(&run(&["partial", "status"]).stdout);
    assert_eq!((&status()["core"], &status()["loads"]), (&json!("loopback"), &json!(0)));
    assert_eq!(object(&run(&["partial", "load", &file("sobel")]).stdout)["core"], json!("sobel"));
    // Another program finds it; its width is 0, so its edges are.
    assert_eq!((&status()["core"], &status()["decoupled"]), (&json!("sobel"), &json!(false)));
    assert_eq!(done(&["-d", &card.device, "pipe"], b"picture").stdout, [0; 7]);
    let failed = run(&["partial", "load", "--cut", &file("gone")]);
    assert!(failed.status.code() == Some(1) && String::from_utf8_lossy(&failed.stderr).contains("refuses the file"), "{failed:?}");
    assert_eq!((&status()["core"], &status()["loads"]), (&json!(null), &json!(1)));
    let text = done(&["-d", &card.device, "partial", "load", "--cut", &file("loopback")], b"");
    assert_eq!(String::from_utf8_lossy(&text.stdout), "core loopback, 2 loads\n");
    assert_eq!(done(&["-d", &card.device, "pipe"], b"picture").stdout, b"picture");
    assert_eq!(run(&["partial", "load", &file("none")]).status.code(), Some(7));
    assert_eq!(done(&["partial", "image", &"a".repeat(40)], b"").status.code(), Some(2));
}

#[test]
fn a_card_without_it_says_so() {
    let card = Card::start();
    let output = done(&["-d", &card.device, "partial", "status"], b"");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(3) && text.contains("no plug-in \"partial\""), "{text}");
}
