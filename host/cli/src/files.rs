// SPDX-License-Identifier: Apache-2.0
//! `files`: a card's streams and memories as files in a folder, without a kernel module, until a signal or a program's end.
//!
//! They behave as the files of the kernel module (docs/guide/linux-driver.md), over any device name, so that a shell script or a program that
//! was written for files runs with a simulated card. Not for speed: each call goes through FUSE, and bytes are copied.

mod names;
mod opened;
mod outgoing;
mod polled;
mod served;

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::Arc;
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption};
use serde_json::json;
use towpath_system::process;

use crate::args::{Cli, Files};
use crate::exit::{Failure, Result, FILE, NOT_FOUND};
use crate::output;
use crate::program::{judged, Program};
use crate::registers::write_all;
use names::{entries, Behind};
use opened::File;
use served::Served;

const LOOK: Duration = Duration::from_millis(20);
/// How often it is tried to take the folder back while programs have files open.
const TRIES: u32 = 100;

pub fn files(cli: &Cli, what: &Files) -> Result {
    let card = crate::device::open(cli, &what.core)?;
    let all = entries(&card.device, what.names);
    if all.is_empty() {
        return Err(Failure::new(NOT_FOUND, "this card has neither streams nor memories: there is nothing to serve as files"));
    }
    let signal = Arc::new(AtomicI32::new(0));
    let heard = signal.clone();
    crate::signals::at_first(move |signal| heard.store(signal, Ordering::SeqCst))?;
    write_all(&card, &what.writes)?;
    let stopping = Arc::new(AtomicBool::new(false));
    let owner = (process::user(), process::group());
    let opened: Vec<_> = all.iter().map(|entry| Arc::new(File::new(&card.device, entry.clone()))).collect();
    let served = Served { files: opened.clone(), owner, stopping: stopping.clone() };
    let session = mount(what, served)?;

    let place = what.folder.display();
    let mut text = format!("{place}:");
    for entry in &all {
        let use_ = match entry.behind {
            Behind::Written => "written".to_string(),
            Behind::Read => "read".to_string(),
            Behind::Memory(bytes) => format!("{bytes} bytes"),
            Behind::Card => "the card".to_string(),
        };
        let _ = write!(text, " {} ({use_})", entry.file);
    }
    output::aside(cli, &json!({ "folder": what.folder, "files": all.iter().map(|entry| &entry.file).collect::<Vec<_>>() }), &text);
    let code = until_the_end(what, &session, &signal);
    stopping.store(true, Ordering::SeqCst);
    take_back(what, session)?;
    while !opened.iter().all(|file| file.is_quiet()) {
        std::thread::sleep(LOOK);
    }
    judged(code?)
}

fn mount(what: &Files, served: Served) -> Result<BackgroundSession> {
    let place = what.folder.display();
    let mut config = Config::default();
    // A call that waits has a thread of its own, and each file may have one in each direction.
    config.n_threads = Some(2 * served.files.len() + 4);
    config.mount_options = vec![MountOption::FSName("towpath".into()), MountOption::Subtype("towpath".into()), MountOption::NoDev];
    if !what.folder.is_dir() {
        return Err(Failure::new(FILE, format!("{place} is no folder: make one (mkdir {place})")));
    }
    fuser::spawn_mount(served, &what.folder, &config).map_err(|error| {
        let remedy = "; this needs FUSE: /dev/fuse, and the package fuse3 for users other than root (sudo apt-get install fuse3)";
        Failure::new(FILE, format!("mounting {place}: {error}{remedy}"))
    })
}

/// Until a signal, the program's end, or an unmount from elsewhere. Returns the program's exit code, if it has ended.
fn until_the_end(what: &Files, session: &BackgroundSession, signal: &AtomicI32) -> Result<Option<u8>> {
    let mut program = Program::start(&what.program)?;
    while signal.load(Ordering::SeqCst) == 0 && !session.guard.is_finished() {
        if let Some(code) = program.as_mut().map_or(Ok(None), Program::code)? {
            return Ok(Some(code));
        }
        std::thread::sleep(LOOK);
    }
    if let Some(program) = &mut program {
        program.end();
    }
    Ok(None)
}

/// Unmount. Calls that wait have ended; programs may have files open still.
fn take_back(what: &Files, session: BackgroundSession) -> Result {
    if session.guard.is_finished() {
        return Ok(());
    }
    for _ in 0..TRIES {
        match process::unmount(&what.folder) {
            Ok(()) => return session.join().map_err(|error| Failure::file("serving", &what.folder.display().to_string(), &error)),
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => std::thread::sleep(LOOK),
            // Users other than root unmount by fusermount3.
            Err(_) => break,
        }
    }
    let place = what.folder.display();
    session.umount_and_join().map_err(|error| {
        Failure::new(FILE, format!("unmounting {place}: {error}; end the programs that have files there open, then type: umount {place}"))
    })
}
