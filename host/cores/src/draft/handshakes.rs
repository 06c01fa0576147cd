// SPDX-License-Identifier: Apache-2.0
//! Streams and FIFOs whose ports are named in other ways than AXI4-Stream's and a FIFO's usual ones: by words for what a port is, anywhere in its name,
//! with or without a mark for its direction. Each port has a line of its own in `[ports]`.

use super::{name_of, DraftStream, Drafting};
use crate::fifo::lanes;
use crate::manifest::Direction;
use crate::ports::{PortDirection, Top};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a port is among those of a stream or FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Data,
    Valid,
    Ready,
    Last,
    Keep,
    Put,
    Full,
    Take,
    Empty,
}

/// Words for each.
const WORDS: [(Role, &[&str]); 9] = [
    (Role::Data, &["data", "dat", "tdata", "payload", "bits", "din", "dout", "rdata", "wdata"]),
    (Role::Valid, &["valid", "vld", "val", "tvalid", "valids"]),
    (Role::Ready, &["ready", "rdy", "tready"]),
    (Role::Last, &["last", "tlast", "eop"]),
    (Role::Keep, &["keep", "tkeep"]),
    (Role::Put, &["wr", "write", "wren", "push", "enq", "put"]),
    (Role::Full, &["full"]),
    (Role::Take, &["rd", "read", "rden", "pop", "deq", "get"]),
    (Role::Empty, &["empty"]),
];

/// Marks of a direction, and words that tell nothing more beside a role.
const MARKS: [&str; 5] = ["i", "o", "io", "en", "r"];

