//! The disk agrees with the others, keeps buffers until the kernel has released them, and reports
//! errors.

use super::*;
use crate::agreement::{SIZE, ask, exercise, scratch};
use crate::{Buffer, RamDisk};

/// Where io_uring is forbidden, there is nothing to test, and the test says so.
fn open(path: &Path, opening: &DiskOptions) -> Option<UringDisk> {
    match UringDisk::open(path, opening) {
        Ok(disk) => Some(disk),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EACCES)) => {
            use std::io::Write;
            // Bypass the output capture of tests, which would hide it.
            let _ = writeln!(io::stderr(), "SKIPPED: io_uring is not permitted here: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn with_depth(depth: u32) -> DiskOptions {
    DiskOptions { depth, block_bytes: Some(512), caching: Caching::PageCache, ..DiskOptions::default() }
}

#[test]
fn it_agrees_with_a_disk_in_memory() {
    let expected = exercise(&mut RamDisk::new(SIZE, 512));
    for depth in [1, 2, 64] {
        let file = scratch();
        let Some(mut disk) = open(file.path(), &with_depth(depth)) else { return };
        assert!(exercise(&mut disk) == expected, "depth {depth}");
    }
}

#[test]
fn direct_transfers_work_on_whole_units() {
    let file = scratch();
    let Some(mut disk) = open(file.path(), &DiskOptions::default()) else { return };
    let unit = disk.geometry().block_bytes as usize;
    let bytes: Vec<u8> = (0..unit * 5).map(|at| (at / 7) as u8).collect();
    let at = 3 * unit as u64;
    assert_eq!(ask(&mut disk, Action::Write { at, buffer: Buffer::padded(&bytes, unit) }).result, Ok(()));
    assert_eq!(ask(&mut disk, Action::Flush).result, Ok(()));
    let read = ask(&mut disk, Action::Read { at, buffer: Buffer::zeroed(bytes.len()) });
    assert_eq!(read.result, Ok(()));
    assert!(read.buffer.unwrap()[..] == bytes[..]);
    assert!(std::fs::read(file.path()).unwrap()[at as usize..][..bytes.len()] == bytes[..]);
}

#[test]
fn more_requests_than_places_are_given_back_and_all_come_back_once() {
    let file = scratch();
    let Some(mut disk) = open(file.path(), &with_depth(4)) else { return };
    let mut done = Vec::new();
    let mut refused = 0;
    for tag in 0..60_u64 {
        let mut buffer = Buffer::zeroed(8192);
        buffer.fill(tag as u8 + 1);
        let mut request = DiskRequest { tag, action: Action::Write { at: tag * 8192, buffer } };
        while let Err(back) = disk.submit(request) {
            refused += 1;
            disk.reap(true, &mut done);
            request = back;
        }
    }
    while done.len() < 60 {
        disk.reap(true, &mut done);
    }
    assert!(refused > 0 && done.iter().all(|completion| completion.result == Ok(())));
    let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..60).collect::<Vec<u64>>());
    disk.reap(true, &mut done);
    assert_eq!(done.len(), 60, "nothing is under way, and waiting ends");
    drop(disk);
    let bytes = std::fs::read(file.path()).unwrap();
    assert!((0..60_usize).all(|tag| bytes[tag * 8192..(tag + 1) * 8192].iter().all(|&byte| byte == tag as u8 + 1)));
}

#[test]
fn a_file_that_became_shorter_is_an_error_of_its_requests_alone() {
    let file = scratch();
    let Some(mut disk) = open(file.path(), &with_depth(4)) else { return };
    file.as_file().set_len(SIZE / 2).unwrap();
    let across = Action::Read { at: SIZE / 2 - 512, buffer: Buffer::zeroed(1024) };
    assert_eq!(ask(&mut disk, across).result, Err(DeviceError::Failed(libc::EIO)));
    assert_eq!(ask(&mut disk, Action::Read { at: 0, buffer: Buffer::zeroed(1024) }).result, Ok(()));
}

#[test]
fn dropping_waits_for_what_is_under_way() {
    let file = scratch();
    let Some(mut disk) = open(file.path(), &with_depth(8)) else { return };
    for tag in 0..8_u64 {
        let mut buffer = Buffer::zeroed(65_536);
        buffer.fill(9);
        disk.submit(DiskRequest { tag, action: Action::Write { at: tag * 65_536, buffer } }).unwrap();
    }
    drop(disk);
    assert!(std::fs::read(file.path()).unwrap()[..8 * 65_536].iter().all(|&byte| byte == 9));
}

#[test]
fn a_disk_may_be_made_on_one_thread_and_used_on_another() {
    let file = scratch();
    let Some(disk) = open(file.path(), &with_depth(2)) else { return };
    let user = std::thread::spawn(move || {
        let mut disk = disk;
        ask(&mut disk, Action::Write { at: 512, buffer: Buffer::padded(b"from afar", 512) }).result
    });
    assert_eq!(user.join().unwrap(), Ok(()));
    assert!(std::fs::read(file.path()).unwrap()[512..].starts_with(b"from afar"));
}
