// SPDX-License-Identifier: Apache-2.0
//! The user core's registers and interrupts.

use std::os::fd::AsRawFd;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};

use crate::card::{duration, release, waiting, Device};
use crate::error;

/// A register as Python names it.
#[derive(FromPyObject)]
pub enum Place {
    Offset(u32),
    Name(String),
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Registers {
    pub device: Py<Device>,
}

impl Registers {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        place: Place,
        call: impl FnOnce(&towpath::Registers, u32) -> towpath::Result<T> + Send,
    ) -> PyResult<T> {
        let device = self.device.get().device(py)?;
        let registers = device.registers();
        release(device);
        let offset = match place {
            Place::Offset(offset) => Ok(offset),
            Place::Name(name) => registers.offset(&name).map_err(|e| error::not_found(py, &e.to_string())),
        };
        py.detach(|| {
            let done = offset.map(|offset| call(&registers, offset));
            drop(registers);
            done
        })?
        .map_err(|e| error::raise(py, e))
    }
}

#[pymethods]
impl Registers {
    fn __getitem__(&self, py: Python<'_>, register: Place) -> PyResult<u32> {
        self.with(py, register, |registers, offset| registers.read(offset))
    }

    fn __setitem__(&self, py: Python<'_>, register: Place, value: u32) -> PyResult<()> {
        self.with(py, register, |registers, offset| registers.write(offset, value))
    }

    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let device = self.device.get().device(py)?;
        let names = PyDict::new(py);
        for (name, offset) in &device.info().register_names {
            names.set_item(name, offset)?;
        }
        release(device);
        Ok(names)
    }
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Interrupts {
    pub device: Py<Device>,
}

impl Interrupts {
    fn number(&self, py: Python<'_>) -> PyResult<u16> {
        let device = self.device.get().device(py)?;
        let number = device.interrupts().number();
        release(device);
        Ok(number)
    }
}

#[pymethods]
impl Interrupts {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.number(py)?.into())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let all = (0..self.number(py)?).map(|number| Interrupt { device: self.device.clone_ref(py), number });
        PyTuple::new(py, all.collect::<Vec<_>>())?.try_iter()
    }

    fn __getitem__(&self, py: Python<'_>, number: i64) -> PyResult<Interrupt> {
        let there = self.number(py)?;
        match u16::try_from(number) {
            Ok(number) if number < there => Ok(Interrupt { device: self.device.clone_ref(py), number }),
            _ => Err(error::exception(
                py,
                "NoInterruptError",
                &format!("no interrupt {number}; this core has {there}, counted from 0"),
                None,
                0,
                None,
            )),
        }
    }
}

#[pyclass(frozen, module = "towpath._towpath")]
pub struct Interrupt {
    device: Py<Device>,
    #[pyo3(get)]
    number: u16,
}

impl Interrupt {
    fn interrupts(&self, py: Python<'_>) -> PyResult<towpath::UserInterrupts> {
        let device = self.device.get().device(py)?;
        let interrupts = device.interrupts();
        release(device);
        Ok(interrupts)
    }
}

#[pymethods]
impl Interrupt {
    #[pyo3(signature = (timeout=10.0))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<u32> {
        let timeout = duration(py, timeout)?;
        let interrupts = self.interrupts(py)?;
        waiting(py, timeout, move |options| interrupts.wait_with(self.number, options))
    }

    fn count(&self, py: Python<'_>) -> PyResult<u32> {
        let interrupts = self.interrupts(py)?;
        py.detach(move || interrupts.count(self.number)).map_err(|e| error::raise(py, e))
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        let interrupts = self.interrupts(py)?;
        py.detach(|| {
            let fd = interrupts.event_fd(self.number).map(|event| event.as_raw_fd());
            drop(interrupts);
            fd
        })
        .map_err(|e| error::raise(py, e))
    }
}
