// SPDX-License-Identifier: Apache-2.0
//! The settings of the modelled link and host, with defaults that are one stated host model (a Gen2 x8 link at 128 bit, as in the tables
//! that Towpath measures itself against).
//!
//! Text such as `sim:sobel?mps=256&latency=1000` reaches [`Settings::from_query`]. A new knob is one line of the table below.

use std::fmt;

/// A setting that is unknown, not a number, or out of range. The text contains the error and the valid settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

/// One line of the table of settings, for help texts.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Name in a query.
    pub name: &'static str,
    /// What it is, with its unit.
    pub what: &'static str,
    /// Value when it is not set.
    pub default: u64,
    /// Smallest value.
    pub low: u64,
    /// Largest value.
    pub high: u64,
}

macro_rules! knobs {
    ($($name:literal $field:ident: $type:ty = $default:literal, $low:literal..=$high:literal, $what:literal;)*) => {
        /// Everything that can be set. Times are in nanoseconds, sizes in bytes.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings {
            $(#[doc = $what] #[doc = concat!("\n\nIn a query: `", $name, "`.")] pub $field: $type,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                Settings { $($field: $default,)* }
            }
        }

        impl Settings {
            /// All settings, in the order of the documentation.
            pub const KNOBS: &'static [Knob] = &[$(Knob {
                name: $name, what: $what, default: $default as u64, low: $low as u64, high: $high as u64,
            },)*];

            fn set(&mut self, name: &str, value: u64) {
                match name {
                    $($name => self.$field = value as $type,)*
                    _ => unreachable!("names are looked up in KNOBS first"),
                }
            }

            fn get(&self, name: &str) -> u64 {
                match name {
                    $($name => self.$field as u64,)*
                    _ => unreachable!("names are looked up in KNOBS first"),
                }
            }
        }
    };
}

knobs! {
    "generation" generation: u8 = 2, 1..=5, "PCI Express generation of the link: 2.5, 5, 8, 16 or 32 GT/s a lane";
    "lanes" lanes: u8 = 8, 1..=16, "lanes of the link: 1, 2, 4, 8 or 16";
    "dllp" dllp_per_mille: u32 = 0, 0..=500, "part of the link's rate that data link packets take, in thousandths";
    "mps" max_payload: u32 = 128, 128..=1024, "largest payload of a write or completion (MPS), bytes";
    "mrrs" max_read: u32 = 512, 128..=4096, "largest read request of the card (MRRS), bytes";
    "rcb" read_boundary: u32 = 64, 64..=128, "read completion boundary (RCB), bytes";
    "completion" completion_payload: u32 = 128, 64..=1024, "payload of a full completion: completions end at its multiples, bytes";
    "latency" memory_latency: u64 = 500, 0..=1_000_000, "from a read request at the root port to its first completion, ns";
    "jitter" memory_jitter: u64 = 0, 0..=1_000_000, "up to this is added to the latency of each read at random, ns";
    "transmit" transmit_buffer: u32 = 32, 1..=254, "packets in the card's transmit buffer";
    "write" register_latency: u64 = 250, 0..=1_000_000, "from a store of the program to the root port, and back for a read's answer, ns";
    "store" store_cost: u64 = 60, 0..=1_000_000, "time of the processor for each store, ns";
    "poll" poll_cost: u64 = 50, 1..=1_000_000, "time of the processor for looking at memory once, ns";
    "delivery" interrupt_delivery: u64 = 200, 0..=10_000_000, "from an interrupt at the root port to the processor, ns";
    "wake" wake_cost: u64 = 800, 0..=10_000_000, "from there to the program when it was asleep, ns";
    "peer" peer_latency: u64 = 150, 0..=1_000_000, "through the fabric from one card's root port to another's, ns";
    "peer_rate" peer_rate: u32 = 1000, 1..=1000, "at which the fabric passes on what other cards send to a card, in thousandths of the link's rate";
    "overtaking" overtaking: u8 = 0, 0..=1, "the host's accesses to a card overtake what other cards have sent to it, while that is on its way: 0 or 1";
    "vectors" vectors: u16 = 128, 1..=128, "MSI-X vectors that the function offers the host, of those that the card has";
    "read_timeout" read_timeout: u64 = 4_000_000, 1_000..=1_000_000_000, "after which a read of a card that does not answer is all ones, ns";
    "iova" iova_base: u64 = 0x1_0000_0000, 0x10_0000..=0x2000_0000_0000, "where memory appears to the card; above 4 GiB headers have four words";
    "tags" tag_bits: u8 = 8, 5..=10, "bits of a tag that the card may use: 5, 8 or 10";
    "relaxed" relaxed: u8 = 1, 0..=1, "relaxed ordering is allowed: 0 or 1";
    "completion_timeout" completion_timeout: u8 = 0, 0..=15, "the card's completion timeout, as in Device Control 2: 0 is 50 ms, 1 100 us, 2 10 ms, 15 is none";
    "credits" posted_credits: u32 = 32, 1..=1_000_000, "packets that the card's receive buffer takes before it holds back the host's writes";
    "completion_headers" completion_headers: u32 = 36, 1..=1_000_000, "completions that the card's receive buffer holds; one more ends the run";
    "completion_data" completion_data: u32 = 461, 8..=1_000_000, "units of 16 bytes that it holds of completions' payload; one more ends the run";
    "trace_on" trace_on: u8 = 0, 0..=3, "waveforms begin at once (0), at the first interrupt (1), fault on the link (2), or write of a user register (3)";
    "trace_from" trace_from: u64 = 0, 0..=1_000_000_000_000, "waveforms begin so much later, ns";
    "trace_for" trace_for: u64 = 0, 0..=1_000_000_000_000, "and end after so much, 0: with the card, ns";
    "seed" seed: u64 = 1, 0..=0xffff_ffff_ffff_ffff, "of everything random";
    "reorder" reorder: u8 = 0, 0..=1, "completions of different reads in random order: 0 or 1";
    "split" split: u8 = 0, 0..=1, "completions split at random legal places: 0 or 1";
    "scatter" scatter: u8 = 0, 0..=1, "write-combining stores split and in random order: 0 or 1";
    "fault_drop" fault_drop: u32 = 0, 0..=1_000_000, "reads of the card that are never answered, or not to the end, in a million";
    "fault_late" fault_late: u32 = 0, 0..=1_000_000, "reads of the card that are answered `late`, in a million";
    "fault_ur" fault_unsupported: u32 = 0, 0..=1_000_000, "reads of the card answered with unsupported request, in a million";
    "fault_ca" fault_abort: u32 = 0, 0..=1_000_000, "reads of the card answered with completer abort, in a million";
    "fault_poison" fault_poison: u32 = 0, 0..=1_000_000, "reads of the card answered with poisoned data, in a million";
    "fault_duplicate" fault_duplicate: u32 = 0, 0..=1_000_000, "reads of the card to which a completion comes twice, in a million";
    "fault_unexpected" fault_unexpected: u32 = 0, 0..=1_000_000, "completions to a tag that is not out, in a million reads of the card";
    "fault_count" fault_count: u32 = 0, 0..=1_000_000, "reads of the card answered with a wrong byte count, in a million";
    "fault_length" fault_length: u32 = 0, 0..=1_000_000, "reads of the card answered with a wrong length, in a million";
    "fault_address" fault_address: u32 = 0, 0..=1_000_000, "reads of the card answered with a wrong lower address, in a million";
    "fault_link" fault_link: u32 = 0, 0..=1_000_000, "times that the link goes down, in a million reads of the card";
    "fault_mastering" fault_mastering: u32 = 0, 0..=1_000_000, "times that bus mastering is switched off, in a million reads of the card";
    "late" late: u64 = 250_000, 0..=1_000_000_000, "how much later a late answer comes, ns";
    "quiet" quiet: u64 = 1_000_000, 1000..=1_000_000_000_000, "clocks without anything on the link after which time goes slowly, for a card that is served";
    "outage" outage: u64 = 20_000, 0..=1_000_000_000, "how long the link is down, or bus mastering off, ns";
}

