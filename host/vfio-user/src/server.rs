// SPDX-License-Identifier: Apache-2.0
//! The server: serves one client after the other, and drives a [`Device`] meanwhile.
//!
//! One thread does all of it: it takes a message, lets the device act on it, answers, and between messages lets the device run for as long
//! as the device reports activity; otherwise it sleeps until the next message.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use towpath_device_server::{Device, Door, Errno, Pace, Region, Stop, REGIONS};
use towpath_system::{errno, event, file};

use crate::dma::{Dma, Link};
use crate::message::{
    self, access, four_words, Capabilities, Refusal, RegionInfo, Request, Trigger, DEVICE_PCI, DEVICE_RESET, IRQ_EVENTFD, IRQ_NORESIZE,
    REGION_MMAP, REGION_READ, REGION_WRITE, VERSION,
};
use crate::wire::{self, Message};

/// Kinds of interrupts of a PCI device: by pin, MSI, MSI-X, error, request.
const IRQS: u32 = 5;
/// Interrupts by MSI-X.
pub const IRQ_MSIX: u32 = 2;
/// More vectors than MSI-X has.
const VECTORS: u32 = 2048;

/// A socket with a device behind it.
pub struct Server {
    door: Door,
    dma: Dma,
}

/// What one client has set up.
struct Session {
    negotiated: bool,
    events: Vec<Option<OwnedFd>>,
}

/// Payload and descriptor of a reply; the payload in two parts.
#[derive(Default)]
struct Reply {
    front: Vec<u8>,
    data: Vec<u8>,
    file: Option<OwnedFd>,
}

impl Reply {
    fn of(front: Vec<u8>) -> Reply {
        Reply { front, ..Reply::default() }
    }
}

impl Server {
    /// Listen at a path, which must be free, or left over from a server that has died. Clients may connect from now on, and are served once
    /// [`Server::serve`] runs.
    pub fn bind(path: &Path) -> io::Result<Server> {
        Ok(Server { door: Door::open(path, wire::refuse)?, dma: Dma::default() })
    }

    /// The client's memory, for the device: the same for all clients, and empty between them.
    pub fn dma(&self) -> Dma {
        self.dma.clone()
    }

    /// A handle that ends [`Server::serve`].
    pub fn stop(&self) -> Stop {
        self.door.stop()
    }

    /// Serve clients, one after the other, until stopped. An error: the device could not be reset, and serves no client any more.
    pub fn serve(&self, device: &mut dyn Device) -> io::Result<()> {
        let converse = |device: &mut dyn Device, stream| {
            *self.dma.link() = Some(Link::new(stream));
            let end = self.converse(device, &mut Session { negotiated: false, events: Vec::new() });
            // Memory without a descriptor is not answered for any more; the rest is released when the card does not use it any more.
            *self.dma.link() = None;
            end
        };
        towpath_device_server::serve(&self.door, device, converse, || self.dma.unmap_all())
    }

