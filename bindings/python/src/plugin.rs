// SPDX-License-Identifier: Apache-2.0
//! Plug-ins beside the user core.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use towpath::{ChannelName, OnFault, PluginInfo, TlpEntry, TlpFilter, TlpStream};

use crate::argument;
use crate::card::{Card, Device};
use crate::error;
use crate::waiting::{at_once, beside};

/// A plug-in's info as Python's tuple.
pub fn info_tuple<'py>(py: Python<'py>, plugin: &PluginInfo) -> PyResult<Bound<'py, PyAny>> {
    error::tuple(py, "PluginInfo", (plugin.index, &plugin.type_name, plugin.version, plugin.offset, plugin.bytes))
}

#[pyclass(subclass, frozen, module = "towpath._towpath")]
pub struct Plugin {
    card: Arc<Card>,
    info: PluginInfo,
}

impl Plugin {
    pub(crate) fn find(device: &Bound<'_, Device>, plugin: &Bound<'_, PyAny>) -> PyResult<Plugin> {
        let (py, card, name) = (device.py(), device.get().card().clone(), argument::channel(plugin)?);
        let found = at_once(py, || Ok(card.device()?.plugin(name)))?;
        let info = found.map_err(|e| error::of_class(py, "NotFoundError", &e.to_string()))?.info().clone();
        Ok(Plugin { card, info })
    }

    pub(crate) fn open(&self) -> towpath::Result<towpath::Plugin> {
        self.card.device()?.plugin(ChannelName::Index(self.info.index.into()))
    }

    fn reset(&self) -> towpath::Result<towpath::Reset> {
        towpath::Reset::new(self.open()?)
    }

    fn clock(&self) -> towpath::Result<towpath::Clock> {
        towpath::Clock::new(self.open()?)
    }

    fn log(&self) -> towpath::Result<towpath::TlpLog> {
        towpath::TlpLog::new(self.open()?)
    }
}

#[pymethods]
impl Plugin {
    #[new]
    fn new(device: &Bound<'_, Device>, plugin: &Bound<'_, PyAny>) -> PyResult<Self> {
        Plugin::find(device, plugin)
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        info_tuple(py, &self.info)
    }

    fn __getitem__(&self, py: Python<'_>, offset: &Bound<'_, PyAny>) -> PyResult<u32> {
        let offset = argument::number("offset", offset, u32::MAX)?;
        at_once(py, || self.open()?.read(offset))
    }

    fn __setitem__(&self, py: Python<'_>, offset: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (offset, value) = (argument::number("offset", offset, u32::MAX)?, argument::number("value", value, u32::MAX)?);
        at_once(py, || self.open()?.write(offset, value))
    }
}

/// What `on_fault` is in Python.
const ON_FAULT: [(&str, OnFault); 3] = [("count", OnFault::Count), ("start", OnFault::Start), ("hold", OnFault::Hold)];

#[pyclass(subclass, frozen, extends = Plugin, module = "towpath._towpath")]
pub struct Reset;

impl Reset {
    fn call<T: Send>(slf: &PyRef<'_, Self>, call: impl FnOnce(&towpath::Reset) -> towpath::Result<T> + Send) -> PyResult<T> {
        let plugin: &Plugin = slf.as_super();
        at_once(slf.py(), || call(&plugin.reset()?))
    }

    /// As `call`, where it may take long.
    fn wait(slf: &PyRef<'_, Self>, call: impl FnOnce(&towpath::Reset) -> towpath::Result<()> + Send) -> PyResult<()> {
        let plugin: &Plugin = slf.as_super();
        beside(slf.py(), || call(&plugin.reset()?))
    }
}

#[pymethods]
impl Reset {
    #[new]
    fn new(device: &Bound<'_, Device>, plugin: &Bound<'_, PyAny>) -> PyResult<PyClassInitializer<Self>> {
        let found = Plugin::find(device, plugin)?;
        at_once(device.py(), || found.reset())?;
        Ok(PyClassInitializer::from(found).add_subclass(Reset))
    }

    fn pulse(slf: PyRef<'_, Self>) -> PyResult<()> {
        Reset::wait(&slf, towpath::Reset::pulse)
    }

    fn hold(slf: PyRef<'_, Self>) -> PyResult<()> {
        Reset::call(&slf, towpath::Reset::hold)
    }

    fn release(slf: PyRef<'_, Self>) -> PyResult<()> {
        Reset::wait(&slf, towpath::Reset::release)
    }

    #[getter]
    fn status(slf: PyRef<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let status = Reset::call(&slf, towpath::Reset::status)?;
        error::tuple(slf.py(), "ResetStatus", (status.is_busy, status.is_held, status.is_fault, status.asserted))
    }

