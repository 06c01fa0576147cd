// SPDX-License-Identifier: Apache-2.0
//! virtio-pcidev: a guest's accesses to a PCI device as buffers of a ring, and the device's interrupts the other way.
//!
//! An invalid access has the same result as on a bus: a read returns all ones, a write is lost. So does one by a buffer that is not in the
//! guest's memory (a kernel's own variables, say), which is logged as a warning.

use std::io;
use std::os::unix::net::UnixStream;

use towpath_device_server::{Device, Interrupt, REGION_BAR0, REGION_CONFIG};
use towpath_system::socket;
use zerocopy::IntoBytes;

use crate::layout;
use crate::memory::Memory;
use crate::ring::{gather, scatter, total, Chain};

/// Bytes of a message before its data.
const HEAD: usize = size_of::<layout::Access>();
/// The number of BARs of a device.
const BARS: u8 = 6;
/// Data of one write, at most.
const LONGEST: u64 = 4 << 20;
/// Bytes that a device reads or writes at once, at most.
const CHUNK: usize = 4096;
/// Bytes of an interrupt's message.
pub const INTERRUPT_BYTES: u64 = 20;

const CONFIG_READ: u8 = 1;
const CONFIG_WRITE: u8 = 2;
const BAR_READ: u8 = 3;
const BAR_WRITE: u8 = 4;
const BAR_FILL: u8 = 5;
const MESSAGE_SIGNALLED: u8 = 7;

/// An access, from the head of its message.
#[derive(Clone, Copy, Debug)]
struct Access {
    operation: u8,
    /// None: no message has this region.
    region: Option<u32>,
    bytes: u64,
    offset: u64,
}

impl Access {
    fn parse(head: &[u8; HEAD]) -> Access {
        let layout::Access { operation, bar, bytes, offset, .. } = zerocopy::transmute!(*head);
        let region = match operation {
            CONFIG_READ | CONFIG_WRITE => Some(REGION_CONFIG),
            _ => (bar < BARS).then(|| REGION_BAR0 + u32::from(bar)),
        };
        Access { operation, region, bytes: bytes.get().into(), offset: offset.get() }
    }

    /// The region, if the device has this part of it.
    fn inside(&self, device: &dyn Device, write: bool) -> Option<u32> {
        self.region.filter(|index| {
            let region = device.region(*index);
            region.holds(self.offset, self.bytes) && if write { region.writable } else { region.readable }
        })
    }
}

/// Run the access of a buffer of the guest's on the device. Returns how many bytes were written to the buffer. An error: the guest left
/// meanwhile.
pub fn obey(device: &mut dyn Device, memory: &Memory, chain: &Chain, stream: &UnixStream) -> io::Result<u32> {
    let Some(message) = gather(memory, &chain.readable, HEAD as u64 + LONGEST) else {
        log::warn!("an access is not in the guest's memory: {:x?}", chain.readable);
        return Ok(0);
    };
    let Some((head, data)) = message.split_first_chunk() else {
        log::warn!("an access of {} bytes is no message", message.len());
        return Ok(0);
    };
    let access = Access::parse(head);
    match access.operation {
        CONFIG_READ | BAR_READ => read(device, memory, access, chain, stream),
        CONFIG_WRITE | BAR_WRITE if data.len() as u64 >= access.bytes => {
            write(device, access, stream, |range| data[range].to_vec()).map(|()| 0)
        }
        BAR_FILL if !data.is_empty() => write(device, access, stream, |range| vec![data[0]; range.len()]).map(|()| 0),
        _ => {
            log::warn!("an access that is unknown, or has too little data ({}): {access:x?}", data.len());
            Ok(0)
        }
    }
}

/// A long access takes the device some time: is the client still connected?
fn still_there(stream: &UnixStream) -> io::Result<()> {
    match socket::hung_up(stream) {
        true => Err(io::ErrorKind::UnexpectedEof.into()),
        false => Ok(()),
    }
}

fn read(device: &mut dyn Device, memory: &Memory, access: Access, chain: &Chain, stream: &UnixStream) -> io::Result<u32> {
    let wanted = access.bytes.min(total(&chain.writable)).min(LONGEST);
    let region = access.inside(device, false).filter(|_| wanted == access.bytes);
    if region.is_none() {
        log::debug!("a read of what is not there: {access:x?}");
    }
    let mut done = 0;
    while done < wanted {
        let mut data = [0; CHUNK];
        let data = &mut data[..CHUNK.min((wanted - done) as usize)];
        if region.is_none_or(|region| device.read(region, access.offset + done, data).is_err()) {
            data.fill(0xff);
        }
        if !scatter(memory, &chain.writable, done, data) {
            log::warn!("a read's buffer is not in the guest's memory: {:x?}", chain.writable);
            return Ok(0);
        }
        done += data.len() as u64;
        if done < wanted {
            still_there(stream)?;
        }
    }
    Ok(wanted as u32)
}

fn write(device: &mut dyn Device, access: Access, stream: &UnixStream, data: impl Fn(std::ops::Range<usize>) -> Vec<u8>) -> io::Result<()> {
    let Some(region) = access.inside(device, true) else {
        log::debug!("a write to what is not there: {access:x?}");
        return Ok(());
    };
    let bytes = access.bytes as usize; // a region's part
    for start in (0..bytes).step_by(CHUNK) {
        let range = start..bytes.min(start + CHUNK);
        if start > 0 {
            still_there(stream)?;
        }
        if let Err(errno) = device.write(region, access.offset + start as u64, &data(range)) {
            log::debug!("a write that fails with {errno:?}: {access:x?}");
        }
    }
    Ok(())
}

/// An interrupt's message.
pub fn interrupt(interrupt: Interrupt) -> [u8; INTERRUPT_BYTES as usize] {
    let (bytes, offset) = (size_of_val(&interrupt.data) as u32, interrupt.address);
    let head = layout::Access { operation: MESSAGE_SIGNALLED, bar: 0, reserved: 0.into(), bytes: bytes.into(), offset: offset.into() };
    let mut message = [0; INTERRUPT_BYTES as usize];
    message[..HEAD].copy_from_slice(head.as_bytes());
    message[HEAD..].copy_from_slice(&interrupt.data.to_le_bytes());
    message
}
