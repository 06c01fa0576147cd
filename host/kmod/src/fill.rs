// SPDX-License-Identifier: Apache-2.0
//! Fill levels: the kernel waits for what the card holds, and stores the nearest level there.

use crate::channel::LinuxChannel;
use crate::driver::Limit;
use crate::sys;
use crate::uapi;
use std::io;
use std::time::Duration;
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::{Error, Held, Result, WaitOptions};
use towpath_system::errno;

impl LinuxChannel {
    pub fn has_levels(&self) -> bool {
        self.device_info().fill_levels
    }

    /// One request: what the card holds, and whether that reaches the level. [`io::ErrorKind::TimedOut`] and
    /// [`io::ErrorKind::Interrupted`] end a wait.
    fn ask_level(&self, flags: u32, bytes: u32, time: Duration) -> Result<io::Result<(Held, bool)>> {
        if !self.has_levels() {
            let why = "this card has no fill levels, or the kernel module is older than it; build the card with core.fill_levels = true";
            return Err(Error::Unavailable(self.doing(why)));
        }
        let mut argument = uapi::FillLevel { flags, level: bytes, timeout_ns: time.as_nanos() as i64, ..Default::default() };
        let asked = sys::ask_once(self.node(), &mut argument);
        Ok(asked.map(|()| (Held::new(argument.bytes, argument.full != 0), argument.reached != 0)))
    }

    /// A request that does not wait.
    pub fn level(&self, flags: u32, bytes: u32) -> Result<(Held, bool)> {
        loop {
            match self.ask_level(flags, bytes, Duration::ZERO)? {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                asked => return asked.map_err(|why| self.refused("reading what the card holds", why)),
            }
        }
    }

    pub fn wait_held(&self, bytes: u32, options: WaitOptions<'_>) -> Result<Held> {
        let limit = Limit::new(options);
        let mut watch = SignalWatch::new(options);
        loop {
            let left = limit.left();
            let mut interrupted = limit.asks();
            match self.ask_level(uapi::LEVEL_WAIT, bytes, left)? {
                Ok((held, _)) => return Ok(held),
                Err(why) => match why.raw_os_error() {
                    Some(errno::ETIMEDOUT) => {}
                    Some(errno::EINTR) => interrupted = true,
                    _ => return Err(self.refused("waiting for a fill level", why)),
                },
            }
            if left.is_zero() {
                return Err(Error::Pending { channel: self.name().into(), after: options.timeout.unwrap_or_default() });
            }
            if interrupted && watch.is_over() {
                return Err(Error::Interrupted { channel: self.name().into(), bytes: 0 });
            }
        }
    }
}
