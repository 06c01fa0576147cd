// SPDX-License-Identifier: Apache-2.0
//! What a server drives: a model of a PCI device, and the memory that it reaches.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Duration;

use towpath_system::errno;

/// Regions of a PCI device: six BARs, the expansion ROM, configuration space, VGA.
pub const REGIONS: u32 = 9;
/// The first BAR's region.
pub const REGION_BAR0: u32 = 0;
/// The configuration space's region.
pub const REGION_CONFIG: u32 = 7;

/// An error's number, as in errno(3), for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// Parts of a region that a client may map.
#[derive(Debug)]
pub struct Mapping {
    /// The file that they are in.
    pub file: OwnedFd,
    /// Where the region begins in it.
    pub offset: u64,
    /// The parts; none: the whole region.
    pub areas: Vec<Range<u64>>,
}

/// A region of a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Region {
    /// Its size in bytes; 0: it is not there.
    pub bytes: u64,
    /// It can be read.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
}

impl Region {
    /// Do all of these bytes lie in it?
    pub fn holds(&self, offset: u64, bytes: u64) -> bool {
        bytes > 0 && offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }
}

/// An interrupt as a card sends it: a write of four bytes to an address that is not memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// The address of the vector's entry in the card's MSI-X table.
    pub address: u64,
    /// The entry's data.
    pub data: u32,
}

/// When a device needs to run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At once; messages are looked at in between.
    Now,
    /// After this time, or after a message.
    Later(Duration),
    /// Only a message can change anything.
    Idle,
}

/// A model of a PCI device. All calls come from the thread that serves its clients; the server has checked that each access lies within the
/// regions and vectors that the device reports.
///
/// Interrupts leave it in one of two ways, as the server chooses. Either the client does not write the card's MSI-X table and each vector
/// signals an eventfd ([`Device::set_events`]), or the client writes the table, and each interrupt is taken as what it is: a message
/// ([`Device::leave_table`], [`Device::interrupt`]).
pub trait Device {
    /// A region, by its number (less than [`REGIONS`]).
    fn region(&self, index: u32) -> Region;
    /// The parts of a region that can be mapped. Writes to it come in no order with the messages', and overwrite each other: not for a
    /// doorbell that must see each of them.
    fn mapping(&self, _index: u32) -> Option<Mapping> {
        None
    }
    /// How many MSI-X vectors it has.
    fn vectors(&self) -> u32;
    /// Read a part of a region.
    fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno>;
    /// Write a part of a region.
    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno>;
    /// What the vectors signal from now on, all of them: none at all when MSI-X is off. Ends what [`Device::leave_table`] began.
    fn set_events(&mut self, events: Vec<Option<OwnedFd>>) -> Result<(), Errno>;
    /// From now on the client sets up MSI-X in the card's own table and in configuration space, and [`Device::interrupt`] returns the
    /// interrupts.
    fn leave_table(&mut self) -> Result<(), Errno> {
        Err(Errno(errno::ENOTSUP))
    }
    /// The next interrupt. All that the card wrote to memory before it has landed. Interrupts that are not taken wait; equal ones that wait
    /// are one.
    fn interrupt(&mut self) -> Option<Interrupt> {
        None
    }
    /// A function-level reset. The events stay; interrupts that wait are discarded.
    fn reset(&mut self) -> Result<(), Errno>;
    /// The client has left: discard its state, so that the next client finds none of it.
    fn forget_client(&mut self) -> Result<(), Errno> {
        self.set_events(Vec::new()).and_then(|()| self.reset())
    }
    /// Run the device for a short time.
    fn run(&mut self) -> Pace;
}

/// A client's memory, at addresses of the client's choice.
pub trait HostMemory: Send {
    /// Whether the card may read (or write) all of these bytes, as far as this can be checked beforehand.
    fn permits(&self, address: u64, bytes: u64, write: bool) -> bool;
    /// Read; false: refused.
    fn read(&self, address: u64, into: &mut [u8]) -> bool;
    /// Write, all of it before anything that the card writes later; false: refused.
    fn write(&self, address: u64, from: &[u8]) -> bool;
}
