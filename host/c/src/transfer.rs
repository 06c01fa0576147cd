// SPDX-License-Identifier: Apache-2.0
//! Blocking transfers.

use crate::border::{Caller, Result};
use crate::grows::{grows, Output};
use crate::{call, towpath_buffer, towpath_channel, towpath_status, TOWPATH_CHANNEL_TIMEOUT};
use std::ffi::c_void;
use std::io::{IoSlice, IoSliceMut};
use std::ops::Range;
use towpath::{Message, MessageStart, Received, Receiver, Sender, WaitOptions};
use towpath_system::iovec;

/// In `towpath_message.flags`: the message goes on with the next call.
pub const TOWPATH_MORE: u32 = 1;
/// In `towpath_message.flags`: `length` is set, and the user core receives it beforehand.
pub const TOWPATH_LENGTH: u32 = 2;

/// What a message to the card carries besides its bytes. All zero but `size` is a whole message without attributes: `towpath_message
/// message = {.size = sizeof message};` Attributes count only with a message's first part.
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
    /// For the user core: the user word, a value of the program's choice.
    pub user: u32,
    /// Zero.
    pub reserved: u32,
}
grows!(towpath_message, 32);

/// The result of a receive.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_received {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// 1: the message ended here. 0: the next call returns its rest.
    pub end_of_message: u32,
    /// Bytes in the caller's memory that are valid.
    pub bytes: u64,
    /// The offset that the user core set for the message.
    pub offset: u32,
    /// The user word that the user core set for the message.
    pub user: u32,
}
grows!(towpath_received, 24);

/// A whole message, in memory of the library's: release it with towpath_free_message().
#[repr(C)]
pub struct towpath_received_message {
    /// Its bytes, which may be changed.
    pub data: *mut c_void,
    /// Its length in bytes.
    pub bytes: u64,
    /// The offset that the user core set for it.
    pub offset: u32,
    /// The user word that the user core set for it.
    pub user: u32,
}

/// The start of a message in the user core.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_message_start {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// 1: `length` is known.
    pub has_length: u32,
    /// Its length in bytes, if the core announced it.
    pub length: u64,
    /// The offset that the user core set for it.
    pub offset: u32,
    /// The user word that the user core set for it.
    pub user: u32,
}
grows!(towpath_message_start, 24);

/// A message's attributes; NULL is a whole message without attributes.
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

/// A range of a buffer. The library refuses one that is not in it.
pub(crate) fn range(c: &Caller, first: u64, bytes: u64) -> Result<Range<usize>> {
    let range = first.checked_add(bytes).and_then(|end| Some(usize::try_from(first).ok()?..usize::try_from(end).ok()?));
    range.ok_or_else(|| c.invalid(format_args!("{bytes} bytes from byte {first} are in no buffer")))
}

/// One piece of memory, as short forms take it.
fn piece(data: *mut c_void, bytes: u64) -> iovec {
    iovec { iov_base: data, iov_len: bytes as usize } // handles are of 64 bits, so addresses are as well
}

/// A call that sends, but for where the bytes come from.
struct Send {
    function: &'static str,
    channel: *mut towpath_channel,
    message: *const towpath_message,
    nanoseconds: u64,
    moved: *mut u64,
}

