// SPDX-License-Identifier: Apache-2.0
//! Fill levels: a wait for what the card holds. The card has one level for each channel, which fires once; so the nearest of those that are
//! waited for stands there, and is stored again before each sleep.

use super::{State, UserChannel};
use towpath_contract as contract;
use towpath_driver::{Direction, Error, Held, Result, WaitOptions};

/// Nothing fires.
const NEVER: u32 = contract::DOORBELL_FILL_ABOVE_MASK;

/// Numbers of bytes that are waited for.
#[derive(Default)]
pub(super) struct Levels {
    /// Of calls that wait.
    waits: Vec<u32>,
    /// Of the last call that did not wait, until it finds that many or is taken back.
    event: Option<u32>,
    /// What stands on the card may fire.
    stored: bool,
}

impl UserChannel {
    fn has_levels(&self) -> Result<()> {
        if self.shared.card.info.fill_levels {
            return Ok(());
        }
        Err(Error::Unavailable(self.doing("this card has no fill levels; build it with core.fill_levels = true")))
    }

    pub(super) fn held(&self) -> Result<Held> {
        self.has_levels()?;
        const DOING: &str = "reading what the card holds";
        let word = self.shared.of_a_card(self.read(contract::CHANNEL_HELD_OFFSET, DOING)?, self.doing(DOING))?;
        Ok(Held::new(word & contract::CHANNEL_HELD_BYTES_MASK, word & contract::CHANNEL_HELD_FULL_MASK != 0))
    }

    /// Store the nearest level, if there is one, or take back what stands on the card.
    pub(super) fn store_level(&self, state: &mut State) -> Result<()> {
        let levels = state.levels.waits.iter().chain(&state.levels.event).copied();
        let word = match self.direction {
            // The card has no fire for 0 bytes or more. Nobody waits for them.
            Direction::C2h => levels.min().map(|bytes| bytes.max(1) | contract::DOORBELL_FILL_ABOVE_MASK),
            Direction::H2c => levels.max(),
        };
        if word.is_none() && !state.levels.stored {
            return Ok(());
        }
        state.levels.stored = word.is_some();
        self.doorbell(contract::DOORBELL_FILL_OFFSET, word.unwrap_or(NEVER), "setting the fill level")
    }

    /// What stands for so many bytes. Of more than C2H holds for certain nobody would be told if the core had no more to send: beside what it holds then
    /// there may be no room for one beat.
    fn level(&self, bytes: u32) -> u32 {
        match self.direction {
            Direction::C2h => bytes.min(self.info().buffer_bytes.saturating_sub(self.shared.card.info.data_bits / 8)),
            Direction::H2c => bytes.min(contract::DOORBELL_FILL_BYTES_MASK),
        }
    }

    fn look_held(&self, bytes: u32) -> Result<Option<Held>> {
        Ok(Some(self.held()?).filter(|held| held.reaches(bytes, self.direction)))
    }

    pub(super) fn wait_held(&self, bytes: u32, options: WaitOptions<'_>) -> Result<Held> {
        let bytes = self.level(bytes);
        if let Some(held) = self.look_held(bytes)? {
            return Ok(held);
        }
        let added = {
            let mut state = self.state.lock();
            state.levels.waits.push(bytes);
            self.store_level(&mut state) // another call may sleep already
        };
        let held = added.and_then(|()| self.wait_until(options, |_| None, |_| self.look_held(bytes)));
        let mut state = self.state.lock();
        if let Some(place) = state.levels.waits.iter().position(|level| *level == bytes) {
            state.levels.waits.swap_remove(place);
        }
        let stored = self.store_level(&mut state);
        held.and_then(|held| stored.map(|()| held))
    }

    pub(super) fn try_wait_held(&self, bytes: u32) -> Result<Option<Held>> {
        self.has_levels()?;
        let bytes = self.level(bytes);
        let mut state = self.state.lock();
        // Looked at behind the store: nothing is missed between the two.
        state.levels.event = Some(bytes);
        self.store_level(&mut state)?;
        let held = self.look_held(bytes)?;
        if held.is_some() {
            state.levels.event = None;
            self.store_level(&mut state)?;
        }
        Ok(held)
    }

    pub(super) fn cancel_wait_held(&self) -> Result<()> {
        let mut state = self.state.lock();
        state.levels.event = None;
        self.store_level(&mut state)
    }
}
