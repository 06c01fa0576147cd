// SPDX-License-Identifier: Apache-2.0
//! A file's calls on its channel or memory. An error is the number that the program gets.

use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use towpath::{Device, Error, Memory, Receiver, WaitOptions};
use towpath_system::errno::{EACCES, EAGAIN, EBUSY, EINTR, EINVAL, EIO, ENODEV, ENOMEM, ENOSPC, ENOTTY, ETIMEDOUT};

use super::names::{Behind, Entry};
use super::outgoing::{Limits, Outgoing};
use super::polled::Polled;
use crate::args::Names;
use crate::output;

/// Bytes that have arrived and do not fill a program's buffer are its own after this time, as Xillybus has it.
const SLICE: Duration = Duration::from_millis(10);
/// The same for a simulated card: 10 ms of its time take seconds to simulate.
const SIMULATED_SLICE: Duration = Duration::from_micros(100);
/// And by Xillybus's names: longer than the ports of such a core hold back the last bytes of a message after the one before.
const SIMULATED_REST: Duration = Duration::from_micros(350);
/// How long a close or `fsync` waits for the card to take the end of a message.
const CLOSING: Duration = Duration::from_secs(10);
/// The same by the wall's clock, once the files end: a program's last bytes are on their way, but a core that takes none holds nobody up.
const LEAVING: Duration = Duration::from_secs(2);
/// The longest time by the wall's clock that an access to a memory waits, while the time of a simulated card stretches.
const ANSWER: Duration = Duration::from_secs(10);
/// VerCoLib's call that writes a register, and the channel and the number of the endpoint's reset.
const WRITE_REGISTER: u32 = 0x4008_ff04;
const RESET_REGISTER: [u8; 8] = [0, 0, 0, 0, 7, 0, 0, 0];
/// How long an open waits for the close before it.
const OPENING: Duration = Duration::from_millis(200);
/// How long a reset waits for calls of other threads. One that receives ahead ends meanwhile; one of a program's may wait for ever.
const HOLDING: Duration = Duration::from_secs(1);

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

/// A channel or memory in use. A stream's lock is held during a call, so that calls come one after the other.
pub(super) enum Opened {
    Written(Mutex<Outgoing>),
    Read(Receiver, Mutex<Incoming>),
    Memory(Memory),
    Card,
}

/// What is known of a stream that is read, between its calls.
#[derive(Default)]
pub(super) struct Incoming {
    /// By Xillybus's names: the end of the file has come, and reads find nothing until it is opened again.
    pub ended: bool,
    /// What the next read returns, behind bytes that the receiver has kept.
    pub error: Option<i32>,
}

/// A stream over a reset of the card: no call is on its way.
enum Held<'a> {
    Written(MutexGuard<'a, Outgoing>),
    Read(&'a Receiver, MutexGuard<'a, Incoming>),
}

impl Held<'_> {
    /// `None`: a call of another thread waits, and the reset ends it.
    fn of(opened: &Opened) -> Option<Held<'_>> {
        match opened {
            Opened::Written(outgoing) => outgoing.try_lock_for(HOLDING).map(Held::Written),
            Opened::Read(receiver, incoming) => incoming.try_lock_for(HOLDING).map(|incoming| Held::Read(receiver, incoming)),
            Opened::Memory(_) | Opened::Card => None,
        }
    }

    /// What came before the reset, or was owed then, is no longer.
    fn begin_anew(&mut self) {
        match self {
            Held::Written(outgoing) => outgoing.begin_anew(),
            Held::Read(receiver, incoming) => {
                drop(receiver.take_kept());
                **incoming = Incoming::default();
            }
        }
    }
}

#[derive(Default)]
struct Use {
    programs: usize,
    opened: Option<Arc<Opened>>,
}

/// One file.
pub struct File {
    pub entry: Entry,
    pub(super) device: Device,
    pub(super) slice: Duration,
    used: Mutex<Use>,
    released: Condvar,
    pub(super) polled: Mutex<Polled>,
    /// The card is about to be reset: nothing more is received ahead.
    pub(super) resetting: AtomicBool,
}

