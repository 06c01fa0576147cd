// SPDX-License-Identifier: Apache-2.0
//! What cannot be opened, and what the error says: each is mended by the command that it names.

use std::os::unix::process::CommandExt;
use std::process::Command;

use towpath::{Device, Error};

use crate::devices::{functions, mend, open, problems, EDU, NVME};
use crate::{system, Test};

pub const TESTS: &[Test] = &[
    ("a_device_with_a_driver_of_its_own", a_device_with_a_driver_of_its_own),
    ("a_group_with_a_foreign_device", a_group_with_a_foreign_device),
    ("another_user_needs_the_groups_file", another_user_needs_the_groups_file),
    ("a_card_that_is_in_use", a_card_that_is_in_use),
    ("what_is_no_towpath_card", what_is_no_towpath_card),
];

fn names(list: &str) {
    std::env::set_var("TOWPATH_PCI_IDS", list);
}

fn error_of(name: &str) -> Error {
    Device::open(name).expect_err("QEMU's devices are no cards")
}

fn a_device_with_a_driver_of_its_own() {
    names(NVME);
    let function = functions(NVME).remove(0);
    let error = error_of(&function.address.to_string());
    let Error::NotReady { seen, remedy, .. } = &error else { panic!("{error}") };
    assert!(seen.contains("another driver, nvme") && remedy.contains("driver/unbind"), "{error}");
    mend(&function);
    assert!(matches!(error_of(&function.address.to_string()), Error::NotTowpath { .. }), "it can be opened, and is no card");
}

fn a_group_with_a_foreign_device() {
    names(EDU);
    // The second stands beside an NVMe drive, as one of its functions.
    let function = functions(EDU).remove(1);
    system::run(problems(&function)[0].remedy.as_deref().unwrap());
    let error = error_of(&format!("vfio:{}", function.address));
    let Error::NotReady { seen, .. } = &error else { panic!("{error}") };
    assert!(seen.contains("also holds") && seen.contains("driver nvme"), "{error}");
    open(&mend(&function));
}

fn another_user_needs_the_groups_file() {
    let function = mend(&functions(EDU)[0]);
    let file = format!("/dev/vfio/{}", function.group.unwrap());
    let as_user = || {
        let output = Command::new("/proc/self/exe").args(["open", &function.address.to_string()]).uid(1000).gid(1000).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = as_user();
    assert!(refused.contains(&format!("may not open {file}")), "{refused}");
    let command = refused.split("mend this: ").nth(1).unwrap();
    system::run(command);
    system::limit_locked_memory(1 << 20);
    let allowed = as_user();
    assert!(allowed.contains("memory: warning: this user may lock 1024 KiB"), "{allowed}");
    assert!(allowed.contains("VFIO_IOMMU_MAP_DMA of 2097152 bytes") && allowed.contains("prlimit --memlock"), "{allowed}");
    assert!(allowed.contains("64 KiB are mapped"), "{allowed}");
    system::run(&format!("chown 0 {file}"));
}

/// The other user's part of it.
pub fn as_another_user(address: &str) {
    names(EDU);
    match Device::open(address) {
        Err(error @ Error::NotReady { .. }) => return println!("{error}"),
        other => println!("{other:?}"),
    }
    for finding in towpath::doctor(address) {
        println!("{}: {}: {}", finding.check, finding.level, finding.seen);
    }
    let bus = open(&functions(EDU)[0]);
    let mut memory = vec![0u8; 4 << 20];
    for bytes in [(2 << 20) - 4096, 60 << 10] {
        // SAFETY: the memory outlives the bus's last use of it, which closes before it.
        match unsafe { towpath_bus::Bus::map(&bus, memory.as_mut_ptr(), bytes, towpath_bus::Access::Read) } {
            Ok(_) => println!("{} KiB are mapped", (bytes + 4096) >> 10),
            Err(error) => println!("{error}"),
        }
    }
    drop(bus);
}

fn a_card_that_is_in_use() {
    names(EDU);
    let function = mend(&functions(EDU)[0]);
    let first = open(&function);
    let error = error_of(&function.address.to_string()).to_string();
    assert!(error.contains("another program uses the card") && error.contains("sudo fuser -v /dev/vfio/"), "{error}");
    drop(first);
    open(&function);
}

fn what_is_no_towpath_card() {
    let function = mend(&functions(EDU)[0]);
    names("");
    let error = error_of(&function.address.to_string());
    let Error::NotReady { seen, remedy, .. } = &error else { panic!("{error}") };
    assert!(seen.contains("not the identification") && remedy.contains("TOWPATH_PCI_IDS=1234:11e8"), "{error}");
    names(EDU);
    assert!(matches!(error_of(&format!("vfio:{}", function.address)), Error::NotTowpath { .. }), "the magic is not there");
    assert!(towpath::list_devices().unwrap().iter().any(|device| device.name == format!("vfio:{}", function.address)));
}

pub fn without_an_iommu() {
    names(EDU);
    let function = functions(EDU).remove(0);
    let error = error_of(&function.address.to_string());
    let Error::NotReady { seen, remedy, .. } = &error else { panic!("{error}") };
    // This kernel runs on what claims to be a processor of AMD's or Intel's, whichever QEMU made it.
    assert!(seen.contains("IOMMU") && (remedy.contains("intel_iommu=on") || remedy.contains("--firmware-setup")), "{error}");
}
