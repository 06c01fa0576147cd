// SPDX-License-Identifier: Apache-2.0
//! Every finding of the checks, in made-up trees of /sys, /dev and /proc: one thing is wrong in each, and is found with the command that
//! mends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;
use towpath_vfio::{checks, Address, Finding, Function, Ids, Level, System, VfioBus, VfioError};

const CARD: &str = "0000:65:00.0";
const AUDIO: &str = "0000:65:00.1";
const PORT: &str = "0000:64:00.0";

/// A machine in which a card is ready to be opened.
struct Machine {
    root: TempDir,
    may_open: fn(&Path) -> bool,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { root: tempfile::tempdir().unwrap(), may_open: |path| path.exists() };
        machine.write("sys/class/iommu/dmar0/devices", "");
        machine.write("sys/bus/pci/drivers/vfio-pci/new_id", "");
        machine.write("sys/module/vfio_iommu_type1/parameters/dma_entry_limit", "65535\n");
        machine.write("dev/vfio/vfio", "");
        machine.write("dev/vfio/7", "");
        machine.write("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 intel_iommu=on\n");
        machine.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
        machine.write("proc/self/status", "Name:\ttowpath\nCapEff:\t0000000000000000\n");
        machine.limit("unlimited");
        machine.function(PORT, "0x8086:0x2030", "0x060400", Some("pcieport"), Some(7));
        machine.function(CARD, "0x1234:0x7470", "0x120000", Some("vfio-pci"), Some(7));
        machine.resources(&[(0xd000_0000, 0xd00f_ffff, 0x14_220c), (0, 0, 0), (0xd010_0000, 0xd010_0fff, 0x14_220c)]);
        machine.configuration(&[0x34, 0x12, 0x70, 0x74, 0, 0]);
        machine.link("8.0 GT/s PCIe", "8");
        machine
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, name: &str) {
        let path = self.path(name);
        match path.symlink_metadata().unwrap().is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }

    /// A function, below the root port as the kernel has them: the list of all holds links.
    fn function(&self, address: &str, id: &str, class: &str, driver: Option<&str>, group: Option<u32>) {
        let (vendor, device) = id.split_once(':').unwrap();
        let folder = if address == PORT { format!("sys/devices/{PORT}") } else { format!("sys/devices/{PORT}/{address}") };
        for (name, text) in [("vendor", vendor), ("device", device), ("class", class)] {
            self.write(&format!("{folder}/{name}"), format!("{text}\n"));
        }
        fs::create_dir_all(self.path("sys/bus/pci/devices")).unwrap();
        let listed = self.path(&format!("sys/bus/pci/devices/{address}"));
        let _ = fs::remove_file(&listed);
        symlink(self.path(&folder), &listed).unwrap();
        let link = |name: &str, target: Option<String>| {
            let _ = fs::remove_file(listed.join(name));
            if let Some(target) = target {
                symlink(target, listed.join(name)).unwrap();
            }
        };
        link("driver", driver.map(|driver| format!("../../bus/pci/drivers/{driver}")));
        link("iommu_group", group.map(|group| format!("../../kernel/iommu_groups/{group}")));
        if let Some(group) = group {
            self.write(&format!("sys/kernel/iommu_groups/{group}/devices/{address}"), "");
        }
    }

    fn resources(&self, resources: &[(u64, u64, u64)]) {
        let text: String = resources.iter().map(|(start, end, flags)| format!("{start:#018x} {end:#018x} {flags:#018x}\n")).collect();
        self.write(&format!("sys/bus/pci/devices/{CARD}/resource"), text);
    }

    fn configuration(&self, start: &[u8]) {
        let mut bytes = start.to_vec();
        bytes.resize(64, *start.last().unwrap());
        self.write(&format!("sys/bus/pci/devices/{CARD}/config"), bytes);
    }

    /// What the link has; the card could have 8 GT/s on 8 lanes.
    fn link(&self, speed: &str, width: &str) {
        for (name, text) in
            [("current_link_speed", speed), ("current_link_width", width), ("max_link_speed", "8.0 GT/s PCIe"), ("max_link_width", "8")]
        {
            self.write(&format!("sys/bus/pci/devices/{CARD}/{name}"), format!("{text}\n"));
        }
    }

    fn limit(&self, limit: &str) {
        let line = format!("Max locked memory         {limit:20} {limit:20} bytes     \n");
        self.write("proc/self/limits", format!("Limit                     Soft Limit           Hard Limit           Units     \n{line}"));
    }

    fn system(&self) -> System {
        System { sys: self.path("sys"), dev: self.path("dev"), proc: self.path("proc"), may_open: self.may_open }
    }

    fn findings(&self) -> Vec<Finding> {
        let (system, ids) = (self.system(), Ids::default());
        let card = Function::read(&system, CARD.parse().unwrap()).expect("the card");
        checks::machine(&system).into_iter().chain(checks::card(&system, &card, &ids)).collect()
    }

    /// Nothing but this is wrong: its check, its level, what it says and what it says to do. Opening the card fails with it if it is a
    /// problem.
    #[track_caller]
    fn finds(&self, check: &str, level: Level, seen: &str, remedy: &str) {
        let wrong: Vec<Finding> = self.findings().into_iter().filter(|finding| finding.level != Level::Ok).collect();
        let [found] = &wrong[..] else { panic!("{wrong:#?}") };
        assert_eq!((found.check, found.level), (check, level), "{found:?}");
        assert!(found.seen.contains(seen), "{:?} does not say {seen:?}", found.seen);
        let told = found.remedy.as_deref().unwrap_or_default();
        assert!(told.contains(remedy), "{told:?} does not say {remedy:?}");
        let error = self.open();
        match (level, &error) {
            (Level::Problem, VfioError::NotReady(finding)) => {
                assert_eq!(finding, found);
                let text = error.to_string();
                assert!(text.contains(seen) && text.contains(remedy), "{text}");
            }
            // The files are no devices: what comes after the checks fails.
            (Level::Problem, other) => panic!("{other}"),
            (_, VfioError::ApiVersion { .. }) => (),
            (_, other) => panic!("{other}"),
        }
    }

    fn open(&self) -> VfioError {
        let opened = VfioBus::open("vfio:card", &self.system(), CARD.parse().unwrap(), &Ids::default());
        opened.err().expect("there is no card behind these files")
    }
}

