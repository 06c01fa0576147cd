// SPDX-License-Identifier: Apache-2.0
//! From a device's name to its driver. The one file that knows which kinds of devices there are.

use crate::cards::{self, no_device};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use towpath_bus::BusError;
use towpath_driver::user::UserDriver;
use towpath_driver::Driver;
use towpath_linux::{LinuxDriver, OpenError};
use towpath_sim::{PrintKind, Settings, SimBus, World};
use towpath_vfio::{Address, Ids, System, VfioBus, VfioError};
use towpath_vfio_user::Client;

/// The environment's name for the device that the empty name stands for.
pub(crate) const ENVIRONMENT: &str = "TOWPATH_DEVICE";

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

/// What a card of ours is identified by on PCI.
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
        return Ok(Arc::new(held_by_kernel(name)?));
    }
    match name.split_once(':') {
        Some((cards::SERIAL, number)) => cards::open_by_serial(name, number, options),
        Some(("sim", rest)) => Ok(Arc::new(UserDriver::open(simulated(name, rest, options)?)?)),
        Some(("vfio-user", path)) => Ok(Arc::new(UserDriver::open(connected(name, path)?)?)),
        Some(("vfio", address)) => {
            let address = address.parse().map_err(|why: String| no_device(name, &why))?;
            Ok(Arc::new(UserDriver::open(board(name, address)?)?))
        }
        _ => {
            if let Ok(address) = name.parse() {
                return Ok(Arc::new(UserDriver::open(board(name, address)?)?));
            }
            let schemes = ["sim:CORE", "sim:FOLDER", "/dev/towpathN", "vfio:ADDRESS", "vfio-user:SOCKET", "serial:NUMBER", "#NUMBER"];
            Err(Error::UnknownScheme { name: name.into(), schemes: schemes.map(String::from).to_vec() })
        }
    }
}

/// `/dev/towpathN`: the card whose files the kernel module has put there.
fn held_by_kernel(name: &str) -> Result<LinuxDriver> {
    LinuxDriver::open(name, name.as_ref()).map_err(|error| match error {
        OpenError::NotThere(why) => no_device(name, &why),
        OpenError::NotReady { seen, remedy } => Error::NotReady { name: name.into(), seen, remedy },
        OpenError::Failed(error) => error,
    })
}

/// `vfio:ADDRESS`, or an address alone: the card at that place on PCI.
fn board(name: &str, address: Address) -> Result<Arc<VfioBus>> {
    VfioBus::open(name, &System::here(), address, &ids()?).map(Arc::new).map_err(|error| match error {
        VfioError::NoSuchFunction { .. } => no_device(name, &error.to_string()),
        VfioError::NotReady(finding) => {
            Error::NotReady { name: name.into(), seen: finding.seen, remedy: finding.remedy.unwrap_or_default() }
        }
        error => Error::bus("opening the card")(error.of(name)),
    })
}

/// `vfio-user:PATH`: the card whose server listens at that socket.
fn connected(name: &str, path: &str) -> Result<Arc<Client>> {
    if path.is_empty() {
        return Err(no_device(name, "it names no socket"));
    }
    Client::connect(name, path.as_ref()).map(Arc::new).map_err(|error| match &error {
        BusError::System(_, why) if [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&why.kind()) => {
            no_device(name, "no server listens there; start one with `towpath sim CORE --socket PATH`")
        }
        _ => Error::bus("opening the card")(error),
    })
}

/// Decimal, or hexadecimal behind `0x`.
pub(crate) fn number(text: &str) -> std::result::Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("\"{text}\" is not a number of 64 bits, decimal or behind 0x"))
}

/// Simulated worlds that were opened by name and are still in use.
static WORLDS: Mutex<BTreeMap<String, Weak<World>>> = Mutex::new(BTreeMap::new());

