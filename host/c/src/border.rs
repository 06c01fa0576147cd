// SPDX-License-Identifier: Apache-2.0
//! The border between C and Rust: errors become a status and a text, panics stay inside, pointers are looked at before
//! they are used.

use crate::grows::{Grows, Input, Output};
use crate::handle::{self, Guard, Handle};
use crate::towpath_status;
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;
use towpath_system::errno;

/// Why a call failed.
pub struct Failure {
    pub status: towpath_status,
    pub errno: c_int,
    pub text: String,
}

impl Failure {
    pub(crate) fn new(status: towpath_status, text: String) -> Failure {
        Failure { status, errno: status.errno(), text }
    }
}

pub type Result<T> = std::result::Result<T, Failure>;

impl From<towpath::Error> for Failure {
    fn from(error: towpath::Error) -> Failure {
        Failure { status: towpath_status::of(&error), errno: error.errno(), text: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
    static LAST_ERRNO: Cell<c_int> = const { Cell::new(0) };
}

/// Text for C, which cannot have zeros in it.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// The text of this thread's last failure; it stays where it is until the next one.
pub(crate) fn last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The errno of this thread's last failure.
pub(crate) fn last_errno() -> c_int {
    LAST_ERRNO.get()
}

fn keep(failure: &Failure) {
    // A thread that ends has no storage for it any more, and no code that could read it.
    let _ = LAST.try_with(|last| *last.borrow_mut() = c_text(&failure.text));
    LAST_ERRNO.set(failure.errno);
    // SAFETY: the thread's own errno.
    errno::set(failure.errno);
}

/// Make one call of C's, by the name of its function: every exported function that can fail.
///
/// # Safety
/// The pointers that `body` passes to its [`Caller`] are as the header requires for this function.
pub unsafe fn call(function: &'static str, body: impl FnOnce(&Caller) -> Result<()>) -> towpath_status {
    static HOOK: Once = Once::new();
    // This library never prints, not even of its own faults. Linked as libtowpath.so it has the hook for itself.
    HOOK.call_once(|| std::panic::set_hook(Box::new(|fault| log::error!("{fault}"))));
    let failure = match catch_unwind(AssertUnwindSafe(|| body(&Caller { function }))) {
        Ok(Ok(())) => return towpath_status::TOWPATH_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let text = format!("{function}: a fault of Towpath's own, please report it: {}", what.unwrap_or("no more is known"));
            Failure::new(towpath_status::TOWPATH_INTERNAL, text)
        }
    };
    keep(&failure);
    failure.status
}

/// The caller of one function, whose pointers may be used while this lives: see [`call`].
pub struct Caller {
    function: &'static str,
}

impl Caller {
    /// An argument makes no sense.
    pub(crate) fn invalid(&self, what: impl std::fmt::Display) -> Failure {
        Failure::new(towpath_status::TOWPATH_INVALID, format!("{}: {what}", self.function))
    }

    /// Not yet; nothing is wrong.
    pub(crate) fn pending(&self, channel: &str, what: &str) -> Failure {
        let text = format!("{}: channel \"{channel}\": {what}; its event descriptor will tell", self.function);
        Failure::new(towpath_status::TOWPATH_PENDING, text)
    }

    fn present<T>(&self, what: &str, pointer: *const T) -> Result<()> {
        if pointer.is_null() {
            return Err(self.invalid(format_args!("{what} is NULL")));
        }
        if !pointer.is_aligned() {
            return Err(self.invalid(format_args!("{what} points to nothing of that type: it is not aligned")));
        }
        Ok(())
    }

    /// What a handle stands for.
    pub(crate) fn handle<T: Handle>(&self, handle: *const T) -> Result<Guard<T::State>> {
        if handle.is_null() {
            return Err(self.invalid(format_args!("{} is NULL", T::NAME)));
        }
        handle::find(handle).map_err(|why| self.invalid(why))
    }

    /// A handle for C.
    pub(crate) fn make<T: Handle>(&self, place: &Place<*mut T>, state: T::State) -> Result<()> {
        let full = || Failure::new(towpath_status::TOWPATH_MEMORY, format!("{}: no memory for one more {}", self.function, T::NAME));
        place.set(handle::make(state).ok_or_else(full)?);
        Ok(())
    }

