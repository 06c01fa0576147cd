// SPDX-License-Identifier: Apache-2.0
//! The parts of a longer call: what one descriptor may carry, one after the other. Bytes of a staged buffer move through two blocks of pinned
//! memory: while the card moves one, the GPU's copy of the other goes on.

use crate::channel::Core;
use crate::turn::CallLimit;
use crate::{Access, Buffer, Completion, Device, Direction, Error, GpuMemory, Message, Result};
use std::collections::VecDeque;
use std::sync::Arc;
use towpath_driver::{Channel, Piece};
use towpath_gpu::{Copying, GpuError, Pinned, PINNED_BYTES};

/// What a call has left.
pub(crate) struct Parts<'a> {
    core: &'a Core,
    channel: &'a dyn Channel,
    pieces: VecDeque<Piece<'a>>,
    most: usize,
    staging: Option<Staging>,
}

/// How a part ended, and how many bytes it should have moved.
pub(crate) struct Part {
    pub bytes: u64,
    pub ended: Result<Completion>,
}

impl<'a> Parts<'a> {
    /// Of these pieces, all of one `staged` memory or none; a part has `most` bytes at most.
    pub fn new(core: &'a Core, pieces: VecDeque<Piece<'a>>, most: usize, staged: Option<&Arc<GpuMemory>>) -> Result<Parts<'a>> {
        let staging = staged.map(|memory| Staging::new(&core.device, memory, core.direction)).transpose()?;
        Ok(Parts { core, channel: core.channel()?, pieces, most, staging })
    }

    /// Is nothing left?
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Move the next part. `message` is asked for what its descriptor carries: is it the last one? The rest is as in [`Core::run`].
    ///
    /// # Safety
    /// As [`Core::run`].
    pub unsafe fn run(&mut self, message: impl FnOnce(bool) -> Message, moved: u64, limit: &mut CallLimit<'_>) -> Part {
        let Some(staging) = &mut self.staging else {
            let part = take(&mut self.pieces, self.channel, self.most);
            let bytes = part.iter().map(|piece| piece.bytes as u64).sum();
            // SAFETY: by this function's contract.
            let ended = unsafe { self.core.run(&part, message(self.pieces.is_empty()), moved, limit) };
            return Part { bytes, ended };
        };
        let most = self.channel.descriptor_limit().min(self.most).min(PINNED_BYTES);
        let part = take_one(&mut self.pieces, most);
        let next = self.pieces.front().map(|piece| (place(piece), piece.bytes.min(most)));
        let last = self.pieces.is_empty();
        // SAFETY: by this function's contract; the blocks are the call's own.
        let ended = unsafe { staging.run(self.core, part, next, message(last), moved, limit) };
        Part { bytes: part.1 as u64, ended }
    }

    /// All parts that are to move have moved: wait for the copies that still go on.
    pub fn finish(&mut self) -> Result<()> {
        self.staging.as_mut().map_or(Ok(()), Staging::finish)
    }
}

/// Take from the front what one descriptor of this channel may carry, and no more than `most` bytes; a piece that does not fit is cut.
fn take<'a>(pieces: &mut VecDeque<Piece<'a>>, channel: &dyn Channel, most: usize) -> Vec<Piece<'a>> {
    let limit = channel.piece_limit();
    let mut part = Vec::with_capacity(pieces.len().min(limit));
    let mut room = channel.descriptor_limit().min(most);
    while part.len() < limit {
        let Some(piece) = pieces.pop_front() else { break };
        if piece.bytes > room {
            if room > 0 {
                part.push(Piece { bytes: room, ..piece });
            }
            pieces.push_front(piece.skip(room));
            break;
        }
        room -= piece.bytes;
        part.push(piece);
    }
    part
}

/// Where a piece of a staged buffer begins in its memory.
fn place(piece: &Piece<'_>) -> usize {
    piece.device().map_or(0, |(_, offset)| offset)
}

/// Take from the front up to `most` bytes of one piece of a staged buffer: where they begin, and how many.
fn take_one(pieces: &mut VecDeque<Piece<'_>>, most: usize) -> (usize, usize) {
    let Some(piece) = pieces.pop_front() else { return (0, 0) };
    if piece.bytes > most {
        pieces.push_front(piece.skip(most));
    }
    (place(&piece), piece.bytes.min(most))
}

