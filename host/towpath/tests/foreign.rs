// SPDX-License-Identifier: Apache-2.0
//! Cores whose ports, streams and language are not as those here, over the gateware. Needs Verilator and a C++ compiler, and for the core in VHDL GHDL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::time::Duration;
use towpath::{Device, Message, Receiver, Registers, Sender};

fn card(core: &str) -> Device {
    let name = format!("sim:{}/../../tests/cores/{core}", env!("CARGO_MANIFEST_DIR"));
    Device::open(&name).unwrap_or_else(|error| panic!("{error}"))
}

fn streams(card: &Device) -> (Sender, Receiver) {
    (card.sender("in").unwrap(), card.receiver("out").unwrap())
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n * 7 % 251) as u8).collect()
}

/// Each look takes the simulated card some clocks, and a call of these functions a thousand or so.
fn wait_until_done(registers: &Registers) {
    let looks: Vec<u32> = (0..10_000).map(|_| registers.read_name("ap_ctrl").unwrap()).take_while(|control| control & 2 == 0).collect();
    assert!(looks.len() < 10_000, "not done after 10000 looks: ap_ctrl is {:#x}", looks[9_999]);
}

#[test]
fn a_core_with_ports_of_other_names_does_all_that_others_do() {
    let card = card("foreign");
    let (sender, receiver) = streams(&card);
    let registers = card.registers();
    assert_eq!((registers.read_name("sum").unwrap(), registers.read_name("mask").unwrap()), (0, 0xffff_ff00));
    sender.send(&bytes(1003)).unwrap();
    assert_eq!(receiver.recv().unwrap(), bytes(1003));
    assert_eq!(registers.read_name("sum").unwrap(), 1003);
    // One for the message, however long the level stays.
    assert_eq!(card.interrupts().wait(0, Some(Duration::from_secs(1))).unwrap(), 1);
    registers.write_name("sum", 0xffff_fff0).unwrap();
    sender.send(&bytes(17)).unwrap();
    assert_eq!(receiver.recv().unwrap(), bytes(17));
    assert_eq!(registers.read_name("sum").unwrap(), 1);
    assert_eq!(card.interrupts().count(0).unwrap(), 2);
}

#[test]
fn streams_of_other_widths_without_keep_and_last() {
    let card = card("narrow");
    let (sender, receiver) = streams(&card);
    for length in [4, 12, 1000, 4100] {
        card.registers().write_name("length", length).unwrap();
        let sent = bytes(length as usize);
        sender.send(&sent).unwrap();
        let turned: Vec<u8> = sent.iter().map(|byte| !byte).collect();
        assert_eq!(receiver.recv().unwrap(), turned, "{length} bytes");
    }
    // Two messages of one that was sent, and a beat that is half dropped.
    card.registers().write_name("length", 7).unwrap();
    sender.send(&bytes(16)).unwrap();
    let turned: Vec<u8> = bytes(16).iter().map(|byte| !byte).collect();
    assert_eq!(receiver.recv().unwrap(), turned[..7]);
    assert_eq!(receiver.recv().unwrap(), turned[8..15]);
    // Without a length there are no ends.
    card.registers().write_name("length", 0).unwrap();
    sender.send(&bytes(32)).unwrap();
    let mut got = [0; 32];
    receiver.recv_into(&mut got).unwrap();
    assert!(got.iter().zip(bytes(32)).all(|(turned, sent)| *turned == !sent));
}

