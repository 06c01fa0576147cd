// SPDX-License-Identifier: Apache-2.0
//! What the library itself costs: instructions for a submit and its completion, on a bus that does nothing (`towpath_userspace::null`).
//!
//! `cargo bench --package towpath --bench instructions` runs each case under callgrind, which counts the same on every machine of one kind, and ends with
//! code 1 if a case is above its limit, if it has one. Needs valgrind. Times are not measured here; tests/cost runs this for `./run test`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use towpath::{Buffer, ChannelOptions, Device, Message, Receiver, Sender};
use towpath_userspace::null::NullBus;
use towpath_userspace::UserDriver;

/// For a submit and its completion, in the usual case.
const LIMIT: Option<u64> = Some(500);
/// For one of several by one call, with its share of that: more than a submit, but fewer stores.
const MANY_LIMIT: Option<u64> = Some(700);
/// Rounds of the shorter and of the longer run of a case: what they differ in is counted, so that opening and closing cancel out.
const ROUNDS: [u64; 2] = [1_000, 3_000];

struct Card {
    device: Device,
    sender: Sender,
    receiver: Receiver,
    buffer: Buffer,
}

/// A case: its name, its limit, how many transfers a round has, and a round.
type Case = (&'static str, Option<u64>, u64, fn(&mut Card));

const CASES: &[Case] = &[
    ("H2C, 4 KiB of a registered buffer: submit, wait", LIMIT, 1, |card| {
        let mut transfer = card.sender.submit(&card.buffer, ..4096, Message::default()).unwrap();
        black_box(transfer.wait(None).unwrap());
    }),
    ("H2C, 4 KiB of a registered buffer: submit, try_wait", LIMIT, 1, |card| {
        let mut transfer = card.sender.submit(&card.buffer, ..4096, Message::default()).unwrap();
        black_box(transfer.try_wait().unwrap());
    }),
    ("C2H, 4 KiB of a registered buffer: submit, wait", LIMIT, 1, |card| {
        let mut transfer = card.receiver.submit(&mut card.buffer, ..4096).unwrap();
        black_box(transfer.wait(None).unwrap());
    }),
    ("H2C, eight in flight: submit, wait", LIMIT, 8, |card| {
        let transfers: [_; 8] = std::array::from_fn(|n| {
            let start = 4096 * n;
            card.sender.submit(&card.buffer, start..start + 4096, Message::default()).unwrap()
        });
        for mut transfer in transfers {
            black_box(transfer.wait(None).unwrap());
        }
    }),
    ("H2C, eight of 64 bytes by one call: submit_many, wait", MANY_LIMIT, 8, |card| {
        let messages: [_; 8] = std::array::from_fn(|n| (&card.buffer, 64 * n..64 * n + 64, Message::default()));
        for mut transfer in card.sender.submit_many(&messages).unwrap() {
            black_box(transfer.wait(None).unwrap());
        }
    }),
    ("C2H, eight of 64 bytes by one call: submit_many, wait", MANY_LIMIT, 8, |card| {
        let ranges: [_; 8] = std::array::from_fn(|n| 64 * n..64 * n + 64);
        for mut transfer in card.receiver.submit_many(&mut card.buffer, &ranges).unwrap() {
            black_box(transfer.wait(None).unwrap());
        }
    }),
    ("H2C, 8 bytes inline: submit, wait", None, 1, |card| {
        let mut transfer = card.sender.submit(&card.buffer, ..8, Message::default()).unwrap();
        black_box(transfer.wait(None).unwrap());
    }),
    ("H2C, 4 KiB of a registered buffer: send", None, 1, |card| {
        card.sender.send(&card.buffer.as_slice().unwrap()[..4096]).unwrap();
    }),
];

fn run(case: &Case, rounds: u64) {
    let device = Device::from_driver(Arc::new(UserDriver::open(Arc::new(NullBus::default())).unwrap()));
    let options = ChannelOptions { announce: false, ..ChannelOptions::default() };
    let (sender, receiver) = (device.sender("in0").unwrap(), device.receiver_with("out0", options).unwrap());
    let buffer = device.allocate(1 << 16).unwrap();
    let mut card = Card { device, sender, receiver, buffer };
    for _ in 0..rounds {
        case.3(&mut card);
    }
    let done = card.sender.statistics().completed + card.receiver.statistics().completed;
    assert_eq!(done, rounds * case.2, "{}: {:?}", case.0, card.device);
}

/// Instructions of a whole run, by callgrind.
fn count(case: usize, rounds: u64) -> Result<u64, String> {
    let myself = std::env::current_exe().map_err(|why| why.to_string())?;
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(myself)
        .args([case.to_string(), rounds.to_string()])
        .output()
        .map_err(|why| format!("valgrind cannot be run ({why}): install the package valgrind"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    let counted = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    counted.filter(|_| done.status.success()).ok_or_else(|| format!("callgrind failed: {said}"))
}

fn main() -> ExitCode {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if let [case, rounds] = arguments[..] {
        run(&CASES[case], rounds as u64);
        return ExitCode::SUCCESS;
    }
    let mut above = false;
    for (index, (name, limit, transfers, _)) in CASES.iter().enumerate() {
        let [short, long] = ROUNDS.map(|rounds| count(index, rounds));
        match (short, long) {
            (Ok(short), Ok(long)) => {
                let each = (long - short) / ((ROUNDS[1] - ROUNDS[0]) * transfers);
                let bound = limit.map_or(String::new(), |limit| format!(" (limit {limit})"));
                println!("{each:5} instructions: {name}{bound}");
                above |= limit.is_some_and(|limit| each > limit);
            }
            (Err(why), _) | (_, Err(why)) => {
                eprintln!("{why}");
                return ExitCode::from(2);
            }
        }
    }
    if above {
        eprintln!("more than the limit allows");
    }
    ExitCode::from(u8::from(above))
}
