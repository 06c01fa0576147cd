// SPDX-License-Identifier: Apache-2.0
//! Where a function is on PCI.

use std::fmt;
use std::str::FromStr;

/// Domain, bus, device and function, as in `0000:65:00.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for Address {
    type Err = String;

    /// The domain may be left out: `65:00.0`.
    fn from_str(text: &str) -> Result<Address, String> {
        let wrong = || format!("\"{text}\" is no address on PCI; they look like 0000:65:00.0 (`lspci -D` lists them)");
        let number = |digits: &str, lengths: std::ops::RangeInclusive<usize>, last: u32| {
            let plain = lengths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16).ok().filter(|number| plain && *number <= last).ok_or_else(wrong)
        };
        let (place, function) = text.rsplit_once('.').ok_or_else(wrong)?;
        let (place, device) = place.rsplit_once(':').ok_or_else(wrong)?;
        let (domain, bus) = place.rsplit_once(':').unwrap_or(("0000", place));
        Ok(Address {
            domain: number(domain, 4..=8, u32::MAX)?,
            bus: number(bus, 2..=2, 0xff)? as u8,
            device: number(device, 2..=2, 0x1f)? as u8,
            function: number(function, 1..=1, 7)? as u8,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, written) in [("0000:65:00.0", "0000:65:00.0"), ("65:1f.7", "0000:65:1f.7"), ("10000:0A:00.1", "10000:0a:00.1")] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "sim:loopback",
            "65",
            "65:00",
            "65:00.8",
            "65:20.0",
            "165:00.0",
            "000:65:00.0",
            "0000:+5:00.0",
            "0000:65:00.0.0",
            "a:0000:65:00.0",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
