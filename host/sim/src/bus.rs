// SPDX-License-Identifier: Apache-2.0
//! [`SimBus`]: one simulated card as [`towpath_bus::Bus`]. Each call costs the time that it would cost on the modelled host.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_bus::{Access, BarPart, Bus, BusError, DeviceMemory, Result, Wake, WireStatistics};
use towpath_contract as contract;
use towpath_device_server::{HostMemory, Interrupt};

use crate::capture::Carried;
use crate::device::{Device, Statistics, Vector};
use crate::error::SimError;
use crate::faults::{Fault, Injection, Mishap};
use crate::memory::packet_enables;
use crate::messages::Messages;
use crate::model::{Info, PrintSink};
use crate::packets::PacketLog;
use crate::peer::SharedBar;
use crate::root_complex::INTERRUPT_WINDOW;
use crate::settings::Settings;
use crate::world::{Inner, Turn, World, TURN};

/// Edges for which a card is held in reset.
const RESET_EDGES: u64 = 32;
/// Size of BAR 0 until discovery has read it: room for the largest number of channels.
const FIRST_BAR_BYTES: u64 = 1 << 20;
/// A function-level reset may take 100 ms (PCI Express Base Specification 6.6.2); a card that needs more than this is taken for dead.
const RESET_NANOSECONDS: u64 = 1_000_000;
/// A wait over a quiet link ends early after this many edges for each second of its timeout, and after a minimum of edges. That is what a
/// simulator of ordinary speed does in the same time by the wall clock, but unlike that it is the same in each run.
const QUIET_EDGES_PER_SECOND: u64 = 250_000;
const QUIET_EDGES: u64 = 25_000;
/// A slower simulator than that ends the wait by the wall clock, this much later.
const WALL_SLACK: Duration = Duration::from_secs(2);
/// A line of a write-combining buffer.
const LINE: u64 = 64;
/// The largest BAR 4 that is modelled.
const MOST_MEMORY_WINDOW: u64 = 16 << 20;

/// One simulated card.
pub struct SimBus {
    name: String,
    world: Arc<World>,
    index: usize,
    register_names: Vec<(String, u32)>,
}

impl SimBus {
    /// Open a card in a world of its own. For several cards on one clock use [`World::open`].
    pub fn open(
        name: &str,
        library: &Path,
        settings: Settings,
        trace: Option<&Path>,
        print: PrintSink,
        register_names: Vec<(String, u32)>,
    ) -> std::result::Result<Arc<SimBus>, SimError> {
        World::new(settings)?.open(name, library, trace, print, register_names)
    }

    pub(crate) fn new(name: &str, world: Arc<World>, index: usize, register_names: Vec<(String, u32)>) -> SimBus {
        SimBus { name: name.to_owned(), world, index, register_names }
    }

    /// The world that the card is in, to put others there.
    pub fn world_share(&self) -> Arc<World> {
        self.world.clone()
    }

    /// Statistics of the card's link since it was opened. Differences of two snapshots measure what is between them.
    pub fn statistics(&self) -> Result<Statistics> {
        let turn = self.world.shared.turn();
        let device = self.device(&turn)?;
        Ok(Statistics { picoseconds: turn.now, ..device.statistics })
    }

    /// Record from now on, or no longer, what the link carries between the card and the host's memory. Returns the record so far, in the
    /// order of arrival in each direction, and begins an empty one.
    pub fn record(&self, on: bool) -> Result<Vec<Carried>> {
        self.with(|device| device.capture.record(on))
    }

    /// Write all packets on the link to a file from now on, for `towpath trace`.
    pub fn log_packets(&self, path: &Path) -> Result<()> {
        let byte_fs = self.with(|device| device.capture.byte_fs)?;
        let log = PacketLog::create(path, &self.name, byte_fs)
            .map_err(|why| BusError::System(format!("writing packets to {}", path.display()), why))?;
        self.with(|device| device.packets = Some(log))
    }

