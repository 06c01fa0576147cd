// SPDX-License-Identifier: Apache-2.0
//! Structs that may grow with later versions. Their first member is the size that the caller was compiled with, so that a program and a
//! library of different age work together: a member that one of them does not have is zero for the other.

/// Such a struct.
///
/// # Safety
/// It is `repr(C)`, its first member is its size, a `u32`, and all zeros are a valid value.
pub(crate) unsafe trait Grows: Copy {
    /// Its size in the first version that had it.
    const FIRST: usize;
}

/// Declares one that has not grown yet.
macro_rules! grows {
    ($type:ident, $first:literal) => {
        // SAFETY: as its definition shows; `repr(C)` is in the same place.
        unsafe impl crate::grows::Grows for $type {
            const FIRST: usize = $first;
        }
        const _: () = assert!(size_of::<$type>() >= $first && std::mem::offset_of!($type, size) == 0);
    };
}
pub(crate) use grows;

/// No struct comes near it: a larger size is one that was never set.
const LARGEST: usize = 4096;

/// # Safety
/// `given` can be read.
unsafe fn size_of_given<T: Grows>(given: *const T) -> Result<usize, String> {
    // SAFETY: by this function's contract; the size stands first.
    let size = unsafe { given.cast::<u32>().read() } as usize;
    if !(T::FIRST..=LARGEST).contains(&size) {
        return Err(format!("its member size is {size}: set it to sizeof the struct, which is {} or more", T::FIRST));
    }
    Ok(size)
}

/// Reads what the caller fills in.
pub(crate) struct Input;

impl Input {
    /// # Safety
    /// `given` can be read for as many bytes as its size member contains.
    pub unsafe fn read<T: Grows>(given: *const T) -> Result<T, String> {
        // SAFETY: by this function's contract.
        let size = unsafe { size_of_given(given)? };
        let known = size.min(size_of::<T>());
        // SAFETY: by this function's contract.
        let rest = unsafe { std::slice::from_raw_parts(given.cast::<u8>().add(known), size - known) };
        if rest.iter().any(|byte| *byte != 0) {
            return Err("it uses members that this version of the library does not know: install a newer one".into());
        }
        // SAFETY: zeros are valid (`Grows`); both are valid for `known` bytes.
        Ok(unsafe {
            let mut value = std::mem::zeroed::<T>();
            std::ptr::copy_nonoverlapping(given.cast::<u8>(), std::ptr::addr_of_mut!(value).cast::<u8>(), known);
            value
        })
    }
}

/// Where a struct goes that the library fills in, if anywhere.
pub(crate) struct Output<T>(Option<(*mut T, usize)>);

impl<T: Grows> Output<T> {
    /// # Safety
    /// `given` can be read and written for as many bytes as its size member contains, as long as this lives.
    pub unsafe fn of(given: *mut T) -> Result<Output<T>, String> {
        // SAFETY: by this function's contract.
        let size = unsafe { size_of_given(given)? };
        Ok(Output(Some((given, size))))
    }

    pub fn nowhere() -> Output<T> {
        Output(None)
    }

    /// Fill in the members that the caller's struct has, except for the size, which stays the caller's.
    pub fn set(&self, value: T) {
        let Some((given, size)) = self.0 else { return };
        let known = size.min(size_of::<T>());
        let first = size_of::<u32>();
        // SAFETY: by the contract of `of`; the members of a larger struct of the caller's that are unknown here become zero.
        unsafe {
            let (from, to) = (std::ptr::addr_of!(value).cast::<u8>(), given.cast::<u8>());
            std::ptr::copy_nonoverlapping(from.add(first), to.add(first), known - first);
            std::ptr::write_bytes(to.add(known), 0, size - known);
        }
    }
}
