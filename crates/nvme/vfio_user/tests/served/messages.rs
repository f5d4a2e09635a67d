//! The protocol itself: messages of a client, and the answers.

use std::os::fd::AsFd;

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_vfio_user::protocol::{
    CONFIG_REGION, DeviceInfo, DmaMap, DmaUnmap, InterruptInfo, MessageCommand, MessageHeader, RegionAccess,
    RegionArea, RegionFlags, RegionInfo, RegionQuery, VersionMessage,
};
use rustix::io::Errno;

use crate::Served;
use crate::raw::Raw;

const CC: u64 = 0x14;
const CSTS: u64 = 0x1c;
const READY: u32 = 1;
const FATAL: u32 = 2;
/// The addresses of the rings and of a buffer for data.
const SUBMISSIONS: u64 = 0x10_000;
const COMPLETIONS: u64 = 0x20_000;
const DATA: u64 = 0x30_000;
/// CC.EN, with queue entries of 64 and 16 bytes.
const ENABLE: u32 = 6 << 16 | 4 << 20 | 1;

fn errno(errno: Errno) -> u32 {
    errno.raw_os_error().unsigned_abs()
}

fn map(address: u64, bytes: u64, is_writable: bool) -> DmaMap {
    DmaMap { is_readable: true, is_writable, offset: 0, address, bytes }
}

/// Enables the controller with an admin queue of 16 entries.
fn enable(raw: &mut Raw) {
    raw.write_u32(0x24, 0x000f_000f);
    for (register, address) in [(0x28, SUBMISSIONS), (0x30, COMPLETIONS)] {
        raw.write_u32(register, address as u32);
        raw.write_u32(register + 4, 0);
    }
    raw.write_u32(CC, ENABLE);
    raw.until(CSTS, READY | FATAL, READY);
}

/// Identify Controller, with its data at [`DATA`].
fn identify() -> [u8; 64] {
    let mut entry = [0; 64];
    entry[0] = 0x06;
    entry[2] = 7;
    entry[24..32].copy_from_slice(&DATA.to_le_bytes());
    entry[40] = 1;
    entry
}

#[test]
fn a_client_learns_what_the_function_consists_of() {
    let served = Served::start();
    let mut raw = Raw::greeted(&served.path());
    let (payload, _) = raw.ask(MessageCommand::DeviceInfo, &DeviceInfo::query(), &[]).unwrap();
    let device = DeviceInfo { has_reset: true, is_pci: true, regions: 9, interrupt_kinds: 5 };
    assert_eq!(DeviceInfo::decode(&payload), Some(device));
    for (index, bytes, descriptors) in [(0, 0x4000, 1), (1, 0, 0), (4, 0x2000, 0), (7, 4096, 0), (8, 0, 0)] {
        let query = RegionQuery { most_bytes: 4096, index };
        let (payload, files) = raw.ask(MessageCommand::RegionInfo, &query.encode(), &[]).unwrap();
        let (info, _) = RegionInfo::decode(&payload).unwrap();
        assert_eq!((info.index, info.bytes, files.len()), (index, bytes, descriptors));
        assert_eq!(info.flags.has(RegionFlags::MAP), descriptors == 1);
        if index == 0 {
            assert_eq!(info.areas, [RegionArea { offset: 0x1000, bytes: 0x1000 }]);
        }
    }
    let query = RegionQuery { most_bytes: 4096, index: 9 };
    assert_eq!(raw.ask(MessageCommand::RegionInfo, &query.encode(), &[]).unwrap_err(), errno(Errno::INVAL));
    for (index, count) in [(0, 1), (1, 32), (2, 65), (3, 1), (4, 0)] {
        let (payload, _) = raw.ask(MessageCommand::InterruptInfo, &InterruptInfo::query(index), &[]).unwrap();
        assert_eq!(InterruptInfo::decode(&payload).unwrap().count, count);
    }
    let class = RegionAccess { offset: 8, region: CONFIG_REGION, count: 4 };
    let (payload, _) = raw.ask(MessageCommand::RegionRead, &class.encode(&[]), &[]).unwrap();
    assert_eq!(RegionAccess::decode(&payload), Some((class, &[1, 2, 8, 1][..])));
    let io_fds = RegionQuery { most_bytes: 4096, index: 0 };
    assert_eq!(raw.ask(MessageCommand::RegionIoFds, &io_fds.encode(), &[]).unwrap().0.len(), 16);
    served.end();
}

