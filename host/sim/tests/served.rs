// SPDX-License-Identifier: Apache-2.0
//! The simulated card behind the vfio-user server, as another's client (crate `vfio_user`) finds it: what is not in the way of our own driver.
//! The model is compiled on the first run, so this needs Verilator on the path.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::undocumented_unsafe_blocks)]

mod common;

use common::{loopback, Served};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use towpath_bus::Bus;
use towpath_contract as contract;
use towpath_sim::{ServedCard, Settings};
use towpath_vfio_user::{Device, Dma, Pace, Server};
use vfio_user::Client;

const CONFIG: u32 = 7;
const MSIX: u32 = 2;
const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;

fn served(name: &str) -> Served {
    Served::start(name, |bus, path| {
        let server = Server::bind(path).unwrap();
        let (stop, mut card) = (server.stop(), ServedCard::new(bus.clone(), server.dma()).unwrap());
        (stop, std::thread::spawn(move || server.serve(&mut card)))
    })
}

fn read<const N: usize>(client: &mut Client, region: u32, offset: u64) -> [u8; N] {
    let mut bytes = [0; N];
    client.region_read(region, offset, &mut bytes).unwrap();
    bytes
}

/// The server calls `run` whenever there is no message to answer: a client that says much must not wait for a slow turn each time.
#[test]
fn time_goes_slowly_however_often_the_rest_is_disturbed() {
    let bus = loopback(Settings { quiet: 1000, ..Settings::default() });
    let mut card = ServedCard::new(bus.clone(), Dma::default()).unwrap();
    let cycles = || bus.statistics().unwrap().cycles;
    assert!((0..100_000).any(|_| matches!(card.run(), Pace::Later(_))), "it never rests");
    let (mut turns, mut between) = (0, Duration::ZERO);
    for _ in 0..1000 {
        let (start, before) = (Instant::now(), cycles());
        assert!(matches!(card.run(), Pace::Later(_)));
        // A look, or a turn as well.
        if cycles() - before > 64 {
            turns += 1;
        } else {
            between += start.elapsed();
        }
    }
    let most = between.as_millis() / 50 + 1;
    assert!(turns <= most, "{turns} turns, and {most} at most, in {between:?} between them");
}

#[test]
fn it_looks_like_a_card() {
    let served = served("looks");
    let mut client = Client::new(&served.path).unwrap();
    let size = |client: &Client, region: u32| client.region(region).unwrap().size;
    assert_eq!([size(&client, 0), size(&client, 1), size(&client, CONFIG)], [served.bus.bar_bytes(0), 0, 4096]);
    assert_eq!(size(&client, 2), served.bus.bar_bytes(2));
    assert!((0..9).all(|region| client.region(region).unwrap().file_offset.is_none()), "no page of it is mapped");
    let vectors = client.get_irq_info(MSIX).unwrap().count;
    assert!(vectors > 0);
    let control = u16::from_le_bytes(read(&mut client, CONFIG, 0x92));
    assert_eq!(u32::from(control & 0x7ff) + 1, vectors);
    // A host finds the size of BAR 0 by writing ones to it.
    client.region_write(CONFIG, 0x10, &[0xff; 8]).unwrap();
    let mask = u64::from_le_bytes(read(&mut client, CONFIG, 0x10)) & !0xf;
    assert_eq!(mask.wrapping_neg(), served.bus.bar_bytes(0));

    // Accesses of any size, at any place.
    let magic = contract::DISCOVERY_MAGIC_VALUE.to_le_bytes();
    assert_eq!(read::<8>(&mut client, 0, contract::DISCOVERY_MAGIC_OFFSET), magic);
    let whole: [u8; 32] = read(&mut client, 0, 0);
    for at in 0..8 {
        assert_eq!(read::<1>(&mut client, 0, at)[0], whole[at as usize]);
        assert_eq!(read::<3>(&mut client, 0, at)[..], whole[at as usize..at as usize + 3]);
        assert_eq!(read::<9>(&mut client, 0, at)[..], whole[at as usize..at as usize + 9]);
    }
    let scratch = 4;
    client.region_write(2, scratch, &0x1122_3344u32.to_le_bytes()).unwrap();
    client.region_write(2, scratch + 1, &[0xaa]).unwrap();
    assert_eq!(u32::from_le_bytes(read(&mut client, 2, scratch)), 0x1122_aa44);
    client.reset().unwrap();
    assert_eq!(read::<4>(&mut client, 2, scratch), [0; 4]);
    assert_eq!(u64::from_le_bytes(read(&mut client, CONFIG, 0x10)) & !0xf, 0);
    // As a guest's kernel does it: a function-level reset, by Device Control.
    client.region_write(2, scratch, &[0x55; 4]).unwrap();
    client.region_write(CONFIG, 0x58, &[0x10, 0x29]).unwrap();
    assert_eq!(read::<4>(&mut client, 2, scratch), [0x55; 4]);
    client.region_write(CONFIG, 0x58, &[0x10, 0xa9]).unwrap();
    assert_eq!(read::<4>(&mut client, 2, scratch), [0; 4]);
    client.shutdown().unwrap();
}

