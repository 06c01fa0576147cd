// SPDX-License-Identifier: Apache-2.0
//! The device, its channels, and how calls wait.

use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut};
use std::sync::{mpsc, Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use towpath::{Access, ChannelInfo, Direction, Message, OpenOptions, Receiver, Sender, WaitOptions};

use crate::buffer::Exported;
use crate::channel::{End, Ticket};
use crate::extras::{Interrupts, Registers};
use crate::{error, say};

/// How long an interrupt from the keyboard may go unnoticed while a device is opened.
const LOOK: Duration = Duration::from_millis(50);

/// A channel as Python names it.
#[derive(FromPyObject, Clone)]
pub enum Name {
    Index(i64),
    Name(String),
}

impl From<Name> for towpath::ChannelName {
    fn from(name: Name) -> Self {
        match name {
            Name::Index(index) => index.into(),
            Name::Name(name) => name.into(),
        }
    }
}

/// Seconds as Python gives them; None is for ever.
pub fn duration(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    seconds
        .map(|s| Duration::try_from_secs_f64(s).map_err(|e| error::usage(py, &format!("timeout={s}: {e}; give seconds, or None for ever"))))
        .transpose()
}

/// Make a call that may wait, without the interpreter's lock. The main thread, which alone runs signal handlers, is asked for them while it waits; the
/// call ends when one raises. What the call has moved by then is in the exception's place: a receive keeps it for the next call.
pub fn waiting<T: Send>(
    py: Python<'_>,
    timeout: Option<Duration>,
    call: impl FnOnce(WaitOptions<'_>) -> towpath::Result<T> + Send,
) -> PyResult<T> {
    // SAFETY: no preconditions.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let has_raised = || {
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        if is_main && raised.is_none() {
            *raised = Python::attach(|py| py.check_signals()).err();
        }
        raised.is_some()
    };
    let done = py.detach(|| call(WaitOptions { timeout, interrupted: Some(&has_raised) }));
    match (done, raised.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        (Ok(value), None) => Ok(value),
        (Err(_), Some(raised)) => Err(raised),
        (Err(error), None) => Err(error::raise(py, error)),
        // It was over in the moment of the signal. Its result must not be lost; the exception comes right behind it.
        (Ok(value), Some(raised)) => {
            // SAFETY: this thread holds the interpreter's lock, and is the one with this number.
            unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(main_thread(py)?, raised.get_type(py).as_ptr()) };
            Ok(value)
        }
    }
}

fn main_thread(py: Python<'_>) -> PyResult<std::ffi::c_long> {
    py.import("threading")?.call_method0("get_ident")?.extract()
}

/// Make a call that cannot be interrupted beside this thread, if this is the main one, so that signal handlers run meanwhile.
fn beside<T: Send>(py: Python<'_>, call: impl FnOnce() -> towpath::Result<T> + Send) -> PyResult<T> {
    // SAFETY: no preconditions.
    if unsafe { libc::gettid() != libc::getpid() } {
        return py.detach(call).map_err(|e| error::raise(py, e));
    }
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, answer) = mpsc::sync_channel(1);
            scope.spawn(move || done.send(call()));
            loop {
                match answer.recv_timeout(LOOK) {
                    Ok(result) => return result.map_err(|e| Python::attach(|py| error::raise(py, e))),
                    Err(mpsc::RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                    // The call panicked, which is a fault of the library's; the scope passes the panic on.
                    Err(mpsc::RecvTimeoutError::Disconnected) => {
                        return Err(pyo3::exceptions::PyRuntimeError::new_err("the call into the library failed"));
                    }
                }
            }
        })
    })
}

/// Drop something of the library's without the interpreter's lock: see the rules in `lib.rs`.
pub fn release<T: Send>(value: T) {
    Python::attach(|py| py.detach(move || drop(value)));
}

/// What an open device has. Channels are opened on first use and stay open.
struct Open {
    device: towpath::Device,
    senders: Vec<Arc<Sender>>,
    receivers: Vec<Arc<Receiver>>,
}

#[pyclass(subclass, frozen, module = "towpath._towpath")]
pub struct Device {
    /// None once it is closed. Only locked without the interpreter's lock.
    open: Mutex<Option<Open>>,
}

