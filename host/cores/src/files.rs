// SPDX-License-Identifier: Apache-2.0
//! The places of the gateware and the compiler that a package contains. They are kept in the process, not in its environment, which other
//! threads read at any time, without a lock.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// Defaults for environment variables that are not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatorFiles {
    /// TOWPATH_HOME: the folder that holds `gateware/`, `contract/` and `cores/`.
    pub home: Option<PathBuf>,
    /// TOWPATH_VERILATOR.
    pub verilator: Option<PathBuf>,
    /// TOWPATH_PYTHON for this Verilator, whatever the environment has.
    pub python: Option<PathBuf>,
}

static FILES: RwLock<SimulatorFiles> = RwLock::new(SimulatorFiles { home: None, verilator: None, python: None });

/// Set the places of the simulator's files for this process: for packages that contain them. Variables of the environment have precedence.
pub fn set_simulator_files(files: SimulatorFiles) {
    *FILES.write().unwrap_or_else(PoisonError::into_inner) = files;
}

pub(crate) fn simulator_files() -> SimulatorFiles {
    FILES.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A variable that is set and not empty.
pub(crate) fn environment(key: &str) -> Option<PathBuf> {
    std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from)
}
