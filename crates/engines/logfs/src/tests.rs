//! The conformance suite, and what the lane does to files, devices and locks beyond it.

use std::path::Path;

use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_memory::Backing;
use iolab_options::{Setting, Settings, Value};

use crate::{Logfs, LogfsLane};

iolab_engine::conformance_suite!(
    conformance,
    Logfs,
    ConformanceSetup::default().option("logfs_size", Value::Size(32 << 20))
);

const BLOCK: usize = 4096;

fn settings(pairs: &[(&str, Value)]) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in pairs {
        settings.set(name, Setting { value: value.clone(), text: String::new(), source: 0, span: (0, 0) });
    }
    settings
}

fn on(device: &str, more: &[(&str, Value)]) -> Settings {
    let mut pairs = vec![("logfs_device", Value::Text(device.into()))];
    pairs.extend(more.iter().cloned());
    settings(&pairs)
}

/// A lane with slots of 64 KiB, offset by some bytes, on one file.
struct Rig {
    lane: LogfsLane,
    pool: SlotPool,
    _files: Vec<TargetFile>,
}

impl Rig {
    fn open(options: &Settings, size_bytes: u64, displaced: usize) -> Result<Rig, String> {
        Rig::of_worker(0, options, size_bytes, displaced)
    }

    fn of_worker(worker: u32, options: &Settings, size_bytes: u64, displaced: usize) -> Result<Rig, String> {
        let depth = 8;
        let pool = SlotPool::new(depth, 64 << 10, displaced, &Backing::Anonymous).map_err(|error| error.message)?;
        let files = vec![TargetFile { path: "folder/file".into(), fd: -1, size_bytes, is_block_device: false }];
        let request =
            LaneRequest { files: &files, depth, buffers: pool.view(), options, direct: true, seed: 7, worker };
        Ok(Rig { lane: Logfs::open(&request).map_err(|error| error.message)?, pool, _files: files })
    }

    fn op(kind: OpKind, slot: u16, offset: u64, length: usize) -> Op {
        Op { offset, length: length as u32, buffer_offset: 0, file: 0, slot, kind, priority: 0 }
    }

    /// The results of operations that are all in flight together, by slot.
    fn perform(&mut self, ops: &[Op]) -> Vec<i32> {
        for op in ops {
            assert_eq!(self.lane.submit(op), Submission::Accepted);
        }
        let mut out = Completions::with_room(ops.len());
        let wait = Wait { at_least: ops.len(), timeout_ns: u64::MAX };
        assert_eq!(self.lane.flush_and_reap(wait, &mut out), Ok(ops.len()));
        let mut results = vec![0; ops.len()];
        out.as_slice().iter().for_each(|done| results[done.slot as usize] = done.result);
        results
    }

    fn write(&mut self, mark: u8, offset: u64, length: usize) -> i32 {
        self.pool.slot_mut(0)[..length].fill(mark);
        self.perform(&[Rig::op(OpKind::Write, 0, offset, length)])[0]
    }

    fn read(&mut self, offset: u64, length: usize) -> Vec<u8> {
        self.pool.slot_mut(0).fill(0xee);
        let count = self.perform(&[Rig::op(OpKind::Read, 0, offset, length)])[0];
        assert!(count >= 0, "reading failed with {count}");
        self.pool.slot_mut(0)[..count as usize].to_vec()
    }
}

