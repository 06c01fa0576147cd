// SPDX-License-Identifier: Apache-2.0
//! The memory of the simulated scratchpad, with its faults. A kind from elsewhere is in examples/crc32c.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use towpath::{Device, Error};

fn open(core: &str) -> Device {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
    std::env::set_var("TOWPATH_HOME", &root);
    Device::open(&format!("sim:{}", root.join(core).display())).unwrap()
}

/// The same bytes in every run.
fn bytes(count: usize, seed: u32) -> Vec<u8> {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn the_scratchpads_memory() {
    let device = open("cores/scratchpad");
    let memory = device.memory("ram").unwrap();
    assert_eq!(memory.len(), 1 << 20);
    let registers = device.registers();
    let set = |name: &str, value: u32| registers.write_name(name, value).unwrap();
    // All of it, slowly and quickly, and parts at any byte.
    let mut image = bytes(1 << 20, 1);
    memory.write_at(&image, 0).unwrap();
    for (n, (latency, stall)) in [(0, 0), (50, 0), (7, 100)].into_iter().enumerate() {
        set("latency", latency);
        set("stall", stall);
        for (at, count) in [(0, 1), (4095, 2), (0x12345, 70_001), (0xfffff, 1), (0x7fc3, 0)] {
            let new = bytes(count, 100 + n as u32);
            image[at..at + count].copy_from_slice(&new);
            memory.write_at(&new, at as u64).unwrap();
        }
        let mut back = vec![0; 100_000];
        memory.read_at(&mut back, 0x12300).unwrap();
        assert!(back == image[0x12300..0x12300 + 100_000]);
    }
    let mut back = vec![0; 1 << 20];
    memory.read_at(&mut back, 0).unwrap();
    assert!(back == image);
    // Faults of a page, and of what is beyond: each ends its own transfer.
    set("slverr_page", 3);
    set("decerr_page", 5);
    let number = |result: towpath::Result<()>| match result {
        Ok(()) => 0,
        Err(Error::Kind { number, .. }) => number,
        Err(other) => panic!("{other}"),
    };
    let mut page = vec![0; 4096];
    for (at, expected) in [(0x2000, 0), (0x3000, 2), (0x3fff, 2), (0x4000, 0), (0x5123, 3), (0x4ff0, 3), (0x1000, 0)] {
        assert_eq!(number(memory.write_at(&page[..100], at)), expected, "write at {at:#x}");
        assert_eq!(number(memory.read_at(&mut page[..100], at)), expected, "read at {at:#x}");
    }
}

#[test]
fn a_window_tells_each_thread_of_its_own_loads() {
    let device = open("cores/scratchpad");
    let window = device.memory("ram").unwrap().window().unwrap();
    let registers = device.registers();
    registers.write_name("slverr_page", 3).unwrap();
    // One page refuses, the other holds what a refused load would bring.
    window.write_at(&[0xff; 64], 0x5000).unwrap();
    window.flush().unwrap();
    std::thread::scope(|scope| {
        let refused = scope.spawn(|| (0..40).filter(|_| window.read_at(&mut [0; 16], 0x3000).is_err()).count());
        for _ in 0..40 {
            let mut back = [0; 16];
            window.read_at(&mut back, 0x5000).unwrap();
            assert_eq!(back, [0xff; 16]);
        }
        assert_eq!(refused.join().unwrap(), 40);
    });
    // The next flush reports a refused store once; loads are unaffected.
    let other = window.clone();
    window.write_at(&[1; 8], 0x3000).unwrap();
    window.read_at(&mut [0; 16], 0x5000).unwrap();
    assert!(window.flush().unwrap_err().to_string().contains("1 stores were refused"));
    window.flush().unwrap();
    other.write_at(&[1; 8], 0x2000).unwrap();
    other.flush().unwrap();
    // Also where the core refuses the first page, which a flush loads from.
    registers.write_name("slverr_page", 0).unwrap();
    window.write_at(&[1; 8], 0x2000).unwrap();
    window.flush().unwrap();
}
