// SPDX-License-Identifier: Apache-2.0
//! Plug-in `tlplog`.

use crate::{Error, Plugin, Result};
use std::fmt;
use std::ops::RangeInclusive;
use towpath_contract as contract;
use towpath_contract::{PluginTlplogEntry, TlpStream};

/// The version of the type that this is written for.
const VERSION: u16 = 1;
/// A register's offset in the plug-in.
const fn at(offset: u64) -> u32 {
    offset as u32
}
const COMMAND: u32 = at(contract::PLUGIN_TLPLOG_COMMAND_OFFSET);
const FILTER: u32 = at(contract::PLUGIN_TLPLOG_FILTER_OFFSET);
const FIRST: u32 = at(contract::PLUGIN_TLPLOG_FIRST_OFFSET);
const LAST: u32 = at(contract::PLUGIN_TLPLOG_LAST_OFFSET);
const LOGGED: u32 = at(contract::PLUGIN_TLPLOG_LOGGED_OFFSET);
/// BARs that a filter names.
const BARS: u8 = 6;

/// Which packets a [`TlpLog`] logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlpFilter {
    /// Those of these streams.
    pub streams: Vec<TlpStream>,
    /// Of accesses to BARs, and of their answers, those of these BARs, 0 to 5.
    pub bars: Vec<u8>,
    /// Of the card's own writes and reads, those that begin in this range of addresses.
    pub addresses: RangeInclusive<u64>,
}

/// All of them.
impl Default for TlpFilter {
    fn default() -> Self {
        TlpFilter { streams: TlpStream::ALL.to_vec(), bars: (0..BARS).collect(), addresses: 0..=u64::MAX }
    }
}

/// A packet between a card and the host, as the card sent or received it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlpEntry {
    /// Counted from 0 since the log was cleared.
    pub number: u64,
    /// When it began, in picoseconds since the card was configured.
    pub time_ps: u64,
    /// Which way it went, and what it is.
    pub stream: TlpStream,
    /// Packets of this stream before this one came faster than the log takes them, and are not in it.
    pub is_after_loss: bool,
    /// Of the first dword: of the card's own requests in memory, of an access to a BAR in the BAR, of an answer its lower address.
    pub address: u64,
    /// Of an access to a BAR: which one.
    pub bar: Option<u8>,
    /// Of its payload; of a read those that it wants.
    pub dwords: u16,
    /// Byte enables of the first dword, and of the last, of a request.
    pub byte_enables: (u8, u8),
    /// Of all but writes.
    pub tag: Option<u16>,
    /// Of an answer: bytes still to come, with this packet's.
    pub byte_count: Option<u16>,
    /// Of an answer: completion status, 0 if it is good.
    pub status: Option<u8>,
    /// Of an answer to the card: its payload is marked as corrupt.
    pub is_poisoned: bool,
    /// Who asked, of an access to a BAR and of its answer: bus, device, function.
    pub requester: Option<u16>,
    /// Traffic class, but of writes to BARs and of answers to the card, of which it is not known: 0.
    pub traffic_class: u8,
    /// Attributes: bit 1 is relaxed ordering.
    pub attributes: u8,
    /// First dword of its payload.
    pub first_dword: Option<u32>,
}

