// SPDX-License-Identifier: Apache-2.0
//! `towpath files`: what a shell does with a card's files.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod common;
#[path = "common/optional.rs"]
mod optional;

use common::{done, pattern, Folder};
use std::process::Output;

fn main() {
    let lacks = lacks();
    let tests: [(&str, fn()); 8] = [
        ("streams_are_files", streams_are_files),
        ("a_memory_is_a_file_that_is_sought_in", a_memory_is_a_file_that_is_sought_in),
        ("a_script_that_was_written_for_xillybus", a_script_that_was_written_for_xillybus),
        ("a_file_of_both_directions_that_ends", a_file_of_both_directions_that_ends),
        ("files_that_are_polled", files_that_are_polled),
        ("a_program_by_vercolibs_names", a_program_by_vercolibs_names),
        ("files_that_end_while_a_program_polls", files_that_end_while_a_program_polls),
        ("a_folder_that_is_not_there", a_folder_that_is_not_there),
    ];
    optional::run(lacks.as_deref(), &tests);
}

/// Why no folder can be mounted here: the machine's reasons alone, for any other is a fault.
fn lacks() -> Option<String> {
    if std::fs::File::options().read(true).write(true).open("/dev/fuse").is_err() {
        return Some("/dev/fuse cannot be opened".into());
    }
    let folder = Folder::new();
    let output = done(&["files", folder.0.to_str().unwrap(), "--core", "loopback", "--", "true"], b"");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let refused = said.contains("mounting ") && (said.contains("Operation not permitted") || said.contains("fusermount"));
    refused.then(|| said.lines().last().unwrap_or_default().to_string())
}

/// Run a script whose `$0` is the folder of files and `$1` a scratch folder.
fn script(core: &[&str], text: &str) -> Output {
    let folder = Folder::new();
    let place = folder.0.join("files");
    std::fs::create_dir(&place).unwrap();
    let (place, scratch) = (place.to_str().unwrap(), folder.0.to_str().unwrap());
    std::fs::write(folder.0.join("data"), pattern(299_999, 7)).unwrap();
    let output = done(&[&["files", place, "--core"], core, &["--", "bash", "-euc", text, place, scratch]].concat(), b"");
    assert!(!std::fs::read_to_string("/proc/mounts").unwrap().contains(place), "it is mounted still");
    output
}

fn streams_are_files() {
    let text = r#"
        # Messages: the last close ends one, a read ends with one.
        { printf 'there '; printf 'and back'; } > $0/in & cat <(head -c 14 $0/out); echo; wait
        # The last bytes are no whole beat, so they come with the end; of whole beats the end may come by itself, and read as nothing.
        cat $1/data > $0/in & head -c 299999 $0/out | cmp - $1/data; wait
        dd if=$1/data of=$0/in bs=1000 count=3 oflag=direct status=none &
        # A message for each read, whatever it has room for.
        dd if=$0/out bs=64K count=3 status=none | wc -c; wait
        # Of a message that is open, all but a packet of the link comes when nothing more does.
        exec 3> $0/in; printf '%01000d' 1 >&3; dd if=$0/out bs=64K count=1 status=none > $1/some
        test $(stat -c %s $1/some) -gt 487; exec 3>&-; dd if=$0/out bs=64K count=1 status=none >> $1/some; printf '%01000d' 1 | cmp - $1/some
        # A second user, and the wrong direction.
        exec 3> $0/in; ! printf x > $0/in; ! cat $0/in; exec 3>&-
        # A signal ends a wait.
        timeout 0.3 cat $0/out || echo "ended by $?"
        ls $0
    "#;
    let output = script(&["loopback"], text);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect();
    assert_eq!(lines, ["there and back", "3000", "ended by 124", "in", "out"], "{said}");
    assert!(said.contains("Device or resource busy") && said.contains("Permission denied"), "{said}");
}

fn a_memory_is_a_file_that_is_sought_in() {
    let text = r#"
        dd if=$1/data of=$0/xillybus_ram bs=12345 seek=3 conv=notrunc status=none
        dd if=$0/xillybus_ram bs=12345 skip=3 count=24 status=none | cmp - <(head -c 296280 $1/data)
        stat -c %s $0/xillybus_ram; tail -c 3 $0/xillybus_ram | wc -c
        ! dd if=$1/data of=$0/xillybus_ram bs=4K seek=255 conv=notrunc status=none
        exit 9
    "#;
    let output = script(&["scratchpad", "--names", "xillybus"], text);
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1048576\n3\n", "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{output:?}");
}

