// SPDX-License-Identifier: Apache-2.0
//! Python's buffers as memory that the card may use.

use std::ffi::{c_char, CStr};
use std::ops::Range;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use towpath::{Access, GpuStream, Window};

use crate::buffer::Buffer;
use crate::error;
use crate::gpu::GpuArray;
use crate::memory::WindowPart;

/// How a call moves its bytes.
#[derive(Clone, Copy, Default)]
pub struct Way {
    /// In the order of the work on this stream.
    pub stream: Option<usize>,
    /// Through pinned memory of the host.
    pub staged: bool,
}

/// The memory of a transfer.
pub enum Memory {
    /// Any C-contiguous buffer: registered for its call or its transfer.
    Plain(Exported),
    /// A part of a buffer that the device has registered.
    Registered(Part),
    /// An array in a GPU's memory: registered for its call or its transfer.
    Gpu(GpuArray, Way),
    /// A part of another card's memory: registered for its call or its transfer.
    Peer(Window, Range<u64>),
}

/// The memory of one call.
pub enum Ready {
    Plain(Exported),
    Registered(Part),
}

/// Bytes of a registered buffer.
pub struct Part {
    pub buffer: Arc<towpath::Buffer>,
    pub range: Range<usize>,
}

impl Memory {
    /// To be sent from: read-only ones are fine.
    pub fn to_send(object: &Bound<'_, PyAny>, way: Way) -> PyResult<Self> {
        Memory::of(object, way, Exported::to_send, Ok)
    }

    /// To be received into.
    pub fn to_receive(object: &Bound<'_, PyAny>, way: Way) -> PyResult<Self> {
        Memory::of(object, way, Exported::to_receive, |array| array.writable(object))
    }

    fn of<'py>(
        object: &Bound<'py, PyAny>,
        way: Way,
        plain: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Exported>,
        gpu: impl FnOnce(GpuArray) -> PyResult<GpuArray>,
    ) -> PyResult<Memory> {
        let py = object.py();
        let memory = match object.cast::<Buffer>() {
            Ok(buffer) => Memory::Registered(buffer.get().part(py)?),
            Err(_) if object.is_instance_of::<WindowPart>() => object.cast::<WindowPart>()?.get().memory(py)?,
            // A plain buffer comes first, for it costs least. An array in a GPU's memory may look like one, and then refuses.
            Err(_) => match plain(object) {
                Ok(exported) => Memory::Plain(exported),
                Err(why) => match GpuArray::of(object, way.stream)? {
                    Some(array) => return Ok(Memory::Gpu(gpu(array)?, way)),
                    None => return Err(why),
                },
            },
        };
        if way.staged {
            return Err(error::usage(py, "staged=True is for the memory of a GPU, and this buffer is not; leave it away"));
        }
        Ok(memory)
    }

    pub fn len(&self) -> usize {
        match self {
            Memory::Plain(exported) => exported.len(),
            Memory::Registered(part) => part.range.len(),
            Memory::Gpu(array, _) => array.len(),
            Memory::Peer(_, range) => (range.end - range.start) as usize,
        }
    }

    pub fn is_staged(&self) -> bool {
        matches!(self, Memory::Gpu(_, Way { staged: true, .. }))
    }

    /// For one call. Call this without the interpreter's lock.
    pub fn ready(self, device: &towpath::Device, access: Access) -> towpath::Result<Ready> {
        match self {
            Memory::Plain(exported) => Ok(Ready::Plain(exported)),
            other => other.register(device, access).map(Ready::Registered),
        }
    }

    /// As a part of a registered buffer, for a transfer that outlasts the call. Call this without the interpreter's lock.
    pub fn register(self, device: &towpath::Device, access: Access) -> towpath::Result<Part> {
        let range = 0..self.len();
        match self {
            Memory::Plain(exported) => Ok(Part { buffer: Arc::new(exported.register(device, access)?), range }),
            Memory::Gpu(array, way) => Ok(Part { buffer: Arc::new(array.register(device, access, way)?), range }),
            Memory::Peer(window, there) => Ok(Part { buffer: Arc::new(towpath::Buffer::from_window(device, &window, there)?), range }),
            Memory::Registered(part) => Ok(part),
        }
    }

    /// The stream of this handle. Call this without the interpreter's lock.
    pub fn stream(&self, handle: usize) -> towpath::Result<GpuStream> {
        match self {
            Memory::Gpu(array, _) => array.stream(handle),
            // SAFETY: the caller's word is that it is a stream.
            _ => Ok(unsafe { GpuStream::new(handle, None) }?),
        }
    }
}

