// SPDX-License-Identifier: Apache-2.0
//! Messages on a UNIX stream: framed by the size in their header, with the descriptors that came with them.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use towpath_system::errno;
use towpath_system::socket::{self, MAX_DESCRIPTORS};

/// A payload's buffer grows by no more than this before the bytes are there.
const STEP: usize = 64 << 10;
/// The longest header of any protocol.
const HEAD: usize = 16;

/// What stands before every payload, in one protocol.
pub trait Frame: Copy {
    /// Bytes of it, 16 at most.
    const BYTES: usize;

    /// From its bytes, as many as there are. The error, as text: no message begins like this, or it is too long.
    fn parse(bytes: &[u8]) -> Result<Self, String>;

    /// Bytes that follow it.
    fn payload_bytes(&self) -> usize;
}

/// A message that is rejected: the error for the reply, and the reason, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error's number, as in errno(3).
    pub errno: i32,
    /// What is wrong.
    pub why: String,
}

impl Refusal {
    /// A refusal with its reason.
    pub fn new(errno: i32, why: impl Into<String>) -> Refusal {
        Refusal { errno, why: why.into() }
    }

    /// An invalid message.
    pub fn invalid(why: impl Into<String>) -> Refusal {
        Refusal::new(errno::EINVAL, why)
    }
}

/// A message as it came.
#[derive(Debug)]
pub struct Message<H> {
    /// Its header.
    pub header: H,
    /// What followed.
    pub payload: Vec<u8>,
    /// The descriptors that came with it.
    pub descriptors: Vec<OwnedFd>,
    /// More descriptors came than a message may have; some are lost.
    pub overfull: bool,
}

/// The next message of a stream, as far as it has come.
pub struct Inbox<H> {
    head: [u8; HEAD],
    have: usize,
    header: Option<H>,
    payload: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    overfull: bool,
}

impl<H> Default for Inbox<H> {
    fn default() -> Self {
        Inbox { head: [0; HEAD], have: 0, header: None, payload: Vec::new(), descriptors: Vec::new(), overfull: false }
    }
}

impl<H: Frame> Inbox<H> {
    /// The next message. None: it is not there yet (never with `block`). An error is the end of the connection: the peer is gone, or what
    /// it sends is invalid.
    ///
    /// No byte of a later message is read before it is complete, so descriptors belong to the message with which they come.
    pub fn next(&mut self, stream: &UnixStream, block: bool) -> io::Result<Option<Message<H>>> {
        loop {
            let header = match self.header {
                Some(header) if self.have == header.payload_bytes() => return Ok(self.take(header)),
                header => header,
            };
            let room = match header {
                None => &mut self.head[self.have..H::BYTES],
                Some(header) => {
                    let end = header.payload_bytes().min(self.have + STEP);
                    self.payload.resize(end, 0);
                    &mut self.payload[self.have..]
                }
            };
            let (bytes, overfull) = match socket::receive(stream, room, block, &mut self.descriptors) {
                Ok((0, _)) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the peer has closed the connection")),
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.have += bytes;
            self.overfull |= overfull || self.descriptors.len() > MAX_DESCRIPTORS;
            self.descriptors.truncate(MAX_DESCRIPTORS);
            if header.is_none() && self.have == H::BYTES {
                let header = H::parse(&self.head[..H::BYTES]).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
                (self.header, self.have) = (Some(header), 0);
            }
        }
    }

    fn take(&mut self, header: H) -> Option<Message<H>> {
        let Inbox { payload, descriptors, overfull, .. } = std::mem::take(self);
        Some(Message { header, payload, descriptors, overfull })
    }
}

/// Send a message that is in several parts, with descriptors.
pub fn send(stream: &UnixStream, parts: &[&[u8]], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    // One call for what is short, as nearly all messages are; what is long is copied once.
    let bytes = parts.concat();
    let mut sent = 0;
    while sent < bytes.len() {
        match socket::send(stream, &bytes[sent..], if sent == 0 { descriptors } else { &[] }) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
