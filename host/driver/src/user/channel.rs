// SPDX-License-Identifier: Apache-2.0
//! One channel of a card that is driven from user space: post, reap, cancel, reset.

use super::pace::{differs, Ahead, Pace};
use super::{lock, nanoseconds, Clock, Shared, DESCRIPTOR_LIMIT, DEVICE, GRACE, SHARED_SLICE, SLICE, STARTS_LIMIT};
use crate::memory::{Dma, Range};
use crate::ring::Ring;
use crate::{
    Access, Channel, ChannelInfo, ChannelOptions, ChannelStatistics, Completion, Direction, Error, Keep, Message, MessageStart, Piece,
    Result, Status, Ticket,
};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use towpath_bus::Wake;
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
    flight: VecDeque<Flight>,
    /// What has completed and was not collected, in the order of the tickets.
    finished: VecDeque<Finished>,
    /// The registered range that was used last, and the count of the registry's changes at that time.
    recent: Option<(u64, Range)>,
    /// Places in the card's queue that are taken.
    used: u16,
    next_ticket: u64,
    free_slots: Vec<u16>,
    starts: VecDeque<MessageStart>,
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

/// A descriptor between post and completion, with everything that has to live as long.
struct Flight {
    ticket: Ticket,
    places: u16,
    bytes: u64,
    slot: Option<u16>,
    mapped: Vec<(u64, usize)>,
    // Held for their drops alone.
    _table: Option<Dma>,
    keep: Option<Kept>,
}

/// The owner of a descriptor's memory, to be told when the card is done with it.
struct Kept {
    owner: Arc<dyn Keep>,
    direction: Direction,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.owner.release(self.direction);
    }
}

/// A descriptor between completion and collection.
struct Finished {
    ticket: Ticket,
    /// It was submitted with a `keep`: whoever polls for completions may collect it.
    kept: bool,
    result: std::result::Result<Completion, String>,
}

