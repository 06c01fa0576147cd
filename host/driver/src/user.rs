// SPDX-License-Identifier: Apache-2.0
//! The user-space driver: runs in the program, over any bus.
//!
//! Locks, in the order in which they may be taken: the table of open channels, then a channel's state. A channel's state is never held while waiting
//! for an interrupt. Of several threads that wait for one channel, one waits for the interrupt on behalf of all (the *leader*), for the bus
//! tells of a fire only once; it hands over when it leaves.

use crate::discovery::{discover, Card};
use crate::memory::{Dma, Registry};
use crate::ring::Ring;
use crate::{
    Access, Channel, ChannelInfo, ChannelOptions, ChannelStatistics, Completion, DeviceInfo, Direction, Driver, Error, Message,
    MessageStart, Notify, Piece, Result, Status, Ticket, WireStatistics,
};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use towpath_bus::{Bus, Wake};
use towpath_contract as contract;

/// Largest number of bytes in one descriptor. The contract allows nearly 4 GiB; a timeout sees progress only between descriptors.
const DESCRIPTOR_LIMIT: usize = 64 << 20;
/// How long a cancel or a reset may take: much more than the longest completion timeout of a read.
const GRACE: Duration = Duration::from_secs(2);
/// One wait for an interrupt, at most; then the ring is looked at anyway, for a reset wakes nobody.
const SLICE: Duration = Duration::from_millis(100);
/// The same on a vector that several wait for.
const SHARED_SLICE: Duration = Duration::from_micros(50);
/// Messages that may have been announced and not received; more is nonsense.
const STARTS_LIMIT: usize = 1 << 16;

const DEVICE: u8 = contract::BAR_DEVICE;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A card, driven from user space. `Send` and `Sync`.
pub struct UserDriver {
    shared: Arc<Shared>,
}

struct Shared {
    bus: Arc<dyn Bus>,
    card: Card,
    /// Vectors that the bus gave us.
    vectors: u16,
    registry: Mutex<Registry>,
    /// By position in `card.info.channels`.
    open: Mutex<Vec<Weak<UserChannel>>>,
    /// Which user interrupts are enabled, and the events of each that were told.
    interrupts: Mutex<Interrupts>,
    /// Held from an access of the register window to the look at its status.
    window: Mutex<()>,
}

struct Interrupts {
    enabled: u32,
    told: Vec<u32>,
}

impl UserDriver {
    /// Discover the card behind a bus, and refuse what is none or of another version.
    pub fn open(bus: Arc<dyn Bus>) -> Result<UserDriver> {
        let card = discover(&*bus)?;
        let wanted = card.info.vectors.max(1);
        let vectors = bus.enable_vectors(wanted).map_err(Error::bus(format!("{}: enabling interrupts", bus.name())))?.max(1);
        let channels = card.info.channels.len();
        let interrupts = usize::from(card.info.interrupts);
        let shared = Shared {
            bus,
            card,
            vectors,
            registry: Mutex::default(),
            open: Mutex::new(std::iter::repeat_with(Weak::new).take(channels).collect()),
            interrupts: Mutex::new(Interrupts { enabled: 0, told: vec![0; interrupts] }),
            window: Mutex::new(()),
        };
        // Events from before are nobody's.
        for index in 0..interrupts {
            let count = shared.interrupt_count(index)?;
            lock(&shared.interrupts).told[index] = count;
        }
        Ok(UserDriver { shared: Arc::new(shared) })
    }
}

impl Shared {
    fn card_read(&self, offset: u64, doing: &str) -> Result<u32> {
        self.bus.read32(DEVICE, self.card.card_page() + offset).map_err(Error::bus(format!("{}: {doing}", self.bus.name())))
    }

    fn card_write(&self, offset: u64, value: u32, doing: &str) -> Result<()> {
        self.bus.write32(DEVICE, self.card.card_page() + offset, value).map_err(Error::bus(format!("{}: {doing}", self.bus.name())))
    }

    fn interrupt_count(&self, index: usize) -> Result<u32> {
        let offset = contract::CARD_USER_IRQ_COUNT_OFFSET + contract::CARD_USER_IRQ_COUNT_STRIDE * index as u64;
        self.card_read(offset, "reading a user interrupt's count")
    }