/// The world of that name, made if it is not there: its devices share one clock and one fabric.
fn world(device: &str, name: &str, settings: Settings) -> Result<Arc<World>> {
    let mut worlds = WORLDS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(world) = worlds.get(name).and_then(Weak::upgrade) {
        if *world.settings() != settings {
            let why = format!("device \"{device}\": world \"{name}\" is open with other settings: give the same ones, or another name");
            return Err(Error::Invalid(why));
        }
        return Ok(world);
    }
    let world = World::new(settings).map_err(|error| Error::Invalid(format!("device \"{device}\": {error}")))?;
    worlds.insert(name.into(), Arc::downgrade(&world));
    Ok(world)
}

/// `CORE` or `FOLDER`, and behind a `?` settings of the link and the host, and five of our own: `width`, the data width to build with; `serial`,
/// the card's serial number, which is built in as well; `trace`, as in [`OpenOptions::trace`], which it yields to; `packets`, a file for all packets
/// on the link, which `towpath trace` shows; `world`, a name: devices of one program that give the same name share one clock and one fabric. Without it a device has a world to itself.
pub(crate) fn simulated(name: &str, rest: &str, options: &OpenOptions) -> Result<Arc<SimBus>> {
    let (core, query) = rest.split_once('?').unwrap_or((rest, ""));
    if core.is_empty() {
        return Err(no_device(name, "it names no core"));
    }
    let (ours, query): (Vec<&str>, Vec<&str>) = query
        .split('&')
        .partition(|setting| ["width=", "serial=", "trace=", "packets=", "world="].iter().any(|own| setting.starts_with(own)));
    let own = |key: &str| ours.iter().rev().find_map(|setting| setting.strip_prefix(key)?.strip_prefix('='));
    let width = match own("width").map(str::parse) {
        None => None,
        Some(Ok(width)) => Some(width),
        Some(Err(_)) => return Err(Error::Invalid(format!("device \"{name}\": width is 64, 128, 256 or 512"))),
    };
    let serial = own("serial").map_or(Ok(0), number);
    let serial = serial.map_err(|why| Error::Invalid(format!("device \"{name}\": serial: {why}")))?;
    let trace = options.trace.clone().or_else(|| own("trace").map(PathBuf::from));
    let settings = Settings::from_query(&query.join("&")).map_err(|error| Error::Invalid(format!("device \"{name}\": {error}")))?;
    let failed = |error: towpath_cores::CoreError| match error {
        towpath_cores::CoreError::NotFound { .. } => no_device(name, &error.to_string()),
        error => Error::Core { name: name.into(), message: error.to_string() },
    };
    let folder = towpath_cores::find_core(core).map_err(failed)?;
    let say = |line: &str| match &options.progress {
        Some(progress) => progress(line),
        None => log::info!("{line}"),
    };
    let build = towpath_cores::BuildOptions { trace: trace.is_some(), width, serial, progress: Some(&say) };
    let built = towpath_cores::build(&folder, &build).map_err(failed)?;
    let names = built.manifest.registers.iter().flat_map(|registers| registers.names.iter().map(|(name, offset)| (name.clone(), *offset)));

    let core = built.manifest.core.name.clone();
    let sink = options.print.clone();
    let print = Arc::new(move |kind: PrintKind, text: &str| match (kind, &sink) {
        (PrintKind::Warning, _) => log::warn!("{core}: {text}"),
        (_, Some(sink)) => sink(text),
        (PrintKind::Fatal, None) => log::error!("{core}: {text}"),
        (_, None) => log::info!("{core}: {text}"),
    });
    let opened = match own("world") {
        Some(shared) => world(name, shared, settings)?.open(name, &built.library, trace.as_deref(), print, names.collect()),
        None => SimBus::open(name, &built.library, settings, trace.as_deref(), print, names.collect()),
    };
    let bus = opened.map_err(|error| Error::Core { name: name.into(), message: error.to_string() })?;
    if let Some(path) = own("packets") {
        bus.log_packets(path.as_ref()).map_err(|why| Error::Invalid(format!("device \"{name}\": {why}")))?;
    }
    Ok(bus)
}
