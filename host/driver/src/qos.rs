// SPDX-License-Identifier: Apache-2.0
//! A channel's part of the link: weight, rate and traffic class.

use crate::{Error, Result};
use towpath_contract as contract;

/// Core clocks that a rate's number is counted over.
const CLOCKS: u128 = 1 << 20;
/// The highest traffic class.
const CLASS_MAX: u8 = 7;

/// A channel's part of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Qos {
    /// The channel's part while others of its direction want the link, too: twice the weight, twice the bytes. 1 on a card that nobody has set.
    /// While all weights of a direction are equal, its channels take plain turns, a read or write each, however long.
    pub weight: u8,
    /// Bytes of data a second that it may move; 0: as many as it can.
    pub rate: u64,
    /// The traffic class of its packets, 0 to 7.
    pub traffic_class: u8,
}

impl Qos {
    /// For drivers.
    pub fn new(weight: u8, rate: u64, traffic_class: u8) -> Qos {
        Qos { weight, rate, traffic_class }
    }
}

/// What to change of a channel's part of the link: see [`Qos`]. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosChange {
    /// 1 to 255.
    pub weight: Option<u8>,
    /// Bytes a second, to the card's precision; 0: no limit.
    pub rate: Option<u64>,
    /// 0 to 7. Change it only while the channel has no transfer in flight: a completion may overtake data of the class before.
    pub traffic_class: Option<u8>,
}

impl QosChange {
    /// The registers to write, as offset in the channel's privileged page and value; or why that is invalid. For drivers.
    pub fn registers(self, core_clock_khz: u32) -> Result<Vec<(u64, u32)>> {
        let mut writes = Vec::new();
        if let Some(weight) = self.weight {
            if weight == 0 {
                return Err(Error::Invalid("a weight of 0: give 1 to 255".into()));
            }
            writes.push((contract::CHANNEL_WEIGHT_OFFSET, weight.into()));
        }
        if let Some(class) = self.traffic_class {
            if class > CLASS_MAX {
                return Err(Error::Invalid(format!("traffic class {class}: give 0 to {CLASS_MAX}")));
            }
            writes.push((contract::CHANNEL_TRAFFIC_CLASS_OFFSET, class.into()));
        }
        if let Some(rate) = self.rate {
            writes.push((contract::CHANNEL_RATE_OFFSET, rate_register(rate, core_clock_khz)?));
        }
        Ok(writes)
    }
}

/// A rate in bytes a second as the card counts it: bytes in 2^20 core clocks, rounded, but never to 0, which is no limit.
fn rate_register(rate: u64, core_clock_khz: u32) -> Result<u32> {
    let hertz = u128::from(core_clock_khz.max(1)) * 1000;
    let number = (u128::from(rate) * CLOCKS + hertz / 2) / hertz;
    let number = if rate == 0 { 0 } else { number.max(1) };
    u32::try_from(number).map_err(|_| {
        let most = rate_of(u32::MAX, core_clock_khz);
        Error::Invalid(format!("a rate of {rate} bytes a second: give {most} at most, or 0 for no limit"))
    })
}

/// The rate in bytes a second that a register's number stands for. For drivers.
pub fn rate_of(number: u32, core_clock_khz: u32) -> u64 {
    let hertz = u128::from(core_clock_khz.max(1)) * 1000;
    u64::try_from((u128::from(number) * hertz + CLOCKS / 2) / CLOCKS).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_comes_back_as_it_was_set() {
        for khz in [62_500, 125_000, 250_000] {
            for rate in [1_000_000, 400_000_000, 16_000_000_000] {
                let number = rate_register(rate, khz).unwrap();
                let back = rate_of(number, khz);
                assert!(back.abs_diff(rate) <= (1 + u64::from(khz) * 1000) >> 20, "{rate} at {khz} kHz came back as {back}");
                assert_eq!(rate_register(back, khz).unwrap(), number);
            }
        }
        assert_eq!(rate_register(0, 250_000).unwrap(), 0);
        assert_eq!(rate_register(1, 250_000).unwrap(), 1, "a limit never becomes none");
        assert!(rate_register(u64::MAX, 250_000).unwrap_err().to_string().contains("0 for no limit"));
    }

    #[test]
    fn only_what_changes_is_written() {
        let change = QosChange { weight: Some(5), ..QosChange::default() };
        assert_eq!(change.registers(250_000).unwrap(), [(contract::CHANNEL_WEIGHT_OFFSET, 5)]);
        assert!(QosChange { weight: Some(0), ..QosChange::default() }.registers(250_000).is_err());
        assert!(QosChange { traffic_class: Some(8), ..QosChange::default() }.registers(250_000).is_err());
        assert!(QosChange::default().registers(250_000).unwrap().is_empty());
    }
}
