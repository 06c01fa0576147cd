// SPDX-License-Identifier: Apache-2.0
//! A channel as one end of a pair with a stream of another card. While it is one, nothing is posted here, and its ring stays as it is.

use super::{State, UserChannel};
use crate::DEVICE;
use towpath_bus::BusError;
use towpath_contract as contract;
use towpath_driver::{Access, Direction, Error, PeerEnd, PeerPlace, PeerState, Result, Status, INBOX_PAIRINGS, INBOX_WINDOW};

/// What stands for it while it is paired.
pub(super) struct Paired {
    /// Where the card reaches the other end, mapped for this.
    address: u64,
    bytes: usize,
    /// Of the register, without `posting`.
    control: u32,
}

/// Whether a pair may begin: whether a message is open, as far as the last completion tells that was no usual one, and the card is as it is taken for.
#[derive(Default)]
pub(super) struct Opening {
    /// Descriptors that had ended then.
    ends: u64,
    open: bool,
    /// Taking a pair apart has failed, and no reset has ended since.
    pub torn_off: bool,
}

impl Opening {
    pub fn note(&mut self, ends: u64, open: bool) {
        (self.ends, self.open) = (ends, open);
    }
}

impl UserChannel {
    /// Is a message open, of which the host has moved a part?
    fn is_open(&self, state: &State) -> bool {
        if state.opening.ends == state.records.ends() {
            return state.opening.open;
        }
        // The last one was done, with all its bytes.
        state.records.last_ended().is_some_and(|record| match self.direction {
            Direction::H2c => !record.held.ends_message(),
            Direction::C2h => record.bytes > 0,
        })
    }

    /// Will it be, behind a completion of the oldest descriptor?
    pub(super) fn leaves_open(&self, state: &State, status: Status, bytes: u64) -> bool {
        match (status, self.direction) {
            (Status::Done, Direction::H2c) => state.records.oldest().is_some_and(|(_, record)| !record.held.ends_message()),
            (Status::Done | Status::Cancelled, _) => bytes > 0 || self.is_open(state),
            _ => false,
        }
    }

    fn is_not_paired(&self, state: &State) -> Result<()> {
        if state.paired.is_some() {
            return Err(Error::Paired { channel: self.name().into() });
        }
        Ok(())
    }

    /// Does it move anything of the host's?
    pub(super) fn is_the_hosts(&self, state: &State) -> Result<()> {
        self.is_not_paired(state)?;
        let info = self.info();
        if info.is_for_peers_alone() {
            let remedy = "it carries nothing of the host's: pair it with a stream of another card (`connect`)".into();
            return Err(Error::WrongKind { channel: info.name.clone(), kind: info.kind_text(), remedy });
        }
        Ok(())
    }

    /// Is nothing posted there, for whatever reason but a fault?
    pub(super) fn posts_nothing(&self, state: &State) -> bool {
        state.paired.is_some() || self.info().is_for_peers_alone()
    }

    fn control(&self, value: u32, doing: &str) -> Result<()> {
        self.write(contract::CHANNEL_PEER_CONTROL_OFFSET, value, doing)
    }

    /// What can be a pair's end now?
    fn may_be_taken(&self, state: &State) -> Result<()> {
        self.is_not_paired(state)?;
        let what = if state.opening.torn_off || (state.lost && !self.posts_nothing(state)) {
            "its state is unknown, because a post, a reset or the end of a pair failed: reset it first"
        } else if !state.records.is_idle() || state.cancelling.is_some() {
            "transfers are in flight: wait for them, or cancel them, before it is paired"
        } else if self.is_open(state) {
            match self.direction {
                Direction::H2c => "a message is open: send its end before it is paired, or reset the channel",
                Direction::C2h => "a part of a message has been received: receive its end before it is paired, or reset the channel",
            }
        } else {
            return Ok(());
        };
        Err(Error::Invalid(self.doing(what)))
    }

    /// Not paired any more, whatever the card says.
    pub(super) fn forget_peer(&self, state: &mut State) {
        if let Some(Paired { address, bytes, .. }) = state.paired.take() {
            if let Err(error) = self.bus.unmap(address, bytes) {
                log::error!("{}", self.doing(&format!("the other card of its pair stays within the card's reach: {error}")));
            }
        }
    }

    /// The card knows of no pair any more; false: the channel has to be reset.
    fn unpair(&self, state: &mut State) -> Result<bool> {
        const DOING: &str = "taking a pair apart";
        self.control(0, DOING)?;
        // Behind this read nothing of the pair leaves the card. Each slot was a descriptor, with a position.
        let slots = PeerEnd::state(self)?.slots();
        if self.direction == Direction::C2h {
            state.batch.skip(slots);
        }
        let status = self.read(contract::CHANNEL_STATUS_OFFSET, DOING)?;
        let status = self.shared.of_a_card(status, self.doing(DOING))?;
        let all = contract::CHANNEL_STATUS_RUNNING_MASK | contract::CHANNEL_STATUS_ERROR_MASK | contract::CHANNEL_STATUS_RESETTING_MASK;
        Ok(status & all == contract::CHANNEL_STATUS_RUNNING_MASK)
    }

