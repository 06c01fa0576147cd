// SPDX-License-Identifier: Apache-2.0
//! A toy of a card behind a server, for tests of the protocol: memory, a copier, and interrupts.
#![allow(dead_code)] // each test program uses a part of it
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use towpath_vfio_user::message::Header;
use towpath_vfio_user::{Device, Dma, Errno, Mapping, Pace, Region, Server, Stop, REGION_CONFIG};

/// Bytes of BAR 0, which is memory but for the registers below.
pub const BAR_BYTES: u64 = 64 << 10;
/// Where the copier takes bytes from, where it puts them, and how many.
pub const FROM: u64 = 0x10;
/// See [`FROM`].
pub const TO: u64 = 0x18;
/// See [`FROM`].
pub const BYTES: u64 = 0x20;
/// Written with a vector: copy, then fire it.
pub const GO: u64 = 0x28;
/// What became of the last copy: 1 done, 3 refused.
pub const STATUS: u64 = 0x2c;
/// Writes to BAR 0 since the reset.
pub const WRITES: u64 = 0x38;
/// Written with a number: so many copies, one after the other, while messages come in.
pub const LOOP: u64 = 0x40;
/// Copies that were not allowed, ever, over all clients.
pub static REFUSED: AtomicU32 = AtomicU32::new(0);

pub struct Toy {
    dma: Dma,
    bar: Vec<u8>,
    config: Vec<u8>,
    events: Vec<Option<OwnedFd>>,
    vectors: u32,
    left: u32,
}

impl Toy {
    fn word(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.bar[at as usize..at as usize + 8].try_into().unwrap())
    }

    fn copy(&mut self) -> u32 {
        let mut data = vec![0; (self.word(BYTES) as u32 as usize).min(1 << 20)];
        let done = self.dma.read(self.word(FROM), &mut data).and_then(|()| self.dma.write(self.word(TO), &data));
        let status = if done.is_ok() { 1 } else { 3 };
        REFUSED.fetch_add(u32::from(status == 3), Ordering::Relaxed);
        self.bar[STATUS as usize..][..4].copy_from_slice(&u32::to_le_bytes(status));
        status
    }

    fn fire(&self, vector: u32) {
        if let Some(Some(event)) = self.events.get(vector as usize) {
            let one = 1u64.to_ne_bytes();
            unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), 8) };
        }
    }
}

impl Device for Toy {
    fn region(&self, index: u32) -> Region {
        match index {
            0 => Region { bytes: BAR_BYTES, readable: true, writable: true },
            2 => Region { bytes: 0x4000, readable: true, writable: false },
            REGION_CONFIG => Region { bytes: 256, readable: true, writable: true },
            _ => Region::default(),
        }
    }

    fn mapping(&self, index: u32) -> Option<Mapping> {
        (index == 2).then(|| Mapping { file: memory_file(0x4000, false), offset: 0, areas: vec![0..0x1000, 0x2000..0x4000] })
    }

    fn vectors(&self) -> u32 {
        self.vectors
    }

    fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        let from: &[u8] = match region {
            0 => &self.bar,
            2 => &[0x22; 0x4000],
            _ => &self.config,
        };
        into.copy_from_slice(&from[offset as usize..offset as usize + into.len()]);
        Ok(())
    }

    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        if region == REGION_CONFIG {
            self.config[offset as usize..offset as usize + from.len()].copy_from_slice(from);
            return Ok(());
        }
        self.bar[offset as usize..offset as usize + from.len()].copy_from_slice(from);
        let writes = self.word(WRITES) as u32 + 1;
        self.bar[WRITES as usize..][..4].copy_from_slice(&writes.to_le_bytes());
        match offset {
            GO => {
                self.copy();
                self.fire(u32::from(from[0]));
            }
            LOOP => self.left = self.word(LOOP) as u32,
            0x48 => return Err(Errno(libc::EIO)),
            _ => (),
        }
        Ok(())
    }

    fn set_events(&mut self, events: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        self.events = events;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Errno> {
        (self.bar, self.config, self.left) = (vec![0; BAR_BYTES as usize], vec![0; 256], 0);
        Ok(())
    }

    fn run(&mut self) -> Pace {
        if self.left == 0 {
            return Pace::Idle;
        }
        self.left -= 1;
        self.copy();
        Pace::Now
    }
}

