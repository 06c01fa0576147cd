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
    let long = folder.0.join("n".repeat(32));
    assert_eq!(done(&["new", long.to_str().unwrap()], b"").status.code(), Some(2));
    assert!(!long.exists(), "a folder is left behind");
}

#[test]
fn programs_for_riffas_channels_send_and_receive() {
    let folder = Folder::new();
    let core = folder.0.join("theirs");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cores/riffa_echo/riffa_echo.v");
    let output = done(&["new", core.to_str().unwrap(), "--from", source, "--top", "riffa_echo"], b"");
    assert!(output.status.success(), "{output:?}");
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings/c/include");
    let c = Command::new("cc").args(["-fsyntax-only", "-Wall", "-Werror", "-I", include]).arg(core.join("host.c")).output();
    assert!(c.as_ref().unwrap().status.success(), "{c:?}");
    let text = |name: &str| std::fs::read_to_string(core.join(name)).unwrap();
    for part in ["towpath_send(riffa0_to_card_channel, bytes, sizeof bytes, &whole", "towpath_recv(riffa0_from_card_channel"] {
        assert!(text("host.c").contains(part), "{part}: {}", text("host.c"));
    }
    for part in ["submit_send(\"riffa0\", bytes(range(64)), length=64, user=1)", "card.recv(\"riffa0\")"] {
        assert!(text("host.py").contains(part), "{part}: {}", text("host.py"));
    }
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
    assert!(!folder.0.join("x").exists(), "a folder is left behind");
    // Names that shells quote; a folder is one of included files only if something is included from it.
    let odd = folder.0.join("it's odd");
    std::fs::create_dir(&odd).unwrap();
    let text = std::fs::read_to_string(source).unwrap();
    std::fs::write(odd.join("narrow.sv"), format!("`include \"some.svh\"\n{text}")).unwrap();
    std::fs::create_dir(odd.join("inc")).unwrap();
    for (file, text) in
        [("some.svh", "`include \"inc/more.svh\"\n"), ("inc/more.svh", "// more\n"), ("inc/beside.sv", "module beside; endmodule\n")]
    {
        std::fs::write(odd.join(file), text).unwrap();
    }
    let (from, beside) = (odd.join("narrow.sv"), odd.join("inc/beside.sv"));
    let (core, from, beside) = (odd.join("core"), from.to_str().unwrap(), beside.to_str().unwrap());
    let output = done(&["new", core.to_str().unwrap(), "--from", from, "--from", beside, "--top", "narrow"], b"");
    assert!(output.status.success(), "{output:?}");
    let run = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(run.contains("it'\\''s odd/core'"), "{run}");
    let manifest = std::fs::read_to_string(core.join("towpath.toml")).unwrap();
    assert!(manifest.contains("include = [\"..\"]\n"), "{manifest}");
    let output = done(&["wrapper", core.to_str().unwrap()], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_core_with_the_ports_of_another_dma_block_runs() {
    let folder = Folder::new();
    let core = folder.0.join("app");
    let core = core.to_str().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cores/xdma_app/xdma_app.sv");
    let output = done(&["--json", "new", core, "--from", source, "--top", "xdma_app"], b"");
    // The block's own signals are the designer's to decide, and nothing else is.
    let told = object(&output.stdout)["undecided"].to_string();
    assert!(output.status.success() && told.matches("xdma_app.sv:").count() == 2, "{output:?}");
    assert!(told.contains("\\\"leds\\\" (4 bit) is left open") && told.contains("\\\"user_lnk_up\\\" (1 bit) gets 0"), "{told}");
    let output = done(&["send", "h2c_0", "--reply", "c2h_0=-", "-c", core, "-w", "0=7"], b"there and back");
    assert!(output.status.success() && output.stdout == b"there and back", "{output:?}");
    // As docs/guide/from-xdma.md says.
    let manifest = format!("{core}/towpath.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"leds\", \"user_lnk_up\"]", "\"leds\"]\ntied = { user_lnk_up = 1 }")).unwrap();
    let output = done(&["reg", "write", "-c", core, "0=7"], b"");
    assert!(output.status.success(), "{output:?}");
}
