// SPDX-License-Identifier: Apache-2.0
//! A board as a [`Bus`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use towpath_bus::{Access, BarPart, Bus, BusError, DeviceMemory, Result, Wake};
use towpath_system::{errno, event, process, Mapping, Rights, MAPS_DEVICES};
use vfio_bindings::bindings::vfio as kernel;

use crate::domain::{Domain, Seat};
use crate::info::{Region, Words};
use crate::peer::SharedPart;
use crate::requests::{self, Request};
use crate::system::{Function, System};
use crate::{checks, Address, Ids, VfioError};

const BARS: usize = 6;
/// The command register in configuration space; its bits that let the card respond to accesses and send requests.
const COMMAND: u64 = 4;
const COMMAND_MEMORY_AND_MASTER: u16 = 1 << 1 | 1 << 2;

type Done<T> = std::result::Result<T, VfioError>;

/// A BAR: in our address space as far as it can be mapped, and in the device's file.
struct Bar {
    bytes: u64,
    offset: u64,
    mapped: Vec<(Range<u64>, Arc<Mapping>)>,
}

impl Bar {
    /// The mapping that contains this range, and the offset in it.
    fn find(&self, offset: u64, bytes: usize) -> Option<(&Arc<Mapping>, usize)> {
        let inside = |area: &Range<u64>| area.start <= offset && offset + bytes as u64 <= area.end;
        self.mapped.iter().find(|(area, _)| inside(area)).map(|(area, mapped)| (mapped, (offset - area.start) as usize))
    }
}

/// What is mapped for the card.
#[derive(Default)]
struct Memory {
    /// By the card's address: first page and bytes in whole pages, and the bytes that were requested.
    mapped: BTreeMap<u64, (u64, u64, usize)>,
    /// By the card's address: parts of other cards, which stay as long as they are mapped.
    parts: BTreeMap<u64, Arc<SharedPart>>,
}

/// A board. Closing it switches bus mastering off, then releases everything else; the kernel resets the card and unpins what is still
/// mapped.
pub struct VfioBus {
    name: String,
    // These in the order of their drops: a mapping keeps the device's file open.
    bars: Vec<Bar>,
    device: File,
    configuration: Region,
    /// The command register before it was changed.
    command: u16,
    vectors: u16,
    events: Mutex<Vec<Arc<OwnedFd>>>,
    /// Signalled when the system requests the card back.
    wanted: OwnedFd,
    memory: Mutex<Memory>,
    opened: Instant,
    polls: AtomicU32,
    seat: Arc<Seat>,
}

/// Memory polls between two checks whether the system requests the card back.
const POLLS: u32 = 1 << 16;

impl VfioBus {
    /// Open the card at an address, whose identification must be among `ids`, and enable memory accesses and bus mastering. `name` is its
    /// name in messages.
    pub fn open(name: &str, system: &System, address: Address, ids: &Ids) -> Done<VfioBus> {
        let function = Function::read(system, address).ok_or(VfioError::NoSuchFunction { address: address.to_string() })?;
        let group_number = checks::ready(system, &function, ids).map_err(VfioError::NotReady)?;
        VfioBus::open_in_group(name, system, &function, group_number)
    }

