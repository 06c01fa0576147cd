// SPDX-License-Identifier: Apache-2.0
//! `qos`: the channels' parts of the link.

use serde_json::json;
use towpath::QosChange;

use crate::args::{Cli, Qos};
use crate::exit::Result;
use crate::output;

/// A simulation ends with its program, and other cards are reset when it closes them.
const ENDS: &str =
    "this setting ends with this command, for the card is reset when a program leaves it; set it in the program that moves the \
                    data (Rust: device.set_qos, Python: card.set_qos)";

pub fn qos(cli: &Cli, what: &Qos) -> Result {
    let device = crate::device::open(cli, &what.core)?.device;
    let change = QosChange { weight: what.weight, rate: what.rate, traffic_class: what.class };
    let channels: Vec<_> = match &what.channel {
        None => device.info().channels.clone(),
        Some(channel) => vec![device.channel(channel)?.clone()],
    };
    if let (Some(channel), true) = (channels.first(), change != QosChange::default()) {
        device.set_qos(channel.index, change)?;
        output::eprintln_lossy(ENDS);
    }
    let width = channels.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let (mut list, mut text) = (Vec::new(), String::new());
    for c in &channels {
        let qos = device.qos(c.index)?;
        let rate = match qos.rate {
            0 => "no limit".to_string(),
            rate => format!("{rate} bytes/s"),
        };
        text +=
            &format!("{:<3} {}  {:width$}  weight {:<3}  class {}  {rate}\n", c.index, c.direction, c.name, qos.weight, qos.traffic_class);
        list.push(json!({"index": c.index, "name": c.name, "direction": c.direction.to_string(), "weight": qos.weight, "rate": qos.rate,
                         "class": qos.traffic_class}));
    }
    output::answer(cli, &json!({"channels": list}), &text)
}
