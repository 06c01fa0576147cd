// SPDX-License-Identifier: Apache-2.0
//! The way of a transfer to the card: the usual case in a few instructions, any other, and several at once; and once more, for the rest of
//! one that the card had to stop.

use super::batch::Batch;
use super::{State, UserChannel};
use crate::memory::Dma;
use crate::DESCRIPTOR_LIMIT;
use std::sync::Arc;
use towpath_bus::BusError;
use towpath_contract as contract;
use towpath_driver::records::Record;
use towpath_driver::{Access, Direction, Error, Keep, Message, Piece, Result, Submission, Ticket};

const INLINE_BYTES: usize = contract::INLINE_SLOT_BYTES;

/// What a transfer in flight holds.
#[derive(Default)]
pub(super) struct Held {
    /// What is posted for the bytes that have not moved yet, all but the cookie.
    descriptor: contract::Descriptor,
    pub own: Own,
    pub special: Option<Box<Special>>,
}

/// What a transfer of one piece has taken for itself.
#[derive(Default)]
pub(super) enum Own {
    /// The piece is registered.
    #[default]
    Nothing,
    /// A slot, for bytes that begin here if they are in one piece.
    Slot { slot: u16, memory: usize },
    /// A mapping: its address for the card.
    Mapping { address: u64, bytes: usize },
}

/// What only some transfers have.
#[derive(Default)]
pub(super) struct Special {
    /// Addresses for the card, and bytes, of several pieces that were mapped for this transfer alone.
    pub mapped: Vec<(u64, usize)>,
    /// Prefixes, until a byte has moved.
    prefixes: Option<Message>,
    /// Several pieces, by the program's addresses (inline) or the card's (in a list): those that have not moved yet.
    pieces: Vec<(u64, usize)>,
    /// A list's table, and the entry that it begins with now.
    table: Option<(Dma, usize)>,
}

impl Special {
    fn is_empty(&self) -> bool {
        self.mapped.is_empty() && self.prefixes.is_none() && self.pieces.is_empty() && self.table.is_none()
    }

    /// Take `bytes` bytes off the pieces; returns how many pieces were used up.
    fn skip(&mut self, mut bytes: usize) -> usize {
        let whole = self.pieces.iter().take_while(|piece| {
            let gone = piece.1 <= bytes;
            bytes -= if gone { piece.1 } else { 0 };
            gone
        });
        let whole = whole.count();
        self.pieces.drain(..whole);
        if let Some(first) = self.pieces.first_mut() {
            *first = (first.0 + bytes as u64, first.1 - bytes);
        }
        whole
    }
}

