// SPDX-License-Identifier: Apache-2.0
//! The kernel's side in memory: a card whose core echoes channel "in0" on "out0" and has a memory "ram" behind its channels 2 and 3, by the
//! requests of `driver/linux/uapi/towpath.h`. It moves bytes in the calling threads, checks every argument, and refuses what the module refuses according
//! to the header.
#![allow(missing_docs, clippy::missing_panics_doc, clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use crate::driver::LinuxDriver;
use crate::sys::{Files, Node, Way};
use crate::uapi::{self, Argument};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use towpath_contract::{Status, VERSION_MAJOR};
use towpath_system::file::memory_file;
use towpath_system::{errno, event, Mapping, Rights};

pub const QUEUE_DEPTH: u16 = 16;
/// Where the register window has a core that does not answer, and one that answers with an error.
pub const REGISTER_SILENT: u32 = 0x100;
pub const REGISTER_ERROR: u32 = 0x104;
const INTERRUPTS: usize = 2;
const CONTROL: RawFd = 1000;
/// The channels of the memory, and its bytes.
const WRITER: usize = 2;
const READER: usize = 3;
const MEMORY: usize = 65536;
/// Where its window is in the control file.
const WINDOW: u64 = 3 << 42;

pub struct Settings {
    /// Bytes that the core holds.
    pub capacity: usize,
    /// Bytes that may be registered.
    pub pinnable: u64,
    /// Major version of the card's contract.
    pub major: u16,
    /// From the end of a wait in the kernel to the program.
    pub lag: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { capacity: 1 << 20, pinnable: 1 << 30, major: VERSION_MAJOR, lag: Duration::ZERO }
    }
}

/// The card, for the test that has it.
#[derive(Clone)]
pub struct FakeCard(Arc<Inner>);

struct Inner {
    settings: Settings,
    card: Mutex<Card>,
    changed: Condvar,
}

#[derive(Default)]
struct Card {
    gone: bool,
    no_room: bool,
    queues: [Option<Queue>; 4],
    memory: Memory,
    buffers: BTreeMap<u32, uapi::RegisterBuffer>,
    next_buffer: u32,
    core: VecDeque<Message>,
    registers: BTreeMap<u32, u32>,
    interrupts: [Interrupt; INTERRUPTS],
    moderation: (u16, u16),
    exchanges: usize,
    unexpected: u64,
    /// Of each channel; a weight of 0 is that of a card that nobody has set.
    qos: [uapi::ChannelQos; 4],
    /// The program has no CAP_SYS_ADMIN.
    unprivileged: bool,
}

#[derive(Default)]
struct Interrupt {
    count: u32,
    event: Option<OwnedFd>,
}

struct Memory {
    file: OwnedFd,
    bytes: Mapping,
    /// Accesses of the window are refused, and there were so many.
    window_fails: bool,
    /// So many accesses of other programs are refused, each before the next question.
    others_fail: u32,
    cannot_be_mapped: bool,
    errors: u32,
    /// Where the next byte of the open message goes.
    at: usize,
    /// How many bytes the core still takes or gives.
    goes_on: usize,
}

impl Default for Memory {
    fn default() -> Memory {
        let file = memory_file("ram", MEMORY as u64, false).unwrap();
        let bytes = Mapping::new(&file, 0, MEMORY, Rights::BOTH).unwrap();
        Memory { file, bytes, window_fails: false, others_fail: 0, cannot_be_mapped: false, errors: 0, at: 0, goes_on: usize::MAX }
    }
}

#[derive(Default)]
struct Message {
    bytes: VecDeque<u8>,
    ended: bool,
    length: u64,
    offset: u32,
    user: u32,
}

struct Queue {
    event: OwnedFd,
    announce: bool,
    flying: VecDeque<Flight>,
    ended: VecDeque<uapi::Completion>,
    next_ticket: u64,
    completed: u64,
    message_open: bool,
    reset_untold: bool,
    /// C2H: the eventfd is signalled once the core has so many bytes.
    level: Option<u32>,
    /// Memory was taken back: nothing is taken until all that it ended has been collected.
    cut_short: bool,
}

