// SPDX-License-Identifier: Apache-2.0
//! The client's memory, as a device in the server reaches it: what is mapped at that moment, and nothing else.
//!
//! Three kinds of memory look alike from here. A memory file that cannot shrink is mapped; any other file is read and written in place, for
//! an access behind the end of a mapped one would kill the process; memory without a descriptor is reached by DMA_READ and DMA_WRITE. A
//! write has landed, and can be seen by the client, when [`Dma::write`] returns: what follows it, in memory of whatever kind or as an
//! interrupt, comes later.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use towpath_device_server::HostMemory;
use towpath_system::{errno, file, Mapping, Rights};

use crate::message::{Capabilities, Command, DmaAccess, Header, Refusal, FLAG_NO_REPLY, MAX_DATA};
use crate::wire::{self, Inbox, Message};

/// Mapped regions, at most: as many as VFIO has for real cards.
const REGIONS: usize = 65_535;
/// What the client may send while we wait for its memory.
const DEFERRED_MESSAGES: usize = 4096;
const DEFERRED_BYTES: usize = 4 * MAX_DATA;

/// Of the numbers of our messages: one that nobody waits for.
const POSTED: u16 = 1 << 15;
/// Refusals of such messages that are logged.
const WARNINGS: u32 = 10;

/// The device has no right to this memory, or it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

enum Backing {
    Mapped(Mapping),
    File { file: File, offset: u64 },
    Client,
}

struct Region {
    bytes: u64,
    read: bool,
    write: bool,
    backing: Backing,
}

/// The connection to the client, with the messages that it has sent and that are not handled yet.
pub(crate) struct Link {
    stream: UnixStream,
    inbox: Inbox,
    deferred: VecDeque<Message>,
    deferred_bytes: usize,
    next_id: u16,
    /// Whether there were posted writes, and how many the client has refused.
    posted: bool,
    refused: u32,
    /// Bytes of data that the client takes at once.
    pub chunk: usize,
    /// Why the connection cannot be used any more.
    broken: Option<io::Error>,
}

impl Link {
    pub fn new(stream: UnixStream) -> Link {
        let chunk = Capabilities::OURS.data;
        Link {
            stream,
            inbox: Inbox::default(),
            deferred: VecDeque::new(),
            deferred_bytes: 0,
            next_id: 0,
            posted: false,
            refused: 0,
            chunk,
            broken: None,
        }
    }

    /// The stream, to wait for its next message without the lock.
    pub fn stream(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// The client's next message, if one is there.
    pub fn next(&mut self) -> io::Result<Option<Message>> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if let Some(message) = self.deferred.pop_front() {
            self.deferred_bytes -= message.payload.len();
            return Ok(Some(message));
        }
        self.inbox.next(&self.stream, false)
    }

    pub fn send(&mut self, header: Header, front: &[u8], data: &[u8], descriptors: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<()> {
        wire::send(&self.stream, header, front, data, descriptors)
    }

    fn number(&mut self) -> u16 {
        self.next_id = self.next_id.wrapping_add(1) & !POSTED;
        self.next_id
    }

    /// Write where the client has mapped nothing, and wait for nothing.
    fn post(&mut self, access: DmaAccess, data: &[u8]) -> io::Result<()> {
        let header = Header::command(self.number() | POSTED, Command::DmaWrite, DmaAccess::BYTES + data.len());
        self.posted = true;
        self.send(Header { flags: header.flags | FLAG_NO_REPLY, ..header }, &access.to_bytes(), data, &[])
    }

    /// Whether a reply is to a posted write. The client tells of those that it refuses.
    pub fn answers_a_post(&mut self, reply: &Header) -> bool {
        let posted = self.posted && reply.id & POSTED != 0 && reply.command == Command::DmaWrite as u16;
        if posted && reply.error().is_some() {
            self.refused = self.refused.saturating_add(1);
            if self.refused <= WARNINGS {
                log::warn!("the client has refused a write of the card, to an address that was not mapped for it");
            }
        }
        posted
    }

    /// Access the client's memory and wait until it is done. The reply's payload.
    fn access(&mut self, command: Command, access: DmaAccess, data: &[u8]) -> io::Result<Result<Vec<u8>, Refused>> {
        let header = Header::command(self.number(), command, DmaAccess::BYTES + data.len());
        self.send(header, &access.to_bytes(), data, &[])?;
        loop {
            let Some(message) = self.inbox.next(&self.stream, true)? else { continue };
            if !message.header.is_reply() {
                self.deferred_bytes += message.payload.len();
                self.deferred.push_back(message);
                if self.deferred.len() > DEFERRED_MESSAGES || self.deferred_bytes > DEFERRED_BYTES {
                    return Err(io::Error::other("the client sends without end and does not answer an access to its memory"));
                }
                continue;
            }
            if self.answers_a_post(&message.header) {
                continue;
            }
            if (message.header.id, message.header.command) != (header.id, header.command) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a reply to something that was not asked"));
            }
            return Ok(if message.header.error().is_some() { Err(Refused) } else { Ok(message.payload) });
        }
    }
}

