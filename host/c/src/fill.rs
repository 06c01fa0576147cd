// SPDX-License-Identifier: Apache-2.0
//! What the card holds of a channel, and waiting for it.

use crate::grows::grows;
use crate::{call, towpath_channel, towpath_status};
use towpath::Held;

/// What the card holds of a channel.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_held {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// From the card, 1: the user core can send no more before a transfer takes some.
    pub full: u32,
    /// From the card: bytes that the core has sent and that no transfer has taken. To the card: bytes that the core has not taken.
    pub bytes: u64,
}
grows!(towpath_held, 16);

fn held_as_c(held: Held) -> towpath_held {
    towpath_held { size: 0, full: held.full.into(), bytes: held.bytes.into() }
}

/// Wait until the card holds at least `bytes` bytes that the user core has sent on a channel from the card, or until the core can send no
/// more; `*held`, whose `size` is set, becomes what the card holds, and may be NULL. Takes nothing. On cards that have fill levels:
/// `towpath_info.features` says so.
///
/// Waits `nanoseconds` at most, TOWPATH_FOREVER or TOWPATH_CHANNEL_TIMEOUT; then it returns TOWPATH_PENDING. With 0 it does not wait, and
/// when the card holds less, the descriptor of towpath_event_fd() becomes readable once it holds enough. TOWPATH_INTERRUPTED: a signal
/// handler ran in this thread. TOWPATH_UNAVAILABLE: the card has no fill levels. A level beyond what the card can hold counts as a beat less
/// than that.
#[no_mangle]
pub unsafe extern "C" fn towpath_wait_held(
    channel: *mut towpath_channel,
    bytes: u32,
    nanoseconds: u64,
    held: *mut towpath_held,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wait_held", |c| {
            let (output, state) = (c.optional_output("held", held)?, c.handle(channel)?);
            let (receiver, options) = (state.receiver("towpath_wait_held")?, c.limit(nanoseconds, &state)?);
            output.set(held_as_c(match nanoseconds {
                0 => receiver.try_wait_held(bytes)?.ok_or_else(|| c.pending(receiver.name(), "the card holds less"))?,
                _ => state.watch(|| receiver.wait_held_with(bytes, options))?,
            }));
            Ok(())
        })
    }
}

/// Wait until the user core has taken what was sent on a channel to the card, but for `bytes` bytes. As towpath_wait_held().
#[no_mangle]
pub unsafe extern "C" fn towpath_wait_drained(
    channel: *mut towpath_channel,
    bytes: u32,
    nanoseconds: u64,
    held: *mut towpath_held,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_wait_drained", |c| {
            let (output, state) = (c.optional_output("held", held)?, c.handle(channel)?);
            let (sender, options) = (state.sender("towpath_wait_drained")?, c.limit(nanoseconds, &state)?);
            output.set(held_as_c(match nanoseconds {
                0 => sender.try_wait_drained(bytes)?.ok_or_else(|| c.pending(sender.name(), "the card holds more"))?,
                _ => state.watch(|| sender.wait_drained_with(bytes, options))?,
            }));
            Ok(())
        })
    }
}
