// SPDX-License-Identifier: Apache-2.0
//! The kernel's information about a device and its IOMMU: structures whose first word is their size, followed by capabilities, each of
//! which names the place of the next. No contents make this panic or loop.

use std::ops::Range;

use vfio_bindings::bindings::vfio as kernel;

/// A structure as it lies in memory, in the machine's byte order.
#[derive(Clone, Copy)]
pub struct Words<'a>(pub &'a [u8]);

impl Words<'_> {
    fn at<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.0.get(offset..)?.first_chunk().copied()
    }

    /// The 32-bit number at an offset; 0 where the structure has ended.
    pub fn u32(&self, offset: usize) -> u32 {
        self.at(offset).map_or(0, u32::from_ne_bytes)
    }

    /// The 64-bit number at an offset; 0 where the structure has ended.
    pub fn u64(&self, offset: usize) -> u64 {
        self.at(offset).map_or(0, u64::from_ne_bytes)
    }

    /// A capability's own bytes, by its number; `first` is where the first one stands, 0: nowhere.
    fn capability(&self, first: u32, wanted: u32) -> Option<Words<'_>> {
        let mut place = first as usize;
        // Each takes 8 bytes at least, so there are no more than that.
        for _ in 0..self.0.len() / 8 {
            let head = self.0.get(place..).filter(|rest| place > 0 && rest.len() >= 8)?;
            if u16::from_ne_bytes([head[0], head[1]]) == wanted as u16 {
                return Some(Words(head));
            }
            place = Words(head).u32(4) as usize;
        }
        None
    }
}

/// `vfio_region_info`: a BAR, or the configuration space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Size in bytes; 0: not there.
    pub bytes: u64,
    /// Where it begins in the device's file.
    pub offset: u64,
    /// Parts that can be mapped.
    pub areas: Vec<Range<u64>>,
}

impl Region {
    /// From the kernel's structure.
    pub fn parse(bytes: &[u8]) -> Region {
        let words = Words(bytes);
        let (flags, first) = (words.u32(4), words.u32(12));
        let (size, offset) = (words.u64(16), words.u64(24));
        let mappable = flags & kernel::VFIO_REGION_INFO_FLAG_MMAP != 0 && size > 0;
        let sparse = (flags & kernel::VFIO_REGION_INFO_FLAG_CAPS != 0)
            .then(|| words.capability(first, kernel::VFIO_REGION_INFO_CAP_SPARSE_MMAP))
            .flatten();
        let areas = match sparse {
            _ if !mappable => Vec::new(),
            None => std::iter::once(0..size).collect(),
            Some(sparse) => (0..sparse.u32(8) as usize)
                .map_while(|index| sparse.0.get(16 + 16 * index..32 + 16 * index).map(Words))
                .map(|area| area.u64(0)..area.u64(0).saturating_add(area.u64(8)))
                .filter(|area| area.start < area.end && area.end <= size)
                .collect(),
        };
        Region { bytes: size, offset, areas }
    }
}

/// `vfio_iommu_type1_info`: what can be mapped for the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iommu {
    /// Its smallest page.
    pub page: u64,
    /// Addresses that it translates, without those that are reserved.
    pub usable: Vec<Range<u64>>,
    /// How many mappings there may be, if the kernel reports the number.
    pub mappings: Option<u32>,
}

/// Addresses to use where the kernel does not report them: 39 bits are translated by every IOMMU of this kind, and interrupts are writes to
/// the hole.
const UNTOLD: [Range<u64>; 2] = [0..0xfee0_0000, 0xfef0_0000..1 << 39];

