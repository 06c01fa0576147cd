// SPDX-License-Identifier: Apache-2.0
//! Memory that a driver has registered with its card, as a token: each transfer names it, so that no lookup by address is needed.

use crate::{Access, Piece};
use std::sync::atomic::{AtomicU8, Ordering};

/// Memory registered with one driver's card. Made by [`crate::Driver::register`]; ends with [`crate::Driver::unregister`], not when it is
/// dropped.
#[derive(Debug)]
pub struct Registration {
    start: usize,
    bytes: usize,
    access: Access,
    key: u64,
    state: AtomicU8,
}

/// The state of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RegistrationState {
    /// Transfers may name it.
    Usable,
    /// The driver has unmapped the memory. Transfers there are registered one by one.
    Withdrawn,
    /// The driver could not unmap the memory: the card may reach it.
    Stuck,
    /// It is over.
    Ended,
}

impl Registration {
    /// For drivers. `key` is the driver's own identifier.
    pub fn new(start: *mut u8, bytes: usize, access: Access, key: u64) -> Registration {
        Registration { start: start as usize, bytes, access, key, state: AtomicU8::new(RegistrationState::Usable as u8) }
    }

    /// Of no bytes, which needs no registration.
    pub fn empty(start: *mut u8, access: Access) -> Registration {
        let empty = Registration::new(start, 0, access, 0);
        empty.replace(RegistrationState::Ended);
        empty
    }

    /// The driver's own identifier.
    #[inline]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Its length.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Set the state, and return the previous one.
    pub fn replace(&self, state: RegistrationState) -> RegistrationState {
        RegistrationState::of(self.state.swap(state as u8, Ordering::AcqRel))
    }

    /// The offset of a piece from its first byte, if the registration is usable.
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