    /// The handle was closed by another call meanwhile.
    pub(crate) fn closed<T: Handle>(&self) -> Failure {
        self.invalid(handle::closed(T::NAME))
    }

    /// Text; `None` for NULL.
    pub(crate) fn optional_text(&self, what: &str, text: *const c_char) -> Result<Option<&str>> {
        if text.is_null() {
            return Ok(None);
        }
        // SAFETY: `call` was promised text that ends with a zero.
        let text = unsafe { CStr::from_ptr(text) }.to_str();
        text.map(Some).map_err(|_| self.invalid(format_args!("{what} is not UTF-8")))
    }

    /// Text.
    pub(crate) fn text(&self, what: &str, text: *const c_char) -> Result<&str> {
        self.optional_text(what, text)?.ok_or_else(|| self.invalid(format_args!("{what} is NULL")))
    }

    /// Where memory begins and how long it is; NULL will do if it is empty.
    pub(crate) fn memory(&self, what: &str, start: *const c_void, bytes: u64) -> Result<(*mut u8, usize)> {
        match isize::try_from(bytes) {
            Ok(0) if start.is_null() => Ok((std::ptr::NonNull::dangling().as_ptr(), 0)),
            Ok(_) if start.is_null() => Err(self.invalid(format_args!("{what} is NULL, and not empty"))),
            Ok(bytes) => Ok((start.cast_mut().cast(), bytes as usize)),
            Err(_) => Err(self.invalid(format_args!("{what} has {bytes} bytes: more than a program can have"))),
        }
    }

    /// The elements of an array.
    pub(crate) fn array<T>(&self, what: &str, start: *const T, count: u64) -> Result<&[T]> {
        if count == 0 {
            return Ok(&[]);
        }
        self.present(what, start)?;
        let fits = |count: &usize| *count <= isize::MAX as usize / size_of::<T>();
        let Some(count) = usize::try_from(count).ok().filter(fits) else {
            return Err(self.invalid(format_args!("{what} has {count} elements: more than a program can have")));
        };
        // SAFETY: `call` was promised `count` elements, and they are not too many to be there.
        Ok(unsafe { std::slice::from_raw_parts(start, count) })
    }

    /// A place for a result.
    pub(crate) fn place<T>(&self, what: &str, place: *mut T) -> Result<Place<T>> {
        self.present(what, place)?;
        Ok(Place(Some(place)))
    }

    /// A place for a result, which the caller may leave out.
    pub(crate) fn optional_place<T>(&self, what: &str, place: *mut T) -> Result<Place<T>> {
        if place.is_null() {
            return Ok(Place(None));
        }
        self.place(what, place)
    }

    /// A struct of the caller's; `None` for NULL.
    pub(crate) fn input<T: Grows>(&self, what: &str, input: *const T) -> Result<Option<T>> {
        if input.is_null() {
            return Ok(None);
        }
        self.present(what, input)?;
        // SAFETY: `call` was promised a struct of the size that it contains.
        match unsafe { Input::read(input) } {
            Ok(value) => Ok(Some(value)),
            Err(why) => Err(self.invalid(format_args!("{what}: {why}"))),
        }
    }

    /// A struct to be filled.
    pub(crate) fn output<T: Grows>(&self, what: &str, output: *mut T) -> Result<Output<T>> {
        self.present(what, output)?;
        // SAFETY: `call` was promised a struct of the size that it contains.
        unsafe { Output::of(output) }.map_err(|why| self.invalid(format_args!("{what}: {why}")))
    }

    /// A struct to be filled, which the caller may leave out.
    pub(crate) fn optional_output<T: Grows>(&self, what: &str, output: *mut T) -> Result<Output<T>> {
        if output.is_null() {
            return Ok(Output::nowhere());
        }
        self.output(what, output)
    }
}

/// Where a result goes, if anywhere.
pub(crate) struct Place<T>(Option<*mut T>);

impl<T> Place<T> {
    pub fn set(&self, value: T) {
        if let Some(place) = self.0 {
            // SAFETY: `Caller::place` has looked at it, and `call` was promised that it can be written.
            unsafe { place.write(value) };
        }
    }
}