impl Drop for Device {
    fn drop(&mut self) {
        release(self.lock().take());
    }
}

impl Name {
    fn is(&self, info: &ChannelInfo) -> bool {
        match self {
            Name::Index(index) => i64::from(info.index) == *index,
            Name::Name(name) => info.name == *name,
        }
    }
}

/// The channel if it is open already; otherwise it is opened. One that goes by two names, such as `"0"`, is found when it proves to be in use.
fn opened<C>(
    list: &mut Vec<Arc<C>>,
    name: Name,
    info: impl Fn(&C) -> &ChannelInfo,
    open: impl FnOnce(Name) -> towpath::Result<C>,
) -> towpath::Result<Arc<C>> {
    if let Some(found) = list.iter().find(|c| name.is(info(c))) {
        return Ok(found.clone());
    }
    match open(name) {
        Ok(channel) => {
            let channel = Arc::new(channel);
            list.push(channel.clone());
            Ok(channel)
        }
        Err(towpath::Error::ChannelInUse { channel }) => {
            let found = list.iter().find(|c| info(c).name == channel).cloned();
            found.ok_or(towpath::Error::ChannelInUse { channel })
        }
        Err(error) => Err(error),
    }
}

fn closed(py: Python<'_>) -> PyErr {
    error::usage(py, "the device is closed; open it again")
}

impl Device {
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The library's device; an error when this one is closed.
    pub fn device(&self, py: Python<'_>) -> PyResult<towpath::Device> {
        py.detach(|| self.lock().as_ref().map(|open| open.device.clone())).ok_or_else(|| closed(py))
    }

    fn with_open<T: Send>(&self, py: Python<'_>, call: impl FnOnce(&mut Open) -> towpath::Result<T> + Send) -> PyResult<T> {
        py.detach(|| self.lock().as_mut().map(call)).ok_or_else(|| closed(py))?.map_err(|e| error::raise(py, e))
    }

    /// Which way a channel goes, if there is one of that name.
    fn direction(&self, py: Python<'_>, channel: &Name) -> PyResult<Option<Direction>> {
        let device = self.device(py)?;
        let found = device.info().channels.iter().find(|info| channel.is(info)).map(|info| info.direction);
        release(device);
        Ok(found)
    }

    fn sender(&self, py: Python<'_>, name: Name) -> PyResult<Arc<Sender>> {
        self.with_open(py, |open| opened(&mut open.senders, name, Sender::info, |name| open.device.sender(name)))
    }

    fn receiver(&self, py: Python<'_>, name: Name) -> PyResult<Arc<Receiver>> {
        self.with_open(py, |open| opened(&mut open.receivers, name, Receiver::info, |name| open.device.receiver(name)))
    }
}

fn message(end: bool, length: Option<u64>, offset: Option<u64>, user: Option<u32>) -> Message {
    Message { end, length, offset: offset.unwrap_or(0), user: user.unwrap_or(0) }
}

