// SPDX-License-Identifier: Apache-2.0
//! A card's memory as a buffer of another card: what one sends reaches the other's memory by itself, without the host's.

use crate::{Buffer, Device, Error, Result, Window};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use towpath_driver::{Access, BarPart, DeviceMemory};

/// Addresses of such memory in the program's records begin here: nothing is read or written by them.
const BASE: u64 = 1 << 46;

#[derive(Debug)]
struct Peer {
    window: Window,
    /// In the memory.
    address: u64,
    bytes: usize,
    /// In BAR 4.
    offset: u64,
    part: Arc<dyn BarPart>,
}

impl DeviceMemory for Peer {
    fn address(&self) -> usize {
        (BASE + self.offset) as usize
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read(&self, offset: usize, into: &mut [u8]) -> io::Result<()> {
        self.window.read_at(into, self.address + offset as u64).map_err(io::Error::from)
    }

    fn write(&self, offset: usize, from: &[u8]) -> io::Result<()> {
        self.window.write_at(from, self.address + offset as u64).and_then(|()| self.window.flush()).map_err(io::Error::from)
    }

    fn has_failed(&self) -> bool {
        self.part.has_lost()
    }

    fn part_of_a_bar(&self) -> Option<&Arc<dyn BarPart>> {
        Some(&self.part)
    }
}

impl Buffer {
    /// Register a part of another card's memory with `device`, to receive into: the card then writes to the other one itself, without the host's
    /// memory. The other card stays open as long as the buffer. Neither a slice nor a send from it is possible: a load that the other
    /// card's user core refuses is answered with all ones, which a card cannot tell from data.
    ///
    /// A receive that has ended has left its card, in order. In simulation a load or a [`Window::flush`] after it finds the bytes there. PCI Express does not promise that for
    /// a completion and data that take two paths. `flush` reports stores that the other card's user core refused, these too. Once the
    /// other card's link has gone down, receives into the buffer fail: register it again.
    ///
    /// [`Error::Unavailable`] where the card cannot reach the other, with the reason: simulated cards of one world can, and boards that this
    /// program opens through VFIO.
    pub fn from_window(device: &Device, window: &Window, range: Range<u64>) -> Result<Buffer> {
        let bytes = range.end.checked_sub(range.start).and_then(|bytes| usize::try_from(bytes).ok());
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
            let (start, end) = (range.start, range.end);
            return Err(Error::Invalid(format!("bytes {start:#x} to {end:#x} of a memory are none; give a range with at least one byte")));
        };
        let offset = window.place(range.start, bytes)?;
        let part = window.device().driver()?.share_window(offset, bytes as u64)?;
        let memory: Arc<dyn DeviceMemory> = Arc::new(Peer { window: window.clone(), address: range.start, bytes, offset, part });
        Buffer::of_device(device, &memory, Access::Write, Box::new(()))
    }
}
