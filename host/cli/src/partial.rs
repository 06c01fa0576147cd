// SPDX-License-Identifier: Apache-2.0
//! `partial`: another core in the place of the user core.

use std::path::Path;

use serde_json::json;
use towpath::{Device, Direction, Error, PartialImage, PartialOutcome};

use crate::args::{Cli, Partial, Region};
use crate::exit::{Failure, Result, FILE, NOT_FOUND, USAGE};
use crate::output;
use crate::streams::{progress, Sink};

pub fn partial(cli: &Cli, what: &Partial) -> Result {
    match &what.work {
        Region::Image { name, output, words } => {
            let image = PartialImage::simulated(name, *words).map_err(|e| Failure::new(USAGE, e))?;
            let mut sink = Sink::create(output.as_deref())?;
            sink.write(&image.to_bytes())?;
            sink.finish()
        }
        Region::Load { file, cut, quiet } => load(cli, what, file, *cut, *quiet),
        Region::Status => {
            let device = crate::device::open(cli, &what.core)?.device;
            show(cli, &open(&device)?)
        }
    }
}

fn open(device: &Device) -> Result<towpath::Partial> {
    let plugin = device.plugin(towpath::Partial::TYPE).map_err(|e| Failure::new(NOT_FOUND, e))?;
    Ok(towpath::Partial::new(plugin)?)
}

fn load(cli: &Cli, what: &Partial, file: &Path, cut: bool, quiet: bool) -> Result {
    let image = PartialImage::read(file).map_err(|e| Failure::new(FILE, e))?;
    let device = crate::device::open(cli, &what.core)?.device;
    let partial = open(&device)?;
    let bar = progress(Some(image.to_bytes().len() as u64), quiet || cli.json);
    let told = |now: towpath::PartialProgress| bar.set_position(now.bytes);
    let done = if cut { partial.load_cutting(&image, told, || reset_free(&device)) } else { partial.load(&image, told) };
    bar.finish_and_clear();
    done?;
    show(cli, &partial)
}

/// A channel that is opened begins anew. Another program's resets it itself.
fn reset_free(device: &Device) -> towpath::Result<()> {
    for channel in device.info().channels.iter().filter(|channel| channel.is_stream()) {
        let opened = match channel.direction {
            Direction::H2c => device.sender(channel.index).map(drop),
            Direction::C2h => device.receiver(channel.index).map(drop),
        };
        match opened {
            Err(Error::ChannelInUse { .. }) => (),
            other => other?,
        }
    }
    Ok(())
}

fn show(cli: &Cli, partial: &towpath::Partial) -> Result {
    let (core, status, loads) = (partial.core_name()?, partial.status()?, partial.loads()?);
    let outcome = status.outcome.map(PartialOutcome::name);
    let object = json!({"core": core, "loads": loads, "outcome": outcome, "loading": status.is_loading, "decoupled": status.is_decoupled,
                        "midway": status.is_midway});
    let text = match core {
        Some(core) => format!("core {core}, {loads} loads\n"),
        None => format!("no core, after {loads} loads that ended well; the last one: {}\n", outcome.unwrap_or("not known here")),
    };
    output::answer(cli, &object, &text)
}
