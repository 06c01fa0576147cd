// SPDX-License-Identifier: Apache-2.0
//! Descriptors across a UNIX stream, and a stream's end.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown,
};

use crate::event;

/// Descriptors in one message, at most.
pub const MAX_DESCRIPTORS: usize = 16;

/// Bytes for the descriptors of one message, with what the kernel puts around them.
const ROOM: usize = rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS));

/// Send bytes, and descriptors with the first of them; returns how many bytes went.
pub fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut room = [MaybeUninit::uninit(); ROOM];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    if descriptors.len() > MAX_DESCRIPTORS || (!descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors))) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("more than {MAX_DESCRIPTORS} descriptors in one message")));
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?)
}

/// Receive bytes, and the descriptors that came with them. No bytes: the peer is gone. True: more descriptors came than are allowed, and the
/// those beyond are closed.
pub fn receive(stream: &UnixStream, into: &mut [u8], block: bool, descriptors: &mut Vec<OwnedFd>) -> io::Result<(usize, bool)> {
    let mut room = [MaybeUninit::uninit(); ROOM];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    let mut flags = RecvFlags::CMSG_CLOEXEC;
    flags.set(RecvFlags::DONTWAIT, !block);
    let received = recvmsg(stream, &mut [IoSliceMut::new(into)], &mut ancillary, flags)?;
    let mut arrived = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            arrived.extend(rights);
        }
    }
    // The buffer is aligned, and may have room for one more.
    let overfull = received.flags.contains(ReturnFlags::CTRUNC) || arrived.len() > MAX_DESCRIPTORS;
    arrived.truncate(MAX_DESCRIPTORS);
    descriptors.append(&mut arrived);
    Ok((received.bytes, overfull))
}

/// Has the peer of a stream gone?
pub fn hung_up(stream: &UnixStream) -> bool {
    let gone = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
    event::poll(stream.as_fd(), libc::POLLRDHUP, Some(Duration::ZERO)).unwrap_or(libc::POLLERR) & gone != 0
}

/// Every `accept` of this listener returns an error, now and later.
pub fn stop_listening(listener: &UnixListener) {
    let _ = rustix::net::shutdown(listener, Shutdown::Both);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn descriptors_come_with_the_first_byte_and_no_more_than_allowed() {
        let (here, there) = UnixStream::pair().unwrap();
        let events: Vec<OwnedFd> = (0..MAX_DESCRIPTORS).map(|_| event::new().unwrap()).collect();
        let borrowed: Vec<_> = events.iter().map(AsFd::as_fd).collect();
        assert_eq!(send(&here, b"all", &borrowed).unwrap(), 3);
        let (mut bytes, mut came) = ([0; 8], Vec::new());
        assert_eq!(receive(&there, &mut bytes[..1], true, &mut came).unwrap(), (1, false));
        assert_eq!((bytes[0], came.len()), (b'a', MAX_DESCRIPTORS));
        assert_eq!(receive(&there, &mut bytes, true, &mut came).unwrap(), (2, false));
        assert_eq!(came.len(), MAX_DESCRIPTORS);
        event::signal(&came[7]);
        assert!(event::clear(&events[7]) && !event::clear(&events[6]));
        let more: Vec<_> = borrowed.iter().chain(&borrowed[..1]).copied().collect();
        assert_eq!(send(&here, b"x", &more).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(!hung_up(&there));
        drop(here);
        assert!(hung_up(&there));
        assert_eq!(receive(&there, &mut bytes, false, &mut came).unwrap(), (0, false));
    }
}
