// SPDX-License-Identifier: Apache-2.0
//! A file's calls on its channel or memory. An error is the number that the program gets.

use std::io::{IoSlice, IoSliceMut};
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
    Written { sender: Sender, midway: Mutex<bool> },
    Read(Receiver),
    Memory(Memory),
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
        let slice = if device.wire().is_some() { SIMULATED_SLICE } else { SLICE };
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
                Behind::Written => self.device.sender(name).map(|sender| Opened::Written { sender, midway: Mutex::new(false) }),
                Behind::Read => self.device.receiver(name).map(Opened::Read),
                Behind::Memory(_) => self.device.memory(name).map(Opened::Memory),
            };
            used.opened = Some(Arc::new(opened.map_err(|error| told(&self.entry.file, &error))?));
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
        let Opened::Written { sender, midway } = opened else { return Ok(()) };
        let mut midway = midway.lock();
        if *midway {
            sender.send_with(&[], Message::default(), options).map_err(|error| told(&self.entry.file, &error))?;
            *midway = false;
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
            Opened::Read(receiver) => self.receive(receiver, size, call),
            Opened::Memory(memory) => {
                let size = usize::try_from(memory.len().saturating_sub(at)).unwrap_or(usize::MAX).min(size);
                let mut bytes = vec![0; size];
                memory.read_at(&mut bytes, at).map_err(|error| told(&self.entry.file, &error))?;
                Ok(bytes)
            }
            Opened::Written { .. } => Err(EINVAL),
        }
    }

    fn receive(&self, receiver: &Receiver, size: usize, call: &Call<'_>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; size];
        let interrupted = || call.is_interrupted();
        loop {
            let options = WaitOptions { timeout: Some(self.slice), interrupted: Some(&interrupted) };
            let came = match receiver.recv_into_with(&mut [IoSliceMut::new(&mut bytes)], options) {
                Ok(received) => received.bytes,
                Err(error) => match (error.bytes().and_then(|came| usize::try_from(came).ok()).unwrap_or(0), &error) {
                    (came, _) if came > 0 => came.min(size),
                    (_, Error::Timeout { .. }) if call.non_blocking => return Err(EAGAIN),
                    (_, Error::Timeout { .. }) => continue,
                    (_, Error::Interrupted { .. }) => return Err(call.why()),
                    _ => return Err(told(&self.entry.file, &error)),
                },
            };
            bytes.truncate(came);
            return Ok(bytes);
        }
    }

    pub fn write(&self, at: u64, bytes: &[u8], call: &Call<'_>) -> Result<usize> {
        match &*self.opened()? {
            Opened::Written { sender, midway } => {
                let mut midway = midway.lock();
                let interrupted = || call.is_interrupted();
                let options = WaitOptions { timeout: call.non_blocking.then_some(self.slice), interrupted: Some(&interrupted) };
                let message = Message { end: call.direct || self.entry.at_once, ..Message::default() };
                let taken = match sender.send_with(&[IoSlice::new(bytes)], message, options) {
                    Ok(()) => {
                        *midway = !call.direct || self.entry.at_once;
                        return Ok(bytes.len());
                    }
                    Err(error) => match (error.bytes().and_then(|taken| usize::try_from(taken).ok()).unwrap_or(0), &error) {
                        (taken, _) if taken > 0 => taken.min(bytes.len()),
                        (_, Error::Timeout { .. }) => return Err(EAGAIN),
                        (_, Error::Interrupted { .. }) => return Err(call.why()),
                        _ => return Err(told(&self.entry.file, &error)),
                    },
                };
                *midway = true;
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
            Opened::Read(_) => Err(EINVAL),
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
