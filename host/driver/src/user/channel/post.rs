// SPDX-License-Identifier: Apache-2.0
//! The way of a descriptor to the card: the usual case in a few instructions, and any other.

use super::{State, UserChannel};
use crate::memory::Dma;
use crate::records::Record;
use crate::user::{lock, Range, DESCRIPTOR_LIMIT, DEVICE};
use crate::{Access, Direction, Error, Keep, Message, Piece, Result, Ticket};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use towpath_bus::BusError;
use towpath_contract as contract;

/// What a descriptor in flight holds.
#[derive(Default)]
pub(super) struct Held {
    pub slot: Option<u16>,
    pub mapped: Option<Box<Mapped>>,
}

/// What was mapped for one descriptor alone.
#[derive(Default)]
pub(super) struct Mapped {
    /// Addresses for the card, and bytes.
    pub pieces: Vec<(u64, usize)>,
    /// Its list's table.
    table: Option<Dma>,
}

impl Mapped {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.table.is_none()
    }
}

impl UserChannel {
    /// Where the card finds a piece; what was mapped for this is added to `mapped`.
    ///
    /// # Safety
    /// The piece stays valid until what was mapped has been unmapped.
    unsafe fn address(&self, piece: &Piece, recent: &mut Option<(u64, Range)>, mapped: &mut Vec<(u64, usize)>) -> Result<u64> {
        let access = self.access();
        let (start, bytes) = (piece.memory as usize, piece.bytes);
        let find = |range: &Range| Some(range.value + range.find(start, bytes, access)? as u64);
        let registrations = &self.shared.registrations;
        match recent {
            Some((at, range)) if *at == registrations.load(Ordering::Acquire) => {
                if let Some(address) = find(range) {
                    return Ok(address);
                }
            }
            _ => *recent = None,
        }
        let registry = lock(&self.shared.registry);
        if let Some(range) = registry.find(start, bytes, access) {
            *recent = Some((registrations.load(Ordering::Acquire), range));
            if let Some(address) = find(&range) {
                return Ok(address);
            }
        }
        drop(registry);
        // SAFETY: by this function's contract.
        let address = unsafe { self.shared.bus.map(piece.memory, piece.bytes, access) }
            .map_err(|error| Error::bus(self.doing(&format!("mapping {} bytes for the card", piece.bytes)))(error))?;
        mapped.push((address, piece.bytes));
        Ok(address)
    }

