// SPDX-License-Identifier: Apache-2.0
//! Transfers that stay in flight: submitted, and completed later.

use crate::border::{Caller, Failure, Result};
use crate::channel::{on, timeout, End};
use crate::grows::grows;
use crate::transfer::message;
use crate::{call, towpath_buffer, towpath_channel, towpath_message, towpath_outcome, towpath_status};
use std::ffi::c_void;
use towpath::{Completion, Ticket};

/// How a submitted transfer ended.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_completion {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// How: a towpath_outcome.
    pub outcome: u32,
    /// Which transfer.
    pub ticket: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// From the card: the offset that the user core gave for the message.
    pub offset: u32,
    /// From the card: the user word that the user core gave for the message.
    pub user: u32,
}
grows!(towpath_completion, 32);

fn as_c(completion: &Completion) -> towpath_completion {
    towpath_completion {
        size: size_of::<towpath_completion>() as u32,
        outcome: towpath_outcome::from(completion.status) as u32,
        ticket: completion.ticket.number(),
        bytes: completion.bytes,
        offset: completion.offset,
        user: completion.user,
    }
}

#[allow(clippy::too_many_arguments)] // they are C's
fn submit(
    c: &Caller,
    channel: *const towpath_channel,
    buffer: *const towpath_buffer,
    first: u64,
    bytes: u64,
    given: *const towpath_message,
    ticket: *mut u64,
    wait: bool,
) -> Result<()> {
    let ticket = c.place("ticket", ticket)?;
    let (end, buffer) = (c.handle(channel)?, c.handle(buffer)?);
    let range = first.checked_add(bytes).and_then(|end| Some(usize::try_from(first).ok()?..usize::try_from(end).ok()?));
    let range = range.ok_or_else(|| c.invalid(format_args!("{bytes} bytes from byte {first} are in no buffer")))?;
    let submitted = match (end, wait) {
        (End::H2c(sender), true) => sender.submit(buffer, range, message(c, given)?),
        (End::H2c(sender), false) => sender.try_submit(buffer, range, message(c, given)?),
        (End::C2h(_), _) if !given.is_null() => {
            return Err(c.invalid("message is not NULL: what comes from the card has its attributes from the user core"));
        }
        // SAFETY: no slice of the buffer is ever made here, and the header says when its memory may be used.
        (End::C2h(receiver), true) => unsafe { receiver.submit_shared(buffer, range, receiver.timeout().into()) },
        // SAFETY: as above.
        (End::C2h(receiver), false) => unsafe { receiver.try_submit_shared(buffer, range) },
    };
    ticket.set(submitted?.detach().number());
    Ok(())
}

/// Post a transfer of `bytes` bytes of a registered buffer, beginning at its byte `first`, and return at once, or as
/// soon as the channel's queue has room. `*ticket` becomes its number, by which towpath_wait() asks for it; 0 is one
/// like any other.
///
/// To the card, `message` says what it carries (NULL: a whole message without attributes); from the card it is NULL.
/// Each transfer from the card takes bytes of one message only. Until it has ended, the card uses the buffer's memory:
/// do not change what it sends, and neither read nor write what it receives. Each ticket is to be collected, by
/// towpath_wait(), towpath_try_wait() or towpath_poll_completions(), or to be given up by towpath_abandon(): how a
/// transfer ended is kept until then. Closing the channel collects them all.
///
/// TOWPATH_INVALID: the range is not in the buffer, is longer than one transfer can be, or the buffer is another
/// device's or registered for the other direction.
#[no_mangle]
pub unsafe extern "C" fn towpath_submit(
    channel: *const towpath_channel,
    buffer: *const towpath_buffer,
    first: u64,
    bytes: u64,
    message: *const towpath_message,
    ticket: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_submit", |c| submit(c, channel, buffer, first, bytes, message, ticket, true)) }
}

/// As towpath_submit(), but TOWPATH_QUEUE_FULL instead of waiting for room.
#[no_mangle]
pub unsafe extern "C" fn towpath_try_submit(
    channel: *const towpath_channel,
    buffer: *const towpath_buffer,
    first: u64,
    bytes: u64,
    message: *const towpath_message,
    ticket: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_try_submit", |c| submit(c, channel, buffer, first, bytes, message, ticket, false)) }
}

