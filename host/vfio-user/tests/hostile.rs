// SPDX-License-Identifier: Apache-2.0
//! Clients that send anything at all, and clients that are killed: the server lives on, the next client works, and nothing is left behind.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::undocumented_unsafe_blocks)]

mod common;

use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::{header, memory_file, Random, Raw, Served};
use towpath_bus::{Access, Bus, Wake};
use towpath_vfio_user::message::{access, Request, Trigger};
use towpath_vfio_user::Client;

/// These tests count the descriptors of the process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn map(address: u64, bytes: u64, offset: u64) -> Vec<u8> {
    Request::DmaMap { readable: true, writable: true, offset, address, bytes }.payload()
}

/// A client that does all that a driver does, and finds the card as new.
fn works(served: &Served) {
    let client = Client::connect("next", &served.path).unwrap();
    assert_eq!(client.read32(0, common::WRITES).unwrap(), 0, "the card was reset");
    client.enable_vectors(2).unwrap();
    let (source, mut target) = (*b"from here to there", [0u8; 18]);
    let from = unsafe { client.map(source.as_ptr().cast_mut(), 18, Access::Read) }.unwrap();
    let to = unsafe { client.map(target.as_mut_ptr(), 18, Access::Write) }.unwrap();
    assert_eq!(served.dma.mappings(), 2, "nobody else's memory is left");
    client.write64(0, common::FROM, from).unwrap();
    client.write64(0, common::TO, to).unwrap();
    client.write32(0, common::BYTES, 18).unwrap();
    client.write32(0, common::GO, 1).unwrap();
    assert_eq!(client.wait(1, 20_000_000_000).unwrap(), Wake::Fired);
    assert_eq!(target, source);
}

#[test]
fn descriptors_that_nobody_wants_are_closed() {
    let _one = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let served = Served::start(40);
    let mut client = Raw::hello(&served.path);
    let file = memory_file(0x1000, true);
    let before = common::open_files();
    let raw = file.as_raw_fd();
    for _ in 0..20 {
        assert_eq!(client.ask(9, &access(0, 0, 4), &[raw; 3]), Err(libc::EINVAL), "a read takes none");
        assert_eq!(client.ask(2, &map(0x1000, 0x1000, 0), &[raw; 2]), Err(libc::EINVAL), "a map takes one");
        assert_eq!(client.ask(13, &[], &[raw; 40]), Err(libc::EINVAL), "nothing takes 40");
        let irqs = Request::SetIrqs { index: 2, start: 0, count: 1, trigger: Trigger::Events };
        assert_eq!(client.ask(8, &irqs.payload(), &[raw]), Err(libc::EINVAL), "a file is no eventfd");
        assert_eq!(client.ask(2, &map(0x1000, 0x2000, 0), &[raw]), Err(libc::EINVAL), "the file is too short");
    }
    assert_eq!(common::open_files(), before);
}

