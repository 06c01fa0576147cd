// SPDX-License-Identifier: Apache-2.0
//! One case, measured: a card of its own in a world of its own, driven through the library as any program does. Every byte is compared.
//!
//! What stands between two calls is a pause in which the link falls silent. First calls are not counted: they find the card as it came out of
//! reset, later ones as a running program does.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use towpath::{Buffer, ChannelOptions, Device, Message, Receiver, Sender, Transfer};
use towpath_cores::{build, find_core, towpath_home, BuildOptions};
use towpath_driver::Driver;
use towpath_sim::{PrintKind, PrintSink, SimBus};
use towpath_userspace::UserDriver;

use crate::case::{Case, Descriptor, Notify, Port, Row, Way};
use crate::flow::{common, Flow, Window};
use crate::{peer, BenchError};

pub(crate) type Result<T> = std::result::Result<T, BenchError>;

/// Of a list's pages.
const PAGE: usize = 4096;
/// A run of several messages in flight moves so many bytes at least, so that its beginning and end hardly count.
pub(crate) const LONG_RUN: u64 = 4 << 20;
/// A run of short messages has so many in each direction.
const MANY: u32 = 8192;
/// Round trips that are averaged.
const ROUND_TRIPS: u64 = 16;
/// Between two calls; odd, so that calls meet the card's clock at every phase.
pub(crate) const PAUSE_NS: u64 = 3_001;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Registers of the measuring cores, see `cores/bench/bench_pairs.sv`.
pub(crate) mod register {
    pub const COUNTER_CONTROL: u32 = 0x00;
    pub const COUNTER_LENGTH: u32 = 0x04;
    pub const COUNTER_COUNT: u32 = 0x08;
    pub const SINK: u32 = 0x1000;
    pub const SINK_MESSAGES: u32 = 0x0c;
    pub const SINK_ERRORS: u32 = 0x18;
    pub const PAIR: u32 = 0x2000;
}

/// A buffer and where the card sees it.
pub(crate) struct Place {
    pub(crate) buffer: Buffer,
    address: u64,
}

impl Place {
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.address, self.buffer.len() as u64)
    }
}

pub(crate) struct Bench<'a> {
    pub(crate) case: &'a Case,
    pub(crate) bus: Arc<SimBus>,
    pub(crate) device: Device,
    pub(crate) options: ChannelOptions,
}

/// Measure a case, at the pins of an endpoint if one is named; `progress` is told when a core has to be compiled. One row, or two if both
/// directions run.
pub fn measure(case: &Case, endpoint: Option<&str>, progress: &(dyn Fn(&str) + Sync)) -> Result<Vec<Row>> {
    let notify = match case.notify {
        Notify::Interrupt => towpath::Notify::Interrupt,
        Notify::Poll => towpath::Notify::Poll,
        Notify::Early => towpath::Notify::Early,
    };
    let failed = |why: &dyn std::fmt::Display| BenchError::Core(format!("{}: {why}", case.core()));
    let folder = towpath_home().map_err(|why| failed(&why))?.join("cores").join(case.core());
    let folder = find_core(&folder.to_string_lossy()).map_err(|why| failed(&why))?;
    let tell = |line: &str| {
        if !line.contains("taken from the cache") {
            progress(line);
        }
    };
    let options = BuildOptions { width: Some(case.width), endpoint, progress: Some(&tell), ..BuildOptions::default() };
    let built = build(&folder, &options).map_err(|why| failed(&why))?;
    let print = Arc::new(|kind: PrintKind, text: &str| log::warn!("{kind:?}: {}", text.trim_end()));
    if case.port == Port::Peer {
        return peer::measure(case, &built.library, &(print as PrintSink));
    }
    let bus = SimBus::open(case.core(), &built.library, case.settings(), None, print, Vec::new()).map_err(|why| failed(&why))?;
    let driver: Arc<dyn Driver> = Arc::new(UserDriver::open(bus.clone())?);
    // Nobody asks for message starts: a program that posts buffers of the right size needs none.
    let bench = Bench { case, bus, device: Device::from_driver(driver), options: ChannelOptions { notify, announce: false } };
    match (case.way, case.in_flight) {
        _ if case.port == Port::Memory => bench.memory(),
        _ if case.port == Port::Window => bench.window().map(|row| vec![row]),
        _ if case.batch > 1 => bench.many(),
        (Way::RoundTrip, _) => bench.round_trips().map(|row| vec![row]),
        (Way::Both, _) => bench.both(),
        (_, 1) if case.channels == 1 => bench.blocking().map(|row| vec![row]),
        (_, 2..) if case.channels == 1 => bench.in_flight().map(|row| vec![row]),
        _ => Err(BenchError::NotYet("one direction of several channels".into())),
    }
}

