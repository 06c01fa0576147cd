// SPDX-License-Identifier: Apache-2.0
//! The layout of vfio-user messages, byte by byte, and the checks that everything a peer sends must pass first.
//!
//! A message is a header of 16 bytes and a payload; all numbers are little-endian. [`Request`] is a client's request of a server, parsed or
//! to be sent; a server's requests of memory are [`DmaAccess`]. Parsing checks sizes, counts, flags and the number of descriptors; the
//! server checks whether a region or a vector exists.

use std::ops::Range;

pub use towpath_device_server::wire::Refusal;
use towpath_system::errno;
use zerocopy::little_endian::U32;
use zerocopy::IntoBytes;

use crate::layout;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// Major and minor version of the protocol.
pub const VERSION: (u16, u16) = (0, 1);
/// Bytes of data in one message, at most: what we offer, and what we take.
pub const MAX_DATA: usize = 1 << 20;
/// Descriptors in one message, at most: what we offer, and what we take.
pub const MAX_DESCRIPTORS: usize = towpath_system::socket::MAX_DESCRIPTORS;
/// A message of ours or to us is no longer than this.
pub const MAX_MESSAGE: usize = HEADER_BYTES + 32 + MAX_DATA;
/// Bytes of a version's capabilities, at most.
const MAX_CAPABILITIES: usize = 4096;

/// The header's flag that makes a message a reply.
pub const FLAG_REPLY: u32 = 1;
const TYPE_MASK: u32 = 0xf;
/// The header's flag of a command without a reply.
pub const FLAG_NO_REPLY: u32 = 1 << 4;
/// The header's flag of a reply that reports an error.
pub const FLAG_ERROR: u32 = 1 << 5;

/// The card may read the memory.
pub const DMA_READ: u32 = 1;
/// The card may write the memory.
pub const DMA_WRITE: u32 = 1 << 1;
const DMA_MAPPABLE: u32 = 1 << 2; // of older peers: later ones send a descriptor
/// Unmap everything.
pub const UNMAP_ALL: u32 = 1 << 1;

/// The device can be reset.
pub const DEVICE_RESET: u32 = 1;
/// The device is one of PCI.
pub const DEVICE_PCI: u32 = 1 << 1;
/// The region can be read.
pub const REGION_READ: u32 = 1;
/// The region can be written.
pub const REGION_WRITE: u32 = 1 << 1;
/// Parts of the region can be mapped.
pub const REGION_MMAP: u32 = 1 << 2;
/// Capabilities follow the region's information.
pub const REGION_CAPS: u32 = 1 << 3;
/// The interrupts signal eventfds.
pub const IRQ_EVENTFD: u32 = 1;
/// Interrupts are set up as one set: to add one, all are taken down first.
pub const IRQ_NORESIZE: u32 = 1 << 3;

/// SET_IRQS carries nothing for each interrupt.
pub const SET_DATA_NONE: u32 = 1;
/// SET_IRQS carries a byte for each interrupt.
pub const SET_DATA_BOOL: u32 = 1 << 1;
/// SET_IRQS carries a descriptor for each interrupt.
pub const SET_DATA_EVENTFD: u32 = 1 << 2;
/// SET_IRQS is about signalling, not masking.
pub const SET_ACTION_TRIGGER: u32 = 1 << 5;

const SPARSE_CAPABILITY: u16 = 1;
const REGION_INFO_BYTES: usize = size_of::<layout::RegionInfo>();

macro_rules! commands {
    ($($name:ident = $number:literal, $what:literal;)*) => {
        /// Numbers of the commands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Command { $(#[doc = $what] $name = $number,)* }

        impl Command {
            /// All of them.
            pub const ALL: &'static [Command] = &[$(Command::$name,)*];

            /// The command of that number.
            pub fn of(number: u16) -> Option<Command> {
                match number { $($number => Some(Command::$name),)* _ => None }
            }
        }
    };
}

