// SPDX-License-Identifier: Apache-2.0
//! The machine's devices, how they are given to vfio-pci, and QEMU's e1000e for MSI-X.

use std::time::{Duration, Instant};

use towpath_bus::{Bus, Wake};
use towpath_system::event;
use towpath_vfio::{checks, Finding, Function, Ids, Level, System, VfioBus};

use crate::{system, Test};

pub const TESTS: &[Test] = &[
    ("interrupts_by_msix", interrupts_by_msix),
    ("configuration_is_put_back", configuration_is_put_back),
    ("a_device_that_cannot_be_reset_says_so", a_device_that_cannot_be_reset_says_so),
];

/// Identifications of QEMU's devices, which are no cards.
pub const EDU: &str = "1234:11e8";
pub const E1000E: &str = "8086:10d3";
pub const NVME: &str = "1b36:0010";

pub fn functions(id: &str) -> Vec<Function> {
    let found = System::here().functions().into_iter();
    found.filter(|function| format!("{:04x}:{:04x}", function.vendor, function.device) == id).collect()
}

/// What is wrong with a function that is taken for a card.
pub fn problems(function: &Function) -> Vec<Finding> {
    let (system, ids) = (System::here(), ids(function));
    let findings = checks::machine(&system).into_iter().chain(checks::card(&system, function, &ids));
    findings.filter(|finding| finding.level == Level::Problem).collect()
}

pub fn ids(function: &Function) -> Ids {
    Ids::with(&format!("{:04x}:{:04x}", function.vendor, function.device)).unwrap()
}

/// Type what the checks say until nothing is wrong.
pub fn mend(function: &Function) -> Function {
    for _ in 0..4 {
        let now = Function::read(&System::here(), function.address).unwrap();
        let problems = problems(&now);
        let Some(first) = problems.first() else { return now };
        println!("  {}", first);
        system::run(first.remedy.as_deref().unwrap());
    }
    panic!("{:?}", problems(function));
}

pub fn open(function: &Function) -> VfioBus {
    VfioBus::open(&format!("vfio:{}", function.address), &System::here(), function.address, &ids(function))
        .unwrap_or_else(|why| panic!("{why}"))
}

fn e1000e() -> (Function, VfioBus) {
    let function = mend(&functions(E1000E)[0]);
    let bus = open(&function);
    (function, bus)
}

/// Registers of an e1000e: causes that are there, to set, to enable and to disable, and which vector they have.
const ICR: u64 = 0xc0;
const ICS: u64 = 0xc8;
const IMS: u64 = 0xd0;
const IMC: u64 = 0xd8;
const IVAR: u64 = 0xe4;
const ANY_CAUSE: u32 = 1 << 20;

fn interrupts_by_msix() {
    let (_, bus) = e1000e();
    assert_eq!(bus.enable_vectors(64).unwrap(), 5, "it has five");
    assert_eq!(bus.enable_vectors(3).unwrap(), 3, "and can be asked again");
    assert!(bus.wait(3, 0).is_err(), "the fourth is not enabled");
    for vector in [0u16, 2] {
        bus.write32(0, IVAR, 1 << 3 | u32::from(vector)).unwrap();
        bus.write32(0, IMS, ANY_CAUSE).unwrap();
        assert_eq!(bus.wait(vector, 1_000_000).unwrap(), Wake::TimedOut);
        bus.write32(0, ICS, ANY_CAUSE).unwrap();
        assert_eq!(bus.wait(vector, 5_000_000_000).unwrap(), Wake::Fired, "vector {vector}");
        assert_eq!(bus.wait(2 - vector, 0).unwrap(), Wake::TimedOut, "and no other vector");
        // The device may fire once more until it is told that it was heard.
        bus.write32(0, IMC, ANY_CAUSE).unwrap();
        bus.read32(0, ICR).unwrap();
        while bus.wait(vector, 20_000_000).unwrap() == Wake::Fired {}
    }
    bus.write32(0, IMS, ANY_CAUSE).unwrap();
    bus.write32(0, ICS, ANY_CAUSE).unwrap();
    let began = Instant::now();
    let file = bus.event_fd(2).unwrap();
    assert!(
        event::wait_readable(std::os::fd::AsFd::as_fd(&file), Some(Duration::from_secs(5))).unwrap(),
        "the event is readable, after {:?}",
        began.elapsed()
    );
}

fn command(function: &Function) -> u16 {
    let bytes = function.configuration().unwrap();
    u16::from_le_bytes([bytes[4], bytes[5]])
}

fn configuration_is_put_back() {
    let function = mend(&functions(E1000E)[0]);
    let before = command(&function);
    let bus = open(&function);
    assert_eq!(command(&function) & 6, 6, "memory and bus mastering are on");
    drop(bus);
    assert_eq!(command(&function) & 4, before & 4, "bus mastering is as it was: {before:#x}");
    assert_eq!(before & 4, 0, "which is off");
}

fn a_device_that_cannot_be_reset_says_so() {
    let bus = open(&mend(&functions(EDU)[0]));
    let text = bus.reset().unwrap_err().to_string();
    assert!(text.contains("VFIO_DEVICE_RESET") && text.contains("function-level reset"), "{text}");
}
