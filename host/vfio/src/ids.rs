// SPDX-License-Identifier: Apache-2.0
//! Which functions of PCI are taken for cards: those with the contract's identification, and those that the user names. The discovery
//! magic, read when they are opened, decides whether they are cards.

use std::fmt;

use towpath_contract as contract;

/// The environment variable that names more: `VENDOR:DEVICE`, in hexadecimal, separated by commas.
pub const ENVIRONMENT: &str = "TOWPATH_PCI_IDS";

/// Vendor and device of what is taken for a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids(Vec<(u16, u16)>);

impl Default for Ids {
    /// The contract's.
    fn default() -> Ids {
        Ids(vec![(contract::PCI_VENDOR, contract::PCI_DEVICE)])
    }
}

impl Ids {
    /// The contract's, and those of the list.
    pub fn with(list: &str) -> Result<Ids, String> {
        let mut ids = Ids::default();
        for text in list.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let number = |digits: &str| u16::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 4);
            let id = text.split_once(':').and_then(|(vendor, device)| Some((number(vendor)?, number(device)?)));
            ids.0.push(id.ok_or_else(|| {
                format!("\"{text}\" in {ENVIRONMENT} is not VENDOR:DEVICE, four hexadecimal digits each (as lspci -nn shows)")
            })?);
        }
        Ok(ids)
    }

    /// The contract's, and those that the environment names.
    pub fn from_environment() -> Result<Ids, String> {
        Ids::with(&std::env::var(ENVIRONMENT).unwrap_or_default())
    }

    /// Is it one of them?
    pub fn contains(&self, vendor: u16, device: u16) -> bool {
        self.0.contains(&(vendor, device))
    }
}

impl fmt::Display for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self.0.iter().map(|(vendor, device)| format!("{vendor:04x}:{device:04x}")).collect();
        f.write_str(&list.join(", "))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn more_can_be_named() {
        let ids = Ids::with(" 10ee:7024, 1172:e001,").unwrap();
        assert_eq!(ids.to_string(), "1234:7470, 10ee:7024, 1172:e001");
        assert!(ids.contains(contract::PCI_VENDOR, contract::PCI_DEVICE) && ids.contains(0x10ee, 0x7024) && !ids.contains(0x10ee, 0xe001));
        assert_eq!(Ids::with("").unwrap(), Ids::default());
        for wrong in ["10ee", "10ee:", "10ee:7024:1", "0x10ee:7024", "10ee:70245", "10ee 7024"] {
            assert!(Ids::with(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
