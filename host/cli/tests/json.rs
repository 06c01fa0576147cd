// SPDX-License-Identifier: Apache-2.0
//! `--json`: each verb answers with one object of stated keys, and so does each failure. And registers by name, interrupts and resets, which it is
//! the easiest way to look at.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{done, object, towpath, Card, Folder};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader};

/// What it answers on standard output.
#[track_caller]
fn answer(arguments: &[&str]) -> Value {
    let output = done(&[&["--json"], arguments].concat(), b"");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    object(&output.stdout)
}

/// The error that it ends with: its kind and its message.
#[track_caller]
fn error(arguments: &[&str], code: i32) -> (String, String) {
    let output = done(&[arguments, &["--json"]].concat(), b"");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
    let said = object(&output.stderr);
    assert_eq!(keys(&said), ["error"]);
    assert_eq!(keys(&said["error"]), ["kind", "exit_code", "message"]);
    assert_eq!(said["error"]["exit_code"], code);
    (said["error"]["kind"].as_str().unwrap().into(), said["error"]["message"].as_str().unwrap().into())
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn registers_by_name_and_by_offset() {
    let read = answer(&["reg", "--core", "loopback", "read", "id", "0x4"]);
    assert_eq!(
        read,
        json!({"registers": [{"offset": 0, "name": "id", "value": 0x504f_4f4c}, {"offset": 4, "name": "scratch", "value": 0}]})
    );
    let written = answer(&["reg", "write", "scratch", "0x55", "--core", "loopback"]);
    assert_eq!(written, json!({"registers": [{"offset": 4, "name": "scratch", "value": 0x55}]}));
    let written = answer(&["reg", "write", "scratch=0x12", "0x4=0x1_0000", "--core", "loopback"]);
    let expected = [0x12, 0x1_0000].map(|value| json!({"offset": 4, "name": "scratch", "value": value}));
    assert_eq!(written, json!({"registers": expected}), "several, in their order");
    assert!(error(&["reg", "write", "scratch=1", "nonsense=2", "-c", "loopback"], 3).1.contains("nonsense"));
    let dump = answer(&["reg", "dump", "-c", "loopback"]);
    assert_eq!(dump["registers"].as_array().unwrap().len(), 6);
    let range = answer(&["reg", "dump", "--range", "4", "0x18", "-c", "loopback"]);
    assert_eq!(range["registers"][5], json!({"offset": 0x18, "name": null, "value": range["registers"][5]["value"]}));
    assert_eq!(done(&["reg", "write", "scratch", "1", "-c", "loopback"], b"").stdout, b"", "nothing to say to people");
}

#[test]
fn a_card_in_another_process_knows_no_names_and_a_manifest_does() {
    let card = Card::start();
    let (kind, message) = error(&["-d", &card.device, "reg", "read", "scratch"], 3);
    assert!(kind == "not_found" && message.contains("no names are known here") && message.contains("--core"), "{message}");
    assert!(error(&["-d", &card.device, "reg", "dump"], 3).1.contains("--core"));
    let named = answer(&["-d", &card.device, "reg", "read", "id", "--core", "loopback"]);
    assert_eq!(named["registers"][0], json!({"offset": 0, "name": "id", "value": 0x504f_4f4c}));
    assert_eq!(answer(&["-d", &card.device, "reg", "read", "0"])["registers"][0]["name"], Value::Null);
    assert_eq!(answer(&["-d", &card.device, "reg", "dump", "-c", "loopback"])["registers"].as_array().unwrap().len(), 6);
    assert_eq!(answer(&["-d", &card.device, "info", "-c", "loopback"])["registers"]["scratch"], 4);
    // Another core's names would be another core's registers.
    let (_, message) = error(&["-d", &card.device, "reg", "read", "control", "--core", "counter"], 3);
    assert!(message.contains("\"counter\", version 1") && message.contains("the card has core \"loopback\""), "{message}");
    // The environment names a card as the option does.
    let output = towpath(&["--json", "reg", "read", "id", "-c", "loopback"]).env("TOWPATH_DEVICE", &card.device).output().unwrap();
    assert_eq!(object(&output.stdout), named);
    assert!(
        object(&towpath(&["--json", "info"]).env("TOWPATH_DEVICE", &card.device).output().unwrap().stdout)["name"] == card.device.as_str()
    );
}

#[test]
fn a_manifest_of_another_version_names_nothing() {
    let card = Card::start();
    let folder = Folder::new();
    let home = std::env::var("TOWPATH_HOME").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into());
    let core = std::path::Path::new(&home).join("cores/loopback");
    let manifest = std::fs::read_to_string(core.join("towpath.toml")).unwrap();
    assert!(manifest.contains("version = 1\n"));
    std::fs::write(folder.0.join("towpath.toml"), manifest.replace("version = 1\n", "version = 2\n")).unwrap();
    std::fs::copy(core.join("loopback.sv"), folder.0.join("loopback.sv")).unwrap();
    let (_, message) = error(&["-d", &card.device, "reg", "read", "id", "--core", folder.0.to_str().unwrap()], 3);
    assert!(message.contains("version 2") && message.contains("version 1"), "{message}");
}

