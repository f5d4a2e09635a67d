//! Hostile ends: clients that attack the server beside a well-behaved client, and servers that
//! attack the client.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use iolab_memory::SharedBytes;
use iolab_nvme_driver::WaitPolicy;
use iolab_pci_device::{Interrupt, PciFunction};
use iolab_vfio_user::protocol::{
    DmaMap, InterruptAction, InterruptData, InterruptSet, MessageCommand, MessageHeader, RegionAccess,
};
use iolab_vfio_user::{MOST_MAPPINGS, VfioUser};
use rustix::io::write;

use crate::Served;
use crate::friend::Friend;
use crate::raw::Raw;

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most))
            .map(|_| if self.below(3) == 0 { self.next() as u8 } else { self.below(3) as u8 })
            .collect()
    }
}

/// Hostile and valid descriptors.
fn descriptors() -> Vec<OwnedFd> {
    let sealed = SharedBytes::memfd("iolab-hostile", 0x10_000).unwrap();
    let event = Interrupt::new().unwrap();
    let (pipe, other) = rustix::pipe::pipe().unwrap();
    let file = tempfile::tempfile().unwrap();
    vec![
        sealed.file().unwrap().0.try_clone_to_owned().unwrap(),
        event.as_fd().try_clone_to_owned().unwrap(),
        pipe,
        other,
        file.into(),
    ]
}

fn attack(path: &Path, random: &mut Random, descriptors: &[OwnedFd]) -> Option<Raw> {
    match random.below(6) {
        // Sends commands of all kinds, with payloads of all kinds, and descriptors.
        0 | 1 => {
            let raw = Raw::greeted(path);
            for id in 0..50 {
                let Some(command) = MessageCommand::of(random.below(16) as u16) else { continue };
                let payload = random.bytes(80);
                let header = MessageHeader::command(id, command, payload.len());
                let count = random.below(20) as usize;
                let with: Vec<_> = descriptors.iter().cycle().take(count).map(AsFd::as_fd).collect();
                if !raw.send(&[&header.encode()[..], &payload].concat(), &with) {
                    break;
                }
            }
            None
        }
        // Sends invalid messages.
        2 => {
            let raw = Raw::connect(path);
            raw.send(&random.bytes(4000), &[]);
            Some(raw)
        }
        // Sends requests, and never reads.
        3 => {
            let raw = Raw::greeted(path);
            let access = RegionAccess { offset: 0, region: 7, count: 4096 };
            let header = MessageHeader::command(1, MessageCommand::RegionRead, 16);
            while raw.send(&[&header.encode()[..], &access.encode(&[])].concat(), &[]) {}
            Some(raw)
        }
        // Requests mappings without limit.
        4 => {
            let mut raw = Raw::greeted(path);
            let mapped = (0..2 * MOST_MAPPINGS as u64).filter(|number| {
                let address = number << 20;
                let map = DmaMap { is_readable: true, is_writable: true, offset: 0, address, bytes: 4096 };
                raw.map(map, &[descriptors[0].as_fd()]).is_ok()
            });
            assert_eq!(mapped.count(), MOST_MAPPINGS);
            None
        }
        // Uses registers, and a controller whose memory is accessed by messages that are never
        // answered.
        _ => {
            let mut raw = Raw::greeted(path);
            let map = DmaMap { is_readable: true, is_writable: true, offset: 0, address: 0, bytes: 1 << 30 };
            raw.map(map, &[]).unwrap();
            for _ in 0..20 {
                let (offset, value) = (random.below(0x20) * 4, random.next() as u32);
                let access = RegionAccess { offset, region: 0, count: 4 };
                let header = MessageHeader::command(1, MessageCommand::RegionWrite, 20);
                raw.send(&[&header.encode()[..], &access.encode(&value.to_le_bytes())].concat(), &[]);
            }
            Some(raw)
        }
    }
}

