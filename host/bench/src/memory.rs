// SPDX-License-Identifier: Apache-2.0
//! Writes and reads of a core's memory, some in flight. Every byte is compared: of a write in the memory afterwards, of a read as it comes.

use std::collections::VecDeque;

use towpath::{Direction, Memory, Transfer};

use crate::case::{Row, Way, MEMORY_NS};
use crate::flow::{common, Flow, Window};
use crate::measure::{Bench, Place, Result, LONG_RUN, PAUSE_NS, TIMEOUT};
use crate::BenchError;

/// Of core `scratchpad`: clocks before each answer.
const LATENCY: u32 = 0x04;

/// One direction's transfers, the oldest first, each with its place and its address.
struct Half {
    direction: Direction,
    places: Vec<Place>,
    flight: VecDeque<Transfer>,
}

impl Bench<'_> {
    /// The core's memory answers as late as one on a board.
    pub(crate) fn slow_down(&self) -> Result<()> {
        let clock_khz = self.device.info().user_clock_khz;
        Ok(self.device.registers().write(LATENCY, (MEMORY_NS * u64::from(clock_khz) / 1_000_000) as u32)?)
    }

    /// The program keeps some writes posted, some reads, or both, each at an address of its own: it waits for the oldest and posts the next.
    pub(crate) fn memory(&self) -> Result<Vec<Row>> {
        let (size, depth) = (self.size(), self.case.in_flight as usize);
        let memory = self.device.memory_with("ram", self.options)?;
        memory.set_timeout(Some(TIMEOUT));
        if memory.len() < (size * depth) as u64 {
            return Err(BenchError::Wrong(format!("a memory of {} bytes for {depth} transfers of {size}", memory.len())));
        }
        self.slow_down()?;
        let mut halves = Vec::new();
        for (way, direction) in [(Way::H2c, Direction::H2c), (Way::C2h, Direction::C2h)] {
            if self.case.way == way || self.case.way == Way::Both {
                let places = (0..depth).map(|_| self.place(size)).collect::<Result<Vec<_>>>()?;
                halves.push(Half { direction, places, flight: VecDeque::new() });
            }
        }
        // What is written and what is read is the same, so that both may go on at once.
        for at in 0..depth {
            let bytes = contents(at, size);
            memory.write_at(&bytes, (at * size) as u64)?;
            for half in halves.iter_mut().filter(|half| half.direction == Direction::H2c) {
                half.places[at].buffer.as_mut_slice()?.copy_from_slice(&bytes);
            }
        }
        let transfers = (LONG_RUN as usize / size).max(4 * depth);
        self.bus.pass(PAUSE_NS)?;
        self.bus.record(true)?;
        let before = self.now()?;
        let mut after = vec![before; halves.len()];
        for number in 0..transfers + depth {
            for (half, after) in halves.iter_mut().zip(&mut after) {
                self.step(&memory, half, number, transfers)?;
                *after = self.now()?;
            }
        }
        let record = self.bus.record(false)?;
        for at in 0..depth {
            let mut bytes = vec![0; size];
            memory.read_at(&mut bytes, (at * size) as u64)?;
            compare(&bytes, at)?;
        }

        let flows: Vec<Flow> = halves
            .iter()
            .map(|half| Flow::of(&record, half.direction == Direction::H2c, &half.places.iter().map(Place::range).collect::<Vec<_>>()))
            .collect();
        let window = common(&flows).ok_or_else(|| BenchError::Wrong("the flows were not on the link at the same time".into()))?;
        let both = halves.len() == 2;
        let row = |(half, (flow, after)): (&Half, (&Flow, &u64))| {
            let direction = match (half.direction, both) {
                (Direction::H2c, false) => "h2c",
                (Direction::C2h, false) => "c2h",
                (Direction::H2c, true) => "both-h2c",
                (Direction::C2h, true) => "both-c2h",
            };
            let moved = Some((flow.bytes_in(window), Window::picoseconds(window)));
            self.row(direction, transfers as u64, after - before, moved)
        };
        Ok(halves.iter().zip(flows.iter().zip(&after)).map(row).collect())
    }

    /// The oldest transfer ends, and another one takes its place.
    fn step(&self, memory: &Memory, half: &mut Half, number: usize, transfers: usize) -> Result<()> {
        let (size, depth) = (self.size(), half.places.len());
        let at = number % depth;
        let (buffer, address) = (&mut half.places[at].buffer, (at * size) as u64);
        if number >= depth {
            let mut transfer = half.flight.pop_front().ok_or_else(|| BenchError::Wrong("a transfer is missing".into()))?;
            memory.check(half.direction, transfer.wait(Some(TIMEOUT))?, address, size as u64)?;
            if half.direction == Direction::C2h {
                compare(buffer.as_slice()?, at)?;
            }
        }
        if number < transfers {
            half.flight.push_back(match half.direction {
                Direction::H2c => memory.submit_write(buffer, .., address)?,
                Direction::C2h => {
                    buffer.as_mut_slice()?.fill(0);
                    memory.submit_read(buffer, .., address)?
                }
            });
        }
        Ok(())
    }
}

/// What stands at a transfer's place: no two words alike.
fn contents(at: usize, size: usize) -> Vec<u8> {
    (0..size as u32 / 4).flat_map(|word| ((at as u32) << 24 ^ word.wrapping_mul(0x9e37_79b1)).to_le_bytes()).collect()
}

fn compare(bytes: &[u8], at: usize) -> Result<()> {
    match bytes == contents(at, bytes.len()) {
        true => Ok(()),
        false => Err(BenchError::Wrong(format!("wrong bytes in transfer {at} of a memory"))),
    }
}
