// SPDX-License-Identifier: Apache-2.0
//! Structures as they stand in messages and in the guest's memory: little-endian, without gaps. What their values may be is checked where
//! they are used.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::message::Refusal;

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned)]
            #[repr(C)]
            pub struct $name { $(pub $field: $type,)* }
        )*
    };
}

structures! {
    /// vhost-user: in front of every payload.
    Header { request: U32, flags: U32, bytes: U32, }
    /// vhost-user: a ring and a number of it; also the head of a table, count and padding.
    Pair { first: U32, second: U32, }
    /// vhost-user: one region of a memory table.
    Region { guest: U64, bytes: U64, user: U64, offset: U64, }
    /// vhost-user: where a ring's parts are.
    Addresses { ring: U32, flags: U32, descriptors: U64, used: U64, available: U64, }
    /// virtio: one descriptor of a ring.
    Descriptor { address: U64, bytes: U32, flags: U16, next: U16, }
    /// virtio: one element of a used ring.
    Used { head: U32, written: U32, }
    /// virtio-pcidev: in front of an access's data.
    Access { operation: u8, bar: u8, reserved: U16, bytes: U32, offset: U64, }
}

/// A structure from the front of a payload, and what follows it.
pub fn take<T: FromBytes>(payload: &[u8]) -> Result<(T, &[u8]), Refusal> {
    T::read_from_prefix(payload).map_err(|_| Refusal::invalid("the message is too short for its request"))
}
