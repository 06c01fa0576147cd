// SPDX-License-Identifier: Apache-2.0
//! The memory that a program has registered, by address: where a driver looks up what it knows of a piece. For drivers.

use crate::Access;
use std::collections::BTreeMap;

/// Registered ranges by their first byte, each with a value of the driver's. Overlapping ones are fine: any that holds the piece will do.
pub struct Registry<T>(BTreeMap<usize, Vec<Range<T>>>);

/// A registered range.
#[derive(Clone, Copy)]
pub struct Range<T> {
    start: usize,
    bytes: usize,
    access: Access,
    /// What it is to the driver.
    pub value: T,
}

impl<T> Range<T> {
    /// How far behind its first byte a piece lies, if it lies within and may be so accessed.
    pub fn find(&self, start: usize, bytes: usize, access: Access) -> Option<usize> {
        let skip = start.checked_sub(self.start)?;
        let fits = skip.checked_add(bytes)? <= self.bytes && (self.access == Access::ReadWrite || self.access == access);
        fits.then_some(skip)
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Registry(BTreeMap::new())
    }
}

impl<T: Copy> Registry<T> {
    /// Put a range in.
    pub fn insert(&mut self, start: usize, bytes: usize, access: Access, value: T) {
        self.0.entry(start).or_default().push(Range { start, bytes, access, value });
    }

    /// Take a range out.
    pub fn remove(&mut self, start: usize, bytes: usize) -> Option<Range<T>> {
        let ranges = self.0.get_mut(&start)?;
        let position = ranges.iter().position(|range| range.bytes == bytes)?;
        let range = ranges.swap_remove(position);
        if ranges.is_empty() {
            self.0.remove(&start);
        }
        Some(range)
    }

    /// Take out the ranges that `keep` does not want to stay; it is given the value and the length of each.
    pub fn retain(&mut self, mut keep: impl FnMut(T, usize) -> bool) {
        self.0.retain(|_, ranges| {
            ranges.retain(|range| keep(range.value, range.bytes));
            !ranges.is_empty()
        });
    }

    /// The registered range in which a piece lies. Looks at the nearest start only: enough for ranges that do not overlap, and a miss costs no more
    /// than a mapping.
    pub fn find(&self, start: usize, bytes: usize, access: Access) -> Option<Range<T>> {
        let (_, ranges) = self.0.range(..=start).next_back()?;
        ranges.iter().find(|range| range.find(start, bytes, access).is_some()).copied()
    }
}