    /// Handle all messages of one client; returns the reason for its end.
    fn converse(&self, device: &mut dyn Device, session: &mut Session) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let stream = self.dma.link().as_ref().ok_or_else(gone)?.stream()?;
        loop {
            let message = self.dma.link().as_mut().ok_or_else(gone)?.next()?;
            match message {
                Some(message) => self.answer(device, session, message)?,
                None => match device.run() {
                    Pace::Now => (),
                    Pace::Later(time) => drop(event::wait_readable(stream.as_fd(), Some(time))?),
                    Pace::Idle => drop(event::wait_readable(stream.as_fd(), None)?),
                },
            }
        }
    }

    fn answer(&self, device: &mut dyn Device, session: &mut Session, message: Message) -> io::Result<()> {
        let header = message.header;
        if header.is_reply() {
            if self.dma.link().as_mut().is_some_and(|link| link.answers_a_post(&header)) {
                return Ok(());
            }
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a reply to something that was not asked"));
        }
        let outcome = self.obey(device, session, message);
        let mut guard = self.dma.link();
        let link = guard.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        match outcome {
            Err(refusal) => {
                log::debug!("command {} was refused: {}", header.command, refusal.why);
                if header.wants_reply() {
                    link.send(header.refusal(refusal.errno), &[], &[], &[])?;
                }
                match session.negotiated {
                    true => Ok(()),
                    false => Err(io::Error::new(io::ErrorKind::InvalidData, format!("no common version: {}", refusal.why))),
                }
            }
            Ok(Reply { front, data, file }) if header.wants_reply() => {
                let files: Vec<_> = file.iter().map(AsFd::as_fd).collect();
                link.send(header.reply(front.len() + data.len()), &front, &data, &files)
            }
            Ok(_) => Ok(()),
        }
    }

    fn obey(&self, device: &mut dyn Device, session: &mut Session, message: Message) -> Result<Reply, Refusal> {
        let Message { header, payload, mut descriptors, overfull } = message;
        if overfull {
            return Err(Refusal::new(errno::EINVAL, format!("more than {} descriptors in one message", message::MAX_DESCRIPTORS)));
        }
        let request = Request::parse(header.command, &payload, descriptors.len())?;
        if session.negotiated == matches!(request, Request::Version { .. }) {
            return Err(Refusal::new(errno::EINVAL, "a connection begins with one VERSION, and has no other"));
        }
        match request {
            Request::Version { major, minor, capabilities } => {
                if major != VERSION.0 {
                    let why = format!("version {major}.{minor}; this server speaks {}.{}", VERSION.0, VERSION.1);
                    return Err(Refusal::new(errno::ENOTSUP, why));
                }
                if let Some(link) = self.dma.link().as_mut() {
                    link.chunk = capabilities.data;
                }
                session.negotiated = true;
                Ok(Reply::of(message::version(major, minor.min(VERSION.1), &Capabilities::OURS)))
            }
            Request::DmaMap { readable, writable, offset, address, bytes } => {
                self.dma.map(address, bytes, (readable, writable), descriptors.pop(), offset)?;
                Ok(Reply::default())
            }
            Request::DmaUnmap { all: true, .. } => {
                self.dma.unmap_all();
                Ok(Reply::of(payload))
            }
            Request::DmaUnmap { address, bytes, .. } => {
                self.dma.unmap(address, bytes)?;
                Ok(Reply::of(payload))
            }
            Request::DeviceInfo => Ok(Reply::of(four_words([DEVICE_RESET | DEVICE_PCI, REGIONS, IRQS]))),
            Request::RegionInfo { index, room } => region_info(device, index, room),
            Request::IrqInfo { index } if index < IRQS => {
                let (flags, count) = if index == IRQ_MSIX { (IRQ_EVENTFD | IRQ_NORESIZE, device.vectors()) } else { (0, 0) };
                Ok(Reply::of(four_words([flags, index, count])))
            }
            Request::IrqInfo { index } => Err(Refusal::new(errno::EINVAL, format!("there are no interrupts of kind {index}"))),
            Request::SetIrqs { index, start, count, trigger } => {
                set_irqs(device, session, index, start..start + count, trigger, descriptors)?;
                Ok(Reply::default())
            }
            Request::RegionRead { region, offset, bytes } => {
                inside(device, region, offset, u64::from(bytes), |region| region.readable)?;
                let mut data = vec![0; bytes as usize];
                let what = || format!("{bytes} bytes at {offset:#x} of region {region} cannot be read");
                device.read(region, offset, &mut data).map_err(|errno| refusal(errno, what()))?;
                Ok(Reply { front: access(region, offset, bytes).to_vec(), data, file: None })
            }
            Request::RegionWrite { region, offset, data } => {
                inside(device, region, offset, data.len() as u64, |region| region.writable)?;
                let what = || format!("{} bytes at {offset:#x} of region {region} cannot be written", data.len());
                device.write(region, offset, &data).map_err(|errno| refusal(errno, what()))?;
                Ok(Reply::of(access(region, offset, data.len() as u32).to_vec()))
            }
            Request::Reset => {
                device.reset().map_err(|errno| refusal(errno, "the card cannot be reset"))?;
                Ok(Reply::default())
            }
        }
    }
}

