// SPDX-License-Identifier: Apache-2.0
//! Messages that carry a CRC-32C of themselves, checked by the card on the way there and by this crate on the way back.
//!
//! ```no_run
//! # fn main() -> towpath::Result<()> {
//! let device = towpath::Device::open("sim:examples/crc32c")?;
//! let checked: towpath_crc32c::Checked = device.open_kind("data")?;
//! checked.send(b"hello")?;
//! assert_eq!(checked.recv()?, b"hello");
//! # Ok(())
//! # }
//! ```
//! Not for long messages on a fast link: the checksum is worked out bit by bit here, and each message is copied once.

use towpath::{Error, Kind, KindChannels, Receiver, Result, Sender};

/// What the card answers to a message whose checksum is wrong.
const WRONG: u8 = 1;

/// The two channels of one name. May be shared between threads.
#[derive(Debug)]
pub struct Checked {
    sender: Sender,
    receiver: Receiver,
}

impl Kind for Checked {
    const NAME: &'static str = "crc32c";
    const VERSION: u16 = 1;

    fn open(channels: &KindChannels<'_>) -> Result<Checked> {
        Ok(Checked { sender: channels.sender()?, receiver: channels.receiver()? })
    }
}

impl Checked {
    /// Send a message with its checksum. [`Error::Kind`] with number 1: it came to the card damaged.
    pub fn send(&self, message: &[u8]) -> Result<()> {
        self.send_framed(&framed(message))
    }

    /// Send a message that has a checksum already, right or wrong.
    pub fn send_framed(&self, message: &[u8]) -> Result<()> {
        self.sender.send(message).map_err(|error| match error {
            Error::Kind { channel, kind, number: WRONG, bytes, .. } => {
                let what = "the message came to the card damaged: its CRC-32C is wrong; send it again".into();
                Error::Kind { channel, kind, number: WRONG, bytes, what }
            }
            other => other,
        })
    }

    /// The channel to the card, for its limit and statistics.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Receive a message, whose checksum is right, without it. [`Error::Protocol`]: it came damaged, and is lost.
    pub fn recv(&self) -> Result<Vec<u8>> {
        let mut message = self.receiver.recv()?;
        let plain = message.len().saturating_sub(4);
        if message.len() < 4 || crc32c(&message[..plain]) != message[plain..] {
            let what = format!("a message of {plain} bytes came damaged: its CRC-32C is wrong");
            return Err(Error::Protocol { channel: self.receiver.name().into(), what, bytes: None });
        }
        message.truncate(plain);
        Ok(message)
    }
}

/// The CRC-32C of some bytes, as it stands behind them: the lowest byte first.
pub fn crc32c(data: &[u8]) -> [u8; 4] {
    let step = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0x82f6_3b78 } else { c >> 1 });
    (!data.iter().fold(!0, step)).to_le_bytes()
}

/// The message with its CRC-32C behind it.
pub fn framed(message: &[u8]) -> Vec<u8> {
    [message, &crc32c(message)].concat()
}
