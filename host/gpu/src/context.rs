// SPDX-License-Identifier: Apache-2.0
//! A context of a GPU's: made current around calls, and with what this crate keeps there.

use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use parking_lot::Mutex;

use crate::calls::{call, calls, Calls, Opaque, STREAM_NON_BLOCKING};
use crate::pinned::Block;
use crate::stream::Lanes;
use crate::{GpuError, Result};

/// How often copies are looked at, and after how many looks in vain they are stuck. None of them is long: a block of pinned memory at most.
const LOOK: Duration = Duration::from_millis(500);
const PATIENCE: u32 = 12;

/// A context, with this crate's stream for copies, pinned memory, and what it knows of the program's streams. It is kept until the process
/// ends.
pub struct Context {
    pub(crate) calls: &'static Calls,
    handle: Opaque,
    /// For copies. It waits for no other stream, not even the legacy default one.
    pub(crate) copies: Opaque,
    /// Streams that wait for other streams on behalf of a call, when no call uses them. None of them is the one for copies.
    joins: Mutex<Vec<Join>>,
    /// Blocks of pinned memory that no call uses.
    pub(crate) pinned: Mutex<Vec<Block>>,
    pub(crate) lanes: Mutex<Lanes>,
    /// Copies that were begun, and those that have returned.
    begun: AtomicU64,
    returned: AtomicU64,
}

struct Join(Opaque);

// SAFETY: handles of the library's, which any thread may use.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}
// SAFETY: as above.
unsafe impl Send for Join {}

static CONTEXTS: Mutex<Option<HashMap<usize, Arc<Context>>>> = Mutex::new(None);

/// The context is this thread's current one while this lives.
pub(crate) struct Current(&'static Calls);

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: it pops what `enter` has pushed.
        let _ = unsafe { call!(self.0, pop_context(&raw mut popped)) };
    }
}

fn enter(calls: &'static Calls, handle: Opaque) -> Result<Current> {
    // SAFETY: a context of the library's.
    unsafe { call!(calls, push_context(handle))? };
    Ok(Current(calls))
}

pub(crate) fn new_stream(calls: &Calls) -> Result<Opaque> {
    let mut stream = null_mut();
    // SAFETY: it writes one handle; a context is current.
    unsafe { call!(calls, make_stream(&raw mut stream, STREAM_NON_BLOCKING))? };
    Ok(stream)
}

impl Context {
    /// This crate's record of a context.
    pub(crate) fn of_handle(calls: &'static Calls, handle: Opaque) -> Result<Arc<Context>> {
        let mut contexts = CONTEXTS.lock();
        let contexts = contexts.get_or_insert_default();
        if let Some(context) = contexts.get(&(handle as usize)) {
            return Ok(context.clone());
        }
        let current = enter(calls, handle)?;
        let copies = new_stream(calls)?;
        drop(current);
        let (joins, pinned, lanes) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (begun, returned) = (AtomicU64::new(0), AtomicU64::new(0));
        let context = Arc::new(Context { calls, handle, copies, joins, pinned, lanes, begun, returned });
        contexts.insert(handle as usize, context.clone());
        Ok(context)
    }

    /// The primary context of a GPU, by its number: that of libraries which make none of their own. It is retained until the process ends.
    pub fn of_device(number: i32) -> Result<Arc<Context>> {
        let calls = calls()?;
        let (mut device, mut handle): (c_int, Opaque) = (0, null_mut());
        // SAFETY: each writes one value.
        unsafe {
            call!(calls, get_device(&raw mut device, number))?;
            call!(calls, retain_primary(&raw mut handle, device))?;
        }
        Context::of_handle(calls, handle)
    }

    /// The calling thread's current context.
    pub(crate) fn current() -> Result<Arc<Context>> {
        let calls = calls()?;
        let mut handle = null_mut();
        // SAFETY: it writes one handle.
        unsafe { call!(calls, current_context(&raw mut handle))? };
        if handle.is_null() {
            let why =
                "this thread uses no GPU yet, so which one's default stream is meant cannot be told; give a stream that you have made";
            return Err(GpuError::Invalid(why.into()));
        }
        Context::of_handle(calls, handle)
    }

    /// Make it current.
    pub(crate) fn enter(&self) -> Result<Current> {
        enter(self.calls, self.handle)
    }

    /// As [`Context::enter`], for a copy and the wait for it. When the copies do not return, [`release_stuck`] sees it.
    pub(crate) fn enter_copy(&self) -> Result<(Current, Copy<'_>)> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let copy = Copy(self);
        copy.0.enter().map(|current| (current, copy))
    }

    /// A stream that a library can make wait for its own, with [`Joined::handle`], and that the caller then waits for.
    pub fn join(self: &Arc<Self>) -> Result<Joined> {
        let known = self.joins.lock().pop();
        let stream = match known {
            Some(join) => join.0,
            None => {
                let _current = self.enter()?;
                new_stream(self.calls)?
            }
        };
        Ok(Joined { context: self.clone(), stream })
    }
}

/// A copy is under way while this lives.
pub(crate) struct Copy<'a>(&'a Context);

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        self.0.returned.fetch_add(1, Ordering::Relaxed);
    }
}

/// Start the thread that calls [`release_stuck`], once.
pub(crate) fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let _hold = towpath_system::signals::Hold::new(); // signals belong to the program's own threads
        let run = || {
            let mut seen = HashMap::new();
            loop {
                std::thread::sleep(LOOK);
                release_stuck(&mut seen);
            }
        };
        if let Err(why) = std::thread::Builder::new().name("towpath-gpu".into()).spawn(run) {
            log::error!("starting the thread that watches copies: {why}");
        }
    });
}

/// Release the streams of each context in which no copy has returned for too long, although one is under way. A copy may wait for another
/// thread's call, and that for a stream that a transfer holds, which waits for the copy.
fn release_stuck(seen: &mut HashMap<usize, (u64, u32)>) {
    let contexts: Vec<Arc<Context>> = CONTEXTS.lock().iter().flat_map(HashMap::values).cloned().collect();
    for context in contexts {
        let returned = context.returned.load(Ordering::Relaxed);
        let (before, looks) = seen.entry(context.handle as usize).or_insert((returned, 0));
        if *before != returned || context.begun.load(Ordering::Relaxed) == returned {
            (*before, *looks) = (returned, 0);
            continue;
        }
        *looks += 1;
        if *looks >= PATIENCE {
            *looks = 0;
            context.lanes.lock().release_all();
        }
    }
}

/// A stream of this crate's own that waits for others.
pub struct Joined {
    context: Arc<Context>,
    stream: Opaque,
}

// SAFETY: a handle of the library's, which any thread may use.
unsafe impl Send for Joined {}

impl Joined {
    /// The stream, as libraries name it.
    pub fn handle(&self) -> usize {
        self.stream as usize
    }

    /// Wait until everything that the stream waits for is done.
    pub fn wait(self) -> Result<()> {
        let _current = self.context.enter()?;
        // SAFETY: a stream of this context.
        unsafe { call!(self.context.calls, wait_stream(self.stream)) }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.context.joins.lock().push(Join(self.stream));
    }
}