/// A device's error, as an error for the client.
fn refusal(Errno(number): Errno, what: impl Into<String>) -> Refusal {
    Refusal::new(number, what)
}

fn inside(device: &dyn Device, index: u32, offset: u64, bytes: u64, allowed: impl Fn(&Region) -> bool) -> Result<(), Refusal> {
    let region = if index < REGIONS { device.region(index) } else { Region::default() };
    if region.holds(offset, bytes) && allowed(&region) {
        return Ok(());
    }
    Err(Refusal::new(errno::EINVAL, format!("{bytes} bytes at {offset:#x} of region {index}, which has {} bytes", region.bytes)))
}

fn region_info(device: &dyn Device, index: u32, room: u32) -> Result<Reply, Refusal> {
    if index >= REGIONS {
        return Err(Refusal::new(errno::EINVAL, format!("there is no region {index}")));
    }
    let region = device.region(index);
    let mapping = device.mapping(index);
    let flag = |yes: bool, flag: u32| if yes && region.bytes > 0 { flag } else { 0 };
    let mut info = RegionInfo {
        flags: flag(region.readable, REGION_READ) | flag(region.writable, REGION_WRITE) | flag(mapping.is_some(), REGION_MMAP),
        index,
        bytes: region.bytes,
        ..RegionInfo::default()
    };
    let file = mapping.map(|mapping| {
        (info.offset, info.areas) = (mapping.offset, mapping.areas);
        mapping.file
    });
    Ok(Reply { front: info.payload(room), data: Vec::new(), file })
}

fn set_irqs(
    device: &mut dyn Device,
    session: &mut Session,
    index: u32,
    which: Range<u32>,
    trigger: Trigger,
    descriptors: Vec<OwnedFd>,
) -> Result<(), Refusal> {
    let vectors = device.vectors().min(VECTORS);
    if index != IRQ_MSIX || which.end > vectors {
        let why = format!("interrupts {which:?} of kind {index}; there are {vectors} of kind {IRQ_MSIX}");
        return Err(Refusal::new(errno::EINVAL, why));
    }
    let fire = |events: &[Option<OwnedFd>], number: u32| {
        if let Some(Some(event)) = events.get(number as usize) {
            event::signal(event);
        }
    };
    match trigger {
        Trigger::Events if descriptors.iter().all(file::is_event) => {
            if session.events.len() < which.end as usize {
                session.events.resize_with(which.end as usize, || None);
            }
            let places = &mut session.events[which.start as usize..which.end as usize];
            let given = descriptors.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
            places.iter_mut().zip(given).for_each(|(place, event)| *place = event);
            tell(device, &session.events)
        }
        Trigger::Events => Err(Refusal::new(errno::EINVAL, "a descriptor for an interrupt is not an eventfd")),
        Trigger::Fire if which.is_empty() => {
            session.events.clear();
            tell(device, &[])
        }
        Trigger::Fire => {
            which.for_each(|number| fire(&session.events, number));
            Ok(())
        }
        Trigger::FireSome(some) => {
            which.zip(some).filter(|(_, yes)| *yes).for_each(|(number, _)| fire(&session.events, number));
            Ok(())
        }
    }
}

/// The device has descriptors of its own, because it signals at any time.
fn tell(device: &mut dyn Device, events: &[Option<OwnedFd>]) -> Result<(), Refusal> {
    let same = |event: &Option<OwnedFd>| event.as_ref().map(OwnedFd::try_clone).transpose();
    let events: io::Result<Vec<_>> = events.iter().map(same).collect();
    let events = events.map_err(|error| Refusal::new(error.raw_os_error().unwrap_or(errno::EMFILE), "no descriptors are left"))?;
    device.set_events(events).map_err(|errno| refusal(errno, "interrupts cannot be set up"))
}
