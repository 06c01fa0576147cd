// SPDX-License-Identifier: Apache-2.0
//! `mem`, against the scratchpad in a process of its own.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{done, object, pattern, Card, Folder};
use serde_json::json;
use std::path::Path;
use std::process::Output;

/// A page that answers with SLVERR once its register says so.
const BAD: u64 = 200;

fn pad() -> Card {
    Card::start_core("scratchpad", &[], Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn mem(card: &Card, arguments: &[&str], input: &[u8]) -> Output {
    let before = ["-d", &card.device, "mem"];
    done(&before.iter().chain(arguments).copied().collect::<Vec<_>>(), input)
}

#[track_caller]
fn works(card: &Card, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let output = mem(card, arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[track_caller]
fn fails(card: &Card, arguments: &[&str], input: &[u8], code: i32, words: &[&str]) {
    let output = mem(card, arguments, input);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(words.iter().all(|word| text.contains(word)), "{arguments:?}: {text}");
}

#[test]
fn bytes_are_written_read_dumped_filled_and_compared() {
    let (card, folder) = (pad(), Folder::new());
    let file = |name: &str| folder.0.join(name).to_str().unwrap().to_string();
    // More than a block, and blocks of the pattern that are cut.
    let data = pattern(300_001, 1);
    std::fs::write(file("data"), &data).unwrap();
    assert_eq!(works(&card, &["write", "ram", "0x11", &file("data")], b""), b"");
    assert!(works(&card, &["read", "ram", "17", "300001"], b"") == data);
    works(&card, &["read", "ram", "0x11", "300001", &file("back")], b"");
    assert!(std::fs::read(file("back")).unwrap() == data);
    works(&card, &["compare", "ram", "0x11", &file("data")], b"");
    works(&card, &["compare", "0", "0x11"], &data);
    works(&card, &["write", "ram", "70000", "-", "--window"], b"!");
    assert!(works(&card, &["read", "ram", "69990", "10", "--window"], b"") == data[69990 - 17..70000 - 17]);
    let there = data[70000 - 17];
    let words = [format!("differs at address {:#x}: it has 0x21 there, not {there:#04x}", 70000)];
    fails(&card, &["compare", "ram", "17", &file("data")], b"", 1, &[&words[0]]);
    works(&card, &["fill", "ram", "0", "1MiB", "0xabcdef"], b"");
    let filled = works(&card, &["read", "ram", "0", "1MiB"], b"");
    assert!(filled.len() == 1 << 20 && filled.iter().zip([0xab, 0xcd, 0xef].iter().cycle()).all(|(found, wanted)| found == wanted));
    works(&card, &["write", "ram", "64K"], b"hello, memory\n");
    let dump = String::from_utf8(works(&card, &["dump", "ram", "64K", "20"], b"")).unwrap();
    let lines = [
        "00010000: 6865 6c6c 6f2c 206d 656d 6f72 790a abcd  hello, memory...\n",
        "00010010: efab cdef                                ....\n",
    ];
    assert_eq!(dump, lines.concat());
}

#[test]
fn json() {
    let card = pad();
    let before = ["--json", "-d", &card.device];
    let said = |arguments: &[&str], input: &[u8]| done(&before.iter().chain(arguments).copied().collect::<Vec<_>>(), input);
    let written = object(&said(&["mem", "write", "ram", "5"], b"abc").stdout);
    assert_eq!((&written["memory"], &written["address"], &written["bytes"]), (&json!("ram"), &json!(5), &json!(3)));
    assert!(written["nanoseconds"].as_u64().unwrap() > 0);
    let read = said(&["mem", "read", "ram", "5", "3"], b"");
    assert_eq!((read.stdout.as_slice(), &object(&read.stderr)["bytes"]), (&b"abc"[..], &json!(3)));
    assert_eq!(object(&said(&["mem", "dump", "ram", "4", "5"], b"").stdout)["hex"], "0061626300");
    let compared = said(&["mem", "compare", "ram", "5"], b"axc");
    assert_eq!(compared.status.code(), Some(1));
    assert_eq!(object(&compared.stdout), json!({"memory": "ram", "address": 6, "found": 98, "wanted": 120}));
    assert_eq!(object(&compared.stderr)["error"]["kind"], "transfer");
    let info = object(&said(&["info"], b"").stdout);
    assert_eq!(info["memories"], json!([{"name": "ram", "bytes": 1 << 20, "writer": 0, "reader": 1}]));
    let channel = &info["channels"][1];
    assert_eq!((&channel["kind"], &channel["kind_parameter"], &channel["usable"]), (&json!("memory"), &json!(256), &json!(true)));
}

#[test]
fn what_is_wrong_is_told() {
    let card = pad();
    fails(&card, &["read", "rom", "0", "1"], b"", 3, &["no memory \"rom\"", "\"ram\" (0x100000 bytes)"]);
    fails(&card, &["read", "ram", "0xfffff", "2"], b"", 2, &["has 0x100000 bytes", "0x2 bytes at address 0xfffff"]);
    fails(&card, &["fill", "ram", "1MiB", "1", "00"], b"", 2, &["are not in it"]);
    fails(&card, &["fill", "ram", "0", "1", "0"], b"", 2, &["two hexadecimal digits"]);
    fails(&card, &["dump", "ram", "0xten", "1"], b"", 2, &["not a number"]);
    fails(&card, &["write", "ram", "0", "/no/such/file"], b"", 7, &["/no/such/file"]);
    let output = done(&["-d", &card.device, "recv", "ram"], b"");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && text.contains("of the kind memory"), "{text}");
    let output = done(&["-d", &card.device, "pipe"], b"");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && text.contains("no h2c stream"), "{text}");
    // The page's register, by its offset: a served card knows no names.
    let bad = format!("0xc={BAD}");
    fails(&card, &["write", "ram", "0xc8010", "-w", &bad], b"x", 1, &["writing bytes 0xc8010 to 0xc8010", "SLVERR"]);
    fails(&card, &["dump", "ram", "0xc8000", "4", "-w", &bad], b"", 1, &["reading bytes 0xc8000 to 0xc8003", "SLVERR"]);
    let reset = done(&["-d", &card.device, "reset", "ram"], b"");
    assert!(reset.status.success(), "{}", String::from_utf8_lossy(&reset.stderr));
}
