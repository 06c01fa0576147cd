// SPDX-License-Identifier: Apache-2.0
//! What needs no device: version, errors, which devices there are.

use crate::border::{c_text, last_errno, last_error};
use crate::status::{outcome_name, status_name};
use crate::{call, towpath_status};
use std::ffi::{c_char, c_int, c_void};

/// As a limit or a timeout, in nanoseconds: none.
pub const TOWPATH_FOREVER: u64 = u64::MAX;

/// As the limit of one call, in nanoseconds: the channel's timeout, see towpath_set_timeout().
pub const TOWPATH_CHANNEL_TIMEOUT: u64 = u64::MAX - 1;

/// The version of the library, such as "0.1.0". Never fails; the text is the library's and stays.
#[no_mangle]
pub extern "C" fn towpath_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What went wrong in the last call of this thread that failed: what happened, on which channel, and what to do about
/// it. A call that succeeds leaves it as it is. Never NULL; empty if nothing has failed yet.
///
/// The text is UTF-8, may have several lines, and is the library's: it stays until the next call of this thread that
/// fails.
#[no_mangle]
pub extern "C" fn towpath_last_error() -> *const c_char {
    last_error()
}

/// The errno that comes nearest to what went wrong in the last call of this thread that failed, such as ETIMEDOUT; 0 if
/// nothing has failed yet. A call that succeeds leaves it as it is. towpath_status says which status has which.
///
/// A call that fails sets errno to it as well. After one that succeeds errno may be anything.
#[no_mangle]
pub extern "C" fn towpath_last_errno() -> c_int {
    last_errno()
}

/// A status in a few words, such as "no such channel"; "unknown status" for a number that is none. The text is the
/// library's and stays.
#[no_mangle]
pub extern "C" fn towpath_status_name(status: u32) -> *const c_char {
    status_name(status).as_ptr()
}

/// An outcome (towpath_outcome) in a few words, such as "end of message"; "unknown" for a number that is none. The text
/// is the library's and stays.
#[no_mangle]
pub extern "C" fn towpath_outcome_name(outcome: u32) -> *const c_char {
    outcome_name(outcome).as_ptr()
}

/// Told of one device: the name by which it can be opened, and what it is. Both texts are the library's, and gone when
/// this returns. `context` is what was given together with this function.
pub type towpath_device_callback = Option<unsafe extern "C" fn(context: *mut c_void, name: *const c_char, description: *const c_char)>;

/// Tell of each device that can be opened now: `each` is called once for each of them, in this thread, before this
/// returns. towpath_list() tells more of each.
///
/// `context` is handed to `each` and not looked at. TOWPATH_INVALID if `each` is NULL.
#[no_mangle]
pub unsafe extern "C" fn towpath_list_devices(each: towpath_device_callback, context: *mut c_void) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_list_devices", |c| {
            let each = each.ok_or_else(|| c.invalid("each is NULL"))?;
            for device in towpath::list_devices()? {
                each(context, c_text(&device.name).as_ptr(), c_text(&device.description).as_ptr());
            }
            Ok(())
        })
    }
}

/// A device that can be opened, as towpath_list() tells of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_listing {
    /// Bytes of this struct that the library knows: what ends beyond them is not there.
    pub size: u32,
    /// Of a card: its place in the order, from 1, by which towpath_open() finds it, too. 0: it has none.
    pub order: u32,
    /// The name by which it can be opened.
    pub name: *const c_char,
    /// What it is, in words.
    pub description: *const c_char,
    /// 1: its serial number is known; 0: it is told only when the device is opened.
    pub has_serial: u32,
    /// Zero.
    pub reserved: u32,
    /// Its serial number, or 0 where that is not known.
    pub serial: u64,
}

/// Told of one device. The struct and its texts are the library's, and gone when this returns. `context` is what was
/// given together with this function.
pub type towpath_listing_callback = Option<unsafe extern "C" fn(context: *mut c_void, device: *const towpath_listing)>;

/// Tell of each device that can be opened now, with its order and serial number: cards first, in their order. `each` is
/// called once for each of them, in this thread, before this returns.
///
/// `context` is handed to `each` and not looked at. TOWPATH_INVALID if `each` is NULL.
#[no_mangle]
pub unsafe extern "C" fn towpath_list(each: towpath_listing_callback, context: *mut c_void) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_list", |c| {
            let each = each.ok_or_else(|| c.invalid("each is NULL"))?;
            for device in towpath::list_devices()? {
                let (name, description) = (c_text(&device.name), c_text(&device.description));
                let listing = towpath_listing {
                    size: size_of::<towpath_listing>() as u32,
                    order: device.order.unwrap_or_default(),
                    name: name.as_ptr(),
                    description: description.as_ptr(),
                    has_serial: device.serial.is_some().into(),
                    reserved: 0,
                    serial: device.serial.unwrap_or_default(),
                };
                each(context, &listing);
            }
            Ok(())
        })
    }
}