impl Send {
    /// Make it. `bytes` is how many bytes `send` sends if it succeeds.
    fn run(
        &self,
        c: &Caller,
        bytes: impl FnOnce() -> u64,
        send: impl FnOnce(&Sender, Message, WaitOptions<'_>) -> Result<towpath::Result<()>>,
    ) -> Result<()> {
        let moved = c.optional_place("moved", self.moved)?;
        moved.set(0);
        let held = c.handle(self.channel)?;
        let (sender, options) = (held.sender(self.function)?, c.limit(self.nanoseconds, &held)?);
        let sent = send(sender, message(c, self.message)?, options)?;
        moved.set(match &sent {
            Ok(()) => bytes(),
            Err(error) => error.bytes().unwrap_or(0),
        });
        Ok(sent?)
    }

    fn send_memory(&self, c: &Caller, iov: &[iovec]) -> Result<()> {
        let bytes = || iov.iter().map(|piece| piece.iov_len as u64).sum();
        self.run(c, bytes, |sender, message, options| {
            let mut slices = Vec::with_capacity(iov.len());
            for piece in iov {
                let (start, bytes) = c.memory("data", piece.iov_base, piece.iov_len as u64)?;
                // SAFETY: `call` was promised memory of that length, and it is not too much to be there.
                slices.push(IoSlice::new(unsafe { std::slice::from_raw_parts(start, bytes) }));
            }
            Ok(sender.send_with(&slices, message, options))
        })
    }
}

/// Send a message, or a part of one, and wait until the card has it.
///
/// Reads `bytes` bytes from `data`, during the call only; zero bytes are a message, too: the empty one. `message` contains whether the
/// message goes on with the next call, and its attributes; NULL: a whole message without attributes. `moved` may be NULL; otherwise
/// `*moved` becomes how many bytes the card has taken, on failure, too. The limit is the channel's timeout: see towpath_set_timeout().
///
/// TOWPATH_TIMEOUT: no progress within the limit; the message is open: send the rest, without the bytes that the card has taken, or
/// towpath_reset_channel(). TOWPATH_INTERRUPTED: a signal handler ran in this thread; the message is open as well. TOWPATH_CANCELLED,
/// TOWPATH_RESET: by another thread. TOWPATH_FAULT: a fault on the link ended the transfer. TOWPATH_WRONG_DIRECTION: the channel receives.
#[no_mangle]
pub unsafe extern "C" fn towpath_send(
    channel: *mut towpath_channel,
    data: *const c_void,
    bytes: u64,
    message: *const towpath_message,
    moved: *mut u64,
) -> towpath_status {
    let send = Send { function: "towpath_send", channel, message, nanoseconds: TOWPATH_CHANNEL_TIMEOUT, moved };
    // SAFETY: the caller keeps to the header.
    unsafe { call(send.function, |c| send.send_memory(c, &[piece(data.cast_mut(), bytes)])) }
}

/// As towpath_send(), from `count` pieces of memory in one call, one after the other, with this call's own limit: `nanoseconds` without
/// progress, TOWPATH_FOREVER, or TOWPATH_CHANNEL_TIMEOUT. `iov` may be NULL if there are no pieces.
#[no_mangle]
pub unsafe extern "C" fn towpath_sendv(
    channel: *mut towpath_channel,
    iov: *const iovec,
    count: u64,
    message: *const towpath_message,
    nanoseconds: u64,
    moved: *mut u64,
) -> towpath_status {
    let send = Send { function: "towpath_sendv", channel, message, nanoseconds, moved };
    // SAFETY: the caller keeps to the header.
    unsafe { call(send.function, |c| send.send_memory(c, c.array("iov", iov, count)?)) }
}

/// As towpath_sendv(), from `bytes` bytes of a registered buffer, beginning at its byte `first`. The memory is registered, so nothing is
/// mapped for the call; do not change it meanwhile.
///
/// TOWPATH_INVALID: the range is not in the buffer, or the buffer is another device's or registered for the other direction.
#[no_mangle]
pub unsafe extern "C" fn towpath_send_buffer(
    channel: *mut towpath_channel,
    buffer: *const towpath_buffer,
    first: u64,
    bytes: u64,
    message: *const towpath_message,
    nanoseconds: u64,
    moved: *mut u64,
) -> towpath_status {
    let send = Send { function: "towpath_send_buffer", channel, message, nanoseconds, moved };
    // SAFETY: the caller keeps to the header.
    unsafe {
        call(send.function, |c| {
            let from_buffer = |sender: &Sender, message, options: WaitOptions<'_>| {
                let (buffer, range) = (c.handle(buffer)?, range(c, first, bytes)?);
                Ok(sender.send_buffer_with(&buffer, &[range], message, options))
            };
            send.run(c, || bytes, from_buffer)
        })
    }
}

/// A call that receives, but for where the bytes go.
struct Recv {
    function: &'static str,
    channel: *mut towpath_channel,
    nanoseconds: u64,
    received: *mut towpath_received,
}

