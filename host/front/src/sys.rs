// SPDX-License-Identifier: Apache-2.0
//! The system calls that the standard library has no words for: descriptors across a socket, mapped files, memory that two
//! processes touch at the same time.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use towpath_bus::event;

/// Descriptors in one message, at most.
pub const MAX_DESCRIPTORS: usize = 16;

/// Room for the descriptors of one message, with what the kernel puts around them, and aligned for it.
#[repr(align(8))]
struct Control([u8; 128]);

fn checked(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Send bytes, and descriptors with the first of them; returns how many bytes went.
pub fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut control = Control([0; 128]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all zeros is a message without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    if !descriptors.is_empty() {
        let raw: Vec<RawFd> = descriptors.iter().take(MAX_DESCRIPTORS).map(AsRawFd::as_raw_fd).collect();
        let length = size_of_val(raw.as_slice()) as u32;
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: `control` has room for `MAX_DESCRIPTORS` descriptors (asserted below), so the header and the data lie within it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(length) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length) as _;
            std::ptr::copy_nonoverlapping(raw.as_ptr().cast::<u8>(), libc::CMSG_DATA(header), length as usize);
        }
    }
    // SAFETY: the message points at memory that lives until the call returns.
    checked(unsafe { libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
}

// SAFETY: a computation without memory.
const _: () = assert!(unsafe { libc::CMSG_SPACE((MAX_DESCRIPTORS * size_of::<RawFd>()) as u32) } <= 128);

/// Receive bytes, and the descriptors that came with them. No bytes: the peer is gone. The flag: more descriptors came than are allowed, and
/// the system has closed those beyond.
pub fn receive(stream: &UnixStream, into: &mut [u8], block: bool, descriptors: &mut Vec<OwnedFd>) -> io::Result<(usize, bool)> {
    let mut control = Control([0; 128]);
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: all zeros is a message without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: a computation without memory.
    message.msg_controllen = unsafe { libc::CMSG_SPACE((MAX_DESCRIPTORS * size_of::<RawFd>()) as u32) } as _;
    let flags = libc::MSG_CMSG_CLOEXEC | if block { 0 } else { libc::MSG_DONTWAIT };
    // SAFETY: the message points at memory that lives until the call returns.
    let bytes = checked(unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, flags) })?;
    // SAFETY: the kernel has filled the control data that these macros walk; each descriptor in it is new and ours alone.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let count = ((*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                descriptors.extend((0..count).map(|index| OwnedFd::from_raw_fd(data.add(index).read_unaligned())));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok((bytes, message.msg_flags & libc::MSG_CTRUNC != 0))
}

pub use event::wait_readable;

/// Has the other end of a stream gone?
pub fn hung_up(stream: &UnixStream) -> bool {
    let found = event::poll(stream.as_fd(), libc::POLLRDHUP, Some(Duration::ZERO)).unwrap_or(libc::POLLERR);
    found & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) != 0
}

/// Is it an eventfd? A peer may send anything.
pub fn is_event(descriptor: &OwnedFd) -> bool {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
    link.is_ok_and(|name| name.as_os_str() == "anon_inode:[eventfd]")
}

/// A part of a file in our address space.
pub struct Mapped {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is shared with another process anyway; all access is through raw pointers and atomics.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Map a part of a file. Only what cannot shrink may be mapped: an access behind a file's end kills the process.
    pub fn new(file: &OwnedFd, offset: u64, bytes: usize, read: bool, write: bool) -> io::Result<Mapped> {
        let rights = if read { libc::PROT_READ } else { 0 } | if write { libc::PROT_WRITE } else { 0 };
        let offset = libc::off_t::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        // SAFETY: a new mapping at a place that the system chooses touches no other memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, libc::MAP_SHARED, file.as_raw_fd(), offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapped { start: start.cast(), bytes })
    }

