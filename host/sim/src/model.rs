// SPDX-License-Identifier: Apache-2.0
//! A compiled model of the card: the shared object that `gateware/sim/tp_model.h` describes, and its structures in Rust.
//!
//! The simulator owns time; a [`Model`] only does what one clock edge does. An object is never unloaded once it has been opened.

use std::ffi::{c_char, c_int, c_void, CString};
use std::path::Path;
use std::sync::Arc;

use crate::error::SimError;

/// Version of the interface; another one is refused.
pub const ABI: u32 = 5;
/// User clocks that a model may have.
pub const USER_CLOCKS: usize = 3;
/// Dwords in the widest beat.
pub const LANES: usize = 16;

/// Outbound posted: a beat of a memory write.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Write {
    pub addr: u64,
    pub dwords: u16,
    pub first_be: u8,
    pub last_be: u8,
    pub relaxed: u8,
    pub last: u8,
    pub valid: u8,
    pub tc: u8,
    pub data: [u32; LANES],
}

/// Outbound read request.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Read {
    pub addr: u64,
    pub dwords: u16,
    pub tag: u16,
    pub first_be: u8,
    pub last_be: u8,
    pub relaxed: u8,
    pub valid: u8,
    pub tc: u8,
    pub reserved: [u8; 7],
}

/// Outbound completion: a beat of an answer to a read of the card.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Answer {
    pub requester: u16,
    pub tag: u16,
    pub byte_count: u16,
    pub dwords: u16,
    pub tc: u8,
    pub attr: u8,
    pub lower_addr: u8,
    pub status: u8,
    pub last: u8,
    pub valid: u8,
    pub reserved: [u8; 2],
    pub data: [u32; LANES],
}

/// Inbound completion: a beat of an answer to a read by the card.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Completion {
    pub tag: u16,
    pub dwords: u16,
    pub byte_count: u16,
    pub status: u8,
    pub poisoned: u8,
    pub lower_addr: u8,
    pub last: u8,
    pub valid: u8,
    pub reserved: [u8; 7],
    pub data: [u32; LANES],
}

/// Inbound posted and non-posted: a beat of a write to, or a read of, the card.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Request {
    pub offset: u32,
    pub dwords: u16,
    pub requester: u16,
    pub tag: u16,
    pub bar: u8,
    pub first_be: u8,
    pub last_be: u8,
    pub tc: u8,
    pub attr: u8,
    pub last: u8,
    pub valid: u8,
    pub reserved: [u8; 7],
    pub data: [u32; LANES],
}

/// The configuration space's settings for the core.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Config {
    pub requester: u16,
    pub max_payload: u8,
    pub max_read: u8,
    pub rcb_128: u8,
    pub bus_master: u8,
    pub relaxed: u8,
    pub tags_8bit: u8,
    pub tags_10bit: u8,
    pub completion_timeout: u8,
    pub msix_enable: u8,
    pub msix_mask: u8,
    pub link_up: u8,
    pub active: u8,
    pub function_reset: u8,
    pub transmit_room: u8,
}

/// Everything that goes into the core at an edge.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Input {
    pub config: Config,
    pub reset: u8,
    pub posted_ready: u8,
    pub read_ready: u8,
    pub answer_ready: u8,
    pub reserved: [u8; 4],
    pub completion: Completion,
    pub posted: Request,
    pub nonposted: Request,
}

/// Everything that the core shows after an edge.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Output {
    pub nonposted_credit: u8,
    pub function_reset_done: u8,
    pub hold: u8,
    pub posted_hold: u8,
    pub reserved: [u8; 4],
    pub posted: Write,
    pub read: Read,
    pub answer: Answer,
}

/// A model's information about itself.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Version of this interface.
    pub abi: u32,
    /// Width of the neutral streams in bits.
    pub data_width: u32,
    /// Core clock in kHz.
    pub core_clock_khz: u32,
    /// User clocks in kHz; 0: there is no such clock. Without any the user core runs on the core's.
    pub user_clocks_khz: [u32; USER_CLOCKS],
}

/// The streams at the user core, as they stand before its next edge; a channel's bit is its number in its direction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Beats {
    pub h2c_channels: u64,
    pub h2c_valid: u64,
    pub h2c_ready: u64,
    pub c2h_valid: u64,
    pub c2h_ready: u64,
}

// The compiler of the header lays these out by the same rules; sizes are counted by hand from tp_model.h.
const _: () = {
    assert!(size_of::<Write>() == 80);
    assert!(size_of::<Read>() == 24);
    assert!(size_of::<Answer>() == 80);
    assert!(size_of::<Completion>() == 84);
    assert!(size_of::<Request>() == 88);
    assert!(size_of::<Config>() == 16);
    assert!(size_of::<Input>() == 16 + 8 + 84 + 88 + 88);
    assert!(size_of::<Output>() == 8 + 80 + 24 + 80);
    assert!(size_of::<Info>() == 24);
    assert!(size_of::<Beats>() == 40);
};

