// SPDX-License-Identifier: Apache-2.0
//! Python's buffers as memory that the card may use.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

use crate::error;

/// A C-contiguous buffer, exported for as long as this lives.
pub struct Exported(PyUntypedBuffer);

impl Exported {
    /// A buffer to be sent: read-only ones are fine.
    pub fn to_send(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let Ok(buffer) = PyUntypedBuffer::get(object) else {
            let kind = object.get_type();
            return Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "{kind} is not a buffer; give bytes, bytearray, memoryview, array, mmap or a NumPy array"
            )));
        };
        if !buffer.is_c_contiguous() {
            return Err(error::usage(
                py,
                "the buffer is not C-contiguous: its bytes are not one row in memory; copy it first, with numpy.ascontiguousarray(...) or bytes(...)",
            ));
        }
        Ok(Exported(buffer))
    }

    /// A buffer to be received into.
    pub fn to_receive(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let exported = Exported::to_send(object)?;
        if exported.0.readonly() {
            return Err(error::usage(
                object.py(),
                "the buffer is read-only, nothing can be received into it; give a bytearray or a writable array",
            ));
        }
        Ok(exported)
    }

    pub fn start(&self) -> *mut u8 {
        self.0.buf_ptr().cast()
    }

    pub fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// Its bytes, for the length of one call.
    ///
    /// # Safety
    /// Python code of other threads may write to it meanwhile, as to any buffer that C code uses; the bytes sent are then either the old or the new
    /// ones. Nothing in this process relies on them staying the same.
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

    /// As the library's buffer, for a transfer that outlasts the call. Give it away and call this without the interpreter's lock.
    pub fn register(self, device: &towpath::Device, access: towpath::Access) -> towpath::Result<towpath::Buffer> {
        let length = self.len();
        let start = if length == 0 { std::ptr::NonNull::dangling().as_ptr() } else { self.start() };
        // SAFETY: the export, which the buffer owns, keeps the memory valid and in place; only `to_receive` buffers are registered for writing; about
        // other threads see `bytes`.
        unsafe { towpath::Buffer::from_raw(device, start, length, access, Box::new(self)) }
    }
}
