// SPDX-License-Identifier: Apache-2.0
//! Numbers of errors, as in errno(3).

pub use libc::{
    E2BIG, EACCES, EAGAIN, EBADF, EBUSY, ECANCELED, ECONNRESET, EDQUOT, EEXIST, EFAULT, EINTR, EINVAL, EIO, EMFILE, ENODEV, ENOENT,
    ENOEXEC, ENOLINK, ENOMEM, ENOSPC, ENOSYS, ENOTDIR, ENOTRECOVERABLE, ENOTSUP, ENOTTY, ENXIO, EOPNOTSUPP, EPERM, EPROTO, EPROTONOSUPPORT,
    EREMOTEIO, ETIMEDOUT,
};

/// Set this thread's `errno`, for a caller in C.
pub fn set(number: i32) {
    // SAFETY: the C library gives each thread a place of its own, valid while the thread runs.
    unsafe { *libc::__errno_location() = number };
}
