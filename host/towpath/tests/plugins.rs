// SPDX-License-Identifier: Apache-2.0
//! Plug-ins over a simulated card: the core of examples/plugins, which breaks and is mended.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::IoSliceMut;
use std::path::{Path, PathBuf};
use std::time::Duration;
use towpath::{Device, Error, OnFault, Plugin, Receiver, Reset, Sender};

fn root() -> PathBuf {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
    std::env::set_var("TOWPATH_HOME", &root);
    root
}

fn open() -> Device {
    Device::open(&format!("sim:{}", root().join("examples/plugins").display())).unwrap()
}

#[track_caller]
fn echoes(sender: &Sender, receiver: &Receiver, length: usize) {
    let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
    sender.send(&message).unwrap();
    assert!(receiver.recv().unwrap() == message, "{length} bytes");
}

#[test]
fn listed_and_found() {
    let device = open();
    let told: Vec<_> = device.plugins().iter().map(|p| (p.type_name.as_str(), p.version, p.offset, p.bytes)).collect();
    let expected =
        [("reset", 1, 0x1000, 0x1000), ("wishbone", 1, 0x2000, 0x1000), ("avalon", 1, 0x4000, 0x2000), ("tlplog", 1, 0x8000, 0x8000)];
    assert_eq!(told, expected);
    assert_eq!(device.registers().bytes(), 0x10000);
    for name in ["reset", "reset:0"] {
        assert_eq!(device.plugin(name).unwrap().info(), &device.plugins()[0]);
    }
    assert_eq!(device.plugin(0).unwrap().info(), &device.plugins()[0]);
    for name in ["rest", "reset:1", "reset:x", ""] {
        let error = device.plugin(name).unwrap_err();
        assert!(error.to_string().contains("reset") && matches!(error, Error::Invalid(_)), "{error}");
    }
    assert!(device.plugin(4).is_err());
    let plugin: Plugin = device.plugin("reset").unwrap();
    assert!(plugin.expect("reset", 1).is_ok() && plugin.expect("reset", 2).is_err() && plugin.expect("clock", 1).is_err());
    for offset in [2, 0x1000] {
        assert!(
            matches!(plugin.read(offset), Err(Error::Register { .. })) && matches!(plugin.write(offset, 0), Err(Error::Register { .. }))
        );
    }
    // The core's registers are as far as they were, and between them and the plug-in's is nothing.
    let registers = device.registers();
    registers.write(0, 0x1234_5678).unwrap();
    assert_eq!(registers.read(0).unwrap(), 0x1234_5678);
    assert_eq!(registers.read(0xfc).unwrap(), 0);
    assert!(matches!(registers.read(0x100), Err(Error::Register { .. })));
}

#[test]
fn masters_of_other_buses() {
    let device = open();
    for (name, other) in [("wishbone", "avalon"), ("avalon", "wishbone")] {
        let (bus, other) = (device.plugin(name).unwrap(), device.plugin(other).unwrap());
        for word in 0..16 {
            bus.write(4 * word, 0x1111_1111 * word).unwrap();
            other.write(4 * word, 7).unwrap();
        }
        for word in 0..16 {
            assert_eq!((bus.read(4 * word).unwrap(), other.read(4 * word).unwrap()), (0x1111_1111 * word, 7), "{name} {word}");
        }
    }
    // What the core answers with an error is one; in reset it answers nothing.
    let bus = device.plugin("wishbone").unwrap();
    assert!(matches!(bus.read(0x40), Err(Error::Register { .. })) && matches!(bus.write(0xffc, 1), Err(Error::Register { .. })));
    let reset = Reset::new(device.plugin("reset").unwrap()).unwrap();
    reset.hold().unwrap();
    for name in ["wishbone", "avalon"] {
        assert!(matches!(device.plugin(name).unwrap().read(0), Err(Error::Register { .. })), "{name}");
    }
    reset.release().unwrap();
    assert!(bus.read(0).is_ok());
}

