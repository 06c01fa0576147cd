// SPDX-License-Identifier: Apache-2.0
//! A part of a card's BAR that other cards of the same world may write and read, through their own IOMMU domains.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use towpath_bus::BarPart;

/// Where it is. Packets to it reach the card that it was shared by, and no card which has taken that one's place.
#[derive(Debug)]
pub struct SharedBar {
    /// Identifies the world; never followed.
    pub world: usize,
    /// The card's place in the world, and which of the cards that have had it.
    pub target: usize,
    /// See `target`.
    pub serial: u64,
    /// Which BAR.
    pub bar: u8,
    /// The first byte.
    pub offset: u64,
    /// Bytes in it.
    pub bytes: u64,
    /// A write to it did not arrive, or may not: the link to its card has gone down.
    pub lost: AtomicBool,
}

impl BarPart for SharedBar {
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn has_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }
}
