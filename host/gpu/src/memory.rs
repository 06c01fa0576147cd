// SPDX-License-Identifier: Apache-2.0
//! A range of a GPU's memory, by its address.
//!
//! What the library says of an address holds for one allocation, or for one segment of an allocation that grows by segments. A range may
//! span several: everything here goes from segment to segment.

use std::ffi::c_int;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use towpath_bus::DeviceMemory;

use crate::calls::{call, calls, Address, Calls, Opaque};
use crate::calls::{MEMORY_TYPE_DEVICE, POINTER_CONTEXT, POINTER_DEVICE, POINTER_IS_MANAGED, POINTER_MEMORY_TYPE};
use crate::pinned::{Copying, Pinned, Shadow, PINNED_BYTES};
use crate::{Context, GpuError, Result};

/// A range of one GPU's memory. Copies that fail, because it was freed, are errors.
pub struct GpuMemory {
    context: Arc<Context>,
    device: i32,
    start: Address,
    bytes: usize,
    /// The segments that it lies in, whole.
    segments: Vec<Range<Address>>,
    /// A write of the card's was lost.
    failed: AtomicBool,
}

/// A value that the library knows about an address.
fn attribute(calls: &Calls, attribute: c_int, address: Address) -> Result<u64> {
    let mut value = 0u64;
    // SAFETY: no value asked for here is longer than 8 bytes, and the machine is little-endian.
    unsafe { call!(calls, pointer_attribute((&raw mut value).cast(), attribute, address))? };
    Ok(value)
}

impl GpuMemory {
    /// `bytes` bytes from an address, which the library must know as a GPU's.
    ///
    /// # Safety
    /// The memory lives as long as this.
    pub unsafe fn new(address: usize, bytes: usize) -> Result<GpuMemory> {
        let calls = calls()?;
        let start = address as Address;
        let stranger = |_| GpuError::Invalid(format!("{address:#x} is no address of a GPU's memory, or its memory was freed"));
        let kind = attribute(calls, POINTER_MEMORY_TYPE, start).map_err(stranger)? & 0xffff_ffff;
        if attribute(calls, POINTER_IS_MANAGED, start).unwrap_or(0) & 0xff != 0 {
            let why = format!("{address:#x} is managed memory, which moves between host and GPU; give the host's view of it, or a copy");
            return Err(GpuError::Invalid(why));
        }
        if kind != MEMORY_TYPE_DEVICE {
            return Err(GpuError::Invalid(format!(
                "{address:#x} is memory of the host; give the host's view of it, such as a NumPy array"
            )));
        }
        let device = attribute(calls, POINTER_DEVICE, start).map_err(stranger)? as i32;
        // Memory from a pool, or mapped by segments, belongs to its GPU alone: there the primary context reaches it.
        let context = match attribute(calls, POINTER_CONTEXT, start) {
            Ok(handle) if handle != 0 => Context::of_handle(calls, handle as Opaque)?,
            _ => Context::of_device(device)?,
        };
        let mut memory = GpuMemory { context, device, start, bytes, segments: Vec::new(), failed: AtomicBool::new(false) };
        memory.segments = memory.find_segments()?;
        Ok(memory)
    }

    fn find_segments(&self) -> Result<Vec<Range<Address>>> {
        let calls = self.context.calls;
        let _current = self.context.enter()?;
        let end = self.start.saturating_add(self.bytes as u64);
        let (mut at, mut segments) = (self.start, Vec::new());
        while at < end {
            let (mut base, mut size) = (0, 0usize);
            // SAFETY: it writes these two.
            let found = unsafe { call!(calls, address_range(&raw mut base, &raw mut size, at)) };
            let segment = base..base.saturating_add(size as u64);
            let other = || attribute(calls, POINTER_DEVICE, at).is_ok_and(|device| device as i32 != self.device);
            if found.is_err() || !segment.contains(&at) || other() {
                let (has, from) = (at - self.start, self.start);
                let why = format!("{} bytes at {from:#x} are not all memory of GPU {}: it ends after {has}", self.bytes, self.device);
                return Err(GpuError::Invalid(why));
            }
            at = segment.end;
            segments.push(segment);
        }
        Ok(segments)
    }

    /// Its context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The number of its GPU.
    pub fn device(&self) -> i32 {
        self.device
    }

