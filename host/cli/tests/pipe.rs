// SPDX-License-Identifier: Apache-2.0
//! `towpath pipe`: any input through the loopback core and out again, with readers and writers that are slow, gone or killed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{done, ends_within, object, pattern, towpath, Card};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

fn random(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *seed >> 8
}

#[track_caller]
fn passes(arguments: &[&str], input: &[u8]) -> serde_json::Value {
    let output = done(arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout == input, "{} bytes went, {} came back, and not the same", input.len(), output.stdout.len());
    object(&output.stderr)
}

fn signal(child: &Child, signal: i32) {
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn any_input_comes_out_as_it_was() {
    let mut seed = 0x7057_9a7d;
    let sizes = [0, 1, 15, 16, 17, 4095, 4096, 4097, 65_536, 1 << 20, (1 << 20) + 1];
    let more: Vec<usize> = (0..6).map(|_| random(&mut seed) as usize % 300_000).collect();
    for (round, bytes) in sizes.into_iter().chain(more).enumerate() {
        let data = pattern(bytes, round as u32);
        // Blocks of a size that has nothing to do with the input's.
        let block = (1 + random(&mut seed) % 100_000).to_string();
        let said = passes(&["--json", "pipe", "--core", "loopback", "--block", &block], &data);
        assert_eq!(said["sent"], serde_json::json!({"channel": "in", "bytes": bytes, "messages": 1}), "seed of round {round}");
        assert_eq!(said["received"], serde_json::json!({"channel": "out", "bytes": bytes, "messages": 1}));
        assert_eq!(said["signal"], serde_json::Value::Null);
    }
}

#[test]
fn a_card_in_another_process_does_the_same() {
    let card = Card::start();
    for bytes in [0, 1, 4096, 700_001] {
        passes(&["-d", &card.device, "--json", "pipe", "--to", "in", "--from", "1", "--block", "64K"], &pattern(bytes, 9));
    }
}

#[test]
fn messages_end_where_they_are_told_to() {
    let messages = |end: &str, input: &[u8]| {
        let said = passes(&["--json", "pipe", "--core", "loopback", "--end", end, "--block", "1000"], input);
        assert_eq!(said["sent"]["messages"], said["received"]["messages"]);
        said["sent"]["messages"].as_u64().unwrap()
    };
    let data = pattern(10_000, 4);
    for (end, count) in [("input", 1), ("1000", 10), ("3000", 4), ("9999", 2), ("10K", 1)] {
        assert_eq!(messages(end, &data), count, "--end {end}");
    }
    assert_eq!(messages("line", b"one\ntwo\n\nfour"), 4);
    assert_eq!(messages("line", b"one\n"), 1);
    for (end, count) in [("input", 1), ("line", 0), ("64", 0)] {
        assert_eq!(messages(end, b""), count, "an empty input with --end {end}");
    }
}

#[test]
fn it_stops_where_it_is_told_to() {
    let data = pattern(50_000, 5);
    for (option, count, end) in [("--bytes", "1234", 1234), ("--messages", "3", 3000), ("--bytes", "1M", 50_000)] {
        let output = done(&["--json", "pipe", "--core", "loopback", "--end", "1000", option, count], &data);
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout == data[..end], "{option} {count}: {} bytes", output.stdout.len());
    }
    // The input goes on for ever.
    let mut child = towpath(&["pipe", "--core", "loopback", "--end", "1000", "--messages", "3"]).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    (&input).write_all(&data).unwrap();
    assert_eq!(ends_within(&mut child, SOON).code(), Some(0));
}

#[test]
fn what_comes_in_goes_out_before_the_input_ends() {
    let mut child = towpath(&["pipe", "--core", "loopback", "--timeout", "100ms", "--end", "line"]).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for line in ["one\n", "and another\n", "\n"] {
        input.write_all(line.as_bytes()).unwrap();
        let mut back = vec![0; line.len()];
        output.read_exact(&mut back).unwrap();
        assert_eq!(back, line.as_bytes());
        // An input that has a rest is no fault of the card's.
        std::thread::sleep(Duration::from_millis(400));
    }
    drop(input);
    assert_eq!(ends_within(&mut child, SOON).code(), Some(0));
    // Of a message that goes on, the card holds less than a packet back.
    let mut child = towpath(&["pipe", "--core", "loopback"]).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let data = pattern(20_000, 8);
    input.write_all(&data).unwrap();
    let mut back = vec![0; data.len() - 128];
    output.read_exact(&mut back).unwrap();
    drop(input);
    output.read_to_end(&mut back).unwrap();
    assert!(back == data);
    assert_eq!(ends_within(&mut child, SOON).code(), Some(0));
}

#[test]
fn a_reader_that_is_slow_holds_the_writer_back_and_loses_nothing() {
    let card = Card::start();
    for device in ["sim:loopback", &card.device] {
        let data = Arc::new(pattern(4 << 20, 6));
        let mut child = towpath(&["-d", device, "pipe", "--timeout", "100ms", "--block", "16K"]).spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (taken, all) = (Arc::new(AtomicUsize::new(0)), data.clone());
        let counted = taken.clone();
        let writer = std::thread::spawn(move || {
            for part in all.chunks(4096) {
                input.write_all(part).unwrap();
                counted.fetch_add(part.len(), Ordering::SeqCst);
            }
        });
        // Nobody reads for many times the timeout.
        std::thread::sleep(Duration::from_millis(1500));
        let taken = taken.load(Ordering::SeqCst);
        // Two pipes of 64 KiB, a few blocks of 16 KiB, and 16 KiB on the card.
        assert!(taken > 0 && taken < 512 << 10, "{taken} bytes were taken from the writer");
        let mut back = vec![0; 500_000];
        output.read_exact(&mut back).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        output.read_to_end(&mut back).unwrap();
        writer.join().unwrap();
        assert!(back == *data, "{device}: {} bytes came back", back.len());
        assert_eq!(ends_within(&mut child, SOON).code(), Some(0));
    }
}

