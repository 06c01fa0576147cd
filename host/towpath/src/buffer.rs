// SPDX-License-Identifier: Apache-2.0
//! Memory registered with the card: transfers from and to it need no mapping of their own, and may stay in flight while the program does
//! something else. It may be a GPU's; then the processor cannot use it, and the way to it is direct or staged.
//!
//! Soundness: the card writes only while a C2H transfer is in flight. [`crate::Receiver::submit`] borrows the buffer mutably, so that no
//! slice of it lives at that moment; later slices are refused, by count, until the transfer has ended.

use crate::{Device, Error, GpuMemory, Result};
use parking_lot::Mutex;
use std::alloc::Layout;
use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use towpath_bus::BusError;
use towpath_driver::{DeviceMemory, Direction, Keep, Piece, Registration};
use towpath_gpu::Shadow;

pub use towpath_driver::Access;

/// Buffers begin on a page, so that the card's packets need not be cut.
const ALIGNMENT: usize = 4096;

/// Memory registered with one device. `Send` and `Sync`. If dropped while in flight, its memory lives until the transfer has ended. Memory
/// that cannot be unmapped from the card is never freed: see [`Buffer::close`].
pub struct Buffer {
    memory: Arc<Memory>,
}

struct Memory {
    start: *mut u8,
    bytes: usize,
    device: Device,
    registration: Arc<Registration>,
    access: Access,
    gpu: Gpu,
    /// The owner, until the memory was released, or its unmapping failed.
    owner: Mutex<Option<Owner>>,
    /// A transfer's own mapping of it could not be undone.
    stays_mapped: AtomicBool,
    /// H2C transfers in flight.
    reading: AtomicUsize,
    /// C2H transfers in flight.
    writing: AtomicUsize,
}

/// What the memory has to do with a GPU, if the card does not reach the GPU's itself.
enum Gpu {
    Nothing,
    /// It is a GPU's, and calls move it through pinned memory.
    Staged(Arc<GpuMemory>),
    /// It is pinned memory in place of a GPU's, for a transfer on a stream. Did the program ask for it?
    Shadow(Arc<GpuMemory>, Arc<Shadow>, bool),
}

enum Owner {
    Allocated(Layout),
    // Held for its drop alone.
    #[allow(dead_code)]
    Other(Box<dyn Any + Send + Sync>),
}

