// SPDX-License-Identifier: Apache-2.0
//! A channel's records of its transfers, from the submission until the completion has been collected.
//!
//! Each transfer has a slot of a table. Its ticket names the slot and the slot's generation, which detects a ticket that was collected, or
//! never issued. Transfers *in flight* are either *posted* (the card has their descriptor) or *waiting* (it has not: a cancel of another
//! transfer is under way, or ended this one's descriptor early). The card ends posted ones in order. A transfer that ended keeps its slot
//! until it is collected; an abandoned one ([`Records::abandon`]) releases it as it ends. No operation takes time in proportion to what
//! happened before, and a descriptor of registered memory allocates nothing: every transfer runs this code.
//!
//! For drivers. The caller locks it.

use crate::{Completion, Keep, Status, Ticket};
use std::collections::VecDeque;
use std::sync::Arc;

/// What stands between now and the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Bytes in the descriptors up to and with the one that is waited for.
    pub bytes: u64,
    /// How many these are. The card's lead is that of the first.
    pub descriptors: usize,
}

/// A transfer in flight, with everything that has to live until it has ended.
#[derive(Default)]
pub struct Record<H> {
    /// Bytes that were requested.
    pub bytes: u64,
    /// Bytes that descriptors of it have moved which another transfer's cancel ended.
    pub moved: u64,
    /// In the card's queue, prefixes included.
    pub places: u16,
    /// It is to be cancelled.
    pub cancel: bool,
    /// To be released.
    pub keep: Option<Arc<dyn Keep>>,
    /// What else the driver holds for it.
    pub held: H,
}

/// How a descriptor ended, or why its completion is invalid.
pub type Ended = std::result::Result<Completion, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Posted,
    Waiting,
    /// Its completion is there.
    Ended,
    /// Its completion is invalid: see `Records::broken`.
    Broken,
}

struct Slot<H> {
    record: Record<H>,
    completion: Completion,
    generation: u32,
    state: State,
    /// The number of its post, the latest.
    post: u64,
    /// The program does not collect it.
    abandoned: bool,
    /// `collect_kept` is to find it.
    detached: bool,
    /// It is in the list of those that `collect_kept` finds.
    listed: bool,
    /// Its neighbours there. Of a free slot, `after` is the next free one.
    before: u32,
    after: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;

/// The state of a ticket.
pub enum Look {
    /// It has not ended.
    InFlight,
    /// Collected with this.
    Ended(Ended),
    /// Collected before, or never issued.
    Unknown,
}

/// All transfers of one channel; `H` is what its driver holds for each in flight.
pub struct Records<H> {
    slots: Vec<Slot<H>>,
    /// The first free slot.
    free: u32,
    /// The slots of what is posted: a ring with room for a full queue.
    posted: Box<[u32]>,
    mask: usize,
    /// Descriptors that were posted, ever. The next one's cookie.
    posts: u64,
    /// Of these, how many have ended.
    ends: u64,
    /// The slots of what waits to be posted, in order.
    waiting: VecDeque<u32>,
    /// How many of these, from the first, are to be posted again.
    again: usize,
    /// Transfers that were submitted.
    submitted: u64,
    /// The list of those that ended and were detached, in the order in which they ended.
    first: u32,
    last: u32,
    broken: Vec<(Ticket, String)>,
}

fn ticket(slot: u32, generation: u32) -> Ticket {
    Ticket(u64::from(generation) << 32 | u64::from(slot))
}

impl<H: Default> Records<H> {
    /// For a queue of `depth` descriptors on the card.
    pub fn new(depth: u16) -> Records<H> {
        let places = usize::from(depth).next_power_of_two();
        Records {
            slots: Vec::with_capacity(places),
            free: NONE,
            posted: vec![NONE; places].into(),
            mask: places - 1,
            posts: 0,
            ends: 0,
            waiting: VecDeque::new(),
            again: 0,
            submitted: 0,
            first: NONE,
            last: NONE,
            broken: Vec::new(),
        }
    }

    #[inline]
    fn place(&self, post: u64) -> usize {
        post as usize & self.mask
    }

