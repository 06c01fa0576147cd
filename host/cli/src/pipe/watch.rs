// SPDX-License-Identifier: Apache-2.0
//! What the two directions of a `pipe` share: how far they are, and whether one that stands still is held up by the streams outside rather
//! than by the card.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

#[derive(Default)]
pub struct Watch {
    /// Grows with all that happens.
    steps: AtomicU64,
    /// How many directions wait for standard input or output.
    outside: AtomicU32,
    pub sent_bytes: AtomicU64,
    pub sent_messages: AtomicU64,
    pub received_bytes: AtomicU64,
    pub received_messages: AtomicU64,
    /// The input has ended, and all of it has been sent.
    pub input_ended: AtomicBool,
    /// Both directions are to end.
    pub stopping: AtomicBool,
}

impl Watch {
    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::SeqCst);
    }

    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    /// Do what may wait for a stream outside.
    pub fn outside<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.outside.fetch_add(1, Ordering::SeqCst);
        let result = wait();
        self.outside.fetch_sub(1, Ordering::SeqCst);
        self.step();
        result
    }

    /// A direction that waited for the card in vain since then is not to blame the card: the other one moved, or waits outside.
    pub fn excuses(&self, since: u64) -> bool {
        self.outside.load(Ordering::SeqCst) > 0 || self.steps() != since
    }

    /// Every message of the input has come back.
    pub fn is_even(&self) -> bool {
        self.input_ended.load(Ordering::SeqCst)
            && self.received_messages.load(Ordering::SeqCst) >= self.sent_messages.load(Ordering::SeqCst)
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}
