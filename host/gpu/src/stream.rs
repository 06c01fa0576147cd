// SPDX-License-Identifier: Apache-2.0
//! The order of transfers with the work on a stream of the program's.
//!
//! A transfer puts two things on the stream: an event, which shows that the work before it is done, and a wait for a word of pinned host
//! memory, which holds back the work behind it. When the transfer has ended, whatever its result, the processor writes the word. That takes
//! no call of the library, so that nothing can keep a stream from going on.

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::thread::ThreadId;

use parking_lot::Mutex;

use crate::calls::{call, calls, Opaque, NOT_READY, WAIT_UNTIL_REACHED};
use crate::pinned::{allocate, free_event, new_event};
use crate::{Context, GpuError, GpuMemory, Result};

/// The legacy default stream, of each context, and the per-thread one.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;
/// Pinned memory for words, at once.
const PAGE: usize = 4096;

/// The words of a context's streams.
#[derive(Default)]
pub(crate) struct Lanes {
    /// The unused rest of the last page.
    free: Vec<&'static AtomicU32>,
    by_stream: HashMap<(usize, Option<ThreadId>), Arc<Mutex<Lane>>>,
}

/// One stream's word, which counts the transfers on it that have ended.
struct Lane {
    word: &'static AtomicU32,
    /// How many there were.
    issued: u32,
    /// Up to here, all have ended.
    reached: u32,
    /// These have ended, and one before them has not: a transfer that is cancelled ends before its turn.
    early: BTreeSet<u32>,
}

/// A stream of the program's.
pub struct Stream {
    context: Arc<Context>,
    handle: usize,
}

impl Stream {
    /// A stream by its handle; 0 and 1 are the default stream of the context that the memory belongs to, or else of the calling thread's
    /// current one, and 2 is this thread's own default stream there.
    ///
    /// # Safety
    /// Another number is the handle of a stream, which lives until the call that uses this has returned.
    pub unsafe fn new(handle: usize, memory: Option<&GpuMemory>) -> Result<Stream> {
        if handle <= PER_THREAD {
            let context = memory.map_or_else(Context::current, |memory| Ok(memory.context().clone()))?;
            return Ok(Stream { context, handle: handle.max(LEGACY) });
        }
        let calls = calls()?;
        let mut context = null_mut();
        // SAFETY: it writes one handle.
        unsafe { call!(calls, stream_context(handle as Opaque, &raw mut context))? };
        Ok(Stream { context: Context::of_handle(calls, context)?, handle })
    }

    /// Wait until all work on it is done.
    pub fn wait(&self) -> Result<()> {
        let _current = self.context.enter()?;
        // SAFETY: a stream of this context.
        unsafe { call!(self.context.calls, wait_stream(self.handle as Opaque)) }
    }

    /// What comes behind on this stream begins when all that is on the other now is done.
    pub fn follow(&self, other: &Stream) -> Result<()> {
        let calls = self.context.calls;
        let there = other.context.enter()?;
        let mark = Mark { context: other.context.clone(), event: new_event(calls)? };
        // SAFETY: event and stream are of that context.
        unsafe { call!(calls, record_event(mark.event, other.handle as Opaque))? };
        drop(there);
        let _current = self.context.enter()?;
        // SAFETY: a stream of this context may wait for any event.
        unsafe { call!(calls, stream_wait_event(self.handle as Opaque, mark.event, 0)) }
    }

    /// From now on the stream waits: what comes behind begins when the hold is dropped. The mark shows when what came before is done.
    pub fn hold(&self) -> Result<(Mark, Hold)> {
        let (context, calls) = (&self.context, self.context.calls);
        let stream = self.handle as Opaque;
        let _current = context.enter()?;
        let mut capturing: c_int = 0;
        // SAFETY: it writes one number.
        unsafe { call!(calls, stream_capturing(stream, &raw mut capturing))? };
        if capturing != 0 {
            let why = "the stream is being captured into a graph, and a transfer cannot be a part of one; end the capture first";
            return Err(GpuError::Invalid(why.into()));
        }
        let shared = self.lane()?;
        let mut lane = shared.lock(); // both belong together, in the order of the numbers
        let mark = Mark { context: context.clone(), event: new_event(calls)? };
        let number = lane.issued.wrapping_add(1);
        // SAFETY: event and stream are of this context; the word is never freed, and has the same address for the GPU.
        unsafe {
            call!(calls, record_event(mark.event, stream))?;
            call!(calls, stream_wait_value(stream, lane.word.as_ptr() as u64, number, WAIT_UNTIL_REACHED))?;
        }
        lane.issued = number;
        drop(lane);
        Ok((mark, Hold { lane: shared, number }))
    }

    /// The stream's word; the context is current.
    fn lane(&self) -> Result<Arc<Mutex<Lane>>> {
        let owner = (self.handle == PER_THREAD).then(|| std::thread::current().id());
        let mut lanes = self.context.lanes.lock();
        if let Some(lane) = lanes.by_stream.get(&(self.handle, owner)) {
            return Ok(lane.clone());
        }
        if lanes.free.is_empty() {
            let page = allocate(self.context.calls, PAGE)?;
            // SAFETY: pages of this kind are never freed, and begin on a page.
            lanes.free.extend((0..PAGE / 4).map(|index| unsafe { AtomicU32::from_ptr(page.cast::<u32>().add(index)) }));
        }
        let Some(word) = lanes.free.pop() else { return Err(GpuError::Invalid("no word for the stream".into())) };
        word.store(0, Ordering::Release);
        let lane = Arc::new(Mutex::new(Lane { word, issued: 0, reached: 0, early: BTreeSet::new() }));
        lanes.by_stream.insert((self.handle, owner), lane.clone());
        Ok(lane)
    }
}

/// A place in a stream's work.
pub struct Mark {
    context: Arc<Context>,
    event: Opaque,
}

// SAFETY: a handle of the library's, which any thread may use.
unsafe impl Send for Mark {}

impl Mark {
    /// Is all work before it done? An error of that work is an error here.
    pub fn is_reached(&self) -> Result<bool> {
        let _current = self.context.enter()?;
        // SAFETY: an event of this context.
        match unsafe { call!(self.context.calls, query_event(self.event)) } {
            Err(GpuError::Call { code: NOT_READY, .. }) => Ok(false),
            other => other.map(|()| true),
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        free_event(&self.context, self.event);
    }
}

/// Holds a stream back until it is dropped.
#[must_use]
pub struct Hold {
    lane: Arc<Mutex<Lane>>,
    number: u32,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut lane = self.lane.lock();
        lane.early.insert(self.number);
        let mut reached = lane.reached;
        while lane.early.remove(&reached.wrapping_add(1)) {
            reached = reached.wrapping_add(1);
        }
        lane.reached = reached;
        // What the transfer wrote comes before it.
        lane.word.store(reached, Ordering::Release);
    }
}
