//! Zoned namespaces as seen by the host. (The state machine has its own test with a reference
//! model.)

use iolab_nvme_spec::zone::ZoneState;
use iolab_nvme_spec::{AdminOpcode, IoOpcode, Status, SubmissionEntry};

use crate::host::{Host, admin, identify, transfer};

const CONFIG: &str = "size=16M zone=1M zone_capacity=768k max_open=2 max_active=3";
/// The number of blocks of a zone, and of those that can be written.
pub(crate) const ZONE: u64 = 2048;
const CAPACITY: u64 = 1536;

pub(crate) fn send(action: u32, lba: u64) -> SubmissionEntry {
    SubmissionEntry::new(IoOpcode::ZONE_MANAGEMENT_SEND.0, 0).with_nsid(1).with_slba(lba).with_cdw(13, action)
}

pub(crate) fn append(host: &Host, lba: u64, blocks: u32) -> SubmissionEntry {
    transfer(IoOpcode::ZONE_APPEND, lba, blocks).with_prps(host.data.address, host.second_page())
}

/// State and write pointer of the zone that contains a block.
pub(crate) fn zone(host: &mut Host, lba: u64) -> (u8, u64) {
    let report = SubmissionEntry::new(IoOpcode::ZONE_MANAGEMENT_RECEIVE.0, 0)
        .with_nsid(1)
        .with_slba(lba)
        .with_cdw(12, 31)
        .with_prps(host.data.address, 0);
    assert_eq!(host.io(report), Ok(0));
    let data = host.bytes(128);
    (data[65] >> 4, u64::from_le_bytes(data[64 + 24..64 + 32].try_into().unwrap()))
}

