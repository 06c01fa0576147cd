// SPDX-License-Identifier: Apache-2.0
//! Guests that say what makes no sense: each is refused or shown out, nothing outside of the guest's memory is touched, and the next one is served.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use common::{longs, memory_file, message, seeds, words, Guest, Random, Served, FIRE, FREE, GUEST, MEMORY, USER};
use std::io::Write;
use std::os::fd::OwnedFd;

/// The server is there for the next one.
fn works(served: &Served) {
    let mut guest = Guest::begin(&served.path);
    guest.write(0, 0x40, &words(&[0x1234_5678]));
    assert_eq!(guest.read32(0x40), 0x1234_5678);
}

#[test]
fn rings_that_cannot_be() {
    type Deed = fn(&mut Guest);
    let deeds: &[(&str, Deed)] = &[
        ("a head outside of the ring", |guest| guest.offer(0, 64)),
        ("a head far outside", |guest| guest.offer(0, 65_535)),
        ("more buffers than places", |guest| guest.memory.release16(guest.rings[0].available() as usize + 2, 66)),
        ("an index that goes back", |guest| guest.memory.release16(guest.rings[0].available() as usize + 2, 65_535)),
        ("a chain of one that goes on with itself", |guest| {
            guest.set_descriptor(0, 0, GUEST, 1, 1, 0);
            guest.offer(0, 0);
        }),
        ("a chain in a circle", |guest| {
            (0..64).for_each(|index| guest.set_descriptor(0, index, GUEST, 0, 1, (index + 1) % 64));
            guest.offer(0, 5);
        }),
        ("a chain that leaves the ring", |guest| {
            guest.set_descriptor(0, 0, GUEST, 16, 1, 64);
            guest.offer(0, 0);
        }),
        ("indirect descriptors, which were not offered", |guest| {
            guest.set_descriptor(0, 0, GUEST + FREE, 64, 4, 0);
            guest.offer(0, 0);
        }),
        ("what is read behind what is written", |guest| {
            guest.set_descriptor(0, 0, GUEST + FREE, 64, 3, 1);
            guest.set_descriptor(0, 1, GUEST + FREE, 64, 0, 0);
            guest.offer(0, 0);
        }),
        ("memory that is taken away from under a ring", |guest| {
            let table = [words(&[1, 0]), longs(&[GUEST + 0x10_0000, 0x1000, USER + 0x10_0000, 0])].concat();
            let file = guest.files[0].try_clone().unwrap();
            guest.obeyed(5, &table, &[file]);
        }),
        ("interrupts into too little room", |guest| {
            guest.set_descriptor(1, 0, GUEST + FREE, 19, 2, 0);
            guest.offer(1, 0);
        }),
        ("interrupts into nothing of the guest's", |guest| {
            guest.set_descriptor(1, 0, GUEST + MEMORY - 19, 20, 2, 0);
            guest.offer(1, 0);
        }),
        ("interrupts into what may be read only", |guest| {
            guest.set_descriptor(1, 0, GUEST + FREE, 20, 0, 0);
            guest.offer(1, 0);
        }),
    ];
    let served = Served::start();
    for (what, deed) in deeds {
        let mut guest = Guest::begin(&served.path);
        guest.write(0, FIRE, &words(&[1]));
        deed(&mut guest);
        let ring = u32::from(guest.rings[1].available > 0);
        // It may have gone before it says so: the ring of interrupts is looked at all the time.
        let _ = guest.stream.write_all(&message(35, 9, &words(&[ring, 0])));
        assert!(guest.is_shown_out(), "{what}");
        works(&served);
    }
}

/// A kernel's own variables are not in the memory that it shares: an access by one is lost, and the kernel lives on.
#[test]
fn buffers_that_are_nowhere() {
    let served = Served::start();
    let mut guest = Guest::begin(&served.path);
    let at = guest.rings[0].buffers();
    guest.store(at, &Guest::head(3, 0, 8, 0));
    for (address, bytes) in [(GUEST - 8, 8), (GUEST + MEMORY - 4, 8), (u64::MAX - 3, 8), (0, u32::MAX), (GUEST, u32::MAX)] {
        // As the room for an answer, then as the access itself.
        guest.set_descriptor(0, 0, GUEST + at, 16, 1, 1);
        guest.set_descriptor(0, 1, address, bytes, 2, 0);
        guest.set_descriptor(0, 2, address, bytes, 0, 0);
        guest.offer(0, 0);
        guest.offer(0, 2);
        guest.kick(0);
        let first = guest.used(0).unwrap();
        assert!(first == (0, 0) || (address, bytes, first) == (GUEST, u32::MAX, (0, 8)), "{address:#x} {bytes} {first:?}");
        assert_eq!(guest.used(0), Some((2, 0)), "{address:#x} {bytes}");
    }
    // As many times all of the memory as there are descriptors, and so a write with much more data than any: it is none.
    guest.store(0, &[&Guest::head(4, 0, 4, 0x40)[..], &[1; 4]].concat());
    (0..64).for_each(|index| guest.set_descriptor(0, index, GUEST, MEMORY as u32, u16::from(index < 63), index + 1));
    guest.offer(0, 0);
    guest.kick(0);
    assert_eq!((guest.used(0), guest.read32(0x40)), (Some((0, 0)), 0));
    guest.write(0, 0x40, &words(&[7]));
    assert_eq!(guest.read32(0x40), 7);
}

