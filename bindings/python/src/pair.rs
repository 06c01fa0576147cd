// SPDX-License-Identifier: Apache-2.0
//! Pairs: a stream of one card that sends to a stream of another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use towpath::{PairOptions, WaitOptions};

use crate::argument::{optional, Limit};
use crate::card::Card;
use crate::channel::Channel;
use crate::error;
use crate::waiting::{at_once, release, waiting};

/// How long closing a card waits for what is on its way to another one, or from it.
const CLOSE_LIMIT: Duration = Duration::from_millis(100);

/// The library's pair keeps both cards open: it goes when they are taken apart.
enum State {
    Paired(towpath::Pair),
    Parted(towpath::Parted),
}

/// A pair as its object and both cards share it. Only locked without the interpreter's lock.
pub struct Held(Mutex<State>);

impl Held {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn part(&self, options: WaitOptions<'_>) -> towpath::Result<towpath::Parted> {
        let mut state = self.lock();
        let parted = match &mut *state {
            State::Paired(pair) => pair.disconnect(options)?,
            State::Parted(parted) => return Ok(parted.clone()),
        };
        *state = State::Parted(parted.clone());
        Ok(parted)
    }

    /// One of the cards is closed.
    pub fn end(&self) {
        let _ = self.part(WaitOptions { timeout: Some(CLOSE_LIMIT), interrupted: Some(&|| false) });
    }
}

#[pyclass(frozen, weakref, module = "towpath._towpath")]
pub struct Pair {
    /// None only while it is dropped.
    held: Option<Arc<Held>>,
    source: Arc<Card>,
    card: Arc<Card>,
    names: [String; 2],
    slot_bytes: u32,
}

impl Drop for Pair {
    fn drop(&mut self) {
        release(self.held.take());
    }
}

impl Pair {
    fn held(&self) -> towpath::Result<&Arc<Held>> {
        self.held.as_ref().ok_or_else(Card::closed)
    }

    fn part(&self, py: Python<'_>, timeout: Limit) -> PyResult<towpath::Parted> {
        waiting(py, &self.card, timeout, |options| {
            // Closing the other card waits for this call, so it ends this call, too.
            let is_over = || self.source.is_closed() || options.interrupted.is_some_and(|is_over| is_over());
            match self.held()?.part(WaitOptions { timeout: options.timeout, interrupted: Some(&is_over) }) {
                Err(towpath::Error::Interrupted { .. }) if self.source.is_closed() => Err(Card::closed()),
                parted => parted,
            }
        })
    }
}

#[pymethods]
impl Pair {
    #[new]
    #[pyo3(signature = (source, sink, /, *, slot_bytes=None))]
    fn new(py: Python<'_>, source: PyRef<'_, Channel>, sink: PyRef<'_, Channel>, slot_bytes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let options = PairOptions { slot_bytes: optional("slot_bytes", slot_bytes, u32::MAX)? };
        let ((from, out), (to, into)) = (source.place(), sink.place());
        let names = [out.name.clone(), into.name.clone()];
        let made = at_once(py, || {
            let pair = towpath::connect_with(&*from.receiver(out.index, None)?, &*to.sender(into.index, None)?, options)?;
            let slot_bytes = pair.slot_bytes();
            let held = Arc::new(Held(Mutex::new(State::Paired(pair))));
            if !(from.hold(&held) && to.hold(&held)) {
                held.end();
                return Err(Card::closed());
            }
            Ok((held, slot_bytes))
        });
        let (held, slot_bytes) = made?;
        Ok(Pair { held: Some(held), source: from.clone(), card: to.clone(), names, slot_bytes })
    }

    #[pyo3(signature = (*, timeout=Limit::USUAL), text_signature = "($self, *, timeout=10.0)")]
    fn disconnect<'py>(&self, py: Python<'py>, timeout: Limit) -> PyResult<Bound<'py, PyAny>> {
        let parted = self.part(py, timeout)?;
        error::tuple(py, "Parted", (parted.arrived, parted.taken, parted.cut, parted.fault.map(|fault| fault.to_string())))
    }

    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = at_once(py, || match &*self.held()?.lock() {
            State::Paired(pair) => pair.status(),
            State::Parted(_) => {
                Err(towpath::Error::Invalid("the pair is disconnected; what became of it is what `disconnect` returns".into()))
            }
        })?;
        let fault = status.fault.map(|fault| fault.to_string());
        error::tuple(py, "PairStatus", (status.slots_sent, status.slots_arrived, status.is_open, status.is_waiting, fault))
    }

    #[getter]
    fn connected(&self, py: Python<'_>) -> PyResult<bool> {
        at_once(py, || Ok(matches!(&*self.held()?.lock(), State::Paired(_))))
    }

    #[getter]
    fn slot_bytes(&self) -> u32 {
        self.slot_bytes
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        let parted = self.part(py, Limit::USUAL)?;
        // An exception that is under way says more.
        match parted.fault.filter(|_| raised.iter().all(|one| one.is_none())) {
            Some(fault) => Err(error::of_class(py, "DeviceError", &format!("\"{}\" to \"{}\": {fault}", self.names[0], self.names[1]))),
            None => Ok(()),
        }
    }

    fn __repr__(&self) -> String {
        format!("<towpath.Pair of \"{}\" to \"{}\">", self.names[0], self.names[1])
    }
}
