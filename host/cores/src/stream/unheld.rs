// SPDX-License-Identifier: Apache-2.0
//! Streams without `tready`: a core that takes everything, and one that cannot wait, behind which a buffer stands.

use super::{attributes, pair, signals, Shape};
use crate::manifest::{Channel, Direction, Entry, Manifest};
use crate::wrapper::instance;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bytes that find room, where the manifest does not say it.
pub(crate) const BUFFER: u32 = 4096;

/// What becomes of a channel whose source gives a word that finds no room.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// It is an error: the simulation ends, and on a board nothing comes until the channel is reset.
    #[default]
    Stop,
    /// The message ends, an empty one follows, and then the words that find room again.
    End,
}

/// The shape with what an entry says of `tready`; or which key is wrong, and why.
pub(crate) fn unheld(entry: &Entry, direction: Direction, shape: Shape) -> Result<Shape, (&'static str, String)> {
    let tready = entry.tready.unwrap_or(true);
    let keys = [("overflow", entry.overflow.is_some()), ("buffer_bytes", entry.buffer_bytes.is_some())];
    if let Some((key, _)) = keys.into_iter().find(|(_, given)| *given) {
        if tready {
            return Err((key, format!("{key} is for a core that cannot wait: write tready = false, or remove {key}")));
        }
        if direction == Direction::H2c {
            return Err((key, format!("a core without tready takes everything, and nothing waits for it: remove {key}")));
        }
    }
    let buffer_bytes = entry.buffer_bytes.unwrap_or(BUFFER);
    if !buffer_bytes.is_power_of_two() || !(256..=1 << 20).contains(&buffer_bytes) {
        return Err(("buffer_bytes", format!("buffer_bytes = {buffer_bytes}: make it a power of two, 256 to {}", 1 << 20)));
    }
    Ok(Shape { tready, buffer_bytes, overflow: entry.overflow.unwrap_or_default(), ..shape })
}

/// Is there a buffer behind the core?
pub(super) fn is_buffered(channel: &Channel) -> bool {
    !channel.shape.tready && channel.direction == Direction::C2h
}

/// The buffer between the streams `kept_NAME_*` and `core_side_NAME_*`, of so many bits; `side` goes with the first, and `side_NAME` with the second.
/// `told`: the core knows of a reset of its channel.
pub(super) fn buffer(text: &mut String, channel: &Channel, own: u64, side: &str, told: bool) {
    let name = &channel.name;
    let bits: u64 = attributes(channel).iter().map(|(_, bits)| bits).sum::<u64>().max(1);
    let _ = writeln!(text, "  logic [{}:0] side_{name};\n  logic lost_{name}, dropping_{name};", bits - 1);
    let _ = writeln!(text, "  assign kept_{name}_tready = 1'b1;");
    let shape = &channel.shape;
    let flag = |on: bool| u8::from(on);
    let settings = [
        format!(".WIDTH({own})"),
        format!(".SIDE({bits})"),
        format!(".DEPTH({})", u64::from(shape.buffer_bytes) * 8 / own),
        format!(".RESUME({})", flag(shape.overflow == Overflow::End)),
        format!(".ENDS({})", flag(shape.tlast)),
        format!(".TOLD({})", flag(told)),
    ];
    let reset = format!("{name}_reset");
    let mut ports: Vec<String> = [("clk", "clk"), ("rst_n", "rst_n"), ("flush", reset.as_str())].map(pair).into();
    for (letter, prefix) in [("s", "kept"), ("m", "core_side")] {
        let there = signals(own).into_iter().filter(|(signal, ..)| letter == "m" || *signal != "tready");
        ports.extend(there.map(|(signal, ..)| pair((&format!("{letter}_{signal}"), &format!("{prefix}_{name}_{signal}")))));
    }
    let beside = [("s_side", side), ("m_side", &format!("side_{name}")), ("lost", &format!("lost_{name}"))];
    ports.extend(beside.map(pair));
    ports.push(pair(("dropping", &format!("dropping_{name}"))));
    instance(text, "tp_stream_buffer", &format!("buffer_{name}"), &settings, &ports);
}

/// In simulation: what tells, in the core's words, of a word that found no room where that is an error. It is bound into the module around the core.
pub(crate) fn watch(manifest: &Manifest, number: usize, names: &BTreeMap<String, String>) -> String {
    let watched = manifest.channels.iter().filter(|channel| is_buffered(channel) && channel.shape.overflow == Overflow::Stop);
    let mut text = String::new();
    for channel in watched {
        let (name, bytes) = (&channel.name, channel.shape.buffer_bytes);
        let port = names.get(&format!("{name}_tvalid")).map_or("", String::as_str);
        let _ = write!(
            text,
            "
// Tells when channel \"{name}\" has no room for a word of the core's.
module tp_core_lost_{number}_{name} #(
    parameter bit STOPS = 1'b1
) (
    input logic clk,
    input logic valid,
    input logic lost
);
  logic [63:0] beat = 64'd1;
  always_ff @(posedge clk) begin
    if (valid) beat <= beat + 1'b1;
    if (lost)
      tp_check_pkg::breach(STOPS, \"{port}\", $sformatf(\"beat %0d\", beat),
                           \"no room: {bytes} bytes wait for the program, and the port has no tready. Receive sooner, make buffer_bytes of channel \\\"{name}\\\" \
larger, or write overflow = \\\"end\\\" there\");
  end
endmodule
bind tp_core_shim_{number} tp_core_lost_{number}_{name} #(.STOPS({stops})) watch_{name} (
    .clk(clk),
    .valid(own_{name}_tvalid),
    .lost(lost_{name})
);
",
            stops = crate::check::STOPS,
        );
    }
    text
}