struct Flight {
    ticket: u64,
    pieces: Vec<uapi::Piece>,
    moved: u64,
    bytes: u64,
    places: u16,
    transfer: uapi::Transfer,
}

impl Flight {
    /// Where byte `moved` of the transfer is.
    fn place(&self) -> *mut u8 {
        let mut skip = self.moved;
        for piece in &self.pieces {
            if skip < piece.bytes {
                return (piece.address + skip) as *mut u8;
            }
            skip -= piece.bytes;
        }
        panic!("behind the end")
    }
}

impl Queue {
    fn end(&mut self, status: Status, offset: u32, user: u32) {
        let flight = self.flying.pop_front().unwrap();
        let bytes = flight.moved as u32;
        self.ended.push_back(uapi::Completion { ticket: flight.ticket, bytes, status: status as u32, offset, user });
        self.completed += 1;
        event::signal(&self.event);
    }

    fn end_all(&mut self, status: Status) {
        while !self.flying.is_empty() {
            self.end(status, 0, 0);
        }
    }
}

fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

fn check(right: bool) -> io::Result<()> {
    if right {
        Ok(())
    } else {
        Err(error(errno::EINVAL))
    }
}

impl FakeCard {
    pub fn new(settings: Settings) -> FakeCard {
        FakeCard(Arc::new(Inner { settings, card: Mutex::default(), changed: Condvar::new() }))
    }

    /// As a program opens it.
    pub fn open(&self) -> Result<LinuxDriver, crate::OpenError> {
        LinuxDriver::over("/dev/towpath7", Box::new(self.clone()))
    }

    fn card(&self) -> MutexGuard<'_, Card> {
        self.0.card.lock()
    }

    fn tell(&self) {
        self.0.changed.notify_all();
    }

    /// It is pulled out.
    pub fn unplug(&self) {
        let mut card = self.card();
        card.gone = true;
        card.reset();
        self.tell();
    }

    /// Another program resets the card.
    pub fn reset_by_another(&self) {
        let mut card = self.card();
        card.reset();
        card.queues.iter_mut().flatten().for_each(|queue| queue.reset_untold = true);
        self.tell();
    }

    /// The kernel accepts no transfers, though their places are free.
    pub fn no_room(&self, so: bool) {
        self.card().no_room = so;
    }

    /// The next transfer in flight ends with that status, whatever it has moved.
    pub fn end(&self, channel: usize, status: Status) {
        let mut card = self.card();
        card.unexpected += u64::from(status == Status::None);
        card.queues[channel].as_mut().unwrap().end(status, 0, 0);
        self.tell();
    }

    /// What is in the memory.
    pub fn memory(&self) -> Vec<u8> {
        let mut found = vec![0; MEMORY];
        self.card().memory.bytes.read(0, &mut found);
        found
    }

    /// From now on its window cannot be mapped, or can again.
    pub fn window_cannot_be_mapped(&self, cannot: bool) {
        self.card().memory.cannot_be_mapped = cannot;
    }

    /// From now on accesses of its window are refused; what a load finds is what is there.
    pub fn window_fails(&self, fails: bool) {
        self.card().memory.window_fails = fails;
    }

    /// So many accesses of other programs will be refused, while this one asks.
    pub fn others_fail(&self, times: u32) {
        self.card().memory.others_fail = times;
    }

    /// The memory takes and gives so many more bytes, and then stalls.
    pub fn memory_goes_on(&self, bytes: usize) {
        let mut card = self.card();
        card.memory.goes_on = bytes;
        card.pump(self.0.settings.capacity);
        self.tell();
    }

    /// Memory of a transfer in flight is taken back.
    pub fn take_back(&self, channel: usize) {
        let mut card = self.card();
        let queue = card.queues[channel].as_mut().unwrap();
        queue.end_all(Status::Cancelled);
        queue.cut_short = true;
        self.tell();
    }

    /// Another process that shares the file collects what has ended.
    pub fn steal(&self, channel: usize) {
        self.card().queues[channel].as_mut().unwrap().ended.clear();
    }

    /// The core raises an interrupt.
    pub fn interrupt(&self, index: usize) {
        let mut card = self.card();
        let interrupt = &mut card.interrupts[index];
        interrupt.count += 1;
        interrupt.event.iter().for_each(event::signal);
        self.tell();
    }

    /// The card's function is reset: its counts begin anew.
    pub fn forget_interrupts(&self) {
        self.card().interrupts.iter_mut().for_each(|interrupt| interrupt.count = 0);
    }

    /// Calls for transfers so far.
    pub fn exchanges(&self) -> usize {
        self.card().exchanges
    }

    /// The program may not set what is the system's.
    pub fn unprivileged(&self, so: bool) {
        self.card().unprivileged = so;
    }

    pub fn moderation(&self) -> (u16, u16) {
        self.card().moderation
    }

    /// Registered buffers.
    pub fn buffers(&self) -> usize {
        self.card().buffers.len()
    }

    /// Pieces in flight that lie in registered memory, and others.
    pub fn pieces(&self) -> (usize, usize) {
        let card = self.card();
        let pieces = card.queues.iter().flatten().flat_map(|queue| &queue.flying).flat_map(|flight| &flight.pieces);
        let (registered, others): (Vec<&uapi::Piece>, _) = pieces.partition(|piece| piece.buffer != 0);
        (registered.len(), others.len())
    }
}