#[test]
fn streams_that_cannot_be_held_back() {
    let device = card("bursts");
    let (sender, receiver) = streams(&device);
    for length in [1, 4, 7, 900, 4000] {
        sender.send(&bytes(length)).unwrap();
        let turned: Vec<u8> = bytes(length).iter().map(|byte| !byte).collect();
        assert_eq!(receiver.recv().unwrap(), turned, "{length} bytes");
    }
    // A source that runs all the time: what finds no room is dropped, and told by an end and an empty message.
    let (count, registers) = (device.receiver("count").unwrap(), device.registers());
    registers.write_name("go", 1).unwrap();
    let mut next = None;
    let (mut told, mut parts) = (0, 0);
    while told < 3 {
        parts += 1;
        assert!(parts <= 1000, "{told} losses of 3 were told in {parts} parts; the next word of a message would be {next:?}");
        // Meanwhile nobody takes them.
        receiver.message_start(Some(Duration::from_micros(100))).unwrap_err();
        let mut part = vec![0; 40000];
        let got = count.recv_into(&mut part).unwrap();
        let words: Vec<u16> = part[..got.bytes].chunks(2).map(|word| u16::from_le_bytes([word[0], word[1]])).collect();
        if words.is_empty() {
            told += 1;
        }
        // Nothing is missing within a message, in however many parts it comes.
        for word in words {
            assert!(next.is_none_or(|next| next == word), "a gap in a message: {word:#x}, not {next:x?}");
            next = Some((word + 1) & 0xfff);
        }
        if got.end_of_message {
            next = None;
        }
    }
    // A word that must not be lost, and finds no room, ends the simulation.
    let device = card("bursts");
    let (sender, receiver) = streams(&device);
    let error = sender.send(&vec![0; 40000]).and_then(|()| receiver.recv().map(drop)).expect_err("words are missing").to_string();
    for part in ["core port `out_tvalid`, beat ", "no room: 1024 bytes", "buffer_bytes of channel \"out\"", "overflow = \"end\""] {
        assert!(error.contains(part), "no {part}: {error}");
    }
}

#[test]
fn ports_of_fifos_in_all_roles() {
    let card = card("fifos");
    // Words of 24 bit have four bytes each.
    let turned = |words: &[u8]| words.iter().enumerate().map(|(n, byte)| if n % 4 == 3 { 0 } else { !byte }).collect();
    type Turn<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let pairs: [(&str, &str, usize, Turn); 3] = [
        ("a", "b", 36, &turned),
        ("in_V", "out_V", 4, &|words| words.iter().map(|byte| !byte).collect()),
        ("put", "get", 10, &|words| words.to_vec()),
    ];
    for (input, output, message, turn) in pairs {
        let (sender, receiver) = (card.sender(input).unwrap(), card.receiver(output).unwrap());
        for count in [1, 2, 7, 60] {
            let sent = bytes(count * message);
            // Neither an empty message nor an end that comes late is a word.
            sender.send(&[]).unwrap();
            sender.send_message(&sent, Message { end: false, ..Message::default() }).unwrap();
            sender.send(&[]).unwrap();
            for part in sent.chunks(message) {
                assert_eq!(receiver.recv().unwrap(), turn(part), "{input} to {output}, {count} messages");
            }
        }
    }
}

#[test]
fn riffas_channels_side_by_side_at_another_width_and_clock() {
    let card = card("riffa_pair");
    for (name, odd) in [("riffa0", 0), ("riffa1", 1), ("riffa0", 1)] {
        let (sender, receiver) = (card.sender(name).unwrap(), card.receiver(name).unwrap());
        for words in [0usize, 1, 2, 3, 64, 1001] {
            let (data, offset, user) = (bytes(4 * words), 77 + words as u32, odd);
            let length = Some(4 * words as u64);
            sender.send_message(&data, Message { length, offset: offset.into(), user, ..Message::default() }).unwrap();
            // The host learns the length before it has a buffer.
            let start = receiver.message_start(None).unwrap();
            assert_eq!((start.length.unwrap_or(0), start.offset, start.user), (4 * words as u64, offset, user), "{name}, {words} words");
            let (got, about) = receiver.recv_message().unwrap();
            assert_eq!((got, about.offset, about.user), (data, offset, user), "{name}, {words} words");
        }
        // More than was announced is not the core's.
        sender.send_message(&bytes(40), Message { length: Some(12), ..Message::default() }).unwrap();
        assert_eq!(receiver.recv().unwrap(), bytes(12));
    }
}

