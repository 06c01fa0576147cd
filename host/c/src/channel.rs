// SPDX-License-Identifier: Apache-2.0
//! Channels: open, close, and what both directions share.

use crate::border::{Caller, Failure, Result};
use crate::grows::grows;
use crate::handle::handle;
use crate::{call, towpath_device, towpath_direction, towpath_status, TOWPATH_CHANNEL_TIMEOUT, TOWPATH_FOREVER};
use std::ffi::{c_char, c_int};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use towpath::{ChannelName, ChannelOptions, Notify, Receiver, Sender, WaitOptions};

/// An open channel, of either direction.
pub struct towpath_channel {
    _private: [u8; 0],
}

/// While a channel is being closed, how often other threads' calls on it are cancelled.
const CANCEL_EVERY: Duration = Duration::from_millis(1);

/// What a channel handle stands for.
pub(crate) struct ChannelState {
    end: End,
    /// Calls that wait for a message's start: they have nothing in flight that a cancel could end.
    watching: AtomicU64,
}

handle!(towpath_channel, 1, ChannelState);

pub(crate) enum End {
    H2c(Sender),
    C2h(Receiver),
}

impl Deref for ChannelState {
    type Target = End;

    fn deref(&self) -> &End {
        &self.end
    }
}

impl ChannelState {
    /// Run a call that waits for a message's start.
    pub(crate) fn watch<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.watching.fetch_add(1, Ordering::AcqRel);
        let waited = wait();
        self.watching.fetch_sub(1, Ordering::AcqRel);
        waited
    }
}

/// The same call for either direction.
macro_rules! on {
    ($end:expr, $channel:ident => $call:expr) => {
        match &***$end {
            crate::channel::End::H2c($channel) => $call,
            crate::channel::End::C2h($channel) => $call,
        }
    };
}
pub(crate) use on;

fn wrong_direction(function: &str, channel: &str, way: &str) -> Failure {
    let text = format!("{function}: channel \"{channel}\" carries data {way} the card: open one of the other direction for this");
    Failure::new(towpath_status::TOWPATH_WRONG_DIRECTION, text)
}

impl End {
    /// For what only senders do.
    pub(crate) fn sender(&self, function: &str) -> Result<&Sender> {
        match self {
            End::H2c(sender) => Ok(sender),
            End::C2h(receiver) => Err(wrong_direction(function, receiver.name(), "from")),
        }
    }

    /// For what only receivers do.
    pub(crate) fn receiver(&self, function: &str) -> Result<&Receiver> {
        match self {
            End::C2h(receiver) => Ok(receiver),
            End::H2c(sender) => Err(wrong_direction(function, sender.name(), "to")),
        }
    }
}

impl Caller {
    /// A limit from C, where there is no channel whose timeout could stand for it.
    pub(crate) fn timeout(&self, nanoseconds: u64) -> Result<Option<Duration>> {
        match nanoseconds {
            TOWPATH_FOREVER => Ok(None),
            TOWPATH_CHANNEL_TIMEOUT => Err(self.invalid("nanoseconds is TOWPATH_CHANNEL_TIMEOUT, which only calls on a channel take")),
            nanoseconds => Ok(Some(Duration::from_nanos(nanoseconds))),
        }
    }

    /// The limit of one call on a channel, from C.
    pub(crate) fn limit(&self, nanoseconds: u64, end: &End) -> Result<WaitOptions<'static>> {
        let limit = match (nanoseconds, end) {
            (TOWPATH_CHANNEL_TIMEOUT, End::H2c(sender)) => sender.timeout(),
            (TOWPATH_CHANNEL_TIMEOUT, End::C2h(receiver)) => receiver.timeout(),
            (nanoseconds, _) => self.timeout(nanoseconds)?,
        };
        Ok(limit.into())
    }
}

/// How a waiting call waits. Results never depend on it, only time and the processor's load do.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_notify {
    /// Poll for transfers that are expected to be quick, TOWPATH_NOTIFY_EARLY for the rest.
    TOWPATH_NOTIFY_ADAPTIVE = 0,
    /// Sleep until the card wakes the program shortly before the end.
    TOWPATH_NOTIFY_EARLY = 1,
    /// Poll all the time: the shortest delay, and a processor that does nothing else.
    TOWPATH_NOTIFY_POLL = 2,
    /// Sleep until the interrupt: the least load, and the delay of waking on top of each transfer.
    TOWPATH_NOTIFY_INTERRUPT = 3,
}

/// Settings of a channel, fixed when it is opened. All zero but `size` are the defaults: `towpath_channel_options
/// options = {.size = sizeof options};`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_channel_options {
    /// sizeof this struct.
    pub size: u32,
    /// How to wait: a towpath_notify.
    pub notify: u32,
    /// TOWPATH_NOTIFY_ADAPTIVE: poll for transfers that are expected to take no longer than this, in nanoseconds. 0: the default, 20000.
    pub poll_ns: u64,
    /// From the card: 1 saves one ring entry a message, and towpath_wait_message_start() does not work.
    pub no_announce: u32,
    /// Zero.
    pub reserved: u32,
}
grows!(towpath_channel_options, 24);

