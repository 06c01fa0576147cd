// SPDX-License-Identifier: Apache-2.0
//! A toy of a card behind a server, and a guest for it.
#![allow(dead_code)] // each test program uses a part of it
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::undocumented_unsafe_blocks)]

mod guest;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use towpath_device_server::{Device, Errno, HostMemory, Interrupt, Pace, Region, Stop, REGION_CONFIG};
use towpath_vhost_user::{Memory, Server};

pub use guest::*;

/// Bytes of BAR 0, which is memory but for the registers below.
pub const BAR_BYTES: u64 = 64 << 10;
/// Where the copier takes bytes from, where it puts them, and how many.
pub const FROM: u64 = 0x10;
/// See [`FROM`].
pub const TO: u64 = 0x18;
/// See [`FROM`].
pub const BYTES: u64 = 0x20;
/// Written with data of an interrupt: copy, then send it.
pub const GO: u64 = 0x28;
/// What became of the last copy: 1 done, 3 refused.
pub const STATUS: u64 = 0x2c;
/// Written with a number: so many interrupts, with data from 0 on.
pub const FIRE: u64 = 0x30;
/// How many writes to BAR 0 there were since the reset.
pub const WRITES: u64 = 0x38;
/// Where the toy's interrupts go.
pub const MESSAGES: u64 = 0xa_0000;
const CHUNK: usize = 4096;

pub struct Toy {
    memory: Memory,
    bar: Vec<u8>,
    config: Vec<u8>,
    waiting: VecDeque<Interrupt>,
    left: bool,
}

impl Toy {
    fn word(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.bar[at as usize..at as usize + 8].try_into().unwrap())
    }

    fn copy(&self) -> u32 {
        let mut data = vec![0; (self.word(BYTES) as u32 as usize).min(1 << 20)];
        let done = self.memory.read(self.word(FROM), &mut data) && self.memory.write(self.word(TO), &data);
        if done {
            1
        } else {
            3
        }
    }

    fn fire(&mut self, data: u32) {
        let interrupt = Interrupt { address: MESSAGES, data };
        if !self.waiting.contains(&interrupt) {
            self.waiting.push_back(interrupt);
        }
    }
}

impl Device for Toy {
    fn region(&self, index: u32) -> Region {
        match index {
            0 => Region { bytes: BAR_BYTES, readable: true, writable: true },
            2 => Region { bytes: 0x4000, readable: true, writable: false },
            REGION_CONFIG => Region { bytes: 4096, readable: true, writable: true },
            _ => Region::default(),
        }
    }

    fn vectors(&self) -> u32 {
        16
    }

    fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        let from = match region {
            0 => &self.bar,
            REGION_CONFIG => &self.config,
            _ => return Err(Errno(libc::EIO)),
        };
        assert!(into.len() <= CHUNK, "more at once than a device takes");
        into.copy_from_slice(&from[offset as usize..offset as usize + into.len()]);
        Ok(())
    }

    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        assert!(region != 2 && from.len() <= CHUNK);
        let to = if region == 0 { &mut self.bar } else { &mut self.config };
        to[offset as usize..offset as usize + from.len()].copy_from_slice(from);
        if region == 0 {
            let writes = self.word(WRITES) + 1;
            self.bar[WRITES as usize..][..8].copy_from_slice(&writes.to_le_bytes());
            match (offset, from.len()) {
                (GO, 4) => {
                    let status = self.copy();
                    self.bar[STATUS as usize..][..4].copy_from_slice(&status.to_le_bytes());
                    self.fire(self.word(GO) as u32);
                }
                (FIRE, 4) => (0..(self.word(FIRE) as u32).min(1000)).for_each(|data| self.fire(data)),
                _ => (),
            }
        }
        Ok(())
    }

    fn set_events(&mut self, events: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        assert!(events.is_empty());
        self.left = false;
        Ok(())
    }

    fn leave_table(&mut self) -> Result<(), Errno> {
        self.left = true;
        Ok(())
    }

    fn interrupt(&mut self) -> Option<Interrupt> {
        assert!(self.left);
        self.waiting.pop_front()
    }

    fn reset(&mut self) -> Result<(), Errno> {
        self.bar.fill(0);
        self.config.fill(0);
        self.waiting.clear();
        Ok(())
    }

    fn run(&mut self) -> Pace {
        Pace::Idle
    }
}

/// A toy that is served, until dropped.
pub struct Served {
    pub path: PathBuf,
    stop: Stop,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Served {
    pub fn start() -> Served {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("towpath-vhost-{}-{}.sock", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let server = Server::bind(&path).unwrap();
        let (config, bar) = (vec![0; 4096], vec![0; BAR_BYTES as usize]);
        let mut toy = Toy { memory: server.memory(), bar, config, waiting: VecDeque::new(), left: false };
        let stop = server.stop();
        let thread = Some(std::thread::spawn(move || server.serve(&mut toy)));
        Served { path, stop, thread }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.expect("the server does not panic").expect("and ends as it should");
        }
    }
}

/// Repeatable randomness.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The seeds of a test with random input: from `TOWPATH_SEED` on, `TOWPATH_ROUNDS` many.
pub fn seeds(rounds: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str, otherwise: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (first, rounds) = (number("TOWPATH_SEED", 1), number("TOWPATH_ROUNDS", rounds));
    (first..first + rounds).inspect(|seed| eprintln!("seed {seed}: TOWPATH_SEED={seed} TOWPATH_ROUNDS=1 repeats it"))
}
