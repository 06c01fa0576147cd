// SPDX-License-Identifier: Apache-2.0
//! The client: a card in another process as a [`Bus`].
//!
//! A thread reads the socket: it hands replies to the waiting calls, and lets the server read and write the program's memory, with the
//! exact bounds of what is mapped. Nothing else it does may wait, so the server always gets its answer.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use towpath_bus::{Access, Bus, BusError, DeviceMemory, Result, Wake};
use towpath_device_server::REGION_CONFIG;
use towpath_system::{errno, event};

use crate::message::{
    self, parse_four_words, Capabilities, Command, DmaAccess, Header, Refusal, RegionInfo, Request, Trigger, DEVICE_PCI, FLAG_NO_REPLY,
    VERSION,
};
use crate::server::IRQ_MSIX;
use crate::wire::{self, Inbox, Message};

/// A server that does not answer for this time is taken for dead.
const PATIENCE: Duration = Duration::from_secs(60);
/// One in this many posted writes waits for its reply: a server may have to keep them all while it waits for our memory.
const POSTED: u32 = 64;
/// Where memory appears to the card: above what has short addresses, and below where BARs may be.
const ADDRESSES: std::ops::Range<u64> = 1 << 32..1 << 46;
const PAGE: u64 = 4096;
const BARS: usize = 6;
/// The command register in configuration space, and its bits that let the card respond to accesses and send requests.
const COMMAND: u64 = 4;
const COMMAND_MEMORY_AND_MASTER: u16 = 1 << 1 | 1 << 2;

/// Memory of the program that the card may reach.
struct Mapping {
    memory: *mut u8,
    bytes: usize,
    access: Access,
}

// SAFETY: the pointers are used under the table's lock only, and the caller of `Bus::map` promised that they stay valid.
unsafe impl Send for Mapping {}

/// What is mapped, by its address for the card, and the next address: none is allocated twice.
struct Memory {
    mapped: BTreeMap<u64, Mapping>,
    next: u64,
}

impl Memory {
    fn find(&self, access: DmaAccess, write: bool) -> Option<*mut u8> {
        let (start, mapping) = self.mapped.range(..=access.address).next_back()?;
        let offset = access.address - start;
        let inside = offset.checked_add(access.bytes)? <= mapping.bytes as u64;
        let allowed = !matches!((write, mapping.access), (true, Access::Read) | (false, Access::Write));
        // SAFETY: the offset is inside of the memory that was mapped.
        (inside && allowed).then(|| unsafe { mapping.memory.add(offset as usize) })
    }
}

/// Calls that wait for their reply, by the number of their message.
#[derive(Default)]
struct Calls {
    waiting: HashMap<u16, Option<Message>>,
    /// Why there is no connection any more.
    gone: Option<String>,
}

struct Sending {
    next_id: u16,
    posted: u32,
}

struct Shared {
    name: String,
    stream: UnixStream,
    sending: Mutex<Sending>,
    calls: Mutex<Calls>,
    answered: Condvar,
    memory: Mutex<Memory>,
    events: Mutex<Vec<Arc<OwnedFd>>>,
}

impl Shared {
    fn gone(&self, why: impl Into<String>) -> BusError {
        BusError::Gone(format!("{}: {}", self.name, why.into()))
    }

    fn check(&self) -> Result<()> {
        match &self.calls.lock().gone {
            Some(why) => Err(self.gone(why.as_str())),
            None => Ok(()),
        }
    }

    /// The connection has ended: all waiting calls end.
    fn end(&self, why: String) {
        self.calls.lock().gone.get_or_insert(why);
        self.answered.notify_all();
        for event in self.events.lock().iter() {
            event::signal(event);
        }
    }

