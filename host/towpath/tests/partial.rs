// SPDX-License-Identifier: Apache-2.0
//! Plug-in `partial` over a simulated card: a program swaps the loopback for Sobel and back, between messages and within them. The seed of what is
//! random is printed; `TOWPATH_SEED` repeats one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use towpath::{Device, Error, Message, Partial, PartialImage, PartialOutcome, Receiver, Sender, WaitOptions};

/// Dwords of a file that stand for bits: several times what waits in the plug-in.
const WORDS: u32 = 300;

struct World {
    device: Device,
    partial: Partial,
    sender: Sender,
    receiver: Receiver,
}

impl World {
    fn open() -> World {
        let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
        std::env::set_var("TOWPATH_HOME", &root);
        let device = Device::open(&format!("sim:{}", root.join("examples/partial").display())).unwrap();
        let partial = Partial::new(device.plugin("partial").unwrap()).unwrap();
        World { sender: device.sender("in").unwrap(), receiver: device.receiver("out").unwrap(), device, partial }
    }

    fn load(&self, name: &str) -> towpath::Result<()> {
        self.partial.load(&image(name), |_| ())
    }

    fn load_cutting(&self, image: &PartialImage) -> towpath::Result<()> {
        self.partial.load_cutting(image, |_| (), || self.reset())
    }

    fn reset(&self) -> towpath::Result<()> {
        self.sender.reset()?;
        self.receiver.reset()
    }

    fn echoes(&self, number: u32) {
        self.sender.send(&message(number)).unwrap();
        assert!(self.receiver.recv().unwrap() == message(number), "message {number}");
    }

    fn finds_edges(&self, width: usize, number: u32) {
        let picture: Vec<u8> = message(number).into_iter().cycle().take(width * 9).collect();
        self.device.registers().write(0, width as u32).unwrap();
        self.sender.send(&picture).unwrap();
        assert!(self.receiver.recv().unwrap() == edges(&picture, width), "edges of picture {number}");
    }
}

fn image(name: &str) -> PartialImage {
    PartialImage::simulated(name, WORDS).unwrap()
}

/// Its number, and bytes that follow from that.
fn message(number: u32) -> Vec<u8> {
    let length = 4 + number.wrapping_mul(2_654_435_761) as usize % 3000;
    number.to_le_bytes().into_iter().chain((0u32..).map(|n| (n.wrapping_mul(number | 1) >> 8) as u8)).take(length).collect()
}

/// As cores/sobel/sobel.sv describes it.
fn edges(picture: &[u8], width: usize) -> Vec<u8> {
    let rows = picture.len() / width;
    let pixel = |x: usize, y: usize| i32::from(picture[y * width + x]);
    let edge = |x: usize, y: usize| {
        if x == 0 || y == 0 || x + 1 == width || y + 1 == rows {
            return 0;
        }
        let side = |x: usize| pixel(x, y - 1) + 2 * pixel(x, y) + pixel(x, y + 1);
        let row = |y: usize| pixel(x - 1, y) + 2 * pixel(x, y) + pixel(x + 1, y);
        ((side(x + 1) - side(x - 1)).abs() + (row(y + 1) - row(y - 1)).abs()).min(255) as u8
    };
    (0..rows).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| edge(x, y)).collect()
}

/// A generator whose seed is printed.
struct Random(u64);

impl Random {
    fn new() -> Random {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("TOWPATH_SEED").map_or(time, |seed| seed.parse().expect("TOWPATH_SEED is a number"));
        eprintln!("TOWPATH_SEED={seed}");
        Random(seed)
    }

    /// Below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) % end
    }
}

#[test]
fn a_program_swaps_cores_and_goes_on() {
    let world = World::open();
    let (partial, registers) = (&world.partial, world.device.registers());
    assert_eq!(partial.core_name().unwrap().as_deref(), Some("loopback"), "what the card was configured with");
    world.echoes(1);
    assert_eq!(registers.read(0).unwrap(), u32::from_le_bytes(*b"LOOP"));
    for round in 0..3 {
        let mut told = Vec::new();
        partial.load(&image("sobel"), |progress| told.push((progress.bytes, progress.total))).unwrap();
        let bytes = image("sobel").to_bytes().len() as u64;
        assert!(told.len() > 3 && told.is_sorted() && told.last() == Some(&(bytes, bytes)), "{told:?}");
        assert_eq!((partial.core_name().unwrap().as_deref(), partial.loads().unwrap()), (Some("sobel"), 2 * round + 1));
        world.finds_edges(21, round);
        assert_eq!(registers.read(8).unwrap(), 1, "frames: the core is as after a reset");
        world.finds_edges(64, round + 9);
        // A reset of the card leaves the core that it has.
        world.device.reset().unwrap();
        assert_eq!(partial.core_name().unwrap().as_deref(), Some("sobel"));
        world.finds_edges(3, round);
        world.load("loopback").unwrap();
        let status = partial.status().unwrap();
        assert_eq!((status.is_loading, status.is_decoupled, status.is_whole, status.is_midway), (false, false, true, false));
        assert_eq!((status.outcome, partial.core_name().unwrap().as_deref()), (Some(PartialOutcome::Loaded), Some("loopback")));
        (1..5).for_each(|number| world.echoes(10 * round + number));
        assert_eq!(registers.read(8).unwrap(), 4, "messages");
    }
}

