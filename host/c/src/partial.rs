// SPDX-License-Identifier: Apache-2.0
//! The plug-in that loads another core in the place of the user core.

use crate::border::{Caller, Result};
use crate::grows::grows;
use crate::{call, towpath_device, towpath_status};
use std::ffi::{c_char, c_int, c_void};
use towpath::{Error, Partial, PartialImage, PartialOutcome, PartialProgress};

/// Bytes of a core's name, with the zero at its end.
const NAME_BYTES: usize = 32;

/// What became of the last load of a core.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_load_outcome {
    /// There was none since the card's reset, or it is under way.
    TOWPATH_LOAD_NONE = 0,
    /// The region holds the new core.
    TOWPATH_LOAD_DONE = 1,
    /// A channel was within a message, and the core goes on as it was.
    TOWPATH_LOAD_REFUSED = 2,
    /// Failed: data came for which there was no room.
    TOWPATH_LOAD_OVERRUN = 3,
    /// Failed: the configuration port reports an error in the file.
    TOWPATH_LOAD_PORT = 4,
    /// Failed: a program has aborted it.
    TOWPATH_LOAD_ABORTED = 5,
    /// Something else: install the library of the card's version.
    TOWPATH_LOAD_OTHER = 255,
}

/// A plug-in of type "partial": the region in which the user core is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_region {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// 1: the region holds a whole core.
    pub is_whole: u32,
    /// 1: a load is under way.
    pub is_loading: u32,
    /// 1: the region is decoupled, and the core in reset.
    pub is_decoupled: u32,
    /// 1: a channel is within a message.
    pub is_midway: u32,
    /// What became of the last load: a towpath_load_outcome.
    pub outcome: u32,
    /// Loads that ended well since the card was configured, modulo 2^32.
    pub loads: u32,
    /// The name of the core in the region; empty while there is no whole one.
    pub core_name: [c_char; 32],
}
grows!(towpath_region, 60);

/// Is told how far a load is, by the thread that loads. `context` is that of towpath_load_options.
pub type towpath_progress_callback = Option<unsafe extern "C" fn(context: *mut c_void, bytes: u64, total: u64)>;

/// Resets the channels, by towpath_reset_channel(), and returns 0; another number ends the load, which then is TOWPATH_INVALID and leaves the region
/// without a core. A channel that is not reset keeps what the old core has sent. It is called once by the thread that loads. `context` is that of towpath_load_options.
pub type towpath_cut_callback = Option<unsafe extern "C" fn(context: *mut c_void) -> c_int>;

/// Settings of a load. All zero but `size` are the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_load_options {
    /// sizeof this struct.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// Called now and then with the progress of the load; NULL: never.
    pub progress: towpath_progress_callback,
    /// NULL: the load is refused while a channel is within a message. Else the load cuts messages, and this resets the channels.
    pub cut: towpath_cut_callback,
    /// What the two are given.
    pub context: *mut c_void,
}
grows!(towpath_load_options, 32);

impl Caller {
    fn partial(&self, device: *const towpath_device, name: *const c_char) -> Result<Partial> {
        Ok(Partial::new(self.handle(device)?.device.plugin(self.text("name", name)?)?)?)
    }

    /// # Safety
    /// The options' functions are as the header requires.
    unsafe fn load(&self, partial: &Partial, image: &PartialImage, options: *const towpath_load_options) -> Result<()> {
        let options = self.input("options", options)?;
        let context = options.map_or(std::ptr::null_mut(), |options| options.context);
        let progress = |now: PartialProgress| {
            if let Some(progress) = options.and_then(|options| options.progress) {
                // SAFETY: by this function's contract.
                unsafe { progress(context, now.bytes, now.total) };
            }
        };
        let Some(cut) = options.and_then(|options| options.cut) else { return Ok(partial.load(image, progress)?) };
        let channels = || {
            // SAFETY: by this function's contract.
            match unsafe { cut(context) } {
                0 => Ok(()),
                other => Err(Error::Invalid(format!("the function `cut` has returned {other}: the load is aborted"))),
            }
        };
        Ok(partial.load_cutting(image, progress, channels)?)
    }
}

