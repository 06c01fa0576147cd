// SPDX-License-Identifier: Apache-2.0
//! Plug-in `clock`.

use crate::{Device, Error, Plugin, Result};
use std::fmt;
use std::time::{Duration, Instant};
use towpath_contract as contract;

/// The version of the type that this is written for.
const VERSION: u16 = 1;
/// A register's offset in the plug-in.
const fn at(offset: u64) -> u32 {
    offset as u32
}
const SELECT: u32 = at(contract::PLUGIN_CLOCK_SELECT_OFFSET);
const COMMAND: u32 = at(contract::PLUGIN_CLOCK_COMMAND_OFFSET);
const STATUS: u32 = at(contract::PLUGIN_CLOCK_STATUS_OFFSET);
const RELEASE: u32 = contract::PLUGIN_CLOCK_COMMAND_RELEASE_MASK;
/// What a switch may take: the card sees within an eighth of a millisecond that an input stands still.
const LIMIT_NS: u64 = 10_000_000;
/// The longest sleep between two looks.
const LOOK: Duration = Duration::from_millis(1);
/// How far a frequency may be from the one that is asked for: one in this.
const NEAR: u32 = 100;

/// What the plug-in does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockStatus {
    /// A switch is under way, or the core has not had enough clocks to leave reset.
    pub is_busy: bool,
    /// The core is held in reset, from a switch on until [`Clock::release`].
    pub is_held: bool,
    /// The input last selected does not run, or has stopped: the core is in reset until another is selected.
    pub is_astray: bool,
    /// The input that is the core's clock.
    pub current: u32,
    /// Bit k: input k runs.
    pub running: u8,
    is_measured: bool,
}

/// A switch between clocks of the user core, by a plug-in of type `clock`. The core is reset by it and its channels are not:
/// [`Clock::while_held`] is the way to reset both.
///
/// ```no_run
/// # fn main() -> towpath::Result<()> {
/// # let device = towpath::Device::open("")?;
/// # let (sender, receiver) = (device.sender("in")?, device.receiver("out")?);
/// let clock = towpath::Clock::new(device.plugin("clock")?)?;
/// println!("{:?} kHz", clock.frequencies_khz()?);
/// clock.while_held(clock.input_of_mhz(125.0)?, || {
///     sender.reset()?;
///     receiver.reset()
/// })?; // core and channels begin anew, at 125 MHz
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Clock {
    plugin: Plugin,
}

impl Clock {
    /// The type in the discovery table.
    pub const TYPE: &'static str = "clock";

    /// Takes a plug-in of this type; [`Error::Invalid`] if it is of another, or of another version.
    pub fn new(plugin: Plugin) -> Result<Clock> {
        plugin.expect(Clock::TYPE, VERSION)?;
        Ok(Clock { plugin })
    }

    /// The plug-in.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// How many inputs it has. The core begins on input 0, and returns there with the card's reset.
    pub fn inputs(&self) -> Result<u32> {
        self.plugin.read(at(contract::PLUGIN_CLOCK_INPUTS_OFFSET))
    }

    /// What it does now.
    pub fn status(&self) -> Result<ClockStatus> {
        let status = self.plugin.read(STATUS)?;
        let is = |mask: u32| status & mask != 0;
        Ok(ClockStatus {
            is_busy: is(contract::PLUGIN_CLOCK_STATUS_BUSY_MASK),
            is_held: is(contract::PLUGIN_CLOCK_STATUS_HELD_MASK),
            is_astray: is(contract::PLUGIN_CLOCK_STATUS_ASTRAY_MASK),
            current: (status & contract::PLUGIN_CLOCK_STATUS_CURRENT_MASK) >> contract::PLUGIN_CLOCK_STATUS_CURRENT_LSB,
            running: ((status & contract::PLUGIN_CLOCK_STATUS_RUNS_MASK) >> contract::PLUGIN_CLOCK_STATUS_RUNS_LSB) as u8,
            is_measured: is(contract::PLUGIN_CLOCK_STATUS_MEASURED_MASK),
        })
    }

    /// The frequency of each input in kilohertz, as the card measures it, in steps of 16; about 0 for one that does not run.
    pub fn frequencies_khz(&self) -> Result<Vec<u32>> {
        self.wait(|status| status.is_measured)?;
        let register = |input: u32| contract::PLUGIN_CLOCK_KHZ_OFFSET + contract::PLUGIN_CLOCK_KHZ_STRIDE * u64::from(input);
        (0..self.inputs()?).map(|input| self.plugin.read(at(register(input)))).collect()
    }

