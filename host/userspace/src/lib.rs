// SPDX-License-Identifier: Apache-2.0
//! The user-space driver: runs in the program, over any bus.
//!
//! Locks, in the order in which they may be taken: the table of open channels, then a channel's state. A channel's state is never held
//! while waiting for an interrupt. Of several threads that wait for one channel, one waits for the interrupt on behalf of all (the
//! *leader*), because the bus reports a fire only once; it hands over when it leaves.

mod channel;
mod discovery;
mod memory;
#[cfg(any(test, feature = "mock"))]
pub mod mock;
#[cfg(any(test, feature = "mock"))]
pub mod null;
mod pace;
mod ring;

use channel::{Handle, State, UserChannel};

use crate::discovery::{discover, Card};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use towpath_bus::{Bus, BusError, Wake};
use towpath_contract as contract;
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::{
    rate_of, Access, BarPart, Channel, ChannelOptions, DeviceInfo, DeviceMemory, Driver, Error, LinkCounters, Loaded, Qos, QosChange,
    Registration, RegistrationState, Result, WaitOptions, WindowStores, WireStatistics,
};

/// Largest number of bytes in one descriptor. The contract allows nearly 4 GiB; a timeout sees progress only between descriptors.
const DESCRIPTOR_LIMIT: usize = 64 << 20;
/// How long a cancel or a reset may take. Both wait for reads under way, which the system answers, or fails, much sooner. A read that is
/// never answered would hold them without a limit; they end here.
const GRACE: Duration = Duration::from_secs(2);
/// The longest wait for an interrupt. Then the waiter reads the ring anyway: a reset raises no interrupt.
const SLICE: Duration = Duration::from_millis(100);
/// The same on a vector that several wait for.
const SHARED_SLICE: Duration = Duration::from_micros(50);
/// Messages that may have been announced and not received; more is nonsense.
const STARTS_LIMIT: usize = 1 << 16;

const DEVICE: u8 = contract::BAR_DEVICE;
/// Of a load from a window that failed in part, so many bytes at least are all ones.
const WINDOW_ROW: u64 = 8;

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
    /// Vectors that the bus has enabled.
    vectors: u16,
    /// What is registered, by the registration's own address: transfers name theirs, and this is only for what ends all of them.
    registrations: Mutex<HashMap<usize, Arc<Registration>>>,
    /// By position in `card.info.channels`.
    open: Mutex<Vec<Weak<UserChannel>>>,
    /// A device's memory was registered.
    device_memory: AtomicBool,
    /// Which user interrupts are enabled, and the events of each that were returned.
    interrupts: Mutex<Interrupts>,
    /// Held from an access of the register window to the look at its status.
    window: Mutex<()>,
}

struct Interrupts {
    enabled: u32,
    told: Vec<u32>,
}

impl UserDriver {
    /// Discover the card behind a bus, and refuse a device that is no card or has another version.
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
            registrations: Mutex::default(),
            device_memory: AtomicBool::new(false),
            open: Mutex::new(std::iter::repeat_with(Weak::new).take(channels).collect()),
            interrupts: Mutex::new(Interrupts { enabled: 0, told: vec![0; interrupts] }),
            window: Mutex::new(()),
        };
        let driver = UserDriver { shared: Arc::new(shared) };
        let shared = &driver.shared;
        if shared.is_left_running()? {
            driver.reset()?;
        }
        // Events from before belong to no call.
        for index in 0..interrupts {
            let count = shared.interrupt_count(index)?;
            shared.interrupts.lock().told[index] = count;
        }
        shared.tell();
        Ok(driver)
    }
}

