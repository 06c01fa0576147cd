// SPDX-License-Identifier: Apache-2.0
//! Whose turn it is on a channel, and how long one call may still wait.
//!
//! Blocking calls of one channel run one after the other, in the order in which they came. A call that waits for its turn keeps to its own
//! limit and to its own signals: the call before it may wait without a limit.

use crate::{Device, Error, Result, WaitOptions};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::WireStatistics;

/// One wait for the turn, at most; then limit and signals are looked at. In simulation another thread moves the time, in which the limit
/// counts.
const SLICE: Duration = Duration::from_millis(20);
const SIMULATED_SLICE: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Queue {
    taken: bool,
    /// The waiting calls, by number, in order.
    waiting: VecDeque<u64>,
    next: u64,
}

/// One call at a time.
#[derive(Default)]
pub(crate) struct Turn {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// It is this call's turn until this is dropped.
#[must_use]
pub(crate) struct Taken<'a>(&'a Turn);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.taken = false;
        if !queue.waiting.is_empty() {
            self.0.changed.notify_all();
        }
    }
}

/// A call that waits for its turn; dropping this ends the wait.
struct Leaves<'a> {
    turn: &'a Turn,
    number: u64,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.turn.queue.lock().waiting.retain(|waiting| *waiting != self.number);
        self.turn.changed.notify_all(); // it may have been the first
    }
}

impl Turn {
    /// Wait for the turn. [`Error::Pending`] when the limit is over, [`Error::Interrupted`] when a signal ended it.
    pub fn take(&self, device: &Device, channel: &str, limit: &CallLimit<'_>) -> Result<Taken<'_>> {
        let mut queue = self.queue.lock();
        if !queue.taken && queue.waiting.is_empty() {
            queue.taken = true;
            return Ok(Taken(self));
        }
        let number = queue.next;
        queue.next += 1;
        queue.waiting.push_back(number);
        drop(queue);
        let leaves = Leaves { turn: self, number };
        let taken = self.wait(device, channel, limit, number)?;
        std::mem::forget(leaves);
        Ok(taken)
    }

    #[cold]
    fn wait(&self, device: &Device, channel: &str, limit: &CallLimit<'_>, number: u64) -> Result<Taken<'_>> {
        let mut watch = SignalWatch::new(limit.options);
        watch.hold();
        let mut quiet = Quiet::new(device);
        let mut queue = self.queue.lock();
        loop {
            if !queue.taken && queue.waiting.front() == Some(&number) {
                queue.taken = true;
                queue.waiting.pop_front();
                return Ok(Taken(self));
            }
            let left = limit.left(device).timeout;
            if left.is_some_and(|left| left.is_zero()) || limit.options.timeout.is_some_and(|timeout| quiet.lasts(device, timeout)) {
                return Err(Error::Pending { channel: channel.into(), after: limit.options.timeout.unwrap_or_default() });
            }
            let slice = if quiet.wire.is_some() { SIMULATED_SLICE } else { SLICE };
            self.changed.wait_for(&mut queue, slice.min(left.unwrap_or(slice)));
            drop(queue); // a signal handler may use the channel
            if watch.is_due(false) {
                if watch.is_over() {
                    return Err(Error::Interrupted { channel: channel.into(), bytes: 0 });
                }
                watch.hold();
            }
            queue = self.queue.lock();
        }
    }
}

/// How long the link of a simulated card has stood still, by the wall's clock: then that counts in place of simulated time.
struct Quiet {
    wire: Option<WireStatistics>,
    since: Instant,
}

impl Quiet {
    fn new(device: &Device) -> Quiet {
        Quiet { wire: device.wire(), since: Instant::now() }
    }

    fn lasts(&mut self, device: &Device, time: Duration) -> bool {
        let (Some(before), Some(now)) = (self.wire, device.wire()) else { return false };
        if (before.to_host, before.to_card) != (now.to_host, now.to_card) {
            *self = Quiet { wire: Some(now), since: Instant::now() };
        }
        self.since.elapsed() >= time
    }
}

/// The limit of one call, over all that it waits for: its turn, room, and each of its descriptors.
pub(crate) struct CallLimit<'a> {
    pub options: WaitOptions<'a>,
    began: u64,
    /// The card may have a message that this call has begun, without its end.
    pub open: bool,
}

impl<'a> CallLimit<'a> {
    /// For a call that begins now.
    pub fn new(device: &Device, options: WaitOptions<'a>) -> CallLimit<'a> {
        CallLimit { options, began: options.timeout.map_or(0, |_| device.now_ns()), open: false }
    }

    /// What is left of it, for the next wait.
    pub fn left(&self, device: &Device) -> WaitOptions<'a> {
        let left = |limit: Duration| limit.saturating_sub(Duration::from_nanos(device.now_ns().saturating_sub(self.began)));
        WaitOptions { timeout: self.options.timeout.map(left), ..self.options }
    }

    /// The call has made progress: the limit counts from now.
    pub fn progress(&mut self, device: &Device) {
        *self = CallLimit { open: self.open, ..CallLimit::new(device, self.options) };
    }

    /// The error of a wait for a part of the limit, as one for the whole.
    pub fn whole(&self, error: Error) -> Error {
        match error {
            Error::Pending { channel, .. } => Error::Pending { channel, after: self.options.timeout.unwrap_or_default() },
            other => other,
        }
    }
}
