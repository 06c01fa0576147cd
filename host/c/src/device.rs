// SPDX-License-Identifier: Apache-2.0
//! Devices: open, close, and what they report about themselves.

use crate::border::{c_text, Failure};
use crate::grows::grows;
use crate::handle::handle;
use crate::say::text_sink;
use crate::{call, towpath_status, towpath_text_callback};
use std::ffi::{c_char, c_void, CString};
use towpath::{Device, Direction, OpenOptions};

/// An open device.
pub struct towpath_device {
    _private: [u8; 0],
}

/// A device, and its names as C strings.
pub(crate) struct DeviceState {
    pub device: Device,
    name: CString,
    core: CString,
    /// Their names, and those of their kinds.
    channels: Vec<(CString, CString)>,
    registers: Vec<CString>,
    /// Their types.
    plugins: Vec<CString>,
}

handle!(towpath_device, 0, DeviceState);

/// Which way a channel carries data.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum towpath_direction {
    /// From the host to the card: such a channel sends.
    TOWPATH_H2C = 0,
    /// From the card to the host: such a channel receives.
    TOWPATH_C2H = 1,
}

/// How to open a device. Set all to zero but `size`, then the members to change: `towpath_open_options options = {.size = sizeof options};`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_open_options {
    /// sizeof this struct.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// Simulation: write waveforms to this file, in the format FST. NULL: none.
    pub trace: *const c_char,
    /// Simulation: receives what the user core prints, line by line. May be called from any thread until the device has closed; it must
    /// return soon, and use no handle of this library. NULL: the lines go to the log.
    pub print: towpath_text_callback,
    /// Passed to `print`.
    pub print_context: *mut c_void,
    /// Simulation: receives a line for each step while a user core is built, which takes a while. Called before towpath_open() returns.
    /// NULL: the lines go to the log.
    pub progress: towpath_text_callback,
    /// Passed to `progress`.
    pub progress_context: *mut c_void,
}
grows!(towpath_open_options, 48);

/// In `towpath_info.features`: towpath_wait_held() and towpath_wait_drained() work.
pub const TOWPATH_FILL_LEVELS: u32 = 1;
/// In `towpath_info.features`: towpath_get_qos() and towpath_set_qos() work.
pub const TOWPATH_QOS: u32 = 2;

/// What a device reports about itself. The texts belong to the device handle, and stay until it is closed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_info {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// The user core's version.
    pub core_version: u32,
    /// The name it was opened by.
    pub name: *const c_char,
    /// The user core's name.
    pub core: *const c_char,
    /// The card's serial number.
    pub serial: u64,
    /// Version of the card's contract: major.
    pub contract_major: u32,
    /// Version of the card's contract: minor.
    pub contract_minor: u32,
    /// Width of the data path, in bits.
    pub data_bits: u32,
    /// Clock of the data path, in kHz.
    pub core_clock_khz: u32,
    /// Clock of the user core, in kHz.
    pub user_clock_khz: u32,
    /// Read requests that can be outstanding.
    pub tags: u32,
    /// Interrupt vectors.
    pub vectors: u32,
    /// User interrupts; they are numbered from 0.
    pub interrupts: u32,
    /// Size of the user core's register window in bytes, 0 if it has none.
    pub register_bytes: u32,
    /// The number of registers with a known name: see towpath_get_register().
    pub registers: u32,
    /// The number of channels: see towpath_get_channel().
    pub channels: u32,
    /// The number of plug-ins beside the user core: see towpath_get_plugin().
    pub plugins: u32,
    /// What it can do that not every card can: TOWPATH_FILL_LEVELS, TOWPATH_QOS.
    pub features: u32,
    /// Zero.
    pub reserved: u32,
}
grows!(towpath_info, 80);

/// What a device reports about one of its channels. The text belongs to the device handle, and stays until it is closed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_channel_info {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// The channel's number.
    pub number: u32,
    /// The user core's name for it.
    pub name: *const c_char,
    /// Which way it carries data: a towpath_direction.
    pub direction: u32,
    /// Transfers that can be in flight; a message's attributes count as one.
    pub queue_depth: u32,
    /// Slots for short messages that travel with their descriptor.
    pub inline_slots: u32,
    /// Bytes that the channel buffers on the card.
    pub buffer_bytes: u32,
    /// What carries its data at the card's end: "stream", "memory" (see towpath_open_memory()), or another kind.
    pub kind: *const c_char,
    /// The version of its kind.
    pub kind_version: u32,
    /// The kind's own number about this channel.
    pub kind_parameter: u32,
}
grows!(towpath_channel_info, 32);

