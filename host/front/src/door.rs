// SPDX-License-Identifier: Apache-2.0
//! The server's door: one client at a time. Who comes while another is inside is told so at once; who comes when the other has just left waits
//! until the card is ready again.
//!
//! A thread of its own answers, so that nobody waits for the card to be told that it is taken.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::sys;

/// How long to wait when nobody can be let in.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Default)]
struct State {
    /// Who is inside: the same stream as the server's.
    inside: Option<UnixStream>,
    /// Who may come in, and has not been fetched.
    waiting: Option<UnixStream>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Let somebody in, or refuse them. False: the door is closed.
    fn admit(&self, stream: UnixStream, refuse: fn(&UnixStream)) -> bool {
        let mut state = self.state();
        loop {
            if state.closed {
                return false;
            }
            match &state.inside {
                None => break,
                Some(inside) if sys::hung_up(inside) => state = self.wait(state),
                Some(_) => {
                    drop(state);
                    log::warn!("a second client was refused: the card serves one at a time");
                    refuse(&stream);
                    return true;
                }
            }
        }
        match stream.try_clone() {
            Ok(same) => (state.inside, state.waiting) = (Some(same), Some(stream)),
            Err(error) => log::warn!("a client cannot be let in: {error}"),
        }
        self.changed.notify_all();
        true
    }
}

/// A socket at a path, and who may come in.
pub struct Door {
    listener: Arc<UnixListener>,
    path: PathBuf,
    shared: Arc<Shared>,
    porter: Option<JoinHandle<()>>,
}

impl Door {
    /// Listen at a path, and tell those who come at the wrong time by `refuse`, which must not take long. A socket that a server left there when it died is taken away; one with a server behind it is not.
    pub fn open(path: &Path, refuse: fn(&UnixStream)) -> io::Result<Door> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path) {
                // So does anything that is no socket.
                Err(why) if why.kind() == io::ErrorKind::ConnectionRefused && std::fs::metadata(path)?.file_type().is_socket() => {
                    std::fs::remove_file(path)?;
                    UnixListener::bind(path)?
                }
                _ => return Err(error),
            },
            other => other?,
        };
        let (listener, shared) = (Arc::new(listener), Arc::new(Shared::default()));
        let porter = {
            let (listener, shared) = (listener.clone(), shared.clone());
            std::thread::Builder::new().name("towpath-door".into()).spawn(move || loop {
                match listener.accept() {
                    Ok((stream, _)) => {
                        if !shared.admit(stream, refuse) {
                            return;
                        }
                    }
                    Err(_) if shared.state().closed => return,
                    Err(error) => {
                        log::warn!("a client cannot be let in: {error}");
                        std::thread::sleep(PAUSE); // out of descriptors, as a rule
                    }
                }
            })?
        };
        Ok(Door { listener, path: path.to_owned(), shared, porter: Some(porter) })
    }

    /// Wait for the next client. None: the door was closed.
    pub fn next(&self) -> Option<UnixStream> {
        let mut state = self.shared.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(stream) = state.waiting.take() {
                return Some(stream);
            }
            state = self.shared.wait(state);
        }
    }

    /// The client has left, and all is ready for the next.
    pub fn free(&self) {
        self.shared.state().inside = None;
        self.shared.changed.notify_all();
    }

    /// What closes it from any thread.
    pub fn stop(&self) -> Stop {
        Stop { listener: self.listener.clone(), shared: self.shared.clone() }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop().stop();
        if let Some(porter) = self.porter.take() {
            let _ = porter.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Ends the service behind a door, from any thread.
#[derive(Clone)]
pub struct Stop {
    listener: Arc<UnixListener>,
    shared: Arc<Shared>,
}

impl Stop {
    /// Let nobody in any more, and show out who is inside.
    pub fn stop(&self) {
        let mut state = self.shared.state();
        state.closed = true;
        if let Some(inside) = &state.inside {
            let _ = inside.shutdown(std::net::Shutdown::Both);
        }
        sys::stop_listening(&self.listener);
        self.shared.changed.notify_all();
    }
}
