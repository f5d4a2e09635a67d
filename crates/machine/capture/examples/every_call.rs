//! A program that makes a known number of operations by every call that a capture sees:
//! `every_call FOLDER COUNT`. Each transfer is of [`BLOCK`] bytes.
//!
//! It ends with 0, or with 3 where the kernel has no io_uring for it.
//!
//! Unsafe: system calls with addresses, and rings that the kernel shares.
#![allow(unsafe_code, reason = "island: raw system calls")]

use std::ffi::{CString, c_void};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of every transfer.
const BLOCK: usize = 4096;
/// Asynchronous operations that are handed over at once.
const BATCH: usize = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, count] = arguments.as_slice() else { return ExitCode::from(2) };
    let count: usize = count.parse().expect("COUNT is a number");
    let path = CString::new(format!("{folder}/data")).expect("no zero byte");
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
    // SAFETY: a path that lives; see also below: buffers live as long as the calls that use them.
    let fd = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    assert!(fd >= 0);
    let mut buffer = vec![7_u8; BLOCK];
    transfers(fd, count, &mut buffer);
    durability(fd, count);
    descriptors(fd, &path, count);
    between_files(fd, folder, count);
    native_aio(fd, count, &mut buffer);
    let has_ring = ring(fd, count, &mut buffer);
    ExitCode::from(if has_ring { 0 } else { 3 })
}

fn transfers(fd: i32, count: usize, buffer: &mut [u8]) {
    let half = BLOCK / 2;
    let at = buffer.as_mut_ptr().cast::<c_void>();
    // SAFETY: the second half of the buffer.
    let vector = [at, unsafe { at.add(half) }].map(|iov_base| libc::iovec { iov_base, iov_len: half });
    let moved = BLOCK as isize;
    for index in 0..count {
        let offset = (index * BLOCK) as i64;
        // SAFETY: all transfers are within `buffer`.
        unsafe {
            assert_eq!(libc::write(fd, at, BLOCK), moved);
            assert_eq!(libc::pwrite(fd, at, BLOCK, offset), moved);
            assert_eq!(libc::pread(fd, at, BLOCK, offset), moved);
            assert_eq!(libc::pwritev(fd, vector.as_ptr(), 2, offset), moved);
            assert_eq!(libc::preadv(fd, vector.as_ptr(), 2, offset), moved);
            assert_eq!(libc::pwritev2(fd, vector.as_ptr(), 2, offset, 0), moved);
            assert_eq!(libc::preadv2(fd, vector.as_ptr(), 2, offset, 0), moved);
        }
    }
    // SAFETY: as above.
    unsafe {
        for call in 0..3 {
            assert_eq!(libc::lseek(fd, 0, libc::SEEK_SET), 0);
            for _ in 0..count {
                let answer = match call {
                    0 => libc::read(fd, at, BLOCK),
                    1 => libc::readv(fd, vector.as_ptr(), 2),
                    _ => libc::writev(fd, vector.as_ptr(), 2),
                };
                assert_eq!(answer, moved);
            }
        }
    }
}

fn durability(fd: i32, count: usize) {
    for _ in 0..count / 10 {
        // SAFETY: no memory is involved.
        unsafe {
            assert_eq!(libc::fsync(fd), 0);
            assert_eq!(libc::fdatasync(fd), 0);
            assert_eq!(libc::syncfs(fd), 0);
            assert_eq!(libc::sync_file_range(fd, 0, BLOCK as i64, libc::SYNC_FILE_RANGE_WRITE), 0);
            assert_eq!(libc::fallocate(fd, libc::FALLOC_FL_KEEP_SIZE, 0, BLOCK as i64), 0);
        }
    }
}

fn descriptors(fd: i32, path: &CString, count: usize) {
    for _ in 0..count {
        // SAFETY: the path lives; the mapping is given back before it is used.
        unsafe {
            let other = libc::open(path.as_ptr(), libc::O_RDONLY);
            let copy = libc::dup(other);
            assert_eq!(libc::dup3(fd, copy, libc::O_CLOEXEC), copy);
            let third = libc::fcntl(other, libc::F_DUPFD_CLOEXEC, 100);
            assert!(third >= 100);
            let (length, shared) = (BLOCK, libc::MAP_SHARED);
            let map = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, shared, other, 0);
            assert_ne!(map, libc::MAP_FAILED);
            assert_eq!(libc::munmap(map, length), 0);
            [other, copy, third].into_iter().for_each(|fd| assert_eq!(libc::close(fd), 0));
            assert_eq!(libc::ftruncate(fd, (count * BLOCK) as i64), 0);
        }
    }
}

