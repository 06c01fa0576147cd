// SPDX-License-Identifier: Apache-2.0
//! `towpath trace`: what went over a simulated card's link, read back and compared with what the program moved.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{done, pattern, Card, Folder};
use serde_json::Value;
use std::collections::BTreeMap;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn traced(arguments: &[&str]) -> Vec<Value> {
    let output = done(&[&["--json", "trace"], arguments].concat(), b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A record of a file's way through the loopback core.
fn record(folder: &Folder, bytes: usize) -> String {
    let file = folder.0.join("packets").display().to_string();
    let data = pattern(bytes, 1);
    let output = done(&["-d", &format!("sim:loopback?packets={file}"), "pipe"], &data);
    assert!(output.status.success() && output.stdout == data, "{}", text(&output.stderr));
    file
}

#[test]
fn every_descriptor_and_byte_of_a_transfer_is_in_it() {
    let folder = Folder::new();
    let file = record(&folder, 70_001);
    let packets = traced(&[&file]);
    let sum = |select: &dyn Fn(&Value) -> Option<u64>| packets.iter().filter_map(select).sum::<u64>();

    let posted = |packet: &Value| (packet["channel"] == "in").then(|| packet["descriptor"]["length"].as_u64()).flatten();
    assert_eq!(sum(&posted), 70_001, "bytes of descriptors");
    let landed = |packet: &Value| (packet["channel"] == "in").then(|| packet["completion"]["bytes"].as_u64()).flatten();
    assert_eq!(sum(&landed), 70_001, "bytes of completions");
    let read = |packet: &Value| (packet["to"] == "card" && packet["packet"] == "completion").then(|| packet["bytes"].as_u64()).flatten();
    assert_eq!(sum(&read), 70_001, "bytes that the card read");
    let written = |packet: &Value| (packet["kind"] == "data" && packet["packet"] == "write").then(|| packet["bytes"].as_u64()).flatten();
    assert_eq!(sum(&written), 70_001, "bytes that the card wrote");
    // Each read is answered, by its tag.
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    for packet in packets.iter().filter(|packet| packet["kind"] != "beats") {
        let tag = || packet["tag"].as_u64().unwrap();
        match (packet["to"].as_str().unwrap(), packet["packet"].as_str().unwrap()) {
            ("host", "read") => assert_eq!(open.insert(tag(), packet["bytes"].as_u64().unwrap()), None, "a tag that is out"),
            ("card", "completion") => {
                let left = open.get_mut(&tag()).unwrap();
                *left -= packet["bytes"].as_u64().unwrap();
                if *left == 0 {
                    open.remove(&tag());
                }
            }
            _ => (),
        }
    }
    assert_eq!(open, BTreeMap::new(), "reads without an answer");
    let ended: Vec<_> = packets.iter().filter(|packet| packet["completion"]["status"] == "end_of_message").collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert!(packets.iter().any(|packet| packet["kind"] == "interrupt"), "the program slept");
    // At the user core as many beats as the bytes fill, on each of its streams.
    for (channel, port) in [("in", 0), ("out", 1)] {
        let of = |packet: &&Value| packet["kind"] == "beats" && packet["channel"] == channel && packet["port"] == port;
        let mask = |packet: &Value, key: &str| u64::from_str_radix(packet[key].as_str().unwrap(), 16).unwrap();
        let moved = packets.iter().filter(of).map(|packet| u64::from((mask(packet, "valid") & mask(packet, "ready")).count_ones()));
        assert_eq!(moved.sum::<u64>(), 70_001_u64.div_ceil(16), "{channel}");
    }
}

#[test]
fn lines_for_people_can_be_chosen() {
    let folder = Folder::new();
    let file = record(&folder, 4096);
    let all = text(&done(&["trace", &file, "--discovery"], b"").stdout);
    assert_eq!(
        all.lines().count(),
        std::fs::read_to_string(&file).unwrap().lines().count(),
        "a line for each packet, and one that heads them"
    );
    assert!(all.starts_with("     time (ns)    packet     place"), "{all}");
    let is_discovery = |line: &&str| line.contains("read discovery 0x");
    let reads = all.lines().filter(is_discovery).count();
    let folded = text(&done(&["trace", &file], b"").stdout);
    assert!(reads > 20 && !folded.lines().any(|line| is_discovery(&line)), "{reads}: {folded}");
    let folds: Vec<&str> = folded.lines().filter(|line| line.contains("discovery table: ") && line.contains("--discovery")).collect();
    let packets = folds.iter().map(|fold| fold.split_whitespace().filter_map(|word| word.parse::<usize>().ok()).next_back().unwrap());
    assert_eq!(packets.sum::<usize>(), 2 * reads, "{folds:?}");
    assert_eq!(folded.lines().count() + 2 * reads - folds.len(), all.lines().count(), "nothing else is folded");
    let chosen = text(&done(&["trace", &file, "--only", "descriptor", "--only", "completion", "--channel", "in"], b"").stdout);
    // The end of the message may be a descriptor of its own.
    let (first, last) = (chosen.lines().nth(1).unwrap(), chosen.lines().last().unwrap());
    assert!(first.contains(" -> write ") && first.contains("in: descriptor 0, direct, 4096 bytes at 0x"), "{chosen}");
    assert!(chosen.lines().any(|line| line.ends_with("end of message")) && last.ends_with("bytes, done"), "{chosen}");
    assert!(chosen.lines().any(|line| line.contains(" <- write ") && line.ends_with("in: completion 0, 4096 bytes, done")), "{chosen}");
    let descriptors = chosen.lines().filter(|line| line.contains("descriptor")).count();
    assert_eq!(traced(&[&file, "--only", "descriptor", "--channel", "0"]).len(), descriptors, "a channel by its number");
}

#[test]
fn a_served_card_writes_one_and_a_killed_program_leaves_whole_lines() {
    let folder = Folder::new();
    let file = folder.0.join("packets").display().to_string();
    let card = Card::start_with(&[&format!("packets={file}")], &folder.0);
    card.echoes(&pattern(100_000, 2));
    card.signal(libc::SIGKILL);
    card.ends();
    let moved = |packet: &&Value| packet["channel"] == "in" && packet["kind"] == "completion";
    let bytes: u64 = traced(&[&file]).iter().filter(moved).filter_map(|packet| packet["completion"]["bytes"].as_u64()).sum();
    assert_eq!(bytes, 100_000);
}

#[test]
fn what_is_no_record_says_so() {
    let folder = Folder::new();
    let path = folder.0.join("file");
    let file = path.display().to_string();
    let fails = |code: i32, what: &str| {
        let output = done(&["trace", &file], b"");
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(code) && error.contains(what) && error.contains(&file), "{output:?}");
    };
    fails(7, "No such file");
    for content in [&b""[..], b"some text\n", b"\xff\xfe\n", b"{}\n"] {
        std::fs::write(&path, content).unwrap();
        fails(2, "--packets");
    }
    std::fs::write(&path, "{\"towpath_packets\":2}\n").unwrap();
    fails(2, "version 2");
    // What is not the contract's is shown as it is.
    let odd = r#"{"ps":1,"to":"card","packet":"write","bar":0,"offset":18446744073709551615,"bytes":4,"data":"0"}"#;
    std::fs::write(&path, format!("{{\"towpath_packets\":1}}\n{{}}\n{odd}\n{{\"ps\":")).unwrap();
    let output = done(&["trace", &file], b"");
    assert!(output.status.success() && text(&output.stdout).lines().count() == 3, "{output:?}");
    assert!(text(&output.stderr).contains("in the middle of a packet"), "{output:?}");
}

/// Two programs, one after the other: a card keeps its log when it is reset for the next one.
#[test]
fn a_card_with_a_log_shows_the_same_packets() {
    let folder = Folder::new();
    let file = folder.0.join("packets").display().to_string();
    let core = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").display().to_string();
    let card = Card::start_core(&core, &[&format!("packets={file}")], env!("CARGO_TARGET_TMPDIR").as_ref());
    card.echoes(&pattern(1000, 1));
    let output = done(&["-d", &card.device, "--json", "trace", "--stop", "--clear"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "nothing is overwritten or lost");
    let mut logged: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines = text(&done(&["-d", &card.device, "trace"], b"").stdout);
    assert_eq!(lines, "", "it is empty, and stays so");
    let lines = text(&done(&["-d", &card.device, "trace", "--start", "--only", "register"], b"").stdout);
    assert_eq!(lines.lines().count(), 3, "it goes on: the library has looked whether the card took the command: {lines}");
    let lines = text(&done(&["-d", &card.device, "trace", "--only", "register"], b"").stdout);
    assert!(lines.lines().any(|line| line.contains(" -> read ") && line.contains("BAR 0 +0x") && line.contains("read card 0x")), "{lines}");
    card.signal(libc::SIGTERM);
    card.ends();
    let recorded = traced(&[&file]);

    let time = |packet: &Value| packet["ps"].as_u64().unwrap();
    assert!(logged.is_sorted_by_key(time));
    // The simulator looks at a card before it records packets. A packet for the card is there at once, and one of the card's was there before.
    let begin = time(&recorded[0]) - 100_000;
    assert!(time(&logged[0]) < begin, "from the card's configuration on");
    logged.retain(|packet| time(packet) >= begin);
    for to in ["card", "host"] {
        for what in ["write", "read", "completion"] {
            let of = |packets: &[Value]| -> Vec<Value> {
                let is_it = |packet: &&Value| packet["packet"] == what || what == "write" && packet["packet"] == "interrupt";
                packets.iter().filter(|packet| packet["to"] == to).filter(is_it).cloned().collect()
            };
            let (logged, recorded) = (of(&logged), of(&recorded));
            assert!(!logged.is_empty() && logged.len() <= recorded.len(), "{to} {what}: {} of {}", logged.len(), recorded.len());
            for (mine, seen) in logged.into_iter().zip(recorded) {
                let later = time(&seen) as i64 - time(&mine) as i64;
                assert!((-100_000..1_000_000).contains(&later), "{later} ps between the card and the link: {mine} {seen}");
                alike(mine, seen);
            }
        }
    }
    // Of a card without a log, and of a record, there is nothing to show or to stop.
    let output = done(&["-d", "sim:loopback", "trace"], b"");
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(3) && error.contains("\"tlplog\"") && error.contains("--packets"), "{output:?}");
    assert_eq!(done(&["trace", &file, "--stop"], b"").status.code(), Some(2));
}

/// A packet in a card's log, and in the simulator's record, as `trace` tells of them.
#[track_caller]
fn alike(mut mine: Value, mut seen: Value) {
    if seen["packet"] == "interrupt" {
        // The card does not know which of its writes this is.
        assert!(
            mine["bytes"] == 4 && mine["data"].as_str().unwrap().starts_with(&format!("{:02x}", seen["vector"].as_u64().unwrap())),
            "{mine}"
        );
        return;
    }
    let take = |packet: &mut Value, key: &str| packet.as_object_mut().unwrap().remove(key);
    // The log has the first dword, the record payloads up to 64 bytes.
    let (known, whole) = (take(&mut mine, "data").or(take(&mut mine, "first")), take(&mut seen, "data"));
    let bytes = mine["bytes"].as_u64().unwrap();
    assert_eq!(known.is_some(), mine["packet"] != "read" && bytes > 0, "{mine}");
    assert_eq!(whole.is_some(), known.is_some() && bytes <= 64, "{seen}");
    if let (Some(known), Some(whole)) = (&known, &whole) {
        assert!(whole.as_str().unwrap().starts_with(known.as_str().unwrap()), "{known} {whole}");
    }
    // What it means is told of what is known whole.
    let is_whole = known == whole;
    for key in ["ps", "kind", "channel", "descriptor", "completion"] {
        let (mine, seen) = (take(&mut mine, key), take(&mut seen, key));
        assert!(!is_whole || key == "ps" || mine == seen, "{key}: {mine:?} {seen:?}");
    }
    assert_eq!(mine, seen);
}

/// The first and the last time in an FST file, by its header: in picoseconds here.
fn times(file: &std::path::Path) -> (u64, u64) {
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(bytes[0], 0, "the header comes first");
    let number = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    (number(9), number(17))
}

#[test]
fn waveforms_hold_the_part_that_was_asked_for() {
    let folder = Folder::new();
    let (file, packets) = (folder.0.join("part.fst"), folder.0.join("packets").display().to_string());
    let program = env!("CARGO_BIN_EXE_towpath");
    let part = |arguments: &[&str]| {
        let name = file.display().to_string();
        let run = [
            &["run", "--core", "loopback", "--packets", &packets, "--trace", &name],
            arguments,
            &["--", program, "send", "in", "--reply", "out=-"],
        ]
        .concat();
        let output = done(&run, b"some bytes");
        assert!(output.status.success() && output.stdout == b"some bytes", "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(&format!(" {name}")), "it names what opens the waveforms: {}", text(&output.stderr));
        let interrupt = traced(&[&packets, "--only", "interrupt"]).first().map(|packet| packet["ps"].as_u64().unwrap());
        (times(&file), interrupt)
    };
    let (all, _) = part(&[]);
    assert!(all.0 < 1_000_000 && all.1 > 20_000_000, "{all:?}"); // as long as it lasts
    let (between, _) = part(&["--trace-from", "10us", "--trace-for", "2us"]);
    assert!(between.0.abs_diff(10_000_000) < 8000 && between.1.abs_diff(12_000_000) < 8000, "{between:?}");
    let (after, interrupt) = part(&["--trace-on", "interrupt", "--trace-for", "1us"]);
    let begin = interrupt.unwrap();
    assert!(after.0.abs_diff(begin) < 8000 && after.1.abs_diff(begin + 1_000_000) < 8000, "{after:?}, {begin}");
    let (_, _) = part(&["--trace-on", "fault"]);
    assert!(std::fs::metadata(&file).unwrap().len() < 100_000, "no fault, no waveforms");
    let output = done(&["run", "--core", "loopback", "--trace-for", "1us", "--", program, "pipe"], b"");
    assert_eq!(output.status.code(), Some(2), "a part of nothing");
    // A program that ends while threads of it still move the card.
    for attempt in 0..4 {
        let output = done(&["pipe", "--device", &format!("sim:loopback?trace={}", file.display())], b"there and back");
        assert!(output.status.success() && output.stdout == b"there and back", "attempt {attempt}: {:?}", output.status);
        let whole = times(&file);
        assert!(whole.0 < 1_000_000 && whole.1 > 5_000_000, "attempt {attempt}: {whole:?}");
    }
}
