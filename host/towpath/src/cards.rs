// SPDX-License-Identifier: Apache-2.0
//! Lists the cards, and resolves names that are no address: the first card in this machine (no name), one by its order (`#2`), or one by
//! the serial number in its discovery table (`serial:0x17`). A card that another process serves must be named: the empty name never selects
//! it.
//!
//! The order: cards in this machine by their address, then those that other processes serve, by their socket. Simulated cores have no
//! order: they are no cards before they are opened.

use crate::open::{self, ENVIRONMENT};
use crate::{served, Error, OpenOptions, Result};
use std::path::Path;
use std::sync::Arc;
use towpath_driver::Driver;

/// What names by serial number begin with.
pub(crate) const SERIAL: &str = "serial";

/// A device that could be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceListing {
    /// What to give to [`crate::Device::open`].
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Of a card: its place in the order, from 1. `#1` is a name for it, too.
    pub order: Option<u32>,
    /// Its serial number, where that is known without opening it.
    pub serial: Option<u64>,
}

impl DeviceListing {
    fn new(name: impl Into<String>, description: impl Into<String>) -> DeviceListing {
        DeviceListing { name: name.into(), description: description.into(), order: None, serial: None }
    }
}

/// The devices that could be opened now: cards in their order, the device of `TOWPATH_DEVICE` if it is another, and a simulated one for
/// each core found.
pub fn list_devices() -> Result<Vec<DeviceListing>> {
    let mut devices = cards()?;
    let named = std::env::var(ENVIRONMENT).unwrap_or_default();
    #[cfg(feature = "sim")]
    {
        let simulated = |core: String| DeviceListing::new(format!("sim:{core}"), format!("core \"{core}\" in simulation"));
        devices.extend(towpath_cores::list_cores().into_iter().map(simulated));
    }
    if !named.is_empty() && devices.iter().all(|device| device.name != named) {
        devices.push(DeviceListing::new(named, "what TOWPATH_DEVICE names"));
    }
    Ok(devices)
}

/// The cards that there are, in their order.
fn cards() -> Result<Vec<DeviceListing>> {
    let mut cards = boards()?;
    cards.extend(served::cards().into_iter().map(|card| DeviceListing {
        serial: Some(card.serial),
        ..DeviceListing::new(card.device, format!("{} in process {}", card.card, card.process))
    }));
    for (order, card) in (1..).zip(&mut cards) {
        card.order = Some(order);
    }
    Ok(cards)
}

/// The cards in this machine, by their address: those that the kernel module holds, and others, whose serial number is known only after
/// they are opened.
#[cfg(feature = "vfio")]
fn boards() -> Result<Vec<DeviceListing>> {
    Ok(boards_of(&towpath_vfio::System::here(), &open::ids()?))
}

/// The cards in this machine that the kernel module holds.
#[cfg(not(feature = "vfio"))]
fn boards() -> Result<Vec<DeviceListing>> {
    Ok(held("/sys".as_ref()).into_iter().map(|(_, card)| card).collect())
}

/// The cards that the kernel module holds, with their address where they have one.
#[cfg(feature = "linux")]
fn held(sys: &Path) -> Vec<(Option<String>, DeviceListing)> {
    let listing = |card: towpath_kmod::Card| {
        let description = format!("core \"{}\", held by the kernel module", card.core);
        (card.address, DeviceListing { serial: card.serial, ..DeviceListing::new(card.name, description) })
    };
    towpath_kmod::cards(sys).into_iter().map(listing).collect()
}

#[cfg(not(feature = "linux"))]
fn held(_sys: &Path) -> Vec<(Option<String>, DeviceListing)> {
    Vec::new()
}

#[cfg(feature = "vfio")]
fn boards_of(system: &towpath_vfio::System, ids: &towpath_vfio::Ids) -> Vec<DeviceListing> {
    use towpath_vfio::{Address, Function};
    let board = |function: Function| {
        let state = match function.driver.as_deref() {
            Some("vfio-pci") => "given to vfio-pci".to_string(),
            Some(other) => format!("with driver {other}: see `towpath doctor`"),
            None => "without a driver: see `towpath doctor`".to_string(),
        };
        let (address, id) = (function.address, format!("{:04x}:{:04x}", function.vendor, function.device));
        (Some(address), DeviceListing::new(format!("vfio:{address}"), format!("card {id}, {state}")))
    };
    let held = held(&system.sys).into_iter().map(|(address, card)| (address.and_then(|address| address.parse().ok()), card));
    let held: Vec<(Option<Address>, DeviceListing)> = held.collect();
    let is_held = |address: Address| held.iter().any(|(at, _)| *at == Some(address));
    let mut cards: Vec<_> = system.cards(ids).into_iter().filter(|function| !is_held(function.address)).map(board).collect();
    cards.extend(held);
    cards.sort_by_key(|(address, _)| *address);
    cards.into_iter().map(|(_, listing)| listing).collect()
}

/// Open the first card in this machine.
pub(crate) fn open_first(options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    match boards()?.first() {
        Some(card) => open::open_named(&card.name, options),
        None => Err(no_device("", &no_board(&served::cards()))),
    }
}

