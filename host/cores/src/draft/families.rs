// SPDX-License-Identifier: Apache-2.0
//! FIFOs, and RIFFA's and EPEE's channels, among a core's ports.

use super::{name_of, DraftStream, Drafting};
use crate::epee;
use crate::fifo::{self, lanes};
use crate::manifest::Direction;
use crate::ports::{PortDirection, Top};
use crate::{riffa, xillybus};
use std::collections::BTreeMap;
use std::fmt::Write;

impl Drafting {
    /// Ports that make up FIFOs: data, a flag and an enable that begin alike.
    pub(super) fn fifos(&mut self, top: &Top) {
        let small: BTreeMap<String, &String> = top.ports.keys().map(|port| (port.to_lowercase(), port)).collect();
        for found in fifo::bundles(&small.keys().map(String::as_str).collect::<Vec<_>>()) {
            let mut ports: Vec<&String> = found.ports.iter().filter_map(|port| small.get(port).copied()).collect();
            let data = &top.ports[ports[0]];
            let direction = if data.direction == PortDirection::Input { Direction::H2c } else { Direction::C2h };
            let fits = |port: &&String| {
                port.get(found.before.len()..)
                    .is_some_and(|signal| fifo::is_signal(&signal.to_lowercase(), direction, top.ports[*port].direction))
            };
            let bits = data.width.unwrap_or(0);
            // A FIFO of the core's may say that it is nearly full: nothing need look at it.
            if ports.len() > 3 && !fits(&ports[3]) {
                ports.pop();
            }
            if !ports.iter().all(fits) || !(1..=512).contains(&bits) || ports.iter().any(|port| self.taken.contains(*port)) {
                continue;
            }
            let before = &ports[0][..found.before.len()];
            let name = name_of(before, if direction == Direction::H2c { "in" } else { "out" }, &mut self.names);
            let family = if found.low { "ap_fifo" } else { "fifo" };
            let _ = write!(self.channels, "\n[[channel]]\nname = \"{name}\"\ndirection = \"{direction}\"\nports = \"{family}\"\n");
            if direction == Direction::C2h {
                self.channels.push_str("# message_bytes = 4096     # or the name of a register; without it messages have no end\n");
                self.unsure(format!(
                    "channel \"{name}\" is a FIFO: recv takes as many bytes as it asks for, unless message_bytes says where messages end"
                ));
            }
            if found.out && !found.low {
                self.word_after(&name);
            }
            if lanes(bits) != bits {
                self.unsure(format!("channel \"{name}\" has words of {bits} bit: each takes {} bytes on the host", lanes(bits) / 8));
            }
            let _ = writeln!(self.ports, "{name} = \"{before}*\"");
            self.widths.push(lanes(bits));
            self.taken.extend(ports.into_iter().cloned());
            self.draft.streams.push(DraftStream { name, direction, ends: false, riffa: false });
        }
    }

    /// Of a FIFO whose ports do not tell when a word is there.
    pub(super) fn word_after(&mut self, name: &str) {
        self.unsure(format!(
            "channel \"{name}\": a word is taken to be there in the clock after it was asked for: write ports = \"fwft\" if it stands there by itself"
        ));
    }

    /// RIFFA's channels, by the names that its ports always have.
    pub(super) fn riffa(&mut self, top: &Top) {
        let own = |port: &&String| port.to_lowercase().strip_prefix(riffa::PREFIX).is_some_and(riffa::is_signal);
        let ports: Vec<&String> = top.ports.keys().filter(own).collect();
        let width = |signal: &str| {
            let port = ports.iter().find(|port| port.to_lowercase() == format!("{}{signal}", riffa::PREFIX))?;
            top.ports[*port].width
        };
        let (Some(count), Some(data)) = (width("rx").or(width("tx")), width("rx_data").or(width("tx_data"))) else { return };
        let ways: Vec<Direction> = [("rx", Direction::H2c), ("tx", Direction::C2h)]
            .into_iter()
            .filter(|(signal, _)| width(signal).is_some())
            .map(|(_, way)| way)
            .collect();
        for number in 0..count {
            let name = name_of(&format!("riffa{number}"), "riffa", &mut self.names);
            let way = if let [one] = ways[..] { format!("direction = \"{one}\"\n") } else { String::new() };
            let _ = write!(self.channels, "\n[[channel]]\nname = \"{name}\"\n{way}ports = \"riffa\"\nwidth = {}\n", data / count);
            self.draft.streams.extend(ways.iter().map(|way| DraftStream { name: name.clone(), direction: *way, ends: true, riffa: true }));
        }
        self.unsure(format!("{count} of RIFFA's channels: what a program does with them is in docs/guide/from-riffa.md"));
        self.widths.push(data / count);
        self.taken.extend(ports.into_iter().cloned());
    }

    /// Streams and files of Xillybus, by the names that its ports always have.
    pub(super) fn xillybus(&mut self, top: &Top) {
        let (files, ports) = xillybus::files(top);
        for (file, has) in &files {
            self.names.insert(file.clone());
            let _ = write!(self.channels, "\n[[channel]]\nname = \"{file}\"\nports = \"xillybus\"\n");
            match has {
                [true, ..] => drop(writeln!(self.channels, "kind = \"memory\"\nbytes = {}", xillybus::bytes(top, file))),
                [_, true, false] => self.channels.push_str("direction = \"c2h\"\n"),
                [_, false, true] => self.channels.push_str("direction = \"h2c\"\n"),
                _ => {}
            }
        }
        if !files.is_empty() {
            self.unsure(format!("{} files of Xillybus: what a program does with them is in docs/guide/from-xillybus.md", files.len()));
        }
        self.taken.extend(ports);
    }

    /// EPEE's FIFOs, and the registers and interrupts beside them.
    pub(super) fn epee(&mut self, top: &Top) {
        for (direction, name, data) in [(Direction::H2c, "host2board", "dout"), (Direction::C2h, "board2host", "din")] {
            let of = |port: &str| {
                let small = port.to_lowercase();
                let signal = epee::prefixes(direction).into_iter().find_map(|before| small.strip_prefix(before));
                signal.filter(|signal| epee::is_signal(signal, direction)).map(String::from)
            };
            let ports: Vec<(String, &String)> = top.ports.keys().filter_map(|port| Some((of(port)?, port))).collect();
            let Some((_, port)) = ports.iter().find(|(signal, _)| signal == data) else { continue };
            let Some(bits @ (66 | 130)) = top.ports[*port].width else { continue };
            let _ = write!(self.channels, "\n[[channel]]\nname = \"{name}\"\ndirection = \"{direction}\"\nports = \"epee\"\n");
            self.names.insert(name.to_string());
            self.widths.push(bits - 2);
            self.taken.extend(ports.into_iter().map(|(_, port)| port.clone()));
            self.draft.streams.push(DraftStream { name: name.to_string(), direction, ends: false, riffa: false });
        }
        if self.draft.streams.iter().all(|stream| !self.channels.contains(&format!("\"{}\"\nports = \"epee\"", stream.direction))) {
            return;
        }
        let beside: Vec<&String> = top.ports.keys().filter(|port| epee::is_beside(&port.to_lowercase())).collect();
        self.draft.interrupt = beside.iter().any(|port| port.to_lowercase().ends_with("int_req"));
        self.draft.registers = beside.iter().any(|port| port.to_lowercase().ends_with("_wr_req"));
        self.taken.extend(beside.into_iter().cloned());
        self.unsure("EPEE's ports: a word is taken to stand at host2board_dout by itself: write ports = \"epee_fifo\" if it is there in the clock after rd_en".into());
    }
}
