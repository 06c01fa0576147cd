// SPDX-License-Identifier: Apache-2.0
//! Futures without a runtime of their own: one thread waits for the event descriptors of all channels whose transfers are awaited, and
//! wakes the tasks.
//!
//! The thread starts with the first transfer that is awaited, and stays.

use crate::{Error, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::task::Waker;
use towpath_system::event;
use towpath_system::fork::Origin;

struct Reactor {
    /// By the number of the event descriptor, which is open as long as its entry is here.
    waiting: Mutex<HashMap<RawFd, Vec<Waker>>>,
    /// Signalled when an entry is new.
    changed: OwnedFd,
    origin: Origin,
}

static REACTOR: Mutex<Option<&'static Reactor>> = Mutex::new(None);

/// This process's: a child of fork has none of its parent's threads.
fn here() -> Option<&'static Reactor> {
    REACTOR.lock().filter(|reactor| reactor.origin.is_here())
}

fn start() -> std::result::Result<&'static Reactor, String> {
    let mut place = REACTOR.lock();
    if let Some(reactor) = place.filter(|reactor| reactor.origin.is_here()) {
        return Ok(reactor);
    }
    let failed = |why| format!("starting the thread that wakes tasks: {why}");
    let changed = event::new().map_err(failed)?;
    let reactor: &Reactor = Box::leak(Box::new(Reactor { waiting: Mutex::default(), changed, origin: Origin::here() }));
    // Signals belong to the program's own threads.
    let _hold = towpath_system::signals::Hold::new();
    std::thread::Builder::new().name("towpath-tasks".into()).spawn(move || run(reactor)).map_err(failed)?;
    *place = Some(reactor);
    Ok(reactor)
}

fn run(reactor: &Reactor) {
    loop {
        let numbers: Vec<RawFd> = reactor.waiting.lock().keys().copied().collect();
        // SAFETY: at worst another file has got the number of one that was closed meanwhile; the code below detects that.
        let mut all: Vec<BorrowedFd<'_>> = numbers.iter().map(|number| unsafe { BorrowedFd::borrow_raw(*number) }).collect();
        all.push(reactor.changed.as_fd());
        let readable = match event::poll_readable(&all) {
            Ok(readable) => readable,
            Err(why) => {
                log::error!("waiting for event descriptors: {why}");
                std::thread::sleep(std::time::Duration::from_millis(10));
                continue;
            }
        };
        event::clear(&reactor.changed);
        for (number, _) in numbers.iter().zip(&readable).filter(|(_, readable)| **readable) {
            let mut waiting = reactor.waiting.lock();
            let Some(wakers) = waiting.remove(number) else { continue };
            // SAFETY: its entry was there, under the lock: it is an open event descriptor.
            event::clear(&unsafe { BorrowedFd::borrow_raw(*number) });
            drop(waiting);
            for waker in wakers {
                // A waker is a runtime's code: its panics are its own.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waker.wake()));
            }
        }
    }
}

/// Wake the task when the event descriptor is readable, once. [`forget`] it before it is closed.
pub(crate) fn wake_when_readable(event: BorrowedFd<'_>, waker: &Waker) -> Result<()> {
    let reactor = match here() {
        Some(reactor) => reactor,
        None => start().map_err(Error::Invalid)?,
    };
    let mut waiting = reactor.waiting.lock();
    let wakers = waiting.entry(event.as_raw_fd()).or_default();
    if wakers.iter().any(|known| known.will_wake(waker)) {
        return Ok(());
    }
    wakers.push(waker.clone());
    let is_new = wakers.len() == 1;
    drop(waiting);
    if is_new {
        event::signal(&reactor.changed);
    }
    Ok(())
}

/// No task waits for this descriptor any more.
pub(crate) fn forget(event: BorrowedFd<'_>) {
    if let Some(reactor) = here() {
        reactor.waiting.lock().remove(&event.as_raw_fd());
    }
}
