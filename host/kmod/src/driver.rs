// SPDX-License-Identifier: Apache-2.0
//! A card by its control file: what it is, registers, user interrupts, registered memory, and the way to its channels.
//!
//! Locks, in the order in which they may be taken: the table of open channels, then a channel's state.

use crate::channel::{Handle, LinuxChannel};
use crate::error::{refused, OpenError, RENEW, RIGHTS};
use crate::sys::{self, Files, Folder, Node, Way};
use crate::uapi;
use parking_lot::Mutex;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use towpath_bus::BusError;
use towpath_contract as contract;
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::{
    rate_of, shown_name, Access, Channel, ChannelInfo, ChannelKind, ChannelOptions, DeviceInfo, DeviceMemory, Direction, Driver, Error,
    LinkCounters, Loaded, PluginInfo, Qos, QosChange, Registration, RegistrationState, Result, WaitOptions, WindowStores, WireStatistics,
};
use towpath_system::{device_fence, errno, event, signals, Mapping, MAPS_DEVICES};

/// One wait in the kernel, at most; then everything is looked at anyway.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// Loads that fail one after the other before one counts as refused.
const LOADS: usize = 8;

/// How long one call may still wait.
pub(crate) struct Limit {
    timeout: Option<Duration>,
    slice: Duration,
    began: Instant,
}

impl Limit {
    /// For a call that begins to wait now.
    pub fn new(options: WaitOptions<'_>) -> Limit {
        let slice = if options.interrupted.is_some() { signals::ASK } else { SLICE };
        Limit { timeout: options.timeout, slice, began: Instant::now() }
    }

    /// What is left of it, no more than a slice.
    pub fn left(&self) -> Duration {
        self.timeout.map_or(self.slice, |limit| limit.saturating_sub(self.began.elapsed()).min(self.slice))
    }

    /// Is the caller's function to be called after each slice?
    pub fn asks(&self) -> bool {
        self.slice < SLICE
    }
}

/// A card that the kernel module holds. `Send` and `Sync`.
pub struct LinuxDriver {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub info: DeviceInfo,
    files: Box<dyn Files>,
    pub control: Box<dyn Node>,
    windows: Vec<Window>,
    /// Held by a load that asks whether it was refused.
    asking: Mutex<()>,
    /// By position in `info.channels`.
    open: Mutex<Vec<Weak<LinuxChannel>>>,
    /// By number.
    interrupts: Mutex<Vec<Interrupt>>,
    opened: Instant,
}

/// A memory's window, at the offset of the control file that its channel's [`ChannelInfo::window`] has. It is mapped by the first access:
/// where it cannot be, everything else of the card still works.
struct Window {
    channel: u16,
    offset: u64,
    bytes: u64,
    mapped: OnceLock<Mapping>,
}

#[derive(Default)]
struct Interrupt {
    /// Events that were returned.
    told: u32,
    /// Its eventfd, created on first use.
    event: Option<OwnedFd>,
}

impl LinuxDriver {
    /// Open the card whose files are in that folder: `/dev/towpath0`. `name` is its name in texts.
    pub fn open(name: &str, folder: &Path) -> std::result::Result<LinuxDriver, OpenError> {
        if !folder.exists() {
            let what =
                "there is no such folder; `towpath list` shows the cards of the kernel module, once it is loaded (`sudo modprobe towpath`)";
            return Err(OpenError::NotThere(what.into()));
        }
        LinuxDriver::over(name, Box::new(Folder(folder.into())))
    }

