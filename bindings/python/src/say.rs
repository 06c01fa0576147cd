// SPDX-License-Identifier: Apache-2.0
//! What the library has to say, in Python's ways: its log goes to `logging`, lines of text to callables.

use std::sync::{Arc, Once};

use pyo3::prelude::*;
use pyo3_log::{Caching, Logger};
use towpath::TextSink;

/// A callable that takes lines. May be called from any thread; what it raises is reported as unraisable.
pub fn sink(callable: Option<Py<PyAny>>) -> Option<TextSink> {
    let callable = callable?;
    Some(Arc::new(move |line: &str| {
        // Nobody listens any more while the interpreter ends.
        let _ = Python::try_attach(|py| {
            if let Err(error) = callable.call1(py, (line,)) {
                error.write_unraisable(py, Some(callable.bind(py)));
            }
        });
    }))
}

/// The library's log as records of `logging`; module `towpath_driver::user` is the logger "towpath_driver.user". Any thread may log, for none
/// that is in the library holds the interpreter's lock: see the rules in `lib.rs`.
struct Logging(Logger);

impl log::Log for Logging {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn log(&self, record: &log::Record<'_>) {
        // Nobody listens any more while the interpreter ends.
        let _ = Python::try_attach(|py| {
            let earlier = PyErr::take(py);
            self.0.log(record);
            // The logger leaves what a filter or a handler has raised to whoever looks next, which may be a call that has succeeded.
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
