// SPDX-License-Identifier: Apache-2.0
//! Random numbers that are the same on every machine: xorshift64*, seeded through a mixer so that neighbouring seeds have nothing in
//! common.

/// Mixes 64 bits (the finaliser of splitmix64).
pub fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(mix(seed).max(1))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0 to `limit - 1`; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A length from 1 to 2^log2, log-uniform: each power of two as likely, evenly spread between two of them.
    pub fn length(&mut self, log2: u32) -> usize {
        let octave = self.below(log2 as usize);
        (1 << octave) + self.below(1 << octave) + usize::from(self.one_in(64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_log_uniform() {
        let mut random = Random::new(1);
        let mut octaves = [0; 21];
        for _ in 0..20_000 {
            octaves[random.length(20).ilog2() as usize] += 1;
        }
        assert!(octaves[..20].iter().all(|count| (800..1200).contains(count)), "{octaves:?}");
    }
}
