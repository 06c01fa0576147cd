// SPDX-License-Identifier: Apache-2.0
//! Any number of cards on one clock and one fabric, and the rules by which time passes there.
//!
//! Time stands still unless a call moves it: a store for its cost, a load for its round trip, a poll for its cost, a wait until its end;
//! and the pump, a thread which moves time for programs that wait at an eventfd. A program of one thread without eventfds therefore runs
//! the same way each time, to the picosecond. Several threads take turns.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::bus::SimBus;
use crate::device::{refuse, Device, Forward};
use crate::error::SimError;
use crate::link::Head;
use crate::model::{Model, PrintSink};
use crate::settings::{Settings, SettingsError};
use parking_lot::{Condvar, Mutex, MutexGuard};

/// Cards in one world at most.
pub const CARDS: usize = 64;
/// Edges after which another thread may have a turn.
pub const TURN: u32 = 512;
/// Quiet edges after which the pump slows down, and how long it then sleeps between turns.
const PUMP_QUIET: u64 = 2_000_000;
const PUMP_REST: Duration = Duration::from_millis(50);

/// What is behind the lock.
pub struct Inner {
    /// Simulated picoseconds.
    pub now: u64,
    /// The cards; a closed one leaves its place empty.
    pub devices: Vec<Option<Box<Device>>>,
    /// How the host is modelled.
    pub settings: Arc<Settings>,
    moved: Vec<Forward>,
    /// Cards that have been in it.
    cards: u64,
    shutdown: bool,
}

impl Inner {
    fn next_edge(&self) -> u64 {
        self.devices.iter().flatten().map(|device| device.next_edge()).min().unwrap_or(u64::MAX)
    }

    /// The next edge of any clock if it comes by `limit`; else time moves to `limit` and the result is false.
    pub fn step(&mut self, limit: u64) -> bool {
        let next = self.next_edge();
        if next > limit {
            self.now = self.now.max(limit);
            for device in self.devices.iter_mut().flatten() {
                device.settle(limit);
            }
            self.exchange();
            return false;
        }
        self.now = next;
        for device in self.devices.iter_mut().flatten() {
            device.step(next);
        }
        self.exchange();
        true
    }

    /// The next edge of any clock, whenever it comes; nothing when no card runs.
    pub fn tick(&mut self) {
        let next = self.next_edge();
        if next != u64::MAX {
            self.step(next);
        }
    }

    /// Run to a time.
    pub fn run(&mut self, until: u64) {
        while self.step(until) {}
    }

    /// Packets from card to card.
    fn exchange(&mut self) {
        let Inner { devices, moved, settings, .. } = self;
        for device in devices.iter_mut().flatten() {
            moved.append(&mut device.forwards);
        }
        // Refusals go back the same way; they are not refused themselves.
        while let Some(Forward { target, place, packet }) = if moved.is_empty() { None } else { Some(moved.remove(0)) } {
            let device = devices.get_mut(target).and_then(Option::as_mut);
            let device = device.filter(|device| place.as_ref().is_none_or(|place| place.serial == device.serial));
            let back = match device {
                Some(device) => device.take_from_peer(packet),
                None => Some(packet),
            };
            let Some(packet) = back else { continue };
            match place {
                Some(place) if matches!(packet.head, Head::Posted { .. }) => place.lost.store(true, Ordering::Release),
                _ => moved.extend(refuse(&packet, settings.peer_latency * 1000)),
            }
        }
    }

    /// Edges since anything moved on any link.
    pub fn quiet(&self) -> u64 {
        self.devices.iter().flatten().filter(|device| device.stopped.is_none()).map(|device| device.quiet).min().unwrap_or(u64::MAX)
    }

    fn pumped(&self) -> bool {
        let armed = |device: &Device| device.stopped.is_none() && device.vectors.iter().any(|vector| vector.armed);
        self.devices.iter().flatten().any(|device| armed(device))
    }
}

/// What the cards of a world share.
pub struct Shared {
    /// Held by a thread that waits for the lock, so that the thread which has it cannot take it twice in a row.
    turn: Mutex<()>,
    inner: Mutex<Inner>,
    /// Simulated nanoseconds, for readers of the clock alone.
    pub nanoseconds: AtomicU64,
    pump: Condvar,
}