    /// The input that runs at this frequency, within 1 %; [`Error::Invalid`] lists what there is.
    pub fn input_of_mhz(&self, mhz: f64) -> Result<u32> {
        let all = self.frequencies_khz()?;
        let far = |khz: u32| (f64::from(khz) - mhz * 1000.0).abs();
        let near = (0..).zip(&all).filter(|(_, khz)| far(**khz) <= mhz * 1000.0 / f64::from(NEAR));
        near.min_by(|(_, a), (_, b)| far(**a).total_cmp(&far(**b))).map(|(input, _)| input).ok_or_else(|| {
            let listed: Vec<String> = all.iter().map(|khz| format!("{:.1}", f64::from(*khz) / 1000.0)).collect();
            Error::Invalid(format!("no input of plug-in \"clock\" runs at {mhz} MHz; they run at {} MHz", listed.join(", ")))
        })
    }

    /// Switch the core to an input, and reset it by that. Its channels must be between messages: what the core has begun is cut.
    /// [`Error::Invalid`] if there is no such input; [`Error::Register`] if it does not run.
    pub fn select(&self, input: u32) -> Result<()> {
        self.while_held(input, || Ok(()))
    }

    /// Switch the core to an input, reset its channels by `channels` while it is held in reset, and release it: none of them keeps anything of before.
    /// The core is released whatever `channels` returns, and if it panics. Errors as of [`Clock::select`].
    pub fn while_held<T>(&self, input: u32, channels: impl FnOnce() -> Result<T>) -> Result<T> {
        /// Releases a core whose program is unwinding.
        struct Held<'a>(&'a Clock);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                let _ = self.0.plugin.write(COMMAND, RELEASE);
            }
        }
        self.select_and_hold(input)?;
        let held = Held(self);
        let done = channels();
        std::mem::forget(held);
        self.release()?;
        done
    }

    /// Switch the core to an input, and leave it in reset until [`Clock::release`]. Errors as of [`Clock::select`]: what does not run at the
    /// time of the call leaves everything as it is.
    pub fn select_and_hold(&self, input: u32) -> Result<()> {
        let inputs = self.inputs()?;
        if input >= inputs {
            return Err(Error::Invalid(format!("no input {input}: plug-in \"clock\" has {inputs}, counted from 0")));
        }
        self.running(input, self.wait(|status| status.is_measured)?.running >> input & 1 != 0)?;
        self.plugin.write(SELECT, input)?;
        let status = self.wait(|status| !status.is_busy)?;
        self.running(input, !status.is_astray)
    }

    /// Release the core after [`Clock::select_and_hold`].
    pub fn release(&self) -> Result<()> {
        self.plugin.write(COMMAND, RELEASE)?;
        let status = self.wait(|status| !status.is_busy)?;
        self.running(self.plugin.read(SELECT)?, !status.is_astray)
    }

    fn running(&self, input: u32, is: bool) -> Result<()> {
        if is {
            return Ok(());
        }
        let what = format!("input {input} of plug-in \"clock\" does not run: select another; frequencies_khz() tells which do");
        Err(Error::Register { offset: self.plugin.info().offset + STATUS, what })
    }

    fn wait(&self, is_over: impl Fn(&ClockStatus) -> bool) -> Result<ClockStatus> {
        let (device, began) = (self.plugin.device(), Instant::now());
        let now = device.now_ns();
        loop {
            // Looked at before the plug-in is: a thread that has slept through the limit finds a switch that has ended.
            let late = device.now_ns() - now > LIMIT_NS;
            let status = self.status()?;
            if is_over(&status) {
                return Ok(status);
            }
            if late {
                let what = "plug-in \"clock\" has not switched in 10 ms: reset the card; if that does not help, all its inputs stand still";
                return Err(Error::Register { offset: self.plugin.info().offset + STATUS, what: what.into() });
            }
            std::thread::sleep((began.elapsed() / 16).min(LOOK));
        }
    }
}

/// The slowest clock that the user core may have.
pub(crate) fn slowest_khz(device: &Device) -> Result<u32> {
    let own = device.info().user_clock_khz.max(1);
    match device.plugin(Clock::TYPE).and_then(Clock::new) {
        Err(_) => Ok(own),
        Ok(clock) => Ok(clock.frequencies_khz()?.into_iter().filter(|khz| *khz != 0).fold(own, u32::min)),
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("info", self.plugin.info()).finish()
    }
}