impl TlpEntry {
    fn new(image: &PluginTlplogEntry, number: u64, core_clock_khz: u32) -> std::result::Result<TlpEntry, u8> {
        let header = |mask: u32, lsb: u32| (image.header & mask) >> lsb;
        let ids = |mask: u32, lsb: u32| (image.ids & mask) >> lsb;
        use contract::*;
        let stream = TlpStream::try_from(header(PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_MASK, PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_LSB) as u8)?;
        let clocks = u64::from(image.time_high) << 32 | u64::from(image.time_low);
        let dwords = header(PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_MASK, PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_LSB) as u16;
        use TlpStream::{ReceivedCompletion, ReceivedRead, ReceivedWrite, SentCompletion, SentRead, SentWrite};
        let is_answer = matches!(stream, SentCompletion | ReceivedCompletion);
        let is_write = matches!(stream, SentWrite | ReceivedWrite);
        let of_bar = matches!(stream, ReceivedWrite | ReceivedRead);
        let enables = (
            header(PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_MASK, PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_LSB) as u8,
            header(PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_MASK, PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_LSB) as u8,
        );
        let bar = header(PLUGIN_TLPLOG_ENTRY_HEADER_BAR_MASK, PLUGIN_TLPLOG_ENTRY_HEADER_BAR_LSB) as u8;
        let status = header(PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_MASK, PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_LSB) as u8;
        let tag = ids(PLUGIN_TLPLOG_ENTRY_IDS_TAG_MASK, PLUGIN_TLPLOG_ENTRY_IDS_TAG_LSB) as u16;
        let byte_count = ids(PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_MASK, PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_LSB) as u16;
        Ok(TlpEntry {
            number,
            time_ps: (u128::from(clocks) * 1_000_000_000 / u128::from(core_clock_khz.max(1))) as u64,
            stream,
            is_after_loss: image.ids & PLUGIN_TLPLOG_ENTRY_IDS_LOST_MASK != 0,
            address: image.address,
            bar: of_bar.then_some(bar),
            dwords,
            byte_enables: enables,
            tag: (!is_write).then_some(tag),
            byte_count: is_answer.then_some(byte_count),
            status: is_answer.then_some(status),
            is_poisoned: image.header & PLUGIN_TLPLOG_ENTRY_HEADER_POISONED_MASK != 0,
            requester: (of_bar || stream == SentCompletion).then_some(image.requester),
            traffic_class: ids(PLUGIN_TLPLOG_ENTRY_IDS_TC_MASK, PLUGIN_TLPLOG_ENTRY_IDS_TC_LSB) as u8,
            attributes: header(PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_MASK, PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_LSB) as u8,
            first_dword: (dwords != 0 && !matches!(stream, SentRead | ReceivedRead)).then_some(image.data),
        })
    }

    /// It goes to the card, not to the host.
    pub fn is_to_card(&self) -> bool {
        matches!(self.stream, TlpStream::ReceivedWrite | TlpStream::ReceivedRead | TlpStream::ReceivedCompletion)
    }

    /// The address of the first byte that it names, and how many bytes it carries or wants.
    pub fn extent(&self) -> (u64, u32) {
        let dword_bytes = 4 * u32::from(self.dwords);
        if let Some(count) = self.byte_count {
            return (self.address, dword_bytes.saturating_sub((self.address & 3) as u32).min(count.into()));
        }
        // A request without an enabled byte is a flush; it counts as one (PCI Express Base Specification 2.1, table 2-21).
        let (first, last) = (self.byte_enables.0 & 15, self.byte_enables.1 & 15);
        if first == 0 {
            return (self.address, 1);
        }
        let lead = first.trailing_zeros();
        let tail = (if self.dwords == 1 { first } else { last } << 4).leading_zeros().min(3);
        (self.address + u64::from(lead), dword_bytes.saturating_sub(lead + tail))
    }

    /// Of an answer: its completion status, as the specification calls it.
    pub fn outcome(&self) -> Option<String> {
        Some(match self.status? {
            0 if self.is_poisoned => "poisoned".into(),
            0 => "successful".into(),
            1 => "unsupported request".into(),
            4 => "completer abort".into(),
            other => format!("status {other}"),
        })
    }

    /// The bytes of its payload that are known: those in the first dword.
    pub fn first_bytes(&self) -> Vec<u8> {
        let (from, bytes) = self.extent();
        let known = self.first_dword.map(u32::to_le_bytes);
        known.iter().flatten().skip((from & 3) as usize).take(bytes as usize).copied().collect()
    }
}

/// What a [`TlpLog`] has counted since it was cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlpCounts {
    /// Packets that are in the log, or were.
    pub logged: u64,
    /// Of these, packets that others have overwritten.
    pub overwritten: u64,
    /// Packets that came faster than the log takes them, modulo 2^32.
    pub dropped: u32,
}

