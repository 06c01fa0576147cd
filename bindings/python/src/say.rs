// SPDX-License-Identifier: Apache-2.0
//! What the library has to say, in Python's ways: its log goes to `logging`, lines of text to callables.

use std::sync::{Arc, Once};

use pyo3::prelude::*;
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

/// The library's log as records of the logger "towpath", which decides what is shown.
struct Logging;

impl log::Log for Logging {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = match record.level() {
            log::Level::Error => 40,
            log::Level::Warn => 30,
            log::Level::Info => 20,
            log::Level::Debug | log::Level::Trace => 10,
        };
        let text = record.args().to_string();
        let _ = Python::try_attach(|py| {
            let logged = py
                .import("logging")
                .and_then(|logging| logging.call_method1("getLogger", ("towpath",)))
                .and_then(|logger| logger.call_method1("log", (level, "%s", text)));
            if let Err(error) = logged {
                error.write_unraisable(py, None);
            }
        });
    }

    fn flush(&self) {}
}

/// Once a process; where the command line has set its own logger, that one stays.
pub fn log_to_python() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if log::set_logger(&Logging).is_ok() {
            log::set_max_level(log::LevelFilter::Info);
        }
    });
}
