// SPDX-License-Identifier: Apache-2.0
//! `new`: a folder with a core to start from, or with what a core needs that somebody else wrote.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use serde_json::json;

use crate::args::{Cli, New};
use crate::exit::{Failure, Result, CORE, FILE, USAGE};
use crate::output;
use towpath_cores::{draft_with, Direction, Draft, DraftRegister, DraftStream, MANIFEST};

/// A core to start from: what comes in goes out, and a register counts it.
const FIRST: &str = include_str!("new/first.sv");

pub fn new(cli: &Cli, what: &New) -> Result {
    let fresh = !what.folder.exists();
    let made = filled(what);
    if made.is_err() && fresh {
        // It has nothing in it.
        let _ = std::fs::remove_dir(&what.folder);
    }
    let (made, names) = made?;
    let folder = &what.folder;
    let mut text = format!("{}: {}\n", folder.display(), names.join(", "));
    for line in &made.undecided {
        let _ = writeln!(text, "  to decide: {line}");
    }
    let host = folder.join("host.py");
    let _ = writeln!(text, "Run it: towpath run --core {} -- python3 {}", quoted(folder), quoted(&host));
    output::answer(cli, &json!({ "folder": folder, "files": names, "undecided": made.undecided }), &text)
}

/// Write the files. Returns what they were made from, and their names.
fn filled(what: &New) -> Result<(Draft, Vec<String>)> {
    let folder = &what.folder;
    let failed = |action: &str, path: &Path, e: &std::io::Error| Failure::file(action, &path.display().to_string(), e);
    let there =
        |name: &str| Failure::new(FILE, format!("{} is there already: choose another folder, or remove it", folder.join(name).display()));
    if folder.join(MANIFEST).exists() {
        return Err(there(MANIFEST));
    }
    std::fs::create_dir_all(folder).map_err(|e| failed("making", folder, &e))?;
    let (made, source) = match &what.top {
        Some(top) => {
            let sources = what.sources.iter().map(|source| relative(source, folder).map_err(|e| failed("finding", source, &e)));
            let sources = sources.collect::<Result<Vec<PathBuf>>>()?;
            let say = |line: &str| output::eprintln_lossy(line);
            let made = draft_with(folder, &sources, top, &what.parameters, what.registers.as_deref(), Some(&say));
            (made.map_err(|e| Failure::new(CORE, e))?, None)
        }
        None => {
            let name = std::path::absolute(folder).ok().and_then(|path| Some(path.file_name()?.to_str()?.to_string()));
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let fits = |name: &String| name.len() <= 31 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(fits);
            let Some(name) = name.filter(fits) else {
                let rule = "a core's name begins with a letter and has letters, digits and underscores, 31 at most";
                return Err(Failure::new(USAGE, format!("{}: {rule}: choose another folder", folder.display())));
            };
            (first(&name), Some((format!("{name}.sv"), FIRST.replace("module first ", &format!("module {name} ")))))
        }
    };
    let mut files = vec![(MANIFEST.to_string(), made.manifest.clone())];
    files.extend(source);
    files.push(("host.py".into(), python(&made)));
    files.push(("host.c".into(), c(&made)));
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).exists()) {
        return Err(there(name));
    }
    for (name, text) in &files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| failed("writing", &path, &e))?;
    }
    Ok((made, files.into_iter().map(|(name, _)| name).collect()))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+,:@%".contains(c);
    if text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A path as it is seen from another folder.
fn relative(path: &Path, from: &Path) -> std::io::Result<PathBuf> {
    let (path, from) = (path.canonicalize()?, from.canonicalize()?);
    let same = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    Ok(up.chain(path.components().skip(same)).collect())
}

