// SPDX-License-Identifier: Apache-2.0
//! A stream of one card that sends straight to a stream of another: the host pairs the two, and takes them apart.

use crate::channel::Core;
use crate::turn::CallLimit;
use crate::{Error, Receiver, Result, Sender, Status, WaitOptions};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::{PeerEnd, PeerPlace, PeerState};

/// A slot's bytes, if the inbox is large enough. More of them are no faster, and each message takes one at least.
const SLOT_BYTES: u32 = 1024;
/// The least that a slot may have, and the most.
const SLOT_LEAST: u32 = 128;
const SLOT_MOST: u32 = 4096;
/// A slot is no more than this part of an inbox, ...
const PART: u32 = 4;
/// ... which has room for so many at least: one comes while the core takes another.
const SLOTS: u32 = 2;
/// Entries that an inbox keeps room for beside the slots' data, and the bytes of one; a row of a wide one holds no more than an entry.
const ENTRIES: u32 = 34;
const ENTRY: u32 = 16;
/// How long dropping a pair waits for what is on its way.
const DROP_LIMIT: Duration = Duration::from_millis(100);
/// A simulator that is slower than that counts by the wall's clock, this much later.
const WALL_SLACK: Duration = Duration::from_secs(2);
/// The longest sleep between two looks at a card.
const LOOK: Duration = Duration::from_millis(1);

/// Another key than both channels have had for long, whoever has paired them, never 0: the one behind the later of those that they have.
fn next_key(source: &dyn PeerEnd, sink: &dyn PeerEnd) -> Result<u8> {
    Ok(key_after(source.state()?.key(), sink.state()?.key()))
}

fn key_after(one: u8, other: u8) -> u8 {
    let later = match one.wrapping_sub(other) as i8 {
        i8::MIN => one.max(other),
        ahead if ahead > 0 => one,
        _ => other,
    };
    (1..=2).map(|step| later.checked_add(step).unwrap_or(step)).find(|key| ![one, other].contains(key)).unwrap_or(1)
}

/// Settings of a [`Pair`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairOptions {
    /// The card that sends cuts its messages into pieces of so many bytes, each of which has its room at the other before it leaves: a power of two
    /// from 128 to 4096, and no more than a quarter of the inbox, or with data paths of 512 bits an eighth of one of 4 KiB. `None`: 1024, or as much as that.
    pub slot_bytes: Option<u32>,
}

/// Let the user core behind `from`, on one card, send to the user core behind `to`, on another card, without the host: messages go as they
/// are, with their length, offset and user word, as if the host had received each and sent it on.
///
/// ```no_run
/// # fn main() -> towpath::Result<()> {
/// let (a, b) = (towpath::Device::open("sim:peer?world=lab")?, towpath::Device::open("sim:peer?world=lab")?);
/// let (from, to) = (a.receiver("out")?, b.sender("in")?);
/// let mut pair = towpath::connect(&from, &to)?;
/// a.sender("in")?.send(b"hello")?; // what comes from a's core is b's core's
/// assert_eq!(b.receiver("out")?.recv()?, b"hello");
/// assert!(pair.disconnect(Some(std::time::Duration::from_secs(1)).into())?.arrived);
/// to.send(b"from the host again")?;
/// # Ok(()) }
/// ```
///
/// Both streams need `peer = true` in the manifests of their cores. Until [`Pair::disconnect`], receiving from one and sending to the other fail with
/// [`Error::Paired`]. [`Error::Invalid`] while either has transfers in flight, or a message of which the host has moved a part and not the
/// end. What a core has sent and nobody has received goes to the other card. [`Error::Unavailable`] where one card cannot reach the other,
/// with the reason: simulated cards of one world can, and boards that this program opens through VFIO.
pub fn connect(from: &Receiver, to: &Sender) -> Result<Pair> {
    connect_with(from, to, PairOptions::default())
}

/// As [`connect`], with options.
pub fn connect_with(from: &Receiver, to: &Sender, options: PairOptions) -> Result<Pair> {
    let (from, to) = (&from.core, &to.core);
    let (source, sink) = (from.channel()?.peer()?, to.channel()?.peer()?);
    let key = next_key(source, sink)?;
    let (credit, inbox) = (source.place(key)?, sink.place(key)?);
    let slot_bytes = slot_bytes(to, options)?;
    // No call of another thread is between two of its transfers.
    let _turns = (turn(from)?, turn(to)?);
    source.take(&inbox)?;
    sink.take(&credit).inspect_err(|_| drop(source.release(false)))?;
    let slot_log2 = slot_bytes.trailing_zeros() as u8;
    if let Err(error) = source.begin(slot_log2, key).and_then(|()| sink.begin(slot_log2, key)) {
        // One may have begun.
        let _ = (source.release(true), sink.release(true));
        return Err(error);
    }
    let pair = Pair { from: from.clone(), to: to.clone(), inbox, key, slot_bytes, sent: None, parted: None };
    log::info!("{pair}: paired; bytes of a slot: {slot_bytes}, key {key}");
    Ok(pair)
}

