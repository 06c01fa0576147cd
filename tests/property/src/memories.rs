// SPDX-License-Identifier: Apache-2.0
//! The property of memories: what a read returns is what was written there last, by DMA or by the window, whatever else is under way, slow
//! or cancelled.
//!
//! Several threads work at once on `cores/scratchpad`, each on bytes of its own that end anywhere; the model is the program's own memory. What
//! is wrong is a panic of its thread, which [`run`] tells.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;
use towpath::{Device, Direction, Error, Memory, Status, Window};

use crate::device::vary;
use crate::random::Random;
use crate::served::Served;

const THREADS: usize = 4;
/// Reads that a thread cancels in search of one that has begun.
const CUTS: usize = 16;
/// The largest part that a thread has.
const PART: usize = 48 << 10;
/// Pages that answer with SLVERR and DECERR, behind nearly all parts; the byte before them is nobody's.
const PAGE: u64 = 4096;
const BAD: [(u32, u64, u8); 2] = [(0x0C, 200, 2), (0x10, 201, 3)];
/// Other registers of the core; the drivers do not all know their names.
const LATENCY: u32 = 0x04;
const STALL: u32 = 0x08;
const LONG: Option<Duration> = Some(Duration::from_secs(10));

/// How often each thing was met.
pub type Met = BTreeMap<&'static str, usize>;

/// One thread's part of the memory: its first address, and what is there.
struct Part<'a> {
    device: &'a Device,
    memory: &'a Memory,
    /// Not every driver serves it.
    window: Option<&'a Window>,
    random: Random,
    base: u64,
    model: Vec<u8>,
    met: Met,
}

