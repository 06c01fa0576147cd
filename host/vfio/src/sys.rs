// SPDX-License-Identifier: Apache-2.0
//! The calls into the kernel that the standard library has no words for: VFIO's ioctls, BARs in our address space, rights to a file. All
//! that is unsafe in this crate stands here.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use vfio_bindings::bindings::vfio as kernel;

/// VFIO's ioctls, as far as they are used here. The value is the distance from the first one's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ioctl {
    /// VFIO_GET_API_VERSION
    ApiVersion = 0,
    /// VFIO_CHECK_EXTENSION
    CheckExtension = 1,
    /// VFIO_SET_IOMMU
    SetIommu = 2,
    /// VFIO_GROUP_GET_STATUS
    GroupStatus = 3,
    /// VFIO_GROUP_SET_CONTAINER
    SetContainer = 4,
    /// VFIO_GROUP_GET_DEVICE_FD
    DeviceFile = 6,
    /// VFIO_DEVICE_GET_INFO
    DeviceInfo = 7,
    /// VFIO_DEVICE_GET_REGION_INFO
    RegionInfo = 8,
    /// VFIO_DEVICE_GET_IRQ_INFO
    IrqInfo = 9,
    /// VFIO_DEVICE_SET_IRQS
    SetIrqs = 10,
    /// VFIO_DEVICE_RESET
    Reset = 11,
    /// VFIO_IOMMU_GET_INFO
    IommuInfo = 12,
    /// VFIO_IOMMU_MAP_DMA
    MapDma = 13,
    /// VFIO_IOMMU_UNMAP_DMA
    UnmapDma = 14,
}

impl Ioctl {
    fn request(self) -> u32 {
        u32::from(kernel::VFIO_TYPE) << 8 | (kernel::VFIO_BASE + self as u32)
    }

    /// What the kernel reads of its structure in any case.
    fn smallest(self) -> usize {
        match self {
            Ioctl::GroupStatus => 8,
            Ioctl::DeviceInfo | Ioctl::IrqInfo | Ioctl::IommuInfo => 16,
            Ioctl::SetIrqs => 20,
            Ioctl::UnmapDma => 24,
            Ioctl::RegionInfo => 32,
            _ => usize::MAX,
        }
    }
}

fn checked(result: libc::c_int) -> io::Result<u32> {
    u32::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// An ioctl whose argument is a number, or none (0).
pub fn with_number(file: &impl AsFd, ioctl: Ioctl, number: u32) -> io::Result<u32> {
    assert!(matches!(ioctl, Ioctl::ApiVersion | Ioctl::CheckExtension | Ioctl::SetIommu | Ioctl::Reset));
    // SAFETY: these ioctls take no pointer.
    checked(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), ioctl.request() as _, libc::c_ulong::from(number)) })
}

/// An ioctl whose argument is a structure of that many bytes, which the first word is made to say; the kernel may fill it in.
pub fn with_structure(file: &impl AsFd, ioctl: Ioctl, bytes: &mut [u8]) -> io::Result<u32> {
    assert!(bytes.len() >= ioctl.smallest() && u32::try_from(bytes.len()).is_ok());
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    // SAFETY: the kernel reads and writes no more than the structure's first word says, and is asked for nothing else (see `smallest`).
    checked(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), ioctl.request() as _, bytes.as_mut_ptr()) })
}

/// As [`with_structure`], for what may have capabilities behind: the whole of it, however long it is.
pub fn whole_structure(file: &impl AsFd, ioctl: Ioctl, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    const LIMIT: usize = 1 << 20;
    let question = bytes.clone();
    loop {
        with_structure(file, ioctl, &mut bytes)?;
        let needed = bytes.first_chunk().map_or(0, |size| u32::from_ne_bytes(*size)) as usize;
        if needed <= bytes.len() || needed > LIMIT {
            return Ok(bytes);
        }
        bytes.clone_from(&question);
        bytes.resize(needed, 0);
    }
}

/// Put a group into a container.
pub fn set_container(group: &impl AsFd, container: &impl AsFd) -> io::Result<()> {
    let descriptor: libc::c_int = container.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one descriptor's number.
    checked(unsafe { libc::ioctl(group.as_fd().as_raw_fd(), Ioctl::SetContainer.request() as _, &raw const descriptor) }).map(drop)
}

/// The device of that address in a group, as a file.
pub fn device_file(group: &impl AsFd, address: &str) -> io::Result<File> {
    let address = CString::new(address)?;
    // SAFETY: the kernel reads a text that ends in a zero.
    let raw = checked(unsafe { libc::ioctl(group.as_fd().as_raw_fd(), Ioctl::DeviceFile.request() as _, address.as_ptr()) })?;
    // SAFETY: it was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw as libc::c_int) }.into())
}

/// Make the pages that the program itself sees the ones that are pinned next: kernels before 6.2 pin for reading whatever page stands there, the
/// shared page of zeroes, or one shared with a child, and a later write of the program goes to another page that the card never sees. Changes no
/// byte. False: it was not done, because the memory cannot be written, or the kernel is older than 5.14.
pub fn own_pages(memory: u64, bytes: u64) -> bool {
    // SAFETY: contents stay as they are, and addresses that are not ours are an error.
    unsafe { libc::madvise(memory as *mut libc::c_void, bytes as usize, libc::MADV_POPULATE_WRITE) == 0 }
}

