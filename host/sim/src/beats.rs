// SPDX-License-Identifier: Apache-2.0
//! The beats at the user core's streams, for the record of packets: for each channel windows of up to 64 clocks in which it offered anything.

use crate::model::Beats;

/// Clocks in a window: the bits of its masks.
const CLOCKS: u32 = 64;

/// Clocks of one channel; bit 0 of the masks is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of the channel in discovery.
    pub channel: u32,
    /// Time of the first edge and of the last, in picoseconds.
    pub from: u64,
    pub to: u64,
    pub clocks: u32,
    pub valid: u64,
    pub ready: u64,
}

/// The windows that are not full yet, by channel.
#[derive(Debug, Default)]
pub struct BeatLog {
    open: Vec<Window>,
}

impl BeatLog {
    /// An edge of the user core's clock at `now`, before which its streams stood like this. A window begins when its channel offers something, and
    /// ends when it is full.
    pub fn edge(&mut self, now: u64, beats: &Beats, mut done: impl FnMut(&Window)) {
        let channels = [(beats.h2c_valid, beats.h2c_ready, 0), (beats.c2h_valid, beats.c2h_ready, beats.h2c_channels as u32)];
        for (valid, ready, first) in channels {
            let used = u64::BITS - valid.leading_zeros();
            let open = self.open.len() as u32;
            for number in
                0..used.max(if first == 0 { (beats.h2c_channels as u32).min(open) } else { open.saturating_sub(first) }).min(u64::BITS)
            {
                let channel = (first + number) as usize;
                if self.open.len() <= channel {
                    self.open.resize(channel + 1, Window::default());
                }
                let window = &mut self.open[channel];
                let is_valid = valid >> number & 1 != 0;
                if window.clocks == 0 && !is_valid {
                    continue;
                }
                if window.clocks == 0 {
                    *window = Window { channel: channel as u32, from: now, ..Window::default() };
                }
                window.valid |= u64::from(is_valid) << window.clocks;
                window.ready |= (ready >> number & 1) << window.clocks;
                window.clocks += 1;
                window.to = now;
                if window.clocks == CLOCKS {
                    done(window);
                    window.clocks = 0;
                }
            }
        }
    }

    /// What is left.
    pub fn end(&mut self, done: impl FnMut(&Window)) {
        self.open.iter().filter(|window| window.clocks > 0).for_each(done);
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_with_something_offered_is_in_one_window() {
        let mut log = BeatLog::default();
        let mut random = 12345_u64;
        let mut windows = Vec::new();
        let mut wanted = Vec::new();
        for now in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = random >> 40;
            let busy = if now / 300 % 2 == 0 { 7 } else { 0 };
            let beats = Beats {
                h2c_channels: 2,
                h2c_valid: bits & 3 & busy,
                h2c_ready: bits >> 2 & 3,
                c2h_valid: bits >> 4 & 7 & busy,
                c2h_ready: bits >> 7 & 7,
            };
            for channel in 0..5 {
                let (valid, ready) = if channel < 2 {
                    (beats.h2c_valid >> channel, beats.h2c_ready >> channel)
                } else {
                    (beats.c2h_valid >> (channel - 2), beats.c2h_ready >> (channel - 2))
                };
                if valid & 1 != 0 {
                    wanted.push((channel, now, ready & 1));
                }
            }
            log.edge(now, &beats, |window| windows.push(*window));
        }
        log.end(|window| windows.push(*window));
        let mut found = Vec::new();
        for window in &windows {
            assert!(
                window.valid & 1 != 0 && window.clocks <= CLOCKS && window.to == window.from + u64::from(window.clocks) - 1,
                "{window:?}"
            );
            let at = (0..window.clocks).filter(|clock| window.valid >> clock & 1 != 0);
            found.extend(at.map(|clock| (window.channel, window.from + u64::from(clock), window.ready >> clock & 1)));
        }
        found.sort_unstable();
        wanted.sort_unstable();
        assert!(wanted.len() > 10_000 && found == wanted, "{} of {}", found.len(), wanted.len());
    }
}
