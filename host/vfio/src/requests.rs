// SPDX-License-Identifier: Apache-2.0
//! VFIO's ioctls, each with the argument that it takes. The unsafe code of this crate is here.

use std::ffi::{c_void, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use towpath_system::ioctl;
use vfio_bindings::bindings::vfio as kernel;

/// VFIO's ioctls, as far as they are used here. The value is the distance from the first one's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
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

impl Request {
    fn number(self) -> u32 {
        u32::from(kernel::VFIO_TYPE) << 8 | (kernel::VFIO_BASE + self as u32)
    }

    /// What the kernel reads of its structure in any case.
    fn smallest(self) -> usize {
        match self {
            Request::GroupStatus => 8,
            Request::DeviceInfo | Request::IrqInfo | Request::IommuInfo => 16,
            Request::SetIrqs => 20,
            Request::UnmapDma => 24,
            Request::RegionInfo => 32,
            _ => usize::MAX,
        }
    }
}

/// An ioctl whose argument is a number, or none (0).
pub fn with_number(file: &impl AsFd, request: Request, number: u32) -> io::Result<u32> {
    assert!(matches!(request, Request::ApiVersion | Request::CheckExtension | Request::SetIommu | Request::Reset));
    // SAFETY: these ioctls take no pointer.
    unsafe { ioctl(file, request.number(), number as usize as *mut c_void) }
}

/// An ioctl whose argument is a structure of that many bytes. The first word becomes its size; the kernel may fill it in.
pub fn with_structure(file: &impl AsFd, request: Request, bytes: &mut [u8]) -> io::Result<u32> {
    assert!(bytes.len() >= request.smallest() && u32::try_from(bytes.len()).is_ok());
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    // SAFETY: the kernel reads and writes no more than the size in the structure's first word, and no other access is requested (see
    // `smallest`).
    unsafe { ioctl(file, request.number(), bytes.as_mut_ptr().cast()) }
}

/// As [`with_structure`], for what may have capabilities behind: the whole of it, however long it is.
pub fn whole_structure(file: &impl AsFd, request: Request, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    const LIMIT: usize = 1 << 20;
    let question = bytes.clone();
    loop {
        with_structure(file, request, &mut bytes)?;
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
    let mut descriptor: RawFd = container.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one descriptor's number.
    unsafe { ioctl(group, Request::SetContainer.number(), (&raw mut descriptor).cast()) }.map(drop)
}

/// The device of that address in a group, as a file.
pub fn device_file(group: &impl AsFd, address: &str) -> io::Result<File> {
    let address = CString::new(address)?;
    // SAFETY: the kernel reads a text that ends in a zero.
    let raw = unsafe { ioctl(group, Request::DeviceFile.number(), address.as_ptr().cast_mut().cast()) }?;
    // SAFETY: it was just made and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw as RawFd) }.into())
}

/// Let the card reach whole pages of our memory at `address`.
///
/// # Safety
/// The memory stays valid, and is not used in a way that races with the card, until it is unmapped or the container closed.
pub unsafe fn map_dma(container: &impl AsFd, flags: u32, memory: u64, address: u64, bytes: u64) -> io::Result<()> {
    let mut map = kernel::vfio_iommu_type1_dma_map {
        argsz: size_of::<kernel::vfio_iommu_type1_dma_map>() as u32,
        flags,
        vaddr: memory,
        iova: address,
        size: bytes,
    };
    // SAFETY: the kernel reads the structure; what it then does with the memory is this function's contract.
    unsafe { ioctl(container, Request::MapDma.number(), (&raw mut map).cast()) }.map(drop)
}

/// Stores through a write-combining mapping before this arrive before any after it.
pub fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this kind has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
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
        assert_eq!([Request::ApiVersion, Request::DeviceFile, Request::UnmapDma].map(Request::number), [0x3b64, 0x3b6a, 0x3b72]);
        let sizes = [
            (Request::GroupStatus, size_of::<kernel::vfio_group_status>()),
            (Request::IrqInfo, size_of::<kernel::vfio_irq_info>()),
            (Request::SetIrqs, size_of::<kernel::vfio_irq_set>()),
            (Request::RegionInfo, size_of::<kernel::vfio_region_info>()),
            (Request::UnmapDma, size_of::<kernel::vfio_iommu_type1_dma_unmap>()),
        ];
        assert!(sizes.iter().all(|(request, size)| request.smallest() == *size), "{sizes:?}");
    }
}
