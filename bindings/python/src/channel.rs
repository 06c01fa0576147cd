// SPDX-License-Identifier: Apache-2.0
//! Tickets: transfers in flight.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use towpath::{Buffer, Completion, Receiver, Sender, Status};

use crate::card::{blocking, duration, release};
use crate::error;

/// The channel of a ticket.
#[derive(Clone)]
pub enum End {
    H2c(Arc<Sender>),
    C2h(Arc<Receiver>),
}

/// The same call on either.
macro_rules! on {
    ($end:expr, $channel:ident => $call:expr) => {
        match $end {
            End::H2c($channel) => $call,
            End::C2h($channel) => $call,
        }
    };
}

/// What a ticket stands for: the library tells a result once, Python may ask again.
enum Transfer {
    InFlight(towpath::Ticket, #[allow(dead_code)] Buffer), // the buffer is only held
    Ended(Completion),
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Ticket {
    /// None only while it is dropped.
    end: Option<End>,
    /// Only locked without the interpreter's lock.
    transfer: Mutex<Option<Transfer>>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let transfer = self.transfer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        release((self.end.take(), transfer));
    }
}

impl Ticket {
    pub fn new(end: End, ticket: towpath::Ticket, buffer: Buffer) -> Self {
        Ticket { end: Some(end), transfer: Mutex::new(Some(Transfer::InFlight(ticket, buffer))) }
    }

    fn end(&self) -> PyResult<&End> {
        self.end.as_ref().ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("the ticket is being dropped"))
    }

    /// The result, by `ask` if the library has not told it yet.
    fn result(&self, ask: impl FnOnce(towpath::Ticket) -> towpath::Result<Option<Completion>>) -> towpath::Result<Option<Completion>> {
        let mut transfer = self.transfer.lock().unwrap_or_else(PoisonError::into_inner);
        match &*transfer {
            None => Ok(None),
            Some(Transfer::Ended(completion)) => Ok(Some(*completion)),
            Some(Transfer::InFlight(ticket, _)) => {
                let found = ask(*ticket)?;
                if let Some(completion) = found {
                    *transfer = Some(Transfer::Ended(completion));
                }
                Ok(found)
            }
        }
    }

    fn try_result(&self, py: Python<'_>) -> PyResult<Option<Completion>> {
        let end = self.end()?;
        py.detach(|| self.result(|ticket| on!(end, channel => channel.try_wait(ticket)))).map_err(|e| error::raise(py, e))
    }

    fn received<'py>(&self, py: Python<'py>, completion: Completion) -> PyResult<Bound<'py, PyAny>> {
        let done = completion.check(on!(self.end()?, channel => channel.name()), 0).map_err(|e| error::raise(py, e))?;
        error::tuple(py, "Received", (done.bytes, done.status == Status::EndOfMessage, done.offset, done.user))
    }
}

#[pymethods]
impl Ticket {
    #[getter]
    fn channel(&self) -> PyResult<&str> {
        Ok(on!(self.end()?, channel => channel.name()))
    }

    #[pyo3(signature = (timeout=10.0))]
    fn wait<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let timeout: Option<Duration> = duration(py, timeout)?;
        let end = self.end()?;
        let cancel = || drop(on!(end, channel => channel.cancel()));
        let completion = blocking(py, cancel, || self.result(|ticket| on!(end, channel => channel.wait(ticket, timeout)).map(Some)))?;
        let completion = completion.ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("the ticket is being dropped"))?;
        self.received(py, completion)
    }

    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.try_result(py)?.map(|completion| self.received(py, completion)).transpose()
    }

    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.try_result(py)?.is_some())
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let end = self.end()?;
        py.detach(|| on!(end, channel => channel.cancel())).map_err(|e| error::raise(py, e))
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        let end = self.end()?;
        py.detach(|| on!(end, channel => channel.event_fd())).map_err(|e| error::raise(py, e))
    }
}