    /// Where the card sees a byte of the program's memory, if it is mapped (the latest of several mappings): to find it in
    /// [`SimBus::record`].
    pub fn address_of(&self, memory: *const u8) -> Result<Option<u64>> {
        self.with(|device| device.port.memory.address_of(memory))
    }

    /// The model's information about itself.
    pub fn info(&self) -> Result<Info> {
        let turn = self.world.shared.turn();
        Ok(*self.device(&turn)?.model.info())
    }

    /// Inject `fault` at the card's read request that comes after `ahead` more.
    pub fn inject(&self, ahead: u64, fault: Fault) -> Result<()> {
        self.with(|device| device.port.faults.plan(ahead, fault))
    }

    /// Inject a fault of the whole card now.
    pub fn disturb(&self, fault: Fault) -> Result<()> {
        if !fault.of_the_card() {
            return Err(BusError::Invalid(format!("{fault:?} happens to a read of the card: inject it")));
        }
        let mut turn = self.world.shared.turn();
        let now = turn.now;
        let device = self.device_mut(&mut turn)?;
        device.port.faults.note(now, fault);
        device.disturb(now, fault);
        Ok(())
    }

    /// Cancel all faults that are to come, planned and random. A fault that withholds something, like a link that is down, ends in its
    /// time.
    pub fn forgive(&self) -> Result<()> {
        self.with(|device| device.port.forgive())
    }

    /// Inject a fault by its words: see [`Mishap::parse`].
    pub fn befall(&self, words: &str) -> Result<()> {
        match Mishap::parse(words, self.world.settings()).map_err(BusError::Invalid)? {
            Mishap::Fault(fault, _) if fault.of_the_card() => self.disturb(fault),
            Mishap::Fault(fault, ahead) => self.inject(ahead, fault),
            Mishap::Link(up) => self.set_link(up),
            Mishap::Deaf(deaf) => self.with(|device| device.deaf = deaf),
            Mishap::Mute(mute) => self.with(|device| device.mute = mute),
            Mishap::Say(offset, byte) => self.with(|device| device.lies.push((offset, byte))),
            Mishap::Honest => self.with(|device| device.lies.clear()),
            Mishap::Forgive => self.forgive(),
        }
    }

    /// The faults that were injected, in order, from the one of number `first` on.
    pub fn injections(&self, first: usize) -> Result<Vec<Injection>> {
        self.with(|device| device.port.faults.log.get(first..).unwrap_or_default().to_vec())
    }

    /// Allow or forbid the card to send requests, as the bus master enable bit of its command register does.
    pub fn set_bus_master(&self, enabled: bool) -> Result<()> {
        self.with(|device| device.set_bus_master(enabled))
    }

    /// Whether the link is up.
    pub fn link_is_up(&self) -> Result<bool> {
        self.with(|device| device.input.config.link_up != 0)
    }

    /// Whether stores of the program on the other side are dropped: see [`Mishap::Deaf`].
    pub(crate) fn is_deaf(&self) -> Result<bool> {
        self.with(|device| device.deaf)
    }

    /// What a program on the other side reads instead of `bytes` from BAR 0: see [`Mishap::Say`].
    pub(crate) fn distort(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.with(|device| {
            for (place, byte) in &device.lies {
                if let Some(at) = place.checked_sub(offset).and_then(|at| bytes.get_mut(at as usize)) {
                    *at = *byte;
                }
            }
        })
    }

    /// Whether a link that is down comes back by itself.
    pub(crate) fn link_returns(&self) -> Result<bool> {
        self.with(|device| device.link_returns())
    }

    /// Mask or unmask all vectors of the card, as the function mask of its MSI-X capability does.
    pub fn set_vector_mask(&self, masked: bool) -> Result<()> {
        self.with(|device| device.input.config.msix_mask = u8::from(masked))
    }

    /// Take the link down or up. What is on its way when it goes down is lost.
    pub fn set_link(&self, up: bool) -> Result<()> {
        let mut turn = self.world.shared.turn();
        let now = turn.now;
        self.device_mut(&mut turn)?.set_link(now, up);
        Ok(())
    }