    /// How many segments it lies in.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// The parts of a range of it that lie in one segment each: address, and offset from the range's begin.
    fn parts(&self, offset: usize, bytes: usize) -> Result<Vec<(Range<Address>, usize)>> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return Err(GpuError::Invalid(format!("bytes {offset} to {offset}+{bytes} are not in {} bytes of a GPU's memory", self.bytes)));
        }
        let (from, to) = (self.start + offset as u64, self.start + (offset + bytes) as u64);
        let inside = self.segments.iter().map(|segment| segment.start.max(from)..segment.end.min(to)).filter(|part| part.start < part.end);
        Ok(inside.map(|part| (part.clone(), (part.start - from) as usize)).collect())
    }

    /// Begin to copy a range of it to host memory, which stays untouched until the copy is done, on a stream. A context is current.
    pub(crate) unsafe fn begin_read(&self, offset: usize, into: *mut u8, bytes: usize, stream: Opaque) -> Result<()> {
        for (part, at) in self.parts(offset, bytes)? {
            let length = (part.end - part.start) as usize;
            // SAFETY: both lie within the caller's.
            unsafe { call!(self.context.calls, copy_to_host(into.add(at).cast(), part.start, length, stream))? };
        }
        Ok(())
    }

    /// As [`GpuMemory::begin_read`], the other way.
    pub(crate) unsafe fn begin_write(&self, offset: usize, from: *const u8, bytes: usize, stream: Opaque) -> Result<()> {
        for (part, at) in self.parts(offset, bytes)? {
            let length = (part.end - part.start) as usize;
            // SAFETY: both lie within the caller's.
            unsafe { call!(self.context.calls, copy_from_host(part.start, from.add(at).cast(), length, stream))? };
        }
        Ok(())
    }

    /// Wait for all copies until now.
    fn finish(&self) -> Result<()> {
        // SAFETY: a stream of this context.
        unsafe { call!(self.context.calls, wait_stream(self.context.copies)) }
    }

    /// A block of pinned memory for copies from and to it.
    pub fn pinned(&self) -> Result<Pinned> {
        Pinned::take(&self.context)
    }

    /// Pinned memory to stand for it in a transfer on a stream.
    pub fn shadow(&self) -> Result<Shadow> {
        Shadow::take(&self.context, self.bytes)
    }

    /// Copy to the beginning of a pinned block, while the program goes on.
    ///
    /// # Safety
    /// The block is not touched until the copy is done, and outlives it.
    pub unsafe fn start_read(&self, offset: usize, block: &Pinned, bytes: usize) -> Result<Copying> {
        let bytes = bytes.min(PINNED_BYTES);
        let _current = self.context.enter()?;
        // SAFETY: the block has as many bytes; it lives until the copy is done, by this function's contract.
        unsafe { self.begin_read(offset, block.start(), bytes, self.context.copies)? };
        Copying::all(&self.context)
    }

    /// As [`GpuMemory::start_read`], the other way.
    ///
    /// # Safety
    /// As [`GpuMemory::start_read`].
    pub unsafe fn start_write(&self, offset: usize, block: &Pinned, bytes: usize) -> Result<Copying> {
        let bytes = bytes.min(PINNED_BYTES);
        let _current = self.context.enter()?;
        // SAFETY: as above.
        unsafe { self.begin_write(offset, block.start(), bytes, self.context.copies)? };
        Copying::all(&self.context)
    }
}

impl DeviceMemory for GpuMemory {
    fn address(&self) -> usize {
        self.start as usize
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read(&self, offset: usize, into: &mut [u8]) -> io::Result<()> {
        calls()?; // not in a child of fork
        let _current = self.context.enter()?;
        // SAFETY: the slice is borrowed until the copy is done.
        let begun = unsafe { self.begin_read(offset, into.as_mut_ptr(), into.len(), self.context.copies) };
        self.finish()?;
        Ok(begun?)
    }

    fn write(&self, offset: usize, from: &[u8]) -> io::Result<()> {
        let copy = || -> Result<()> {
            calls()?; // as above
            let _current = self.context.enter()?;
            // SAFETY: as above.
            let begun = unsafe { self.begin_write(offset, from.as_ptr(), from.len(), self.context.copies) };
            self.finish()?;
            begun
        };
        let copied = copy();
        if copied.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        Ok(copied?)
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}

impl fmt::Debug for GpuMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GpuMemory");
        shown.field("gpu", &self.device).field("address", &self.start).field("bytes", &self.bytes);
        shown.field("segments", &self.segments.len()).finish()
    }
}
