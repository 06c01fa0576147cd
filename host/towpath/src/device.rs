// SPDX-License-Identifier: Apache-2.0
//! A device, with its registers and user interrupts besides its channels.

use crate::channel::ChannelName;
use crate::{
    open, Buffer, ChannelInfo, ChannelKind, ChannelOptions, DeviceInfo, Direction, Error, LinkCounters, Memory, MemoryInfo, OpenOptions,
    Plugin, PluginInfo, Qos, QosChange, Receiver, Result, Sender, WaitOptions, WireStatistics,
};
use std::fmt;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use towpath_driver::Driver;
use towpath_system::fork::Origin;

/// An open device. Cheap to clone; the clones, and everything opened from them, are one device, which closes with the last of them. May be
/// used from any thread. In a child of fork(2) every call ends with [`Error::Forked`], and dropping it changes nothing: the card stays the
/// parent's.
#[derive(Clone)]
pub struct Device {
    opened: Arc<Opened>,
}

/// What the clones of a device share.
struct Opened {
    /// Not dropped in a child of the process that opened it: the card, and the connection to it, are the parent's.
    driver: ManuallyDrop<Arc<dyn Driver>>,
    origin: Origin,
    /// The eventfds of user interrupts, each created on first use.
    interrupts: Box<[OnceLock<OwnedFd>]>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.origin.is_here() {
            // SAFETY: dropped here alone, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.driver) };
        }
    }
}

impl Device {
    /// Open a device by name:
    ///
    /// - `sim:CORE` or `sim:FOLDER`: the gateware in simulation, built on first use; settings may follow a `?`.
    /// - `vfio:0000:65:00.0`, or the address alone: a card in this machine.
    /// - `/dev/towpath0`: a card that the kernel module holds.
    /// - `vfio-user:PATH`: a card in another process (`towpath sim`).
    /// - `#1`: a card by its order in [`crate::list_devices`]; `serial:0x17`: a card by its serial number.
    ///
    /// The empty name stands for `TOWPATH_DEVICE`, or for the first card in this machine, never for one that another process serves.
    pub fn open(name: &str) -> Result<Device> {
        Device::open_with(name, &OpenOptions::default())
    }

    /// As [`Device::open`], with options.
    pub fn open_with(name: &str, options: &OpenOptions) -> Result<Device> {
        Ok(Device::from_driver(open::open(name, options)?))
    }

    /// A device behind a driver of the caller's own. For tests and new kinds of devices, not for programs.
    pub fn from_driver(driver: Arc<dyn Driver>) -> Device {
        let interrupts = (0..driver.info().interrupts).map(|_| OnceLock::new()).collect();
        Device { opened: Arc::new(Opened { driver: ManuallyDrop::new(driver), origin: Origin::here(), interrupts }) }
    }

    /// The driver; [`Error::Forked`] in a child of the process that opened the device.
    #[inline]
    pub(crate) fn driver(&self) -> Result<&Arc<dyn Driver>> {
        if self.is_here() {
            return Ok(&self.opened.driver);
        }
        Err(Error::Forked)
    }

