// SPDX-License-Identifier: Apache-2.0
//! The structures and numbers of `driver/linux/uapi/towpath.h`, which documents them. bindgen writes them: see `bindgen.sh`.

// As the generator formats it.
#[rustfmt::skip]
#[allow(non_camel_case_types, dead_code, reason = "the header's names, all of them")]
mod header;

pub use header::{
    towpath_card_info as CardInfo, towpath_channel_info as ChannelInfo, towpath_channel_qos as ChannelQos,
    towpath_channel_statistics as ChannelStatistics, towpath_completion as Completion, towpath_exchange as Exchange,
    towpath_fill_level as FillLevel, towpath_interrupt as Interrupt, towpath_interrupt_event as InterruptEvent,
    towpath_link_counters as LinkCounters, towpath_message_start as MessageStart, towpath_moderation as Moderation, towpath_piece as Piece,
    towpath_plugin_info as PluginInfo, towpath_queue as Queue, towpath_register as Register, towpath_register_buffer as RegisterBuffer,
    towpath_transfer as Transfer, towpath_unregister_buffer as UnregisterBuffer, towpath_window as Window,
    TOWPATH_BUFFER_FROM_CARD as BUFFER_FROM_CARD, TOWPATH_BUFFER_TO_CARD as BUFFER_TO_CARD, TOWPATH_FEATURE_FILL as FEATURE_FILL,
    TOWPATH_FEATURE_QOS as FEATURE_QOS, TOWPATH_INTERRUPT_WAIT as INTERRUPT_WAIT, TOWPATH_LEVEL_EVENT as LEVEL_EVENT,
    TOWPATH_LEVEL_NEVER as LEVEL_NEVER, TOWPATH_LEVEL_WAIT as LEVEL_WAIT, TOWPATH_QUEUE_ANNOUNCE as QUEUE_ANNOUNCE,
    TOWPATH_REGISTER_WRITE as REGISTER_WRITE, TOWPATH_REQUEST_IOC_CANCEL as CANCEL, TOWPATH_REQUEST_IOC_CARD_RESET as CARD_RESET,
    TOWPATH_REQUEST_IOC_CHANNEL_RESET as CHANNEL_RESET, TOWPATH_SET_RATE as SET_RATE, TOWPATH_SET_TRAFFIC_CLASS as SET_TRAFFIC_CLASS,
    TOWPATH_SET_WEIGHT as SET_WEIGHT, TOWPATH_TRANSFER_ATTRIBUTES as TRANSFER_ATTRIBUTES, TOWPATH_TRANSFER_END as TRANSFER_END,
    TOWPATH_TRANSFER_LENGTH as TRANSFER_LENGTH,
};

pub const TRANSFER_PIECES: usize = header::TOWPATH_TRANSFER_PIECES as usize;
pub const TRANSFER_BYTES: usize = header::TOWPATH_TRANSFER_BYTES as usize;

/// A structure which a request takes, and may fill in.
pub trait Argument: Copy {
    /// The request's number.
    const REQUEST: u32;

    /// Fill in the structure's length, which the module requires of each request.
    fn measured(self) -> Self;
}

macro_rules! arguments {
    ($($name:ident = $request:ident;)*) => {
        $(
            impl Argument for $name {
                const REQUEST: u32 = header::$request;

                fn measured(self) -> Self {
                    $name { argsz: size_of::<$name>() as u32, ..self }
                }
            }
        )*
    };
}

