// SPDX-License-Identifier: Apache-2.0
//! A simulated card for programs in other processes: [`SimBus`] behind a server of any protocol.
//!
//! Interrupts: a program that does not write the card's MSI-X table gets them as events, and the simulator has the card's own table. One
//! that writes the card's table gets them as the messages that the card sends, by the enable bit and the mask that it sets in configuration
//! space.
//!
//! Time: the server's thread moves it, message by message (an access takes as long as in process), and in between for as long as anything
//! moves on the link and for some time after, because a user core may be at work without traffic on the link. Then time goes on slowly, so
//! that nothing is lost. Without a client it stands still.
//!
//! No page is mapped into the program: a store to a doorbell that overwrites one before it would lose a descriptor.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_bus::{Bus, BusError};
use towpath_contract as contract;
use towpath_device_server::{Device, Errno, HostMemory, Interrupt, Pace, Region, REGION_BAR0, REGION_CONFIG};
use towpath_system::errno;

use crate::bus::SimBus;
use crate::config_space::{self, ConfigSpace, Facts};
use crate::messages::Table;

/// Edges between two looks at the messages.
const TURN: u32 = 64;
/// When time goes slowly: how long it stands between turns, and how many edges one has.
const REST: Duration = Duration::from_millis(50);
const SLOW_TURN: u32 = 4096;
/// Bytes of a BAR that are read at once, at most: each word is a round trip over the link.
const READ: usize = 4096;
/// A pairing has two pages in an inbox, of which the second is for entries.
const INBOX_PAGE: u64 = 4096;
/// How long a reset waits for a link that is down, in microseconds of simulated time.
const LINK_WAIT: u32 = 100_000;

/// A simulated card as the server's device.
pub struct ServedCard {
    bus: Arc<SimBus>,
    config: ConfigSpace,
    /// Where in BAR 0 the MSI-X table is.
    table_at: u64,
    /// How many vectors the client has set up.
    enabled: u16,
    /// What the client has written into the MSI-X table, if that is the client's.
    table: Option<Table>,
    /// Quiet edges after which time goes slowly.
    quiet: u64,
    /// When the last turn of slow time ended.
    rests_since: Option<Instant>,
    /// The reason why the card stopped was reported.
    told: bool,
    /// The halves of entries in an inbox come as two messages; the first of one that has come: where, and what.
    joins: bool,
    half: Option<(u64, [u8; 8])>,
}

impl ServedCard {
    /// A card that only the server uses, and the memory of its clients.
    pub fn new(bus: Arc<SimBus>, memory: impl HostMemory + 'static) -> Result<ServedCard, BusError> {
        let page_shift = bus.read32(contract::BAR_DEVICE, contract::DISCOVERY_PAGE_SHIFT_OFFSET & !3)?
            >> (8 * (contract::DISCOVERY_PAGE_SHIFT_OFFSET & 3))
            & 0x1f;
        let page = (contract::PAGE_MSIX << page_shift) as u32;
        let settings = bus.world_share();
        let settings = settings.settings();
        let quiet = settings.quiet;
        let facts = Facts {
            bars: std::array::from_fn(|bar| bus.bar_bytes(bar as u8)),
            vectors: bus.vectors()?,
            table: [page + contract::MSIX_VECTOR_OFFSET as u32, page + contract::MSIX_PENDING_OFFSET as u32],
            link: (settings.generation, settings.lanes),
        };
        bus.set_host_memory(Some(Box::new(memory)))?;
        bus.set_bus_master(false)?;
        Ok(ServedCard {
            bus,
            config: ConfigSpace::new(&facts),
            table_at: facts.table[0].into(),
            enabled: 0,
            table: None,
            quiet,
            rests_since: None,
            told: false,
            joins: false,
            half: None,
        })
    }

    /// Another card's entries come to an inbox in two halves, one right after the other, as of a machine that cuts a card's writes into words. They are
    /// put together again: on a link an entry is one packet. Not for a core with memory in BAR 4.
    pub fn join_entries(&mut self) {
        self.joins = true;
    }

    /// Pass on the half of an entry that waits, before anything else.
    fn pass_half(&mut self) -> Result<(), Errno> {
        let Some((offset, half)) = self.half.take() else { return Ok(()) };
        self.write_bar(contract::BAR_MEMORY, offset, &half).map_err(|error| self.errno(error))
    }