#[test]
fn files_are_laid_out_written_trimmed_and_longer_afterwards() {
    for displaced in [0, 100] {
        let mut rig = Rig::open(&settings(&[]), 10 * BLOCK as u64 + 5, displaced).unwrap();
        let laid_out = rig.read(0, 3 * BLOCK);
        assert!(laid_out.len() == 3 * BLOCK && laid_out.iter().any(|&byte| byte != 0), "there is data to read");
        assert_eq!(rig.read(10 * BLOCK as u64, BLOCK).len(), 5, "a read over the end is short");
        assert_eq!(rig.read(20 * BLOCK as u64, BLOCK).len(), 0, "a read behind the end is empty");
        // Blocks, parts of blocks, and a length that is not a multiple of either.
        for (mark, offset, length) in
            [(1, 0, BLOCK), (2, 2 * BLOCK as u64 + 100, 700), (3, 30 * BLOCK as u64, 3 * BLOCK + 1)]
        {
            assert_eq!(rig.write(mark, offset, length), length as i32);
            assert!(rig.read(offset, length).iter().all(|&byte| byte == mark));
        }
        assert_eq!(rig.read(20 * BLOCK as u64, BLOCK), vec![0; BLOCK], "a hole");
        let ops = [
            Rig::op(OpKind::Trim, 0, 0, 2 * BLOCK),
            Rig::op(OpKind::Sync, 1, 0, 0),
            Rig::op(OpKind::DataSync, 2, 0, 0),
            Rig::op(OpKind::SyncFileRange, 3, 0, BLOCK),
        ];
        assert_eq!(rig.perform(&ops), [0; 4]);
        assert_eq!(rig.read(0, 2 * BLOCK), vec![0; 2 * BLOCK], "what was trimmed");
        assert_eq!(rig.read(2 * BLOCK as u64 + 100, 700), vec![2; 700], "beside it");
    }
}

#[test]
fn appends_in_flight_together_all_arrive() {
    let none = [("logfs_layout", Value::Size(0))];
    let mut rig = Rig::open(&settings(&none), 1 << 20, 0).unwrap();
    assert_eq!(rig.read(0, BLOCK).len(), 0, "nothing was laid out");
    for round in 0..10_u64 {
        for slot in 0..8 {
            rig.pool.slot_mut(slot)[..BLOCK].fill((round * 8 + slot as u64) as u8);
        }
        let ops: Vec<Op> = (0..8_u16)
            .map(|slot| Rig::op(OpKind::Write, slot, (round * 8 + u64::from(slot)) * BLOCK as u64, BLOCK))
            .collect();
        assert_eq!(rig.perform(&ops), [BLOCK as i32; 8]);
    }
    for block in 0..80_u64 {
        assert_eq!(rig.read(block * BLOCK as u64, BLOCK), vec![block as u8; BLOCK], "block {block}");
    }
}

#[test]
fn operations_that_are_performed_together_have_their_own_results() {
    for displaced in [0, 100] {
        let mut rig = Rig::open(&settings(&[]), 10 * BLOCK as u64 + 5, displaced).unwrap();
        for slot in 0..8 {
            rig.pool.slot_mut(slot)[..BLOCK].fill(slot as u8 + 1);
        }
        let all = |kind, first: u64, length: usize| -> Vec<Op> {
            (0..8_u16).map(|slot| Rig::op(kind, slot, first + u64::from(slot) * length as u64, length)).collect()
        };
        assert_eq!(rig.perform(&all(OpKind::Write, 3 * BLOCK as u64, BLOCK)), [BLOCK as i32; 8]);
        for slot in 0..8 {
            rig.pool.slot_mut(slot).fill(0xee);
        }
        // The first of these reads has two blocks that were written, the fifth goes over the end.
        let found = rig.perform(&all(OpKind::Read, 3 * BLOCK as u64, 2 * BLOCK));
        let two = 2 * BLOCK as i32;
        assert_eq!(found, [two, two, two, two, 0, 0, 0, 0], "the file is 11 blocks long now");
        for block in 0..8 {
            let bytes = &rig.pool.slot_mut(block / 2)[block % 2 * BLOCK..][..BLOCK];
            assert!(bytes.iter().all(|&byte| byte == block as u8 + 1), "block {block}");
        }
        assert_eq!(rig.write(9, 11 * BLOCK as u64, 5), 5);
        let found = rig.perform(&all(OpKind::Read, 8 * BLOCK as u64, BLOCK));
        assert_eq!(found, [BLOCK as i32, BLOCK as i32, BLOCK as i32, 5, 0, 0, 0, 0]);
        assert_eq!(rig.pool.slot_mut(3)[..5], [9; 5]);
    }
}