commands! {
    Version = 1, "The first message: versions and capabilities.";
    DmaMap = 2, "Memory that the card may reach from now on.";
    DmaUnmap = 3, "Memory that it may not reach any more.";
    DeviceInfo = 4, "How many regions and kinds of interrupts there are.";
    RegionInfo = 5, "A region's size, and which parts can be mapped.";
    RegionIoFds = 6, "Descriptors for parts of a region; we have none.";
    IrqInfo = 7, "How many interrupts of a kind there are.";
    SetIrqs = 8, "What an interrupt signals.";
    RegionRead = 9, "Read a part of a region.";
    RegionWrite = 10, "Write a part of a region.";
    DmaRead = 11, "The server reads the client's memory.";
    DmaWrite = 12, "The server writes the client's memory.";
    Reset = 13, "Reset the device.";
}

type Parsed<T> = Result<T, Refusal>;

/// What stands before every payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Chosen by the sender of a command, repeated in the reply.
    pub id: u16,
    /// The command's number; see [`Command`].
    pub command: u16,
    /// Length of the message with its header.
    pub bytes: u32,
    /// Command or reply, and `FLAG_` bits.
    pub flags: u32,
    /// Number of the error, in a reply with [`FLAG_ERROR`].
    pub errno: u32,
}

impl Header {
    /// A command's header.
    pub fn command(id: u16, command: Command, payload: usize) -> Header {
        Header { id, command: command as u16, bytes: (HEADER_BYTES + payload) as u32, flags: 0, errno: 0 }
    }

    /// The header of the reply to a command.
    pub fn reply(&self, payload: usize) -> Header {
        Header { bytes: (HEADER_BYTES + payload) as u32, flags: FLAG_REPLY, errno: 0, ..*self }
    }

    /// The header of the refusal of a command.
    pub fn refusal(&self, errno: i32) -> Header {
        Header { flags: FLAG_REPLY | FLAG_ERROR, errno: errno.unsigned_abs(), ..self.reply(0) }
    }

    /// Is it a reply?
    pub fn is_reply(&self) -> bool {
        self.flags & TYPE_MASK == FLAG_REPLY
    }

    /// Does the sender expect a reply?
    pub fn wants_reply(&self) -> bool {
        self.flags & FLAG_NO_REPLY == 0
    }

    /// The error that a reply reports.
    pub fn error(&self) -> Option<i32> {
        (self.flags & FLAG_ERROR != 0).then_some(self.errno as i32)
    }

    /// Its 16 bytes.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let Header { id, command, bytes, flags, errno } = self;
        let header =
            layout::Header { id: id.into(), command: command.into(), bytes: bytes.into(), flags: flags.into(), errno: errno.into() };
        zerocopy::transmute!(header)
    }

    /// From 16 bytes. An error ends the connection: where the next message begins is not known.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Parsed<Header> {
        let layout::Header { id, command, bytes, flags, errno } = zerocopy::transmute!(*bytes);
        let header = Header { id: id.get(), command: command.get(), bytes: bytes.get(), flags: flags.get(), errno: errno.get() };
        match header.bytes as usize {
            HEADER_BYTES..=MAX_MESSAGE => (),
            bytes => {
                return Err(Refusal::invalid(format!("a message of {bytes} bytes; from {HEADER_BYTES} to {MAX_MESSAGE} are possible")))
            }
        }
        match header.flags & TYPE_MASK {
            0 | FLAG_REPLY => Ok(header),
            other => Err(Refusal::invalid(format!("a message of type {other}: neither a command nor a reply"))),
        }
    }

    /// Bytes behind the header.
    pub fn payload_bytes(&self) -> usize {
        self.bytes as usize - HEADER_BYTES
    }
}

/// What two ends negotiate at the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Descriptors in one message, at most.
    pub descriptors: usize,
    /// Bytes of data in one message, at most.
    pub data: usize,
}

impl Capabilities {
    /// Our own capabilities.
    pub const OURS: Capabilities = Capabilities { descriptors: MAX_DESCRIPTORS, data: MAX_DATA };