/// A turn: no other thread moves time.
pub struct Turn<'a> {
    inner: MutexGuard<'a, Inner>,
    shared: &'a Shared,
}

impl std::ops::Deref for Turn<'_> {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl std::ops::DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Inner {
        &mut self.inner
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.shared.nanoseconds.store(self.now / 1000, Ordering::Release);
    }
}

impl Shared {
    /// Wait for a turn.
    pub fn turn(&self) -> Turn<'_> {
        let queue = self.turn.lock();
        let inner = self.inner.lock();
        drop(queue);
        Turn { inner, shared: self }
    }

    /// Something happened that may let an eventfd fire.
    pub fn wake_pump(&self) {
        self.pump.notify_all();
    }

    fn pump(&self) {
        let mut turn = self.turn();
        while !turn.shutdown {
            let rest = match (turn.pumped(), turn.quiet() < PUMP_QUIET) {
                (false, _) => Some(None),
                (true, false) => Some(Some(PUMP_REST)),
                (true, true) => None,
            };
            if turn.pumped() {
                for _ in 0..TURN {
                    turn.tick();
                }
                self.nanoseconds.store(turn.now / 1000, Ordering::Release);
            }
            match rest {
                Some(None) => self.pump.wait(&mut turn.inner),
                Some(Some(time)) => drop(self.pump.wait_for(&mut turn.inner, time)),
                None => {
                    drop(turn);
                    turn = self.turn();
                }
            }
        }
    }
}

/// One clock and one fabric with cards on it.
pub struct World {
    /// What its cards share.
    pub(crate) shared: Arc<Shared>,
    pump: Mutex<Option<JoinHandle<()>>>,
    settings: Arc<Settings>,
}

impl World {
    /// An empty world at time 0.
    pub fn new(settings: Settings) -> Result<Arc<World>, SettingsError> {
        settings.check()?;
        let settings = Arc::new(settings);
        let inner = Inner { now: 0, devices: Vec::new(), settings: settings.clone(), moved: Vec::new(), cards: 0, shutdown: false };
        let shared =
            Arc::new(Shared { turn: Mutex::new(()), inner: Mutex::new(inner), nanoseconds: AtomicU64::new(0), pump: Condvar::new() });
        Ok(Arc::new(World { shared, pump: Mutex::new(None), settings }))
    }

    /// How the host and the links are modelled.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Put a card into this world: load the model, let it come out of reset and look at its discovery table. `trace` is an FST file;
    /// `register_names` are the user core's, for [`towpath_bus::Bus::register_names`].
    pub fn open(
        self: &Arc<Self>,
        name: &str,
        library: &Path,
        trace: Option<&Path>,
        print: PrintSink,
        register_names: Vec<(String, u32)>,
    ) -> Result<Arc<SimBus>, SimError> {
        let model = Model::open(name, library, trace, print)?;
        let mut turn = self.shared.turn();
        let index = turn.devices.iter().position(Option::is_none).unwrap_or(turn.devices.len());
        if index >= CARDS {
            return Err(SimError::Full(CARDS));
        }
        turn.cards += 1;
        let device = Box::new(Device::new(name, model, (index, turn.cards), &self.settings, turn.now));
        if index == turn.devices.len() {
            turn.devices.push(None);
        }
        turn.devices[index] = Some(device);
        drop(turn);
        let bus = Arc::new(SimBus::new(name, self.clone(), index, register_names));
        bus.come_up().map_err(SimError::Bus)?;
        Ok(bus)
    }

    /// Start the thread that moves time for eventfds, if it does not run yet.
    pub(crate) fn start_pump(&self) -> std::io::Result<()> {
        let mut pump = self.pump.lock();
        if pump.is_none() {
            let shared = self.shared.clone();
            *pump = Some(std::thread::Builder::new().name("towpath-pump".into()).spawn(move || shared.pump())?);
        }
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.shared.turn().shutdown = true;
        self.shared.wake_pump();
        if let Some(pump) = self.pump.lock().take() {
            let _ = pump.join();
        }
    }
}