/// Counters of a channel since it was opened. A non-zero value in the last four is a fault of the card or of a driver.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_statistics {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// Descriptors that were submitted.
    pub submitted: u64,
    /// Descriptors that have completed.
    pub completed: u64,
    /// Bytes in completed descriptors.
    pub bytes: u64,
    /// Completions that did not belong to the oldest descriptor.
    pub wrong_cookies: u64,
    /// Completions of more bytes than the descriptor had.
    pub wrong_lengths: u64,
    /// Completions with a status that does not exist or does not fit.
    pub wrong_statuses: u64,
    /// Completions when nothing was in flight, and announcements that do not fit.
    pub unexpected: u64,
}
grows!(towpath_statistics, 64);

/// A channel's settings; NULL is the defaults.
pub(crate) fn settings(c: &Caller, options: *const towpath_channel_options) -> Result<ChannelOptions> {
    let mut settings = ChannelOptions::default();
    if let Some(options) = c.input("options", options)? {
        settings.announce = options.no_announce == 0;
        settings.notify = match (options.notify, options.poll_ns) {
            (0, 0) => Notify::default(),
            (0, poll) => Notify::Adaptive { poll: Duration::from_nanos(poll) },
            (1, _) => Notify::Early,
            (2, _) => Notify::Poll,
            (3, _) => Notify::Interrupt,
            (other, _) => return Err(c.invalid(format_args!("options.notify is {other}: give a towpath_notify, 0 to 3"))),
        };
    }
    Ok(settings)
}

fn open(
    c: &Caller,
    device: *mut towpath_device,
    name: ChannelName,
    direction: u32,
    options: *const towpath_channel_options,
    channel: *mut *mut towpath_channel,
) -> Result<()> {
    let channel = c.place("channel", channel)?;
    let device = c.handle(device)?;
    let device = &device.device;
    let settings = settings(c, options)?;
    let end = match direction {
        d if d == towpath_direction::TOWPATH_H2C as u32 => End::H2c(device.sender_with(name, settings)?),
        d if d == towpath_direction::TOWPATH_C2H as u32 => End::C2h(device.receiver_with(name, settings)?),
        other => return Err(c.invalid(format_args!("direction is {other}: give TOWPATH_H2C or TOWPATH_C2H"))),
    };
    c.make(&channel, ChannelState { end, watching: AtomicU64::new(0) })
}

/// Open a channel by its name in the user core; a number in digits finds the channel of that number, if none has it as its name.
/// `direction` is TOWPATH_H2C to send, TOWPATH_C2H to receive. The handle has the channel exclusively until towpath_close_channel().
///
/// `options` may be NULL. On success `*channel` is a handle; on failure it is left as it was. Many threads may use one channel at once:
/// blocking transfers run one after the other, each message whole. Its timeout is ten seconds until towpath_set_timeout().
///
/// TOWPATH_NO_SUCH_CHANNEL, TOWPATH_WRONG_DIRECTION: the text lists the channels there are. TOWPATH_WRONG_KIND: the channel is no stream.
/// TOWPATH_CHANNEL_IN_USE: the channel is open already.
#[no_mangle]
pub unsafe extern "C" fn towpath_open_channel(
    device: *mut towpath_device,
    name: *const c_char,
    direction: u32,
    options: *const towpath_channel_options,
    channel: *mut *mut towpath_channel,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_open_channel", |c| {
            let name = c.text("name", name)?;
            open(c, device, name.into(), direction, options, channel)
        })
    }
}

/// As towpath_open_channel(), by the channel's number.
#[no_mangle]
pub unsafe extern "C" fn towpath_open_channel_number(
    device: *mut towpath_device,
    number: u32,
    direction: u32,
    options: *const towpath_channel_options,
    channel: *mut *mut towpath_channel,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_open_channel_number", |c| open(c, device, i64::from(number).into(), direction, options, channel)) }
}

/// Release a channel handle. NULL is fine, and nothing happens.
///
/// What is in flight ends at once, and the card is done with its memory when this returns; the channel is reset, so what the card holds for
/// it is discarded. Calls of other threads on the handle end with TOWPATH_CANCELLED, and this waits for them. The exception is
/// towpath_wait_message_start(), which ends by its own limit: the channel closes when it has returned. In a child of fork() nothing happens
/// to the channel.
#[no_mangle]
pub unsafe extern "C" fn towpath_close_channel(channel: *mut towpath_channel) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_close_channel", |c| {
            if channel.is_null() {
                return Ok(());
            }
            let held = c.handle(channel)?;
            if !held.close() {
                return Err(c.closed::<towpath_channel>());
            }
            // No call begins from here on; one that began just now may be about to post something.
            while held.others() > held.watching.load(Ordering::Acquire) {
                if on!(&held, channel => channel.cancel_all()).is_err() {
                    break; // the card has gone, which ends them as well; or they are the parent's, and this is a child of fork
                }
                std::thread::sleep(CANCEL_EVERY);
            }
            Ok(())
        })
    }
}

