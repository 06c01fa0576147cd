// SPDX-License-Identifier: Apache-2.0
//! The layout of vhost-user messages, and the checks that everything a peer sends must pass first: sizes, counts and the number of
//! descriptors. Numbers are little-endian, as the machine's must be.

use towpath_device_server::wire::Frame;
pub use towpath_device_server::wire::Refusal;
use towpath_system::errno;
use zerocopy::little_endian::U64;

use crate::layout;

/// Feature: there are protocol features.
pub const F_PROTOCOL: u64 = 1 << 30;
/// Feature: rings as virtio has them since version 1.
pub const F_VERSION_1: u64 = 1 << 32;
/// The features that this server offers.
pub const FEATURES: u64 = F_PROTOCOL | F_VERSION_1;
/// Protocol features, all of which are needed: every request can request an answer, there is a channel back, notifications are messages.
pub const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 14;

/// On the channel back: look at this ring.
pub const BACK_CALL: u32 = 4;

/// Regions of memory, at most.
pub const REGIONS: usize = 8;
/// A payload is no longer than this.
const MAX_PAYLOAD: usize = 1024;
const VERSION: u32 = 1;
const FLAG_REPLY: u32 = 1 << 2;
const FLAG_NEED_REPLY: u32 = 1 << 3;
/// In the word of a ring's descriptor: there is none.
const NO_DESCRIPTOR: u64 = 1 << 8;

/// What stands before every payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub request: u32,
    pub flags: u32,
    pub bytes: u32,
}

impl Header {
    /// A request of ours, on the channel back.
    pub fn request(request: u32, payload: usize) -> Header {
        Header { request, flags: VERSION, bytes: payload as u32 }
    }

    /// The header of the answer to a request.
    pub fn reply(&self, payload: usize) -> Header {
        Header { request: self.request, flags: VERSION | FLAG_REPLY, bytes: payload as u32 }
    }

    /// Does the sender wait for a status?
    pub fn wants_reply(&self) -> bool {
        self.flags & FLAG_NEED_REPLY != 0
    }

    pub fn to_bytes(self) -> [u8; 12] {
        let Header { request, flags, bytes } = self;
        zerocopy::transmute!(layout::Header { request: request.into(), flags: flags.into(), bytes: bytes.into() })
    }
}

impl Frame for Header {
    const BYTES: usize = 12;

    fn parse(bytes: &[u8]) -> Result<Header, String> {
        let (layout::Header { request, flags, bytes }, _) = layout::take(bytes).map_err(|refusal| refusal.why)?;
        let header = Header { request: request.get(), flags: flags.get(), bytes: bytes.get() };
        if header.flags & (VERSION | 2 | FLAG_REPLY) != VERSION {
            return Err(format!("flags {:#x}: not a request of version {VERSION}", header.flags));
        }
        match header.payload_bytes() {
            0..=MAX_PAYLOAD => Ok(header),
            bytes => Err(format!("a payload of {bytes} bytes; up to {MAX_PAYLOAD} are possible")),
        }
    }

    fn payload_bytes(&self) -> usize {
        self.bytes as usize
    }
}

/// A region of the guest's memory, as an entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionEntry {
    /// Its address for the card.
    pub guest: u64,
    pub bytes: u64,
    /// Its address in the peer's own address space, which the addresses of rings refer to.
    pub user: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

/// Addresses of a ring's parts, in the peer's own address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
}

/// A peer's request. For a ring: its index first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    GetFeatures,
    SetFeatures(u64),
    GetProtocolFeatures,
    SetProtocolFeatures(u64),
    SetOwner,
    ResetOwner,
    SetMemory(Vec<RegionEntry>),
    /// With one descriptor.
    SetBackChannel,
    RingSize(u32, u32),
    RingAddresses(u32, Addresses),
    RingBase(u32, u32),
    GetRingBase(u32),
    RingEnable(u32, bool),
    /// A ring's notifications are not to have a descriptor.
    RingWithout,
    Kick(u32),
}

