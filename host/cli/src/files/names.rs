// SPDX-License-Identifier: Apache-2.0
//! The names that a card's channels have as files.

use towpath::{Device, Direction};

use crate::args::Names;

/// What stands behind a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// An H2C stream, which is written.
    Written,
    /// A C2H stream, which is read.
    Read,
    /// A memory of so many bytes.
    Memory(u64),
    /// By VerCoLib's names: the card, for calls of ioctl(2).
    Card,
}

/// A file, and the channel or memory that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub file: String,
    pub channel: String,
    pub behind: Behind,
    /// As with Xillybus, each write is on its way at once. So it is a message, and a close is an empty one.
    pub at_once: bool,
    /// Whose rules it follows.
    pub names: Names,
}

/// The streams and memories of a card, in the order of its channels.
pub fn entries(device: &Device, names: Names) -> Vec<Entry> {
    let at_once = names == Names::Xillybus;
    let mut counted = [0, 0];
    let streams = device.info().channels.iter().filter(|channel| channel.is_stream()).map(|channel| {
        let written = channel.direction == Direction::H2c;
        let number = &mut counted[usize::from(written)];
        let file = match names {
            Names::Towpath => channel.name.clone(),
            Names::Xillybus => format!("xillybus_{}", channel.name),
            // As the FPGA sees it.
            Names::Vercolib => format!("vcl_0_{}_{number}", if written { "rx" } else { "tx" }),
        };
        *number += 1;
        Entry { file, channel: channel.name.clone(), behind: if written { Behind::Written } else { Behind::Read }, at_once, names }
    });
    let memories = device.memories().into_iter().map(|memory| {
        let file = if names == Names::Xillybus { format!("xillybus_{}", memory.name) } else { memory.name.clone() };
        Entry { file, channel: memory.name, behind: Behind::Memory(memory.bytes), at_once, names }
    });
    let mut all: Vec<Entry> = streams.collect();
    all.extend(memories);
    if names == Names::Vercolib {
        all.push(Entry { file: "vcl_0".into(), channel: String::new(), behind: Behind::Card, at_once, names });
    }
    all
}
