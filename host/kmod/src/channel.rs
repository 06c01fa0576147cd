// SPDX-License-Identifier: Apache-2.0
//! One channel: a queue of transfers in the kernel, and their completions until the program collects them.
//!
//! The kernel hands completions out in order, each once. One thread collects at a time: the one that holds the state, for a look, or the
//! *leader*, which waits in the kernel on behalf of all waiting threads, without holding the state. While there is a leader, no other
//! thread collects.
//!
//! The kernel cancels a queue as a whole. To cancel one transfer, all are cancelled, and the rest of the others is posted again.

use crate::driver::{Limit, Shared};
use crate::error::{is_end, refused};
use crate::sys::{self, Exchanged, Node};
use crate::uapi;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use towpath_driver::records::{Look, Record, Records};
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::{
    moderation_time, Access, Channel, ChannelInfo, ChannelOptions, ChannelStatistics, Completion, DeviceInfo, Direction, Error, Keep,
    Message, MessageStart, Piece, Result, Status, Ticket, WaitOptions,
};
use towpath_system::{errno, event};

/// Completions that are collected at once.
const ROOM: usize = 64;
/// How long the completions of transfers may take to come which the kernel has ended.
const GRACE: Duration = Duration::from_secs(2);

/// The time between two cancels of a channel, for the transfers that go on: longer than a read takes.
const RUN: Duration = Duration::from_micros(10);
/// The same on a memory, where what goes on begins anew: time for a part of a long operation, as the library cuts it.
const MEMORY_RUN: Duration = Duration::from_millis(1);

/// How often a waiting call looks while nothing is in flight.
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
    /// Notified when a leader has come back while others wait.
    changed: Condvar,
}

/// A transfer as it is posted for the bytes that have not moved yet.
#[derive(Default)]
struct Held {
    transfer: uapi::Transfer,
    pieces: Vec<uapi::Piece>,
}

impl Held {
    fn ends_message(&self) -> bool {
        self.transfer.flags & uapi::TRANSFER_END != 0
    }

    /// A transfer of nothing that ends the open message.
    fn end_of_message() -> Held {
        Held { transfer: uapi::Transfer { flags: uapi::TRANSFER_END, ..Default::default() }, ..Held::default() }
    }

    fn places(&self) -> u16 {
        let is_set = |flag| u16::from(self.transfer.flags & flag != 0);
        1 + is_set(uapi::TRANSFER_ATTRIBUTES) + is_set(uapi::TRANSFER_LENGTH)
    }

    /// `bytes` bytes have moved.
    fn advance(&mut self, mut bytes: u64) {
        if bytes == 0 {
            return;
        }
        let end = self.transfer.flags & uapi::TRANSFER_END;
        self.transfer = uapi::Transfer { flags: end, ..Default::default() }; // attributes come with a message's first byte
        let gone = self.pieces.iter().take_while(|piece| {
            let whole = piece.bytes <= bytes;
            bytes -= if whole { piece.bytes } else { 0 };
            whole
        });
        let gone = gone.count();
        self.pieces.drain(..gone);
        if let Some(first) = self.pieces.first_mut() {
            (first.address, first.bytes) = (first.address + bytes, first.bytes - bytes);
        }
    }
}

struct State {
    records: Records<Held>,
    /// Places in the card's queue that are taken, or reserved for what waits to be posted.
    used: u16,
    /// The kernel was asked to cancel, and not all that was posted then has been collected. Nothing is posted meanwhile.
    cancelling: bool,
    /// One of `used` is for the transfer that ends a write to a memory which a cancel has stopped in the middle.
    closing: bool,
    /// This program resets the channel: what waits to be posted ends with the reset.
    resetting: bool,
    /// When transfers were last posted again after a cancel.
    resumed: Option<Instant>,
    /// The kernel had no room, and nothing has ended since.
    full: bool,
    /// Bytes in what has ended.
    bytes: u64,
    /// The kernel's counts when the channel was opened, and lately.
    counts: [uapi::ChannelStatistics; 2],
    leading: bool,
    followers: usize,
    /// Another process has reset the card, and the program has no report of it yet.
    reset_untold: bool,
    /// Why the kernel does nothing more for this channel.
    lost: Option<i32>,
}

impl State {
    fn reserve_closing(&mut self) {
        if !std::mem::replace(&mut self.closing, true) {
            self.used += 1;
        }
    }

