// SPDX-License-Identifier: Apache-2.0
//! A channel's part of the link.

use crate::grows::grows;
use crate::{call, towpath_device, towpath_status};
use std::ffi::c_char;
use towpath::QosChange;

/// In `towpath_qos.change`: `weight` is to be set.
pub const TOWPATH_QOS_WEIGHT: u32 = 1;
/// In `towpath_qos.change`: `rate` is to be set.
pub const TOWPATH_QOS_RATE: u32 = 2;
/// In `towpath_qos.change`: `traffic_class` is to be set.
pub const TOWPATH_QOS_TRAFFIC_CLASS: u32 = 4;

/// A channel's part of the link.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_qos {
    /// sizeof this struct.
    pub size: u32,
    /// For towpath_set_qos(): which members are to be set, TOWPATH_QOS_WEIGHT and so on. The others stay.
    pub change: u32,
    /// 1 to 255: the channel's part while others of its direction want the link, too.
    pub weight: u32,
    /// The traffic class of its packets, 0 to 7.
    pub traffic_class: u32,
    /// Bytes of data a second that it may move, to the card's precision; 0: as many as it can.
    pub rate: u64,
}
grows!(towpath_qos, 24);

/// A channel's part of the link, by the channel's name or its number in digits, into `*qos`, whose `size` is set. On cards that have
/// quality of service: `towpath_info.features` says so.
///
/// TOWPATH_NO_SUCH_CHANNEL: the text lists the channels there are. TOWPATH_UNAVAILABLE: the card has no quality of service.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_qos(device: *const towpath_device, channel: *const c_char, qos: *mut towpath_qos) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_qos", |c| {
            let (output, state) = (c.output("qos", qos)?, c.handle(device)?);
            let qos = state.device.qos(c.text("channel", channel)?)?;
            let (weight, traffic_class) = (qos.weight.into(), qos.traffic_class.into());
            output.set(towpath_qos { size: 0, change: 0, weight, traffic_class, rate: qos.rate });
            Ok(())
        })
    }
}

/// Change those members of a channel's part of the link that `qos->change` names, for all programs. Resets of the channel and of the card
/// leave them. The traffic class may change only while the channel has no transfer in flight: else a completion may overtake its data. As
/// towpath_get_qos(). TOWPATH_INVALID: a value is out of its range; nothing was set.
#[no_mangle]
pub unsafe extern "C" fn towpath_set_qos(device: *mut towpath_device, channel: *const c_char, qos: *const towpath_qos) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_set_qos", |c| {
            let state = c.handle(device)?;
            let name = c.text("channel", channel)?;
            let wanted = c.input("qos", qos)?.ok_or_else(|| c.invalid("qos is NULL"))?;
            let known = TOWPATH_QOS_WEIGHT | TOWPATH_QOS_RATE | TOWPATH_QOS_TRAFFIC_CLASS;
            if wanted.change & !known != 0 {
                return Err(c.invalid(format_args!("qos.change is {:#x}: give TOWPATH_QOS_WEIGHT and the like", wanted.change)));
            }
            let has = |bit: u32| wanted.change & bit != 0;
            let byte = |what: &str, value: u32, most: u8| match u8::try_from(value) {
                Ok(value) if value <= most => Ok(value),
                _ => Err(c.invalid(format_args!("qos.{what} is {value}: the largest is {most}"))),
            };
            let change = QosChange {
                weight: has(TOWPATH_QOS_WEIGHT).then(|| byte("weight", wanted.weight, 255)).transpose()?,
                rate: has(TOWPATH_QOS_RATE).then_some(wanted.rate),
                traffic_class: has(TOWPATH_QOS_TRAFFIC_CLASS).then(|| byte("traffic_class", wanted.traffic_class, 7)).transpose()?,
            };
            Ok(state.device.set_qos(name, change)?)
        })
    }
}