    /// Open the card behind these files.
    pub(crate) fn over(name: &str, files: Box<dyn Files>) -> std::result::Result<LinuxDriver, OpenError> {
        let failed = |doing: &str, why| OpenError::Failed(refused(format!("{name}: {doing}"), why));
        let control = files.open("control", Way::Both).map_err(|why| match why.raw_os_error() {
            Some(errno::ENOENT | errno::ENOTDIR | errno::ENXIO) => {
                OpenError::NotThere("it is not a folder of a card's files: those have one called control".into())
            }
            Some(errno::EACCES | errno::EPERM) => {
                OpenError::NotReady { seen: format!("this user may not open {name}/control"), remedy: RIGHTS.into() }
            }
            _ => failed("opening the card", why),
        })?;
        let mut card = uapi::CardInfo::default();
        sys::ask(&*control, &mut card).map_err(|why| match why.raw_os_error() {
            Some(errno::ENOTTY) => OpenError::NotThere(format!("{name}/control is another thing than the control file of a card")),
            Some(errno::E2BIG | errno::EINVAL) => {
                OpenError::NotReady { seen: "the kernel module speaks another contract than this library".into(), remedy: RENEW.into() }
            }
            _ => failed("asking what the card is", why),
        })?;
        let version = (card.version_major, card.version_minor);
        if version.0 != contract::VERSION_MAJOR {
            let host = (contract::VERSION_MAJOR, contract::VERSION_MINOR);
            return Err(OpenError::Failed(Error::Version { name: name.into(), card: version, host }));
        }
        let mut info = DeviceInfo::default();
        info.name = name.into();
        info.core = shown_name(&uapi::name(&card.core_name));
        info.core_version = card.core_version;
        info.version = version;
        info.serial = card.serial;
        info.data_bits = card.data_bytes * 8;
        info.core_clock_khz = card.core_clock_khz;
        info.user_clock_khz = card.user_clock_khz;
        info.tags = card.tags;
        info.vectors = card.vectors;
        info.interrupts = card.interrupts;
        info.register_bytes = card.window_bytes;
        // A module that is older says 0.
        let has = |feature| u32::from(card.features) & feature != 0;
        (info.qos, info.fill_levels) = (has(uapi::FEATURE_QOS), has(uapi::FEATURE_FILL));
        for index in 0..card.channels {
            let mut about = uapi::ChannelInfo { index: index.into(), ..Default::default() };
            sys::ask(&*control, &mut about).map_err(|why| failed("asking what its channels are", why))?;
            let direction = if about.direction == 0 { Direction::H2c } else { Direction::C2h };
            let mut channel = ChannelInfo::new(index, shown_name(&uapi::name(&about.name)), direction);
            channel.queue_depth = u16::try_from(about.queue_depth).unwrap_or(u16::MAX);
            channel.inline_slots = u16::try_from(about.inline_slots).unwrap_or(u16::MAX);
            channel.buffer_bytes = about.buffer_bytes;
            channel.kind = u8::try_from(about.kind).map_or(ChannelKind::Unknown(u8::MAX), ChannelKind::of_contract);
            channel.kind_name = shown_name(&uapi::name(&about.kind_name));
            channel.kind_version = u16::try_from(about.kind_version).unwrap_or(u16::MAX);
            channel.kind_parameter = about.kind_parameter;
            info.channels.push(channel);
        }
        let mut windows = Vec::new();
        for channel in &mut info.channels {
            let window = window(&*control, channel).map_err(|why| failed("asking where its memories' windows are", why))?;
            channel.window = window.as_ref().map(|window| window.offset);
            windows.extend(window);
        }
        for index in 0..card.plugins {
            let mut about = uapi::PluginInfo { index: index.into(), ..Default::default() };
            sys::ask(&*control, &mut about).map_err(|why| failed("asking what its plug-ins are", why))?;
            let version = u16::try_from(about.version).unwrap_or(u16::MAX);
            let name = shown_name(&uapi::name(&about.type_name));
            info.plugins.push(PluginInfo::new(index, name, version, about.offset, about.bytes));
        }
        let shared = Shared {
            files,
            control,
            windows,
            asking: Mutex::new(()),
            open: Mutex::new(info.channels.iter().map(|_| Weak::new()).collect()),
            interrupts: Mutex::new((0..info.interrupts).map(|_| Interrupt::default()).collect()),
            opened: Instant::now(),
            info,
        };
        // Events from before belong to no call.
        shared.forget_interrupts().map_err(OpenError::Failed)?;
        log::info!(
            "{name}: core {}, version {}, serial number {:#x}; held by the kernel module",
            shared.info.core,
            card.core_version,
            card.serial
        );
        Ok(LinuxDriver { shared: Arc::new(shared) })
    }
}

