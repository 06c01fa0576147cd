// SPDX-License-Identifier: Apache-2.0
//! The memory that the card sees: an IOMMU of one domain for each card. What is not mapped, or not mapped for this kind of access, is
//! refused.
//!
//! Addresses keep the low 12 bits of the memory they stand for, as with any IOMMU, and are never allocated twice, so that a late access is
//! refused instead of landing in another buffer.

use std::sync::Arc;

use crate::peer::SharedBar;
use towpath_bus::{Access, DeviceMemory};
use towpath_device_server::HostMemory;

#[cfg(target_endian = "big")]
compile_error!("the simulated card's memory is little-endian, and so must the machine be");

const PAGE: u64 = 4096;
/// Where regions of other cards' BARs may begin.
const PEER_ALIGNMENT: u64 = 2 * PAGE;

struct Region {
    address: u64,
    bytes: u64,
    place: Place,
    access: Access,
}

/// What is behind a region.
enum Place {
    /// The program's memory.
    Host(*mut u8),
    /// A device's, which is copied to and from, packet by packet.
    Device(Arc<dyn DeviceMemory>),
    /// Another card's, to which packets go on.
    Peer(Arc<SharedBar>),
}

/// A place for an access.
enum Found<'a> {
    Host(*mut u8),
    Device(&'a dyn DeviceMemory, usize),
}

// Safety: the pointers are used under the world's lock only, and the caller of `Bus::map` promised that they stay valid.
unsafe impl Send for Region {}

/// The regions mapped for one card, in ascending order of address.
pub struct Memory {
    regions: Vec<Region>,
    next: u64,
    /// Regions that are another card's.
    peers: usize,
    /// Memory outside the regions here.
    pub others: Option<Box<dyn HostMemory>>,
}

impl Memory {
    /// An empty map which allocates addresses from `base`.
    pub fn new(base: u64) -> Self {
        Memory { regions: Vec::new(), next: base, peers: 0, others: None }
    }

    /// Map memory and return its address for the card. A page is left free behind each region to catch overruns. `None`: addresses are
    /// used up.
    pub fn map(&mut self, memory: *mut u8, bytes: usize, access: Access) -> Option<u64> {
        self.add(memory as u64, bytes, Place::Host(memory), access)
    }

    /// As [`Memory::map`], of a device's memory.
    pub fn map_device(&mut self, memory: &Arc<dyn DeviceMemory>, access: Access) -> Option<u64> {
        self.add(memory.address() as u64, memory.bytes(), Place::Device(memory.clone()), access)
    }

    /// As [`Memory::map_device`], of another card's.
    pub fn map_peer(&mut self, bar: Arc<SharedBar>, access: Access) -> Option<u64> {
        let (start, bytes) = (bar.offset, bar.bytes as usize);
        // An inbox is two pages, whose addresses differ in a bit.
        self.next = self.next.next_multiple_of(PEER_ALIGNMENT);
        let address = self.add(start, bytes, Place::Peer(bar), access);
        self.peers += usize::from(address.is_some());
        address
    }

    fn add(&mut self, start: u64, bytes: usize, place: Place, access: Access) -> Option<u64> {
        let address = self.next + (start & (PAGE - 1));
        let end = address.checked_add(bytes as u64)?.checked_add(2 * PAGE - 1)? & !(PAGE - 1);
        if end > crate::device::ADDRESS_END {
            return None;
        }
        self.next = end;
        self.regions.push(Region { address, bytes: bytes as u64, place, access });
        Some(address)
    }

    /// Undo a map; false when there is none of that address and size.
    pub fn unmap(&mut self, address: u64, bytes: usize) -> bool {
        match self.regions.iter().position(|region| region.address == address && region.bytes == bytes as u64) {
            Some(index) => {
                let region = self.regions.remove(index);
                self.peers -= usize::from(matches!(region.place, Place::Peer(_)));
                true
            }
            None => false,
        }
    }

