// SPDX-License-Identifier: Apache-2.0
//! A part of a board's BAR that another board's IOMMU domain gets: VFIO's type 1 maps what one of its devices has mapped into the program, as it maps
//! memory.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use towpath_bus::BarPart;
use towpath_system::Mapping;

use crate::domain::Seat;

/// Where it is. The mapping keeps the board's file open, so nobody else gets the board while another one reaches it.
pub struct SharedPart {
    /// Of the board, in messages.
    pub board: String,
    mapped: Arc<Mapping>,
    at: usize,
    _seat: Arc<Seat>,
}

impl SharedPart {
    /// From byte `at` of a mapping on.
    pub fn new(board: &str, mapped: &Arc<Mapping>, at: usize, seat: &Arc<Seat>) -> SharedPart {
        SharedPart { board: board.into(), mapped: mapped.clone(), at, _seat: seat.clone() }
    }

    /// The program's address of its first byte.
    pub fn address(&self) -> u64 {
        self.mapped.address(self.at) as u64
    }
}

impl fmt::Debug for SharedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPart").field("board", &self.board).field("address", &self.address()).finish()
    }
}

impl BarPart for SharedPart {
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    /// Nobody tells a program that a write of one board to another was lost.
    fn has_lost(&self) -> bool {
        false
    }
}