    /// Is it the same open device?
    #[inline]
    pub(crate) fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.opened, &other.opened)
    }

    /// Was it opened by this process, and not by its parent?
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.opened.origin.is_here()
    }

    /// What the device reports about itself.
    pub fn info(&self) -> &DeviceInfo {
        self.opened.driver.info()
    }

    /// What discovery reports about the channel of this name or number.
    pub fn channel(&self, channel: impl Into<ChannelName>) -> Result<&ChannelInfo> {
        self.look_up(&channel.into(), None)
    }

    fn look_up(&self, name: &ChannelName, wanted: Option<Direction>) -> Result<&ChannelInfo> {
        let channels = &self.info().channels;
        name.find(channels, wanted).ok_or_else(|| {
            let available = channels.iter().map(|c| format!("{} \"{}\" ({})", c.index, c.name, c.direction)).collect();
            Error::NoSuchChannel { channel: name.to_string(), available }
        })
    }

    /// Open a channel to the card, by name or number. The caller has it exclusively until it is dropped.
    pub fn sender(&self, channel: impl Into<ChannelName>) -> Result<Sender> {
        self.sender_with(channel, ChannelOptions::default())
    }

    /// As [`Device::sender`], with options.
    pub fn sender_with(&self, channel: impl Into<ChannelName>, options: ChannelOptions) -> Result<Sender> {
        let info = self.find(&channel.into(), Direction::H2c, None)?;
        Ok(Sender::new(self, self.driver()?.open_channel(info.index, options)?))
    }

    /// As [`Device::sender_with`], for a channel of a kind that is not Towpath's own: its name, and the version that the caller knows. For
    /// libraries of such kinds. A status of the kind ends a send with [`Error::Kind`]. A call that ends early, and any cancel, ends everything
    /// that is in flight on such a channel. Whether the kind has taken the message is then not known, and its rest may be a message of its own:
    /// unlike on a stream, [`Sender::reset`] comes next, not the rest.
    pub fn sender_of_kind(&self, channel: impl Into<ChannelName>, kind: (&str, u16), options: ChannelOptions) -> Result<Sender> {
        let info = self.find(&channel.into(), Direction::H2c, Some(kind))?;
        Ok(Sender::new(self, self.driver()?.open_channel(info.index, options)?))
    }

    /// Open a channel from the card, by name or number. The caller has it exclusively until it is dropped; dropping it discards what the
    /// card holds for it.
    pub fn receiver(&self, channel: impl Into<ChannelName>) -> Result<Receiver> {
        self.receiver_with(channel, ChannelOptions::default())
    }

    /// As [`Device::receiver`], with options.
    pub fn receiver_with(&self, channel: impl Into<ChannelName>, options: ChannelOptions) -> Result<Receiver> {
        let info = self.find(&channel.into(), Direction::C2h, None)?;
        Ok(Receiver::new(self, self.driver()?.open_channel(info.index, options)?))
    }

    /// As [`Device::sender_of_kind`], for a channel from the card: see [`Receiver::ask`].
    pub fn receiver_of_kind(&self, channel: impl Into<ChannelName>, kind: (&str, u16), options: ChannelOptions) -> Result<Receiver> {
        let info = self.find(&channel.into(), Direction::C2h, Some(kind))?;
        Ok(Receiver::new(self, self.driver()?.open_channel(info.index, options)?))
    }

    /// The user core's memories.
    pub fn memories(&self) -> Vec<MemoryInfo> {
        MemoryInfo::all(&self.info().channels)
    }

    /// Open a memory of the user core, by its name or the number of one of its channels. The caller has it exclusively until it is dropped.
    pub fn memory(&self, memory: impl Into<ChannelName>) -> Result<Memory> {
        self.memory_with(memory, ChannelOptions::default())
    }

    /// As [`Device::memory`], with options.
    pub fn memory_with(&self, memory: impl Into<ChannelName>, options: ChannelOptions) -> Result<Memory> {
        Memory::open(self, &self.find_memory(memory)?, options)
    }

    /// What discovery reports about the memory of this name, or with a channel of this number.
    pub fn find_memory(&self, memory: impl Into<ChannelName>) -> Result<MemoryInfo> {
        let (wanted, memories) = (memory.into(), self.memories());
        memories.iter().find(|memory| memory.is(&wanted)).cloned().ok_or_else(|| {
            let available = memories.iter().map(|memory| format!("\"{}\" ({:#x} bytes)", memory.name, memory.bytes)).collect();
            Error::NoSuchMemory { memory: wanted.to_string(), available }
        })
    }

    /// A channel of this direction, and of a stream or else of this kind.
    pub(crate) fn find(&self, channel: &ChannelName, wanted: Direction, kind: Option<(&str, u16)>) -> Result<&ChannelInfo> {
        let found = self.look_up(channel, Some(wanted))?;
        let fits = |channel: &ChannelInfo| match kind {
            None => channel.is_stream() || channel.is_for_peers_alone(),
            Some((name, version)) => channel.is_of_kind(name, version),
        };
        if !fits(found) {
            let remedy = match (found.kind, kind) {
                (_, Some((name, version))) => format!("this program wants the kind {name} version {version}"),
                (ChannelKind::Memory, None) if found.memory_bytes().is_some() => {
                    "open it as a memory (`memory` in Rust and Python, towpath_open_memory() in C, `towpath mem`)".into()
                }
                (ChannelKind::Named, None) => "use the library that comes with this kind".into(),
                _ => {
                    "this library does not know it and leaves the channel alone; install the version of Towpath that the bitstream is from"
                        .into()
                }
            };
            return Err(Error::WrongKind { channel: found.name.clone(), kind: found.kind_text(), remedy });
        }
        if found.direction != wanted {
            let others = self.info().channels.iter().filter(|c| c.direction == wanted && fits(c));
            let available = others.map(|c| format!("\"{}\"", c.name)).collect();
            return Err(Error::WrongDirection { channel: found.name.clone(), is: found.direction, available });
        }
        Ok(found)
    }

    /// Allocate a registered buffer: see [`Buffer::allocate`].
    pub fn allocate(&self, bytes: usize) -> Result<Buffer> {
        Buffer::allocate(self, bytes)
    }

    /// Register a vector's bytes: see [`Buffer::from_vec`].
    pub fn register(&self, bytes: Vec<u8>) -> Result<Buffer> {
        Buffer::from_vec(self, bytes)
    }

    /// The user core's registers.
    pub fn registers(&self) -> Registers {
        Registers { device: self.clone() }
    }

    /// The plug-ins beside the user core, in the order of its manifest.
    pub fn plugins(&self) -> &[PluginInfo] {
        &self.info().plugins
    }

    /// A plug-in: `"reset"` is the first of its type, `"reset:1"` the second, and a number one of all.
    pub fn plugin(&self, plugin: impl Into<ChannelName>) -> Result<Plugin> {
        Plugin::find(self, &plugin.into())
    }

    /// The user core's interrupts.
    pub fn interrupts(&self) -> UserInterrupts {
        UserInterrupts { device: self.clone() }
    }

    /// A channel's part of the link. [`Error::Unavailable`]: the card was built without it, or this way to the card does not reach it.
    pub fn qos(&self, channel: impl Into<ChannelName>) -> Result<Qos> {
        let index = self.channel(channel)?.index;
        self.driver()?.qos(index)
    }

    /// Change a channel's part of the link, for all programs: its weight among the channels of its direction, a rate that it may not exceed, both
    /// at any time; its packets' traffic class, only while the channel has no transfer in flight, or a completion may overtake its data. Resets of
    /// the channel and of the card leave it.
    pub fn set_qos(&self, channel: impl Into<ChannelName>, change: QosChange) -> Result<()> {
        let index = self.channel(channel)?.index;
        self.driver()?.set_qos(index, change)
    }

    /// Reset all channels and the user core. Transfers in flight end with [`Error::Reset`]; open channels stay open.
    pub fn reset(&self) -> Result<()> {
        self.driver()?.reset()
    }

    /// The card's counters of faults on its link. Each number takes one read of the card.
    pub fn link_counters(&self) -> Result<LinkCounters> {
        self.driver()?.link_counters()
    }

    /// Bytes on the wire since the device was opened, where they are known: in simulation.
    pub fn wire(&self) -> Option<WireStatistics> {
        self.driver().ok()?.wire()
    }

    /// Nanoseconds since an unspecified moment: simulated time, or a monotonic clock.
    pub fn now_ns(&self) -> u64 {
        self.driver().map_or(0, |driver| driver.now_ns())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.info().name).field("core", &self.info().core).finish()
    }
}

