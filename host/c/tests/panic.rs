// SPDX-License-Identifier: Apache-2.0
//! A panic in the library stays in the library: the caller gets a status and a text, and nothing is printed.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ffi::CStr;
use std::process::Command;
use towpath_c::{call, towpath_last_error, towpath_status, towpath_version};

const CHILD: &str = "TOWPATH_TEST_PANICS_HERE";

#[test]
fn a_panic_becomes_a_status_and_prints_nothing() {
    if std::env::var_os(CHILD).is_none() {
        // In a process of its own, whose standard error is then looked at, and whose hook for panics is the library's.
        let name = "a_panic_becomes_a_status_and_prints_nothing";
        let child = Command::new(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert!(child.status.success(), "{child:?}");
        assert_eq!(String::from_utf8_lossy(&child.stderr), "");
        return;
    }
    let far = std::env::args().count() + 1;
    let planted: [(&str, &dyn Fn() -> usize); 2] = [("in a word", &|| panic!("in a word")), ("index out of bounds", &|| [1][far])];
    for (what, plant) in planted {
        // SAFETY: no pointers are used.
        let status = unsafe {
            call("towpath_planted", |_| {
                plant();
                Ok(())
            })
        };
        // SAFETY: both are the library's texts.
        let text = unsafe { CStr::from_ptr(towpath_last_error()) }.to_str().unwrap();
        // Such a failure says nothing, for the hook takes it; the parent sees the exit code.
        assert!(status == towpath_status::TOWPATH_INTERNAL && text.contains("towpath_planted") && text.contains(what));
    }
    // SAFETY: as above.
    assert_eq!(unsafe { CStr::from_ptr(towpath_version()) }.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}
