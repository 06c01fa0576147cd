// SPDX-License-Identifier: Apache-2.0
//! No message of a kind stays open on the card: which ends of a call reset the channel, and which do not. The memory of the card in software stands in
//! for the kind.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::sync::Arc;
use towpath::{ChannelOptions, Device, Error, FanoutSender, Message, Result, Sender};
use towpath_contract as contract;
use towpath_userspace::mock::{ContractStatus, Misbehaviour, MockBus, Settings, MEMORY_SLVERR};
use towpath_userspace::UserDriver;

const KIND: (&str, u16) = ("fanout", 1);
const CHANNEL: usize = 2; // behind the pair
/// More than one descriptor carries.
const LONG: usize = (64 << 20) + 1;

struct Card {
    bus: Arc<MockBus>,
    device: Device,
}

impl Card {
    fn new() -> Card {
        let settings = Settings { memories: 1, memory_kind: (2, KIND.1, KIND.0), memory_bytes: 1 << 27, ..Settings::default() };
        let bus = Arc::new(MockBus::new(settings));
        Card { device: Device::from_driver(Arc::new(UserDriver::open(bus.clone()).unwrap())), bus }
    }

    fn sender(&self) -> Sender {
        self.device.sender_of_kind("ram0", KIND, ChannelOptions::default()).unwrap()
    }

    /// How often this call resets the channel, if the next descriptor ends so.
    fn resets(&self, ends: Option<ContractStatus>, call: impl FnOnce() -> Result<()>) -> (usize, Result<()>) {
        let count = || self.bus.stores(contract::PAGE_CHANNEL_PRIVILEGED, contract::CHANNEL_RESET_OFFSET);
        let before = count();
        if let Some(status) = ends {
            self.bus.misbehave(CHANNEL, Misbehaviour::Fault(status));
        }
        let result = call();
        (count() - before, result)
    }
}

#[test]
fn what_the_card_has_not_ended_is_reset() {
    use ContractStatus::{BadCompletion, Cancelled, Malformed, Poisoned, Reset, Torn, UnsupportedRequest};
    let card = Card::new();
    let sender = card.sender();
    let part = |end| Message { end, offset: 1 << 20, ..Message::default() };
    // What the kind has judged has its end.
    let (resets, result) = card.resets(None, || sender.send_message(b"x", Message { offset: MEMORY_SLVERR, ..Message::default() }));
    assert!(resets == 0 && matches!(result, Err(Error::Kind { .. })));
    for (status, end, expected) in [
        (UnsupportedRequest, true, 0),
        (UnsupportedRequest, false, 1),
        (Poisoned, true, 0),
        (BadCompletion, false, 1),
        (Cancelled, true, 1),
        (Cancelled, false, 1),
        (Malformed, true, 1),
        (Torn, true, 1),
        (Reset, true, 0),
        (Reset, false, 0),
    ] {
        let (resets, result) = card.resets(Some(status), || sender.send_message(&[1; 3000], part(end)));
        assert_eq!((resets, result.is_err()), (expected, true), "{status:?}, with an end: {end}");
    }
    // What has gone well leaves the channel alone, also where the message is to go on.
    assert_eq!(card.resets(None, || sender.send_message(&[1; 3000], part(false))).0, 0);
    assert_eq!(card.resets(None, || sender.send(&[1; 3000])).0, 0);
}

#[test]
fn a_fault_in_a_part_of_a_long_message_takes_the_whole_message() {
    let card = Card::new();
    let to: FanoutSender = card.device.open_kind("ram0").unwrap();
    let long = vec![1; LONG];
    let fault = Some(ContractStatus::UnsupportedRequest);
    let (resets, result) = card.resets(fault, || to.send(3, &long));
    assert!(resets == 1 && matches!(result, Err(Error::Fault { .. })), "{resets} resets");
    // One descriptor, which has the end.
    assert_eq!(card.resets(fault, || to.send(3, &long[..LONG - 1])).0, 0);
}

#[test]
fn a_stream_of_a_kind_goes_on_with_nothing_that_is_gone() {
    let card = Card::new();
    let sender = card.sender();
    let write = || (&sender).write(&[1; 3000]);
    let (resets, result) =
        card.resets(Some(ContractStatus::Cancelled), || write().map(drop).map_err(|error| Error::Invalid(error.to_string())));
    assert!(resets == 1 && result.is_err());
    assert_eq!(card.resets(None, || write().map(drop).map_err(|error| Error::Invalid(error.to_string()))).0, 0);
}

#[test]
fn streams_are_not_reset() {
    let card = Card::new();
    let sender = card.device.sender("in0").unwrap();
    card.bus.misbehave(0, Misbehaviour::Fault(ContractStatus::UnsupportedRequest));
    let (resets, result) = card.resets(None, || sender.send_message(&[1; 3000], Message { end: false, ..Message::default() }));
    assert!(resets == 0 && result.is_err());
}