impl Iommu {
    /// From the kernel's structure.
    pub fn parse(bytes: &[u8]) -> Iommu {
        let words = Words(bytes);
        let (flags, sizes, first) = (words.u32(4), words.u64(8), words.u32(16));
        let has = |flag| flags & flag != 0;
        let sizes = if has(kernel::VFIO_IOMMU_INFO_PGSIZES) { sizes } else { 0 };
        // A page of the processor's at least: memory cannot be pinned in smaller ones.
        let page = if sizes == 0 { 4096 } else { (1 << sizes.trailing_zeros().min(30)).max(4096) };
        let first = if has(kernel::VFIO_IOMMU_INFO_CAPS) { first } else { 0 };
        let usable = words.capability(first, kernel::VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE).map(|ranges| {
            (0..ranges.u32(8) as usize)
                .map_while(|index| ranges.0.get(16 + 16 * index..32 + 16 * index).map(Words))
                .map(|range| range.u64(0)..range.u64(8).saturating_add(1))
                .collect()
        });
        let mappings = words.capability(first, kernel::VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL).map(|available| available.u32(8));
        Iommu { page, usable: usable.unwrap_or_else(|| UNTOLD.to_vec()), mappings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// The places of fields, as the kernel's header has them.
    #[test]
    fn structures_are_the_kernels() {
        use kernel::{vfio_info_cap_header as header, vfio_iommu_type1_info as iommu, vfio_region_info as region};
        use kernel::{vfio_iommu_type1_info_cap_iova_range as ranges, vfio_region_info_cap_sparse_mmap as sparse};
        let of_region = [offset_of!(region, flags), offset_of!(region, cap_offset), offset_of!(region, size), offset_of!(region, offset)];
        assert_eq!(of_region, [4, 12, 16, 24]);
        let of_iommu = [offset_of!(iommu, flags), offset_of!(iommu, iova_pgsizes), offset_of!(iommu, cap_offset)];
        assert_eq!(of_iommu, [4, 8, 16]);
        assert_eq!((offset_of!(header, id), offset_of!(header, next), size_of::<header>()), (0, 4, 8));
        assert_eq!((offset_of!(sparse, nr_areas), offset_of!(sparse, areas)), (8, 16));
        assert_eq!((offset_of!(ranges, nr_iovas), offset_of!(ranges, iova_ranges)), (8, 16));
        assert_eq!(offset_of!(kernel::vfio_iommu_type1_info_dma_avail, avail), 8);
    }

    fn bytes(words: &[u32], longs: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).chain(longs.iter().flat_map(|long| long.to_ne_bytes())).collect()
    }

    fn region(flags: u32, first: u32, behind: &[u8]) -> Region {
        Region::parse(&[bytes(&[32, flags, 0, first], &[0x4000, 0x1_0000]), behind.to_vec()].concat())
    }

    #[test]
    fn regions_with_and_without_areas() {
        let all = Region { bytes: 0x4000, offset: 0x1_0000, areas: std::iter::once(0..0x4000).collect() };
        assert_eq!(region(7, 0, &[]), all);
        assert_eq!(region(3, 0, &[]), Region { areas: vec![], ..all.clone() });
        let capability = |id: u32, next: u32, areas: &[u64]| bytes(&[1 << 16 | id, next, areas.len() as u32 / 2, 0], areas);
        let other = bytes(&[1 << 16 | kernel::VFIO_REGION_INFO_CAP_MSIX_MAPPABLE, 40], &[]);
        let sparse = [other, capability(1, 0, &[0, 0x2000, 0x3000, 0x1000, 0x3000, 0x2000, 0, u64::MAX])].concat();
        assert_eq!(region(15, 32, &sparse).areas, [0..0x2000, 0x3000..0x4000], "areas behind the end are none");
        assert_eq!(region(7, 32, &sparse), all, "no capabilities are announced");
        assert_eq!(region(11, 32, &sparse).areas, [], "it cannot be mapped");
    }

    #[test]
    fn capabilities_that_lead_nowhere_end() {
        for (first, next) in [(32, 32), (33, 2), (1 << 30, 0), (32, u32::MAX), (70, 0)] {
            let circle = bytes(&[1 << 16 | 99, next, 0, 0], &[]);
            assert_eq!(region(15, first, &circle).areas.len(), 1, "{first} {next}");
        }
        let cut = bytes(&[1 << 16 | kernel::VFIO_REGION_INFO_CAP_SPARSE_MMAP, 0, u32::MAX, 0], &[0]);
        assert_eq!(region(15, 32, &cut).areas, []);
        for length in 0..64 {
            Region::parse(&vec![0xff; length]);
            Iommu::parse(&vec![0xff; length]);
        }
    }

    #[test]
    fn the_iommu_tells_its_window() {
        let head = |flags: u32, first: u32, sizes: u64| [bytes(&[24, flags], &[sizes]), bytes(&[first, 0], &[])].concat();
        let plain = Iommu::parse(&head(1, 0, 0x4020_1000));
        assert_eq!(plain, Iommu { page: 4096, usable: UNTOLD.to_vec(), mappings: None });
        let ranges = bytes(&[1 << 16 | 1, 56, 2, 0], &[0, 0xfedf_ffff, 0xfef0_0000, u64::MAX]);
        let ranges = [ranges, bytes(&[1 << 16 | 3, 0, 65535], &[])].concat();
        // The first stands at 24 and takes 48 bytes.
        let told = Iommu::parse(
            &[head(3, 24, 1 << 16), {
                let mut r = ranges;
                r[4..8].copy_from_slice(&72u32.to_ne_bytes());
                r
            }]
            .concat(),
        );
        assert_eq!(told.usable, [0..0xfee0_0000, 0xfef0_0000..u64::MAX]);
        assert_eq!((told.page, told.mappings), (65536, Some(65535)));
    }
}
