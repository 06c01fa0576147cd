// SPDX-License-Identifier: Apache-2.0
//! The structures and numbers of `driver/linux/uapi/towpath.h`, which says what they mean. A test has a C compiler compare the two.

/// Declares structures that begin with `argsz` and `flags`, and the number of the request that takes each.
macro_rules! arguments {
    ($($c:literal $name:ident $number:literal { $($field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            #[allow(dead_code)] // all of the header's are here, though the library has no use for some
            pub struct $name {
                pub argsz: u32,
                pub flags: u32,
                $(pub $field: $type,)*
            }

            impl Default for $name {
                fn default() -> $name {
                    $name { argsz: size_of::<$name>() as u32, flags: 0, $($field: Default::default(),)* }
                }
            }

            impl Argument for $name {
                const REQUEST: u32 = 3 << 30 | (size_of::<$name>() as u32) << 16 | request($number);
            }
        )*

        /// Name, size, request and the places of the fields of each.
        #[cfg(test)]
        const ARGUMENTS: &[(&str, usize, u32, &[(&str, usize)])] = &[
            $(($c, size_of::<$name>(), $name::REQUEST, &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*]),)*
        ];
    };
}

/// Declares structures that others point at.
macro_rules! rows {
    ($($c:literal $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default)]
            #[allow(dead_code)]
            pub struct $name {
                $(pub $field: $type,)*
            }
        )*

        #[cfg(test)]
        const ROWS: &[(&str, usize, &[(&str, usize)])] =
            &[$(($c, size_of::<$name>(), &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*]),)*];
    };
}

/// A structure which a request takes, and may fill in.
pub trait Argument: Copy {
    /// The request's number.
    const REQUEST: u32;
}

const fn request(number: u8) -> u32 {
    (b't' as u32) << 8 | number as u32
}

arguments! {
    "towpath_card_info" CardInfo 0x70 {
        version_major: u16,
        version_minor: u16,
        data_bytes: u32,
        serial: u64,
        core_version: u32,
        core_clock_khz: u32,
        user_clock_khz: u32,
        window_bytes: u32,
        channels: u16,
        vectors: u16,
        vectors_used: u16,
        interrupts: u16,
        tags: u16,
        reserved: [u16; 3],
        core_name: [u8; 32],
    }
    "towpath_channel_info" ChannelInfo 0x71 {
        index: u32,
        direction: u32,
        queue_depth: u32,
        inline_slots: u32,
        buffer_bytes: u32,
        reserved: u32,
        name: [u8; 32],
    }
    "towpath_register" Register 0x72 {
        offset: u32,
        value: u32,
    }
    "towpath_interrupt" Interrupt 0x73 {
        index: u32,
        seen: u32,
        count: u32,
        reserved: u32,
        timeout_ns: i64,
    }
    "towpath_interrupt_event" InterruptEvent 0x75 {
        index: u32,
        eventfd: i32,
    }
    "towpath_link_counters" LinkCounters 0x76 {
        unsupported_requests: u32,
        completer_aborts: u32,
        poisoned: u32,
        timeouts: u32,
        bad_completions: u32,
        late_completions: u32,
        unexpected_completions: u32,
        bus_mastering_losses: u32,
        link_downs: u32,
        function_resets: u32,
        quarantined: u32,
        reserved: u32,
    }
    "towpath_register_buffer" RegisterBuffer 0x77 {
        address: u64,
        bytes: u64,
        buffer: u32,
        reserved: u32,
    }
    "towpath_allocate_buffer" AllocateBuffer 0x79 {
        bytes: u64,
        offset: u64,
        buffer: u32,
        reserved: u32,
    }
    "towpath_import_buffer" ImportBuffer 0x7a {
        dmabuf: i32,
        buffer: u32,
        bytes: u64,
    }
    "towpath_unregister_buffer" UnregisterBuffer 0x78 {
        buffer: u32,
        reserved: u32,
    }
    "towpath_queue" Queue 0x81 {
        control: i32,
        eventfd: i32,
    }
    "towpath_exchange" Exchange 0x82 {
        transfer: u64,
        transfers: u32,
        submitted: u32,
        ticket: u64,
        completion: u64,
        completions: u32,
        collected: u32,
        wanted: u32,
        reserved: u32,
        timeout_ns: i64,
    }
    "towpath_message_start" MessageStart 0x83 {
        length: u64,
        offset: u32,
        user: u32,
        timeout_ns: i64,
    }
    "towpath_moderation" Moderation 0x85 {
        entries: u16,
        time: u16,
        reserved: u32,
    }
    "towpath_channel_statistics" ChannelStatistics 0x86 {
        submitted: u64,
        completed: u64,
        bytes: u64,
        interrupts: u64,
        wrong_cookies: u64,
        wrong_lengths: u64,
        wrong_statuses: u64,
        unexpected: u64,
    }
}

