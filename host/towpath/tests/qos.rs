// SPDX-License-Identifier: Apache-2.0
//! Weights, rates and traffic classes over a simulated card: tests/cores/loop3x2_qos.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use towpath::{Buffer, Device, Error, Message, QosChange, Status, Transfer};

fn root() -> PathBuf {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
    std::env::set_var("TOWPATH_HOME", &root);
    root
}

fn open() -> Device {
    Device::open(&format!("sim:{}", root().join("tests/cores/loop3x2_qos").display())).unwrap()
}

fn weight(weight: u8) -> QosChange {
    QosChange { weight: Some(weight), ..QosChange::default() }
}

#[test]
fn settings_stay_over_resets() {
    let device = open();
    assert!(device.info().qos);
    let qos = |channel: &str| device.qos(channel).map(|q| (q.weight, q.rate, q.traffic_class)).unwrap();
    for channel in &device.info().channels {
        assert_eq!(qos(&channel.name), (1, 0, 0), "{}", channel.name);
    }
    device.set_qos("b", QosChange { weight: Some(255), rate: Some(100_000_000), traffic_class: Some(7) }).unwrap();
    device.set_qos("y", weight(3)).unwrap();
    let set = qos("b");
    assert_eq!((set.0, set.2), (255, 7));
    assert!(set.1.abs_diff(100_000_000) < 240, "{set:?}");
    assert_eq!((qos("y"), qos("a"), qos("x")), ((3, 0, 0), (1, 0, 0), (1, 0, 0)));
    device.sender("b").unwrap().reset().unwrap();
    device.reset().unwrap();
    assert_eq!((qos("b"), qos("y").0), (set, 3));
    device.set_qos("b", QosChange { rate: Some(0), ..QosChange::default() }).unwrap();
    assert_eq!(qos("b"), (255, 0, 7));
    assert!(matches!(device.set_qos("b", weight(0)), Err(Error::Invalid(_))));
    assert!(matches!(device.qos("z"), Err(Error::NoSuchChannel { .. })));
}

#[test]
fn a_card_without_it_says_so() {
    root();
    let device = Device::open("sim:loopback").unwrap();
    assert!(!device.info().qos);
    for error in [device.qos("in").unwrap_err(), device.set_qos("in", weight(2)).unwrap_err()] {
        assert!(matches!(&error, Error::Unavailable(why) if why.contains("qos = true")), "{error}");
    }
}

#[test]
fn a_rate_holds_a_channel_back_and_no_other() {
    const BYTES: usize = 1 << 15;
    let device = open();
    let (a, c, x) = (device.sender("a").unwrap(), device.sender("c").unwrap(), device.receiver("x").unwrap());
    device.set_qos("c", QosChange { rate: Some(100_000_000), ..QosChange::default() }).unwrap();
    let rate = device.qos("c").unwrap().rate;
    let buffer = Buffer::from_vec(&device, vec![1; BYTES]).unwrap();
    let began = device.now_ns();
    let mut transfers: Vec<Transfer> = (0..4).map(|_| c.submit(&buffer, .., Message::default()).unwrap()).collect();
    let mut moved = 0;
    let mut into = vec![0; BYTES];
    while transfers[0].try_wait().unwrap().is_none() {
        let mut transfer = a.submit(&buffer, .., Message::default()).unwrap();
        moved += x.recv_into(&mut into).unwrap().bytes;
        transfer.wait(None).unwrap();
    }
    for transfer in &mut transfers[1..] {
        transfer.wait(None).unwrap();
    }
    let took = device.now_ns() - began;
    let should = (4 * BYTES as u64) * 1_000_000_000 / rate;
    assert!(took.abs_diff(should) < should / 50, "{took} ns for what should take {should}");
    assert!(moved > 4 * BYTES, "the other channel moved {moved} bytes meanwhile");
}

/// A channel that waits for its rate ends a cancel and a reset at once.
#[test]
fn a_rate_delays_no_cancel_and_no_reset() {
    let device = open();
    let (a, b, y) = (device.sender("a").unwrap(), device.sender("b").unwrap(), device.receiver("y").unwrap());
    let slow = QosChange { rate: Some(1), ..QosChange::default() };
    let buffer = Buffer::from_vec(&device, vec![1; 4096]).unwrap();
    for channel in ["a", "y"] {
        device.set_qos(channel, slow).unwrap();
    }
    let mut into = Buffer::allocate(&device, 8192).unwrap();
    let (sends, mut receive) =
        ((0..4).map(|_| a.submit(&buffer, .., Message::default()).unwrap()).collect::<Vec<_>>(), y.submit(&mut into, ..).unwrap());
    b.send(&[2; 8192]).unwrap();
    a.cancel_all().unwrap();
    for mut send in sends {
        assert_eq!(send.wait(None).unwrap().status, Status::Cancelled);
    }
    y.reset().unwrap();
    assert_eq!(receive.wait(None).unwrap().status, Status::Reset);
    device.reset().unwrap();
}
