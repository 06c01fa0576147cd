// SPDX-License-Identifier: Apache-2.0
//! Kinds of channel: the host's half of one is a type that implements [`Kind`], in a crate of its own or here.
//!
//! The crate knows what the kind's messages and statuses mean; programs open its channels with [`Device::open_kind`]. Nothing in Towpath knows
//! the crate. It need not care for sends that fail in the middle of a message: see [`Sender::send_message`]. docs/guide/channel-kinds.md describes
//! the card's half, and examples/crc32c is a whole one.

use crate::{ChannelInfo, ChannelName, ChannelOptions, Device, Direction, Error, Receiver, Result, Sender};

/// The host's half of a kind of channel.
pub trait Kind: Sized {
    /// The kind's name in the discovery table: `name` in its `kind.toml`.
    const NAME: &'static str;
    /// The version that this code knows: `version` there. Cards with another one are refused.
    const VERSION: u16;

    /// Open the channels of this name that the kind has, one of each direction or only one.
    fn open(channels: &KindChannels<'_>) -> Result<Self>;
}

/// The channels of one name and of one kind, which [`Kind::open`] opens.
#[derive(Debug)]
pub struct KindChannels<'a> {
    device: &'a Device,
    channel: ChannelName,
    kind: (&'static str, u16),
    options: ChannelOptions,
}

impl KindChannels<'_> {
    /// The device.
    pub fn device(&self) -> &Device {
        self.device
    }

    /// What discovery reports about the channel of this direction: `kind_parameter` is the kind's own.
    pub fn info(&self, direction: Direction) -> Result<&ChannelInfo> {
        self.device.find(&self.channel, direction, Some(self.kind))
    }

    /// Open the channel to the card: see [`Device::sender_of_kind`].
    pub fn sender(&self) -> Result<Sender> {
        self.device.sender_of_kind(self.channel.clone(), self.kind, self.options)
    }

    /// Open the channel from the card: see [`Device::receiver_of_kind`].
    pub fn receiver(&self) -> Result<Receiver> {
        self.device.receiver_of_kind(self.channel.clone(), self.kind, self.options)
    }
}

impl Device {
    /// Open a channel, or the two of one name, of a kind that this program's crate `K` knows. [`crate::Error::WrongKind`] if the card has another
    /// kind there, or another version of it.
    pub fn open_kind<K: Kind>(&self, channel: impl Into<ChannelName>) -> Result<K> {
        self.open_kind_with(channel, ChannelOptions::default())
    }

    /// As [`Device::open_kind`], with options.
    pub fn open_kind_with<K: Kind>(&self, channel: impl Into<ChannelName>, options: ChannelOptions) -> Result<K> {
        K::open(&KindChannels { device: self, channel: channel.into(), kind: (K::NAME, K::VERSION), options })
    }
}

/// A status of the kind's own, as the kind says it.
pub(crate) fn said(error: Error, status: u8, text: impl FnOnce() -> String) -> Error {
    match error {
        Error::Kind { channel, kind, number, bytes, .. } if number == status => Error::Kind { channel, kind, number, bytes, what: text() },
        other => other,
    }
}