fn first(name: &str) -> Draft {
    let manifest = format!(
        "[core]\nname = \"{name}\"\nversion = 1\ntop = \"{name}\"\nsources = [\"{name}.sv\"]\nwidth = 128\n\n\
         [[channel]]\nname = \"in\"\ndirection = \"h2c\"\n\n[[channel]]\nname = \"out\"\ndirection = \"c2h\"\n\n\
         [registers]\nbytes = 4096\n[registers.names]\nbeats = 0x0\nflip = 0x4\n"
    );
    let stream = |name: &str, direction| DraftStream { name: name.into(), direction, ends: true, riffa: false };
    let streams = vec![stream("in", Direction::H2c), stream("out", Direction::C2h)];
    Draft { manifest, streams, registers: true, ..Draft::default() }
}

/// Streams of a direction.
fn of(made: &Draft, direction: Direction) -> impl Iterator<Item = &DraftStream> {
    made.streams.iter().filter(move |stream| stream.direction == direction)
}

const BYTES: u32 = 64;

fn python(made: &Draft) -> String {
    let mut text = String::from(
        "#!/usr/bin/env python3\n\"\"\"A first program for this core: python3 host.py [DEVICE], or towpath run --core FOLDER -- python3 host.py\"\"\"\n\n\
         import sys\n\nimport towpath\n\nwith towpath.open(*sys.argv[1:2]) as card:\n    print(card)\n",
    );
    if made.registers {
        text.push_str("    print(\"register 0 is\", card.registers[0])\n");
    }
    for name in &made.memories {
        let _ =
            writeln!(text, "    card.memory[\"{name}\"][0:16] = bytes(range(16))\n    print(\"{name}:\", card.memory[\"{name}\"][0:16])");
    }
    for (number, register) in made.wires.iter().filter(|register| register.input).enumerate() {
        // A setting has its own meaning; an argument is a number.
        let (mark, value) = if made.control { ("", argument(made, register, number)) } else { ("# ", 0) };
        let _ = writeln!(text, "    {mark}card.registers[{:#x}] = {value}  # {}", register.offset, register.name);
    }
    if made.control {
        text.push_str("    card.registers[0] = 1  # start\n");
    }
    for stream in of(made, Direction::H2c) {
        let _ = match stream.riffa {
            // One transaction, the last one of its chain.
            true => {
                writeln!(text, "    ticket_{0} = card.submit_send(\"{0}\", bytes(range({BYTES})), length={BYTES}, user=1)", stream.name)
            }
            false => writeln!(text, "    ticket_{0} = card[\"{0}\"].submit_send(bytes(range({BYTES})))", stream.name),
        };
    }
    for stream in of(made, Direction::C2h) {
        let name = &stream.name;
        if stream.riffa {
            let _ = writeln!(text, "    print(\"{name}:\", card.recv(\"{name}\"))");
        } else if stream.ends {
            let _ = writeln!(text, "    print(\"{name}:\", card[\"{name}\"].recv())");
        } else {
            let _ = writeln!(
                text,
                "    bytes_{name} = bytearray({BYTES})\n    card[\"{name}\"].recv_into(bytes_{name})\n    print(\"{name}:\", bytes(bytes_{name}))"
            );
        }
    }
    for stream in of(made, Direction::H2c) {
        let _ = writeln!(text, "    ticket_{}.wait()", stream.name);
    }
    if made.control {
        text.push_str("    while not card.registers[0] & 2:  # done\n        pass\n");
    }
    for register in made.wires.iter().filter(|register| !register.input) {
        let _ = writeln!(text, "    print(\"{}:\", card.registers[{:#x}])", register.name, register.offset);
    }
    if made.chain {
        text.push_str("    card.registers[0] = 16  # go on\n");
    }
    text
}

/// What the first program gives an input: a number, or the beginning of a memory that the core reads and writes as a master.
fn argument(made: &Draft, register: &DraftRegister, number: usize) -> usize {
    let address = register.bits > 32 && !made.memories.is_empty();
    if address {
        0
    } else {
        number + 1
    }
}

