// SPDX-License-Identifier: Apache-2.0
//! The user core's memories.

use std::io::{IoSlice, IoSliceMut};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};
use towpath::{Access, Direction, MemoryInfo, WaitOptions};

use crate::argument::{self, Limit};
use crate::card::{Card, Device};
use crate::error;
use crate::export::{Memory, Ready, Way};
use crate::gpu;
use crate::on_stream::{Outcome, StreamTransfer};
use crate::ticket::{Place, Ticket};
use crate::waiting::{at_once, waiting};

/// A memory's info as Python's tuple.
pub fn info_tuple<'py>(py: Python<'py>, memory: &MemoryInfo) -> PyResult<Bound<'py, PyAny>> {
    error::tuple(py, "MemoryInfo", (&memory.name, memory.bytes, memory.writer, memory.reader))
}

/// A part of a card's memory, as a buffer for another card's calls.
#[pyclass(frozen, module = "towpath._towpath")]
pub struct WindowPart {
    card: Arc<Card>,
    info: MemoryInfo,
    range: Range<u64>,
}

impl WindowPart {
    pub fn memory(&self, py: Python<'_>) -> PyResult<Memory> {
        let window = at_once(py, || self.card.memory(&self.info)?.window())?;
        Ok(Memory::Peer(window, self.range.clone()))
    }
}

#[pymethods]
impl WindowPart {
    fn __len__(&self) -> usize {
        (self.range.end - self.range.start) as usize
    }

    fn __repr__(&self) -> String {
        format!("<towpath.WindowPart of {}, bytes {:#x} to {:#x}>", self.info.name, self.range.start, self.range.end)
    }
}

#[pyclass(subclass, frozen, module = "towpath._towpath")]
pub struct CardMemory {
    card: Arc<Card>,
    info: MemoryInfo,
}

impl CardMemory {
    /// The bytes that an index or a slice means, and whether it is a slice.
    fn range(&self, part: &Bound<'_, PyAny>) -> PyResult<(u64, usize, bool)> {
        let py = part.py();
        if let Ok(slice) = part.cast::<PySlice>() {
            let indices = slice.indices(isize::try_from(self.info.bytes).unwrap_or(isize::MAX))?;
            if indices.step != 1 {
                let what = format!("a memory has no {}; it has bytes, and slices without a step", part.repr()?);
                return Err(error::usage(py, &what));
            }
            let length = (indices.stop - indices.start).max(0).unsigned_abs();
            return Ok((indices.start.unsigned_abs() as u64, length, true));
        }
        let address = argument::number("address", part, self.info.bytes.saturating_sub(1))?;
        Ok((address, 1, false))
    }

    fn fetch<'py>(&self, py: Python<'py>, address: u64, length: usize, timeout: Limit) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| error::raise(py, towpath::Error::Memory { bytes: length as u64 }))?;
        bytes.resize(length, 0);
        let read =
            |options: WaitOptions<'_>| self.card.memory(&self.info)?.read_at_with(&mut [IoSliceMut::new(&mut bytes)], address, options);
        waiting(py, &self.card, timeout, read)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn store(&self, py: Python<'_>, address: u64, memory: Memory, timeout: Limit) -> PyResult<()> {
        waiting(py, &self.card, timeout, move |options| {
            let to = self.card.memory(&self.info)?;
            match &memory.ready(to.device(), Access::Read)? {
                // SAFETY: for this call alone; see `Exported::bytes` about other threads.
                Ready::Plain(exported) => to.write_at_with(&[IoSlice::new(unsafe { exported.bytes() })], address, options),
                Ready::Registered(part) => to.write_buffer_at_with(&part.buffer, part.range.clone(), address, options),
            }
        })
    }
}

