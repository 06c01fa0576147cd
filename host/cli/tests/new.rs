// SPDX-License-Identifier: Apache-2.0
//! `towpath new`: what it writes builds and runs.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{done, object, Folder};
use std::process::Command;

#[test]
fn a_new_core_runs_as_it_is() {
    let folder = Folder::new();
    let core = folder.0.join("mine");
    let core = core.to_str().unwrap();
    let output = done(&["--json", "new", core], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(object(&output.stdout)["files"], serde_json::json!(["towpath.toml", "mine.sv", "host.py", "host.c"]));
    let output = done(&["send", "in", "--reply", "out=-", "-c", core], b"there and back");
    assert!(output.status.success() && output.stdout == b"there and back", "{output:?}");
    // Its programs are programs.
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings/c/include");
    let c = Command::new("cc").args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", include]).arg(format!("{core}/host.c")).output();
    assert!(c.as_ref().unwrap().status.success(), "{c:?}");
    let python = Command::new("python3")
        .args(["-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"])
        .arg(format!("{core}/host.py"))
        .output();
    assert!(python.as_ref().unwrap().status.success(), "{python:?}");
    // It writes over nothing.
    let output = done(&["new", core], b"");
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is there already"), "{output:?}");
    // A name that no module has.
    let output = done(&["new", folder.0.join("4ever").to_str().unwrap()], b"");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_core_that_there_is_gets_a_manifest() {
    let folder = Folder::new();
    let core = folder.0.join("theirs");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cores/narrow/narrow.sv");
    let output = done(&["new", core.to_str().unwrap(), "--from", source, "--top", "narrow"], b"");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("to decide: channel \"out\" has no tlast"), "{output:?}");
    let output = done(&["wrapper", core.to_str().unwrap()], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings/c/include");
    let c = Command::new("cc").args(["-fsyntax-only", "-Wall", "-Werror", "-I", include]).arg(core.join("host.c")).output();
    assert!(c.as_ref().unwrap().status.success(), "{c:?}");
    let output = done(&["new", folder.0.join("x").to_str().unwrap(), "--from", source, "--top", "wide"], b"");
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}
