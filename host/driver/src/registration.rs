// SPDX-License-Identifier: Apache-2.0
//! Memory that a driver has registered with its card, as a token: each transfer names it, so that no lookup by address is needed.

use crate::{Access, DeviceMemory, Piece};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

/// Memory registered with one driver's card. Made by [`crate::Driver::register`]; ends with [`crate::Driver::unregister`], not when it is
/// dropped.
#[derive(Debug)]
pub struct Registration {
    start: usize,
    bytes: usize,
    /// `None`: the card has no access; the memory is staged.
    access: Option<Access>,
    key: u64,
    state: AtomicU8,
    /// What the memory is, if the processor cannot use it.
    device: Option<Arc<dyn DeviceMemory>>,
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
        let state = AtomicU8::new(RegistrationState::Usable as u8);
        Registration { start: start as usize, bytes, access: Some(access), key, state, device: None }
    }

    /// Of a device's memory; for drivers.
    pub fn of_device(memory: &Arc<dyn DeviceMemory>, access: Access, key: u64) -> Registration {
        let plain = Registration::new(memory.address() as *mut u8, memory.bytes(), access, key);
        Registration { device: Some(memory.clone()), ..plain }
    }

    /// In place of a registration: of a device's memory that the card does not see. Calls copy its bytes to and from memory that it does see.
    pub fn staged(memory: &Arc<dyn DeviceMemory>) -> Registration {
        let staged = Registration { access: None, ..Registration::of_device(memory, Access::ReadWrite, 0) };
        staged.replace(RegistrationState::Ended);
        staged
    }

    /// Is it one of [`Registration::staged`]?
    #[inline]
    pub fn is_staged(&self) -> bool {
        self.access.is_none()
    }

    /// The device's memory that this is about. `None`: it is the processor's.
    #[inline]
    pub fn device(&self) -> Option<&Arc<dyn DeviceMemory>> {
        self.device.as_ref()
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
        self.access == Some(Access::ReadWrite) || self.access == Some(access)
    }
}

impl RegistrationState {
    fn of(number: u8) -> RegistrationState {
        const ALL: [RegistrationState; 4] =
            [RegistrationState::Usable, RegistrationState::Withdrawn, RegistrationState::Stuck, RegistrationState::Ended];
        ALL[usize::from(number) % ALL.len()]
    }
}
