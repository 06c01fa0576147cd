// SPDX-License-Identifier: Apache-2.0
//! eventfd(2): how a program waits for an interrupt together with other things.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A new eventfd, not signalled.
pub fn new() -> std::io::Result<OwnedFd> {
    // Safety: a system call without pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // Safety: it was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Signal it. One whose counter is full is signalled anyway, and is not waited for: it may be another process's, and may block.
pub fn signal(event: &OwnedFd) {
    let one = 1u64;
    let mut room = libc::pollfd { fd: event.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // Safety: one entry, and no time to wait.
    if unsafe { libc::poll(&raw mut room, 1, 0) } != 1 {
        return;
    }
    // Safety: the buffer is 8 bytes, as eventfd wants them.
    unsafe { libc::write(event.as_raw_fd(), std::ptr::from_ref(&one).cast(), 8) };
}
