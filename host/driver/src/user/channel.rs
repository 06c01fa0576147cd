// SPDX-License-Identifier: Apache-2.0
//! One channel of a card that is driven from user space: post, reap, cancel, reset.

mod post;

use self::post::Held;
use super::pace::{differs, Pace};
use super::{lock, nanoseconds, Clock, Range, Shared, DESCRIPTOR_LIMIT, DEVICE, GRACE, SHARED_SLICE, SLICE, STARTS_LIMIT};
use crate::records::{Ahead, Look, Record, Records};
use crate::ring::Ring;
use crate::{
    moderation_time, Access, Channel, ChannelInfo, ChannelOptions, ChannelStatistics, Completion, Direction, Error, Keep, Message,
    MessageStart, Piece, Result, Status, Ticket,
};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use towpath_bus::{Bus, Wake};
use towpath_contract as contract;

/// How often the cost of waking is measured; the middle counts. And how long an interrupt may take that was asked for.
const RINGS: usize = 3;
const RING_LIMIT: Duration = Duration::from_millis(1);

/// The program's hold on a channel.
pub(super) struct Handle(pub(super) Arc<UserChannel>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(super) struct UserChannel {
    shared: Arc<Shared>,
    /// The same as `shared.bus`, one step nearer.
    bus: Arc<dyn Bus>,
    position: usize,
    options: ChannelOptions,
    direction: Direction,
    depth: u16,
    /// Where its doorbell page is in BAR 0.
    doorbells: u64,
    vector: u16,
    slice: Duration,
    pub(super) state: Mutex<State>,
    /// Told when a leader leaves while others wait.
    changed: Condvar,
}

pub(super) struct State {
    ring: Ring,
    records: Records<Held>,
    /// The registered range that was used last, and the count of the registry's changes at that time.
    recent: Option<(u64, Range)>,
    /// Places in the card's queue that are taken.
    used: u16,
    free_slots: Vec<u16>,
    starts: VecDeque<MessageStart>,
    /// All but what the records know.
    statistics: ChannelStatistics,
    /// Ring entries reaped, and resets: changes when anything has happened.
    progress: u64,
    /// Nanoseconds of waits in which nothing happened.
    stalled: u64,
    leading: bool,
    followers: usize,
    /// The program uses the event descriptor: a look that finds nothing arms the interrupt.
    events: bool,
    /// The card may hold what we do not know of: nothing is posted before a reset has ended.
    lost: bool,
    /// The program has dropped it: no reset of the card starts it again.
    closed: bool,
    pace: Pace,
    /// The card's lead, as far as it is known.
    lead: Option<u32>,
    /// The last completion told of all bytes that its descriptor asked for.
    whole: bool,
    /// The word for the card's moderation register.
    moderation: u32,
}

/// A part of a wait: looks at the ring for so long, then sleeps.
struct Stretch {
    began: u64,
    budget: u64,
    /// It began with an early wake, by this lead.
    early: Option<u32>,
}

impl UserChannel {
    pub(super) fn open(shared: &Arc<Shared>, position: usize, options: ChannelOptions) -> Result<UserChannel> {
        let info = &shared.card.info.channels[position];
        let (vector, is_shared) = shared.vector(position);
        let slots = contract::INLINE_SLOTS_MAX.min(info.inline_slots.into()) as u16;
        let state = State {
            ring: Ring::allocate(&shared.bus, info.queue_depth)?,
            records: Records::new(info.queue_depth),
            recent: None,
            used: 0,
            free_slots: if info.direction == Direction::H2c { (0..slots).rev().collect() } else { Vec::new() },
            starts: VecDeque::new(),
            statistics: ChannelStatistics::default(),
            progress: 0,
            stalled: 0,
            leading: false,
            followers: 0,
            events: false,
            lost: false,
            closed: false,
            pace: Pace::new(options.notify, !is_shared, shared.card.bytes_per_nanosecond()),
            lead: None,
            whole: false,
            moderation: 0,
        };
        let channel = UserChannel {
            shared: shared.clone(),
            bus: shared.bus.clone(),
            position,
            options,
            direction: info.direction,
            depth: info.queue_depth,
            doorbells: shared.card.channel_page(position, contract::PAGE_CHANNEL_DOORBELL),
            vector,
            slice: if is_shared { SHARED_SLICE } else { SLICE },
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        {
            let mut state = lock(&channel.state);
            // Somebody may have died with it; the ring must not be moved under a running channel.
            let status = channel.read(contract::CHANNEL_STATUS_OFFSET, "opening the channel")?;
            let busy =
                contract::CHANNEL_STATUS_RUNNING_MASK | contract::CHANNEL_STATUS_ERROR_MASK | contract::CHANNEL_STATUS_RESETTING_MASK;
            if status & busy != 0 {
                log::info!("{}", channel.doing("it was left running, or with an error; resetting it"));
                channel.reset_locked(&mut state)?;
            } else {
                channel.set_up(&mut state)?;
            }
            if state.pace.wakes_early() {
                channel.measure_wake(&mut state)?;
            }
            let vector = if is_shared { "shared" } else { "its own" };
            log::debug!("{}", channel.doing(&format!("opened; waits {}; vector {} ({vector})", state.pace, channel.vector)));
        }
        Ok(channel)
    }

    /// How long it takes from an interrupt to the program: asks for some at once, by arming with an index that has long passed.
    fn measure_wake(&self, state: &mut State) -> Result<()> {
        const DOING: &str = "measuring how long waking takes";
        let bus = &*self.shared.bus;
        let failed = |error| Error::bus(self.doing(DOING))(error);
        let began = bus.now();
        self.read(contract::CHANNEL_STATUS_OFFSET, DOING)?;
        let store = bus.now().saturating_sub(began) / 2;
        bus.wait(self.vector, 0).map_err(failed)?; // one from before tells nothing
        let mut took = [0; RINGS];
        for took in &mut took {
            let began = bus.now();
            self.doorbell(contract::DOORBELL_ARM_OFFSET, state.ring.consumer.wrapping_sub(1), DOING)?;
            if bus.wait(self.vector, nanoseconds(RING_LIMIT)).map_err(failed)? == Wake::TimedOut {
                log::debug!("{}", self.doing("no interrupt came: how long waking takes is not known"));
                return Ok(());
            }
            *took = bus.now().saturating_sub(began + store);
        }
        took.sort_unstable();
        state.pace.set_wake(took[RINGS / 2]);
        Ok(())
    }

    fn name(&self) -> &str {
        &self.info().name
    }

    fn page(&self, page: u64) -> u64 {
        self.shared.card.channel_page(self.position, page)
    }

    fn doing(&self, what: &str) -> String {
        format!("{}: channel \"{}\": {what}", self.shared.bus.name(), self.name())
    }

    fn read(&self, offset: u64, doing: &str) -> Result<u32> {
        let at = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + offset;
        self.shared.bus.read32(DEVICE, at).map_err(|error| Error::bus(self.doing(doing))(error))
    }

    fn write(&self, offset: u64, value: u32, doing: &str) -> Result<()> {
        let at = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + offset;
        self.shared.bus.write32(DEVICE, at, value).map_err(|error| Error::bus(self.doing(doing))(error))
    }

    fn doorbell(&self, offset: u64, value: u32, doing: &str) -> Result<()> {
        let at = self.doorbells + offset;
        self.shared.bus.write32(DEVICE, at, value).map_err(|error| Error::bus(self.doing(doing))(error))
    }

    /// Give the card an empty ring, and start the channel.
    fn set_up(&self, state: &mut State) -> Result<()> {
        const DOING: &str = "starting the channel";
        state.ring.clear();
        state.lead = None;
        let base = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_RING_BASE_OFFSET;
        let address = state.ring.address();
        self.shared.bus.write64(DEVICE, base, address).map_err(|error| Error::bus(self.doing(DOING))(error))?;
        self.write(contract::CHANNEL_RING_LOG2_OFFSET, state.ring.log2, DOING)?;
        self.write(contract::CHANNEL_VECTOR_OFFSET, self.vector.into(), DOING)?;
        if state.moderation != 0 {
            self.write(contract::CHANNEL_MODERATION_OFFSET, state.moderation, DOING)?;
        }
        let announce = if self.announces() { contract::CHANNEL_CONTROL_ANNOUNCE_MASK } else { 0 };
        self.write(contract::CHANNEL_CONTROL_OFFSET, contract::CHANNEL_CONTROL_ENABLE_MASK | announce, DOING)?;
        if state.events {
            self.arm(state)?;
        }
        Ok(())
    }

    /// What the card does with the program's memory.
    fn access(&self) -> Access {
        match self.direction {
            Direction::H2c => Access::Read,
            Direction::C2h => Access::Write,
        }
    }

    fn announces(&self) -> bool {
        self.options.announce && self.direction == Direction::C2h
    }

    fn arm(&self, state: &State) -> Result<()> {
        self.doorbell(contract::DOORBELL_ARM_OFFSET, state.ring.consumer, "arming the interrupt")
    }

    /// Take all new entries off the ring.
    fn reap(&self, state: &mut State) {
        while let Some(entry) = state.ring.next() {
            state.progress += 1;
            match self.done(state, &entry) {
                Some(completion) => self.finish(state, completion),
                None => self.other_entry(state, entry),
            }
        }
    }

    /// The completion that an entry stands for in the usual case: the oldest descriptor in flight is done, with all its bytes.
    #[inline(always)]
    fn done(&self, state: &State, entry: &contract::Completion) -> Option<Completion> {
        let (ticket, record) = state.records.oldest()?;
        let bytes = u64::from(entry.bytes);
        let usual = entry.status == contract::Status::Done as u8
            && entry.flags & contract::COMPLETION_FLAGS_START_MASK == 0
            && entry.cookie == ticket.0 as u16
            && bytes == record.bytes;
        usual.then_some(Completion { ticket, status: Status::Done, bytes, offset: entry.offset, user: entry.user })
    }

    /// Any other entry: a message's start or end, a fault, or nonsense.
    #[inline(never)]
    fn other_entry(&self, state: &mut State, entry: contract::Completion) {
        if entry.flags & contract::COMPLETION_FLAGS_START_MASK != 0 {
            if self.announces() && state.starts.len() < STARTS_LIMIT {
                let length = u64::from(entry.bytes) | u64::from(entry.cookie) << 32;
                let length = (length > 0).then_some(length);
                state.starts.push_back(MessageStart { length, offset: entry.offset, user: entry.user });
            } else {
                state.statistics.unexpected += 1;
                log::warn!("{}", self.doing("the card announced a message that nobody asked it to announce"));
            }
            return;
        }
        let Some((ticket, front)) = state.records.oldest() else {
            state.statistics.unexpected += 1;
            log::warn!("{}", self.doing("a completion came when nothing was in flight"));
            return;
        };
        if entry.cookie != ticket.0 as u16 {
            state.statistics.wrong_cookies += 1;
            log::warn!("{}", self.doing(&format!("a completion with cookie {}, not {}", entry.cookie, ticket.0 as u16)));
            return;
        }
        let (wanted, bytes) = (front.bytes, u64::from(entry.bytes));
        let status = Status::of_contract(entry.status);
        let c2h = self.direction == Direction::C2h;
        let wrong_length = bytes > wanted || (status == Status::Done && bytes != wanted);
        let wrong_status = matches!(status, Status::Unknown(_)) || (status == Status::EndOfMessage && !c2h);
        let wrong = if wrong_length {
            state.statistics.wrong_lengths += 1;
            Some(format!("a completion of {bytes} bytes for {wanted} ({status})"))
        } else if wrong_status {
            state.statistics.wrong_statuses += 1;
            Some(format!("a completion with {status} ({})", entry.status))
        } else {
            None
        };
        if status == Status::EndOfMessage && self.announces() && state.starts.pop_front().is_none() {
            state.statistics.unexpected += 1;
            log::warn!("{}", self.doing("a message ended that was not announced"));
        }
        match wrong {
            None => self.finish(state, Completion { ticket, status, bytes, offset: entry.offset, user: entry.user }),
            Some(what) => {
                log::warn!("{}", self.doing(&what));
                state.whole = false;
                let record = state.records.end_broken(ticket, what);
                self.give_back(record, &mut state.used, &mut state.free_slots);
            }
        }
    }

    /// The oldest descriptor has ended.
    #[inline(never)]
    fn finish(&self, state: &mut State, completion: Completion) {
        let bytes = completion.bytes;
        let record = state.records.end(completion);
        state.whole = bytes == record.bytes;
        self.give_back(record, &mut state.used, &mut state.free_slots);
        state.statistics.bytes += bytes;
    }

    /// What a descriptor held while it was in flight.
    #[inline(always)]
    fn give_back(&self, record: &mut Record<Held>, used: &mut u16, free_slots: &mut Vec<u16>) {
        *used -= record.places;
        if let Some(slot) = record.held.slot.take() {
            free_slots.push(slot);
        }
        if let Some(mapped) = record.held.mapped.take() {
            self.unmap(&mapped.pieces, record.keep.as_deref());
        }
        if let Some(owner) = record.keep.take() {
            owner.release(self.direction);
        }
    }

    /// End everything in flight without the card. If the card has not `stopped`, its memory is taken away from it.
    fn abandon(&self, state: &mut State, stopped: bool) {
        if !stopped {
            state.lost = true;
            if state.records.oldest().is_some() {
                self.shared.take_memory_away();
            }
        }
        while let Some((ticket, _)) = state.records.oldest() {
            let completion = Completion { ticket, status: Status::Reset, bytes: 0, offset: 0, user: 0 };
            self.finish(state, completion);
        }
        state.starts.clear();
        state.progress += 1;
        self.changed.notify_all();
    }

    /// Take what was mapped for one descriptor away from the card. Its owner learns of what stays within reach; memory that a blocking transfer has
    /// borrowed goes back to the program even then, for nobody here can keep it.
    #[cold]
    fn unmap(&self, mapped: &[(u64, usize)], owner: Option<&dyn Keep>) {
        for (address, bytes) in mapped {
            if let Err(error) = self.shared.bus.unmap(*address, *bytes) {
                log::error!("{}", self.doing(&format!("{bytes} bytes of the program's stay within the card's reach: {error}")));
                owner.into_iter().for_each(Keep::stays_mapped);
            }
        }
    }

    #[inline(never)]
    fn wait_for(&self, ticket: Ticket, timeout: Option<Duration>) -> Result<Completion> {
        self.wait_until(timeout, |state| Some(state.records.ahead(ticket)), |state| self.collect(state, ticket))
    }

    /// Wait until `check` finds what it looks for; it is asked after each look at the ring. `ahead` tells what the card has to do before that, if it
    /// is known.
    fn wait_until<T>(
        &self,
        timeout: Option<Duration>,
        ahead: impl Fn(&State) -> Option<Ahead>,
        mut check: impl FnMut(&mut State) -> Result<Option<T>>,
    ) -> Result<T> {
        let bus = &*self.shared.bus;
        let mut state = lock(&self.state);
        self.reap(&mut state);
        if let Some(found) = check(&mut state)? {
            return Ok(found);
        }
        let mut seen = state.progress;
        let mut clock = Clock::start(bus, timeout, state.stalled);
        let (began, whole) = (clock.began, ahead(&state));
        let mut hinted = false; // an early wake comes once for a descriptor
        let mut stretch = Stretch { began, budget: state.pace.budget(whole, false), early: None };
        loop {
            if clock.over(bus, state.stalled) {
                return Err(Error::Pending { channel: self.name().into(), after: timeout.unwrap_or_default() });
            }
            let (mut woke, mut lead) = (false, None);
            if state.leading {
                state.followers += 1;
                state = self.changed.wait_timeout(state, SLICE).unwrap_or_else(PoisonError::into_inner).0;
                state.followers -= 1;
            } else {
                let polled = bus.now().saturating_sub(stretch.began);
                let sleeps = polled >= stretch.budget;
                if sleeps {
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
                state = lock(&self.state);
                state.leading = false;
                if state.followers > 0 {
                    self.changed.notify_all();
                }
                match wake.map_err(|error| Error::bus(self.doing("waiting for the card"))(error))? {
                    Wake::TimedOut => state.stalled += slice,
                    Wake::Fired => woke = sleeps,
                }
                // An interrupt from before ends a sleep as well, but too soon to learn from it.
                lead = lead.filter(|_| woke && state.pace.is_wake(bus.now().saturating_sub(asleep)));
            }
            let (completed, starts) = (state.records.completed(), state.starts.len());
            self.reap(&mut state);
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
            let nothing = state.records.completed() == completed;
            if woke || !nothing {
                let early = lead.filter(|_| nothing && state.starts.len() == starts);
                hinted = nothing && (hinted || early.is_some());
                stretch = Stretch { began: bus.now(), budget: state.pace.budget(ahead(&state), woke && nothing), early };
            }
            if state.progress != seen {
                seen = state.progress;
                clock.restart(bus, state.stalled);
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
        self.arm(state)?;
        // Not what was wanted just now but what stands on the card.
        Ok(lead.and(state.lead).filter(|lead| *lead > 0))
    }

    /// Has a ticket ended that is the oldest to be collected? That is the usual case of waiting, and looks no further than it must.
    #[inline(always)]
    fn is_done(&self, ticket: Ticket) -> Option<Completion> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        loop {
            if let Some(completion) = state.records.collect_oldest(ticket) {
                return Some(completion);
            }
            let entry = state.ring.next()?;
            state.progress += 1;
            match self.done(state, &entry) {
                Some(completion) if state.records.is_next(ticket) => {
                    let record = state.records.end_collected();
                    self.give_back(record, &mut state.used, &mut state.free_slots);
                    state.statistics.bytes += completion.bytes;
                    return Some(completion);
                }
                Some(completion) => self.finish(state, completion),
                None => self.other_entry(state, entry),
            }
        }
    }

    #[inline(never)]
    fn look_for(&self, ticket: Ticket) -> Result<Option<Completion>> {
        self.look(|state| self.collect(state, ticket))
    }

    fn look<T>(&self, check: impl FnOnce(&mut State) -> Result<Option<T>>) -> Result<Option<T>> {
        let mut state = lock(&self.state);
        self.reap(&mut state);
        let found = check(&mut state)?;
        if found.is_none() && state.events {
            self.arm(&state)?; // fires at once if the card has written more than was reaped
        }
        Ok(found)
    }

    fn collect(&self, state: &mut State, ticket: Ticket) -> Result<Option<Completion>> {
        match state.records.collect(ticket) {
            Look::InFlight => Ok(None),
            Look::Ended(Ok(completion)) => Ok(Some(completion)),
            Look::Ended(Err(what)) => Err(self.broken(what)),
            Look::Unknown => Err(Error::UnknownTicket { channel: self.name().into() }),
        }
    }

    fn broken(&self, what: String) -> Error {
        Error::Protocol { channel: self.name().into(), what, bytes: None }
    }

    fn start(&self, state: &mut State) -> Result<Option<MessageStart>> {
        if !self.announces() {
            let what = "message starts are off; open the receiver with ChannelOptions::announce";
            return Err(Error::Invalid(format!("channel \"{}\": {what}", self.name())));
        }
        Ok(state.starts.front().copied())
    }

    fn reset_locked(&self, state: &mut State) -> Result<()> {
        let ended = self.reset_card();
        match ended {
            Ok(ended) => {
                self.after_reset(state, ended)?;
                if !ended {
                    let what = format!("its reset has not ended after {GRACE:?}");
                    return Err(Error::Protocol { channel: self.name().into(), what, bytes: None });
                }
                Ok(())
            }
            Err(error) => {
                self.abandon(state, false);
                Err(error)
            }
        }
    }

    /// Reset the channel on the card. False: it does not end.
    pub(super) fn reset_card(&self) -> Result<bool> {
        const DOING: &str = "resetting the channel";
        self.write(contract::CHANNEL_RESET_OFFSET, contract::CHANNEL_RESET_RESET_MASK, DOING)?;
        let offset = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_RESET_OFFSET;
        self.shared.wait_clear(offset, contract::CHANNEL_RESET_RESET_MASK, DOING)
    }

    pub(super) fn after_reset(&self, state: &mut State, ended: bool) -> Result<()> {
        self.reap(state);
        self.abandon(state, ended);
        if ended && !state.closed {
            state.lost = true;
            self.set_up(state)?;
            state.lost = false;
        }
        Ok(())
    }

    /// Stop the channel for good; afterwards the card touches none of its memory.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let ended = self.reset_card();
        match &ended {
            Ok(true) => self.reap(&mut state),
            Ok(false) => log::warn!("{}", self.doing("closing: its reset does not end")),
            Err(error) => log::debug!("{error}"),
        }
        self.abandon(&mut state, matches!(ended, Ok(true)));
    }
}

impl UserChannel {
    fn info(&self) -> &ChannelInfo {
        &self.shared.card.info.channels[self.position]
    }
}

impl Channel for Handle {
    fn info(&self) -> &ChannelInfo {
        self.0.info()
    }

    fn descriptor_limit(&self) -> usize {
        DESCRIPTOR_LIMIT
    }

    unsafe fn submit(&self, pieces: &[Piece], message: Message, keep: Option<Arc<dyn Keep>>) -> Result<Ticket> {
        let channel = &*self.0;
        let mut state = lock(&channel.state);
        let Some(descriptor) = channel.usual(&state, pieces, &message) else {
            // SAFETY: by this function's contract.
            return unsafe { channel.submit_any(&mut state, pieces, message, keep) };
        };
        let ticket = state.records.next_ticket();
        if let Err(error) = channel.post(&mut state, contract::Descriptor { cookie: ticket.0 as u16, ..descriptor }) {
            channel.release(keep);
            return Err(error);
        }
        state.used += 1;
        let record = state.records.post(ticket);
        (record.bytes, record.places, record.keep) = (descriptor.length.into(), 1, keep);
        Ok(ticket)
    }

    fn wait(&self, ticket: Ticket, timeout: Option<Duration>) -> Result<Completion> {
        let channel = &*self.0;
        if let Some(completion) = channel.is_done(ticket) {
            return Ok(completion);
        }
        channel.wait_for(ticket, timeout)
    }

    fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>> {
        let channel = &*self.0;
        match channel.is_done(ticket) {
            Some(completion) => Ok(Some(completion)),
            None => channel.look_for(ticket),
        }
    }

    fn poll_completions(&self) -> Result<Vec<Completion>> {
        let channel = &*self.0;
        let mut state = lock(&channel.state);
        channel.reap(&mut state);
        let found = state.records.collect_kept().map_err(|what| channel.broken(what))?;
        if state.events && state.records.oldest().is_some() {
            channel.arm(&state)?; // fires at once if the card has written more than was reaped
        }
        Ok(found)
    }

    fn wait_room(&self, timeout: Option<Duration>) -> Result<()> {
        let depth = self.0.depth;
        let oldest = |state: &State| state.records.oldest().map(|(_, oldest)| Ahead { bytes: oldest.bytes, descriptors: 1 });
        self.0.wait_until(timeout, oldest, |state| Ok((state.used + depth.min(3) <= depth).then_some(())))
    }

    fn message_start(&self, timeout: Option<Duration>) -> Result<MessageStart> {
        self.0.wait_until(timeout, |_| None, |state| self.0.start(state))
    }

    fn try_message_start(&self) -> Result<Option<MessageStart>> {
        self.0.look(|state| self.0.start(state))
    }

    fn cancel(&self) -> Result<()> {
        let channel = &*self.0;
        let (last, descriptors) = {
            let mut state = lock(&channel.state);
            channel.reap(&mut state);
            let Some(last) = state.records.newest() else { return Ok(()) };
            if let Err(error) = channel.doorbell(contract::DOORBELL_CANCEL_OFFSET, 1, "cancelling") {
                channel.abandon(&mut state, false);
                return Err(error);
            }
            (last, state.records.posted() - state.records.completed())
        };
        log::debug!("{}", channel.doing(&format!("cancelling; descriptors in flight: {descriptors}")));
        let over = |state: &mut State| Ok(state.records.oldest().is_none_or(|(oldest, _)| oldest > last).then_some(()));
        let ended = channel.wait_until(Some(GRACE), |_| None, over);
        match ended {
            Ok(()) => Ok(()),
            Err(Error::Pending { .. }) => {
                log::warn!("{}", channel.doing("a cancel does not end; resetting the channel"));
                channel.reset_locked(&mut lock(&channel.state))
            }
            Err(error) => {
                channel.abandon(&mut lock(&channel.state), false);
                Err(error)
            }
        }
    }

    fn reset(&self) -> Result<()> {
        log::info!("{}", self.0.doing("resetting the channel"));
        self.0.reset_locked(&mut lock(&self.0.state))
    }

    fn set_moderation(&self, entries: u16, time: Duration) -> Result<()> {
        let channel = &*self.0;
        let time = moderation_time(time, channel.shared.card.info.core_clock_khz)
            .map_err(|what| Error::Invalid(format!("channel \"{}\": {what}", channel.name())))?;
        let word =
            u32::from(entries) << contract::CHANNEL_MODERATION_ENTRIES_LSB | u32::from(time) << contract::CHANNEL_MODERATION_TIME_LSB;
        let mut state = lock(&channel.state);
        state.moderation = word;
        channel.write(contract::CHANNEL_MODERATION_OFFSET, word, "setting the interrupt's moderation")
    }

    fn event_fd(&self) -> Result<RawFd> {
        let channel = &*self.0;
        let fd = channel.shared.bus.event_fd(channel.vector).map_err(|error| Error::bus(channel.doing("its event"))(error))?;
        let mut state = lock(&channel.state);
        state.events = true;
        channel.arm(&state)?;
        Ok(fd)
    }

    fn statistics(&self) -> ChannelStatistics {
        let state = lock(&self.0.state);
        ChannelStatistics { submitted: state.records.posted(), completed: state.records.completed(), ..state.statistics }
    }
}