#[test]
fn operations_flushed_one_by_one_arrive_in_any_pattern() {
    let mut rig = Rig::open(&settings(&[]), 64 * BLOCK as u64, 0).unwrap();
    for blocks in [[0, 1, 2, 3, 4, 5, 6, 7], [20, 21, 40, 41, 42, 9, 30, 31], [50, 52, 54, 56, 55, 58, 59, 60]] {
        for kind in [OpKind::Write, OpKind::Read] {
            for (slot, block) in blocks.into_iter().enumerate() {
                let mark = if kind == OpKind::Write { block as u8 } else { 0xee };
                rig.pool.slot_mut(slot)[..BLOCK].fill(mark);
                let op = Rig::op(kind, slot as u16, block * BLOCK as u64, BLOCK);
                assert_eq!((rig.lane.submit(&op), rig.lane.flush()), (Submission::Accepted, Ok(())));
            }
            let mut out = Completions::with_room(8);
            assert_eq!(rig.lane.reap(Wait { at_least: 8, timeout_ns: u64::MAX }, &mut out), Ok(8));
            assert!(out.as_slice().iter().all(|done| done.result == BLOCK as i32));
        }
        for (slot, block) in blocks.into_iter().enumerate() {
            assert!(rig.pool.slot_mut(slot)[..BLOCK].iter().all(|&byte| byte == block as u8), "block {block}");
        }
    }
}

#[test]
fn writes_that_do_not_fit_together_are_done_as_far_as_they_fit() {
    let mut rig = Rig::open(&settings(&[("logfs_layout", Value::Size(0))]), 1 << 30, 0).unwrap();
    let length = 4 * BLOCK;
    let (mut end, mut offset, mut failed) = (0, 0_u64, false);
    while !failed {
        let ops: Vec<Op> = (0..8_u16)
            .map(|slot| Rig::op(OpKind::Write, slot, offset + u64::from(slot) * length as u64, length))
            .collect();
        ops.iter().for_each(|op| rig.pool.slot_mut(usize::from(op.slot))[..length].fill((op.offset >> 14) as u8));
        for (op, result) in ops.iter().zip(rig.perform(&ops)) {
            if result == -libc::ENOSPC {
                failed = true;
            } else {
                assert_eq!(result, length as i32);
                end = end.max(op.offset + length as u64);
                assert_eq!(rig.read(op.offset, length), vec![(op.offset >> 14) as u8; length]);
            }
        }
        offset += 8 * length as u64;
        assert!(offset < 1 << 30, "the file system is never full");
    }
    assert!(end > 8 << 20, "{end} bytes");
}