fn control(kind: contract::Kind) -> u16 {
    (kind as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB
}

fn entry(piece: (u64, usize), last: bool) -> [u8; contract::LIST_ENTRY_BYTES] {
    let control = if last { contract::LIST_ENTRY_CONTROL_LAST_MASK } else { 0 };
    contract::ListEntry { address: piece.0, length: piece.1 as u32, control }.to_le_bytes()
}

/// Places in the card's queue for a message with its prefixes.
fn places(message: &Message) -> u16 {
    1 + u16::from(message.length.is_some()) + u16::from(message.has_attributes())
}

impl Held {
    /// An empty descriptor that ends the open message.
    pub fn end_of_message() -> Held {
        let control = control(contract::Kind::Direct) | contract::DESCRIPTOR_CONTROL_END_MASK;
        Held { descriptor: contract::Descriptor { control, ..Default::default() }, ..Held::default() }
    }

    /// H2C: does its message end with it?
    pub fn ends_message(&self) -> bool {
        self.descriptor.control & contract::DESCRIPTOR_CONTROL_END_MASK != 0
    }

    /// `bytes` bytes have moved: prepares the post of the rest. Returns the places that this takes in the card's queue.
    pub fn advance(&mut self, bytes: u64) -> u16 {
        const KIND: u16 = contract::DESCRIPTOR_CONTROL_KIND_MASK << contract::DESCRIPTOR_CONTROL_KIND_LSB;
        let moved = bytes as usize; // no more than a descriptor's
        self.descriptor.length -= bytes as u32;
        if self.descriptor.length == 0 && moved > 0 {
            // Only the end of the message is left.
            self.descriptor.control = self.descriptor.control & !KIND | control(contract::Kind::Direct);
            self.descriptor.address = 0;
            if let Some(special) = &mut self.special {
                (special.prefixes, special.table) = (None, None);
                special.pieces.clear();
            }
            return 1;
        }
        let direct = self.descriptor.control & KIND == control(contract::Kind::Direct);
        if let Own::Slot { memory, .. } = &mut self.own {
            *memory += moved;
        }
        if direct {
            self.descriptor.address += bytes;
        }
        let Some(special) = self.special.as_mut().filter(|_| moved > 0) else {
            return self.special.as_ref().and_then(|special| special.prefixes.as_ref()).map_or(1, places);
        };
        special.prefixes = None;
        let gone = special.skip(moved);
        if let Some((table, first)) = &mut special.table {
            *first += gone;
            self.descriptor.address = table.address + (*first * contract::LIST_ENTRY_BYTES) as u64;
            if let Some(piece) = special.pieces.first() {
                table.write(*first * contract::LIST_ENTRY_BYTES, &entry(*piece, special.pieces.len() == 1));
            }
        }
        1
    }

    /// The bytes for an inline slot, in whole words.
    ///
    /// # Safety
    /// The transfer's memory is valid.
    unsafe fn inline(&self) -> ([u8; INLINE_BYTES], usize) {
        let memory = if let Own::Slot { memory, .. } = self.own { memory } else { 0 };
        let one = [(memory as u64, self.descriptor.length as usize)];
        let pieces = self.special.as_ref().map_or(&one[..], |special| if special.pieces.is_empty() { &one } else { &special.pieces });
        let (mut slot, mut filled) = ([0; INLINE_BYTES], 0);
        for (memory, bytes) in pieces {
            // SAFETY: valid by this function's contract, and nothing writes to it.
            let piece = unsafe { std::slice::from_raw_parts(*memory as *const u8, *bytes) };
            slot[filled..filled + bytes].copy_from_slice(piece); // together they are small
            filled += bytes;
        }
        (slot, filled.next_multiple_of(8))
    }
}

impl UserChannel {
    /// Where the card finds a piece, and whether it was mapped for this.
    ///
    /// # Safety
    /// The piece stays valid until what was mapped has been unmapped.
    unsafe fn address(&self, piece: &Piece<'_>) -> Result<(u64, bool)> {
        let access = self.access();
        if let Some(registration) = piece.registration {
            if let Some(offset) = registration.offset(piece, access) {
                return Ok((registration.key() + offset, false));
            }
        }
        if piece.device().is_some() {
            let why = "the registration of a GPU's memory is over, because a card did not stop when it was told to; register it again";
            return Err(Error::Invalid(self.doing(why)));
        }
        // SAFETY: by this function's contract.
        let address = unsafe { self.shared.bus.map(piece.memory, piece.bytes, access) }
            .map_err(|error| Error::bus(self.doing(&format!("mapping {} bytes for the card", piece.bytes)))(error))?;
        Ok((address, true))
    }

    /// A post failed: a part of it, or a prefix before it, may stand on the card. Only a reset removes it.
    #[cold]
    fn lose(&self, state: &mut State, error: BusError) -> Error {
        state.lost = true;
        self.shared.withdraw_registrations();
        Error::bus(self.doing("posting a descriptor (reset the channel before it is used again)"))(error)
    }

    /// As [`UserChannel::lose`]; the next submit returns the error.
    #[cold]
    #[inline(never)]
    fn lose_later(&self, state: &mut State, error: BusError) {
        state.lost_by = Some(self.lose(state, error));
    }

    /// The usual case: one piece of registered memory, no prefixes, too long for a slot, room in the queue, and no cancel under way.
    /// `None`: it is another one, and nothing has been done.
    ///
    /// One of `MANY` is only gathered. It may be short: the processor fills a slot in the time of four descriptors, and behind others no
    /// message is sooner for it.
    #[inline(always)]
    pub(super) fn submit_usual<const MANY: bool>(
        &self,
        state: &mut State,
        pieces: &[Piece<'_>],
        message: &Message,
        keep: &mut Option<Arc<dyn Keep>>,
    ) -> Option<Ticket> {
        let [piece] = pieces else { return None };
        let h2c = self.direction == Direction::H2c;
        let shortest = if MANY { 1 } else { INLINE_BYTES + 1 };
        let plain = !h2c || (message.length.is_none() && !message.has_attributes() && piece.bytes >= shortest);
        if !plain || piece.bytes > DESCRIPTOR_LIMIT || state.used >= self.usual_depth || state.lost || state.cancelling.is_some() {
            return None;
        }
        let registration = piece.registration?;
        let address = registration.key() + registration.offset(piece, self.access())?;
        let end = if h2c && message.end { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let control = control(contract::Kind::Direct) | end;
        let cookie = state.records.posts() as u16;
        let descriptor = contract::Descriptor { address, length: piece.bytes as u32, cookie, control };
        if MANY {
            self.gather(&mut state.batch, descriptor);
            state.batch.transfers += 1;
        } else if let Err(error) = self.post_one(descriptor) {
            self.lose_later(state, error);
            return None;
        }
        state.used += 1;
        let (ticket, record) = state.records.post();
        (record.bytes, record.moved, record.places, record.cancel) = (piece.bytes as u64, 0, 1, false);
        (record.keep, record.held.descriptor) = (keep.take(), descriptor);
        Some(ticket)
    }

    /// The usual short message: one piece that fits into a slot, no prefixes, a slot and a place in the queue free, and no cancel under
    /// way. `None`: it is another one, and nothing has been done.
    ///
    /// # Safety
    /// As [`crate::Channel::submit`].
    #[inline(never)]
    pub(super) unsafe fn submit_short(
        &self,
        state: &mut State,
        pieces: &[Piece<'_>],
        message: &Message,
        keep: &mut Option<Arc<dyn Keep>>,
    ) -> Option<Ticket> {
        let [piece] = pieces else { return None };
        let short = self.direction == Direction::H2c && (1..=INLINE_BYTES).contains(&piece.bytes) && places(message) == 1;
        let short = short && piece.device().is_none();
        if !short || state.used >= self.depth || state.lost || state.cancelling.is_some() {
            return None;
        }
        let slot = state.free_slots.pop()?;
        let end = if message.end { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let (address, length) = (u64::from(slot) * INLINE_BYTES as u64, piece.bytes as u32);
        let cookie = state.records.posts() as u16;
        let descriptor = contract::Descriptor { address, length, cookie, control: control(contract::Kind::Inline) | end };
        let held = Held { descriptor, own: Own::Slot { slot, memory: piece.memory as usize }, special: None };
        // SAFETY: by this function's contract.
        unsafe { self.write_out(&mut state.batch, &held, cookie) };
        if let Err(error) = self.commit(&mut state.batch) {
            state.free_slots.push(slot);
            self.lose_later(state, error);
            return None;
        }
        state.used += 1;
        let (ticket, record) = state.records.post();
        (record.bytes, record.moved, record.places, record.cancel) = (u64::from(length), 0, 1, false);
        (record.keep, record.held) = (keep.take(), held);
        Some(ticket)
    }

    /// Submit any transfer.
    ///
    /// # Safety
    /// As [`crate::Channel::submit`].
    #[inline(never)]
    pub(super) unsafe fn submit_any(
        &self,
        state: &mut State,
        pieces: &[Piece<'_>],
        message: Message,
        mut keep: Option<Arc<dyn Keep>>,
    ) -> Result<Ticket> {
        self.look_after(state);
        // SAFETY: by this function's contract.
        let submitted = unsafe { self.submit_prepared(state, pieces, message, &mut keep) };
        if let Some(owner) = keep {
            owner.release(self.direction); // nothing was submitted
        }
        self.post_gathered(state)?;
        submitted
    }

    /// Submit transfers, as many as there is room for, and post them together.
    ///
    /// # Safety
    /// As [`crate::Channel::submit_many`].
    pub(super) unsafe fn submit_many(
        &self,
        state: &mut State,
        submissions: &mut [Submission<'_>],
        tickets: &mut Vec<Ticket>,
    ) -> Result<()> {
        let before = tickets.len();
        self.look_after(state);
        let mut ended = Ok(());
        for Submission { piece, message, keep } in submissions {
            let pieces = std::slice::from_ref(&*piece);
            let submitted = match self.submit_usual::<true>(state, pieces, message, keep) {
                Some(ticket) => Ok(ticket),
                // SAFETY: by this function's contract.
                None => unsafe { self.submit_prepared(state, pieces, *message, keep) },
            };
            match submitted {
                Ok(ticket) => tickets.push(ticket),
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            }
        }
        let gathered = state.batch.transfers;
        if let Err(error) = self.post_gathered(state) {
            tickets.truncate(tickets.len() - gathered);
            ended = Err(error);
        }
        if tickets.len() > before {
            Ok(())
        } else {
            ended
        }
    }

    /// Commit what is gathered. If that fails, its transfers were not submitted: their tickets have not been returned.
    fn post_gathered(&self, state: &mut State) -> Result<()> {
        let committed = self.commit(&mut state.batch);
        let transfers = std::mem::take(&mut state.batch.transfers);
        let Err(error) = committed else { return Ok(()) };
        let error = self.lose(state, error);
        for _ in 0..transfers {
            if let Some(record) = state.records.withdraw() {
                self.give_back(record, &mut state.used, &mut state.free_slots);
            }
        }
        Err(error)
    }

    /// As `submit_any`, without a look at the ring and the commit; `keep` is taken if it succeeds.
    ///
    /// # Safety
    /// As [`crate::Channel::submit`].
    unsafe fn submit_prepared(
        &self,
        state: &mut State,
        pieces: &[Piece<'_>],
        message: Message,
        keep: &mut Option<Arc<dyn Keep>>,
    ) -> Result<Ticket> {
        if state.lost {
            self.is_the_hosts(state)?;
        }
        if let Some(error) = state.lost_by.take() {
            return Err(error);
        }
        let filled: Vec<Piece<'_>>;
        let pieces = if let [Piece { bytes: 1.., .. }] = pieces {
            pieces
        } else {
            filled = pieces.iter().copied().filter(|piece| piece.bytes > 0).collect();
            &filled
        };
        let bytes = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.bytes as u64));
        if bytes > DESCRIPTOR_LIMIT as u64 {
            let what = format!(
                "channel \"{}\": a submit takes at most {DESCRIPTOR_LIMIT} bytes, not {bytes}; submit the rest as further parts of the message",
                self.name()
            );
            return Err(Error::Invalid(what));
        }
        let places = if self.prefixed { places(&message) } else { 1 };
        if places > self.depth {
            let what = format!("channel \"{}\": a message's attributes do not fit into a queue of {}", self.name(), self.depth);
            return Err(Error::Invalid(what));
        }
        if state.lost {
            let what = "a post or a reset of it failed, so its state is unknown";
            return Err(Error::Protocol { channel: self.name().into(), what: what.into(), bytes: None });
        }
        if state.used + places > self.depth {
            if state.events && state.batch.transfers == 0 {
                self.arm(state)?; // room is news
            }
            return Err(Error::QueueFull { channel: self.name().into(), depth: self.depth });
        }
        let mut held = Held::default();
        let mut special = Special::default();
        // SAFETY: by this function's contract.
        if let Err(error) = unsafe { self.prepare(state, pieces, &message, bytes, &mut held, &mut special) } {
            held.special = Some(Box::new(special));
            self.give_back_own(&mut held, keep.as_deref(), &mut state.free_slots);
            return Err(error);
        }
        held.special = (!special.is_empty()).then(|| Box::new(special));
        let mut record = Record { bytes, places, held, ..Record::default() };
        if state.cancelling.is_some() || state.records.any_waiting() {
            record.keep = keep.take();
            let (ticket, place) = state.records.queue();
            *place = record;
            state.used += places;
            return Ok(ticket);
        }
        // SAFETY: the transfer's memory is valid, by this function's contract.
        unsafe { self.write_out(&mut state.batch, &record.held, state.records.posts() as u16) };
        state.batch.transfers += 1;
        record.keep = keep.take();
        let (ticket, place) = state.records.post();
        *place = record;
        state.used += places;
        Ok(ticket)
    }

    /// Choose how a transfer is posted, and map its memory if needed. On an error `held` and `special` hold what has to be released.
    ///
    /// # Safety
    /// As [`crate::Channel::submit`].
    unsafe fn prepare(
        &self,
        state: &mut State,
        pieces: &[Piece<'_>],
        message: &Message,
        bytes: u64,
        held: &mut Held,
        special: &mut Special,
    ) -> Result<()> {
        let h2c = self.direction == Direction::H2c;
        let end = if h2c && message.end { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        special.prefixes = Some(*message).filter(|message| self.prefixed && places(message) > 1);
        let small = h2c && (1..=INLINE_BYTES as u64).contains(&bytes) && pieces.iter().all(|piece| piece.device().is_none());
        let slot = if small { state.free_slots.pop() } else { None };
        let (kind, address) = match (pieces, slot) {
            (_, Some(slot)) => {
                let first = pieces.first().map_or(0, |piece| piece.memory as usize);
                held.own = Own::Slot { slot, memory: first };
                if pieces.len() > 1 {
                    special.pieces = pieces.iter().map(|piece| (piece.memory as u64, piece.bytes)).collect();
                }
                (contract::Kind::Inline, u64::from(slot) * INLINE_BYTES as u64)
            }
            ([], None) => (contract::Kind::Direct, 0),
            ([piece], None) => {
                // SAFETY: by this function's contract; `held` keeps the mapping until the transfer has ended.
                let (address, mapped) = unsafe { self.address(piece)? };
                if mapped {
                    held.own = Own::Mapping { address, bytes: piece.bytes };
                }
                (contract::Kind::Direct, address)
            }
            _ => {
                let mut table = Dma::allocate(&self.shared.bus, pieces.len() * contract::LIST_ENTRY_BYTES, Access::Read)?;
                for (index, piece) in pieces.iter().enumerate() {
                    // SAFETY: as above.
                    let (address, mapped) = unsafe { self.address(piece)? };
                    if mapped {
                        special.mapped.push((address, piece.bytes));
                    }
                    table.write(index * contract::LIST_ENTRY_BYTES, &entry((address, piece.bytes), index + 1 == pieces.len()));
                    special.pieces.push((address, piece.bytes));
                }
                let address = table.address;
                special.table = Some((table, 0));
                (contract::Kind::List, address)
            }
        };
        held.descriptor = contract::Descriptor { address, length: bytes as u32, cookie: 0, control: control(kind) | end };
        Ok(())
    }

    /// Gather what a transfer needs: its slot, its prefixes, and its descriptor.
    ///
    /// # Safety
    /// The transfer's memory is valid.
    unsafe fn write_out(&self, batch: &mut Batch, held: &Held, cookie: u16) {
        if matches!(held.own, Own::Slot { .. }) && held.descriptor.length > 0 {
            // SAFETY: by this function's contract.
            let (slot, bytes) = unsafe { held.inline() };
            self.combine(batch, self.page(contract::PAGE_CHANNEL_INLINE) + held.descriptor.address, &slot[..bytes]);
        }
        if let Some(message) = held.special.as_ref().and_then(|special| special.prefixes) {
            if message.has_attributes() {
                let control = control(contract::Kind::Attributes);
                self.gather_prefix(batch, contract::Descriptor { address: message.offset, length: message.user, cookie, control });
            }
            if let Some(total) = message.length {
                let control = control(contract::Kind::MessageLength);
                self.gather_prefix(batch, contract::Descriptor { address: total, length: 0, cookie, control });
            }
        }
        self.gather(batch, contract::Descriptor { cookie, ..held.descriptor });
    }

    /// Post what waits, once the cancel that it waited for is over. There is room: waiting transfers keep their places.
    pub(super) fn post_waiting(&self, state: &mut State) {
        if state.lost || state.cancelling.is_some() || !state.records.any_waiting() {
            return;
        }
        loop {
            let cookie = state.records.posts() as u16;
            let Some(record) = state.records.next_waiting() else { break };
            // SAFETY: a transfer's memory is valid until it has ended.
            unsafe { self.write_out(&mut state.batch, &record.held, cookie) };
            state.records.post_waiting();
        }
        match self.commit(&mut state.batch) {
            Ok(()) => state.resumed = Some(self.bus.now()),
            Err(error) => {
                log::error!("{}", self.lose(state, error));
                self.abandon(state, false);
            }
        }
    }
}