#[test]
fn resets_of_the_core_alone() {
    let device = open();
    let (registers, reset) = (device.registers(), Reset::new(device.plugin("reset").unwrap()).unwrap());
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    assert_eq!((reset.outputs().unwrap(), reset.length().unwrap(), reset.sequences().unwrap()), (2, 16, 0));
    assert!(reset.set_delay(2, 1).is_err() && reset.set_length(0).is_err() && reset.set_length(1 << 24).is_err());
    for (round, (length, delays)) in [(1, [0, 0]), (500, [40, 0]), (3, [7, 3000])].into_iter().enumerate() {
        echoes(&sender, &receiver, 1000 + round);
        registers.write_name("scratch", 7).unwrap();
        reset.set_length(length).unwrap();
        for (output, clocks) in (0..).zip(delays) {
            reset.set_delay(output, clocks).unwrap();
            assert_eq!(reset.delay(output).unwrap(), clocks);
        }
        reset.pulse().unwrap();
        let status = reset.status().unwrap();
        assert!(!status.is_busy && status.asserted == 0);
        assert_eq!(registers.read_name("scratch").unwrap(), 0, "the core has been reset");
        assert_eq!(registers.read_name("messages").unwrap(), 0);
        // Two reads, a little apart, of counters that began with the two outputs' release.
        let (early, late) = (registers.read_name("early").unwrap(), registers.read_name("late").unwrap());
        let apart = i64::from(early) - i64::from(late);
        let expected = i64::from(delays[1]) - i64::from(delays[0]);
        assert!((expected - 1000..=expected).contains(&apart), "{apart} clocks, {expected} were set");
        assert_eq!(reset.sequences().unwrap(), round as u32 + 1);
    }
    // An idle core's channels go on.
    echoes(&sender, &receiver, 77);
}

#[test]
fn a_broken_core_and_its_channels() {
    let device = open();
    let (registers, reset) = (device.registers(), Reset::new(device.plugin("reset").unwrap()).unwrap());
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    let limit = towpath::WaitOptions::from(Some(Duration::from_micros(200)));
    for does in [OnFault::Count, OnFault::Hold, OnFault::Count] {
        let (faults, sequences) = (reset.faults().unwrap(), reset.sequences().unwrap());
        reset.set_on_fault(does).unwrap();
        assert_eq!(reset.on_fault().unwrap(), does);
        // A message that the core has begun, and of which the host has not all: both channels are in its middle.
        sender.send(&[1; 100]).unwrap();
        registers.write_name("break", 1).unwrap();
        sender.send(&[2; 5000]).unwrap();
        let status = reset.status().unwrap();
        assert_eq!((status.is_held, status.is_fault), (does == OnFault::Hold, does == OnFault::Count), "{does:?}");
        assert_eq!(reset.faults().unwrap(), faults + 1);
        if does == OnFault::Count {
            assert_eq!(receiver.recv().unwrap(), [1; 100]);
            let mut rest = [0; 64];
            assert!(receiver.recv_into_with(&mut [IoSliceMut::new(&mut rest)], limit).is_err(), "a broken core sends nothing");
        } else {
            // In reset it does not answer, and that is told at once.
            assert!(matches!(registers.read(0), Err(Error::Register { .. })));
            assert!(matches!(reset.pulse(), Err(Error::Invalid(_))), "a held core is not pulsed");
        }
        reset
            .while_held(|| {
                sender.reset()?;
                receiver.reset()
            })
            .unwrap();
        assert!(reset.sequences().unwrap() > sequences);
        for length in [1, 4096, 33] {
            echoes(&sender, &receiver, length);
        }
        assert_eq!(registers.read_name("messages").unwrap(), 3, "nothing of before has reached the core");
    }
    // `while_held` releases the core whatever becomes of the channels.
    assert!(reset.while_held(|| towpath::Result::<()>::Err(Error::Forked)).is_err());
    assert!(!reset.status().unwrap().is_busy);
    let panics = std::panic::AssertUnwindSafe(|| reset.while_held(|| -> towpath::Result<()> { panic!("in while_held") }));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(!reset.status().unwrap().is_held, "a panic releases the core, too");
    echoes(&sender, &receiver, 5);
}