#[test]
fn a_core_within_a_message_is_not_swapped_unless_it_may_be_cut() {
    let world = World::open();
    let events = world.device.interrupts().count(0).unwrap();
    // Longer than what the card holds, so that the core is in its middle; nobody receives.
    world.sender.send_message(&[1; 512], Message { end: false, ..Message::default() }).unwrap();
    let error = world.load("sobel").unwrap_err();
    assert!(matches!(error, Error::Invalid(_)) && error.to_string().contains("within a message"), "{error}");
    assert_eq!(world.partial.core_name().unwrap().as_deref(), Some("loopback"));
    world.sender.send(&[2; 100]).unwrap();
    assert_eq!(world.receiver.recv().unwrap(), [[1; 512].as_slice(), &[2; 100]].concat(), "it has gone on");
    assert_eq!(world.device.interrupts().count(0).unwrap(), events + 1);

    world.sender.send_message(&[1; 512], Message { end: false, ..Message::default() }).unwrap();
    world.load_cutting(&image("sobel")).unwrap();
    world.finds_edges(33, 7);
    assert_eq!(world.device.interrupts().count(0).unwrap(), events + 1, "a region that is configured fires nothing");
    // What is sent to a region without a core waits for the next.
    assert!(world.load("gone").is_err());
    world.sender.send(&message(5)).unwrap();
    world.load("loopback").unwrap();
    assert!(world.receiver.recv().unwrap() == message(5));
}

#[test]
fn a_file_that_is_wrong_leaves_the_region_empty_until_another_is_right() {
    let (world, mut random) = (World::open(), Random::new());
    let registers = world.device.registers();
    let whole = image("sobel").to_bytes();
    let parsed = |bytes: &[u8]| PartialImage::from_bytes("sobel", bytes).unwrap();
    for round in 0..15 {
        let (mut bytes, what) = (whole.clone(), random.below(5));
        match what {
            0 => {
                let bit = random.below(8 * bytes.len() as u64) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
                if std::str::from_utf8(&bytes[8..40]).is_err() || bytes[8] == 0 {
                    continue; // no name to show
                }
            }
            1 => bytes.truncate(4 * (1 + random.below(whole.len() as u64 / 4 - 1)) as usize),
            2 => bytes.extend([0; 4]),
            3 => bytes = image("loopbac").to_bytes(),
            _ => bytes = (0..400).map(|_| random.below(256) as u8 | 1).collect(),
        }
        let error = if random.below(2) == 0 { world.partial.load(&parsed(&bytes), |_| ()) } else { world.load_cutting(&parsed(&bytes)) };
        let error = error.expect_err("a load of a wrong file must fail");
        assert!(
            matches!(error, Error::Register { .. }) && error.to_string().contains("refuses the file"),
            "round {round}, {what}: {error}"
        );
        let status = world.partial.status().unwrap();
        assert!(status.is_decoupled && !status.is_whole && status.outcome == Some(PartialOutcome::Port));
        assert_eq!(world.partial.core_name().unwrap(), None);
        assert!(matches!(registers.read(0), Err(Error::Register { .. })), "an empty region answers nothing, and that is told");
        if random.below(4) == 0 {
            world.device.reset().unwrap(); // does not make it whole
        }
        if random.below(2) == 0 {
            world.load("sobel").unwrap();
            world.finds_edges(17, round);
        }
    }
    world.load("loopback").unwrap();
    world.echoes(1);
    // What a program gives up, or panics in, is aborted.
    let panics = std::panic::AssertUnwindSafe(|| world.partial.load(&image("sobel"), |_| panic!("in progress")));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(world.partial.status().unwrap().outcome, Some(PartialOutcome::Aborted));
    assert!(matches!(world.partial.load_cutting(&image("sobel"), |_| (), || Err(Error::Forked)), Err(Error::Forked)));
    world.load("loopback").unwrap();
    world.echoes(2);
}

