//! An open file: the bytes it has gathered and not sent yet, and what was read ahead.
//!
//! ```text
//!   0                      start                start + bytes
//!   ├── in the file system ──┼── gathered here ──┤
//! ```
//!
//! All users of a file share one of these, so that a reader sees what a writer has just appended.
//! Bytes are sent in order, one call after the other: after a crash, a prefix of the appends is
//! there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_disk::Buffer;
use iolab_logfs::{Error, InodeId, LocalVolume};

use crate::CallFailure;
use crate::file_system::Shared;
use crate::readahead::Ahead;

/// An open file. It is closed when its last user drops it.
#[derive(Debug)]
pub struct OpenFile {
    shared: Arc<Shared>,
    inode: InodeId,
    /// For messages.
    name: Vec<u8>,
    tail: Mutex<Tail>,
    /// Whether the tail has bytes; readers of a file that is not being written need no lock.
    has_tail: AtomicBool,
    ahead: Mutex<Ahead>,
}

/// The end of the file in the file system, and the gathered bytes after it.
#[derive(Debug)]
struct Tail {
    start: u64,
    bytes: Vec<u8>,
}

impl OpenFile {
    pub(crate) fn new(shared: &Arc<Shared>, inode: InodeId, path: &[u8], size: u64) -> OpenFile {
        OpenFile {
            shared: Arc::clone(shared),
            inode,
            name: path.to_vec(),
            tail: Mutex::new(Tail { start: size, bytes: Vec::new() }),
            has_tail: AtomicBool::new(false),
            ahead: Mutex::new(Ahead::new(shared.location.ahead_bytes)),
        }
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self, error: &Error) -> CallFailure {
        CallFailure::of(&self.name, error)
    }

    /// Size of the file, including gathered bytes.
    pub fn size(&self) -> u64 {
        let tail = self.tail();
        tail.start + tail.bytes.len() as u64
    }

    /// Appends bytes to the gathered ones, which are sent when there are many.
    ///
    /// # Errors
    /// As `write(2)`; also for bytes that were gathered before.
    pub fn append(&self, mut bytes: &[u8]) -> Result<(), CallFailure> {
        let gather = self.shared.location.gather_bytes.min(self.shared.service.layout().atomic_write_bytes() as usize);
        let mut tail = self.tail();
        while tail.bytes.len() + bytes.len() >= gather.max(1) {
            // Send whole pieces, which fill blocks.
            let (now, later) = bytes.split_at(gather.saturating_sub(tail.bytes.len()).min(bytes.len()));
            let (now, later) = if gather == 0 { (bytes, &bytes[..0]) } else { (now, later) };
            if tail.bytes.is_empty() {
                self.send_bytes(&mut tail, now)?;
            } else {
                let before = tail.bytes.len();
                tail.bytes.extend_from_slice(now);
                if let Err(failure) = self.send_tail(&mut tail) {
                    // The bytes of this call were not accepted.
                    tail.bytes.truncate(before);
                    return Err(failure);
                }
            }
            bytes = later;
            if bytes.is_empty() {
                return Ok(());
            }
        }
        tail.bytes.extend_from_slice(bytes);
        self.has_tail.store(!tail.bytes.is_empty(), Ordering::Release);
        Ok(())
    }

