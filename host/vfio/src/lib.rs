// SPDX-License-Identifier: Apache-2.0
//! A board as a bus, through the kernel's VFIO (type 1): the driver runs in the program, and the IOMMU lets the card reach what the program
//! has mapped and nothing else. [`checks`] contains the prerequisites, which also make the errors of [`VfioBus::open`].
//!
//! ```text
//! VfioBus: BARs (mapped into the program) -- MSI-X (eventfds) -- memory (pinned, at addresses of `iova`'s choice) -- reset
//!     |
//! /dev/vfio/vfio (container: one for the program's cards of a group), /dev/vfio/N (the card's IOMMU group), the device's file
//! ```
//!
//! Promises: those of [`towpath_bus::Bus`]. Memory is mapped in whole pages, so the card can reach the rest of the first and the last one,
//! too, and so can the program's other cards in its group; when an unmapping has returned, they reach nothing of it any more. A card is reset by the kernel when it is opened and when it is
//! closed, and loses bus mastering first, even if the program is killed.
//!
//! Not here: iommufd, cards without an IOMMU, interrupts by pin, binding a card to vfio-pci (that takes an administrator: `towpath doctor`
//! prints how).
#![warn(missing_docs)]

mod address;
mod bus;
pub mod checks;
mod domain;
mod error;
pub mod fabric;
mod finding;
mod ids;
mod info;
mod iova;
mod peer;
mod requests;
mod system;

pub use address::Address;
pub use bus::VfioBus;
pub use error::VfioError;
pub use finding::{Finding, Level};
pub use ids::Ids;
pub use system::{Function, System};
