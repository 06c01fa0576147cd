// SPDX-License-Identifier: Apache-2.0
//! Admits one client at a time to the server. A client that connects while another is served is refused at once; one that connects when the
//! other has just left waits until the card is ready again.
//!
//! A thread of its own answers, so that a refusal does not wait for the card.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::place::Place;
use parking_lot::{Condvar, Mutex, MutexGuard};
use towpath_system::socket;

/// How long to wait when no client can be admitted.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Default)]
struct State {
    /// The client that is served: the same stream as the server's.
    inside: Option<UnixStream>,
    /// The client that was admitted, and not fetched yet.
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
        self.state.lock()
    }

    /// Admit a client, or refuse it. False: the service has ended.
    fn admit(&self, stream: UnixStream, refuse: fn(&UnixStream)) -> bool {
        let mut state = self.state();
        loop {
            if state.closed {
                return false;
            }
            match &state.inside {
                None => break,
                Some(inside) if socket::hung_up(inside) => self.changed.wait(&mut state),
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

/// A socket at a path, which admits one client at a time.
pub struct Door {
    /// Released before the listener is closed.
    _place: Place,
    listener: Arc<UnixListener>,
    shared: Arc<Shared>,
    porter: Option<JoinHandle<()>>,
}

impl Door {
    /// Listen at a path; `refuse` answers clients that connect while another is served, and must not take long. A socket that a server left
    /// there when it died is replaced; where a server listens, this is refused. `PATH.lock` is there as long as the socket.
    pub fn open(path: &Path, refuse: fn(&UnixStream)) -> io::Result<Door> {
        let (place, listener) = Place::take(path)?;
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
        Ok(Door { _place: place, listener, shared, porter: Some(porter) })
    }

    /// Wait for the next client. None: the service has ended.
    pub fn next(&self) -> Option<UnixStream> {
        let mut state = self.shared.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(stream) = state.waiting.take() {
                return Some(stream);
            }
            self.shared.changed.wait(&mut state);
        }
    }

    /// The client has left, and the server is ready for the next.
    pub fn free(&self) {
        self.shared.state().inside = None;
        self.shared.changed.notify_all();
    }

    /// A handle that ends the service from any thread.
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
    }
}

/// Ends the service of a [`Door`], from any thread.
#[derive(Clone)]
pub struct Stop {
    listener: Arc<UnixListener>,
    shared: Arc<Shared>,
}

impl Stop {
    /// Admit no more clients, and disconnect the one that is served.
    pub fn stop(&self) {
        let mut state = self.shared.state();
        state.closed = true;
        if let Some(inside) = &state.inside {
            let _ = inside.shutdown(std::net::Shutdown::Both);
        }
        socket::stop_listening(&self.listener);
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::Barrier;

    /// A folder of the test's own, with the path of a socket in it.
    fn place(test: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("towpath-door-{test}-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("card");
        (folder, path)
    }

    /// The files of a server that was killed.
    fn leave(path: &Path) {
        drop(UnixListener::bind(path).unwrap());
        std::fs::write(path.with_extension("lock"), "").unwrap();
    }

    fn open(path: &Path) -> io::Result<Door> {
        Door::open(path, |_| ())
    }

    #[test]
    fn of_servers_that_start_together_one_serves_and_the_others_are_told() {
        let (folder, path) = place("together");
        for round in 0..200 {
            leave(&path);
            let start = Barrier::new(8);
            let doors: Vec<_> = std::thread::scope(|scope| {
                let start = || {
                    start.wait();
                    open(&path)
                };
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let (served, refused): (Vec<_>, Vec<_>) = doors.into_iter().partition(Result::is_ok);
            assert_eq!(served.len(), 1, "round {round}");
            for error in refused.into_iter().filter_map(Result::err) {
                assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "round {round}: {error}");
                assert!(error.to_string().contains("another server"), "round {round}: {error}");
            }
            drop(UnixStream::connect(&path).unwrap());
            drop(served);
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "round {round}");
        }
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_server_leaves_its_successors_socket_alone() {
        let (folder, path) = place("successor");
        let first = open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let foreign = UnixListener::bind(&path).unwrap();
        drop(first);
        drop(UnixStream::connect(&path).unwrap());
        let refused = open(&path).err().unwrap();
        assert!(refused.kind() == io::ErrorKind::AddrInUse && refused.to_string().contains("another server"), "{refused}");
        drop(foreign);

        // As when another process empties the folder.
        let first = open(&path).unwrap();
        for entry in std::fs::read_dir(&folder).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let second = open(&path).unwrap();
        drop(first);
        drop(UnixStream::connect(&path).unwrap());
        assert_eq!(open(&path).err().unwrap().kind(), io::ErrorKind::AddrInUse);
        drop(second);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let (folder, path) = place("file");
        let link = folder.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        drop(UnixListener::bind(&path).unwrap());
        assert!(open(&link).is_err(), "a link");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file").unwrap();
        let refused = open(&path).err().unwrap();
        assert!(refused.to_string().contains("no socket"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a file");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "and nothing else is left there");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
