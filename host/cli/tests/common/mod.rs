// SPDX-License-Identifier: Apache-2.0
//! Runs the program, by itself and against a card in a process of its own. Cores are compiled on their first use, so this needs Verilator on the path.
#![allow(dead_code)] // no test uses all of it

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;

pub fn towpath(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    if std::env::var_os("TOWPATH_HOME").is_none() {
        command.env("TOWPATH_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    }
    // Where servers leave word of their cards: not among the user's own.
    command.env("XDG_RUNTIME_DIR", env!("CARGO_TARGET_TMPDIR"));
    command
        .args(arguments)
        .env_remove("TOWPATH_DEVICE")
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Signals as a terminal's programs have them, however the tests were started: under nohup, or in a script's background.
    let heard = || {
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].iter().for_each(|signal| {
            unsafe { libc::signal(*signal, libc::SIG_DFL) };
        });
        Ok(())
    };
    unsafe { command.pre_exec(heard) };
    command
}

/// Run it to its end, with that on its standard input.
pub fn done(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = towpath(arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    })
}

pub struct Card {
    pub process: Child,
    pub socket: PathBuf,
    pub device: String,
    /// Clients that it has let in.
    arrivals: Arc<AtomicU32>,
}

impl Card {
    pub fn start() -> Card {
        Card::start_with(&[], Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// With settings such as `serial=0x51`, and another folder in which it leaves word of itself.
    pub fn start_with(settings: &[&str], runtime: &Path) -> Card {
        Card::start_core("loopback", settings, runtime)
    }

    /// The same of another core.
    pub fn start_core(core: &str, settings: &[&str], runtime: &Path) -> Card {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("towpath-sim-{}-{}.sock", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let socket = std::env::temp_dir().join(name);
        let mut command = towpath(&["-v", "sim", core, "--socket", socket.to_str().unwrap()]);
        command.env("XDG_RUNTIME_DIR", runtime).args(settings.iter().flat_map(|setting| ["--set", setting]));
        let mut process = command.spawn().unwrap();
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
    pub fn arrivals(&self, count: u32) {
        for _ in 0..2000 {
            if self.arrivals.load(Ordering::SeqCst) >= count {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no client comes");
    }

    /// Bytes through the card and back, by a program of their own.
    pub fn echoes(&self, bytes: &[u8]) {
        let output = done(&["-d", &self.device, "send", "in", "--reply", "out=-", "--timeout", "60s"], bytes);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == bytes, "{} bytes went, {} came back, and not the same", bytes.len(), output.stdout.len());
    }

    pub fn signal(&self, signal: i32) {
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    pub fn ends(mut self) -> std::process::ExitStatus {
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
        // What a killed one leaves.
        let _ = std::fs::remove_file(&self.socket);
        let _ = std::fs::remove_file(self.socket.with_extension("sock.lock"));
    }
}

pub fn pattern(bytes: usize, seed: u32) -> Vec<u8> {
    (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 13) as u8).collect()
}

/// What a test program of this folder is to leave nothing of: a folder of its own.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("towpath-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Wait for the end of a program, but not for ever.
#[track_caller]
pub fn ends_within(child: &mut Child, limit: Duration) -> std::process::ExitStatus {
    let end = std::time::Instant::now() + limit;
    while std::time::Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    panic!("the program does not end");
}

/// The one line of JSON in what a program wrote.
#[track_caller]
pub fn object(text: &[u8]) -> serde_json::Value {
    let text = String::from_utf8_lossy(text);
    let objects: Vec<_> = text.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(objects.len(), 1, "not one object: {text}");
    serde_json::from_str(objects[0]).unwrap()
}