#[test]
fn interrupts_are_waited_for_and_counted() {
    let card = Card::start();
    for device in ["sim:loopback", &card.device] {
        assert_eq!(answer(&["-d", device, "irq", "count"]), json!({"interrupts": [{"number": 0, "count": 0}]}));
        let (kind, message) = error(&["-d", device, "irq", "wait", "0", "--timeout", "20ms"], 4);
        assert!(kind == "timeout" && message.contains("user interrupt 0"), "{message}");
        assert_eq!(error(&["-d", device, "irq", "wait", "1"], 3).0, "not_found");
    }
    // The counter's core raises one when it has sent what it was asked for.
    let start = ["-w", "length=16", "-w", "count=1", "-w", "control=1", "--core", "counter"];
    assert_eq!(answer(&[&["irq", "wait", "0"], &start[..]].concat()), json!({"interrupts": [{"number": 0, "count": 1}]}));
}

#[test]
fn cards_and_channels_are_reset() {
    let card = Card::start();
    for device in ["sim:loopback", &card.device] {
        assert_eq!(answer(&["-d", device, "reset"]), json!({"device": device, "channel": null}));
        for channel in ["in", "out", "1"] {
            assert_eq!(answer(&["-d", device, "reset", channel]), json!({"device": device, "channel": channel}));
        }
    }
    assert_eq!(error(&["reset", "nowhere", "-c", "loopback"], 3).0, "not_found");
    assert_eq!(done(&["reset", "-c", "loopback"], b"").stdout, b"");
}

#[test]
fn list_info_send_and_recv() {
    let list = answer(&["list"]);
    assert!(list["devices"].as_array().unwrap().iter().any(|device| device["name"] == "sim:loopback"), "{list}");
    let info = answer(&["info", "-c", "loopback"]);
    assert_eq!((&info["name"], &info["core"], &info["contract"]), (&json!("sim:loopback"), &json!("loopback"), &json!("2.2")));
    assert_eq!(info["channels"][1]["direction"], "c2h");
    assert_eq!((&info["fill_levels"], &info["qos"]), (&json!(false), &json!(false)));
    let output = done(&["--json", "send", "in", "--reply", "out=-", "-c", "loopback", "--user", "7"], b"there and back");
    assert_eq!(output.stdout, b"there and back");
    let said = object(&output.stderr);
    assert_eq!((&said["channel"], &said["bytes"]), (&json!("in"), &json!(14)));
    assert_eq!(said["reply"]["messages"], json!([{"bytes": 14, "offset": 0, "user": 7, "end_of_message": true}]));
    let folder = Folder::new();
    let file = folder.0.join("numbers");
    let start = ["-w", "length=100", "-w", "count=2", "-w", "control=1", "-c", "counter", "-m", "2"];
    let said = answer(&[&["recv", "out", file.to_str().unwrap()], &start[..]].concat());
    assert_eq!((&said["bytes"], said["messages"].as_array().unwrap().len()), (&json!(200), 2), "{said}");
}