// SAFETY: `start` is owned by this value alone (see `Owner`), and all access to what it points at goes through the counts of transfers in
// flight and the borrow of `Buffer`.
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
    /// Unmap the memory from the card, then release it to its owner. Memory that the card may still reach is never released.
    fn close(&self) -> Result<()> {
        let Some(owner) = self.owner.lock().take() else { return Ok(()) };
        let owner = ManuallyDrop::new(owner);
        let Ok(driver) = self.device.driver() else {
            return Ok(()); // a child of fork: the registration and the memory are the parent's
        };
        if !self.registration.is_staged() {
            driver.unregister(&self.registration)?;
        }
        if self.stays_mapped.load(Ordering::Acquire) {
            let doing = format!("{}: unmapping what a transfer had mapped", self.device.info().name);
            return Err(Error::bus(doing)(BusError::Invalid("it failed then; the log has the reason".into())));
        }
        if let Owner::Allocated(layout) = ManuallyDrop::into_inner(owner) {
            // SAFETY: allocated with this layout in `Buffer::allocate`, and no reference to it remains.
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

    fn has_lost(&self) -> bool {
        self.registration.device().is_some_and(|memory| memory.has_failed())
    }
}

/// A buffer counts as in flight while this lives.
pub(crate) struct Hold(Arc<dyn Keep>, Direction);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.release(self.1);
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
        let registered = device.driver().and_then(|driver| unsafe { driver.register(start, bytes, Access::ReadWrite) });
        match registered {
            Ok(registration) => {
                let owner = Owner::Allocated(layout);
                Ok(Buffer::new(device, registration, start, bytes, Access::ReadWrite, Gpu::Nothing, owner))
            }
            Err(error) => {
                // SAFETY: just allocated with this layout.
                unsafe { std::alloc::dealloc(start, layout) };
                Err(error)
            }
        }
    }

    /// Register a vector's bytes; it is dropped with the buffer.
    pub fn from_vec(device: &Device, mut bytes: Vec<u8>) -> Result<Buffer> {
        let (start, length) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the vector moves into the buffer, its heap memory stays where it is, and nothing else refers to it.
        unsafe { Buffer::from_raw(device, start, length, Access::ReadWrite, Box::new(bytes)) }
    }

    /// Register memory that something else owns; `owner` is dropped after the memory has been unregistered and the last transfer has ended.
    /// It is never dropped when unregistering fails.
    ///
    /// # Safety
    /// `start` is valid for `bytes` bytes (for writes only with an `access` that writes) until `owner` is dropped. While a transfer is in
    /// flight, or a slice from this buffer lives, nothing else touches the memory in a way that races.
    pub unsafe fn from_raw(
        device: &Device,
        start: *mut u8,
        bytes: usize,
        access: Access,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Buffer> {
        // SAFETY: by this function's contract the memory lives until `owner` is dropped, after it has been unregistered.
        let registration = unsafe { device.driver()?.register(start, bytes, access)? };
        Ok(Buffer::new(device, registration, start, bytes, access, Gpu::Nothing, Owner::Other(owner)))
    }

    /// Register a GPU's memory: the card reads and writes it itself. [`Error::Unavailable`] where it cannot, and says which way works.
    /// `owner` is as in [`Buffer::from_raw`]. A slice of such a buffer cannot be had.
    ///
    /// # Safety
    /// The memory lives until `owner` is dropped. While a transfer is in flight, nothing else touches it in a way that races: the transfer
    /// waits for no work of the GPU's unless it is made with `on_stream`.
    pub unsafe fn from_gpu(device: &Device, memory: GpuMemory, access: Access, owner: Box<dyn Any + Send + Sync>) -> Result<Buffer> {
        let memory: Arc<dyn DeviceMemory> = Arc::new(memory);
        Buffer::of_device(device, &memory, access, owner)
    }

    /// As [`Buffer::from_gpu`], with any card: blocking calls move the bytes through pinned memory of the host, in parts, of which one is
    /// copied while the card moves another. Such a buffer cannot be submitted.
    ///
    /// # Safety
    /// As [`Buffer::from_gpu`].
    pub unsafe fn from_gpu_staged(device: &Device, memory: GpuMemory, access: Access, owner: Box<dyn Any + Send + Sync>) -> Result<Buffer> {
        device.driver()?;
        let (start, bytes, memory) = (memory.address() as *mut u8, memory.bytes(), Arc::new(memory));
        let shared: Arc<dyn DeviceMemory> = memory.clone();
        let registration = Arc::new(Registration::staged(&shared));
        Ok(Buffer::new(device, registration, start, bytes, access, Gpu::Staged(memory), Owner::Other(owner)))
    }

    /// A GPU's memory for `on_stream` of a channel, and for nothing else: the stream copies it to pinned memory of the host, and back. So
    /// it is in simulation, where the card's accesses to a GPU are copies anyway; with another card it must be `staged`.
    ///
    /// # Safety
    /// As [`Buffer::from_gpu`].
    pub unsafe fn for_stream(
        device: &Device,
        memory: GpuMemory,
        access: Access,
        staged: bool,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Buffer> {
        let (driver, bytes) = (device.driver()?, memory.bytes());
        let memory = Arc::new(memory);
        if !staged {
            // Nothing moves through the host's memory behind the program's back: the card must reach the GPU's.
            let asked: Arc<dyn DeviceMemory> = memory.clone();
            driver.unregister(&driver.register_device(&asked, access)?)?;
        }
        let shadow = Arc::new(memory.shadow()?);
        let start = shadow.start();
        // SAFETY: the buffer's owner has the shadow, too: no other transfer gets it while the card may reach it.
        let registration = unsafe { driver.register(start, bytes, access)? };
        Ok(Buffer::new(
            device,
            registration,
            start,
            bytes,
            access,
            Gpu::Shadow(memory, shadow.clone(), staged),
            Owner::Other(Box::new((owner, shadow))),
        ))
    }

    /// Of another device's memory, which the card is to reach itself.
    pub(crate) fn of_device(
        device: &Device,
        memory: &Arc<dyn DeviceMemory>,
        access: Access,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Buffer> {
        let registration = device.driver()?.register_device(memory, access)?;
        let start = memory.address() as *mut u8;
        Ok(Buffer::new(device, registration, start, memory.bytes(), access, Gpu::Nothing, Owner::Other(owner)))
    }

    fn new(
        device: &Device,
        registration: Arc<Registration>,
        start: *mut u8,
        bytes: usize,
        access: Access,
        gpu: Gpu,
        owner: Owner,
    ) -> Buffer {
        let memory = Memory {
            start,
            bytes,
            device: device.clone(),
            registration,
            access,
            gpu,
            owner: Mutex::new(Some(owner)),
            stays_mapped: AtomicBool::new(false),
            reading: AtomicUsize::new(0),
            writing: AtomicUsize::new(0),
        };
        Buffer { memory: Arc::new(memory) }
    }

    /// Unmap the memory from the card and release it, as a drop does, and report whether that worked. After an error the card may still
    /// reach the memory: it is never freed, nor its owner dropped. [`Error::BufferInUse`] while in flight: as with a drop, the memory is
    /// released when the transfer has ended.
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

    /// Is its length zero?
    pub fn is_empty(&self) -> bool {
        self.memory.bytes == 0
    }

    /// Do its bytes move through pinned memory of the host? See [`Buffer::from_gpu_staged`].
    pub fn is_staged(&self) -> bool {
        matches!(self.memory.gpu, Gpu::Staged(_) | Gpu::Shadow(_, _, true))
    }

    /// What stands for a GPU's memory in a transfer on a stream.
    pub(crate) fn shadow(&self) -> Option<(&GpuMemory, &Shadow)> {
        match &self.memory.gpu {
            Gpu::Shadow(memory, shadow, _) => Some((memory, shadow)),
            _ => None,
        }
    }

    /// A slice is for memory that the processor can use.
    fn for_the_processor(&self) -> Result<()> {
        if self.is_another_cards() {
            return Err(Error::Invalid("the buffer is another card's memory; load and store there by its window".into()));
        }
        if self.memory.registration.device().is_some() || self.shadow().is_some() {
            return Err(Error::Invalid(
                "the buffer is memory of a GPU, which the processor cannot use; copy it with the GPU's library".into(),
            ));
        }
        Ok(())
    }

    /// Its first byte; for bindings. The processor cannot use it if it is a GPU's. Another card's memory has none: null.
    pub fn as_ptr(&self) -> *const u8 {
        if self.is_another_cards() {
            return std::ptr::null();
        }
        self.memory.start
    }

    fn is_another_cards(&self) -> bool {
        self.memory.registration.device().is_some_and(|memory| memory.part_of_a_bar().is_some())
    }

    /// Is a transfer in flight?
    pub fn in_flight(&self) -> bool {
        self.memory.reading.load(Ordering::Acquire) + self.memory.writing.load(Ordering::Acquire) > 0
    }

    /// Its bytes; [`Error::BufferInUse`] while the card writes to it.
    pub fn as_slice(&self) -> Result<&[u8]> {
        self.for_the_processor()?;
        if self.memory.writing.load(Ordering::Acquire) > 0 {
            return Err(Error::BufferInUse);
        }
        // SAFETY: valid by construction; the card does not write (checked), and cannot begin to while the slice lives, because that takes
        // `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.memory.start, self.memory.bytes) })
    }

    /// Its bytes, mutable; [`Error::BufferInUse`] while the card reads or writes it.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        self.for_the_processor()?;
        if self.in_flight() {
            return Err(Error::BufferInUse);
        }
        if self.memory.access == Access::Read {
            return Err(Error::Invalid("the buffer is registered read-only; register it for writing as well".into()));
        }
        // SAFETY: valid by construction; nothing is in flight (checked), and the slice borrows `self` mutably.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.start, self.memory.bytes) })
    }

    /// The piece of a range, if there is one which a transfer of this direction may use; otherwise see [`Buffer::refuse`].
    #[inline(always)]
    pub(crate) fn piece(&self, range: &impl RangeBounds<usize>, direction: Direction) -> Option<Piece<'_>> {
        let memory = &*self.memory;
        let (start, end) = self.bounds(range);
        let wanted = if direction == Direction::H2c { Access::Read } else { Access::Write };
        if start > end || end > memory.bytes || !memory.registration.permits(wanted) {
            return None;
        }
        Some(Piece { memory: memory.start.wrapping_add(start), bytes: end - start, registration: Some(&memory.registration) })
    }

    #[inline(always)]
    fn bounds(&self, range: &impl RangeBounds<usize>) -> (usize, usize) {
        let start = match range.start_bound() {
            Bound::Included(&n) => n,
            Bound::Excluded(&n) => n.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&n) => n.saturating_add(1),
            Bound::Excluded(&n) => n,
            Bound::Unbounded => self.memory.bytes,
        };
        (start, end)
    }

    /// A range as two numbers. It may not be in the buffer.
    pub(crate) fn range(&self, range: &impl RangeBounds<usize>) -> Range<usize> {
        let (start, end) = self.bounds(range);
        start..end
    }

    /// The piece of a range of a staged buffer, if this is one and a transfer of this direction may use it.
    #[cold]
    pub(crate) fn staged_piece(&self, range: &impl RangeBounds<usize>, direction: Direction) -> Option<Piece<'_>> {
        let memory = &*self.memory;
        let (start, end) = self.bounds(range);
        let wanted = if direction == Direction::H2c { Access::Read } else { Access::Write };
        let fits = start <= end && end <= memory.bytes && (memory.access == wanted || memory.access == Access::ReadWrite);
        let piece =
            Piece { memory: memory.start.wrapping_add(start), bytes: end.wrapping_sub(start), registration: Some(&memory.registration) };
        (fits && memory.registration.is_staged()).then_some(piece)
    }

    /// The memory behind a staged buffer.
    pub(crate) fn staged(&self) -> Option<&Arc<GpuMemory>> {
        match &self.memory.gpu {
            Gpu::Staged(memory) => Some(memory),
            _ => None,
        }
    }

    /// Why [`Buffer::piece`] found none.
    #[cold]
    pub(crate) fn refuse(&self, range: &impl RangeBounds<usize>, direction: Direction) -> Error {
        let (start, end) = self.bounds(range);
        if start > end || end > self.len() {
            return Error::Invalid(format!("bytes {start} to {end} are not in a buffer of {} bytes", self.len()));
        }
        if self.staged_piece(range, direction).is_some() {
            return Error::Invalid("a staged buffer takes part in blocking calls alone, and cannot be submitted".into());
        }
        if self.is_another_cards() {
            return Error::Invalid("another card's memory can only be received into; read it by the other card, and send that".into());
        }
        let way = if direction == Direction::C2h { "receiving into" } else { "sending from" };
        Error::Invalid(format!("the buffer is not registered for {way}; register it for both directions"))
    }

    /// One more transfer in flight, until this is released.
    pub(crate) fn keep(&self, direction: Direction) -> Arc<dyn Keep> {
        self.memory.count(direction).fetch_add(1, Ordering::AcqRel);
        self.memory.clone()
    }

    /// As [`Buffer::keep`], until the result is dropped.
    pub(crate) fn hold(&self, direction: Direction) -> Hold {
        Hold(self.keep(direction), direction)
    }

    /// Is it registered with this device?
    #[inline(always)]
    pub(crate) fn belongs_to(&self, device: &Device) -> bool {
        self.memory.device.is(device)
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("bytes", &self.len()).field("in_flight", &self.in_flight()).finish()
    }
}
