// SPDX-License-Identifier: Apache-2.0
//! Cards whose streams send to each other's, without the host: two, one way and both ways; there and back; and four in a ring, each busy with both
//! neighbours and with the host. The sinks compare every byte; what counts is what is on the links.

use std::path::Path;
use std::sync::Arc;

use towpath::{connect, Buffer, ChannelOptions, Device, Message, Notify, Pair, Receiver, Sender, Transfer};
use towpath_driver::Driver;
use towpath_sim::{Carried, PrintSink, SimBus, World};
use towpath_userspace::UserDriver;

use crate::case::{Case, Row, Way};
use crate::flow::Flow;
use crate::measure::{pattern, register, start_counters, Result, PAUSE_NS};
use crate::BenchError;

/// After which the flows are what they stay.
const WARM_NS: u64 = 20_000;
/// Measured after that.
const RUN_NS: u64 = 200_000;
/// Rounds that are averaged.
const ROUNDS: u64 = 16;
/// Cards of the ring.
const RING: usize = 4;
/// Messages for and from the host that stay posted, and their bytes.
const POSTED: usize = 4;
const HOST_BYTES: usize = 65_536;

/// Of core `ping`, see `cores/bench/ping.sv`.
mod ping {
    pub const CONTROL: u32 = 0x00;
    pub const SEND: u32 = 1;
    pub const ECHO: u32 = 2;
    pub const CLOCKS: u32 = 0x04;
    pub const ROUNDS: u32 = 0x08;
    pub const ERRORS: u32 = 0x0c;
}

struct Card {
    bus: Arc<SimBus>,
    device: Device,
}

const OPTIONS: ChannelOptions = ChannelOptions { notify: Notify::Poll, announce: false };

impl Card {
    fn sender(&self, name: &str) -> Result<Sender> {
        Ok(self.device.sender_with(name, OPTIONS)?)
    }

    fn receiver(&self, name: &str) -> Result<Receiver> {
        Ok(self.device.receiver_with(name, OPTIONS)?)
    }
}

/// What a case came to; `library` is the compiled core's.
pub(crate) fn measure(case: &Case, library: &Path, print: &PrintSink) -> Result<Vec<Row>> {
    let world = World::new(case.settings()).map_err(|why| BenchError::Core(why.to_string()))?;
    let count = if case.channels > 1 { RING } else { 2 };
    let open = |number: usize| -> Result<Card> {
        let bus = world.open(&format!("{} {number}", case.core()), library, None, print.clone(), Vec::new());
        let bus = bus.map_err(|why| BenchError::Core(why.to_string()))?;
        let driver: Arc<dyn Driver> = Arc::new(UserDriver::open(bus.clone())?);
        Ok(Card { bus, device: Device::from_driver(driver) })
    };
    let cards = (0..count).map(open).collect::<Result<Vec<_>>>()?;
    match case.way {
        Way::RoundTrip => there_and_back(case, &cards).map(|row| vec![row]),
        Way::C2h | Way::Both if count == 2 => two(case, &cards),
        Way::Both => ring(case, &cards),
        _ => Err(BenchError::NotYet("cards that send to each other have one way, or both".into())),
    }
}

/// Streams of card 0 to card 1, and back if both ways are asked for.
fn two(case: &Case, cards: &[Card]) -> Result<Vec<Row>> {
    let ways: &[(usize, usize, &str)] = if case.way == Way::Both { &[(0, 1, "both-c2h"), (1, 0, "both-h2c")] } else { &[(0, 1, "c2h")] };
    let mut pairs = Vec::new();
    for (from, to, _) in ways {
        let (receiver, sender) = (cards[*from].receiver("out")?, cards[*to].sender("in")?);
        pairs.push((connect(&receiver, &sender)?, receiver, sender));
    }
    for (from, ..) in ways {
        start_counters(&cards[*from].device, case.size as u32)?;
    }
    let records = run(cards)?;
    let mut rows = Vec::new();
    for (from, to, direction) in ways {
        check_sink(&cards[*to].device, 0)?;
        let bytes = inbox_bytes(case, &records[*from], 1, &[])?[0];
        rows.push(row(case, direction, bytes, None));
    }
    Ok(rows)
}

