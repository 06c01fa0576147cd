// SPDX-License-Identifier: Apache-2.0
//! Reads what a card says of itself, and refuses what this library does not speak. What a card may say is the contract's to know
//! (`contract/towpath.rdl`): the checks are generated, for this driver and for the kernel's.

use crate::{ChannelInfo, DeviceInfo, Direction, Error, Result};
use towpath_bus::Bus;
use towpath_contract::{self as contract, ChannelEntry, Discovery};

/// Discovery and what the driver needs beside it.
pub(crate) struct Card {
    pub info: DeviceInfo,
    pub page_shift: u32,
    /// Index of each channel's privileged page, in the order of `info.channels`.
    pub first_pages: Vec<u32>,
}

impl Card {
    /// Byte offset in BAR 0 of one of a channel's pages.
    pub fn channel_page(&self, position: usize, page: u64) -> u64 {
        (u64::from(self.first_pages[position]) + page) << self.page_shift
    }

    /// What the data path moves at the very best.
    pub fn bytes_per_nanosecond(&self) -> f64 {
        (f64::from(self.info.data_bits / 8) * f64::from(self.info.core_clock_khz) / 1e6).max(1e-3)
    }

    /// Byte offset in BAR 0 of the card's page.
    pub fn card_page(&self) -> u64 {
        contract::PAGE_CARD << self.page_shift
    }
}

/// Fill `image` with what stands in the discovery page.
fn load(bus: &dyn Bus, from: u64, image: &mut [u8]) -> Result<()> {
    for (place, bytes) in (from..).step_by(8).zip(image.chunks_mut(8)) {
        let word = bus.read64(contract::BAR_DEVICE, place).map_err(Error::bus(format!("{}: reading the discovery page", bus.name())))?;
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
    Ok(())
}

/// A name that a card gives, up to its first zero, fit for terminals and logs: printable ASCII, with `?` in the place of any other byte.
/// The kernel's driver does the same (driver/linux/name.h).
pub fn shown_name(bytes: &[u8]) -> String {
    let name = bytes.iter().take_while(|byte| **byte != 0);
    name.map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '?' }).collect()
}

/// Read a card's discovery page.
pub(crate) fn discover(bus: &dyn Bus) -> Result<Card> {
    let name = bus.name().to_string();
    let bad = |what: String| Error::Discovery { name: name.clone(), what };
    let bar_bytes = bus.bar_bytes(contract::BAR_DEVICE);
    // Magic and version first: without them it may be anything.
    let mut image = [0; Discovery::IMAGE_BYTES];
    load(bus, 0, &mut image[..contract::DISCOVERY_CHANNELS_OFFSET as usize])?;
    let Discovery { magic, version_major, version_minor, .. } = Discovery::from_image(&image);
    if magic != contract::DISCOVERY_MAGIC_VALUE {
        return Err(Error::NotTowpath { name, magic });
    }
    let version = (version_major, version_minor);
    if version_major != contract::VERSION_MAJOR {
        return Err(Error::Version { name, card: version, host: (contract::VERSION_MAJOR, contract::VERSION_MINOR) });
    }
    load(bus, 0, &mut image)?;
    let header = Discovery::from_image(&image);
    header.check(bar_bytes, bus.bar_bytes(contract::BAR_WINDOW)).map_err(|fault| bad(fault.to_string()))?;

    let mut entries: Vec<ChannelEntry> = Vec::with_capacity(header.channels.into());
    for index in 0..header.channels {
        let mut image = [0; ChannelEntry::IMAGE_BYTES];
        load(bus, u64::from(header.entry_offset) + u64::from(index) * u64::from(header.entry_bytes), &mut image)?;
        let entry = ChannelEntry::from_image(&image);
        entry.check(&entries, &header, bar_bytes).map_err(|fault| bad(format!("channel {index}: {fault}")))?;
        entries.push(entry);
    }
    let info = DeviceInfo {
        name: name.clone(),
        core: shown_name(&header.core_name),
        core_version: header.core_version,
        version,
        serial: header.serial,
        data_bits: 8 * u32::from(header.data_bytes),
        core_clock_khz: header.core_clock_khz,
        user_clock_khz: header.user_clock_khz,
        tags: header.tags,
        vectors: header.vectors,
        interrupts: header.user_interrupts,
        register_bytes: header.window_bytes,
        register_names: bus.register_names(),
        channels: (0..).zip(&entries).map(|(index, entry)| channel_info(index, entry)).collect(),
    };
    let first_pages = entries.iter().map(|entry| entry.first_page).collect();
    Ok(Card { info, page_shift: header.page_shift.into(), first_pages })
}

fn channel_info(index: u16, entry: &ChannelEntry) -> ChannelInfo {
    let is_h2c = entry.direction == contract::Direction::H2c as u8;
    ChannelInfo {
        index,
        name: shown_name(&entry.name),
        direction: if is_h2c { Direction::H2c } else { Direction::C2h },
        queue_depth: entry.queue_depth,
        inline_slots: entry.inline_slots,
        buffer_bytes: entry.buffer_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::shown_name;

    #[test]
    fn a_name_is_fit_for_a_terminal() {
        let printable: Vec<u8> = (b' '..=b'~').collect();
        assert_eq!(shown_name(&printable).as_bytes(), printable);
        assert_eq!(shown_name(b"in\0\x1b[31mhidden"), "in");
        assert_eq!(shown_name("\x1b[31mred\u{e4}\n".as_bytes()), "?[31mred???");
        assert_eq!(shown_name(&[0; 32]), "");
    }
}