/// What kind of text the core printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintKind {
    /// `$display` and its kin.
    Print,
    /// `$finish`.
    Finish,
    /// `$stop`, `$fatal` or a failed assertion.
    Fatal,
    /// The simulator's own warning, such as an access of the card to memory that is not mapped.
    Warning,
}

/// Receives what the core prints. It is called while the simulation is locked, from whatever thread moves time, and must not call the bus.
pub type PrintSink = Arc<dyn Fn(PrintKind, &str) + Send + Sync>;

type PrintCallback = extern "C" fn(*mut c_void, c_int, *const c_char, u64);

/// Where the print callback stores its text, behind a stable address.
struct Printer {
    sink: PrintSink,
    /// The text since the last edge that ended without a stop.
    recent: String,
    stopped: Option<String>,
    /// How to look at what the checker at the core's ports has found.
    seen: String,
}

/// What the checker's reasons begin with: `tp_check_pkg.sv`.
const BREACH: &str = "core port ";

/// How a breach is seen, on the card of this name, whose waveform is written to `trace`.
fn seen(name: &str, trace: Option<&Path>) -> String {
    match trace {
        Some(path) => format!("; see it in {}", path.display()),
        None => {
            let core = name.strip_prefix("sim:").unwrap_or(name);
            let (core, settings) = core.split_once('?').unwrap_or((core, ""));
            let settings = settings.split('&').filter(|setting| !setting.is_empty());
            let settings: String = settings.map(|setting| format!(" --set '{setting}'")).collect();
            format!("; see it: towpath run --core '{core}'{settings} --trace breach.fst -- PROGRAM")
        }
    }
}

extern "C" fn print(context: *mut c_void, kind: c_int, text: *const c_char, length: u64) {
    if context.is_null() || text.is_null() {
        return;
    }
    // Safety: the context is the boxed Printer of the model, which outlives it, and is used only by the thread inside of a model's call.
    let printer = unsafe { &mut *context.cast::<Printer>() };
    // Safety: the model hands over `length` bytes.
    let text = String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length as usize) });
    let kind = match kind {
        0 => PrintKind::Print,
        1 => PrintKind::Finish,
        _ => PrintKind::Fatal,
    };
    if kind == PrintKind::Print {
        printer.recent.push_str(&text);
    } else if printer.stopped.is_none() {
        if text.starts_with(BREACH) {
            let text = format!("{text}{}", printer.seen);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (printer.sink)(kind, &text)));
            printer.stopped = Some(text);
            return;
        }
        let what = if kind == PrintKind::Finish { "$finish" } else { "$stop, $fatal or a failed assertion" };
        let mut why = String::new();
        for part in [printer.recent.trim(), text.trim()] {
            if !part.is_empty() && !why.contains(part) {
                why = if why.is_empty() { part.to_owned() } else { format!("{why}; {part}") };
            }
        }
        printer.stopped = Some(if why.is_empty() { what.to_owned() } else { format!("{what}: {why}") });
    }
    // A panic must not cross into C.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (printer.sink)(kind, &text)));
}

/// One card, with the gateware and the user core that the shared object holds.
pub struct Model {
    instance: *mut c_void,
    core_clock: unsafe extern "C" fn(*mut c_void, u64, *const Input, *mut Output),
    user_clock: unsafe extern "C" fn(*mut c_void, u32, u64),
    beats: unsafe extern "C" fn(*mut c_void, *mut Beats),
    trace: unsafe extern "C" fn(*mut c_void, u64, u64),
    free: unsafe extern "C" fn(*mut c_void),
    printer: *mut Printer,
    info: Info,
}

// Safety: an instance belongs to one thread at a time, which the world's lock sees to.
unsafe impl Send for Model {}