/// A server in a thread of its own, with a toy behind it.
pub struct Served {
    pub path: PathBuf,
    pub dma: Dma,
    stop: Stop,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Served {
    pub fn start(vectors: u32) -> Served {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("towpath-toy-{}-{}.sock", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let server = Server::bind(&path).unwrap();
        let (dma, stop) = (server.dma(), server.stop());
        let mut toy = Toy { dma: dma.clone(), bar: Vec::new(), config: Vec::new(), events: Vec::new(), vectors, left: 0 };
        toy.reset().unwrap();
        let thread = Some(std::thread::spawn(move || server.serve(&mut toy)));
        Served { path, dma, stop, thread }
    }

    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Wait until the last client's memory is gone.
    pub fn wait_empty(&self) {
        for _ in 0..2000 {
            if self.dma.mappings() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("memory of a client that has left is still mapped");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.expect("the server does not panic").expect("the server ends as it should");
        }
    }
}

/// A memory file, which cannot shrink if it is `sealed`.
pub fn memory_file(bytes: u64, sealed: bool) -> OwnedFd {
    towpath_system::file::memory_file("test", bytes, sealed).unwrap()
}

/// Numbers that look random, the same for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// A client that says whatever it likes.
pub struct Raw(pub std::os::unix::net::UnixStream);

impl Raw {
    pub fn connect(path: &std::path::Path) -> Raw {
        let stream = std::os::unix::net::UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Raw(stream)
    }

    /// A client that has agreed on the version.
    pub fn hello(path: &std::path::Path) -> Raw {
        let mut raw = Raw::connect(path);
        assert_eq!(raw.ask(1, &[0, 0, 1, 0], &[]).unwrap()[..4], [0, 0, 1, 0]);
        raw
    }

    pub fn say(&mut self, bytes: &[u8], descriptors: &[i32]) -> bool {
        use std::io::Write;
        use vmm_sys_util::sock_ctrl_msg::ScmSocket;
        if descriptors.is_empty() {
            return self.0.write_all(bytes).is_ok();
        }
        self.0.send_with_fds(&[bytes], descriptors).is_ok_and(|sent| sent == bytes.len())
    }

    /// The next message of the server.
    pub fn hear(&mut self) -> (Header, Vec<u8>) {
        use std::io::Read;
        let mut head = [0; 16];
        self.0.read_exact(&mut head).unwrap();
        let header = Header::parse(&head).unwrap();
        let mut payload = vec![0; header.payload_bytes()];
        self.0.read_exact(&mut payload).unwrap();
        (header, payload)
    }

    /// Send a command and wait for its reply: the payload, or the error's number; -1 when the server hangs up.
    pub fn ask(&mut self, command: u16, payload: &[u8], descriptors: &[i32]) -> Result<Vec<u8>, i32> {
        use std::io::Read;
        let mut message = header(7, command, payload.len(), 0);
        message.extend_from_slice(payload);
        self.say(&message, descriptors);
        let mut head = [0; 16];
        self.0.read_exact(&mut head).map_err(|_| -1)?;
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        assert_eq!(head[..4], message[..4], "the reply's number and command");
        assert_eq!(word(8) & 0x1f, 1, "a reply");
        let mut payload = vec![0; word(4) as usize - 16];
        self.0.read_exact(&mut payload).map_err(|_| -1)?;
        if word(8) & 0x20 != 0 {
            assert!(payload.is_empty());
            return Err(word(12) as i32);
        }
        Ok(payload)
    }
}

/// A command's header.
pub fn header(id: u16, command: u16, payload: usize, flags: u32) -> Vec<u8> {
    let mut bytes = [id.to_le_bytes(), command.to_le_bytes()].concat();
    bytes.extend_from_slice(&(payload as u32 + 16).to_le_bytes());
    bytes.extend_from_slice(&flags.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// Descriptors that this process has open, by what they are; threads that end may still hold some.
pub fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
