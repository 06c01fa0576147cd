// SPDX-License-Identifier: Apache-2.0
//! More than one card: in processes of their own, found and named by order and by serial number, and used at once.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{done, object, pattern, towpath, Card, Folder};
use serde_json::{json, Value};
use std::path::Path;
use std::process::Output;

/// Two cards which nobody else knows of, in their order: one without a serial number, one with.
struct Two {
    runtime: Folder,
    cards: [Card; 2],
}

const SERIAL: u64 = 0x5eed;

impl Two {
    fn start() -> Two {
        let runtime = Folder::new();
        let mut cards = [Card::start_with(&[], &runtime.0), Card::start_with(&["serial=0x5eed"], &runtime.0)];
        cards.sort_by(|one, other| one.device.cmp(&other.device));
        Two { runtime, cards }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        run(&self.runtime.0, arguments)
    }

    /// The name of the card that has, or has not, the serial number.
    fn with_serial(&self, has: bool) -> &str {
        let info = |card: &Card| object(&done(&["--json", "-d", &card.device, "info"], b"").stdout)["serial"] == SERIAL;
        &self.cards.iter().find(|card| info(card) == has).unwrap().device
    }

    /// The name behind a name.
    #[track_caller]
    fn is(&self, name: &str) -> String {
        let output = self.run(&["--json", "-d", name, "info"]);
        assert!(output.status.success(), "{name}: {output:?}");
        object(&output.stdout)["name"].as_str().unwrap().to_string()
    }

    /// Why a name leads nowhere.
    #[track_caller]
    fn is_not(&self, name: &str, code: i32, why: &str) {
        let output = self.run(&["-d", name, "info"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(name) && said.contains(why), "{name}: {said}");
    }

    fn listed(&self) -> Vec<Value> {
        let list = object(&self.run(&["--json", "list"]).stdout);
        list["devices"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|device| device["name"].as_str().unwrap().starts_with("vfio-user:"))
            .cloned()
            .collect()
    }
}

fn run(runtime: &Path, arguments: &[&str]) -> Output {
    towpath(arguments).env("XDG_RUNTIME_DIR", runtime).output().unwrap()
}

#[test]
fn cards_are_found_and_named_by_order_and_by_serial_number() {
    let two = Two::start();
    let listed = two.listed();
    for (order, (device, card)) in listed.iter().zip(&two.cards).enumerate() {
        assert_eq!((&device["name"], &device["order"]), (&json!(card.device), &json!(order + 1)));
        let serial = if card.device == two.with_serial(true) { SERIAL } else { 0 };
        assert_eq!(device["serial"], serial);
        assert!(device["description"].as_str().unwrap().contains("sim:loopback"), "{device}");
    }
    assert_eq!(listed.len(), 2);
    let text = String::from_utf8(two.run(&["list"]).stdout).unwrap();
    assert!(text.starts_with("#1") && text.contains("serial number 0x5eed"), "{text}");

    let [first, second] = [0, 1].map(|at| two.cards[at].device.clone());
    assert_eq!((two.is("#1"), two.is("#2")), (first.clone(), second));
    assert_eq!(two.is("serial:0x5eed"), two.with_serial(true));
    assert_eq!(two.is(&format!("serial:{SERIAL}")), two.with_serial(true));
    assert_eq!(two.is("serial:0"), two.with_serial(false));

    for name in ["#2", "serial:0x5eed"] {
        let checked = two.run(&["doctor", name]);
        assert!(checked.status.success() && String::from_utf8_lossy(&checked.stdout).contains("needs nothing"), "{checked:?}");
    }
    assert_eq!(two.run(&["doctor", "#3"]).status.code(), Some(1));

    two.is_not("#3", 3, "there are 2 cards");
    two.is_not("#0", 2, "#1 for the first");
    two.is_not("#one", 2, "#1 for the first");
    two.is_not("serial:7", 3, "no card has this serial number");
    two.is_not("serial:seven", 2, "not a number");
    two.is_not("serial", 3, "serial:NUMBER");
}

/// It may be at work for somebody else, and a transfer would change what its core has.
#[test]
fn a_card_that_another_process_serves_is_only_for_who_names_it() {
    let two = Two::start();
    for verb in [&["info"][..], &["-d", "", "info"], &["pipe"], &["reset"]] {
        let output = two.run(verb);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{verb:?}: {said}");
        assert!(said.contains(&format!("towpath -d {}", two.cards[0].device)), "what to type: {said}");
        assert!(two.cards.iter().all(|card| said.contains(&card.device)), "which there are: {said}");
    }
    let device = &two.cards[1].device;
    assert_eq!(object(&two.run(&["--json", "info", device]).stdout)["name"], **device);
    let output = towpath(&["--json", "info"]).env("TOWPATH_DEVICE", device).output().unwrap();
    assert_eq!(object(&output.stdout)["name"], **device);
}

#[test]
fn a_serial_number_of_two_cards_names_neither() {
    let mut two = Two::start();
    let third = Card::start_with(&["serial=24301"], &two.runtime.0);
    two.is_not("serial:0x5eed", 3, "2 cards have this serial number");
    let said = two.run(&["-d", "serial:0x5eed", "info"]).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains(&third.device) && said.contains(two.with_serial(true)), "{said}");