/// A port's words in small letters: at underscores, and where a small letter is before a large one.
fn words(port: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut small = false;
    for c in port.chars() {
        if c == '_' || c.is_ascii_uppercase() && small {
            all.push(String::new());
        }
        if c != '_' {
            all.last_mut().into_iter().for_each(|word| word.push(c.to_ascii_lowercase()));
        }
        small = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    all.retain(|word| !word.is_empty());
    all
}

/// A port with its role, which is the last word that has one, and the others but marks.
fn parsed(port: &str) -> (Option<Role>, String) {
    let words: Vec<String> = words(port).into_iter().filter(|word| !MARKS[..3].contains(&word.as_str())).collect();
    let role = |word: &str| WORDS.iter().find(|(_, names)| names.contains(&word)).map(|(role, _)| *role);
    let found = words.iter().enumerate().rev().find_map(|(number, word)| Some((number, role(word)?)));
    let Some((number, role)) = found else { return (None, words.join("_")) };
    // "wr_en" and "wr_data" are of one side: its word is not what tells two FIFOs from each other.
    let side = |word: &String| MARKS.contains(&word.as_str()) || ["wr", "rd", "w", "r", "write", "read"].contains(&word.as_str());
    let of_fifo = matches!(role, Role::Put | Role::Take | Role::Full | Role::Empty | Role::Data);
    let rest = words.iter().enumerate().filter(|(at, word)| *at != number && !(of_fifo && side(word)));
    (Some(role), rest.map(|(_, word)| word.as_str()).collect::<Vec<_>>().join("_"))
}

/// Ports of one stream: its roles, and its words.
struct Group {
    base: String,
    direction: Direction,
    ports: BTreeMap<Role, String>,
}

fn towards(port: PortDirection, with: bool) -> Direction {
    if (port == PortDirection::Input) == with {
        Direction::H2c
    } else {
        Direction::C2h
    }
}

impl Drafting {
    fn still<'a>(&'a self, top: &'a Top) -> impl Iterator<Item = &'a String> + 'a {
        let plain = |port: &&String| top.ports[*port].width.is_some() && top.ports[*port].direction != PortDirection::Other;
        top.ports.keys().filter(|port| !self.taken.contains(*port)).filter(plain)
    }

    /// Data with "valid", and "ready" unless it cannot be held back.
    pub(super) fn handshakes(&mut self, top: &Top) {
        let mut groups: Vec<Group> = Vec::new();
        let mut plain: Vec<(String, &String)> = Vec::new();
        let ports: Vec<&String> = self.still(top).collect();
        for port in ports {
            let (role, base) = parsed(port);
            let Some(role) = role.filter(|role| *role <= Role::Keep) else {
                plain.push((base, port));
                continue;
            };
            let single = matches!(role, Role::Valid | Role::Ready | Role::Last);
            if single && top.ports[port].width != Some(1) {
                continue;
            }
            let direction = towards(top.ports[port].direction, role != Role::Ready);
            let group = match groups.iter().position(|group| group.base == base && group.direction == direction) {
                Some(number) => &mut groups[number],
                None => {
                    groups.push(Group { base, direction, ports: BTreeMap::new() });
                    groups.last_mut().unwrap_or_else(|| unreachable!())
                }
            };
            group.ports.entry(role).or_insert_with(|| port.clone());
        }
        self.find_data(top, &mut groups, &plain);
        for group in groups {
            let has = |role| group.ports.contains_key(&role);
            if has(Role::Data) && has(Role::Valid) {
                self.handshake(top, &group);
            }
        }
    }

    /// Data whose name is what those of "valid" and "ready" begin with, or that is the only one in its direction.
    fn find_data(&self, top: &Top, groups: &mut [Group], plain: &[(String, &String)]) {
        let pair = |group: &Group| group.ports.contains_key(&Role::Valid) && group.ports.contains_key(&Role::Ready);
        for number in 0..groups.len() {
            if !pair(&groups[number]) || groups[number].ports.contains_key(&Role::Data) {
                continue;
            }
            let (base, direction) = (groups[number].base.clone(), groups[number].direction);
            let fits = |port: &str| towards(top.ports[port].direction, true) == direction;
            let named = plain.iter().find(|(name, port)| *name == base && fits(port)).map(|(_, port)| port.to_string());
            // "in_data" beside "in_data_valid".
            let whole = |group: &Group| group.ports.get(&Role::Data).filter(|port| parsed_whole(port) == base && fits(port)).cloned();
            let whole = || groups.iter().find_map(whole);
            let alone = || {
                let pairs = groups.iter().filter(|group| group.direction == direction && pair(group)).count();
                let lone: Vec<&Group> =
                    groups.iter().filter(|g| g.direction == direction && !pair(g) && g.ports.contains_key(&Role::Data)).collect();
                (pairs == 1 && lone.len() == 1).then(|| lone[0].ports[&Role::Data].clone())
            };
            let Some(data) = named.or_else(whole).or_else(alone) else { continue };
            groups.iter_mut().for_each(|group| group.ports.retain(|_, port| *port != data));
            groups[number].ports.insert(Role::Data, data);
        }
    }

    fn handshake(&mut self, top: &Top, group: &Group) {
        let bits = top.ports[&group.ports[&Role::Data]].width.unwrap_or(0);
        if !(1..=512).contains(&bits) {
            self.unsure(format!("{}: data of {bits} bit: 1 to 512 can be joined", group.ports[&Role::Data]));
            return;
        }
        let even = bits.is_power_of_two() && bits >= 8;
        let held = group.ports.contains_key(&Role::Ready);
        // Words of other widths are FIFOs' words, unless more is said of them than a FIFO has ports for.
        let stream = even || bits > 8 && (!held || group.ports.contains_key(&Role::Last));
        if !held && !stream {
            let data = &group.ports[&Role::Data];
            self.unsure(format!(
                "\"{data}\" is data of {bits} bit that cannot be held back, for nothing says \"ready\": 8 to 512 can be joined: widen it"
            ));
            return;
        }
        let direction = group.direction;
        let h2c = direction == Direction::H2c;
        let name = name_of(&group.base, if h2c { "in" } else { "out" }, &mut self.names);
        let head = format!("name = \"{name}\"\ndirection = \"{direction}\"\n");
        let mut text = format!("\n[[channel]]\n{head}");
        let keep = group.ports.get(&Role::Keep).filter(|port| even && top.ports[*port].width == Some(bits / 8));
        let ends = stream && group.ports.contains_key(&Role::Last);
        let mut roles: Vec<(Role, &str)> = if stream {
            self.streams.push((head, bits));
            if keep.is_none() {
                text.push_str("tkeep = false\n");
            }
            if !ends {
                text.push_str("tlast = false\n");
            }
            if !held {
                self.without_ready(&mut text, &name, h2c);
            }
            let all = [(Role::Data, "tdata"), (Role::Valid, "tvalid"), (Role::Ready, "tready")];
            all.into_iter().filter(|(role, _)| held || *role != Role::Ready).collect()
        } else {
            // A FIFO's ports have any number of bits, and its flags are these two.
            text.push_str("ports = \"ap_fifo\"\n");
            self.unsure(format!("channel \"{name}\" has words of {bits} bit: each takes {} bytes on the host", lanes(bits) / 8));
            let signals = if h2c { ["dout", "empty_n", "read"] } else { ["din", "write", "full_n"] };
            [Role::Data, Role::Valid, Role::Ready].into_iter().zip(signals).collect()
        };
        roles.extend(ends.then_some((Role::Last, "tlast")));
        roles.extend(keep.filter(|_| stream).map(|_| (Role::Keep, "tkeep")));
        if stream && !even {
            self.unsure(format!("channel \"{name}\" has words of {bits} bit: each takes {} bytes on the host", lanes(bits) / 8));
        }
        if !ends && !h2c {
            self.without_ends(&mut text, &name);
        }
        self.widths.push(lanes(bits));
        self.channels.push_str(&text);
        for (role, signal) in roles {
            let port = &group.ports[&role];
            let _ = writeln!(self.ports, "{name}_{signal} = \"{port}\"");
            self.taken.insert(port.clone());
        }
        self.draft.streams.push(DraftStream { name, direction, ends, riffa: false });
    }

    fn without_ready(&mut self, text: &mut String, name: &str, h2c: bool) {
        text.push_str("tready = false\n");
        if h2c {
            self.unsure(format!("channel \"{name}\" has nothing that says \"ready\": the core has to take a word in any clock"));
            return;
        }
        text.push_str("# overflow = \"end\"         # a word that finds no room ends the message; without it, it is an error\n");
        self.unsure(format!(
            "channel \"{name}\" has nothing that says \"ready\": a word that finds no room is an error; write overflow = \"end\" if the core never waits for the program"
        ));
    }

    fn without_ends(&mut self, text: &mut String, name: &str) {
        text.push_str("# message_bytes = 4096     # or the name of a register; without it messages have no end\n");
        self.unsure(format!(
            "channel \"{name}\" does not say where messages end: recv takes as many bytes as it asks for, unless message_bytes says it"
        ));
    }

    /// FIFOs that say "en" and "rdy" on both sides, as Amaranth's do: "rdy" is room where words go in, and a word where they come out.
    pub(super) fn enables(&mut self, top: &Top) {
        let data: Vec<String> = self.still(top).filter(|port| port.ends_with("_data")).cloned().collect();
        for data in data {
            let base = data.trim_end_matches("_data");
            let (enable, ready) = (format!("{base}_en"), format!("{base}_rdy"));
            let way = |port: &str| top.ports.get(port).filter(|about| about.width == Some(1)).map(|about| about.direction);
            let (Some(asks), Some(says)) = (way(&enable), way(&ready)) else { continue };
            if asks == says {
                continue;
            }
            // Whoever has the data drives "valid".
            let (valid, ready) = if top.ports[&data].direction == asks { (enable, ready) } else { (ready, enable) };
            let direction = towards(top.ports[&data].direction, true);
            let ports = [(Role::Data, data.clone()), (Role::Valid, valid), (Role::Ready, ready)].into();
            self.handshake(top, &Group { base: String::new(), direction, ports });
        }
    }

    /// FIFOs with marks of direction in their ports' names: `i_wr`, `i_data`, `o_full`, or `push_i`, `data_i`, `full_o`.
    pub(super) fn marked_fifos(&mut self, top: &Top) {
        let found: Vec<(Role, String, String)> = self
            .still(top)
            .filter_map(|port| {
                let (role, base) = parsed(port);
                Some((role?, base, port.clone()))
            })
            .collect();
        let way = |port: &String| top.ports[port].direction;
        for (put, enable, flag) in [(true, Role::Put, Role::Full), (false, Role::Take, Role::Empty)] {
            for (_, base, port) in found.iter().filter(|(role, ..)| *role == enable) {
                let one = |wanted: Role, same: bool| {
                    let fits = |other: &&(Role, String, String)| {
                        let single = wanted == Role::Data || top.ports[&other.2].width == Some(1);
                        other.0 == wanted && other.1 == *base && (way(&other.2) == way(port)) == same && single
                    };
                    found.iter().find(fits).map(|(_, _, port)| port)
                };
                let (Some(data), Some(flag)) = (one(Role::Data, put), one(flag, false)) else { continue };
                let bits = top.ports[data].width.unwrap_or(0);
                let all = [data, port, flag];
                if !(1..=512).contains(&bits) || top.ports[port].width != Some(1) || all.iter().any(|port| self.taken.contains(*port)) {
                    continue;
                }
                let direction = towards(way(data), true);
                let name = name_of(base, if direction == Direction::H2c { "in" } else { "out" }, &mut self.names);
                let reads = !put && direction == Direction::C2h;
                let through = reads && top.through.contains(data);
                let family = if through { "fwft" } else { "fifo" };
                let mut text = format!("\n[[channel]]\nname = \"{name}\"\ndirection = \"{direction}\"\nports = \"{family}\"\n");
                if direction == Direction::C2h {
                    self.without_ends(&mut text, &name);
                }
                if !put && !through {
                    self.word_after(&name);
                }
                if lanes(bits) != bits {
                    self.unsure(format!("channel \"{name}\" has words of {bits} bit: each takes {} bytes on the host", lanes(bits) / 8));
                }
                let signals = if put { ["din", "wr_en", "full"] } else { ["dout", "rd_en", "empty"] };
                for (port, signal) in all.into_iter().zip(signals) {
                    let _ = writeln!(self.ports, "{name}_{signal} = \"{port}\"");
                    self.taken.insert(port.clone());
                }
                self.channels.push_str(&text);
                self.widths.push(lanes(bits));
                self.draft.streams.push(DraftStream { name, direction, ends: false, riffa: false });
            }
        }
    }
}

/// All of a port's words but marks of direction.
fn parsed_whole(port: &str) -> String {
    let words: Vec<String> = words(port).into_iter().filter(|word| !MARKS[..3].contains(&word.as_str())).collect();
    words.join("_")
}
