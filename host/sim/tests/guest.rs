// SPDX-License-Identifier: Apache-2.0
//! The simulated card behind the vhost-user server, as a guest's kernel finds and uses it: configuration space, the card's own MSI-X table, and a transfer
//! by hand. The guest's side of the protocol is that of `host/vhost-user/tests`. The model is compiled on the first run, so this needs Verilator on the path.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
#[path = "../../vhost-user/tests/common/guest.rs"]
mod guest;

use std::time::Duration;

use common::Served;
use guest::{words, Guest, FREE, GUEST};
use towpath_bus::Bus;
use towpath_contract as contract;
use towpath_sim::ServedCard;
use towpath_vhost_user::Server;

const CONFIG_READ: u8 = 1;
const CONFIG_WRITE: u8 = 2;
const BAR_READ: u8 = 3;
/// As User-Mode Linux has it: the address says that it is an interrupt, the data which one.
const MESSAGES: u64 = 0xa_0000;

fn served(name: &str) -> Served {
    Served::start(name, |bus, path| {
        let server = Server::bind(path).unwrap();
        let (stop, mut card) = (server.stop(), ServedCard::new(bus.clone(), server.memory()).unwrap());
        (stop, std::thread::spawn(move || server.serve(&mut card)))
    })
}

/// What a kernel's driver knows of the card once it has looked.
struct Card {
    guest: Guest,
    /// log2 of a page of BAR 0.
    shift: u32,
    /// Where the MSI-X capability is.
    msix: u64,
}

impl Card {
    fn find(served: &Served) -> Card {
        let mut guest = Guest::begin(&served.path);
        let shift = u32::from(guest.read(BAR_READ, 0, contract::DISCOVERY_PAGE_SHIFT_OFFSET, 1)[0]);
        let mut msix = u64::from(guest.read(CONFIG_READ, 0, 0x34, 1)[0]);
        loop {
            let [id, next] = guest.read(CONFIG_READ, 0, msix, 2)[..] else { panic!("two bytes") };
            match id {
                0x11 => return Card { guest, shift, msix },
                _ => msix = next.into(),
            }
            assert_ne!(msix, 0, "there is no MSI-X");
        }
    }

    fn configure(&mut self, offset: u64, value: u16) {
        assert_eq!(self.guest.access(Guest::head(CONFIG_WRITE, 0, 2, offset), &[&value.to_le_bytes()[..], &[0; 6]].concat(), 0), 0);
    }

    /// Messages from now on, as a kernel sets them up: masked as a whole while the table is written, half an entry at a time.
    fn set_up_interrupts(&mut self, count: u16) {
        let control = self.msix + 2;
        self.configure(control, 0xc000);
        for vector in 0..count {
            let entry = self.entry(vector);
            let address = entry + contract::MSIX_VECTOR_ADDRESS_OFFSET;
            self.guest.write(0, address, &words(&[MESSAGES as u32]));
            self.guest.write(0, address + 4, &words(&[(MESSAGES >> 32) as u32]));
            self.guest.write(0, entry + contract::MSIX_VECTOR_DATA_OFFSET, &words(&[40 + u32::from(vector)]));
            self.guest.write(0, entry + contract::MSIX_VECTOR_CONTROL_OFFSET, &words(&[0]));
        }
        self.configure(control, 0x8000);
    }

    fn entry(&self, vector: u16) -> u64 {
        (contract::PAGE_MSIX << self.shift) + contract::MSIX_VECTOR_OFFSET + u64::from(vector) * contract::MSIX_VECTOR_STRIDE
    }

    fn page(&self, channel: u64, page: u64) -> u64 {
        (contract::PAGE_CHANNELS + contract::PAGES_PER_CHANNEL * channel + page) << self.shift
    }

    fn enable_channel(&mut self, channel: u64) {
        let privileged = self.page(channel, contract::PAGE_CHANNEL_PRIVILEGED);
        let ring = GUEST + RINGS + 0x1000 * channel;
        self.guest.write(0, privileged + contract::CHANNEL_RING_BASE_OFFSET, &ring.to_le_bytes());
        self.guest.write(0, privileged + contract::CHANNEL_RING_LOG2_OFFSET, &words(&[6]));
        self.guest.write(0, privileged + contract::CHANNEL_VECTOR_OFFSET, &words(&[channel as u32]));
        self.guest.write(0, privileged + contract::CHANNEL_CONTROL_OFFSET, &words(&[contract::CHANNEL_CONTROL_ENABLE_MASK]));
    }

