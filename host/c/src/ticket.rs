// SPDX-License-Identifier: Apache-2.0
//! Transfers that stay in flight: submitted, and completed later.

use crate::border::{Failure, Result};
use crate::channel::{on, End};
use crate::grows::grows;
use crate::transfer::{message, range};
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

/// Post a transfer of `bytes` bytes of a registered buffer, beginning at its byte `first`, and return at once, or when the channel's queue
/// has room. `*ticket` becomes its number, for towpath_wait(); 0 is one like any other.
///
/// To the card, `message` contains the message's attributes (NULL: a whole message without attributes); from the card it is NULL. Each
/// transfer from the card takes bytes of one message only. Until it has ended, the card uses the buffer's memory: do not change what it
/// sends, and neither read nor write what it receives. Each ticket is to be collected, by towpath_wait() or towpath_poll_completions(), or
/// to be given up by towpath_abandon(): the library keeps its completion until then. Closing the channel collects them all.
///
/// Waits for room for `nanoseconds` without progress at most, TOWPATH_FOREVER or TOWPATH_CHANNEL_TIMEOUT; 0: it does not wait.
/// TOWPATH_QUEUE_FULL: there was none. TOWPATH_INTERRUPTED: a signal handler ran in this thread. In both cases nothing was posted.
/// TOWPATH_INVALID: the range is not in the buffer, is longer than one transfer can be, or the buffer is another device's or registered for
/// the other direction.
#[no_mangle]
pub unsafe extern "C" fn towpath_submit(
    channel: *mut towpath_channel,
    buffer: *mut towpath_buffer,
    first: u64,
    bytes: u64,
    message: *const towpath_message,
    nanoseconds: u64,
    ticket: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_submit", |c| {
            let ticket = c.place("ticket", ticket)?;
            let (held, buffer) = (c.handle(channel)?, c.handle(buffer)?);
            let (range, options) = (range(c, first, bytes)?, c.limit(nanoseconds, &held)?);
            let submitted = match (&**held, nanoseconds) {
                (End::H2c(sender), 0) => sender.try_submit(&buffer, range, self::message(c, message)?),
                (End::H2c(sender), _) => sender.submit_with(&buffer, range, self::message(c, message)?, options),
                (End::C2h(_), _) if !message.is_null() => {
                    return Err(c.invalid("message is not NULL: what comes from the card has its attributes from the user core"));
                }
                // No slice of the buffer is ever made here, and the header specifies when its memory may be used.
                (End::C2h(receiver), 0) => receiver.try_submit_shared(&buffer, range),
                (End::C2h(receiver), _) => receiver.submit_shared(&buffer, range, options),
            };
            ticket.set(submitted?.detach().number());
            Ok(())
        })
    }
}

/// One of the transfers of towpath_submit_many().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_submission {
    /// The registered buffer.
    pub buffer: *mut towpath_buffer,
    /// Its byte that the transfer begins with.
    pub first: u64,
    /// How many bytes.
    pub bytes: u64,
    /// To the card: the message's attributes; NULL: a whole message without attributes. From the card: NULL.
    pub message: *const towpath_message,
}

/// Post `count` transfers in their order, as towpath_submit() does each, and return at once: as many as the channel's queue has room for, or
/// when it has room for some. `*submitted` becomes how many, from the first on, and `tickets`, which has room for `count`, holds their
/// numbers; submit the rest again. Where the card's pages are mapped write-combining (today: in simulation), transfers posted together take a
/// fraction of the stores.
///
/// Waits for room for `nanoseconds` without progress at most, TOWPATH_FOREVER or TOWPATH_CHANNEL_TIMEOUT; 0: it does not wait. After any
/// error nothing was posted. TOWPATH_QUEUE_FULL: there was no room for the first. TOWPATH_INTERRUPTED: a signal handler ran in this thread.
/// TOWPATH_INVALID: one of the transfers is invalid, for the same reasons as in towpath_submit(). `*submitted` is set on success only.
#[no_mangle]
pub unsafe extern "C" fn towpath_submit_many(
    channel: *mut towpath_channel,
    transfers: *const towpath_submission,
    count: u64,
    nanoseconds: u64,
    tickets: *mut u64,
    submitted: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_submit_many", |c| {
            let submitted = c.place("submitted", submitted)?;
            let transfers = c.array("transfers", transfers, count)?;
            if count > 0 {
                c.place("tickets", tickets)?;
            }
            let held = c.handle(channel)?;
            let options = c.limit(nanoseconds, &held)?;
            let buffers = transfers.iter().map(|transfer| c.handle(transfer.buffer)).collect::<Result<Vec<_>>>()?;
            let wait = (nanoseconds > 0).then_some(options);
            let posted = match &**held {
                End::H2c(sender) => {
                    let all = transfers.iter().zip(&buffers).map(|(transfer, buffer)| {
                        Ok((&**buffer, range(c, transfer.first, transfer.bytes)?, message(c, transfer.message)?))
                    });
                    let all = all.collect::<Result<Vec<_>>>()?;
                    match wait {
                        Some(options) => sender.submit_many_with(&all, options)?,
                        None => sender.try_submit_many(&all)?,
                    }
                }
                End::C2h(_) if transfers.iter().any(|transfer| !transfer.message.is_null()) => {
                    return Err(c.invalid("message is not NULL: what comes from the card has its attributes from the user core"));
                }
                End::C2h(receiver) => {
                    let all =
                        transfers.iter().zip(&buffers).map(|(transfer, buffer)| Ok((&**buffer, range(c, transfer.first, transfer.bytes)?)));
                    let all = all.collect::<Result<Vec<_>>>()?;
                    // No slice of the buffers is ever made here, and the header specifies when their memory may be used.
                    receiver.submit_many_shared(&all, wait)?
                }
            };
            submitted.set(posted.len() as u64);
            for (number, transfer) in posted.into_iter().enumerate() {
                tickets.add(number).write(transfer.detach().number());
            }
            Ok(())
        })
    }
}

