// SPDX-License-Identifier: Apache-2.0
//! What a channel keeps of its descriptors, from the post until somebody collects how they ended.
//!
//! Those in flight stand in a ring of places, by their ticket; how they ended stands in a queue, in the order of the tickets, for completions come in
//! that order. Nothing is searched, nothing moves, and nothing is allocated for a descriptor of registered memory: this is on the way of each.
//!
//! For drivers. The caller locks it, and sees that completions are filed in the order of submission.

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

/// A descriptor in flight, with everything that has to live until it has ended.
#[derive(Default)]
pub struct Record<H> {
    /// That it asks for.
    pub bytes: u64,
    /// In the card's queue, prefixes included.
    pub places: u16,
    /// To be released.
    pub keep: Option<Arc<dyn Keep>>,
    /// What the driver holds for it beside that.
    pub held: H,
}

/// How a descriptor ended, or what the card said of it that cannot be.
pub type Ended = std::result::Result<Completion, String>;

/// A descriptor that has ended.
#[derive(Clone, Copy)]
struct Done {
    completion: Completion,
    state: DoneState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DoneState {
    /// Its submitter collects it.
    Waits,
    /// It was submitted with a `keep`, so whoever polls for completions may collect it, too.
    Kept,
    /// What the card said of it cannot be: see `Records::broken`. `true`: as `Kept`.
    Broken(bool),
    Collected,
}

/// What there is to say of a ticket.
pub enum Look {
    /// It has not ended.
    InFlight,
    /// Collected with this.
    Ended(Ended),
    /// Collected before, or never given out.
    Unknown,
}

/// All descriptors of one channel; `H` is what its driver holds for each in flight.
pub struct Records<H> {
    /// A place is a ticket's, modulo their number.
    places: Box<[Record<H>]>,
    in_flight: usize,
    ended: VecDeque<Done>,
    /// The ticket of the first that has ended and is not collected, or if there is none, of the oldest in flight.
    first: u64,
    broken: Vec<(Ticket, String)>,
}

impl<H: Default> Records<H> {
    /// For so many descriptors in flight at most.
    pub fn new(depth: u16) -> Records<H> {
        let places = (0..usize::from(depth).next_power_of_two()).map(|_| Record::default()).collect();
        Records { places, in_flight: 0, ended: VecDeque::new(), first: 0, broken: Vec::new() }
    }

    #[inline]
    fn oldest_ticket(&self) -> u64 {
        self.first + self.ended.len() as u64
    }

    #[inline]
    fn place(&self, ticket: u64) -> usize {
        ticket as usize & (self.places.len() - 1)
    }

    /// How many have been posted; tickets count from 0.
    pub fn posted(&self) -> u64 {
        self.next_ticket().0
    }

    /// How many have ended, collected or not.
    pub fn completed(&self) -> u64 {
        self.oldest_ticket()
    }

    /// The ticket of the next that is posted.
    #[inline]
    pub fn next_ticket(&self) -> Ticket {
        Ticket(self.oldest_ticket() + self.in_flight as u64)
    }

    /// The next ticket is posted; what is known of it goes where this points.
    #[inline]
    pub fn post(&mut self, ticket: Ticket) -> &mut Record<H> {
        debug_assert_eq!(ticket, self.next_ticket());
        let place = self.place(ticket.0);
        self.in_flight += 1;
        &mut self.places[place]
    }

    /// The oldest in flight.
    #[inline]
    pub fn oldest(&self) -> Option<(Ticket, &Record<H>)> {
        let ticket = self.oldest_ticket();
        (self.in_flight > 0).then(|| (Ticket(ticket), &self.places[self.place(ticket)]))
    }

    /// The newest in flight.
    pub fn newest(&self) -> Option<Ticket> {
        (self.in_flight > 0).then(|| Ticket(self.next_ticket().0 - 1))
    }

    /// What stands between now and the end of this ticket.
    pub fn ahead(&self, ticket: Ticket) -> Ahead {
        let (oldest, next) = (self.oldest_ticket(), self.next_ticket().0);
        (oldest..next.min(ticket.0.saturating_add(1))).fold(Ahead { bytes: 0, descriptors: 0 }, |ahead, ticket| Ahead {
            bytes: ahead.bytes.saturating_add(self.places[self.place(ticket)].bytes),
            descriptors: ahead.descriptors + 1,
        })
    }

    /// The oldest in flight has ended; what it held is the caller's to give back.
    #[inline]
    pub fn end(&mut self, completion: Completion) -> &mut Record<H> {
        let place = self.place(self.oldest_ticket());
        let record = &mut self.places[place];
        let state = if record.keep.is_some() { DoneState::Kept } else { DoneState::Waits };
        self.in_flight -= 1;
        self.ended.push_back(Done { completion, state });
        record
    }

    /// Is this ticket the oldest in flight, and nothing before it left to be collected?
    #[inline]
    pub fn is_next(&self, ticket: Ticket) -> bool {
        self.ended.is_empty() && self.in_flight > 0 && ticket.0 == self.first
    }

    /// The oldest in flight, which [`Records::is_next`], has ended and is collected at once.
    #[inline]
    pub fn end_collected(&mut self) -> &mut Record<H> {
        let place = self.place(self.first);
        self.in_flight -= 1;
        self.first += 1;
        &mut self.places[place]
    }

