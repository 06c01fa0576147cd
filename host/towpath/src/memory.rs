// SPDX-License-Identifier: Apache-2.0
//! The user core's memories.

use crate::channel::{shared_methods, ChannelName, Core};
use crate::parts::Parts;
use crate::turn::CallLimit;
use crate::{
    Buffer, ChannelInfo, ChannelOptions, Completion, Device, Direction, Error, GpuMemory, Message, Result, Status, Transfer, WaitOptions,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::ops::{Range, RangeBounds};
use std::sync::Arc;
use std::time::Duration;
use towpath_driver::{Loaded, Piece, WindowStores};

/// A memory's kind, by name.
const KIND: &str = "memory";
/// What it answers: numbers of the contract.
const WRONG_LENGTH: u8 = 1;
const SLVERR: u8 = 2;
const DECERR: u8 = 3;

/// Bytes of one part of a longer call. Another call's cancel makes a part begin anew, so it is short enough to end between two cancels.
const PART: usize = 1 << 20;

/// A memory of the user core, as the device reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// The user core's name for it.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The number of the channel that writes it.
    pub writer: u16,
    /// The number of the channel that reads it.
    pub reader: u16,
    /// Where its window begins in BAR 4, if it has one that the driver serves.
    pub window: Option<u64>,
}

impl MemoryInfo {
    /// All memories of a device: an H2C and a C2H channel of one name each.
    pub(crate) fn all(channels: &[ChannelInfo]) -> Vec<MemoryInfo> {
        let of = |direction| channels.iter().filter(move |channel| channel.direction == direction);
        let memory = |writer: &ChannelInfo| {
            let bytes = writer.memory_bytes()?;
            let half = |reader: &&ChannelInfo| reader.name == writer.name && reader.memory_bytes() == Some(bytes);
            let reader = of(Direction::C2h).find(half)?.index;
            Some(MemoryInfo { name: writer.name.clone(), bytes, writer: writer.index, reader, window: writer.window })
        };
        of(Direction::H2c).filter_map(memory).collect()
    }

    /// What the completion of a submitted operation means: nothing, or the error, with the addresses. `bytes` is its length. The error's
    /// number of bytes is 0: of an operation that failed nothing is certain.
    pub fn check(&self, direction: Direction, completion: Completion, address: u64, bytes: u64) -> Result<()> {
        let ended = match completion.status {
            Status::Kind(number) => {
                Err(Error::Kind { channel: self.name.clone(), kind: KIND.into(), number, bytes: 0, what: String::new() })
            }
            _ => completion.check(&self.name, 0),
        };
        self.whole(ended, direction, address, bytes)
    }

    /// [`MemoryInfo::check`], when [`Core::check`] has been there.
    fn whole(&self, ended: Result<Completion>, direction: Direction, address: u64, bytes: u64) -> Result<()> {
        let whole = ended.and_then(|done| {
            let what = || format!("it ended a read of {bytes} bytes after {}", done.bytes);
            let wrong = || Error::Protocol { channel: self.name.clone(), what: what(), bytes: None };
            (done.bytes == bytes).then_some(()).ok_or_else(wrong)
        });
        // Whatever has landed on the card may not be in the memory.
        whole.map_err(|error| explain(error, direction, address, bytes).with_bytes(0))
    }

    /// Does this name or number, of either of its channels, mean it?
    pub(crate) fn is(&self, wanted: &ChannelName) -> bool {
        let by_index = |index: i64| index == i64::from(self.writer) || index == i64::from(self.reader);
        match wanted {
            ChannelName::Index(index) => by_index(*index),
            ChannelName::Name(name) => self.name == *name || name.parse().is_ok_and(by_index),
        }
    }
}

/// All writes, or all reads, of a [`Memory`]: one channel, for what concerns all of them, and for bindings, which keep tickets as numbers.
#[derive(Clone)]
pub struct MemoryHalf {
    core: Arc<Core>,
}

impl MemoryHalf {
    shared_methods!();

    fn open(device: &Device, index: u16, options: ChannelOptions) -> Result<MemoryHalf> {
        Ok(MemoryHalf { core: Arc::new(Core::new(device, device.driver()?.open_channel(index, options)?)) })
    }

    /// Empty the channel on both sides. What is in flight ends with [`Error::Reset`]. The bytes in the memory stay; what
    /// of a write had begun may be written yet, until a later write has returned.
    pub fn reset(&self) -> Result<()> {
        self.core.channel()?.reset()
    }
}