/// The error that a completion stands for, if it does.
fn checked(channel: &str, completion: Completion) -> Result<()> {
    completion.check(channel, 0).map(drop).map_err(Failure::from)
}

/// Wait for a submitted transfer and collect how it ended. Waits `nanoseconds` without progress at most, TOWPATH_FOREVER or
/// TOWPATH_CHANNEL_TIMEOUT. With 0 it does not wait, and while the transfer is in flight the descriptor of towpath_event_fd() signals its
/// end.
///
/// `completion` may be NULL; otherwise its `size` is set, and it is filled in whenever the transfer was collected: if this returns
/// TOWPATH_OK, and if it returns TOWPATH_CANCELLED, TOWPATH_RESET or TOWPATH_FAULT, which is how the transfer ended. TOWPATH_PENDING: the
/// time is over and it is still in flight; wait again, or towpath_cancel_transfer(). TOWPATH_INTERRUPTED: a signal handler ran in this
/// thread, and it is still in flight. TOWPATH_UNKNOWN_TICKET: it is not of this channel, or was collected before.
#[no_mangle]
pub unsafe extern "C" fn towpath_wait(
    channel: *mut towpath_channel,
    ticket: u64,
    nanoseconds: u64,
    completion: *mut towpath_completion,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wait", |c| {
            let (held, output) = (c.handle(channel)?, c.optional_output("completion", completion)?);
            let (ticket, options) = (Ticket::from_number(ticket), c.limit(nanoseconds, &held)?);
            on!(&held, channel => {
                let ended = match nanoseconds {
                    0 => channel.try_wait_ticket(ticket)?.ok_or_else(|| c.pending(channel.name(), "the transfer is still in flight"))?,
                    _ => channel.wait_ticket(ticket, options)?,
                };
                output.set(as_c(&ended));
                checked(channel.name(), ended)
            })
        })
    }
}

/// End one transfer early; its completion, still to be collected, reports how many bytes moved. Other transfers of the channel go on. Does
/// nothing if it has ended. Does not wait. TOWPATH_BUS if the card does not answer.
#[no_mangle]
pub unsafe extern "C" fn towpath_cancel_transfer(channel: *mut towpath_channel, ticket: u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_cancel_transfer", |c| Ok(on!(&c.handle(channel)?, channel => channel.cancel_ticket(Ticket::from_number(ticket)))?))
    }
}

/// Give up this transfer's result: the library discards its completion. The transfer goes on; to end it, call towpath_cancel_transfer()
/// first.
#[no_mangle]
pub unsafe extern "C" fn towpath_abandon(channel: *mut towpath_channel, ticket: u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_abandon", |c| {
            on!(&c.handle(channel)?, channel => channel.abandon_ticket(Ticket::from_number(ticket)));
            Ok(())
        })
    }
}

/// Receives one transfer that has ended; `*completion` is the library's, and is valid until this returns. `context` is the pointer that was
/// passed together with this function.
pub type towpath_completion_callback = Option<unsafe extern "C" fn(context: *mut c_void, completion: *const towpath_completion)>;

/// Collect all submitted transfers of a channel that have ended: calls `each` for each of them, in order, in this thread, before this
/// returns. It may call any function of the library, and close the channel. If some have not ended, the descriptor of towpath_event_fd()
/// signals the next end.
///
/// The outcome of a completion is how its transfer ended; a fault of one transfer does not make this call fail. `context` is passed to
/// `each` unchanged.
#[no_mangle]
pub unsafe extern "C" fn towpath_poll_completions(
    channel: *mut towpath_channel,
    each: towpath_completion_callback,
    context: *mut c_void,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_poll_completions", |c| {
            let mut room = [Completion::default(); 64];
            loop {
                let held = c.handle(channel)?;
                let each = each.ok_or_else(|| c.invalid("each is NULL"))?;
                let found = on!(&held, channel => channel.poll_completions(&mut room))?;
                drop(held); // the callbacks may close the channel
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