    fn text(&self) -> String {
        let Capabilities { descriptors, data } = self;
        format!(r#"{{"capabilities":{{"max_msg_fds":{descriptors},"max_data_xfer_size":{data},"pgsizes":4096}}}}"#)
    }

    /// From JSON that ends with a zero byte; what is not named has the protocol's default.
    fn parse(text: &[u8]) -> Parsed<Capabilities> {
        let mut found = Capabilities { descriptors: 1, data: MAX_DATA };
        if text.is_empty() {
            return Ok(found);
        }
        let text = text.strip_suffix(&[0]).ok_or_else(|| Refusal::invalid("the capabilities do not end with a zero byte"))?;
        if text.len() > MAX_CAPABILITIES {
            return Err(Refusal::invalid(format!("{} bytes of capabilities; {MAX_CAPABILITIES} are possible", text.len())));
        }
        let value: serde_json::Value =
            serde_json::from_slice(text).map_err(|why| Refusal::invalid(format!("the capabilities are not JSON: {why}")))?;
        let number = |name: &str, least: u64, most: u64| match value.get("capabilities").and_then(|all| all.get(name)) {
            None => Ok(None),
            Some(number) => match number.as_u64() {
                Some(number) if number >= least => Ok(Some(number.min(most) as usize)),
                _ => Err(Refusal::invalid(format!("capability {name} is {number}, and should be a number of at least {least}"))),
            },
        };
        if let Some(descriptors) = number("max_msg_fds", 0, MAX_DESCRIPTORS as u64)? {
            found.descriptors = descriptors;
        }
        if let Some(data) = number("max_data_xfer_size", 64, MAX_DATA as u64)? {
            found.data = data;
        }
        Ok(found)
    }
}

/// A request of memory, from server to client, or its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaAccess {
    /// Where, as the card sees it.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl DmaAccess {
    /// Bytes of it, data excluded.
    pub const BYTES: usize = 16;

    /// Its 16 bytes, which data may follow.
    pub fn to_bytes(self) -> [u8; DmaAccess::BYTES] {
        zerocopy::transmute!(layout::DmaAccess { address: self.address.into(), bytes: self.bytes.into() })
    }

    /// Take it off a payload, with the data that follows: as many bytes as it contains, if there is to be any data.
    pub fn parse(payload: &[u8], with_data: bool) -> Parsed<(DmaAccess, &[u8])> {
        let (layout::DmaAccess { address, bytes }, data) = layout::take(payload)?;
        let access = DmaAccess { address: address.get(), bytes: bytes.get() };
        if access.bytes > MAX_DATA as u64 {
            return Err(Refusal::new(errno::E2BIG, format!("{} bytes at once; {MAX_DATA} are possible", access.bytes)));
        }
        if data.len() as u64 != if with_data { access.bytes } else { 0 } {
            return Err(Refusal::invalid(format!("{} bytes of data for an access of {}", data.len(), access.bytes)));
        }
        Ok((access, data))
    }
}

/// What SET_IRQS does to a range of interrupts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// They signal the descriptors of the message from now on; those beyond the last descriptor signal nothing.
    Events,
    /// They fire now; for no interrupt at all: the eventfds of all are removed.
    Fire,
    /// Those fire now that are named.
    FireSome(Vec<bool>),
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the protocol's fields, by their names
pub enum Request {
    Version { major: u16, minor: u16, capabilities: Capabilities },
    DmaMap { readable: bool, writable: bool, offset: u64, address: u64, bytes: u64 },
    DmaUnmap { address: u64, bytes: u64, all: bool },
    DeviceInfo,
    RegionInfo { index: u32, room: u32 },
    IrqInfo { index: u32 },
    SetIrqs { index: u32, start: u32, count: u32, trigger: Trigger },
    RegionRead { region: u32, offset: u64, bytes: u32 },
    RegionWrite { region: u32, offset: u64, data: Vec<u8> },
    Reset,
}