#[test]
fn a_device_keeps_the_files_of_each_domain_and_gives_a_domain_to_one_lane() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    let device = path.to_str().unwrap();
    let make = [
        ("logfs_mkfs", Value::Flag(true)),
        ("logfs_domains", Value::Integer(2)),
        ("logfs_size", Value::Size(96 << 20)),
    ];
    let size = 4 * BLOCK as u64;
    {
        let mut first = Rig::open(&on(device, &make), size, 0).unwrap();
        // The second finds the file system made and in use, and does not make it again.
        let mut second = Rig::open(&on(device, &make), size, 0).unwrap();
        assert_eq!((first.write(1, 0, BLOCK), second.write(2, 0, BLOCK)), (BLOCK as i32, BLOCK as i32));
        let third = Rig::open(&on(device, &[]), size, 0).err().unwrap();
        assert!(third.contains("all domains of") && third.contains("--domains=N"), "{third}");
        assert_eq!(first.read(0, BLOCK), vec![1; BLOCK]);
    }
    let both = [(0, 1), (1, 2)];
    for (domain, mark) in both {
        let mut again = Rig::open(&on(&format!("{device}#{domain}"), &[]), size, 0).unwrap();
        assert_eq!(again.read(0, BLOCK), vec![mark; BLOCK], "domain {domain}");
        let taken = Rig::open(&on(&format!("{device}#{domain}"), &[]), size, 0).err().unwrap();
        assert!(taken.contains("taken by other workers"), "{taken}");
    }
    for number in [1, 0, 3] {
        let mut own = Rig::of_worker(number, &on(device, &[]), size, 0).unwrap();
        assert_eq!(
            own.read(0, BLOCK),
            vec![number as u8 % 2 + 1; BLOCK],
            "a worker finds the domain of its number: {number}"
        );
    }
    let none = Rig::open(&on(&format!("{device}#2"), &[]), size, 0).err().unwrap();
    assert!(none.contains("domain 2"), "{none}");
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.img");
    std::fs::File::create(&empty).and_then(|file| file.set_len(16 << 20)).unwrap();
    let nowhere = Path::new("/nowhere/at.img");
    let cases = [
        (on(empty.to_str().unwrap(), &[]), 4096, "iolab fs mkfs or logfs_mkfs=1"),
        (on(nowhere.to_str().unwrap(), &[]), 4096, "No such file"),
        (settings(&[]), 1 << 30, "raise logfs_size"),
        (settings(&[("logfs_size", Value::Size(100))]), 4096, "logfs_size"),
        (settings(&[("logfs_cluster", Value::Size(12_345))]), 4096, "logfs_cluster"),
    ];
    for (options, size, expected) in cases {
        let error = Rig::open(&options, size, 0).err().unwrap();
        assert!(error.contains(expected), "{error}");
    }
}

/// Lanes on their own threads, which share a file system of two domains.
#[test]
fn workers_share_one_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let options = on(
        image.to_str().unwrap(),
        &[
            ("logfs_shared", Value::Flag(true)),
            ("logfs_mkfs", Value::Flag(true)),
            ("logfs_domains", Value::Integer(2)),
            ("logfs_size", Value::Size(96 << 20)),
            ("logfs_layout", Value::Size(0)),
        ],
    );
    let all_open = std::sync::Barrier::new(3);
    let written = std::sync::Barrier::new(3);
    std::thread::scope(|scope| {
        for worker in 0..3_u32 {
            let (options, all_open, written) = (&options, &all_open, &written);
            scope.spawn(move || {
                // All use one file: for two of them it belongs to another core.
                let mut rig = Rig::of_worker(worker, options, 1 << 20, if worker == 1 { 100 } else { 0 }).unwrap();
                all_open.wait();
                let own = |block: u64| (block * 3 + u64::from(worker)) * BLOCK as u64;
                for block in 0..20 {
                    let mark = (block * 3) as u8 + worker as u8 + 1;
                    assert_eq!(rig.write(mark, own(block), BLOCK), BLOCK as i32);
                }
                assert_eq!(rig.perform(&[Rig::op(OpKind::Sync, 0, 0, 0)]), [0]);
                written.wait();
                for block in 0..60_u64 {
                    let mark = (block / 3 * 3) as u8 + (block % 3) as u8 + 1;
                    assert_eq!(rig.read(block * BLOCK as u64, BLOCK), vec![mark; BLOCK], "worker {worker}");
                }
                // Also a small write, which is forwarded as bytes.
                assert_eq!(rig.write(9, (200 + u64::from(worker)) * BLOCK as u64 + 5, 70), 70);
            });
        }
    });
    // The last lane closes it, and the written data exists when each lane has its own domain.
    let again = on(image.to_str().unwrap(), &[("logfs_layout", Value::Size(0))]);
    let sizes: Vec<usize> =
        (0..2).map(|worker| Rig::of_worker(worker, &again, 1 << 20, 0).unwrap().read(0, BLOCK).len()).collect();
    assert!(sizes.contains(&BLOCK), "{sizes:?}");
    let two = on("a:b", &[("logfs_shared", Value::Flag(true))]);
    assert!(Rig::open(&two, 1 << 20, 0).is_err_and(|message| message.contains("exactly one logfs_device")));
}
