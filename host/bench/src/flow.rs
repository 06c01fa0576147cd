// SPDX-License-Identifier: Apache-2.0
//! From a record of what the link carried to rates: when each flow began and ended, and what it moved in between.

use towpath_sim::Carried;

/// The packets of one channel's data.
#[derive(Debug, Default)]
pub struct Flow {
    packets: Vec<Carried>,
}

/// A time in which data flows, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first byte goes on the wire.
    pub from: u64,
    /// The last byte has arrived.
    pub to: u64,
}

impl Window {
    /// Its length in picoseconds.
    pub fn picoseconds(self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

impl Flow {
    /// What went to or from a buffer of `bytes` at `address`, in one direction. Tables, rings and interrupts are elsewhere and do not count.
    pub fn of(record: &[Carried], to_card: bool, buffers: &[(u64, u64)]) -> Flow {
        let inside = |packet: &Carried| buffers.iter().any(|(address, bytes)| packet.address.wrapping_sub(*address) < *bytes);
        Flow { packets: record.iter().filter(|packet| packet.to_card == to_card && inside(packet)).copied().collect() }
    }

    /// From its first byte to its last one; none if nothing was carried.
    pub fn window(&self) -> Option<Window> {
        let from = self.packets.iter().map(|packet| packet.start).min()?;
        let to = self.packets.iter().map(|packet| packet.end).max()?;
        Some(Window { from, to })
    }

    /// Payload of all packets.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.bytes)).sum()
    }

    /// Payload of the packets that lie wholly in a window.
    pub fn bytes_in(&self, window: Window) -> u64 {
        let inside = self.packets.iter().filter(|packet| packet.start >= window.from && packet.end <= window.to);
        inside.map(|packet| u64::from(packet.bytes)).sum()
    }
}

/// The time in which all of these flow.
pub fn common(flows: &[Flow]) -> Option<Window> {
    let windows: Option<Vec<Window>> = flows.iter().map(Flow::window).collect();
    let windows = windows?;
    let from = windows.iter().map(|window| window.from).max()?;
    let to = windows.iter().map(|window| window.to).min()?;
    (from < to).then_some(Window { from, to })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(to_card: bool, address: u64, start: u64) -> Carried {
        Carried { to_card, address, bytes: 128, start, end: start + 38 }
    }

    #[test]
    fn only_the_buffers_own_packets_count() {
        let record = [packet(false, 0x1000, 0), packet(false, 0x1080, 38), packet(true, 0x1000, 5), packet(false, 0x9000, 90)];
        let flow = Flow::of(&record, false, &[(0x1000, 256)]);
        assert_eq!((flow.bytes(), flow.window()), (256, Some(Window { from: 0, to: 76 })));
        assert_eq!(Flow::of(&record, true, &[(0x1000, 256)]).bytes(), 128);
        assert_eq!(Flow::of(&record, true, &[(0x5000, 256)]).window(), None);
    }

    #[test]
    fn the_common_time_is_that_of_all_flows() {
        let record = [packet(false, 0, 0), packet(false, 0, 100), packet(true, 0, 50), packet(true, 0, 200)];
        let flows = [Flow::of(&record, false, &[(0, 1)]), Flow::of(&record, true, &[(0, 1)])];
        let window = common(&flows);
        assert_eq!(window, Some(Window { from: 50, to: 138 }));
        assert_eq!(window.map(|window| (flows[0].bytes_in(window), flows[1].bytes_in(window))), Some((128, 128)));
        assert_eq!(common(&[Flow::of(&record, false, &[(0, 1)]), Flow::default()]), None);
    }
}
