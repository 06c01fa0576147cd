// SPDX-License-Identifier: Apache-2.0
//! The simulated card in the machine: the whole library on top of a real kernel's VFIO.

use std::time::Duration;

use towpath::{CardServer, Device, Level, Message, OpenOptions};
use towpath_bus::Bus;

use crate::devices::{self, functions, mend};
use crate::Test;

pub const TESTS: &[Test] = &[
    ("the_card_is_found_and_put_in_order", the_card_is_found_and_put_in_order),
    ("it_is_found_by_order_and_by_serial_number", it_is_found_by_order_and_by_serial_number),
    ("messages_there_and_back", messages_there_and_back),
    ("a_reset_reaches_the_card", a_reset_reaches_the_card),
    ("buffers_stay_registered", buffers_stay_registered),
    ("a_card_is_reset_between_programs", a_card_is_reset_between_programs),
];

const CARD: &str = "1234:7470";
const SERIAL: u64 = 0x5eed;

/// Outside of the machine: the card that it finds. Says when it can be found, and goes on until it is killed.
pub fn serve(socket: &str) {
    let device = format!("sim:loopback?serial={SERIAL}");
    let server = CardServer::bind(&device, socket.as_ref(), &OpenOptions::default()).unwrap();
    println!("serving");
    server.serve().unwrap();
}

fn open() -> Device {
    Device::open("").unwrap_or_else(|why| panic!("{why}"))
}

fn the_card_is_found_and_put_in_order() {
    let function = functions(CARD).remove(0);
    let name = format!("vfio:{}", function.address);
    assert!(towpath::doctor("").iter().any(|finding| finding.level == Level::Problem && finding.check == "driver"));
    mend(&function);
    assert!(towpath::doctor(&name).iter().all(|finding| finding.level == Level::Ok), "{:#?}", towpath::doctor(&name));
    let device = open();
    assert_eq!((device.info().name.as_str(), device.info().core.as_str()), (name.as_str(), "loopback"));
}

fn it_is_found_by_order_and_by_serial_number() {
    let name = format!("vfio:{}", mend(&functions(CARD)[0]).address);
    let [card] = &towpath::list_devices().unwrap()[..] else { panic!("{:?}", towpath::list_devices()) };
    assert_eq!((card.name.as_str(), card.order, card.serial), (name.as_str(), Some(1), None), "a board tells its number when it is opened");
    for other in [format!("serial:{SERIAL:#x}"), format!("serial:{SERIAL}"), "#1".into()] {
        let device = Device::open(&other).unwrap_or_else(|why| panic!("{other}: {why}"));
        assert_eq!((device.info().name.as_str(), device.info().serial), (name.as_str(), SERIAL), "{other}");
    }
    for (wrong, why) in [("serial:0x5eee", "no card has this serial number"), ("#2", "there are 1 cards")] {
        let error = Device::open(wrong).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(&name), "{error}");
    }
    // While it is in use it cannot be asked for its number, which the error says.
    let _held = open();
    let error = Device::open(&format!("serial:{SERIAL}")).unwrap_err().to_string();
    assert!(error.contains(&format!("{name} could not be asked")), "{error}");
}

fn messages_there_and_back() {
    let device = open();
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    sender.set_timeout(Some(Duration::from_secs(60)));
    receiver.set_timeout(Some(Duration::from_secs(60)));
    for bytes in [0usize, 1, 7, 64, 65, 4096, 4097, 100_000] {
        let message: Vec<u8> = (0..bytes).map(|at| (at * 31 + bytes) as u8).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(&message).unwrap());
            let back = receiver.recv().unwrap();
            assert!(back == message, "{bytes} bytes: other bytes came back");
        });
    }
}

fn a_reset_reaches_the_card() {
    let function = mend(&functions(CARD)[0]);
    let bus = devices::open(&function);
    bus.write32(2, 4, 77).unwrap();
    assert_eq!(bus.read32(2, 4).unwrap(), 77);
    bus.reset().unwrap();
    assert_eq!(bus.read32(2, 4).unwrap(), 0, "a register of the core after a reset");
    let command = function.configuration().unwrap()[4];
    assert_eq!(command & 6, 6, "memory and bus mastering are on as before");
}

fn buffers_stay_registered() {
    let device = open();
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let mut from = device.allocate(16 << 10).unwrap();
    let mut to = device.allocate(16 << 10).unwrap();
    for round in 0..8u8 {
        from.as_mut_slice().unwrap().fill(round + 1);
        let mut transfer = receiver.submit(&mut to, ..).unwrap();
        sender.send_buffer(&from, .., Message::default()).unwrap();
        let ended = transfer.wait(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(ended.bytes, 16 << 10);
        assert!(to.as_slice().unwrap().iter().all(|byte| *byte == round + 1), "round {round}");
    }
}

fn a_card_is_reset_between_programs() {
    let device = open();
    device.registers().write(4, 77).unwrap();
    let _left_open = device.sender("in").unwrap().send(&[1; 100]);
    drop(device);
    let device = open();
    assert_ne!(device.registers().read(4).unwrap(), 77, "the core was reset");
}