    /// The same with something that cannot be.
    pub fn end_broken(&mut self, ticket: Ticket, what: String) -> &mut Record<H> {
        self.broken.push((ticket, what));
        let place = self.place(self.oldest_ticket());
        let record = &mut self.places[place];
        let completion = Completion { ticket, status: Status::Unknown(0), bytes: 0, offset: 0, user: 0 };
        self.in_flight -= 1;
        self.ended.push_back(Done { completion, state: DoneState::Broken(record.keep.is_some()) });
        record
    }

    /// Collect how a ticket ended, if it is the oldest that was not collected, as nearly always, and nothing is odd about it.
    #[inline]
    pub fn collect_oldest(&mut self, ticket: Ticket) -> Option<Completion> {
        let done = self.ended.front().filter(|done| done.completion.ticket == ticket)?;
        if !matches!(done.state, DoneState::Waits | DoneState::Kept) {
            return None;
        }
        let completion = done.completion;
        self.ended.pop_front();
        self.first += 1;
        if self.ended.front().is_some_and(|next| next.state == DoneState::Collected) {
            self.forget_collected();
        }
        Some(completion)
    }

    /// Collect how a ticket ended.
    pub fn collect(&mut self, ticket: Ticket) -> Look {
        if let Some(completion) = self.collect_oldest(ticket) {
            return Look::Ended(Ok(completion));
        }
        let Some(done) = self.ended.get_mut(ticket.0.wrapping_sub(self.first) as usize) else {
            let flies = (self.oldest_ticket()..self.next_ticket().0).contains(&ticket.0);
            return if flies { Look::InFlight } else { Look::Unknown };
        };
        let completion = done.completion;
        let look = match std::mem::replace(&mut done.state, DoneState::Collected) {
            DoneState::Waits | DoneState::Kept => Look::Ended(Ok(completion)),
            DoneState::Broken(_) => Look::Ended(Err(self.take_broken(ticket))),
            DoneState::Collected => Look::Unknown,
        };
        self.forget_collected();
        look
    }

    /// Collect, in order, what was submitted with a `keep` and has ended. What cannot be comes alone.
    pub fn collect_kept(&mut self) -> std::result::Result<Vec<Completion>, String> {
        let (mut found, mut broken) = (Vec::new(), None);
        for done in &mut self.ended {
            match done.state {
                DoneState::Kept => found.push(done.completion),
                DoneState::Broken(true) if found.is_empty() => broken = Some(done.completion.ticket),
                DoneState::Broken(true) => break,
                _ => continue,
            }
            done.state = DoneState::Collected;
            if broken.is_some() {
                break;
            }
        }
        self.forget_collected();
        match broken {
            Some(ticket) => Err(self.take_broken(ticket)),
            None => Ok(found),
        }
    }

    fn take_broken(&mut self, ticket: Ticket) -> String {
        let at = self.broken.iter().position(|(broken, _)| *broken == ticket);
        at.map(|at| self.broken.swap_remove(at).1).unwrap_or_default()
    }

    #[cold]
    fn forget_collected(&mut self) {
        while self.ended.front().is_some_and(|done| done.state == DoneState::Collected) {
            self.ended.pop_front();
            self.first += 1;
        }
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
    }

    fn push(records: &mut Records<()>, bytes: u64, kept: bool) -> Ticket {
        let ticket = records.next_ticket();
        let keep = kept.then(|| Arc::new(Nobody) as Arc<dyn Keep>);
        *records.post(ticket) = Record { bytes, places: 1, keep, held: () };
        ticket
    }

    fn end(records: &mut Records<()>) {
        let (ticket, record) = records.oldest().unwrap();
        let completion = Completion { ticket, status: Status::Done, bytes: record.bytes, offset: 0, user: 0 };
        records.end(completion).keep = None;
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
        assert!(matches!(records.collect(records.next_ticket()), Look::Unknown));
        assert_eq!((records.oldest().unwrap().0, records.newest()), (tickets[3], Some(tickets[3])));
        end(&mut records);
        assert!(records.oldest().is_none() && records.newest().is_none());
        assert!(matches!(records.collect(tickets[3]), Look::Ended(Ok(_))));
        assert!(records.ended.is_empty());
        assert_eq!(push(&mut records, 0, false), Ticket(4));
    }

    #[test]
    fn polling_collects_only_what_was_submitted_with_an_owner() {
        let mut records = Records::new(8);
        let tickets: Vec<Ticket> = [true, false, true, true, true].into_iter().map(|kept| push(&mut records, 1, kept)).collect();
        (0..3).for_each(|_| end(&mut records));
        records.end_broken(tickets[3], "wrong".into());
        let found: Vec<Ticket> = records.collect_kept().unwrap().iter().map(|completion| completion.ticket).collect();
        assert_eq!(found, [tickets[0], tickets[2]]);
        assert_eq!(records.collect_kept().unwrap_err(), "wrong");
        assert_eq!(records.collect_kept().unwrap(), []);
        assert!(matches!(records.collect(tickets[1]), Look::Ended(Ok(_))));
        assert_eq!((records.ended.len(), records.in_flight, records.broken.len()), (0, 1, 0));
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
}