    /// Post one descriptor. If that fails, a part of it, or a prefix before it, may stand on the card: only a reset takes it away.
    #[inline(always)]
    pub(super) fn post(&self, state: &mut State, descriptor: contract::Descriptor) -> Result<()> {
        let image = u128::from_le_bytes(descriptor.to_le_bytes());
        let at = self.doorbells + contract::DOORBELL_DESCRIPTOR_OFFSET;
        let bus = &*self.bus;
        match bus.write64(DEVICE, at, image as u64).and_then(|()| bus.write64(DEVICE, at + 8, (image >> 64) as u64)) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.lose(state, error)),
        }
    }

    /// A post failed: nobody knows how much of it stands on the card.
    #[cold]
    fn lose(&self, state: &mut State, error: BusError) -> Error {
        state.lost = true;
        self.shared.take_memory_away();
        Error::bus(self.doing("posting a descriptor (reset the channel before it is used again)"))(error)
    }

    /// The descriptor for the usual case, all but its cookie: one piece of the memory that was used last, no prefixes, too long for a slot, and
    /// room in the queue.
    #[inline(always)]
    pub(super) fn usual(&self, state: &State, pieces: &[Piece], message: &Message) -> Option<contract::Descriptor> {
        let [piece] = pieces else { return None };
        let h2c = self.direction == Direction::H2c;
        let plain = !h2c || (message.length.is_none() && !message.has_attributes() && piece.bytes > contract::INLINE_SLOT_BYTES);
        if !plain || piece.bytes > DESCRIPTOR_LIMIT || state.used >= self.depth || state.lost {
            return None;
        }
        let (at, range) = state.recent.as_ref()?;
        if *at != self.shared.registrations.load(Ordering::Acquire) {
            return None;
        }
        let address = range.value + range.find(piece.memory as usize, piece.bytes, self.access())? as u64;
        let end = if h2c && message.end { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB | end;
        Some(contract::Descriptor { address, length: piece.bytes as u32, cookie: 0, control })
    }

    /// Submit whatever it is.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    #[inline(never)]
    pub(super) unsafe fn submit_any(
        &self,
        state: &mut State,
        pieces: &[Piece],
        message: Message,
        keep: Option<Arc<dyn Keep>>,
    ) -> Result<Ticket> {
        // SAFETY: by this function's contract.
        match unsafe { self.prepare_and_post(state, pieces, message, keep.as_deref()) } {
            Ok(record) => {
                state.used += record.places;
                let ticket = state.records.next_ticket();
                *state.records.post(ticket) = Record { keep, ..record };
                Ok(ticket)
            }
            Err(error) => {
                self.release(keep);
                Err(error)
            }
        }
    }

    #[cold]
    pub(super) fn release(&self, keep: Option<Arc<dyn Keep>>) {
        if let Some(owner) = keep {
            owner.release(self.direction);
        }
    }

    /// # Safety
    /// As [`Channel::submit`].
    unsafe fn prepare_and_post(
        &self,
        state: &mut State,
        pieces: &[Piece],
        message: Message,
        owner: Option<&dyn Keep>,
    ) -> Result<Record<Held>> {
        let filled: Vec<Piece>;
        let pieces = if let [Piece { bytes: 1.., .. }] = pieces {
            pieces
        } else {
            filled = pieces.iter().copied().filter(|piece| piece.bytes > 0).collect();
            &filled
        };
        let bytes = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.bytes as u64));
        if bytes > DESCRIPTOR_LIMIT as u64 {
            return Err(Error::Invalid(format!("channel \"{}\": {bytes} bytes in one descriptor", self.name())));
        }
        let h2c = self.direction == Direction::H2c;
        let places = if h2c { 1 + u16::from(message.length.is_some()) + u16::from(message.has_attributes()) } else { 1 };
        if places > self.depth {
            let what = format!("channel \"{}\": a message's attributes do not fit into a queue of {}", self.name(), self.depth);
            return Err(Error::Invalid(what));
        }
        if state.lost {
            let what = "a post or a reset of it failed, so nobody knows what it holds";
            return Err(Error::Protocol { channel: self.name().into(), what: what.into(), bytes: None });
        }
        self.reap(state);
        if state.used + places > self.depth {
            return Err(Error::QueueFull { channel: self.name().into(), depth: self.depth });
        }
        let mut record = Record { bytes, places, ..Record::default() };
        let mut mapped = Mapped::default();
        // SAFETY: by this function's contract.
        if let Err(error) = unsafe { self.launch(pieces, message, state, &mut record, &mut mapped) } {
            self.unmap(&mapped.pieces, owner);
            state.free_slots.extend(record.held.slot);
            return Err(error);
        }
        record.held.mapped = (!mapped.is_empty()).then(|| Box::new(mapped));
        Ok(record)
    }

    /// Prepare and post one descriptor with its prefixes. On an error `mapped` and `record` hold what has to be given back.
    ///
    /// # Safety
    /// As [`Channel::submit`].
    unsafe fn launch(
        &self,
        pieces: &[Piece],
        message: Message,
        state: &mut State,
        record: &mut Record<Held>,
        mapped: &mut Mapped,
    ) -> Result<()> {
        let h2c = self.direction == Direction::H2c;
        let control = |kind: contract::Kind| (kind as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB;
        let cookie = state.records.next_ticket().0 as u16;
        let end = if h2c && message.end { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let length = record.bytes as u32;
        let small = h2c && (1..=contract::INLINE_SLOT_BYTES as u64).contains(&record.bytes);
        let (kind, address) = match pieces {
            [] => (contract::Kind::Direct, 0),
            _ if small && !state.free_slots.is_empty() => {
                record.held.slot = state.free_slots.pop();
                let offset = u64::from(record.held.slot.unwrap_or_default()) * contract::INLINE_SLOT_BYTES as u64;
                let (mut slot, mut filled) = ([0; contract::INLINE_SLOT_BYTES], 0);
                for piece in pieces {
                    // SAFETY: valid for this call, and nobody writes to it.
                    let bytes = unsafe { std::slice::from_raw_parts(piece.memory, piece.bytes) };
                    slot[filled..filled + bytes.len()].copy_from_slice(bytes); // together they are small
                    filled += bytes.len();
                }
                let slot = &slot[..filled.next_multiple_of(8)];
                let bus = &self.shared.bus;
                let written = bus.write_combining(DEVICE, self.page(contract::PAGE_CHANNEL_INLINE) + offset, slot);
                written.and_then(|()| bus.fence()).map_err(|error| Error::bus(self.doing("writing an inline slot"))(error))?;
                (contract::Kind::Inline, offset)
            }
            // SAFETY: by this function's contract; the record keeps the mapping until the descriptor has ended.
            [piece] => (contract::Kind::Direct, unsafe { self.address(piece, &mut state.recent, &mut mapped.pieces)? }),
            _ => {
                let mut table = Dma::allocate(&self.shared.bus, pieces.len() * contract::LIST_ENTRY_BYTES, Access::Read)?;
                for (index, piece) in pieces.iter().enumerate() {
                    // SAFETY: as above.
                    let address = unsafe { self.address(piece, &mut state.recent, &mut mapped.pieces)? };
                    let last = if index + 1 == pieces.len() { contract::LIST_ENTRY_CONTROL_LAST_MASK } else { 0 };
                    let entry = contract::ListEntry { address, length: piece.bytes as u32, control: last };
                    table.write(index * contract::LIST_ENTRY_BYTES, &entry.to_le_bytes());
                }
                let address = table.address;
                mapped.table = Some(table);
                (contract::Kind::List, address)
            }
        };
        if record.places > 1 {
            if message.has_attributes() {
                let control = control(contract::Kind::Attributes);
                self.post(state, contract::Descriptor { address: message.offset, length: message.user, cookie, control })?;
            }
            if let Some(total) = message.length {
                let control = control(contract::Kind::MessageLength);
                self.post(state, contract::Descriptor { address: total, length: 0, cookie, control })?;
            }
        }
        self.post(state, contract::Descriptor { address, length, cookie, control: control(kind) | end })
    }
}
