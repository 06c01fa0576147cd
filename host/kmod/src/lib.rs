// SPDX-License-Identifier: Apache-2.0
//! Cards that the kernel module towpath.ko holds: [`LinuxDriver`] is Towpath's driver interface over the module's files, and [`cards`]
//! lists them.
//!
//! ```text
//! LinuxDriver: what the card is, registers, user interrupts, registered memory -- /dev/towpath0/control
//! its channels: a queue of transfers each ------------------------------------- /dev/towpath0/NUMBER
//! ```
//!
//! Promises: those of [`towpath_driver::Driver`] and [`towpath_driver::Channel`]. The module posts, reaps and arms; this crate submits
//! transfers and collects their completions, with two system calls at most for one that is waited for. No thread of its own. The kernel
//! pins memory: it keeps memory in flight from being reused, whatever becomes of the program, and releases all of it when the card goes.
//!
//! Not here: reading and writing the files as bytes, which any program can do without a library, and choosing how to wait: the kernel waits
//! for interrupts, whatever [`towpath_driver::Notify`] is set.
#![warn(missing_docs)]

mod cards;
mod channel;
mod driver;
mod error;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod fill;
mod sys;
mod uapi;

pub use cards::{cards, Card, MODULE};
pub use driver::LinuxDriver;
pub use error::{OpenError, RIGHTS};
