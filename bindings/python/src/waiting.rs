// SPDX-License-Identifier: Apache-2.0
//! Calls into the library: without the interpreter's lock, and open to signals.

use std::sync::{mpsc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use towpath::WaitOptions;
use towpath_system::process;

use crate::argument::Limit;
use crate::card::Card;
use crate::error;

/// How long an interrupt from the keyboard may go unnoticed while a device is opened.
const LOOK: Duration = Duration::from_millis(50);

/// Make a call that may wait, without the interpreter's lock. The main thread, which alone runs signal handlers, polls for them while it
/// waits; the call ends when one raises, and when the device is closed. No byte that it has moved by then is lost: a receive keeps it for
/// the next call.
pub fn waiting<T: Send>(
    py: Python<'_>,
    card: &Card,
    limit: Limit,
    call: impl FnOnce(WaitOptions<'_>) -> towpath::Result<T> + Send,
) -> PyResult<T> {
    match waited(py, card, limit, call) {
        (Ok(value), None) => Ok(value),
        (Err(_), Some(raised)) => Err(raised),
        (Err(towpath::Error::Interrupted { .. }), None) if card.is_closed() => Err(error::raise(py, Card::closed())),
        (Err(error), None) => Err(error::raise(py, error)),
        // It ended at the moment of the signal. Its result must not be lost; the exception follows directly.
        (Ok(value), Some(raised)) => follow(py, &raised).map(|()| value),
    }
}

/// As [`waiting`]: how the call ended, and what a signal handler has raised meanwhile.
pub fn waited<T: Send>(
    py: Python<'_>,
    card: &Card,
    limit: Limit,
    call: impl FnOnce(WaitOptions<'_>) -> towpath::Result<T> + Send,
) -> (towpath::Result<T>, Option<PyErr>) {
    let is_main = process::is_main_thread();
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let is_over = || {
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        if is_main && raised.is_none() {
            *raised = Python::attach(|py| py.check_signals()).err();
        }
        raised.is_some() || card.is_closed()
    };
    let done = py.detach(|| call(WaitOptions { timeout: limit.0, interrupted: Some(&is_over) }));
    (done, raised.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Raise this exception in this thread, the main one, as soon as it runs bytecode.
pub fn follow(py: Python<'_>, raised: &PyErr) -> PyResult<()> {
    // SAFETY: this thread holds the interpreter's lock, and is the one with this number.
    unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(main_thread(py)?, raised.get_type(py).as_ptr()) };
    Ok(())
}

fn main_thread(py: Python<'_>) -> PyResult<std::ffi::c_long> {
    py.import("threading")?.call_method0("get_ident")?.extract()
}

/// Make a call that does not wait for the program's own doing, without the interpreter's lock.
pub fn at_once<T: Send>(py: Python<'_>, call: impl FnOnce() -> towpath::Result<T> + Send) -> PyResult<T> {
    py.detach(call).map_err(|error| error::raise(py, error))
}

/// Make a call that cannot be interrupted beside this thread, if this is the main one, so that signal handlers run meanwhile.
pub fn beside<T: Send>(py: Python<'_>, call: impl FnOnce() -> towpath::Result<T> + Send) -> PyResult<T> {
    if !process::is_main_thread() {
        return at_once(py, call);
    }
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, answer) = mpsc::sync_channel(1);
            scope.spawn(move || done.send(call()));
            loop {
                match answer.recv_timeout(LOOK) {
                    Ok(result) => return result.map_err(|e| Python::attach(|py| error::raise(py, e))),
                    Err(mpsc::RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                    // The call panicked, which is a fault of the library's; the scope passes the panic on.
                    Err(mpsc::RecvTimeoutError::Disconnected) => {
                        return Err(pyo3::exceptions::PyRuntimeError::new_err("the call into the library failed"));
                    }
                }
            }
        })
    })
}

/// Drop something of the library's without the interpreter's lock: see the rules in `lib.rs`.
pub fn release<T: Send>(value: T) {
    Python::attach(|py| py.detach(move || drop(value)));
}
