// SPDX-License-Identifier: Apache-2.0
//! The cards that the kernel module holds now, as sysfs shows them.

use std::fs;
use std::path::Path;

/// The module's name, and that of its cards' driver.
pub const MODULE: &str = "towpath";

/// A card that the module holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The folder of its files: `/dev/towpath0`.
    pub name: String,
    /// Its number, in that name.
    pub number: u32,
    /// Its address on PCI, as the kernel writes it.
    pub address: Option<String>,
    /// The user core's name.
    pub core: String,
    /// Its serial number.
    pub serial: Option<u64>,
}

/// The cards by their number. `sys` is the folder of sysfs, `/sys`.
pub fn cards(sys: &Path) -> Vec<Card> {
    let folder = sys.join("class").join(MODULE);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut cards: Vec<Card> = entries.filter_map(|entry| card(&entry.path())).collect();
    cards.sort_by_key(|card| card.number);
    cards
}

/// The card of a folder, if it is a control file's: sysfs writes `!` for `/`.
fn card(folder: &Path) -> Option<Card> {
    let name = folder.file_name()?.to_str()?.strip_suffix("!control")?;
    let number = name.strip_prefix(MODULE)?.parse().ok()?;
    let text = |attribute: &str| fs::read_to_string(folder.join(attribute)).ok().map(|text| text.trim().to_string());
    let serial = text("serial").and_then(|text| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    });
    let device = fs::canonicalize(folder.join("device")).ok();
    let address = device.and_then(|path| path.file_name()?.to_str().map(String::from));
    Some(Card { name: format!("/dev/{name}"), number, address, core: text("core").unwrap_or_default(), serial })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_by_their_control_files() {
        let sys = tempfile::tempdir().unwrap();
        assert_eq!(cards(sys.path()), [], "the module is not loaded");
        let class = sys.path().join("class/towpath");
        for (number, address, serial) in [(10, "0000:65:00.0", "0x5eed\n"), (2, "0000:03:00.0", "0\n")] {
            let pci = sys.path().join("devices").join(address);
            let folder = class.join(format!("towpath{number}!control"));
            fs::create_dir_all(&folder).unwrap();
            fs::create_dir_all(&pci).unwrap();
            fs::create_dir_all(class.join(format!("towpath{number}!0"))).unwrap();
            fs::write(folder.join("core"), "loopback\n").unwrap();
            fs::write(folder.join("serial"), serial).unwrap();
            std::os::unix::fs::symlink(pci, folder.join("device")).unwrap();
        }
        fs::create_dir_all(class.join("towpathX!control")).unwrap();
        let found = cards(sys.path());
        let told: Vec<_> = found.iter().map(|card| (card.name.as_str(), card.address.as_deref(), card.serial)).collect();
        assert_eq!(told, [("/dev/towpath2", Some("0000:03:00.0"), Some(0)), ("/dev/towpath10", Some("0000:65:00.0"), Some(0x5eed))]);
        assert_eq!(found[0].core, "loopback");
    }
}