#[derive(Default)]
struct Shared {
    link: Mutex<Option<Link>>,
    regions: RwLock<BTreeMap<u64, Region>>,
    /// Writes to what is not mapped go to the client all the same.
    passes_on: AtomicBool,
}

/// The way to the client's memory; clones are the same. Of the server's thread: an access from another one while a request is being served
/// may wait for that.
#[derive(Clone, Default)]
pub struct Dma(Arc<Shared>);

impl Dma {
    pub(crate) fn link(&self) -> MutexGuard<'_, Option<Link>> {
        self.0.link.lock()
    }

    fn regions(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Region>> {
        self.0.regions.read()
    }

    fn regions_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Region>> {
        self.0.regions.write()
    }

    /// Do something with the region that holds all of these bytes, if the device has that right there.
    fn within<T>(&self, address: u64, bytes: usize, write: bool, then: impl FnOnce(&Region, u64) -> T) -> Option<T> {
        let regions = self.regions();
        let (start, region) = regions.range(..=address).next_back()?;
        let offset = address - start;
        let inside = offset.checked_add(bytes as u64)? <= region.bytes;
        (inside && if write { region.write } else { region.read }).then(|| then(region, offset))
    }

    /// May the device read (or write) all of these bytes? The client may still refuse memory that it guards itself.
    pub fn permits(&self, address: u64, bytes: usize, write: bool) -> bool {
        self.within(address, bytes, write, |_, _| ()).is_some()
    }

    /// Read the client's memory. What was read when it is refused is undefined.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Refused> {
        let here = self.within(address, into.len(), false, |region, offset| match &region.backing {
            Backing::Mapped(mapped) => {
                mapped.read(offset as usize, into);
                Some(Ok(()))
            }
            Backing::File { file, offset: from } => Some(file.read_exact_at(into, from + offset).map_err(|_| Refused)),
            Backing::Client => None,
        });
        match here.ok_or(Refused)? {
            Some(done) => done,
            None => self.by_messages(address, into.len(), |link, address, range| {
                let access = DmaAccess { address, bytes: range.len() as u64 };
                let payload = match link.access(Command::DmaRead, access, &[])? {
                    Ok(payload) => payload,
                    Err(refused) => return Ok(Err(refused)),
                };
                match DmaAccess::parse(&payload, true) {
                    Ok((found, data)) if found == access => {
                        into[range].copy_from_slice(data);
                        Ok(Ok(()))
                    }
                    _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a reply with other memory than was asked for")),
                }
            }),
        }
    }

    /// From now on writes to addresses that the client has not mapped go to it, too, and it decides. In a virtual machine another card's BAR may be
    /// there, of which the client tells nobody. They are posted, as on a link: the client may wait for this server while it takes them.
    pub fn pass_on_writes(&self) {
        self.0.passes_on.store(true, Ordering::Relaxed);
    }

    /// Write the client's memory.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), Refused> {
        let here = self.within(address, from.len(), true, |region, offset| match &region.backing {
            Backing::Mapped(mapped) => {
                mapped.write(offset as usize, from);
                Some(Ok(()))
            }
            Backing::File { file, offset: to } => Some(file.write_all_at(from, to + offset).map_err(|_| Refused)),
            Backing::Client => None,
        });
        if here.is_none() && self.0.passes_on.load(Ordering::Relaxed) {
            return self.by_messages(address, from.len(), |link, address, range| {
                link.post(DmaAccess { address, bytes: range.len() as u64 }, &from[range]).map(Ok)
            });
        }
        match here.ok_or(Refused)? {
            Some(done) => done,
            None => self.by_messages(address, from.len(), |link, address, range| {
                let access = DmaAccess { address, bytes: range.len() as u64 };
                Ok(link.access(Command::DmaWrite, access, &from[range])?.map(drop))
            }),
        }
    }

    /// An access in pieces that the client accepts. When the connection breaks during it, it is refused, and the server detects the break
    /// next.
    fn by_messages(
        &self,
        address: u64,
        bytes: usize,
        mut each: impl FnMut(&mut Link, u64, std::ops::Range<usize>) -> io::Result<Result<(), Refused>>,
    ) -> Result<(), Refused> {
        let mut guard = self.link();
        let link = guard.as_mut().filter(|link| link.broken.is_none()).ok_or(Refused)?;
        let mut at = 0;
        while at < bytes {
            let range = at..bytes.min(at + link.chunk);
            at = range.end;
            // The last address of all has a next one only by wrapping.
            match each(link, address.wrapping_add(range.start as u64), range) {
                Ok(done) => done?,
                Err(error) => {
                    link.broken = Some(error);
                    return Err(Refused);
                }
            }
        }
        Ok(())
    }

    /// A client's DMA_MAP.
    pub(crate) fn map(
        &self,
        address: u64,
        bytes: u64,
        (read, write): (bool, bool),
        file: Option<OwnedFd>,
        offset: u64,
    ) -> Result<(), Refusal> {
        let refuse = |errno, why: &str| Err(Refusal::new(errno, format!("a mapping of {bytes} bytes at {address:#x}: {why}")));
        if bytes == 0 || !(read || write) {
            return refuse(errno::EINVAL, "it has no bytes, or no rights");
        }
        let (Some(end), Ok(length)) = (address.checked_add(bytes), usize::try_from(bytes)) else {
            return refuse(errno::EINVAL, "it does not end");
        };
        let mut regions = self.regions_mut();
        if regions.len() >= REGIONS {
            return refuse(errno::ENOSPC, "there are too many");
        }
        if regions.range(..end).next_back().is_some_and(|(start, region)| start + region.bytes > address) {
            return refuse(errno::EEXIST, "there is one already");
        }
        let backing = match file {
            None => Backing::Client,
            Some(descriptor) => {
                let Some(last) = offset.checked_add(bytes) else { return refuse(errno::EINVAL, "its part of the file does not end") };
                match file::fixed_length(&descriptor) {
                    Some(there) if last > there => return refuse(errno::EINVAL, "the file is shorter"),
                    Some(_) if offset % 4096 == 0 => match Mapping::new(&descriptor, offset, length, Rights { read, write }) {
                        Ok(mapped) => Backing::Mapped(mapped),
                        Err(error) => return refuse(error.raw_os_error().unwrap_or(errno::EIO), &error.to_string()),
                    },
                    _ if file::length(&descriptor).is_some() => Backing::File { file: descriptor.into(), offset },
                    _ => return refuse(errno::EINVAL, "the descriptor is not a file"),
                }
            }
        };
        regions.insert(address, Region { bytes, read, write, backing });
        Ok(())
    }

    /// A client's DMA_UNMAP: everything that lies in the range, which must not cut a mapping in two. The range may be empty, as with the
    /// kernel's VFIO: QEMU unmaps all addresses when a guest's IOMMU is switched on.
    pub(crate) fn unmap(&self, address: u64, bytes: u64) -> Result<(), Refusal> {
        let mut regions = self.regions_mut();
        // The end of all addresses is no number, and nothing is mapped at the last one.
        let whole = (address.wrapping_add(bytes) == 0).then_some(u64::MAX);
        let end = address.checked_add(bytes).or(whole).ok_or_else(|| Refusal::new(errno::EINVAL, "a range that does not end"))?;
        let cut = |at: u64| regions.range(..at).next_back().is_some_and(|(start, region)| start + region.bytes > at);
        if cut(address) || cut(end) {
            return Err(Refusal::new(errno::EINVAL, format!("{bytes} bytes at {address:#x} are a part of a mapping")));
        }
        let inside: Vec<u64> = regions.range(address..end).map(|(start, _)| *start).collect();
        for start in inside {
            regions.remove(&start);
        }
        Ok(())
    }

    /// Unmap all memory from the device.
    pub(crate) fn unmap_all(&self) {
        self.regions_mut().clear();
    }

    /// How many mappings there are; for tests.
    pub fn mappings(&self) -> usize {
        self.regions().len()
    }
}

impl HostMemory for Dma {
    fn permits(&self, address: u64, bytes: u64, write: bool) -> bool {
        usize::try_from(bytes).is_ok_and(|bytes| Dma::permits(self, address, bytes, write))
    }

    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        Dma::read(self, address, into).is_ok()
    }

    fn write(&self, address: u64, from: &[u8]) -> bool {
        Dma::write(self, address, from).is_ok()
    }
}
