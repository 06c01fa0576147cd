// SPDX-License-Identifier: Apache-2.0
//! ioctl(2).

use std::ffi::c_void;
use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};

struct Request {
    number: u32,
    argument: *mut c_void,
}

// SAFETY: passes number and argument on as they are; what they mean is the contract of `ioctl` below.
unsafe impl Ioctl for Request {
    type Output = IoctlOutput;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.number as Opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.argument
    }

    unsafe fn output_from_ptr(output: IoctlOutput, _argument: *mut c_void) -> rustix::io::Result<IoctlOutput> {
        Ok(output)
    }
}

/// A request to a driver; returns its result, 0 or more.
///
/// # Safety
/// `argument` is what that request of that file takes: a number, null, or a pointer to memory that is valid for what the request reads and writes.
pub unsafe fn ioctl(file: impl AsFd, number: u32, argument: *mut c_void) -> io::Result<u32> {
    // SAFETY: by this function's contract.
    let output = unsafe { rustix::ioctl::ioctl(file, Request { number, argument }) }?;
    Ok(output as u32)
}