    #[getter]
    fn outputs(slf: PyRef<'_, Self>) -> PyResult<u32> {
        Reset::call(&slf, towpath::Reset::outputs)
    }

    #[getter]
    fn length(slf: PyRef<'_, Self>) -> PyResult<u32> {
        Reset::call(&slf, towpath::Reset::length)
    }

    #[setter]
    fn set_length(slf: PyRef<'_, Self>, clocks: &Bound<'_, PyAny>) -> PyResult<()> {
        let clocks = argument::number("length", clocks, u32::MAX)?;
        Reset::call(&slf, |reset| reset.set_length(clocks))
    }

    fn delay(slf: PyRef<'_, Self>, output: &Bound<'_, PyAny>) -> PyResult<u32> {
        let output = argument::number("output", output, u32::MAX)?;
        Reset::call(&slf, |reset| reset.delay(output))
    }

    fn set_delay(slf: PyRef<'_, Self>, output: &Bound<'_, PyAny>, clocks: &Bound<'_, PyAny>) -> PyResult<()> {
        let (output, clocks) = (argument::number("output", output, u32::MAX)?, argument::number("clocks", clocks, u32::MAX)?);
        Reset::call(&slf, |reset| reset.set_delay(output, clocks))
    }

    #[getter]
    fn on_fault(slf: PyRef<'_, Self>) -> PyResult<&'static str> {
        let does = Reset::call(&slf, towpath::Reset::on_fault)?;
        Ok(ON_FAULT.iter().find(|(_, known)| *known == does).map_or("", |(name, _)| name))
    }

    #[setter]
    fn set_on_fault(slf: PyRef<'_, Self>, does: &Bound<'_, PyAny>) -> PyResult<()> {
        const ALLOWED: &str = "\"count\", \"start\" or \"hold\"";
        let wanted = argument::text("on_fault", does, ALLOWED)?;
        match ON_FAULT.iter().find(|(name, _)| *name == wanted) {
            Some((_, does)) => Reset::call(&slf, |reset| reset.set_on_fault(*does)),
            None => Err(error::usage(slf.py(), &format!("on_fault {wanted:?}: make it {ALLOWED}"))),
        }
    }

    #[getter]
    fn sequences(slf: PyRef<'_, Self>) -> PyResult<u32> {
        Reset::call(&slf, towpath::Reset::sequences)
    }

    #[getter]
    fn faults(slf: PyRef<'_, Self>) -> PyResult<u32> {
        Reset::call(&slf, towpath::Reset::faults)
    }
}

#[pyclass(subclass, frozen, extends = Plugin, module = "towpath._towpath")]
pub struct Clock;

impl Clock {
    /// Whatever it does may wait for the card.
    fn call<T: Send>(slf: &PyRef<'_, Self>, call: impl FnOnce(&towpath::Clock) -> towpath::Result<T> + Send) -> PyResult<T> {
        let plugin: &Plugin = slf.as_super();
        beside(slf.py(), || call(&plugin.clock()?))
    }
}

#[pymethods]
impl Clock {
    #[new]
    fn new(device: &Bound<'_, Device>, plugin: &Bound<'_, PyAny>) -> PyResult<PyClassInitializer<Self>> {
        let found = Plugin::find(device, plugin)?;
        at_once(device.py(), || found.clock())?;
        Ok(PyClassInitializer::from(found).add_subclass(Clock))
    }

    #[getter]
    fn frequencies_khz(slf: PyRef<'_, Self>) -> PyResult<Vec<u32>> {
        Clock::call(&slf, towpath::Clock::frequencies_khz)
    }

    fn input_of_mhz(slf: PyRef<'_, Self>, mhz: f64) -> PyResult<u32> {
        Clock::call(&slf, |clock| clock.input_of_mhz(mhz))
    }

    fn select(slf: PyRef<'_, Self>, input: &Bound<'_, PyAny>) -> PyResult<()> {
        let input = argument::number("input", input, u32::MAX)?;
        Clock::call(&slf, |clock| clock.select(input))
    }

    fn select_and_hold(slf: PyRef<'_, Self>, input: &Bound<'_, PyAny>) -> PyResult<()> {
        let input = argument::number("input", input, u32::MAX)?;
        Clock::call(&slf, |clock| clock.select_and_hold(input))
    }

    fn release(slf: PyRef<'_, Self>) -> PyResult<()> {
        Clock::call(&slf, towpath::Clock::release)
    }

