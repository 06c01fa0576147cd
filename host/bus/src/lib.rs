// SPDX-License-Identifier: Apache-2.0
//! What a driver needs of the path between it and the card: the one interface behind which the simulator, another process and a real board
//! look alike.
//!
//! Promises of every bus: writes reach the card in program order (those of one [`Bus::write_combining`] among themselves in any order until
//! [`Bus::fence`]); a read comes back after all earlier writes have arrived; what the card wrote to memory before an interrupt is visible
//! when [`Bus::wait`] returns for it.
//!
//! Not for programs: they use crate `towpath`.

use std::any::Any;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use towpath_system::Wake;

/// What may be done with mapped memory, as the card sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The card reads (H2C).
    Read,
    /// The card writes (C2H).
    Write,
    /// Both.
    ReadWrite,
}

/// A device's memory, a GPU's for example: it has addresses in the program, and the processor cannot use them. Its bytes are reached by
/// copies.
pub trait DeviceMemory: fmt::Debug + Send + Sync {
    /// The address of its first byte, as the program names it.
    fn address(&self) -> usize;
    /// Its length.
    fn bytes(&self) -> usize;
    /// Copy from it, from a byte on. When this returns, the copy is done.
    fn read(&self, offset: usize, into: &mut [u8]) -> std::io::Result<()>;
    /// Copy to it, from a byte on. When this returns, the copy is done.
    fn write(&self, offset: usize, from: &[u8]) -> std::io::Result<()>;
    /// Has a write to it failed? A card is not told, for nobody answers its writes, so the transfer is failed by this.
    fn has_failed(&self) -> bool;
    /// The part of another card's BAR that it is, if it is one.
    fn part_of_a_bar(&self) -> Option<&Arc<dyn BarPart>> {
        None
    }
}

/// A part of a card's BAR, for other cards to write to and to read from: see [`Bus::share_bar`].
pub trait BarPart: fmt::Debug + Send + Sync {
    /// For the bus of the other card, which knows parts of its own type alone.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    /// Was a write to it lost, or may one have been? From then on it stays so.
    fn has_lost(&self) -> bool;
}

/// Why an access to the card failed.
#[derive(Debug)]
pub enum BusError {
    /// The card is gone: link down, process ended, or removed.
    Gone(String),
    /// The model of the card stopped by itself: `$fatal`, a failed assertion, `$finish`.
    Stopped(String),
    /// Outside the BAR, misaligned, or no such BAR or vector: a fault of the caller.
    Invalid(String),
    /// The system refused: mapping, locked memory, descriptors.
    System(String, std::io::Error),
    /// This bus cannot do it; why.
    Unsupported(String),
}

impl fmt::Display for BusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BusError::Gone(why) => write!(f, "the card is gone: {why}"),
            BusError::Stopped(why) => write!(f, "the simulated card stopped: {why}"),
            BusError::Invalid(why) => write!(f, "invalid access: {why}"),
            BusError::System(what, why) => write!(f, "{what}: {why}"),
            BusError::Unsupported(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for BusError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BusError::System(_, e) => Some(e),
            _ => None,
        }
    }
}

/// Result of a bus operation.
pub type Result<T> = std::result::Result<T, BusError>;

/// Bytes and time on the wire since the bus was opened; only a simulated bus counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireStatistics {
    /// Payload bytes of the card's memory writes (data, completion entries, interrupts).
    pub card_write_payload: u64,
    /// Wire bytes (payload, header, framing) towards the host, of all packets.
    pub to_host: u64,
    /// Payload bytes of completions to the card's reads.
    pub card_read_payload: u64,
    /// Wire bytes towards the card, of all packets.
    pub to_card: u64,
    /// Rate of the link in each direction after coding, in bytes per microsecond.
    pub bytes_per_us: u64,
    /// Largest payload of a write, bytes (MPS).
    pub max_payload: u32,
    /// Payload of a full completion, bytes.
    pub completion_payload: u32,
    /// Cycles of the core's clock simulated so far.
    pub cycles: u64,
}

