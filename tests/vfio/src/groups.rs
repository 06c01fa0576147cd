// SPDX-License-Identifier: Apache-2.0
//! Two devices that the IOMMU does not tell apart, in one program: two functions of one device, of which the first has another driver until now.

use towpath_bus::{Access, Bus};

use crate::devices::{functions, mend, open, EDU, NVME};
use crate::edu::{copy, map, Memory};
use crate::Test;

pub const TESTS: &[Test] = &[("two_cards_of_one_group_share_what_is_mapped", two_cards_of_one_group_share_what_is_mapped)];

fn two_cards_of_one_group_share_what_is_mapped() {
    let one = mend(&functions(EDU)[1]);
    let other = functions(NVME).into_iter().find(|function| function.group == one.group).unwrap();
    let (bus, beside) = (open(&one), open(&other));
    assert_eq!(beside.read32(0, 8).unwrap() >> 16, 1, "an NVMe drive's version: a card of its own");
    let again = towpath_vfio::VfioBus::open("again", &towpath_vfio::System::here(), one.address, &crate::devices::ids(&one));
    let refused = again.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("another program uses the card"), "{refused}");
    let (mut from, mut to) = (Memory::new(0, 64), Memory::new(0, 64));
    from.bytes(64).fill(0x5a);
    let (source, target) = (map(&bus, &mut from, 64, Access::Read), map(&beside, &mut to, 64, Access::Write));
    assert_ne!(source & !0xfff, target & !0xfff, "no address is given twice");
    copy(&bus, source, 64, false);
    copy(&bus, target, 64, true);
    assert!(to.bytes(64).iter().all(|byte| *byte == 0x5a), "what is mapped for the one, the other reaches");
    // And no longer than it is mapped, though the group stays open.
    drop(beside);
    to.bytes(64).fill(0);
    copy(&bus, target, 64, true);
    assert!(to.bytes(64).iter().all(|byte| *byte == 0), "a copy to memory of a card that was closed has landed");
    from.bytes(64).fill(0x77);
    copy(&bus, source, 64, false);
    let back = map(&bus, &mut to, 64, Access::Write);
    copy(&bus, back, 64, true);
    assert!(to.bytes(64).iter().all(|byte| *byte == 0x77), "and nothing else ends with it");
    open(&other);
}
