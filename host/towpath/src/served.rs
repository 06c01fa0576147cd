// SPDX-License-Identifier: Apache-2.0
//! Announces a served card, so that other processes on this machine find it: a small file for each server, in a folder of the user's own. A
//! server holds a lock on its file as long as it lives, so that the file of a killed server is recognised and removed. A search connects to
//! no card, because a card serves one client at a time.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use towpath_system::{file, process};

/// A card that a process serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its name for [`crate::Device::open`].
    pub device: String,
    /// What it simulates, as a name.
    pub card: String,
    pub serial: u64,
    /// The server's process ID.
    pub process: u32,
}

/// The announcement of a card, until dropped.
#[derive(Debug)]
pub struct Word {
    file: PathBuf,
    /// Held as long as the server lives: the system releases the lock when it dies.
    _lock: File,
}

impl Drop for Word {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// The folder: below what systems give their users for this, or below the one for temporary files.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder).join("towpath"),
        None => std::env::temp_dir().join(format!("towpath-{}", process::user())),
    }
}

/// Another user's folder is neither read nor written.
fn is_ours(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir() && about.uid() == process::user())
}

/// Announce a card that this process serves at `socket`.
pub fn announce(socket: &Path, card: &str, serial: u64) -> io::Result<Word> {
    announce_in(&folder(), socket, card, serial)
}

fn announce_in(folder: &Path, socket: &Path, card: &str, serial: u64) -> io::Result<Word> {
    let no_text = || io::Error::new(io::ErrorKind::InvalidInput, "its path is no line of UTF-8");
    let line = |path: &Path| path.to_str().filter(|path| !path.contains('\n')).map(String::from).ok_or_else(no_text);
    let whole = line(&std::path::absolute(socket)?)?;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ if !is_ours(folder) => return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder is somebody else's")),
        _ => {}
    }
    // A process may serve several cards, and another container's processes may have the same numbers.
    let process = std::process::id();
    let name = format!("{process}-{:016x}", RandomState::new().build_hasher().finish());
    let (file, draft) = (folder.join(&name), folder.join(format!(".{name}")));
    // Into place whole: a reader sees all of it or nothing.
    let mut words = File::create_new(&draft)?;
    words.write_all(format!("vfio-user:{whole}\n{card}\n{serial}\n{process}\n").as_bytes())?;
    // A file system without locks is no reason to fail: readers then take the file for a dead server's.
    let _ = file::lock(&words);
    fs::rename(&draft, &file)?;
    Ok(Word { file, _lock: words })
}

/// The cards that are served now, by their sockets' names. Removes the files of servers that have died.
pub fn cards() -> Vec<Served> {
    cards_in(&folder())
}

fn cards_in(folder: &Path) -> Vec<Served> {
    if !is_ours(folder) {
        return Vec::new();
    }
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut cards = Vec::new();
    for file in files.filter(|file| !file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))) {
        let Ok(mut words) = File::open(&file) else { continue };
        if file::lock_shared(&words).unwrap_or(false) {
            let _ = fs::remove_file(&file); // its server is no more
            continue;
        }
        let mut text = String::new();
        cards.extend(words.read_to_string(&mut text).ok().and_then(|_| parse(&text)));
    }
    cards.sort_by(|one, other| one.device.cmp(&other.device));
    cards
}

fn parse(text: &str) -> Option<Served> {
    let [device, card, serial, process] = text.lines().collect::<Vec<_>>()[..] else { return None };
    let (serial, process) = (serial.parse().ok()?, process.parse().ok()?);
    Some(Served { device: device.into(), card: card.into(), serial, process })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    /// The files of /proc/self are root's when a program may not be looked at by others, whatever user runs it; and a thread's rights may
    /// be its own.
    #[test]
    fn the_folder_belongs_to_who_has_the_rights_now() {
        let folder = std::env::temp_dir().join(format!("towpath-served-user-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        assert!(is_ours(&folder));
        // SAFETY: a system call without pointers. Not by way of the C library, so for this thread alone, which ends next.
        let change = || unsafe { libc::syscall(libc::SYS_setresuid, -1, 65534, -1) };
        let changed = std::thread::spawn({
            let folder = folder.clone();
            move || (change() == 0).then(|| is_ours(&folder))
        });
        assert_ne!(changed.join().unwrap(), Some(true), "it is another user's now");
        // SAFETY: as above. The kernel takes a change of rights for a reason to hide the process.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
        assert!(is_ours(&folder));
        // SAFETY: as above.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1) };
        fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn word_of_a_card_lasts_as_long_as_its_server() {
        let place = std::env::temp_dir().join(format!("towpath-served-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let (folder, socket) = (place.join("words"), place.join("a card"));
        assert!(cards_in(&folder).is_empty(), "there is no folder yet");

        let word = announce_in(&folder, &socket, "sim:loopback?serial=7", 7).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let [card] = &cards_in(&folder)[..] else { panic!("not one card") };
        assert_eq!((card.device.as_str(), card.serial), (format!("vfio-user:{}", socket.display()).as_str(), 7));
        assert_eq!((card.card.as_str(), card.process), ("sim:loopback?serial=7", std::process::id()));

        // What a killed server leaves: the same file, without a lock.
        let left = folder.join("1-left");
        fs::copy(&word.file, &left).unwrap();
        fs::write(folder.join("stray"), "no word").unwrap();
        assert_eq!(cards_in(&folder).len(), 1, "the one that is served");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the others are taken away");
        drop(word);
        assert!(cards_in(&folder).is_empty() && fs::read_dir(&folder).unwrap().count() == 0);

        // A folder that may be any user's.
        let link = place.join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(announce_in(&link, &socket, "sim:loopback", 0).is_err());
        fs::remove_dir_all(&place).unwrap();
    }
}
