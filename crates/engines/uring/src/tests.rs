//! The conformance suite under every set-up of the ring, and tests specific to io_uring.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};

use iolab_engine::conformance::ConformanceSetup;
use iolab_engine::{
    Completions, Engine, Lane, LaneRequest, Op, OpKind, PoolView, SlotPool, Submission, TargetFile, Wait,
};
use iolab_memory::Backing;

use crate::{Uring, UringLane};

iolab_engine::conformance_suite!(Uring);
iolab_engine::conformance_suite!(deep_direct, Uring, ConformanceSetup::default().direct().depths(&[1, 32, 256]));
iolab_engine::conformance_suite!(plain_buffers, Uring, ConformanceSetup::default().direct().flag("fixedbufs", false));
iolab_engine::conformance_suite!(plain_files, Uring, ConformanceSetup::default().flag("registerfiles", false));
iolab_engine::conformance_suite!(vectored, Uring, ConformanceSetup::default().flag("nonvectored", false));
iolab_engine::conformance_suite!(cooperative, Uring, ConformanceSetup::default().direct().flag("defer_taskrun", false));
iolab_engine::conformance_suite!(
    interrupting,
    Uring,
    ConformanceSetup::default()
        .direct()
        .flag("single_issuer", false)
        .flag("coop_taskrun", false)
        .flag("register_ring", false)
);
iolab_engine::conformance_suite!(
    poll_thread,
    Uring,
    ConformanceSetup::default()
        .direct()
        .flag("sqthread_poll", true)
        .option("sqthread_idle", Value::Integer(1))
        .depths(&[1, 8])
);
iolab_engine::conformance_suite!(
    forced_async,
    Uring,
    ConformanceSetup::default().direct().option("force_async", Value::Integer(3)).depths(&[1, 32])
);

/// A lane over one descriptor that is not a scratch file.
struct Bare {
    lane: UringLane,
    out: Completions,
    pool: SlotPool,
}

fn bare(setup: &ConformanceSetup, fd: RawFd, depth: usize, slot_bytes: usize) -> Bare {
    let pool = SlotPool::new(depth, slot_bytes, 0, &Backing::Anonymous).unwrap();
    let files = [TargetFile { path: "bare".into(), fd, size_bytes: 0, is_block_device: false }];
    let request = LaneRequest {
        files: &files,
        depth,
        buffers: pool.view(),
        options: &setup.options,
        direct: false,
        seed: 0,
        worker: 0,
    };
    let lane = Uring::open(&request).map_err(|error| error.message).unwrap();
    Bare { lane, out: Completions::with_room(depth), pool }
}

fn read(slot: u16) -> Op {
    Op { offset: 0, length: 16, buffer_offset: 0, file: 0, slot, kind: OpKind::Read, priority: 0 }
}

fn setups() -> Vec<(&'static str, ConformanceSetup)> {
    vec![
        ("automatic", ConformanceSetup::default()),
        ("cooperative", ConformanceSetup::default().flag("defer_taskrun", false)),
        ("interrupting", ConformanceSetup::default().flag("single_issuer", false).flag("coop_taskrun", false)),
        ("poll thread", ConformanceSetup::default().flag("sqthread_poll", true)),
    ]
}

/// A read of an empty pipe never completes by itself: waits end by their timeout, and drop cancels
/// it.
#[test]
fn waits_end_and_drop_cancels_what_never_completes() {
    for (name, setup) in setups() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut bare = bare(&setup, reader.as_raw_fd(), 2, 4096);
        assert_eq!(bare.lane.submit(&read(0)), Submission::Accepted, "{name}");
        assert_eq!(bare.lane.submit(&read(1)), Submission::Accepted, "{name}");
        assert_eq!(bare.lane.submit(&read(1)), Submission::Full, "{name}");
        bare.lane.flush().unwrap();
        for wait in [Wait::POLL, Wait { at_least: 1, timeout_ns: 1 }, Wait { at_least: 2, timeout_ns: 1_000_000 }] {
            assert_eq!(bare.lane.reap(wait, &mut bare.out), Ok(0), "{name} {wait:?}");
            assert_eq!(bare.lane.flush_and_reap(wait, &mut bare.out), Ok(0), "{name} {wait:?}");
        }
        // One of them completes when data comes, by polling alone.
        (&writer).write_all(b"sixteen bytes ab").unwrap();
        while bare.lane.reap(Wait::POLL, &mut bare.out).unwrap() == 0 {}
        assert_eq!(bare.out.as_slice().len(), 1, "{name}");
        assert_eq!(bare.out.as_slice()[0].result, 16, "{name}");
        drop(bare);
    }
}