fn c(made: &Draft) -> String {
    let mut text = String::from(
        "// A first program for this core: cc host.c $(pkg-config --cflags --libs towpath) -o host, then ./host [DEVICE]\n\
         #include <stdio.h>\n#include <stdlib.h>\n#include <towpath.h>\n\n\
         static void check(towpath_status status) {\n    if (status == TOWPATH_OK) return;\n    \
         fprintf(stderr, \"%s\\n\", towpath_last_error());\n    exit(1);\n}\n\n\
         int main(int count, char **words) {\n    towpath_device *card;\n    \
         check(towpath_open(count > 1 ? words[1] : NULL, NULL, &card));\n",
    );
    if made.registers || !made.wires.is_empty() || made.control {
        text.push_str(
            "    uint32_t value;\n    check(towpath_read_register(card, 0, &value));\n    printf(\"register 0 is %u\\n\", (unsigned)value);\n",
        );
    }
    for stream in &made.streams {
        let way = if stream.direction == Direction::H2c { "TOWPATH_H2C" } else { "TOWPATH_C2H" };
        let (name, channel) = (&stream.name, channel(stream));
        let _ =
            writeln!(text, "    towpath_channel *{channel};\n    check(towpath_open_channel(card, \"{name}\", {way}, NULL, &{channel}));");
    }
    if !made.streams.is_empty() {
        let _ = writeln!(text, "    unsigned char bytes[{BYTES}];");
    }
    if of(made, Direction::H2c).any(|stream| stream.riffa) {
        let fields = "{.size = sizeof whole, .flags = TOWPATH_LENGTH, .length = sizeof bytes, .user = 1}";
        let _ = writeln!(text, "    // One transaction, the last one of its chain.\n    towpath_message whole = {fields};");
    }
    for (number, register) in made.wires.iter().filter(|register| register.input && made.control).enumerate() {
        let (name, offset) = (&register.name, register.offset);
        let value = argument(made, register, number);
        let _ = writeln!(text, "    check(towpath_write_register(card, {offset:#x}, {value}));  // {name}");
    }
    if made.control {
        text.push_str("    check(towpath_write_register(card, 0, 1));  // start\n");
    }
    for stream in of(made, Direction::H2c) {
        let message = if stream.riffa { "&whole" } else { "NULL" };
        let _ = writeln!(
            text,
            "    for (int i = 0; i < {BYTES}; i++) bytes[i] = (unsigned char)i;\n    check(towpath_send({}, bytes, sizeof bytes, {message}, NULL));",
            channel(stream)
        );
    }
    for stream in of(made, Direction::C2h) {
        let channel = channel(stream);
        let _ = writeln!(
            text,
            "    towpath_received received_{channel} = {{.size = sizeof received_{channel}}};\n    \
             check(towpath_recv({channel}, bytes, sizeof bytes, &received_{channel}));\n    \
             printf(\"{}: %llu bytes\\n\", (unsigned long long)received_{channel}.bytes);",
            stream.name
        );
    }
    if made.control {
        text.push_str("    do check(towpath_read_register(card, 0, &value));\n    while (!(value & 2));  // done\n");
    }
    for register in made.wires.iter().filter(|register| !register.input) {
        let (name, offset) = (&register.name, register.offset);
        let _ = writeln!(
            text,
            "    check(towpath_read_register(card, {offset:#x}, &value));\n    printf(\"{name} is %u\\n\", (unsigned)value);"
        );
    }
    if made.chain {
        text.push_str("    check(towpath_write_register(card, 0, 16));  // go on\n");
    }
    for stream in &made.streams {
        let _ = writeln!(text, "    towpath_close_channel({});", channel(stream));
    }
    text.push_str("    towpath_close(card);\n    return 0;\n}\n");
    text
}

/// A channel's variable: its name may be a word of C, and the other direction's as well.
fn channel(stream: &DraftStream) -> String {
    let way = match (stream.riffa, stream.direction) {
        (false, _) => "",
        (true, Direction::H2c) => "_to_card",
        (true, Direction::C2h) => "_from_card",
    };
    format!("{}{way}_channel", stream.name)
}
