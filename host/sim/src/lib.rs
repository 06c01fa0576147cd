// SPDX-License-Identifier: Apache-2.0
//! The simulator: a program meets the real gateware, compiled, behind a modelled PCI Express link and host, in its own process and in
//! lockstep.
//!
//! ```text
//! SimBus (one card as a Bus) -> World (clock, fabric, turns) -> Device: Model (compiled gateware and user core)
//!                                                                       Transmit, Receive (the link, byte by byte)
//!                                                                       RootPort (reads, splits, order), Memory (IOMMU), Faults
//! ```
//!
//! Promises: simulated time passes only in calls (or for an eventfd that is waited for), so a program of one thread takes the same
//! time in each run, to the nanosecond; counts on the wire are exact; a card that breaks a rule of PCI Express stops with the reason. Not
//! modelled: data link packets one by one, bandwidth of the host's memory, caches.
//!
//! Not for programs: they use crate `towpath`.
#![warn(missing_docs)]

mod beats;
mod bus;
mod capture;
mod clock;
mod config_space;
mod device;
mod error;
mod faults;
mod limit;
mod link;
mod memory;
mod messages;
mod model;
mod packets;
mod peer;
mod random;
mod root_complex;
mod served;
mod settings;
mod waveform;
mod world;

pub use bus::SimBus;
pub use capture::Carried;
pub use device::Statistics;
pub use error::SimError;
pub use faults::{Fault, Injection, Mishap};
pub use limit::{strict_wire_limit, WireLimit};
pub use model::{Info, PrintKind, PrintSink};
pub use served::ServedCard;
pub use settings::{Knob, Settings, SettingsError};
pub use world::World;