/// The error that a completion amounts to, if it does.
fn checked(channel: &str, completion: Completion) -> Result<()> {
    completion.check(channel, 0).map(drop).map_err(Failure::from)
}

/// Wait for a submitted transfer and collect how it ended. Waits `nanoseconds` at most, or TOWPATH_FOREVER.
///
/// `completion` may be NULL; otherwise its `size` is set, and it is filled in whenever the transfer was collected: if
/// this returns TOWPATH_OK, and if it returns TOWPATH_CANCELLED, TOWPATH_RESET or TOWPATH_FAULT, which is how the
/// transfer ended. TOWPATH_PENDING: the time is over and it is still in flight; wait again, or
/// towpath_cancel_transfer(). TOWPATH_INTERRUPTED: a signal handler ran, and it is still in flight.
/// TOWPATH_UNKNOWN_TICKET: it is not of this channel, or was collected before.
#[no_mangle]
pub unsafe extern "C" fn towpath_wait(
    channel: *const towpath_channel,
    ticket: u64,
    nanoseconds: u64,
    completion: *mut towpath_completion,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wait", |c| {
            let (end, output) = (c.handle(channel)?, c.optional_output("completion", completion)?);
            on!(end, channel => {
                let ended = channel.wait_ticket(Ticket::from_number(ticket), timeout(nanoseconds).into())?;
                output.set(as_c(&ended));
                checked(channel.name(), ended)
            })
        })
    }
}

/// As towpath_wait(), but never waits: TOWPATH_PENDING if the transfer is still in flight, and then the descriptor of
/// towpath_event_fd() will tell.
#[no_mangle]
pub unsafe extern "C" fn towpath_try_wait(
    channel: *const towpath_channel,
    ticket: u64,
    completion: *mut towpath_completion,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_try_wait", |c| {
            let (end, output) = (c.handle(channel)?, c.optional_output("completion", completion)?);
            on!(end, channel => {
                let ended = channel.try_wait_ticket(Ticket::from_number(ticket))?;
                let ended = ended.ok_or_else(|| c.pending(channel.name(), "the transfer is still in flight"))?;
                output.set(as_c(&ended));
                checked(channel.name(), ended)
            })
        })
    }
}

/// End one transfer as soon as may be; its completion, still to be collected, tells how far it came. Other transfers of
/// the channel go on. Nothing happens if it has ended. Does not wait. TOWPATH_BUS if the card does not answer.
#[no_mangle]
pub unsafe extern "C" fn towpath_cancel_transfer(channel: *const towpath_channel, ticket: u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_cancel_transfer", |c| Ok(on!(c.handle(channel)?, channel => channel.cancel_ticket(Ticket::from_number(ticket)))?))
    }
}

/// Say that nobody will collect this transfer: the library forgets how it ended. It goes on; towpath_cancel_transfer()
/// it first to end it.
#[no_mangle]
pub unsafe extern "C" fn towpath_abandon(channel: *const towpath_channel, ticket: u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_abandon", |c| {
            on!(c.handle(channel)?, channel => channel.abandon_ticket(Ticket::from_number(ticket)));
            Ok(())
        })
    }
}

/// Told of one transfer that has ended; `*completion` is the library's, and gone when this returns. `context` is what
/// was given together with this function.
pub type towpath_completion_callback = Option<unsafe extern "C" fn(context: *mut c_void, completion: *const towpath_completion)>;

/// Collect all submitted transfers of a channel that have ended: `each` is called for each of them, in order, in this
/// thread, before this returns. It may call any function of the library. If some have not ended, the descriptor of
/// towpath_event_fd() will tell.
///
/// How a transfer ended is in its outcome; a fault of one does not make this call fail. `context` is handed to `each`
/// and not looked at.
#[no_mangle]
pub unsafe extern "C" fn towpath_poll_completions(
    channel: *const towpath_channel,
    each: towpath_completion_callback,
    context: *mut c_void,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_poll_completions", |c| {
            let end = c.handle(channel)?;
            let each = each.ok_or_else(|| c.invalid("each is NULL"))?;
            let mut room = [Completion::default(); 64];
            loop {
                let found = on!(end, channel => channel.poll_completions(&mut room))?;
                for completion in &room[..found] {
                    each(context, &as_c(completion));
                }
                if found < room.len() {
                    return Ok(());
                }
            }
        })
    }
}