#[test]
fn sim_says_when_it_is_ready() {
    let folder = Folder::new();
    let socket = folder.0.join("card");
    let mut process = towpath(&["--json", "sim", "loopback", "--socket", socket.to_str().unwrap()]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(object(line.as_bytes()), json!({"device": format!("vfio-user:{}", socket.display()), "card": "sim:loopback"}));
    assert_eq!(unsafe { libc::kill(process.id() as i32, libc::SIGTERM) }, 0);
    assert!(process.wait().unwrap().success());
}

#[test]
fn wrapper_tells_what_a_project_needs() {
    let folder = Folder::new();
    let file = folder.0.join("tp_user.sv");
    let said = answer(&["wrapper", "loopback", "--width", "64", "--core-clock", "125", "--output", file.to_str().unwrap()]);
    assert_eq!((&said["top"], &said["width"]), (&json!("loopback"), &json!(64)), "{said}");
    let source = |said: &Value, n: usize| std::path::PathBuf::from(said["sources"][n].as_str().unwrap());
    assert!(source(&said, 0).is_absolute() && source(&said, 0).ends_with("cores/loopback/loopback.sv"), "{said}");
    assert_eq!((&said["core_clock_khz"], &said["user_clock_khz"]), (&json!(125_000), &json!(null)), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("DATA_WIDTH = 64;") && text.contains("module tp_user"), "{text}");
    // A kind's sources come before the core's.
    let kinds = answer(&["wrapper", "scratchpad", "--output", folder.0.join("kinds.sv").to_str().unwrap()]);
    assert!(source(&kinds, 0).ends_with("gateware/channel/memory/tp_memory_write.sv") && source(&kinds, 0).is_file(), "{kinds}");
    assert!(source(&kinds, 5).ends_with("cores/scratchpad/scratchpad.sv"), "{kinds}");
    // A region's cores apart.
    let (regions, user) = (folder.0.join("regions"), folder.0.join("around.sv"));
    let partial = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/partial");
    let apart = ["wrapper", partial.to_str().unwrap(), "--output", user.to_str().unwrap(), "--regions", regions.to_str().unwrap()];
    let around = answer(&apart);
    assert!(around["sources"].as_array().unwrap().iter().all(|s| s.as_str().unwrap().contains("/gateware/plugin/partial/")), "{around}");
    for (number, core) in ["loopback", "sobel"].into_iter().enumerate() {
        let inside = &around["regions"][number];
        assert_eq!(inside["core"], json!(core), "{around}");
        assert!(source(inside, 0).ends_with(format!("cores/{core}/{core}.sv")) && source(inside, 0).is_file(), "{inside}");
        let text = std::fs::read_to_string(inside["file"].as_str().unwrap()).unwrap();
        assert!(text.contains("module tp_region (") && text.contains(&format!("  {core} #(")), "{text}");
    }
    assert!(regions.join("tp_region.sv").is_file() && !std::fs::read_to_string(&user).unwrap().contains("module tp_region"));
    // The same on standard output.
    assert_eq!(done(&["wrapper", "loopback", "--width", "64", "--core-clock", "125"], b"").stdout, text.as_bytes());
}

#[test]
fn failures_are_objects_too() {
    assert_eq!(error(&["info", "-d", "teapot:1"], 3).0, "not_found");
    assert_eq!(error(&["send", "in", "/no/such/file", "-c", "loopback"], 7).0, "file");
    assert_eq!(error(&["recv", "out", "-c", "loopback", "-t", "1us"], 4).0, "timeout");
    // The command line could not even be read.
    let (kind, message) = error(&["send"], 2);
    assert!(kind == "usage" && message.contains("<CHANNEL>"), "{message}");
    // Behind `--` it is another program's.
    let plain = done(&["run", "--", "true", "--json"], b"");
    assert_eq!(plain.status.code(), Some(2));
    assert!(!plain.stderr.starts_with(b"{"), "{plain:?}");
}
