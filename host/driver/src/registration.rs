// SPDX-License-Identifier: Apache-2.0
//! Memory that a driver has made known to its card, as a token: whoever holds it names it with each transfer, so that nothing is looked up by address.

use crate::{Access, Piece};
use std::sync::atomic::{AtomicU8, Ordering};

/// Memory known to one driver's card. Made by [`crate::Driver::register`]; ends with [`crate::Driver::unregister`], not when it is dropped.
#[derive(Debug)]
pub struct Registration {
    start: usize,
    bytes: usize,
    access: Access,
    key: u64,
    state: AtomicU8,
}

/// What a registration is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RegistrationState {
    /// Transfers may name it.
    Usable,
    /// The driver has taken the memory away from the card. Transfers there are registered one by one.
    Withdrawn,
    /// The driver could not take the memory away: the card may reach it.
    Stuck,
    /// It is over.
    Ended,
}

impl Registration {
    /// For drivers. `key` is what the driver knows it by.
    pub fn new(start: *mut u8, bytes: usize, access: Access, key: u64) -> Registration {
        Registration { start: start as usize, bytes, access, key, state: AtomicU8::new(RegistrationState::Usable as u8) }
    }

    /// Of no bytes, which no card needs to know.
    pub fn empty(start: *mut u8, access: Access) -> Registration {
        let empty = Registration::new(start, 0, access, 0);
        empty.replace(RegistrationState::Ended);
        empty
    }

    /// What the driver knows it by.
    #[inline]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Its length.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Set what it is good for, and return what it was.
    pub fn replace(&self, state: RegistrationState) -> RegistrationState {
        RegistrationState::of(self.state.swap(state as u8, Ordering::AcqRel))
    }

    /// How far behind its first byte a piece of it lies, if the registration is usable.
    #[inline(always)]
    pub fn offset(&self, piece: &Piece<'_>, access: Access) -> Option<u64> {
        let skip = (piece.memory as usize).wrapping_sub(self.start);
        debug_assert!(skip <= self.bytes && piece.bytes <= self.bytes - skip && self.permits(access));
        (self.state.load(Ordering::Acquire) == RegistrationState::Usable as u8).then_some(skip as u64)
    }

    /// Does it allow this?
    #[inline]
    pub fn permits(&self, access: Access) -> bool {
        self.access == Access::ReadWrite || self.access == access
    }
}

impl RegistrationState {
    fn of(number: u8) -> RegistrationState {
        const ALL: [RegistrationState; 4] =
            [RegistrationState::Usable, RegistrationState::Withdrawn, RegistrationState::Stuck, RegistrationState::Ended];
        ALL[usize::from(number) % ALL.len()]
    }
}