impl Shared {
    /// Whether a channel runs, before this program has opened any: a process died with it open, and nothing has reset the card. Its ring
    /// would be where this program's memory is going to be.
    fn is_left_running(&self) -> Result<bool> {
        for channel in 0..self.card.info.channels.len() {
            let offset = self.card.channel_page(channel, contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_STATUS_OFFSET;
            let status = self.bus.read32(DEVICE, offset).map_err(Error::bus(format!("{}: looking at its channels", self.bus.name())))?;
            if status & contract::CHANNEL_STATUS_RUNNING_MASK != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Log what was opened.
    fn tell(&self) {
        if log::log_enabled!(log::Level::Info) {
            let DeviceInfo { name, core, core_version, version: (major, minor), serial, channels, .. } = &self.card.info;
            let channels: Vec<String> = channels.iter().map(|channel| format!("{} ({})", channel.name, channel.direction)).collect();
            let (vectors, channels) = (self.vectors, channels.join(", "));
            log::info!(
                "{name}: core {core}, version {core_version}, contract {major}.{minor}, serial number {serial:#x}; vectors: {vectors}; \
                 channels: {channels}"
            );
        }
    }

    fn card_read(&self, offset: u64, doing: &str) -> Result<u32> {
        self.bus.read32(DEVICE, self.card.card_page() + offset).map_err(Error::bus(format!("{}: {doing}", self.bus.name())))
    }

    fn card_write(&self, offset: u64, value: u32, doing: &str) -> Result<()> {
        self.bus.write32(DEVICE, self.card.card_page() + offset, value).map_err(Error::bus(format!("{}: {doing}", self.bus.name())))
    }

    /// Where a channel's privileged page begins, on a card whose channels have weights.
    fn qos_page(&self, index: u16) -> Result<u64> {
        if !self.card.info.qos {
            let how = "its channels take plain turns; build it with `qos = true` in [gateware] of its core's manifest";
            return Err(Error::Unavailable(format!("{}: the card has no quality of service: {how}", self.bus.name())));
        }
        let channels = &self.card.info.channels;
        let position = channels.iter().position(|channel| channel.index == index).ok_or_else(|| {
            let available = channels.iter().map(|channel| channel.name.clone()).collect();
            Error::NoSuchChannel { channel: index.to_string(), available }
        })?;
        Ok(self.card.channel_page(position, contract::PAGE_CHANNEL_PRIVILEGED))
    }

    /// The value of a register that never holds all ones: a card that was removed answers so.
    fn of_a_card(&self, value: u32, doing: impl Into<String>) -> Result<u32> {
        if value == u32::MAX {
            let why = "it answers all ones: it was removed, or its link is down; `towpath doctor` checks it";
            return Err(Error::bus(doing)(BusError::Gone(format!("{}: {why}", self.bus.name()))));
        }
        Ok(value)
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
        let mut interrupts = self.interrupts.lock();
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

    /// The card did not stop when it was told to: unmap everything registered, because the program may use that memory again. Other
    /// channels' transfers there end with a fault; the memory remains usable, and is then mapped for each transfer. Memory that cannot be
    /// unmapped stays registered, and its [`Driver::unregister`] fails.
    fn withdraw_registrations(&self) {
        for registration in self.registrations.lock().values() {
            // Unmapping is retried for what is stuck. No transfer names it in the meantime.
            if registration.replace(RegistrationState::Stuck) == RegistrationState::Withdrawn {
                registration.replace(RegistrationState::Withdrawn);
                continue;
            }
            let bytes = registration.bytes();
            match self.bus.unmap(registration.key(), bytes) {
                Ok(()) => drop(registration.replace(RegistrationState::Withdrawn)),
                Err(error) => {
                    log::error!("{}: {bytes} registered bytes stay within the reach of a card that did not stop: {error}", self.bus.name());
                }
            }
        }
    }

    /// Load from the memories' windows. Does it look as if a part had failed? That reads as all ones, by rows of 8 bytes or more.
    fn load(&self, offset: u64, bytes: &mut [u8]) -> Result<bool> {
        let bus = &*self.bus;
        bus.read_bytes(contract::BAR_MEMORY, offset, bytes).map_err(Error::bus(format!("{}: reading a memory's window", bus.name())))?;
        let (first, rest) = bytes.split_at(bytes.len().min((offset.wrapping_neg() % WINDOW_ROW) as usize));
        let mut rows = std::iter::once(first).chain(rest.chunks(WINDOW_ROW as usize)).filter(|row| !row.is_empty());
        Ok(rows.any(|row| row.iter().all(|byte| *byte == 0xff)))
    }

    /// What the card says of loads since it was asked last, which it then forgets.
    fn window_state(&self) -> Result<Loaded> {
        let status = self.card_read(contract::CARD_WINDOW_STATUS_OFFSET, "reading the memory windows' status")?;
        if status & contract::CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK != 0 {
            return Ok(Loaded::Off);
        }
        if status & contract::CARD_WINDOW_STATUS_MEMORY_ERROR_MASK == 0 {
            return Ok(Loaded::Done);
        }
        let clear = contract::CARD_WINDOW_STATUS_MEMORY_ERROR_MASK;
        self.card_write(contract::CARD_WINDOW_STATUS_OFFSET, clear, "clearing the memory windows' status")?;
        Ok(Loaded::Refused)
    }

    /// What became of an access to the register window that looks as if it failed.
    fn check_window(&self, offset: u32) -> Result<()> {
        let ours = contract::CARD_WINDOW_STATUS_TIMEOUT_MASK | contract::CARD_WINDOW_STATUS_ERROR_MASK;
        let status = ours & self.card_read(contract::CARD_WINDOW_STATUS_OFFSET, "reading the register window's status")?;
        if status == 0 {
            return Ok(());
        }
        self.card_write(contract::CARD_WINDOW_STATUS_OFFSET, status, "clearing the register window's status")?;
        let timed_out = status & contract::CARD_WINDOW_STATUS_TIMEOUT_MASK != 0;
        Err(if timed_out { Error::register_silent(offset) } else { Error::register_refused(offset) })
    }
}

/// How long nothing has happened: by the bus's time, or by waits that ended in vain, whichever is more.
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
        // A caller that polls a simulated card whose link stands still: simulated time may creep; wall-clock time counts as well.
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
        let mut open = self.shared.open.lock();
        if open[position].strong_count() > 0 {
            return Err(Error::ChannelInUse { channel: channels[position].name.clone() });
        }
        let channel = Arc::new(UserChannel::open(&self.shared, position, options)?);
        open[position] = Arc::downgrade(&channel);
        // Under the lock: who registers such memory sets this first, and then tells the channels that are open.
        if self.shared.device_memory.load(Ordering::Acquire) {
            channel.expect_device_memory();
        }
        Ok(Box::new(Handle(channel)))
    }

    unsafe fn register(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<Arc<Registration>> {
        if bytes == 0 {
            return Ok(Arc::new(Registration::empty(memory, access)));
        }
        let bus = &self.shared.bus;
        // SAFETY: valid until `unregister`, by this function's contract.
        let address =
            unsafe { bus.map(memory, bytes, access) }.map_err(Error::bus(format!("{}: registering {bytes} bytes", bus.name())))?;
        let registration = Arc::new(Registration::new(memory, bytes, access, address));
        self.shared.registrations.lock().insert(Arc::as_ptr(&registration) as usize, registration.clone());
        Ok(registration)
    }

    fn register_device(&self, memory: &Arc<dyn DeviceMemory>, access: Access) -> Result<Arc<Registration>> {
        let (bus, bytes) = (&self.shared.bus, memory.bytes());
        if bytes == 0 {
            return Ok(Arc::new(Registration::empty(memory.address() as *mut u8, access)));
        }
        let address = bus.map_device(memory, access).map_err(|error| match (error, memory.part_of_a_bar()) {
            (BusError::Unsupported(why), None) => Error::no_way_to_a_gpu(bus.name(), &why),
            (BusError::Unsupported(why), Some(_)) => Error::no_way_to_a_card(bus.name(), &why),
            (error, _) => Error::bus(format!("{}: registering {bytes} bytes of another device's memory", bus.name()))(error),
        })?;
        self.shared.device_memory.store(true, Ordering::Release);
        let open: Vec<Arc<UserChannel>> = self.shared.open.lock().iter().filter_map(Weak::upgrade).collect();
        open.iter().for_each(|channel| channel.expect_device_memory());
        let registration = Arc::new(Registration::of_device(memory, access, address));
        self.shared.registrations.lock().insert(Arc::as_ptr(&registration) as usize, registration.clone());
        Ok(registration)
    }

    fn unregister(&self, registration: &Arc<Registration>) -> Result<()> {
        let (bus, bytes) = (&self.shared.bus, registration.bytes());
        let mut registrations = self.shared.registrations.lock();
        match registration.replace(RegistrationState::Ended) {
            RegistrationState::Usable | RegistrationState::Stuck => {
                if let Err(error) = bus.unmap(registration.key(), bytes) {
                    registration.replace(RegistrationState::Stuck);
                    return Err(Error::bus(format!("{}: unregistering {bytes} bytes", bus.name()))(error));
                }
            }
            RegistrationState::Withdrawn | RegistrationState::Ended => {}
        }
        registrations.remove(&(Arc::as_ptr(registration) as usize));
        Ok(())
    }

    fn read_register(&self, offset: u32) -> Result<u32> {
        let shared = &self.shared;
        let _one = shared.window.lock();
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
        let _one = shared.window.lock();
        shared
            .bus
            .write32(contract::BAR_WINDOW, offset.into(), value)
            .map_err(Error::bus(format!("{}: writing register {offset:#x}", shared.bus.name())))?;
        shared.check_window(offset)
    }

    fn read_window(&self, offset: u64, bytes: &mut [u8]) -> Result<Loaded> {
        let shared = &self.shared;
        // Another thread's load must not take this one's error.
        let _one = shared.window.lock();
        if !shared.load(offset, bytes)? {
            return Ok(Loaded::Done);
        }
        match shared.window_state()? {
            Loaded::Refused => (),
            other => return Ok(other),
        }
        // A refused store may have left the flag, and the memory may hold such bytes: a load has no side effects.
        match shared.load(offset, bytes)? {
            true => shared.window_state(),
            false => Ok(Loaded::Done),
        }
    }

    fn write_window(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let bus = &*self.shared.bus;
        let bar = contract::BAR_MEMORY;
        let written = match *bytes {
            [a, b, c, d] if offset % 4 == 0 => bus.write32(bar, offset, u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] if offset % 8 == 0 => bus.write64(bar, offset, u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            // The fence keeps them before what follows.
            _ => bus.write_combining(bar, offset, bytes).and_then(|()| bus.fence()),
        };
        written.map_err(Error::bus(format!("{}: writing a memory's window", bus.name())))
    }

    fn share_window(&self, offset: u64, bytes: u64) -> Result<Arc<dyn BarPart>> {
        let bus = &*self.shared.bus;
        bus.share_bar(contract::BAR_MEMORY, offset, bytes).map_err(|error| match error {
            BusError::Unsupported(why) => Error::no_way_to_a_card(bus.name(), &why),
            error => Error::bus(format!("{}: sharing a memory's window", bus.name()))(error),
        })
    }

    fn window_stores(&self) -> Result<WindowStores> {
        let shared = &self.shared;
        let count = |offset| shared.card_read(offset, "reading what became of stores to the windows");
        Ok(WindowStores {
            off: count(contract::CARD_WINDOW_STATUS_OFFSET)? & contract::CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK != 0,
            refused: count(contract::CARD_MEMORY_WINDOW_ERRORS_OFFSET)?,
            dropped: count(contract::CARD_MEMORY_WINDOW_OVERRUNS_OFFSET)?,
            link_downs: count(contract::CARD_LINK_DOWNS_OFFSET)?,
        })
    }

    fn wait_interrupt(&self, index: u16, options: WaitOptions<'_>) -> Result<u32> {
        let shared = &self.shared;
        let bus = &*shared.bus;
        shared.enable_interrupt(index)?;
        let (vector, is_shared) = shared.interrupt_vector(index);
        let mut clock = Clock::start(bus, options.timeout, 0);
        let mut watch = SignalWatch::new(options);
        let mut stalled = 0;
        loop {
            {
                let mut interrupts = shared.interrupts.lock();
                let count = shared.interrupt_count(index.into())?;
                let events = count.wrapping_sub(interrupts.told[usize::from(index)]);
                if events > 0 {
                    interrupts.told[usize::from(index)] = count;
                    return Ok(events);
                }
            }
            if clock.over(bus, stalled) {
                return Err(Error::InterruptTimeout { index, after: options.timeout.unwrap_or_default() });
            }
            watch.hold();
            let slice = clock.slice(bus, stalled, if is_shared { SHARED_SLICE } else { SLICE });
            let wake = bus.wait(vector, slice).map_err(Error::bus(format!("{}: waiting for user interrupt {index}", bus.name())))?;
            if wake == Wake::TimedOut {
                stalled += slice;
            }
            if watch.looks(wake == Wake::Interrupted) && watch.is_due(wake == Wake::Interrupted) && watch.is_over() {
                return Err(Error::Interrupted { channel: String::new(), bytes: 0 });
            }
        }
    }

    fn count_interrupt(&self, index: u16) -> Result<u32> {
        self.shared.interrupt_count(index.into())
    }

    fn interrupt_event_fd(&self, index: u16) -> Result<OwnedFd> {
        self.shared.enable_interrupt(index)?;
        let vector = self.shared.interrupt_vector(index).0;
        self.shared.bus.event_fd(vector).map_err(Error::bus(format!("{}: the event of user interrupt {index}", self.shared.bus.name())))
    }

    fn reset(&self) -> Result<()> {
        let shared = &self.shared;
        log::info!("{}: resetting the card", shared.bus.name());
        let open = shared.open.lock();
        let channels: Vec<Arc<UserChannel>> = open.iter().filter_map(Weak::upgrade).collect();
        let mut states: Vec<MutexGuard<'_, State>> = channels.iter().map(|channel| channel.state.lock()).collect();
        // As before a channel's reset.
        shared.bus.fence().map_err(Error::bus(format!("{}: resetting the card", shared.bus.name())))?;
        shared.card_write(contract::CARD_CONTROL_OFFSET, contract::CARD_CONTROL_RESET_MASK, "resetting the card")?;
        let offset = shared.card.card_page() + contract::CARD_CONTROL_OFFSET;
        let ended = shared.wait_clear(offset, contract::CARD_CONTROL_RESET_MASK, "resetting the card")?;
        for (channel, state) in channels.iter().zip(&mut states) {
            channel.after_reset(state, ended)?;
        }
        if !ended {
            let what = format!("the card's reset has not ended after {GRACE:?}");
            return Err(Error::Protocol { channel: "all".into(), what, bytes: None });
        }
        let mut interrupts = shared.interrupts.lock();
        interrupts.enabled = 0;
        for index in 0..interrupts.told.len() {
            interrupts.told[index] = shared.interrupt_count(index)?;
        }
        Ok(())
    }

    fn qos(&self, index: u16) -> Result<Qos> {
        let shared = &self.shared;
        let page = shared.qos_page(index)?;
        let doing = || format!("{}: reading a channel's weight", shared.bus.name());
        let read = |offset| shared.bus.read32(DEVICE, page + offset).map_err(Error::bus(doing()));
        let rate = rate_of(read(contract::CHANNEL_RATE_OFFSET)?, shared.card.info.core_clock_khz);
        let narrow = |offset| shared.of_a_card(read(offset)?, doing());
        // The registers have so many bits.
        let (weight, class) = (narrow(contract::CHANNEL_WEIGHT_OFFSET)? as u8, narrow(contract::CHANNEL_TRAFFIC_CLASS_OFFSET)? as u8);
        Ok(Qos::new(weight.max(1), rate, class))
    }

    fn set_qos(&self, index: u16, change: QosChange) -> Result<()> {
        let shared = &self.shared;
        let page = shared.qos_page(index)?;
        for (offset, value) in change.registers(shared.card.info.core_clock_khz)? {
            let doing = format!("{}: setting a channel's part of the link", shared.bus.name());
            shared.bus.write32(DEVICE, page + offset, value).map_err(Error::bus(doing))?;
        }
        Ok(())
    }

    fn link_counters(&self) -> Result<LinkCounters> {
        let read = |offset| self.shared.card_read(offset, "reading the link's counters");
        let mut counters = LinkCounters::default();
        counters.unsupported_requests = read(contract::CARD_UNSUPPORTED_REQUESTS_OFFSET)?;
        counters.completer_aborts = read(contract::CARD_COMPLETER_ABORTS_OFFSET)?;
        counters.poisoned = read(contract::CARD_POISONED_OFFSET)?;
        counters.timeouts = read(contract::CARD_TIMEOUTS_OFFSET)?;
        counters.bad_completions = read(contract::CARD_BAD_COMPLETIONS_OFFSET)?;
        counters.late_completions = read(contract::CARD_LATE_COMPLETIONS_OFFSET)?;
        counters.unexpected_completions = read(contract::CARD_UNEXPECTED_COMPLETIONS_OFFSET)?;
        counters.bus_mastering_losses = read(contract::CARD_BUS_MASTERING_LOSSES_OFFSET)?;
        counters.link_downs = read(contract::CARD_LINK_DOWNS_OFFSET)?;
        counters.function_resets = read(contract::CARD_FUNCTION_RESETS_OFFSET)?;
        counters.quarantined = read(contract::CARD_QUARANTINED_OFFSET)?;
        Ok(counters)
    }

    fn wire(&self) -> Option<WireStatistics> {
        self.shared.bus.wire()
    }

    fn now_ns(&self) -> u64 {
        self.shared.bus.now()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::mock::{MockBus, Settings};

    /// Another thread may hold the channel, for a reset of the card, while the program drops it.
    #[test]
    fn a_reset_of_the_card_does_not_start_a_channel_that_was_closed_meanwhile() {
        let bus = Arc::new(MockBus::new(Settings::default()));
        let driver = UserDriver::open(bus.clone()).unwrap();
        let handle = driver.open_channel(0, ChannelOptions::default()).unwrap();
        let held = driver.shared.open.lock()[0].upgrade().unwrap();
        assert!(bus.is_enabled(0));
        drop(handle);
        assert!(!bus.is_enabled(0));
        driver.reset().unwrap();
        assert!(!bus.is_enabled(0));
        drop(held);
        let _again = driver.open_channel(0, ChannelOptions::default()).unwrap();
        assert!(bus.is_enabled(0));
    }
}
