// SPDX-License-Identifier: Apache-2.0
//! The device: what is open, and what belongs to no channel.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use towpath::{ChannelInfo, ChannelName, ChannelOptions, Memory, MemoryInfo, OpenOptions, QosChange, Receiver, Sender};

use crate::buffer::{Buffer, Registered, Registrations};
use crate::channel::info_tuple;
use crate::extras::{Interrupts, Registers};
use crate::waiting::{at_once, beside};
use crate::{argument, error, memory, pair, plugin, say};

/// A kind from elsewhere: its name, and the version that the program knows.
pub type Kind = (String, u16);

/// What an open device has. Channels are opened on first use and stay open.
struct Open {
    device: towpath::Device,
    /// Each with the kind as which it was opened, if it is no stream.
    senders: BTreeMap<u16, (Arc<Sender>, Option<Kind>)>,
    receivers: BTreeMap<u16, (Arc<Receiver>, Option<Kind>)>,
    /// By the number of the channel that writes.
    memories: BTreeMap<u16, Arc<Memory>>,
    registrations: Registrations,
    /// Those of its channels.
    pairs: Vec<Weak<pair::Held>>,
}

/// A device as all of its objects share it: itself, its channels, their tickets.
pub struct Card {
    /// None once it is closed. Only locked without the interpreter's lock.
    open: Mutex<Option<Open>>,
    closed: AtomicBool,
}

impl Drop for Card {
    fn drop(&mut self) {
        // Without the lock, which a thread of the parent may have held when this child was made.
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        crate::waiting::release(open);
    }
}

impl Card {
    fn new(device: towpath::Device) -> Card {
        let open = Open {
            device,
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
            memories: BTreeMap::new(),
            registrations: Registrations::default(),
            pairs: Vec::new(),
        };
        Card { open: Mutex::new(Some(open)), closed: AtomicBool::new(false) }
    }

