// SPDX-License-Identifier: Apache-2.0
//! Kind `fanout`: one channel for many ports of the core, by a number in each message's user word.

use crate::kind::said;
use crate::{Error, Kind, KindChannels, Message, Receiver, Result, Sender};
use std::collections::VecDeque;

const NAME: &str = "fanout";
const VERSION: u16 = 1;
/// The kind's status for a message to a port that the core does not have.
const NO_PORT: u8 = 1;
/// What [`FanoutReceiver::recv_from`] keeps for other ports, unless it is told otherwise.
const KEPT_MOST: usize = 64 << 20;
/// What a kept message takes beside its bytes: an empty one takes memory, too.
const KEPT_EACH: usize = 64;

/// The way to the card of a channel of kind `fanout`. May be shared between threads: each message goes whole.
///
/// ```no_run
/// # fn main() -> towpath::Result<()> {
/// # let device = towpath::Device::open("sim:exchange")?;
/// let to: towpath::FanoutSender = device.open_kind("data")?;
/// let mut back: towpath::FanoutReceiver = device.open_kind("data")?;
/// to.send(3, b"hello")?;
/// assert_eq!(back.recv()?, (3, b"hello".to_vec()));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct FanoutSender {
    sender: Sender,
}

impl Kind for FanoutSender {
    const NAME: &'static str = NAME;
    const VERSION: u16 = VERSION;

    fn open(channels: &KindChannels<'_>) -> Result<FanoutSender> {
        Ok(FanoutSender { sender: channels.sender()? })
    }
}

impl FanoutSender {
    /// Send a whole message to a port, and wait until it is in the port's FIFO on the card. The channel's messages are taken in their order: one
    /// for which its port has no room keeps those behind it waiting, whatever port they are for. [`Error::Kind`] with number 1: there is no such port.
    ///
    /// A call that has begun on the card and fails before its message has its end (its limit, a signal, a fault in a part) resets the channel.
    /// The reset empties the ports' FIFOs, and the core sees it. A call that fails while it waits for its turn changes nothing.
    pub fn send(&self, port: u32, message: &[u8]) -> Result<()> {
        let sent = self.sender.send_message(message, Message { user: port, ..Message::default() });
        sent.map_err(|error| said(error, NO_PORT, || format!("the core has no port {port}")))
    }

    /// The channel, for transfers in flight and statistics: a message's user word is its port. After one that has failed with a part of a
    /// message, [`Sender::reset`]: what is sent next would be taken for its rest, or for a message to port 0.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
}

/// The way from the card of a channel of kind `fanout`. One thread receives: what comes is in one order for all ports.
#[derive(Debug)]
pub struct FanoutReceiver {
    receiver: Receiver,
    kept: VecDeque<(u32, Vec<u8>)>,
    kept_bytes: usize,
    kept_most: usize,
}

impl Kind for FanoutReceiver {
    const NAME: &'static str = NAME;
    const VERSION: u16 = VERSION;

    fn open(channels: &KindChannels<'_>) -> Result<FanoutReceiver> {
        Ok(FanoutReceiver { receiver: channels.receiver()?, kept: VecDeque::new(), kept_bytes: 0, kept_most: KEPT_MOST })
    }
}

impl FanoutReceiver {
    /// Receive the next message of any port: its port, and its bytes. Messages come in the order in which the card sent them.
    pub fn recv(&mut self) -> Result<(u32, Vec<u8>)> {
        match self.take(0) {
            Some(first) => Ok(first),
            None => self.next(),
        }
    }

    /// Receive the next message of one port. Those of others that come before it are kept in memory for later calls, in their order.
    /// [`Error::Invalid`] if more would be kept than [`FanoutReceiver::set_kept_most`] allows; no message is lost.
    pub fn recv_from(&mut self, port: u32) -> Result<Vec<u8>> {
        if let Some(at) = self.kept.iter().position(|(from, _)| *from == port) {
            return Ok(self.take(at).map(|(_, message)| message).unwrap_or_default());
        }
        loop {
            if self.kept_bytes > self.kept_most {
                let (count, kept, most) = (self.kept.len(), self.kept_bytes, self.kept_most);
                let what = format!(
                    "no message of port {port} has come, and {count} of others are kept, which take {kept} bytes of {most} at most"
                );
                return Err(Error::Invalid(format!("{what}: receive them first, or raise the limit")));
            }
            let (from, message) = self.next()?;
            if from == port {
                return Ok(message);
            }
            self.kept_bytes += message.len() + KEPT_EACH;
            self.kept.push_back((from, message));
        }
    }

    /// Messages of other ports are kept until they take more bytes than this, each its own and 64: 64 MiB, unless it is set.
    pub fn set_kept_most(&mut self, bytes: usize) {
        self.kept_most = bytes;
    }

    /// Empty the channel on both sides: the ports' FIFOs, what is in flight, and what is kept here.
    pub fn reset(&mut self) -> Result<()> {
        self.receiver.reset()?;
        self.kept.clear();
        self.kept_bytes = 0;
        Ok(())
    }

    /// The channel, for its settings and statistics. What is received through it is gone for the calls here.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    fn next(&self) -> Result<(u32, Vec<u8>)> {
        self.receiver.recv_message().map(|(message, received)| (received.user, message))
    }

    fn take(&mut self, at: usize) -> Option<(u32, Vec<u8>)> {
        let taken = self.kept.remove(at)?;
        self.kept_bytes -= taken.1.len() + KEPT_EACH;
        Some(taken)
    }
}
