// SPDX-License-Identifier: Apache-2.0
//! One message of a channel as a file: what `_file.py` makes a raw stream of. Its calls are these methods themselves, with no bytecode in between: a signal's exception
//! then comes before or behind a call, and never between the bytes and their count.

use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use towpath::{Direction, Error, Message, Received};

use crate::argument::Limit;
use crate::card::Card;
use crate::channel::Channel;
use crate::error;
use crate::export::Exported;
use crate::waiting::{at_once, follow, waited};

#[pyclass(frozen, module = "towpath._towpath")]
pub struct MessageFile {
    card: Arc<Card>,
    index: u16,
    name: String,
    direction: Direction,
    limit: Limit,
    /// The channel's: one file at a time.
    taken: Arc<AtomicBool>,
    /// The message's end was received or sent, or its rest is lost.
    ended: AtomicBool,
    lost: AtomicBool,
    closed: AtomicBool,
    busy: AtomicBool,
    /// A signal's exception follows the last call.
    follows: AtomicBool,
}

/// A call that is under way; there is one at a time.
struct Call<'a>(&'a MessageFile);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

impl MessageFile {
    fn call(&self, py: Python<'_>, direction: Direction, word: &str) -> PyResult<Call<'_>> {
        if self.direction != direction {
            return Err(PyErr::from_value(py.import("io")?.getattr("UnsupportedOperation")?.call1((format!("not {word}"),))?));
        }
        if self.busy.swap(true, Ordering::AcqRel) {
            let why = format!("channel \"{}\": the file is in another call; use a buffered one from several threads", self.name);
            return Err(error::usage(py, &why));
        }
        let call = Call(self);
        if self.closed.load(Ordering::Acquire) {
            return Err(PyValueError::new_err("I/O operation on closed file"));
        }
        if self.follows.swap(false, Ordering::AcqRel) {
            // Bytecode, in which the exception is raised if no other has run since.
            py.import("towpath._file")?.call_method0("_let_it_follow")?;
        }
        Ok(call)
    }

    fn give_up(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.taken.store(false, Ordering::Release);
        }
    }

    fn unread(&self, py: Python<'_>, bytes: &[u8], got: Option<Received>) -> PyResult<()> {
        at_once(py, || {
            self.card.receiver(self.index, None)?.unread(bytes, got);
            Ok(())
        })
    }
}

impl Drop for MessageFile {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// The bytes that a call has moved before its limit or a cancel ended it.
fn moved(error: &Error) -> usize {
    match error {
        Error::Timeout { bytes, .. } | Error::Interrupted { bytes, .. } | Error::Cancelled { bytes, .. } => *bytes as usize,
        _ => 0,
    }
}

#[pymethods]
impl MessageFile {
    #[new]
    fn new(py: Python<'_>, channel: PyRef<'_, Channel>, writes: bool, timeout: Limit) -> PyResult<Self> {
        let (card, info) = channel.place();
        if !info.is_stream() {
            return Err(error::usage(py, &format!("channel \"{}\" is {}: no stream, and so no file", info.name, info.kind_text())));
        }
        let direction = if writes { Direction::H2c } else { Direction::C2h };
        at_once(py, || match direction {
            Direction::H2c => card.sender(info.index, None).map(drop),
            Direction::C2h => card.receiver(info.index, None).map(drop),
        })?;
        let taken = channel.file().clone();
        if taken.swap(true, Ordering::AcqRel) {
            return Err(error::usage(py, &format!("channel \"{}\" is open as a file; close that first", info.name)));
        }
        let no = || AtomicBool::new(false);
        let (ended, lost, closed, busy, follows) = (no(), no(), no(), no(), no());
        let (card, index, name) = (card.clone(), info.index, info.name.clone());
        Ok(MessageFile { card, index, name, direction, limit: timeout, taken, ended, lost, closed, busy, follows })
    }