    fn open_in_group(name: &str, system: &System, function: &Function, number: u32) -> Done<VfioBus> {
        let (device, seat) = Domain::of(system, number)?.seat(function.address)?;
        let mut info = [0; 16];
        requests::with_structure(&device, Request::DeviceInfo, &mut info).map_err(VfioError::DeviceInfo)?;
        if Words(&info).u32(4) & kernel::VFIO_DEVICE_FLAGS_PCI == 0 {
            return Err(VfioError::DeviceInfo(io::Error::from_raw_os_error(errno::ENOTSUP)));
        }
        let bars = (0..BARS as u32).map(|number| bar(&device, number)).collect::<Done<_>>()?;
        let configuration = region(&device, kernel::VFIO_PCI_CONFIG_REGION_INDEX)?;
        let mut bus = VfioBus {
            name: name.into(),
            bars,
            vectors: vectors(&device)?,
            device,
            configuration,
            command: 0,
            events: Mutex::default(),
            wanted: event::new().map_err(VfioError::SetIrqs)?,
            memory: Mutex::default(),
            opened: Instant::now(),
            polls: AtomicU32::new(0),
            seat,
        };
        bus.command = bus.read_command()?;
        bus.write_command(bus.command | COMMAND_MEMORY_AND_MASTER)?;
        // Not every kernel reports that it requests a card back; then nothing waits for it.
        if let Err(why) = bus.set_irqs(kernel::VFIO_PCI_REQ_IRQ_INDEX, &[bus.wanted.as_raw_fd()]) {
            log::debug!("{name}: no event for the card's removal: {why}");
        }
        Ok(bus)
    }

    fn read_command(&self) -> Done<u16> {
        let mut bytes = [0; 2];
        self.device.read_exact_at(&mut bytes, self.configuration.offset + COMMAND).map_err(VfioError::Configuration)?;
        Ok(u16::from_le_bytes(bytes))
    }

    fn write_command(&self, value: u16) -> Done<()> {
        self.device.write_all_at(&value.to_le_bytes(), self.configuration.offset + COMMAND).map_err(VfioError::Configuration)
    }

    /// Give interrupts events, from the first on; none: switch them off. How many there could be, if that is fewer.
    fn set_irqs(&self, index: u32, events: &[RawFd]) -> io::Result<u32> {
        let kind = if events.is_empty() { kernel::VFIO_IRQ_SET_DATA_NONE } else { kernel::VFIO_IRQ_SET_DATA_EVENTFD };
        let head = [0, kind | kernel::VFIO_IRQ_SET_ACTION_TRIGGER, index, 0, events.len() as u32];
        let descriptors = events.iter().flat_map(|descriptor| descriptor.to_ne_bytes());
        let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).chain(descriptors).collect();
        requests::with_structure(&self.device, Request::SetIrqs, &mut bytes)
    }

    /// The BAR, if the range lies inside and is aligned.
    fn bar(&self, number: u8, offset: u64, bytes: usize, aligned: u64) -> Result<&Bar> {
        let bar = self.bars.get(usize::from(number)).filter(|bar| bar.bytes > 0);
        let bar = bar.ok_or_else(|| BusError::Invalid(format!("{} has no BAR {number}", self.name)))?;
        if offset % aligned != 0 || offset.checked_add(bytes as u64).is_none_or(|end| end > bar.bytes) {
            return Err(BusError::Invalid(format!("{bytes} bytes at offset {offset:#x} of BAR {number}, which has {} bytes", bar.bytes)));
        }
        Ok(bar)
    }

    fn read<const N: usize>(&self, bar: &Bar, offset: u64) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.device.read_exact_at(&mut bytes, bar.offset + offset).map_err(|why| VfioError::Access(why).of(&self.name))?;
        Ok(bytes)
    }

    fn write(&self, bar: &Bar, offset: u64, bytes: &[u8]) -> Result<()> {
        self.device.write_all_at(bytes, bar.offset + offset).map_err(|why| VfioError::Access(why).of(&self.name))
    }

    fn event(&self, vector: u16) -> Result<Arc<OwnedFd>> {
        let found = self.events.lock().get(usize::from(vector)).cloned();
        found.ok_or_else(|| BusError::Invalid(format!("{} has no vector {vector}, or it is not enabled", self.name)))
    }

    fn check(&self) -> Result<()> {
        match event::wait_readable(self.wanted.as_fd(), Some(Duration::ZERO)) {
            Ok(false) => Ok(()),
            _ => {
                Err(BusError::Gone(format!("{}: the system wants the card back (it is being removed, or taken from vfio-pci)", self.name)))
            }
        }
    }
}

