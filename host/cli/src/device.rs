// SPDX-License-Identifier: Apache-2.0
//! `list` and `info`, and how every verb opens its device.

use std::io::IsTerminal;
use std::sync::Arc;

use serde_json::json;
use towpath::{Device, OpenOptions, TextSink};

use crate::args::Cli;
use crate::exit::{Failure, Result};

/// Open what `--device` or the environment names, or the first device found.
pub fn open(cli: &Cli) -> Result<Device> {
    let show = cli.verbose > 0 || std::io::stderr().is_terminal();
    open_named(cli.device.as_deref().unwrap_or(""), show)
}

/// Open a device; what a simulated core prints goes to standard error, and if wanted, what is done to build it.
pub fn open_named(name: &str, show_building: bool) -> Result<Device> {
    let show = Arc::new(|line: &str| crate::eprintln_lossy(line.trim_end()));
    let progress: Option<TextSink> = if show_building { Some(show.clone()) } else { None };
    let options = OpenOptions { progress, print: Some(show), ..OpenOptions::default() };
    Ok(Device::open_with(name, &options)?)
}

pub fn list(cli: &Cli) -> Result {
    let devices = towpath::list_devices()?;
    if cli.json {
        let list: Vec<_> = devices.iter().map(|d| json!({"name": d.name, "description": d.description})).collect();
        return crate::print(&crate::json(&list.into()));
    }
    if devices.is_empty() {
        crate::eprintln_lossy("no devices; a simulated one is named sim:CORE");
    }
    let width = devices.iter().map(|d| d.name.len()).max().unwrap_or(0);
    crate::print(&devices.iter().map(|d| format!("{:width$}  {}\n", d.name, d.description)).collect::<String>())
}

pub fn info(cli: &Cli) -> Result {
    let device = open(cli)?;
    let info = device.info();
    let version = format!("{}.{}", info.version.0, info.version.1);
    let counters = device.link_counters()?.named();
    if cli.json {
        let registers: serde_json::Map<_, _> = info.register_names.iter().map(|(name, offset)| (name.clone(), (*offset).into())).collect();
        let link: serde_json::Map<_, _> = counters.iter().map(|(name, count)| ((*name).to_string(), (*count).into())).collect();
        let channels: Vec<_> = info
            .channels
            .iter()
            .map(|c| {
                json!({"index": c.index, "name": c.name, "direction": c.direction.to_string(), "queue_depth": c.queue_depth,
                       "inline_slots": c.inline_slots, "buffer_bytes": c.buffer_bytes})
            })
            .collect();
        return crate::print(&crate::json(&json!({
            "name": info.name, "core": info.core, "core_version": info.core_version, "contract": version, "serial": info.serial,
            "data_bits": info.data_bits, "core_clock_khz": info.core_clock_khz, "user_clock_khz": info.user_clock_khz, "tags": info.tags,
            "vectors": info.vectors, "interrupts": info.interrupts, "register_bytes": info.register_bytes, "registers": registers,
            "channels": channels, "link": link,
        })));
    }
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
    for (name, offset) in &info.register_names {
        text += &format!("  {offset:#06x}    {name}\n");
    }
    text += "channels\n";
    let width = info.channels.iter().map(|c| c.name.len()).max().unwrap_or(0);
    for c in &info.channels {
        text += &format!(
            "  {:<3} {}  {:width$}  {} descriptors, {} inline slots, {} bytes of buffer\n",
            c.index, c.direction, c.name, c.queue_depth, c.inline_slots, c.buffer_bytes
        );
    }
    text += "faults on the link\n";
    for (name, count) in counters {
        text += &format!("  {count:<9} {}\n", name.replace('_', " "));
    }
    crate::print(&text)
}

impl From<towpath::Error> for Failure {
    fn from(error: towpath::Error) -> Self {
        use crate::exit::{CORE, NOT_FOUND, TIMEOUT, TRANSFER, USAGE, VERSION};
        use towpath::Error;
        let code = match &error {
            Error::UnknownScheme { .. } | Error::NoSuchDevice { .. } | Error::NoSuchChannel { .. } | Error::WrongDirection { .. } => {
                NOT_FOUND
            }
            Error::Core { .. } => CORE,
            Error::NotTowpath { .. } | Error::Version { .. } | Error::Discovery { .. } => VERSION,
            Error::Invalid(_) => USAGE,
            other if other.is_timeout() => TIMEOUT,
            _ => TRANSFER,
        };
        Failure::new(code, error)
    }
}