impl Card {
    fn reset(&mut self) {
        self.queues.iter_mut().flatten().for_each(|queue| {
            queue.end_all(Status::Reset);
            queue.message_open = false;
            event::signal(&queue.event);
        });
        self.core.clear();
        self.registers.clear();
    }

    /// Move what can be moved.
    fn pump(&mut self, capacity: usize) {
        while self.pump_in(capacity) | self.pump_out() | self.pump_memory(WRITER) | self.pump_memory(READER) {}
        let held = self.held();
        if let Some(queue) = self.queues[1].as_mut().filter(|queue| queue.level.is_some_and(|level| held >= level)) {
            queue.level = None;
            event::signal(&queue.event);
        }
    }

    /// Bytes that the core has and no transfer has taken.
    fn held(&self) -> u32 {
        self.core.iter().map(|message| message.bytes.len() as u32).sum()
    }

    fn qos(&mut self, wanted: &mut uapi::ChannelQos) -> io::Result<()> {
        let (now, changed) = (&mut self.qos[wanted.index as usize], wanted.flags);
        check(changed & !(uapi::SET_WEIGHT | uapi::SET_RATE | uapi::SET_TRAFFIC_CLASS) == 0)?;
        if changed != 0 && self.unprivileged {
            return Err(error(errno::EPERM));
        }
        check(changed & uapi::SET_WEIGHT == 0 || (1..256).contains(&wanted.weight))?;
        check(changed & uapi::SET_TRAFFIC_CLASS == 0 || wanted.traffic_class < 8)?;
        let busy = self.queues[wanted.index as usize].as_ref().is_some_and(|queue| !queue.flying.is_empty());
        if changed & uapi::SET_TRAFFIC_CLASS != 0 && wanted.traffic_class != now.traffic_class && busy {
            return Err(error(errno::EBUSY));
        }
        if changed & uapi::SET_WEIGHT != 0 {
            now.weight = wanted.weight;
        }
        if changed & uapi::SET_RATE != 0 {
            now.rate = wanted.rate;
        }
        if changed & uapi::SET_TRAFFIC_CLASS != 0 {
            now.traffic_class = wanted.traffic_class;
        }
        (wanted.weight, wanted.rate, wanted.traffic_class) = (now.weight.max(1), now.rate, now.traffic_class);
        Ok(())
    }