/// A ring, one descriptor each way, and the interrupts: by hand, in a file that the card's process maps.
#[test]
fn it_moves_data_in_memory_that_a_client_shares() {
    let served = served("moves");
    let mut client = Client::new(&served.path).unwrap();
    let memory = File::from(towpath_system::file::memory_file("memory", 0x10000, true).unwrap());
    let base = 0x2_0000_0000u64;
    client.dma_map(0, base, 0x10000, memory.as_raw_fd()).unwrap();
    let mut events: Vec<File> = (0..2).map(|_| unsafe { File::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) }).collect(); // they block: to be waited for
    client.set_irqs(MSIX, EVENTFD_TRIGGER, 0, 2, &[events[0].as_raw_fd(), events[1].as_raw_fd()]).unwrap();
    client.region_write(CONFIG, 4, &[6, 0]).unwrap(); // memory and bus master

    let shift = u64::from(read::<1>(&mut client, 0, contract::DISCOVERY_PAGE_SHIFT_OFFSET)[0]);
    let page = |channel: u64, page: u64| (contract::PAGE_CHANNELS + contract::PAGES_PER_CHANNEL * channel + page) << shift;
    let bytes: Vec<u8> = (0..1000u32).map(|at| (at * 7) as u8).collect();
    memory.write_all_at(&bytes, 0x4001).unwrap();
    for channel in [1u64, 0] {
        let privileged = page(channel, contract::PAGE_CHANNEL_PRIVILEGED);
        let mut write = |offset: u64, value: &[u8]| client.region_write(0, offset, value).unwrap();
        write(privileged + contract::CHANNEL_RING_BASE_OFFSET, &(base + 0x1000 * channel).to_le_bytes());
        write(privileged + contract::CHANNEL_RING_LOG2_OFFSET, &6u32.to_le_bytes());
        write(privileged + contract::CHANNEL_VECTOR_OFFSET, &(channel as u32).to_le_bytes());
        write(privileged + contract::CHANNEL_CONTROL_OFFSET, &contract::CHANNEL_CONTROL_ENABLE_MASK.to_le_bytes());
        let doorbell = page(channel, contract::PAGE_CHANNEL_DOORBELL);
        write(doorbell + contract::DOORBELL_ARM_OFFSET, &0u32.to_le_bytes());
        let end = if channel == 0 { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB | end;
        let address = base + if channel == 0 { 0x4001 } else { 0x8003 };
        let descriptor = contract::Descriptor { address, length: if channel == 0 { 1000 } else { 2000 }, cookie: 0x77, control };
        let image = descriptor.to_le_bytes();
        write(doorbell + contract::DOORBELL_DESCRIPTOR_OFFSET, &image[..8]);
        write(doorbell + contract::DOORBELL_DESCRIPTOR_OFFSET + 8, &image[8..]);
    }
    for (channel, event) in events.iter_mut().enumerate() {
        event.read_exact(&mut [0; 8]).unwrap();
        let mut entry = [0; contract::COMPLETION_BYTES];
        memory.read_exact_at(&mut entry, 0x1000 * channel as u64).unwrap();
        let entry = contract::Completion::from_le_bytes(entry);
        let status = if channel == 0 { contract::Status::Done } else { contract::Status::EndOfMessage };
        assert_eq!((entry.bytes, entry.cookie, entry.status), (1000, 0x77, status as u8), "channel {channel}");
    }
    let mut found = vec![0; 1002];
    memory.read_exact_at(&mut found, 0x8002).unwrap();
    assert_eq!((found[0], found[1001]), (0, 0), "not a byte beside it");
    assert_eq!(found[1..1001], bytes[..]);
    client.shutdown().unwrap();
}

