// SPDX-License-Identifier: Apache-2.0
//! What a guest may expect of the server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{longs, words, Guest, Served, BAR_BYTES, BYTES, FIRE, FREE, FROM, GO, GUEST, MEMORY, MESSAGES, STATUS, USER, WRITES};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use towpath_system::event;

#[test]
fn accesses_of_any_size_at_any_place() {
    let served = Served::start();
    let mut guest = Guest::begin(&served.path);
    let mut image = vec![0u8; BAR_BYTES as usize];
    for (round, bytes) in [1usize, 2, 4, 8, 3, 5, 16, 64, 100, 4095, 4096, 4097, 20_000].into_iter().enumerate() {
        for lead in 0..9 {
            let at = 0x1000 + lead;
            let data: Vec<u8> = (0..bytes).map(|index| (index * 31 + round * 7 + lead) as u8).collect();
            guest.write(0, at as u64, &data);
            image[at..at + bytes].copy_from_slice(&data);
            assert!(guest.read(3, 0, at as u64 - 4, bytes + 8) == image[at - 4..at + bytes + 4], "{bytes} bytes at {at:#x}");
        }
    }
    // A posted write takes no bytes of the answer, a filling one has a single byte of data.
    assert_eq!(guest.access(Guest::head(5, 0, 5000, 0x2001), &[0xc3], 0), 0);
    image[0x2001..0x2001 + 5000].fill(0xc3);
    assert!(guest.read(3, 0, 0x2000, 5002) == image[0x2000..0x2000 + 5002]);
    // Configuration space; a kernel sends eight bytes with a write of two.
    assert_eq!(guest.access(Guest::head(2, 0, 2, 0x10), &[1, 2, 3, 4, 5, 6, 7, 8], 0), 0);
    assert_eq!(guest.read(1, 0, 0x0f, 4), [0, 1, 2, 0]);
    // And gives room of eight for a read of two.
    assert_eq!(guest.access(Guest::head(1, 0, 2, 0x10), &[], 8), 2);
    assert_eq!(guest.load::<4>(FREE)[..2], [1, 2]);
}

#[test]
fn what_is_not_there_reads_as_ones_and_cannot_be_written() {
    let served = Served::start();
    let mut guest = Guest::begin(&served.path);
    for (operation, bar, offset, bytes) in [
        (3, 0, BAR_BYTES, 4),
        (3, 0, BAR_BYTES - 2, 4),
        (3, 0, u64::MAX, 8),
        (3, 0, u64::MAX - 7, 8),
        (3, 1, 0, 4),
        (3, 5, 0, 1),
        (3, 6, 0, 4), // the ROM, which no access means
        (3, 7, 0, 4), // configuration space, by the wrong name
        (3, 255, 0, 4),
        (3, 2, 0, 4), // the device refuses
        (1, 0, 4096, 2),
        (1, 0, 4094, 8),
    ] {
        assert_eq!(guest.read(operation, bar, offset, bytes), vec![0xff; bytes], "{operation} {bar} {offset:#x} {bytes}");
    }
    for (bar, offset) in [(0, BAR_BYTES - 2), (0, u64::MAX - 1), (2, 0), (7, 0)] {
        guest.write(bar, offset, &[1; 4]);
    }
    // Data that is missing, messages that are cut short, words that nobody knows.
    assert_eq!(guest.access(Guest::head(4, 0, 8, 0x100), &[1, 2, 3, 4], 0), 0);
    assert_eq!(guest.access(Guest::head(5, 0, 8, 0x100), &[], 0), 0);
    assert_eq!([0, 6, 7, 8, 9, 255].map(|operation| guest.access(Guest::head(operation, 0, 4, 0), &[0; 4], 4)), [0; 6]);
    assert_eq!(guest.read32(WRITES), 0, "none of it was a write");
    // Less room than is asked for.
    assert_eq!(guest.access(Guest::head(3, 0, 8, 0), &[], 4), 4);
    assert_eq!(guest.load::<4>(FREE), [0xff; 4]);
}

