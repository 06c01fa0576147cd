// SPDX-License-Identifier: Apache-2.0
//! Tickets: transfers in flight.

use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use towpath::{Buffer, Completion, Receiver, Sender, Status};

use crate::card::{duration, release, waiting};
use crate::error;

/// How long the thread that has a result may take to file it.
const FILED: Duration = Duration::from_secs(10);

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

/// What a ticket stands for: the library returns a result once, Python may ask again.
enum Transfer {
    InFlight(towpath::Ticket, #[allow(dead_code)] Buffer), // the buffer is only held
    Ended(Completion),
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Ticket {
    /// None only while it is dropped.
    end: Option<End>,
    /// Only locked without the interpreter's lock, and never while a call waits for the card.
    transfer: Mutex<Option<Transfer>>,
    /// The result was filed.
    ended: Condvar,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let transfer = self.transfer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(Transfer::InFlight(ticket, _)), Some(end)) = (&transfer, &self.end) {
            on!(end, channel => channel.abandon_ticket(*ticket));
        }
        release((self.end.take(), transfer));
    }
}

impl Ticket {
    pub fn new(end: End, ticket: towpath::Ticket, buffer: Buffer) -> Self {
        Ticket { end: Some(end), transfer: Mutex::new(Some(Transfer::InFlight(ticket, buffer))), ended: Condvar::new() }
    }

    fn end(&self) -> PyResult<&End> {
        self.end.as_ref().ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("the ticket is being dropped"))
    }

    fn transfer(&self) -> MutexGuard<'_, Option<Transfer>> {
        self.transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result, by `ask` if the library has not returned it yet. Of several threads that ask, one gets it from the library and files it here.
    fn result(&self, ask: impl FnOnce(towpath::Ticket) -> towpath::Result<Option<Completion>>) -> towpath::Result<Option<Completion>> {
        let ticket = match &*self.transfer() {
            None => return Ok(None),
            Some(Transfer::Ended(completion)) => return Ok(Some(*completion)),
            Some(Transfer::InFlight(ticket, _)) => *ticket,
        };
        match ask(ticket) {
            Ok(Some(completion)) => {
                let before = self.transfer().replace(Transfer::Ended(completion));
                self.ended.notify_all();
                drop(before); // gives the buffer back
                Ok(Some(completion))
            }
            Err(towpath::Error::UnknownTicket { .. }) => {
                // Another thread has just got it.
                let in_flight = |transfer: &mut Option<Transfer>| matches!(transfer, Some(Transfer::InFlight(..)));
                let filed = self.ended.wait_timeout_while(self.transfer(), FILED, in_flight).unwrap_or_else(PoisonError::into_inner).0;
                Ok(match &*filed {
                    Some(Transfer::Ended(completion)) => Some(*completion),
                    _ => None,
                })
            }
            other => other,
        }
    }

    fn try_result(&self, py: Python<'_>) -> PyResult<Option<Completion>> {
        let end = self.end()?;
        py.detach(|| self.result(|ticket| on!(end, channel => channel.try_wait_ticket(ticket)))).map_err(|e| error::raise(py, e))
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
        let completion =
            waiting(py, timeout, |options| self.result(|ticket| on!(end, channel => channel.wait_ticket(ticket, options)).map(Some)))?;
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
        let cancel = || match &*self.transfer() {
            Some(Transfer::InFlight(ticket, _)) => on!(end, channel => channel.cancel_ticket(*ticket)),
            _ => Ok(()),
        };
        py.detach(cancel).map_err(|e| error::raise(py, e))
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        let end = self.end()?;
        py.detach(|| on!(end, channel => channel.event_fd()).map(|event| event.as_raw_fd())).map_err(|e| error::raise(py, e))
    }
}
