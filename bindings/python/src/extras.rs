// SPDX-License-Identifier: Apache-2.0
//! The user core's registers and interrupts.

use std::os::fd::AsRawFd;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};

use crate::argument::{self, Limit, Place};
use crate::card::Card;
use crate::error;
use crate::waiting::{at_once, waiting};

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Registers {
    pub card: Arc<Card>,
}

impl Registers {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        register: &Bound<'_, PyAny>,
        call: impl FnOnce(&towpath::Registers, u32) -> towpath::Result<T> + Send,
    ) -> PyResult<T> {
        let window = at_once(py, || Ok(self.card.device()?.registers().bytes()))?;
        let offset = match Place::of(register, window)? {
            Place::Offset(offset) => offset,
            Place::Name(name) => {
                let found = at_once(py, || Ok(self.card.device()?.registers().offset(&name)))?;
                found.map_err(|e| error::of_class(py, "NotFoundError", &e.to_string()))?
            }
        };
        at_once(py, || call(&self.card.device()?.registers(), offset))
    }
}

#[pymethods]
impl Registers {
    fn __getitem__(&self, py: Python<'_>, register: &Bound<'_, PyAny>) -> PyResult<u32> {
        self.with(py, register, |registers, offset| registers.read(offset))
    }

    fn __setitem__(&self, py: Python<'_>, register: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = argument::number("value", value, u32::MAX)?;
        self.with(py, register, |registers, offset| registers.write(offset, value))
    }

    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let known = at_once(py, || Ok(self.card.device()?.info().register_names.clone()))?;
        let names = PyDict::new(py);
        for (name, offset) in known {
            names.set_item(name, offset)?;
        }
        Ok(names)
    }
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Interrupts {
    pub card: Arc<Card>,
}

impl Interrupts {
    fn number(&self, py: Python<'_>) -> PyResult<u16> {
        at_once(py, || Ok(self.card.device()?.interrupts().number()))
    }
}

#[pymethods]
impl Interrupts {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.number(py)?.into())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let all = (0..self.number(py)?).map(|number| Interrupt { card: self.card.clone(), number });
        PyTuple::new(py, all.collect::<Vec<_>>())?.try_iter()
    }

    fn __getitem__(&self, py: Python<'_>, number: &Bound<'_, PyAny>) -> PyResult<Interrupt> {
        let there = self.number(py)?;
        match argument::interrupt(number)? {
            (Some(number), _) if number < there => Ok(Interrupt { card: self.card.clone(), number }),
            (_, number) => {
                let what = format!("no interrupt {number}; this core has {there}, counted from 0");
                Err(error::of_class(py, "NoInterruptError", &what))
            }
        }
    }
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Interrupt {
    card: Arc<Card>,
    #[pyo3(get)]
    number: u16,
}

#[pymethods]
impl Interrupt {
    #[pyo3(signature = (timeout=Limit::USUAL), text_signature = "($self, timeout=10.0)")]
    fn wait(&self, py: Python<'_>, timeout: Limit) -> PyResult<u32> {
        waiting(py, &self.card, timeout, |options| self.card.device()?.interrupts().wait_with(self.number, options))
    }

    fn count(&self, py: Python<'_>) -> PyResult<u32> {
        at_once(py, || self.card.device()?.interrupts().count(self.number))
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        at_once(py, || self.card.device()?.interrupts().event_fd(self.number).map(|event| event.as_raw_fd()))
    }
}
