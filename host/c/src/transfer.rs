// SPDX-License-Identifier: Apache-2.0
//! Blocking transfers.

use crate::border::{Caller, Place, Result};
use crate::channel::timeout;
use crate::grows::{grows, Output};
use crate::{call, towpath_channel, towpath_status};
use std::ffi::c_void;
use std::io::{IoSlice, IoSliceMut};
use towpath::{Message, MessageStart, Received};

/// In `towpath_message.flags`: the message goes on with the next call.
pub const TOWPATH_MORE: u32 = 1;
/// In `towpath_message.flags`: `length` is set, and the user core is told it beforehand.
pub const TOWPATH_LENGTH: u32 = 2;

/// A piece of the program's memory, for vectored transfers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_piece {
    /// Its first byte; may be NULL if it is empty.
    pub memory: *mut c_void,
    /// Its length in bytes.
    pub bytes: u64,
}

/// What a message to the card carries beside its bytes. All zero but `size` is a whole message without attributes:
/// `towpath_message message = {.size = sizeof message};` Attributes count only with a message's first part.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_message {
    /// sizeof this struct.
    pub size: u32,
    /// TOWPATH_MORE, TOWPATH_LENGTH.
    pub flags: u32,
    /// With TOWPATH_LENGTH: bytes in the whole message.
    pub length: u64,
    /// For the user core: an offset, or an address on the card.
    pub offset: u64,
    /// For the user core: a word of the program's own.
    pub user: u32,
    /// Zero.
    pub reserved: u32,
}
grows!(towpath_message, 32);

/// What a receive brought.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_received {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// 1: the message ended here. 0: its rest comes with the next call.
    pub end_of_message: u32,
    /// Bytes in the caller's memory that are valid.
    pub bytes: u64,
    /// The offset that the user core gave for the message.
    pub offset: u32,
    /// The user word that the user core gave for the message.
    pub user: u32,
}
grows!(towpath_received, 24);

/// A whole message, in memory of the library's: give it back by towpath_free_message().
#[repr(C)]
pub struct towpath_received_message {
    /// Its bytes, which may be changed.
    pub data: *mut c_void,
    /// Its length in bytes.
    pub bytes: u64,
    /// The offset that the user core gave for it.
    pub offset: u32,
    /// The user word that the user core gave for it.
    pub user: u32,
}

/// A message which the user core has begun.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_message_start {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// 1: `length` is known.
    pub has_length: u32,
    /// Its length in bytes, if the core told it.
    pub length: u64,
    /// The offset that the user core gave for it.
    pub offset: u32,
    /// The user word that the user core gave for it.
    pub user: u32,
}
grows!(towpath_message_start, 24);

/// What to tell of a message; NULL is a whole one without attributes.
pub(crate) fn message(c: &Caller, given: *const towpath_message) -> Result<Message> {
    let Some(given) = c.input("message", given)? else { return Ok(Message::default()) };
    if given.flags & !(TOWPATH_MORE | TOWPATH_LENGTH) != 0 {
        return Err(c.invalid(format_args!("message.flags is {:#x}: give TOWPATH_MORE, TOWPATH_LENGTH, both or 0", given.flags)));
    }
    Ok(Message {
        end: given.flags & TOWPATH_MORE == 0,
        length: (given.flags & TOWPATH_LENGTH != 0).then_some(given.length),
        offset: given.offset,
        user: given.user,
    })
}

fn send(
    c: &Caller,
    function: &str,
    channel: *const towpath_channel,
    pieces: &[towpath_piece],
    given: *const towpath_message,
    moved: *mut u64,
) -> Result<()> {
    let moved: Place<u64> = c.optional_place("moved", moved)?;
    moved.set(0);
    let sender = c.handle(channel)?.sender(function)?;
    let message = message(c, given)?;
    let mut slices = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (start, bytes) = c.memory("data", piece.memory, piece.bytes)?;
        // SAFETY: `call` was promised memory of that length, and it is not too much to be there.
        slices.push(IoSlice::new(unsafe { std::slice::from_raw_parts(start, bytes) }));
    }
    let sent = sender.send_vectored(&slices, message);
    moved.set(match &sent {
        Ok(()) => pieces.iter().map(|piece| piece.bytes).sum(),
        Err(error) => error.bytes().unwrap_or(0),
    });
    Ok(sent?)
}

