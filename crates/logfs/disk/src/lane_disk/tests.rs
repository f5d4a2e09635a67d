//! Disks of every kind handle the same requests alike, and a lane's short transfers and refusals
//! are handled.

use iolab_engine::LaneError;
use iolab_export::{RamLane, Size};
use iolab_memory::Backing;

use super::*;
use crate::agreement::{SIZE, ask, exercise, scratch};
use crate::{Buffer, Caching, FileDisk, RamDisk};

fn lane_disk(slots: usize, slot_bytes: usize) -> LaneDisk<RamLane> {
    let pool = SlotPool::new(slots, slot_bytes, 0, &Backing::Anonymous).unwrap();
    let geometry = Geometry { size_bytes: SIZE, block_bytes: 512 };
    LaneDisk::new(pool, geometry, |view| RamLane::new(Size::new(SIZE, 512).unwrap(), view)).unwrap()
}

#[test]
fn all_disks_agree() {
    let expected = exercise(&mut RamDisk::new(SIZE, 512));
    for (slots, slot_bytes) in [(1, 512), (3, 4096), (8, 1 << 16)] {
        assert!(exercise(&mut lane_disk(slots, slot_bytes)) == expected, "{slots} slots of {slot_bytes}");
    }
    let file = scratch();
    let mut disk = FileDisk::open(file.path(), 512, Caching::PageCache).unwrap();
    assert!(exercise(&mut disk) == expected);
}

#[test]
fn many_requests_come_back_each_once_with_their_own_bytes() {
    let mut disk = lane_disk(4, 4096);
    let mut done = Vec::new();
    for tag in 0..50_u64 {
        let mut buffer = Buffer::zeroed(10_240);
        buffer.fill(tag as u8);
        disk.submit(DiskRequest { tag, action: Action::Write { at: tag * 10_240, buffer } }).unwrap();
    }
    while done.len() < 50 {
        disk.reap(true, &mut done);
    }
    let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..50).collect::<Vec<u64>>());
    for tag in 0..50_u64 {
        let read = ask(&mut disk, Action::Read { at: tag * 10_240, buffer: Buffer::zeroed(10_240) });
        assert!(read.buffer.unwrap().iter().all(|&byte| byte == tag as u8), "{tag}");
    }
}

/// Transfers half of what is asked, refuses trims, and breaks on request.
struct Stingy {
    inner: RamLane,
    halves: Vec<(u32, i32)>,
    breaks: bool,
}

impl Lane for Stingy {
    const SYNCHRONOUS: bool = true;

    fn submit(&mut self, op: &Op) -> Submission {
        if op.kind == OpKind::Trim {
            return Submission::Refused(95);
        }
        let mut half = *op;
        if op.length > 512 {
            half.length = (op.length / 2).next_multiple_of(512);
        }
        self.halves.push((u32::from(op.slot), 0));
        self.inner.submit(&half)
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        if self.breaks { Err(LaneError { call: "test", errno: 5 }) } else { Ok(()) }
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.inner.reap(wait, out)
    }
}

#[test]
fn short_transfers_are_finished_and_refusals_told() {
    let pool = SlotPool::new(2, 8192, 0, &Backing::Anonymous).unwrap();
    let geometry = Geometry { size_bytes: SIZE, block_bytes: 512 };
    let open = |view| {
        let inner = RamLane::new(Size::new(SIZE, 512).unwrap(), view)?;
        Ok::<_, std::io::Error>(Stingy { inner, halves: Vec::new(), breaks: false })
    };
    let mut disk = LaneDisk::new(pool, geometry, open).unwrap();
    let bytes: Vec<u8> = (0..20_480_u32).map(|number| (number / 100) as u8).collect();
    assert_eq!(ask(&mut disk, Action::Write { at: 512, buffer: Buffer::padded(&bytes, 512) }).result, Ok(()));
    let read = ask(&mut disk, Action::Read { at: 512, buffer: Buffer::zeroed(20_480) });
    assert!(read.buffer.unwrap()[..] == bytes[..]);
    assert!(disk.lane.halves.len() > 10, "every piece took several transfers");
    assert_eq!(ask(&mut disk, Action::Discard { at: 0, length: 512 }).result, Err(DeviceError::Failed(95)));
    disk.lane.breaks = true;
    assert_eq!(ask(&mut disk, Action::Flush).result, Err(DeviceError::Gone));
    assert_eq!(ask(&mut disk, Action::Flush).result, Err(DeviceError::Gone));
}