    /// Where the card sees a byte of memory; the latest map counts.
    pub fn address_of(&self, memory: *const u8) -> Option<u64> {
        let inside = |region: &Region| {
            let Place::Host(start) = region.place else { return None };
            (memory as u64).checked_sub(start as u64).filter(|offset| *offset < region.bytes)
        };
        self.regions.iter().rev().find_map(|region| inside(region).map(|offset| region.address + offset))
    }

    fn region(&self, address: u64, bytes: u64, write: bool) -> Option<(&Region, u64)> {
        let region = self.regions[..self.regions.partition_point(|region| region.address <= address)].last()?;
        let offset = address - region.address;
        let inside = offset.checked_add(bytes)? <= region.bytes;
        let allowed = !matches!((write, region.access), (true, Access::Read) | (false, Access::Write));
        (inside && allowed).then_some((region, offset))
    }

    fn find(&self, address: u64, bytes: u64, write: bool) -> Option<Found<'_>> {
        let (region, offset) = self.region(address, bytes, write)?;
        match &region.place {
            // Safety: the offset is inside of the memory that was mapped.
            Place::Host(start) => Some(Found::Host(unsafe { start.add(offset as usize) })),
            Place::Device(memory) => Some(Found::Device(&**memory, offset as usize)),
            Place::Peer(_) => None,
        }
    }

    /// The other card whose BAR these bytes are, and the offset of the first one there.
    pub fn peer(&self, address: u64, bytes: u64, write: bool) -> Option<(Arc<SharedBar>, u64)> {
        if self.peers == 0 {
            return None;
        }
        let (region, offset) = self.region(address, bytes, write)?;
        match &region.place {
            Place::Peer(bar) => Some((bar.clone(), bar.offset + offset)),
            _ => None,
        }
    }

    /// Whether the card may read (or write) all of these bytes.
    pub fn permits(&self, address: u64, bytes: u64, write: bool) -> bool {
        self.find(address, bytes, write).is_some() || self.others.as_ref().is_some_and(|others| others.permits(address, bytes, write))
    }

    /// Read `bytes` at `address` into `into`, which gets whole dwords; the bytes around are zero. False: refused.
    pub fn read(&self, address: u64, bytes: usize, into: &mut Vec<u32>) -> bool {
        let Some(source) = self.find(address, bytes as u64, false) else { return self.read_others(address, bytes, into) };
        let lead = (address & 3) as usize;
        into.clear();
        into.resize((lead + bytes).div_ceil(4), 0);
        // Safety: the target was just sized for them.
        let target = unsafe { into.as_mut_ptr().cast::<u8>().add(lead) };
        match source {
            // Safety: the source is mapped for `bytes`.
            Found::Host(source) => unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) },
            Found::Device(memory, offset) => {
                // Safety: as above.
                let copied = memory.read(offset, unsafe { std::slice::from_raw_parts_mut(target, bytes) });
                if !done("reading", copied) {
                    into.clear();
                    return false;
                }
            }
        }
        true
    }

    fn read_others(&self, address: u64, bytes: usize, into: &mut Vec<u32>) -> bool {
        let Some(others) = &self.others else { return false };
        let mut data = [0; 4096 + 8]; // no completion is longer than a page, and it begins and ends within a dword
        let lead = (address & 3) as usize;
        let dwords = (lead + bytes).div_ceil(4);
        if 4 * dwords > data.len() || !others.read(address, &mut data[lead..lead + bytes]) {
            return false;
        }
        into.clear();
        into.extend(data[..4 * dwords].chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
        true
    }

    /// Write the bytes of `data` from `lead` to `end` that are enabled, in runs.
    fn write_runs(
        data: &[u32],
        (lead, end): (usize, usize),
        enabled: impl Fn(usize) -> bool,
        write: impl Fn(usize, &[u8]) -> bool,
    ) -> bool {
        let bytes: Vec<u8> = data.iter().flat_map(|dword| dword.to_le_bytes()).collect();
        let mut at = lead;
        while at < end {
            let stop = (at..end).find(|at| !enabled(*at)).unwrap_or(end);
            if stop > at && !write(at, &bytes[at..stop]) {
                return false;
            }
            at = stop.max(at + 1);
        }
        true
    }

    /// Write the bytes of `data` (whole dwords from `address`, a multiple of 4) that the byte enables name. False: refused.
    ///
    /// A short write of aligned 64-bit words lands in ascending order, a word at a time, so that a thread which polls the last word finds
    /// the ones before.
    pub fn write(&self, address: u64, data: &[u32], first_be: u8, last_be: u8) -> bool {
        let bytes = data.len() * 4;
        let (lead, tail) = if data.len() == 1 {
            (first_be.trailing_zeros().min(4) as usize, (first_be << 4).leading_zeros().min(4) as usize)
        } else {
            (first_be.trailing_zeros().min(4) as usize, (last_be << 4).leading_zeros().min(4) as usize)
        };
        if lead + tail >= bytes {
            return true; // no byte enabled: a flush
        }
        let enabled = |at: usize| match at / 4 {
            0 => first_be >> at & 1 != 0,
            dword if dword == data.len() - 1 => last_be >> (at & 3) & 1 != 0,
            _ => true,
        };
        let span = (lead, bytes - tail);
        let target = match (self.find(address + lead as u64, (bytes - lead - tail) as u64, true), &self.others) {
            (Some(Found::Host(target)), _) => target,
            (Some(Found::Device(memory, offset)), _) => {
                return Self::write_runs(data, span, enabled, |at, run| done("writing", memory.write(offset + at - lead, run)));
            }
            (None, Some(others)) => return Self::write_runs(data, span, enabled, |at, run| others.write(address + at as u64, run)),
            (None, None) => return false,
        };
        let source = data.as_ptr().cast::<u8>();
        let holes = (data.len() == 1 && first_be != enables(lead, 4 - tail))
            || (data.len() > 1 && (first_be != enables(lead, 4) || last_be != enables(0, 4 - tail)));
        // Safety: `find` has checked the target for all bytes from the first to the last enabled one, and the source is `data`.
        unsafe {
            if holes {
                for at in (lead..bytes - tail).filter(|at| enabled(*at)) {
                    *target.add(at - lead) = *source.add(at);
                }
            } else if lead == 0 && tail == 0 && bytes <= 64 && bytes % 8 == 0 && target as usize % 8 == 0 {
                for (word, pair) in data.chunks_exact(2).enumerate() {
                    let value = u64::from(pair[0]) | u64::from(pair[1]) << 32;
                    let place = &*target.cast::<std::sync::atomic::AtomicU64>().add(word);
                    place.store(value, std::sync::atomic::Ordering::Release);
                }
            } else {
                std::ptr::copy_nonoverlapping(source.add(lead), target, bytes - lead - tail);
            }
        }
        true
    }
}

