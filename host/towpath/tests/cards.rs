// SPDX-License-Identifier: Apache-2.0
//! More than one card in one program: in its own process, and served by others. Needs Verilator and a C++ compiler; the first run builds the models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use towpath::{list_devices, CardServer, Device, OpenOptions};

const SERIAL: u64 = 0x5eed;

fn pattern(count: usize, seed: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 37 + i / 256 + 101 * seed) as u8).collect()
}

/// Messages of all of them at once, each its own.
fn exchange(devices: &[Device]) {
    std::thread::scope(|scope| {
        for (number, device) in devices.iter().enumerate() {
            scope.spawn(move || {
                let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
                for round in 0..10 {
                    let data = pattern(1000 * round + number, number + round);
                    let got = std::thread::scope(|inner| {
                        inner.spawn(|| sender.send(&data).unwrap());
                        receiver.recv().unwrap()
                    });
                    assert!(got == data, "card {number}, round {round}");
                }
            });
        }
    });
}

fn serials(devices: &[Device]) -> Vec<u64> {
    devices.iter().map(|device| device.info().serial).collect()
}

#[test]
fn in_simulation() {
    for world in ["", "&world=cards"] {
        let devices = [0, SERIAL].map(|serial| Device::open(&format!("sim:loopback?serial={serial}{world}")).unwrap());
        assert_eq!(serials(&devices), [0, SERIAL]);
        exchange(&devices);
    }
    let why = Device::open("sim:loopback?serial=none").unwrap_err().to_string();
    assert!(why.contains("serial") && why.contains("\"none\""), "{why}");
}

#[test]
fn served_by_others() {
    let folder = std::env::temp_dir().join(format!("towpath-cards-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::env::set_var("XDG_RUNTIME_DIR", &folder); // no other test here looks at it
    let sockets: Vec<PathBuf> = ["a", "b"].iter().map(|name| folder.join(name)).collect();
    let servers: Vec<CardServer> = sockets
        .iter()
        .zip([0, SERIAL])
        .map(|(socket, serial)| CardServer::bind(&format!("sim:loopback?serial={serial}"), socket, &OpenOptions::default()).unwrap())
        .collect();
    let stops: Vec<_> = servers.iter().map(CardServer::stop).collect();
    std::thread::scope(|scope| {
        for server in servers {
            scope.spawn(move || server.serve().unwrap());
        }
        let cards: Vec<_> = list_devices().unwrap().into_iter().filter(|device| device.name.starts_with("vfio-user:")).collect();
        assert_eq!(cards.iter().map(|card| card.serial).collect::<Vec<_>>(), [Some(0), Some(SERIAL)]);
        if cards[0].order == Some(1) {
            let why = Device::open("").unwrap_err().to_string();
            assert!(why.contains("no card in this machine") && why.contains(&format!("TOWPATH_DEVICE={}", cards[0].name)), "{why}");
        }
        let order = cards[0].order.unwrap();
        let devices = [Device::open(&format!("#{order}")).unwrap(), Device::open(&format!("serial:{SERIAL}")).unwrap()];
        assert_eq!(serials(&devices), [0, SERIAL]);
        assert_eq!(devices.each_ref().map(|device| device.info().name.clone()), [cards[0].name.clone(), cards[1].name.clone()]);
        exchange(&devices);
        drop(devices);
        stops.iter().for_each(towpath::Stop::stop);
    });
    assert!(list_devices().unwrap().iter().all(|device| !device.name.starts_with("vfio-user:")), "they have gone");
    std::fs::remove_dir_all(&folder).unwrap();
}
