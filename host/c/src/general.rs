// SPDX-License-Identifier: Apache-2.0
//! What needs no device: version, errors, the list of devices.

use crate::border::{c_text, last_errno, last_error};
use crate::status::{outcome_name, status_name};
use crate::{call, towpath_status};
use std::ffi::{c_char, c_int, c_void};

/// No limit: as a limit or a timeout, in nanoseconds.
pub const TOWPATH_FOREVER: u64 = u64::MAX;

/// The channel's timeout, as the limit of one call, in nanoseconds: see towpath_set_timeout().
pub const TOWPATH_CHANNEL_TIMEOUT: u64 = u64::MAX - 1;

/// The version of the library, such as "0.1.0". Never fails; the text is the library's and stays.
#[no_mangle]
pub extern "C" fn towpath_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What went wrong in the last call of this thread that failed: what happened, on which channel, and what to do about it. A call that
/// succeeds leaves the text as it is. Never NULL; empty if nothing has failed yet.
///
/// The text is UTF-8, may have several lines, and is the library's: it stays until the next call of this thread that fails.
#[no_mangle]
pub extern "C" fn towpath_last_error() -> *const c_char {
    last_error()
}

/// The errno that comes nearest to what went wrong in the last call of this thread that failed, such as ETIMEDOUT; 0 if nothing has failed
/// yet. A call that succeeds leaves it as it is. towpath_status lists the errno of each status.
///
/// A call that fails sets errno to it as well. After one that succeeds errno may be anything.
#[no_mangle]
pub extern "C" fn towpath_last_errno() -> c_int {
    last_errno()
}

/// A status in a few words, such as "no such channel"; "unknown status" for a number that is not a status. The text is the library's and
/// stays.
#[no_mangle]
pub extern "C" fn towpath_status_name(status: u32) -> *const c_char {
    status_name(status).as_ptr()
}

/// An outcome (towpath_outcome) in a few words, such as "end of message"; "unknown" for a number that is not an outcome. The text is the
/// library's and stays.
#[no_mangle]
pub extern "C" fn towpath_outcome_name(outcome: u32) -> *const c_char {
    outcome_name(outcome).as_ptr()
}

/// Receives one device: the name by which it can be opened, and its description. Both texts are the library's, and are valid until this
/// returns. `context` is the pointer that was passed together with this function.
pub type towpath_device_callback = Option<unsafe extern "C" fn(context: *mut c_void, name: *const c_char, description: *const c_char)>;

/// List each device that can be opened now: calls `each` once for each device, in this thread, before this returns. towpath_list() reports
/// more of each.
///
/// `context` is passed to `each` unchanged. TOWPATH_INVALID if `each` is NULL.
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

/// A device that can be opened, as towpath_list() reports it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_listing {
    /// Bytes of this struct that the library fills in: members that end beyond them are not there.
    pub size: u32,
    /// Of a card: its place in the order, from 1, a name for towpath_open(), too. 0: it has none.
    pub order: u32,
    /// The name by which it can be opened.
    pub name: *const c_char,
    /// What it is, in words.
    pub description: *const c_char,
    /// 1: its serial number is known; 0: only opening the device reveals it.
    pub has_serial: u32,
    /// Zero.
    pub reserved: u32,
    /// Its serial number, or 0 if unknown.
    pub serial: u64,
}

/// Receives one device. The struct and its texts are the library's, and are valid until this returns. `context` is the pointer that was
/// passed together with this function.
pub type towpath_listing_callback = Option<unsafe extern "C" fn(context: *mut c_void, device: *const towpath_listing)>;

/// List each device that can be opened now, with its order and serial number: cards first, in their order. Calls `each` once for each
/// device, in this thread, before this returns.
///
/// `context` is passed to `each` unchanged. TOWPATH_INVALID if `each` is NULL.
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