/// What a device reports about one of the plug-ins beside its user core. The text belongs to the device handle, and stays until it is closed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_plugin_info {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// The version of its type.
    pub version: u32,
    /// What it is: "reset", for example.
    pub type_name: *const c_char,
    /// Where its registers begin among those of towpath_read_register().
    pub offset: u32,
    /// Size of its registers.
    pub bytes: u32,
}
grows!(towpath_plugin_info, 24);

/// The card's counters of faults on its link, since it was switched on or its function was reset. Counts stop at 65535.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_link_counters {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// Reads that the host refused.
    pub unsupported_requests: u32,
    /// Reads that the host could not answer.
    pub completer_aborts: u32,
    /// Reads with data marked as corrupt.
    pub poisoned: u32,
    /// Reads that were not answered in time.
    pub timeouts: u32,
    /// Reads answered with a wrong length or byte count.
    pub bad_completions: u32,
    /// Answers that came after the card had given up their read.
    pub late_completions: u32,
    /// Answers to reads that the card had not made.
    pub unexpected_completions: u32,
    /// Times that bus mastering was switched off.
    pub bus_mastering_losses: u32,
    /// Times that the link went down.
    pub link_downs: u32,
    /// Function-level resets.
    pub function_resets: u32,
    /// Tags in quarantine now: the card gave up their reads, and the answers may still come.
    pub quarantined: u32,
}
grows!(towpath_link_counters, 48);

/// Bytes on the wire since the device was opened.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct towpath_wire {
    /// sizeof this struct; set it before the call.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// Payload bytes of the card's memory writes: data, completion entries, interrupts.
    pub card_write_payload: u64,
    /// Bytes towards the host of all packets: payload, header, framing.
    pub to_host: u64,
    /// Payload bytes of answers to the card's reads.
    pub card_read_payload: u64,
    /// Bytes towards the card of all packets.
    pub to_card: u64,
    /// Rate of the link in each direction after coding, in bytes a microsecond.
    pub bytes_per_us: u64,
    /// Largest payload of a write, in bytes.
    pub max_payload: u32,
    /// Payload of a full answer, in bytes.
    pub completion_payload: u32,
    /// Cycles of the core's clock so far.
    pub cycles: u64,
}
grows!(towpath_wire, 64);

/// Open a device by its name: "sim:CORE" or "sim:FOLDER" is the gateware in simulation with that user core, "vfio-user:SOCKET" a card in
/// another process, "vfio:0000:65:00.0" a board by its address on PCI, "/dev/towpath0" one that the kernel module holds; "serial:NUMBER" is
/// the card with that serial number, "#NUMBER" one by its place in towpath_list(). NULL or "" stands for the name in the environment
/// variable TOWPATH_DEVICE, or for the first card in this machine.
///
/// `options` may be NULL. On success `*device` is a handle, which towpath_close() releases; on failure it is left as it was. A simulated
/// core is compiled when it is used for the first time, which takes a while.
///
/// TOWPATH_UNKNOWN_SCHEME, TOWPATH_NO_SUCH_DEVICE: there is nothing of that name; the text lists what there is. TOWPATH_CORE: the simulated
/// core cannot be built; the text is the compiler's, or names the tool or folder that is missing (TOWPATH_HOME names the folder of
/// Towpath's gateware). TOWPATH_NOT_TOWPATH, TOWPATH_VERSION, TOWPATH_DISCOVERY: this library does not support the device.
/// TOWPATH_NOT_READY: driver, IOMMU or permissions prevent the opening of a board; the text has the command that corrects it. TOWPATH_BUS:
/// the way to the device failed.
#[no_mangle]
pub unsafe extern "C" fn towpath_open(
    name: *const c_char,
    options: *const towpath_open_options,
    device: *mut *mut towpath_device,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_open", |c| {
            let device = c.place("device", device)?;
            let name = c.optional_text("name", name)?.unwrap_or_default();
            let mut open = OpenOptions::default();
            if let Some(options) = c.input("options", options)? {
                open.trace = c.optional_text("options.trace", options.trace)?.map(Into::into);
                open.print = text_sink(options.print, options.print_context);
                open.progress = text_sink(options.progress, options.progress_context);
            }
            let opened = Device::open_with(name, &open)?;
            let info = opened.info();
            let state = DeviceState {
                name: c_text(&info.name),
                core: c_text(&info.core),
                channels: info.channels.iter().map(|channel| (c_text(&channel.name), c_text(&channel.kind_name))).collect(),
                registers: info.register_names.iter().map(|(name, _)| c_text(name)).collect(),
                plugins: info.plugins.iter().map(|plugin| c_text(&plugin.type_name)).collect(),
                device: opened,
            };
            c.make(&device, state)
        })
    }
}

