// SPDX-License-Identifier: Apache-2.0
//! Plug-ins beside the user core, as registers. What those that come with Towpath mean by theirs is in modules of their own.

use crate::channel::ChannelName;
use crate::{Device, Error, PluginInfo, Registers, Result};
use std::fmt;

/// A plug-in of any type. Cheap to clone; may be used from any thread. Its registers are 32 bits each, and each access is atomic.
#[derive(Clone)]
pub struct Plugin {
    registers: Registers,
    info: PluginInfo,
}

impl Plugin {
    pub(crate) fn find(device: &Device, name: &ChannelName) -> Result<Plugin> {
        let plugins = &device.info().plugins;
        let found = match name {
            ChannelName::Index(index) => usize::try_from(*index).ok().and_then(|index| plugins.get(index)),
            ChannelName::Name(name) => {
                let (wanted, number) = name.split_once(':').unwrap_or((name, "0"));
                let mut of_type = plugins.iter().filter(|plugin| plugin.type_name == wanted);
                number.parse().ok().and_then(|number: usize| of_type.nth(number))
            }
        };
        if let Some(info) = found {
            return Ok(Plugin { registers: device.registers(), info: info.clone() });
        }
        let known: Vec<&str> = plugins.iter().map(|plugin| plugin.type_name.as_str()).collect();
        let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        Err(Error::Invalid(format!("no plug-in \"{name}\"; plug-ins of this device: {known}")))
    }

    /// What discovery reports about it.
    pub fn info(&self) -> &PluginInfo {
        &self.info
    }

    pub(crate) fn device(&self) -> &Device {
        &self.registers.device
    }

    /// Read its register at a byte offset. As [`Registers::read`].
    pub fn read(&self, offset: u32) -> Result<u32> {
        self.registers.read(self.place(offset)?)
    }

    /// Write its register at a byte offset. As [`Registers::write`].
    pub fn write(&self, offset: u32, value: u32) -> Result<()> {
        self.registers.write(self.place(offset)?, value)
    }

    /// An error unless it is of this type, and of this version of it. For libraries of plug-ins.
    pub fn expect(&self, type_name: &str, version: u16) -> Result<()> {
        let info = &self.info;
        if info.type_name == type_name && info.version == version {
            return Ok(());
        }
        let is = format!("plug-in {} is of type \"{}\" version {}", info.index, info.type_name, info.version);
        Err(Error::Invalid(format!("{is}; this program knows \"{type_name}\" version {version}")))
    }

    fn place(&self, offset: u32) -> Result<u32> {
        let what = match offset {
            _ if offset % 4 != 0 => "not a multiple of 4; registers are 32 bits wide".to_string(),
            _ if offset >= self.info.bytes => {
                format!("outside the registers of plug-in \"{}\", which end at {:#x}", self.info.type_name, self.info.bytes)
            }
            _ => return Ok(self.info.offset + offset),
        };
        Err(Error::Register { offset, what })
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("info", &self.info).finish()
    }
}
