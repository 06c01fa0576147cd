// SPDX-License-Identifier: Apache-2.0
//! `reset`: the card, or one channel of it, or both of a memory.

use serde_json::json;
use towpath::Error;

use crate::args::{Cli, Reset};
use crate::exit::Result;

pub fn reset(cli: &Cli, what: &Reset) -> Result {
    let device = crate::device::open(cli, &what.core)?.device;
    match &what.channel {
        None => device.reset()?,
        Some(channel) => match device.sender(channel) {
            Ok(sender) => sender.reset()?,
            Err(Error::WrongDirection { .. }) => device.receiver(channel)?.reset()?,
            Err(error) => match device.memory(channel) {
                Ok(memory) => memory.reset()?,
                Err(_) => return Err(error.into()),
            },
        },
    }
    crate::output::answer(cli, &json!({"device": device.info().name, "channel": what.channel}), "")
}