/// A memory of the user core: bytes with addresses from 0 to [`Memory::len`] - 1. May be shared between threads.
///
/// A write that has returned is in the core's memory, and every later read sees it. Of operations that are under way at once each is done in
/// full, in no order: two writes to the same bytes leave any mixture of both. After an error of a write any part of it may have been written;
/// [`Error::bytes`] says how many bytes, from the first on, certainly were if the error has that number. After a cancel or a timeout, what the
/// card has taken already may still be written, until a later write has returned.
pub struct Memory {
    writes: MemoryHalf,
    reads: MemoryHalf,
    info: MemoryInfo,
    /// Of stores by windows, what was told already.
    told: Arc<Mutex<Option<WindowStores>>>,
}

impl Memory {
    pub(crate) fn open(device: &Device, info: &MemoryInfo, options: ChannelOptions) -> Result<Memory> {
        let writes = MemoryHalf::open(device, info.writer, options)?;
        Ok(Memory { writes, reads: MemoryHalf::open(device, info.reader, options)?, info: info.clone(), told: Arc::default() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.writes.name()
    }

    /// The device that it belongs to.
    pub fn device(&self) -> &Device {
        self.writes.device()
    }

    /// All its writes.
    pub fn writes(&self) -> &MemoryHalf {
        &self.writes
    }

    /// All its reads.
    pub fn reads(&self) -> &MemoryHalf {
        &self.reads
    }

    /// Its size in bytes.
    #[allow(clippy::len_without_is_empty, reason = "the size is never 0 in a card that the contract allows, and no program asks")]
    pub fn len(&self) -> u64 {
        self.info.bytes
    }

    /// How long calls that specify no [`WaitOptions`] of their own wait without progress; `None`: no limit. Ten seconds by default.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.writes.set_timeout(timeout);
        self.reads.set_timeout(timeout);
    }

    /// See [`Memory::set_timeout`].
    pub fn timeout(&self) -> Option<Duration> {
        self.writes.timeout()
    }

    fn usual(&self) -> WaitOptions<'static> {
        self.writes.usual()
    }

    /// Read as many bytes as the buffer holds, beginning at an address.
    pub fn read_at(&self, buffer: &mut [u8], address: u64) -> Result<()> {
        self.read_vectored_at(&mut [IoSliceMut::new(buffer)], address)
    }

