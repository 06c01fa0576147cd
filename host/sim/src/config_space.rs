// SPDX-License-Identifier: Apache-2.0
//! The configuration space of a card that stands alone, as a host finds it: what a hard block has on a board.
//!
//! PCI Express Base Specification 2.1, chapter 7; PCI Local Bus Specification 3.0, chapter 6. Only the parts that a driver or a hypervisor
//! reads: the header, power management (on, and asleep without losing anything), PCI Express (the model's settings) and MSI-X.

use towpath_contract as contract;

/// Bytes of it.
pub const BYTES: usize = 4096;
const COMMAND: usize = 0x04;
const BUS_MASTER: u16 = 1 << 2;
const BARS: usize = 0x10;
const POWER: usize = 0x40;
const POWER_STATE: usize = POWER + 4;
const EXPRESS: usize = 0x50;
/// The upper byte of Device Control, and its bit that starts a function-level reset.
const DEVICE_CONTROL: usize = EXPRESS + 9;
const FUNCTION_RESET: u8 = 1 << 7;
const MSIX: usize = 0x90;
const MSIX_CONTROL: usize = MSIX + 2;

/// The facts about the card in its configuration space.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Sizes of the BARs, powers of two; all of them are of 64 bits, so each takes two places.
    pub bars: [u64; 6],
    /// MSI-X vectors.
    pub vectors: u16,
    /// Where in BAR 0 the MSI-X table is, and the pending bits.
    pub table: [u32; 2],
    /// Generation and lanes of the link.
    pub link: (u8, u8),
}

/// A card's configuration space.
pub struct ConfigSpace {
    bytes: Vec<u8>,
    writable: Vec<u8>,
    reset: Vec<u8>,
}

impl ConfigSpace {
    /// As it is after a reset.
    pub fn new(facts: &Facts) -> ConfigSpace {
        let mut space = ConfigSpace { bytes: vec![0; BYTES], writable: vec![0; BYTES], reset: Vec::new() };
        space.set(0x00, &contract::PCI_VENDOR.to_le_bytes(), &[]);
        space.set(0x02, &contract::PCI_DEVICE.to_le_bytes(), &[]);
        space.set(COMMAND, &[0; 2], &[0x46, 0x05]); // memory, bus master, error reporting, interrupts off
        space.set(0x06, &[0x10, 0], &[]); // there is a list of capabilities
        space.set(0x08, &(contract::PCI_CLASS << 8 | 1).to_le_bytes(), &[]); // class, and revision 1
        for (number, size) in facts.bars.iter().enumerate().filter(|(_, size)| **size > 0) {
            // 64 bits, prefetchable; the address can be written down to the size.
            space.set(BARS + 4 * number, &0xc_u64.to_le_bytes(), &(!(size.next_power_of_two().max(4096) - 1)).to_le_bytes());
        }
        space.set(0x2c, &contract::PCI_SUBSYSTEM_VENDOR.to_le_bytes(), &[]);
        space.set(0x2e, &contract::PCI_SUBSYSTEM.to_le_bytes(), &[]);
        space.set(0x34, &[POWER as u8], &[]);
        space.set(0x3c, &[0], &[0xff]);

        space.set(POWER, &[0x01, EXPRESS as u8, 0x03, 0], &[]);
        space.set(POWER_STATE, &[0x08, 0], &[0x03, 0]); // D0, and no reset on the way back to it
        space.set(EXPRESS, &[0x10, MSIX as u8, 0x02, 0], &[]); // version 2, an endpoint
        space.set(EXPRESS + 0x04, &(0x1000_8000u32 | 1 << 5).to_le_bytes(), &[]); // function-level reset, extended tags, MPS from 128 bytes
        space.set(EXPRESS + 0x08, &[0x10, 0x29], &[0xff, 0x7f]);
        let (generation, lanes) = facts.link;
        let link = u32::from(generation) | u32::from(lanes) << 4;
        space.set(EXPRESS + 0x0c, &link.to_le_bytes(), &[]);
        space.set(EXPRESS + 0x12, &(link as u16).to_le_bytes(), &[]);
        space.set(EXPRESS + 0x24, &0x1fu32.to_le_bytes(), &[]);
        space.set(EXPRESS + 0x28, &[0, 0], &[0x1f, 0]);
        space.set(MSIX, &[0x11, 0], &[]);
        space.set(MSIX_CONTROL, &facts.vectors.saturating_sub(1).to_le_bytes(), &[0, 0xc0]);
        space.set(MSIX + 4, &facts.table[0].to_le_bytes(), &[]);
        space.set(MSIX + 8, &facts.table[1].to_le_bytes(), &[]);
        space.reset.clone_from(&space.bytes);
        space
    }

