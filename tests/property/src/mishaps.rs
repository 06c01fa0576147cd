// SPDX-License-Identifier: Apache-2.0
//! The property of mishaps: a memory that falls silent, a reset of the core and a swap of it, in the middle of traffic, hurt what they must and nobody
//! else.
//!
//! One thread works on `tests/cores/mishaps`. Beside a silent memory the streams, the other direction of the memory and the registers go on. What
//! a reset or a swap cuts ends with a reset, what ended before was right, and afterwards each channel begins anew. What is wrong is a panic, which [`run`]
//! tells.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;
use towpath::{
    Buffer, Completion, Device, Direction, Error, Memory, Message, Partial, PartialImage, Receiver, Reset, Sender, Status, Transfer,
};

use crate::device::vary;
use crate::memories::{bytes, said, Met};
use crate::random::Random;

/// The core's register: bit 0 silences writes of the memory, bit 1 reads.
const SILENT: u32 = 0;
/// The memory; its last byte is nobody's.
const BYTES: usize = 16384;
const LONG: Option<Duration> = Some(Duration::from_secs(10));
const CORES: [&str; 2] = ["mishaps", "mishaps_other"];

/// An operation of the memory under way.
struct Access {
    transfer: Transfer,
    buffer: Buffer,
    at: usize,
    writes: bool,
}

/// What is under way: messages sent, as many to be received, and operations of the memory on bytes that do not overlap.
struct Flight {
    sends: Vec<(Transfer, Buffer)>,
    receives: Vec<(Transfer, Buffer, Vec<u8>)>,
    accesses: Vec<Access>,
}

struct World<'a> {
    device: &'a Device,
    sender: &'a Sender,
    receiver: &'a Receiver,
    memory: &'a Memory,
    reset: &'a Reset,
    partial: &'a Partial,
    random: Random,
    model: Vec<u8>,
    /// Which of [`CORES`] is in the region.
    core: usize,
    met: Met,
}

