//! A lane whose device is memory, for tests and experiments.
//!
//! Operations are finished inside `submit`; a trim leaves zeroes. Like a disk, it refuses transfers
//! that are not whole blocks. It can hold completions back, like a device that has to be polled.
//! Several lanes can use the same memory, each on its thread. Nothing survives the process.
//!
//! Unsafe: copies from and to slot pointers.
#![allow(unsafe_code, reason = "island: copies from and to slot pointers")]

use std::io;

use iolab_engine::{Completion, CompletionRow, Completions, Lane, LaneError, Op, OpKind, Submission, Wait};
use iolab_memory::{PoolView, SharedBytes};

use crate::Size;

/// Memory as a device.
#[derive(Debug)]
pub struct RamLane {
    disk: SharedBytes,
    size: Size,
    buffers: PoolView,
    done: CompletionRow,
    /// Polls until completions are returned, and the number of fruitless ones so far.
    looks_wanted: u32,
    looks: u32,
}

impl RamLane {
    /// A device of zeroes, with one operation per slot of `buffers`, which must outlive the lane.
    pub fn new(size: Size, buffers: PoolView) -> io::Result<RamLane> {
        Ok(RamLane::on(&SharedBytes::anonymous(size.bytes() as usize)?, size, buffers))
    }

    /// As [`RamLane::new`], on memory shared with other lanes, of at least `size`.
    pub fn on(disk: &SharedBytes, size: Size, buffers: PoolView) -> RamLane {
        assert!(disk.len() as u64 >= size.bytes(), "a device of {} bytes in {} of memory", size.bytes(), disk.len());
        let done = CompletionRow::with_depth(buffers.slots());
        RamLane { disk: disk.clone(), size, buffers, done, looks_wanted: 0, looks: 0 }
    }

    /// Lets completions appear only at the last of this number of polls, or when the caller waits
    /// for them.
    pub fn shown_after(mut self, looks: u32) -> RamLane {
        self.looks_wanted = looks;
        self
    }

    fn perform(&mut self, op: &Op) -> i32 {
        let bytes = u64::from(op.length);
        let end = op.offset.saturating_add(bytes);
        if op.kind.is_sync() {
            return 0;
        }
        if end > self.size.bytes() || !self.size.is_aligned(op.offset, end) {
            return -libc::EINVAL;
        }
        let from = op.offset as usize;
        if op.kind == OpKind::Trim {
            self.disk.fill(from, bytes as usize, 0);
            return 0;
        }
        let Some(slot) = self.buffers.range_ptr(usize::from(op.slot), op.buffer_offset as usize, op.length as usize)
        else {
            return -libc::EFAULT;
        };
        let disk = self.disk.as_ptr().wrapping_add(from);
        // SAFETY: `range_ptr` checked that the bytes lie in the slot, which is this lane's until it
        // is reaped and whose pool outlives the lane; the device's bytes were checked against its
        // size, which is not more than its memory, belong to another mapping, and are accessed
        // through pointers only.
        unsafe {
            match op.kind {
                OpKind::Read => std::ptr::copy_nonoverlapping(disk, slot, op.length as usize),
                _ => std::ptr::copy_nonoverlapping(slot, disk, op.length as usize),
            }
        }
        op.length as i32
    }
}

impl Lane for RamLane {
    const SYNCHRONOUS: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.done.is_full() {
            return Submission::Full;
        }
        let result = self.perform(op);
        self.done.push(Completion { slot: u32::from(op.slot), result });
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        if wait.at_least == 0 && self.looks < self.looks_wanted {
            self.looks += 1;
            return Ok(0);
        }
        self.looks = 0;
        Ok(self.done.drain_into(out))
    }
}