#[test]
fn the_card_reaches_the_guests_memory_and_nothing_else() {
    let served = Served::start();
    let mut guest = Guest::begin(&served.path);
    guest.give_buffers(0, 4);
    guest.kick(1);
    let data: Vec<u8> = (0..9000u32).map(|at| (at * 7) as u8).collect();
    let copy = |guest: &mut Guest, from: u64, to: u64, bytes: u32| {
        guest.write(0, FROM, &longs(&[from, to]));
        guest.write(0, BYTES, &words(&[bytes]));
        guest.write(0, GO, &words(&[9]));
        let (head, data) = guest.interrupt(MESSAGES).expect("the interrupt comes before the kick is answered");
        assert_eq!(data, 9);
        guest.offer(1, head);
        guest.kick(1);
        guest.read32(STATUS)
    };
    // From before the border between the regions to behind it, which have nothing to do with each other but that they are neighbours.
    let border = MEMORY / 2;
    guest.store(border - 5000, &data);
    assert_eq!(copy(&mut guest, GUEST + border - 5000, GUEST + 0xc_0000, 9000), 1);
    let mut found = vec![0; 9002];
    guest.memory.read(0xc_0000 - 1, &mut found);
    assert_eq!((found[0], found[9001], found[1..9001] == data[..]), (0, 0, true));
    assert_eq!(copy(&mut guest, GUEST + 0xc_0000, GUEST + MEMORY - 9000, 9000), 1, "up to the last byte");
    for (from, to) in [
        (GUEST - 1, GUEST + FREE),
        (GUEST + MEMORY - 8999, GUEST + FREE),
        (GUEST + FREE, GUEST + MEMORY - 8999),
        (GUEST + FREE, GUEST - 1),
        (USER + FREE, GUEST + FREE),
        (u64::MAX - 10, GUEST + FREE),
        (GUEST + FREE, u64::MAX - 10),
        (0, 0),
    ] {
        assert_eq!(copy(&mut guest, from, to, 9000), 3, "{from:#x} {to:#x}");
    }
}

#[test]
fn interrupts_wait_for_buffers_and_none_is_lost() {
    let served = Served::start();
    let mut guest = Guest::begin_at(&served.path, 16, 65_530);
    let mut due = std::collections::VecDeque::new();
    for round in 0..200u32 {
        // More than there are buffers, most of the time.
        let count = 1 + round * 7 % 40;
        guest.write(0, FIRE, &words(&[count]));
        due.extend(0..count);
        assert_eq!(guest.interrupt(MESSAGES), None, "there is no buffer");
        while !due.is_empty() {
            guest.calls();
            guest.give_buffers(0, 10);
            guest.kick(1);
            let mut came = 0;
            while let Some((_, data)) = guest.interrupt(MESSAGES) {
                assert_eq!(Some(data), due.pop_front(), "round {round}");
                came += 1;
            }
            assert!(came == 10 || due.is_empty(), "as many as have room: {came}");
            // The server may have seen the first buffers before it heard of the last.
            assert!((1..=came as usize).contains(&guest.calls()), "one call, for as many as were there");
            // Take back the buffers that are left: the next round begins without.
            let left = 10 - came;
            guest.write(0, FIRE, &words(&[left]));
            assert!((0..left).all(|data| guest.interrupt(MESSAGES).is_some_and(|(_, found)| found == data)));
            guest.calls();
        }
    }
    // A guest that looks by itself is not called.
    guest.memory.release16(guest.rings[1].available() as usize, 1);
    guest.give_buffers(0, 1);
    guest.write(0, FIRE, &words(&[1]));
    assert!(guest.interrupt(MESSAGES).is_some() && guest.calls() == 0);
}

