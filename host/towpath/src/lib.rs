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
//! own, and a core may have [`Memory`]. Beside it may stand plug-ins: a [`Plugin`] is the registers of any; [`Reset`], [`Clock`] and [`Partial`] are among those that
//! come with Towpath. The same program runs in simulation and on a board; only the name given to [`Device::open`] changes.
//!
//! # Threads
//! Every type here may be shared between threads and moved to others. Blocking transfers of one channel run one after the other, in the
//! order of their calls, each message whole; different channels do not wait for each other. `cancel_all` and `reset` may be called while
//! another thread waits.
//!
//! # Time
//! A limit belongs to one call and counts time without progress of its own, in simulation simulated time: [`WaitOptions`]. A call
//! that is over its limit cancels what it has posted, and nothing else. Calls that specify no limit have the channel's, ten seconds by
//! default.
//!
//! # Memory
//! A [`Buffer`] is registered once, and its transfers name the registration. A plain slice is registered for its call. The same memory may
//! be in flight several times.
//!
//! A GPU's memory is a [`Buffer`] as well: [`Buffer::from_gpu`] where the card can reach it (today: in simulation, by copies),
//! [`Buffer::from_gpu_staged`] with any card. `on_stream` of a channel makes transfers in the order of a GPU's stream.
//!
//! Between two cards [`connect`] lets a user core of one send to a user core of the other, without the host.
//!
//! # Signals and fork
//! A signal handler that runs in a thread while it waits here ends the call with [`Error::Interrupted`], unless
//! [`WaitOptions::interrupted`] decides otherwise. In a child of fork(2) every call ends with [`Error::Forked`], and dropping releases
//! nothing: the card stays the parent's.
//!
//! # Features
//! By default a program opens boards: through the kernel module (`linux`) and through VFIO (`vfio`); with both there is
//! `doctor`. `sim` adds simulated cards (and what builds them), `vfio-user` cards in other processes, `serve` a server of such cards.
//! `tokio` adds channels as its `AsyncRead` and `AsyncWrite`; without it, transfers are futures of any runtime.
//!
//! # What it does not do
//! The library never panics on bad input, and never aborts, exits or prints. It logs through crate `log`.

#[cfg(feature = "tokio")]
mod async_stream;
mod buffer;
mod cards;
mod channel;
mod clock;
mod device;
#[cfg(all(feature = "vfio", feature = "linux"))]
mod doctor;
mod fanout;
mod frames;
mod gpu;
mod kept;
mod kind;
mod memory;
mod open;
mod pair;
mod partial;
mod parts;
mod peer;
mod plugin;
mod reactor;
mod receiver;
mod reset;
mod sender;
#[cfg(feature = "serve")]
mod serve;
#[cfg_attr(not(feature = "serve"), allow(dead_code, reason = "what announces a card"))]
mod served;
#[cfg(feature = "sim")]
mod simulated;
mod stream;
mod tlplog;
mod transfer;
mod turn;

#[cfg(feature = "tokio")]
pub use async_stream::{AsyncReceiver, AsyncSender};
pub use buffer::{Access, Buffer};
pub use cards::{list_devices, DeviceListing};
pub use channel::ChannelName;
pub use clock::{Clock, ClockStatus};
pub use device::{Device, Registers, UserInterrupts};
#[cfg(all(feature = "vfio", feature = "linux"))]
pub use doctor::doctor;
pub use fanout::{FanoutReceiver, FanoutSender};
pub use frames::{FrameReceiver, FrameSender};
pub use gpu::OnStream;
pub use kind::{Kind, KindChannels};
pub use memory::{Memory, MemoryHalf, MemoryInfo, Window};
pub use open::{OpenOptions, TextSink};
pub use pair::{connect, connect_with, Pair, PairFault, PairOptions, PairStatus, Parted};
pub use partial::{Partial, PartialImage, PartialProgress, PartialStatus};
pub use plugin::Plugin;
pub use receiver::{Received, Receiver};
pub use reset::{OnFault, Reset, ResetStatus};
pub use sender::Sender;
#[cfg(feature = "serve")]
pub use serve::{CardFaults, CardServer};
pub use tlplog::{TlpCounts, TlpEntries, TlpEntry, TlpFilter, TlpLog};
/// Why the way to the card failed: the source of [`Error::Bus`].
pub use towpath_bus::BusError;
/// What became of a load: for [`Partial`].
pub use towpath_contract::PartialOutcome;
/// Which way a packet went, and what it is: for [`TlpLog`].
pub use towpath_contract::TlpStream;
#[cfg(feature = "sim")]
pub use towpath_cores::{set_simulator_files, SimulatorFiles};
/// Ends [`CardServer::serve`].
#[cfg(feature = "serve")]
pub use towpath_device_server::Stop;
pub use towpath_driver::{
    ChannelInfo, ChannelKind, ChannelOptions, ChannelStatistics, Completion, DeviceInfo, Direction, Error, Held, LinkCounters, Message,
    MessageStart, Notify, PluginInfo, Qos, QosChange, Result, Status, Ticket, WaitOptions, WireStatistics,
};
/// A GPU's memory, its streams, and what libraries that use it need.
pub use towpath_gpu::{Context as GpuContext, GpuError, GpuMemory, Joined as JoinedStream, Stream as GpuStream};
/// What [`doctor`] found.
#[cfg(feature = "vfio")]
pub use towpath_vfio::{Finding, Level};
pub use transfer::Transfer;
