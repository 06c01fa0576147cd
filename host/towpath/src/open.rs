// SPDX-License-Identifier: Apache-2.0
//! From a device's name to its driver. The one file that knows which kinds of devices there are.

use crate::{Error, Result};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use towpath_driver::user::UserDriver;
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

/// The devices that could be opened now: a simulated one for each core that is found.
pub fn list_devices() -> Result<Vec<DeviceListing>> {
    let listing = |core: String| DeviceListing { name: format!("sim:{core}"), description: format!("core \"{core}\" in simulation") };
    Ok(towpath_cores::list_cores().into_iter().map(listing).collect())
}

pub(crate) fn open(name: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    if !name.is_empty() {
        return open_named(name, options);
    }
    match std::env::var(ENVIRONMENT) {
        Ok(name) if !name.is_empty() => open_named(&name, options),
        _ => Err(no_device("", "no card on this machine has a driver")),
    }
}

fn open_named(name: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    match name.split_once(':') {
        Some(("sim", rest)) => open_simulated(name, rest, options),
        _ => Err(Error::UnknownScheme { name: name.into(), schemes: vec!["sim:CORE".into(), "sim:FOLDER".into()] }),
    }
}

/// `CORE` or `FOLDER`, and behind a `?` settings of the link and the host, `width`: the data width to build with, and `trace`: as in
/// [`OpenOptions::trace`], which it yields to.
fn open_simulated(name: &str, rest: &str, options: &OpenOptions) -> Result<Arc<dyn Driver>> {
    let (core, query) = rest.split_once('?').unwrap_or((rest, ""));
    if core.is_empty() {
        return Err(no_device(name, "it names no core"));
    }
    let (width, query): (Vec<&str>, Vec<&str>) = query.split('&').partition(|setting| setting.starts_with("width="));
    let width = match width.last().map(|setting| setting["width=".len()..].parse()) {
        None => None,
        Some(Ok(width)) => Some(width),
        Some(Err(_)) => return Err(Error::Invalid(format!("device \"{name}\": width is 64, 128, 256 or 512"))),
    };
    let (trace, query): (Vec<&str>, Vec<&str>) = query.into_iter().partition(|setting| setting.starts_with("trace="));
    let trace = options.trace.clone().or_else(|| trace.last().map(|setting| setting["trace=".len()..].into()));
    let settings =
        towpath_sim::Settings::from_query(&query.join("&")).map_err(|error| Error::Invalid(format!("device \"{name}\": {error}")))?;
    let failed = |error: towpath_cores::CoreError| match error {
        towpath_cores::CoreError::NotFound { .. } => no_device(name, &error.to_string()),
        error => Error::Core { name: name.into(), message: error.to_string() },
    };
    let folder = towpath_cores::find_core(core).map_err(failed)?;
    let say = |line: &str| match &options.progress {
        Some(progress) => progress(line),
        None => log::info!("{line}"),
    };
    let build = towpath_cores::BuildOptions { trace: trace.is_some(), width, progress: Some(&say) };
    let built = towpath_cores::build(&folder, &build).map_err(failed)?;
    let names = built.manifest.registers.iter().flat_map(|registers| registers.names.iter().map(|(name, offset)| (name.clone(), *offset)));

    let core = built.manifest.core.name.clone();
    let sink = options.print.clone();
    let print = Arc::new(move |kind: towpath_sim::PrintKind, text: &str| match (kind, &sink) {
        (towpath_sim::PrintKind::Warning, _) => log::warn!("{core}: {text}"),
        (_, Some(sink)) => sink(text),
        (towpath_sim::PrintKind::Fatal, None) => log::error!("{core}: {text}"),
        (_, None) => log::info!("{core}: {text}"),
    });
    let bus = towpath_sim::SimBus::open(name, &built.library, settings, trace.as_deref(), print, names.collect())
        .map_err(|error| Error::Core { name: name.into(), message: error.to_string() })?;
    Ok(Arc::new(UserDriver::open(bus)?))
}

fn no_device(name: &str, why: &str) -> Error {
    let available = list_devices().unwrap_or_default().into_iter().map(|device| device.name).collect();
    Error::NoSuchDevice { name: name.into(), why: why.into(), available }
}
