// SPDX-License-Identifier: Apache-2.0
//! Registered buffers: memory that is registered with the card.

use crate::handle::handle;
use crate::memory::towpath_memory;
use crate::{call, towpath_device, towpath_status};
use std::ffi::c_void;
use towpath::{Access, Buffer, GpuMemory};

/// Memory that is registered with one device, for transfers that stay in flight.
pub struct towpath_buffer {
    _private: [u8; 0],
}

handle!(towpath_buffer, 2, Buffer);

/// What the card may do with memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_access {
    /// Read it: transfers to the card.
    TOWPATH_ACCESS_READ = 0,
    /// Write it: transfers from the card.
    TOWPATH_ACCESS_WRITE = 1,
    /// Both.
    TOWPATH_ACCESS_READ_WRITE = 2,
}

/// Allocate `bytes` bytes of zeroed memory that begins on a page, and register it for both directions. On success `*buffer` is a handle,
/// which towpath_free_buffer() releases together with the memory; on failure it is left as it was.
///
/// TOWPATH_MEMORY: not enough memory. TOWPATH_BUS: the memory cannot be registered with the card.
#[no_mangle]
pub unsafe extern "C" fn towpath_allocate(device: *mut towpath_device, bytes: u64, buffer: *mut *mut towpath_buffer) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_allocate", |c| {
            let (buffer, state) = (c.place("buffer", buffer)?, c.handle(device)?);
            let length = usize::try_from(bytes).map_err(|_| towpath::Error::Memory { bytes })?;
            c.make(&buffer, state.device.allocate(length)?)
        })
    }
}

/// Register `bytes` bytes of the caller's own memory at `memory`, for an `access` (a towpath_access). On success `*buffer` is a handle; on
/// failure it is left as it was. Memory may be registered more than once, in whole or in part; each registration counts for itself.
///
/// The memory stays the caller's. It must stay valid, and where it is, until towpath_free_buffer() has returned TOWPATH_OK. TOWPATH_BUS:
/// the memory cannot be registered with the card.
#[no_mangle]
pub unsafe extern "C" fn towpath_wrap(
    device: *mut towpath_device,
    memory: *mut c_void,
    bytes: u64,
    access: u32,
    buffer: *mut *mut towpath_buffer,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wrap", |c| {
            let (buffer, state) = (c.place("buffer", buffer)?, c.handle(device)?);
            let (start, length) = c.memory("memory", memory, bytes)?;
            let access = match access {
                0 => Access::Read,
                1 => Access::Write,
                2 => Access::ReadWrite,
                other => return Err(c.invalid(format_args!("access is {other}: give a towpath_access, 0 to 2"))),
            };
            // Nothing owns it here: the caller keeps it until `towpath_free_buffer`, which refuses while a transfer is in flight.
            c.make(&buffer, Buffer::from_raw(&state.device, start, length, access, Box::new(()))?)
        })
    }
}

/// As towpath_wrap(), of `bytes` bytes of a GPU's memory at `address`, an address of its driver's. With `staged` 0 the card reads and writes it
/// itself. With 1, blocking calls move the bytes through pinned memory of the host, with any card, and towpath_submit() is TOWPATH_INVALID. No
/// call waits for the GPU's work: towpath_send_buffer() and its like begin when that is done.
///
/// TOWPATH_UNAVAILABLE: the card cannot reach it, and the text names the way that works; or the GPU driver's library is not there.
/// TOWPATH_INVALID: it is not a GPU's memory, or not all of it.
#[no_mangle]
pub unsafe extern "C" fn towpath_wrap_gpu(
    device: *mut towpath_device,
    address: u64,
    bytes: u64,
    access: u32,
    staged: u32,
    buffer: *mut *mut towpath_buffer,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wrap_gpu", |c| {
            let (buffer, state) = (c.place("buffer", buffer)?, c.handle(device)?);
            let length = usize::try_from(bytes).map_err(|_| towpath::Error::Memory { bytes })?;
            let access = match access {
                0 => Access::Read,
                1 => Access::Write,
                2 => Access::ReadWrite,
                other => return Err(c.invalid(format_args!("access is {other}: give a towpath_access, 0 to 2"))),
            };
            let memory = GpuMemory::new(address as usize, length).map_err(towpath::Error::from)?;
            // Nothing owns it here: as with towpath_wrap().
            let wrapped = match staged {
                0 => Buffer::from_gpu(&state.device, memory, access, Box::new(()))?,
                1 => Buffer::from_gpu_staged(&state.device, memory, access, Box::new(()))?,
                other => return Err(c.invalid(format_args!("staged is {other}: give 0 or 1"))),
            };
            c.make(&buffer, wrapped)
        })
    }
}