#[test]
fn what_is_refused_is_answered_with_an_errno_and_the_next_is_served() {
    let served = Served::start();
    let mut raw = Raw::greeted(&served.path());
    raw.map(map(0x1_0000, 0x1_0000, true), &[]).unwrap();
    let cases = [
        (map(0x1_8000, 0x1000, true), Errno::EXIST),
        (map(0x8000, 0x1_0000, true), Errno::EXIST),
        (map(0x1000, 0x800, true), Errno::INVAL),
        (map(0x800, 0x1000, true), Errno::INVAL),
        (map(0x1000, 0, true), Errno::INVAL),
        (map(u64::MAX - 0xfff, 0x1000, true), Errno::INVAL),
        (map(1 << 60, 1 << 50, true), Errno::NOSPC),
        (DmaMap { is_readable: false, ..map(0x1000, 0x1000, false) }, Errno::INVAL),
    ];
    for (case, expected) in cases {
        assert_eq!(raw.map(case, &[]), Err(errno(expected)), "{case:?}");
    }
    let unmap = |address, bytes| DmaUnmap { is_all: false, address, bytes }.encode();
    assert_eq!(raw.ask(MessageCommand::DmaUnmap, &unmap(0x1_0000, 0x1000), &[]).unwrap_err(), errno(Errno::NOENT));
    let (payload, _) = raw.ask(MessageCommand::DmaUnmap, &unmap(0x1_0000, 0x1_0000), &[]).unwrap();
    assert_eq!(payload, unmap(0x1_0000, 0x1_0000));
    for (offset, region, count) in [(0x4000, 0, 4), (u64::MAX, 0, 4), (0, 0, 0), (0, 1, 4), (4094, 7, 4), (2, 0, 4)] {
        let access = RegionAccess { offset, region, count };
        let answer = raw.ask(MessageCommand::RegionWrite, &access.encode(&[0; 4]), &[]);
        assert_eq!(answer.unwrap_err(), errno(Errno::INVAL), "{access:?}");
    }
    let short = RegionAccess { offset: 0x14, region: 0, count: 8 };
    assert_eq!(raw.ask(MessageCommand::RegionWrite, &short.encode(&[0; 4]), &[]).unwrap_err(), errno(Errno::INVAL));
    assert_eq!(
        raw.ask(MessageCommand::DmaRead, &[0; 16], &[]).unwrap_err(),
        errno(Errno::INVAL),
        "that is the server's"
    );
    assert!([&[][..], &[1; 7]].iter().all(|payload| raw.ask(MessageCommand::SetInterrupts, payload, &[]).is_err()));
    raw.ask(MessageCommand::Reset, &[], &[]).unwrap();
    served.end();
}

#[test]
fn versions_come_first_and_once() {
    let served = Served::start();
    let mut raw = Raw::connect(&served.path());
    assert_eq!(raw.ask(MessageCommand::DeviceInfo, &DeviceInfo::query(), &[]).unwrap_err(), errno(Errno::INVAL));
    let other = VersionMessage { major: 1, minor: 0, abilities: Default::default() };
    assert!(raw.ask(MessageCommand::Version, &other.encode(), &[]).is_err());
    assert!(raw.is_closed());
    let mut raw = Raw::connect(&served.path());
    let newer = VersionMessage { minor: 9, major: 0, ..other };
    let (payload, _) = raw.ask(MessageCommand::Version, &newer.encode(), &[]).unwrap();
    assert_eq!(VersionMessage::decode(&payload).unwrap().minor, 1);
    assert!(raw.ask(MessageCommand::Version, &newer.encode(), &[]).is_err());
    assert!(raw.is_closed());
    for broken in [&[0; 16][..], &MessageHeader::command(1, MessageCommand::Reset, usize::MAX / 2).encode()] {
        let mut raw = Raw::connect(&served.path());
        raw.send(broken, &[]);
        assert!(raw.is_closed());
    }
    served.end();
}

