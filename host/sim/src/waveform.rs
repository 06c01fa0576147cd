// SPDX-License-Identifier: Apache-2.0
//! Which part of a run the waveforms hold: from a time or an event on, for a while.

use crate::link::{Head, Packet};
use crate::root_complex::CPL_OK;
use crate::settings::Settings;

/// What waveforms may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An interrupt at the root port.
    Interrupt = 1,
    /// A completion with an error at the card, or an upheaval of the link.
    Fault = 2,
    /// A write of the host's at the user core's registers.
    RegisterWrite = 3,
}

/// The part of a run, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Waveform {
    /// Number of the event that is still awaited; 0: none.
    awaits: u8,
    delay: u64,
    length: u64,
}

impl Waveform {
    /// As the user has set it.
    pub fn new(settings: &Settings) -> Waveform {
        let length = if settings.trace_for == 0 { u64::MAX } else { settings.trace_for * 1000 };
        Waveform { awaits: settings.trace_on, delay: settings.trace_from * 1000, length }
    }

    /// What the waveforms hold before anything has happened.
    pub fn begin(&self) -> (u64, u64) {
        if self.awaits == 0 {
            (self.delay, self.delay.saturating_add(self.length))
        } else {
            (u64::MAX, u64::MAX)
        }
    }

    /// A packet has arrived at the card.
    pub fn landed(&mut self, packet: &Packet) -> Option<(u64, u64)> {
        match packet.head {
            Head::Completion { status, poisoned, .. } if status != CPL_OK || poisoned => self.event(Event::Fault, packet.time),
            Head::Posted { bar: towpath_contract::BAR_WINDOW, .. } => self.event(Event::RegisterWrite, packet.time),
            _ => None,
        }
    }

    /// Something happens at `now`: what they are to hold, if this changes it.
    pub fn event(&mut self, event: Event, now: u64) -> Option<(u64, u64)> {
        if self.awaits != event as u8 {
            return None;
        }
        self.awaits = 0;
        let from = now.saturating_add(self.delay);
        Some((from, from.saturating_add(self.length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_of_its_kind_begins_them() {
        let settings = |on, from, length| Settings { trace_on: on, trace_from: from, trace_for: length, ..Settings::default() };
        let mut all = Waveform::new(&settings(0, 0, 0));
        assert_eq!((all.begin(), all.event(Event::Fault, 5)), ((0, u64::MAX), None));
        assert_eq!(Waveform::new(&settings(0, 3, 2)).begin(), (3000, 5000));
        let mut waits = Waveform::new(&settings(2, 1, 2));
        assert_eq!(waits.begin(), (u64::MAX, u64::MAX));
        assert_eq!(waits.event(Event::Interrupt, 10), None);
        assert_eq!(waits.event(Event::Fault, 500), Some((1500, 3500)));
        assert_eq!(waits.event(Event::Fault, 600), None);
    }
}