/// No more descriptors are open than before, once the server has let go of its last client.
fn settles(before: usize) {
    for _ in 0..1000 {
        if common::open_files() <= before {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{before} descriptors were open before, {} are now", common::open_files());
}

/// A message that is right, or was before something was changed in it.
fn message(random: &mut Random) -> (Vec<u8>, bool) {
    let (a, b) = (random.next(), random.below(0x20000));
    let right = match random.below(14) {
        0 => Request::Version { major: 0, minor: 1, capabilities: towpath_vfio_user::message::Capabilities::OURS },
        1 | 2 => Request::DmaMap { readable: a & 1 != 0, writable: a & 2 != 0, offset: b & !0xfff, address: (a % 64) << 12, bytes: b },
        3 => Request::DmaUnmap { address: (a % 64) << 12, bytes: b, all: a & 256 != 0 },
        4 => Request::DeviceInfo,
        5 => Request::RegionInfo { index: (a % 12) as u32, room: (b % 200) as u32 },
        6 => Request::IrqInfo { index: (a % 6) as u32 },
        7 => Request::SetIrqs { index: 2, start: (a % 5) as u32, count: (b % 5) as u32, trigger: Trigger::Events },
        8 => Request::SetIrqs { index: 2, start: 0, count: (b % 5) as u32, trigger: Trigger::Fire },
        9 => Request::SetIrqs { index: 2, start: 0, count: 2, trigger: Trigger::FireSome(vec![true, a & 1 != 0]) },
        10 => Request::RegionRead { region: (a % 10) as u32, offset: b, bytes: (a >> 40) as u32 & 0xfff },
        11 => Request::Reset,
        _ => {
            let offset = [0, common::FROM, common::TO, common::BYTES, common::GO, common::LOOP, 0x48, b][(a % 8) as usize];
            // The copier's registers mostly get small numbers, so that it copies.
            Request::RegionWrite { region: 0, offset, data: ((b % 64) << 12).to_le_bytes()[..8].to_vec() }
        }
    };
    let payload = right.payload();
    let flags = if random.below(4) == 0 { 1 << 4 } else { 0 };
    let mut bytes = [header(random.next() as u16, right.command() as u16, payload.len(), flags), payload].concat();
    let mut framed = true;
    if random.below(3) == 0 {
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            framed &= !(4..12).contains(&at);
            bytes[at] = random.next() as u8;
        }
    }
    if random.below(40) == 0 {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
        framed = false;
    }
    (bytes, framed)
}

#[test]
fn whatever_a_client_sends_the_next_one_works() {
    let _one = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let served = Served::start(4);
    let first: u64 = std::env::var("TOWPATH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let rounds = std::env::var("TOWPATH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(300);
    works(&served);
    let before = common::open_files();
    let (mut messages, mut refused) = (0, 0);
    for seed in first..first + rounds {
        println!("seed {seed}: TOWPATH_SEED={seed} TOWPATH_ROUNDS=1 repeats it");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let files = [memory_file(0x40000, true), memory_file(0x40000, false)];
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        let mut client = if random.below(8) == 0 { Raw::connect(&served.path) } else { Raw::hello(&served.path) };
        client.0.set_nonblocking(true).unwrap();
        for _ in 0..random.below(60) {
            let (bytes, framed) = message(&mut random);
            let count = [0, 0, 0, 1, 1, 2, 16, 17][random.below(8) as usize];
            let descriptors: Vec<i32> =
                (0..count).map(|_| [files[0].as_raw_fd(), files[1].as_raw_fd(), event, 2][random.below(4) as usize]).collect();
            messages += 1;
            // Replies are not waited for; some are read, so that the server is not stuck with them for ever.
            let sent = client.say(&bytes, &descriptors);
            let mut replies = [0; 4096];
            while std::io::Read::read(&mut client.0, &mut replies).is_ok_and(|bytes| bytes > 0) {}
            if !sent || !framed {
                refused += u32::from(!sent);
                break;
            }
        }
        unsafe { libc::close(event) };
        drop((client, files));
        if seed % 10 == 0 {
            works(&served);
        }
    }
    works(&served);
    served.wait_empty();
    println!("{messages} messages in {rounds} connections, {refused} of which the server closed first");
    settles(before);
}

/// Not a test: the client that the next test starts, and kills.
#[test]
#[ignore = "the next test starts it in a process of its own"]
fn a_client_that_copies_for_ever() {
    let Some(path) = std::env::var_os("TOWPATH_TEST_SOCKET") else { return };
    let client = Client::connect("victim", path.as_ref()).unwrap();
    client.enable_vectors(2).unwrap();
    let mut memory = vec![0x55u8; 1 << 20];
    let place = unsafe { client.map(memory.as_mut_ptr(), 1 << 20, Access::ReadWrite) }.unwrap();
    client.write64(0, common::FROM, place).unwrap();
    client.write64(0, common::TO, place + (1 << 19)).unwrap();
    client.write32(0, common::BYTES, 1 << 18).unwrap();
    client.write32(0, common::LOOP, 1 << 30).unwrap();
    println!("it copies");
    loop {
        client.read32(0, common::STATUS).unwrap();
    }
}

#[test]
fn a_client_may_be_killed_at_any_moment() {
    let _one = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let served = Served::start(2);
    works(&served);
    let before = common::open_files();
    let mut random = Random(1);
    for round in 0..100 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_client_that_copies_for_ever", "--ignored", "--nocapture"])
            .env("TOWPATH_TEST_SOCKET", &served.path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Every other one is given the time to begin.
        if round % 2 == 0 {
            while served.dma.mappings() == 0 {
                assert!(victim.try_wait().unwrap().is_none(), "it does not end by itself");
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(5000)));
        victim.kill().unwrap();
        victim.wait().unwrap();
        works(&served);
    }
    served.wait_empty();
    settles(before);
}