/// Time passes, twice: what the links of the cards carry in the second.
fn run(cards: &[Card]) -> Result<Vec<Vec<Carried>>> {
    cards[0].bus.pass(WARM_NS)?;
    for card in cards {
        card.bus.record(true)?;
    }
    cards[0].bus.pass(RUN_NS)?;
    cards.iter().map(|card| Ok(card.bus.record(false)?)).collect()
}

/// What went to each of so many inboxes. An inbox's data has one page, which whole packets name that go to none of the host's buffers.
fn inbox_bytes(case: &Case, record: &[Carried], inboxes: usize, host: &[(u64, u64)]) -> Result<Vec<u64>> {
    let longest = u64::from(case.mps).min(case.size) as u32;
    let for_host = |address: u64| host.iter().any(|(from, bytes)| address.wrapping_sub(*from) < *bytes);
    let mut pages: Vec<u64> = Vec::new();
    for packet in record.iter().filter(|packet| !packet.to_card && packet.bytes == longest && !for_host(packet.address)) {
        let page = packet.address & !0x1fff;
        if packet.address & 0x1000 == 0 && !pages.contains(&page) && pages.len() < inboxes {
            pages.push(page);
        }
    }
    let bytes: Vec<u64> = pages.iter().map(|page| Flow::of(record, false, &[(*page, 0x1000)]).bytes()).collect();
    match bytes.len() == inboxes {
        true => Ok(bytes),
        false => Err(BenchError::Wrong(format!("{} of {inboxes} inboxes got data", bytes.len()))),
    }
}

/// The core behind channel `pair` got messages, and nothing but the pattern.
fn check_sink(device: &Device, pair: u32) -> Result<()> {
    let registers = device.registers();
    let base = register::SINK + register::PAIR * pair;
    let (seen, errors) = (registers.read(base + register::SINK_MESSAGES)?, registers.read(base + register::SINK_ERRORS)?);
    match seen > 0 && errors == 0 {
        true => Ok(()),
        false => Err(BenchError::Wrong(format!("core {pair} got {seen} messages, with {errors} wrong bytes"))),
    }
}

fn row(case: &Case, direction: &'static str, bytes: u64, spread_percent: Option<f64>) -> Row {
    let percent = |limit: f64| Some(100.0 * bytes as f64 * 1000.0 / RUN_NS as f64 / limit);
    Row {
        case: *case,
        direction,
        end_to_end_percent: None,
        while_data_flows_percent: percent(case.limit().c2h),
        header_only_percent: percent(case.limit().c2h_header_only),
        nanoseconds: RUN_NS as f64 * case.size as f64 / bytes as f64,
        spread_percent,
    }
}

/// From the clock in which a core's message is taken to that in which the other card's answer is there.
fn there_and_back(case: &Case, cards: &[Card]) -> Result<Row> {
    let mut pairs = Vec::new();
    for (from, to) in [(0, 1), (1, 0)] {
        let (receiver, sender) = (cards[from].receiver("out")?, cards[to].sender("in")?);
        pairs.push((connect(&receiver, &sender)?, receiver, sender));
    }
    let registers = cards[0].device.registers();
    cards[1].device.registers().write(ping::CONTROL, ping::ECHO)?;
    let mut clocks = 0;
    for _ in 0..ROUNDS {
        cards[0].bus.pass(PAUSE_NS)?;
        registers.write(ping::CONTROL, ping::SEND)?;
        cards[0].bus.pass(PAUSE_NS)?;
        clocks += u64::from(registers.read(ping::CLOCKS)?);
    }
    let (rounds, errors) = (registers.read(ping::ROUNDS)?, registers.read(ping::ERRORS)?);
    if (u64::from(rounds), errors) != (ROUNDS, 0) {
        return Err(BenchError::Wrong(format!("{rounds} of {ROUNDS} messages came back, {errors} of them wrong")));
    }
    let khz = u64::from(cards[0].device.info().user_clock_khz);
    Ok(Row {
        case: *case,
        direction: "round-trip",
        end_to_end_percent: None,
        while_data_flows_percent: None,
        header_only_percent: None,
        nanoseconds: clocks as f64 * 1e6 / (khz * ROUNDS) as f64,
        spread_percent: None,
    })
}