    #[inline]
    fn slot(&self, slot: u32) -> &Slot<H> {
        &self.slots[slot as usize]
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> &mut Slot<H> {
        &mut self.slots[slot as usize]
    }

    /// The slot of a ticket that is in flight or to be collected.
    #[inline]
    fn find(&self, wanted: Ticket) -> Option<u32> {
        let (slot, generation) = (wanted.0 as u32, (wanted.0 >> 32) as u32);
        let found = self.slots.get(slot as usize)?;
        (found.generation == generation && found.state != State::Free && !found.abandoned).then_some(slot)
    }

    /// How many transfers have been submitted.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// How many have ended, collected or not.
    pub fn completed(&self) -> u64 {
        self.submitted - (self.posts - self.ends) - self.waiting.len() as u64
    }

    /// Descriptors that were posted, ever: in the card's cookies, modulo 2^16, and in the kernel's tickets, the number of the next.
    #[inline]
    pub fn posts(&self) -> u64 {
        self.posts
    }

    /// How many of these have ended: the number of the oldest that has not.
    #[inline]
    pub fn ends(&self) -> u64 {
        self.ends
    }

    /// Is nothing in flight?
    pub fn is_idle(&self) -> bool {
        self.posts == self.ends && self.waiting.is_empty()
    }

    /// Does anything in flight wait to be posted?
    pub fn any_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The number of the slot that the next transfer takes.
    #[inline(always)]
    fn next_slot(&mut self) -> u32 {
        if self.free == NONE {
            self.new_slot();
        }
        self.free
    }

    /// One more transfer takes [`Records::next_slot`].
    #[inline(always)]
    fn take_slot(&mut self, slot: u32, state: State, post: u64) -> (Ticket, &mut Record<H>) {
        self.submitted += 1;
        let entry = &mut self.slots[slot as usize];
        self.free = entry.after;
        (entry.state, entry.post, entry.detached) = (state, post, false);
        (ticket(slot, entry.generation), &mut entry.record)
    }

    #[cold]
    #[inline(never)]
    fn new_slot(&mut self) {
        let completion = Completion::default();
        let record = Record::default();
        let state = State::Free;
        self.free = self.slots.len() as u32;
        self.slots.push(Slot {
            record,
            completion,
            generation: 0,
            state,
            post: u64::MAX,
            abandoned: false,
            detached: false,
            listed: false,
            before: NONE,
            after: NONE,
        });
    }

    /// The slot's transfer is over and collected; the next one there has another ticket.
    #[inline(always)]
    fn free_slot(&mut self, slot: u32) -> &mut Record<H> {
        let entry = &mut self.slots[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.state = State::Free;
        entry.after = self.free;
        self.free = slot;
        &mut entry.record
    }

    /// A transfer is posted; the caller fills the record that this returns.
    #[inline(always)]
    pub fn post(&mut self) -> (Ticket, &mut Record<H>) {
        let (slot, post) = (self.next_slot(), self.posts);
        let place = self.place(post);
        self.posted[place] = slot;
        self.posts += 1;
        self.take_slot(slot, State::Posted, post)
    }

    /// The transfer that was posted last was not submitted after all: its ticket was never issued.
    pub fn withdraw(&mut self) -> Option<&mut Record<H>> {
        self.posts = self.posts.checked_sub(1).filter(|posts| *posts >= self.ends)?;
        self.submitted -= 1;
        let slot = self.posted[self.place(self.posts)];
        Some(self.free_slot(slot))
    }

    /// A transfer is submitted, to be posted later ([`Records::post_waiting`]).
    pub fn queue(&mut self) -> (Ticket, &mut Record<H>) {
        let slot = self.next_slot();
        self.waiting.push_back(slot);
        self.take_slot(slot, State::Waiting, u64::MAX)
    }

    /// As [`Records::queue`], before all that waits.
    pub fn queue_first(&mut self) -> (Ticket, &mut Record<H>) {
        let slot = self.next_slot();
        self.waiting.push_front(slot);
        self.again += 1;
        self.take_slot(slot, State::Waiting, u64::MAX)
    }

    /// The next that waits to be posted.
    pub fn next_waiting(&mut self) -> Option<&mut Record<H>> {
        let slot = *self.waiting.front()?;
        Some(&mut self.slot_mut(slot).record)
    }

    /// [`Records::next_waiting`] has been posted.
    pub fn post_waiting(&mut self) {
        let Some(slot) = self.waiting.pop_front() else { return };
        self.again = self.again.saturating_sub(1);
        let place = self.place(self.posts);
        self.posted[place] = slot;
        let post = self.posts;
        self.posts += 1;
        let entry = self.slot_mut(slot);
        (entry.state, entry.post) = (State::Posted, post);
    }

    /// The oldest that is posted.
    #[inline]
    pub fn oldest(&self) -> Option<(Ticket, &Record<H>)> {
        if self.posts == self.ends {
            return None;
        }
        let slot = self.posted[self.place(self.ends)];
        let entry = self.slot(slot);
        Some((ticket(slot, entry.generation), &entry.record))
    }

    /// The transfer of the descriptor that has ended last, unless another one has its slot.
    pub fn last_ended(&self) -> Option<&Record<H>> {
        let last = self.ends.checked_sub(1)?;
        let slot = self.slots.get(self.posted[self.place(last)] as usize)?;
        (slot.post == last).then_some(&slot.record)
    }

    /// All that is in flight, in order.
    pub fn in_flight(&self) -> impl Iterator<Item = Ticket> + '_ {
        let posted = (self.ends..self.posts).map(|post| self.posted[self.place(post)]);
        posted.chain(self.waiting.iter().copied()).map(|slot| ticket(slot, self.slot(slot).generation))
    }

    /// What stands between now and the end of this ticket.
    pub fn ahead(&self, wanted: Ticket) -> Ahead {
        let mut ahead = Ahead { bytes: 0, descriptors: 0 };
        if self.find(wanted).is_none_or(|slot| !matches!(self.slot(slot).state, State::Posted | State::Waiting)) {
            return ahead;
        }
        for ticket in self.in_flight() {
            let record = &self.slot(ticket.0 as u32).record;
            ahead.bytes = ahead.bytes.saturating_add(record.bytes - record.moved);
            ahead.descriptors += 1;
            if ticket == wanted {
                break;
            }
        }
        ahead
    }

    /// The transfer of this ticket, if it is the oldest that is posted.
    #[inline(always)]
    pub fn next_record(&self, ticket: Ticket) -> Option<&Record<H>> {
        let entry = self.slots.get(ticket.0 as u32 as usize)?;
        // What has ended, or waits to be posted again, has a post before `ends`.
        (entry.post == self.ends && entry.generation == (ticket.0 >> 32) as u32 && !entry.abandoned).then_some(&entry.record)
    }

    /// The oldest posted transfer has ended; the caller releases what it held. The completion's ticket is filled in here.
    #[inline]
    pub fn end(&mut self, completion: Completion) -> &mut Record<H> {
        let slot = self.posted[self.place(self.ends)];
        self.ends += 1;
        self.ended(slot, completion)
    }

    #[inline]
    fn ended(&mut self, slot: u32, completion: Completion) -> &mut Record<H> {
        let entry = &mut self.slots[slot as usize];
        entry.completion = Completion { ticket: ticket(slot, entry.generation), ..completion };
        entry.state = State::Ended;
        if entry.abandoned {
            self.bury(slot);
        } else if entry.detached {
            self.list(slot);
        }
        &mut self.slots[slot as usize].record
    }

    /// The newest of those that `collect_kept` finds.
    fn list(&mut self, slot: u32) {
        let last = std::mem::replace(&mut self.last, slot);
        let entry = self.slot_mut(slot);
        (entry.listed, entry.before, entry.after) = (true, last, NONE);
        match last {
            NONE => self.first = slot,
            last => self.slots[last as usize].after = slot,
        }
    }

    /// Polling is to find this ticket ([`Records::collect_kept`]).
    pub fn detach(&mut self, ticket: Ticket) {
        let Some(slot) = self.find(ticket) else { return };
        let entry = self.slot_mut(slot);
        entry.detached = true;
        if matches!(entry.state, State::Ended | State::Broken) && !entry.listed {
            self.list(slot);
        }
    }

    #[cold]
    fn bury(&mut self, slot: u32) {
        self.slot_mut(slot).abandoned = false;
        let _ = self.free_slot(slot);
    }

    /// The oldest that is posted, a [`Records::next_record`], has ended and is collected at once.
    #[inline(always)]
    pub fn end_collected(&mut self, ticket: Ticket) -> &mut Record<H> {
        self.ends += 1;
        self.free_slot(ticket.0 as u32)
    }

    /// As [`Records::end`], with an invalid completion.
    pub fn end_broken(&mut self, what: String) -> &mut Record<H> {
        let slot = self.posted[self.place(self.ends)];
        let abandoned = self.slot(slot).abandoned;
        self.end(Completion::new(Ticket(0), Status::Unknown(0), 0));
        let entry = &mut self.slots[slot as usize];
        if !abandoned {
            entry.state = State::Broken;
            self.broken.push((entry.completion.ticket, what));
        }
        &mut entry.record
    }

    /// The descriptor of the oldest posted transfer was ended by another transfer's cancel, after `bytes` bytes: the rest waits to be
    /// posted again.
    pub fn put_back(&mut self, bytes: u64) -> &mut Record<H> {
        let slot = self.posted[self.place(self.ends)];
        self.ends += 1;
        let entry = self.slot_mut(slot);
        entry.state = State::Waiting;
        entry.record.moved += bytes;
        self.waiting.insert(self.again, slot);
        self.again += 1;
        &mut self.slot_mut(slot).record
    }

    /// Does anything wait to be posted again? What is behind it must not end before it.
    pub fn any_put_back(&self) -> bool {
        self.again > 0
    }

    /// End a transfer that waits and is marked to be cancelled, or with `all` any that waits; `None`: there is none. The caller releases
    /// what it held.
    pub fn end_waiting(&mut self, all: bool, status: Status) -> Option<&mut Record<H>> {
        let at = self.waiting.iter().position(|slot| all || self.slot(*slot).record.cancel)?;
        let slot = self.waiting.remove(at)?;
        self.again -= usize::from(at < self.again);
        let bytes = self.slot(slot).record.moved;
        Some(self.ended(slot, Completion::new(Ticket(0), status, bytes)))
    }

    /// Mark a transfer to be cancelled. `None`: it is not in flight; otherwise whether it is posted.
    pub fn mark(&mut self, ticket: Ticket) -> Option<bool> {
        let slot = self.find(ticket)?;
        let entry = self.slot_mut(slot);
        let in_flight = matches!(entry.state, State::Posted | State::Waiting);
        entry.record.cancel |= in_flight;
        in_flight.then_some(entry.state == State::Posted)
    }

    /// Mark all that is in flight to be cancelled, abandoned transfers too.
    pub fn mark_all(&mut self) {
        let posted = (self.ends..self.posts).map(|post| self.posted[self.place(post)]);
        let all: Vec<u32> = posted.chain(self.waiting.iter().copied()).collect();
        for slot in all {
            self.slot_mut(slot).record.cancel = true;
        }
    }

    /// Is anything posted marked to be cancelled?
    pub fn any_marked(&self) -> bool {
        (self.ends..self.posts).any(|post| self.slot(self.posted[self.place(post)]).record.cancel)
    }

    /// The program does not collect this ticket: its slot is released when the transfer has ended.
    pub fn abandon(&mut self, ticket: Ticket) {
        let Some(slot) = self.find(ticket) else { return };
        match self.slot(slot).state {
            State::Posted | State::Waiting => self.slot_mut(slot).abandoned = true,
            _ => drop(self.collect(ticket)),
        }
    }

    /// Has it ended, so that [`Records::collect`] would return how?
    pub fn has_ended(&self, ticket: Ticket) -> bool {
        self.find(ticket).is_none_or(|slot| matches!(self.slot(slot).state, State::Ended | State::Broken))
    }

    /// Collect how a ticket ended, if it has and its completion is valid.
    #[inline]
    pub fn collect_ended(&mut self, ticket: Ticket) -> Option<Completion> {
        let slot = self.find(ticket)?;
        let entry = self.slot(slot);
        if entry.state != State::Ended {
            return None;
        }
        let completion = entry.completion;
        if entry.listed {
            self.unlist(slot);
        }
        let _ = self.free_slot(slot);
        Some(completion)
    }

    fn unlist(&mut self, slot: u32) {
        let entry = self.slot_mut(slot);
        entry.listed = false;
        let (before, after) = (entry.before, entry.after);
        match before {
            NONE => self.first = after,
            before => self.slot_mut(before).after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.slot_mut(after).before = before,
        }
    }

    /// Collect how a ticket ended.
    pub fn collect(&mut self, ticket: Ticket) -> Look {
        if let Some(completion) = self.collect_ended(ticket) {
            return Look::Ended(Ok(completion));
        }
        let Some(slot) = self.find(ticket) else { return Look::Unknown };
        let entry = self.slot(slot);
        if entry.state != State::Broken {
            return Look::InFlight;
        }
        if entry.listed {
            self.unlist(slot);
        }
        let _ = self.free_slot(slot);
        Look::Ended(Err(self.take_broken(ticket)))
    }

    /// Collect, in the order in which they ended, detached transfers that have ended, as many as fit. An invalid completion is returned
    /// alone.
    pub fn collect_kept(&mut self, room: &mut [Completion]) -> std::result::Result<usize, String> {
        let mut found = 0;
        while found < room.len() && self.first != NONE {
            let slot = self.first;
            let completion = self.slot(slot).completion;
            let broken = self.slot(slot).state == State::Broken;
            if broken && found > 0 {
                break;
            }
            self.unlist(slot);
            let _ = self.free_slot(slot);
            if broken {
                return Err(self.take_broken(completion.ticket));
            }
            room[found] = completion;
            found += 1;
        }
        Ok(found)
    }

    fn take_broken(&mut self, ticket: Ticket) -> String {
        let at = self.broken.iter().position(|(broken, _)| *broken == ticket);
        at.map(|at| self.broken.swap_remove(at).1).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    struct Nobody;

    impl Keep for Nobody {
        fn release(&self, _direction: crate::Direction) {}
        fn stays_mapped(&self) {}
        fn has_lost(&self) -> bool {
            false
        }
    }

    fn push(records: &mut Records<()>, bytes: u64, kept: bool) -> Ticket {
        let keep = kept.then(|| Arc::new(Nobody) as Arc<dyn Keep>);
        let (ticket, record) = records.post();
        *record = Record { bytes, places: 1, keep, ..Record::default() };
        if kept {
            records.detach(ticket);
        }
        ticket
    }

    fn end(records: &mut Records<()>) {
        let bytes = records.oldest().unwrap().1.bytes;
        records.end(Completion::new(Ticket(0), Status::Done, bytes)).keep = None;
    }

    fn poll(records: &mut Records<()>) -> std::result::Result<Vec<Ticket>, String> {
        let mut room = [Completion::new(Ticket(0), Status::Done, 0); 4];
        records.collect_kept(&mut room).map(|found| room[..found].iter().map(|completion| completion.ticket).collect())
    }

    fn free(records: &Records<()>) -> usize {
        let next = |slot: &u32| Some(records.slots.get(*slot as usize)?.after);
        std::iter::successors(Some(records.free), next).take_while(|slot| *slot != NONE).count()
    }

    #[test]
    fn tickets_are_collected_in_any_order_once() {
        let mut records = Records::new(8);
        let tickets: Vec<Ticket> = (0..4).map(|n| push(&mut records, n, false)).collect();
        assert!(matches!(records.collect(tickets[0]), Look::InFlight));
        (0..3).for_each(|_| end(&mut records));
        for n in [2, 0, 1] {
            let Look::Ended(Ok(completion)) = records.collect(tickets[n]) else { panic!("ticket {n}") };
            assert_eq!((completion.ticket, completion.bytes), (tickets[n], n as u64));
            assert!(matches!(records.collect(tickets[n]), Look::Unknown));
        }
        assert!(matches!(records.collect(tickets[3]), Look::InFlight));
        assert!(matches!(records.collect(Ticket(77)), Look::Unknown));
        assert_eq!(records.oldest().unwrap().0, tickets[3]);
        end(&mut records);
        assert!(records.oldest().is_none() && records.is_idle());
        assert!(matches!(records.collect(tickets[3]), Look::Ended(Ok(_))));
        // A slot is used again, a ticket never.
        assert!(!tickets.contains(&push(&mut records, 0, false)));
        assert_eq!((records.slots.len(), records.submitted(), records.completed()), (4, 5, 4));
    }

    #[test]
    fn polling_collects_only_what_was_submitted_with_an_owner() {
        let mut records = Records::new(8);
        let tickets: Vec<Ticket> = [true, false, true, true, true].into_iter().map(|kept| push(&mut records, 1, kept)).collect();
        (0..3).for_each(|_| end(&mut records));
        records.end_broken("wrong".into());
        assert_eq!(poll(&mut records).unwrap(), [tickets[0], tickets[2]]);
        assert_eq!(poll(&mut records).unwrap_err(), "wrong");
        assert_eq!(poll(&mut records).unwrap(), []);
        assert!(matches!(records.collect(tickets[1]), Look::Ended(Ok(_))));
        assert_eq!((free(&records), records.broken.len()), (4, 0));
        end(&mut records);
        assert_eq!(poll(&mut records).unwrap(), [tickets[4]]);
    }

    /// Collected one by one, in any order, they leave the list of those that polling finds.
    #[test]
    fn the_list_of_what_has_ended_holds_when_some_are_taken_out() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let mut records = Records::new(8);
            let tickets: Vec<Ticket> = (0..4).map(|_| push(&mut records, 1, true)).collect();
            (0..4).for_each(|_| end(&mut records));
            order.iter().for_each(|n| assert!(records.collect_ended(tickets[*n]).is_some()));
            assert_eq!(poll(&mut records).unwrap(), [tickets[3]]);
            assert_eq!((records.first, records.last), (NONE, NONE));
        }
    }