/// A channel's memory's window, if this machine can map one; one for both channels.
fn window(control: &dyn Node, channel: &ChannelInfo) -> io::Result<Option<Window>> {
    if !MAPS_DEVICES || channel.memory_bytes().is_none() || channel.direction != Direction::H2c {
        return Ok(None);
    }
    let mut about = uapi::Window { index: channel.index.into(), ..Default::default() };
    match sys::ask(control, &mut about) {
        // Of a module that is older, there is none either.
        Err(why) if matches!(why.raw_os_error(), Some(errno::ENXIO | errno::EOPNOTSUPP | errno::ENOTTY)) => Ok(None),
        Err(why) => Err(why),
        Ok(()) => Ok(Some(Window { channel: channel.index, offset: about.offset, bytes: about.bytes, mapped: OnceLock::new() })),
    }
}

/// Does it look as if a part of a load had failed? That reads as all ones, by rows of 8 bytes or more.
fn may_have_failed(offset: u64, bytes: &[u8]) -> bool {
    let (first, rest) = bytes.split_at(bytes.len().min((offset.wrapping_neg() % 8) as usize));
    std::iter::once(first).chain(rest.chunks(8)).any(|row| !row.is_empty() && row.iter().all(|byte| *byte == 0xff))
}

impl Shared {
    /// The window that has these bytes, and where they are in it.
    fn window(&self, offset: u64, bytes: usize) -> Result<(&Window, usize)> {
        let inside = |window: &&Window| {
            offset.checked_sub(window.offset).and_then(|at| at.checked_add(bytes as u64)).is_some_and(|end| end <= window.bytes)
        };
        let found = self.windows.iter().find(inside).map(|window| (window, (offset - window.offset) as usize));
        found.ok_or_else(|| Error::Invalid(format!("{}: these bytes of the memory cannot be mapped on this machine", self.info.name)))
    }

    fn mapped<'a>(&self, window: &'a Window) -> Result<&'a Mapping> {
        if let Some(mapped) = window.mapped.get() {
            return Ok(mapped);
        }
        let bytes = usize::try_from(window.bytes).unwrap_or(usize::MAX);
        let mapped = self.control.map(window.offset, bytes).map_err(self.refused("mapping a memory's window"))?;
        // Of two threads that map it at once, one keeps its mapping.
        Ok(window.mapped.get_or_init(|| mapped))
    }

    /// Ask for a channel's part of the link, or set it.
    fn ask_qos(&self, mut argument: uapi::ChannelQos) -> Result<uapi::ChannelQos> {
        if !self.info.qos {
            let why = "the card has no quality of service, or the kernel module is older than it; build the card with `qos = true` in [gateware] of its core's manifest";
            return Err(Error::Unavailable(format!("{}: {why}", self.info.name)));
        }
        let doing = if argument.flags == 0 { "reading a channel's part of the link" } else { "setting a channel's part of the link" };
        sys::ask(&*self.control, &mut argument).map_err(|why| {
            let remedy = match why.raw_os_error() {
                Some(errno::EPERM) => {
                    "only a program with CAP_SYS_ADMIN sets it, for it is about what others have of the link; run this with sudo"
                }
                Some(errno::EBUSY) => "a traffic class changes only while the channel has no transfer in flight",
                _ => return self.refused(doing)(why),
            };
            Error::Bus { doing: format!("{}: {doing}", self.info.name), source: BusError::System(remedy.into(), why), bytes: None }
        })?;
        Ok(argument)
    }

    fn window_state(&self, channel: u16) -> Result<uapi::Window> {
        let mut argument = uapi::Window { index: channel.into(), ..Default::default() };
        sys::ask(&*self.control, &mut argument).map_err(self.refused("asking what became of accesses to a memory's window"))?;
        Ok(argument)
    }

    fn refused(&self, doing: &str) -> impl FnOnce(io::Error) -> Error {
        let doing = format!("{}: {doing}", self.info.name);
        move |why| refused(doing, why)
    }

    /// Open a channel's file.
    pub fn open_node(&self, channel: &ChannelInfo) -> io::Result<Box<dyn Node>> {
        self.files.open(&channel.index.to_string(), if channel.direction == Direction::H2c { Way::Write } else { Way::Read })
    }

    fn interrupt_count(&self, index: u16) -> Result<u32> {
        let mut argument = uapi::Interrupt { index: index.into(), ..Default::default() };
        sys::ask(&*self.control, &mut argument).map_err(self.refused("reading a user interrupt's count"))?;
        Ok(argument.count)
    }

    /// Events until now count as returned.
    fn forget_interrupts(&self) -> Result<()> {
        for (index, interrupt) in (0..).zip(self.interrupts.lock().iter_mut()) {
            interrupt.told = self.interrupt_count(index)?;
        }
        Ok(())
    }

    fn register_access(&self, offset: u32, flags: u32, value: u32) -> Result<u32> {
        let mut argument = uapi::Register { flags, offset, value, ..Default::default() };
        sys::ask(&*self.control, &mut argument).map_err(|why| match why.raw_os_error() {
            Some(errno::ETIMEDOUT) => Error::register_silent(offset),
            Some(errno::EREMOTEIO) => Error::register_refused(offset),
            _ => self.refused(&format!("accessing register {offset:#x}"))(why),
        })?;
        Ok(argument.value)
    }
}