    /// A write to BAR 4, which is a half of an entry or something else.
    fn write_memory(&mut self, offset: u64, from: &[u8]) -> Result<(), Errno> {
        let waited = self.half.take();
        let done = match (waited, <[u8; 8]>::try_from(from)) {
            (Some((first, half)), Ok(other)) if offset == first + 8 => {
                let whole = [half, other].concat();
                self.bus.write_combining(contract::BAR_MEMORY, first, &whole).and_then(|()| self.bus.fence())
            }
            (waited, half) => {
                self.half = waited;
                self.pass_half()?;
                match half {
                    Ok(half) if self.joins && offset % 16 == 0 && offset / INBOX_PAGE % 2 == 1 => {
                        self.half = Some((offset, half));
                        Ok(())
                    }
                    _ => self.write_bar(contract::BAR_MEMORY, offset, from),
                }
            }
        };
        done.map_err(|error| self.errno(error))
    }

    /// The card's serial number.
    pub fn serial(&self) -> Result<u64, BusError> {
        self.bus.read64(contract::BAR_DEVICE, contract::DISCOVERY_SERIAL_OFFSET)
    }

    /// However often the client interrupts the rest: a client that sends many messages, and now and then expects an answer, would wait for
    /// a turn each time.
    fn go_slowly(&mut self) -> Pace {
        let rested = self.rests_since.map_or(REST, |since| since.elapsed());
        if rested < REST {
            return Pace::Later(REST - rested);
        }
        let done = self.bus.run_on(SLOW_TURN);
        self.rests_since = Some(Instant::now());
        match done {
            Ok(_) => Pace::Later(REST),
            Err(_) => Pace::Idle,
        }
    }

    fn errno(&mut self, error: BusError) -> Errno {
        match error {
            BusError::Gone(_) => Errno(errno::ENODEV),
            BusError::Invalid(_) => Errno(errno::EINVAL),
            BusError::Unsupported(_) => Errno(errno::EOPNOTSUPP),
            BusError::System(_, why) => Errno(why.raw_os_error().unwrap_or(errno::EIO)),
            BusError::Stopped(_) => {
                if !std::mem::replace(&mut self.told, true) {
                    log::error!("{error}");
                }
                Errno(errno::EIO)
            }
        }
    }

    fn read_bar(&self, bar: u8, offset: u64, into: &mut [u8]) -> Result<(), BusError> {
        if bar == contract::BAR_MEMORY {
            return self.bus.read_bytes(bar, offset, into);
        }
        if into.len() == 8 && offset % 8 == 0 {
            into.copy_from_slice(&self.bus.read64(bar, offset)?.to_le_bytes());
            return Ok(());
        }
        let mut at = 0;
        while at < into.len() {
            let place = offset + at as u64;
            let lead = (place & 3) as usize;
            let bytes = (4 - lead).min(into.len() - at);
            let word = self.bus.read32(bar, place & !3)?.to_le_bytes();
            into[at..at + bytes].copy_from_slice(&word[lead..lead + bytes]);
            at += bytes;
        }
        Ok(())
    }

    fn write_bar(&self, bar: u8, offset: u64, from: &[u8]) -> Result<(), BusError> {
        match *from {
            [a, b, c, d] if offset % 4 == 0 => self.bus.write32(bar, offset, u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] if offset % 8 == 0 => self.bus.write64(bar, offset, u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => self.bus.write_combining(bar, offset, from).and_then(|()| self.bus.fence()),
        }
    }

    /// A write to BAR 0, which may change where interrupts go. Those that the card sent before to another address still count: a read
    /// pushes them.
    fn write_device(&mut self, offset: u64, from: &[u8]) -> Result<(), BusError> {
        let Some(table) = &mut self.table else { return self.write_bar(contract::BAR_DEVICE, offset, from) };
        let before = table.addresses();
        table.write(offset, from);
        let after = table.addresses();
        if before == after {
            return self.write_bar(contract::BAR_DEVICE, offset, from);
        }
        self.bus.expect_messages([before, after.clone()].concat())?;
        self.write_bar(contract::BAR_DEVICE, offset, from)?;
        self.push()?;
        self.bus.expect_messages(after)
    }

    /// All writes on their way to the card arrive, and all that it sent before.
    fn push(&self) -> Result<(), BusError> {
        self.bus.read32(contract::BAR_DEVICE, contract::DISCOVERY_MAGIC_OFFSET).map(drop)
    }

    /// Apply the bits of configuration space for requests and interrupts.
    fn configure(&mut self) -> Result<(), BusError> {
        if self.table.is_some() {
            let (enabled, masked) = self.config.msix();
            // A write to configuration space does not pass the stores before it, to the table. Over a link that is down there are none.
            let _ = self.push();
            self.bus.set_msix(enabled, masked)?;
        }
        self.bus.set_bus_master(self.config.is_bus_master())
    }

    /// Configuration space lies behind the link, as all of the card.
    fn is_reachable(&self) -> bool {
        self.bus.link_is_up().unwrap_or(false)
    }

    fn reset_card(&mut self) -> Result<(), BusError> {
        self.half = None;
        self.config.reset();
        for _ in 0..LINK_WAIT {
            match (self.bus.link_is_up()?, self.bus.link_returns()?) {
                (true, _) => break,
                (false, true) => self.bus.pass(1000)?,
                (false, false) => return Err(BusError::Gone("the link is down".into())),
            }
        }
        self.bus.set_bus_master(false)?;
        self.bus.reset()?;
        if self.table.is_some() {
            // What stands in the table but the masks outlives a reset; see gateware/control/tp_pages.sv.
            self.bus.set_msix(false, false)?;
        }
        if self.enabled > 0 {
            self.bus.enable_vectors(self.enabled)?;
        }
        Ok(())
    }
}

impl Device for ServedCard {
    fn region(&self, index: u32) -> Region {
        match index {
            REGION_CONFIG => Region { bytes: config_space::BYTES as u64, readable: true, writable: true },
            bar @ REGION_BAR0..=5 => Region { bytes: self.bus.bar_bytes(bar as u8), readable: true, writable: true },
            _ => Region::default(),
        }
    }

