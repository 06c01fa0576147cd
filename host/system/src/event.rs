// SPDX-License-Identifier: Apache-2.0
//! eventfd(2), and waiting for descriptors. A wait ends when a signal handler runs: see [`signals`].

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::io::Errno;

use crate::{signals, Wake};

/// A new eventfd, not signalled, which never blocks.
pub fn new() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Wait until any of these has something to read, without a limit; which ones. None of them, if a signal came.
pub fn poll_readable(what: &[BorrowedFd<'_>]) -> io::Result<Vec<bool>> {
    let mut entries: Vec<_> = what.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match rustix::event::poll(&mut entries, None) {
        Err(Errno::INTR) => Ok(vec![false; what.len()]),
        Err(why) => Err(why.into()),
        Ok(_) => Ok(entries.iter().map(|entry| entry.revents().contains(PollFlags::IN)).collect()),
    }
}

/// Signal it. One whose counter is full is signalled already, and is not written: it may be another process's, and may block.
pub fn signal(event: &OwnedFd) {
    if is_writable(event.as_fd()) {
        let _ = rustix::io::write(event, &1u64.to_ne_bytes());
    }
}

/// Clear its signal; was there one?
pub fn clear(event: &impl AsFd) -> bool {
    rustix::io::read(event, &mut [0u8; 8]) == Ok(8)
}

/// Can it be written to without blocking?
pub fn is_writable(what: BorrowedFd<'_>) -> bool {
    poll(what, libc::POLLOUT, Some(Duration::ZERO)).unwrap_or(0) != 0
}

/// Wait until it is signalled, and clear it. A signal since the last wait counts at once.
pub fn wait(event: &OwnedFd, nanoseconds: u64) -> io::Result<Wake> {
    let until = Instant::now() + Duration::from_nanos(nanoseconds);
    loop {
        if clear(event) {
            return Ok(Wake::Fired);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Wake::TimedOut);
        }
        wait_readable(event.as_fd(), Some(signals::sleep_limit(left)))?;
        if signals::take() {
            return Ok(Wake::Interrupted);
        }
    }
}

/// Wait until there is something to read, or the peer of a stream is gone. False: the time was over first, or a signal came.
pub fn wait_readable(what: BorrowedFd<'_>, time: Option<Duration>) -> io::Result<bool> {
    poll(what, libc::POLLIN, time).map(|found| found != 0)
}

/// poll(2) for one descriptor: which of the events there are. A signal handler that runs meanwhile ends it: see [`signals::arrived`].
pub(crate) fn poll(what: BorrowedFd<'_>, events: i16, time: Option<Duration>) -> io::Result<i16> {
    let mut entry = libc::pollfd { fd: what.as_raw_fd(), events, revents: 0 };
    let time = time.map(|time| libc::timespec { tv_sec: time.as_secs().min(1 << 30) as _, tv_nsec: time.subsec_nanos().into() });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let mut mask = std::mem::MaybeUninit::uninit();
    #[cfg(not(miri))]
    use libc::ppoll;
    #[cfg(miri)] // which has no signals, hence no ppoll
    use without_signals as ppoll;
    // SAFETY: one entry, an optional time and an optional mask, all of which live until the call returns.
    match unsafe { ppoll(&raw mut entry, 1, time, signals::sleeping_mask(&mut mask)) } {
        0.. => Ok(entry.revents),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {
                signals::note();
                Ok(0)
            }
            error => Err(error),
        },
    }
}

#[cfg(miri)]
unsafe fn without_signals(
    entries: *mut libc::pollfd,
    count: libc::nfds_t,
    time: *const libc::timespec,
    _mask: *const libc::sigset_t,
) -> libc::c_int {
    // SAFETY: by ppoll's contract.
    let time = unsafe { time.as_ref() }.map_or(-1, |time| (1000 * time.tv_sec + (time.tv_nsec + 999_999) / 1_000_000) as libc::c_int);
    // SAFETY: by ppoll's contract.
    unsafe { libc::poll(entries, count, time) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn signals_before_a_wait_count_once_together() {
        let event = new().unwrap();
        signal(&event);
        signal(&event);
        assert_eq!(wait(&event, 0).unwrap(), Wake::Fired);
        let began = Instant::now();
        assert_eq!(wait(&event, 20_000_000).unwrap(), Wake::TimedOut);
        assert!(began.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_signal_ends_a_wait() {
        let event = new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                signal(&event);
            });
            assert_eq!(wait(&event, 30_000_000_000).unwrap(), Wake::Fired);
        });
    }
}
