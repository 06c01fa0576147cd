// SPDX-License-Identifier: Apache-2.0
//! Messages on a UNIX stream: framed by the size in their header, with the descriptors that came along.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::message::{Header, HEADER_BYTES, MAX_DESCRIPTORS};
use crate::sys;

/// A payload's buffer grows by no more than this before the bytes are there.
const STEP: usize = 64 << 10;

/// A message as it came.
#[derive(Debug)]
pub struct Message {
    pub header: Header,
    pub payload: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
    /// More descriptors came than a message may have; some are lost.
    pub overfull: bool,
}

/// The next message of a stream, as far as it has come.
#[derive(Default)]
pub struct Inbox {
    head: [u8; HEADER_BYTES],
    have: usize,
    header: Option<Header>,
    payload: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    overfull: bool,
}

impl Inbox {
    /// The next message. None: it is not there yet (never with `block`). An error is the end of the connection: the peer is gone, or what it
    /// sends makes no sense.
    ///
    /// No byte of a later message is read before it is complete, so descriptors belong to the message in which they come.
    pub fn next(&mut self, stream: &UnixStream, block: bool) -> io::Result<Option<Message>> {
        loop {
            let header = match self.header {
                Some(header) if self.have == header.payload_bytes() => return Ok(self.take(header)),
                header => header,
            };
            let room = match header {
                None => &mut self.head[self.have..],
                Some(header) => {
                    let end = header.payload_bytes().min(self.have + STEP);
                    self.payload.resize(end, 0);
                    &mut self.payload[self.have..]
                }
            };
            let (bytes, overfull) = match sys::receive(stream, room, block, &mut self.descriptors) {
                Ok((0, _)) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the peer has closed the connection")),
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.have += bytes;
            self.overfull |= overfull || self.descriptors.len() > MAX_DESCRIPTORS;
            self.descriptors.truncate(MAX_DESCRIPTORS);
            match header {
                None if self.have == HEADER_BYTES => {
                    let header = Header::parse(&self.head).map_err(|refusal| io::Error::new(io::ErrorKind::InvalidData, refusal.why))?;
                    (self.header, self.have) = (Some(header), 0);
                }
                _ => (),
            }
        }
    }

    fn take(&mut self, header: Header) -> Option<Message> {
        let Inbox { payload, descriptors, overfull, .. } = std::mem::take(self);
        Some(Message { header, payload, descriptors, overfull })
    }
}

/// Send a message whose payload is in two parts.
pub fn send(stream: &UnixStream, header: Header, front: &[u8], data: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    debug_assert_eq!(header.payload_bytes(), front.len() + data.len());
    // One call for what is short, as nearly all messages are; what is long is copied once.
    let bytes = [&header.to_bytes()[..], front, data].concat();
    let mut sent = 0;
    while sent < bytes.len() {
        match sys::send(stream, &bytes[sent..], if sent == 0 { descriptors } else { &[] }) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
