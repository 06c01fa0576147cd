// SPDX-License-Identifier: Apache-2.0
//! Who starts a program with a signal ignored, as nohup does, wants it to stay ignored. Cores are compiled on their first use, so this needs Verilator
//! on the path.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{ends_within, towpath, Folder};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
/// A signal that is heard has its effect within this.
const A_WHILE: Duration = Duration::from_millis(300);

/// Start it deaf to these signals.
fn spawn_deaf(command: &mut Command, ignored: &'static [i32]) -> Child {
    let ignore = move || {
        ignored.iter().for_each(|signal| {
            unsafe { libc::signal(*signal, libc::SIG_IGN) };
        });
        Ok(())
    };
    unsafe { command.pre_exec(ignore) }.spawn().unwrap()
}

fn send(child: &Child, signal: i32) {
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn pipe_goes_on_when_the_terminal_goes_away() {
    let mut child = spawn_deaf(&mut towpath(&["pipe", "--core", "loopback", "--end", "4"]), &[libc::SIGHUP, libc::SIGINT]);
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    input.write_all(b"once").unwrap();
    output.read_exact(&mut [0; 4]).unwrap();
    for signal in [libc::SIGHUP, libc::SIGHUP, libc::SIGINT] {
        send(&child, signal);
    }
    std::thread::sleep(A_WHILE);
    input.write_all(b"more").unwrap();
    let mut more = [0; 4];
    output.read_exact(&mut more).unwrap();
    assert_eq!(&more, b"more");
    // What was not ignored is heard as ever.
    send(&child, libc::SIGTERM);
    assert_eq!(ends_within(&mut child, SOON).signal(), Some(libc::SIGTERM));
}

#[test]
fn a_served_card_stays_when_the_terminal_goes_away() {
    let folder = Folder::new();
    let socket = folder.0.join("card");
    let mut child = spawn_deaf(&mut towpath(&["sim", "loopback", "--socket", socket.to_str().unwrap()]), &[libc::SIGHUP]);
    let mut device = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut device).unwrap();
    assert!(device.starts_with("vfio-user:"), "{device}");
    send(&child, libc::SIGHUP);
    std::thread::sleep(A_WHILE);
    assert!(child.try_wait().unwrap().is_none(), "it serves on");
    send(&child, libc::SIGTERM);
    assert_eq!(ends_within(&mut child, SOON).code(), Some(0));
}
