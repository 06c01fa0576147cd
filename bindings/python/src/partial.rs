// SPDX-License-Identifier: Apache-2.0
//! Plug-in `partial`.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use towpath::{Error, PartialImage, PartialProgress};

use crate::argument;
use crate::card::Device;
use crate::error;
use crate::plugin::Plugin;
use crate::say;
use crate::waiting::{at_once, beside};

#[pyclass(subclass, frozen, extends = Plugin, module = "towpath._towpath")]
pub struct Partial;

impl Partial {
    fn of(plugin: &Plugin) -> towpath::Result<towpath::Partial> {
        towpath::Partial::new(plugin.open()?)
    }

    fn call<T: Send>(slf: &PyRef<'_, Self>, call: impl FnOnce(&towpath::Partial) -> towpath::Result<T> + Send) -> PyResult<T> {
        let plugin: &Plugin = slf.as_super();
        at_once(slf.py(), || call(&Partial::of(plugin)?))
    }
}

#[pymethods]
impl Partial {
    #[new]
    fn new(device: &Bound<'_, Device>, plugin: &Bound<'_, PyAny>) -> PyResult<PyClassInitializer<Self>> {
        let found = Plugin::find(device, plugin)?;
        at_once(device.py(), || Partial::of(&found))?;
        Ok(PyClassInitializer::from(found).add_subclass(Partial))
    }

    /// `progress` is called with two numbers, `reset` without, if channels are to be cut. What `progress` raises is unraisable; what `reset` raises
    /// ends the load.
    fn load_file(slf: PyRef<'_, Self>, file: PathBuf, progress: Option<Py<PyAny>>, reset: Option<Py<PyAny>>) -> PyResult<()> {
        let plugin: &Plugin = slf.as_super();
        let told = |now: PartialProgress| {
            let Some(progress) = &progress else { return };
            say::call(|py| {
                if let Err(error) = progress.call1(py, (now.bytes, now.total)) {
                    error.write_unraisable(py, Some(progress.bind(py)));
                }
            });
        };
        let mut raised = None;
        let done = beside(slf.py(), || {
            let (partial, image) = (Partial::of(plugin)?, PartialImage::read(&file)?);
            let Some(reset) = &reset else { return partial.load(&image, told) };
            partial.load_cutting(&image, told, || {
                say::call(|py| raised = reset.call0(py).err());
                raised.as_ref().map_or(Ok(()), |_| Err(Error::Invalid("the channels' reset failed".into())))
            })
        });
        raised.map_or(done, Err)
    }

    #[getter]
    fn core_name(slf: PyRef<'_, Self>) -> PyResult<Option<String>> {
        Partial::call(&slf, towpath::Partial::core_name)
    }

    #[getter]
    fn loads(slf: PyRef<'_, Self>) -> PyResult<u32> {
        Partial::call(&slf, towpath::Partial::loads)
    }

    #[getter]
    fn status(slf: PyRef<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let status = Partial::call(&slf, towpath::Partial::status)?;
        let outcome = status.outcome.map(towpath::PartialOutcome::name);
        error::tuple(slf.py(), "PartialStatus", (status.is_loading, status.is_decoupled, status.is_whole, status.is_midway, outcome))
    }

    #[staticmethod]
    #[pyo3(signature = (core_name, words = None))]
    fn simulated_image<'py>(py: Python<'py>, core_name: &str, words: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
        let words = words.map_or(Ok(1024), |words| argument::number("words", words, 1u32 << 24))?;
        let image = at_once(py, || PartialImage::simulated(core_name, words))?;
        Ok(PyBytes::new(py, &image.to_bytes()))
    }
}
