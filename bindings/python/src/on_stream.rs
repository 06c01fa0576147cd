// SPDX-License-Identifier: Apache-2.0
//! Transfers in the order of a GPU's stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use towpath::{OnStream, Received};

use crate::argument::Limit;
use crate::card::Card;
use crate::channel::received_tuple;
use crate::error;
use crate::waiting::waiting;

/// What a transfer gives.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// Bytes that went to the card or came from a memory; they were staged.
    Moved(usize, bool),
    Received(Received),
}

impl Outcome {
    pub fn to_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Outcome::Moved(bytes, false) => Ok(bytes.into_pyobject(py)?.into_any()),
            Outcome::Moved(bytes, true) => error::tuple(py, "Staged", (bytes,)),
            Outcome::Received(got) => received_tuple(py, got),
        }
    }
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct StreamTransfer {
    card: Arc<Card>,
    channel: String,
    transfer: OnStream<Outcome>,
    /// The result, once it was asked for.
    result: Mutex<Option<Result<Outcome, PyErr>>>,
}

impl StreamTransfer {
    pub fn new(card: &Arc<Card>, channel: &str, transfer: OnStream<Outcome>) -> Self {
        if card.is_closed() {
            transfer.cancel(); // the close may have come before it
        }
        StreamTransfer { card: card.clone(), channel: channel.into(), transfer, result: Mutex::new(None) }
    }

    fn known<'py>(&self, py: Python<'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        match &*self.result.lock().unwrap_or_else(PoisonError::into_inner) {
            None => None,
            Some(Ok(outcome)) => Some(outcome.to_python(py)),
            Some(Err(error)) => Some(Err(error.clone_ref(py))),
        }
    }

    fn keep(&self, result: Result<Outcome, PyErr>) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    fn look(&self, py: Python<'_>) {
        if let Some(result) = py.detach(|| self.transfer.try_wait()) {
            self.keep(result.map_err(|error| error::raise(py, error)));
        }
    }
}

#[pymethods]
impl StreamTransfer {
    #[getter]
    fn channel(&self) -> &str {
        &self.channel
    }

    #[pyo3(signature = (timeout=Limit::USUAL), text_signature = "($self, timeout=10.0)")]
    fn wait<'py>(&self, py: Python<'py>, timeout: Limit) -> PyResult<Bound<'py, PyAny>> {
        let began = std::time::Instant::now();
        loop {
            self.look(py);
            if let Some(result) = self.known(py) {
                return result;
            }
            let left = timeout.0.map(|limit| limit.saturating_sub(began.elapsed()));
            match waiting(py, &self.card, Limit(left), |options| Ok(self.transfer.wait(options)))? {
                Ok(outcome) => self.keep(Ok(outcome)),
                // Another thread has taken it, and is about to keep it.
                Err(towpath::Error::UnknownTicket { .. }) => py.detach(|| std::thread::sleep(Duration::from_micros(100))),
                Err(towpath::Error::Pending { channel, .. }) => {
                    return Err(error::raise(py, towpath::Error::Pending { channel, after: timeout.0.unwrap_or_default() }));
                }
                Err(error @ towpath::Error::Interrupted { .. }) => return Err(error::raise(py, error)),
                Err(error) => self.keep(Err(error::raise(py, error))),
            }
        }
    }

    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.look(py);
        self.known(py).transpose()
    }

    fn done(&self, py: Python<'_>) -> bool {
        self.look(py);
        self.known(py).is_some()
    }

    fn cancel(&self) {
        self.transfer.cancel();
    }

    fn __repr__(&self) -> String {
        format!("<towpath.StreamTransfer on channel \"{}\">", self.channel)
    }
}
