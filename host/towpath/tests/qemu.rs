// SPDX-License-Identifier: Apache-2.0
//! A served card in a virtual machine: QEMU's `vfio-user-pci`, which nobody here wrote, between the card and a driver of a few lines. There is no guest:
//! QEMU's test protocol reads and writes its memory and ports. Needs QEMU 10.1 or newer (`TOWPATH_QEMU`, or `qemu-system-x86_64` on the path); without
//! it the test says so, and counts as ignored, for which it needs a harness of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use towpath::{CardServer, OpenOptions};
use towpath_contract as contract;

const NAME: &str = "a_virtual_machine_uses_the_card";
/// Where the machine is told to put the BARs; and places in its memory.
const BAR0: u64 = 0xd000_0000;
const BAR2: u64 = 0xd010_0000;
const RINGS: u64 = 0x10_0000;
const SOURCE: u64 = 0x20_0001;
const TARGET: u64 = 0x30_0003;
/// Interrupts are writes to memory: here they can be seen.
const INTERRUPTS: u64 = 0x40_0000;
const SLOT: u32 = 5;

struct Machine {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Machine {
    fn start(program: &str, socket: &Path) -> Machine {
        let card = format!(r#"{{"driver":"vfio-user-pci","addr":"{SLOT}","socket":{{"type":"unix","path":"{}"}}}}"#, socket.display());
        let mut process = Command::new(program)
            .args(["-machine", "q35,accel=tcg,memory-backend=memory", "-S", "-m", "64M", "-nodefaults", "-display", "none", "-vga", "none"])
            .args(["-object", "memory-backend-memfd,id=memory,size=64M,share=on", "-qtest", "stdio", "-qtest-log", "none"])
            .args(["-device", &card])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Machine { process, input, output }
    }

    /// A command of the test protocol; its answer without the "OK".
    fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "{command}: the machine has ended");
        line.trim().strip_prefix("OK").unwrap_or_else(|| panic!("{command}: {line}")).trim().to_string()
    }

    fn number(&mut self, command: &str) -> u64 {
        let answer = self.ask(command);
        u64::from_str_radix(answer.trim_start_matches("0x"), 16).unwrap_or_else(|_| panic!("{command}: {answer}"))
    }

    fn config(&mut self, offset: u32) -> u32 {
        self.ask(&format!("outl 0xcf8 {:#x}", 0x8000_0000 | SLOT << 11 | offset));
        self.number("inl 0xcfc") as u32
    }

    fn set_config(&mut self, offset: u32, value: u32) {
        self.ask(&format!("outl 0xcf8 {:#x}", 0x8000_0000 | SLOT << 11 | offset));
        self.ask(&format!("outl 0xcfc {value:#x}"));
    }

    fn read32(&mut self, address: u64) -> u32 {
        self.number(&format!("readl {address:#x}")) as u32
    }

    fn write32(&mut self, address: u64, value: u32) {
        self.ask(&format!("writel {address:#x} {value:#x}"));
    }

    fn write64(&mut self, address: u64, value: u64) {
        self.ask(&format!("writeq {address:#x} {value:#x}"));
    }

    fn read(&mut self, address: u64, bytes: usize) -> Vec<u8> {
        let answer = self.ask(&format!("read {address:#x} {bytes:#x}"));
        let digits = answer.trim_start_matches("0x");
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.ask(&format!("write {address:#x} {:#x} 0x{digits}", bytes.len()));
    }