/// The user core's registers, 32 bits each. May be used from any thread; each access is atomic.
#[derive(Clone, Debug)]
pub struct Registers {
    pub(crate) device: Device,
}

impl Registers {
    /// Read the register at a byte offset. Waits for the core's answer; a missing answer, or an error as the answer, becomes
    /// [`Error::Register`].
    pub fn read(&self, offset: u32) -> Result<u32> {
        self.check(offset)?;
        self.device.driver()?.read_register(offset)
    }

    /// Write the register at a byte offset. As [`Registers::read`].
    pub fn write(&self, offset: u32, value: u32) -> Result<()> {
        self.check(offset)?;
        self.device.driver()?.write_register(offset, value)
    }

    /// Read a register by its name in the core's manifest.
    pub fn read_name(&self, name: &str) -> Result<u32> {
        self.read(self.offset(name)?)
    }

    /// Write a register by its name in the core's manifest.
    pub fn write_name(&self, name: &str, value: u32) -> Result<()> {
        self.write(self.offset(name)?, value)
    }

    /// Names and byte offsets, as far as they are known.
    pub fn names(&self) -> &[(String, u32)] {
        &self.device.info().register_names
    }

    /// Size of the window in bytes, 0 if the core has no registers.
    pub fn bytes(&self) -> u32 {
        self.device.info().register_bytes
    }

