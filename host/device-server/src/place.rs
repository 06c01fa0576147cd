// SPDX-License-Identifier: Apache-2.0
//! A socket's place in the file system, which one server has at a time.
//!
//! The holder of the place holds a lock on the file `PATH.lock` for life, and the system releases the lock when a process dies. Only the
//! holder makes or removes anything there, and it removes nothing but its own files: files that another process has put there in the
//! meantime stay.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use towpath_system::file;

/// The place, until dropped. The listener must outlive it: as long as that is open, no other socket has its inode's number.
pub struct Place {
    /// Removed before the lock is released.
    _socket: Ours,
    _lock: Lock,
}

impl Place {
    /// Take the place and listen there. A socket that a server left there when it died is removed; one with a server behind it is not.
    pub fn take(path: &Path) -> Result<(Place, UnixListener)> {
        let lock = Lock::take(path)?;
        match fs::symlink_metadata(path) {
            Ok(there) if !there.file_type().is_socket() => {
                return Err(Error::new(ErrorKind::AlreadyExists, "what stands there is no socket: remove it, or choose another path"));
            }
            // A server of another kind may listen there, which does not use the lock.
            Ok(_) => match UnixStream::connect(path) {
                Err(why) if why.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)?,
                _ => return Err(taken()),
            },
            Err(why) if why.kind() == ErrorKind::NotFound => (),
            Err(why) => return Err(why),
        }
        let listener = UnixListener::bind(path)?;
        let socket = Ours { path: path.into(), which: which(&fs::symlink_metadata(path)?) };
        Ok((Place { _socket: socket, _lock: lock }, listener))
    }
}

fn taken() -> Error {
    Error::new(ErrorKind::AddrInUse, "another server listens there: end it first, or choose another path")
}

/// The file's identity, whatever its name.
fn which(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

/// Is this file there?
fn is_at(path: &Path, file: (u64, u64)) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| which(&there) == file)
}

/// A name in the file system, removed when dropped if it still is this file's.
struct Ours {
    path: PathBuf,
    which: (u64, u64),
}

impl Drop for Ours {
    fn drop(&mut self) {
        if is_at(&self.path, self.which) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The lock on a place, until dropped.
struct Lock {
    /// Removed before the lock is released.
    _name: Ours,
    _file: File,
}

impl Lock {
    fn take(path: &Path) -> Result<Lock> {
        let mut name = OsString::from(path);
        name.push(".lock");
        let name = PathBuf::from(name);
        let failed = |why: Error| Error::new(why.kind(), format!("{}: {why}", name.display()));
        loop {
            // A link may lead anywhere.
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(file::NO_FOLLOW);
            let opened = options.open(&name).map_err(failed)?;
            let locked = file::lock(&opened).map_err(failed)?;
            let file_is = which(&opened.metadata().map_err(failed)?);
            match (is_at(&name, file_is), locked) {
                (true, true) => return Ok(Lock { _name: Ours { path: name, which: file_is }, _file: opened }),
                (true, false) => return Err(taken()),
                // Its holder has left and removed it since it was opened here: the lock of a file without a name excludes no process.
                (false, _) => {}
            }
        }
    }
}