/// A C-contiguous buffer, exported for as long as this lives.
pub struct Exported(Box<ffi::Py_buffer>); // boxed, for exporters may point into it

// SAFETY: the export may be used by any thread, and is released with the interpreter's lock.
unsafe impl Send for Exported {}
// SAFETY: nothing here changes it but its drop.
unsafe impl Sync for Exported {}

impl Drop for Exported {
    fn drop(&mut self) {
        // When the interpreter has ended, so has the exporter.
        Python::try_attach(|_| {
            // SAFETY: filled by `PyObject_GetBuffer`, and released once.
            unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
        });
    }
}

impl Exported {
    pub fn to_send(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let kind = || object.get_type().name().map_or_else(|_| "?".to_string(), |name| name.to_string());
        // SAFETY: valid for any object.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            let what = format!(
                "buffer is of type {}, which is not a buffer; give bytes, bytearray, memoryview, array, mmap, a ctypes or a NumPy array, or an array in a GPU's memory",
                kind()
            );
            return Err(error::of_class(py, "ArgumentTypeError", &what));
        }
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the view lives in its box until it is released.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, ffi::PyBUF_FULL_RO) } != 0 {
            let why = PyErr::fetch(py);
            let what =
                format!("buffer is of type {}, which gives no bytes: {}; give a view of another type or a copy", kind(), why.value(py));
            return Err(error::usage(py, &what));
        }
        let exported = Exported(view);
        // SAFETY: the view is filled.
        if unsafe { ffi::PyBuffer_IsContiguous(&raw const *exported.0, b'C' as c_char) } == 0 {
            return Err(error::usage(
                py,
                "the buffer is not C-contiguous: its bytes are not one row in memory; copy it first, with numpy.ascontiguousarray(...) or bytes(...)",
            ));
        }
        if exported.holds_objects() {
            return Err(error::usage(
                py,
                &format!(
                    "the buffer is of type {} and holds Python objects, whose addresses mean nothing to a card; give an array of numbers",
                    kind()
                ),
            ));
        }
        Ok(exported)
    }

    /// To be received into, as any buffer.
    pub fn to_receive(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let exported = Exported::to_send(object)?;
        if exported.0.readonly != 0 {
            return Err(error::usage(
                object.py(),
                "the buffer is read-only, nothing can be received into it; give a bytearray or a writable array",
            ));
        }
        Ok(exported)
    }

    /// Is a part of an item a reference to an object? By its format as in PEP 3118, in which fields have names between colons.
    fn holds_objects(&self) -> bool {
        if self.0.format.is_null() {
            return false;
        }
        // SAFETY: the exporter's text, which lives as long as the export.
        let format = unsafe { CStr::from_ptr(self.0.format) };
        let mut in_name = false;
        format.to_bytes().iter().any(|byte| {
            in_name ^= *byte == b':';
            !in_name && *byte == b'O'
        })
    }

    fn start(&self) -> *mut u8 {
        self.0.buf.cast()
    }

    pub fn len(&self) -> usize {
        self.0.len.unsigned_abs()
    }

    /// Its bytes, for the length of one call.
    ///
    /// # Safety
    /// Python code of other threads may write to it meanwhile, as to any buffer that C code uses; the bytes sent are then either the old or
    /// the new ones. Nothing in this process relies on them staying the same.
    pub unsafe fn bytes(&self) -> &[u8] {
        if self.len() == 0 {
            return &[]; // the pointer may be null
        }
        // SAFETY: the export keeps the memory valid and in place.
        unsafe { std::slice::from_raw_parts(self.start(), self.len()) }
    }

    /// Its bytes, to be written, for the length of one call.
    ///
    /// # Safety
    /// As [`Exported::bytes`], and the buffer came from [`Exported::to_receive`].
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self) -> &mut [u8] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: as above, and it is writable.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len()) }
    }

    fn register(self, device: &towpath::Device, access: Access) -> towpath::Result<towpath::Buffer> {
        let length = self.len();
        let start = if length == 0 { std::ptr::NonNull::dangling().as_ptr() } else { self.start() };
        // SAFETY: the export, which the buffer owns, keeps the memory valid and in place; only `to_receive` buffers are registered for
        // writing; about other threads see `bytes`.
        unsafe { towpath::Buffer::from_raw(device, start, length, access, Box::new(self)) }
    }
}
