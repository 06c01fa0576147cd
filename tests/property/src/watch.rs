// SPDX-License-Identifier: Apache-2.0
//! A simulated card's bus that remembers whose memory is at which address of the card's, so that a fault can be laid at the right door. With
//! every second seed the driver posts its own batches; with the others it posts by the doorbell, and some of that goes in batches of any pieces
//! and order.

use crate::batches::Batches;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use towpath_bus::{Access, Bus, Result, Wake, WireStatistics};
use towpath_contract as contract;
use towpath_sim::SimBus;

/// The bus. `O` says whose some memory is.
pub struct Watch<O> {
    /// The card itself.
    pub sim: Arc<SimBus>,
    state: Mutex<State<O>>,
    /// `None`: the driver posts its own.
    batches: Option<Mutex<Batches>>,
    /// Those of the driver's own.
    own: AtomicU64,
}

struct State<O> {
    owner: Option<O>,
    maps: Vec<(u64, u64, Option<O>)>,
}

impl<O: Copy> Watch<O> {
    /// Over a card. The seed chooses what is posted in batches.
    pub fn new(sim: Arc<SimBus>, seed: u64) -> Result<Watch<O>> {
        let batches = if seed % 2 == 0 { Some(Mutex::new(Batches::new(&*sim, seed)?)) } else { None };
        Ok(Watch { sim, state: Mutex::new(State { owner: None, maps: Vec::new() }), batches, own: AtomicU64::new(0) })
    }

    /// Batches of several descriptors so far.
    pub fn batched(&self) -> u64 {
        self.batches().map_or(0, |batches| batches.several) + self.own.load(Ordering::Relaxed)
    }

    fn batches(&self) -> Option<MutexGuard<'_, Batches>> {
        Some(self.batches.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Nothing that follows may overtake what was posted.
    fn post(&self) -> Result<()> {
        self.batches().map_or(Ok(()), |mut batches| batches.post_all(&*self.sim))
    }

    fn state(&self) -> MutexGuard<'_, State<O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is mapped from now on is `owner`'s.
    pub fn own(&self, owner: Option<O>) {
        self.state().owner = owner;
    }

    /// Whose an address of the card's is or was, and how far behind the beginning of what was mapped. Addresses are never given out twice.
    pub fn find(&self, address: u64) -> Option<(O, u64)> {
        let state = self.state();
        let (begin, bytes, owner) = state.maps.get(state.maps.partition_point(|map| map.0 <= address).checked_sub(1)?)?;
        Some(((*owner)?, address - begin)).filter(|_| address < begin + bytes)
    }
}

/// Is this the commit of several descriptors? In pages of 4 KiB.
fn is_batch(bar: u8, offset: u64, value: u32) -> bool {
    let doorbell = |page: u64| page % contract::PAGES_PER_CHANNEL == contract::PAGE_CHANNEL_DOORBELL;
    let page = (offset >> 12).checked_sub(contract::PAGE_CHANNELS);
    bar == contract::BAR_DEVICE && page.is_some_and(doorbell) && offset & 0xfff == contract::DOORBELL_BATCH_OFFSET && value > 1
}

impl<O: Copy + Send> Bus for Watch<O> {
    fn name(&self) -> &str {
        self.sim.name()
    }
    fn bar_bytes(&self, bar: u8) -> u64 {
        self.sim.bar_bytes(bar)
    }
    fn read32(&self, bar: u8, offset: u64) -> Result<u32> {
        self.post()?;
        self.sim.read32(bar, offset)
    }
    fn read64(&self, bar: u8, offset: u64) -> Result<u64> {
        self.post()?;
        self.sim.read64(bar, offset)
    }
    fn write32(&self, bar: u8, offset: u64, value: u32) -> Result<()> {
        self.post()?;
        match self.batches() {
            Some(mut batches) => batches.written(bar, offset, value),
            None => _ = self.own.fetch_add(u64::from(is_batch(bar, offset, value)), Ordering::Relaxed),
        }
        self.sim.write32(bar, offset, value)
    }
    fn write64(&self, bar: u8, offset: u64, value: u64) -> Result<()> {
        self.post()?;
        self.sim.write64(bar, offset, value)
    }
    fn write_pair(&self, bar: u8, offset: u64, values: [u64; 2]) -> Result<()> {
        match self.batches() {
            Some(mut batches) => batches.descriptor(&*self.sim, bar, offset, values),
            None => self.sim.write_pair(bar, offset, values),
        }
    }
    fn combines(&self) -> bool {
        self.batches.is_none()
    }
    fn write_combining(&self, bar: u8, offset: u64, bytes: &[u8]) -> Result<()> {
        self.sim.write_combining(bar, offset, bytes)
    }
    fn fence(&self) -> Result<()> {
        self.sim.fence()
    }
    unsafe fn map(&self, memory: *mut u8, bytes: usize, access: Access) -> Result<u64> {
        // SAFETY: by this function's contract, which is the same.
        let address = unsafe { self.sim.map(memory, bytes, access)? };
        let mut state = self.state();
        let owner = state.owner;
        state.maps.push((address, bytes as u64, owner)); // addresses ascend
        Ok(address)
    }
    fn unmap(&self, address: u64, bytes: usize) -> Result<()> {
        self.sim.unmap(address, bytes)
    }
    fn enable_vectors(&self, count: u16) -> Result<u16> {
        self.sim.enable_vectors(count)
    }
    fn wait(&self, vector: u16, nanoseconds: u64) -> Result<Wake> {
        self.post()?;
        self.sim.wait(vector, nanoseconds)
    }
    fn event_fd(&self, vector: u16) -> Result<OwnedFd> {
        self.sim.event_fd(vector)
    }
    fn poll(&self) -> Result<()> {
        self.post()?;
        self.sim.poll()
    }
    fn now(&self) -> u64 {
        self.sim.now()
    }
    fn reset(&self) -> Result<()> {
        self.post()?;
        if let Some(mut batches) = self.batches() {
            batches.forget();
        }
        self.sim.reset()
    }
    fn wire(&self) -> Option<WireStatistics> {
        self.sim.wire()
    }
    fn register_names(&self) -> Vec<(String, u32)> {
        self.sim.register_names()
    }
}
