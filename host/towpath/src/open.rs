// SPDX-License-Identifier: Apache-2.0
//! From a device's name to its driver. Only this file lists the kinds of devices.

use crate::cards;
#[cfg(feature = "sim")]
use crate::simulated;
use crate::{Error, Result};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use towpath_driver::Driver;
#[cfg(feature = "linux")]
use towpath_kmod::{LinuxDriver, OpenError};
#[cfg(any(feature = "vfio", feature = "sim", feature = "vfio-user"))]
use towpath_userspace::UserDriver;
#[cfg(feature = "vfio")]
use towpath_vfio::{Address, Ids, System, VfioBus, VfioError};

/// The environment variable with the device that the empty name stands for.
pub(crate) const ENVIRONMENT: &str = "TOWPATH_DEVICE";

/// Takes lines of text. May be called from any thread.
pub type TextSink = Arc<dyn Fn(&str) + Send + Sync>;

/// How to open a device.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Simulation: write waveforms to this FST file.
    pub trace: Option<PathBuf>,
    /// Simulation: receives what the user core prints, line by line. Without it, the lines are logged.
    pub print: Option<TextSink>,
    /// Simulation: receives a line for each step while a core is built, which takes a while.
    pub progress: Option<TextSink>,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions").field("trace", &self.trace).finish_non_exhaustive()
    }
}

/// The PCI identification of Towpath cards.
#[cfg(feature = "vfio")]
pub(crate) fn ids() -> Result<Ids> {
    Ids::from_environment().map_err(Error::Invalid)
}

pub(crate) fn open(name: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    if !name.is_empty() {
        return open_named(name, options);
    }
    match std::env::var(ENVIRONMENT) {
        Ok(name) if !name.is_empty() => open_named(&name, options),
        _ => cards::open_first(options),
    }
}

pub(crate) fn open_named(name: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    if let Some(number) = name.strip_prefix('#') {
        return cards::open_by_order(name, number, options);
    }
    if name.starts_with('/') {
        #[cfg(feature = "linux")]
        return Ok(Arc::new(held_by_kernel(name)?));
        #[cfg(not(feature = "linux"))]
        return left_out(name, "linux");
    }
    match name.split_once(':') {
        Some((cards::SERIAL, number)) => cards::open_by_serial(name, number, options),
        #[cfg(feature = "sim")]
        Some(("sim", rest)) => Ok(Arc::new(UserDriver::open(simulated::open(name, rest, options)?)?)),
        #[cfg(not(feature = "sim"))]
        Some(("sim", _)) => left_out(name, "sim"),
        #[cfg(feature = "vfio-user")]
        Some(("vfio-user", path)) => Ok(Arc::new(UserDriver::open(connected(name, path)?)?)),
        #[cfg(not(feature = "vfio-user"))]
        Some(("vfio-user", _)) => left_out(name, "vfio-user"),
        #[cfg(not(feature = "vfio"))]
        Some(("vfio", _)) => left_out(name, "vfio"),
        #[cfg(feature = "vfio")]
        Some(("vfio", address)) => {
            let address = address.parse().map_err(|why: String| cards::no_device(name, &why))?;
            Ok(Arc::new(UserDriver::open(board(name, address)?)?))
        }
        _ => {
            #[cfg(feature = "vfio")]
            if let Ok(address) = name.parse() {
                return Ok(Arc::new(UserDriver::open(board(name, address)?)?));
            }
            let schemes = ["sim:CORE", "sim:FOLDER", "/dev/towpathN", "vfio:ADDRESS", "vfio-user:SOCKET", "serial:NUMBER", "#NUMBER"];
            Err(Error::UnknownScheme { name: name.into(), schemes: schemes.map(String::from).to_vec() })
        }
    }
}

/// `/dev/towpathN`: the card whose files the kernel module has created there.
#[cfg(feature = "linux")]
fn held_by_kernel(name: &str) -> Result<LinuxDriver> {
    LinuxDriver::open(name, name.as_ref()).map_err(|error| match error {
        OpenError::NotThere(why) => cards::no_device(name, &why),
        OpenError::NotReady { seen, remedy } => Error::NotReady { name: name.into(), seen, remedy },
        OpenError::Failed(error) => error,
    })
}

/// `vfio:ADDRESS`, or an address alone: the card at that place on PCI.
#[cfg(feature = "vfio")]
fn board(name: &str, address: Address) -> Result<Arc<VfioBus>> {
    VfioBus::open(name, &System::here(), address, &ids()?).map(Arc::new).map_err(|error| match error {
        VfioError::NoSuchFunction { .. } => cards::no_device(name, &error.to_string()),
        VfioError::NotReady(finding) => {
            Error::NotReady { name: name.into(), seen: finding.seen, remedy: finding.remedy.unwrap_or_default() }
        }
        error => Error::bus("opening the card")(error.of(name)),
    })
}

/// `vfio-user:PATH`: the card whose server listens at that socket.
#[cfg(feature = "vfio-user")]
fn connected(name: &str, path: &str) -> Result<Arc<towpath_vfio_user::Client>> {
    use std::io::ErrorKind;
    use towpath_bus::BusError;
    if path.is_empty() {
        return Err(cards::no_device(name, "it names no socket"));
    }
    towpath_vfio_user::Client::connect(name, path.as_ref()).map(Arc::new).map_err(|error| match &error {
        BusError::System(_, why) if [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&why.kind()) => {
            cards::no_device(name, "no server listens there; start one with `towpath sim CORE --socket PATH`")
        }
        _ => Error::bus("opening the card")(error),
    })
}

/// A kind of device that this program was built without.
#[cfg(not(all(feature = "sim", feature = "vfio-user", feature = "vfio", feature = "linux")))]
fn left_out<T>(name: &str, feature: &str) -> Result<T> {
    Err(Error::Invalid(format!(
        "device \"{name}\": this program was built without that kind of device: add feature \"{feature}\" of crate towpath"
    )))
}

/// Decimal, or hexadecimal behind `0x`.
pub(crate) fn number(text: &str) -> std::result::Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("\"{text}\" is not a number of 64 bits, decimal or behind 0x"))
}
