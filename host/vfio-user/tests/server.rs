// SPDX-License-Identifier: Apache-2.0
//! The server's promises to clients, to those who come after them, and to its own process.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod common;

use std::os::fd::AsRawFd;
use std::time::Duration;

use common::{header, memory_file, Raw, Served};
use towpath_bus::{Bus, BusError};
use towpath_vfio_user::message::{access, DmaAccess, Request};
use towpath_vfio_user::{Client, Server};

fn map(address: u64, bytes: u64, offset: u64) -> Vec<u8> {
    Request::DmaMap { readable: true, writable: true, offset, address, bytes }.payload()
}

fn write(offset: u64, data: &[u8]) -> Vec<u8> {
    Request::RegionWrite { region: 0, offset, data: data.to_vec() }.payload()
}

fn read(client: &mut Raw, offset: u64, bytes: u32) -> Result<Vec<u8>, i32> {
    client.ask(9, &access(0, offset, bytes), &[]).map(|payload| payload[16..].to_vec())
}

/// Have the toy copy; its status.
fn copy(client: &mut Raw, from: u64, to: u64, bytes: u32) -> u8 {
    for (place, value) in [(common::FROM, from), (common::TO, to), (common::BYTES, bytes.into())] {
        client.ask(10, &write(place, &value.to_le_bytes()), &[]).unwrap();
    }
    client.ask(10, &write(common::GO, &[0; 4]), &[]).unwrap();
    read(client, common::STATUS, 4).unwrap()[0]
}

#[test]
fn a_second_client_is_told_that_the_card_is_taken() {
    let served = Served::start(4);
    let first = Client::connect("first", &served.path).unwrap();
    for _ in 0..3 {
        let Err(BusError::System(_, why)) = Client::connect("second", &served.path) else { panic!("the second client is let in") };
        assert_eq!(why.kind(), std::io::ErrorKind::ResourceBusy);
        assert!(why.to_string().contains("another program uses the card"), "{why}");
    }
    assert_eq!(Raw::connect(&served.path).ask(1, &[0, 0, 1, 0], &[]), Err(libc::EBUSY));
    // One who says nothing is not waited for, and the first does not notice any of it.
    let silent = Raw::connect(&served.path);
    assert_eq!(first.read32(0, 0).unwrap(), 0);
    drop((first, silent));
    Client::connect("third", &served.path).unwrap();
}

#[test]
fn clients_come_one_after_another_and_each_finds_a_card_that_was_reset() {
    let served = Served::start(4);
    for number in 1..=50u32 {
        let client = Client::connect("client", &served.path).unwrap();
        assert_eq!(client.read32(0, 0x100).unwrap(), 0, "client {number}");
        client.write32(0, 0x100, number).unwrap();
        assert_eq!(client.read32(0, 0x100).unwrap(), number);
        assert_eq!(served.dma.mappings(), 0);
        let mut memory = vec![0u8; 100];
        unsafe { client.map(memory.as_mut_ptr(), 100, towpath_bus::Access::ReadWrite) }.unwrap();
        assert_eq!(served.dma.mappings(), 1);
    }
    served.wait_empty();
}

