// SPDX-License-Identifier: Apache-2.0
//! Errors between a name and a card: a variant for each request to the kernel. Each contains what failed and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

use towpath_bus::BusError;
use towpath_system::errno;

use crate::Finding;

/// What failed, and in its text what to do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum VfioError {
    /// There is no function at this address.
    NoSuchFunction {
        /// The address.
        address: String,
    },
    /// Something that the card needs is not in order, and was detected before anything was opened.
    NotReady(Finding),
    /// A device file: `/dev/vfio/vfio`, or a group's.
    Open {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// VFIO_GET_API_VERSION: the kernel has another version.
    ApiVersion {
        /// The kernel's version.
        found: u32,
    },
    /// VFIO_CHECK_EXTENSION: the kernel has no type 1 IOMMU.
    NoType1,
    /// VFIO_GROUP_GET_STATUS.
    GroupStatus(io::Error),
    /// The group's devices do not all belong to VFIO.
    NotViable {
        /// The group's number.
        group: u32,
    },
    /// VFIO_GROUP_SET_CONTAINER.
    SetContainer(io::Error),
    /// VFIO_SET_IOMMU.
    SetIommu(io::Error),
    /// VFIO_GROUP_GET_DEVICE_FD.
    DeviceFile(io::Error),
    /// VFIO_DEVICE_GET_INFO, or its result: not a device of PCI.
    DeviceInfo(io::Error),
    /// VFIO_DEVICE_GET_REGION_INFO.
    RegionInfo {
        /// The region's number.
        region: u32,
        /// The system's reason.
        source: io::Error,
    },
    /// A BAR could not be mapped into the program's address space.
    MapBar {
        /// Its number.
        bar: u32,
        /// The system's reason.
        source: io::Error,
    },
    /// The configuration space could not be read or written.
    Configuration(io::Error),
    /// A BAR could not be read or written.
    Access(io::Error),
    /// VFIO_DEVICE_GET_IRQ_INFO.
    IrqInfo(io::Error),
    /// VFIO_DEVICE_SET_IRQS.
    SetIrqs(io::Error),
    /// VFIO_DEVICE_RESET.
    Reset(io::Error),
    /// VFIO_IOMMU_GET_INFO.
    IommuInfo(io::Error),
    /// No free addresses for the card.
    NoAddresses {
        /// Bytes that were to be mapped.
        bytes: u64,
    },
    /// VFIO_IOMMU_MAP_DMA.
    MapDma {
        /// Bytes that were to be mapped, in whole pages.
        bytes: u64,
        /// How many mappings the kernel allows, if it reports the number.
        mappings: Option<u32>,
        /// The system's reason.
        source: io::Error,
    },
    /// VFIO_IOMMU_UNMAP_DMA.
    UnmapDma {
        /// The memory's address for the card.
        address: u64,
        /// Bytes that were mapped.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
}

const LOG: &str = "the kernel's log may say more: sudo dmesg | tail";

impl VfioError {
    fn cause(&self) -> Option<&io::Error> {
        match self {
            VfioError::Open { source, .. }
            | VfioError::RegionInfo { source, .. }
            | VfioError::MapBar { source, .. }
            | VfioError::MapDma { source, .. }
            | VfioError::UnmapDma { source, .. }
            | VfioError::GroupStatus(source)
            | VfioError::SetContainer(source)
            | VfioError::SetIommu(source)
            | VfioError::DeviceFile(source)
            | VfioError::DeviceInfo(source)
            | VfioError::Configuration(source)
            | VfioError::Access(source)
            | VfioError::IrqInfo(source)
            | VfioError::SetIrqs(source)
            | VfioError::Reset(source)
            | VfioError::IommuInfo(source) => Some(source),
            _ => None,
        }
    }

    /// The same as an error of the bus of that name.
    pub fn of(self, name: &str) -> BusError {
        match self.cause().map(|cause| (cause.raw_os_error(), cause.kind())) {
            Some((Some(errno::ENODEV | errno::EIO), _)) => BusError::Gone(format!("{name}: {self}")),
            Some((_, kind)) => BusError::System(name.into(), io::Error::new(kind, self)),
            None => BusError::System(name.into(), io::Error::other(self)),
        }
    }
}

fn of_mapping(bytes: u64, mappings: Option<u32>, source: &io::Error) -> String {
    match source.raw_os_error() {
        Some(errno::ENOMEM) => format!(
            "more memory than this user may lock (`ulimit -l` shows the limit in KiB): {bytes} bytes more are wanted; raise it for this \
             shell: sudo prlimit --memlock=unlimited --pid $$"
        ),
        Some(errno::ENOSPC) => format!(
            "the kernel allows {} mappings for a card, and all are in use; register few large buffers instead of many small ones, or: echo \
             1000000 | sudo tee /sys/module/vfio_iommu_type1/parameters/dma_entry_limit",
            mappings.map_or("no more".into(), |most| most.to_string())
        ),
        Some(errno::EFAULT) => {
            "the memory cannot be pinned: it is not there, is read-only and the card is to write to it, or belongs to a file \
                               whose file system does not allow it; use memory of the program's own"
                .into()
        }
        _ => LOG.into(),
    }
}

impl fmt::Display for VfioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VfioError::NoSuchFunction { address } => {
                write!(f, "no device of PCI is at {address}; see which there are: lspci -D; look again: echo 1 | sudo tee /sys/bus/pci/rescan")
            }
            VfioError::NotReady(finding) => write!(f, "{finding}"),
            VfioError::Open { path, source } if source.raw_os_error() == Some(errno::EBUSY) => {
                write!(f, "{}: {source}: another program uses the card, or one in its group; see which: sudo fuser -v {0}", path.display())
            }
            VfioError::Open { path, source } => {
                write!(f, "{}: {source}; see what is missing: towpath doctor", path.display())
            }
            VfioError::ApiVersion { found } => {
                write!(f, "VFIO_GET_API_VERSION: the kernel speaks version {found} of VFIO, not 0; use a kernel that does")
            }
            VfioError::NoType1 => write!(f, "VFIO_CHECK_EXTENSION: the kernel has no IOMMU of type 1; load it: sudo modprobe vfio_iommu_type1"),
            VfioError::GroupStatus(source) => write!(f, "VFIO_GROUP_GET_STATUS: {source}; {LOG}"),
            VfioError::NotViable { group } => write!(
                f,
                "VFIO_GROUP_GET_STATUS: a device of the card's IOMMU group {group} belongs to another driver; see which: towpath doctor"
            ),
            VfioError::SetContainer(source) => write!(f, "VFIO_GROUP_SET_CONTAINER: {source}; {LOG}"),
            VfioError::SetIommu(source) if source.raw_os_error() == Some(errno::EPERM) => write!(
                f,
                "VFIO_SET_IOMMU: {source}: interrupts are not remapped on this machine; switch that on in the firmware's set-up (VT-d), or, where \
                 every program with access to a card may be trusted: echo Y | sudo tee /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"
            ),
            VfioError::SetIommu(source) => write!(f, "VFIO_SET_IOMMU: {source}; {LOG}"),
            VfioError::DeviceFile(source) => write!(f, "VFIO_GROUP_GET_DEVICE_FD: {source}; see what is missing: towpath doctor; {LOG}"),
            VfioError::DeviceInfo(source) => write!(f, "VFIO_DEVICE_GET_INFO: {source}; {LOG}"),
            VfioError::RegionInfo { region, source } => write!(f, "VFIO_DEVICE_GET_REGION_INFO of region {region}: {source}; {LOG}"),
            VfioError::MapBar { bar, source } => write!(f, "mapping BAR {bar}: {source}; {LOG}"),
            VfioError::Configuration(source) => write!(f, "configuration space: {source}; {LOG}"),
            VfioError::Access(source) => write!(f, "{source}; {LOG}"),
            VfioError::IrqInfo(source) => write!(f, "VFIO_DEVICE_GET_IRQ_INFO: {source}; {LOG}"),
            VfioError::SetIrqs(source) => write!(f, "VFIO_DEVICE_SET_IRQS: {source}; {LOG}"),
            VfioError::Reset(source) if matches!(source.raw_os_error(), Some(errno::EINVAL | errno::ENOTTY)) => write!(
                f,
                "VFIO_DEVICE_RESET: the kernel has no way to reset this card alone; its bit stream offers no function-level reset: rebuild it \
                 with one, or start the machine again"
            ),
            VfioError::Reset(source) => write!(f, "VFIO_DEVICE_RESET: {source}; {LOG}"),
            VfioError::IommuInfo(source) => write!(f, "VFIO_IOMMU_GET_INFO: {source}; {LOG}"),
            VfioError::NoAddresses { bytes } => {
                write!(f, "the IOMMU has no free addresses for {bytes} bytes; unregister buffers that are not in use")
            }
            VfioError::MapDma { bytes, mappings, source } => {
                write!(f, "VFIO_IOMMU_MAP_DMA of {bytes} bytes: {source}: {}", of_mapping(*bytes, *mappings, source))
            }
            VfioError::UnmapDma { address, bytes, source } => {
                write!(f, "VFIO_IOMMU_UNMAP_DMA of {bytes} bytes at {address:#x}: {source}; close the device: then nothing stays mapped; {LOG}")
            }
        }
    }
}

