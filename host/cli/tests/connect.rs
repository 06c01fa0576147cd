// SPDX-License-Identifier: Apache-2.0
//! `connect`, with two simulated cards of which one sends when a register is written.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{done, object, towpath, Folder};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};

fn end(channel: &str) -> String {
    format!("sim:{}?world=lab:{channel}", concat!(env!("CARGO_MANIFEST_DIR"), "/../../cores/bench/ping"))
}

/// All of one message has arrived, and nothing was cut.
fn check(told: &Value) {
    assert_eq!((&told["arrived"], &told["taken"], &told["cut"]), (&true.into(), &true.into(), &false.into()), "{told}");
    assert_eq!((&told["slots_arrived"], &told["slot_bytes"], &told["fault"]), (&1.into(), &256.into(), &Value::Null), "{told}");
}

#[test]
fn until_a_program_ends() {
    let (from, to) = (end("out"), end("in"));
    let connect = |program: &[&str]| {
        let options = ["--json", "connect", &from, &to, "--slot", "256", "-w", "control=1", "--"];
        done(&[&options, program].concat(), b"")
    };
    let output = connect(&["sh", "-c", "sleep 0.3; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let told = object(&output.stdout);
    check(&told);
    assert_eq!((&told["exit_code"], &told["signal"]), (&7.into(), &Value::Null));
    assert_eq!(connect(&["/no/such/program"]).status.code(), Some(127));
}

#[test]
fn until_a_signal() {
    let folder = Folder::new();
    let ended = folder.0.join("ended");
    let program = "trap 'echo $$ > $0; exit' TERM; while :; do sleep 0.02; done";
    let pair = [&end("out"), &end("in"), "--slot", "256", "--write", "control=1", "--", "sh", "-c", program, ended.to_str().unwrap()];
    let mut child = towpath(&[&["connect"], &pair[..]].concat()).spawn().unwrap();
    let mut says = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("sends to") {
        line.clear();
        assert!(says.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    assert!(line.contains("in slots of 256 bytes"), "{line}");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success() && text.contains("has arrived, and the core there has taken it"), "{text}");
    // The program was asked to end, and had the time to.
    assert!(ended.exists());
}

#[test]
fn what_it_refuses() {
    let says = |arguments: &[&str], code: i32, text: &str| {
        let output = done(&[&["connect"], arguments].concat(), b"");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && said.contains(text), "{arguments:?}: {said}");
    };
    says(&["out", &end("in")], 2, "CARD:CHANNEL");
    says(&[&end("out"), &end("in"), "--slot", "64"], 2, "power of two");
    says(&[&end("in"), &end("out")], 3, "\"in\"");
    let alone = end("out").replace("?world=lab", "");
    says(&[&alone, &end("in")], 1, "world");
}