/// The turn, if nobody has it.
fn turn(core: &Core) -> Result<crate::turn::Taken<'_>> {
    let now = CallLimit::new(&core.device, Some(Duration::ZERO).into());
    core.turn.take(&core.device, core.name(), &now).map_err(|error| match error {
        Error::Pending { channel, .. } => {
            Error::Invalid(format!("channel \"{channel}\": another call is under way: wait for it, or cancel it, before it is paired"))
        }
        other => other,
    })
}

/// A slot of an inbox in a card with so wide a data path.
fn most_of_a_slot(inbox: u32, data_bits: u32) -> u32 {
    let entries = ENTRIES * (data_bits / 8).max(ENTRY);
    let room = inbox.saturating_sub(entries) / SLOTS;
    (inbox / PART).min(SLOT_MOST).min(room.checked_ilog2().map_or(0, |log2| 1 << log2))
}

fn slot_bytes(to: &Core, options: PairOptions) -> Result<u32> {
    let inbox = to.info().inbox_bytes().unwrap_or(0);
    let most = most_of_a_slot(inbox, to.device.info().data_bits);
    let bytes = options.slot_bytes.unwrap_or(SLOT_BYTES.min(most));
    if !bytes.is_power_of_two() || !(SLOT_LEAST..=most).contains(&bytes) {
        let rule = format!("make it a power of two, {SLOT_LEAST} to {most}: the inbox of channel \"{}\" holds {inbox} bytes", to.name());
        return Err(Error::Invalid(format!("slots of {bytes} bytes: {rule}")));
    }
    Ok(bytes)
}

/// Why a pair no longer moves what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairFault {
    /// The card that sends met a fault, and has stopped.
    Sending(Status),
    /// The channel that sends was reset, or its card.
    SenderReset,
    /// The channel that receives was reset, or its card: what it had not taken is lost.
    ReceiverReset,
    /// The link of the card that receives went down: what was on its way may be lost.
    ReceiverLinkDown,
    /// Something came for which the inbox had no room, or that no card sends to its peer.
    Overrun,
    /// The card that sends does not answer.
    SenderGone(String),
    /// The card that receives does not answer.
    ReceiverGone(String),
    /// What was sent had not arrived in time.
    Late,
}

impl fmt::Display for PairFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PairFault::Sending(status) => return write!(f, "the card that sends has stopped: {status}"),
            PairFault::SenderGone(why) => return write!(f, "the card that sends does not answer: {why}"),
            PairFault::ReceiverGone(why) => return write!(f, "the card that receives does not answer: {why}"),
            PairFault::SenderReset => "the channel that sends was reset, or its card",
            PairFault::ReceiverReset => "the channel that receives was reset, or its card",
            PairFault::ReceiverLinkDown => "the link of the card that receives went down",
            PairFault::Overrun => "the inbox got what it had no room for, or what no card sends to its peer",
            PairFault::Late => "what was sent has not arrived in time",
        })
    }
}

/// How a pair is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairStatus {
    /// Slots that the one card has begun since the two were paired, modulo 2^16: those that it has room for count, too.
    pub slots_sent: u16,
    /// Those of them that have come to the other whole, modulo 2^16.
    pub slots_arrived: u16,
    /// A message has begun at the card that receives, and not ended.
    pub is_open: bool,
    /// What comes waits until the user core has taken what the host has sent before.
    pub is_waiting: bool,
    /// What is wrong. Only [`Pair::disconnect`] ends it; then the two can be paired again.
    pub fault: Option<PairFault>,
}

/// How a pair was taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parted {
    /// All that was sent has arrived. What the core has sent beyond that waits for the next receiver, another partner or the host.
    pub arrived: bool,
    /// The other user core has taken all of it, but for the last beat of a message that is cut. If not, what has arrived still goes to that core, before all that is sent to it from now on.
    pub taken: bool,
    /// The message in progress was ended there with an error, as far as its beginning has been taken. The rest of it goes to the next
    /// receiver as a message of its own.
    pub cut: bool,
    /// Why not all has arrived. After any but [`PairFault::Late`] the channel that sends has been reset: what its core had sent beyond is lost.
    pub fault: Option<PairFault>,
}

