// SPDX-License-Identifier: Apache-2.0
//! One channel of a card that is driven from user space: post, reap, cancel, reset.

mod batch;
mod cancel;
mod fill;
mod peer;
mod post;
mod wait;

use self::batch::Batch;
use self::cancel::{end_cancel, Manner};
use self::fill::Levels;
use self::peer::{Opening, Paired};
use self::post::{Held, Own};
use super::pace::Pace;
use crate::ring::Ring;
use crate::{nanoseconds, Clock, Shared, DESCRIPTOR_LIMIT, DEVICE, GRACE, SHARED_SLICE, SLICE, STARTS_LIMIT};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use towpath_bus::{Bus, Wake};
use towpath_contract as contract;
use towpath_driver::records::{Ahead, Look, Record, Records};
use towpath_driver::{
    moderation_time, Access, Channel, ChannelInfo, ChannelOptions, ChannelStatistics, Completion, Direction, Error, Keep, Message,
    MessageStart, PeerEnd, Piece, Result, Status, Submission, Ticket, WaitOptions,
};

/// How often the cost of waking is measured; the median counts. And how long a requested interrupt may take.
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
    manner: Manner,
    /// Its descriptors may have prefixes.
    prefixed: bool,
    depth: u16,
    /// Descriptors in flight up to which the usual case is tried: none where a C2H descriptor may have prefixes. One load serves both questions.
    usual_depth: u16,
    /// The offset of its doorbell page in BAR 0.
    doorbells: u64,
    /// The number of its last batch slot, if it uses batches; there are a power of two.
    last_slot: Option<u16>,
    vector: u16,
    slice: Duration,
    pub(super) state: Mutex<State>,
    /// Notified when a leader leaves while others wait.
    changed: Condvar,
}

pub(super) struct State {
    ring: Ring,
    records: Records<Held>,
    batch: Batch,
    /// Places in the card's queue that are taken, or kept for what waits to be posted.
    used: u16,
    /// The card was asked to cancel, and not all that was posted then has ended: when, by the bus's time and the wall clock's. Nothing is
    /// posted meanwhile.
    cancelling: Option<Clock>,
    /// The card may write memory of a device, of which some may be lost.
    device_memory: bool,
    /// One of the two: [`UserChannel::is_done`] leaves completions to what looks further, and asks but once.
    looks_further: bool,
    /// One of `used` is for the descriptor that ends a write which a cancel has stopped in the middle.
    closing: bool,
    /// When transfers were last posted again after a cancel, by the bus's time.
    resumed: Option<u64>,
    free_slots: Vec<u16>,
    starts: VecDeque<MessageStart>,
    /// All counts except those of the records.
    statistics: ChannelStatistics,
    /// Nanoseconds of waits in which nothing happened.
    stalled: u64,
    leading: bool,
    followers: usize,
    /// The program uses the event descriptor: a look that finds nothing arms the interrupt.
    events: bool,
    /// The card may hold a part of a descriptor: nothing is posted before a reset has ended.
    lost: bool,
    /// Why, until a submit has returned it.
    lost_by: Option<Error>,
    /// The program has dropped it: no reset of the card starts it again.
    closed: bool,
    pace: Pace,
    /// The card's lead, if known.
    lead: Option<u32>,
    /// The last completion reported all bytes of its descriptor.
    whole: bool,
    /// The word for the card's moderation register.
    moderation: u32,
    levels: Levels,
    /// It is one end of a pair: nothing is posted, as `lost` says.
    paired: Option<Paired>,
    opening: Opening,
}

