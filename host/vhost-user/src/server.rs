// SPDX-License-Identifier: Apache-2.0
//! The server: serves one guest after the other, and drives a [`Device`] meanwhile. One thread does all of it.
//!
//! Each kick is a message that expects an answer, and gets it when its accesses are done: until then the guest's processor waits, so
//! nothing that it does can be lost or overtaken, and a slow card is slow without any time limit of the guest's. The guest gets no other
//! notification of used accesses: it finds them when it makes the next one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use towpath_device_server::wire::{self, Inbox, Message};
use towpath_device_server::{Device, Door, Errno, HostMemory, Pace, Stop};
use towpath_system::{errno, event};

use crate::back::Back;
use crate::memory::Memory;
use crate::message::{Header, Refusal, Request, FEATURES, PROTOCOL_FEATURES};
use crate::pcidev::{self, INTERRUPT_BYTES};
use crate::ring::{scatter, total, Queue};

/// The ring of the guest's accesses, and that of the card's interrupts.
const ACCESSES: usize = 0;
const INTERRUPTS: usize = 1;
/// How long until a full channel back is tried again.
const RETRY: Duration = Duration::from_millis(1);

/// A socket with a device behind it.
pub struct Server {
    door: Door,
    memory: Memory,
}

impl Server {
    /// Listen at a path, which must be free, or left over from a server that has died. A guest may connect from now on, and is served once
    /// [`Server::serve`] runs.
    pub fn bind(path: &Path) -> io::Result<Server> {
        // The protocol has no reply for "busy": a client that connects at the wrong time finds the connection closed.
        Ok(Server { door: Door::open(path, |_| ())?, memory: Memory::default() })
    }

    /// The guest's memory, for the device: the same for all clients, and empty between them.
    pub fn memory(&self) -> Memory {
        self.memory.clone()
    }

    /// A handle that ends [`Server::serve`].
    pub fn stop(&self) -> Stop {
        self.door.stop()
    }

    /// Serve guests, one after the other, until stopped. An error: the device could not be reset, and serves no guest any more.
    pub fn serve(&self, device: &mut dyn Device) -> io::Result<()> {
        let converse = |device: &mut dyn Device, stream| Session::new(stream, &self.memory).converse(device);
        towpath_device_server::serve(&self.door, device, converse, || self.memory.clear())
    }
}

/// What one client has set up.
struct Session<'a> {
    stream: UnixStream,
    inbox: Inbox<Header>,
    memory: &'a Memory,
    negotiated: bool,
    queues: [Queue; 2],
    back: Option<Back>,
}

/// The answer to a request.
enum Reply {
    /// Only if the sender requests a status.
    Done,
    Value(u64),
    Words(u32, u32),
}