impl Request {
    /// From a payload and the number of descriptors that came with it.
    pub fn parse(command: u16, payload: &[u8], descriptors: usize) -> Parsed<Request> {
        let name = Command::of(command).ok_or_else(|| Refusal::new(errno::ENOSYS, format!("unknown command {command}")))?;
        let request = match name {
            Command::Version => {
                let (layout::Version { major, minor }, text) = layout::take(payload)?;
                Request::Version { major: major.get(), minor: minor.get(), capabilities: Capabilities::parse(text)? }
            }
            Command::DmaMap => {
                let map: layout::DmaMap = layout::whole(payload)?;
                layout::room(map.argsz, size_of::<layout::DmaMap>())?;
                let flags = map.flags.get();
                if flags & !(DMA_READ | DMA_WRITE | DMA_MAPPABLE) != 0 {
                    return Err(Refusal::invalid(format!("unknown flags {flags:#x} of a mapping")));
                }
                let (offset, address, bytes) = (map.offset.get(), map.address.get(), map.bytes.get());
                Request::DmaMap { readable: flags & DMA_READ != 0, writable: flags & DMA_WRITE != 0, offset, address, bytes }
            }
            Command::DmaUnmap => {
                let unmap: layout::DmaUnmap = layout::whole(payload)?;
                layout::room(unmap.argsz, size_of::<layout::DmaUnmap>())?;
                let flags = unmap.flags.get();
                if flags & !UNMAP_ALL != 0 {
                    return Err(Refusal::invalid(format!("flags {flags:#x} of an unmapping; dirty pages are not tracked")));
                }
                Request::DmaUnmap { address: unmap.address.get(), bytes: unmap.bytes.get(), all: flags & UNMAP_ALL != 0 }
            }
            Command::DeviceInfo => {
                layout::room(layout::take(payload)?.0, size_of::<layout::FourWords>())?;
                Request::DeviceInfo
            }
            Command::RegionInfo => {
                let (layout::Question { argsz, index, .. }, _) = layout::take(payload)?;
                Request::RegionInfo { index: index.get(), room: layout::room(argsz, REGION_INFO_BYTES)? }
            }
            Command::IrqInfo => {
                let (layout::Question { argsz, index, .. }, _) = layout::take(payload)?;
                layout::room(argsz, size_of::<layout::FourWords>())?;
                Request::IrqInfo { index: index.get() }
            }
            Command::SetIrqs => Request::set_irqs(payload)?,
            Command::RegionRead => {
                let layout::RegionAccess { offset, region, bytes } = layout::whole(payload)?;
                let (offset, region, bytes) = (offset.get(), region.get(), bytes.get());
                if bytes as usize > MAX_DATA {
                    return Err(Refusal::new(errno::E2BIG, format!("{bytes} bytes at once; {MAX_DATA} are possible")));
                }
                Request::RegionRead { region, offset, bytes }
            }
            Command::RegionWrite => {
                let (layout::RegionAccess { offset, region, bytes }, data) = layout::take(payload)?;
                let (offset, region, bytes) = (offset.get(), region.get(), bytes.get());
                if data.len() != bytes as usize {
                    return Err(Refusal::invalid(format!("{} bytes of data for a write of {bytes}", data.len())));
                }
                Request::RegionWrite { region, offset, data: data.to_vec() }
            }
            Command::Reset => Request::Reset,
            Command::RegionIoFds => return Err(Refusal::new(errno::ENOTSUP, "this device has no descriptors for its regions")),
            Command::DmaRead | Command::DmaWrite => return Err(Refusal::invalid("only a server accesses the other's memory")),
        };
        let most = match &request {
            Request::DmaMap { .. } => 1,
            Request::SetIrqs { count, trigger: Trigger::Events, .. } => *count as usize,
            _ => 0,
        };
        if descriptors > most {
            return Err(Refusal::invalid(format!("{descriptors} descriptors with {name:?}, which takes {most}")));
        }
        Ok(request)
    }

