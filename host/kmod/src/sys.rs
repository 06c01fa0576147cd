// SPDX-License-Identifier: Apache-2.0
//! Requests on the card's files. All unsafe code of this crate is here and in the fake of the tests, except for calls that pass memory on.

use crate::uapi::{self, Argument};
use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use towpath_system::{file, ioctl, Mapping, Rights};

/// How long a card's reset may take, and how often to look whether it is over.
const RESET_LIMIT: Duration = Duration::from_secs(2);
pub const RESET_LOOK: Duration = Duration::from_millis(1);

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the card.
    Write,
    /// From the card.
    Read,
    /// The control file.
    Both,
}

/// The files of one card.
pub trait Files: Send + Sync {
    /// Open one by its name in the card's folder.
    fn open(&self, name: &str, way: Way) -> io::Result<Box<dyn Node>>;
}

/// An open file of a card.
pub trait Node: Send + Sync {
    /// A request, as ioctl(2).
    ///
    /// # Safety
    /// `argument` points to the structure of that request, or is null if it has none. Memory that the structure names stays valid for as
    /// long as the request is documented to use it.
    unsafe fn request(&self, number: u32, argument: *mut c_void) -> io::Result<()>;
    /// The descriptor that other requests name it by.
    fn descriptor(&self) -> RawFd;
    /// Map a part of it, as mmap(2).
    fn map(&self, offset: u64, bytes: usize) -> io::Result<Mapping>;
}

/// The folder of a card's files, as the module makes it.
pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn open(&self, name: &str, way: Way) -> io::Result<Box<dyn Node>> {
        // To read with O_DIRECT: the kernel requests nothing from the channel before it is a queue, which so finds all that the core has
        // sent.
        let flags = if way == Way::Read { file::DIRECT } else { 0 };
        let file = OpenOptions::new().read(way != Way::Write).write(way != Way::Read).custom_flags(flags).open(self.0.join(name))?;
        Ok(Box::new(file))
    }
}

impl Node for File {
    unsafe fn request(&self, number: u32, argument: *mut c_void) -> io::Result<()> {
        // SAFETY: by this function's contract.
        unsafe { ioctl(self, number, argument) }.map(drop)
    }

    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }

    fn map(&self, offset: u64, bytes: usize) -> io::Result<Mapping> {
        Mapping::new(self, offset, bytes, Rights::BOTH)
    }
}

/// A structure that names no memory.
///
/// # Safety
/// The request reads and writes the structure and nothing else.
pub unsafe trait Plain: Argument {}

macro_rules! plain {
    ($($name:ident)*) => {
        $(
            // SAFETY: there is no address in it.
            unsafe impl Plain for uapi::$name {}
        )*
    };
}
plain!(CardInfo ChannelInfo ChannelQos FillLevel PluginInfo Window Register Interrupt InterruptEvent LinkCounters UnregisterBuffer Queue MessageStart Moderation ChannelStatistics);

/// A request that a signal may end: [`io::ErrorKind::Interrupted`].
pub fn ask_once<T: Plain>(node: &dyn Node, argument: &mut T) -> io::Result<()> {
    *argument = argument.measured();
    // SAFETY: it is the request's structure, and names no memory.
    unsafe { node.request(T::REQUEST, std::ptr::from_mut(argument).cast()) }
}

/// A request that is soon over.
pub fn ask<T: Plain>(node: &dyn Node, argument: &mut T) -> io::Result<()> {
    uninterrupted(|| ask_once(node, argument))
}

/// A request without a structure.
pub fn order(node: &dyn Node, number: u32) -> io::Result<()> {
    assert!([uapi::CARD_RESET, uapi::CHANNEL_RESET, uapi::CANCEL].contains(&number));
    // SAFETY: these take no structure.
    uninterrupted(|| unsafe { node.request(number, std::ptr::null_mut()) })
}

/// Repeat while a signal ends it, or because the card is being reset, which is soon over.
fn uninterrupted(mut call: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match call() {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::ConnectionReset && began.elapsed() < RESET_LIMIT => std::thread::sleep(RESET_LOOK),
            done => return done,
        }
    }
}

/// Pin memory and map it for the card; returns its handle.
///
/// # Safety
/// The memory stays valid, and is not used in a way that races with the card, until it is unregistered or the control file closed.
pub unsafe fn register_buffer(control: &dyn Node, flags: u32, address: u64, bytes: u64) -> io::Result<u32> {
    let mut argument = uapi::RegisterBuffer { flags, address, bytes, ..Default::default() }.measured();
    // SAFETY: the request's structure; the memory by this function's contract.
    uninterrupted(|| unsafe { control.request(uapi::RegisterBuffer::REQUEST, (&raw mut argument).cast()) })?;
    Ok(argument.buffer)
}

/// The result of an exchange. The first two hold whatever the error is.
pub struct Exchanged {
    /// The ticket of the transfer, if it was submitted.
    pub ticket: Option<u64>,
    /// How many completions were collected.
    pub collected: usize,
    /// The request's outcome.
    pub outcome: io::Result<()>,
}

impl Exchanged {
    /// Of no request.
    pub fn nothing() -> Exchanged {
        Exchanged { ticket: None, collected: 0, outcome: Ok(()) }
    }
}

/// Submit a transfer, if there is one, and collect what has ended, once `wanted` transfers have ended or the time is over.
///
/// # Safety
/// The pieces lie in memory that stays valid, and is not used in a way that races with the card, until the transfer has ended.
pub unsafe fn exchange(
    queue: &dyn Node,
    transfer: Option<(uapi::Transfer, &[uapi::Piece])>,
    room: &mut [uapi::Completion],
    wanted: u32,
    timeout: Duration,
) -> Exchanged {
    let transfer =
        transfer.map(|(transfer, pieces)| uapi::Transfer { pieces: pieces.as_ptr() as u64, count: pieces.len() as u32, ..transfer });
    let mut argument = uapi::Exchange {
        transfer: transfer.as_ref().map_or(0, |transfer| std::ptr::from_ref(transfer) as u64),
        transfers: u32::from(transfer.is_some()),
        completion: room.as_mut_ptr() as u64,
        completions: room.len() as u32,
        wanted,
        timeout_ns: i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX),
        ..Default::default()
    }
    .measured();
    // SAFETY: the request's structure; transfer, pieces and room live until it returns; the memory by this function's contract.
    let outcome = unsafe { queue.request(uapi::Exchange::REQUEST, (&raw mut argument).cast()) };
    Exchanged {
        ticket: (argument.submitted > 0).then_some(argument.ticket),
        collected: room.len().min(argument.collected as usize),
        outcome,
    }
}