/// A stream of one card that sends to a stream of another: see [`connect`]. Keeps both channels and both devices open. Dropping it takes the two
/// apart, as [`Pair::disconnect`] does, without waiting for the user core.
pub struct Pair {
    from: Arc<Core>,
    to: Arc<Core>,
    inbox: PeerPlace,
    key: u8,
    slot_bytes: u32,
    /// Slots, once nothing more is sent.
    sent: Option<u16>,
    parted: Option<Parted>,
}

/// One look at both cards.
struct Seen {
    source: Result<PeerState>,
    sink: Result<PeerState>,
    lost: bool,
}

impl Seen {
    fn fault(&self, key: u8) -> Option<PairFault> {
        let source = match &self.source {
            Err(error) => return Some(PairFault::SenderGone(error.to_string())),
            Ok(source) => source,
        };
        match &self.sink {
            _ if !source.is_paired(key) => Some(PairFault::SenderReset),
            _ if source.fault().is_some() => source.fault().map(PairFault::Sending),
            Err(error) => Some(PairFault::ReceiverGone(error.to_string())),
            _ if self.lost => Some(PairFault::ReceiverLinkDown),
            Ok(sink) if !sink.is_paired(key) => Some(PairFault::ReceiverReset),
            Ok(sink) if sink.is_overrun() => Some(PairFault::Overrun),
            Ok(_) => None,
        }
    }

    fn is_open(&self) -> bool {
        self.sink.as_ref().is_ok_and(|sink| sink.is_open())
    }

    /// What changes while something moves.
    fn moves(&self) -> (Option<PeerState>, Option<PeerState>) {
        (self.source.as_ref().ok().copied(), self.sink.as_ref().ok().copied())
    }
}

impl Pair {
    /// How it is doing: two reads of the cards. A card that does not answer is a [`PairStatus::fault`].
    pub fn status(&self) -> Result<PairStatus> {
        if self.parted.is_some() {
            return Err(Error::Invalid(format!("{self}: the pair is disconnected; what became of it is what `disconnect` returned")));
        }
        let seen = self.look(self.source()?, self.sink()?);
        let slots = |state: &Result<PeerState>| state.as_ref().map_or(0, |state| state.slots());
        Ok(PairStatus {
            slots_sent: slots(&seen.source),
            slots_arrived: slots(&seen.sink),
            is_open: seen.is_open(),
            is_waiting: seen.sink.as_ref().is_ok_and(|sink| sink.is_waiting()),
            fault: seen.fault(self.key),
        })
    }

    /// The bytes of a slot: see [`PairOptions`].
    pub fn slot_bytes(&self) -> u32 {
        self.slot_bytes
    }

    /// Is it still paired, as far as this program has done?
    pub fn is_connected(&self) -> bool {
        self.parted.is_none()
    }

    /// Take the two apart, and give both channels back to the program. The card that sends stops at once, in the middle of a message if need be;
    /// then this waits until what was sent has arrived, and the user core there has taken it. The limit ends the wait, and the two are taken
    /// apart nevertheless: [`Parted`] tells what became of it.
    ///
    /// [`Error::Interrupted`] leaves the two paired, and nothing more is sent: call it again. After the first call that returned [`Parted`], others return
    /// the same.
    pub fn disconnect(&mut self, options: WaitOptions<'_>) -> Result<Parted> {
        self.part(options, true)
    }

    fn part(&mut self, options: WaitOptions<'_>, to_the_end: bool) -> Result<Parted> {
        if let Some(parted) = &self.parted {
            return Ok(parted.clone());
        }
        let (from, to) = (self.from.clone(), self.to.clone());
        let (source, sink) = (from.channel()?.peer()?, to.channel()?.peer()?);
        let mut parted = Parted { arrived: false, taken: false, cut: false, fault: None };
        if self.sent.is_none() {
            match source.stop() {
                Ok(sent) => self.sent = Some(sent),
                Err(error) => parted.fault = Some(PairFault::SenderGone(error.to_string())),
            }
        }
        let mut stopped = false;
        if let Some(sent) = self.sent {
            stopped = self.await_end(source, sink, sent, options, to_the_end, &mut parted)?;
        }
        // After a fault something may stand in the card that could not leave, or has nowhere to go: a reset takes it back, before the other end is
        // out of reach.
        let stands = !stopped || !matches!(parted.fault, None | Some(PairFault::Late));
        if let Err(error) = source.release(stands) {
            log::warn!("{self}: taking the two apart: {error}");
            parted.fault.get_or_insert_with(|| PairFault::SenderGone(error.to_string()));
        }
        if let Err(error) = sink.release(false) {
            log::warn!("{self}: taking the two apart: {error}");
            parted.fault.get_or_insert_with(|| PairFault::ReceiverGone(error.to_string()));
        }
        log::info!("{self}: taken apart: {parted:?}");
        self.parted = Some(parted.clone());
        Ok(parted)
    }

