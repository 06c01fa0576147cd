// SPDX-License-Identifier: Apache-2.0
//! The library's output in Python: its log goes to `logging`, lines of text to callables.
//!
//! Any thread may call this at any time, also while the interpreter ends. From then on no callable is called: [`Listeners`] ensures that no
//! thread is in Python code that was called from here. The reason: before 3.14 Python ends a thread that then takes its lock by
//! `pthread_exit`, which unwinds the stack, and to unwind Rust's part of it aborts the program.

use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3_log::{Caching, Logger};
use towpath::TextSink;

/// How long the interpreter's end waits for callables that run on other threads, so that one that never returns does not keep the program.
const PATIENCE: Duration = Duration::from_secs(5);

/// The Python code that is called from the library.
struct Listeners {
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    running: usize,
    ended: bool,
}

static LISTENERS: Listeners = Listeners { state: Mutex::new(State { running: 0, ended: false }), left: Condvar::new() };

impl Listeners {
    /// Calls Python, unless the interpreter ends.
    fn call(&self, listener: impl FnOnce(Python<'_>)) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.ended {
                return;
            }
            state.running += 1;
        }
        let _ = Python::try_attach(listener);
        self.state.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
        self.left.notify_all();
    }

    /// Starts no further calls, and waits for those that run. Call it without the interpreter's lock, which they need.
    fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ended = true;
        let _ = self.left.wait_timeout_while(state, PATIENCE, |state| state.running > 0);
    }
}

#[pyfunction]
fn end(py: Python<'_>) {
    py.detach(|| LISTENERS.end());
}

/// Call it once, when the module is made: `atexit` runs while all threads still run.
pub fn end_with_python(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.py().import("atexit")?.call_method1("register", (wrap_pyfunction!(end, module)?,))?;
    Ok(())
}

/// Call Python from any thread, unless the interpreter ends: then nothing is called.
pub fn call(listener: impl FnOnce(Python<'_>)) {
    LISTENERS.call(listener);
}

/// A callable that receives lines. Any thread may call it; an exception that it raises is reported as unraisable.
pub fn sink(callable: Option<Py<PyAny>>) -> Option<TextSink> {
    let callable = callable?;
    Some(Arc::new(move |line: &str| {
        LISTENERS.call(|py| {
            if let Err(error) = callable.call1(py, (line,)) {
                error.write_unraisable(py, Some(callable.bind(py)));
            }
        });
    }))
}

/// The library's log as records of `logging`; module `towpath_userspace` is the logger "towpath_userspace". Any thread may log, because no
/// thread in the library holds the interpreter's lock: see the rules in `lib.rs`.
struct Logging(Logger);

impl log::Log for Logging {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn log(&self, record: &log::Record<'_>) {
        LISTENERS.call(|py| {
            let earlier = PyErr::take(py);
            self.0.log(record);
            // The logger leaves an exception of a filter or a handler pending, which could surface in a call that has succeeded.
            if let Some(error) = PyErr::take(py) {
                error.write_unraisable(py, None);
            }
            if let Some(earlier) = earlier {
                earlier.restore(py);
            }
        });
    }

    fn flush(&self) {}
}

/// Once a process; where the command line has set its own logger, that one stays.
pub fn log_to_python(py: Python<'_>) -> PyResult<()> {
    static ONCE: Once = Once::new();
    if ONCE.is_completed() {
        return Ok(());
    }
    // Levels are not kept: a program may change them at any time, and messages are rare.
    let logger = Logger::new(py, Caching::Loggers)?;
    ONCE.call_once(|| {
        if log::set_boxed_logger(Box::new(Logging(logger))).is_ok() {
            log::set_max_level(log::LevelFilter::Debug);
        }
    });
    Ok(())
}
