// SPDX-License-Identifier: Apache-2.0
//! QEMU's edu device: a BAR with registers that compute, and a DMA engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_bus::{Access, BarPart, Bus, BusError, DeviceMemory};
use towpath_vfio::VfioBus;

use crate::devices::{functions, mend, open, E1000E, EDU};
use crate::Test;

pub const TESTS: &[Test] = &[
    ("registers_of_a_bar", registers_of_a_bar),
    ("memory_is_reached_as_mapped", memory_is_reached_as_mapped),
    ("what_is_written_after_mapping_is_read", what_is_written_after_mapping_is_read),
    ("overlapping_maps", overlapping_maps),
    ("unmapped_memory_is_not_reached", unmapped_memory_is_not_reached),
    ("many_maps_end_in_an_error_that_names_the_limit", many_maps_end_in_an_error_that_names_the_limit),
    ("large_maps_lie_as_the_memory_does", large_maps_lie_as_the_memory_does),
    ("the_card_is_closed_while_memory_is_mapped", the_card_is_closed_while_memory_is_mapped),
    ("one_card_writes_into_another", one_card_writes_into_another),
];

const IDENTIFICATION: u64 = 0x00;
const INVERTED: u64 = 0x04;
const FACTORIAL: u64 = 0x08;
const STATUS: u64 = 0x20;
const SOURCE: u64 = 0x80;
const TARGET: u64 = 0x88;
const COUNT: u64 = 0x90;
const COMMAND: u64 = 0x98;
/// The device's own memory, as its engine calls it.
const OWN: u64 = 0x4_0000;

