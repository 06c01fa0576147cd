// SPDX-License-Identifier: Apache-2.0
//! Tickets: transfers in flight.

use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use towpath::{Buffer, Completion, Direction, MemoryHalf, MemoryInfo, Receiver, Sender, Status};

use crate::argument::Limit;
use crate::card::Card;
use crate::error;
use crate::waiting::{at_once, waiting};

/// How long the thread that has a result may take to file it.
const FILED: Duration = Duration::from_secs(10);

/// The channel of a ticket.
#[derive(Clone)]
pub enum End {
    H2c(Arc<Sender>),
    C2h(Arc<Receiver>),
    Memory(MemoryHalf),
}

/// What a ticket of a memory reads or writes. It outlives the transfer, so nothing in it keeps the memory open.
pub struct Place {
    pub memory: MemoryInfo,
    pub direction: Direction,
    pub address: u64,
    pub bytes: u64,
}

/// The same call on either.
macro_rules! on {
    ($end:expr, $channel:ident => $call:expr) => {
        match $end {
            $crate::ticket::End::H2c($channel) => $call,
            $crate::ticket::End::C2h($channel) => $call,
            $crate::ticket::End::Memory($channel) => $call,
        }
    };
}
pub(crate) use on;

/// The state of a ticket: the library returns a result once, Python may request it again.
enum Transfer {
    // The buffer is only held.
    InFlight(towpath::Ticket, End, #[allow(dead_code)] Arc<Buffer>),
    Ended(Completion),
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Ticket {
    card: Arc<Card>,
    channel: String,
    /// Of a memory: what is read or written.
    place: Option<Place>,
    /// None only while it is dropped. Only locked without the interpreter's lock, and never while a call waits for the card.
    transfer: Mutex<Option<Transfer>>,
    /// The result was filed.
    ended: Condvar,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let transfer = self.transfer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Transfer::InFlight(ticket, end, buffer)) = transfer {
            Python::attach(|py| {
                py.detach(move || {
                    on!(&end, channel => channel.abandon_ticket(ticket));
                    drop((end, buffer));
                });
            });
        }
    }
}

impl Ticket {
    pub fn new(card: &Arc<Card>, channel: &str, end: End, ticket: towpath::Ticket, buffer: Arc<Buffer>) -> Self {
        let transfer = Mutex::new(Some(Transfer::InFlight(ticket, end, buffer)));
        Ticket { card: card.clone(), channel: channel.into(), place: None, transfer, ended: Condvar::new() }
    }

    /// As [`Ticket::new`], of a memory.
    pub fn of_memory(card: &Arc<Card>, half: &MemoryHalf, place: Place, ticket: towpath::Ticket, buffer: Arc<Buffer>) -> Self {
        let mut ticket = Ticket::new(card, half.name(), End::Memory(half.clone()), ticket, buffer);
        ticket.place = Some(place);
        ticket
    }

    fn transfer(&self) -> MutexGuard<'_, Option<Transfer>> {
        self.transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result, by `ask` if the library has not returned it yet. Of several threads that request it, one collects it from the library
    /// and files it here.
    fn result(
        &self,
        ask: impl FnOnce(&End, towpath::Ticket) -> towpath::Result<Option<Completion>>,
    ) -> towpath::Result<Option<Completion>> {
        let (ticket, end) = match &*self.transfer() {
            None => return Ok(None),
            Some(Transfer::Ended(completion)) => return Ok(Some(*completion)),
            Some(Transfer::InFlight(ticket, end, _)) => (*ticket, end.clone()),
        };
        match ask(&end, ticket) {
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
        at_once(py, || self.result(|end, ticket| on!(end, channel => channel.try_wait_ticket(ticket))))
    }

    fn received<'py>(&self, py: Python<'py>, completion: Completion) -> PyResult<Bound<'py, PyAny>> {
        if let Some(Place { memory, direction, address, bytes }) = &self.place {
            memory.check(*direction, completion, *address, *bytes).map_err(|e| error::raise(py, e))?;
        }
        let done = completion.check(&self.channel, 0).map_err(|e| error::raise(py, e))?;
        error::tuple(py, "Received", (done.bytes, done.status == Status::EndOfMessage, done.offset, done.user))
    }
}

#[pymethods]
impl Ticket {
    #[getter]
    fn channel(&self) -> &str {
        &self.channel
    }

    #[pyo3(signature = (timeout=Limit::USUAL), text_signature = "($self, timeout=10.0)")]
    fn wait<'py>(&self, py: Python<'py>, timeout: Limit) -> PyResult<Bound<'py, PyAny>> {
        let waited = waiting(py, &self.card, timeout, |options| {
            self.result(|end, ticket| on!(end, channel => channel.wait_ticket(ticket, options)).map(Some))
        });
        let completion = match waited {
            // Closing the device has ended it.
            Err(error) if self.card.is_closed() => self.try_result(py)?.ok_or(error)?,
            other => other?.ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("the ticket is being dropped"))?,
        };
        self.received(py, completion)
    }

    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.try_result(py)?.map(|completion| self.received(py, completion)).transpose()
    }

    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.try_result(py)?.is_some())
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || {
            let in_flight = match &*self.transfer() {
                Some(Transfer::InFlight(ticket, end, _)) => Some((*ticket, end.clone())),
                _ => None,
            };
            in_flight.map_or(Ok(()), |(ticket, end)| on!(&end, channel => channel.cancel_ticket(ticket)))
        })
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        let in_flight = py.detach(|| match &*self.transfer() {
            Some(Transfer::InFlight(_, end, _)) => Some(end.clone()),
            _ => None,
        });
        let Some(end) = in_flight else {
            return Err(error::usage(py, "the ticket is done and reports no further event; ask for its result"));
        };
        at_once(py, move || on!(&end, channel => channel.event_fd()).map(|event| event.as_raw_fd()))
    }
}
