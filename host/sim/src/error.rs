// SPDX-License-Identifier: Apache-2.0
//! Why a simulated card could not be opened.

use std::fmt;
use std::path::PathBuf;

use crate::model::ABI;
use crate::settings::SettingsError;

/// Why a simulated card could not be opened.
#[derive(Debug)]
pub enum SimError {
    /// The shared object cannot be loaded or is no model.
    Library(PathBuf, String),
    /// The model was made for another version of the simulator.
    #[allow(missing_docs)]
    Abi { library: PathBuf, found: u32 },
    /// The file for waveforms cannot be written.
    Trace(PathBuf, String),
    /// The settings contradict each other.
    Settings(SettingsError),
    /// The card did not come up.
    Bus(towpath_bus::BusError),
    /// No more cards fit into one world.
    Full(usize),
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::Library(path, why) => write!(f, "cannot load the model {}: {why}", path.display()),
            SimError::Abi { library, found } => write!(
                f,
                "the model {} has interface version {found}, this simulator has {ABI}: delete it, it will be compiled again",
                library.display()
            ),
            SimError::Trace(path, why) => write!(f, "cannot write waveforms to {}: {why}", path.display()),
            SimError::Settings(why) => why.fmt(f),
            SimError::Bus(why) => write!(f, "the simulated card did not come up: {why}"),
            SimError::Full(cards) => write!(f, "one simulation holds {cards} cards and no more; use another one"),
        }
    }
}

impl std::error::Error for SimError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SimError::Settings(why) => Some(why),
            SimError::Bus(why) => Some(why),
            _ => None,
        }
    }
}

impl From<SettingsError> for SimError {
    fn from(why: SettingsError) -> Self {
        SimError::Settings(why)
    }
}