    /// The vector of a channel or, behind these, of a user interrupt; whether others use it, too.
    fn vector(&self, user: usize) -> (u16, bool) {
        let users = self.card.info.channels.len() + usize::from(self.card.info.interrupts);
        let last = self.vectors - 1;
        let vector = u16::try_from(user).map_or(last, |user| user.min(last));
        (vector, vector == last && users > usize::from(self.vectors))
    }

    fn interrupt_vector(&self, index: u16) -> (u16, bool) {
        self.vector(self.card.info.channels.len() + usize::from(index))
    }

    fn enable_interrupt(&self, index: u16) -> Result<()> {
        let mut interrupts = lock(&self.interrupts);
        if interrupts.enabled & (1 << index) == 0 {
            let offset = contract::CARD_USER_IRQ_VECTOR_OFFSET + contract::CARD_USER_IRQ_VECTOR_STRIDE * u64::from(index);
            self.card_write(offset, self.interrupt_vector(index).0.into(), "setting up a user interrupt")?;
            let enabled = interrupts.enabled | 1 << index;
            self.card_write(contract::CARD_USER_IRQ_ENABLE_OFFSET, enabled, "enabling a user interrupt")?;
            interrupts.enabled = enabled;
        }
        Ok(())
    }

    /// Wait until a self-clearing bit reads 0. False: it did not in time.
    fn wait_clear(&self, offset: u64, mask: u32, doing: &str) -> Result<bool> {
        let mut clock = Clock::start(&*self.bus, Some(GRACE), 0);
        loop {
            let value = self.bus.read32(DEVICE, offset).map_err(Error::bus(format!("{}: {doing}", self.bus.name())))?;
            if value & mask == 0 {
                return Ok(true);
            }
            if clock.over(&*self.bus, 0) || clock.wall() >= 2 * GRACE {
                return Ok(false);
            }
            self.bus.poll().map_err(Error::bus(format!("{}: {doing}", self.bus.name())))?;
        }
    }

    /// What became of an access to the register window that looks as if it failed.
    fn check_window(&self, offset: u32) -> Result<()> {
        let status = self.card_read(contract::CARD_WINDOW_STATUS_OFFSET, "reading the register window's status")?;
        if status == 0 {
            return Ok(());
        }
        self.card_write(contract::CARD_WINDOW_STATUS_OFFSET, status, "clearing the register window's status")?;
        let what = if status & contract::CARD_WINDOW_STATUS_TIMEOUT_MASK != 0 {
            "the user core did not answer in time; check its AXI4-Lite port (every address needs an answer), or reset the device"
        } else {
            "the user core answered with an error (SLVERR or DECERR); check that it has a register there that allows this access"
        };
        Err(Error::Register { offset, what: what.into() })
    }
}

/// How long nothing has happened: by the bus's time, or by waits that were given up, whichever is more.
struct Clock {
    limit: Option<u64>,
    began: u64,
    began_wall: Instant,
    stalled: u64,
    wire: Option<WireStatistics>,
    looks: u32,
}

impl Clock {
    fn start(bus: &dyn Bus, limit: Option<Duration>, stalled: u64) -> Clock {
        Clock { limit: limit.map(nanoseconds), began: bus.now(), began_wall: Instant::now(), stalled, wire: bus.wire(), looks: 0 }
    }

    fn restart(&mut self, bus: &dyn Bus, stalled: u64) {
        *self = Clock { limit: self.limit, ..Clock::start(bus, None, stalled) };
    }

    fn elapsed(&self, bus: &dyn Bus, stalled: u64) -> u64 {
        bus.now().saturating_sub(self.began).max(stalled - self.stalled)
    }

    fn wall(&self) -> Duration {
        self.began_wall.elapsed()
    }

    fn over(&mut self, bus: &dyn Bus, stalled: u64) -> bool {
        let Some(limit) = self.limit else { return false };
        if self.elapsed(bus, stalled) >= limit {
            return true;
        }
        // One who polls a simulated card whose link stands still: simulated time may creep; the wall's counts as well.
        self.looks += 1;
        self.looks % 1024 == 0 && self.wire.is_some() && nanoseconds(self.wall()) >= limit && {
            let wire = bus.wire();
            let still = wire.map(|w| (w.to_host, w.to_card)) == self.wire.map(|w| (w.to_host, w.to_card));
            if !still {
                self.wire = wire;
                self.began_wall = Instant::now();
            }
            still
        }
    }

    /// Nanoseconds to wait now, no more than a slice.
    fn slice(&self, bus: &dyn Bus, stalled: u64, slice: Duration) -> u64 {
        let left = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.elapsed(bus, stalled)));
        left.min(nanoseconds(slice)).max(1)
    }
}

