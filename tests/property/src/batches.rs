// SPDX-License-Identifier: Apache-2.0
//! What the driver stores to doorbells, at random gathered into batches: descriptors wait here until something may follow them, then go to the
//! slots of the channel's batch page, in pieces and any order, and one store commits them. What goes by the doorbell takes a slot, too.

use crate::random::Random;
use std::collections::BTreeMap;
use towpath_bus::{Bus, Result};
use towpath_contract as contract;

const DEVICE: u8 = contract::BAR_DEVICE;
/// Most descriptors that wait.
const MOST: usize = 8;

#[derive(Default)]
struct Channel {
    /// Descriptors posted since its last reset.
    position: u64,
    waiting: Vec<u128>,
}

/// All channels of one card.
pub struct Batches {
    random: Random,
    page_shift: u32,
    slots: u64,
    /// By the number of their first page.
    channels: BTreeMap<u64, Channel>,
    /// Batches of more than one descriptor.
    pub several: u64,
}

impl Batches {
    /// Of a card whose channels have as many slots each.
    pub fn new(bus: &dyn Bus, seed: u64) -> Result<Batches> {
        let read = |offset: u64| bus.read32(DEVICE, offset & !3).map(|word| word >> (8 * (offset & 3)));
        let page_shift = read(contract::DISCOVERY_PAGE_SHIFT_OFFSET)? & 0xff;
        let slots = u64::from(read(contract::DISCOVERY_CHANNEL_ENTRY_OFFSET + contract::CHANNEL_ENTRY_BATCH_SLOTS_OFFSET)? & 0xffff);
        Ok(Batches { random: Random::new(seed), page_shift, slots, channels: BTreeMap::new(), several: 0 })
    }

    /// The first page of the channel whose page `which` an offset is in, and the offset in that page.
    fn place(&self, offset: u64, which: u64) -> Option<(u64, u64)> {
        let page = offset >> self.page_shift;
        let first = page.checked_sub(which).filter(|first| *first >= contract::PAGE_CHANNELS)?;
        let begins = (first - contract::PAGE_CHANNELS) % contract::PAGES_PER_CHANNEL == 0;
        begins.then_some((first, offset & ((1 << self.page_shift) - 1)))
    }

    /// A register is written: a channel that is reset begins at slot 0.
    pub fn written(&mut self, bar: u8, offset: u64, value: u32) {
        if bar == DEVICE && value & contract::CHANNEL_RESET_RESET_MASK != 0 {
            if let Some((first, contract::CHANNEL_RESET_OFFSET)) = self.place(offset, contract::PAGE_CHANNEL_PRIVILEGED) {
                self.channels.remove(&first);
            }
        }
    }

    /// All channels are reset.
    pub fn forget(&mut self) {
        self.channels.clear();
    }

    /// The driver stores a descriptor.
    pub fn descriptor(&mut self, bus: &dyn Bus, bar: u8, offset: u64, words: [u64; 2]) -> Result<()> {
        let place = self.place(offset, contract::PAGE_CHANNEL_DOORBELL).filter(|_| bar == DEVICE);
        let Some((first, contract::DOORBELL_DESCRIPTOR_OFFSET)) = place else { return bus.write_pair(bar, offset, words) };
        let channel = self.channels.entry(first).or_default();
        if channel.waiting.is_empty() && self.random.one_in(4) {
            channel.position += 1;
            return bus.write_pair(bar, offset, words);
        }
        channel.waiting.push(u128::from(words[0]) | u128::from(words[1]) << 64);
        if channel.waiting.len() >= MOST {
            self.post(bus, first)?;
        }
        Ok(())
    }

    /// Post all that wait.
    pub fn post_all(&mut self, bus: &dyn Bus) -> Result<()> {
        let firsts: Vec<u64> = self.channels.keys().copied().collect();
        firsts.into_iter().try_for_each(|first| self.post(bus, first))
    }

    fn post(&mut self, bus: &dyn Bus, first: u64) -> Result<()> {
        const SIZE: u64 = contract::DESCRIPTOR_BYTES as u64;
        let Some(channel) = self.channels.get_mut(&first) else { return Ok(()) };
        let waiting = std::mem::take(&mut channel.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let page = |number: u64| (first + number) << self.page_shift;
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, image) in waiting.iter().enumerate() {
            let at = (channel.position + number as u64) % self.slots * SIZE;
            let bytes = image.to_le_bytes();
            match pieces.last_mut() {
                Some((begin, piece)) if *begin + piece.len() as u64 == at && at % 64 != 0 => piece.extend(bytes),
                _ => pieces.push((at, bytes.to_vec())),
            }
        }
        for turn in 0..pieces.len() {
            let other = turn + self.random.below(pieces.len() - turn);
            pieces.swap(turn, other);
            let (at, bytes) = &pieces[turn];
            let cut = 4 * self.random.between(0, bytes.len() / 4 - 1) * usize::from(self.random.one_in(2));
            for (at, part) in [(at + cut as u64, &bytes[cut..]), (*at, &bytes[..cut])] {
                if !part.is_empty() {
                    bus.write_combining(DEVICE, page(contract::PAGE_CHANNEL_BATCH) + at, part)?;
                }
            }
        }
        bus.fence()?;
        channel.position += waiting.len() as u64;
        self.several += u64::from(waiting.len() > 1);
        bus.write32(DEVICE, page(contract::PAGE_CHANNEL_DOORBELL) + contract::DOORBELL_BATCH_OFFSET, waiting.len() as u32)
    }
}
