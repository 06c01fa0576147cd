// SPDX-License-Identifier: Apache-2.0
//! A GPU's memory and its streams, as the protocols of array libraries give them: DLPack, the CUDA array interface, and the ways in which
//! libraries name a stream.

use std::ffi::{c_void, CStr};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use towpath::{Access, GpuContext, GpuMemory, GpuStream, JoinedStream};

use crate::error;
use crate::export::Way;
use crate::waiting::at_once;

// Of DLPack.
const CUDA: i32 = 2;
const VERSION: (u32, u32) = (1, 0);
const READ_ONLY: u64 = 1;
/// The default stream of a context.
const DEFAULT_STREAM: usize = 1;

/// An array in a GPU's memory, which stays as long as this lives.
pub struct GpuArray {
    address: usize,
    bytes: usize,
    read_only: bool,
    ready: Ready,
    owner: Owner,
}

/// What has to be done before the array may be used.
enum Ready {
    /// Nothing: it is in the order of the caller's stream.
    Ordered,
    /// Wait for the stream that its library made wait for its own.
    Joined(JoinedStream),
    /// Wait for its own stream.
    Own(usize),
}

/// An object that is released with the interpreter's lock, on any thread.
struct Owner(Option<Py<PyAny>>);

impl Drop for Owner {
    fn drop(&mut self) {
        // When the interpreter has ended, so has the object.
        if let Some(object) = self.0.take() {
            let mut object = Some(object);
            Python::try_attach(|_| drop(object.take()));
            std::mem::forget(object);
        }
    }
}

/// What both protocols say.
struct Layout {
    address: usize,
    shape: Vec<i64>,
    /// In bytes or in items; `None`: one row.
    strides: Option<Vec<i64>>,
    /// The unit of `strides`: an item's size there.
    stride: i64,
    item_bits: i64,
    read_only: bool,
}

impl Layout {
    fn items(&self) -> i64 {
        self.shape.iter().product()
    }

    fn is_one_row(&self) -> bool {
        let Some(strides) = &self.strides else { return true };
        let mut expected = self.stride;
        let row = |(size, stride): (&i64, &i64)| {
            let fits = *size <= 1 || *stride == expected;
            expected *= (*size).max(1);
            fits
        };
        self.items() == 0 || self.shape.iter().zip(strides).rev().all(row)
    }
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    offset: u64,
}

/// Of version 1 of DLPack; before that there was the tensor alone, at its beginning.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    manager: *mut c_void,
    deleter: *mut c_void,
    flags: u64,
    tensor: DlTensor,
}

fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".to_string(), |name| name.to_string())
}

fn usage(object: &Bound<'_, PyAny>, what: &str) -> PyErr {
    error::usage(object.py(), &format!("buffer is of type {}, {what}", kind_of(object)))
}

impl GpuArray {
    /// The object as an array in a GPU's memory; `None`: it does not say that it is one. `stream`: it is used in the order of that stream.
    pub fn of(object: &Bound<'_, PyAny>, stream: Option<usize>) -> PyResult<Option<GpuArray>> {
        let class = object.get_type();
        let interface = || object.getattr("__cuda_array_interface__").ok();
        if class.hasattr("__dlpack_device__")? {
            let device = object.call_method0("__dlpack_device__")?.cast::<PyTuple>()?.clone();
            let (kind, number) = (device.get_item(0)?.call_method0("__index__")?.extract::<i32>()?, device.get_item(1)?.extract::<i32>()?);
            // SAFETY: valid for any object.
            if kind != CUDA && unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0 {
                return Ok(None); // why it is refused as a buffer of the host's says more
            }
            if kind != CUDA {
                return Err(usage(object, other_memory(kind)));
            }
            let mut array = GpuArray::of_dlpack(object, number, stream)?;
            // Some libraries say only here that an array must not change.
            let read_only = interface().and_then(|found| found.get_item("data").ok()?.get_item(1).ok()?.is_truthy().ok());
            array.read_only |= read_only.unwrap_or(false);
            return Ok(Some(array));
        }
        // An attribute that refuses has a reason that the caller should read.
        if class.hasattr("__cuda_array_interface__")? || object.hasattr("__cuda_array_interface__")? {
            let found = object.getattr("__cuda_array_interface__").map_err(|why| gives_none(object, &why))?;
            return GpuArray::of_interface(object, &found, stream).map(Some);
        }
        Ok(None)
    }

