// SPDX-License-Identifier: Apache-2.0
//! A split virtqueue (Virtual I/O Device Version 1.1, 2.6), seen from the device. Buffers are used in the order in which they were made
//! available, one at a time, so one counter is the position in both halves.
//!
//! All of it is in the guest's memory and is read again each time; invalid contents end the connection, because nothing after them could be
//! trusted.

use std::io;
use std::sync::atomic::{fence, Ordering};

use towpath_device_server::HostMemory;
use towpath_system::errno;
use zerocopy::IntoBytes;

use crate::layout;
use crate::memory::Memory;
use crate::message::{Addresses, Refusal};

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const NO_INTERRUPT: u16 = 1;
/// A ring has no more places than this.
const LARGEST: u32 = 32768;

/// A part of a buffer, in guest physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub address: u64,
    pub bytes: u32,
}

/// A buffer: first what the device may read, then what it may write.
#[derive(Debug, Default)]
pub struct Chain {
    head: u16,
    pub readable: Vec<Piece>,
    pub writable: Vec<Piece>,
}

/// The device's side of one ring.
#[derive(Default)]
pub struct Queue {
    size: u16,
    /// Buffers taken so far, and returned.
    next: u16,
    addresses: Option<Addresses>,
    enabled: bool,
}

fn broken(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

fn nowhere() -> io::Error {
    broken("a ring is not in the guest's memory any more")
}

impl Queue {
    pub fn set_size(&mut self, size: u32) -> Result<(), Refusal> {
        if !size.is_power_of_two() || size > LARGEST {
            return Err(Refusal::invalid(format!("a ring of {size} places")));
        }
        self.idle("its size")?;
        self.size = size as u16;
        Ok(())
    }

    pub fn set_addresses(&mut self, addresses: Addresses) -> Result<(), Refusal> {
        self.idle("its addresses")?;
        if addresses.descriptors % 16 != 0 || addresses.available % 2 != 0 || addresses.used % 4 != 0 {
            return Err(Refusal::invalid(format!("a ring that is not aligned: {addresses:x?}")));
        }
        self.addresses = Some(addresses);
        Ok(())
    }

    pub fn set_base(&mut self, base: u32) -> Result<(), Refusal> {
        self.idle("its base")?;
        self.next = u16::try_from(base).map_err(|_| Refusal::invalid(format!("a ring that begins at {base}")))?;
        Ok(())
    }

    fn idle(&self, what: &str) -> Result<(), Refusal> {
        if self.enabled {
            return Err(Refusal::new(errno::EBUSY, format!("{what} changes while a ring is enabled")));
        }
        Ok(())
    }

    pub fn enable(&mut self, memory: &Memory) -> Result<(), Refusal> {
        self.enabled = false;
        if self.size == 0 || self.rings(memory).is_none() {
            return Err(Refusal::invalid("a ring is enabled that has no size, or is not in the guest's memory"));
        }
        self.enabled = true;
        Ok(())
    }

    /// Accept no more buffers; returns the position.
    pub fn disable(&mut self) -> u16 {
        self.enabled = false;
        self.next
    }

    /// Where its parts are now, in guest physical addresses: the memory's table may have changed.
    fn rings(&self, memory: &Memory) -> Option<Addresses> {
        let (addresses, size) = (self.addresses?, u64::from(self.size));
        Some(Addresses {
            descriptors: memory.guest_address(addresses.descriptors, 16 * size)?,
            available: memory.guest_address(addresses.available, 4 + 2 * size)?,
            used: memory.guest_address(addresses.used, 4 + 8 * size)?,
        })
    }

    /// How many buffers are there to be taken; none as long as the ring is not enabled.
    pub fn waiting(&self, memory: &Memory) -> io::Result<u16> {
        if !self.enabled {
            return Ok(0);
        }
        let rings = self.rings(memory).ok_or_else(nowhere)?;
        let there = memory.load16(rings.available + 2).ok_or_else(nowhere)?.wrapping_sub(self.next);
        if there > self.size {
            return Err(broken(format!("a ring of {} places has {there} buffers", self.size)));
        }
        Ok(there)
    }

    /// The next buffer, of those that are waiting. It stays the next one until it is returned.
    pub fn take(&self, memory: &Memory) -> io::Result<Chain> {
        let rings = self.rings(memory).ok_or_else(nowhere)?;
        let place = u64::from(self.next & (self.size - 1));
        let head = memory.load16(rings.available + 4 + 2 * place).ok_or_else(nowhere)?;
        let mut chain = Chain { head, ..Chain::default() };
        let mut index = head;
        for _ in 0..self.size {
            if index >= self.size {
                return Err(broken(format!("descriptor {index} of a ring of {}", self.size)));
            }
            let mut bytes = [0; size_of::<layout::Descriptor>()];
            if !memory.read(rings.descriptors + 16 * u64::from(index), &mut bytes) {
                return Err(nowhere());
            }
            let descriptor: layout::Descriptor = zerocopy::transmute!(bytes);
            let piece = Piece { address: descriptor.address.get(), bytes: descriptor.bytes.get() };
            let flags = descriptor.flags.get();
            match flags & (WRITE | INDIRECT) {
                0 if chain.writable.is_empty() => chain.readable.push(piece),
                WRITE => chain.writable.push(piece),
                _ => return Err(broken(format!("descriptor {index} has flags {flags:#x} at this place of its chain"))),
            }
            if flags & NEXT == 0 {
                return Ok(chain);
            }
            index = descriptor.next.get();
        }
        Err(broken("a chain of descriptors that does not end"))
    }

    /// Return the buffer that was taken last, with `written` bytes written.
    pub fn finish(&mut self, memory: &Memory, chain: &Chain, written: u32) -> io::Result<()> {
        let rings = self.rings(memory).ok_or_else(nowhere)?;
        let place = u64::from(self.next & (self.size - 1));
        let entry = layout::Used { head: u32::from(chain.head).into(), written: written.into() };
        self.next = self.next.wrapping_add(1);
        let done = memory.write(rings.used + 4 + 8 * place, entry.as_bytes()) && memory.release16(rings.used + 2, self.next).is_some();
        if done {
            Ok(())
        } else {
            Err(nowhere())
        }
    }

    /// Does the guest require a notification of the buffers that were returned?
    pub fn wants_call(&self, memory: &Memory) -> io::Result<bool> {
        // The guest writes this before it looks at what is used for the last time; we the other way round.
        fence(Ordering::SeqCst);
        let rings = self.rings(memory).ok_or_else(nowhere)?;
        Ok(memory.load16(rings.available).ok_or_else(nowhere)? & NO_INTERRUPT == 0)
    }
}

/// Bytes of all pieces.
pub fn total(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| u64::from(piece.bytes)).sum()
}

/// All bytes of the pieces, one behind the other. None: they are not all in the guest's memory, or more than `limit`.
pub fn gather(memory: &Memory, pieces: &[Piece], limit: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; total(pieces).try_into().ok().filter(|bytes| *bytes as u64 <= limit)?];
    let mut rest = &mut bytes[..];
    for piece in pieces {
        let (here, after) = rest.split_at_mut(piece.bytes as usize);
        if !memory.read(piece.address, here) {
            return None;
        }
        rest = after;
    }
    Some(bytes)
}

/// Write bytes to the pieces, `at` bytes behind their beginning. False: they have no room for it, or are not in the guest's memory.
pub fn scatter(memory: &Memory, pieces: &[Piece], at: u64, bytes: &[u8]) -> bool {
    let (mut skip, mut rest) = (at, bytes);
    for piece in pieces {
        let room = u64::from(piece.bytes);
        if skip < room {
            let (here, after) = rest.split_at(rest.len().min((room - skip) as usize));
            if !memory.write(piece.address.wrapping_add(skip), here) {
                return false;
            }
            rest = after;
        }
        skip = skip.saturating_sub(room);
    }
    rest.is_empty()
}
