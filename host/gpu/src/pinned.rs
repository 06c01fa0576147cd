// SPDX-License-Identifier: Apache-2.0
//! Pinned host memory, through which staged transfers move, and copies that go on while the program does something else.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::calls::{call, Calls, Opaque, EVENT_WITHOUT_TIME, HOST_MAPPED, HOST_PORTABLE};
use crate::stream::Until;
use crate::{Context, Result};

/// The size of a block.
pub const PINNED_BYTES: usize = 1 << 20;

/// A block without its context.
pub(crate) struct Block(*mut u8);

// SAFETY: the pointer is owned.
unsafe impl Send for Block {}

/// Memory that the GPU reads and writes as well; a context is current. It is kept until the process ends: to free it may wait for the GPU.
pub(crate) fn allocate(calls: &Calls, bytes: usize) -> Result<*mut u8> {
    let mut start: *mut c_void = null_mut();
    // SAFETY: it writes one pointer.
    unsafe { call!(calls, allocate_pinned(&raw mut start, bytes, HOST_PORTABLE | HOST_MAPPED))? };
    Ok(start.cast())
}

/// A block of pinned memory. Dropped, it is there for the next call.
pub struct Pinned {
    context: Arc<Context>,
    start: *mut u8,
}

// SAFETY: the pointer is owned; nothing here reads or writes the memory but copies, which borrow.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    pub(crate) fn take(context: &Arc<Context>) -> Result<Pinned> {
        let known = context.pinned.lock().pop();
        let start = match known {
            Some(block) => block.0,
            None => {
                let _current = context.enter()?;
                allocate(context.calls, PINNED_BYTES)?
            }
        };
        Ok(Pinned { context: context.clone(), start })
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.context.pinned.lock().push(Block(self.start));
    }
}

/// Pinned memory in place of a GPU's, for a transfer in the order of a stream: the stream itself copies the bytes there and back. Dropped, it
/// is there for the next one, when the stream has done so.
pub struct Shadow {
    context: Arc<Context>,
    start: *mut u8,
    room: usize,
    /// When the stream has no use for it any more.
    pub(crate) until: Mutex<Option<Until>>,
}

// SAFETY: the pointer is owned; nothing here reads or writes the memory.
unsafe impl Send for Shadow {}
// SAFETY: as above.
unsafe impl Sync for Shadow {}

/// A shadow without its context.
pub(crate) struct Spare {
    start: *mut u8,
    room: usize,
    until: Option<Until>,
}

// SAFETY: the pointer is owned.
unsafe impl Send for Spare {}

/// The least room of a shadow. Small ones have a power of two, large ones a multiple of the grain.
const LEAST: usize = 64 << 10;
const GRAIN: usize = 2 << 20;

impl Shadow {
    pub(crate) fn take(context: &Arc<Context>, bytes: usize) -> Result<Shadow> {
        let wanted = if bytes < GRAIN { bytes.next_power_of_two().max(LEAST) } else { bytes.next_multiple_of(GRAIN) };
        let fits = |spare: &Spare| (wanted..=2 * wanted).contains(&spare.room) && spare.until.as_ref().is_none_or(Until::is_over);
        let mut spares = context.spares.lock();
        let best = spares.iter().enumerate().filter(|(_, spare)| fits(spare)).min_by_key(|(_, spare)| spare.room);
        let known = best.map(|(index, _)| index).map(|index| spares.swap_remove(index));
        drop(spares);
        let (start, room) = match known {
            Some(spare) => (spare.start, spare.room),
            None => {
                let _current = context.enter()?;
                (allocate(context.calls, wanted)?, wanted)
            }
        };
        Ok(Shadow { context: context.clone(), start, room, until: Mutex::new(None) })
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        let spare = Spare { start: self.start, room: self.room, until: self.until.get_mut().take() };
        self.context.spares.lock().push(spare);
    }
}

/// A copy that may still go on. Dropped, it is waited for: the memory is then the caller's again.
#[must_use]
pub struct Copying {
    context: Arc<Context>,
    event: Opaque,
}

// SAFETY: a handle of the library's, which any thread may use.
unsafe impl Send for Copying {}

impl Copying {
    /// What this crate's stream for copies has got so far; the context is current.
    pub(crate) fn all(context: &Arc<Context>) -> Result<Copying> {
        let copying = Copying { context: context.clone(), event: new_event(context.calls)? };
        // SAFETY: event and stream are of this context.
        unsafe { call!(context.calls, record_event(copying.event, context.copies))? };
        Ok(copying)
    }

    /// Wait until it is done.
    pub fn wait(self) -> Result<()> {
        self.finish()
    }

    fn finish(&self) -> Result<()> {
        let _current = self.context.enter()?;
        // SAFETY: an event of this context.
        unsafe { call!(self.context.calls, wait_event(self.event)) }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        let _ = self.finish();
        free_event(&self.context, self.event);
    }
}

/// A context is current.
pub(crate) fn new_event(calls: &Calls) -> Result<Opaque> {
    let mut event = null_mut();
    // SAFETY: it writes one handle.
    unsafe { call!(calls, make_event(&raw mut event, EVENT_WITHOUT_TIME))? };
    Ok(event)
}

pub(crate) fn free_event(context: &Context, event: Opaque) {
    if let Ok(_current) = context.enter() {
        // SAFETY: an event of this context, which nobody uses afterwards.
        let _ = unsafe { call!(context.calls, free_event(event)) };
    }
}