#[test]
fn a_machine_in_order_has_no_findings() {
    let machine = Machine::new();
    let findings = machine.findings();
    assert!(findings.iter().all(|finding| finding.level == Level::Ok && finding.remedy.is_none()), "{findings:#?}");
    let checks: Vec<&str> = findings.iter().map(|finding| finding.check).collect();
    assert_eq!(checks, ["iommu", "modules", "memory", "identification", "answer", "bars", "link", "driver", "group", "file"]);
    assert!(matches!(machine.open(), VfioError::ApiVersion { .. }), "all checks passed, and the container is no device");
}

#[test]
fn without_an_iommu_it_says_what_switches_it_on() {
    let off = |command_line: &str, processor: &str| {
        let machine = Machine::new();
        machine.remove("sys/class/iommu");
        machine.remove("sys/kernel/iommu_groups");
        fs::create_dir_all(machine.path("sys/kernel/iommu_groups")).unwrap();
        machine.write("proc/cmdline", format!("quiet {command_line}\n"));
        machine.write("proc/cpuinfo", format!("vendor_id\t: {processor}\n"));
        let findings = checks::machine(&machine.system());
        let found = findings.into_iter().find(|finding| finding.check == "iommu").unwrap();
        assert_eq!(found.level, Level::Problem);
        assert!(matches!(machine.open(), VfioError::NotReady(first) if first == found));
        format!("{}: {}", found.seen, found.remedy.unwrap())
    };
    let kernel = off("", "GenuineIntel");
    assert!(
        kernel.contains("not told") && kernel.contains("GRUB_CMDLINE_LINUX intel_iommu=on\"'") && kernel.contains("update-grub"),
        "{kernel}"
    );
    for firmware in [off("intel_iommu=on", "GenuineIntel"), off("intel_iommu=sm_on,on", "GenuineIntel"), off("", "AuthenticAMD")] {
        assert!(firmware.contains("found none") && firmware.contains("--firmware-setup"), "{firmware}");
    }
    for option in ["intel_iommu=off", "amd_iommu=off", "iommu=off"] {
        let removed = off(option, "GenuineIntel");
        assert!(removed.contains("switched off") && removed.contains(&format!("\\b{option}\\b")), "{removed}");
    }
}

#[test]
fn modules_that_are_not_loaded_are_named() {
    let machine = Machine::new();
    machine.remove("sys/module/vfio_iommu_type1");
    machine.finds("modules", Level::Problem, "not loaded: vfio_iommu_type1", "sudo modprobe -a vfio_iommu_type1");
    machine.remove("sys/bus/pci/drivers/vfio-pci");
    machine.finds("modules", Level::Problem, "not loaded: vfio-pci, vfio_iommu_type1", "sudo modprobe -a vfio-pci vfio_iommu_type1");
}