/// What a card of the ring has for its host.
struct Host {
    sender: Sender,
    receiver: Receiver,
    from: Vec<(Buffer, Option<Transfer>)>,
    into: Vec<(Buffer, Option<Transfer>)>,
}

impl Host {
    fn new(card: &Card) -> Result<Host> {
        let (sender, receiver) = (card.sender("in0")?, card.receiver("out0")?);
        let buffers = || (0..POSTED).map(|_| Ok((card.device.allocate(HOST_BYTES)?, None))).collect::<Result<Vec<_>>>();
        let (mut from, into) = (buffers()?, buffers()?);
        for (buffer, _) in &mut from {
            pattern(buffer.as_mut_slice()?);
        }
        Ok(Host { sender, receiver, from, into })
    }

    /// What has ended is posted again.
    fn go_on(&mut self) -> Result<()> {
        for (buffer, transfer) in &mut self.from {
            if has_ended(transfer, self.sender.name())? {
                *transfer = Some(self.sender.submit(buffer, .., Message::default())?);
            }
        }
        for (buffer, transfer) in &mut self.into {
            if has_ended(transfer, self.receiver.name())? {
                *transfer = Some(self.receiver.submit(buffer, ..)?);
            }
        }
        Ok(())
    }
}

fn has_ended(transfer: &mut Option<Transfer>, channel: &str) -> Result<bool> {
    let Some(waits) = transfer else { return Ok(true) };
    let Some(done) = waits.try_wait()? else { return Ok(false) };
    done.check(channel, 0)?;
    *transfer = None;
    Ok(true)
}

/// Each card's streams 1 and 2 send to its neighbours, and stream 0 moves the host's data both ways. One row, of the card whose shares differ most.
fn ring(case: &Case, cards: &[Card]) -> Result<Vec<Row>> {
    let count = cards.len();
    let mut pairs: Vec<(Pair, Receiver, Sender)> = Vec::new();
    for from in 0..count {
        for (stream, to, inbox) in [("out1", (from + 1) % count, "in2"), ("out2", (from + count - 1) % count, "in1")] {
            let (receiver, sender) = (cards[from].receiver(stream)?, cards[to].sender(inbox)?);
            pairs.push((connect(&receiver, &sender)?, receiver, sender));
        }
    }
    let mut hosts = cards.iter().map(Host::new).collect::<Result<Vec<_>>>()?;
    for card in cards {
        start_counters(&card.device, case.size as u32)?;
    }
    let mut records: Vec<Vec<Carried>> = Vec::new();
    for (span, recorded) in [(WARM_NS, false), (RUN_NS, true)] {
        for card in cards {
            card.bus.record(recorded)?;
        }
        let end = cards[0].device.now_ns() + span;
        while cards[0].device.now_ns() < end {
            for host in &mut hosts {
                host.go_on()?;
            }
            cards[0].bus.pass(1000)?;
        }
        records = cards.iter().map(|card| Ok(card.bus.record(false)?)).collect::<Result<_>>()?;
    }
    let mut worst: Option<Row> = None;
    for (number, (card, record)) in cards.iter().zip(&records).enumerate() {
        for pair in 0..3 {
            check_sink(&card.device, pair)?;
        }
        let places =
            hosts[number].into.iter().map(|(buffer, _)| Ok((card.address(buffer)?, buffer.len() as u64))).collect::<Result<Vec<_>>>()?;
        let mut shares = inbox_bytes(case, record, 2, &places)?;
        shares.push(Flow::of(record, false, &places).bytes());
        let all: u64 = shares.iter().sum();
        let most = shares.iter().max().zip(shares.iter().min()).map_or(0, |(most, least)| most - least);
        let row = row(case, "both-c2h", all, Some(100.0 * (most * shares.len() as u64) as f64 / all as f64));
        if worst.as_ref().is_none_or(|other| other.spread_percent < row.spread_percent) {
            worst = Some(row);
        }
    }
    Ok(worst.into_iter().collect())
}

impl Card {
    fn address(&self, buffer: &Buffer) -> Result<u64> {
        let address = self.bus.address_of(buffer.as_ptr())?;
        address.ok_or_else(|| BenchError::Wrong("a registered buffer is not mapped for the card".into()))
    }
}
