// SPDX-License-Identifier: Apache-2.0
//! Plug-ins that act on the user core: its clock, and its reset.

use crate::border::{Caller, Result};
use crate::grows::grows;
use crate::{call, towpath_device, towpath_status};
use std::ffi::c_char;
use towpath::{Clock, OnFault, Reset};

impl Caller {
    fn clock(&self, device: *const towpath_device, name: *const c_char) -> Result<Clock> {
        Ok(Clock::new(self.handle(device)?.device.plugin(self.text("name", name)?)?)?)
    }

    fn core_reset(&self, device: *const towpath_device, name: *const c_char) -> Result<Reset> {
        Ok(Reset::new(self.handle(device)?.device.plugin(self.text("name", name)?)?)?)
    }
}

/// A plug-in of type "clock": the user core's clocks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_clock {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// How many inputs it has. The core begins on input 0, and returns there with the card's reset.
    pub inputs: u32,
    /// The input that is the core's clock.
    pub current: u32,
    /// Bit k: input k runs.
    pub running: u32,
    /// 1: a switch is under way, or the core has not had enough clocks to leave reset.
    pub is_busy: u32,
    /// 1: the core is held in reset, from a switch on until towpath_release_clock().
    pub is_held: u32,
    /// 1: the input last selected does not run, or has stopped: the core is in reset until another is selected.
    pub is_astray: u32,
    /// The frequency of each input in kilohertz, as the card measures it, in steps of 16.
    pub frequencies_khz: [u32; 3],
}
grows!(towpath_clock, 40);

/// How a plug-in of type "clock" is doing, into `*clock`, whose `size` is set. `name` is the plug-in's type, as for towpath_read_plugin().
///
/// TOWPATH_INVALID: there is no such plug-in, it is of another type, or of a version that this library does not know.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_clock(device: *mut towpath_device, name: *const c_char, clock: *mut towpath_clock) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_clock", |c| {
            let (output, plugin) = (c.output("clock", clock)?, c.clock(device, name)?);
            let (measured, status) = (plugin.frequencies_khz()?, plugin.status()?);
            let mut frequencies_khz = [0; 3];
            frequencies_khz.iter_mut().zip(&measured).for_each(|(place, khz)| *place = *khz);
            output.set(towpath_clock {
                size: 0,
                inputs: measured.len() as u32,
                current: status.current,
                running: status.running.into(),
                is_busy: status.is_busy.into(),
                is_held: status.is_held.into(),
                is_astray: status.is_astray.into(),
                frequencies_khz,
            });
            Ok(())
        })
    }
}

/// Switch the user core to an input of its plug-in of type "clock". The core is reset by it, its channels are not: with `hold` 0 they must be
/// between messages; with another number the core stays in reset until towpath_release_clock(), so that towpath_reset_channel() can reset
/// them. As towpath_get_clock(). TOWPATH_INVALID: there is no such input. TOWPATH_REGISTER: it does not run; all is as it was.
#[no_mangle]
pub unsafe extern "C" fn towpath_select_clock(device: *mut towpath_device, name: *const c_char, input: u32, hold: u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_select_clock", |c| {
            let plugin = c.clock(device, name)?;
            Ok(if hold == 0 { plugin.select(input) } else { plugin.select_and_hold(input) }?)
        })
    }
}

/// Release the user core after towpath_select_clock() with `hold`. As towpath_get_clock().
#[no_mangle]
pub unsafe extern "C" fn towpath_release_clock(device: *mut towpath_device, name: *const c_char) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_release_clock", |c| Ok(c.clock(device, name)?.release()?)) }
}

/// What a fault of the user core does beside being counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_on_fault {
    /// Nothing.
    TOWPATH_ON_FAULT_COUNT = 0,
    /// A sequence runs.
    TOWPATH_ON_FAULT_START = 1,
    /// The core is held in reset until towpath_release_core().
    TOWPATH_ON_FAULT_HOLD = 2,
}

/// In `towpath_core_reset.change`: `length` is to be set.
pub const TOWPATH_RESET_LENGTH: u32 = 1;
/// In `towpath_core_reset.change`: `delays` are to be set, those of the outputs that there are.
pub const TOWPATH_RESET_DELAYS: u32 = 2;
/// In `towpath_core_reset.change`: `on_fault` is to be set.
pub const TOWPATH_RESET_ON_FAULT: u32 = 4;

/// A plug-in of type "reset": resets of the user core, in a sequence of outputs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_core_reset {
    /// sizeof this struct.
    pub size: u32,
    /// For towpath_set_core_reset(): which members are to be set, TOWPATH_RESET_LENGTH and so on. The others stay.
    pub change: u32,
    /// How many outputs it has. Output 0 is the core's own reset.
    pub outputs: u32,
    /// Bit k: output k is asserted.
    pub asserted: u32,
    /// 1: a sequence runs, or is held at its start.
    pub is_busy: u32,
    /// 1: it is held, by towpath_hold_core() or by a fault.
    pub is_held: u32,
    /// 1: the core reports a fault.
    pub is_fault: u32,
    /// What a fault of the core does: a towpath_on_fault.
    pub on_fault: u32,
    /// Sequences since the card's reset, modulo 2^32.
    pub sequences: u32,
    /// Faults of the core since the card's reset, modulo 2^32.
    pub faults: u32,
    /// Clocks of the user core's for which a sequence asserts all outputs: 1 to 2^24 - 1.
    pub length: u32,
    /// Clocks from the end of `length` to the release of each output: 0 to 2^24 - 1.
    pub delays: [u32; 8],
}
grows!(towpath_core_reset, 76);

