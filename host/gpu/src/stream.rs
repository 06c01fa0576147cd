// SPDX-License-Identifier: Apache-2.0
//! The order of transfers with the work on a stream of the program's.
//!
//! A transfer puts these on the stream, when the call is made: a copy of a GPU's bytes to pinned host memory; a write of a word there, which
//! shows that the work before it is done; a wait for another word, which holds back the work behind it; a copy of the bytes back to the GPU,
//! if the card has written them. When the transfer has ended, whatever its result, the processor writes that other word.
//!
//! From the call on, until the stream goes on, a transfer on a stream makes no call of the library. Such a call may wait for another thread's,
//! and that one for this very stream: a copy to pageable memory does, and the first use of a kernel. In simulation other transfers, direct
//! ones without a stream, do make calls, while the whole simulated system waits: none may be in flight while a stream is held.

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::thread::ThreadId;

use parking_lot::Mutex;
use towpath_bus::DeviceMemory;

use crate::calls::{call, calls, Opaque, WAIT_UNTIL_REACHED, WRITE_BEHIND_ALL};
use crate::context::Current;
use crate::pinned::{allocate, free_event, new_event};
use crate::{Context, GpuError, GpuMemory, Result, Shadow};

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
    by_stream: HashMap<(usize, Option<ThreadId>), Arc<Lane>>,
}

/// One stream's words.
struct Lane {
    /// Counts the transfers on it that may begin. The GPU writes it.
    begun: &'static AtomicU32,
    /// Counts those that have ended. The processor writes it.
    ended: &'static AtomicU32,
    /// Counts those whose bytes have been copied back. The GPU writes it.
    copied: &'static AtomicU32,
    /// How many there were.
    issued: AtomicU32,
    /// Held while a transfer is put on the stream. Calls of the library are made under this lock, and under none of the others.
    order: Mutex<()>,
    state: Mutex<Ended>,
}

/// The transfers of a stream that have ended.
#[derive(Default)]
struct Ended {
    /// All up to here.
    reached: u32,
    /// And these, while one before them has not: a transfer that is cancelled ends before its turn.
    early: BTreeSet<u32>,
}

/// Has the count come to this number?
fn has(count: u32, number: u32) -> bool {
    count.wrapping_sub(number) as i32 >= 0
}

/// How long a stream uses a shadow.
pub(crate) struct Until {
    copied: &'static AtomicU32,
    number: u32,
}

