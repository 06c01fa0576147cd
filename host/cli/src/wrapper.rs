// SPDX-License-Identifier: Apache-2.0
//! `wrapper`: the generated SystemVerilog between a user core and the gateware, and with `--json` what else a project needs to know of it.

use serde_json::json;
use std::path::{Path, PathBuf};

use crate::args::{Cli, Wrapper};
use crate::exit::{Failure, Result, NOT_FOUND, USAGE};
use crate::output;
use towpath_cores::{find_core, wrap, BuildOptions, Data, Manifest, Wrapped};

pub fn wrapper(cli: &Cli, what: &Wrapper) -> Result {
    if cli.json && what.output.is_none() {
        return Err(Failure::new(USAGE, "with --json, --output FILE must say where the SystemVerilog goes"));
    }
    let folder = find_core(&what.core).map_err(|e| Failure::new(NOT_FOUND, e))?;
    let say = |line: &str| output::eprintln_lossy(line);
    let regions = what.regions.is_some();
    let options = BuildOptions { width: what.width, serial: what.serial, regions, progress: Some(&say), ..BuildOptions::default() };
    let Wrapped { manifest, text, data, included, region } = wrap(&folder, &options, what.core_clock)?;
    let Some(file) = &what.output else {
        return output::print(&text);
    };
    write(file, &text)?;
    let sources = if region.is_some() { manifest.sources_around() } else { manifest.sources() };
    let mut value = described(&manifest, sources, data, included)?;
    value["width"] = json!(manifest.core.width);
    value["core_clock_khz"] = json!(manifest.core_clock_khz());
    value["user_clock_khz"] = json!(manifest.core.clock_mhz.map(|_| manifest.user_clock_khz()));
    if let (Some(folder), Some(region)) = (&what.regions, region) {
        let mut cores = Vec::new();
        for (number, inside) in region.cores.into_iter().enumerate() {
            let place = folder.join(format!("{number:02}"));
            std::fs::create_dir_all(&place).map_err(|e| Failure::file("making", &place.display().to_string(), &e))?;
            let file = place.join("tp_region.sv");
            write(&file, &inside.text)?;
            let mut core = described(&inside.manifest, inside.manifest.own_sources(), inside.data, inside.included)?;
            core["file"] = json!(absolute(vec![file])?[0]);
            cores.push(core);
        }
        write(&folder.join("tp_region.sv"), &region.hole)?;
        value["regions"] = json!(cores);
    }
    output::answer(cli, &value, &format!("{}\n", file.display()))
}

fn write(file: &Path, text: &str) -> Result {
    std::fs::write(file, text).map_err(|e| Failure::file("writing", &file.display().to_string(), &e))
}

/// Absolute: a kind's sources are not in the core's folder.
fn absolute(paths: Vec<PathBuf>) -> std::result::Result<Vec<PathBuf>, Failure> {
    let found = paths.into_iter().map(std::path::absolute).collect::<std::io::Result<Vec<_>>>();
    found.map_err(|e| Failure::file("finding", "the sources", &e))
}

/// A core, and its files.
fn described(
    manifest: &Manifest,
    sources: Vec<PathBuf>,
    data: Vec<Data>,
    included: Vec<PathBuf>,
) -> std::result::Result<serde_json::Value, Failure> {
    let core = &manifest.core;
    let mut files = Vec::new();
    for found in data {
        let (file, readers) = (absolute(vec![found.file])?, absolute(found.readers.into_iter().collect())?);
        files.push(json!({ "name": found.name, "file": file[0], "readers": readers }));
    }
    let defines: Vec<String> =
        core.macros().into_iter().map(|(name, value)| if value.is_empty() { name } else { format!("{name}={value}") }).collect();
    Ok(json!({
        "core": core.name,
        "top": core.top,
        "folder": manifest.folder,
        "sources": absolute(sources)?,
        "include": core.include,
        "included": absolute(included)?,
        "defines": defines,
        "data": files,
    }))
}
