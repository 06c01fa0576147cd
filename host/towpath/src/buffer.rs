// SPDX-License-Identifier: Apache-2.0
//! Memory that the card knows: transfers from and to it need no mapping of their own, and may stay in flight while the program does
//! something else.
//!
//! Soundness: the card writes only while a C2H transfer is in flight. [`crate::Receiver::submit`] borrows the buffer mutably, so that no
//! slice of it lives at that moment; later slices are refused, by count, until the transfer has ended.

use crate::{Device, Error, Result};
use std::alloc::Layout;
use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::{Bound, RangeBounds};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use towpath_bus::BusError;
use towpath_driver::{Direction, Driver, Keep, Piece};

pub use towpath_driver::Access;

/// Buffers begin on a page, so that the card's packets need not be cut.
const ALIGNMENT: usize = 4096;

/// Memory registered with one device. `Send` and `Sync`; dropped while in flight, its memory lives until the transfer has ended. Memory that cannot be
/// taken away from the card is never given back: see [`Buffer::close`].
pub struct Buffer {
    memory: Arc<Memory>,
}

struct Memory {
    start: *mut u8,
    bytes: usize,
    driver: Arc<dyn Driver>,
    access: Access,
    /// Until it was given back, or the card could not be kept from it.
    owner: Mutex<Option<Owner>>,
    /// A transfer's own mapping of it could not be undone.
    stays_mapped: AtomicBool,
    /// H2C transfers in flight.
    reading: AtomicUsize,
    /// C2H transfers in flight.
    writing: AtomicUsize,
}

enum Owner {
    Allocated(Layout),
    // Held for its drop alone.
    #[allow(dead_code)]
    Other(Box<dyn Any + Send + Sync>),
}

// SAFETY: `start` is owned by this value alone (see `Owner`), and all access to what it points at goes through the counts of transfers in flight and
// the borrow of `Buffer`.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            log::error!("a buffer of {} bytes stays within the card's reach and is never freed: {error}", self.bytes);
        }
    }
}

impl Memory {
    /// Take it away from the card, then give it back to its owner. What the card may still reach stays as it is, for ever.
    fn close(&self) -> Result<()> {
        let Some(owner) = self.owner.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        let owner = ManuallyDrop::new(owner);
        self.driver.unregister(self.start, self.bytes)?;
        if self.stays_mapped.load(Ordering::Acquire) {
            let doing = format!("{}: unmapping what a transfer had mapped", self.driver.info().name);
            return Err(Error::bus(doing)(BusError::Invalid("it failed then; the log has the reason".into())));
        }
        if let Owner::Allocated(layout) = ManuallyDrop::into_inner(owner) {
            // SAFETY: allocated with this layout in `Buffer::allocate`, and nobody refers to it any more.
            unsafe { std::alloc::dealloc(self.start, layout) };
        }
        Ok(())
    }

    /// Transfers in flight of one direction.
    fn count(&self, direction: Direction) -> &AtomicUsize {
        match direction {
            Direction::H2c => &self.reading,
            Direction::C2h => &self.writing,
        }
    }
}

impl Keep for Memory {
    fn release(&self, direction: Direction) {
        self.count(direction).fetch_sub(1, Ordering::Release);
    }

    fn stays_mapped(&self) {
        self.stays_mapped.store(true, Ordering::Release);
    }
}