    /// A descriptor of the memory's: the bytes of an open message go on where it was, whatever address the next one has.
    fn pump_memory(&mut self, channel: usize) -> bool {
        let (Some(queue), memory) = (&mut self.queues[channel], &mut self.memory) else { return false };
        let Some(flight) = queue.flying.front_mut() else { return false };
        if channel == READER {
            memory.at = flight.transfer.offset as usize + flight.moved as usize;
        } else if !queue.message_open {
            memory.at = flight.transfer.offset as usize;
            queue.message_open = true;
        }
        while flight.moved < flight.bytes {
            if memory.goes_on == 0 {
                return false;
            }
            if memory.goes_on != usize::MAX {
                memory.goes_on -= 1;
            }
            match channel {
                READER => memory.bytes.read(memory.at, std::slice::from_mut(unsafe { &mut *flight.place() })),
                _ => memory.bytes.write(memory.at, &[unsafe { *flight.place() }]),
            }
            memory.at += 1;
            flight.moved += 1;
        }
        if channel == WRITER && flight.transfer.flags & uapi::TRANSFER_END != 0 {
            queue.message_open = false;
        }
        queue.end(if channel == READER { Status::EndOfMessage } else { Status::Done }, 0, 0);
        true
    }

    fn pump_in(&mut self, capacity: usize) -> bool {
        let held: usize = self.core.iter().map(|message| message.bytes.len()).sum();
        let Some(queue) = &mut self.queues[0] else { return false };
        let Some(flight) = queue.flying.front_mut() else { return false };
        if !queue.message_open {
            let (length, offset, user) = (flight.transfer.length, flight.transfer.offset as u32, flight.transfer.user);
            self.core.push_back(Message { length, offset, user, ..Message::default() });
            queue.message_open = true;
            // For calls that wait for starts.
            self.queues[1].iter().for_each(|queue| event::signal(&queue.event));
            return true;
        }
        let count = (flight.bytes - flight.moved).min(capacity.saturating_sub(held) as u64);
        let message = self.core.back_mut().unwrap();
        for _ in 0..count {
            message.bytes.push_back(unsafe { *flight.place() });
            flight.moved += 1;
        }
        if flight.moved < flight.bytes {
            return count > 0;
        }
        message.ended = flight.transfer.flags & uapi::TRANSFER_END != 0;
        queue.message_open = !message.ended;
        queue.end(Status::Done, 0, 0);
        true
    }

    fn pump_out(&mut self) -> bool {
        let Some(queue) = &mut self.queues[1] else { return false };
        let (Some(flight), Some(message)) = (queue.flying.front_mut(), self.core.front_mut()) else { return false };
        let count = (flight.bytes - flight.moved).min(message.bytes.len() as u64);
        for byte in message.bytes.drain(..count as usize) {
            unsafe { *flight.place() = byte };
            flight.moved += 1;
        }
        let (offset, user) = (message.offset, message.user);
        if message.bytes.is_empty() && message.ended {
            self.core.pop_front();
            queue.end(Status::EndOfMessage, offset, user);
        } else if flight.moved == flight.bytes {
            queue.end(Status::Done, offset, user);
        } else {
            return count > 0;
        }
        true
    }