    /// Let time pass, as a program does that computes.
    pub fn pass(&self, nanoseconds: u64) -> Result<()> {
        let mut turn = self.world.shared.turn();
        let until = turn.now.saturating_add(nanoseconds.saturating_mul(1000));
        turn.run(until);
        self.device(&turn).map(drop)
    }

    /// How many vectors it has.
    pub(crate) fn vectors(&self) -> Result<u16> {
        self.with(|device| device.vectors.len().min(contract::MSIX_VECTORS_MAX) as u16)
    }

    /// Memory of others, which the card reaches beside what is mapped here.
    pub(crate) fn set_host_memory(&self, memory: Option<Box<dyn HostMemory>>) -> Result<()> {
        self.with(|device| device.port.memory.others = memory)
    }

    /// The eventfds that the vectors signal from now on, from the first one; vectors beyond signal nothing.
    pub(crate) fn set_events(&self, events: Vec<Option<OwnedFd>>) -> Result<()> {
        self.with(|device| {
            let mut events = events.into_iter();
            for vector in &mut device.vectors {
                vector.event = events.next().flatten();
                vector.signal = vector.signal.filter(|_| vector.event.is_some());
            }
        })
    }

    /// No interrupts any more, and the table is the simulator's.
    pub(crate) fn disable_vectors(&self) -> Result<()> {
        self.set_events(Vec::new())?;
        self.with(|device| device.messages = None)?;
        self.set_msix(false, false)
    }

    /// No interrupts any more, and from now on the table is the program's: [`SimBus::expect_messages`] sets where interrupts go.
    pub(crate) fn leave_table(&self) -> Result<()> {
        self.disable_vectors()?;
        self.with(|device| device.messages = Some(Messages::default()))
    }

    /// Writes of the card to these addresses are interrupts from now on, if the table is the program's.
    pub(crate) fn expect_messages(&self, addresses: Vec<u64>) -> Result<()> {
        self.with(|device| {
            if let Some(messages) = &mut device.messages {
                messages.addresses = addresses;
            }
        })
    }

    /// The next interrupt that has come, if the table is the program's.
    pub(crate) fn message(&self) -> Result<Option<Interrupt>> {
        self.with(|device| device.messages.as_mut().and_then(Messages::take))
    }

    /// The enable bit and the function mask of the MSI-X capability.
    pub(crate) fn set_msix(&self, enabled: bool, masked: bool) -> Result<()> {
        self.with(|device| {
            let config = &mut device.input.config;
            (config.msix_enable, config.msix_mask) = (enabled.into(), masked.into());
        })
    }

    /// Let time pass for some edges. Returns for how many edges nothing has moved on any link.
    pub(crate) fn run_on(&self, edges: u32) -> Result<u64> {
        let mut turn = self.world.shared.turn();
        (0..edges).for_each(|_| turn.tick());
        self.device(&turn)?;
        Ok(turn.quiet())
    }

    fn with<T>(&self, what: impl FnOnce(&mut Device) -> T) -> Result<T> {
        let mut turn = self.world.shared.turn();
        Ok(what(self.device_mut(&mut turn)?))
    }