#[test]
fn files_that_this_user_may_not_open_are_named() {
    let machine = Machine { may_open: |path| !path.ends_with("7"), ..Machine::new() };
    machine.finds("file", Level::Problem, "may not open /dev/vfio/7", "sudo chown $USER /dev/vfio/7");
    let machine = Machine { may_open: |path| path.ends_with("7"), ..Machine::new() };
    machine.finds("modules", Level::Problem, "may not open /dev/vfio/vfio", "sudo chmod 0666 /dev/vfio/vfio");
    let machine = Machine::new();
    machine.remove("dev/vfio/vfio");
    machine.finds("modules", Level::Problem, "/dev/vfio/vfio is not there", "udevadm trigger");
    let machine = Machine::new();
    machine.remove("dev/vfio/7");
    machine.finds("file", Level::Problem, "/dev/vfio/7 is not there", "udevadm trigger");
}

#[test]
fn a_small_limit_of_locked_memory_is_a_warning() {
    let machine = Machine::new();
    machine.limit("8388608");
    machine.finds("memory", Level::Warning, "may lock 8192 KiB", "limits.d/towpath.conf");
    machine.write("proc/self/status", "CapEff:\t0000000000004000\n");
    assert!(machine.findings().iter().all(|finding| finding.level == Level::Ok), "whoever may lock memory has no limit");
    machine.write("proc/self/status", "CapEff:\tffffffffffffbfff\n");
    machine.finds("memory", Level::Warning, "8192 KiB", "prlimit --memlock");
    machine.limit("1073741824");
    assert!(machine.findings().iter().any(|finding| finding.seen.contains("lock 1024 MiB")));
}

#[test]
fn what_is_no_card_is_left_alone() {
    let machine = Machine::new();
    machine.function(CARD, "0x8086:0x10d3", "0x020000", Some("e1000e"), Some(7));
    machine.finds("identification", Level::Problem, "8086:10d3", "export TOWPATH_PCI_IDS=8086:10d3");
    let (system, ids) = (machine.system(), Ids::with("8086:10d3").unwrap());
    assert!(system.cards(&Ids::default()).is_empty());
    let cards = system.cards(&ids);
    assert_eq!(cards.iter().map(|card| card.address.to_string()).collect::<Vec<_>>(), [CARD]);
    assert!(checks::card(&system, &cards[0], &ids).iter().any(|finding| finding.check == "driver" && finding.level == Level::Problem));
}

#[test]
fn a_card_that_does_not_answer_is_told_from_one_that_does() {
    let machine = Machine::new();
    machine.configuration(&[0xff]);
    let rescan = "echo 1 | sudo tee /sys/bus/pci/devices/0000:65:00.0/remove; echo 1 | sudo tee /sys/bus/pci/rescan";
    machine.finds("answer", Level::Problem, "does not answer", rescan);
    machine.configuration(&[0x34, 0x12, 0x70, 0x74, 4, 0]);
    assert!(machine.findings().iter().any(|finding| finding.seen.ends_with("bus mastering is on")));
    machine.configuration(&[0x34, 0x12, 0x70, 0x74, 3, 0]);
    assert!(machine.findings().iter().any(|finding| finding.seen.ends_with("bus mastering is off until it is opened")));
    machine.remove(&format!("sys/bus/pci/devices/{CARD}/config"));
    machine.finds("answer", Level::Warning, "cannot be read", "rescan");
}

#[test]
fn bars_without_addresses_and_no_bars_are_found() {
    let machine = Machine::new();
    machine.resources(&[(0xd000_0000, 0xd00f_ffff, 0x14_220c), (0, 0, 0), (0, 0xfff, 0x2014_220c)]);
    machine.finds("bars", Level::Problem, "BAR 2 has no address", "pci=realloc");
    machine.resources(&[(0, 0xf_ffff, 0x14_220c)]);
    machine.finds("bars", Level::Problem, "BAR 0 has no address", "pci=realloc");
    for none in [&[][..], &[(0, 0, 0); 6], &[(0, 0, 0), (0, 0, 0), (0xd010_0000, 0xd010_0fff, 0x14_220c)], &[(0x1000, 0x101f, 0x4_0101)]] {
        machine.resources(none);
        machine.finds("bars", Level::Problem, "no BAR 0", "rescan");
    }
}