#[test]
fn only_a_left_over_socket_is_taken_away() {
    let served = Served::start(1);
    let busy = Server::bind(&served.path).err().unwrap();
    assert_eq!(busy.kind(), std::io::ErrorKind::AddrInUse);
    drop(Client::connect("still", &served.path).unwrap());
    let path = served.path.with_extension("old");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "a listener leaves its socket");
    let server = Server::bind(&path).unwrap();
    drop(server);
    assert!(!path.exists());
    std::fs::write(&path, "a file").unwrap();
    assert!(Server::bind(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"a file");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_connection_begins_with_its_version() {
    let served = Served::start(1);
    for (command, payload, errno) in [
        (9, access(0, 0, 4).to_vec(), libc::EINVAL),
        (1, vec![1, 0, 0, 0], libc::ENOTSUP),
        (1, b"\0\0\x01\0{".to_vec(), libc::EINVAL),
        (77, vec![], libc::ENOSYS),
    ] {
        let mut client = Raw::connect(&served.path);
        assert_eq!(client.ask(command, &payload, &[]), Err(errno), "command {command}");
        assert_eq!(client.ask(1, &[0, 0, 1, 0], &[]), Err(-1), "and that is the end");
    }
    let mut client = Raw::hello(&served.path);
    assert_eq!(client.ask(1, &[0, 0, 1, 0], &[]), Err(libc::EINVAL), "once only");
    assert!(read(&mut client, 0, 4).is_ok(), "but then it goes on");
}

#[test]
fn errors_come_back_and_the_connection_goes_on() {
    let served = Served::start(4);
    let mut client = Raw::hello(&served.path);
    let mut refused = |command, payload: &[u8], errno| assert_eq!(client.ask(command, payload, &[]), Err(errno), "{command} {payload:x?}");
    refused(9, &access(0, common::BAR_BYTES - 2, 4), libc::EINVAL);
    refused(9, &access(0, u64::MAX, 4), libc::EINVAL);
    refused(9, &access(1, 0, 4), libc::EINVAL);
    refused(9, &access(1000, 0, 4), libc::EINVAL);
    refused(9, &access(0, 0, 0), libc::EINVAL);
    refused(10, &Request::RegionWrite { region: 2, offset: 0, data: vec![0; 4] }.payload(), libc::EINVAL);
    refused(10, &write(0x48, &[1]), libc::EIO);
    refused(5, &Request::RegionInfo { index: 9, room: 32 }.payload(), libc::EINVAL);
    refused(7, &Request::IrqInfo { index: 5 }.payload(), libc::EINVAL);
    refused(12, &[0; 16], libc::EINVAL);
    refused(14, &[0; 16], libc::ENOSYS);
    refused(2, &map(0x1000, 0, 0), libc::EINVAL);
    refused(2, &map(u64::MAX, 2, 0), libc::EINVAL);
    let nothing = Request::DmaUnmap { address: 0x1000, bytes: 0x1000, all: false }.payload();
    assert_eq!(client.ask(3, &nothing, &[]), Ok(nothing), "where nothing is mapped, nothing is to be done");
    let upper_half = |bytes| Request::DmaUnmap { address: 1 << 63, bytes, all: false }.payload();
    assert_eq!(client.ask(3, &upper_half(1 << 63), &[]), Ok(upper_half(1 << 63)), "to the end of all addresses");
    assert_eq!(client.ask(3, &upper_half((1 << 63) + 1), &[]), Err(libc::EINVAL), "and beyond");
    assert!(client.ask(2, &map(0x10000, 0x2000, 0), &[]).is_ok());
    let mut refused = |command, payload: &[u8], errno| assert_eq!(client.ask(command, payload, &[]), Err(errno), "{command} {payload:x?}");
    refused(2, &map(0x11000, 0x1000, 0), libc::EEXIST);
    refused(2, &map(0xf000, 0x1001, 0), libc::EEXIST);
    refused(3, &Request::DmaUnmap { address: 0x10000, bytes: 0x1000, all: false }.payload(), libc::EINVAL);
    refused(3, &Request::DmaUnmap { address: 0x11000, bytes: 0x1000, all: false }.payload(), libc::EINVAL);
    assert_eq!(client.ask(2, &map(0x12000, 0x1000, 0), &[]), Ok(vec![]));
    let unmap = Request::DmaUnmap { address: 0, bytes: 0, all: true }.payload();
    assert_eq!(client.ask(3, &unmap, &[]), Ok(unmap.clone()));
    assert_eq!(served.dma.mappings(), 0);
    assert!(read(&mut client, 0, 4).is_ok());
}

#[test]
fn messages_may_come_in_crumbs_or_in_one_lump() {
    let served = Served::start(1);
    let mut client = Raw::hello(&served.path);
    let mut lump = Vec::new();
    for number in 0..200u32 {
        let payload = write(0x1000 + 4 * u64::from(number), &number.to_le_bytes());
        lump.extend(header(number as u16, 10, payload.len(), 1 << 4));
        lump.extend(payload);
    }
    client.say(&lump, &[]);
    assert_eq!(read(&mut client, 0x1000 + 4 * 199, 4).unwrap(), 199u32.to_le_bytes(), "posted writes come before a read that follows");
    assert_eq!(read(&mut client, common::WRITES, 4).unwrap(), 200u32.to_le_bytes());
    let payload = write(0x2000, b"crumbs");
    for byte in [header(1, 10, payload.len(), 1 << 4), payload].concat() {
        client.say(&[byte], &[]);
        std::thread::sleep(Duration::from_micros(300));
    }
    assert_eq!(read(&mut client, 0x2000, 6).unwrap(), b"crumbs");
}

#[test]
fn a_file_that_becomes_shorter_is_refused_and_does_no_harm() {
    let served = Served::start(1);
    let mut client = Raw::hello(&served.path);
    let file = memory_file(0x3000, false);
    client.ask(2, &map(0x10000, 0x2000, 0x1000), &[file.as_raw_fd()]).unwrap();
    client.ask(10, &write(0x4000, b"x"), &[]).unwrap();
    assert_eq!(copy(&mut client, 0x10000, 0x11000, 64), 1);
    assert_eq!(unsafe { libc::ftruncate(file.as_raw_fd(), 0x1000) }, 0);
    assert_eq!(copy(&mut client, 0x10000, 0x11000, 64), 3, "nothing is there to be read");
    let (pipe, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert_eq!(client.ask(2, &map(0x20000, 0x1000, 0), &[pipe.as_raw_fd()]), Err(libc::EINVAL), "a socket has no places");
}

#[test]
fn a_client_that_floods_instead_of_answering_is_shown_out() {
    let served = Served::start(1);
    let mut client = Raw::hello(&served.path);
    client.ask(2, &map(0x10000, 0x1000, 0), &[]).unwrap();
    for (place, value) in [(common::FROM, 0x10000u64), (common::TO, 0x10000), (common::BYTES, 16), (common::LOOP, 1)] {
        let payload = write(place, &value.to_le_bytes());
        client.say(&[header(1, 10, payload.len(), 1 << 4), payload].concat(), &[]);
    }
    // The card now reads our memory, and waits for the answer.
    let payload = write(0x4000, &[0; 4]);
    let posted = [header(2, 10, payload.len(), 1 << 4), payload].concat();
    let mut sent = 0;
    while client.say(&posted, &[]) {
        sent += 1;
        assert!(sent < 1_000_000, "the server keeps all of {sent} messages");
    }
    drop(client);
    Client::connect("next", &served.path).unwrap();
}

/// What a virtual machine's other card gets: a write to where nothing is mapped is posted to the client, who may refuse it.
#[test]
fn writes_beyond_the_clients_memory_are_posted_once_they_are_passed_on() {
    let served = Served::start(1);
    let mut client = Raw::hello(&served.path);
    let file = memory_file(0x1000, true);
    client.ask(2, &map(0x10000, 0x1000, 0), &[file.as_raw_fd()]).unwrap();
    assert_eq!(copy(&mut client, 0x10000, 0x7000_0000, 16), 3, "nothing is mapped there");
    served.dma.pass_on_writes();
    for refuses in [true, false] {
        let registers = [(common::FROM, 0x10000), (common::TO, 0x7000_0ffc), (common::BYTES, 16), (common::GO, 0)];
        for (place, value) in registers {
            let payload = write(place, &u64::to_le_bytes(value)[..if place == common::GO { 4 } else { 8 }]);
            client.say(&[header(1, 10, payload.len(), 1 << 4), payload].concat(), &[]);
        }
        let (head, payload) = client.hear();
        assert_eq!((head.command, head.wants_reply(), head.is_reply()), (12, false, false));
        let (access, data) = DmaAccess::parse(&payload, true).unwrap();
        assert_eq!((access.address, access.bytes, data), (0x7000_0ffc, 16, &[0; 16][..]));
        if refuses {
            client.say(&head.refusal(libc::EFAULT).to_bytes(), &[]);
        }
        assert_eq!(read(&mut client, common::STATUS, 4), Ok(vec![1, 0, 0, 0]), "a posted write has no end that the card sees");
    }
    // A read has to have an answer, which nobody would give.
    assert_eq!(copy(&mut client, 0x7000_0000, 0x10000, 16), 3);
    // What answers nothing ends the connection as ever.
    client.say(&header(1, 12, 0, 1), &[]);
    assert!(read(&mut client, common::STATUS, 4).is_err());
}

#[test]
fn a_server_that_is_stopped_shows_its_client_out() {
    let served = Served::start(2);
    let client = Client::connect("client", &served.path).unwrap();
    client.enable_vectors(2).unwrap();
    let waiter = {
        let client = std::sync::Arc::new(client);
        let same = client.clone();
        let waiter = std::thread::spawn(move || same.wait(1, 20_000_000_000));
        std::thread::sleep(Duration::from_millis(20));
        served.stop();
        (waiter, client)
    };
    assert!(matches!(waiter.0.join().unwrap(), Err(BusError::Gone(_))));
    assert!(matches!(waiter.1.read32(0, 0), Err(BusError::Gone(_))));
    assert!(matches!(waiter.1.write32(0, 0, 1), Err(BusError::Gone(_))));
    assert!(waiter.1.poll().is_err() && waiter.1.fence().is_err());
}