arguments! {
    CardInfo = TOWPATH_REQUEST_IOC_CARD_INFO;
    ChannelQos = TOWPATH_REQUEST_IOC_CHANNEL_QOS;
    FillLevel = TOWPATH_REQUEST_IOC_FILL_LEVEL;
    ChannelInfo = TOWPATH_REQUEST_IOC_CHANNEL_INFO;
    PluginInfo = TOWPATH_REQUEST_IOC_PLUGIN_INFO;
    Window = TOWPATH_REQUEST_IOC_WINDOW;
    Register = TOWPATH_REQUEST_IOC_REGISTER;
    Interrupt = TOWPATH_REQUEST_IOC_INTERRUPT;
    InterruptEvent = TOWPATH_REQUEST_IOC_INTERRUPT_EVENT;
    LinkCounters = TOWPATH_REQUEST_IOC_LINK_COUNTERS;
    RegisterBuffer = TOWPATH_REQUEST_IOC_REGISTER_BUFFER;
    UnregisterBuffer = TOWPATH_REQUEST_IOC_UNREGISTER_BUFFER;
    Queue = TOWPATH_REQUEST_IOC_QUEUE;
    Exchange = TOWPATH_REQUEST_IOC_EXCHANGE;
    MessageStart = TOWPATH_REQUEST_IOC_MESSAGE_START;
    Moderation = TOWPATH_REQUEST_IOC_MODERATION;
    ChannelStatistics = TOWPATH_REQUEST_IOC_CHANNEL_STATISTICS;
}

/// The bytes of a name in a structure.
pub fn name<const BYTES: usize>(characters: &[std::ffi::c_char; BYTES]) -> [u8; BYTES] {
    characters.map(|character| character as u8)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write;
    use std::process::Command;

    /// What the generated file records of the header, by C's names: sizes, places of fields, numbers.
    fn generated() -> BTreeMap<String, u64> {
        let text = include_str!("uapi/header.rs");
        let mut found = BTreeMap::new();
        // ["Size of NAME"][... - 88usize], and the same of fields; both may stand on two lines.
        for part in text.split("[\"").skip(1) {
            let (what, rest) = part.split_once("\"]").unwrap();
            let number = rest.split_once(" - ").unwrap().1.split_once("usize").unwrap().0.parse().unwrap();
            if let Some(name) = what.strip_prefix("Size of ") {
                found.insert(format!("sizeof(struct {name})"), number);
            } else if let Some(field) = what.strip_prefix("Offset of field: ") {
                found.insert(format!("offsetof(struct {})", field.replace("::", ", ")), number);
            }
        }
        for line in text.lines().filter_map(|line| line.strip_prefix("pub const ")) {
            let (name, rest) = line.split_once(": ").unwrap();
            let number = rest.split_once(" = ").unwrap().1.trim_end_matches(';');
            found.insert(name.replace("TOWPATH_REQUEST_", "TOWPATH_"), number.parse().unwrap());
        }
        found
    }

    #[test]
    fn the_generated_file_is_the_headers() {
        let ours = generated();
        assert!(ours.len() > 150, "{ours:?}");
        let mut program = String::from("#include <stddef.h>\n#include <stdio.h>\n#include \"towpath.h\"\nint main(void)\n{\n");
        for what in ours.keys() {
            writeln!(program, "printf(\"{what} = %llu\\n\", (unsigned long long)({what}));").unwrap();
        }
        program += "return 0;\n}\n";
        let folder = tempfile::tempdir().unwrap();
        let (source, binary) = (folder.path().join("header.c"), folder.path().join("header"));
        std::fs::write(&source, program).unwrap();
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../driver/linux/uapi");
        let made = Command::new("cc").args(["-Wall", "-Werror", "-I", header, "-o"]).args([&binary, &source]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let said = String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap();
        let expected: String = ours.iter().map(|(what, number)| format!("{what} = {number}\n")).collect();
        assert_eq!(said, expected, "run host/kmod/bindgen.sh");
    }

    /// A field that was added to the header alone makes its structure longer, or fills a gap, or has a line that is missing here.
    #[test]
    fn nothing_of_the_header_is_left_out() {
        let header = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../driver/linux/uapi/towpath.h")).unwrap();
        let ours = generated();
        let count = |start: &str| ours.keys().filter(|what| what.starts_with(start)).count();
        let lines = |fits: &dyn Fn(&str) -> bool| header.lines().filter(|line| fits(line)).count();
        assert_eq!(lines(&|line| line.starts_with("struct towpath_")), count("sizeof"));
        assert_eq!(lines(&|line| line.starts_with("#define TOWPATH_") && line != "#define TOWPATH_UAPI_H"), count("TOWPATH_"));
        let is_field = |line: &str| line.starts_with('\t') && line.trim_start().starts_with(['_', 'c']) && line.contains(';');
        assert_eq!(lines(&is_field), count("offsetof"));
    }
}