/// Buffers that exceed the limit of locked memory still work, and a note reports it.
#[test]
fn buffers_that_cannot_be_registered_are_plain_with_a_note() {
    let file = File::open("/dev/zero").unwrap();
    // More slots than the kernel can register, regardless of the limit of locked memory.
    let mut many = bare(&ConformanceSetup::default(), file.as_raw_fd(), crate::abi::MAX_BUFFERS + 1, 4096);
    assert!(!many.lane.has_fixed_buffers());
    assert_eq!(many.lane.notes().len(), 1, "{:?}", many.lane.notes());
    assert!(many.lane.notes()[0].contains("plain"), "{:?}", many.lane.notes());
    assert_eq!(many.lane.submit(&read(3)), Submission::Accepted);
    let wait = Wait { at_least: 1, timeout_ns: u64::MAX };
    assert_eq!(many.lane.flush_and_reap(wait, &mut many.out), Ok(1));
    assert_eq!(many.out.as_slice()[0].result, 16);
}

#[test]
fn an_operation_larger_than_its_slot_is_refused() {
    let file = File::open("/dev/zero").unwrap();
    let mut bare = bare(&ConformanceSetup::default(), file.as_raw_fd(), 2, 4096);
    for op in [
        Op { length: 4097, ..read(0) },
        Op { buffer_offset: 4090, ..read(0) },
        Op { length: u32::MAX, buffer_offset: u32::MAX, ..read(0) },
        read(2),
    ] {
        assert_eq!(bare.lane.submit(&op), Submission::Refused(libc::EFAULT), "{op:?}");
    }
    assert_eq!(bare.lane.reap(Wait { at_least: 1, timeout_ns: u64::MAX }, &mut bare.out), Ok(0));
}

#[test]
fn a_depth_beyond_the_ring_is_refused_with_its_limit() {
    let request = LaneRequest {
        files: &[],
        depth: 40_000,
        buffers: PoolView::EMPTY,
        options: &ConformanceSetup::default().options,
        direct: false,
        seed: 0,
        worker: 0,
    };
    let error = Uring::open(&request).map(|_| ()).unwrap_err();
    assert!(error.message.contains("32768"), "{}", error.message);
}

/// Per-operation priorities reach the kernel: the real-time class is refused or taken, never
/// ignored as junk.
#[test]
fn priorities_are_packed_as_the_kernel_wants_them() {
    let file = File::open("/dev/zero").unwrap();
    let mut bare = bare(&ConformanceSetup::default(), file.as_raw_fd(), 1, 4096);
    let wait = Wait { at_least: 1, timeout_ns: u64::MAX };
    // Best effort, level 5; then a level of no class, which the kernel refuses with EINVAL.
    for (priority, expected) in [(2 << 3 | 5, 16), (5, -libc::EINVAL)] {
        assert_eq!(bare.lane.submit(&Op { priority, ..read(0) }), Submission::Accepted);
        bare.out.clear();
        assert_eq!(bare.lane.flush_and_reap(wait, &mut bare.out), Ok(1));
        assert_eq!(bare.out.as_slice()[0].result, expected, "priority {priority}");
    }
}

/// A file of numbered blocks in the temporary folder, already unlinked.
fn numbered_file(blocks: u64) -> File {
    let path = std::env::temp_dir().join(format!("iolab-uring-{}-{:p}", std::process::id(), &raw const blocks));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for block in 0..blocks {
        file.write_all(&[block as u8; 4096]).unwrap();
    }
    file.sync_all().unwrap();
    file
}