impl Driver for UserDriver {
    fn info(&self) -> &DeviceInfo {
        &self.shared.card.info
    }

    fn open_channel(&self, index: u16, options: ChannelOptions) -> Result<Box<dyn Channel>> {
        let channels = &self.shared.card.info.channels;
        let Some(position) = channels.iter().position(|channel| channel.index == index) else {
            let available = channels.iter().map(|channel| channel.name.clone()).collect();
            return Err(Error::NoSuchChannel { channel: index.to_string(), available });
        };
        let mut open = lock(&self.shared.open);
        if open[position].strong_count() > 0 {
            return Err(Error::ChannelInUse { channel: channels[position].name.clone() });
        }
        let channel = Arc::new(UserChannel::open(&self.shared, position, options)?);
        open[position] = Arc::downgrade(&channel);
        Ok(Box::new(Handle(channel)))
    }

    unsafe fn register(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let bus = &self.shared.bus;
        // SAFETY: valid until `unregister`, by this function's contract.
        let address =
            unsafe { bus.map(memory, bytes, access) }.map_err(Error::bus(format!("{}: registering {bytes} bytes", bus.name())))?;
        lock(&self.shared.registry).insert(memory as usize, bytes, address, access);
        Ok(())
    }

    fn unregister(&self, memory: *mut u8, bytes: usize) {
        let address = lock(&self.shared.registry).remove(memory as usize, bytes);
        if let Some(address) = address {
            if let Err(error) = self.shared.bus.unmap(address, bytes) {
                log::warn!("{}: unregistering {bytes} bytes: {error}", self.shared.bus.name());
            }
        }
    }

    fn read_register(&self, offset: u32) -> Result<u32> {
        let shared = &self.shared;
        let _one = lock(&shared.window);
        let value = shared
            .bus
            .read32(contract::BAR_WINDOW, offset.into())
            .map_err(Error::bus(format!("{}: reading register {offset:#x}", shared.bus.name())))?;
        // An access that fails reads as all ones; only then is the status worth a read of its own.
        if value == u32::MAX {
            shared.check_window(offset)?;
        }
        Ok(value)
    }

    fn write_register(&self, offset: u32, value: u32) -> Result<()> {
        let shared = &self.shared;
        let _one = lock(&shared.window);
        shared
            .bus
            .write32(contract::BAR_WINDOW, offset.into(), value)
            .map_err(Error::bus(format!("{}: writing register {offset:#x}", shared.bus.name())))?;
        shared.check_window(offset)
    }

    fn wait_interrupt(&self, index: u16, timeout: Option<Duration>) -> Result<u32> {
        let shared = &self.shared;
        let bus = &*shared.bus;
        shared.enable_interrupt(index)?;
        let (vector, is_shared) = shared.interrupt_vector(index);
        let mut clock = Clock::start(bus, timeout, 0);
        let mut stalled = 0;
        loop {
            {
                let mut interrupts = lock(&shared.interrupts);
                let count = shared.interrupt_count(index.into())?;
                let events = count.wrapping_sub(interrupts.told[usize::from(index)]);
                if events > 0 {
                    interrupts.told[usize::from(index)] = count;
                    return Ok(events);
                }
            }
            if clock.over(bus, stalled) {
                return Err(Error::InterruptTimeout { index, after: timeout.unwrap_or_default() });
            }
            let slice = clock.slice(bus, stalled, if is_shared { SHARED_SLICE } else { SLICE });
            let wake = bus.wait(vector, slice).map_err(Error::bus(format!("{}: waiting for user interrupt {index}", bus.name())))?;
            if wake == Wake::TimedOut {
                stalled += slice;
            }
        }
    }

    fn count_interrupt(&self, index: u16) -> Result<u32> {
        self.shared.interrupt_count(index.into())
    }

    fn interrupt_event_fd(&self, index: u16) -> Result<RawFd> {
        self.shared.enable_interrupt(index)?;
        let vector = self.shared.interrupt_vector(index).0;
        self.shared.bus.event_fd(vector).map_err(Error::bus(format!("{}: the event of user interrupt {index}", self.shared.bus.name())))
    }

