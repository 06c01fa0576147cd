// SPDX-License-Identifier: Apache-2.0
//! One channel: a queue of transfers in the kernel, and what the program is still to hear of them.
//!
//! Completions come from the kernel in order, to whoever collects; so one collects at a time. That is who holds the state, for a look, or who waits in
//! the kernel on behalf of all that wait (the *leader*), without holding it: whoever finds a leader leaves the collecting to it.

use crate::driver::{lock, Patience, Shared};
use crate::error::{is_end, refused};
use crate::sys::{self, Exchanged, Node};
use crate::uapi;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use towpath_bus::event;
use towpath_driver::records::{Look, Record, Records};
use towpath_driver::{
    moderation_time, Access, Channel, ChannelInfo, ChannelOptions, ChannelStatistics, Completion, Direction, Error, Keep, Message,
    MessageStart, Piece, Result, Status, Ticket,
};

/// Completions that are collected at once.
const ROOM: usize = 64;
/// How long the ends of transfers may take to come which the kernel has ended.
const GRACE: Duration = Duration::from_secs(2);

/// How often one looks who waits while nothing is in flight.
const IDLE_LOOK: Duration = Duration::from_millis(1);

/// The program's hold on a channel.
pub(crate) struct Handle(pub Arc<LinuxChannel>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(crate) struct LinuxChannel {
    shared: Arc<Shared>,
    position: usize,
    announces: bool,
    node: Box<dyn Node>,
    event: OwnedFd,
    state: Mutex<State>,
    /// Told when a leader has come back while others wait.
    changed: Condvar,
}

struct State {
    records: Records<()>,
    /// Places in the card's queue that are taken.
    used: u16,
    /// The kernel had no room, and nothing has ended since.
    full: bool,
    /// Bytes in what has ended.
    bytes: u64,
    /// The kernel's counts when the channel was opened, and lately.
    counts: [uapi::ChannelStatistics; 2],
    leading: bool,
    followers: usize,
    /// Somebody else has reset the card, and the program has not heard of it.
    reset_untold: bool,
    /// Why the kernel does nothing for this channel any more.
    lost: Option<i32>,
}

impl LinuxChannel {
    pub fn open(shared: &Arc<Shared>, position: usize, options: ChannelOptions) -> Result<LinuxChannel> {
        let info = &shared.info.channels[position];
        let doing = |what: &str| format!("{}: channel \"{}\": {what}", shared.info.name, info.name);
        let failed = |what: &'static str| move |why| refused(doing(what), why);
        let node = shared.open_node(info).map_err(|why| match why.raw_os_error() {
            Some(libc::EBUSY) => Error::ChannelInUse { channel: info.name.clone() },
            _ => failed("opening its file")(why),
        })?;
        let event = event::new().map_err(failed("its event"))?;
        let announces = options.announce && info.direction == Direction::C2h;
        let mut queue = uapi::Queue {
            flags: if announces { uapi::QUEUE_ANNOUNCE } else { 0 },
            control: shared.control.descriptor(),
            eventfd: event.as_raw_fd(),
            ..Default::default()
        };
        sys::ask(&*node, &mut queue).map_err(failed("making a queue of it"))?;
        let mut counts = uapi::ChannelStatistics::default();
        sys::ask(&*node, &mut counts).map_err(failed("reading its counts"))?;
        log::debug!("{}", doing("opened; the kernel waits for it"));
        let state = State {
            records: Records::new(info.queue_depth),
            used: 0,
            full: false,
            bytes: 0,
            counts: [counts; 2],
            leading: false,
            followers: 0,
            reset_untold: false,
            lost: None,
        };
        let state = Mutex::new(state);
        Ok(LinuxChannel { shared: shared.clone(), position, announces, node, event, state, changed: Condvar::new() })
    }

    fn info(&self) -> &ChannelInfo {
        &self.shared.info.channels[self.position]
    }

    fn name(&self) -> &str {
        &self.info().name
    }

    fn doing(&self, what: &str) -> String {
        format!("{}: channel \"{}\": {what}", self.shared.info.name, self.name())
    }

    fn refused(&self, what: &str, why: io::Error) -> Error {
        refused(self.doing(what), why)
    }

    fn lost(&self, why: i32) -> Error {
        self.refused("waiting for the card", io::Error::from_raw_os_error(why))
    }

    // --- what comes from the kernel ------------------------------------------------------------------------------------------

    /// Take completions in, and find out why, if there was a reset: of one that others made this has told; a card that has gone says so when it is asked
    /// next.
    fn take(&self, state: &mut State, completions: &[uapi::Completion]) {
        self.file(state, completions);
        if completions.iter().any(|told| Status::of_contract(told.status as u8) == Status::Reset) {
            self.look(state);
            state.reset_untold = false;
        }
    }

    /// File completions, in their order, and give back what their transfers held.
    fn file(&self, state: &mut State, completions: &[uapi::Completion]) {
        for told in completions {
            if state.lost.is_some() {
                return; // it was filed as ended then
            }
            let Some(ticket) = state.records.oldest().map(|(ticket, _)| ticket).filter(|ticket| ticket.number() == told.ticket) else {
                // Whoever has the file, too, has collected what is not theirs: a child of fork.
                log::error!("{}", self.doing(&format!("a completion of transfer {} is not the next", told.ticket)));
                return self.lose(state, libc::EPROTO);
            };
            let status = Status::of_contract(u8::try_from(told.status).unwrap_or(0));
            let bytes = u64::from(told.bytes);
            if let Status::Unknown(number) = status {
                let what = format!("a completion that cannot be (status {number}); the kernel's log has more");
                let record = state.records.end_broken(ticket, what);
                let (places, keep) = (record.places, record.keep.take());
                self.give_back(state, places, keep);
            } else {
                let mut completion = Completion::new(ticket, status, bytes);
                (completion.offset, completion.user) = (told.offset, told.user);
                self.finish(state, completion);
            }
            state.full = false;
        }
    }

    /// The oldest transfer has ended.
    fn finish(&self, state: &mut State, completion: Completion) {
        state.bytes += completion.bytes;
        let record = state.records.end(completion);
        let (places, keep) = (record.places, record.keep.take());
        self.give_back(state, places, keep);
    }

    fn give_back(&self, state: &mut State, places: u16, keep: Option<Arc<dyn Keep>>) {
        state.used -= places;
        self.release(keep);
    }

    fn release(&self, keep: Option<Arc<dyn Keep>>) {
        if let Some(owner) = keep {
            owner.release(self.info().direction);
        }
    }

    /// What a request brought beside completions.
    fn heed(&self, state: &mut State, outcome: io::Result<()>) {
        match outcome.as_ref().map_err(io::Error::raw_os_error) {
            Ok(()) | Err(Some(libc::ETIMEDOUT | libc::EINTR)) => {}
            Err(Some(libc::ECONNRESET)) => state.reset_untold = true,
            Err(why) => self.lose(state, why.unwrap_or(libc::EIO)),
        }
    }

    /// The kernel does nothing more here: everything in flight has ended as by a reset.
    fn lose(&self, state: &mut State, why: i32) {
        if state.lost.is_none() {
            log::warn!("{}", self.doing(&format!("lost: {}", io::Error::from_raw_os_error(why))));
            state.lost = Some(why);
        }
        self.stop();
        self.abandon(state);
    }

    /// Whatever has happened: memory goes back to the program only after the kernel has ended what used it, and has given it back.
    fn stop(&self) {
        if let Err(why) = sys::order(&*self.node, uapi::CHANNEL_RESET) {
            log::debug!("{}", self.doing(&format!("stopping it: {why}")));
        }
        let mut room = [uapi::Completion::default(); ROOM];
        while self.exchange(&mut room, 0, Duration::ZERO).collected > 0 {}
    }

    /// File all that is in flight as ended by a reset.
    fn abandon(&self, state: &mut State) {
        while let Some((ticket, _)) = state.records.oldest() {
            self.finish(state, Completion::new(ticket, Status::Reset, 0));
        }
        self.changed.notify_all();
    }

    // --- looking and waiting -------------------------------------------------------------------------------------------------

    fn exchange(&self, room: &mut [uapi::Completion], wanted: u32, timeout: Duration) -> Exchanged {
        // SAFETY: nothing is submitted.
        unsafe { sys::exchange(&*self.node, None, room, wanted, timeout) }
    }

    /// Collect what has ended.
    fn look(&self, state: &mut State) {
        let mut room = [uapi::Completion::default(); ROOM];
        let mut found = ROOM;
        while found == ROOM && !state.leading && state.lost.is_none() {
            let exchanged = self.exchange(&mut room, 0, Duration::ZERO);
            found = exchanged.collected;
            self.take(state, &room[..found]);
            self.heed(state, exchanged.outcome);
        }
    }

    /// Wait for so long at most: in the kernel, or for who is there already.
    fn doze<'a>(&'a self, mut state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        if state.leading {
            state.followers += 1;
            state = self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0;
            state.followers -= 1;
            return state;
        }
        if state.records.oldest().is_none() {
            // The kernel waits for nothing, and what is wanted comes of what others do.
            return self.changed.wait_timeout(state, time.min(IDLE_LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.leading = true;
        drop(state);
        let mut room = [uapi::Completion::default(); ROOM];
        let exchanged = self.exchange(&mut room, 1, time);
        state = lock(&self.state);
        state.leading = false;
        if exchanged.outcome.is_ok() && exchanged.collected == 0 && state.lost.is_none() {
            log::error!("{}", self.doing("somebody else has collected what is not theirs: a child of fork?"));
            self.lose(&mut state, libc::EPROTO);
        }
        self.take(&mut state, &room[..exchanged.collected]);
        self.heed(&mut state, exchanged.outcome);
        if state.followers > 0 {
            self.changed.notify_all();
        }
        state
    }

    /// Wait until `check` finds what it looks for; it is asked first and after each time that something may have ended.
    fn wait_until<T>(&self, timeout: Option<Duration>, mut check: impl FnMut(&mut State) -> Result<Option<T>>) -> Result<T> {
        let mut state = lock(&self.state);
        let mut patience = Patience::new(timeout, state.records.completed());
        let mut looked = false;
        loop {
            if let Some(found) = check(&mut state)? {
                return Ok(found);
            }
            if let Some(why) = state.lost {
                return Err(self.lost(why));
            }
            let left = patience.left(state.records.completed());
            if left.is_zero() && looked {
                return Err(Error::Pending { channel: self.name().into(), after: timeout.unwrap_or_default() });
            }
            state = self.doze(state, left);
            looked = true;
        }
    }

    fn collect(&self, state: &mut State, ticket: Ticket) -> Result<Option<Completion>> {
        match (state.records.collect(ticket), state.lost) {
            (Look::InFlight, None) => Ok(None),
            (Look::InFlight, Some(why)) => Err(self.lost(why)),
            (Look::Ended(Ok(completion)), Some(why)) if completion.status == Status::Reset => Err(self.lost(why)),
            (Look::Ended(Ok(completion)), _) => Ok(Some(completion)),
            (Look::Ended(Err(what)), _) => Err(self.broken(what)),
            (Look::Unknown, _) => Err(Error::UnknownTicket { channel: self.name().into() }),
        }
    }

    fn broken(&self, what: String) -> Error {
        Error::Protocol { channel: self.name().into(), what, bytes: None }
    }

    /// The newest transfer in flight.
    pub fn newest(&self) -> Option<Ticket> {
        lock(&self.state).records.newest()
    }

    /// The kernel has ended everything up to this transfer: collect how.
    fn settle(&self, newest: Option<Ticket>) -> Result<()> {
        let Some(newest) = newest else { return Ok(()) };
        let over = |state: &mut State| Ok(state.records.oldest().is_none_or(|(oldest, _)| oldest > newest).then_some(()));
        match self.wait_until(Some(GRACE), over) {
            Err(Error::Pending { .. }) => {
                self.lose(&mut lock(&self.state), libc::EIO);
                Err(self.lost(libc::EIO))
            }
            done => done,
        }
    }

    /// The channel was reset by this program, when `newest` was in flight.
    pub fn after_reset(&self, newest: Option<Ticket>) -> Result<()> {
        self.settle(newest)?;
        let mut state = lock(&self.state);
        self.look(&mut state); // it is told once, to whoever asks first
        state.reset_untold = false;
        Ok(())
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        self.stop();
        self.abandon(&mut state);
    }

    /// An order for the whole channel.
    fn order(&self, number: u32, what: &str) -> Result<()> {
        sys::order(&*self.node, number).map_err(|why| {
            if is_end(&why) {
                self.lose(&mut lock(&self.state), why.raw_os_error().unwrap_or(libc::EIO));
            }
            self.refused(what, why)
        })
    }

    // --- to the kernel -------------------------------------------------------------------------------------------------------

    /// Hand a transfer over; returns its ticket. Nothing is in flight after an error.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    unsafe fn post(&self, state: &mut State, pieces: &[Piece], message: Message, keep: &mut Option<Arc<dyn Keep>>) -> Result<Ticket> {
        let (depth, h2c) = (self.info().queue_depth, self.info().direction == Direction::H2c);
        let bytes = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.bytes as u64));
        let access = if h2c { Access::Read } else { Access::Write };
        let pieces: Vec<uapi::Piece> = pieces
            .iter()
            .filter(|piece| piece.bytes > 0)
            .map(|piece| uapi::Piece {
                address: piece.memory as u64,
                bytes: piece.bytes as u64,
                buffer: self.shared.handle(piece.memory as usize, piece.bytes, access),
                reserved: 0,
            })
            .collect();
        if bytes > uapi::TRANSFER_BYTES as u64 || pieces.len() > uapi::TRANSFER_PIECES {
            let what = format!("channel \"{}\": {bytes} bytes in {} pieces in one descriptor", self.name(), pieces.len());
            return Err(Error::Invalid(what));
        }
        let mut transfer = uapi::Transfer::default();
        let mut places = 1;
        if h2c {
            if message.end {
                transfer.flags |= uapi::TRANSFER_END;
            }
            if message.has_attributes() {
                transfer.flags |= uapi::TRANSFER_ATTRIBUTES;
                (transfer.offset, transfer.user) = (message.offset, message.user);
                places += 1;
            }
            if let Some(length) = message.length {
                transfer.flags |= uapi::TRANSFER_LENGTH;
                transfer.length = length;
                places += 1;
            }
        }
        if places > depth {
            let what = format!("channel \"{}\": a message's attributes do not fit into a queue of {depth}", self.name());
            return Err(Error::Invalid(what));
        }
        if state.full || state.used + places > depth {
            self.look(state);
        }
        if let Some(why) = state.lost {
            return Err(self.lost(why));
        }
        if std::mem::take(&mut state.reset_untold) {
            return Err(Error::Reset { channel: self.name().into(), bytes: 0 });
        }
        if state.full || state.used + places > depth {
            return Err(Error::QueueFull { channel: self.name().into(), depth });
        }

        let ticket = state.records.next_ticket();
        let mut room = [uapi::Completion::default(); ROOM];
        let exchanged = loop {
            let room = if state.leading { &mut [][..] } else { &mut room[..] };
            // SAFETY: by this function's contract.
            let exchanged = unsafe { sys::exchange(&*self.node, Some((transfer, &pieces)), room, 0, Duration::ZERO) };
            if exchanged.ticket.is_some() {
                *state.records.post(ticket) = Record { bytes, places, keep: keep.take(), held: () };
                state.used += places;
            }
            self.take(state, &room[..exchanged.collected]);
            let interrupted = exchanged.outcome.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::Interrupted);
            if exchanged.ticket.is_some() || !interrupted {
                break exchanged;
            }
        };
        match (exchanged.ticket, exchanged.outcome) {
            (Some(number), outcome) => {
                if number != ticket.number() {
                    log::error!("{}", self.doing(&format!("a transfer has ticket {number}, not {}", ticket.number())));
                    self.lose(state, libc::EPROTO);
                } else {
                    self.heed(state, outcome);
                }
                Ok(ticket)
            }
            (None, Err(why)) => Err(self.not_posted(state, why)),
            (None, Ok(())) => Err(self.not_posted(state, io::Error::from_raw_os_error(libc::EAGAIN))),
        }
    }

    /// Why a transfer was not submitted.
    fn not_posted(&self, state: &mut State, why: io::Error) -> Error {
        const DOING: &str = "handing a transfer to the kernel";
        match why.raw_os_error() {
            Some(libc::EAGAIN) if state.records.oldest().is_some() => {
                state.full = true;
                Error::QueueFull { channel: self.name().into(), depth: self.info().queue_depth }
            }
            Some(libc::ECONNRESET) => Error::Reset { channel: self.name().into(), bytes: 0 },
            _ => {
                if is_end(&why) {
                    self.lose(state, why.raw_os_error().unwrap_or(libc::EIO));
                }
                self.refused(DOING, why)
            }
        }
    }

    /// The message that the next byte belongs to, if the core begins it in that time.
    fn start(&self, time: Duration) -> Result<Option<MessageStart>> {
        if !self.announces {
            let what = "message starts are off; open the receiver with ChannelOptions::announce";
            return Err(Error::Invalid(format!("channel \"{}\": {what}", self.name())));
        }
        let mut argument = uapi::MessageStart { timeout_ns: time.as_nanos() as i64, ..Default::default() };
        match sys::ask_once(&*self.node, &mut argument) {
            Ok(()) => Ok(Some(MessageStart::new((argument.length > 0).then_some(argument.length), argument.offset, argument.user))),
            Err(why) => match why.raw_os_error() {
                Some(libc::ETIMEDOUT | libc::EINTR) => Ok(None),
                Some(libc::ECONNRESET) => {
                    lock(&self.state).reset_untold = true;
                    Ok(None)
                }
                _ => Err(self.refused("waiting for a message", why)),
            },
        }
    }
}