    /// A cancel is over.
    fn end_cancel(&mut self) {
        self.cancelling = false;
        self.used -= u16::from(std::mem::take(&mut self.closing));
    }
}

impl LinuxChannel {
    pub fn open(shared: &Arc<Shared>, position: usize, options: ChannelOptions) -> Result<LinuxChannel> {
        let info = &shared.info.channels[position];
        let doing = |what: &str| format!("{}: channel \"{}\": {what}", shared.info.name, info.name);
        let failed = |what: &'static str| move |why| refused(doing(what), why);
        let node = shared.open_node(info).map_err(|why| match why.raw_os_error() {
            Some(errno::EBUSY) => Error::ChannelInUse { channel: info.name.clone() },
            _ => failed("opening its file")(why),
        })?;
        let event = event::new().map_err(failed("its event"))?;
        let announces = options.announce && info.direction == Direction::C2h && info.is_stream();
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
            cancelling: false,
            closing: false,
            resetting: false,
            resumed: None,
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

    pub fn device_info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    pub fn node(&self) -> &dyn Node {
        &*self.node
    }

    pub fn name(&self) -> &str {
        &self.info().name
    }

    pub fn doing(&self, what: &str) -> String {
        format!("{}: channel \"{}\": {what}", self.shared.info.name, self.name())
    }

    pub fn refused(&self, what: &str, why: io::Error) -> Error {
        refused(self.doing(what), why)
    }

    fn lost(&self, why: i32) -> Error {
        self.refused("waiting for the card", io::Error::from_raw_os_error(why))
    }

    // --- what comes from the kernel ------------------------------------------------------------------------------------------

    /// Take completions in. After one that ended with a reset, look for its cause: these completions report a reset by others, and the next
    /// request detects a card that has gone.
    fn take(&self, state: &mut State, completions: &[uapi::Completion]) {
        self.file(state, completions);
        if completions.iter().any(|told| Status::of_contract(told.status as u8) == Status::Reset) {
            self.look(state);
            state.reset_untold = false;
        }
    }

    /// File completions, in their order, and release what their transfers held.
    fn file(&self, state: &mut State, completions: &[uapi::Completion]) {
        for told in completions {
            if state.lost.is_some() {
                return; // it was filed as ended then
            }
            let Some((ticket, record)) = state.records.oldest().filter(|_| state.records.ends() == told.ticket) else {
                // Another process that shares the file has collected completions of this one.
                log::error!("{}", self.doing(&format!("a completion of transfer {} is not the next", told.ticket)));
                return self.lose(state, errno::EPROTO);
            };
            let (moved, wanted) = (record.moved, record.bytes - record.moved);
            let continues = state.cancelling && !record.cancel;
            let ends = record.held.ends_message();
            let status = Status::of_contract(u8::try_from(told.status).unwrap_or(0));
            let bytes = u64::from(told.bytes);
            self.close_write(state, status, bytes > 0 && bytes < wanted);
            let mut completion = Completion::new(ticket, status, moved + bytes);
            (completion.offset, completion.user) = (told.offset, told.user);
            match status {
                Status::Unknown(number) => {
                    let what = format!("a completion that cannot be (status {number}); the kernel's log has more");
                    let record = state.records.end_broken(what);
                    let (places, keep) = (record.places, record.keep.take());
                    self.give_back(state, places, keep);
                }
                // A memory's begins anew: what of a write was done is done again.
                Status::Cancelled if continues && !self.info().is_stream() => {
                    state.records.put_back(0);
                }
                Status::Cancelled if continues && (bytes < wanted || ends || state.records.any_put_back()) => {
                    let record = state.records.put_back(bytes);
                    record.held.advance(bytes);
                    let places = record.held.places();
                    let freed = record.places - places;
                    record.places = places;
                    state.used -= freed;
                    state.bytes += bytes;
                }
                Status::Cancelled if continues => {
                    completion.status = Status::Done;
                    self.finish(state, completion);
                }
                _ => self.finish(state, completion),
            }
            state.full = false;
        }
        let is_reset = completions.iter().any(|told| Status::of_contract(told.status as u8) == Status::Reset);
        if is_reset || state.resetting {
            self.drop_waiting(state, true, Status::Reset); // it would go on with a message that the reset has emptied
        }
        if state.records.posts() == state.records.ends() && (state.cancelling || state.records.any_waiting()) {
            state.end_cancel();
            self.post_waiting(state);
        }
    }

    /// A write to a memory was stopped in its middle by a cancel, or a fault has met it meanwhile: its message may be open on the card, where
    /// the next write would continue it. A transfer of nothing ends it, or is an empty message; nobody collects what becomes of that. Memory
    /// that is taken back is a cancel by the kernel.
    fn close_write(&self, state: &mut State, status: Status, in_its_middle: bool) {
        let fault = !status.is_ok() && !matches!(status, Status::Cancelled | Status::Kind(_) | Status::Unknown(_));
        if !self.writes_memory() || !(fault || (status == Status::Cancelled && in_its_middle)) {
            return;
        }
        if !state.cancelling && status == Status::Cancelled && !state.records.any_put_back() {
            state.reserve_closing();
        }
        if std::mem::take(&mut state.closing) {
            let (ticket, record) = state.records.queue_first();
            *record = Record { places: 1, held: Held::end_of_message(), ..Record::default() };
            state.records.abandon(ticket);
        }
    }

    fn writes_memory(&self) -> bool {
        self.info().direction == Direction::H2c && !self.info().is_stream()
    }

    /// The oldest transfer has ended.
    fn finish(&self, state: &mut State, completion: Completion) {
        let record = state.records.end(completion);
        let (places, moved, keep) = (record.places, record.moved, record.keep.take());
        state.bytes += completion.bytes - moved;
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

    /// The result of a request besides its completions.
    fn heed(&self, state: &mut State, outcome: io::Result<()>) {
        match outcome.as_ref().map_err(io::Error::raw_os_error) {
            Ok(()) | Err(Some(errno::ETIMEDOUT | errno::EINTR)) => {}
            Err(Some(errno::ECONNRESET)) => state.reset_untold = true,
            Err(why) => self.lose(state, why.unwrap_or(errno::EIO)),
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

    /// In any case, memory is released to the program only after the kernel has ended the transfers that used it, and has released it.
    fn stop(&self) {
        if let Err(why) = sys::order(&*self.node, uapi::CHANNEL_RESET) {
            log::debug!("{}", self.doing(&format!("stopping it: {why}")));
        }
        let mut room = [uapi::Completion::default(); ROOM];
        while self.exchange(&mut room, 0, Duration::ZERO).collected > 0 {}
    }

    /// File all that is in flight as ended by a reset.
    fn abandon(&self, state: &mut State) {
        while let Some((ticket, record)) = state.records.oldest() {
            let completion = Completion::new(ticket, Status::Reset, record.moved);
            self.finish(state, completion);
        }
        self.drop_waiting(state, true, Status::Reset);
        state.end_cancel();
        self.changed.notify_all();
    }

    /// Transfers that wait to be posted, all or those to be cancelled, end without the kernel.
    fn drop_waiting(&self, state: &mut State, all: bool, status: Status) {
        while let Some(record) = state.records.end_waiting(all, status) {
            let (places, keep) = (record.places, record.keep.take());
            self.give_back(state, places, keep);
        }
    }

    /// Cancel these transfers.
    fn cancel(&self, state: &mut State, tickets: &[Ticket]) -> Result<()> {
        for ticket in tickets {
            state.records.mark(*ticket);
        }
        self.drop_waiting(state, false, Status::Cancelled);
        if state.records.any_marked() && !state.cancelling {
            self.let_run(state);
        }
        if state.records.any_marked() && !state.cancelling {
            log::debug!("{}", self.doing(&format!("cancelling; transfers: {}", tickets.len())));
            state.cancelling = true;
            if self.writes_memory() {
                state.reserve_closing();
            }
            if let Err(why) = sys::order(&*self.node, uapi::CANCEL) {
                self.lose(state, why.raw_os_error().unwrap_or(errno::EIO));
                return Err(self.refused("cancelling", why));
            }
            self.look(state);
        }
        Ok(())
    }

    /// Let what an earlier cancel has interrupted run for a moment: cancels that follow each other must not keep a transfer from its first
    /// byte.
    fn let_run(&self, state: &mut State) {
        let Some(resumed) = state.resumed.take() else { return };
        let ends = state.records.ends();
        let run = if self.info().is_stream() { RUN } else { MEMORY_RUN };
        while resumed.elapsed() < run && state.records.ends() == ends && !state.leading && state.lost.is_none() {
            self.look(state);
        }
    }

    /// Post what waits, once the cancel that it waited for is over.
    fn post_waiting(&self, state: &mut State) {
        while state.lost.is_none() && !state.cancelling {
            let number = state.records.posts();
            let Some(record) = state.records.next_waiting() else { return };
            // SAFETY: a transfer's memory is valid until it has ended.
            let exchanged =
                unsafe { sys::exchange(&*self.node, Some((record.held.transfer, &record.held.pieces)), &mut [], 0, Duration::ZERO) };
            match (exchanged.ticket, exchanged.outcome) {
                (Some(posted), _) if posted == number => {
                    state.records.post_waiting();
                    state.resumed = Some(Instant::now());
                }
                (Some(posted), _) => {
                    log::error!("{}", self.doing(&format!("a transfer has ticket {posted}, not {number}")));
                    self.lose(state, errno::EPROTO);
                }
                (None, Err(why)) if why.kind() == io::ErrorKind::Interrupted => {}
                // The kernel has reset the channel: transfers end with that, as if they had been posted.
                (None, Err(why)) if why.raw_os_error() == Some(errno::ECONNRESET) => {
                    state.reset_untold = true;
                    self.drop_waiting(state, true, Status::Reset);
                }
                (None, outcome) => {
                    let why = outcome.err().and_then(|why| why.raw_os_error()).unwrap_or(errno::EAGAIN);
                    self.lose(state, why);
                }
            }
        }
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

    /// Wait for `time` at most: in the kernel, or for the leader. True: a signal ended it.
    fn doze<'a>(&'a self, mut state: MutexGuard<'a, State>, time: Duration) -> (MutexGuard<'a, State>, bool) {
        if state.leading {
            state.followers += 1;
            self.changed.wait_for(&mut state, time);
            state.followers -= 1;
            return (state, false);
        }
        if state.records.oldest().is_none() {
            // There is nothing that the kernel could wait for: only another thread's submission helps.
            self.changed.wait_for(&mut state, time.min(IDLE_LOOK));
            return (state, false);
        }
        state.leading = true;
        drop(state);
        let mut room = [uapi::Completion::default(); ROOM];
        let exchanged = self.exchange(&mut room, 1, time);
        state = self.state.lock();
        state.leading = false;
        if exchanged.outcome.is_ok() && exchanged.collected == 0 && state.lost.is_none() {
            log::error!("{}", self.doing("another process that shares the file has collected its completions"));
            self.lose(&mut state, errno::EPROTO);
        }
        self.take(&mut state, &room[..exchanged.collected]);
        let interrupted = exchanged.outcome.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::Interrupted);
        self.heed(&mut state, exchanged.outcome);
        if state.followers > 0 {
            self.changed.notify_all();
        }
        (state, interrupted)
    }

    /// Wait until `check` finds what it looks for; it is called first and after each time that something may have ended.
    fn wait_until<T>(&self, options: WaitOptions<'_>, check: impl FnMut(&mut State) -> Result<Option<T>>) -> Result<T> {
        let waited = self.wait_as_long(options, check);
        let mut state = self.state.lock();
        if state.cancelling {
            self.look(&mut state); // the call that cancelled has left the rest to this one
        }
        drop(state);
        waited
    }

    fn wait_as_long<T>(&self, options: WaitOptions<'_>, mut check: impl FnMut(&mut State) -> Result<Option<T>>) -> Result<T> {
        let mut state = self.state.lock();
        let limit = Limit::new(options);
        let mut watch = SignalWatch::new(options);
        let mut looked = false;
        loop {
            if let Some(found) = check(&mut state)? {
                return Ok(found);
            }
            if let Some(why) = state.lost {
                return Err(self.lost(why));
            }
            let left = limit.left();
            if left.is_zero() && looked {
                return Err(Error::Pending { channel: self.name().into(), after: options.timeout.unwrap_or_default() });
            }
            let interrupted;
            (state, interrupted) = self.doze(state, left);
            looked = true;
            if interrupted || limit.asks() {
                if let Some(found) = check(&mut state)? {
                    return Ok(found);
                }
                drop(state); // a signal handler may use the channel
                if watch.is_over() {
                    return Err(Error::Interrupted { channel: self.name().into(), bytes: 0 });
                }
                state = self.state.lock();
            }
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

    /// This program is going to reset the channel. Returns how many transfers have been posted, ever.
    pub fn before_reset(&self) -> u64 {
        let mut state = self.state.lock();
        state.resetting = true;
        self.drop_waiting(&mut state, true, Status::Reset);
        state.records.posts()
    }

    /// The kernel has ended the first `posts` transfers: collect their completions.
    fn settle(&self, posts: u64) -> Result<()> {
        let over = |state: &mut State| Ok((state.records.ends() >= posts).then_some(()));
        match self.wait_until(WaitOptions { timeout: Some(GRACE), interrupted: Some(&|| false) }, over) {
            Err(Error::Pending { .. }) => {
                self.lose(&mut self.state.lock(), errno::EIO);
                Err(self.lost(errno::EIO))
            }
            done => done,
        }
    }

    /// This program has reset the channel, when `posts` transfers had been posted.
    pub fn after_reset(&self, posts: u64) -> Result<()> {
        let settled = self.settle(posts);
        let mut state = self.state.lock();
        if settled.is_ok() {
            self.look(&mut state); // the kernel reports a reset once
            state.reset_untold = false;
        }
        self.drop_waiting(&mut state, true, Status::Reset);
        state.resetting = false;
        settled
    }

    /// The reset was not made.
    pub fn no_reset(&self) {
        self.state.lock().resetting = false;
    }

    fn close(&self) {
        let mut state = self.state.lock();
        self.stop();
        self.abandon(&mut state);
    }

    /// An order for the whole channel.
    fn order(&self, number: u32, what: &str) -> Result<()> {
        sys::order(&*self.node, number).map_err(|why| {
            if is_end(&why) {
                self.lose(&mut self.state.lock(), why.raw_os_error().unwrap_or(errno::EIO));
            }
            self.refused(what, why)
        })
    }

    // --- to the kernel -------------------------------------------------------------------------------------------------------

    /// Hand a transfer over; returns its ticket. Nothing is in flight after an error.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    unsafe fn post(&self, state: &mut State, pieces: &[Piece<'_>], message: Message, keep: &mut Option<Arc<dyn Keep>>) -> Result<Ticket> {
        let (depth, h2c) = (self.info().queue_depth, self.info().direction == Direction::H2c);
        let bytes = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.bytes as u64));
        let access = if h2c { Access::Read } else { Access::Write };
        let pieces: Vec<uapi::Piece> = pieces
            .iter()
            .filter(|piece| piece.bytes > 0)
            .map(|piece| uapi::Piece {
                address: piece.memory as u64,
                bytes: piece.bytes as u64,
                buffer: piece.registration.filter(|r| r.offset(piece, access).is_some()).map_or(0, |r| r.key() as u32),
                reserved: 0,
            })
            .collect();
        if bytes > uapi::TRANSFER_BYTES as u64 || pieces.len() > uapi::TRANSFER_PIECES {
            let what = format!(
                "channel \"{}\": a submit takes at most {} bytes in {} pieces, not {bytes} in {}; submit the rest {}",
                self.name(),
                uapi::TRANSFER_BYTES,
                uapi::TRANSFER_PIECES,
                pieces.len(),
                if self.info().is_stream() { "as further parts of the message" } else { "by itself, at its address" }
            );
            return Err(Error::Invalid(what));
        }
        let mut transfer = uapi::Transfer::default();
        if h2c {
            if message.end {
                transfer.flags |= uapi::TRANSFER_END;
            }
            if let Some(length) = message.length {
                transfer.flags |= uapi::TRANSFER_LENGTH;
                transfer.length = length;
            }
        }
        // A memory is asked for what is at an address.
        if message.has_attributes() && (h2c || !self.info().is_stream()) {
            transfer.flags |= uapi::TRANSFER_ATTRIBUTES;
            (transfer.offset, transfer.user) = (message.offset, message.user);
        }
        let held = Held { transfer, pieces };
        let places = held.places();
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

        if state.cancelling || state.records.any_waiting() {
            let (ticket, record) = state.records.queue();
            *record = Record { bytes, places, held, keep: keep.take(), ..Record::default() };
            state.used += places;
            return Ok(ticket);
        }
        let number = state.records.posts();
        let mut held = Some(held);
        let mut submitted = None;
        let mut room = [uapi::Completion::default(); ROOM];
        let exchanged = loop {
            let Some(Held { transfer, pieces }) = &held else { break Exchanged::nothing() };
            let room = if state.leading { &mut [][..] } else { &mut room[..] };
            // SAFETY: by this function's contract.
            let exchanged = unsafe { sys::exchange(&*self.node, Some((*transfer, pieces)), room, 0, Duration::ZERO) };
            if exchanged.ticket.is_some() {
                let (ticket, record) = state.records.post();
                *record = Record { bytes, places, keep: keep.take(), held: held.take().unwrap_or_default(), ..Record::default() };
                submitted = Some(ticket);
                state.used += places;
            }
            self.take(state, &room[..exchanged.collected]);
            let interrupted = exchanged.outcome.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::Interrupted);
            if exchanged.ticket.is_some() || !interrupted {
                break exchanged;
            }
        };
        match (exchanged.ticket.zip(submitted), exchanged.outcome) {
            (Some((posted, ticket)), outcome) => {
                if posted != number {
                    log::error!("{}", self.doing(&format!("a transfer has ticket {posted}, not {number}")));
                    self.lose(state, errno::EPROTO);
                } else {
                    self.heed(state, outcome);
                }
                Ok(ticket)
            }
            (None, Err(why)) => Err(self.not_posted(state, why)),
            (None, Ok(())) => Err(self.not_posted(state, io::Error::from_raw_os_error(errno::EAGAIN))),
        }
    }

    /// Why a transfer was not submitted.
    fn not_posted(&self, state: &mut State, why: io::Error) -> Error {
        const DOING: &str = "handing a transfer to the kernel";
        match why.raw_os_error() {
            Some(errno::EAGAIN) if state.records.oldest().is_some() => {
                state.full = true;
                Error::QueueFull { channel: self.name().into(), depth: self.info().queue_depth }
            }
            Some(errno::ECONNRESET) => Error::Reset { channel: self.name().into(), bytes: 0 },
            _ => {
                if is_end(&why) {
                    self.lose(state, why.raw_os_error().unwrap_or(errno::EIO));
                }
                self.refused(DOING, why)
            }
        }
    }

    /// The message that the next byte belongs to, if the core begins it in that time; whether a signal ended the wait.
    fn start(&self, time: Duration) -> Result<(Option<MessageStart>, bool)> {
        if !self.announces {
            let what = "message starts are off; open the receiver with ChannelOptions::announce";
            return Err(Error::Invalid(format!("channel \"{}\": {what}", self.name())));
        }
        let mut argument = uapi::MessageStart { timeout_ns: time.as_nanos() as i64, ..Default::default() };
        match sys::ask_once(&*self.node, &mut argument) {
            Ok(()) => {
                let length = (argument.length > 0).then_some(argument.length);
                Ok((Some(MessageStart::new(length, argument.offset, argument.user)), false))
            }
            Err(why) => match why.raw_os_error() {
                Some(errno::ETIMEDOUT) => Ok((None, false)),
                Some(errno::EINTR) => Ok((None, true)),
                Some(errno::ECONNRESET) => {
                    self.state.lock().reset_untold = true;
                    Ok((None, false))
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

    unsafe fn submit(&self, pieces: &[Piece<'_>], message: &Message, mut keep: Option<Arc<dyn Keep>>) -> Result<Ticket> {
        // SAFETY: by this function's contract.
        let posted = unsafe { self.0.post(&mut self.0.state.lock(), pieces, *message, &mut keep) };
        // It is here still if nothing was posted.
        self.0.release(keep);
        posted
    }

    fn wait(&self, ticket: Ticket, options: WaitOptions<'_>) -> Result<Completion> {
        self.0.wait_until(options, |state| self.0.collect(state, ticket))
    }

    fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>> {
        let mut state = self.0.state.lock();
        if let Some(completion) = self.0.collect(&mut state, ticket)? {
            return Ok(Some(completion));
        }
        self.0.look(&mut state);
        self.0.collect(&mut state, ticket)
    }

    fn poll_completions(&self, room: &mut [Completion]) -> Result<usize> {
        let mut state = self.0.state.lock();
        self.0.look(&mut state);
        let found = state.records.collect_kept(room).map_err(|what| self.0.broken(what))?;
        match state.lost {
            Some(why) if found == 0 => Err(self.0.lost(why)),
            _ => Ok(found),
        }
    }

    fn wait_room(&self, options: WaitOptions<'_>) -> Result<()> {
        let depth = self.0.info().queue_depth;
        self.0.wait_until(options, |state| Ok((!state.full && state.used + depth.min(3) <= depth).then_some(())))
    }

    fn message_start(&self, options: WaitOptions<'_>) -> Result<MessageStart> {
        let limit = Limit::new(options);
        let mut watch = SignalWatch::new(options);
        loop {
            let left = limit.left();
            let (start, interrupted) = self.0.start(left)?;
            if let Some(start) = start {
                return Ok(start);
            }
            if left.is_zero() {
                return Err(Error::Pending { channel: self.0.name().into(), after: options.timeout.unwrap_or_default() });
            }
            if (interrupted || limit.asks()) && watch.is_over() {
                return Err(Error::Interrupted { channel: self.0.name().into(), bytes: 0 });
            }
        }
    }

    fn try_message_start(&self) -> Result<Option<MessageStart>> {
        self.0.start(Duration::ZERO).map(|(start, _)| start)
    }

    fn held(&self) -> Result<towpath_driver::Held> {
        self.0.level(0, 0).map(|(held, _)| held)
    }

    fn wait_held(&self, bytes: u32, options: WaitOptions<'_>) -> Result<towpath_driver::Held> {
        self.0.wait_held(bytes, options)
    }

    fn try_wait_held(&self, bytes: u32) -> Result<Option<towpath_driver::Held>> {
        let (held, reached) = self.0.level(uapi::LEVEL_EVENT, bytes)?;
        Ok(reached.then_some(held))
    }

    fn cancel_wait_held(&self) -> Result<()> {
        if !self.0.has_levels() {
            return Ok(());
        }
        self.0.level(uapi::LEVEL_NEVER, 0).map(drop)
    }

    fn cancel(&self, ticket: Ticket) -> Result<()> {
        self.0.cancel(&mut self.0.state.lock(), &[ticket])
    }

    fn abandon(&self, ticket: Ticket) {
        self.0.state.lock().records.abandon(ticket);
    }

    fn detach(&self, ticket: Ticket) {
        self.0.state.lock().records.detach(ticket);
    }

    fn cancel_all(&self) -> Result<()> {
        let channel = &*self.0;
        let posts = {
            let mut state = channel.state.lock();
            let tickets: Vec<Ticket> = state.records.in_flight().collect();
            channel.cancel(&mut state, &tickets)?;
            state.records.posts()
        };
        channel.settle(posts)
    }

    fn reset(&self) -> Result<()> {
        log::info!("{}", self.0.doing("resetting the channel"));
        let posts = self.0.before_reset();
        self.0.order(uapi::CHANNEL_RESET, "resetting the channel").inspect_err(|_| self.0.no_reset())?;
        self.0.after_reset(posts)
    }

    fn event_fd(&self) -> Result<OwnedFd> {
        self.0.event.try_clone().map_err(|why| self.0.refused("duplicating its event", why))
    }

    fn set_moderation(&self, entries: u16, time: Duration) -> Result<()> {
        let time = moderation_time(time, self.0.shared.info.core_clock_khz)
            .map_err(|what| Error::Invalid(format!("channel \"{}\": {what}", self.0.name())))?;
        let mut argument = uapi::Moderation { entries, time, ..Default::default() };
        sys::ask(&*self.0.node, &mut argument).map_err(|why| self.0.refused("setting the interrupt's moderation", why))
    }

    fn statistics(&self) -> ChannelStatistics {
        let mut state = self.0.state.lock();
        let mut now = uapi::ChannelStatistics::default();
        // For a card that has gone, the last values read.
        if sys::ask(&*self.0.node, &mut now).is_ok() {
            state.counts[1] = now;
        }
        let [then, now] = &state.counts;
        let mut statistics = ChannelStatistics::default();
        (statistics.submitted, statistics.completed) = (state.records.submitted(), state.records.completed());
        statistics.bytes = state.bytes;
        statistics.wrong_cookies = now.wrong_cookies.wrapping_sub(then.wrong_cookies);
        statistics.wrong_lengths = now.wrong_lengths.wrapping_sub(then.wrong_lengths);
        statistics.wrong_statuses = now.wrong_statuses.wrapping_sub(then.wrong_statuses);
        statistics.unexpected = now.unexpected.wrapping_sub(then.unexpected);
        statistics
    }
}