#[test]
fn requests_that_cannot_be_obeyed() {
    let served = Served::start();
    let mut guest = Guest::silent(&served.path, 64);
    // Before anything: no memory, no features, no channel back.
    guest.refused(18, &words(&[0, 1]), &[]);
    guest.obeyed(35, &words(&[0, 0]), &[]); // a kick of a ring that is not enabled is nothing
    guest.refused(35, &words(&[2, 0]), &[]);
    guest.negotiate();
    guest.refused(2, &longs(&[1 << 30 | 1 << 28]), &[]);
    guest.refused(16, &longs(&[1 << 3 | 1 << 5]), &[]);
    guest.refused(16, &longs(&[u64::MAX]), &[]);
    guest.refused(21, &[], &[]);
    guest.refused(21, &[], &[memory_file(4096)]);
    guest.refused(24, &[0; 12], &[]);
    guest.refused(99, &[], &[]);
    guest.refused(12, &longs(&[0]), &[memory_file(4096)]);
    let file = || memory_file(0x4000);
    let table = |entries: &[u64]| [words(&[entries.len() as u32 / 4, 0]), longs(entries)].concat();
    for entry in [
        [GUEST, 0x5000, USER, 0],      // more than the file has
        [GUEST, 0x4000, USER, 0x1000], // the same
        [GUEST, 0, USER, 0],
        [GUEST + 1, 0x1000, USER, 0],
        [GUEST, 0x1000, USER + 8, 0],
        [GUEST, 0x1000, USER, 8],
        [!0xfff, 0x2000, USER, 0],
        [GUEST, 0x2000, !0xfff, 0],
        [GUEST, u64::MAX, USER, 0],
        [GUEST, 0x1000, USER, !0xfff],
    ] {
        guest.refused(5, &table(&entry), &[file()]);
    }
    guest.refused(5, &table(&[GUEST, 0x2000, USER, 0, GUEST + 0x1000, 0x2000, USER + 0x10_0000, 0]), &[file(), file()]);
    guest.refused(5, &table(&[GUEST, 0x2000, USER, 0, GUEST + 0x10_0000, 0x2000, USER + 0x1000, 0]), &[file(), file()]);
    guest.refused(5, &table(&[GUEST, 0x2000, USER, 0]), &[]);
    guest.refused(5, &table(&[GUEST, 0x2000, USER, 0]), &[file(), file()]);
    let pipe: OwnedFd = guest.back.try_clone().unwrap().into();
    guest.refused(5, &table(&[GUEST, 0x2000, USER, 0]), &[pipe]);
    guest.refused(5, &words(&[9, 0]), &[]);
    guest.refused(5, &words(&[1]), &[file()]);
    guest.set_memory();
    for size in [0, 3, 65_536, u32::MAX] {
        guest.refused(8, &words(&[0, size]), &[]);
    }
    guest.refused(8, &words(&[2, 64]), &[]);
    guest.refused(10, &words(&[0, 65_536]), &[]);
    let addresses = |index: u32, parts: [u64; 3]| [words(&[index, 0]), longs(&parts), longs(&[0])].concat();
    for parts in [[1, 0, 0], [0, 2, 0], [0, 0, 1]] {
        guest.refused(9, &addresses(0, parts.map(|lead| USER + lead)), &[]);
    }
    guest.refused(9, &addresses(7, [USER; 3]), &[]);
    // Enabled without a size, and where there is not enough memory for it.
    guest.obeyed(9, &addresses(0, [USER, USER + 0x2000, USER + 0x1000]), &[]);
    guest.refused(18, &words(&[0, 1]), &[]);
    guest.obeyed(8, &words(&[0, 32_768]), &[]);
    guest.obeyed(9, &addresses(0, [USER + 0x10, USER + 0x2000, USER + 0x1000]), &[]);
    guest.refused(18, &words(&[0, 1]), &[]);
    for parts in [[0, 0, 0], [USER - 16, USER, USER], [USER, u64::MAX - 3, USER], [GUEST, GUEST, GUEST]] {
        guest.obeyed(8, &words(&[0, 64]), &[]);
        guest.obeyed(9, &addresses(0, parts), &[]);
        guest.refused(18, &words(&[0, 1]), &[]);
    }
    guest.set_ring(0, 0);
    guest.set_ring(1, 0);
    // While it is enabled, nothing of it changes.
    guest.refused(8, &words(&[0, 32]), &[]);
    guest.refused(9, &addresses(0, [USER, USER + 0x2000, USER + 0x1000]), &[]);
    guest.refused(10, &words(&[1, 5]), &[]);
    guest.write(0, 0x40, &words(&[9]));
    assert_eq!(guest.read32(0x40), 9, "after all that it works");
    // A refusal that is not waited for ends it.
    guest.stream.write_all(&message(8, 1, &words(&[0, 32]))).unwrap();
    assert!(guest.is_shown_out());
    works(&served);
}