impl UserChannel {
    pub(super) fn open(shared: &Arc<Shared>, position: usize, options: ChannelOptions) -> Result<UserChannel> {
        let info = &shared.card.info.channels[position];
        let (vector, is_shared) = shared.vector(position);
        let slots = contract::INLINE_SLOTS_MAX.min(info.inline_slots.into()) as u16;
        let state = State {
            ring: Ring::allocate(&shared.bus, info.queue_depth)?,
            flight: VecDeque::new(),
            finished: VecDeque::new(),
            recent: None,
            used: 0,
            next_ticket: 0,
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
                channel.reset_locked(&mut state)?;
            } else {
                channel.set_up(&mut state)?;
            }
            if state.pace.wakes_early() {
                channel.measure_wake(&mut state)?;
            }
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
            if entry.flags & contract::COMPLETION_FLAGS_START_MASK != 0 {
                if self.announces() && state.starts.len() < STARTS_LIMIT {
                    let length = u64::from(entry.bytes) | u64::from(entry.cookie) << 32;
                    let length = (length > 0).then_some(length);
                    state.starts.push_back(MessageStart { length, offset: entry.offset, user: entry.user });
                } else {
                    state.statistics.unexpected += 1;
                    log::warn!("{}", self.doing("the card announced a message that nobody asked it to announce"));
                }
            } else {
                self.complete(state, entry);
            }
        }
    }

    fn complete(&self, state: &mut State, entry: contract::Completion) {
        let Some(front) = state.flight.front() else {
            state.statistics.unexpected += 1;
            log::warn!("{}", self.doing("a completion came when nothing was in flight"));
            return;
        };
        if entry.cookie != front.ticket.0 as u16 {
            state.statistics.wrong_cookies += 1;
            log::warn!("{}", self.doing(&format!("a completion with cookie {}, not {}", entry.cookie, front.ticket.0 as u16)));
            return;
        }
        let (ticket, wanted, bytes) = (front.ticket, front.bytes, u64::from(entry.bytes));
        let status = status(entry.status);
        state.whole = bytes == wanted;
        let c2h = self.direction == Direction::C2h;
        let wrong_length = bytes > wanted || (status == Status::Done && bytes != wanted);
        let wrong_status = matches!(status, Status::Unknown(_)) || (status == Status::EndOfMessage && !c2h);
        let result = if wrong_length {
            state.statistics.wrong_lengths += 1;
            Err(format!("a completion of {bytes} bytes for {wanted} ({status})"))
        } else if wrong_status {
            state.statistics.wrong_statuses += 1;
            Err(format!("a completion with {status} ({})", entry.status))
        } else {
            Ok(Completion { ticket, status, bytes, offset: entry.offset, user: entry.user })
        };
        if status == Status::EndOfMessage && self.announces() && state.starts.pop_front().is_none() {
            state.statistics.unexpected += 1;
            log::warn!("{}", self.doing("a message ended that was not announced"));
        }
        self.finish(state, result);
    }

    /// The oldest descriptor has ended.
    fn finish(&self, state: &mut State, result: std::result::Result<Completion, String>) {
        let Some(done) = state.flight.pop_front() else { return };
        state.used -= done.places;
        state.free_slots.extend(done.slot);
        self.unmap(&done.mapped);
        state.statistics.completed += 1;
        match &result {
            Ok(completion) => state.statistics.bytes += completion.bytes,
            Err(what) => log::warn!("{}", self.doing(what)),
        }
        state.finished.push_back(Finished { ticket: done.ticket, kept: done.keep.is_some(), result });
    }

    /// End everything in flight without the card. If the card has not `stopped`, its memory is taken away from it.
    fn abandon(&self, state: &mut State, stopped: bool) {
        if !stopped {
            state.lost = true;
            if !state.flight.is_empty() {
                self.shared.take_memory_away();
            }
        }
        while let Some(front) = state.flight.front() {
            let completion = Completion { ticket: front.ticket, status: Status::Reset, bytes: 0, offset: 0, user: 0 };
            self.finish(state, Ok(completion));
        }
        state.starts.clear();
        state.progress += 1;
        self.changed.notify_all();
    }

    fn unmap(&self, mapped: &[(u64, usize)]) {
        for (address, bytes) in mapped {
            if let Err(error) = self.shared.bus.unmap(*address, *bytes) {
                log::warn!("{}", self.doing(&format!("unmapping {bytes} bytes: {error}")));
            }
        }
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
            let (completed, starts) = (state.statistics.completed, state.starts.len());
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
            let nothing = state.statistics.completed == completed;
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
        let oldest = state.finished.front().is_some_and(|oldest| oldest.ticket == ticket);
        let found = if oldest { Ok(0) } else { state.finished.binary_search_by_key(&ticket, |finished| finished.ticket) };
        match found {
            Ok(at) => self.take(state, at).map(Some),
            // In flight are the newest tickets, without a gap.
            Err(_) if state.flight.front().is_some_and(|f| f.ticket <= ticket) && ticket.0 < state.next_ticket => Ok(None),
            Err(_) => Err(Error::UnknownTicket { channel: self.name().into() }),
        }
    }

    /// Collect the completion at this place in `finished`.
    fn take(&self, state: &mut State, at: usize) -> Result<Completion> {
        let taken = if at == 0 { state.finished.pop_front() } else { state.finished.remove(at) };
        match taken.map(|taken| taken.result) {
            Some(Ok(completion)) => Ok(completion),
            Some(Err(what)) => Err(Error::Protocol { channel: self.name().into(), what, bytes: None }),
            None => Err(Error::UnknownTicket { channel: self.name().into() }),
        }
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

    /// Where the card finds a piece; what was mapped for this is added to `mapped`.
    ///
    /// # Safety
    /// The piece stays valid until what was mapped has been unmapped.
    unsafe fn address(&self, piece: &Piece, recent: &mut Option<(u64, Range)>, mapped: &mut Vec<(u64, usize)>) -> Result<u64> {
        let access = match self.direction {
            Direction::H2c => Access::Read,
            Direction::C2h => Access::Write,
        };
        let (start, bytes) = (piece.memory as usize, piece.bytes);
        let find = |range: &Range| range.find(start, bytes, access);
        let registrations = &self.shared.registrations;
        match recent {
            Some((at, range)) if *at == registrations.load(Ordering::Acquire) => {
                if let Some(address) = find(range) {
                    return Ok(address);
                }
            }
            _ => *recent = None,
        }
        let registry = lock(&self.shared.registry);
        if let Some(range) = registry.find(start, bytes, access) {
            *recent = Some((registrations.load(Ordering::Acquire), range));
            if let Some(address) = find(&range) {
                return Ok(address);
            }
        }
        drop(registry);
        // SAFETY: by this function's contract.
        let address = unsafe { self.shared.bus.map(piece.memory, piece.bytes, access) }
            .map_err(|error| Error::bus(self.doing(&format!("mapping {} bytes for the card", piece.bytes)))(error))?;
        mapped.push((address, piece.bytes));
        Ok(address)
    }

    /// Post one descriptor. If that fails, a part of it, or a prefix before it, may stand on the card: only a reset takes it away.
    fn post(&self, state: &mut State, descriptor: contract::Descriptor) -> Result<()> {
        let image = descriptor.to_le_bytes();
        let at = self.doorbells + contract::DOORBELL_DESCRIPTOR_OFFSET;
        for (offset, half) in [(0, &image[..8]), (8, &image[8..])] {
            let mut word = [0; 8];
            word.copy_from_slice(half);
            let written = self.shared.bus.write64(DEVICE, at + offset, u64::from_le_bytes(word));
            if let Err(error) = written {
                state.lost = true;
                self.shared.take_memory_away();
                return Err(Error::bus(self.doing("posting a descriptor (reset the channel before it is used again)"))(error));
            }
        }
        Ok(())
    }

    /// Prepare and post one descriptor with its prefixes. On an error `flight.mapped` holds what has to be unmapped.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    unsafe fn launch(&self, pieces: &[Piece], message: Message, state: &mut State, flight: &mut Flight) -> Result<()> {
        let h2c = self.direction == Direction::H2c;
        let control = |kind: contract::Kind| (kind as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB;
        let cookie = flight.ticket.0 as u16;
        let end = if h2c && message.end { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let length = flight.bytes as u32;
        let small = h2c && (1..=contract::INLINE_SLOT_BYTES as u64).contains(&flight.bytes);
        let (kind, address) = match pieces {
            [] => (contract::Kind::Direct, 0),
            _ if small && !state.free_slots.is_empty() => {
                flight.slot = state.free_slots.pop();
                let offset = u64::from(flight.slot.unwrap_or_default()) * contract::INLINE_SLOT_BYTES as u64;
                let mut slot = Vec::with_capacity(contract::INLINE_SLOT_BYTES);
                for piece in pieces {
                    // SAFETY: valid for this call, and nobody writes to it.
                    slot.extend_from_slice(unsafe { std::slice::from_raw_parts(piece.memory, piece.bytes) });
                }
                slot.resize(slot.len().next_multiple_of(8), 0);
                let bus = &self.shared.bus;
                let written = bus.write_combining(DEVICE, self.page(contract::PAGE_CHANNEL_INLINE) + offset, &slot);
                written.and_then(|()| bus.fence()).map_err(|error| Error::bus(self.doing("writing an inline slot"))(error))?;
                (contract::Kind::Inline, offset)
            }
            // SAFETY: by this function's contract; `flight` keeps the mapping until the descriptor has ended.
            [piece] => (contract::Kind::Direct, unsafe { self.address(piece, &mut state.recent, &mut flight.mapped)? }),
            _ => {
                let mut table = Dma::allocate(&self.shared.bus, pieces.len() * contract::LIST_ENTRY_BYTES, Access::Read)?;
                for (index, piece) in pieces.iter().enumerate() {
                    // SAFETY: as above.
                    let address = unsafe { self.address(piece, &mut state.recent, &mut flight.mapped)? };
                    let last = if index + 1 == pieces.len() { contract::LIST_ENTRY_CONTROL_LAST_MASK } else { 0 };
                    let entry = contract::ListEntry { address, length: piece.bytes as u32, control: last };
                    table.write(index * contract::LIST_ENTRY_BYTES, &entry.to_le_bytes());
                }
                let address = table.address;
                flight._table = Some(table);
                (contract::Kind::List, address)
            }
        };
        if has_attributes(&message) && h2c {
            let control = control(contract::Kind::Attributes);
            self.post(state, contract::Descriptor { address: message.offset, length: message.user, cookie, control })?;
        }
        if let Some(total) = message.length.filter(|_| h2c) {
            let control = control(contract::Kind::MessageLength);
            self.post(state, contract::Descriptor { address: total, length: 0, cookie, control })?;
        }
        self.post(state, contract::Descriptor { address, length, cookie, control: control(kind) | end })
    }
}

/// The moderation register's word: entries, and time in units of 64 core clocks, rounded up.
fn moderation(entries: u16, time: Duration, core_clock_khz: u32) -> std::result::Result<u32, String> {
    const UNIT_CLOCKS: u128 = 64;
    let clocks = (time.as_nanos() * u128::from(core_clock_khz)).div_ceil(1_000_000);
    let units = u16::try_from(clocks.div_ceil(UNIT_CLOCKS)).map_err(|_| {
        let longest = u128::from(u16::MAX) * UNIT_CLOCKS * 1_000_000 / u128::from(core_clock_khz.max(1));
        format!("an interrupt cannot be held back for {time:?}; {longest} ns is the longest")
    })?;
    Ok(u32::from(entries) << contract::CHANNEL_MODERATION_ENTRIES_LSB | u32::from(units) << contract::CHANNEL_MODERATION_TIME_LSB)
}

fn has_attributes(message: &Message) -> bool {
    message.offset != 0 || message.user != 0
}

impl State {
    /// What the card has to do until a ticket is done.
    fn ahead(&self, ticket: Ticket) -> Ahead {
        let until = self.flight.iter().take_while(|flight| flight.ticket <= ticket);
        until.fold(Ahead { bytes: 0, descriptors: 0 }, |ahead, flight| Ahead {
            bytes: ahead.bytes.saturating_add(flight.bytes),
            descriptors: ahead.descriptors + 1,
        })
    }
}

fn status(number: u8) -> Status {
    match contract::Status::try_from(number) {
        Ok(contract::Status::Done) => Status::Done,
        Ok(contract::Status::EndOfMessage) => Status::EndOfMessage,
        Ok(contract::Status::UnsupportedRequest) => Status::UnsupportedRequest,
        Ok(contract::Status::CompleterAbort) => Status::CompleterAbort,
        Ok(contract::Status::Poisoned) => Status::Poisoned,
        Ok(contract::Status::Timeout) => Status::Timeout,
        Ok(contract::Status::Cancelled) => Status::Cancelled,
        Ok(contract::Status::BusMasteringOff) => Status::BusMasteringOff,
        Ok(contract::Status::Reset) => Status::Reset,
        Ok(contract::Status::Torn) => Status::Torn,
        Ok(contract::Status::Malformed) => Status::Malformed,
        Ok(contract::Status::BadCompletion) => Status::BadCompletion,
        Ok(contract::Status::LinkDown) => Status::LinkDown,
        Ok(contract::Status::None) | Err(_) => Status::Unknown(number),
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
        let depth = channel.depth;
        let keep = keep.map(|owner| Kept { owner, direction: channel.direction });
        let pieces: Cow<'_, [Piece]> = match pieces.iter().any(|piece| piece.bytes == 0) {
            true => pieces.iter().copied().filter(|piece| piece.bytes > 0).collect(),
            false => pieces.into(),
        };
        let bytes = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.bytes as u64));
        if bytes > DESCRIPTOR_LIMIT as u64 {
            return Err(Error::Invalid(format!("channel \"{}\": {bytes} bytes in one descriptor", channel.name())));
        }
        let h2c = channel.direction == Direction::H2c;
        let places = if h2c { 1 + u16::from(message.length.is_some()) + u16::from(has_attributes(&message)) } else { 1 };
        if places > depth {
            let what = format!("channel \"{}\": a message's attributes do not fit into a queue of {depth}", channel.name());
            return Err(Error::Invalid(what));
        }
        let mut state = lock(&channel.state);
        let state = &mut *state;
        if state.lost {
            let what = "a post or a reset of it failed, so nobody knows what it holds";
            return Err(Error::Protocol { channel: channel.name().into(), what: what.into(), bytes: None });
        }
        channel.reap(state);
        if state.used + places > depth {
            return Err(Error::QueueFull { channel: channel.name().into(), depth });
        }
        let ticket = Ticket(state.next_ticket);
        let mut flight = Flight { ticket, places, bytes, slot: None, mapped: Vec::new(), _table: None, keep };
        // SAFETY: by this function's contract.
        if let Err(error) = unsafe { channel.launch(&pieces, message, state, &mut flight) } {
            channel.unmap(&flight.mapped);
            state.free_slots.extend(flight.slot);
            return Err(error);
        }
        state.next_ticket += 1;
        state.used += places;
        state.statistics.submitted += 1;
        state.flight.push_back(flight);
        Ok(ticket)
    }

    fn wait(&self, ticket: Ticket, timeout: Option<Duration>) -> Result<Completion> {
        self.0.wait_until(timeout, |state| Some(state.ahead(ticket)), |state| self.0.collect(state, ticket))
    }

    fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>> {
        self.0.look(|state| self.0.collect(state, ticket))
    }

    fn poll_completions(&self) -> Result<Vec<Completion>> {
        let channel = &*self.0;
        let mut state = lock(&channel.state);
        channel.reap(&mut state);
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(next) = state.finished.get(at) {
            if !next.kept {
                at += 1; // a blocking call's, which collects it itself
            } else if next.result.is_err() && !found.is_empty() {
                return Ok(found);
            } else {
                found.push(channel.take(&mut state, at)?);
            }
        }
        if state.events && !state.flight.is_empty() {
            channel.arm(&state)?; // fires at once if the card has written more than was reaped
        }
        Ok(found)
    }

    fn wait_room(&self, timeout: Option<Duration>) -> Result<()> {
        let depth = self.0.depth;
        let oldest = |state: &State| state.flight.front().map(|front| Ahead { bytes: front.bytes, descriptors: 1 });
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
        let last = {
            let mut state = lock(&channel.state);
            channel.reap(&mut state);
            let Some(last) = state.flight.back().map(|flight| flight.ticket) else { return Ok(()) };
            if let Err(error) = channel.doorbell(contract::DOORBELL_CANCEL_OFFSET, 1, "cancelling") {
                channel.abandon(&mut state, false);
                return Err(error);
            }
            last
        };
        let over = |state: &mut State| Ok(state.flight.front().is_none_or(|front| front.ticket > last).then_some(()));
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
        self.0.reset_locked(&mut lock(&self.0.state))
    }

    fn set_moderation(&self, entries: u16, time: Duration) -> Result<()> {
        let channel = &*self.0;
        let word = moderation(entries, time, channel.shared.card.info.core_clock_khz)
            .map_err(|what| Error::Invalid(format!("channel \"{}\": {what}", channel.name())))?;
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
        lock(&self.0.state).statistics
    }
}