    #[getter]
    fn status(slf: PyRef<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let status = Clock::call(&slf, towpath::Clock::status)?;
        error::tuple(slf.py(), "ClockStatus", (status.is_busy, status.is_held, status.is_astray, status.current, status.running))
    }
}

/// A packet as Python's tuple.
fn packet<'py>(py: Python<'py>, entry: &TlpEntry) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("number", entry.number)?;
    fields.set_item("time_ps", entry.time_ps)?;
    fields.set_item("stream", entry.stream.name())?;
    fields.set_item("after_loss", entry.is_after_loss)?;
    fields.set_item("address", entry.extent().0)?;
    fields.set_item("length", entry.extent().1)?;
    fields.set_item("bar", entry.bar)?;
    fields.set_item("tag", entry.tag)?;
    fields.set_item("byte_count", entry.byte_count)?;
    fields.set_item("outcome", entry.outcome())?;
    fields.set_item("requester", entry.requester)?;
    fields.set_item("traffic_class", entry.traffic_class)?;
    fields.set_item("attributes", entry.attributes)?;
    fields.set_item("first", PyBytes::new(py, &entry.first_bytes()))?;
    error::named(py, "TlpEntry", fields)
}

#[pyclass(subclass, frozen, extends = Plugin, module = "towpath._towpath")]
pub struct TlpLog;

impl TlpLog {
    fn call<T: Send>(slf: &PyRef<'_, Self>, call: impl FnOnce(&towpath::TlpLog) -> towpath::Result<T> + Send) -> PyResult<T> {
        let plugin: &Plugin = slf.as_super();
        at_once(slf.py(), || call(&plugin.log()?))
    }
}

#[pymethods]
impl TlpLog {
    #[new]
    fn new(device: &Bound<'_, Device>, plugin: &Bound<'_, PyAny>) -> PyResult<PyClassInitializer<Self>> {
        let found = Plugin::find(device, plugin)?;
        at_once(device.py(), || found.log())?;
        Ok(PyClassInitializer::from(found).add_subclass(TlpLog))
    }

    #[getter]
    fn depth(slf: PyRef<'_, Self>) -> PyResult<u32> {
        TlpLog::call(&slf, |log| Ok(log.depth()))
    }

    #[getter]
    fn running(slf: PyRef<'_, Self>) -> PyResult<bool> {
        TlpLog::call(&slf, towpath::TlpLog::is_running)
    }

    fn start(slf: PyRef<'_, Self>) -> PyResult<()> {
        TlpLog::call(&slf, towpath::TlpLog::start)
    }

    fn stop(slf: PyRef<'_, Self>) -> PyResult<()> {
        TlpLog::call(&slf, towpath::TlpLog::stop)
    }

    fn clear(slf: PyRef<'_, Self>) -> PyResult<()> {
        TlpLog::call(&slf, towpath::TlpLog::clear)
    }

    #[getter]
    fn counts(slf: PyRef<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let counts = TlpLog::call(&slf, towpath::TlpLog::counts)?;
        error::tuple(slf.py(), "TlpCounts", (counts.logged, counts.overwritten, counts.dropped))
    }

    #[getter]
    fn filter(slf: PyRef<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let filter = TlpLog::call(&slf, towpath::TlpLog::filter)?;
        let streams = PyTuple::new(slf.py(), filter.streams.iter().map(|stream| stream.name()))?;
        let bars = PyTuple::new(slf.py(), filter.bars)?;
        error::tuple(slf.py(), "TlpFilter", (streams, bars, *filter.addresses.start(), *filter.addresses.end()))
    }

    #[setter]
    fn set_filter(slf: PyRef<'_, Self>, filter: &Bound<'_, PyAny>) -> PyResult<()> {
        let (names, bars, first, last) = filter.extract::<(Vec<String>, Vec<u8>, u64, u64)>()?;
        let known = TlpStream::ALL.map(TlpStream::name).join(", ");
        let stream = |name: &String| {
            let found = TlpStream::ALL.into_iter().find(|stream| stream.name() == name);
            found.ok_or_else(|| error::usage(slf.py(), &format!("stream {name:?}: there are {known}")))
        };
        let streams = names.iter().map(stream).collect::<PyResult<Vec<_>>>()?;
        let filter = TlpFilter { streams, bars, addresses: first..=last };
        TlpLog::call(&slf, |log| log.set_filter(&filter))
    }

    #[pyo3(signature = (first = None))]
    fn entries<'py>(slf: PyRef<'py, Self>, first: Option<u64>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let found = TlpLog::call(&slf, |log| {
            let entries = first.map_or_else(|| log.entries(), |first| log.entries_from(first));
            entries.collect::<towpath::Result<Vec<_>>>()
        })?;
        found.iter().map(|entry| packet(slf.py(), entry)).collect()
    }
}