impl UserChannel {
    pub(super) fn open(shared: &Arc<Shared>, position: usize, options: ChannelOptions) -> Result<UserChannel> {
        let info = &shared.card.info.channels[position];
        let (vector, is_shared) = shared.vector(position);
        let slots = contract::INLINE_SLOTS_MAX.min(info.inline_slots.into()) as u16;
        let state = State {
            ring: Ring::allocate(&shared.bus, info.queue_depth)?,
            records: Records::new(info.queue_depth),
            batch: Batch::default(),
            used: 0,
            cancelling: None,
            device_memory: false,
            looks_further: false,
            closing: false,
            resumed: None,
            free_slots: if info.direction == Direction::H2c { (0..slots).rev().collect() } else { Vec::new() },
            starts: VecDeque::new(),
            statistics: ChannelStatistics::default(),
            stalled: 0,
            leading: false,
            followers: 0,
            events: false,
            lost: false,
            lost_by: None,
            closed: false,
            pace: Pace::new(options.notify, !is_shared, shared.card.bytes_per_nanosecond()),
            lead: None,
            whole: false,
            moderation: 0,
            levels: Levels::default(),
            paired: None,
            opening: Opening::default(),
        };
        let channel = UserChannel {
            shared: shared.clone(),
            bus: shared.bus.clone(),
            position,
            options,
            direction: info.direction,
            manner: Manner::of(info),
            prefixed: info.direction == Direction::H2c || !info.is_stream(),
            depth: info.queue_depth,
            usual_depth: if info.direction == Direction::H2c || info.is_stream() { info.queue_depth } else { 0 },
            doorbells: shared.card.channel_page(position, contract::PAGE_CHANNEL_DOORBELL),
            last_slot: shared.card.batch_slots[position].checked_sub(1),
            vector,
            slice: if is_shared { SHARED_SLICE } else { SLICE },
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        {
            let mut state = channel.state.lock();
            // A process may have died with it; the ring must not be moved under a running channel.
            let status = channel.read(contract::CHANNEL_STATUS_OFFSET, "opening the channel")?;
            let busy =
                contract::CHANNEL_STATUS_RUNNING_MASK | contract::CHANNEL_STATUS_ERROR_MASK | contract::CHANNEL_STATUS_RESETTING_MASK;
            if status & busy != 0 {
                log::info!("{}", channel.doing("it was left running, or with an error; resetting it"));
                channel.reset_locked(&mut state)?;
            } else {
                channel.set_up(&mut state)?;
            }
            state.lost = channel.posts_nothing(&state);
            if state.pace.wakes_early() && !state.lost {
                channel.measure_wake(&mut state)?;
            }
            let vector = if is_shared { "shared" } else { "its own" };
            log::debug!("{}", channel.doing(&format!("opened; waits {}; vector {} ({vector})", state.pace, channel.vector)));
        }
        Ok(channel)
    }

    /// How long it takes from an interrupt to the program: requests some at once, by arming with an index that has long passed.
    fn measure_wake(&self, state: &mut State) -> Result<()> {
        const DOING: &str = "measuring how long waking takes";
        let bus = &*self.shared.bus;
        let failed = |error| Error::bus(self.doing(DOING))(error);
        let began = bus.now();
        self.read(contract::CHANNEL_STATUS_OFFSET, DOING)?;
        let store = bus.now().saturating_sub(began) / 2;
        bus.wait(self.vector, 0).map_err(failed)?; // one from before measures nothing
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
        state.batch.reset(state.records.posts() as u16);
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
        self.store_level(state)
    }

    /// What the card does with the program's memory.
    fn access(&self) -> Access {
        match self.direction {
            Direction::H2c => Access::Read,
            Direction::C2h => Access::Write,
        }
    }

    fn announces(&self) -> bool {
        self.options.announce && self.direction == Direction::C2h && self.manner == Manner::Stream
    }

    fn arm(&self, state: &State) -> Result<()> {
        self.doorbell(contract::DOORBELL_ARM_OFFSET, state.ring.consumer, "arming the interrupt")
    }

    /// Take all new entries off the ring.
    fn reap(&self, state: &mut State) {
        while let Some(entry) = state.ring.next() {
            match self.done(state, &entry) {
                Some(completion) => self.finish(state, completion),
                None => self.other_entry(state, entry),
            }
        }
    }

    /// The completion that an entry stands for in the usual case: the oldest descriptor is done, with all its bytes.
    fn done(&self, state: &State, entry: &contract::Completion) -> Option<Completion> {
        let (ticket, record) = state.records.oldest()?;
        let bytes = u64::from(entry.bytes);
        let usual = entry.status == contract::Status::Done as u8
            && entry.flags & contract::COMPLETION_FLAGS_START_MASK == 0
            && entry.cookie == state.records.ends() as u16
            && bytes == record.bytes
            && state.cancelling.is_none();
        usual.then_some(Completion::new(ticket, Status::Done, bytes).with(entry.offset, entry.user))
    }

    /// Any other entry: a message's start or end, a fault, or nonsense.
    #[inline(never)]
    fn other_entry(&self, state: &mut State, entry: contract::Completion) {
        if entry.flags & contract::COMPLETION_FLAGS_START_MASK != 0 {
            if self.announces() && state.starts.len() < STARTS_LIMIT {
                let length = u64::from(entry.bytes) | u64::from(entry.cookie) << 32;
                let length = (length > 0).then_some(length);
                state.starts.push_back(MessageStart::new(length, entry.offset, entry.user));
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
        let cookie = state.records.ends() as u16;
        if entry.cookie != cookie {
            state.statistics.wrong_cookies += 1;
            log::warn!("{}", self.doing(&format!("a completion with cookie {}, not {cookie}", entry.cookie)));
            return;
        }
        let (moved, cancel, ends) = (front.moved, front.cancel, front.held.ends_message());
        let (wanted, bytes) = (front.bytes - moved, u64::from(entry.bytes));
        let status = Status::of_contract(entry.status);
        let c2h = self.direction == Direction::C2h;
        let wrong_length = bytes > wanted || (status == Status::Done && bytes != wanted);
        let wrong_status = match status {
            Status::Unknown(_) => true,
            Status::EndOfMessage => !c2h,
            Status::Kind(_) => self.manner == Manner::Stream,
            _ => false,
        };
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
        // A fault may come together with the cancel. Then nobody knows whether its message is still open.
        let fault = !status.is_ok() && !matches!(status, Status::Cancelled | Status::Kind(_));
        if wrong.is_none() && (fault || (status == Status::Cancelled && bytes > 0 && bytes < wanted)) {
            self.close_write(state);
        }
        let open = self.leaves_open(state, status, bytes);
        match wrong {
            // A cancel ends everything that is posted; transfers that were not to be cancelled continue after it.
            None if status == Status::Cancelled && state.cancelling.is_some() && !cancel => {
                if self.manner == Manner::Memory {
                    self.put_back(state, 0); // a part of it may have been taken, and all of it may be taken again
                } else if bytes < wanted || ends || state.records.any_put_back() {
                    self.put_back(state, bytes);
                } else {
                    let bytes = moved + bytes;
                    self.finish(state, Completion::new(ticket, Status::Done, bytes).with(entry.offset, entry.user));
                }
            }
            None => self.finish(state, Completion::new(ticket, status, moved + bytes).with(entry.offset, entry.user)),
            Some(what) => {
                log::warn!("{}", self.doing(&what));
                state.whole = false;
                let record = state.records.end_broken(what);
                self.give_back(record, &mut state.used, &mut state.free_slots);
            }
        }
        state.opening.note(state.records.ends(), open);
        if state.records.posts() == state.records.ends() && end_cancel(state) {
            self.post_waiting(state);
        }
    }

    /// The oldest descriptor has ended.
    #[inline(never)]
    fn finish(&self, state: &mut State, mut completion: Completion) {
        // Did what the card wrote not arrive? The card cannot know, for nobody answers a write.
        if state.device_memory && self.direction == Direction::C2h && completion.status.is_ok() {
            let lost = |record: &Record<Held>| record.keep.as_ref().is_some_and(|keep| keep.has_lost());
            if let Some((_, record)) = state.records.oldest().filter(|(_, record)| lost(record)) {
                (completion.status, completion.bytes) = (Status::UnsupportedRequest, record.moved);
            }
        }
        let bytes = completion.bytes;
        let record = state.records.end(completion);
        state.whole = bytes == record.bytes;
        state.statistics.bytes += bytes - record.moved;
        self.give_back(record, &mut state.used, &mut state.free_slots);
    }

    /// Waiting transfers that are to be cancelled end without the card.
    fn drop_waiting(&self, state: &mut State, all: bool, status: Status) {
        while let Some(record) = state.records.end_waiting(all, status) {
            self.give_back(record, &mut state.used, &mut state.free_slots);
        }
    }

    /// From now on a device's memory may be in a transfer.
    pub(super) fn expect_device_memory(&self) {
        let mut state = self.state.lock();
        (state.device_memory, state.looks_further) = (true, true);
    }

    /// What a descriptor held while it was in flight.
    #[inline(always)]
    fn give_back(&self, record: &mut Record<Held>, used: &mut u16, free_slots: &mut Vec<u16>) {
        *used -= record.places;
        if !matches!(record.held.own, Own::Nothing) || record.held.special.is_some() {
            self.give_back_own(&mut record.held, record.keep.as_deref(), free_slots);
        }
        if let Some(owner) = record.keep.take() {
            owner.release(self.direction);
        }
    }

    /// What a transfer has taken for itself.
    #[inline(never)]
    fn give_back_own(&self, held: &mut Held, owner: Option<&dyn Keep>, free_slots: &mut Vec<u16>) {
        match std::mem::take(&mut held.own) {
            Own::Nothing => {}
            Own::Slot { slot, .. } => free_slots.push(slot),
            Own::Mapping { address, bytes } => self.unmap(&[(address, bytes)], owner),
        }
        if let Some(special) = held.special.take() {
            self.unmap(&special.mapped, owner);
        }
    }

    /// End everything in flight without the card. If the card has not `stopped`, its memory is unmapped from it.
    fn abandon(&self, state: &mut State, stopped: bool) {
        if !stopped {
            state.lost = true;
            if state.records.oldest().is_some() {
                self.shared.withdraw_registrations();
            }
        }
        while let Some((ticket, record)) = state.records.oldest() {
            let completion = Completion::new(ticket, Status::Reset, record.moved);
            self.finish(state, completion);
        }
        self.drop_waiting(state, true, Status::Reset);
        state.opening.note(state.records.ends(), false);
        end_cancel(state);
        state.starts.clear();
        self.changed.notify_all();
    }

    /// Unmap what was mapped for one descriptor. Its owner is notified of memory that stays within reach. Memory that a blocking transfer
    /// has borrowed is returned to the program even then, because nothing here can keep it.
    fn unmap(&self, mapped: &[(u64, usize)], owner: Option<&dyn Keep>) {
        for (address, bytes) in mapped {
            if let Err(error) = self.shared.bus.unmap(*address, *bytes) {
                log::error!("{}", self.doing(&format!("{bytes} bytes of the program's stay within the card's reach: {error}")));
                owner.into_iter().for_each(Keep::stays_mapped);
            }
        }
    }

    /// Take what is new off the ring; a cancel that does not end becomes a reset.
    fn look_after(&self, state: &mut State) {
        self.reap(state);
        let bus = &*self.shared.bus;
        let Some(clock) = &mut state.cancelling else { return };
        if clock.over(bus, state.stalled) || clock.wall() >= 2 * GRACE {
            log::warn!("{}", self.doing("a cancel does not end; resetting the channel"));
            if let Err(error) = self.reset_locked(state) {
                log::warn!("{error}");
            }
        }
    }

    /// Has a ticket ended, with a valid completion? That is the usual case of waiting, and looks no further than it must.
    #[inline(always)]
    fn is_done(&self, ticket: Ticket) -> Option<Completion> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let usual = state.records.next_record(ticket).map(|record| record.bytes).filter(|_| !state.looks_further);
        let taken = usual.and_then(|bytes| Some((bytes, state.ring.take_done(state.records.ends() as u16, bytes)?)));
        let Some((bytes, (offset, user))) = taken else { return self.is_filed(state, ticket) };
        let record = state.records.end_collected(ticket);
        self.give_back(record, &mut state.used, &mut state.free_slots);
        state.statistics.bytes += bytes;
        Some(Completion::new(ticket, Status::Done, bytes).with(offset, user))
    }

    /// Take new entries off the ring until the ticket has ended.
    #[inline(never)]
    fn is_filed(&self, state: &mut State, ticket: Ticket) -> Option<Completion> {
        loop {
            if let Some(completion) = state.records.collect_ended(ticket) {
                return Some(completion);
            }
            let entry = state.ring.next()?;
            match self.done(state, &entry) {
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
        let mut state = self.state.lock();
        self.look_after(&mut state);
        let found = check(&mut state)?;
        if found.is_none() && state.events {
            self.arm(&state)?; // fires at once if the card has written more than was reaped
        }
        Ok(found)
    }

    /// A program that only ever polls sees the end as well: in simulation a look takes time.
    fn looked_in_vain(&self) -> Result<()> {
        self.shared.bus.poll().map_err(|error| Error::bus(self.doing("looking for completions"))(error))
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
        self.is_the_hosts(state)?;
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
        // What a post that failed has left to a write-combining buffer must not arrive behind it.
        self.bus.fence().map_err(|error| Error::bus(self.doing(DOING))(error))?;
        self.write(contract::CHANNEL_RESET_OFFSET, contract::CHANNEL_RESET_RESET_MASK, DOING)?;
        let offset = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_RESET_OFFSET;
        self.shared.wait_clear(offset, contract::CHANNEL_RESET_RESET_MASK, DOING)
    }

    pub(super) fn after_reset(&self, state: &mut State, ended: bool) -> Result<()> {
        state.lost = true; // nothing is posted to a channel that does not run
        self.reap(state);
        self.abandon(state, ended);
        if ended && !state.closed {
            self.set_up(state)?;
            (state.opening.torn_off, state.lost) = (false, self.posts_nothing(state));
        }
        Ok(())
    }

    /// Stop the channel permanently; afterwards the card touches none of its memory.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        (state.closed, state.lost) = (true, true);
        let ended = self.reset_card();
        match &ended {
            Ok(true) => self.reap(&mut state),
            Ok(false) => log::warn!("{}", self.doing("closing: its reset does not end")),
            Err(error) => log::debug!("{error}"),
        }
        self.abandon(&mut state, matches!(ended, Ok(true)));
        self.forget_peer(&mut state);
    }

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

    unsafe fn submit(&self, pieces: &[Piece<'_>], message: &Message, mut keep: Option<Arc<dyn Keep>>) -> Result<Ticket> {
        let channel = &*self.0;
        let mut state = channel.state.lock();
        if let Some(ticket) = channel.submit_usual::<false>(&mut state, pieces, message, &mut keep) {
            return Ok(ticket);
        }
        // SAFETY: by this function's contract.
        if let Some(ticket) = unsafe { channel.submit_short(&mut state, pieces, message, &mut keep) } {
            return Ok(ticket);
        }
        // SAFETY: as above.
        unsafe { channel.submit_any(&mut state, pieces, *message, keep) }
    }

    unsafe fn submit_many(&self, submissions: &mut [Submission<'_>], tickets: &mut Vec<Ticket>) -> Result<()> {
        if let [Submission { piece, message, keep }] = submissions {
            // SAFETY: by this function's contract.
            tickets.push(unsafe { self.submit(&[*piece], message, keep.take()) }?);
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { self.0.submit_many(&mut self.0.state.lock(), submissions, tickets) }
    }

    fn wait(&self, ticket: Ticket, options: WaitOptions<'_>) -> Result<Completion> {
        let channel = &*self.0;
        if let Some(completion) = channel.is_done(ticket) {
            return Ok(completion);
        }
        channel.wait_for(ticket, options)
    }

    fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>> {
        let channel = &*self.0;
        match channel.is_done(ticket) {
            Some(completion) => Ok(Some(completion)),
            None => {
                let found = channel.look_for(ticket)?;
                if found.is_none() {
                    channel.looked_in_vain()?;
                }
                Ok(found)
            }
        }
    }

    fn poll_completions(&self, room: &mut [Completion]) -> Result<usize> {
        let channel = &*self.0;
        let mut state = channel.state.lock();
        channel.look_after(&mut state);
        let found = state.records.collect_kept(room).map_err(|what| channel.broken(what))?;
        if state.events && !state.records.is_idle() {
            channel.arm(&state)?; // fires at once if the card has written more than was reaped
        }
        drop(state);
        if found == 0 {
            channel.looked_in_vain()?;
        }
        Ok(found)
    }

    fn wait_room(&self, options: WaitOptions<'_>) -> Result<()> {
        let depth = self.0.depth;
        let oldest = |state: &State| state.records.oldest().map(|(_, oldest)| Ahead { bytes: oldest.bytes, descriptors: 1 });
        self.0.wait_until(options, oldest, |state| Ok((state.used + depth.min(3) <= depth).then_some(())))
    }

    fn message_start(&self, options: WaitOptions<'_>) -> Result<MessageStart> {
        self.0.wait_until(options, |_| None, |state| self.0.start(state))
    }

    fn try_message_start(&self) -> Result<Option<MessageStart>> {
        self.0.look(|state| self.0.start(state))
    }

    fn held(&self) -> Result<towpath_driver::Held> {
        self.0.held()
    }

    fn wait_held(&self, bytes: u32, options: WaitOptions<'_>) -> Result<towpath_driver::Held> {
        self.0.wait_held(bytes, options)
    }

    fn try_wait_held(&self, bytes: u32) -> Result<Option<towpath_driver::Held>> {
        self.0.try_wait_held(bytes)
    }

    fn cancel_wait_held(&self) -> Result<()> {
        self.0.cancel_wait_held()
    }

    fn cancel(&self, ticket: Ticket) -> Result<()> {
        let mut state = self.0.state.lock();
        self.0.look_after(&mut state);
        self.0.cancel(&mut state, &[ticket])
    }

    fn abandon(&self, ticket: Ticket) {
        self.0.state.lock().records.abandon(ticket);
    }

    fn detach(&self, ticket: Ticket) {
        self.0.state.lock().records.detach(ticket);
    }

    fn cancel_all(&self) -> Result<()> {
        let channel = &*self.0;
        let tickets: Vec<Ticket> = {
            let mut state = channel.state.lock();
            channel.look_after(&mut state);
            let tickets: Vec<Ticket> = state.records.in_flight().collect();
            if let Err(error) = channel.cancel(&mut state, &tickets) {
                channel.abandon(&mut state, false);
                return Err(error);
            }
            tickets
        };
        // A cancel that takes longer becomes a reset, which ends them, too.
        let over = |state: &mut State| Ok(tickets.iter().all(|ticket| state.records.has_ended(*ticket)).then_some(()));
        let ended = channel.wait_until(WaitOptions { timeout: Some(4 * GRACE), interrupted: Some(&|| false) }, |_| None, over);
        if ended.is_err() {
            channel.abandon(&mut channel.state.lock(), false);
        }
        ended
    }

    fn reset(&self) -> Result<()> {
        log::info!("{}", self.0.doing("resetting the channel"));
        self.0.reset_locked(&mut self.0.state.lock())
    }

    fn set_moderation(&self, entries: u16, time: Duration) -> Result<()> {
        let channel = &*self.0;
        let time = moderation_time(time, channel.shared.card.info.core_clock_khz)
            .map_err(|what| Error::Invalid(format!("channel \"{}\": {what}", channel.name())))?;
        let word =
            u32::from(entries) << contract::CHANNEL_MODERATION_ENTRIES_LSB | u32::from(time) << contract::CHANNEL_MODERATION_TIME_LSB;
        let mut state = channel.state.lock();
        state.moderation = word;
        channel.write(contract::CHANNEL_MODERATION_OFFSET, word, "setting the interrupt's moderation")
    }

    fn event_fd(&self) -> Result<OwnedFd> {
        let channel = &*self.0;
        let fd = channel.shared.bus.event_fd(channel.vector).map_err(|error| Error::bus(channel.doing("its event"))(error))?;
        let mut state = channel.state.lock();
        state.events = true;
        channel.arm(&state)?;
        Ok(fd)
    }

    fn peer(&self) -> Result<&dyn PeerEnd> {
        Ok(&*self.0)
    }

    fn statistics(&self) -> ChannelStatistics {
        let state = self.0.state.lock();
        let mut statistics = state.statistics;
        (statistics.submitted, statistics.completed) = (state.records.submitted(), state.records.completed());
        statistics
    }
}
