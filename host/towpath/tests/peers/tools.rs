// SPDX-License-Identifier: Apache-2.0
//! Cards, what is sent and what comes.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use towpath::{Buffer, Device, Pair, Receiver, Status, Transfer};
use towpath_sim::{Settings, SimBus, World};
use towpath_userspace::UserDriver;

/// More than anything here takes that comes to an end.
pub const LIMIT: Duration = Duration::from_millis(1);
/// Room for the longest message.
const ROOM: usize = 16 << 10;
/// Buffers that a tap has posted.
const POSTED: usize = 6;

pub struct Random(u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound.max(1) as u64) as usize
    }

    /// Of a message: none, around a slot of `slot` bytes, or anything up to three.
    pub fn length(&mut self, slot: usize) -> usize {
        match self.below(4) {
            0 => self.below(3),
            1 => self.below(100),
            2 => slot * (1 + self.below(2)) + self.below(3) - 1,
            _ => self.below(3 * slot),
        }
    }
}

pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
}

pub fn seed() -> Random {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = number("TOWPATH_SEED", time.as_nanos() as u64 | 1);
    eprintln!("TOWPATH_SEED={seed}");
    Random(seed | 1)
}

fn root() -> PathBuf {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().into();
    std::env::set_var("TOWPATH_HOME", &root);
    root
}

pub struct Card {
    pub bus: Arc<SimBus>,
    pub device: Device,
}

/// Cards of one core in one world.
pub fn cards(core: &str, width: u32, count: usize) -> Vec<Card> {
    cards_with(core, width, count, "")
}

/// With settings of the world.
pub fn cards_with(core: &str, width: u32, count: usize, settings: &str) -> Vec<Card> {
    let options = towpath_cores::BuildOptions { width: Some(width), ..Default::default() };
    let built = towpath_cores::build(&root().join(core), &options).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<_> = built.manifest.registers.iter().flat_map(|r| r.names.clone()).collect();
    // A link that the width keeps up with.
    let link = if width == 64 { "lanes=4" } else { "lanes=8" };
    let world = World::new(Settings::from_query(&format!("{link}{settings}")).unwrap()).unwrap();
    let card = |number| {
        let print = Arc::new(|_, text: &str| eprint!("{text}"));
        let bus = world.open(&format!("card {number}"), &built.library, None, print, names.clone()).unwrap();
        Card { bus: bus.clone(), device: Device::from_driver(Arc::new(UserDriver::open(bus).unwrap())) }
    };
    (0..count).map(card).collect()
}

/// What a message is made of: nothing but its number.
pub fn byte(message: usize, at: usize) -> u8 {
    let mixed = ((message as u64) << 32 | at as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56) as u8
}

pub fn bytes(message: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| byte(message, at)).collect()
}

/// What one receive has brought.
#[derive(Debug)]
pub struct Part {
    pub bytes: Vec<u8>,
    pub end: bool,
    pub offset: u32,
    pub user: u32,
    /// It is the beginning of a message that a pair's end has cut.
    pub cut: bool,
}

/// Receives all the time, while others make time pass.
pub struct Tap {
    pub receiver: Receiver,
    pub buffers: Vec<Buffer>,
    pub posted: VecDeque<(Transfer, usize)>,
    pub bytes: u64,
    pub messages: u32,
}

impl Tap {
    pub fn new(device: &Device, channel: &str) -> Tap {
        let buffers = (0..POSTED).map(|_| device.allocate(ROOM).unwrap()).collect();
        let mut tap = Tap { receiver: device.receiver(channel).unwrap(), buffers, posted: VecDeque::new(), bytes: 0, messages: 0 };
        tap.open();
        tap
    }

    pub fn open(&mut self) {
        (0..POSTED).for_each(|place| self.post(place));
    }

    fn post(&mut self, place: usize) {
        self.posted.push_back((self.receiver.submit(&mut self.buffers[place], ..).unwrap(), place));
    }

    fn part(&mut self, done: towpath::Completion, place: usize) -> Part {
        let end = done.status == Status::EndOfMessage;
        let bytes = self.buffers[place].as_slice().unwrap()[..done.bytes as usize].to_vec();
        (self.bytes, self.messages) = (self.bytes + done.bytes, self.messages + u32::from(end));
        Part { bytes, end, offset: done.offset, user: done.user, cut: false }
    }

    /// What has come.
    pub fn poll(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some((transfer, place)) = self.posted.front_mut() {
            let Some(done) = transfer.try_wait().unwrap() else { break };
            let place = *place;
            assert!(matches!(done.status, Status::Done | Status::EndOfMessage), "{done:?}");
            self.posted.pop_front();
            parts.push(self.part(done, place));
            self.post(place);
        }
        parts
    }

    /// What has come, and what had begun; nothing is posted any more.
    pub fn close(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        self.posted.iter().for_each(|(transfer, _)| transfer.cancel().unwrap());
        while let Some((mut transfer, place)) = self.posted.pop_front() {
            let done = transfer.wait(Some(LIMIT)).unwrap();
            let part = self.part(done, place);
            if part.end || !part.bytes.is_empty() {
                parts.push(part);
            }
        }
        parts
    }
}

/// As each message says: its number, in two ways.
pub fn attributes(number: usize) -> (u32, u32) {
    (number as u32 + 1, !(number as u32))
}

/// All parts, in the order of the pairings, are all messages in their order. Returns how many were cut.
pub fn check(sent: &[usize], got: &[Part]) -> usize {
    let (mut number, mut at, mut cuts) = (0, 0, 0);
    for part in got {
        let length = *sent.get(number).unwrap_or_else(|| panic!("more than {} messages: {part:?}", sent.len()));
        let what = format!("message {number} of {length} bytes, from {at} on: {} bytes, {:?}", part.bytes.len(), (part.end, part.cut));
        assert!(at + part.bytes.len() <= length, "too much of {what}");
        let right = part.bytes.iter().enumerate().all(|(n, found)| *found == byte(number, at + n));
        assert!(right, "wrong bytes of {what}: {:?}", part.bytes);
        // Of what follows a cut, too.
        assert_eq!((part.offset, part.user), attributes(number), "attributes of {what}");
        at += part.bytes.len();
        if part.end && !part.cut {
            assert_eq!(at, length, "the end of {what}");
            (number, at) = (number + 1, 0);
        } else {
            cuts += usize::from(part.cut);
        }
    }
    assert_eq!((number, at), (sent.len(), 0), "what came last");
    cuts
}

pub fn disconnect(pair: &mut Pair) -> bool {
    let parted = pair.disconnect(Some(LIMIT).into()).unwrap();
    assert!(parted.arrived && parted.taken && parted.fault.is_none(), "{parted:?}");
    parted.cut
}
