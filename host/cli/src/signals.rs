// SPDX-License-Identifier: Apache-2.0
//! The signals by which users and systems end a program, for verbs that have something to tidy up first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::Signals;
use towpath_system::signals;

use crate::exit::{Failure, Result, FILE};

const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Call `act` with the first such signal, on a thread of its own. The second one ends the program at once, by the default action. Signals
/// that are ignored stay ignored: the parent process has chosen that (nohup, a job in the background).
pub fn at_first(act: impl FnOnce(i32) + Send + 'static) -> Result {
    let failed = |error: std::io::Error| Failure::new(FILE, format!("signals cannot be waited for: {error}"));
    let seen = Arc::new(AtomicBool::new(false));
    let heard: Vec<i32> = ENDING.into_iter().filter(|signal| !signals::is_ignored(*signal)).collect();
    for &signal in &heard {
        register_conditional_default(signal, seen.clone()).map_err(failed)?;
    }
    let mut arriving = Signals::new(heard).map_err(failed)?;
    let wait = move || {
        if let Some(signal) = arriving.forever().next() {
            seen.store(true, Ordering::SeqCst);
            act(signal);
        }
    };
    std::thread::Builder::new().name("towpath-signals".into()).spawn(wait).map(drop).map_err(failed)
}

/// End by the signal's default action, so that a shell sees why.
pub fn die_of(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