    fn of_dlpack(object: &Bound<'_, PyAny>, number: i32, stream: Option<usize>) -> PyResult<GpuArray> {
        let py = object.py();
        let (handle, ready) = match stream {
            Some(handle) => (handle.max(DEFAULT_STREAM), Ready::Ordered),
            None => {
                let joined = at_once(py, || Ok(GpuContext::of_device(number)?.join()?))?;
                (joined.handle(), Ready::Joined(joined))
            }
        };
        let keywords = PyDict::new(py);
        keywords.set_item("stream", handle)?;
        keywords.set_item("max_version", VERSION)?;
        let capsule = match object.call_method("__dlpack__", (), Some(&keywords)) {
            Err(why) if why.is_instance_of::<PyTypeError>(py) => {
                keywords.del_item("max_version")?;
                object.call_method("__dlpack__", (), Some(&keywords))
            }
            other => other,
        };
        let capsule = capsule.map_err(|why| gives_none(object, &why))?;
        let pointer = |name: &CStr| {
            // SAFETY: valid for any object; a capsule of another name has no such pointer.
            unsafe {
                let is_it = ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) != 0;
                is_it.then(|| ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()))
            }
        };
        // SAFETY: by DLPack, an unconsumed capsule points to such a structure and keeps it alive.
        let (tensor, flags) = unsafe {
            match (pointer(c"dltensor_versioned"), pointer(c"dltensor")) {
                (Some(found), _) if (*found.cast::<Versioned>()).version[0] == VERSION.0 => {
                    let versioned = &*found.cast::<Versioned>();
                    (&versioned.tensor, versioned.flags)
                }
                (None, Some(found)) => (&*found.cast::<DlTensor>(), 0),
                _ => return Err(usage(object, "whose memory comes in a form of DLPack that this version of Towpath does not know")),
            }
        };
        let row = |start: *const i64| -> Vec<i64> {
            let length = tensor.dimensions.max(0) as usize;
            // SAFETY: by DLPack, as many numbers; none need be there for no dimensions.
            if length == 0 {
                Vec::new()
            } else {
                unsafe { std::slice::from_raw_parts(start, length) }.to_vec()
            }
        };
        let layout = Layout {
            address: tensor.data as usize + tensor.offset as usize,
            shape: row(tensor.shape),
            strides: (!tensor.strides.is_null()).then(|| row(tensor.strides)),
            stride: 1,
            item_bits: i64::from(tensor.bits) * i64::from(tensor.lanes),
            read_only: flags & READ_ONLY != 0,
        };
        GpuArray::new(object, &layout, ready, capsule)
    }

    fn of_interface(object: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>, stream: Option<usize>) -> PyResult<GpuArray> {
        let py = object.py();
        let get = |name: &str| Ok::<_, PyErr>(interface.call_method1("get", (name,))?).map(|value| (!value.is_none()).then_some(value));
        let needed = |name: &str| get(name)?.ok_or_else(|| usage(object, &format!("whose __cuda_array_interface__ has no \"{name}\"")));
        let (address, read_only): (usize, bool) = needed("data")?.extract()?;
        let typestr: String = needed("typestr")?.extract()?;
        let item = typestr.get(2..).and_then(|size| size.parse::<i64>().ok());
        let item = item.ok_or_else(|| usage(object, &format!("whose items are of an unknown type, {typestr}")))?;
        let layout = Layout {
            address,
            shape: needed("shape")?.extract()?,
            strides: get("strides")?.map(|strides| strides.extract()).transpose()?,
            stride: item,
            item_bits: 8 * item,
            read_only,
        };
        let own = get("stream")?.map(|own| own.extract::<usize>()).transpose()?;
        let ready = match (stream, own) {
            (Some(_), None) => Ready::Ordered,
            (Some(stream), Some(own)) => {
                // SAFETY: both are streams, as their owners say.
                unsafe {
                    let streams = || Ok((GpuStream::new(stream, None)?, GpuStream::new(own, None)?));
                    at_once(py, || streams().and_then(|(stream, own)| stream.follow(&own).map_err(towpath::Error::from)))?;
                }
                Ready::Ordered
            }
            (None, own) => Ready::Own(own.unwrap_or(DEFAULT_STREAM)),
        };
        GpuArray::new(object, &layout, ready, object.clone())
    }

    fn new(object: &Bound<'_, PyAny>, layout: &Layout, ready: Ready, owner: Bound<'_, PyAny>) -> PyResult<GpuArray> {
        if !layout.is_one_row() {
            return Err(usage(
                object,
                "and not C-contiguous: its bytes are not one row in the GPU's memory; copy it first, with .contiguous() of a PyTorch tensor \
                 or cupy.ascontiguousarray(...)",
            ));
        }
        let bytes = (layout.items() * layout.item_bits).unsigned_abs().div_ceil(8) as usize;
        let (address, read_only) = (layout.address, layout.read_only);
        Ok(GpuArray { address, bytes, read_only, ready, owner: Owner(Some(owner.unbind())) })
    }

    /// To be received into: it must be writable.
    pub fn writable(self, object: &Bound<'_, PyAny>) -> PyResult<GpuArray> {
        if self.read_only {
            return Err(usage(
                object,
                "and read-only, so nothing can be received into it; give a writable array, such as a PyTorch tensor",
            ));
        }
        Ok(self)
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    /// As a buffer of the device's. Waits for the array's own work, if it is not in the order of a stream. Call this without the
    /// interpreter's lock.
    pub fn register(self, device: &towpath::Device, access: Access, way: Way) -> towpath::Result<towpath::Buffer> {
        if self.bytes == 0 {
            // SAFETY: of no bytes.
            return unsafe { towpath::Buffer::from_raw(device, std::ptr::NonNull::dangling().as_ptr(), 0, access, Box::new(())) };
        }
        // SAFETY: the owner keeps the array.
        let memory = unsafe { GpuMemory::new(self.address, self.bytes)? };
        match self.ready {
            Ready::Ordered => {}
            Ready::Joined(joined) => joined.wait()?,
            // SAFETY: a stream, as the array's owner says.
            Ready::Own(handle) => unsafe { GpuStream::new(handle, Some(&memory)) }?.wait()?,
        }
        // SAFETY: as above; only writable arrays are registered for writing. What the program does with the array meanwhile is its own
        // affair, as with any buffer of Python's.
        unsafe {
            if way.stream.is_some() {
                towpath::Buffer::for_stream(device, memory, access, way.staged, Box::new(self.owner))
            } else if way.staged {
                towpath::Buffer::from_gpu_staged(device, memory, access, Box::new(self.owner))
            } else {
                towpath::Buffer::from_gpu(device, memory, access, Box::new(self.owner))
            }
        }
    }

    /// The stream that this handle means for the array. Call this without the interpreter's lock.
    pub fn stream(&self, handle: usize) -> towpath::Result<GpuStream> {
        // SAFETY: the caller's word is that it is one, and the owner keeps the array.
        unsafe {
            let memory = if self.bytes == 0 { None } else { Some(GpuMemory::new(self.address, self.bytes)?) };
            Ok(GpuStream::new(handle, memory.as_ref())?)
        }
    }
}