    /// The capability of that number in configuration space.
    fn capability(&mut self, number: u32) -> u32 {
        let mut at = self.config(0x34) & 0xff;
        while at != 0 {
            let head = self.config(at);
            if head & 0xff == number {
                return at;
            }
            at = head >> 8 & 0xff;
        }
        panic!("the card has no capability {number:#x}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Interrupts on, a ring and a buffer for each channel, and a message there and back.
fn drive(machine: &mut Machine, seed: u32) {
    let vendor = machine.config(0);
    assert!(vendor != u32::MAX && vendor != 0, "no card in slot {SLOT}");
    for (offset, value) in [(0x10, BAR0), (0x18, BAR2)] {
        machine.set_config(offset, value as u32);
        machine.set_config(offset + 4, 0);
    }
    machine.set_config(4, 6); // memory, and bus master
    assert_eq!(machine.number(&format!("readq {BAR0:#x}")), contract::DISCOVERY_MAGIC_VALUE);
    machine.write32(BAR2 + 4, seed);
    assert_eq!(machine.read32(BAR2 + 4), seed, "a register of the user core");

    let msix = machine.capability(0x11);
    let table = BAR0 + u64::from(machine.config(msix + 4) & !7);
    let head = machine.config(msix);
    machine.set_config(msix, head | 1 << 31);
    for vector in 0..2u64 {
        machine.write32(INTERRUPTS + 4 * vector, 0);
        let entry = table + contract::MSIX_VECTOR_STRIDE * vector;
        let address = (INTERRUPTS + 4 * vector) as u32;
        for (offset, value) in [(0, address), (4, 0), (8, seed ^ vector as u32), (12, 0)] {
            machine.write32(entry + offset, value);
        }
    }

    let shift = u64::from(machine.read(BAR0 + contract::DISCOVERY_PAGE_SHIFT_OFFSET, 1)[0]);
    let bytes: Vec<u8> = (0..1500u32).map(|at| (at.wrapping_mul(seed) >> 8) as u8).collect();
    machine.write(SOURCE, &bytes);
    machine.write(TARGET - 1, &[0xee; 1502]);
    for channel in [1u64, 0] {
        let page = |page: u64| BAR0 + ((contract::PAGE_CHANNELS + contract::PAGES_PER_CHANNEL * channel + page) << shift);
        let (privileged, doorbells) = (page(contract::PAGE_CHANNEL_PRIVILEGED), page(contract::PAGE_CHANNEL_DOORBELL));
        machine.write(RINGS + 0x1000 * channel, &[0; 64 * contract::COMPLETION_BYTES]);
        machine.write64(privileged + contract::CHANNEL_RING_BASE_OFFSET, RINGS + 0x1000 * channel);
        machine.write32(privileged + contract::CHANNEL_RING_LOG2_OFFSET, 6);
        machine.write32(privileged + contract::CHANNEL_VECTOR_OFFSET, channel as u32);
        machine.write32(privileged + contract::CHANNEL_CONTROL_OFFSET, contract::CHANNEL_CONTROL_ENABLE_MASK);
        machine.write32(doorbells + contract::DOORBELL_ARM_OFFSET, 0);
        let end = if channel == 0 { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB | end;
        let (address, length) = if channel == 0 { (SOURCE, 1500) } else { (TARGET, 4000) };
        let image = contract::Descriptor { address, length, cookie: 0x77, control }.to_le_bytes();
        for (place, half) in (0..).step_by(8).zip(image.chunks_exact(8)) {
            let word = half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            machine.write64(doorbells + contract::DOORBELL_DESCRIPTOR_OFFSET + place, word);
        }
    }
    for channel in 0..2u64 {
        let began = Instant::now();
        while machine.read32(INTERRUPTS + 4 * channel) != seed ^ channel as u32 {
            assert!(began.elapsed() < Duration::from_secs(30), "channel {channel}: no interrupt");
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut entry = [0; contract::COMPLETION_BYTES];
        entry.copy_from_slice(&machine.read(RINGS + 0x1000 * channel, contract::COMPLETION_BYTES));
        let entry = contract::Completion::from_le_bytes(entry);
        let status = if channel == 0 { contract::Status::Done } else { contract::Status::EndOfMessage };
        assert_eq!((entry.bytes, entry.cookie, entry.status), (1500, 0x77, status as u8), "channel {channel}");
    }
    let found = machine.read(TARGET - 1, 1502);
    assert_eq!((found[0], found[1501]), (0xee, 0xee), "not a byte beside it");
    assert!(found[1..1501] == bytes[..], "other bytes came back");
}

/// QEMU, or why there is none.
fn qemu() -> Result<String, String> {
    let program = std::env::var("TOWPATH_QEMU").unwrap_or_else(|_| "qemu-system-x86_64".into());
    match Command::new(&program).args(["-device", "help"]).output() {
        Err(why) => Err(format!("{program}: {why}")),
        Ok(found) if String::from_utf8_lossy(&found.stdout).contains("vfio-user-pci") => Ok(program),
        Ok(_) => Err(format!("{program} has no vfio-user-pci: it needs QEMU 10.1 or newer")),
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let tell = |outcome: &str, counts: [u32; 3]| {
        let [passed, ignored, filtered] = counts;
        println!("\nrunning {} test\n{outcome}", passed + ignored);
        println!("\ntest result: ok. {passed} passed; 0 failed; {ignored} ignored; 0 measured; {filtered} filtered out\n");
    };
    if wanted.is_some_and(|wanted| !NAME.contains(&wanted)) {
        return tell("", [0, 0, 1]);
    }
    let program = match qemu() {
        Ok(program) => program,
        Err(why) => return tell(&format!("test {NAME} ... ignored, {why}"), [0, 1, 0]),
    };
    if std::env::var_os("TOWPATH_HOME").is_none() {
        std::env::set_var("TOWPATH_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    }
    let socket = std::env::temp_dir().join(format!("towpath-qemu-{}.sock", std::process::id()));
    let server = CardServer::bind("sim:loopback", &socket, &OpenOptions::default()).unwrap();
    let stop = server.stop();
    let thread = std::thread::spawn(move || server.serve());
    // The second machine finds the card as the first one did, though that one was killed.
    for seed in [0x1234_5677, 0x7654_3211] {
        drive(&mut Machine::start(&program, &socket), seed);
    }
    stop.stop();
    thread.join().unwrap().unwrap();
    tell(&format!("test {NAME} ... ok"), [1, 0, 0]);
}
