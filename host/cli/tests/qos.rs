// SPDX-License-Identifier: Apache-2.0
//! `qos`, against a core whose channels have weights, and one whose have not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{done, object, Card};
use serde_json::json;
use std::path::Path;
use std::process::Output;

const CORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cores/loop3x2_qos");

#[test]
fn channels_are_shown_and_set() {
    let card = Card::start_core(CORE, &[], Path::new(env!("CARGO_TARGET_TMPDIR")));
    let qos = |arguments: &[&str]| done(&[&["-d", &card.device, "qos"], arguments].concat(), b"");
    let set = qos(&["b", "--weight", "5", "--class", "3", "--rate", "1M"]);
    let text = String::from_utf8_lossy(&set.stdout).into_owned();
    assert!(set.status.success() && text.starts_with("1   h2c  b  weight 5    class 3  10485"), "{text}");
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).contains("ends with this command");
    assert!(said(&set) && !said(&qos(&[])));
    let all = String::from_utf8(qos(&[]).stdout).unwrap();
    // A program that leaves a served card resets its function, and these settings with it.
    assert!(all.lines().count() == 5 && all.lines().all(|line| line.ends_with("weight 1    class 0  no limit")), "{all}");
    let told = object(&done(&["--json", "-d", &card.device, "qos", "y"], b"").stdout);
    assert_eq!(told["channels"], json!([{"index": 4, "name": "y", "direction": "c2h", "weight": 1, "rate": 0, "class": 0}]));
    for (arguments, code) in [(&["--weight", "5"] as &[_], 2), (&["b", "--weight", "0"], 2), (&["b", "--class", "8"], 2), (&["z"], 3)] {
        assert_eq!(qos(arguments).status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_card_without_it_says_so() {
    let card = Card::start();
    let output = done(&["-d", &card.device, "qos"], b"");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("qos = true"), "{text}");
}