    /// Starts that were told of before are no longer the host's: the peer is told of them anew.
    fn forget_starts(&self, state: &mut State) {
        self.reap(state);
        state.starts.clear();
    }
}

impl PeerEnd for UserChannel {
    fn place(&self, key: u8) -> Result<PeerPlace> {
        let info = self.info();
        let able = match self.direction {
            Direction::H2c => {
                let pages = u64::from(key) % INBOX_PAIRINGS * INBOX_WINDOW;
                info.inbox_bytes().and(info.window).map(|start| (contract::BAR_MEMORY, start + pages, INBOX_WINDOW, 0))
            }
            Direction::C2h => info
                .sends_to_peers()
                .then(|| (contract::BAR_DEVICE, self.doorbells, 1 << self.shared.card.page_shift, contract::DOORBELL_CREDIT_OFFSET)),
        };
        let Some((bar, start, bytes, offset)) = able else {
            let how =
                "it cannot be paired with a stream of another card; give it `peer = true` in the core's manifest, and build the card again";
            return Err(Error::Unavailable(self.doing(how)));
        };
        let part = self.bus.share_bar(bar, start, bytes).map_err(|error| self.no_way(error))?;
        Ok(PeerPlace { part, bytes: bytes as usize, offset })
    }

    fn take(&self, other: &PeerPlace) -> Result<()> {
        let mut state = self.state.lock();
        self.look_after(&mut state);
        self.may_be_taken(&state)?;
        let memory = other.memory();
        let address = self.bus.map_device(&memory, Access::Write).map_err(|error| self.no_way(error))?;
        let paired = Paired { address, bytes: memory.bytes(), control: 0 };
        let base = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_PEER_BASE_OFFSET;
        let told = self.bus.write64(DEVICE, base, address + other.offset);
        (state.paired, state.lost) = (Some(paired), true);
        if let Err(error) = told {
            self.forget_peer(&mut state);
            state.lost = self.posts_nothing(&state);
            return Err(Error::bus(self.doing("telling the card of its peer"))(error));
        }
        Ok(())
    }

    fn begin(&self, slot_log2: u8, key: u8) -> Result<()> {
        const DOING: &str = "pairing the channel";
        let mut state = self.state.lock();
        let control = contract::CHANNEL_PEER_CONTROL_PAIRED_MASK
            | u32::from(slot_log2) << contract::CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB
            | u32::from(key) << contract::CHANNEL_PEER_CONTROL_KEY_LSB;
        if let Some(paired) = &mut state.paired {
            paired.control = control;
        }
        let posting = if self.direction == Direction::C2h { contract::CHANNEL_PEER_CONTROL_POSTING_MASK } else { 0 };
        self.control(control | posting, DOING)?;
        // Entries that the card has written before are in the ring when this is answered.
        self.read(contract::CHANNEL_PEER_CONTROL_OFFSET, DOING)?;
        self.forget_starts(&mut state);
        Ok(())
    }

    fn stop(&self) -> Result<u16> {
        const DOING: &str = "stopping what the channel sends to its peer";
        let state = self.state.lock();
        let Some(paired) = &state.paired else { return Ok(0) };
        // A channel that was reset is not to be paired by this.
        if PeerEnd::state(self)?.is_paired((paired.control >> contract::CHANNEL_PEER_CONTROL_KEY_LSB) as u8) {
            self.control(paired.control, DOING)?;
        }
        let sent = PeerEnd::state(self)?.slots();
        self.doorbell(contract::DOORBELL_CANCEL_OFFSET, 1, DOING)?;
        Ok(sent)
    }

    fn state(&self) -> Result<PeerState> {
        const DOING: &str = "looking at a pair";
        let at = self.page(contract::PAGE_CHANNEL_PRIVILEGED) + contract::CHANNEL_PEER_CONTROL_OFFSET;
        let word = self.bus.read64(DEVICE, at).map_err(|error| Error::bus(self.doing(DOING))(error))?;
        self.shared.of_a_card(word as u32, self.doing(DOING))?;
        Ok(PeerState::new(word))
    }

    fn release(&self, reset: bool) -> Result<()> {
        let mut state = self.state.lock();
        if state.paired.is_none() {
            return Ok(());
        }
        let well = if reset { Ok(false) } else { self.unpair(&mut state) };
        let released = match well {
            Ok(true) => {
                self.reap(&mut state);
                Ok(())
            }
            Ok(false) => self.reset_locked(&mut state),
            Err(error) => Err(error),
        };
        self.forget_peer(&mut state);
        state.opening.torn_off = released.is_err();
        state.lost = released.is_err() || self.posts_nothing(&state);
        released
    }
}

impl UserChannel {
    /// The other card is out of reach, or this one is.
    fn no_way(&self, error: BusError) -> Error {
        match error {
            BusError::Unsupported(why) => Error::no_way_to_a_peer(self.bus.name(), &why),
            error => Error::bus(self.doing("letting one card reach another"))(error),
        }
    }
}
