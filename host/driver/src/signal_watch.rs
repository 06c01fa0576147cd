// SPDX-License-Identifier: Apache-2.0
//! How a waiting call handles signals. For drivers.

use crate::WaitOptions;
use towpath_system::signals::{self, Hold};

/// Looks at the ring before signals are blocked: a call that ends sooner does not pay for it.
const LOOKS: u32 = 1024;

/// Of one call that waits.
pub struct SignalWatch<'a> {
    options: WaitOptions<'a>,
    hold: Option<Hold>,
    looks: u32,
}

impl<'a> SignalWatch<'a> {
    /// For a call that begins to wait now.
    #[inline]
    pub fn new(options: WaitOptions<'a>) -> SignalWatch<'a> {
        SignalWatch { options, hold: None, looks: 0 }
    }

    /// The call is about to sleep: from now on no signal is missed.
    #[inline]
    pub fn hold(&mut self) {
        if self.hold.is_none() {
            self.hold = Some(if self.options.interrupted.is_some() { Hold::asking() } else { Hold::new() });
        }
    }

    /// After each look or sleep: is [`SignalWatch::is_due`] to be called? `arrived`: a signal ended the sleep.
    #[inline]
    pub fn looks(&mut self, arrived: bool) -> bool {
        self.looks += 1;
        arrived || self.hold.is_some() || self.looks >= LOOKS
    }

    /// Is [`SignalWatch::is_over`] to be called? Signal handlers run here: the caller holds no lock.
    pub fn is_due(&mut self, arrived: bool) -> bool {
        self.hold();
        arrived || signals::arrived()
    }

    /// Does the signal end the call? Calls the program's function, which may do anything: the caller holds no lock.
    pub fn is_over(&mut self) -> bool {
        let Some(ask) = self.options.interrupted else { return true };
        self.hold = None; // the function runs with the program's own mask
        ask()
    }
}
