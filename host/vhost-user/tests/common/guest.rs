// SPDX-License-Identifier: Apache-2.0
//! A guest's side of the protocol, written from the specifications of vhost-user and virtio 1.1, and the kernel's header of virtio-pcidev.
#![allow(dead_code)] // each test program uses a part of it
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use towpath_system::{file, socket, Mapping, Rights};

pub fn memory_file(bytes: u64) -> OwnedFd {
    file::memory_file("memory", bytes, false).unwrap()
}

/// Where the guest's memory is for the card, where in its own address space, and how much there is: two regions, of which the second follows on the first.
pub const GUEST: u64 = 0x40_0000;
pub const USER: u64 = 0x7f00_0000_0000;
pub const MEMORY: u64 = 1 << 20;
const HALF: u64 = MEMORY / 2;
/// The guest's own use of it: two rings, each with a page for its buffers behind it, and what is free.
const RINGS: [u64; 2] = [0x1000, 0x9000];
pub const FREE: u64 = 0x2_0000;

/// The guest's side of one ring. A slot for each descriptor: who needs several takes neighbours.
pub struct Ring {
    pub size: u16,
    at: u64,
    pub available: u16,
    pub seen: u16,
}

impl Ring {
    pub fn descriptor(&self, index: u16) -> u64 {
        self.at + 16 * u64::from(index)
    }

    pub fn available(&self) -> u64 {
        self.at + 0x1000
    }

    pub fn used(&self) -> u64 {
        self.at + 0x2000
    }

    pub fn buffers(&self) -> u64 {
        self.at + 0x4000
    }
}

/// A guest: memory, two rings, and the connection.
pub struct Guest {
    pub stream: UnixStream,
    pub memory: Mapping,
    pub files: [OwnedFd; 2],
    pub rings: [Ring; 2],
    /// The channel back: the end that we read, and a copy of the one that the server writes.
    pub back: File,
    pub back_writer: File,
}

/// A message of the protocol.
pub fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    [&request.to_le_bytes()[..], &flags.to_le_bytes(), &(payload.len() as u32).to_le_bytes(), payload].concat()
}