/// Let the card reach whole pages of our memory at `address`.
///
/// # Safety
/// The memory stays valid, and is not used in a way that races with the card, until it is unmapped or the container closed.
pub unsafe fn map_dma(container: &impl AsFd, flags: u32, memory: u64, address: u64, bytes: u64) -> io::Result<()> {
    let map = kernel::vfio_iommu_type1_dma_map {
        argsz: size_of::<kernel::vfio_iommu_type1_dma_map>() as u32,
        flags,
        vaddr: memory,
        iova: address,
        size: bytes,
    };
    // SAFETY: the kernel reads the structure; what it then does with the memory is this function's contract.
    checked(unsafe { libc::ioctl(container.as_fd().as_raw_fd(), Ioctl::MapDma.request() as _, &raw const map) }).map(drop)
}

/// May this process read and write that file, by its effective rights?
pub fn may_open(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a text that ends in a zero.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::R_OK | libc::W_OK, libc::AT_EACCESS) == 0 }
}

/// Stores through a write-combining mapping before this arrive before any after it.
pub fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this kind has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Other processors need barriers around accesses of devices which the standard library does not have; there the kernel makes each access.
pub const MAPS_BARS: bool = cfg!(target_arch = "x86_64");

/// A part of a BAR in our address space. Accesses are made once each, whole, and in program order. Only integers: what a device holds may
/// be no value of another type.
pub struct Mapped {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: it is a device's memory: all access is volatile and by whole words, from whatever thread.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Map a part of the device's file.
    pub fn new(device: &File, offset: u64, bytes: u64) -> io::Result<Mapped> {
        let too_large = |_| io::Error::from_raw_os_error(libc::EINVAL);
        let (offset, bytes) = (libc::off_t::try_from(offset).map_err(too_large)?, usize::try_from(bytes).map_err(too_large)?);
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the system chooses touches no other memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, libc::MAP_SHARED, device.as_raw_fd(), offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapped { start: start.cast(), bytes })
    }

    /// The place of a word.
    fn place<T>(&self, offset: usize) -> *mut T {
        assert!(offset % size_of::<T>() == 0 && offset.checked_add(size_of::<T>()).is_some_and(|end| end <= self.bytes));
        // SAFETY: inside of the mapping, as was just checked.
        unsafe { self.start.add(offset).cast() }
    }

    /// Read a word of 32 bits.
    pub fn load32(&self, offset: usize) -> u32 {
        // SAFETY: `place` is valid and aligned, and any bits are an integer.
        unsafe { self.place::<u32>(offset).read_volatile() }
    }

    /// Read a word of 64 bits.
    pub fn load64(&self, offset: usize) -> u64 {
        // SAFETY: as above.
        unsafe { self.place::<u64>(offset).read_volatile() }
    }

    /// Write a byte.
    pub fn store8(&self, offset: usize, value: u8) {
        // SAFETY: `place` is valid and aligned.
        unsafe { self.place::<u8>(offset).write_volatile(value) }
    }

    /// Write a word of 32 bits.
    pub fn store32(&self, offset: usize, value: u32) {
        // SAFETY: as above.
        unsafe { self.place::<u32>(offset).write_volatile(value) }
    }

    /// Write a word of 64 bits.
    pub fn store64(&self, offset: usize, value: u64) {
        // SAFETY: as above.
        unsafe { self.place::<u64>(offset).write_volatile(value) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody has a reference into it.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::mem::size_of;

    #[test]
    fn numbers_and_sizes_are_the_kernels() {
        // As <linux/vfio.h> has them: _IO(';', 100 + n).
        assert_eq!([Ioctl::ApiVersion, Ioctl::DeviceFile, Ioctl::UnmapDma].map(Ioctl::request), [0x3b64, 0x3b6a, 0x3b72]);
        let sizes = [
            (Ioctl::GroupStatus, size_of::<kernel::vfio_group_status>()),
            (Ioctl::IrqInfo, size_of::<kernel::vfio_irq_info>()),
            (Ioctl::SetIrqs, size_of::<kernel::vfio_irq_set>()),
            (Ioctl::RegionInfo, size_of::<kernel::vfio_region_info>()),
            (Ioctl::UnmapDma, size_of::<kernel::vfio_iommu_type1_dma_unmap>()),
        ];
        assert!(sizes.iter().all(|(ioctl, size)| ioctl.smallest() == *size), "{sizes:?}");
    }

    #[test]
    fn words_of_a_mapping_are_accessed_whole_and_inside() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mapped = Mapped::new(&file, 4096, 4096).unwrap();
        mapped.store64(8, 0x0123_4567_89ab_cdef);
        mapped.store32(16, 0x0123_4567);
        mapped.store8(16, 0x89);
        assert_eq!((mapped.load32(8), mapped.load32(12), mapped.load64(16)), (0x89ab_cdef, 0x0123_4567, 0x0123_4589));
        let mut found = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, 4096 + 8).unwrap();
        assert_eq!(found, 0x0123_4567_89ab_cdef_u64.to_le_bytes());
        for (offset, why) in [(4096, "behind the end"), (4092, "across the end"), (4, "not aligned"), (usize::MAX - 7, "far off")] {
            let access = || mapped.load64(offset);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(access)).is_err(), "{why}");
        }
    }
}