    fn reset(&self) -> Result<()> {
        let shared = &self.shared;
        let open = lock(&shared.open);
        let channels: Vec<Arc<UserChannel>> = open.iter().filter_map(Weak::upgrade).collect();
        let mut states: Vec<MutexGuard<'_, State>> = channels.iter().map(|channel| lock(&channel.state)).collect();
        shared.card_write(contract::CARD_CONTROL_OFFSET, contract::CARD_CONTROL_RESET_MASK, "resetting the card")?;
        let offset = shared.card.card_page() + contract::CARD_CONTROL_OFFSET;
        let ended = shared.wait_clear(offset, contract::CARD_CONTROL_RESET_MASK, "resetting the card")?;
        for (channel, state) in channels.iter().zip(&mut states) {
            channel.after_reset(state, ended)?;
        }
        if !ended {
            let what = format!("the card's reset has not ended after {GRACE:?}");
            return Err(Error::Protocol { channel: "all".into(), what });
        }
        let mut interrupts = lock(&shared.interrupts);
        interrupts.enabled = 0;
        for index in 0..interrupts.told.len() {
            interrupts.told[index] = shared.interrupt_count(index)?;
        }
        Ok(())
    }

    fn wire(&self) -> Option<WireStatistics> {
        self.shared.bus.wire()
    }

    fn now_ns(&self) -> u64 {
        self.shared.bus.now()
    }
}

