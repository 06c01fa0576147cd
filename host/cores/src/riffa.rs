// SPDX-License-Identifier: Apache-2.0
//! Ports of RIFFA's channels, of one or of several side by side. What joins them to streams is in `gateware/compat/riffa`.

use crate::family::Family;
use crate::manifest::{Channel, Direction, Manifest};
use crate::ports::{PortDirection, Top};
use crate::stream::{attributes, differs, pair, signals, Between};
use crate::wrapper::instance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What RIFFA's own names of the ports begin with, in small letters.
pub(crate) const PREFIX: &str = "chnl_";

/// What RIFFA's own cores call the bits of their data.
const WIDTH: &str = "C_PCI_DATA_WIDTH";

/// Signals of a direction: name, whether the core takes it, bits; data has the channel's width.
const RX: [(&str, bool, u64); 9] = [
    ("rx_clk", false, 1),
    ("rx", true, 1),
    ("rx_ack", false, 1),
    ("rx_last", true, 1),
    ("rx_len", true, 32),
    ("rx_off", true, 31),
    ("rx_data", true, 0),
    ("rx_data_valid", true, 1),
    ("rx_data_ren", false, 1),
];
const TX: [(&str, bool, u64); 9] = [
    ("tx_clk", false, 1),
    ("tx", false, 1),
    ("tx_ack", true, 1),
    ("tx_last", false, 1),
    ("tx_len", false, 32),
    ("tx_off", false, 31),
    ("tx_data", false, 0),
    ("tx_data_valid", false, 1),
    ("tx_data_ren", true, 1),
];

fn ports(direction: Direction) -> &'static [(&'static str, bool, u64); 9] {
    match direction {
        Direction::H2c => &RX,
        Direction::C2h => &TX,
    }
}

/// Is it one of the ports of a channel?
pub(crate) fn is_signal(signal: &str) -> bool {
    RX.iter().chain(&TX).any(|(name, _, _)| *name == signal)
}

fn is_riffa(channel: &&Channel) -> bool {
    channel.shape.family == Family::Riffa
}

/// The channel whose ports are those that [ports] does not name: the first; the others' are beside its own.
pub(crate) fn first(manifest: &Manifest) -> Option<&Channel> {
    manifest.channels.iter().find(is_riffa)
}

/// Data bits of a channel at the core, where the manifest does not say them.
fn width(channel: &Channel, path: u32) -> u64 {
    u64::from(channel.shape.width.unwrap_or(path.min(128)))
}

/// That parameter, for a core that has it: the bits of the first channel, unless the manifest sets it.
pub(crate) fn parameter(manifest: &Manifest) -> Option<(&'static str, String)> {
    let first = first(manifest).filter(|_| !manifest.parameters.contains_key(WIDTH))?;
    Some((WIDTH, width(first, manifest.core.width).to_string()))
}

/// For each direction that has such channels: the channels of one bundle of ports, and what stands between them and the path.
pub(crate) fn between(manifest: &Manifest, top: &Top, names: &BTreeMap<String, String>) -> Vec<Between> {
    let mut all = Vec::new();
    for direction in [Direction::H2c, Direction::C2h] {
        // A channel without ports of its own is beside the last one that has some.
        let mut bundles: Vec<Vec<&Channel>> = Vec::new();
        for channel in manifest.channels.iter().filter(is_riffa).filter(|channel| channel.direction == direction) {
            let own = ports(direction).iter().any(|(signal, _, _)| names.contains_key(&format!("{}_{signal}", channel.name)));
            match bundles.last_mut().filter(|_| !own) {
                Some(bundle) => bundle.push(channel),
                None => bundles.push(vec![channel]),
            }
        }
        all.extend(bundles.into_iter().map(|bundle| of_bundle(manifest, &bundle, direction, top, names)));
    }
    all
}