/// Send a message, or a part of one, and wait until the card has it.
///
/// `bytes` bytes from `data` are read, during the call only; none are a message, too: the empty one. `message` says
/// whether the message goes on with the next call, and what the user core is to know of it; NULL: a whole message
/// without attributes. `moved` may be NULL; otherwise `*moved` becomes how many bytes the card has taken, on failure,
/// too.
///
/// TOWPATH_TIMEOUT: no progress for as long as towpath_set_timeout() says; the message is open: send the rest, without
/// the bytes that were taken, or towpath_reset_channel(). TOWPATH_CANCELLED, TOWPATH_RESET: by another thread.
/// TOWPATH_FAULT: a fault on the link ended the transfer. TOWPATH_WRONG_DIRECTION: the channel receives.
#[no_mangle]
pub unsafe extern "C" fn towpath_send(
    channel: *const towpath_channel,
    data: *const c_void,
    bytes: u64,
    message: *const towpath_message,
    moved: *mut u64,
) -> towpath_status {
    let piece = towpath_piece { memory: data.cast_mut(), bytes };
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_send", |c| send(c, "towpath_send", channel, &[piece], message, moved)) }
}

/// As towpath_send(), from `count` pieces of memory in one go, one after the other. `pieces` may be NULL if there are
/// none.
#[no_mangle]
pub unsafe extern "C" fn towpath_send_vectored(
    channel: *const towpath_channel,
    pieces: *const towpath_piece,
    count: u64,
    message: *const towpath_message,
    moved: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_send_vectored", |c| send(c, "towpath_send_vectored", channel, c.array("pieces", pieces, count)?, message, moved))
    }
}

fn recv(
    c: &Caller,
    function: &str,
    channel: *const towpath_channel,
    pieces: &[towpath_piece],
    received: *mut towpath_received,
) -> Result<()> {
    let received: Output<towpath_received> = c.optional_output("received", received)?;
    received.set(towpath_received { size: 0, end_of_message: 0, bytes: 0, offset: 0, user: 0 });
    let receiver = c.handle(channel)?.receiver(function)?;
    let mut slices = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (start, bytes) = c.memory("data", piece.memory, piece.bytes)?;
        // SAFETY: `call` was promised memory of that length which nobody else uses, and it is not too much to be there.
        slices.push(IoSliceMut::new(unsafe { std::slice::from_raw_parts_mut(start, bytes) }));
    }
    match receiver.recv_vectored(&mut slices) {
        Ok(got) => {
            received.set(as_c(&got));
            Ok(())
        }
        Err(error) => {
            let bytes = error.bytes().unwrap_or(0);
            received.set(towpath_received { size: 0, end_of_message: 0, bytes, offset: 0, user: 0 });
            Err(error.into())
        }
    }
}

fn as_c(got: &Received) -> towpath_received {
    let end_of_message = got.end_of_message.into();
    towpath_received { size: 0, end_of_message, bytes: got.bytes as u64, offset: got.offset, user: got.user }
}

/// Receive into memory of the caller's until it is full or the message ends.
///
/// `bytes` bytes at `data` are written, during the call only. `received` may be NULL; otherwise its `size` is set, and
/// it tells what came. What does not fit comes with the next call; no call takes bytes of two messages.
///
/// TOWPATH_TIMEOUT: no progress for as long as towpath_set_timeout() says; the first `received->bytes` bytes are valid,
/// and the message goes on with the next call. TOWPATH_CANCELLED, TOWPATH_RESET: by another thread. TOWPATH_FAULT: a
/// fault on the link ended the transfer. TOWPATH_WRONG_DIRECTION: the channel sends.
#[no_mangle]
pub unsafe extern "C" fn towpath_recv(
    channel: *const towpath_channel,
    data: *mut c_void,
    bytes: u64,
    received: *mut towpath_received,
) -> towpath_status {
    let piece = towpath_piece { memory: data, bytes };
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_recv", |c| recv(c, "towpath_recv", channel, &[piece], received)) }
}

