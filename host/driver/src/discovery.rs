// SPDX-License-Identifier: Apache-2.0
//! Reads what a card says of itself, and refuses what this library does not speak.

use crate::{ChannelInfo, DeviceInfo, Direction, Error, Result};
use towpath_bus::Bus;
use towpath_contract as contract;

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

/// A part of the discovery page, read once; fields are named by their offset in it.
struct Image(Vec<u8>);

impl Image {
    fn load(bus: &dyn Bus, from: u64, bytes: usize) -> Result<Image> {
        let mut image = Vec::with_capacity(bytes);
        for word in 0..bytes.div_ceil(8) {
            let offset = from + 8 * word as u64;
            let value =
                bus.read64(contract::BAR_DEVICE, offset).map_err(Error::bus(format!("{}: reading the discovery page", bus.name())))?;
            image.extend_from_slice(&value.to_le_bytes());
        }
        Ok(Image(image))
    }

    fn field<const N: usize>(&self, offset: u64) -> [u8; N] {
        let mut bytes = [0; N];
        let start = (offset as usize).min(self.0.len());
        let there = &self.0[start..(start + N).min(self.0.len())];
        bytes[..there.len()].copy_from_slice(there);
        bytes
    }

    fn byte(&self, offset: u64) -> u8 {
        self.field::<1>(offset)[0]
    }

    fn half(&self, offset: u64) -> u16 {
        u16::from_le_bytes(self.field(offset))
    }

    fn word(&self, offset: u64) -> u32 {
        u32::from_le_bytes(self.field(offset))
    }

    fn text(&self, offset: u64) -> String {
        shown_name(&self.field::<{ contract::NAME_BYTES }>(offset))
    }
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
    let head = Image::load(bus, contract::DISCOVERY_MAGIC_OFFSET, 16)?;
    let magic = u64::from_le_bytes(head.field(contract::DISCOVERY_MAGIC_OFFSET));
    if magic != contract::DISCOVERY_MAGIC_VALUE {
        return Err(Error::NotTowpath { name, magic });
    }
    let version = (head.half(contract::DISCOVERY_VERSION_MAJOR_OFFSET), head.half(contract::DISCOVERY_VERSION_MINOR_OFFSET));
    if version.0 != contract::VERSION_MAJOR {
        return Err(Error::Version { name, card: version, host: (contract::VERSION_MAJOR, contract::VERSION_MINOR) });
    }

    // No more than this version knows, no more than there is.
    let known = contract::DISCOVERY_CORE_NAME_OFFSET as usize + contract::NAME_BYTES;
    let header = Image::load(bus, 0, known.min(head.half(contract::DISCOVERY_HEADER_BYTES_OFFSET).into()))?;
    let page_shift = u32::from(header.byte(contract::DISCOVERY_PAGE_SHIFT_OFFSET));
    if !(contract::PAGE_BYTES_MIN.trailing_zeros()..=24).contains(&page_shift) {
        return Err(bad(format!("pages of 2^{page_shift} bytes")));
    }
    let channels = header.half(contract::DISCOVERY_CHANNELS_OFFSET);
    let entry_offset = u64::from(header.half(contract::DISCOVERY_ENTRY_OFFSET_OFFSET));
    let entry_bytes = u64::from(header.half(contract::DISCOVERY_ENTRY_BYTES_OFFSET));
    let end = entry_offset + u64::from(channels) * entry_bytes;
    if entry_bytes < contract::CHANNEL_ENTRY_BYTES as u64 || entry_bytes % 8 != 0 || entry_offset % 8 != 0 || end > 1 << page_shift {
        return Err(bad(format!("{channels} channel entries of {entry_bytes} bytes at {entry_offset:#x}")));
    }

    let mut info = DeviceInfo {
        name: name.clone(),
        core: header.text(contract::DISCOVERY_CORE_NAME_OFFSET),
        core_version: header.word(contract::DISCOVERY_CORE_VERSION_OFFSET),
        version,
        serial: u64::from_le_bytes(header.field(contract::DISCOVERY_SERIAL_OFFSET)),
        data_bits: 8 * u32::from(header.byte(contract::DISCOVERY_DATA_BYTES_OFFSET)),
        core_clock_khz: header.word(contract::DISCOVERY_CORE_CLOCK_KHZ_OFFSET),
        user_clock_khz: header.word(contract::DISCOVERY_USER_CLOCK_KHZ_OFFSET),
        tags: header.half(contract::DISCOVERY_TAGS_OFFSET),
        vectors: header.half(contract::DISCOVERY_VECTORS_OFFSET),
        interrupts: header.half(contract::DISCOVERY_USER_INTERRUPTS_OFFSET).min(contract::USER_INTERRUPTS as u16),
        register_bytes: header.word(contract::DISCOVERY_WINDOW_BYTES_OFFSET),
        register_names: bus.register_names(),
        channels: Vec::with_capacity(channels.into()),
    };
    let mut first_pages = Vec::with_capacity(channels.into());
    for index in 0..channels {
        let entry = Image::load(bus, entry_offset + u64::from(index) * entry_bytes, contract::CHANNEL_ENTRY_BYTES)?;
        let kind = entry.byte(contract::CHANNEL_ENTRY_KIND_OFFSET);
        let direction = contract::Direction::try_from(entry.byte(contract::CHANNEL_ENTRY_DIRECTION_OFFSET));
        let (Ok(contract::ChannelKind::Stream), Ok(direction)) = (contract::ChannelKind::try_from(kind), direction) else {
            log::warn!("{name}: channel {index} is of a kind that this library does not know; it is left out");
            continue;
        };
        let channel = ChannelInfo {
            index,
            name: entry.text(contract::CHANNEL_ENTRY_NAME_OFFSET),
            direction: match direction {
                contract::Direction::H2c => Direction::H2c,
                contract::Direction::C2h => Direction::C2h,
            },
            queue_depth: entry.half(contract::CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET),
            inline_slots: entry.half(contract::CHANNEL_ENTRY_INLINE_SLOTS_OFFSET),
            buffer_bytes: entry.word(contract::CHANNEL_ENTRY_BUFFER_BYTES_OFFSET),
        };
        let first_page = entry.word(contract::CHANNEL_ENTRY_FIRST_PAGE_OFFSET);
        let pages_end = (u64::from(first_page) + contract::PAGES_PER_CHANNEL) << page_shift;
        if channel.queue_depth == 0 || pages_end > bus.bar_bytes(contract::BAR_DEVICE) {
            return Err(bad(format!("channel \"{}\": queue depth {}, first page {first_page}", channel.name, channel.queue_depth)));
        }
        info.channels.push(channel);
        first_pages.push(first_page);
    }
    Ok(Card { info, page_shift, first_pages })
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
