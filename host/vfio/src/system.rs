// SPDX-License-Identifier: Apache-2.0
//! The machine as the kernel shows it in files, and the functions of PCI there. The files' roots can be other folders, for tests.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use towpath_system::file;

use crate::{Address, Ids};

/// Where the kernel's files are.
#[derive(Clone, Debug)]
pub struct System {
    /// `/sys`
    pub sys: PathBuf,
    /// `/dev`
    pub dev: PathBuf,
    /// `/proc`
    pub proc: PathBuf,
    /// May this process read and write that file?
    pub may_open: fn(&Path) -> bool,
}

impl System {
    /// This machine.
    pub fn here() -> System {
        System { sys: "/sys".into(), dev: "/dev".into(), proc: "/proc".into(), may_open: file::may_open }
    }

    /// Every function of PCI, by address.
    pub fn functions(&self) -> Vec<Function> {
        let mut found: Vec<Function> = names(&self.sys.join("bus/pci/devices"))
            .filter_map(|name| name.parse().ok())
            .filter_map(|address| Function::read(self, address))
            .collect();
        found.sort_by_key(|function| function.address);
        found
    }

    /// The functions that are taken for cards.
    pub fn cards(&self, ids: &Ids) -> Vec<Function> {
        self.functions().into_iter().filter(|function| ids.contains(function.vendor, function.device)).collect()
    }

    /// Addresses of every BAR and bridge. A switch without access control would keep what a card sends there from the IOMMU.
    pub fn bar_addresses(&self) -> Vec<Range<u64>> {
        self.functions().iter().flat_map(Function::resources).filter(|(_, range)| range.start > 0).map(|(_, range)| range).collect()
    }
}

/// Names in a folder; none if it is not there.
pub fn names(folder: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok())
}

/// The text of a file, without the end of its line.
pub fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn number(path: &Path) -> Option<u32> {
    u32::from_str_radix(text(path)?.trim_start_matches("0x"), 16).ok()
}

/// The last part of what a link points at.
fn target(path: &Path) -> Option<String> {
    fs::read_link(path).ok()?.file_name()?.to_str().map(String::from)
}

/// A function of PCI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Where it is.
    pub address: Address,
    /// Its vendor's number.
    pub vendor: u16,
    /// Its number.
    pub device: u16,
    /// Its class.
    pub class: u32,
    /// The driver that it has.
    pub driver: Option<String>,
    /// The number of its IOMMU group.
    pub group: Option<u32>,
    /// Its folder.
    pub path: PathBuf,
}

impl Function {
    /// The function at an address, if there is one.
    pub fn read(system: &System, address: Address) -> Option<Function> {
        let path = system.sys.join(format!("bus/pci/devices/{address}"));
        Some(Function {
            address,
            vendor: number(&path.join("vendor"))? as u16,
            device: number(&path.join("device"))? as u16,
            class: number(&path.join("class")).unwrap_or(0),
            driver: target(&path.join("driver")),
            group: target(&path.join("iommu_group")).and_then(|number| number.parse().ok()),
            path,
        })
    }

    /// Is it a bridge?
    pub fn is_bridge(&self) -> bool {
        self.class >> 16 == 0x06
    }

    /// Flags and addresses of its BARs, and a bridge's windows behind these.
    pub fn resources(&self) -> Vec<(u64, Range<u64>)> {
        let parse = |line: &str| {
            let mut numbers = line.split_whitespace().map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0));
            let (start, last, flags) = (numbers.next()?, numbers.next()?, numbers.next()?);
            Some((flags, start..if last > 0 { last.saturating_add(1) } else { start }))
        };
        text(&self.path.join("resource")).unwrap_or_default().lines().filter_map(parse).collect()
    }

    /// The first bytes of its configuration space.
    pub fn configuration(&self) -> Option<[u8; 64]> {
        let mut bytes = [0; 64];
        fs::File::open(self.path.join("config")).ok()?.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}