/// How a transfer ended: `None` if by a reset.
fn ended(transfer: &mut Transfer) -> Option<Completion> {
    match transfer.wait(LONG) {
        Ok(done) if done.status == Status::Reset => None,
        Ok(done) => Some(done),
        Err(Error::Reset { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

impl World<'_> {
    fn meet(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    fn fly(&mut self) -> Flight {
        let mut flight = Flight { sends: Vec::new(), receives: Vec::new(), accesses: Vec::new() };
        for _ in 0..self.random.between(1, 4) {
            let length = self.random.length(12);
            let data = bytes(&mut self.random, length);
            let mut room = self.device.allocate(length + 1).unwrap();
            flight.receives.push((self.receiver.submit(&mut room, ..).unwrap(), room, data.clone()));
            let buffer = self.device.register(data).unwrap();
            flight.sends.push((self.sender.submit(&buffer, .., Message::default()).unwrap(), buffer));
        }
        let mut at = self.random.below(200);
        for _ in 0..self.random.between(2, 5) {
            let (length, writes) = (self.random.length(12), self.random.one_in(2));
            if at + length >= BYTES {
                break;
            }
            let mut buffer = self.device.register(bytes(&mut self.random, length)).unwrap();
            let transfer = match writes {
                true => self.memory.submit_write(&buffer, .., at as u64),
                false => self.memory.submit_read(&mut buffer, .., at as u64),
            };
            flight.accesses.push(Access { transfer: transfer.unwrap(), buffer, at, writes });
            at += length + self.random.below(40);
        }
        flight
    }

    /// Some time, in which the core's register answers, or does not since there is no core.
    fn linger(&mut self) {
        for _ in 0..self.random.below(8) {
            let _ = self.device.registers().read(SILENT);
        }
    }

    /// Streams end well, or, `cut`, may end with a reset: the one or the other from some message on.
    fn land(&mut self, flight: &mut Flight, cut: bool) {
        for (transfer, buffer) in &mut flight.sends {
            let done = ended(transfer);
            assert!(cut || done.is_some(), "a send of {} bytes was reset", buffer.len());
            assert!(done.is_none_or(|done| done.status == Status::Done && done.bytes == buffer.len() as u64), "a send ended otherwise");
        }
        let mut lost = false;
        for (transfer, room, data) in &mut flight.receives {
            let Some(done) = ended(transfer) else {
                assert!(cut, "a receive was reset");
                lost = true;
                continue;
            };
            assert!(!lost, "a message came behind one that was cut");
            assert!(done.status == Status::EndOfMessage, "a message ended with {:?}", done.status);
            assert!(room.as_slice().unwrap()[..done.bytes as usize] == data[..], "a message of {} bytes came as another", data.len());
        }
    }

    /// An operation of the memory has ended: well, or, `cut`, otherwise. What may have been written is looked at later.
    fn account(&mut self, access: &mut Access, cut: Option<Status>, doubtful: &mut Vec<(usize, Vec<u8>)>) {
        let direction = if access.writes { Direction::H2c } else { Direction::C2h };
        let length = access.buffer.len();
        match ended(&mut access.transfer) {
            Some(done) if cut.is_none() || done.status != Status::Cancelled => {
                self.memory.check(direction, done, access.at as u64, length as u64).unwrap();
                let found = access.buffer.as_slice().unwrap();
                if access.writes {
                    self.model[access.at..access.at + length].copy_from_slice(found);
                } else {
                    assert!(found == &self.model[access.at..access.at + length], "{length} bytes read from {:#x} are others", access.at);
                }
            }
            other => {
                let status = other.map_or(Status::Reset, |done| done.status);
                assert!(cut == Some(status), "an operation of the memory ended with {status:?}");
                if access.writes {
                    doubtful.push((access.at, access.buffer.as_slice().unwrap().to_vec()));
                }
            }
        }
    }

    /// Of a write that was cut each byte is the old one or the new one. When a later write has returned it is known which.
    fn adopt(&mut self, doubtful: Vec<(usize, Vec<u8>)>) {
        self.memory.write_at(&[0], BYTES as u64 - 1).unwrap();
        for (at, data) in doubtful {
            let mut back = vec![0; data.len()];
            self.memory.read_at(&mut back, at as u64).unwrap();
            for (byte, found) in back.iter().enumerate() {
                let place = at + byte;
                assert!(*found == data[byte] || *found == self.model[place], "byte {place:#x} of a write that was cut is another's");
            }
            self.meet(if back == data { "a cut write was done" } else { "a cut write was not done" });
            self.model[at..at + data.len()].copy_from_slice(&back);
        }
    }

    /// All that is under way ends well.
    fn calm(&mut self) {
        let mut flight = self.fly();
        self.land(&mut flight, false);
        for mut access in flight.accesses {
            self.account(&mut access, None, &mut Vec::new());
        }
        self.meet("calm");
    }

    fn silence(&mut self) {
        let bits = self.random.between(1, 3) as u32;
        let quiet = |access: &Access| bits >> u32::from(!access.writes) & 1 != 0;
        self.device.registers().write(SILENT, bits).unwrap();
        let mut flight = self.fly();
        self.land(&mut flight, false);
        let (mut held, free): (Vec<_>, Vec<_>) = flight.accesses.into_iter().partition(quiet);
        for mut access in free {
            self.account(&mut access, None, &mut Vec::new());
        }
        assert_eq!(self.device.registers().read(SILENT).unwrap(), bits);
        for access in &mut held {
            assert!(access.transfer.try_wait().unwrap().is_none(), "a silent memory has answered");
        }
        let mut doubtful = Vec::new();
        let mut cut = None;
        match self.random.below(5) {
            0 => self.meet("silent, then not"),
            1 => {
                held.iter().for_each(|access| access.transfer.cancel().unwrap());
                cut = Some(Status::Cancelled);
                self.meet("silent, and cancelled");
            }
            2 => {
                self.memory.reset().unwrap();
                cut = Some(Status::Reset);
                self.meet("silent, and its channels reset");
            }
            3 => return self.hold(Flight { sends: Vec::new(), receives: Vec::new(), accesses: held }),
            _ => return self.swap(Flight { sends: Vec::new(), receives: Vec::new(), accesses: held }),
        }
        if cut.is_some() {
            // While the memory is silent: it is not waited for.
            held.drain(..).for_each(|mut access| self.account(&mut access, cut, &mut doubtful));
        }
        self.device.registers().write(SILENT, 0).unwrap();
        held.drain(..).for_each(|mut access| self.account(&mut access, None, &mut doubtful));
        self.adopt(doubtful);
    }

    fn channels(&self) -> towpath::Result<()> {
        self.sender.reset()?;
        self.memory.reset()?;
        self.receiver.reset()
    }

    /// The core is reset, with all channels.
    fn hold(&mut self, mut flight: Flight) {
        self.linger();
        self.reset.while_held(|| self.channels()).unwrap();
        self.land(&mut flight, true);
        let mut doubtful = Vec::new();
        flight.accesses.iter_mut().for_each(|access| self.account(access, Some(Status::Reset), &mut doubtful));
        self.adopt(doubtful);
        self.meet("reset");
    }

    /// Another core takes the place of this one, perhaps after a file that is damaged.
    fn swap(&mut self, mut flight: Flight) {
        self.linger();
        if self.random.one_in(3) {
            let mut damaged = PartialImage::simulated(CORES[self.core], 100).unwrap().to_bytes();
            let place = self.random.between(100, damaged.len() - 1);
            damaged[place] ^= 1;
            let image = PartialImage::from_bytes("damaged", &damaged).unwrap();
            let error = self.partial.load_cutting(&image, |_| (), || self.channels()).unwrap_err();
            assert!(error.to_string().contains("refuses the file"), "{error}");
            assert_eq!(self.partial.core_name().unwrap(), None);
            assert!(self.device.registers().read(SILENT).is_err(), "a register answers, and there is no core");
            self.meet("a damaged file");
        }
        self.core = self.random.below(CORES.len());
        let image = PartialImage::simulated(CORES[self.core], 100).unwrap();
        self.partial.load_cutting(&image, |_| (), || self.channels()).unwrap();
        assert_eq!(self.partial.core_name().unwrap().as_deref(), Some(CORES[self.core]));
        self.land(&mut flight, true);
        for access in &mut flight.accesses {
            self.account(access, Some(Status::Reset), &mut Vec::new());
        }
        self.fill();
        self.meet("swapped");
    }

    /// New contents for the memory of a core that has just been loaded.
    fn fill(&mut self) {
        self.model = bytes(&mut self.random, BYTES);
        self.memory.write_at(&self.model, 0).unwrap();
    }

    /// Everything answers, and the memory has what it should have.
    fn check(&mut self) {
        assert_eq!(self.device.registers().read(SILENT).unwrap(), 0);
        let status = self.reset.status().unwrap();
        assert!(!status.is_busy && !status.is_held);
        let mut back = vec![0; BYTES - 1];
        self.memory.read_at(&mut back, 0).unwrap();
        let wrong = (0..BYTES - 1).find(|byte| back[*byte] != self.model[*byte]);
        assert!(wrong.is_none(), "byte {:#x} of the memory is another", wrong.unwrap_or_default());
    }

    fn work(&mut self, rounds: usize) {
        self.fill();
        for _ in 0..rounds {
            match self.random.below(6) {
                0 => self.calm(),
                1..4 => self.silence(),
                4 => {
                    let flight = self.fly();
                    self.hold(flight);
                }
                _ => {
                    let flight = self.fly();
                    self.swap(flight);
                }
            }
            self.calm();
            self.check();
        }
    }
}

/// A run on this simulated device. An error says what was wrong first.
pub fn run(device: &str, seed: u64, rounds: usize) -> Result<Met, String> {
    let mut random = Random::new(seed);
    let name = vary(device, &mut random);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let device = Device::open(&name).unwrap();
        let (sender, receiver, memory) = (device.sender("in").unwrap(), device.receiver("out").unwrap(), device.memory("ram").unwrap());
        let reset = Reset::new(device.plugin("reset").unwrap()).unwrap();
        let partial = Partial::new(device.plugin("partial").unwrap()).unwrap();
        let mut world = World {
            device: &device,
            sender: &sender,
            receiver: &receiver,
            memory: &memory,
            reset: &reset,
            partial: &partial,
            random,
            model: Vec::new(),
            core: 0,
            met: Met::new(),
        };
        world.work(rounds);
        world.met
    }));
    ran.map_err(|panic| format!("TOWPATH_SEED={seed} {name}: {}", said(&*panic)))
}
