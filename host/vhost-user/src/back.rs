// SPDX-License-Identifier: Apache-2.0
//! The channel back to the peer, a pipe or a socket. The server never waits for it: a peer that waits for an answer from here may not empty
//! it. A call that finds no room is deferred, and deferred calls are merged into one.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use towpath_system::{errno, file};

use crate::message::{Header, Refusal, BACK_CALL};

pub struct Back {
    file: File,
    /// The rest of the message that is on its way.
    unsent: Vec<u8>,
    /// The ring of which the peer is to be notified.
    owed: Option<u32>,
}

impl Back {
    /// From a descriptor of the peer's.
    pub fn new(descriptor: OwnedFd) -> Result<Back, Refusal> {
        if !file::is_stream(&descriptor) {
            return Err(Refusal::invalid("the channel back is neither a pipe nor a socket"));
        }
        file::set_nonblocking(&descriptor).map_err(|error| Refusal::new(error.raw_os_error().unwrap_or(errno::EIO), "the channel back"))?;
        Ok(Back { file: descriptor.into(), unsent: Vec::new(), owed: None })
    }

    /// Notify the peer to look at a ring; there is only one such ring.
    pub fn call(&mut self, ring: u32) {
        self.owed = Some(ring);
    }

    /// Write what is deferred, as far as there is room. False: something is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        loop {
            if self.unsent.is_empty() {
                let Some(ring) = self.owed.take() else { return Ok(true) };
                self.unsent.extend(Header::request(BACK_CALL, 8).to_bytes());
                self.unsent.extend(u64::from(ring).to_le_bytes());
            }
            match self.file.write(&self.unsent) {
                Ok(0) => return Err(io::ErrorKind::BrokenPipe.into()),
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}
