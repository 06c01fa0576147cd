// SPDX-License-Identifier: Apache-2.0
//! Several transfers in one call: those that are submitted are treated as if each had been alone, the others as if they had not been in it.

use super::{contents, note_place, place, text, Flight, Lane, GUARD, UNTOUCHED};
use crate::run::Shared;
use towpath::{Error, Message};

/// Longest of most of them, and of the others.
const SHORT: usize = 80;
const LONG: usize = 6000;

fn length(shared: &mut Shared) -> usize {
    let most = if shared.random.one_in(4) { LONG } else { SHORT };
    shared.random.between(1, most)
}

impl Lane {
    /// Messages, each whole.
    pub(super) fn submit_burst(&mut self, shared: &mut Shared) -> Result<(), String> {
        if self.reference.is_open() {
            return self.submit_random(shared);
        }
        let (saved, mut position) = (self.next, self.reference.planned());
        let free: Vec<usize> = (0..self.slots.len()).filter(|slot| self.flight.iter().all(|flight| flight.slot != *slot)).collect();
        let mut parts = Vec::new();
        for slot in free.into_iter().take(shared.random.between(1, self.depth)) {
            let bytes = length(shared);
            let attributes = self.attributes(&mut shared.random, true);
            let start = place(&mut shared.random, &mut self.turn[0], bytes, 0);
            let memory = self.slots[slot].buffer.as_mut_slice().map_err(text)?;
            contents::fill(self.reference.key(), position, &mut memory[start..start + bytes]);
            position += bytes as u64;
            parts.push((slot, start, bytes, attributes));
        }
        let message = |part: &(usize, usize, usize, super::Attributes)| {
            let super::Attributes { length, offset, user } = part.3;
            Message { end: true, length, offset, user }
        };
        let places = |message: &Message| 1 + usize::from(message.length.is_some()) + usize::from(message.has_attributes());
        let transfers: Vec<_> = parts.iter().map(|part| (&self.slots[part.0].buffer, part.1..part.1 + part.2, message(part))).collect();
        let submitted = match self.sender.try_submit_many(&transfers) {
            Err(Error::QueueFull { .. }) => Vec::new(),
            submitted => submitted.map_err(text)?,
        };
        let tickets: Vec<_> = submitted.into_iter().map(towpath::Transfer::detach).collect();
        shared.diary.note(format!("lane {}: {} submitted of {} at once", self.number, tickets.len(), parts.len()));
        shared.coverage.bursts[0] += u64::from(tickets.len() > 1);
        for (ticket, part) in tickets.iter().zip(&parts) {
            let (slot, start, bytes, attributes) = *part;
            self.note_part(shared, start, bytes, true, attributes);
            self.flight.push_back(Flight { ticket: *ticket, slot, places: places(&message(part)), start, bytes });
            shared.progress += 1;
        }
        // What has completed and was not collected may make room, so that more fits than is thought, but not less.
        match parts.get(tickets.len()) {
            Some(next) if self.places() + places(&message(next)) <= self.depth => {
                Err(format!("{} of {} were submitted, and the queue is not full", tickets.len(), parts.len()))
            }
            Some(_) if tickets.is_empty() => {
                self.next = saved;
                self.collect_sends(shared, false)
            }
            _ => Ok(()),
        }
    }

    /// Buffers for what comes.
    pub(super) fn receive_burst(&mut self, shared: &mut Shared) -> Result<(), String> {
        let (key, most) = (self.reference.key(), self.habits.depth[1]);
        let Some(back) = &mut self.back else { return Ok(()) };
        let free: Vec<usize> = (0..back.slots.len()).filter(|slot| back.flight.iter().all(|flight| flight.slot != *slot)).collect();
        let mut parts = Vec::new();
        for slot in free.into_iter().take(most.saturating_sub(back.flight.len())) {
            let capacity = length(shared);
            let start = place(&mut shared.random, &mut self.turn[1], capacity, 0);
            back.slots[slot].check_left(key)?;
            back.slots[slot].buffer.as_mut_slice().map_err(text)?[start - GUARD..start + capacity + GUARD].fill(UNTOUCHED);
            parts.push((slot, start, capacity));
        }
        let transfers: Vec<_> = parts.iter().map(|(slot, start, bytes)| (&back.slots[*slot].buffer, *start..start + bytes)).collect();
        // SAFETY: nothing here looks into a buffer before its transfer has ended.
        let submitted = match unsafe { back.receiver.submit_many_shared(&transfers, None) } {
            Err(Error::QueueFull { .. }) => Vec::new(),
            submitted => submitted.map_err(text)?,
        };
        let count = submitted.len();
        shared.diary.note(format!("lane {}: {count} posted of {} at once", self.number, parts.len()));
        shared.coverage.bursts[1] += u64::from(count > 1);
        for (transfer, (slot, start, bytes)) in submitted.into_iter().zip(&parts) {
            back.flight.push_back(Flight { ticket: transfer.detach(), slot: *slot, places: 1, start: *start, bytes: *bytes });
            shared.progress += 1;
            note_place(shared, 1, *start, *bytes);
        }
        if count < parts.len() && back.flight.len() < back.depth {
            return Err(format!("{count} of {} buffers were posted, and the queue is not full", parts.len()));
        }
        self.collect_receives(shared, false)
    }
}