fn flags(access: Access) -> u32 {
    match access {
        Access::Read => kernel::VFIO_DMA_MAP_FLAG_READ,
        Access::Write => kernel::VFIO_DMA_MAP_FLAG_WRITE,
        Access::ReadWrite => kernel::VFIO_DMA_MAP_FLAG_READ | kernel::VFIO_DMA_MAP_FLAG_WRITE,
    }
}

fn region(device: &File, number: u32) -> Done<Region> {
    let failed = |source| VfioError::RegionInfo { region: number, source };
    let mut question = vec![0; 32];
    question[8..12].copy_from_slice(&number.to_ne_bytes());
    requests::whole_structure(device, Request::RegionInfo, question).map(|bytes| Region::parse(&bytes)).map_err(failed)
}

fn bar(device: &File, number: u32) -> Done<Bar> {
    let Region { bytes, offset, areas } = region(device, number)?;
    let map = |area: Range<u64>| {
        let mapped = Mapping::new(device, offset + area.start, (area.end - area.start) as usize, Rights::BOTH);
        mapped.map(|mapped| (area, Arc::new(mapped))).map_err(|source| VfioError::MapBar { bar: number, source })
    };
    let mapped = if MAPS_DEVICES { areas.into_iter().map(map).collect::<Done<_>>()? } else { Vec::new() };
    Ok(Bar { bytes, offset, mapped })
}

fn vectors(device: &File) -> Done<u16> {
    let mut info = [0; 16];
    info[8..12].copy_from_slice(&kernel::VFIO_PCI_MSIX_IRQ_INDEX.to_ne_bytes());
    requests::with_structure(device, Request::IrqInfo, &mut info).map_err(VfioError::IrqInfo)?;
    Ok(Words(&info).u32(12).min(u32::from(u16::MAX)) as u16)
}

impl Bus for VfioBus {
    fn name(&self) -> &str {
        &self.name
    }

    fn bar_bytes(&self, bar: u8) -> u64 {
        self.bars.get(usize::from(bar)).map_or(0, |bar| bar.bytes)
    }

