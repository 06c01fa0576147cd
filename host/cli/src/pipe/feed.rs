// SPDX-License-Identifier: Apache-2.0
//! The way in: standard input to the H2C channel, as it comes, cut into messages.

use std::io::{self, Read};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

use towpath::{Error, Message, Sender};

use super::watch::Watch;
use crate::args::End;
use crate::exit::{Failure, Result};

/// Blocks that are read ahead.
const AHEAD: usize = 1;
/// After a pause of this length the input is not waited for to find out whether the message ends with its last bytes: the end then goes
/// alone.
const PAUSE: Duration = Duration::from_millis(2);
/// How often a wait for the input looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Standard input in blocks, read by a thread of its own, so that no other thread blocks on it.
pub struct Input(Receiver<io::Result<Vec<u8>>>);

/// What an input has.
enum Next {
    Block(Vec<u8>),
    /// Nothing now.
    Pause,
    End,
}

impl Input {
    pub fn start(block: usize) -> Result<Input> {
        let (give, take) = sync_channel(AHEAD);
        let read = move || loop {
            let mut bytes = vec![0; block];
            let result = match io::stdin().lock().read(&mut bytes) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                result => result.map(|count| bytes.truncate(count)).map(|()| bytes),
            };
            let last = result.as_ref().map_or(true, Vec::is_empty);
            if give.send(result).is_err() || last {
                return;
            }
        };
        std::thread::Builder::new().name("towpath-input".into()).spawn(read).map_err(|e| Failure::file("reading", "standard input", &e))?;
        Ok(Input(take))
    }

    fn next(&self, watch: &Watch, patient: bool) -> Result<Next> {
        loop {
            let came = watch.outside(|| self.0.recv_timeout(if patient { LOOK } else { PAUSE }));
            return match came {
                Ok(Ok(bytes)) if bytes.is_empty() => Ok(Next::End),
                Ok(Ok(bytes)) => Ok(Next::Block(bytes)),
                Ok(Err(error)) => Err(Failure::file("reading", "standard input", &error)),
                Err(RecvTimeoutError::Disconnected) => Ok(Next::End),
                Err(RecvTimeoutError::Timeout) if patient && !watch.is_stopping() => continue,
                Err(RecvTimeoutError::Timeout) => Ok(Next::Pause),
            };
        }
    }
}

pub struct Feed {
    pub sender: Arc<Sender>,
    pub watch: Arc<Watch>,
    pub end: End,
    /// Attributes of each message.
    pub message: Message,
}

impl Feed {
    /// All of the input. What has been read and may be a message's last bytes is held until more comes, or a pause.
    pub fn run(&self, input: &Input) -> Result {
        let (mut held, mut begun) = (Vec::new(), 0);
        while !self.watch.is_stopping() {
            match input.next(&self.watch, held.is_empty())? {
                Next::Block(mut block) => {
                    begun += self.part(&std::mem::take(&mut held), false)?;
                    while let Some(bytes) = self.end.within(&block, begun) {
                        let rest = block.split_off(bytes);
                        self.part(&block, true)?;
                        (block, begun) = (rest, 0);
                    }
                    held = block;
                }
                Next::Pause => begun += self.part(&std::mem::take(&mut held), false)?,
                Next::End => {
                    if self.end == End::Input || begun > 0 || !held.is_empty() {
                        self.part(&held, true)?;
                    }
                    self.watch.input_ended.store(true, Ordering::SeqCst);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Send a part of a message, however often the card lets it wait because of the other direction; returns its length.
    fn part(&self, mut bytes: &[u8], end: bool) -> Result<u64> {
        let length = bytes.len() as u64;
        while end || !bytes.is_empty() {
            let since = self.watch.steps();
            let result = self.sender.send_message(bytes, Message { end, ..self.message });
            let taken = result.as_ref().map_or_else(|error| error.bytes().unwrap_or(0), |()| bytes.len() as u64);
            let before = self.watch.sent_bytes.fetch_add(taken, Ordering::SeqCst);
            match result {
                Ok(()) => {
                    self.watch.sent_messages.fetch_add(end.into(), Ordering::SeqCst);
                    self.watch.step();
                    return Ok(length);
                }
                Err(Error::Timeout { .. }) if taken > 0 || self.watch.excuses(since) => {
                    bytes = &bytes[usize::try_from(taken).unwrap_or(0).min(bytes.len())..];
                }
                Err(error) => return Err(Failure::from(error).context(format!("after {} bytes of input", before + taken))),
            }
        }
        Ok(length)
    }
}

impl End {
    /// How many of these bytes belong to the message of which `begun` are gone already, if it ends in them.
    fn within(self, bytes: &[u8], begun: u64) -> Option<usize> {
        match self {
            End::Input => None,
            End::Line => bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1),
            End::Bytes(limit) => usize::try_from(limit - begun).ok().filter(|rest| *rest <= bytes.len()),
        }
    }
}