    fn device<'a>(&self, inner: &'a Inner) -> Result<&'a Device> {
        let device = inner.devices.get(self.index).and_then(Option::as_deref);
        let device = device.ok_or_else(|| BusError::Gone(format!("{} was closed", self.name)))?;
        match &device.stopped {
            Some(why) => Err(BusError::Stopped(why.clone())),
            None => Ok(device),
        }
    }

    fn device_mut<'a>(&self, inner: &'a mut Inner) -> Result<&'a mut Device> {
        self.device(inner)?;
        let device = inner.devices.get_mut(self.index).and_then(Option::as_deref_mut);
        device.ok_or_else(|| BusError::Gone(format!("{} was closed", self.name)))
    }

    /// A turn in which the card runs and its link is up.
    fn turn(&self) -> Result<Turn<'_>> {
        let turn = self.world.shared.turn();
        if self.device(&turn)?.input.config.link_up == 0 {
            return Err(BusError::Gone(format!("the link to {} is down", self.name)));
        }
        Ok(turn)
    }

    /// Reset, then discovery: how large the BARs are.
    pub(crate) fn come_up(&self) -> Result<()> {
        let period = 1_000_000_000 / u64::from(self.info()?.core_clock_khz) + 1;
        let mut turn = self.turn()?;
        for reset in [1, 0] {
            self.device_mut(&mut turn)?.input.reset = reset;
            let until = turn.now + RESET_EDGES * period;
            turn.run(until);
        }
        self.device_mut(&mut turn)?.bars[usize::from(contract::BAR_DEVICE)] = FIRST_BAR_BYTES;
        drop(turn);
        let field = |offset: u64| self.load(contract::BAR_DEVICE, offset & !3, 1).map(|word| word >> (8 * (offset & 3)));
        if self.load(contract::BAR_DEVICE, contract::DISCOVERY_MAGIC_OFFSET, 2)? != contract::DISCOVERY_MAGIC_VALUE {
            return Ok(()); // not this crate's check: the driver reports what it found
        }
        let page = (field(contract::DISCOVERY_PAGE_SHIFT_OFFSET)? & 0xff).min(24);
        let channels = field(contract::DISCOVERY_CHANNELS_OFFSET)? & 0xffff;
        let there = field(contract::DISCOVERY_VECTORS_OFFSET)? & 0xffff;
        let window = field(contract::DISCOVERY_WINDOW_BYTES_OFFSET)? & 0xffff_ffff;
        let low = field(contract::DISCOVERY_MEMORY_WINDOW_BYTES_OFFSET)? & 0xffff_ffff;
        let memory = low | (field(contract::DISCOVERY_MEMORY_WINDOW_BYTES_OFFSET + 4)? & 0xffff_ffff) << 32;
        if memory > MOST_MEMORY_WINDOW {
            let most = MOST_MEMORY_WINDOW >> 20;
            let what = format!(
                "{}: its memory windows and inboxes have {} MiB, and the simulator models {most}: make the memories smaller, or give fewer streams peer = true",
                self.name,
                memory >> 20
            );
            return Err(BusError::Invalid(what));
        }
        let pages = contract::PAGE_CHANNELS + contract::PAGES_PER_CHANNEL * channels;
        let mut turn = self.turn()?;
        let vectors = there.min(turn.settings.vectors.into());
        let device = self.device_mut(&mut turn)?;
        device.bars[usize::from(contract::BAR_DEVICE)] = (pages << page).next_power_of_two();
        device.bars[usize::from(contract::BAR_WINDOW)] = window;
        device.bars[usize::from(contract::BAR_MEMORY)] = memory;
        device.vectors = (0..vectors).map(|_| Vector::default()).collect();
        Ok(())
    }

    fn check(&self, device: &Device, bar: u8, offset: u64, bytes: u64, aligned: u64) -> Result<()> {
        let size = device.bar_bytes(bar);
        if size == 0 {
            return Err(BusError::Invalid(format!("{} has no BAR {bar}", self.name)));
        }
        if offset % aligned != 0 {
            return Err(BusError::Invalid(format!("offset {offset:#x} of BAR {bar} is not a multiple of {aligned}")));
        }
        if offset.checked_add(bytes).is_none_or(|end| end > size) {
            return Err(BusError::Invalid(format!("{bytes} bytes at offset {offset:#x} are outside of BAR {bar}, which has {size} bytes")));
        }
        Ok(())
    }

    fn store(&self, bar: u8, offset: u64, data: &[u32]) -> Result<()> {
        let mut turn = self.turn()?;
        let (now, cost) = (turn.now, turn.settings.store_cost * 1000);
        let device = self.device_mut(&mut turn)?;
        self.check(device, bar, offset, data.len() as u64 * 4, data.len() as u64 * 4)?;
        device.store(now, bar, offset as u32, data, 15, if data.len() == 1 { 0 } else { 15 });
        self.stored(turn, cost)
    }

    /// After a store: its cost, and eventfds may fire again.
    fn stored(&self, mut turn: Turn<'_>, cost: u64) -> Result<()> {
        let until = turn.now + cost;
        turn.run(until);
        let mut armed = false;
        for vector in self.device_mut(&mut turn)?.vectors.iter_mut().filter(|vector| vector.event.is_some()) {
            vector.armed = true;
            armed = true;
        }
        drop(turn);
        if armed {
            self.world.shared.wake_pump();
        }
        Ok(())
    }

    fn load(&self, bar: u8, offset: u64, dwords: u16) -> Result<u64> {
        let mut bytes = [0; 8];
        let asked = &mut bytes[..usize::from(dwords) * 4];
        self.load_line(bar, offset, asked, u64::from(dwords) * 4)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// A load of bytes within a line.
    fn load_line(&self, bar: u8, offset: u64, bytes: &mut [u8], aligned: u64) -> Result<()> {
        let mut turn = self.turn()?;
        self.check(self.device(&turn)?, bar, offset, bytes.len() as u64, aligned)?;
        self.drain(&mut turn)?; // x86 empties its write-combining buffers before an uncached load
        let deadline = turn.now + turn.settings.read_timeout * 1000;
        bytes.fill(0xff); // for a card that does not answer
        let tag = loop {
            let now = turn.now;
            match self.device_mut(&mut turn)?.load(now, bar, offset as u32, bytes.len()) {
                Some(tag) => break tag,
                None if turn.now >= deadline => return Ok(()), // the card has not answered any of these reads
                None => {
                    turn.step(deadline);
                    drop(turn); // other threads fetch their answers
                    turn = self.turn()?;
                }
            }
        };
        let mut edges = 0;
        loop {
            // A card that is gone or stopped answers no more; its reads end with it.
            let device = self.device_mut(&mut turn)?;
            let up = device.input.config.link_up != 0;
            if let Some((time, value)) = device.answer(tag) {
                device.finish_load(tag);
                turn.run(time);
                let line = value.iter().flat_map(|dword| dword.to_le_bytes()).skip((offset & 3) as usize);
                bytes.iter_mut().zip(line).for_each(|(to, from)| *to = from);
                return Ok(());
            }
            if turn.now >= deadline || !up {
                self.device_mut(&mut turn)?.abandon_load(tag);
                log::warn!("{}: no answer to a read at offset {offset:#x} of BAR {bar}", self.name);
                return Ok(());
            }
            turn.step(deadline);
            edges += 1;
            if edges % TURN == 0 {
                drop(turn);
                turn = self.world.shared.turn();
            }
        }
    }

    /// Empty the write-combining buffers, in any order if the settings select that.
    fn drain(&self, turn: &mut Turn<'_>) -> Result<()> {
        let (now, scatter) = (turn.now, turn.settings.scatter != 0);
        let device = self.device_mut(turn)?;
        let mut chunks = std::mem::take(&mut device.combining);
        while !chunks.is_empty() {
            let index = if scatter { device.random.below(chunks.len() as u64) as usize } else { 0 };
            let (bar, offset, bytes) = chunks.remove(index);
            let lead = (offset & 3) as usize;
            let mut data = [0u32; LINE as usize / 4];
            let (dwords, first_be, last_be) = packet_enables(lead, bytes.len());
            for (at, byte) in bytes.iter().enumerate() {
                data[(lead + at) / 4] |= u32::from(*byte) << (8 * ((lead + at) % 4));
            }
            device.store(now, bar, offset & !3, &data[..dwords.into()], first_be, last_be);
        }
        Ok(())
    }
}

