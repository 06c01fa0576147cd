// SPDX-License-Identifier: Apache-2.0
//! What servers of a card behind a UNIX socket share, for any protocol: [`Device`] behind it, [`Door`] in front of it, messages that carry
//! descriptors in between, and the memory of another process.
//!
//! Promises: one client at a time; the next finds a card that was reset. Nothing here trusts a peer: sizes are checked before bytes are
//! taken, and descriptors belong to the message with which they came.
//!
//! Not for programs, nor for a protocol's own messages: those are in `towpath-vfio-user` and `towpath-vhost-user`.
#![warn(missing_docs)]

mod device;
mod door;
mod place;
mod serve;
pub mod wire;

pub use device::{Device, Errno, HostMemory, Interrupt, Mapping, Pace, Region, REGIONS, REGION_BAR0, REGION_CONFIG};
pub use door::{Door, Stop};
pub use serve::serve;
