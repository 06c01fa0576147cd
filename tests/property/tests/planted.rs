// SPDX-License-Identifier: Apache-2.0
//! The property tests themselves: with one line of the gateware changed, they must fail. Each fault is put into a copy of the sources, and
//! the test of streams, or that of storms, runs over it in a process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;
use towpath_property::{memories, mishaps, run, storm, Plan};

/// Says that this process is the one with the fault, and where its core is; and which test is to notice.
const CHILD: &str = "TOWPATH_PLANTED";
const TEST: &str = "TOWPATH_PLANTED_TEST";
const STREAMS: &str = "streams";
const STORMS: &str = "storms";
const MEMORIES: &str = "memories";
const MISHAPS: &str = "mishaps";

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Folders that the test needs of the cores, its own core first.
fn cores_of(test: &str) -> &'static [&'static str] {
    match test {
        MEMORIES => &["cores/scratchpad"],
        MISHAPS => &["tests/cores/mishaps", "tests/cores/mishaps_other", "cores/scratchpad", "cores/loopback"],
        _ => &["cores/loopback"],
    }
}

/// What a run of `test` says of gateware with `line` of `file` replaced.
fn with_fault(test: &str, name: &str, file: &str, line: &str, instead: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let home = Folder(std::env::temp_dir().join(format!("towpath-planted-{}-{name}", std::process::id())));
    for folder in ["gateware", "contract/generated"].iter().chain(cores_of(test)) {
        copy(&root.join(folder), &home.0.join(folder));
    }
    let path = home.0.join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches(line).count(), 1, "{file} has changed: plant the fault \"{name}\" elsewhere");
    std::fs::write(&path, text.replace(line, instead)).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_copy_without_a_fault_is_good", "--nocapture"])
        .env("TOWPATH_HOME", &home.0)
        .env(CHILD, home.0.join(cores_of(test)[0]))
        .env(TEST, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{name}: {}", said.lines().filter(|line| line.starts_with("verdict")).collect::<Vec<_>>().join("\n"));
    said
}

/// The run over gateware with a fault, in the process whose TOWPATH_HOME holds it.
fn child(core: &str) {
    let mut seen = "nothing was noticed".to_string();
    let test = std::env::var(TEST).unwrap_or_default();
    for seed in 1..=4 {
        let outcome = match test.as_str() {
            STORMS => storm::run(&storm::Plan { core: core.into(), width: 128, endpoint: None, seed, faults: 150 }).map(drop),
            MISHAPS => mishaps::run(&format!("sim:{core}"), seed, 20).map(drop),
            MEMORIES => memories::run(&format!("sim:{core}?width=128"), false, seed, 60).map(drop),
            _ => run(&Plan { device: format!("sim:{core}"), vary: true, served: false, seed, transfers: 60 }).map(drop),
        };
        if let Err(what) = outcome {
            seen = format!("seed {seed}: {}", what.lines().next().unwrap_or_default());
            break;
        }
    }
    println!("\nverdict: {seen}");
}

fn verdict(said: &str) -> &str {
    said.lines().find_map(|line| line.strip_prefix("verdict: ")).unwrap_or_else(|| panic!("the run did not come to its end: {said}"))
}

#[test]
fn the_copy_without_a_fault_is_good() {
    if let Ok(core) = std::env::var(CHILD) {
        return child(&core);
    }
    let said = with_fault(STREAMS, "none", "gateware/dma/tp_h2c_stream.sv", "back_block <= now.oldest;", "back_block <= now.oldest;");
    assert_eq!(verdict(&said), "nothing was noticed");
}

/// The answer to a read lands in the landing RAM where another one's belongs.
#[test]
fn an_answer_in_the_place_of_another_is_noticed() {
    let (right, wrong) = ("want_place = {newest, used[PW-1:0]};", "want_place = {newest & ~BW'(1), used[PW-1:0]};");
    let said = with_fault(STREAMS, "place", "gateware/dma/tp_h2c.sv", right, wrong);
    assert!(verdict(&said).contains("should be"), "{}", verdict(&said));
}

/// A read that is given up leaves its tag free at once, though its answer may still come.
#[test]
fn a_quarantine_that_is_none_is_noticed() {
    let said = with_fault(
        STORMS,
        "quarantine",
        "gateware/dma/tp_landing.sv",
        "assign free_valid = c_valid && c_last && out && !c_overdue && !(c_ok && c_short) && !(known && bad);",
        "assign free_valid = c_valid && c_last && (known ? ends : out && !c_overdue && !(c_ok && c_short));",
    );
    assert!(verdict(&said).contains("is still in flight"), "{}", verdict(&said));
}

/// A completion's byte count is taken for what it says.
#[test]
fn a_byte_count_that_nobody_checks_is_noticed() {
    let said = with_fault(
        STORMS,
        "count",
        "gateware/dma/tp_landing.sv",
        "assign match = c_match && c_before == {1'b0, c_gone} && c_odd == c_gone[0];",
        "assign match = c_match;",
    );
    assert_ne!(verdict(&said), "nothing was noticed");
}

/// A write to a memory takes the bytes beside its own with it.
#[test]
fn a_write_of_bytes_that_nobody_wrote_is_noticed() {
    let (right, wrong) = ("state == MOVE ? strobes : state == TAIL", "state == MOVE ? {KEEP{1'b1}} : state == TAIL");
    let said = with_fault(MEMORIES, "strobes", "gateware/channel/memory/tp_memory_write.sv", right, wrong);
    // By a read of its own, or by one that was in flight beside others.
    assert!(["there is", "in flight from"].iter().any(|text| verdict(&said).contains(text)), "{}", verdict(&said));
}

/// A reset of a memory's channel does not wait for what the core still owes: that goes to the next read.
#[test]
fn an_answer_from_before_a_reset_is_noticed() {
    let (right, wrong) = ("if (waits || state != IDLE) state <= FORGET;", "state <= IDLE;");
    let said = with_fault(MISHAPS, "forget", "gateware/channel/memory/tp_memory_read.sv", right, wrong);
    assert_ne!(verdict(&said), "nothing was noticed");
}
