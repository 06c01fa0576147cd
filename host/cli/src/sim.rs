// SPDX-License-Identifier: Apache-2.0
//! `sim`: a simulated card for other programs, until somebody ends it.

use std::sync::Arc;

use serde_json::json;
use towpath::{CardServer, OpenOptions};

use crate::args::{Cli, Sim};
use crate::exit::{Failure, Result, FILE};

pub fn sim(cli: &Cli, what: &Sim) -> Result {
    // Before any other thread is there: all of them are to leave the signals to the one that waits for them.
    let signals = Signals::block()?;
    let device = crate::run::device_name(&what.core, what.trace.as_deref(), &what.settings)?;
    let show = Arc::new(|line: &str| crate::eprintln_lossy(line.trim_end()));
    let options = OpenOptions { progress: Some(show.clone()), print: Some(show), ..OpenOptions::default() };
    let server = CardServer::bind(&device, &what.socket, &options).map_err(|error| match &error {
        towpath::Error::Bus { .. } => Failure::new(FILE, error),
        _ => error.into(),
    })?;
    let stop = server.stop();
    std::thread::Builder::new()
        .name("towpath-signals".into())
        .spawn(move || {
            signals.wait();
            stop.stop();
        })
        .map_err(|error| Failure::new(FILE, format!("no thread that waits for signals: {error}")))?;
    let name = format!("vfio-user:{}", what.socket.display());
    crate::print(&if cli.json { crate::json(&json!({"device": name, "card": device})) } else { format!("{name}\n") })?;
    Ok(server.serve()?)
}

/// The signals by which users and systems end a program.
struct Signals(libc::sigset_t);

impl Signals {
    fn block() -> Result<Signals> {
        // SAFETY: all zeros is a value of this type, which the next call makes an empty set in any case.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` is valid for all these calls.
        let failed = unsafe {
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut())
        };
        match failed {
            0 => Ok(Signals(set)),
            errno => Err(Failure::new(FILE, format!("signals cannot be held back: {}", std::io::Error::from_raw_os_error(errno)))),
        }
    }

    fn wait(&self) {
        let mut signal = 0;
        // SAFETY: both are valid for the call.
        unsafe { libc::sigwait(&raw const self.0, &raw mut signal) };
    }
}
