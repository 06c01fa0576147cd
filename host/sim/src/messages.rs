// SPDX-License-Identifier: Apache-2.0
//! Interrupts of a card whose MSI-X table belongs to the program, as on a bus: recognises which of the card's writes are interrupts, and
//! keeps those that wait to be taken.
//!
//! A host takes a write for an interrupt by its address alone. Here the addresses are those that the program has written into the table, as
//! far as they are not its memory's. Without such a table the simulator's own window stands for them (`root_complex::INTERRUPT_WINDOW`).

use std::collections::VecDeque;

use towpath_contract as contract;
use towpath_device_server::Interrupt;

/// Interrupts that wait, at most: a program could direct the card to make any number of different ones.
const WAITING: usize = 16 * contract::MSIX_VECTORS_MAX;

/// Addresses that mean interrupts, and the interrupts that came.
#[derive(Debug, Default)]
pub struct Messages {
    /// Where writes are interrupts.
    pub addresses: Vec<u64>,
    waiting: VecDeque<Interrupt>,
}

impl Messages {
    /// The interrupt that a write of the card is, if it is one: all of one dword.
    pub fn recognise(&self, address: u64, first_be: u8, payload: &[u32]) -> Option<Interrupt> {
        match *payload {
            [data] if first_be == 15 && self.addresses.contains(&address) => Some(Interrupt { address, data }),
            _ => None,
        }
    }

    /// One has come. One that waits already stands for both. False: too many wait.
    pub fn came(&mut self, interrupt: Interrupt) -> bool {
        if !self.waiting.contains(&interrupt) {
            if self.waiting.len() == WAITING {
                return false;
            }
            self.waiting.push_back(interrupt);
        }
        true
    }

    /// The next one, in the order in which they came.
    pub fn take(&mut self) -> Option<Interrupt> {
        self.waiting.pop_front()
    }

    /// After a reset none waits.
    pub fn forget(&mut self) {
        self.waiting.clear();
    }
}

/// What the program has written into the card's table: a copy of the addresses, by which messages are recognised.
#[derive(Debug)]
pub struct Table {
    start: u64,
    bytes: Vec<u8>,
}

impl Table {
    /// The table of `vectors` vectors that begins at an offset of BAR 0, into which nothing has been written.
    pub fn new(start: u64, vectors: u16) -> Table {
        Table { start, bytes: vec![0; usize::from(vectors) * contract::MSIX_VECTOR_BYTES] }
    }

    /// Note a write to BAR 0, wherever it goes.
    pub fn write(&mut self, offset: u64, from: &[u8]) {
        for (index, byte) in from.iter().enumerate() {
            let at = offset.checked_add(index as u64).and_then(|at| at.checked_sub(self.start));
            if let Some(place) = at.and_then(|at| self.bytes.get_mut(at as usize)) {
                *place = *byte;
            }
        }
    }

    /// Where its messages go, each address once. A vector that is not set up has none.
    pub fn addresses(&self) -> Vec<u64> {
        let entries = self.bytes.chunks_exact(contract::MSIX_VECTOR_BYTES);
        let address = |entry: &[u8]| entry.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) & !3);
        let mut addresses: Vec<u64> = entries.map(address).filter(|address| *address != 0).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_by_its_address_and_waits_once() {
        let mut messages = Messages { addresses: vec![0xa_0000], ..Messages::default() };
        let of = |messages: &Messages, address, data: &[u32]| messages.recognise(address, 15, data);
        let one = of(&messages, 0xa_0000, &[7]).unwrap();
        assert_eq!(one, Interrupt { address: 0xa_0000, data: 7 });
        assert!(of(&messages, 0xa_0004, &[7]).is_none() && of(&messages, 0xa_0000, &[7, 8]).is_none());
        assert!(messages.recognise(0xa_0000, 3, &[7]).is_none(), "part of a dword");
        let two = Interrupt { data: 8, ..one };
        assert!(messages.came(one) && messages.came(two) && messages.came(one));
        assert_eq!([messages.take(), messages.take(), messages.take()], [Some(one), Some(two), None]);
        assert!((0..WAITING as u32).all(|data| messages.came(Interrupt { data, ..one })));
        assert!(messages.came(one) && !messages.came(Interrupt { data: u32::MAX, ..one }), "no more than fit");
        messages.forget();
        assert_eq!(messages.take(), None);
    }

    #[test]
    fn addresses_are_those_of_the_table_however_they_are_written() {
        let mut table = Table::new(0x2000, 3);
        assert!(table.addresses().is_empty());
        table.write(0x2010, &0xa_0000u32.to_le_bytes());
        table.write(0x2000, &[&0xfee0_1000u64.to_le_bytes()[..], &[5; 12]].concat()); // and the lower half of the next one
        assert_eq!(table.addresses(), [0x0505_0504, 0xfee0_1000]);
        table.write(0x2024, &[1, 0, 0, 0]);
        table.write(0x2011, &[0, 0xa]);
        table.write(0x1ffe, &[9; 4]);
        assert_eq!(table.addresses(), [0x050a_0004, 0xfee0_0909 & !3, 1 << 32]);
        table.write(0x2030, &[0xff; 8]); // behind the last one
        table.write(u64::MAX - 2, &[0xff; 3]);
        assert_eq!(table.addresses().len(), 3);
    }
}