fn no_board(served: &[served::Served]) -> String {
    match served {
        [] => "there is no card in this machine, and no process serves one".into(),
        [card, ..] => format!(
            "there is no card in this machine, and one that another process serves is opened by its name only, as in `towpath -d {0}` or \
             TOWPATH_DEVICE={0}",
            card.device
        ),
    }
}

/// Open `#NUMBER`: the card at that place of the order.
pub(crate) fn open_by_order(name: &str, number: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    open::open_named(&by_order(name, number)?, options)
}

/// What `#NUMBER` and `serial:NUMBER` stand for, without opening a card to look; other names stand for themselves.
#[cfg(all(feature = "vfio", feature = "linux"))]
pub(crate) fn stands_for(name: &str) -> Result<String> {
    if let Some(number) = name.strip_prefix('#') {
        return by_order(name, number);
    }
    let Some((SERIAL, number)) = name.split_once(':') else { return Ok(name.into()) };
    let wanted = open::number(number).map_err(|why| Error::Invalid(format!("device \"{name}\": {why}")))?;
    match cards()?.into_iter().find(|card| card.serial == Some(wanted)) {
        Some(card) => Ok(card.name),
        None => Err(no_device(name, "a card in this machine tells its serial number only when it is opened: give its address")),
    }
}

fn by_order(name: &str, number: &str) -> Result<String> {
    let cards = cards()?;
    let order = number.parse::<u32>().ok().filter(|order| *order > 0);
    let order = order.ok_or_else(|| Error::Invalid(format!("device \"{name}\": write #1 for the first card, #2 for the second")))?;
    match cards.iter().find(|card| card.order == Some(order)) {
        Some(card) => Ok(card.name.clone()),
        None => Err(no_device(name, &format!("there are {} cards", cards.len()))),
    }
}

/// Open `serial:NUMBER`: the card with that serial number. Opens cards that do not report theirs to read it.
pub(crate) fn open_by_serial(name: &str, number: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    let wanted = open::number(number).map_err(|why| Error::Invalid(format!("device \"{name}\": {why}")))?;
    let (mut found, mut silent) = (Vec::new(), String::new());
    for card in cards()? {
        match card.serial {
            Some(serial) if serial == wanted => found.push((card.name, None)),
            Some(_) => {}
            None => match open::open_named(&card.name, options) {
                Ok(driver) if driver.info().serial == wanted => found.push((card.name, Some(driver))),
                Ok(_) => {}
                Err(why) => silent += &format!("; {} could not be asked: {why}", card.name),
            },
        }
    }
    if found.len() > 1 {
        let names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
        return Err(no_device(name, &format!("{} cards have this serial number; name one of them: {}", names.len(), names.join(", "))));
    }
    match found.pop() {
        Some((_, Some(driver))) => Ok(driver),
        Some((card, None)) => open::open_named(&card, options),
        None => Err(no_device(name, &format!("no card has this serial number{silent}"))),
    }
}

/// There is no such device; lists the devices that there are.
pub(crate) fn no_device(name: &str, why: &str) -> Error {
    let available = list_devices().unwrap_or_default().into_iter().map(|device| device.name).collect();
    Error::NoSuchDevice { name: name.into(), why: why.into(), available }
}

#[cfg(all(test, feature = "vfio", feature = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use towpath_vfio::{Ids, System};

    #[test]
    fn a_card_that_the_kernel_module_holds_is_listed_once_at_its_place() {
        let place = std::env::temp_dir().join(format!("towpath-boards-{}", std::process::id()));
        let devices = place.join("bus/pci/devices");
        for (address, driver) in [("0000:03:00.0", "vfio-pci"), ("0000:65:00.0", "towpath"), ("0000:66:00.0", "nothing")] {
            let device = devices.join(address);
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("vendor"), "0x1234\n").unwrap();
            fs::write(device.join("device"), "0x7470\n").unwrap();
            symlink(place.join("bus/pci/drivers").join(driver), device.join("driver")).unwrap();
        }
        let held = place.join("class/towpath/towpath0!control");
        fs::create_dir_all(&held).unwrap();
        fs::write(held.join("core"), "sobel\n").unwrap();
        fs::write(held.join("serial"), "0x17\n").unwrap();
        symlink(devices.join("0000:65:00.0"), held.join("device")).unwrap();
        let system = System { sys: place.clone(), ..System::here() };
        let found = boards_of(&system, &Ids::default());
        let told: Vec<_> = found.iter().map(|card| (card.name.as_str(), card.description.as_str(), card.serial)).collect();
        let expected = [
            ("vfio:0000:03:00.0", "card 1234:7470, given to vfio-pci", None),
            ("/dev/towpath0", "core \"sobel\", held by the kernel module", Some(0x17)),
            ("vfio:0000:66:00.0", "card 1234:7470, with driver nothing: see `towpath doctor`", None),
        ];
        fs::remove_dir_all(&place).unwrap();
        assert_eq!(told, expected.map(|(name, description, serial): (&str, &str, Option<u64>)| (name, description, serial)));
    }
}
