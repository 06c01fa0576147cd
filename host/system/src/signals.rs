// SPDX-License-Identifier: Apache-2.0
//! Signals while a call waits: none is missed, whether the call sleeps in the kernel or moves a simulated card.
//!
//! A waiting call blocks signals ([`Hold`]). Handlers run only in [`arrived`] and while the call sleeps, by ppoll(2)'s mask, so a signal between two
//! looks is noticed as well. Without a hold, only a sleep that a signal cuts short is noticed.
//!
//! Handlers that only set a flag for another thread (Python's do, and run in any thread) are covered by [`Hold::asking`]: the call is interrupted
//! every [`ASK`], so that it can look at the flag.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

/// How often a call is interrupted whose caller wants to be asked.
pub const ASK: Duration = Duration::from_millis(20);

/// Signals that report a fault of the program itself: blocking them would hide it.
const FAULTS: [libc::c_int; 7] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

thread_local! {
    /// The thread's own mask, while a hold lives.
    static MASK: Cell<Option<libc::sigset_t>> = const { Cell::new(None) };
    /// A handler ran while the thread slept, and nothing has asked since.
    static ARRIVED: Cell<bool> = const { Cell::new(false) };
    /// When the call is to be interrupted next, while a hold that asks lives.
    static ASK_AT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Does this process ignore the signal?
pub fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed, and the present action goes into `now`, which is valid as zeros.
    unsafe { libc::sigaction(signal, null(), now.as_mut_ptr()) == 0 && now.assume_init().sa_sigaction == libc::SIG_IGN }
}

/// Blocks this thread's signals while it lives. Threads that are started meanwhile inherit the mask for good: a library's own threads leave signals
/// to the program's.
#[must_use]
pub struct Hold {
    outermost: bool,
    /// It belongs to its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Hold {
    /// As [`Hold::new`], and [`arrived`] reports an interruption every [`ASK`].
    pub fn asking() -> Hold {
        let hold = Hold::new();
        if hold.outermost {
            ASK_AT.set(Some(Instant::now() + ASK));
        }
        hold
    }

    /// From now on. Inside of another hold it does nothing.
    pub fn new() -> Hold {
        let outermost = MASK.get().is_none() && !cfg!(miri); // which has no signals
        if outermost {
            let (mut all, mut old) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            // SAFETY: both sets are written before they are read.
            let old = unsafe {
                libc::sigfillset(all.as_mut_ptr());
                FAULTS.iter().for_each(|fault| {
                    libc::sigdelset(all.as_mut_ptr(), *fault);
                });
                libc::sigemptyset(old.as_mut_ptr());
                libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), old.as_mut_ptr());
                old.assume_init()
            };
            MASK.set(Some(old));
        }
        Hold { outermost, _thread: std::marker::PhantomData }
    }
}

impl Default for Hold {
    fn default() -> Self {
        Hold::new()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.outermost {
            return;
        }
        ASK_AT.set(None);
        if let Some(mask) = MASK.take() {
            // SAFETY: the set that this thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, null_mut()) };
        }
    }
}

/// Did a signal handler run in this thread, while it slept in [`crate::event`] or now, or is it time to ask? Each is reported once.
pub fn arrived() -> bool {
    let slept = take();
    let Some(mask) = MASK.get() else { return slept };
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: no descriptors, a time and a set that live until the call returns.
    let polled = unsafe { libc::ppoll(null_mut(), 0, &raw const now, &raw const mask) };
    slept || polled < 0
}

/// As [`arrived`], for a call that has just slept with [`sleeping_mask`].
pub(crate) fn take() -> bool {
    let slept = ARRIVED.take();
    let due = ASK_AT.get().is_some_and(|at| at <= Instant::now());
    if due {
        ASK_AT.set(Some(Instant::now() + ASK));
    }
    slept || due
}

/// The longest sleep of this thread, no more than `time`: it wakes when it is time to ask.
pub fn sleep_limit(time: Duration) -> Duration {
    ASK_AT.get().map_or(time, |at| time.min(at.saturating_duration_since(Instant::now())))
}

/// A handler ran while the thread slept.
pub(crate) fn note() {
    ARRIVED.set(true);
}

/// What ppoll(2) takes as the mask to sleep with; null without a hold. Written to `place`.
pub(crate) fn sleeping_mask(place: &mut MaybeUninit<libc::sigset_t>) -> *const libc::sigset_t {
    MASK.get().map_or(null(), |mask| std::ptr::from_ref(place.write(mask)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static RAN: AtomicU32 = AtomicU32::new(0);

    extern "C" fn handler(_: libc::c_int) {
        RAN.fetch_add(1, Ordering::SeqCst);
    }

    fn send_to_myself() {
        // SAFETY: a handler that only counts; this thread exists.
        unsafe {
            let handler: extern "C" fn(libc::c_int) = handler;
            libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
            libc::pthread_kill(libc::pthread_self(), libc::SIGUSR1);
        }
    }

    #[test]
    fn who_wants_to_be_asked_is_asked_again_and_again() {
        let hold = Hold::asking();
        let event = crate::event::new().unwrap();
        for _ in 0..2 {
            assert_eq!(crate::event::wait(&event, 30_000_000_000).unwrap(), crate::Wake::Interrupted);
        }
        drop(hold);
        assert_eq!(crate::event::wait(&event, 2 * ASK.as_nanos() as u64).unwrap(), crate::Wake::TimedOut);
    }

    #[test]
    fn a_signal_is_held_back_and_reported_once() {
        let before = RAN.load(Ordering::SeqCst);
        let hold = Hold::new();
        assert!(!arrived());
        send_to_myself();
        let inner = Hold::new();
        assert_eq!(RAN.load(Ordering::SeqCst), before);
        drop(inner);
        assert!(arrived() && !arrived());
        assert_eq!(RAN.load(Ordering::SeqCst), before + 1);
        // One that waits when a sleep begins ends it at once.
        send_to_myself();
        let event = crate::event::new().unwrap();
        assert_eq!(crate::event::wait(&event, 30_000_000_000).unwrap(), crate::Wake::Interrupted);
        assert!(!arrived());
        drop(hold);
        send_to_myself();
        assert_eq!(RAN.load(Ordering::SeqCst), before + 3);
        assert!(!arrived());
    }
}
