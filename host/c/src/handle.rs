// SPDX-License-Identifier: Apache-2.0
//! Handles: what C holds of the library's objects. Each begins with a tag that tells its kind, so that a mix-up is an
//! error instead of a crash, as far as that is possible in C.

/// A type that C sees as a pointer to something unknown.
pub(crate) trait Handle {
    /// What it stands for.
    type State;
    /// In texts.
    const NAME: &'static str;
    const TAG: u64;
}

/// What the pointer points to.
#[repr(C)]
pub(crate) struct Tagged<S> {
    pub tag: u64,
    pub state: S,
}

impl<S> Tagged<S> {
    /// A handle, C's to close.
    pub fn make<T: Handle<State = S>>(state: S) -> *mut T {
        Box::into_raw(Box::new(Tagged { tag: T::TAG, state })).cast()
    }

    /// # Safety
    /// `tagged` was made by [`Tagged::make`], and nobody uses it any more.
    pub unsafe fn take(tagged: *mut Tagged<S>) -> S {
        // SAFETY: by this function's contract. Volatile, so that it is not left out because the memory is freed next.
        unsafe { std::ptr::addr_of_mut!((*tagged).tag).write_volatile(0) };
        // SAFETY: as above.
        unsafe { Box::from_raw(tagged) }.state
    }
}

/// Declares the type that C sees, and what it stands for.
macro_rules! handle {
    ($type:ident, $name:literal, $tag:literal, $state:ty) => {
        impl crate::handle::Handle for $type {
            type State = $state;
            const NAME: &'static str = $name;
            const TAG: u64 = u64::from_le_bytes(*$tag);
        }
    };
}
pub(crate) use handle;