    #[test]
    fn ahead_is_what_is_in_flight_up_to_the_ticket() {
        let mut records = Records::new(8);
        let tickets: Vec<Ticket> = (1..=4).map(|n| push(&mut records, n, false)).collect();
        end(&mut records);
        assert_eq!(records.ahead(tickets[2]), Ahead { bytes: 5, descriptors: 2 });
        assert_eq!(records.ahead(tickets[0]), Ahead { bytes: 0, descriptors: 0 });
        records.collect(tickets[0]);
        assert_eq!(records.ahead(tickets[1]), Ahead { bytes: 2, descriptors: 1 });
    }

    /// An abandoned transfer takes its slot until it has ended, and nothing afterwards.
    #[test]
    fn an_abandoned_ticket_leaves_nothing_behind() {
        let mut records = Records::new(4);
        for kept in [false, true] {
            for _ in 0..if cfg!(miri) { 20 } else { 1000 } {
                let early = push(&mut records, 1, kept);
                records.abandon(early);
                assert!(matches!(records.collect(early), Look::Unknown));
                end(&mut records);
                let late = push(&mut records, 1, kept);
                end(&mut records);
                records.abandon(late);
                assert!(matches!(records.collect(late), Look::Unknown));
            }
        }
        assert_eq!((records.slots.len(), free(&records), records.first), (1, 1, NONE));
    }

