// SPDX-License-Identifier: Apache-2.0
//! `trace`: shows what a simulated card's link carried, from the file that the simulation wrote.

mod decode;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};

use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::args::{Cli, Trace};
use crate::exit::{Failure, Result, USAGE};
use crate::output;
use decode::Decoder;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A descriptor, with the write that commits it
    Descriptor,
    /// A completion entry of the card's, or a message's start
    Completion,
    /// An interrupt
    Interrupt,
    /// Another doorbell: a descriptor's first part, arm, cancel, lead
    Doorbell,
    /// An inline slot's bytes
    Inline,
    /// An access to the card's or the user core's registers
    Register,
    /// What is moved: the card's reads and writes of memory, and the answers
    Data,
}

pub fn trace(cli: &Cli, what: &Trace) -> Result {
    let name = what.file.display().to_string();
    let failed = |error: io::Error| Failure::file("reading", &name, &error);
    let mut lines = BufReader::new(File::open(&what.file).map_err(|e| Failure::file("opening", &name, &e))?).lines();
    // A file of anything may not even be text.
    let first = lines.next().and_then(io::Result::ok).and_then(|line| serde_json::from_str::<Value>(&line).ok());
    match first.as_ref().and_then(|first| first["towpath_packets"].as_u64()) {
        Some(1) => (),
        Some(version) => return Err(Failure::new(USAGE, format!("{name}: of version {version}; this program reads version 1"))),
        None => return Err(Failure::new(USAGE, format!("{name}: no record of packets; towpath run --packets FILE writes one"))),
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let mut decoder = Decoder::default();
    let mut cut = false;
    for line in lines {
        // The last line of a program that was killed may be part of one.
        let Ok(Value::Object(packet)) = serde_json::from_str(&line.map_err(failed)?) else {
            cut = true;
            break;
        };
        let seen = decoder.packet(&packet);
        if !what.only.is_empty() && !what.only.contains(&seen.kind) {
            continue;
        }
        if let Some(wanted) = &what.channel {
            if !seen.channel.is_some_and(|channel| decoder.is_called(channel, wanted)) {
                continue;
            }
        }
        let channel = seen.channel.map(|channel| decoder.name(channel));
        let text = if cli.json { object(packet, seen, channel) } else { line_of(&packet, &seen, channel) };
        match writeln!(out, "{text}") {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()), // the reader has closed the pipe
            done => done.map_err(|e| Failure::file("writing", "standard output", &e))?,
        }
    }
    match out.flush() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(Failure::file("writing", "standard output", &error)),
        _ => (),
    }
    if cut {
        output::eprintln_lossy(&format!("towpath: {name}: it ends in the middle of a packet: the program was stopped"));
    }
    Ok(())
}

/// The packet as it stands in the file, and what it means.
fn object(mut packet: Map<String, Value>, seen: decode::Seen, channel: Option<String>) -> String {
    packet.insert("kind".into(), seen.kind.to_possible_value().map(|kind| kind.get_name().to_string()).into());
    if let Some(channel) = channel {
        packet.insert("channel".into(), channel.into());
    }
    packet.extend(seen.fields);
    Value::Object(packet).to_string()
}

/// Time in nanoseconds, direction, packet, what it is for.
fn line_of(packet: &Map<String, Value>, seen: &decode::Seen, channel: Option<String>) -> String {
    let number = |key: &str| packet.get(key).and_then(Value::as_u64);
    let ps = number("ps").unwrap_or(0);
    let arrow = if packet.get("to").and_then(Value::as_str) == Some("card") { "->" } else { "<-" };
    let what = packet.get("packet").and_then(Value::as_str).unwrap_or("?");
    let place = match (number("bar"), number("offset"), number("address"), number("tag")) {
        (Some(bar), Some(offset), ..) => format!("BAR {bar} +{offset:#x}"),
        (_, _, Some(address), Some(tag)) => format!("{address:#x} tag {tag}"),
        (_, _, Some(address), None) => format!("{address:#x}"),
        (.., Some(tag)) => format!("tag {tag}"),
        _ => String::new(),
    };
    let bytes = number("bytes").map_or(String::new(), |bytes| bytes.to_string());
    let means = match channel {
        Some(channel) => format!("{channel}: {}", seen.text),
        None => seen.text.clone(),
    };
    let class = number("class").map_or(String::new(), |class| format!(", class {class}"));
    let text = format!("{:>10}.{:03} {arrow} {what:<10} {place:<24} {bytes:>5}  {means}{class}", ps / 1000, ps % 1000);
    // The file may have come from anywhere, and this goes to a terminal.
    text.trim_end().chars().filter(|c| !c.is_control()).collect()
}