pub fn longs(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

impl Guest {
    /// A guest that has said nothing yet.
    pub fn silent(path: &Path, size: u16) -> Guest {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let file = memory_file(MEMORY);
        let memory = Mapping::new(&file, 0, MEMORY as usize, Rights::BOTH).unwrap();
        let mut pipe = [0; 2];
        assert_eq!(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        let [back, back_writer] = pipe.map(|raw| unsafe { OwnedFd::from_raw_fd(raw) });
        // Our end alone: what the server does with its own is the server's business.
        file::set_nonblocking(&back).unwrap();
        let [back, back_writer] = [back.into(), back_writer.into()];
        let rings = RINGS.map(|at| Ring { size, at, available: 0, seen: 0 });
        Guest { stream, memory, files: [file.try_clone().unwrap(), file], rings, back, back_writer }
    }

    /// A guest that is ready for accesses and interrupts, on rings that begin somewhere.
    pub fn begin_at(path: &Path, size: u16, base: u16) -> Guest {
        let mut guest = Guest::silent(path, size);
        guest.negotiate();
        guest.set_memory();
        for ring in 0..2 {
            guest.set_ring(ring, base);
        }
        guest
    }

    pub fn begin(path: &Path) -> Guest {
        Guest::begin_at(path, 64, 0)
    }

    pub fn negotiate(&mut self) {
        self.obeyed(3, &[], &[]);
        assert_eq!(self.ask(1, &[]), 1 << 30 | 1 << 32);
        assert_eq!(self.ask(15, &[]), 1 << 3 | 1 << 5 | 1 << 14);
        self.obeyed(16, &longs(&[1 << 3 | 1 << 5 | 1 << 14]), &[]);
        let writer = self.back_writer.try_clone().unwrap();
        self.obeyed(21, &[], &[writer.into()]);
        self.obeyed(2, &longs(&[1 << 30 | 1 << 32]), &[]);
    }

    pub fn set_memory(&mut self) {
        let table = [words(&[2, 0]), longs(&[GUEST, HALF, USER, 0, GUEST + HALF, HALF, USER + (1 << 32), HALF])].concat();
        let files = [self.files[0].try_clone().unwrap(), self.files[1].try_clone().unwrap()];
        self.obeyed(5, &table, &files);
    }

    pub fn set_ring(&mut self, ring: usize, base: u16) {
        let (index, size, at) = (ring as u32, self.rings[ring].size, USER + self.rings[ring].at);
        (self.rings[ring].available, self.rings[ring].seen) = (base, base);
        for page in [self.rings[ring].available(), self.rings[ring].used()] {
            self.memory.release16(page as usize, 0);
            self.memory.release16(page as usize + 2, base);
        }
        self.obeyed(8, &words(&[index, size.into()]), &[]);
        self.obeyed(10, &words(&[index, base.into()]), &[]);
        self.obeyed(9, &[words(&[index, 0]), longs(&[at, at + 0x2000, at + 0x1000, u64::MAX])].concat(), &[]);
        self.obeyed(18, &words(&[index, 1]), &[]);
    }

    /// Send a request, and read the number that answers it.
    pub fn request(&mut self, request: u32, flags: u32, payload: &[u8], descriptors: &[OwnedFd]) -> std::io::Result<u64> {
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        let bytes = message(request, flags, payload);
        let sent = socket::send(&self.stream, &bytes, &borrowed)?;
        self.stream.write_all(&bytes[sent..])?;
        let mut answer = [0; 20];
        self.stream.read_exact(&mut answer)?;
        assert_eq!(answer[..12], message(request, 5, &[0; 8])[..12], "the answer's header");
        Ok(u64::from_le_bytes(answer[12..].try_into().unwrap()))
    }

    pub fn obeyed(&mut self, request: u32, payload: &[u8], descriptors: &[OwnedFd]) {
        assert_eq!(self.request(request, 9, payload, descriptors).unwrap(), 0, "request {request}");
    }

    pub fn refused(&mut self, request: u32, payload: &[u8], descriptors: &[OwnedFd]) -> u64 {
        let errno = self.request(request, 9, payload, descriptors).unwrap();
        assert_ne!(errno, 0, "request {request}");
        errno
    }

    pub fn ask(&mut self, request: u32, payload: &[u8]) -> u64 {
        self.request(request, 1, payload, &[]).unwrap()
    }

    /// Is the connection at its end?
    pub fn is_shown_out(&mut self) -> bool {
        let mut bytes = [0; 64];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => (),
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }

    pub fn load<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.memory.read(at as usize, &mut bytes);
        bytes
    }

    pub fn store(&self, at: u64, bytes: &[u8]) {
        self.memory.write(at as usize, bytes);
    }

    pub fn set_descriptor(&self, ring: usize, index: u16, address: u64, bytes: u32, flags: u16, next: u16) {
        let entry = [&address.to_le_bytes()[..], &bytes.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()].concat();
        self.store(self.rings[ring].descriptor(index), &entry);
    }

    /// Make the chain that begins at a descriptor available.
    pub fn offer(&mut self, ring: usize, head: u16) {
        let (at, size) = (self.rings[ring].available(), self.rings[ring].size);
        let state = &mut self.rings[ring];
        self.memory.release16((at + 4 + 2 * u64::from(state.available & (size - 1))) as usize, head);
        state.available = state.available.wrapping_add(1);
        self.memory.release16(at as usize + 2, state.available);
    }

    pub fn kick(&mut self, ring: u32) {
        self.obeyed(35, &words(&[ring, 0]), &[]);
    }

    /// The next used entry, if there is one: its chain's head, and bytes written.
    pub fn used(&mut self, ring: usize) -> Option<(u32, u32)> {
        let (at, state) = (self.rings[ring].used(), &mut self.rings[ring]);
        if self.memory.acquire16(at as usize + 2) == state.seen {
            return None;
        }
        let place = at + 4 + 8 * u64::from(state.seen & (state.size - 1));
        state.seen = state.seen.wrapping_add(1);
        let entry: [u8; 8] = self.load(place);
        Some((u32::from_le_bytes(entry[..4].try_into().unwrap()), u32::from_le_bytes(entry[4..].try_into().unwrap())))
    }

    /// An access with its message, data behind it, and room for an answer. Descriptors from 0 on; returns the bytes written.
    pub fn access(&mut self, head: [u8; 16], data: &[u8], room: u32) -> u32 {
        let (at, answer) = (self.rings[0].buffers(), GUEST + FREE);
        self.store(at, &head);
        let out = if room > 0 { 1 } else { 0 };
        if data.len() <= 0x1000 && data.len() % 2 == 0 {
            self.store(at + 16, data); // as one piece, as a kernel does if it can
            self.set_descriptor(0, 0, GUEST + at, 16 + data.len() as u32, out, 1);
            self.set_descriptor(0, 1, answer, room, 2, 0);
        } else {
            self.store(FREE, data);
            self.set_descriptor(0, 0, GUEST + at, 16, 1, 1);
            self.set_descriptor(0, 1, answer, data.len() as u32, out, 2);
            self.set_descriptor(0, 2, answer, room, 2, 0);
        }
        self.offer(0, 0);
        self.kick(0);
        let (head, written) = self.used(0).expect("an access is done when its kick is answered");
        assert_eq!((head, self.used(0)), (0, None));
        written
    }

    pub fn head(operation: u8, bar: u8, bytes: u32, offset: u64) -> [u8; 16] {
        let head = [&[operation, bar, 0, 0][..], &bytes.to_le_bytes(), &offset.to_le_bytes()].concat();
        head.try_into().unwrap()
    }

    pub fn read(&mut self, operation: u8, bar: u8, offset: u64, bytes: usize) -> Vec<u8> {
        self.store(FREE, &vec![0x5a; bytes + 8]);
        assert_eq!(self.access(Guest::head(operation, bar, bytes as u32, offset), &[], bytes as u32), bytes as u32);
        let mut found = vec![0; bytes + 8];
        self.memory.read(FREE as usize, &mut found);
        assert_eq!(found.split_off(bytes), [0x5a; 8], "not a byte beside it");
        found
    }

    pub fn read32(&mut self, offset: u64) -> u32 {
        u32::from_le_bytes(self.read(3, 0, offset, 4).try_into().unwrap())
    }

    pub fn write(&mut self, bar: u8, offset: u64, data: &[u8]) {
        assert_eq!(self.access(Guest::head(4, bar, data.len() as u32, offset), data, 0), 0);
    }

    /// Buffers for interrupts, from the ring's descriptor `first` on.
    pub fn give_buffers(&mut self, first: u16, count: u16) {
        for index in first..first + count {
            let address = GUEST + self.rings[1].buffers() + 32 * u64::from(index);
            self.set_descriptor(1, index, address, 20, 2, 0);
            self.offer(1, index);
        }
    }

    /// The next interrupt's buffer, which can be given again, and its data, if one has come; it went to that address.
    pub fn interrupt(&mut self, address: u64) -> Option<(u16, u32)> {
        let (head, bytes) = self.used(1)?;
        let message: [u8; 20] = self.load(self.rings[1].buffers() + 32 * u64::from(head));
        assert_eq!((bytes, &message[..16]), (20, &Guest::head(7, 0, 4, address)[..]));
        Some((head as u16, u32::from_le_bytes(message[16..].try_into().unwrap())))
    }

    /// How often we were told to look at the ring of interrupts since the last time.
    pub fn calls(&mut self) -> usize {
        let mut bytes = Vec::new();
        let _ = self.back.read_to_end(&mut bytes); // up to where it would wait
        let call = message(4, 1, &words(&[1, 0]));
        assert!(bytes.chunks(call.len()).all(|found| found == call), "{bytes:x?}");
        bytes.len() / call.len()
    }
}
