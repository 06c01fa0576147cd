// SPDX-License-Identifier: Apache-2.0
//! When a waiting call polls the ring, when it sleeps, and how long before the end the card is to wake it.
//!
//! Pure arithmetic on the channel's measurements so far, in the bus's own time; it touches neither the card nor a clock. Results never
//! depend on it: bad guesses cost time, or a processor that polls in vain, and both within bounds. A call polls for no longer than a few
//! times what waking costs (or the program allows), and a sleep always ends with the next entry.
//!
//! Three things are learned. How long waking takes is measured once, when the channel is opened. How long a number of bytes takes, by their
//! order of magnitude, is a running mean. The *lead*, the bytes that the card still has to move when it raises the interrupt early, is
//! controlled: a program that wakes before the end measures by how much, and the lead shrinks in proportion; one that wakes too late
//! cannot, so the lead grows by half, and with it the margin that is aimed at.

use std::fmt;
use std::time::Duration;
use towpath_driver::records::Ahead;
use towpath_driver::Notify;

/// How long waking takes where it cannot be measured, in nanoseconds.
const WAKE: u64 = 10_000;
/// The lead is not made smaller: a card may not look at its last bits, and none at all would be a sleep without early wake.
const LEAD_MIN: u64 = 256;
/// The longest poll of the ring after an early wake, in units of the time that is worth polling.
const PATIENCE: u64 = 8;

#[derive(Debug)]
pub(super) struct Pace {
    notify: Notify,
    /// The channel's vector has no other interrupts.
    alone: bool,
    /// Bytes that the card can move in a nanosecond at the very best.
    fastest: f64,
    /// Nanoseconds from the interrupt to the program.
    wake: u64,
    /// Nanoseconds before the end at which the program is to be awake.
    margin: u64,
    lead: u64,
    /// Nanoseconds for which to poll the ring after an early wake.
    patience: u64,
    /// Nanoseconds that a byte takes, by the order of magnitude of the bytes waited for; 0: unknown.
    costs: [f64; u64::BITS as usize],
}

impl Pace {
    pub fn new(notify: Notify, alone: bool, fastest: f64) -> Pace {
        let mut pace = Pace { notify, alone, fastest, wake: 0, margin: 0, lead: 0, patience: 0, costs: [0.0; u64::BITS as usize] };
        pace.set_wake(WAKE);
        pace
    }

    /// Is the card to wake the program early? Then it matters how long waking takes.
    pub fn wakes_early(&self) -> bool {
        self.alone && matches!(self.notify, Notify::Early | Notify::Adaptive { .. })
    }

    pub fn set_wake(&mut self, nanoseconds: u64) {
        self.wake = nanoseconds.max(1);
        self.margin = (self.wake / 8).max(1);
        self.lead = self.longest_lead() / 2;
        self.patience = self.least_patience();
    }

    /// With this lead the program wakes too early even at the best rate.
    fn longest_lead(&self) -> u64 {
        ((2 * (self.wake + self.margin)) as f64 * self.fastest) as u64
    }

    fn least_patience(&self) -> u64 {
        self.limit().saturating_mul(2)
    }

    /// A transfer that is expected to take no longer than this is polled for: to sleep in it would save less than waking takes.
    fn limit(&self) -> u64 {
        let twice = self.wake.saturating_mul(2);
        match self.notify {
            Notify::Adaptive { poll } => nanoseconds(poll).max(twice),
            _ => twice,
        }
    }

    fn expected(&self, bytes: u64) -> u64 {
        let cost = self.costs[class(bytes)];
        let cost = if cost > 0.0 { cost } else { 1.0 / self.fastest };
        (bytes as f64 * cost) as u64
    }

    /// Nanoseconds for which to poll the ring before sleeping. `stirred`: the program was asleep and woke, but nothing has completed yet,
    /// as after an early wake or a message that begins.
    pub fn budget(&self, ahead: Option<Ahead>, stirred: bool) -> u64 {
        match self.notify {
            Notify::Poll => return u64::MAX,
            Notify::Interrupt => return 0,
            Notify::Early | Notify::Adaptive { .. } => {}
        }
        let limit = self.limit();
        match ahead {
            None => limit,
            Some(Ahead { descriptors: 1, .. }) if stirred => self.patience,
            Some(Ahead { bytes, .. }) => match self.expected(bytes) {
                expected if expected <= limit => expected + limit,
                _ => 0,
            },
        }
    }

    /// The lead to sleep with; 0: none, `None`: the lead stays as it is.
    pub fn lead(&self, ahead: Option<Ahead>) -> Option<u32> {
        match ahead {
            _ if !self.wakes_early() => None,
            Some(Ahead { bytes, descriptors: 1 }) => {
                // Of a message that is no longer than the lead, the first bytes are to come before the program wakes: they may be late.
                let lead = self.lead.min(bytes - bytes / 8);
                Some(if lead < LEAD_MIN { 0 } else { u32::try_from(lead).unwrap_or(u32::MAX) })
            }
            _ => Some(0),
        }
    }