/// The way to one card. All methods may be called from any thread.
pub trait Bus: Send + Sync {
    /// The name it was opened by.
    fn name(&self) -> &str;
    /// Size of a BAR in bytes, 0 if it is not there.
    fn bar_bytes(&self, bar: u8) -> u64;
    /// Read 4 bytes; all ones when the card does not answer.
    fn read32(&self, bar: u8, offset: u64) -> Result<u32>;
    /// Read 8 bytes.
    fn read64(&self, bar: u8, offset: u64) -> Result<u64>;
    /// Read bytes anywhere in a BAR whose reads have no side effects and may be of any length: BAR 4. More may be read than is asked for, up to
    /// the 8 aligned bytes around.
    fn read_bytes(&self, bar: u8, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let mut at = 0;
        while at < bytes.len() {
            let place = offset + at as u64;
            let (word, rest) = (place & !7, bytes.len() - at);
            let dword = place % 4 + rest as u64 <= 4 || (place % 8 == 4 && rest == 4);
            let (start, value) = match dword {
                true => (place & !3, u64::from(self.read32(bar, place & !3)?)),
                false => (word, self.read64(bar, word)?),
            };
            let skip = (place - start) as usize;
            let take = rest.min(if dword { 4 } else { 8 } - skip);
            bytes[at..at + take].copy_from_slice(&value.to_le_bytes()[skip..skip + take]);
            at += take;
        }
        Ok(())
    }
    /// Posted write of 4 bytes.
    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()>;
    /// Posted write of 8 bytes.
    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()>;
    /// Two posted writes of 8 bytes, one behind the other: a descriptor.
    fn write_pair(&self, bar: u8, offset: u64, values: [u64; 2]) -> Result<()> {
        self.write64(bar, offset, values[0])?;
        self.write64(bar, offset + 8, values[1])
    }
    /// Write through a write-combining mapping: may arrive split and out of order until [`Bus::fence`].
    fn write_combining(&self, bar: u8, offset: u64, bytes: &[u8]) -> Result<()>;
    /// Does [`Bus::write_combining`] combine words to packets? If not, a store for each word is as quick.
    fn combines(&self) -> bool {
        true
    }
    /// All earlier write-combining writes arrive before any later write.
    fn fence(&self) -> Result<()>;
    /// Map memory for the card and return its address there. Overlapping maps are allowed.
    ///
    /// # Safety
    /// The memory stays valid until [`Bus::unmap`] has returned `Ok`, and the program does not touch it in a way that races with the card.
    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64>;
    /// As [`Bus::map`], of a device's memory, which is valid as long as the bus holds it. [`BusError::Unsupported`]: the card cannot reach it.
    fn map_device(&self, memory: &Arc<dyn DeviceMemory>, access: Access) -> Result<u64> {
        let _ = (memory, access);
        Err(BusError::Unsupported("this card has no direct way to the memory of a GPU".into()))
    }
    /// A part of one of this card's BARs as [`DeviceMemory::part_of_a_bar`], for [`Bus::map_device`] of another card's bus.
    fn share_bar(&self, bar: u8, offset: u64, bytes: u64) -> Result<Arc<dyn BarPart>> {
        let _ = (bar, offset, bytes);
        Err(BusError::Unsupported("other cards have no way to this card's memory here".into()))
    }
    /// Undo a [`Bus::map`] or a [`Bus::map_device`]: afterwards the card's accesses there fail. After an error they may still succeed, for as long as the program
    /// runs.
    fn unmap(&self, address: u64, bytes: usize) -> Result<()>;
    /// Enable `count` MSI-X vectors for the card; returns how many there are, at least 1.
    fn enable_vectors(&self, count: u16) -> Result<u16>;
    /// Block until `vector` fires or `nanoseconds` have passed. A fire since the last wait counts at once. In simulation this is where time
    /// passes; a wait in which nothing at all happens on the link also ends after the same wall-clock time.
    fn wait(&self, vector: u16, nanoseconds: u64) -> Result<Wake>;
    /// An eventfd which is signalled when `vector` fires, as a duplicate of the caller's own. In simulation time then passes by itself
    /// while a vector is armed so.
    fn event_fd(&self, vector: u16) -> Result<OwnedFd>;
    /// The program looked at memory and found nothing new: in simulation a poll's time passes.
    fn poll(&self) -> Result<()>;
    /// Nanoseconds: simulated time, or a monotonic clock.
    fn now(&self) -> u64;
    /// Function-level reset.
    fn reset(&self) -> Result<()>;
    /// See [`WireStatistics`].
    fn wire(&self) -> Option<WireStatistics> {
        None
    }
    /// Names of the user core's registers, if the bus has the core's manifest.
    fn register_names(&self) -> Vec<(String, u32)> {
        Vec::new()
    }
}