fn between_files(fd: i32, folder: &str, count: usize) {
    let path = CString::new(format!("{folder}/copy")).expect("no zero byte");
    let mut pipe = [0; 2];
    // SAFETY: addresses are of variables that live through the calls.
    unsafe {
        let copy = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC, 0o600);
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        let null = std::ptr::null_mut();
        for index in 0..count {
            let (mut from, mut to) = ((index * BLOCK) as i64, (index * BLOCK) as i64);
            assert_eq!(libc::copy_file_range(fd, &raw mut from, copy, &raw mut to, BLOCK, 0), BLOCK as isize);
            let mut from = (index * BLOCK) as i64;
            assert_eq!(libc::sendfile(copy, fd, &raw mut from, BLOCK), BLOCK as isize);
            let mut from = (index * BLOCK) as i64;
            assert_eq!(libc::splice(fd, &raw mut from, pipe[1], null, BLOCK, 0), BLOCK as isize);
            assert_eq!(libc::splice(pipe[0], null, copy, null, BLOCK, 0), BLOCK as isize);
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    flags: u32,
    operation: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    rest: [u64; 2],
}

/// Reads, then writes, in batches.
fn native_aio(fd: i32, count: usize, buffer: &mut [u8]) {
    let mut context = 0_u64;
    let mut events = [[0_u64; 4]; BATCH];
    // SAFETY: blocks, lists and events live until all operations have been collected.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_io_setup, BATCH, &raw mut context), 0);
        for operation in [0_u16, 1] {
            for batch in 0..count / BATCH {
                let block = |index: usize| ControlBlock {
                    operation,
                    fd: fd as u32,
                    buffer: buffer.as_ptr() as u64,
                    bytes: BLOCK as u64,
                    offset: ((batch * BATCH + index) * BLOCK) as i64,
                    ..ControlBlock::default()
                };
                let blocks: [ControlBlock; BATCH] = std::array::from_fn(block);
                let list = blocks.each_ref().map(|block| &raw const *block);
                let handed = libc::syscall(libc::SYS_io_submit, context, BATCH, list.as_ptr());
                assert_eq!(handed, BATCH as i64);
                let null = 0_u64;
                let done = libc::syscall(libc::SYS_io_getevents, context, BATCH, BATCH, events.as_mut_ptr(), null);
                assert_eq!(done, BATCH as i64);
                assert!(events.iter().all(|event| event[2] == BLOCK as u64));
            }
        }
        assert_eq!(libc::syscall(libc::SYS_io_destroy, context), 0);
    }
}

/// Reads, writes and syncs, in batches; false where there is no io_uring.
fn ring(fd: i32, count: usize, buffer: &mut [u8]) -> bool {
    let mut parameters = [0_u32; 30];
    // SAFETY: the parameters have the size that the kernel writes; the rings stay mapped to the end
    // of the program, and words in them are accessed atomically where the kernel does.
    unsafe {
        let ring = libc::syscall(libc::SYS_io_uring_setup, BATCH, parameters.as_mut_ptr()) as i32;
        if ring < 0 {
            return false;
        }
        let map = |offset: i64, bytes: usize| {
            let (rights, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
            let at = libc::mmap(std::ptr::null_mut(), bytes, rights, how, ring, offset);
            assert_ne!(at, libc::MAP_FAILED);
            at.cast::<u8>()
        };
        let (submission, entries) = (map(0, 4096), map(0x1000_0000, BATCH * 64));
        let completion = map(0x800_0000, 4096);
        let word = |base: *mut u8, offset: u32| &*base.add(offset as usize).cast::<AtomicU32>();
        let (tail, mask) = (word(submission, parameters[11]), word(submission, parameters[12]));
        let array = submission.add(parameters[16] as usize).cast::<u32>();
        let (head, done) = (word(completion, parameters[20]), word(completion, parameters[21]));
        for operation in [22_u8, 23, 3] {
            for batch in 0..count / BATCH {
                for index in 0..BATCH {
                    let mut entry = [0_u64; 8];
                    let place = ((batch * BATCH + index) * BLOCK) as u64;
                    entry[0] = u64::from(operation) | (fd as u64) << 32;
                    if operation != 3 {
                        (entry[1], entry[2], entry[3]) = (place, buffer.as_ptr() as u64, BLOCK as u64);
                    }
                    // The same value for all of a batch, as in some programs.
                    entry[4] = 7;
                    entries.cast::<[u64; 8]>().add(index).write(entry);
                    let slot = (tail.load(Ordering::Relaxed) as usize + index) & mask.load(Ordering::Relaxed) as usize;
                    array.add(slot).write(index as u32);
                }
                tail.fetch_add(BATCH as u32, Ordering::Release);
                let (wait, null) = (1_u32, 0_u64);
                let handed = libc::syscall(libc::SYS_io_uring_enter, ring, BATCH, BATCH, wait, null, 0);
                assert_eq!(handed, BATCH as i64);
                assert_eq!(done.load(Ordering::Acquire).wrapping_sub(head.load(Ordering::Relaxed)), BATCH as u32);
                head.fetch_add(BATCH as u32, Ordering::Release);
            }
        }
    }
    true
}