pub(crate) fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        bytes.extend(random.bits().to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

/// How a write ended that may have been done in part.
fn is_cut_short(error: &Error) -> bool {
    matches!(error, Error::Timeout { .. } | Error::Cancelled { .. })
}

impl Part<'_> {
    fn meet(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    /// A range of the part: mostly short, and ending at any byte.
    fn place(&mut self) -> (usize, usize) {
        let length = (self.random.length(16) - 1).min(self.model.len());
        let at = self.random.below(self.model.len() - length + 1);
        (if self.random.one_in(4) { at & !15 } else { at }, length)
    }

    fn read(&mut self, at: usize, length: usize) -> Vec<u8> {
        let address = self.base + at as u64;
        if self.random.one_in(3) {
            let mut buffer = self.device.allocate(length + 3).unwrap();
            self.memory.read_buffer_at(&mut buffer, 1..1 + length, address).unwrap();
            return buffer.as_slice().unwrap()[1..1 + length].to_vec();
        }
        let mut back = vec![0xa5; length];
        let (first, rest) = back.split_at_mut(self.random.below(length + 1));
        self.memory.read_at_with(&mut [IoSliceMut::new(first), IoSliceMut::new(rest)], address, LONG.into()).unwrap();
        back
    }

    /// Loads, of a register's size or of more.
    fn load(&mut self, window: &Window, at: usize, length: usize) -> Vec<u8> {
        let (mut back, mut done) = (vec![0xa5; length], 0);
        while done < length {
            let piece = self.random.pick(&[1, 2, 4, 8, 16, 64, 300, length]).min(length - done);
            window.read_at(&mut back[done..done + piece], self.base + (at + done) as u64).unwrap();
            done += piece;
        }
        self.meet("loaded");
        back
    }

    /// Stores. A transfer sees them after a flush, or a load of them.
    fn stores(&mut self) {
        let Some(window) = self.window else { return self.write() };
        let (at, length) = self.place();
        let length = length.min(1000);
        let data = bytes(&mut self.random, length);
        let mut done = 0;
        while done < length {
            let piece = self.random.pick(&[1, 2, 4, 8, 16, 64, 300, length]).min(length - done);
            window.write_at(&data[done..done + piece], self.base + (at + done) as u64).unwrap();
            done += piece;
        }
        self.model[at..at + length].copy_from_slice(&data);
        if self.random.one_in(2) {
            window.flush().unwrap();
            self.meet("stored, then read by DMA");
        } else if length > 0 {
            let back = self.load(window, at, length);
            assert!(back == data, "{length} bytes stored at {:#x} are others", self.base + at as u64);
        }
        if length > 0 {
            self.check(at, length);
        }
    }

    fn check(&mut self, at: usize, length: usize) {
        let back = match self.window.filter(|_| self.random.one_in(4)) {
            Some(window) => self.load(window, at, length.min(1500)),
            None => self.read(at, length),
        };
        let length = back.len();
        let wrong = (0..length).find(|byte| back[*byte] != self.model[at + byte]);
        if let Some(byte) = wrong {
            let (address, found, wanted) = (self.base + (at + byte) as u64, back[byte], self.model[at + byte]);
            panic!("{length} bytes from {:#x}: at {address:#x} there is {found:#04x}, not {wanted:#04x}", self.base + at as u64);
        }
    }

    /// A write was cut short: each byte is the old one or the new one. When a later write has returned it is known which.
    fn adopt(&mut self, at: usize, data: &[u8]) {
        let scratch = BAD[0].1 * PAGE - 1; // nobody's
        self.memory.write_at(&[0], scratch).unwrap();
        let back = self.read(at, data.len());
        for (byte, found) in back.iter().enumerate() {
            assert!(*found == data[byte] || *found == self.model[at + byte], "byte {byte} of a write that was cut short is another's");
        }
        self.meet(if back == data { "a cancelled write was done" } else { "a cancelled write was not done" });
        self.model[at..at + data.len()].copy_from_slice(&back);
    }

    fn write(&mut self) {
        let (at, length) = self.place();
        let (data, address) = (bytes(&mut self.random, length), self.base + at as u64);
        let (first, rest) = data.split_at(self.random.below(length + 1));
        let hurried = self.random.one_in(8);
        let limit = if hurried { Some(Duration::from_nanos(self.random.below(20_000) as u64)) } else { LONG };
        let written = if self.random.one_in(3) {
            let buffer = self.device.register(data.clone()).unwrap();
            self.memory.write_buffer_at_with(&buffer, .., address, limit.into())
        } else {
            self.memory.write_at_with(&[IoSlice::new(first), IoSlice::new(rest)], address, limit.into())
        };
        match written {
            Ok(()) => self.model[at..at + length].copy_from_slice(&data),
            Err(error) => {
                assert!(hurried && is_cut_short(&error), "{error}");
                self.adopt(at, &data);
            }
        }
    }

    /// Several operations in flight, on bytes that do not overlap, some of them cancelled.
    fn flock(&mut self) {
        let mut flying = Vec::new();
        let mut at = self.random.below(64);
        while flying.len() < self.random.between(2, 7) {
            let length = self.random.length(13);
            if at + length > self.model.len() {
                break;
            }
            let (address, writes, cancel) = (self.base + at as u64, self.random.one_in(2), self.random.one_in(4));
            let mut buffer = self.device.register(bytes(&mut self.random, length)).unwrap();
            let transfer = match writes {
                true => self.memory.submit_write(&buffer, .., address),
                false => self.memory.submit_read(&mut buffer, .., address),
            };
            flying.push((transfer.unwrap(), buffer, at, writes, cancel));
            at += length + self.random.below(3);
        }
        if self.random.one_in(2) {
            self.memory.read_at(&mut [0; 1], self.base).unwrap(); // time passes
        }
        for (transfer, .., cancel) in &flying {
            if *cancel {
                transfer.cancel().unwrap();
            }
        }
        for (mut transfer, buffer, at, writes, cancel) in flying {
            let (address, length) = (self.base + at as u64, buffer.len());
            let direction = if writes { Direction::H2c } else { Direction::C2h };
            let done = transfer.wait(LONG).unwrap();
            if done.status == Status::Cancelled {
                assert!(cancel, "nobody cancelled this one");
                self.meet(if done.bytes > 0 && done.bytes < length as u64 { "stopped in its middle" } else { "cancelled" });
                if writes {
                    self.adopt(at, buffer.as_slice().unwrap());
                }
                continue;
            }
            self.memory.check(direction, done, address, length as u64).unwrap();
            if writes {
                self.model[at..at + length].copy_from_slice(buffer.as_slice().unwrap());
                self.meet("written in flight");
            } else {
                assert!(buffer.as_slice().unwrap() == &self.model[at..at + length], "{length} bytes in flight from {address:#x}");
                self.meet("read in flight");
            }
        }
    }

    fn fault(&mut self) {
        let (_, page, number) = self.random.pick(&BAD);
        let length = 1 + self.random.below(PAGE as usize);
        let address = page * PAGE + self.random.below(PAGE as usize - length + 1) as u64;
        let (mut data, writes) = (vec![0; length], self.random.one_in(2));
        let ended = if writes { self.memory.write_at(&data, address) } else { self.memory.read_at(&mut data, address) };
        let error = ended.unwrap_err();
        assert!(matches!(&error, Error::Kind { number: found, bytes: 0, .. } if *found == number), "{error}");
        assert!(error.to_string().contains(&format!("bytes {address:#x} to {:#x}", address + length as u64 - 1)), "{error}");
        self.meet(if writes { "a write was refused" } else { "a read was refused" });
    }

    /// A long read, cancelled when a part of it has come. When that is depends on the other threads: tried until it was met.
    fn cut(&mut self) {
        for _ in 0..CUTS {
            let length = self.model.len();
            let mut buffer = self.device.allocate(length).unwrap();
            let mut transfer = self.memory.submit_read(&mut buffer, .., self.base).unwrap();
            let done = match transfer.wait(Some(Duration::from_nanos(self.random.below(20_000) as u64))) {
                Err(Error::Pending { .. }) => transfer.cancel().and_then(|()| transfer.wait(LONG)),
                done => done,
            };
            let done = done.unwrap();
            assert!(matches!(done.status, Status::Done | Status::EndOfMessage | Status::Cancelled), "{done:?}");
            let came = done.bytes as usize;
            assert!(buffer.as_slice().unwrap()[..came] == self.model[..came], "{came} bytes of a cancelled read from {:#x}", self.base);
            if done.status == Status::Cancelled && came > 0 {
                return self.meet("stopped in its middle");
            }
        }
    }

    fn work(&mut self, operations: usize) {
        for _ in 0..operations {
            match self.random.below(16) {
                0..6 => self.write(),
                6..12 => {
                    let (at, length) = self.place();
                    self.check(at, length);
                }
                12..14 => self.flock(),
                14 => self.stores(),
                _ => self.fault(),
            }
        }
        self.cut();
        self.check(0, self.model.len());
    }
}

/// What a memory refuses, by load and by store; and that nothing else was wrong before.
fn window_faults(window: &Window, random: &mut Random) {
    window.flush().unwrap();
    let (_, page, _) = random.pick(&BAD);
    let length = 1 + random.below(64);
    let address = page * PAGE + random.below(PAGE as usize - length + 1) as u64;
    let mut back = vec![0; length];
    let refused = |ended: towpath::Result<()>| assert!(matches!(ended, Err(Error::Kind { number: 0, .. })), "{ended:?}");
    refused(window.read_at(&mut back, address));
    assert!(back.iter().all(|byte| *byte == 0xff), "what fails reads as all ones");
    window.flush().unwrap();
    window.write_at(&back, address).unwrap();
    refused(window.flush());
    window.flush().unwrap();
    assert!(window.read_at(&mut back, window.len() - length as u64 + 1).is_err());
}

/// What a thread's panic says.
pub(crate) fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// A run on this device, or, `served`, on this simulated one behind a socket: the threads' parts are beside each other, some with a byte
/// between. An error says what was wrong first.
pub fn run(device: &str, served: bool, seed: u64, operations: usize) -> Result<Met, String> {
    let mut random = Random::new(seed);
    let name = vary(device, &mut random);
    let caught = |name: &str, random| {
        catch_unwind(AssertUnwindSafe(|| run_over(name, random, seed, operations))).unwrap_or_else(|panic| Err(said(&*panic)))
    };
    let ran = match served {
        false => caught(&name, random),
        true => Served::start(&name).and_then(|served| {
            let met = caught(&served.name(), random)?;
            served.end().map(|()| met)
        }),
    };
    ran.map_err(|what| format!("TOWPATH_SEED={seed} {name}: {what}"))
}

fn run_over(name: &str, mut random: Random, seed: u64, operations: usize) -> Result<Met, String> {
    let device = Device::open(name).unwrap();
    let registers = device.registers();
    registers.write(LATENCY, random.pick(&[0, 0, 5, 60])).unwrap();
    registers.write(STALL, random.pick(&[0, 0, 30, 200])).unwrap();
    for (register, page, _) in BAD {
        registers.write(register, page as u32).unwrap();
    }
    let memory = device.memory("ram").unwrap();
    let window = memory.window().ok();
    let window = window.as_ref();
    assert!(window.is_some() || !name.starts_with("sim:"), "the simulated scratchpad has a window");
    let ends = memory.len();
    let mut next = random.below(5000) as u64;
    let mut parts: Vec<_> = (0..THREADS)
        .map(|thread| {
            let length = random.between(1 << 10, PART);
            // The last part is the last of the memory, behind the bad pages.
            let first = if thread + 1 == THREADS { ends - length as u64 } else { next };
            next = first + length as u64 + random.below(2) as u64;
            let random = Random::new(seed << 8 | thread as u64);
            Part { device: &device, memory: &memory, window, random, base: first, model: vec![0; length], met: Met::new() }
        })
        .collect();
    for part in &mut parts {
        part.model = bytes(&mut part.random, part.model.len());
        memory.write_at(&part.model, part.base).unwrap();
    }
    let worked: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = parts.iter_mut().map(|part| scope.spawn(move || part.work(operations / THREADS))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|panic| said(&*panic))).collect()
    });
    worked.into_iter().collect::<Result<(), String>>()?;
    if let Some(window) = window {
        window_faults(window, &mut random);
    }
    // No thread has touched another's.
    for part in &mut parts {
        part.check(0, part.model.len());
    }
    for half in [memory.writes(), memory.reads()] {
        let s = half.statistics();
        assert_eq!((s.wrong_cookies, s.wrong_lengths, s.wrong_statuses, s.unexpected), (0, 0, 0, 0));
    }
    let mut met = Met::new();
    for (what, count) in parts.iter().flat_map(|part| &part.met) {
        *met.entry(what).or_default() += count;
    }
    Ok(met)
}