impl std::error::Error for VfioError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_failed_and_what_to_do() {
        let os = io::Error::from_raw_os_error;
        let cases: [(VfioError, &str, &str); 9] = [
            (VfioError::Open { path: "/dev/vfio/7".into(), source: os(errno::EBUSY) }, "/dev/vfio/7", "sudo fuser -v /dev/vfio/7"),
            (VfioError::SetIommu(os(errno::EPERM)), "VFIO_SET_IOMMU", "allow_unsafe_interrupts"),
            (VfioError::NoType1, "VFIO_CHECK_EXTENSION", "sudo modprobe vfio_iommu_type1"),
            (VfioError::NotViable { group: 7 }, "group 7", "towpath doctor"),
            (VfioError::MapDma { bytes: 4096, mappings: None, source: os(errno::ENOMEM) }, "MAP_DMA of 4096", "prlimit --memlock"),
            (VfioError::MapDma { bytes: 1, mappings: Some(65535), source: os(errno::ENOSPC) }, "65535 mappings", "dma_entry_limit"),
            (VfioError::MapDma { bytes: 1, mappings: None, source: os(errno::EFAULT) }, "pinned", "memory of the program's own"),
            (VfioError::Reset(os(errno::EINVAL)), "VFIO_DEVICE_RESET", "function-level reset"),
            (VfioError::NoSuchFunction { address: "0000:65:00.0".into() }, "0000:65:00.0", "lspci -D"),
        ];
        for (error, what, remedy) in cases {
            let text = error.to_string();
            assert!(text.contains(what) && text.contains(remedy), "{text}");
        }
    }

    #[test]
    fn a_card_that_is_gone_is_told_from_a_system_that_refuses() {
        let gone = VfioError::Reset(io::Error::from_raw_os_error(errno::ENODEV)).of("vfio:0000:65:00.0");
        assert!(matches!(&gone, BusError::Gone(text) if text.starts_with("vfio:0000:65:00.0: VFIO_DEVICE_RESET")), "{gone}");
        let refused = VfioError::MapDma { bytes: 1, mappings: None, source: io::Error::from_raw_os_error(errno::ENOMEM) }.of("vfio:a");
        let is_ours = |inner: &io::Error| inner.get_ref().is_some_and(|inner| inner.is::<VfioError>());
        assert!(
            matches!(&refused, BusError::System(_, inner) if inner.kind() == io::ErrorKind::OutOfMemory && is_ours(inner)),
            "{refused}"
        );
        assert_eq!(refused.to_string().matches("VFIO_IOMMU_MAP_DMA").count(), 1);
    }
}