/// What is no file of either kind, before the card sees it.
#[test]
fn files() {
    let says = |bytes: &[u8], name: &str, part: &str| {
        let error = PartialImage::from_bytes(name, bytes).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    says(&[], "a", "no number of dwords");
    says(&[1, 2, 3], "a", "no number of dwords");
    says(&[0, 9, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0], "a", "give the raw .bin file");
    says(&[1; 8], "", "1 to 31 bytes");
    says(&[1; 8], &"a".repeat(32), "1 to 31 bytes");
    assert!(PartialImage::simulated(&"a".repeat(33), 1).is_err());
    assert_eq!(PartialImage::from_bytes("other", &image("sobel").to_bytes()).unwrap(), image("sobel"));
    let raw = PartialImage::from_bytes("raw", &[0xaa, 0x99, 0x55, 0x66]).unwrap();
    assert_eq!((raw.core_name(), raw.to_bytes().as_slice()), ("raw", [0xaa, 0x99, 0x55, 0x66].as_slice()));
    assert!(PartialImage::read("/nowhere/a.bin").unwrap_err().to_string().contains("/nowhere/a.bin"));
}

/// Tells other threads to end, also when this one panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One thread sends and receives without end, another swaps, now and then with a wrong file: what arrives whole is right and in order, nothing of
/// before a swap arrives after it, and no byte of a region that is being configured arrives at all. Sobel, whose width is 0, answers zeros.
#[test]
fn swapped_in_the_middle_of_messages() {
    let (world, mut random) = (World::open(), Random::new());
    let (sender, receiver) = (&world.sender, &world.receiver);
    let over = AtomicBool::new(false);
    // A reset by another thread need not wake a call that sleeps.
    let limit = WaitOptions::from(Some(Duration::from_micros(50)));
    let (sent, echoed, blank) = std::thread::scope(|scope| {
        let sends = scope.spawn(|| {
            let mut number = 1;
            while !over.load(Ordering::Relaxed) {
                let whole = message(number);
                let mut left = whole.as_slice();
                // A swap ends it.
                while let Err(Error::Timeout { bytes, .. }) = sender.send_with(&[IoSlice::new(left)], Message::default(), limit) {
                    left = &left[bytes as usize..];
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
                number += 1;
            }
            number
        });
        let receives = scope.spawn(|| {
            let (mut echoed, mut blank, mut last) = (0, 0, None);
            while !over.load(Ordering::Relaxed) {
                let Ok((whole, _)) = receiver.recv_message_with(limit) else { continue };
                if whole.iter().all(|byte| *byte == 0) {
                    blank += 1;
                    continue;
                }
                let number = u32::from_le_bytes(whole[..4].try_into().unwrap());
                assert!(whole == message(number), "{} bytes that begin as message {number}", whole.len());
                assert!(last.replace(number).is_none_or(|last| last < number), "message {number} after {last:?}");
                echoed += 1;
            }
            (echoed, blank)
        });
        let _ends = Ends(&over);
        for round in 0..10 {
            let until = world.device.now_ns() + 50_000 + random.below(100_000);
            while world.device.now_ns() < until {
                world.partial.loads().unwrap();
            }
            let name = ["sobel", "loopback", "gone"][random.below(3) as usize];
            let events = world.device.interrupts().count(0).unwrap();
            let done = world.load_cutting(&PartialImage::simulated(name, 70).unwrap());
            assert_eq!(done.is_ok(), name != "gone", "{round}: {name}: {done:?}");
            if name == "gone" {
                let fired = world.device.interrupts().count(0).unwrap().wrapping_sub(events);
                assert!(fired < 100, "{fired} interrupts of an empty region");
            }
        }
        world.load_cutting(&image("loopback")).unwrap();
        over.store(true, Ordering::Relaxed);
        while !sends.is_finished() || !receives.is_finished() {
            world.reset().unwrap();
        }
        let (echoed, blank) = receives.join().unwrap();
        (sends.join().unwrap(), echoed, blank)
    });
    assert!(sent > 20 && echoed + blank > 10, "{sent} sent, {echoed} and {blank} received");
    world.load_cutting(&image("loopback")).unwrap();
    (1..10).for_each(|number| world.echoes(number));
}
