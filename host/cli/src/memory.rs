// SPDX-License-Identifier: Apache-2.0
//! `mem`: the user core's memories.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{json, Value};
use towpath::Memory;

use crate::args::{Bytes, Cli, From, Mem, Patience, Pattern, Work};
use crate::exit::{Failure, Result, TRANSFER, USAGE};
use crate::output;
use crate::registers::write_all;
use crate::streams::{Sink, Source};
use crate::transfer::patience;

/// Bytes moved at once.
const BLOCK: usize = 1 << 20;
/// Bytes in a line of `dump`.
const LINE: usize = 16;

pub fn mem(cli: &Cli, what: &Mem) -> Result {
    let (place, length, wait) = match &what.work {
        Work::Read { place, wait, .. } | Work::Dump { place, wait } | Work::Fill { place, wait, .. } => (&place.from, place.length, wait),
        Work::Write { place, wait, .. } | Work::Compare { place, wait, .. } => (place, 0, wait),
    };
    let card = crate::device::open(cli, &what.core)?;
    let memory = open(&card.device, place, length, wait)?;
    write_all(&card, &wait.writes)?;
    let start = card.device.now_ns();
    let done = match &what.work {
        Work::Read { place, file, window, .. } => return read(cli, &memory, place, file.as_deref(), *window),
        Work::Dump { place, .. } => return dump(cli, &memory, place),
        Work::Write { place, file, window, .. } => write(&memory, place, file.as_ref(), *window)?,
        Work::Fill { place, pattern, .. } => fill(&memory, place, pattern)?,
        Work::Compare { place, file, .. } => compare(cli, &memory, place, file.as_ref())?,
    };
    let nanoseconds = card.device.now_ns() - start;
    let value = json!({"memory": memory.name(), "address": place.address, "bytes": done, "nanoseconds": nanoseconds});
    output::answer(cli, &value, "")
}

/// Open a memory, and refuse a range that is not in it before anything moves.
fn open(device: &towpath::Device, place: &From, length: u64, wait: &Patience) -> Result<Memory> {
    let memory = device.memory(&place.memory)?;
    memory.set_timeout(patience(wait.timeout));
    within(&memory, place.address, length)?;
    Ok(memory)
}

fn within(memory: &Memory, address: u64, length: u64) -> Result {
    if address.checked_add(length).is_some_and(|end| end <= memory.len()) {
        return Ok(());
    }
    let (name, all) = (memory.name(), memory.len());
    let what = format!("memory \"{name}\" has {all:#x} bytes: {length:#x} bytes at address {address:#x} are not in it");
    Err(Failure::new(USAGE, what))
}

fn context(error: towpath::Error, moved: u64) -> Failure {
    let failure = Failure::from(error);
    if moved > 0 {
        failure.context(format!("after {moved} bytes"))
    } else {
        failure
    }
}

/// The range in blocks: address and length of each.
fn blocks(place: &Bytes) -> impl Iterator<Item = (u64, usize)> {
    let (from, end) = (place.from.address, place.from.address + place.length);
    (from..end).step_by(BLOCK).map(move |at| (at, BLOCK.min(usize::try_from(end - at).unwrap_or(BLOCK))))
}

fn read(cli: &Cli, memory: &Memory, place: &Bytes, file: Option<&Path>, by_window: bool) -> Result {
    let window = by_window.then(|| memory.window()).transpose()?;
    let mut sink = Sink::create(file)?;
    let mut block = vec![0; BLOCK];
    let start = memory.device().now_ns();
    for (at, length) in blocks(place) {
        let read = match &window {
            Some(window) => window.read_at(&mut block[..length], at),
            None => memory.read_at(&mut block[..length], at),
        };
        read.map_err(|error| context(error, at - place.from.address))?;
        sink.write(&block[..length])?;
    }
    sink.finish()?;
    let nanoseconds = memory.device().now_ns() - start;
    let value = json!({"memory": memory.name(), "address": place.from.address, "bytes": place.length, "nanoseconds": nanoseconds});
    match (cli.json, sink.is_standard_output) {
        (false, _) => {}
        (true, true) => output::aside(cli, &value, ""),
        (true, false) => return output::answer(cli, &value, ""),
    }
    Ok(())
}

