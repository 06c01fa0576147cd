// SPDX-License-Identifier: Apache-2.0
//! Addresses by which the card reaches memory (IOVA): which the IOMMU can translate, which are taken, and the next that is free.
//!
//! An address that was released rests until 4 GiB of others were allocated, so that a late access of the card finds nothing there. It does
//! not rest longer, because the IOMMU's tables stay for every address that was ever used (Linux frees few of them before the end). Large
//! pieces keep their place within a large page, so that the IOMMU may translate them in large pages, too.

use std::collections::BTreeMap;
use std::ops::Range;

/// No address below is allocated: an address of nearly nothing is more often a mistake than an address.
const LOWEST: u64 = 1 << 20;
/// Nor here: the ends of ranges are to be numbers, too.
const HIGHEST: u64 = 1 << 63;
const LARGE_PAGE: u64 = 2 << 20;
/// After this many bytes the search for the next address starts from the beginning.
const LAP: u64 = 4 << 30;

/// The free addresses.
pub struct Space {
    /// First and end of each free range; none touches another.
    free: BTreeMap<u64, u64>,
    next: u64,
    page: u64,
}

impl Space {
    /// All of `usable` without `taken`, in whole pages (of a power of two).
    pub fn new(usable: &[Range<u64>], taken: &[Range<u64>], page: u64) -> Space {
        let mut space = Space { free: BTreeMap::new(), next: LOWEST, page };
        let aligned = |range: &Range<u64>| {
            let start = range.start.clamp(LOWEST, HIGHEST).next_multiple_of(page);
            (start, (range.end.min(HIGHEST) / page * page).max(start))
        };
        space.free.extend(usable.iter().map(aligned).filter(|(start, end)| start < end));
        for range in taken.iter().filter(|range| range.start < range.end) {
            space.remove(range.start / page * page, range.end.min(HIGHEST).next_multiple_of(page));
        }
        space
    }

    fn remove(&mut self, start: u64, end: u64) {
        let touched: Vec<(u64, u64)> = self.free.range(..end).filter(|(_, last)| **last > start).map(|(a, b)| (*a, *b)).collect();
        for (first, last) in touched {
            self.free.remove(&first);
            self.free.extend([(first, start), (end, last)].into_iter().filter(|(a, b)| a < b));
        }
    }

    /// Allocate `bytes` bytes (whole pages) of free addresses, for memory at `memory`.
    pub fn take(&mut self, memory: u64, bytes: u64) -> Option<u64> {
        self.take_beside(memory, bytes, if bytes >= LARGE_PAGE { LARGE_PAGE } else { self.page })
    }

    /// Allocate `bytes` bytes (whole pages) of free addresses, at a multiple of `align`, a power of two and a page at least.
    pub fn take_aligned(&mut self, bytes: u64, align: u64) -> Option<u64> {
        self.take_beside(0, bytes, align)
    }

    /// What is allocated differs from `memory` by a multiple of `step`.
    fn take_beside(&mut self, memory: u64, bytes: u64, step: u64) -> Option<u64> {
        let fit = |first: u64, last: u64| {
            let start = first + (memory.wrapping_sub(first) & (step - 1));
            start.checked_add(bytes).filter(|end| *end <= last).map(|_| start)
        };
        if self.next > LOWEST + LAP {
            self.next = LOWEST;
        }
        let behind = self.free.range(..self.next).next_back().and_then(|(_, last)| fit(self.next, *last));
        let start = behind
            .or_else(|| self.free.range(self.next..).find_map(|(first, last)| fit(*first, *last)))
            .or_else(|| self.free.iter().find_map(|(first, last)| fit(*first, *last)))?;
        self.remove(start, start + bytes);
        self.next = start + bytes;
        Some(start)
    }

    /// Release addresses that were allocated.
    pub fn give_back(&mut self, mut start: u64, bytes: u64) {
        let mut end = start + bytes;
        if let Some((first, last)) = self.free.range(..start).next_back().map(|(a, b)| (*a, *b)) {
            if last == start {
                self.free.remove(&first);
                start = first;
            }
        }
        if let Some(last) = self.free.remove(&end) {
            end = last;
        }
        self.free.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    // A range in a list is meant as that.
    #![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

    use super::*;

    const PAGE: u64 = 4096;
    const M: u64 = 1 << 20;

    #[test]
    fn what_is_taken_or_not_usable_is_not_given_out() {
        let mut space = Space::new(&[0..2 * M, 3 * M + 1..4 * M + 5], &[M + PAGE + 7..M + 2 * PAGE, 10 * M..11 * M, 5..5], PAGE);
        let mut found = Vec::new();
        while let Some(start) = space.take(0x7000, PAGE) {
            found.push(start);
        }
        let expected: Vec<u64> =
            (M..2 * M).step_by(PAGE as usize).filter(|at| *at != M + PAGE).chain((3 * M + PAGE..4 * M).step_by(PAGE as usize)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_address_comes_back_last_and_ranges_grow_together() {
        let mut space = Space::new(&[M..M + 4 * PAGE], &[], PAGE);
        let first: Vec<u64> = (0..3).map(|_| space.take(0, PAGE).unwrap()).collect();
        space.give_back(first[1], PAGE);
        assert_eq!(space.take(0, PAGE), Some(M + 3 * PAGE), "the one never used comes first");
        assert_eq!(space.take(0, PAGE), Some(first[1]));
        assert_eq!(space.take(0, PAGE), None);
        for start in [first[0], first[2], first[1], M + 3 * PAGE] {
            space.give_back(start, PAGE);
        }
        assert_eq!(space.free.iter().collect::<Vec<_>>(), [(&M, &(M + 4 * PAGE))]);
        assert_eq!(space.take(0, 4 * PAGE), Some(M));
    }

    #[test]
    fn an_address_rests_and_is_then_used_again() {
        let mut space = Space::new(&[0..u64::MAX], &[], PAGE);
        let mut next = || {
            let start = space.take(0, M).unwrap();
            space.give_back(start, M);
            start
        };
        let first = next();
        assert_eq!((1..).find(|_| next() == first), Some(LAP / M + 1));
    }

    #[test]
    fn large_pieces_keep_their_place_in_a_large_page() {
        let mut space = Space::new(&[0..u64::MAX], &[], PAGE);
        space.take(0, PAGE).unwrap();
        let memory = 0x7f12_3456_7000;
        let start = space.take(memory, 5 * M).unwrap();
        assert_eq!((start ^ memory) & (LARGE_PAGE - 1), 0);
        let small = space.take(memory, PAGE).unwrap();
        assert_eq!(small, start + 5 * M, "no page is wasted on a small one");
        assert_eq!(space.take(0, HIGHEST), None);
    }

    #[test]
    fn what_is_to_be_aligned_is() {
        let mut space = Space::new(&[M + PAGE..M + 6 * PAGE], &[], PAGE);
        assert_eq!(space.take_aligned(2 * PAGE, 2 * PAGE), Some(M + 2 * PAGE));
        assert_eq!(space.take_aligned(2 * PAGE, 4 * PAGE), Some(M + 4 * PAGE));
        assert_eq!(space.take_aligned(PAGE, 2 * PAGE), None);
        assert_eq!(space.take_aligned(PAGE, PAGE), Some(M + PAGE));
    }
}