/// Events that are new, from the count and the events returned so far: the count begins anew when the card's function is reset.
fn events(count: u32, told: u32) -> u32 {
    let new = count.wrapping_sub(told);
    if new > u32::MAX / 2 {
        count
    } else {
        new
    }
}

impl Driver for LinuxDriver {
    fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    fn open_channel(&self, index: u16, options: ChannelOptions) -> Result<Box<dyn Channel>> {
        let channels = &self.shared.info.channels;
        let Some(position) = channels.iter().position(|channel| channel.index == index) else {
            let available = channels.iter().map(|channel| channel.name.clone()).collect();
            return Err(Error::NoSuchChannel { channel: index.to_string(), available });
        };
        let info = &channels[position];
        if !info.is_stream() && info.memory_bytes().is_none() {
            let remedy = "the kernel module serves streams and memories; give the card to VFIO (`towpath doctor` says how)";
            return Err(Error::WrongKind { channel: info.name.clone(), kind: info.kind_text(), remedy: remedy.into() });
        }
        // Held until then: a call that resets the card holds on to channels meanwhile, which have their file open.
        let mut open = self.shared.open.lock();
        let channel = Arc::new(LinuxChannel::open(&self.shared, position, options)?);
        open[position] = Arc::downgrade(&channel);
        Ok(Box::new(Handle(channel)))
    }

