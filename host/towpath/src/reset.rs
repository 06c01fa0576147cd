// SPDX-License-Identifier: Apache-2.0
//! Plug-in `reset`.

use crate::{Error, Plugin, Result};
use std::fmt;
use std::time::{Duration, Instant};
use towpath_contract as contract;

/// The version of the type that this is written for.
const VERSION: u16 = 1;
/// A register's offset in the plug-in.
const fn at(offset: u64) -> u32 {
    offset as u32
}
const COMMAND: u32 = at(contract::PLUGIN_RESET_COMMAND_OFFSET);
const STATUS: u32 = at(contract::PLUGIN_RESET_STATUS_OFFSET);
const LENGTH: u32 = at(contract::PLUGIN_RESET_LENGTH_OFFSET);
const SEQUENCES: u32 = at(contract::PLUGIN_RESET_SEQUENCES_OFFSET);
const ON_FAULT: u32 = at(contract::PLUGIN_RESET_ON_FAULT_OFFSET);
const START: u32 = contract::PLUGIN_RESET_COMMAND_START_MASK;
const HOLD: u32 = contract::PLUGIN_RESET_COMMAND_HOLD_MASK;
const RELEASE: u32 = contract::PLUGIN_RESET_COMMAND_RELEASE_MASK;
/// A time's bits.
const TIME_MAX: u32 = (1 << 24) - 1;
/// What a sequence may take beside twice the time that its settings ask for.
const MARGIN_NS: u64 = 1_000_000;
/// The longest sleep between two looks.
const LOOK: Duration = Duration::from_millis(1);

/// What a fault of the core does beside being counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFault {
    /// Nothing.
    #[default]
    Count,
    /// A sequence runs. What the core had begun with its channels is cut: the next message may lack its beginning.
    Start,
    /// The core is held in reset until [`Reset::release`], so that its channels can be reset meanwhile.
    Hold,
}

/// What the plug-in does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResetStatus {
    /// A sequence runs, or is held at its start.
    pub is_busy: bool,
    /// It is held, by [`Reset::hold`] or by a fault.
    pub is_held: bool,
    /// The core reports a fault.
    pub is_fault: bool,
    /// Bit k: output k is asserted. Output 0 is the core's own reset.
    pub asserted: u8,
}

/// Resets of the user core, by a plug-in of type `reset`. A reset of the core alone leaves its channels as they are, in the middle of what they carry:
/// [`Reset::while_held`] is the way to reset both.
///
/// ```no_run
/// # fn main() -> towpath::Result<()> {
/// # let device = towpath::Device::open("")?;
/// # let (sender, receiver) = (device.sender("in")?, device.receiver("out")?);
/// let reset = towpath::Reset::new(device.plugin("reset")?)?;
/// reset.while_held(|| {
///     sender.reset()?;
///     receiver.reset()
/// })?; // core and channels begin anew
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Reset {
    plugin: Plugin,
}

impl Reset {
    /// The type in the discovery table.
    pub const TYPE: &'static str = "reset";

    /// Takes a plug-in of this type; [`Error::Invalid`] if it is of another, or of another version.
    pub fn new(plugin: Plugin) -> Result<Reset> {
        plugin.expect(Reset::TYPE, VERSION)?;
        Ok(Reset { plugin })
    }