/// How a plug-in of type "partial" is doing, into `*region`, whose `size` is set. `name` is the plug-in's type, as for towpath_read_plugin().
///
/// TOWPATH_INVALID: there is no such plug-in, it is of another type, or of a version that this library does not know.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_region(
    device: *mut towpath_device,
    name: *const c_char,
    region: *mut towpath_region,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_region", |c| {
            let (output, plugin) = (c.output("region", region)?, c.partial(device, name)?);
            // The name is there if the region is whole. A load may begin or end between the two looks: then neither counts.
            let (status, held) = loop {
                let (status, held) = (plugin.status()?, plugin.core_name()?);
                if status.is_whole == held.is_some() {
                    break (status, held.unwrap_or_default());
                }
            };
            let mut core_name = [0; NAME_BYTES];
            core_name.iter_mut().zip(held.bytes().take(NAME_BYTES - 1)).for_each(|(place, byte)| *place = byte as c_char);
            use towpath_load_outcome::*;
            let outcome = match status.outcome {
                Some(PartialOutcome::Idle) => TOWPATH_LOAD_NONE,
                Some(PartialOutcome::Loaded) => TOWPATH_LOAD_DONE,
                Some(PartialOutcome::Refused) => TOWPATH_LOAD_REFUSED,
                Some(PartialOutcome::Overrun) => TOWPATH_LOAD_OVERRUN,
                Some(PartialOutcome::Port) => TOWPATH_LOAD_PORT,
                Some(PartialOutcome::Aborted) => TOWPATH_LOAD_ABORTED,
                None => TOWPATH_LOAD_OTHER,
            };
            output.set(towpath_region {
                size: 0,
                is_whole: status.is_whole.into(),
                is_loading: status.is_loading.into(),
                is_decoupled: status.is_decoupled.into(),
                is_midway: status.is_midway.into(),
                outcome: outcome as u32,
                loads: plugin.loads()?,
                core_name,
            });
            Ok(())
        })
    }
}

/// Load another core from a file, by a plug-in of type "partial": a raw bit file, whose core is then named as the file is without its extension, or
/// a file for a simulated card. `options` may be NULL. As towpath_get_region().
///
/// TOWPATH_INVALID: the file cannot be read or is none; or a channel is within a message, and the core goes on. TOWPATH_REGISTER: the load has failed,
/// the text says by what, and the region is left without a core until another load ends well.
#[no_mangle]
pub unsafe extern "C" fn towpath_load_core(
    device: *mut towpath_device,
    name: *const c_char,
    file: *const c_char,
    options: *const towpath_load_options,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_load_core", |c| {
            let plugin = c.partial(device, name)?;
            c.load(&plugin, &PartialImage::read(c.text("file", file)?)?, options)
        })
    }
}

/// As towpath_load_core(), with what the file would hold: `bytes` bytes at `image`. `core_name` is the core's name, of 1 to 31 bytes; a file for a
/// simulated card has its own.
#[no_mangle]
pub unsafe extern "C" fn towpath_load_core_image(
    device: *mut towpath_device,
    name: *const c_char,
    core_name: *const c_char,
    image: *const c_void,
    bytes: u64,
    options: *const towpath_load_options,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_load_core_image", |c| {
            let plugin = c.partial(device, name)?;
            let held = c.array("image", image.cast::<u8>(), bytes)?;
            c.load(&plugin, &PartialImage::from_bytes(c.text("core_name", core_name)?, held)?, options)
        })
    }
}

/// Make a file for a simulated card, which loads the core of this name among those that its manifest lists, in `image`, which has room for `*bytes`
/// bytes; `*bytes` becomes its size. `image` may be NULL: then only the size is returned. `words` dwords stand for the bits. TOWPATH_INVALID: there is
/// not enough room, and `*bytes` tells how much is needed; the name is not 1 to 31 bytes long; or there are more than 2^24 dwords.
#[no_mangle]
pub unsafe extern "C" fn towpath_simulated_image(
    core_name: *const c_char,
    words: u32,
    image: *mut c_void,
    bytes: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_simulated_image", |c| {
            let size = c.place("bytes", bytes)?;
            let name = c.text("core_name", core_name)?;
            let room = bytes.read();
            let needed = PartialImage::simulated_bytes(name, words)?;
            size.set(needed);
            if image.is_null() {
                return Ok(());
            }
            if room < needed {
                return Err(c.invalid(format_args!("image has {room} bytes: {needed} are needed")));
            }
            let (place, _) = c.memory("image", image, room)?;
            let made = PartialImage::simulated(name, words)?.to_bytes();
            std::ptr::copy_nonoverlapping(made.as_ptr(), place, made.len());
            Ok(())
        })
    }
}
