// SPDX-License-Identifier: Apache-2.0
//! What stands between two cards on PCI Express, and whether one's writes reach the other. Changes nothing.

use std::fs;

use crate::system::{Function, System};
use crate::{Address, Finding};

const CHECK: &str = "peers";
/// Extended capabilities begin here in configuration space; that of access control services, and its control word.
const EXTENDED: usize = 0x100;
const ACS: u32 = 0x000d;
const ACS_CONTROL: usize = 6;
/// Bits of the control word.
const REDIRECT: u16 = 1 << 2;
const EGRESS: u16 = 1 << 5;
/// Where the root complex is in the way.
const TOGETHER: &str = "# put both cards below one switch, or measure: some machines pass these writes, at a fraction of the link's rate";

/// The way of one card's writes to another card.
pub fn between(system: &System, one: &Function, other: &Function) -> Finding {
    let subject = format!("{} and {}", one.address, other.address);
    let (Some(from), Some(to)) = (Way::of(one), Way::of(other)) else {
        return Finding::warning(subject, CHECK, "where the two are on the fabric cannot be read", "lspci -D -t -v");
    };
    if from.host != to.host {
        let seen =
            format!("below different host bridges ({}, {}): few machines pass a card's writes from one to another", from.host, to.host);
        return Finding::warning(subject, CHECK, seen, TOGETHER);
    }
    let shared = from.ports.iter().zip(&to.ports).take_while(|(one, other)| one == other).count();
    match (from.ports.get(shared), to.ports.get(shared)) {
        (Some(one_port), Some(other_port)) if shared > 0 => below_a_switch(system, subject, [*one_port, *other_port], [one, other]),
        (Some(one_port), Some(other_port)) => {
            let seen = format!(
                "below different root ports ({one_port}, {other_port}): PCI Express does not ask the root complex to pass writes between them, \
                 and no register says whether this one does{}",
                shared_group([one, other])
            );
            Finding::warning(subject, CHECK, seen, TOGETHER)
        }
        _ => {
            let seen = format!(
                "both are behind one port of the fabric, which may pass nothing back to where it came from{}",
                shared_group([one, other])
            );
            Finding::warning(subject, CHECK, seen, "# put the cards into two slots")
        }
    }
}

/// Both are below one switch, each below another of its ports.
fn below_a_switch(system: &System, subject: String, ports: [Address; 2], cards: [&Function; 2]) -> Finding {
    let controls = ports.map(|port| control_of(system, port));
    let named = format!("{} and {}", ports[0], ports[1]);
    if controls.iter().any(Option::is_none) {
        let seen = format!("below one switch, by its ports {named}; their access control cannot be read by this user");
        return Finding::warning(subject, CHECK, seen, "sudo towpath doctor");
    }
    let with =
        |bit: u16| ports.iter().zip(&controls).filter(move |(_, control)| control.is_some_and(|c| c & bit != 0)).map(|(port, _)| port);
    let closed: Vec<String> = with(EGRESS).map(|port| format!("sudo setpci -s {port} ECAP_ACS+6.w=0:20")).collect();
    if !closed.is_empty() {
        let seen =
            format!("below one switch, by its ports {named}, of which {} may block writes to the other (ACS egress control)", closed.len());
        return Finding::problem(subject, CHECK, seen, closed.join("; "));
    }
    // A program's addresses through VFIO are never those of a BAR, so no switch takes them for a neighbour's.
    let way = "writes of a pair through VFIO go up to the root port, are translated there and come down again: each crosses the link above the switch twice";
    let groups = match (cards.map(|card| card.group), shared_group(cards)) {
        (_, shared) if !shared.is_empty() => shared,
        ([Some(one), Some(other)], _) => format!("; IOMMU groups {one} and {other}"),
        _ => String::new(),
    };
    let redirected = match with(REDIRECT).count() {
        2 => "its access control sends all between them to the root (P2P Request Redirect)",
        _ => "its access control lets cards reach each other's BARs past the IOMMU (P2P Request Redirect is off)",
    };
    Finding::ok(subject, CHECK, format!("below one switch, by its ports {named}: {way}; {redirected}{groups}"))
}

/// What follows where the IOMMU does not tell the two apart.
fn shared_group(cards: [&Function; 2]) -> String {
    match cards.map(|card| card.group) {
        [Some(one), Some(other)] if one == other => {
            format!("; both are in IOMMU group {one}: one program has to open both, and each reaches what is mapped for the other")
        }
        _ => String::new(),
    }
}

/// The bridges above a card.
struct Way {
    host: String,
    /// From the root port on.
    ports: Vec<Address>,
}

impl Way {
    /// As the folders say: each stands in that of the bridge above it.
    fn of(card: &Function) -> Option<Way> {
        let path = fs::canonicalize(&card.path).ok()?;
        let names: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let host = names.iter().rposition(|name| name.starts_with("pci") && name.contains(':'))?;
        let above = &names[host + 1..names.len() - 1];
        let ports = above.iter().map(|name| name.parse().ok()).collect::<Option<_>>()?;
        Some(Way { host: names[host].into(), ports })
    }
}

/// The control word of a port's access control, 0 where it has none; nothing where this user may not read it.
fn control_of(system: &System, port: Address) -> Option<u16> {
    control(&fs::read(system.sys.join(format!("bus/pci/devices/{port}/config"))).ok()?)
}

fn control(bytes: &[u8]) -> Option<u16> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let mut at = EXTENDED;
    // No more capabilities than there is room for.
    for _ in 0..(4096 - EXTENDED) / 4 {
        let head = word(at)?;
        if head & 0xffff == ACS {
            return word(at + 4).map(|word| (word >> (8 * (ACS_CONTROL - 4))) as u16);
        }
        at = (head >> 20) as usize & !3;
        if at < EXTENDED {
            break;
        }
    }
    Some(0)
}
