//! C functions on open files.
//!
//! Unsafe for the reason given in `abi.rs`, whose promises hold for every function here.
#![allow(unsafe_code, reason = "island: take pointers that C++ hands over")]

use std::sync::Arc;

use super::{Name, answer, refused};
use crate::{FileSystem, How, OpenFile};

/// Opens a file: `iolab_how`.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_file_open(
    fs: &FileSystem,
    path: Name,
    how: u32,
    opened: *mut *const OpenFile,
) -> i32 {
    let how = match how {
        0 => How::Existing,
        1 => How::Fresh,
        _ => How::OrNew,
    };
    // SAFETY: a name, by the caller's promise.
    let file = fs.open_file(unsafe { path.bytes() }, how);
    answer(file.map(|file| {
        // SAFETY: a place for a handle, by the caller's promise.
        unsafe { opened.write(Arc::into_raw(file)) }
    }))
}

/// Sends the bytes that the file has gathered, and releases the handle, also when that fails.
///
/// # Safety
/// The promises of `abi.rs`; the handle is not used any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_file_close(file: *const OpenFile) -> i32 {
    // SAFETY: from `iolab_logfs_file_open`, and released only once.
    let file = unsafe { Arc::from_raw(file) };
    answer(file.send())
}

/// Reads; returns the number of bytes.
///
/// # Safety
/// The promises of `abi.rs`. The bytes need not have been written before.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_file_read(
    file: &OpenFile,
    offset: u64,
    into: *mut u8,
    length: usize,
) -> i64 {
    if length == 0 {
        return 0;
    }
    // SAFETY: this number of bytes may be written there, by the caller's promise, and any bytes are
    // valid; nothing else accesses them during the call.
    let into = unsafe { std::slice::from_raw_parts_mut(into, length) };
    file.read(offset, into).map_or_else(refused, |found| found as i64)
}

/// `iolab_read`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawRead {
    offset: u64,
    into: *mut u8,
    length: usize,
    answer: i64,
}

/// Reads several stretches at once; each has its own result.
///
/// # Safety
/// The promises of `abi.rs`. The stretches do not overlap; their bytes need not have been written
/// before.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_file_read_many(file: &OpenFile, reads: *mut RawRead, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: this number of them exists, by the caller's promise.
    let reads = unsafe { std::slice::from_raw_parts_mut(reads, count) };
    let stretches = reads.iter().map(|read| {
        let empty: &mut [u8] = &mut [];
        if read.length == 0 {
            // Its address may be null.
            return (read.offset, empty);
        }
        // SAFETY: as for one read.
        (read.offset, unsafe { std::slice::from_raw_parts_mut(read.into, read.length) })
    });
    let mut stretches: Vec<(u64, &mut [u8])> = stretches.collect();
    let answers = file.read_many(&mut stretches);
    for (read, answer) in reads.iter_mut().zip(answers) {
        read.answer = answer.map_or_else(refused, |found| found as i64);
    }
}

/// Appends.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_file_append(file: &OpenFile, bytes: *const u8, length: usize) -> i32 {
    let bytes = Name { bytes, length };
    // SAFETY: bytes, by the caller's promise.
    answer(file.append(unsafe { bytes.bytes() }))
}

/// Writes at an offset.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_file_write(
    file: &OpenFile,
    offset: u64,
    bytes: *const u8,
    length: usize,
) -> i32 {
    let bytes = Name { bytes, length };
    // SAFETY: bytes, by the caller's promise.
    answer(file.write(offset, unsafe { bytes.bytes() }))
}

/// Makes durable what was appended.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn iolab_logfs_file_sync(file: &OpenFile) -> i32 {
    answer(file.sync())
}

/// Sends gathered bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn iolab_logfs_file_send(file: &OpenFile) -> i32 {
    answer(file.send())
}

/// Sets the size.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn iolab_logfs_file_truncate(file: &OpenFile, size: u64) -> i32 {
    answer(file.truncate(size))
}

/// Bytes of the file.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn iolab_logfs_file_size(file: &OpenFile) -> u64 {
    file.size()
}
