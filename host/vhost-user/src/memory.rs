// SPDX-License-Identifier: Apache-2.0
//! The guest's memory, from the peer's table: regions of files, at their guest physical addresses, which are the bus's, too.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard};
use towpath_device_server::HostMemory;
use towpath_system::{errno, file, Mapping, Rights};

use crate::message::{Refusal, RegionEntry};

const PAGE: u64 = 4096;

struct Region {
    entry: RegionEntry,
    mapped: Mapping,
}

/// The way to the guest's memory; clones are the same. Between clients it is empty.
#[derive(Clone, Default)]
pub struct Memory(Arc<RwLock<Vec<Region>>>);

impl Memory {
    fn regions(&self) -> RwLockReadGuard<'_, Vec<Region>> {
        self.0.read()
    }

    /// A new table in place of the old one, which stays if the new one is invalid.
    pub(crate) fn replace(&self, entries: Vec<RegionEntry>, files: Vec<OwnedFd>) -> Result<(), Refusal> {
        let mut regions: Vec<Region> = Vec::new();
        for (entry, descriptor) in entries.into_iter().zip(files) {
            let overlap = |start: fn(&RegionEntry) -> u64| {
                let apart = |one: &RegionEntry, other: &RegionEntry| start(one) + one.bytes <= start(other);
                regions.iter().any(|region| !apart(&region.entry, &entry) && !apart(&entry, &region.entry))
            };
            let refuse = |errno: i32, why: &str| Err(Refusal::new(errno, format!("{entry:x?}: {why}")));
            let ends = |start: u64| start.checked_add(entry.bytes).is_some();
            let Ok(bytes) = usize::try_from(entry.bytes) else { return refuse(errno::EINVAL, "it is too large") };
            if bytes == 0 || [entry.guest, entry.user, entry.offset].iter().any(|start| start % PAGE != 0 || !ends(*start)) {
                return refuse(errno::EINVAL, "it has no bytes, does not begin with a page, or does not end");
            }
            if overlap(|entry| entry.guest) || overlap(|entry| entry.user) {
                return refuse(errno::EEXIST, "there is another one already");
            }
            if file::length(&descriptor).is_none_or(|length| entry.offset + entry.bytes > length) {
                return refuse(errno::EINVAL, "the descriptor is not a file that has all of it");
            }
            match Mapping::new(&descriptor, entry.offset, bytes, Rights::BOTH) {
                Ok(mapped) => regions.push(Region { entry, mapped }),
                Err(error) => return refuse(error.raw_os_error().unwrap_or(errno::EIO), &error.to_string()),
            }
        }
        *self.0.write() = regions;
        Ok(())
    }

    /// Unmap all memory from the device.
    pub(crate) fn clear(&self) {
        self.0.write().clear();
    }

    /// The guest physical address of `bytes` bytes in one region, from their address in the peer's own address space.
    pub(crate) fn guest_address(&self, user: u64, bytes: u64) -> Option<u64> {
        self.regions().iter().find_map(|Region { entry, .. }| {
            let offset = user.checked_sub(entry.user)?;
            (offset.checked_add(bytes)? <= entry.bytes).then(|| entry.guest + offset)
        })
    }

    /// An aligned word that the guest may write at this moment: what it wrote before is seen after it.
    pub(crate) fn load16(&self, address: u64) -> Option<u16> {
        self.word(address, Mapping::acquire16)
    }

    /// The same, for a word that the guest may read at this moment.
    pub(crate) fn release16(&self, address: u64, value: u16) -> Option<()> {
        self.word(address, |mapped, offset| mapped.release16(offset, value))
    }

    fn word<T>(&self, address: u64, then: impl FnOnce(&Mapping, usize) -> T) -> Option<T> {
        let regions = self.regions();
        let region = regions.iter().find(|region| within(&region.entry, address) >= 2 && address % 2 == 0)?;
        Some(then(&region.mapped, (address - region.entry.guest) as usize))
    }
}

/// How many bytes of a region there are from an address on.
fn within(entry: &RegionEntry, address: u64) -> u64 {
    address.checked_sub(entry.guest).map_or(0, |offset| entry.bytes.saturating_sub(offset))
}

/// Every piece of a range of addresses, which may go on from one region into the next: the region, the offset in it, and how many bytes.
/// False: a part of the range is in no region.
fn walk(regions: &[Region], address: u64, bytes: u64, mut each: impl FnMut(&Mapping, usize, usize)) -> bool {
    let (mut at, mut left) = (address, bytes);
    while left > 0 {
        let Some(region) = regions.iter().find(|region| within(&region.entry, at) > 0) else { return false };
        let here = within(&region.entry, at).min(left);
        each(&region.mapped, (at - region.entry.guest) as usize, here as usize);
        (at, left) = (at.wrapping_add(here), left - here);
    }
    true
}

impl HostMemory for Memory {
    fn permits(&self, address: u64, bytes: u64, _write: bool) -> bool {
        walk(&self.regions(), address, bytes, |_, _, _| ())
    }

    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let (regions, mut done) = (self.regions(), 0);
        walk(&regions, address, into.len() as u64, |_, _, _| ())
            && walk(&regions, address, into.len() as u64, |mapped, offset, bytes| {
                mapped.read(offset, &mut into[done..done + bytes]);
                done += bytes;
            })
    }

    fn write(&self, address: u64, from: &[u8]) -> bool {
        let (regions, mut done) = (self.regions(), 0);
        walk(&regions, address, from.len() as u64, |_, _, _| ())
            && walk(&regions, address, from.len() as u64, |mapped, offset, bytes| {
                mapped.write(offset, &from[done..done + bytes]);
                done += bytes;
            })
    }
}
