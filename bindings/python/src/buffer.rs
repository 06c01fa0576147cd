// SPDX-License-Identifier: Apache-2.0
//! Memory that is registered with the card once, for many transfers, and is an array in Python.

use std::alloc::Layout;
use std::any::Any;
use std::ffi::{c_int, CString};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple};
use towpath::Access;

use crate::error;
use crate::export::Part;
use crate::waiting::release;

/// Buffers begin on a page, so that the card's packets need not be cut.
const ALIGNMENT: usize = 4096;
/// Of DLPack: memory of the processor.
const DLPACK_CPU: (i32, i32) = (1, 0);

/// Zeroed memory. It lives as long as its last export, view or transfer; it is never freed if it could not be unmapped from the card.
struct Pages {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the pointer is owned; code that uses the memory follows the rules of Python's buffers.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn allocate(bytes: usize) -> towpath::Result<Pages> {
        let out_of_memory = || towpath::Error::Memory { bytes: bytes as u64 };
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).map_err(|_| out_of_memory())?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        if start.is_null() {
            return Err(out_of_memory());
        }
        Ok(Pages { start, layout })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; no reference to it remains.
        unsafe { std::alloc::dealloc(self.start, self.layout) };
    }
}

/// The memory and its registration, which ends when the device is closed; the memory stays.
pub struct Registered {
    pages: Arc<Pages>,
    /// Only locked for a moment.
    buffer: Mutex<Option<Arc<towpath::Buffer>>>,
}

impl Registered {
    pub fn allocate(device: &towpath::Device, bytes: usize) -> towpath::Result<Registered> {
        let pages = Arc::new(Pages::allocate(bytes)?);
        let owner: Box<dyn Any + Send + Sync> = Box::new(pages.clone());
        // SAFETY: the pages live until the registration's owner is dropped; about other threads see `Exported::bytes`.
        let buffer = unsafe { towpath::Buffer::from_raw(device, pages.start, bytes, Access::ReadWrite, owner)? };
        Ok(Registered { pages, buffer: Mutex::new(Some(Arc::new(buffer))) })
    }

    fn buffer(&self) -> Option<Arc<towpath::Buffer>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Unmap the memory from the card when no transfer uses it any more. Call this without the interpreter's lock.
    pub fn end(&self) {
        let buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(buffer);
    }
}

/// What a device has registered and Python still refers to.
#[derive(Default)]
pub struct Registrations(Vec<Weak<Registered>>);

impl Registrations {
    pub fn add(&mut self, registered: &Arc<Registered>) {
        self.0.retain(|other| other.strong_count() > 0);
        self.0.push(Arc::downgrade(registered));
    }

    pub fn end(&self) {
        self.0.iter().filter_map(Weak::upgrade).for_each(|registered| registered.end());
    }
}

/// The type of an array's items, in the forms that the protocols require.
struct Item {
    /// NumPy's name for it.
    name: String,
    /// As in PEP 3118.
    format: CString,
    /// As in NumPy's array interface.
    typestr: String,
    bytes: usize,
}

#[pyclass(frozen, weakref, module = "towpath._towpath")]
pub struct Buffer {
    /// None only while it is dropped.
    registered: Option<Arc<Registered>>,
    /// Where this view begins in the memory.
    start: usize,
    item: Arc<Item>,
    shape: Vec<isize>,
    strides: Vec<isize>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        release(self.registered.take());
    }
}

impl Buffer {
    fn view(registered: Arc<Registered>, start: usize, item: Arc<Item>, shape: Vec<isize>) -> Buffer {
        let mut strides = vec![item.bytes as isize; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1);
        }
        Buffer { registered: Some(registered), start, item, shape, strides }
    }

    fn registered(&self) -> PyResult<&Arc<Registered>> {
        self.registered.as_ref().ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("the buffer is being dropped"))
    }

    fn bytes(&self) -> usize {
        self.shape.iter().product::<isize>().unsigned_abs() * self.item.bytes
    }

    fn range(&self) -> Range<usize> {
        self.start..self.start + self.bytes()
    }

    fn memory(&self) -> PyResult<*mut u8> {
        // SAFETY: the view lies within the memory.
        Ok(unsafe { self.registered()?.pages.start.add(self.start) })
    }

    /// Its bytes for a transfer.
    pub fn part(&self, py: Python<'_>) -> PyResult<Part> {
        let buffer = self.registered()?.buffer();
        let buffer =
            buffer.ok_or_else(|| error::usage(py, "the buffer's device is closed; allocate one on an open device, or send a copy"))?;
        Ok(Part { buffer, range: self.range() })
    }

    /// For [`crate::card::Device`], which has registered the memory.
    pub fn new(registered: Arc<Registered>, shape: Vec<isize>, name: String, format: CString, typestr: String, bytes: usize) -> Buffer {
        Buffer::view(registered, 0, Arc::new(Item { name, format, typestr, bytes }), shape)
    }
}

#[pymethods]
impl Buffer {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    #[getter]
    fn dtype(&self) -> &str {
        &self.item.name
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes()
    }

    fn __len__(&self) -> PyResult<usize> {
        self.shape.first().map(|length| length.unsigned_abs()).ok_or_else(|| PyTypeError::new_err("a buffer of shape () has no length"))
    }

    fn __getitem__(&self, part: &Bound<'_, PyAny>) -> PyResult<Buffer> {
        let allowed = "slices without a step, which are views; numpy.asarray(buffer) has single items, and all else";
        let Ok(slice) = part.cast::<PySlice>() else {
            return Err(error::of_class(
                part.py(),
                "ArgumentTypeError",
                &format!("a buffer is not indexed by {}; it has {allowed}", part.repr()?),
            ));
        };
        let indices = slice.indices(self.__len__()? as isize)?;
        if indices.step != 1 {
            return Err(error::usage(part.py(), &format!("a buffer has no {}; it has {allowed}", part.repr()?)));
        }
        let mut shape = self.shape.clone();
        shape[0] = (indices.stop - indices.start).max(0);
        let skipped = indices.start.min(self.shape[0]).unsigned_abs() * self.strides[0].unsigned_abs();
        Ok(Buffer::view(self.registered()?.clone(), self.start + skipped, self.item.clone(), shape))
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", &self.item.typestr)?;
        interface.set_item("data", (self.memory()? as usize, false))?;
        Ok(interface)
    }

    /// By NumPy, which supports all versions of the protocol.
    #[pyo3(signature = (**keywords), text_signature = "($self, **keywords)")]
    fn __dlpack__<'py>(slf: Bound<'py, Self>, keywords: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        let array = slf.py().import("numpy")?.call_method1("asarray", (slf,))?;
        array.call_method("__dlpack__", (), keywords)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        DLPACK_CPU
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("towpath.Buffer(shape={}, dtype='{}')", self.shape(py)?.repr()?, self.item.name))
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        let this = slf.get();
        let asked = |flag: c_int| flags & flag == flag;
        // SAFETY: the view is to be filled. What it points at lives as long as this object, which it refers to and which never changes;
        // consumers of a shape do not write to it.
        unsafe {
            (*view).buf = this.memory()?.cast();
            (*view).len = this.bytes() as isize;
            (*view).itemsize = this.item.bytes as isize;
            (*view).readonly = 0;
            (*view).ndim = if asked(ffi::PyBUF_ND) { this.shape.len() as c_int } else { 1 };
            (*view).format = if asked(ffi::PyBUF_FORMAT) { this.item.format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).shape = if asked(ffi::PyBUF_ND) { this.shape.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).strides = if asked(ffi::PyBUF_STRIDES) { this.strides.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }
}