    unsafe fn register(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<Arc<Registration>> {
        if bytes == 0 {
            return Ok(Arc::new(Registration::empty(memory, access)));
        }
        let flags = match access {
            Access::Read => uapi::BUFFER_TO_CARD,
            Access::Write => uapi::BUFFER_FROM_CARD,
            Access::ReadWrite => uapi::BUFFER_TO_CARD | uapi::BUFFER_FROM_CARD,
        };
        let shared = &self.shared;
        // SAFETY: valid until `unregister`, by this function's contract.
        let handle = unsafe { sys::register_buffer(&*shared.control, flags, memory as u64, bytes as u64) }
            .map_err(shared.refused(&format!("registering {bytes} bytes")))?;
        Ok(Arc::new(Registration::new(memory, bytes, access, handle.into())))
    }

    fn register_device(&self, memory: &Arc<dyn DeviceMemory>, _access: Access) -> Result<Arc<Registration>> {
        if memory.part_of_a_bar().is_some() {
            let why = "the kernel module does not let a card reach another's memory yet";
            return Err(Error::no_way_to_a_card(&self.shared.info.name, why));
        }
        let why = "the kernel module takes a GPU's memory as a dma-buf, which this library does not hand to it yet";
        Err(Error::no_way_to_a_gpu(&self.shared.info.name, why))
    }

    fn unregister(&self, registration: &Arc<Registration>) -> Result<()> {
        let (shared, bytes) = (&self.shared, registration.bytes());
        if registration.replace(RegistrationState::Ended) == RegistrationState::Ended {
            return Ok(());
        }
        let mut argument = uapi::UnregisterBuffer { buffer: registration.key() as u32, ..Default::default() };
        sys::ask(&*shared.control, &mut argument).map_err(|why| {
            registration.replace(RegistrationState::Stuck);
            shared.refused(&format!("unregistering {bytes} bytes"))(why)
        })
    }

    fn read_register(&self, offset: u32) -> Result<u32> {
        self.shared.register_access(offset, 0, 0)
    }

    fn write_register(&self, offset: u32, value: u32) -> Result<()> {
        self.shared.register_access(offset, uapi::REGISTER_WRITE, value).map(drop)
    }

    fn read_window(&self, offset: u64, bytes: &mut [u8]) -> Result<Loaded> {
        let (window, at) = self.shared.window(offset, bytes.len())?;
        let mapped = self.shared.mapped(window)?;
        let load = |bytes: &mut [u8]| {
            // Not before what this thread has stored, or has seen.
            device_fence();
            mapped.load(at, bytes);
            device_fence();
            may_have_failed(offset, bytes)
        };
        if !load(bytes) {
            return Ok(Loaded::Done);
        }
        // Another program may have been told of it, and the memory may hold such bytes: a load has no side effects. What fails meanwhile may be
        // another's: this program's threads ask one after the other, and only a load that fails each time was refused.
        let _alone = self.shared.asking.lock();
        let mut before = self.shared.window_state(window.channel)?;
        for _ in 0..LOADS {
            if before.off != 0 {
                return Ok(Loaded::Off);
            }
            if !load(bytes) {
                return Ok(Loaded::Done);
            }
            let after = self.shared.window_state(window.channel)?;
            if after.off == 0 && after.errors == before.errors {
                return Ok(Loaded::Done);
            }
            before = after;
        }
        Ok(if before.off != 0 { Loaded::Off } else { Loaded::Refused })
    }

    fn write_window(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let (window, at) = self.shared.window(offset, bytes.len())?;
        let mapped = self.shared.mapped(window)?;
        match *bytes {
            [a, b, c, d] if offset % 4 == 0 => mapped.store32(at, u32::from_ne_bytes([a, b, c, d])),
            _ => mapped.store(at, bytes),
        }
        // Stores combine, and those of the next call are not to be among them.
        device_fence();
        Ok(())
    }

    fn window_stores(&self) -> Result<WindowStores> {
        let Some(window) = self.shared.windows.first() else { return Ok(WindowStores::default()) };
        let state = self.shared.window_state(window.channel)?;
        let link_downs = self.link_counters()?.link_downs;
        Ok(WindowStores { off: state.off != 0, refused: state.stores_refused, dropped: state.stores_dropped, link_downs })
    }

    fn wait_interrupt(&self, index: u16, options: WaitOptions<'_>) -> Result<u32> {
        let shared = &self.shared;
        let limit = Limit::new(options);
        let mut watch = SignalWatch::new(options);
        loop {
            let left = limit.left();
            let seen = shared.interrupts.lock()[usize::from(index)].told;
            let mut argument = uapi::Interrupt {
                flags: uapi::INTERRUPT_WAIT,
                index: index.into(),
                seen,
                timeout_ns: left.as_nanos() as i64, // a slice at most
                ..Default::default()
            };
            if let Err(why) = sys::ask_once(&*shared.control, &mut argument) {
                let mut interrupted = limit.asks();
                match why.raw_os_error() {
                    Some(errno::ETIMEDOUT) => {}
                    Some(errno::EINTR) => interrupted = true,
                    Some(errno::ECONNRESET) => std::thread::sleep(sys::RESET_LOOK),
                    _ => return Err(shared.refused(&format!("waiting for user interrupt {index}"))(why)),
                }
                if left.is_zero() {
                    return Err(Error::InterruptTimeout { index, after: options.timeout.unwrap_or_default() });
                }
                if interrupted && watch.is_over() {
                    return Err(Error::Interrupted { channel: String::new(), bytes: 0 });
                }
                continue;
            }
            // Another thread may have returned them meanwhile, and more: so they are counted again under the lock.
            let mut interrupts = shared.interrupts.lock();
            let count = shared.interrupt_count(index)?;
            let told = std::mem::replace(&mut interrupts[usize::from(index)].told, count);
            let new = events(count, told);
            if new > 0 {
                return Ok(new);
            }
        }
    }

    fn count_interrupt(&self, index: u16) -> Result<u32> {
        self.shared.interrupt_count(index)
    }

    fn interrupt_event_fd(&self, index: u16) -> Result<OwnedFd> {
        let shared = &self.shared;
        let doing = format!("the event of user interrupt {index}");
        let mut interrupts = shared.interrupts.lock();
        let interrupt = &mut interrupts[usize::from(index)];
        if interrupt.event.is_none() {
            let new = event::new().map_err(shared.refused(&doing))?;
            let mut argument = uapi::InterruptEvent { index: index.into(), eventfd: new.as_raw_fd(), ..Default::default() };
            sys::ask(&*shared.control, &mut argument).map_err(shared.refused(&doing))?;
            interrupt.event = Some(new);
        }
        let event = interrupt.event.as_ref().map(OwnedFd::try_clone);
        event.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into())).map_err(shared.refused(&doing))
    }

    fn qos(&self, index: u16) -> Result<Qos> {
        let found = self.shared.ask_qos(uapi::ChannelQos { index: index.into(), ..Default::default() })?;
        // The registers have so many bits.
        Ok(Qos::new(found.weight as u8, rate_of(found.rate, self.shared.info.core_clock_khz), found.traffic_class as u8))
    }

    fn set_qos(&self, index: u16, change: QosChange) -> Result<()> {
        let mut wanted = uapi::ChannelQos { index: index.into(), ..Default::default() };
        for (register, value) in change.registers(self.shared.info.core_clock_khz)? {
            let (flag, field) = match register {
                contract::CHANNEL_WEIGHT_OFFSET => (uapi::SET_WEIGHT, &mut wanted.weight),
                contract::CHANNEL_RATE_OFFSET => (uapi::SET_RATE, &mut wanted.rate),
                _ => (uapi::SET_TRAFFIC_CLASS, &mut wanted.traffic_class),
            };
            wanted.flags |= flag;
            *field = value;
        }
        self.shared.ask_qos(wanted).map(drop)
    }

    fn reset(&self) -> Result<()> {
        let shared = &self.shared;
        log::info!("{}: resetting the card", shared.info.name);
        let open = shared.open.lock();
        let channels: Vec<Arc<LinuxChannel>> = open.iter().filter_map(Weak::upgrade).collect();
        let posts: Vec<u64> = channels.iter().map(|channel| channel.before_reset()).collect();
        sys::order(&*shared.control, uapi::CARD_RESET).map_err(|why| {
            channels.iter().for_each(|channel| channel.no_reset());
            shared.refused("resetting the card")(why)
        })?;
        for (channel, posts) in channels.iter().zip(&posts) {
            channel.after_reset(*posts)?;
        }
        shared.forget_interrupts()
    }

    fn link_counters(&self) -> Result<LinkCounters> {
        let mut read = uapi::LinkCounters::default();
        sys::ask(&*self.shared.control, &mut read).map_err(self.shared.refused("reading the link's counters"))?;
        let mut counters = LinkCounters::default();
        counters.unsupported_requests = read.unsupported_requests;
        counters.completer_aborts = read.completer_aborts;
        counters.poisoned = read.poisoned;
        counters.timeouts = read.timeouts;
        counters.bad_completions = read.bad_completions;
        counters.late_completions = read.late_completions;
        counters.unexpected_completions = read.unexpected_completions;
        counters.bus_mastering_losses = read.bus_mastering_losses;
        counters.link_downs = read.link_downs;
        counters.function_resets = read.function_resets;
        counters.quarantined = read.quarantined;
        Ok(counters)
    }

    fn wire(&self) -> Option<WireStatistics> {
        None
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.shared.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
