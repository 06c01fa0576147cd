// SPDX-License-Identifier: Apache-2.0
//! Towpath for Python: the public Rust API as Python objects, without logic of its own. `python/towpath` holds the package around it.
//!
//! Rules kept here:
//! - Every call into the library is made with the interpreter's lock released (`waiting.rs`). The library may drop a
//!   Python buffer on any thread, which takes that lock: a call that held it could wait for itself.
//! - A buffer stays exported, so that Python neither frees nor resizes it, until the card is done with it.

mod argument;
mod buffer;
mod card;
mod channel;
mod error;
mod export;
mod extras;
mod file;
mod gpu;
mod memory;
mod on_stream;
mod pair;
mod partial;
mod plugin;
mod say;
mod ticket;
mod waiting;

use std::path::PathBuf;

use pyo3::prelude::*;

/// The command line; returns the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| towpath_cli::main(arguments))
}

/// The devices that can be opened.
#[pyfunction]
fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    say::log_to_python(py)?;
    let found = py.detach(towpath::list_devices).map_err(|e| error::raise(py, e))?;
    found.into_iter().map(|device| error::tuple(py, "Listing", (device.name, device.description, device.order, device.serial))).collect()
}

/// Set the places of the package's simulator files, for this process.
#[pyfunction]
#[pyo3(signature = (home, verilator, python))]
fn set_simulator_files(py: Python<'_>, home: Option<PathBuf>, verilator: Option<PathBuf>, python: Option<PathBuf>) {
    py.detach(|| towpath::set_simulator_files(towpath::SimulatorFiles { home, verilator, python }));
}

#[pymodule]
fn _towpath(module: &Bound<'_, PyModule>) -> PyResult<()> {
    say::end_with_python(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(devices, module)?)?;
    module.add_function(wrap_pyfunction!(set_simulator_files, module)?)?;
    module.add_class::<card::Device>()?;
    module.add_class::<channel::Channel>()?;
    module.add_class::<file::MessageFile>()?;
    module.add_class::<memory::CardMemory>()?;
    module.add_class::<memory::WindowPart>()?;
    module.add_class::<pair::Pair>()?;
    module.add_class::<plugin::Plugin>()?;
    module.add_class::<plugin::Reset>()?;
    module.add_class::<plugin::Clock>()?;
    module.add_class::<partial::Partial>()?;
    module.add_class::<plugin::TlpLog>()?;
    module.add_class::<ticket::Ticket>()?;
    module.add_class::<on_stream::StreamTransfer>()?;
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<extras::Registers>()?;
    module.add_class::<extras::Interrupts>()?;
    module.add_class::<extras::Interrupt>()
}