/// The last packets between a card and the host, in a ring on the card: a plug-in of type `tlplog`. Accesses of the log itself are not in it. It
/// outlives a reset of the card.
///
/// ```no_run
/// # fn main() -> towpath::Result<()> {
/// # let device = towpath::Device::open("")?;
/// let log = towpath::TlpLog::new(device.plugin("tlplog")?)?;
/// for packet in log.entries() {
///     let packet = packet?;
///     println!("{} ps: {} {:#x}, {} bytes", packet.time_ps, packet.stream.name(), packet.extent().0, packet.extent().1);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TlpLog {
    plugin: Plugin,
    depth: u32,
}

impl TlpLog {
    /// The type in the discovery table.
    pub const TYPE: &'static str = "tlplog";

    /// Takes a plug-in of this type; [`Error::Invalid`] if it is of another, or of another version.
    pub fn new(plugin: Plugin) -> Result<TlpLog> {
        plugin.expect(TlpLog::TYPE, VERSION)?;
        let depth = plugin.read(at(contract::PLUGIN_TLPLOG_DEPTH_OFFSET))?;
        let bytes = u64::from(depth) * 2 * contract::PLUGIN_TLPLOG_ENTRY_BYTES as u64;
        if !depth.is_power_of_two() || bytes != u64::from(plugin.info().bytes) {
            let bytes = plugin.info().bytes;
            return Err(Error::Invalid(format!("plug-in \"{}\": {depth} entries do not fit its {bytes} bytes of registers", TlpLog::TYPE)));
        }
        Ok(TlpLog { plugin, depth })
    }

    /// The plug-in.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Packets that the ring holds.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Log packets from now on.
    pub fn start(&self) -> Result<()> {
        self.plugin.write(COMMAND, contract::PLUGIN_TLPLOG_COMMAND_START_MASK)
    }

    /// Log none from now on. What is in the log stays.
    pub fn stop(&self) -> Result<()> {
        self.plugin.write(COMMAND, contract::PLUGIN_TLPLOG_COMMAND_STOP_MASK)
    }

    /// Empty the log, and begin all counts anew.
    pub fn clear(&self) -> Result<()> {
        self.plugin.write(COMMAND, contract::PLUGIN_TLPLOG_COMMAND_CLEAR_MASK)
    }

    /// Whether packets are logged.
    pub fn is_running(&self) -> Result<bool> {
        Ok(self.plugin.read(at(contract::PLUGIN_TLPLOG_STATUS_OFFSET))? & contract::PLUGIN_TLPLOG_STATUS_RUNNING_MASK != 0)
    }

    /// Which packets are logged.
    pub fn filter(&self) -> Result<TlpFilter> {
        let bits = self.plugin.read(FILTER)?;
        let has = |lsb: u32, number: u8| bits >> (lsb + u32::from(number)) & 1 != 0;
        let streams = TlpStream::ALL.into_iter().filter(|stream| has(contract::PLUGIN_TLPLOG_FILTER_STREAMS_LSB, *stream as u8)).collect();
        let bars = (0..BARS).filter(|bar| has(contract::PLUGIN_TLPLOG_FILTER_BARS_LSB, *bar)).collect();
        Ok(TlpFilter { streams, bars, addresses: self.long(FIRST)?..=self.long(LAST)? })
    }

    /// Set [`TlpLog::filter`]. It takes several writes, and what passes meanwhile is logged by some of them: stop the log before, if that matters.
    pub fn set_filter(&self, filter: &TlpFilter) -> Result<()> {
        if let Some(bar) = filter.bars.iter().find(|bar| **bar >= BARS) {
            return Err(Error::Invalid(format!("no BAR {bar}: there are 0 to {}", BARS - 1)));
        }
        let streams =
            filter.streams.iter().fold(0, |bits, stream| bits | 1 << (contract::PLUGIN_TLPLOG_FILTER_STREAMS_LSB + *stream as u32));
        let bars = filter.bars.iter().fold(0, |bits, bar| bits | 1 << (contract::PLUGIN_TLPLOG_FILTER_BARS_LSB + u32::from(*bar)));
        self.plugin.write(FILTER, streams | bars)?;
        for (offset, value) in [(FIRST, *filter.addresses.start()), (LAST, *filter.addresses.end())] {
            self.plugin.write(offset, value as u32)?;
            self.plugin.write(offset + 4, (value >> 32) as u32)?;
        }
        Ok(())
    }