    fn read32(&self, bar: u8, offset: u64) -> Result<u32> {
        let bar = self.bar(bar, offset, 4, 4)?;
        match bar.find(offset, 4) {
            Some((mapped, at)) => Ok(u32::from_le(mapped.load32(at))),
            None => self.read(bar, offset).map(u32::from_le_bytes),
        }
    }

    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        let bar = self.bar(bar, offset, 8, 8)?;
        match bar.find(offset, 8) {
            Some((mapped, at)) => Ok(u64::from_le(mapped.load64(at))),
            None => self.read(bar, offset).map(u64::from_le_bytes),
        }
    }

    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()> {
        let bar = self.bar(bar, offset, 4, 4)?;
        match bar.find(offset, 4) {
            Some((mapped, at)) => mapped.store32(at, value.to_le()),
            None => self.write(bar, offset, &value.to_le_bytes())?,
        }
        Ok(())
    }

    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()> {
        let bar = self.bar(bar, offset, 8, 8)?;
        match bar.find(offset, 8) {
            Some((mapped, at)) => mapped.store64(at, value.to_le()),
            // The kernel splits it into two words, ascending, where it does not support words of 8 bytes.
            None => self.write(bar, offset, &value.to_le_bytes())?,
        }
        Ok(())
    }

    fn write_combining(&self, bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        let bar = self.bar(bar, offset, bytes.len(), 1)?;
        let Some((mapped, at)) = bar.find(offset, bytes.len()) else { return self.write(bar, offset, bytes) };
        // A packet for each word; the order of words that write-combining would give up is kept.
        mapped.store(at, bytes);
        Ok(())
    }

    fn combines(&self) -> bool {
        false // VFIO maps BARs uncached
    }

    fn fence(&self) -> Result<()> {
        requests::store_fence();
        Ok(())
    }

    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64> {
        if memory.is_null() || bytes == 0 {
            return Err(BusError::Invalid("memory of no bytes cannot be mapped".into()));
        }
        let page = self.seat.domain.iommu.page;
        let first = memory as u64 / page * page;
        let end = (memory as u64).checked_add(bytes as u64).and_then(|end| end.checked_next_multiple_of(page));
        let length = end.ok_or_else(|| BusError::Invalid("memory that does not end".into()))? - first;
        let place = self.seat.domain.space.lock().take(first, length);
        let place = place.ok_or_else(|| VfioError::NoAddresses { bytes: length }.of(&self.name))?;
        let flags = flags(access);
        // SAFETY: by this function's contract the memory stays valid until it is unmapped; the rest of its first and last page belongs to
        // the program, too, and the card gets no address there.
        let map = |flags| unsafe { requests::map_dma(&self.seat.domain.container, flags, first, place, length) };
        // Not under the lock: to pin a large piece takes a while. Pages that could not be made the program's own become so by being pinned
        // for writing, and if that is refused it is memory that nothing writes.
        let mut mapped = Err(std::io::ErrorKind::PermissionDenied.into());
        if access == Access::Read && !process::own_pages(first, length) {
            mapped = map(flags | kernel::VFIO_DMA_MAP_FLAG_WRITE);
        }
        if let Err(source) = mapped.or_else(|_| map(flags)) {
            self.seat.domain.space.lock().give_back(place, length);
            return Err(VfioError::MapDma { bytes: length, mappings: self.seat.domain.iommu.mappings, source }.of(&self.name));
        }
        let address = place + (memory as u64 - first);
        self.memory.lock().mapped.insert(address, (place, length, bytes));
        Ok(address)
    }

    fn share_bar(&self, bar: u8, offset: u64, bytes: u64) -> Result<Arc<dyn BarPart>> {
        let found = self.bar(bar, offset, bytes as usize, self.seat.domain.iommu.page)?;
        let why = || format!("the kernel gives programs no part of BAR {bar} at {offset:#x}, so no other card gets it either");
        let (mapped, at) = found.find(offset, bytes as usize).ok_or_else(|| BusError::Unsupported(why()))?;
        Ok(Arc::new(SharedPart::new(&self.name, mapped, at, &self.seat)))
    }

    fn map_device(&self, memory: &Arc<dyn DeviceMemory>, access: Access) -> Result<u64> {
        let Some(part) = memory.part_of_a_bar() else {
            return Err(BusError::Unsupported("VFIO maps the processor's memory alone for a card, and not a GPU's".into()));
        };
        let part = part.clone().into_any().downcast::<SharedPart>();
        let part = part.map_err(|_| BusError::Unsupported("the other card is not one that VFIO serves in this program".into()))?;
        if part.board == self.name {
            return Err(BusError::Unsupported("the memory is the card's own, which its link does not reach".into()));
        }
        // At a multiple of its size, as the other end's registers want it.
        let bytes = memory.bytes();
        let length = (bytes as u64).next_multiple_of(self.seat.domain.iommu.page);
        let place = self.seat.domain.space.lock().take_aligned(length, length.next_power_of_two());
        let place = place.ok_or_else(|| VfioError::NoAddresses { bytes: length }.of(&self.name))?;
        // SAFETY: what is mapped is a device's registers, which no program's values are in; they stay, for `parts` has them.
        if let Err(source) = unsafe { requests::map_dma(&self.seat.domain.container, flags(access), part.address(), place, length) } {
            self.seat.domain.space.lock().give_back(place, length);
            return Err(VfioError::MapDma { bytes: length, mappings: self.seat.domain.iommu.mappings, source }.of(&self.name));
        }
        let mut memory = self.memory.lock();
        memory.mapped.insert(place, (place, length, bytes));
        memory.parts.insert(place, part);
        Ok(place)
    }

    fn unmap(&self, address: u64, bytes: usize) -> Result<()> {
        let mut memory = self.memory.lock();
        let (place, length) = match memory.mapped.get(&address) {
            Some((place, length, asked)) if *asked == bytes => (*place, *length),
            _ => return Err(BusError::Invalid(format!("there is no mapping of {bytes} bytes at {address:#x}"))),
        };
        memory.mapped.remove(&address);
        drop(memory);
        let domain = &self.seat.domain;
        // When this returns, no access of the card reaches the memory any more: what it still had under way there has failed.
        domain.unmap(place, length).map_err(|source| VfioError::UnmapDma { address, bytes: length, source }.of(&self.name))?;
        domain.space.lock().give_back(place, length);
        self.memory.lock().parts.remove(&address);
        Ok(())
    }

    fn enable_vectors(&self, count: u16) -> Result<u16> {
        let failed = |why| VfioError::SetIrqs(why).of(&self.name);
        if self.vectors == 0 {
            return Err(BusError::Invalid(format!("{} has no MSI-X vectors", self.name)));
        }
        let mut made =
            (0..count.clamp(1, self.vectors)).map(|_| event::new().map(Arc::new)).collect::<io::Result<Vec<_>>>().map_err(failed)?;
        if !self.events.lock().is_empty() {
            self.set_irqs(kernel::VFIO_PCI_MSIX_IRQ_INDEX, &[]).map_err(failed)?;
        }
        loop {
            let descriptors: Vec<RawFd> = made.iter().map(|event| event.as_raw_fd()).collect();
            match self.set_irqs(kernel::VFIO_PCI_MSIX_IRQ_INDEX, &descriptors).map_err(failed)? as usize {
                0 => break,
                // The system has fewer to give.
                there if there < made.len() => made.truncate(there),
                _ => return Err(failed(io::Error::from_raw_os_error(errno::ENOSPC))),
            }
        }
        let enabled = made.len() as u16;
        *self.events.lock() = made;
        Ok(enabled)
    }

    fn wait(&self, vector: u16, nanoseconds: u64) -> Result<Wake> {
        let event = self.event(vector)?;
        let wake = event::wait(&event, nanoseconds).map_err(|why| BusError::System("waiting for an interrupt".into(), why))?;
        if wake == Wake::TimedOut {
            self.check()?;
        }
        Ok(wake)
    }

    fn event_fd(&self, vector: u16) -> Result<OwnedFd> {
        self.event(vector)?.try_clone().map_err(|why| BusError::System("duplicating an eventfd".into(), why))
    }

    fn poll(&self) -> Result<()> {
        std::hint::spin_loop();
        // Seldom, for it is a system call: whether the card is still there.
        if self.polls.fetch_add(1, Ordering::Relaxed) % POLLS == POLLS - 1 {
            self.check()?;
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn reset(&self) -> Result<()> {
        requests::with_number(&self.device, Request::Reset, 0).map_err(|why| VfioError::Reset(why).of(&self.name))?;
        // The kernel restores the configuration space; this writes the command register again.
        self.write_command(self.command | COMMAND_MEMORY_AND_MASTER).map_err(|why| why.of(&self.name))
    }
}

impl Drop for VfioBus {
    fn drop(&mut self) {
        // First of all the card must not send requests any more; then interrupts, and the rest as the fields are dropped.
        let restored = self.write_command(self.command);
        let off = if self.events.lock().is_empty() { Ok(0) } else { self.set_irqs(kernel::VFIO_PCI_MSIX_IRQ_INDEX, &[]) };
        for why in [restored.err().map(|why| why.to_string()), off.err().map(|why| why.to_string())].into_iter().flatten() {
            log::debug!("{}: closing the card: {why}", self.name);
        }
        // Where it is not alone in its group, nothing else ends what is mapped.
        let memory = self.memory.get_mut();
        for (place, length, _) in std::mem::take(&mut memory.mapped).into_values() {
            match self.seat.domain.unmap(place, length) {
                Ok(()) => self.seat.domain.space.lock().give_back(place, length),
                Err(why) => log::debug!("{}: closing the card: VFIO_IOMMU_UNMAP_DMA: {why}", self.name),
            }
        }
    }
}