    /// Sends the gathered bytes.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn send(&self) -> Result<(), CallFailure> {
        if !self.has_tail.load(Ordering::Acquire) {
            return Ok(());
        }
        self.send_tail(&mut self.tail())
    }

    fn send_tail(&self, tail: &mut Tail) -> Result<(), CallFailure> {
        let bytes = std::mem::take(&mut tail.bytes);
        let sent = self.send_bytes(tail, &bytes);
        tail.bytes = bytes;
        if sent.is_ok() {
            tail.bytes.clear();
            self.has_tail.store(false, Ordering::Release);
        }
        sent
    }

    /// Writes bytes at the file's end in the file system.
    fn send_bytes(&self, tail: &mut Tail, bytes: &[u8]) -> Result<(), CallFailure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (inode, start, buffer) = (self.inode, tail.start, Buffer::padded(bytes, 1));
        let sent = self.shared.service.call(async move |fs: LocalVolume| fs.write_buffer(inode, start, buffer).await.0);
        sent.map_err(|error| self.failure(&error))?;
        tail.start += bytes.len() as u64;
        Ok(())
    }

    /// Makes appended bytes durable, and everything before them.
    ///
    /// # Errors
    /// As `fdatasync(2)`.
    pub fn sync(&self) -> Result<(), CallFailure> {
        let mut tail = self.tail();
        let (inode, start, length) = (self.inode, tail.start, tail.bytes.len());
        let buffer = (length > 0).then(|| Buffer::padded(&tail.bytes, 1));
        // One call for both: the records of a log are usually short, each with a sync.
        let synced = self.shared.service.call(async move |fs: LocalVolume| {
            if let Some(buffer) = buffer {
                fs.write_buffer(inode, start, buffer).await.0?;
            }
            fs.fdatasync(inode).await
        });
        // After an error, bytes that were already sent are sent again to the same place.
        synced.map_err(|error| self.failure(&error))?;
        tail.start += length as u64;
        tail.bytes.clear();
        self.has_tail.store(false, Ordering::Release);
        Ok(())
    }

    /// Reads bytes from `offset` on; returns their number, which is smaller at the end of the file.
    ///
    /// # Errors
    /// As `pread(2)`.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, CallFailure> {
        if self.has_tail.load(Ordering::Acquire) {
            return self.read_with_tail(offset, into);
        }
        // A reader that does not get the lock reads without read-ahead.
        if let Ok(mut ahead) = self.ahead.try_lock() {
            if let Some(found) = ahead.find(offset, into) {
                return Ok(found);
            }
            if let Some(length) = ahead.wanted(offset, into.len()) {
                let (buffer, found) = self.fetch(offset, length)?;
                return Ok(ahead.keep(offset, found, buffer, into));
            }
        }
        let (buffer, found) = self.fetch(offset, into.len())?;
        into[..found].copy_from_slice(&buffer[..found]);
        Ok(found)
    }

    fn read_with_tail(&self, offset: u64, into: &mut [u8]) -> Result<usize, CallFailure> {
        let tail = self.tail();
        let sent = usize::try_from(tail.start.saturating_sub(offset)).unwrap_or(usize::MAX).min(into.len());
        let mut found = 0;
        if sent > 0 {
            let (buffer, there) = self.fetch(offset, sent)?;
            found = there.min(sent);
            into[..found].copy_from_slice(&buffer[..found]);
        }
        if found == sent {
            let from = usize::try_from(offset.saturating_sub(tail.start)).unwrap_or(usize::MAX);
            let rest = tail.bytes.get(from..).unwrap_or_default();
            let length = rest.len().min(into.len() - found);
            into[found..found + length].copy_from_slice(&rest[..length]);
            found += length;
        }
        Ok(found)
    }

    /// Reads several stretches, concurrently as far as the disk can; the results are in the same
    /// order.
    pub fn read_many(&self, wanted: &mut [(u64, &mut [u8])]) -> Vec<Result<usize, CallFailure>> {
        if self.has_tail.load(Ordering::Acquire) {
            return wanted.iter_mut().map(|(offset, into)| self.read(*offset, into)).collect();
        }
        let (inode, block) = (self.inode, self.shared.service.layout().block_bytes as usize);
        let reads = wanted.iter().map(|(offset, into)| {
            let (offset, length) = (*offset, into.len());
            async move |fs: LocalVolume| read_new(&fs, inode, offset, length, block).await
        });
        let answers = self.shared.service.call_each(reads.collect());
        let placed = answers.into_iter().zip(wanted).map(|(answer, (_, into))| -> Result<usize, CallFailure> {
            let (buffer, found) = answer.map_err(|error| self.failure(&error))?;
            into[..found].copy_from_slice(&buffer[..found]);
            Ok(found)
        });
        placed.collect()
    }

    /// Reads into a new buffer.
    fn fetch(&self, offset: u64, length: usize) -> Result<(Buffer, usize), CallFailure> {
        let inode = self.inode;
        let block = self.shared.service.layout().block_bytes as usize;
        let read =
            self.shared.service.call(async move |fs: LocalVolume| read_new(&fs, inode, offset, length, block).await);
        read.map_err(|error| self.failure(&error))
    }

    /// Writes bytes at `offset`.
    ///
    /// # Errors
    /// As `pwrite(2)`.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), CallFailure> {
        let mut tail = self.tail();
        self.send_tail(&mut tail)?;
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).forget();
        let (inode, buffer) = (self.inode, Buffer::padded(bytes, 1));
        let sent =
            self.shared.service.call(async move |fs: LocalVolume| fs.write_buffer(inode, offset, buffer).await.0);
        sent.map_err(|error| self.failure(&error))?;
        tail.start = tail.start.max(offset + bytes.len() as u64);
        Ok(())
    }

    /// Sets the size.
    ///
    /// # Errors
    /// As `ftruncate(2)`.
    pub fn truncate(&self, size: u64) -> Result<(), CallFailure> {
        let mut tail = self.tail();
        self.send_tail(&mut tail)?;
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).forget();
        let inode = self.inode;
        let done = self.shared.service.call(async move |fs: LocalVolume| fs.truncate(inode, size).await);
        done.map_err(|error| self.failure(&error))?;
        tail.start = size;
        Ok(())
    }
}

/// Reads into a new buffer of whole blocks, which the disk fills without a copy where possible.
async fn read_new(
    fs: &LocalVolume,
    inode: InodeId,
    offset: u64,
    length: usize,
    block_bytes: usize,
) -> Result<(Buffer, usize), Error> {
    let (found, buffer) = fs.read_into(inode, offset, Buffer::zeroed(length.next_multiple_of(block_bytes))).await;
    Ok((buffer.ok_or(Error::Closed)?, found?.min(length)))
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // A user who needs the result has called `send` or `sync`.
        let _unknown = self.send();
        self.shared.closed(self.inode);
    }
}