impl Bus for SimBus {
    fn name(&self) -> &str {
        &self.name
    }

    fn bar_bytes(&self, bar: u8) -> u64 {
        self.with(|device| device.bar_bytes(bar)).unwrap_or(0)
    }

    fn read32(&self, bar: u8, offset: u64) -> Result<u32> {
        self.load(bar, offset, 1).map(|value| value as u32)
    }

    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        self.load(bar, offset, 2)
    }

    fn read_bytes(&self, bar: u8, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let take = (LINE - at % LINE).min(rest.len() as u64);
            let (line, after) = rest.split_at_mut(take as usize);
            self.load_line(bar, at, line, 1)?;
            (at, rest) = (at + take, after);
        }
        Ok(())
    }

    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()> {
        self.store(bar, offset, &[value])
    }

    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()> {
        self.store(bar, offset, &[value as u32, (value >> 32) as u32])
    }

    fn write_combining(&self, bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut turn = self.turn()?;
        let (scatter, cost) = (turn.settings.scatter != 0, turn.settings.store_cost * 1000);
        let device = self.device_mut(&mut turn)?;
        self.check(device, bar, offset, bytes.len() as u64, 1)?;
        let (mut at, mut rest, mut lines) = (offset, bytes, 0);
        while !rest.is_empty() {
            // To the end of the line, or to any earlier 64-bit word.
            let mut take = (LINE - at % LINE).min(rest.len() as u64);
            lines += u64::from(at == offset || at % LINE == 0);
            if scatter {
                let words = (at % 8 + take).div_ceil(8);
                take = take.min((1 + device.random.below(words)) * 8 - at % 8);
            }
            let (chunk, after) = rest.split_at(take as usize);
            device.combining.push((bar, at as u32, chunk.to_vec()));
            (at, rest) = (at + take, after);
        }
        // The processor fills a line as fast as it makes one uncached store.
        self.stored(turn, lines * cost)
    }

    fn fence(&self) -> Result<()> {
        self.drain(&mut self.turn()?)
    }

    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64> {
        if memory.is_null() || bytes == 0 {
            return Err(BusError::Invalid("memory of no bytes cannot be mapped".into()));
        }
        let address = self.with(|device| device.port.memory.map(memory, bytes, access))?;
        address.ok_or_else(|| BusError::Invalid(format!("the card's address space has no room for {bytes} more bytes")))
    }

    fn share_bar(&self, bar: u8, offset: u64, bytes: u64) -> Result<Arc<dyn BarPart>> {
        let world = Arc::as_ptr(&self.world) as usize;
        let shared = self.with(|device| {
            let (serial, all) = (device.serial, device.bar_bytes(bar));
            if bytes == 0 || offset.checked_add(bytes).is_none_or(|end| end > all) {
                return Err(all);
            }
            let lost = AtomicBool::new(device.input.config.link_up == 0);
            let shared = Arc::new(SharedBar { world, target: self.index, serial, bar, offset, bytes, lost });
            device.share(&shared);
            Ok(shared)
        })?;
        let beyond = |all| BusError::Invalid(format!("BAR {bar} of {} has {all} bytes: {bytes} at {offset:#x} are not in it", self.name));
        shared.map(|shared| shared as Arc<dyn BarPart>).map_err(beyond)
    }

    fn map_device(&self, memory: &Arc<dyn DeviceMemory>, access: Access) -> Result<u64> {
        let address = match memory.part_of_a_bar() {
            None => self.with(|device| device.port.memory.map_device(memory, access))?,
            Some(part) => {
                let bar = part.clone().into_any().downcast::<SharedBar>().ok().filter(|bar| bar.world == Arc::as_ptr(&self.world) as usize);
                let apart = || BusError::Unsupported("the other card is in another world; open both with the same `world=NAME`".into());
                let bar = bar.ok_or_else(apart)?;
                if bar.target == self.index {
                    return Err(BusError::Unsupported("the memory is the card's own, which its link does not reach".into()));
                }
                self.with(|device| device.port.memory.map_peer(bar, access))?
            }
        };
        address.ok_or_else(|| BusError::Invalid(format!("the card's address space has no room for {} more bytes", memory.bytes())))
    }

    fn unmap(&self, address: u64, bytes: usize) -> Result<()> {
        // A card that has stopped must not keep the program from giving its memory back.
        let mut turn = self.world.shared.turn();
        let device = turn.devices.get_mut(self.index).and_then(Option::as_deref_mut);
        if device.is_none_or(|device| device.port.memory.unmap(address, bytes)) {
            return Ok(());
        }
        Err(BusError::Invalid(format!("there is no mapping of {bytes} bytes at {address:#x}")))
    }

    fn enable_vectors(&self, count: u16) -> Result<u16> {
        let page_shift = self.read32(contract::BAR_DEVICE, contract::DISCOVERY_PAGE_SHIFT_OFFSET & !3)?
            >> (8 * (contract::DISCOVERY_PAGE_SHIFT_OFFSET & 3))
            & 0xff;
        let there = self.vectors()?;
        if there == 0 {
            return Err(BusError::Invalid(format!("{} has no interrupt vectors", self.name)));
        }
        let count = count.clamp(1, there);
        for vector in 0..u64::from(count) {
            let entry = (contract::PAGE_MSIX << page_shift) + contract::MSIX_VECTOR_OFFSET + vector * contract::MSIX_VECTOR_STRIDE;
            self.write64(contract::BAR_DEVICE, entry + contract::MSIX_VECTOR_ADDRESS_OFFSET, INTERRUPT_WINDOW.start)?;
            // Data, and above it the control word with the mask cleared.
            self.write64(contract::BAR_DEVICE, entry + contract::MSIX_VECTOR_DATA_OFFSET, vector)?;
        }
        // The table must stand before the capability's enable bit, which does not travel with the writes.
        self.read32(contract::BAR_DEVICE, contract::DISCOVERY_MAGIC_OFFSET)?;
        self.with(|device| (device.messages, device.input.config.msix_enable) = (None, 1))?;
        Ok(count)
    }

    fn wait(&self, vector: u16, nanoseconds: u64) -> Result<Wake> {
        let number = usize::from(vector);
        let mut turn = self.turn()?;
        if number >= self.device(&turn)?.vectors.len() {
            return Err(BusError::Invalid(format!("{} has no vector {vector}", self.name)));
        }
        self.drain(&mut turn)?;
        let (wake, poll) = (turn.settings.wake_cost * 1000, turn.settings.poll_cost * 1000);
        let deadline = turn.now.saturating_add(nanoseconds.saturating_mul(1000)).min(u64::MAX - 1);
        let seconds = nanoseconds / 1_000_000_000;
        let quiet_edges = QUIET_EDGES
            .max(seconds.saturating_mul(QUIET_EDGES_PER_SECOND) + (nanoseconds % 1_000_000_000) * QUIET_EDGES_PER_SECOND / 1_000_000_000);
        let wall = Duration::from_nanos(nanoseconds).saturating_add(WALL_SLACK);
        let mut busy = Instant::now();
        let first_edge = self.device(&turn)?.statistics.cycles;
        // A program that comes after its interrupt need not be woken.
        let awake = self.device(&turn)?.vectors[number].delivered.is_some_and(|delivered| delivered <= turn.now);
        let mut edges = 0u32;
        loop {
            let device = self.device(&turn)?;
            let limit = match device.vectors[number].delivered {
                Some(delivered) => {
                    let due = if awake { turn.now + poll } else { delivered + wake };
                    if !awake && turn.now < due {
                        due
                    } else {
                        let until = if awake { due } else { turn.now };
                        self.device_mut(&mut turn)?.vectors[number].delivered = None;
                        turn.run(until);
                        return Ok(Wake::Fired);
                    }
                }
                None if turn.now >= deadline => return Ok(Wake::TimedOut),
                None => deadline,
            };
            if device.input.config.link_up == 0 {
                return Err(BusError::Gone(format!("the link to {} is down", self.name)));
            }
            turn.step(limit);
            edges = edges.wrapping_add(1);
            if edges % TURN == 0 {
                let quiet = turn.quiet().min(self.device(&turn)?.statistics.cycles - first_edge);
                if quiet < u64::from(TURN) {
                    busy = Instant::now();
                }
                let undisturbed = self.device(&turn)?.vectors[number].delivered.is_none();
                if undisturbed && (quiet >= quiet_edges || busy.elapsed() >= wall) {
                    return Ok(Wake::TimedOut);
                }
                drop(turn); // a signal handler may use the card
                if towpath_system::signals::arrived() {
                    return Ok(Wake::Interrupted);
                }
                turn = self.world.shared.turn();
            }
        }
    }

    fn event_fd(&self, vector: u16) -> Result<OwnedFd> {
        let number = usize::from(vector);
        let mut turn = self.turn()?;
        let device = self.device_mut(&mut turn)?;
        let slot = device.vectors.get_mut(number).ok_or_else(|| BusError::Invalid(format!("{} has no vector {vector}", self.name)))?;
        let failed = |why| BusError::System("cannot make an eventfd".into(), why);
        let event = match &slot.event {
            Some(event) => event.try_clone().map_err(failed)?,
            None => {
                let event = towpath_system::event::new().map_err(failed)?;
                let duplicate = event.try_clone().map_err(failed)?;
                slot.event = Some(event);
                device.catch_up(number);
                duplicate
            }
        };
        device.vectors[number].armed = true;
        drop(turn);
        self.world.start_pump().map_err(|why| BusError::System("cannot start the thread that moves simulated time".into(), why))?;
        self.world.shared.wake_pump();
        Ok(event)
    }

    fn poll(&self) -> Result<()> {
        let mut turn = self.turn()?;
        self.drain(&mut turn)?;
        let until = turn.now + turn.settings.poll_cost * 1000;
        turn.run(until);
        self.device(&turn).map(drop)
    }

    fn now(&self) -> u64 {
        self.world.shared.nanoseconds.load(std::sync::atomic::Ordering::Acquire)
    }

    fn reset(&self) -> Result<()> {
        // The write to configuration space that starts it does not pass the stores before it; a read pushes them, too.
        self.load(contract::BAR_DEVICE, contract::DISCOVERY_MAGIC_OFFSET, 1)?;
        let mut turn = self.turn()?;
        let now = turn.now;
        let device = self.device_mut(&mut turn)?;
        (device.reset_done, device.deaf, device.mute) = (false, false, false);
        device.input.config.function_reset = 1;
        // A function in reset has lost its command register; the kernel writes it back afterwards, as this does below.
        let bus_master = device.is_bus_master();
        device.set_bus_master(false);
        device.input.config.msix_enable = 0;
        device.port.faults.cut(now);
        let deadline = turn.now + RESET_NANOSECONDS * 1000;
        while !self.device(&turn)?.reset_done {
            if !turn.step(deadline) {
                return Err(BusError::Gone(format!("{} does not acknowledge its reset within {RESET_NANOSECONDS} ns", self.name)));
            }
        }
        let device = self.device_mut(&mut turn)?;
        device.input.config.function_reset = 0;
        device.set_bus_master(bus_master);
        device.forget_interrupts();
        turn.tick();
        Ok(())
    }

    fn wire(&self) -> Option<WireStatistics> {
        let turn = self.world.shared.turn();
        let device = turn.devices.get(self.index).and_then(Option::as_deref)?;
        let statistics = &device.statistics;
        Some(WireStatistics {
            card_write_payload: statistics.card_write_payload,
            to_host: statistics.to_host,
            card_read_payload: statistics.card_read_payload,
            to_card: statistics.to_card,
            bytes_per_us: turn.settings.bytes_per_us(),
            max_payload: turn.settings.max_payload,
            completion_payload: turn.settings.completion_payload,
            cycles: statistics.cycles,
        })
    }

    fn register_names(&self) -> Vec<(String, u32)> {
        self.register_names.clone()
    }
}

impl Drop for SimBus {
    fn drop(&mut self) {
        let mut turn = self.world.shared.turn();
        let mut device = turn.devices.get_mut(self.index).and_then(Option::take);
        if let Some(device) = &mut device {
            device.end_shares();
        }
        drop(turn);
        drop(device);
    }
}
