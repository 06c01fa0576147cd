// SPDX-License-Identifier: Apache-2.0
//! The program's exit codes and messages as far as they need no device. What needs one is in sim.rs and bindings/python/tests/test_cli.py.

use std::process::{Command, Output};

fn towpath(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_towpath")).args(arguments).env_remove("TOWPATH_DEVICE").output().expect("the program starts")
}

#[track_caller]
fn ends(arguments: &[&str], code: i32, says: &str) {
    let output = towpath(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(message.contains(says), "{arguments:?}: {message:?} does not say {says:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}: errors belong on standard error");
}

#[test]
fn the_command_line_is_wrong() {
    ends(&[], 2, "Usage");
    ends(&["fly"], 2, "fly");
    ends(&["send"], 2, "CHANNEL");
    ends(&["sim", "loopback"], 2, "--socket");
    ends(&["--json", "wrapper", "loopback"], 2, "--output");
    ends(&["wrapper", "loopback", "--width", "96"], 5, "width 96");
    ends(&["recv", "out", "--timeout", "5 parsecs"], 2, "parsecs");
    ends(&["recv", "out", "--bytes", "0"], 2, "at least one byte");
    ends(&["reg", "write", "0x0", "0x1_0000_0000"], 2, "32 bits");
    for words in [&["scratch"][..], &["scratch=1", "2"], &["scratch", "1=2"], &["a", "1", "b", "2"], &["=1"]] {
        ends(&[&["reg", "write"], words].concat(), 2, "REGISTER=VALUE");
    }
    ends(&["reg", "write", "scratch=ten"], 2, "not a number");
    ends(&["recv", "out", "one", "-o", "two"], 2, "--output");
    ends(&["send", "in", "one", "-i", "two"], 2, "--input");
    ends(&["send", "in", "--length", "-"], 2, "regular files");
    ends(&["run", "--core", "sobel"], 2, "PROGRAM");
    ends(&["bench", "rows.json"], 2, "--json");
    ends(&["bench", "--only", "nonsense"], 2, "While data flows");
    ends(&["run", "--core", "sobel", "--set", "nonsense", "--", "true"], 2, "KEY=VALUE");
}

#[test]
fn no_such_device() {
    ends(&["info", "--device", "teapot:1"], 3, "teapot:1");
    ends(&["info", "teapot:2"], 3, "teapot:2");
    ends(&["info", "teapot:2", "--device", "teapot:1"], 3, "teapot:2");
    ends(&["info", "--device", "vfio-user:/no/such/socket"], 3, "towpath sim CORE --socket");
    ends(&["info", "--device", "vfio-user:"], 3, "names no socket");
    ends(&["info", "--device", "vfio:65"], 3, "0000:65:00.0");
    ends(&["info", "--device", "vfio:ffff:ff:1f.7"], 3, "lspci -D");
    ends(&["info", "--device", "ffff:ff:1f.7"], 3, "no device of PCI is at ffff:ff:1f.7");
    ends(&["sim", "./no/such/folder", "--socket", "/tmp/none"], 3, "./no/such/folder");
    ends(&["run", "--core", "./no/such/folder", "--", "true"], 3, "./no/such/folder");
}

#[test]
fn doctor_ends_with_a_problem_and_tells_it_on_standard_output() {
    let found = |arguments: &[&str]| {
        let output = towpath(arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) = found(&["doctor", "vfio:ffff:ff:1f.7"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("problem  ffff:ff:1f.7  identification  no device of PCI") && text.contains("\n         lspci -D"), "{text}");
    let (code, text) = found(&["doctor", "--json", "--device", "ffff:ff:1f.7"]);
    assert_eq!(code, Some(1), "{text}");
    let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let first = &answer["findings"][0];
    assert_eq!((first["level"].as_str(), first["check"].as_str()), (Some("problem"), Some("identification")));
    assert_eq!(found(&["doctor", "vfio-user:/any"]).0, Some(0));
}

#[test]
fn files_are_opened_before_the_device() {
    ends(&["--device", "teapot:1", "send", "in", "/no/such/file"], 7, "/no/such/file");
    ends(&["--device", "teapot:1", "send", "in", "/"], 7, "folder");
}

#[test]
fn help_names_every_exit_code() {
    let output = towpath(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    for code in ["0  ", "1  ", "2  ", "3  ", "4  ", "5  ", "6  ", "7  ", "126, 127  "] {
        assert!(help.contains(&format!("  {code}")), "{code:?} is missing:\n{help}");
    }
}
