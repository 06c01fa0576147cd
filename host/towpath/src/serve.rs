// SPDX-License-Identifier: Apache-2.0
//! A simulated card for other programs: what `towpath sim` runs, and what tests use.

use crate::{served, simulated, Error, OpenOptions, Result};
use std::io;
use std::path::Path;
use std::sync::Arc;
use towpath_device_server::{HostMemory, Stop};
use towpath_sim::{ServedCard, SimBus};
use towpath_vfio_user::Server;
use towpath_vhost_user::Server as GuestServer;

/// A simulated card behind a socket, for programs or for a guest's kernel. Serves one client at a time; each client finds a card that was
/// reset.
pub struct CardServer {
    /// Dropped first, so that no client is directed to a card that has gone.
    _word: Option<served::Word>,
    front: Front,
    card: ServedCard,
    bus: Arc<SimBus>,
}

/// Injects faults into a card that is served, from any thread: for tests of programs and kernels.
#[derive(Clone)]
pub struct CardFaults(Arc<SimBus>);

impl CardFaults {
    /// Inject the fault that a line such as `drop 3`, `link` or `down` names; the guide to the simulator lists them.
    pub fn cause(&self, words: &str) -> Result<()> {
        self.0.befall(words).map_err(Error::bus("a fault"))
    }
}

/// The protocol of the server.
enum Front {
    Programs(Server),
    Guests(GuestServer),
}

impl CardServer {
    /// Build the card and listen at `path` by the vfio-user protocol: programs open it as `vfio-user:PATH`. While the server exists,
    /// [`crate::list_devices`] lists it to every program of this user. `device` is the name by which [`crate::Device::open`] would open it
    /// here: `sim:CORE` or `sim:FOLDER`, with settings if needed. Clients are served once [`CardServer::serve`] runs.
    pub fn bind(device: &str, path: &Path, options: &OpenOptions) -> Result<CardServer> {
        let bus = open(device, options)?;
        let server = Server::bind(path).map_err(no_socket(path))?;
        let card = card(&bus, server.dma(), path)?;
        let serial = card.serial().map_err(Error::bus(listening(path).as_str()))?;
        let word =
            served::announce(path, device, serial).inspect_err(|why| log::warn!("others cannot find the card without its name: {why}"));
        Ok(CardServer { _word: word.ok(), front: Front::Programs(server), card, bus })
    }

    /// The same by the vhost-user protocol with the messages of virtio-pcidev: the card is on the PCI bus of a kernel that runs as a
    /// program, User-Mode Linux with `virtio_uml.device=PATH:ID`.
    pub fn bind_vhost_user(device: &str, path: &Path, options: &OpenOptions) -> Result<CardServer> {
        let bus = open(device, options)?;
        let server = GuestServer::bind(path).map_err(no_socket(path))?;
        let card = card(&bus, server.memory(), path)?;
        Ok(CardServer { _word: None, front: Front::Guests(server), card, bus })
    }

    /// Serve a card that can be paired with another one in a virtual machine, which tells a card of its memory alone. So what the card writes to
    /// addresses that were not named to it goes to the machine, too, which decides by its own IOMMU, and answers nothing. The machine cuts such a write
    /// into words of 8 bytes: entries in an inbox are put together again, and data stays cut, so the card's data path has 64 bits (`width=64`), and
    /// messages have whole words. Not by vhost-user, whose clients have no way to take such writes.
    pub fn pair_in_a_machine(&mut self) {
        if let Front::Programs(server) = &self.front {
            server.dma().pass_on_writes();
            self.card.join_entries();
        }
    }

    /// A handle that ends [`CardServer::serve`], from any thread.
    pub fn stop(&self) -> Stop {
        match &self.front {
            Front::Programs(server) => server.stop(),
            Front::Guests(server) => server.stop(),
        }
    }

    /// A handle that injects faults into the card while it is served.
    pub fn faults(&self) -> CardFaults {
        CardFaults(self.bus.clone())
    }

    /// Serve clients, one after the other, until stopped. An error: the card has stopped, or cannot be reset.
    pub fn serve(mut self) -> Result<()> {
        let CardServer { front, card, .. } = &mut self;
        let served = match front {
            Front::Programs(server) => server.serve(card),
            Front::Guests(server) => server.serve(card),
        };
        served.map_err(|why| Error::bus("serving the card")(towpath_bus::BusError::Stopped(why.to_string())))
    }
}

fn open(device: &str, options: &OpenOptions) -> Result<Arc<SimBus>> {
    match device.split_once(':') {
        Some(("sim", rest)) => simulated::open(device, rest, options),
        _ => Err(Error::UnknownScheme { name: device.into(), schemes: vec!["sim:CORE".into(), "sim:FOLDER".into()] }),
    }
}

fn card(bus: &Arc<SimBus>, memory: impl HostMemory + 'static, path: &Path) -> Result<ServedCard> {
    ServedCard::new(bus.clone(), memory).map_err(Error::bus(listening(path).as_str()))
}

fn no_socket(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |why| Error::bus(listening(path).as_str())(towpath_bus::BusError::System("the socket cannot be made".into(), why))
}

fn listening(path: &Path) -> String {
    format!("listening at {}", path.display())
}
