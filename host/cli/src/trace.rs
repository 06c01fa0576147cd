// SPDX-License-Identifier: Apache-2.0
//! `trace`: shows what a card's link carried, from the file that a simulation wrote, or from the log on the card.

mod decode;
mod html;
mod story;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::Path;

use clap::ValueEnum;
use serde_json::{json, Map, Value};
use towpath::{TlpEntry, TlpLog};

use crate::args::{Cli, Trace};
use crate::exit::{Failure, Result, NOT_FOUND, USAGE};
use crate::output;
use decode::Decoder;
use story::Story;

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
    /// Clocks at a stream of the user core
    Beats,
}

impl Kind {
    /// In the order of their numbers.
    const ALL: &[Kind] =
        &[Kind::Descriptor, Kind::Completion, Kind::Interrupt, Kind::Doorbell, Kind::Inline, Kind::Register, Kind::Data, Kind::Beats];

    /// As the user types it.
    fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |kind| kind.get_name().into())
    }
}

pub fn trace(cli: &Cli, what: &Trace) -> Result {
    match &what.file {
        Some(file) => recorded(cli, what, file),
        None => logged(cli, what),
    }
}

/// From a file.
fn recorded(cli: &Cli, what: &Trace, file: &Path) -> Result {
    let name = file.display().to_string();
    let failed = |error: io::Error| Failure::file("reading", &name, &error);
    let mut lines = BufReader::new(File::open(file).map_err(|e| Failure::file("opening", &name, &e))?).lines();
    // A file of anything may not even be text.
    let first = lines.next().and_then(io::Result::ok).and_then(|line| serde_json::from_str::<Value>(&line).ok());
    match first.as_ref().and_then(|first| first["towpath_packets"].as_u64()) {
        Some(1) => (),
        Some(version) => return Err(Failure::new(USAGE, format!("{name}: of version {version}; this program reads version 1"))),
        None => return Err(Failure::new(USAGE, format!("{name}: no record of packets; towpath run --packets FILE writes one"))),
    }
    let mut cut = false;
    let packets = lines.map_while(|line| match line.map(|line| serde_json::from_str(&line)) {
        Err(error) => Some(Err(failed(error))),
        Ok(Ok(Value::Object(packet))) => Some(Ok(packet)),
        // The last line of a program that was killed may be part of one.
        Ok(_) => {
            cut = true;
            None
        }
    });
    show(cli, what, Decoder::default(), &first.unwrap_or_default(), packets)?;
    if cut {
        output::eprintln_lossy(&format!("towpath: {name}: it ends in the middle of a packet: the program was stopped"));
    }
    Ok(())
}

/// From a card's own log.
fn logged(cli: &Cli, what: &Trace) -> Result {
    let card = crate::device::open(cli, &what.core)?;
    let plugin = card.device.plugin(TlpLog::TYPE).map_err(|error| {
        let how = "a core's manifest asks for one; of a simulation towpath run --packets FILE makes a record";
        Failure::new(NOT_FOUND, format!("{error}; {how}"))
    })?;
    let log = TlpLog::new(plugin)?;
    if what.start {
        log.start()?;
    }
    if what.stop {
        log.stop()?;
    }
    let mut packets = log.entries().collect::<towpath::Result<Vec<_>>>()?;
    let counts = log.counts()?;
    if what.clear {
        log.clear()?;
    }
    packets.sort_by_key(|packet| packet.time_ps);
    let head = json!({"device": card.device.info().name});
    show(cli, what, Decoder::of(card.device.info()), &head, packets.iter().map(|packet| Ok(packet_of(packet))))?;
    let lost = [(counts.overwritten, "older ones were overwritten"), (counts.dropped.into(), "came faster than the log takes them")];
    for (number, why) in lost.into_iter().filter(|(number, _)| *number > 0) {
        output::eprintln_lossy(&format!("towpath: {number} packets are not in the log: {why}"));
    }
    Ok(())
}

/// A packet of a card's log, as a simulation would have recorded it. Of the payload only the first dword is known: `first`, unless that is all.
fn packet_of(entry: &TlpEntry) -> Map<String, Value> {
    let (from, bytes) = entry.extent();
    let (_, kind) = entry.stream.name().split_once('_').unwrap_or_default();
    let mut packet = Map::new();
    let mut set = |key: &str, value: Value| packet.insert(key.into(), value);
    set("ps", entry.time_ps.into());
    set("to", if entry.is_to_card() { "card" } else { "host" }.into());
    set("packet", kind.into());
    match (entry.outcome(), entry.bar) {
        (Some(outcome), _) => {
            set("status", outcome.into());
        }
        (None, Some(bar)) => {
            set("bar", bar.into());
            set("offset", from.into());
        }
        (None, None) => {
            set("address", from.into());
        }
    }
    if !entry.is_to_card() && kind == "write" {
        set("relaxed", (entry.attributes & 2 != 0).into());
    }
    set("bytes", bytes.into());
    if let Some(tag) = entry.tag {
        set("tag", tag.into());
    }
    if entry.traffic_class != 0 {
        set("class", entry.traffic_class.into());
    }
    let known = entry.first_bytes();
    if !known.is_empty() {
        let digits: String = known.iter().map(|byte| format!("{byte:02x}")).collect();
        set(if known.len() == bytes as usize { "data" } else { "first" }, digits.into());
    }
    if entry.is_after_loss {
        set("after_loss", true.into());
    }
    packet
}

