// SPDX-License-Identifier: Apache-2.0
//! Cards in simulation, in this process: from `sim:CORE` to a bus, with the core built where that is needed.

use crate::cards::no_device;
use crate::open::number;
use crate::{Error, OpenOptions, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use towpath_sim::{PrintKind, Settings, SimBus, World};

/// Settings of a simulated device that are no knobs of the modelled link and host.
const OWN_SETTINGS: [&str; 7] = ["width", "serial", "endpoint", "check", "trace", "packets", "world"];
const WIDTHS: [u32; 4] = [64, 128, 256, 512];

/// Simulated worlds that were opened by name and are still in use.
static WORLDS: Mutex<BTreeMap<String, Weak<World>>> = Mutex::new(BTreeMap::new());

/// The world of that name, created if there is none: its devices share one clock and one fabric. A device that names no link takes the world's, if that
/// brings no more than `link`, bytes a microsecond.
fn world(device: &str, name: &str, mut settings: Settings, link: Option<f64>) -> Result<Arc<World>> {
    let mut worlds = WORLDS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(world) = worlds.get(name).and_then(Weak::upgrade) {
        let there = world.settings();
        if link.is_some_and(|most| there.bytes_per_us() as f64 <= most) {
            (settings.generation, settings.lanes) = (there.generation, there.lanes);
        }
        if *there != settings {
            let why = format!("device \"{device}\": world \"{name}\" is open with other settings: give the same ones, or another name; without `lanes` a card has those that its data path keeps up with");
            return Err(Error::Invalid(why));
        }
        return Ok(world);
    }
    let world = World::new(settings).map_err(|error| Error::Invalid(format!("device \"{device}\": {error}")))?;
    worlds.insert(name.into(), Arc::downgrade(&world));
    Ok(world)
}

/// `CORE` or `FOLDER`, and after a `?` settings of the link and the host, and seven more:
/// - `width`: the data width to build with.
/// - `serial`: the card's serial number, which is built in as well.
/// - `endpoint`: the hard block at whose pins the card is simulated, a folder in gateware/endpoint; without it, no endpoint is simulated.
/// - `check`: `off` builds the card without the checker at the core's ports, and with `warn` a breach that it finds is a warning; else it ends the simulation.
/// - `trace`: as in [`OpenOptions::trace`], which has precedence.
/// - `packets`: a file for all packets on the link, which `towpath trace` shows.
/// - `world`: a name. Devices of one program with the same name share one clock and one fabric. Without it a device has a world of its own.
pub(crate) fn open(name: &str, rest: &str, options: &OpenOptions) -> Result<Arc<SimBus>> {
    let (core, query) = rest.split_once('?').unwrap_or((rest, ""));
    if core.is_empty() {
        return Err(no_device(name, "it names no core"));
    }
    let is_ours = |setting: &&str| OWN_SETTINGS.contains(&setting.split_once('=').map_or("", |(key, _)| key));
    let (ours, query): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_ours);
    let own = |key: &str| ours.iter().rev().find_map(|setting| setting.strip_prefix(key)?.strip_prefix('='));
    let width = match own("width").map(|width| (width, width.parse())) {
        None => None,
        Some((_, Ok(width))) if WIDTHS.contains(&width) => Some(width),
        Some((width, _)) => return Err(Error::Invalid(format!("device \"{name}\": width={width}: it is 64, 128, 256 or 512"))),
    };
    let serial = own("serial").map_or(Ok(0), number);
    let serial = serial.map_err(|why| Error::Invalid(format!("device \"{name}\": serial: {why}")))?;
    let check = own("check").map_or(Some(towpath_cores::Check::On), towpath_cores::Check::named);
    let check = check.ok_or_else(|| Error::Invalid(format!("device \"{name}\": check is on, warn or off")))?;
    let trace = options.trace.clone().or_else(|| own("trace").map(PathBuf::from));
    let settings = Settings::from_query_beside(&query.join("&"), &OWN_SETTINGS);
    let mut settings = settings.map_err(|error| Error::Invalid(format!("device \"{name}\": {error}")))?;
    let failed = |error: towpath_cores::CoreError| match error {
        towpath_cores::CoreError::NotFound { .. } => no_device(name, &error.to_string()),
        towpath_cores::CoreError::Endpoint { .. } => Error::Invalid(format!("device \"{name}\": {error}")),
        error => Error::Core { name: name.into(), message: error.to_string() },
    };
    let folder = towpath_cores::find_core(core).map_err(failed)?;
    let say = |line: &str| match &options.progress {
        Some(progress) => progress(line),
        None => log::info!("{line}"),
    };
    let endpoint = own("endpoint");
    let build =
        towpath_cores::BuildOptions { trace: trace.is_some(), width, serial, endpoint, check, progress: Some(&say), ..Default::default() };
    let built = towpath_cores::build(&folder, &build).map_err(failed)?;
    // A board's link is no faster than the card's data path: the hard block's completion buffer would overflow.
    let path = f64::from(built.manifest.core.width / 8) * built.manifest.gateware.clock_mhz;
    let names_link = query.iter().any(|setting| ["lanes=", "generation="].iter().any(|key| setting.starts_with(key)));
    while !names_link && settings.lanes > 1 && settings.bytes_per_us() as f64 > path {
        settings.lanes /= 2;
    }
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
        Some(shared) => world(name, shared, settings, (!names_link).then_some(path))?.open(
            name,
            &built.library,
            trace.as_deref(),
            print,
            names.collect(),
        ),
        None => SimBus::open(name, &built.library, settings, trace.as_deref(), print, names.collect()),
    };
    let bus = opened.map_err(|error| Error::Core { name: name.into(), message: error.to_string() })?;
    if let Some(path) = own("packets") {
        bus.log_packets(path.as_ref()).map_err(|why| Error::Invalid(format!("device \"{name}\": {why}")))?;
    }
    Ok(bus)
}
