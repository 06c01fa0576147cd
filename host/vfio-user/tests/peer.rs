// SPDX-License-Identifier: Apache-2.0
//! Others' implementation of the protocol, crate `vfio_user`: its client at our server, our client at its server.
//!
//! Its faults that show here: it takes error replies for replies of the wanted length, so it is asked for nothing that is refused; and
//! `resettable` says the opposite.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod common;

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use common::{memory_file, Served};
use towpath_bus::Bus;
use vfio_user::{Client, DmaMapFlags, DmaUnmapFlags, ServerBackend, ServerRegion};

#[test]
fn their_client_at_our_server() {
    let served = Served::start(4);
    for sealed in [true, false] {
        let mut client = Client::new(&served.path).unwrap();
        assert!(!client.resettable(), "they have it the wrong way round");
        assert_eq!((client.region(0).unwrap().size, client.region(7).unwrap().size), (common::BAR_BYTES, 256));
        let areas: Vec<_> = client.region(2).unwrap().sparse_areas.iter().map(|area| (area.offset, area.size)).collect();
        assert_eq!(areas, [(0, 0x1000), (0x2000, 0x2000)]);
        assert!(client.region(2).unwrap().file_offset.is_some());
        let irqs = client.get_irq_info(2).unwrap();
        assert_eq!((irqs.index, irqs.count), (2, 4));

        let file = memory_file(0x3000, sealed);
        let content = File::from(file.try_clone().unwrap());
        content.write_all_at(b"over there", 0x1234).unwrap();
        client.dma_map(0x1000, 0x8000_0000, 0x2000, file.as_raw_fd()).unwrap();
        assert_eq!(served.dma.mappings(), 1);
        let event = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK) };
        let mut event = unsafe { File::from_raw_fd(event) };
        client.set_irqs(2, 4 | 1 << 5, 3, 1, &[event.as_raw_fd()]).unwrap();

        for (place, value) in [(common::FROM, 0x8000_0234u64), (common::TO, 0x8000_1000), (common::BYTES, 10)] {
            client.region_write(0, place, &value.to_le_bytes()).unwrap();
        }
        client.region_write(0, common::GO, &3u32.to_le_bytes()).unwrap();
        let mut status = [0; 4];
        client.region_read(0, common::STATUS, &mut status).unwrap();
        assert_eq!(status, [1, 0, 0, 0]);
        let mut found = [0; 10];
        content.read_exact_at(&mut found, 0x2000).unwrap();
        assert_eq!(&found, b"over there");
        let mut count = [0; 8];
        std::io::Read::read_exact(&mut event, &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 1);

        client.dma_unmap(0x8000_0000, 0x2000).unwrap();
        assert_eq!(served.dma.mappings(), 0);
        client.reset().unwrap();
        client.region_read(0, common::STATUS, &mut status).unwrap();
        assert_eq!(status, [0; 4]);
        client.dma_map(0, 0, 0x1000, file.as_raw_fd()).unwrap();
        client.shutdown().unwrap();
        served.wait_empty();
    }
}

#[derive(Default)]
struct Theirs {
    memory: Vec<u8>,
    events: Vec<File>,
    log: Vec<String>,
}

impl ServerBackend for Theirs {
    fn region_read(&mut self, _region: u32, offset: u64, data: &mut [u8]) -> std::io::Result<()> {
        self.memory.resize(0x2000, 0);
        data.copy_from_slice(&self.memory[offset as usize..][..data.len()]);
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.memory.resize(0x2000, 0);
        self.memory[offset as usize..][..data.len()].copy_from_slice(data);
        if region == 0 && offset == 0x100 {
            let mut event = &self.events[usize::from(data[0])];
            std::io::Write::write_all(&mut event, &1u64.to_ne_bytes())?;
        }
        Ok(())
    }

    fn dma_map(&mut self, flags: DmaMapFlags, offset: u64, address: u64, size: u64, fd: Option<File>) -> std::io::Result<()> {
        self.log.push(format!("map {:?} {offset} {:#x} {size:#x} {}", flags.bits(), address & 0xfff, fd.is_some()));
        Ok(())
    }

    fn dma_unmap(&mut self, flags: DmaUnmapFlags, address: u64, size: u64) -> std::io::Result<()> {
        self.log.push(format!("unmap {:?} {:#x} {size:#x}", flags.bits(), address & 0xfff));
        Ok(())
    }

    fn reset(&mut self) -> std::io::Result<()> {
        self.log.push("reset".into());
        Ok(())
    }

    fn set_irqs(&mut self, index: u32, flags: u32, start: u32, count: u32, fds: Vec<File>) -> std::io::Result<()> {
        self.log.push(format!("irqs {index} {flags:#x} {start} {count} {}", fds.len()));
        self.events.extend(fds);
        Ok(())
    }
}

#[test]
fn our_client_at_their_server() {
    let path: PathBuf = std::env::temp_dir().join(format!("towpath-theirs-{}.sock", std::process::id()));
    let region = |index: u32, size: u64| ServerRegion {
        region_info: vfio_bindings::bindings::vfio::vfio_region_info { argsz: 32, flags: 3, index, size, ..Default::default() },
        sparse_areas: Vec::new(),
        mmap_fd: None,
    };
    let regions: Vec<_> = (0..9).map(|index| region(index, if index == 0 || index == 7 { 0x2000 } else { 0 })).collect();
    let irqs = (0..5).map(|index| vfio_user::IrqInfo { index, flags: 1, count: if index == 2 { 20 } else { 0 } }).collect();
    let server = vfio_user::Server::new(&path, true, irqs, regions).unwrap();
    let thread = std::thread::spawn(move || {
        let mut theirs = Theirs::default();
        server.run(&mut theirs).unwrap();
        theirs
    });
    let client = towpath_vfio_user::Client::connect("theirs", &path).unwrap();
    assert_eq!((client.bar_bytes(0), client.bar_bytes(1)), (0x2000, 0));
    client.write64(0, 0x10, 0x1122_3344_5566_7788).unwrap();
    assert_eq!(client.read32(0, 0x14).unwrap(), 0x1122_3344);
    assert_eq!(client.enable_vectors(20).unwrap(), 20);
    client.write32(0, 0x100, 18).unwrap();
    assert_eq!(client.wait(18, 10_000_000_000).unwrap(), towpath_bus::Wake::Fired);
    let mut memory = vec![0u8; 8192];
    let inside = unsafe { memory.as_mut_ptr().add(memory.as_ptr().align_offset(4096) + 16) };
    let address = unsafe { client.map(inside, 100, towpath_bus::Access::Read) }.unwrap();
    client.unmap(address, 100).unwrap();
    client.reset().unwrap();
    drop(client);
    let theirs = thread.join().unwrap();
    let (irqs, rest): (Vec<_>, Vec<_>) = theirs.log.iter().partition(|line| line.starts_with("irqs"));
    assert_eq!(rest, ["map 1 0 0x0 0x1000 false", "unmap 0 0x0 0x1000", "reset"]);
    assert!(!irqs.is_empty() && irqs.iter().all(|line| line.starts_with("irqs 2 0x24 ")), "{irqs:?}");
    assert_eq!(theirs.events.len(), 20);
}
