//! C functions on an image and the names in it.
//!
//! Unsafe for the reason given in `abi.rs`, whose promises hold for every function here.
#![allow(unsafe_code, reason = "island: take pointers that C++ hands over")]

use std::ffi::{c_char, c_void};

use super::{Name, answer, refused};
use crate::{CallFailure, FileSystem, Location};

/// `iolab_status`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawStatus {
    size: u64,
    modified_seconds: u64,
    inode: u64,
    links: u32,
    is_directory: u32,
}

/// Opens the image that a URI names.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_open(uri: Name, opened: *mut *mut FileSystem) -> i32 {
    // SAFETY: a name, by the caller's promise.
    let uri = String::from_utf8_lossy(unsafe { uri.bytes() });
    let fs = Location::parse(&uri).map_err(CallFailure::from).and_then(|location| FileSystem::open(&location));
    answer(fs.map(|fs| {
        // SAFETY: a place for a handle, by the caller's promise.
        unsafe { opened.write(Box::into_raw(Box::new(fs))) }
    }))
}

/// Releases a handle. When the last handle of an image and its last open file are gone, the image
/// is closed.
///
/// # Safety
/// The promises of `abi.rs`; the handle is not used any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_close(fs: *mut FileSystem) {
    if !fs.is_null() {
        // SAFETY: from `iolab_logfs_open`, and released only once.
        drop(unsafe { Box::from_raw(fs) });
    }
}

/// What is at a path.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_status(fs: &FileSystem, path: Name, status: *mut RawStatus) -> i32 {
    // SAFETY: a name, by the caller's promise.
    let found = fs.status(unsafe { path.bytes() });
    answer(found.map(|found| {
        let raw = RawStatus {
            size: found.size,
            modified_seconds: found.modified_seconds,
            inode: found.inode,
            links: found.links,
            is_directory: found.is_directory.into(),
        };
        // SAFETY: a place for it, by the caller's promise.
        unsafe { status.write(raw) }
    }))
}

/// Calls a function for every name in a directory.
///
/// # Safety
/// The promises of `abi.rs`; the function accepts these arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_children(
    fs: &FileSystem,
    path: Name,
    take: extern "C" fn(*mut c_void, *const c_char, usize),
    context: *mut c_void,
) -> i32 {
    // SAFETY: a name, by the caller's promise.
    let names = fs.children(unsafe { path.bytes() });
    answer(names.map(|names| names.iter().for_each(|name| take(context, name.as_ptr().cast(), name.len()))))
}

/// An operation whose only argument is a path: `iolab_name_operation`.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_name(fs: &FileSystem, path: Name, operation: u32) -> i32 {
    // SAFETY: a name, by the caller's promise.
    let path = unsafe { path.bytes() };
    answer(match operation {
        0 => fs.unlink(path),
        1 => fs.make_directory(path),
        2 => fs.remove_directory(path),
        3 => fs.sync_directory(path),
        4 => fs.lock(path),
        5 => {
            fs.unlock(path);
            Ok(())
        }
        _ => {
            Err(CallFailure { errno: rustix::io::Errno::NOSYS.raw_os_error(), message: "no such operation".to_owned() })
        }
    })
}

/// Renames.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_rename(fs: &FileSystem, from: Name, to: Name) -> i32 {
    // SAFETY: names, by the caller's promise.
    answer(unsafe { fs.rename(from.bytes(), to.bytes()) })
}

/// Adds a name to a file.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_link(fs: &FileSystem, from: Name, to: Name) -> i32 {
    // SAFETY: names, by the caller's promise.
    answer(unsafe { fs.link(from.bytes(), to.bytes()) })
}

/// Bytes that can still be written.
///
/// # Safety
/// The promises of `abi.rs`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_free_bytes(fs: &FileSystem, bytes: *mut u64) -> i32 {
    match fs.space() {
        Ok(space) => {
            // SAFETY: a place for a number, by the caller's promise.
            unsafe { bytes.write(space.free_bytes) };
            0
        }
        Err(failure) => refused(failure) as i32,
    }
}
