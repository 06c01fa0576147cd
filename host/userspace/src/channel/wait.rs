// SPDX-License-Identifier: Apache-2.0
//! Waiting: poll for as long as it is likely to be worth it, then sleep until the card's interrupt. One thread of a channel's waits on the bus, the
//! others for what it finds.

use super::{State, UserChannel};
use crate::pace::differs;
use crate::{Clock, SLICE};
use std::time::Duration;
use towpath_bus::Wake;
use towpath_contract as contract;
use towpath_driver::records::Ahead;
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::{Completion, Error, Result, Ticket, WaitOptions};

/// A part of a wait: polls the ring for a time, then sleeps.
struct Stretch {
    began: u64,
    budget: u64,
    /// It began with an early wake, by this lead.
    early: Option<u32>,
}

impl UserChannel {
    #[inline(never)]
    pub(super) fn wait_for(&self, ticket: Ticket, options: WaitOptions<'_>) -> Result<Completion> {
        self.wait_until(options, |state| Some(state.records.ahead(ticket)), |state| self.collect(state, ticket))
    }

    /// Wait until `check` finds what it looks for; it is called after each look at the ring. `ahead` is what the card has to do before
    /// that, if it is known.
    pub(super) fn wait_until<T>(
        &self,
        options: WaitOptions<'_>,
        ahead: impl Fn(&State) -> Option<Ahead>,
        check: impl FnMut(&mut State) -> Result<Option<T>>,
    ) -> Result<T> {
        let waited = self.wait_as_long(options, ahead, check);
        let mut state = self.state.lock();
        if state.cancelling.is_some() {
            let _ = self.see_through(&mut state); // the call that cancelled has left it to this one
        }
        if state.events {
            // This call may have consumed news that the event descriptor was to signal: an index that has passed fires at once.
            let _ = self.doorbell(contract::DOORBELL_ARM_OFFSET, state.ring.consumer.wrapping_sub(1), "arming the interrupt");
        }
        drop(state);
        waited
    }

    fn wait_as_long<T>(
        &self,
        options: WaitOptions<'_>,
        ahead: impl Fn(&State) -> Option<Ahead>,
        mut check: impl FnMut(&mut State) -> Result<Option<T>>,
    ) -> Result<T> {
        let bus = &*self.shared.bus;
        let mut state = self.state.lock();
        self.look_after(&mut state);
        if let Some(found) = check(&mut state)? {
            return Ok(found);
        }
        let mut clock = Clock::start(bus, options.timeout, state.stalled);
        let mut watch = SignalWatch::new(options);
        let (began, whole) = (clock.began, ahead(&state));
        let mut hinted = false; // an early wake comes once for a descriptor
        let mut stretch = Stretch { began, budget: state.pace.budget(whole, false), early: None };
        loop {
            if clock.over(bus, state.stalled) {
                return Err(Error::Pending { channel: self.name().into(), after: options.timeout.unwrap_or_default() });
            }
            let (mut woke, mut lead, mut arrived) = (false, None, false);
            if state.leading {
                watch.hold();
                let slice = Duration::from_nanos(clock.slice(bus, state.stalled, SLICE));
                state.followers += 1;
                self.changed.wait_for(&mut state, slice);
                state.followers -= 1;
            } else {
                let polled = bus.now().saturating_sub(stretch.began);
                let sleeps = polled >= stretch.budget;
                if sleeps {
                    watch.hold();
                    if let Some(lead) = stretch.early.take() {
                        state.pace.woke_far_too_early(lead, polled);
                    }
                    lead = self.lull(&mut state, &ahead)?.filter(|_| !hinted);
                }
                let asleep = bus.now();
                state.leading = true;
                let slice = clock.slice(bus, state.stalled, self.slice);
                drop(state);
                let wake = if sleeps { bus.wait(self.vector, slice) } else { bus.poll().map(|()| Wake::Fired) };
                state = self.state.lock();
                state.leading = false;
                if state.followers > 0 {
                    self.changed.notify_all();
                }
                match wake.map_err(|error| Error::bus(self.doing("waiting for the card"))(error))? {
                    Wake::TimedOut => state.stalled += slice,
                    Wake::Fired => woke = sleeps,
                    Wake::Interrupted => arrived = true,
                }
                // An interrupt from before ends a sleep as well, but too soon to learn from it.
                lead = lead.filter(|_| woke && state.pace.is_wake(bus.now().saturating_sub(asleep)));
            }
            let (completed, starts) = (state.records.completed(), state.starts.len());
            self.look_after(&mut state);
            if let Some(found) = check(&mut state)? {
                let now = bus.now();
                if let Some(whole) = whole {
                    state.pace.took(whole.bytes, now.saturating_sub(began));
                }
                match (lead, stretch.early) {
                    _ if !state.whole => {}
                    (Some(lead), _) => state.pace.woke_late(lead),
                    (None, Some(lead)) => state.pace.woke_early(lead, now.saturating_sub(stretch.began)),
                    (None, None) => {}
                }
                return Ok(found);
            }
            if watch.looks(arrived) {
                let looked = state.records.completed();
                drop(state); // a signal handler may use the channel
                if watch.is_due(arrived) && watch.is_over() {
                    return Err(Error::Interrupted { channel: self.name().into(), bytes: 0 });
                }
                state = self.state.lock();
                if state.records.completed() != looked {
                    if let Some(found) = check(&mut state)? {
                        return Ok(found);
                    }
                }
            }
            let nothing = state.records.completed() == completed;
            if woke || !nothing {
                let early = lead.filter(|_| nothing && state.starts.len() == starts);
                hinted = nothing && (hinted || early.is_some());
                stretch = Stretch { began: bus.now(), budget: state.pace.budget(ahead(&state), woke && nothing), early };
            }
        }
    }

    /// Get ready to sleep: set the lead and arm the interrupt. The result is the lead, if an early wake is to come.
    fn lull(&self, state: &mut State, ahead: impl Fn(&State) -> Option<Ahead>) -> Result<Option<u32>> {
        let lead = state.pace.lead(ahead(state));
        if let Some(lead) = lead.filter(|lead| differs(state.lead, *lead)) {
            self.doorbell(contract::DOORBELL_LEAD_OFFSET, lead, "setting the lead")?;
            state.lead = Some(lead);
        }
        self.store_level(state)?;
        self.arm(state)?;
        // Not the lead requested now but the one on the card.
        Ok(lead.and(state.lead).filter(|lead| *lead > 0))
    }
}