#[test]
fn a_good_client_is_served_whatever_others_do_and_the_service_ends() {
    let rounds = std::env::var("IOLAB_HOSTILE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60_u32);
    let served = Served::start();
    let descriptors = descriptors();
    let mut friend = Friend::connect(&served.path(), WaitPolicy::Poll);
    let mut random = Random(1);
    let mut kept = Vec::new();
    for round in 0..rounds {
        kept.extend(attack(&served.path(), &mut random, &descriptors));
        if kept.len() > 10 {
            kept.clear();
        }
        friend.reads_what_it_writes(u64::from(round));
    }
    drop(friend);
    served.end();
}

#[test]
fn an_eventfd_that_is_full_holds_nobody_up() {
    let served = Served::start();
    let mut raw = Raw::greeted(&served.path());
    let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
    let set =
        InterruptSet { action: InterruptAction::Trigger, data: InterruptData::Eventfd, index: 2, start: 0, count: 1 };
    raw.ask(MessageCommand::SetInterrupts, &set.encode(), &[event.as_fd()]).unwrap();
    write(&event, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    // The thread of the connection blocks until the eventfd is emptied.
    let trigger = InterruptSet { data: InterruptData::None, ..set };
    raw.ask(MessageCommand::SetInterrupts, &trigger.encode(), &[]).unwrap();
    served.end();
}

/// A server that answers the first `good` messages correctly, and then does `harm`.
fn serve_badly(listener: &UnixListener, honest: &Path, good: usize, harm: u64) {
    use std::io::{Read, Write};
    let (mut client, _) = listener.accept().unwrap();
    let mut server = UnixStream::connect(honest).unwrap();
    let relay = |from: &mut UnixStream, to: &mut UnixStream| -> Option<MessageHeader> {
        let mut head = [0; 16];
        from.read_exact(&mut head).ok()?;
        let header = MessageHeader::decode(&head)?;
        let mut payload = vec![0; header.bytes as usize - 16];
        from.read_exact(&mut payload).ok()?;
        to.write_all(&[&head[..], &payload].concat()).ok()?;
        Some(header)
    };
    for _ in 0..good {
        // Omits the descriptors, as if the server had forgotten to send them.
        if relay(&mut client, &mut server).is_none() || relay(&mut server, &mut client).is_none() {
            return;
        }
    }
    let mut head = [0; 16];
    if client.read_exact(&mut head).is_err() {
        return;
    }
    let header = MessageHeader::decode(&head).unwrap();
    let _ = match harm {
        0 => Ok(()),
        1 => client.write_all(&header.reply(usize::MAX / 2).encode()),
        2 => client.write_all(&header.failure(0).encode()),
        3 => client.write_all(&MessageHeader::command(header.id + 1, MessageCommand::Reset, 0).reply(0).encode()),
        4 => client.write_all(&header.reply(0).encode()),
        5 => client.write_all(&[0xff; 4096]),
        _ => {
            let command = MessageHeader::command(9, MessageCommand::DmaRead, 16);
            let message = [&command.encode()[..], &[0xff; 16]].concat();
            (0..100).try_for_each(|_| client.write_all(&message))
        }
    };
}

#[test]
fn a_server_that_means_harm_is_an_error_and_nothing_worse() {
    let served = Served::start();
    let path = served.folder.path().join("enemy.sock");
    let listener = UnixListener::bind(&path).unwrap();
    for good in 0..12 {
        for harm in 0..7 {
            std::thread::scope(|scope| {
                scope.spawn(|| serve_badly(&listener, &served.path(), good, harm));
                let Ok(device) = VfioUser::connect(&path) else { return };
                assert!(device.mapped_registers(0x1000).is_none(), "the descriptor was lost");
                let read = (0..20).map(|_| device.read_u32(8)).last();
                assert_eq!(read, Some(u32::MAX), "{harm} after {good} messages");
            });
        }
    }
    served.end();
}
