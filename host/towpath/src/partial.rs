// SPDX-License-Identifier: Apache-2.0
//! Plug-in `partial`.

use crate::{Error, Plugin, Result};
use std::fmt;
use std::path::Path;
use std::time::Instant;
use towpath_contract as contract;
use towpath_contract::PartialOutcome;

/// The version of the type that this is written for.
const VERSION: u16 = 1;
/// A register's offset in the plug-in.
const fn at(offset: u64) -> u32 {
    offset as u32
}
const COMMAND: u32 = at(contract::PLUGIN_PARTIAL_COMMAND_OFFSET);
const STATUS: u32 = at(contract::PLUGIN_PARTIAL_STATUS_OFFSET);
const ROOM: u32 = at(contract::PLUGIN_PARTIAL_ROOM_OFFSET);
const DATA: u32 = at(contract::PLUGIN_PARTIAL_DATA_OFFSET);
const CORE_NAME: u32 = at(contract::PLUGIN_PARTIAL_CORE_NAME_OFFSET);
const NAME_BYTES: usize = contract::PLUGIN_PARTIAL_CORE_NAME_COUNT;
const BEGIN: u32 = contract::PLUGIN_PARTIAL_COMMAND_BEGIN_MASK;
const CUT: u32 = contract::PLUGIN_PARTIAL_COMMAND_CUT_MASK;
const END: u32 = contract::PLUGIN_PARTIAL_COMMAND_END_MASK;
const ABORT: u32 = contract::PLUGIN_PARTIAL_COMMAND_ABORT_MASK;
const RELEASE: u32 = contract::PLUGIN_PARTIAL_COMMAND_RELEASE_MASK;
/// How long the configuration port may take for the next dwords, or for its word at the end.
const LIMIT_NS: u64 = 100_000_000;
/// Dwords of a file for a simulated card, at most: as many bits as those of a large device.
const MOST_SIMULATED: u32 = 1 << 24;
/// The longest sleep between two looks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(1);

/// A file for the configuration port: a core, to be loaded into the user core's region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialImage {
    core_name: String,
    words: Vec<u32>,
}

impl PartialImage {
    /// Read a file: one for a simulated card, or a vendor's raw bit file (`.bin`), whose core is then named as the file is, without the extension.
    pub fn read(path: impl AsRef<Path>) -> Result<PartialImage> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| Error::Invalid(format!("{}: {e}", path.display())))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        PartialImage::from_bytes(&name, &bytes).map_err(|e| Error::Invalid(format!("{}: {e}", path.display())))
    }

    /// What a file holds. A file for a simulated card names its core itself; `core_name` is that of others.
    pub fn from_bytes(core_name: &str, bytes: &[u8]) -> Result<PartialImage> {
        let bad = |what: &str| Err(Error::Invalid(what.into()));
        // The head of a `.bit` file: a field of nine bytes, then the design's name. The port takes what follows its head alone.
        if bytes.starts_with(&[0x00, 0x09, 0x0f, 0xf0]) {
            return bad("this is a .bit file, with a head before the bits: give the raw .bin file");
        }
        if bytes.is_empty() || bytes.len() % 4 != 0 {
            return bad("the file is no number of dwords: it is cut, or no file for a configuration port");
        }
        let words: Vec<u32> = bytes.chunks_exact(4).map(|b| b.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))).collect();
        let place = contract::PLUGIN_PARTIAL_IMAGE_CORE_NAME_OFFSET as usize;
        let core_name = match (words[0], bytes.get(place..place + NAME_BYTES)) {
            (contract::PLUGIN_PARTIAL_IMAGE_MAGIC_VALUE, Some(name)) => String::from_utf8_lossy(name).trim_end_matches('\0').to_string(),
            _ => core_name.to_string(),
        };
        if core_name.is_empty() || core_name.len() >= NAME_BYTES {
            return bad(&format!("the core's name \"{}\": make it 1 to {} bytes", core_name.escape_debug(), NAME_BYTES - 1));
        }
        Ok(PartialImage { core_name, words })
    }

    /// Bytes of [`PartialImage::simulated`], which this does not make. [`Error::Invalid`] as there.
    pub fn simulated_bytes(core_name: &str, words: u32) -> Result<u64> {
        if words > MOST_SIMULATED {
            return Err(Error::Invalid(format!("{words} dwords for a simulated card: {MOST_SIMULATED} at most")));
        }
        let empty = PartialImage::with_words(core_name, 0)?;
        Ok(4 * (empty.words.len() as u64 + u64::from(words)))
    }

    /// A file for a simulated card, which loads the core of this name among those that its manifest lists. `words` dwords, at most 2^24, stand for the
    /// bits.
    pub fn simulated(core_name: &str, words: u32) -> Result<PartialImage> {
        PartialImage::simulated_bytes(core_name, words)?;
        PartialImage::with_words(core_name, words)
    }

    fn with_words(core_name: &str, words: u32) -> Result<PartialImage> {
        let mut image = vec![contract::PLUGIN_PARTIAL_IMAGE_MAGIC_VALUE, words];
        let mut name = core_name.as_bytes().to_vec();
        name.resize(NAME_BYTES.max(name.len()), 0);
        image.extend(name.chunks_exact(4).map(|b| b.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))));
        image.extend((0..words).map(|word| word.wrapping_mul(2_654_435_761)));
        image.push(crc32(&image));
        let bytes: Vec<u8> = image.iter().flat_map(|word| word.to_be_bytes()).collect();
        PartialImage::from_bytes(core_name, &bytes)
    }

    /// The core's name.
    pub fn core_name(&self) -> &str {
        &self.core_name
    }

    /// As a file has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }
}