fn a_script_that_was_written_for_xillybus() {
    let text = r#"
        # One window reads, another writes; what is typed comes at once.
        cat < $0/xillybus_read_8 > $1/got & reader=$!
        came() { for i in {1..600}; do test $(stat -c %s $1) -lt $2 || return 0; sleep 0.05; done; false; }
        head -c 6000 $1/data > $0/xillybus_write_8; came $1/got 6000; head -c 6000 $1/data | cmp - $1/got
        exec 3> $0/xillybus_write_8; printf typed >&3; came $1/got 6005; tail -c 5 $1/got; echo; exec 3>&-
        kill $reader; wait $reader || true
        # A part of a word waits for the rest, which a close forgets.
        exec 3> $0/xillybus_write_32; printf abcdef >&3; head -c 4 $0/xillybus_read_32; printf gh >&3; head -c 4 $0/xillybus_read_32; printf xyz >&3; exec 3>&-
        printf 1234 > $0/xillybus_write_32; head -c 4 $0/xillybus_read_32; echo
        # One read takes all that was written, over the ends that a rest of the core's makes.
        for n in 400 1600 2000; do head -c $n $1/data > $0/xillybus_write_32; dd if=$0/xillybus_read_32 bs=$n count=1 status=none | cmp - <(head -c $n $1/data); done
        printf ram | dd of=$0/xillybus_mem_8 bs=1 seek=5 conv=notrunc status=none; dd if=$0/xillybus_mem_8 bs=1 skip=5 count=3 status=none; echo
        ls $0
    "#;
    let output = script(&["xillybus_demo", "--names", "xillybus"], text);
    let files = "xillybus_mem_8\nxillybus_read_32\nxillybus_read_8\nxillybus_write_32\nxillybus_write_8\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("typed\nabcdefgh1234\nram\n{files}"), "{output:?}");
    assert!(output.status.success(), "{output:?}");
}

fn a_file_of_both_directions_that_ends() {
    // Words of 16 bit come back, and FFFF ends the file.
    let core = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cores/xillybus_ends");
    let text = r#"
        exec 3> $0/xillybus_both; printf 'abcdefgh\377\377ijkl\377\377' >&3
        cat $0/xillybus_both; echo; cat $0/xillybus_both; echo
        # A second writer, and a reader beside the writer.
        ! printf xy > $0/xillybus_both || false; printf mn >&3; head -c 2 $0/xillybus_both; echo; exec 3>&-
        # One descriptor for both.
        exec 4<> $0/xillybus_both; printf opqr >&4; head -c 4 <&4; echo; exec 4>&-
        # A fault has one number, and a read that the core never answers ends by a signal; others go on.
        ! printf 1234 | dd of=$0/xillybus_table conv=notrunc status=none || false
        timeout 0.3 dd if=$0/xillybus_table bs=8 skip=511 count=1 status=none && false || test $? = 124
        $1/polling both $seed
        stat -c %a $0/xillybus_both; ls $0
    "#;
    let output = polling(&[core, "--names", "xillybus"], text);
    let files = "xillybus_both\nxillybus_table\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("abcdefgh\nijkl\nmn\nopqr\nright\n600\n{files}"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Input/output error"), "{output:?}");
    assert!(output.status.success(), "{output:?}");
}

/// The program of `polling.c` in the folder of the files, after what prepares it.
fn polling(core: &[&str], steps: &str) -> Output {
    let seed = std::env::var("TOWPATH_SEED").ok().unwrap_or_else(|| std::process::id().to_string());
    println!("    TOWPATH_SEED={seed}");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/polling.c");
    script(core, &format!("cc -Wall -Wextra -pthread -o $1/polling {program}; seed={seed}; cd $0\n{steps}"))
}

fn files_that_are_polled() {
    let output = polling(&["loopback"], "$1/polling steps $seed; $1/polling threads $seed");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "right\nright\n", "{output:?}");
}

fn a_program_by_vercolibs_names() {
    let output =
        polling(&["loopback", "--names", "vercolib"], "ls; $1/polling reset $seed; $1/polling levels $seed; $1/polling edges $seed");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "vcl_0\nvcl_0_rx_0\nvcl_0_tx_0\nright\nright\nright\n", "{output:?}");
}

fn files_that_end_while_a_program_polls() {
    // It outlives the script, at whose end the files end.
    let steps = r#"{ WAITS=$1/waits $1/polling hangup $seed; echo ended $?; } & while ! test -e $1/waits; do sleep 0.05; done"#;
    let output = polling(&["loopback"], steps);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ended 0\n", "{output:?}");
}

fn a_folder_that_is_not_there() {
    let output = done(&["files", "/no/such/folder", "--core", "loopback"], b"");
    assert!(output.status.code() == Some(7) && String::from_utf8_lossy(&output.stderr).contains("mkdir /no/such/folder"), "{output:?}");
}
