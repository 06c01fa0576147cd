// SPDX-License-Identifier: Apache-2.0
//! Ports that belong to no stream and no bus, as registers: settings, states, and the start and arguments of a core of high-level synthesis.

use super::{name_of, DraftRegister, Drafting};
use crate::array;
use crate::family::Family;
use crate::ports::{PortDirection, Top};
use crate::wires::{bytes, is_control, CONTINUE, CONTROL, COUNTS, START};
use std::fmt::Write;

/// More is data, not a setting.
const WIDEST: u64 = 1024;
/// Where arguments begin behind a control register, and what each takes at least: as the registers of high-level synthesis do.
const ARGUMENTS: u32 = 0x10;
const ARGUMENT: u32 = 8;
/// Block RAM of an array; more is not on the card.
const LARGEST: u64 = 1 << 20;

impl Drafting {
    /// Ports of arrays: the core reads or writes a memory outside.
    fn arrays(&mut self, top: &Top) {
        let bases: Vec<String> = top.ports.keys().filter_map(|port| port.strip_suffix("_address0").map(String::from)).collect();
        for base in bases {
            let of = |port: &&String| port.strip_prefix(&format!("{base}_")).is_some_and(array::is_signal);
            let ports: Vec<String> = top.ports.keys().filter(of).cloned().collect();
            let wide = |signals: [&str; 2]| signals.iter().find_map(|signal| top.ports.get(&format!("{base}_{signal}"))?.width);
            let (element, address) = (wide(["q0", "d0"]).unwrap_or(0), wide(["address0", "address0"]).unwrap_or(0));
            let (bytes, reached) = array::size(element, address);
            if !(1..=512).contains(&element) || reached > LARGEST || ports.iter().any(|port| self.taken.contains(port)) {
                self.unsure(format!(
                    "{base}: an array of {element} bit that its {address} address bits reach: elements of 1 to 512 bit in {LARGEST} bytes can be joined: have it made an AXI master"
                ));
                self.refused.extend(ports);
                continue;
            }
            let name = name_of(&base, "array", &mut self.names);
            let family = Family::ApMemory.name();
            let _ = write!(
                self.channels,
                "\n[[channel]]                # an array of the core's: each element takes {bytes} bytes\nname = \"{name}\"\nkind = \"memory\"\nports = \"{family}\"\nbytes = {reached}\n"
            );
            let _ = writeln!(self.ports, "{name} = \"{base}_*\"");
            self.widths.push(bytes * 8);
            self.draft.memories.push(name);
            self.taken.extend(ports);
        }
        // The same with addresses of bytes and a clock of its own.
        let bases: Vec<String> = top.ports.keys().filter_map(|port| port.strip_suffix("_Addr_A").map(String::from)).collect();
        for base in bases {
            let of =
                |port: &&String| port.strip_prefix(&format!("{base}_")).is_some_and(|rest| rest.ends_with("_A") || rest.ends_with("_B"));
            let ports: Vec<String> = top.ports.keys().filter(of).cloned().collect();
            self.unsure(format!("{base}: an array outside of the core with the ports of a BRAM: have it made ap_memory or an AXI master"));
            self.refused.extend(ports);
        }
    }

    pub(super) fn wires(&mut self, top: &Top) {
        let others = ["riffa", "xillybus", "epee"].iter().any(|family| self.channels.contains(&format!("ports = \"{family}\"")));
        self.arrays(top);
        let start = self.free(top, PortDirection::Input, Some(1)).iter().any(|port| *port == START);
        // The control register starts the core, and tells it to go on.
        let calls = start && !self.draft.registers && !others;
        // What only says that something counts, or that it has been taken, is always so.
        let mut tied: Vec<String> = self
            .free(top, PortDirection::Input, Some(1))
            .into_iter()
            .filter(|port| *port == CONTINUE && !calls || port.ends_with(COUNTS) || port.ends_with("_ap_ack"))
            .cloned()
            .collect();
        if self.draft.registers || others {
            tied.extend(start.then(|| START.to_string()));
        }
        if !tied.is_empty() {
            let list: Vec<String> = tied.iter().map(|port| format!("{port} = 1")).collect();
            let _ = writeln!(self.ports, "tied = {{ {} }}", list.join(", "));
            self.taken.extend(tied);
        }
        if self.draft.registers || others {
            return;
        }
        let mut at = 0;
        let mut lines = String::new();
        if start {
            let _ = writeln!(lines, "{CONTROL} = 0x0");
            at = ARGUMENTS;
            self.draft.control = true;
            self.draft.chain = top.ports.contains_key(CONTINUE);
            self.taken.extend(top.ports.keys().filter(|port| is_control(port)).cloned());
        }
        let plain = |port: &&String| {
            let about = &top.ports[*port];
            let fits = about.width.is_some_and(|bits| bits <= WIDEST) && about.direction != PortDirection::Other;
            fits && !self.taken.contains(*port) && !self.refused.contains(*port) && !port.ends_with("_ap_ack")
        };
        let mut found: Vec<String> = top.ports.keys().filter(plain).cloned().collect();
        let counts = |port: &String| port.strip_suffix(COUNTS).is_some_and(|base| top.ports.contains_key(base));
        self.taken.extend(found.iter().filter(|port| counts(port)).cloned());
        found.retain(|port| !counts(port));
        // Inputs first, and results behind them.
        found.sort_by_key(|port| (top.ports[port].direction != PortDirection::Input, port == "ap_return", top.ports[port].place.clone()));
        for port in found {
            let about = &top.ports[&port];
            let bits = about.width.unwrap_or(1);
            let _ = writeln!(lines, "{port} = {at:#x}");
            let input = about.direction == PortDirection::Input;
            self.draft.wires.push(DraftRegister { name: port.clone(), offset: at, input, bits: bits as u32 });
            let step = if start { ARGUMENT } else { 4 };
            at += (bytes(bits) as u32).next_multiple_of(step);
            self.taken.insert(port);
        }
        if lines.is_empty() {
            return;
        }
        let size = at.max(16).next_power_of_two();
        let _ = write!(
            self.registers,
            "\n[registers]         # each is a port of the core's\nports = \"wires\"\nbytes = {size}\n[registers.names]\n{lines}"
        );
    }
}