#[test]
fn messages_that_are_none() {
    let served = Served::start();
    for bytes in [
        message(1, 0, &[]),        // of no version
        message(1, 5, &[]),        // an answer
        message(1, 1, &[0; 1025]), // longer than any
        words(&[1, 1, u32::MAX]),  // longer than there is memory
        vec![0xff; 12],
        message(8, 9, &[])[..7].to_vec(), // and then nothing
    ] {
        let mut guest = Guest::silent(&served.path, 64);
        guest.stream.write_all(&bytes).unwrap();
        guest.stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(guest.is_shown_out(), "{bytes:x?}");
        works(&served);
    }
    // Byte by byte, and many at once: a message is what its header says.
    let mut guest = Guest::silent(&served.path, 64);
    for byte in [message(3, 9, &[]), message(3, 9, &[])].concat() {
        guest.stream.write_all(&[byte]).unwrap();
    }
    let mut answers = [0; 40];
    std::io::Read::read_exact(&mut guest.stream, &mut answers).unwrap();
    assert_eq!(answers[..20], answers[20..]);
}

/// Anything at all, from a guest that begins as it should: messages, descriptors, and what stands in the rings.
#[test]
fn whatever_a_guest_says_the_next_one_is_served() {
    let served = Served::start();
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let mut guest = Guest::begin(&served.path);
        guest.stream.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
        for _ in 0..random.below(60) {
            match random.below(8) {
                // A ring's parts, somewhere, with something that could be, or not.
                0..=3 => {
                    let ring = random.below(2) as usize;
                    let place = match random.below(3) {
                        0 => guest.rings[ring].descriptor(random.below(8) as u16) + 2 * random.below(8),
                        1 => guest.rings[ring].available() + 2 * random.below(8),
                        _ => guest.rings[ring].buffers() + 2 * random.below(12),
                    };
                    let value = if random.below(2) == 0 { random.below(8) } else { random.next() };
                    guest.memory.release16(place as usize, value as u16);
                }
                4 | 5 => {
                    let ring = random.below(2);
                    let index = random.below(8) as u16;
                    let address = GUEST + [FREE, guest.rings[0].buffers(), MEMORY - 10][random.below(3) as usize];
                    let flags = random.below(4) as u16;
                    guest.set_descriptor(ring as usize, index, address, random.below(64) as u32, flags, random.below(9) as u16);
                    guest
                        .store(guest.rings[0].buffers(), &Guest::head(random.below(9) as u8, random.below(3) as u8, 4, random.below(0x60)));
                    guest.offer(ring as usize, index);
                    let _ = guest.request(35, 9, &words(&[ring as u32, 0]), &[]);
                }
                6 => {
                    let number = [2, 3, 4, 5, 8, 9, 10, 11, 12, 16, 18, 21, 35, random.below(40) as u32][random.below(14) as usize];
                    let mut payload = vec![0; random.below(80) as usize];
                    payload
                        .iter_mut()
                        .for_each(|byte| *byte = if random.below(2) == 0 { random.below(3) as u8 } else { random.next() as u8 });
                    let descriptors: Vec<OwnedFd> = (0..random.below(4)).map(|_| memory_file(random.below(0x8000))).collect();
                    let _ = guest.request(number, 9, &payload, &descriptors);
                }
                _ => {
                    let bytes: Vec<u8> = (0..random.below(30)).map(|_| random.next() as u8).collect();
                    let _ = guest.stream.write_all(&message(35, 1, &bytes[..bytes.len().min(8)]));
                }
            }
        }
        drop(guest);
        works(&served);
    }
}
