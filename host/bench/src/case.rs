// SPDX-License-Identifier: Apache-2.0
//! What is measured ([`Case`]) and what came out ([`Row`]).

use std::fmt;

use serde_json::{json, Value};
use towpath_sim::{strict_wire_limit, Settings, WireLimit};

/// From an interrupt at the root port to the processor: a part of what waking costs, the same in every case.
const DELIVERY_NS: u64 = 200;
/// Of a processor, for a store.
const STORE_NS: u64 = 60;

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Host to card alone.
    H2c,
    /// Card to host alone.
    C2h,
    /// Both at once, independent of each other: two rows.
    Both,
    /// There and back, through a core that sends back what it gets.
    RoundTrip,
}

/// How the program learns of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// It sleeps until the interrupt.
    Interrupt,
    /// It sleeps until the interrupt, which the card raises before the end.
    Early,
    /// It looks all the time.
    Poll,
}

/// How the card is told where the data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// One contiguous buffer.
    Direct,
    /// A table of pages of 4 KiB, none next to the one before.
    List,
    /// The message itself in the card's page.
    Inline,
}

/// What of the core data goes to and comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Its streams.
    Streams,
    /// A memory, which answers [`MEMORY_NS`] late, by transfers.
    Memory,
    /// The same memory, by stores and loads through its window.
    Window,
    /// Its streams, which send to those of another card: of the case, C2H is one way, a pair of channels for each neighbour, and one for the host.
    Peer,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Which way.
    pub way: Way,
    /// Pairs of channels that the core has; all that go this way are busy.
    pub channels: u32,
    /// Data width in bits.
    pub width: u32,
    /// Generation of the link.
    pub generation: u8,
    /// Its lanes.
    pub lanes: u8,
    /// Largest payload of a write, and payload of a full completion.
    pub mps: u32,
    /// Largest read request.
    pub mrrs: u32,
    /// Packets in the card's transmit buffer.
    pub transmit_buffer: u32,
    /// From a read request at the root port to its first completion.
    pub read_latency_ns: u64,
    /// From an interrupt at the root port to the program that slept.
    pub wake_ns: u64,
    /// Bytes of a message.
    pub size: u64,
    /// Messages of each channel that are posted at once; 1: one blocking call after the other.
    pub in_flight: u32,
    /// Messages that one call submits.
    pub batch: u32,
    /// Time of the processor for a store, or for a line of write-combined ones.
    pub store_ns: u64,
    /// How the program waits.
    pub notify: Notify,
    /// How buffers are told.
    pub descriptor: Descriptor,
    /// Part of the link's rate that data link packets take, in thousandths.
    pub dllp_per_mille: u32,
    /// What of the core.
    pub port: Port,
}

/// From an access at a core's AXI4 port to its answer.
pub const MEMORY_NS: u64 = 200;

impl Case {
    /// The settings of the tables that Towpath is measured against: 128 bit, Gen2 x8, MPS 128, MRRS 512, memory 500 ns away, a blocking call
    /// that ends with an interrupt which takes 1 us.
    pub const fn new(way: Way, size: u64) -> Case {
        Case {
            way,
            channels: 1,
            width: 128,
            generation: 2,
            lanes: 8,
            mps: 128,
            mrrs: 512,
            transmit_buffer: 32,
            read_latency_ns: 500,
            wake_ns: 1000,
            size,
            in_flight: 1,
            batch: 1,
            store_ns: STORE_NS,
            notify: Notify::Interrupt,
            descriptor: Descriptor::Direct,
            dllp_per_mille: 0,
            port: Port::Streams,
        }
    }

    /// The simulated link and host of this case.
    pub fn settings(&self) -> Settings {
        Settings {
            generation: self.generation,
            lanes: self.lanes,
            dllp_per_mille: self.dllp_per_mille,
            max_payload: self.mps,
            completion_payload: self.mps,
            max_read: self.mrrs,
            transmit_buffer: self.transmit_buffer,
            memory_latency: self.read_latency_ns,
            store_cost: self.store_ns,
            interrupt_delivery: DELIVERY_NS.min(self.wake_ns),
            wake_cost: self.wake_ns.saturating_sub(DELIVERY_NS),
            ..Settings::default()
        }
    }

    /// What its link carries at best.
    pub fn limit(&self) -> WireLimit {
        strict_wire_limit(&self.settings())
    }

    /// Whether it is among the rows that `--json` writes, which have no field for the others.
    pub fn is_listed(&self) -> bool {
        self.dllp_per_mille == 0 && self.batch == 1 && self.store_ns == STORE_NS && self.port == Port::Streams
    }

