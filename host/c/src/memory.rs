// SPDX-License-Identifier: Apache-2.0
//! The user core's memories.

use crate::border::{Caller, Result};
use crate::channel::settings;
use crate::handle::handle;
use crate::{call, towpath_channel_options, towpath_device, towpath_status, TOWPATH_CHANNEL_TIMEOUT};
use std::ffi::{c_char, c_void};
use std::io::{IoSlice, IoSliceMut};
use std::time::Duration;
use towpath::{Memory, WaitOptions};

/// An open memory of the user core: bytes with addresses from 0 on.
pub struct towpath_memory {
    _private: [u8; 0],
}

handle!(towpath_memory, 3, Memory);

/// While a memory is being closed, how often other threads' calls on it are cancelled.
const CANCEL_EVERY: Duration = Duration::from_millis(1);

impl Caller {
    fn memory_limit(&self, nanoseconds: u64, memory: &Memory) -> Result<WaitOptions<'static>> {
        match nanoseconds {
            TOWPATH_CHANNEL_TIMEOUT => Ok(memory.timeout().into()),
            nanoseconds => Ok(self.timeout(nanoseconds)?.into()),
        }
    }
}

/// Open a memory of the user core by its name, or by the number of one of its channels in digits, and its size into `*bytes`, which may be
/// NULL. `options` is as for towpath_open_channel(), and may be NULL. The handle has the memory exclusively until towpath_close_memory().
/// On success `*memory` is a handle; on failure it is left as it was.
///
/// TOWPATH_NO_SUCH_CHANNEL: the text lists the memories there are. TOWPATH_CHANNEL_IN_USE: the memory is open already.
#[no_mangle]
pub unsafe extern "C" fn towpath_open_memory(
    device: *mut towpath_device,
    name: *const c_char,
    options: *const towpath_channel_options,
    memory: *mut *mut towpath_memory,
    bytes: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_open_memory", |c| {
            let (memory, bytes) = (c.place("memory", memory)?, c.optional_place("bytes", bytes)?);
            let name = c.text("name", name)?;
            let device = c.handle(device)?;
            let opened = device.device.memory_with(name, settings(c, options)?)?;
            let size = opened.len();
            c.make(&memory, opened)?;
            bytes.set(size);
            Ok(())
        })
    }
}

/// Release a memory handle. NULL is fine, and nothing happens. Calls of other threads on the handle end with TOWPATH_CANCELLED, and this waits
/// for them. In a child of fork() nothing happens to the memory.
#[no_mangle]
pub unsafe extern "C" fn towpath_close_memory(memory: *mut towpath_memory) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_close_memory", |c| {
            if memory.is_null() {
                return Ok(());
            }
            let held = c.handle(memory)?;
            if !held.close() {
                return Err(c.closed::<towpath_memory>());
            }
            // As towpath_close_channel() does.
            while held.others() > 0 && held.cancel_all().is_ok() {
                std::thread::sleep(CANCEL_EVERY);
            }
            Ok(())
        })
    }
}

/// Read `bytes` bytes of a memory, beginning at `address`, into `data`. `nanoseconds` is this call's own limit, TOWPATH_FOREVER, or
/// TOWPATH_CHANNEL_TIMEOUT for ten seconds. `moved` may be NULL; otherwise `*moved` becomes how many bytes, from the first on, certainly were
/// read, on failure, too. Many threads may use one memory at once.
///
/// TOWPATH_INVALID: the bytes are not all in the memory. TOWPATH_KIND: the user core answered with an error; the text has the addresses.
/// TOWPATH_TIMEOUT, TOWPATH_INTERRUPTED, TOWPATH_CANCELLED, TOWPATH_RESET, TOWPATH_FAULT: as for towpath_recv().
#[no_mangle]
pub unsafe extern "C" fn towpath_read_memory(
    memory: *mut towpath_memory,
    address: u64,
    data: *mut c_void,
    bytes: u64,
    nanoseconds: u64,
    moved: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_read_memory", |c| {
            let moved = c.optional_place("moved", moved)?;
            moved.set(0);
            let held = c.handle(memory)?;
            let options = c.memory_limit(nanoseconds, &held)?;
            let (start, length) = c.memory("data", data, bytes)?;
            let slice = std::slice::from_raw_parts_mut(start, length);
            let read = held.read_at_with(&mut [IoSliceMut::new(slice)], address, options);
            moved.set(read.as_ref().map_or_else(|error| error.bytes().unwrap_or(0), |()| bytes));
            Ok(read?)
        })
    }
}

/// Load `bytes` bytes of a memory by its window, beginning at `address`, into `data`. The load sees every store by the window before it.
///
/// TOWPATH_INVALID: the bytes are not all in the memory, or it has no window. TOWPATH_KIND: the user core answered with an error, or not in time.
#[no_mangle]
pub unsafe extern "C" fn towpath_load_memory(memory: *mut towpath_memory, address: u64, data: *mut c_void, bytes: u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_load_memory", |c| {
            let held = c.handle(memory)?;
            let (start, length) = c.memory("data", data, bytes)?;
            Ok(held.window()?.read_at(std::slice::from_raw_parts_mut(start, length), address)?)
        })
    }
}

/// Store `bytes` bytes from `data` to a memory by its window, beginning at `address`. Stores reach the memory in order; this returns before
/// they have. Otherwise as towpath_load_memory(); towpath_flush_memory() reports stores that the user core refused.
#[no_mangle]
pub unsafe extern "C" fn towpath_store_memory(
    memory: *mut towpath_memory,
    address: u64,
    data: *const c_void,
    bytes: u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_store_memory", |c| {
            let held = c.handle(memory)?;
            let (start, length) = c.memory("data", data, bytes)?;
            Ok(held.window()?.write_at(std::slice::from_raw_parts(start, length), address)?)
        })
    }
}

/// Wait until all stores by the window are in the memory: a later towpath_read_memory() sees them.
///
/// TOWPATH_INVALID: the memory has no window. TOWPATH_KIND: the user core refused a store, or did not answer in time; it may be one to another
/// memory of the card.
#[no_mangle]
pub unsafe extern "C" fn towpath_flush_memory(memory: *mut towpath_memory) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_flush_memory", |c| Ok(c.handle(memory)?.window()?.flush()?)) }
}

/// Write `bytes` bytes from `data` to a memory, beginning at `address`, and wait until the user core has answered: every later read sees them.
/// On failure any part of the bytes may have been written; `*moved`, unless `moved` is NULL, becomes how many, from the first on, certainly
/// were. Otherwise as towpath_read_memory().
#[no_mangle]
pub unsafe extern "C" fn towpath_write_memory(
    memory: *mut towpath_memory,
    address: u64,
    data: *const c_void,
    bytes: u64,
    nanoseconds: u64,
    moved: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_write_memory", |c| {
            let moved = c.optional_place("moved", moved)?;
            moved.set(0);
            let held = c.handle(memory)?;
            let options = c.memory_limit(nanoseconds, &held)?;
            let (start, length) = c.memory("data", data, bytes)?;
            let slice = std::slice::from_raw_parts(start, length);
            let written = held.write_at_with(&[IoSlice::new(slice)], address, options);
            moved.set(written.as_ref().map_or_else(|error| error.bytes().unwrap_or(0), |()| bytes));
            Ok(written?)
        })
    }
}
