// SPDX-License-Identifier: Apache-2.0
//! The memory and the streams of GPUs, as far as Towpath needs them: what a pointer points at, copies, pinned host memory, and the order of
//! transfers with the work on a stream.
//!
//! Promises: the GPU driver's library is loaded when it is first needed, and never linked; every call of it that there is stands in
//! `calls.rs`. Copies of calls without a stream go on one of this crate's own, which waits for no other. Nothing on the
//! way of a transfer allocates or frees what the GPU driver owns, for that may wait for the GPU's work. In a child of fork every call ends
//! with [`GpuError::Forked`].
//!
//! Today this is CUDA. Another vendor's library would be a second table with the same few functions.
//!
//! Not for programs: they use crate `towpath`.

mod calls;
mod context;
mod memory;
mod pinned;
mod stream;

pub use context::{Context, Joined};
pub use memory::GpuMemory;
pub use pinned::{Copying, Pinned, Shadow, PINNED_BYTES};
pub use stream::{Hold, Mark, Stream};

use std::fmt;

use towpath_bus::BusError;
use towpath_driver::Error;

/// Names the library to load instead of the GPU driver's own: for tests, whose stand-in has the same functions.
pub const LIBRARY: &str = "TOWPATH_CUDA_LIBRARY";

/// Why something of a GPU's failed.
#[derive(Debug)]
pub enum GpuError {
    /// The GPU driver's library is not there, or too old.
    NoLibrary(String),
    /// What the caller gave makes no sense.
    Invalid(String),
    /// A call of the library failed.
    Call {
        /// Its name.
        call: &'static str,
        /// The library's number for the reason.
        code: u32,
        /// Its name for the reason.
        name: String,
    },
    /// This process is a child of the one that loaded the library.
    Forked,
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuError::NoLibrary(why) | GpuError::Invalid(why) => f.write_str(why),
            GpuError::Call { call, code, name } => write!(f, "{call} failed: {name} ({code})"),
            GpuError::Forked => f.write_str("the GPU is this process's parent's: use it there, or start a new process instead of a fork"),
        }
    }
}

impl std::error::Error for GpuError {}

impl From<GpuError> for Error {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::NoLibrary(why) => Error::Unavailable(why),
            GpuError::Invalid(why) => Error::Invalid(why),
            GpuError::Forked => Error::Forked,
            error => Error::bus("using a GPU")(BusError::System("its driver".into(), error.into())),
        }
    }
}

impl From<GpuError> for std::io::Error {
    fn from(error: GpuError) -> Self {
        std::io::Error::other(error)
    }
}

/// Result of an operation on a GPU.
pub type Result<T> = std::result::Result<T, GpuError>;
