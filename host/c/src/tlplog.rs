// SPDX-License-Identifier: Apache-2.0
//! The log of packets on the card.

use crate::border::{Caller, Result};
use crate::grows::grows;
use crate::{call, towpath_device, towpath_status};
use std::ffi::{c_char, c_void};
use towpath::{TlpEntry, TlpFilter, TlpLog, TlpStream};

/// Which way a packet went, and what it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_tlp_stream {
    /// The card writes memory, or raises an interrupt.
    TOWPATH_SENT_WRITE = 0,
    /// The card reads memory.
    TOWPATH_SENT_READ = 1,
    /// The card answers a read of a BAR.
    TOWPATH_SENT_COMPLETION = 2,
    /// A write to a BAR.
    TOWPATH_RECEIVED_WRITE = 4,
    /// A read of a BAR.
    TOWPATH_RECEIVED_READ = 5,
    /// An answer to a read of the card's.
    TOWPATH_RECEIVED_COMPLETION = 6,
}

/// A member of towpath_tlp that this packet does not have.
pub const TOWPATH_TLP_NONE: u32 = u32::MAX;

/// A packet between card and host, as the card sent or received it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_tlp {
    /// sizeof this struct.
    pub size: u32,
    /// Which way it went, and what it is: a towpath_tlp_stream.
    pub stream: u32,
    /// Counted from 0 since the log was cleared.
    pub number: u64,
    /// When it began, in picoseconds since the card was configured.
    pub time_ps: u64,
    /// Of the first byte that it names: of the card's own requests in memory, of an access to a BAR in the BAR, of an answer its lower address.
    pub address: u64,
    /// Bytes that it carries, or wants.
    pub bytes: u32,
    /// Dwords of its payload; of a read those that it wants.
    pub dwords: u32,
    /// Byte enables of a request: of the first dword in bits 0 to 3, of the last in bits 4 to 7.
    pub byte_enables: u32,
    /// Of an access to a BAR: which one, or TOWPATH_TLP_NONE.
    pub bar: u32,
    /// Of all but writes, or TOWPATH_TLP_NONE.
    pub tag: u32,
    /// Of an answer: bytes still to come, with this packet's; or TOWPATH_TLP_NONE.
    pub byte_count: u32,
    /// Of an answer: completion status, 0 if it is good; or TOWPATH_TLP_NONE.
    pub status: u32,
    /// Who asked, of an access to a BAR and of its answer: bus, device, function; or TOWPATH_TLP_NONE.
    pub requester: u32,
    /// Its traffic class, 0 where it is not known.
    pub traffic_class: u32,
    /// Its attributes: bit 1 is relaxed ordering.
    pub attributes: u32,
    /// 1: the payload of an answer to the card is marked as corrupt.
    pub is_poisoned: u32,
    /// 1: packets of its stream before it came faster than the log takes them, and are not in it.
    pub is_after_loss: u32,
    /// 1: `first_dword` is that of its payload.
    pub has_data: u32,
    /// First dword of its payload.
    pub first_dword: u32,
}
grows!(towpath_tlp, 88);

fn as_c(entry: &TlpEntry) -> towpath_tlp {
    let or_none = |value: Option<u32>| value.unwrap_or(TOWPATH_TLP_NONE);
    let (address, bytes) = entry.extent();
    towpath_tlp {
        size: size_of::<towpath_tlp>() as u32,
        stream: entry.stream as u32,
        number: entry.number,
        time_ps: entry.time_ps,
        address,
        bytes,
        dwords: entry.dwords.into(),
        byte_enables: u32::from(entry.byte_enables.0) | u32::from(entry.byte_enables.1) << 4,
        bar: or_none(entry.bar.map(u32::from)),
        tag: or_none(entry.tag.map(u32::from)),
        byte_count: or_none(entry.byte_count.map(u32::from)),
        status: or_none(entry.status.map(u32::from)),
        requester: or_none(entry.requester.map(u32::from)),
        traffic_class: entry.traffic_class.into(),
        attributes: entry.attributes.into(),
        is_poisoned: entry.is_poisoned.into(),
        is_after_loss: entry.is_after_loss.into(),
        has_data: entry.first_dword.is_some().into(),
        first_dword: entry.first_dword.unwrap_or(0),
    }
}

/// A plug-in of type "tlplog": the last packets between card and host, in a ring on the card.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_tlp_log {
    /// sizeof this struct.
    pub size: u32,
    /// Packets that the ring holds.
    pub depth: u32,
    /// Packets that are in the log, or were, since it was cleared.
    pub logged: u64,
    /// Of these, packets that others have overwritten.
    pub overwritten: u64,
    /// Packets that came faster than the log takes them, modulo 2^32.
    pub dropped: u32,
    /// 1: packets are logged.
    pub is_running: u32,
    /// Of the filter, bit n: packets of the towpath_tlp_stream n are logged.
    pub streams: u32,
    /// Of the filter, bit n: accesses to BAR n, and their answers, are logged.
    pub bars: u32,
    /// Of the filter: the card's own requests that begin at this address or above it are logged, ...
    pub first_address: u64,
    /// ... and at this one or below it.
    pub last_address: u64,
}
grows!(towpath_tlp_log, 56);

impl Caller {
    fn tlp_log(&self, device: *const towpath_device, name: *const c_char) -> Result<TlpLog> {
        Ok(TlpLog::new(self.handle(device)?.device.plugin(self.text("name", name)?)?)?)
    }
}

