// SPDX-License-Identifier: Apache-2.0
//! Random transfers through Towpath's public API, with every byte and every completion compared with a reference.
//!
//! [`run`] opens a device by name, keeps both directions of all its channels busy with random transfers, cancels some of them in
//! flight, and says what
//! was wrong first. It knows nothing of what lies below the library: any device will do whose core echoes, as `cores/loopback` and
//! `tests/cores/loop3x2` do, simulated or real.
//!
//! One thread, one generator of random numbers: over a simulated device, the same seed gives the same run to the nanosecond.
//!
//! - [`contents`]: what the bytes are, by their place in a channel's stream
//! - [`reference`](mod@reference): what must come back, and how each descriptor may end
//! - [`device`]: names of devices with random settings
//! - [`lane`]: one way to the card and, if the core answers, back
//! - [`served`]: a simulated device behind a socket
//! - [`run`](mod@run): the run
//!
//! [`storm`] does the same in bad weather, below the library, where the simulator's faults can be laid at their doors: with [`watch`], a bus
//! that knows whose memory the card reads and posts some descriptors in batches, and [`ledger`], what must come back when sends may fail.
//!
//! [`memories`] is the same for a memory that is read and written by address, [`mishaps`] for a core that is silent, reset or swapped.

mod batches;
pub mod contents;
pub mod device;
pub mod lane;
pub mod ledger;
pub mod memories;
pub mod mishaps;
pub mod random;
mod reckoning;
pub mod reference;
pub mod run;
pub mod served;
pub mod storm;
mod voyage;
pub mod watch;

pub use run::{run, Coverage, Plan, Report};