    /// Can a sleep of this length have ended by an interrupt that came during it?
    pub fn is_wake(&self, nanoseconds: u64) -> bool {
        nanoseconds >= self.wake / 4
    }

    /// A wait for `bytes` bytes took `nanoseconds`.
    pub fn took(&mut self, bytes: u64, nanoseconds: u64) {
        let cost = &mut self.costs[class(bytes)];
        let sample = nanoseconds.max(1) as f64 / bytes.max(1) as f64;
        *cost = if *cost > 0.0 { *cost + (sample - *cost) / 4.0 } else { sample };
    }

    /// The program woke, with this lead, when the descriptor had completed.
    pub fn woke_late(&mut self, lead: u32) {
        if u64::from(lead) < self.lead / 8 * 7 {
            return; // a larger one was known to be needed, and the message too short for it
        }
        self.margin = (2 * self.margin).min(self.wake);
        self.lead = (self.lead + self.lead / 2 + 1).min(self.longest_lead());
    }

    /// The program woke, with this lead, and polled for `nanoseconds` in vain. The last bytes may be on their way for longer than that.
    pub fn woke_far_too_early(&mut self, lead: u32, nanoseconds: u64) {
        self.woke_early(lead, nanoseconds);
        self.patience = (2 * nanoseconds).clamp(self.least_patience(), PATIENCE * self.limit());
    }

    /// The program woke, with this lead, `nanoseconds` before the descriptor completed.
    pub fn woke_early(&mut self, lead: u32, nanoseconds: u64) {
        // What took `wake + nanoseconds` is to take `wake + margin`. Half the way, for a single slow transfer may be an accident.
        let (wanted, was) = ((self.wake + self.margin) as f64, (self.wake + nanoseconds) as f64);
        let scaled = (f64::from(lead) * (1.0 + wanted / was) / 2.0) as u64;
        self.lead = scaled.clamp(LEAD_MIN, self.longest_lead().max(LEAD_MIN));
        self.patience = self.least_patience().max((7 * self.patience + 2 * nanoseconds) / 8);
        // The margin that accidents have made large goes down slowly.
        let least = (self.wake / 8).max(1);
        self.margin = least + (self.margin - least) * 15 / 16;
    }
}

/// How it waits, for the log.
impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.notify {
            Notify::Adaptive { poll } => write!(f, "adaptively, polling for up to {poll:?}")?,
            Notify::Early => f.write_str("for an early wake")?,
            Notify::Poll => f.write_str("by polling")?,
            Notify::Interrupt => f.write_str("for the interrupt")?,
        }
        match self.wakes_early() {
            true => write!(f, " (waking takes {} ns)", self.wake),
            false => Ok(()),
        }
    }
}

/// Is it worth a store to the card to change its lead?
pub(super) fn differs(written: Option<u32>, wanted: u32) -> bool {
    match written {
        None => true,
        Some(written) => (written == 0) != (wanted == 0) || u64::from(written.abs_diff(wanted)) * 8 > u64::from(wanted),
    }
}

