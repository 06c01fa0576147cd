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

pub fn run(what: &Run) -> Result {
    let device = device_name(&what.core, &what.records, &what.settings)?;
    // Opened and closed again: it is built now, with its messages, and the program finds it in the cache.
    drop(crate::device::open_named(&device, true)?);
    let program = &what.program[0];
    let error = Command::new(program).args(&what.program[1..]).env("TOWPATH_DEVICE", &device).exec();
    Err(not_run(program, &error))
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
        let records = Records { trace: Some("wave.fst".into()), packets: Some("link".into()) };
        let traced = device_name("sobel", &records, &[]).unwrap();
        assert_eq!(traced, format!("sim:sobel?trace={0}/wave.fst&packets={0}/link", here.display()));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let failure = device_name("./no-such-core", &Records::default(), &[]).unwrap_err();
        assert_eq!(failure.code, NOT_FOUND);
        assert!(failure.message.contains("./no-such-core"), "{}", failure.message);
    }
}