impl Model {
    /// Load the shared object and make one instance for the card `name`, with a trace to an FST file if there is a path.
    pub fn open(name: &str, library: &Path, trace: Option<&Path>, sink: PrintSink) -> Result<Model, SimError> {
        let load = |why: libloading::Error| SimError::Library(library.to_owned(), why.to_string());
        // Safety: the object is one that Towpath compiled; its initialisers are the C++ runtime's.
        let object = unsafe { libloading::Library::new(library) }.map_err(load)?;
        // It stays loaded: C++ objects with thread-local destructors cannot be unloaded safely.
        let object = std::mem::ManuallyDrop::new(object);
        macro_rules! function {
            ($name:literal, $kind:ty) => {
                // Safety: the types are those of tp_model.h.
                *unsafe { object.get::<$kind>($name) }.map_err(load)?
            };
        }
        let get_info = function!(b"tp_model_info\0", unsafe extern "C" fn(*mut Info));
        let new = function!(b"tp_model_new\0", unsafe extern "C" fn(*const c_char, PrintCallback, *mut c_void) -> *mut c_void);
        let free = function!(b"tp_model_free\0", unsafe extern "C" fn(*mut c_void));
        let core_clock = function!(b"tp_model_core_clock\0", unsafe extern "C" fn(*mut c_void, u64, *const Input, *mut Output));
        let user_clock = function!(b"tp_model_user_clock\0", unsafe extern "C" fn(*mut c_void, u32, u64));
        let mut info = Info::default();
        // Safety: as declared in tp_model.h.
        unsafe { get_info(&mut info) };
        if info.abi != ABI {
            return Err(SimError::Abi { library: library.to_owned(), found: info.abi });
        }
        // After the version: an older object does not have it.
        let beats = function!(b"tp_model_beats\0", unsafe extern "C" fn(*mut c_void, *mut Beats));
        let window = function!(b"tp_model_trace\0", unsafe extern "C" fn(*mut c_void, u64, u64));
        let width = info.data_width;
        if ![64, 128, 256, 512].contains(&width) || info.core_clock_khz == 0 {
            let why = format!("it says data width {width} and core clock {} kHz", info.core_clock_khz);
            return Err(SimError::Library(library.to_owned(), why));
        }
        let path = match trace {
            None => None,
            Some(path) => Some(
                CString::new(path.as_os_str().as_encoded_bytes())
                    .map_err(|_| SimError::Trace(path.to_owned(), "the name contains a zero byte".into()))?,
            ),
        };
        let printer = Box::into_raw(Box::new(Printer { sink, recent: String::new(), stopped: None, seen: seen(name, trace) }));
        // Safety: as declared in tp_model.h; the printer lives until after tp_model_free.
        let instance = unsafe { new(path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr()), print, printer.cast()) };
        if instance.is_null() {
            // Safety: made by Box::into_raw above, and nothing else has it.
            let printer = unsafe { Box::from_raw(printer) };
            let said = printer.recent.trim().to_owned();
            let why = printer.stopped.clone().unwrap_or(if said.is_empty() { "the model gave no reason".into() } else { said });
            return Err(match trace {
                Some(path) => SimError::Trace(path.to_owned(), why),
                None => SimError::Library(library.to_owned(), why),
            });
        }
        Ok(Model { instance, core_clock, user_clock, beats, trace: window, free, printer, info })
    }

    /// The model's information about itself.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// One rising edge of the core's clock. Returns why the core stopped, if it did.
    pub fn core_clock(&mut self, picoseconds: u64, input: &Input, output: &mut Output) -> Option<String> {
        // Safety: as declared in tp_model.h; the instance is alive.
        unsafe { (self.core_clock)(self.instance, picoseconds, input, output) };
        self.stopped()
    }

    /// One rising edge of a user clock, by its number. Returns why the core stopped, if it did.
    pub fn user_clock(&mut self, index: u32, picoseconds: u64) -> Option<String> {
        // Safety: as declared in tp_model.h; the instance is alive.
        unsafe { (self.user_clock)(self.instance, index, picoseconds) };
        self.stopped()
    }

    /// The streams at the user core before its next edge.
    pub fn beats(&self) -> Beats {
        let mut beats = Beats::default();
        // Safety: as declared in tp_model.h; the instance is alive.
        unsafe { (self.beats)(self.instance, &mut beats) };
        beats
    }

    /// Waveforms hold what happens between these times, in picoseconds.
    pub fn trace(&mut self, from: u64, to: u64) {
        // Safety: as declared in tp_model.h; the instance is alive.
        unsafe { (self.trace)(self.instance, from, to) };
    }

    /// Pass a warning to the sink of the core's text.
    pub fn warn(&self, text: &str) {
        // Safety: the printer lives as long as the model; no call of the model is under way.
        let sink = unsafe { &(*self.printer).sink };
        sink(PrintKind::Warning, text);
    }

    fn stopped(&mut self) -> Option<String> {
        // Safety: the printer lives as long as the model; no call of the model is under way.
        let printer = unsafe { &mut *self.printer };
        if !printer.recent.is_empty() {
            printer.recent.clear();
        }
        printer.stopped.take()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // Safety: made in `open`; the model may print for the last time in tp_model_free, so the printer goes after it.
        unsafe {
            (self.free)(self.instance);
            drop(Box::from_raw(self.printer));
        }
    }
}
