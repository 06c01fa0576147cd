// SPDX-License-Identifier: Apache-2.0
//! Where a package has put the gateware and the compiler that it brings. The process knows it, and not its environment: other threads
//! read that at any time, without a lock.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// What stands for variables of the environment where it does not set them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatorFiles {
    /// TOWPATH_HOME: the folder that holds `gateware/`, `contract/` and `cores/`.
    pub home: Option<PathBuf>,
    /// TOWPATH_VERILATOR.
    pub verilator: Option<PathBuf>,
    /// What this Verilator finds in TOWPATH_PYTHON, whatever the environment says.
    pub python: Option<PathBuf>,
}

static FILES: RwLock<SimulatorFiles> = RwLock::new(SimulatorFiles { home: None, verilator: None, python: None });

/// Say, for this process, where the simulator's files are: for packages that bring them. What the environment says stands above it.
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
