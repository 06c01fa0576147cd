// SPDX-License-Identifier: Apache-2.0
//! The system calls that Towpath's crates need and the standard library lacks, each behind a safe function where one is possible.
//!
//! Promises: no other crate of Towpath calls the C library or makes a system call by number; one function for each purpose; errors are
//! [`std::io::Error`] with the kernel's number. Linux only.
//!
//! Not for programs: they use crate `towpath`.

pub mod errno;
pub mod event;
pub mod file;
pub mod fork;
mod ioctl;
mod mapping;
pub mod process;
pub mod signals;
pub mod socket;

pub use ioctl::ioctl;
pub use libc::iovec;
pub use mapping::{device_fence, land, Mapping, Rights, MAPS_DEVICES};

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The event was signalled at least once since the last wait for it.
    Fired,
    /// The time was over first.
    TimedOut,
    /// A signal handler ran in this thread first.
    Interrupted,
}