/// The program's hold on a channel.
struct Handle(Arc<UserChannel>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct UserChannel {
    shared: Arc<Shared>,
    position: usize,
    options: ChannelOptions,
    vector: u16,
    slice: Duration,
    state: Mutex<State>,
    /// Told when a leader leaves while others wait.
    changed: Condvar,
}

struct State {
    ring: Ring,
    flight: VecDeque<Flight>,
    finished: HashMap<Ticket, std::result::Result<Completion, String>>,
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
    /// The card does not even reset this channel: it is not to be used again.
    lost: bool,
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
    _keep: Option<Arc<dyn Any + Send + Sync>>,
}

impl UserChannel {
    fn open(shared: &Arc<Shared>, position: usize, options: ChannelOptions) -> Result<UserChannel> {
        let info = &shared.card.info.channels[position];
        let (vector, is_shared) = shared.vector(position);
        let slots = contract::INLINE_SLOTS_MAX.min(info.inline_slots.into()) as u16;
        let state = State {
            ring: Ring::allocate(&shared.bus, info.queue_depth)?,
            flight: VecDeque::new(),
            finished: HashMap::new(),
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
        };
        let channel = UserChannel {
            shared: shared.clone(),
            position,
            options,
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
        }
        Ok(channel)
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
        let at = self.page(contract::PAGE_CHANNEL_DOORBELL) + offset;
        self.shared.bus.write32(DEVICE, at, value).map_err(|error| Error::bus(self.doing(doing))(error))
    }

    /// Give the card an empty ring, and start the channel.
    fn set_up(&self, state: &mut State) -> Result<()> {
        const DOING: &str = "starting the channel";
        state.ring.clear();
        let base = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_RING_BASE_OFFSET;
        let address = state.ring.address();
        self.shared.bus.write64(DEVICE, base, address).map_err(|error| Error::bus(self.doing(DOING))(error))?;
        self.write(contract::CHANNEL_RING_LOG2_OFFSET, state.ring.log2, DOING)?;
        self.write(contract::CHANNEL_VECTOR_OFFSET, self.vector.into(), DOING)?;
        let announce = if self.announces() { contract::CHANNEL_CONTROL_ANNOUNCE_MASK } else { 0 };
        self.write(contract::CHANNEL_CONTROL_OFFSET, contract::CHANNEL_CONTROL_ENABLE_MASK | announce, DOING)?;
        if state.events {
            self.arm(state)?;
        }
        Ok(())
    }

    fn announces(&self) -> bool {
        self.options.announce && self.info().direction == Direction::C2h
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
        let c2h = self.info().direction == Direction::C2h;
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
        state.finished.insert(done.ticket, result);
    }

    /// End everything in flight without the card.
    fn abandon(&self, state: &mut State) {
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

    /// Wait until `check` finds what it looks for; it is asked after each look at the ring.
    fn wait_until<T>(&self, timeout: Option<Duration>, mut check: impl FnMut(&mut State) -> Result<Option<T>>) -> Result<T> {
        let bus = &*self.shared.bus;
        let mut state = lock(&self.state);
        self.reap(&mut state);
        if let Some(found) = check(&mut state)? {
            return Ok(found);
        }
        let mut seen = state.progress;
        let mut clock = Clock::start(bus, timeout, state.stalled);
        loop {
            if clock.over(bus, state.stalled) {
                return Err(Error::Pending { channel: self.name().into(), after: timeout.unwrap_or_default() });
            }
            if state.leading {
                state.followers += 1;
                state = self.changed.wait_timeout(state, SLICE).unwrap_or_else(PoisonError::into_inner).0;
                state.followers -= 1;
            } else {
                let polls = match self.options.notify {
                    Notify::Poll => true,
                    Notify::Interrupt => false,
                    Notify::Adaptive { poll } => clock.elapsed(bus, state.stalled) < nanoseconds(poll),
                };
                if !polls {
                    self.arm(&state)?;
                }
                state.leading = true;
                let slice = clock.slice(bus, state.stalled, self.slice);
                drop(state);
                let wake = if polls { bus.poll().map(|()| Wake::Fired) } else { bus.wait(self.vector, slice) };
                state = lock(&self.state);
                state.leading = false;
                if state.followers > 0 {
                    self.changed.notify_all();
                }
                if wake.map_err(|error| Error::bus(self.doing("waiting for the card"))(error))? == Wake::TimedOut {
                    state.stalled += slice;
                }
            }
            self.reap(&mut state);
            if let Some(found) = check(&mut state)? {
                return Ok(found);
            }
            if state.progress != seen {
                seen = state.progress;
                clock.restart(bus, state.stalled);
            }
        }
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
        let channel = || self.name().to_string();
        match state.finished.remove(&ticket) {
            Some(Ok(completion)) => Ok(Some(completion)),
            Some(Err(what)) => Err(Error::Protocol { channel: channel(), what }),
            // In flight are the newest tickets, without a gap.
            None if state.flight.front().is_some_and(|f| f.ticket <= ticket) && ticket.0 < state.next_ticket => Ok(None),
            None => Err(Error::UnknownTicket { channel: channel() }),
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
                    return Err(Error::Protocol { channel: self.name().into(), what });
                }
                Ok(())
            }
            Err(error) => {
                self.abandon(state);
                Err(error)
            }
        }
    }

    /// Reset the channel on the card. False: it does not end.
    fn reset_card(&self) -> Result<bool> {
        const DOING: &str = "resetting the channel";
        self.write(contract::CHANNEL_RESET_OFFSET, contract::CHANNEL_RESET_RESET_MASK, DOING)?;
        let offset = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_RESET_OFFSET;
        self.shared.wait_clear(offset, contract::CHANNEL_RESET_RESET_MASK, DOING)
    }

    fn after_reset(&self, state: &mut State, ended: bool) -> Result<()> {
        self.reap(state);
        self.abandon(state);
        state.lost = !ended;
        if ended {
            self.set_up(state)?;
        }
        Ok(())
    }

    /// Stop the channel for good; afterwards the card touches none of its memory.
    fn close(&self) {
        let mut state = lock(&self.state);
        match self.reset_card() {
            Ok(true) => self.reap(&mut state),
            Ok(false) => log::warn!("{}", self.doing("closing: its reset does not end")),
            Err(error) => log::debug!("{error}"),
        }
        self.abandon(&mut state);
        state.lost = true;
    }

    /// Where the card finds a piece; what was mapped for this is added to `mapped`.
    ///
    /// # Safety
    /// The piece stays valid until what was mapped has been unmapped.
    unsafe fn address(&self, piece: &Piece, mapped: &mut Vec<(u64, usize)>) -> Result<u64> {
        let access = match self.info().direction {
            Direction::H2c => Access::Read,
            Direction::C2h => Access::Write,
        };
        if let Some(address) = lock(&self.shared.registry).find(piece.memory as usize, piece.bytes, access) {
            return Ok(address);
        }
        // SAFETY: by this function's contract.
        let address = unsafe { self.shared.bus.map(piece.memory, piece.bytes, access) }
            .map_err(|error| Error::bus(self.doing(&format!("mapping {} bytes for the card", piece.bytes)))(error))?;
        mapped.push((address, piece.bytes));
        Ok(address)
    }

    fn post(&self, descriptor: contract::Descriptor) -> Result<()> {
        let image = descriptor.to_le_bytes();
        let at = self.page(contract::PAGE_CHANNEL_DOORBELL) + contract::DOORBELL_DESCRIPTOR_OFFSET;
        for (offset, half) in [(0, &image[..8]), (8, &image[8..])] {
            let mut word = [0; 8];
            word.copy_from_slice(half);
            let written = self.shared.bus.write64(DEVICE, at + offset, u64::from_le_bytes(word));
            written.map_err(|error| Error::bus(self.doing("posting a descriptor"))(error))?;
        }
        Ok(())
    }

    /// Prepare and post one descriptor with its prefixes. On an error `flight.mapped` holds what has to be unmapped.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    unsafe fn launch(&self, pieces: &[Piece], message: Message, state: &mut State, flight: &mut Flight) -> Result<()> {
        let h2c = self.info().direction == Direction::H2c;
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
            [piece] => (contract::Kind::Direct, unsafe { self.address(piece, &mut flight.mapped)? }),
            _ => {
                let mut table = Dma::allocate(&self.shared.bus, pieces.len() * contract::LIST_ENTRY_BYTES, Access::Read)?;
                for (index, piece) in pieces.iter().enumerate() {
                    // SAFETY: as above.
                    let address = unsafe { self.address(piece, &mut flight.mapped)? };
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
            self.post(contract::Descriptor { address: message.offset, length: message.user, cookie, control })?;
        }
        if let Some(total) = message.length.filter(|_| h2c) {
            let control = control(contract::Kind::MessageLength);
            self.post(contract::Descriptor { address: total, length: 0, cookie, control })?;
        }
        self.post(contract::Descriptor { address, length, cookie, control: control(kind) | end })
    }
}