fn edu() -> VfioBus {
    open(&mend(&functions(EDU)[0]))
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Let the device copy into (`to_memory`) or out of memory at that address.
pub fn copy(bus: &VfioBus, address: u64, bytes: u64, to_memory: bool) {
    let (from, to) = if to_memory { (OWN, address) } else { (address, OWN) };
    bus.write64(0, SOURCE, from).unwrap();
    bus.write64(0, TARGET, to).unwrap();
    bus.write64(0, COUNT, bytes).unwrap();
    bus.write64(0, COMMAND, 1 | u64::from(to_memory) << 1).unwrap();
    until("the copy ends", || bus.read64(0, COMMAND).unwrap() & 1 == 0);
}

/// Memory that begins where it is told to within a page.
pub struct Memory(Vec<u8>, usize);

impl Memory {
    pub fn new(place: usize, bytes: usize) -> Memory {
        let memory = vec![0; bytes + 3 * 4096];
        let start = (memory.as_ptr() as usize).next_multiple_of(4096) - memory.as_ptr() as usize + 4096;
        Memory(memory, start + place)
    }

    fn at(&mut self) -> *mut u8 {
        self.0[self.1..].as_mut_ptr()
    }

    pub fn bytes(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.0[self.1..][..bytes]
    }
}

pub fn map(bus: &VfioBus, memory: &mut Memory, bytes: usize, access: Access) -> u64 {
    // SAFETY: the tests unmap what they map, or close the card, before the memory goes.
    unsafe { bus.map(memory.at(), bytes, access) }.unwrap()
}

fn registers_of_a_bar() {
    let bus = edu();
    assert_eq!(bus.bar_bytes(0), 1 << 20);
    assert_eq!(bus.bar_bytes(1), 0);
    assert_eq!(bus.read32(0, IDENTIFICATION).unwrap(), 0x0100_00ed);
    bus.write32(0, INVERTED, 0x0123_4567).unwrap();
    assert_eq!(bus.read32(0, INVERTED).unwrap(), !0x0123_4567);
    bus.write32(0, FACTORIAL, 10).unwrap();
    until("the factorial", || bus.read32(0, STATUS).unwrap() & 1 == 0);
    assert_eq!(bus.read32(0, FACTORIAL).unwrap(), 3_628_800);
    bus.write64(0, SOURCE, 0x0123_4567_89ab_cdef).unwrap();
    assert_eq!(bus.read64(0, SOURCE).unwrap(), 0x0123_4567_89ab_cdef);
    for (bar, offset) in [(0, 2), (0, 1 << 20), (0, u64::MAX - 3), (1, 0), (6, 0)] {
        assert!(matches!(bus.read32(bar, offset), Err(BusError::Invalid(_))), "{bar} {offset:#x}");
    }
    assert!(matches!(bus.write64(0, (1 << 20) - 4, 0), Err(BusError::Invalid(_))));
    assert!(bus.enable_vectors(1).is_err(), "it has no MSI-X");
}

fn memory_is_reached_as_mapped() {
    let bus = edu();
    // Across a page's border, and not at its start.
    for place in [0, 0xffc, 5] {
        let (mut from, mut to) = (Memory::new(place, 1000), Memory::new(place + 3, 1000));
        for (index, byte) in from.bytes(1000).iter_mut().enumerate() {
            *byte = (index * 7 + place) as u8;
        }
        to.bytes(1001)[1000] = 0xee;
        let (source, target) = (map(&bus, &mut from, 1000, Access::Read), map(&bus, &mut to, 1000, Access::Write));
        assert_eq!((source & 0xfff, target & 0xfff), (place as u64 & 0xfff, (place as u64 + 3) & 0xfff));
        copy(&bus, source, 1000, false);
        copy(&bus, target, 1000, true);
        assert!(from.bytes(1000) == to.bytes(1000), "other bytes");
        assert_eq!(to.bytes(1001)[1000], 0xee);
        // The card may not write to what was mapped for reading.
        let before = from.bytes(1000).to_vec();
        from.bytes(1000)[0] ^= 0xff;
        copy(&bus, source, 1000, true);
        assert_eq!(from.bytes(1000)[0], before[0] ^ 0xff, "a write to memory that is mapped for reading");
        bus.unmap(source, 1000).unwrap();
        bus.unmap(target, 1000).unwrap();
    }
}

/// Memory that nobody has touched is one page of zeroes, until it is written.
fn what_is_written_after_mapping_is_read() {
    let mut untouched = Memory::new(0, 1 << 20);
    let mut back = Memory::new(0, 4096);
    let bus = edu();
    let (source, target) = (map(&bus, &mut untouched, 1 << 20, Access::Read), map(&bus, &mut back, 4096, Access::Write));
    untouched.bytes(1 << 20).fill(0x5a);
    copy(&bus, source + (512 << 10), 4096, false);
    copy(&bus, target, 4096, true);
    assert!(back.bytes(4096).iter().all(|byte| *byte == 0x5a), "the card reads what stood there when it was mapped");
}

fn overlapping_maps() {
    let bus = edu();
    let mut memory = Memory::new(100, 3000);
    memory.bytes(3000).fill(0x5a);
    let first = map(&bus, &mut memory, 3000, Access::ReadWrite);
    let second = map(&bus, &mut memory, 500, Access::ReadWrite);
    assert_ne!(first, second);
    assert!(bus.unmap(first, 500).is_err() && bus.unmap(first + 1, 2999).is_err(), "no such mapping");
    bus.unmap(first, 3000).unwrap();
    assert!(bus.unmap(first, 3000).is_err(), "it is unmapped");
    copy(&bus, second, 500, false);
    memory.bytes(500).fill(0);
    copy(&bus, second, 500, true);
    assert!(memory.bytes(500).iter().all(|byte| *byte == 0x5a), "the second mapping holds without the first");
    bus.unmap(second, 500).unwrap();
}

fn unmapped_memory_is_not_reached() {
    let bus = edu();
    let mut memory = Memory::new(0, 4096);
    memory.bytes(4096).fill(1);
    let address = map(&bus, &mut memory, 4096, Access::ReadWrite);
    copy(&bus, address, 4096, false);
    memory.bytes(4096).fill(2);
    copy(&bus, address, 2048, true);
    assert!(memory.bytes(2048).iter().all(|byte| *byte == 1), "while it is mapped, it is reached");
    bus.unmap(address, 4096).unwrap();
    memory.bytes(4096).fill(3);
    copy(&bus, address, 4096, true);
    assert!(memory.bytes(4096).iter().all(|byte| *byte == 3), "a copy after the unmapping has landed");
    let again = map(&bus, &mut memory, 4096, Access::ReadWrite);
    assert_ne!(again, address, "an address is the last to be given out again");
    bus.unmap(again, 4096).unwrap();
}

fn many_maps_end_in_an_error_that_names_the_limit() {
    let mut memory = Memory::new(0, 4096);
    let limit = "/sys/module/vfio_iommu_type1/parameters/dma_entry_limit";
    let usual = std::fs::read_to_string(limit).unwrap();
    std::fs::write(limit, "100").unwrap();
    let bus = edu();
    std::fs::write(limit, usual).unwrap();
    // SAFETY: the card is closed before the memory goes.
    let mut refused = || unsafe { bus.map(memory.at(), 64, Access::Read) }.err();
    let error = (0..200).find_map(|_| refused()).expect("the kernel has a limit");
    let text = error.to_string();
    assert!(
        text.contains("VFIO_IOMMU_MAP_DMA of 4096 bytes") && text.contains("100 mappings") && text.contains("dma_entry_limit"),
        "{text}"
    );
}

fn large_maps_lie_as_the_memory_does() {
    let bus = edu();
    let mut memory = Memory::new(0, 8 << 20);
    let address = map(&bus, &mut memory, 8 << 20, Access::ReadWrite);
    assert_eq!((address ^ memory.at() as u64) & ((2 << 20) - 1), 0);
    memory.bytes(8 << 20)[(8 << 20) - 100..].fill(0x77);
    copy(&bus, address + (8 << 20) - 100, 100, false);
    copy(&bus, address + (4 << 20) - 50, 100, true);
    let found: Vec<usize> = (0..8 << 20).filter(|at| memory.bytes(8 << 20)[*at] == 0x77).collect();
    assert_eq!((found.len(), found[0], found[99]), (200, (4 << 20) - 50, (4 << 20) + 49));
    bus.unmap(address, 8 << 20).unwrap();
}

fn the_card_is_closed_while_memory_is_mapped() {
    let locked = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let before = locked();
    let mut memory = Memory::new(0, 1 << 20);
    for _ in 0..3 {
        let bus = edu();
        map(&bus, &mut memory, 1 << 20, Access::ReadWrite);
        assert_eq!(locked(), before + 1024, "what is mapped is locked");
        drop(bus);
        assert_eq!(locked(), before, "and no more when the card is closed");
    }
}

/// A part of another card's BAR, as what a bus maps.
#[derive(Debug)]
struct Part(Arc<dyn BarPart>, usize);

impl DeviceMemory for Part {
    fn address(&self) -> usize {
        0
    }

    fn bytes(&self) -> usize {
        self.1
    }

    fn read(&self, _: usize, _: &mut [u8]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn write(&self, _: usize, _: &[u8]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn has_failed(&self) -> bool {
        self.0.has_lost()
    }

    fn part_of_a_bar(&self) -> Option<&Arc<dyn BarPart>> {
        Some(&self.0)
    }
}

/// An e1000e's registers of station addresses, which hold what is written, and the two pages in which they are.
const ADDRESSES: u64 = 0x5400;
const PAGES: (u64, usize) = (0x4000, 0x2000);

/// By its own requests, as a peer does: into the pages that it was given, at a multiple of their size, and nowhere after that.
fn one_card_writes_into_another() {
    let (bus, other) = (edu(), open(&mend(&functions(E1000E)[0])));
    let (start, bytes) = PAGES;
    let part: Arc<dyn DeviceMemory> = Arc::new(Part(other.share_bar(0, start, bytes as u64).unwrap(), bytes));
    let address = bus.map_device(&part, Access::Write).unwrap();
    assert_eq!(address % bytes as u64, 0);
    let mut memory = Memory::new(0, 4);
    let source = map(&bus, &mut memory, 4, Access::Read);
    let tell = |value: u32, memory: &mut Memory| {
        memory.bytes(4).copy_from_slice(&value.to_le_bytes());
        copy(&bus, source, 4, false);
        copy(&bus, address + (ADDRESSES - start), 4, true);
    };
    for value in [0x1234_5678, 0xdead_beef] {
        tell(value, &mut memory);
        assert_eq!(other.read32(0, ADDRESSES).unwrap(), value);
    }
    // It was given no more, and no longer.
    bus.unmap(address, bytes).unwrap();
    tell(0x5555_5555, &mut memory);
    assert_eq!(other.read32(0, ADDRESSES).unwrap(), 0xdead_beef);
    // What is refused: half a page, more than the BAR, and its own.
    assert!(matches!(other.share_bar(0, 0x800, 4096), Err(BusError::Invalid(_))));
    assert!(matches!(other.share_bar(0, 0, 1 << 30), Err(BusError::Invalid(_))));
    let own: Arc<dyn DeviceMemory> = Arc::new(Part(bus.share_bar(0, 0, 4096).unwrap(), 4096));
    assert!(matches!(bus.map_device(&own, Access::Write), Err(BusError::Unsupported(_))));
    bus.unmap(source, 4).unwrap();
}
