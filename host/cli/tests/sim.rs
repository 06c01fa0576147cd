// SPDX-License-Identifier: Apache-2.0
//! `towpath sim`: a card in a process of its own, and the same program as its clients, well-behaved and killed. The core is compiled on the first
//! run, so this needs Verilator on the path.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::undocumented_unsafe_blocks)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;

fn towpath(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    if std::env::var_os("TOWPATH_HOME").is_none() {
        command.env("TOWPATH_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    }
    command.args(arguments).env_remove("TOWPATH_DEVICE").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Run it to its end, with that on its standard input.
fn done(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = towpath(arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    })
}

struct Card {
    process: Child,
    socket: PathBuf,
    device: String,
    /// Clients that it has let in.
    arrivals: Arc<AtomicU32>,
}

impl Card {
    fn start() -> Card {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("towpath-sim-{}-{}.sock", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let socket = std::env::temp_dir().join(name);
        let mut process = towpath(&["-v", "sim", "loopback", "--socket", socket.to_str().unwrap()]).spawn().unwrap();
        let (log, arrivals) = (BufReader::new(process.stderr.take().unwrap()), Arc::new(AtomicU32::new(0)));
        let arrived = arrivals.clone();
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                println!("{line}");
                arrived.fetch_add(u32::from(line.contains("a client has come")), Ordering::SeqCst);
            }
        });
        let mut device = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut device).unwrap();
        let device = device.trim_end().to_string();
        assert_eq!(device, format!("vfio-user:{}", socket.display()), "it says when it is ready, and what to open");
        Card { process, socket, device, arrivals }
    }

    /// Wait until so many clients have been let in.
    fn arrivals(&self, count: u32) {
        for _ in 0..2000 {
            if self.arrivals.load(Ordering::SeqCst) >= count {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no client comes");
    }

    /// Bytes through the card and back, by a program of their own.
    fn echoes(&self, bytes: &[u8]) {
        let output = done(&["-d", &self.device, "send", "in", "--reply", "out=-", "--timeout", "60s"], bytes);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == bytes, "{} bytes went, {} came back, and not the same", bytes.len(), output.stdout.len());
    }

    fn signal(&self, signal: i32) {
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    fn ends(mut self) -> std::process::ExitStatus {
        for _ in 0..2000 {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the card's process does not end");
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.socket); // what a killed one leaves
    }
}

fn pattern(bytes: usize, seed: u32) -> Vec<u8> {
    (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 13) as u8).collect()
}

#[test]
fn programs_use_the_card_one_after_the_other() {
    let card = Card::start();
    for (round, bytes) in [0, 1, 63, 64, 65, 4096, 200_001].into_iter().enumerate() {
        card.echoes(&pattern(bytes, round as u32));
    }
    let info = done(&["-d", &card.device, "info"], b"");
    assert!(String::from_utf8_lossy(&info.stdout).contains("core        loopback"), "{info:?}");
    // Registers by their offset: what they are called stands in the core's manifest, which another process does not have.
    assert!(done(&["-d", &card.device, "reg", "write", "0x4", "0x1234"], b"").status.success());
    assert!(done(&["-d", &card.device, "irq", "count"], b"").status.success());
    let socket = card.socket.clone();
    card.signal(libc::SIGTERM);
    assert_eq!(card.ends().code(), Some(0));
    assert!(!socket.exists(), "the socket is taken away");
    let gone = done(&["-d", &format!("vfio-user:{}", socket.display()), "info"], b"");
    assert_eq!(gone.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("towpath sim CORE --socket"), "{gone:?}");
}

#[test]
fn a_second_program_is_told_and_the_first_goes_on() {
    let card = Card::start();
    // One that waits for a message, as long as it takes.
    let mut first = towpath(&["-d", &card.device, "send", "in", "--reply", "out=-", "--timeout", "0"]).spawn().unwrap();
    let mut input = first.stdin.take().unwrap();
    card.arrivals(1);
    let refused = done(&["-d", &card.device, "info"], b"");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another program uses the card"), "{refused:?}");
    let taken = done(&["sim", "loopback", "--socket", card.socket.to_str().unwrap()], b"");
    assert_eq!(taken.status.code(), Some(7), "{taken:?}");
    input.write_all(b"still here").unwrap();
    drop(input);
    let first = first.wait_with_output().unwrap();
    assert_eq!(first.stdout, b"still here");
    card.echoes(b"and then the next");
}

#[test]
fn a_program_killed_in_the_middle_of_a_transfer_leaves_nothing_to_the_next() {
    let card = Card::start();
    let mut seed = 0x2545_f491_u32;
    let rounds = std::env::var("TOWPATH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25u32);
    for round in 0..rounds {
        let mut victim = towpath(&["-d", &card.device, "send", "in", "--reply", "out=-", "--block", "16K"]).spawn().unwrap();
        let (mut input, mut output) = (victim.stdin.take().unwrap(), victim.stdout.take().unwrap());
        let flood = std::thread::spawn(move || while input.write_all(&[0xaa; 65536]).is_ok() {});
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if round % 5 > 0 {
            // It is in the middle of it: something has come back.
            output.read_exact(&mut [0; 1000]).unwrap();
        }
        std::thread::sleep(Duration::from_micros(u64::from(seed >> 8) % 20_000));
        victim.kill().unwrap();
        victim.wait().unwrap();
        drop(output);
        flood.join().unwrap();
        card.echoes(&pattern(3000 + 1000 * round as usize, round));
    }
}

#[test]
fn a_card_that_is_ended_shows_its_program_out() {
    let card = Card::start();
    let mut program = towpath(&["-d", &card.device, "recv", "out", "--timeout", "0"]).spawn().unwrap();
    card.arrivals(1);
    std::thread::sleep(Duration::from_millis(300));
    assert!(program.try_wait().unwrap().is_none(), "it waits");
    card.signal(libc::SIGINT);
    assert_eq!(card.ends().code(), Some(0));
    let output = program.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the card is gone"), "{output:?}");
}