#[test]
fn memory_without_a_descriptor_is_reached_by_messages() {
    let served = Served::start();
    let mut raw = Raw::greeted(&served.path());
    raw.memory = vec![0; 0x40_000];
    raw.map(map(0, 0x40_000, true), &[]).unwrap();
    enable(&mut raw);
    raw.memory[SUBMISSIONS as usize..][..64].copy_from_slice(&identify());
    raw.write_u32(0x1000, 1);
    // The device sends requests while registers are read.
    while raw.memory[COMPLETIONS as usize + 14] & 1 == 0 {
        raw.read_u32(CSTS);
    }
    assert_eq!(raw.memory[COMPLETIONS as usize + 12..][..4], [7, 0, 1, 0], "done, in phase 1");
    assert!(raw.memory[DATA as usize + 24..].starts_with(b"iolab"), "the model");
    assert!(raw.reads >= 1 && raw.writes >= 2, "{} reads, {} writes", raw.reads, raw.writes);
    served.end();
}

#[test]
fn memory_whose_owner_could_take_it_away_is_reached_by_messages_too() {
    let served = Served::start();
    let mut raw = Raw::greeted(&served.path());
    raw.memory = vec![0; 0x40_000];
    let file = tempfile::tempfile().unwrap();
    file.set_len(0x40_000).unwrap();
    raw.map(map(0, 0x40_000, true), &[file.as_fd()]).unwrap();
    enable(&mut raw);
    raw.memory[SUBMISSIONS as usize..][..64].copy_from_slice(&identify());
    raw.write_u32(0x1000, 1);
    while raw.memory[COMPLETIONS as usize + 14] & 1 == 0 {
        raw.read_u32(CSTS);
    }
    served.end();
}

#[test]
fn queues_that_become_read_only_or_vanish_are_fatal_for_the_controller_alone() {
    let served = Served::start();
    // A BIOS does the same: its rings are in low memory, which is mapped in pieces and then made
    // read-only.
    let memory = SharedBytes::memfd("iolab-guest", 0x40_000).unwrap();
    let (file, _) = memory.file().unwrap();
    let unmap = DmaUnmap { is_all: false, address: 0, bytes: 0x40_000 };
    for again in ["read-only", "read-only and without a descriptor", "nothing"] {
        let mut raw = Raw::greeted(&served.path());
        raw.map(map(0, 0x40_000, true), &[file]).unwrap();
        memory.fill(0, 0x40_000, 0);
        memory.write(SUBMISSIONS as usize, &identify());
        enable(&mut raw);
        raw.ask(MessageCommand::DmaUnmap, &unmap.encode(), &[]).unwrap();
        match again {
            "read-only" => raw.map(map(0, 0x40_000, false), &[file]).unwrap(),
            "nothing" => {}
            _ => {
                raw.memory = vec![0; 0x40_000];
                raw.map(map(0, 0x40_000, false), &[]).unwrap();
            }
        }
        raw.write_u32(0x1000, 1);
        raw.until(CSTS, FATAL, FATAL);
        let mut completion = [0; 16];
        memory.read(COMPLETIONS as usize, &mut completion);
        assert_eq!(completion, [0; 16], "{again}: nothing was written");
        // The host resets the controller, which then works again.
        raw.write_u32(CC, 0);
        raw.until(CSTS, READY, 0);
        if again != "nothing" {
            raw.ask(MessageCommand::DmaUnmap, &unmap.encode(), &[]).unwrap();
        }
        raw.map(map(0, 0x40_000, true), &[file]).unwrap();
        enable(&mut raw);
        raw.write_u32(0x1000, 1);
        while memory.load_u32(COMPLETIONS as usize + 12, std::sync::atomic::Ordering::Acquire) == 0 {
            raw.read_u32(CSTS);
        }
    }
    assert_eq!(memory.access(), MappingAccess::ReadWrite);
    served.end();
}