/// One line, as xxd(1) prints it.
fn line(address: u64, bytes: &[u8]) -> String {
    let mut text = format!("{address:08x}: ");
    for at in 0..LINE {
        let _ = match bytes.get(at) {
            Some(byte) => write!(text, "{byte:02x}"),
            None => write!(text, "  "),
        };
        if at % 2 == 1 {
            text.push(' ');
        }
    }
    text.push(' ');
    text.extend(bytes.iter().map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' }));
    text.push('\n');
    text
}

fn dump(cli: &Cli, memory: &Memory, place: &Bytes) -> Result {
    let mut block = vec![0; BLOCK];
    let mut all = String::new();
    for (at, length) in blocks(place) {
        memory.read_at(&mut block[..length], at).map_err(|error| context(error, at - place.from.address))?;
        if cli.json {
            all.extend(block[..length].iter().map(|byte| format!("{byte:02x}")));
        } else {
            let lines = (at..).step_by(LINE).zip(block[..length].chunks(LINE));
            output::print(&lines.map(|(address, bytes)| line(address, bytes)).collect::<String>())?;
        }
    }
    if cli.json {
        return output::answer(cli, &json!({"memory": memory.name(), "address": place.from.address, "hex": all}), "");
    }
    Ok(())
}

/// What is to be written, or compared: if its length is known beforehand it must fit.
fn source(memory: &Memory, place: &From, file: Option<&PathBuf>) -> Result<Source> {
    let source = Source::open(file.map_or(&[][..], std::slice::from_ref))?;
    within(memory, place.address, source.total.unwrap_or(0))?;
    Ok(source)
}

fn write(memory: &Memory, place: &From, file: Option<&PathBuf>, by_window: bool) -> Result<u64> {
    let window = by_window.then(|| memory.window()).transpose()?;
    let mut source = source(memory, place, file)?;
    let (mut block, mut moved) = (vec![0; BLOCK], 0);
    loop {
        let length = source.fill(&mut block)?;
        if length == 0 {
            return Ok(moved);
        }
        let written = match &window {
            Some(window) => window.write_at(&block[..length], place.address + moved).and_then(|()| window.flush()),
            None => memory.write_at(&block[..length], place.address + moved),
        };
        written.map_err(|error| context(error, moved))?;
        moved += length as u64;
    }
}

fn fill(memory: &Memory, place: &Bytes, Pattern(pattern): &Pattern) -> Result<u64> {
    // Blocks begin where the pattern begins: they are as long as many whole ones, and the last one is cut.
    let repeats = BLOCK.div_ceil(pattern.len());
    let block = pattern.repeat(repeats);
    let mut moved = 0;
    while moved < place.length {
        let length = block.len().min(usize::try_from(place.length - moved).unwrap_or(block.len()));
        memory.write_at(&block[..length], place.from.address + moved).map_err(|error| context(error, moved))?;
        moved += length as u64;
    }
    Ok(moved)
}

fn compare(cli: &Cli, memory: &Memory, place: &From, file: Option<&PathBuf>) -> Result<u64> {
    let mut source = source(memory, place, file)?;
    let (mut wanted, mut found, mut moved) = (vec![0; BLOCK], vec![0; BLOCK], 0);
    loop {
        let length = source.fill(&mut wanted)?;
        if length == 0 {
            return Ok(moved);
        }
        memory.read_at(&mut found[..length], place.address + moved).map_err(|error| context(error, moved))?;
        if let Some(at) = (0..length).find(|at| wanted[*at] != found[*at]) {
            let address = place.address + moved + at as u64;
            if cli.json {
                let value: Value = json!({"memory": memory.name(), "address": address, "found": found[at], "wanted": wanted[at]});
                output::answer(cli, &value, "")?;
            }
            let (name, found, wanted) = (memory.name(), found[at], wanted[at]);
            let what = format!("memory \"{name}\" differs at address {address:#x}: it has {found:#04x} there, not {wanted:#04x}");
            return Err(Failure::new(TRANSFER, what));
        }
        moved += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn lines_are_those_of_xxd() {
        assert_eq!(line(0, b"\x7fELF\x02\x01\x01\x00 abcdefg"), "00000000: 7f45 4c46 0201 0100 2061 6263 6465 6667  .ELF.... abcdefg\n");
        assert_eq!(line(0x1_2345_6780, b"hello"), "123456780: 6865 6c6c 6f                             hello\n");
    }
}
