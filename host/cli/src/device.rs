// SPDX-License-Identifier: Apache-2.0
//! `list` and `info`, and how every verb opens its device.

use std::io::IsTerminal;
use std::sync::Arc;

use serde_json::{json, Map};
use towpath::{ChannelInfo, ChannelKind, Device, DeviceListing, OpenOptions, TextSink};
use towpath_cores::Manifest;

use crate::args::{Cli, Core, Info};
use crate::exit::{Failure, Result, NOT_FOUND};
use crate::output;

/// An open device, and what its core's manifest adds.
pub struct Card {
    pub device: Device,
    /// Names and byte offsets of registers, as far as they are known.
    pub names: Vec<(String, u32)>,
}

/// Open the device of `--device` or of the environment, or else the simulation of `--core`, or else the first card in this machine.
pub fn open(cli: &Cli, core: &Core) -> Result<Card> {
    open_this(cli, cli.device.as_deref(), core)
}

/// The same, with another name in place of `--device`.
pub fn open_this(cli: &Cli, name: Option<&str>, core: &Core) -> Result<Card> {
    let show = cli.verbose > 0 || std::io::stderr().is_terminal();
    let named = name.filter(|name| !name.is_empty());
    let device = match (named, &core.core) {
        (None, Some(core)) => open_named(&crate::run::device_name(core, &crate::args::Records::default(), &[])?, show)?,
        _ => open_named(named.unwrap_or(""), show)?,
    };
    let names = match (named, &core.core) {
        (Some(_), Some(core)) => register_names(&device, core)?,
        _ => device.info().register_names.clone(),
    };
    Ok(Card { device, names })
}

/// The names of a manifest's registers, if the card is of its core: of another version they may stand elsewhere.
fn register_names(device: &Device, core: &str) -> Result<Vec<(String, u32)>> {
    let folder = towpath_cores::find_core(core).map_err(|e| Failure::new(NOT_FOUND, e))?;
    let manifest = Manifest::read(&folder)?;
    let (info, core) = (device.info(), &manifest.core);
    if (&info.core, info.core_version) != (&core.name, core.version) {
        let said = format!("{} says core \"{}\", version {}", folder.display(), core.name, core.version);
        let is = format!("the card has core \"{}\", version {}", info.core, info.core_version);
        return Err(Failure::new(NOT_FOUND, format!("{said}, but {is}: give the folder of the card's own core")));
    }
    Ok(manifest.registers.map(|registers| registers.names.into_iter().collect()).unwrap_or_default())
}

/// Open a device; what a simulated core prints goes to standard error, and with `show_building`, the steps of building it.
pub fn open_named(name: &str, show_building: bool) -> Result<Device> {
    let show = Arc::new(|line: &str| output::eprintln_lossy(line.trim_end()));
    let progress: Option<TextSink> = if show_building { Some(show.clone()) } else { None };
    let options = OpenOptions { progress, print: Some(show), ..OpenOptions::default() };
    Ok(Device::open_with(name, &options)?)
}

pub fn list(cli: &Cli) -> Result {
    let devices = towpath::list_devices()?;
    let list: Vec<_> =
        devices.iter().map(|d| json!({"name": d.name, "description": d.description, "order": d.order, "serial": d.serial})).collect();
    if devices.is_empty() && !cli.json {
        output::eprintln_lossy("no devices; a simulated one is named sim:CORE");
    }
    let width = devices.iter().map(|d| d.name.len()).max().unwrap_or(0);
    let line = |d: &DeviceListing| {
        let order = d.order.map(|order| format!("#{order}")).unwrap_or_default();
        let serial = d.serial.map(|serial| format!(", serial number {serial:#x}")).unwrap_or_default();
        format!("{order:3} {:width$}  {}{serial}\n", d.name, d.description)
    };
    output::answer(cli, &json!({"devices": list}), &devices.iter().map(line).collect::<String>())
}

