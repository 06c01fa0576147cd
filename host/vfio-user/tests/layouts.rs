// SPDX-License-Identifier: Apache-2.0
//! Messages against bytes that were written down by hand from the protocol's tables, and constants against the kernel's.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use towpath_vfio_user::message::{self, *};
use vfio_bindings::bindings::vfio as kernel;

fn capabilities() -> Capabilities {
    Capabilities { descriptors: 8, data: 4096 }
}

/// Command, request, payload in hexadecimal (`.` separates fields), descriptors.
fn requests() -> Vec<(u16, Request, &'static str, usize)> {
    let events = Trigger::Events;
    vec![
        (
            2,
            Request::DmaMap { readable: true, writable: false, offset: 0x1000, address: 0x1_2345_6000, bytes: 0x2000 },
            "20000000.01000000.0010000000000000.0060452301000000.0020000000000000",
            1,
        ),
        (
            2,
            Request::DmaMap { readable: true, writable: true, offset: 0, address: 0, bytes: 1 },
            "20000000.03000000.0000000000000000.0000000000000000.0100000000000000",
            0,
        ),
        (
            3,
            Request::DmaUnmap { address: 0x1_2345_6000, bytes: 0x2000, all: false },
            "18000000.00000000.0060452301000000.0020000000000000",
            0,
        ),
        (3, Request::DmaUnmap { address: 0, bytes: 0, all: true }, "18000000.02000000.0000000000000000.0000000000000000", 0),
        (4, Request::DeviceInfo, "10000000.00000000.00000000.00000000", 0),
        (5, Request::RegionInfo { index: 7, room: 32 }, "20000000.00000000.07000000.00000000.0000000000000000.0000000000000000", 0),
        (7, Request::IrqInfo { index: 2 }, "10000000.00000000.02000000.00000000", 0),
        (8, Request::SetIrqs { index: 2, start: 1, count: 3, trigger: events }, "14000000.24000000.02000000.01000000.03000000", 3),
        (8, Request::SetIrqs { index: 2, start: 0, count: 0, trigger: Trigger::Fire }, "14000000.21000000.02000000.00000000.00000000", 0),
        (
            8,
            Request::SetIrqs { index: 2, start: 4, count: 2, trigger: Trigger::FireSome(vec![false, true]) },
            "16000000.22000000.02000000.04000000.02000000.0001",
            0,
        ),
        (9, Request::RegionRead { region: 0, offset: 0x28, bytes: 4 }, "2800000000000000.00000000.04000000", 0),
        (
            10,
            Request::RegionWrite { region: 2, offset: 0x1_0000_0000, data: vec![1, 2, 3] },
            "0000000001000000.02000000.03000000.010203",
            0,
        ),
        (13, Request::Reset, "", 0),
    ]
}

