//! The conformance suite under every option, and tests specific to Linux AIO.

use std::fs::File;
use std::os::fd::AsRawFd;

use iolab_engine::conformance::ConformanceSetup;
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_memory::Backing;

use crate::{Libaio, LibaioLane, explain};

iolab_engine::conformance_suite!(Libaio);
iolab_engine::conformance_suite!(direct, Libaio, ConformanceSetup::default().direct().depths(&[1, 32, 256]));
iolab_engine::conformance_suite!(
    kernel_reap,
    Libaio,
    ConformanceSetup::default().direct().flag("userspace_reap", false).depths(&[1, 32])
);
iolab_engine::conformance_suite!(vectored, Libaio, ConformanceSetup::default().direct().flag("libaio_vectored", true));

fn lane_on(file: &File, setup: &ConformanceSetup, pool: &SlotPool, depth: usize) -> LibaioLane {
    let files = [TargetFile { path: "bare".into(), fd: file.as_raw_fd(), size_bytes: 0, is_block_device: false }];
    let options = &setup.options;
    let request =
        LaneRequest { files: &files, depth, buffers: pool.view(), options, direct: false, seed: 0, worker: 0 };
    Libaio::open(&request).map_err(|error| error.message).unwrap()
}

fn read(slot: u16) -> Op {
    Op { offset: 0, length: 16, buffer_offset: 0, file: 0, slot, kind: OpKind::Read, priority: 0 }
}

const FOREVER: Wait = Wait { at_least: 1, timeout_ns: u64::MAX };

#[test]
fn an_operation_larger_than_its_slot_is_refused() {
    let (file, pool) = (File::open("/dev/zero").unwrap(), SlotPool::new(2, 4096, 0, &Backing::Anonymous).unwrap());
    let mut lane = lane_on(&file, &ConformanceSetup::default(), &pool, 2);
    for op in [Op { length: 4097, ..read(0) }, Op { buffer_offset: u32::MAX, ..read(0) }, read(2)] {
        assert_eq!(lane.submit(&op), Submission::Refused(libc::EFAULT), "{op:?}");
    }
    assert_eq!(lane.reap(FOREVER, &mut Completions::with_room(1)), Ok(0));
}

/// A file that cannot sync asynchronously is synced by a plain call, whose result becomes the
/// completion.
#[test]
fn a_sync_the_kernel_queue_refuses_is_done_in_place() {
    let (file, pool) = (File::open("/dev/zero").unwrap(), SlotPool::new(4, 4096, 0, &Backing::Anonymous).unwrap());
    let mut lane = lane_on(&file, &ConformanceSetup::default(), &pool, 4);
    let mut out = Completions::with_room(4);
    for (slot, kind) in [OpKind::Read, OpKind::Sync, OpKind::Read, OpKind::DataSync].into_iter().enumerate() {
        assert_eq!(lane.submit(&Op { kind, ..read(slot as u16) }), Submission::Accepted);
    }
    assert_eq!(lane.submit(&read(0)), Submission::Full);
    assert_eq!(lane.flush_and_reap(Wait { at_least: 4, timeout_ns: u64::MAX }, &mut out), Ok(4));
    for done in out.as_slice() {
        // The result of fsync(2) for /dev/zero.
        let expected = if done.slot % 2 == 0 { 16 } else { -libc::EINVAL };
        assert_eq!(done.result, expected, "{done:?}");
    }
}

/// By default, completions are taken from the ring that the kernel maps.
#[test]
fn the_completion_ring_is_known_and_leaves_no_note() {
    let (file, pool) = (File::open("/dev/zero").unwrap(), SlotPool::new(1, 4096, 0, &Backing::Anonymous).unwrap());
    let mut lane = lane_on(&file, &ConformanceSetup::default(), &pool, 1);
    assert!(lane.takes_events_in_user_space());
    assert!(lane.notes().is_empty(), "{:?}", lane.notes());
    let mut out = Completions::with_room(1);
    assert_eq!(lane.submit(&read(0)), Submission::Accepted);
    lane.flush().unwrap();
    // The read of /dev/zero was done inside io_submit: its event is in the ring, and polling takes
    // it there.
    assert_eq!(lane.reap(Wait::POLL, &mut out), Ok(1));
    assert_eq!(out.as_slice()[0].result, 16);
}

#[test]
fn the_completion_ring_can_be_left_alone() {
    let (file, pool) = (File::open("/dev/zero").unwrap(), SlotPool::new(1, 4096, 0, &Backing::Anonymous).unwrap());
    assert!(
        !lane_on(&file, &ConformanceSetup::default().flag("userspace_reap", false), &pool, 1)
            .takes_events_in_user_space()
    );
}

#[test]
fn refusals_name_the_cause_and_a_way_out() {
    for (errno, cause, way) in [
        (libc::EAGAIN, "fs.aio-max-nr", "iodepth"),
        (libc::EINVAL, "depth", "lower iodepth"),
        (libc::ENOSYS, "no asynchronous I/O", "psync"),
    ] {
        let message = explain(errno, 8);
        assert!(message.contains(cause) && message.contains(way), "{message}");
    }
}