/// Reads of discovery, one line in place of many.
#[derive(Default)]
struct Folded {
    packets: u64,
    from: u64,
    to: u64,
}

/// A line for each packet that is wanted, or all of them on a page.
fn show(cli: &Cli, what: &Trace, mut decoder: Decoder, head: &Value, packets: impl Iterator<Item = Result<Map<String, Value>>>) -> Result {
    if let Some(file) = &what.html {
        let mut story = Story::default();
        for packet in packets {
            let packet = packet?;
            let seen = decoder.packet(&packet);
            story.packet(&packet, &seen, &decoder);
        }
        return html::write(file, head, &story, &decoder);
    }
    let mut out = Lines { out: BufWriter::new(io::stdout().lock()), headed: cli.json, closed: false };
    let mut folded = Folded::default();
    for packet in packets {
        let packet = packet?;
        let seen = decoder.packet(&packet);
        if !what.only.is_empty() && !what.only.contains(&seen.kind) {
            continue;
        }
        if let Some(wanted) = &what.channel {
            if !seen.channel.is_some_and(|channel| decoder.is_called(channel, wanted)) {
                continue;
            }
        }
        if seen.is_discovery && !cli.json && !what.discovery {
            folded.add(&packet);
            continue;
        }
        out.folded(&mut folded)?;
        let channel = seen.channel.map(|channel| decoder.name(channel));
        out.line(&if cli.json { object(packet, seen, channel) } else { line_of(&packet, &seen, channel) })?;
        if out.closed {
            return Ok(());
        }
    }
    out.folded(&mut folded)?;
    out.end()
}

/// Standard output, until its reader closes it.
struct Lines<W: Write> {
    out: W,
    headed: bool,
    closed: bool,
}

impl<W: Write> Lines<W> {
    fn line(&mut self, text: &str) -> Result {
        if !self.headed {
            self.headed = true;
            let head = format!("{:>14}    {:<10} {:<24} {:>5}  meaning", "time (ns)", "packet", "place", "bytes");
            self.put(&head)?;
        }
        self.put(text)
    }

    fn put(&mut self, text: &str) -> Result {
        if self.closed {
            return Ok(());
        }
        let done = writeln!(self.out, "{text}");
        self.done(done)
    }

    fn folded(&mut self, folded: &mut Folded) -> Result {
        let Folded { packets, from, to } = std::mem::take(folded);
        if packets == 0 {
            return Ok(());
        }
        let text =
            format!("the host reads the discovery table: {packets} packets until {}.{:03} (--discovery shows them)", to / 1000, to % 1000);
        self.line(&format!("{:>10}.{:03} -> {text}", from / 1000, from % 1000))
    }

    fn end(&mut self) -> Result {
        let done = self.out.flush();
        self.done(done)
    }

    fn done(&mut self, done: io::Result<()>) -> Result {
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.closed = true,
            done => done.map_err(|e| Failure::file("writing", "standard output", &e))?,
        }
        Ok(())
    }
}

impl Folded {
    fn add(&mut self, packet: &Map<String, Value>) {
        let ps = packet.get("ps").and_then(Value::as_u64).unwrap_or(0);
        if self.packets == 0 {
            self.from = ps;
        }
        self.packets += 1;
        self.to = ps;
    }
}

/// The packet as it stands in the file, and what it means.
fn object(mut packet: Map<String, Value>, seen: decode::Seen, channel: Option<String>) -> String {
    packet.insert("kind".into(), seen.kind.word().into());
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
    let arrow = match packet.get("to").and_then(Value::as_str) {
        Some("card") => "->",
        Some("host") => "<-",
        _ => "  ",
    };
    let what = packet.get("packet").and_then(Value::as_str).unwrap_or("?");
    let place = place_of(packet);
    let bytes = number("bytes").map_or(String::new(), |bytes| bytes.to_string());
    let means = match channel {
        Some(channel) => format!("{channel}: {}", seen.text),
        None => seen.text.clone(),
    };
    let class = number("class").map_or(String::new(), |class| format!(", class {class}"));
    let means = match packet.get("after_loss") {
        Some(_) => format!("{means} (after a gap)"),
        None => means,
    };
    let text = format!("{:>10}.{:03} {arrow} {what:<10} {place:<24} {bytes:>5}  {means}{class}", ps / 1000, ps % 1000);
    // The file may have come from anywhere, and this goes to a terminal.
    text.trim_end().chars().filter(|c| !c.is_control()).collect()
}

/// Where a packet goes, or what it answers.
fn place_of(packet: &Map<String, Value>) -> String {
    let number = |key: &str| packet.get(key).and_then(Value::as_u64);
    match (number("bar"), number("offset"), number("address"), number("tag")) {
        (Some(bar), Some(offset), ..) => format!("BAR {bar} +{offset:#x}"),
        (_, _, Some(address), Some(tag)) => format!("{address:#x} tag {tag}"),
        (_, _, Some(address), None) => format!("{address:#x}"),
        (.., Some(tag)) => format!("tag {tag}"),
        _ => String::new(),
    }
}