/// Release a device handle. NULL is fine, and nothing happens.
///
/// Channels and buffers that were made from it stay usable, and other threads' calls on the handle go on: the device itself closes when the
/// last of them has ended. In a child of fork() nothing happens to the device.
#[no_mangle]
pub unsafe extern "C" fn towpath_close(device: *mut towpath_device) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_close", |c| {
            if device.is_null() || c.handle(device)?.close() {
                return Ok(());
            }
            Err(c.closed::<towpath_device>())
        })
    }
}

/// What the device reports about itself, into `*info`, whose `size` is set.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_info(device: *const towpath_device, info: *mut towpath_info) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_info", |c| {
            let state = c.handle(device)?;
            let said = state.device.info();
            c.output("info", info)?.set(towpath_info {
                size: 0,
                core_version: said.core_version,
                name: state.name.as_ptr(),
                core: state.core.as_ptr(),
                serial: said.serial,
                contract_major: said.version.0.into(),
                contract_minor: said.version.1.into(),
                data_bits: said.data_bits,
                core_clock_khz: said.core_clock_khz,
                user_clock_khz: said.user_clock_khz,
                tags: said.tags.into(),
                vectors: said.vectors.into(),
                interrupts: said.interrupts.into(),
                register_bytes: said.register_bytes,
                registers: state.registers.len() as u32,
                channels: state.channels.len() as u32,
                plugins: state.plugins.len() as u32,
                features: (u32::from(said.fill_levels) * TOWPATH_FILL_LEVELS) | (u32::from(said.qos) * TOWPATH_QOS),
                reserved: 0,
            });
            Ok(())
        })
    }
}

/// What the device reports about the channel at a `position` from 0 to `towpath_info.channels` - 1, into `*info`, whose `size` is set.
/// TOWPATH_INVALID beyond the last one.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_channel(
    device: *const towpath_device,
    position: u32,
    info: *mut towpath_channel_info,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_channel", |c| {
            let state = c.handle(device)?;
            let info = c.output("info", info)?;
            let at = position as usize;
            let (Some(said), Some((name, kind))) = (state.device.info().channels.get(at), state.channels.get(at)) else {
                return Err(c.invalid(format_args!("no channel at position {position}: there are {}", state.channels.len())));
            };
            let direction = match said.direction {
                Direction::H2c => towpath_direction::TOWPATH_H2C,
                Direction::C2h => towpath_direction::TOWPATH_C2H,
            };
            info.set(towpath_channel_info {
                size: 0,
                number: said.index.into(),
                name: name.as_ptr(),
                direction: direction as u32,
                queue_depth: said.queue_depth.into(),
                inline_slots: said.inline_slots.into(),
                buffer_bytes: said.buffer_bytes,
                kind: kind.as_ptr(),
                kind_version: said.kind_version.into(),
                kind_parameter: said.kind_parameter,
            });
            Ok(())
        })
    }
}

/// What the device reports about the plug-in at a `position` from 0 to `towpath_info.plugins` - 1, into `*info`, whose `size` is set.
/// towpath_read_plugin() reads its registers. TOWPATH_INVALID beyond the last one.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_plugin(
    device: *const towpath_device,
    position: u32,
    info: *mut towpath_plugin_info,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_plugin", |c| {
            let state = c.handle(device)?;
            let info = c.output("info", info)?;
            let at = position as usize;
            let (Some(said), Some(type_name)) = (state.device.plugins().get(at), state.plugins.get(at)) else {
                return Err(c.invalid(format_args!("no plug-in at position {position}: there are {}", state.plugins.len())));
            };
            info.set(towpath_plugin_info {
                size: 0,
                version: said.version.into(),
                type_name: type_name.as_ptr(),
                offset: said.offset,
                bytes: said.bytes,
            });
            Ok(())
        })
    }
}

