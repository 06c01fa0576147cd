// SPDX-License-Identifier: Apache-2.0
//! What the link could carry at best: the measure for every percentage that Towpath prints.

use crate::link::{FRAMING_BYTES, LONG_HEADER_BYTES, SHORT_HEADER_BYTES};
use crate::settings::Settings;

/// Payload that the link carries at best, in bytes per microsecond, with nothing else on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireLimit {
    /// Host to card: completions of the size that the root complex gives, with their header of three dwords and 8 bytes of framing.
    pub h2c: f64,
    /// Card to host: writes of MPS above 4 GiB, with their header of four dwords and 8 bytes of framing.
    pub c2h: f64,
    /// Host to card when only headers count, as in papers.
    pub h2c_header_only: f64,
    /// Card to host when only headers count.
    pub c2h_header_only: f64,
}

/// The strict wire limit of a link and host: payload / (payload + header + framing) of the rate after coding and the data link's share.
pub fn strict_wire_limit(settings: &Settings) -> WireLimit {
    let rate = 1e9 / settings.femtoseconds_per_byte() as f64;
    let share = |payload: u32, other: u64| rate * f64::from(payload) / (f64::from(payload) + other as f64);
    let write_header = if settings.iova_base < 1 << 32 { SHORT_HEADER_BYTES } else { LONG_HEADER_BYTES };
    WireLimit {
        h2c: share(settings.completion_payload, SHORT_HEADER_BYTES + FRAMING_BYTES),
        c2h: share(settings.max_payload, write_header + FRAMING_BYTES),
        h2c_header_only: share(settings.completion_payload, SHORT_HEADER_BYTES),
        c2h_header_only: share(settings.max_payload, write_header),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_host_has_the_limits_counted_by_hand() {
        let limit = strict_wire_limit(&Settings::default());
        assert!((limit.h2c - 4000.0 * 128.0 / 148.0).abs() < 1e-9);
        assert!((limit.c2h - 4000.0 * 128.0 / 152.0).abs() < 1e-9);
        assert!((limit.c2h_header_only - 4000.0 * 128.0 / 144.0).abs() < 1e-9);
    }
}
