// SPDX-License-Identifier: Apache-2.0
//! From a device's name to its driver. The one file that knows which kinds of devices there are.

use crate::{Error, Result};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use towpath_driver::Driver;

/// The environment's name for the device that the empty name stands for.
const ENVIRONMENT: &str = "TOWPATH_DEVICE";

/// Takes lines of text. May be called from any thread.
pub type TextSink = Arc<dyn Fn(&str) + Send + Sync>;

/// How to open a device.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Simulation: write waveforms to this FST file.
    pub trace: Option<PathBuf>,
    /// Simulation: takes what the user core prints, line by line. Without it, the lines are logged.
    pub print: Option<TextSink>,
    /// Simulation: told what is being done while a core is built, which takes a while.
    pub progress: Option<TextSink>,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions").field("trace", &self.trace).finish_non_exhaustive()
    }
}

/// A device that could be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceListing {
    /// What to give to [`crate::Device::open`].
    pub name: String,
    /// What it is.
    pub description: String,
}

/// The devices that could be opened now.
pub fn list_devices() -> Result<Vec<DeviceListing>> {
    Ok(Vec::new())
}

pub(crate) fn open(name: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    if name.is_empty() {
        return match std::env::var(ENVIRONMENT) {
            Ok(name) if !name.is_empty() => open_named(&name, options),
            _ => Err(no_device("", "no card on this machine has a driver")),
        };
    }
    open_named(name, options)
}

fn open_named(name: &str, _options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    match name.split_once(':') {
        Some(("sim", _rest)) => Err(no_device(name, "simulated devices are not built into this library")),
        _ => Err(Error::UnknownScheme { name: name.into(), schemes: vec!["sim:CORE".into(), "sim:FOLDER".into()] }),
    }
}

fn no_device(name: &str, why: &str) -> Error {
    let available = list_devices().unwrap_or_default().into_iter().map(|device| device.name).collect();
    Error::NoSuchDevice { name: name.into(), why: why.into(), available }
}