fn gives_none(object: &Bound<'_, PyAny>, why: &PyErr) -> PyErr {
    usage(object, &format!("which gives no memory: {}", why.value(object.py())))
}

/// Why memory of another kind of device is refused.
fn other_memory(kind: i32) -> &'static str {
    match kind {
        1 | 3 | 13 => "whose memory the processor can use; give its NumPy view, .numpy() of a PyTorch tensor, or numpy.from_dlpack(...)",
        10 | 11 => "in the memory of a ROCm GPU, which this version of Towpath cannot use: of GPUs it knows those of CUDA; copy it to the host first",
        14 => "in the memory of a oneAPI device, which this version of Towpath cannot use: of GPUs it knows those of CUDA; copy it to the host first",
        _ => "in the memory of a device that Towpath cannot use: of GPUs it knows those of CUDA; copy it to the host first",
    }
}

/// A stream, from what a program gives as one: its handle.
pub fn stream(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = value.py();
    let number = |found: Bound<'_, PyAny>| found.extract::<usize>().ok();
    if let Ok(found) = value.getattr("__cuda_stream__") {
        let pair = if found.is_callable() { found.call0()? } else { found };
        let (version, handle): (i64, usize) = pair.extract()?;
        if version == 0 {
            return Ok(handle);
        }
        return Err(error::usage(
            py,
            &format!("stream is of version {version} of __cuda_stream__, and Towpath knows 0; give its handle (int)"),
        ));
    }
    let named = || ["cuda_stream", "ptr"].iter().find_map(|name| value.getattr(*name).ok().and_then(number));
    let found = if value.hasattr("__index__")? { number(value.clone()) } else { named() };
    found.ok_or_else(|| {
        let what =
            format!("stream is of type {}; give a stream of PyTorch, CuPy or cuda.core, or a CUDA stream's handle (int)", kind_of(value));
        error::of_class(py, "ArgumentTypeError", &what)
    })
}