/// The channel's timeout: how many nanoseconds towpath_send(), towpath_recv(), and calls with the limit TOWPATH_CHANNEL_TIMEOUT wait
/// without progress before they return; TOWPATH_FOREVER: no limit. Ten seconds by default. Applies to calls that begin afterwards.
#[no_mangle]
pub unsafe extern "C" fn towpath_set_timeout(channel: *mut towpath_channel, nanoseconds: u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_set_timeout", |c| {
            let timeout = c.timeout(nanoseconds)?;
            on!(&c.handle(channel)?, channel => channel.set_timeout(timeout));
            Ok(())
        })
    }
}

/// The channel's timeout, into `*nanoseconds`: see towpath_set_timeout().
#[no_mangle]
pub unsafe extern "C" fn towpath_get_timeout(channel: *const towpath_channel, nanoseconds: *mut u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_timeout", |c| {
            let set = on!(&c.handle(channel)?, channel => channel.timeout());
            let nanoseconds = c.place("nanoseconds", nanoseconds)?;
            nanoseconds.set(set.map_or(TOWPATH_FOREVER, |set| u64::try_from(set.as_nanos()).unwrap_or(TOWPATH_FOREVER)));
            Ok(())
        })
    }
}

/// Hold the channel's interrupts back, so that many transfers in flight wake the program less often: until `entries` transfers (and message
/// starts) have ended and not been looked at, or `nanoseconds` have passed since the first of them, whichever comes first. Zero nanoseconds
/// turn moderation off; it is off by default. A call that waits for a single transfer then takes up to that time longer.
///
/// TOWPATH_INVALID if the time is longer than the card can count: 65535 times 64 cycles of its clock.
#[no_mangle]
pub unsafe extern "C" fn towpath_set_moderation(channel: *mut towpath_channel, entries: u32, nanoseconds: u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_set_moderation", |c| {
            let end = c.handle(channel)?;
            let entries = u16::try_from(entries).map_err(|_| c.invalid(format_args!("{entries} entries: give 65535 at most")))?;
            Ok(on!(&end, channel => channel.set_moderation(entries, Duration::from_nanos(nanoseconds)))?)
        })
    }
}

/// Counters since the channel was opened, into `*statistics`, whose `size` is set.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_statistics(channel: *const towpath_channel, statistics: *mut towpath_statistics) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_statistics", |c| {
            let counted = on!(&c.handle(channel)?, channel => channel.statistics());
            c.output("statistics", statistics)?.set(towpath_statistics {
                size: 0,
                reserved: 0,
                submitted: counted.submitted,
                completed: counted.completed,
                bytes: counted.bytes,
                wrong_cookies: counted.wrong_cookies,
                wrong_lengths: counted.wrong_lengths,
                wrong_statuses: counted.wrong_statuses,
                unexpected: counted.unexpected,
            });
            Ok(())
        })
    }
}

/// End everything in flight on this channel at once, other threads' calls included: they return TOWPATH_CANCELLED and report how many bytes
/// moved. A call that waits for a message's start goes on. The channel stays usable, and the user core keeps the data it has. To end one
/// transfer, see towpath_cancel_transfer(). TOWPATH_BUS if the card does not answer.
#[no_mangle]
pub unsafe extern "C" fn towpath_cancel(channel: *mut towpath_channel) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_cancel", |c| Ok(on!(&c.handle(channel)?, channel => channel.cancel_all())?)) }
}

/// Empty the channel on both sides. What is in flight ends with TOWPATH_RESET, an open message vanishes, what the card holds is discarded,
/// and the user core sees its reset. TOWPATH_BUS if the card does not answer.
#[no_mangle]
pub unsafe extern "C" fn towpath_reset_channel(channel: *mut towpath_channel) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_reset_channel", |c| Ok(on!(&c.handle(channel)?, channel => channel.reset())?)) }
}

/// A file descriptor that becomes readable when the channel has news, into `*fd`, for poll() and event loops.
///
/// When it is readable, read 8 bytes off it, then call towpath_wait() or towpath_wait_message_start() with a limit of 0, or
/// towpath_poll_completions(). When these find nothing, the next news makes it readable. Do not mix it with calls that wait on the same
/// channel, which would consume the news. It stays the channel's: do not close it, and dup() it to keep it for longer. TOWPATH_BUS if the
/// system provides none.
#[no_mangle]
pub unsafe extern "C" fn towpath_event_fd(channel: *mut towpath_channel, fd: *mut c_int) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_event_fd", |c| {
            let (fd, end) = (c.place("fd", fd)?, c.handle(channel)?);
            fd.set(on!(&end, channel => channel.event_fd())?.as_raw_fd());
            Ok(())
        })
    }
}
