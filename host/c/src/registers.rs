// SPDX-License-Identifier: Apache-2.0
//! Registers: the user core's, and those of the plug-ins beside it.

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

/// Read the register of a plug-in at a byte `offset` in it, a multiple of 4, into `*value`. `name` is the plug-in's type; "reset:1" is the
/// second of type "reset". towpath_get_plugin() lists the plug-ins.
///
/// TOWPATH_INVALID: there is no such plug-in; the text lists those there are. TOWPATH_REGISTER: `offset` is not one of its registers, or
/// as for towpath_read_register().
#[no_mangle]
pub unsafe extern "C" fn towpath_read_plugin(
    device: *mut towpath_device,
    name: *const c_char,
    offset: u32,
    value: *mut u32,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_read_plugin", |c| {
            let (value, state) = (c.place("value", value)?, c.handle(device)?);
            value.set(state.device.plugin(c.text("name", name)?)?.read(offset)?);
            Ok(())
        })
    }
}

/// Write the register of a plug-in at a byte `offset` in it. As towpath_read_plugin().
#[no_mangle]
pub unsafe extern "C" fn towpath_write_plugin(device: *mut towpath_device, name: *const c_char, offset: u32, value: u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_write_plugin", |c| {
            let state = c.handle(device)?;
            Ok(state.device.plugin(c.text("name", name)?)?.write(offset, value)?)
        })
    }
}