impl Until {
    pub fn is_over(&self) -> bool {
        has(self.copied.load(Ordering::Acquire), self.number)
    }
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
        let event = new_event(calls)?;
        // SAFETY: event and stream are of that context.
        let recorded = unsafe { call!(calls, record_event(event, other.handle as Opaque)) };
        drop(there);
        let waits = recorded.and_then(|()| {
            let _current = self.context.enter()?;
            // SAFETY: a stream of this context may wait for any event.
            unsafe { call!(calls, stream_wait_event(self.handle as Opaque, event, 0)) }
        });
        free_event(&other.context, event);
        waits
    }

    /// From now on the stream waits: what comes behind begins when the hold is dropped. The mark shows when what came before is done. With a
    /// memory's shadow, that has the memory's bytes then; and if they are `written`, the memory has all of the shadow's before what comes behind
    /// begins. With an error comes the mark of what was put on the stream all the same.
    ///
    /// # Safety
    /// The memory lives until the stream has done so, and nothing uses the shadow before the mark is reached or after the hold was dropped.
    pub unsafe fn hold(
        &self,
        shadow: Option<(&GpuMemory, &Shadow)>,
        written: bool,
    ) -> std::result::Result<(Mark, Hold), (GpuError, Option<Mark>)> {
        let calls = self.context.calls;
        let stream = self.handle as Opaque;
        let (_current, lane) = self.prepare().map_err(|why| (why, None))?;
        let order = lane.order.lock();
        let number = lane.issued.load(Ordering::Acquire).wrapping_add(1);
        // From here on the number is used up; on an error the hold's drop releases it.
        lane.issued.store(number, Ordering::Release);
        let hold = Hold { lane: lane.clone(), number };
        let address = |word: &AtomicU32| word.as_ptr() as u64;
        let mark = Mark { begun: lane.begun, copied: lane.copied, number };
        let put = || -> Result<()> {
            // SAFETY: the stream is of this context; the words are never freed, and have the same addresses for the GPU; about memory and
            // shadow by this function's contract.
            unsafe {
                if let Some((memory, shadow)) = shadow {
                    *shadow.until.lock() = Some(Until { copied: lane.copied, number });
                    memory.begin_read(0, shadow.start(), memory.bytes(), stream)?;
                }
                call!(calls, stream_write_value(stream, address(lane.begun), number, WRITE_BEHIND_ALL))?;
                call!(calls, stream_wait_value(stream, address(lane.ended), number, WAIT_UNTIL_REACHED))?;
                if let Some((memory, shadow)) = shadow.filter(|_| written) {
                    memory.begin_write(0, shadow.start(), memory.bytes(), stream)?;
                }
                call!(calls, stream_write_value(stream, address(lane.copied), number, WRITE_BEHIND_ALL))
            }
        };
        let put = put();
        if put.is_err() {
            // Copies may be on the stream. If this fails as well, the next transfer's word tells that they are done.
            // SAFETY: as above.
            let _ = unsafe { call!(calls, stream_write_value(stream, address(lane.copied), number, WRITE_BEHIND_ALL)) };
        }
        drop(order);
        match put {
            Ok(()) => Ok((mark, hold)),
            Err(why) => Err((why, Some(mark))),
        }
    }

    /// Make the context current, and find the stream's words.
    fn prepare(&self) -> Result<(Current, Arc<Lane>)> {
        let calls = self.context.calls;
        let stream = self.handle as Opaque;
        let current = self.context.enter()?;
        let mut capturing: c_int = 0;
        // SAFETY: it writes one number.
        unsafe { call!(calls, stream_capturing(stream, &raw mut capturing))? };
        if capturing != 0 {
            let why = "the stream is being captured into a graph, and a transfer cannot be a part of one; end the capture first";
            return Err(GpuError::Invalid(why.into()));
        }
        let lane = self.lane()?;
        Ok((current, lane))
    }

    /// The stream's words; the context is current.
    fn lane(&self) -> Result<Arc<Lane>> {
        let key = (self.handle, (self.handle == PER_THREAD).then(|| std::thread::current().id()));
        loop {
            let mut lanes = self.context.lanes.lock();
            if let Some(lane) = lanes.by_stream.get(&key) {
                return Ok(lane.clone());
            }
            if let Some(words) = lanes.free.len().checked_sub(3) {
                let words = lanes.free.split_off(words);
                let [begun, ended, copied] = words[..] else { continue };
                words.iter().for_each(|word| word.store(0, Ordering::Release));
                let (issued, order, state) = (AtomicU32::new(0), Mutex::default(), Mutex::default());
                let lane = Arc::new(Lane { begun, ended, copied, issued, order, state });
                lanes.by_stream.insert(key, lane.clone());
                return Ok(lane);
            }
            drop(lanes);
            let page = allocate(self.context.calls, PAGE)?;
            // SAFETY: pages of this kind are never freed, and begin on a page.
            let words = (0..PAGE / 4).map(|index| unsafe { AtomicU32::from_ptr(page.cast::<u32>().add(index)) });
            self.context.lanes.lock().free.extend(words);
        }
    }
}

/// A transfer's place in a stream's work.
pub struct Mark {
    begun: &'static AtomicU32,
    copied: &'static AtomicU32,
    number: u32,
}

impl Mark {
    /// Is all work before it done? Never, if that work has failed: then the GPU's context has.
    pub fn is_reached(&self) -> bool {
        has(self.begun.load(Ordering::Acquire), self.number)
    }

    /// Has the stream come past the transfer, and past the copy of its bytes? Never, as above.
    pub fn is_passed(&self) -> bool {
        has(self.copied.load(Ordering::Acquire), self.number)
    }
}

/// Holds a stream back until it is dropped.
#[must_use]
pub struct Hold {
    lane: Arc<Lane>,
    number: u32,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.lane.state.lock();
        state.early.insert(self.number);
        let mut reached = state.reached;
        while state.early.remove(&reached.wrapping_add(1)) {
            reached = reached.wrapping_add(1);
        }
        state.reached = reached;
        // What the transfer wrote comes before it.
        self.lane.ended.store(reached, Ordering::Release);
    }
}