    /// A register of 64 bits that stands still.
    fn long(&self, offset: u32) -> Result<u64> {
        Ok(u64::from(self.plugin.read(offset)?) | u64::from(self.plugin.read(offset + 4)?) << 32)
    }

    fn logged(&self) -> Result<u64> {
        loop {
            let (high, low) = (self.plugin.read(LOGGED + 4)?, self.plugin.read(LOGGED)?);
            if self.plugin.read(LOGGED + 4)? == high {
                return Ok(u64::from(high) << 32 | u64::from(low));
            }
        }
    }

    /// What has been counted since the log was cleared.
    pub fn counts(&self) -> Result<TlpCounts> {
        let logged = self.logged()?;
        let dropped = self.plugin.read(at(contract::PLUGIN_TLPLOG_DROPPED_OFFSET))?;
        Ok(TlpCounts { logged, overwritten: logged.saturating_sub(self.depth.into()), dropped })
    }

    /// What is in the log, the oldest first. Packets of one stream are in their order; those of different streams may stand some clocks apart from it.
    pub fn entries(&self) -> TlpEntries {
        TlpEntries { log: self.clone(), next: 0, end: 0, overwritten: None }
    }

    /// The same, from the one with this number on.
    pub fn entries_from(&self, number: u64) -> TlpEntries {
        TlpEntries { log: self.clone(), next: number, end: number, overwritten: Some(0) }
    }

    /// The entry with a number, unless there is another one in its place.
    fn entry(&self, number: u64) -> Result<Option<TlpEntry>> {
        const BYTES: usize = contract::PLUGIN_TLPLOG_ENTRY_BYTES;
        let place = BYTES as u32 * (self.depth + (number % u64::from(self.depth)) as u32);
        let mut image = [0; BYTES];
        // The number is read last. An entry replaces another as a whole, so the rest is of the same one or of one before it, which had another number.
        for (offset, dword) in (0..).step_by(4).zip(image.chunks_exact_mut(4)) {
            dword.copy_from_slice(&self.plugin.read(place + offset)?.to_le_bytes());
        }
        let image = PluginTlplogEntry::from_le_bytes(image);
        if image.number != number as u32 {
            return Ok(None);
        }
        let khz = self.plugin.device().info().core_clock_khz;
        let unknown = |stream: u8| Error::Invalid(format!("the log names stream {stream}, which this library does not know"));
        TlpEntry::new(&image, number, khz).map(Some).map_err(unknown)
    }
}

impl fmt::Debug for TlpLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlpLog").field("info", self.plugin.info()).finish()
    }
}

/// Packets of a [`TlpLog`], read one by one while the log goes on. After its end it may be asked again, for those that have come since.
#[derive(Clone, Debug)]
pub struct TlpEntries {
    log: TlpLog,
    next: u64,
    end: u64,
    /// None: nothing has been looked for yet.
    overwritten: Option<u64>,
}

impl TlpEntries {
    /// Packets that were passed over, since the first that was found: others had overwritten them, or were about to.
    pub fn overwritten(&self) -> u64 {
        self.overwritten.unwrap_or(0)
    }

    /// The number of the packet that is looked for next: [`TlpLog::entries_from`] goes on with it. Once a cleared log has been found, it counts anew.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// See how many entries there are now, and go on at those that are there, but for the oldest `spare`, which may be gone soon.
    fn look(&mut self, spare: u64) -> Result<()> {
        self.end = self.log.logged()?;
        if self.end < self.next {
            self.next = 0; // somebody has cleared it
        }
        let kept = u64::from(self.log.depth) - spare;
        let oldest = self.end.saturating_sub(kept);
        let missed = oldest.saturating_sub(self.next);
        self.next += missed;
        self.overwritten = Some(self.overwritten.map_or(0, |before| before + missed));
        Ok(())
    }
}

impl Iterator for TlpEntries {
    type Item = Result<TlpEntry>;

