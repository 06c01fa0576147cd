// SPDX-License-Identifier: Apache-2.0
//! This process: its user, its main thread, its memory, the library that holds this code; and its children.

use std::ffi::{c_void, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::mm::Advice;
use rustix::mount::UnmountFlags;
use rustix::process::{kill_process, Pid, Signal};

/// The user whose rights this process has.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The group whose rights this process has.
pub fn group() -> u32 {
    rustix::process::getegid().as_raw()
}

/// Unmount a folder.
///
/// # Errors
/// The kernel's: `ResourceBusy` while files in it are open.
pub fn unmount(folder: &Path) -> std::io::Result<()> {
    Ok(rustix::mount::unmount(folder, UnmountFlags::empty())?)
}

/// Is this the process's first thread, in which a language's signal handlers may run?
pub fn is_main_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

/// Send SIGTERM to a child that has not ended.
pub fn ask_to_end(child: &mut Child) {
    // It has not been waited for, so its id is its own.
    if let (Ok(None), Some(id)) = (child.try_wait(), i32::try_from(child.id()).ok().and_then(Pid::from_raw)) {
        let _ = kill_process(id, Signal::TERM);
    }
}

/// Back these pages by memory of the program's own before they are pinned. Changes no byte.
///
/// Kernels before 6.2 pin for reading whatever page is there: the shared page of zeroes, or one shared with a child. A later write of the
/// program then goes to another page that the card never sees. False: not done, because the memory cannot be written, or the kernel is older
/// than 5.14.
pub fn own_pages(memory: u64, bytes: u64) -> bool {
    // SAFETY: contents stay as they are, and addresses outside of the program's memory are an error.
    unsafe { rustix::mm::madvise(memory as *mut c_void, bytes as usize, Advice::LinuxPopulateWrite) }.is_ok()
}

/// The file of the shared library that holds the code at this address, or of the executable if none does.
pub fn library_of(code: usize) -> Option<PathBuf> {
    let mut about = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address will do, and there is room for the answer.
    let found = unsafe { libc::dladdr(code as *const c_void, about.as_mut_ptr()) } != 0;
    // SAFETY: zeros are valid, and so is what was written over them.
    let name = unsafe { about.assume_init() }.dli_fname;
    if !found || name.is_null() {
        return None;
    }
    // SAFETY: the name of an object that stays loaded while its code runs.
    let name = unsafe { CStr::from_ptr(name) };
    std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}
