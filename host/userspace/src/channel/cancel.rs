// SPDX-License-Identifier: Apache-2.0
//! Cancels: one ends all that the card has of the channel; what was not meant is posted again, as the channel's kind allows.

use super::post::Held;
use super::{State, UserChannel};
use crate::{Clock, GRACE};
use std::time::Duration;
use towpath_contract as contract;
use towpath_driver::records::Record;
use towpath_driver::{ChannelInfo, ChannelKind, Direction, Error, Result, Status, Ticket};

/// Nanoseconds between two cancels of a channel, for the transfers that go on: longer than a read takes.
const RUN: u64 = 10_000;
/// The same on a memory, where what goes on begins anew: time for a part of a long operation, as the library cuts it.
const MEMORY_RUN: u64 = 1_000_000;
/// How long a call that cancels follows it.
const CANCEL_LOOK: Duration = Duration::from_millis(20);

/// What the card does with a transfer that another one's cancel has ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It goes on where it was.
    Stream,
    /// It may be done again from its beginning: a write or a read of the same bytes.
    Memory,
    /// Only the kind knows what it has taken.
    Named,
}

impl Manner {
    pub fn of(info: &ChannelInfo) -> Manner {
        match info.kind {
            _ if info.is_stream() || info.is_for_peers_alone() => Manner::Stream,
            ChannelKind::Memory => Manner::Memory,
            _ => Manner::Named,
        }
    }
}

/// A cancel is over; was there one?
pub(super) fn end_cancel(state: &mut State) -> bool {
    state.used -= u16::from(std::mem::take(&mut state.closing));
    state.looks_further = state.device_memory;
    state.cancelling.take().is_some()
}

impl UserChannel {
    /// End these transfers. The card is asked to cancel, once; it ends everything that is posted, and transfers that are not to be
    /// cancelled are posted again.
    pub(super) fn cancel(&self, state: &mut State, tickets: &[Ticket]) -> Result<()> {
        if self.manner == Manner::Named && tickets.iter().any(|ticket| !state.records.has_ended(*ticket)) {
            state.records.mark_all();
        }
        for ticket in tickets {
            state.records.mark(*ticket);
        }
        self.drop_waiting(state, false, Status::Cancelled);
        if state.records.any_marked() && state.cancelling.is_none() {
            self.let_run(state)?;
        }
        if state.records.any_marked() && state.cancelling.is_none() {
            // Programs know a channel's log by this name.
            log::debug!(target: "towpath_userspace::channel", "{}", self.doing(&format!("cancelling; transfers: {}", tickets.len())));
            if let Err(error) = self.doorbell(contract::DOORBELL_CANCEL_OFFSET, 1, "cancelling") {
                self.abandon(state, false);
                return Err(error);
            }
            state.looks_further = true;
            state.cancelling = Some(Clock::start(&*self.shared.bus, Some(GRACE), state.stalled));
            state.closing = self.manner == Manner::Memory && self.direction == Direction::H2c;
            state.used += u16::from(state.closing);
            self.see_through(state)?;
        }
        Ok(())
    }

    /// Let what an earlier cancel has interrupted run for a moment: cancels that follow each other must not keep a transfer from its first
    /// byte.
    fn let_run(&self, state: &mut State) -> Result<()> {
        let bus = &*self.shared.bus;
        let run = if self.manner == Manner::Memory { MEMORY_RUN } else { RUN };
        let Some(until) = state.resumed.take().map(|resumed| resumed + run) else { return Ok(()) };
        let ends = state.records.ends();
        while bus.now() < until && state.records.ends() == ends && !state.leading {
            bus.poll().map_err(|error| Error::bus(self.doing("cancelling"))(error))?;
            self.reap(state);
        }
        Ok(())
    }

    /// Follow a cancel to its end, so that the other transfers go on even if no call looks at the channel for long: the card stops within
    /// microseconds. A card that takes longer is left to the next look. A thread that waits in the channel does this anyway.
    pub(super) fn see_through(&self, state: &mut State) -> Result<()> {
        let bus = &*self.shared.bus;
        let mut clock = Clock::start(bus, Some(CANCEL_LOOK), state.stalled);
        while state.cancelling.is_some() && !state.leading {
            if clock.over(bus, state.stalled) {
                return if state.events { self.arm(state) } else { Ok(()) };
            }
            bus.poll().map_err(|error| Error::bus(self.doing("cancelling"))(error))?;
            self.look_after(state);
        }
        Ok(())
    }

    /// The oldest descriptor was ended after `bytes` bytes by another transfer's cancel: the rest is posted again when that is over.
    #[cold]
    pub(super) fn put_back(&self, state: &mut State, bytes: u64) {
        let record = state.records.put_back(bytes);
        let places = record.held.advance(bytes);
        state.used -= record.places - places;
        record.places = places;
        state.statistics.bytes += bytes;
    }

    /// A cancel has stopped a write to a memory in its middle, or a fault has met it meanwhile: its message may be open on the card, where the
    /// next write would continue it. An empty descriptor ends it, or is an empty message; nobody collects what becomes of that.
    #[cold]
    pub(super) fn close_write(&self, state: &mut State) {
        if std::mem::take(&mut state.closing) {
            let (ticket, record) = state.records.queue_first();
            *record = Record { places: 1, held: Held::end_of_message(), ..Record::default() };
            state.records.abandon(ticket);
        }
    }
}