impl Recv {
    fn run(&self, c: &Caller, recv: impl FnOnce(&Receiver, WaitOptions<'_>) -> Result<towpath::Result<Received>>) -> Result<()> {
        let nothing = towpath_received { size: 0, end_of_message: 0, bytes: 0, offset: 0, user: 0 };
        let received: Output<towpath_received> = c.optional_output("received", self.received)?;
        received.set(nothing);
        let held = c.handle(self.channel)?;
        let (receiver, options) = (held.receiver(self.function)?, c.limit(self.nanoseconds, &held)?);
        match recv(receiver, options)? {
            Ok(got) => {
                received.set(as_c(&got));
                Ok(())
            }
            Err(error) => {
                received.set(towpath_received { bytes: error.bytes().unwrap_or(0), ..nothing });
                Err(error.into())
            }
        }
    }

    fn recv_memory(&self, c: &Caller, iov: &[iovec]) -> Result<()> {
        self.run(c, |receiver, options| {
            let mut slices = Vec::with_capacity(iov.len());
            for piece in iov {
                let (start, bytes) = c.memory("data", piece.iov_base, piece.iov_len as u64)?;
                // SAFETY: `call` was promised memory of that length which nothing else uses, and it is not too much to be there.
                slices.push(IoSliceMut::new(unsafe { std::slice::from_raw_parts_mut(start, bytes) }));
            }
            Ok(receiver.recv_into_with(&mut slices, options))
        })
    }
}

fn as_c(got: &Received) -> towpath_received {
    let end_of_message = got.end_of_message.into();
    towpath_received { size: 0, end_of_message, bytes: got.bytes as u64, offset: got.offset, user: got.user }
}

/// Receive into memory of the caller's until it is full or the message ends.
///
/// Writes up to `bytes` bytes at `data`, during the call only. `received` may be NULL; otherwise its `size` is set, and it reports what was
/// received. The next call returns what does not fit; no call takes bytes of two messages. The limit is the channel's timeout: see
/// towpath_set_timeout().
///
/// TOWPATH_TIMEOUT: no progress within the limit; the first `received->bytes` bytes are valid, and the message goes on with the next call.
/// TOWPATH_INTERRUPTED: a signal handler ran in this thread; the same is true of the bytes. TOWPATH_CANCELLED, TOWPATH_RESET: by another
/// thread. TOWPATH_FAULT: a fault on the link ended the transfer. TOWPATH_WRONG_DIRECTION: the channel sends.
#[no_mangle]
pub unsafe extern "C" fn towpath_recv(
    channel: *mut towpath_channel,
    data: *mut c_void,
    bytes: u64,
    received: *mut towpath_received,
) -> towpath_status {
    let recv = Recv { function: "towpath_recv", channel, nanoseconds: TOWPATH_CHANNEL_TIMEOUT, received };
    // SAFETY: the caller keeps to the header.
    unsafe { call(recv.function, |c| recv.recv_memory(c, &[piece(data, bytes)])) }
}

/// As towpath_recv(), into `count` pieces of memory, one after the other, which do not overlap, with this call's own
/// limit: `nanoseconds` without progress, TOWPATH_FOREVER, or TOWPATH_CHANNEL_TIMEOUT. `iov` may be NULL if there are no
/// pieces.
#[no_mangle]
pub unsafe extern "C" fn towpath_recvv(
    channel: *mut towpath_channel,
    iov: *const iovec,
    count: u64,
    nanoseconds: u64,
    received: *mut towpath_received,
) -> towpath_status {
    let recv = Recv { function: "towpath_recvv", channel, nanoseconds, received };
    // SAFETY: the caller keeps to the header.
    unsafe { call(recv.function, |c| recv.recv_memory(c, c.array("iov", iov, count)?)) }
}

/// As towpath_recvv(), into `bytes` bytes of a registered buffer, beginning at its byte `first`. The memory is registered, so nothing is
/// mapped for the call; neither read nor write it meanwhile.
///
/// TOWPATH_INVALID: the range is not in the buffer, or the buffer is another device's or registered for the other direction.
#[no_mangle]
pub unsafe extern "C" fn towpath_recv_buffer(
    channel: *mut towpath_channel,
    buffer: *mut towpath_buffer,
    first: u64,
    bytes: u64,
    nanoseconds: u64,
    received: *mut towpath_received,
) -> towpath_status {
    let recv = Recv { function: "towpath_recv_buffer", channel, nanoseconds, received };
    // SAFETY: the caller keeps to the header.
    unsafe {
        call(recv.function, |c| {
            recv.run(c, |receiver, options| {
                let (buffer, range) = (c.handle(buffer)?, range(c, first, bytes)?);
                // No slice of the buffer is ever made here, and the header specifies when its memory may be used.
                Ok(receiver.recv_buffer_shared(&buffer, &[range], options))
            })
        })
    }
}

/// The message that C sees, and behind it what holds its bytes.
#[repr(C)]
struct Held {
    shown: towpath_received_message,
    bytes: Vec<u8>,
    got: Received,
}

/// Receive a whole message of any length into memory of the library's: `*message`, which towpath_free_message() releases. On failure
/// `*message` is left as it was, and the bytes received so far are kept for the next call. The limit is this call's own: `nanoseconds`
/// without progress, TOWPATH_FOREVER, or TOWPATH_CHANNEL_TIMEOUT.
///
/// Errors are those of towpath_recv(), and TOWPATH_MEMORY if there is not enough for it.
#[no_mangle]
pub unsafe extern "C" fn towpath_recv_message(
    channel: *mut towpath_channel,
    nanoseconds: u64,
    message: *mut *mut towpath_received_message,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_recv_message", |c| {
            let message = c.place("message", message)?;
            let held = c.handle(channel)?;
            let (receiver, options) = (held.receiver("towpath_recv_message")?, c.limit(nanoseconds, &held)?);
            let (mut bytes, got) = receiver.recv_message_with(options)?;
            let (data, length) = (bytes.as_mut_ptr().cast(), bytes.len() as u64);
            let shown = towpath_received_message { data, bytes: length, offset: got.offset, user: got.user };
            message.set(Box::into_raw(Box::new(Held { shown, bytes, got })).cast());
            Ok(())
        })
    }
}

