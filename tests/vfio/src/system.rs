// SPDX-License-Identifier: Apache-2.0
//! What the first program of a system has to do itself: file systems, modules, switching off.

use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;

/// Bring up what the kernel shows in files, and load the modules that were packed, in their order.
pub fn start() {
    for (kind, place) in [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp")] {
        fs::create_dir_all(place).unwrap();
        let (kind, place) = (CString::new(kind).unwrap(), CString::new(place).unwrap());
        // SAFETY: texts that end in a zero, and no data.
        let failed = unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
        assert_eq!(failed, 0, "mounting {place:?}: {}", std::io::Error::last_os_error());
    }
    for name in fs::read_to_string("/modules/order").unwrap().lines() {
        let file = fs::File::open(format!("/modules/{name}")).unwrap();
        // SAFETY: a system call with an open file and a text.
        let failed = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
        assert_eq!(failed, 0, "loading {name}: {}", std::io::Error::last_os_error());
    }
}

/// Switch the machine off.
pub fn stop() -> ! {
    // SAFETY: system calls without pointers.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    std::process::exit(0)
}

/// The value of a word `key=value` on the kernel's command line.
pub fn option(key: &str) -> String {
    let line = fs::read_to_string("/proc/cmdline").unwrap();
    let found = line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_default().to_string()
}

/// How much memory this process and its children may lock, for those without the right to lock any.
pub fn limit_locked_memory(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit is valid for the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) }, 0);
}

/// Run what an administrator is told to type.
pub fn run(command: &str) {
    let ended = std::process::Command::new("/bin/sh").args(["-c", command]).env("PATH", "/bin").env("USER", "1000").status().unwrap();
    assert!(ended.success(), "{command}: {ended}");
}
