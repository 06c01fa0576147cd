// SPDX-License-Identifier: Apache-2.0
//! Descriptors on their way to the card. One alone goes by the doorbell, in two stores. Several of one call are gathered, a line of the batch
//! page at a time, and one store commits them; on a card or a bus without batches each goes by the doorbell at once.
//!
//! The card places descriptors by their position: how many were committed before since the channel's last reset, by either way. Cookies count
//! transfers in the order of their posts, so a position is a cookie and the prefixes since the reset. The channel's count of places in use keeps
//! what is gathered within the queue, so that no slot is written too far ahead.

use super::UserChannel;
use crate::DEVICE;
use towpath_bus::BusError;
use towpath_contract as contract;

const DESCRIPTOR: usize = contract::DESCRIPTOR_BYTES;
/// Descriptors in what a processor combines to one packet.
const LINE: usize = 4;

/// What is gathered and not committed, and where it goes.
#[derive(Default)]
pub(super) struct Batch {
    /// What a descriptor's position is beyond its cookie, modulo 2^16, of which the number of slots is a divisor.
    beyond: u16,
    /// Descriptors gathered.
    gathered: u32,
    /// The last of these, which are not in their slots yet: how many, the first one's slot, and what they are.
    pending: usize,
    slot: u16,
    line: [[u8; DESCRIPTOR]; LINE],
    /// Something was written through a write-combining mapping, and no fence has followed.
    combining: bool,
    /// A store failed.
    failed: Option<BusError>,
    /// Transfers which what is gathered belongs to.
    pub transfers: usize,
}

impl Batch {
    /// The channel was reset; the next transfer's cookie is this one.
    pub(super) fn reset(&mut self, cookie: u16) {
        *self = Batch { beyond: cookie.wrapping_neg(), ..Batch::default() };
    }

    /// The card has committed so many descriptors of its own.
    pub(super) fn skip(&mut self, descriptors: u16) {
        self.beyond = self.beyond.wrapping_add(descriptors);
    }
}

impl UserChannel {
    fn ring_doorbell(&self, descriptor: [u8; DESCRIPTOR]) -> Result<(), BusError> {
        let image = u128::from_le_bytes(descriptor);
        let at = self.doorbells + contract::DOORBELL_DESCRIPTOR_OFFSET;
        self.bus.write_pair(DEVICE, at, [image as u64, (image >> 64) as u64])
    }

    /// Post a descriptor that is alone; nothing is gathered.
    #[inline(always)]
    pub(super) fn post_one(&self, descriptor: contract::Descriptor) -> Result<(), BusError> {
        self.ring_doorbell(descriptor.to_le_bytes())
    }

    /// Write the next descriptor's bytes to their inline slot. Errors are [`UserChannel::commit`]'s, as those of
    /// [`UserChannel::gather`].
    pub(super) fn combine(&self, batch: &mut Batch, offset: u64, bytes: &[u8]) {
        batch.combining = true;
        if let Err(error) = self.bus.write_combining(DEVICE, offset, bytes) {
            batch.failed.get_or_insert(error);
        }
    }

    /// All earlier write-combining stores arrive before what follows.
    fn order(&self, batch: &mut Batch) -> Result<(), BusError> {
        if std::mem::take(&mut batch.combining) {
            self.bus.fence()?;
        }
        Ok(())
    }

    /// One more descriptor for the next [`UserChannel::commit`].
    #[inline]
    pub(super) fn gather(&self, batch: &mut Batch, descriptor: contract::Descriptor) {
        let Some(last) = self.last_slot else {
            if batch.failed.is_none() {
                let posted = self.order(batch).and_then(|()| self.ring_doorbell(descriptor.to_le_bytes()));
                batch.failed = posted.err();
            }
            return;
        };
        // A line is written when the next one begins: a descriptor that stays alone goes by the doorbell.
        let slot = descriptor.cookie.wrapping_add(batch.beyond) & last;
        if batch.pending > 0 && usize::from(slot) % LINE == 0 {
            self.write_line(batch);
        }
        if batch.pending == 0 {
            batch.slot = slot;
        }
        batch.line[batch.pending] = descriptor.to_le_bytes();
        batch.pending += 1;
        batch.gathered += 1;
    }

    /// As [`UserChannel::gather`], of a prefix, which has the cookie of the transfer that follows.
    pub(super) fn gather_prefix(&self, batch: &mut Batch, descriptor: contract::Descriptor) {
        self.gather(batch, descriptor);
        batch.beyond = batch.beyond.wrapping_add(1);
    }

    /// Put what is pending into its slots.
    fn write_line(&self, batch: &mut Batch) {
        let pending = std::mem::take(&mut batch.pending);
        let at = self.page(contract::PAGE_CHANNEL_BATCH) + u64::from(batch.slot) * DESCRIPTOR as u64;
        let line = batch.line;
        self.combine(batch, at, line[..pending].as_flattened());
    }

    /// Commit what is gathered. After an error, of any store since the last call, the card may hold a part of it: only a reset removes that.
    pub(super) fn commit(&self, batch: &mut Batch) -> Result<(), BusError> {
        if batch.gathered > 1 {
            self.write_line(batch);
        }
        batch.pending = 0;
        let gathered = std::mem::take(&mut batch.gathered);
        if let Some(error) = batch.failed.take() {
            return Err(error);
        }
        if gathered == 0 {
            return Ok(());
        }
        self.order(batch)?;
        match gathered {
            1 => self.ring_doorbell(batch.line[0]),
            _ => self.bus.write32(DEVICE, self.doorbells + contract::DOORBELL_BATCH_OFFSET, gathered),
        }
    }
}