impl Settings {
    /// From text such as `mps=256&latency=1000`; what is not named keeps its default. Numbers are decimal, or hexadecimal with `0x`.
    pub fn from_query(query: &str) -> Result<Settings, SettingsError> {
        Settings::from_query_beside(query, &[])
    }

    /// The same, for a caller with settings of its own, taken from the query before: errors list these, too.
    ///
    /// # Errors
    /// As [`Settings::from_query`].
    pub fn from_query_beside(query: &str, others: &[&str]) -> Result<Settings, SettingsError> {
        let mut settings = Settings::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, text) =
                pair.split_once('=').ok_or_else(|| SettingsError(format!("setting `{pair}` has no value; write `{pair}=NUMBER`")))?;
            let Some(knob) = Self::KNOBS.iter().find(|knob| knob.name == name) else {
                let names: Vec<&str> = Self::KNOBS.iter().map(|knob| knob.name).chain(others.iter().copied()).collect();
                return Err(SettingsError(format!("the simulator has no setting `{name}`; there are {}", names.join(", "))));
            };
            let value = match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => text.parse(),
            }
            .map_err(|_| SettingsError(format!("setting `{name}` is not a number: `{text}`; it is the {}", knob.what)))?;
            if value < knob.low || value > knob.high {
                let Knob { low, high, what, .. } = knob;
                return Err(SettingsError(format!("setting `{name}={text}` is out of range: from {low} to {high}; it is the {what}")));
            }
            settings.set(name, value);
        }
        settings.check()?;
        Ok(settings)
    }

    /// Whether the settings are consistent: ranges, powers of two, and what depends on each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        for knob in Self::KNOBS {
            let value = self.get(knob.name);
            if value < knob.low || value > knob.high {
                return Err(SettingsError(format!("setting `{}={value}` is out of range: from {} to {}", knob.name, knob.low, knob.high)));
            }
        }
        for name in ["mps", "mrrs", "rcb", "completion", "lanes"] {
            if !self.get(name).is_power_of_two() {
                return Err(SettingsError(format!("setting `{name}={}` is not a power of two", self.get(name))));
            }
        }
        if self.completion_payload > self.max_payload {
            let (completion, mps) = (self.completion_payload, self.max_payload);
            return Err(SettingsError(format!("a completion of `completion={completion}` is longer than `mps={mps}` allows")));
        }
        if self.completion_payload < self.read_boundary {
            let (completion, rcb) = (self.completion_payload, self.read_boundary);
            return Err(SettingsError(format!("`completion={completion}` does not reach the next boundary of `rcb={rcb}`")));
        }
        if ![5, 8, 10].contains(&self.tag_bits) {
            return Err(SettingsError(format!("a tag has 5, 8 or 10 bits, not `tags={}`", self.tag_bits)));
        }
        if self.iova_base % 4096 != 0 {
            return Err(SettingsError(format!("`iova={:#x}` is not the start of a page of 4096 bytes", self.iova_base)));
        }
        Ok(())
    }

    /// Megatransfers a second of a lane, and its line code: 8b/10b in generations 1 and 2, 128b/130b later.
    fn line(&self) -> (u64, u64, u64) {
        match self.generation {
            1 => (2_500, 8, 10),
            2 => (5_000, 8, 10),
            3 => (8_000, 128, 130),
            4 => (16_000, 128, 130),
            _ => (32_000, 128, 130),
        }
    }

    /// Femtoseconds that one byte takes on the link, in each direction, after the line code and the data link's share, rounded.
    pub fn femtoseconds_per_byte(&self) -> u64 {
        let (megatransfers, plain, coded) = self.line();
        let rate = megatransfers * u64::from(self.lanes) * plain * u64::from(1000 - self.dllp_per_mille);
        (8 * coded * 1_000_000_000 * 1000 + rate / 2) / rate
    }

    /// Rate of the link in each direction after the line code and the data link's share, in bytes per microsecond, rounded.
    pub fn bytes_per_us(&self) -> u64 {
        let (megatransfers, plain, coded) = self.line();
        let rate = megatransfers * u64::from(self.lanes) * plain * u64::from(1000 - self.dllp_per_mille);
        (rate + 4 * coded * 1000) / (8 * coded * 1000)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_legal_and_within_their_own_ranges() {
        Settings::default().check().unwrap();
        assert_eq!(Settings::from_query("").unwrap(), Settings::default());
    }

    #[test]
    fn a_query_sets_what_it_names() {
        let settings = Settings::from_query("mps=256&latency=1000&seed=0x10&reorder=1").unwrap();
        assert_eq!((settings.max_payload, settings.memory_latency, settings.seed, settings.reorder), (256, 1000, 16, 1));
        assert_eq!(settings.max_read, 512);
    }

    #[test]
    fn errors_name_the_setting_and_what_there_is() {
        let text = |query: &str| Settings::from_query(query).unwrap_err().to_string();
        assert!(text("msp=256").contains("`msp`") && text("msp=256").contains("mps"));
        assert!(text("mps=abc").contains("`abc`"));
        assert!(text("mps").contains("mps=NUMBER"));
        assert!(text("mps=64").contains("from 128 to 1024"));
        assert!(text("mps=384").contains("power of two"));
        assert!(text("completion=256").contains("mps=128"));
        assert!(text("tags=7").contains("5, 8 or 10"));
        assert!(text("rcb=128&completion=64").contains("rcb=128"));
    }

    #[test]
    fn rates_are_those_of_the_specification() {
        let rate = |query: &str| Settings::from_query(query).unwrap().bytes_per_us();
        assert_eq!(rate("generation=1&lanes=1"), 250);
        assert_eq!(rate("generation=2&lanes=8"), 4000);
        assert_eq!(rate("generation=3&lanes=8"), 7877); // 7.877 GB/s
        assert_eq!(rate("generation=4&lanes=16"), 31508);
        assert_eq!(rate("generation=5&lanes=16"), 63015);
        assert_eq!(rate("generation=2&lanes=8&dllp=50"), 3800);
    }

    #[test]
    fn the_guide_lists_every_setting() {
        let guide = include_str!("../../../docs/guide/simulator.md");
        for knob in Settings::KNOBS {
            let row = guide.lines().find(|line| line.starts_with(&format!("| `{}` |", knob.name)));
            let default =
                row.and_then(|row| row.split('|').nth(2)).map(|text| Settings::from_query(&format!("{}={}", knob.name, text.trim())));
            let Some(Ok(settings)) = default else { panic!("docs/guide/simulator.md: no row, or no number, for `{}`", knob.name) };
            assert_eq!(settings, Settings::default(), "docs/guide/simulator.md: the default of `{}`", knob.name);
            assert!(row.is_some_and(|row| row.contains(knob.what)), "docs/guide/simulator.md: what `{}` is", knob.name);
        }
    }
}
