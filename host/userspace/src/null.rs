// SPDX-License-Identifier: Apache-2.0
//! A bus to nowhere: a card that completes everything at once, and moves not a byte.
//!
//! What is left is the library's own work, for benchmarks that count it. No thread is ever woken, because none ever waits; a program that
//! sends from one thread at a time gets a completion for each descriptor, and no data.
#![allow(missing_docs, clippy::missing_panics_doc, clippy::unwrap_used)]

use crate::mock;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use towpath_bus::{Access, Bus, BusError, Result, Wake};
use towpath_contract as c;

const CHANNELS: usize = 2;
const SLOTS: usize = 4 * mock::QUEUE_DEPTH as usize;
const PAGE_SHIFT: u32 = 12;
const PAGES_BYTES: u64 = c::PAGES_PER_CHANNEL << PAGE_SHIFT;
const FIRST: u64 = c::PAGE_CHANNELS << PAGE_SHIFT;
const BATCH: u64 = (c::PAGE_CHANNEL_DOORBELL << PAGE_SHIFT) + c::DOORBELL_BATCH_OFFSET;
const BATCH_PAGE: u64 = c::PAGE_CHANNEL_BATCH << PAGE_SHIFT;
/// The upper half of a descriptor, among a channel's pages.
const COMMIT: u64 = (c::PAGE_CHANNEL_DOORBELL << PAGE_SHIFT) + c::DOORBELL_DESCRIPTOR_OFFSET + 8;

#[derive(Default)]
struct Channel {
    /// Where the ring is, in the program's own memory.
    ring: AtomicU64,
    log2: AtomicU64,
    produced: AtomicU64,
    /// The first slot that was written since the last commit, and one more; 0: none was.
    first: AtomicU64,
    /// The upper halves of the descriptors in slots.
    slots: [AtomicU64; SLOTS],
}

pub struct NullBus {
    discovery: Vec<u8>,
    channels: [Channel; CHANNELS],
}

impl Default for NullBus {
    fn default() -> NullBus {
        NullBus { discovery: mock::discovery(&mock::Settings::default()), channels: Default::default() }
    }
}

impl NullBus {
    /// The channel whose pages hold this place in BAR 0, which is not before the first channel's.
    fn channel(&self, offset: u64) -> &Channel {
        &self.channels[(offset.wrapping_sub(FIRST) / PAGES_BYTES) as usize % CHANNELS]
    }
}

impl Channel {
    /// Descriptors in slots are committed.
    fn commit(&self, count: u64) {
        let first = self.first.swap(0, Relaxed) - 1;
        (first..first + count).for_each(|slot| self.done(self.slots[slot as usize % SLOTS].load(Relaxed)));
    }

    /// The card has completed the descriptor. `high` is its upper half: length, cookie, kind and flags.
    fn done(&self, high: u64) {
        let kind = (high >> 48 & u64::from(c::DESCRIPTOR_CONTROL_KIND_MASK)) as u8;
        if kind >= c::Kind::Attributes as u8 {
            return; // a prefix
        }
        let (produced, log2) = (self.produced.load(Relaxed), self.log2.load(Relaxed));
        self.produced.store(produced + 1, Relaxed);
        let entry = (self.ring.load(Relaxed) + 16 * (produced & ((1 << log2) - 1))) as *mut u64;
        let phase = (produced >> log2 & 1) ^ 1;
        let cookie = high >> 32 & 0xffff;
        // SAFETY: the driver's ring, which it has mapped: addresses are those of the program.
        unsafe {
            entry.write_volatile(high & 0xffff_ffff);
            entry.add(1).write_volatile(cookie << 32 | (c::Status::Done as u64) << 48 | phase << 56);
        }
    }
}

impl Bus for NullBus {
    fn name(&self) -> &str {
        "null"
    }
    fn bar_bytes(&self, _bar: u8) -> u64 {
        1 << 20
    }
    fn read32(&self, _bar: u8, offset: u64) -> Result<u32> {
        let bytes = self.discovery.get(offset as usize..offset as usize + 4);
        Ok(bytes.map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().unwrap())))
    }
    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        Ok(u64::from(self.read32(bar, offset)?) | u64::from(self.read32(bar, offset + 4)?) << 32)
    }
    fn write32(&self, _bar: u8, offset: u64, value: u32) -> Result<()> {
        match offset % PAGES_BYTES {
            _ if offset < FIRST => {}
            c::CHANNEL_RING_LOG2_OFFSET => self.channel(offset).log2.store(value.into(), Relaxed),
            c::CHANNEL_CONTROL_OFFSET => self.channel(offset).produced.store(0, Relaxed),
            BATCH => self.channel(offset).commit(value.into()),
            _ => {}
        }
        Ok(())
    }
    fn write64(&self, _bar: u8, offset: u64, value: u64) -> Result<()> {
        match offset % PAGES_BYTES {
            _ if offset < FIRST => {}
            COMMIT => self.channel(offset).done(value),
            c::CHANNEL_RING_BASE_OFFSET => self.channel(offset).ring.store(value, Relaxed),
            _ => {}
        }
        Ok(())
    }
    fn write_pair(&self, _bar: u8, offset: u64, values: [u64; 2]) -> Result<()> {
        if offset >= FIRST && (offset + 8) % PAGES_BYTES == COMMIT {
            self.channel(offset).done(values[1]);
        }
        Ok(())
    }
    fn write_combining(&self, _bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        if let Some(at) = (offset.wrapping_sub(FIRST) % PAGES_BYTES).checked_sub(BATCH_PAGE) {
            let Channel { slots, first, .. } = self.channel(offset);
            let _ = first.compare_exchange(0, at / 16 + 1, Relaxed, Relaxed);
            for (slot, descriptor) in (at as usize / 16..).zip(bytes.chunks_exact(16)) {
                slots[slot].store(u64::from_le_bytes(descriptor[8..].try_into().unwrap()), Relaxed);
            }
        }
        Ok(())
    }
    fn fence(&self) -> Result<()> {
        Ok(())
    }
    unsafe fn map(&self, memory: *mut u8, _bytes: usize, _access: Access) -> Result<u64> {
        Ok(memory as u64)
    }
    fn unmap(&self, _address: u64, _bytes: usize) -> Result<()> {
        Ok(())
    }
    fn enable_vectors(&self, count: u16) -> Result<u16> {
        Ok(count)
    }
    fn wait(&self, _vector: u16, _nanoseconds: u64) -> Result<Wake> {
        Ok(Wake::TimedOut)
    }
    fn event_fd(&self, _vector: u16) -> Result<OwnedFd> {
        Err(BusError::Invalid("nothing ever happens on the null bus".into()))
    }
    fn poll(&self) -> Result<()> {
        Ok(())
    }
    fn now(&self) -> u64 {
        0
    }
    fn reset(&self) -> Result<()> {
        Ok(())
    }
}