#[test]
fn files_of_xillybus_with_ends_and_addresses() {
    let card = card("xillybus_ends");
    let names: Vec<_> = card.info().channels.iter().map(|channel| (channel.name.clone(), channel.direction.to_string())).collect();
    let listed = |name: &str, direction: &str| (name.to_string(), direction.to_string());
    let all = [listed("both", "h2c"), listed("both", "c2h"), listed("table", "h2c"), listed("table", "c2h")];
    assert!(names.len() == 4 && all.iter().all(|channel| names.contains(channel)), "{names:?}");
    let table = card.memory("table").unwrap();
    let begins = || {
        let mut word = [0; 4];
        table.read_at(&mut word, 0).unwrap();
        u32::from_le_bytes(word)
    };
    let first = begins();
    for _ in 0..2 {
        let (sender, receiver) = (card.sender("both").unwrap(), card.receiver("both").unwrap());
        for count in [0, 1, 5, 1001] {
            let words: Vec<u8> = bytes(2 * count);
            // Messages leave no mark; an empty one drops what fills no word. The word FFFF ends the file.
            let (head, rest) = words.split_at(count);
            for part in [head, rest, &[9], &[], &[0xff], &[0xff]] {
                sender.send(part).unwrap();
            }
            let mut got = Vec::new();
            while got.len() < words.len() {
                let part = receiver.recv().unwrap();
                assert!(!part.is_empty(), "the file ends after {} bytes of {}", got.len(), words.len());
                got.extend(part);
            }
            assert_eq!(got, words);
            assert!(receiver.recv().unwrap().is_empty(), "no end of file after {count} words");
        }
    }
    // `open` fell with each reset of the channel.
    assert!(begins() > first);
    assert_eq!(table.len(), 4096);
    let mut some = [0; 40];
    table.read_at(&mut some, 4 * 1000 - 3).unwrap();
    let whole: Vec<u8> = (0..1024u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(some, whole[3997..4037]);
    assert!(table.write_at(&[0; 4], 8).is_err(), "it is read alone");
}

#[test]
fn a_core_that_is_a_master_computes_in_memory() {
    let card = card("kernel");
    let (memory, registers) = (card.memory("gmem").unwrap(), card.registers());
    let base = 0x10_0000;
    let run = |source: u32, target: u32, words: u32, bias: u32| {
        for (name, value) in [("source", source), ("target", target), ("words", words), ("bias", bias), ("faults", 0), ("control", 1)] {
            registers.write_name(name, value).unwrap();
        }
    };
    let wait = || assert_eq!(card.interrupts().wait(0, Some(Duration::from_secs(1))).unwrap(), 1);
    let sent = bytes(65_536);
    memory.write_at(&sent, 0).unwrap();
    let words = 3001;
    run(base + 64, base + 0x8000, words, 77);
    // The host reads and writes meanwhile, elsewhere.
    let mut some = vec![0; 4096];
    memory.read_at(&mut some, 0xC000).unwrap();
    assert_eq!(some, sent[0xC000..0xD000]);
    memory.write_at(&some, 0xD000).unwrap();
    wait();
    assert_eq!(registers.read_name("faults").unwrap(), 0);
    let mut got = vec![0; 65_536];
    memory.read_at(&mut got, 0).unwrap();
    let mut wanted = sent.clone();
    for word in 0..words as usize {
        let (from, to) = (64 + 4 * word, 0x8000 + 4 * word);
        let value = u32::from_le_bytes(sent[from..from + 4].try_into().unwrap());
        wanted[to..to + 4].copy_from_slice(&value.wrapping_add(77).to_le_bytes());
    }
    wanted[0xD000..0xE000].copy_from_slice(&some);
    assert_eq!(got, wanted);
    // Outside of the memory: zeros and faults, and nothing is written.
    run(0, base + 0x1_0000, 32, 1);
    wait();
    assert_eq!(registers.read_name("faults").unwrap(), 2);
    memory.read_at(&mut got, 0).unwrap();
    assert_eq!(got, wanted);
}

#[test]
fn a_core_in_vhdl_computes() {
    let ghdl = std::env::var_os("TOWPATH_GHDL").unwrap_or_else(|| "ghdl".into());
    if !std::process::Command::new(ghdl).arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: GHDL is not installed");
        return;
    }
    let card = card("vhdl");
    let (sender, receiver) = streams(&card);
    sender.send(&bytes(5003)).unwrap();
    let tripled: Vec<u8> = bytes(5003).iter().map(|byte| byte.wrapping_mul(3)).collect();
    assert_eq!(receiver.recv().unwrap(), tripled);
}