/// The name and the byte offset of the register at a `position` from 0 to `towpath_info.registers` - 1, of the registers with known names.
/// In simulation the names are known. Either of `name` and `offset` may be NULL. `*name` belongs to the device handle, and stays until it
/// is closed. TOWPATH_INVALID beyond the last one.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_register(
    device: *const towpath_device,
    position: u32,
    name: *mut *const c_char,
    offset: *mut u32,
) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_register", |c| {
            let state = c.handle(device)?;
            let (name, offset) = (c.optional_place("name", name)?, c.optional_place("offset", offset)?);
            let at = position as usize;
            let (Some((_, said)), Some(text)) = (state.device.info().register_names.get(at), state.registers.get(at)) else {
                return Err(c.invalid(format_args!("no register at position {position}: {} have names", state.registers.len())));
            };
            name.set(text.as_ptr());
            offset.set(*said);
            Ok(())
        })
    }
}

/// Reset all channels and the user core. Transfers in flight end with TOWPATH_RESET; open channels stay open.
#[no_mangle]
pub unsafe extern "C" fn towpath_reset(device: *mut towpath_device) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe { call("towpath_reset", |c| Ok(c.handle(device)?.device.reset()?)) }
}

/// The card's counters of faults on its link, into `*counters`, whose `size` is set. Each number takes one read of the card. TOWPATH_BUS if
/// it does not answer.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_link_counters(device: *const towpath_device, counters: *mut towpath_link_counters) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_link_counters", |c| {
            let state = c.handle(device)?;
            let counters = c.output("counters", counters)?;
            let counted = state.device.link_counters()?;
            counters.set(towpath_link_counters {
                size: 0,
                unsupported_requests: counted.unsupported_requests,
                completer_aborts: counted.completer_aborts,
                poisoned: counted.poisoned,
                timeouts: counted.timeouts,
                bad_completions: counted.bad_completions,
                late_completions: counted.late_completions,
                unexpected_completions: counted.unexpected_completions,
                bus_mastering_losses: counted.bus_mastering_losses,
                link_downs: counted.link_downs,
                function_resets: counted.function_resets,
                quarantined: counted.quarantined,
            });
            Ok(())
        })
    }
}

/// Bytes on the wire since the device was opened, into `*wire`, whose `size` is set. TOWPATH_UNAVAILABLE where nothing counts them: outside
/// simulation in this process.
#[no_mangle]
pub unsafe extern "C" fn towpath_get_wire(device: *const towpath_device, wire: *mut towpath_wire) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_get_wire", |c| {
            let state = c.handle(device)?;
            let wire = c.output("wire", wire)?;
            let Some(counted) = state.device.wire() else {
                let text = format!("device \"{}\" does not know what is on its wire; sim: devices do", state.device.info().name);
                return Err(Failure::new(towpath_status::TOWPATH_UNAVAILABLE, text));
            };
            wire.set(towpath_wire {
                size: 0,
                reserved: 0,
                card_write_payload: counted.card_write_payload,
                to_host: counted.to_host,
                card_read_payload: counted.card_read_payload,
                to_card: counted.to_card,
                bytes_per_us: counted.bytes_per_us,
                max_payload: counted.max_payload,
                completion_payload: counted.completion_payload,
                cycles: counted.cycles,
            });
            Ok(())
        })
    }
}

/// Nanoseconds since an unspecified moment, into `*nanoseconds`: simulated time, or a monotonic clock. Timeouts count by it.
#[no_mangle]
pub unsafe extern "C" fn towpath_now(device: *const towpath_device, nanoseconds: *mut u64) -> towpath_status {
    // SAFETY: the caller keeps to the header.
    unsafe {
        call("towpath_now", |c| {
            c.place("nanoseconds", nanoseconds)?.set(c.handle(device)?.device.now_ns());
            Ok(())
        })
    }
}
