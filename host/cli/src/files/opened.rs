// SPDX-License-Identifier: Apache-2.0
//! A file's calls on its channel or memory. An error is the number that the program gets.

use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use towpath::{Device, Error, Memory, Message, Receiver, Sender, WaitOptions};
use towpath_system::errno::{EACCES, EAGAIN, EBUSY, EINTR, EINVAL, ENODEV, ENOSPC};

use super::names::{Behind, Entry};
use crate::output;

/// Bytes that have arrived and do not fill a program's buffer are its own after this time, as Xillybus has it.
const SLICE: Duration = Duration::from_millis(10);
/// The same for a simulated card: 10 ms of its time take seconds to simulate.
const SIMULATED_SLICE: Duration = Duration::from_micros(100);
/// And by Xillybus's names: longer than the ports of such a core hold back the last bytes of a message after the one before.
const SIMULATED_REST: Duration = Duration::from_micros(350);
/// How long a close or `fsync` waits for the card to take the end of a message.
const CLOSING: Duration = Duration::from_secs(10);
/// How long an open waits for the close before it.
const OPENING: Duration = Duration::from_millis(200);

pub type Result<T> = std::result::Result<T, i32>;

/// What a program wants of one call.
pub struct Call<'a> {
    /// The thread that waits for it.
    pub thread: u32,
    pub non_blocking: bool,
    /// `O_DIRECT`: a write is a message.
    pub direct: bool,
    /// The files end.
    pub stopping: &'a (dyn Fn() -> bool + Sync),
}

impl Call<'_> {
    /// Has its thread a signal to act on? FUSE's interrupts do not reach this process by the library; the signal is the caller's until it returns.
    fn is_interrupted(&self) -> bool {
        (self.stopping)() || has_signal(&std::fs::read_to_string(format!("/proc/{}/status", self.thread)).unwrap_or_default())
    }

    fn why(&self) -> i32 {
        if (self.stopping)() {
            ENODEV
        } else {
            EINTR
        }
    }
}

/// Does this status of a thread show a signal that is pending and not blocked?
fn has_signal(status: &str) -> bool {
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| u64::from_str_radix(rest.trim(), 16).ok()).unwrap_or(0)
    };
    (mask("SigPnd:") | mask("ShdPnd:")) & !mask("SigBlk:") != 0
}

/// A channel or memory in use.
enum Opened {
    Written {
        sender: Sender,
        owed: Mutex<Owed>,
    },
    /// Whether the end of the file has come behind bytes that a read has returned.
    Read(Receiver, AtomicBool),
    Memory(Memory),
}

/// What the last close sends.
#[derive(Default)]
struct Owed {
    /// A message is open: its end.
    open: bool,
    /// By Xillybus's names: behind it an empty message, by which the core forgets a part of a word.
    empty: bool,
}

#[derive(Default)]
struct Use {
    programs: usize,
    opened: Option<Arc<Opened>>,
}

/// One file.
pub struct File {
    pub entry: Entry,
    device: Device,
    slice: Duration,
    used: Mutex<Use>,
    released: Condvar,
}

/// The number for the program. The text, which no errno carries, goes to standard error.
fn told(file: &str, error: &Error) -> i32 {
    if !matches!(error, Error::ChannelInUse { .. }) {
        output::eprintln_lossy(&format!("{file}: {error}"));
    }
    error.errno()
}

impl File {
    pub fn new(device: &Device, entry: Entry) -> File {
        let slice = match (device.wire().is_some(), entry.at_once) {
            (false, _) => SLICE,
            (true, false) => SIMULATED_SLICE,
            (true, true) => SIMULATED_REST,
        };
        File { entry, device: device.clone(), slice, used: Mutex::default(), released: Condvar::new() }
    }

    /// A stream has one user at a time, a memory any number. `reads` and `writes`: what the program wants.
    pub fn open(&self, reads: bool, writes: bool) -> Result<()> {
        let fits = match self.entry.behind {
            Behind::Written => !reads,
            Behind::Read => !writes,
            Behind::Memory(_) => true,
        };
        if !fits {
            return Err(EACCES);
        }
        let mut used = self.used.lock();
        if !matches!(self.entry.behind, Behind::Memory(_)) {
            // Linux tells of a close when the program goes on already.
            while used.programs > 0 {
                if self.released.wait_for(&mut used, OPENING).timed_out() {
                    return Err(EBUSY);
                }
            }
        }
        if used.opened.is_none() {
            let name = self.entry.channel.as_str();
            let opened = match self.entry.behind {
                Behind::Written => self.device.sender(name).map(|sender| Opened::Written { sender, owed: Mutex::default() }),
                Behind::Read => self.device.receiver(name).map(|receiver| Opened::Read(receiver, AtomicBool::new(false))),
                Behind::Memory(_) => self.device.memory(name).map(Opened::Memory),
            };
            used.opened = Some(Arc::new(opened.map_err(|error| told(&self.entry.file, &error))?));
        }
        if let (0, Some(Opened::Read(_, ended))) = (used.programs, used.opened.as_deref()) {
            ended.store(false, Ordering::Relaxed); // of the program before
        }
        used.programs += 1;
        Ok(())
    }

    /// The last user's message ends, and the file is free for others. The channel stays open: closing it would reset it, and what has not reached the
    /// core yet would be lost.
    pub fn close(&self) {
        let last = self.used.lock().programs == 1;
        if let (true, Ok(opened)) = (last, self.opened()) {
            // Its errors have no program to go to: `told` has told them.
            let _ = self.end(&opened, Some(CLOSING).into());
        }
        self.used.lock().programs -= 1;
        self.released.notify_all();
    }