/// How a plug-in of type "reset" is doing, and its settings, into `*reset`, whose `size` is set. `name` is the plug-in's type, as for
/// towpath_read_plugin().
///
/// TOWPATH_INVALID: there is no such plug-in, it is of another type, or of a version that this library does not know.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_core_reset(
    device: *mut towpath_device,
    name: *const c_char,
    reset: *mut towpath_core_reset,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_core_reset", |c| {
            let (output, plugin) = (c.output("reset", reset)?, c.core_reset(device, name)?);
            let (status, outputs) = (plugin.status()?, plugin.outputs()?);
            let mut delays = [0; 8];
            for (output, delay) in (0..outputs).zip(&mut delays) {
                *delay = plugin.delay(output)?;
            }
            let on_fault = match plugin.on_fault()? {
                OnFault::Count => towpath_on_fault::TOWPATH_ON_FAULT_COUNT,
                OnFault::Start => towpath_on_fault::TOWPATH_ON_FAULT_START,
                OnFault::Hold => towpath_on_fault::TOWPATH_ON_FAULT_HOLD,
            };
            output.set(towpath_core_reset {
                size: 0,
                change: 0,
                outputs,
                asserted: status.asserted.into(),
                is_busy: status.is_busy.into(),
                is_held: status.is_held.into(),
                is_fault: status.is_fault.into(),
                on_fault: on_fault as u32,
                sequences: plugin.sequences()?,
                faults: plugin.faults()?,
                length: plugin.length()?,
                delays,
            });
            Ok(())
        })
    }
}

/// Change those settings of a plug-in of type "reset" that `reset->change` names. As towpath_get_core_reset(). TOWPATH_INVALID: a value is out
/// of its range; those that stand after it in the struct were not set.
#[no_mangle]
pub unsafe extern "C" fn towpath_set_core_reset(
    device: *mut towpath_device,
    name: *const c_char,
    reset: *const towpath_core_reset,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_set_core_reset", |c| {
            let plugin = c.core_reset(device, name)?;
            let wanted = c.input("reset", reset)?.ok_or_else(|| c.invalid("reset is NULL"))?;
            let known = TOWPATH_RESET_LENGTH | TOWPATH_RESET_DELAYS | TOWPATH_RESET_ON_FAULT;
            if wanted.change & !known != 0 {
                return Err(c.invalid(format_args!("reset.change is {:#x}: give TOWPATH_RESET_LENGTH and the like", wanted.change)));
            }
            if wanted.change & TOWPATH_RESET_ON_FAULT != 0 {
                plugin.set_on_fault(match wanted.on_fault {
                    0 => OnFault::Count,
                    1 => OnFault::Start,
                    2 => OnFault::Hold,
                    other => return Err(c.invalid(format_args!("reset.on_fault is {other}: give a towpath_on_fault"))),
                })?;
            }
            if wanted.change & TOWPATH_RESET_LENGTH != 0 {
                plugin.set_length(wanted.length)?;
            }
            if wanted.change & TOWPATH_RESET_DELAYS != 0 {
                for (output, delay) in (0..plugin.outputs()?).zip(wanted.delays) {
                    plugin.set_delay(output, delay)?;
                }
            }
            Ok(())
        })
    }
}

/// Run a sequence of the plug-in of type "reset", and wait for its end. A reset of the core alone leaves its channels as they are, in the middle
/// of what they carry: to reset both, towpath_hold_core(), towpath_reset_channel() for each, towpath_release_core(). As
/// towpath_get_core_reset(). TOWPATH_INVALID: the core is held. TOWPATH_REGISTER: the sequence does not end.
#[no_mangle]
pub unsafe extern "C" fn towpath_pulse_core(device: *mut towpath_device, name: *const c_char) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_pulse_core", |c| Ok(c.core_reset(device, name)?.pulse()?)) }
}

/// Assert all outputs of the plug-in of type "reset" until towpath_release_core(). As towpath_get_core_reset().
#[no_mangle]
pub unsafe extern "C" fn towpath_hold_core(device: *mut towpath_device, name: *const c_char) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_hold_core", |c| Ok(c.core_reset(device, name)?.hold()?)) }
}

/// Run a sequence of the plug-in of type "reset" from its start, if the core is held, and wait for its end. As towpath_pulse_core().
#[no_mangle]
pub unsafe extern "C" fn towpath_release_core(device: *mut towpath_device, name: *const c_char) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_release_core", |c| Ok(c.core_reset(device, name)?.release()?)) }
}