    fn next(&mut self) -> Option<Result<TlpEntry>> {
        if self.next == self.end {
            if let Err(error) = self.look(0) {
                return Some(Err(error));
            }
        }
        // What was overwritten meanwhile is passed over, by ever more, but not for ever: packets may come faster than they are read.
        for quarters in 0..4 {
            if self.next == self.end {
                break;
            }
            match self.log.entry(self.next) {
                Ok(Some(entry)) => {
                    self.next += 1;
                    return Some(Ok(entry));
                }
                Ok(None) => {
                    if let Err(error) = self.look(quarters * u64::from(self.log.depth) / 4) {
                        return Some(Err(error));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use contract::*;

    fn image(stream: TlpStream) -> PluginTlplogEntry {
        let header = [
            (3, PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_LSB),
            (0b1100, PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_LSB),
            (0b0001, PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_LSB),
            (stream as u32, PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_LSB),
            (4, PLUGIN_TLPLOG_ENTRY_HEADER_BAR_LSB),
            (1, PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_LSB),
            (5, PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_LSB),
        ];
        let ids = [
            (0x2AB, PLUGIN_TLPLOG_ENTRY_IDS_TAG_LSB),
            (7, PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_LSB),
            (6, PLUGIN_TLPLOG_ENTRY_IDS_TC_LSB),
            (1, PLUGIN_TLPLOG_ENTRY_IDS_LOST_LSB),
        ];
        let word = |fields: &[(u32, u32)]| fields.iter().fold(0, |word, (value, lsb)| word | value << lsb);
        PluginTlplogEntry {
            address: 0x12_3456_7890,
            header: word(&header),
            ids: word(&ids),
            data: 0x4433_2211,
            requester: 0x0518,
            time_high: 1,
            time_low: 500,
            number: 9,
        }
    }

    #[test]
    fn each_stream_has_its_fields() {
        // 2^32 and 500 clocks of 4 ns.
        let of = |stream| TlpEntry::new(&image(stream), 1 << 32 | 9, 250_000).unwrap();
        let write = of(TlpStream::ReceivedWrite);
        assert_eq!((write.number, write.time_ps), (1 << 32 | 9, ((1 << 32) + 500) * 4000));
        assert_eq!((write.bar, write.requester, write.tag, write.byte_count, write.status), (Some(4), Some(0x0518), None, None, None));
        assert_eq!((write.extent(), write.first_bytes()), ((0x12_3456_7892, 7), vec![0x33, 0x44]));
        assert_eq!((write.traffic_class, write.attributes, write.is_after_loss), (6, 5, true));
        let read = of(TlpStream::SentRead);
        assert_eq!((read.bar, read.requester, read.tag, read.first_dword, read.extent().1), (None, None, Some(0x2AB), None, 7));
        let answer = of(TlpStream::SentCompletion);
        assert_eq!((answer.byte_count, answer.status, answer.requester, answer.bar), (Some(7), Some(1), Some(0x0518), None));
        assert_eq!((answer.outcome().as_deref(), answer.extent()), (Some("unsupported request"), (0x12_3456_7890, 7)));
        assert_eq!(answer.first_bytes(), [0x11, 0x22, 0x33, 0x44]);
        assert!(answer.first_dword.is_some() && !answer.is_to_card() && of(TlpStream::ReceivedCompletion).is_to_card());
        assert_eq!(of(TlpStream::ReceivedCompletion).requester, None);
    }

    #[test]
    fn what_a_request_names_by_its_byte_enables() {
        let mut entry = TlpEntry::new(&image(TlpStream::SentWrite), 0, 250_000).unwrap();
        for (dwords, first, last, extent, known) in [
            (1, 0b1111, 0, (0x90, 4), 4),
            (1, 0b0110, 0, (0x91, 2), 2),
            (1, 0, 0, (0x90, 1), 1),
            (2, 0b1111, 0b0111, (0x90, 7), 4),
            (1024, 0b1000, 0b0001, (0x93, 4090), 1),
        ] {
            (entry.address, entry.dwords, entry.byte_enables) = (0x90, dwords, (first, last));
            assert_eq!((entry.extent(), entry.first_bytes().len()), (extent, known), "{dwords} {first:#b} {last:#b}");
        }
    }
}