/// A kernel that waits for an answer does not empty the channel back; the server must neither wait for it nor forget.
#[test]
fn a_channel_back_that_is_full_holds_nobody_up() {
    let served = Served::start();
    let mut guest = Guest::begin(&served.path);
    guest.give_buffers(0, 8);
    guest.kick(1);
    // Page by page, so that nothing is left.
    while event::is_writable(guest.back_writer.as_fd()) {
        guest.back_writer.write_all(&[0x77; 4096]).unwrap();
    }
    for data in 0..6 {
        guest.write(0, FIRE, &words(&[data + 1]));
        assert_eq!(guest.read32(FIRE), data + 1, "it is served meanwhile");
        while guest.interrupt(MESSAGES).is_some_and(|(head, _)| {
            guest.offer(1, head);
            true
        }) {}
    }
    let mut junk = [0; 4096];
    let mut bytes: Vec<u8> = Vec::new();
    for _ in 0..100 {
        match std::io::Read::read(&mut guest.back, &mut junk) {
            Ok(count) => bytes.extend(junk[..count].iter().filter(|byte| **byte != 0x77)),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    // One that was about to go, and one that stands for all the others.
    assert!([20, 40].contains(&bytes.len()) && bytes.chunks(20).all(|call| call == common::message(4, 1, &words(&[1, 0]))), "{bytes:x?}");
}

#[test]
fn indices_of_sixteen_bits_go_round() {
    let served = Served::start();
    for base in [0u16, 65_500, 65_535] {
        let mut guest = Guest::begin_at(&served.path, 4, base);
        guest.give_buffers(0, 4);
        for round in 0..1000u32 {
            if round % 64 == 0 {
                guest.write(0, 0x100, &words(&[round]));
                assert_eq!(guest.read32(0x100), round);
            }
            guest.write(0, FIRE, &words(&[1]));
            let (head, _) = guest.interrupt(MESSAGES).unwrap_or_else(|| panic!("no interrupt in round {round}"));
            guest.offer(1, head);
        }
        let stood = guest.ask(11, &words(&[1, 0]));
        assert_eq!(stood, 1 | u64::from(base.wrapping_add(1000)) << 32, "where the ring of interrupts was stopped");
    }
}

#[test]
fn several_accesses_by_one_kick_are_done_in_order() {
    let served = Served::start();
    let mut guest = Guest::begin(&served.path);
    let at = guest.rings[0].buffers();
    for index in 0..60u16 {
        let head = Guest::head(4, 0, 4, 0x200 + 4 * u64::from(index / 2));
        guest.store(at + 32 * u64::from(index), &[&head[..], &words(&[index.into()])].concat());
        guest.set_descriptor(0, index, GUEST + at + 32 * u64::from(index), 20, 0, 0);
        guest.offer(0, index);
    }
    guest.kick(0);
    assert!((0..60).all(|index| guest.used(0) == Some((index, 0))));
    assert!((0..30).all(|place| guest.read32(0x200 + 4 * u64::from(place)) == 2 * place + 1));
    // In many small pieces, some of them empty.
    let bytes = [&Guest::head(4, 0, 6, 0x302)[..], &[1, 2, 3, 4, 5, 6]].concat();
    guest.store(at, &bytes);
    for index in 0..22u16 {
        guest.set_descriptor(0, 2 * index, GUEST + at + u64::from(index), 1, 1, 2 * index + 1);
        guest.set_descriptor(0, 2 * index + 1, 0, 0, 1, 2 * index + 2);
    }
    guest.set_descriptor(0, 44, 0, 0, 0, 0);
    guest.offer(0, 0);
    guest.kick(0);
    assert_eq!((guest.used(0), guest.read(3, 0, 0x300, 10)), (Some((0, 0)), vec![0, 0, 1, 2, 3, 4, 5, 6, 0, 0]));
    // And an answer in pieces, longer than a device reads at once, of which the last has room to spare.
    let pattern: Vec<u8> = (0..10_000u32).map(|at| ((at * 13) >> 3) as u8).collect();
    guest.write(0, 0x1000, &pattern);
    guest.store(at, &Guest::head(3, 0, 10_000, 0x1000));
    guest.set_descriptor(0, 0, GUEST + at, 16, 1, 1);
    let pieces = [3u64, 0, 4095, 1, 5000, 2000];
    let mut place = FREE;
    for (index, bytes) in (1u16..).zip(pieces) {
        guest.set_descriptor(0, index, GUEST + place, bytes as u32, if index < 6 { 3 } else { 2 }, index + 1);
        place += bytes + 16; // with something in between that is nobody's
    }
    guest.store(FREE, &[0x5a; 12_000]);
    guest.offer(0, 0);
    guest.kick(0);
    assert_eq!(guest.used(0), Some((0, 10_000)));
    let mut found = vec![0; 12_000];
    guest.memory.read(FREE as usize, &mut found);
    let mut due = vec![0x5a; 12_000];
    let (mut from, mut to) = (0, 0);
    for bytes in pieces.map(|bytes| bytes as usize) {
        let here = bytes.min(pattern.len() - from);
        due[to..to + here].copy_from_slice(&pattern[from..from + here]);
        (from, to) = (from + here, to + bytes + 16);
    }
    assert!(found == due);
}

#[test]
fn a_guest_leaves_nothing_to_the_next_and_there_is_one_at_a_time() {
    let served = Served::start();
    for _ in 0..20 {
        let mut guest = Guest::begin(&served.path);
        assert_eq!((guest.read32(WRITES), guest.read32(FIRE)), (0, 0));
        guest.write(0, FIRE, &words(&[5])); // for which there are no buffers
        let mut second = UnixStream::connect(&served.path).unwrap();
        second.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let end = std::io::Read::read(&mut second, &mut [0; 1]);
        assert!(end.as_ref().is_ok_and(|count| *count == 0), "the connection is closed: {end:?}");
        guest.give_buffers(0, 5);
        guest.kick(1);
        assert!(guest.interrupt(MESSAGES).is_some(), "the first one is served on");
    }
}
