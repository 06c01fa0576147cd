// SPDX-License-Identifier: Apache-2.0
//! Bad days on the link, on demand: for the card's read requests, at a given one or at random.
//!
//! Not for what the card does wrong: that is found and reported by itself.

use crate::random::Random;
use crate::settings::Settings;

/// What happens to a read request of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is never answered.
    Drop,
    /// Its completions come this many nanoseconds later than they would.
    Delay(u64),
    /// One completion with status unsupported request.
    UnsupportedRequest,
    /// One completion with status completer abort.
    CompleterAbort,
    /// Its data comes poisoned.
    Poison,
}

/// The faults that are to come, for one card.
pub struct Faults {
    planned: Vec<(u64, Fault)>,
    requests: u64,
    rates: [(u32, Fault); 4],
    any_rate: bool,
    random: Random,
}

impl Faults {
    /// The random faults that the settings ask for.
    pub fn new(settings: &Settings, random: Random) -> Self {
        let rates = [
            (settings.fault_drop, Fault::Drop),
            (settings.fault_unsupported, Fault::UnsupportedRequest),
            (settings.fault_abort, Fault::CompleterAbort),
            (settings.fault_poison, Fault::Poison),
        ];
        Faults { planned: Vec::new(), requests: 0, any_rate: rates.iter().any(|rate| rate.0 != 0), rates, random }
    }

    /// `fault` happens to the card's read request that comes after `ahead` more.
    pub fn plan(&mut self, ahead: u64, fault: Fault) {
        self.planned.push((self.requests + ahead, fault));
    }

    /// What happens to the read request that has come now.
    pub fn next(&mut self) -> Option<Fault> {
        let number = self.requests;
        self.requests += 1;
        if let Some(index) = self.planned.iter().position(|plan| plan.0 == number) {
            return Some(self.planned.swap_remove(index).1);
        }
        if !self.any_rate {
            return None;
        }
        let random = &mut self.random;
        self.rates.iter().find(|rate| random.chance(rate.0)).map(|rate| rate.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_fault_happens_once_at_its_request() {
        let mut faults = Faults::new(&Settings::default(), Random::new(1));
        assert_eq!(faults.next(), None);
        faults.plan(1, Fault::CompleterAbort);
        faults.plan(0, Fault::Drop);
        assert_eq!([faults.next(), faults.next(), faults.next()], [Some(Fault::Drop), Some(Fault::CompleterAbort), None]);
    }

    #[test]
    fn rates_are_kept_roughly() {
        let settings = Settings { fault_drop: 100_000, ..Settings::default() };
        let mut faults = Faults::new(&settings, Random::new(1));
        let dropped = (0..10_000).filter(|_| faults.next() == Some(Fault::Drop)).count();
        assert!((800..1200).contains(&dropped), "{dropped} of 10000");
    }
}
