// SPDX-License-Identifier: Apache-2.0
//! One fault of each kind, alone: the exact status, the words of the library's error, and the one counter that moves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;
use towpath::{Device, Error, Message, Receiver, Sender, Status};
use towpath_bus::Bus;
use towpath_contract as contract;
use towpath_cores::{build, find_core, BuildOptions};
use towpath_sim::{Fault, Settings, SimBus};
use towpath_userspace::UserDriver;

const COUNTERS: [(u64, &str); 10] = [
    (contract::CARD_UNSUPPORTED_REQUESTS_OFFSET, "unsupported_requests"),
    (contract::CARD_COMPLETER_ABORTS_OFFSET, "completer_aborts"),
    (contract::CARD_POISONED_OFFSET, "poisoned"),
    (contract::CARD_TIMEOUTS_OFFSET, "timeouts"),
    (contract::CARD_BAD_COMPLETIONS_OFFSET, "bad_completions"),
    (contract::CARD_LATE_COMPLETIONS_OFFSET, "late_completions"),
    (contract::CARD_UNEXPECTED_COMPLETIONS_OFFSET, "unexpected_completions"),
    (contract::CARD_BUS_MASTERING_LOSSES_OFFSET, "bus_mastering_losses"),
    (contract::CARD_LINK_DOWNS_OFFSET, "link_downs"),
    (contract::CARD_FUNCTION_RESETS_OFFSET, "function_resets"),
];
const LENGTH: usize = 8192;

struct Card {
    sim: Arc<SimBus>,
    device: Device,
    sender: Sender,
    receiver: Receiver,
}

