// SPDX-License-Identifier: Apache-2.0
//! The user core's interrupts.

use crate::border::{Caller, Result};
use crate::{call, towpath_device, towpath_status};
use std::ffi::c_int;
use std::os::fd::AsRawFd;
use towpath::UserInterrupts;

/// The device's interrupts, and this one's number as the library takes it.
fn interrupt(c: &Caller, device: *const towpath_device, number: u32) -> Result<(UserInterrupts, u16)> {
    // A number that does not fit is refused by the library like any other that is too large.
    Ok((c.handle(device)?.device.interrupts(), u16::try_from(number).unwrap_or(u16::MAX)))
}

/// Wait for events of the user interrupt `number`, counted from 0, that no earlier call has returned; `*events` becomes how many, at least
/// 1. One waiting call returns each event. Waits `nanoseconds` at most, or TOWPATH_FOREVER.
///
/// TOWPATH_INTERRUPT_TIMEOUT: it did not come in time. TOWPATH_INTERRUPTED: a signal handler ran in this thread. TOWPATH_INVALID: there is
/// no such interrupt.
#[no_mangle]
pub unsafe extern "C" fn towpath_wait_interrupt(
    device: *mut towpath_device,
    number: u32,
    nanoseconds: u64,
    events: *mut u32,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wait_interrupt", |c| {
            let (events, (interrupts, number)) = (c.optional_place("events", events)?, interrupt(c, device, number)?);
            events.set(interrupts.wait(number, c.timeout(nanoseconds)?)?);
            Ok(())
        })
    }
}

/// Events of the user interrupt `number` since the card was switched on or its function was reset, modulo 2^32, into
/// `*count`. Does not consume them.
///
/// TOWPATH_INVALID: there is no such interrupt.
#[no_mangle]
pub unsafe extern "C" fn towpath_count_interrupt(device: *const towpath_device, number: u32, count: *mut u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_count_interrupt", |c| {
            let (count, (interrupts, number)) = (c.place("count", count)?, interrupt(c, device, number)?);
            count.set(interrupts.count(number)?);
            Ok(())
        })
    }
}

/// A file descriptor that becomes readable when the user interrupt `number` fires, into `*fd`, for poll() and event
/// loops: read 8 bytes off it, then call towpath_wait_interrupt() with a timeout of 0. It stays the device's: do not
/// close it, and dup() it to keep it for longer. TOWPATH_INVALID: there is no such interrupt.
#[no_mangle]
pub unsafe extern "C" fn towpath_interrupt_event_fd(device: *mut towpath_device, number: u32, fd: *mut c_int) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_interrupt_event_fd", |c| {
            let (fd, (interrupts, number)) = (c.place("fd", fd)?, interrupt(c, device, number)?);
            fd.set(interrupts.event_fd(number)?.as_raw_fd());
            Ok(())
        })
    }
}
