// SPDX-License-Identifier: Apache-2.0
//! A context of a GPU's: made current around calls, and with what this crate keeps there.

use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::calls::{call, calls, Calls, Opaque, STREAM_NON_BLOCKING};
use crate::pinned::{Block, Spare};
use crate::stream::Lanes;
use crate::{GpuError, Result};

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
    /// The same of shadows.
    pub(crate) spares: Mutex<Vec<Spare>>,
    pub(crate) lanes: Mutex<Lanes>,
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
        let (joins, pinned, spares, lanes) = Default::default();
        let context = Arc::new(Context { calls, handle, copies, joins, pinned, spares, lanes });
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