    fn submit(&mut self, channel: usize, transfer: &uapi::Transfer) -> io::Result<u64> {
        let flags = [7, 0, 7, uapi::TRANSFER_ATTRIBUTES][channel];
        check(transfer.reserved == 0 && transfer.flags & !flags == 0)?;
        check(transfer.count as usize <= uapi::TRANSFER_PIECES)?;
        let attributes = transfer.flags & uapi::TRANSFER_ATTRIBUTES != 0;
        check(attributes || (transfer.offset == 0 && transfer.user == 0))?;
        check(transfer.flags & uapi::TRANSFER_LENGTH != 0 || transfer.length == 0)?;
        let pieces: Vec<uapi::Piece> = match transfer.count {
            0 => Vec::new(),
            count => unsafe { std::slice::from_raw_parts(transfer.pieces as *const uapi::Piece, count as usize) }.to_vec(),
        };
        let wanted = if channel % 2 == 0 { uapi::BUFFER_TO_CARD } else { uapi::BUFFER_FROM_CARD };
        for piece in &pieces {
            check(piece.reserved == 0 && piece.bytes > 0)?;
            if piece.buffer != 0 {
                let buffer = self.buffers.get(&piece.buffer).ok_or_else(|| error(errno::EINVAL))?;
                let inside = piece.address >= buffer.address && piece.address + piece.bytes <= buffer.address + buffer.bytes;
                check(inside && buffer.flags & wanted != 0)?;
            }
        }
        let bytes = pieces.iter().map(|piece| piece.bytes).sum();
        check(bytes <= uapi::TRANSFER_BYTES as u64)?;
        let places = 1 + u16::from(attributes) + u16::from(transfer.flags & uapi::TRANSFER_LENGTH != 0);
        let no_room = self.no_room;
        let queue = self.queues[channel].as_mut().unwrap();
        queue.cut_short &= !queue.ended.is_empty();
        if queue.cut_short {
            return Err(error(errno::ECANCELED));
        }
        if no_room || queue.flying.iter().map(|flight| flight.places).sum::<u16>() + places > QUEUE_DEPTH {
            return Err(error(errno::EAGAIN));
        }
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.flying.push_back(Flight { ticket, pieces, moved: 0, bytes, places, transfer: *transfer });
        Ok(ticket)
    }
}

/// An open file of the card's.
struct FakeNode {
    card: FakeCard,
    /// None: the control file.
    channel: Option<usize>,
}

impl Files for FakeCard {
    fn open(&self, name: &str, way: Way) -> io::Result<Box<dyn Node>> {
        let channel = if name == "control" { None } else { Some(name.parse::<usize>().unwrap()) };
        assert_eq!(way, channel.map_or(Way::Both, |channel| [Way::Write, Way::Read][channel % 2]));
        let mut card = self.card();
        if card.gone {
            return Err(error(errno::ENODEV));
        }
        if let Some(channel) = channel {
            if card.queues[channel].is_some() {
                return Err(error(errno::EBUSY));
            }
            let event = event::new()?;
            card.queues[channel] = Some(Queue {
                event,
                announce: false,
                flying: VecDeque::new(),
                ended: VecDeque::new(),
                next_ticket: 0,
                completed: 0,
                message_open: false,
                reset_untold: false,
                level: None,
                cut_short: false,
            });
        }
        Ok(Box::new(FakeNode { card: self.clone(), channel }))
    }
}

impl Drop for FakeNode {
    fn drop(&mut self) {
        if let Some(channel) = self.channel {
            self.card.card().queues[channel] = None;
        }
    }
}

/// A second hold on a program's eventfd, as the kernel has one.
fn hold(descriptor: RawFd) -> OwnedFd {
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().unwrap()
}

impl Node for FakeNode {
    unsafe fn request(&self, number: u32, argument: *mut c_void) -> io::Result<()> {
        match self.channel {
            None => self.of_card(number, argument),
            Some(channel) => self.of_channel(channel, number, argument),
        }
    }

    fn descriptor(&self) -> RawFd {
        CONTROL
    }

    fn map(&self, offset: u64, bytes: usize) -> io::Result<Mapping> {
        check(self.channel.is_none() && offset == WINDOW && bytes == MEMORY)?;
        if self.card.card().memory.cannot_be_mapped {
            return Err(error(errno::ENOMEM));
        }
        Mapping::new(&self.card.card().memory.file, 0, bytes, Rights::BOTH)
    }
}

fn write_name(place: &mut [std::ffi::c_char], name: &str) {
    place.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte as std::ffi::c_char);
}

/// The argument of a request, as a structure.
fn structure<'a, T: Argument>(argument: *mut c_void) -> &'a mut T {
    let words = unsafe { std::slice::from_raw_parts(argument.cast::<u32>(), 2) };
    assert_eq!(words[0] as usize, size_of::<T>(), "argsz");
    unsafe { &mut *argument.cast::<T>() }
}

