// SPDX-License-Identifier: Apache-2.0
//! Stores and loads through the window onto a core's memory.

use towpath::Window;
use towpath_bus::Bus;

use crate::case::{Row, Way};
use crate::measure::{Bench, Result, PAUSE_NS};
use crate::BenchError;

/// Stores with a load behind each that are averaged.
const PAIRS: u32 = 200;
/// From one pair to the next: another word of a beat, and of a page.
const STEP: u64 = 68;

impl Bench<'_> {
    /// Stores of one call, until all are in the memory; or stores of a few bytes, each with a load of them.
    pub(crate) fn window(&self) -> Result<Row> {
        let window = self.device.memory("ram")?.window()?;
        self.slow_down()?;
        self.bus.pass(PAUSE_NS)?;
        match self.case.way {
            Way::H2c => self.stores(&window),
            Way::RoundTrip => self.stores_and_loads(&window),
            _ => Err(BenchError::NotYet("loads through a window".into())),
        }
    }

    /// The limit of the link is that of these stores: what it carries of them, with headers and framing, at its rate.
    fn stores(&self, window: &Window) -> Result<Row> {
        let data: Vec<u8> = (0..self.case.size as u32 / 4).flat_map(|word| word.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
        let before = self.bus.statistics()?;
        window.write_at(&data, 0)?;
        window.flush()?;
        let spent = self.bus.statistics()?.since(&before);
        let mut back = vec![0; data.len()];
        self.device.memory("ram")?.read_at(&mut back, 0)?;
        if back != data {
            return Err(BenchError::Wrong("what was stored is not what is in the memory".into()));
        }
        let wire = self.bus.wire().ok_or_else(|| BenchError::NotYet("nothing counts what is on the wire".into()))?;
        let rate = wire.bytes_per_us as f64;
        let percent = 100.0 * spent.to_card as f64 * 1e6 / (rate * spent.picoseconds as f64);
        Ok(Row { header_only_percent: None, end_to_end_percent: Some(percent), ..self.row("h2c", 1, spent.picoseconds, None) })
    }

    fn stores_and_loads(&self, window: &Window) -> Result<Row> {
        let bytes = self.size();
        let before = self.now()?;
        for number in 0..PAIRS {
            let (data, address) = (vec![number as u8; bytes], u64::from(number) * STEP);
            let mut back = vec![0; bytes];
            window.write_at(&data, address)?;
            window.read_at(&mut back, address)?;
            if back != data {
                return Err(BenchError::Wrong(format!("what was stored at {address:#x} is not what is loaded there")));
            }
        }
        Ok(self.trip((self.now()? - before) as f64 / 1000.0 / f64::from(PAIRS)))
    }
}
