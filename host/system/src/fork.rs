// SPDX-License-Identifier: Apache-2.0
//! fork(2): a child shares its parent's cards but not its threads, and must neither use nor close them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

/// Forks between this process and the one that first asked.
static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The process in which something was made.
#[derive(Clone, Copy, Debug)]
pub struct Origin(u32);

impl Origin {
    /// This process.
    pub fn here() -> Origin {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            if cfg!(miri) {
                return; // it has no fork
            }
            // SAFETY: the handler is a function that lives as long as the program, and only counts. Without memory for it forks go unnoticed.
            let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        Origin(GENERATION.load(Ordering::Relaxed))
    }

    /// Is it this process, and not its parent?
    #[inline]
    pub fn is_here(self) -> bool {
        self.0 == GENERATION.load(Ordering::Relaxed)
    }
}
