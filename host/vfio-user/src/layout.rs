// SPDX-License-Identifier: Apache-2.0
//! The protocol's structures as they stand in messages: little-endian, without gaps. What their values may be, [`crate::message`] checks.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::message::Refusal;

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned)]
            #[repr(C)]
            pub struct $name { $(pub $field: $type,)* }
        )*
    };
}

structures! {
    /// In front of every payload.
    Header { id: U16, command: U16, bytes: U32, flags: U32, errno: U32, }
    /// VERSION, before the capabilities.
    Version { major: U16, minor: U16, }
    /// DMA_MAP.
    DmaMap { argsz: U32, flags: U32, offset: U64, address: U64, bytes: U64, }
    /// DMA_UNMAP.
    DmaUnmap { argsz: U32, flags: U32, address: U64, bytes: U64, }
    /// DMA_READ and DMA_WRITE, before the data.
    DmaAccess { address: U64, bytes: U64, }
    /// DEVICE_INFO (regions and interrupts) and IRQ_INFO (index and count).
    FourWords { argsz: U32, flags: U32, first: U32, second: U32, }
    /// What a request for information about one region or interrupt begins with. Older peers send no more.
    Question { argsz: U32, flags: U32, index: U32, }
    /// REGION_INFO, before its capabilities.
    RegionInfo { argsz: U32, flags: U32, index: U32, capability: U32, bytes: U64, offset: U64, }
    /// The capability that names the areas which can be mapped, before them.
    SparseAreas { id: U16, version: U16, next: U32, count: U32, reserved: U32, }
    /// One of these areas.
    Area { offset: U64, bytes: U64, }
    /// SET_IRQS, before the data.
    SetIrqs { argsz: U32, flags: U32, index: U32, start: U32, count: U32, }
    /// REGION_READ and REGION_WRITE, before the data: in the request and again in the reply.
    RegionAccess { offset: U64, region: U32, bytes: U32, }
}

/// A structure from the front of a payload, and what follows it.
pub fn take<T: FromBytes>(payload: &[u8]) -> Result<(T, &[u8]), Refusal> {
    T::read_from_prefix(payload).map_err(|_| Refusal::invalid("the message is too short for its command"))
}

/// A structure that is all of a payload.
pub fn whole<T: FromBytes>(payload: &[u8]) -> Result<T, Refusal> {
    match take(payload)? {
        (found, []) => Ok(found),
        (_, rest) => Err(Refusal::invalid(format!("{} bytes more than the command has", rest.len()))),
    }
}

/// Check `argsz`: how much the sender has, or has room for.
pub fn room(argsz: U32, least: usize) -> Result<u32, Refusal> {
    match argsz.get() {
        room if room as usize >= least => Ok(room),
        room => Err(Refusal::invalid(format!("argsz is {room}, and at least {least} is needed"))),
    }
}
