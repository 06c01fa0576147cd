// SPDX-License-Identifier: Apache-2.0
//! Families of ports: what a channel's ports at the core are, where they are no AXI4-Stream. `ports = "fifo"` in a manifest.

use crate::manifest::{Channel, Direction};
use crate::ports::PortDirection;
use crate::stream::Between;
use crate::{epee, fifo, riffa, xillybus};

/// What a channel's ports at the core are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// AXI4-Stream.
    #[default]
    Stream,
    /// A FIFO whose word stands at its output in the clock after it was asked for.
    Fifo,
    /// A FIFO whose next word stands at its output by itself.
    FallThrough,
    /// The same with signals that are active low, as high-level synthesis has it.
    ApFifo,
    /// The channels of RIFFA.
    Riffa,
    /// Streams and files of Xillybus.
    Xillybus,
    /// EPEE's FIFOs, whose next word stands at the output by itself.
    Epee,
    /// The same, where a word stands there in the clock after it was asked for.
    EpeeFifo,
    /// Of a memory: the core is a master of AXI4.
    AxiMaster,
    /// Of a memory: an array outside of the core, as high-level synthesis has it.
    ApMemory,
}

impl Family {
    /// Words for it in a manifest.
    const NAMES: [(&'static str, Family); 10] = [
        ("stream", Family::Stream),
        ("fifo", Family::Fifo),
        ("fwft", Family::FallThrough),
        ("ap_fifo", Family::ApFifo),
        ("riffa", Family::Riffa),
        ("xillybus", Family::Xillybus),
        ("epee", Family::Epee),
        ("epee_fifo", Family::EpeeFifo),
        ("axi_master", Family::AxiMaster),
        ("ap_memory", Family::ApMemory),
    ];

    /// By its word, or what to write.
    pub(crate) fn of(word: &str) -> Result<Family, String> {
        let found = Family::NAMES.iter().find(|(name, _)| *name == word).map(|(_, family)| *family);
        found.ok_or_else(|| {
            let known: Vec<&str> = Family::NAMES.iter().map(|(name, _)| *name).collect();
            format!("ports = \"{word}\": there are: {}", known.join(", "))
        })
    }

    /// Its word in a manifest.
    pub fn name(self) -> &'static str {
        Family::NAMES.iter().find(|(_, family)| *family == self).map_or("stream", |(name, _)| name)
    }

    /// Is it one of those with words, and ends of message by count?
    pub(crate) fn is_fifo(self) -> bool {
        matches!(self, Family::Fifo | Family::FallThrough | Family::ApFifo)
    }

    /// Is it EPEE's?
    pub(crate) fn is_epee(self) -> bool {
        matches!(self, Family::Epee | Family::EpeeFifo)
    }

    /// An entry without a direction is a channel for each.
    pub(crate) fn has_both(self) -> bool {
        self == Family::Riffa
    }
}

impl Channel {
    /// What the names of its ports begin with, where everything but the core and what is next to it sees them.
    pub(crate) fn prefix(&self) -> String {
        if self.shape.family == Family::Xillybus {
            return format!("{}_{}", self.name, if self.direction == Direction::H2c { "w" } else { "r" });
        }
        match (self.shape.family.has_both(), self.direction) {
            (false, _) => self.name.clone(),
            (true, Direction::H2c) => format!("{}_rx", self.name),
            (true, Direction::C2h) => format!("{}_tx", self.name),
        }
    }

    /// May the core's port be of this channel, by the rest of its name in small letters and by its direction?
    pub(crate) fn has_signal(&self, signal: &str, direction: PortDirection) -> bool {
        match self.shape.family {
            Family::Stream => crate::ports::is_stream(signal),
            Family::Riffa => riffa::is_signal(signal),
            Family::Xillybus => xillybus::is_signal(signal, self.direction),
            Family::Epee | Family::EpeeFifo => epee::is_signal(signal, self.direction),
            Family::AxiMaster => crate::ports::is_axi(signal),
            Family::ApMemory => crate::array::is_signal(signal),
            _ => fifo::is_signal(signal, self.direction, direction),
        }
    }
}

/// Of what stands between the core and the path: the one that this port belongs to, by its name here.
pub(crate) fn behind<'a>(streams: &'a [Between], name: &str) -> Option<&'a Between> {
    streams.iter().find(|between| between.core.contains_key(name) || between.path.iter().any(|(path, _, _)| path == name))
}