pub fn info(cli: &Cli, what: &Info) -> Result {
    let Card { device, names } = open_this(cli, what.name.as_deref().or(cli.device.as_deref()), &what.core)?;
    let info = device.info();
    let version = format!("{}.{}", info.version.0, info.version.1);
    let counters = device.link_counters()?.named();
    let registers: Map<_, _> = names.iter().map(|(name, offset)| (name.clone(), (*offset).into())).collect();
    let link: Map<_, _> = counters.iter().map(|(name, count)| ((*name).to_string(), (*count).into())).collect();
    let channels: Vec<_> = info
        .channels
        .iter()
        .map(|c| {
            json!({"index": c.index, "name": c.name, "direction": c.direction.to_string(), "queue_depth": c.queue_depth,
                   "inline_slots": c.inline_slots, "buffer_bytes": c.buffer_bytes, "kind": c.kind_name, "kind_version": c.kind_version,
                   "kind_parameter": c.kind_parameter, "usable": is_usable(c)})
        })
        .collect();
    let found = device.memories();
    let memories: Vec<_> =
        found.iter().map(|m| json!({"name": m.name, "bytes": m.bytes, "writer": m.writer, "reader": m.reader})).collect();
    let plugins: Vec<_> = device
        .plugins()
        .iter()
        .map(|p| json!({"index": p.index, "type": p.type_name, "version": p.version, "offset": p.offset, "bytes": p.bytes}))
        .collect();
    let value = json!({
        "name": info.name, "core": info.core, "core_version": info.core_version, "contract": version, "serial": info.serial,
        "data_bits": info.data_bits, "core_clock_khz": info.core_clock_khz, "user_clock_khz": info.user_clock_khz, "tags": info.tags,
        "vectors": info.vectors, "interrupts": info.interrupts, "register_bytes": info.register_bytes, "registers": registers,
        "fill_levels": info.fill_levels, "qos": info.qos, "channels": channels, "memories": memories, "plugins": plugins, "link": link,
    });
    let mut text = format!(
        "device      {}\ncore        {}, version {}\ncontract    {version}\nserial      {:#018x}\ndata path   {} bits at {} MHz, {} tags\n\
         user clock  {} MHz\ninterrupts  {} of the core, {} MSI-X vectors\nregisters   {} bytes\n",
        info.name,
        info.core,
        info.core_version,
        info.serial,
        info.data_bits,
        f64::from(info.core_clock_khz) / 1e3,
        info.tags,
        f64::from(info.user_clock_khz) / 1e3,
        info.interrupts,
        info.vectors,
        info.register_bytes,
    );
    for (name, offset) in &names {
        text += &format!("  {offset:#06x}    {name}\n");
    }
    let features: Vec<_> = [(info.fill_levels, "fill levels"), (info.qos, "quality of service")]
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name))
        .collect();
    text += &format!("features    {}\nchannels\n", if features.is_empty() { "none".into() } else { features.join(", ") });
    let width = info.channels.iter().map(|c| c.name.len()).max().unwrap_or(0);
    for c in &info.channels {
        let kind = match (c.is_stream(), is_usable(c)) {
            (true, _) => String::new(),
            (_, true) => format!(", {}", c.kind_text()),
            (_, false) => format!(", {}: not known to this version of Towpath", c.kind_text()),
        };
        text += &format!(
            "  {:<3} {}  {:width$}  {} descriptors, {} inline slots, {} bytes of buffer{kind}\n",
            c.index, c.direction, c.name, c.queue_depth, c.inline_slots, c.buffer_bytes
        );
    }
    if !found.is_empty() {
        text += "memories\n";
    }
    for memory in &found {
        text += &format!("  {:width$}  {:#x} bytes, channels {} and {}\n", memory.name, memory.bytes, memory.writer, memory.reader);
    }
    if !device.plugins().is_empty() {
        text += "plug-ins\n";
    }
    for p in device.plugins() {
        text += &format!("  {:<3} {}, version {}, registers at {:#x}, {} bytes\n", p.index, p.type_name, p.version, p.offset, p.bytes);
    }
    text += "faults on the link\n";
    for (name, count) in counters {
        text += &format!("  {count:<9} {}\n", name.replace('_', " "));
    }
    output::answer(cli, &value, &text)
}

/// Can it be opened, as a stream, as a memory, or by whoever knows its kind? The kernel module opens streams and memories.
fn is_usable(channel: &ChannelInfo) -> bool {
    channel.is_stream() || channel.memory_bytes().is_some() || channel.kind == ChannelKind::Named
}

impl From<towpath_cores::CoreError> for Failure {
    fn from(error: towpath_cores::CoreError) -> Self {
        Failure::new(crate::exit::CORE, error)
    }
}

impl From<towpath::Error> for Failure {
    fn from(error: towpath::Error) -> Self {
        use crate::exit::{CORE, NOT_FOUND, TIMEOUT, TRANSFER, USAGE, VERSION};
        use towpath::Error;
        let code = match &error {
            Error::UnknownScheme { .. }
            | Error::NoSuchDevice { .. }
            | Error::NotReady { .. }
            | Error::NoSuchChannel { .. }
            | Error::NoSuchMemory { .. }
            | Error::WrongKind { .. }
            | Error::WrongDirection { .. } => NOT_FOUND,
            Error::Core { .. } => CORE,
            Error::NotTowpath { .. } | Error::Version { .. } | Error::Discovery { .. } => VERSION,
            Error::Invalid(_) => USAGE,
            other if other.is_timeout() => TIMEOUT,
            _ => TRANSFER,
        };
        Failure::new(code, error)
    }
}
