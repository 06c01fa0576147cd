// SPDX-License-Identifier: Apache-2.0
//! One channel of a device: transfers, settings and counters.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use towpath::{Access, ChannelInfo, Direction, Held, Message, Received, WaitOptions};

use crate::argument::{self, optional, Limit};
use crate::card::{Card, Device, Kind};
use crate::error;
use crate::export::{Exported, Memory, Part, Ready, Way};
use crate::gpu;
use crate::on_stream::{Outcome, StreamTransfer};
use crate::ticket::{on, End, Ticket};
use crate::waiting::{at_once, waiting};

#[pyclass(subclass, frozen, module = "towpath._towpath")]
pub struct Channel {
    card: Arc<Card>,
    info: ChannelInfo,
    /// As which it is opened, if it is no stream.
    kind: Option<Kind>,
    /// A file is open on it.
    file: Arc<AtomicBool>,
}

/// What a message carries, from Python's keywords.
fn message(
    end: argument::End,
    length: Option<&Bound<'_, PyAny>>,
    offset: Option<&Bound<'_, PyAny>>,
    user: Option<&Bound<'_, PyAny>>,
) -> PyResult<Message> {
    let length = optional("length", length, u64::MAX)?;
    let offset = optional("offset", offset, u64::MAX)?.unwrap_or(0);
    let user = optional("user", user, u32::MAX)?.unwrap_or(0);
    Ok(Message { end: end.0, length, offset, user })
}

/// A channel's info as Python's tuple.
pub fn info_tuple<'py>(py: Python<'py>, c: &ChannelInfo) -> PyResult<Bound<'py, PyAny>> {
    let (direction, kind) = (c.direction.to_string(), &c.kind_name);
    let values = (c.index, &c.name, direction, c.queue_depth, c.inline_slots, c.buffer_bytes, kind, c.kind_version, c.kind_parameter);
    error::tuple(py, "ChannelInfo", values)
}