#[test]
fn a_function_of_high_level_synthesis_is_called() {
    let card = card("arguments");
    let (sender, receiver) = (card.sender("bytes").unwrap(), card.receiver("results").unwrap());
    let registers = card.registers();
    for (base, count) in [(0xff_1234_5678_u64, 100), (3, 0), (0x80_0000_0001, 255)] {
        registers.write_name("base", base as u32).unwrap();
        registers.write(0x14, (base >> 32) as u32).unwrap();
        registers.write_name("count", count).unwrap();
        let before = registers.read_name("ap_ctrl").unwrap();
        assert_eq!(before & 7, 4, "idle, and neither started nor done: {before:#x}");
        registers.write_name("ap_ctrl", 1).unwrap();
        let sent = bytes(count as usize);
        if count > 0 {
            sender.send(&sent).unwrap();
            let added: Vec<u8> = sent.iter().map(|byte| byte.wrapping_add(base as u8)).collect();
            assert_eq!(receiver.recv().unwrap(), added);
        }
        wait_until_done(&registers);
        assert_eq!(registers.read_name("ap_ctrl").unwrap() & 11, 0, "what was read once is over");
        assert_eq!(registers.read_name("ap_return").unwrap(), count);
        let total = u64::from(registers.read_name("total").unwrap()) | u64::from(registers.read(0x24).unwrap()) << 32;
        assert_eq!(total, (base + sent.iter().map(|byte| u64::from(*byte)).sum::<u64>()) & 0xff_ffff_ffff);
    }
}

#[test]
fn a_function_over_arrays_outside_of_it_is_called() {
    let card = card("arrays");
    let (x, y, registers) = (card.memory("x").unwrap(), card.memory("y").unwrap(), card.registers());
    let words = |bytes: &[u8]| -> Vec<u32> { bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect() };
    for count in [1_usize, 7, 512] {
        let sent = bytes(2048);
        x.write_at(&sent, 0).unwrap();
        y.write_at(&vec![0xff; 2048], 0).unwrap();
        registers.write_name("count", count as u32).unwrap();
        assert_eq!(registers.read_name("ap_ctrl").unwrap() & 7, 4, "idle");
        registers.write_name("ap_ctrl", 1).unwrap();
        wait_until_done(&registers);
        // It is done until it may go on, and elements have 24 bit.
        assert_eq!(registers.read_name("ap_ctrl").unwrap() & 7, 2);
        let mut got = vec![0; 2048];
        y.read_at(&mut got, 0).unwrap();
        let sums = words(&sent).into_iter().scan(0u32, |sum, word| {
            *sum = sum.wrapping_add(word & 0xff_ffff);
            Some(*sum)
        });
        let wanted: Vec<u32> = sums.take(count).collect();
        assert_eq!(words(&got)[..count], wanted);
        assert!(words(&got)[count..].iter().all(|word| *word == u32::MAX), "more was written");
        assert_eq!(registers.read_name("ap_return").unwrap(), wanted[count - 1]);
        registers.write_name("ap_ctrl", 16).unwrap();
    }
}