impl Buffer {
    /// Allocate zeroed, page-aligned memory, registered for both directions.
    pub fn allocate(device: &Device, bytes: usize) -> Result<Buffer> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).map_err(|_| Error::Memory { bytes: bytes as u64 })?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        if start.is_null() {
            return Err(Error::Memory { bytes: bytes as u64 });
        }
        // SAFETY: the memory is freed only after it has been unregistered.
        let registered = unsafe { device.driver().register(start, bytes, Access::ReadWrite) };
        if let Err(error) = registered {
            // SAFETY: just allocated with this layout.
            unsafe { std::alloc::dealloc(start, layout) };
            return Err(error);
        }
        Ok(Buffer::new(device, start, bytes, Access::ReadWrite, Owner::Allocated(layout)))
    }

    /// Register a vector's bytes; it is dropped with the buffer.
    pub fn from_vec(device: &Device, mut bytes: Vec<u8>) -> Result<Buffer> {
        let (start, length) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the vector moves into the buffer, its heap memory stays where it is, and nobody else refers to it.
        unsafe { Buffer::from_raw(device, start, length, Access::ReadWrite, Box::new(bytes)) }
    }

    /// Register memory that something else owns; `owner` is dropped after the memory has been unregistered and the last transfer has ended. It is never
    /// dropped when unregistering fails.
    ///
    /// # Safety
    /// `start` is valid for `bytes` bytes (for writes only with an `access` that writes) until `owner` is dropped. While a transfer is in
    /// flight, or a slice from this buffer lives, nobody else touches the memory in a way that races.
    pub unsafe fn from_raw(
        device: &Device,
        start: *mut u8,
        bytes: usize,
        access: Access,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Buffer> {
        // SAFETY: by this function's contract the memory lives until `owner` is dropped, after it has been unregistered.
        unsafe { device.driver().register(start, bytes, access)? };
        Ok(Buffer::new(device, start, bytes, access, Owner::Other(owner)))
    }

    fn new(device: &Device, start: *mut u8, bytes: usize, access: Access, owner: Owner) -> Buffer {
        let driver = device.driver().clone();
        let memory = Memory {
            start,
            bytes,
            driver,
            access,
            owner: Mutex::new(Some(owner)),
            stays_mapped: AtomicBool::new(false),
            reading: AtomicUsize::new(0),
            writing: AtomicUsize::new(0),
        };
        Buffer { memory: Arc::new(memory) }
    }

    /// Take the memory away from the card and give it back, as a drop does, and tell whether that worked. After an error the card may still reach the
    /// memory: it is never freed, nor its owner dropped. [`Error::BufferInUse`] while in flight: as for a drop, the memory goes when the transfer has ended.
    pub fn close(self) -> Result<()> {
        if self.in_flight() {
            return Err(Error::BufferInUse);
        }
        self.memory.close()
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.memory.bytes
    }

    /// Has it no bytes?
    pub fn is_empty(&self) -> bool {
        self.memory.bytes == 0
    }

    /// Where it begins; for bindings.
    pub fn as_ptr(&self) -> *const u8 {
        self.memory.start
    }

    /// Is a transfer in flight?
    pub fn in_flight(&self) -> bool {
        self.memory.reading.load(Ordering::Acquire) + self.memory.writing.load(Ordering::Acquire) > 0
    }

    /// Its bytes; [`Error::BufferInUse`] while the card writes to it.
    pub fn as_slice(&self) -> Result<&[u8]> {
        if self.memory.writing.load(Ordering::Acquire) > 0 {
            return Err(Error::BufferInUse);
        }
        // SAFETY: valid by construction; the card does not write (checked), and cannot begin to while the slice lives, for that takes `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.memory.start, self.memory.bytes) })
    }

    /// Its bytes, to be changed; [`Error::BufferInUse`] while the card reads or writes it.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        if self.in_flight() {
            return Err(Error::BufferInUse);
        }
        if self.memory.access == Access::Read {
            return Err(Error::Invalid("the buffer is registered read-only; register it for writing as well".into()));
        }
        // SAFETY: valid by construction; nothing is in flight (checked), and the slice borrows `self` mutably.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.start, self.memory.bytes) })
    }

    /// The piece of a range, if a transfer of this direction may use it.
    #[inline]
    pub(crate) fn piece(&self, range: impl RangeBounds<usize>, direction: Direction) -> Result<Piece> {
        let memory = &self.memory;
        let start = match range.start_bound() {
            Bound::Included(&n) => n,
            Bound::Excluded(&n) => n.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&n) => n.saturating_add(1),
            Bound::Excluded(&n) => n,
            Bound::Unbounded => memory.bytes,
        };
        if start > end || end > memory.bytes {
            return Err(self.outside(start, end));
        }
        let fits =
            matches!((memory.access, direction), (Access::ReadWrite, _) | (Access::Read, Direction::H2c) | (Access::Write, Direction::C2h));
        if !fits {
            return Err(self.not_for(direction));
        }
        // SAFETY: `start` is within the memory, checked above.
        Ok(Piece { memory: unsafe { memory.start.add(start) }, bytes: end - start })
    }

    #[cold]
    fn outside(&self, start: usize, end: usize) -> Error {
        Error::Invalid(format!("bytes {start} to {end} are not in a buffer of {} bytes", self.len()))
    }

    #[cold]
    fn not_for(&self, direction: Direction) -> Error {
        let way = if direction == Direction::C2h { "receiving into" } else { "sending from" };
        Error::Invalid(format!("the buffer is not registered for {way}; register it for both directions"))
    }

    /// One more transfer in flight, until this is released.
    pub(crate) fn keep(&self, direction: Direction) -> Arc<dyn Keep> {
        self.memory.count(direction).fetch_add(1, Ordering::AcqRel);
        self.memory.clone()
    }

    /// Is it registered with this device?
    #[inline]
    pub(crate) fn belongs_to(&self, driver: &Arc<dyn Driver>) -> Result<()> {
        if Arc::ptr_eq(&self.memory.driver, driver) {
            return Ok(());
        }
        Err(Error::Invalid("the buffer is registered with another device; allocate one for this device".into()))
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("bytes", &self.len()).field("in_flight", &self.in_flight()).finish()
    }
}
