// SPDX-License-Identifier: Apache-2.0
//! Sound and damaged messages through the simulated core, there and back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::time::Duration;
use towpath::{Device, Error, Kind, KindChannels, Result};
use towpath_crc32c::{crc32c, framed, Checked};

fn open() -> Device {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(3).unwrap().into();
    std::env::set_var("TOWPATH_HOME", &root);
    Device::open(&format!("sim:{}", root.join("examples/crc32c").display())).unwrap()
}

/// The same bytes in every run.
fn bytes(count: usize) -> Vec<u8> {
    let mut x = count as u32;
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn sound_and_damaged_messages() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283_u32.to_le_bytes());
    let device = open();
    assert!(matches!(device.sender("data"), Err(Error::WrongKind { .. })));
    let checked: Checked = device.open_kind("data").unwrap();
    // A long message is taken while its echo is received: the verdict comes when all of it has gone through.
    let through = |message: &[u8]| {
        std::thread::scope(|scope| {
            let back = scope.spawn(|| checked.recv());
            (checked.send_framed(message), back.join().unwrap())
        })
    };
    for length in [0, 1, 11, 12, 13, 4096, 100_003] {
        let plain = bytes(length);
        let (sent, back) = through(&framed(&plain));
        sent.unwrap();
        assert!(back.unwrap() == plain, "{length} bytes");
        // One bit wrong: the sender is told, and what comes back is wrong as well.
        let mut damaged = framed(&plain);
        damaged[length / 2] ^= 4;
        let (sent, back) = through(&damaged);
        let error = sent.unwrap_err();
        assert!(matches!(error, Error::Kind { number: 1, .. }) && error.to_string().contains("send it again"), "{error}");
        assert!(matches!(back, Err(Error::Protocol { .. })), "{length} bytes");
    }
}

/// One thread sends more than card and core hold, another gives up while it waits for its turn: nothing of the first one's is lost.
#[test]
fn giving_up_a_turn_harms_no_other() {
    let short = Duration::from_micros(200);
    let device = open();
    let checked: Checked = device.open_kind("data").unwrap();
    let messages: Vec<_> = (0..10).map(|n| bytes(4000 + n)).collect();
    checked.sender().set_timeout(None);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| messages.iter().try_for_each(|message| checked.send(message)));
        // Nothing moves any more.
        let (mut last, mut looks) = (0, 0);
        while looks < 50 || last == 0 {
            let submitted = checked.sender().statistics().submitted;
            looks = if submitted == last { looks + 1 } else { 0 };
            last = submitted;
            std::thread::sleep(Duration::from_millis(10));
        }
        checked.sender().set_timeout(Some(short));
        assert!(matches!(checked.send(b"gives up"), Err(Error::Timeout { bytes: 0, .. })));
        checked.sender().set_timeout(None);
        messages.iter().for_each(|message| assert!(checked.recv().unwrap() == *message));
        first.join().unwrap().unwrap();
    });
}

/// A crate that knows a later version of the kind.
#[derive(Debug)]
struct Later;

impl Kind for Later {
    const NAME: &'static str = "crc32c";
    const VERSION: u16 = 2;

    fn open(channels: &KindChannels<'_>) -> Result<Later> {
        channels.sender().map(|_| Later)
    }
}

#[test]
fn another_version_is_refused() {
    let error = open().open_kind::<Later>("data").unwrap_err().to_string();
    assert!(error.contains("version 2") && error.contains("crc32c"), "{error}");
}