    /// The plug-in.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Hold the core in reset, reset its channels by `channels`, and release the core: none of them keeps anything of before. The core is released
    /// whatever `channels` returns, and if it panics.
    pub fn while_held<T>(&self, channels: impl FnOnce() -> Result<T>) -> Result<T> {
        /// Releases a core whose program is unwinding.
        struct Held<'a>(&'a Reset);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                let _ = self.0.plugin.write(COMMAND, RELEASE);
            }
        }
        self.hold()?;
        let held = Held(self);
        let done = channels();
        std::mem::forget(held);
        self.release()?;
        done
    }

    /// Run a sequence, and wait for its end. [`Error::Invalid`] while it is held; [`Error::Register`] if it does not end.
    pub fn pulse(&self) -> Result<()> {
        self.plugin.write(COMMAND, START)?;
        self.wait()
    }

    /// Assert all outputs until [`Reset::release`].
    pub fn hold(&self) -> Result<()> {
        self.plugin.write(COMMAND, HOLD)
    }

    /// Run a sequence from its start, if it is held, and wait for its end. Errors as of [`Reset::pulse`].
    pub fn release(&self) -> Result<()> {
        self.plugin.write(COMMAND, RELEASE)?;
        self.wait()
    }

    /// A sequence is over when another has begun, too: a core that reports faults without end may begin one after the other.
    fn wait(&self) -> Result<()> {
        let (device, began) = (self.plugin.device(), Instant::now());
        let (begun, now) = (self.sequences()?, device.now_ns());
        let mut limit = None;
        loop {
            // Looked at before the plug-in is: a thread that has slept through the limit finds a sequence that has ended.
            let late = limit.is_some_and(|limit| device.now_ns() - now > limit);
            let status = self.status()?;
            if !status.is_busy {
                return Ok(());
            }
            if status.is_held {
                return Err(Error::Invalid("the core is held in reset: release it".into()));
            }
            if self.sequences()? != begun {
                return Ok(());
            }
            if late {
                let what = "a sequence of plug-in \"reset\" has not ended in twice its time: reset the card; if that does not help, the core's clock stands";
                return Err(Error::Register { offset: self.plugin.info().offset + STATUS, what: what.into() });
            }
            if limit.is_none() {
                limit = Some(self.longest_ns()?);
            }
            std::thread::sleep((began.elapsed() / 16).min(LOOK));
        }
    }

    /// Twice what a sequence takes by the settings of now, and a margin.
    fn longest_ns(&self) -> Result<u64> {
        let outputs = self.outputs()?.min(contract::PLUGIN_RESET_DELAY_COUNT as u32);
        let delays = (0..outputs).map(|output| self.delay(output)).collect::<Result<Vec<u32>>>()?;
        let clocks = u64::from(self.length()?) + u64::from(delays.into_iter().max().unwrap_or(0));
        let khz = u64::from(crate::clock::slowest_khz(self.plugin.device())?);
        Ok(2 * clocks * 1_000_000 / khz + MARGIN_NS)
    }

    /// What it does now.
    pub fn status(&self) -> Result<ResetStatus> {
        let status = self.plugin.read(STATUS)?;
        let is = |mask: u32| status & mask != 0;
        Ok(ResetStatus {
            is_busy: is(contract::PLUGIN_RESET_STATUS_BUSY_MASK),
            is_held: is(contract::PLUGIN_RESET_STATUS_HELD_MASK),
            is_fault: is(contract::PLUGIN_RESET_STATUS_FAULT_MASK),
            asserted: (status >> contract::PLUGIN_RESET_STATUS_ASSERTED_LSB) as u8,
        })
    }

    /// How many outputs it has.
    pub fn outputs(&self) -> Result<u32> {
        self.plugin.read(at(contract::PLUGIN_RESET_OUTPUTS_OFFSET))
    }

    /// Clocks of the user core's for which a sequence asserts all outputs.
    pub fn length(&self) -> Result<u32> {
        self.plugin.read(LENGTH)
    }

    /// Set [`Reset::length`]: 1 to 2^24 - 1.
    pub fn set_length(&self, clocks: u32) -> Result<()> {
        if clocks == 0 {
            return Err(Error::Invalid("a reset of 0 clocks: make it 1 or more".into()));
        }
        self.plugin.write(LENGTH, time(clocks)?)
    }

    /// Clocks from the end of [`Reset::length`] to the release of an output.
    pub fn delay(&self, output: u32) -> Result<u32> {
        self.plugin.read(self.delay_at(output)?)
    }

    /// Set [`Reset::delay`]: 0 to 2^24 - 1.
    pub fn set_delay(&self, output: u32, clocks: u32) -> Result<()> {
        self.plugin.write(self.delay_at(output)?, time(clocks)?)
    }

    fn delay_at(&self, output: u32) -> Result<u32> {
        let outputs = self.outputs()?;
        if output >= outputs {
            return Err(Error::Invalid(format!("no output {output}: this plug-in has {outputs}, counted from 0")));
        }
        Ok(at(contract::PLUGIN_RESET_DELAY_OFFSET + contract::PLUGIN_RESET_DELAY_STRIDE * u64::from(output)))
    }

    /// What a fault of the core does.
    pub fn on_fault(&self) -> Result<OnFault> {
        let bits = self.plugin.read(ON_FAULT)?;
        Ok(match () {
            () if bits & contract::PLUGIN_RESET_ON_FAULT_HOLD_MASK != 0 => OnFault::Hold,
            () if bits & contract::PLUGIN_RESET_ON_FAULT_START_MASK != 0 => OnFault::Start,
            () => OnFault::Count,
        })
    }

    /// Set [`Reset::on_fault`].
    pub fn set_on_fault(&self, does: OnFault) -> Result<()> {
        let bits = match does {
            OnFault::Count => 0,
            OnFault::Start => contract::PLUGIN_RESET_ON_FAULT_START_MASK,
            OnFault::Hold => contract::PLUGIN_RESET_ON_FAULT_HOLD_MASK,
        };
        self.plugin.write(ON_FAULT, bits)
    }

    /// Sequences since the card's reset, by whatever they were begun, modulo 2^32.
    pub fn sequences(&self) -> Result<u32> {
        self.plugin.read(SEQUENCES)
    }

    /// Faults of the core since the card's reset, modulo 2^32. A core in reset reports none.
    pub fn faults(&self) -> Result<u32> {
        self.plugin.read(at(contract::PLUGIN_RESET_FAULTS_OFFSET))
    }
}

fn time(clocks: u32) -> Result<u32> {
    if clocks > TIME_MAX {
        return Err(Error::Invalid(format!("{clocks} clocks: make it {TIME_MAX} at most")));
    }
    Ok(clocks)
}

impl fmt::Debug for Reset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reset").field("info", self.plugin.info()).finish()
    }
}
