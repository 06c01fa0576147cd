// SPDX-License-Identifier: Apache-2.0
//! A PCI card for a guest kernel without a virtual machine: User-Mode Linux finds it on its PCI bus (`CONFIG_UML_PCI_OVER_VIRTIO`), because
//! this server implements vhost-user, and on the rings that the guest sets up there, virtio-pcidev.
//!
//! ```text
//! guest's kernel                                                     card's process
//! register and configuration accesses -- queue 0 --> Server --> Device (a model of a card)
//! interrupts  <------------------------- queue 1 ------+           |
//! physical memory, a file that both have mapped <-- Memory <-------+
//! ```
//!
//! Promises. Nothing that a peer sends makes the server panic, allocate without bound, or touch memory that was not shared with it: sizes,
//! counts, indices, addresses and chains of the rings are checked each time they are used. A kick is answered when its accesses are done,
//! so a read of the guest's has its value when the kick returns, and no write is lost. An interrupt comes after all that the card wrote
//! before it, and waits while the guest has no buffer for it. If the channel back is full, it is written as soon as there is room; it is
//! never dropped. One client at a time; when one leaves, in any way, the card is reset.
//!
//! Not here: a peer that cuts the file of its memory short after it was mapped ends the process, as with any server of this protocol;
//! interrupts by pin and power management events; notifications by eventfd. See `docs/adr/0014-vhost-user.md`.
#![warn(missing_docs)]

mod back;
mod layout;
mod memory;
mod message;
mod pcidev;
mod ring;
mod server;

pub use memory::Memory;
pub use server::Server;