/// Ethernet's CRC-32 of the bytes, each dword's highest first.
fn crc32(words: &[u32]) -> u32 {
    let bytes = words.iter().flat_map(|word| word.to_be_bytes());
    !bytes.fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 }))
}

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartialProgress {
    /// Bytes of the file that have been handed over.
    pub bytes: u64,
    /// Bytes of the file.
    pub total: u64,
}

/// What the plug-in does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartialStatus {
    /// A load is under way.
    pub is_loading: bool,
    /// The region is decoupled, and the core in reset.
    pub is_decoupled: bool,
    /// The region holds a whole core.
    pub is_whole: bool,
    /// A channel is within a message.
    pub is_midway: bool,
    /// What became of the last load; `None`: this library does not know the number.
    pub outcome: Option<PartialOutcome>,
}

/// Loads of other cores into the user core's region, by a plug-in of type `partial`. The channels stay, and so does what discovery reports;
/// [`Partial::core_name`] tells which core it is now.
///
/// ```no_run
/// # fn main() -> towpath::Result<()> {
/// # let device = towpath::Device::open("")?;
/// # let (sender, receiver) = (device.sender("in")?, device.receiver("out")?);
/// let partial = towpath::Partial::new(device.plugin("partial")?)?;
/// let image = towpath::PartialImage::read("sobel.bin")?;
/// partial.load(&image, |_| ())?; // between messages
/// partial.load_cutting(&image, |progress| println!("{} of {}", progress.bytes, progress.total), || {
///     sender.reset()?; // whatever is under way ends
///     receiver.reset()
/// })?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Partial {
    plugin: Plugin,
}

impl Partial {
    /// The type in the discovery table.
    pub const TYPE: &'static str = "partial";

    /// Takes a plug-in of this type; [`Error::Invalid`] if it is of another, or of another version.
    pub fn new(plugin: Plugin) -> Result<Partial> {
        plugin.expect(Partial::TYPE, VERSION)?;
        Ok(Partial { plugin })
    }

    /// The plug-in.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// What it does now.
    pub fn status(&self) -> Result<PartialStatus> {
        let status = self.plugin.read(STATUS)?;
        let is = |mask: u32| status & mask != 0;
        let outcome = (status & contract::PLUGIN_PARTIAL_STATUS_OUTCOME_MASK) >> contract::PLUGIN_PARTIAL_STATUS_OUTCOME_LSB;
        Ok(PartialStatus {
            is_loading: is(contract::PLUGIN_PARTIAL_STATUS_LOADING_MASK),
            is_decoupled: is(contract::PLUGIN_PARTIAL_STATUS_DECOUPLED_MASK),
            is_whole: is(contract::PLUGIN_PARTIAL_STATUS_WHOLE_MASK),
            is_midway: is(contract::PLUGIN_PARTIAL_STATUS_MIDWAY_MASK),
            outcome: PartialOutcome::try_from(outcome as u8).ok(),
        })
    }

    /// The name of the core in the region; `None` while there is no whole one. Programs share it: it is the card's.
    pub fn core_name(&self) -> Result<Option<String>> {
        if !self.status()?.is_whole {
            return Ok(None);
        }
        let mut name = Vec::new();
        for offset in (0..NAME_BYTES as u32).step_by(4) {
            name.extend(self.plugin.read(CORE_NAME + offset)?.to_le_bytes());
        }
        let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_string();
        Ok(Some(if name.is_empty() { self.plugin.device().info().core.clone() } else { name }))
    }

    /// Loads that ended well since the card was configured, modulo 2^32.
    pub fn loads(&self) -> Result<u32> {
        self.plugin.read(at(contract::PLUGIN_PARTIAL_LOADS_OFFSET))
    }

