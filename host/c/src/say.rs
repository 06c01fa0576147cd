// SPDX-License-Identifier: Apache-2.0
//! The library's output besides its results: its log, and lines of text from the simulator.

use crate::border::c_text;
use crate::{call, towpath_status};
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, PoisonError, RwLock};

/// How much is logged: everything up to this level.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_log_level {
    /// Nothing.
    TOWPATH_LOG_OFF = 0,
    /// Errors: what must not happen.
    TOWPATH_LOG_ERROR = 1,
    /// Warnings: what may be wrong.
    TOWPATH_LOG_WARN = 2,
    /// Events; in simulation also what the user core prints.
    TOWPATH_LOG_INFO = 3,
    /// Details for finding a fault.
    TOWPATH_LOG_DEBUG = 4,
    /// Everything.
    TOWPATH_LOG_TRACE = 5,
}

/// Receives a line of the library's log: its level (towpath_log_level), the part of the library that it comes from, and the text. Both
/// texts are the library's, and are valid until this returns. `context` is the pointer that was passed to towpath_set_log().
pub type towpath_log_callback = Option<unsafe extern "C" fn(context: *mut c_void, level: u32, source: *const c_char, text: *const c_char)>;

/// Receives a line of text, which is the library's and valid until this returns. `context` is the pointer that was passed together with
/// this function.
pub type towpath_text_callback = Option<unsafe extern "C" fn(context: *mut c_void, text: *const c_char)>;

/// The caller's pointer, on its way to a function of the caller's.
struct Context(*mut c_void);

// SAFETY: the library does not look at what it points to, and the header promises that the function may be called from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

struct Sink {
    callback: unsafe extern "C" fn(*mut c_void, u32, *const c_char, *const c_char),
    context: Context,
}

/// The log's callback. Locked for reading during each call, so that none runs after a change.
static SINK: RwLock<Option<Sink>> = RwLock::new(None);

thread_local! {
    /// This thread is in the callback: log lines that the callback itself causes are dropped, which prevents an endless recursion.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

struct Log;

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) || TELLING.try_with(|telling| telling.replace(true)).unwrap_or(true) {
            return;
        }
        if let Some(sink) = &*SINK.read().unwrap_or_else(PoisonError::into_inner) {
            let (source, text) = (c_text(record.target()), c_text(&record.args().to_string()));
            // SAFETY: a function that the caller passed for this; the header defines how it is called.
            unsafe { (sink.callback)(sink.context.0, record.level() as u32, source.as_ptr(), text.as_ptr()) };
        }
        let _ = TELLING.try_with(|telling| telling.set(false));
    }

    fn flush(&self) {}
}

/// Send the library's log to `callback`, for the whole process, up to `level` (towpath_log_level). Without this call, or with NULL as the
/// callback, nothing is logged. Another call replaces the callback.
///
/// The callback may be called from any thread, also from threads of the library's own, by several at once, and by any function of the
/// library. It must return soon, use no handle of this library, and not end by longjmp() or a C++ exception. The library logs nothing that
/// a running callback causes. When this function returns, the callback that was set before is not running, and will not be called again.
///
/// TOWPATH_INVALID if `level` is not a level, or if called from within a callback of the log.
#[no_mangle]
pub unsafe extern "C" fn towpath_set_log(callback: towpath_log_callback, context: *mut c_void, level: u32) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_set_log", |c| {
            let mut levels = [log::LevelFilter::Off].into_iter().chain(log::Level::iter().map(|level| level.to_level_filter()));
            let level = levels.nth(level as usize).ok_or_else(|| c.invalid(format_args!("level {level} is none: give 0 to 5")))?;
            if TELLING.get() {
                return Err(c.invalid("called from within a callback of the log: set it elsewhere"));
            }
            let sink = callback.map(|callback| Sink { callback, context: Context(context) });
            log::set_max_level(if sink.is_some() { level } else { log::LevelFilter::Off });
            *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
            // The second time it is ours already.
            let _ = log::set_logger(&Log);
            Ok(())
        })
    }
}

/// The caller's function, in the library's type.
pub(crate) fn text_sink(callback: towpath_text_callback, context: *mut c_void) -> Option<towpath::TextSink> {
    let (callback, context) = (callback?, Context(context));
    Some(Arc::new(move |line: &str| {
        let Context(context) = &context;
        // SAFETY: a function that the caller passed for this; the header defines how it is called.
        unsafe { callback(*context, c_text(line).as_ptr()) };
    }))
}