/// Reads blocks of a numbered file at the lane's depth. Returns the results, each checked against
/// its data.
fn read_blocks(bare: &mut Bare, depth: usize, blocks: u64) -> Vec<i32> {
    for slot in 0..depth as u16 {
        let op = Op { offset: u64::from(slot) % blocks * 4096, length: 4096, ..read(slot) };
        assert_eq!(bare.lane.submit(&op), Submission::Accepted);
    }
    bare.out.clear();
    let wait = Wait { at_least: depth, timeout_ns: u64::MAX };
    assert_eq!(bare.lane.flush_and_reap(wait, &mut bare.out), Ok(depth));
    for done in bare.out.as_slice().iter().filter(|done| done.result > 0) {
        let expected = (u64::from(done.slot) % blocks) as u8;
        assert!(bare.pool.slot_mut(done.slot as usize).iter().all(|&byte| byte == expected), "slot {}", done.slot);
    }
    bare.out.as_slice().iter().map(|done| done.result).collect()
}

/// With any combination of switches, a lane opens and reads the expected data.
#[test]
fn every_combination_of_switches_works() {
    const SWITCHES: [&str; 7] = [
        "fixedbufs",
        "registerfiles",
        "single_issuer",
        "defer_taskrun",
        "coop_taskrun",
        "register_ring",
        "nonvectored",
    ];
    let file = numbered_file(16);
    for bits in 0..1_u32 << SWITCHES.len() {
        let on = |index: usize| bits >> index & 1 == 1;
        let setup = SWITCHES
            .iter()
            .enumerate()
            .fold(ConformanceSetup::default(), |setup, (index, name)| setup.flag(name, on(index)));
        let depth = [1, 32, 256][bits as usize % 3];
        let mut bare = bare(&setup, file.as_raw_fd(), depth, 4096);
        for _ in 0..2 {
            assert!(read_blocks(&mut bare, depth, 16).iter().all(|&result| result == 4096), "{bits:#b}");
        }
        assert_eq!(bare.lane.defers_task_work(), on(2) && on(3), "{bits:#b}");
    }
}

/// Options that depend on the device and the file system: operations succeed or report that they
/// cannot.
#[test]
fn what_the_device_lacks_fails_operation_by_operation() {
    let file = numbered_file(16);
    for (name, permitted) in [
        ("hipri", [libc::EOPNOTSUPP, libc::EINVAL]),
        ("uncached", [libc::EOPNOTSUPP, libc::EINVAL]),
        ("nowait", [libc::EOPNOTSUPP, libc::EAGAIN]),
    ] {
        for with_thread in [false, true] {
            let setup = ConformanceSetup::default().flag(name, true).flag("sqthread_poll", with_thread);
            let mut bare = bare(&setup, file.as_raw_fd(), 8, 4096);
            for _ in 0..2 {
                for result in read_blocks(&mut bare, 8, 16) {
                    assert!(result == 4096 || permitted.contains(&-result), "{name}: {result}");
                }
            }
            for kind in [OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange, OpKind::Trim] {
                let op = Op { kind, offset: 1 << 20, length: 4096, ..read(5) };
                assert_eq!(bare.lane.submit(&op), Submission::Accepted, "{name}");
                bare.out.clear();
                let wait = Wait { at_least: 1, timeout_ns: u64::MAX };
                assert_eq!(bare.lane.flush_and_reap(wait, &mut bare.out), Ok(1), "{name}");
                let result = bare.out.as_slice()[0].result;
                assert!(result == 0 || (kind == OpKind::Trim && result == -libc::EOPNOTSUPP), "{name} {kind:?}");
            }
        }
    }
}

/// A nonexistent processor is named as the likely cause.
#[test]
fn a_submission_thread_on_a_missing_processor_is_refused() {
    let options = ConformanceSetup::default()
        .option("sqthread_poll_cpu", iolab_engine::conformance::Value::Integer(65_000))
        .options;
    let request = LaneRequest {
        files: &[],
        depth: 1,
        buffers: PoolView::EMPTY,
        options: &options,
        direct: false,
        seed: 0,
        worker: 0,
    };
    let error = Uring::open(&request).map(|_| ()).unwrap_err();
    assert!(error.message.contains("sqthread_poll_cpu"), "{}", error.message);
    assert_eq!(error.errno, Some(libc::EINVAL));
}
