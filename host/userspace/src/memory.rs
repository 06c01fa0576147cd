// SPDX-License-Identifier: Apache-2.0
//! The driver's own memory that the card accesses: rings and tables.

use std::alloc::Layout;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use towpath_bus::{Access, Bus};
use towpath_driver::{Error, Result};

/// The card reads list tables ahead, up to the end of the aligned 64 bytes that hold the last entry: these belong to the mapping.
const LINE: usize = 64;

/// Loads of [`Dma::word`] before this are performed before loads and stores after it, as the card sees memory. As other threads see it,
/// these loads order themselves.
///
/// On arm64 a device is in the outer shareable domain, which an acquiring load does not cover: `dmb oshld` does (as Linux's `dma_rmb()`
/// in arch/arm64/include/asm/barrier.h). x86 performs loads in order.
#[inline(always)]
pub(crate) fn read_barrier() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier; it accesses nothing.
    unsafe {
        std::arch::asm!("dmb oshld", options(nostack, preserves_flags));
    }
}

/// Zeroed, page-aligned memory of the driver's own, mapped for the card as long as it lives. Memory that cannot be unmapped is never freed:
/// the card may still reach it.
pub(crate) struct Dma {
    bus: Arc<dyn Bus>,
    start: *mut u8,
    layout: Layout,
    /// Its address for the card.
    pub address: u64,
}

// SAFETY: the pointer is owned; all access is through methods that take care of races with the card.
unsafe impl Send for Dma {}

impl Dma {
    pub fn allocate(bus: &Arc<dyn Bus>, bytes: usize, access: Access) -> Result<Dma> {
        let out_of_memory = Error::Memory { bytes: bytes as u64 };
        let Ok(layout) = Layout::from_size_align(bytes.max(1).next_multiple_of(LINE), 4096) else { return Err(out_of_memory) };
        // SAFETY: the size is not zero.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        if start.is_null() {
            return Err(out_of_memory);
        }
        // SAFETY: unmapped in `drop`, before it is freed.
        match unsafe { bus.map(start, layout.size(), access) } {
            Ok(address) => Ok(Dma { bus: bus.clone(), start, layout, address }),
            Err(error) => {
                // SAFETY: just allocated with this layout, and not mapped.
                unsafe { std::alloc::dealloc(start, layout) };
                Err(Error::bus(format!("{}: mapping {bytes} bytes for the card", bus.name()))(error))
            }
        }
    }

    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        debug_assert!(offset + bytes.len() <= self.layout.size());
        // SAFETY: within the allocation; the card has not received its address yet, or does not use this part.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(offset), bytes.len()) };
    }

    pub fn zero(&mut self) {
        // SAFETY: within the allocation; called while the card does not write.
        unsafe { std::ptr::write_bytes(self.start, 0, self.layout.size()) };
    }

    /// An aligned word that the card may write at the same time, by an acquiring load. (ThreadSanitizer would not see a fence behind it.)
    /// What a card on arm64 writes takes [`read_barrier`], too.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        debug_assert!(8 * (index + 1) <= self.layout.size());
        // SAFETY: within the allocation, aligned, and valid as long as `self`; what is written there meanwhile is written atomically.
        u64::from_le(unsafe { AtomicU64::from_ptr(self.start.cast::<u64>().add(index)) }.load(Ordering::Acquire))
    }
}

impl Drop for Dma {
    fn drop(&mut self) {
        if let Err(error) = self.bus.unmap(self.address, self.layout.size()) {
            let (name, bytes) = (self.bus.name(), self.layout.size());
            log::error!("{name}: {bytes} bytes of the driver's stay within the card's reach and are never freed: {error}");
            return;
        }
        // SAFETY: allocated with this layout; the card can no longer reach it.
        unsafe { std::alloc::dealloc(self.start, self.layout) };
    }
}
