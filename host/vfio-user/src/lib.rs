// SPDX-License-Identifier: Apache-2.0
//! A PCI card in one process, its driver in another: both ends of the vfio-user protocol (version 0.1, message layouts as in libvfio-user).
//!
//! ```text
//! program's process                                             card's process
//! Client (a Bus) --- region reads and writes, DMA maps, resets --> Server --> Device (a model of a card)
//!    reader thread <-- DMA reads and writes of the program's memory -- Dma <------+
//!    eventfds <------------------------- interrupts ------------------------------+
//! ```
//!
//! Promises. Of the server: nothing that a peer sends makes it panic, allocate without bound, or touch memory that was not mapped for it.
//! It serves one client at a time; a second is refused. When a client leaves, in any way, its memory and its interrupts are released, and
//! the next one finds a card that was reset. Of the client: the promises of [`towpath_bus::Bus`], and that the server reaches only the
//! bytes that are mapped at that moment, whatever it requests.
//!
//! Not here: migration, dirty pages, ioeventfds, interrupts by pin. BARs that a server offers to map are read and written by messages all
//! the same: see `docs/adr/0010-vfio-user.md`.
#![warn(missing_docs)]

mod client;
mod dma;
mod layout;
pub mod message;
mod server;
mod wire;

pub use client::Client;
pub use dma::{Dma, Refused};
pub use server::{Server, IRQ_MSIX};
pub use towpath_device_server::{Device, Errno, HostMemory, Mapping, Pace, Region, Stop, REGIONS, REGION_BAR0, REGION_CONFIG};
