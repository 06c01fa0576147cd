// SPDX-License-Identifier: Apache-2.0
//! A part of a board's BAR that another board's IOMMU domain gets: VFIO's type 1 maps what one of its devices has mapped into the program, as it maps
//! memory.

use std::any::Any;
use std::sync::Arc;

use towpath_bus::BarPart;
use towpath_system::Mapping;

/// Where it is. The mapping keeps the board's file open, so nobody else gets the board while another one reaches it.
#[derive(Debug)]
pub struct SharedPart {
    /// Of the board, in messages.
    pub board: String,
    mapped: Arc<Mapping>,
    at: usize,
}

impl SharedPart {
    /// From byte `at` of a mapping on.
    pub fn new(board: &str, mapped: &Arc<Mapping>, at: usize) -> SharedPart {
        SharedPart { board: board.into(), mapped: mapped.clone(), at }
    }

    /// The program's address of its first byte.
    pub fn address(&self) -> u64 {
        self.mapped.address(self.at) as u64
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