    fn opened(&self) -> Result<Arc<Opened>> {
        self.used.lock().opened.clone().ok_or(EINVAL)
    }

    /// End the message that is open, or send the empty one of a file's end.
    fn end(&self, opened: &Opened, options: WaitOptions<'_>) -> Result<()> {
        let Opened::Written { sender, owed } = opened else { return Ok(()) };
        let mut owed = owed.lock();
        while owed.open || owed.empty {
            sender.send_with(&[], Message::default(), options).map_err(|error| told(&self.entry.file, &error))?;
            // The first one ends what is open.
            if !std::mem::take(&mut owed.open) {
                owed.empty = false;
            }
        }
        Ok(())
    }

    pub fn sync(&self, call: &Call<'_>) -> Result<()> {
        let interrupted = || call.is_interrupted();
        if self.entry.at_once {
            return Ok(());
        }
        let options = WaitOptions { timeout: Some(CLOSING), interrupted: Some(&interrupted) };
        self.end(&*self.opened()?, options)
    }

    pub fn read(&self, at: u64, size: usize, call: &Call<'_>) -> Result<Vec<u8>> {
        match &*self.opened()? {
            Opened::Read(receiver, ended) => self.receive(receiver, ended, size, call),
            Opened::Memory(memory) => {
                let size = usize::try_from(memory.len().saturating_sub(at)).unwrap_or(usize::MAX).min(size);
                let mut bytes = vec![0; size];
                memory.read_at(&mut bytes, at).map_err(|error| told(&self.entry.file, &error))?;
                Ok(bytes)
            }
            Opened::Written { .. } => Err(EINVAL),
        }
    }

    /// One message, or a part of it. By Xillybus's names as many bytes as there is room for, over the ends that a rest of the core's makes, until none comes
    /// for a slice; only an empty message is the end of the file.
    fn receive(&self, receiver: &Receiver, ended: &AtomicBool, size: usize, call: &Call<'_>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; size];
        let mut came = 0;
        if ended.swap(false, Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let interrupted = || call.is_interrupted();
        loop {
            let options = WaitOptions { timeout: Some(self.slice), interrupted: Some(&interrupted) };
            match receiver.recv_into_with(&mut [IoSliceMut::new(&mut bytes[came..])], options) {
                Ok(received) => {
                    came += received.bytes;
                    if !self.entry.at_once || call.non_blocking || came == size {
                        break;
                    }
                    if received.bytes == 0 {
                        ended.store(came > 0, Ordering::Relaxed);
                        break;
                    }
                }
                Err(error) => {
                    let more = error.bytes().and_then(|more| usize::try_from(more).ok()).unwrap_or(0);
                    came += more.min(size - came);
                    let goes_on = self.entry.at_once && !call.non_blocking && more > 0 && came < size;
                    match &error {
                        Error::Timeout { .. } if goes_on => {}
                        Error::Timeout { .. } | Error::Interrupted { .. } if came > 0 => break,
                        // The bytes first; it has been told.
                        _ if came > 0 => {
                            told(&self.entry.file, &error);
                            break;
                        }
                        Error::Timeout { .. } if call.non_blocking => return Err(EAGAIN),
                        Error::Timeout { .. } => {}
                        Error::Interrupted { .. } => return Err(call.why()),
                        _ => return Err(told(&self.entry.file, &error)),
                    }
                }
            }
        }
        bytes.truncate(came);
        Ok(bytes)
    }

    pub fn write(&self, at: u64, bytes: &[u8], call: &Call<'_>) -> Result<usize> {
        match &*self.opened()? {
            Opened::Written { sender, owed } => {
                let mut owed = owed.lock();
                let interrupted = || call.is_interrupted();
                let options = WaitOptions { timeout: call.non_blocking.then_some(self.slice), interrupted: Some(&interrupted) };
                let message = Message { end: call.direct || self.entry.at_once, ..Message::default() };
                let taken = match sender.send_with(&[IoSlice::new(bytes)], message, options) {
                    Ok(()) => {
                        *owed = Owed { open: !message.end, empty: self.entry.at_once };
                        return Ok(bytes.len());
                    }
                    Err(error) => match (error.bytes().and_then(|taken| usize::try_from(taken).ok()).unwrap_or(0), &error) {
                        (taken, _) if taken > 0 => taken.min(bytes.len()),
                        (_, Error::Timeout { .. }) => return Err(EAGAIN),
                        (_, Error::Interrupted { .. }) => return Err(call.why()),
                        _ => return Err(told(&self.entry.file, &error)),
                    },
                };
                *owed = Owed { open: true, empty: self.entry.at_once };
                Ok(taken)
            }
            Opened::Memory(memory) => {
                let room = usize::try_from(memory.len().saturating_sub(at)).unwrap_or(usize::MAX);
                if room == 0 && !bytes.is_empty() {
                    return Err(ENOSPC);
                }
                let bytes = &bytes[..bytes.len().min(room)];
                memory.write_at(bytes, at).map_err(|error| told(&self.entry.file, &error))?;
                Ok(bytes.len())
            }
            Opened::Read(..) => Err(EINVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_a_thread() {
        let status = |own: &str, all: &str, blocked: &str| format!("Name:\tcat\nSigPnd:\t{own}\nShdPnd:\t{all}\nSigBlk:\t{blocked}\n");
        assert!(!has_signal(&status("0000000000000000", "0000000000000000", "0000000000000000")));
        assert!(has_signal(&status("0000000000000000", "0000000000000002", "0000000000000000")));
        assert!(has_signal(&status("0000000000000100", "0000000000000000", "0000000000000002")));
        assert!(!has_signal(&status("0000000000000000", "0000000000000002", "0000000000000002")));
        assert!(!has_signal(""));
    }
}
