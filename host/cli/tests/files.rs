// SPDX-License-Identifier: Apache-2.0
//! `towpath files`: what a shell does with a card's files.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{done, pattern, Folder};
use std::process::Output;

/// Run a script whose `$0` is the folder of files and `$1` a scratch folder.
fn script(core: &[&str], text: &str) -> Option<(Folder, Output)> {
    if std::fs::File::options().read(true).write(true).open("/dev/fuse").is_err() {
        println!("skipped: /dev/fuse cannot be opened here");
        return None;
    }
    let folder = Folder::new();
    let place = folder.0.join("files");
    std::fs::create_dir(&place).unwrap();
    let (place, scratch) = (place.to_str().unwrap(), folder.0.to_str().unwrap());
    std::fs::write(folder.0.join("data"), pattern(299_999, 7)).unwrap();
    let output = done(&[&["files", place, "--core"], core, &["--", "bash", "-euc", text, place, scratch]].concat(), b"");
    if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("Operation not permitted") {
        println!("skipped: this machine does not let its users mount");
        return None;
    }
    assert!(!std::fs::read_to_string("/proc/mounts").unwrap().contains(place), "it is mounted still");
    Some((folder, output))
}

#[test]
fn streams_are_files() {
    let text = r#"
        # Messages: the last close ends one, a read ends with one.
        { printf 'there '; printf 'and back'; } > $0/in & cat <(head -c 14 $0/out); echo; wait
        # The last bytes are no whole beat, so they come with the end; of whole beats the end may come by itself, and read as nothing.
        cat $1/data > $0/in & head -c 299999 $0/out | cmp - $1/data; wait
        dd if=$1/data of=$0/in bs=1000 count=3 oflag=direct status=none &
        # A message for each read, whatever it has room for.
        dd if=$0/out bs=64K count=3 status=none | wc -c; wait
        # A second user, and the wrong direction.
        exec 3> $0/in; ! printf x > $0/in; ! cat $0/in; exec 3>&-
        # A signal ends a wait.
        timeout 0.3 cat $0/out || echo "ended by $?"
        ls $0
    "#;
    let Some((_folder, output)) = script(&["loopback"], text) else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect();
    assert_eq!(lines, ["there and back", "3000", "ended by 124", "in", "out"], "{said}");
    assert!(said.contains("Device or resource busy") && said.contains("Permission denied"), "{said}");
}

#[test]
fn a_memory_is_a_file_that_is_sought_in() {
    let text = r#"
        dd if=$1/data of=$0/xillybus_ram bs=12345 seek=3 conv=notrunc status=none
        dd if=$0/xillybus_ram bs=12345 skip=3 count=24 status=none | cmp - <(head -c 296280 $1/data)
        stat -c %s $0/xillybus_ram; tail -c 3 $0/xillybus_ram | wc -c
        ! dd if=$1/data of=$0/xillybus_ram bs=4K seek=255 conv=notrunc status=none
        exit 9
    "#;
    let Some((_folder, output)) = script(&["scratchpad", "--names", "xillybus"], text) else { return };
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1048576\n3\n", "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{output:?}");
}

#[test]
fn a_folder_that_is_not_there() {
    let output = done(&["files", "/no/such/folder", "--core", "loopback"], b"");
    assert!(output.status.code() == Some(7) && String::from_utf8_lossy(&output.stderr).contains("mkdir /no/such/folder"), "{output:?}");
}
