// SPDX-License-Identifier: Apache-2.0
//! Reads a card's discovery page, and refuses what this library does not support. The contract (`contract/towpath.rdl`) defines the valid
//! values: the checks are generated, for this driver and for the kernel's.

use towpath_bus::Bus;
use towpath_contract::{self as contract, ChannelEntry, Discovery, PluginEntry};
use towpath_driver::{shown_name, ChannelInfo, ChannelKind, DeviceInfo, Direction, Error, PluginInfo, Result};

/// Discovery and what the driver needs besides it.
pub(crate) struct Card {
    pub info: DeviceInfo,
    pub page_shift: u32,
    /// Index of each channel's privileged page, in the order of `info.channels`.
    pub first_pages: Vec<u32>,
    /// Slots of each channel's batch page, in the same order; 0 if descriptors go by the doorbell alone.
    pub batch_slots: Vec<u16>,
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
    header
        .check(bar_bytes, bus.bar_bytes(contract::BAR_WINDOW), bus.bar_bytes(contract::BAR_MEMORY))
        .map_err(|fault| bad(fault.to_string()))?;

    let mut entries: Vec<ChannelEntry> = Vec::with_capacity(header.channels.into());
    for index in 0..header.channels {
        let mut image = [0; ChannelEntry::IMAGE_BYTES];
        load(bus, u64::from(header.entry_offset) + u64::from(index) * u64::from(header.entry_bytes), &mut image)?;
        let entry = ChannelEntry::from_image(&image);
        entry.check(&entries, &header, bar_bytes).map_err(|fault| bad(format!("channel {index}: {fault}")))?;
        entries.push(entry);
    }
    let mut plugins = Vec::with_capacity(header.plugins.into());
    for index in 0..header.plugins {
        let mut image = [0; PluginEntry::IMAGE_BYTES];
        let place = contract::DISCOVERY_PLUGIN_ENTRY_OFFSET + u64::from(index) * contract::DISCOVERY_PLUGIN_ENTRY_STRIDE;
        load(bus, place, &mut image)?;
        let entry = PluginEntry::from_image(&image);
        entry.check(&header).map_err(|fault| bad(format!("plug-in {index}: {fault}")))?;
        let bytes = u32::from(entry.pages) * contract::PAGE_BYTES_MIN as u32; // it fits: the window holds it
        plugins.push(PluginInfo::new(index, shown_name(&entry.type_name), entry.version, entry.offset, bytes));
    }
    let mut info = DeviceInfo::default();
    info.name = name;
    info.core = shown_name(&header.core_name);
    info.core_version = header.core_version;
    info.version = version;
    info.serial = header.serial;
    info.data_bits = 8 * u32::from(header.data_bytes);
    info.core_clock_khz = header.core_clock_khz;
    info.user_clock_khz = header.user_clock_khz;
    info.tags = header.tags;
    info.vectors = header.vectors;
    info.interrupts = header.user_interrupts;
    info.register_bytes = header.window_bytes;
    info.register_names = bus.register_names();
    info.channels = (0..).zip(&entries).map(|(index, entry)| channel_info(index, entry)).collect();
    info.plugins = plugins;
    info.fill_levels = header.features & contract::DISCOVERY_FEATURES_FILL_MASK != 0;
    info.qos = header.features & contract::DISCOVERY_FEATURES_QOS_MASK != 0;
    let first_pages = entries.iter().map(|entry| entry.first_page).collect();
    let batch_slots = entries.iter().map(|entry| if bus.combines() { batch_slots(entry) } else { 0 }).collect();
    Ok(Card { info, page_shift: header.page_shift.into(), first_pages, batch_slots })
}

/// Slots that a host uses: what was written ahead must meet no descriptor that waits, so too few are as good as none.
fn batch_slots(entry: &ChannelEntry) -> u16 {
    if u32::from(entry.batch_slots) < 2 * u32::from(entry.queue_depth) {
        return 0;
    }
    entry.batch_slots
}

fn channel_info(index: u16, entry: &ChannelEntry) -> ChannelInfo {
    let is_h2c = entry.direction == contract::Direction::H2c as u8;
    let direction = if is_h2c { Direction::H2c } else { Direction::C2h };
    let mut info = ChannelInfo::new(index, shown_name(&entry.name), direction);
    info.queue_depth = entry.queue_depth;
    info.inline_slots = entry.inline_slots;
    info.buffer_bytes = entry.buffer_bytes;
    info.kind = ChannelKind::of_contract(entry.kind);
    info.kind_name = shown_name(&entry.kind_name);
    info.kind_version = entry.kind_version;
    info.kind_parameter = entry.kind_parameter;
    info.window = u64::from(entry.window).checked_sub(1).map(|place| place << 20);
    info
}