    /// Copy from it; the caller has checked that the bytes lie inside.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        assert!(offset.checked_add(into.len()).is_some_and(|end| end <= self.bytes));
        // SAFETY: inside of the mapping, which the assertion says again.
        unsafe { std::ptr::copy_nonoverlapping(self.start.add(offset), into.as_mut_ptr(), into.len()) };
    }

    /// Copy to it; the caller has checked that the bytes lie inside.
    pub fn write(&self, offset: usize, from: &[u8]) {
        assert!(offset.checked_add(from.len()).is_some_and(|end| end <= self.bytes));
        // SAFETY: inside of the mapping, which the assertion says again.
        unsafe { land(self.start.add(offset), from) };
    }

    /// A word, at a multiple of 2, that others write at this moment; what they wrote before it is seen by who reads after it.
    pub fn load16(&self, offset: usize) -> u16 {
        u16::from_le(self.word(offset).load(Ordering::Acquire))
    }

    /// Write such a word, after all that was written before.
    pub fn store16(&self, offset: usize, value: u16) {
        self.word(offset).store(value.to_le(), Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU16 {
        assert!(offset % 2 == 0 && offset.checked_add(2).is_some_and(|end| end <= self.bytes));
        // SAFETY: inside of the mapping and aligned, which the assertion says; the mapping begins with a page.
        unsafe { &*self.start.add(offset).cast::<AtomicU16>() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody has a reference into it.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Write as a card does: a short write of aligned 64-bit words lands in ascending order, a word at a time, so that whoever polls the last word
/// finds the ones before.
///
/// # Safety
/// The target is valid for as many bytes as there are.
pub unsafe fn land(target: *mut u8, from: &[u8]) {
    if from.len() > 64 || from.len() % 8 != 0 || target as usize % 8 != 0 {
        // SAFETY: by this function's contract.
        return unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), target, from.len()) };
    }
    for (index, word) in from.chunks_exact(8).enumerate() {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        // SAFETY: aligned, and within the target by this function's contract.
        let place = unsafe { &*target.cast::<AtomicU64>().add(index) };
        place.store(u64::from_ne_bytes(bytes), Ordering::Release);
    }
}

/// How long a file is, if it is a memory file that cannot become shorter.
pub fn fixed_length(file: &OwnedFd) -> Option<u64> {
    // SAFETY: a system call without pointers.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
        return None;
    }
    file_length(file)
}

/// How long a file is now. None: it is not a file with bytes at places, but a pipe, say.
pub fn file_length(file: &OwnedFd) -> Option<u64> {
    about(file).filter(|found| found.st_mode & libc::S_IFMT == libc::S_IFREG).map(|found| found.st_size as u64)
}

/// Is it a file with bytes at places, as no pipe or socket is?
pub fn is_file(file: &OwnedFd) -> bool {
    file_length(file).is_some()
}

/// Is it a pipe or a socket?
pub fn is_stream(file: &OwnedFd) -> bool {
    about(file).is_some_and(|found| [libc::S_IFIFO, libc::S_IFSOCK].contains(&(found.st_mode & libc::S_IFMT)))
}

fn about(file: &OwnedFd) -> Option<libc::stat> {
    // SAFETY: all zeros is a value of this type, which the call overwrites.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `found` is valid for the call to write.
    let done = unsafe { libc::fstat(file.as_raw_fd(), &raw mut found) };
    (done == 0).then_some(found)
}

/// Reads and writes return at once from now on.
pub fn set_nonblocking(file: &OwnedFd) -> io::Result<()> {
    // SAFETY: a system call without pointers.
    let flags = checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) } as isize)?;
    // SAFETY: as above.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags as i32 | libc::O_NONBLOCK) } as isize).map(drop)
}

/// Lock a file for one holder, until it is closed everywhere. False: somebody else has it locked.
pub fn lock(file: &File) -> io::Result<bool> {
    // SAFETY: a system call without pointers.
    match checked(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } as isize) {
        Ok(_) => Ok(true),
        Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(why) => Err(why),
    }
}

/// Wake whoever waits in `accept`, with an error, now and later.
pub fn stop_listening(listener: &UnixListener) {
    // SAFETY: a system call without pointers.
    unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
}