fn of_bundle(manifest: &Manifest, bundle: &[&Channel], direction: Direction, top: &Top, names: &BTreeMap<String, String>) -> Between {
    let mut made = Between { path: Vec::new(), core: BTreeMap::new(), text: String::new(), problems: Vec::new() };
    let (h2c, first) = (direction == Direction::H2c, bundle[0]);
    let path = u64::from(manifest.core.width);
    let own = width(first, manifest.core.width);
    let way = |to_core: bool| if to_core { PortDirection::Input } else { PortDirection::Output };
    if let Some(other) = bundle.iter().find(|channel| width(channel, manifest.core.width) != own) {
        made.problems.push(format!("channels \"{}\" and \"{}\" are side by side: give them one width", first.name, other.name));
    }
    if own > path {
        made.problems.push(format!("channel \"{}\" has {own} bit, and core.width is {path}: make that {own} at least", first.name));
    }
    // The core's ports: each has the channels side by side, the first in the lowest bits.
    for (signal, to_core, bits) in ports(direction) {
        let bits = if *bits == 0 { own } else { *bits };
        let range = if bits > 1 { format!("[{}:0] ", bits - 1) } else { String::new() };
        for channel in bundle {
            let _ = writeln!(made.text, "  logic {range}own_{}_{signal};", channel.name);
        }
        let key = format!("{}_{signal}", first.name);
        let Some(port) = names.get(&key) else {
            let what = format!("channel \"{}\" (ports = \"riffa\") has a port CHNL_{}", first.name, signal.to_uppercase());
            // Of a core that only sends, or only receives.
            let other = if h2c { Direction::C2h } else { Direction::H2c };
            let none = !ports(direction).iter().any(|(signal, ..)| names.contains_key(&format!("{}_{signal}", first.name)));
            if none && ports(other).iter().any(|(signal, ..)| names.contains_key(&format!("{}_{signal}", first.name))) {
                let way = format!("it has none of {direction}: give it direction = \"{other}\" in its [[channel]]");
                made.problems.push(format!("{what}: {way}, or say in [ports] what they are called"));
                break;
            }
            made.problems.push(format!("{what}: say in [ports] what it is called, such as {} = \"CHNL_*\"", first.name));
            continue;
        };
        let has = top.ports[port].width.unwrap_or(0);
        if *signal == "rx_data" || *signal == "tx_data" {
            let one = has / bundle.len() as u64;
            if one != own && one * bundle.len() as u64 == has && matches!(one, 32 | 64 | 128) {
                made.problems.push(format!("port \"{port}\" has {one} bit a channel: write width = {one} in channel \"{}\"", first.name));
                continue;
            }
        }
        made.problems.extend(differs(top, port, way(*to_core), bits * bundle.len() as u64, &first.name, None));
        let parts: Vec<String> = bundle.iter().rev().map(|channel| format!("own_{}_{signal}", channel.name)).collect();
        made.core.insert(key, if parts.len() == 1 { parts[0].clone() } else { format!("{{{}}}", parts.join(", ")) });
    }
    for channel in bundle {
        let (name, prefix) = (&channel.name, channel.prefix());
        let _ = writeln!(made.text, "\n  // Channel \"{name}\", {direction}: {own} bit at the core, {path} here.");
        let side = if h2c { "s" } else { "m" };
        let mut list = vec![pair(("clk", "clk")), pair(("rst_n", "rst_n")), pair((&format!("{side}_reset"), &format!("{prefix}_reset")))];
        for (signal, with, bits) in signals(path) {
            made.path.push((format!("{prefix}_{signal}"), way(with == h2c), bits));
            list.push(pair((&format!("{side}_{signal}"), &format!("{prefix}_{signal}"))));
        }
        for (signal, bits) in attributes(channel) {
            made.path.push((format!("{prefix}_{signal}"), way(h2c), bits));
            list.push(pair((&format!("{side}_{signal}"), &format!("{prefix}_{signal}"))));
        }
        made.path.push((format!("{prefix}_reset"), PortDirection::Input, 1));
        list.extend(ports(direction).iter().map(|(signal, _, _)| pair((signal, &format!("own_{name}_{signal}")))));
        let module = if h2c { "tp_riffa_rx" } else { "tp_riffa_tx" };
        instance(&mut made.text, module, &format!("riffa_{prefix}"), &[format!(".DATA_WIDTH({path})"), format!(".WIDTH({own})")], &list);
    }
    made
}
