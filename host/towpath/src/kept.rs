// SPDX-License-Identifier: Apache-2.0
//! Bytes of a message that a channel returns before what the card has.

use crate::Received;

/// The beginning of a message whose `recv` failed midway, or what was put back; the next call returns it first.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    /// So many of the bytes have been returned. They stay until all have: moving the rest for each part of it takes time by its square.
    taken: usize,
    /// The message ends behind the bytes.
    pub end: bool,
    pub offset: u32,
    pub user: u32,
}

impl Kept {
    pub fn new(bytes: Vec<u8>, end: bool, offset: u32, user: u32) -> Kept {
        Kept { bytes, taken: 0, end, offset, user }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    pub fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.drain(..self.taken);
        self.bytes
    }

    /// The first `count` bytes have been returned.
    pub fn take(&mut self, count: usize) {
        self.taken += count;
        if self.is_empty() {
            (self.bytes, self.taken) = (Vec::new(), 0);
        }
    }

    /// Bytes that come behind those that are kept.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that come before those that are kept, and what a call told of them.
    pub fn put_back(&mut self, bytes: &[u8], received: Option<Received>) {
        self.tell(received);
        match self.taken.checked_sub(bytes.len()) {
            Some(first) => {
                self.bytes[first..self.taken].copy_from_slice(bytes);
                self.taken = first;
            }
            None => {
                self.bytes.splice(..self.taken, bytes.iter().copied());
                self.taken = 0;
            }
        }
    }

    /// As [`Kept::put_back`]. Takes no memory if nothing else is kept: for lack of it messages are put back.
    pub fn put_back_owned(&mut self, bytes: Vec<u8>, received: Option<Received>) {
        if self.is_empty() {
            self.tell(received);
            (self.bytes, self.taken) = (bytes, 0);
        } else {
            self.put_back(&bytes, received);
        }
    }

    fn tell(&mut self, received: Option<Received>) {
        if let Some(received) = received {
            self.end |= received.end_of_message && self.is_empty();
            (self.offset, self.user) = (received.offset, received.user);
        }
    }
}