rows! {
    "towpath_piece" Piece {
        address: u64,
        bytes: u64,
        buffer: u32,
        reserved: u32,
    }
    "towpath_transfer" Transfer {
        pieces: u64,
        count: u32,
        flags: u32,
        length: u64,
        offset: u64,
        user: u32,
        reserved: u32,
    }
    "towpath_completion" Completion {
        ticket: u64,
        bytes: u32,
        status: u32,
        offset: u32,
        user: u32,
    }
    "towpath_uring_transfer" UringTransfer {
        transfer: u64,
        completion: u64,
    }
}

/// Requests without a structure.
pub const CARD_RESET: u32 = request(0x74);
pub const CHANNEL_RESET: u32 = request(0x80);
pub const CANCEL: u32 = request(0x84);

pub const REGISTER_WRITE: u32 = 1;
pub const INTERRUPT_WAIT: u32 = 1;
pub const BUFFER_TO_CARD: u32 = 1;
pub const BUFFER_FROM_CARD: u32 = 2;
pub const QUEUE_ANNOUNCE: u32 = 1;
pub const TRANSFER_END: u32 = 1;
pub const TRANSFER_ATTRIBUTES: u32 = 2;
pub const TRANSFER_LENGTH: u32 = 4;
pub const TRANSFER_PIECES: usize = 512;
pub const TRANSFER_BYTES: usize = 4 << 20;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::process::Command;

    /// What this file says, each line as a program made with the header says it.
    fn ours() -> String {
        let mut text = String::new();
        for (name, size, request, fields) in ARGUMENTS {
            writeln!(text, "{name} {size} {request:#x}").unwrap();
            fields.iter().for_each(|(field, place)| writeln!(text, "{name}.{field} {place}").unwrap());
        }
        for (name, size, fields) in ROWS {
            writeln!(text, "{name} {size}").unwrap();
            fields.iter().for_each(|(field, place)| writeln!(text, "{name}.{field} {place}").unwrap());
        }
        for (name, value) in NUMBERS {
            writeln!(text, "{name} {value:#x}").unwrap();
        }
        text
    }

    const NUMBERS: &[(&str, u32)] = &[
        ("IOC_CARD_RESET", CARD_RESET),
        ("IOC_CHANNEL_RESET", CHANNEL_RESET),
        ("IOC_CANCEL", CANCEL),
        ("REGISTER_WRITE", REGISTER_WRITE),
        ("INTERRUPT_WAIT", INTERRUPT_WAIT),
        ("BUFFER_TO_CARD", BUFFER_TO_CARD),
        ("BUFFER_FROM_CARD", BUFFER_FROM_CARD),
        ("QUEUE_ANNOUNCE", QUEUE_ANNOUNCE),
        ("TRANSFER_END", TRANSFER_END),
        ("TRANSFER_ATTRIBUTES", TRANSFER_ATTRIBUTES),
        ("TRANSFER_LENGTH", TRANSFER_LENGTH),
        ("TRANSFER_PIECES", TRANSFER_PIECES as u32),
        ("TRANSFER_BYTES", TRANSFER_BYTES as u32),
        ("NAME_BYTES", 32),
    ];

    /// A program in C that says the same by the header.
    fn program() -> String {
        let mut text = String::from("#include <stddef.h>\n#include <stdio.h>\n#include \"towpath.h\"\nint main(void)\n{\n");
        let place = |text: &mut String, name: &str, fields: &[(&str, usize)]| {
            for (field, _) in fields {
                writeln!(text, "printf(\"{name}.{field} %zu\\n\", offsetof(struct {name}, {field}));").unwrap();
            }
        };
        for (name, _, _, fields) in ARGUMENTS {
            let request = name.trim_start_matches("towpath_").to_uppercase();
            writeln!(text, "printf(\"{name} %zu %#x\\n\", sizeof(struct {name}), (unsigned)TOWPATH_IOC_{request});").unwrap();
            place(&mut text, name, fields);
        }
        for (name, _, fields) in ROWS {
            writeln!(text, "printf(\"{name} %zu\\n\", sizeof(struct {name}));").unwrap();
            place(&mut text, name, fields);
        }
        for (name, _) in NUMBERS {
            writeln!(text, "printf(\"{name} %#x\\n\", (unsigned)TOWPATH_{name});").unwrap();
        }
        text + "return 0;\n}\n"
    }

    #[test]
    fn structures_and_numbers_are_the_headers() {
        let folder = tempfile::tempdir().unwrap();
        let (source, binary) = (folder.path().join("header.c"), folder.path().join("header"));
        std::fs::write(&source, program()).unwrap();
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../driver/linux/uapi");
        let made = Command::new("cc").args(["-Wall", "-Werror", "-I", header, "-o"]).args([&binary, &source]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let said = Command::new(&binary).output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), ours());
    }

    /// Fields that the header has and this file has not would shift what stands behind them, or make the structure longer.
    #[test]
    fn nothing_of_the_header_is_left_out() {
        let header = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../driver/linux/uapi/towpath.h")).unwrap();
        let words = |start: &str| header.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(words("#define TOWPATH_IOC_"), ARGUMENTS.len() + 3);
        assert_eq!(words("struct towpath_"), ARGUMENTS.len() + ROWS.len());
    }
}