    /// Post a descriptor and ask for an interrupt when it is done.
    fn post(&mut self, channel: u64, descriptor: contract::Descriptor, arm: u32) {
        let doorbell = self.page(channel, contract::PAGE_CHANNEL_DOORBELL);
        self.guest.write(0, doorbell + contract::DOORBELL_ARM_OFFSET, &words(&[arm]));
        let image = descriptor.to_le_bytes();
        self.guest.write(0, doorbell + contract::DOORBELL_DESCRIPTOR_OFFSET, &image[..8]);
        self.guest.write(0, doorbell + contract::DOORBELL_DESCRIPTOR_OFFSET + 8, &image[8..]);
    }

    /// The interrupts that come within some time, by their data, until there are so many.
    fn interrupts(&mut self, count: usize, time: Duration) -> Vec<u32> {
        let until = std::time::Instant::now() + time;
        let mut found = Vec::new();
        while found.len() < count && std::time::Instant::now() < until {
            match self.guest.interrupt(MESSAGES) {
                Some((_, data)) => found.push(data),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        found
    }
}

/// Where in the guest's memory the completion rings are, and the buffers, the second of which goes over the border between two regions.
const RINGS: u64 = FREE + 0x1000;
const BUFFERS: [u64; 2] = [FREE + 0x8001, guest::MEMORY / 2 - 500];
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_kernel_finds_it_and_its_size() {
    let served = served("finds");
    let mut card = Card::find(&served);
    let guest = &mut card.guest;
    let ids = [contract::PCI_VENDOR.to_le_bytes(), contract::PCI_DEVICE.to_le_bytes()].concat();
    assert_eq!(guest.read(CONFIG_READ, 0, 0, 4), ids);
    for (bar, bytes) in [(0u64, served.bus.bar_bytes(0)), (2, served.bus.bar_bytes(2))] {
        guest.access(Guest::head(CONFIG_WRITE, 0, 8, 0x10 + 4 * bar), &[0xff; 8], 0);
        let mask = u64::from_le_bytes(guest.read(CONFIG_READ, 0, 0x10 + 4 * bar, 8).try_into().unwrap()) & !0xf;
        assert_eq!(mask.wrapping_neg(), bytes.max(4096));
    }
    // Long reads, as memcpy_fromio makes them, and those of bytes.
    let whole = guest.read(BAR_READ, 0, 0, 6000);
    assert_eq!(whole[..8], contract::DISCOVERY_MAGIC_VALUE.to_le_bytes());
    for at in 0..9 {
        assert_eq!(guest.read(BAR_READ, 0, at, 7)[..], whole[at as usize..at as usize + 7]);
        assert_eq!(guest.read(BAR_READ, 0, at, 2)[..], whole[at as usize..at as usize + 2]);
    }
    // A register of the user core's; and what a function-level reset by configuration space does to it.
    for (at, bytes, then) in
        [(4u64, &[0x44u8, 0x33, 0x22, 0x11][..], 0x1122_3344), (5, &[0xaa], 0x1122_aa44), (6, &[0xbb, 0xcc], 0xccbb_aa44)]
    {
        guest.write(2, at, bytes);
        assert_eq!(guest.read(BAR_READ, 2, 4, 4), u32::to_le_bytes(then));
    }
    card.configure(0x58, 0xa910);
    assert_eq!(card.guest.read(BAR_READ, 2, 4, 4), [0; 4]);
}

#[test]
fn it_moves_data_and_interrupts_by_its_own_table() {
    let served = served("moves");
    let mut card = Card::find(&served);
    card.configure(4, 6); // memory and bus master
    card.set_up_interrupts(2);
    card.guest.give_buffers(0, 1); // of two that come, one has to wait
    card.guest.kick(1);
    let bytes: Vec<u8> = (0..1000u32).map(|at| (at * 7) as u8).collect();
    card.guest.store(BUFFERS[0], &bytes);
    for channel in [1u64, 0] {
        card.enable_channel(channel);
        let end = if channel == 0 { contract::DESCRIPTOR_CONTROL_END_MASK } else { 0 };
        let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB | end;
        let (address, length) = (GUEST + BUFFERS[channel as usize], if channel == 0 { 1000 } else { 2000 });
        card.post(channel, contract::Descriptor { address, length, cookie: 0x77, control }, 0);
    }
    let first = card.interrupts(1, LONG);
    assert_eq!(card.interrupts(1, Duration::from_millis(300)), [0; 0], "there is no buffer");
    card.guest.give_buffers(1, 1);
    card.guest.kick(1);
    let mut both = [first, card.interrupts(1, LONG)].concat();
    both.sort_unstable();
    assert_eq!(both, [40, 41]);
    for channel in 0..2u64 {
        let entry = contract::Completion::from_le_bytes(card.guest.load(RINGS + 0x1000 * channel));
        let status = if channel == 0 { contract::Status::Done } else { contract::Status::EndOfMessage };
        assert_eq!((entry.bytes, entry.cookie, entry.status), (1000, 0x77, status as u8), "channel {channel}");
    }
    let found: [u8; 1002] = card.guest.load(BUFFERS[1] - 1);
    assert_eq!((found[0], found[1001]), (0, 0), "not a byte beside it");
    assert_eq!(found[1..1001], bytes[..]);
    assert_eq!(served.bus.statistics().unwrap().refused_writes, 0);
}

/// Masked as a whole, masked by the entry, switched off, asleep: the card keeps it as pending, and sends it when it may.
#[test]
fn interrupts_that_may_not_come_yet_come_later() {
    let served = served("later");
    let mut card = Card::find(&served);
    card.configure(4, 6);
    card.set_up_interrupts(2);
    card.guest.give_buffers(0, 8);
    card.guest.kick(1);
    card.enable_channel(0);
    let control = card.msix + 2;
    let mask = card.entry(0) + contract::MSIX_VECTOR_CONTROL_OFFSET;
    type Deed = fn(&mut Card, u64, bool);
    let deeds: [(Deed, u64); 3] = [
        (|card, control, on| card.configure(control, if on { 0x8000 } else { 0xc000 }), control),
        (|card, control, on| card.configure(control, if on { 0x8000 } else { 0 }), control),
        (|card, mask, on| card.guest.write(0, mask, &words(&[u32::from(!on)])), mask),
    ];
    for (round, (deed, at)) in deeds.into_iter().enumerate() {
        deed(&mut card, at, false);
        // A read pushes the writes before it, as a driver has it.
        card.guest.read32(card.entry(0));
        let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB;
        let (address, cookie) = (GUEST + BUFFERS[0], round as u16);
        card.post(0, contract::Descriptor { address, length: 64, cookie, control }, round as u32);
        assert_eq!(card.interrupts(1, Duration::from_millis(200)), [0; 0], "round {round}");
        let entry = contract::Completion::from_le_bytes(card.guest.load(RINGS + (contract::COMPLETION_BYTES * round) as u64));
        assert_eq!((entry.bytes, entry.cookie), (64, cookie), "it is done");
        let pending = (contract::PAGE_MSIX << card.shift) + contract::MSIX_PENDING_OFFSET;
        assert_eq!(card.guest.read32(pending), 1, "round {round}: and told of as pending");
        deed(&mut card, at, true);
        assert_eq!(card.interrupts(1, LONG), [40], "round {round}");
        assert_eq!(card.guest.read32(pending), 0);
    }
    // What the card sends elsewhere is no interrupt: outside of memory it is refused.
    let before = served.bus.statistics().unwrap();
    let privileged = card.page(0, contract::PAGE_CHANNEL_PRIVILEGED);
    card.guest.write(0, privileged + contract::CHANNEL_CONTROL_OFFSET, &words(&[0]));
    card.guest.write(0, privileged + contract::CHANNEL_RING_BASE_OFFSET, &0x10_0000u64.to_le_bytes());
    card.guest.write(0, privileged + contract::CHANNEL_CONTROL_OFFSET, &words(&[contract::CHANNEL_CONTROL_ENABLE_MASK]));
    let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB;
    card.post(0, contract::Descriptor { address: GUEST + BUFFERS[0], length: 64, cookie: 9, control }, 0);
    let refused = || served.bus.statistics().unwrap().since(&before).refused_writes > 0;
    let until = std::time::Instant::now() + LONG;
    while !refused() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(refused());
}

/// A vector whose address is memory writes there, as on a bus: one who polls that word has a use for it.
#[test]
fn a_message_to_memory_is_a_write() {
    let served = served("memory");
    let mut card = Card::find(&served);
    card.configure(4, 6);
    card.set_up_interrupts(1);
    card.guest.give_buffers(0, 4);
    card.guest.kick(1);
    let at = FREE + 0x6000;
    let (entry, data) = (card.entry(0), card.entry(0) + contract::MSIX_VECTOR_DATA_OFFSET);
    card.guest.write(0, entry + contract::MSIX_VECTOR_ADDRESS_OFFSET, &(GUEST + at).to_le_bytes());
    card.guest.write(0, data, &words(&[0xcafe_f00d]));
    card.enable_channel(0);
    let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB;
    card.post(0, contract::Descriptor { address: GUEST + BUFFERS[0], length: 64, cookie: 1, control }, 0);
    let until = std::time::Instant::now() + LONG;
    while card.guest.load::<4>(at) == [0; 4] && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(card.guest.load(at), 0xcafe_f00du32.to_le_bytes());
    assert_eq!(card.guest.interrupt(MESSAGES), None);
}

/// Configuration space lies behind the link, too. What is asked for while it is down has an answer, at once: ones.
#[test]
fn behind_a_link_that_is_down_everything_reads_as_ones() {
    let served = served("down");
    let mut card = Card::find(&served);
    card.configure(4, 6);
    card.guest.write(2, 4, &words(&[0x1234]));
    assert_eq!(card.guest.read(BAR_READ, 2, 4, 4), words(&[0x1234]));
    served.bus.befall("down").unwrap();
    assert_eq!(card.guest.read(CONFIG_READ, 0, 0, 4), [0xff; 4]);
    for bytes in [1, 4, 8, 5000] {
        assert_eq!(card.guest.read(BAR_READ, 0, 0, bytes), vec![0xff; bytes]);
    }
    card.configure(4, 0);
    card.guest.write(2, 4, &words(&[0x5678]));
    served.bus.befall("up").unwrap();
    assert_eq!(card.guest.read(CONFIG_READ, 0, 4, 2), [6, 0], "writes were lost");
    assert_eq!(card.guest.read(BAR_READ, 2, 4, 4), words(&[0x1234]));
    // A guest that leaves it so: the next one has a link.
    served.bus.befall("down").unwrap();
    drop(card);
    assert_eq!(Card::find(&served).guest.read(BAR_READ, 2, 4, 4), [0; 4]);
}

/// A guest that dies in the middle of a transfer, with interrupts waiting: the next one finds a card as after it was switched on.
#[test]
fn the_next_guest_finds_a_card_that_was_reset() {
    let served = served("next");
    for round in 0..10 {
        let mut card = Card::find(&served);
        let control = card.msix + 2;
        assert_eq!(card.guest.read(CONFIG_READ, 0, control, 2)[1] & 0xc0, 0, "round {round}");
        let mask = card.entry(0) + contract::MSIX_VECTOR_CONTROL_OFFSET;
        assert_eq!(card.guest.read32(mask), contract::MSIX_VECTOR_CONTROL_RESET, "round {round}");
        assert_eq!(card.guest.interrupt(MESSAGES), None);
        card.configure(4, 6);
        card.set_up_interrupts(2);
        card.enable_channel(0);
        for at in 0..20 {
            let control = (contract::Kind::Direct as u16) << contract::DESCRIPTOR_CONTROL_KIND_LSB;
            card.post(0, contract::Descriptor { address: GUEST + FREE + 0x4000, length: 4000, cookie: at, control }, 0);
        }
    }
}