#[test]
fn a_host_finds_zones() {
    let mut host = Host::new(CONFIG, 0);
    let identifiers = host.fetch(identify(3, 1), 4096).unwrap();
    assert_eq!(identifiers[12 + 20 + 20..][..5], [4, 1, 0, 0, 2], "CSI: zoned");
    let sets = host.fetch(identify(0x1c, 0), 8).unwrap();
    assert_eq!(sets, [0b101, 0, 0, 0, 0, 0, 0, 0]);
    let zoned = host.fetch(identify(5, 1).with_cdw(11, 2 << 24), 4096).unwrap();
    assert_eq!((zoned[4], zoned[8]), (2, 1), "three active and two open, less one");
    assert_eq!(u64::from_le_bytes(zoned[2816..2824].try_into().unwrap()), ZONE);
    let list = host.fetch(identify(7, 0).with_cdw(11, 2 << 24), 8).unwrap();
    assert_eq!(list, [1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn zones_are_written_in_order_and_reset() {
    let mut host = Host::new(CONFIG, 1);
    let steps = [
        ("not at the pointer", host.write(8, 8), Err(Status::ZONE_INVALID_WRITE)),
        ("at the pointer", host.write(0, 8), Ok(0)),
        ("append", append(&host, 0, 8), Ok(8)),
        ("append again", append(&host, 0, 4), Ok(16)),
        ("append into the middle", append(&host, 8, 4), Err(Status::INVALID_FIELD)),
        ("zeroes at the pointer", transfer(IoOpcode::WRITE_ZEROES, 20, 4), Ok(0)),
        ("zeroes elsewhere", transfer(IoOpcode::WRITE_ZEROES, 20, 4), Err(Status::ZONE_INVALID_WRITE)),
        ("another zone", host.write(ZONE, 8), Ok(0)),
        ("a third one closes the first", host.write(2 * ZONE, 8), Ok(0)),
        ("a fourth one", host.write(3 * ZONE, 8), Err(Status::TOO_MANY_ACTIVE_ZONES)),
        ("read across zones", host.read(ZONE - 8, 16), Ok(0)),
        ("finish", send(2, ZONE), Ok(0)),
        ("full", append(&host, ZONE, 1), Err(Status::ZONE_FULL)),
        ("open explicitly", send(3, 3 * ZONE), Ok(0)),
        ("action into the middle", send(3, 3 * ZONE + 1), Err(Status::INVALID_FIELD)),
        ("no such action", send(9, 0), Err(Status::INVALID_FIELD)),
        ("extension", send(0x10, 0), Err(Status::INVALID_FIELD)),
        ("offline a good one", send(5, 0), Err(Status::INVALID_ZONE_TRANSITION)),
        ("close an empty one", send(1, 5 * ZONE), Err(Status::INVALID_ZONE_TRANSITION)),
        ("beyond", send(4, 16 * ZONE), Err(Status::LBA_OUT_OF_RANGE)),
    ];
    host.fill(4);
    for (what, command, expected) in steps {
        assert_eq!(host.io(command), expected, "{what}");
    }
    assert_eq!(zone(&mut host, 0), (ZoneState::CLOSED.0, 24));
    assert_eq!(zone(&mut host, ZONE), (ZoneState::FULL.0, u64::MAX));
    host.fill(1);
    assert_eq!(host.io(host.read(0, 8)), Ok(0));
    assert_eq!(host.bytes(1), [4]);
    assert_eq!(host.io(send(4, 0)), Ok(0));
    assert_eq!(zone(&mut host, 0), (ZoneState::EMPTY.0, 0));
    assert_eq!(host.io(host.read(0, 8)), Ok(0));
    assert_eq!(host.bytes(1), [0], "a reset zone reads as zeroes");
    assert_eq!(host.io(send(4 | 1 << 8, 0)), Ok(0));
    for number in 0..16 {
        assert_eq!(zone(&mut host, number * ZONE).0, ZoneState::EMPTY.0);
    }
}

#[test]
fn a_zone_ends_at_its_capacity() {
    let mut host = Host::new(CONFIG, 1);
    for lba in (0..CAPACITY - 16).step_by(16) {
        assert_eq!(host.io(host.write(lba, 16)), Ok(0));
    }
    assert_eq!(host.io(transfer(IoOpcode::WRITE_ZEROES, CAPACITY - 16, 17)), Err(Status::ZONE_BOUNDARY_ERROR));
    assert_eq!(host.io(append(&host, 0, 16)), Ok(CAPACITY - 16));
    assert_eq!(zone(&mut host, 0).0, ZoneState::FULL.0);
    assert_eq!(host.io(host.write(CAPACITY, 1)), Err(Status::ZONE_FULL));
}

#[test]
fn a_write_that_is_refused_later_leaves_the_pointer() {
    let mut host = Host::new(CONFIG, 1);
    let nowhere = transfer(IoOpcode::ZONE_APPEND, 0, 8).with_prps(64 << 40, 0);
    assert_eq!(host.io(nowhere), Err(Status::DATA_TRANSFER_ERROR));
    assert_eq!(zone(&mut host, 0), (ZoneState::EMPTY.0, 0));
}

#[test]
fn worn_zones_are_announced() {
    let mut host = Host::new(CONFIG, 1);
    assert_eq!(host.admin(admin(AdminOpcode::SET_FEATURES).with_cdw(10, 0x0b).with_cdw(11, 1 << 27)), Ok(0));
    host.send_admin(admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST));
    assert!(host.device.subsystem().set_zone_state(1, 3, ZoneState::READ_ONLY));
    assert!(!host.device.subsystem().set_zone_state(1, 16, ZoneState::READ_ONLY));
    host.device.poll();
    assert_eq!(host.reap_admin().unwrap().dw0(), 0x00bf_ef02);
    let log = admin(AdminOpcode::GET_LOG_PAGE).with_nsid(1).with_cdw(10, 0xbf | 3 << 16);
    let page = host.fetch(log, 16).unwrap();
    assert_eq!((page[0], u64::from_le_bytes(page[8..16].try_into().unwrap())), (1, 3 * ZONE));
    assert_eq!(host.io(host.write(3 * ZONE, 1)), Err(Status::ZONE_READ_ONLY));
    assert_eq!(host.io(send(5, 3 * ZONE)), Ok(0));
    assert_eq!(host.io(host.read(3 * ZONE, 1)), Err(Status::ZONE_OFFLINE));
    assert_eq!(host.io(host.write(3 * ZONE, 1)), Err(Status::ZONE_OFFLINE));
}