impl FakeNode {
    /// Wait until `found` finds something, for `timeout_ns` without progress.
    fn wait<T>(&self, timeout_ns: i64, progress: impl Fn(&Card) -> u64, mut found: impl FnMut(&mut Card) -> Option<T>) -> io::Result<T> {
        let limit = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
        let mut card = self.card.card();
        let (mut began, mut seen) = (Instant::now(), progress(&card));
        loop {
            if let Some(found) = found(&mut card) {
                return Ok(found);
            }
            if card.gone {
                return Err(error(errno::ENODEV));
            }
            if progress(&card) != seen {
                (began, seen) = (Instant::now(), progress(&card));
            }
            let left = limit.map_or(Duration::from_secs(1), |limit| limit.saturating_sub(began.elapsed()));
            if left.is_zero() {
                return Err(error(errno::ETIMEDOUT));
            }
            self.card.0.changed.wait_for(&mut card, left);
        }
    }

    fn of_card(&self, number: u32, argument: *mut c_void) -> io::Result<()> {
        let settings = &self.card.0.settings;
        let mut card = self.card.card();
        // A program may release buffers, whatever has become of the card.
        if card.gone && number != uapi::UnregisterBuffer::REQUEST {
            return Err(error(errno::ENODEV));
        }
        match number {
            uapi::CardInfo::REQUEST => {
                let info = structure::<uapi::CardInfo>(argument);
                (info.version_major, info.data_bytes, info.serial, info.core_version) = (settings.major, 16, 0x5eed, 7);
                (info.core_clock_khz, info.user_clock_khz, info.window_bytes, info.channels) = (250_000, 250_000, 4096, 4);
                (info.vectors, info.vectors_used, info.interrupts, info.tags) = (4, 4, INTERRUPTS as u16, 32);
                (info.plugins, info.features) = (2, (uapi::FEATURE_QOS | uapi::FEATURE_FILL) as u16);
                write_name(&mut info.core_name, "fake");
            }
            uapi::ChannelInfo::REQUEST => {
                let info = structure::<uapi::ChannelInfo>(argument);
                let name = ["in0", "out0", "ram", "ram"].get(info.index as usize).ok_or_else(|| error(errno::ENXIO))?;
                write_name(&mut info.name, name);
                (info.kind, info.kind_version, info.kind_parameter) = if info.index < 2 { (0, 1, 0) } else { (1, 1, 16) };
                write_name(&mut info.kind_name, if info.index < 2 { "stream" } else { "memory" });
                (info.direction, info.queue_depth, info.inline_slots, info.buffer_bytes) = (info.index % 2, QUEUE_DEPTH.into(), 8, 4096);
            }
            uapi::PluginInfo::REQUEST => {
                let info = structure::<uapi::PluginInfo>(argument);
                let name = ["reset", "odd"].get(info.index as usize).ok_or_else(|| error(errno::ENXIO))?;
                write_name(&mut info.type_name, name);
                (info.version, info.offset, info.bytes) = (1 + info.index, 0x1000 * info.index, 0x1000);
            }
            uapi::Window::REQUEST => {
                let state = structure::<uapi::Window>(argument);
                check(state.reserved == 0)?;
                if !(2..4).contains(&state.index) {
                    return Err(error(errno::ENXIO));
                }
                let memory = &mut card.memory;
                memory.errors += u32::from(memory.window_fails || memory.others_fail > 0);
                memory.others_fail = memory.others_fail.saturating_sub(1);
                (state.offset, state.bytes, state.errors, state.stores_refused) = (WINDOW, MEMORY as u64, memory.errors, memory.errors);
            }
            uapi::ChannelQos::REQUEST => card.qos(structure(argument))?,
            uapi::Register::REQUEST => {
                let access = structure::<uapi::Register>(argument);
                match access.offset {
                    REGISTER_SILENT => return Err(error(errno::ETIMEDOUT)),
                    REGISTER_ERROR => return Err(error(errno::EREMOTEIO)),
                    offset if access.flags & uapi::REGISTER_WRITE != 0 => drop(card.registers.insert(offset, access.value)),
                    offset => access.value = card.registers.get(&offset).copied().unwrap_or(0),
                }
            }
            uapi::Interrupt::REQUEST => {
                drop(card);
                let wish = structure::<uapi::Interrupt>(argument);
                let (index, seen, waits) = (wish.index as usize, wish.seen, wish.flags & uapi::INTERRUPT_WAIT != 0);
                let found = |card: &mut Card| Some(card.interrupts[index].count).filter(|count| !waits || *count != seen);
                wish.count = self.wait(wish.timeout_ns, |_| 0, found)?;
            }
            uapi::InterruptEvent::REQUEST => {
                let wish = structure::<uapi::InterruptEvent>(argument);
                card.interrupts[wish.index as usize].event = Some(hold(wish.eventfd));
            }
            uapi::LinkCounters::REQUEST => structure::<uapi::LinkCounters>(argument).timeouts = 3,
            uapi::RegisterBuffer::REQUEST => {
                let wish = structure::<uapi::RegisterBuffer>(argument);
                check(wish.bytes > 0 && wish.flags & 3 != 0 && wish.reserved == 0 && wish.buffer == 0)?;
                let pinned: u64 = card.buffers.values().map(|buffer| buffer.bytes).sum();
                if pinned + wish.bytes > settings.pinnable {
                    return Err(error(errno::ENOMEM));
                }
                card.next_buffer += 1;
                wish.buffer = card.next_buffer;
                card.buffers.insert(wish.buffer, *wish);
            }
            uapi::UnregisterBuffer::REQUEST => {
                let buffer = structure::<uapi::UnregisterBuffer>(argument).buffer;
                let mut flying = card.queues.iter().flatten().flat_map(|queue| &queue.flying).flat_map(|flight| &flight.pieces);
                if flying.any(|piece| piece.buffer == buffer) {
                    return Err(error(errno::EBUSY));
                }
                check(card.buffers.remove(&buffer).is_some())?;
            }
            uapi::CARD_RESET => {
                card.reset();
                // The module does not record whose queues these are.
                card.queues.iter_mut().flatten().for_each(|queue| queue.reset_untold = true);
                self.card.tell();
            }
            _ => return Err(error(errno::ENOTTY)),
        }
        Ok(())
    }