/// How a plug-in of type "tlplog" is doing, and its filter, into `*log`, whose `size` is set. `name` is the plug-in's type, as for
/// towpath_read_plugin().
///
/// TOWPATH_INVALID: there is no such plug-in, it is of another type, or of a version that this library does not know.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_tlp_log(
    device: *mut towpath_device,
    name: *const c_char,
    log: *mut towpath_tlp_log,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_tlp_log", |c| {
            let (output, plugin) = (c.output("log", log)?, c.tlp_log(device, name)?);
            let (counts, filter) = (plugin.counts()?, plugin.filter()?);
            output.set(towpath_tlp_log {
                size: 0,
                depth: plugin.depth(),
                logged: counts.logged,
                overwritten: counts.overwritten,
                dropped: counts.dropped,
                is_running: plugin.is_running()?.into(),
                streams: filter.streams.iter().fold(0, |bits, stream| bits | 1 << *stream as u32),
                bars: filter.bars.iter().fold(0, |bits, bar| bits | 1 << bar),
                first_address: *filter.addresses.start(),
                last_address: *filter.addresses.end(),
            });
            Ok(())
        })
    }
}

/// Set the filter of a plug-in of type "tlplog": `streams`, `bars`, `first_address` and `last_address` of `*log`, whose other members but `size` are
/// not looked at. It takes several writes, and what passes meanwhile is logged by some of them. As towpath_get_tlp_log(). TOWPATH_INVALID: there is
/// no such stream, or no such BAR.
#[no_mangle]
pub unsafe extern "C" fn towpath_set_tlp_filter(
    device: *mut towpath_device,
    name: *const c_char,
    log: *const towpath_tlp_log,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_set_tlp_filter", |c| {
            let plugin = c.tlp_log(device, name)?;
            let wanted = c.input("log", log)?.ok_or_else(|| c.invalid("log is NULL"))?;
            let numbers = |bits: u32| (0..32).filter(move |number| bits >> number & 1 != 0);
            let stream =
                |number: u8| TlpStream::try_from(number).map_err(|_| c.invalid(format_args!("log.streams: there is no stream {number}")));
            let filter = TlpFilter {
                streams: numbers(wanted.streams).map(stream).collect::<Result<_>>()?,
                bars: numbers(wanted.bars).collect(),
                addresses: wanted.first_address..=wanted.last_address,
            };
            Ok(plugin.set_filter(&filter)?)
        })
    }
}

/// Have a plug-in of type "tlplog" log packets from now on. As towpath_get_tlp_log().
#[no_mangle]
pub unsafe extern "C" fn towpath_start_tlp_log(device: *mut towpath_device, name: *const c_char) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_start_tlp_log", |c| Ok(c.tlp_log(device, name)?.start()?)) }
}

/// Have a plug-in of type "tlplog" log none from now on. What is in the log stays. As towpath_get_tlp_log().
#[no_mangle]
pub unsafe extern "C" fn towpath_stop_tlp_log(device: *mut towpath_device, name: *const c_char) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_stop_tlp_log", |c| Ok(c.tlp_log(device, name)?.stop()?)) }
}

/// Empty the log of a plug-in of type "tlplog", and begin its counts anew. As towpath_get_tlp_log().
#[no_mangle]
pub unsafe extern "C" fn towpath_clear_tlp_log(device: *mut towpath_device, name: *const c_char) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_clear_tlp_log", |c| Ok(c.tlp_log(device, name)?.clear()?)) }
}

/// Receives one packet of a log; `*packet` is the library's, and is valid until this returns. `context` is the pointer that was passed together with
/// this function.
pub type towpath_tlp_callback = Option<unsafe extern "C" fn(context: *mut c_void, packet: *const towpath_tlp)>;

/// Read the log of a plug-in of type "tlplog", from the packet with the number `*next` on, `most` packets at most: calls `each` for each of them, the
/// oldest first, in this thread, before this returns. `*next` becomes the number of the next one, for a later call; `*overwritten`, which may be
/// NULL, how many were passed over since others had overwritten them. Both are set when the card does not answer, too: a later call goes on where
/// this one ended. The log goes on meanwhile. A log that was cleared counts from 0 again: if it has fewer packets than `*next`, this call reads it from
/// its first one on. With as many or more it cannot be told from one that was not cleared, so set `*next` to 0 after a clear of your own. As
/// towpath_get_tlp_log().
#[no_mangle]
pub unsafe extern "C" fn towpath_read_tlp_log(
    device: *mut towpath_device,
    name: *const c_char,
    next: *mut u64,
    most: u64,
    each: towpath_tlp_callback,
    context: *mut c_void,
    overwritten: *mut u64,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_read_tlp_log", |c| {
            let (place, passed) = (c.place("next", next)?, c.optional_place("overwritten", overwritten)?);
            let each = each.ok_or_else(|| c.invalid("each is NULL"))?;
            let mut packets = c.tlp_log(device, name)?.entries_from(next.read());
            let mut outcome = Ok(());
            for _ in 0..most {
                match packets.next() {
                    None => break,
                    Some(Ok(packet)) => {
                        place.set(packets.position());
                        each(context, &as_c(&packet));
                    }
                    Some(Err(error)) => {
                        outcome = Err(error.into());
                        break;
                    }
                }
            }
            // Without a packet the position moves, too: over what was overwritten, and back to 0 in a cleared log.
            place.set(packets.position());
            passed.set(packets.overwritten());
            outcome
        })
    }
}
