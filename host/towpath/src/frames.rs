// SPDX-License-Identifier: Apache-2.0
//! Kind `buffer`: whole frames, which the core looks at and makes in block RAM.

use crate::kind::said;
use crate::{Kind, KindChannels, Message, Receiver, Result, Sender};

const NAME: &str = "buffer";
const VERSION: u16 = 1;
/// The kind's status for a frame that is longer than its half of the buffer.
const TOO_LONG: u8 = 1;

/// The way to the card of a channel of kind `buffer`. May be shared between threads.
///
/// ```no_run
/// # fn main() -> towpath::Result<()> {
/// # let device = towpath::Device::open("sim:normalize")?;
/// let to: towpath::FrameSender = device.open_kind("frames")?;
/// let back: towpath::FrameReceiver = device.open_kind("frames")?;
/// to.send(&[7, 9, 8], 5)?;
/// assert_eq!(back.recv()?, (vec![0, 2, 1], 5));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct FrameSender {
    sender: Sender,
}

impl Kind for FrameSender {
    const NAME: &'static str = NAME;
    const VERSION: u16 = VERSION;

    fn open(channels: &KindChannels<'_>) -> Result<FrameSender> {
        Ok(FrameSender { sender: channels.sender()? })
    }
}

impl FrameSender {
    /// Send a frame with a user word, and wait until it is in the buffer, where the core sees it. [`crate::Error::Kind`] with number 1: it is longer than
    /// the buffer, and the core does not see it. A call that has begun on the card and fails before its end resets the channel, and the buffer is
    /// empty then.
    pub fn send(&self, frame: &[u8], user: u32) -> Result<()> {
        let sent = self.sender.send_message(frame, Message { user, ..Message::default() });
        sent.map_err(|error| said(error, TOO_LONG, || format!("a frame of {} bytes is longer than the core's buffer", frame.len())))
    }

    /// The channel, for transfers in flight and statistics. After one that has failed with a part of a frame: [`Sender::reset`].
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
}

/// The way from the card of a channel of kind `buffer`. May be shared between threads: each call returns a frame.
#[derive(Debug)]
pub struct FrameReceiver {
    receiver: Receiver,
}

impl Kind for FrameReceiver {
    const NAME: &'static str = NAME;
    const VERSION: u16 = VERSION;

    fn open(channels: &KindChannels<'_>) -> Result<FrameReceiver> {
        Ok(FrameReceiver { receiver: channels.receiver()? })
    }
}

impl FrameReceiver {
    /// Receive a frame, with the user word that the core has given it.
    pub fn recv(&self) -> Result<(Vec<u8>, u32)> {
        self.receiver.recv_message().map(|(frame, received)| (frame, received.user))
    }

    /// The channel: a frame is a message.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }
}
