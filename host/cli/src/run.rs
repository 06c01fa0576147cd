// SPDX-License-Identifier: Apache-2.0
//! `run`: builds a core, then becomes the user's program, with TOWPATH_DEVICE naming the core's simulation.
//!
//! The process is replaced, so the program has the terminal, its signals and its own exit code, without a process between.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::args::{Records, Run};
use crate::exit::{Failure, Result, NOT_EXECUTABLE, NOT_FOUND, NO_PROGRAM, USAGE};
use crate::output;

pub fn run(what: &Run) -> Result {
    let device = device_name(&what.core, &what.records, &what.settings)?;
    // Opened and closed again: it is built now, with its messages, and the program finds it in the cache.
    drop(crate::device::open_named(&device, true)?);
    if let Some(trace) = &what.records.trace {
        output::eprintln_lossy(&format!("towpath: to see the waveforms afterwards: {}", viewer(trace)));
    }
    let program = &what.program[0];
    let error = Command::new(program).args(&what.program[1..]).env("TOWPATH_DEVICE", &device).exec();
    Err(not_run(program, &error))
}

/// What opens waveforms: a viewer that is on the path, or one that there is.
pub fn viewer(trace: &Path) -> String {
    let places: Vec<_> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    let found = ["surfer", "gtkwave"].into_iter().find(|name| places.iter().any(|place| place.join(name).is_file()));
    let what = found.map_or_else(|| "gtkwave".into(), str::to_owned);
    let rest = if found.is_none() { " (not on the path: sudo apt-get install gtkwave, or surfer-project.org)" } else { "" };
    format!("{what} {}{rest}", trace.display())
}

/// A program that could not be started.
pub fn not_run(program: &OsStr, error: &std::io::Error) -> Failure {
    let name = Path::new(program).display();
    match error.kind() {
        std::io::ErrorKind::NotFound => Failure::new(NO_PROGRAM, format!("no program {name}; give a path, or a name that is on PATH")),
        _ => Failure::new(NOT_EXECUTABLE, format!("{name} cannot be executed: {error}")),
    }
}

/// `sim:CORE?setting=value&...`; paths made absolute, for the program may look from elsewhere.
pub fn device_name(core: &str, records: &Records, settings: &[(String, String)]) -> Result<String> {
    let core = core.strip_prefix("sim:").unwrap_or(core);
    let looks_like_path = core.contains('/') || core.starts_with('.') || Path::new(core).is_dir();
    let mut name = String::from("sim:");
    if looks_like_path {
        let folder = std::fs::canonicalize(core).map_err(|e| {
            Failure::new(NOT_FOUND, format!("no core at {core}: {e}; give a folder with a towpath.toml, or a shipped core's name"))
        })?;
        name += &text(&folder)?;
    } else {
        name += core;
    }
    let mut settings = settings.to_vec();
    for (name, file) in [("trace", &records.trace), ("packets", &records.packets)] {
        if let Some(file) = file {
            let file = std::path::absolute(file).map_err(|e| Failure::file("finding", &file.display().to_string(), &e))?;
            settings.push((name.into(), text(&file)?));
        }
    }
    if let Some(event) = records.trace_on {
        settings.push(("trace_on".into(), (event as u8).to_string()));
    }
    for (name, time) in [("trace_from", records.trace_from), ("trace_for", records.trace_for)] {
        if let Some(time) = time {
            settings.push((name.into(), time.as_nanos().max(1).to_string()));
        }
    }
    for (number, (key, value)) in settings.iter().enumerate() {
        name += if number == 0 { "?" } else { "&" };
        name += &format!("{key}={value}");
    }
    Ok(name)
}

fn text(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) if !text.contains(['?', '&']) => Ok(text.into()),
        _ => Err(Failure::new(USAGE, format!("{}: a path in a device's name must be UTF-8, without ? and &", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::TraceOn;
    use std::time::Duration;

    fn name(core: &str) -> String {
        device_name(core, &Records::default(), &[]).unwrap()
    }

    #[test]
    fn names() {
        assert_eq!(name("sobel"), "sim:sobel");
        assert_eq!(name("sim:sobel"), "sim:sobel");
        let here = std::env::current_dir().unwrap();
        assert_eq!(name("./src/.."), format!("sim:{}", here.display()));
        let settings = [("mps".into(), "256".into()), ("latency".into(), "1000".into())];
        assert_eq!(device_name("sobel", &Records::default(), &settings).unwrap(), "sim:sobel?mps=256&latency=1000");
        let records = Records { trace: Some("wave.fst".into()), packets: Some("link".into()), ..Records::default() };
        let traced = device_name("sobel", &records, &[]).unwrap();
        assert_eq!(traced, format!("sim:sobel?trace={0}/wave.fst&packets={0}/link", here.display()));
        let times = [Some(Duration::from_micros(20)), Some(Duration::from_nanos(5))];
        let part = Records { trace_on: Some(TraceOn::Fault), trace_from: times[0], trace_for: times[1], ..Records::default() };
        assert_eq!(device_name("sobel", &part, &[]).unwrap(), "sim:sobel?trace_on=2&trace_from=20000&trace_for=5");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let failure = device_name("./no-such-core", &Records::default(), &[]).unwrap_err();
        assert_eq!(failure.code, NOT_FOUND);
        assert!(failure.message.contains("./no-such-core"), "{}", failure.message);
    }
}