impl Channel for Handle {
    fn info(&self) -> &ChannelInfo {
        self.0.info()
    }

    fn descriptor_limit(&self) -> usize {
        uapi::TRANSFER_BYTES
    }

    fn piece_limit(&self) -> usize {
        uapi::TRANSFER_PIECES
    }

    unsafe fn submit(&self, pieces: &[Piece], message: Message, mut keep: Option<Arc<dyn Keep>>) -> Result<Ticket> {
        // SAFETY: by this function's contract.
        let posted = unsafe { self.0.post(&mut lock(&self.0.state), pieces, message, &mut keep) };
        // It is here still if nothing was posted.
        self.0.release(keep);
        posted
    }

    fn wait(&self, ticket: Ticket, timeout: Option<Duration>) -> Result<Completion> {
        self.0.wait_until(timeout, |state| self.0.collect(state, ticket))
    }

    fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>> {
        let mut state = lock(&self.0.state);
        if let Some(completion) = self.0.collect(&mut state, ticket)? {
            return Ok(Some(completion));
        }
        self.0.look(&mut state);
        self.0.collect(&mut state, ticket)
    }

    fn poll_completions(&self) -> Result<Vec<Completion>> {
        let mut state = lock(&self.0.state);
        self.0.look(&mut state);
        let found = state.records.collect_kept().map_err(|what| self.0.broken(what))?;
        match state.lost {
            Some(why) if found.is_empty() => Err(self.0.lost(why)),
            _ => Ok(found),
        }
    }