    fn set_irqs(payload: &[u8]) -> Parsed<Request> {
        let (layout::SetIrqs { argsz, flags, index, start, count }, data) = layout::take(payload)?;
        let (argsz, flags) = (argsz.get() as usize, flags.get());
        let (index, start, count) = (index.get(), start.get(), count.get());
        if argsz != 20 + data.len() {
            return Err(Refusal::invalid(format!("argsz is {argsz}, and the message has {}", 20 + data.len())));
        }
        if flags & !7 != SET_ACTION_TRIGGER {
            return Err(Refusal::invalid(format!("flags {flags:#x} for interrupts, which can be triggered only")));
        }
        if start.checked_add(count).is_none() {
            return Err(Refusal::invalid(format!("{count} interrupts from number {start} on")));
        }
        let trigger = match (flags & 7, data.len()) {
            (SET_DATA_NONE, 0) => Trigger::Fire,
            (SET_DATA_BOOL, bytes) if bytes == count as usize => Trigger::FireSome(data.iter().map(|byte| *byte != 0).collect()),
            (SET_DATA_EVENTFD, 0) => Trigger::Events,
            (kind, bytes) => return Err(Refusal::invalid(format!("{bytes} bytes of data of kind {kind:#x} for {count} interrupts"))),
        };
        Ok(Request::SetIrqs { index, start, count, trigger })
    }

    /// Which command it is.
    pub fn command(&self) -> Command {
        match self {
            Request::Version { .. } => Command::Version,
            Request::DmaMap { .. } => Command::DmaMap,
            Request::DmaUnmap { .. } => Command::DmaUnmap,
            Request::DeviceInfo => Command::DeviceInfo,
            Request::RegionInfo { .. } => Command::RegionInfo,
            Request::IrqInfo { .. } => Command::IrqInfo,
            Request::SetIrqs { .. } => Command::SetIrqs,
            Request::RegionRead { .. } => Command::RegionRead,
            Request::RegionWrite { .. } => Command::RegionWrite,
            Request::Reset => Command::Reset,
        }
    }

    /// Its payload.
    pub fn payload(&self) -> Vec<u8> {
        match self {
            Request::Version { major, minor, capabilities } => version(*major, *minor, capabilities),
            Request::DmaMap { readable, writable, offset, address, bytes } => {
                let flags = if *readable { DMA_READ } else { 0 } | if *writable { DMA_WRITE } else { 0 };
                let argsz = size_of::<layout::DmaMap>() as u32;
                let (offset, address, bytes) = ((*offset).into(), (*address).into(), (*bytes).into());
                layout::DmaMap { argsz: argsz.into(), flags: flags.into(), offset, address, bytes }.as_bytes().to_vec()
            }
            Request::DmaUnmap { address, bytes, all } => {
                let (argsz, flags) = (size_of::<layout::DmaUnmap>() as u32, if *all { UNMAP_ALL } else { 0 });
                let (address, bytes) = ((*address).into(), (*bytes).into());
                layout::DmaUnmap { argsz: argsz.into(), flags: flags.into(), address, bytes }.as_bytes().to_vec()
            }
            Request::DeviceInfo => four_words([0; 3]),
            Request::RegionInfo { index, room } => {
                layout::RegionInfo { argsz: (*room).into(), index: (*index).into(), ..Default::default() }.as_bytes().to_vec()
            }
            Request::IrqInfo { index } => four_words([0, *index, 0]),
            Request::SetIrqs { index, start, count, trigger } => {
                let (kind, data) = match trigger {
                    Trigger::Events => (SET_DATA_EVENTFD, Vec::new()),
                    Trigger::Fire => (SET_DATA_NONE, Vec::new()),
                    Trigger::FireSome(which) => (SET_DATA_BOOL, which.iter().map(|yes| u8::from(*yes)).collect()),
                };
                let argsz = (size_of::<layout::SetIrqs>() + data.len()) as u32;
                let (index, start, count) = ((*index).into(), (*start).into(), (*count).into());
                let head = layout::SetIrqs { argsz: argsz.into(), flags: (kind | SET_ACTION_TRIGGER).into(), index, start, count };
                [head.as_bytes(), &data].concat()
            }
            Request::RegionRead { region, offset, bytes } => access(*region, *offset, *bytes).to_vec(),
            Request::RegionWrite { region, offset, data } => [&access(*region, *offset, data.len() as u32)[..], data].concat(),
            Request::Reset => Vec::new(),
        }
    }
}