/// The number for the program. The text, which no errno carries, goes to standard error.
pub(super) fn told(file: &str, error: &Error) -> i32 {
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
        let (used, polled) = Default::default();
        File { entry, device: device.clone(), slice, used, released: Condvar::new(), polled, resetting: AtomicBool::new(false) }
    }

    /// A stream has one user at a time, a memory any number. `reads` and `writes`: what the program wants.
    pub fn open(&self, reads: bool, writes: bool) -> Result<()> {
        let fits = match self.entry.behind {
            Behind::Written => !reads,
            Behind::Read => !writes,
            Behind::Memory(_) | Behind::Card => true,
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
                Behind::Written => {
                    let outgoing = self.device.sender(name).and_then(|sender| Outgoing::new(&self.device, sender, self.entry.clone()));
                    outgoing.map(|outgoing| Opened::Written(Mutex::new(outgoing)))
                }
                Behind::Read => self.device.receiver(name).map(|receiver| Opened::Read(receiver, Mutex::default())),
                Behind::Memory(_) => self.device.memory(name).map(Opened::Memory),
                Behind::Card => Ok(Opened::Card),
            };
            used.opened = Some(Arc::new(opened.map_err(|error| told(&self.entry.file, &error))?));
        }
        if let (0, Some(Opened::Read(receiver, incoming))) = (used.programs, used.opened.as_deref()) {
            // An error was the program's before, and so was the message that it has cut.
            if std::mem::take(&mut *incoming.lock()).error.is_some() {
                drop(receiver.take_kept());
            }
        }
        used.programs += 1;
        Ok(())
    }

    /// The last user's message ends, and the file is free for others. The channel stays open: closing it would reset it, and what has not reached the
    /// core yet would be lost.
    pub fn close(&self, stopping: &AtomicBool) {
        let last = self.used.lock().programs == 1;
        if let (true, Ok(opened)) = (last, self.opened()) {
            let since = OnceLock::new();
            let interrupted = || stopping.load(Ordering::SeqCst) && since.get_or_init(Instant::now).elapsed() > LEAVING;
            // Its errors have no program to go to: `told` has told them.
            let _ = self.end(&opened, WaitOptions { timeout: Some(CLOSING), interrupted: Some(&interrupted) });
        }
        if last {
            self.forget();
        }
        self.used.lock().programs -= 1;
        self.released.notify_all();
    }

    pub(super) fn opened(&self) -> Result<Arc<Opened>> {
        self.used.lock().opened.clone().ok_or(EINVAL)
    }

    pub(super) fn is_open(&self) -> bool {
        self.used.lock().programs > 0
    }

    /// Send what is owed, and wait until the card has all.
    fn end(&self, opened: &Opened, options: WaitOptions<'_>) -> Result<()> {
        match opened {
            Opened::Written(outgoing) => outgoing.lock().end(options),
            _ => Ok(()),
        }
    }

    pub fn sync(&self, call: &Call<'_>) -> Result<()> {
        let interrupted = || call.is_interrupted();
        if self.entry.at_once {
            return Ok(());
        }
        let options = WaitOptions { timeout: Some(CLOSING), interrupted: Some(&interrupted) };
        self.end(&*self.opened()?, options).map_err(|error| if error == EINTR { call.why() } else { error })
    }

    pub fn read(&self, at: u64, size: usize, call: &Call<'_>) -> Result<Vec<u8>> {
        match &*self.opened()? {
            Opened::Read(receiver, incoming) => self.receive(receiver, &mut incoming.lock(), size, call),
            Opened::Memory(memory) => {
                let size = usize::try_from(memory.len().saturating_sub(at)).unwrap_or(usize::MAX).min(size);
                let mut bytes = vec![0; size];
                self.answered(memory, call, |options| memory.read_at_with(&mut [IoSliceMut::new(&mut bytes)], at, options))?;
                Ok(bytes)
            }
            Opened::Written(..) | Opened::Card => Err(EINVAL),
        }
    }

    /// An access to a memory, whose core may never answer.
    fn answered(&self, memory: &Memory, call: &Call<'_>, access: impl FnOnce(WaitOptions<'_>) -> towpath::Result<()>) -> Result<()> {
        let began = Instant::now();
        let late = || began.elapsed() > ANSWER;
        let interrupted = || call.is_interrupted() || late();
        let ended = access(WaitOptions { timeout: memory.timeout(), interrupted: Some(&interrupted) });
        ended.map_err(|error| match &error {
            Error::Interrupted { .. } if call.is_interrupted() => call.why(),
            Error::Interrupted { .. } => {
                let why = "the core has not answered for 10 s; what comes behind this access waits, too, until the card is reset";
                output::eprintln_lossy(&format!("{}: {why}", self.entry.file));
                ETIMEDOUT
            }
            _ => told(&self.entry.file, &error),
        })
    }

    /// A call of ioctl(2). VerCoLib's macros take the size of a pointer for that of its structure, so of a register's channel, number and value only the
    /// first two come here: enough for a reset.
    pub fn control(&self, command: u32, data: &[u8], all: &[Arc<File>]) -> Result<()> {
        let is_reset = self.entry.behind == Behind::Card && command == WRITE_REGISTER && data == RESET_REGISTER;
        if !is_reset {
            return Err(ENOTTY);
        }
        let opened: Vec<_> = all.iter().filter_map(|file| file.opened().ok()).collect();
        let resetting = |now| all.iter().for_each(|file| file.resetting.store(now, Ordering::SeqCst));
        resetting(true);
        // Nothing is received ahead between the reset and the end of this call, so what is dropped is all from before.
        let mut held: Vec<_> = opened.iter().filter_map(|opened| Held::of(opened)).collect();
        resetting(false);
        self.device.reset().map_err(|error| told(&self.entry.file, &error))?;
        held.iter_mut().for_each(Held::begin_anew);
        Ok(())
    }

    /// By other drivers' names any fault is one number.
    pub fn as_named(&self, error: i32) -> i32 {
        match error {
            EAGAIN | EBUSY | EINTR | EINVAL | ENOMEM | ENOSPC | ENOTTY => error,
            _ if self.entry.names == Names::Towpath => error,
            _ => EIO,
        }
    }

    /// One message, or a part of it. By Xillybus's names as many bytes as there is room for, over the ends that a rest of the core's makes, until none comes
    /// for a slice; only an empty message is the end of the file.
    fn receive(&self, receiver: &Receiver, incoming: &mut Incoming, size: usize, call: &Call<'_>) -> Result<Vec<u8>> {
        let kept = receiver.kept();
        if kept.is_none() {
            if let Some(error) = incoming.error.take() {
                return Err(error);
            }
            if incoming.ended {
                return Ok(Vec::new());
            }
        }
        let asked = size;
        // What is there is enough for a call that does not wait, and for one behind which an error is known.
        let size = match kept {
            Some(kept) if call.non_blocking || incoming.error.is_some() => size.min(kept),
            _ => size,
        };
        let mut bytes = vec![0; size];
        let mut came = 0;
        let interrupted = || call.is_interrupted();
        loop {
            let options = WaitOptions { timeout: Some(self.slice), interrupted: Some(&interrupted) };
            match receiver.recv_into_with(&mut [IoSliceMut::new(&mut bytes[came..])], options) {
                Ok(received) => {
                    came += received.bytes;
                    if self.entry.at_once && received.bytes == 0 && came < asked {
                        incoming.ended = true;
                        break;
                    }
                    if !self.entry.at_once || call.non_blocking || came == size {
                        break;
                    }
                }
                Err(error) => {
                    let more = error.bytes().and_then(|more| usize::try_from(more).ok()).unwrap_or(0);
                    came += more.min(size - came);
                    let goes_on = self.entry.at_once && !call.non_blocking && more > 0 && came < size;
                    match &error {
                        Error::Timeout { .. } if goes_on => {}
                        // A program's own reset ends the read; nothing from before it is for those behind.
                        Error::Reset { .. } if self.entry.names == Names::Vercolib => return Err(told(&self.entry.file, &error)),
                        Error::Timeout { .. } | Error::Interrupted { .. } if came > 0 => break,
                        // The bytes first.
                        _ if came > 0 => {
                            incoming.error = Some(told(&self.entry.file, &error));
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
            Opened::Written(outgoing) => {
                let interrupted = || call.is_interrupted();
                let timeout = call.non_blocking.then_some(self.slice);
                let options = WaitOptions { timeout, interrupted: Some(&interrupted) };
                // These programs know that a write takes as much as there is room for.
                let partly = call.non_blocking || self.entry.names != Names::Towpath;
                let limits = Limits { options, partly, ends: call.direct || self.entry.at_once };
                outgoing.lock().write(bytes, &limits).map_err(|error| if error == EINTR { call.why() } else { error })
            }
            Opened::Memory(memory) => {
                let room = usize::try_from(memory.len().saturating_sub(at)).unwrap_or(usize::MAX);
                if room == 0 && !bytes.is_empty() {
                    return Err(ENOSPC);
                }
                let bytes = &bytes[..bytes.len().min(room)];
                self.answered(memory, call, |options| memory.write_at_with(&[IoSlice::new(bytes)], at, options))?;
                Ok(bytes.len())
            }
            Opened::Read(..) | Opened::Card => Err(EINVAL),
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
