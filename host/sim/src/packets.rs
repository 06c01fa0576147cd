// SPDX-License-Identifier: Apache-2.0
//! A file of all packets on a card's link, a JSON object on a line for each, in the order of their arrival: `towpath trace` reads it.
//!
//! Off by default; it costs no simulated time. It keeps headers and up to 64 bytes of payload, so all descriptors, completions and register
//! accesses, and of longer data only the length. Their meaning is not evaluated here. Each line is in the file before time goes on, so a
//! program that is killed leaves all packets; beats are in windows of up to 64 clocks, of which it may lose the last. When the disk is full, it ends with a message.

use crate::beats::{BeatLog, Window};
use crate::link::{Head, Packet};
use crate::model::Beats;
use crate::root_complex::extent;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Longest payload that is kept, bytes.
const KEPT: u32 = 64;

/// A file that packets are written to.
#[derive(Debug)]
pub struct PacketLog {
    path: PathBuf,
    /// Until something goes wrong.
    out: Option<File>,
    line: String,
    beats: BeatLog,
}

impl PacketLog {
    /// Begin a file, for the card with the user's name `device`, on whose link a byte takes `byte_fs` femtoseconds.
    pub fn create(path: &Path, device: &str, byte_fs: u64) -> io::Result<PacketLog> {
        let mut out = claim(path)?;
        let name: String = device.chars().map(|c| if c == '"' || c == '\\' || c.is_control() { '?' } else { c }).collect();
        writeln!(out, r#"{{"towpath_packets":1,"device":"{name}","byte_fs":{byte_fs}}}"#)?;
        Ok(PacketLog { path: path.into(), out: Some(out), line: String::new(), beats: BeatLog::default() })
    }

    /// A packet has arrived at either end.
    pub fn packet(&mut self, packet: &Packet) {
        let data = &packet.payload;
        match packet.head {
            Head::Write { addr, dwords, first_be, last_be, relaxed, tc } => {
                let (from, bytes) = extent(addr, dwords, first_be, last_be);
                let class = Class(tc);
                self.begin(packet.time, "host", "write", format_args!(r#","address":{from},"bytes":{bytes},"relaxed":{relaxed}{class}"#));
                self.data(data, from as u32, bytes);
            }
            Head::Read { addr, dwords, first_be, last_be, tc, tag, .. } => {
                let (from, bytes) = extent(addr, dwords, first_be, last_be);
                self.begin(packet.time, "host", "read", format_args!(r#","address":{from},"bytes":{bytes},"tag":{tag}{}"#, Class(tc)));
            }
            Head::Answer { tag, byte_count, lower_addr, status, .. } => {
                self.begin(packet.time, "host", "completion", format_args!(r#","tag":{tag},"status":"{}""#, Outcome(status, false)));
                self.answer(data, byte_count, lower_addr);
            }
            Head::Completion { tag, byte_count, lower_addr, status, poisoned, .. } => {
                self.begin(packet.time, "card", "completion", format_args!(r#","tag":{tag},"status":"{}""#, Outcome(status, poisoned)));
                self.answer(data, byte_count, lower_addr);
            }
            Head::Posted { bar, offset, dwords, first_be, last_be, .. } => {
                let (from, bytes) = extent(offset.into(), dwords, first_be, last_be);
                self.begin(packet.time, "card", "write", format_args!(r#","bar":{bar},"offset":{from},"bytes":{bytes}"#));
                self.data(data, from as u32, bytes);
            }
            Head::NonPosted { bar, offset, dwords, first_be, last_be, tag, .. } => {
                let (from, bytes) = extent(offset.into(), dwords, first_be, last_be);
                self.begin(packet.time, "card", "read", format_args!(r#","bar":{bar},"offset":{from},"bytes":{bytes},"tag":{tag}"#));
            }
        }
        self.end();
    }

    /// A message of MSI-X has arrived at the root port, at `time` picoseconds.
    pub fn interrupt(&mut self, time: u64, vector: u32) {
        self.begin(time, "host", "interrupt", format_args!(r#","vector":{vector}"#));
        self.end();
    }

    /// An edge of the user core's clock, before which its streams stood like this.
    pub fn beats(&mut self, time: u64, beats: &Beats) {
        let (line, out, path) = (&mut self.line, &mut self.out, &self.path);
        self.beats.edge(time, beats, |window| put(out, path, beats_line(line, window)));
    }

    fn begin(&mut self, time: u64, to: &str, what: &str, rest: std::fmt::Arguments) {
        self.line.clear();
        // Writing to a string does not fail.
        let _ = write!(self.line, r#"{{"ps":{time},"to":"{to}","packet":"{what}"{rest}"#);
    }

    /// The payload of an answer: `count` bytes are still to come with it, the first is at `lower`.
    fn answer(&mut self, data: &[u32], count: u16, lower: u8) {
        let from = u32::from(lower & 3);
        let bytes = (data.len() as u32 * 4).saturating_sub(from).min(count.into());
        let _ = write!(self.line, r#","bytes":{bytes}"#);
        self.data(data, from, bytes);
    }

    /// The bytes of `data`, whose first dword holds the one at `from`, in the order of their addresses.
    fn data(&mut self, data: &[u32], from: u32, bytes: u32) {
        if bytes == 0 || bytes > KEPT {
            return;
        }
        self.line += r#","data":""#;
        for byte in data.iter().flat_map(|dword| dword.to_le_bytes()).skip((from & 3) as usize).take(bytes as usize) {
            let _ = write!(self.line, "{byte:02x}");
        }
        self.line.push('"');
    }

    fn end(&mut self) {
        self.line += "}\n";
        put(&mut self.out, &self.path, &self.line);
    }
}

impl Drop for PacketLog {
    fn drop(&mut self) {
        let (line, out, path) = (&mut self.line, &mut self.out, &self.path);
        self.beats.end(|window| put(out, path, beats_line(line, window)));
    }
}

fn put(out: &mut Option<File>, path: &Path, line: &str) {
    let Some(file) = out else { return };
    if let Err(why) = file.write_all(line.as_bytes()) {
        log::warn!("{}: the record of packets ends here: {why}", path.display());
        *out = None;
    }
}

/// What a channel offered and took at the user core: bit 0 of the masks is the first clock.
fn beats_line<'a>(line: &'a mut String, window: &Window) -> &'a str {
    let Window { channel, from, to, clocks, valid, ready } = window;
    line.clear();
    // Writing to a string does not fail.
    let _ = writeln!(
        line,
        r#"{{"ps":{to},"packet":"beats","port":{channel},"from":{from},"clocks":{clocks},"valid":"{valid:x}","ready":"{ready:x}"}}"#
    );
    line
}

/// Empty a file, or make it, for one card alone: two would write across each other. Its lock is the system's, so it holds between programs,
/// and ends with the last use of the file. Anything but a regular file, such as a pipe, may be shared.
fn claim(path: &Path) -> io::Result<File> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.is_file() {
        // A file system without locks is no reason to refuse.
        if matches!(towpath_system::file::lock(&file), Ok(false)) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another card's packets go there; give each card a file of its own"));
        }
        file.set_len(0)?;
    }
    Ok(file)
}

/// A request's traffic class, where it is not the usual one.
struct Class(u8);

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == 0 {
            return Ok(());
        }
        write!(f, r#","class":{}"#, self.0)
    }
}

/// A completion's status, as the specification calls it (PCI Express Base Specification 2.1, 2.2.9).
struct Outcome(u8, bool);

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0, self.1) {
            (0, true) => f.write_str("poisoned"),
            (0, false) => f.write_str("successful"),
            (1, _) => f.write_str("unsupported request"),
            (4, _) => f.write_str("completer abort"),
            (other, _) => write!(f, "status {other}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_packet_with_its_bytes_in_order() {
        let path = std::env::temp_dir().join(format!("towpath-packets-{}", std::process::id()));
        let mut log = PacketLog::create(&path, "sim:\"x\"", 250_000).unwrap();
        let posted = Head::Posted { bar: 0, offset: 0x5004, dwords: 2, first_be: 0b1100, last_be: 0b0011, requester: 0 };
        log.packet(&Packet { head: posted, payload: vec![0x0403_0201, 0x0807_0605], time: 1500 });
        let answer = Head::Completion { tag: 7, dwords: 2, byte_count: 5, lower_addr: 3, status: 0, poisoned: true };
        log.packet(&Packet { head: answer, payload: vec![0x0403_0201, 0x0807_0605], time: 2500 });
        let write = Head::Write { addr: 0x1_0000_0000, dwords: 32, first_be: 15, last_be: 15, relaxed: true, tc: 0 };
        log.packet(&Packet { head: write, payload: vec![0; 32], time: 3500 });
        let read = Head::Read { addr: 0x1_0000_0000, dwords: 1, first_be: 15, last_be: 0, relaxed: true, tc: 5, tag: 3 };
        log.packet(&Packet { head: read, payload: vec![], time: 4000 });
        log.interrupt(4500, 2);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                r#"{"towpath_packets":1,"device":"sim:?x?","byte_fs":250000}"#,
                r#"{"ps":1500,"to":"card","packet":"write","bar":0,"offset":20486,"bytes":4,"data":"03040506"}"#,
                r#"{"ps":2500,"to":"card","packet":"completion","tag":7,"status":"poisoned","bytes":5,"data":"0405060708"}"#,
                r#"{"ps":3500,"to":"host","packet":"write","address":4294967296,"bytes":128,"relaxed":true}"#,
                r#"{"ps":4000,"to":"host","packet":"read","address":4294967296,"bytes":4,"tag":3,"class":5}"#,
                r#"{"ps":4500,"to":"host","packet":"interrupt","vector":2}"#,
            ]
        );
    }

    #[test]
    fn a_file_takes_the_packets_of_one_card_at_a_time() {
        let path = std::env::temp_dir().join(format!("towpath-packets-two-{}", std::process::id()));
        let first = PacketLog::create(&path, "sim:a", 1).unwrap();
        let refused = PacketLog::create(&path, "sim:b", 1).unwrap_err();
        assert!(refused.to_string().contains("a file of its own"), "{refused}");
        assert!(std::fs::read_to_string(&path).unwrap().contains("sim:a"), "the first one's stays as it is");
        drop(first);
        PacketLog::create(&path, "sim:b", 1).unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("sim:a"));
        std::fs::remove_file(&path).unwrap();
        // Anything but a regular file is not locked.
        let _both =
            [PacketLog::create("/dev/null".as_ref(), "sim:a", 1).unwrap(), PacketLog::create("/dev/null".as_ref(), "sim:b", 1).unwrap()];
    }

    #[test]
    fn a_full_disk_ends_the_record_and_nothing_else() {
        let mut log = PacketLog {
            path: "/dev/full".into(),
            out: Some(File::create("/dev/full").unwrap()),
            line: String::new(),
            beats: BeatLog::default(),
        };
        log.interrupt(1, 0);
        assert!(log.out.is_none());
        log.interrupt(2, 0);
    }
}