/// A block of pinned memory, registered with the card.
struct Block {
    pinned: Arc<Pinned>,
    buffer: Buffer,
}

struct Staging {
    /// Of either block: a copy from or to it that goes on, and how many bytes of the call have moved if it fails. Dropped before the blocks,
    /// which waits for it.
    copies: [Option<(Copying, u64)>; 2],
    memory: Arc<GpuMemory>,
    blocks: [Block; 2],
    /// The block of the next part.
    turn: usize,
}

impl Staging {
    fn new(device: &Device, memory: &Arc<GpuMemory>, direction: Direction) -> Result<Staging> {
        let access = if direction == Direction::H2c { Access::Read } else { Access::Write };
        let block = || -> Result<Block> {
            let pinned = Arc::new(memory.pinned()?);
            // SAFETY: the block is the buffer's owner; the calls here keep card and GPU apart.
            let buffer = unsafe { Buffer::from_raw(device, pinned.start(), PINNED_BYTES, access, Box::new(pinned.clone()))? };
            Ok(Block { pinned, buffer })
        };
        Ok(Staging { copies: [None, None], memory: memory.clone(), blocks: [block()?, block()?], turn: 0 })
    }

    /// Move one part, by offset and length. To the card: and begin to copy the next one, if it is known.
    ///
    /// # Safety
    /// As [`Core::run`].
    unsafe fn run(
        &mut self,
        core: &Core,
        (offset, bytes): (usize, usize),
        next: Option<(usize, usize)>,
        message: Message,
        moved: u64,
        limit: &mut CallLimit<'_>,
    ) -> Result<Completion> {
        let (here, other) = (self.turn, 1 - self.turn);
        self.turn = other;
        let to_card = core.direction == Direction::H2c;
        if to_card && self.copies[here].is_none() {
            self.copies[here] = Some((self.read(here, offset, bytes, moved)?, moved));
        }
        self.settle(here)?;
        if let (true, Some((offset, next))) = (to_card, next) {
            self.copies[other] = Some((self.read(other, offset, next, moved)?, moved + bytes as u64));
        }
        let block = &self.blocks[here];
        // SAFETY: the block is this call's own, and no copy uses it now.
        let ended = unsafe { core.run(&[core.piece(&block.buffer, &(0..bytes))?], message, moved, limit) };
        if !to_card {
            let got = match &ended {
                Ok(done) => done.bytes,
                Err(error) => error.bytes().unwrap_or(moved).saturating_sub(moved), // they are valid as well
            };
            if got > 0 {
                // SAFETY: the block is this call's own; what uses it next waits for the copy, as its drop does.
                let copy = unsafe { self.memory.start_write(offset, &block.pinned, got as usize) };
                if copy.is_err() {
                    self.settle(other)?; // fewer bytes are there if that one fails
                }
                self.copies[here] = Some((copy.map_err(counted(moved))?, moved));
            }
            if ended.is_err() {
                self.finish()?; // what the error counts is there
            }
        }
        ended
    }

    /// Begin to copy a part to a block.
    fn read(&self, block: usize, offset: usize, bytes: usize, moved: u64) -> Result<Copying> {
        // SAFETY: the block is this call's own; what uses it next waits for the copy, as its drop does.
        unsafe { self.memory.start_read(offset, &self.blocks[block].pinned, bytes) }.map_err(counted(moved))
    }

    /// Wait for the copy of a block.
    fn settle(&mut self, block: usize) -> Result<()> {
        match self.copies[block].take() {
            Some((copy, moved)) => copy.wait().map_err(counted(moved)),
            None => Ok(()),
        }
    }

    /// Wait for both copies, the older one first.
    fn finish(&mut self) -> Result<()> {
        self.settle(self.turn)?;
        self.settle(1 - self.turn)
    }
}

/// A copy failed when so many bytes of the call had moved.
fn counted(moved: u64) -> impl FnOnce(GpuError) -> Error {
    move |error| Error::from(error).with_bytes(moved)
}