/// As towpath_recv(), into `count` pieces of memory, one after the other, which do not overlap. `pieces` may be NULL if
/// there are none.
#[no_mangle]
pub unsafe extern "C" fn towpath_recv_vectored(
    channel: *const towpath_channel,
    pieces: *const towpath_piece,
    count: u64,
    received: *mut towpath_received,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_recv_vectored", |c| recv(c, "towpath_recv_vectored", channel, c.array("pieces", pieces, count)?, received)) }
}

/// The message that C sees, and behind it what holds its bytes.
#[repr(C)]
struct Held {
    shown: towpath_received_message,
    // Held for its drop alone.
    #[allow(dead_code)]
    bytes: Vec<u8>,
}

/// Receive a whole message of any length into memory of the library's: `*message`, which towpath_free_message() gives
/// back. On failure `*message` is left as it was, and what has come so far is kept for the next call.
///
/// Errors are those of towpath_recv(), and TOWPATH_MEMORY if there is not enough for it.
#[no_mangle]
pub unsafe extern "C" fn towpath_recv_message(
    channel: *const towpath_channel,
    message: *mut *mut towpath_received_message,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_recv_message", |c| {
            let message = c.place("message", message)?;
            let (mut bytes, got) = c.handle(channel)?.receiver("towpath_recv_message")?.recv_message()?;
            let (data, length) = (bytes.as_mut_ptr().cast(), bytes.len() as u64);
            let shown = towpath_received_message { data, bytes: length, offset: got.offset, user: got.user };
            message.set(Box::into_raw(Box::new(Held { shown, bytes })).cast());
            Ok(())
        })
    }
}

/// Give a message of towpath_recv_message() back, with its bytes. NULL is fine, and nothing happens.
#[no_mangle]
pub unsafe extern "C" fn towpath_free_message(message: *mut towpath_received_message) -> towpath_status {
    // SAFETY: the caller keeps to the header: this is a `Held`, and it is given up.
    unsafe {
        call("towpath_free_message", |_| {
            if !message.is_null() {
                drop(Box::from_raw(message.cast::<Held>()));
            }
            Ok(())
        })
    }
}

fn start_as_c(start: &MessageStart) -> towpath_message_start {
    let (has_length, length) = (start.length.is_some().into(), start.length.unwrap_or(0));
    towpath_message_start { size: 0, has_length, length, offset: start.offset, user: start.user }
}

/// Wait until the user core has begun a message, and tell what it says of it, before any of it is received. Consumes
/// nothing: called again before the message's end was received, it tells the same.
///
/// Waits `nanoseconds` without progress at most, or TOWPATH_FOREVER; then it returns TOWPATH_PENDING. `start->size` is
/// set. Does not work on a channel that was opened with `no_announce`.
#[no_mangle]
pub unsafe extern "C" fn towpath_wait_message_start(
    channel: *const towpath_channel,
    nanoseconds: u64,
    start: *mut towpath_message_start,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wait_message_start", |c| {
            let start = c.output("start", start)?;
            let receiver = c.handle(channel)?.receiver("towpath_wait_message_start")?;
            start.set(start_as_c(&receiver.message_start(timeout(nanoseconds))?));
            Ok(())
        })
    }
}

/// As towpath_wait_message_start(), but never waits: TOWPATH_PENDING if no message has begun, and then the descriptor
/// of towpath_event_fd() will tell.
#[no_mangle]
pub unsafe extern "C" fn towpath_try_message_start(channel: *const towpath_channel, start: *mut towpath_message_start) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_try_message_start", |c| {
            let start = c.output("start", start)?;
            let receiver = c.handle(channel)?.receiver("towpath_try_message_start")?;
            let begun = receiver.try_message_start()?;
            let begun = begun.ok_or_else(|| c.pending(receiver.name(), "no message has begun yet"))?;
            start.set(start_as_c(&begun));
            Ok(())
        })
    }
}