    pub fn closed() -> towpath::Error {
        towpath::Error::Invalid("the device is closed; open it again".into())
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The library's device; an error when this one is closed.
    pub fn device(&self) -> towpath::Result<towpath::Device> {
        self.lock().as_ref().map(|open| open.device.clone()).ok_or_else(Card::closed)
    }

    /// A channel to the card, of a stream or else of this kind.
    pub fn sender(&self, index: u16, kind: Option<&Kind>) -> towpath::Result<Arc<Sender>> {
        let mut open = self.lock();
        let open = open.as_mut().ok_or_else(Card::closed)?;
        if let Some((sender, _)) = open.senders.get(&index).filter(|(_, known)| known.as_ref() == kind) {
            return Ok(sender.clone());
        }
        // Also if it is open as another kind, for the error.
        let sender = Arc::new(match kind {
            Some((name, version)) => open.device.sender_of_kind(index, (name, *version), ChannelOptions::default())?,
            None => open.device.sender(index)?,
        });
        open.senders.insert(index, (sender.clone(), kind.cloned()));
        Ok(sender)
    }

    /// A channel from the card, of a stream or else of this kind.
    pub fn receiver(&self, index: u16, kind: Option<&Kind>) -> towpath::Result<Arc<Receiver>> {
        let mut open = self.lock();
        let open = open.as_mut().ok_or_else(Card::closed)?;
        if let Some((receiver, _)) = open.receivers.get(&index).filter(|(_, known)| known.as_ref() == kind) {
            return Ok(receiver.clone());
        }
        // Also if it is open as another kind, for the error.
        let receiver = Arc::new(match kind {
            Some((name, version)) => open.device.receiver_of_kind(index, (name, *version), ChannelOptions::default())?,
            None => open.device.receiver(index)?,
        });
        open.receivers.insert(index, (receiver.clone(), kind.cloned()));
        Ok(receiver)
    }

    pub fn memory(&self, info: &MemoryInfo) -> towpath::Result<Arc<Memory>> {
        let mut open = self.lock();
        let open = open.as_mut().ok_or_else(Card::closed)?;
        match open.memories.entry(info.writer) {
            Entry::Occupied(found) => Ok(found.get().clone()),
            Entry::Vacant(place) => Ok(place.insert(Arc::new(open.device.memory(info.writer)?)).clone()),
        }
    }

    /// A pair ends with the card. False: the card is closed.
    pub fn hold(&self, pair: &Arc<pair::Held>) -> bool {
        let mut open = self.lock();
        let Some(open) = open.as_mut() else { return false };
        open.pairs.retain(|pair| pair.strong_count() > 0);
        open.pairs.push(Arc::downgrade(pair));
        true
    }

    /// A memory's description.
    pub fn find_memory(&self, py: Python<'_>, name: &ChannelName) -> PyResult<MemoryInfo> {
        at_once(py, || self.device()?.find_memory(name.clone()))
    }

    /// A channel's entry in the discovery table.
    pub fn find(&self, py: Python<'_>, name: &ChannelName) -> PyResult<ChannelInfo> {
        at_once(py, || self.device()?.channel(name.clone()).cloned())
    }

    fn allocate(&self, bytes: usize) -> towpath::Result<Arc<Registered>> {
        let registered = Arc::new(Registered::allocate(&self.device()?, bytes)?);
        match self.lock().as_mut() {
            Some(open) => open.registrations.add(&registered),
            None => registered.end(), // closed meanwhile
        }
        Ok(registered)
    }

    /// End what is in flight and release everything.
    fn close(&self) {
        let open = self.lock().take();
        self.closed.store(true, Ordering::Release);
        let Some(open) = open else { return };
        open.pairs.iter().filter_map(Weak::upgrade).for_each(|pair| pair.end());
        // A ticket or another thread may hold a channel still; what is in flight ends all the same.
        for (sender, _) in open.senders.values() {
            let _ = sender.cancel_all();
        }
        for (receiver, _) in open.receivers.values() {
            let _ = receiver.cancel_all();
        }
        for memory in open.memories.values() {
            let _ = memory.cancel_all();
        }
        open.registrations.end();
    }
}

#[pyclass(subclass, frozen, weakref, module = "towpath._towpath")]
pub struct Device {
    card: Arc<Card>,
}

impl Device {
    pub fn card(&self) -> &Arc<Card> {
        &self.card
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name=None, options=None, progress=None, print=None))]
    fn new(
        py: Python<'_>,
        name: Option<&Bound<'_, PyAny>>,
        options: Option<HashMap<String, String>>,
        progress: Option<Py<PyAny>>,
        print: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        say::log_to_python(py)?;
        let name = name.map(|name| argument::text("name", name, "a device's name (str or a path), or None for the first one found"));
        let mut name = name.transpose()?.unwrap_or_default();
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
        Ok(Device { card: Arc::new(Card::new(device)) })
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        if slf.card.is_closed() {
            return Err(error::raise(slf.py(), Card::closed()));
        }
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.card.close());
    }

    #[getter]
    fn closed(&self) -> bool {
        self.card.is_closed()
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = at_once(py, || Ok(self.card.device()?.info().clone()))?;
        let names = PyDict::new(py);
        for (name, offset) in &info.register_names {
            names.set_item(name, offset)?;
        }
        let channels = info.channels.iter().map(|c| info_tuple(py, c)).collect::<PyResult<Vec<_>>>()?;
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
        let plugins = info.plugins.iter().map(|p| plugin::info_tuple(py, p)).collect::<PyResult<Vec<_>>>()?;
        fields.set_item("plugins", PyTuple::new(py, plugins)?)?;
        fields.set_item("channels", PyTuple::new(py, channels)?)?;
        fields.set_item("fill_levels", info.fill_levels)?;
        fields.set_item("qos", info.qos)?;
        error::named(py, "Info", &fields)
    }

    #[getter]
    fn registers(&self) -> Registers {
        Registers { card: self.card.clone() }
    }

    #[getter]
    fn interrupts(&self) -> Interrupts {
        Interrupts { card: self.card.clone() }
    }

    /// For `_device.py`: the memories that there are.
    fn _memories<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let found = at_once(py, || Ok(self.card.device()?.memories()))?;
        found.iter().map(|memory| memory::info_tuple(py, memory)).collect()
    }

    fn channel<'py>(&self, py: Python<'py>, channel: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        info_tuple(py, &self.card.find(py, &argument::channel(channel)?)?)
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        at_once(py, || self.card.device()?.reset())
    }

    fn link_counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counters = at_once(py, || self.card.device()?.link_counters())?;
        let fields = PyDict::new(py);
        for (name, count) in counters.named() {
            fields.set_item(name, count)?;
        }
        error::named(py, "LinkCounters", &fields)
    }

    fn qos<'py>(&self, py: Python<'py>, channel: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let channel = argument::channel(channel)?;
        let qos = at_once(py, || self.card.device()?.qos(channel))?;
        error::tuple(py, "Qos", (qos.weight, qos.rate, qos.traffic_class))
    }

    #[pyo3(signature = (channel, *, weight=None, rate=None, traffic_class=None))]
    fn set_qos(
        &self,
        py: Python<'_>,
        channel: &Bound<'_, PyAny>,
        weight: Option<&Bound<'_, PyAny>>,
        rate: Option<&Bound<'_, PyAny>>,
        traffic_class: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let channel = argument::channel(channel)?;
        let change = QosChange {
            weight: argument::optional("weight", weight, u8::MAX)?,
            rate: argument::optional("rate", rate, u64::MAX)?,
            traffic_class: argument::optional("traffic_class", traffic_class, 7u8)?,
        };
        at_once(py, || self.card.device()?.set_qos(channel, change))
    }

    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        at_once(py, || Ok(self.card.device()?.now_ns()))
    }

    fn wire<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(w) = at_once(py, || Ok(self.card.device()?.wire()))? else { return Ok(None) };
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

    /// For `_device.py`, which has checked the arguments: memory of a number of items of one type.
    fn _allocate(
        &self,
        py: Python<'_>,
        shape: Vec<isize>,
        name: String,
        format: String,
        typestr: String,
        bytes: usize,
    ) -> PyResult<Buffer> {
        let format = CString::new(format)?;
        let registered = at_once(py, || self.card.allocate(shape.iter().product::<isize>().unsigned_abs() * bytes))?;
        Ok(Buffer::new(registered, shape, name, format, typestr, bytes))
    }
}
