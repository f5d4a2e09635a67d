//! Blocks on another device, read and written by blocking calls.

use std::fmt;
use std::io::{self, ErrorKind};

use super::{CopyError, DataWindow};

/// A device that stores the blocks of a drive. Each call returns when the device has answered.
/// Offsets and lengths are multiples of its block size, and within its size.
pub trait BlockStore: fmt::Debug + Send + Sync {
    /// Reads as many bytes as `to` has.
    fn read(&self, offset: u64, to: &mut [u8]) -> io::Result<()>;

    /// Writes as many bytes as `from` has.
    fn write(&self, offset: u64, from: &[u8]) -> io::Result<()>;

    /// Makes bytes read as zeroes, and frees their space where the device can.
    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()>;

    /// Makes written data survive a loss of power.
    fn flush(&self) -> io::Result<()>;
}

/// Converts an error of the device to the error of a read; the next function, to that of a change.
#[cold]
fn of_read(_: io::Error) -> CopyError {
    CopyError::Lost
}

#[cold]
fn of_write(error: io::Error) -> CopyError {
    if error.kind() == ErrorKind::StorageFull { CopyError::Full } else { CopyError::NotWritten }
}

pub(super) fn copy_to_host<D: DataWindow>(store: &dyn BlockStore, offset: u64, data: &mut D) -> Result<(), CopyError> {
    let mut bytes = vec![0; data.len()];
    read(store, offset, &mut bytes)?;
    Ok(data.write(&bytes)?)
}

pub(super) fn copy_from_host<D: DataWindow>(
    store: &dyn BlockStore,
    offset: u64,
    data: &mut D,
) -> Result<(), CopyError> {
    let mut bytes = vec![0; data.len()];
    data.read(&mut bytes)?;
    store.write(offset, &bytes).map_err(of_write)
}

pub(super) fn read(store: &dyn BlockStore, offset: u64, to: &mut [u8]) -> Result<(), CopyError> {
    store.read(offset, to).map_err(of_read)
}

pub(super) fn copy_within(store: &dyn BlockStore, from: u64, to: u64, bytes: usize) -> Result<(), CopyError> {
    let mut data = vec![0; bytes];
    read(store, from, &mut data)?;
    store.write(to, &data).map_err(of_write)
}

pub(super) fn discard(store: &dyn BlockStore, offset: u64, bytes: u64) -> Result<(), CopyError> {
    store.discard(offset, bytes).map_err(of_write)
}

pub(super) fn flush(store: &dyn BlockStore) -> Result<(), CopyError> {
    store.flush().map_err(|_| CopyError::Media)
}