/// What a client wrote just before it left is on its way when the card's reset begins, and must not come after it.
#[test]
fn a_last_word_does_not_reach_the_next_client() {
    let served = served("last");
    for round in 0..10 {
        let client = towpath_vfio_user::Client::connect("last", &served.path).unwrap();
        let shift = client.read32(0, contract::DISCOVERY_PAGE_SHIFT_OFFSET & !3).unwrap()
            >> (8 * (contract::DISCOVERY_PAGE_SHIFT_OFFSET & 3))
            & 0xff;
        let timeout = (contract::PAGE_CARD << shift) + contract::CARD_WINDOW_TIMEOUT_OFFSET;
        assert_eq!(client.read32(0, timeout).unwrap(), contract::CARD_WINDOW_TIMEOUT_RESET, "round {round}");
        client.write32(0, timeout, 0).unwrap();
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Whatever a client writes to the card, its process lives on, and the next client finds a card that works.
#[test]
fn whatever_a_client_writes_the_next_one_finds_a_card() {
    let served = served("fuzz");
    let number = |name: &str, otherwise: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (first, rounds) = (number("TOWPATH_SEED", 1), number("TOWPATH_ROUNDS", 40));
    let mut busy = 0;
    for seed in first..first + rounds {
        eprintln!("seed {seed}: TOWPATH_SEED={seed} TOWPATH_ROUNDS=1 repeats it");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let client = towpath_vfio_user::Client::connect("fuzz", &served.path).unwrap();
        let before = served.bus.statistics().unwrap();
        let shift = client.read32(0, contract::DISCOVERY_PAGE_SHIFT_OFFSET & !3).unwrap()
            >> (8 * (contract::DISCOVERY_PAGE_SHIFT_OFFSET & 3))
            & 0xff;
        let page = |page: u64| (contract::PAGE_CHANNELS + page) << shift;
        let mut memory = vec![0u64; 0x2000];
        let memory = unsafe { client.map(memory.as_mut_ptr().cast(), 0x10000, towpath_bus::Access::ReadWrite) }.unwrap();
        client.enable_vectors(2).unwrap();
        for channel in 0..2 {
            let privileged = page(contract::PAGES_PER_CHANNEL * channel + contract::PAGE_CHANNEL_PRIVILEGED);
            client.write64(0, privileged + contract::CHANNEL_RING_BASE_OFFSET, memory + 0x1000 * channel).unwrap();
            client.write32(0, privileged + contract::CHANNEL_RING_LOG2_OFFSET, 6).unwrap();
            client.write32(0, privileged + contract::CHANNEL_CONTROL_OFFSET, contract::CHANNEL_CONTROL_ENABLE_MASK).unwrap();
        }
        for _ in 0..random.next() % 200 {
            let channel = page(contract::PAGES_PER_CHANNEL * (random.next() % 2));
            let offset = match random.next() % 8 {
                0 => random.next() % client.bar_bytes(0),
                1 => (contract::PAGE_MSIX << shift) + random.next() % 0x40,
                2 => (contract::PAGE_CARD << shift) + random.next() % 0x40,
                3 => channel + (contract::PAGE_CHANNEL_PRIVILEGED << shift) + random.next() % 0x40,
                4 => channel + (contract::PAGE_CHANNEL_INLINE << shift) + random.next() % 0x100,
                _ => channel + (contract::PAGE_CHANNEL_DOORBELL << shift) + random.next() % 0x20,
            };
            let value = match random.next() % 4 {
                0 => random.next() % 8,
                1 => memory + random.next() % 0x11000,
                2 => (random.next() % 0x800) | ((random.next() % 64) << 48), // the upper half of a descriptor, more or less
                _ => random.next(),
            };
            let _ = match random.next() % 9 {
                8 => {
                    // A descriptor that could be one.
                    let doorbell = channel + (contract::PAGE_CHANNEL_DOORBELL << shift) + contract::DOORBELL_DESCRIPTOR_OFFSET;
                    let upper = (random.next() % 0x3000) | ((random.next() % 4) << 48) | ((random.next() % 16) << 56);
                    client.write64(0, doorbell, value).and_then(|()| client.write64(0, doorbell + 8, upper))
                }
                0 => client.write_combining(0, offset, &value.to_le_bytes()[..1 + (value >> 40) as usize % 8]),
                1 => client.write32(2, (offset % 0x1000) & !3, value as u32),
                2 | 3 => client.write32(0, offset & !3, value as u32),
                _ => client.write64(0, offset & !7, value),
            };
            if random.next() % 16 == 0 {
                client.read32(0, offset & !3).unwrap();
            }
        }
        drop(client);
        busy += u64::from(served.bus.statistics().unwrap().since(&before).card_reads > 0);
        let next = towpath_vfio_user::Client::connect("next", &served.path).unwrap();
        assert_eq!(next.read64(0, contract::DISCOVERY_MAGIC_OFFSET).unwrap(), contract::DISCOVERY_MAGIC_VALUE);
        next.write32(2, 4, seed as u32).unwrap();
        assert_eq!(next.read32(2, 4).unwrap(), seed as u32);
    }
    eprintln!("in {busy} of {rounds} rounds the card read memory");
    assert!(3 * busy > rounds || rounds < 10, "the card has hardly done anything");
}
