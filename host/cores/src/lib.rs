// SPDX-License-Identifier: Apache-2.0
//! User cores for the simulator: from a folder with a manifest to a shared object with the interface of `gateware/sim/tp_model.h`.
//!
//! [`find_core`] turns a name into a folder, [`Manifest::read`] reads its `towpath.toml`, and [`build`] compares that with the ports that
//! the top really has, generates the wrapper, runs Verilator and the C++ compiler and keeps the result in a cache keyed by content.
//!
//! Promises: nothing is printed and nothing panics; every error contains what was wrong, where, and what to do. Compilers' messages name
//! the user's files and lines. Builders in several processes may run at once.
//!
//! [`wrap`] generates the wrapper alone: a board's top instantiates it, too. What else a board needs is in `boards/`.

mod array;
mod axi;
mod build;
mod check;
mod data;
mod draft;
mod endpoint;
mod epee;
mod error;
mod family;
mod fifo;
mod files;
mod find;
mod ghdl;
mod kind;
mod listed;
mod loops;
mod manifest;
mod plugin;
mod ports;
mod region;
mod riffa;
mod shim;
mod stream;
mod tool;
mod tree;
mod vhdl;
mod warnings;
mod wires;
mod wrapper;
mod xillybus;

pub use build::{build, wrap, BuildOptions, Built, Inside, Region, Wrapped};
pub use check::Check;
pub use data::Data;
pub use draft::{draft, draft_with, Draft, DraftRegister, DraftStream};
pub use endpoint::{endpoints, Endpoint};
pub use error::CoreError;
pub use family::Family;
pub use files::{set_simulator_files, SimulatorFiles};
pub use find::{find_core, list_cores, towpath_home};
pub use kind::{Carrier, Half, Kind, Parameters, KIND};
pub use manifest::{Channel, Core, Direction, Gateware, Interrupts, Manifest, ParameterValue, Registers, Window, MANIFEST};
pub use plugin::{Plugin, PLUGIN};
pub use ports::{check_ports, Port, PortDirection, Top};
pub use shim::{Names, Ports};
pub use stream::{Message, Overflow, Shape};
pub use tool::needs;
pub use wrapper::{wrapper, Elaborated, Generated};
