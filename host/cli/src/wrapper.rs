// SPDX-License-Identifier: Apache-2.0
//! `wrapper`: the generated SystemVerilog between a user core and the gateware, and with `--json` what else a project needs to know of it.

use serde_json::json;
use std::path::PathBuf;

use crate::args::{Cli, Wrapper};
use crate::exit::{Failure, Result, NOT_FOUND, USAGE};
use crate::output;
use towpath_cores::{find_core, wrap, BuildOptions, Wrapped};

pub fn wrapper(cli: &Cli, what: &Wrapper) -> Result {
    if cli.json && what.output.is_none() {
        return Err(Failure::new(USAGE, "with --json, --output FILE must say where the SystemVerilog goes"));
    }
    let folder = find_core(&what.core).map_err(|e| Failure::new(NOT_FOUND, e))?;
    let say = |line: &str| output::eprintln_lossy(line);
    let options = BuildOptions { width: what.width, serial: what.serial, progress: Some(&say), ..BuildOptions::default() };
    let Wrapped { manifest, text, data, included } = wrap(&folder, &options, what.core_clock)?;
    let Some(file) = &what.output else {
        return output::print(&text);
    };
    std::fs::write(file, text).map_err(|e| Failure::file("writing", &file.display().to_string(), &e))?;
    let core = &manifest.core;
    // Absolute: a kind's sources are not in the core's folder.
    let absolute = |paths: Vec<PathBuf>| {
        let found = paths.into_iter().map(std::path::absolute).collect::<std::io::Result<Vec<_>>>();
        found.map_err(|e| Failure::file("finding", "the sources", &e))
    };
    let (sources, included) = (absolute(manifest.sources())?, absolute(included)?);
    let mut files = Vec::new();
    for found in data {
        let (file, readers) = (absolute(vec![found.file])?, absolute(found.readers.into_iter().collect())?);
        files.push(json!({ "name": found.name, "file": file[0], "readers": readers }));
    }
    let defines: Vec<String> =
        core.macros().into_iter().map(|(name, value)| if value.is_empty() { name } else { format!("{name}={value}") }).collect();
    let value = json!({
        "core": core.name,
        "top": core.top,
        "folder": manifest.folder,
        "sources": sources,
        "include": core.include,
        "included": included,
        "defines": defines,
        "data": files,
        "width": core.width,
        "core_clock_khz": manifest.core_clock_khz(),
        "user_clock_khz": core.clock_mhz.map(|_| manifest.user_clock_khz()),
    });
    output::answer(cli, &value, &format!("{}\n", file.display()))
}