/// The payload of VERSION, or of its reply.
pub fn version(major: u16, minor: u16, capabilities: &Capabilities) -> Vec<u8> {
    let head = layout::Version { major: major.into(), minor: minor.into() };
    [head.as_bytes(), capabilities.text().as_bytes(), &[0]].concat()
}

/// What stands before the data of a region's read or write: of the request, and again of the reply.
pub fn access(region: u32, offset: u64, bytes: u32) -> [u8; 16] {
    zerocopy::transmute!(layout::RegionAccess { offset: offset.into(), region: region.into(), bytes: bytes.into() })
}

/// The reply to DEVICE_INFO and, with other words, to IRQ_INFO: `argsz`, flags, and two numbers.
pub fn four_words(words: [u32; 3]) -> Vec<u8> {
    let [flags, first, second] = words.map(U32::new);
    layout::FourWords { argsz: U32::new(size_of::<layout::FourWords>() as u32), flags, first, second }.as_bytes().to_vec()
}

/// Flags and two numbers from the reply to DEVICE_INFO or IRQ_INFO.
pub fn parse_four_words(payload: &[u8]) -> Parsed<[u32; 3]> {
    let (layout::FourWords { argsz, flags, first, second }, _) = layout::take(payload)?;
    layout::room(argsz, size_of::<layout::FourWords>())?;
    Ok([flags.get(), first.get(), second.get()])
}

/// The reply to REGION_INFO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionInfo {
    /// `REGION_` bits.
    pub flags: u32,
    /// Which region.
    pub index: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it begins in the file that can be mapped.
    pub offset: u64,
    /// Parts that can be mapped; none: all of it, if it can be mapped.
    pub areas: Vec<Range<u64>>,
}

impl RegionInfo {
    /// The payload for a client with `room` bytes. Without enough room it contains the size that is needed, and no areas.
    pub fn payload(&self, room: u32) -> Vec<u8> {
        let all = REGION_INFO_BYTES
            + if self.areas.is_empty() { 0 } else { size_of::<layout::SparseAreas>() + size_of::<layout::Area>() * self.areas.len() };
        let fits = !self.areas.is_empty() && room as usize >= all;
        let flags = self.flags | if self.areas.is_empty() { 0 } else { REGION_CAPS };
        let mut payload = layout::RegionInfo {
            argsz: (all as u32).into(),
            flags: flags.into(),
            index: self.index.into(),
            capability: if fits { (REGION_INFO_BYTES as u32).into() } else { 0.into() },
            bytes: self.bytes.into(),
            offset: self.offset.into(),
        }
        .as_bytes()
        .to_vec();
        if fits {
            let count = (self.areas.len() as u32).into();
            let head = layout::SparseAreas { id: SPARSE_CAPABILITY.into(), version: 1.into(), count, ..Default::default() };
            payload.extend_from_slice(head.as_bytes());
            for area in &self.areas {
                let area = layout::Area { offset: area.start.into(), bytes: (area.end - area.start).into() };
                payload.extend_from_slice(area.as_bytes());
            }
        }
        payload
    }

    /// From a reply's payload, without its areas.
    pub fn parse(payload: &[u8]) -> Parsed<RegionInfo> {
        let (info, _): (layout::RegionInfo, _) = layout::take(payload)?;
        layout::room(info.argsz, REGION_INFO_BYTES)?;
        let (flags, index) = (info.flags.get(), info.index.get());
        Ok(RegionInfo { flags, index, bytes: info.bytes.get(), offset: info.offset.get(), areas: Vec::new() })
    }
}