#[pymethods]
impl CardMemory {
    #[new]
    fn new(py: Python<'_>, device: PyRef<'_, Device>, memory: &Bound<'_, PyAny>) -> PyResult<Self> {
        let card = device.card().clone();
        let info = card.find_memory(py, &argument::channel(memory)?)?;
        Ok(CardMemory { card, info })
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        info_tuple(py, &self.info)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.info.name
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.info.bytes).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("<towpath.CardMemory \"{}\" ({:#x} bytes)>", self.info.name, self.info.bytes)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, part: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (address, length, is_slice) = self.range(part)?;
        let bytes = self.fetch(py, address, length, Limit::USUAL)?;
        if is_slice {
            return Ok(bytes.into_any());
        }
        bytes.get_item(0)
    }

    fn __setitem__(&self, py: Python<'_>, part: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (address, length, is_slice) = self.range(part)?;
        if !is_slice {
            let byte = argument::number("value", value, u8::MAX)?;
            let write =
                move |options: WaitOptions<'_>| self.card.memory(&self.info)?.write_at_with(&[IoSlice::new(&[byte])], address, options);
            return waiting(py, &self.card, Limit::USUAL, write);
        }
        let memory = Memory::to_send(value, Way::default())?;
        if memory.len() != length {
            let what = format!("{} bytes for a part of {length}; a memory keeps its size, so give as many bytes", memory.len());
            return Err(error::usage(py, &what));
        }
        self.store(py, address, memory, Limit::USUAL)
    }

    #[pyo3(signature = (address, length, *, timeout=Limit::USUAL), text_signature = "($self, address, length, *, timeout=10.0)")]
    fn read<'py>(
        &self,
        py: Python<'py>,
        address: &Bound<'py, PyAny>,
        length: &Bound<'py, PyAny>,
        timeout: Limit,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let address = argument::number("address", address, self.info.bytes)?;
        let length = argument::number("length", length, self.info.bytes - address)?;
        self.fetch(py, address, usize::try_from(length).unwrap_or(usize::MAX), timeout)
    }

    #[pyo3(
        signature = (buffer, address, *, timeout=Limit::USUAL, stream=None, staged=argument::Staged(false)),
        text_signature = "($self, buffer, address, *, timeout=10.0, stream=None, staged=False)"
    )]
    fn read_into<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
        address: &Bound<'_, PyAny>,
        timeout: Limit,
        stream: Option<&Bound<'_, PyAny>>,
        staged: argument::Staged,
    ) -> PyResult<Bound<'py, PyAny>> {
        let address = argument::number("address", address, self.info.bytes)?;
        let way = Way { stream: stream.map(gpu::stream).transpose()?, staged: staged.0 };
        let memory = Memory::to_receive(buffer, way)?;
        let outcome = Outcome::Moved(memory.len(), memory.is_staged());
        if let Some(handle) = way.stream {
            let transfer = at_once(py, || {
                let from = self.card.memory(&self.info)?;
                let stream = memory.stream(handle)?;
                let part = memory.register(from.device(), Access::Write)?;
                let half = from.reads().clone();
                let buffer = part.buffer.clone();
                half.on_stream(&stream, &buffer, move |is_over| {
                    let options = WaitOptions { timeout: timeout.0, interrupted: Some(is_over) };
                    // SAFETY: no slice of it is made here; about other threads see `Exported::bytes`.
                    unsafe { from.read_buffer_at_shared(&part.buffer, part.range.clone(), address, options)? };
                    Ok(outcome)
                })
            })?;
            return Ok(StreamTransfer::new(&self.card, &self.info.name, transfer).into_pyobject(py)?.into_any());
        }
        waiting(py, &self.card, timeout, move |options| {
            let from = self.card.memory(&self.info)?;
            match &memory.ready(from.device(), Access::Write)? {
                // SAFETY: for this call alone, and writable; see `Exported::bytes` about other threads.
                Ready::Plain(exported) => from.read_at_with(&mut [IoSliceMut::new(unsafe { exported.bytes_mut() })], address, options),
                // SAFETY: no slice of it is made here; about other threads as above.
                Ready::Registered(part) => unsafe { from.read_buffer_at_shared(&part.buffer, part.range.clone(), address, options) },
            }
        })?;
        outcome.to_python(py)
    }

    #[pyo3(
        signature = (address, buffer, *, timeout=Limit::USUAL, stream=None, staged=argument::Staged(false)),
        text_signature = "($self, address, buffer, *, timeout=10.0, stream=None, staged=False)"
    )]
    fn write<'py>(
        &self,
        py: Python<'py>,
        address: &Bound<'_, PyAny>,
        buffer: &Bound<'py, PyAny>,
        timeout: Limit,
        stream: Option<&Bound<'_, PyAny>>,
        staged: argument::Staged,
    ) -> PyResult<Bound<'py, PyAny>> {
        let address = argument::number("address", address, self.info.bytes)?;
        let way = Way { stream: stream.map(gpu::stream).transpose()?, staged: staged.0 };
        let memory = Memory::to_send(buffer, way)?;
        let outcome = Outcome::Moved(memory.len(), memory.is_staged());
        if let Some(handle) = way.stream {
            let transfer = at_once(py, || {
                let to = self.card.memory(&self.info)?;
                let stream = memory.stream(handle)?;
                let part = memory.register(to.device(), Access::Read)?;
                let half = to.writes().clone();
                let buffer = part.buffer.clone();
                half.on_stream(&stream, &buffer, move |is_over| {
                    let options = WaitOptions { timeout: timeout.0, interrupted: Some(is_over) };
                    to.write_buffer_at_with(&part.buffer, part.range.clone(), address, options)?;
                    Ok(outcome)
                })
            })?;
            return Ok(StreamTransfer::new(&self.card, &self.info.name, transfer).into_pyobject(py)?.into_any());
        }
        self.store(py, address, memory, timeout)?;
        outcome.to_python(py)
    }

    #[pyo3(signature = (buffer, address, *, timeout=Limit::USUAL), text_signature = "($self, buffer, address, *, timeout=10.0)")]
    fn submit_read(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>, address: &Bound<'_, PyAny>, timeout: Limit) -> PyResult<Ticket> {
        let address = argument::number("address", address, self.info.bytes)?;
        let memory = Memory::to_receive(buffer, Way::default())?;
        waiting(py, &self.card, timeout, move |options| {
            let from = self.card.memory(&self.info)?;
            let part = memory.register(from.device(), Access::Write)?;
            // SAFETY: no slice of the buffer is made here; about other threads see `Exported::bytes`.
            let transfer = unsafe { from.submit_read_shared(&part.buffer, part.range.clone(), address, Some(options))? };
            let place = Place { memory: self.info.clone(), direction: Direction::C2h, address, bytes: part.range.len() as u64 };
            Ok(Ticket::of_memory(&self.card, from.reads(), place, transfer.detach(), part.buffer))
        })
    }

    #[pyo3(signature = (address, buffer, *, timeout=Limit::USUAL), text_signature = "($self, address, buffer, *, timeout=10.0)")]
    fn submit_write(&self, py: Python<'_>, address: &Bound<'_, PyAny>, buffer: &Bound<'_, PyAny>, timeout: Limit) -> PyResult<Ticket> {
        let address = argument::number("address", address, self.info.bytes)?;
        let memory = Memory::to_send(buffer, Way::default())?;
        waiting(py, &self.card, timeout, move |options| {
            let to = self.card.memory(&self.info)?;
            let part = memory.register(to.device(), Access::Read)?;
            let transfer = to.submit_write_with(&part.buffer, part.range.clone(), address, Some(options))?;
            let place = Place { memory: self.info.clone(), direction: Direction::H2c, address, bytes: part.range.len() as u64 };
            Ok(Ticket::of_memory(&self.card, to.writes(), place, transfer.detach(), part.buffer))
        })
    }

    /// For `_memory.py`: its window, if it has one.
    fn _window(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || self.card.memory(&self.info)?.window().map(drop))
    }

    /// For `_memory.py`: as `__getitem__`, by its window.
    fn _load<'py>(&self, py: Python<'py>, part: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (address, length, is_slice) = self.range(part)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| error::raise(py, towpath::Error::Memory { bytes: length as u64 }))?;
        bytes.resize(length, 0);
        at_once(py, || self.card.memory(&self.info)?.window()?.read_at(&mut bytes, address))?;
        let bytes = PyBytes::new(py, &bytes);
        if is_slice {
            return Ok(bytes.into_any());
        }
        bytes.get_item(0)
    }

    /// For `_memory.py`: as `__setitem__`, by its window.
    fn _store(&self, py: Python<'_>, part: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (address, length, is_slice) = self.range(part)?;
        if !is_slice {
            let byte = argument::number("value", value, u8::MAX)?;
            return at_once(py, || self.card.memory(&self.info)?.window()?.write_at(&[byte], address));
        }
        let memory = Memory::to_send(value, Way::default())?;
        if memory.len() != length {
            let what = format!("{} bytes for a part of {length}; a memory keeps its size, so give as many bytes", memory.len());
            return Err(error::usage(py, &what));
        }
        at_once(py, || {
            let window = self.card.memory(&self.info)?.window()?;
            match &memory.ready(&self.card.device()?, Access::Read)? {
                // SAFETY: for this call alone; see `Exported::bytes` about other threads.
                Ready::Plain(exported) => window.write_at(unsafe { exported.bytes() }, address),
                Ready::Registered(part) => window.write_at(&part.buffer.as_slice()?[part.range.clone()], address),
            }
        })
    }

    /// For `_memory.py`: some of it as a buffer of another card.
    fn _part(&self, py: Python<'_>, part: &Bound<'_, PyAny>) -> PyResult<WindowPart> {
        let (address, length, _) = self.range(part)?;
        at_once(py, || self.card.memory(&self.info)?.window().map(drop))?;
        Ok(WindowPart { card: self.card.clone(), info: self.info.clone(), range: address..address + length as u64 })
    }

    /// For `_memory.py`.
    fn _flush(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || self.card.memory(&self.info)?.window()?.flush())
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || self.card.memory(&self.info)?.cancel_all())
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || self.card.memory(&self.info)?.reset())
    }

    /// For `_memory.py`: all these bytes are in the memory.
    fn _within(&self, address: &Bound<'_, PyAny>, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let address = argument::number("address", address, self.info.bytes)?;
        argument::number("length", bytes, self.info.bytes - address).map(drop)
    }

    /// For `_memory.py`: what asyncio needs of the writes, or of the reads.
    fn _fileno(&self, py: Python<'_>, writes: bool) -> PyResult<i32> {
        at_once(py, || {
            let memory = self.card.memory(&self.info)?;
            let half = if writes { memory.writes() } else { memory.reads() };
            half.event_fd().map(|event| event.as_raw_fd())
        })
    }

    /// For `_memory.py`: from now on the eventfd signals news.
    fn _arm(&self, py: Python<'_>, writes: bool) -> PyResult<()> {
        at_once(py, || {
            let memory = self.card.memory(&self.info)?;
            let half = if writes { memory.writes() } else { memory.reads() };
            half.poll_completions(&mut []).map(drop)
        })
    }

    /// For `_memory.py`: a valid limit, in seconds.
    #[staticmethod]
    fn _seconds(timeout: Limit) -> Option<f64> {
        timeout.0.map(|time| time.as_secs_f64())
    }

    /// For `_memory.py`: the exception for a call whose limit has expired.
    fn _timed_out(&self, py: Python<'_>, timeout: Limit, bytes: u64) -> Py<PyAny> {
        let after = timeout.0.unwrap_or_default();
        error::raise(py, towpath::Error::Timeout { channel: self.info.name.clone(), bytes, after }).into_value(py).into_any()
    }
}
