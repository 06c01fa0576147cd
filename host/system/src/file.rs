// SPDX-License-Identifier: Apache-2.0
//! What a file is, locks on files, and memory files.

pub use libc::{O_DIRECT, O_NONBLOCK};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, FlockOperation, MemfdFlags, OFlags, SealFlags};
use rustix::io::Errno;

/// The length of a memory file that cannot become shorter. `None` of any other file.
pub fn fixed_length(file: impl AsFd) -> Option<u64> {
    let seals = fs::fcntl_get_seals(&file).ok()?;
    if seals.contains(SealFlags::SHRINK) {
        length(file)
    } else {
        None
    }
}

/// The length of a regular file now. `None` of a pipe, a socket or a device.
pub fn length(file: impl AsFd) -> Option<u64> {
    let about = fs::fstat(file).ok()?;
    (FileType::from_raw_mode(about.st_mode) == FileType::RegularFile).then_some(about.st_size as u64)
}

/// Is it a pipe or a socket?
pub fn is_stream(file: impl AsFd) -> bool {
    fs::fstat(file).is_ok_and(|about| matches!(FileType::from_raw_mode(about.st_mode), FileType::Fifo | FileType::Socket))
}

/// Is it an eventfd? A peer may send any descriptor.
pub fn is_event(file: impl AsFd) -> bool {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
    link.is_ok_and(|name| name.as_os_str() == "anon_inode:[eventfd]")
}

/// Reads and writes return at once from now on.
pub fn set_nonblocking(file: impl AsFd) -> io::Result<()> {
    let flags = fs::fcntl_getfl(&file)?;
    Ok(fs::fcntl_setfl(file, flags | OFlags::NONBLOCK)?)
}

/// Lock a file for one holder, until it is closed everywhere. False: another holder has a lock on it.
pub fn lock(file: impl AsFd) -> io::Result<bool> {
    try_lock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Lock a file together with others that share it. False: a holder has it alone.
pub fn lock_shared(file: impl AsFd) -> io::Result<bool> {
    try_lock(file, FlockOperation::NonBlockingLockShared)
}

fn try_lock(file: impl AsFd, operation: FlockOperation) -> io::Result<bool> {
    match fs::flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(why) => Err(why.into()),
    }
}

/// As [`lock`], and wait until the holder closes it.
pub fn wait_lock(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| fs::flock(&file, FlockOperation::LockExclusive))?)
}

/// May this process read and write that file, by its effective rights?
pub fn may_open(path: &Path) -> bool {
    fs::accessat(fs::CWD, path, fs::Access::READ_OK | fs::Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// A file in memory of that length, for mapping and sharing. `sealed`: it cannot become shorter.
pub fn memory_file(name: &str, bytes: u64, sealed: bool) -> io::Result<OwnedFd> {
    let file = fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    fs::ftruncate(&file, bytes)?;
    if sealed {
        fs::fcntl_add_seals(&file, SealFlags::SHRINK)?;
    }
    Ok(file)
}

/// Flag of open(2) that refuses a symbolic link.
pub const NO_FOLLOW: i32 = libc::O_NOFOLLOW;
/// Flag of open(2) for transfers past the page cache.
pub const DIRECT: i32 = libc::O_DIRECT;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_is_what_it_is() {
        let plain = tempfile::tempfile().unwrap();
        plain.set_len(5).unwrap();
        assert_eq!((length(&plain), fixed_length(&plain), is_stream(&plain), is_event(&plain)), (Some(5), None, false, false));
        let sealed = memory_file("sealed", 4096, true).unwrap();
        assert_eq!((length(&sealed), fixed_length(&sealed)), (Some(4096), Some(4096)));
        let (reader, _writer) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!((length(&reader), is_stream(&reader)), (None, true));
        let event = crate::event::new().unwrap();
        assert_eq!((length(&event), is_event(&event)), (None, true));
    }

    #[test]
    fn a_lock_has_one_holder_or_several_that_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let open = || std::fs::File::options().create(true).append(true).open(&path).unwrap();
        let first = open();
        assert!(lock(&first).unwrap());
        assert!(!lock(open()).unwrap() && !lock_shared(open()).unwrap());
        drop(first);
        let (one, other) = (open(), open());
        assert!(lock_shared(&one).unwrap() && lock_shared(&other).unwrap() && !lock(open()).unwrap());
        drop((one, other));
        wait_lock(open()).unwrap();
    }

    #[test]
    fn rights_are_the_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(may_open(file.path()));
        assert!(!may_open(&file.path().with_extension("missing")));
    }
}
