// SPDX-License-Identifier: Apache-2.0
//! Random numbers that are the same on every machine and with every version of every crate: a run is reproduced by its seed.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). Not for secrets.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed. Streams of different seeds have nothing in common.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `bound - 1`; 0 when `bound` is 0. The bias, below 2^-32 for the bounds used here, does not matter.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            0
        } else {
            self.next() % bound
        }
    }

    /// True `parts` times in a million.
    pub fn chance(&mut self, parts_per_million: u32) -> bool {
        parts_per_million != 0 && self.below(1_000_000) < u64::from(parts_per_million)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_of_seed_zero_are_those_of_the_reference() {
        let mut random = Random::new(0);
        assert_eq!(random.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next(), 0x6e78_9e6a_a1b9_65f4);
    }
}