    // One that is killed is no card any more, and what it left is taken away.
    assert_eq!(two.listed().len(), 3);
    let mut third = third;
    third.process.kill().unwrap();
    third.process.wait().unwrap();
    assert_eq!(two.listed().len(), 2);
    assert_eq!(two.is("serial:0x5eed"), two.with_serial(true));
    // Nor is one that has ended in order.
    let last = std::mem::replace(&mut two.cards[1], third);
    last.signal(libc::SIGTERM);
    assert_eq!(last.ends().code(), Some(0));
    assert_eq!(two.listed().len(), 1);
    assert_eq!(std::fs::read_dir(two.runtime.0.join("towpath")).unwrap().count(), 1);
}

#[test]
fn there_may_be_no_card() {
    let runtime = Folder::new();
    let output = run(&runtime.0, &["info"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no process serves one"), "{output:?}");
    assert_eq!(run(&runtime.0, &["-d", "#1", "info"]).status.code(), Some(3));
    assert_eq!(run(&runtime.0, &["-d", "serial:1", "info"]).status.code(), Some(3));
}

#[test]
fn what_the_environment_names_is_listed_too() {
    let card = Card::start();
    let runtime = Folder::new();
    let listed = |name: &str| {
        let output = towpath(&["--json", "list"]).env("XDG_RUNTIME_DIR", &runtime.0).env("TOWPATH_DEVICE", name).output().unwrap();
        let list = object(&output.stdout)["devices"].as_array().unwrap().clone();
        list.into_iter().filter(|device| device["name"] == name).collect::<Vec<_>>()
    };
    let [device] = &listed(&card.device)[..] else { panic!("not once") };
    assert_eq!((&device["order"], &device["serial"]), (&Value::Null, &Value::Null));
    assert_eq!(listed("sim:loopback").len(), 1, "named twice, it is listed once");
}

#[test]
fn programs_use_two_cards_at_once() {
    let two = Two::start();
    std::thread::scope(|scope| {
        for (number, card) in two.cards.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..5 {
                    card.echoes(&pattern(100_000 + round, number as u32));
                }
            });
        }
    });
    // And one program both of them, one behind the other.
    let script = "\"$1\" -d '#1' pipe | \"$1\" -d '#2' pipe";
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", script, "-", env!("CARGO_BIN_EXE_towpath")]).env("XDG_RUNTIME_DIR", &two.runtime.0).env_remove("TOWPATH_DEVICE");
    let data = two.runtime.0.join("data");
    std::fs::write(&data, pattern(700_001, 3)).unwrap();
    let output = shell.stdin(std::fs::File::open(&data).unwrap()).output().unwrap();
    assert!(output.stdout == pattern(700_001, 3), "{}", String::from_utf8_lossy(&output.stderr));
}