    fn of_channel(&self, channel: usize, number: u32, argument: *mut c_void) -> io::Result<()> {
        if number == uapi::Exchange::REQUEST {
            return self.exchange(channel, structure(argument));
        }
        if number == uapi::MessageStart::REQUEST {
            let wish = structure::<uapi::MessageStart>(argument);
            let first = |card: &mut Card| card.core.front().map(|message| (message.length, message.offset, message.user));
            check(self.card.card().queues[channel].as_ref().unwrap().announce)?;
            (wish.length, wish.offset, wish.user) = self.wait(wish.timeout_ns, |_| 0, first)?;
            return Ok(());
        }
        if number == uapi::FillLevel::REQUEST {
            return self.fill_level(channel, structure(argument));
        }
        let mut card = self.card.card();
        if card.gone {
            return Err(error(errno::ENODEV));
        }
        let (unexpected, queue) = (card.unexpected, card.queues[channel].as_mut().unwrap());
        match number {
            uapi::Queue::REQUEST => {
                let wish = structure::<uapi::Queue>(argument);
                check(wish.control == CONTROL && (channel % 2 == 1 || wish.flags == 0))?;
                (queue.event, queue.announce) = (hold(wish.eventfd), wish.flags & uapi::QUEUE_ANNOUNCE != 0);
            }
            uapi::CANCEL => queue.end_all(Status::Cancelled),
            uapi::CHANNEL_RESET => {
                queue.end_all(Status::Reset);
                queue.message_open = false;
                if channel == 1 {
                    card.core.clear();
                } else if channel == 0 && card.core.back().is_some_and(|message| !message.ended) {
                    card.core.pop_back();
                }
            }
            uapi::Moderation::REQUEST => {
                let wish = structure::<uapi::Moderation>(argument);
                card.moderation = (wish.entries, wish.time);
            }
            uapi::ChannelStatistics::REQUEST => structure::<uapi::ChannelStatistics>(argument).unexpected = 5 + unexpected,
            _ => return Err(error(errno::ENOTTY)),
        }
        self.card.tell();
        Ok(())
    }