fn class(bytes: u64) -> usize {
    bytes.max(1).ilog2() as usize
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FASTEST: f64 = 4.0;

    fn one(bytes: u64) -> Option<Ahead> {
        Some(Ahead { bytes, descriptors: 1 })
    }

    /// A card that moves bytes at a rate behind a pipe of some depth, and a host that wakes at a cost.
    struct Plant {
        rate: f64,
        pipe: u64,
        wake: u64,
        jitter: u64,
        random: u64,
    }

    impl Plant {
        /// One transfer that was slept for: nanoseconds from waking to the end, negative when it woke late.
        fn transfer(&mut self, pace: &mut Pace) -> i64 {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let wake = self.wake + (self.random >> 33) % (self.jitter + 1);
            let lead = pace.lead(one(1 << 30)).unwrap_or(0);
            let left = (f64::from(lead) / self.rate) as u64 + self.pipe;
            let slack = left as i64 - wake as i64;
            match u64::try_from(slack) {
                Ok(early) => pace.woke_early(lead, early),
                Err(_) => pace.woke_late(lead),
            }
            slack
        }
    }

    fn pace(wake: u64) -> Pace {
        let mut pace = Pace::new(Notify::Early, true, FASTEST);
        pace.set_wake(wake);
        pace
    }

    #[test]
    fn the_lead_settles_just_before_the_end() {
        for wake in [1_000, 10_000] {
            for rate in [3.37, 0.8, 0.1] {
                for pipe in [0, 400] {
                    let (mut pace, mut plant) = (pace(wake), Plant { rate, pipe, wake, jitter: 0, random: 1 });
                    let slacks: Vec<i64> = (0..60).map(|_| plant.transfer(&mut pace)).collect();
                    assert!(slacks.iter().all(|slack| *slack >= 0), "never late: {slacks:?}");
                    let last = slacks[59];
                    let least = (LEAD_MIN as f64 / rate) as i64 + pipe as i64 - wake as i64;
                    assert!(last <= least.max(wake as i64 / 4), "wake {wake}, rate {rate}, pipe {pipe}: awake {last} ns before the end");
                }
            }
        }
    }

    #[test]
    fn a_pipe_deeper_than_the_wake_needs_no_lead_but_keeps_the_early_wake() {
        let (mut pace, mut plant) = (pace(1_000), Plant { rate: 3.37, pipe: 2_400, wake: 1_000, jitter: 0, random: 1 });
        for _ in 0..60 {
            assert!(plant.transfer(&mut pace) > 0);
        }
        assert_eq!(pace.lead(one(1 << 20)), Some(LEAD_MIN as u32));
    }

    #[test]
    fn a_wake_that_has_become_slower_or_varies_is_followed() {
        let (mut pace, mut plant) = (pace(1_000), Plant { rate: 3.37, pipe: 0, wake: 1_000, jitter: 0, random: 1 });
        for _ in 0..30 {
            plant.transfer(&mut pace);
        }
        plant.wake = 1_800;
        let late = (0..30).filter(|_| plant.transfer(&mut pace) < 0).count();
        assert!((1..6).contains(&late), "{late} of 30 late");
        plant.jitter = 300;
        let late = (0..1000).filter(|_| plant.transfer(&mut pace) < 0).count();
        assert!(late < 200, "{late} of 1000 late");
    }

    #[test]
    fn a_card_without_early_wake_leaves_the_lead_within_its_bound() {
        let mut pace = pace(10_000);
        for _ in 0..100 {
            pace.woke_late(u32::MAX);
        }
        assert_eq!(pace.lead(one(u64::from(u32::MAX))), Some(160_000));
        assert_eq!(pace.budget(one(1 << 20), false), 0, "long transfers are still slept for");
    }

    #[test]
    fn what_is_shorter_than_the_wake_is_looked_for_and_what_is_longer_is_not() {
        let mut pace = pace(10_000);
        assert!(pace.budget(one(16 << 10), false) >= 10_000);
        assert_eq!(pace.budget(one(1 << 20), false), 0);
        // A slow core: these bytes have taken long.
        pace.took(16 << 10, 1_000_000);
        assert_eq!(pace.budget(one(16 << 10), false), 0);
        // Yet a lead as long as the message would wake the program at once.
        assert_eq!((pace.lead(one(16 << 10)), pace.lead(one(60))), (Some(14 << 10), Some(0)));
        // Of another order of magnitude, nothing was measured.
        assert!(pace.budget(one(4 << 10), false) >= 10_000);
        // Several before it: no lead, because it would be the first one's.
        assert_eq!(pace.lead(Some(Ahead { bytes: 1 << 20, descriptors: 2 })), Some(0));
    }

    #[test]
    fn looking_is_bounded() {
        for notify in [Notify::Early, Notify::default()] {
            let mut pace = Pace::new(notify, true, FASTEST);
            pace.took(5, u64::MAX);
            pace.took(1 << 20, u64::MAX);
            for _ in 0..100 {
                pace.woke_far_too_early(1000, u64::MAX / 16);
            }
            let bound = PATIENCE * pace.limit();
            for bytes in [0, 1, 5, 1 << 10, 1 << 16, 1 << 20, 1 << 40] {
                for stirred in [false, true] {
                    assert!(pace.budget(one(bytes), stirred) <= bound);
                    assert!(pace.budget(Some(Ahead { bytes, descriptors: 3 }), stirred) <= bound);
                }
            }
            assert!(pace.budget(None, true) <= bound);
        }
    }

    #[test]
    fn plain_ways_of_waiting_stay_plain() {
        let poll = Pace::new(Notify::Poll, true, FASTEST);
        assert_eq!((poll.budget(one(1 << 30), false), poll.lead(one(1 << 30))), (u64::MAX, None));
        let interrupt = Pace::new(Notify::Interrupt, true, FASTEST);
        assert_eq!((interrupt.budget(one(1), true), interrupt.lead(one(1 << 30))), (0, None));
        // A vector that others fire on, too, gives no measurement of this channel.
        let shared = Pace::new(Notify::Early, false, FASTEST);
        assert_eq!((shared.wakes_early(), shared.lead(one(1 << 30))), (false, None));
    }

    #[test]
    fn only_a_noticeable_change_is_worth_a_store() {
        assert!(differs(None, 0) && differs(Some(0), 1) && differs(Some(1), 0) && differs(Some(1000), 2000));
        assert!(!differs(Some(0), 0) && !differs(Some(1000), 1000) && !differs(Some(1000), 1100));
    }
}
