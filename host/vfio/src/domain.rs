// SPDX-License-Identifier: Apache-2.0
//! An IOMMU group as this program has it open: a container with the group in it, in which memory is mapped. The IOMMU does not tell the devices of a group
//! apart, and the kernel opens a group once, so the program's cards in one group share it: what is mapped for one of them, the others reach, too.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use towpath_system::errno;
use vfio_bindings::bindings::vfio as kernel;

use crate::info::{Iommu, Words};
use crate::iova::Space;
use crate::requests::{self, Request};
use crate::system::System;
use crate::{Address, VfioError};

type Done<T> = std::result::Result<T, VfioError>;

/// The groups that this program has open, by their files.
static OPEN: Mutex<Vec<(PathBuf, Weak<Domain>)>> = Mutex::new(Vec::new());

/// A group, and what the IOMMU translates for its devices.
pub struct Domain {
    path: PathBuf,
    group: File,
    pub container: File,
    pub iommu: Iommu,
    pub space: Mutex<Space>,
    /// The cards that are open.
    cards: Mutex<Vec<Address>>,
}

impl Domain {
    /// The group of that number, opened unless the program has it already.
    pub fn of(system: &System, number: u32) -> Done<Arc<Domain>> {
        let path = system.dev.join(format!("vfio/{number}"));
        let mut all = OPEN.lock();
        all.retain(|(_, domain)| domain.strong_count() > 0);
        if let Some(found) = all.iter().find(|(name, _)| *name == path).and_then(|(_, domain)| domain.upgrade()) {
            return Ok(found);
        }
        let domain = Arc::new(Domain::open(system, path.clone(), number)?);
        all.push((path, Arc::downgrade(&domain)));
        Ok(domain)
    }

    fn open(system: &System, path: PathBuf, number: u32) -> Done<Domain> {
        let container = open(&system.dev.join("vfio/vfio"))?;
        match requests::with_number(&container, Request::ApiVersion, 0) {
            Ok(kernel::VFIO_API_VERSION) => (),
            found => return Err(VfioError::ApiVersion { found: found.unwrap_or(u32::MAX) }),
        }
        if !matches!(requests::with_number(&container, Request::CheckExtension, kernel::VFIO_TYPE1v2_IOMMU), Ok(1..)) {
            return Err(VfioError::NoType1);
        }
        let group = open(&path)?;
        let mut status = [0; 8];
        requests::with_structure(&group, Request::GroupStatus, &mut status).map_err(VfioError::GroupStatus)?;
        if Words(&status).u32(4) & kernel::VFIO_GROUP_FLAGS_VIABLE == 0 {
            return Err(VfioError::NotViable { group: number });
        }
        requests::set_container(&group, &container).map_err(VfioError::SetContainer)?;
        requests::with_number(&container, Request::SetIommu, kernel::VFIO_TYPE1v2_IOMMU).map_err(VfioError::SetIommu)?;
        let iommu = requests::whole_structure(&container, Request::IommuInfo, vec![0; 24]).map_err(VfioError::IommuInfo)?;
        let iommu = Iommu::parse(&iommu);
        let space = Mutex::new(Space::new(&iommu.usable, &system.bar_addresses(), iommu.page));
        Ok(Domain { path, group, container, iommu, space, cards: Mutex::default() })
    }

    /// The card's file, and its seat. A card has one.
    pub fn seat(self: &Arc<Domain>, address: Address) -> Done<(File, Arc<Seat>)> {
        let mut cards = self.cards.lock();
        if cards.contains(&address) {
            return Err(VfioError::Open { path: self.path.clone(), source: io::Error::from_raw_os_error(errno::EBUSY) });
        }
        let device = requests::device_file(&self.group, &address.to_string()).map_err(VfioError::DeviceFile)?;
        cards.push(address);
        Ok((device, Arc::new(Seat { domain: self.clone(), address })))
    }

    /// End a mapping: its first page's address, and its length.
    pub fn unmap(&self, place: u64, length: u64) -> io::Result<()> {
        let mut request = [0; 24];
        request[8..16].copy_from_slice(&place.to_ne_bytes());
        request[16..24].copy_from_slice(&length.to_ne_bytes());
        requests::with_structure(&self.container, Request::UnmapDma, &mut request)?;
        if Words(&request).u64(16) != length {
            return Err(io::Error::from_raw_os_error(errno::ENOENT));
        }
        Ok(())
    }
}

fn open(path: &Path) -> Done<File> {
    OpenOptions::new().read(true).write(true).open(path).map_err(|source| VfioError::Open { path: path.into(), source })
}

/// That a card is open. Kept by all that keeps its file open.
pub struct Seat {
    pub domain: Arc<Domain>,
    address: Address,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.domain.cards.lock().retain(|address| *address != self.address);
    }
}
