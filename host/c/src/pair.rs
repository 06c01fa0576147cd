// SPDX-License-Identifier: Apache-2.0
//! Pairs: a stream of one card that sends to a stream of another.

use crate::grows::grows;
use crate::handle::handle;
use crate::{call, towpath_channel, towpath_status};
use std::sync::{Mutex, MutexGuard, PoisonError};
use towpath::{connect_with, Error, Pair, PairFault, PairOptions, PairStatus, Parted};

/// A stream of one card that sends to a stream of another.
pub struct towpath_pair {
    _private: [u8; 0],
}

/// What a handle of a pair stands for.
pub(crate) struct PairState(Mutex<Pair>);

handle!(towpath_pair, 4, PairState);

impl PairState {
    fn lock(&self) -> MutexGuard<'_, Pair> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Settings of a pair. All zero but `size` are the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_pair_options {
    /// sizeof this struct.
    pub size: u32,
    /// The card that sends cuts its messages into pieces of so many bytes: a power of two from 128 to 4096, and no more than a quarter of
    /// the inbox. 0: the default.
    pub slot_bytes: u32,
}
grows!(towpath_pair_options, 8);

/// Why a pair no longer moves what it should.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_pair_fault {
    /// Nothing is wrong.
    TOWPATH_PAIR_WELL = 0,
    /// The card that sends met a fault, and has stopped.
    TOWPATH_PAIR_SENDING = 1,
    /// The channel that sends was reset, or its card.
    TOWPATH_PAIR_SENDER_RESET = 2,
    /// The channel that receives was reset, or its card: what it had not taken is lost.
    TOWPATH_PAIR_RECEIVER_RESET = 3,
    /// The link of the card that receives went down: what was on its way may be lost.
    TOWPATH_PAIR_LINK_DOWN = 4,
    /// Something came for which the inbox had no room, or that no card sends to its peer.
    TOWPATH_PAIR_OVERRUN = 5,
    /// The card that sends does not answer.
    TOWPATH_PAIR_SENDER_GONE = 6,
    /// The card that receives does not answer.
    TOWPATH_PAIR_RECEIVER_GONE = 7,
    /// What was sent had not arrived in time.
    TOWPATH_PAIR_LATE = 8,
    /// Something else: install the header of the library's version.
    TOWPATH_PAIR_OTHER = 9,
}

fn fault_as_c(fault: Option<&PairFault>) -> u32 {
    use towpath_pair_fault::*;
    let fault = match fault {
        None => TOWPATH_PAIR_WELL,
        Some(PairFault::Sending(_)) => TOWPATH_PAIR_SENDING,
        Some(PairFault::SenderReset) => TOWPATH_PAIR_SENDER_RESET,
        Some(PairFault::ReceiverReset) => TOWPATH_PAIR_RECEIVER_RESET,
        Some(PairFault::ReceiverLinkDown) => TOWPATH_PAIR_LINK_DOWN,
        Some(PairFault::Overrun) => TOWPATH_PAIR_OVERRUN,
        Some(PairFault::SenderGone(_)) => TOWPATH_PAIR_SENDER_GONE,
        Some(PairFault::ReceiverGone(_)) => TOWPATH_PAIR_RECEIVER_GONE,
        Some(PairFault::Late) => TOWPATH_PAIR_LATE,
        Some(_) => TOWPATH_PAIR_OTHER,
    };
    fault as u32
}

/// How a pair is doing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_pair_state {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// What is wrong: a towpath_pair_fault. Only towpath_disconnect() ends it; then the two can be paired again.
    pub fault: u32,
    /// Slots that the one card has begun since the two were paired, modulo 2^16: those that it has room for count, too.
    pub slots_sent: u32,
    /// Those of them that have come to the other whole, modulo 2^16.
    pub slots_arrived: u32,
    /// 1: a message has begun at the card that receives, and not ended.
    pub is_open: u32,
    /// 1: what comes waits until the user core has taken what the host has sent before.
    pub is_waiting: u32,
    /// The bytes of a slot.
    pub slot_bytes: u32,
    /// Zero.
    pub reserved: u32,
}
grows!(towpath_pair_state, 32);

