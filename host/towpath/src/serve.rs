// SPDX-License-Identifier: Apache-2.0
//! A simulated card for other programs: what `towpath sim` runs, and what tests use.

use crate::{open, served, Error, OpenOptions, Result};
use std::path::Path;
use towpath_sim::ServedCard;
use towpath_vfio_user::{Server, Stop};

/// A simulated card behind a socket, by the vfio-user protocol. Programs open it as `vfio-user:PATH`, one at a time; each finds a card that
/// was reset. While it is there, [`crate::list_devices`] tells of it to every program of this user.
pub struct CardServer {
    /// Dropped first, so that nobody is sent to a card that has gone.
    _word: Option<served::Word>,
    server: Server,
    card: ServedCard,
}

impl CardServer {
    /// Build the card and listen at `path`. `device` is the name by which [`crate::Device::open`] would open it here: `sim:CORE` or `sim:FOLDER`, with
    /// settings if wanted. Clients are served once [`CardServer::serve`] runs.
    pub fn bind(device: &str, path: &Path, options: &OpenOptions) -> Result<CardServer> {
        let Some(("sim", rest)) = device.split_once(':') else {
            return Err(Error::UnknownScheme { name: device.into(), schemes: vec!["sim:CORE".into(), "sim:FOLDER".into()] });
        };
        let bus = open::simulated(device, rest, options)?;
        let listening = format!("listening at {}", path.display());
        let server = Server::bind(path)
            .map_err(|why| Error::bus(listening.as_str())(towpath_bus::BusError::System("the socket cannot be made".into(), why)))?;
        let card = ServedCard::new(bus, server.dma()).map_err(Error::bus(listening.as_str()))?;
        let serial = card.serial().map_err(Error::bus(listening.as_str()))?;
        let word =
            served::announce(path, device, serial).inspect_err(|why| log::warn!("others cannot find the card without its name: {why}"));
        Ok(CardServer { _word: word.ok(), server, card })
    }

    /// What ends [`CardServer::serve`], from any thread.
    pub fn stop(&self) -> Stop {
        self.server.stop()
    }

    /// Serve programs, one after the other, until stopped. The error: the card has stopped, or cannot be reset.
    pub fn serve(mut self) -> Result<()> {
        let CardServer { server, card, .. } = &mut self;
        server.serve(card).map_err(|why| Error::bus("serving the card")(towpath_bus::BusError::Stopped(why.to_string())))
    }
}
