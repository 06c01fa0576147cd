// SPDX-License-Identifier: Apache-2.0
//! The client as a bus: order, memory to the byte, interrupts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod common;

use std::sync::Arc;

use common::Served;
use towpath_bus::{Access, Bus, BusError, Wake};
use towpath_vfio_user::Client;

fn go(client: &Client, from: u64, to: u64, bytes: u32, vector: u32) {
    client.write64(0, common::FROM, from).unwrap();
    client.write64(0, common::TO, to).unwrap();
    client.write32(0, common::BYTES, bytes).unwrap();
    client.write32(0, common::GO, vector).unwrap();
}

#[test]
fn accesses_are_checked_and_come_in_order() {
    let served = Served::start(1);
    let client = Client::connect("client", &served.path).unwrap();
    assert_eq!((client.bar_bytes(0), client.bar_bytes(1), client.bar_bytes(2), client.bar_bytes(200)), (65536, 0, 0x4000, 0));
    client.write64(0, 0x1000, 0x8877_6655_4433_2211).unwrap();
    assert_eq!(client.read32(0, 0x1004).unwrap(), 0x8877_6655);
    client.write_combining(0, 0x1003, b"12345").unwrap();
    assert_eq!(client.read64(0, 0x1000).unwrap(), u64::from_le_bytes(*b"\x11\x22\x3312345"));
    let before = client.read32(0, common::WRITES).unwrap();
    for number in 0..1000 {
        client.write32(0, 0x2000, number).unwrap();
    }
    assert_eq!(client.read32(0, 0x2000).unwrap(), 999);
    assert_eq!(client.read32(0, common::WRITES).unwrap() - before, 1000, "none is lost");
    for wrong in [client.read32(0, 0x1002), client.read32(0, 65536), client.read32(1, 0), client.read32(9, 0)] {
        assert!(matches!(wrong, Err(BusError::Invalid(_))), "{wrong:?}");
    }
    assert!(matches!(client.write64(0, 65532, 0), Err(BusError::Invalid(_))));
    assert_eq!(client.read32(2, 0).unwrap(), 0x2222_2222);
    client.reset().unwrap();
    assert_eq!(client.read32(0, 0x2000).unwrap(), 0);
}

#[test]
fn the_card_reaches_what_is_mapped_to_the_byte_and_nothing_else() {
    let served = Served::start(1);
    let client = Client::connect("client", &served.path).unwrap();
    client.enable_vectors(1).unwrap();
    let mut memory = vec![0xeeu8; 20_000];
    let source: Vec<u8> = (0..9000u32).map(|n| n as u8).collect();
    let status = |from, to, bytes| {
        go(&client, from, to, bytes, 0);
        assert_eq!(client.wait(0, 10_000_000_000).unwrap(), Wake::Fired);
        client.read32(0, common::STATUS).unwrap()
    };
    let from = unsafe { client.map(source.as_ptr().cast_mut(), source.len(), Access::Read) }.unwrap();
    let to = unsafe { client.map(memory.as_mut_ptr().add(33), 9001, Access::Write) }.unwrap();
    assert_eq!(to & 0xfff, (memory.as_ptr() as u64 + 33) & 0xfff);
    assert_eq!(status(from, to, 9000), 1);
    assert_eq!(memory[33..9033], source[..]);
    assert!(memory[..33].iter().chain(&memory[9033..]).all(|byte| *byte == 0xee), "not a byte beside it");
    for (from, to, bytes, what) in [
        (from, to, 9001, "behind the source"),
        (from - 1, to, 4, "before the source"),
        (from, to + 9000, 2, "behind the target"),
        (from, to - 1, 1, "before the target"),
        (to, to, 1, "reading what may only be written"),
        (from, from, 1, "writing what may only be read"),
        (0x1000, to, 1, "where nothing ever was"),
    ] {
        assert_eq!(status(from, to, bytes), 3, "{what}");
    }
    // The same memory once more, elsewhere; each mapping ends for itself.
    let again = unsafe { client.map(memory.as_mut_ptr().add(33), 100, Access::ReadWrite) }.unwrap();
    assert_ne!(again, to);
    client.unmap(to, 9001).unwrap();
    assert_eq!((status(from, to, 1), status(from + 7, again, 16)), (3, 1));
    assert_eq!(memory[33..49], source[7..23]);
    assert!(matches!(client.unmap(to, 9001), Err(BusError::Invalid(_))));
    assert!(matches!(client.unmap(again, 99), Err(BusError::Invalid(_))));
    client.unmap(again, 100).unwrap();
    client.unmap(from, 9000).unwrap();
    assert_eq!(served.dma.mappings(), 0);
    assert!(matches!(unsafe { client.map(std::ptr::null_mut(), 1, Access::Read) }, Err(BusError::Invalid(_))));
}

#[test]
fn each_vector_has_its_event() {
    let served = Served::start(40); // more than fit into one message
    let client = Client::connect("client", &served.path).unwrap();
    assert!(matches!(client.wait(0, 1), Err(BusError::Invalid(_))), "not enabled yet");
    assert_eq!(client.enable_vectors(1000).unwrap(), 40);
    let mut word = 0u64;
    let place = unsafe { client.map((&raw mut word).cast(), 8, Access::ReadWrite) }.unwrap();
    for vector in [0u16, 15, 16, 39] {
        assert_eq!(client.wait(vector, 0).unwrap(), Wake::TimedOut);
        go(&client, place, place, 8, vector.into());
        assert_eq!(client.wait(vector, 10_000_000_000).unwrap(), Wake::Fired);
        assert_eq!(client.wait(vector, 1_000_000).unwrap(), Wake::TimedOut, "once told, it is told");
    }
    assert!(matches!(client.wait(40, 0), Err(BusError::Invalid(_))));
    let descriptor = client.event_fd(7).unwrap();
    go(&client, place, place, 8, 7);
    let mut entry = libc::pollfd { fd: std::os::fd::AsRawFd::as_raw_fd(&descriptor), events: libc::POLLIN, revents: 0 };
    assert_eq!(unsafe { libc::poll(&raw mut entry, 1, 10_000) }, 1);
    assert_eq!(client.enable_vectors(3).unwrap(), 3);
    assert!(client.event_fd(7).is_err(), "only three are left");
}

#[test]
fn many_threads_share_a_client() {
    let served = Served::start(8);
    let client = Arc::new(Client::connect("client", &served.path).unwrap());
    let threads: Vec<_> = (0..4u64)
        .map(|number| {
            let client = client.clone();
            std::thread::spawn(move || {
                let place = 0x1000 + 0x100 * number;
                for round in 0..500u64 {
                    client.write64(0, place, round << 8 | number).unwrap();
                    assert_eq!(client.read64(0, place).unwrap(), round << 8 | number);
                    let mut memory = [0u8; 64];
                    let address = unsafe { client.map(memory.as_mut_ptr(), 64, Access::ReadWrite) }.unwrap();
                    client.unmap(address, 64).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(served.dma.mappings(), 0);
}

#[test]
fn there_must_be_a_server() {
    let missing = Client::connect("client", std::path::Path::new("/no/such/socket")).err().unwrap().to_string();
    assert!(missing.contains("/no/such/socket"), "{missing}");
}