    /// The core that it needs: a folder below `cores/`. Those of wide links have more reads in flight.
    pub fn core(&self) -> &'static str {
        match (self.way, self.channels, self.width) {
            (Way::RoundTrip, ..) if self.port == Port::Peer => "bench/ping",
            (_, 1, _) if self.port == Port::Peer => "bench/bench1_peer",
            _ if self.port == Port::Peer => "bench/bench3_peer",
            _ if self.port != Port::Streams => "scratchpad",
            (Way::RoundTrip, ..) => "loopback",
            (_, 8, _) => "bench/bench8",
            (_, _, 128) if self.in_flight > 16 => "bench/bench1_deep",
            (_, _, 256) => "bench/bench1_256",
            (_, _, 512) if self.generation == 5 => "bench/bench1_512_fast",
            (_, _, 512) => "bench/bench1_512",
            _ => "bench/bench1",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { channels, width, generation, lanes, mps, transmit_buffer, read_latency_ns, wake_ns, in_flight, batch, .. } = self;
        let memory = match self.port {
            Port::Streams => "",
            Port::Memory => "memory, ",
            Port::Window => "window, ",
            Port::Peer => "card to card, ",
        };
        write!(
            f,
            "{} {}, {memory}{channels}+{channels} channels, {width} bit, Gen{generation} x{lanes}, ",
            name(self.way),
            bytes(self.size)
        )?;
        write!(
            f,
            "MPS {mps}, {transmit_buffer} packets, latency {read_latency_ns} ns, wake {wake_ns} ns, {in_flight} in flight, {batch} a call, \
             a store {} ns, {:?}, {:?}",
            self.store_ns, self.notify, self.descriptor
        )
    }
}

/// The name of a direction, as in the list of rows.
pub fn name(way: Way) -> &'static str {
    match way {
        Way::H2c => "h2c",
        Way::C2h => "c2h",
        Way::Both => "both",
        Way::RoundTrip => "round-trip",
    }
}

/// `4 KiB`.
pub fn bytes(size: u64) -> String {
    match size {
        _ if size >= 1 << 20 && size % (1 << 20) == 0 => format!("{} MiB", size >> 20),
        _ if size >= 1 << 10 && size % (1 << 10) == 0 => format!("{} KiB", size >> 10),
        _ => format!("{size} B"),
    }
}

/// What one direction of a case came to.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was measured.
    pub case: Case,
    /// `h2c`, `c2h`, `both-h2c`, `both-c2h` or `round-trip`.
    pub direction: &'static str,
    /// Payload over the whole time, from before the first post until the program has seen the last end, per cent of the strict wire limit.
    pub end_to_end_percent: Option<f64>,
    /// Payload over the time in which payload is on the wire, from the first packet's first byte to the last packet's last one; with several
    /// flows, over the time in which all of them flow. Per cent of the strict wire limit.
    pub while_data_flows_percent: Option<f64>,
    /// As end to end, but per cent of the limit in which only headers count.
    pub header_only_percent: Option<f64>,
    /// Simulated time for each message, end to end.
    pub nanoseconds: f64,
    /// With several channels, (largest - smallest) / mean of their bytes while all flow, per cent. Not in the list of rows.
    pub spread_percent: Option<f64>,
}

impl Row {
    /// As one of the rows that `--json` writes.
    pub fn json(&self) -> Value {
        let case = &self.case;
        let rounded = |value: Option<f64>| value.map(|value| (value * 1000.0).round() / 1000.0);
        json!({
            "direction": self.direction,
            "channels": case.channels,
            "width": case.width,
            "generation": case.generation,
            "lanes": case.lanes,
            "mps": case.mps,
            "mrrs": case.mrrs,
            "transmit_buffer": case.transmit_buffer,
            "read_latency_ns": case.read_latency_ns,
            "wake_ns": case.wake_ns,
            "size": case.size,
            "in_flight": case.in_flight,
            "notify": match case.notify {
                Notify::Interrupt => "interrupt",
                Notify::Early => "early",
                Notify::Poll => "poll",
            },
            "descriptor": match case.descriptor {
                Descriptor::Direct => "direct",
                Descriptor::List => "list",
                Descriptor::Inline => "inline",
            },
            "end_to_end_percent": rounded(self.end_to_end_percent),
            "while_data_flows_percent": rounded(self.while_data_flows_percent),
            "header_only_percent": rounded(self.header_only_percent),
            "nanoseconds": rounded(Some(self.nanoseconds)),
        })
    }
}