fn bytes(text: &str) -> Vec<u8> {
    let digits = text.replace('.', "");
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn requests_look_as_they_should_in_both_directions() {
    for (number, request, text, descriptors) in requests() {
        assert_eq!(request.command() as u16, number, "{request:?}");
        assert_eq!(request.payload(), bytes(text), "{request:?}");
        assert_eq!(Request::parse(number, &bytes(text), descriptors).unwrap(), request);
    }
}

#[test]
fn a_request_that_is_cut_or_continued_is_refused() {
    for (number, request, text, descriptors) in requests() {
        let whole = bytes(text);
        for length in 0..whole.len() {
            // Behind the 12th byte nothing of these two is looked at: older peers send less.
            let found = Request::parse(number, &whole[..length], descriptors);
            let lenient = (number == 4 && length >= 4) || ([5, 7].contains(&number) && length >= 12);
            assert_eq!(found.is_ok(), lenient, "{request:?} cut to {length}");
        }
        let more = [&whole[..], &[0]].concat();
        assert_eq!(Request::parse(number, &more, descriptors).is_ok(), [4, 5, 7, 13].contains(&number), "{request:?} with a byte more");
        let too_many = Request::parse(number, &whole, descriptors.max(1) + 1);
        assert_eq!(too_many.unwrap_err().errno, libc::EINVAL, "{request:?} with too many descriptors");
    }
}

#[test]
fn nonsense_is_refused_with_its_reason() {
    let refused = |number: u16, text: &str| Request::parse(number, &bytes(text), 0).unwrap_err();
    assert_eq!(refused(99, "").errno, libc::ENOSYS);
    assert_eq!(refused(6, "").errno, libc::ENOTSUP);
    assert_eq!(refused(11, "00000000000000000400000000000000").errno, libc::EINVAL);
    assert!(refused(2, "1f000000.01000000.0000000000000000.0000000000000000.0100000000000000").why.contains("argsz is 31"));
    assert!(refused(2, "20000000.11000000.0000000000000000.0000000000000000.0100000000000000").why.contains("0x11"));
    assert!(refused(3, "18000000.01000000.0000000000000000.0000000000000000").why.contains("dirty"));
    assert_eq!(refused(9, "0000000000000000.00000000.01001000").errno, libc::E2BIG);
    assert!(refused(8, "14000000.0c000000.02000000.00000000.00000000").why.contains("0xc"));
    assert!(refused(8, "14000000.25000000.02000000.00000000.00000000").why.contains("0x5"));
    assert!(refused(8, "14000000.24000000.02000000.ffffffff.02000000").why.contains("4294967295"));
    assert!(refused(8, "14000000.22000000.02000000.00000000.02000000").why.contains("for 2 interrupts"));
}

#[test]
fn the_header_is_16_bytes() {
    let text = "3412.0a00.2b000000.10000000.00000000";
    let header = Header { id: 0x1234, command: 10, bytes: 43, flags: FLAG_NO_REPLY, errno: 0 };
    assert_eq!(header.to_bytes().to_vec(), bytes(text));
    assert_eq!(Header::parse(&header.to_bytes()).unwrap(), header);
    assert!(!header.is_reply() && !header.wants_reply() && header.error().is_none());
    let refusal = header.refusal(libc::EBUSY);
    assert_eq!(refusal.to_bytes().to_vec(), bytes("3412.0a00.10000000.21000000.10000000"));
    assert!(refusal.is_reply() && refusal.error() == Some(libc::EBUSY));
    for (bytes, flags) in [(15, 0), (0, 0), (u32::MAX, 0), (16, 2), (16, 15)] {
        assert!(Header::parse(&Header { bytes, flags, ..header }.to_bytes()).is_err(), "{bytes} bytes, flags {flags}");
    }
}

#[test]
fn versions_carry_json() {
    let payload = message::version(0, 1, &capabilities());
    assert_eq!(payload[..4], [0, 0, 1, 0]);
    assert_eq!(payload.last(), Some(&0));
    let text = std::str::from_utf8(&payload[4..payload.len() - 1]).unwrap();
    assert_eq!(text, r#"{"capabilities":{"max_msg_fds":8,"max_data_xfer_size":4096,"pgsizes":4096}}"#);
    let parse = |text: &str| Request::parse(1, &[&[0, 0, 1, 0], text.as_bytes()].concat(), 0);
    let found = |descriptors, data| Ok(Request::Version { major: 0, minor: 1, capabilities: Capabilities { descriptors, data } });
    assert_eq!(Request::parse(1, &payload, 0), found(8, 4096));
    assert_eq!(parse(""), found(1, MAX_DATA));
    assert_eq!(parse("{}\0"), found(1, MAX_DATA));
    assert_eq!(parse("{\"capabilities\":{\"max_msg_fds\":99999,\"migration\":{\"pgsize\":4096}}}\0"), found(MAX_DESCRIPTORS, MAX_DATA));
    for wrong in ["{}", "{\0", "\0", "{\"capabilities\":{\"max_data_xfer_size\":-1}}\0", "{\"capabilities\":{\"max_msg_fds\":\"8\"}}\0"] {
        assert_eq!(parse(wrong).unwrap_err().errno, libc::EINVAL, "{wrong:?}");
    }
    let deep = format!("{}\0", "[".repeat(4000));
    assert!(parse(&deep).is_err());
    let long = format!("{{\"a\":\"{}\"}}\0", "x".repeat(5000));
    assert!(parse(&long).unwrap_err().why.contains("4096 are possible"));
}

#[test]
fn region_info_tells_of_areas_to_who_has_room() {
    let mut info = RegionInfo { flags: REGION_READ | REGION_MMAP, index: 2, bytes: 0x4000, offset: 0x8000, areas: Vec::new() };
    assert_eq!(info.payload(32), bytes("20000000.05000000.02000000.00000000.0040000000000000.0080000000000000"));
    info.areas = vec![0..0x1000, 0x2000..0x4000];
    assert_eq!(info.payload(32), bytes("50000000.0d000000.02000000.00000000.0040000000000000.0080000000000000"));
    let areas = "0100.0100.00000000.02000000.00000000.0000000000000000.0010000000000000.0020000000000000.0020000000000000";
    let whole = format!("50000000.0d000000.02000000.20000000.0040000000000000.0080000000000000.{areas}");
    assert_eq!(info.payload(0x50), bytes(&whole));
    let parsed = RegionInfo::parse(&bytes(&whole)).unwrap();
    assert_eq!((parsed.index, parsed.bytes, parsed.offset), (2, 0x4000, 0x8000));
}

#[test]
fn memory_is_asked_for_by_address_and_length() {
    let access = DmaAccess { address: 0x1_0000_0010, bytes: 2 };
    let text = "1000000001000000.0200000000000000";
    assert_eq!(access.to_bytes().to_vec(), bytes(text));
    assert_eq!(DmaAccess::parse(&bytes(text), false).unwrap(), (access, &[][..]));
    assert_eq!(DmaAccess::parse(&bytes(&format!("{text}abcd")), true).unwrap(), (access, &[0xab, 0xcd][..]));
    assert!(DmaAccess::parse(&bytes(&format!("{text}ab")), true).is_err());
    assert!(DmaAccess::parse(&bytes(&format!("{text}abcd")), false).is_err());
    assert_eq!(DmaAccess::parse(&bytes("0000000000000000.0000000000000001"), false).unwrap_err().errno, libc::E2BIG);
}

#[test]
fn constants_are_the_kernels() {
    assert_eq!(
        (DMA_READ, DMA_WRITE, UNMAP_ALL),
        (kernel::VFIO_DMA_MAP_FLAG_READ, kernel::VFIO_DMA_MAP_FLAG_WRITE, kernel::VFIO_DMA_UNMAP_FLAG_ALL)
    );
    assert_eq!((DEVICE_RESET, DEVICE_PCI), (kernel::VFIO_DEVICE_FLAGS_RESET, kernel::VFIO_DEVICE_FLAGS_PCI));
    assert_eq!((REGION_READ, REGION_WRITE), (kernel::VFIO_REGION_INFO_FLAG_READ, kernel::VFIO_REGION_INFO_FLAG_WRITE));
    assert_eq!((REGION_MMAP, REGION_CAPS), (kernel::VFIO_REGION_INFO_FLAG_MMAP, kernel::VFIO_REGION_INFO_FLAG_CAPS));
    assert_eq!((IRQ_EVENTFD, IRQ_NORESIZE), (kernel::VFIO_IRQ_INFO_EVENTFD, kernel::VFIO_IRQ_INFO_NORESIZE));
    let sets = [SET_DATA_NONE, SET_DATA_BOOL, SET_DATA_EVENTFD, SET_ACTION_TRIGGER];
    let theirs = [
        kernel::VFIO_IRQ_SET_DATA_NONE,
        kernel::VFIO_IRQ_SET_DATA_BOOL,
        kernel::VFIO_IRQ_SET_DATA_EVENTFD,
        kernel::VFIO_IRQ_SET_ACTION_TRIGGER,
    ];
    assert_eq!(sets, theirs);
    assert_eq!(towpath_vfio_user::REGIONS, kernel::VFIO_PCI_NUM_REGIONS);
    assert_eq!(towpath_vfio_user::REGION_CONFIG, kernel::VFIO_PCI_CONFIG_REGION_INDEX);
    assert_eq!(towpath_vfio_user::IRQ_MSIX, kernel::VFIO_PCI_MSIX_IRQ_INDEX);
}
