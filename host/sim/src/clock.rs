// SPDX-License-Identifier: Apache-2.0
//! Rising edges of a clock, exact to the picosecond over any time.

/// A clock whose first rising edge is one period after it was made.
#[derive(Clone, Debug)]
pub struct Clock {
    next: u64,
    period: u64,
    remainder: u64,
    fraction: u64,
    kilohertz: u64,
}

impl Clock {
    /// A clock of `kilohertz` (not 0) which starts at `now` picoseconds.
    pub fn new(kilohertz: u32, now: u64) -> Self {
        let kilohertz = u64::from(kilohertz.max(1));
        let (period, remainder) = (1_000_000_000 / kilohertz, 1_000_000_000 % kilohertz);
        Clock { next: now + period, period, remainder, fraction: 0, kilohertz }
    }

    /// When the next edge is.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Picoseconds from edge to edge, rounded down.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The next edge has happened.
    pub fn tick(&mut self) {
        self.next += self.period;
        self.fraction += self.remainder;
        if self.fraction >= self.kilohertz {
            self.fraction -= self.kilohertz;
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_rates_do_not_drift() {
        let mut clock = Clock::new(333_333, 0);
        for _ in 0..333_333 {
            clock.tick();
        }
        // 333 333 333 edges take a second, so these take a millisecond, and the first one was already there.
        assert_eq!(clock.next(), 1_000_000_000 + 3_000);
    }
}
