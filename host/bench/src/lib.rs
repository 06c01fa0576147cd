// SPDX-License-Identifier: Apache-2.0
//! Measures Towpath: what the real gateware reaches through the real library on the simulated link, against the strict wire limit.
//!
//! ```text
//! plan (which cases, and what each is to reach) -> measure (one card, one case) -> flow (rates from the link's record) -> report (tables)
//! ```
//!
//! Promises: simulated time alone counts, so a figure is the same on every machine and in each run; every byte that is moved is compared; a
//! case that cannot be measured is left out and named, never guessed. Not a measure of the simulator's own speed.
#![warn(missing_docs)]

mod case;
mod flow;
mod measure;
mod memory;
mod peer;
mod plan;
mod plot;
mod report;
mod window;

pub use case::{Case, Descriptor, Notify, Port, Row, Way};
pub use flow::{common, Flow, Window};
pub use measure::measure;
pub use plan::{at_endpoint, full, quick, Curve, Goal, Planned, Table, CURVES};
pub use plot::draw;
pub use report::{run, Report};

use std::fmt;

/// Why there is no figure.
#[derive(Debug)]
pub enum BenchError {
    /// The core could not be built or loaded.
    Core(String),
    /// The library failed.
    Library(towpath::Error),
    /// The simulator stopped.
    Simulator(towpath_bus::BusError),
    /// What came is not what was sent.
    Wrong(String),
    /// There is nothing to measure yet.
    NotYet(String),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Core(why) | BenchError::Wrong(why) => f.write_str(why),
            BenchError::Library(why) => why.fmt(f),
            BenchError::Simulator(why) => why.fmt(f),
            BenchError::NotYet(why) => write!(f, "not measured: {why}"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<towpath::Error> for BenchError {
    fn from(error: towpath::Error) -> Self {
        BenchError::Library(error)
    }
}

impl From<towpath_bus::BusError> for BenchError {
    fn from(error: towpath_bus::BusError) -> Self {
        BenchError::Simulator(error)
    }
}
