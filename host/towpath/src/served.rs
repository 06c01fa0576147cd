// SPDX-License-Identifier: Apache-2.0
//! Where a process that serves a card leaves word of it, so that others on this machine find the card: a small file for each server, in a folder of
//! the user's own. Only what is read from the card and from /proc is told; nobody connects to a card to find it, for it serves one at a time.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A card that a process serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its name for [`crate::Device::open`].
    pub device: String,
    /// What it simulates, as a name.
    pub card: String,
    pub serial: u64,
    /// The server's.
    pub process: u32,
    /// Where it listens, as it was told.
    socket: PathBuf,
}

/// Word of a card, until dropped.
#[derive(Debug)]
pub struct Word(PathBuf);

impl Drop for Word {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The folder: below what systems give their users for this, or below the one for temporary files.
fn folder() -> io::Result<PathBuf> {
    let user = fs::metadata("/proc/self")?.uid();
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(PathBuf::from(folder).join("towpath")),
        None => Ok(std::env::temp_dir().join(format!("towpath-{user}"))),
    }
}

/// Somebody else's folder is not to be believed, nor written to.
fn is_ours(folder: &Path) -> bool {
    let ours = |about: fs::Metadata| about.is_dir() && fs::metadata("/proc/self").is_ok_and(|own| own.uid() == about.uid());
    fs::symlink_metadata(folder).is_ok_and(ours)
}

/// Leave word of a card that is served at `socket` by this process.
pub fn announce(socket: &Path, card: &str, serial: u64) -> io::Result<Word> {
    announce_in(&folder()?, socket, card, serial)
}

fn announce_in(folder: &Path, socket: &Path, card: &str, serial: u64) -> io::Result<Word> {
    let no_text = || io::Error::new(io::ErrorKind::InvalidInput, "its path is no line of UTF-8");
    let line = |path: &Path| path.to_str().filter(|path| !path.contains('\n')).map(String::from).ok_or_else(no_text);
    let (given, whole) = (line(socket)?, line(&std::path::absolute(socket)?)?);
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ if !is_ours(folder) => return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder is somebody else's")),
        _ => {}
    }
    // A process may serve several cards.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    let name = format!("{process}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let (file, draft) = (folder.join(&name), folder.join(format!(".{name}")));
    // Into place whole: a reader sees all of it or nothing.
    fs::write(&draft, format!("{given}\nvfio-user:{whole}\n{card}\n{serial}\n{process}\n"))?;
    fs::rename(&draft, &file)?;
    Ok(Word(file))
}

/// The cards that are served now, by their sockets' names. What dead servers left is taken away.
pub fn cards() -> Vec<Served> {
    let listening = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    folder().map(|folder| cards_in(&folder, &listening)).unwrap_or_default()
}

fn cards_in(folder: &Path, listening: &str) -> Vec<Served> {
    if !is_ours(folder) {
        return Vec::new();
    }
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut cards = Vec::new();
    for file in files.filter(|file| !file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))) {
        let card = fs::read_to_string(&file).ok().and_then(|text| parse(&text));
        match card.filter(|card| listens(listening, &card.socket)) {
            Some(card) => cards.push(card),
            None => drop(fs::remove_file(&file)),
        }
    }
    cards.sort_by(|one, other| one.device.cmp(&other.device));
    cards
}

fn parse(text: &str) -> Option<Served> {
    let [socket, device, card, serial, process] = text.lines().collect::<Vec<_>>()[..] else { return None };
    let (serial, process) = (serial.parse().ok()?, process.parse().ok()?);
    Some(Served { socket: socket.into(), device: device.into(), card: card.into(), serial, process })
}

/// Whether somebody listens at this path, by the kernel's table: address, count, protocol, flags (65536: listens), type, state, inode, path.
fn listens(table: &str, socket: &Path) -> bool {
    table.lines().any(|line| {
        let mut rest = line;
        let mut flags = "";
        for column in 0..7 {
            let Some((word, behind)) = rest.trim_start().split_once(' ') else { return false };
            if column == 3 {
                flags = word;
            }
            rest = behind;
        }
        u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & 0x1_0000 != 0) && Path::new(rest) == socket
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn table() -> String {
        fs::read_to_string("/proc/net/unix").unwrap()
    }

    #[test]
    fn word_of_a_card_lasts_as_long_as_its_socket() {
        let place = std::env::temp_dir().join(format!("towpath-served-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let (folder, socket) = (place.join("words"), place.join("a card"));
        assert!(cards_in(&folder, &table()).is_empty(), "there is no folder yet");

        let listener = UnixListener::bind(&socket).unwrap();
        let word = announce_in(&folder, &socket, "sim:loopback?serial=7", 7).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let [card] = &cards_in(&folder, &table())[..] else { panic!("not one card") };
        assert_eq!((card.device.as_str(), card.serial), (format!("vfio-user:{}", socket.display()).as_str(), 7));
        assert_eq!((card.card.as_str(), card.process), ("sim:loopback?serial=7", std::process::id()));

        // A server that was killed: its socket is there, and nobody listens.
        drop(listener);
        assert!(cards_in(&folder, &table()).is_empty());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "its word is taken away");
        drop(word);

        // Another that has left in order, and something that is no word.
        fs::remove_file(&socket).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        drop(announce_in(&folder, &socket, "sim:loopback", 0).unwrap());
        fs::write(folder.join("stray"), "no word").unwrap();
        assert!(cards_in(&folder, &table()).is_empty());
        drop(listener);

        // A folder that may be anybody's.
        let link = place.join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(announce_in(&link, &socket, "sim:loopback", 0).is_err());
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn a_socket_that_is_only_connected_does_not_listen() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 16733 /run/a b\n\
                     0000000000000000: 00000003 00000000 00000000 0001 03 16734 /run/c\n\
                     0000000000000000: 00000003 00000000 00000000 0001 03 16735\n";
        assert!(listens(table, Path::new("/run/a b")));
        assert!(!listens(table, Path::new("/run/a")) && !listens(table, Path::new("/run/c")) && !listens(table, Path::new("")));
    }
}