/// Release a message of towpath_recv_message(), with its bytes. NULL is fine, and nothing happens.
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

/// Put back the message that towpath_recv_message() has just received from this channel, with its bytes as they were received, and release it: the
/// next receive returns it first. For a program that has no place for it. On failure it is not released.
///
/// TOWPATH_WRONG_DIRECTION: the channel sends.
#[no_mangle]
pub unsafe extern "C" fn towpath_unread_message(channel: *mut towpath_channel, message: *mut towpath_received_message) -> towpath_status {
    // SAFETY: the caller keeps to the header: this is a `Held`, and it is given up.
    unsafe {
        call("towpath_unread_message", |c| {
            let held = c.handle(channel)?;
            let receiver = held.receiver("towpath_unread_message")?;
            if message.is_null() {
                return Err(c.invalid("message is NULL: give one of towpath_recv_message()"));
            }
            let Held { bytes, got, .. } = *Box::from_raw(message.cast::<Held>());
            receiver.unread_message(bytes, got);
            Ok(())
        })
    }
}

fn start_as_c(start: &MessageStart) -> towpath_message_start {
    let (has_length, length) = (start.length.is_some().into(), start.length.unwrap_or(0));
    towpath_message_start { size: 0, has_length, length, offset: start.offset, user: start.user }
}

/// Wait until the user core has begun a message, and report what it announces of it, before any of it is received. Consumes nothing: called
/// again before the message's end was received, it reports the same.
///
/// Waits `nanoseconds` without progress at most, TOWPATH_FOREVER or TOWPATH_CHANNEL_TIMEOUT; then it returns TOWPATH_PENDING. With 0 it
/// does not wait, and when it finds nothing the descriptor of towpath_event_fd() signals the next start. TOWPATH_INTERRUPTED: a signal
/// handler ran in this thread. `start->size` is set. Does not work on a channel that was opened with `no_announce`.
#[no_mangle]
pub unsafe extern "C" fn towpath_wait_message_start(
    channel: *mut towpath_channel,
    nanoseconds: u64,
    start: *mut towpath_message_start,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wait_message_start", |c| {
            let start = c.output("start", start)?;
            let held = c.handle(channel)?;
            let (receiver, options) = (held.receiver("towpath_wait_message_start")?, c.limit(nanoseconds, &held)?);
            let begun = match nanoseconds {
                0 => receiver.try_message_start()?.ok_or_else(|| c.pending(receiver.name(), "no message has begun yet"))?,
                _ => held.watch(|| receiver.message_start_with(options))?,
            };
            start.set(start_as_c(&begun));
            Ok(())
        })
    }
}