pub fn received_tuple(py: Python<'_>, got: Received) -> PyResult<Bound<'_, PyAny>> {
    error::tuple(py, "Received", (got.bytes, got.end_of_message, got.offset, got.user, got.staged))
}

fn held_tuple(py: Python<'_>, held: Held) -> PyResult<Bound<'_, PyAny>> {
    error::tuple(py, "Held", (held.bytes, held.full))
}

impl Channel {
    /// Where it is.
    pub fn place(&self) -> (&Arc<Card>, &ChannelInfo) {
        (&self.card, &self.info)
    }

    /// Set while a file is open on it.
    pub fn file(&self) -> &Arc<AtomicBool> {
        &self.file
    }

    /// The library's channel, whichever way it goes.
    fn end(&self) -> towpath::Result<End> {
        match self.info.direction {
            Direction::H2c => self.card.sender(self.info.index, self.kind.as_ref()).map(End::H2c),
            Direction::C2h => self.card.receiver(self.info.index, self.kind.as_ref()).map(End::C2h),
        }
    }
}

#[pymethods]
impl Channel {
    #[new]
    #[pyo3(signature = (device, channel, kind=None))]
    fn new(py: Python<'_>, device: PyRef<'_, Device>, channel: &Bound<'_, PyAny>, kind: Option<Kind>) -> PyResult<Self> {
        let card = device.card().clone();
        let info = card.find(py, &argument::channel(channel)?)?;
        Ok(Channel { card, info, kind, file: Arc::default() })
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        info_tuple(py, &self.info)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.info.name
    }

    #[getter]
    fn number(&self) -> u16 {
        self.info.index
    }

    #[getter]
    fn direction(&self) -> String {
        self.info.direction.to_string()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.card.is_closed()
    }

    fn __repr__(&self) -> String {
        let ChannelInfo { index, name, direction, .. } = &self.info;
        let kind = if self.info.is_stream() { String::new() } else { format!(", {}", self.info.kind_text()) };
        format!("<towpath.Channel {index} \"{name}\" ({direction}{kind})>")
    }

    #[pyo3(
        signature = (
            buffer, *, timeout=Limit::USUAL, end=argument::End(true), length=None, offset=None, user=None, stream=None,
            staged=argument::Staged(false),
        ),
        text_signature = "($self, buffer, *, timeout=10.0, end=True, length=None, offset=None, user=None, stream=None, staged=False)"
    )]
    #[allow(clippy::too_many_arguments)] // they are Python's keywords
    fn send<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
        timeout: Limit,
        end: argument::End,
        length: Option<&Bound<'_, PyAny>>,
        offset: Option<&Bound<'_, PyAny>>,
        user: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        staged: argument::Staged,
    ) -> PyResult<Bound<'py, PyAny>> {
        let message = message(end, length, offset, user)?;
        let way = Way { stream: stream.map(gpu::stream).transpose()?, staged: staged.0 };
        let memory = Memory::to_send(buffer, way)?;
        let (bytes, staged) = (memory.len(), memory.is_staged());
        if let Some(handle) = way.stream {
            let transfer = at_once(py, || {
                let sender = self.card.sender(self.info.index, self.kind.as_ref())?;
                let stream = memory.stream(handle)?;
                let part = memory.register(sender.device(), Access::Read)?;
                let channel = sender.clone();
                let buffer = part.buffer.clone();
                channel.on_stream(&stream, &buffer, move |is_over| {
                    let options = WaitOptions { timeout: timeout.0, interrupted: Some(is_over) };
                    sender.send_buffer_with(&part.buffer, std::slice::from_ref(&part.range), message, options)?;
                    Ok(Outcome::Moved(bytes, staged))
                })
            })?;
            return Ok(StreamTransfer::new(&self.card, &self.info.name, transfer).into_pyobject(py)?.into_any());
        }
        waiting(py, &self.card, timeout, move |options| {
            let sender = self.card.sender(self.info.index, self.kind.as_ref())?;
            match &memory.ready(sender.device(), Access::Read)? {
                // SAFETY: for this call alone; see `Exported::bytes` about other threads.
                Ready::Plain(exported) => sender.send_with(&[IoSlice::new(unsafe { exported.bytes() })], message, options),
                Ready::Registered(part) => sender.send_buffer_with(&part.buffer, std::slice::from_ref(&part.range), message, options),
            }
        })?;
        Outcome::Moved(bytes, staged).to_python(py)
    }

    #[pyo3(signature = (*, timeout=Limit::USUAL), text_signature = "($self, *, timeout=10.0)")]
    fn recv<'py>(&self, py: Python<'py>, timeout: Limit) -> PyResult<Bound<'py, PyBytes>> {
        let (bytes, _) = waiting(py, &self.card, timeout, |options| {
            self.card.receiver(self.info.index, self.kind.as_ref())?.recv_message_with(options)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[pyo3(signature = (*, timeout=Limit::USUAL), text_signature = "($self, *, timeout=10.0)")]
    fn recv_message<'py>(&self, py: Python<'py>, timeout: Limit) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyAny>)> {
        let (bytes, got) = waiting(py, &self.card, timeout, |options| {
            self.card.receiver(self.info.index, self.kind.as_ref())?.recv_message_with(options)
        })?;
        Ok((PyBytes::new(py, &bytes), received_tuple(py, got)?))
    }

    #[pyo3(
        signature = (buffer, *, timeout=Limit::USUAL, stream=None, staged=argument::Staged(false)),
        text_signature = "($self, buffer, *, timeout=10.0, stream=None, staged=False)"
    )]
    fn recv_into<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
        timeout: Limit,
        stream: Option<&Bound<'_, PyAny>>,
        staged: argument::Staged,
    ) -> PyResult<Bound<'py, PyAny>> {
        let way = Way { stream: stream.map(gpu::stream).transpose()?, staged: staged.0 };
        let memory = Memory::to_receive(buffer, way)?;
        if let Some(handle) = way.stream {
            let transfer = at_once(py, || {
                let receiver = self.card.receiver(self.info.index, self.kind.as_ref())?;
                let stream = memory.stream(handle)?;
                let part = memory.register(receiver.device(), Access::Write)?;
                let channel = receiver.clone();
                let buffer = part.buffer.clone();
                channel.on_stream(&stream, &buffer, move |is_over| {
                    let options = WaitOptions { timeout: timeout.0, interrupted: Some(is_over) };
                    // SAFETY: no slice of it is made here; about other threads see `Exported::bytes`.
                    let got = unsafe { receiver.recv_buffer_shared(&part.buffer, std::slice::from_ref(&part.range), options)? };
                    Ok(Outcome::Received(got))
                })
            })?;
            return Ok(StreamTransfer::new(&self.card, &self.info.name, transfer).into_pyobject(py)?.into_any());
        }
        let got = waiting(py, &self.card, timeout, move |options| {
            let receiver = self.card.receiver(self.info.index, self.kind.as_ref())?;
            match &memory.ready(receiver.device(), Access::Write)? {
                // SAFETY: for this call alone, and writable; see `Exported::bytes` about other threads.
                Ready::Plain(exported) => receiver.recv_into_with(&mut [IoSliceMut::new(unsafe { exported.bytes_mut() })], options),
                // SAFETY: no slice of it is made here; about other threads as above.
                Ready::Registered(part) => unsafe { receiver.recv_buffer_shared(&part.buffer, std::slice::from_ref(&part.range), options) },
            }
        })?;
        received_tuple(py, got)
    }

    #[pyo3(
        signature = (buffer, *, offset, user=None, timeout=Limit::USUAL),
        text_signature = "($self, buffer, *, offset, user=0, timeout=10.0)"
    )]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'_, PyAny>,
        offset: &Bound<'_, PyAny>,
        user: Option<&Bound<'_, PyAny>>,
        timeout: Limit,
    ) -> PyResult<Bound<'py, PyAny>> {
        let offset = argument::number("offset", offset, u64::MAX)?;
        let user = optional("user", user, u32::MAX)?.unwrap_or(0);
        let memory = Exported::to_receive(buffer)?;
        let got = waiting(py, &self.card, timeout, move |options| {
            let receiver = self.card.receiver(self.info.index, self.kind.as_ref())?;
            // SAFETY: for this call alone, and writable; see `Exported::bytes` about other threads.
            receiver.ask_with(&mut [IoSliceMut::new(unsafe { memory.bytes_mut() })], offset, user, options)
        })?;
        received_tuple(py, got)
    }

    #[pyo3(signature = (*, timeout=Limit::USUAL), text_signature = "($self, *, timeout=10.0)")]
    fn message_start<'py>(&self, py: Python<'py>, timeout: Limit) -> PyResult<Bound<'py, PyAny>> {
        let start = waiting(py, &self.card, timeout, |options| {
            self.card.receiver(self.info.index, self.kind.as_ref())?.message_start_with(options)
        })?;
        error::tuple(py, "MessageStart", (start.length, start.offset, start.user))
    }

    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        held_tuple(
            py,
            at_once(py, || match self.info.direction {
                Direction::H2c => self.card.sender(self.info.index, self.kind.as_ref())?.held(),
                Direction::C2h => self.card.receiver(self.info.index, self.kind.as_ref())?.held(),
            })?,
        )
    }

    #[pyo3(signature = (bytes, *, timeout=Limit::USUAL), text_signature = "($self, bytes, *, timeout=10.0)")]
    fn wait_held<'py>(&self, py: Python<'py>, bytes: &Bound<'_, PyAny>, timeout: Limit) -> PyResult<Bound<'py, PyAny>> {
        let bytes = argument::number("bytes", bytes, u32::MAX)?;
        let held = waiting(py, &self.card, timeout, |options| {
            self.card.receiver(self.info.index, self.kind.as_ref())?.wait_held_with(bytes, options)
        })?;
        held_tuple(py, held)
    }

    #[pyo3(signature = (bytes=None, *, timeout=Limit::USUAL), text_signature = "($self, bytes=0, *, timeout=10.0)")]
    fn wait_drained<'py>(&self, py: Python<'py>, bytes: Option<&Bound<'_, PyAny>>, timeout: Limit) -> PyResult<Bound<'py, PyAny>> {
        let bytes = optional("bytes", bytes, u32::MAX)?.unwrap_or(0);
        let held = waiting(py, &self.card, timeout, |options| {
            self.card.sender(self.info.index, self.kind.as_ref())?.wait_drained_with(bytes, options)
        })?;
        held_tuple(py, held)
    }

    /// For `_channel.py`: as `wait_held`, or `wait_drained`, if it is so; if not, the eventfd signals it.
    fn _try_held<'py>(&self, py: Python<'py>, bytes: &Bound<'_, PyAny>, drained: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        let bytes = argument::number("bytes", bytes, u32::MAX)?;
        let held = at_once(py, || match drained {
            true => self.card.sender(self.info.index, self.kind.as_ref())?.try_wait_drained(bytes),
            false => self.card.receiver(self.info.index, self.kind.as_ref())?.try_wait_held(bytes),
        })?;
        held.map(|held| held_tuple(py, held)).transpose()
    }

    /// For `_channel.py`: what `_try_held` asked for last is waited for no more.
    fn _cancel_held(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || match self.info.direction {
            Direction::H2c => self.card.sender(self.info.index, self.kind.as_ref())?.cancel_wait_drained(),
            Direction::C2h => self.card.receiver(self.info.index, self.kind.as_ref())?.cancel_wait_held(),
        })
    }

    #[pyo3(
        signature = (buffer, *, timeout=Limit::USUAL, end=argument::End(true), length=None, offset=None, user=None),
        text_signature = "($self, buffer, *, timeout=10.0, end=True, length=None, offset=None, user=None)"
    )]
    #[allow(clippy::too_many_arguments)] // they are Python's keywords
    fn submit_send(
        &self,
        py: Python<'_>,
        buffer: &Bound<'_, PyAny>,
        timeout: Limit,
        end: argument::End,
        length: Option<&Bound<'_, PyAny>>,
        offset: Option<&Bound<'_, PyAny>>,
        user: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Ticket> {
        let message = message(end, length, offset, user)?;
        let memory = Memory::to_send(buffer, Way::default())?;
        waiting(py, &self.card, timeout, move |options| {
            let sender = self.card.sender(self.info.index, self.kind.as_ref())?;
            let part = memory.register(sender.device(), Access::Read)?;
            let ticket = sender.submit_with(&part.buffer, part.range.clone(), message, options)?.detach();
            Ok(Ticket::new(&self.card, &self.info.name, End::H2c(sender), ticket, part.buffer))
        })
    }

    #[pyo3(signature = (buffer, *, timeout=Limit::USUAL), text_signature = "($self, buffer, *, timeout=10.0)")]
    fn submit_recv(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>, timeout: Limit) -> PyResult<Ticket> {
        let memory = Memory::to_receive(buffer, Way::default())?;
        waiting(py, &self.card, timeout, move |options| {
            let receiver = self.card.receiver(self.info.index, self.kind.as_ref())?;
            let part = memory.register(receiver.device(), Access::Write)?;
            // SAFETY: no slice of the buffer is made here; about other threads see `Exported::bytes`.
            let ticket = unsafe { receiver.submit_shared(&part.buffer, part.range.clone(), options)? }.detach();
            Ok(Ticket::new(&self.card, &self.info.name, End::C2h(receiver), ticket, part.buffer))
        })
    }

    #[pyo3(signature = (buffers, *, timeout=Limit::USUAL), text_signature = "($self, buffers, *, timeout=10.0)")]
    fn submit_send_many(&self, py: Python<'_>, buffers: &Bound<'_, PyAny>, timeout: Limit) -> PyResult<Vec<Ticket>> {
        let memories = buffers.try_iter()?.map(|buffer| Memory::to_send(&buffer?, Way::default())).collect::<PyResult<Vec<_>>>()?;
        waiting(py, &self.card, timeout, move |options| {
            let sender = self.card.sender(self.info.index, self.kind.as_ref())?;
            let most = usize::from(self.info.queue_depth);
            let parts = memories.into_iter().take(most).map(|memory| memory.register(sender.device(), Access::Read));
            let parts = parts.collect::<towpath::Result<Vec<_>>>()?;
            let transfers: Vec<_> = parts.iter().map(|part| (&*part.buffer, part.range.clone(), Message::default())).collect();
            let sent = sender.submit_many_with(&transfers, options)?;
            let ticket = |(transfer, part): (towpath::Transfer, Part)| {
                Ticket::new(&self.card, &self.info.name, End::H2c(sender.clone()), transfer.detach(), part.buffer)
            };
            Ok(sent.into_iter().zip(parts).map(ticket).collect())
        })
    }

    #[pyo3(signature = (buffers, *, timeout=Limit::USUAL), text_signature = "($self, buffers, *, timeout=10.0)")]
    fn submit_recv_many(&self, py: Python<'_>, buffers: &Bound<'_, PyAny>, timeout: Limit) -> PyResult<Vec<Ticket>> {
        let memories = buffers.try_iter()?.map(|buffer| Memory::to_receive(&buffer?, Way::default())).collect::<PyResult<Vec<_>>>()?;
        waiting(py, &self.card, timeout, move |options| {
            let receiver = self.card.receiver(self.info.index, self.kind.as_ref())?;
            let most = usize::from(self.info.queue_depth);
            let parts = memories.into_iter().take(most).map(|memory| memory.register(receiver.device(), Access::Write));
            let parts = parts.collect::<towpath::Result<Vec<_>>>()?;
            let transfers: Vec<_> = parts.iter().map(|part| (&*part.buffer, part.range.clone())).collect();
            // SAFETY: no slice of the buffers is made here; about other threads see `Exported::bytes`.
            let posted = unsafe { receiver.submit_many_shared(&transfers, Some(options))? };
            let ticket = |(transfer, part): (towpath::Transfer, Part)| {
                Ticket::new(&self.card, &self.info.name, End::C2h(receiver.clone()), transfer.detach(), part.buffer)
            };
            Ok(posted.into_iter().zip(parts).map(ticket).collect())
        })
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || on!(self.end()?, channel => channel.cancel_all()))
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || on!(self.end()?, channel => channel.reset()))
    }

    #[pyo3(signature = (*, entries, time))]
    fn set_moderation(&self, py: Python<'_>, entries: &Bound<'_, PyAny>, time: &Bound<'_, PyAny>) -> PyResult<()> {
        let entries = argument::number("entries", entries, u16::MAX)?;
        let time = argument::seconds("time", time, "seconds, 0 or more; 0 turns it off")?;
        at_once(py, || on!(self.end()?, channel => channel.set_moderation(entries, time)))
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counted = at_once(py, || Ok(on!(self.end()?, channel => channel.statistics())))?;
        let fields = PyDict::new(py);
        fields.set_item("submitted", counted.submitted)?;
        fields.set_item("completed", counted.completed)?;
        fields.set_item("bytes", counted.bytes)?;
        fields.set_item("wrong_cookies", counted.wrong_cookies)?;
        fields.set_item("wrong_lengths", counted.wrong_lengths)?;
        fields.set_item("wrong_statuses", counted.wrong_statuses)?;
        fields.set_item("unexpected", counted.unexpected)?;
        error::named(py, "Statistics", &fields)
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        at_once(py, || on!(self.end()?, channel => channel.event_fd().map(|event| event.as_raw_fd())))
    }

    /// For `_channel.py`: from now on the eventfd signals news.
    fn _arm(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || on!(self.end()?, channel => channel.poll_completions(&mut []).map(drop)))
    }

    /// For `_channel.py`: the bytes that a `recv` kept when it failed midway, and whether the message ends with them.
    fn _take_kept<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let (kept, end) = at_once(py, || Ok(self.card.receiver(self.info.index, self.kind.as_ref())?.take_kept()))?;
        Ok((PyBytes::new(py, &kept), end))
    }

    /// For `_channel.py`: keep the beginning of a message for the next `recv`.
    fn _keep(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<()> {
        at_once(py, || {
            self.card.receiver(self.info.index, self.kind.as_ref())?.keep(bytes);
            Ok(())
        })
    }

    /// For `_channel.py`: a valid limit, in seconds.
    #[staticmethod]
    fn _seconds(timeout: Limit) -> Option<f64> {
        timeout.0.map(|time| time.as_secs_f64())
    }

    /// For `_channel.py`: the exception for a call whose limit has expired.
    fn _timed_out(&self, py: Python<'_>, timeout: Limit, bytes: u64) -> Py<PyAny> {
        let after = timeout.0.unwrap_or_default();
        error::raise(py, towpath::Error::Timeout { channel: self.info.name.clone(), bytes, after }).into_value(py).into_any()
    }
}