impl Bench<'_> {
    pub(crate) fn now(&self) -> Result<u64> {
        Ok(self.bus.statistics()?.picoseconds)
    }

    pub(crate) fn size(&self) -> usize {
        self.case.size as usize
    }

    pub(crate) fn place(&self, bytes: usize) -> Result<Place> {
        let buffer = self.device.allocate(bytes)?;
        let address = self.bus.address_of(buffer.as_ptr())?;
        let address = address.ok_or_else(|| BenchError::Wrong("a registered buffer is not mapped for the card".into()))?;
        Ok(Place { buffer, address })
    }

    /// A buffer with the pattern that the sinks expect of each message.
    fn filled(&self) -> Result<Place> {
        let mut place = self.place(self.size())?;
        pattern(place.buffer.as_mut_slice()?);
        Ok(place)
    }

    fn channel(&self, name: &str, index: u32) -> String {
        if self.case.channels == 1 {
            name.to_string()
        } else {
            format!("{name}{index}")
        }
    }

    fn sender(&self, index: u32) -> Result<Sender> {
        let sender = self.device.sender_with(self.channel("in", index), self.options)?;
        sender.set_timeout(Some(TIMEOUT));
        Ok(sender)
    }

    fn receiver(&self, index: u32) -> Result<Receiver> {
        let receiver = self.device.receiver_with(self.channel("out", index), self.options)?;
        receiver.set_timeout(Some(TIMEOUT));
        Ok(receiver)
    }

    fn start_counters(&self) -> Result<()> {
        start_counters(&self.device, self.case.size as u32)
    }

    /// The sinks have seen so many messages each, and nothing but the pattern.
    fn check_sinks(&self, messages: u64) -> Result<()> {
        let registers = self.device.registers();
        for pair in 0..self.case.channels {
            let base = register::SINK + register::PAIR * pair;
            let (seen, errors) = (registers.read(base + register::SINK_MESSAGES)?, registers.read(base + register::SINK_ERRORS)?);
            if (u64::from(seen), errors) != (messages, 0) {
                return Err(BenchError::Wrong(format!("the core got {seen} messages of {messages}, with {errors} wrong bytes")));
            }
        }
        Ok(())
    }

    /// One row from bytes, the time they took, and payload and window of the flow.
    pub(crate) fn row(&self, direction: &'static str, messages: u64, picoseconds: u64, flow: Option<(u64, u64)>) -> Row {
        let limit = self.case.limit();
        let (strict, headers) = match direction {
            "h2c" | "both-h2c" => (limit.h2c, limit.h2c_header_only),
            _ => (limit.c2h, limit.c2h_header_only),
        };
        // Bytes in a microsecond, as limits are.
        let rate = |bytes: u64, picoseconds: u64| bytes as f64 * 1e6 / picoseconds as f64;
        let all = rate(messages * self.case.size, picoseconds);
        Row {
            case: *self.case,
            direction,
            end_to_end_percent: Some(100.0 * all / strict),
            while_data_flows_percent: flow.filter(|(_, time)| *time > 0).map(|(bytes, time)| 100.0 * rate(bytes, time) / strict),
            header_only_percent: Some(100.0 * all / headers),
            nanoseconds: picoseconds as f64 / 1000.0 / messages as f64,
            spread_percent: None,
        }
    }

    /// How many blocking calls are averaged.
    fn calls(&self) -> u64 {
        (LONG_RUN / 4 / self.case.size.max(1)).clamp(1, 8)
    }

    /// One blocking call after the other, on an idle link each.
    fn blocking(&self) -> Result<Row> {
        if self.case.way == Way::H2c {
            let sender = self.sender(0)?;
            let place = match self.case.descriptor {
                Descriptor::List => self.place(2 * self.size())?,
                _ => self.filled()?,
            };
            let range = place.range();
            let mut buffer = place.buffer;
            if self.case.descriptor == Descriptor::List {
                let pages = scattered(buffer.len());
                let mut at = 0;
                for page in &pages {
                    pattern_from(&mut buffer.as_mut_slice()?[page.clone()], at);
                    at += page.len();
                }
                self.calls_of(range, |_| Ok(sender.send_buffer_with(&buffer, &pages, Message::default(), sender.timeout().into())?))
            } else {
                self.calls_of(range, |_| Ok(sender.send_buffer(&buffer, .., Message::default())?))
            }
            .and_then(|row| self.check_sinks(self.calls() + self.calls_before()).map(|()| row))
        } else {
            let receiver = self.receiver(0)?;
            self.start_counters()?;
            if self.case.descriptor == Descriptor::List {
                let mut place = self.place(2 * self.size())?;
                let range = place.range();
                self.calls_of(range, |_| {
                    let pages = scattered(place.buffer.len());
                    let got = receiver.recv_buffer_with(&mut place.buffer, &pages, receiver.timeout().into())?;
                    self.check_length(got.bytes, got.end_of_message)?;
                    let memory = place.buffer.as_mut_slice()?;
                    let mut at = 0;
                    for page in pages {
                        check(&memory[page.clone()], at)?;
                        at += page.len();
                    }
                    memory.fill(0);
                    Ok(())
                })
            } else {
                let mut place = self.place(self.size())?;
                let range = place.range();
                self.calls_of(range, |_| {
                    let got = receiver.recv_buffer(&mut place.buffer, ..)?;
                    self.check_length(got.bytes, got.end_of_message)?;
                    let buffer = place.buffer.as_mut_slice()?;
                    check(buffer, 0)?;
                    buffer.fill(0);
                    Ok(())
                })
            }
        }
    }

    fn check_length(&self, bytes: usize, end: bool) -> Result<()> {
        if bytes != self.size() || !end {
            return Err(BenchError::Wrong(format!("{bytes} bytes came, and the message {}", if end { "ended" } else { "did not end" })));
        }
        Ok(())
    }

    /// Calls before those that count. With early wake the library learns from them how much before the end the card is to call.
    fn calls_before(&self) -> u64 {
        if self.case.notify == Notify::Early {
            8
        } else {
            1
        }
    }

    /// The average of some calls, after some that do not count.
    fn calls_of(&self, range: (u64, u64), mut call: impl FnMut(u64) -> Result<()>) -> Result<Row> {
        let (calls, to_card) = (self.calls(), self.case.way == Way::H2c);
        let (mut time, mut flow_bytes, mut flow_time) = (0, 0, 0);
        for number in 0..self.calls_before() + calls {
            self.bus.pass(PAUSE_NS)?;
            self.bus.record(true)?;
            let before = self.now()?;
            call(number)?;
            let after = self.now()?;
            let flow = Flow::of(&self.bus.record(false)?, to_card, &[range]);
            if number >= self.calls_before() {
                time += after - before;
                flow_bytes += flow.bytes();
                flow_time += flow.window().map_or(0, Window::picoseconds);
            }
        }
        Ok(self.row(crate::case::name(self.case.way), calls, time, Some((flow_bytes, flow_time))))
    }

    /// A long run in which the program keeps some messages posted: it waits for the oldest and posts the next.
    fn in_flight(&self) -> Result<Row> {
        let depth = u64::from(self.case.in_flight);
        let messages = (LONG_RUN / self.case.size.max(1)).max(4 * depth);
        let to_card = self.case.way == Way::H2c;
        let mut places = Vec::new();
        for _ in 0..depth {
            places.push(if to_card { self.filled()? } else { self.place(self.size())? });
        }
        let ranges: Vec<(u64, u64)> = places.iter().map(Place::range).collect();
        let (sender, receiver) = if to_card { (Some(self.sender(0)?), None) } else { (None, Some(self.receiver(0)?)) };
        if !to_card {
            self.start_counters()?;
        }
        self.bus.pass(PAUSE_NS)?;
        self.bus.record(true)?;
        let before = self.now()?;
        let mut transfers = VecDeque::<Transfer>::new();
        for number in 0..messages + depth {
            let place = &mut places[(number % depth) as usize];
            if number >= depth {
                let mut transfer = transfers.pop_front().ok_or_else(|| BenchError::Wrong("a transfer is missing".into()))?;
                if let Some(sender) = &sender {
                    transfer.wait(Some(TIMEOUT))?.check(sender.name(), 0)?;
                }
                if let Some(receiver) = &receiver {
                    let done = transfer.wait(Some(TIMEOUT))?.check(receiver.name(), 0)?;
                    self.check_length(done.bytes as usize, done.status == towpath::Status::EndOfMessage)?;
                    check(place.buffer.as_slice()?, 0)?;
                }
            }
            if number < messages {
                if let Some(sender) = &sender {
                    transfers.push_back(sender.submit(&place.buffer, .., Message::default())?);
                }
                if let Some(receiver) = &receiver {
                    place.buffer.as_mut_slice()?.fill(0);
                    transfers.push_back(receiver.submit(&mut place.buffer, ..)?);
                }
            }
        }
        let after = self.now()?;
        let flow = Flow::of(&self.bus.record(false)?, to_card, &ranges);
        if to_card {
            self.check_sinks(messages)?;
        }
        let window = flow.window().map_or(0, Window::picoseconds);
        Ok(self.row(crate::case::name(self.case.way), messages, after - before, Some((flow.bytes(), window))))
    }

    /// All channels of both directions at once. Everything is posted at the beginning, so that nobody is held back by the program.
    fn both(&self) -> Result<Vec<Row>> {
        let (channels, depth) = (self.case.channels, self.case.in_flight);
        let senders = (0..channels).map(|k| self.sender(k)).collect::<Result<Vec<_>>>()?;
        let receivers = (0..channels).map(|k| self.receiver(k)).collect::<Result<Vec<_>>>()?;
        let places = |filled: bool| -> Result<Vec<Vec<Place>>> {
            let one = |_| if filled { self.filled() } else { self.place(self.size()) };
            (0..channels).map(|_| (0..depth).map(one).collect()).collect()
        };
        let (out, mut into) = (places(true)?, places(false)?);
        self.start_counters()?;
        self.bus.pass(PAUSE_NS)?;
        self.bus.record(true)?;
        let before = self.now()?;
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for message in 0..depth as usize {
            for channel in 0..channels as usize {
                received.push((channel, message, receivers[channel].submit(&mut into[channel][message].buffer, ..)?));
                sent.push((channel, senders[channel].submit(&out[channel][message].buffer, .., Message::default())?));
            }
        }
        for (channel, mut transfer) in sent {
            transfer.wait(Some(TIMEOUT))?.check(senders[channel].name(), 0)?;
        }
        let after_h2c = self.now()?;
        for (channel, message, mut transfer) in received {
            let done = transfer.wait(Some(TIMEOUT))?.check(receivers[channel].name(), 0)?;
            self.check_length(done.bytes as usize, done.status == towpath::Status::EndOfMessage)?;
            check(into[channel][message].buffer.as_slice()?, 0)?;
        }
        let after_c2h = self.now()?;
        let record = self.bus.record(false)?;
        self.check_sinks(u64::from(depth))?;

        let flows_of = |to_card: bool, places: &[Vec<Place>]| -> Vec<Flow> {
            let ranges = |own: &Vec<Place>| own.iter().map(Place::range).collect::<Vec<_>>();
            places.iter().map(|own| Flow::of(&record, to_card, &ranges(own))).collect()
        };
        let mut flows = flows_of(true, &out);
        flows.extend(flows_of(false, &into));
        let window = common(&flows).ok_or_else(|| BenchError::Wrong("the flows were not on the link at the same time".into()))?;
        let messages = u64::from(channels * depth);
        let mut rows = Vec::new();
        for (direction, flows, after) in
            [("both-h2c", &flows[..channels as usize], after_h2c), ("both-c2h", &flows[channels as usize..], after_c2h)]
        {
            let shares: Vec<u64> = flows.iter().map(|flow| flow.bytes_in(window)).collect();
            let all: u64 = shares.iter().sum();
            let mut row = self.row(direction, messages, after - before, Some((all, window.picoseconds())));
            if let (Some(most), Some(least), true) = (shares.iter().max(), shares.iter().min(), channels > 1) {
                row.spread_percent = Some(100.0 * (most - least) as f64 * f64::from(channels) / all as f64);
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// One thread keeps short messages in flight: it waits for those of one call, looks at them, and posts as many by the next.
    fn many(&self) -> Result<Vec<Row>> {
        let (size, batch, groups) = (self.size(), self.case.batch as usize, self.case.in_flight / self.case.batch);
        let rounds = MANY / self.case.batch;
        let ranges: Vec<Range<usize>> = (0..batch).map(|n| n * size..(n + 1) * size).collect();
        let places = || (0..groups).map(|_| self.place(batch * size)).collect::<Result<Vec<_>>>();
        let (mut sender, mut receiver) = (None, None);
        if self.case.way != Way::C2h {
            let mut from = places()?;
            for place in &mut from {
                place.buffer.as_mut_slice()?.chunks_mut(size).for_each(pattern);
            }
            sender = Some((self.sender(0)?, from, VecDeque::<Vec<Transfer>>::new()));
        }
        if self.case.way != Way::H2c {
            receiver = Some((self.receiver(0)?, places()?, VecDeque::<Vec<Transfer>>::new()));
            self.start_counters()?;
        }
        let whole = |transfers: &[Transfer]| match transfers.len() == batch {
            true => Ok(()),
            false => Err(BenchError::Wrong(format!("{} of {batch} messages were submitted", transfers.len()))),
        };
        self.bus.pass(PAUSE_NS)?;
        let before = self.now()?;
        let mut ended = [before; 2];
        for round in 0..rounds + groups {
            let group = (round % groups) as usize;
            if let Some((sender, places, flight)) = &mut sender {
                let done = if round >= groups { flight.pop_front() } else { None };
                for mut transfer in done.into_iter().flatten() {
                    transfer.wait(Some(TIMEOUT))?.check(sender.name(), 0)?;
                    ended[0] = self.now()?;
                }
                if round < rounds {
                    let all: Vec<_> = ranges.iter().map(|range| (&places[group].buffer, range.clone(), Message::default())).collect();
                    flight.push_back(sender.submit_many(&all)?);
                    flight.back().map_or(Ok(()), |transfers| whole(transfers))?;
                }
            }
            if let Some((receiver, places, flight)) = &mut receiver {
                let buffer = &mut places[group].buffer;
                let done = if round >= groups { flight.pop_front() } else { None };
                for mut transfer in done.into_iter().flatten() {
                    let done = transfer.wait(Some(TIMEOUT))?.check(receiver.name(), 0)?;
                    self.check_length(done.bytes as usize, done.status == towpath::Status::EndOfMessage)?;
                    ended[1] = self.now()?;
                }
                if round >= groups {
                    buffer.as_slice()?.chunks(size).try_for_each(|message| check(message, 0))?;
                }
                if round < rounds {
                    buffer.as_mut_slice()?.fill(0);
                    flight.push_back(receiver.submit_many(buffer, &ranges)?);
                    flight.back().map_or(Ok(()), |transfers| whole(transfers))?;
                }
            }
        }
        let messages = u64::from(rounds) * batch as u64;
        let mut rows = Vec::new();
        if sender.is_some() {
            self.check_sinks(messages)?;
            rows.push(self.row(if self.case.way == Way::Both { "both-h2c" } else { "h2c" }, messages, ended[0] - before, None));
        }
        if receiver.is_some() {
            rows.push(self.row(if self.case.way == Way::Both { "both-c2h" } else { "c2h" }, messages, ended[1] - before, None));
        }
        Ok(rows)
    }

    /// There and back, with the receive posted beforehand.
    fn round_trips(&self) -> Result<Row> {
        let (sender, receiver) = (self.sender(0)?, self.receiver(0)?);
        let (mut from, mut to) = (self.place(self.size())?.buffer, self.place(self.size())?.buffer);
        let mut time = 0;
        for number in 0..=ROUND_TRIPS {
            for (index, byte) in from.as_mut_slice()?.iter_mut().enumerate() {
                *byte = (number * 31 + index as u64) as u8;
            }
            let mut back = receiver.submit(&mut to, ..)?;
            self.bus.pass(PAUSE_NS)?;
            let before = self.now()?;
            let mut there = sender.submit(&from, .., Message::default())?;
            let done = back.wait(Some(TIMEOUT))?.check(receiver.name(), 0)?;
            let after = self.now()?;
            there.wait(Some(TIMEOUT))?.check(sender.name(), 0)?;
            self.check_length(done.bytes as usize, done.status == towpath::Status::EndOfMessage)?;
            if to.as_slice()? != from.as_slice()? {
                return Err(BenchError::Wrong("what came back is not what was sent".into()));
            }
            if number > 0 {
                time += after - before;
            }
        }
        Ok(self.trip(time as f64 / 1000.0 / ROUND_TRIPS as f64))
    }

    /// The row of a way there and back.
    pub(crate) fn trip(&self, nanoseconds: f64) -> Row {
        Row {
            case: *self.case,
            direction: "round-trip",
            end_to_end_percent: None,
            while_data_flows_percent: None,
            header_only_percent: None,
            nanoseconds,
            spread_percent: None,
        }
    }
}

/// Every counter of a card sends messages of this size without end.
pub(crate) fn start_counters(device: &Device, size: u32) -> Result<()> {
    let registers = device.registers();
    registers.write(register::COUNTER_LENGTH, size)?;
    registers.write(register::COUNTER_COUNT, 0)?;
    Ok(registers.write(register::COUNTER_CONTROL, 1)?)
}

/// Byte `at` of the pattern: words that count from 0.
fn pattern_byte(at: usize) -> u8 {
    ((at / 4) as u32).to_le_bytes()[at % 4]
}

fn pattern_from(bytes: &mut [u8], from: usize) {
    bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern_byte(from + at));
}

pub(crate) fn pattern(bytes: &mut [u8]) {
    pattern_from(bytes, 0);
}

fn check(bytes: &[u8], from: usize) -> Result<()> {
    match bytes.iter().enumerate().find(|(at, byte)| **byte != pattern_byte(from + at)) {
        None => Ok(()),
        Some((at, byte)) => Err(BenchError::Wrong(format!("byte {} is {byte:#04x}, not {:#04x}", from + at, pattern_byte(from + at)))),
    }
}

/// Every second page of a buffer whose size is a power of two, in an order in which none follows its neighbour.
fn scattered(bytes: usize) -> Vec<Range<usize>> {
    let pages: Vec<Range<usize>> = (0..bytes).step_by(2 * PAGE).map(|start| start..(start + PAGE).min(bytes)).collect();
    // An odd multiplier visits each once, for their number is a power of two.
    (0..pages.len()).map(|index| pages[(index * 5 + 3) % pages.len()].clone()).collect()
}