/// How a pair was taken apart.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_parted {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// Why not all has arrived: a towpath_pair_fault.
    pub fault: u32,
    /// 1: all that was sent has arrived. What the core has sent beyond that waits for the next receiver, another partner or the host.
    pub arrived: u32,
    /// 1: the other user core has taken all of it. If not, what has arrived still goes to it, before all that is sent to it from now on.
    pub taken: u32,
    /// 1: the message in progress was ended there with an error. The rest of it goes to the next receiver as a message of its own.
    pub cut: u32,
    /// Zero.
    pub reserved: u32,
}
grows!(towpath_parted, 24);

fn parted_as_c(parted: &Parted) -> towpath_parted {
    let Parted { arrived, taken, cut, ref fault, .. } = *parted;
    towpath_parted {
        size: 0,
        fault: fault_as_c(fault.as_ref()),
        arrived: arrived.into(),
        taken: taken.into(),
        cut: cut.into(),
        reserved: 0,
    }
}

/// Let the user core behind `from`, a channel from one card, send to the user core behind `to`, a channel to another card, without the host.
/// Messages go as they are, with their attributes. Both streams need `peer = true` in the manifests of their cores. Until
/// towpath_disconnect(), receiving from `from` and sending to `to` are TOWPATH_CHANNEL_IN_USE; their handles may be released meanwhile, and the
/// pair keeps both channels and devices.
///
/// `options` may be NULL. On success `*pair` is a handle; on failure it is left as it was. TOWPATH_INVALID: either has transfers in flight, or a
/// message of which the host has moved a part and not the end. TOWPATH_UNAVAILABLE: one card cannot reach the other, or a stream cannot be
/// paired. Simulated cards of one world can, and boards that the program opens through VFIO.
#[no_mangle]
pub unsafe extern "C" fn towpath_connect(
    from: *mut towpath_channel,
    to: *mut towpath_channel,
    options: *const towpath_pair_options,
    pair: *mut *mut towpath_pair,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        const NAME: &str = "towpath_connect";
        call(NAME, |c| {
            let place = c.place("pair", pair)?;
            let slot_bytes = c.input("options", options)?.map(|options| options.slot_bytes).filter(|bytes| *bytes != 0);
            let (from, to) = (c.handle(from)?, c.handle(to)?);
            let made = connect_with(from.receiver(NAME)?, to.sender(NAME)?, PairOptions { slot_bytes })?;
            c.make(&place, PairState(Mutex::new(made)))
        })
    }
}

/// Take a pair apart, give both channels back to the host, and release the handle. NULL is fine, and nothing happens. The card that sends stops
/// at once, in the middle of a message if need be; then this waits until what was sent has arrived, and the user core there has taken
/// it, `nanoseconds` at most in which no slot ends, or TOWPATH_FOREVER. Then the two are taken apart nevertheless: `*parted`, whose `size` is set and
/// which may be NULL, tells what became of it.
///
/// TOWPATH_INTERRUPTED: a signal handler ran in this thread; nothing more is sent, and the handle is still one: call it again.
#[no_mangle]
pub unsafe extern "C" fn towpath_disconnect(pair: *mut towpath_pair, nanoseconds: u64, parted: *mut towpath_parted) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_disconnect", |c| {
            let output = c.optional_output("parted", parted)?;
            if pair.is_null() {
                return Ok(());
            }
            let limit = c.timeout(nanoseconds)?;
            let held = c.handle(pair)?;
            let parted = match held.lock().disconnect(limit.into()) {
                Ok(parted) => parted,
                Err(Error::Forked) => {
                    // The cards are the parent's: the handle alone is released.
                    held.close();
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            if !held.close() {
                return Err(c.closed::<towpath_pair>());
            }
            output.set(parted_as_c(&parted));
            Ok(())
        })
    }
}

/// How a pair is doing, into `*state`, whose `size` is set: two reads of the cards. A card that does not answer is a fault of the pair's, not of
/// the call.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_pair(pair: *const towpath_pair, state: *mut towpath_pair_state) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_pair", |c| {
            let (output, held) = (c.output("state", state)?, c.handle(pair)?);
            let pair = held.lock();
            let PairStatus { slots_sent, slots_arrived, is_open, is_waiting, fault, .. } = pair.status()?;
            output.set(towpath_pair_state {
                size: 0,
                fault: fault_as_c(fault.as_ref()),
                slots_sent: slots_sent.into(),
                slots_arrived: slots_arrived.into(),
                is_open: is_open.into(),
                is_waiting: is_waiting.into(),
                slot_bytes: pair.slot_bytes(),
                reserved: 0,
            });
            Ok(())
        })
    }
}
