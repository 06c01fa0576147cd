// SPDX-License-Identifier: Apache-2.0
//! A part of a file in this program's address space: memory shared with another process, or a device's registers.

use std::io;
use std::os::fd::AsFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

/// What the program may do with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Read it.
    pub read: bool,
    /// Write it.
    pub write: bool,
}

impl Rights {
    /// Read and write.
    pub const BOTH: Rights = Rights { read: true, write: true };
}

/// A shared mapping, unmapped when dropped. Every access is checked against its bounds; one outside panics.
///
/// Map only what cannot shrink: an access behind a file's end raises `SIGBUS`.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: another process or a device accesses the memory at any time anyway; all access is through raw pointers, volatile or atomic.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Map `bytes` bytes of a file from `offset`, a multiple of the page size.
    pub fn new(file: impl AsFd, offset: u64, bytes: usize, rights: Rights) -> io::Result<Mapping> {
        let mut flags = ProtFlags::empty();
        flags.set(ProtFlags::READ, rights.read);
        flags.set(ProtFlags::WRITE, rights.write);
        // SAFETY: the kernel chooses the place, so no other memory is touched.
        let start = unsafe { mmap(null_mut(), bytes, flags, MapFlags::SHARED, file, offset) }?;
        Ok(Mapping { start: start.cast(), bytes })
    }

    /// The program's address of a byte, for a kernel that is to map it for somebody else, too.
    pub fn address(&self, offset: usize) -> usize {
        self.range(offset, 1) as usize
    }

    fn range(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "{bytes} bytes at {offset} of a mapping of {}", self.bytes);
        // SAFETY: inside of the mapping, as was just checked.
        unsafe { self.start.add(offset) }
    }

    /// The place of a word, aligned to its size.
    fn place<T>(&self, offset: usize) -> *mut T {
        assert!(offset % size_of::<T>() == 0, "a word of {} bytes at {offset}", size_of::<T>());
        self.range(offset, size_of::<T>()).cast()
    }

    /// Copy from it.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        // SAFETY: `range` checks the bounds; the two cannot overlap, for `into` is memory of the caller's own.
        unsafe { std::ptr::copy_nonoverlapping(self.range(offset, into.len()), into.as_mut_ptr(), into.len()) };
    }

    /// Copy to it, as [`land`] does.
    pub fn write(&self, offset: usize, from: &[u8]) {
        // SAFETY: `range` checks the bounds.
        unsafe { land(self.range(offset, from.len()), from) };
    }

    /// Read a word, little endian, that another process writes. What it wrote before the word is visible after this.
    pub fn acquire16(&self, offset: usize) -> u16 {
        // SAFETY: `place` is valid and aligned.
        u16::from_le(unsafe { &*self.place::<AtomicU16>(offset) }.load(Ordering::Acquire))
    }

    /// Write a word, little endian, that another process reads, after everything that was written before.
    pub fn release16(&self, offset: usize, value: u16) {
        // SAFETY: `place` is valid and aligned.
        unsafe { &*self.place::<AtomicU16>(offset) }.store(value.to_le(), Ordering::Release);
    }

    /// Copy bytes to a device, in ascending order: one access for each word of 8 aligned bytes, and for each other byte.
    pub fn store(&self, offset: usize, from: &[u8]) {
        let mut done = 0;
        while done < from.len() {
            match from[done..].first_chunk::<8>() {
                Some(word) if (offset + done) % 8 == 0 => {
                    self.store64(offset + done, u64::from_ne_bytes(*word));
                    done += 8;
                }
                _ => {
                    self.store8(offset + done, from[done]);
                    done += 1;
                }
            }
        }
    }

    /// Copy bytes from a device that has no side effects: by words of 4 aligned bytes, or of 8, which may be more than is asked for.
    pub fn load(&self, offset: usize, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let (at, rest) = (offset + done, into.len() - done);
            let is_short = at % 4 + rest <= 4 || at % 8 == 4;
            let (start, word) = match is_short {
                true => (at & !3, u64::from(u32::from_le(self.load32(at & !3)))),
                false => (at & !7, u64::from_le(self.load64(at & !7))),
            };
            let skip = at - start;
            let take = rest.min(if is_short { 4 } else { 8 } - skip);
            into[done..done + take].copy_from_slice(&word.to_le_bytes()[skip..skip + take]);
            done += take;
        }
    }

    /// Read a device's word of 32 bits: one access. This and the next four are made once each, whole, and in program order.
    pub fn load32(&self, offset: usize) -> u32 {
        // SAFETY: `place` is valid and aligned, and any bits are an integer.
        unsafe { self.place::<u32>(offset).read_volatile() }
    }

    /// Read a device's word of 64 bits: one access.
    pub fn load64(&self, offset: usize) -> u64 {
        // SAFETY: as above.
        unsafe { self.place::<u64>(offset).read_volatile() }
    }

    /// Write a device's byte: one access.
    pub fn store8(&self, offset: usize, value: u8) {
        // SAFETY: `place` is valid and aligned.
        unsafe { self.place::<u8>(offset).write_volatile(value) }
    }

    /// Write a device's word of 32 bits: one access.
    pub fn store32(&self, offset: usize, value: u32) {
        // SAFETY: as above.
        unsafe { self.place::<u32>(offset).write_volatile(value) }
    }

    /// Write a device's word of 64 bits: one access.
    pub fn store64(&self, offset: usize, value: u64) {
        // SAFETY: as above.
        unsafe { self.place::<u64>(offset).write_volatile(value) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no reference into it outlives it.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

/// Other processors need barriers around accesses of devices which the standard library does not have.
pub const MAPS_DEVICES: bool = cfg!(target_arch = "x86_64");

/// Stores to a device before this leave the processor before any access after it, combined or not; loads before it have ended.
pub fn device_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this kind has the instruction.
    unsafe {
        std::arch::x86_64::_mm_mfence();
    }
}

/// Write as a card does: a short write of aligned 64-bit words lands in ascending order, a word at a time, so that a reader that polls the last
/// word finds those before it.
///
/// # Safety
/// `target` is valid for writes of `from.len()` bytes.
pub unsafe fn land(target: *mut u8, from: &[u8]) {
    if from.len() > 64 || from.len() % 8 != 0 || target as usize % 8 != 0 {
        // SAFETY: by this function's contract.
        return unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), target, from.len()) };
    }
    for (index, word) in from.chunks_exact(8).enumerate() {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        // SAFETY: aligned, and within the target by this function's contract.
        let place = unsafe { &*target.cast::<AtomicU64>().add(index) };
        place.store(u64::from_ne_bytes(bytes), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn words_of_a_mapping_are_accessed_whole_and_inside() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mapping = Mapping::new(&file, 4096, 4096, Rights::BOTH).unwrap();
        mapping.store64(8, 0x0123_4567_89ab_cdef);
        mapping.store32(16, 0x0123_4567);
        mapping.store8(16, 0x89);
        assert_eq!((mapping.load32(8), mapping.load32(12), mapping.load64(16)), (0x89ab_cdef, 0x0123_4567, 0x0123_4589));
        mapping.release16(4094, 0x1234);
        assert_eq!(mapping.acquire16(4094), 0x1234);
        let mut found = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, 4096 + 8).unwrap();
        assert_eq!(found, 0x0123_4567_89ab_cdef_u64.to_le_bytes());
        mapping.write(4, &found);
        let mut back = [0; 8];
        mapping.read(4, &mut back);
        assert_eq!(back, found);
        for (offset, why) in [(4096, "behind the end"), (4092, "across the end"), (4, "not aligned"), (usize::MAX - 7, "far off")] {
            let access = || mapping.load64(offset);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(access)).is_err(), "{why}");
        }
        let across = || mapping.write(4090, &[0; 7]);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(across)).is_err());
    }

    #[test]
    fn bytes_go_to_a_device_and_come_from_it_at_any_place() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let mapping = Mapping::new(&file, 0, 4096, Rights::BOTH).unwrap();
        let data: Vec<u8> = (1..=64).collect();
        for offset in 0..16 {
            for length in 0..40 {
                mapping.write(0, &[0; 128]);
                mapping.store(offset, &data[..length]);
                let (mut around, mut back) = ([0; 128], vec![0; length]);
                mapping.read(0, &mut around);
                mapping.load(offset, &mut back);
                assert_eq!(back, data[..length], "{length} bytes at {offset}");
                assert_eq!(around[offset..offset + length], data[..length]);
                assert!(around[..offset].iter().chain(&around[offset + length..]).all(|byte| *byte == 0), "{length} bytes at {offset}");
            }
        }
        let mut last = [0; 3];
        mapping.load(4093, &mut last);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| mapping.store(4090, &[0; 7]))).is_err());
    }

    #[test]
    fn what_cannot_be_mapped_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        for (offset, bytes) in [(0, 0), (1, 4096), (u64::MAX, 4096)] {
            assert!(Mapping::new(&file, offset, bytes, Rights::BOTH).is_err(), "{bytes} bytes from {offset}");
        }
    }
}