    /// Send a request; with `reply`, a call will wait for the answer under the number returned.
    fn send(&self, request: &Request, descriptors: &[BorrowedFd<'_>], reply: bool) -> Result<u16> {
        let payload = request.payload();
        let mut sending = self.sending.lock();
        sending.next_id = sending.next_id.wrapping_add(1);
        let id = sending.next_id;
        let mut header = Header::command(id, request.command(), payload.len());
        if reply {
            let mut calls = self.calls.lock();
            if let Some(why) = &calls.gone {
                return Err(self.gone(why.as_str()));
            }
            calls.waiting.insert(id, None);
            sending.posted = 0;
        } else {
            header.flags |= FLAG_NO_REPLY;
            sending.posted += 1;
        }
        wire::send(&self.stream, header, &payload, &[], descriptors).map_err(|error| {
            self.calls.lock().waiting.remove(&id);
            self.gone(error.to_string())
        })?;
        Ok(id)
    }

    /// Send a request and wait for its reply.
    fn call(&self, request: &Request, descriptors: &[BorrowedFd<'_>]) -> Result<Message> {
        let id = self.send(request, descriptors, true)?;
        let mut calls = self.calls.lock();
        let until = Instant::now() + PATIENCE;
        let message = loop {
            match calls.waiting.get(&id) {
                Some(Some(_)) => break calls.waiting.remove(&id).flatten(),
                _ if calls.gone.is_some() => break None,
                _ => (),
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                calls.gone.get_or_insert(format!("the server has not answered for {PATIENCE:?}"));
                break None;
            }
            self.answered.wait_for(&mut calls, left);
        };
        let Some(message) = message else { return Err(self.gone(calls.gone.clone().unwrap_or_default())) };
        drop(calls);
        match message.header.error() {
            None => Ok(message),
            Some(errno) => Err(self.refused(request, errno)),
        }
    }

    /// The server's error, as the bus's.
    fn refused(&self, request: &Request, errno: i32) -> BusError {
        let (what, error) = (request.command(), io::Error::from_raw_os_error(errno));
        match errno {
            errno::ENODEV => self.gone("the link to the card is down"),
            errno::EIO => BusError::Stopped(format!("{}: {what:?}: {error}; its process says why", self.name)),
            errno::EINVAL => BusError::Invalid(format!("{}: {what:?}: {error}", self.name)),
            _ => BusError::System(format!("{}: {what:?}", self.name), error),
        }
    }

    fn nonsense(&self, refusal: Refusal) -> BusError {
        self.gone(format!("the server's reply makes no sense: {}", refusal.why))
    }

    /// The thread: until the connection ends, with the reason.
    fn read(&self) -> io::Result<std::convert::Infallible> {
        let mut inbox = Inbox::default();
        loop {
            let Some(message) = inbox.next(&self.stream, true)? else { continue };
            if message.header.is_reply() {
                match self.calls.lock().waiting.get_mut(&message.header.id) {
                    Some(place @ None) => *place = Some(message),
                    _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the server answers what was not asked")),
                }
                self.answered.notify_all();
                continue;
            }
            let header = message.header;
            let (reply, payload) = match self.access(&message) {
                Ok(payload) => (header.reply(payload.len()), payload),
                Err(refusal) => {
                    log::debug!("{}: the server's request was refused: {}", self.name, refusal.why);
                    (header.refusal(refusal.errno), Vec::new())
                }
            };
            if header.wants_reply() {
                let _one = self.sending.lock();
                wire::send(&self.stream, reply, &payload, &[], &[])?;
            }
        }
    }

    /// The server's access of our memory: the reply's payload.
    fn access(&self, message: &Message) -> std::result::Result<Vec<u8>, Refusal> {
        let write = match Command::of(message.header.command) {
            Some(Command::DmaWrite) => true,
            Some(Command::DmaRead) => false,
            _ => return Err(Refusal::new(errno::ENOSYS, format!("unknown command {}", message.header.command))),
        };
        let (access, data) = DmaAccess::parse(&message.payload, write)?;
        let memory = self.memory.lock();
        let place = memory.find(access, write).ok_or_else(|| {
            Refusal::new(errno::EFAULT, format!("{} bytes at {:#x} are not mapped for this", access.bytes, access.address))
        })?;
        let mut payload = access.to_bytes().to_vec();
        if write {
            // SAFETY: `find` has checked that the memory is mapped for all these bytes, and it stays so while the table is locked.
            unsafe { towpath_system::land(place, data) };
        } else {
            payload.resize(DmaAccess::BYTES + access.bytes as usize, 0);
            // SAFETY: as above; the payload was just made long enough.
            unsafe { std::ptr::copy_nonoverlapping(place, payload[DmaAccess::BYTES..].as_mut_ptr(), access.bytes as usize) };
        }
        Ok(payload)
    }
}

/// A card in another process.
pub struct Client {
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
    bars: [u64; BARS],
    vectors: u32,
    server: Capabilities,
    opened: Instant,
}

impl Client {
    /// Connect to the server that listens at `path`, and enable its card's memory accesses and bus mastering. `name` is its name in
    /// messages.
    pub fn connect(name: &str, path: &Path) -> Result<Client> {
        let stream =
            UnixStream::connect(path).map_err(|why| BusError::System(format!("{name}: no server answers at {}", path.display()), why))?;
        let shared = Arc::new(Shared {
            name: name.into(),
            stream,
            sending: Mutex::new(Sending { next_id: 0, posted: 0 }),
            calls: Mutex::default(),
            answered: Condvar::new(),
            memory: Mutex::new(Memory { mapped: BTreeMap::new(), next: ADDRESSES.start }),
            events: Mutex::default(),
        });
        let reader = {
            let shared = shared.clone();
            let body = move || {
                let Err(why) = shared.read();
                shared.end(match why.kind() {
                    io::ErrorKind::UnexpectedEof => "the server has closed the connection".into(),
                    _ => why.to_string(),
                });
                // A server that breaks the protocol must not wait for this client.
                let _ = shared.stream.shutdown(std::net::Shutdown::Both);
            };
            let thread = std::thread::Builder::new().name("towpath-vfio-user".into()).spawn(body);
            thread.map_err(|why| BusError::System(format!("{name}: no thread for its connection"), why))?
        };
        let server = Capabilities::OURS;
        let mut client = Client { shared, reader: Some(reader), bars: [0; BARS], vectors: 0, server, opened: Instant::now() };
        client.begin()?;
        Ok(client)
    }

    /// Agree on a version, and request the device's information.
    fn begin(&mut self) -> Result<()> {
        let shared = &self.shared;
        let hello = Request::Version { major: VERSION.0, minor: VERSION.1, capabilities: Capabilities::OURS };
        let reply = match shared.call(&hello, &[]) {
            Err(BusError::System(what, why)) if why.raw_os_error() == Some(errno::EBUSY) => {
                let why = io::Error::new(io::ErrorKind::ResourceBusy, "another program uses the card; it serves one at a time");
                return Err(BusError::System(what, why));
            }
            other => other?,
        };
        match Request::parse(reply.header.command, &reply.payload, 0).map_err(|refusal| shared.nonsense(refusal))? {
            Request::Version { major, capabilities, .. } if major == VERSION.0 => self.server = capabilities,
            other => return Err(shared.gone(format!("the server speaks another version: {other:?}, not {VERSION:?}"))),
        }
        let info = shared.call(&Request::DeviceInfo, &[])?;
        let [flags, regions, irqs] = parse_four_words(&info.payload).map_err(|refusal| shared.nonsense(refusal))?;
        if flags & DEVICE_PCI == 0 || regions <= REGION_CONFIG || irqs <= IRQ_MSIX {
            return Err(shared.gone("the server's device is not one of PCI"));
        }
        for index in 0..BARS {
            let reply = shared.call(&Request::RegionInfo { index: index as u32, room: 32 }, &[])?;
            self.bars[index] = RegionInfo::parse(&reply.payload).map_err(|refusal| shared.nonsense(refusal))?.bytes;
        }
        let reply = shared.call(&Request::IrqInfo { index: IRQ_MSIX }, &[])?;
        self.vectors = parse_four_words(&reply.payload).map_err(|refusal| shared.nonsense(refusal))?[2];
        let command = self.read(REGION_CONFIG, COMMAND, 2)?;
        let command = u16::from_le_bytes([command[0], command[1]]) | COMMAND_MEMORY_AND_MASTER;
        self.call_write(REGION_CONFIG, COMMAND, command.to_le_bytes().to_vec())
    }

    fn read(&self, region: u32, offset: u64, bytes: u32) -> Result<Vec<u8>> {
        let reply = self.shared.call(&Request::RegionRead { region, offset, bytes }, &[])?;
        match reply.payload.split_at_checked(16) {
            Some((front, data)) if front == message::access(region, offset, bytes) && data.len() == bytes as usize => Ok(data.to_vec()),
            _ => Err(self.shared.gone("the server's reply to a read is another one's")),
        }
    }

    fn call_write(&self, region: u32, offset: u64, data: Vec<u8>) -> Result<()> {
        self.shared.call(&Request::RegionWrite { region, offset, data }, &[]).map(drop)
    }

    /// A posted write; now and then one waits for its reply.
    fn write(&self, bar: u8, offset: u64, data: &[u8]) -> Result<()> {
        self.inside(bar, offset, data.len(), 1)?;
        self.shared.check()?;
        let request = Request::RegionWrite { region: bar.into(), offset, data: data.to_vec() };
        if self.shared.sending.lock().posted < POSTED {
            return self.shared.send(&request, &[], false).map(drop);
        }
        self.shared.call(&request, &[]).map(drop)
    }

    fn inside(&self, bar: u8, offset: u64, bytes: usize, aligned: u64) -> Result<()> {
        let size = self.bar_bytes(bar);
        if size == 0 {
            return Err(BusError::Invalid(format!("{} has no BAR {bar}", self.shared.name)));
        }
        if offset % aligned != 0 || offset.checked_add(bytes as u64).is_none_or(|end| end > size) {
            return Err(BusError::Invalid(format!("{bytes} bytes at offset {offset:#x} of BAR {bar}, which has {size} bytes")));
        }
        Ok(())
    }

    fn event(&self, vector: u16) -> Result<Arc<OwnedFd>> {
        let found = self.shared.events.lock().get(usize::from(vector)).cloned();
        found.ok_or_else(|| BusError::Invalid(format!("{} has no vector {vector}, or it is not enabled", self.shared.name)))
    }
}

/// The pages in which memory lies, as the card sees them: first byte and length.
fn pages(address: u64, bytes: usize) -> (u64, u64) {
    let start = address & !(PAGE - 1);
    (start, (address + bytes as u64).next_multiple_of(PAGE) - start)
}

impl Bus for Client {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn bar_bytes(&self, bar: u8) -> u64 {
        self.bars.get(usize::from(bar)).copied().unwrap_or(0)
    }

    fn read32(&self, bar: u8, offset: u64) -> Result<u32> {
        self.inside(bar, offset, 4, 4)?;
        let bytes = self.read(bar.into(), offset, 4)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        self.inside(bar, offset, 8, 8)?;
        let bytes = self.read(bar.into(), offset, 8)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()> {
        self.inside(bar, offset, 4, 4)?;
        self.write(bar, offset, &value.to_le_bytes())
    }

    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()> {
        self.inside(bar, offset, 8, 8)?;
        self.write(bar, offset, &value.to_le_bytes())
    }

    fn write_combining(&self, bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        // A message arrives whole and in order, so there is nothing for a fence to do.
        bytes
            .chunks(self.server.data)
            .enumerate()
            .try_for_each(|(index, chunk)| self.write(bar, offset + (index * self.server.data) as u64, chunk))
    }

    fn fence(&self) -> Result<()> {
        self.shared.check()
    }

    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64> {
        if memory.is_null() || bytes == 0 {
            return Err(BusError::Invalid("memory of no bytes cannot be mapped".into()));
        }
        let address = {
            let mut table = self.shared.memory.lock();
            let address = table.next + (memory as u64 & (PAGE - 1));
            let end = address.checked_add(bytes as u64).and_then(|end| end.checked_add(2 * PAGE - 1)).map(|end| end & !(PAGE - 1));
            let Some(end) = end.filter(|end| *end <= ADDRESSES.end) else {
                return Err(BusError::Invalid(format!("the card's address space has no room for {bytes} more bytes")));
            };
            table.next = end;
            table.mapped.insert(address, Mapping { memory, bytes, access });
            address
        };
        let (start, length) = pages(address, bytes);
        let (readable, writable) = (access != Access::Write, access != Access::Read);
        let request = Request::DmaMap { readable, writable, offset: 0, address: start, bytes: length };
        self.shared.call(&request, &[]).inspect_err(|_| {
            self.shared.memory.lock().mapped.remove(&address);
        })?;
        Ok(address)
    }

    fn map_device(&self, _memory: &Arc<dyn DeviceMemory>, _access: Access) -> Result<u64> {
        Err(BusError::Unsupported("a card in another process has no way to a GPU's memory of this one".into()))
    }

    fn unmap(&self, address: u64, bytes: usize) -> Result<()> {
        let found = self.shared.memory.lock().mapped.get(&address).is_some_and(|mapping| mapping.bytes == bytes);
        if !found {
            return Err(BusError::Invalid(format!("there is no mapping of {bytes} bytes at {address:#x}")));
        }
        let (start, length) = pages(address, bytes);
        let told = self.shared.call(&Request::DmaUnmap { address: start, bytes: length, all: false }, &[]);
        // Whatever the server sends, it does not reach this memory any more, because it comes here to read and write it.
        self.shared.memory.lock().mapped.remove(&address);
        match told {
            Ok(_) | Err(BusError::Gone(_)) => {}
            Err(error) => log::warn!("{}: the server does not forget {bytes} bytes at {address:#x}: {error}", self.shared.name),
        }
        Ok(())
    }

    fn enable_vectors(&self, count: u16) -> Result<u16> {
        let there = self.vectors.min(u32::from(u16::MAX)) as u16;
        if there == 0 {
            return Err(BusError::Invalid(format!("{} has no interrupt vectors", self.shared.name)));
        }
        let count = count.clamp(1, there);
        let made: io::Result<Vec<_>> = (0..count).map(|_| event::new().map(Arc::new)).collect();
        let made = made.map_err(|why| BusError::System("cannot make an eventfd".into(), why))?;
        let most = self.server.descriptors.max(1);
        for (batch, events) in made.chunks(most).enumerate() {
            let descriptors: Vec<_> = events.iter().map(|event| event.as_fd()).collect();
            let (start, count) = ((batch * most) as u32, events.len() as u32);
            self.shared.call(&Request::SetIrqs { index: IRQ_MSIX, start, count, trigger: Trigger::Events }, &descriptors)?;
        }
        *self.shared.events.lock() = made;
        Ok(count)
    }

    fn wait(&self, vector: u16, nanoseconds: u64) -> Result<Wake> {
        let event = self.event(vector)?;
        self.shared.check()?;
        let wake = event::wait(&event, nanoseconds).map_err(|why| BusError::System("waiting for an interrupt".into(), why))?;
        self.shared.check()?; // the end of the connection signals, too
        Ok(wake)
    }

    fn event_fd(&self, vector: u16) -> Result<OwnedFd> {
        self.event(vector)?.try_clone().map_err(|why| BusError::System("duplicating an eventfd".into(), why))
    }

    fn poll(&self) -> Result<()> {
        std::thread::yield_now();
        self.shared.check()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn reset(&self) -> Result<()> {
        self.shared.call(&Request::Reset, &[]).map(drop)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.shared.stream.shutdown(std::net::Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
