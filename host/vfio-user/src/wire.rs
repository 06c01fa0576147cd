// SPDX-License-Identifier: Apache-2.0
//! This protocol's messages on a stream.

use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use towpath_device_server::wire::{self, Frame};
use towpath_system::errno;

use crate::message::{Header, HEADER_BYTES};

/// How long a refused client may take to send its first message.
const MANNERS: Duration = Duration::from_millis(500);

pub type Inbox = wire::Inbox<Header>;
pub type Message = wire::Message<Header>;

impl Frame for Header {
    const BYTES: usize = HEADER_BYTES;

    fn parse(bytes: &[u8]) -> Result<Header, String> {
        let bytes = bytes.try_into().map_err(|_| String::from("a header of another size"))?;
        Header::parse(bytes).map_err(|refusal| refusal.why)
    }

    fn payload_bytes(&self) -> usize {
        Header::payload_bytes(self)
    }
}

/// Send a message whose payload is in two parts.
pub fn send(stream: &UnixStream, header: Header, front: &[u8], data: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    debug_assert_eq!(header.payload_bytes(), front.len() + data.len());
    wire::send(stream, &[&header.to_bytes(), front, data], descriptors)
}

/// Answer the first message, whatever it is, with "device or resource busy".
pub fn refuse(mut stream: &UnixStream) {
    let mut head = [0; HEADER_BYTES];
    let heard = stream.set_read_timeout(Some(MANNERS)).and_then(|()| stream.set_write_timeout(Some(MANNERS)));
    if heard.and_then(|()| stream.read_exact(&mut head)).is_ok() {
        // What is left unread would reach the peer as an error, perhaps before our answer.
        let _ = stream.set_nonblocking(true).and_then(|()| stream.read(&mut [0; 4096]));
        if let Ok(header) = Header::parse(&head) {
            let _ = send(stream, header.refusal(errno::EBUSY), &[], &[], &[]);
        }
    }
}