    /// As [`Memory::read_at`], into several pieces, one after the other.
    pub fn read_vectored_at(&self, pieces: &mut [IoSliceMut<'_>], address: u64) -> Result<()> {
        self.read_at_with(pieces, address, self.usual())
    }

    /// As [`Memory::read_vectored_at`], with this call's own limit.
    pub fn read_at_with(&self, pieces: &mut [IoSliceMut<'_>], address: u64, options: WaitOptions<'_>) -> Result<()> {
        let pieces = pieces.iter_mut().map(|piece| Piece { memory: piece.as_mut_ptr(), bytes: piece.len(), registration: None });
        // SAFETY: the slices are borrowed mutably for this call.
        unsafe { self.run(&self.reads.core, pieces.collect(), None, address, options) }
    }

    /// As [`Memory::read_at`], into a range of a registered buffer, which needs no registration for the call.
    pub fn read_buffer_at(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>, address: u64) -> Result<()> {
        let range = buffer.range(&range);
        // SAFETY: `&mut` shows that nothing else refers to it.
        unsafe { self.read_buffer_at_shared(buffer, range, address, self.usual()) }
    }

    /// As [`Memory::read_buffer_at`] for bindings, whose buffers are shared between threads, with this call's own limit.
    ///
    /// # Safety
    /// No slice of the buffer lives, and none is made during the call.
    pub unsafe fn read_buffer_at_shared(&self, buffer: &Buffer, range: Range<usize>, address: u64, options: WaitOptions<'_>) -> Result<()> {
        let piece = self.reads.core.blocking_piece(buffer, &range)?;
        let _hold = buffer.hold(Direction::C2h);
        // SAFETY: by this function's contract.
        unsafe { self.run(&self.reads.core, VecDeque::from([piece]), buffer.staged(), address, options) }
    }

    /// Write all these bytes, beginning at an address, and wait until the user core has answered.
    pub fn write_at(&self, bytes: &[u8], address: u64) -> Result<()> {
        self.write_vectored_at(&[IoSlice::new(bytes)], address)
    }

    /// As [`Memory::write_at`], from several pieces, one after the other.
    pub fn write_vectored_at(&self, pieces: &[IoSlice<'_>], address: u64) -> Result<()> {
        self.write_at_with(pieces, address, self.usual())
    }

    /// As [`Memory::write_vectored_at`], with this call's own limit.
    pub fn write_at_with(&self, pieces: &[IoSlice<'_>], address: u64, options: WaitOptions<'_>) -> Result<()> {
        let pieces = pieces.iter().map(|piece| Piece { memory: piece.as_ptr().cast_mut(), bytes: piece.len(), registration: None });
        // SAFETY: the slices are borrowed for this call; the card only reads them.
        unsafe { self.run(&self.writes.core, pieces.collect(), None, address, options) }
    }

    /// As [`Memory::write_at`], from a range of a registered buffer, which needs no registration for the call.
    pub fn write_buffer_at(&self, buffer: &Buffer, range: impl RangeBounds<usize>, address: u64) -> Result<()> {
        self.write_buffer_at_with(buffer, range, address, self.usual())
    }

    /// As [`Memory::write_buffer_at`], with this call's own limit.
    pub fn write_buffer_at_with(
        &self,
        buffer: &Buffer,
        range: impl RangeBounds<usize>,
        address: u64,
        options: WaitOptions<'_>,
    ) -> Result<()> {
        let piece = self.writes.core.blocking_piece(buffer, &range)?;
        let _hold = buffer.hold(Direction::H2c);
        // SAFETY: the buffer's count keeps it from being changed during this call; the card only reads it.
        unsafe { self.run(&self.writes.core, VecDeque::from([piece]), buffer.staged(), address, options) }
    }

    /// Post a write from a range of a registered buffer and return at once, or when the queue has room. The buffer can be read, not changed,
    /// until the transfer has ended. One such write has at most 64 MiB, with the
    /// kernel module 4 MiB. [`Memory::check`] turns its completion into an error.
    ///
    /// When another operation on this memory is cancelled or times out, this one begins anew on the card. One of more than 1 MiB may not get to
    /// its end while that happens every millisecond; [`Memory::write_at`] goes on by parts of 1 MiB.
    pub fn submit_write(&self, buffer: &Buffer, range: impl RangeBounds<usize>, address: u64) -> Result<Transfer> {
        self.submit_write_with(buffer, range, address, Some(self.usual()))
    }

    /// As [`Memory::submit_write`], with this call's own limit on the wait for room; `None`: [`Error::QueueFull`] instead of waiting.
    pub fn submit_write_with(
        &self,
        buffer: &Buffer,
        range: impl RangeBounds<usize>,
        address: u64,
        wait: Option<WaitOptions<'_>>,
    ) -> Result<Transfer> {
        // SAFETY: the buffer's counts keep it from being changed meanwhile.
        unsafe { self.submit(&self.writes.core, buffer, buffer.range(&range), address, wait) }
    }

    /// Post a read into a range of a registered buffer and return at once, or when the queue has room. The buffer cannot be read or written
    /// until the transfer has ended. Otherwise as [`Memory::submit_write`].
    pub fn submit_read(&self, buffer: &mut Buffer, range: impl RangeBounds<usize>, address: u64) -> Result<Transfer> {
        let range = buffer.range(&range);
        // SAFETY: `&mut` shows that nothing refers to it now, the buffer's counts that nothing does later.
        unsafe { self.submit_read_shared(buffer, range, address, Some(self.usual())) }
    }

    /// As [`Memory::submit_read`], with this call's own limit on the wait for room; `None`: [`Error::QueueFull`] instead of waiting. For
    /// bindings, whose buffers are shared between threads.
    ///
    /// # Safety
    /// No slice of the buffer lives, and none is made until the transfer has ended.
    pub unsafe fn submit_read_shared(
        &self,
        buffer: &Buffer,
        range: Range<usize>,
        address: u64,
        wait: Option<WaitOptions<'_>>,
    ) -> Result<Transfer> {
        // SAFETY: by this function's contract.
        unsafe { self.submit(&self.reads.core, buffer, range, address, wait) }
    }

    /// # Safety
    /// As [`towpath_driver::Channel::submit`].
    unsafe fn submit(
        &self,
        core: &Arc<Core>,
        buffer: &Buffer,
        range: Range<usize>,
        address: u64,
        wait: Option<WaitOptions<'_>>,
    ) -> Result<Transfer> {
        let bytes = core.piece(buffer, &range)?.bytes;
        self.within(address, bytes as u64)?;
        if bytes == 0 {
            return Err(Error::Invalid("a transfer of no bytes to or from a memory; give a range with at least one byte".into()));
        }
        let message = Message { offset: address, ..Message::default() };
        // SAFETY: by this function's contract.
        let ticket = unsafe { core.submit(buffer, range, &message, || wait) }?;
        Ok(Transfer::new(core, ticket))
    }

    /// Its window, for loads and stores that need no descriptor: a core's manifest gives it one by `window = true`.
    pub fn window(&self) -> Result<Window> {
        let name = self.name();
        let none = || {
            let remedy = "give it `window = true` in the core's manifest; the kernel module maps one only where this machine can";
            Error::Invalid(format!("memory \"{name}\" has no window: {remedy}"))
        };
        let start = self.info.window.ok_or_else(none)?;
        let mut told = self.told.lock();
        if told.is_none() {
            *told = Some(self.device().driver()?.window_stores()?);
        }
        Ok(Window { device: self.device().clone(), name: name.to_string(), start, bytes: self.len(), told: self.told.clone() })
    }

    /// As [`MemoryInfo::check`].
    pub fn check(&self, direction: Direction, completion: Completion, address: u64, bytes: u64) -> Result<()> {
        self.info.check(direction, completion, address, bytes)
    }

    /// End all reads and writes that are in flight, other threads' included. Any part of these writes may have been written.
    pub fn cancel_all(&self) -> Result<()> {
        let ended = self.writes.cancel_all();
        self.reads.cancel_all().and(ended)
    }

    /// Empty both channels on both sides. What is in flight ends with [`Error::Reset`]. The bytes in the memory stay; what
    /// of a write had begun may be written yet, until a later write has returned.
    pub fn reset(&self) -> Result<()> {
        let ended = self.writes.reset();
        self.reads.reset().and(ended)
    }

    /// [`Error::Invalid`], unless all these bytes are in the memory.
    fn within(&self, address: u64, bytes: u64) -> Result<()> {
        if address.checked_add(bytes).is_some_and(|end| end <= self.info.bytes) {
            return Ok(());
        }
        let (name, all) = (self.name(), self.info.bytes);
        Err(Error::Invalid(format!("memory \"{name}\" has {all:#x} bytes: {bytes:#x} bytes at address {address:#x} are not in it")))
    }

    /// # Safety
    /// As [`Core::run`].
    unsafe fn run(
        &self,
        core: &Core,
        pieces: VecDeque<Piece<'_>>,
        staged: Option<&Arc<GpuMemory>>,
        address: u64,
        options: WaitOptions<'_>,
    ) -> Result<()> {
        core.channel()?;
        let total = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.bytes as u64));
        self.within(address, total)?;
        let mut limit = CallLimit::new(&core.device, options);
        let mut parts = Parts::new(core, pieces.into_iter().filter(|piece| piece.bytes > 0).collect(), PART, staged)?;
        let mut moved = 0;
        while moved < total {
            let at = address + moved;
            // SAFETY: by this function's contract.
            let part = unsafe { parts.run(|_| Message { offset: at, ..Message::default() }, moved, &mut limit) };
            // Of a staged read, the copy of an earlier part may have failed.
            let before = part.ended.as_ref().err().and_then(Error::bytes).map_or(moved, |bytes| bytes.min(moved));
            self.info.whole(part.ended, core.direction, at, part.bytes).map_err(|error| error.with_bytes(before))?;
            moved += part.bytes;
        }
        parts.finish()
    }
}

/// The window onto a [`Memory`]: loads and stores at once, without descriptors. It lives as long as the program likes, and may be shared.
///
/// Stores reach the memory in the order of the calls, and return before they have arrived. A load sees all stores before it. A store of 4 or 8
/// bytes at a multiple of its size is one access; others may be several, bytewise where they are not aligned. Between the window and
/// [`Memory::write_at`] or [`Memory::read_at`] there is an order only where one has returned: a store that a transfer must see needs [`Window::flush`] before
/// that. A store has no answer, so the next `flush` reports stores that the user core refused.
#[derive(Clone)]
pub struct Window {
    device: Device,
    name: String,
    start: u64,
    bytes: u64,
    /// What was told already; all windows of one [`Memory`] share it.
    told: Arc<Mutex<Option<WindowStores>>>,
}

impl Window {
    /// The memory's size in bytes.
    #[allow(clippy::len_without_is_empty, reason = "as Memory::len")]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Load bytes, beginning at an address. Where the user core answers with an error, or not at all, this is an error.
    pub fn read_at(&self, bytes: &mut [u8], address: u64) -> Result<()> {
        let offset = self.place(address, bytes.len())?;
        let why = match self.device.driver()?.read_window(offset, bytes)? {
            Loaded::Done => return Ok(()),
            Loaded::Refused => "the user core answered with an error (SLVERR or DECERR): check which addresses it allows",
            Loaded::Off => OFF,
        };
        let last = address + (bytes.len() as u64).saturating_sub(1);
        Err(self.error(format!("loading bytes {address:#x} to {last:#x} by the window: {why}")))
    }

    /// Store bytes, beginning at an address.
    pub fn write_at(&self, bytes: &[u8], address: u64) -> Result<()> {
        let offset = self.place(address, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.device.driver()?.write_window(offset, bytes)
    }

    /// All stores before are in the memory when it returns; or it tells that stores were refused or dropped since the last flush of this memory, or since
    /// its first window was made: of anybody, to any window of the card.
    pub fn flush(&self) -> Result<()> {
        let driver = self.device.driver()?;
        // Whatever it brings, and if it is refused: it is answered after the stores before it.
        let loaded = driver.read_window(self.start, &mut [0; 4])?;
        let now = driver.window_stores()?;
        let before = self.told.lock().replace(now).unwrap_or(now);
        let (refused, dropped) = (now.refused.wrapping_sub(before.refused), now.dropped.wrapping_sub(before.dropped));
        if loaded == Loaded::Off || now.off {
            return Err(self.error(format!("storing by the window: {OFF}")));
        }
        if now.link_downs != before.link_downs {
            return Err(
                self.error("storing by the window: the link went down, and stores before that may be lost: store them again".into())
            );
        }
        if dropped > 0 {
            let why = "the link brought more than the user core took; store more slowly, or write by DMA (`write_at` of the memory)";
            return Err(self.error(format!("storing by the window: {dropped} stores were dropped: {why}")));
        }
        if refused > 0 {
            let why = "the user core answered with an error (SLVERR or DECERR): check which addresses it allows";
            return Err(self.error(format!("storing by the window: {refused} stores were refused: {why}")));
        }
        Ok(())
    }

    /// The memory's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The offset in BAR 4 of bytes that are in the memory.
    pub(crate) fn place(&self, address: u64, bytes: usize) -> Result<u64> {
        if address.checked_add(bytes as u64).is_some_and(|end| end <= self.bytes) {
            return Ok(self.start + address);
        }
        let (name, all) = (&self.name, self.bytes);
        Err(Error::Invalid(format!("memory \"{name}\" has {all:#x} bytes: {bytes:#x} bytes at address {address:#x} are not in it")))
    }

    fn error(&self, what: String) -> Error {
        Error::Kind { channel: self.name.clone(), kind: KIND.into(), number: 0, bytes: 0, what }
    }
}

/// Why nothing more goes through the windows.
const OFF: &str = "the user core did not answer in time, and the windows are off until the card is reset (`Device::reset`)";

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("memory", &self.name).field("bytes", &self.bytes).finish()
    }
}

/// The same error, in words if it is the user core's.
fn explain(error: Error, direction: Direction, address: u64, length: u64) -> Error {
    let Error::Kind { channel, kind, number, .. } = error else { return error };
    let last = address.saturating_add(length.saturating_sub(1));
    let (does, means) = match direction {
        Direction::H2c => ("writing", "any part of them may have been written"),
        Direction::C2h => ("reading", "their values mean nothing"),
    };
    let (answer, remedy) = match number {
        SLVERR => ("the user core answered with an error (SLVERR)", "check that it allows this access there"),
        DECERR => (
            "nothing answers at one of these addresses (DECERR)",
            "check which addresses the user core has, and `bytes` and `base` of this memory in its manifest",
        ),
        WRONG_LENGTH => ("the card got another number of bytes than it was told", "report this, with the bitstream's version"),
        _ => ("the card answered with a status unknown to this library", "install the library of the bitstream's version"),
    };
    let what = format!("{does} bytes {address:#x} to {last:#x} of this memory: {answer}, status {number} of its kind; {means}; {remedy}");
    Error::Kind { channel, kind, number, bytes: 0, what }
}

impl fmt::Debug for MemoryHalf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryHalf").field("memory", &self.name()).field("direction", &self.core.direction).finish()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("name", &self.name()).field("bytes", &self.len()).finish()
    }
}