    fn vectors(&self) -> u32 {
        self.bus.vectors().unwrap_or(0).into()
    }

    fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        if region == REGION_CONFIG {
            if !self.is_reachable() {
                return Err(Errno(errno::ENODEV));
            }
            self.config.read(offset as usize, into);
            return Ok(());
        }
        if into.len() > READ {
            return Err(Errno(errno::E2BIG));
        }
        self.pass_half()?;
        if self.bus.is_deaf().map_err(|error| self.errno(error))? {
            into.fill(0xff);
            return Ok(());
        }
        let done = self.read_bar(region as u8, offset, into).and_then(|()| match region == REGION_BAR0 + u32::from(contract::BAR_DEVICE) {
            true => self.bus.distort(offset, into),
            false => Ok(()),
        });
        done.map_err(|error| self.errno(error))
    }

    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        if region == REGION_BAR0 + u32::from(contract::BAR_MEMORY) && !self.bus.is_deaf().map_err(|error| self.errno(error))? {
            return self.write_memory(offset, from);
        }
        self.pass_half()?;
        let done = if region == REGION_CONFIG {
            if !self.is_reachable() {
                return Err(Errno(errno::ENODEV));
            }
            match self.config.write(offset as usize, from) {
                true => self.reset_card(),
                false => self.configure(),
            }
        } else if self.bus.is_deaf().map_err(|error| self.errno(error))? {
            Ok(())
        } else if region == REGION_BAR0 + u32::from(contract::BAR_DEVICE) {
            self.write_device(offset, from)
        } else {
            self.write_bar(region as u8, offset, from)
        };
        done.map_err(|error| self.errno(error))
    }

    fn set_events(&mut self, events: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        self.enabled = events.len() as u16;
        self.table = None;
        let done = match self.enabled {
            0 => self.bus.disable_vectors(),
            count => self.bus.enable_vectors(count).and_then(|_| self.bus.set_events(events)),
        };
        done.map_err(|error| self.errno(error))
    }

    fn leave_table(&mut self) -> Result<(), Errno> {
        let vectors = self.bus.leave_table().and_then(|()| self.bus.vectors());
        let vectors = vectors.map_err(|error| self.errno(error))?;
        (self.enabled, self.table) = (0, Some(Table::new(self.table_at, vectors)));
        Ok(())
    }

    fn interrupt(&mut self) -> Option<Interrupt> {
        self.bus.message().ok().flatten()
    }

    fn reset(&mut self) -> Result<(), Errno> {
        self.reset_card().map_err(|error| self.errno(error))
    }

    fn forget_client(&mut self) -> Result<(), Errno> {
        loop {
            let link = self.bus.link_is_up().and_then(|up| match up || self.bus.link_returns()? {
                true => Ok(()),
                // Taken down permanently, but not for the next client.
                false => self.bus.set_link(true),
            });
            link.map_err(|error| self.errno(error))?;
            let quiet = self.set_events(Vec::new()).and_then(|()| self.reset());
            // A fault may have taken the link down again meanwhile, and the reset with it.
            if quiet.is_ok() || self.bus.link_is_up().unwrap_or(true) {
                return quiet;
            }
        }
    }

    fn run(&mut self) -> Pace {
        match self.bus.run_on(TURN) {
            Ok(quiet) if quiet < self.quiet => Pace::Now,
            Ok(_) => self.go_slowly(),
            Err(error) => {
                self.errno(error); // for the log
                Pace::Idle
            }
        }
    }
}
