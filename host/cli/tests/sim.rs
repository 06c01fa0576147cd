// SPDX-License-Identifier: Apache-2.0
//! `towpath sim`: a card in a process of its own, and the same program as its clients, well-behaved and killed. The core is compiled on the first
//! run, so this needs Verilator on the path.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{done, pattern, towpath, Card};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

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

/// What a kernel makes of the socket is tested where there is one; here, that there is a socket, and that it is given for one of both.
#[test]
fn a_kernel_gets_a_socket_of_its_own() {
    let socket = std::env::temp_dir().join(format!("towpath-kernel-{}.sock", std::process::id()));
    let path = socket.to_str().unwrap();
    let mut process = towpath(&["sim", "loopback", "--vhost-user", path]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, format!("vhost-user:{path}\n"), "it says when it is ready");
    let mut guest = UnixStream::connect(&socket).unwrap();
    guest.write_all(&[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).unwrap(); // which features there are
    let mut answer = [0; 20];
    guest.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..12], [1, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0]);
    let taken = done(&["sim", "loopback", "--vhost-user", path], b"");
    assert_eq!(taken.status.code(), Some(7), "{taken:?}");
    assert_eq!(unsafe { libc::kill(process.id() as i32, libc::SIGTERM) }, 0);
    assert_eq!(process.wait().unwrap().code(), Some(0));
    assert!(!socket.exists(), "the socket is taken away");
    for wrong in [&["sim", "loopback"][..], &["sim", "loopback", "--socket", path, "--vhost-user", path]] {
        assert_eq!(done(wrong, b"").status.code(), Some(2), "{wrong:?}");
    }
}

/// Where one was killed, too: what it left is replaced once.
#[test]
fn of_cards_started_together_at_one_socket_one_serves() {
    let mut killed = Card::start();
    killed.process.kill().unwrap();
    killed.process.wait().unwrap();
    let path = killed.socket.to_str().unwrap();
    assert!(killed.socket.exists(), "a killed one leaves its socket");
    let mut cards: Vec<_> = (0..6).map(|_| towpath(&["sim", "loopback", "--socket", path]).spawn().unwrap()).collect();
    for _ in 0..6000 {
        if cards.iter_mut().filter_map(|card| card.try_wait().unwrap()).count() == 5 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let (ended, mut serving): (Vec<_>, Vec<_>) =
        cards.into_iter().map(|mut card| (card.try_wait().unwrap(), card)).partition(|(end, _)| end.is_some());
    let [(None, serving)] = &mut serving[..] else { panic!("{} serve", serving.len()) };
    for (_, card) in ended {
        let output = card.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("another server listens there"), "{output:?}");
    }
    killed.echoes(b"by the one that serves");
    assert_eq!(unsafe { libc::kill(serving.id() as i32, libc::SIGTERM) }, 0);
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    assert!(!killed.socket.exists() && !killed.socket.with_extension("sock.lock").exists());
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
    let rounds = std::env::var("TOWPATH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100u32);
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
        card.echoes(&pattern(3000 + 1000 * (round as usize % 25), round));
    }
}

/// Faults by standard input: a link that is down until it is up, one read of many, and one that only the next client does not have.
#[test]
fn faults_happen_when_they_are_asked_for() {
    let socket = std::env::temp_dir().join(format!("towpath-faults-{}.sock", std::process::id()));
    let mut process = towpath(&["sim", "loopback", "--faults", "--socket", socket.to_str().unwrap()]).spawn().unwrap();
    let (mut input, mut output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
    let mut next = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    };
    let device = next();
    let mut ask = |words: &str| {
        writeln!(input, "{words}").unwrap();
        next()
    };
    let bytes = pattern(20_000, 1);
    let echo = || done(&["-d", &device, "send", "in", "--reply", "out=-", "--timeout", "60s"], &bytes);
    assert_eq!(ask("nonsense\nur"), "ur", "what is unknown is told of elsewhere");
    let hit = echo();
    assert!(!hit.status.success() && String::from_utf8_lossy(&hit.stderr).contains("refused"), "{hit:?}");
    assert!(echo().stdout == bytes, "it was one read");
    // The program before may only now be leaving, and the link comes up with that.
    let is_down = (0..50).any(|_| ask("down") == "down" && !done(&["-d", &device, "info"], b"").status.success());
    assert!(is_down);
    let next_one = echo();
    assert!(next_one.stdout == bytes, "the next program finds a link: {}", String::from_utf8_lossy(&next_one.stderr));
    assert_eq!([ask("down"), ask("up")], ["down", "up"]);
    assert!(echo().stdout == bytes);
    assert_eq!(unsafe { libc::kill(process.id() as i32, libc::SIGTERM) }, 0);
    let rest = process.wait_with_output().unwrap();
    assert!(rest.status.success() && String::from_utf8_lossy(&rest.stderr).contains("no fault is called `nonsense`"), "{rest:?}");
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