#[test]
fn a_reader_that_is_killed_ends_it() {
    // The input stays open, and gives nothing more.
    let mut child = towpath(&["pipe", "--core", "loopback", "--end", "line"]).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    drop(output);
    input.write_all(b"to nobody\n").unwrap();
    assert_eq!(ends_within(&mut child, SOON).code(), Some(7));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("standard output") && said.contains("its reader ended first"), "{said}");

    // In the middle of a flood.
    let mut child = towpath(&["--json", "pipe", "--core", "loopback", "--end", "4K"]).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let flood = std::thread::spawn(move || while input.write_all(&[0x55; 65536]).is_ok() {});
    output.read_exact(&mut [0; 100_000]).unwrap();
    drop(output);
    assert_eq!(ends_within(&mut child, SOON).code(), Some(7));
    flood.join().unwrap();
    let mut said = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
    assert_eq!(object(&said)["error"]["kind"], "file");
}

#[test]
fn signals_end_it_and_it_says_how_far_it_was() {
    for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut child = towpath(&["--json", "pipe", "--core", "loopback", "--end", "5"]).spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        input.write_all(b"fives and then").unwrap();
        output.read_exact(&mut [0; 10]).unwrap();
        signal(&child, number);
        assert_eq!(ends_within(&mut child, SOON).signal(), Some(number));
        let mut said = Vec::new();
        child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
        let said = object(&said);
        assert_eq!(said["signal"], number, "{said}");
        // The second message was read before it was counted, perhaps.
        assert!(said["received"]["bytes"] == 5 || said["received"]["bytes"] == 10, "{said}");
    }
    // Even when nobody reads, so that it is stuck in a write.
    let mut child = towpath(&["pipe", "--core", "loopback", "--block", "4K"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let flood = std::thread::spawn(move || while input.write_all(&[0x55; 65536]).is_ok() {});
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, libc::SIGTERM);
    assert_eq!(ends_within(&mut child, SOON).signal(), Some(libc::SIGTERM));
    flood.join().unwrap();
}

#[test]
fn a_core_that_says_too_little_runs_into_the_timeout() {
    for wait in ["adaptive", "early", "poll", "interrupt"] {
        let output = done(&["pipe", "--core", "loopback", "--messages", "2", "--timeout", "1ms", "--wait", wait], b"only one");
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert_eq!(output.stdout, b"only one");
        assert!(String::from_utf8_lossy(&output.stderr).contains("after 8 bytes of output"), "{output:?}");
    }
}

#[test]
fn it_needs_a_channel_of_each_direction() {
    let lacks = done(&["pipe", "--core", "counter"], b"");
    assert_eq!(lacks.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&lacks.stderr).contains("no h2c stream"), "{lacks:?}");
    let wrong = done(&["pipe", "--core", "loopback", "--to", "out"], b"");
    assert_eq!(wrong.status.code(), Some(3), "{wrong:?}");
}

/// A terminal of 100 columns: the end that a person sees, and the one for programs.
fn terminal() -> (File, OwnedFd) {
    let (mut person, mut program) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let opened = unsafe { libc::openpty(&mut person, &mut program, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(opened, 0);
    unsafe { (File::from_raw_fd(person), OwnedFd::from_raw_fd(program)) }
}

/// What is seen of a `pipe` whose standard error is a terminal.
fn seen(input: impl Into<std::process::Stdio>, options: &[&str]) -> String {
    let (mut person, program) = terminal();
    let mut command = towpath(&[&["pipe", "--core", "loopback", "--block", "4K"], options].concat());
    command.stdin(input).stdout(std::process::Stdio::null()).stderr(program).env("TERM", "xterm");
    let mut child = command.spawn().unwrap();
    drop(command); // with its end of the terminal
    let mut seen = Vec::new();
    let _ = person.read_to_end(&mut seen); // a terminal whose programs have ended is an error
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn a_person_sees_how_far_it_is() {
    let folder = common::Folder::new();
    let path = folder.0.join("input");
    std::fs::write(&path, pattern(3 << 20, 8)).unwrap();
    let file = || {
        let mut file = File::open(&path).unwrap();
        file.seek(SeekFrom::Start(1 << 20)).unwrap();
        file
    };
    let all = seen(file(), &[]);
    assert!(all.contains("/2.00 MiB") && all.contains("% ") && all.contains("iB/s") && all.contains(" left"), "the rest of a file: {all}");
    let bytes = seen(file(), &["--bytes", "1M"]);
    assert!(bytes.contains("/1.00 MiB") && bytes.contains("% "), "of --bytes: {bytes}");
    let (reader, mut writer) = UnixStream::pair().unwrap();
    let feeder = std::thread::spawn(move || writer.write_all(&pattern(2 << 20, 8)));
    let stream = seen(OwnedFd::from(reader), &[]);
    feeder.join().unwrap().unwrap();
    assert!(stream.contains("iB/s") && !stream.contains('%') && !stream.contains(" left"), "no end is known: {stream}");
    for silent in ["--quiet", "--json"] {
        let said = seen(file(), &[silent]);
        assert!(!said.contains("iB") && !said.contains('\x1b'), "{silent}: {said}");
    }
}