    /// The offset of a named register.
    pub fn offset(&self, name: &str) -> Result<u32> {
        if let Some((_, offset)) = self.names().iter().find(|(known, _)| known == name) {
            return Ok(*offset);
        }
        let known: Vec<&str> = self.names().iter().map(|(name, _)| name.as_str()).collect();
        let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        Err(Error::Invalid(format!("no register \"{name}\"; named registers: {known}; others are reached by their offset")))
    }

    fn check(&self, offset: u32) -> Result<()> {
        let what = match self.bytes() {
            0 => "this core has no registers; give it [registers] in its manifest and an AXI4-Lite port".to_string(),
            _ if offset % 4 != 0 => "not a multiple of 4; registers are 32 bits wide".to_string(),
            bytes if offset >= bytes => format!("outside the core's registers, which end at {bytes:#x}"),
            _ => return Ok(()),
        };
        Err(Error::Register { offset, what })
    }
}

/// The user core's interrupts. May be used from any thread; one waiting call returns each event.
#[derive(Clone, Debug)]
pub struct UserInterrupts {
    device: Device,
}

impl UserInterrupts {
    /// How many interrupts the core has.
    pub fn number(&self) -> u16 {
        self.device.info().interrupts
    }

    /// Wait for events that no earlier call has returned; returns how many, at least 1. `None`: no limit.
    pub fn wait(&self, index: u16, timeout: Option<Duration>) -> Result<u32> {
        self.wait_with(index, timeout.into())
    }

    /// As [`UserInterrupts::wait`], with this call's own options.
    pub fn wait_with(&self, index: u16, options: WaitOptions<'_>) -> Result<u32> {
        self.check(index)?;
        self.device.driver()?.wait_interrupt(index, options)
    }

    /// Events since the card was switched on or its function was reset, modulo 2^32. Does not consume them.
    pub fn count(&self, index: u16) -> Result<u32> {
        self.check(index)?;
        self.device.driver()?.count_interrupt(index)
    }

    /// A descriptor that becomes readable when the interrupt fires, for `poll` and event loops: read 8 bytes off it, then call
    /// [`UserInterrupts::wait`] with a timeout of zero.
    pub fn event_fd(&self, index: u16) -> Result<BorrowedFd<'_>> {
        self.check(index)?;
        let driver = self.device.driver()?;
        let event = &self.device.opened.interrupts[usize::from(index)];
        if event.get().is_none() {
            let _ = event.set(driver.interrupt_event_fd(index)?);
        }
        event.get().map(OwnedFd::as_fd).ok_or(Error::Forked)
    }

    fn check(&self, index: u16) -> Result<()> {
        match self.number() {
            number if index < number => Ok(()),
            0 => Err(Error::Invalid(format!("no user interrupt {index}: this core has none; give it [interrupts] in its manifest"))),
            number => Err(Error::Invalid(format!("no user interrupt {index}: this core has 0 to {}", number - 1))),
        }
    }
}