impl<'a> Session<'a> {
    fn new(stream: UnixStream, memory: &'a Memory) -> Session<'a> {
        Session { stream, inbox: Inbox::default(), memory, negotiated: false, queues: Default::default(), back: None }
    }

    /// Handle all requests of the client; returns the reason for its end.
    fn converse(&mut self, device: &mut dyn Device) -> io::Result<()> {
        device.leave_table().map_err(|Errno(number)| io::Error::from_raw_os_error(number))?;
        loop {
            let pace = match self.inbox.next(&self.stream, false)? {
                Some(message) => {
                    self.answer(device, message)?;
                    Pace::Now
                }
                None => device.run(),
            };
            let time = match (pace, self.deliver(device)?) {
                (Pace::Now, _) => continue,
                (Pace::Later(time), false) => Some(time.min(RETRY)),
                (Pace::Later(time), true) => Some(time),
                (Pace::Idle, false) => Some(RETRY),
                (Pace::Idle, true) => None,
            };
            event::wait_readable(self.stream.as_fd(), time)?;
        }
    }

    fn answer(&mut self, device: &mut dyn Device, message: Message<Header>) -> io::Result<()> {
        let Message { header, payload, descriptors, overfull } = message;
        let request = match overfull {
            true => Err(Refusal::invalid("too many descriptors in one message")),
            false => Request::parse(header.request, &payload, descriptors.len()),
        };
        let outcome = match request {
            // An invalid ring ends the connection, not the request alone.
            Ok(Request::Kick(ring)) => self.kick(device, ring)?,
            Ok(Request::RingEnable(ring, on)) => match self.enable(ring, on) {
                Ok(()) => self.kick(device, ring)?,
                Err(refusal) => Err(refusal),
            },
            Ok(request) => self.obey(request, descriptors),
            Err(refusal) => Err(refusal),
        };
        let (front, back) = match outcome {
            Ok(Reply::Value(value)) => (value as u32, (value >> 32) as u32),
            Ok(Reply::Words(front, back)) => (front, back),
            Ok(Reply::Done) if header.wants_reply() => (0, 0),
            Ok(Reply::Done) => return Ok(()),
            Err(refusal) if header.wants_reply() => {
                log::warn!("request {} was refused: {}", header.request, refusal.why);
                (refusal.errno.unsigned_abs(), 0)
            }
            // The client would go on as if the request had been accepted.
            Err(refusal) => return Err(io::Error::new(io::ErrorKind::InvalidData, refusal.why)),
        };
        let payload = [front.to_le_bytes(), back.to_le_bytes()].concat();
        wire::send(&self.stream, &[&header.reply(payload.len()).to_bytes(), &payload], &[])
    }

    fn queue(&mut self, ring: u32) -> Result<&mut Queue, Refusal> {
        self.queues.get_mut(ring as usize).ok_or_else(|| Refusal::invalid(format!("there is no ring {ring}")))
    }

    fn obey(&mut self, request: Request, mut descriptors: Vec<OwnedFd>) -> Result<Reply, Refusal> {
        match request {
            Request::GetFeatures => return Ok(Reply::Value(FEATURES)),
            Request::GetProtocolFeatures => return Ok(Reply::Value(PROTOCOL_FEATURES)),
            Request::GetRingBase(ring) => return Ok(Reply::Words(ring, self.queue(ring)?.disable().into())),
            Request::SetFeatures(features) if features & !FEATURES != 0 => {
                return Err(Refusal::new(errno::ENOTSUP, format!("features {features:#x}, of which {FEATURES:#x} are offered")))
            }
            Request::SetProtocolFeatures(features) if features != PROTOCOL_FEATURES => {
                return Err(Refusal::new(
                    errno::ENOTSUP,
                    format!("protocol features {features:#x}; all of {PROTOCOL_FEATURES:#x} are needed"),
                ))
            }
            Request::SetProtocolFeatures(_) => self.negotiated = true,
            Request::SetMemory(entries) => self.memory.replace(entries, descriptors)?,
            Request::SetBackChannel => self.back = descriptors.pop().map(Back::new).transpose()?,
            Request::RingSize(ring, size) => self.queue(ring)?.set_size(size)?,
            Request::RingAddresses(ring, addresses) => self.queue(ring)?.set_addresses(addresses)?,
            Request::RingBase(ring, base) => self.queue(ring)?.set_base(base)?,
            Request::ResetOwner => self.queues = Default::default(),
            Request::SetFeatures(_) | Request::SetOwner | Request::RingWithout => (),
            Request::RingEnable(..) | Request::Kick(_) => (), // not here: see `answer`
        }
        Ok(Reply::Done)
    }

    fn enable(&mut self, ring: u32, on: bool) -> Result<(), Refusal> {
        let (ready, memory) = (self.negotiated && self.back.is_some(), self.memory);
        let queue = self.queue(ring)?;
        match on {
            true if ready => queue.enable(memory),
            true => Err(Refusal::invalid("a ring is enabled before the protocol features, or without a channel back")),
            false => {
                queue.disable();
                Ok(())
            }
        }
    }

    /// A ring has something new. The accesses that are there now are done; an interrupt that came before the answer to a read is delivered
    /// before it.
    fn kick(&mut self, device: &mut dyn Device, ring: u32) -> io::Result<Result<Reply, Refusal>> {
        if let Err(refusal) = self.queue(ring) {
            return Ok(Err(refusal));
        }
        if ring as usize == ACCESSES {
            for _ in 0..self.queues[ACCESSES].waiting(self.memory)? {
                let chain = self.queues[ACCESSES].take(self.memory)?;
                let written = pcidev::obey(device, self.memory, &chain, &self.stream)?;
                self.queues[ACCESSES].finish(self.memory, &chain, written)?;
            }
        }
        self.deliver(device)?;
        Ok(Ok(Reply::Done))
    }

    /// Deliver interrupts, as far as the guest has buffers for them. False: the guest is yet to be notified of some, when there is room for
    /// it.
    fn deliver(&mut self, device: &mut dyn Device) -> io::Result<bool> {
        let (queue, memory) = (&mut self.queues[INTERRUPTS], self.memory);
        let mut told = false;
        while queue.waiting(memory)? > 0 {
            let chain = queue.take(memory)?;
            let reachable = chain.writable.iter().all(|piece| memory.permits(piece.address, piece.bytes.into(), true));
            if total(&chain.writable) < INTERRUPT_BYTES || !reachable {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("an interrupt does not fit into {:x?}", chain.writable)));
            }
            let Some(interrupt) = device.interrupt() else { break };
            scatter(memory, &chain.writable, 0, &pcidev::interrupt(interrupt));
            queue.finish(memory, &chain, INTERRUPT_BYTES as u32)?;
            told = true;
        }
        let Some(back) = &mut self.back else { return Ok(true) };
        if told && queue.wants_call(memory)? {
            back.call(INTERRUPTS as u32);
        }
        back.flush()
    }
}