/// A core takes beats in reset as ever, and so does a kind; both would forget them.
#[test]
fn what_is_sent_to_a_core_in_reset_waits_for_it() {
    let device = open();
    let reset = Reset::new(device.plugin("reset").unwrap()).unwrap();
    let (sender, receiver) = (device.sender("in").unwrap(), device.receiver("out").unwrap());
    for length in [1, 64, 1500] {
        let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        reset.hold().unwrap();
        sender.send(&message).unwrap(); // into the card's buffer
        assert!(reset.status().unwrap().is_held);
        let limit = towpath::WaitOptions::from(Some(Duration::from_micros(100)));
        assert!(receiver.recv_into_with(&mut [IoSliceMut::new(&mut [0; 64])], limit).is_err(), "nothing comes from a core in reset");
        reset.release().unwrap();
        assert!(receiver.recv().unwrap() == message, "{length} bytes");
    }
}

/// A plug-in that says it is `reset` and whose sequences never end; from register `on_fault` on that is not 0, one begins after the other.
const STUCK: &str = "
  logic set;
  logic [11:2] set_at, get_at;
  logic [31:0] set_data, get_data, on_fault, sequences;
  tp_plugin_registers registers (.get(), .*);
  assign get_data = get_at == 10'(TP_PLUGIN_RESET_STATUS_OFFSET / 4) ? 32'(TP_PLUGIN_RESET_STATUS_BUSY_MASK)
      : get_at == 10'(TP_PLUGIN_RESET_SEQUENCES_OFFSET / 4) ? sequences : 32'd1;
  always_ff @(posedge clk) begin
    if (on_fault != 0) sequences <= sequences + 1'b1;
    if (set && set_at == 10'(TP_PLUGIN_RESET_ON_FAULT_OFFSET / 4)) on_fault <= set_data;
    if (!rst_n) {on_fault, sequences} <= '0;
  end
endmodule
";

#[test]
fn waiting_for_a_reset_ends() {
    let root = root();
    let folder = std::env::temp_dir().join(format!("towpath-stuck-{}", std::process::id())).join("loopback");
    std::fs::create_dir_all(folder.join("stuck")).unwrap();
    let module = std::fs::read_to_string(root.join("gateware/plugin/reset/tp_plugin_reset.sv")).unwrap();
    let (from, to) = (module.find("    input logic clk,").unwrap(), module.find("    output logic               user_rst_n,").unwrap());
    let ports = module[from..to].trim_end().trim_end_matches(',');
    let text = format!("module stuck import towpath_pkg::*; (\n{ports}\n);{STUCK}");
    std::fs::write(folder.join("stuck/stuck.sv"), text).unwrap();
    let plugin = "[plugin]\ntype = \"reset\"\nversion = 1\nmodule = \"stuck\"\nsources = [\"stuck.sv\"]\n";
    std::fs::write(folder.join("stuck/plugin.toml"), plugin).unwrap();
    let core = root.join("cores/loopback");
    std::fs::copy(core.join("loopback.sv"), folder.join("loopback.sv")).unwrap();
    let manifest = std::fs::read_to_string(core.join("towpath.toml")).unwrap();
    std::fs::write(folder.join("towpath.toml"), manifest + "\n[[plugin]]\ntype = \"./stuck\"\n").unwrap();

    let device = Device::open(&format!("sim:{}", folder.display())).unwrap();
    let reset = Reset::new(device.plugin("reset").unwrap()).unwrap();
    for begun in [Reset::pulse, Reset::release] {
        let error = begun(&reset).unwrap_err();
        assert!(matches!(error, Error::Register { .. }) && error.to_string().contains("reset the card"), "{error}");
    }
    // Its own sequence has ended when another begins.
    reset.set_on_fault(OnFault::Start).unwrap();
    reset.pulse().unwrap();
    std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}

#[test]
fn a_core_that_does_not_answer_harms_no_plugin() {
    let device = open();
    let (registers, reset) = (device.registers(), Reset::new(device.plugin("reset").unwrap()).unwrap());
    assert!(matches!(registers.read_name("silent"), Err(Error::Register { .. })));
    // The core is lost to registers; its plug-in is not, and brings it back.
    assert!(matches!(registers.read(0), Err(Error::Register { .. })));
    assert_eq!(reset.outputs().unwrap(), 2);
    reset.pulse().unwrap();
    registers.write(0, 3).unwrap();
    assert_eq!(registers.read(0).unwrap(), 3);
}
