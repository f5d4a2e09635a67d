//! One operation of a job, on files inside the file system.
//!
//! Unsafe because slots, which the loop owns between operations, become buffers of the file system
//! during an operation.

use std::ptr::NonNull;

use iolab_disk::Buffer;
use iolab_engine::{Op, OpKind};
use iolab_logfs::{Error, InodeId};
use iolab_memory::PoolView;

use crate::opened::Opened;
use crate::run::spans;

/// Addresses for direct transfers are multiples of this, which suffices for every common device
/// (`dma_alignment` of the kernel's queues is less).
const ALIGNMENT: usize = 512;

/// Whether the device can transfer to and from the slots themselves.
pub(crate) fn are_aligned(slots: PoolView) -> bool {
    slots.range_ptr(0, 0, 0).is_some_and(|start| start.addr().is_multiple_of(ALIGNMENT))
}

/// Performs operations that are done together, and reports the result of each slot: bytes, or a
/// negative errno.
pub(crate) async fn perform_run(
    fs: &Opened,
    inode: InodeId,
    ops: &[Op],
    slots: PoolView,
    mut finish: impl FnMut(u16, i32),
) {
    let together = match ops {
        [_, _, ..] => perform_together(fs, inode, ops, slots).await,
        _ => None,
    };
    if let Some(bytes) = together {
        let mut before: usize = ops.iter().map(|op| op.length as usize).sum();
        // The last one first: the caller takes the slot that was given back last, so that the
        // operations of the next run, too, have their slots in order, one beside the other.
        for op in ops.iter().rev() {
            before -= op.length as usize;
            finish(op.slot, bytes.saturating_sub(before).min(op.length as usize) as i32);
        }
        return;
    }
    for op in ops {
        finish(op.slot, perform(fs, inode, op, slots).await);
    }
}

/// Reads or writes what several operations cover, and returns the number of bytes; nothing after an
/// error: each operation has to be done by itself then, so that an error affects only those that
/// it concerns.
async fn perform_together(fs: &Opened, inode: InodeId, ops: &[Op], slots: PoolView) -> Option<usize> {
    let first = ops.first()?;
    let buffers = lend(ops, slots)?;
    match first.kind {
        OpKind::Read => fs.read_vectored(inode, first.offset, buffers).await.ok().map(|(bytes, _)| bytes),
        OpKind::Write => {
            let bytes = buffers.iter().map(|buffer| buffer.len()).sum();
            fs.write_vectored(inode, &spans(ops), buffers).await.ok().map(|()| bytes)
        }
        _ => None,
    }
}

/// The memory of operations, in as few buffers as possible; nothing if it is not aligned.
fn lend(ops: &[Op], slots: PoolView) -> Option<Vec<Buffer>> {
    let mut ranges: Vec<(NonNull<u8>, usize)> = Vec::with_capacity(ops.len());
    for op in ops {
        let length = op.length as usize;
        let start = slots.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length).and_then(NonNull::new)?;
        match ranges.last_mut() {
            Some((before, total)) if before.addr().get() + *total == start.addr().get() => *total += length,
            _ if start.addr().get().is_multiple_of(ALIGNMENT) => ranges.push((start, length)),
            _ => return None,
        }
    }
    // SAFETY: as for reading; ranges beside each other lie in the same pool.
    Some(ranges.into_iter().map(|(start, length)| unsafe { Buffer::lent(start, length) }).collect())
}

/// The result of an operation: bytes, or a negative errno.
async fn perform(fs: &Opened, inode: InodeId, op: &Op, slots: PoolView) -> i32 {
    let (start, length) = (op.buffer_offset as usize, op.length as usize);
    let bytes = slots.range_ptr(usize::from(op.slot), start, length).and_then(NonNull::new);
    let answer = match (op.kind, bytes) {
        (OpKind::Read | OpKind::Write, None) => return -libc::EFAULT,
        (OpKind::Read, Some(bytes)) => read(fs, inode, op, bytes).await,
        (OpKind::Write, Some(bytes)) => write(fs, inode, op, bytes).await.map(|()| length),
        (OpKind::Trim, _) if length == 0 => Ok(0),
        (OpKind::Trim, _) => fs.punch(inode, op.offset, u64::from(op.length)).await.map(|()| 0),
        (OpKind::Sync, _) => fs.fsync(inode, false).await.map(|()| 0),
        (OpKind::DataSync, _) => fs.fsync(inode, true).await.map(|()| 0),
        // Content has reached the device when its write ends: there is no writeback to start.
        (OpKind::SyncFileRange, _) => Ok(0),
    };
    match answer {
        Ok(bytes) => bytes as i32,
        Err(error) => -error.errno(),
    }
}

async fn read(fs: &Opened, inode: InodeId, op: &Op, bytes: NonNull<u8>) -> Result<usize, Error> {
    // SAFETY: the range lies inside a slot (range_ptr checked it), which is the lane's until the
    // operation is handed out, and the lane waits for its operations before it goes; nothing else
    // looks at it meanwhile.
    let mut buffer = unsafe { Buffer::lent(bytes, op.length as usize) };
    if bytes.addr().get().is_multiple_of(ALIGNMENT) {
        return fs.read_into(inode, op.offset, buffer).await.0;
    }
    let found = fs.read(inode, op.offset, op.length as usize).await?;
    buffer[..found.len()].copy_from_slice(&found);
    Ok(found.len())
}

async fn write(fs: &Opened, inode: InodeId, op: &Op, bytes: NonNull<u8>) -> Result<(), Error> {
    // SAFETY: as for reading.
    let buffer = unsafe { Buffer::lent(bytes, op.length as usize) };
    if bytes.addr().get().is_multiple_of(ALIGNMENT) {
        return fs.write_buffer(inode, op.offset, buffer).await.0;
    }
    fs.write(inode, op.offset, &buffer).await
}
