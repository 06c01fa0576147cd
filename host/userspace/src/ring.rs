// SPDX-License-Identifier: Apache-2.0
//! A completion ring in host memory: the card writes entries, the host recognises new ones by their phase.

use crate::memory::{read_barrier, Dma};
use std::sync::Arc;
use towpath_bus::{Access, Bus};
use towpath_contract as contract;
use towpath_driver::Result;

const PAGE: usize = 4096;

pub(crate) struct Ring {
    memory: Dma,
    /// Words before the ring, which must be aligned to its own size.
    skip: usize,
    /// Of an index.
    mask: u32,
    pub log2: u32,
    /// Entries reaped since the channel was enabled, modulo 2^32.
    pub consumer: u32,
}

impl Ring {
    /// A ring that cannot overflow at this queue depth: an entry for each descriptor, and a start for each and one more.
    pub fn allocate(bus: &Arc<dyn Bus>, queue_depth: u16) -> Result<Ring> {
        let entries = (2 * u32::from(queue_depth) + 2).next_power_of_two().max(4);
        let bytes = entries as usize * contract::COMPLETION_BYTES;
        // Memory is aligned to pages, as the program sees it and as the card does; the bus promises no more.
        let memory = Dma::allocate(bus, if bytes > PAGE { 2 * bytes - PAGE } else { bytes }, Access::ReadWrite)?;
        let skip = (memory.address.next_multiple_of(bytes as u64) - memory.address) as usize / size_of::<u64>();
        Ok(Ring { memory, skip, mask: entries - 1, log2: entries.trailing_zeros(), consumer: 0 })
    }

    pub fn address(&self) -> u64 {
        self.memory.address + (self.skip * size_of::<u64>()) as u64
    }

    /// Clear all entries; the card must not be writing.
    pub fn clear(&mut self) {
        self.memory.zero();
        self.consumer = 0;
    }

    /// Take the next entry if it completes the descriptor of this cookie, with all its bytes: the usual case, in a few instructions.
    /// Returns its offset and user word.
    #[inline(always)]
    pub fn take_done(&mut self, cookie: u16, bytes: u64) -> Option<(u32, u32)> {
        let index = (self.consumer & self.mask) as usize;
        let phase = ((self.consumer >> self.log2) & 1) as u8 ^ contract::COMPLETION_FLAGS_PHASE_MASK;
        let words = |entry: contract::Completion| {
            let image = u128::from_le_bytes(entry.to_le_bytes());
            [image as u64, (image >> 64) as u64]
        };
        let done = contract::Completion { cookie, status: contract::Status::Done as u8, flags: phase, ..Default::default() };
        let any_user = contract::Completion { user: u32::MAX, ..Default::default() };
        let first = self.skip + 2 * index;
        // As in `next`: the phase is in the upper word.
        let high = self.memory.word(first + 1);
        if high & !words(any_user)[1] != words(done)[1] {
            return None;
        }
        read_barrier();
        let low = self.memory.word(first);
        let entry = contract::Completion::from_le_bytes((u128::from(high) << 64 | u128::from(low)).to_le_bytes());
        if u64::from(entry.bytes) != bytes {
            return None;
        }
        self.consumer = self.consumer.wrapping_add(1);
        Some((entry.offset, entry.user))
    }

    /// The next entry, if the card has written it.
    pub fn next(&mut self) -> Option<contract::Completion> {
        let index = (self.consumer & self.mask) as usize;
        let phase = ((self.consumer >> self.log2) & 1) as u8 ^ contract::COMPLETION_FLAGS_PHASE_MASK;
        // The phase is in the upper word. The card writes the entry whole: once the phase is new, so is the rest, and the data that it
        // reports.
        let high = self.memory.word(self.skip + 2 * index + 1).to_le_bytes();
        if high[7] & contract::COMPLETION_FLAGS_PHASE_MASK != phase {
            return None;
        }
        read_barrier();
        let low = self.memory.word(self.skip + 2 * index).to_le_bytes();
        let mut image = [0; contract::COMPLETION_BYTES];
        image[..8].copy_from_slice(&low);
        image[8..].copy_from_slice(&high);
        self.consumer = self.consumer.wrapping_add(1);
        Some(contract::Completion::from_le_bytes(image))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    #[test]
    fn a_ring_is_aligned_to_its_size() {
        let bus: Arc<dyn Bus> = Arc::new(crate::mock::MockBus::new(crate::mock::Settings::default()));
        for queue_depth in [1, 16, 127, 128, 1000, 30_000] {
            let ring = Ring::allocate(&bus, queue_depth).unwrap();
            let bytes = contract::COMPLETION_BYTES << ring.log2;
            assert_eq!(ring.address() % bytes as u64, 0, "queue depth {queue_depth}");
            assert!(bytes >= (2 * usize::from(queue_depth) + 2) * contract::COMPLETION_BYTES);
        }
    }
    /// The card writes while the program reads, by either method. The program finds each entry whole, in order, and after the data it reports.
    #[test]
    fn an_entry_is_found_whole_and_what_it_tells_of_is_there() {
        let bus: Arc<dyn Bus> = Arc::new(crate::null::NullBus::default());
        let mut ring = Ring::allocate(&bus, 1).unwrap();
        let (start, log2, count) = (ring.address(), ring.log2, if cfg!(miri) { 50 } else { 100_000 });
        let mut data = vec![0u32; count as usize];
        // On this bus an address is the program's own.
        let (data, reaped) = (data.as_mut_ptr() as u64, &AtomicU32::new(0));
        let datum = |n: u32| (data + 4 * u64::from(n)) as *mut u32;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0..count {
                    while (n - reaped.load(Ordering::Acquire)) >> log2 != 0 {
                        std::thread::yield_now();
                    }
                    // SAFETY: the thread below does not look at this one yet.
                    unsafe { datum(n).write(n) };
                    let (status, phase) = (contract::Status::Done as u8, (n >> log2 & 1) as u8 ^ 1);
                    let (offset, user, cookie) = (2 * n, 3 * n, n as u16);
                    let entry = contract::Completion { bytes: n, offset, user, cookie, status, flags: phase };
                    let image = u128::from_le_bytes(entry.to_le_bytes());
                    let at = start + 16 * u64::from(n & ((1 << log2) - 1));
                    for (at, half) in [(at, image as u64), (at + 8, (image >> 64) as u64)] {
                        // SAFETY: within the ring, which outlives the threads.
                        unsafe { AtomicU64::from_ptr(at as *mut u64) }.store(half.to_le(), Ordering::Release);
                    }
                }
            });
            for n in 0..count {
                let (offset, user) = loop {
                    let found = if n % 2 == 0 {
                        ring.take_done(n as u16, n.into())
                    } else {
                        let found = ring.next();
                        found.iter().for_each(|entry| assert_eq!((entry.bytes, entry.cookie), (n, n as u16)));
                        found.map(|entry| (entry.offset, entry.user))
                    };
                    match found {
                        Some(found) => break found,
                        None => std::thread::yield_now(),
                    }
                };
                // SAFETY: the thread above does not write it any more.
                assert_eq!((offset, user, unsafe { datum(n).read() }), (2 * n, 3 * n, n));
                reaped.store(n + 1, Ordering::Release);
            }
        });
    }
}