    /// What has landed the core of this card has taken, and it can send as much as it holds.
    fn fill_level(&self, channel: usize, wish: &mut uapi::FillLevel) -> io::Result<()> {
        check(wish.flags.count_ones() < 2)?;
        let (capacity, level, waits) = (self.card.0.settings.capacity, wish.level, wish.flags & uapi::LEVEL_WAIT != 0);
        let look = |card: &mut Card| {
            let held = if channel == 1 { card.held() } else { 0 };
            let full = channel == 1 && held as usize >= capacity;
            Some((held, full, channel == 0 || full || held >= level)).filter(|look| look.2 || !waits)
        };
        let (bytes, full, reached) = self.wait(wish.timeout_ns, |_| 0, look)?;
        (wish.bytes, wish.full, wish.reached) = (bytes, full.into(), reached.into());
        if wish.flags & (uapi::LEVEL_EVENT | uapi::LEVEL_NEVER) != 0 {
            let wanted = (wish.flags & uapi::LEVEL_EVENT != 0 && !reached).then_some(level);
            self.card.card().queues[channel].as_mut().unwrap().level = wanted;
        }
        Ok(())
    }

    fn exchange(&self, channel: usize, wish: &mut uapi::Exchange) -> io::Result<()> {
        check(wish.reserved == 0 && wish.wanted <= wish.completions)?;
        {
            let mut card = self.card.card();
            card.exchanges += 1;
            if card.gone && wish.transfers > 0 {
                return Err(error(errno::ENODEV));
            }
            let queue = card.queues[channel].as_mut().unwrap();
            if std::mem::take(&mut queue.reset_untold) {
                return Err(error(errno::ECONNRESET));
            }
            let transfers = match wish.transfers {
                0 => &[][..],
                count => unsafe { std::slice::from_raw_parts(wish.transfer as *const uapi::Transfer, count as usize) },
            };
            for transfer in transfers {
                match card.submit(channel, transfer) {
                    Ok(ticket) if wish.submitted == 0 => (wish.ticket, wish.submitted) = (ticket, 1),
                    Ok(_) => wish.submitted += 1,
                    Err(why) if wish.submitted == 0 => return Err(why),
                    Err(_) => break,
                }
            }
            card.pump(self.card.0.settings.capacity);
            self.card.tell();
        }
        let wanted = wish.wanted as usize;
        let completed = |card: &Card| card.queues[channel].as_ref().unwrap().completed;
        // A call that waits for more than is in flight would wait without a limit.
        let enough = |card: &mut Card| {
            let queue = card.queues[channel].as_ref().unwrap();
            (queue.ended.len() >= wanted || queue.flying.is_empty()).then_some(())
        };
        let waited = self.wait(wish.timeout_ns, completed, enough);
        let mut card = self.card.card();
        let queue = card.queues[channel].as_mut().unwrap();
        let count = queue.ended.len().min(wish.completions as usize);
        for (index, completion) in queue.ended.drain(..count).enumerate() {
            unsafe { (wish.completion as *mut uapi::Completion).add(index).write(completion) };
        }
        wish.collected = count as u32;
        if waited.is_err() && std::mem::take(&mut queue.reset_untold) {
            return Err(error(errno::ECONNRESET));
        }
        if card.gone && count == 0 {
            return Err(error(errno::ENODEV));
        }
        drop(card);
        if wanted > 0 {
            std::thread::sleep(self.card.0.settings.lag);
        }
        waited
    }
}