    fn wait_room(&self, timeout: Option<Duration>) -> Result<()> {
        let depth = self.0.info().queue_depth;
        self.0.wait_until(timeout, |state| Ok((!state.full && state.used + depth.min(3) <= depth).then_some(())))
    }

    fn message_start(&self, timeout: Option<Duration>) -> Result<MessageStart> {
        let completed = || lock(&self.0.state).records.completed();
        let mut patience = Patience::new(timeout, completed());
        loop {
            let left = patience.left(completed());
            if let Some(start) = self.0.start(left)? {
                return Ok(start);
            }
            if left.is_zero() {
                return Err(Error::Pending { channel: self.0.name().into(), after: timeout.unwrap_or_default() });
            }
        }
    }

    fn try_message_start(&self) -> Result<Option<MessageStart>> {
        self.0.start(Duration::ZERO)
    }

    fn cancel(&self) -> Result<()> {
        let Some(newest) = self.0.newest() else { return Ok(()) };
        log::debug!("{}", self.0.doing("cancelling"));
        self.0.order(uapi::CANCEL, "cancelling")?;
        self.0.settle(Some(newest))
    }

    fn reset(&self) -> Result<()> {
        log::info!("{}", self.0.doing("resetting the channel"));
        let newest = self.0.newest();
        self.0.order(uapi::CHANNEL_RESET, "resetting the channel")?;
        self.0.after_reset(newest)
    }