    /// What was withdrawn was never there: its ticket is unknown, its place in the order and its slot are the next one's.
    #[test]
    fn a_post_that_failed_is_withdrawn() {
        let mut records = Records::new(4);
        let first = push(&mut records, 1, false);
        let gone: Vec<Ticket> = (0..2).map(|_| push(&mut records, 2, true)).collect();
        assert!(gone.iter().all(|_| records.withdraw().is_some_and(|record| record.bytes == 2 && record.keep.take().is_some())));
        assert_eq!((records.posts(), records.submitted(), free(&records)), (1, 1, 2));
        let next = push(&mut records, 3, true);
        assert!(gone.iter().all(|ticket| *ticket != next && matches!(records.collect(*ticket), Look::Unknown)));
        (0..2).for_each(|_| end(&mut records));
        assert!(matches!(records.collect(first), Look::Ended(Ok(_))) && records.withdraw().is_none());
        assert_eq!(poll(&mut records).unwrap(), [next]);
    }

    /// A cancel of one puts the others back in their order, before what was submitted meanwhile.
    #[test]
    fn what_anothers_cancel_ended_is_posted_again_in_order() {
        let mut records = Records::new(8);
        let tickets: Vec<Ticket> = (0..4).map(|_| push(&mut records, 100, false)).collect();
        let late = records.queue().0;
        assert_eq!(records.mark(tickets[1]), Some(true));
        assert_eq!(records.mark(late), Some(false));
        for bytes in [30, 0, 0, 0] {
            match records.oldest().unwrap().1.cancel {
                true => records.end(Completion::new(Ticket(0), Status::Cancelled, 0)),
                false => records.put_back(bytes),
            };
        }
        assert!(records.end_waiting(false, Status::Cancelled).is_some() && records.end_waiting(false, Status::Cancelled).is_none());
        let newest = records.queue().0;
        assert_eq!(records.in_flight().collect::<Vec<_>>(), [tickets[0], tickets[2], tickets[3], newest]);
        assert_eq!((records.posts(), records.ends()), (4, 4));
        for bytes in [70, 100, 100, 0] {
            let record = records.next_waiting().unwrap();
            assert_eq!(record.bytes - record.moved, bytes);
            records.post_waiting();
        }
        assert!(!records.any_waiting() && !records.is_idle());
        assert_eq!(records.oldest().unwrap().0, tickets[0]);
        assert!([tickets[1], late].iter().all(|ticket| records.has_ended(*ticket) && records.collect_ended(*ticket).is_some()));
        assert_eq!(records.mark(late), None);
    }
}
