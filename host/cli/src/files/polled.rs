// SPDX-License-Identifier: Apache-2.0
//! `poll`, `select` and `epoll`: whether a call on a file would not wait, and the notice to pollers when that changes.
//!
//! A file that is not ready when it is polled gets a thread, until it is ready or closed: the thread receives ahead (what it gets is the next read's) or
//! waits for the oldest piece that is on its way. So the time of a simulated card goes on while a program polls.

use std::io::IoSliceMut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use fuser::{PollEvents, PollNotifier};
use towpath::{Error, Receiver, WaitOptions};
use towpath_system::errno::ENODEV;

use super::opened::{told, File, Incoming, Opened};
use crate::args::Names;

/// The most that is received before a program asks for it.
const AHEAD: usize = 64 << 10;
/// How long a thread waits for a call to end before it looks whether it is needed still.
const BESIDE: Duration = Duration::from_millis(10);

/// Who polls a file.
#[derive(Default)]
pub struct Polled {
    /// Whoever has polled it since it was opened.
    known: Vec<PollNotifier>,
    /// They are to be notified when it is ready.
    waiting: bool,
    /// The file has a thread.
    watched: bool,
}

impl Polled {
    fn tell(&mut self) {
        self.waiting = false;
        for one in &self.known {
            // Whoever is gone needs no news.
            let _ = one.clone().notify();
        }
    }
}

const IN: PollEvents = PollEvents::POLLIN.union(PollEvents::POLLRDNORM);
const OUT: PollEvents = PollEvents::POLLOUT.union(PollEvents::POLLWRNORM);

impl File {
    /// What is ready. If nothing is, `who` is notified when it changes; until then the card's time goes on.
    pub fn poll(self: &Arc<File>, who: &PollNotifier, stopping: &Arc<AtomicBool>) -> PollEvents {
        if stopping.load(Ordering::SeqCst) {
            return PollEvents::POLLERR | PollEvents::POLLHUP;
        }
        let Ok(opened) = self.opened() else { return PollEvents::POLLERR };
        if matches!(*opened, Opened::Memory(_) | Opened::Card) {
            return IN | OUT;
        }
        // Known first: a call of another thread may take what is ready now.
        let mut polled = self.polled.lock();
        if polled.known.iter().all(|other| other.handle().0 != who.handle().0) {
            polled.known.push(who.clone());
        }
        drop(polled);
        let ready = self.ready(&opened);
        if ready.is_empty() {
            self.watch(&mut self.polled.lock(), &opened, stopping);
        }
        ready
    }

    /// A call has taken all that there was. An edge-triggered epoll polls again only after a notice.
    pub fn exhausted(self: &Arc<File>, stopping: &Arc<AtomicBool>) {
        let Ok(opened) = self.opened() else { return };
        let mut polled = self.polled.lock();
        if !polled.known.is_empty() {
            self.watch(&mut polled, &opened, stopping);
        }
    }

    fn watch(self: &Arc<File>, polled: &mut Polled, opened: &Arc<Opened>, stopping: &Arc<AtomicBool>) {
        polled.waiting = true;
        // A thread that there is looks again before it ends, so nothing is missed.
        if !std::mem::replace(&mut polled.watched, true) {
            let (file, opened, stopping) = (self.clone(), opened.clone(), stopping.clone());
            std::thread::spawn(move || file.look(&opened, &stopping));
        }
    }

    /// The last program has closed it.
    pub fn forget(&self) {
        let mut polled = self.polled.lock();
        polled.tell();
        polled.known.clear();
    }

    /// Is nobody watching any more?
    pub fn is_quiet(&self) -> bool {
        !self.polled.lock().watched
    }

    /// A call that is under way beside this has what there is.
    fn ready(&self, opened: &Opened) -> PollEvents {
        match opened {
            Opened::Memory(_) | Opened::Card => IN | OUT,
            Opened::Read(receiver, incoming) => {
                incoming.try_lock().map_or(PollEvents::empty(), |incoming| self.readable(receiver, &incoming))
            }
            Opened::Written(outgoing) => outgoing.try_lock().map_or(PollEvents::empty(), |mut outgoing| {
                let room = if outgoing.is_ready() { OUT } else { PollEvents::empty() };
                room | outgoing.error().map_or(PollEvents::empty(), |error| PollEvents::POLLERR | self.gone(error))
            }),
        }
    }

    fn readable(&self, receiver: &Receiver, incoming: &Incoming) -> PollEvents {
        let some = if receiver.kept().is_some() || incoming.ended { IN } else { PollEvents::empty() };
        some | incoming.error.map_or(PollEvents::empty(), |error| match self.gone(error) {
            gone if error == ENODEV => PollEvents::POLLERR | gone,
            _ => IN,
        })
    }

    /// Programs of other drivers know no hang-up.
    fn gone(&self, error: i32) -> PollEvents {
        if error == ENODEV && self.entry.names == Names::Towpath {
            PollEvents::POLLHUP
        } else {
            PollEvents::empty()
        }
    }

    fn look(&self, opened: &Opened, stopping: &AtomicBool) {
        loop {
            let over = stopping.load(Ordering::SeqCst) || !self.is_open();
            let news = over || self.attempt(opened, stopping);
            let mut polled = self.polled.lock();
            if news {
                polled.tell();
            }
            if !polled.waiting {
                polled.watched = false;
                return;
            }
        }
    }

    /// Wait a while until the file is ready. `true`: it is.
    fn attempt(&self, opened: &Opened, stopping: &AtomicBool) -> bool {
        let interrupted = || stopping.load(Ordering::SeqCst) || self.resetting.load(Ordering::SeqCst);
        let options = WaitOptions { timeout: Some(self.slice), interrupted: Some(&interrupted) };
        match opened {
            Opened::Memory(_) | Opened::Card => true,
            Opened::Written(outgoing) => outgoing.try_lock_for(BESIDE).is_some_and(|mut outgoing| {
                if !outgoing.is_ready() {
                    // Its result shows in `is_ready` below.
                    let _ = outgoing.wait(options);
                }
                outgoing.is_ready()
            }),
            Opened::Read(receiver, incoming) => incoming.try_lock_for(BESIDE).is_some_and(|mut incoming| {
                if self.readable(receiver, &incoming).is_empty() {
                    self.receive_ahead(receiver, &mut incoming, options);
                }
                !self.readable(receiver, &incoming).is_empty()
            }),
        }
    }

    fn receive_ahead(&self, receiver: &Receiver, incoming: &mut Incoming, options: WaitOptions<'_>) {
        let mut bytes = vec![0; AHEAD];
        match receiver.recv_into_with(&mut [IoSliceMut::new(&mut bytes)], options) {
            Ok(received) => receiver.unread(&bytes[..received.bytes], Some(received)),
            Err(error) => {
                // By VerCoLib's names a program resets the card before it begins, and nobody has asked for these bytes.
                if matches!(error, Error::Reset { .. }) && self.entry.names == Names::Vercolib {
                    return;
                }
                let came = error.bytes().and_then(|came| usize::try_from(came).ok()).unwrap_or(0).min(AHEAD);
                receiver.unread(&bytes[..came], None);
                if !matches!(error, Error::Timeout { .. } | Error::Interrupted { .. }) {
                    incoming.error = Some(told(&self.entry.file, &error));
                }
            }
        }
    }
}
