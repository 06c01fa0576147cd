// SPDX-License-Identifier: Apache-2.0
//! The table of the GPU driver's calls, from the library that has them.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::sync::OnceLock;

use libloading::Library;
use towpath_system::fork::Origin;

use crate::{GpuError, Result, LIBRARY};

const USUAL: &str = "libcuda.so.1";

// Numbers of the library's interface.
pub const POINTER_CONTEXT: c_int = 1;
pub const POINTER_MEMORY_TYPE: c_int = 2;
pub const POINTER_IS_MANAGED: c_int = 8;
pub const POINTER_DEVICE: c_int = 9;
pub const MEMORY_TYPE_DEVICE: u64 = 2;
pub const STREAM_NON_BLOCKING: c_uint = 1;
pub const EVENT_WITHOUT_TIME: c_uint = 2;
pub const HOST_PORTABLE: c_uint = 1;
pub const HOST_MAPPED: c_uint = 2;
/// By the difference of both, so that the count may begin anew.
pub const WAIT_UNTIL_REACHED: c_uint = 0;
pub const WRITE_BEHIND_ALL: c_uint = 0;

/// A pointer of the library's own; all are as wide.
pub type Opaque = *mut c_void;
/// An address in a GPU's memory.
pub type Address = u64;

macro_rules! calls {
    ($($name:ident = $symbol:ident($($argument:ty),*);)*) => {
        /// Each returns 0, or a number for the reason.
        pub struct Calls {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> c_uint,)*
            origin: Origin,
            /// Stays loaded as long as its functions are here.
            _library: Library,
        }

        impl Calls {
            fn find(library: Library, file: &str) -> std::result::Result<Calls, String> {
                $(
                    // SAFETY: the type is that of the library's header.
                    let $name = *unsafe { library.get(concat!(stringify!($symbol), "\0").as_bytes()) }
                        .map_err(|_| format!("{file} has no {}: install a GPU driver of CUDA 12.0 or newer", stringify!($symbol)))?;
                )*
                Ok(Calls { $($name,)* origin: Origin::here(), _library: library })
            }
        }

        /// The names in the library, for messages.
        #[allow(non_upper_case_globals, dead_code)]
        pub mod names {
            $(pub const $name: &str = stringify!($symbol);)*
        }
    };
}

calls! {
    init = cuInit(c_uint);
    error_name = cuGetErrorName(c_uint, *mut *const c_char);
    get_device = cuDeviceGet(*mut c_int, c_int);
    retain_primary = cuDevicePrimaryCtxRetain(*mut Opaque, c_int);
    push_context = cuCtxPushCurrent_v2(Opaque);
    pop_context = cuCtxPopCurrent_v2(*mut Opaque);
    current_context = cuCtxGetCurrent(*mut Opaque);
    pointer_attribute = cuPointerGetAttribute(*mut c_void, c_int, Address);
    address_range = cuMemGetAddressRange_v2(*mut Address, *mut usize, Address);
    copy_to_host = cuMemcpyDtoHAsync_v2(*mut c_void, Address, usize, Opaque);
    copy_from_host = cuMemcpyHtoDAsync_v2(Address, *const c_void, usize, Opaque);
    allocate_pinned = cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    make_stream = cuStreamCreate(*mut Opaque, c_uint);
    wait_stream = cuStreamSynchronize(Opaque);
    stream_context = cuStreamGetCtx(Opaque, *mut Opaque);
    stream_capturing = cuStreamIsCapturing(Opaque, *mut c_int);
    stream_wait_event = cuStreamWaitEvent(Opaque, Opaque, c_uint);
    stream_write_value = cuStreamWriteValue32_v2(Opaque, Address, c_uint, c_uint);
    stream_wait_value = cuStreamWaitValue32_v2(Opaque, Address, c_uint, c_uint);
    make_event = cuEventCreate(*mut Opaque, c_uint);
    record_event = cuEventRecord(Opaque, Opaque);
    wait_event = cuEventSynchronize(Opaque);
    free_event = cuEventDestroy_v2(Opaque);
}

static CALLS: OnceLock<std::result::Result<Calls, String>> = OnceLock::new();

/// The library, loaded and initialized by the first call.
pub fn calls() -> Result<&'static Calls> {
    let calls = CALLS.get_or_init(load).as_ref().map_err(|why| GpuError::NoLibrary(why.clone()))?;
    if !calls.origin.is_here() {
        return Err(GpuError::Forked);
    }
    Ok(calls)
}

fn load() -> std::result::Result<Calls, String> {
    let other = std::env::var(LIBRARY).ok().filter(|name| !name.is_empty());
    let file = other.as_deref().unwrap_or(USUAL);
    // SAFETY: the GPU driver's library may be loaded at any time; with another one the user asks for its code to run.
    let library = unsafe { Library::new(file) };
    let library = library.map_err(|why| format!("the memory of a GPU needs its driver's library, and {file} cannot be loaded: {why}"))?;
    if let Some(other) = &other {
        log::warn!("{LIBRARY} is set: {other} stands in for the GPU's driver");
    }
    let calls = Calls::find(library, file)?;
    // SAFETY: the first call of the library.
    match unsafe { (calls.init)(0) } {
        0 => Ok(calls),
        code => Err(format!("{file} finds no GPU: {} ({code})", calls.reason(code))),
    }
}

impl Calls {
    fn reason(&self, code: c_uint) -> String {
        let mut name = std::ptr::null();
        // SAFETY: it writes one pointer, to a text that stays.
        let found = unsafe { (self.error_name)(code, &raw mut name) } == 0 && !name.is_null();
        if !found {
            return "an unknown error".into();
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// The error that a call's result stands for.
    pub fn check(&self, call: &'static str, code: c_uint) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        Err(GpuError::Call { call, code, name: self.reason(code) })
    }
}

/// Make a call: `call!(calls, name(arguments))`, within an unsafe block.
macro_rules! call {
    ($calls:expr, $name:ident($($argument:expr),* $(,)?)) => {
        $calls.check($crate::calls::names::$name, ($calls.$name)($($argument),*))
    };
}
pub(crate) use call;
