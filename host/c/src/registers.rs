// SPDX-License-Identifier: Apache-2.0
//! The user core's registers.

use crate::{call, towpath_device, towpath_status};
use std::ffi::c_char;

/// Read the user core's register at a byte `offset`, a multiple of 4, into `*value`. Waits for the core's answer. May be called from any
/// thread; each access is atomic.
///
/// TOWPATH_REGISTER: the core has no such register, answered with an error, or did not answer.
#[no_mangle]
pub unsafe extern "C" fn towpath_read_register(device: *mut towpath_device, offset: u32, value: *mut u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_read_register", |c| {
            let (value, state) = (c.place("value", value)?, c.handle(device)?);
            value.set(state.device.registers().read(offset)?);
            Ok(())
        })
    }
}

/// Write the user core's register at a byte `offset`, a multiple of 4. As towpath_read_register().
#[no_mangle]
pub unsafe extern "C" fn towpath_write_register(device: *mut towpath_device, offset: u32, value: u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_write_register", |c| Ok(c.handle(device)?.device.registers().write(offset, value)?)) }
}

/// Read a register by its name in the core's manifest, into `*value`. Names are known in simulation; towpath_get_register() lists them.
///
/// TOWPATH_INVALID: no register has this name; the text lists those that have one. Otherwise as towpath_read_register().
#[no_mangle]
pub unsafe extern "C" fn towpath_read_register_name(device: *mut towpath_device, name: *const c_char, value: *mut u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_read_register_name", |c| {
            let (value, state) = (c.place("value", value)?, c.handle(device)?);
            value.set(state.device.registers().read_name(c.text("name", name)?)?);
            Ok(())
        })
    }
}

/// Write a register by its name in the core's manifest. As towpath_read_register_name().
#[no_mangle]
pub unsafe extern "C" fn towpath_write_register_name(device: *mut towpath_device, name: *const c_char, value: u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_write_register_name", |c| {
            let state = c.handle(device)?;
            Ok(state.device.registers().write_name(c.text("name", name)?, value)?)
        })
    }
}