impl Request {
    /// From its number and payload, with a number of descriptors. Bytes behind the fields are ignored: tables are sent whole.
    pub fn parse(number: u32, payload: &[u8], descriptors: usize) -> Result<Request, Refusal> {
        let long = || layout::take::<U64>(payload).map(|(word, _)| word.get());
        let pair = || layout::take::<layout::Pair>(payload).map(|(pair, _)| (pair.first.get(), pair.second.get()));
        let request = match number {
            1 => Request::GetFeatures,
            2 => Request::SetFeatures(long()?),
            3 => Request::SetOwner,
            4 => Request::ResetOwner,
            5 => {
                let (layout::Pair { first: count, .. }, table) = layout::take(payload)?;
                if count.get() as usize > REGIONS {
                    return Err(Refusal::invalid(format!("a table of {} regions; up to {REGIONS} are possible", count.get())));
                }
                let mut rest = table;
                let region = |_| {
                    let (layout::Region { guest, bytes, user, offset }, after) = layout::take(rest)?;
                    rest = after;
                    Ok(RegionEntry { guest: guest.get(), bytes: bytes.get(), user: user.get(), offset: offset.get() })
                };
                Request::SetMemory((0..count.get()).map(region).collect::<Result<_, _>>()?)
            }
            8 => pair().map(|(ring, size)| Request::RingSize(ring, size))?,
            9 => {
                let (parts, _): (layout::Addresses, _) = layout::take(payload)?;
                let (descriptors, available, used) = (parts.descriptors.get(), parts.available.get(), parts.used.get());
                Request::RingAddresses(parts.ring.get(), Addresses { descriptors, available, used })
            }
            10 => pair().map(|(ring, base)| Request::RingBase(ring, base))?,
            11 => pair().map(|(ring, _)| Request::GetRingBase(ring))?,
            12..=14 if long()? & NO_DESCRIPTOR != 0 => Request::RingWithout,
            12..=14 => return Err(Refusal::new(errno::ENOTSUP, "a ring is to be notified by a descriptor, not by messages")),
            15 => Request::GetProtocolFeatures,
            16 => Request::SetProtocolFeatures(long()?),
            18 => pair().map(|(ring, on)| Request::RingEnable(ring, on != 0))?,
            21 => Request::SetBackChannel,
            35 => pair().map(|(ring, _)| Request::Kick(ring))?,
            other => return Err(Refusal::new(errno::ENOTSUP, format!("request {other} is unknown"))),
        };
        let due = match &request {
            Request::SetMemory(regions) => regions.len(),
            Request::SetBackChannel => 1,
            _ => 0,
        };
        if descriptors != due {
            return Err(Refusal::invalid(format!("request {number} with {descriptors} descriptors instead of {due}")));
        }
        Ok(request)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_requests_are_taken_and_others_are_not() {
        let bytes = |request: u32, flags: u32, bytes: u32| Header { request, flags, bytes }.to_bytes();
        let header = Header::parse(&bytes(35, 9, 8)).unwrap();
        assert_eq!((header.request, header.wants_reply(), header.payload_bytes()), (35, true, 8));
        assert_eq!(header.reply(8).to_bytes(), [35, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0]);
        for (flags, size) in [(0, 8), (2, 8), (3, 8), (5, 8), (1, 1025), (1, u32::MAX)] {
            assert!(Header::parse(&bytes(1, flags, size)).is_err(), "{flags} {size}");
        }
    }

    #[test]
    fn counts_sizes_and_descriptors_are_checked() {
        let table = |count: u32, room: usize| [&count.to_le_bytes()[..], &vec![0; 4 + 32 * room]].concat();
        assert!(matches!(Request::parse(5, &table(1, 2), 1), Ok(Request::SetMemory(regions)) if regions.len() == 1));
        for (payload, descriptors) in [(table(2, 1), 2), (table(1, 1), 0), (table(1, 1), 2), (table(9, 9), 9), (table(u32::MAX, 8), 8)] {
            assert!(Request::parse(5, &payload, descriptors).is_err());
        }
        assert!(Request::parse(35, &[0; 7], 0).is_err() && Request::parse(35, &[0; 8], 1).is_err());
        assert!(Request::parse(12, &0u64.to_le_bytes(), 1).is_err() && Request::parse(12, &0x101u64.to_le_bytes(), 0).is_ok());
        assert!((0..100).all(|number| Request::parse(number, &[], 0).is_err() || [1, 3, 4, 15].contains(&number)));
    }
}