fn has_attributes(message: &Message) -> bool {
    message.offset != 0 || message.user != 0
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

    unsafe fn submit(&self, pieces: &[Piece], message: Message, keep: Option<Arc<dyn Any + Send + Sync>>) -> Result<Ticket> {
        let channel = &*self.0;
        let depth = channel.info().queue_depth;
        let pieces: Vec<Piece> = pieces.iter().copied().filter(|piece| piece.bytes > 0).collect();
        let bytes = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.bytes as u64));
        if bytes > DESCRIPTOR_LIMIT as u64 {
            return Err(Error::Invalid(format!("channel \"{}\": {bytes} bytes in one descriptor", channel.name())));
        }
        let h2c = channel.info().direction == Direction::H2c;
        let places = if h2c { 1 + u16::from(message.length.is_some()) + u16::from(has_attributes(&message)) } else { 1 };
        if places > depth {
            let what = format!("channel \"{}\": a message's attributes do not fit into a queue of {depth}", channel.name());
            return Err(Error::Invalid(what));
        }
        let mut state = lock(&channel.state);
        let state = &mut *state;
        if state.lost {
            return Err(Error::Protocol { channel: channel.name().into(), what: "it did not come out of its last reset".into() });
        }
        channel.reap(state);
        if state.used + places > depth {
            return Err(Error::QueueFull { channel: channel.name().into(), depth });
        }
        let ticket = Ticket(state.next_ticket);
        let mut flight = Flight { ticket, places, bytes, slot: None, mapped: Vec::new(), _table: None, _keep: keep };
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
        self.0.wait_until(timeout, |state| self.0.collect(state, ticket))
    }

    fn try_wait(&self, ticket: Ticket) -> Result<Option<Completion>> {
        self.0.look(|state| self.0.collect(state, ticket))
    }

    fn wait_room(&self, timeout: Option<Duration>) -> Result<()> {
        let depth = self.0.info().queue_depth;
        self.0.wait_until(timeout, |state| Ok((state.used + depth.min(3) <= depth).then_some(())))
    }

    fn message_start(&self, timeout: Option<Duration>) -> Result<MessageStart> {
        self.0.wait_until(timeout, |state| self.0.start(state))
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
                channel.abandon(&mut state);
                return Err(error);
            }
            last
        };
        let ended = channel.wait_until(Some(GRACE), |state| Ok(state.flight.front().is_none_or(|front| front.ticket > last).then_some(())));
        match ended {
            Ok(()) => Ok(()),
            Err(Error::Pending { .. }) => {
                log::warn!("{}", channel.doing("a cancel does not end; resetting the channel"));
                channel.reset_locked(&mut lock(&channel.state))
            }
            Err(error) => {
                channel.abandon(&mut lock(&channel.state));
                Err(error)
            }
        }
    }

    fn reset(&self) -> Result<()> {
        self.0.reset_locked(&mut lock(&self.0.state))
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