    /// Load a core. [`Error::Invalid`] while a channel is within a message, and the core goes on. What the old core has of whole messages, and has not
    /// answered, is lost with it; what it has not taken goes to the new one. `progress` is called now and then.
    ///
    /// A load that fails ([`Error::Register`], with the reason) leaves the region without a core and its channels without an answer, until another ends well.
    pub fn load(&self, image: &PartialImage, progress: impl FnMut(PartialProgress)) -> Result<()> {
        self.run(image, BEGIN, progress, || Ok(()))
    }

    /// Load a core also while channels are within messages: these are cut. `channels` resets those that are open, when the old core can send nothing more; their
    /// transfers end with [`Error::Reset`]. If it fails, so does the load, and the region is left without a core.
    pub fn load_cutting(
        &self,
        image: &PartialImage,
        progress: impl FnMut(PartialProgress),
        channels: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.run(image, BEGIN | CUT, progress, channels)
    }

    fn run(
        &self,
        image: &PartialImage,
        begin: u32,
        progress: impl FnMut(PartialProgress),
        channels: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        /// Ends the load of a program that gives up, so that the card tells of it.
        struct Begun<'a>(&'a Partial);
        impl Drop for Begun<'_> {
            fn drop(&mut self) {
                let _ = self.0.plugin.write(COMMAND, ABORT);
            }
        }
        self.plugin.write(COMMAND, begin)?;
        self.refused()?;
        let begun = Begun(self);
        channels()?;
        self.feed(image, progress)?;
        self.plugin.write(COMMAND, END)?;
        self.wait(|status| (!status.is_loading).then_some(()))?;
        std::mem::forget(begun);
        self.failure()?;
        self.plugin.write(COMMAND, RELEASE)?;
        self.wait(|status| (!status.is_decoupled).then_some(()))
    }

    /// Write the name and the file, never more than there is room for; until its end, or that of the load.
    fn feed(&self, image: &PartialImage, mut progress: impl FnMut(PartialProgress)) -> Result<()> {
        let mut name = image.core_name.as_bytes().to_vec();
        name.resize(NAME_BYTES, 0);
        for (offset, bytes) in (0..).step_by(4).zip(name.chunks_exact(4)) {
            self.plugin.write(CORE_NAME + offset, bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))?;
        }
        let mut left = image.words.as_slice();
        while !left.is_empty() {
            let room = self.wait(|status| {
                let room = if status.is_loading { self.plugin.read(ROOM) } else { Ok(0) };
                (!status.is_loading || !matches!(room, Ok(0))).then_some(room)
            })??;
            if room == 0 {
                return Ok(()); // it has failed
            }
            let (now, later) = left.split_at(left.len().min(room as usize));
            now.iter().try_for_each(|word| self.plugin.write(DATA, *word))?;
            left = later;
            let bytes = |words: usize| 4 * words as u64;
            progress(PartialProgress { bytes: bytes(image.words.len() - left.len()), total: bytes(image.words.len()) });
        }
        Ok(())
    }

    fn refused(&self) -> Result<()> {
        if self.status()?.outcome != Some(PartialOutcome::Refused) {
            return Ok(());
        }
        let what = "a channel is within a message, and the core goes on: let it end, or load with the channels' reset (load_cutting)";
        Err(Error::Invalid(format!("plug-in \"partial\": {what}")))
    }

    /// What a load that is over has failed by.
    fn failure(&self) -> Result<()> {
        let why = match self.status()?.outcome {
            Some(PartialOutcome::Loaded) => return Ok(()),
            Some(PartialOutcome::Port) => "the configuration port refuses the file: it is corrupt, or for another card",
            Some(PartialOutcome::Overrun) => "data was lost: another program has written to the plug-in meanwhile",
            Some(PartialOutcome::Aborted) => "another program has aborted the load",
            _ => "the card was reset, or another program has begun a load, meanwhile",
        };
        Err(self.error(&format!("{why}; the region holds no core until a load ends well")))
    }

    fn error(&self, what: &str) -> Error {
        Error::Register { offset: self.plugin.info().offset + STATUS, what: format!("plug-in \"partial\": {what}") }
    }

    fn wait<T>(&self, found: impl Fn(&PartialStatus) -> Option<T>) -> Result<T> {
        let (device, began) = (self.plugin.device(), Instant::now());
        let now = device.now_ns();
        loop {
            // Looked at before the plug-in is: a thread that has slept through the limit finds what has ended.
            let late = device.now_ns() - now > LIMIT_NS;
            if let Some(found) = found(&self.status()?) {
                return Ok(found);
            }
            if late {
                return Err(self.error("the configuration port has not answered in 100 ms: the load is aborted; the region holds no core"));
            }
            std::thread::sleep((began.elapsed() / 16).min(LOOK));
        }
    }
}

impl fmt::Debug for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partial").field("info", self.plugin.info()).finish()
    }
}