/// As towpath_wrap(), of `bytes` bytes of another card's memory, beginning at `address`: the device writes them itself, without the
/// host's memory, and nothing can be sent from there. The memory has a window. Its handle may be closed before the buffer, and its card stays open as
/// long as the buffer is there. Its address for towpath_get_buffer() is NULL. A transfer into it that has ended has left its card. In simulation the bytes have arrived
/// when towpath_flush_memory() of the other card's memory returns; PCI Express does not promise that. The flush reports what the user core refused.
///
/// TOWPATH_UNAVAILABLE: the device does not reach the other card, and the text says why. TOWPATH_INVALID: the bytes are not all in the memory, or it
/// has no window.
#[no_mangle]
pub unsafe extern "C" fn towpath_wrap_memory(
    device: *mut towpath_device,
    memory: *mut towpath_memory,
    address: u64,
    bytes: u64,
    buffer: *mut *mut towpath_buffer,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wrap_memory", |c| {
            let (buffer, state) = (c.place("buffer", buffer)?, c.handle(device)?);
            let window = c.handle(memory)?.window()?;
            c.make(&buffer, Buffer::from_window(&state.device, &window, address..address.saturating_add(bytes))?)
        })
    }
}

/// Release a buffer handle; memory that the library allocated is freed with it. NULL is fine, and nothing happens. In a child of fork() the
/// handle is released, and the memory stays.
///
/// TOWPATH_BUFFER_IN_USE: a transfer is in flight, or another thread's call uses the buffer; nothing happened. Wait for it,
/// towpath_cancel_transfer() it, or close its channel first. TOWPATH_BUS: the handle is released, but the memory could not be unmapped from
/// the card, which may still reach it. The library never frees such memory, nor may the caller of towpath_wrap().
#[no_mangle]
pub unsafe extern "C" fn towpath_free_buffer(buffer: *mut towpath_buffer) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_free_buffer", |c| {
            if buffer.is_null() {
                return Ok(());
            }
            let held = c.handle(buffer)?;
            if !held.is_here() {
                return if held.close() { Ok(()) } else { Err(c.closed::<towpath_buffer>()) };
            }
            if held.in_flight() || !held.close_alone() {
                return Err(towpath::Error::BufferInUse.into());
            }
            // Another thread's call may have posted it, and ended, in between.
            if held.in_flight() {
                held.reopen();
                return Err(towpath::Error::BufferInUse.into());
            }
            held.take().map_or(Ok(()), |buffer| Ok(buffer.close()?))
        })
    }
}

/// Where the buffer's memory begins, and how many bytes it has. Either of `data` and `bytes` may be NULL. The memory is the buffer's, or
/// its caller's: see towpath_allocate() and towpath_wrap(). While a transfer is in flight the card uses it: see towpath_submit().
#[no_mangle]
pub unsafe extern "C" fn towpath_get_buffer(buffer: *mut towpath_buffer, data: *mut *mut c_void, bytes: *mut u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_buffer", |c| {
            let (data, bytes, buffer) = (c.optional_place("data", data)?, c.optional_place("bytes", bytes)?, c.handle(buffer)?);
            data.set(buffer.as_ptr().cast_mut().cast());
            bytes.set(buffer.len() as u64);
            Ok(())
        })
    }
}

/// Whether a transfer of the buffer is in flight: `*in_flight` becomes 1 or 0. A transfer that has ended counts until a call that waits or
/// polls has looked at the channel.
#[no_mangle]
pub unsafe extern "C" fn towpath_buffer_in_flight(buffer: *const towpath_buffer, in_flight: *mut u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_buffer_in_flight", |c| {
            c.place("in_flight", in_flight)?.set(c.handle(buffer)?.in_flight().into());
            Ok(())
        })
    }
}