    fn event_fd(&self) -> Result<RawFd> {
        Ok(self.0.event.as_raw_fd())
    }

    fn set_moderation(&self, entries: u16, time: Duration) -> Result<()> {
        let time = moderation_time(time, self.0.shared.info.core_clock_khz)
            .map_err(|what| Error::Invalid(format!("channel \"{}\": {what}", self.0.name())))?;
        let mut argument = uapi::Moderation { entries, time, ..Default::default() };
        sys::ask(&*self.0.node, &mut argument).map_err(|why| self.0.refused("setting the interrupt's moderation", why))
    }

    fn statistics(&self) -> ChannelStatistics {
        let mut state = lock(&self.0.state);
        let mut now = uapi::ChannelStatistics::default();
        // Of a card that has gone, what was read last.
        if sys::ask(&*self.0.node, &mut now).is_ok() {
            state.counts[1] = now;
        }
        let [then, now] = &state.counts;
        let mut statistics = ChannelStatistics::default();
        (statistics.submitted, statistics.completed) = (state.records.posted(), state.records.completed());
        statistics.bytes = state.bytes;
        statistics.wrong_cookies = now.wrong_cookies.wrapping_sub(then.wrong_cookies);
        statistics.wrong_lengths = now.wrong_lengths.wrapping_sub(then.wrong_lengths);
        statistics.wrong_statuses = now.wrong_statuses.wrapping_sub(then.wrong_statuses);
        statistics.unexpected = now.unexpected.wrapping_sub(then.unexpected);
        statistics
    }
}
