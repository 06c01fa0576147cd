// SPDX-License-Identifier: Apache-2.0
//! What the library's log says on standard error, by `--verbose` and by `RUST_LOG`.

mod common;

use common::towpath;

/// The lines of the log that `reset in` writes. The first build of the core says more, which is none of the log.
fn log(options: &[&str], rust_log: Option<&str>) -> Vec<String> {
    let mut command = towpath(&["reset", "--core", "loopback", "in"]);
    command.args(options).envs(rust_log.map(|filters| ("RUST_LOG", filters)));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let levels = ["error", "warn", "info", "debug", "trace"];
    said.lines().filter(|line| line.split([' ', ':']).next().is_some_and(|word| levels.contains(&word))).map(String::from).collect()
}

#[track_caller]
fn says(log: &[String], begins: &str, goes_on: &str) {
    assert!(log.iter().any(|line| line.starts_with(begins) && line.contains(goes_on)), "{begins:?} ... {goes_on:?} is missing: {log:#?}");
}

#[test]
fn warnings_alone_unless_asked_for_more() {
    assert_eq!(log(&[], None), [""; 0]);
    assert_eq!(log(&[], Some("")), [""; 0], "an empty RUST_LOG is none");
}

#[test]
fn verbose_tells_what_is_done_to_the_card_and_twice_how() {
    let once = log(&["-v"], None);
    says(&once, "info: sim:", "core loopback, version ");
    says(&once, "info: sim:", "channels: in (h2c), out (c2h)");
    says(&once, "info: sim:", "channel \"in\": resetting the channel");
    assert!(once.iter().all(|line| line.starts_with("info: ")), "{once:#?}");
    let twice = log(&["-vv"], Some(""));
    says(&twice, "info: sim:", "channel \"in\": resetting the channel");
    says(&twice, "debug: sim:", "channel \"in\": opened; waits adaptively, polling for up to 20µs");
}

#[test]
fn rust_log_chooses_by_module_instead_of_verbose() {
    let driver = log(&[], Some("towpath_userspace=debug"));
    says(&driver, "info towpath_userspace: sim:", "core loopback");
    says(&driver, "debug towpath_userspace::channel: sim:", "opened; waits");
    assert!(driver.iter().all(|line| line.contains(" towpath_userspace")), "{driver:#?}");
    let channels = log(&["-vv"], Some("warn,towpath_userspace::channel=info"));
    says(&channels, "info towpath_userspace::channel: sim:", "resetting the channel");
    assert_eq!(channels.len(), 1, "{channels:#?}");
    assert_eq!(log(&["-vv"], Some("error")), [""; 0]);
}