fn channel_tuple<'py>(py: Python<'py>, c: &ChannelInfo) -> PyResult<Bound<'py, PyAny>> {
    error::tuple(py, "Channel", (c.index, &c.name, c.direction.to_string(), c.queue_depth, c.inline_slots, c.buffer_bytes))
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name=None, options=None, progress=None, print=None))]
    fn new(
        py: Python<'_>,
        name: Option<String>,
        options: Option<HashMap<String, String>>,
        progress: Option<Py<PyAny>>,
        print: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        say::log_to_python(py)?;
        let mut name = name.unwrap_or_default();
        let mut open = OpenOptions { progress: say::sink(progress), print: say::sink(print), ..OpenOptions::default() };
        let mut settings: Vec<_> = options.unwrap_or_default().into_iter().collect();
        settings.sort();
        for (key, value) in settings {
            if key == "trace" {
                open.trace = Some(value.into());
            } else if name.is_empty() {
                return Err(error::usage(py, &format!("the option {key} needs a device's name beside it")));
            } else {
                let separator = if name.contains('?') { '&' } else { '?' };
                name += &format!("{separator}{key}={value}");
            }
        }
        let device = beside(py, || towpath::Device::open_with(&name, &open))?;
        Ok(Device { open: Mutex::new(Some(Open { device, senders: Vec::new(), receivers: Vec::new() })) })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let open = self.lock().take();
            if let Some(open) = &open {
                // A ticket or another thread may hold a channel still; what is in flight ends all the same.
                for sender in &open.senders {
                    let _ = sender.cancel_all();
                }
                for receiver in &open.receivers {
                    let _ = receiver.cancel_all();
                }
            }
            drop(open);
        });
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.lock().is_none())
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let device = self.device(py)?;
        let info = device.info();
        let names = PyDict::new(py);
        for (name, offset) in &info.register_names {
            names.set_item(name, offset)?;
        }
        let channels = info.channels.iter().map(|c| channel_tuple(py, c)).collect::<PyResult<Vec<_>>>()?;
        let fields = PyDict::new(py);
        fields.set_item("name", &info.name)?;
        fields.set_item("core", &info.core)?;
        fields.set_item("core_version", info.core_version)?;
        fields.set_item("version", info.version)?;
        fields.set_item("serial", info.serial)?;
        fields.set_item("data_bits", info.data_bits)?;
        fields.set_item("core_clock_khz", info.core_clock_khz)?;
        fields.set_item("user_clock_khz", info.user_clock_khz)?;
        fields.set_item("tags", info.tags)?;
        fields.set_item("vectors", info.vectors)?;
        fields.set_item("interrupts", info.interrupts)?;
        fields.set_item("register_bytes", info.register_bytes)?;
        fields.set_item("register_names", names)?;
        fields.set_item("channels", PyTuple::new(py, channels)?)?;
        let made = error::named(py, "Info", &fields);
        release(device);
        made
    }

    #[getter]
    fn registers(slf: Py<Self>) -> Registers {
        Registers { device: slf }
    }

    #[getter]
    fn interrupts(slf: Py<Self>) -> Interrupts {
        Interrupts { device: slf }
    }

    fn channel<'py>(&self, py: Python<'py>, channel: Name) -> PyResult<Bound<'py, PyAny>> {
        let device = self.device(py)?;
        let channels = &device.info().channels;
        let made = match channels.iter().find(|info| channel.is(info)) {
            Some(info) => channel_tuple(py, info),
            None => {
                let available = channels.iter().map(|c| format!("{} \"{}\" ({})", c.index, c.name, c.direction)).collect();
                let channel = towpath::ChannelName::from(channel).to_string();
                Err(error::raise(py, towpath::Error::NoSuchChannel { channel, available }))
            }
        };
        release(device);
        made
    }

    #[pyo3(signature = (channel, buffer, *, timeout=10.0, end=true, length=None, offset=None, user=None))]
    #[allow(clippy::too_many_arguments)] // they are Python's keywords
    fn send(
        &self,
        py: Python<'_>,
        channel: Name,
        buffer: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        end: bool,
        length: Option<u64>,
        offset: Option<u64>,
        user: Option<u32>,
    ) -> PyResult<usize> {
        let timeout = duration(py, timeout)?;
        let buffer = Exported::to_send(buffer)?;
        let sender = self.sender(py, channel)?;
        // SAFETY: for this call alone; see `Exported::bytes` about other threads.
        let bytes = unsafe { buffer.bytes() };
        let message = message(end, length, offset, user);
        waiting(py, timeout, |options| sender.send_with(&[IoSlice::new(bytes)], message, options))?;
        Ok(bytes.len())
    }

    #[pyo3(signature = (channel, *, timeout=10.0))]
    fn recv<'py>(&self, py: Python<'py>, channel: Name, timeout: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
        let timeout = duration(py, timeout)?;
        let receiver = self.receiver(py, channel)?;
        let (bytes, _) = waiting(py, timeout, |options| receiver.recv_message_with(options))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[pyo3(signature = (channel, buffer, *, timeout=10.0))]
    fn recv_into<'py>(
        &self,
        py: Python<'py>,
        channel: Name,
        buffer: &Bound<'py, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let timeout = duration(py, timeout)?;
        let buffer = Exported::to_receive(buffer)?;
        let receiver = self.receiver(py, channel)?;
        // SAFETY: for this call alone, and writable; see `Exported::bytes` about other threads.
        let bytes = unsafe { buffer.bytes_mut() };
        let got = waiting(py, timeout, |options| receiver.recv_into_with(&mut [IoSliceMut::new(bytes)], options))?;
        error::tuple(py, "Received", (got.bytes, got.end_of_message, got.offset, got.user))
    }

    #[pyo3(signature = (channel, *, timeout=10.0))]
    fn message_start<'py>(&self, py: Python<'py>, channel: Name, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let timeout = duration(py, timeout)?;
        let receiver = self.receiver(py, channel)?;
        let start = waiting(py, timeout, |options| receiver.message_start_with(options))?;
        error::tuple(py, "MessageStart", (start.length, start.offset, start.user))
    }

    #[pyo3(signature = (channel, buffer, *, end=true, length=None, offset=None, user=None))]
    #[allow(clippy::too_many_arguments)] // they are Python's keywords
    fn submit_send(
        &self,
        py: Python<'_>,
        channel: Name,
        buffer: &Bound<'_, PyAny>,
        end: bool,
        length: Option<u64>,
        offset: Option<u64>,
        user: Option<u32>,
    ) -> PyResult<Ticket> {
        let buffer = Exported::to_send(buffer)?;
        let sender = self.sender(py, channel)?;
        let message = message(end, length, offset, user);
        let (ticket, buffer) = waiting(py, sender.timeout(), |options| {
            let buffer = buffer.register(sender.device(), Access::Read)?;
            Ok((sender.submit_with(&buffer, .., message, options)?.detach(), buffer))
        })?;
        Ok(Ticket::new(End::H2c(sender), ticket, buffer))
    }

    fn submit_recv(&self, py: Python<'_>, channel: Name, buffer: &Bound<'_, PyAny>) -> PyResult<Ticket> {
        let buffer = Exported::to_receive(buffer)?;
        let receiver = self.receiver(py, channel)?;
        let (ticket, buffer) = waiting(py, receiver.timeout(), |options| {
            let buffer = buffer.register(receiver.device(), Access::Write)?;
            // SAFETY: no slice of the buffer is made here; about other threads see `Exported::bytes`.
            Ok((unsafe { receiver.submit_shared(&buffer, .., options)? }.detach(), buffer))
        })?;
        Ok(Ticket::new(End::C2h(receiver), ticket, buffer))
    }

    fn cancel(&self, py: Python<'_>, channel: Name) -> PyResult<()> {
        match self.direction(py, &channel)? {
            Some(Direction::C2h) => {
                let receiver = self.receiver(py, channel)?;
                py.detach(|| receiver.cancel_all())
            }
            _ => {
                let sender = self.sender(py, channel)?;
                py.detach(|| sender.cancel_all())
            }
        }
        .map_err(|e| error::raise(py, e))
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        let device = self.device(py)?;
        py.detach(|| {
            let done = device.reset();
            drop(device);
            done
        })
        .map_err(|e| error::raise(py, e))
    }

    #[pyo3(signature = (channel, *, entries, time))]
    fn set_moderation(&self, py: Python<'_>, channel: Name, entries: u16, time: f64) -> PyResult<()> {
        let time = duration(py, Some(time))?.unwrap_or_default();
        match self.direction(py, &channel)? {
            Some(Direction::C2h) => {
                let receiver = self.receiver(py, channel)?;
                py.detach(|| receiver.set_moderation(entries, time))
            }
            _ => {
                let sender = self.sender(py, channel)?;
                py.detach(|| sender.set_moderation(entries, time))
            }
        }
        .map_err(|e| error::raise(py, e))
    }

    fn link_counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counters = self.with_open(py, |open| open.device.link_counters())?;
        let fields = PyDict::new(py);
        for (name, count) in counters.named() {
            fields.set_item(name, count)?;
        }
        error::named(py, "LinkCounters", &fields)
    }

    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with_open(py, |open| Ok(open.device.now_ns()))
    }

    fn wire<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(w) = self.with_open(py, |open| Ok(open.device.wire()))? else { return Ok(None) };
        error::tuple(
            py,
            "Wire",
            (
                w.card_write_payload,
                w.to_host,
                w.card_read_payload,
                w.to_card,
                w.bytes_per_us,
                w.max_payload,
                w.completion_payload,
                w.cycles,
            ),
        )
        .map(Some)
    }
}