    fn set(&mut self, at: usize, value: &[u8], writable: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
        self.writable[at..at + writable.len()].copy_from_slice(writable);
    }

    /// A part of it, which lies inside.
    pub fn read(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.bytes[at..at + into.len()]);
    }

    /// Write a part of it, which lies inside: bits that cannot be written stay. True: a function-level reset is requested.
    #[must_use]
    pub fn write(&mut self, at: usize, from: &[u8]) -> bool {
        for ((byte, mask), new) in self.bytes[at..].iter_mut().zip(&self.writable[at..]).zip(from) {
            *byte = *byte & !mask | new & mask;
        }
        DEVICE_CONTROL.checked_sub(at).and_then(|index| from.get(index)).is_some_and(|byte| byte & FUNCTION_RESET != 0)
    }

    /// Discard what was written.
    pub fn reset(&mut self) {
        self.bytes.clone_from(&self.reset);
    }

    /// The enable bit of MSI-X, and the mask of all its vectors.
    pub fn msix(&self) -> (bool, bool) {
        let control = self.bytes[MSIX_CONTROL + 1];
        (control & 0x80 != 0, control & 0x40 != 0)
    }

    /// May the card send requests?
    pub fn is_bus_master(&self) -> bool {
        let on = self.bytes[POWER_STATE] & 3 == 0;
        on && u16::from_le_bytes([self.bytes[COMMAND], self.bytes[COMMAND + 1]]) & BUS_MASTER != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> ConfigSpace {
        let facts = Facts { bars: [1 << 20, 0, 4096, 0, 0, 0], vectors: 5, table: [0x2000, 0x2800], link: (2, 8) };
        ConfigSpace::new(&facts)
    }

    fn word(space: &ConfigSpace, at: usize) -> u32 {
        let mut bytes = [0; 4];
        space.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn a_host_finds_sizes_and_capabilities() {
        let mut space = space();
        assert!(!space.write(BARS, &[0xff; 24]));
        let found: Vec<u32> = (0..6).map(|bar| word(&space, BARS + 4 * bar)).collect();
        assert_eq!(found, [0xfff0_000c, u32::MAX, 0xffff_f00c, u32::MAX, 0, 0]);
        let mut capabilities = Vec::new();
        let mut at = word(&space, 0x34) as usize;
        while at != 0 {
            capabilities.push(word(&space, at) & 0xff);
            at = (word(&space, at) >> 8 & 0xff) as usize;
        }
        assert_eq!(capabilities, [0x01, 0x10, 0x11]);
        assert_eq!(word(&space, MSIX) >> 16, 4, "one less than there are");
        assert_eq!((word(&space, MSIX + 4), word(&space, MSIX + 8)), (0x2000, 0x2800));
        assert_eq!(word(&space, EXPRESS + 0x0c) & 0x3ff, 0x82);
    }

    #[test]
    fn only_what_is_writable_changes_and_a_reset_takes_it_back() {
        let mut space = space();
        assert!(!space.is_bus_master());
        assert!(space.write(0, &[0xff; BYTES]));
        assert!(!space.is_bus_master(), "it sleeps");
        assert!(!space.write(POWER_STATE, &[0]));
        assert!(space.is_bus_master());
        assert_eq!(space.msix(), (true, true));
        assert!(!space.write(MSIX_CONTROL, &[0, 0x80]));
        assert_eq!(space.msix(), (true, false));
        let identification = [0, 8, 0x2c].map(|at| word(&space, at));
        assert_eq!(identification, [0x7470_1234, 0x1200_0001, 0x0001_1234]);
        assert_eq!(word(&space, 0x100), 0, "no extended capabilities");
        space.reset();
        assert!(!space.is_bus_master());
        assert_eq!((space.msix(), word(&space, BARS)), ((false, false), 0xc));
    }

    #[test]
    fn a_function_level_reset_is_asked_for_by_one_bit() {
        let mut space = space();
        assert!(!space.write(DEVICE_CONTROL - 1, &[0xff, 0x7f]));
        assert!(!space.write(DEVICE_CONTROL - 1, &[0xff]));
        assert!(!space.write(DEVICE_CONTROL + 1, &[0xff; 4]));
        assert!(space.write(DEVICE_CONTROL - 1, &[0, 0x80]) && space.write(DEVICE_CONTROL, &[0x80]));
        assert_eq!(word(&space, EXPRESS + 8) & 0x8000, 0, "it reads as zero");
    }
}
