// SPDX-License-Identifier: Apache-2.0
//! Moves data between a program and a user core on an FPGA, over PCI Express or in simulation.
//!
//! ```no_run
//! # fn main() -> towpath::Result<()> {
//! let device = towpath::Device::open("sim:loopback")?; // or "" for the first card in this machine
//! let sender = device.sender("in")?; // by name or number
//! let receiver = device.receiver("out")?;
//! sender.send(b"hello")?; // a whole message, any length
//! let answer = receiver.recv()?; // a whole message
//! assert_eq!(answer, b"hello");
//! # Ok(()) }
//! ```
//!
//! A [`Device`] has *channels*, each of one direction and independent of all others: [`Sender`] and [`Receiver`]. What travels are
//! *messages*: bytes between two ends of message (`tlast` of AXI4-Stream). [`Registers`] and [`UserInterrupts`] are the user core's
//! own. The same program runs in simulation and on a board; only the name given to [`Device::open`] changes.
//!
//! # Threads
//! Every type here may be shared between threads and moved to others. Blocking transfers of one channel run one after the other, each
//! message whole; different channels do not wait for each other. `cancel` and `reset` may be called while another thread waits.
//!
//! # Time
//! A timeout counts time without progress; in simulation, simulated time. Every call that waits gives up after the channel's timeout,
//! ten seconds until it is set otherwise.
//!
//! # What it does not do
//! The library never panics on bad input, and never aborts, exits or prints. It logs through crate `log`.

mod buffer;
mod cards;
mod channel;
mod device;
mod doctor;
mod open;
mod serve;
mod served;

pub use buffer::{Access, Buffer};
pub use cards::{list_devices, DeviceListing};
pub use channel::{ChannelName, Received, Receiver, Sender};
pub use device::{Device, Registers, UserInterrupts};
pub use doctor::doctor;
pub use open::{OpenOptions, TextSink};
pub use serve::{CardFaults, CardServer};
pub use towpath_cores::{set_simulator_files, SimulatorFiles};
pub use towpath_driver::{
    ChannelInfo, ChannelOptions, ChannelStatistics, Completion, DeviceInfo, Direction, Error, LinkCounters, Message, MessageStart, Notify,
    Result, Status, Ticket, WireStatistics,
};
/// Ends [`CardServer::serve`].
pub use towpath_front::Stop;
/// What [`doctor`] found.
pub use towpath_vfio::{Finding, Level};
