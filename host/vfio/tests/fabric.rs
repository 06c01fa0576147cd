// SPDX-License-Identifier: Apache-2.0
//! What is said of two cards in made-up fabrics: each has one thing that decides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use towpath_vfio::{fabric, Finding, Function, Level, System};

/// A switch below root port 01.0: upstream port 02:00.0, downstream ports 03:00.0 and 03:01.0. Another root port, 02.0, and another host bridge.
const SWITCH: &str = "pci0000:00/0000:00:01.0/0000:02:00.0";
const PORTS: [&str; 2] = ["0000:03:00.0", "0000:03:01.0"];
const REDIRECT: u16 = 0x001d;
const EGRESS: u16 = 0x0020;

struct Fabric(TempDir);

impl Fabric {
    fn new() -> Fabric {
        let fabric = Fabric(tempfile::tempdir().unwrap());
        fs::create_dir_all(fabric.0.path().join("bus/pci/devices")).unwrap();
        fabric
    }

    fn function(&self, place: &str, address: &str, group: Option<u32>) {
        let folder = self.0.path().join("devices").join(place).join(address);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("vendor", "0x1234\n"), ("device", "0x7470\n")] {
            fs::write(folder.join(name), text).unwrap();
        }
        if let Some(group) = group {
            symlink(format!("../../kernel/iommu_groups/{group}"), folder.join("iommu_group")).unwrap();
        }
        symlink(&folder, self.0.path().join("bus/pci/devices").join(address)).unwrap();
    }

    /// A port, with the control word of its ACS behind another capability; without one, it has none.
    fn port(&self, address: &str, control: Option<u16>) {
        self.function(SWITCH, address, None);
        let mut bytes = vec![0; 4096];
        let mut word = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        word(0x100, if control.is_some() { 0x1481_0001 } else { 0x0001_0001 });
        if let Some(control) = control {
            word(0x148, 0x0001_000d);
            word(0x14c, u32::from(control) << 16 | 0x5f);
        }
        fs::write(self.config(address), bytes).unwrap();
    }

    fn config(&self, address: &str) -> std::path::PathBuf {
        self.0.path().join("bus/pci/devices").join(address).join("config")
    }

    /// Both cards below the switch.
    fn switch(controls: [Option<u16>; 2]) -> Fabric {
        let fabric = Fabric::new();
        for (n, control) in controls.into_iter().enumerate() {
            fabric.port(PORTS[n], control);
            fabric.function(&format!("{SWITCH}/{}", PORTS[n]), &format!("0000:0{}:00.0", 4 + n), Some(20 + n as u32));
        }
        fabric
    }

    fn finds(&self, one: &str, other: &str) -> Finding {
        let sys = self.0.path().to_path_buf();
        let system = System { sys: sys.clone(), dev: sys.clone(), proc: sys, may_open: |_| true };
        let read = |address: &str| Function::read(&system, address.parse().unwrap()).expect("the card");
        fabric::between(&system, &read(one), &read(other))
    }

    #[track_caller]
    fn says(&self, one: &str, other: &str, level: Level, parts: &[&str]) {
        let found = self.finds(one, other);
        let text = found.to_string();
        assert_eq!((found.level, found.check), (level, "peers"), "{text}");
        parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is not in: {text}"));
        assert_eq!(found.subject, format!("{one} and {other}"));
    }
}

#[test]
fn below_one_switch() {
    let says = |controls, level, parts: &[&str]| Fabric::switch(controls).says("0000:04:00.0", "0000:05:00.0", level, parts);
    let ports = "ports 0000:03:00.0 and 0000:03:01.0";
    says([Some(REDIRECT); 2], Level::Ok, &[ports, "(P2P Request Redirect)", "twice", "IOMMU groups 20 and 21"]);
    for controls in [[Some(REDIRECT), Some(0x19)], [Some(0x19); 2], [None, None], [None, Some(REDIRECT)]] {
        says(controls, Level::Ok, &[ports, "Redirect is off"]);
    }
    // Where the ports have no access control, some kernels put both into one group.
    let alike = Fabric::new();
    for (n, port) in PORTS.into_iter().enumerate() {
        alike.port(port, None);
        alike.function(&format!("{SWITCH}/{port}"), &format!("0000:0{}:00.0", 4 + n), Some(7));
    }
    alike.says("0000:04:00.0", "0000:05:00.0", Level::Ok, &["both are in IOMMU group 7: one program has to open both"]);
    let off = |port: &str| format!("sudo setpci -s {port} ECAP_ACS+6.w=0:20");
    says([Some(REDIRECT), Some(REDIRECT | EGRESS)], Level::Problem, &["of which 1", &off(PORTS[1])]);
    says([Some(EGRESS); 2], Level::Problem, &["of which 2", &format!("{}; {}", off(PORTS[0]), off(PORTS[1]))]);
}

/// The kernel shows 64 bytes to whoever is not root.
#[test]
fn what_cannot_be_read() {
    let fabric = Fabric::switch([Some(REDIRECT); 2]);
    fs::write(fabric.config(PORTS[1]), [0; 64]).unwrap();
    fabric.says("0000:04:00.0", "0000:05:00.0", Level::Warning, &["cannot be read", "sudo towpath doctor"]);
    // A list without an end has one.
    fs::write(fabric.config(PORTS[1]), (0..4096 / 4).flat_map(|_| 0x1001_0001_u32.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    fabric.says("0000:04:00.0", "0000:05:00.0", Level::Ok, &["Redirect is off"]);
}

#[test]
fn elsewhere() {
    let fabric = Fabric::switch([Some(REDIRECT); 2]);
    fabric.function("pci0000:00/0000:00:02.0", "0000:08:00.0", Some(9));
    fabric.function("pci0000:00/0000:00:02.0", "0000:08:00.1", Some(9));
    fabric.function("pci0000:80/0000:80:02.0", "0000:81:00.0", None);
    let warns = |other, parts: &[&str]| fabric.says("0000:04:00.0", other, Level::Warning, parts);
    warns("0000:08:00.0", &["different root ports (0000:00:01.0, 0000:00:02.0)", "below one switch"]);
    warns("0000:81:00.0", &["different host bridges (pci0000:00, pci0000:80)", "below one switch"]);
    fabric.says("0000:08:00.0", "0000:08:00.1", Level::Warning, &["behind one port", "IOMMU group 9: one program"]);
}