    fn readinto(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let _call = self.call(py, Direction::C2h, "readable")?;
        let memory = Exported::to_receive(buffer)?;
        if memory.len() == 0 || self.ended.load(Ordering::Acquire) {
            return Ok(0);
        }
        let (done, raised) = waited(py, &self.card, self.limit, |options| {
            let receiver = self.card.receiver(self.index, None)?;
            // SAFETY: for this call alone, and writable; see `Exported::bytes` about other threads.
            receiver.recv_into_with(&mut [IoSliceMut::new(unsafe { memory.bytes_mut() })], options)
        });
        // A handler that is due would raise in the caller's bytecode, before it has the count.
        let raised = raised.or_else(|| py.check_signals().err());
        match (done, raised) {
            (Ok(got), None) => {
                self.ended.store(got.end_of_message, Ordering::Release);
                Ok(got.bytes)
            }
            // SAFETY: as above.
            (Ok(got), Some(raised)) => self.unread(py, unsafe { &memory.bytes()[..got.bytes] }, Some(got)).and(Err(raised)),
            (Err(why), Some(raised)) if moved(&why) > 0 => {
                // SAFETY: as above.
                self.unread(py, unsafe { &memory.bytes()[..moved(&why)] }, None).and(Err(raised))
            }
            (Err(_), Some(raised)) => Err(raised),
            (Err(why), None) if moved(&why) > 0 => Ok(moved(&why)),
            (Err(Error::Interrupted { .. }), None) if self.card.is_closed() => Err(error::raise(py, Card::closed())),
            (Err(why), None) => {
                self.ended.fetch_or(matches!(why, Error::Reset { .. }), Ordering::AcqRel);
                Err(error::raise(py, why))
            }
        }
    }

    fn write(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let _call = self.call(py, Direction::H2c, "writable")?;
        let memory = Exported::to_send(buffer)?;
        if self.lost.load(Ordering::Acquire) {
            let why = format!("channel \"{}\": a reset has discarded the message; open another file", self.name);
            return Err(error::usage(py, &why));
        }
        if memory.len() == 0 {
            return Ok(0);
        }
        let (done, raised) = waited(py, &self.card, self.limit, |options| {
            let message = Message { end: false, ..Message::default() };
            // SAFETY: for this call alone; see `Exported::bytes` about other threads.
            self.card.sender(self.index, None)?.send_with(&[IoSlice::new(unsafe { memory.bytes() })], message, options)
        });
        let bytes = match &done {
            Ok(()) => memory.len(),
            Err(why) => moved(why),
        };
        match (done, raised) {
            (_, Some(raised)) if bytes > 0 => {
                // The card has them: the caller must know.
                follow(py, &raised)?;
                self.follows.store(true, Ordering::Release);
                Ok(bytes)
            }
            (_, Some(raised)) => Err(raised),
            (_, None) if bytes > 0 => Ok(bytes),
            (Err(Error::Interrupted { .. }), None) if self.card.is_closed() => Err(error::raise(py, Card::closed())),
            (Err(why), None) => {
                self.lost.fetch_or(matches!(why, Error::Reset { .. }), Ordering::AcqRel);
                Err(error::raise(py, why))
            }
            (Ok(()), None) => Ok(0),
        }
    }

    /// End the message, if it is being written, and let the channel be opened as a file again. Where the end may still be sent (a limit, a signal), or
    /// another call is under way, the file stays open: closed again, it sends the end.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let _call = self.call(py, self.direction, "open")?;
        let owed = AtomicBool::new(false);
        let ended = match self.direction {
            Direction::H2c if !self.lost.load(Ordering::Acquire) => crate::waiting::waiting(py, &self.card, self.limit, |options| {
                let sent = self.card.sender(self.index, None)?.send_with(&[], Message::default(), options);
                let again = matches!(sent, Err(Error::Timeout { .. } | Error::Interrupted { .. } | Error::Cancelled { .. }));
                owed.store(again, Ordering::Release);
                sent
            }),
            _ => Ok(()),
        };
        if ended.is_ok() || !owed.load(Ordering::Acquire) || self.card.is_closed() {
            self.give_up();
        }
        ended
    }

    /// Let the channel be opened as a file again, without an end.
    fn abandon(&self) {
        self.give_up();
    }

    /// Whether it is to be finished.
    #[getter]
    fn unfinished(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }
}