fn power_up() -> Arc<SimBus> {
    let core = find_core(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cores/loopback")).unwrap();
    let built = build(&core, &BuildOptions { width: Some(128), ..BuildOptions::default() }).unwrap_or_else(|why| panic!("{why}"));
    let settings = Settings::from_query("completion_timeout=1").unwrap();
    SimBus::open("sim:loopback", &built.library, settings, None, Arc::new(|_, _| ()), Vec::new()).unwrap()
}

fn open(sim: &Arc<SimBus>) -> Card {
    let device = Device::from_driver(Arc::new(UserDriver::open(sim.clone()).unwrap()));
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    sender.set_timeout(Some(Duration::from_millis(5)));
    Card { sim: sim.clone(), device, sender, receiver }
}

impl Card {
    /// The counters that are not 0.
    fn counted(&self) -> Vec<(&'static str, u32)> {
        let at = |register| (contract::PAGE_CARD << 12) + register;
        let count = |register| self.sim.read32(contract::BAR_DEVICE, at(register)).unwrap();
        COUNTERS.into_iter().map(|(register, name)| (name, count(register))).filter(|(_, count)| *count != 0).collect()
    }

    fn quarantined(&self) -> u32 {
        self.sim.read32(contract::BAR_DEVICE, (contract::PAGE_CARD << 12) + contract::CARD_QUARANTINED_OFFSET).unwrap()
    }

    /// What is sent comes back.
    fn echoes(&self) {
        let data: Vec<u8> = (0..LENGTH).map(|at| (at * 7 + (at >> 8)) as u8).collect();
        let mut back = self.device.allocate(LENGTH + 64).unwrap();
        let ticket = self.receiver.submit(&mut back, ..).unwrap().detach();
        self.sender.send(&data).unwrap();
        let came = self.receiver.wait_ticket(ticket, Some(Duration::from_millis(5)).into()).unwrap();
        assert_eq!((came.status, came.bytes), (Status::EndOfMessage, LENGTH as u64));
        assert!(back.as_slice().unwrap()[..LENGTH] == data);
    }

    /// Sends 8 KiB from a page's beginning, in reads of 512 bytes, and returns what became of it; what came of it is there and no more.
    fn send(&self) -> Result<(), Error> {
        let mut buffer = self.device.allocate(LENGTH).unwrap();
        buffer.as_mut_slice().unwrap().fill(0x33);
        let mut back = self.device.allocate(LENGTH + 64).unwrap();
        let receive = self.receiver.submit(&mut back, ..).unwrap().detach();
        let ticket = self.sender.submit(&buffer, .., Message::default()).unwrap().detach();
        let sent = self.sender.wait_ticket(ticket, Some(Duration::from_millis(5)).into()).unwrap();
        let came = self.receiver.wait_ticket(receive, Some(Duration::from_millis(5)).into()).unwrap();
        assert_eq!((came.status, came.bytes), (Status::EndOfMessage, sent.bytes), "what was moved is what arrives, and its end");
        assert!(back.as_slice().unwrap()[..came.bytes as usize].iter().all(|byte| *byte == 0x33));
        sent.check("in", 0).map(drop)
    }
}

/// A fault at the fourth read of a transfer: its status, the error's words, and its counter, beside that of completions that came too late.
fn one(fault: Fault, status: Status, words: &str, counter: &'static str) {
    let card = open(&power_up());
    card.sim.inject(3, fault).unwrap();
    let error = card.send().unwrap_err();
    assert!(matches!(&error, Error::Fault { channel, status: found, bytes: 1536 } if channel == "in" && *found == status), "{error:?}");
    assert_eq!(error.to_string(), format!("channel \"in\": {words}"));
    card.echoes(); // at once
    card.sim.pass(4_000_000).unwrap(); // more than sixteen completion timeouts
    let entry = card.sim.injections(0).unwrap()[0];
    assert!(entry.happened && entry.read == 3 && entry.bytes == 512 && !entry.last, "{entry:?}");
    let late = if ["timeouts", "bad_completions"].contains(&counter) { entry.after } else { 0 };
    let counters: Vec<_> = [(counter, 1), ("late_completions", late)].into_iter().filter(|(_, count)| *count != 0).collect();
    assert_eq!(card.counted(), counters, "{entry:?}");
    assert_eq!(card.quarantined(), 0);
    card.echoes();
    assert_eq!(card.counted(), counters);
}

const REFUSED: &str = "the card was refused access to the buffer: check that it is still mapped, then send the message again";
const WRONG: &str =
    "a read was answered wrongly after 1536 bytes; the host or a switch answered the card's read wrongly: check the system's \
                     error log, then send the message again";
const NEVER: &str =
    "a read of the card's timed out after 1536 bytes; the host did not answer the card's read: check the link, then send the \
                     message again";

#[test]
fn unsupported_request() {
    let words = format!("unsupported request after 1536 bytes; {REFUSED}");
    one(Fault::UnsupportedRequest, Status::UnsupportedRequest, &words, "unsupported_requests");
}

#[test]
fn completer_abort() {
    one(Fault::CompleterAbort, Status::CompleterAbort, &format!("completer abort after 1536 bytes; {REFUSED}"), "completer_aborts");
}

#[test]
fn poisoned_data() {
    let words =
        "poisoned data after 1536 bytes; the host's memory or a switch corrupted data: check the system's error log, then send the \
                 message again";
    one(Fault::Poison, Status::Poisoned, words, "poisoned");
}

#[test]
fn completion_timeout() {
    one(Fault::Drop, Status::Timeout, NEVER, "timeouts");
}

#[test]
fn late_answer() {
    one(Fault::Delay(300_000), Status::Timeout, NEVER, "timeouts");
}

#[test]
fn wrong_byte_count() {
    one(Fault::WrongCount, Status::BadCompletion, WRONG, "bad_completions");
}

#[test]
fn wrong_length() {
    one(Fault::WrongLength, Status::BadCompletion, WRONG, "bad_completions");
}

#[test]
fn wrong_lower_address() {
    one(Fault::WrongAddress, Status::BadCompletion, WRONG, "bad_completions");
}

#[test]
fn duplicate_completion_of_a_read_that_is_out() {
    one(Fault::Duplicate, Status::BadCompletion, WRONG, "bad_completions");
}

/// Completions that belong to no read hit nobody. They wait for a moment at which no card could mistake them.
fn stray(fault: Fault) {
    let card = open(&power_up());
    let mut buffer = card.device.allocate(4096).unwrap();
    buffer.as_mut_slice().unwrap().fill(9);
    let mut back = card.device.allocate(4096).unwrap();
    card.sim.inject(0, fault).unwrap();
    // Two packets answer each read; the second one is short.
    for round in 0.. {
        assert!(round < 100, "it never happens: {:?}", card.sim.injections(0));
        let receive = card.receiver.submit(&mut back, ..).unwrap().detach();
        let ticket = card.sender.submit(&buffer, 64..164, Message::default()).unwrap().detach();
        assert_eq!(card.sender.wait_ticket(ticket, Some(Duration::from_millis(1)).into()).unwrap().status, Status::Done);
        assert_eq!(card.receiver.wait_ticket(receive, Some(Duration::from_millis(1)).into()).unwrap().bytes, 100);
        if card.sim.injections(0).unwrap()[0].happened {
            break;
        }
    }
    let entry = card.sim.injections(0).unwrap()[0];
    assert!(entry.last, "{entry:?}");
    card.echoes();
    assert_eq!((card.counted(), card.quarantined()), (vec![("unexpected_completions", 1)], 0));
}

#[test]
fn unexpected_completion() {
    stray(Fault::Unexpected);
}

#[test]
fn duplicate_of_a_last_completion() {
    stray(Fault::Duplicate);
}

/// Several transfers are posted and under way when something happens.
fn under_way(card: &Card, buffer: &towpath::Buffer) -> Vec<towpath::Ticket> {
    let tickets = (0..4).map(|_| card.sender.submit(buffer, .., Message::default()).unwrap().detach()).collect();
    card.sim.pass(2000).unwrap();
    tickets
}

#[test]
fn bus_mastering_off() {
    let card = open(&power_up());
    let buffer = card.device.allocate(64 << 10).unwrap();
    let mut back = card.device.allocate(256 << 10).unwrap();
    let receive = card.receiver.submit(&mut back, ..).unwrap().detach();
    let tickets = under_way(&card, &buffer);
    card.sim.disturb(Fault::MasteringOff(50_000)).unwrap();
    let mut moved = Vec::new();
    for ticket in tickets {
        let sent = card.sender.wait_ticket(ticket, Some(Duration::from_millis(1)).into()).unwrap();
        let error = sent.check("in", 0).unwrap_err().to_string();
        assert_eq!(error, format!("channel \"in\": bus mastering is off after {} bytes; open the device again", sent.bytes));
        moved.push(sent.bytes);
    }
    assert!(moved[0] > 0 && moved[0] < 64 << 10 && moved[1..] == [0; 3], "{moved:?}");
    // The buffer that was posted on the way back ends as well: what it got, or what comes after that, is the same message.
    let came = card.receiver.wait_ticket(receive, Some(Duration::from_millis(1)).into()).unwrap();
    assert!(came.status == Status::BusMasteringOff && came.bytes <= moved[0], "{came:?}");
    let receive = card.receiver.submit(&mut back, ..).unwrap().detach();
    let rest = card.receiver.wait_ticket(receive, Some(Duration::from_millis(1)).into()).unwrap();
    assert_eq!((rest.status, came.bytes + rest.bytes), (Status::EndOfMessage, moved[0]));
    assert_eq!(card.counted(), [("bus_mastering_losses", 1)]);
    card.echoes();
}

/// Both channels are busy: their resets do not wait for the time when the card may send again.
#[test]
fn channels_are_reset_without_bus_mastering() {
    let card = open(&power_up());
    let buffer = card.device.allocate(64 << 10).unwrap();
    let mut back = card.device.allocate(256 << 10).unwrap();
    card.receiver.submit(&mut back, ..).unwrap().detach();
    under_way(&card, &buffer);
    card.sim.disturb(Fault::MasteringOff(1_000_000)).unwrap();
    let began = card.device.now_ns();
    card.sender.reset().unwrap();
    card.receiver.reset().unwrap();
    let took = card.device.now_ns() - began;
    assert!(took < 50_000, "{took} ns of the simulation");
    card.sim.pass(1_000_000).unwrap();
    card.echoes();
}

#[test]
fn link_down() {
    for forgets in [false, true] {
        let sim = power_up();
        let card = open(&sim);
        let buffer = card.device.allocate(64 << 10).unwrap();
        let tickets = under_way(&card, &buffer);
        sim.disturb(Fault::LinkDown { ns: 20_000, forgets }).unwrap();
        let error = card.sender.wait_ticket(tickets[0], Some(Duration::from_millis(1)).into()).unwrap_err().to_string();
        let words = "sim:loopback: channel \"in\": waiting for the card: the card is gone: the link to sim:loopback is down";
        assert_eq!(error, words);
        sim.pass(30_000).unwrap();
        drop(card);
        let card = open(&sim);
        card.echoes();
        assert_eq!((card.counted(), card.quarantined()), (vec![("link_downs", 1)], 0), "forgets: {forgets}");
    }
}

#[test]
fn function_level_reset() {
    let sim = power_up();
    let card = open(&sim);
    let buffer = card.device.allocate(64 << 10).unwrap();
    under_way(&card, &buffer);
    sim.reset().unwrap();
    let before = sim.statistics().unwrap();
    sim.pass(100_000).unwrap();
    let moved = sim.statistics().unwrap().since(&before);
    assert_eq!((moved.card_reads, moved.card_writes), (0, 0), "a function that was reset is quiet");
    drop(card);
    let card = open(&sim);
    card.echoes();
    // The reset takes bus mastering away, which is a loss of its own. It gives up reads that are out: their answers may come later.
    let counted: Vec<_> = card.counted().into_iter().filter(|(name, _)| *name != "late_completions").collect();
    assert_eq!((counted, card.quarantined()), (vec![("bus_mastering_losses", 1), ("function_resets", 1)], 0));
}

/// The same by the settings that a program may give with a device's name: rates of everything at once, and nothing that is wrong.
#[test]
fn faults_by_rate() {
    let rates = "fault_drop=2000&fault_late=2000&late=150000&fault_ur=9000&fault_ca=9000&fault_poison=9000&fault_duplicate=9000\
                 &fault_unexpected=9000&fault_count=9000&fault_length=9000&fault_address=9000";
    let core = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../cores/loopback");
    let device = Device::open(&format!("{core}?width=128&completion_timeout=1&seed=5&split=1&reorder=1&{rates}")).unwrap();
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let mut data = device.allocate(LENGTH).unwrap();
    for (at, byte) in data.as_mut_slice().unwrap().iter_mut().enumerate() {
        *byte = (at * 5 + (at >> 9)) as u8;
    }
    let mut back = device.allocate(LENGTH + 64).unwrap();
    let (mut whole, mut cut) = (0, 0);
    for _ in 0..200 {
        let receive = receiver.submit(&mut back, ..).unwrap().detach();
        let ticket = sender.submit(&data, .., Message::default()).unwrap().detach();
        let sent = sender.wait_ticket(ticket, Some(Duration::from_millis(5)).into()).unwrap();
        let came = receiver.wait_ticket(receive, Some(Duration::from_millis(5)).into()).unwrap();
        assert_eq!((came.status, came.bytes), (Status::EndOfMessage, sent.bytes));
        let bytes = sent.bytes as usize;
        assert!(back.as_slice().unwrap()[..bytes] == data.as_slice().unwrap()[..bytes]);
        match sent.check("in", 0) {
            Ok(_) => whole += 1,
            Err(Error::Fault { .. }) => cut += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(whole > 20 && cut > 50, "{whole} whole, {cut} cut short");
}