    /// Wait until all has arrived, or will not any more. Returns whether nothing more leaves the card that sends.
    fn await_end(
        &self,
        source: &dyn PeerEnd,
        sink: &dyn PeerEnd,
        sent: u16,
        options: WaitOptions<'_>,
        to_the_end: bool,
        parted: &mut Parted,
    ) -> Result<bool> {
        let (device, mut began) = (&self.to.device, Instant::now());
        let mut limit = CallLimit::new(device, options);
        let mut watch = SignalWatch::new(options);
        let simulated = device.wire().is_some();
        let mut last = None;
        loop {
            let seen = self.look(source, sink);
            let stopped = seen.source.as_ref().is_ok_and(|source| source.is_idle());
            parted.cut = seen.is_open();
            parted.fault = seen.fault(self.key);
            if parted.fault.is_some() {
                return Ok(stopped);
            }
            let (came, idle) = seen.sink.as_ref().map_or((0, false), |sink| (sink.slots(), sink.is_idle()));
            parted.arrived = stopped && came == sent;
            parted.taken = parted.arrived && idle;
            if parted.taken || (parted.arrived && !to_the_end) {
                return Ok(stopped);
            }
            if last.replace(seen.moves()) != Some(seen.moves()) {
                limit.progress(device);
                began = Instant::now();
            }
            let late = limit.left(device).timeout.is_some_and(|left| left.is_zero())
                || options.timeout.is_some_and(|limit| began.elapsed() >= limit.saturating_add(WALL_SLACK));
            if late {
                parted.fault = (!parted.arrived).then_some(PairFault::Late);
                return Ok(stopped);
            }
            if watch.looks(false) && watch.is_due(false) && watch.is_over() {
                return Err(Error::Interrupted { channel: self.to.name().into(), bytes: 0 });
            }
            if !simulated {
                std::thread::sleep((began.elapsed() / 16).min(LOOK)); // in simulation a look lets time pass
            }
        }
    }

    fn source(&self) -> Result<&dyn PeerEnd> {
        self.from.channel()?.peer()
    }

    fn sink(&self) -> Result<&dyn PeerEnd> {
        self.to.channel()?.peer()
    }

    fn look(&self, source: &dyn PeerEnd, sink: &dyn PeerEnd) -> Seen {
        // The one that sends first: what it has sent cannot be less than what has come.
        Seen { source: source.state(), sink: sink.state(), lost: self.inbox.part.has_lost() }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // In a child of the process that made it the cards are the parent's.
        if self.from.device.is_here() {
            let options = WaitOptions { timeout: Some(DROP_LIMIT), interrupted: Some(&|| false) };
            if let Err(error) = self.part(options, false) {
                log::warn!("{self}: taking the two apart: {error}");
            }
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |core: &Core| format!("{}: channel \"{}\"", core.device.info().name, core.name());
        write!(f, "{} to {}", end(&self.from), end(&self.to))
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (self.from.name(), self.to.name());
        f.debug_struct("Pair").field("from", &names.0).field("to", &names.1).field("parted", &self.parted).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_holds_two_slots_at_least() {
        for (inbox, data_bits) in (12..=16).flat_map(|log2| [64, 128, 256, 512].map(|bits| (1 << log2, bits))) {
            let slot = most_of_a_slot(inbox, data_bits);
            // Rows of tp_inbox, and those that it keeps: of each slot a start and an end, and one start more.
            let (rows, kept) = (inbox * 8 / data_bits, 34 * if data_bits == 64 { 2 } else { 1 });
            let held = (rows - kept) / (slot * 8 / data_bits);
            assert!(slot.is_power_of_two() && slot >= SLOT_LEAST && held >= 2, "{inbox} bytes, {data_bits} bits: {slot}, {held}");
            assert!(
                slot == (inbox / 4).min(4096) || (inbox, data_bits, slot) == (4096, 512, 512),
                "{inbox} bytes, {data_bits} bits: {slot}"
            );
        }
    }

    #[test]
    fn a_key_is_new_to_both() {
        for (one, other) in (0..=255).flat_map(|one| (0..=255).map(move |other| (one, other))) {
            let key = key_after(one, other);
            assert!(key != 0 && key != one && key != other, "{key} after {one} and {other}");
            assert_eq!(key, key_after(other, one), "{one} and {other}");
        }
        // Nor does it come again soon.
        let (mut key, mut seen) = (0, Vec::new());
        while !seen.contains(&key) {
            seen.push(key);
            key = key_after(key, key);
        }
        assert!(seen.len() > 250, "{seen:?}");
    }
}
