// SPDX-License-Identifier: Apache-2.0
//! The server's door: one client at a time. Who comes while another is inside is told so at once; who comes when the other has just left waits
//! until the card is ready again.
//!
//! A thread of its own answers, so that nobody waits for the card to be told that it is taken.

use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::message::{Header, HEADER_BYTES};
use crate::{sys, wire};

/// How long one who is refused may take to say hello.
const MANNERS: Duration = Duration::from_millis(500);

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
    fn admit(&self, stream: UnixStream) -> bool {
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

/// Answer the first message, whatever it is, with "device or resource busy".
fn refuse(mut stream: &UnixStream) {
    log::warn!("a second client was refused: the card serves one at a time");
    let mut head = [0; HEADER_BYTES];
    let heard = stream.set_read_timeout(Some(MANNERS)).and_then(|()| stream.set_write_timeout(Some(MANNERS)));
    if heard.and_then(|()| stream.read_exact(&mut head)).is_ok() {
        // What is left unread would reach the peer as an error, perhaps before our answer.
        let _ = stream.set_nonblocking(true).and_then(|()| stream.read(&mut [0; 4096]));
        if let Ok(header) = Header::parse(&head) {
            let _ = wire::send(stream, header.refusal(libc::EBUSY), &[], &[], &[]);
        }
    }
}

pub struct Door {
    listener: Arc<UnixListener>,
    path: PathBuf,
    shared: Arc<Shared>,
    porter: Option<JoinHandle<()>>,
}

impl Door {
    /// Listen at a path. A socket that a server left there when it died is taken away; one with a server behind it is not.
    pub fn open(path: &Path) -> io::Result<Door> {
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
                        if !shared.admit(stream) {
                            return;
                        }
                    }
                    Err(_) if shared.state().closed => return,
                    Err(error) => {
                        log::warn!("a client cannot be let in: {error}");
                        std::thread::sleep(MANNERS); // out of descriptors, as a rule
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
    pub fn handle(&self) -> Handle {
        Handle { listener: self.listener.clone(), shared: self.shared.clone() }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.handle().close();
        if let Some(porter) = self.porter.take() {
            let _ = porter.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

#[derive(Clone)]
pub struct Handle {
    listener: Arc<UnixListener>,
    shared: Arc<Shared>,
}

impl Handle {
    /// Let nobody in any more, and show out who is inside.
    pub fn close(&self) {
        let mut state = self.shared.state();
        state.closed = true;
        if let Some(inside) = &state.inside {
            let _ = inside.shutdown(std::net::Shutdown::Both);
        }
        sys::stop_listening(&self.listener);
        self.shared.changed.notify_all();
    }
}
