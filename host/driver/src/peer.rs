// SPDX-License-Identifier: Apache-2.0
//! One end of a pair: a stream of one card that sends straight to one of another. For the library, which makes pairs of two ends.

use crate::{BarPart, Result, Status};
use std::fmt;
use std::io;
use std::sync::Arc;
use towpath_bus::DeviceMemory;
use towpath_contract as contract;

/// What a driver says that does not make pairs.
pub(crate) const NO_PEERS: &str =
    "pairs of cards are not served here; give the card to VFIO, or send through the host: receive from one card and send to the other";

/// The registers of a pair, control and status, as 8 bytes hold them.
const STATUS_LSB: u32 = 8 * (contract::CHANNEL_PEER_STATUS_OFFSET - contract::CHANNEL_PEER_CONTROL_OFFSET) as u32;
/// Bytes of BAR 4 behind which an inbox is: a page of data and one of entries.
pub const INBOX_WINDOW: u64 = 2 * contract::PAGE_BYTES_MIN as u64;

/// Pairings, by their keys, that have an inbox's pages to themselves.
pub const INBOX_PAIRINGS: u64 = 128;

/// Where one end of a pair is written to by the other card.
#[derive(Clone, Debug)]
pub struct PeerPlace {
    /// The part of its card's BAR.
    pub part: Arc<dyn BarPart>,
    /// The part's length.
    pub bytes: usize,
    /// Where in it the other card's writes go.
    pub offset: u64,
}

impl PeerPlace {
    /// As memory that a bus can map.
    pub fn memory(&self) -> Arc<dyn DeviceMemory> {
        Arc::new(Place(self.clone()))
    }
}

/// A program has no address for it, and copies nothing there.
#[derive(Debug)]
struct Place(PeerPlace);

impl Place {
    fn refuse() -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, "only another card writes here")
    }
}

impl DeviceMemory for Place {
    fn address(&self) -> usize {
        0
    }

    fn bytes(&self) -> usize {
        self.0.bytes
    }

    fn read(&self, _offset: usize, _into: &mut [u8]) -> io::Result<()> {
        Err(Place::refuse())
    }

    fn write(&self, _offset: usize, _from: &[u8]) -> io::Result<()> {
        Err(Place::refuse())
    }

    fn has_failed(&self) -> bool {
        self.0.part.has_lost()
    }

    fn part_of_a_bar(&self) -> Option<&Arc<dyn BarPart>> {
        Some(&self.0.part)
    }
}

/// What a card says of its end of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PeerState(u64);

impl PeerState {
    /// Of the registers, `peer_control` in the lower half.
    pub fn new(control_and_status: u64) -> PeerState {
        PeerState(control_and_status)
    }

    fn control(self, mask: u32) -> u32 {
        self.0 as u32 & mask
    }

    fn status(self, mask: u32) -> u32 {
        (self.0 >> STATUS_LSB) as u32 & mask
    }

    /// It is one end of the pair with this key, and has not been reset since.
    pub fn is_paired(self, key: u8) -> bool {
        self.control(contract::CHANNEL_PEER_CONTROL_PAIRED_MASK) != 0 && self.key() == key
    }

    /// The key of its pair, or of the last one that it was in.
    pub fn key(self) -> u8 {
        (self.control(contract::CHANNEL_PEER_CONTROL_KEY_MASK) >> contract::CHANNEL_PEER_CONTROL_KEY_LSB) as u8
    }

    /// Slots since pairing, modulo 2^16: C2H that were begun, H2C that have come whole.
    pub fn slots(self) -> u16 {
        self.status(contract::CHANNEL_PEER_STATUS_SLOTS_MASK) as u16
    }

    /// C2H: nothing is on its way; H2C: the user core has taken all that came.
    pub fn is_idle(self) -> bool {
        self.status(contract::CHANNEL_PEER_STATUS_IDLE_MASK) != 0
    }

    /// H2C: a message of the peer's has begun and not ended.
    pub fn is_open(self) -> bool {
        self.status(contract::CHANNEL_PEER_STATUS_OPEN_MASK) != 0
    }

    /// H2C: what came had no room, or no peer sends it.
    pub fn is_overrun(self) -> bool {
        self.status(contract::CHANNEL_PEER_STATUS_OVERRUN_MASK) != 0
    }

    /// H2C: it waits until the user core has taken what the host has sent.
    pub fn is_waiting(self) -> bool {
        self.status(contract::CHANNEL_PEER_STATUS_WAITING_MASK) != 0
    }

    /// C2H: what has ended the sending.
    pub fn fault(self) -> Option<Status> {
        let number = (self.status(contract::CHANNEL_PEER_STATUS_FAULT_MASK) >> contract::CHANNEL_PEER_STATUS_FAULT_LSB) as u8;
        (number != 0).then(|| Status::of_contract(number))
    }
}

impl fmt::Debug for PeerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerState({:#018x})", self.0)
    }
}

/// One end of a pair. All methods may be called from any thread.
pub trait PeerEnd: Send + Sync {
    /// Where the other card writes to in a pair with this key: of H2C the inbox, of C2H the credit.
    fn place(&self, key: u8) -> Result<PeerPlace>;
    /// Take the channel from the program, and let the card reach the other end. [`crate::Error::Unavailable`]: it cannot.
    /// [`crate::Error::Invalid`] while transfers are in flight or a message is open, [`crate::Error::Paired`] when it is taken already. From
    /// now on whatever would post on the channel fails.
    fn take(&self, other: &PeerPlace) -> Result<()>;
    /// Begin. Of a pair the end that sends is first.
    fn begin(&self, slot_log2: u8, key: u8) -> Result<()>;
    /// C2H: send nothing more; returns how many slots have been begun. What is in flight is ended by a cancel.
    fn stop(&self) -> Result<u16>;
    /// What the card says.
    fn state(&self) -> Result<PeerState>;
    /// Give the channel back to the program, with a reset if that is needed or `reset` asks for it. The card no longer reaches the other end. An
    /// error says why the channel must be reset before it can be used; it is given back even then.
    fn release(&self, reset: bool) -> Result<()>;
}