#[test]
fn a_link_below_what_it_could_be_is_a_warning() {
    let machine = Machine::new();
    for (speed, width) in [("2.5 GT/s PCIe", "8"), ("8.0 GT/s PCIe", "4")] {
        machine.link(speed, width);
        machine.finds("link", Level::Warning, &format!("{speed}, {width} lanes, of 8.0 GT/s PCIe, 8 lanes"), "lspci -vv -s 0000:65:00.0");
    }
    machine.write(&format!("sys/devices/{PORT}/max_link_speed"), "16.0 GT/s PCIe\n");
    machine.write(&format!("sys/devices/{PORT}/max_link_width"), "4\n");
    machine.finds("link", Level::Warning, "its slot has no more than 16.0 GT/s PCIe, 4 lanes", "a better slot");
    machine.link("Unknown", "0");
    assert!(machine.findings().iter().any(|finding| finding.level == Level::Ok && finding.seen.contains("does not tell of a link")));
    machine.link("16.0 GT/s PCIe", "8");
    assert!(machine.findings().iter().all(|finding| finding.level == Level::Ok));
}

#[test]
fn a_card_of_another_driver_or_of_none_is_bound_by_one_command() {
    let machine = Machine::new();
    machine.function(CARD, "0x1234:0x7470", "0x120000", Some("xdma"), Some(7));
    let device = "/sys/bus/pci/devices/0000:65:00.0";
    let bind = format!(
        "sudo sh -c 'modprobe vfio-pci; echo vfio-pci > {device}/driver_override; echo {CARD} > {device}/driver/unbind; \
         echo {CARD} > /sys/bus/pci/drivers_probe'"
    );
    let driver = |findings: Vec<Finding>| findings.into_iter().find(|finding| finding.check == "driver").unwrap();
    let found = driver(machine.findings());
    assert!(found.level == Level::Problem && found.seen.contains("xdma"), "{found:?}");
    assert_eq!(found.remedy, Some(bind));
    machine.function(CARD, "0x1234:0x7470", "0x120000", None, Some(7));
    machine.finds("driver", Level::Problem, "no driver", "echo 0000:65:00.0 > /sys/bus/pci/drivers_probe");
    assert!(!driver(machine.findings()).remedy.unwrap().contains("unbind"), "there is nothing to unbind from");
}

#[test]
fn the_whole_group_must_be_free() {
    let machine = Machine::new();
    machine.function(AUDIO, "0x10de:0x0fb9", "0x040300", Some("snd_hda_intel"), Some(7));
    machine.finds("group", Level::Problem, "group 7 also holds 0000:65:00.1, which has driver snd_hda_intel", "echo 0000:65:00.1 >");
    for driver in [Some("vfio-pci"), Some("pci-stub"), None] {
        machine.function(AUDIO, "0x10de:0x0fb9", "0x040300", driver, Some(7));
        let findings = machine.findings();
        assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:#?}");
        assert!(findings.iter().any(|finding| finding.seen.contains("group 7, with 0000:65:00.1")), "{findings:#?}");
    }
}

#[test]
fn a_card_without_a_group_or_without_an_iommu_behind_it_is_refused() {
    let machine = Machine::new();
    machine.write("sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
    machine.remove("sys/class/iommu/dmar0");
    machine.write("proc/cmdline", "BOOT_IMAGE=/vmlinuz\n");
    for (processor, remedy) in [("GenuineIntel", "intel_iommu=on"), ("AuthenticAMD", "firmware-setup")] {
        machine.write("proc/cpuinfo", format!("vendor_id\t: {processor}\n"));
        let findings = machine.findings();
        let group = findings.iter().find(|finding| finding.check == "group" && finding.level == Level::Problem);
        let named = |finding: &Finding| {
            finding.seen.contains("without an IOMMU") && finding.remedy.as_ref().is_some_and(|text| text.contains(remedy))
        };
        assert!(group.is_some_and(named), "{processor}: {findings:#?}");
    }
    let machine = Machine::new();
    machine.function(CARD, "0x1234:0x7470", "0x120000", Some("vfio-pci"), None);
    machine.finds("group", Level::Problem, "in no IOMMU group", "dmesg");
}

#[test]
fn addresses_of_all_bars_are_known() {
    let machine = Machine::new();
    machine.write(&format!("sys/devices/{PORT}/resource"), "0x0 0x0 0x0\n0x0000380000000000 0x00003800ffffffff 0x000000000014220c\n");
    let mut found = machine.system().bar_addresses();
    found.sort_by_key(|range| range.start);
    assert_eq!(found, [0xd000_0000..0xd010_0000, 0xd010_0000..0xd010_1000, 0x3800_0000_0000..0x3801_0000_0000]);
}

#[test]
fn what_is_not_there_is_said_to_be_so() {
    let machine = Machine::new();
    let address: Address = "0000:66:00.0".parse().unwrap();
    let opened = VfioBus::open("vfio:0000:66:00.0", &machine.system(), address, &Ids::default());
    assert!(matches!(opened, Err(VfioError::NoSuchFunction { address }) if address == "0000:66:00.0"));
}