/// Did a copy succeed? The card sees one that did not as an access that was refused.
fn done(doing: &str, copied: std::io::Result<()>) -> bool {
    if let Err(why) = &copied {
        log::error!("{doing} a GPU's memory for the card: {why}");
    }
    copied.is_ok()
}

/// Dwords of a packet and its first and last byte enables, of so many bytes that begin at byte `lead` of the first dword.
pub fn packet_enables(lead: usize, bytes: usize) -> (u16, u8, u8) {
    let end = (lead + bytes - 1) % 4 + 1;
    match (lead + bytes).div_ceil(4) {
        1 => (1, enables(lead, end), 0),
        dwords => (dwords as u16, enables(lead, 4), enables(0, end)),
    }
}

/// Byte enables of the bytes from `from` to `to` in a dword.
pub fn enables(from: usize, to: usize) -> u8 {
    ((1u8 << to) - 1) & !((1u8 << from) - 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_the_place_in_the_page_and_never_return() {
        let mut memory = Memory::new(0x1_0000_0000);
        let mut buffer = vec![0u8; 5000];
        let one = memory.map(buffer.as_mut_ptr(), 5000, Access::ReadWrite).unwrap();
        assert_eq!(one & 0xfff, buffer.as_ptr() as u64 & 0xfff);
        assert!(memory.permits(one, 5000, true) && !memory.permits(one, 5001, true) && !memory.permits(one - 1, 1, false));
        assert!(!memory.unmap(one, 4999));
        assert!(memory.unmap(one, 5000));
        assert!(!memory.permits(one, 1, false));
        let two = memory.map(buffer.as_mut_ptr(), 5000, Access::ReadWrite).unwrap();
        assert!(two >= one + 5000);
    }

    #[test]
    fn rights_are_the_cards() {
        let mut memory = Memory::new(0x1_0000_0000);
        let mut buffer = [0u32; 4];
        let read = memory.map(buffer.as_mut_ptr().cast(), 16, Access::Read).unwrap();
        let write = memory.map(buffer.as_mut_ptr().cast(), 16, Access::Write).unwrap();
        assert!(!memory.write(read, &[1], 15, 0) && memory.read(read, 4, &mut Vec::new()));
        assert!(memory.write(write, &[1], 15, 0) && !memory.read(write, 4, &mut Vec::new()));
        assert_eq!(buffer[0], 1);
    }

    #[test]
    fn byte_enables_choose_the_bytes() {
        let mut memory = Memory::new(0x1_0000_0000);
        #[repr(align(8))]
        struct Buffer([u8; 32]);
        let mut buffer = Buffer([0xee; 32]);
        let at = memory.map(buffer.0.as_mut_ptr(), 32, Access::ReadWrite).unwrap();
        assert!(memory.write(at, &[0x4433_2211, 0x8877_6655], 0b1100, 0b0001)); // a plain span
        assert_eq!(buffer.0[..8], [0xee, 0xee, 0x33, 0x44, 0x55, 0xee, 0xee, 0xee]);
        assert!(memory.write(at + 8, &[0x4433_2211], 0b0101, 0)); // holes
        assert_eq!(buffer.0[8..12], [0x11, 0xee, 0x33, 0xee]);
        assert!(memory.write(at + 16, &[0x4433_2211, 0x8877_6655], 15, 15)); // whole words
        assert_eq!(buffer.0[16..24], [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        assert!(memory.write(at + 24, &[0x4433_2211], 0b0110, 0));
        assert_eq!(buffer.0[24..28], [0xee, 0x22, 0x33, 0xee]);
        assert!(memory.write(at + 32, &[1], 0, 0), "a write of no bytes is a flush, wherever it goes");
    }

    type Writes = std::sync::Mutex<Vec<(u64, Vec<u8>)>>;

    /// One page at 0x1000, of which the last byte may not be touched, and what was done to it.
    struct Others(std::sync::Arc<Writes>);

    impl HostMemory for Others {
        fn permits(&self, address: u64, bytes: u64, _write: bool) -> bool {
            address >= 0x1000 && address + bytes < 0x2000
        }

        fn read(&self, address: u64, into: &mut [u8]) -> bool {
            into.iter_mut().zip(address..).for_each(|(byte, address)| *byte = address as u8);
            self.permits(address, into.len() as u64, false)
        }

        fn write(&self, address: u64, from: &[u8]) -> bool {
            self.0.lock().unwrap().push((address, from.to_vec()));
            self.permits(address, from.len() as u64, true)
        }
    }

    #[test]
    fn others_memory_is_asked_for_what_is_nobodys_here() {
        let done: std::sync::Arc<Writes> = std::sync::Arc::default();
        let mut memory = Memory::new(0x1_0000_0000);
        assert!(!memory.read(0x1001, 2, &mut Vec::new()) && !memory.write(0x1000, &[1], 15, 0));
        memory.others = Some(Box::new(Others(std::sync::Arc::clone(&done))));
        let mut data = Vec::new();
        assert!(memory.permits(0x1000, 8, true) && !memory.permits(0x1ff8, 8, true));
        assert!(memory.read(0x1001, 6, &mut data));
        assert_eq!(data, [0x0302_0100, 0x0006_0504]);
        data.clear();
        assert!(!memory.read(0x1ffc, 4, &mut data) && data.is_empty(), "nothing is left of what was refused");
        assert!(memory.write(0x1010, &[0x4433_2211, 0x8877_6655], 0b1100, 0b0111));
        assert!(memory.write(0x1020, &[0x4433_2211], 0b1101, 0));
        assert!(!memory.write(0x1ffc, &[0], 15, 0));
        let expected: [(u64, &[u8]); 4] =
            [(0x1012, &[0x33, 0x44, 0x55, 0x66, 0x77]), (0x1020, &[0x11]), (0x1022, &[0x33, 0x44]), (0x1ffc, &[0; 4])];
        let done = done.lock().unwrap();
        assert!(done.iter().map(|(address, bytes)| (*address, &bytes[..])).eq(expected), "{done:x?}");
    }

    /// Bytes that are reached by copies, at an address where nothing is, and of which the last one fails.
    #[derive(Debug)]
    struct Copied(std::sync::Mutex<Vec<u8>>);

    impl DeviceMemory for Copied {
        fn address(&self) -> usize {
            0x10_0003
        }

        fn bytes(&self) -> usize {
            64
        }

        fn read(&self, offset: usize, into: &mut [u8]) -> std::io::Result<()> {
            into.copy_from_slice(&self.0.lock().unwrap()[offset..offset + into.len()]);
            if offset + into.len() == 64 {
                Err(std::io::ErrorKind::Other.into())
            } else {
                Ok(())
            }
        }

        fn write(&self, offset: usize, from: &[u8]) -> std::io::Result<()> {
            self.0.lock().unwrap()[offset..offset + from.len()].copy_from_slice(from);
            if offset + from.len() == 64 {
                Err(std::io::ErrorKind::Other.into())
            } else {
                Ok(())
            }
        }

        fn has_failed(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_devices_memory_is_copied() {
        let device = Arc::new(Copied(std::sync::Mutex::new((0..64).collect())));
        let shared: Arc<dyn DeviceMemory> = device.clone();
        let mut memory = Memory::new(0x1_0000_0000);
        let at = memory.map_device(&shared, Access::ReadWrite).unwrap();
        assert_eq!((at & 0xfff, memory.address_of(0x10_0003 as *const u8)), (3, None));
        let mut data = Vec::new();
        assert!(memory.read(at + 2, 6, &mut data));
        assert_eq!(data, [0x0403_0200, 0x0007_0605]);
        assert!(memory.write(at + 1, &[0x4433_2211, 0x8877_6655], 0b1101, 0b0011));
        assert_eq!(device.0.lock().unwrap()[..8], [0, 0x11, 2, 0x33, 0x44, 0x55, 0x66, 7]);
        assert!(!memory.read(at + 60, 4, &mut data) && data.is_empty(), "nothing is left of a copy that failed");
        assert!(!memory.read(at + 62, 4, &mut data), "behind its end");
        assert!(!memory.write(at + 61, &[0], 0b0111, 0));
        assert!(memory.unmap(at, 64) && !memory.permits(at, 1, false));
        assert_eq!(Arc::strong_count(&device), 2, "the map does not hold it any more");
    }

    #[test]
    fn reads_fill_whole_dwords() {
        let mut memory = Memory::new(0x1_0000_0000);
        let mut bytes = *b"abcdefgh";
        let at = memory.map(bytes.as_mut_ptr(), 8, Access::Read).unwrap();
        let mut data = Vec::new();
        let odd = (4 - (at & 3)) as usize % 4 + 1; // one past a dword's start
        assert!(memory.read(at + odd as u64, 2, &mut data));
        assert_eq!(data, [u32::from_le_bytes([0, bytes[odd], bytes[odd + 1], 0])]);
    }
}
